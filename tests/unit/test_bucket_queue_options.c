/* SPDX-License-Identifier: Apache-2.0 */
/* Options of buckets, and their queues. */
#include "support/buckets.h"
#include "support/coordinators.h"
#include "support/queues.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static int64_t of_four(int64_t i) { return i % 4; }

static const int64_t eight = 8;

/* -- options ----------------------------------------------------------------------------------- */

static void wrong_numbers_are_refused(void **state)
{
    test_source           s = test_source_of(1, NULL);
    levada_bucket_options o = test_bucket_options(&s, 2, &eight), bad;
    const int64_t         zero = 0, sizes[] = { 1, 2, 0 };
    char                  long_name[400] = { 0 };

    (void)state;
    memset(long_name, 'n', sizeof(long_name) - 1);
#define REFUSED(text, ...) (bad = o, __VA_ARGS__, test_bucket_refused(&bad, text))
    REFUSED("num_buckets=0 is not in [1, 65536]", bad.num_buckets = 0);
    REFUSED("num_buckets=-1", bad.num_buckets = -1);
    REFUSED("num_threads=-1", bad.num_threads = -1);
    REFUSED("If batch_size is a list it must have num_buckets elements",
            bad.batch_sizes = sizes, bad.nbatch_sizes = 3);
    REFUSED("If batch_size is a list", bad.nbatch_sizes = 0);
    REFUSED("If batch_size is a list", bad.batch_sizes = NULL);
    REFUSED("batch_size=0 must be at least 1", bad.batch_sizes = &zero);
    REFUSED("capacity=0 must be at least 1", bad.capacity = 0);
    REFUSED("bucket_capacities=0", bad.capacities = sizes + 1, bad.ncapacities = 2);
    REFUSED("Expected at least one tensor", bad.ncomponents = 0);
    REFUSED("an example must have at most 254 components, got 255", bad.ncomponents = 255);
    REFUSED("key_component=4 is not one of 4", bad.key_component = 4);
    REFUSED("keep_component=-2", bad.keep_component = -2);
    REFUSED("fully defined", bad.dynamic_pad = false);
    REFUSED("name and shared_name", bad.name = long_name);
#undef REFUSED
}

static void wrong_boundaries_are_refused(void **state)
{
    test_source           s = test_source_of(1, NULL);
    levada_bucket_options o = test_bucket_options(&s, 0, &eight);
    const int64_t         down[] = { 3, 5, 4 }, same[] = { 3, 3 }, below[] = { -1, 2 },
                          huge[] = { 1, (int64_t)1 << 31 };

    (void)state;
    o.boundaries = down;
    test_bucket_refused(&o, "bucket_boundaries must not be empty");
    o.nboundaries = 3;
    test_bucket_refused(&o, "increasing lengths, but saw: 5 before 4");
    o.nboundaries = 2;
    o.boundaries = same;
    test_bucket_refused(&o, "increasing lengths, but saw: 3 before 3");
    o.boundaries = below;
    test_bucket_refused(&o, "bucket boundary -1");
    o.boundaries = huge;
    test_bucket_refused(&o, "bucket boundary 2147483648");
    o.boundaries = down;
    o.num_buckets = 4;
    test_bucket_refused(&o, "num_buckets=4 does not fit 2 boundaries");
}

static void buckets_of_one_shared_name_share_their_queues(void **state)
{
    test_source           s = test_source_of(64, of_four);
    levada_bucket_options o = test_bucket_options(&s, 4, &eight);
    levada_bucket        *a, *b;
    test_taken            all;

    (void)state;
    o.shared_name = "shared";
    a = test_bucket(&o);
    b = test_bucket(&o);
    for (int32_t i = -1; i < 4; i++) {
        assert_ptr_equal(levada_bucket_queue(a, i), levada_bucket_queue(b, i));
    }
    assert_string_equal(levada_queue_info(levada_bucket_queue(a, 3))->shared_name, "shared_3");
    assert_string_equal(levada_queue_info(levada_bucket_queue(a, -1))->shared_name, "shared");
    assert_null(levada_bucket_queue(a, 4));
    assert_null(levada_bucket_queue(a, -2));
    test_bucket_start(a, NULL);
    test_bucket_take(b, &all, NULL, NULL);
    test_bucket_came(&all, 64);
    levada_bucket_destroy(&a);
    levada_bucket_destroy(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_numbers_are_refused),
        cmocka_unit_test(wrong_boundaries_are_refused),
        cmocka_unit_test(buckets_of_one_shared_name_share_their_queues),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
