/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tensors are arrays with a dtype and a shape, which queues and barriers hold.
 *
 * A tensor is reference-counted, C-contiguous and immutable once it is shared; the owner of the
 * only reference may write. A tensor of LEVADA_BYTES holds byte strings: n + 1 int32 offsets and
 * the bytes. Any thread may call all functions.
 *
 * Example:
 *
 *     const levada_shape shape = {2, {2, 3}};
 *     levada_tensor     *tensor = NULL;
 *
 *     LEVADA_TRY(levada_tensor_create(NULL, LEVADA_FLOAT32, &shape, NULL, &tensor, err));
 *     memset(levada_tensor_data(tensor), 0, (size_t)levada_tensor_bytes(tensor)); // 24 bytes
 *     levada_tensor_unref(&tensor);
 */
#ifndef LEVADA_TENSOR_H
#define LEVADA_TENSOR_H

#include <levada/env.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct levada_tensor levada_tensor;

/* A shape; rank -1 = any shape. A dimension of -1 is not known. */
typedef struct levada_shape {
    int32_t rank;
    int64_t dims[LEVADA_MAX_DIMS];
} levada_shape;

/* Creates a tensor with a copy of `data` (NULL = the caller writes levada_tensor_data). Not for
 * LEVADA_BYTES. */
LEVADA_API LEVADA_MUST_USE levada_status levada_tensor_create(levada_env *env, levada_dtype dtype,
                                                              const levada_shape *shape,
                                                              const void *data, levada_tensor **out,
                                                              levada_error *err);
/* Creates a tensor of byte strings in row order with a copy of the bytes; string i is
 * bytes[offsets[i] .. offsets[i + 1]). */
LEVADA_API LEVADA_MUST_USE levada_status
levada_tensor_create_strings(levada_env *env, const levada_shape *shape, const int32_t *offsets,
                             const void *bytes, levada_tensor **out, levada_error *err);
/* Creates a tensor that uses `data` without a copy, and calls release(user) after the last unref,
 * on any thread. */
LEVADA_API LEVADA_MUST_USE levada_status levada_tensor_wrap(levada_dtype        dtype,
                                                            const levada_shape *shape,
                                                            const void         *data,
                                                            void (*release)(void *user), void *user,
                                                            levada_tensor **out, levada_error *err);
LEVADA_API levada_tensor *levada_tensor_ref(const levada_tensor *tensor);
LEVADA_API void           levada_tensor_unref(levada_tensor **tensor);

/* Returns the dtype of the values. */
LEVADA_API levada_dtype        levada_tensor_dtype(const levada_tensor *tensor);
/* Returns the shape, borrowed for the life of the tensor. */
LEVADA_API const levada_shape *levada_tensor_shape(const levada_tensor *tensor);
/* Return the number of elements, the bytes of the values, and the values. */
LEVADA_API int64_t levada_tensor_count(const levada_tensor *tensor);
LEVADA_API int64_t levada_tensor_bytes(const levada_tensor *tensor);
LEVADA_API void   *levada_tensor_data(const levada_tensor *tensor);
/* Returns the offsets of byte strings (count + 1), or NULL. */
LEVADA_API const int32_t *levada_tensor_offsets(const levada_tensor *tensor);

#ifdef __cplusplus
}
#endif

#endif
