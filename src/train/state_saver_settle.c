/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who is served when: takes get n ready segments at once, in the order of their examples; inserts
 * and reservations wait for capacity. Both lines are strictly first come, first served.
 */
#include "base/assert.h"
#include "base/process.h"
#include "runtime/delay.h"
#include "tensor/segments.h"
#include "train/state_saver_priv.h"

#include <stdio.h>
#include <string.h>

/* -- batches of rows --------------------------------------------------------------------------- */

/* Handles a key that is that of a live example. */
static void settle_give(levada_state_saver *s, levada_segment_batch *batch, int64_t n)
{
    levada_ledger_take(&s->ledger, &batch->taken, n);
    batch->taken_at = levada_now();
    for (int64_t i = 0; i < n; i++) {
        if (!batch->taken.rows[i]->live) {
            levada_saver_remove_key_locked(s, levada_saver_row(batch, i));
        }
    }
}

void levada_saver_return_locked(levada_state_saver *s, levada_segment_batch *batch)
{
    for (int64_t i = 0; i < batch->taken.n; i++) {
        levada_saver_live *e = levada_saver_row(batch, i);

        if (!e->keyed) levada_saver_add_key_locked(s, e);
    }
    levada_ledger_return(&s->ledger, &batch->taken);
}

/* -- takes ------------------------------------------------------------------------------------- */

static int64_t settle_waiting(const levada_state_saver *s)
{
    int64_t n = 0;

    for (const levada_waiter *w = s->inserts.head; w != NULL; w = w->next) n++;
    return n;
}

static const levada_saver_why settle_whys[] = {
    [LEVADA_LEDGER_NOW] = LEVADA_SAVER_OK,
    [LEVADA_LEDGER_DRAINED] = LEVADA_SAVER_DRAINED,
    [LEVADA_LEDGER_ABANDONED] = LEVADA_SAVER_ABANDONED,
};

/* Returns true if the op is done: *why is set then, and *n is what it gets. */
static bool settle_take(levada_state_saver *s, levada_saver_op *op, levada_saver_why *why,
                        int64_t *n)
{
    levada_ledger_answer answer;

    *n = 0;
    *why = LEVADA_SAVER_UNFED;
    if (s->awaited.left > 0) {
        return s->ledger.closed && levada_ledger_entering(&s->ledger, settle_waiting(s)) == 0;
    }
    answer = levada_ledger_ask(&s->ledger, op->n, settle_waiting(s), n, &op->total);
    if (answer == LEVADA_LEDGER_WAIT) return false;
    *why = settle_whys[answer];
    return true;
}

static bool settle_takes(levada_state_saver *s, levada_woken *woken)
{
    bool moved = false;

    while (s->takes.head != NULL) {
        levada_saver_op *op = (levada_saver_op *)(void *)s->takes.head;
        levada_saver_why why;
        int64_t          n;

        if (!settle_take(s, op, &why, &n)) break;
        if (why == LEVADA_SAVER_OK) settle_give(s, op->batch, n);
        op->why = why;
        levada_waiter_finish(&s->takes, &op->waiter, LEVADA_OK, woken);
        moved = true;
    }
    return moved;
}

/* -- inserts ----------------------------------------------------------------------------------- */

/* Appends a number of at least eight digits, so that numbers of one width never make two keys
 * equal. */
static void settle_make_unique(levada_state_saver *s, levada_saver_live *e)
{
    int32_t size = e->key_size;
    char    digits[24];

    do {
        int n = snprintf(digits, sizeof(digits), "%08lld", (long long)s->suffix++);

        memcpy(levada_saver_key(s, e) + size, digits, (size_t)n);
        e->key_size = size + n;
    } while (levada_saver_find_locked(s, levada_saver_key(s, e), e->key_size) != NULL);
}

levada_saver_why levada_saver_enter_locked(levada_state_saver *s, levada_saver_live *e)
{
    if (!s->unique && levada_saver_find_locked(s, levada_saver_key(s, e), e->key_size) != NULL) {
        return LEVADA_SAVER_EXISTS;
    }
    if (e->ordinal >= 0 && !levada_saver_see_locked(s, e->ordinal)) return LEVADA_SAVER_MEMORY;
    if (s->unique) settle_make_unique(s, e);
    levada_saver_add_key_locked(s, e);
    levada_ledger_enter(&s->ledger, &e->sequence);
    return LEVADA_SAVER_OK;
}

static bool settle_inserts(levada_state_saver *s, levada_woken *woken)
{
    bool moved = false;

    while (s->inserts.head != NULL) {
        levada_saver_op *op = (levada_saver_op *)(void *)s->inserts.head;
        bool             full = s->awaited.left == 0 && levada_ledger_is_full(&s->ledger);

        if (full) break;
        if (op->example == NULL) {
            s->ledger.counts.reserved++;
            op->why = LEVADA_SAVER_OK;
        } else {
            op->why = levada_saver_enter_locked(s, op->example);
        }
        levada_waiter_finish(&s->inserts, &op->waiter, LEVADA_OK, woken);
        moved = true;
    }
    return moved;
}

static levada_segment_batch *settle_oldest(const levada_state_saver *s)
{
    return levada_saver_batch(levada_ledger_oldest(&s->ledger));
}

void levada_saver_settle_locked(levada_state_saver *s, levada_woken *woken)
{
    const levada_segment_batch *oldest;

    while ((int)settle_inserts(s, woken) | (int)settle_takes(s, woken)) levada_delay();
    oldest = settle_oldest(s);
    levada_shown_set(&s->shown, LEVADA_SAVER_SHOW_READY, s->ledger.counts.ready);
    levada_shown_set(&s->shown, LEVADA_SAVER_SHOW_INCOMPLETE, s->ledger.counts.incomplete);
    levada_shown_set(&s->shown, LEVADA_SAVER_SHOW_UNSAVED, s->ledger.counts.unsaved);
    levada_shown_set(&s->shown, LEVADA_SAVER_SHOW_OLDEST, oldest != NULL ? oldest->taken_at : -1);
}

void levada_saver_finish_locked(levada_state_saver *s, levada_line *line, levada_saver_why why,
                                levada_woken *woken)
{
    (void)s;
    while (line->head != NULL) {
        levada_saver_op *op = (levada_saver_op *)(void *)line->head;

        op->why = why;
        levada_waiter_finish(line, &op->waiter, LEVADA_OK, woken);
    }
}

/* -- waiting ----------------------------------------------------------------------------------- */

static void settle_undo(levada_state_saver *s, levada_saver_op *op,
                        void (*undo)(levada_state_saver *s, levada_saver_op *op))
{
    levada_woken woken = { 0 };

    if (undo == NULL || op->why != LEVADA_SAVER_OK) return;
    levada_lock_take(&s->lock);
    undo(s, op);
    levada_saver_settle_locked(s, &woken);
    levada_lock_give(&s->lock);
    levada_wake(&woken);
    op->why = LEVADA_SAVER_CANCELLED;
}

void levada_saver_take_back(levada_state_saver *s, levada_segment_batch *batch)
{
    levada_woken woken = { 0 };

    levada_lock_take(&s->lock);
    levada_saver_return_locked(s, batch);
    levada_saver_settle_locked(s, &woken);
    levada_lock_give(&s->lock);
    levada_wake(&woken);
}

static bool settle_accepted(const levada_site *site, const levada_saver_op *op)
{
    return site->accept == NULL || op->why != LEVADA_SAVER_OK || site->accept(site->accept_user);
}

static void settle_wait(levada_state_saver *s, levada_line *line, levada_site *site,
                        levada_saver_op *op, const char *what, int64_t timeout,
                        void (*undo)(levada_state_saver *s, levada_saver_op *op))
{
    int64_t      until = levada_until(timeout);
    levada_woken woken = { 0 };
    bool         mine;

    levada_wait_end end = levada_waiter_wait(&op->waiter, site, what, op->n, until);
    if (end == LEVADA_WAIT_FORKED) {
        op->why = LEVADA_SAVER_FORKED;
        return;
    }
    if (end == LEVADA_WAIT_DONE) {
        if (!settle_accepted(site, op)) settle_undo(s, op, undo);
        return;
    }
    levada_lock_take(&s->lock);
    mine = op->waiter.linked;
    if (mine) {
        op->waiter.waits = false;
        op->why = end == LEVADA_WAIT_LATE ? LEVADA_SAVER_LATE : LEVADA_SAVER_CANCELLED;
        levada_waiter_finish(line, &op->waiter, LEVADA_OK, &woken);
        levada_saver_settle_locked(s, &woken);
    }
    levada_lock_give(&s->lock);
    levada_wake(&woken);
    if (mine) levada_waiter_clear(&op->waiter);
    else levada_waiter_settle(&op->waiter);
    if (mine) return;
    if (end == LEVADA_WAIT_STOPPED || !settle_accepted(site, op)) settle_undo(s, op, undo);
}

void levada_saver_run(levada_state_saver *s, levada_line *line, levada_site *site,
                      levada_saver_op *op, const char *what, int64_t timeout,
                      void (*undo)(levada_state_saver *s, levada_saver_op *op))
{
    levada_woken woken = { 0 };
    bool         waits;

    levada_lock_take(&s->lock);
    if (s->ledger.closed && line == &s->inserts) { /* only waiting ones may still enter */
        levada_lock_give(&s->lock);
        op->why = LEVADA_SAVER_CLOSED;
        return;
    }
    levada_line_append(line, &op->waiter);
    levada_saver_settle_locked(s, &woken);
    if (op->waiter.linked && (timeout == 0 || timeout == LEVADA_AT_ONCE)) {
        op->why = timeout == 0 ? LEVADA_SAVER_LATE : LEVADA_SAVER_NOT_NOW;
        levada_waiter_finish(line, &op->waiter, LEVADA_OK, &woken);
        levada_saver_settle_locked(s, &woken);
    }
    waits = op->waiter.linked;
    if (waits) levada_waiter_prepare(&op->waiter);
    levada_lock_give(&s->lock);
    levada_wake(&woken);
    if (waits) settle_wait(s, line, site, op, what, timeout, undo);
}

/* -- reports ----------------------------------------------------------------------------------- */

/* Writes "state 'h' of key '00001_of_00004:a' was not saved for 12.1 s". */
static void settle_describe_unsaved(const levada_state_saver *s, const levada_segment_batch *b,
                                    char *text, size_t size)
{
    const levada_saver_live *e = levada_saver_row(b, 0);
    int32_t                  state = 0;
    char                     prefix[LEVADA_SEGMENTS_PREFIX];
    int                      n, m;

    for (int64_t i = 0; i < b->taken.n && levada_sequence_is_last(&e->sequence); i++) {
        e = levada_saver_row(b, i);
    }
    while (state < s->nstates - 1 && b->saved->values[state] != NULL) state++;
    n = (int)levada_segments_prefix(e->sequence.segment, e->sequence.nsegments, prefix);
    m = e->key_size > 64 ? 64 : e->key_size;
    (void)snprintf(
        text, size, "state '%s' of key '%.*s%.*s' was not saved for %.1f s%s",
        levada_saver_state(s)[state].name, n, prefix, m, (const char *)levada_saver_key(s, e),
        (double)(levada_now() - b->taken_at) * 1e-9,
        b->taken.abandoned ? ", and its batch is gone" : "");
}

const char *levada_saver_describe(levada_state_saver *s, char *text, size_t size)
{
    const levada_segment_batch *oldest;
    int                         n;

    levada_lock_take(&s->lock);
    oldest = settle_oldest(s);
    n = snprintf(text, size, "ready %lld, incomplete %lld%s", (long long)s->ledger.counts.ready,
                 (long long)s->ledger.counts.incomplete, oldest != NULL ? "; " : "");
    if (oldest != NULL && n > 0 && (size_t)n < size) {
        settle_describe_unsaved(s, oldest, text + n, size - (size_t)n);
    }
    levada_lock_give(&s->lock);
    return text;
}

void levada_saver_show(const void *saver, char *text, size_t size)
{
    const levada_shown *shown = &((const levada_state_saver *)saver)->shown;
    int64_t             since = levada_shown_get(shown, LEVADA_SAVER_SHOW_OLDEST);
    int                 n;

    n = snprintf(text, size, "ready %lld, incomplete %lld",
                 (long long)levada_shown_get(shown, LEVADA_SAVER_SHOW_READY),
                 (long long)levada_shown_get(shown, LEVADA_SAVER_SHOW_INCOMPLETE));
    if (since < 0 || n < 0 || (size_t)n >= size) return;
    (void)snprintf(text + n, size - (size_t)n, ", unsaved %lld for %.1f s",
                   (long long)levada_shown_get(shown, LEVADA_SAVER_SHOW_UNSAVED),
                   (double)(levada_now() - since) * 1e-9);
}

bool levada_saver_poll(void *saver)
{
    levada_state_saver   *s = saver;
    levada_segment_batch *oldest;
    char                  text[256];
    bool                  warn;

    if (s->ask != NULL && !s->ask(s->ask_user)) return false;
    if (!LEVADA_OURS(s)) return true; /* it forked */
    levada_lock_take(&s->lock);
    oldest = settle_oldest(s);
    warn = oldest != NULL && !oldest->warned &&
           levada_now() - oldest->taken_at >= s->state_timeout;
    if (warn) {
        oldest->warned = true;
        settle_describe_unsaved(s, oldest, text, sizeof(text));
    }
    levada_lock_give(&s->lock);
    if (warn) {
        levada_env_log(s->env, LEVADA_LOG_WARNING,
                       "State saver '%s': a call waits for segments, but %s", s->name, text);
    }
    return true;
}
