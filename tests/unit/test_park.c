/* SPDX-License-Identifier: Apache-2.0 */
/* Holds for futexes and for condition variables alike. */
#include "runtime/park.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

typedef struct sleeper {
    levada_park park;
    atomic_int  nudged; /* sleeps that ended without being done */
    pthread_t   thread;
} sleeper;

static void *sleep_until_done(void *user)
{
    sleeper *s = user;

    while (!levada_park_sleep(&s->park, -1)) atomic_fetch_add(&s->nudged, 1);
    return NULL;
}

static void start(sleeper *s)
{
    levada_park_init(&s->park);
    atomic_init(&s->nudged, 0);
    assert_int_equal(pthread_create(&s->thread, NULL, sleep_until_done, s), 0);
}

static void finish(sleeper *s)
{
    levada_park_wake(&s->park);
    pthread_join(s->thread, NULL);
    levada_park_clear(&s->park);
}

static void pause_a_little(int i)
{
    if (i % 3 > 0) nanosleep(&(struct timespec){ 0, i % 3 * 40000 }, NULL);
}

static void a_wake_ends_a_sleep_before_or_after_it_began(void **state)
{
    (void)state;
    for (int i = 0; i < 300; i++) {
        sleeper s;

        start(&s);
        pause_a_little(i);
        finish(&s);
        assert_int_equal(s.nudged, 0);
    }
}

static void a_nudge_ends_one_sleep(void **state)
{
    (void)state;
    for (int i = 0; i < 100; i++) {
        sleeper s;

        start(&s);
        for (int k = 1; k <= 3; k++) {
            pause_a_little(i + k);
            levada_park_nudge(&s.park);
            for (int j = 0; j < 100000 && atomic_load(&s.nudged) < k; j++) {
                nanosleep(&(struct timespec){ 0, 20000 }, NULL);
            }
            assert_int_equal(atomic_load(&s.nudged), k);
        }
        finish(&s);
        assert_int_equal(s.nudged, 3);
    }
}

static void only_one_who_sleeps_is_woken_as_a_sleeper(void **state)
{
    sleeper     s;
    levada_park park;

    (void)state;
    start(&s);
    while (!levada_park_wake_asleep(&s.park)) nanosleep(&(struct timespec){ 0, 20000 }, NULL);
    pthread_join(s.thread, NULL);
    levada_park_clear(&s.park);

    levada_park_init(&park);
    assert_false(levada_park_wake_asleep(&park));
    assert_false(levada_park_sleep(&park, levada_now() + 1000000));
    assert_false(levada_park_wake_asleep(&park)); /* its time was up */
    levada_park_nudge(&park);
    assert_false(levada_park_wake_asleep(&park));
    levada_park_wake(&park);
    assert_true(levada_park_sleep(&park, -1));
    levada_park_clear(&park);
}

static void a_nudge_before_the_sleep_is_kept_once(void **state)
{
    levada_park park;

    (void)state;
    levada_park_init(&park);
    levada_park_nudge(&park);
    levada_park_nudge(&park);
    assert_false(levada_park_sleep(&park, -1));
    assert_false(levada_park_sleep(&park, levada_now() + 1000000)); /* this one ends by the time */
    levada_park_wake(&park);
    levada_park_nudge(&park); /* done is done */
    assert_true(levada_park_sleep(&park, -1));
    levada_park_clear(&park);
}

static void a_wake_and_a_nudge_at_once_are_a_wake(void **state)
{
    (void)state;
    for (int i = 0; i < 300; i++) {
        sleeper s;

        start(&s);
        pause_a_little(i);
        levada_park_nudge(&s.park);
        finish(&s);
        assert_in_range(s.nudged, 0, 1);
    }
}

static void a_sleep_ends_in_time(void **state)
{
    levada_park park;
    int64_t     begin = levada_now();

    (void)state;
    levada_park_init(&park);
    assert_false(levada_park_sleep(&park, begin + 2000000));
    assert_true(levada_now() >= begin + 2000000);
    assert_false(levada_park_sleep(&park, begin)); /* long past */
    levada_park_clear(&park);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wake_ends_a_sleep_before_or_after_it_began),
        cmocka_unit_test(a_nudge_ends_one_sleep),
        cmocka_unit_test(only_one_who_sleeps_is_woken_as_a_sleeper),
        cmocka_unit_test(a_nudge_before_the_sleep_is_kept_once),
        cmocka_unit_test(a_wake_and_a_nudge_at_once_are_a_wake),
        cmocka_unit_test(a_sleep_ends_in_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
