/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of datasets, and their lengths, by the traits of their stages. */
#include <levada/levada.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static levada_dataset *parse(const char *text)
{
    levada_dataset *ds = NULL;
    levada_error    err = LEVADA_ERROR_INIT;

    if (levada_dataset_parse(NULL, text, &ds, &err) != LEVADA_OK) fail_msg("%s", err.message);
    return ds;
}

static levada_divide_options part(int64_t index, int64_t count, const char *equal)
{
    levada_divide_options o = LEVADA_DIVIDE_OPTIONS_INIT;

    o.index = index;
    o.count = count;
    o.equal = equal;
    return o;
}

static void expect_part(const char *text, const levada_divide_options *o, const char *want)
{
    levada_dataset *ds = parse(text), *made = NULL;
    levada_error    err = LEVADA_ERROR_INIT;
    char           *got = NULL;
    levada_status   st = levada_dataset_divide(ds, o, &made, &err);

    if (st == LEVADA_OK) assert_int_equal(levada_dataset_text(made, &got, NULL), LEVADA_OK);
    if (st == LEVADA_OK && strcmp(got, want) != 0) fail_msg("%s: %s, not %s", text, got, want);
    if (st != LEVADA_OK && !strstr(err.message, want)) fail_msg("%s: %s", text, err.message);
    levada_string_free(&got);
    levada_dataset_unref(&made);
    levada_dataset_unref(&ds);
}

static void a_part_is_taken_as_near_to_the_source_as_the_stages_allow(void **state)
{
    levada_divide_options o = part(1, 2, NULL), drop = part(1, 2, "drop"), pad = part(0, 2, "pad");

    (void)state;
    expect_part("range:9 | shuffle:3 | batch:2", &o,
                "range:9 | shard:1,count=2 | shuffle:3 | batch:2");
    expect_part("range:9 | take:5 | batch:2", &o, "range:9 | take:5 | shard:1,count=2 | batch:2");
    expect_part("range:9 | filter:\"value > 2\" | batch:2", &o,
                "range:9 | shard:1,count=2 | filter:\"value > 2\" | batch:2");
    expect_part("range:9 | filter:\"value > 2\" | batch:2", &drop,
                "range:9 | filter:\"value > 2\" | shard:1,count=2,equal=drop | batch:2");
    expect_part("range:9 | enumerate | select:[index]", &pad,
                "range:9 | enumerate | select:index | shard:0,count=2,equal=pad");
    expect_part("concat(range:3; range:4) | batch:2", &o,
                "concat(range:3 | shard:1,count=2; range:4 | shard:1,count=2) | batch:2");
    o.count = 1;
    o.index = 0;
    expect_part("range:9 | take:5", &o, "range:9 | take:5");
}

static void what_draws_upstream_of_a_part_needs_a_seed(void **state)
{
    levada_divide_options o = part(0, 2, NULL);

    (void)state;
    expect_part("range:9 | shuffle:3 | take:5", &o, "shuffle runs before shard()");
    expect_part("range:9 | bucket_by_sequence_length:value,batch_sizes=2,lookahead=4 | take:2", &o,
                "bucket_by_sequence_length runs before shard()");
    o.seeded = true;
    expect_part("range:9 | shuffle:3 | take:5", &o,
                "range:9 | shuffle:3 | take:5 | shard:0,count=2");
    o.seeded = false;
    expect_part("range:9 | shuffle:3,seed=4 | take:5", &o,
                "range:9 | shuffle:3,seed=4 | take:5 | shard:0,count=2");
}

static void bad_parts_are_refused(void **state)
{
    levada_divide_options o = part(2, 2, NULL);

    (void)state;
    expect_part("range:9", &o, "index=2 must be at least 0 and below count=2");
    o = part(0, 2, "even");
    expect_part("range:9", &o, "equal='even' must be drop or pad");
    o = part(0, 2, "pad");
    o.by = LEVADA_DIVIDE_FILES;
    expect_part("range:9", &o, "LEVADA_DIVIDE_FILES without equal");
}

static void lengths_follow_from_the_stages(void **state)
{
    static const struct {
        const char *text;
        int64_t     n;
    } cases[] = {
        { "range:10", 10 },
        { "range:10 | shuffle:3 | batch:4", 3 },
        { "range:10 | batch:4,drop_remainder=true", 2 },
        { "range:10 | skip:4 | take:9 | repeat:3 | prefetch:2", 18 },
        { "range:10 | repeat", -1 },
        { "range:10 | filter:\"value > 2\"", -1 },
        { "range:10 | shard:2,count=4", 2 },
        { "range:10 | shard:3,count=4,equal=pad", 3 },
        { "range:10 | shard:3,count=4,equal=drop", 2 },
        { "concat(range:3; range:4)", 7 },
        { "zip(range:3; range:4 | rename:{value:x})", 3 },
        { "zip(range:3; range:4 | rename:{value:x} | filter:\"x > 2\")", -1 },
        { "mix(range:3; range:4)", -1 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        levada_dataset *ds = parse(cases[i].text);
        int64_t         n = -2;

        assert_int_equal(levada_dataset_length(ds, &n, NULL), LEVADA_OK);
        if (n != cases[i].n) fail_msg("%s: %lld", cases[i].text, (long long)n);
        levada_dataset_unref(&ds);
    }
}

static void traits_are_those_of_the_options(void **state)
{
    levada_dataset *ds = parse("range:9 | shuffle:3,reshuffle=false");
    levada_traits   t = { .struct_size = sizeof t };

    (void)state;
    assert_int_equal(levada_dataset_traits(ds, &t, NULL), LEVADA_OK);
    assert_int_equal(t.rows, LEVADA_ROWS_PERMUTES);
    assert_int_equal(t.random, LEVADA_RANDOM_BY_SEED);
    assert_true(t.keeps_lengths);
    levada_dataset_unref(&ds);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_part_is_taken_as_near_to_the_source_as_the_stages_allow),
        cmocka_unit_test(what_draws_upstream_of_a_part_needs_a_seed),
        cmocka_unit_test(bad_parts_are_refused),
        cmocka_unit_test(lengths_follow_from_the_stages),
        cmocka_unit_test(traits_are_those_of_the_options),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
