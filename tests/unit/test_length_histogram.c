/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Histograms of lengths: from numbers and from datasets, with lengths of any size.
 */
#include "support/iters.h"
#include <levada/lengths.h>

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void expect(levada_length_histogram *h, const int64_t *lengths, const int64_t *counts,
                   int64_t n)
{
    const int64_t *at = NULL, *count = NULL;
    int64_t        got = -1;

    assert_int_equal(levada_length_histogram_get(h, &at, &count, &got, NULL), LEVADA_OK);
    assert_int_equal(got, n);
    if (n == 0) return;
    assert_memory_equal(at, lengths, (size_t)n * sizeof *at);
    assert_memory_equal(count, counts, (size_t)n * sizeof *count);
}

static void counts_lengths_of_any_size(void **state)
{
    const int64_t            given[] = { 5, 0, -3, INT64_MAX, 5, 1 << 20, (1 << 20) - 1,
                                         INT64_MAX };
    const int64_t            lengths[] = { 0, 5, (1 << 20) - 1, 1 << 20, INT64_MAX };
    const int64_t            counts[] = { 2, 2, 1, 1, 2 };
    levada_length_histogram *h = NULL;

    (void)state;
    assert_int_equal(levada_length_histogram_create(&h, NULL), LEVADA_OK);
    expect(h, NULL, NULL, 0);
    assert_int_equal(levada_length_histogram_add(h, given, 4, NULL), LEVADA_OK);
    assert_int_equal(levada_length_histogram_add(h, given + 4, 4, NULL), LEVADA_OK);
    expect(h, lengths, counts, 5);
    expect(h, lengths, counts, 5);
    levada_length_histogram_destroy(&h);
    assert_null(h);
    levada_length_histogram_destroy(&h);
}

/* One pass over a dataset, whose lengths are those that the stage sees. */
static void read_dataset(const char *text, const char *field, const int64_t *lengths,
                         const int64_t *counts, int64_t n)
{
    levada_dataset          *dataset = NULL;
    levada_length_histogram *h = NULL;

    assert_int_equal(levada_dataset_parse(t_iter_env(), text, &dataset, NULL), LEVADA_OK);
    assert_int_equal(levada_length_histogram_create(&h, NULL), LEVADA_OK);
    assert_int_equal(levada_length_histogram_read(h, dataset, NULL, field, NULL), LEVADA_OK);
    expect(h, lengths, counts, n);
    levada_length_histogram_destroy(&h);
    levada_dataset_unref(&dataset);
}

static void reads_sequences_numbers_and_batches(void **state)
{
    const int64_t lengths[] = { 1, 3, 7 }, counts[] = { 100, 50, 50 };

    (void)state;
    read_dataset("t_rows:200,lengths=[1,3,1,7]", "x", lengths, counts, 3);
    read_dataset("t_rows:200,lengths=[1,3,1,7]", "l", lengths, counts, 3);
    read_dataset("t_rows:200,lengths=[1,3,1,7] | shuffle:50", "x", lengths, counts, 3);
    read_dataset("t_rows:200,lengths=[1,3,1,7],bare=true | padded_batch:9", "x", lengths, counts,
                 3);
    read_dataset("t_rows:0", "x", NULL, NULL, 0);
}

static void an_unknown_field_is_refused(void **state)
{
    levada_dataset          *dataset = NULL;
    levada_length_histogram *h = NULL;
    levada_error             err = LEVADA_ERROR_INIT;

    (void)state;
    assert_int_equal(levada_dataset_parse(t_iter_env(), "t_rows:5", &dataset, NULL), LEVADA_OK);
    assert_int_equal(levada_length_histogram_create(&h, NULL), LEVADA_OK);
    assert_int_equal(levada_length_histogram_read(h, dataset, NULL, "q", &err),
                     LEVADA_EINVALID_ARGUMENT);
    assert_non_null(strstr(err.message, "'q' is not a field"));
    levada_length_histogram_destroy(&h);
    levada_dataset_unref(&dataset);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_lengths_of_any_size),
        cmocka_unit_test(reads_sequences_numbers_and_batches),
        cmocka_unit_test(an_unknown_field_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
