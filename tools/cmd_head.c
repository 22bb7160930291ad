/* SPDX-License-Identifier: Apache-2.0 */
/*
 * levada head: the first records of files, decoded as far as can be done without a spec.
 */
#include "example.h"
#include "rows.h"
#include "source.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { CMD_HEAD_WIDTH = 64 }; /* columns of a value */

static const levada_cli_option cmd_head_options[] = {
    { "records", 'n', "N", "records of each file (default 3)" },
    { "json", 0, NULL, "one JSON object a record, with nothing left out" },
    { "source", 0, "NAME", "tfrecord, text_lines, ... (default: found out)" },
    LEVADA_CLI_OPTION_END
};

/* At most CMD_HEAD_WIDTH columns of the text, with a sign where something was left out. */
static void cmd_head_short(levada_cli_buffer *b, const char *text, size_t n)
{
    int64_t width = 0;
    size_t  end = 0;

    while (end < n) {
        if (((uint8_t)text[end] & 0xC0) != 0x80 && width++ == CMD_HEAD_WIDTH) break;
        end++;
    }
    levada_cli_add(b, text, end);
    if (end < n) levada_cli_puts(b, "…");
    levada_cli_puts(b, "\n");
}

typedef struct head_text {
    levada_cli_buffer *out;
    levada_cli_message kind;
} head_text;

static void cmd_head_feature(void *user, const levada_cli_feature *f)
{
    const head_text  *text = user;
    levada_cli_buffer count = { 0 };

    if (f->sequence) levada_cli_printf(&count, "%" PRId64 " steps", f->count);
    else if (f->count != 1) levada_cli_printf(&count, "%" PRId64 " values", f->count);
    if (text->kind == LEVADA_CLI_SEQUENCE)
        levada_cli_printf(text->out, "  %-8s", f->sequence ? "sequence" : "context");
    levada_cli_printf(text->out, "  %-16.*s  %-5s %12s  ", (int)f->name_size, f->name, f->type,
                      count.at ? count.at : "");
    /* One value stands for itself. */
    if (f->count == 1 && !f->sequence)
        cmd_head_short(text->out, f->values.at + 1, f->values.size - 2);
    else
        cmd_head_short(text->out, f->values.at, f->values.size);
    levada_cli_buffer_clear(&count);
}

static void cmd_head_bytes(levada_cli_buffer *b, const uint8_t *bytes, size_t n)
{
    static const char *const names[] = { "bytes", "Example", "SequenceExample" };
    head_text                text = { b, levada_cli_example_kind(bytes, n) };
    levada_cli_buffer        value = { 0 };

    levada_cli_printf(b, "   %s, %zu bytes\n", names[text.kind], n);
    if (text.kind == LEVADA_CLI_OTHER) {
        levada_cli_json_text(&value, bytes, n);
        levada_cli_puts(b, "  ");
        cmd_head_short(b, value.at, value.size);
    } else {
        levada_cli_example_each(bytes, n, cmd_head_feature, &text);
    }
    levada_cli_buffer_clear(&value);
}

static void cmd_head_columns(levada_cli_buffer *b, const levada_block *block, int64_t row)
{
    const levada_column *column;
    levada_cli_buffer    text = { 0 };

    levada_cli_puts(b, "\n");
    for (int32_t i = 0; (column = levada_block_at(block, i)) != NULL; i++) {
        text.size = 0;
        levada_cli_cell_json(&text, column, row);
        levada_cli_printf(b, "  %-20s ", column->field->name);
        cmd_head_short(b, text.at, text.size);
    }
    levada_cli_buffer_clear(&text);
}

/* One record: serialized ones are looked into, others are shown column by column. */
static void cmd_head_record(levada_cli_buffer *b, const levada_cli_pipe *p,
                            const levada_block *block, int64_t row, bool json)
{
    const levada_column *column = levada_block_column(block, "record");
    int64_t              size = 0;
    const uint8_t       *bytes = column ? levada_column_bytes(column, row, &size) : NULL;

    if (!json) levada_cli_row_key(b, p->it, block, row);
    if (json && bytes) levada_cli_example_json(b, bytes, (size_t)size);
    else if (json) levada_cli_row_json(b, block, row);
    else if (bytes) cmd_head_bytes(b, bytes, (size_t)size);
    else cmd_head_columns(b, block, row);
    if (json) levada_cli_puts(b, "\n");
}

static levada_status cmd_head_rows(levada_cli_pipe *p, int64_t limit, bool json,
                                   levada_error *err)
{
    levada_cli_buffer text = { 0 };
    levada_block     *block = NULL;
    levada_status     status = LEVADA_OK;

    while (status == LEVADA_OK && limit > 0) {
        status = levada_cli_pipe_next(p, &block, err);
        if (status != LEVADA_OK) break;
        for (int64_t row = 0; row < levada_block_rows(block) && limit > 0; row++, limit--) {
            cmd_head_record(&text, p, block, row, json);
            if (!levada_cli_out(&text)) limit = 0;
        }
        levada_block_unref(&block);
    }
    levada_cli_buffer_clear(&text);
    return status == LEVADA_END ? LEVADA_OK : status;
}

static levada_cli_status cmd_head(levada_env *env, const levada_cli_args *args)
{
    levada_cli_status status = LEVADA_CLI_DONE;

    for (int i = 0; i < args->nwords && !levada_cli_stopped(); i++) {
        levada_cli_pipe p = { 0 };
        levada_error    err = LEVADA_ERROR_INIT;
        const char     *source = levada_cli_value(args, "source");
        levada_status   done;

        if (!source && !levada_cli_source_described(args->words[i]))
            source = levada_cli_source_guess(env, args->words[i]);
        done = levada_cli_source_open(&p, env, source, args->words[i], NULL, &err);
        if (done == LEVADA_OK)
            done = cmd_head_rows(&p, levada_cli_number(args, "records", 3),
                                 levada_cli_flag(args, "json"), &err);
        if (done != LEVADA_OK) status = levada_cli_fail(&err);
        levada_cli_pipe_close(&p);
    }
    return status;
}

const levada_cli_command levada_cli_head = {
    .name = "head",
    .words = "FILE|DESCRIPTION...",
    .doc = "the first records of files, decoded as far as possible",
    .options = cmd_head_options,
    .min_words = 1,
    .max_words = -1,
    .run = cmd_head,
};
