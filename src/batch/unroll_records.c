/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "batch/unroll_priv.h"
#include "state/damaged.h"

#include <string.h>

#define RECORDS_MOST_SEGMENTS INT32_MAX

levada_status levada_unroll_memory(levada_error *err)
{
    return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for sequences");
}

levada_status levada_unroll_records_open(levada_unroll_records *r, const levada_unroll_args *args,
                                         const levada_context *context, levada_error *err)
{
    r->context = context;
    r->args = args;
    r->how = levada_unroll_how(args);
    return levada_rowstore_create(context, &r->store, err);
}

void levada_unroll_records_close(levada_unroll_records *r)
{
    levada_rowstore_destroy(&r->store);
    levada_derived_clear(&r->columns);
    levada_free(r->waiting);
}

/* -- records come */

static levada_status records_reserve(levada_unroll_records *r, int64_t rows, levada_error *err)
{
    return levada_reserve(&r->waiting, &r->capacity, rows, sizeof *r->waiting)
               ? LEVADA_OK
               : levada_unroll_memory(err);
}

static levada_status records_measure(const levada_unroll_records *r, const levada_block *rows,
                                     int64_t row, levada_unroll_record *to, levada_error *err)
{
    LEVADA_TRY(levada_unrolling_measure(&r->how, rows, row, &to->steps, err));
    LEVADA_TRY(levada_unrolling_count(&r->how, to->steps, &to->segments, err));
    if (to->segments <= RECORDS_MOST_SEGMENTS) return LEVADA_OK;
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                       "a sequence must have at most %lld segments, got %lld; raise num_unroll",
                       (long long)RECORDS_MOST_SEGMENTS, (long long)to->segments);
}

/* Notes how record `row` is cut. A bad one is rejected when its turn has come. */
static void records_note(const levada_unroll_records *r, const levada_block *rows, int64_t row,
                         levada_unroll_record *to)
{
    if (records_measure(r, rows, row, to, NULL) != LEVADA_OK) to->segments = LEVADA_UNROLL_BAD;
}

levada_status levada_unroll_records_columns(levada_unroll_records *r, const levada_spec *in,
                                            const levada_spec **out, levada_error *err)
{
    return levada_derived_get(&r->columns, levada_unroll_check, r->args, in, out, err);
}

/* Adds the records of a block to the store together, so that it knows what a block still pins. */
static levada_status records_arrive(levada_unroll_records *r, const levada_block *block,
                                    levada_error *err)
{
    const levada_spec *spec = NULL;
    uint32_t *stored;
    levada_status st;

    LEVADA_TRY(levada_unroll_records_columns(r, block->spec, &spec, err));
    LEVADA_TRY(records_reserve(r, block->n, err));
    stored = levada_alloc((size_t)block->n * sizeof *stored + 1);
    if (!stored) return levada_unroll_memory(err);
    st = levada_rowstore_add(r->store, block, 0, block->n, stored, err);
    for (int64_t i = 0; st == LEVADA_OK && i < block->n; i++) {
        r->waiting[i] = (levada_unroll_record){ .stored = stored[i] };
        records_note(r, block, i, &r->waiting[i]);
    }
    levada_free(stored);
    if (st != LEVADA_OK) return st;
    r->at = 0;
    r->n = block->n;
    return LEVADA_OK;
}

levada_status levada_unroll_records_release(levada_unroll_records *r, const uint32_t *stored,
                                            int64_t n, levada_error *err)
{
    levada_block *gone = NULL;

    if (n == 0) return LEVADA_OK;
    LEVADA_TRY(levada_rowstore_take(r->store, stored, n, &gone, err));
    levada_block_unref(&gone);
    return LEVADA_OK;
}

levada_status levada_unroll_records_reject(levada_unroll_records *r,
                                           const levada_unroll_record *record,
                                           const levada_error *why, levada_error *err)
{
    levada_block *row = NULL;
    levada_status st;

    LEVADA_TRY(levada_rowstore_take(r->store, &record->stored, 1, &row, err));
    st = levada_context_reject(r->context, row, r->n - r->at, why, err);
    levada_block_unref(&row);
    return st;
}

/* Judges a record that cannot be cut, or has no segment. */
static levada_status records_judge(levada_unroll_records *r, const levada_unroll_record *record,
                                   const levada_block *row, levada_error *err)
{
    levada_unroll_record none = { 0 };
    levada_error why = LEVADA_ERROR_INIT;

    if (record->segments != LEVADA_UNROLL_BAD) {
        r->dropped_steps += record->steps;
        levada_context_dropped(r->context, 1);
        return LEVADA_OK;
    }
    if (records_measure(r, row, 0, &none, &why) == LEVADA_OK) return LEVADA_OK;
    return levada_context_reject(r->context, row, r->n - r->at, &why, err);
}

static levada_status records_leave_out(levada_unroll_records *r, levada_error *err)
{
    const levada_unroll_record *record = &r->waiting[r->at];
    levada_block *row = NULL;
    levada_status st;

    LEVADA_TRY(levada_rowstore_take(r->store, &record->stored, 1, &row, err));
    r->at++;
    st = records_judge(r, record, row, err);
    levada_block_unref(&row);
    return st;
}

levada_status levada_unroll_records_next(levada_unroll_records *r, levada_input *in,
                                         levada_unroll_record *out, levada_error *err)
{
    for (;;) {
        levada_block *block = NULL;
        levada_status st;

        while (r->at < r->n && r->waiting[r->at].segments <= 0) {
            LEVADA_TRY(records_leave_out(r, err));
        }
        if (r->at < r->n) break;
        LEVADA_TRY(levada_input_next(in, &block, err));
        st = records_arrive(r, block, err);
        levada_block_unref(&block);
        LEVADA_TRY(st);
    }
    *out = r->waiting[r->at++];
    r->dropped_steps += levada_unrolling_dropped(&r->how, out->steps, out->segments);
    return LEVADA_OK;
}

/* -- states: what waits, and the rows; the layout saves the rest of what it knows about its own */

levada_status levada_unroll_records_save(const levada_unroll_records *r, uint32_t *stored,
                                         int64_t n, levada_state_writer *to, levada_error *err)
{
    for (int64_t i = r->at; i < r->n; i++) stored[n++] = r->waiting[i].stored;
    LEVADA_TRY(levada_state_put_i64(to, "number", r->number, err));
    LEVADA_TRY(levada_state_put_i64(to, "dropped_steps", r->dropped_steps, err));
    LEVADA_TRY(levada_state_put_i64(to, "waiting", r->n - r->at, err));
    return levada_rowstore_save(r->store, stored, n, to, "rows", err);
}

/* Measures the records again: those of the layout first. */
static levada_status records_remeasure(levada_unroll_records *r, const levada_state_reader *from,
                                       const uint32_t *stored, levada_unroll_record *own, int64_t n,
                                       levada_error *err)
{
    const levada_spec *spec = NULL;
    levada_block *rows = NULL;
    levada_status st;

    LEVADA_TRY(levada_rowstore_peek(r->store, stored, n + r->n, &rows, err));
    st = levada_unroll_records_columns(r, rows->spec, &spec, err);
    for (int64_t i = 0; st == LEVADA_OK && i < n + r->n; i++) {
        levada_unroll_record *to = i < n ? &own[i] : &r->waiting[i - n];

        *to = (levada_unroll_record){ .stored = stored[i] };
        records_note(r, rows, i, to);
        if (i < n && to->segments <= 0) {
            st = levada_state_damaged(from, "rows", err, "sequence %lld has no segment",
                                      (long long)i);
        }
    }
    levada_block_unref(&rows);
    return st;
}

levada_status levada_unroll_records_restore(levada_unroll_records *r, levada_state_reader *from,
                                            levada_unroll_record *own, int64_t n,
                                            levada_error *err)
{
    uint32_t *stored = NULL;
    levada_status st;

    LEVADA_TRY(levada_state_get_count(from, "number", LEVADA_COUNT_LIMIT, &r->number, err));
    r->dropped_steps = 0;
    if (levada_state_has(from, "dropped_steps")) {
        LEVADA_TRY(levada_state_get_count(from, "dropped_steps", LEVADA_COUNT_LIMIT,
                                          &r->dropped_steps, err));
    }
    LEVADA_TRY(levada_state_get_count(from, "waiting", INT32_MAX, &r->n, err));
    r->at = 0;
    LEVADA_TRY(levada_rowstore_restore(r->store, from, "rows", n + r->n, &stored, err));
    st = records_reserve(r, r->n, err);
    if (st == LEVADA_OK && n + r->n > 0) st = records_remeasure(r, from, stored, own, n, err);
    levada_slots_free(&stored);
    return st;
}
