/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What padding costs: each strategy is a stage, run over a dataset that has nothing but the field
 * `length`, so that the report cannot differ from what the stage does.
 */
#include "base/alloc.h"
#include "base/assert.h"
#include "base/text.h"
#include "base/versioned.h"
#include <levada/builder.h>
#include <levada/dataset.h>
#include <levada/iter.h>
#include <levada/lengths.h>

#include <string.h>

LEVADA_VERSIONED_INIT(levada_padding_report_options_init, levada_padding_report_options,
                      LEVADA_PADDING_REPORT_OPTIONS_INIT)

#define PADDING_BUCKETS_MOST 16

typedef struct padding_report {
    const levada_padding_report_options *options;
    levada_dataset                      *lengths; /* the records, in their order */
    levada_length_histogram             *histogram;
    levada_text                          json;
    int64_t                              tokens;
    int32_t                              strategies;
} padding_report;

typedef struct padding_cost {
    double   cells;
    int64_t  batches;
    uint8_t *seen; /* one bit for each padded length below `most` */
    int64_t  most, shapes;
} padding_cost;

static levada_status padding_report_memory(levada_error *err)
{
    return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a report");
}

/* A dataset of one int64 field. */
static levada_status padding_report_source(const int64_t *lengths, int64_t n, levada_dataset **out,
                                           levada_error *err)
{
    levada_field    field = { .name = "length", .dtype = LEVADA_INT64 };
    levada_spec    *spec = NULL;
    levada_builder *b = NULL;
    levada_block   *block = NULL;
    levada_value   *options = levada_value_map(), *data = NULL;
    void           *values = NULL;
    levada_status   st = options ? LEVADA_OK : padding_report_memory(err);

    if (st == LEVADA_OK) st = levada_spec_create(&field, 1, LEVADA_SPEC_PLAIN, &spec, err);
    if (st == LEVADA_OK) st = levada_builder_create(NULL, spec, n, &b, err);
    if (st == LEVADA_OK) st = levada_builder_values(b, 0, n, &values, err);
    for (int64_t i = 0; st == LEVADA_OK && i < n; i++) {
        ((int64_t *)values)[i] = lengths[i] > 0 ? lengths[i] : 0;
    }
    if (st == LEVADA_OK) st = levada_builder_publish(&b, &block, err);
    if (st == LEVADA_OK && !(data = levada_value_block(block))) st = padding_report_memory(err);
    if (st == LEVADA_OK) st = levada_value_set(options, "data", &data, err);
    if (st == LEVADA_OK) st = levada_dataset_append(NULL, "memory", options, NULL, 0, out, err);
    levada_value_destroy(&data);
    levada_value_destroy(&options);
    levada_block_unref(&block);
    levada_builder_destroy(&b);
    levada_spec_unref(&spec);
    return st;
}

/* Appends one stage, whose options are text as in a description. */
static levada_status padding_report_append(const levada_dataset *in, const char *name,
                                           const char *options, levada_dataset **out,
                                           levada_error *err)
{
    levada_value *value = NULL;
    levada_status st;

    LEVADA_TRY(levada_value_parse(options, &value, err));
    st = levada_dataset_append(NULL, name, value, &in, 1, out, err);
    levada_value_destroy(&value);
    return st;
}

static void padding_report_count(const padding_report *r, padding_cost *cost,
                                 const levada_block *batch)
{
    const int64_t *lengths = levada_column_i64(levada_block_column(batch, "length"));
    int64_t        rows = levada_block_rows(batch), longest = 0, m = r->options->multiple_of;

    for (int64_t i = 0; i < rows; i++) longest = lengths[i] > longest ? lengths[i] : longest;
    if (longest <= INT64_MAX - m) longest = (longest + m - 1) / m * m;
    cost->cells += (double)rows * (double)longest;
    cost->batches++;
    if (longest >= cost->most) {
        cost->shapes++;
    } else if (!(cost->seen[longest / 8] & (1 << longest % 8))) {
        cost->seen[longest / 8] |= (uint8_t)(1 << longest % 8);
        cost->shapes++;
    }
}

static levada_status padding_report_run(const padding_report *r, const levada_dataset *dataset,
                                        padding_cost *cost, levada_error *err)
{
    levada_iter_options options = LEVADA_ITER_OPTIONS_INIT;
    levada_iter        *it = NULL;
    levada_block       *block = NULL;
    levada_status       st;

    options.seed = 1;
    options.threads = 1;
    LEVADA_TRY(levada_iter_open(dataset, &options, &it, err));
    while ((st = levada_iter_next(it, &block, err)) == LEVADA_OK) {
        padding_report_count(r, cost, block);
        levada_block_unref(&block);
    }
    levada_iter_close(&it);
    return st == LEVADA_END ? LEVADA_OK : st;
}

/* Runs a stage and adds its line. */
static levada_status padding_report_add(padding_report *r, const char *strategy, const char *name,
                                        const levada_text *options, levada_error *err)
{
    padding_cost    cost = { .most = 1 << 20 };
    levada_dataset *dataset = NULL;
    levada_text     map = { 0 };
    char           *text = NULL;
    levada_status   st;

    levada_text_format(&map, "{%s}", options->at ? options->at : "");
    cost.seen = levada_alloc_zero((size_t)cost.most / 8);
    st = cost.seen && !map.failed && !options->failed
             ? padding_report_append(r->lengths, name, map.at, &dataset, err)
             : padding_report_memory(err);
    if (st == LEVADA_OK) st = padding_report_run(r, dataset, &cost, err);
    if (st == LEVADA_OK) st = levada_dataset_text(dataset, &text, err);
    if (st == LEVADA_OK) {
        const char *stage = strstr(text, " | ");

        levada_text_format(&r->json, "%s{\"strategy\":", r->strategies++ ? "," : "");
        levada_text_json(&r->json, strategy, strlen(strategy));
        levada_text_put(&r->json, ",\"stage\":");
        levada_text_json(&r->json, stage ? stage + 3 : text, strlen(stage ? stage + 3 : text));
        levada_text_format(&r->json,
                           ",\"padding\":%.6f,\"batches\":%lld,\"tokens_per_batch\":%.1f,"
                           "\"shapes\":%lld}",
                           cost.cells > 0 ? 1 - (double)r->tokens / cost.cells : 0.0,
                           (long long)cost.batches,
                           cost.batches ? (double)r->tokens / (double)cost.batches : 0.0,
                           (long long)cost.shapes);
    }
    levada_string_free(&text);
    levada_text_clear(&map);
    levada_dataset_unref(&dataset);
    levada_free(cost.seen);
    return st;
}

static void padding_report_boundaries(levada_text *to, const int64_t *at, int64_t n)
{
    levada_text_put(to, "boundaries:[");
    for (int64_t i = 0; i < n; i++) {
        levada_text_format(to, "%s%lld", i ? "," : "", (long long)at[i]);
    }
    levada_text_put(to, "],");
}

/* bucket_by_sequence_length with the budget; `how` are the options besides. */
static levada_status padding_report_bucket(padding_report *r, const char *strategy,
                                           const char *how, levada_error *err)
{
    levada_text   options = { 0 };
    levada_status st;

    levada_text_format(&options, "length:length,%smax_tokens:%lld,pad_to_multiple:%lld,"
                                 "too_long:alone", how, (long long)r->options->max_tokens,
                       (long long)r->options->multiple_of);
    st = padding_report_add(r, strategy, "bucket_by_sequence_length", &options, err);
    levada_text_clear(&options);
    return st;
}

static levada_status padding_report_given(padding_report *r, const char *strategy,
                                          const int64_t *at, int64_t n, levada_error *err)
{
    levada_text   how = { 0 };
    levada_status st;

    padding_report_boundaries(&how, at, n);
    st = how.failed ? padding_report_memory(err)
                    : padding_report_bucket(r, strategy, how.at, err);
    levada_text_clear(&how);
    return st;
}

static levada_status padding_report_best(padding_report *r, const char *strategy, int64_t buckets,
                                         levada_error *err)
{
    const int64_t *lengths = NULL, *counts = NULL;
    int64_t        at[PADDING_BUCKETS_MOST], n = 0, nat = 0;

    LEVADA_TRY(levada_length_histogram_get(r->histogram, &lengths, &counts, &n, err));
    LEVADA_TRY(levada_optimal_boundaries(lengths, counts, n, buckets, r->options->multiple_of, at,
                                         &nat, err));
    return padding_report_given(r, strategy, at, nat, err);
}

static levada_status padding_report_all(padding_report *r, levada_error *err)
{
    const levada_padding_report_options *o = r->options;
    levada_text                          size = { 0 };
    levada_status                        st;

    levada_text_format(&size, "batch_size:%lld", (long long)o->batch_size);
    st = padding_report_add(r, "batches in order", "padded_batch", &size, err);
    levada_text_clear(&size);
    if (st == LEVADA_OK) st = padding_report_bucket(r, "budget in order", "boundaries:[],", err);
    if (st == LEVADA_OK && o->boundaries) {
        st = padding_report_given(r, "given boundaries", o->boundaries, o->nboundaries, err);
    }
    if (st == LEVADA_OK) st = padding_report_best(r, "4 best buckets", 4, err);
    if (st == LEVADA_OK) st = padding_report_best(r, "8 best buckets", 8, err);
    if (st == LEVADA_OK) st = padding_report_best(r, "16 best buckets", 16, err);
    if (st == LEVADA_OK) {
        st = padding_report_bucket(r, "look-ahead of 4000", "lookahead:4000,", err);
    }
    if (st != LEVADA_OK) return st;
    return padding_report_bucket(r, "look-ahead of 16000", "lookahead:16000,", err);
}

static levada_status padding_report_check(const levada_padding_report_options *o,
                                          levada_error                        *err)
{
    if (o->max_tokens < 1 || o->batch_size < 1 || o->multiple_of < 1) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "max_tokens=%lld, batch_size=%lld and multiple_of=%lld must be at "
                           "least 1",
                           (long long)o->max_tokens, (long long)o->batch_size,
                           (long long)o->multiple_of);
    }
    if (o->nboundaries >= 0 && (o->boundaries || o->nboundaries == 0)) return LEVADA_OK;
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "boundaries are NULL or their number is "
                                                      "negative");
}

levada_status levada_padding_report(const int64_t *lengths, int64_t n,
                                    const levada_padding_report_options *options, char **out,
                                    levada_error *err)
{
    LEVADA_TRY(levada_require(out != NULL, "out", err));
    LEVADA_TRY(levada_require(n <= 0 || lengths != NULL, "lengths", err));
    levada_padding_report_options all = LEVADA_PADDING_REPORT_OPTIONS_INIT;
    padding_report                r = { .options = &all };
    levada_status                 st = LEVADA_OK;

    if (options) {
        LEVADA_TRY(LEVADA_VERSIONED_READ(all, options, levada_padding_report_options, err));
    }
    if (n < 0) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "n=%lld is negative", (long long)n);
    }
    LEVADA_TRY(padding_report_check(&all, err));
    for (int64_t i = 0; i < n; i++) r.tokens += lengths[i] > 0 ? lengths[i] : 0;
    st = padding_report_source(lengths, n, &r.lengths, err);
    if (st == LEVADA_OK) st = levada_length_histogram_create(&r.histogram, err);
    if (st == LEVADA_OK) st = levada_length_histogram_add(r.histogram, lengths, n, err);
    levada_text_format(&r.json, "{\"records\":%lld,\"tokens\":%lld,\"strategies\":[", (long long)n,
                       (long long)r.tokens);
    if (st == LEVADA_OK) st = padding_report_all(&r, err);
    levada_text_put(&r.json, "]}");
    if (st == LEVADA_OK) st = levada_text_steal(&r.json, out, err);
    levada_text_clear(&r.json);
    levada_length_histogram_destroy(&r.histogram);
    levada_dataset_unref(&r.lengths);
    return st;
}
