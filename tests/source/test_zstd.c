/* SPDX-License-Identifier: Apache-2.0 */
#include "support/codec.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void round_trips(void **state)
{
    (void)state;
    t_codec_round_trips("zstd");
}

static void reports_cuts(void **state)
{
    (void)state;
    t_codec_reports_cuts("zstd");
}

static void reports_changes(void **state)
{
    (void)state;
    t_codec_reports_changes("zstd");
}

static void returns_what_is_before_damage(void **state)
{
    (void)state;
    t_codec_returns_what_is_before_damage("zstd");
}

static void flushes(void **state)
{
    (void)state;
    t_codec_flushes("zstd");
}

static void reads_files(void **state)
{
    (void)state;
    t_codec_reads_files("zstd");
}

static void reads_frame_after_frame(void **state)
{
    const uint8_t skipped[] = {0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 'x', 'y', 'z'};
    t_bytes       one = t_encode("zstd", "one, ", 5, 0), two = t_encode("zstd", "two", 3, 0);
    t_bytes       all = {0}, out = {0};

    (void)state;
    t_add(&all, one.at, one.size);
    t_add(&all, skipped, sizeof skipped);
    t_add(&all, two.at, two.size);
    for (size_t in_step = 0; in_step < 4; in_step++) {
        assert_int_equal(t_decode("zstd", all, in_step, 0, &out), LEVADA_OK);
        assert_string_equal((char *)out.at, "one, two");
        t_clear(&out);
    }
    t_add(&all, "x", 1);
    assert_int_equal(t_decode("zstd", all, 0, 0, &out), LEVADA_EDATA_LOSS);
    t_clear(&out);
    t_clear(&all);
    t_clear(&one);
    t_clear(&two);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(round_trips),
        cmocka_unit_test(reports_cuts),
        cmocka_unit_test(reports_changes),
        cmocka_unit_test(returns_what_is_before_damage),
        cmocka_unit_test(flushes),
        cmocka_unit_test(reads_files),
        cmocka_unit_test(reads_frame_after_frame),
    };

    if (!t_can("zstd")) return 77; /* built without it */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
