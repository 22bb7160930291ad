/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Takes: which segments come next is decided with the lock held; their tensors are made without it.
 * If that fails the segments go back.
 */
#include "base/alloc.h"
#include "base/process.h"
#include "tensor/pieces.h"
#include "tensor/segments.h"
#include "train/state_saver_priv.h"

#include <string.h>

/* -- tensors of a batch ------------------------------------------------------------------------ */

static levada_status next_numbers(const levada_segment_batch *batch, levada_error *err)
{
    const levada_state_saver *s = batch->saver;
    levada_tensor           **t = batch->tensors;
    levada_shape              shape = { 1, { batch->taken.n } };
    static const int32_t      at[] = { LEVADA_BATCH_TOTAL_LENGTH, LEVADA_BATCH_LENGTH,
                                       LEVADA_BATCH_SEQUENCE, LEVADA_BATCH_SEQUENCE_COUNT };
    int32_t *to[4];
    int64_t *index;

    for (int i = 0; i < 4; i++) {
        LEVADA_TRY(levada_tensor_make(s->pool, LEVADA_INT32, &shape, &t[at[i]], err));
        to[i] = (int32_t *)(void *)t[at[i]]->data;
    }
    LEVADA_TRY(levada_tensor_make(s->pool, LEVADA_INT64, &shape, &t[LEVADA_BATCH_INDEX], err));
    index = (int64_t *)(void *)t[LEVADA_BATCH_INDEX]->data;
    for (int64_t i = 0; i < batch->taken.n; i++) {
        const levada_saver_live *e = levada_saver_row(batch, i);

        to[0][i] = (int32_t)e->length;
        to[1][i] = (int32_t)levada_segments_length(e->length, s->unroll, e->sequence.segment);
        to[2][i] = e->sequence.segment;
        to[3][i] = e->sequence.nsegments;
        index[i] = INT64_MIN + e->sequence.number;
    }
    return LEVADA_OK;
}

/* Makes the keys of the segments, or of those `ahead` of them. */
static levada_status next_keys(const levada_segment_batch *batch, int32_t ahead,
                               levada_tensor **out, levada_error *err)
{
    const levada_state_saver *s = batch->saver;
    levada_shape              shape = { 1, { batch->taken.n } };
    int64_t                   bytes = 0;
    char                      prefix[LEVADA_SEGMENTS_PREFIX];
    levada_tensor            *t = NULL;
    uint8_t                  *to;

    for (int64_t i = 0; i < batch->taken.n; i++) {
        const levada_saver_live *e = levada_saver_row(batch, i);

        bytes += e->key_size;
        bytes += (int64_t)levada_segments_prefix(e->sequence.segment + ahead,
                                                 e->sequence.nsegments, prefix);
    }
    LEVADA_TRY(levada_tensor_make_strings(s->pool, &shape, bytes, &t, err));
    to = t->data;
    t->offsets[0] = 0;
    for (int64_t i = 0; i < batch->taken.n; i++) {
        const levada_saver_live *e = levada_saver_row(batch, i);
        size_t n = levada_segments_prefix(e->sequence.segment + ahead, e->sequence.nsegments,
                                          prefix);

        memcpy(to, prefix, n);
        if (e->key_size > 0) memcpy(to + n, levada_saver_key(s, e), (size_t)e->key_size);
        to += n + (size_t)e->key_size;
        t->offsets[i + 1] = (int32_t)(to - t->data);
    }
    *out = t;
    return LEVADA_OK;
}

static levada_piece next_steps(const levada_state_saver *s, const levada_tensor *t, int64_t segment,
                               int64_t each)
{
    int64_t first = segment * s->unroll * each;

    if (first > t->count) first = t->count;
    return (levada_piece){ t, first,
                           t->count - first < s->unroll * each ? t->count - first
                                                               : s->unroll * each };
}

static levada_status next_sequence(const levada_segment_batch *batch, int32_t i,
                                   levada_piece *pieces, levada_error *err)
{
    const levada_state_saver *s = batch->saver;
    const levada_saver_field *f = &s->fields[i];
    int64_t                   each = levada_shape_count(&f->shape);
    levada_shape              steps = levada_shape_rows(&f->shape, s->unroll);
    levada_shape              shape = levada_shape_rows(&steps, batch->taken.n);

    for (int64_t r = 0; r < batch->taken.n; r++) {
        const levada_saver_live *e = levada_saver_row(batch, r);

        pieces[r] = next_steps(s, e->values[i], e->sequence.segment, each);
    }
    return levada_pieces_join(s->pool, f->dtype, &shape, pieces, batch->taken.n, s->unroll * each,
                              &batch->tensors[LEVADA_BATCH_FIELDS + i], err);
}

/* Concatenates the values of ragged rows; `each` elements in a value. */
static levada_status next_values(const levada_segment_batch *batch, const levada_saver_field *f,
                                 const levada_piece *pieces, levada_tensor **out, levada_error *err)
{
    int64_t      each = levada_shape_count(&f->shape), values = 0;
    levada_shape shape;

    for (int64_t r = 0; r < batch->taken.n && each > 0; r++) values += pieces[r].count / each;
    shape = levada_shape_rows(&f->shape, values);
    return levada_pieces_join(batch->saver->pool, f->dtype, &shape, pieces, batch->taken.n, -1, out,
                              err);
}

/* Offsets of one segment, from `end` on; returns where its values are. */
static levada_piece next_offsets(const levada_state_saver *s, const levada_saver_live *e, int32_t i,
                                 int64_t each, int64_t *to, int64_t *end)
{
    const levada_tensor *offsets = e->values[s->nsequences + i];
    const int64_t       *at = (const int64_t *)(const void *)offsets->data;
    int64_t              steps = offsets->count - 1, first = e->sequence.segment * s->unroll, last;

    if (first > steps) first = steps;
    last = steps - first < s->unroll ? steps : first + s->unroll;
    for (int64_t k = 0; k < s->unroll; k++) {
        to[k] = *end + (first + k < last ? at[first + k] : at[last]) - at[first];
    }
    *end += at[last] - at[first];
    return (levada_piece){ e->values[i], at[first] * each, (at[last] - at[first]) * each };
}

static levada_status next_ragged_sequence(const levada_segment_batch *batch, int32_t i,
                                          levada_piece *pieces, levada_error *err)
{
    const levada_state_saver *s = batch->saver;
    const levada_saver_field *f = &s->fields[i];
    levada_tensor           **out = &batch->tensors[LEVADA_BATCH_FIELDS + i];
    levada_shape              shape = { 1, { batch->taken.n * s->unroll + 1 } };
    int64_t                  *to, end = 0, each = levada_shape_count(&f->shape);

    LEVADA_TRY(levada_tensor_make(s->pool, LEVADA_INT64, &shape, &out[s->nsequences], err));
    to = (int64_t *)(void *)out[s->nsequences]->data;
    for (int64_t r = 0; r < batch->taken.n; r++, to += s->unroll) {
        pieces[r] = next_offsets(s, levada_saver_row(batch, r), i, each, to, &end);
    }
    *to = end;
    return next_values(batch, f, pieces, out, err);
}

static levada_status next_context(const levada_segment_batch *batch, int32_t i,
                                  levada_piece *pieces, levada_error *err)
{
    const levada_state_saver *s = batch->saver;
    const levada_saver_field *f = &levada_saver_context(s)[i];
    levada_tensor **out = &batch->tensors[LEVADA_BATCH_FIELDS + 2 * s->nsequences + i];
    levada_shape    shape = { 1, { batch->taken.n + 1 } };
    int64_t        *to, each = levada_shape_count(&f->shape);

    for (int64_t r = 0; r < batch->taken.n; r++) {
        const levada_tensor *t = levada_saver_row(batch, r)->values[2 * s->nsequences + i];

        pieces[r] = (levada_piece){ t, 0, t->count };
    }
    if (!f->ragged) {
        shape = levada_shape_rows(&f->shape, batch->taken.n);
        return levada_pieces_join(s->pool, f->dtype, &shape, pieces, batch->taken.n, each, out,
                                  err);
    }
    LEVADA_TRY(levada_tensor_make(s->pool, LEVADA_INT64, &shape, &out[s->ncontext], err));
    to = (int64_t *)(void *)out[s->ncontext]->data;
    to[0] = 0;
    for (int64_t r = 0; r < batch->taken.n; r++) {
        to[r + 1] = to[r] + pieces[r].tensor->shape.dims[0];
    }
    return next_values(batch, f, pieces, out, err);
}

/* Returns whether the rows are those of one set, all and in order: then its tensors are those of
 * the batch. */
static const levada_saver_states *next_whole_set(const levada_segment_batch *batch)
{
    const levada_saver_states *set = batch->taken.n > 0 ? levada_saver_row(batch, 0)->states : NULL;

    if (set == NULL || set->n != batch->taken.n) return NULL;
    for (int64_t r = 0; r < batch->taken.n; r++) {
        const levada_saver_live *e = levada_saver_row(batch, r);

        if (e->states != set || e->row != r) return NULL;
    }
    return set;
}

static levada_status next_state(const levada_segment_batch *batch, int32_t i, levada_piece *pieces,
                                levada_error *err)
{
    const levada_state_saver *s = batch->saver;
    const levada_saver_field *f = &levada_saver_state(s)[i];
    levada_shape              shape = levada_shape_rows(&f->shape, batch->taken.n);
    int64_t                   each = levada_shape_count(&f->shape);

    for (int64_t r = 0; r < batch->taken.n; r++) {
        const levada_saver_live *e = levada_saver_row(batch, r);

        pieces[r] = (levada_piece){ e->states->values[i], e->row * each, each };
    }
    return levada_pieces_join(
        s->pool, f->dtype, &shape, pieces, batch->taken.n, each,
        &batch->tensors[LEVADA_BATCH_FIELDS + 2 * s->nsequences + 2 * s->ncontext + i], err);
}

static levada_status next_fields(const levada_segment_batch *batch, levada_piece *pieces,
                                 levada_error *err)
{
    const levada_state_saver  *s = batch->saver;
    const levada_saver_states *whole = next_whole_set(batch);
    levada_tensor            **states =
        batch->tensors + LEVADA_BATCH_FIELDS + 2 * s->nsequences + 2 * s->ncontext;

    for (int32_t i = 0; i < s->nsequences; i++) {
        if (s->fields[i].ragged) LEVADA_TRY(next_ragged_sequence(batch, i, pieces, err));
        else LEVADA_TRY(next_sequence(batch, i, pieces, err));
    }
    for (int32_t i = 0; i < s->ncontext; i++) LEVADA_TRY(next_context(batch, i, pieces, err));
    for (int32_t i = 0; i < s->nstates; i++) {
        if (whole != NULL) states[i] = levada_tensor_ref(whole->values[i]);
        else LEVADA_TRY(next_state(batch, i, pieces, err));
    }
    return LEVADA_OK;
}

static levada_status next_tensors(const levada_segment_batch *batch, levada_error *err)
{
    levada_piece *pieces = levada_alloc((size_t)batch->taken.n * sizeof(*pieces));
    levada_status st;

    if (pieces == NULL) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory");
    st = next_numbers(batch, err);
    if (st == LEVADA_OK) st = next_keys(batch, 0, &batch->tensors[LEVADA_BATCH_KEY], err);
    if (st == LEVADA_OK) st = next_keys(batch, 1, &batch->tensors[LEVADA_BATCH_NEXT_KEY], err);
    if (st == LEVADA_OK) st = next_fields(batch, pieces, err);
    levada_free(pieces);
    return st;
}

/* -- the call ---------------------------------------------------------------------------------- */

static void next_undo(levada_state_saver *s, levada_saver_op *op)
{
    levada_saver_return_locked(s, op->batch);
}

static levada_status next_fail(levada_state_saver *s, const levada_saver_op *op, int64_t timeout,
                               levada_error *err)
{
    char text[224];

    switch (op->why) {
    case LEVADA_SAVER_OK: return LEVADA_OK;
    case LEVADA_SAVER_NOT_NOW: return LEVADA_AGAIN;
    case LEVADA_SAVER_FORKED: return levada_process_refuse("state saver", err);
    case LEVADA_SAVER_DRAINED:
        return levada_fail(err, LEVADA_EOUT_OF_RANGE,
                           "State saver '%s' is closed and has insufficient elements (requested "
                           "%lld, total size %lld)",
                           s->name, (long long)op->n, (long long)op->total);
    case LEVADA_SAVER_ABANDONED:
        return levada_fail(err, LEVADA_EFAILED_PRECONDITION,
                           "State saver '%s': no batch can be filled any more: %s", s->name,
                           levada_saver_describe(s, text, sizeof(text)));
    case LEVADA_SAVER_UNFED:
        return levada_fail(err, LEVADA_EFAILED_PRECONDITION,
                           "State saver '%s' is closed, but unfinished examples of the restored "
                           "state were not inserted again",
                           s->name);
    case LEVADA_SAVER_LATE:
        return levada_fail(err, LEVADA_EDEADLINE_EXCEEDED,
                           "State saver '%s': next(%lld) timed out after %.3f s: %s", s->name,
                           (long long)op->n, (double)timeout * 1e-9,
                           levada_saver_describe(s, text, sizeof(text)));
    default:
        return levada_fail(err, LEVADA_ECANCELLED, "State saver '%s': next was cancelled", s->name);
    }
}

static levada_status next_check(const levada_state_saver *s, int64_t n, levada_error *err)
{
    if (n < 0) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "State saver '%s': batch_size %lld is negative", s->name, (long long)n);
    }
    if (s->ledger.capacity < 0 || n <= s->ledger.capacity) return LEVADA_OK;
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                       "capacity needs to be >= batch_size. State saver '%s': %lld < %lld", s->name,
                       (long long)s->ledger.capacity, (long long)n);
}

levada_status levada_state_saver_next(levada_state_saver *saver, int64_t n, int64_t timeout,
                                      levada_segment_batch **out, levada_error *err)
{
    levada_saver_op op = { .n = n };
    levada_status   st;

    LEVADA_TRY(LEVADA_USABLE(saver, "state saver", err));
    LEVADA_TRY(levada_require(out != NULL, "out", err));
    if (n == -1) op.n = saver->batch_size;
    LEVADA_TRY(next_check(saver, op.n, err));
    LEVADA_TRY(levada_saver_make_batch(saver, op.n, &op.batch, err));
    op.batch->saver = saver;
    levada_saver_run(saver, &saver->takes, &saver->take_site, &op, "next", timeout, next_undo);
    st = next_fail(saver, &op, timeout, err);
    if (st == LEVADA_OK) {
        op.batch->saved->n = op.batch->taken.n;
        st = next_tensors(op.batch, err);
        if (st != LEVADA_OK) levada_saver_take_back(saver, op.batch);
    }
    if (st != LEVADA_OK) {
        if (op.why != LEVADA_SAVER_FORKED) levada_saver_free_batch(saver, op.batch);
        return st;
    }
    (void)levada_state_saver_ref(saver);
    *out = op.batch;
    return LEVADA_OK;
}
