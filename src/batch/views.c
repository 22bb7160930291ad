/* SPDX-License-Identifier: Apache-2.0 */
#include <levada/views.h>

#include "base/assert.h"
#include "base/versioned.h"
#include "description/columns.h"
#include "registry/env_priv.h"
#include "tensor/pad.h"
#include "registry/env_priv.h"

#include <stdio.h>
#include <string.h>

LEVADA_VERSIONED_INIT(levada_batch_sizes_init, levada_batch_sizes, LEVADA_BATCH_SIZES_INIT)
LEVADA_VERSIONED_INIT(levada_batch_padding_init, levada_batch_padding, LEVADA_BATCH_PADDING_INIT)

#define VIEWS_SEGMENTS "_segment_lengths"

typedef struct views_column {
    const levada_column *column, *segments; /* segments: NULL = each row is a sequence   */
    const uint8_t       *added;             /* rows that a shard added to pad; NULL = none */
    int64_t              rows, width; /* width: of rows with padding; -1 where they are ragged */
} views_column;

/* The segments of one row. */
typedef struct views_row {
    int64_t        steps, n;
    const int32_t *sizes; /* NULL: one of `steps` */
} views_row;

static bool views_is_ragged(const levada_column *c)
{
    return c->field->depth > 0 || (levada_dtype_is_bytes(c->field->dtype) && c->field->ndim == 0);
}

static levada_status views_find_segments(const levada_block *batch, const char *field,
                                         views_column *v, levada_error *err)
{
    char                 name[512];
    const levada_column *c;
    int                  size = snprintf(name, sizeof name, "%s" VIEWS_SEGMENTS, field);

    v->segments = NULL;
    if (size < 0 || (size_t)size >= sizeof name) return LEVADA_OK;
    c = levada_block_column(batch, name);
    if (!c) return LEVADA_OK;
    if (c->field->dtype != LEVADA_INT32 || c->field->depth + c->field->ndim != 1) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "field '%s' must have a list of int32 in each record, got %s",
                           name, levada_dtype_name(c->field->dtype));
    }
    v->segments = c;
    return LEVADA_OK;
}

static levada_status views_open(const levada_block *batch, const char *field, views_column *v,
                                levada_error *err)
{
    const levada_column *added = levada_block_column(batch, "is_padding");

    v->column = levada_block_column(batch, field);
    if (!v->column) {
        return levada_fail(err, LEVADA_ENOT_FOUND, "the batch has no field '%s'", field);
    }
    v->rows = levada_block_rows(batch);
    v->width = v->column->field->ndim ? v->column->dims[0] : 1;
    if (views_is_ragged(v->column)) v->width = -1;
    v->added = NULL;
    if (added && added->field->dtype == LEVADA_BOOL && !added->field->ndim &&
        !added->field->depth) {
        v->added = added->values;
    }
    return views_find_segments(batch, field, v, err);
}

/* Opens the views that only sequences have. */
static levada_status views_open_sequence(const levada_block *batch, const char *field,
                                         views_column *v, levada_error *err)
{
    LEVADA_TRY(views_open(batch, field, v, err));
    if (v->width < 0 || v->segments || v->column->field->ndim > 0) return LEVADA_OK;
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                       "field '%s' must be a sequence, got one value in each record", field);
}

static int64_t views_steps(const views_column *v, int64_t row)
{
    const levada_column *c = v->column;

    if (v->width < 0) return (int64_t)c->level[0].end[row] - c->level[0].begin[row];
    if (v->width >= 0 && v->added && v->added[row]) return 0;
    return c->lengths ? c->lengths[row] : v->width;
}

/* Returns the list of one row; its padding, if any, is on the side of the column. */
static const int32_t *views_sizes(const levada_column *c, int64_t row, int64_t *n)
{
    *n = levada_column_length(c, row);
    if (c->field->depth) return levada_column_i32(c) + c->level[0].begin[row];
    return levada_column_i32(c) + row * c->dims[0] + (c->field->left ? c->dims[0] - *n : 0);
}

static levada_status views_row_at(const views_column *v, int64_t row, views_row *r,
                                  levada_error *err)
{
    int64_t sum = 0;

    r->steps = views_steps(v, row);
    r->n = 1;
    r->sizes = NULL;
    if (!v->segments) return LEVADA_OK;
    r->sizes = views_sizes(v->segments, row, &r->n);
    if (v->width >= 0 && v->added && v->added[row]) r->n = 0;
    for (int64_t i = 0; i < r->n; i++) sum = r->sizes[i] < 0 ? INT64_MIN : sum + r->sizes[i];
    if (sum == r->steps) return LEVADA_OK;
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                       "the segment lengths of field '%s' must add up to %lld, the length of "
                       "record %lld of the batch, got %lld",
                       v->column->field->name, (long long)r->steps, (long long)row, (long long)sum);
}

static int64_t views_size(const views_row *r, int64_t i)
{
    return r->sizes ? r->sizes[i] : r->steps;
}

static void views_count(const views_row *r, levada_batch_sizes *to)
{
    to->sequences += r->n;
    to->steps += r->steps;
    for (int64_t i = 0; i < r->n; i++) {
        if (views_size(r, i) > to->longest) to->longest = views_size(r, i);
    }
}

levada_status levada_batch_measure(const levada_block *batch, const char *field,
                                   levada_batch_sizes *out, levada_error *err)
{
    LEVADA_TRY(levada_require(batch && field && out, "batch, field and out", err));
    views_column       v;
    views_row          r;
    int64_t            widest = 0;
    levada_batch_sizes s = LEVADA_BATCH_SIZES_INIT;

    LEVADA_TRY(levada_versioned_check(out, sizeof s, "levada_batch_sizes", err));
    LEVADA_TRY(views_open(batch, field, &v, err));
    for (int64_t row = 0; row < v.rows; row++) {
        LEVADA_TRY(views_row_at(&v, row, &r, err));
        views_count(&r, &s);
        if (r.steps > widest) widest = r.steps;
    }
    s.rows = v.rows;
    s.padded = v.width >= 0;
    s.packed = v.segments != NULL;
    s.left = s.padded && v.column->field->left;
    s.width = s.padded ? v.width : widest;
    s.elements = s.padded ? s.rows * s.width : s.steps;
    levada_versioned_write(out, &s, sizeof s);
    return LEVADA_OK;
}

levada_status levada_batch_cu_seqlens(const levada_block *batch, const char *field, int32_t *to,
                                      levada_error *err)
{
    LEVADA_TRY(levada_require(batch && field && to, "batch, field and to", err));
    views_column v;
    views_row    r;
    int64_t      sum = 0;

    LEVADA_TRY(views_open_sequence(batch, field, &v, err));
    *to++ = 0;
    for (int64_t row = 0; row < v.rows; row++) {
        LEVADA_TRY(views_row_at(&v, row, &r, err));
        for (int64_t i = 0; i < r.n; i++) *to++ = (int32_t)(sum += views_size(&r, i));
    }
    return LEVADA_OK;
}

/* Writes n numbers of padding; returns what follows them. */
static int32_t *views_blank(int32_t *to, int64_t n)
{
    for (int64_t k = 0; k < n; k++) *to++ = 0;
    return to;
}

static levada_status views_fill(const levada_block *batch, const char *field, bool ids, int32_t *to,
                                levada_error *err)
{
    LEVADA_TRY(levada_require(batch && field && to, "batch, field and to", err));
    views_column v;
    views_row    r;
    int32_t      id = 0;

    LEVADA_TRY(views_open_sequence(batch, field, &v, err));
    for (int64_t row = 0; row < v.rows; row++) {
        LEVADA_TRY(views_row_at(&v, row, &r, err));
        if (v.width >= 0) id = 0;
        if (v.column->field->left) to = views_blank(to, v.width - r.steps);
        for (int64_t i = 0; i < r.n; i++) {
            int32_t size = (int32_t)views_size(&r, i);

            id++;
            for (int32_t t = 0; t < size; t++) to[t] = ids ? id : t;
            to += size;
        }
        if (!v.column->field->left) to = views_blank(to, v.width - r.steps);
    }
    return LEVADA_OK;
}

levada_status levada_batch_positions(const levada_block *batch, const char *field, int32_t *to,
                                     levada_error *err)
{
    return views_fill(batch, field, false, to, err);
}

levada_status levada_batch_segment_ids(const levada_block *batch, const char *field, int32_t *to,
                                       levada_error *err)
{
    return views_fill(batch, field, true, to, err);
}

levada_status levada_batch_mask(const levada_block *batch, const char *field, bool left,
                                uint8_t *to, levada_error *err)
{
    levada_batch_sizes s = LEVADA_BATCH_SIZES_INIT;
    views_column       v;

    LEVADA_TRY(levada_require(to != NULL, "to", err));
    LEVADA_TRY(levada_batch_measure(batch, field, &s, err));
    LEVADA_TRY(views_open(batch, field, &v, err));
    if (left && s.padded && !v.column->field->left) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "field '%s' has its padding after the values; set left=true in the "
                           "stage that pads", field);
    }
    if (s.padded) left = v.column->field->left;
    for (int64_t row = 0; row < s.rows; row++, to += s.width) {
        bool   added = v.added && v.added[row];
        size_t steps = added ? 0 : (size_t)views_steps(&v, row), blank = (size_t)s.width - steps;

        memset(to + (left ? blank : 0), 1, steps);
        memset(to + (left ? 0 : steps), 0, blank);
    }
    return LEVADA_OK;
}

/* -- padding */

static levada_status views_pad(levada_pool *pool, const levada_block *one, levada_field *padded,
                               const levada_batch_padding *how, levada_block **out,
                               levada_error *err)
{
    levada_padding p = { .multiple = how->multiple, .left = how->left };
    levada_spec   *spec = NULL;
    levada_status  st;

    for (int32_t d = 0; d < LEVADA_MAX_DIMS; d++) p.dims[d] = -1;
    p.dims[0] = how->width;
    if (how->value && !levada_dtype_is_bytes(padded->dtype)) {
        memcpy(p.value, how->value, (size_t)levada_dtype_size(padded->dtype));
    }
    LEVADA_TRY(levada_spec_create(padded, 1, levada_spec_flags_of(one->spec), &spec, err));
    st = levada_pad_block(pool, one, spec, &p, out, NULL, err);
    levada_spec_unref(&spec);
    return st;
}

levada_status levada_batch_pad(levada_env *env, const levada_block *batch, const char *field,
                               const levada_batch_padding *how, levada_block **out,
                               levada_error *err)
{
    LEVADA_TRY(levada_require(batch && field && how && out, "batch, field, how and out", err));
    LEVADA_TRY(levada_env_have(env, err));
    levada_batch_padding o = LEVADA_BATCH_PADDING_INIT;
    levada_pool         *pool = levada_env_pool(env);
    levada_spec         *spec = NULL;
    levada_block        *one = NULL;
    levada_field         padded;
    views_column         v;
    levada_status        st;

    LEVADA_TRY(LEVADA_VERSIONED_READ(o, how, levada_batch_padding, err));
    if (o.multiple < 0 || o.width < -1) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "multiple=%lld must not be negative, and width=%lld at least -1",
                           (long long)o.multiple, (long long)o.width);
    }
    LEVADA_TRY(views_open(batch, field, &v, err));
    if (!v.column->field->depth) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "field '%s' must be ragged, because only sequences can be padded",
                           field);
    }
    LEVADA_TRY(levada_pad_field(v.column->field, &padded, err));
    padded.left = o.left;
    LEVADA_TRY(levada_spec_create(v.column->field, 1, levada_spec_flags_of(batch->spec), &spec,
                                  err));
    st = levada_columns_pick(pool, batch, spec, NULL, &one, err);
    if (st == LEVADA_OK) st = views_pad(pool, one, &padded, &o, out, err);
    levada_block_unref(&one);
    levada_spec_unref(&spec);
    return st;
}
