/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tensors: values with a dtype and a shape. Queues and barriers hold them.
 *
 * A tensor is reference-counted, C-contiguous and immutable once it is shared; the owner of the
 * only reference may write. A tensor of LEVADA_BYTES holds byte strings: offsets (n + 1 of int32)
 * and their bytes. Any thread.
 */
#ifndef LEVADA_TENSOR_H
#define LEVADA_TENSOR_H

#include <levada/env.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct levada_tensor levada_tensor;

/* A shape; rank -1 = any. A dimension of -1 is not known. */
typedef struct levada_shape {
    int32_t rank;
    int64_t dims[LEVADA_MAX_DIMS];
} levada_shape;

/* Copies `data` (NULL = leave it to be written through levada_tensor_data). Not for LEVADA_BYTES.
 */
LEVADA_API LEVADA_MUST_USE levada_status levada_tensor_create(levada_env *env, levada_dtype dtype,
                                                              const levada_shape *shape,
                                                              const void *data, levada_tensor **out,
                                                              levada_error *err);
/* n byte strings in row order; string i is bytes[offsets[i] .. offsets[i + 1]). Copies. */
LEVADA_API LEVADA_MUST_USE levada_status
levada_tensor_create_strings(levada_env *env, const levada_shape *shape, const int32_t *offsets,
                             const void *bytes, levada_tensor **out, levada_error *err);
/* Adopts memory: calls release(user) after the last unref, on any thread. */
LEVADA_API LEVADA_MUST_USE levada_status levada_tensor_wrap(levada_dtype        dtype,
                                                            const levada_shape *shape,
                                                            const void         *data,
                                                            void (*release)(void *user), void *user,
                                                            levada_tensor **out, levada_error *err);
LEVADA_API levada_tensor *levada_tensor_ref(const levada_tensor *tensor);
LEVADA_API void           levada_tensor_unref(levada_tensor **tensor);

LEVADA_API levada_dtype        levada_tensor_dtype(const levada_tensor *tensor);
LEVADA_API const levada_shape *levada_tensor_shape(const levada_tensor *tensor);
/* Elements, and bytes of the values. */
LEVADA_API int64_t levada_tensor_count(const levada_tensor *tensor);
LEVADA_API int64_t levada_tensor_bytes(const levada_tensor *tensor);
LEVADA_API void   *levada_tensor_data(const levada_tensor *tensor);
/* Offsets of byte strings (count + 1), or NULL. */
LEVADA_API const int32_t *levada_tensor_offsets(const levada_tensor *tensor);

#ifdef __cplusplus
}
#endif

#endif
