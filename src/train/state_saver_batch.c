/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batches in the hands of the caller: states are saved by reference; with the last one, the next
 * segments are ready.
 */
#include "base/alloc.h"
#include "base/process.h"
#include "base/versioned.h"
#include "tensor/pieces.h"
#include "train/state_saver_priv.h"

#include <string.h>

#define BATCH_SPARSE 4 /* a set of states of which fewer than a fourth go on is copied */

static int32_t batch_ntensors(const levada_state_saver *s)
{
    return LEVADA_BATCH_FIELDS + 2 * s->nsequences + 2 * s->ncontext + s->nstates;
}

levada_status levada_saver_make_batch(levada_state_saver *s, int64_t n, levada_segment_batch **out,
                                      levada_error *err)
{
    size_t                tensors = sizeof(levada_tensor *) * (size_t)batch_ntensors(s), size;
    levada_segment_batch *batch = NULL;

    if (levada_size_of((size_t)n, 2 * sizeof(void *), sizeof(*batch) + tensors, &size)) {
        batch = levada_alloc(size);
    }
    if (batch != NULL) {
        memset(batch, 0, sizeof(*batch) + tensors);
        batch->saved = levada_saver_states_create(s, n);
    }
    if (batch == NULL || batch->saved == NULL) {
        levada_free(batch);
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED,
                           "out of memory for a batch of %lld segments", (long long)n);
    }
    batch->tensors = (levada_tensor **)(void *)(batch + 1);
    batch->taken.rows = (levada_sequence **)(void *)(batch->tensors + batch_ntensors(s));
    batch->old = (levada_saver_states **)(void *)(batch->taken.rows + n);
    batch->nunsaved = s->nstates;
    *out = batch;
    return LEVADA_OK;
}

static void batch_free_tensors(const levada_state_saver *s, levada_segment_batch *batch)
{
    for (int32_t i = 0; i < batch_ntensors(s); i++) levada_tensor_unref(&batch->tensors[i]);
}

void levada_saver_free_batch(levada_state_saver *s, levada_segment_batch *batch)
{
    batch_free_tensors(s, batch);
    for (int64_t i = 0; i < batch->taken.n; i++) {
        levada_saver_live_unref(s, levada_saver_row(batch, i));
    }
    levada_saver_states_drop(s, batch->saved, 1);
    levada_free(batch);
}

/* -- looking ----------------------------------------------------------------------------------- */

levada_status levada_segment_batch_get(levada_segment_batch *batch, levada_segment_view *out,
                                       levada_error *err)
{
    levada_segment_view view = LEVADA_SEGMENT_VIEW_INIT;
    levada_tensor     **t;
    int32_t             nsequences, ncontext;

    LEVADA_TRY(levada_require(batch != NULL, "batch", err));
    LEVADA_TRY(LEVADA_USABLE(batch->saver, "state saver", err));
    LEVADA_TRY(levada_require(out != NULL, "out", err));
    LEVADA_TRY(levada_versioned_check(out, sizeof(view), "levada_segment_view", err));
    t = batch->tensors;
    nsequences = batch->saver->nsequences;
    ncontext = batch->saver->ncontext;
    view.n = batch->saved->n;
    view.total_length = t[LEVADA_BATCH_TOTAL_LENGTH];
    view.length = t[LEVADA_BATCH_LENGTH];
    view.insertion_index = t[LEVADA_BATCH_INDEX];
    view.key = t[LEVADA_BATCH_KEY];
    view.next_key = t[LEVADA_BATCH_NEXT_KEY];
    view.sequence = t[LEVADA_BATCH_SEQUENCE];
    view.sequence_count = t[LEVADA_BATCH_SEQUENCE_COUNT];
    view.sequences = t += LEVADA_BATCH_FIELDS;
    view.sequence_offsets = t += nsequences;
    view.context = t += nsequences;
    view.context_offsets = t += ncontext;
    view.states = t + ncontext;
    levada_versioned_write(out, &view, sizeof(view));
    return LEVADA_OK;
}

/* -- saving ------------------------------------------------------------------------------------ */

static levada_status batch_refuse_cancelled(const levada_segment_batch *batch, levada_error *err)
{
    return levada_fail(err, LEVADA_ECANCELLED,
                       "State saver '%s' is closed and cancelled: no state can be saved",
                       batch->saver->name);
}

static levada_status batch_refuse(const levada_segment_batch *batch, const char *what,
                                  levada_error *err)
{
    switch (batch->taken.status) {
    case LEVADA_TAKEN_CANCELLED: return batch_refuse_cancelled(batch, err);
    case LEVADA_TAKEN_SAVED:
        return levada_fail(err, LEVADA_EFAILED_PRECONDITION,
                           "State saver '%s': all states of the batch are saved; it cannot be %s",
                           batch->saver->name, what);
    default:
        return levada_fail(err, LEVADA_EFAILED_PRECONDITION,
                           "State saver '%s': the batch was %s; it cannot be %s",
                           batch->saver->name,
                           batch->taken.status == LEVADA_TAKEN_RETURNED ? "requeued" : "discarded",
                           what);
    }
}

static levada_status batch_refuse_state(const levada_segment_batch *batch, int32_t state,
                                        levada_error *err)
{
    const levada_state_saver *s = batch->saver;

    if (batch->saved->values[state] == NULL && batch->taken.status != LEVADA_TAKEN_SAVED) {
        return batch_refuse(batch, "saved", err);
    }
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                       "State saver '%s': the batch already has a value for state '%s'", s->name,
                       levada_saver_state(s)[state].name);
}

/* Copies the states of the rows that continue, if they are few, because the others would stay in
 * memory with them. Without memory for a copy they do. */
static void batch_compact(levada_segment_batch *batch, levada_saver_states **out)
{
    levada_state_saver  *s = batch->saver;
    int64_t              continuing = batch->taken.ncontinuing;
    levada_saver_states *few = levada_saver_states_create(s, continuing);
    levada_piece        *pieces = levada_alloc(sizeof(*pieces) * (size_t)continuing);
    bool                 good = few != NULL && pieces != NULL;

    for (int32_t j = 0; good && j < s->nstates; j++) {
        const levada_tensor *whole = batch->saved->values[j];
        levada_shape shape = levada_shape_rows(&levada_saver_state(s)[j].shape, continuing);
        int64_t      each = whole->count / batch->taken.n, n = 0;

        for (int64_t i = 0; i < batch->taken.n; i++) {
            if (levada_sequence_is_last(batch->taken.rows[i])) continue;
            pieces[n++] = (levada_piece){ whole, i * each, each };
        }
        good = levada_pieces_join(s->pool, whole->dtype, &shape, pieces, n, each, &few->values[j],
                                  NULL) == LEVADA_OK;
    }
    levada_free(pieces);
    if (good) *out = few;
    else if (few != NULL) levada_saver_states_drop(s, few, 1);
}

/* Completes a batch: rows of last segments are finished, the others continue with their new
 * states. */
static void batch_complete_locked(levada_segment_batch *batch, levada_saver_states *states,
                                  levada_sequence **finished)
{
    int64_t n = 0;

    for (int64_t i = 0; i < batch->taken.n; i++) {
        levada_saver_live *e = levada_saver_row(batch, i);

        if (levada_sequence_is_last(&e->sequence)) continue;
        batch->old[n] = e->states;
        e->states = states;
        e->row = states->n == batch->taken.n ? i : n;
        n++;
    }
    levada_refs_add_many(&states->refs, (int)n);
    levada_ledger_save(&batch->saver->ledger, &batch->taken, finished);
}

static void batch_complete(levada_segment_batch *batch)
{
    levada_state_saver  *s = batch->saver;
    levada_saver_states *states = batch->saved;
    levada_sequence     *finished = NULL;
    levada_woken         woken = { 0 };
    int64_t              n = batch->taken.ncontinuing, first = 0;
    bool                 open;

    if (n > 0 && n * BATCH_SPARSE < batch->taken.n) batch_compact(batch, &states);
    levada_lock_take(&s->lock);
    open = batch->taken.status == LEVADA_TAKEN_OPEN; /* it may have been cancelled meanwhile */
    if (open) batch_complete_locked(batch, states, &finished);
    levada_saver_settle_locked(s, &woken);
    levada_lock_give(&s->lock);
    levada_wake(&woken);
    levada_saver_live_unref_all(s, finished);
    for (int64_t i = 1; open && i <= n; i++) { /* neighbors mostly have the same */
        if (i < n && batch->old[i] == batch->old[first]) continue;
        levada_saver_states_drop(s, batch->old[first], (int)(i - first));
        first = i;
    }
    if (states != batch->saved) levada_saver_states_drop(s, states, 1);
}

/* Some of the states: `n` from number `first` on; values[i] = NULL is not one of them. */
typedef struct batch_values {
    const levada_tensor *const *values;
    int32_t                     first, n;
} batch_values;

/* Checks that the batch takes these values now. */
static levada_status batch_accepts_locked(const levada_segment_batch *batch, const batch_values *v,
                                          levada_error *err)
{
    if (batch->taken.cut) return batch_refuse_cancelled(batch, err);
    for (int32_t i = 0; i < v->n; i++) {
        int32_t state = v->first + i;

        if (v->values[i] == NULL || state < 0 || state >= batch->saver->nstates) continue;
        if (batch->taken.status != LEVADA_TAKEN_OPEN || batch->saved->values[state] != NULL) {
            return batch_refuse_state(batch, state, err);
        }
    }
    return LEVADA_OK;
}

static levada_status batch_check(levada_segment_batch *batch, const batch_values *v,
                                 levada_error *err)
{
    levada_state_saver *s = batch->saver;
    levada_status       st;

    levada_lock_take(&s->lock);
    st = batch_accepts_locked(batch, v, err);
    levada_lock_give(&s->lock);
    for (int32_t i = 0; i < v->n && st == LEVADA_OK; i++) {
        if (v->values[i] == NULL) continue;
        st = levada_saver_check_state(batch, v->first + i, v->values[i], err);
    }
    return st;
}

static levada_status batch_save(levada_segment_batch *batch, const batch_values *v,
                                levada_error *err)
{
    levada_state_saver *s = batch->saver;
    levada_status       st = batch_check(batch, v, err);
    bool                last = false;

    if (st != LEVADA_OK) return st;
    levada_lock_take(&s->lock);
    st = batch_accepts_locked(batch, v, err); /* another thread may have saved meanwhile */
    for (int32_t i = 0; i < v->n && st == LEVADA_OK; i++) {
        if (v->values[i] == NULL) continue;
        batch->saved->values[v->first + i] = levada_tensor_ref(v->values[i]);
        last = --batch->nunsaved == 0;
    }
    levada_lock_give(&s->lock);
    if (last) batch_complete(batch);
    return st;
}

levada_status levada_segment_batch_save(levada_segment_batch *batch, int32_t state,
                                        const levada_tensor *value, levada_error *err)
{
    batch_values v = { &value, state, 1 };

    LEVADA_TRY(levada_require(batch != NULL, "batch", err));
    LEVADA_TRY(LEVADA_USABLE(batch->saver, "state saver", err));
    LEVADA_TRY(levada_require(value != NULL, "value", err));
    return batch_save(batch, &v, err);
}

levada_status levada_segment_batch_save_states(levada_segment_batch       *batch,
                                               const levada_tensor *const *values,
                                               levada_error               *err)
{
    batch_values v = { values, 0, 0 };

    LEVADA_TRY(levada_require(batch != NULL, "batch", err));
    LEVADA_TRY(LEVADA_USABLE(batch->saver, "state saver", err));
    LEVADA_TRY(levada_require(values != NULL, "values", err));
    v.n = batch->saver->nstates;
    return batch_save(batch, &v, err);
}

/* -- without saving ---------------------------------------------------------------------------- */

levada_status levada_segment_batch_requeue(levada_segment_batch *batch, levada_error *err)
{
    levada_state_saver *s;
    levada_woken        woken = { 0 };
    levada_status       st = LEVADA_OK;

    LEVADA_TRY(levada_require(batch != NULL, "batch", err));
    LEVADA_TRY(LEVADA_USABLE(batch->saver, "state saver", err));
    s = batch->saver;
    levada_lock_take(&s->lock);
    if (batch->taken.status == LEVADA_TAKEN_OPEN && batch->nunsaved > 0) {
        levada_saver_return_locked(s, batch);
        levada_saver_settle_locked(s, &woken);
    } else {
        st = batch_refuse(batch, "requeued", err);
    }
    levada_lock_give(&s->lock);
    levada_wake(&woken);
    return st;
}

/* Drops the continuing rows of an open batch, which release their capacity. */
static void batch_drop_locked(levada_segment_batch *batch)
{
    levada_ledger_drop(&batch->saver->ledger, &batch->taken);
    for (int64_t i = 0; i < batch->taken.n; i++) {
        levada_saver_remove_key_locked(batch->saver, levada_saver_row(batch, i));
    }
}

levada_status levada_segment_batch_discard(levada_segment_batch *batch, levada_error *err)
{
    levada_state_saver *s;
    levada_woken        woken = { 0 };
    levada_status       st = LEVADA_OK;

    LEVADA_TRY(levada_require(batch != NULL, "batch", err));
    LEVADA_TRY(LEVADA_USABLE(batch->saver, "state saver", err));
    s = batch->saver;
    levada_lock_take(&s->lock);
    if (batch->taken.status == LEVADA_TAKEN_OPEN && batch->nunsaved > 0) {
        batch_drop_locked(batch);
        levada_saver_settle_locked(s, &woken);
    } else if (batch->taken.status == LEVADA_TAKEN_CANCELLED) {
        batch->taken.status = LEVADA_TAKEN_DROPPED; /* the cancel dropped and counted them */
    } else {
        st = batch_refuse(batch, "discarded", err);
    }
    levada_lock_give(&s->lock);
    levada_wake(&woken);
    return st;
}

/* Abandons a batch: the caller goes; the saver keeps what waits for states. */
static bool batch_abandon(levada_state_saver *s, levada_segment_batch *batch)
{
    levada_woken woken = { 0 };
    bool         keep;

    levada_lock_take(&s->lock);
    keep = levada_ledger_abandon(&s->ledger, &batch->taken);
    levada_saver_settle_locked(s, &woken);
    levada_lock_give(&s->lock);
    levada_wake(&woken);
    return keep;
}

void levada_segment_batch_destroy(levada_segment_batch **batch)
{
    levada_segment_batch *b = batch != NULL ? *batch : NULL;
    levada_state_saver   *s;

    if (b == NULL) return;
    *batch = NULL;
    s = b->saver;
    if (!LEVADA_OURS(s)) { /* a child's copy: nobody waits in it */
        if (!levada_lock_is_free(&s->lock)) return;
        s->takes = s->inserts = (levada_line){ 0 };
    }
    b->saver = NULL;
    if (batch_abandon(s, b)) batch_free_tensors(s, b);
    else levada_saver_free_batch(s, b);
    levada_state_saver_unref(&s);
}
