/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Positions of iterators that were cancelled: whatever can be saved then has every record once.
 */
#include "support/iters.h"
#include "support/register.h"

#include <levada/builder.h>
#include <levada/function.h>
#include <levada/source.h>
#include <levada/state.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

/* -- what is cancelled: a call of the hooks below, the one with this number */

typedef enum cancelled_how {
    CANCELLED_INSIDE, /* the call itself cancels, and answers so               */
    CANCELLED_LATE,   /* it cancels, and returns what it was asked for           */
    CANCELLED_WAITS,  /* it waits until another thread cancels, and answers so */
    CANCELLED_HOWS
} cancelled_how;

static struct {
    cancelled_how how;
    int64_t       at;    /* -1 = none */
    levada_iter  *it;
    atomic_llong  calls;
    atomic_int    waits; /* until it is cancelled; or reading is over */
} cancelled_plan;

/* Uses of functions and states of hooks alike begin with it. */
typedef struct cancelled_run {
    atomic_int cancelled;
    int64_t    at;
} cancelled_run;

static void cancelled_pass(void)
{
    struct timespec wait = { 0, 20000 };

    (void)nanosleep(&wait, NULL);
}

static levada_status cancelled_step(const cancelled_run *run, levada_error *err)
{
    if (atomic_fetch_add(&cancelled_plan.calls, 1) != cancelled_plan.at) return LEVADA_OK;
    if (cancelled_plan.how == CANCELLED_WAITS) {
        atomic_store(&cancelled_plan.waits, 1);
        while (!atomic_load(&run->cancelled)) cancelled_pass();
    } else {
        levada_iter_cancel(cancelled_plan.it);
    }
    if (cancelled_plan.how == CANCELLED_LATE) return LEVADA_OK;
    return levada_fail(err, LEVADA_ECANCELLED, "stopped half-way");
}

static void cancelled_cancel(void *run) { atomic_store(&((cancelled_run *)run)->cancelled, 1); }

static void *cancelled_other_thread(void *it)
{
    while (!atomic_load(&cancelled_plan.waits)) cancelled_pass();
    levada_iter_cancel(it);
    return NULL;
}

/* -- functions */

static levada_status cancelled_open(void *user, void **run, levada_error *err)
{
    (void)user, (void)err;
    *run = calloc(1, sizeof(cancelled_run));
    assert_non_null(*run);
    return LEVADA_OK;
}

static levada_status cancelled_save(void *run, levada_state_writer *to, levada_error *err)
{
    return levada_state_put_i64(to, "function", ((cancelled_run *)run)->at, err);
}

static levada_status cancelled_restore(void *run, levada_state_reader *from, levada_error *err)
{
    return levada_state_get_i64(from, "function", &((cancelled_run *)run)->at, err);
}

static levada_status cancelled_same(void *run, const levada_block *in, levada_block **out,
                                    levada_error *err)
{
    LEVADA_TRY(cancelled_step(run, err));
    *out = levada_block_ref(in);
    return LEVADA_OK;
}

static levada_status cancelled_build(const char *name, levada_dtype dtype, int64_t n,
                                     levada_builder **b, void **values, levada_error *err)
{
    levada_field field = { .name = name, .dtype = dtype };
    levada_spec *spec = NULL;

    LEVADA_TRY(levada_spec_create(&field, 1, LEVADA_SPEC_PLAIN, &spec, err));
    assert_int_equal(levada_builder_create(t_iter_env(), spec, n, b, err), LEVADA_OK);
    levada_spec_unref(&spec);
    return levada_builder_values(*b, 0, n, values, err);
}

/* Counts before it stops: what it would save then is not a position. */
static levada_status cancelled_sum(void *user, const levada_block *in, levada_block **out,
                                   levada_error *err)
{
    cancelled_run  *run = user;
    int64_t         n = levada_block_rows(in);
    const int64_t  *from = levada_column_i64(levada_block_at(in, 0));
    levada_builder *b = NULL;
    void           *values = NULL;
    levada_status   st;

    LEVADA_TRY(cancelled_build("value", LEVADA_INT64, n, &b, &values, err));
    for (int64_t i = 0; i < n; i++) ((int64_t *)values)[i] = run->at += from[i];
    st = cancelled_step(run, err);
    if (st == LEVADA_OK) st = levada_builder_publish(&b, out, err);
    levada_builder_destroy(&b);
    return st;
}

static levada_status cancelled_third(void *run, const levada_block *in, levada_block **out,
                                     levada_error *err)
{
    int64_t         n = levada_block_rows(in);
    const int64_t  *from = levada_column_i64(levada_block_at(in, 0));
    levada_builder *b = NULL;
    void           *values = NULL;

    LEVADA_TRY(cancelled_step(run, err));
    LEVADA_TRY(cancelled_build("keep", LEVADA_BOOL, n, &b, &values, err));
    for (int64_t i = 0; i < n; i++) ((uint8_t *)values)[i] = from[i] % 3 == 0;
    return levada_builder_publish(&b, out, err);
}

/* Cancels, and drops a record for it: an error of the budget. */
static levada_status cancelled_reject(void *run, const levada_block *in, levada_block **out,
                                      levada_error *err)
{
    int64_t         n = levada_block_rows(in);
    levada_error    why = LEVADA_ERROR_INIT;
    levada_builder *b = NULL;
    void           *values = NULL;
    levada_status   st;

    LEVADA_TRY(cancelled_build("value", LEVADA_INT64, n, &b, &values, err));
    memcpy(values, levada_column_i64(levada_block_at(in, 0)), (size_t)n * 8);
    st = cancelled_step(run, &why);
    if (st != LEVADA_OK) st = levada_builder_reject(b, n - 1, &why, err);
    if (st == LEVADA_OK) st = levada_builder_publish(&b, out, err);
    levada_builder_destroy(&b);
    return st;
}

/* Records 0 to 29, in blocks of four; those that it had in its hands are gone. */
static levada_status cancelled_numbers(cancelled_run *run, levada_block **out, levada_error *err)
{
    int64_t         first = run->at, n = 30 - first < 4 ? 30 - first : 4;
    levada_builder *b = NULL;
    void           *values = NULL;

    if (n <= 0) return LEVADA_END;
    run->at += n;
    LEVADA_TRY(cancelled_step(run, err));
    LEVADA_TRY(cancelled_build("value", LEVADA_INT64, n, &b, &values, err));
    for (int64_t i = 0; i < n; i++) ((int64_t *)values)[i] = first + i;
    return levada_builder_publish(&b, out, err);
}

static levada_status cancelled_gives(void *run, const levada_block *in, levada_block **out,
                                     levada_error *err)
{
    (void)in;
    return cancelled_numbers(run, out, err);
}

static void cancelled_put(const char *name, bool pure, bool saves,
                          levada_status (*call)(void *run, const levada_block *in,
                                                levada_block **out, levada_error *err))
{
    levada_function_def def = {
        .struct_size = sizeof def,
        .kind = "c",
        .name = name,
        .pure = pure,
        .open = cancelled_open,
        .call = call,
        .cancel = cancelled_cancel,
        .save = saves ? cancelled_save : NULL,
        .restore = saves ? cancelled_restore : NULL,
        .close = free,
    };
    levada_function *function = NULL;

    assert_int_equal(levada_function_create(&def, NULL, &function, NULL), LEVADA_OK);
    assert_int_equal(levada_env_add_function(t_iter_env(), function, NULL), LEVADA_OK);
    levada_function_unref(&function);
}

/* -- a source and a stage */

static void cancelled_cancel_state(void *state) { cancelled_cancel(state); }

static levada_status cancelled_source_check(const void *args, levada_spec **out, levada_error *err)
{
    static const levada_field field = { .name = "value", .dtype = LEVADA_INT64 };

    (void)args;
    return levada_spec_create(&field, 1, LEVADA_SPEC_PLAIN, out, err);
}

static levada_status cancelled_source_next(void *state, const void *args, levada_block **out,
                                           levada_error *err)
{
    (void)args;
    return cancelled_numbers(state, out, err);
}

/* Drops the block that it could not work on. */
static levada_status cancelled_stage_next(void *state, const void *args, levada_input *in,
                                          levada_block **out, levada_error *err)
{
    levada_block *block = NULL;
    levada_status st;

    (void)args;
    LEVADA_TRY(levada_input_next(in, &block, err));
    st = cancelled_step(state, err);
    if (st == LEVADA_OK) *out = block;
    else levada_block_unref(&block);
    return st;
}

static levada_status cancelled_save_state(const void *state, levada_state_writer *to,
                                          levada_error *err)
{
    return levada_state_put_i64(to, "at", ((const cancelled_run *)state)->at, err);
}

static levada_status cancelled_restore_state(void *state, levada_state_reader *from,
                                             levada_error *err)
{
    return levada_state_get_i64(from, "at", &((cancelled_run *)state)->at, err);
}

static const levada_arg cancelled_options[] = { LEVADA_ARG_END };

static void cancelled_put_hooks(void)
{
    static const levada_source_def source = {
        .struct_size = sizeof source,
        .name = "t_source",
        .doc = "records that it loses where it is stopped",
        .example = "t_source",
        .args = cancelled_options,
        .state_size = sizeof(cancelled_run),
        .state_version = 1,
        .check = cancelled_source_check,
        .next = cancelled_source_next,
        .cancel = cancelled_cancel_state,
        .save = cancelled_save_state,
        .restore = cancelled_restore_state,
    };
    static const levada_stage_def stage = {
        .struct_size = sizeof stage,
        .name = "t_stage",
        .doc = "loses its block where it is stopped",
        .example = "range:3 | t_stage",
        .mode = LEVADA_MODE_SERIAL,
        .args = cancelled_options,
        .state_size = sizeof(cancelled_run),
        .state_version = 1,
        .next = cancelled_stage_next,
        .cancel = cancelled_cancel_state,
        .save = cancelled_save_state,
        .restore = cancelled_restore_state,
    };
    levada_env *env = t_iter_env();

    assert_int_equal(t_register(env, LEVADA_FAMILY_SOURCE, &source, NULL, NULL),
                     LEVADA_OK);
    assert_int_equal(t_register(env, LEVADA_FAMILY_STAGE, &stage, NULL, NULL), LEVADA_OK);
}

/* -- reading until it is cancelled, and on from what was saved */

typedef struct cancelled_case {
    const char *text;
    bool        saves; /* what was stopped has lost nothing: it can always be saved */
    bool        batches;
} cancelled_case;

/* Reads to the end or until it was cancelled. */
static levada_status cancelled_read(levada_iter *it, bool batches, t_bytes *to)
{
    levada_block *block = NULL;
    levada_status st;

    t_add(to, NULL, 0);
    while ((st = levada_iter_next(it, &block, NULL)) == LEVADA_OK) {
        t_iter_add(to, block, batches);
        levada_block_unref(&block);
    }
    return st;
}

static levada_status cancelled_stop(levada_iter *it, cancelled_how how, int64_t at, bool batches,
                                    t_bytes *to)
{
    pthread_t     thread;
    levada_status st;

    cancelled_plan.how = how;
    cancelled_plan.at = at;
    cancelled_plan.it = it;
    atomic_store(&cancelled_plan.calls, 0);
    atomic_store(&cancelled_plan.waits, 0);
    assert_int_equal(pthread_create(&thread, NULL, cancelled_other_thread, it), 0);
    st = cancelled_read(it, batches, to);
    atomic_store(&cancelled_plan.waits, 1);
    assert_int_equal(pthread_join(thread, NULL), 0);
    if (st == LEVADA_ECANCELLED) assert_int_equal(cancelled_read(it, batches, to), st);
    return st;
}

static void cancelled_go_on(const cancelled_case *c, int32_t threads, const void *state,
                            size_t size, t_bytes *to)
{
    levada_iter *it = t_iter_open(c->text, threads, 5);
    levada_error err = LEVADA_ERROR_INIT;

    cancelled_plan.at = -1;
    if (levada_iter_restore(it, state, size, &err) != LEVADA_OK) fail_msg("%s", err.message);
    assert_int_equal(cancelled_read(it, c->batches, to), LEVADA_END);
    levada_iter_close(&it);
}

/* False where the records came to an end before that call. */
static bool cancelled_try(const cancelled_case *c, t_bytes all, cancelled_how how, int32_t threads,
                          int64_t at)
{
    levada_iter  *it = t_iter_open(c->text, threads, 3);
    levada_error  err = LEVADA_ERROR_INIT;
    t_bytes       got = { 0 };
    char         *state = NULL;
    size_t        size = 0;
    bool          stopped = cancelled_stop(it, how, at, c->batches, &got) == LEVADA_ECANCELLED;
    levada_status st = stopped ? levada_iter_save(it, &state, &size, &err) : LEVADA_END;

    levada_iter_close(&it);
    if (st == LEVADA_OK) {
        cancelled_go_on(c, 4 - threads, state, size, &got);
        if (got.size != all.size || memcmp(got.at, all.at, all.size) != 0) {
            fail_msg("%s: threads=%d, how=%d, call %d: %zu bytes of %zu", c->text, (int)threads,
                     (int)how, (int)at, got.size, all.size);
        }
    } else if (stopped) {
        if (c->saves || how == CANCELLED_LATE) fail_msg("%s: %s", c->text, err.message);
        assert_int_equal(st, LEVADA_EFAILED_PRECONDITION);
        assert_non_null(strstr(err.message, "stopped half-way"));
    }
    levada_string_free(&state);
    t_clear(&got);
    return stopped;
}

static void cancelled_try_all(const cancelled_case *c)
{
    t_bytes all;

    cancelled_plan.at = -1;
    all = t_iter_all(c->text, c->batches);
    for (int32_t threads = 1; threads <= 3; threads += 2) {
        for (int how = 0; how < CANCELLED_HOWS; how++) {
            int64_t at = 0;

            while (cancelled_try(c, all, (cancelled_how)how, threads, at)) at++;
            assert_true(at > 1);
        }
    }
    t_clear(&all);
}

static void a_function_is_called_again_for_its_block(void **state)
{
    static const cancelled_case cases[] = {
        { "t_rows:30,bare=true | call:{c:serial}", true, false },
        { "t_rows:30,bare=true | map:{c:parallel}", true, false },
        { "t_rows:30 | map:{c:parallel} | call:{c:serial} | map:{c:parallel}", true, false },
        { "range:30 | filter:fn={c:third}", true, false },
        { "range:30 | call:{c:serial} | prefetch:2", true, false },
        { "range:30 | prefetch:2 | call:{c:serial}", true, false },
        { "range:30 | call:{c:serial} | batch:4", true, true },
        { "range:30 | batch:4 | call:{c:serial}", true, true },
        { "range:30 | batch:4 | call:{c:serial} | prefetch:2 | call:{c:serial}", true, true },
        { "t_rows:30,bare=true | call:{c:serial} | padded_batch:4", true, true },
        { "range:30 | call:{c:serial} | shuffle:7 | batch:4 | prefetch:2", true, true },
        { "range:30 | map:{c:parallel} | shuffle:7 | call:{c:serial}", true, false },
        { "range:10 | call:{c:serial} | shuffle:4 | repeat:3", true, false },
        { "range:30 | shuffle:7 | call:{c:serial} | skip:2 | take:20", true, false },
        { "range:30 | call:{c:serial} | shard:index=1,count=2 | repeat:2", true, false },
        { "t_rows:30,bare=true | call:{c:serial} | "
          "bucket_by_sequence_length:x,boundaries=[2,5],batch_sizes=4 | map:{c:parallel}",
          true, true },
        { "t_rows:20 | batch:3 | call:{c:serial} | unbatch | enumerate | batch:6", true, true },
        { "mix(range:20 | call:{c:serial}; range:9,start=50 | map:{c:parallel}) | batch:4", true,
          true },
        { "zip(range:20 | call:{c:serial}; range:20 | rename:{value:x}) | shuffle:5", true,
          false },
        { "concat(range:9 | call:{c:serial}; range:9 | map:{c:parallel} | filter:fn={c:third})",
          true, false },
        { "range:5 | call:{c:serial} | interleave:(range:7),cycle_length=2", true, false },
        { "range:5 | interleave:(range:7 | call:{c:serial} | map:{c:parallel}),cycle_length=2",
          true, false },
        { "range:3 | interleave:(range:7 | call:{c:serial} | batch:2) | prefetch:2", true, true },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) cancelled_try_all(&cases[i]);
}

static void what_may_be_lost_is_not_saved(void **state)
{
    static const cancelled_case cases[] = {
        { "range:30 | call:{c:sum}", false, false },
        { "range:30 | call:{c:sum} | batch:4 | prefetch:2", false, true },
        { "range:30 | call:{c:sum} | shuffle:7 | repeat:2", false, false },
        { "mix(range:20 | call:{c:sum}; range:9,start=50) | batch:4", false, true },
        { "range:3 | interleave:(range:7 | call:{c:sum}),cycle_length=2", false, false },
        { "range:30 | call:{c:reject}", false, false },
        { "range:30 | map:{c:reject}", false, false },
        { "range:3 | interleave:(range:7 | call:{c:reject} | map:{c:reject}),cycle_length=2",
          false, false },
        { "records:{c:gives},spec={value:int64}", false, false },
        { "records:{c:gives},spec={value:int64} | shuffle:4 | batch:3", false, true },
        { "t_source | repeat:2 | prefetch:2", false, false },
        { "t_source | map:{c:parallel} | batch:7", false, true },
        { "range:30 | t_stage | batch:7", false, true },
        { "range:30 | prefetch:2 | t_stage | shuffle:5 | prefetch:2", false, false },
        { "zip(t_source; range:30 | rename:{value:x} | t_stage)", false, false },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) cancelled_try_all(&cases[i]);
}

static int add_all(void **state)
{
    (void)state;
    cancelled_put_hooks();
    cancelled_put("sum", false, true, cancelled_sum);
    cancelled_put("serial", false, false, cancelled_same);
    cancelled_put("parallel", true, false, cancelled_same);
    cancelled_put("third", true, false, cancelled_third);
    cancelled_put("reject", true, false, cancelled_reject);
    cancelled_put("gives", false, true, cancelled_gives);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_function_is_called_again_for_its_block),
        cmocka_unit_test(what_may_be_lost_is_not_saved),
    };

    return cmocka_run_group_tests(tests, add_all, NULL);
}
