/* SPDX-License-Identifier: Apache-2.0 */
#include "support/register.h"

#include <levada/levada.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#define FLAKY_RECORDS 20000

typedef struct flaky_state {
    const levada_context *context;
    int64_t               next;
} flaky_state;

static atomic_int refusals; /* saves of `flaky` that still fail */

static levada_status flaky_check(const void *args, levada_spec **out, levada_error *err)
{
    const levada_field field = { .name = "value", .dtype = LEVADA_INT64 };

    (void)args;
    return levada_spec_create(&field, 1, LEVADA_SPEC_PLAIN, out, err);
}

static levada_status flaky_open(void *state, const void *args, const levada_context *context,
                                levada_error *err)
{
    (void)args, (void)err;
    ((flaky_state *)state)->context = context;
    return LEVADA_OK;
}

/* Emits the numbers from 0 on. */
static levada_status flaky_next(void *state, const void *args, levada_block **out,
                                levada_error *err)
{
    flaky_state    *s = state;
    int64_t         n = FLAKY_RECORDS - s->next, *to;
    levada_builder *b = NULL;
    void           *values = NULL;
    levada_status   st;

    (void)args;
    if (n <= 0) return LEVADA_END;
    if (n > s->context->block_rows) n = s->context->block_rows;
    st = levada_builder_create(s->context->env, s->context->out, n, &b, err);
    if (st == LEVADA_OK) st = levada_builder_values(b, 0, n, &values, err);
    to = values;
    for (int64_t i = 0; st == LEVADA_OK && i < n; i++) to[i] = s->next + i;
    if (st == LEVADA_OK) st = levada_builder_publish(&b, out, err);
    levada_builder_destroy(&b);
    if (st == LEVADA_OK) s->next += n;
    return st;
}

static levada_status flaky_save(const void *state, levada_state_writer *to, levada_error *err)
{
    if (atomic_fetch_sub(&refusals, 1) > 0) {
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a checkpoint");
    }
    return levada_state_put_i64(to, "next", ((const flaky_state *)state)->next, err);
}

static levada_status flaky_restore(void *state, levada_state_reader *from, levada_error *err)
{
    return levada_state_get_i64(from, "next", &((flaky_state *)state)->next, err);
}

static levada_env *env_with_flaky(void)
{
    static const levada_source_def def = {
        .struct_size = sizeof(levada_source_def),
        .name = "flaky",
        .example = "flaky",
        .state_size = sizeof(flaky_state),
        .state_version = 1,
        .check = flaky_check,
        .open = flaky_open,
        .next = flaky_next,
        .save = flaky_save,
        .restore = flaky_restore,
    };
    levada_env *env = NULL;

    assert_int_equal(levada_env_create(NULL, &env, NULL), LEVADA_OK);
    assert_int_equal(t_register(env, LEVADA_FAMILY_SOURCE, &def, NULL, NULL), LEVADA_OK);
    return env;
}

static levada_iter *run(const levada_dataset *ds)
{
    levada_iter_options options = LEVADA_ITER_OPTIONS_INIT;
    levada_iter        *it = NULL;

    options.threads = 2;
    options.block_rows = 16;
    assert_int_equal(levada_iter_open(ds, &options, &it, NULL), LEVADA_OK);
    return it;
}

/* The first number of the next block, or -1 at the end. */
static int64_t next_number(levada_iter *it, int64_t *rows)
{
    levada_block *block = NULL;
    levada_status st = levada_iter_next(it, &block, NULL);
    int64_t       first = -1;

    *rows = 0;
    if (st == LEVADA_OK) {
        memcpy(&first, levada_block_at(block, 0)->values, sizeof first);
        *rows = levada_block_rows(block);
    } else {
        assert_int_equal(st, LEVADA_END);
    }
    levada_block_unref(&block);
    return first;
}

/* Where the first snapshots failed and a later one lies beyond delivery, there is no state. */
static void a_save_gives_a_state_that_can_be_restored_or_an_error(void **state)
{
    levada_env     *env = env_with_flaky();
    levada_dataset *ds = NULL;
    int             saved = 0, refused = 0;

    (void)state;
    assert_int_equal(levada_dataset_parse(env, "flaky | prefetch:16", &ds, NULL), LEVADA_OK);
    for (int turn = 0; turn < 20; turn++) {
        levada_iter *it = run(ds);
        int64_t      at = 0, rows, number;

        atomic_store(&refusals, turn % 5);
        while ((number = next_number(it, &rows)) >= 0) {
            char         *text = NULL;
            size_t        size = 0;
            levada_error  err = LEVADA_ERROR_INIT;
            levada_status st;

            assert_int_equal(number, at);
            at += rows;
            if (at % 512 != 0 && at > 16) continue;
            if (at == 16) nanosleep(&(struct timespec){ .tv_nsec = 2000000 }, NULL);
            st = levada_iter_save(it, &text, &size, &err);
            if (st == LEVADA_OK) {
                levada_iter *again = run(ds);

                assert_int_equal(levada_iter_restore(again, text, size, &err), LEVADA_OK);
                number = next_number(again, &rows);
                assert_int_equal(number, at < FLAKY_RECORDS ? at : -1);
                levada_iter_close(&again);
                saved++;
            } else {
                assert_int_equal(st, LEVADA_ERESOURCE_EXHAUSTED);
                assert_non_null(strstr(err.message, "out of memory for a checkpoint"));
                refused++;
            }
            levada_string_free(&text);
        }
        assert_int_equal(at, FLAKY_RECORDS);
        levada_iter_close(&it);
    }
    assert_true(saved > 0);
    assert_true(refused > 0);
    levada_dataset_unref(&ds);
    levada_env_unref(&env);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_save_gives_a_state_that_can_be_restored_or_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
