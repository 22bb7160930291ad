/* SPDX-License-Identifier: Apache-2.0 */
#include "support/functions.h"
#include "support/iters.h"

#include <levada/builder.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

static void gives_what_the_function_gives(void **state)
{
    const int64_t want[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 };

    (void)state;
    t_expect_i64("records:{c:numbers}", "value", want, 10);
    t_expect_i64("records:{c:numbers},spec={value:int64}", "value", want, 10);
    t_expect_i64("records:{c:numbers} | repeat | take:10", "value", want, 10);
    assert_int_equal(t_functions_open(), 0);
}

static void refuses_what_was_not_declared(void **state)
{
    levada_iter *it = t_iter_open("records:{c:numbers},spec={value:float32}", 1, 7);

    (void)state;
    t_iter_fails(it, LEVADA_EINVALID_ARGUMENT, "float32");
    levada_iter_close(&it);
    it = t_iter_open("records:{c:numbers},spec={value:{dtype:int64,kind:VarLen}}", 1, 7);
    t_iter_fails(it, LEVADA_EINVALID_ARGUMENT, "ragged");
    levada_iter_close(&it);
    t_iter_refused("records:{c:numbers},spec=[1]", LEVADA_EINVALID_ARGUMENT, "a map");
    t_iter_refused("records", LEVADA_EINVALID_ARGUMENT, "fn");
}

static void goes_on_after_a_restore(void **state)
{
    (void)state;
    t_iter_sweep("records:{c:numbers},spec={value:int64}", false, 1);
    t_iter_sweep("records:{c:numbers} | shuffle:4 | batch:3", true, 1);
}

/* One record, then the end; a cancel writes into what close() frees. */
typedef struct brief_run {
    atomic_int cancelled;
    bool       given;
} brief_run;

static levada_status brief_open(void *user, void **run, levada_error *err)
{
    (void)user, (void)err;
    *run = calloc(1, sizeof(brief_run));
    assert_non_null(*run);
    return LEVADA_OK;
}

static levada_status brief_call(void *run, const levada_block *in, levada_block **out,
                                levada_error *err)
{
    static const levada_field field = { .name = "value", .dtype = LEVADA_INT64 };
    brief_run                *r = run;
    levada_spec              *spec = NULL;
    levada_builder           *b = NULL;

    (void)in;
    if (atomic_load(&r->cancelled)) return levada_fail(err, LEVADA_ECANCELLED, "cancelled");
    if (r->given) return LEVADA_END;
    r->given = true;
    LEVADA_TRY(levada_spec_create(&field, 1, LEVADA_SPEC_PLAIN, &spec, err));
    levada_status st = levada_builder_create(t_iter_env(), spec, 1, &b, err);
    if (st == LEVADA_OK) st = levada_builder_push_i64(b, 0, 7, err);
    if (st == LEVADA_OK) st = levada_builder_publish(&b, out, err);
    levada_builder_destroy(&b);
    levada_spec_unref(&spec);
    return st;
}

static void brief_cancel(void *run) { atomic_store(&((brief_run *)run)->cancelled, 1); }

static void *cancel_soon(void *it)
{
    struct timespec wait = { 0, 50000 };

    (void)nanosleep(&wait, NULL);
    levada_iter_cancel(it);
    return NULL;
}

/* While it is opened and closed over and over. */
static void is_cancelled_at_any_moment(void **state)
{
    levada_function_def def = { .struct_size = sizeof def, .kind = "c", .name = "brief",
                                .open = brief_open, .call = brief_call, .cancel = brief_cancel,
                                .close = free };
    levada_function    *function = NULL;

    (void)state;
    assert_int_equal(levada_function_create(&def, NULL, &function, NULL), LEVADA_OK);
    assert_int_equal(levada_env_add_function(t_iter_env(), function, NULL), LEVADA_OK);
    levada_function_unref(&function);
    for (int32_t i = 0; i < 400; i++) {
        levada_iter *it = t_iter_open("records:{c:brief},spec={value:int64} | repeat",
                                      1 + i % 2, 7);
        pthread_t    thread;

        assert_int_equal(pthread_create(&thread, NULL, cancel_soon, it), 0);
        t_iter_fails(it, LEVADA_ECANCELLED, "cancelled");
        assert_int_equal(pthread_join(thread, NULL), 0);
        levada_iter_close(&it);
    }
}

static int add_functions(void **state)
{
    (void)state;
    t_functions_add(t_iter_env());
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gives_what_the_function_gives),
        cmocka_unit_test(refuses_what_was_not_declared),
        cmocka_unit_test(goes_on_after_a_restore),
        cmocka_unit_test(is_cancelled_at_any_moment),
    };

    return cmocka_run_group_tests(tests, add_functions, NULL);
}
