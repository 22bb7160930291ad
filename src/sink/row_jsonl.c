/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines of JSON. What JSON cannot hold is refused: texts that are not UTF-8, and inf and nan.
 *
 * Columns that are members of the objects of a list (levada_field.object) become that list again,
 * where the first of them is.
 */
#include "base/alloc.h"
#include "sink/row_text.h"

#include <string.h>

/* Members of one object, or of the record: columns whose names begin in the same way. */
typedef struct jsonl_group {
    const levada_block *block;
    int32_t             first;  /* the column that the others are compared with           */
    size_t              prefix; /* bytes of its name before the members' names            */
    int32_t             level;  /* of lists around it                                     */
} jsonl_group;

static levada_status jsonl_check(const levada_spec *spec, levada_error *err)
{
    for (int32_t i = 0; i < levada_spec_count(spec); i++) {
        const levada_field *field = levada_spec_field(spec, i);

        if (!levada_row_inner_padding(field)) continue;
        return levada_fail(
            err, LEVADA_EINVALID_ARGUMENT,
            "jsonl: column '%s' has padded lists of lists, and a batch does not have "
            "the lengths of the inner ones; write batches of batch()",
            field->name);
    }
    return LEVADA_OK;
}

static levada_status jsonl_one(const levada_column *c, int64_t at, levada_text *out,
                               levada_error *err)
{
    const char *text;
    size_t      size;

    if (!levada_dtype_is_bytes(c->field->dtype)) {
        if (levada_row_number(c, at, out)) return LEVADA_OK;
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "column '%s': JSON has no number for inf and nan; replace it, or "
                           "write tfrecord", c->field->name);
    }
    text = levada_row_string(c, at, &size);
    if (levada_utf8_check(text, size) != size)
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "column '%s': a string must be UTF-8; write tfrecord for other bytes",
                           c->field->name);
    levada_text_json(out, text, size);
    return LEVADA_OK;
}

/* Writes values of a fixed shape, as lists of the dimensions from d on. */
static levada_status jsonl_array(const levada_column *c, int32_t d, int64_t at, levada_text *out,
                                 levada_error *err)
{
    if (d >= c->field->ndim) return jsonl_one(c, at, out, err);
    levada_text_char(out, '[');
    for (int64_t i = 0; i < c->dims[d]; i++) {
        if (i > 0) levada_text_char(out, ',');
        LEVADA_TRY(jsonl_array(c, d + 1, at * c->dims[d] + i, out, err));
    }
    levada_text_char(out, ']');
    return LEVADA_OK;
}

/* -- lists of objects */

/* Returns the number of bytes of the name up to and with its k-th dot; 0 = it has less. */
static size_t jsonl_prefix(const levada_field *f, uint8_t k)
{
    const char *at = f->name;

    for (; k > 0 && at; k--) {
        at = strchr(at, '.');
        if (at) at++;
    }
    return at ? (size_t)(at - f->name) : 0;
}

/* Returns the level of lists, from `from` on, whose items are objects with this column as a member;
 * -1. */
static int32_t jsonl_object(const levada_field *f, int32_t from, size_t *prefix)
{
    for (int32_t l = from; l < f->depth; l++) {
        *prefix = f->object[l] ? jsonl_prefix(f, f->object[l]) : 0;
        if (*prefix > 0) return l;
    }
    return -1;
}

/* Returns true if column i is a member of the objects of the group. */
static bool jsonl_has(const jsonl_group *g, int32_t i)
{
    const levada_field *first = levada_block_at(g->block, g->first)->field;
    const levada_field *f = levada_block_at(g->block, i)->field;

    if (g->prefix == 0) return true;
    return g->level <= f->depth && memcmp(f->object, first->object, (size_t)g->level) == 0 &&
           strncmp(f->name, first->name, g->prefix) == 0;
}

static levada_status jsonl_members(const jsonl_group *g, int64_t row, levada_text *out,
                                   levada_error *err);

/* Writes the lists of a column from `level` on: of values, or, from level `object` on, of
 * objects. */
static levada_status jsonl_list(const jsonl_group *g, int32_t i, levada_row_range range,
                                int32_t level, int32_t object, size_t prefix, levada_text *out,
                                levada_error *err)
{
    const levada_column *c = levada_block_at(g->block, i);

    levada_text_char(out, '[');
    for (int64_t at = range.begin; at < range.end; at++) {
        if (at > range.begin) levada_text_char(out, ',');
        if (level == object) {
            const jsonl_group inner = { g->block, i, prefix, level + 1 };

            LEVADA_TRY(jsonl_members(&inner, at, out, err));
        } else if (level + 1 < c->field->depth) {
            const levada_level *next = &c->level[level + 1];
            levada_row_range    items = { next->begin[at], next->end[at], true };

            LEVADA_TRY(jsonl_list(g, i, items, level + 1, object, prefix, out, err));
        } else {
            LEVADA_TRY(jsonl_array(c, c->field->depth == 0, at, out, err));
        }
    }
    levada_text_char(out, ']');
    return LEVADA_OK;
}

/* Writes the value of a member: of row `row` of the group's level. */
static levada_status jsonl_value(const jsonl_group *g, int32_t i, int64_t row, int32_t object,
                                 size_t prefix, levada_text *out, levada_error *err)
{
    const levada_column *c = levada_block_at(g->block, i);
    levada_row_range     range = { row, row + 1, false };

    if (g->level == 0) range = levada_row_range_of(c, row);
    else if (g->level < c->field->depth)
        range = (levada_row_range){ c->level[g->level].begin[row], c->level[g->level].end[row],
                                    true };
    if (!range.list) return jsonl_array(c, 0, range.begin, out, err);
    return jsonl_list(g, i, range, g->level, object, prefix, out, err);
}

/* Returns true if an earlier column of the group has written the list that column i is in. */
static bool jsonl_written(const jsonl_group *g, int32_t i, int32_t object, size_t prefix)
{
    const jsonl_group inner = { g->block, i, prefix, object + 1 };

    for (int32_t k = 0; k < i; k++)
        if (jsonl_has(g, k) && jsonl_has(&inner, k)) return true;
    return false;
}

/* Writes {"name":value,...} of all columns of a group. */
static levada_status jsonl_members(const jsonl_group *g, int64_t row, levada_text *out,
                                   levada_error *err)
{
    int32_t     n = levada_spec_count(levada_block_spec(g->block));
    const char *comma = "{";

    for (int32_t i = 0; i < n; i++) {
        const levada_field *f = levada_block_at(g->block, i)->field;
        size_t              prefix = 0, size;
        int32_t             object;

        if (!jsonl_has(g, i)) continue;
        object = jsonl_object(f, g->level, &prefix);
        if (object >= 0 && jsonl_written(g, i, object, prefix)) continue;
        size = object >= 0 ? prefix - 1 : strlen(f->name);
        levada_text_put(out, comma);
        levada_text_json(out, f->name + g->prefix, size - g->prefix);
        levada_text_char(out, ':');
        LEVADA_TRY(jsonl_value(g, i, row, object, prefix, out, err));
        comma = ",";
    }
    levada_text_put(out, *comma == '{' ? "{}" : "}");
    return LEVADA_OK;
}

/* -- records without them: the names are the same in every line */

/* Prepares {"a": and ,"b": of all columns. */
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

static levada_status jsonl_plain(levada_row_writer *w, const levada_block *block, int64_t row,
                                 levada_text *out, levada_error *err)
{
    const jsonl_group record = { .block = block };
    int32_t           n = levada_spec_count(levada_block_spec(block));
    size_t            from = 0;

    if (!w->name_end) LEVADA_TRY(jsonl_names(w, levada_block_spec(block), err));
    for (int32_t i = 0; i < n; from = w->name_end[i++]) {
        levada_text_add(out, w->names.at + from, w->name_end[i] - from);
        LEVADA_TRY(jsonl_value(&record, i, row, -1, 0, out, err));
    }
    levada_text_put(out, n == 0 ? "{}" : "}");
    return LEVADA_OK;
}

static bool jsonl_is_plain(const levada_spec *spec)
{
    static const uint8_t none[LEVADA_MAX_DEPTH] = { 0 };

    for (int32_t i = 0; i < levada_spec_count(spec); i++)
        if (memcmp(levada_spec_field(spec, i)->object, none, sizeof none) != 0) return false;
    return true;
}

static levada_status jsonl_row(levada_row_writer *w, const levada_block *block, int64_t row,
                               levada_text *out, levada_error *err)
{
    const jsonl_group record = { .block = block };

    if (jsonl_is_plain(levada_block_spec(block)))
        LEVADA_TRY(jsonl_plain(w, block, row, out, err));
    else LEVADA_TRY(jsonl_members(&record, row, out, err));
    levada_text_char(out, '\n');
    return LEVADA_OK;
}

const levada_row_format levada_row_jsonl = {
    .name = "jsonl",
    .check = jsonl_check,
    .row = jsonl_row,
};
