/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What padding costs: each strategy is a stage, run over a dataset that has nothing but the field
 * `length`, so that the report cannot differ from what the stage does.
 */
#include "base/alloc.h"
#include "base/assert.h"
#include "base/text.h"
#include "base/versioned.h"
#include "batch/length_summary.h"
#include "batch/lookahead.h"
#include "batch/padding_strategy.h"
#include <levada/builder.h>
#include <levada/dataset.h>
#include <levada/iter.h>
#include <levada/lengths.h>

#include <string.h>

LEVADA_VERSIONED_INIT(levada_padding_report_options_init, levada_padding_report_options,
                      LEVADA_PADDING_REPORT_OPTIONS_INIT)

#define PADDING_BUCKETS_MOST 4096
#define PADDING_SHUFFLE_MOST (1 << 20)
#define PADDING_PACK_MOST    (1 << 28) /* largest length of a packed record */
#define PADDING_TOLERANCE 0.01 /* more padding than the best that a recommendation may have */

typedef struct padding_choice {
    levada_text json; /* the members of the object */
    double      padding;
} padding_choice;

#define PADDING_RANKS 4

typedef struct padding_report {
    const levada_padding_report_options *options;
    const char                          *field;
    const int64_t                       *given; /* lengths of all records */
    int64_t                              n;
    levada_dataset                      *lengths; /* the records, in their order */
    levada_length_histogram             *histogram;
    levada_text                          json;
    int64_t                              tokens, longest;
    int32_t                              strategies;
    padding_choice                       choices[PADDING_RANKS]; /* by rank, less one */
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

/* -- what it costs */

static void padding_report_count(const padding_report *r, padding_cost *cost,
                                 const levada_block *batch)
{
    const int64_t *lengths = levada_column_i64(levada_block_at(batch, 0));
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

/* Writes the members of the JSON objects that name a strategy. */
static void padding_report_names(levada_text *to, const levada_padding_strategy *s)
{
    levada_text_put(to, "\"strategy\":");
    levada_text_json(to, s->name, strlen(s->name));
    levada_text_put(to, ",\"stage\":");
    levada_text_json(to, s->text.at ? s->text.at : "", s->text.size);
    levada_text_put(to, ",\"call\":");
    levada_text_json(to, s->call.at ? s->call.at : "", s->call.size);
}

static void padding_report_line(padding_report *r, const levada_padding_strategy *s,
                                const padding_cost *cost)
{
    double padding = cost->cells > 0 ? 1 - (double)r->tokens / cost->cells : 0;

    levada_text_put(&r->json, r->strategies++ ? ",{" : "{");
    padding_report_names(&r->json, s);
    levada_text_format(&r->json,
                       ",\"padding\":%.6f,\"batches\":%lld,\"tokens_per_batch\":%.1f,"
                       "\"shapes\":%lld}",
                       padding, (long long)cost->batches,
                       cost->batches ? (double)r->tokens / (double)cost->batches : 0.0,
                       (long long)cost->shapes);
    if (s->rank == 0) return;
    levada_text_clear(&r->choices[s->rank - 1].json);
    padding_report_names(&r->choices[s->rank - 1].json, s);
    r->choices[s->rank - 1].padding = padding;
}

/* Runs a strategy over the lengths and adds its line. Clears it. */
static levada_status padding_report_add(padding_report *r, levada_padding_strategy *s,
                                        levada_error *err)
{
    padding_cost    cost = { .most = 1 << 20 };
    levada_dataset *dataset = NULL;
    levada_status   st;

    cost.seen = levada_alloc_zero((size_t)cost.most / 8);
    st = cost.seen ? levada_padding_strategy_make(s, r->lengths, &dataset, err)
                   : padding_report_memory(err);
    if (st == LEVADA_OK) st = padding_report_run(r, dataset, &cost, err);
    if (st == LEVADA_OK) padding_report_line(r, s, &cost);
    levada_dataset_unref(&dataset);
    levada_free(cost.seen);
    levada_padding_strategy_clear(s);
    return st;
}

/* -- the strategies */

static void padding_report_multiple(const padding_report *r, levada_text *to)
{
    if (r->options->multiple_of == 1) return;
    levada_text_format(to, ",pad_to_multiple:%lld", (long long)r->options->multiple_of);
}

static levada_status padding_report_plain(padding_report *r, bool mixed, levada_error *err)
{
    levada_padding_strategy s = { .name = mixed ? "random batches" : "batches in order" };
    int              last = mixed ? 1 : 0;

    if (mixed) {
        s.stage[0] = "shuffle";
        levada_text_format(&s.options[0], "buffer_size:%lld,seed:1",
                           (long long)(r->n < 1                      ? 1
                                       : r->n < PADDING_SHUFFLE_MOST ? r->n
                                                                     : PADDING_SHUFFLE_MOST));
    }
    s.stage[last] = "padded_batch";
    levada_text_format(&s.options[last], "batch_size:%lld", (long long)r->options->batch_size);
    padding_report_multiple(r, &s.options[last]);
    return padding_report_add(r, &s, err);
}

static void padding_report_length(const padding_report *r, levada_text *to)
{
    levada_text_put(to, "length:");
    levada_text_json(to, r->field, strlen(r->field));
}

/* Windows of 100 batches, sorted, in batches of equal size. */
static levada_status padding_report_sorted(padding_report *r, levada_error *err)
{
    levada_padding_strategy s = { .name = "sorted window",
                                  .stage = { "bucket_by_sequence_length" } };
    int64_t          window = r->options->batch_size;

    window = window < LEVADA_LOOKAHEAD_MOST / 100 ? window * 100 : LEVADA_LOOKAHEAD_MOST;
    padding_report_length(r, &s.options[0]);
    levada_text_format(&s.options[0], ",lookahead:%lld,batch_sizes:[%lld]", (long long)window,
                       (long long)r->options->batch_size);
    padding_report_multiple(r, &s.options[0]);
    return padding_report_add(r, &s, err);
}

static bool padding_report_has_alone(const padding_report *r)
{
    int64_t m = r->options->multiple_of;

    return r->longest > INT64_MAX - m || (r->longest + m - 1) / m * m > r->options->max_tokens;
}

/* Measures bucket_by_sequence_length with the budget; `how` are the other options. */
static levada_status padding_report_bucket(padding_report *r, const char *strategy, int rank,
                                           const char *how, levada_error *err)
{
    levada_padding_strategy s = {
        .name = strategy, .stage = { "bucket_by_sequence_length" }, .rank = rank
    };

    padding_report_length(r, &s.options[0]);
    levada_text_format(&s.options[0], ",%smax_tokens:%lld", how,
                       (long long)r->options->max_tokens);
    padding_report_multiple(r, &s.options[0]);
    if (padding_report_has_alone(r)) levada_text_put(&s.options[0], ",too_long:alone");
    return padding_report_add(r, &s, err);
}

static levada_status padding_report_given(padding_report *r, const char *strategy, int rank,
                                          const int64_t *at, int64_t n, levada_error *err)
{
    levada_text   how = { 0 };
    levada_status st;

    levada_text_put(&how, "boundaries:[");
    for (int64_t i = 0; i < n; i++) {
        levada_text_format(&how, "%s%lld", i ? "," : "", (long long)at[i]);
    }
    levada_text_put(&how, "],");
    st = how.failed ? padding_report_memory(err)
                    : padding_report_bucket(r, strategy, rank, how.at, err);
    levada_text_clear(&how);
    return st;
}

static levada_status padding_report_best(padding_report *r, int64_t buckets, int rank,
                                         levada_error *err)
{
    const int64_t *lengths = NULL, *counts = NULL;
    int64_t       *at = levada_alloc((size_t)buckets * sizeof *at), n = 0, nat = 0;
    levada_text    name = { 0 };
    levada_status  st = at ? LEVADA_OK : padding_report_memory(err);

    levada_text_format(&name, "%lld best bucket%s", (long long)buckets, buckets == 1 ? "" : "s");
    if (st == LEVADA_OK && name.failed) st = padding_report_memory(err);
    if (st == LEVADA_OK) {
        st = levada_length_histogram_get(r->histogram, &lengths, &counts, &n, err);
    }
    if (st == LEVADA_OK) {
        st = levada_optimal_boundaries(lengths, counts, n, buckets, r->options->multiple_of, at,
                                       &nat, err);
    }
    if (st == LEVADA_OK) st = padding_report_given(r, name.at, rank, at, nat, err);
    levada_text_clear(&name);
    levada_free(at);
    return st;
}

static levada_status padding_report_buckets(padding_report *r, levada_error *err)
{
    const levada_padding_report_options *o = r->options;
    bool more = o->num_buckets && o->num_buckets != 4 && o->num_buckets != 8 &&
                o->num_buckets != 16;

    LEVADA_TRY(padding_report_bucket(r, "budget in order", 0, "boundaries:[],", err));
    if (o->boundaries) {
        LEVADA_TRY(padding_report_given(r, "given boundaries", 0, o->boundaries, o->nboundaries,
                                        err));
    }
    LEVADA_TRY(padding_report_best(r, 4, 0, err));
    LEVADA_TRY(padding_report_best(r, 8, 4, err));
    LEVADA_TRY(padding_report_best(r, 16, 3, err));
    if (more) LEVADA_TRY(padding_report_best(r, o->num_buckets, 0, err));
    LEVADA_TRY(padding_report_bucket(r, "look-ahead of 4,000", 1, "lookahead:4000,", err));
    return padding_report_bucket(r, "look-ahead of 16,000", 2, "lookahead:16000,", err);
}

/* -- packing */

/* Chooses the length of packed records: a power of two that is not shorter than 99 % of the
 * records. */
static levada_status padding_report_pack_length(const padding_report *r, int64_t *out,
                                                levada_error *err)
{
    levada_length_summary summary;
    int64_t               most = r->options->max_tokens, length = 1;

    *out = r->options->pack_length;
    if (*out) return LEVADA_OK;
    LEVADA_TRY(levada_length_summary_make(r->histogram, &summary, err));
    if (most > PADDING_PACK_MOST) most = PADDING_PACK_MOST;
    while (length < summary.p99 && length <= most / 2) length *= 2;
    *out = length;
    return LEVADA_OK;
}

/* Counts packed records, each of which is padded to `length`. */
static levada_status padding_report_pack(const levada_dataset *dataset, double *packed,
                                         levada_error *err)
{
    levada_iter_options options = LEVADA_ITER_OPTIONS_INIT;
    levada_iter        *it = NULL;
    levada_block       *block = NULL;
    levada_status       st;

    options.threads = 1;
    LEVADA_TRY(levada_iter_open(dataset, &options, &it, err));
    while ((st = levada_iter_next(it, &block, err)) == LEVADA_OK) {
        *packed += (double)levada_block_rows(block);
        levada_block_unref(&block);
    }
    levada_iter_close(&it);
    return st == LEVADA_END ? LEVADA_OK : st;
}

static levada_status padding_report_packing(padding_report *r, levada_error *err)
{
    levada_padding_strategy s = { .name = "packing", .stage = { "pack" } };
    padding_cost     cost = { .shapes = r->n > 0 };
    levada_dataset  *source = NULL, *dataset = NULL;
    int64_t          length = 0, together;
    double           packed = 0;
    levada_status    st = padding_report_pack_length(r, &length, err);

    if (st != LEVADA_OK) return st;
    levada_text_format(&s.options[0], "length:%lld,fields:", (long long)length);
    levada_text_json(&s.options[0], r->field, strlen(r->field));
    if (r->longest > length) levada_text_put(&s.options[0], ",too_long:split");
    st = levada_padding_sequences(r->field, r->given, r->n, length, &source, &packed,
                                                         err);
    if (st == LEVADA_OK) st = levada_padding_strategy_make(&s, source, &dataset, err);
    if (st == LEVADA_OK) st = padding_report_pack(dataset, &packed, err);
    if (st == LEVADA_OK) {
        together = r->options->max_tokens / length;
        if (together < 1) together = 1;
        cost.cells = packed * (double)length;
        cost.batches = (int64_t)((packed + (double)together - 1) / (double)together);
        padding_report_line(r, &s, &cost);
    }
    levada_dataset_unref(&source);
    levada_dataset_unref(&dataset);
    levada_padding_strategy_clear(&s);
    return st;
}

/* -- the report */

static levada_status padding_report_all(padding_report *r, levada_error *err)
{
    LEVADA_TRY(padding_report_plain(r, false, err));
    LEVADA_TRY(padding_report_plain(r, true, err));
    LEVADA_TRY(padding_report_sorted(r, err));
    LEVADA_TRY(padding_report_buckets(r, err));
    return padding_report_packing(r, err);
}

static void padding_report_recommend(padding_report *r)
{
    double least = 1;
    int    i = 0;

    for (int k = 0; k < PADDING_RANKS; k++) {
        if (r->choices[k].padding < least) least = r->choices[k].padding;
    }
    while (r->choices[i].padding > least + PADDING_TOLERANCE) i++;
    if (r->choices[i].json.failed) r->json.failed = true;
    levada_text_format(&r->json, "],\"recommended\":{%s}}",
                       r->choices[i].json.at ? r->choices[i].json.at : "");
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
    if (o->num_buckets < 0 || o->num_buckets > PADDING_BUCKETS_MOST || o->pack_length < 0 ||
        o->pack_length > PADDING_PACK_MOST) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "num_buckets=%lld must be 0..%d, and pack_length=%lld 0..%d",
                           (long long)o->num_buckets, PADDING_BUCKETS_MOST,
                           (long long)o->pack_length, PADDING_PACK_MOST);
    }
    if (o->nboundaries >= 0 && (o->boundaries || o->nboundaries == 0)) return LEVADA_OK;
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                       "nboundaries=%lld must be the length of boundaries, which %s",
                       (long long)o->nboundaries, o->boundaries ? "is a list" : "are NULL");
}

/* Begins the report with its subject, before the strategies. */
static levada_status padding_report_begin(padding_report *r, levada_error *err)
{
    for (int64_t i = 0; i < r->n; i++) {
        int64_t length = r->given[i] > 0 ? r->given[i] : 0;

        if (length > INT64_MAX - r->tokens) {
            return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                               "the sum of lengths must be below 2^63");
        }
        r->tokens += length;
        if (length > r->longest) r->longest = length;
    }
    LEVADA_TRY(levada_length_histogram_create(&r->histogram, err));
    LEVADA_TRY(levada_length_histogram_add(r->histogram, r->given, r->n, err));
    levada_text_format(&r->json, "{\"records\":%lld,\"tokens\":%lld,\"field\":", (long long)r->n,
                       (long long)r->tokens);
    levada_text_json(&r->json, r->field, strlen(r->field));
    LEVADA_TRY(levada_length_summary_json(r->histogram, &r->json, err));
    levada_text_put(&r->json, ",\"strategies\":[");
    return levada_padding_lengths(r->field, r->given, r->n, &r->lengths, err);
}

levada_status levada_padding_report(const int64_t *lengths, int64_t n,
                                    const levada_padding_report_options *options, char **out,
                                    levada_error *err)
{
    LEVADA_TRY(levada_require(out != NULL, "out", err));
    LEVADA_TRY(levada_require(n <= 0 || lengths != NULL, "lengths", err));
    levada_padding_report_options all = LEVADA_PADDING_REPORT_OPTIONS_INIT;
    padding_report                r = { .options = &all, .given = lengths, .n = n };
    levada_status                 st;

    if (options) {
        LEVADA_TRY(LEVADA_VERSIONED_READ(all, options, levada_padding_report_options, err));
    }
    if (n < 0) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "n=%lld is negative", (long long)n);
    }
    LEVADA_TRY(padding_report_check(&all, err));
    r.field = all.field ? all.field : "length";
    st = padding_report_begin(&r, err);
    if (st == LEVADA_OK) st = padding_report_all(&r, err);
    padding_report_recommend(&r);
    if (st == LEVADA_OK) st = levada_text_steal(&r.json, out, err);
    levada_text_clear(&r.json);
    for (int k = 0; k < PADDING_RANKS; k++) levada_text_clear(&r.choices[k].json);
    levada_length_histogram_destroy(&r.histogram);
    levada_dataset_unref(&r.lengths);
    return st;
}
