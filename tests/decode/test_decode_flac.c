/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "support/pictures.h"

/* 32 frames of int16: -8000, -7500, ... */
static const char sample[] =
    "\x66\x4c\x61\x43\x80\x00\x00\x22\x10\x00\x10\x00\x00\x00\x13\x00\x00\x13\x01\xf4\x00"
    "\xf0\x00\x00\x00\x20\xb2\xd7\x40\x7a\xe6\xcf\xcd\x87\xca\xc8\xc0\x92\x37\x48\x14\x67"
    "\xff\xf8\x64\x08\x00\x1f\xbe\x15\x78\x30\xe2\xb4\x00\xff\xff\xff\xfc\xd1\x85";

static void samples_are_those_of_the_encoder(void **state)
{
    levada_block        *block = t_picture("decode_flac", "{dtype:int16,md5:true}", sample, 61);
    const levada_column *c = levada_block_column(block, "audio");

    (void)state;
    assert_int_equal(levada_column_length(c, 0), 32);
    for (int i = 0; i < 32; i++) {
        assert_int_equal(((const int16_t *)(const void *)c->values)[i], 500 * i - 8000);
    }
    assert_int_equal(levada_column_i32(levada_block_column(block, "sample_rate"))[0], 8000);
    levada_block_unref(&block);
}

static void every_cut_is_refused(void **state)
{
    (void)state;
    t_picture_refused("decode_flac", "{}", sample, 0, LEVADA_EINVALID_ARGUMENT, "empty");
    for (size_t n = 1; n < 61; n++) {
        t_picture_refused("decode_flac", "{}", sample, n, LEVADA_EDATA_LOSS, "FLAC");
    }
}

static void changed_samples_are_refused(void **state)
{
    char bytes[61];

    (void)state;
    memcpy(bytes, sample, sizeof bytes);
    bytes[sizeof bytes - 4] ^= 1;
    t_picture_refused("decode_flac", "{}", bytes, sizeof bytes, LEVADA_EDATA_LOSS, "FLAC");
    memcpy(bytes, sample, sizeof bytes);
    bytes[30] ^= 1; /* of the MD5 */
    t_picture_refused("decode_flac", "{md5:true}", bytes, sizeof bytes, LEVADA_EDATA_LOSS, "MD5");
}

/* libFLAC reads all frames that there are, whatever the header says. */
static void another_number_of_frames_than_declared_is_refused(void **state)
{
    char bytes[61 + 19];

    (void)state;
    memcpy(bytes, sample, 61);
    memcpy(bytes + 61, sample + 42, 19); /* its frame once more */
    t_picture_refused("decode_flac", "{}", bytes, 80, LEVADA_EDATA_LOSS,
                      "64 frames, but the header declares 32");
    bytes[25] = 33;
    t_picture_refused("decode_flac", "{}", bytes, 61, LEVADA_EDATA_LOSS,
                      "32 frames, but the header declares 33");
    bytes[25] = 0; /* not known */
    levada_block_unref(&(levada_block *){ t_picture("decode_flac", "{}", bytes, 61) });
}

static void limits_hold(void **state)
{
    (void)state;
    t_picture_refused("decode_flac", "{max_samples:31}", sample, 61, LEVADA_ERESOURCE_EXHAUSTED,
                      "max_samples=31");
    t_picture_refused("decode_flac", "{channels:2}", sample, 61, LEVADA_EINVALID_ARGUMENT,
                      "1 channels, expected channels=2");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_are_those_of_the_encoder),
        cmocka_unit_test(every_cut_is_refused),
        cmocka_unit_test(changed_samples_are_refused),
        cmocka_unit_test(another_number_of_frames_than_declared_is_refused),
        cmocka_unit_test(limits_hold),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
