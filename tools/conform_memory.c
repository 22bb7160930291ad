/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The conformance suite: each allocation of a run fails in turn. The run succeeds all the same, or
 * says ERESOURCE_EXHAUSTED; it loses no memory and no record.
 */
#include "conform.h"

#include <stdio.h>

#define CONFORM_MEMORY_EACH 200 /* allocations of a run that fail one by one, later ones in steps */

/* A combiner returns the records before a failure first. If records were lost by that, a save
 * fails, and a later call says why. */
static levada_status conform_memory_save(levada_iter *it, char **bytes, size_t *size,
                                         levada_error *err)
{
    levada_block *block = NULL;
    levada_status st = levada_iter_save(it, bytes, size, err), why = LEVADA_OK;

    if (st != LEVADA_EFAILED_PRECONDITION) return st;
    while (why == LEVADA_OK) {
        why = levada_iter_next(it, &block, err);
        levada_block_unref(&block);
    }
    return why < 0 ? why : st;
}

/* Opens, reads a block, saves, restores into another one, reads the rest. */
static levada_status conform_memory_run(const levada_conform *c, levada_env *env,
                                        levada_conform_rows *got, levada_error *err)
{
    levada_iter  *it = NULL, *other = NULL;
    char         *bytes = NULL;
    size_t        size = 0;
    levada_status st = levada_conform_open(c, env, 1, 4, &it, err);

    if (st == LEVADA_OK) st = levada_conform_read(it, 1, got, err);
    if (st >= 0) st = conform_memory_save(it, &bytes, &size, err);
    if (st == LEVADA_OK) st = levada_conform_open(c, env, 1, 4, &other, err);
    if (st == LEVADA_OK) st = levada_iter_restore(other, bytes, size, err);
    if (st == LEVADA_OK) st = levada_conform_read(other, -1, got, err);
    levada_iter_close(&it);
    levada_iter_close(&other);
    levada_string_free(&bytes);
    return st;
}

static levada_conform_verdict conform_memory_judge(levada_conform *c, levada_status st,
                                                   bool reached, const levada_conform_rows *got,
                                                   const levada_error *err)
{
    char text[512];

    levada_conform_look(c, "what is done with the status of calls, and with NULL from "
                           "levada_alloc(): pass errors on, and keep the state for the next call");
    if (st < 0 && (!reached || st != LEVADA_ERESOURCE_EXHAUSTED)) {
        return levada_conform_broken(c, "%s in place of ERESOURCE_EXHAUSTED: %s",
                                     levada_status_name(st), err->message);
    }
    if (st < 0 && err->code != st) {
        return levada_conform_broken(c, "%s, but the error says %s: levada_fail() fills it in",
                                     levada_status_name(st), levada_status_name(err->code));
    }
    if (st == LEVADA_END && !c->unsteady
        && levada_conform_rows_differ(&c->want, got, text, sizeof text)) {
        return levada_conform_broken(c, "no error, but %s", text);
    }
    levada_conform_look(c, "");
    return LEVADA_CONFORM_GOOD;
}

/* *reached: there were more allocations than that. */
static levada_conform_verdict conform_memory_one(levada_conform *c, int64_t number, bool *reached)
{
    const levada_conform_faults *faults = c->faults;
    levada_conform_rows          got = { .batches = c->want.batches };
    int64_t                      before = faults->live(faults->user), lost;
    levada_env                  *env = NULL;
    levada_error                 err = LEVADA_ERROR_INIT;
    levada_conform_verdict       verdict;
    levada_status                st;
    char                         what[512];

    if (faults->open(faults->user, &env, &err) != LEVADA_OK) {
        return levada_conform_failed(c, "making an environment", &err);
    }
    faults->arm(faults->user, number);
    st = conform_memory_run(c, env, &got, &err);
    *reached = faults->disarm(faults->user) > number;
    verdict = conform_memory_judge(c, st, *reached, &got, &err);
    levada_conform_rows_clear(&got);
    levada_env_destroy(&env);
    lost = faults->live(faults->user) - before;
    if (verdict == LEVADA_CONFORM_GOOD && lost != 0) {
        levada_conform_look(c, "what is taken and not given back: blocks and builders on the way "
                               "out of a hook, memory in close()");
        verdict = levada_conform_broken(c, "%lld allocations were not given back",
                                        (long long)lost);
    }
    if (verdict == LEVADA_CONFORM_BAD && *reached) {
        (void)snprintf(what, sizeof what, "%.500s", c->what);
        verdict = levada_conform_broken(c, "allocation %lld failed: %s", (long long)number, what);
    }
    return verdict;
}

levada_conform_verdict levada_conform_memory(levada_conform *c)
{
    levada_conform_verdict verdict = levada_conform_prepare(c);
    bool                   reached = c->faults != NULL;
    int64_t                number = 0, done = 0;

    if (verdict == LEVADA_CONFORM_GOOD && reached) { /* first with all the memory that it wants */
        verdict = conform_memory_one(c, INT64_MAX, &reached);
        reached = true;
    }
    for (; verdict == LEVADA_CONFORM_GOOD && reached; done++) {
        verdict = conform_memory_one(c, number, &reached);
        /* The beginnings are alike everywhere: the rest in larger steps. */
        number += number < CONFORM_MEMORY_EACH ? 1 : 1 + number / 16;
    }
    (void)snprintf(c->note, sizeof c->note, "%lld runs", (long long)done);
    return verdict;
}
