/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random histories of three threads on a small queue, each checked against a queue that is too
 * simple to be wrong: is there an order of the calls, each at some moment between its beginning and
 * its end, in which the model returns what the threads got? The search tries all orders.
 */
#include "support/queues.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

enum { THREADS = 3, EACH = 6, OPS = THREADS * EACH + 1, MOST = 4, HELD = OPS * MOST };

typedef enum act { PUT, TAKE, TAKE_UP_TO, SIZE, CLOSE, CLOSE_CANCEL, CANCEL } act;

typedef struct op {
    act           act;
    int           n;
    int64_t       timeout; /* 0, a little, forever, or LEVADA_AT_ONCE */
    int64_t       values[MOST]; /* to put, or got */
    int64_t       done; /* rows, or the size */
    levada_status status;
    int64_t       begin, end; /* on the clock of the history */
} op;

/* -- the model --------------------------------------------------------------------------------- */

/* Calls that wait stand in two lines, closes among the puts. */
typedef struct model {
    int     capacity;
    bool    closed;
    int     count, nputs, ntakes;
    int64_t moves; /* of elements, and of calls out of their lines */
    int64_t elements[HELD];
    int     puts[THREADS + 1], takes[THREADS + 1];
    int     done[OPS]; /* rows moved; of a take: held in got */
    int64_t got[THREADS + 1][MOST]; /* of the takes in line, by place */
    bool    over[OPS];
    levada_status status[OPS];
    int64_t       result[OPS][MOST];
} model;

static void model_leave(model *m, int *line, int *n, int at)
{
    m->moves++;
    memmove(line + at, line + at + 1, (size_t)(*n - at - 1) * sizeof(*line));
    (*n)--;
}

static void model_put_back(model *m, const int64_t *values, int n)
{
    memmove(m->elements + n, m->elements, (size_t)m->count * sizeof(*values));
    memcpy(m->elements, values, (size_t)n * sizeof(*values));
    m->count += n;
}

static void model_take_leaves(model *m, int at, levada_status status)
{
    int id = m->takes[at];

    m->over[id] = true;
    m->status[id] = status;
    if (status == LEVADA_OK) memcpy(m->result[id], m->got[at], sizeof(m->got[at]));
    else {
        model_put_back(m, m->got[at], m->done[id]);
        m->done[id] = 0;
    }
    memmove(m->got + at, m->got + at + 1, (size_t)(m->ntakes - at - 1) * sizeof(m->got[0]));
    model_leave(m, m->takes, &m->ntakes, at);
}

static void model_put_leaves(model *m, int at, levada_status status)
{
    m->over[m->puts[at]] = true;
    m->status[m->puts[at]] = status;
    model_leave(m, m->puts, &m->nputs, at);
}

/* The first of those who put, as far as it gets; whether it left. */
static bool model_serve_put(model *m, const op *ops)
{
    int       id = m->puts[0];
    const op *o = &ops[id];

    if (o->act == CLOSE) {
        levada_status status = m->closed ? LEVADA_ECANCELLED : LEVADA_OK;

        m->closed = true;
        model_put_leaves(m, 0, status);
        return true;
    }
    if (m->closed) {
        model_put_leaves(m, 0, LEVADA_ECANCELLED);
        return true;
    }
    while (m->done[id] < o->n && m->count < m->capacity) {
        m->elements[m->count++] = o->values[m->done[id]++];
        m->moves++;
    }
    if (m->done[id] < o->n) return false;
    model_put_leaves(m, 0, LEVADA_OK);
    return true;
}

static bool model_serve_take(model *m, const op *ops)
{
    int       id = m->takes[0];
    const op *o = &ops[id];

    while (m->done[id] < o->n && m->count > 0) {
        m->got[0][m->done[id]++] = m->elements[0];
        memmove(m->elements, m->elements + 1, (size_t)--m->count * sizeof(m->elements[0]));
        m->moves++;
    }
    if (m->done[id] == o->n || (m->closed && o->act == TAKE_UP_TO && m->done[id] > 0)) {
        model_take_leaves(m, 0, LEVADA_OK);
        return true;
    }
    if (!m->closed) return false;
    model_take_leaves(m, 0, LEVADA_EOUT_OF_RANGE);
    return true;
}

static void model_settle(model *m, const op *ops)
{
    for (int64_t before = -1; before != m->moves;) {
        before = m->moves;
        while (m->nputs > 0 && model_serve_put(m, ops)) {}
        while (m->ntakes > 0 && model_serve_take(m, ops)) {}
    }
}

/* It stands in line from now on. */
static void model_arrive(model *m, const op *ops, int id)
{
    if (ops[id].act >= SIZE && ops[id].act != CLOSE) {
        m->over[id] = true;
        m->done[id] = m->count;
    }
    if (ops[id].act == CLOSE_CANCEL || ops[id].act == CANCEL) {
        m->closed = m->closed || ops[id].act == CLOSE_CANCEL;
        while (m->nputs > 0) model_put_leaves(m, 0, LEVADA_ECANCELLED);
        while (m->ntakes > 0 && ops[id].act == CANCEL) {
            model_take_leaves(m, m->ntakes - 1, LEVADA_ECANCELLED);
        }
    } else if (ops[id].act == SIZE) {
        return;
    } else if (ops[id].act == PUT || ops[id].act == CLOSE) m->puts[m->nputs++] = id;
    else m->takes[m->ntakes++] = id;
    model_settle(m, ops);
}

/* Its time is up; false where it does not wait. */
static bool model_give_up(model *m, const op *ops, int id)
{
    for (int i = 0; i < m->nputs; i++) {
        if (m->puts[i] != id) continue;
        model_put_leaves(m, i, LEVADA_EDEADLINE_EXCEEDED);
        model_settle(m, ops);
        return true;
    }
    for (int i = 0; i < m->ntakes; i++) {
        if (m->takes[i] != id) continue;
        model_take_leaves(m, i, LEVADA_EDEADLINE_EXCEEDED);
        model_settle(m, ops);
        return true;
    }
    return false;
}

static bool model_agrees(const model *m, const op *ops, int id)
{
    const op *o = &ops[id];

    if (!m->over[id] || m->status[id] != o->status) return false;
    if (o->act >= CLOSE) return true;
    if (m->done[id] != o->done) return false;
    return o->act == PUT || o->act == SIZE ||
           memcmp(m->result[id], o->values, (size_t)o->done * sizeof(o->values[0])) == 0;
}

/* -- the search -------------------------------------------------------------------------------- */

typedef struct search {
    const op *ops;
    int       nops;
    int       events[2 * OPS]; /* in order of time: id at its beginning, ~id at its end */
    int64_t   steps;
} search;

static bool search_from(search *s, const model *m, int at, unsigned begun, unsigned arrived);

/* Lets one call arrive, or give up, at this moment, and continues. */
static bool search_step(search *s, const model *m, int at, unsigned begun, unsigned arrived, int id)
{
    model    next = *m;
    bool     waits = (arrived >> id & 1) != 0;
    const op *o = &s->ops[id];

    /* One for which it was not the moment changes nothing, whenever it comes. */
    if (o->status == LEVADA_AGAIN) {
        if (o->timeout != LEVADA_AT_ONCE || o->done != 0) return false;
        next.over[id] = true;
        return search_from(s, &next, at, begun, arrived | 1u << id);
    }
    if (waits) {
        if (o->status != LEVADA_EDEADLINE_EXCEEDED || o->timeout == 0) return false;
        if (!model_give_up(&next, s->ops, id)) return false;
    } else {
        model_arrive(&next, s->ops, id);
        if (o->timeout == 0 && !next.over[id]) (void)model_give_up(&next, s->ops, id);
        if (o->timeout == LEVADA_AT_ONCE && !next.over[id]) return false;
    }
    for (int i = 0; i < s->nops; i++) {
        if (next.over[i] && !m->over[i] && !model_agrees(&next, s->ops, i)) return false;
    }
    return search_from(s, &next, at, begun, arrived | 1u << id);
}

/* A beginning is passed at once: what arrives before it may as well arrive after it. An end is
 * passed once the model agrees; until then somebody must arrive, or give up, before it. */
static bool search_from(search *s, const model *m, int at, unsigned begun, unsigned arrived)
{
    s->steps++;
    for (; at < 2 * s->nops; at++) {
        int id = s->events[at];

        if (id >= 0) begun |= 1u << id;
        else if (m->over[~id]) begun &= ~(1u << ~id);
        else break;
    }
    if (at == 2 * s->nops) return true;
    for (int i = 0; i < s->nops; i++) {
        bool may = (begun >> i & 1) != 0 && !m->over[i];

        if (may && search_step(s, m, at, begun, arrived, i)) return true;
    }
    return false;
}

static bool has_an_order(const op *ops, int nops, int capacity)
{
    search       s = { .ops = ops, .nops = nops };
    static model m;

    for (int i = 0; i < nops; i++) {
        s.events[ops[i].begin] = i;
        s.events[ops[i].end] = ~i;
    }
    memset(&m, 0, sizeof(m));
    m.capacity = capacity;
    return search_from(&s, &m, 0, 0, 0);
}

/* -- histories --------------------------------------------------------------------------------- */

typedef struct run {
    levada_queue *queue;
    bool          tensors; /* vectors of one, which a queue that pads holds by reference */
    atomic_llong  clock;
    atomic_int    left;
    op            ops[OPS];
} run;

typedef struct runner {
    run      *run;
    int       first;
    pthread_t thread;
} runner;

static void perform_put(run *r, op *o)
{
    levada_tensor *t = test_tensor(LEVADA_INT64, 2, (const int64_t[]){ o->n, 1 }, o->values);

    o->status = levada_queue_enqueue_many(r->queue, &t, o->timeout, &o->done, NULL);
    levada_tensor_unref(&t);
}

static void perform_take(run *r, op *o)
{
    levada_tensor *t = NULL;

    o->status = levada_queue_dequeue_many(r->queue, o->n, o->act == TAKE_UP_TO, &t, o->timeout,
                                          NULL);
    if (o->status != LEVADA_OK) return;
    o->done = levada_tensor_shape(t)->dims[0];
    memcpy(o->values, levada_tensor_data(t), (size_t)o->done * sizeof(o->values[0]));
    levada_tensor_unref(&t);
}

static void perform(run *r, op *o)
{
    const void *in = o->values;
    void       *out = o->values;

    o->begin = atomic_fetch_add(&r->clock, 1);
    switch (o->act) {
    case PUT:
        if (r->tensors) {
            perform_put(r, o);
            break;
        }
        o->status = levada_queue_enqueue_rows(r->queue, o->n, &in, o->timeout, &o->done, NULL);
        break;
    case SIZE: o->done = levada_queue_size(r->queue); break;
    case CANCEL: levada_queue_cancel(r->queue); break;
    case CLOSE:
    case CLOSE_CANCEL:
        o->status = levada_queue_close(r->queue, o->act == CLOSE_CANCEL, o->timeout, NULL);
        break;
    default:
        if (r->tensors) {
            perform_take(r, o);
            break;
        }
        o->status = levada_queue_dequeue_rows(r->queue, o->n, o->act == TAKE_UP_TO, &out,
                                              o->timeout, &o->done, NULL);
    }
    o->end = atomic_fetch_add(&r->clock, 1);
}

static void *runner_main(void *user)
{
    runner *w = user;

    for (int i = 0; i < EACH; i++) perform(w->run, &w->run->ops[w->first + i]);
    atomic_fetch_sub(&w->run->left, 1);
    return NULL;
}

static op draw_op(int id, unsigned *seed)
{
    static const int64_t patience[] = { 0, 20000, 100, LEVADA_AT_ONCE };

    int what = (int)((unsigned)rand_r(seed) % 19), when = (int)((unsigned)rand_r(seed) % 8);
    op  o = { .act = what < 8    ? PUT
                     : what < 12 ? TAKE
                     : what < 15 ? TAKE_UP_TO
                     : what < 17 ? SIZE
                     : what < 18 ? CLOSE
                                 : CANCEL };

    o.n = 1 + (int)((unsigned)rand_r(seed) % MOST);
    o.timeout = when < 4 ? patience[when] : LEVADA_FOREVER;
    /* One that is late still takes effect later: that is a call of its own, not drawn here. */
    if (o.act == CLOSE) o.timeout = LEVADA_FOREVER;
    for (int i = 0; i < MOST && o.act == PUT; i++) o.values[i] = id * MOST + i;
    return o;
}

/* When all who are left wait, a close lets everybody go. Returns how many calls there were. */
static int finish(run *r)
{
    int n = THREADS * EACH;

    for (int left; (left = atomic_load(&r->left)) > 0;) {
        nanosleep(&(struct timespec){ 0, 50000 }, NULL);
        if (n > THREADS * EACH || test_waiting(NULL) < left) continue;
        r->ops[n] = (op){ .act = CLOSE_CANCEL, .timeout = LEVADA_FOREVER };
        perform(r, &r->ops[n++]);
    }
    return n;
}

static void dump(const run *r, int nops, int capacity)
{
    print_message("capacity %d\n", capacity);
    for (int i = 0; i < nops; i++) {
        const op *o = &r->ops[i];

        print_message("%2d [%3lld %3lld] act %d n %d timeout %lld: %s done %lld:", i,
                      (long long)o->begin, (long long)o->end, (int)o->act, o->n,
                      (long long)o->timeout, levada_status_name(o->status), (long long)o->done);
        for (int64_t k = 0; k < o->done; k++) print_message(" %lld", (long long)o->values[k]);
        print_message("\n");
    }
}

static void check_history(unsigned seed)
{
    static run r;
    runner     w[THREADS];
    int        capacity = seed % 6 < 5 ? 1 + (int)(seed % 6) : -1, n;

    memset(&r, 0, sizeof(r));
    r.tensors = seed / 6 % 2 == 1;
    r.queue = r.tensors ? test_padding_queue(capacity)
                        : test_queue(LEVADA_QUEUE_FIFO, capacity, 0);
    atomic_store(&r.left, THREADS);
    for (int i = 0; i < THREADS * EACH; i++) r.ops[i] = draw_op(i, &seed);
    for (int i = 0; i < THREADS; i++) {
        w[i] = (runner){ .run = &r, .first = i * EACH };
        assert_int_equal(pthread_create(&w[i].thread, NULL, runner_main, &w[i]), 0);
    }
    n = finish(&r);
    for (int i = 0; i < THREADS; i++) pthread_join(w[i].thread, NULL);
    levada_queue_unref(&r.queue);
    if (has_an_order(r.ops, n, capacity > 0 ? capacity : HELD)) return;
    dump(&r, n, capacity);
    fail_msg("no order of these calls gives what they got");
}

static void every_history_has_an_order(void **state)
{
    (void)state;
    for (unsigned seed = 1; seed <= 1000; seed++) check_history(seed);
}

/* -- the check itself -------------------------------------------------------------------------- */

static op call(act what, int n, levada_status status, int64_t first, int64_t begin, int64_t end)
{
    op o = { .act = what, .n = n, .timeout = LEVADA_FOREVER, .status = status };

    o.begin = begin;
    o.end = end;
    o.done = status == LEVADA_OK ? n : 0;
    for (int i = 0; i < n; i++) o.values[i] = first + i;
    return o;
}

/* Histories that no queue may have are found out. */
static void wrong_histories_have_none(void **state)
{
    const op fine[] = { call(PUT, 2, LEVADA_OK, 10, 0, 3), call(TAKE, 2, LEVADA_OK, 10, 1, 2) };
    const op early[] = { call(TAKE, 2, LEVADA_OK, 10, 0, 1), call(PUT, 2, LEVADA_OK, 10, 2, 3) };
    const op mixed[] = { call(PUT, 2, LEVADA_OK, 10, 0, 1), call(PUT, 2, LEVADA_OK, 20, 2, 3),
                         call(TAKE, 2, LEVADA_OK, 20, 4, 5) };
    const op twice[] = { call(PUT, 1, LEVADA_OK, 10, 0, 1), call(TAKE, 1, LEVADA_OK, 10, 2, 3),
                         call(TAKE, 1, LEVADA_OK, 10, 4, 5) };
    const op beyond[] = { call(PUT, 4, LEVADA_OK, 10, 0, 1), call(PUT, 2, LEVADA_OK, 20, 2, 3) };
    const op lost[] = { call(PUT, 1, LEVADA_OK, 10, 0, 1), call(CLOSE, 0, LEVADA_OK, 0, 2, 3),
                        call(TAKE, 1, LEVADA_EOUT_OF_RANGE, 0, 4, 5) };

    const op size[] = { call(PUT, 2, LEVADA_OK, 10, 0, 1), call(SIZE, 1, LEVADA_OK, 0, 2, 3) };

    (void)state;
    assert_true(has_an_order(fine, 2, 4));
    assert_false(has_an_order(size, 2, 4));
    assert_false(has_an_order(early, 2, 4));
    assert_false(has_an_order(mixed, 3, 4));
    assert_false(has_an_order(twice, 3, 4));
    assert_false(has_an_order(beyond, 2, 4));
    assert_false(has_an_order(lost, 3, 4));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_histories_have_none),
        cmocka_unit_test(every_history_has_an_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
