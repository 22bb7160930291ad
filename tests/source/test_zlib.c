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

static void returns_what_is_before_damage(void **state)
{
    (void)state;
    t_codec_returns_what_is_before_damage("zlib");
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

static void reports_bytes_after_the_stream_unless_they_are_zeros(void **state)
{
    t_bytes all = t_encode("zlib", "abc", 3, 0), out = {0};

    (void)state;
    for (size_t step = 0; step < 3; step++) {
        t_bytes padded = {0}, junk = {0};

        t_add(&padded, all.at, all.size);
        t_add(&padded, "\0\0\0", 3);
        assert_int_equal(t_decode("zlib", padded, step, 0, &out), LEVADA_OK);
        assert_string_equal((char *)out.at, "abc");
        t_clear(&out);
        t_add(&junk, padded.at, padded.size);
        t_add(&junk, "junk", 4);
        assert_int_equal(t_decode("zlib", junk, step, 0, &out), LEVADA_EDATA_LOSS);
        assert_string_equal((char *)out.at, "abc");
        t_clear(&out);
        t_clear(&junk);
        t_clear(&padded);
    }
    t_clear(&all);
}

/* The stream is a whole one without back references, had it not asked for a dictionary. */
static void refuses_dictionaries(void **state)
{
    const uint8_t head[] = {0x78, 0x20, 0, 0, 0, 1};
    t_bytes       plain = t_encode("zlib", "abc", 3, 0), all = {0}, out = {0};

    (void)state;
    t_add(&all, head, sizeof head);
    t_add(&all, plain.at + 2, plain.size - 2);
    for (size_t in_step = 0; in_step <= sizeof head; in_step++) {
        assert_int_equal(t_decode("zlib", all, in_step, 0, &out), LEVADA_EDATA_LOSS);
        t_clear(&out);
    }
    t_clear(&all);
    t_clear(&plain);
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
        cmocka_unit_test(reports_bytes_after_the_stream_unless_they_are_zeros),
        cmocka_unit_test(refuses_dictionaries),
    };

    if (!t_can("zlib")) return 77; /* built without it */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
