/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The conformance suite: cancelling between two calls, and from another thread while one runs; and
 * that a state saved then loses no record and repeats none.
 */
#include "conform.h"
#include <levada/coordinator.h>

#include <stdio.h>
#include <stdlib.h>

#define CONFORM_CANCEL_STEPS 40
#define CONFORM_CANCEL_SOON INT64_C(3000000000) /* nanoseconds that it may take to stop */
#define CONFORM_CANCEL_NEVER INT64_C(9000000000) /* more: it is taken for one that hangs */

static levada_conform_verdict conform_cancel_late(levada_conform *c, int32_t threads,
                                                  const char *what)
{
    levada_conform_look(c, "next(), apply() or decode(): what takes long looks at "
                           "levada_context_cancelled() now and then, what waits is woken by the "
                           "hook cancel()");
    return levada_conform_broken(c, "threads=%d: %s", threads, what);
}

/* -- what is saved then */

/* Saved after a cancel, and what was returned before it. */
typedef struct conform_cancel_state {
    levada_conform_rows got; /* begins with `batches` */
    levada_status       st;
    char               *at;
    size_t              size;
    levada_error        why;
} conform_cancel_state;

static void conform_cancel_save(levada_iter *it, conform_cancel_state *state)
{
    state->st = levada_iter_save(it, &state->at, &state->size, &state->why);
}

static void conform_cancel_clear(conform_cancel_state *state)
{
    levada_conform_rows_clear(&state->got);
    levada_string_free(&state->at);
}

/* If records may be lost, a save is refused; the check of saves reports names that cannot be saved
 * at all. */
static bool conform_cancel_refused(levada_status st)
{
    return st == LEVADA_EFAILED_PRECONDITION || st == LEVADA_ECANCELLED
        || st == LEVADA_EUNIMPLEMENTED;
}

static levada_status conform_cancel_restore(const levada_conform *c, conform_cancel_state *state,
                                            levada_error *err)
{
    levada_iter  *it = NULL;
    levada_status st = levada_conform_open(c, c->env, 1, 7, &it, err);

    if (st == LEVADA_OK) st = levada_iter_restore(it, state->at, state->size, err);
    if (st == LEVADA_OK) st = levada_conform_read(it, -1, &state->got, err);
    levada_iter_close(&it);
    return st;
}

/* Checks that another iterator continues with exactly the rest. */
static levada_conform_verdict conform_cancel_rest(levada_conform *c, conform_cancel_state *state,
                                                  const char *when)
{
    levada_error  err = LEVADA_ERROR_INIT;
    levada_status st = state->st;
    char          text[512];

    if (c->unsteady || conform_cancel_refused(st)) return LEVADA_CONFORM_GOOD;
    if (st == LEVADA_OK) st = conform_cancel_restore(c, state, &err);
    else err = state->why;
    if (st != LEVADA_END) (void)levada_error_text(&err, text, sizeof text);
    else if (!levada_conform_rows_differ(&c->want, &state->got, text, sizeof text))
        return LEVADA_CONFORM_GOOD;
    levada_conform_look(c, "what next() does once it is cancelled: LEVADA_ECANCELLED, never the "
                           "end, where it stops half-way (records that it had are lost then, and "
                           "a save is refused); and cancel(), which only wakes");
    return levada_conform_broken(c, "%s, then saved and restored: %s", when, text);
}

/* -- between two calls */

/* Cancelled after n blocks: then each call returns it. */
static levada_conform_verdict conform_cancel_between(levada_conform *c, int64_t blocks,
                                                     int32_t threads)
{
    conform_cancel_state   state = { .got = { .batches = c->want.batches } };
    levada_iter           *it = NULL;
    levada_error           err = LEVADA_ERROR_INIT;
    levada_conform_verdict verdict = LEVADA_CONFORM_GOOD;
    levada_status          st = levada_conform_open(c, c->env, threads, 1, &it, &err);
    char                   when[64];

    (void)snprintf(when, sizeof when, "cancelled after %lld blocks (threads=%d)",
                   (long long)blocks, threads);
    if (st == LEVADA_OK) st = levada_conform_read(it, blocks, &state.got, &err);
    if (st < 0) verdict = levada_conform_failed(c, "before cancelling", &err);
    for (int i = 0; st == LEVADA_OK && verdict == LEVADA_CONFORM_GOOD && i < 2; i++) {
        levada_block *block = NULL;
        levada_status after;

        levada_iter_cancel(it);
        after = levada_iter_next(it, &block, &err);
        levada_block_unref(&block);
        if (after != LEVADA_ECANCELLED) {
            verdict = levada_conform_broken(c, "%s: %s", when, levada_status_name(after));
        }
    }
    if (st == LEVADA_OK && verdict == LEVADA_CONFORM_GOOD) {
        conform_cancel_save(it, &state);
        verdict = conform_cancel_rest(c, &state, when);
    }
    conform_cancel_clear(&state);
    levada_iter_close(&it);
    return verdict;
}

/* -- while a call runs */

/* An iterator that other threads read and close: on the heap, as one of them may not come back. */
typedef struct conform_cancel_run {
    levada_coordinator  *reading, *closing;
    levada_iter         *it;
    conform_cancel_state state;
} conform_cancel_run;

/* Reads to the end, which is the stop that the caller waits for, whatever it is. */
static levada_status conform_cancel_reads(levada_coordinator *coordinator, void *user,
                                          levada_error *err)
{
    conform_cancel_run *run = user;
    levada_status       st = levada_conform_read(run->it, -1, &run->state.got, err);

    (void)coordinator;
    conform_cancel_save(run->it, &run->state);
    return st == LEVADA_END ? levada_fail(err, LEVADA_EOUT_OF_RANGE, "the end") : st;
}

/* Closing joins the workers, which may be in the plug-in still. */
static levada_status conform_cancel_closes(levada_coordinator *coordinator, void *user,
                                           levada_error *err)
{
    (void)coordinator;
    levada_iter_close(&((conform_cancel_run *)user)->it);
    return levada_fail(err, LEVADA_EOUT_OF_RANGE, "closed");
}

/* Returns true if the thread ended soon; where it did not, *soon = false and a last chance is
 * given. */
static bool conform_cancel_ends(levada_coordinator *coordinator, bool *soon)
{
    if (levada_coordinator_wait_for_stop(coordinator, CONFORM_CANCEL_SOON)) return true;
    *soon = false;
    return levada_coordinator_wait_for_stop(coordinator, CONFORM_CANCEL_NEVER);
}

/* Returns false if a thread hangs: then nothing of the run can be given back. */
static bool conform_cancel_through(conform_cancel_run *run, int64_t delay, bool *soon,
                                   levada_status *st, levada_error *err)
{
    *st = levada_coordinator_start_thread(run->reading, "reader", conform_cancel_reads, run, err);
    if (*st != LEVADA_OK) return true;
    (void)levada_coordinator_wait_for_stop(run->reading, delay);
    levada_iter_cancel(run->it);
    if (!conform_cancel_ends(run->reading, soon)) return false;
    *st = levada_coordinator_join(run->reading, LEVADA_FOREVER, false, err);
    if (*st == LEVADA_ECANCELLED) *st = LEVADA_OK;
    if (*st == LEVADA_OK) {
        *st = levada_coordinator_start_thread(run->closing, "closer", conform_cancel_closes, run,
                                              err);
    }
    return *st != LEVADA_OK || conform_cancel_ends(run->closing, soon);
}

/* Cancelled `delay` nanoseconds after reading began, where it takes that long. */
static levada_conform_verdict conform_cancel_while(levada_conform *c, int64_t delay,
                                                   int32_t threads)
{
    conform_cancel_run    *run = calloc(1, sizeof *run);
    levada_error           err = LEVADA_ERROR_INIT;
    levada_conform_verdict verdict;
    bool                   soon = true;
    levada_status          st;
    char                   when[64];

    if (!run) return levada_conform_broken(c, "out of memory");
    run->state.got.batches = c->want.batches;
    st = levada_conform_open(c, c->env, threads, 7, &run->it, &err);
    if (st == LEVADA_OK) st = levada_coordinator_create(c->env, NULL, 0, &run->reading, &err);
    if (st == LEVADA_OK) st = levada_coordinator_create(c->env, NULL, 0, &run->closing, &err);
    if (st == LEVADA_OK && !conform_cancel_through(run, delay, &soon, &st, &err)) {
        c->stuck = true;
        return conform_cancel_late(c, threads, "it hangs: 10 s after cancel it has not come back");
    }
    levada_coordinator_destroy(&run->reading);
    levada_coordinator_destroy(&run->closing);
    levada_iter_close(&run->it);
    (void)snprintf(when, sizeof when, "threads=%d: cancelled while it ran", threads);
    if (st != LEVADA_OK) verdict = levada_conform_failed(c, "cancelled while it ran", &err);
    else if (soon) verdict = conform_cancel_rest(c, &run->state, when);
    else verdict = conform_cancel_late(c, threads, "it went on for more than 3 s after cancel");
    conform_cancel_clear(&run->state);
    free(run);
    return verdict;
}

#define CONFORM_CANCEL_TRIES 10 /* each delay with each number of threads */

levada_conform_verdict levada_conform_cancel(levada_conform *c)
{
    static const int64_t   delays[] = { 0, 200000, 2000000, 20000000, 500000000 };
    static const int32_t   threads[] = { 1, 4 };
    levada_conform_verdict verdict = levada_conform_prepare(c);

    for (int32_t i = 0; verdict == LEVADA_CONFORM_GOOD && i < CONFORM_CANCEL_TRIES; i++) {
        verdict = conform_cancel_while(c, delays[i / 2], threads[i % 2]);
    }
    for (int64_t i = 0; verdict == LEVADA_CONFORM_GOOD && i < CONFORM_CANCEL_STEPS; i++) {
        verdict = conform_cancel_between(c, i, 1);
        if (verdict == LEVADA_CONFORM_GOOD) verdict = conform_cancel_between(c, i, 4);
    }
    return verdict;
}
