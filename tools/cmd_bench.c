/* SPDX-License-Identifier: Apache-2.0 */
/*
 * levada bench: measures how fast a description runs, and where the time goes.
 */
#include "json.h"
#include "phases.h"
#include "pipe.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const levada_cli_option cmd_bench_options[] = {
    { "json", 0, NULL, "print one JSON object" },
    { "repeat", 'r', "N", "number of runs; the fastest is reported (default 3)" },
    { "phases", 0, NULL, "nanoseconds per record of each stage, on one thread" },
    { "cpu", 0, NULL, "with --phases: processor time, for a machine that is busy with other work" },
    LEVADA_CLI_PIPE_OPTIONS,
    LEVADA_CLI_OPTION_END
};

typedef struct bench_result {
    double        seconds;
    int64_t       records, batches;
    levada_value *stats; /* of the iterator */
} bench_result;

static levada_cli_status cmd_bench_once(levada_env *env, const levada_cli_args *args,
                                        bench_result *out)
{
    levada_cli_pipe   p = { 0 };
    levada_error      err = LEVADA_ERROR_INIT;
    levada_cli_status status = levada_cli_pipe_open(&p, env, args->words[0], args);
    int64_t           limit = levada_cli_number(args, "limit", INT64_MAX);
    levada_block     *batch = NULL;
    char             *text = NULL;
    levada_status     done = LEVADA_OK;

    if (status != LEVADA_CLI_DONE) return status;
    levada_cli_progress_begin(&p.progress, !levada_cli_flag(args, "json"), NULL);
    while (done == LEVADA_OK && p.batches < limit) {
        done = levada_cli_pipe_next(&p, &batch, &err);
        levada_block_unref(&batch);
    }
    out->seconds = levada_cli_now() - p.progress.begun;
    out->records = p.records;
    out->batches = p.batches;
    levada_cli_progress_clear(&p.progress);
    if (done == LEVADA_OK || done == LEVADA_END) done = levada_iter_stats(p.it, &text, &err);
    if (done == LEVADA_OK) done = levada_cli_json_take(&text, &out->stats, &err);
    if (done != LEVADA_OK) status = levada_cli_fail(&err);
    levada_cli_pipe_close(&p);
    return status;
}

/* Not ru_maxrss, which begins with the memory of the process that started this one. */
static int64_t cmd_bench_memory(void)
{
    FILE     *status = fopen("/proc/self/status", "r");
    long long kib = 0;
    char      line[256];

    while (status && fgets(line, sizeof line, status)) {
        if (sscanf(line, "VmHWM: %lld kB", &kib) == 1) break;
    }
    if (status) (void)fclose(status);
    return kib * 1024;
}

static void cmd_bench_json(levada_cli_buffer *b, const bench_result *r, int64_t runs)
{
    int64_t bytes = levada_cli_json_int(r->stats, "bytes");

    levada_cli_printf(b, "{\"seconds\":%.6f,\"records\":%" PRId64 ",\"batches\":%" PRId64
                      ",\"bytes\":%" PRId64 ",\"records_per_second\":%.1f"
                      ",\"bytes_per_second\":%.1f,\"peak_memory\":%" PRId64 ",\"runs\":%" PRId64
                      ",\"stats\":",
                      r->seconds, r->records, r->batches, bytes, (double)r->records / r->seconds,
                      (double)bytes / r->seconds, cmd_bench_memory(), runs);
    levada_cli_json_put(b, r->stats);
    levada_cli_puts(b, "}\n");
}

static bool cmd_bench_is(const levada_value *stage, const char *path)
{
    return strcmp(levada_cli_json_string(stage, "path"), path) == 0;
}

static void cmd_bench_stages(levada_cli_buffer *b, const levada_value *stages)
{
    int64_t n = stages ? levada_value_count(stages) : 0;
    double  sum = 0, before = 0;
    int     width = 32; /* of the longest path */

    for (int64_t i = 0; i < n; i++) {
        const levada_value *stage = levada_value_item(stages, i);
        int                 size = (int)strlen(levada_cli_json_string(stage, "path"));

        sum += levada_cli_json_float(stage, "seconds");
        if (size > width) width = size;
    }
    levada_cli_printf(b, "\n%-*s %12s %10s %10s %7s\n", width, "stage", "records", "blocks",
                      "seconds", "share");
    for (int64_t i = 0; i < n; i++) {
        const levada_value *stage = levada_value_item(stages, i);
        const char         *path = levada_cli_json_string(stage, "path");
        double              seconds = before + levada_cli_json_float(stage, "seconds");

        /* The serial and the parallel half of one stage stand one after the other. */
        before = i + 1 < n && cmd_bench_is(levada_value_item(stages, i + 1), path) ? seconds : 0;
        if (before > 0) continue;
        levada_cli_printf(b, "%-*s %12" PRId64 " %10" PRId64 " %10.3f %5.1f %%\n", width,
                          path, levada_cli_json_int(stage, "records"),
                          levada_cli_json_int(stage, "blocks"), seconds,
                          sum > 0 ? 100 * seconds / sum : 0.0);
    }
}

static void cmd_bench_line(levada_cli_buffer *b, const char *name, int64_t n, double seconds,
                           const char *unit)
{
    size_t begin;

    levada_cli_printf(b, "%-12s", name);
    begin = b->size;
    if (unit[0] == 'B') levada_cli_bytes(b, n);
    else levada_cli_count(b, n);
    levada_cli_repeat(b, " ", 16 - (int64_t)(b->size - begin));
    levada_cli_rate(b, (double)n / seconds, unit);
    levada_cli_puts(b, "\n");
}

static void cmd_bench_table(levada_cli_buffer *b, const bench_result *r, int64_t runs)
{
    double padding = levada_cli_json_float(r->stats, "padding_fraction");

    cmd_bench_line(b, "records", r->records, r->seconds, " records/s");
    cmd_bench_line(b, "batches", r->batches, r->seconds, " batches/s");
    cmd_bench_line(b, "bytes read", levada_cli_json_int(r->stats, "bytes"), r->seconds, "B/s");
    if (padding > 0) levada_cli_printf(b, "%-12s%.1f %%\n", "padding", padding * 100);
    levada_cli_printf(b, "%-12s%.3f s, best of %" PRId64 "\n", "time", r->seconds, runs);
    levada_cli_printf(b, "%-12s", "peak memory");
    levada_cli_bytes(b, cmd_bench_memory());
    levada_cli_puts(b, "\n");
    cmd_bench_stages(b, levada_cli_json_get(r->stats, "stages"));
}

static levada_cli_status cmd_bench(levada_env *env, const levada_cli_args *args)
{
    levada_cli_buffer text = { 0 };
    bench_result      best = { 0 };
    levada_cli_status status = LEVADA_CLI_DONE;
    int64_t           runs = levada_cli_number(args, "repeat", 3);

    if (runs < 1) {
        levada_cli_say("bench: --repeat must be at least 1");
        return LEVADA_CLI_USAGE;
    }
    if (levada_cli_flag(args, "phases")) {
        if (levada_cli_value(args, "limit") || levada_cli_value(args, "threads")) {
            levada_cli_say("bench: --phases cannot be combined with --limit or --threads");
            return LEVADA_CLI_USAGE;
        }
        status = levada_cli_phases(env, args, runs, &text);
        levada_cli_out(&text);
        levada_cli_buffer_clear(&text);
        return status;
    }
    if (levada_cli_flag(args, "cpu")) {
        levada_cli_say("bench: --cpu is an option of --phases");
        return LEVADA_CLI_USAGE;
    }
    for (int64_t i = 0; i < runs && status == LEVADA_CLI_DONE; i++) {
        bench_result r = { 0 };

        status = cmd_bench_once(env, args, &r);
        if (status == LEVADA_CLI_DONE && (!best.stats || r.seconds < best.seconds)) {
            bench_result worse = best;
            best = r;
            r = worse;
        }
        levada_value_destroy(&r.stats);
    }
    if (status == LEVADA_CLI_DONE && levada_cli_flag(args, "json"))
        cmd_bench_json(&text, &best, runs);
    else if (status == LEVADA_CLI_DONE)
        cmd_bench_table(&text, &best, runs);
    levada_cli_out(&text);
    levada_value_destroy(&best.stats);
    levada_cli_buffer_clear(&text);
    return status;
}

const levada_cli_command levada_cli_bench = {
    .name = "bench",
    .words = "PIPELINE",
    .doc = "measure the speed of a pipeline and of its stages",
    .options = cmd_bench_options,
    .min_words = 1,
    .max_words = 1,
    .run = cmd_bench,
};
