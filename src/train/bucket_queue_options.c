/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Options of a bucket: checks, the types of its elements, and the queues for them.
 */
#include "base/alloc.h"
#include "base/assert.h"
#include "base/versioned.h"
#include "batch/bucket_rule.h"
#include "train/bucket_queue_priv.h"

#include <stdio.h>

#define BUCKET_MOST 65536    /* buckets, a thread each */
#define BUCKET_THREADS 65536 /* that call `next` */
#define BUCKET_NAME_SIZE 320 /* bytes of the name of a queue */

enum { BUCKET_COMPONENTS = LEVADA_QUEUE_COMPONENTS - 2 }; /* besides the length and the number */

levada_status levada_bucket_queue_short(levada_error *err)
{
    return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for buckets");
}

/* -- checks ------------------------------------------------------------------------------------ */

int32_t levada_bucket_queue_count(const levada_bucket_options *o)
{
    return o->boundaries != NULL ? o->nboundaries + 1 : o->num_buckets;
}

static levada_status bucket_check_boundaries(const levada_bucket_options *o, levada_error *err)
{
    if (o->nboundaries < 1) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "bucket_boundaries must not be empty");
    }
    for (int32_t i = 0; i < o->nboundaries; i++) {
        LEVADA_TRY(levada_bucket_rule_check(o->boundaries, i, err));
    }
    if (o->num_buckets == 0 || o->num_buckets == o->nboundaries + 1) return LEVADA_OK;
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "num_buckets=%d does not fit %d boundaries",
                       (int)o->num_buckets, (int)o->nboundaries);
}

static levada_status bucket_check_capacity(const char *what, int64_t capacity, levada_error *err)
{
    if (capacity > 0 || capacity == -1) return LEVADA_OK;
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                       "%s=%lld must be at least 1, or -1 for no limit", what,
                       (long long)capacity);
}

static levada_status bucket_check_sizes(const levada_bucket_options *o, int32_t n,
                                        levada_error *err)
{
    if (o->batch_sizes == NULL || (o->nbatch_sizes != 1 && o->nbatch_sizes != n)) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "If batch_size is a list it must have num_buckets elements: it has %d, "
                           "num_buckets is %d",
                           (int)o->nbatch_sizes, (int)n);
    }
    for (int32_t i = 0; i < o->nbatch_sizes; i++) {
        if (o->batch_sizes[i] > 0) continue;
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "batch_size=%lld must be at least 1",
                           (long long)o->batch_sizes[i]);
    }
    LEVADA_TRY(bucket_check_capacity("capacity", o->capacity, err));
    if (o->capacities == NULL) return LEVADA_OK;
    if (o->ncapacities != n) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "The list bucket_capacities (%d entries) must have exactly num_buckets "
                           "(%d) elements",
                           (int)o->ncapacities, (int)n);
    }
    for (int32_t i = 0; i < n; i++) {
        LEVADA_TRY(bucket_check_capacity("bucket_capacities", o->capacities[i], err));
    }
    return LEVADA_OK;
}

/* Checks a list that may be NULL. */
static levada_status bucket_check_list(const char *name, const int64_t *list, int32_t n,
                                       levada_error *err)
{
    if (n >= 0 && (list != NULL || n == 0)) return LEVADA_OK;
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                       "n%s=%d must be the length of %s, which is %s", name, (int)n, name,
                       list != NULL ? "a list" : "NULL");
}

static levada_status bucket_check(const levada_bucket_options *o, levada_error *err)
{
    int32_t n = levada_bucket_queue_count(o);

    if (o->boundaries != NULL) LEVADA_TRY(bucket_check_boundaries(o, err));
    if (n < 1 || n > BUCKET_MOST) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "num_buckets=%d is not in [1, %d]",
                           (int)n, BUCKET_MOST);
    }
    if (o->num_threads < 0 || o->num_threads > BUCKET_THREADS) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "num_threads=%d must be from 1 to %d",
                           (int)o->num_threads, BUCKET_THREADS);
    }
    LEVADA_TRY(bucket_check_list("boundaries", o->boundaries, o->nboundaries, err));
    LEVADA_TRY(bucket_check_list("capacities", o->capacities, o->ncapacities, err));
    if (o->ncomponents < 0) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "ncomponents=%d must not be negative",
                           (int)o->ncomponents);
    }
    return bucket_check_sizes(o, n, err);
}

levada_status levada_bucket_queue_read_options(const levada_bucket_options *options,
                                               levada_bucket_options *all, levada_error *err)
{
    *all = (levada_bucket_options)LEVADA_BUCKET_OPTIONS_INIT;
    LEVADA_TRY(levada_require(options != NULL, "options", err));
    LEVADA_TRY(LEVADA_VERSIONED_READ(*all, options, levada_bucket_options, err));
    return bucket_check(all, err);
}

levada_status levada_bucket_check(const levada_bucket_options *options, levada_error *err)
{
    levada_bucket_options all;

    return levada_bucket_queue_read_options(options, &all, err);
}

static levada_status bucket_check_component(const char *what, int32_t i, int32_t n,
                                            levada_error *err)
{
    if (i >= 0 && i < n) return LEVADA_OK;
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "%s=%d is not one of %d components", what,
                       (int)i, (int)n);
}

static levada_status bucket_check_source(const levada_bucket_options *o, levada_error *err)
{
    if (o->dataset == NULL) return LEVADA_OK;
    if (o->next != NULL || o->key != NULL || o->keep != NULL) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "a dataset has no functions next, key or keep: name components, which "
                           "map() can add");
    }
    if ((levada_spec_flags_of(levada_dataset_spec(o->dataset)) & LEVADA_SPEC_BATCHED) == 0) {
        return LEVADA_OK;
    }
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                       "the dataset ends in a batching stage; buckets need single records: add "
                       "unbatch()");
}

/* -- types of elements ------------------------------------------------------------------------- */

/* Those of an element, of a length before it, and of a finished batch in the top queue. */
typedef struct bucket_types {
    int32_t      n;
    levada_dtype dtypes[LEVADA_QUEUE_COMPONENTS];
    levada_shape shapes[LEVADA_QUEUE_COMPONENTS];
} bucket_types;

static void bucket_add_type(bucket_types *to, levada_dtype dtype, const levada_shape *shape)
{
    to->dtypes[to->n] = dtype;
    to->shapes[to->n++] = *shape;
}

/* Sets the shape of the rows of a field as tensors. */
static levada_shape bucket_field_shape(const levada_field *f, bool dynamic_pad)
{
    levada_shape shape = { f->depth + f->ndim, { 0 } };

    if (f->depth > 0) shape.dims[0] = -1;
    for (int32_t d = 0; d < f->ndim; d++) shape.dims[f->depth + d] = f->dims[d];
    for (int32_t d = 0; dynamic_pad && d < shape.rank; d++) shape.dims[d] = -1;
    return shape;
}

static levada_status bucket_add_field(bucket_types *to, const levada_spec *spec, int32_t column,
                                      const levada_bucket_options *o, levada_error *err)
{
    const levada_field *f = levada_spec_field(spec, column);
    levada_shape        shape;

    if (f->depth > 1 || f->depth + f->ndim >= LEVADA_MAX_DIMS) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "field '%s' has %d ragged levels: a value of it is not a tensor",
                           f->name, (int)f->depth);
    }
    shape = bucket_field_shape(f, o->dynamic_pad);
    if (!levada_shape_known(&shape) && !o->dynamic_pad) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "field '%s' differs in shape from record to record; dynamic_pad pads it",
                           f->name);
    }
    bucket_add_type(to, f->dtype, &shape);
    return LEVADA_OK;
}

/* Reads the columns of the dataset, and their types unless the options have them. */
static levada_status bucket_read_dataset(levada_bucket *b, const levada_bucket_options *o,
                                         int32_t n, bucket_types *to, levada_error *err)
{
    const levada_spec *spec = levada_dataset_spec(o->dataset);

    for (int32_t i = 0; i < n; i++) {
        int32_t column = o->fields != NULL ? levada_spec_find(spec, o->fields[i]) : i;

        if (levada_spec_field(spec, column) == NULL) {
            return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                               "component %d is not a field of the dataset%s%s", (int)i,
                               o->fields != NULL ? ": " : "",
                               o->fields != NULL ? o->fields[i] : "");
        }
        b->columns[i] = column;
        if (o->dtypes != NULL && o->shapes != NULL) {
            bucket_add_type(to, o->dtypes[i], &o->shapes[i]);
        } else {
            LEVADA_TRY(bucket_add_field(to, spec, column, o, err));
        }
    }
    return LEVADA_OK;
}

static levada_status bucket_read_types(levada_bucket *b, const levada_bucket_options *o,
                                       bucket_types *to, levada_error *err)
{
    const levada_shape scalar = { 0, { 0 } };
    int32_t            n = o->ncomponents;

    if (o->dataset != NULL && n == 0) n = levada_spec_count(levada_dataset_spec(o->dataset));
    if (n < 1) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "Expected at least one tensor in bucket().");
    }
    if (n > BUCKET_COMPONENTS) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "an example must have at most %d components, got %d",
                           (int)BUCKET_COMPONENTS, (int)n);
    }
    if (o->key == NULL) {
        LEVADA_TRY(bucket_check_component("key_component", o->key_component, n, err));
    }
    if (o->keep == NULL && o->keep_component != -1) {
        LEVADA_TRY(bucket_check_component("keep_component", o->keep_component, n, err));
    }
    b->columns = levada_alloc((size_t)n * sizeof(*b->columns));
    if (b->columns == NULL) return levada_bucket_queue_short(err);
    b->ncomponents = n + b->by_length;
    if (b->by_length) bucket_add_type(to, LEVADA_INT32, &scalar);
    if (o->dataset != NULL) return bucket_read_dataset(b, o, n, to, err);
    LEVADA_TRY(levada_require(o->dtypes != NULL, "dtypes", err));
    LEVADA_TRY(levada_require(o->shapes != NULL, "shapes", err));
    for (int32_t i = 0; i < n; i++) bucket_add_type(to, o->dtypes[i], &o->shapes[i]);
    return LEVADA_OK;
}

/* -- queues ------------------------------------------------------------------------------------ */

/* Makes the queue "<name>/bucket_queue_<i>" or "<name>/top_queue"; shared "<shared>_<i>" or
 * "<shared>". */
static levada_status bucket_make_queue(levada_bucket *b, const levada_bucket_options *o, int32_t i,
                                       levada_queue_options *q, levada_queue **out,
                                       levada_error *err)
{
    const char *name = o->name != NULL ? o->name : "bucket";
    char        text[BUCKET_NAME_SIZE], shared[BUCKET_NAME_SIZE];
    int         size, more = 0;

    if (i >= 0) size = snprintf(text, sizeof(text), "%s/bucket_queue_%d", name, (int)i);
    else size = snprintf(text, sizeof(text), "%s/top_queue", name);
    q->name = text;
    if (o->shared_name != NULL) {
        if (i >= 0) more = snprintf(shared, sizeof(shared), "%s_%d", o->shared_name, (int)i);
        else more = snprintf(shared, sizeof(shared), "%s", o->shared_name);
        q->shared_name = shared;
    }
    if (size < 0 || size >= BUCKET_NAME_SIZE || more < 0 || more >= BUCKET_NAME_SIZE) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "name and shared_name must have at most %d bytes, got '%.40s...'",
                           BUCKET_NAME_SIZE - 32, name);
    }
    return levada_queue_create(b->env, q, out, err);
}

static levada_status bucket_make_top(levada_bucket *b, const levada_bucket_options *o,
                                     const bucket_types *types, levada_error *err)
{
    levada_queue_options q = LEVADA_QUEUE_OPTIONS_INIT;
    const levada_shape   scalar = { 0, { 0 } };
    bucket_types         all = { 0 };

    bucket_add_type(&all, LEVADA_INT32, &scalar);
    for (int32_t i = 0; i < types->n; i++) {
        levada_shape rows = { -1, { 0 } };

        if (types->shapes[i].rank < LEVADA_MAX_DIMS) {
            rows = levada_shape_rows(&types->shapes[i], -1);
        }
        if (types->shapes[i].rank < 0 || rows.rank < 0) {
            return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                               "component %d: a shape must have 0 to %d dimensions, got %d",
                               (int)(i - b->by_length), LEVADA_MAX_DIMS - 1,
                               (int)types->shapes[i].rank);
        }
        bucket_add_type(&all, types->dtypes[i], &rows);
    }
    q.kind = LEVADA_QUEUE_PADDING;
    q.capacity = o->capacity;
    q.ncomponents = all.n;
    q.dtypes = all.dtypes;
    q.shapes = all.shapes;
    return bucket_make_queue(b, o, -1, &q, &b->top, err);
}

levada_status levada_bucket_queue_make_queues(levada_bucket *b, const levada_bucket_options *o,
                                              levada_error *err)
{
    levada_queue_options q = LEVADA_QUEUE_OPTIONS_INIT;
    bucket_types         types = { 0 };

    LEVADA_TRY(bucket_check_source(o, err));
    LEVADA_TRY(bucket_read_types(b, o, &types, err));
    LEVADA_TRY(bucket_make_top(b, o, &types, err));
    q.kind = o->dynamic_pad ? LEVADA_QUEUE_PADDING : LEVADA_QUEUE_FIFO;
    q.ncomponents = types.n;
    q.dtypes = types.dtypes;
    q.shapes = types.shapes;
    for (int32_t i = 0; i < b->n; i++) {
        q.capacity = o->capacities != NULL ? o->capacities[i] : o->capacity;
        LEVADA_TRY(bucket_make_queue(b, o, i, &q, &b->slots[i].queue, err));
    }
    return LEVADA_OK;
}

LEVADA_VERSIONED_INIT(levada_bucket_options_init, levada_bucket_options, LEVADA_BUCKET_OPTIONS_INIT)
