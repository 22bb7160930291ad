/* SPDX-License-Identifier: Apache-2.0 */
#include "state/ledger.h"

#include "base/assert.h"

/* -- lists ------------------------------------------------------------------------------------- */

/* Adds ready sequences: new ones are the last, and those that come back from a batch are among the
 * first, so only rows of other batches are passed on the way. */
static void ledger_add_ready(levada_ledger *l, levada_sequence *const *rows, int64_t n)
{
    levada_sequence **at = &l->ready;

    if (n > 0 && l->ready_last != NULL && l->ready_last->number < rows[0]->number) {
        at = &l->ready_last->next;
    }
    for (int64_t i = 0; i < n; i++) {
        levada_sequence *e = rows[i];

        while (*at != NULL && (*at)->number < e->number) at = &(*at)->next;
        e->next = *at;
        *at = e;
        if (e->next == NULL) l->ready_last = e;
        at = &e->next;
    }
    l->counts.ready += n;
}

static void ledger_open(levada_ledger *l, levada_taken *taken)
{
    taken->prev = l->taken_last;
    taken->next = NULL;
    if (taken->prev != NULL) taken->prev->next = taken;
    else l->taken = taken;
    l->taken_last = taken;
}

static void ledger_end(levada_ledger *l, levada_taken *taken, levada_taken_status status)
{
    LEVADA_ASSERT(taken->status == LEVADA_TAKEN_OPEN);
    if (taken->prev != NULL) taken->prev->next = taken->next;
    else l->taken = taken->next;
    if (taken->next != NULL) taken->next->prev = taken->prev;
    else l->taken_last = taken->prev;
    taken->next = taken->prev = NULL;
    taken->status = status;
    l->counts.unsaved -= taken->ncontinuing;
    if (taken->abandoned) l->counts.abandoned -= taken->ncontinuing;
}

/* -- sequences --------------------------------------------------------------------------------- */

void levada_ledger_enter(levada_ledger *l, levada_sequence *e)
{
    e->number = l->counts.inserted++;
    if (!l->cancelled) l->counts.incomplete += e->nsegments - 1;
    levada_ledger_resume(l, &e, 1);
}

void levada_ledger_resume(levada_ledger *l, levada_sequence *const *rows, int64_t n)
{
    for (int64_t i = 0; i < n; i++) rows[i]->live = true;
    l->counts.live += n;
    ledger_add_ready(l, rows, n);
}

/* -- taking ------------------------------------------------------------------------------------ */

/* Returns true if nothing can happen any more, because abandoned sequences fill an open ledger. A
 * batch of last segments alone may still be returned. */
static bool ledger_is_stuck(const levada_ledger *l)
{
    if (l->counts.abandoned == 0 || l->counts.reserved > 0 || l->capacity < 0 ||
        l->counts.live < l->capacity) {
        return false;
    }
    for (const levada_taken *t = l->taken; t != NULL; t = t->next) {
        if (!t->abandoned) return false;
    }
    return true;
}

int64_t levada_ledger_entering(const levada_ledger *l, int64_t waiting)
{
    return l->counts.reserved + (waiting > 0 && !ledger_is_stuck(l) ? waiting : 0);
}

levada_ledger_answer levada_ledger_ask(levada_ledger *l, int64_t want, int64_t waiting, int64_t *n,
                                       int64_t *total)
{
    int64_t ready = l->counts.ready, coming;

    *n = want;
    if (!l->closed) {
        if (ready >= want) return LEVADA_LEDGER_NOW;
        if (!ledger_is_stuck(l)) return LEVADA_LEDGER_WAIT;
    }
    if (ready >= want && want > 0) return LEVADA_LEDGER_NOW;
    coming = levada_ledger_entering(l, waiting) + l->counts.unsaved - l->counts.abandoned;
    *total = ready + coming;
    if (want == 0 && *total > 0) return LEVADA_LEDGER_NOW;
    if (l->closed && l->small && ready > 0) {
        *n = ready;
        return LEVADA_LEDGER_NOW;
    }
    if (l->closed && want > 0 && coming > 0 && (l->small || *total >= want)) {
        return LEVADA_LEDGER_WAIT;
    }
    if (l->counts.abandoned > 0) return LEVADA_LEDGER_ABANDONED;
    l->ended = l->ended || (!l->small && want > 0);
    return LEVADA_LEDGER_DRAINED;
}

void levada_ledger_take(levada_ledger *l, levada_taken *taken, int64_t n)
{
    LEVADA_ASSERT(n <= l->counts.ready && taken->n == 0);
    for (; taken->n < n; taken->n++) {
        levada_sequence *e = l->ready;
        bool             last = levada_sequence_is_last(e);

        l->ready = e->next;
        e->next = NULL;
        taken->rows[taken->n] = e;
        if (!last && !l->cancelled) {
            taken->ncontinuing++;
            continue;
        }
        e->live = false;
        l->counts.live--;
        if (last) continue;
        l->counts.dropped++;
        taken->cut = true;
    }
    if (l->ready == NULL) l->ready_last = NULL;
    l->counts.ready -= n;
    l->counts.segments += n;
    l->counts.unsaved += taken->ncontinuing;
    ledger_open(l, taken);
}

/* -- the end of a batch ------------------------------------------------------------------------ */

void levada_ledger_save(levada_ledger *l, levada_taken *taken, levada_sequence **finished)
{
    int64_t n = 0;

    ledger_end(l, taken, LEVADA_TAKEN_SAVED);
    for (int64_t i = 0; i < taken->n; i++) {
        levada_sequence *e = taken->rows[i];

        if (levada_sequence_is_last(e)) {
            e->next = *finished;
            *finished = e;
            l->counts.finished++;
            continue;
        }
        e->segment++;
        taken->rows[n++] = e;
    }
    l->counts.incomplete -= n;
    ledger_add_ready(l, taken->rows, n);
    taken->n = 0;
}

void levada_ledger_return(levada_ledger *l, levada_taken *taken)
{
    bool cancelled = taken->status == LEVADA_TAKEN_CANCELLED;

    if (!cancelled) ledger_end(l, taken, LEVADA_TAKEN_RETURNED);
    taken->status = LEVADA_TAKEN_RETURNED;
    for (int64_t i = 0; i < taken->n; i++) {
        levada_sequence *e = taken->rows[i];

        if (e->live) continue;
        if (!levada_sequence_is_last(e)) l->counts.dropped--; /* it was cancelled */
        else if (cancelled) l->counts.finished--;
        e->live = true;
        l->counts.live++;
    }
    ledger_add_ready(l, taken->rows, taken->n);
    l->counts.segments -= taken->n;
    taken->n = taken->ncontinuing = 0;
}

void levada_ledger_drop(levada_ledger *l, levada_taken *taken)
{
    ledger_end(l, taken, LEVADA_TAKEN_DROPPED);
    for (int64_t i = 0; i < taken->n; i++) {
        levada_sequence *e = taken->rows[i];

        if (e->live || levada_sequence_is_last(e)) l->counts.discarded++;
        if (!e->live) continue;
        e->live = false;
        l->counts.live--;
        if (!l->cancelled) l->counts.incomplete -= e->nsegments - e->segment - 1;
    }
}

bool levada_ledger_abandon(levada_ledger *l, levada_taken *taken)
{
    if (taken->status != LEVADA_TAKEN_OPEN) return false;
    taken->abandoned = taken->ncontinuing > 0;
    if (taken->abandoned) l->counts.abandoned += taken->ncontinuing;
    else ledger_end(l, taken, LEVADA_TAKEN_SAVED);
    for (int64_t i = 0; i < taken->n; i++) {
        l->counts.finished += levada_sequence_is_last(taken->rows[i]);
    }
    return taken->abandoned;
}

void levada_ledger_cancel(levada_ledger *l, levada_taken **cancelled)
{
    levada_taken *next, **end = cancelled;

    l->cancelled = true;
    for (levada_taken *t = l->taken; t != NULL; t = next) {
        next = t->next;
        if (t->ncontinuing == 0) continue;
        ledger_end(l, t, LEVADA_TAKEN_CANCELLED);
        l->counts.live -= t->ncontinuing;
        l->counts.dropped += t->ncontinuing;
        if (!t->abandoned) l->counts.finished += t->n - t->ncontinuing; /* they need no state */
        for (int64_t i = 0; i < t->n; i++) t->rows[i]->live = false;
        *end = t;
        end = &t->next;
    }
    *end = NULL;
    l->counts.incomplete = 0;
}

levada_taken *levada_ledger_oldest(const levada_ledger *l)
{
    levada_taken *t = l->taken;

    while (t != NULL && t->ncontinuing == 0) t = t->next;
    return t;
}
