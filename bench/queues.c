/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Queues of 8-byte items: ours, a ring with condition variables, TensorFlow's way. A work is called
 * QUEUE_SHAPE; the file is not read. Capacity 1024.
 */
#include "queues.h"

#include "harness.h"

#include <levada/levada.h>
#include <levada/queue.h>

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

enum {
    QUEUES_CAPACITY = 1024,
    QUEUES_MOST = 64,   /* items of one call */
    QUEUES_WORKERS = 4,    /* threads of a side */
    QUEUES_SHUFFLE = 10000,
    QUEUES_LEAST = 5000, /* min_after_dequeue of the shuffle */
    QUEUES_SLEEPS = 200,
    QUEUES_ASLEEP = 1000000 /* nanoseconds */
};

/* -- ours -------------------------------------------------------------------------------------- */

static void queues_check(levada_status status, const levada_error *err)
{
    char text[512];

    if (status != LEVADA_OK)
        levada_bench_die("levada", levada_error_text(err, text, sizeof text));
}

static void *queues_make(int64_t capacity, levada_queue_kind kind)
{
    levada_queue_options o = LEVADA_QUEUE_OPTIONS_INIT;
    levada_dtype         dtype = LEVADA_INT64;
    levada_shape         shape = {0, {0}};
    levada_error         err = LEVADA_ERROR_INIT;
    levada_queue        *queue = NULL;

    o.kind = kind;
    o.capacity = capacity;
    o.min_after_dequeue = kind == LEVADA_QUEUE_SHUFFLE ? QUEUES_LEAST : 0;
    o.seed = 1;
    o.ncomponents = 1;
    o.dtypes = &dtype;
    o.shapes = &shape;
    queues_check(levada_queue_create(NULL, &o, &queue, &err), &err);
    return queue;
}

static void *queues_create(int64_t capacity) { return queues_make(capacity, LEVADA_QUEUE_FIFO); }

static void *queues_create_shuffle(int64_t capacity)
{
    return queues_make(capacity, LEVADA_QUEUE_SHUFFLE);
}

static void queues_destroy(void *queue)
{
    levada_queue *q = queue;

    levada_queue_unref(&q);
}

static void queues_push(void *queue, const int64_t *items, int64_t n)
{
    const void  *rows = items;
    levada_error err;

    queues_check(levada_queue_enqueue_rows(queue, n, &rows, LEVADA_FOREVER, NULL, &err), &err);
}

static void queues_pop(void *queue, int64_t *items, int64_t n)
{
    void        *rows = items;
    levada_error err;

    queues_check(levada_queue_dequeue_rows(queue, n, false, &rows, LEVADA_FOREVER, NULL, &err),
                 &err);
}

static const levada_bench_queue queues_ours = {queues_create, queues_create_shuffle, queues_destroy,
                                               queues_push, queues_pop};

/* -- producers and consumers ------------------------------------------------------------------- */

typedef struct queues_state {
    const levada_bench_queue *kind;
    void                     *queue, *back; /* back: of a hand-over */
    int                       producers, consumers;
    int64_t                   push_n, pop_n, items; /* items of a pass */
} queues_state;

typedef struct queues_worker {
    const queues_state *state;
    int64_t             items;
    uint64_t            check;
    pthread_t           thread;
} queues_worker;

static int64_t queues_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void *queues_produce(void *user)
{
    queues_worker *w = user;
    int64_t        batch[QUEUES_MOST] = {0}, n = w->state->push_n;

    for (int64_t sent = 0; sent < w->items; sent += n) {
        batch[0] = sent;
        w->state->kind->push(w->state->queue, batch, n);
    }
    return NULL;
}

static void *queues_consume(void *user)
{
    queues_worker *w = user;
    int64_t        batch[QUEUES_MOST], n = w->state->pop_n;

    for (int64_t got = 0; got < w->items; got += n) {
        w->state->kind->pop(w->state->queue, batch, n);
        w->check += (uint64_t)batch[0];
    }
    return NULL;
}

static void *queues_answer(void *user)
{
    queues_worker *w = user;
    int64_t        item;

    for (int64_t i = 0; i < w->items; ++i) {
        w->state->kind->pop(w->state->queue, &item, 1);
        w->state->kind->push(w->state->back, &item, 1);
    }
    return NULL;
}

static void queues_start(queues_worker *w, const queues_state *s, int64_t items,
                         void *(*run)(void *))
{
    *w = (queues_worker){.state = s, .items = items};
    if (pthread_create(&w->thread, NULL, run, w) != 0)
        levada_bench_die("cannot start", "a thread");
}

static void queues_pass(void *state, levada_bench_count *count)
{
    const queues_state *s = state;
    queues_worker       in[QUEUES_WORKERS], out[QUEUES_WORKERS];

    for (int i = 0; i < s->producers; ++i)
        queues_start(&in[i], s, s->items / s->producers, queues_produce);
    for (int i = 0; i < s->consumers; ++i)
        queues_start(&out[i], s, s->items / s->consumers, queues_consume);
    for (int i = 0; i < s->producers; ++i)
        pthread_join(in[i].thread, NULL);
    for (int i = 0; i < s->consumers; ++i) {
        pthread_join(out[i].thread, NULL);
        count->check += out[i].check;
    }
    count->records += s->items;
    count->bytes += s->items * (int64_t)sizeof(int64_t);
}

/* Both sides wait for each other each time: two hand-overs a round. */
static void queues_hand_over(void *state, levada_bench_count *count)
{
    const queues_state *s = state;
    queues_worker       w;
    int64_t             item = 1;

    queues_start(&w, s, s->items, queues_answer);
    for (int64_t i = 0; i < s->items; ++i) {
        s->kind->push(s->queue, &item, 1);
        s->kind->pop(s->back, &item, 1);
    }
    pthread_join(w.thread, NULL);
    count->records += 2 * s->items;
    count->check += (uint64_t)item;
}

/* Items are the times at which they were pushed. */
static void *queues_wake(void *user)
{
    queues_worker *w = user;
    int64_t        pushed;

    for (int64_t i = 0; i < w->items; ++i) {
        w->state->kind->pop(w->state->queue, &pushed, 1);
        w->check += (uint64_t)(queues_now() - pushed);
    }
    return NULL;
}

/* The consumer has waited for a millisecond: whatever it did before, it sleeps. The sum of the
 * times from push to pop, in nanoseconds, is the check. */
static void queues_hand_over_asleep(void *state, levada_bench_count *count)
{
    const queues_state *s = state;
    queues_worker       w;

    queues_start(&w, s, QUEUES_SLEEPS, queues_wake);
    for (int64_t i = 0; i < QUEUES_SLEEPS; ++i) {
        int64_t begin = queues_now(), now = begin;

        while (now - begin < QUEUES_ASLEEP)
            now = queues_now();
        s->kind->push(s->queue, &now, 1);
    }
    pthread_join(w.thread, NULL);
    count->records += QUEUES_SLEEPS;
    count->check += w.check;
}

/* One in, one out, with 10,000 in it. */
static void queues_shuffle(void *state, levada_bench_count *count)
{
    const queues_state *s = state;
    int64_t             item = 0;

    for (int64_t i = 0; i < s->items; ++i) {
        s->kind->push(s->queue, &item, 1);
        s->kind->pop(s->queue, &item, 1);
        ++item;
    }
    count->records += s->items;
    count->check += (uint64_t)item;
}

/* Waits a second for space, and a second for an element. Counts only the pass: its cost is measured
 * from outside. */
static void *queues_wait(void *user)
{
    queues_worker *w = user;
    int64_t        item = 0;
    const void    *in = &item;
    void          *out = &item;
    levada_status  st;

    if (w->items > 0)
        st = levada_queue_enqueue_rows(w->state->queue, 1, &in, 1000000000, NULL, NULL);
    else
        st = levada_queue_dequeue_rows(w->state->back, 1, false, &out, 1000000000, NULL, NULL);
    if (st != LEVADA_EDEADLINE_EXCEEDED)
        levada_bench_die("a wait ended with", levada_status_name(st));
    return NULL;
}

static void queues_idle(void *state, levada_bench_count *count)
{
    const queues_state *s = state;
    queues_worker       in, out;

    queues_start(&in, s, 1, queues_wait);
    queues_start(&out, s, 0, queues_wait);
    pthread_join(in.thread, NULL);
    pthread_join(out.thread, NULL);
    count->records++;
}

/* -- works ------------------------------------------------------------------------------------- */

typedef struct queues_setup {
    const levada_bench_queue *kind;
    int                       producers, consumers;
    int64_t                   push_n, pop_n;
} queues_setup;

static queues_state *queues_new(const levada_bench_args *a)
{
    const queues_setup *setup = a->user;
    queues_state       *s = levada_bench_alloc(sizeof *s);

    s->kind = setup->kind;
    s->producers = setup->producers;
    s->consumers = setup->consumers;
    s->push_n = setup->push_n;
    s->pop_n = setup->pop_n;
    return s;
}

static void *queues_open(const levada_bench_args *a)
{
    queues_state *s = queues_new(a);

    s->queue = s->kind->create(QUEUES_CAPACITY);
    /* Tens of milliseconds: for about ten of them the host may leave the core of a thread that was
     * just started after that of its creator, and then nothing is done side by side. */
    s->items = s->push_n > 1 ? 1 << 24 : 1 << 21;
    return s;
}

static void *queues_open_back(const levada_bench_args *a)
{
    queues_state *s = queues_new(a);

    s->queue = s->kind->create(QUEUES_CAPACITY);
    s->back = s->kind->create(QUEUES_CAPACITY);
    s->items = 5000;
    return s;
}

/* Returns a full queue and an empty one. */
static void *queues_open_idle(const levada_bench_args *a)
{
    queues_state *s = queues_open_back(a);

    for (int64_t i = 0; i < QUEUES_CAPACITY; ++i)
        s->kind->push(s->queue, &i, 1);
    return s;
}

static void *queues_open_shuffle(const levada_bench_args *a)
{
    queues_state *s = queues_new(a);

    s->queue = s->kind->create_shuffle(QUEUES_SHUFFLE + 1);
    for (int64_t i = 0; i < QUEUES_SHUFFLE; ++i)
        s->kind->push(s->queue, &i, 1);
    s->items = 1 << 16;
    return s;
}

#define QUEUES_SETUP(...) (&(const queues_setup){__VA_ARGS__})

#define QUEUES_WORKS(name, kind)                                                   \
    {name "_1p1c_1", queues_open, queues_pass, QUEUES_SETUP(kind, 1, 1, 1, 1)},    \
    {name "_1p1c_64", queues_open, queues_pass, QUEUES_SETUP(kind, 1, 1, 64, 64)}, \
    {name "_2p2c_1", queues_open, queues_pass, QUEUES_SETUP(kind, 2, 2, 1, 1)},    \
    {name "_2p2c_64", queues_open, queues_pass, QUEUES_SETUP(kind, 2, 2, 64, 64)}, \
    {name "_4p_64", queues_open, queues_pass, QUEUES_SETUP(kind, 4, 1, 1, 64)},    \
    {name "_asleep", queues_open, queues_hand_over_asleep, QUEUES_SETUP(kind, 1, 1, 1, 1)},  \
    {name "_handover", queues_open_back, queues_hand_over, QUEUES_SETUP(kind, 1, 1, 1, 1)}

const levada_bench_work levada_bench_works[] = {
    QUEUES_WORKS("ours", &queues_ours),
    QUEUES_WORKS("cond", &levada_bench_cond_queue),
    QUEUES_WORKS("tf", &levada_bench_tf_queue),
#ifdef QUEUES_MOODYCAMEL
    QUEUES_WORKS("moodycamel", &levada_bench_moodycamel_queue),
#endif
    {"bare_1p1c_1", queues_open, queues_pass,
     QUEUES_SETUP(&levada_bench_bare_queue, 1, 1, 1, 1)},
    {"bare_1p1c_64", queues_open, queues_pass,
     QUEUES_SETUP(&levada_bench_bare_queue, 1, 1, 64, 64)},
    {"bare_handover", queues_open_back, queues_hand_over,
     QUEUES_SETUP(&levada_bench_bare_queue, 1, 1, 1, 1)},
    {"bare_shuffle", queues_open_shuffle, queues_shuffle,
     QUEUES_SETUP(&levada_bench_bare_shuffle, 1, 1, 1, 1)},
    {"ours_idle", queues_open_idle, queues_idle, QUEUES_SETUP(&queues_ours, 1, 1, 1, 1)},
    {"ours_shuffle", queues_open_shuffle, queues_shuffle, QUEUES_SETUP(&queues_ours, 1, 1, 1, 1)},
    {"tf_shuffle", queues_open_shuffle, queues_shuffle,
     QUEUES_SETUP(&levada_bench_tf_queue, 1, 1, 1, 1)},
    {NULL, NULL, NULL, NULL},
};
