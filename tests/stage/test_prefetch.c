/* SPDX-License-Identifier: Apache-2.0 */
#include "support/iters.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

static void changes_nothing(void **state)
{
    t_bytes plain = t_iter_all("t_rows:100 | batch:7", true), got;

    (void)state;
    got = t_iter_all("t_rows:100 | prefetch:3 | batch:7 | prefetch:1", true);
    t_bytes_equal(plain, got, "prefetch");
    t_clear(&plain);
    t_clear(&got);
    t_iter_sweep("t_rows:40 | prefetch", false, 1);
    t_iter_sweep("t_rows:40 | prefetch:1,bytes=1", false, 1);
    t_iter_sweep("t_stream:40 | prefetch:1 | shuffle:9 | prefetch:1 | batch:3 | prefetch:1", true,
                 1);
}

/* Tuning: it is not a part of the fingerprint, but a stage of the description. */
static void its_sizes_may_change_between_save_and_restore(void **state)
{
    levada_iter *it = t_iter_open("t_rows:60 | batch:4 | prefetch:2", 2, 8);
    levada_iter *other = t_iter_open("t_rows:60 | batch:4 | prefetch:9,bytes=1M", 2, 8);
    t_bytes      all = t_iter_all("t_rows:60 | batch:4", true), got = { 0 }, saved;

    (void)state;
    assert_int_equal(t_iter_read(it, 5, true, &got), 5);
    saved = t_iter_save(it);
    t_iter_restore(other, saved);
    (void)t_iter_read(other, -1, true, &got);
    t_bytes_equal(all, got, "another prefetch");
    t_clear(&all);
    t_clear(&got);
    t_clear(&saved);
    levada_iter_close(&it);
    levada_iter_close(&other);
}

static void pass_time(long milliseconds)
{
    struct timespec wait = { 0, milliseconds * 1000000 };

    (void)nanosleep(&wait, NULL);
}

/* With a worker, blocks are made while the consumer does something else; no more than n of them. */
static void works_ahead_but_not_far(void **state)
{
    levada_iter  *it = t_iter_open("t_rows:1000,bare=true | prefetch:3", 2, 10);
    levada_block *block = NULL;
    char         *report = NULL;
    bool          three = false;

    (void)state;
    assert_int_equal(levada_iter_next(it, &block, NULL), LEVADA_OK);
    levada_block_unref(&block);
    for (int i = 0; i < 500 && !three; i++) {
        pass_time(2);
        assert_int_equal(levada_iter_report(it, &report, NULL), LEVADA_OK);
        three = strstr(report, "\"ready\":3,\"window\":3") != NULL;
        levada_string_free(&report);
    }
    assert_true(three);
    pass_time(5);
    assert_int_equal(levada_iter_report(it, &report, NULL), LEVADA_OK);
    assert_non_null(strstr(report, "\"ready\":3,\"window\":3"));
    assert_non_null(strstr(report, "waits for space"));
    levada_string_free(&report);
    levada_iter_close(&it);
}

static void errors_come_in_their_turn(void **state)
{
    (void)state;
    for (int32_t threads = 1; threads <= 4; threads++) {
        levada_iter *it =
            t_iter_open("t_rows:1000,fail_at=137,bare=true | prefetch:8", threads, 10);

        assert_int_equal(t_iter_fails(it, LEVADA_EDATA_LOSS, "record 137"), 137);
        assert_int_equal(t_iter_fails(it, LEVADA_EDATA_LOSS, "record 137"), 0);
        levada_iter_close(&it);
    }
}

static void refuses_bad_options(void **state)
{
    (void)state;
    t_iter_refused("t_rows:3 | prefetch:0", LEVADA_EINVALID_ARGUMENT, "n=0");
    t_iter_refused("t_rows:3 | prefetch:1,bytes=0", LEVADA_EINVALID_ARGUMENT, "bytes=0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(changes_nothing),
        cmocka_unit_test(its_sizes_may_change_between_save_and_restore),
        cmocka_unit_test(works_ahead_but_not_far),
        cmocka_unit_test(errors_come_in_their_turn),
        cmocka_unit_test(refuses_bad_options),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
