/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of CSV. A field with the delimiter, a quote or a newline is quoted; so is an empty one. */
#include "sink/row_text.h"

#include <string.h>

static levada_status csv_check(const levada_spec *spec, levada_error *err)
{
    for (int32_t i = 0; i < levada_spec_count(spec); i++) {
        const levada_field *field = levada_spec_field(spec, i);

        if (field->depth == 0 && field->ndim == 0) continue;
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "csv has no lists: column '%s' cannot be written; drop it with select, "
                           "or write jsonl", field->name);
    }
    return LEVADA_OK;
}

static void csv_field(const char *text, size_t size, levada_text *out)
{
    bool plain = size > 0 && text[0] != ' ' && !memchr(text, '"', size) &&
                 !memchr(text, ',', size) && !memchr(text, '\n', size) && !memchr(text, '\r', size);

    if (plain) {
        levada_text_add(out, text, size);
        return;
    }
    levada_text_char(out, '"');
    while (size > 0) {
        const char *quote = memchr(text, '"', size);
        size_t      n = quote ? (size_t)(quote - text) + 1 : size;

        levada_text_add(out, text, n);
        if (quote) levada_text_char(out, '"');
        text += n;
        size -= n;
    }
    levada_text_char(out, '"');
}

static void csv_begin(const levada_spec *spec, levada_text *out)
{
    for (int32_t i = 0; i < levada_spec_count(spec); i++) {
        const char *name = levada_spec_field(spec, i)->name;

        if (i > 0) levada_text_char(out, ',');
        csv_field(name, strlen(name), out);
    }
    levada_text_char(out, '\n');
}

static levada_status csv_row(levada_row_writer *w, const levada_block *block, int64_t row,
                             levada_text *out, levada_error *err)
{
    int32_t n = levada_spec_count(levada_block_spec(block));

    (void)w, (void)err;
    for (int32_t i = 0; i < n; i++) {
        const levada_column *column = levada_block_at(block, i);

        if (i > 0) levada_text_char(out, ',');
        if (levada_dtype_is_bytes(column->field->dtype)) {
            size_t      size;
            const char *text = levada_row_string(column, row, &size);

            csv_field(text, size, out);
        } else {
            (void)levada_row_number(column, row, out); /* inf and nan are numbers of CSV */
        }
    }
    levada_text_char(out, '\n');
    return LEVADA_OK;
}

const levada_row_format levada_row_csv = {
    .name = "csv",
    .check = csv_check,
    .begin = csv_begin,
    .row = csv_row,
};
