/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A batch of segments: the one copy of their steps, front to back, each row padded at its end.
 */
#include "base/alloc.h"
#include "base/prefetch.h"
#include "batch/unrolling.h"
#include "tensor/builder_priv.h"
#include "tensor/gather.h"
#include "tensor/pad.h"
#include "tensor/segments.h"
#include "tensor/tensor_priv.h"

#include <string.h>

#define UNROLLING_AHEAD (INT64_C(1) << 18) /* bytes that are fetched for the next batch */

typedef struct unrolling_job {
    const levada_unrolling *u;
    const levada_block *rows; /* a selection */
    const levada_cut *cuts;
    const levada_unroll_taken *taken; /* of the layout ready, or NULL */
    int64_t n;
    levada_builder *b;
} unrolling_job;

/* A run of values of a source column: what one row of the batch has of it. */
typedef struct unrolling_run {
    const levada_column *column;
    int64_t first, count; /* values; of bytes: strings */
} unrolling_run;

/* How a column of the batch is read. */
typedef struct unrolling_column {
    int32_t from;  /* column of the records               */
    bool steps; /* cut; else one value per record      */
    int64_t shift; /* of a target                         */
    int64_t each;  /* values of a row of the batch        */
    int64_t inner; /* values of a step, or of a record    */
} unrolling_column;

static const levada_column *unrolling_source(const unrolling_job *j, const levada_cut *cut,
                                             int32_t i, int64_t *row)
{
    return &levada_block_row(j->rows, cut->row, row)->columns[i];
}

/* Counts the values of one step: all dimensions but the steps themselves. */
static int64_t unrolling_inner(const levada_column *c, bool steps)
{
    int64_t inner = 1;

    for (int32_t d = steps && c->field->depth == 0 ? 1 : 0; d < c->field->ndim; d++) {
        inner *= c->dims[d];
    }
    return inner;
}

static unrolling_run unrolling_read(const unrolling_job *j, const unrolling_column *how, int64_t i)
{
    const levada_cut *cut = &j->cuts[i];
    unrolling_run run = { 0 };
    int64_t row = 0, step;

    if (cut->row < 0) return run;
    run.column = unrolling_source(j, cut, how->from, &row);
    if (!how->steps) {
        run.first = row * how->inner;
        run.count = how->inner;
        return run;
    }
    step = run.column->field->depth ? run.column->level[0].begin[row] : row * run.column->dims[0];
    run.first = (step + cut->begin + how->shift) * how->inner;
    run.count = cut->size * how->inner;
    return run;
}

/* -- values */

/* Prefetches rows, because each row continues another sequence, far away in memory. */
static LEVADA_ALWAYS_INLINE void unrolling_prefetch(const unrolling_job    *j,
                                                    const unrolling_column *how, int64_t i,
                                                    int64_t size)
{
    unrolling_run run = { 0 };

    if (i < j->n) run = unrolling_read(j, how, i);
    if (run.count) levada_prefetch(run.column->values + run.first * size, run.count * size);
}

/* Prefetches the row of the next batch, which follows that of `bytes` bytes at p, as far as a cache
 * has space for the rows of a batch. The hardware prefetcher continues with the rest of longer
 * ones. */
static LEVADA_ALWAYS_INLINE void unrolling_prefetch_next(const unrolling_job *j, const uint8_t *p,
                                                         int64_t bytes)
{
    int64_t n = UNROLLING_AHEAD / j->n < bytes ? UNROLLING_AHEAD / j->n : bytes;

    for (int64_t k = 0; k < n; k += LEVADA_PREFETCH_LINE) {
        if (n == bytes) LEVADA_PREFETCH(p + bytes + k);
        else LEVADA_PREFETCH_FIRST(p + bytes + k);
    }
}

static levada_status unrolling_numbers(const unrolling_job *j, const unrolling_column *how,
                                       int32_t i, int64_t size, levada_error *err)
{
    static const uint8_t zero[sizeof((levada_field *)0)->pad] = { 0 };
    const uint8_t *pad = how->steps ? levada_spec_field(j->b->block->spec, i)->pad : zero;
    bool plain = levada_pad_plain(pad, size);
    void *values = NULL;
    uint8_t *to;

    LEVADA_TRY(levada_builder_values(j->b, i, j->n * how->each, &values, err));
    to = values;
    for (int64_t r = 0; r < j->n; r++, to += how->each * size) {
        unrolling_run run = unrolling_read(j, how, r);
        int64_t bytes = run.count * size;

        unrolling_prefetch(j, how, r + LEVADA_PREFETCH_ROWS, size);
        if (bytes) {
            const uint8_t *from = run.column->values + run.first * size;

            memcpy(to, from, (size_t)bytes);
            if (how->steps) unrolling_prefetch_next(j, from, bytes);
        }
        levada_pad_fill(to + bytes, how->each - run.count, pad, size, plain);
    }
    return LEVADA_OK;
}

/* Returns the padding of steps that are byte strings. */
static const char *unrolling_text(const unrolling_job *j, const unrolling_column *how, int32_t i,
                                  size_t *size)
{
    const char *column = levada_spec_field(j->b->block->spec, i)->name;
    const char *from = levada_spec_field(j->rows->spec, how->from)->name;
    const levada_value *v = how->steps ? levada_unrolling_padding(j->u, column, from) : NULL;

    *size = 0;
    return v && levada_value_kind_of(v) != LEVADA_VALUE_NULL ? levada_value_as_text(v, size) : NULL;
}

static int64_t unrolling_bytes(const unrolling_job *j, const unrolling_column *how)
{
    int64_t bytes = 0;

    for (int64_t r = 0; r < j->n; r++) {
        unrolling_run run = unrolling_read(j, how, r);

        for (int64_t k = 0; k < run.count; k++) {
            const levada_level *l = &run.column->level[run.column->field->depth];

            bytes += l->end[run.first + k] - l->begin[run.first + k];
        }
    }
    return bytes;
}

static levada_status unrolling_strings(const unrolling_job *j, const unrolling_column *how,
                                       int32_t i, levada_error *err)
{
    size_t size = 0;
    const char *pad = unrolling_text(j, how, i, &size);
    void *values = NULL;
    int32_t *begin = NULL, *end = NULL, used = (int32_t)size;

    LEVADA_TRY(levada_builder_values(j->b, i, unrolling_bytes(j, how) + used, &values, err));
    LEVADA_TRY(levada_builder_ranges(j->b, i, 0, j->n * how->each, &begin, &end, err));
    if (size) memcpy(values, pad, size); /* once, for all */
    for (int64_t r = 0; r < j->n; r++) {
        unrolling_run run = unrolling_read(j, how, r);

        for (int64_t k = 0; k < how->each; k++, begin++, end++) {
            const levada_level *l = run.column ? &run.column->level[run.column->field->depth]
                                               : NULL;
            int32_t at, n;

            *begin = 0;
            *end = (int32_t)size;
            if (k >= run.count) continue;
            at = l->begin[run.first + k];
            n = l->end[run.first + k] - at;
            if (n) memcpy((uint8_t *)values + used, run.column->values + at, (size_t)n);
            *begin = used;
            *end = used += n;
        }
    }
    return LEVADA_OK;
}

/* -- fields that stay ragged */

/* Writes the offsets of level 0 if each row has `width` steps. */
static levada_status unrolling_even(const unrolling_job *j, int32_t i, levada_error *err)
{
    int32_t *offsets = NULL;

    LEVADA_TRY(levada_builder_offsets(j->b, i, 0, j->n, &offsets, err));
    for (int64_t r = 0; r <= j->n; r++) offsets[r] = (int32_t)(r * j->u->width);
    return LEVADA_OK;
}

/* Counts ranges; steps and records that are not there are rows of a column whose ranges are all
 * empty. */
static int64_t unrolling_ranges(const unrolling_job *j, const unrolling_column *how,
                                const levada_column *empty, levada_gather_range *to)
{
    int64_t n = 0;

    for (int64_t r = 0; r < j->n; r++) {
        unrolling_run run = unrolling_read(j, how, r);
        int32_t first = (int32_t)run.first, count = (int32_t)run.count;

        if (count) to[n++] = (levada_gather_range){ run.column, first, first + count };
        if (count < how->each) {
            to[n++] = (levada_gather_range){ empty, 0, (int32_t)how->each - count };
        }
    }
    return n;
}

static levada_status unrolling_ragged(const unrolling_job *j, unrolling_column how, int32_t i,
                                      levada_error *err)
{
    levada_gather_range *ranges = levada_alloc((size_t)j->n * 2 * sizeof *ranges);
    levada_column empty = { 0 };
    int32_t *zeros;
    int64_t n = 0;
    levada_status st = LEVADA_OK;

    how.inner = 1; /* of a row of the level that is cut */
    how.each = how.steps ? j->u->width : 1;
    zeros = levada_alloc_zero((size_t)how.each * sizeof *zeros);
    if (!zeros || !ranges) {
        st = levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a batch");
    }
    if (st == LEVADA_OK && how.steps) st = unrolling_even(j, i, err);
    if (st == LEVADA_OK) {
        for (int32_t l = 0; l <= LEVADA_MAX_DEPTH; l++) {
            empty.level[l] = (levada_level){ zeros, zeros, NULL };
        }
        empty.values = (const uint8_t *)zeros;
        n = unrolling_ranges(j, &how, &empty, ranges);
        st = levada_gather_ranges(j->b, i, how.steps, ranges, n, err);
        ranges = NULL;
    }
    levada_free(zeros);
    levada_free(ranges);
    return st;
}

/* -- columns of fields */

static levada_status unrolling_lengths(const unrolling_job *j, int32_t i, levada_error *err)
{
    int32_t *lengths = NULL;

    LEVADA_TRY(levada_builder_lengths(j->b, i, &lengths, err));
    for (int64_t r = 0; r < j->n; r++) lengths[r] = (int32_t)j->cuts[r].size;
    return LEVADA_OK;
}

static bool unrolling_alike(const levada_column *a, const levada_column *b, int32_t skip)
{
    const levada_field *f = a->field, *g = b->field;

    return f->dtype == g->dtype && f->depth == g->depth && f->ndim == g->ndim &&
           memcmp(a->dims + skip, b->dims + skip, (size_t)(f->ndim - skip) * sizeof a->dims[0]) ==
               0;
}

/* Dimensions that only blocks know must be equal in all records of a batch. */
static levada_status unrolling_dims(const unrolling_job *j, unrolling_column *how, int32_t i,
                                    levada_error *err)
{
    const levada_field *f = levada_spec_field(j->b->block->spec, i);
    const levada_column *first = &j->rows->from[0]->columns[how->from];
    int32_t skip = how->steps && first->field->depth == 0 ? 1 : 0;
    int64_t dims[LEVADA_MAX_DIMS] = { j->u->width };
    char text_a[LEVADA_FIELD_SHOWN], text_b[LEVADA_FIELD_SHOWN];

    for (int32_t k = 1; k < j->rows->nfrom; k++) {
        if (unrolling_alike(&j->rows->from[k]->columns[how->from], first, skip)) continue;
        levada_field a = *first->field, b = *j->rows->from[k]->columns[how->from].field;
        memcpy(a.dims, first->dims, sizeof a.dims);
        memcpy(b.dims, j->rows->from[k]->columns[how->from].dims, sizeof b.dims);
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "field '%s' must have one shape in all records of a batch, got %s and "
                           "%s; pad it, or drop it with select",
                           f->name, levada_field_shown(&a, text_a), levada_field_shown(&b, text_b));
    }
    how->inner = unrolling_inner(first, how->steps);
    how->each = how->inner * (how->steps ? j->u->width : 1);
    if (how->each > LEVADA_BLOCK_LIMIT / j->n) {
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED,
                           "field '%s' would have more than 1 GiB in a batch of %lld records; "
                           "lower "
                           "batch_size or num_unroll", f->name, (long long)j->n);
    }
    if (how->steps && f->depth == 0) {
        memcpy(dims + 1, first->dims + skip, (size_t)(f->ndim - 1) * sizeof dims[0]);
    } else {
        memcpy(dims, first->dims, f->ndim * sizeof dims[0]);
    }
    levada_builder_dims(j->b, i, dims);
    return LEVADA_OK;
}

static levada_status unrolling_fill(const unrolling_job *j, unrolling_column how, int32_t i,
                                    levada_error *err)
{
    const levada_field *f = levada_spec_field(j->b->block->spec, i);

    LEVADA_TRY(unrolling_dims(j, &how, i, err));
    if (f->depth) return unrolling_ragged(j, how, i, err);
    if (how.steps) LEVADA_TRY(unrolling_lengths(j, i, err));
    if (levada_dtype_is_bytes(f->dtype)) return unrolling_strings(j, &how, i, err);
    return unrolling_numbers(j, &how, i, levada_dtype_size(f->dtype), err);
}

/* -- the columns that say which segment a row is */

typedef struct unrolling_marks {
    bool *is_first, *is_last, *is_empty;
    int32_t *slot, *segment, *length;
} unrolling_marks;

static levada_status unrolling_reserve(const unrolling_job *j, int32_t first, unrolling_marks *m,
                                       levada_error *err)
{
    void *values[6] = { 0 };

    for (int32_t k = 0; k < 6; k++) {
        LEVADA_TRY(levada_builder_values(j->b, first + k, j->n, &values[k], err));
    }
    *m = (unrolling_marks){ values[0], values[1], values[2], values[3], values[4], values[5] };
    return LEVADA_OK;
}

static levada_status unrolling_mark(const unrolling_job *j, int32_t first, levada_error *err)
{
    unrolling_marks m;

    LEVADA_TRY(unrolling_reserve(j, first, &m, err));
    for (int64_t r = 0; r < j->n; r++) {
        const levada_cut *c = &j->cuts[r];
        bool used = c->row >= 0;

        m.is_first[r] = used && c->segment == 0;
        m.is_last[r] = used && c->segment + 1 == c->segments;
        m.is_empty[r] = !used;
        m.slot[r] = (int32_t)r;
        m.segment[r] = (int32_t)c->segment;
        m.length[r] = (int32_t)c->size;
    }
    return LEVADA_OK;
}

static levada_status unrolling_keys(const unrolling_job *j, int32_t i, levada_error *err)
{
    void *values = NULL;

    if (j->u->key) {
        unrolling_column how = { .from = levada_spec_find(j->rows->spec, j->u->key) };

        return unrolling_fill(j, how, i, err);
    }
    LEVADA_TRY(levada_builder_values(j->b, i, j->n, &values, err));
    for (int64_t r = 0; r < j->n; r++) {
        ((int64_t *)values)[r] = j->cuts[r].row < 0 ? -1 : j->cuts[r].number;
    }
    return LEVADA_OK;
}

/* Masks steps that the segment before has trained already, which do not count again. */
static levada_status unrolling_mask(const unrolling_job *j, int32_t i, levada_error *err)
{
    int64_t width = j->u->width;
    void *values = NULL;
    bool *to;

    LEVADA_TRY(levada_builder_values(j->b, i, j->n * width, &values, err));
    to = values;
    for (int64_t r = 0; r < j->n; r++, to += width) {
        int64_t seen = j->cuts[r].segment ? j->u->overlap : 0;

        for (int64_t t = 0; t < width; t++) to[t] = t >= seen && t < j->cuts[r].size;
    }
    return LEVADA_OK;
}

/* Makes the keys of the segments, or of those `ahead` of them, as a column. */
static levada_status unrolling_ready_keys(const unrolling_job *j, int32_t i, int64_t ahead,
                                          levada_error *err)
{
    char prefix[LEVADA_SEGMENTS_PREFIX];
    int64_t bytes = 0, end = 0;
    int32_t *offsets = NULL;
    void *values = NULL;

    for (int64_t r = 0; r < j->n; r++) {
        const levada_cut *c = &j->cuts[r];

        bytes += j->taken->rows[r].key_size;
        bytes += (int64_t)levada_segments_prefix(c->segment + ahead, c->segments, prefix);
    }
    if (bytes > INT32_MAX) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "the keys of a batch must have less than 2 GiB, got %lld bytes; lower "
                           "batch_size", (long long)bytes);
    }
    LEVADA_TRY(levada_builder_values(j->b, i, bytes, &values, err));
    LEVADA_TRY(levada_builder_offsets(j->b, i, 0, j->n, &offsets, err));
    offsets[0] = 0;
    for (int64_t r = 0; r < j->n; r++) {
        const levada_unroll_row *row = &j->taken->rows[r];
        const levada_cut *c = &j->cuts[r];
        size_t n = levada_segments_prefix(c->segment + ahead, c->segments, prefix);

        memcpy((uint8_t *)values + end, prefix, n);
        end += (int64_t)n;
        if (row->key_size) memcpy((uint8_t *)values + end, row->key, (size_t)row->key_size);
        end += row->key_size;
        offsets[r + 1] = (int32_t)end;
    }
    return LEVADA_OK;
}

/* Makes state `state` of all rows as a column. */
static levada_status unrolling_ready_state(const unrolling_job *j, int32_t i, int32_t state,
                                           levada_error *err)
{
    size_t at = j->taken->at[state], size = j->taken->at[state + 1] - at;
    int64_t each = (int64_t)size /
                   levada_dtype_size(levada_spec_field(j->u->states, state)->dtype);
    void *values = NULL;

    LEVADA_TRY(levada_builder_values(j->b, i, j->n * each, &values, err));
    for (int64_t r = 0; r < j->n && size; r++) {
        memcpy((uint8_t *)values + (size_t)r * size, j->taken->rows[r].states + at, size);
    }
    return LEVADA_OK;
}

typedef struct unrolling_ready_marks {
    bool *is_first, *is_last;
    int32_t *sequence, *count, *length, *total;
    int64_t *index, *number;
} unrolling_ready_marks;

static levada_status unrolling_ready_mark(const unrolling_job *j, int32_t first, levada_error *err)
{
    unrolling_ready_marks m;
    void *values[8] = { 0 };

    for (int32_t k = 0; k < 8; k++) {
        LEVADA_TRY(levada_builder_values(j->b, first + k, j->n, &values[k], err));
    }
    m = (unrolling_ready_marks){ values[0], values[1], values[2], values[3],
                                 values[4], values[5], values[6], values[7] };
    for (int64_t r = 0; r < j->n; r++) {
        const levada_cut *c = &j->cuts[r];

        m.is_first[r] = c->segment == 0;
        m.is_last[r] = c->segment + 1 == c->segments;
        m.sequence[r] = (int32_t)c->segment;
        m.count[r] = (int32_t)c->segments;
        m.length[r] = (int32_t)c->size;
        m.total[r] = (int32_t)c->steps;
        m.index[r] = INT64_MIN + c->number;
        m.number[r] = j->taken->number;
    }
    return LEVADA_OK;
}

static levada_status unrolling_ready_columns(const unrolling_job *j, int32_t first,
                                             levada_error *err)
{
    LEVADA_TRY(unrolling_ready_keys(j, first++, 0, err));
    LEVADA_TRY(unrolling_ready_keys(j, first++, 1, err));
    LEVADA_TRY(unrolling_ready_mark(j, first, err));
    first += 8;
    if (j->u->overlap) LEVADA_TRY(unrolling_mask(j, first++, err));
    for (int32_t i = 0; i < levada_spec_count(j->u->states); i++) {
        LEVADA_TRY(unrolling_ready_state(j, first++, i, err));
    }
    return LEVADA_OK;
}

static levada_status unrolling_own_columns(const unrolling_job *j, int32_t first,
                                           levada_error *err)
{
    if (j->taken) return unrolling_ready_columns(j, first, err);
    LEVADA_TRY(unrolling_keys(j, first, err));
    LEVADA_TRY(unrolling_mark(j, first + 1, err));
    return j->u->overlap ? unrolling_mask(j, first + 7, err) : LEVADA_OK;
}

/* Makes the columns in the order of levada_unrolling_spec. */
static levada_status unrolling_columns(const unrolling_job *j, levada_error *err)
{
    const levada_spec *in = j->rows->spec;
    int32_t k = 0;

    for (int32_t i = 0; i < levada_spec_count(in); i++) {
        levada_unroll_part part = levada_unrolling_part(j->u, levada_spec_field(in, i));
        unrolling_column how = { .from = i, .steps = part != LEVADA_UNROLL_CONTEXT };

        if (part == LEVADA_UNROLL_NOTHING) continue;
        LEVADA_TRY(unrolling_fill(j, how, k++, err));
        if (part != LEVADA_UNROLL_TARGETS) continue;
        how.shift = j->u->shift;
        LEVADA_TRY(unrolling_fill(j, how, k++, err));
    }
    return unrolling_own_columns(j, k, err);
}

/* -- origins */

/* Sets the origins: a segment is a part of its record, and rows without a sequence have no
 * origin. */
static levada_status unrolling_origins(const unrolling_job *j, levada_pool *pool,
                                       levada_block *made, levada_error *err)
{
    int32_t nparts = levada_block_origin_parts(j->rows);
    levada_origin *each[LEVADA_ORIGIN_PARTS];

    LEVADA_TRY(levada_block_reserve_origins(pool, made, nparts, each, err));
    for (int32_t part = 0; part < nparts; part++) {
        for (int64_t r = 0; r < j->n; r++) {
            const levada_cut *cut = &j->cuts[r];
            levada_origin origin = { .source = -1, .offset = -1 };

            if (cut->row >= 0) origin = levada_block_origin_part(j->rows, cut->row, part);
            origin.sub = (int32_t)cut->segment;
            each[part][r] = origin;
        }
    }
    return LEVADA_OK;
}

/* Checks that the records have the same columns; they come from blocks that may have been made at
 * different times. */
static levada_status unrolling_same(const levada_block *rows, levada_error *err)
{
    char shown[LEVADA_SPEC_DIFFERENCE];

    for (int32_t i = 0; i < rows->nfrom; i++) {
        const levada_spec *spec = rows->from[i]->spec;

        if (spec == rows->spec || levada_spec_equal(spec, rows->spec)) continue;
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "the records of a batch must have the same columns, but %s; select the "
                           "columns that all of them have",
                           levada_spec_difference(rows->spec, spec, shown));
    }
    return LEVADA_OK;
}

levada_status levada_unrolling_batch(const levada_unrolling *u, levada_pool *pool,
                                     const levada_block *rows, const levada_cut *cuts, int64_t n,
                                     const levada_unroll_taken *taken, const levada_spec *spec,
                                     levada_block **out, levada_error *err)
{
    unrolling_job j = { .u = u, .rows = rows, .cuts = cuts, .taken = taken, .n = n };
    levada_block *made = NULL;
    levada_status st = unrolling_same(rows, err);

    if (st == LEVADA_OK) st = levada_builder_make(pool, spec, n, &j.b, err);
    if (st == LEVADA_OK) st = unrolling_columns(&j, err);
    if (st == LEVADA_OK) st = levada_builder_publish(&j.b, &made, err);
    if (st == LEVADA_OK) st = unrolling_origins(&j, pool, made, err);
    if (st == LEVADA_OK) {
        *out = made;
        made = NULL;
    }
    levada_block_unref(&made);
    levada_builder_destroy(&j.b);
    return st;
}
