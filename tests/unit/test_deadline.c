/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A consumer with a deadline returns while sources and functions upstream block. They block until
 * the test opens a gate, so a call that waited for them would never return.
 */
#include "support/functions.h"
#include "support/iters.h"
#include <levada/function.h>

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MILLISECOND INT64_C(1000000)
#define GATE_RECORDS 12

static pthread_mutex_t gate_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t gate_news = PTHREAD_COND_INITIALIZER;
static int64_t gate_passes; /* calls that may go through before the next one blocks, */
static int64_t gate_limit; /* of functions only those with records before this one  */
static int64_t gate_calls;

typedef struct gate_run {
    int64_t at;
    bool cancelled;
} gate_run;

static void gate_allow(int64_t passes)
{
    pthread_mutex_lock(&gate_lock);
    gate_passes = gate_limit = passes;
    gate_calls = 0;
    pthread_cond_broadcast(&gate_news);
    pthread_mutex_unlock(&gate_lock);
}

static int64_t gate_called(void)
{
    int64_t n;

    pthread_mutex_lock(&gate_lock);
    n = gate_calls;
    pthread_mutex_unlock(&gate_lock);
    return n;
}

static levada_status gate_pass(gate_run *run, int64_t record, levada_error *err)
{
    bool cancelled;

    pthread_mutex_lock(&gate_lock);
    gate_calls++;
    while ((gate_passes <= 0 || record >= gate_limit) && !run->cancelled) {
        pthread_cond_wait(&gate_news, &gate_lock);
    }
    gate_passes--;
    cancelled = run->cancelled;
    pthread_mutex_unlock(&gate_lock);
    return cancelled ? levada_fail(err, LEVADA_ECANCELLED, "cancelled") : LEVADA_OK;
}

static levada_status gate_open(void *user, void **run, levada_error *err)
{
    (void)user;
    *run = calloc(1, sizeof(gate_run));
    return *run ? LEVADA_OK : levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory");
}

static void gate_cancel(void *run)
{
    pthread_mutex_lock(&gate_lock);
    ((gate_run *)run)->cancelled = true;
    pthread_cond_broadcast(&gate_news);
    pthread_mutex_unlock(&gate_lock);
}

/* A source of one record a block. */
static levada_status gate_numbers(void *user, const levada_block *in, levada_block **out,
                                  levada_error *err)
{
    gate_run *run = user;

    (void)in;
    if (run->at == GATE_RECORDS) return LEVADA_END;
    LEVADA_TRY(gate_pass(run, 0, err));
    return t_numbers_block(NULL, run->at++, 1, out, err);
}

/* A function that returns its input. Threads call it in any order, and the gate lets the first
 * records pass. */
static levada_status gate_same(void *user, const levada_block *in, levada_block **out,
                               levada_error *err)
{
    const int64_t *from = levada_column_i64(levada_block_at(in, 0));

    LEVADA_TRY(gate_pass(user, from[0], err));
    return t_numbers_block(from, 0, levada_block_rows(in), out, err);
}

static void gate_add(const char *name, bool source)
{
    levada_function_def def = {
        .struct_size = sizeof def,
        .kind = "c",
        .name = name,
        .pure = !source,
        .open = gate_open,
        .close = free,
        .cancel = gate_cancel,
        .call = source ? gate_numbers : gate_same,
    };
    levada_function *function = NULL;

    assert_int_equal(levada_function_create(&def, NULL, &function, NULL), LEVADA_OK);
    assert_int_equal(levada_env_add_function(t_iter_env(), function, NULL), LEVADA_OK);
    levada_function_unref(&function);
}

static int gate_setup(void **state)
{
    (void)state;
    gate_add("gate", true);
    gate_add("slow", false);
    return 0;
}

/* Reads to the end. Returns the sum of the first column's numbers, plus one for each. */
static int64_t rest_of(levada_iter *it)
{
    levada_block *block = NULL;
    levada_status st;
    int64_t sum = 0;

    while ((st = levada_iter_next(it, &block, NULL)) == LEVADA_OK) {
        const levada_column *c = levada_block_column(block, "value");

        for (int64_t i = 0; i < levada_block_rows(block); i++) sum += levada_column_i64(c)[i] + 1;
        levada_block_unref(&block);
    }
    assert_int_equal(st, LEVADA_END);
    return sum;
}

/* Without a deadline the caller works upstream too, and could block at the gate itself. */
static levada_status next_of_workers(levada_iter *it, levada_block **out)
{
    return levada_iter_next_within(it, INT64_MAX, out, NULL);
}

#define ALL (GATE_RECORDS * (GATE_RECORDS + 1) / 2)

/* What blocks after workers: how many calls pass before one blocks, records that come until then,
 * and the sum of all. */
static const struct deadline_case {
    const char *text;
    int64_t passes, blocks, sum;
} deadline_cases[] = {
    { "records:{c:gate} | prefetch:2", 0, 0, ALL },
    { "records:{c:gate} | map:{c:twice}", 0, 0, 2 * ALL - GATE_RECORDS },
    { "records:{c:gate} | map:{c:twice} | shuffle:5 | batch:2", 3, 0, 2 * ALL - GATE_RECORDS },
    { "records:{c:gate} | shuffle:5 | prefetch:1 | batch:3 | prefetch:1", 7, 0, ALL },
    { "records:{c:gate} | prefetch:1 | enumerate | skip:1", 1, 0, ALL - 1 },
    { "range:12 | map:{c:slow}", 0, 0, ALL },
    { "range:12 | prefetch:1 | call:{c:slow} | prefetch:1", 0, 0, ALL },
    { "zip(records:{c:gate} | prefetch:1; range:12 | rename:{value:b} | prefetch:1)", 2, 2, ALL },
    { "zip(range:12 | rename:{value:b}; records:{c:gate} | prefetch:1)", 0, 0, ALL },
    { "concat(range:12; records:{c:gate}) | prefetch:1", 0, 12, 2 * ALL },
    { "mix(records:{c:gate}; records:{c:gate}) | prefetch:1", 0, 0, 2 * ALL },
    { "range:2 | interleave:(records:{c:gate}),cycle_length=2 | prefetch:1", 0, 0, 2 * ALL },
    /* The round is over while a worker reads ahead. */
    { "records:{c:gate} | prefetch:4 | take:2 | repeat:2", 2, 2, 6 },
};

static void workers_pull_and_the_consumer_waits(void **state)
{
    static const int32_t counts[] = { 2, 3, 8 };

    (void)state;
    for (size_t c = 0; c < sizeof deadline_cases / sizeof deadline_cases[0]; c++) {
        for (size_t t = 0; t < sizeof counts / sizeof counts[0]; t++) {
            const struct deadline_case *at = &deadline_cases[c];
            levada_iter *it = t_iter_open(at->text, counts[t], 1);
            levada_block *block = NULL;
            int64_t sum = 0;

            gate_allow(at->passes);
            for (int64_t i = 0; i < at->blocks; i++) {
                assert_int_equal(next_of_workers(it, &block), LEVADA_OK);
                sum += levada_column_i64(levada_block_column(block, "value"))[0] + 1;
                levada_block_unref(&block);
            }
            for (int64_t i = 0; i < 6; i++) {
                levada_status st = levada_iter_next_within(it, i * MILLISECOND, &block, NULL);

                if (st != LEVADA_AGAIN) print_error("%s\n", at->text);
                assert_int_equal(st, LEVADA_AGAIN);
            }
            gate_allow(INT64_MAX);
            assert_int_equal(sum + rest_of(it), at->sum);
            levada_iter_close(&it);
        }
    }
}

static void a_state_saved_at_a_deadline_goes_on_there(void **state)
{
    levada_iter *it = t_iter_open("t_rows:9 | prefetch:4 | map:{c:slow} | take:2 | repeat:2", 3, 1);
    levada_iter *other = t_iter_open("t_rows:9 | prefetch:4 | map:{c:slow} | take:2 | repeat:2", 1,
                                     1);
    levada_block *block = NULL;
    t_bytes saved;

    (void)state;
    gate_allow(2);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(next_of_workers(it, &block), LEVADA_OK);
        levada_block_unref(&block);
    }
    for (int i = 0; i < 3; i++) {
        assert_int_equal(levada_iter_next_within(it, MILLISECOND, &block, NULL), LEVADA_AGAIN);
    }
    saved = t_iter_save(it);
    gate_allow(INT64_MAX);
    t_iter_restore(other, saved);
    assert_int_equal(rest_of(other), 3);
    assert_int_equal(rest_of(it), 3);
    t_clear(&saved);
    levada_iter_close(&it);
    levada_iter_close(&other);
}

/* Where the caller pulls itself, it looks at its deadline before each block but the first. */
static void without_workers_it_is_looked_at_between_blocks(void **state)
{
    static const char *const texts[] = {
        "records:{c:gate} | shuffle:20",
        "zip(range:12 | rename:{value:b} | prefetch:1; records:{c:gate} | shuffle:20)",
    };

    (void)state;
    for (size_t k = 0; k < 2; k++) {
        for (int32_t threads = 1; threads <= 4; threads += 3) {
            levada_iter *it = t_iter_open(texts[k], threads, 1);
            levada_block *block = NULL;

            gate_allow(INT64_MAX);
            if (k == 1) { /* until the other input is there */
                while (gate_called() == 0) {
                    assert_int_equal(levada_iter_next_within(it, 0, &block, NULL), LEVADA_AGAIN);
                }
            }
            for (int64_t i = gate_called(), had = i; i < GATE_RECORDS / 2; i++, had++) {
                assert_int_equal(levada_iter_next_within(it, 0, &block, NULL), LEVADA_AGAIN);
                assert_int_equal(gate_called(), had + 1);
            }
            assert_int_equal(rest_of(it), ALL);
            levada_iter_close(&it);
        }
    }
}

static void a_slice_gives_all_too(void **state)
{
    (void)state;
    for (int32_t threads = 1; threads <= 4; threads += 3) {
        levada_iter *it = t_iter_open("range:12 | map:{c:slow} | shuffle:5", threads, 1);
        levada_block *block = NULL;
        levada_status st;
        int64_t sum = 0;

        gate_allow(INT64_MAX);
        while ((st = levada_iter_next_slice(it, 0, &block, NULL)) != LEVADA_END) {
            if (st == LEVADA_AGAIN) continue;
            assert_int_equal(st, LEVADA_OK);
            for (int64_t i = 0; i < levada_block_rows(block); i++) {
                sum += levada_column_i64(levada_block_at(block, 0))[i] + 1;
            }
            levada_block_unref(&block);
        }
        assert_int_equal(sum, ALL);
        levada_iter_close(&it);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(workers_pull_and_the_consumer_waits),
        cmocka_unit_test(a_state_saved_at_a_deadline_goes_on_there),
        cmocka_unit_test(without_workers_it_is_looked_at_between_blocks),
        cmocka_unit_test(a_slice_gives_all_too),
    };

    t_functions_add(t_iter_env());
    return cmocka_run_group_tests(tests, gate_setup, NULL);
}
