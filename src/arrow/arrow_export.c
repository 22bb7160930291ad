/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks as Arrow arrays. Padded columns, columns whose rows are not adjacent and values at odd
 * addresses are copied first; what remains is offsets that begin at 0 and values, which arrays
 * point to. Each array owns what was made for it and has a reference to the block.
 */
#include "arrow/arrow_plan.h"
#include "base/alloc.h"
#include "base/assert.h"
#include "tensor/gather.h"

#include <string.h>

enum { EXPORT_BUFFERS = 3 };

/* What an array owns. */
typedef struct export_held {
    const void         *buffer[EXPORT_BUFFERS];
    void               *owned; /* one of the buffers, or NULL */
    struct ArrowArray  *child; /* n_children                  */
    struct ArrowArray **pointer;
    levada_block       *block;
} export_held;

static const int64_t export_nothing[8]; /* what buffers without values point to */

static levada_status export_memory(levada_error *err)
{
    return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for an Arrow array");
}

static void export_free(export_held *held)
{
    levada_block_unref(&held->block);
    levada_free(held->owned);
    levada_free(held->child);
    levada_free(held->pointer);
    levada_free(held);
}

static void export_release(struct ArrowArray *a)
{
    for (int64_t i = 0; i < a->n_children; i++)
        if (a->children[i]->release) a->children[i]->release(a->children[i]);
    export_free(a->private_data);
    a->release = NULL;
}

static levada_status export_new(const levada_block *block, int64_t n, int64_t buffers,
                                int64_t children, struct ArrowArray *out, levada_error *err)
{
    export_held *held = levada_alloc_zero(sizeof *held);

    if (!held) return export_memory(err);
    held->child = levada_alloc_zero((size_t)(children + 1) * sizeof *held->child);
    held->pointer = levada_alloc_zero((size_t)(children + 1) * sizeof(struct ArrowArray *));
    if (!held->child || !held->pointer) {
        export_free(held);
        return export_memory(err);
    }
    for (int64_t i = 0; i < children; i++) held->pointer[i] = &held->child[i];
    held->block = levada_block_ref(block);
    *out = (struct ArrowArray){ .length = n,
                                .n_buffers = buffers,
                                .n_children = children,
                                .buffers = held->buffer,
                                .children = held->pointer,
                                .release = export_release,
                                .private_data = held };
    return LEVADA_OK;
}

/* Sets a buffer to memory of the block, and returns where it is set. */
static void export_share(struct ArrowArray *a, int buffer, const void *data)
{
    export_held *held = a->private_data;

    held->buffer[buffer] = data ? data : export_nothing;
}

/* Sets buffer 1 to new memory. NULL if memory is short. */
static void *export_own(struct ArrowArray *a, size_t size)
{
    export_held *held = a->private_data;

    held->owned = levada_alloc_zero(size + sizeof(int64_t));
    held->buffer[1] = held->owned;
    return held->owned;
}

/* -- rows */

/* Where a walk is: rows [first, first + n) of the level or dimension that a node stands for. */
typedef struct export_rows {
    const levada_block *block;
    int64_t             first, n;
} export_rows;

static levada_status export_node(const levada_arrow_node *node, export_rows rows,
                                 struct ArrowArray *out, levada_error *err);

/* Sets the offsets to those of a level, from 0 on, and *below to the rows that they cover. */
static levada_status export_offsets(const levada_level *level, export_rows rows,
                                    struct ArrowArray *out, export_rows *below, levada_error *err)
{
    const int32_t *begin = rows.n ? level->begin + rows.first : NULL;
    int32_t       *own;

    below->first = rows.n ? begin[0] : 0;
    below->n = rows.n ? level->end[rows.first + rows.n - 1] - below->first : 0;
    if (rows.n && below->first == 0) {
        export_share(out, 1, begin);
        return LEVADA_OK;
    }
    own = export_own(out, (size_t)(rows.n + 1) * sizeof *own);
    if (!own) return export_memory(err);
    for (int64_t i = 0; i < rows.n; i++) own[i + 1] = level->end[rows.first + i] - begin[0];
    return LEVADA_OK;
}

/* Sets the offsets of lists of `size` items each. */
static levada_status export_even(int64_t size, export_rows rows, struct ArrowArray *out,
                                 levada_error *err)
{
    int32_t *own = export_own(out, (size_t)(rows.n + 1) * sizeof *own);

    if (!own) return export_memory(err);
    for (int64_t i = 0; i <= rows.n; i++) own[i] = (int32_t)(i * size);
    return LEVADA_OK;
}

/* Checks that the columns below a list have its ranges: a function may have changed a member of
 * objects. */
static levada_status export_same_lists(const levada_arrow_node *list,
                                       const levada_arrow_node *below, export_rows rows,
                                       levada_error *err)
{
    const levada_column *a = levada_block_at(rows.block, list->column);
    const levada_column *b = levada_block_at(rows.block, below->column);
    int32_t              l = list->at;

    for (int32_t i = 0; i < below->n; i++) {
        LEVADA_TRY(export_same_lists(list, below->child[i], rows, err));
    }
    if (below->n || a == b || rows.n == 0) return LEVADA_OK;
    if (memcmp(a->level[l].end + rows.first, b->level[l].end + rows.first,
               (size_t)rows.n * sizeof a->level[l].end[0]) == 0) {
        return LEVADA_OK;
    }
    return levada_fail(
        err, LEVADA_EINVALID_ARGUMENT,
        "fields '%s' and '%s' are members of the same objects and must have lists of "
        "the same lengths; rename one of them",
        a->field->name, b->field->name);
}

static levada_status export_list(const levada_arrow_node *node, export_rows rows,
                                 struct ArrowArray *out, levada_error *err)
{
    const levada_column *c = levada_block_at(rows.block, node->column);
    export_rows          below = rows;
    int64_t              size = node->kind == LEVADA_ARROW_FIXED ? node->size : 0;

    LEVADA_TRY(
        export_new(rows.block, rows.n, node->kind == LEVADA_ARROW_FIXED ? 1 : 2, 1, out, err));
    if (node->kind == LEVADA_ARROW_LIST) {
        LEVADA_TRY(export_same_lists(node, node, rows, err));
        LEVADA_TRY(export_offsets(&c->level[node->at], rows, out, &below, err));
        return export_node(node->child[0], below, out->children[0], err);
    }
    if (node->kind == LEVADA_ARROW_OPEN) {
        size = c->dims[node->at];
        if (size > 0 && rows.n > INT32_MAX / size) {
            return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED,
                               "field '%s' has more than 2^31 values; export fewer rows",
                               node->field->name);
        }
        LEVADA_TRY(export_even(size, rows, out, err));
    }
    below.first *= size;
    below.n *= size;
    return export_node(node->child[0], below, out->children[0], err);
}

/* -- values */

static levada_status export_bits(const levada_column *c, export_rows rows, struct ArrowArray *out,
                                 levada_error *err)
{
    uint8_t *bits = export_own(out, (size_t)(rows.n + 7) / 8);

    if (!bits) return export_memory(err);
    for (int64_t i = 0; i < rows.n; i++)
        if (c->values[rows.first + i]) bits[i / 8] |= (uint8_t)(1 << i % 8);
    return LEVADA_OK;
}

static levada_status export_values(const levada_arrow_node *node, export_rows rows,
                                   struct ArrowArray *out, levada_error *err)
{
    const levada_column *c = levada_block_at(rows.block, node->column);
    bool                 bytes = levada_dtype_is_bytes(node->dtype);
    export_rows          data;
    int64_t              at = rows.first * levada_dtype_size(node->dtype);

    LEVADA_TRY(export_new(rows.block, rows.n, bytes ? 3 : 2, 0, out, err));
    if (bytes) {
        LEVADA_TRY(export_offsets(&c->level[node->field->depth], rows, out, &data, err));
        export_share(out, 2, c->values ? c->values + data.first : NULL);
        return LEVADA_OK;
    }
    if (node->dtype == LEVADA_BOOL) return export_bits(c, rows, out, err);
    export_share(out, 1, c->values && rows.n ? c->values + at : NULL);
    return LEVADA_OK;
}

/* -- objects and records */

static levada_status export_struct(const levada_arrow_node *node, export_rows rows,
                                   struct ArrowArray *out, levada_error *err)
{
    LEVADA_TRY(export_new(rows.block, rows.n, 1, node->n, out, err));
    for (int32_t i = 0; i < node->n; i++) {
        LEVADA_TRY(export_node(node->child[i], rows, out->children[i], err));
    }
    return LEVADA_OK;
}

static levada_status export_node(const levada_arrow_node *node, export_rows rows,
                                 struct ArrowArray *out, levada_error *err)
{
    switch (node->kind) {
    case LEVADA_ARROW_STRUCT: return export_struct(node, rows, out, err);
    case LEVADA_ARROW_VALUES: return export_values(node, rows, out, err);
    default: return export_list(node, rows, out, err);
    }
}

levada_status levada_arrow_array(const levada_arrow_node *node, const levada_block *block,
                                 struct ArrowArray *out, levada_error *err)
{
    struct ArrowArray made = { 0 };
    levada_status     st = export_node(node, (export_rows){ block, 0, block->n }, &made, err);

    if (st == LEVADA_OK) *out = made;
    else if (made.release) made.release(&made);
    return st;
}

/* -- columns that arrays can point to */

/* Returns true if each level is adjacent and begins at 0, and values can be read at their address.
 */
static bool export_is_plain(const levada_column *c)
{
    bool    bytes = levada_dtype_is_bytes(c->field->dtype);
    int64_t size = levada_dtype_size(c->field->dtype), n = c->n * levada_column_inner(c);

    if (c->field->padded) return false;
    if (!bytes && ((uintptr_t)c->values & ((uintptr_t)(size > 8 ? 8 : size) - 1))) return false;
    if (c->field->depth) n = c->n;
    for (int32_t l = 0; l < c->field->depth + bytes && n > 0; l++) {
        const levada_level *level = &c->level[l];

        if (level->begin[0] != 0 || level->end != level->begin + 1) return false;
        n = level->end[n - 1];
        if (l + 1 == c->field->depth) n *= levada_column_inner(c);
    }
    return true;
}

/* Returns where the values of row i of a padded column begin. */
static int32_t export_first(const levada_column *c, int64_t i)
{
    int64_t length = c->lengths ? c->lengths[i] : c->dims[0];

    return (int32_t)(i * c->dims[0] + (c->field->left ? c->dims[0] - length : 0));
}

/* Copies the values of a padded column without the padding. */
static levada_status export_unpad(levada_builder *b, int32_t field, const levada_field *f,
                                  const levada_column *from, levada_error *err)
{
    levada_column        rows = *from; /* a row of it is one step */
    levada_gather_range *ranges = levada_alloc((size_t)(from->n + 1) * sizeof *ranges);
    int32_t             *offsets = NULL;
    levada_status        st;

    if (!ranges) return export_memory(err);
    rows.field = f;
    memmove(rows.dims, rows.dims + 1, f->ndim * sizeof rows.dims[0]);
    rows.level[1] = rows.level[0];
    levada_builder_dims(b, field, rows.dims);
    st = levada_builder_offsets(b, field, 0, from->n, &offsets, err);
    for (int64_t i = 0; st == LEVADA_OK && i < from->n; i++) {
        int32_t length = from->lengths ? from->lengths[i] : (int32_t)from->dims[0];
        int32_t first = export_first(from, i);

        ranges[i] = (levada_gather_range){ &rows, first, first + length };
        offsets[i + 1] = offsets[i] + length;
    }
    if (st != LEVADA_OK) {
        levada_free(ranges);
        return st;
    }
    return levada_gather_ranges(b, field, 1, ranges, from->n, err);
}

/* Fills a field with a column, copied if arrays cannot point to it. */
static levada_status export_column(levada_builder *b, int32_t field, const levada_field *f,
                                   const levada_column *from, levada_error *err)
{
    levada_gather_range *all;

    if (from->field->padded) return export_unpad(b, field, f, from, err);
    if (export_is_plain(from)) {
        levada_builder_share(b, field, from);
        return LEVADA_OK;
    }
    all = levada_alloc(sizeof *all);
    if (!all) return export_memory(err);
    *all = (levada_gather_range){ from, 0, (int32_t)from->n };
    levada_builder_dims(b, field, from->dims);
    return levada_gather_ranges(b, field, 0, all, 1, err);
}

/* Returns the block itself if arrays can point to all of its columns. */
static levada_status export_plain(const levada_block *block, const levada_spec *spec,
                                  levada_block **out, levada_error *err)
{
    levada_pool    *pool = levada_env_pool(NULL);
    levada_builder *b = NULL;
    levada_status   st = LEVADA_OK;
    bool            plain = true;

    for (int32_t i = 0; i < levada_spec_count(spec); i++) {
        plain = plain && export_is_plain(&block->columns[i]);
    }
    if (plain) {
        *out = levada_block_ref(block);
        return LEVADA_OK;
    }
    if (!pool) return export_memory(err);
    LEVADA_TRY(levada_builder_make(pool, spec, block->n, &b, err));
    for (int32_t i = 0; st == LEVADA_OK && i < levada_spec_count(spec); i++) {
        st = export_column(b, i, levada_spec_field(spec, i), &block->columns[i], err);
    }
    if (st == LEVADA_OK) st = levada_builder_publish(&b, out, err);
    levada_builder_destroy(&b);
    return st;
}

/* -- public */

levada_status levada_arrow_export_spec(const levada_spec *spec, struct ArrowSchema *out,
                                       levada_error *err)
{
    LEVADA_TRY(levada_require(spec != NULL, "spec", err));
    LEVADA_TRY(levada_require(out != NULL, "out", err));
    levada_spec       *plain = NULL;
    levada_arrow_node *plan = NULL;
    levada_status      st;

    LEVADA_TRY(levada_arrow_unpadded(spec, &plain, err));
    st = levada_arrow_plan(plain, &plan, err);
    if (st == LEVADA_OK) st = levada_arrow_schema(plan, out, err);
    levada_arrow_plan_free(&plan);
    levada_spec_unref(&plain);
    return st;
}

levada_status levada_arrow_export_block(const levada_block *block, struct ArrowArray *out,
                                        levada_error *err)
{
    LEVADA_TRY(levada_require(block != NULL, "block", err));
    LEVADA_TRY(levada_require(out != NULL, "out", err));
    levada_spec       *spec = NULL;
    levada_block      *rows = NULL, *plain = NULL;
    levada_arrow_node *plan = NULL;
    levada_status      st;

    LEVADA_TRY(levada_arrow_unpadded(block->spec, &spec, err));
    st = levada_block_gather(levada_env_pool(NULL), block, &rows, err);
    if (st == LEVADA_OK) st = export_plain(rows, spec, &plain, err);
    if (st == LEVADA_OK) st = levada_arrow_plan(spec, &plan, err);
    if (st == LEVADA_OK) st = levada_arrow_array(plan, plain, out, err);
    levada_arrow_plan_free(&plan);
    levada_block_unref(&plain);
    levada_block_unref(&rows);
    levada_spec_unref(&spec);
    return st;
}
