/* SPDX-License-Identifier: Apache-2.0 */
#include "queues.h"

#include "harness.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { BARE_TURNS = 4096 }; /* looks at the other side before a thread yields its core */

/* -- mutex and two condition variables --------------------------------------------------------- */

typedef struct cond_queue {
    pthread_mutex_t lock;
    pthread_cond_t  space, items;
    int64_t         capacity, head, count;
    int64_t        *ring;
} cond_queue;

static void *cond_create(int64_t capacity)
{
    cond_queue *q = levada_bench_alloc(sizeof *q);

    pthread_mutex_init(&q->lock, NULL);
    pthread_cond_init(&q->space, NULL);
    pthread_cond_init(&q->items, NULL);
    q->capacity = capacity;
    q->ring = levada_bench_alloc((size_t)capacity * sizeof *q->ring);
    return q;
}

static void cond_destroy(void *queue)
{
    cond_queue *q = queue;

    free(q->ring);
    free(q);
}

static void cond_push(void *queue, const int64_t *items, int64_t n)
{
    cond_queue *q = queue;

    pthread_mutex_lock(&q->lock);
    while (n > 0) {
        while (q->count == q->capacity)
            pthread_cond_wait(&q->space, &q->lock);
        for (; n > 0 && q->count < q->capacity; --n, ++q->count)
            q->ring[(q->head + q->count) % q->capacity] = *items++;
        pthread_cond_signal(&q->items);
    }
    pthread_mutex_unlock(&q->lock);
}

static void cond_pop(void *queue, int64_t *items, int64_t n)
{
    cond_queue *q = queue;

    pthread_mutex_lock(&q->lock);
    while (n > 0) {
        while (q->count == 0)
            pthread_cond_wait(&q->items, &q->lock);
        for (; n > 0 && q->count > 0; --n, --q->count) {
            *items++ = q->ring[q->head];
            q->head = q->head + 1 == q->capacity ? 0 : q->head + 1;
        }
        pthread_cond_signal(&q->space);
    }
    pthread_mutex_unlock(&q->lock);
}

const levada_bench_queue levada_bench_cond_queue = {cond_create, NULL, cond_destroy, cond_push,
                                                    cond_pop};

/* -- TensorFlow's way -------------------------------------------------------------------------- */

typedef struct tf_note {
    pthread_mutex_t lock;
    pthread_cond_t  changed;
    int             done;
} tf_note;

typedef struct tf_queue tf_queue;

typedef struct tf_attempt {
    struct tf_attempt *next;
    int (*run)(tf_queue *queue, struct tf_attempt *attempt); /* 0 nothing, 1 some, 2 complete */
    void (*callback)(struct tf_attempt *attempt);
    int64_t  n;       /* left */
    int64_t *items;   /* of an enqueue: its own copy; of a dequeue: collected */
    int64_t  at;
    tf_note *note;
} tf_attempt;

typedef struct tf_list {
    tf_attempt *head, *tail;
} tf_list;

struct tf_queue {
    pthread_mutex_t lock;
    int64_t         capacity, head, count, allocated;
    int64_t        *deque;
    int             shuffle;
    uint64_t        random;
    tf_list         enqueues, dequeues;
};

static void *tf_make(int64_t capacity, int shuffle)
{
    tf_queue *q = levada_bench_alloc(sizeof *q);

    pthread_mutex_init(&q->lock, NULL);
    q->capacity = capacity;
    q->allocated = capacity;
    q->deque = levada_bench_alloc((size_t)capacity * sizeof *q->deque);
    q->shuffle = shuffle;
    q->random = 88172645463325252u;
    return q;
}

static void *tf_create(int64_t capacity) { return tf_make(capacity, 0); }

static void *tf_create_shuffle(int64_t capacity) { return tf_make(capacity, 1); }

static void tf_destroy(void *queue)
{
    tf_queue *q = queue;

    free(q->deque);
    free(q);
}

static int tf_run_enqueue(tf_queue *q, tf_attempt *a)
{
    int result = 0;

    while (a->n > 0 && q->count < q->capacity) {
        q->deque[(q->head + q->count++) % q->allocated] = a->items[a->at++];
        --a->n;
        result = 1;
    }
    return a->n == 0 ? 2 : result;
}

static int64_t tf_draw(tf_queue *q)
{
    int64_t at, item;

    q->random ^= q->random << 13;
    q->random ^= q->random >> 7;
    q->random ^= q->random << 17;
    at = (q->head + (int64_t)(q->random % (uint64_t)q->count)) % q->allocated;
    item = q->deque[at];
    q->deque[at] = q->deque[(q->head + --q->count) % q->allocated];
    return item;
}

static int tf_run_dequeue(tf_queue *q, tf_attempt *a)
{
    int result = 0;

    while (a->n > 0 && q->count > 0) {
        if (q->shuffle) {
            a->items[a->at++] = tf_draw(q);
        } else {
            a->items[a->at++] = q->deque[q->head];
            q->head = q->head + 1 == q->allocated ? 0 : q->head + 1;
            --q->count;
        }
        --a->n;
        result = 1;
    }
    return a->n == 0 ? 2 : result;
}

static void tf_append(tf_list *list, tf_attempt *a)
{
    a->next = NULL;
    if (list->tail != NULL)
        list->tail->next = a;
    else
        list->head = a;
    list->tail = a;
}

static int tf_try(tf_queue *q, tf_list *list, tf_list *clean)
{
    int progress = 0;

    while (list->head != NULL) {
        tf_attempt *a = list->head;
        int         result = a->run(q, a);

        progress |= result != 0;
        if (result != 2)
            break;
        list->head = a->next;
        if (list->head == NULL)
            list->tail = NULL;
        tf_append(clean, a);
    }
    return progress;
}

static void tf_notify(tf_attempt *a)
{
    pthread_mutex_lock(&a->note->lock);
    a->note->done = 1;
    pthread_cond_broadcast(&a->note->changed);
    pthread_mutex_unlock(&a->note->lock);
}

static void tf_call(tf_queue *q, tf_list *list, tf_attempt *a)
{
    tf_note note = {.done = 0};
    tf_list clean = {NULL, NULL};

    pthread_mutex_init(&note.lock, NULL);
    pthread_cond_init(&note.changed, NULL);
    a->note = &note;
    a->callback = tf_notify;
    pthread_mutex_lock(&q->lock);
    tf_append(list, a);
    while (tf_try(q, &q->enqueues, &clean) | tf_try(q, &q->dequeues, &clean)) {
    }
    pthread_mutex_unlock(&q->lock);
    while (clean.head != NULL) {
        tf_attempt *next = clean.head->next;

        clean.head->callback(clean.head);
        clean.head = next;
    }
    pthread_mutex_lock(&note.lock);
    while (!note.done)
        pthread_cond_wait(&note.changed, &note.lock);
    pthread_mutex_unlock(&note.lock);
}

static tf_attempt *tf_attempt_of(int64_t n)
{
    tf_attempt *a = calloc(1, sizeof *a);

    if (a == NULL || (a->items = malloc((size_t)n * sizeof *a->items)) == NULL)
        levada_bench_die("out of memory", "attempt");
    a->n = n;
    return a;
}

static void tf_push(void *queue, const int64_t *items, int64_t n)
{
    tf_queue   *q = queue;
    tf_attempt *a = tf_attempt_of(n);

    memcpy(a->items, items, (size_t)n * sizeof *items);
    a->run = tf_run_enqueue;
    tf_call(q, &q->enqueues, a);
    free(a->items);
    free(a);
}

static void tf_pop(void *queue, int64_t *items, int64_t n)
{
    tf_queue   *q = queue;
    tf_attempt *a = tf_attempt_of(n);

    a->run = tf_run_dequeue;
    tf_call(q, &q->dequeues, a);
    memcpy(items, a->items, (size_t)n * sizeof *items);
    free(a->items);
    free(a);
}

const levada_bench_queue levada_bench_tf_queue = {tf_create, tf_create_shuffle, tf_destroy, tf_push,
                                                  tf_pop};

/* -- limits: what the caches of two cores allow ------------------------------------------------ */

typedef struct bare_ring {
    int64_t               capacity;
    int64_t              *ring;
    uint64_t              random;
    _Alignas(64) atomic_llong head; /* taken so far */
    _Alignas(64) atomic_llong tail; /* put so far   */
} bare_ring;

static void *bare_create(int64_t capacity)
{
    bare_ring *q = levada_bench_alloc(sizeof *q);

    q->capacity = capacity;
    q->random = 88172645463325252u;
    q->ring = levada_bench_alloc((size_t)capacity * sizeof *q->ring);
    return q;
}

static void bare_destroy(void *queue)
{
    bare_ring *q = queue;

    free(q->ring);
    free(q);
}

static void bare_push(void *queue, const int64_t *items, int64_t n)
{
    bare_ring *q = queue;
    int64_t    tail = atomic_load_explicit(&q->tail, memory_order_relaxed);

    for (int turns = 0; tail + n - atomic_load_explicit(&q->head, memory_order_acquire) >
                        q->capacity;)
        if (++turns % BARE_TURNS == 0) sched_yield();
    for (int64_t i = 0; i < n; ++i) q->ring[(tail + i) % q->capacity] = items[i];
    atomic_store_explicit(&q->tail, tail + n, memory_order_release);
}

static void bare_pop(void *queue, int64_t *items, int64_t n)
{
    bare_ring *q = queue;
    int64_t    head = atomic_load_explicit(&q->head, memory_order_relaxed);

    for (int turns = 0; atomic_load_explicit(&q->tail, memory_order_acquire) < head + n;)
        if (++turns % BARE_TURNS == 0) sched_yield();
    for (int64_t i = 0; i < n; ++i) items[i] = q->ring[(head + i) % q->capacity];
    atomic_store_explicit(&q->head, head + n, memory_order_release);
}

/* One thread, any order: the last item takes the place of the one that is drawn. */
static void bare_put(void *queue, const int64_t *items, int64_t n)
{
    bare_ring *q = queue;
    int64_t    tail = atomic_load_explicit(&q->tail, memory_order_relaxed);

    for (int64_t i = 0; i < n; ++i) q->ring[tail++] = items[i];
    atomic_store_explicit(&q->tail, tail, memory_order_relaxed);
}

static void bare_draw(void *queue, int64_t *items, int64_t n)
{
    bare_ring *q = queue;
    int64_t    tail = atomic_load_explicit(&q->tail, memory_order_relaxed);

    for (int64_t i = 0; i < n; ++i) {
        int64_t *at;

        q->random = q->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        at = &q->ring[(q->random >> 32) * (uint64_t)tail >> 32];
        items[i] = *at;
        *at = q->ring[--tail];
    }
    atomic_store_explicit(&q->tail, tail, memory_order_relaxed);
}

const levada_bench_queue levada_bench_bare_queue = {bare_create, NULL, bare_destroy, bare_push,
                                                    bare_pop};
const levada_bench_queue levada_bench_bare_shuffle = {NULL, bare_create, bare_destroy, bare_put,
                                                      bare_draw};
