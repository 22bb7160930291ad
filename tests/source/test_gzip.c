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
    t_codec_round_trips("gzip");
}

static void reports_cuts(void **state)
{
    (void)state;
    t_codec_reports_cuts("gzip");
}

static void reports_changes(void **state)
{
    (void)state;
    t_codec_reports_changes("gzip");
}

static void returns_what_is_before_damage(void **state)
{
    (void)state;
    t_codec_returns_what_is_before_damage("gzip");
}

static void flushes(void **state)
{
    (void)state;
    t_codec_flushes("gzip");
}

static void reads_files(void **state)
{
    (void)state;
    t_codec_reads_files("gzip");
}

static void reads_member_after_member(void **state)
{
    const char *texts[] = {"one, ", "", "two, ", "three"};
    t_bytes     all = {0}, out = {0};

    (void)state;
    for (int i = 0; i < 4; i++) {
        t_bytes member = t_encode("gzip", texts[i], strlen(texts[i]), 0);

        t_add(&all, member.at, member.size);
        t_clear(&member);
    }
    for (size_t in_step = 0; in_step < 4; in_step++) {
        assert_int_equal(t_decode("gzip", all, in_step, 0, &out), LEVADA_OK);
        assert_string_equal((char *)out.at, "one, two, three");
        t_clear(&out);
    }
    t_add(&all, "\0\0\0", 3); /* padding */
    for (size_t in_step = 0; in_step < 4; in_step++) {
        assert_int_equal(t_decode("gzip", all, in_step, 0, &out), LEVADA_OK);
        assert_string_equal((char *)out.at, "one, two, three");
        t_clear(&out);
    }
    t_add(&all, "x", 1);
    assert_int_equal(t_decode("gzip", all, 0, 0, &out), LEVADA_EDATA_LOSS);
    assert_string_equal((char *)out.at, "one, two, three");
    t_clear(&out);
    t_clear(&all);
}

static void reads_headers_with_everything_in_them(void **state)
{
    const uint8_t head[] = {0x1f, 0x8b, 8, 2 | 4 | 8 | 16, 0,   0, 0,   0,   0, 3,    4,   0,
                            1,    2,    3, 4,              'n', 0, 'c', 'o', 0, 0xf3, 0xf1};
    t_bytes       plain = t_encode("gzip", "abc", 3, 0), all = {0}, out = {0};

    (void)state;
    t_add(&all, head, sizeof head);
    t_add(&all, plain.at + 10, plain.size - 10);
    for (size_t in_step = 0; in_step <= sizeof head; in_step++) {
        assert_int_equal(t_decode("gzip", all, in_step, 0, &out), LEVADA_OK);
        assert_string_equal((char *)out.at, "abc");
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
        cmocka_unit_test(reads_member_after_member),
        cmocka_unit_test(reads_headers_with_everything_in_them),
    };

    if (!t_can("gzip")) return 77; /* built without it */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
