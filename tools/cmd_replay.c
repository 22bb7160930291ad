/* SPDX-License-Identifier: Apache-2.0 */
/*
 * levada replay: rebuilds one batch of a run, and compares it with a receipt.
 */
#include "pipe.h"
#include "rows.h"
#include <levada/receipt.h>

#include <inttypes.h>
#include <string.h>

static const levada_cli_option cmd_replay_options[] = {
    { "batch", 'b', "N", "the batch, from 0 at the begin of the epoch" },
    { "receipt", 0, "TEXT", "the receipt of the batch, from the log of the run" },
    { "state", 0, "FILE", "continue from this checkpoint, from before the batch" },
    { "part", 0, "NAME", "the part of the checkpoint, if it has several" },
    { "json", 0, NULL, "print the batch as one JSON line, as run --json does" },
    { "threads", 't', "N", "number of threads (default: one per CPU)" },
    { "seed", 0, "N", "random seed of the run" },
    { "epoch", 0, "N", "epoch number, from 0 (default: that of the receipt)" },
    { "errors", 0, "P", "bad records, as run was called with" },
    LEVADA_CLI_RECORD_OPTION,
    LEVADA_CLI_OPTION_END
};

/* Returns batch number `step`, from the checkpoint in the file `path` on (NULL: from the begin). */
static levada_status replay_batch(levada_cli_pipe *p, const char *path,
                                  const levada_cli_args *args, int64_t step, levada_block **out,
                                  levada_error *err)
{
    if (path) LEVADA_TRY(levada_cli_pipe_resume(p, path, args, err));
    if (p->drop > 0) {
        return levada_fail(err, LEVADA_EFAILED_PRECONDITION,
                           "the checkpoint is inside a block, as its restore was interrupted; use "
                           "an earlier one, or none");
    }
    return levada_iter_seek(p->it, step, out, err);
}

/* Names what differs from the receipt that was given; NULL = nothing. */
static const char *replay_differs(const levada_batch_receipt *given,
                                  const levada_batch_receipt *made)
{
    if (given->pipeline != made->pipeline) return "it is of another pipeline or another seed";
    if (given->epoch != made->epoch) return "it is of another epoch";
    if (given->step != made->step) return "it is of another batch";
    if (given->records != made->records) return "its batch had another number of records";
    return memcmp(given->digest, made->digest, sizeof given->digest) == 0
                ? NULL : "its batch had other values";
}

/* "batch 12 of epoch 0: 8 records, receipt lvb1_..., the same values as in the run" */
static levada_status replay_print(const levada_cli_pipe *p, const levada_block *batch,
                                  int64_t step, bool json, const levada_batch_receipt *given,
                                  levada_error *err)
{
    levada_batch_receipt made;
    levada_cli_buffer    out = { 0 };
    char                *text = NULL;
    const char          *differs;

    LEVADA_TRY(levada_iter_receipt(p->it, batch, step, &made, err));
    LEVADA_TRY(levada_batch_receipt_print(&made, &text, err));
    differs = given ? replay_differs(given, &made) : NULL;
    if (json) {
        levada_cli_batch_json(&out, p->it, batch, step);
    } else {
        levada_cli_printf(&out, "batch %" PRId64 " of epoch %" PRIu32 ": ", made.step, made.epoch);
        levada_cli_counted(&out, levada_block_rows(batch), "record", "records");
        levada_cli_printf(&out, "\nreceipt %s\n", text);
        if (given && !differs) levada_cli_puts(&out, "the same values as in the run\n");
    }
    (void)levada_cli_out(&out);
    levada_cli_buffer_clear(&out);
    levada_string_free(&text);
    if (!differs) return LEVADA_OK;
    return levada_fail(err, LEVADA_EDATA_LOSS, "the receipt does not fit: %s", differs);
}

static levada_cli_status cmd_replay(levada_env *env, const levada_cli_args *args)
{
    const char          *text = levada_cli_value(args, "receipt");
    int64_t              step = levada_cli_number(args, "batch", -1);
    levada_batch_receipt given = { .step = -1 };
    levada_cli_pipe      p = { 0 };
    levada_block        *batch = NULL;
    levada_error         err = LEVADA_ERROR_INIT;
    levada_cli_status    status;
    levada_status        st;

    if (text && levada_batch_receipt_parse(text, &given, &err) != LEVADA_OK) {
        (void)levada_cli_fail(&err);
        return LEVADA_CLI_USAGE;
    }
    if (step < 0) step = given.step;
    if (step < 0) {
        levada_cli_say("replay needs --batch or --receipt");
        return LEVADA_CLI_USAGE;
    }
    p.epoch = given.epoch;
    status = levada_cli_pipe_open(&p, env, args->words[0], args);
    if (status != LEVADA_CLI_DONE) return status;
    levada_cli_signals_end();
    st = replay_batch(&p, levada_cli_value(args, "state"), args, step, &batch, &err);
    if (st == LEVADA_OK) {
        st = replay_print(&p, batch, step, levada_cli_flag(args, "json"), text ? &given : NULL,
                          &err);
    }
    if (st != LEVADA_OK) status = levada_cli_fail(&err);
    levada_block_unref(&batch);
    levada_cli_pipe_close(&p);
    return status;
}

const levada_cli_command levada_cli_replay = {
    .name = "replay",
    .words = "PIPELINE",
    .doc = "rebuild one batch of a run, and compare it with its receipt",
    .more = "  levada replay @train.txt --seed 7 --batch 41327 --state step-41000.ckpt\n\n"
            "PIPELINE, --seed and --errors must be those of the run. Without --state the epoch is\n"
            "read from its begin. Exits with status 1 if the values are not those of the receipt.",
    .options = cmd_replay_options,
    .min_words = 1,
    .max_words = 1,
    .run = cmd_replay,
};
