/* SPDX-License-Identifier: Apache-2.0 */
/*
 * levada head: the first records of files, decoded as far as can be done without a spec.
 */
#include "escape.h"
#include "example.h"
#include "rows.h"
#include "source.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { CMD_HEAD_WIDTH = 64 }; /* columns of a value */

static const levada_cli_option cmd_head_options[] = {
    { "records", 'n', "N", "records of each file (default 3)" },
    { "json", 0, NULL, "print one complete JSON object per record" },
    { "source", 0, "NAME", "tfrecord, csv:header=true, ... (default: from the name or content)" },
    LEVADA_CLI_RECORD_OPTION,
    LEVADA_CLI_OPTION_END
};

typedef struct head_out {
    bool                 json;
    levada_example_view *view;
    levada_cli_buffer    text, key;
    int64_t              name_width, count_width; /* columns in the record that is printed */
} head_out;

/* Prints at most CMD_HEAD_WIDTH columns of the text, with a sign where text was cut. */
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

/* Returns the kind of the first item that has one. */
static const char *cmd_head_kind(const levada_example_feature *f)
{
    for (int64_t i = 0; i < f->nitems; i++)
        if (f->items[i].dtype != LEVADA_NONE) return levada_cli_kind_name(f->items[i].dtype);
    return "";
}

static int64_t cmd_head_shown(const void *name, size_t n)
{
    levada_cli_buffer shown = { 0 };
    int64_t           width;

    levada_cli_show(&shown, name, n);
    width = levada_cli_width(shown.at ? shown.at : "", shown.size);
    levada_cli_buffer_clear(&shown);
    return width;
}

/* "45 values", "3 steps"; nothing for a value that stands for itself. */
static void cmd_head_count(levada_cli_buffer *b, const levada_example_feature *f)
{
    if (f->sequence) levada_cli_printf(b, "%" PRId64 " steps", f->nitems);
    else if (f->items[0].count != 1) levada_cli_printf(b, "%" PRId64 " values", f->items[0].count);
}

/* Columns of the widest name and of the widest count. */
static void cmd_head_widths(const levada_example_view *view, int64_t *name, int64_t *count)
{
    const levada_example_feature *f;
    levada_cli_buffer             text = { 0 };

    *name = 16;
    *count = 12;
    for (int64_t i = 0; (f = levada_example_view_at(view, i)) != NULL; i++) {
        int64_t shown = cmd_head_shown(f->name, f->name_size);

        text.size = 0;
        cmd_head_count(&text, f);
        if (shown > *name) *name = shown;
        if ((int64_t)text.size > *count) *count = (int64_t)text.size;
    }
    levada_cli_buffer_clear(&text);
}

static levada_status cmd_head_feature(head_out *out, const levada_example_feature *f,
                                      bool sections, levada_error *err)
{
    bool              single = !f->sequence && f->items[0].count == 1; /* stands for itself */
    levada_cli_buffer count = { 0 }, values = { 0 };
    levada_status     status = levada_cli_feature_json(&values, out->view, f, err);

    cmd_head_count(&count, f);
    if (sections) levada_cli_printf(&out->text, "  %-8s", f->sequence ? "sequence" : "context");
    levada_cli_puts(&out->text, "  ");
    levada_cli_show_padded(&out->text, f->name, f->name_size, out->name_width);
    levada_cli_printf(&out->text, "  %-5s %*s  ", cmd_head_kind(f), (int)out->count_width,
                      count.at ? count.at : "");
    if (status == LEVADA_OK)
        cmd_head_short(&out->text, values.at + single, values.size - 2 * single);
    levada_cli_buffer_clear(&count);
    levada_cli_buffer_clear(&values);
    return status;
}

static levada_status cmd_head_bytes(head_out *out, const uint8_t *bytes, size_t n,
                                    levada_error *err)
{
    static const char *const      names[] = { "bytes", "Example", "SequenceExample" };
    const levada_example_feature *f;
    levada_cli_buffer             value = { 0 };
    levada_example_kind           kind;

    LEVADA_TRY(levada_example_view_parse(out->view, bytes, n, &kind, err));
    levada_cli_printf(&out->text, "   %s, ", names[kind]);
    levada_cli_counted(&out->text, (int64_t)n, "byte", "bytes");
    levada_cli_puts(&out->text, "\n");
    cmd_head_widths(out->view, &out->name_width, &out->count_width);
    for (int64_t i = 0; (f = levada_example_view_at(out->view, i)) != NULL; i++)
        LEVADA_TRY(cmd_head_feature(out, f, kind == LEVADA_EXAMPLE_SEQUENCE, err));
    if (kind != LEVADA_EXAMPLE_OTHER) return LEVADA_OK;
    levada_cli_json_text(&value, bytes, n);
    levada_cli_puts(&out->text, "  ");
    cmd_head_short(&out->text, value.at, value.size);
    levada_cli_buffer_clear(&value);
    return LEVADA_OK;
}

static void cmd_head_columns(levada_cli_buffer *b, const levada_block *block, int64_t row)
{
    const levada_column *column;
    levada_cli_buffer    text = { 0 };
    int64_t              width = 20;

    levada_cli_puts(b, "\n");
    for (int32_t i = 0; (column = levada_block_at(block, i)) != NULL; i++) {
        int64_t shown = cmd_head_shown(column->field->name, strlen(column->field->name));

        if (shown > width) width = shown;
    }
    for (int32_t i = 0; (column = levada_block_at(block, i)) != NULL; i++) {
        text.size = 0;
        levada_cli_cell_json(&text, column, row);
        levada_cli_puts(b, "  ");
        levada_cli_show_padded(b, column->field->name, strlen(column->field->name), width);
        levada_cli_puts(b, " ");
        cmd_head_short(b, text.at, text.size);
    }
    levada_cli_buffer_clear(&text);
}

/* One record: serialized ones are looked into, others are shown column by column. */
static levada_status cmd_head_record(head_out *out, const levada_cli_pipe *p,
                                     const levada_block *block, int64_t row, levada_error *err)
{
    const levada_column *column = levada_block_column(block, "record");
    int64_t              size = 0;
    const uint8_t       *bytes = column ? levada_column_bytes(column, row, &size) : NULL;
    levada_status        status = LEVADA_OK;

    if (out->json) {
        if (bytes)
            status =
                levada_cli_example_json(&out->text, out->view, bytes, (size_t)size, false, err);
        else levada_cli_row_json(&out->text, block, row);
        levada_cli_puts(&out->text, "\n");
        return status;
    }
    out->key.size = 0;
    levada_cli_row_key(&out->key, p->it, block, row);
    levada_cli_show(&out->text, out->key.at, out->key.size);
    if (bytes) return cmd_head_bytes(out, bytes, (size_t)size, err);
    cmd_head_columns(&out->text, block, row);
    return LEVADA_OK;
}

static levada_status cmd_head_rows(head_out *out, levada_cli_pipe *p, int64_t limit,
                                   levada_error *err)
{
    levada_block *block = NULL;
    levada_status status = LEVADA_OK;

    while (status == LEVADA_OK && limit > 0) {
        status = levada_cli_pipe_next(p, &block, err);
        if (status != LEVADA_OK) break;
        for (int64_t row = 0; row < levada_block_rows(block) && limit > 0; row++, limit--) {
            status = cmd_head_record(out, p, block, row, err);
            if (!levada_cli_out(&out->text) || status != LEVADA_OK) limit = 0;
        }
        levada_block_unref(&block);
    }
    return status == LEVADA_END ? LEVADA_OK : status;
}

static levada_cli_status cmd_head(levada_env *env, const levada_cli_args *args)
{
    levada_cli_status status = LEVADA_CLI_DONE;
    head_out          out = { .json = levada_cli_flag(args, "json") };
    levada_error      none = LEVADA_ERROR_INIT;

    if (levada_example_view_create(&out.view, &none) != LEVADA_OK) return levada_cli_fail(&none);
    for (int i = 0; i < args->nwords && !levada_cli_stopped(); i++) {
        levada_cli_pipe p = { 0 };
        levada_error    err = LEVADA_ERROR_INIT;
        const char     *source = levada_cli_value(args, "source");
        levada_status   done = LEVADA_OK;
        levada_file_kind kind = LEVADA_FILE_KIND_INIT;

        if (source || !levada_cli_source_described(args->words[i])) {
            done = levada_inspect_kind(env, args->words[i], source, &kind, &err);
            if (done == LEVADA_OK && !source)
                levada_cli_source_warn(args->words[i], &kind, "--source");
            if (!source) source = kind.source;
        }
        if (done == LEVADA_OK)
            done = levada_cli_source_open(&p, env, source, args->words[i],
                                          levada_cli_record_bytes(args), &err);
        if (done == LEVADA_OK)
            done = cmd_head_rows(&out, &p, levada_cli_number(args, "records", 3), &err);
        if (done != LEVADA_OK) status = levada_cli_fail(&err);
        levada_cli_pipe_close(&p);
    }
    levada_example_view_destroy(&out.view);
    levada_cli_buffer_clear(&out.text);
    levada_cli_buffer_clear(&out.key);
    return status;
}

const levada_cli_command levada_cli_head = {
    .name = "head",
    .words = "FILE|PIPELINE...",
    .doc = "print the first records of files",
    .options = cmd_head_options,
    .min_words = 1,
    .max_words = -1,
    .inputs = -1,
    .run = cmd_head,
};
