/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "support/pictures.h"

/* Four frames of int16: 0, 0x4000, -0x8000, 0x7fff. */
static const char sample[] =
    "RIFF\x2c\0\0\0WAVEfmt \x10\0\0\0\1\0\1\0\x40\x1f\0\0\x80\x3e\0\0\2\0\x10\0"
    "data\x08\0\0\0\0\0\0\x40\0\x80\xff\x7f";

static void samples_are_those_of_the_dtype(void **state)
{
    static const float   floats[] = { 0.0F, 0.5F, -1.0F, 32767.0F / 32768.0F };
    static const int16_t shorts[] = { 0, 0x4000, -0x8000, 0x7fff };
    static const uint8_t bytes[] = { 128, 192, 0, 255 };
    levada_block *a = t_picture("decode_wav", "{}", sample, 52);
    levada_block *b = t_picture("decode_wav", "{dtype:int16}", sample, 52);
    levada_block *c = t_picture("decode_wav", "{dtype:uint8}", sample, 52);

    (void)state;
    assert_memory_equal(levada_block_at(a, 0)->values, floats, sizeof floats);
    assert_memory_equal(levada_block_at(b, 0)->values, shorts, sizeof shorts);
    assert_memory_equal(levada_block_at(c, 0)->values, bytes, sizeof bytes);
    assert_int_equal(levada_column_i32(levada_block_column(a, "sample_rate"))[0], 8000);
    levada_block_unref(&a);
    levada_block_unref(&b);
    levada_block_unref(&c);
}

static void every_cut_is_refused(void **state)
{
    (void)state;
    t_picture_refused("decode_wav", "{}", sample, 0, LEVADA_EINVALID_ARGUMENT, "empty");
    for (size_t n = 1; n < 12; n++) {
        t_picture_refused("decode_wav", "{}", sample, n, LEVADA_EINVALID_ARGUMENT, "not WAV");
    }
    for (size_t n = 12; n < 45; n++) {
        t_picture_refused("decode_wav", "{}", sample, n, LEVADA_EDATA_LOSS, "WAV");
    }
}

static void what_does_not_fit_is_told(void **state)
{
    char bytes[52];

    (void)state;
    t_picture_refused("decode_wav", "{channels:2}", sample, 52, LEVADA_EINVALID_ARGUMENT,
                      "1 channels, expected channels=2");
    t_picture_refused("decode_wav", "{max_samples:3}", sample, 52, LEVADA_ERESOURCE_EXHAUSTED,
                      "max_samples=3");
    t_picture_refused("decode_wav", "{dtype:string}", sample, 52, LEVADA_EINVALID_ARGUMENT,
                      "dtype=string must be");
    memcpy(bytes, sample, 52);
    bytes[20] = 85; /* MP3 */
    t_picture_refused("decode_wav", "{}", bytes, 52, LEVADA_EINVALID_ARGUMENT,
                      "WAV format 0x0055 is not supported");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_are_those_of_the_dtype),
        cmocka_unit_test(every_cut_is_refused),
        cmocka_unit_test(what_does_not_fit_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
