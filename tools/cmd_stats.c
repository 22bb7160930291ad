/* SPDX-License-Identifier: Apache-2.0 */
/*
 * levada stats: how long the sequences are, and what padding would cost in which kind of batch.
 */
#include "escape.h"
#include "json.h"
#include "pipe.h"
#include "stats_page.h"
#include <levada/inspect.h>
#include <levada/lengths.h>
#include <levada/output.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const levada_cli_option cmd_stats_options[] = {
    { "field", 'f', "F", "measure the length of this field (default: the only ragged one)" },
    { "max-tokens", 'm', "N", "maximum elements per batch, including padding (default 16,384)" },
    { "batch-size", 'b', "N", "records per batch, for strategies without a budget (default 64)" },
    { "boundaries", 0, "LIST", "also report these boundaries, such as 64,128,256" },
    { "buckets", 'k', "N", "also report the optimal boundaries of N buckets" },
    { "multiple-of", 0, "N", "pad to a multiple of N (default 1)" },
    { "pack-length", 0, "N", "length of packed records (default: chosen from the lengths)" },
    { "html", 0, "FILE", "also write a page with charts" },
    { "json", 0, NULL, "print one JSON object" },
    { "progress", 'p', NULL, "show progress on a terminal" },
    LEVADA_CLI_PIPE_OPTIONS,
    LEVADA_CLI_OPTION_END
};

typedef struct stats_job {
    const char       *description, *field, *html;
    int64_t           max_tokens, batch_size, multiple_of, buckets, pack_length;
    levada_cli_buffer all, boundaries; /* int64_t each                     */
    levada_cli_buffer name;            /* of the field that was measured   */
    bool              json;
} stats_job;

/* Returns the field asked for, or the only sequence, or the only field. */
static const levada_column *cmd_stats_column(const stats_job *job, const levada_block *block,
                                             levada_error *err)
{
    const levada_column *column, *found = NULL;
    levada_cli_buffer    names = { 0 };
    int32_t              fields = 0, sequences = 0;

    for (; (column = levada_block_at(block, fields)) != NULL; fields++) {
        levada_cli_printf(&names, "%s%s", fields ? ", " : "", column->field->name);
        if (column->field->depth == 0 && !column->lengths) continue;
        found = column;
        sequences++;
    }
    if (fields == 1) found = levada_block_at(block, 0);
    if (job->field) found = levada_block_column(block, job->field);
    if (job->field && !found) {
        levada_fail(err, LEVADA_EINVALID_ARGUMENT, "unknown field '%s'; available: %s", job->field,
                    names.at);
    } else if (!job->field && fields > 1 && sequences != 1) {
        found = NULL;
        levada_fail(err, LEVADA_EINVALID_ARGUMENT, "--field is required; available: %s", names.at);
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
    if (!job->name.size) levada_cli_puts(&job->name, column->field->name);
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

/* The numbers of "10,20,30". */
static bool cmd_stats_numbers(const char *text, levada_cli_buffer *out)
{
    char *end = NULL;

    for (;; text = end + 1) {
        int64_t number;

        errno = 0;
        number = strtoll(text, &end, 10);
        if (end == text || errno || (*end && *end != ',')) return false;
        levada_cli_add(out, &number, sizeof number);
        if (*end == '\0') return true;
    }
}

static levada_status cmd_stats_report(const stats_job *job, levada_value **out, levada_error *err)
{
    levada_padding_report_options options = LEVADA_PADDING_REPORT_OPTIONS_INIT;
    char                         *json = NULL;

    options.max_tokens = job->max_tokens;
    options.batch_size = job->batch_size;
    options.multiple_of = job->multiple_of;
    options.num_buckets = job->buckets;
    options.pack_length = job->pack_length;
    options.field = job->name.at;
    options.boundaries = job->boundaries.size ? (const int64_t *)(void *)job->boundaries.at : NULL;
    options.nboundaries = (int64_t)(job->boundaries.size / sizeof(int64_t));
    LEVADA_TRY(levada_padding_report((const int64_t *)(void *)job->all.at,
                                     (int64_t)(job->all.size / sizeof(int64_t)), &options, &json,
                                     err));
    return levada_cli_json_take(&json, out, err);
}

/* -- text */

static const char *const cmd_stats_quantiles[] = { "min", "p10", "median", "p90", "p99", "max" };

/* "20 547 records · 15 615 680 tokens · min 15 · median 263 · p90 1 486 · max 118 563" */
static void cmd_stats_head(levada_cli_buffer *to, const levada_value *report)
{
    const levada_value *quantiles = levada_cli_json_get(report, "quantiles");

    levada_cli_counted(to, levada_cli_json_int(report, "records"), "record", "records");
    levada_cli_puts(to, " · ");
    levada_cli_counted(to, levada_cli_json_int(report, "tokens"), "token", "tokens");
    for (int i = 0; i < 6; i++) {
        levada_cli_printf(to, " · %s ", cmd_stats_quantiles[i]);
        levada_cli_count(to, levada_cli_json_int(quantiles, cmd_stats_quantiles[i]));
    }
    levada_cli_puts(to, "\n\n");
}

/* A number with spaces before it, `width` columns in all. */
static void cmd_stats_number(levada_cli_buffer *to, int64_t number, int64_t width)
{
    levada_cli_buffer text = { 0 };

    levada_cli_count(&text, number);
    levada_cli_repeat(to, " ", width - levada_cli_width(text.at, text.size));
    levada_cli_puts(to, text.at);
    levada_cli_buffer_clear(&text);
}

static void cmd_stats_histogram(levada_cli_buffer *to, const levada_value *bins)
{
    int64_t most = 1;

    for (int64_t i = 0; i < levada_value_count(bins); i++) {
        int64_t n = levada_value_as_int(levada_value_item(levada_value_item(bins, i), 2));

        most = n > most ? n : most;
    }
    for (int64_t i = 0; i < levada_value_count(bins); i++) {
        const levada_value *bin = levada_value_item(bins, i);
        int64_t             n = levada_value_as_int(levada_value_item(bin, 2));

        cmd_stats_number(to, levada_value_as_int(levada_value_item(bin, 0)), 9);
        levada_cli_puts(to, " …");
        cmd_stats_number(to, levada_value_as_int(levada_value_item(bin, 1)) - 1, 10);
        cmd_stats_number(to, n, 12);
        levada_cli_puts(to, "  ");
        levada_cli_repeat(to, "█", (int64_t)(40.0 * (double)n / (double)most + 0.5));
        levada_cli_puts(to, "\n");
    }
}

static void cmd_stats_strategies(levada_cli_buffer *to, const levada_value *rows)
{
    levada_cli_printf(to, "\n%-20s %9s %18s %8s %8s\n", "strategy", "padding", "tokens per batch",
                      "batches", "shapes");
    for (int64_t i = 0; i < levada_value_count(rows); i++) {
        const levada_value *row = levada_value_item(rows, i);

        levada_cli_printf(to, "%-20s %7.2f %%", levada_cli_json_string(row, "strategy"),
                          levada_cli_json_float(row, "padding") * 100);
        cmd_stats_number(to, (int64_t)(levada_cli_json_float(row, "tokens_per_batch") + 0.5), 19);
        cmd_stats_number(to, levada_cli_json_int(row, "batches"), 9);
        cmd_stats_number(to, levada_cli_json_int(row, "shapes"), 9);
        levada_cli_puts(to, "\n");
    }
}

static void cmd_stats_text(levada_cli_buffer *to, const levada_value *report)
{
    const levada_value *best = levada_cli_json_get(report, "recommended");

    cmd_stats_head(to, report);
    cmd_stats_histogram(to, levada_cli_json_get(report, "histogram"));
    cmd_stats_strategies(to, levada_cli_json_get(report, "strategies"));
    levada_cli_puts(to, "\nrecommended\n  | ");
    levada_cli_show_text(to, levada_cli_json_string(best, "stage"));
    levada_cli_puts(to, "\n  ds = ds.");
    levada_cli_show_text(to, levada_cli_json_string(best, "call"));
    levada_cli_puts(to, "\n");
}

/* -- the command */

static levada_status cmd_stats_page(const stats_job *job, const levada_value *report,
                                    levada_error *err)
{
    levada_cli_buffer page = { 0 };
    levada_status     st;

    levada_cli_stats_page(&page, report, job->description);
    st = levada_output_save(job->html, page.at, page.size, err);
    levada_cli_buffer_clear(&page);
    return st;
}

static levada_status cmd_stats_print(const stats_job *job, levada_error *err)
{
    levada_cli_buffer text = { 0 };
    levada_value     *report = NULL;
    levada_status     st = cmd_stats_report(job, &report, err);

    if (st == LEVADA_OK && job->html) st = cmd_stats_page(job, report, err);
    if (st == LEVADA_OK && job->json) {
        levada_cli_json_put(&text, report);
        levada_cli_puts(&text, "\n");
    } else if (st == LEVADA_OK) {
        cmd_stats_text(&text, report);
    }
    levada_value_destroy(&report);
    levada_cli_out(&text);
    levada_cli_buffer_clear(&text);
    return st;
}

static levada_status cmd_stats_add(void *user, const int64_t *lengths, int64_t n,
                                   levada_error *err)
{
    stats_job *job = user;

    (void)err;
    levada_cli_add(&job->all, lengths, (size_t)n * sizeof *lengths);
    return LEVADA_OK;
}

/* Reads the lengths from the index if it has them: the field is named, and all records are asked
 * for. */
static levada_status cmd_stats_indexed(stats_job *job, const levada_cli_pipe *p, int64_t limit,
                                       bool *found, levada_error *err)
{
    *found = false;
    if (!job->field || limit < INT64_MAX) return LEVADA_OK;
    LEVADA_TRY(levada_inspect_lengths(p->dataset, job->field, cmd_stats_add, job, found, err));
    if (*found) levada_cli_puts(&job->name, job->field);
    return LEVADA_OK;
}

static levada_status cmd_stats_read(stats_job *job, levada_cli_pipe *p, int64_t limit,
                                    levada_error *err)
{
    levada_block *block = NULL;
    bool          found = false;
    levada_status status = cmd_stats_indexed(job, p, limit, &found, err);

    if (status != LEVADA_OK || found) return status;
    while (status == LEVADA_OK && p->batches < limit) {
        status = levada_cli_pipe_next(p, &block, err);
        if (status == LEVADA_OK) status = cmd_stats_block(job, block, err);
        levada_block_unref(&block);
    }
    return status == LEVADA_END ? LEVADA_OK : status;
}

/* Reads the options; returns false, with a message, if an option is out of its range. */
static bool cmd_stats_options_read(stats_job *job, const levada_cli_args *args)
{
    const char *boundaries = levada_cli_value(args, "boundaries");

    job->field = levada_cli_value(args, "field");
    job->html = levada_cli_value(args, "html");
    job->json = levada_cli_flag(args, "json");
    job->max_tokens = levada_cli_number(args, "max-tokens", 16384);
    job->batch_size = levada_cli_number(args, "batch-size", 64);
    job->multiple_of = levada_cli_number(args, "multiple-of", 1);
    job->buckets = levada_cli_number(args, "buckets", 0);
    job->pack_length = levada_cli_number(args, "pack-length", 0);
    if (boundaries && !cmd_stats_numbers(boundaries, &job->boundaries)) {
        levada_cli_say("stats: --boundaries must be numbers such as 64,128,256, not '%s'",
                       boundaries);
        return false;
    }
    return true;
}

static levada_cli_status cmd_stats(levada_env *env, const levada_cli_args *args)
{
    stats_job         job = { .description = args->words[0] };
    levada_cli_pipe   p = { 0 };
    levada_error      err = LEVADA_ERROR_INIT;
    levada_cli_status status = LEVADA_CLI_USAGE;

    if (cmd_stats_options_read(&job, args)) {
        status = levada_cli_pipe_open(&p, env, args->words[0], args);
    }
    if (status == LEVADA_CLI_DONE) {
        levada_cli_progress_begin(&p.progress, levada_cli_flag(args, "progress"), NULL);
        if (cmd_stats_read(&job, &p, levada_cli_number(args, "limit", INT64_MAX), &err)
                != LEVADA_OK) {
            levada_cli_progress_clear(&p.progress);
            status = levada_cli_fail(&err);
        }
        levada_cli_pipe_close(&p);
    }
    if (status == LEVADA_CLI_DONE && cmd_stats_print(&job, &err) != LEVADA_OK) {
        status = levada_cli_fail(&err);
        if (err.code == LEVADA_EINVALID_ARGUMENT) status = LEVADA_CLI_USAGE;
    }
    levada_cli_buffer_clear(&job.all);
    levada_cli_buffer_clear(&job.name);
    levada_cli_buffer_clear(&job.boundaries);
    return status;
}

const levada_cli_command levada_cli_stats = {
    .name = "stats",
    .words = "PIPELINE",
    .doc = "print sequence lengths, and the padding of each batching strategy",
    .more = "  levada stats 'tfrecord:a.tfrecord | parse_sequence_example:...' --field tokens\n\n"
            "Add the recommended call to the pipeline.",
    .options = cmd_stats_options,
    .min_words = 1,
    .max_words = 1,
    .run = cmd_stats,
};
