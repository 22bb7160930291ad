/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/wait.h"

#include "base/alloc.h"
#include "support/deaths.h"
#include "support/queues.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

/* A place where one waits for a number. */
typedef struct place {
    levada_lock lock;
    levada_line line;
    levada_site site;
    levada_wait_list *wait_list;
} place;

typedef struct guest {
    levada_waiter   waiter; /* first */
    place          *at;
    int             number;
    levada_wait_end end;
    pthread_t       thread;
} guest;

static void place_init(place *p)
{
    memset(p, 0, sizeof(*p));
    assert_int_equal(levada_wait_list_create(&p->wait_list, NULL), LEVADA_OK);
    assert_int_equal(levada_lock_init(&p->lock, LEVADA_LOCK_QUEUE, NULL), LEVADA_OK);
    levada_site_init(&p->site, p->wait_list, "place");
}

static void place_clear(place *p)
{
    levada_lock_clear(&p->lock);
    levada_wait_list_unref(&p->wait_list);
}

static void *guest_wait(void *user)
{
    guest *g = user;

    g->end = levada_waiter_wait(&g->waiter, &g->at->site, "a number", -1, -1);
    return NULL;
}

static void serve(place *p, int number)
{
    levada_woken woken = { 0 };

    levada_lock_take(&p->lock);
    ((guest *)(void *)p->line.head)->number = number;
    levada_waiter_finish(&p->line, p->line.head, LEVADA_OK, &woken);
    levada_lock_give(&p->lock);
    levada_wake(&woken);
}

static void serves_in_the_order_of_the_line(void **state)
{
    place p;
    guest g[3] = { 0 };

    (void)state;
    place_init(&p);
    for (int i = 0; i < 3; i++) {
        g[i].at = &p;
        levada_line_append(&p.line, &g[i].waiter);
        levada_waiter_prepare(&g[i].waiter);
        pthread_create(&g[i].thread, NULL, guest_wait, &g[i]);
    }
    for (int i = 0; i < 3; i++) serve(&p, 10 + i);
    assert_null(p.line.head);
    for (int i = 0; i < 3; i++) {
        pthread_join(g[i].thread, NULL);
        assert_int_equal(g[i].end, LEVADA_WAIT_DONE);
        assert_int_equal(g[i].number, 10 + i);
    }
    place_clear(&p);
}

static void nodes_leave_from_anywhere(void **state)
{
    levada_line   line = { 0 };
    levada_waiter w[4] = { { .linked = false } }, other = { 0 };

    (void)state;
    for (int i = 0; i < 4; i++) levada_line_append(&line, &w[i]);
    levada_line_remove(&line, &w[1]);
    levada_line_replace(&line, &w[3], &other);
    levada_line_remove(&line, &w[0]);
    assert_ptr_equal(line.head, &w[2]);
    assert_ptr_equal(line.tail, &other);
    assert_false(w[3].linked);
    levada_line_remove(&line, &other);
    levada_line_remove(&line, &w[2]);
    assert_null(line.head);
    assert_null(line.tail);
}

static void a_wait_without_end_is_late(void **state)
{
    place  p;
    guest  g = { 0 };
    double seconds;

    (void)state;
    place_init(&p);
    levada_line_append(&p.line, &g.waiter);
    levada_waiter_prepare(&g.waiter);
    int64_t begin = levada_now();
    assert_int_equal(levada_waiter_wait(&g.waiter, &p.site, "a number", 3, begin + 20000000),
                     LEVADA_WAIT_LATE);
    seconds = (double)(levada_now() - begin) * 1e-9;
    assert_true(seconds >= 0.02 && seconds < 2);
    levada_line_remove(&p.line, &g.waiter);
    levada_waiter_clear(&g.waiter);
    place_clear(&p);
}

/* However long it would look around for who serves it. */
static void a_short_wait_is_not_late_for_spinning(void **state)
{
    int64_t least = INT64_MAX, timeout = 1000000;
    place   p;

    (void)state;
    place_init(&p);
    for (int i = 0; i < 10; i++) {
        guest   g = { 0 };
        int64_t begin = levada_now(), took;

        levada_site_spin(&p.site, 100000000);
        levada_line_append(&p.line, &g.waiter);
        levada_waiter_prepare(&g.waiter);
        assert_int_equal(levada_waiter_wait(&g.waiter, &p.site, "a number", 3, begin + timeout),
                         LEVADA_WAIT_LATE);
        took = levada_now() - begin;
        assert_true(took >= timeout);
        if (took < least) least = took;
        levada_line_remove(&p.line, &g.waiter);
        levada_waiter_clear(&g.waiter);
    }
    assert_true(least < 25 * timeout);
    place_clear(&p);
}

static void a_wake_up_on_the_way_is_not_missed(void **state)
{
    (void)state;
    for (int i = 0; i < 300; i++) {
        place     p;
        guest     g = { .at = &p };
        pthread_t thread;

        place_init(&p);
        levada_line_append(&p.line, &g.waiter);
        levada_waiter_prepare(&g.waiter);
        pthread_create(&thread, NULL, guest_wait, &g);
        if (i % 3 == 0) nanosleep(&(struct timespec){ 0, 50000 }, NULL);
        serve(&p, i);
        pthread_join(thread, NULL);
        assert_int_equal(g.number, i);
        place_clear(&p);
    }
}

static bool is_done(const levada_waiter *w)
{ return atomic_load(&w->park.word) == LEVADA_PARK_DONE; }

/* Every third one does not sleep yet: it is woken at once, and wakes nobody. */
static void of_many_that_sleep_each_wakes_two(void **state)
{
    enum { MANY = 100 };
    levada_waiter w[MANY] = { { .linked = false } }, *asleep[MANY];

    (void)state;
    for (int all = 1; all <= MANY; all++) {
        levada_line  line = { 0 };
        levada_woken woken = { 0 };
        int          n = 0;

        for (int i = 0; i < all; i++) {
            levada_line_append(&line, &w[i]);
            levada_waiter_prepare(&w[i]);
            if (i % 3 != 1) atomic_store(&(asleep[n++] = &w[i])->park.word, LEVADA_PARK_ASLEEP);
        }
        while (line.head != NULL) levada_waiter_finish(&line, line.head, LEVADA_OK, &woken);
        levada_wake(&woken);
        for (int i = 0; i < n; i++) assert_int_equal(is_done(asleep[i]), i == 0);
        for (int i = 0; i < n; i++) {
            levada_waiter_settle(asleep[i]); /* would wait forever if nobody had woken it */
            for (int k = i + 1; k < n; k++) assert_int_equal(is_done(asleep[k]), k <= 2 * i + 2);
        }
        for (int i = 1; i < all; i += 3) levada_waiter_settle(&w[i]);
    }
}

/* A sleeper whose time was up after it had been chosen to wake others: they do not wait for it. */
static void who_is_awake_has_nobody_to_wake(void **state)
{
    enum { MANY = 31, LATE = 4 };
    const int     late[LATE] = { 1, 4, 9, 20 }; /* from the root down to a leaf */
    levada_waiter w[MANY] = { { .linked = false } };
    levada_line   line = { 0 };
    levada_woken  woken = { 0 };

    (void)state;
    for (int i = 0; i < MANY; i++) {
        levada_line_append(&line, &w[i]);
        levada_waiter_prepare(&w[i]);
        atomic_store(&w[i].park.word, LEVADA_PARK_ASLEEP);
    }
    while (line.head != NULL) levada_waiter_finish(&line, line.head, LEVADA_OK, &woken);
    levada_wake(&woken);
    for (int k = 0; k < LATE; k++) atomic_store(&w[late[k]].park.word, LEVADA_PARK_AWAKE);
    levada_waiter_settle(&w[0]);
    for (int k = 0; k < LATE; k++) assert_true(is_done(&w[late[k]]));
    for (int k = 0; k < LATE && 2 * late[k] + 2 < MANY; k++) {
        assert_true(is_done(&w[2 * late[k] + 1]) && is_done(&w[2 * late[k] + 2]));
    }
    for (int i = 1; i < MANY; i++) levada_waiter_settle(&w[i]);
}

typedef struct party {
    place       asks, p;
    guest       g[2];
    atomic_bool asked, left; /* the first guest, the second one */
    bool        in_time;
} party;

/* As a handler of a signal may, that runs here. */
static bool wait_for_the_other(void *user)
{
    party *all = user;

    atomic_store(&all->asked, true);
    for (int i = 0; i < 5000 && !atomic_load(&all->left); i++) {
        nanosleep(&(struct timespec){ 0, 1000000 }, NULL);
    }
    all->in_time = atomic_load(&all->left);
    return true;
}

static void *leave_the_party(void *user)
{
    party *all = user;

    guest_wait(&all->g[1]);
    atomic_store(&all->left, true);
    return NULL;
}

static void nobody_waits_for_one_who_is_asked(void **state)
{
    static party all;
    levada_woken woken = { 0 };

    (void)state;
    place_init(&all.p);
    place_init(&all.asks);
    all.asks.site.poll = wait_for_the_other;
    all.asks.site.poll_user = &all;
    all.asks.site.poll_every = 1000000;
    all.g[0].at = &all.asks;
    all.g[1].at = &all.p;
    for (int i = 0; i < 2; i++) {
        levada_line_append(&all.p.line, &all.g[i].waiter);
        levada_waiter_prepare(&all.g[i].waiter);
        pthread_create(&all.g[i].thread, NULL, i == 0 ? guest_wait : leave_the_party,
                       i == 0 ? (void *)&all.g[0] : &all);
    }
    while (!atomic_load(&all.asked) ||
           atomic_load(&all.g[1].waiter.park.word) != LEVADA_PARK_ASLEEP) {
        nanosleep(&(struct timespec){ 0, 1000000 }, NULL);
    }
    for (int i = 0; i < 2; i++) {
        levada_waiter_finish(&all.p.line, all.p.line.head, LEVADA_OK, &woken);
    }
    levada_wake(&woken);
    for (int i = 0; i < 2; i++) pthread_join(all.g[i].thread, NULL);
    assert_true(all.in_time);
    place_clear(&all.asks);
    place_clear(&all.p);
}

static void all_who_are_served_together_wake_up(void **state)
{
    enum { MANY = 60 };
    static guest g[MANY];
    place        p;
    levada_woken woken = { 0 };

    (void)state;
    place_init(&p);
    for (int i = 0; i < MANY; i++) {
        g[i] = (guest){ .at = &p };
        levada_line_append(&p.line, &g[i].waiter);
        levada_waiter_prepare(&g[i].waiter);
        pthread_create(&g[i].thread, NULL, guest_wait, &g[i]);
    }
    levada_lock_take(&p.lock);
    while (p.line.head != NULL) levada_waiter_finish(&p.line, p.line.head, LEVADA_OK, &woken);
    levada_lock_give(&p.lock);
    levada_wake(&woken);
    for (int i = 0; i < MANY; i++) {
        pthread_join(g[i].thread, NULL);
        assert_int_equal(g[i].end, LEVADA_WAIT_DONE);
    }
    place_clear(&p);
}

/* Links all waiters but the i-th, and what its neighbours know of it, to where nothing lies: who
 * walks along the line faults. */
static void hide_all_but(levada_waiter *w, int n, int i)
{
    levada_waiter *nowhere = (levada_waiter *)(uintptr_t)64;

    for (int k = 0; k < n; k++) {
        if (k != i && k + 1 != i) w[k].next = nowhere;
        if (k != i && k - 1 != i) w[k].prev = nowhere;
    }
}

/* So giving up costs the same however many wait. */
static void giving_up_looks_at_the_neighbours_only(void **state)
{
    enum { MANY = 1000 };
    const int      places[] = { 0, 1, MANY / 2, MANY - 2, MANY - 1 };
    levada_waiter *w = levada_alloc_zero(MANY * sizeof(*w));

    (void)state;
    assert_non_null(w);
    for (size_t k = 0; k < sizeof(places) / sizeof(*places); k++) {
        levada_line line = { 0 };
        int         i = places[k];

        for (int n = 0; n < MANY; n++) {
            w[n].linked = false;
            levada_line_append(&line, &w[n]);
        }
        hide_all_but(w, MANY, i);
        levada_line_remove(&line, &w[i]);
        assert_false(w[i].linked);
        assert_ptr_equal(line.head, i > 0 ? &w[0] : &w[1]);
        assert_ptr_equal(line.tail, i < MANY - 1 ? &w[MANY - 1] : &w[MANY - 2]);
        if (i > 0) assert_ptr_equal(w[i - 1].next, i < MANY - 1 ? &w[i + 1] : NULL);
        if (i < MANY - 1) assert_ptr_equal(w[i + 1].prev, i > 0 ? &w[i - 1] : NULL);
    }
    levada_free(w);
}

/* -- what debug builds find -------------------------------------------------------------------- */

static void stand_in_two_lines(void *user)
{
    levada_line   lines[2] = { { 0 } };
    levada_waiter w = { .linked = false };

    (void)user;
    levada_line_append(&lines[0], &w);
    levada_line_append(&lines[1], &w);
}

static void finish_twice(void *user)
{
    levada_line   line = { 0 };
    levada_woken  woken = { 0 };
    levada_waiter w = { .linked = false };

    (void)user;
    levada_line_append(&line, &w);
    levada_waiter_finish(&line, &w, LEVADA_OK, &woken);
    levada_waiter_finish(&line, &w, LEVADA_OK, &woken);
}

static void leave_a_line_of_others(void *user)
{
    levada_line   lines[2] = { { 0 } };
    levada_waiter w[2] = { { .linked = false } };

    (void)user;
    levada_line_append(&lines[0], &w[0]);
    levada_line_append(&lines[1], &w[1]);
    levada_line_remove(&lines[1], &w[0]);
}

static void take_a_queue_within_the_wait_list(void *user)
{
    levada_mutex wait_list;
    levada_lock  queue;

    (void)user;
    assert_int_equal(levada_mutex_init(&wait_list, LEVADA_LOCK_WAIT_LIST, NULL), LEVADA_OK);
    assert_int_equal(levada_lock_init(&queue, LEVADA_LOCK_QUEUE, NULL), LEVADA_OK);
    levada_lock_take(&queue);
    levada_mutex_lock(&wait_list); /* this is the order */
    levada_lock_give(&queue);
    levada_lock_take(&queue);
}

static void hold_two_queues(void *user)
{
    levada_lock queues[2];

    (void)user;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(levada_lock_init(&queues[i], LEVADA_LOCK_QUEUE, NULL), LEVADA_OK);
        levada_lock_take(&queues[i]);
    }
}

static void give_a_lock_that_is_not_held(void *user)
{
    levada_lock lock;

    (void)user;
    assert_int_equal(levada_lock_init(&lock, LEVADA_LOCK_QUEUE, NULL), LEVADA_OK);
    levada_lock_give(&lock);
}

static void a_waiter_stands_in_one_line_and_is_finished_once(void **state)
{
    (void)state;
    if (!LEVADA_DEBUG) skip();
    test_aborts(stand_in_two_lines, NULL, "!waiter->linked");
    test_aborts(finish_twice, NULL, "waiter->linked");
    test_aborts(leave_a_line_of_others, NULL, "waiter == ");
}

static void locks_are_taken_in_their_order(void **state)
{
    (void)state;
    if (!LEVADA_DEBUG) skip();
    test_aborts(take_a_queue_within_the_wait_list, NULL, "lock_held.place[i] < place");
    test_aborts(hold_two_queues, NULL, "lock_held.place[i] < place");
    test_aborts(give_a_lock_that_is_not_held, NULL, "i > 0");
}

typedef struct counter {
    levada_lock lock;
    int64_t     n;
} counter;

static void *count_up(void *user)
{
    counter *c = user;

    for (int i = 0; i < 50000; i++) {
        levada_lock_take(&c->lock);
        c->n++;
        levada_lock_give(&c->lock);
    }
    return NULL;
}

static void the_lock_keeps_others_out(void **state)
{
    counter   c = { .n = 0 };
    pthread_t threads[4];

    (void)state;
    assert_int_equal(levada_lock_init(&c.lock, LEVADA_LOCK_QUEUE, NULL), LEVADA_OK);
    for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, count_up, &c);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    assert_int_equal(c.n, 200000);
    levada_lock_clear(&c.lock);
}

static void *wait_named(void *user)
{
    test_call *call = user;

    levada_waiter_name("reader 1");
    test_run(call);
    return NULL;
}

static void names_stand_in_the_report(void **state)
{
    levada_env  *env = NULL;
    levada_dtype dtype = LEVADA_INT64;
    levada_shape shape = { 0, { 0 } };
    char        *text = NULL;

    (void)state;
    assert_int_equal(levada_env_create(NULL, &env, NULL), LEVADA_OK);
    levada_queue_options o = LEVADA_QUEUE_OPTIONS_INIT;
    o.ncomponents = 1;
    o.dtypes = &dtype;
    o.shapes = &shape;
    o.name = "words";
    levada_queue *queue = test_queue_of(env, &o);
    test_call     call = test_call_of(queue, TEST_DEQUEUE, 2, 0);
    pthread_create(&call.thread, NULL, wait_named, &call);
    test_until_waiting(env, 1);
    assert_int_equal(test_waiting(NULL), 0); /* each environment has its own list */
    assert_int_equal(levada_waiters_json(env, &text, NULL), LEVADA_OK);
    assert_non_null(strstr(text, "\"thread\": \"reader 1\", \"object\": \"words\""));
    levada_free(text);
    levada_queue_cancel(queue);
    test_join(&call);
    levada_env_destroy(&env); /* a queue may outlive its environment */
    assert_int_equal(test_put(queue, 1, 1), LEVADA_OK);
    levada_queue_unref(&queue);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(serves_in_the_order_of_the_line),
        cmocka_unit_test(nodes_leave_from_anywhere),
        cmocka_unit_test(a_wait_without_end_is_late),
        cmocka_unit_test(a_short_wait_is_not_late_for_spinning),
        cmocka_unit_test(of_many_that_sleep_each_wakes_two),
        cmocka_unit_test(who_is_awake_has_nobody_to_wake),
        cmocka_unit_test(nobody_waits_for_one_who_is_asked),
        cmocka_unit_test(all_who_are_served_together_wake_up),
        cmocka_unit_test(a_wake_up_on_the_way_is_not_missed),
        cmocka_unit_test(giving_up_looks_at_the_neighbours_only),
        cmocka_unit_test(a_waiter_stands_in_one_line_and_is_finished_once),
        cmocka_unit_test(locks_are_taken_in_their_order),
        cmocka_unit_test(the_lock_keeps_others_out),
        cmocka_unit_test(names_stand_in_the_report),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
