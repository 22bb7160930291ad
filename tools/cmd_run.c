/* SPDX-License-Identifier: Apache-2.0 */
/*
 * levada run: runs a description, to check it, to measure it or to see its batches.
 */
#include "json.h"
#include "pipe.h"
#include "rows.h"
#include "saved.h"
#include <levada/output.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const levada_cli_option cmd_run_options[] = {
    { "json", 0, NULL, "print one JSON line per batch: shapes, lengths, keys of records" },
    { "progress", 'p', NULL, "show progress on a terminal" },
    { "stats", 0, "FILE", "write statistics as JSON at the end; - = standard output" },
    { "trace", 0, "FILE", "write a trace for ui.perfetto.dev at the end: what each thread did" },
    { "save", 0, "FILE", "save a checkpoint at the end, after --limit, on Ctrl-C or SIGTERM" },
    { "resume", 0, "FILE", "resume from a checkpoint of --save or of Python" },
    { "part", 0, "NAME", "the part to resume from, if the checkpoint has several" },
    LEVADA_CLI_MIX_OPTION,
    LEVADA_CLI_PIPE_OPTIONS,
    LEVADA_CLI_OPTION_END
};

/* A saved position has its own seed and epoch: an option that differs would be ignored. */
static levada_status cmd_run_agree(levada_cli_pipe *p, const levada_cli_args *args,
                                   levada_error *err)
{
    static const char *const names[] = { "seed", "epoch" };
    char                    *json = NULL;
    levada_value            *stats = NULL;
    levada_status            status = levada_iter_stats(p->it, &json, err);

    if (status == LEVADA_OK) status = levada_cli_json_take(&json, &stats, err);
    for (int i = 0; i < 2 && status == LEVADA_OK; i++) {
        int64_t saved = levada_cli_json_int(stats, names[i]);
        int64_t asked = levada_cli_number(args, names[i], saved);

        if (asked == saved) continue;
        status = levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                             "--%s %" PRId64 " differs from the saved value %" PRId64
                             "; omit it", names[i], asked, saved);
    }
    levada_value_destroy(&stats);
    return status;
}

/* Saves, also while records are still being skipped. Saves only a position whose output was
 * written: a resume from a later one would skip the lost output. */
static levada_status cmd_run_save(levada_cli_pipe *p, const char *path, levada_error *err)
{
    char               *state = NULL;
    levada_cli_position position = { .drop = p->drop };
    levada_cli_buffer   file = { 0 };
    levada_status       status;

    if (!levada_cli_out_sync())
        return levada_fail(err, LEVADA_EUNAVAILABLE,
                           "the checkpoint was not saved to %s because earlier output was lost",
                           path);
    status = levada_iter_save(p->it, &state, &position.size, err);
    if (status != LEVADA_OK) return status;
    position.state = (const uint8_t *)state;
    levada_cli_saved_put(&file, &position);
    status = levada_output_save(path, file.at, file.size, err);
    levada_cli_buffer_clear(&file);
    levada_string_free(&state);
    return status;
}

/* Writes what a function of iterators prints: statistics, or a trace. */
static levada_status cmd_run_write(levada_cli_pipe *p, const char *path,
                                   levada_status (*print)(levada_iter *, char **, levada_error *),
                                   levada_error *err)
{
    char             *json = NULL;
    levada_cli_buffer text = { 0 };
    levada_status     status = print(p->it, &json, err);

    if (status != LEVADA_OK) return status;
    levada_cli_printf(&text, "%s\n", json);
    levada_string_free(&json);
    if (strcmp(path, "-") == 0) levada_cli_out(&text);
    else status = levada_output_save(path, text.at, text.size, err);
    levada_cli_buffer_clear(&text);
    return status;
}

/* Reads batches until the end or the limit. Clears *reading when nobody reads the output. */
static levada_status cmd_run_loop(levada_cli_pipe *p, const levada_cli_args *args, bool *reading,
                                  levada_error *err)
{
    levada_cli_buffer line = { 0 };
    levada_block     *batch = NULL;
    bool              json = levada_cli_flag(args, "json");
    int64_t           limit = levada_cli_number(args, "limit", INT64_MAX);
    levada_status     status = LEVADA_OK;

    while (*reading && p->batches < limit) {
        status = levada_cli_pipe_next(p, &batch, err);
        if (status != LEVADA_OK) break;
        if (json) {
            levada_cli_batch_json(&line, p->it, batch, p->batches - 1);
            *reading = levada_cli_out(&line);
        }
        levada_block_unref(&batch);
    }
    levada_cli_buffer_clear(&line);
    return status == LEVADA_END ? LEVADA_OK : status;
}

static void cmd_run_count(levada_cli_buffer *text, const levada_value *stats, const char *key,
                          const char *one, const char *many)
{
    int64_t count = levada_cli_json_int(stats, key);

    if (count == 0) return;
    levada_cli_puts(text, " · ");
    levada_cli_counted(text, count, one, many);
}

/* "39 312 records in 1 228 batches · 63.1 MiB read · padding 12.3 % · 1.21 M records/s · 0.32 s" */
static void cmd_run_summary(levada_cli_pipe *p, double seconds)
{
    levada_cli_buffer text = { 0 };
    char             *json = NULL;
    levada_value     *stats = NULL;

    levada_cli_counted(&text, p->records, "record", "records");
    levada_cli_puts(&text, " in ");
    levada_cli_pipe_count(p, &text);
    if (levada_iter_stats(p->it, &json, NULL) == LEVADA_OK
        && levada_cli_json_take(&json, &stats, NULL) == LEVADA_OK) {
        double padding = levada_cli_json_float(stats, "padding_fraction");

        levada_cli_puts(&text, " · ");
        levada_cli_bytes(&text, levada_cli_json_int(stats, "bytes"));
        levada_cli_puts(&text, " read");
        if (padding > 0) levada_cli_printf(&text, " · padding %.1f %%", padding * 100);
        cmd_run_count(&text, stats, "skipped_records", "skipped record", "skipped records");
        cmd_run_count(&text, stats, "missing_files", "missing file", "missing files");
        cmd_run_count(&text, stats, "empty_files", "empty file", "empty files");
    }
    levada_cli_puts(&text, " · ");
    levada_cli_rate(&text, (double)p->records / (seconds > 0 ? seconds : 1e-9), " records/s");
    levada_cli_printf(&text, " · %.2f s\n", seconds);
    levada_cli_out(&text);
    levada_value_destroy(&stats);
    levada_cli_buffer_clear(&text);
}

static levada_cli_status cmd_run(levada_env *env, const levada_cli_args *args)
{
    levada_cli_pipe   p = { 0 };
    levada_error      err = LEVADA_ERROR_INIT, late = LEVADA_ERROR_INIT;
    levada_cli_status status = levada_cli_pipe_open(&p, env, args->words[0], args);
    const char       *resume = levada_cli_value(args, "resume");
    const char       *save = levada_cli_value(args, "save");
    const char       *stats = levada_cli_value(args, "stats");
    const char       *trace = levada_cli_value(args, "trace");
    const char       *astray = levada_cli_value(args, "mix")    ? "mix"
                               : levada_cli_value(args, "part") ? "part" : NULL;
    bool              reading = true;
    levada_status     done = LEVADA_OK;

    if (status != LEVADA_CLI_DONE) return status;
    if (!resume && astray) {
        levada_cli_say("--%s needs --resume", astray);
        levada_cli_pipe_close(&p);
        return LEVADA_CLI_USAGE;
    }
    levada_cli_progress_begin(&p.progress, levada_cli_flag(args, "progress"), NULL);
    if (save) levada_cli_signals_save();
    if (resume) done = levada_cli_pipe_resume(&p, resume, args, &err);
    if (resume && done == LEVADA_OK) done = cmd_run_agree(&p, args, &err);
    if (trace && done == LEVADA_OK) done = levada_iter_trace(p.it, true, &err);
    if (done == LEVADA_OK) done = cmd_run_loop(&p, args, &reading, &err);
    levada_cli_progress_clear(&p.progress);
    if (done != LEVADA_OK) status = levada_cli_fail(&err);
    if (save && status != LEVADA_CLI_FAILED && cmd_run_save(&p, save, &late) != LEVADA_OK)
        status = levada_cli_fail(&late);
    if (trace && cmd_run_write(&p, trace, levada_iter_trace_json, &late) != LEVADA_OK)
        status = levada_cli_fail(&late);
    if (stats && cmd_run_write(&p, stats, levada_iter_stats, &late) != LEVADA_OK)
        status = levada_cli_fail(&late);
    else if (!stats && done == LEVADA_OK && !levada_cli_flag(args, "json"))
        cmd_run_summary(&p, levada_cli_now() - p.progress.begun);
    levada_cli_pipe_close(&p);
    return status;
}

const levada_cli_command levada_cli_run = {
    .name = "run",
    .words = "PIPELINE",
    .doc = "run a pipeline",
    .more = "  levada run 'tfrecord:train-*.tfrecord.gz | shuffle:10000 | parse_example:@s.json\n"
            "    | bucket_by_sequence_length:tokens,boundaries=[64,128],batch_sizes=32'\n\n"
            "PIPELINE can be @FILE. levada stages lists all sources, decoders and stages.\n"
            "kill -USR1 prints which parts of a running pipeline wait.",
    .options = cmd_run_options,
    .min_words = 1,
    .max_words = 1,
    .run = cmd_run,
};
