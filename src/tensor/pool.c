/* SPDX-License-Identifier: Apache-2.0 */
#include "tensor/pool.h"

#include "base/alloc.h"
#include "base/process.h"
#include "base/refs.h"
#include "base/spin.h"

#include <string.h>
#include <sys/mman.h>

/* Size classes: four to each power of two, from 4 KiB (class 0) up. */
#define POOL_SMALLEST 4096
#define POOL_CLASSES 96
#define POOL_CACHE_BYTES (INT64_C(48) << 20)
/* A buffer of up to this number of classes more serves as well, at most twice the size; not where
 * bytes are limited, since it counts as what it is. */
#define POOL_LARGER 3
#define POOL_HEADER 128 /* the buffer's own struct, before its slack */
#define POOL_HUGE (INT64_C(4) << 20) /* from this size on in huge pages, as NumPy's arrays are */
#define POOL_PAGE 65536 /* a multiple of it begins a page, whatever the size of pages is */

_Static_assert(sizeof(levada_buffer) <= POOL_HEADER, "a buffer's header must fit");

struct levada_pool {
    atomic_int         refs;
    levada_env_options options;
    atomic_llong       used;
    levada_guard       guard;
    levada_spin        lock;
    /* -- guarded by lock */
    int64_t        cached;
    levada_buffer *ready[POOL_CLASSES];
    uint64_t       asked[POOL_CLASSES], asks; /* when a class was last asked for, in asks */
};

static int32_t pool_class(int64_t size, int64_t *capacity)
{
    int64_t step = POOL_SMALLEST / 4, at = POOL_SMALLEST;
    int32_t class = 0;

    while (at < size) {
        if (class % 4 == 0 && class > 0) step *= 2;
        at += step;
        class++;
    }
    *capacity = at;
    return class;
}

static void pool_hold(void *pool) { levada_spin_lock(&((levada_pool *)pool)->lock); }

static void pool_release(void *pool, bool child)
{
    (void)child;
    levada_spin_unlock(&((levada_pool *)pool)->lock);
}

levada_status levada_pool_create(const levada_env_options *options, levada_pool **out,
                                 levada_error *err)
{
    levada_pool *pool = levada_alloc_zero(sizeof *pool);

    if (!pool) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED,
                                  "out of memory for a buffer pool");
    atomic_init(&pool->refs, 1);
    atomic_init(&pool->used, 0);
    atomic_flag_clear(&pool->lock.held);
    pool->options = *options;
    levada_guard_add(&pool->guard, pool_hold, pool_release, pool);
    *out = pool;
    return LEVADA_OK;
}

/* Asks for huge pages: there are fewer faults, and fewer misses where rows are read in any order.
 * Nothing changes where the system has none. */
static void pool_advise(void *memory, size_t size)
{
    size_t before = (POOL_PAGE - (uintptr_t)memory % POOL_PAGE) % POOL_PAGE;

    (void)madvise((uint8_t *)memory + before, (size - before) / POOL_PAGE * POOL_PAGE,
                  MADV_HUGEPAGE);
}

static void *pool_memory(levada_pool *pool, size_t size)
{
    void *memory;

    if (pool->options.alloc) return pool->options.alloc(pool->options.user, size);
    memory = levada_alloc_aligned(64, size);
    if (memory && size >= POOL_HUGE) pool_advise(memory, size);
    return memory;
}

static void pool_free(levada_pool *pool, levada_buffer *buffer)
{
    size_t size = (size_t)buffer->capacity + POOL_HEADER + 2 * LEVADA_SLACK;

    if (pool->options.free) {
        pool->options.free(pool->options.user, buffer, size);
    } else {
        levada_free(buffer);
    }
}

levada_pool *levada_pool_ref(levada_pool *pool)
{
    levada_refs_add(&pool->refs);
    return pool;
}

void levada_pool_unref(levada_pool **pool)
{
    levada_pool *p = *pool;

    *pool = NULL;
    if (!p || !levada_refs_drop(&p->refs)) return;
    levada_guard_remove(&p->guard);
    for (int32_t i = 0; i < POOL_CLASSES; i++) {
        while (p->ready[i]) {
            levada_buffer *buffer = p->ready[i];

            p->ready[i] = buffer->next;
            p->cached -= buffer->capacity;
            pool_free(p, buffer);
        }
    }
    LEVADA_ASSERT(p->cached == 0 && atomic_load(&p->used) == 0); /* each buffer holds its pool */
    levada_free(p);
}

int64_t levada_pool_used(const levada_pool *pool) { return atomic_load(&pool->used); }

int64_t levada_pool_cached(const levada_pool *pool) { return pool->cached; }

static levada_buffer *pool_take(levada_pool *pool, int32_t class)
{
    levada_buffer *buffer = NULL;
    int32_t        most = class + (pool->options.max_bytes < 0 ? POOL_LARGER : 0);

    levada_spin_lock(&pool->lock);
    pool->asked[class] = ++pool->asks;
    for (int32_t c = class; !buffer && c <= most && c < POOL_CLASSES; c++) {
        buffer = pool->ready[c];
        if (!buffer) continue;
        pool->ready[c] = buffer->next;
        pool->cached -= buffer->capacity;
    }
    LEVADA_ASSERT(pool->cached >= 0);
    levada_spin_unlock(&pool->lock);
    LEVADA_ASSERT(!buffer || atomic_load(&buffer->refs) == 0); /* nobody has it besides */
    return buffer;
}

/* Frees space for a buffer of that class: returns buffers of the least recently used class to the
 * system. Does nothing if that is the class itself. */
static levada_buffer *pool_evict_locked(levada_pool *pool, int32_t class, int64_t capacity)
{
    levada_buffer *out = NULL;

    while (pool->cached + capacity > POOL_CACHE_BYTES) {
        int32_t        oldest = class;
        levada_buffer *victim;

        for (int32_t c = 0; c < POOL_CLASSES; c++) {
            if (pool->ready[c] && pool->asked[c] < pool->asked[oldest]) oldest = c;
        }
        if (oldest == class) break;
        victim = pool->ready[oldest];
        pool->ready[oldest] = victim->next;
        pool->cached -= victim->capacity;
        victim->next = out;
        out = victim;
    }
    return out;
}

/* Counts a buffer in, unless that is beyond the limit. */
static levada_status pool_count(levada_pool *pool, int64_t size, levada_error *err)
{
    int64_t used = atomic_fetch_add_explicit(&pool->used, size, memory_order_relaxed);

    if (pool->options.max_bytes < 0 || used + size <= pool->options.max_bytes) return LEVADA_OK;
    atomic_fetch_sub_explicit(&pool->used, size, memory_order_relaxed);
    return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED,
                       "%lld bytes in use and %lld more exceed max_bytes=%lld; raise max_bytes, or "
                       "lower batch_size",
                       (long long)used, (long long)size, (long long)pool->options.max_bytes);
}

levada_status levada_buffer_create(levada_pool *pool, int64_t size, levada_buffer **out,
                                   levada_error *err)
{
    levada_buffer *buffer;
    int64_t        capacity;
    int32_t        class;

    if (size < 0 || size > INT64_C(1) << 40) {
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED,
                           "a buffer must have at most 2^40 bytes, got %lld", (long long)size);
    }
    class = pool_class(size, &capacity);
    LEVADA_TRY(pool_count(pool, capacity, err));
    buffer = class < POOL_CLASSES ? pool_take(pool, class) : NULL;
    if (!buffer) {
        buffer = pool_memory(pool, (size_t)capacity + POOL_HEADER + 2 * LEVADA_SLACK);
        if (!buffer) {
            atomic_fetch_sub_explicit(&pool->used, capacity, memory_order_relaxed);
            return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for %lld bytes",
                               (long long)capacity);
        }
        memset(buffer, 0, POOL_HEADER + LEVADA_SLACK);
        buffer->data = (uint8_t *)buffer + POOL_HEADER + LEVADA_SLACK;
        buffer->capacity = capacity;
        /* Over-reads see defined bytes: the slack after it is cleared once. */
        memset(buffer->data + capacity, 0, LEVADA_SLACK);
    }
    atomic_init(&buffer->refs, 1);
    buffer->flags = LEVADA_BUFFER_POOLED;
    buffer->size = size;
    buffer->next = NULL;
    buffer->home = levada_pool_ref(pool);
    atomic_fetch_add_explicit(&pool->used, buffer->capacity - capacity, memory_order_relaxed);
    *out = buffer;
    return LEVADA_OK;
}

levada_status levada_buffer_wrap(const void *data, int64_t size, void (*release)(void *user),
                                 void *user, levada_buffer **out, levada_error *err)
{
    levada_buffer *buffer = levada_alloc_zero(sizeof *buffer);

    if (!buffer) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a buffer");
    atomic_init(&buffer->refs, 1);
    buffer->flags = LEVADA_BUFFER_FOREIGN;
    buffer->data = (uint8_t *)(uintptr_t)data;
    buffer->size = buffer->capacity = size;
    buffer->release = release;
    buffer->user = user;
    *out = buffer;
    return LEVADA_OK;
}

levada_buffer *levada_buffer_ref(const levada_buffer *buffer)
{
    levada_buffer *b = (levada_buffer *)(uintptr_t)buffer;

    levada_refs_add(&b->refs);
    return b;
}

static void pool_give_back(levada_buffer *buffer)
{
    levada_pool   *pool = buffer->home;
    int64_t        capacity;
    int32_t        class = pool_class(buffer->capacity, &capacity);
    bool           keep = false;
    levada_buffer *evicted = NULL;

    atomic_fetch_sub_explicit(&pool->used, buffer->capacity, memory_order_relaxed);
    if (class < POOL_CLASSES) {
        levada_spin_lock(&pool->lock);
        evicted = pool_evict_locked(pool, class, capacity);
        keep = pool->cached + capacity <= POOL_CACHE_BYTES;
        if (keep) {
            buffer->next = pool->ready[class];
            pool->ready[class] = buffer;
            pool->cached += capacity;
        }
        levada_spin_unlock(&pool->lock);
    }
    if (!keep) pool_free(pool, buffer);
    while (evicted) {
        levada_buffer *next = evicted->next;

        pool_free(pool, evicted);
        evicted = next;
    }
    levada_pool_unref(&pool);
}

void levada_buffer_unref(levada_buffer **buffer)
{
    levada_buffer *b = *buffer;

    *buffer = NULL;
    if (!b || !levada_refs_drop(&b->refs)) return;
    if (b->flags & LEVADA_BUFFER_POOLED) {
        pool_give_back(b);
        return;
    }
    if (b->release) b->release(b->user);
    levada_free(b);
}
