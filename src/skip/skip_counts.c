/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was left out, counted against the budget in the order of records. Each place (a source, a
 * run of stages, a SERIAL stage) counts by itself; the counts and the first causes are part of the
 * state.
 */
#include "base/alloc.h"
#include "base/assert.h"
#include "base/text.h"
#include "run/node.h"
#include "run/plan.h"
#include "tensor/block_priv.h"

#include <string.h>

levada_skip_counts *levada_node_skips(levada_node *it) { return it->outer ? it->outer
                                                        : &it->skips; }

void levada_node_report_emitted(levada_node *it, int64_t given)
{
    if (!it->outer) atomic_store(&it->skips.given, given);
}

int64_t levada_node_emitted(const levada_node *it) { return atomic_load(&it->skips.given); }

/* -- the first causes, in the order in which they came */

static levada_note *skip_counts_reserve_locked(levada_run *run)
{
    if (!run->notes) run->notes = levada_alloc(LEVADA_RUN_NOTES * sizeof *run->notes);
    return run->notes && run->noted < LEVADA_RUN_NOTES ? &run->notes[run->noted++] : NULL;
}

void levada_run_note(levada_run *run, const levada_skip_counts *of, const char *path,
                     const levada_error *why)
{
    levada_note *note;

    levada_mutex_lock(&run->noting);
    note = skip_counts_reserve_locked(run);
    if (note) {
        *note = (levada_note){ .why = *why, .of = of, .number = run->note_number++ };
        levada_error_place(&note->why, path, NULL, -1, -1);
    }
    levada_mutex_unlock(&run->noting);
}

/* One that was saved takes the place of its number. */
static void skip_counts_insert(levada_run *run, const levada_note *saved)
{
    levada_note *last, *at;

    levada_mutex_lock(&run->noting);
    last = skip_counts_reserve_locked(run);
    for (at = last; at && at > run->notes && at[-1].number > saved->number; at--) *at = at[-1];
    if (at) *at = *saved;
    if (run->note_number <= saved->number) run->note_number = saved->number + 1;
    levada_mutex_unlock(&run->noting);
}

/* -- counting */

/* Good and bad ones up to a bad one that its place comes to as number `seen`. In a pipe of a
 * combiner the records that the combiner gave and those that were left out: what a pipe has read
 * ahead depends on the size of blocks. */
static int64_t skip_counts_records(const levada_node *it, const levada_skip_counts *t, int64_t seen)
{
    if (!it || !it->outer) return seen;
    return atomic_load(&t->given) + atomic_load(&t->bad) + 1;
}

levada_status levada_node_settle(levada_node *it, int64_t records, levada_block **made,
                                 levada_error *err)
{
    levada_skip_counts *t = levada_node_skips(it);
    levada_block *block = *made;
    int64_t       seen = atomic_fetch_add_explicit(&t->seen, records, memory_order_relaxed);

    for (int32_t i = 0; i < block->nrejects; i++) {
        levada_error *why = &block->rejects[i].why;
        int64_t       bad = atomic_load(&t->bad) + 1;
        int64_t       all = skip_counts_records(it, t, seen + block->rejects[i].row + 1);

        if (!levada_policy_allows(&it->run->policy, bad, all)) {
            levada_status st = why->code;

            if (err) *err = *why;
            levada_block_unref(made);
            return st;
        }
        (void)atomic_fetch_add(&t->bad, 1);
        levada_run_note(it->run, t, it->path, why);
    }
    levada_free(block->rejects);
    block->rejects = NULL;
    block->nrejects = 0;
    return LEVADA_OK;
}

/* What the input of a SERIAL stage gave it so far, before the restore too. */
static int64_t skip_counts_pulled(const levada_node *it)
{
    int64_t before = atomic_load(&it->skips.pulled);

    return it->ninputs ? before + atomic_load(&it->inputs[0]->records) : before;
}

/* Stages that call this run one block after the other, in order. */
levada_status levada_context_reject(const levada_context *context, const levada_block *record,
                                    int64_t unread, const levada_error *why, levada_error *err)
{
    LEVADA_TRY(levada_require(context != NULL, "context", err));
    LEVADA_TRY(levada_require(record != NULL, "record", err));
    LEVADA_TRY(levada_require(why != NULL, "why", err));
    levada_run   *run = context->run;
    levada_node  *node = context->node;
    levada_skip_counts *t = node ? levada_node_skips(node) : &run->skips;
    levada_error  placed = *why;
    int64_t       seen = atomic_load(&t->seen) + (node ? skip_counts_pulled(node) - unread : 0);

    levada_run_place(run, node ? node->path : "", record, 0, &placed);
    seen = skip_counts_records(node, t, seen);
    if (!levada_policy_allows(&run->policy, atomic_load(&t->bad) + 1, seen)) {
        if (err) *err = placed;
        return why->code;
    }
    (void)atomic_fetch_add(&t->bad, 1);
    levada_run_note(run, t, NULL, &placed);
    return LEVADA_OK;
}

/* -- in the state: only where there is something, so that a run without bad records costs nothing
 */

#define SKIP_COUNTS_COUNTS 9
#define SKIP_COUNTS_LEAST 7 /* of older states, which lack the last ones */
#define SKIP_COUNTS_NUMBERS 4 /* of a note */
#define SKIP_COUNTS_TEXTS 4

#define SKIP_COUNTS_KEY "#skips"
#define SKIP_COUNTS_PROBLEMS "#problems"
#define SKIP_COUNTS_TEXT "#problems.text"

static void skip_counts_counts(levada_skip_counts *t, atomic_llong *counts[SKIP_COUNTS_COUNTS])
{
    counts[0] = &t->bad;
    counts[1] = &t->seen;
    counts[2] = &t->given;
    counts[3] = &t->pulled;
    counts[4] = &t->damaged;
    counts[5] = &t->missing;
    counts[6] = &t->empty;
    counts[7] = &t->unseen;
    counts[8] = &t->dropped;
}

static levada_status skip_counts_damaged(levada_error *err)
{
    return levada_fail(err, LEVADA_EDATA_LOSS, "the saved state is damaged");
}

static levada_status skip_counts_save_notes(levada_node *it, levada_state_writer *to,
                                      levada_error *err)
{
    levada_run   *run = it->run;
    int64_t       numbers[LEVADA_RUN_NOTES * SKIP_COUNTS_NUMBERS], n = 0;
    levada_text   text = { 0 };
    levada_status st = LEVADA_OK;

    levada_mutex_lock(&run->noting);
    for (int64_t i = 0; i < run->noted; i++) {
        const levada_note  *note = &run->notes[i];
        const levada_error *e = &note->why;
        const char *const   texts[SKIP_COUNTS_TEXTS] = { e->stage, e->file, e->key, e->message };

        if (note->of != &it->skips) continue;
        numbers[n++] = note->number;
        numbers[n++] = e->code;
        numbers[n++] = e->record;
        numbers[n++] = e->offset;
        for (int k = 0; k < SKIP_COUNTS_TEXTS; k++)
            levada_text_add(&text, texts[k], strlen(texts[k]) + 1);
    }
    levada_mutex_unlock(&run->noting);
    if (text.failed) st = levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "no memory for a state");
    if (n && st == LEVADA_OK) st = levada_state_put_i64s(to, SKIP_COUNTS_PROBLEMS, numbers, n, err);
    if (n && st == LEVADA_OK) {
        st = levada_state_put_bytes(to, SKIP_COUNTS_TEXT, text.at, text.size, err);
    }
    levada_text_clear(&text);
    return st;
}

levada_status levada_skip_counts_save(levada_node *it, levada_state_writer *to, levada_error *err)
{
    bool          fused = it->ops->fused, some = it->run->policy.share >= 0;
    atomic_llong *counts[SKIP_COUNTS_COUNTS];
    int64_t       values[SKIP_COUNTS_COUNTS];

    skip_counts_counts(&it->skips, counts);
    for (int i = 0; i < SKIP_COUNTS_COUNTS; i++) values[i] = atomic_load(counts[i]);
    LEVADA_TRY(skip_counts_save_notes(it, to, err));
    some = some || values[0] || values[2] || values[4] || values[5] || values[6] || values[7] ||
           values[8];
    if (!some) return LEVADA_OK;
    values[3] = fused ? 0 : skip_counts_pulled(it);
    return levada_state_put_i64s(to, SKIP_COUNTS_KEY, values, SKIP_COUNTS_COUNTS, err);
}

/* Four texts, each with its end, into the error. */
static bool skip_counts_take_texts(levada_error *e, const char **at, const char *end)
{
    char *const  to[SKIP_COUNTS_TEXTS] = { e->stage, e->file, e->key, e->message };
    const size_t room[SKIP_COUNTS_TEXTS] = { sizeof e->stage, sizeof e->file, sizeof e->key,
                                       sizeof e->message };

    for (int k = 0; k < SKIP_COUNTS_TEXTS; k++) {
        size_t n = strnlen(*at, (size_t)(end - *at));

        if (n == (size_t)(end - *at) || n >= room[k]) return false;
        memcpy(to[k], *at, n + 1);
        *at += n + 1;
    }
    return true;
}

static levada_status skip_counts_restore_notes(levada_node *it, levada_state_reader *from,
                                         levada_error *err)
{
    const int64_t *numbers = NULL;
    const void    *bytes = NULL;
    const char    *at, *end;
    int64_t        n = 0;
    size_t         size = 0;

    if (!levada_state_has(from, SKIP_COUNTS_PROBLEMS)) return LEVADA_OK;
    LEVADA_TRY(levada_state_get_i64s(from, SKIP_COUNTS_PROBLEMS, &numbers, &n, err));
    LEVADA_TRY(levada_state_get_bytes(from, SKIP_COUNTS_TEXT, &bytes, &size, err));
    at = bytes;
    end = at + size;
    if (n % SKIP_COUNTS_NUMBERS ||
        n > LEVADA_RUN_NOTES * SKIP_COUNTS_NUMBERS) return skip_counts_damaged(err);
    for (int64_t i = 0; i < n; i += SKIP_COUNTS_NUMBERS) {
        levada_note note = { .why = LEVADA_ERROR_INIT, .of = &it->skips, .number = numbers[i] };

        note.why.code = (levada_status)numbers[i + 1];
        note.why.record = numbers[i + 2];
        note.why.offset = numbers[i + 3];
        if (note.number < 0 || note.number > LEVADA_COUNT_LIMIT || numbers[i + 1] < INT16_MIN ||
            numbers[i + 1] >= 0 || !skip_counts_take_texts(&note.why, &at, end)) {
            return skip_counts_damaged(err);
        }
        skip_counts_insert(it->run, &note);
    }
    return at == end ? LEVADA_OK : skip_counts_damaged(err);
}

levada_status levada_skip_counts_restore(levada_node *it, levada_state_reader *from,
                                         levada_error *err)
{
    atomic_llong  *counts[SKIP_COUNTS_COUNTS];
    const int64_t *values = NULL;
    int64_t        n = 0;

    LEVADA_TRY(skip_counts_restore_notes(it, from, err));
    if (!levada_state_has(from, SKIP_COUNTS_KEY)) return LEVADA_OK;
    LEVADA_TRY(levada_state_get_i64s(from, SKIP_COUNTS_KEY, &values, &n, err));
    if (n < SKIP_COUNTS_LEAST || n > SKIP_COUNTS_COUNTS) return skip_counts_damaged(err);
    skip_counts_counts(&it->skips, counts);
    for (int i = SKIP_COUNTS_LEAST; i < SKIP_COUNTS_COUNTS; i++) atomic_store(counts[i], 0);
    for (int64_t i = 0; i < n; i++) { /* made up: sums must not overflow */
        if (values[i] < 0 || values[i] > LEVADA_COUNT_LIMIT) return skip_counts_damaged(err);
        atomic_store(counts[i], values[i]);
    }
    return LEVADA_OK;
}
