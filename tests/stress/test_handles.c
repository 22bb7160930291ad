/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handles in the child of a fork: every exported call on every kind of handle, in each of its
 * states, is refused there; destroying it neither hangs nor crashes; and the parent's go on. The
 * calls come from the headers (ci/gen_calls.py), so a new one is tried without being added.
 *
 * The other threads of the parent are asleep during the fork, but for the last test: a sanitizer's
 * child may hang in a lock of the sanitizer's allocator that another thread held.
 */
#include "support/coordinators.h"
#include "support/exports.h"
#include "support/iters.h"
#include "support/readers.h"

#include <levada/levada.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#else
#define SANITIZED 0
#endif
/* The allocator of the thread sanitizer is not usable in a child that was forked while another
 * thread was in it (test_fork.c). */
#if defined(__SANITIZE_THREAD__)
#define THREADED 0
#else
#define THREADED 1
#endif
#define PATIENCE 20 /* seconds until a child counts as hung */
#define BUSY_FORKS 100

/* -- what a child does */

static void handles_wrong(const char *what, const char *name)
{
    (void)fprintf(stderr, "child: %s: %s\n", name, what);
    _exit(1);
}

/* Every call whose first parameter is of that type, but those that end the handle. */
static void handles_refuse(const char *type, void *handle)
{
    int refused = 0;

    for (size_t i = 0; i < test_nexports; i++) {
        const test_export *e = &test_exports[i];
        size_t             n = strlen(e->name);
        int64_t            answer;

        if (strcmp(e->of, type) != 0 || e->kind == TEST_EXPORT_DESTROY) continue;
        if (n > 4 && strcmp(e->name + n - 4, "_ref") == 0) continue;
        answer = e->run(handle);
        if (e->kind != TEST_EXPORT_STATUS) continue;
        refused++;
        if (answer != LEVADA_EFAILED_PRECONDITION) handles_wrong("is not refused", e->name);
    }
    if (refused == 0 && strcmp(type, "levada_member") != 0) {
        handles_wrong("no call of this type has a status", type);
    }
}

/* The one destructor of a type. */
static void handles_destroy(const char *type, void *handle)
{
    for (size_t i = 0; i < test_nexports; i++) {
        const test_export *e = &test_exports[i];

        if (e->kind != TEST_EXPORT_DESTROY || strcmp(e->of, type) != 0) continue;
        (void)e->run(&handle);
        if (handle != NULL) handles_wrong("does not clear the pointer", e->name);
        return;
    }
    handles_wrong("has no destructor", type);
}

/* Handles of the child's own work beside those of the parent. */
static void handles_own(void)
{
    levada_queue *queue = test_queue(LEVADA_QUEUE_FIFO, 4, 0);
    levada_iter  *it = t_iter_open("range:count=100 | batch:10", 1, 0);
    levada_block *block = NULL;

    if (test_put(queue, 7, 2) != LEVADA_OK || test_take(queue) != 7) handles_wrong("own", "queue");
    if (levada_iter_next(it, &block, NULL) != LEVADA_OK) handles_wrong("own", "iterator");
    levada_block_unref(&block);
    levada_iter_close(&it);
    levada_queue_unref(&queue);
}

typedef struct handles_entry {
    const char *type;
    void       *handle;
} handles_entry;

static void handles_fork(const handles_entry *entries, size_t n)
{
    int   status = -1;
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        alarm(PATIENCE);
        for (size_t i = 0; i < n; i++) handles_refuse(entries[i].type, entries[i].handle);
        for (size_t i = 0; i < n; i++) handles_destroy(entries[i].type, entries[i].handle);
        handles_own();
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (status != 0) fail_msg("the child ended with %#x", (unsigned)status);
}

#define FORK(...)                                                          \
    do {                                                                   \
        const handles_entry entries[] = { __VA_ARGS__ };                   \
        handles_fork(entries, sizeof entries / sizeof *entries);           \
    } while (0)

/* -- iterators */

static void iterators_are_refused(void **state)
{
    const int32_t threads[] = { 1, 2, 4, 8 };

    (void)state;
    for (size_t i = 0; i < (THREADED ? 4 : 1); i++) {
        levada_iter  *fresh = t_iter_open("range:count=1000 | batch:10", threads[i], 7);
        levada_iter  *running = t_iter_open("range:count=1000 | select:value | batch:9",
                                            threads[i], 7);
        levada_iter  *ended = t_iter_open("range:count=10", threads[i], 0);
        levada_iter  *cancelled = t_iter_open("range:count=10", threads[i], 0);
        levada_block *block = NULL;

        assert_int_equal(levada_iter_next(running, &block, NULL), LEVADA_OK);
        levada_block_unref(&block);
        while (levada_iter_next(ended, &block, NULL) == LEVADA_OK) levada_block_unref(&block);
        levada_iter_cancel(cancelled);
        FORK({ "levada_iter", fresh }, { "levada_iter", running }, { "levada_iter", ended },
             { "levada_iter", cancelled });
        assert_int_equal(levada_iter_next(running, &block, NULL), LEVADA_OK);
        levada_block_unref(&block);
        levada_iter_close(&fresh);
        levada_iter_close(&running);
        levada_iter_close(&ended);
        levada_iter_close(&cancelled);
    }
}

static levada_status handles_pull(levada_coordinator *coordinator, void *user, levada_error *err)
{
    levada_block *block = NULL;
    levada_status st;

    (void)coordinator;
    do {
        levada_block_unref(&block);
        st = levada_iter_next(user, &block, err);
    } while (st == LEVADA_OK);
    levada_block_unref(&block);
    return st == LEVADA_ECANCELLED ? LEVADA_END : st;
}

/* Another thread is inside next(), which waits in its source. */
static void iterators_that_are_in_a_call_are_refused(void **state)
{
    (void)state;
    for (int32_t threads = 1; threads <= 4; threads += 3) {
        levada_coordinator *c = test_coordinator(NULL, 0);
        levada_iter *it = t_iter_open("t_stream:count=100000,wait=2000000 | select:n", threads, 1);

        test_start_thread(c, "pull", handles_pull, it);
        usleep(20000);
        FORK({ "levada_iter", it }, { "levada_coordinator", c });
        levada_iter_cancel(it);
        test_joins(c, TEST_SECOND * 20, LEVADA_OK, NULL);
        levada_coordinator_destroy(&c);
        levada_iter_close(&it);
    }
}

/* -- queues and barriers */

static levada_barrier *handles_barrier(void)
{
    levada_barrier_options options = LEVADA_BARRIER_OPTIONS_INIT;
    const levada_dtype dtype = LEVADA_INT64;
    levada_barrier    *barrier = NULL;

    options.ncomponents = 1;
    options.dtypes = &dtype;
    assert_int_equal(levada_barrier_create(NULL, &options, &barrier, NULL),
                     LEVADA_OK);
    return barrier;
}

static void queues_are_refused(void **state)
{
    const levada_queue_kind kinds[] = { LEVADA_QUEUE_FIFO, LEVADA_QUEUE_SHUFFLE };

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        levada_queue *idle = test_queue(kinds[i], 4, 0), *full = test_queue(kinds[i], 2, 0);
        levada_queue *asleep = test_queue(kinds[i], 4, 0), *closed = test_queue(kinds[i], 4, 0);
        test_call     dequeue = test_call_of(asleep, TEST_DEQUEUE, 3, 0);
        test_call     enqueue = test_call_of(full, TEST_ENQUEUE, 3, 0);

        test_put(asleep, 5, 1);
        test_start_waiting(&dequeue);
        test_start_waiting(&enqueue);
        assert_int_equal(levada_queue_close(closed, false, LEVADA_FOREVER, NULL), LEVADA_OK);
        FORK({ "levada_queue", idle }, { "levada_queue", full }, { "levada_queue", asleep },
             { "levada_queue", closed });
        levada_queue_cancel(asleep);
        levada_queue_cancel(full);
        test_join(&dequeue);
        test_join(&enqueue);
        test_expect_status(&dequeue, LEVADA_ECANCELLED, "");
        levada_queue_unref(&idle);
        levada_queue_unref(&full);
        levada_queue_unref(&asleep);
        levada_queue_unref(&closed);
    }
}

static levada_status handles_take(levada_coordinator *coordinator, void *user, levada_error *err)
{
    const levada_barrier_take how = { sizeof how, 1, false, false, LEVADA_FOREVER };
    levada_tensor            *indices = NULL, *keys = NULL, *value = NULL;

    (void)coordinator;
    return levada_barrier_take_many(user, &how, &indices, &keys, &value, err) == LEVADA_ECANCELLED
               ? LEVADA_END
               : LEVADA_EINTERNAL;
}

static void barriers_are_refused(void **state)
{
    levada_barrier     *idle = handles_barrier(), *asleep = handles_barrier();
    levada_coordinator *c = test_coordinator(NULL, 0);

    (void)state;
    test_start_thread(c, "take", handles_take, asleep);
    test_until_waiting(NULL, 1);
    FORK({ "levada_barrier", idle }, { "levada_barrier", asleep }, { "levada_coordinator", c });
    levada_barrier_cancel(asleep);
    test_joins(c, TEST_SECOND * 20, LEVADA_OK, NULL);
    levada_coordinator_destroy(&c);
    levada_barrier_unref(&idle);
    levada_barrier_unref(&asleep);
}

/* -- coordinators, queue runners, loopers */

static levada_status handles_fill(void *user, levada_error *err)
{
    const int64_t     one = 1;
    const void *const rows[] = { &one };

    return levada_queue_enqueue_rows(user, 1, rows, LEVADA_FOREVER, NULL, err);
}

static levada_queue_runner *handles_runner(levada_queue *queue)
{
    const levada_enqueue_op     ops[] = { { handles_fill, queue, NULL },
                                          { handles_fill, queue, NULL } };
    levada_queue_runner_options o = LEVADA_QUEUE_RUNNER_OPTIONS_INIT;
    levada_queue_runner        *runner = NULL;

    o.nops = 2;
    o.ops = ops;
    assert_int_equal(levada_queue_runner_create(queue, &o, &runner, NULL), LEVADA_OK);
    return runner;
}

static void queue_runners_are_refused(void **state)
{
    levada_queue        *a = test_queue(LEVADA_QUEUE_FIFO, 3, 0);
    levada_queue        *b = test_queue(LEVADA_QUEUE_FIFO, 3, 0);
    levada_queue_runner *idle = handles_runner(a), *own = handles_runner(a);
    levada_queue_runner *joined = handles_runner(b);
    levada_coordinator  *c = test_coordinator(NULL, 0);

    (void)state;
    assert_int_equal(levada_queue_runner_start(own, NULL, NULL), LEVADA_OK);
    assert_int_equal(levada_queue_runner_start(joined, c, NULL), LEVADA_OK);
    test_until_waiting(NULL, 5); /* four that fill, one close_on_stop */
    FORK({ "levada_queue_runner", idle }, { "levada_queue_runner", own },
         { "levada_queue_runner", joined }, { "levada_coordinator", c }, { "levada_queue", a },
         { "levada_queue", b });
    FORK({ "levada_coordinator", c }, { "levada_queue", b }, { "levada_queue_runner", joined });
    assert_int_equal(test_stop(c, LEVADA_OK, NULL), LEVADA_OK);
    test_joins(c, TEST_SECOND * 20, LEVADA_OK, NULL);
    levada_queue_runner_destroy(&idle);
    levada_queue_runner_destroy(&own);
    levada_queue_runner_destroy(&joined);
    levada_coordinator_destroy(&c);
    levada_queue_unref(&a);
    levada_queue_unref(&b);
}

static levada_status handles_tick(void *user, levada_error *err)
{
    (void)user;
    (void)err;
    return LEVADA_OK;
}

static void coordinators_are_refused(void **state)
{
    levada_coordinator   *idle = test_coordinator(NULL, 0), *running = test_coordinator(NULL, 0);
    levada_coordinator   *stopped = test_coordinator(NULL, 0);
    levada_looper_options looper = LEVADA_LOOPER_OPTIONS_INIT;
    levada_member        *member = NULL;
    test_gate             gate = { 0 };

    (void)state;
    looper.run = handles_tick;
    looper.interval = TEST_SECOND * 1000;
    test_start_thread(running, "gate", test_gate_run_until_stop, &gate);
    atomic_store(&gate.open, 1);
    assert_int_equal(levada_looper_start(running, &looper, NULL), LEVADA_OK);
    assert_int_equal(levada_coordinator_register(running, "own", &member, NULL), LEVADA_OK);
    assert_int_equal(test_stop(stopped, LEVADA_EDATA_LOSS, "text"), LEVADA_OK);
    test_until_waiting(NULL, 2);
    FORK({ "levada_coordinator", idle }, { "levada_coordinator", running },
         { "levada_coordinator", stopped }, { "levada_member", member });
    FORK({ "levada_member", member }, { "levada_coordinator", running });
    levada_member_end(&member);
    levada_coordinator_destroy(&idle);
    levada_coordinator_destroy(&running);
    levada_coordinator_destroy(&stopped);
}

/* -- the others */

static void handles_report(void *user, const levada_wait *wait)
{
    (void)user;
    (void)wait;
}

static void watchdogs_and_interrupts_are_refused(void **state)
{
    levada_interrupt       *interrupt = NULL;
    levada_watchdog_options o = LEVADA_WATCHDOG_OPTIONS_INIT;
    levada_watchdog        *idle = NULL, *running = NULL, *stopped = NULL;

    (void)state;
    assert_int_equal(levada_watchdog_create(NULL, &o, &idle, NULL), LEVADA_OK);
    o.report = handles_report;
    assert_int_equal(levada_watchdog_create(NULL, &o, &running, NULL), LEVADA_OK);
    assert_int_equal(levada_watchdog_create(NULL, &o, &stopped, NULL), LEVADA_OK);
    levada_watchdog_stop(stopped);
    assert_int_equal(levada_interrupt_create(&interrupt, NULL), LEVADA_OK);
    usleep(20000);
    FORK({ "levada_watchdog", idle }, { "levada_watchdog", running },
         { "levada_watchdog", stopped }, { "levada_interrupt", interrupt });
    levada_interrupt_destroy(&interrupt);
    levada_watchdog_destroy(&idle);
    levada_watchdog_destroy(&running);
    levada_watchdog_destroy(&stopped);
}

static levada_status handles_read(levada_coordinator *coordinator, void *user, levada_error *err)
{
    void         **both = user;
    levada_tensor *key = NULL, *value = NULL;

    (void)coordinator;
    return levada_reader_read(both[0], both[1], LEVADA_FOREVER, &key, &value, err) ==
                   LEVADA_ECANCELLED
               ? LEVADA_END
               : LEVADA_EINTERNAL;
}

static void readers_and_writers_are_refused(void **state)
{
    const char *const   files[] = { test_write_records("handles", NULL, 4), NULL };
    levada_queue       *names = test_names_of(files), *none = test_names();
    levada_reader      *idle = test_reader_of(LEVADA_READER_TFRECORD);
    levada_reader      *open = test_reader_of(LEVADA_READER_TFRECORD);
    levada_reader      *asleep = test_reader_of(LEVADA_READER_IDENTITY);
    levada_coordinator *c = test_coordinator(NULL, 0);
    levada_writer      *writer = NULL;
    char                text[512] = "";
    void               *both[] = { asleep, none };

    (void)state;
    test_read(open, names, text);
    test_start_thread(c, "read", handles_read, both);
    test_until_waiting(NULL, 1);
    assert_int_equal(levada_writer_open(NULL, t_path("written"), "none", -1, &writer, NULL),
                     LEVADA_OK);
    assert_int_equal(levada_writer_write(writer, "record", 6, NULL), LEVADA_OK);
    FORK({ "levada_reader", idle }, { "levada_reader", open }, { "levada_reader", asleep },
         { "levada_writer", writer }, { "levada_queue", none });
    assert_int_equal(levada_writer_close(writer, NULL), LEVADA_OK);
    levada_writer_destroy(&writer);
    t_bytes file = t_read_file(t_path("written"));
    assert_int_equal(file.size, 12 + 6 + 4); /* once: the child has written nothing */
    t_clear(&file);
    levada_queue_cancel(none);
    test_joins(c, TEST_SECOND * 20, LEVADA_OK, NULL);
    levada_coordinator_destroy(&c);
    levada_reader_destroy(&idle);
    test_drop_reader(&open, &names);
    test_drop_reader(&asleep, &none);
}

/* -- beside threads that are never asleep */

typedef struct handles_busy {
    levada_queue *queue;
    levada_iter  *it;
    atomic_bool   over;
} handles_busy;

static levada_status handles_work(levada_coordinator *coordinator, void *user, levada_error *err)
{
    handles_busy     *busy = user;
    int64_t           row = 1;
    const void *const in[] = { &row };
    void *const       out[] = { &row };
    levada_status     st = LEVADA_OK;

    (void)coordinator;
    while (st == LEVADA_OK && !atomic_load(&busy->over)) {
        st = levada_queue_enqueue_rows(busy->queue, 1, in, TEST_SECOND, NULL, err);
        if (st == LEVADA_OK) {
            st = levada_queue_dequeue_rows(busy->queue, 1, false, out, TEST_SECOND, NULL, err);
        }
    }
    return st;
}

static void busy_handles_are_refused(void **state)
{
    handles_busy        busy = { .over = false };
    levada_coordinator *c;

    (void)state;
    if (SANITIZED) skip();
    c = test_coordinator(NULL, 0);
    busy.queue = test_queue(LEVADA_QUEUE_FIFO, 8, 0);
    busy.it = t_iter_open("range:count=1000000000000 | select:value | batch:3", 4, 0);
    test_start_thread(c, "work", handles_work, &busy);
    test_start_thread(c, "work", handles_work, &busy);
    test_start_thread(c, "pull", handles_pull, busy.it);
    for (int i = 0; i < BUSY_FORKS; i++) {
        FORK({ "levada_iter", busy.it }, { "levada_queue", busy.queue },
             { "levada_coordinator", c });
    }
    atomic_store(&busy.over, true);
    levada_iter_cancel(busy.it);
    test_joins(c, TEST_SECOND * 20, LEVADA_OK, NULL);
    levada_coordinator_destroy(&c);
    levada_iter_close(&busy.it);
    levada_queue_unref(&busy.queue);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(iterators_are_refused),
        cmocka_unit_test(iterators_that_are_in_a_call_are_refused),
        cmocka_unit_test(queues_are_refused),
        cmocka_unit_test(barriers_are_refused),
        cmocka_unit_test(queue_runners_are_refused),
        cmocka_unit_test(coordinators_are_refused),
        cmocka_unit_test(watchdogs_and_interrupts_are_refused),
        cmocka_unit_test_setup_teardown(readers_and_writers_are_refused, t_folder_set_up,
                                        t_folder_tear_down),
        cmocka_unit_test(busy_handles_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
