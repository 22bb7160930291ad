/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Barriers collect the components of keyed elements, which may arrive in any order. Complete
 * elements are taken in the order in which their keys were first inserted. The contract is
 * TensorFlow's (core/kernels/barrier_ops.cc) without its defects: a call is validated before
 * anything changes, and a take that cannot succeed any more fails immediately. A barrier is
 * reference-counted, and any thread may call every function.
 *
 * Example:
 *
 *     levada_barrier_options options = LEVADA_BARRIER_OPTIONS_INIT;
 *     levada_barrier_take    take = LEVADA_BARRIER_TAKE_INIT;
 *     levada_barrier        *barrier = NULL;
 *     levada_tensor         *keys = NULL, *values = NULL;
 *     levada_tensor         *indices = NULL, *taken = NULL, *out = NULL;
 *     const levada_dtype     dtype = LEVADA_INT64;
 *     const levada_shape     two = {1, {2}};
 *
 *     options.ncomponents = 1;
 *     options.dtypes = &dtype;
 *     LEVADA_TRY(levada_barrier_create(NULL, &options, &barrier, err));
 *     LEVADA_TRY(levada_tensor_create_strings(NULL, &two, (int32_t[]){0, 1, 2}, "ab", &keys, err));
 *     LEVADA_TRY(levada_tensor_create(NULL, dtype, &two, (int64_t[]){7, 8}, &values, err));
 *     LEVADA_TRY(levada_barrier_insert_many(barrier, 0, keys, values, err));
 *     take.n = 2; // waits until two keys have all components
 *     LEVADA_TRY(levada_barrier_take_many(barrier, &take, &indices, &taken, &out, err));
 */
#ifndef LEVADA_BARRIER_H
#define LEVADA_BARRIER_H

#include <levada/queue.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct levada_barrier levada_barrier;

typedef struct levada_barrier_options {
    size_t              struct_size;
    int32_t             ncomponents;
    const levada_dtype *dtypes; /* ncomponents                                                   */
    const levada_shape *shapes; /* ncomponents, of one value; NULL: any shape for each value     */
    const char         *name;
    const char         *shared_name; /* NULL = private. Callers with the same name share it */
} levada_barrier_options;

#define LEVADA_BARRIER_OPTIONS_INIT                                    \
    {                                                                  \
        sizeof(levada_barrier_options), 0, NULL, NULL, NULL, NULL      \
    }
/* Sets *all to its defaults, for languages without macros; size is
 * sizeof(levada_barrier_options). */
LEVADA_API void levada_barrier_options_init(levada_barrier_options *all, size_t size);

/* Creates a barrier; the caller owns the reference in *out. */
LEVADA_API
LEVADA_MUST_USE levada_status levada_barrier_create(levada_env *env,
                                                    const levada_barrier_options *options,
                                                    levada_barrier **out, levada_error *err);
LEVADA_API levada_barrier *levada_barrier_ref(levada_barrier *barrier);
LEVADA_API void            levada_barrier_unref(levada_barrier **barrier);

/* Inserts one component of n elements: keys are byte strings [n], values [n, ...]. Returns
 * EINVALID_ARGUMENT and changes nothing if `component` is out of range, a key already has this
 * component or appears twice, or the numbers of rows differ; ECANCELLED if the barrier is
 * closed. */
LEVADA_API LEVADA_MUST_USE levada_status levada_barrier_insert_many(levada_barrier      *barrier,
                                                                    int32_t              component,
                                                                    const levada_tensor *keys,
                                                                    const levada_tensor *values,
                                                                    levada_error        *err);
typedef struct levada_barrier_take {
    size_t  struct_size;
    int64_t n;
    bool    allow_small_batch, wait_for_incomplete;
    int64_t timeout; /* nanoseconds, LEVADA_FOREVER, LEVADA_AT_ONCE */
} levada_barrier_take;

#define LEVADA_BARRIER_TAKE_INIT                                              \
    {                                                                         \
        sizeof(levada_barrier_take), 0, false, false, LEVADA_FOREVER          \
    }
/* Sets *all to its defaults, for languages without macros; size is sizeof(levada_barrier_take). */
LEVADA_API void levada_barrier_take_init(levada_barrier_take *all, size_t size);

/* Takes n complete elements: indices is int64 [n], keys are byte strings [n], and values has
 * ncomponents tensors. The caller owns all of them. */
LEVADA_API LEVADA_MUST_USE levada_status
levada_barrier_take_many(levada_barrier *barrier, const levada_barrier_take *how,
                         levada_tensor **indices, levada_tensor **keys, levada_tensor **values,
                         levada_error *err);
LEVADA_API LEVADA_MUST_USE levada_status levada_barrier_close(levada_barrier *barrier,
                                                              bool            cancel_pending,
                                                              levada_error   *err);
/* Ends waiting takes with ECANCELLED. Do not call it from a signal handler; interrupt.h does
 * that. */
LEVADA_API void levada_barrier_cancel(levada_barrier *barrier);
/* Returns the number of complete elements that no call has taken. */
LEVADA_API int64_t levada_barrier_ready_size(const levada_barrier *barrier);
/* Returns the number of keys that still lack a component. */
LEVADA_API int64_t levada_barrier_incomplete_size(const levada_barrier *barrier);

#ifdef __cplusplus
}
#endif

#endif
