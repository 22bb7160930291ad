/* SPDX-License-Identifier: Apache-2.0 */
#include "support/iters.h"
#include "support/register.h"

#include "conform.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

/* -- the sources */

typedef struct iters_args {
    int64_t     count, fail_at, wait;
    levada_ints lengths;
    bool        bare;
} iters_args;

typedef struct iters_state {
    const levada_context *context;
    int64_t               next;
} iters_state;

static const levada_arg iters_options[] = {
    LEVADA_ARG(INT, iters_args, count, .required = true, .positional = true, .min = 0,
               .max = INT64_MAX, .doc = "records"),
    LEVADA_ARG(INTS, iters_args, lengths, .otherwise = "[3,0,5,1,17,2,9,4]", .min = INT64_MIN + 1,
               .max = INT64_MAX, .doc = "lengths, over and over"),
    LEVADA_ARG(INT, iters_args, fail_at, .min = 0, .max = INT64_MAX, .doc = "record that fails"),
    LEVADA_ARG(INT, iters_args, wait, .otherwise = "0", .min = 0, .max = INT64_MAX, .tuning = true,
               .doc = "nanoseconds of a next()"),
    LEVADA_ARG(BOOL, iters_args, bare, .otherwise = "false", .doc = "n, l and x only"),
    LEVADA_ARG_END
};

static levada_status iters_check(const void *args, levada_spec **out, levada_error *err)
{
    static const levada_field fields[] = {
        { .name = "n", .dtype = LEVADA_INT64 },
        { .name = "l", .dtype = LEVADA_INT64 },
        { .name = "x", .dtype = LEVADA_INT32, .depth = 1 },
        { .name = "s", .dtype = LEVADA_BYTES },
        { .name = "v", .dtype = LEVADA_FLOAT32, .ndim = 1, .dims = { 2 } },
        { .name = "w", .dtype = LEVADA_BYTES, .depth = 1 },
        { .name = "z", .dtype = LEVADA_INT16, .depth = 2 },
    };

    return levada_spec_create(fields, ((const iters_args *)args)->bare ? 3 : 7, LEVADA_SPEC_PLAIN,
                              out, err);
}

static levada_status iters_open(void *state, const void *args, const levada_context *context,
                                levada_error *err)
{
    (void)args, (void)err;
    ((iters_state *)state)->context = context;
    return LEVADA_OK;
}

static int64_t iters_length(const iters_args *a, int64_t i)
{
    return a->lengths.at[i % a->lengths.n];
}

static levada_status iters_row(const iters_args *a, int64_t i, levada_builder *b, levada_error *err)
{
    int64_t length = iters_length(a, i);
    char    text[32];

    LEVADA_TRY(levada_builder_push_i64(b, 0, i, err));
    LEVADA_TRY(levada_builder_push_i64(b, 1, length, err));
    for (int64_t k = 0; k < length && k < 64; k++) {
        LEVADA_TRY(levada_builder_push_i64(b, 2, (i * 100 + k) & 0x7fffffff, err));
    }
    LEVADA_TRY(levada_builder_end_row(b, 2, err));
    if (a->bare) return LEVADA_OK;
    LEVADA_TRY(levada_builder_push_bytes(b, 3, text, snprintf(text, sizeof text, "%lld",
                                                              (long long)(i * i)), err));
    LEVADA_TRY(levada_builder_push_f64(b, 4, (double)i / 4, err));
    LEVADA_TRY(levada_builder_push_f64(b, 4, (double)-i, err));
    for (int64_t k = 0; k < i % 4; k++) {
        LEVADA_TRY(levada_builder_push_bytes(b, 5, "abcdefgh", (i + k) % 8, err));
    }
    return levada_builder_end_row(b, 5, err);
}

/* Column z: row i has i % 3 parts, part k of it has (i + k) % 4 values. */
static levada_status iters_nested(const int64_t *records, int64_t n, levada_builder *b,
                                  levada_error *err)
{
    int32_t *rows = NULL, *parts = NULL, nparts = 0, total = 0, at = 0;
    void    *values = NULL;

    LEVADA_TRY(levada_builder_offsets(b, 6, 0, n, &rows, err));
    for (int64_t i = 0; i < n; i++) rows[i + 1] = nparts += (int32_t)(records[i] % 3);
    LEVADA_TRY(levada_builder_offsets(b, 6, 1, nparts, &parts, err));
    for (int64_t i = 0; i < n; i++) {
        for (int64_t k = 0; k < records[i] % 3; k++) {
            parts[++at] = total += (int32_t)((records[i] + k) % 4);
        }
    }
    LEVADA_TRY(levada_builder_values(b, 6, total, &values, err));
    for (int32_t i = 0; i < nparts; i++) {
        for (int32_t k = parts[i]; k < parts[i + 1]; k++) ((int16_t *)values)[k] = (int16_t)k;
    }
    for (int64_t i = 0; i < n; i++) { /* values that name their record, not their place */
        for (int32_t k = parts[rows[i]]; k < parts[rows[i + 1]]; k++) {
            ((int16_t *)values)[k] = (int16_t)(records[i] + k - parts[rows[i]]);
        }
    }
    return LEVADA_OK;
}

static levada_status iters_at(void *state, const void *args, const int64_t *records, int64_t n,
                              levada_block **out, levada_error *err)
{
    const iters_state *s = state;
    const iters_args  *a = args;
    levada_builder    *b = NULL;
    levada_status st = levada_builder_create(s->context->env, s->context->out, n, &b, err);

    for (int64_t i = 0; st == LEVADA_OK && i < n; i++) {
        st = records[i] >= 0 && records[i] < a->count ? iters_row(a, records[i], b, err)
                                   : levada_fail(err, LEVADA_EFAILED_PRECONDITION, "gone");
    }
    if (st == LEVADA_OK && !a->bare) st = iters_nested(records, n, b, err);
    if (st == LEVADA_OK) st = levada_builder_publish(&b, out, err);
    levada_builder_destroy(&b);
    return st;
}

static levada_status iters_next(void *state, const void *args, levada_block **out,
                                levada_error *err)
{
    iters_state      *s = state;
    const iters_args *a = args;
    int64_t           n = a->count - s->next, *records;
    struct timespec   wait = { a->wait / 1000000000, a->wait % 1000000000 };
    levada_status     st;

    if (a->wait) (void)nanosleep(&wait, NULL);
    if (n > s->context->block_rows) n = s->context->block_rows;
    if (n <= 0) return LEVADA_END;
    if (a->fail_at != LEVADA_NULL_INT && s->next <= a->fail_at && s->next + n > a->fail_at) {
        n = a->fail_at - s->next;
        if (n == 0) return levada_fail(err, LEVADA_EDATA_LOSS, "record %lld", (long long)s->next);
    }
    records = malloc((size_t)n * sizeof *records);
    if (!records) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory");
    for (int64_t i = 0; i < n; i++) records[i] = s->next + i;
    st = iters_at(state, args, records, n, out, err);
    if (st == LEVADA_OK) s->next += n;
    free(records);
    return st;
}

static levada_status iters_save(const void *state, levada_state_writer *to, levada_error *err)
{
    return levada_state_put_i64(to, "next", ((const iters_state *)state)->next, err);
}

static levada_status iters_restore(void *state, levada_state_reader *from, levada_error *err)
{
    int64_t next = 0;

    LEVADA_TRY(levada_state_get_i64(from, "next", &next, err));
    if (next < 0) return levada_fail(err, LEVADA_EDATA_LOSS, "the checkpoint is corrupt");
    ((iters_state *)state)->next = next;
    return LEVADA_OK;
}

static levada_source_def iters_source(bool again)
{
    levada_source_def def = {
        .struct_size = sizeof def,
        .name = again ? "t_rows" : "t_stream",
        .doc = "records of every kind",
        .example = again ? "t_rows:3" : "t_stream:3",
        .args = iters_options,
        .args_size = sizeof(iters_args),
        .state_size = sizeof(iters_state),
        .state_version = 1,
        .check = iters_check,
        .open = iters_open,
        .next = iters_next,
        .save = iters_save,
        .restore = iters_restore,
        .at = again ? iters_at : NULL,
    };

    return def;
}

levada_env *t_iter_env(void)
{
    static levada_env *env;
    levada_source_def  rows = iters_source(true), stream = iters_source(false);

    if (env) return env;
    assert_int_equal(levada_env_create(NULL, &env, NULL), LEVADA_OK);
    assert_int_equal(t_register(env, LEVADA_FAMILY_SOURCE, &rows, NULL, NULL), LEVADA_OK);
    assert_int_equal(t_register(env, LEVADA_FAMILY_SOURCE, &stream, NULL, NULL),
                     LEVADA_OK);
    return env;
}

/* -- opening */

static void iters_failed(const char *what, const levada_error *err)
{
    char text[512];

    fail_msg("%s: %s", what, levada_error_text(err, text, sizeof text));
}

levada_iter *t_iter_open_with(const char *text, const levada_iter_options *options)
{
    levada_dataset *dataset = NULL;
    levada_iter    *it = NULL;
    levada_error    err = LEVADA_ERROR_INIT;

    if (levada_dataset_parse(t_iter_env(), text, &dataset, &err) != LEVADA_OK) {
        iters_failed(text, &err);
    }
    if (levada_iter_open(dataset, options, &it, &err) != LEVADA_OK) iters_failed(text, &err);
    levada_dataset_unref(&dataset);
    return it;
}

levada_iter *t_iter_open_policy(const char *text, const char *errors, int32_t threads,
                                int32_t block_rows)
{
    levada_iter_options o = LEVADA_ITER_OPTIONS_INIT;

    o.seed = 11;
    o.threads = threads;
    o.block_rows = block_rows;
    o.errors = errors;
    return t_iter_open_with(text, &o);
}

levada_status t_iter_read_rest(levada_iter *it, t_outcome *o)
{
    levada_block *block = NULL;
    levada_status st;

    while ((st = levada_iter_next(it, &block, &o->why)) == LEVADA_OK) {
        o->rows += levada_block_rows(block);
        levada_block_unref(&block);
    }
    return st;
}

levada_iter *t_iter_open(const char *text, int32_t threads, int32_t block_rows)
{
    levada_iter_options o = LEVADA_ITER_OPTIONS_INIT;

    o.seed = 11;
    o.threads = threads;
    o.block_rows = block_rows;
    return t_iter_open_with(text, &o);
}

void t_iter_refused(const char *text, levada_status code, const char *message)
{
    levada_iter_options o = LEVADA_ITER_OPTIONS_INIT;
    levada_dataset     *dataset = NULL;
    levada_iter        *it = NULL;
    levada_error        err = LEVADA_ERROR_INIT;
    levada_status       st = levada_dataset_parse(t_iter_env(), text, &dataset, &err);

    o.threads = 1;
    if (st == LEVADA_OK) st = levada_iter_open(dataset, &o, &it, &err);
    if (st != code) fail_msg("%s: %s, %s", text, levada_status_name(st), err.message);
    if (!strstr(err.message, message)) fail_msg("'%s' is not in '%s'", message, err.message);
    assert_null(it);
    levada_dataset_unref(&dataset);
}

/* -- rows as bytes */

void t_iter_add(t_bytes *to, const levada_block *block, bool batches)
{
    levada_conform_rows rows = { .batches = batches };

    levada_conform_rows_add(&rows, block);
    t_add(to, rows.bytes.at, rows.bytes.size);
    levada_conform_rows_clear(&rows);
}

int64_t t_iter_read(levada_iter *it, int64_t blocks, bool batches, t_bytes *to)
{
    int64_t      n = 0;
    levada_error err = LEVADA_ERROR_INIT;

    t_add(to, NULL, 0);
    while (n != blocks) {
        levada_block *block = NULL;
        levada_status st = levada_iter_next(it, &block, &err);

        if (st == LEVADA_END) break;
        if (st != LEVADA_OK) iters_failed("next", &err);
        assert_true(levada_block_rows(block) > 0);
        t_iter_add(to, block, batches);
        levada_block_unref(&block);
        n++;
    }
    return n;
}

static int64_t iters_fail(levada_iter *it, levada_status code, levada_error *err)
{
    int64_t       n = 0;
    levada_block *block = NULL;
    levada_status st = levada_iter_next(it, &block, err);

    while (st == LEVADA_OK) {
        n += levada_block_rows(block);
        levada_block_unref(&block);
        st = levada_iter_next(it, &block, err);
    }
    if (st != code) iters_failed("another status", err);
    return n;
}

int64_t t_iter_fails(levada_iter *it, levada_status code, const char *message)
{
    levada_error err = LEVADA_ERROR_INIT;
    int64_t      n = iters_fail(it, code, &err);

    if (!strstr(err.message, message)) fail_msg("'%s' is not in '%s'", message, err.message);
    return n;
}

void t_iter_fails_at(levada_iter *it, levada_status code, const char *file, int64_t record,
                     int64_t offset)
{
    levada_error err = LEVADA_ERROR_INIT;
    size_t       size, wanted = strlen(file);

    (void)iters_fail(it, code, &err);
    size = strlen(err.file);
    if (size < wanted || strcmp(err.file + size - wanted, file) != 0 || err.record != record ||
        err.offset != offset) {
        iters_failed("another place", &err);
    }
}

int64_t t_iter_ends(levada_iter *it, levada_status code, const char *message)
{
    int64_t n = t_iter_fails(it, code, message);

    levada_iter_close(&it);
    return n;
}

void t_iter_ends_at(levada_iter *it, levada_status code, const char *file, int64_t record,
                    int64_t offset)
{
    t_iter_fails_at(it, code, file, record, offset);
    levada_iter_close(&it);
}

int64_t *t_iter_numbers(levada_iter *it, const char *name, int64_t *n)
{
    t_bytes      all = { 0 };
    levada_error err = LEVADA_ERROR_INIT;

    t_add(&all, NULL, 0);
    for (;;) {
        levada_block  *block = NULL;
        levada_status  st = levada_iter_next(it, &block, &err);
        const int64_t *values;

        if (st == LEVADA_END) break;
        if (st != LEVADA_OK) iters_failed("next", &err);
        values = levada_column_i64(levada_block_column(block, name));
        assert_non_null(values);
        t_add(&all, values, (size_t)levada_block_rows(block) * sizeof *values);
        levada_block_unref(&block);
    }
    *n = (int64_t)(all.size / sizeof(int64_t));
    return (int64_t *)(void *)all.at;
}

int64_t t_iter_stat(levada_iter *it, const char *name)
{
    char       *json = NULL, key[64];
    const char *at;
    int64_t     value;

    assert_int_equal(levada_iter_stats(it, &json, NULL), LEVADA_OK);
    (void)snprintf(key, sizeof key, "\"%s\":", name);
    at = strstr(json, key);
    assert_non_null(at);
    value = strtoll(at + strlen(key), NULL, 10);
    levada_string_free(&json);
    return value;
}

/* -- states */

t_bytes t_iter_save(levada_iter *it)
{
    t_bytes      state = { 0 };
    char        *bytes = NULL;
    size_t       size = 0;
    levada_error err = LEVADA_ERROR_INIT;

    if (levada_iter_save(it, &bytes, &size, &err) != LEVADA_OK) iters_failed("save", &err);
    t_add(&state, bytes, size);
    levada_string_free(&bytes);
    return state;
}

void t_iter_restore(levada_iter *it, t_bytes state)
{
    levada_error err = LEVADA_ERROR_INIT;

    if (levada_iter_restore(it, state.at, state.size, &err) != LEVADA_OK) {
        iters_failed("restore", &err);
    }
}

/* -- what holds for every pipe */

t_bytes t_iter_all(const char *text, bool batches)
{
    levada_iter *it = t_iter_open(text, 1, 256);
    t_bytes      all = { 0 };

    (void)t_iter_read(it, -1, batches, &all);
    levada_iter_close(&it);
    return all;
}

void t_bytes_equal(t_bytes a, t_bytes b, const char *what)
{
    size_t at = 0;

    while (at < a.size && at < b.size && a.at[at] == b.at[at]) at++;
    if (at == a.size && at == b.size) return;
    fail_msg("%s: %zu and %zu bytes, different from byte %zu on", what, a.size, b.size, at);
}

void t_iter_sweep(const char *text, bool batches, int64_t step)
{
    levada_conform         c = { .env = t_iter_env(), .example = text, .may_be_empty = true };
    levada_conform_verdict verdict = levada_conform_alike(&c);

    if (verdict == LEVADA_CONFORM_GOOD) verdict = levada_conform_cuts(&c, step);
    if (c.want.batches != batches) {
        fail_msg("%s: it gives %s", text, batches ? "records" : "batches");
    }
    levada_conform_clear(&c);
    if (verdict != LEVADA_CONFORM_GOOD) fail_msg("%s: %s", text, c.what);
}
