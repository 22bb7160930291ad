/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The conformance suite: a state that is saved after any block and restored into another iterator
 * continues with exactly the rest.
 */
#include "conform.h"

#include <stdio.h>
#include <string.h>

#define CONFORM_CUTS_MOST 256 /* of a setting; examples with more blocks are cut less often */

/* How it is saved, and how it continues; and the cut: after a number of blocks and units. */
typedef struct conform_cuts_how {
    int32_t threads, block_rows, other_threads, other_rows;
    int64_t cut, units;
} conform_cuts_how;

typedef struct conform_cuts_state {
    char  *at;
    size_t size;
} conform_cuts_state;

static levada_conform_verdict conform_cuts_broken(levada_conform *c, const conform_cuts_how *how,
                                                  const char *what)
{
    levada_conform_look(c, c->format
                               ? "next(): a call must depend only on the offset and the bytes; "
                                 "headers that differ in length need frames = true and frame[i]"
                               : "save() and restore(): both must hold everything that next() "
                                 "changes; restore() may get a state that has already run");
    return levada_conform_broken(c,
                                 "saved after %lld %s (threads=%d block_rows=%d), restored with "
                                 "threads=%d block_rows=%d: %s",
                                 (long long)how->units, c->want.batches ? "batches" : "records",
                                 how->threads, how->block_rows, how->other_threads,
                                 how->other_rows, what);
}

/* Checks that a restored iterator saves itself as it was. Only with one thread is the position
 * exact to the record. */
static levada_conform_verdict conform_cuts_again(levada_conform *c, const conform_cuts_how *how,
                                                 levada_iter *other,
                                                 const conform_cuts_state *state)
{
    conform_cuts_state     again = { NULL, 0 };
    levada_error           err = LEVADA_ERROR_INIT;
    levada_conform_verdict verdict = LEVADA_CONFORM_GOOD;
    size_t                 at = 0;
    char                   text[640];

    if (how->threads != 1 || how->other_threads != 1) return LEVADA_CONFORM_GOOD;
    if (levada_iter_save(other, &again.at, &again.size, &err) != LEVADA_OK) {
        return conform_cuts_broken(c, how, levada_error_text(&err, text, sizeof text));
    }
    while (at < state->size && at < again.size && state->at[at] == again.at[at]) at++;
    if (at < state->size || at < again.size) {
        (void)snprintf(text, sizeof text,
                       "saved again at once it is another state (%zu and %zu bytes, different from "
                       "byte %zu on)",
                       state->size, again.size, at);
        verdict = conform_cuts_broken(c, how, text);
    }
    levada_string_free(&again.at);
    return verdict;
}

static levada_conform_verdict conform_cuts_rest(levada_conform *c, const conform_cuts_how *how,
                                                const conform_cuts_state *state,
                                                levada_iter *other, levada_conform_rows *got)
{
    levada_error           err = LEVADA_ERROR_INIT;
    levada_conform_verdict again;
    char                   text[640];

    if (levada_iter_restore(other, state->at, state->size, &err) != LEVADA_OK) {
        return conform_cuts_broken(c, how, levada_error_text(&err, text, sizeof text));
    }
    again = conform_cuts_again(c, how, other, state);
    if (levada_conform_read(other, -1, got, &err) != LEVADA_END) {
        return conform_cuts_broken(c, how, levada_error_text(&err, text, sizeof text));
    }
    if (!levada_conform_rows_differ(&c->want, got, text, sizeof text)) return again;
    return conform_cuts_broken(c, how, text); /* says more than bytes of a state */
}

/* `used`: the iterator that continues has read a block of its own before. */
static levada_conform_verdict conform_cuts_one(levada_conform *c, conform_cuts_how *how,
                                               bool used)
{
    levada_conform_rows    got = { .batches = c->want.batches }, own = got;
    levada_iter           *it = NULL, *other = NULL;
    conform_cuts_state     state = { NULL, 0 };
    levada_error           err = LEVADA_ERROR_INIT;
    levada_conform_verdict verdict;
    char                   text[640];
    levada_status st = levada_conform_open(c, c->env, how->threads, how->block_rows, &it, &err);

    if (st == LEVADA_OK) st = levada_conform_read(it, how->cut, &got, &err);
    how->units = got.n;
    if (st >= 0) st = levada_iter_save(it, &state.at, &state.size, &err);
    if (st == LEVADA_OK) {
        st = levada_conform_open(c, c->env, how->other_threads, how->other_rows, &other, &err);
    }
    if (st == LEVADA_OK && used) st = levada_conform_read(other, 1, &own, &err);
    if (st < 0) {
        verdict = conform_cuts_broken(c, how, levada_error_text(&err, text, sizeof text));
    } else {
        verdict = conform_cuts_rest(c, how, &state, other, &got);
    }
    levada_conform_rows_clear(&got);
    levada_conform_rows_clear(&own);
    levada_string_free(&state.at);
    levada_iter_close(&it);
    levada_iter_close(&other);
    return verdict;
}

static levada_conform_verdict conform_cuts_blocks(levada_conform *c, const conform_cuts_how *how,
                                                  int64_t *out)
{
    levada_error  err = LEVADA_ERROR_INIT;
    levada_iter  *it = NULL;
    levada_status st = levada_conform_open(c, c->env, how->threads, how->block_rows, &it, &err);

    *out = 0;
    while (st == LEVADA_OK) {
        levada_block *block = NULL;

        st = levada_iter_next(it, &block, &err);
        if (st == LEVADA_OK) ++*out;
        levada_block_unref(&block);
    }
    levada_iter_close(&it);
    return st < 0 ? levada_conform_failed(c, "before any save", &err) : LEVADA_CONFORM_GOOD;
}

levada_conform_verdict levada_conform_cuts(levada_conform *c, int64_t step)
{
    conform_cuts_how how[] = { { 1, 7, 1, 7, 0, 0 }, { 1, 7, 4, 16, 0, 0 }, { 2, 5, 1, 3, 0, 0 },
                               { 4, 7, 2, 7, 0, 0 }, { 1, 1, 1, 1, 0, 0 } };
    int32_t          n = (int32_t)(sizeof how / sizeof how[0]) - (step > 0 ? 1 : 0);
    int64_t                blocks = 0, done = 0;
    levada_conform_verdict verdict = levada_conform_prepare(c);

    if (verdict == LEVADA_CONFORM_GOOD && c->unsteady) {
        (void)levada_conform_broken(c, "two runs without a save differ already");
        return LEVADA_CONFORM_SKIPPED;
    }
    for (int32_t i = 0; verdict == LEVADA_CONFORM_GOOD && i < n; i++) {
        verdict = conform_cuts_blocks(c, &how[i], &blocks);
        for (; verdict == LEVADA_CONFORM_GOOD && how[i].cut <= blocks; done++) {
            verdict = conform_cuts_one(c, &how[i], how[i].block_rows == 1);
            how[i].cut += step > 0 ? step : 1 + blocks / CONFORM_CUTS_MOST;
        }
    }
    c->unsteady = verdict != LEVADA_CONFORM_GOOD;
    (void)snprintf(c->note, sizeof c->note, "%lld cuts", (long long)done);
    return verdict;
}
