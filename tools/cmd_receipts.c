/* SPDX-License-Identifier: Apache-2.0 */
/*
 * levada receipts: adds up epoch receipts, and finds out which records are missing or came twice.
 */
#include "escape.h"
#include "file.h"
#include "json.h"
#include "pipe.h"
#include "saved.h"
#include <levada/receipt.h>

#include <inttypes.h>
#include <string.h>

static const levada_cli_option cmd_receipts_options[] = {
    { "of", 0, "PIPELINE", "compare with the records of this pipeline, or of its source alone" },
    { "epochs", 0, "N", "how often each record must be there (default: the nearest number)" },
    { "json", 0, NULL, "print the comparison as JSON" },
    { "threads", 't', "N", "number of threads (default: one per CPU)" },
    { "seed", 0, "N", "random seed, if it decides which records there are" },
    { "errors", 0, "P", "bad records, as run was called with" },
    LEVADA_CLI_RECORD_OPTION,
    LEVADA_CLI_OPTION_END
};

/* Adds the receipt `text` to the sum, which is NULL before the first one. */
static levada_status receipts_add(char **sum, const char *text, levada_error *err)
{
    const char   *both[2] = { text, *sum };
    char         *made = NULL;
    levada_status st = levada_receipts_merge(both, *sum ? 2 : 1, &made, err);

    if (st != LEVADA_OK) return st;
    levada_string_free(sum);
    *sum = made;
    return LEVADA_OK;
}

/* Adds those of the positions in a checkpoint; *n: how many there are. */
static levada_status receipts_of_checkpoint(levada_env *env, const levada_cli_buffer *file,
                                            char **sum, int64_t *n, levada_error *err)
{
    levada_cli_parts    parts;
    levada_cli_part     part;
    levada_cli_position position;
    char               *text = NULL;
    levada_status       st = levada_cli_parts_open(&parts, file, err);

    while (st == LEVADA_OK) {
        st = levada_cli_parts_next(&parts, &part, err);
        if (st != LEVADA_OK) break;
        if (!levada_cli_part_is_position(&part)) continue;
        st = levada_cli_part_position(&part, &position, err);
        if (st == LEVADA_OK)
            st = levada_state_delivered(env, position.state, position.size, &text, err);
        if (st == LEVADA_OK) st = receipts_add(sum, text, err);
        levada_string_free(&text);
        *n += st == LEVADA_OK;
    }
    return st == LEVADA_END ? LEVADA_OK : st;
}

static bool receipts_is_letter(char c)
{
    return c != 0 && strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_", c);
}

/* Adds those in a text, such as a log or the JSON of run --stats. */
static levada_status receipts_of_text(char *text, char **sum, int64_t *n, levada_error *err)
{
    levada_status st = LEVADA_OK;

    for (char *at = strstr(text, "lvr1_"); at && st == LEVADA_OK; at = strstr(at, "lvr1_")) {
        char *end = at, last;

        while (receipts_is_letter(*end)) end++;
        last = *end;
        *end = 0;
        st = receipts_add(sum, at, err);
        *end = last;
        at = end;
        ++*n;
    }
    return st;
}

static levada_status receipts_of_file(levada_env *env, const char *path, char **sum,
                                      levada_error *err)
{
    levada_cli_buffer file = { 0 };
    int64_t           n = 0;
    levada_status     st = levada_cli_file_read(path, &file, err);

    if (st == LEVADA_OK && file.size > 0 && !memchr(file.at, 0, file.size)) {
        st = receipts_of_text(file.at, sum, &n, err);
    } else if (st == LEVADA_OK) {
        st = receipts_of_checkpoint(env, &file, sum, &n, err);
    }
    if (st == LEVADA_OK && n == 0) {
        st = levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                         "no receipt: it must be a checkpoint, or a text with receipts, which "
                         "begin with lvr1_");
    }
    if (st != LEVADA_OK) levada_error_wrap(err, "%s", path);
    levada_cli_buffer_clear(&file);
    return st;
}

/* -- the comparison */

/* "missing  records 512 to 575 of train-00.tfrecord" */
static void receipts_difference(levada_cli_buffer *out, const levada_value *found)
{
    const char *file = levada_cli_json_string(found, "file");
    int64_t     n = levada_cli_json_int(found, "records"), count = n < 0 ? -n : n;
    int64_t     first = levada_cli_json_int(found, "first");
    int64_t     last = levada_cli_json_int(found, "last");

    levada_cli_puts(out, n < 0 ? "missing   " : "too often ");
    if (!levada_cli_json_bool(found, "all")) {
        levada_cli_printf(out, "%" PRId64 " of ", count);
    }
    if (first == last) levada_cli_printf(out, "record %" PRId64, first);
    else levada_cli_printf(out, "records %" PRId64 " to %" PRId64, first, last);
    levada_cli_puts(out, " of ");
    if (file[0]) levada_cli_show_text(out, file);
    else levada_cli_puts(out, "a source without files");
    levada_cli_puts(out, "\n");
}

static void receipts_count(levada_cli_buffer *out, const levada_value *report, const char *key,
                           const char *one, const char *many)
{
    int64_t n = levada_cli_json_int(report, key);

    if (n == 0) return;
    levada_cli_counted(out, n, one, many);
    levada_cli_puts(out, "\n");
}

static void receipts_describe(levada_cli_buffer *out, const levada_value *report)
{
    const levada_value *found = levada_cli_json_get(report, "differences");
    int64_t             n = found ? levada_value_count(found) : 0;
    int64_t             epochs = levada_cli_json_int(report, "epochs");
    int64_t             files = levada_cli_json_int(report, "files");

    levada_cli_counted(out, levada_cli_json_int(report, "delivered"), "record", "records");
    if (files > 0) levada_cli_puts(out, " of ");
    if (files > 0) levada_cli_counted(out, files, "file", "files");
    levada_cli_puts(out, " were delivered");
    if (levada_cli_json_bool(report, "complete")) {
        if (epochs == 1) levada_cli_puts(out, ": every record once\n");
        else levada_cli_printf(out, ": every record %" PRId64 " times\n", epochs);
        return;
    }
    levada_cli_puts(out, ", ");
    levada_cli_counted(out, levada_cli_json_int(report, "expected"), "was", "were");
    levada_cli_puts(out, " expected\n");
    for (int64_t i = 0; i < n; i++) receipts_difference(out, levada_value_item(found, i));
    if (!levada_cli_json_bool(report, "named"))
        levada_cli_puts(out, "others differ, too, in too many places to be named\n");
    receipts_count(out, report, "skipped", "record was skipped as bad",
                   "records were skipped as bad");
    receipts_count(out, report, "unknown", "record has no file, or precedes the first receipt",
                   "records have no file, or precede the first receipt");
}

static levada_status receipts_compare(levada_cli_pipe *p, const levada_cli_args *args,
                                      const char *sum, bool *complete, levada_error *err)
{
    levada_cli_buffer out = { 0 };
    levada_value     *report = NULL;
    char             *text = NULL;

    LEVADA_TRY(levada_receipts_check(p->it, sum, levada_cli_number(args, "epochs", 0), &text,
                                     err));
    if (levada_cli_flag(args, "json")) levada_cli_printf(&out, "%s\n", text);
    LEVADA_TRY(levada_cli_json_take(&text, &report, err));
    if (!levada_cli_flag(args, "json")) receipts_describe(&out, report);
    *complete = levada_cli_json_bool(report, "complete");
    levada_value_destroy(&report);
    (void)levada_cli_out(&out);
    levada_cli_buffer_clear(&out);
    return LEVADA_OK;
}

static levada_cli_status cmd_receipts(levada_env *env, const levada_cli_args *args)
{
    const char       *of = levada_cli_value(args, "of");
    levada_cli_pipe   p = { 0 };
    levada_cli_buffer out = { 0 };
    levada_error      err = LEVADA_ERROR_INIT;
    levada_cli_status status = LEVADA_CLI_DONE;
    bool              complete = true;
    char             *sum = NULL;
    levada_status     st = LEVADA_OK;

    if (of) status = levada_cli_pipe_open(&p, env, of, args);
    if (status != LEVADA_CLI_DONE) return status;
    for (int i = 0; i < args->nwords && st == LEVADA_OK; i++)
        st = receipts_of_file(env, args->words[i], &sum, &err);
    if (st == LEVADA_OK && of) st = receipts_compare(&p, args, sum, &complete, &err);
    if (st == LEVADA_OK && !of) {
        levada_cli_printf(&out, "%s\n", sum);
        (void)levada_cli_out(&out);
        levada_cli_buffer_clear(&out);
    }
    if (st != LEVADA_OK) status = levada_cli_fail(&err);
    else if (!complete) status = LEVADA_CLI_FAILED;
    levada_string_free(&sum);
    levada_cli_pipe_close(&p);
    return status;
}

const levada_cli_command levada_cli_receipts = {
    .name = "receipts",
    .words = "FILE...",
    .doc = "add up epoch receipts, and name records that are missing or came twice",
    .more = "  levada receipts --of 'tfrecord:train-*.tfrecord' rank0.ckpt rank1.ckpt\n\n"
            "FILE is a checkpoint, or a text with receipts, such as the JSON of run --stats.\n"
            "Without --of the sum is printed. With it, exits with status 1 if records differ.",
    .options = cmd_receipts_options,
    .min_words = 1,
    .max_words = -1,
    .run = cmd_receipts,
};
