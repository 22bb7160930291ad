/* SPDX-License-Identifier: Apache-2.0 */
/*
 * levada stats: how long the sequences are, and what padding would cost in which kind of batch.
 */
#include "json.h"
#include "pipe.h"
#include "strategy.h"
#include <levada/lengths.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const levada_cli_option cmd_stats_options[] = {
    { "field", 'f', "F", "measure the length of this field (default: the only ragged one)" },
    { "buckets", 'k', "N", "number of buckets to optimize (default: 8 and 16)" },
    { "max-tokens", 'm', "N", "cells of a batch, padding included (default 32768)" },
    { "json", 0, NULL, "print one JSON object" },
    { "progress", 'p', NULL, "show progress on a terminal" },
    LEVADA_CLI_PIPE_OPTIONS,
    LEVADA_CLI_OPTION_END
};

typedef struct stats_job {
    const char        *field;
    int64_t            budget;
    levada_cli_buffer  all, at, count; /* int64_t each */
    levada_cli_lengths lengths;
    levada_cli_buffer  out;
    bool               json;
    int                lines;
} stats_job;

/* The field asked for, or the only one that has lengths. */
static const levada_column *cmd_stats_column(const stats_job *job, const levada_block *block,
                                             levada_error *err)
{
    const levada_column *column, *found = NULL;
    levada_cli_buffer    names = { 0 };
    int                  n = 0;

    if (job->field) found = levada_block_column(block, job->field);
    for (int32_t i = 0; (column = levada_block_at(block, i)) != NULL; i++) {
        levada_cli_printf(&names, "%s%s", i ? ", " : "", column->field->name);
        if (job->field || (column->field->depth == 0 && !column->lengths)) continue;
        found = column;
        n++;
    }
    if (!job->field && n != 1) {
        found = NULL;
        levada_fail(err, LEVADA_EINVALID_ARGUMENT, "--field is required; available: %s", names.at);
    } else if (!found) {
        levada_fail(err, LEVADA_EINVALID_ARGUMENT, "unknown field '%s'; available: %s", job->field,
                    names.at);
    }
    levada_cli_buffer_clear(&names);
    return found;
}

/* A ragged field has a length, an integer is one, and so is the size of a byte string. */
static levada_status cmd_stats_block(stats_job *job, const levada_block *block, levada_error *err)
{
    const levada_column *column = cmd_stats_column(job, block, err);
    const int64_t       *numbers = column ? levada_column_i64(column) : NULL;
    bool                 plain = column && column->field->depth == 0 && column->field->ndim == 0;

    if (!column) return err->code;
    for (int64_t row = 0; row < column->n; row++) {
        int64_t length = 0;

        if (plain && numbers) length = numbers[row];
        else if (plain) (void)levada_column_bytes(column, row, &length);
        else length = levada_column_length(column, row);
        if (length < 0) length = 0;
        levada_cli_add(&job->all, &length, sizeof length);
    }
    return LEVADA_OK;
}

static int cmd_stats_order(const void *a, const void *b)
{
    int64_t x, y;

    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return (x > y) - (x < y);
}

/* Sorts a copy of the lengths and counts equal ones. */
static void cmd_stats_count(stats_job *job)
{
    levada_cli_buffer sorted = { 0 };
    int64_t           n = (int64_t)(job->all.size / sizeof n), same = 0;
    const int64_t    *at;

    levada_cli_add(&sorted, job->all.at, job->all.size);
    qsort(sorted.at, (size_t)n, sizeof n, cmd_stats_order);
    at = (const int64_t *)(void *)sorted.at;
    for (int64_t i = 0; i < n; i++) {
        job->lengths.sum += at[i];
        same++;
        if (i + 1 < n && at[i + 1] == at[i]) continue;
        levada_cli_add(&job->at, &at[i], sizeof at[i]);
        levada_cli_add(&job->count, &same, sizeof same);
        same = 0;
    }
    job->lengths.all = (const int64_t *)(void *)job->all.at;
    job->lengths.n = n;
    job->lengths.at = (const int64_t *)(void *)job->at.at;
    job->lengths.count = (const int64_t *)(void *)job->count.at;
    job->lengths.distinct = (int64_t)(job->at.size / sizeof n);
    levada_cli_buffer_clear(&sorted);
}

/* The smallest length that `part` of the records do not exceed. */
static int64_t cmd_stats_quantile(const levada_cli_lengths *lengths, double part)
{
    double seen = 0;

    for (int64_t i = 0; i < lengths->distinct; i++) {
        seen += (double)lengths->count[i];
        if (seen >= part * (double)lengths->n) return lengths->at[i];
    }
    return 0;
}

static void cmd_stats_boundaries(levada_cli_buffer *b, const int64_t *boundaries, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        if (i > 0) levada_cli_puts(b, ",");
        levada_cli_int(b, boundaries[i]);
    }
}

static void cmd_stats_text(stats_job *job, const char *name, levada_cli_cost cost,
                           const int64_t *boundaries, int64_t n)
{
    levada_cli_buffer tokens = { 0 };

    if (job->lines++ == 0)
        levada_cli_printf(&job->out, "\n%-24s %8s %9s %16s\n", "strategy", "shapes", "padding",
                          "tokens per batch");
    levada_cli_count(&tokens, (int64_t)(cost.tokens_per_batch + 0.5));
    if (cost.shapes < 0) levada_cli_printf(&job->out, "%-24s %8s", name, "any");
    else levada_cli_printf(&job->out, "%-24s %8d", name, (int)cost.shapes);
    levada_cli_printf(&job->out, " %7.1f %% %16s", cost.padding * 100, tokens.at);
    if (n > 0) {
        levada_cli_puts(&job->out, "   boundaries=[");
        cmd_stats_boundaries(&job->out, boundaries, n);
        levada_cli_puts(&job->out, "]");
    }
    levada_cli_puts(&job->out, "\n");
    levada_cli_buffer_clear(&tokens);
}

static void cmd_stats_json(stats_job *job, const char *name, levada_cli_cost cost,
                           const int64_t *boundaries, int64_t n)
{
    levada_cli_printf(&job->out, "%s{\"strategy\":\"%s\",\"shapes\":", job->lines++ ? "," : "",
                      name);
    if (cost.shapes < 0) levada_cli_puts(&job->out, "null");
    else levada_cli_int(&job->out, cost.shapes);
    levada_cli_printf(&job->out, ",\"padding\":%.6f,\"tokens_per_batch\":%.1f,\"boundaries\":[",
                      cost.padding, cost.tokens_per_batch);
    cmd_stats_boundaries(&job->out, boundaries, n);
    levada_cli_puts(&job->out, "]}");
}

static void cmd_stats_put(stats_job *job, const char *name, levada_cli_cost cost,
                          const int64_t *boundaries, int64_t n)
{
    if (job->json) cmd_stats_json(job, name, cost, boundaries, n);
    else cmd_stats_text(job, name, cost, boundaries, n);
}

/* "tokens   20 547 records · 15 615 680 tokens · min 15 · median 263 · p90 1 486 · max 118 563" */
static void cmd_stats_head(stats_job *job)
{
    static const char *const names[] = { "min", "median", "p90", "p99", "max" };
    static const double      parts[] = { 0, 0.5, 0.9, 0.99, 1 };

    if (job->json) {
        levada_cli_puts(&job->out, "{\"records\":");
        levada_cli_int(&job->out, job->lengths.n);
        levada_cli_puts(&job->out, ",\"tokens\":");
        levada_cli_int(&job->out, job->lengths.sum);
    } else {
        levada_cli_counted(&job->out, job->lengths.n, "record", "records");
        levada_cli_puts(&job->out, " · ");
        levada_cli_counted(&job->out, job->lengths.sum, "token", "tokens");
    }
    for (int i = 0; i < 5; i++) {
        int64_t value = cmd_stats_quantile(&job->lengths, parts[i]);

        levada_cli_printf(&job->out, job->json ? ",\"%s\":" : " · %s ", names[i]);
        if (job->json) levada_cli_int(&job->out, value);
        else levada_cli_count(&job->out, value);
    }
    levada_cli_puts(&job->out, job->json ? ",\"strategies\":[" : "\n");
}

static levada_status cmd_stats_best(stats_job *job, int64_t k, levada_error *err)
{
    const levada_cli_lengths *l = &job->lengths;
    int64_t                   boundaries[LEVADA_CLI_MAX_BUCKETS], n = 0;
    char                      name[40];
    levada_status             st;

    st = levada_optimal_boundaries(l->at, l->count, l->distinct, k, 1, boundaries, &n, err);
    if (st != LEVADA_OK) return st;
    snprintf(name, sizeof name, "best %d buckets", (int)k);
    cmd_stats_put(job, name, levada_cli_cost_buckets(&job->lengths, boundaries, n, job->budget),
                  boundaries, n);
    return LEVADA_OK;
}

static levada_status cmd_stats_strategies(stats_job *job, int64_t k, levada_error *err)
{
    int64_t equal[LEVADA_CLI_MAX_BUCKETS], n = levada_cli_buckets_equal(&job->lengths, 10, equal);
    levada_status st;

    cmd_stats_put(job, "random, 64 rows", levada_cli_cost_random(&job->lengths, 64), NULL, 0);
    cmd_stats_put(job, "10 equal buckets",
                  levada_cli_cost_buckets(&job->lengths, equal, n, job->budget), NULL, 0);
    st = cmd_stats_best(job, k ? k : 8, err);
    if (st == LEVADA_OK && k == 0) st = cmd_stats_best(job, 16, err);
    cmd_stats_put(job, "packing, 64 open rows",
                  levada_cli_cost_packing(&job->lengths, 64, job->budget), NULL, 0);
    if (job->json) levada_cli_puts(&job->out, "]}\n");
    return st;
}

static levada_status cmd_stats_read(stats_job *job, levada_cli_pipe *p, int64_t limit,
                                    levada_error *err)
{
    levada_block *block = NULL;
    levada_status status = LEVADA_OK;

    while (status == LEVADA_OK && p->batches < limit) {
        status = levada_cli_pipe_next(p, &block, err);
        if (status == LEVADA_OK) status = cmd_stats_block(job, block, err);
        levada_block_unref(&block);
    }
    return status == LEVADA_END ? LEVADA_OK : status;
}

static levada_cli_status cmd_stats(levada_env *env, const levada_cli_args *args)
{
    stats_job         job = { .field = levada_cli_value(args, "field"),
                              .budget = levada_cli_number(args, "max-tokens", 32768),
                              .json = levada_cli_flag(args, "json") };
    levada_cli_pipe   p = { 0 };
    levada_error      err = LEVADA_ERROR_INIT;
    int64_t           k = levada_cli_number(args, "buckets", 0);
    levada_cli_status status;

    if (k < 0 || k > LEVADA_CLI_MAX_BUCKETS || job.budget < 1) {
        levada_cli_say("stats: --buckets must be from 0 to %d, --max-tokens at least 1",
                       LEVADA_CLI_MAX_BUCKETS);
        return LEVADA_CLI_USAGE;
    }
    status = levada_cli_pipe_open(&p, env, args->words[0], args);
    if (status != LEVADA_CLI_DONE) return status;
    levada_cli_progress_begin(&p.progress, levada_cli_flag(args, "progress"), NULL);
    if (cmd_stats_read(&job, &p, levada_cli_number(args, "limit", INT64_MAX), &err) != LEVADA_OK) {
        levada_cli_progress_clear(&p.progress);
        status = levada_cli_fail(&err);
    } else {
        cmd_stats_count(&job);
        cmd_stats_head(&job);
        if (cmd_stats_strategies(&job, k, &err) != LEVADA_OK) status = levada_cli_fail(&err);
    }
    levada_cli_pipe_close(&p);
    levada_cli_out(&job.out);
    levada_cli_buffer_clear(&job.all);
    levada_cli_buffer_clear(&job.at);
    levada_cli_buffer_clear(&job.count);
    levada_cli_buffer_clear(&job.out);
    return status;
}

const levada_cli_command levada_cli_stats = {
    .name = "stats",
    .words = "DESCRIPTION",
    .doc = "print sequence lengths, and what padding costs",
    .more = "  levada stats 'tfrecord:a.tfrecord | parse_sequence_example:...' --field tokens\n\n"
            "Pass the printed boundaries to bucket_by_sequence_length.",
    .options = cmd_stats_options,
    .min_words = 1,
    .max_words = 1,
    .run = cmd_stats,
};
