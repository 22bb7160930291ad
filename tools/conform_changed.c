/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The conformance suite: a file changes between a save and a restore. The restore is refused, or it
 * continues as a run over the changed file does. A mixture of both versions is never delivered.
 */
#include "conform.h"

#include <levada/stage.h>
#include <stdio.h>
#include <string.h>

enum { CHANGED_ROWS = 3, CHANGED_CUTS = 48 }; /* records in a block; cuts of a setting */

/* One change, and a position: after n blocks, the last one of them up to a row. */
typedef struct changed_case {
    levada_conform            *c;
    int32_t                    which, how, threads, other_threads;
    int64_t                    cut;
    bool                       within; /* half of the last block was delivered */
    const levada_conform_rows *want;   /* of a run over the changed file       */
} changed_case;

typedef struct changed_state {
    char  *at;
    size_t size;
} changed_state;

static levada_conform_verdict changed_broken(const changed_case *x, const char *what)
{
    levada_conform_look(x->c, "restore(): a state names the files that it was read from, and what "
                              "they were");
    return levada_conform_broken(x->c,
                                 "saved after %lld blocks%s (threads=%d), file %d changed in way "
                                 "%d, restored with threads=%d: %s",
                                 (long long)x->cut, x->within ? " less half of the last one" : "",
                                 x->threads, x->which, x->how, x->other_threads, what);
}

/* The first half of a block, and the position after it. */
static levada_status changed_save_within(levada_iter *it, const levada_block *block,
                                         levada_conform_rows *to, changed_state *state,
                                         levada_error *err)
{
    int64_t       half = levada_block_rows(block) / 2;
    levada_cursor cursor = { .block = levada_block_ref(block) };
    levada_block *head = NULL;
    levada_status st = LEVADA_OK;

    if (half > 0) st = levada_cursor_take(&cursor, half, &head, err);
    if (head) levada_conform_rows_add(to, head);
    levada_block_unref(&head);
    levada_cursor_clear(&cursor);
    return st == LEVADA_OK ? levada_iter_save_at(it, block, half, &state->at, &state->size, err)
                           : st;
}

/* Reads up to the cut and saves there. */
static levada_status changed_save(const changed_case *x, levada_conform_rows *to,
                                  changed_state *state, levada_error *err)
{
    levada_iter  *it = NULL;
    levada_block *block = NULL;
    levada_status st;

    LEVADA_TRY(levada_conform_open(x->c, x->c->env, x->threads, CHANGED_ROWS, &it, err));
    st = levada_conform_read(it, x->cut - x->within, to, err);
    if (st == LEVADA_OK && x->within) st = levada_iter_next(it, &block, err);
    if (st == LEVADA_OK && block) st = changed_save_within(it, block, to, state, err);
    else if (st >= 0) st = levada_iter_save(it, &state->at, &state->size, err);
    levada_block_unref(&block);
    levada_iter_close(&it);
    return st;
}

/* Over the changed file. */
static levada_conform_verdict changed_restore(const changed_case *x, const changed_state *state,
                                              levada_conform_rows *got)
{
    levada_error           err = LEVADA_ERROR_INIT;
    levada_iter           *it = NULL;
    levada_conform_verdict verdict = LEVADA_CONFORM_GOOD;
    char                   text[640];
    levada_status          st;

    st = levada_conform_open(x->c, x->c->env, x->other_threads, CHANGED_ROWS, &it, &err);
    if (st == LEVADA_OK) st = levada_iter_restore(it, state->at, state->size, &err);
    if (st == LEVADA_OK) {
        st = levada_conform_read(it, -1, got, &err);
        if (st != LEVADA_END) {
            verdict = changed_broken(x, levada_error_text(&err, text, sizeof text));
        } else if (levada_conform_rows_differ(x->want, got, text, sizeof text)) {
            verdict = changed_broken(x, text);
        }
    } else if (st != LEVADA_EFAILED_PRECONDITION || !err.file[0]) {
        verdict = changed_broken(x, levada_error_text(&err, text, sizeof text));
    }
    levada_iter_close(&it);
    return verdict;
}

static levada_conform_verdict changed_one(const changed_case *x)
{
    const levada_conform_files *files = x->c->files;
    levada_conform_rows         got = { .batches = x->c->want.batches };
    changed_state               state = { NULL, 0 };
    levada_error                err = LEVADA_ERROR_INIT;
    levada_conform_verdict      verdict;
    char                        text[640];

    if (changed_save(x, &got, &state, &err) < 0) {
        verdict = changed_broken(x, levada_error_text(&err, text, sizeof text));
    } else {
        (void)files->change(files->user, x->which, x->how);
        verdict = changed_restore(x, &state, &got);
        files->undo(files->user, x->which);
    }
    levada_conform_rows_clear(&got);
    levada_string_free(&state.at);
    return verdict;
}

static int64_t changed_blocks(const levada_conform *c)
{
    levada_iter  *it = NULL;
    levada_block *block = NULL;
    int64_t       n = 0;

    if (levada_conform_open(c, c->env, 1, CHANGED_ROWS, &it, NULL) != LEVADA_OK) return 0;
    for (; levada_iter_next(it, &block, NULL) == LEVADA_OK; n++) levada_block_unref(&block);
    levada_iter_close(&it);
    return n;
}

/* Every cut, with each of the numbers of threads. */
static levada_conform_verdict changed_cuts(changed_case *x, int64_t *done)
{
    static const int32_t   threads[][2] = { { 1, 1 }, { 2, 1 }, { 4, 2 } };
    int64_t                blocks = changed_blocks(x->c);
    levada_conform_verdict verdict = LEVADA_CONFORM_GOOD;

    for (size_t i = 0; i < sizeof threads / sizeof threads[0]; i++) {
        x->threads = threads[i][0];
        x->other_threads = threads[i][1];
        for (x->cut = 0; x->cut <= blocks; x->cut += 1 + blocks / CHANGED_CUTS) {
            bool records = !x->c->want.batches && x->cut > 0;

            x->within = false;
            if (verdict == LEVADA_CONFORM_GOOD) verdict = changed_one(x);
            x->within = true;
            if (verdict == LEVADA_CONFORM_GOOD && records) verdict = changed_one(x);
            *done += 1 + records;
        }
    }
    return verdict;
}

/* One change: nothing is tried where the example does not read the file. */
static levada_conform_verdict changed_way(changed_case *x, int64_t *done)
{
    const levada_conform_files *files = x->c->files;
    levada_conform_rows         want = { .batches = x->c->want.batches };
    levada_iter                *it = NULL;
    levada_error                err = LEVADA_ERROR_INIT;
    levada_conform_verdict      verdict = LEVADA_CONFORM_GOOD;
    levada_status               st;
    char                        text[640];

    st = levada_conform_open(x->c, x->c->env, 1, CHANGED_ROWS, &it, &err);
    if (st == LEVADA_OK) st = levada_conform_read(it, -1, &want, &err);
    levada_iter_close(&it);
    files->undo(files->user, x->which);
    x->want = &want;
    if (st != LEVADA_END) {
        verdict = levada_conform_failed(x->c, "over a changed file", &err);
    } else if (levada_conform_rows_differ(&x->c->want, &want, text, sizeof text)) {
        verdict = changed_cuts(x, done);
    }
    levada_conform_rows_clear(&want);
    return verdict;
}

levada_conform_verdict levada_conform_changed(levada_conform *c)
{
    changed_case           x = { .c = c };
    int64_t                done = 0;
    levada_conform_verdict verdict = levada_conform_prepare(c);

    if (verdict == LEVADA_CONFORM_GOOD && !c->files) return LEVADA_CONFORM_SKIPPED;
    for (; verdict == LEVADA_CONFORM_GOOD && c->files->change(c->files->user, x.which, 0);
         x.which++) {
        for (x.how = 0; verdict == LEVADA_CONFORM_GOOD &&
                        c->files->change(c->files->user, x.which, x.how);
             x.how++) {
            verdict = changed_way(&x, &done);
        }
        c->files->undo(c->files->user, x.which);
    }
    (void)snprintf(c->note, sizeof c->note, "%lld cuts", (long long)done);
    return verdict;
}
