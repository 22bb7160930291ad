/* SPDX-License-Identifier: Apache-2.0 */
#include "tensor/pad.h"

#include "tensor/builder_priv.h"
#include "tensor/gather.h"
#include "tensor/prefetch_row.h"

#include <string.h>

/* One column on its way. Each function below writes the whole of its part of the target, first
 * what it copies and then what is padding: memory is written once, from its beginning to its end.
 * Target dimensions are to[0 .. levels + inner). */
typedef struct pad_job {
    const levada_block  *block;
    const levada_gather *gather; /* its runs, if it is a selection; else without any            */
    int32_t             field, depth, ndim; /* ragged levels; all dimensions after the rows     */
    int64_t             to[LEVADA_MAX_DIMS];
    int64_t             stride[LEVADA_MAX_DIMS + 1]; /* elements of one step of dimension d - 1  */
    int64_t             size;                        /* bytes of an element; 0 = byte strings    */
    uint8_t            *values;
    const uint8_t      *value; /* the padding: one element, ...                               */
    bool                plain; /* ... whose bytes are all the same                            */
    bool                left;  /* the padding of the first dimension comes first              */
    int32_t            *begin, *end; /* byte strings: the place of each element in values       */
    int64_t             used;        /* byte strings: bytes written                             */
    int64_t             bad;         /* first row that does not fit, or -1                      */
} pad_job;

levada_status levada_pad_field(const levada_field *from, levada_field *out, levada_error *err)
{
    if (from->depth + from->ndim > LEVADA_MAX_DIMS) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "field '%s' padded has %d dimensions; at most %d", from->name,
                           from->depth + from->ndim, LEVADA_MAX_DIMS);
    }
    *out = *from;
    out->padded = from->depth > 0 || from->padded;
    out->depth = 0;
    out->ndim = (uint8_t)(from->depth + from->ndim);
    for (int32_t d = 0; d < from->depth; d++) out->dims[d] = -1;
    for (int32_t d = 0; d < from->ndim; d++) out->dims[from->depth + d] = from->dims[d];
    return LEVADA_OK;
}

static const levada_column *pad_row(const pad_job *job, int64_t i, int64_t *row)
{
    return &levada_block_row(job->block, i, row)->columns[job->field];
}

/* Returns the levels of a column. The bound, which every field keeps, is for compilers: they follow
 * calls that go one level deeper as far as they like. */
static int32_t pad_depth(const levada_column *c)
{
    return c->field->depth < LEVADA_MAX_DEPTH ? c->field->depth : LEVADA_MAX_DEPTH;
}

static int64_t pad_max(int64_t a, int64_t b) { return a > b ? a : b; }

/* Measures the longest extent of each dimension over rows [begin, end) of a level. */
static void pad_measure(const levada_column *c, int32_t level, int64_t begin, int64_t end,
                        int64_t *most)
{
    for (int64_t r = begin; level < pad_depth(c) && r < end; r++) {
        int64_t b = c->level[level].begin[r], e = c->level[level].end[r];

        most[level] = pad_max(most[level], e - b);
        if (level + 1 < pad_depth(c)) pad_measure(c, level + 1, b, e, most);
    }
}

/* Measures the inner dimensions of row i of the block. */
static void pad_measure_inner(const pad_job *job, int64_t i, int64_t *most)
{
    int64_t              row = 0;
    const levada_column *c = pad_row(job, i, &row);

    for (int32_t d = job->depth; d < job->ndim; d++) {
        most[d] = pad_max(most[d], c->dims[d - job->depth]);
    }
}

/* Measures all dimensions of row i. */
static void pad_measure_row(const pad_job *job, int64_t i, int64_t *most)
{
    int64_t              row = 0;
    const levada_column *c = pad_row(job, i, &row);

    pad_measure(c, 0, row, row + 1, most);
    pad_measure_inner(job, i, most);
}

void levada_pad_measure(const levada_block *block, int64_t *most)
{
    for (int64_t i = 0; i < block->n; i++) {
        int64_t             row;
        const levada_block *from = levada_block_row(block, i, &row);

        for (int32_t f = 0; f < levada_spec_count(block->spec); f++) {
            pad_measure(&from->columns[f], 0, row, row + 1, most + (int64_t)f * LEVADA_MAX_DIMS);
        }
    }
}

static levada_status pad_too_long(pad_job *job, int32_t d, int64_t is, int64_t may,
                                  levada_error *err)
{
    int64_t most[LEVADA_MAX_DIMS] = { 0 };

    job->bad = -1;
    while (most[d] < is) pad_measure_row(job, ++job->bad, most);
    return levada_fail(err, LEVADA_EDATA_LOSS,
                       "attempted to pad to a smaller size than the input element: column '%s' has "
                       "length %lld in dimension %d, but padded_shapes allows %lld; raise "
                       "padded_shapes, or truncate with slice",
                       levada_spec_field(job->block->spec, job->field)->name, (long long)is, d,
                       (long long)may);
}

/* Returns the longest row of a column with one ragged level, which most have. */
static int64_t pad_longest(const pad_job *job)
{
    int64_t most = 0, row = 0;

    for (int64_t i = 0; i < job->block->n; i++) {
        const levada_level *l = &pad_row(job, i, &row)->level[0];

        most = pad_max(most, (int64_t)l->end[row] - l->begin[row]);
    }
    return most;
}

/* Measures all dimensions of all rows. Those of a run have the inner dimensions of one column, and
 * so do those of a data block. */
static void pad_measure_rows(const pad_job *job, int64_t *most)
{
    const levada_gather *g = job->gather;
    int64_t              i = 0, row = 0;

    if (g->nruns == 0 && job->block->n > 0) pad_measure_inner(job, 0, most);
    for (int64_t r = 0; job->ndim > job->depth && r < g->nruns; r++) {
        pad_measure_inner(job, i, most);
        i += g->runs[r].end - g->runs[r].row;
    }
    if (job->depth == 1) most[0] = pad_longest(job);
    for (i = 0; job->depth > 1 && i < job->block->n; i++) {
        const levada_column *c = pad_row(job, i, &row);

        pad_measure(c, 0, row, row + 1, most);
    }
}

/* Computes the target dimensions: given ones are checked, the others are the longest. */
static levada_status pad_target(pad_job *job, const levada_padding *how, levada_error *err)
{
    int64_t most[LEVADA_MAX_DIMS] = { 0 };

    pad_measure_rows(job, most);
    for (int32_t d = 0; how->least && d < job->depth; d++) {
        if (how->dims[d] < 0) most[d] = pad_max(most[d], how->least[d]);
    }
    for (int32_t d = 0; d < job->ndim; d++) {
        int64_t m = how->multiple > 1 && d < job->depth ? how->multiple : 1;

        job->to[d] = how->dims[d] >= 0 ? how->dims[d] : most[d];
        if (how->dims[d] < 0 && most[d] % m > 0) job->to[d] += m - most[d] % m;
        if (most[d] > job->to[d]) return pad_too_long(job, d, most[d], job->to[d], err);
    }
    job->stride[job->ndim] = 1;
    for (int32_t d = job->ndim; d > 0; d--) {
        int64_t step = job->to[d - 1];

        if (step && job->stride[d] > LEVADA_BLOCK_LIMIT / step) {
            return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED,
                               "a padded batch is larger than 1 GiB; lower batch_size or "
                               "max_tokens");
        }
        job->stride[d - 1] = job->stride[d] * step;
    }
    return LEVADA_OK;
}

bool levada_pad_plain(const uint8_t *value, int64_t size)
{
    for (int64_t i = 1; i < size; i++) {
        if (value[i] != value[0]) return false;
    }
    return true;
}

void levada_pad_fill(uint8_t *to, int64_t count, const uint8_t *value, int64_t size, bool plain)
{
    size_t total = (size_t)(count * size), done = (size_t)size;

    if (total == 0) return;
    if (plain) {
        memset(to, value[0], total);
        return;
    }
    memcpy(to, value, (size_t)size);
    while (done < total) { /* doubles what is filled */
        size_t n = done < total - done ? done : total - done;

        memcpy(to + done, to, n);
        done += n;
    }
}

/* Writes padding to the elements [at, end) of the target; not of byte strings, whose ranges are
 * there. */
static void pad_fill(const pad_job *job, int64_t at, int64_t end)
{
    levada_pad_fill(job->values + at * job->size, end - at, job->value, job->size, job->plain);
}

/* Copies `n` elements at index `from` of the column to index `at` of the target. */
static void pad_elements(pad_job *job, const levada_column *c, int64_t from, int64_t n, int64_t at)
{
    if (job->size) {
        memcpy(job->values + at * job->size, c->values + from * job->size, (size_t)(n * job->size));
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        const levada_level *l = &c->level[job->depth];
        int32_t             size = l->end[from + i] - l->begin[from + i];

        memcpy(job->values + job->used, c->values + l->begin[from + i], (size_t)size);
        job->begin[at + i] = (int32_t)job->used;
        job->used += size;
        job->end[at + i] = (int32_t)job->used;
    }
}

/* Copies the inner dimensions d.. of one element row: in one piece where they are not padded. */
static void pad_inner(pad_job *job, const levada_column *c, int32_t d, int64_t from, int64_t at)
{
    int64_t n = 1, step;

    for (int32_t k = d; k < job->ndim; k++) n *= c->dims[k - job->depth];
    if (n == job->stride[d] || d == job->ndim - 1) {
        pad_elements(job, c, from, n, at);
        pad_fill(job, at + n, at + job->stride[d]);
        return;
    }
    step = c->dims[d - job->depth] ? n / c->dims[d - job->depth] : 0;
    for (int64_t i = 0; i < c->dims[d - job->depth]; i++) {
        pad_inner(job, c, d + 1, from + i * step, at + i * job->stride[d + 1]);
    }
    pad_fill(job, at + c->dims[d - job->depth] * job->stride[d + 1], at + job->stride[d]);
}

/* Copies rows [begin, end) of ragged level `level`, which is dimension `level` of the target, to
 * the elements [at, stop). */
static void pad_rows(pad_job *job, const levada_column *c, int32_t level, int64_t begin,
                     int64_t end, int64_t at, int64_t stop)
{
    int64_t inner = levada_column_inner(c);

    if (level == job->depth && inner == job->stride[level]) {
        pad_elements(job, c, begin * inner, (end - begin) * inner, at);
        pad_fill(job, at + (end - begin) * inner, stop);
        return;
    }
    for (int64_t r = begin; r < end; r++, at += job->stride[level]) {
        if (level >= pad_depth(c)) {
            pad_inner(job, c, level, r * inner, at);
        } else {
            pad_rows(job, c, level + 1, c->level[level].begin[r], c->level[level].end[r], at,
                     at + job->stride[level]);
        }
    }
    pad_fill(job, at, stop);
}

/* Pads an encoded column, whose items are decoded to their place; inner dimensions are not padded.
 * */
static void pad_encoded(pad_job *job, const levada_column *c, int32_t level, int64_t begin,
                        int64_t end, int64_t at, int64_t stop)
{
    int64_t step = job->stride[level];

    if (level < c->encoded->level) {
        for (int64_t r = begin; r < end; r++, at += step) {
            pad_encoded(job, c, level + 1, c->level[level].begin[r], c->level[level].end[r], at,
                        at + step);
        }
    } else if (level == job->depth) {
        (void)levada_items_decode(c, levada_column_items(c, begin), end - begin,
                                  job->values + at * job->size);
        at += (end - begin) * step;
    } else {
        const levada_encoded_item *item = levada_column_items(c, begin);

        for (int64_t r = begin; r < end; r++, item++, at += step) {
            (void)levada_items_decode(c, item, 1, job->values + at * job->size);
            pad_fill(job, at + item->count, at + step);
        }
    }
    pad_fill(job, at, stop);
}

/* Decodes and pads a row, which ends at `stop` and, if it is padded on the left, begins after its
 * padding. */
static void pad_encoded_row(pad_job *job, const levada_column *c, int64_t row, int64_t at,
                            int64_t stop)
{
    if (job->depth == 0) {
        pad_encoded(job, c, 0, row, row + 1, at, stop);
    } else if (c->encoded->level == 0) {
        const levada_encoded_item *item = levada_column_items(c, row);

        (void)levada_items_decode(c, item, 1, job->values + at * job->size);
        pad_fill(job, at + item->count, stop);
    } else {
        pad_encoded(job, c, 1, c->level[0].begin[row], c->level[0].end[row], at, stop);
    }
}

/* Starts to fetch the rows after row i, which is negative before the first one; returns where the
 * furthest of them begins. */
static const void *pad_prefetch(const pad_job *job, int64_t i, const void *before)
{
    int64_t items = i + LEVADA_PREFETCH_ITEMS, values = i + LEVADA_PREFETCH_ROWS, row = 0;

    if (items < job->block->n) {
        const levada_column *c = pad_row(job, items, &row);

        levada_prefetch_item(c, 0, row);
    }
    if (values >= 0 && values < job->block->n && job->size) {
        const levada_column *c = pad_row(job, values, &row);

        before = levada_prefetch_values(c, 0, row, before);
    }
    return before;
}

/* Returns true if a column is encoded whose inner dimensions are padded. */
static bool pad_splits_items(const pad_job *job)
{
    int64_t row;

    for (int64_t i = 0; job->block->encoded && i < job->block->n; i++) {
        const levada_column *c = pad_row(job, i, &row);

        if (c->encoded && levada_column_inner(c) != job->stride[job->depth]) return true;
    }
    return false;
}

static int64_t pad_bytes_total(const levada_column *c, int32_t level, int64_t begin, int64_t end)
{
    int64_t total = 0;

    if (level == pad_depth(c)) {
        begin *= levada_column_inner(c);
        end *= levada_column_inner(c);
    }
    for (int64_t r = begin; r < end; r++) {
        int64_t b = c->level[level].begin[r], e = c->level[level].end[r];

        total += level >= pad_depth(c) ? e - b : pad_bytes_total(c, level + 1, b, e);
    }
    return total;
}

static levada_status pad_prepare_bytes(pad_job *job, levada_builder *b, const levada_padding *how,
                                       levada_error *err)
{
    int64_t count = job->block->n * job->stride[0], total = (int64_t)how->text_size, row = 0;
    void   *values = NULL;

    for (int64_t i = 0; i < job->block->n; i++) {
        const levada_column *c = pad_row(job, i, &row);

        total += pad_bytes_total(c, 0, row, row + 1);
    }
    LEVADA_TRY(levada_builder_ranges(b, job->field, 0, count, &job->begin, &job->end, err));
    LEVADA_TRY(levada_builder_values(b, job->field, total, &values, err));
    job->values = values;
    if (how->text_size) memcpy(values, how->text, how->text_size);
    job->used = (int64_t)how->text_size;
    for (int64_t i = 0; i < count; i++) {
        job->begin[i] = 0;
        job->end[i] = (int32_t)how->text_size;
    }
    return LEVADA_OK;
}

static levada_status pad_prepare(pad_job *job, levada_builder *b, const levada_padding *how,
                                 levada_error *err)
{
    int64_t count = job->block->n * job->stride[0];
    void   *values = NULL;

    levada_builder_dims(b, job->field, job->to);
    if (job->size == 0) return pad_prepare_bytes(job, b, how, err);
    LEVADA_TRY(levada_builder_values(b, job->field, count, &values, err));
    job->values = values;
    job->value = how->value;
    job->plain = levada_pad_plain(how->value, job->size);
    return LEVADA_OK;
}

static levada_status pad_lengths(const pad_job *job, levada_builder *b, levada_error *err)
{
    int32_t *lengths = NULL;
    int64_t  row = 0;

    if (!levada_spec_field(b->block->spec, job->field)->padded) return LEVADA_OK;
    LEVADA_TRY(levada_builder_lengths(b, job->field, &lengths, err));
    for (int64_t i = 0; i < job->block->n; i++) {
        const levada_column *c = pad_row(job, i, &row);

        lengths[i] = (int32_t)levada_column_length(c, row);
    }
    return LEVADA_OK;
}

static levada_status pad_column(const levada_block *block, const levada_gather *gather,
                                int32_t field, levada_builder *b, const levada_padding *how,
                                int64_t *bad, levada_error *err);

/* Pads the rare case by way of decoded columns. */
static levada_status pad_decoded(const levada_block *block, int32_t field, levada_builder *b,
                                 const levada_padding *how, int64_t *bad, levada_error *err)
{
    const levada_gather none = { 0 };
    levada_block       *decoded = NULL;
    levada_status       st;

    LEVADA_TRY(levada_block_decoded(b->pool, block, &decoded, err));
    st = pad_column(decoded, &none, field, b, how, bad, err);
    levada_block_unref(&decoded);
    return st;
}

/* Returns true if all rows of a selection have the target dimensions already. */
static bool pad_is_copy(const pad_job *job)
{
    if (job->depth > 0 || job->gather->nruns == 0) return false;
    for (int32_t i = 0; i < job->block->nfrom; i++) {
        const levada_column *c = &job->block->from[i]->columns[job->field];

        if (c->field->padded && !c->lengths) return false;
        if (memcmp(c->dims, job->to, (size_t)job->ndim * sizeof c->dims[0]) != 0) return false;
    }
    return true;
}

static levada_status pad_column(const levada_block *block, const levada_gather *gather,
                                int32_t field, levada_builder *b, const levada_padding *how,
                                int64_t *bad, levada_error *err)
{
    const levada_field *from = levada_spec_field(block->spec, field);
    pad_job             job = { .block = block,
                                .gather = gather,
                                .field = field,
                                .depth = from->depth,
                                .ndim = from->depth + from->ndim,
                                .size = levada_dtype_size(from->dtype),
                                .left = how->left && from->depth + from->ndim > 0,
                                .bad = -1 };
    int64_t             row = 0;
    const void         *ahead = NULL;
    bool                fetch;
    levada_status       st = pad_target(&job, how, err);

    *bad = job.bad;
    if (st != LEVADA_OK) return st;
    if (pad_is_copy(&job)) return levada_gather_column(gather, field, b, err);
    if (pad_splits_items(&job)) return pad_decoded(block, field, b, how, bad, err);
    if (job.stride[0] && block->n > LEVADA_BLOCK_LIMIT / job.stride[0]) {
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED,
                           "a padded batch is larger than 1 GiB; lower batch_size or max_tokens");
    }
    LEVADA_TRY(pad_prepare(&job, b, how, err));
    fetch = levada_prefetch_helps(block, job.stride[0] * job.size);
    for (int64_t i = -LEVADA_PREFETCH_ITEMS; fetch && i < 0; i++) {
        ahead = pad_prefetch(&job, i, ahead);
    }
    for (int64_t i = 0; i < block->n; i++) {
        const levada_column *c = pad_row(&job, i, &row);
        int64_t              at = i * job.stride[0], stop = at + job.stride[0];

        if (fetch) ahead = pad_prefetch(&job, i, ahead);
        if (job.left) {
            int64_t first = stop - levada_column_length(c, row) * job.stride[1];

            pad_fill(&job, at, first);
            at = first;
        }
        if (c->encoded) {
            pad_encoded_row(&job, c, row, at, stop);
        } else if (job.depth > 0) {
            pad_rows(&job, c, 1, c->level[0].begin[row], c->level[0].end[row], at, stop);
        } else {
            pad_rows(&job, c, 0, row, row + 1, at, stop);
        }
    }
    return pad_lengths(&job, b, err);
}

levada_status levada_pad_block(levada_pool *pool, const levada_block *block,
                               const levada_spec *spec, const levada_padding *how,
                               levada_block **out, int64_t *bad, levada_error *err)
{
    levada_gather   g = { 0 };
    levada_builder *b = NULL;
    levada_block   *made = NULL;
    int64_t         none;
    levada_status   st = levada_builder_make(pool, spec, block->n, &b, err);

    if (!bad) bad = &none;
    *bad = -1;
    if (st == LEVADA_OK && block->kind == LEVADA_BLOCK_SELECTION) {
        st = levada_gather_open(&g, block, err);
    }
    for (int32_t i = 0; st == LEVADA_OK && i < levada_spec_count(spec); i++) {
        st = pad_column(block, &g, i, b, &how[i], bad, err);
    }
    if (st == LEVADA_OK) st = levada_builder_publish(&b, &made, err);
    if (st == LEVADA_OK) st = levada_gather_origins(&g, block, pool, made, err);
    if (st == LEVADA_OK) {
        *out = made;
        made = NULL;
    }
    levada_block_unref(&made);
    levada_builder_destroy(&b);
    levada_gather_close(&g);
    return st;
}
