/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Forks beside threads that allocate and wait: a child finds no lock of the environment held.
 * A child that hangs is ended by a signal, which fails the test.
 */
#include "runtime/lock.h"

#include <levada/barrier.h>
#include <levada/iter.h>
#include <levada/queue.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/*
 * Not with a sanitizer: its allocator has locks that a fork does not take, and a child waits
 * forever for one that a thread of the parent held. Stacks of hung children (gcc 12,
 * ThreadSanitizer, about 1 of 100 runs) end in
 *
 *     __sanitizer::Mutex::Lock
 *     __sanitizer::SizeClassAllocator64<__tsan::AP64>::GetFromAllocator
 *     __tsan::user_posix_memalign
 *     levada_alloc_aligned
 *
 * with no lock of levada's held. test_handles.c forks with a sanitizer, while other threads sleep.
 */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define FORKS 0
#else
#define FORKS 400
#endif
#define CHILD_THREADS 2
#define PATIENCE 30 /* seconds */

static atomic_bool over;

/* Records of an iterator, which take and return buffers; -1 where it fails. */
static int64_t run(const char *text, int32_t threads)
{
    levada_iter_options options = LEVADA_ITER_OPTIONS_INIT;
    levada_dataset     *dataset = NULL;
    levada_iter        *it = NULL;
    levada_block       *block = NULL;
    levada_status       st = levada_dataset_parse(NULL, text, &dataset, NULL);
    int64_t             n = 0;

    options.threads = threads;
    if (st == LEVADA_OK) st = levada_iter_open(dataset, &options, &it, NULL);
    while (st == LEVADA_OK && (st = levada_iter_next(it, &block, NULL)) == LEVADA_OK) {
        n += levada_block_rows(block);
        levada_block_unref(&block);
    }
    levada_iter_close(&it);
    levada_dataset_unref(&dataset);
    return st == LEVADA_END ? n : -1;
}

static void work(void *user)
{
    (void)user;
    while (!atomic_load(&over))
        if (run("range:500 | batch:3", 1) != 500) abort();
}

/* Sleeps in a queue, for so short that the list of sleepers always changes. */
static void doze(void *user)
{
    levada_tensor *out = NULL;

    while (!atomic_load(&over))
        if (levada_queue_dequeue(user, &out, 20000, NULL) != LEVADA_EDEADLINE_EXCEEDED) abort();
}

static levada_queue *queue(const char *shared)
{
    static const levada_dtype dtype = LEVADA_INT64;
    static const levada_shape shape = {0, {0}};
    levada_queue_options      o = LEVADA_QUEUE_OPTIONS_INIT;
    levada_queue             *made = NULL;

    o.capacity = 3;
    o.ncomponents = 1;
    o.dtypes = &dtype;
    o.shapes = &shape;
    o.shared_name = shared;
    if (levada_queue_create(NULL, &o, &made, NULL) != LEVADA_OK) abort();
    return made;
}

/* What a child does: 0 where all of it is right. */
static int child(void)
{
    levada_queue  *own = queue("named");
    levada_tensor *out = NULL;
    char          *waiters = NULL;
    int            wrong = 0;

    wrong += levada_queue_is_closed(own); /* the parent's of that name is */
    wrong += levada_queue_dequeue(own, &out, 1000000, NULL) != LEVADA_EDEADLINE_EXCEEDED;
    wrong += levada_waiters_json(NULL, &waiters, NULL) != LEVADA_OK || waiters[1] != ']';
    wrong += run("range:500 | batch:3", 1) != 500;
    wrong += run("range:500 | select:value | batch:3 | prefetch:2", CHILD_THREADS) != 500;
    levada_string_free(&waiters);
    levada_queue_unref(&own);
    return wrong;
}

static void children_work_beside_busy_parents(void **state)
{
    levada_queue *asleep = queue(NULL), *named = queue("named");
    levada_thread thread[4];

    (void)state;
    assert_int_equal(levada_queue_close(named, false, LEVADA_FOREVER, NULL), LEVADA_OK);
    for (int i = 0; i < 4; i++)
        assert_int_equal(levada_thread_start(&thread[i], i < 2 ? work : doze, asleep, NULL),
                         LEVADA_OK);
    for (int i = 0; i < FORKS; i++) {
        int   status = -1;
        pid_t pid = fork();

        assert_true(pid >= 0);
        if (pid == 0) {
            alarm(PATIENCE);
            _exit(child());
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
    }
    atomic_store(&over, true);
    for (int i = 0; i < 4; i++) levada_thread_join(&thread[i]);
    levada_queue_unref(&named);
    levada_queue_unref(&asleep);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(children_work_beside_busy_parents),
    };

    if (FORKS == 0) return 77; /* skipped */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
