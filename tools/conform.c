/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The conformance suite: the records of the example, and that they do not depend on how it is run.
 */
#include "conform.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define CONFORM_SEED 11

/* -- what is reported */

levada_conform_verdict levada_conform_broken(levada_conform *c, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(c->what, sizeof c->what, fmt, args);
    va_end(args);
    return LEVADA_CONFORM_BAD;
}

levada_conform_verdict levada_conform_failed(levada_conform *c, const char *call,
                                             const levada_error *err)
{
    char text[LEVADA_ERROR_TEXT];

    return levada_conform_broken(c, "%s: %s, %s", call, levada_status_name(err->code),
                                 levada_error_text(err, text, sizeof text));
}

void levada_conform_look(levada_conform *c, const char *where)
{
    (void)snprintf(c->where, sizeof c->where, "%s", where);
}

void levada_conform_clear(levada_conform *c)
{
    levada_conform_rows_clear(&c->want);
    levada_cli_buffer_clear(&c->plain);
    levada_cli_buffer_clear(&c->packed);
    c->known = false;
}

/* -- running */

levada_status levada_conform_open(const levada_conform *c, levada_env *env, int32_t threads,
                                  int32_t block_rows, levada_iter **out, levada_error *err)
{
    levada_iter_options o = LEVADA_ITER_OPTIONS_INIT;
    levada_dataset     *dataset = NULL;
    levada_status       st = levada_dataset_parse(env, c->example, &dataset, err);

    o.seed = CONFORM_SEED;
    o.threads = threads;
    o.block_rows = block_rows;
    if (st == LEVADA_OK) st = levada_iter_open(dataset, &o, out, err);
    levada_dataset_unref(&dataset);
    return st;
}

levada_status levada_conform_read(levada_iter *it, int64_t blocks, levada_conform_rows *to,
                                  levada_error *err)
{
    levada_status st = LEVADA_OK;

    for (int64_t i = 0; st == LEVADA_OK && i != blocks; i++) {
        levada_block *block = NULL;

        st = levada_iter_next(it, &block, err);
        if (st == LEVADA_OK) levada_conform_rows_add(to, block);
        levada_block_unref(&block);
    }
    if (st == LEVADA_END) {
        levada_block *block = NULL;

        st = levada_iter_next(it, &block, err);
        if (st == LEVADA_OK) st = levada_fail(err, LEVADA_EINTERNAL, "records after the end");
        levada_block_unref(&block);
    }
    return st;
}

static levada_status conform_all(const levada_conform *c, int32_t threads, int32_t block_rows,
                                 levada_conform_rows *to, levada_error *err)
{
    levada_iter  *it = NULL;
    levada_status st = levada_conform_open(c, c->env, threads, block_rows, &it, err);

    if (st == LEVADA_OK) st = levada_conform_read(it, -1, to, err);
    levada_iter_close(&it);
    return st;
}

levada_conform_verdict levada_conform_prepare(levada_conform *c)
{
    levada_error    err = LEVADA_ERROR_INIT;
    levada_dataset *dataset = NULL;
    levada_status   st;

    c->note[0] = c->what[0] = c->where[0] = 0;
    if (c->known) return LEVADA_CONFORM_GOOD;
    if (!c->example || !*c->example) {
        levada_conform_look(c, "the member example of its descriptor: the smallest dataset");
        return levada_conform_broken(c, "it has no example, so that nothing can be checked");
    }
    st = levada_dataset_parse(c->env, c->example, &dataset, &err);
    if (st == LEVADA_OK) {
        c->want.batches
            = levada_spec_flags_of(levada_dataset_spec(dataset)) & LEVADA_SPEC_BATCHED;
    }
    levada_dataset_unref(&dataset);
    if (st == LEVADA_OK) st = conform_all(c, 1, 256, &c->want, &err);
    if (st == LEVADA_END && (c->want.n > 0 || c->may_be_empty)) {
        c->known = true;
        return LEVADA_CONFORM_GOOD;
    }
    levada_conform_look(c, "its example");
    if (st == LEVADA_END) {
        return levada_conform_broken(c, "%s gives no records, so that nothing can be checked",
                                     c->example);
    }
    levada_conform_rows_clear(&c->want);
    (void)levada_conform_failed(c, c->example, &err);
    if (st == LEVADA_ENOT_FOUND) {
        levada_conform_look(c, "its example and example_files; other files must be in the current "
                               "directory");
    }
    return st == LEVADA_ENOT_FOUND || st == LEVADA_EUNIMPLEMENTED ? LEVADA_CONFORM_SKIPPED
                                                                : LEVADA_CONFORM_BAD;
}

/* -- the same records however it is run */

static const char *conform_alike_where(int32_t i, int32_t threads)
{
    if (i == 0) {
        return "what depends on time, addresses or a generator of its own: "
               "draw with levada_random_at from context->seed, epoch and an ordinal";
    }
    if (threads > 1) return "what apply() or decode() keeps: with more threads it has many states";
    return "what next() does at the borders of blocks (context->block_rows says how many records "
           "come at once, never which), and what apply() keeps from one to the next";
}

levada_conform_verdict levada_conform_alike(levada_conform *c)
{
    /* The first one is how `want` was made. */
    static const int32_t how[][2]
        = { { 1, 256 }, { 1, 1 }, { 1, 7 }, { 2, 256 }, { 2, 1 }, { 2, 7 }, { 4, 256 },
            { 4, 1 },   { 4, 7 } };
    int32_t                n = (int32_t)(sizeof how / sizeof how[0]);
    levada_conform_verdict verdict = levada_conform_prepare(c);

    for (int32_t i = 0; verdict == LEVADA_CONFORM_GOOD && i < n; i++) {
        levada_conform_rows got = { .batches = c->want.batches };
        levada_error        err = LEVADA_ERROR_INIT;
        levada_status       st = conform_all(c, how[i][0], how[i][1], &got, &err);
        char                call[64], text[512];

        (void)snprintf(call, sizeof call, "threads=%d block_rows=%d%s", how[i][0], how[i][1],
                       i == 0 ? " for the second time" : "");
        if (st != LEVADA_END) {
            verdict = levada_conform_failed(c, call, &err);
        } else if (levada_conform_rows_differ(&c->want, &got, text, sizeof text)) {
            verdict = levada_conform_broken(c, "%s: %s", call, text);
        }
        if (verdict == LEVADA_CONFORM_BAD) {
            levada_conform_look(c, conform_alike_where(i, how[i][0]));
        }
        levada_conform_rows_clear(&got);
    }
    c->unsteady = verdict != LEVADA_CONFORM_GOOD;
    (void)snprintf(c->note, sizeof c->note, "%lld %s, %d settings", (long long)c->want.n,
                   c->want.batches ? "batches" : "records", (int)n);
    return verdict;
}

/* -- all of them */

static levada_conform_verdict conform_cuts_all(levada_conform *c)
{
    return levada_conform_cuts(c, 0);
}

const levada_conform_check levada_conform_checks[] = {
    { "alike", "yields the same records at any block size and number of threads",
      levada_conform_alike },
    { "save", "continues after a save at every cut", conform_cuts_all },
    { "cancel", "is cancelled at every step and while it runs, and saved then",
      levada_conform_cancel },
    { "memory", "survives that memory runs out", levada_conform_memory },
    { "limits", "refuses options beyond their limits", levada_conform_limits },
    { "traits", "does to records what its traits declare", levada_conform_traits },
    { NULL, NULL, NULL },
};
