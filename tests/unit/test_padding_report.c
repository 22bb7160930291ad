/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What padding costs, in figures that can be computed by hand and by comparison.
 */
#include "base/random.h"
#include <levada/dataset.h>
#include <levada/lengths.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static levada_value *report(const int64_t *lengths, int64_t n,
                            const levada_padding_report_options *options)
{
    char         *text = NULL;
    levada_value *value = NULL;

    assert_int_equal(levada_padding_report(lengths, n, options, &text, NULL), LEVADA_OK);
    assert_int_equal(levada_value_parse_json(text, strlen(text), &value, NULL), LEVADA_OK);
    levada_string_free(&text);
    return value;
}

static const levada_value *row(const levada_value *report, const char *strategy)
{
    const levada_value *rows = levada_value_get(report, "strategies");

    for (int64_t i = 0; i < levada_value_count(rows); i++) {
        const levada_value *at = levada_value_item(rows, i);
        const char *name = levada_value_as_text(levada_value_get(at, "strategy"), NULL);

        if (strcmp(name, strategy) == 0) return at;
    }
    fail_msg("no strategy '%s'", strategy);
    return NULL;
}

static double padding(const levada_value *report, const char *strategy)
{
    return levada_value_as_float(levada_value_get(row(report, strategy), "padding"));
}

static void figures_are_those_of_the_batches(void **state)
{
    const int64_t                 lengths[] = { 1, 9, 1, 9, 2, 2 };
    const int64_t                 boundaries[] = { 2 };
    levada_padding_report_options o = LEVADA_PADDING_REPORT_OPTIONS_INIT;
    levada_value                 *r;

    (void)state;
    o.batch_size = 2;
    o.max_tokens = 18;
    o.boundaries = boundaries;
    o.nboundaries = 1;
    r = report(lengths, 6, &o);
    assert_int_equal(levada_value_as_int(levada_value_get(r, "tokens")), 24);
    /* [1 9] [1 9] [2 2]: 18 + 18 + 4 elements, 24 of them real */
    assert_true(padding(r, "batches in order") > 0.399 && padding(r, "batches in order") < 0.401);
    assert_int_equal(levada_value_as_int(levada_value_get(row(r, "batches in order"), "shapes")),
                     2);
    /* [1 1] and [9 9] [2 2] */
    assert_true(padding(r, "given boundaries") < 1e-6);
    assert_true(padding(r, "4 best buckets") < 1e-6);
    assert_string_equal(levada_value_as_text(levada_value_get(row(r, "given boundaries"), "stage"),
                                             NULL),
                        "bucket_by_sequence_length:length,boundaries=[2],max_tokens=18");
    assert_string_equal(levada_value_as_text(levada_value_get(row(r, "given boundaries"), "call"),
                                             NULL),
                        "bucket_by_sequence_length(\"length\", boundaries=[2], max_tokens=18)");
    assert_string_equal(levada_value_as_text(levada_value_get(row(r, "random batches"), "stage"),
                                             NULL),
                        "shuffle:6,seed=1 | padded_batch:2");
    /* packed to 16: 9 + 2 + 2 + 1 + 1 and 9 */
    assert_string_equal(levada_value_as_text(levada_value_get(row(r, "packing"), "stage"), NULL),
                        "pack:16,fields=length");
    assert_true(padding(r, "packing") > 0.249 && padding(r, "packing") < 0.251);
    assert_string_equal(levada_value_as_text(
                            levada_value_get(levada_value_get(r, "recommended"), "call"), NULL),
                        "bucket_by_sequence_length(\"length\", boundaries=[2,3], max_tokens=18)");
    levada_value_destroy(&r);
}

static void more_buckets_and_more_look_ahead_pad_less(void **state)
{
    static int64_t lengths[40000];
    levada_value  *r;

    (void)state;
    for (int64_t i = 0; i < 40000; i++) {
        double a = levada_random_unit(levada_random_draw(1, 0, (uint64_t)i));

        lengths[i] = 1 + (int64_t)(a * a * a * 2000);
    }
    r = report(lengths, 40000, NULL);
    assert_true(padding(r, "batches in order") > padding(r, "4 best buckets"));
    assert_true(padding(r, "4 best buckets") > padding(r, "8 best buckets"));
    assert_true(padding(r, "8 best buckets") > padding(r, "16 best buckets"));
    assert_true(padding(r, "16 best buckets") > padding(r, "look-ahead of 4,000"));
    assert_true(padding(r, "look-ahead of 4,000") > padding(r, "look-ahead of 16,000"));
    assert_true(padding(r, "look-ahead of 16,000") < 0.02);
    assert_true(padding(r, "random batches") > 0.4);
    assert_true(padding(r, "sorted window") < padding(r, "random batches") / 4);
    assert_true(padding(r, "packing") < 0.02);
    levada_value_destroy(&r);
}

static void no_records_cost_nothing(void **state)
{
    levada_value *r = report(NULL, 0, NULL);

    (void)state;
    assert_true(padding(r, "look-ahead of 4,000") < 1e-9);
    levada_value_destroy(&r);
}

static int64_t number(const levada_value *map, const char *key)
{
    return levada_value_as_int(levada_value_get(map, key));
}

static void quantiles_and_bins_are_those_of_the_lengths(void **state)
{
    static int64_t      lengths[1000];
    int64_t             records = 0, before;
    levada_value       *r;
    const levada_value *bins, *q;

    (void)state;
    for (int64_t i = 0; i < 1000; i++) lengths[i] = 100 + i;
    lengths[0] = 100000;
    r = report(lengths, 1000, NULL);
    q = levada_value_get(r, "quantiles");
    bins = levada_value_get(r, "histogram");
    assert_int_equal(number(q, "min"), 101);
    assert_int_equal(number(q, "p10"), 200);
    assert_int_equal(number(q, "median"), 600);
    assert_int_equal(number(q, "p99"), 1090);
    assert_int_equal(number(q, "max"), 100000);
    before = levada_value_as_int(levada_value_item(levada_value_item(bins, 0), 0));
    assert_int_equal(before, 100);
    for (int64_t i = 0; i < levada_value_count(bins); i++) {
        const levada_value *bin = levada_value_item(bins, i);

        assert_int_equal(levada_value_as_int(levada_value_item(bin, 0)), before);
        before = levada_value_as_int(levada_value_item(bin, 1));
        records += levada_value_as_int(levada_value_item(bin, 2));
    }
    assert_int_equal(before, 100001);
    assert_int_equal(records, 1000);
    levada_value_destroy(&r);
}

/* Sequences longer than a packed record are cut, however long they are. */
static void lengths_of_any_size_are_reported(void **state)
{
    const int64_t                 lengths[] = { INT64_C(1) << 59, 7, -3, 1 };
    const int64_t                 beyond[] = { INT64_MAX, 1 };
    levada_padding_report_options o = LEVADA_PADDING_REPORT_OPTIONS_INIT;
    levada_value                 *r;
    char                         *text = NULL;

    (void)state;
    o.field = "a \"b\"";
    o.pack_length = 8;
    o.num_buckets = 2;
    r = report(lengths, 4, &o);
    assert_string_equal(levada_value_as_text(levada_value_get(r, "field"), NULL), "a \"b\"");
    assert_true(padding(r, "packing") < 1e-6);
    assert_true(padding(r, "2 best buckets") < 1e-6);
    assert_non_null(strstr(levada_value_as_text(levada_value_get(row(r, "packing"), "stage"), NULL),
                           "too_long=split"));
    assert_non_null(strstr(
        levada_value_as_text(levada_value_get(row(r, "budget in order"), "stage"), NULL),
        "too_long=alone"));
    levada_value_destroy(&r);
    assert_int_equal(levada_padding_report(beyond, 2, &o, &text, NULL), LEVADA_EINVALID_ARGUMENT);
    o.num_buckets = 5000;
    assert_int_equal(levada_padding_report(lengths, 4, &o, &text, NULL), LEVADA_EINVALID_ARGUMENT);
    assert_null(text);
}

static void options_that_do_not_fit_are_refused(void **state)
{
    const int64_t                 one = 1;
    levada_padding_report_options o = LEVADA_PADDING_REPORT_OPTIONS_INIT;
    char                         *text = NULL;

    (void)state;
    o.max_tokens = 0;
    assert_int_equal(levada_padding_report(&one, 1, &o, &text, NULL), LEVADA_EINVALID_ARGUMENT);
    o.max_tokens = 9;
    o.nboundaries = 1;
    assert_int_equal(levada_padding_report(&one, 1, &o, &text, NULL), LEVADA_EINVALID_ARGUMENT);
    assert_int_equal(levada_padding_report(&one, -1, NULL, &text, NULL), LEVADA_EINVALID_ARGUMENT);
    assert_null(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(figures_are_those_of_the_batches),
        cmocka_unit_test(more_buckets_and_more_look_ahead_pad_less),
        cmocka_unit_test(no_records_cost_nothing),
        cmocka_unit_test(quantiles_and_bins_are_those_of_the_lengths),
        cmocka_unit_test(lengths_of_any_size_are_reported),
        cmocka_unit_test(options_that_do_not_fit_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
