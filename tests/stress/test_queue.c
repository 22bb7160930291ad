/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many threads on one queue: nothing is lost, doubled or overtaken, and some give up meanwhile; and
 * random histories against a queue that is too simple to be wrong.
 */
#include "support/queues.h"

#include <levada/binding.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#define PRODUCERS 4
#define CONSUMERS 4
#define EACH 2000
#define ALL (PRODUCERS * EACH)

typedef struct workers {
    levada_queue *queue;
    int64_t       least; /* min_after_dequeue */
    atomic_int    seen[ALL];
    atomic_llong  taken;
    atomic_bool   works;
    atomic_uint   asked;
} workers;

typedef struct worker {
    workers     *workers;
    int       id;
    unsigned  seed;
    int       failed;
    pthread_t thread;
} worker;

static int draw(worker *w, int bound)
{
    return (int)((unsigned)rand_r(&w->seed) % (unsigned)bound);
}

/* Now and then a call has no patience: what it did not do is done later. */
static int64_t patience(worker *w) { return draw(w, 4) == 0 ? draw(w, 50) * 1000 : LEVADA_FOREVER; }

static void *produce(void *user)
{
    worker *w = user;
    int64_t values[16], sent = 0, done = 0;

    while (sent < EACH) {
        int64_t     n = 1 + draw(w, 16);
        const void *rows = values;

        if (n > EACH - sent) n = EACH - sent;
        for (int64_t i = 0; i < n; i++) values[i] = w->id * EACH + sent + i;
        levada_status st = levada_queue_enqueue_rows(w->workers->queue, n, &rows, patience(w),
                                                     &done,
                                                     NULL);
        if (st != LEVADA_OK && st != LEVADA_EDEADLINE_EXCEEDED && st != LEVADA_ECANCELLED) {
            w->failed = (int)st;
            break;
        }
        if (st == LEVADA_OK && done != n) w->failed = 1;
        sent += done;
    }
    return NULL;
}

static void *consume(void *user)
{
    worker *w = user;
    int64_t values[16], got = 0;

    for (;;) {
        void         *rows = values;
        bool          up_to = draw(w, 2) == 0;
        int64_t       n = 1 + draw(w, 8);
        levada_status st = levada_queue_dequeue_rows(w->workers->queue, n, up_to, &rows,
                                                     patience(w),
                                                     &got, NULL);

        if (st == LEVADA_EOUT_OF_RANGE && n == 1) break;
        if (st != LEVADA_OK) {
            if (got != 0) w->failed = 2;
            continue;
        }
        if (got != n && !up_to) w->failed = 3;
        for (int64_t i = 0; i < got; i++) atomic_fetch_add(&w->workers->seen[values[i]], 1);
        atomic_fetch_add(&w->workers->taken, got);
    }
    return NULL;
}

/* The same with references: vectors of a padding queue, one to three times the value. */
static void *produce_tensors(void *user)
{
    worker *w = user;

    for (int64_t sent = 0; sent < EACH && w->failed == 0;) {
        int64_t        value = w->id * EACH + sent, values[] = { value, value, value };
        levada_tensor *t = test_tensor(LEVADA_INT64, 1, &(int64_t){ 1 + draw(w, 3) }, values);
        levada_status  st = levada_queue_enqueue(w->workers->queue, &t, patience(w), NULL);

        levada_tensor_unref(&t);
        if (st == LEVADA_OK) sent++;
        else if (st != LEVADA_EDEADLINE_EXCEEDED && st != LEVADA_ECANCELLED) w->failed = (int)st;
    }
    return NULL;
}

static void *consume_tensors(void *user)
{
    worker *w = user;

    for (;;) {
        levada_tensor *t = NULL;
        bool           up_to = draw(w, 2) == 0;
        int64_t        n = 1 + draw(w, 4);
        levada_status  st = levada_queue_dequeue_many(w->workers->queue, n, up_to, &t, patience(w),
                                                      NULL);

        if (st == LEVADA_EOUT_OF_RANGE && n == 1) break;
        if (st != LEVADA_OK) continue;
        const int64_t *dims = levada_tensor_shape(t)->dims, *values = levada_tensor_data(t);
        if (dims[0] != n && !up_to) w->failed = 3;
        for (int64_t i = 0; i < dims[0]; i++) {
            atomic_fetch_add(&w->workers->seen[values[i * dims[1]]], 1);
        }
        atomic_fetch_add(&w->workers->taken, dims[0]);
        levada_tensor_unref(&t);
    }
    return NULL;
}

/* As poll and as accept. */
static bool refuse_now_and_then(void *user)
{
    workers *c = user;

    return !atomic_load(&c->works) || atomic_fetch_add(&c->asked, 1) % 8 != 0;
}

typedef struct trade {
    void *(*produce)(void *), *(*consume)(void *);
} trade;

static const trade rows_trade = { produce, consume };
static const trade tensors_trade = { produce_tensors, consume_tensors };

static void run_workers(levada_queue *queue, const trade *by, unsigned seed, bool cancels)
{
    static workers c;
    worker      in[PRODUCERS], out[CONSUMERS];

    memset(&c, 0, sizeof(c));
    c.queue = queue;
    atomic_store(&c.works, true);
    if (cancels) levada_queue_set_poll(queue, refuse_now_and_then, &c, 20000);
    if (cancels) levada_queue_set_accept(queue, refuse_now_and_then, &c);
    for (int i = 0; i < PRODUCERS; i++) {
        in[i] = (worker){ &c, i, seed + (unsigned)i, 0, 0 };
        pthread_create(&in[i].thread, NULL, by->produce, &in[i]);
    }
    for (int i = 0; i < CONSUMERS; i++) {
        out[i] = (worker){ &c, i, seed + 100u + (unsigned)i, 0, 0 };
        pthread_create(&out[i].thread, NULL, by->consume, &out[i]);
    }
    for (int i = 0; cancels && i < 50; i++) {
        nanosleep(&(struct timespec){ 0, 100000 }, NULL);
        levada_queue_cancel(queue);
    }
    for (int i = 0; i < PRODUCERS; i++) pthread_join(in[i].thread, NULL);
    atomic_store(&c.works, false);
    assert_int_equal(levada_queue_close(queue, false, -1, NULL), LEVADA_OK);
    for (int i = 0; i < CONSUMERS; i++) pthread_join(out[i].thread, NULL);
    for (int i = 0; i < PRODUCERS; i++) assert_int_equal(in[i].failed, 0);
    for (int i = 0; i < CONSUMERS; i++) assert_int_equal(out[i].failed, 0);
    assert_int_equal(c.taken, ALL);
    for (int i = 0; i < ALL; i++) assert_int_equal(c.seen[i], 1);
    assert_int_equal(levada_queue_size(queue), 0);
    levada_queue_unref(&queue);
}

static void nothing_is_lost_or_doubled(void **state)
{
    (void)state;
    for (int cancels = 0; cancels < 2; cancels++) {
        run_workers(test_padding_queue(3), &tensors_trade, 6, cancels != 0);
        run_workers(test_padding_queue(64), &tensors_trade, 7, cancels != 0);
        run_workers(test_padding_queue(-1), &tensors_trade, 8, cancels != 0);
    }
    for (int kind = LEVADA_QUEUE_FIFO; kind <= LEVADA_QUEUE_SHUFFLE; kind++) {
        for (int cancels = 0; cancels < 2; cancels++) {
            run_workers(test_queue((levada_queue_kind)kind, 3, 2), &rows_trade, 1, cancels != 0);
            run_workers(test_queue((levada_queue_kind)kind, 64, 5), &rows_trade, 2, cancels != 0);
            run_workers(test_queue((levada_queue_kind)kind, -1, 0), &rows_trade, 3, cancels != 0);
        }
    }
    run_workers(test_queue(LEVADA_QUEUE_PRIORITY, 16, 0), &rows_trade, 4, true);
    run_workers(test_queue(LEVADA_QUEUE_PRIORITY, -1, 0), &rows_trade, 5, false);
}

/* -- order in time ----------------------------------------------------------------------------- */

#define EVENTS 800 /* elements of a history */

typedef struct history {
    levada_queue *queue;
    atomic_llong  clock;
    atomic_int    next;
    int64_t       in_from[EVENTS], in_to[EVENTS], out_from[EVENTS], out_to[EVENTS];
} history;

static void *history_produce(void *user)
{
    history *h = user;

    for (;;) {
        int64_t     value = atomic_fetch_add(&h->next, 1);
        const void *rows = &value;

        if (value >= EVENTS) return NULL;
        h->in_from[value] = atomic_fetch_add(&h->clock, 1);
        if (levada_queue_enqueue_rows(h->queue, 1, &rows, -1, NULL, NULL) != LEVADA_OK) return NULL;
        h->in_to[value] = atomic_fetch_add(&h->clock, 1);
    }
}

static void *history_consume(void *user)
{
    history *h = user;

    for (;;) {
        int64_t value = 0, from = atomic_fetch_add(&h->clock, 1);
        void   *rows = &value;

        if (levada_queue_dequeue_rows(h->queue, 1, false, &rows, -1, NULL, NULL) != LEVADA_OK) {
            return NULL;
        }
        h->out_from[value] = from;
        h->out_to[value] = atomic_fetch_add(&h->clock, 1);
    }
}

static void no_element_overtakes_another(void **state)
{
    static history h;
    pthread_t      threads[6];

    (void)state;
    for (int round = 0; round < 10; round++) {
        memset(&h, 0, sizeof(h));
        h.queue = test_queue(LEVADA_QUEUE_FIFO, 1 + round % 4, 0);
        for (int i = 0; i < 6; i++) {
            pthread_create(&threads[i], NULL, i < 3 ? history_produce : history_consume, &h);
        }
        for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
        assert_int_equal(levada_queue_close(h.queue, false, -1, NULL), LEVADA_OK);
        for (int i = 3; i < 6; i++) pthread_join(threads[i], NULL);
        for (int a = 0; a < EVENTS; a++) {
            assert_true(h.in_from[a] < h.out_to[a]); /* it came out, and not before it went in */
            for (int b = 0; b < EVENTS; b++) {
                if (h.in_to[a] < h.in_from[b]) assert_true(h.out_from[a] < h.out_to[b]);
            }
        }
        levada_queue_unref(&h.queue);
    }
}

/* -- histories of one thread against a model --------------------------------------------------- */

typedef struct model {
    int64_t values[4096], n, capacity;
    bool    sorted, closed;
} model;

static void model_put(model *m, int64_t value)
{
    int64_t at = m->n++;

    for (; m->sorted && at > 0 && m->values[at - 1] > value; at--) {
        m->values[at] = m->values[at - 1];
    }
    m->values[at] = value;
}

static void model_take(model *m, int64_t *to, int64_t n)
{
    memcpy(to, m->values, (size_t)n * sizeof(*to));
    memmove(m->values, m->values + n, (size_t)(m->n - n) * sizeof(*to));
    m->n -= n;
}

static void model_enqueue(model *m, const test_call *call)
{
    int64_t fits = m->closed ? 0 : m->capacity - m->n < call->n ? m->capacity - m->n : call->n;

    if (m->closed && call->n > 0) assert_int_equal(call->status, LEVADA_ECANCELLED);
    else assert_int_equal(call->status, fits == call->n ? LEVADA_OK : LEVADA_EDEADLINE_EXCEEDED);
    assert_int_equal(call->got, fits);
    for (int64_t i = 0; i < fits; i++) model_put(m, call->values[i]);
}

static void model_dequeue(model *m, const test_call *call, bool up_to)
{
    int64_t want[64], n = call->n;

    if (up_to && m->closed && m->n > 0 && m->n < n) n = m->n;
    if (n > m->n) {
        assert_int_equal(call->status,
                         m->closed ? LEVADA_EOUT_OF_RANGE : LEVADA_EDEADLINE_EXCEEDED);
        return;
    }
    assert_int_equal(call->status, LEVADA_OK);
    assert_int_equal(call->got, n);
    model_take(m, want, n);
    assert_memory_equal(call->values, want, (size_t)n * sizeof(*want));
}

static void random_histories_are_those_of_the_model(void **state)
{
    (void)state;
    srand(11);
    for (int round = 0; round < 60; round++) {
        static model m;
        bool         heap = round % 2 == 1;

        memset(&m, 0, sizeof(m));
        m.capacity = round % 3 == 0 ? 4096 : 12 + rand() % 30;
        m.sorted = heap;
        levada_queue *queue = test_queue(heap ? LEVADA_QUEUE_PRIORITY : LEVADA_QUEUE_FIFO,
                                         m.capacity, 0);
        for (int step = 0; step < 400; step++) {
            int       what = rand() % 9;
            test_act  act = what < 4 ? TEST_ENQUEUE : what < 7 ? TEST_DEQUEUE : TEST_DEQUEUE_UP_TO;
            test_call call = test_call_of(queue, act, rand() % 12, rand() % 1000);

            call.timeout = 0;
            if (step == 370) {
                assert_int_equal(levada_queue_close(queue, false, 0, NULL), LEVADA_OK);
                m.closed = true;
            }
            test_run(&call);
            if (act == TEST_ENQUEUE) model_enqueue(&m, &call);
            else model_dequeue(&m, &call, act == TEST_DEQUEUE_UP_TO);
            assert_int_equal(levada_queue_size(queue), m.n);
        }
        levada_queue_unref(&queue);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_lost_or_doubled),
        cmocka_unit_test(no_element_overtakes_another),
        cmocka_unit_test(random_histories_are_those_of_the_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
