/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The conformance suite: cancelling between two calls, and from another thread while one runs.
 */
#include "conform.h"
#include <levada/coordinator.h>

#include <stdlib.h>

#define CONFORM_CANCEL_STEPS 40
#define CONFORM_CANCEL_SOON INT64_C(1000000000) /* nanoseconds that it may take to stop */
#define CONFORM_CANCEL_NEVER INT64_C(9000000000) /* more: it is taken for one that hangs */

static levada_conform_verdict conform_cancel_late(levada_conform *c, int32_t threads,
                                                  const char *what)
{
    levada_conform_look(c, "next(), apply() or decode(): what takes long looks at "
                           "levada_context_cancelled() now and then, what waits is woken by the "
                           "hook cancel()");
    return levada_conform_broken(c, "threads=%d: %s", threads, what);
}

/* Cancelled after so many blocks: then it says so each time. */
static levada_conform_verdict conform_cancel_between(levada_conform *c, int64_t blocks,
                                                     int32_t threads)
{
    levada_conform_rows    rows = { .batches = c->want.batches };
    levada_iter           *it = NULL;
    levada_error           err = LEVADA_ERROR_INIT;
    levada_conform_verdict verdict = LEVADA_CONFORM_GOOD;
    levada_status          st = levada_conform_open(c, c->env, threads, 1, &it, &err);

    if (st == LEVADA_OK) st = levada_conform_read(it, blocks, &rows, &err);
    if (st < 0) verdict = levada_conform_failed(c, "before cancelling", &err);
    for (int i = 0; st == LEVADA_OK && verdict == LEVADA_CONFORM_GOOD && i < 2; i++) {
        levada_block *block = NULL;
        levada_status after;

        levada_iter_cancel(it);
        after = levada_iter_next(it, &block, &err);
        levada_block_unref(&block);
        if (after != LEVADA_ECANCELLED) {
            verdict = levada_conform_broken(c, "cancelled after %lld blocks (threads=%d): %s",
                                            (long long)blocks, threads, levada_status_name(after));
        }
    }
    levada_conform_rows_clear(&rows);
    levada_iter_close(&it);
    return verdict;
}

/* An iterator that other threads read and close: on the heap, as one of them may not come back. */
typedef struct conform_cancel_run {
    levada_coordinator *reading, *closing;
    levada_iter        *it;
} conform_cancel_run;

/* Its end, whatever it is, is the stop that the caller waits for. */
static levada_status conform_cancel_reads(levada_coordinator *coordinator, void *user,
                                          levada_error *err)
{
    conform_cancel_run *run = user;
    levada_status       st = LEVADA_OK;

    (void)coordinator;
    while (st == LEVADA_OK) {
        levada_block *block = NULL;

        st = levada_iter_next(run->it, &block, err);
        levada_block_unref(&block);
    }
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

/* Whether the thread ended soon; where it did not, *soon = false and a last chance is given. */
static bool conform_cancel_ends(levada_coordinator *coordinator, bool *soon)
{
    if (levada_coordinator_wait_for_stop(coordinator, CONFORM_CANCEL_SOON)) return true;
    *soon = false;
    return levada_coordinator_wait_for_stop(coordinator, CONFORM_CANCEL_NEVER);
}

/* False when a thread hangs: then nothing of the run can be given back. */
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

/* Cancelled `delay` nanoseconds after reading began. */
static levada_conform_verdict conform_cancel_while(levada_conform *c, int64_t delay,
                                                   int32_t threads)
{
    conform_cancel_run *run = calloc(1, sizeof *run);
    levada_error        err = LEVADA_ERROR_INIT;
    bool                soon = true;
    levada_status       st;

    if (!run) return levada_conform_broken(c, "out of memory");
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
    free(run);
    if (st != LEVADA_OK) return levada_conform_failed(c, "cancelled while it ran", &err);
    if (soon) return LEVADA_CONFORM_GOOD;
    return conform_cancel_late(c, threads, "it went on for more than 1 s after cancel");
}

levada_conform_verdict levada_conform_cancel(levada_conform *c)
{
    static const int64_t   delays[] = { 0, 200000, 2000000, 20000000 };
    static const int32_t   threads[] = { 1, 4 };
    levada_conform_verdict verdict = levada_conform_prepare(c);

    for (int32_t i = 0; verdict == LEVADA_CONFORM_GOOD && i < 8; i++) {
        verdict = conform_cancel_while(c, delays[i / 2], threads[i % 2]);
    }
    for (int64_t i = 0; verdict == LEVADA_CONFORM_GOOD && i < CONFORM_CANCEL_STEPS; i++) {
        verdict = conform_cancel_between(c, i, 1);
        if (verdict == LEVADA_CONFORM_GOOD) verdict = conform_cancel_between(c, i, 4);
    }
    return verdict;
}
