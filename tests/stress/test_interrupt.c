/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Interrupts under storms of real signals: every wait ends, nothing deadlocks, and queues lose no
 * element. The main thread gets the signals, in the middle of whatever call it is in.
 */
#include "support/coordinators.h"
#include "support/iters.h"
#include "support/queues.h"

#include <levada/interrupt.h>

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include <cmocka.h>

#define ROUNDS 150
#define ELEMENTS 20000

static levada_interrupt *_Atomic interrupt_now;
static atomic_int                interrupt_signals;

static void interrupt_on_signal(int number)
{
    int before = errno;

    (void)number;
    levada_interrupt_raise(atomic_load(&interrupt_now));
    if (errno != before) abort();
    atomic_fetch_add(&interrupt_signals, 1);
}

/* ThreadSanitizer runs no handler in a thread that sleeps in a futex: a thread of its own gets the
 * signals there, asleep where the sanitizer looks. */
#if defined(__SANITIZE_THREAD__)
#define SIGNALS_ELSEWHERE 1
#else
#define SIGNALS_ELSEWHERE 0
#endif

static void *interrupt_victim(void *over)
{
    sigset_t alarms;

    sigemptyset(&alarms);
    sigaddset(&alarms, SIGALRM);
    pthread_sigmask(SIG_UNBLOCK, &alarms, NULL);
    while (!atomic_load((atomic_bool *)over)) usleep(1000);
    return NULL;
}

/* A signal every n microseconds; 0 ends the storm. */
static void interrupt_storm(int microseconds)
{
    const struct itimerval every = { { 0, microseconds }, { 0, microseconds } };
    struct sigaction       act = { .sa_handler = interrupt_on_signal, .sa_flags = SA_RESTART };

    assert_int_equal(sigaction(SIGALRM, &act, NULL), 0);
    assert_int_equal(setitimer(ITIMER_REAL, &every, NULL), 0);
}

static levada_interrupt *interrupt_create(void)
{
    levada_interrupt *made = NULL;

    assert_int_equal(levada_interrupt_create(&made, NULL), LEVADA_OK);
    return made;
}

static void interrupt_destroy(levada_interrupt *interrupt)
{
    atomic_store(&interrupt_now, NULL);
    levada_interrupt_destroy(&interrupt);
    assert_null(interrupt);
}

static void iterators_end(void **state)
{
    const char *const texts[] = { "range:count=1000000000000 | batch:3",
                                  "range:count=1000000000000 | shuffle:100 | select:value",
                                  "t_stream:count=100000000,wait=100000 | select:n" };

    (void)state;
    interrupt_storm(300);
    for (int i = 0; i < ROUNDS; i++) {
        levada_iter      *it = t_iter_open(texts[i % 3], i % 2 == 0 ? 1 : 4, 0);
        levada_interrupt *interrupt = interrupt_create();
        levada_block     *block = NULL;
        levada_status     st;

        assert_int_equal(levada_interrupt_add_iter(interrupt, it, NULL), LEVADA_OK);
        atomic_store(&interrupt_now, interrupt);
        while ((st = levada_iter_next(it, &block, NULL)) == LEVADA_OK) levada_block_unref(&block);
        assert_int_equal(st, LEVADA_ECANCELLED);
        interrupt_destroy(interrupt);
        levada_iter_close(&it);
    }
    interrupt_storm(0);
}

static void calls_that_wait_end(void **state)
{
    levada_barrier_options options = LEVADA_BARRIER_OPTIONS_INIT;
    const levada_barrier_take how = { sizeof how, 1, false, false, LEVADA_FOREVER };
    const levada_dtype        dtype = LEVADA_INT64;
    levada_queue             *queue = test_queue(LEVADA_QUEUE_FIFO, 2, 0);
    levada_barrier           *barrier = NULL;
    levada_interrupt         *interrupt = interrupt_create();
    levada_tensor            *indices = NULL, *keys = NULL, *value = NULL;

    (void)state;
    options.ncomponents = 1;
    options.dtypes = &dtype;
    assert_int_equal(levada_barrier_create(NULL, &options, &barrier, NULL),
                     LEVADA_OK);
    assert_int_equal(levada_interrupt_add_queue(interrupt, queue, NULL), LEVADA_OK);
    assert_int_equal(levada_interrupt_add_barrier(interrupt, barrier, NULL), LEVADA_OK);
    atomic_store(&interrupt_now, interrupt);
    interrupt_storm(300);
    for (int i = 0; i < ROUNDS; i++) {
        assert_int_equal(levada_queue_dequeue(queue, &value, LEVADA_FOREVER, NULL),
                         LEVADA_ECANCELLED);
        assert_int_equal(levada_barrier_take_many(barrier, &how, &indices, &keys, &value, NULL),
                         LEVADA_ECANCELLED);
    }
    interrupt_storm(0);
    interrupt_destroy(interrupt);
    assert_int_equal(test_put(queue, 1, 2), LEVADA_OK); /* both are usable */
    assert_int_equal(test_take(queue), 1);
    levada_queue_unref(&queue);
    levada_barrier_unref(&barrier);
}

static levada_status interrupt_feed(levada_coordinator *coordinator, void *user, levada_error *err)
{
    levada_status st = LEVADA_OK;

    (void)coordinator;
    for (int64_t i = 0; i < ELEMENTS && (st == LEVADA_OK || st == LEVADA_ECANCELLED);) {
        const void *const rows[] = { &i };

        st = levada_queue_enqueue_rows(user, 1, rows, LEVADA_FOREVER, NULL, err);
        i += st == LEVADA_OK;
    }
    return st == LEVADA_OK ? levada_queue_close(user, false, LEVADA_FOREVER, err) : st;
}

/* The main thread works on the queue as it gets the signals: most come inside one of its calls. */
static void queues_lose_nothing(void **state)
{
    levada_queue       *queue = test_queue(LEVADA_QUEUE_FIFO, 3, 0);
    levada_coordinator *c = test_coordinator(NULL, 0);
    levada_interrupt   *interrupt = interrupt_create();
    int64_t             got = 0, value = -1;
    void *const         rows[] = { &value };
    levada_status       st = LEVADA_OK;

    (void)state;
    assert_int_equal(levada_interrupt_add_queue(interrupt, queue, NULL), LEVADA_OK);
    atomic_store(&interrupt_now, interrupt);
    test_start_thread(c, "feed", interrupt_feed, queue);
    interrupt_storm(100);
    while (st == LEVADA_OK || st == LEVADA_ECANCELLED) {
        st = levada_queue_dequeue_rows(queue, 1, false, rows, LEVADA_FOREVER, NULL,
                                       NULL);
        if (st != LEVADA_OK) continue;
        assert_int_equal(value, got);
        got++;
    }
    interrupt_storm(0);
    assert_int_equal(st, LEVADA_EOUT_OF_RANGE);
    assert_int_equal(got, ELEMENTS);
    interrupt_destroy(interrupt);
    test_joins(c, TEST_SECOND * 20, LEVADA_OK, NULL);
    levada_coordinator_destroy(&c);
    levada_queue_unref(&queue);
}

static void coordinators_stop(void **state)
{
    (void)state;
    interrupt_storm(300);
    for (int i = 0; i < ROUNDS; i++) {
        levada_coordinator *c = test_coordinator(NULL, 0);
        levada_interrupt   *interrupt = interrupt_create();

        assert_int_equal(levada_interrupt_add_coordinator(interrupt, c, NULL), LEVADA_OK);
        atomic_store(&interrupt_now, interrupt);
        assert_true(levada_coordinator_wait_for_stop(c, LEVADA_FOREVER));
        interrupt_destroy(interrupt);
        assert_int_equal(levada_coordinator_raise_requested(c, NULL), LEVADA_OK);
        levada_coordinator_destroy(&c);
    }
    interrupt_storm(0);
}

/* A raise just before the end is not lost. */
static void destroying_it_finishes_what_was_raised(void **state)
{
    (void)state;
    for (int i = 0; i < ROUNDS; i++) {
        levada_iter      *it = t_iter_open("range:count=10", 1, 0);
        levada_interrupt *interrupt = interrupt_create();
        levada_block     *block = NULL;

        assert_int_equal(levada_interrupt_add_iter(interrupt, it, NULL), LEVADA_OK);
        levada_interrupt_raise(interrupt);
        levada_interrupt_destroy(&interrupt);
        assert_int_equal(levada_iter_next(it, &block, NULL), LEVADA_ECANCELLED);
        levada_iter_close(&it);
    }
    assert_true(atomic_load(&interrupt_signals) > ROUNDS);
}

static int interrupt_run(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(iterators_end),
        cmocka_unit_test(calls_that_wait_end),
        cmocka_unit_test(queues_lose_nothing),
        cmocka_unit_test(coordinators_stop),
        cmocka_unit_test(destroying_it_finishes_what_was_raised),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void)
{
    atomic_bool over = false;
    pthread_t   victim;
    sigset_t    alarms;
    int         failed;

    if (!SIGNALS_ELSEWHERE) return interrupt_run();
    sigemptyset(&alarms);
    sigaddset(&alarms, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &alarms, NULL);
    if (pthread_create(&victim, NULL, interrupt_victim, &over) != 0) return 1;
    failed = interrupt_run();
    atomic_store(&over, true);
    pthread_join(victim, NULL);
    return failed;
}
