/* SPDX-License-Identifier: Apache-2.0 */
#include "tensor/tensor_priv.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "base/refs.h"

#include <string.h>

#define TENSOR_INLINE 2048   /* bytes that follow the header              */
#define TENSOR_COPY_ROW 4096 /* rows up to this number of bytes are copied */
#define TENSOR_HEADER ((sizeof(levada_tensor) + 15) & ~(size_t)15)

static levada_status tensor_header(levada_dtype dtype, const levada_shape *shape, size_t extra,
                                   levada_tensor **out, levada_error *err)
{
    levada_tensor *t = levada_alloc(TENSOR_HEADER + extra);

    if (t == NULL)
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a tensor");
    atomic_init(&t->refs, 1);
    t->dtype = dtype;
    t->shape = *shape;
    t->count = t->bytes = 0;
    t->data = (uint8_t *)t + TENSOR_HEADER;
    t->offsets = NULL;
    t->buffer = NULL;
    t->parent = NULL;
    *out = t;
    return LEVADA_OK;
}

static levada_status tensor_check(levada_dtype dtype, const levada_shape *shape, int64_t *count,
                                  levada_error *err)
{
    char text[LEVADA_SHAPE_TEXT];

    if (!levada_dtype_is_bytes(dtype) && levada_dtype_size(dtype) == 0) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "a tensor cannot have dtype %d",
                           (int)dtype);
    }
    if (shape->rank > LEVADA_MAX_DIMS || !levada_shape_known(shape)) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "a tensor needs at most %d dimensions, all known; its rank is %d",
                           LEVADA_MAX_DIMS, (int)shape->rank);
    }
    *count = levada_shape_count(shape);
    if (*count >= 0) return LEVADA_OK;
    return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "a tensor of shape %s is too large",
                       levada_shape_print(shape, text));
}

static levada_status tensor_alloc(levada_pool *pool, levada_dtype dtype, const levada_shape *shape,
                                  int64_t count, int64_t bytes, levada_tensor **out,
                                  levada_error *err)
{
    levada_tensor *t = NULL;
    bool           strings = levada_dtype_is_bytes(dtype);
    int64_t        heads = strings ? (count + 1) * (int64_t)sizeof(int32_t) : 0;
    int64_t        all = heads + bytes;
    levada_status  status;

    LEVADA_TRY(tensor_header(dtype, shape, all <= TENSOR_INLINE ? (size_t)all : 0, &t, err));
    if (all > TENSOR_INLINE) {
        status = levada_buffer_create(pool, all, &t->buffer, err);
        if (status != LEVADA_OK) {
            levada_free(t);
            return status;
        }
        t->data = t->buffer->data;
    }
    if (levada_dtype_is_bytes(dtype)) {
        t->offsets = (int32_t *)(void *)t->data;
        t->data += heads;
    }
    t->count = count;
    t->bytes = bytes;
    *out = t;
    return LEVADA_OK;
}

levada_status levada_tensor_make(levada_pool *pool, levada_dtype dtype, const levada_shape *shape,
                                 levada_tensor **out, levada_error *err)
{
    int64_t count = 0;

    LEVADA_TRY(tensor_check(dtype, shape, &count, err));
    if (pool == NULL) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory");
    return tensor_alloc(pool, dtype, shape, count, count * levada_dtype_size(dtype), out, err);
}

levada_status levada_tensor_make_strings(levada_pool *pool, const levada_shape *shape,
                                         int64_t bytes, levada_tensor **out, levada_error *err)
{
    int64_t count = 0;

    LEVADA_TRY(tensor_check(LEVADA_BYTES, shape, &count, err));
    if (pool == NULL) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory");
    if (bytes > INT32_MAX) {
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED,
                           "%lld bytes of strings are more than a tensor holds (2 GiB)",
                           (long long)bytes);
    }
    return tensor_alloc(pool, LEVADA_BYTES, shape, count, bytes, out, err);
}

levada_status levada_tensor_create(levada_env *env, levada_dtype dtype, const levada_shape *shape,
                                   const void *data, levada_tensor **out, levada_error *err)
{
    LEVADA_TRY(levada_require(out != NULL, "out", err));
    LEVADA_TRY(levada_require(shape != NULL, "shape", err));
    levada_tensor *t = NULL;

    if (levada_dtype_is_bytes(dtype)) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "levada_tensor_create makes tensors of numbers; for byte strings use "
                           "levada_tensor_create_strings");
    }
    LEVADA_TRY(levada_tensor_make(levada_env_pool(env), dtype, shape, &t, err));
    if (data != NULL && t->bytes > 0) memcpy(t->data, data, (size_t)t->bytes);
    *out = t;
    return LEVADA_OK;
}

levada_status levada_tensor_create_strings(levada_env *env, const levada_shape *shape,
                                           const int32_t *offsets, const void *bytes,
                                           levada_tensor **out, levada_error *err)
{
    LEVADA_TRY(levada_require(out != NULL, "out", err));
    LEVADA_TRY(levada_require(shape != NULL, "shape", err));
    LEVADA_TRY(levada_require(offsets != NULL, "offsets", err));
    levada_tensor *t = NULL;
    int64_t        count = 0, size;

    LEVADA_TRY(tensor_check(LEVADA_BYTES, shape, &count, err));
    for (int64_t i = 0; i < count; i++) {
        if (offsets[i] < 0 || offsets[i + 1] < offsets[i]) {
            return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                               "offsets of byte strings must not decrease, but offset %lld is "
                               "%lld, after %lld",
                               (long long)i + 1, (long long)offsets[i + 1], (long long)offsets[i]);
        }
    }
    size = count > 0 ? offsets[count] - offsets[0] : 0;
    LEVADA_TRY(levada_tensor_make_strings(levada_env_pool(env), shape, size, &t, err));
    t->offsets[0] = 0;
    for (int64_t i = 1; i <= count; i++) t->offsets[i] = offsets[i] - offsets[0];
    if (size > 0) memcpy(t->data, (const uint8_t *)bytes + offsets[0], (size_t)size);
    *out = t;
    return LEVADA_OK;
}

levada_status levada_tensor_wrap(levada_dtype dtype, const levada_shape *shape, const void *data,
                                 void (*release)(void *user), void *user, levada_tensor **out,
                                 levada_error *err)
{
    LEVADA_TRY(levada_require(out != NULL, "out", err));
    LEVADA_TRY(levada_require(shape != NULL, "shape", err));
    levada_tensor *t = NULL;
    int64_t        count = 0, size = levada_dtype_size(dtype);
    levada_status  status;

    LEVADA_TRY(tensor_check(dtype, shape, &count, err));
    if (levada_dtype_is_bytes(dtype)) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "byte strings cannot be wrapped; use levada_tensor_create_strings");
    }
    LEVADA_TRY(tensor_header(dtype, shape, 0, &t, err));
    status = levada_buffer_wrap(data, count * size, release, user, &t->buffer, err);
    if (status != LEVADA_OK) {
        levada_free(t);
        return status;
    }
    t->data = t->buffer->data;
    t->count = count;
    t->bytes = count * size;
    *out = t;
    return LEVADA_OK;
}

levada_tensor *levada_tensor_ref(const levada_tensor *tensor)
{
    if (!tensor) return NULL;
    levada_tensor *t = (levada_tensor *)(uintptr_t)tensor;

    if (t != NULL) levada_refs_add(&t->refs);
    return t;
}

void levada_tensor_unref(levada_tensor **tensor)
{
    if (!tensor) return;
    levada_tensor *t = *tensor;

    *tensor = NULL;
    if (t == NULL) return;
    /* The only holder needs no atomic operation. */
    if (atomic_load_explicit(&t->refs, memory_order_acquire) != 1 &&
        !levada_refs_drop(&t->refs)) {
        return;
    }
    if (t->buffer != NULL) levada_buffer_unref(&t->buffer);
    if (t->parent != NULL) levada_tensor_unref(&t->parent);
    levada_free(t);
}

levada_dtype levada_tensor_dtype(const levada_tensor *tensor)
{
    if (!tensor) return (levada_dtype)0;
    return tensor->dtype;
}

const levada_shape *levada_tensor_shape(const levada_tensor *tensor)
{
    if (!tensor) return NULL;
    return &tensor->shape;
}

int64_t levada_tensor_count(const levada_tensor *tensor)
{
    if (!tensor) return 0;
    return tensor->count;
}

int64_t levada_tensor_bytes(const levada_tensor *tensor)
{
    if (!tensor) return 0;
    return tensor->bytes;
}

void *levada_tensor_data(const levada_tensor *tensor)
{
    if (!tensor) return NULL;
    return tensor->data;
}

const int32_t *levada_tensor_offsets(const levada_tensor *tensor)
{
    if (!tensor) return NULL;
    return tensor->offsets;
}

/* -- rows -------------------------------------------------------------------------------------- */

static levada_status tensor_row_strings(levada_pool *pool, const levada_tensor *tensor,
                                        const levada_shape *shape, int64_t i, levada_tensor **out,
                                        levada_error *err)
{
    int64_t        n = levada_shape_count(shape);
    const int32_t *at = tensor->offsets + i * n;
    levada_tensor *row = NULL;

    LEVADA_TRY(levada_tensor_make_strings(pool, shape, at[n] - at[0], &row, err));
    for (int64_t k = 0; k <= n; k++) row->offsets[k] = at[k] - at[0];
    if (row->bytes > 0) memcpy(row->data, tensor->data + at[0], (size_t)row->bytes);
    *out = row;
    return LEVADA_OK;
}

levada_status levada_tensor_row(levada_pool *pool, const levada_tensor *tensor, int64_t i,
                                levada_tensor **out, levada_error *err)
{
    levada_shape   shape = levada_shape_row(&tensor->shape);
    levada_tensor *row = NULL;
    int64_t        count = levada_shape_count(&shape);
    int64_t        bytes = count * levada_dtype_size(tensor->dtype);

    if (levada_dtype_is_bytes(tensor->dtype)) {
        return tensor_row_strings(pool, tensor, &shape, i, out, err);
    }
    if (bytes <= TENSOR_COPY_ROW) {
        LEVADA_TRY(tensor_alloc(pool, tensor->dtype, &shape, count, bytes, &row, err));
        if (bytes > 0) memcpy(row->data, tensor->data + i * bytes, (size_t)bytes);
    } else {
        LEVADA_TRY(tensor_header(tensor->dtype, &shape, 0, &row, err));
        row->parent = levada_tensor_ref(tensor);
        row->data = tensor->data + i * bytes;
        row->count = count;
        row->bytes = bytes;
    }
    *out = row;
    return LEVADA_OK;
}

void levada_tensor_shrink(levada_tensor *tensor, int64_t n)
{
    int64_t had = tensor->shape.dims[0];

    if (n >= had) return;
    tensor->shape.dims[0] = n;
    tensor->count = tensor->count / had * n;
    if (tensor->offsets != NULL)
        tensor->bytes = tensor->offsets[tensor->count] - tensor->offsets[0];
    else tensor->bytes = tensor->bytes / had * n;
}
