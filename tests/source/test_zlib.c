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
    t_codec_round_trips("zlib");
}

static void reports_cuts(void **state)
{
    (void)state;
    t_codec_reports_cuts("zlib");
}

static void reports_changes(void **state)
{
    (void)state;
    t_codec_reports_changes("zlib");
}

static void flushes(void **state)
{
    (void)state;
    t_codec_flushes("zlib");
}

static void reads_files(void **state)
{
    (void)state;
    t_codec_reads_files("zlib");
}

static void ignores_what_follows(void **state)
{
    t_bytes all = t_encode("zlib", "abc", 3, 0), out = {0};

    (void)state;
    t_add(&all, "junk, junk", 10);
    assert_int_equal(t_decode("zlib", all, 0, 0, &out), LEVADA_OK);
    assert_string_equal((char *)out.at, "abc");
    t_clear(&out);
    t_clear(&all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(round_trips),
        cmocka_unit_test(reports_cuts),
        cmocka_unit_test(reports_changes),
        cmocka_unit_test(flushes),
        cmocka_unit_test(reads_files),
        cmocka_unit_test(ignores_what_follows),
    };

    if (!t_can("zlib")) return 77; /* built without it */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
