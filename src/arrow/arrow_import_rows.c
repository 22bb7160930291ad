/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arrow arrays as blocks. A walk carries the rows of an array that are wanted: neighbors, or a list
 * of numbers where nulls, dictionaries, runs or views make neighbors of what is not. Lists turn
 * rows into the rows of their items; the offsets on the way are kept until the values are reached.
 */
#include "arrow/arrow_import.h"
#include "arrow/arrow_plan.h"
#include "base/alloc.h"
#include "base/assert.h"
#include "tensor/builder_priv.h"

#include <string.h>

/* Rows [begin, end) of an array. */
typedef struct rows_span {
    int64_t begin, end;
} rows_span;

/* Rows of an array: [first, first + n), the n numbers in `at`, -1 for a null, or those of spans. */
typedef struct rows_wanted {
    int64_t          n, first;
    const int64_t   *at;
    const rows_span *spans; /* with n rows together                                            */
    int64_t          nspans;
    bool             lists; /* each span has the items of a list of the level above            */
    const uint8_t *valid; /* of masks: 0 = the record has a null here; NULL = none has           */
    bool           inner; /* rows are no records any more: nulls leave `valid` as it is          */
} rows_wanted;

/* Memory of a walk, freed at its end. */
typedef struct rows_piece {
    struct rows_piece *next;
    int64_t              data[];
} rows_piece;

typedef struct rows_walk {
    levada_builder          *b;
    const levada_arrow_from *from;
    int64_t                  records;
    int32_t            field, depth;           /* the next field; the lists around              */
    const int32_t     *offsets[LEVADA_MAX_DEPTH]; /* rows + 1 of each list around             */
    int64_t            rows[LEVADA_MAX_DEPTH];
    rows_piece      *pieces;
} rows_walk;

static levada_status rows_memory(levada_error *err)
{
    return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for rows of Arrow");
}

static void *rows_piece_of(rows_walk *w, int64_t count, size_t size)
{
    rows_piece *piece = levada_alloc(sizeof *piece + ((size_t)count + 1) * size);

    if (!piece) return NULL;
    piece->next = w->pieces;
    w->pieces = piece;
    return piece->data;
}

/* Returns the row of the array that is row i, -1 for a null. */
static int64_t rows_row(const rows_wanted *rows, int64_t i)
{
    return rows->at ? rows->at[i] : rows->first + i;
}

static levada_status rows_damaged(const char *name, levada_error *err)
{
    return levada_fail(err, LEVADA_EDATA_LOSS,
                       "field '%s': the offsets of the Arrow array are damaged", name);
}

/* Checks that an array has what its type says. */
static levada_status rows_check(const struct ArrowSchema *schema, const struct ArrowArray *a,
                                const levada_arrow_import *type, const char *name,
                                levada_error *err)
{
    static const int64_t buffers[] = {
        [LEVADA_FORM_NUMBERS] = 2,       [LEVADA_FORM_BITS] = 2,       [LEVADA_FORM_STRINGS] = 3,
        [LEVADA_FORM_VIEWS] = 3,         [LEVADA_FORM_STRUCT] = 1,     [LEVADA_FORM_LIST] = 2,
        [LEVADA_FORM_FIXED_STRINGS] = 2, [LEVADA_FORM_FIXED] = 1,      [LEVADA_FORM_RUNS] = 0,
        [LEVADA_FORM_LIST_VIEW] = 3,     [LEVADA_FORM_DICTIONARY] = 2,
    };

    bool sound = a->release && a->length >= 0 && a->offset >= 0 &&
                 a->length <= INT64_MAX / 64 - a->offset && a->n_children == schema->n_children &&
                 a->n_buffers >= buffers[type->form] && (a->n_buffers == 0 || a->buffers) &&
                 (a->n_children == 0 || a->children);

    for (int64_t i = 0; sound && i < a->n_children; i++) sound = a->children[i] != NULL;
    if (sound) return LEVADA_OK;
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                       "field '%s': the Arrow array does not fit its schema (%lld children, %lld "
                       "buffers)", name, (long long)a->n_children, (long long)a->n_buffers);
}

/* -- nulls */

static bool rows_bit(const void *bits, int64_t i)
{
    return ((const uint8_t *)bits)[i / 8] >> i % 8 & 1;
}

static bool rows_is_null(const struct ArrowArray *a, int64_t row)
{
    return row < 0 || !rows_bit(a->buffers[0], a->offset + row);
}

/* Marks records that have a null. */
static levada_status rows_mark(rows_walk *w, const struct ArrowArray *a, rows_wanted *rows,
                                 levada_error *err)
{
    uint8_t *valid = rows_piece_of(w, rows->n, 1);

    if (!valid) return rows_memory(err);
    for (int64_t i = 0; i < rows->n; i++) {
        valid[i] = (!rows->valid || rows->valid[i]) && !rows_is_null(a, rows_row(rows, i));
    }
    rows->valid = valid;
    return LEVADA_OK;
}

/* Replaces null rows by -1, or fails at the first one. */
static levada_status rows_nulls(rows_walk *w, const struct ArrowArray *a, const char *name,
                                  rows_wanted *rows, levada_error *err)
{
    int64_t *at, nulls = 0;

    if (a->null_count == 0 || a->n_buffers < 1 || !a->buffers[0]) return LEVADA_OK;
    for (int64_t i = 0; i < rows->n; i++) {
        int64_t row = rows_row(rows, i);

        if (row < 0 || !rows_is_null(a, row)) continue;
        nulls++;
        if (w->from->nulls == LEVADA_ARROW_NULLS_ERROR) {
            return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                               "field '%s' is null; nulls=default reads 0 or an empty value", name);
        }
    }
    if (nulls == 0) return LEVADA_OK;
    if (!rows->inner && w->from->nulls == LEVADA_ARROW_NULLS_MASK) {
        LEVADA_TRY(rows_mark(w, a, rows, err));
    }
    at = rows_piece_of(w, rows->n, sizeof *at);
    if (!at) return rows_memory(err);
    for (int64_t i = 0; i < rows->n; i++) {
        int64_t row = rows_row(rows, i);

        at[i] = rows_is_null(a, row) ? -1 : row;
    }
    rows->at = at;
    return LEVADA_OK;
}

/* -- values */

/* Returns true if a block may use `bytes` bytes of an array where they are. It promises aligned
 * elements and LEVADA_SLACK readable bytes on both sides: here those of other rows of the buffer,
 * which has `size` bytes at least, or of the memory that is known to be readable. */
static bool rows_can_share(const rows_walk *w, const uint8_t *buffer, int64_t size,
                           const uint8_t *at, int64_t bytes, int64_t width)
{
    const levada_arrow_from *from = w->from;
    uintptr_t                first = (uintptr_t)at - LEVADA_SLACK;
    uintptr_t                end = (uintptr_t)at + (uintptr_t)bytes + LEVADA_SLACK;
    uintptr_t                own = (uintptr_t)buffer, known = (uintptr_t)from->readable;

    if (!from->owner || bytes == 0 || bytes > LEVADA_BLOCK_LIMIT) return false;
    if ((uintptr_t)at % (uintptr_t)width) return false;
    return (first >= own && end <= own + (uintptr_t)size) ||
           (known && first >= known && end <= known + (uintptr_t)from->readable_size);
}

/* Copies rows of elements of `size` bytes. */
static void rows_copy(const uint8_t *from, int64_t size, const rows_wanted *rows, uint8_t *to)
{
    if (!rows->at) {
        if (rows->n) memcpy(to, from + rows->first * size, (size_t)(rows->n * size));
        return;
    }
    for (int64_t i = 0; i < rows->n; i++, to += size) {
        if (rows->at[i] < 0) memset(to, 0, (size_t)size);
        else memcpy(to, from + rows->at[i] * size, (size_t)size);
    }
}

static void rows_widen(const int32_t *from, const rows_wanted *rows, int64_t *to)
{
    for (int64_t i = 0; i < rows->n; i++) {
        int64_t row = rows_row(rows, i);

        to[i] = row < 0 ? 0 : from[row];
    }
}

static void rows_bits(const struct ArrowArray *a, const rows_wanted *rows, uint8_t *to)
{
    for (int64_t i = 0; i < rows->n; i++) {
        int64_t row = rows_row(rows, i);

        to[i] = row >= 0 && rows_bit(a->buffers[1], a->offset + row);
    }
}

/* Returns true if the elements of an array are those of a block. */
static bool rows_are_same(const levada_arrow_import *type)
{
    return type->form == LEVADA_FORM_NUMBERS && type->dtype != LEVADA_BOOL &&
           type->size == levada_dtype_size(type->dtype);
}

/* Uses rows [first, first + n) where they are, if that is possible. */
static bool rows_share_numbers(rows_walk *w, const struct ArrowArray *a,
                               const levada_arrow_import *type, int64_t first, int64_t n)
{
    const uint8_t *from = a->buffers[1], *at = from + (a->offset + first) * type->size;

    if (!rows_can_share(w, from, (a->offset + a->length) * type->size, at, n * type->size,
                        type->size)) {
        return false;
    }
    levada_builder_share_values(w->b, w->field, at, w->from->owner);
    return true;
}

static levada_status rows_numbers(rows_walk *w, const struct ArrowArray *a,
                                    const levada_arrow_import *type, const rows_wanted *rows,
                                    levada_error *err)
{
    const uint8_t *from = rows->n ? a->buffers[1] : NULL;
    void          *to = NULL;

    if (rows->n && rows_are_same(type) && !rows->at &&
        rows_share_numbers(w, a, type, rows->first, rows->n)) {
        w->b->block->bytes += rows->n * type->size;
        return LEVADA_OK;
    }
    LEVADA_TRY(levada_builder_values(w->b, w->field, rows->n, &to, err));
    if (rows->n == 0) return LEVADA_OK;
    if (type->form == LEVADA_FORM_BITS) {
        rows_bits(a, rows, to);
    } else if (type->size < levada_dtype_size(type->dtype)) {
        rows_widen((const int32_t *)(const void *)from + a->offset, rows, to);
    } else {
        rows_copy(from + a->offset * type->size, type->size, rows, to);
        if (type->dtype != LEVADA_BOOL) return LEVADA_OK;
        for (int64_t i = 0; i < rows->n; i++) ((uint8_t *)to)[i] = ((uint8_t *)to)[i] != 0;
    }
    return LEVADA_OK;
}

/* -- spans of numbers: the items of scattered lists */

/* Returns true if rows_spans can read an array. */
static bool rows_has_spans(const struct ArrowArray *a, const levada_arrow_import *type)
{
    return rows_are_same(type) && (a->null_count == 0 || !a->buffers[0]);
}

/* Lists the rows of spans one by one, for arrays that need that. */
static levada_status rows_expand(rows_walk *w, rows_wanted *rows, levada_error *err)
{
    int64_t *at = rows_piece_of(w, rows->n, sizeof *at), k = 0;

    if (!at) return rows_memory(err);
    for (int64_t i = 0; i < rows->nspans; i++) {
        for (int64_t row = rows->spans[i].begin; row < rows->spans[i].end; row++) at[k++] = row;
    }
    rows->at = at;
    rows->spans = NULL, rows->nspans = 0, rows->lists = false;
    return LEVADA_OK;
}

/* Returns the span from the first row of all to the last one. */
static rows_span rows_hull(const rows_wanted *rows)
{
    rows_span hull = { INT64_MAX, 0 };

    for (int64_t i = 0; i < rows->nspans; i++) {
        const rows_span *s = &rows->spans[i];

        if (s->begin == s->end) continue;
        if (s->begin < hull.begin) hull.begin = s->begin;
        if (s->end > hull.end) hull.end = s->end;
    }
    return hull;
}

/* Uses the items of lists where they are: the last level of the field consists of ranges. */
static levada_status rows_share_spans(rows_walk *w, const struct ArrowArray *a,
                                      const levada_arrow_import *type, const rows_wanted *rows,
                                      bool *shared, levada_error *err)
{
    rows_span hull = rows_hull(rows);
    int32_t  *begin, *end;

    *shared = rows->lists && rows->n > 0 && hull.end - hull.begin <= INT32_MAX &&
              rows_share_numbers(w, a, type, hull.begin, hull.end - hull.begin);
    if (!*shared) return LEVADA_OK;
    w->b->block->bytes += rows->n * type->size;
    LEVADA_TRY(levada_builder_ranges(w->b, w->field, w->depth - 1, rows->nspans, &begin, &end,
                                     err));
    for (int64_t i = 0; i < rows->nspans; i++) {
        bool empty = rows->spans[i].begin == rows->spans[i].end;

        begin[i] = empty ? 0 : (int32_t)(rows->spans[i].begin - hull.begin);
        end[i] = empty ? 0 : (int32_t)(rows->spans[i].end - hull.begin);
    }
    return LEVADA_OK;
}

static levada_status rows_copy_spans(rows_walk *w, const struct ArrowArray *a,
                                     const levada_arrow_import *type, const rows_wanted *rows,
                                     levada_error *err)
{
    void    *values = NULL;
    uint8_t *to;

    LEVADA_TRY(levada_builder_values(w->b, w->field, rows->n, &values, err));
    to = values;
    for (int64_t i = 0; i < rows->nspans; i++) {
        const rows_span *s = &rows->spans[i];
        size_t           size = (size_t)((s->end - s->begin) * type->size);

        if (size == 0) continue;
        memcpy(to, (const uint8_t *)a->buffers[1] + (a->offset + s->begin) * type->size, size);
        to += size;
    }
    return LEVADA_OK;
}

/* -- strings */

/* A view: its size, then the bytes, or four of them and where they are. */
typedef struct rows_view {
    int32_t size;
    union {
        char    inlined[12];
        struct {
            char    prefix[4];
            int32_t buffer, offset;
        } far;
    } u;
} rows_view;

static int64_t rows_offset(const void *offsets, int64_t size, int64_t i)
{
    return size == 4 ? ((const int32_t *)offsets)[i] : ((const int64_t *)offsets)[i];
}

/* Returns a view's bytes, NULL if it is damaged. */
static const uint8_t *rows_far(const struct ArrowArray *a, const rows_view *view)
{
    int64_t        data = a->n_buffers - 3; /* validity, views, data..., sizes */
    const int64_t *sizes = a->n_buffers > 3 ? a->buffers[a->n_buffers - 1] : NULL;
    int32_t        i = view->u.far.buffer, at = view->u.far.offset;

    if (view->size <= 12) return (const uint8_t *)view->u.inlined;
    if (!sizes || i < 0 || i >= data || at < 0 || at > sizes[i] - view->size) return NULL;
    return a->buffers[2 + i] ? (const uint8_t *)a->buffers[2 + i] + at : NULL;
}

/* Returns the string of a row and its size; NULL if it is damaged. */
static const uint8_t *rows_string(const struct ArrowArray *a, const levada_arrow_import *type,
                                    int64_t row, int64_t *size)
{
    const uint8_t     *data = NULL;
    const rows_view *view;
    int64_t            begin, end;

    *size = 0;
    if (row < 0) return (const uint8_t *)"";
    row += a->offset;
    switch (type->form) {
    case LEVADA_FORM_VIEWS:
        view = (const rows_view *)a->buffers[1] + row;
        *size = view->size;
        return *size < 0 ? NULL : rows_far(a, view);
    case LEVADA_FORM_FIXED_STRINGS:
        *size = type->size;
        data = a->buffers[1];
        return data ? data + row * type->size : (const uint8_t *)"";
    default:
        begin = rows_offset(a->buffers[1], type->size, row);
        end = rows_offset(a->buffers[1], type->size, row + 1);
        data = a->buffers[2];
        if (begin < 0 || end < begin || (end > begin && !data) ||
            end > rows_offset(a->buffers[1], type->size, a->offset + a->length)) {
            return NULL; /* the last offset is at most the size of the data */
        }
        *size = end - begin;
        return data ? data + begin : (const uint8_t *)"";
    }
}

/* Uses the strings of neighbors where they are, if that is possible. */
static bool rows_share_strings(rows_walk *w, const struct ArrowArray *a,
                               const levada_arrow_import *type, const rows_wanted *rows,
                               int64_t total)
{
    const uint8_t *at, *data;
    int64_t        begin, end;

    if (rows->at || type->form != LEVADA_FORM_STRINGS || total == 0) return false;
    begin = rows_offset(a->buffers[1], type->size, a->offset + rows->first);
    end = rows_offset(a->buffers[1], type->size, a->offset + a->length);
    data = a->buffers[2];
    at = data + begin;
    if (!rows_can_share(w, data, end, at, total, 1)) return false;
    levada_builder_share_values(w->b, w->field, at, w->from->owner);
    w->b->block->bytes += total;
    return true;
}

static levada_status rows_strings(rows_walk *w, const struct ArrowArray *a, const char *name,
                                    const levada_arrow_import *type, const rows_wanted *rows,
                                    levada_error *err)
{
    int32_t *offsets = NULL;
    int64_t  total = 0, size = 0;
    void    *values = NULL;
    uint8_t *to;

    LEVADA_TRY(levada_builder_offsets(w->b, w->field, w->depth, rows->n, &offsets, err));
    for (int64_t i = 0; i < rows->n; i++) {
        if (!rows_string(a, type, rows_row(rows, i), &size)) return rows_damaged(name, err);
        total += size;
        if (total > LEVADA_BLOCK_LIMIT) break; /* which levada_builder_values reports */
        offsets[i + 1] = (int32_t)total;
    }
    if (rows_share_strings(w, a, type, rows, total)) return LEVADA_OK;
    LEVADA_TRY(levada_builder_values(w->b, w->field, total, &values, err));
    to = values;
    for (int64_t i = 0; i < rows->n; i++) {
        const uint8_t *from = rows_string(a, type, rows_row(rows, i), &size);

        if (size) memcpy(to, from, (size_t)size);
        to += size;
    }
    return LEVADA_OK;
}

/* -- a field */

/* Fills in the mask that follows a field. */
static levada_status rows_mask(rows_walk *w, const rows_wanted *rows, levada_error *err)
{
    void *to = NULL;

    LEVADA_TRY(levada_builder_values(w->b, ++w->field, w->records, &to, err));
    if (rows->valid) memcpy(to, rows->valid, (size_t)w->records);
    else memset(to, 1, (size_t)w->records);
    return LEVADA_OK;
}

static levada_status rows_leaf(rows_walk *w, const struct ArrowArray *a, const char *name,
                                 const levada_arrow_import *type, const rows_wanted *rows,
                                 levada_error *err)
{
    const levada_field *f = levada_spec_field(w->from->spec, w->field);
    bool                ranges = false; /* at the last level, in place of offsets */

    if (!f || f->dtype != type->dtype || f->depth != w->depth) {
        return levada_fail(
            err, LEVADA_EINVALID_ARGUMENT,
            "field '%s': the spec must have the dtype %s with %d ragged levels, as the schema",
            name, levada_dtype_name(type->dtype), (int)w->depth);
    }
    levada_builder_dims(w->b, w->field, f->dims);
    if (rows->spans) LEVADA_TRY(rows_share_spans(w, a, type, rows, &ranges, err));
    for (int32_t l = 0; l < w->depth - ranges; l++) {
        int32_t *to = NULL;

        LEVADA_TRY(levada_builder_offsets(w->b, w->field, l, w->rows[l], &to, err));
        memcpy(to, w->offsets[l], (size_t)(w->rows[l] + 1) * sizeof *to);
    }
    if (levada_dtype_is_bytes(type->dtype)) {
        LEVADA_TRY(rows_strings(w, a, name, type, rows, err));
    } else if (rows->spans) {
        if (!ranges) LEVADA_TRY(rows_copy_spans(w, a, type, rows, err));
    } else {
        LEVADA_TRY(rows_numbers(w, a, type, rows, err));
    }
    if (w->from->nulls == LEVADA_ARROW_NULLS_MASK) LEVADA_TRY(rows_mask(w, rows, err));
    w->field++;
    return LEVADA_OK;
}

static levada_status rows_array(rows_walk *w, const struct ArrowSchema *schema,
                                  const struct ArrowArray *a, const char *name, rows_wanted rows,
                                  levada_error *err);

static levada_status rows_members(rows_walk *w, const struct ArrowSchema *schema,
                                    const struct ArrowArray *a, const char *of,
                                    const rows_wanted *rows, levada_error *err)
{
    rows_wanted below = *rows;
    int64_t    *at;
    char        name[LEVADA_ARROW_NAME];

    below.first += a->offset;
    if (rows->at && a->offset) {
        at = rows_piece_of(w, rows->n, sizeof *at);
        if (!at) return rows_memory(err);
        for (int64_t i = 0; i < rows->n; i++)
            at[i] = rows->at[i] < 0 ? -1 : rows->at[i] + a->offset;
        below.at = at;
    }
    for (int64_t i = 0; i < schema->n_children; i++) {
        LEVADA_TRY(levada_arrow_name(of, schema->children[i]->name, name, err));
        LEVADA_TRY(rows_array(w, schema->children[i], a->children[i], name, below, err));
    }
    return LEVADA_OK;
}

/* -- lists */

/* Finds the items of a list; false if its offsets are damaged. */
static bool rows_range(const struct ArrowArray *a, const levada_arrow_import *type, int64_t row,
                         int64_t *begin, int64_t *end)
{
    *begin = *end = 0;
    if (row < 0) return true;
    row += a->offset;
    *begin = rows_offset(a->buffers[1], type->size, row);
    if (*begin < 0 || *begin > a->children[0]->length) return false;
    if (type->form == LEVADA_FORM_LIST) {
        *end = rows_offset(a->buffers[1], type->size, row + 1);
    } else {
        int64_t n = rows_offset(a->buffers[2], type->size, row);

        if (n < 0 || n > a->children[0]->length) return false;
        *end = *begin + n;
    }
    return *begin <= *end && *end <= a->children[0]->length;
}

static levada_status rows_list(rows_walk *w, const struct ArrowSchema *schema,
                                 const struct ArrowArray *a, const char *name,
                                 const levada_arrow_import *type, const rows_wanted *rows,
                                 levada_error *err)
{
    rows_wanted below = { .valid = rows->valid, .inner = true };
    int32_t    *offsets = rows_piece_of(w, rows->n, sizeof *offsets);
    rows_span  *spans = rows_piece_of(w, rows->n, sizeof *spans);
    int64_t     total = 0, last = -1, begin, end;
    bool        neighbors = true;
    levada_status st;

    if (!offsets || !spans) return rows_memory(err);
    offsets[0] = 0;
    for (int64_t i = 0; i < rows->n; i++) {
        if (!rows_range(a, type, rows_row(rows, i), &begin, &end))
            return rows_damaged(name, err);
        total += end - begin;
        if (total > INT32_MAX) {
            return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED,
                               "field '%s' has more than 2^31 values; import fewer rows", name);
        }
        offsets[i + 1] = (int32_t)total;
        spans[i] = (rows_span){ begin, end };
        if (begin == end) continue;
        if (last < 0) below.first = begin;
        else neighbors = neighbors && begin == last;
        last = end;
    }
    below.n = total;
    if (!neighbors) below.spans = spans, below.nspans = rows->n, below.lists = true;
    w->offsets[w->depth] = offsets;
    w->rows[w->depth++] = rows->n;
    st = rows_array(w, schema->children[0], a->children[0], name, below, err);
    w->depth--;
    return st;
}

/* Lists the items of scattered lists of `size` items: as spans, or with -1 for those of nulls. */
static levada_status rows_fixed_items(rows_walk *w, const struct ArrowArray *a, int64_t size,
                                      const rows_wanted *rows, rows_wanted *below,
                                      levada_error *err)
{
    rows_span *spans = rows_piece_of(w, rows->n, sizeof *spans);
    int64_t   *at, i = 0;

    if (!spans) return rows_memory(err);
    for (; i < rows->n && rows->at[i] >= 0; i++) {
        int64_t begin = (rows->at[i] + a->offset) * size;

        spans[i] = (rows_span){ begin, begin + size };
    }
    if (i == rows->n) {
        below->spans = spans, below->nspans = rows->n;
        return LEVADA_OK;
    }
    at = rows_piece_of(w, below->n, sizeof *at);
    if (!at) return rows_memory(err);
    for (i = 0; i < below->n; i++) {
        int64_t row = rows->at[i / size];

        at[i] = row < 0 ? -1 : (row + a->offset) * size + i % size;
    }
    below->at = at;
    return LEVADA_OK;
}

/* Walks into lists of `size` items each. */
static levada_status rows_fixed(rows_walk *w, const struct ArrowSchema *schema,
                                  const struct ArrowArray *a, const char *name, int64_t size,
                                  const rows_wanted *rows, levada_error *err)
{
    rows_wanted below = { .n = rows->n * size, .first = (rows->first + a->offset) * size,
                          .valid = rows->valid, .inner = true };

    if (rows->n && size && a->offset + a->length > a->children[0]->length / size)
        return rows_damaged(name, err);
    if (size && rows->n > INT32_MAX / size) {
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED,
                           "field '%s' has more than 2^31 values; import fewer rows", name);
    }
    if (rows->at) LEVADA_TRY(rows_fixed_items(w, a, size, rows, &below, err));
    return rows_array(w, schema->children[0], a->children[0], name, below, err);
}

/* -- dictionaries and runs: rows of other arrays */

static int64_t rows_index(const void *indexes, const levada_arrow_import *type, int64_t i)
{
    switch (type->is_signed ? -type->size : type->size) {
    case -1: return ((const int8_t *)indexes)[i];
    case 1: return ((const uint8_t *)indexes)[i];
    case -2: return ((const int16_t *)indexes)[i];
    case 2: return ((const uint16_t *)indexes)[i];
    case -4: return ((const int32_t *)indexes)[i];
    case 4: return ((const uint32_t *)indexes)[i];
    default: return ((const int64_t *)indexes)[i];
    }
}

static levada_status rows_dictionary(rows_walk *w, const struct ArrowSchema *schema,
                                       const struct ArrowArray *a, const char *name,
                                       const levada_arrow_import *type, const rows_wanted *rows,
                                       levada_error *err)
{
    rows_wanted below = *rows;
    int64_t    *at = rows_piece_of(w, rows->n, sizeof *at);

    if (!at) return rows_memory(err);
    if (!a->dictionary) return rows_damaged(name, err);
    for (int64_t i = 0; i < rows->n; i++) {
        int64_t row = rows_row(rows, i);

        at[i] = row < 0 ? -1 : rows_index(a->buffers[1], type, a->offset + row);
        if (row >= 0 && (at[i] < 0 || at[i] >= a->dictionary->length))
            return rows_damaged(name, err);
    }
    below.at = at;
    return rows_array(w, schema->dictionary, a->dictionary, name, below, err);
}

/* Returns the first run that ends after a row. */
static int64_t rows_run(const struct ArrowArray *ends, const levada_arrow_import *type, int64_t row)
{
    int64_t low = 0, high = ends->length;

    while (low < high) {
        int64_t middle = low + (high - low) / 2;

        if (rows_index(ends->buffers[1], type, ends->offset + middle) > row) high = middle;
        else low = middle + 1;
    }
    return low;
}

static levada_status rows_runs(rows_walk *w, const struct ArrowSchema *schema,
                                 const struct ArrowArray *a, const char *name,
                                 const rows_wanted *rows, levada_error *err)
{
    rows_wanted below = *rows;
    levada_arrow_import type;
    int64_t    *at = rows_piece_of(w, rows->n, sizeof *at);

    if (!at) return rows_memory(err);
    LEVADA_TRY(levada_arrow_type(schema->children[0], name, &type, err));
    LEVADA_TRY(rows_check(schema->children[0], a->children[0], &type, name, err));
    if (type.form != LEVADA_FORM_NUMBERS || !type.is_signed ||
        (rows->n && !a->children[0]->buffers[1]))
        return rows_damaged(name, err);
    for (int64_t i = 0; i < rows->n; i++) {
        int64_t row = rows_row(rows, i);

        at[i] = row < 0 ? -1 : rows_run(a->children[0], &type, a->offset + row);
        if (at[i] >= a->children[1]->length) return rows_damaged(name, err);
    }
    below.at = at;
    return rows_array(w, schema->children[1], a->children[1], name, below, err);
}

/* -- the walk */

/* Returns true if an array has the rows that are wanted, and the buffers that say what they are. */
static bool rows_exist(const struct ArrowArray *a, const levada_arrow_import *type,
                       const rows_wanted *rows)
{
    levada_arrow_form form = type->form;
    bool              indirect = form == LEVADA_FORM_STRUCT || form == LEVADA_FORM_FIXED ||
                    form == LEVADA_FORM_RUNS || form == LEVADA_FORM_FIXED_STRINGS;

    if (rows->n == 0) return true;
    if (!indirect && !a->buffers[1]) return false;
    if (form == LEVADA_FORM_LIST_VIEW && !a->buffers[2]) return false;
    for (int64_t i = 0; i < rows->nspans; i++) {
        if (rows->spans[i].end > a->length) return false;
    }
    if (rows->spans) return true;
    if (!rows->at) return rows->first <= a->length - rows->n;
    for (int64_t i = 0; i < rows->n; i++) {
        if (rows->at[i] >= a->length) return false;
    }
    return true;
}

static levada_status rows_array(rows_walk *w, const struct ArrowSchema *schema,
                                  const struct ArrowArray *a, const char *name, rows_wanted rows,
                                  levada_error *err)
{
    levada_arrow_import type;

    LEVADA_TRY(levada_arrow_type(schema, name, &type, err));
    LEVADA_TRY(rows_check(schema, a, &type, name, err));
    if (!rows_exist(a, &type, &rows)) return rows_damaged(name, err);
    if (rows.spans && !rows_has_spans(a, &type)) LEVADA_TRY(rows_expand(w, &rows, err));
    if (type.form != LEVADA_FORM_RUNS) LEVADA_TRY(rows_nulls(w, a, name, &rows, err));
    switch (type.form) {
    case LEVADA_FORM_STRUCT: return rows_members(w, schema, a, name, &rows, err);
    case LEVADA_FORM_LIST:
    case LEVADA_FORM_LIST_VIEW: return rows_list(w, schema, a, name, &type, &rows, err);
    case LEVADA_FORM_FIXED: return rows_fixed(w, schema, a, name, type.size, &rows, err);
    case LEVADA_FORM_DICTIONARY: return rows_dictionary(w, schema, a, name, &type, &rows, err);
    case LEVADA_FORM_RUNS: return rows_runs(w, schema, a, name, &rows, err);
    default: return rows_leaf(w, a, name, &type, &rows, err);
    }
}

static levada_status rows_block(rows_walk *w, rows_wanted rows, levada_block **out,
                                levada_error *err)
{
    const levada_arrow_from *from = w->from;
    levada_status            st = rows_array(w, from->schema, from->array, "", rows, err);

    if (st == LEVADA_OK && w->field != levada_spec_count(from->spec)) {
        st = levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                         "the spec must have the fields of the schema: it has %d, the "
                         "schema %d", levada_spec_count(from->spec),
                         w->field);
    }
    if (st == LEVADA_OK) st = levada_builder_check_text(w->b, err);
    if (st == LEVADA_OK && w->b->block->nrejects) {
        *err = w->b->block->rejects[0].why;
        st = err->code;
    }
    return st == LEVADA_OK ? levada_builder_publish(&w->b, out, err) : st;
}

levada_status levada_arrow_import_rows(levada_pool *pool, const levada_arrow_from *from,
                                       int64_t first, const int64_t *rows, int64_t n,
                                       levada_block **out, levada_error *err)
{
    levada_error  own = LEVADA_ERROR_INIT;
    rows_walk     w = { .from = from, .records = n };
    rows_wanted   wanted = { .n = n, .first = first, .at = rows };
    levada_status st;

    if (!pool) return rows_memory(err);
    LEVADA_TRY(levada_builder_make(pool, from->spec, n, &w.b, err));
    st = rows_block(&w, wanted, out, err ? err : &own);
    levada_builder_destroy(&w.b);
    while (w.pieces) {
        rows_piece *next = w.pieces->next;

        levada_free(w.pieces);
        w.pieces = next;
    }
    return st;
}

levada_status levada_arrow_import_block(levada_env *env, const levada_spec *spec,
                                        const struct ArrowSchema *schema,
                                        const struct ArrowArray *array, int64_t first, int64_t n,
                                        const levada_arrow_options *options, levada_block **out,
                                        levada_error *err)
{
    LEVADA_TRY(levada_require(spec != NULL, "spec", err));
    LEVADA_TRY(levada_require(schema != NULL && schema->release != NULL, "schema", err));
    LEVADA_TRY(levada_require(array != NULL && array->release != NULL, "array", err));
    LEVADA_TRY(levada_require(out != NULL, "out", err));
    LEVADA_TRY(levada_require_range(first, 0, array->length, "first", err));
    LEVADA_TRY(levada_require_range(n, 0, array->length - first, "n", err));
    levada_arrow_options all;
    levada_arrow_from    from = { .spec = spec, .schema = schema, .array = array };

    LEVADA_TRY(levada_arrow_read(options, &all, err));
    from.nulls = all.nulls;
    return levada_arrow_import_rows(levada_env_pool(env), &from, first, NULL, n, out, err);
}
