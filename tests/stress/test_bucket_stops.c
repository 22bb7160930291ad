/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Buckets that are stopped, cancelled, closed or destroyed at any moment: every thread ends, and no
 * element is lost without a count or comes twice.
 */
#include "support/buckets.h"
#include "support/coordinators.h"
#include "support/length.h"
#include "support/queues.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#define TRIALS 300

static int64_t of_four(int64_t i) { return i * 7 % 4; }

static uint64_t draw(uint64_t *random, uint64_t below)
{
    *random = *random * 6364136223846793005u + 1442695040888963407u;
    return (*random >> 33) % below;
}

enum { STOP, STOP_WITH_ERROR, CLOSE, CLOSE_CANCEL, CANCEL_TOP, CANCEL_BUCKET, TOP_CLOSED, MOMENTS };

typedef struct trial {
    levada_bucket      *bucket;
    levada_coordinator *coordinator;
    uint64_t            random, delay;
    int                 moment;
    pthread_t           thread;
} trial;

static void *disturb(void *user)
{
    trial          *t = user;
    struct timespec pause = { 0, (long)t->delay };
    levada_status   st = LEVADA_OK;

    (void)nanosleep(&pause, NULL);
    if (t->moment == STOP) {
        st = levada_coordinator_request_stop(t->coordinator, NULL, NULL);
    } else if (t->moment == STOP_WITH_ERROR) {
        st = test_stop(t->coordinator, LEVADA_EINTERNAL, "a thread failed");
    } else if (t->moment == CLOSE || t->moment == CLOSE_CANCEL) {
        levada_bucket_close(t->bucket, t->moment == CLOSE_CANCEL);
    } else if (t->moment == TOP_CLOSED) {
        st = levada_queue_close(levada_bucket_queue(t->bucket, -1), true, 0, NULL);
    } else {
        int32_t i = t->moment == CANCEL_TOP ? -1 : (int32_t)draw(&t->random, 4);

        levada_queue_cancel(levada_bucket_queue(t->bucket, i));
    }
    assert_int_equal(st, LEVADA_OK);
    return NULL;
}

static void check(trial *t, const test_source *s, const test_taken *all)
{
    levada_bucket_counts counts = test_bucket_counts(t->bucket);
    int64_t              read = atomic_load(&s->next) < s->n ? atomic_load(&s->next) : s->n;

    for (int64_t i = 0; i < TEST_ELEMENTS; i++) assert_in_range(all->seen[i], 0, 1);
    assert_int_equal(counts.records, all->rows);
    assert_int_equal(counts.records + counts.dropped, read);
    if (all->end.code != LEVADA_EOUT_OF_RANGE) assert_int_equal(all->end.code, LEVADA_EABORTED);
}

static void run_trial(uint64_t seed)
{
    const int64_t         sizes[] = { 1, 3, 8, 16 };
    test_source           s = { .n = 1024, .key = of_four, .fails_at = -1 };
    levada_bucket_options o = test_bucket_options(&s, 4, sizes);
    trial                 t = { .random = seed };
    static test_taken     all;
    levada_status         joined;

    o.nbatch_sizes = 4;
    o.num_threads = 1 + (int32_t)draw(&t.random, 3);
    o.capacity = 1 + (int64_t)draw(&t.random, 6);
    o.allow_smaller_final_batch = draw(&t.random, 2) == 0;
    t.moment = (int)draw(&t.random, MOMENTS);
    t.delay = draw(&t.random, 2) == 0 ? draw(&t.random, 2000000) : draw(&t.random, 100000);
    t.coordinator = test_coordinator(NULL, 0);
    t.bucket = test_bucket(&o);
    test_bucket_start(t.bucket, t.coordinator);
    assert_int_equal(pthread_create(&t.thread, NULL, disturb, &t), 0);
    test_bucket_take(t.bucket, &all, NULL, NULL);
    assert_int_equal(pthread_join(t.thread, NULL), 0);
    joined = levada_coordinator_request_stop(t.coordinator, NULL, NULL);
    assert_int_equal(joined, LEVADA_OK);
    joined = levada_coordinator_join(t.coordinator, TEST_SECOND * 60, false, NULL);
    if (t.moment == STOP_WITH_ERROR) assert_int_equal(joined, LEVADA_EINTERNAL);
    else assert_true(joined == LEVADA_OK || joined == LEVADA_EABORTED);
    check(&t, &s, &all);
    levada_bucket_destroy(&t.bucket);
    levada_coordinator_destroy(&t.coordinator);
}

static void ends_at_any_moment_with_everything_counted(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < (uint64_t)TRIALS * (uint64_t)t_length(); seed++) {
        run_trial(seed);
    }
}

static void is_destroyed_at_any_moment(void **state)
{
    const int64_t five = 5;

    (void)state;
    for (uint64_t seed = 0; seed < (uint64_t)TRIALS * (uint64_t)t_length(); seed++) {
        test_source           s = { .n = 1024, .key = of_four, .fails_at = -1 };
        levada_bucket_options o = test_bucket_options(&s, 4, &five);
        uint64_t              random = seed;
        levada_bucket        *bucket;
        struct timespec       pause = { 0, (long)draw(&random, 200000) };

        o.capacity = 1 + (int64_t)draw(&random, 40);
        o.num_threads = 2;
        bucket = test_bucket(&o);
        test_bucket_start(bucket, NULL);
        (void)nanosleep(&pause, NULL);
        levada_bucket_destroy(&bucket);
    }
}

/* Two runs with different numbers of threads deliver the same elements. */
static void threads_change_no_contents(void **state)
{
    const int64_t five = 5;

    (void)state;
    for (int32_t threads = 1; threads <= 16; threads *= 4) {
        test_source           s = { .n = TEST_ELEMENTS, .key = of_four, .fails_at = -1 };
        levada_bucket_options o = test_bucket_options(&s, 4, &five);
        levada_bucket        *bucket;
        static test_taken     all;

        o.num_threads = threads;
        o.allow_smaller_final_batch = true;
        bucket = test_bucket(&o);
        test_bucket_start(bucket, NULL);
        test_bucket_take(bucket, &all, NULL, NULL);
        assert_int_equal(all.rows, TEST_ELEMENTS);
        for (int64_t i = 0; i < TEST_ELEMENTS; i++) assert_int_equal(all.seen[i], 1);
        assert_int_equal(all.end.code, LEVADA_EOUT_OF_RANGE);
        levada_bucket_destroy(&bucket);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ends_at_any_moment_with_everything_counted),
        cmocka_unit_test(is_destroyed_at_any_moment),
        cmocka_unit_test(threads_change_no_contents),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
