/* SPDX-License-Identifier: Apache-2.0 */
/*
 * levada resume-check: whether a checkpoint fits a pipeline and its data, and which batch is next.
 */
#include "escape.h"
#include "json.h"
#include "pipe.h"
#include "rows.h"

#include <inttypes.h>

static const levada_cli_option cmd_resume_check_options[] = {
    { "json", 0, NULL, "print the next batch as one JSON line, as run --json does" },
    { "part", 0, "NAME", "the part to check, if the checkpoint has several" },
    LEVADA_CLI_MIX_OPTION,
    { "errors", 0, "P", "bad records, as run was called with" },
    LEVADA_CLI_RECORD_OPTION,
    LEVADA_CLI_OPTION_END
};

/* "run.ckpt fits: 12 batches (96 records) were delivered" */
static levada_status resume_check_before(levada_cli_pipe *p, const char *path,
                                         levada_cli_buffer *out, levada_error *err)
{
    char         *text = NULL;
    levada_value *stats = NULL;

    LEVADA_TRY(levada_iter_stats(p->it, &text, err));
    LEVADA_TRY(levada_cli_json_take(&text, &stats, err));
    p->batches = levada_cli_json_int(stats, "batches");
    levada_cli_show_text(out, path);
    levada_cli_puts(out, " fits: ");
    levada_cli_pipe_count(p, out);
    levada_cli_puts(out, " with ");
    levada_cli_counted(out, levada_cli_json_int(stats, "records"), "record", "records");
    levada_cli_puts(out, " were delivered\n");
    levada_value_destroy(&stats);
    return LEVADA_OK;
}

static void resume_check_next(const levada_cli_pipe *p, const levada_block *batch,
                              levada_cli_buffer *out)
{
    int64_t           n = levada_block_rows(batch);
    levada_cli_buffer key = { 0 };

    levada_cli_puts(out, "next: ");
    levada_cli_counted(out, n, "record", "records");
    for (int64_t row = 0; row < n; row += n > 1 ? n - 1 : 1) {
        levada_cli_row_key(&key, p->it, batch, row);
        levada_cli_puts(out, row == 0 ? ", " : n > 2 ? " ... " : ", ");
        levada_cli_show(out, key.at, key.size);
        key.size = 0;
    }
    levada_cli_puts(out, "\n");
    levada_cli_buffer_clear(&key);
}

static levada_status resume_check(levada_cli_pipe *p, const levada_cli_args *args,
                                  levada_cli_buffer *out, levada_error *err)
{
    levada_block *batch = NULL;
    bool          json = levada_cli_flag(args, "json");
    levada_status status;

    LEVADA_TRY(levada_cli_pipe_resume(p, args->words[0], args, err));
    if (!json) LEVADA_TRY(resume_check_before(p, args->words[0], out, err));
    status = levada_cli_pipe_next(p, &batch, err);
    if (status == LEVADA_END) {
        levada_cli_puts(out, json ? "{\"batch\":null}\n" : "next: the end of the epoch\n");
        return LEVADA_OK;
    }
    if (status != LEVADA_OK) return status;
    if (json) levada_cli_batch_json(out, p->it, batch, 0);
    else resume_check_next(p, batch, out);
    levada_block_unref(&batch);
    return LEVADA_OK;
}

static levada_cli_status cmd_resume_check(levada_env *env, const levada_cli_args *args)
{
    levada_cli_pipe   p = { .threads = 1 }; /* nothing is read ahead */
    levada_error      err = LEVADA_ERROR_INIT;
    levada_cli_buffer out = { 0 };
    levada_cli_status status = levada_cli_pipe_open(&p, env, args->words[1], args);

    if (status != LEVADA_CLI_DONE) return status;
    if (resume_check(&p, args, &out, &err) != LEVADA_OK) status = levada_cli_fail(&err);
    (void)levada_cli_out(&out);
    levada_cli_buffer_clear(&out);
    levada_cli_pipe_close(&p);
    return status;
}

const levada_cli_command levada_cli_resume_check = {
    .name = "resume-check",
    .words = "FILE PIPELINE",
    .doc = "check that a checkpoint fits a pipeline, and show the next batch",
    .more = "FILE is a checkpoint, as for run --resume. PIPELINE can be @FILE.\n"
            "Exits with status 1 if run --resume would refuse the checkpoint.",
    .options = cmd_resume_check_options,
    .min_words = 2,
    .max_words = 2,
    .run = cmd_resume_check,
};
