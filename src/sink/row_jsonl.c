/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of JSON. What JSON cannot hold is refused: texts that are not UTF-8, and inf and nan. */
#include "base/alloc.h"
#include "sink/row_text.h"

#include <string.h>

static levada_status jsonl_check(const levada_spec *spec, levada_error *err)
{
    for (int32_t i = 0; i < levada_spec_count(spec); i++) {
        const levada_field *field = levada_spec_field(spec, i);

        if (field->depth > 2 || field->ndim > 1 || (field->depth > 0 && field->ndim > 0))
            return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                               "jsonl: column '%s' has more levels than a list of lists",
                               field->name);
    }
    return LEVADA_OK;
}

static levada_status jsonl_one(const levada_column *c, int64_t at, levada_text *out,
                               levada_error *err)
{
    const char *text;
    size_t      size;

    if (c->field->dtype != LEVADA_BYTES) {
        if (levada_row_number(c, at, out)) return LEVADA_OK;
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "column '%s': JSON has no number for inf and nan", c->field->name);
    }
    text = levada_row_string(c, at, &size);
    if (levada_utf8_check(text, size) != size)
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "column '%s': a string that is not UTF-8", c->field->name);
    levada_text_json(out, text, size);
    return LEVADA_OK;
}

static levada_status jsonl_list(const levada_column *c, levada_row_range range, int32_t level,
                                levada_text *out, levada_error *err)
{
    levada_text_char(out, '[');
    for (int64_t i = range.begin; i < range.end; i++) {
        if (i > range.begin) levada_text_char(out, ',');
        if (level + 1 < c->field->depth) {
            levada_row_range inner = { c->level[1].begin[i], c->level[1].end[i], true };

            LEVADA_TRY(jsonl_list(c, inner, level + 1, out, err));
        } else {
            LEVADA_TRY(jsonl_one(c, i, out, err));
        }
    }
    levada_text_char(out, ']');
    return LEVADA_OK;
}

/* The same before every row: {"a": and ,"b": */
static levada_status jsonl_names(levada_row_writer *w, const levada_spec *spec, levada_error *err)
{
    int32_t n = levada_spec_count(spec);

    w->name_end = levada_alloc((size_t)(n + 1) * sizeof *w->name_end);
    for (int32_t i = 0; w->name_end && i < n; i++) {
        const char *name = levada_spec_field(spec, i)->name;

        levada_text_char(&w->names, i == 0 ? '{' : ',');
        levada_text_json(&w->names, name, strlen(name));
        levada_text_char(&w->names, ':');
        w->name_end[i] = w->names.size;
    }
    if (w->name_end && !w->names.failed) return LEVADA_OK;
    return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for the names of columns");
}

static levada_status jsonl_row(levada_row_writer *w, const levada_block *block, int64_t row,
                               levada_text *out, levada_error *err)
{
    int32_t n = levada_spec_count(levada_block_spec(block));
    size_t  from = 0;

    if (!w->name_end) LEVADA_TRY(jsonl_names(w, levada_block_spec(block), err));
    for (int32_t i = 0; i < n; from = w->name_end[i++]) {
        const levada_column *c = levada_block_at(block, i);
        levada_row_range     range = levada_row_range_of(c, row);

        levada_text_add(out, w->names.at + from, w->name_end[i] - from);
        LEVADA_TRY(range.list ? jsonl_list(c, range, 0, out, err)
                              : jsonl_one(c, range.begin, out, err));
    }
    levada_text_put(out, n == 0 ? "{}\n" : "}\n");
    return LEVADA_OK;
}

const levada_row_format levada_row_jsonl = {
    .name = "jsonl",
    .check = jsonl_check,
    .row = jsonl_row,
};
