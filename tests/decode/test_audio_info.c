/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "support/pictures.h"

static const char wav[] =
    "RIFF\x2c\0\0\0WAVEfmt \x10\0\0\0\1\0\1\0\x40\x1f\0\0\x80\x3e\0\0\2\0\x10\0"
    "data\x08\0\0\0\0\0\0\x40\0\x80\xff\x7f";
/* 44.1 kHz, 2 channels, 24 bits, no number of frames. */
static const char flac[43] = "fLaC\0\0\0\x22\x10\0\x10\0\0\0\0\0\0\0\x0a\xc4\x43\x70";

static void info_is(const void *data, size_t size, const int64_t want[4])
{
    levada_block *block = t_picture("audio_info", "{}", data, size);

    assert_memory_equal(levada_column_i64(levada_block_column(block, "info")), want, 32);
    levada_block_unref(&block);
}

static void headers_are_enough(void **state)
{
    static const int64_t of_wav[] = { 8000, 1, 4, 16 }, of_flac[] = { 44100, 2, -1, 24 };

    (void)state;
    info_is(wav, 52, of_wav);
    info_is(flac, 42, of_flac);
}

/* Two ID3v2 tags, of 3 and 130 bytes; then one of 3 bytes and a footer. */
static void tags_before_flac_are_skipped(void **state)
{
    static const int64_t want[] = { 44100, 2, -1, 24 };
    char                 tagged[13 + 140 + 42] = "ID3\4\0\0\0\0\0\3abcID3\4\0\0\0\0\1\2";
    char                 footer[23 + 42] = "ID3\4\0\20\0\0\0\3abc3DI\4\0\20\0\0\0\3";

    (void)state;
    memcpy(footer + 23, flac, 42);
    info_is(footer, sizeof footer, want);
    memcpy(tagged + 153, flac, 42);
    info_is(tagged, sizeof tagged, want);
    t_picture_refused("audio_info", "{}", tagged, 156, LEVADA_EINVALID_ARGUMENT, "not WAV data");
    for (size_t n = 157; n < sizeof tagged; n++) {
        t_picture_refused("audio_info", "{}", tagged, n, LEVADA_EDATA_LOSS, "FLAC");
    }
}

static void other_content_is_refused(void **state)
{
    (void)state;
    t_picture_refused("audio_info", "{}", "OggS", 4, LEVADA_EINVALID_ARGUMENT, "not WAV data");
    t_picture_refused("audio_info", "{}", flac, 41, LEVADA_EDATA_LOSS, "FLAC");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(headers_are_enough),
        cmocka_unit_test(tags_before_flac_are_skipped),
        cmocka_unit_test(other_content_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
