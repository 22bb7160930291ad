/* SPDX-License-Identifier: Apache-2.0 */
#include "support/functions.h"

#include "support/iters.h"
#include <levada/builder.h>
#include <levada/state.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>

#include <cmocka.h>

typedef struct functions_run {
    int64_t at;
} functions_run;

static atomic_int functions_count;

int t_functions_open(void) { return atomic_load(&functions_count); }

static levada_status functions_open(void *user, void **run, levada_error *err)
{
    (void)user;
    *run = calloc(1, sizeof(functions_run));
    if (!*run) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a function");
    atomic_fetch_add(&functions_count, 1);
    return LEVADA_OK;
}

static void functions_close(void *run)
{
    atomic_fetch_sub(&functions_count, 1);
    free(run);
}

static levada_status functions_save(void *run, levada_state_writer *to, levada_error *err)
{
    return levada_state_put_i64(to, "function", ((functions_run *)run)->at, err);
}

static levada_status functions_restore(void *run, levada_state_reader *from, levada_error *err)
{
    return levada_state_get_count(from, "function", LEVADA_COUNT_LIMIT, &((functions_run *)run)->at,
                                  err);
}

/* A builder of one column of n rows. */
static levada_status functions_build(const char *name, levada_dtype dtype, int64_t n,
                                     levada_builder **b, void **values, levada_error *err)
{
    levada_field  field = { .name = name, .dtype = dtype };
    levada_spec  *spec = NULL;
    levada_status st;

    LEVADA_TRY(levada_spec_create(&field, 1, LEVADA_SPEC_PLAIN, &spec, err));
    st = levada_builder_create(NULL, spec, n, b, err);
    levada_spec_unref(&spec);
    if (st == LEVADA_OK) st = levada_builder_values(*b, 0, n, values, err);
    if (st != LEVADA_OK) levada_builder_destroy(b);
    return st;
}

levada_status t_numbers_block(const int64_t *from, int64_t first, int64_t n, levada_block **out,
                              levada_error *err)
{
    levada_builder *b = NULL;
    void           *values = NULL;

    LEVADA_TRY(functions_build("value", LEVADA_INT64, n, &b, &values, err));
    for (int64_t i = 0; i < n; i++) ((int64_t *)values)[i] = from ? from[i] : first + i;
    return levada_builder_publish(&b, out, err);
}

static levada_status functions_numbers(void *run, const levada_block *in, levada_block **out,
                                       levada_error *err)
{
    functions_run *r = run;
    int64_t        n = r->at < 9 ? 3 : 10 - r->at;

    (void)in;
    if (n <= 0) return LEVADA_END;
    LEVADA_TRY(t_numbers_block(NULL, r->at, n, out, err));
    r->at += n;
    return LEVADA_OK;
}

static levada_status functions_twice(void *run, const levada_block *in, levada_block **out,
                                     levada_error *err)
{
    int64_t         n = levada_block_rows(in);
    const int64_t  *from = levada_column_i64(levada_block_at(in, 0));
    levada_builder *b = NULL;
    void           *values = NULL;

    (void)run;
    LEVADA_TRY(functions_build("value", LEVADA_INT64, n, &b, &values, err));
    for (int64_t i = 0; i < n; i++) ((int64_t *)values)[i] = 2 * from[i];
    return levada_builder_publish(&b, out, err);
}

static levada_status functions_half(void *run, const levada_block *in, levada_block **out,
                                    levada_error *err)
{
    int64_t         n = levada_block_rows(in);
    const int64_t  *from = levada_column_i64(levada_block_at(in, 0));
    levada_builder *b = NULL;
    void           *values = NULL;

    (void)run;
    LEVADA_TRY(functions_build("value", LEVADA_FLOAT64, n, &b, &values, err));
    for (int64_t i = 0; i < n; i++) ((double *)values)[i] = 0.5 * (double)from[i];
    return levada_builder_publish(&b, out, err);
}

static levada_status functions_hasty(void *run, const levada_block *in, levada_block **out,
                                     levada_error *err)
{
    return ++((functions_run *)run)->at % 2 ? LEVADA_AGAIN : functions_twice(run, in, out, err);
}

static levada_status functions_odd(void *run, const levada_block *in, levada_block **out,
                                   levada_error *err)
{
    int64_t         n = levada_block_rows(in);
    const int64_t  *from = levada_column_i64(levada_block_at(in, 0));
    levada_builder *b = NULL;
    void           *values = NULL;

    (void)run;
    LEVADA_TRY(functions_build("keep", LEVADA_BOOL, n, &b, &values, err));
    for (int64_t i = 0; i < n; i++) ((uint8_t *)values)[i] = from[i] & 1;
    return levada_builder_publish(&b, out, err);
}

static levada_status functions_longer(void *run, const levada_block *in, levada_block **out,
                                      levada_error *err)
{
    (void)run;
    return t_numbers_block(NULL, 0, levada_block_rows(in) + 1, out, err);
}

/* Makes value % 3 records of each: 10 * value + k. */
static levada_status functions_spread(void *run, const levada_block *in, levada_block **out,
                                      levada_error *err)
{
    const int64_t *from = levada_column_i64(levada_block_at(in, 0));
    levada_field   fields[] = { { .name = "row", .dtype = LEVADA_INT64 },
                                { .name = "value", .dtype = LEVADA_INT64 } };
    levada_spec    *spec = NULL;
    levada_builder *b = NULL;
    void           *rows = NULL, *values = NULL;
    int64_t         n = 0;
    levada_status   st;

    (void)run;
    for (int64_t i = 0; i < levada_block_rows(in); i++) n += from[i] % 3;
    LEVADA_TRY(levada_spec_create(fields, 2, LEVADA_SPEC_PLAIN, &spec, err));
    st = levada_builder_create(NULL, spec, n, &b, err);
    levada_spec_unref(&spec);
    if (st == LEVADA_OK) st = levada_builder_values(b, 0, n, &rows, err);
    if (st == LEVADA_OK) st = levada_builder_values(b, 1, n, &values, err);
    for (int64_t i = 0, k = 0; st == LEVADA_OK && i < levada_block_rows(in); i++) {
        for (int64_t j = 0; j < from[i] % 3; j++, k++) {
            ((int64_t *)rows)[k] = i;
            ((int64_t *)values)[k] = 10 * from[i] + j;
        }
    }
    if (st == LEVADA_OK) st = levada_builder_publish(&b, out, err);
    levada_builder_destroy(&b);
    return st;
}

/* As twice, but values that can be divided by `divisor` are bad. */
static levada_status functions_refuse(int64_t divisor, const char *word, const levada_block *in,
                                      levada_block **out, levada_error *err)
{
    int64_t         n = levada_block_rows(in);
    const int64_t  *from = levada_column_i64(levada_block_at(in, 0));
    levada_builder *b = NULL;
    void           *values = NULL;
    levada_error    why = LEVADA_ERROR_INIT;
    levada_status   st = LEVADA_OK;

    LEVADA_TRY(functions_build("value", LEVADA_INT64, n, &b, &values, err));
    for (int64_t i = 0; st == LEVADA_OK && i < n; i++) {
        ((int64_t *)values)[i] = 2 * from[i];
        if (from[i] % divisor) continue;
        (void)levada_fail(&why, LEVADA_EDATA_LOSS, "%lld is %s times something",
                          (long long)from[i], word);
        st = levada_builder_reject(b, i, &why, err);
    }
    if (st == LEVADA_OK) st = levada_builder_publish(&b, out, err);
    levada_builder_destroy(&b);
    return st;
}

static levada_status functions_picky(void *run, const levada_block *in, levada_block **out,
                                     levada_error *err)
{
    (void)run;
    return functions_refuse(5, "five", in, out, err);
}

static levada_status functions_choosy(void *run, const levada_block *in, levada_block **out,
                                      levada_error *err)
{
    (void)run;
    return functions_refuse(7, "seven", in, out, err);
}

/* Other values each time. */
static levada_status functions_liar(void *run, const levada_block *in, levada_block **out,
                                    levada_error *err)
{
    static atomic_llong times;
    int64_t             n = levada_block_rows(in), time = atomic_fetch_add(&times, 1);
    levada_builder     *b = NULL;
    void               *values = NULL;

    (void)run;
    LEVADA_TRY(functions_build("value", LEVADA_INT64, n, &b, &values, err));
    for (int64_t i = 0; i < n; i++) ((int64_t *)values)[i] = time;
    return levada_builder_publish(&b, out, err);
}

static levada_status functions_sum(void *run, const levada_block *in, levada_block **out,
                                   levada_error *err)
{
    functions_run  *r = run;
    int64_t         n = levada_block_rows(in);
    const int64_t  *from = levada_column_i64(levada_block_at(in, 0));
    levada_builder *b = NULL;
    void           *values = NULL;

    LEVADA_TRY(functions_build("value", LEVADA_INT64, n, &b, &values, err));
    for (int64_t i = 0; i < n; i++) ((int64_t *)values)[i] = r->at += from[i];
    return levada_builder_publish(&b, out, err);
}

typedef levada_status (*functions_call)(void *run, const levada_block *in, levada_block **out,
                                        levada_error *err);

static void functions_put(levada_env *env, const char *name, functions_call call, bool state)
{
    levada_function_def def = {
        .struct_size = sizeof def,
        .kind = "c",
        .name = name,
        .pure = !state,
        .open = functions_open,
        .call = call,
        .save = state ? functions_save : NULL,
        .restore = state ? functions_restore : NULL,
        .close = functions_close,
    };
    levada_function *function = NULL;

    assert_int_equal(levada_function_create(&def, NULL, &function, NULL), LEVADA_OK);
    assert_int_equal(levada_env_add_function(env, function, NULL), LEVADA_OK);
    levada_function_unref(&function);
}

void t_functions_add(levada_env *env)
{
    functions_put(env, "numbers", functions_numbers, true);
    functions_put(env, "twice", functions_twice, false);
    functions_put(env, "half", functions_half, false);
    functions_put(env, "hasty", functions_hasty, false);
    functions_put(env, "odd", functions_odd, false);
    functions_put(env, "longer", functions_longer, false);
    functions_put(env, "spread", functions_spread, false);
    functions_put(env, "picky", functions_picky, false);
    functions_put(env, "choosy", functions_choosy, false);
    functions_put(env, "liar", functions_liar, false);
    functions_put(env, "sum", functions_sum, true);
}

void t_expect_i64(const char *text, const char *name, const int64_t *want, int64_t n)
{
    const int32_t sizes[] = { 1, 7, 256 };

    for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
        levada_iter *it = t_iter_open(text, 1, sizes[k]);
        int64_t      got = 0, *numbers = t_iter_numbers(it, name, &got);

        assert_int_equal(got, n);
        for (int64_t i = 0; i < n; i++) assert_int_equal(numbers[i], want[i]);
        free(numbers);
        levada_iter_close(&it);
    }
}

int t_functions_set_up(void **state)
{
    (void)state;
    t_functions_add(t_iter_env());
    return t_folder() == NULL;
}
