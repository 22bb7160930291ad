/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Elements into their buckets, one by one or a block at a time. Of a block, the records of each
 * bucket become one selection, which enters the queue of the bucket in one call.
 */
#include "base/alloc.h"
#include "base/assert.h"
#include "base/process.h"
#include "batch/bucket_rule.h"
#include "batch/length.h"
#include "train/bucket_queue_priv.h"

#include <levada/stage.h>

#include <stdio.h>
#include <string.h>

/* -- keys -------------------------------------------------------------------------------------- */

levada_status levada_bucket_index(const levada_bucket *bucket, int64_t key, int32_t *index,
                                  levada_error *err)
{
    LEVADA_TRY(LEVADA_USABLE(bucket, "bucket", err));
    LEVADA_TRY(levada_require(index != NULL, "index", err));
    if (bucket->by_length) {
        if (key < INT32_MIN || key > INT32_MAX) {
            return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                               "sequence length %lld is not an int32", (long long)key);
        }
        *index = (int32_t)levada_bucket_rule_find(bucket->boundaries, bucket->n - 1, key);
        return LEVADA_OK;
    }
    if (key < 0 || key >= bucket->n) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "which_bucket=%lld is not in [0, %d): the element fits no bucket",
                           (long long)key, (int)bucket->n);
    }
    *index = (int32_t)key;
    return LEVADA_OK;
}

static bool put_is_integer(levada_dtype dtype)
{
    return dtype >= LEVADA_INT8 && dtype <= LEVADA_UINT64;
}

/* -- elements ---------------------------------------------------------------------------------- */

static levada_status put_not_a_key(int32_t i, levada_dtype dtype, int32_t rank, const char *what,
                                   levada_error *err)
{
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "component %d (%s of rank %d) is not %s",
                       (int)i, levada_dtype_name(dtype), (int)rank, what);
}

static levada_status put_key(const levada_bucket *b, levada_tensor *const *element, int64_t *key,
                             levada_error *err)
{
    int32_t              i = b->options.key_component;
    const levada_tensor *t;

    if (b->options.key != NULL) return b->options.key(b->options.user, element, key, err);
    t = element[i];
    if (t->shape.rank > 0 && b->by_length) {
        *key = t->shape.dims[0];
        return LEVADA_OK;
    }
    if (t->shape.rank != 0 || !put_is_integer(t->dtype)) {
        return put_not_a_key(i, t->dtype, t->shape.rank,
                             b->by_length ? "a length" : "the number of a bucket", err);
    }
    *key = levada_length_number(t->dtype, t->data);
    return LEVADA_OK;
}

static levada_status put_keep(const levada_bucket *b, levada_tensor *const *element, bool *keep,
                              levada_error *err)
{
    int32_t              i = b->options.keep_component;
    const levada_tensor *t;

    *keep = true;
    if (b->options.keep != NULL) return b->options.keep(b->options.user, element, keep, err);
    if (i < 0) return LEVADA_OK;
    t = element[i];
    if (t->shape.rank != 0 || (t->dtype != LEVADA_BOOL && !put_is_integer(t->dtype))) {
        return put_not_a_key(i, t->dtype, t->shape.rank, "a bool, true to keep the element",
                             err);
    }
    *keep = t->dtype == LEVADA_BOOL ? *t->data != 0 : levada_length_number(t->dtype, t->data) != 0;
    return LEVADA_OK;
}

static levada_status put_given(const levada_bucket *b, levada_tensor *const *element,
                               levada_error *err)
{
    int32_t n = b->ncomponents - b->by_length;

    LEVADA_TRY(levada_require(element != NULL, "components", err));
    for (int32_t i = 0; i < n; i++) {
        if (element[i] == NULL) {
            return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                               "component %d of %d of the element is NULL", (int)i, (int)n);
        }
    }
    return LEVADA_OK;
}

levada_status levada_bucket_put(levada_bucket *bucket, levada_tensor *const *components,
                                int64_t timeout, levada_error *err)
{
    levada_tensor *all[LEVADA_QUEUE_COMPONENTS] = { NULL };
    levada_shape   scalar = { 0, { 0 } };
    levada_status  st;
    int64_t        key = 0;
    int32_t        index = 0, first = 0, length;
    bool           keep = true;

    LEVADA_TRY(LEVADA_USABLE(bucket, "bucket", err));
    LEVADA_TRY(put_given(bucket, components, err));
    LEVADA_TRY(put_keep(bucket, components, &keep, err));
    if (!keep) {
        levada_bucket_queue_add(bucket, &(levada_bucket_counts){ .filtered = 1 });
        return LEVADA_OK;
    }
    LEVADA_TRY(put_key(bucket, components, &key, err));
    LEVADA_TRY(levada_bucket_index(bucket, key, &index, err));
    if (bucket->by_length) {
        length = (int32_t)key;
        LEVADA_TRY(levada_tensor_make(bucket->pool, LEVADA_INT32, &scalar, &all[0], err));
        memcpy(all[0]->data, &length, sizeof(length));
        first = 1;
    }
    memcpy(all + first, components, (size_t)(bucket->ncomponents - first) * sizeof(*components));
    st = levada_queue_enqueue(bucket->slots[index].queue, all, timeout, err);
    if (first > 0) levada_tensor_unref(&all[0]);
    return st;
}

/* -- blocks ------------------------------------------------------------------------------------ */

/* Where the rows of a block go. */
typedef struct put_plan {
    void    *memory;
    int64_t *keys;   /* of each row */
    int32_t *index;  /* bucket of each row, -1: not kept */
    int32_t *first;  /* of each bucket, in `rows`; n + 1 */
    int32_t *rows;   /* by bucket, in order */
    int64_t  filtered;
} put_plan;

static levada_status put_plan_make(const levada_bucket *b, int64_t n, put_plan *plan,
                                   levada_error *err)
{
    size_t keys, rest, size;

    if (!levada_size_of((size_t)n, sizeof(int64_t), 0, &keys) ||
        !levada_size_of((size_t)n, 2 * sizeof(int32_t), ((size_t)b->n + 1) * sizeof(int32_t),
                        &rest) ||
        !levada_size_of(1, keys, rest, &size) || (plan->memory = levada_alloc(size)) == NULL) {
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for %lld records",
                           (long long)n);
    }
    plan->keys = plan->memory;
    plan->index = (int32_t *)(void *)(plan->keys + n);
    plan->rows = plan->index + n;
    plan->first = plan->rows + n;
    return LEVADA_OK;
}

/* Sets -1 for rows that are not kept, 0 for others. */
static levada_status put_keep_rows(levada_bucket *b, const levada_block *block, put_plan *plan,
                                   levada_error *err)
{
    int32_t              i = b->options.keep_component;
    const levada_column *c = i < 0 ? NULL : levada_block_at(block, i + b->by_length);
    int64_t              n = levada_block_rows(block);

    memset(plan->index, 0, (size_t)n * sizeof(*plan->index));
    if (c == NULL) return LEVADA_OK;
    if (c->field->depth + c->field->ndim > 0 ||
        (c->field->dtype != LEVADA_BOOL && !put_is_integer(c->field->dtype))) {
        return put_not_a_key(i, c->field->dtype, c->field->depth + c->field->ndim,
                             "a bool, true to keep the record", err);
    }
    if (c->field->dtype != LEVADA_BOOL) {
        LEVADA_TRY(levada_length_measure(c->field->name, block, plan->keys, 1, err));
    }
    for (int64_t k = 0; k < n; k++) {
        bool keep = c->field->dtype == LEVADA_BOOL ? c->values[k] != 0 : plan->keys[k] != 0;

        if (!keep) plan->index[k] = -1;
        plan->filtered += !keep;
    }
    levada_bucket_queue_add(b, &(levada_bucket_counts){ .filtered = plan->filtered });
    return LEVADA_OK;
}

/* Finds the bucket of each row; *n becomes the first row that has none, with an error. */
static levada_status put_index_rows(levada_bucket *b, const levada_block *block, put_plan *plan,
                                    int64_t *n, levada_error *err)
{
    int32_t              i = b->options.key_component;
    const levada_column *c = levada_block_at(block, i + b->by_length);
    const levada_field  *f = c->field;

    if (!b->by_length && (f->depth + f->ndim > 0 || !put_is_integer(f->dtype))) {
        *n = 0;
        return put_not_a_key(i, f->dtype, f->depth + f->ndim, "the number of a bucket", err);
    }
    LEVADA_TRY(levada_length_measure(f->name, block, plan->keys, 1, err));
    for (int64_t k = 0; k < *n; k++) {
        levada_status st;

        if (plan->index[k] < 0) continue;
        st = levada_bucket_index(b, plan->keys[k], &plan->index[k], err);
        if (st == LEVADA_OK) continue;
        levada_error_wrap(err, "record %lld",
                          (long long)levada_block_origin(block, k).record);
        *n = k;
        return st;
    }
    return LEVADA_OK;
}

/* Sorts the first n rows by bucket: first[i] .. first[i + 1) are those of bucket i. */
static void put_sort(const levada_bucket *b, put_plan *plan, int64_t n)
{
    int32_t at = 0;

    memset(plan->first, 0, ((size_t)b->n + 1) * sizeof(*plan->first));
    for (int64_t k = 0; k < n; k++) {
        if (plan->index[k] >= 0) plan->first[plan->index[k]]++;
    }
    for (int32_t i = 0; i <= b->n; i++) {
        int32_t rows = i < b->n ? plan->first[i] : 0;

        plan->first[i] = at;
        at += rows;
    }
    for (int64_t k = 0; k < n; k++) {
        if (plan->index[k] >= 0) plan->rows[plan->first[plan->index[k]]++] = (int32_t)k;
    }
    for (int32_t i = b->n; i > 0; i--) plan->first[i] = plan->first[i - 1];
    plan->first[0] = 0;
}

static levada_status put_rows(levada_bucket *b, int32_t i, const levada_block *block,
                              const int32_t *rows, int32_t n, int64_t timeout, int64_t *done,
                              levada_error *err)
{
    levada_block *part = NULL;
    levada_status st;

    if (n == levada_block_rows(block)) part = levada_block_ref(block);
    else LEVADA_TRY(levada_block_select(block, rows, n, &part, err));
    st = levada_queue_enqueue_block(b->slots[i].queue, part, NULL, 0, timeout, done, err);
    levada_block_unref(&part);
    return st;
}

/* Makes the columns of the components in order, after a column for the length. */
static levada_status put_spec(const levada_bucket *b, const levada_block *block,
                              const int32_t *columns, levada_spec **out, levada_error *err)
{
    const levada_spec *spec = levada_block_spec(block);
    levada_field       fields[LEVADA_QUEUE_COMPONENTS];
    char               name[64] = "sequence_length";
    int32_t            n = b->ncomponents - b->by_length;

    for (int32_t i = 0; i < n; i++) {
        int32_t             column = columns != NULL ? columns[i] : i;
        const levada_field *f = levada_spec_field(spec, column);

        if (f == NULL) {
            return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                               "the block has no column %d for component %d", (int)column, (int)i);
        }
        fields[i + b->by_length] = *f;
    }
    for (size_t size = strlen(name); levada_spec_find(spec, name) >= 0 && size < 63; size++) {
        name[size] = '_';
        name[size + 1] = '\0';
    }
    if (b->by_length) fields[0] = (levada_field){ .name = name, .dtype = LEVADA_INT32 };
    return levada_spec_create(fields, b->ncomponents, LEVADA_SPEC_PLAIN, out, err);
}

/* Shares the columns of a DATA block; the lengths are written later. */
static levada_status put_columns(const levada_bucket *b, const levada_block *block,
                                 const int32_t *columns, int32_t **lengths, levada_block **out,
                                 levada_error *err)
{
    levada_spec    *spec = NULL;
    levada_builder *builder = NULL;
    void           *values = NULL;
    levada_status   st;

    LEVADA_TRY(put_spec(b, block, columns, &spec, err));
    st = levada_builder_make(b->pool, spec, levada_block_rows(block), &builder, err);
    if (st == LEVADA_OK && b->by_length) {
        st = levada_builder_values(builder, 0, levada_block_rows(block), &values, err);
    }
    for (int32_t i = b->by_length; st == LEVADA_OK && i < b->ncomponents; i++) {
        int32_t from = i - b->by_length;

        levada_builder_share(builder, i,
                             levada_block_at(block, columns != NULL ? columns[from] : from));
    }
    *lengths = values;
    if (st == LEVADA_OK) st = levada_builder_publish(&builder, out, err);
    if (st == LEVADA_OK) st = levada_block_copy_origins(b->pool, *out, block, err);
    if (st != LEVADA_OK) levada_block_unref(out);
    levada_builder_destroy(&builder);
    levada_spec_unref(&spec);
    return st;
}

static levada_status put_block(levada_bucket *b, const levada_block *block, int32_t *lengths,
                               put_plan *plan, int64_t timeout, int64_t *done, levada_error *err)
{
    levada_error  own = LEVADA_ERROR_INIT;
    int64_t       n = levada_block_rows(block);
    levada_status st, unfit;

    LEVADA_TRY(put_keep_rows(b, block, plan, err));
    unfit = put_index_rows(b, block, plan, &n, &own);
    put_sort(b, plan, n);
    for (int64_t k = 0; lengths != NULL && k < n; k++) lengths[k] = (int32_t)plan->keys[k];
    for (int32_t i = 0; i < b->n; i++) {
        int32_t first = plan->first[i], rows = plan->first[i + 1] - first;
        int64_t in = 0;

        if (rows == 0) continue;
        st = put_rows(b, i, block, plan->rows + first, rows, timeout, &in, err);
        *done += in;
        if (st != LEVADA_OK) return st;
    }
    if (unfit != LEVADA_OK && err != NULL) *err = own;
    return unfit;
}

levada_status levada_bucket_put_block(levada_bucket *bucket, const levada_block *block,
                                      const int32_t *columns, int64_t timeout, levada_error *err)
{
    levada_block *plain = NULL, *own = NULL;
    put_plan      plan = { 0 };
    int32_t      *lengths = NULL;
    int64_t       done = 0, n;
    levada_status st;

    LEVADA_TRY(LEVADA_USABLE(bucket, "bucket", err));
    LEVADA_TRY(levada_require(block != NULL, "block", err));
    if (bucket->options.key != NULL || bucket->options.keep != NULL) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "key and keep are functions of one element: a block needs components");
    }
    n = levada_block_rows(block);
    if (n == 0) return LEVADA_OK;
    st = levada_block_gather(bucket->pool, block, &plain, err);
    if (st == LEVADA_OK) st = put_columns(bucket, plain, columns, &lengths, &own, err);
    if (st == LEVADA_OK) st = put_plan_make(bucket, n, &plan, err);
    if (st == LEVADA_OK) st = put_block(bucket, own, lengths, &plan, timeout, &done, err);
    n -= done + plan.filtered;
    if (st != LEVADA_OK) levada_bucket_queue_add(bucket, &(levada_bucket_counts){ .dropped = n });
    levada_free(plan.memory);
    levada_block_unref(&own);
    levada_block_unref(&plain);
    return st;
}
