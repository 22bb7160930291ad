/* SPDX-License-Identifier: Apache-2.0 */
#include "pipe.h"

#include "file.h"
#include "json.h"
#include "saved.h"
#include <levada/stage.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { PIPE_TICK = 100 * 1000 * 1000 }; /* nanoseconds between two looks at the signals */
enum { PIPE_THREADS = 256 };

int64_t levada_cli_record_bytes(const levada_cli_args *args)
{
    return levada_cli_number(args, "max-record-bytes", LEVADA_CLI_RECORD_BYTES);
}

static levada_cli_status pipe_parse(levada_cli_pipe *p, levada_env *env, const char *description)
{
    levada_error      err = LEVADA_ERROR_INIT;
    levada_cli_buffer text = { 0 };
    levada_cli_status status = LEVADA_CLI_DONE;
    bool              from_file = description[0] == '@';

    if (from_file && levada_cli_file_read(description + 1, &text, &err) != LEVADA_OK) {
        status = levada_cli_fail(&err);
    } else if (from_file && memchr(text.at, 0, text.size)) {
        levada_cli_say("%s is not a pipeline: it contains a zero byte", description + 1);
        status = LEVADA_CLI_FAILED;
    } else if (levada_dataset_parse(env, from_file ? text.at : description, &p->dataset, &err)
               != LEVADA_OK) {
        status = levada_cli_fail(&err);
        if (err.code == LEVADA_EINVALID_ARGUMENT) status = LEVADA_CLI_USAGE;
    }
    levada_cli_buffer_clear(&text);
    return status;
}

levada_cli_status levada_cli_pipe_open(levada_cli_pipe *p, levada_env *env,
                                       const char *description, const levada_cli_args *args)
{
    levada_iter_options options = LEVADA_ITER_OPTIONS_INIT;
    levada_error        err = LEVADA_ERROR_INIT;
    int64_t             threads = levada_cli_number(args, "threads", p->threads);
    levada_cli_status   status = pipe_parse(p, env, description);

    if (status != LEVADA_CLI_DONE) return status;
    if (threads > PIPE_THREADS) {
        levada_cli_say("--threads %" PRId64 " must be from 0 to %d", threads, PIPE_THREADS);
        levada_cli_pipe_close(p);
        return LEVADA_CLI_USAGE;
    }
    options.seed = levada_cli_number(args, "seed", -1);
    options.epoch = levada_cli_number(args, "epoch", p->epoch);
    options.threads = (int32_t)threads;
    options.errors = levada_cli_value(args, "errors");
    options.max_record_bytes = levada_cli_record_bytes(args);
    if (levada_iter_open(p->dataset, &options, &p->it, &err) != LEVADA_OK) {
        status = levada_cli_fail(&err);
        if (err.code == LEVADA_EINVALID_ARGUMENT && !err.stage[0]) status = LEVADA_CLI_USAGE;
        levada_cli_pipe_close(p);
    }
    return status;
}

/* Restores a position, as --mix says. */
static levada_status pipe_restore(levada_cli_pipe *p, const levada_cli_position *position,
                                  const char *mix, levada_error *err)
{
    if (!mix) return levada_iter_restore(p->it, position->state, position->size, err);
    if (strcmp(mix, "keep positions") != 0) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "--mix must be 'keep positions', got '%s'", mix);
    }
    if (position->drop > 0) {
        return levada_fail(err, LEVADA_EFAILED_PRECONDITION,
                           "--mix: the checkpoint is inside a block, as its restore was "
                           "interrupted; resume without --mix, and save again");
    }
    return levada_iter_restore_mix(p->it, position->state, position->size, err);
}

levada_status levada_cli_pipe_resume(levada_cli_pipe *p, const char *path,
                                     const levada_cli_args *args, levada_error *err)
{
    levada_cli_buffer   file = { 0 };
    levada_cli_part     found;
    levada_cli_position position;
    levada_status       status = levada_cli_file_read(path, &file, err);

    if (status == LEVADA_OK) {
        status = levada_cli_saved_part(&file, levada_cli_value(args, "part"), &found, err);
        if (status == LEVADA_OK) status = levada_cli_part_position(&found, &position, err);
        if (status == LEVADA_OK)
            status = pipe_restore(p, &position, levada_cli_value(args, "mix"), err);
        if (status == LEVADA_OK) p->drop = position.drop;
        else levada_error_wrap(err, "cannot resume from %s", path);
    }
    levada_cli_buffer_clear(&file);
    return status;
}

static void pipe_report_stage(levada_cli_buffer *text, const levada_value *stage)
{
    levada_cli_printf(text, "  %-28s %-18s %" PRId64 " of %" PRId64 " ready\n",
            levada_cli_json_string(stage, "stage"), levada_cli_json_string(stage, "state"),
            levada_cli_json_int(stage, "ready"), levada_cli_json_int(stage, "window"));
}

/* Prints the wait report that `kill -USR1` requests. */
static void pipe_report(levada_cli_pipe *p)
{
    char               *text = NULL;
    levada_error        err = LEVADA_ERROR_INIT;
    levada_value       *report = NULL;
    const levada_value *stages;
    levada_cli_buffer   count = { 0 }, lines = { 0 };
    int64_t             n;

    levada_cli_progress_clear(&p->progress);
    if (levada_iter_report(p->it, &text, &err) != LEVADA_OK ||
        levada_cli_json_take(&text, &report, &err) != LEVADA_OK) {
        (void)levada_cli_fail(&err);
        return;
    }
    stages = levada_cli_json_get(report, "threads");
    n = stages ? levada_value_count(stages) : 0;
    levada_cli_counted(&count, n, "stage with workers", "stages with workers");
    levada_cli_say("%s", n == 0 ? "everything runs on one thread" : count.at);
    levada_cli_buffer_clear(&count);
    for (int64_t i = 0; i < n; i++) pipe_report_stage(&lines, levada_value_item(stages, i));
    levada_cli_message(&lines);
    levada_cli_buffer_clear(&lines);
    levada_value_destroy(&report);
}

/* Takes the rest of a block after the records that were emitted before; AGAIN if none is left. */
static levada_status pipe_leave_out(levada_cli_pipe *p, levada_block **block, levada_error *err)
{
    levada_cursor rest = { .block = *block };
    int64_t       rows = levada_block_rows(rest.block);
    levada_status status = LEVADA_AGAIN;

    *block = NULL;
    rest.row = p->drop < (uint64_t)rows ? (int64_t)p->drop : rows;
    p->drop -= (uint64_t)rest.row;
    if (rest.row < rows) status = levada_cursor_take(&rest, rows, block, err);
    levada_cursor_clear(&rest);
    return status;
}

levada_status levada_cli_pipe_next(levada_cli_pipe *p, levada_block **out, levada_error *err)
{
    levada_status status = LEVADA_AGAIN;

    while (status == LEVADA_AGAIN) {
        if (levada_cli_stopped()) return levada_fail(err, LEVADA_ECANCELLED, "interrupted");
        if (levada_cli_report_wanted()) pipe_report(p);
        levada_cli_progress_iter(&p->progress, p->it, p->records);
        status = levada_iter_next_slice(p->it, PIPE_TICK, out, err);
        /* States stay as they are: nobody computes others. */
        if (status == LEVADA_OK && levada_iter_feeds(p->it)) {
            status = levada_iter_feed(p->it, *out, err);
            if (status != LEVADA_OK) levada_block_unref(out);
        }
        if (status == LEVADA_OK && p->drop > 0) status = pipe_leave_out(p, out, err);
    }
    if (status == LEVADA_END && p->drop > 0)
        return levada_fail(err, LEVADA_EFAILED_PRECONDITION,
                           "the dataset ends before the position of the checkpoint: it has fewer "
                           "records than when the checkpoint was saved");
    if (status == LEVADA_OK) {
        p->records += levada_block_rows(*out);
        p->batches++;
    }
    return status;
}

void levada_cli_pipe_close(levada_cli_pipe *p)
{
    levada_cli_progress_clear(&p->progress);
    if (p->it && levada_cli_stopped()) levada_iter_cancel(p->it);
    levada_iter_close(&p->it);
    levada_dataset_unref(&p->dataset);
}

void levada_cli_pipe_count(const levada_cli_pipe *p, levada_cli_buffer *out)
{
    int32_t flags = levada_spec_flags_of(levada_dataset_spec(p->dataset));
    bool    batched = (flags & LEVADA_SPEC_BATCHED) != 0;

    levada_cli_counted(out, p->batches, batched ? "batch" : "block",
                       batched ? "batches" : "blocks");
}
