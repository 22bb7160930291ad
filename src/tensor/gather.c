/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A column is copied level by level as a list of ranges. Rows begin as runs of neighboring rows,
 * found once for all columns; each level replaces a range by the ranges that its rows cover, and
 * counts their lengths into the offsets of the copy; what remains at the end are ranges of values.
 */
#include "tensor/gather.h"

#include "base/alloc.h"
#include "tensor/builder_priv.h"
#include "tensor/prefetch_row.h"
#include "tensor/tensor_priv.h"

#include <string.h>

/* One column on its way. */
typedef struct gather_work {
    levada_builder      *b;
    levada_gather_range *ranges;
    int64_t              n;
    levada_gather_range *kept; /* of a field with encoded columns: rows of its last ragged level */
    int64_t              nkept;
} gather_work;

static levada_status gather_memory(levada_error *err)
{
    return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory while gathering records");
}

static void gather_clear(gather_work *w)
{
    levada_free(w->ranges);
    levada_free(w->kept);
}

static int64_t gather_total(const gather_work *w)
{
    int64_t total = 0;

    for (int64_t i = 0; i < w->n; i++) total += (int64_t)w->ranges[i].end - w->ranges[i].begin;
    return total;
}

/* Returns true if the runs are all rows of one block, in their order, and nobody else has it. */
static bool gather_is_whole(const levada_gather *g)
{
    const levada_block *first = g->from->nfrom == 1 ? g->from->from[0] : NULL;

    return first && g->nruns == 1 && g->runs[0].row == 0 && g->runs[0].end == first->n &&
           levada_block_exclusive(first);
}

static levada_status gather_same_spec(const levada_block *from, levada_error *err)
{
    char shown[LEVADA_SPEC_DIFFERENCE];

    for (int32_t i = 1; i < from->nfrom; i++) {
        if (from->from[i]->spec == from->spec) continue;
        if (!levada_spec_equal(from->from[i]->spec, from->spec)) {
            return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                               "the records of a block must have the same columns, but %s; select "
                               "the columns that all of them have",
                               levada_spec_difference(from->spec, from->from[i]->spec, shown));
        }
    }
    return LEVADA_OK;
}

levada_status levada_gather_open(levada_gather *g, const levada_block *from, levada_error *err)
{
    levada_gather_run *run;

    LEVADA_TRY(gather_same_spec(from, err));
    run = levada_alloc((size_t)from->n * sizeof *run + 1);
    if (!run) return gather_memory(err);
    *g = (levada_gather){ .from = from, .runs = run };
    for (int64_t i = 0; i < from->n; i++) {
        if (i > 0 && from->which[i] == run->which && from->row[i] == run->end) {
            run->end++;
            continue;
        }
        run = &g->runs[g->nruns++];
        run->which = from->which[i];
        run->row = from->row[i];
        run->end = run->row + 1;
    }
    g->whole = gather_is_whole(g);
    return LEVADA_OK;
}

void levada_gather_close(levada_gather *g)
{
    levada_free(g->runs);
    g->runs = NULL;
}

/* Appends rows of a column to n ranges: to the last one, if they come next in memory. Returns their
 * number. */
static int64_t gather_add(levada_gather_range *ranges, int64_t n, const levada_column *column,
                          int32_t begin, int32_t end)
{
    if (n > 0 && ranges[n - 1].end == begin && ranges[n - 1].column == column) {
        ranges[n - 1].end = end;
        return n;
    }
    ranges[n] = (levada_gather_range){ column, begin, end };
    return n + 1;
}

/* Replaces the ranges by what their rows cover in `level`; writes the offsets of the copy. With
 * `keep` the ranges before stay in w->kept. */
static levada_status gather_level(gather_work *w, int32_t field, int32_t level, bool keep,
                                  levada_error *err)
{
    int64_t              total = gather_total(w), n = 0, sum = 0;
    levada_gather_range *next = levada_alloc((size_t)total * sizeof *next);
    int32_t             *offsets = NULL;
    levada_status        st;

    if (!next) return gather_memory(err);
    st = levada_builder_offsets(w->b, field, level, total, &offsets, err);
    for (int64_t i = 0; st == LEVADA_OK && i < w->n; i++) {
        const levada_column *c = w->ranges[i].column;
        const levada_level  *l = &c->level[level];

        for (int32_t r = w->ranges[i].begin; r < w->ranges[i].end; r++) {
            n = gather_add(next, n, c, l->begin[r], l->end[r]);
            sum += (int64_t)l->end[r] - l->begin[r];
            *++offsets = (int32_t)sum;
        }
        if (sum > LEVADA_BLOCK_LIMIT) {
            st = levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED,
                             "a column is larger than 1 GiB, the most that a block holds; lower "
                             "block_rows or batch_size");
        }
    }
    if (keep) {
        w->kept = w->ranges;
        w->nkept = w->n;
    } else {
        levada_free(w->ranges);
    }
    w->ranges = next;
    w->n = n;
    return st;
}

/* Prefetches the values of range i, unless the one before begins in the same line. */
static LEVADA_ALWAYS_INLINE void gather_prefetch(const gather_work *w, int64_t i, int64_t row_bytes)
{
    const levada_gather_range *r = &w->ranges[i], *last = r - 1;
    const uint8_t *at = r->column->values + r->begin * row_bytes;
    const uint8_t *before = last->column->values + last->begin * row_bytes;

    if ((uintptr_t)at - (uintptr_t)before < LEVADA_PREFETCH_LINE) return;
    levada_prefetch(at, (r->end - r->begin) * row_bytes);
}

static levada_status gather_values(gather_work *w, int32_t field, int64_t row_bytes,
                                   int64_t row_values, levada_error *err)
{
    void    *values = NULL;
    uint8_t *at;

    LEVADA_TRY(levada_builder_values(w->b, field, gather_total(w) * row_values, &values, err));
    at = values;
    for (int64_t i = 1; i < LEVADA_PREFETCH_ROWS && i < w->n; i++) { /* row 0 is next */
        gather_prefetch(w, i, row_bytes);
    }
    for (int64_t i = 0; i < w->n; i++) {
        const levada_gather_range *r = &w->ranges[i];
        const uint8_t      *data = r->column->values + r->begin * row_bytes;
        size_t              size = (size_t)(r->end - r->begin) * (size_t)row_bytes;

        if (i + LEVADA_PREFETCH_ROWS < w->n) {
            gather_prefetch(w, i + LEVADA_PREFETCH_ROWS, row_bytes);
        }
        if (size == 8) memcpy(at, data, 8); /* a store each, where scalars are apart */
        else if (size == 4) memcpy(at, data, 4);
        else if (size) memcpy(at, data, size);
        at += size;
    }
    return LEVADA_OK;
}

static uint8_t *gather_copy(const levada_column *c, int64_t begin, int64_t end, int64_t row_bytes,
                            uint8_t *to)
{
    size_t size = (size_t)((end - begin) * row_bytes);

    if (size) memcpy(to, c->values + begin * row_bytes, size);
    return to + size;
}

/* Decodes rows of the last ragged level, or of a column without levels, some of them encoded. */
static uint8_t *gather_decode(const levada_gather_range *r, int64_t row_bytes, uint8_t *to)
{
    const levada_column *c = r->column;
    int32_t              depth = c->field->depth;
    const levada_level  *l = depth ? &c->level[depth - 1] : NULL;

    if (c->encoded && (!l || c->encoded->level < depth)) {
        return levada_items_decode(c, levada_column_items(c, r->begin), r->end - r->begin, to);
    }
    if (!l) return gather_copy(c, r->begin, r->end, row_bytes, to);
    for (int32_t k = r->begin; k < r->end; k++) {
        to = c->encoded ? levada_items_decode(c, levada_column_items(c, l->begin[k]),
                                              l->end[k] - l->begin[k], to)
                        : gather_copy(c, l->begin[k], l->end[k], row_bytes, to);
    }
    return to;
}

/* Starts to fetch the first rows of the ranges after number i. */
static const void *gather_fetch(const levada_gather_range *ranges, int64_t n, int64_t i,
                                const void *before)
{
    int64_t items = i + LEVADA_PREFETCH_ITEMS, values = i + LEVADA_PREFETCH_ROWS;
    int32_t level = ranges->column->field->depth ? ranges->column->field->depth - 1 : 0;

    if (items < n) levada_prefetch_item(ranges[items].column, level, ranges[items].begin);
    if (values >= n) return before;
    return levada_prefetch_values(ranges[values].column, level, ranges[values].begin, before);
}

/* Decodes the values of a field with encoded columns, each to its place. */
static levada_status gather_encoded(gather_work *w, int32_t field, const levada_block *from,
                                    int64_t row_bytes, int64_t row_values, levada_error *err)
{
    const levada_gather_range *ranges = w->kept ? w->kept : w->ranges;
    int64_t                    n = w->kept ? w->nkept : w->n;
    void                      *values = NULL;
    const void                *ahead = NULL;
    uint8_t                   *at;

    LEVADA_TRY(levada_builder_values(w->b, field, gather_total(w) * row_values, &values, err));
    at = values;
    for (int64_t i = 0; i < n; i++) {
        if (levada_prefetch_helps(from, 0)) ahead = gather_fetch(ranges, n, i, ahead);
        at = gather_decode(&ranges[i], row_bytes, at);
    }
    return LEVADA_OK;
}

/* -- encoded columns that stay encoded */

/* Returns the list that all columns of a field have the same kind of; NULL: they have not. */
static const levada_encoded *gather_same_encoding(const levada_block *from, int32_t field)
{
    const levada_encoded *first = from->from[0]->columns[field].encoded;

    for (int32_t i = 1; first && i < from->nfrom; i++) {
        const levada_encoded *e = from->from[i]->columns[field].encoded;

        if (!e || e->encoding != first->encoding) return NULL;
        if (e->level != first->level || e->gap != first->gap) return NULL;
    }
    return first;
}

/* Copies the items of a range of the last ragged level, or of a column without levels, to `to`;
 * returns how many they are and adds up their bytes. With `to` NULL it only counts. */
static int64_t gather_items(const levada_gather_range *r, levada_encoded_item *to, int64_t *bytes)
{
    const levada_column *c = r->column;
    int32_t              depth = c->field->depth;
    const levada_level  *l = depth && c->encoded->level == depth ? &c->level[depth - 1] : NULL;
    int64_t              n = 0;

    for (int32_t k = r->begin; k < r->end; k++) {
        int64_t            row = l ? l->begin[k] : k, end = l ? l->end[k] : k + 1;
        const levada_encoded_item *items = levada_column_items(c, row);

        for (int64_t i = 0; i < end - row; i++) *bytes += items[i].size;
        if (to) memcpy(to + n, items, (size_t)(end - row) * sizeof *items);
        n += end - row;
    }
    return n;
}

static levada_status gather_compact(gather_work *w, int32_t field, const levada_encoded *like,
                                    levada_error *err)
{
    const levada_gather_range *ranges = w->kept ? w->kept : w->ranges;
    int64_t             nranges = w->kept ? w->nkept : w->n, n = 0, bytes = 0, again = 0;
    levada_encoded_item        *items = NULL;
    uint8_t            *at = NULL;

    for (int64_t i = 0; i < nranges; i++) n += gather_items(&ranges[i], NULL, &bytes);
    LEVADA_TRY(levada_builder_encoded(w->b, field, like, n, NULL, &items, err));
    LEVADA_TRY(levada_builder_encoded_bytes(w->b, field, bytes, &at, err));
    for (int64_t i = 0, k = 0; i < nranges; i++) k += gather_items(&ranges[i], items + k, &again);
    for (int64_t i = 0; i < n; i++) {
        if (items[i].size) memcpy(at, items[i].at, (size_t)items[i].size);
        items[i].at = at;
        at += items[i].size;
    }
    return LEVADA_OK;
}

static levada_status gather_lengths(levada_builder *b, int32_t field, const levada_block *from,
                                    levada_error *err)
{
    int32_t *lengths = NULL;

    for (int32_t i = 1; i < from->nfrom; i++) {
        bool has = from->from[i]->columns[field].lengths != NULL;

        if (has == (from->from[0]->columns[field].lengths != NULL)) continue;
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "column '%s': rows with and without lengths cannot be in one block; "
                           "pad all of them, or none", from->from[i]->columns[field].field->name);
    }
    if (from->n == 0 || !from->from[0]->columns[field].lengths) return LEVADA_OK;
    LEVADA_TRY(levada_builder_lengths(b, field, &lengths, err));
    for (int64_t i = 0; i < from->n; i++) {
        lengths[i] = from->from[from->which[i]]->columns[field].lengths[from->row[i]];
    }
    return LEVADA_OK;
}

static levada_status gather_same_dims(levada_builder *b, int32_t field, const levada_block *from,
                                      levada_error *err)
{
    const levada_column *first = &from->from[0]->columns[field];

    for (int32_t i = 0; i < from->nfrom; i++) {
        const levada_column *c = &from->from[i]->columns[field];

        for (int32_t d = 0; d < c->field->ndim; d++) {
            if (c->dims[d] == first->dims[d]) continue;
            return levada_fail(
                err, LEVADA_EINVALID_ARGUMENT,
                "column '%s': rows of different shapes (dimension %d is %lld and %lld)"
                " cannot stand in one block; pad them",
                c->field->name, d, (long long)first->dims[d], (long long)c->dims[d]);
        }
    }
    levada_builder_dims(b, field, first->dims);
    return LEVADA_OK;
}

static bool gather_has_encoded(const levada_block *from, int32_t field)
{
    for (int32_t i = 0; from->encoded && i < from->nfrom; i++) {
        if (from->from[i]->columns[field].encoded) return true;
    }
    return false;
}

/* Gathers strings. Rows of the last ragged level have `inner` strings each. */
static levada_status gather_strings(gather_work *w, int32_t field, int32_t level, int64_t inner,
                                    levada_error *err)
{
    for (int64_t i = 0; inner != 1 && i < w->n; i++) {
        w->ranges[i].begin *= (int32_t)inner;
        w->ranges[i].end *= (int32_t)inner;
    }
    LEVADA_TRY(gather_level(w, field, level, false, err));
    return gather_values(w, field, 1, 1, err);
}

/* -- columns that are passed on */

/* Returns the number of bytes of a column as gathering would make it: adjacent from its first row
 * on, aligned. -1 = it is not such a column. */
static int64_t gather_final_bytes(const levada_column *c)
{
    int32_t levels = c->field->depth + (levada_dtype_is_bytes(c->field->dtype));
    int64_t size = levada_dtype_size(c->field->dtype), n = c->n, bytes = 0;

    if (!c->values || (uintptr_t)c->values % LEVADA_SLACK) return -1;
    for (int32_t l = 0; l < levels; l++) {
        const levada_level *at = &c->level[l];

        if (l == c->field->depth) n *= levada_column_inner(c);
        if (n == 0 || at->end != at->begin + 1 || at->begin[0] != 0) return -1;
        bytes += (n + 1) * (int64_t)sizeof at->begin[0];
        n = at->end[n - 1];
    }
    return bytes + (size ? n * levada_column_inner(c) * size : n);
}

/* Passes a column on unless that would keep much more memory than it has. */
static bool gather_pass(const levada_gather *g, int32_t field, levada_builder *b)
{
    const levada_column *c = &g->from->from[0]->columns[field];
    int64_t              bytes = g->whole ? gather_final_bytes(c) : -1;

    if (bytes < 0 || !c->owner) return false;
    if (c->owner->size > LEVADA_BUILDER_SLAB && c->owner->size > 2 * bytes) return false;
    levada_builder_share(b, field, c);
    b->block->bytes += bytes;
    return true;
}

static levada_status gather_fill(gather_work *w, const levada_gather *g, int32_t field,
                                 levada_error *err)
{
    const levada_block  *from = g->from;
    const levada_column *first = &from->from[0]->columns[field];
    int64_t              inner, size = levada_dtype_size(first->field->dtype);
    int32_t              level = 0, depth = first->field->depth;
    bool                 bytes = levada_dtype_is_bytes(first->field->dtype);
    bool                 encoded = gather_has_encoded(from, field);
    const levada_encoded *same = g->compact ? gather_same_encoding(from, field) : NULL;

    LEVADA_TRY(gather_same_dims(w->b, field, from, err));
    inner = levada_column_inner(first);
    w->n = g->nruns;
    w->ranges = levada_alloc((size_t)w->n * sizeof *w->ranges + 1);
    if (!w->ranges) return gather_memory(err);
    for (int64_t i = 0; i < w->n; i++) {
        w->ranges[i].column = &from->from[g->runs[i].which]->columns[field];
        w->ranges[i].begin = (int32_t)g->runs[i].row;
        w->ranges[i].end = (int32_t)g->runs[i].end;
    }
    for (; level < depth; level++) {
        LEVADA_TRY(gather_level(w, field, level, encoded && level == depth - 1, err));
    }
    if (bytes) {
        LEVADA_TRY(gather_strings(w, field, level, inner, err));
    } else if (same) {
        LEVADA_TRY(gather_compact(w, field, same, err));
    } else if (encoded) {
        LEVADA_TRY(gather_encoded(w, field, from, inner * size, inner, err));
    } else {
        LEVADA_TRY(gather_values(w, field, inner * size, inner, err));
    }
    return gather_lengths(w->b, field, from, err);
}

levada_status levada_gather_column(const levada_gather *g, int32_t field, levada_builder *b,
                                   levada_error *err)
{
    gather_work   w = { .b = b };
    levada_status st;

    if (gather_pass(g, field, b)) return LEVADA_OK;
    st = gather_fill(&w, g, field, err);
    gather_clear(&w);
    return st;
}

levada_status levada_gather_origins(const levada_gather *g, const levada_block *from,
                                    levada_pool *pool, levada_block *to, levada_error *err)
{
    return levada_block_copy_origins(pool, to, g->whole ? from->from[0] : from, err);
}

levada_status levada_gather_ranges(levada_builder *b, int32_t field, int32_t level,
                                   levada_gather_range *ranges, int64_t n, levada_error *err)
{
    gather_work          w = { .b = b, .ranges = ranges, .n = n };
    const levada_column *to = &b->block->columns[field];
    int64_t              inner = levada_column_inner(to);
    int64_t              size = levada_dtype_size(to->field->dtype);
    levada_status        st = LEVADA_OK;

    for (; st == LEVADA_OK && level < to->field->depth; level++) {
        st = gather_level(&w, field, level, false, err);
    }
    if (st == LEVADA_OK) {
        st = size ? gather_values(&w, field, inner * size, inner, err)
                  : gather_strings(&w, field, level, inner, err);
    }
    gather_clear(&w);
    return st;
}

levada_status levada_gather_decoded(levada_builder *b, int32_t field, const levada_block *from,
                                    levada_error *err)
{
    levada_gather_run all = { .end = (uint32_t)from->n };
    levada_block     *self = (levada_block *)(uintptr_t)from;
    levada_block      rows = { .kind = LEVADA_BLOCK_SELECTION, .encoded = true, .n = from->n,
                               .from = &self, .nfrom = 1 };
    levada_gather     g = { .from = &rows, .runs = &all, .nruns = from->n > 0 };

    return levada_gather_column(&g, field, b, err);
}

/* -- blocks */

static levada_status gather_block(levada_pool *pool, const levada_block *block, bool compact,
                                  levada_block **out, levada_error *err)
{
    levada_gather   g = { 0 };
    levada_builder *b = NULL;
    levada_block   *made = NULL;
    levada_status   st;

    if (block->kind == LEVADA_BLOCK_DATA) {
        *out = levada_block_ref(block);
        return LEVADA_OK;
    }
    LEVADA_TRY(levada_builder_make(pool, block->spec, block->n, &b, err));
    st = levada_gather_open(&g, block, err);
    g.compact = compact;
    for (int32_t i = 0; st == LEVADA_OK && i < levada_spec_count(block->spec); i++) {
        st = levada_gather_column(&g, i, b, err);
    }
    if (st == LEVADA_OK) st = levada_builder_publish(&b, &made, err);
    if (st == LEVADA_OK) st = levada_gather_origins(&g, block, pool, made, err);
    if (st == LEVADA_OK) {
        levada_block_set_layout(made, block->layout);
        *out = made;
        made = NULL;
    }
    levada_block_unref(&made);
    levada_builder_destroy(&b);
    levada_gather_close(&g);
    return st;
}

levada_status levada_block_gather(levada_pool *pool, const levada_block *block, levada_block **out,
                                  levada_error *err)
{
    if (block->kind == LEVADA_BLOCK_DATA) return levada_block_decoded(pool, block, out, err);
    return gather_block(pool, block, false, out, err);
}

levada_status levada_block_compact(levada_pool *pool, const levada_block *block,
                                   levada_block **out, levada_error *err)
{
    return gather_block(pool, block, true, out, err);
}
