/* SPDX-License-Identifier: Apache-2.0 */
/* Boundaries of buckets against the rule in one line each: pairs, numbers, and lengths beyond the
 * table. */
#include "batch/bucket_stage.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static levada_status reads(const char *json, int64_t fields, levada_buckets *out, levada_error *err)
{
    levada_value *value = NULL;
    levada_status st;

    assert_int_equal(levada_value_parse_json(json, strlen(json), &value, err), LEVADA_OK);
    st = levada_buckets_read(value, fields, out, err);
    levada_value_destroy(&value);
    return st;
}

static void a_pair_of_lengths_is_below_both_boundaries(void **state)
{
    static const int64_t at[][2] = { { 2, 3 }, { 4, 2 }, { 3, 6 }, { 9, 9 } };
    levada_buckets       b = { 0 };

    (void)state;
    assert_int_equal(reads("[[2,3],[4,2],[3,6],[9,9]]", 2, &b, NULL), LEVADA_OK);
    for (int64_t x = 0; x < 12; x++) {
        for (int64_t y = 0; y < 12; y++) {
            int64_t want = 0, keys[2] = { x, y };

            while (want < 4 && !(x < at[want][0] && y < at[want][1])) want++;
            assert_int_equal(levada_buckets_find(&b, keys, 2), want);
        }
    }
    levada_buckets_clear(&b);
}

static void a_length_is_below_its_boundary(void **state)
{
    static const int64_t at[] = { 0, 1, 7, 4095, 4096, 4097, 100000 };
    static const int64_t lengths[] = { -1,   0,    1,    2,     6,     7,      8,
                                       4094, 4095, 4096, 4097, 99999, 100000, INT64_MAX };
    levada_buckets       b = { 0 };

    (void)state;
    assert_int_equal(reads("[0,1,7,4095,4096,4097,100000]", 1, &b, NULL), LEVADA_OK);
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        int64_t want = 0;

        while (want < 7 && lengths[i] >= at[want]) want++;
        assert_int_equal(levada_buckets_find(&b, &lengths[i], 1), want);
    }
    levada_buckets_clear(&b);
}

static void expect(const char *json, int64_t fields, const char *fact)
{
    levada_error   err = LEVADA_ERROR_INIT;
    levada_buckets b = { 0 };

    assert_int_equal(reads(json, fields, &b, &err), LEVADA_EINVALID_ARGUMENT);
    if (!strstr(err.message, fact)) fail_msg("%s: '%s' is not in '%s'", json, fact, err.message);
    levada_buckets_clear(&b);
}

static void each_number_is_checked(void **state)
{
    (void)state;
    expect("[-1]", 1, "-1");
    expect("[1,-2]", 1, "-2");
    expect("[[-3,1]]", 2, "-3");
    expect("[[1,-4]]", 2, "-4");
    expect("[[1,2],[3,2147483648]]", 2, "2147483648");
    expect("[3,3]", 1, "3 before 3");
    expect("[5,9,4]", 1, "9 before 4");
    expect("[[1,2],[3,\"4\"]]", 2, "integers");
    expect("[[1,2],3]", 2, "boundaries[1]");
    expect("[[1,2],[3,4,5]]", 2, "boundaries[1]");
    expect("[[1,2]]", 1, "got 1");
    expect("[[1,2]]", 3, "got 3");
}

static void a_pair_that_an_earlier_one_covers_is_named_with_it(void **state)
{
    levada_buckets b = { 0 };

    (void)state;
    expect("[[4,5],[2,3]]", 2, "bucket 1, because [4, 5] comes before [2, 3]");
    expect("[[4,5],[6,1],[4,5]]", 2, "bucket 2, because [4, 5] comes before [4, 5]");
    expect("[[1,9],[6,7],[6,2]]", 2, "bucket 2, because [6, 7] comes before [6, 2]");
    assert_int_equal(reads("[[4,5],[5,1],[1,6]]", 2, &b, NULL), LEVADA_OK);
    levada_buckets_clear(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pair_of_lengths_is_below_both_boundaries),
        cmocka_unit_test(a_length_is_below_its_boundary),
        cmocka_unit_test(each_number_is_checked),
        cmocka_unit_test(a_pair_that_an_earlier_one_covers_is_named_with_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
