/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Barrier: components of keys come in any order; keys leave when all their components are there, in
 * the order in which they were first seen. TensorFlow's contract (core/kernels/barrier_ops.cc) with
 * its defects mended: a call is validated before anything changes, and takers that can't be met any
 * more fail instead of waiting. Reference-counted; any thread.
 */
#ifndef LEVADA_BARRIER_H
#define LEVADA_BARRIER_H

#include <levada/queue.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct levada_barrier levada_barrier;

LEVADA_API LEVADA_MUST_USE levada_status
levada_barrier_create(levada_env *env, int32_t ncomponents, const levada_dtype *dtypes,
                      const levada_shape *shapes, const char *name, const char *shared_name,
                      levada_barrier **out, levada_error *err);
LEVADA_API levada_barrier *levada_barrier_ref(levada_barrier *barrier);
LEVADA_API void            levada_barrier_unref(levada_barrier **barrier);

/* keys: byte strings [n]; values: [n, ...]. EINVALID_ARGUMENT (nothing changed): component out of
 * range, a key that has a value for it already or stands twice, unequal rows. ECANCELLED: closed.
 */
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

/* indices int64 [n], keys byte strings [n], values[ncomponents]; all the caller's. */
LEVADA_API LEVADA_MUST_USE levada_status
levada_barrier_take_many(levada_barrier *barrier, const levada_barrier_take *how,
                         levada_tensor **indices, levada_tensor **keys, levada_tensor **values,
                         levada_error *err);
LEVADA_API LEVADA_MUST_USE levada_status levada_barrier_close(levada_barrier *barrier,
                                                              bool            cancel_pending,
                                                              levada_error   *err);
LEVADA_API void    levada_barrier_cancel(levada_barrier *barrier); /* frees waiting takes */
/* As levada_queue_set_poll. */
LEVADA_API void    levada_barrier_set_poll(levada_barrier *barrier, bool (*poll)(void *user),
                                           void *user, int64_t every);
/* As levada_queue_set_accept. */
LEVADA_API void    levada_barrier_set_accept(levada_barrier *barrier, bool (*accept)(void *user),
                                             void           *user);
LEVADA_API int64_t levada_barrier_ready_size(const levada_barrier *barrier);
LEVADA_API int64_t levada_barrier_incomplete_size(const levada_barrier *barrier);

#ifdef __cplusplus
}
#endif

#endif
