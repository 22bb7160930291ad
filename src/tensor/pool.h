/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Buffers and the pool they return to.
 *
 * A buffer is one piece of memory, 64-byte aligned, with 64 readable and writable bytes of slack
 * before and after it, so that kernels may over-read. It is reference-counted; the last unref
 * returns it to the pool, which keeps it for the next one of its size class: fresh memory costs a
 * page fault for every 4 KiB, sixteen times what reading the data costs. The pool is a cache, not a
 * limit, and is counted by its buffers, so that it outlives its environment where it must.
 * Everything here may be called from any thread.
 */
#ifndef LEVADA_TENSOR_POOL_H
#define LEVADA_TENSOR_POOL_H

#include <levada/env.h>

#include <stdatomic.h>

#define LEVADA_SLACK 64

typedef struct levada_pool levada_pool;

typedef enum levada_buffer_flags {
    LEVADA_BUFFER_POOLED   = 1,
    LEVADA_BUFFER_FOREIGN  = 2, /* release() frees it; no slack is promised */
    LEVADA_BUFFER_READONLY = 4
} levada_buffer_flags;

struct levada_buffer {
    atomic_int   refs;
    uint32_t     flags;
    uint8_t     *data;
    int64_t      size, capacity;
    levada_pool *home;
    void (*release)(void *user);
    void          *user;
    levada_buffer *next; /* in the pool's list */
};

levada_status levada_pool_create(const levada_env_options *options, levada_pool **out,
                                 levada_error *err);
/* Returns the pool of an environment (NULL = the default one, NULL if memory is short). Borrowed.
 * registry/env.c */
levada_pool *levada_env_pool(const levada_env *env);
levada_pool *levada_pool_ref(levada_pool *pool);
void         levada_pool_unref(levada_pool **pool);
/* Returns the bytes handed out and not returned; levada_pool_cached the bytes in the cache. */
int64_t levada_pool_used(const levada_pool *pool);
int64_t levada_pool_cached(const levada_pool *pool);

/* Creates a buffer of size >= 0 bytes, not cleared. ERESOURCE_EXHAUSTED beyond the pool's limit. */
LEVADA_MUST_USE levada_status levada_buffer_create(levada_pool *pool, int64_t size,
                                                   levada_buffer **out, levada_error *err);
/* Adopts memory. On failure release() is not called. */
LEVADA_MUST_USE levada_status levada_buffer_wrap(const void *data, int64_t size,
                                                 void (*release)(void *user), void *user,
                                                 levada_buffer **out, levada_error *err);
levada_buffer *levada_buffer_ref(const levada_buffer *buffer);
void           levada_buffer_unref(levada_buffer **buffer); /* accepts NULL */

#endif
