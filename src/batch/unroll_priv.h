/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stage `unroll` from the inside: unroll.c has its options and its descriptor, unroll_check.c
 * checks them, unroll_records.c has the records that come in, and unroll_slots.c and unroll_ready.c
 * the two layouts.
 */
#ifndef LEVADA_BATCH_UNROLL_PRIV_H
#define LEVADA_BATCH_UNROLL_PRIV_H

#include "base/compiler.h"
#include "batch/unrolling.h"
#include "description/columns.h"
#include <levada/rowstore.h>

#define LEVADA_UNROLL_ROWS 65536 /* slots, or rows of a batch */

typedef struct levada_unroll_args {
    int64_t num_unroll, batch_size, burn_in, shift, min_segment, zero_length;
    int64_t layout, capacity;
    const char *key, *length;
    levada_texts sequences, context, targets;
    levada_ints ranks;
    const levada_value *states, *padding_values;
    bool pad, allow_small_batch, make_keys_unique, check_finite;
} levada_unroll_args;

enum { LEVADA_UNROLL_SLOTS,
       LEVADA_UNROLL_READY }; /* layout */

/* A record that is not finished, in the row store. */
typedef struct levada_unroll_record {
    uint32_t stored;
    int64_t number, steps;
    int64_t segments; /* 0: it is skipped, LEVADA_UNROLL_BAD: it cannot be cut */
} levada_unroll_record;

#define LEVADA_UNROLL_BAD (-1)

/* Records between the input and the layout. They wait whole in the row store, by reference, from
 * the arrival of their block until they are taken out of it. */
typedef struct levada_unroll_records {
    const levada_context *context;
    const levada_unroll_args *args;
    levada_unrolling how;
    levada_rowstore *store;
    levada_unroll_record *waiting; /* [at, n) of the last block */
    int64_t at, n, capacity;
    int64_t number;        /* of the next record that comes */
    int64_t dropped_steps; /* by min_segment */
    levada_derived columns;
} levada_unroll_records;

levada_unrolling levada_unroll_how(const levada_unroll_args *args);
/* Reads the option `states`: dense numbers of known shapes. */
LEVADA_MUST_USE levada_status levada_unroll_states(const levada_unroll_args *args,
                                                   levada_spec **out, levada_error *err);
/* Implements check() of the stage. */
LEVADA_MUST_USE levada_status levada_unroll_check(const void *args, const levada_spec *in,
                                                  levada_spec **out, levada_error *err);
levada_status levada_unroll_memory(levada_error *err);

LEVADA_MUST_USE levada_status levada_unroll_records_open(levada_unroll_records *r,
                                                         const levada_unroll_args *args,
                                                         const levada_context *context,
                                                         levada_error *err);
void levada_unroll_records_close(levada_unroll_records *r);
/* Finds the next record that has segments; it stays in the store, and has no number yet. Passes on
 * what the input answers in place of a block. */
LEVADA_MUST_USE levada_status levada_unroll_records_next(levada_unroll_records *r,
                                                         levada_input *in,
                                                         levada_unroll_record *out,
                                                         levada_error *err);
/* Rejects a record that cannot be used after all: the `errors` policy of the iterator skips and
 * counts it. It leaves the store. */
LEVADA_MUST_USE levada_status levada_unroll_records_reject(levada_unroll_records *r,
                                                           const levada_unroll_record *record,
                                                           const levada_error *why,
                                                           levada_error *err);
/* Releases these records from the store. */
LEVADA_MUST_USE levada_status levada_unroll_records_release(levada_unroll_records *r,
                                                            const uint32_t *stored, int64_t n,
                                                            levada_error *err);
/* Makes the columns of a batch of records with the columns `in`. */
LEVADA_MUST_USE levada_status levada_unroll_records_columns(levada_unroll_records *r,
                                                            const levada_spec *in,
                                                            const levada_spec **out,
                                                            levada_error *err);
/* Writes the rows of the layout (`stored`, n of them, with space for those that wait after them)
 * and those that wait. */
LEVADA_MUST_USE levada_status levada_unroll_records_save(const levada_unroll_records *r,
                                                         uint32_t *stored, int64_t n,
                                                         levada_state_writer *to,
                                                         levada_error *err);
/* Reads them: `own` gets the n of the layout, measured again, without their numbers. */
LEVADA_MUST_USE levada_status levada_unroll_records_restore(levada_unroll_records *r,
                                                            levada_state_reader *from,
                                                            levada_unroll_record *own, int64_t n,
                                                            levada_error *err);

/* A layout: slots (unroll_slots.c) or ready (unroll_ready.c). */
typedef struct levada_unroll_layout levada_unroll_layout;

typedef struct levada_unroll_state {
    levada_unroll_records records;
    const levada_unroll_layout *layout;
    void *own; /* of the layout */
} levada_unroll_state;

/* As in levada_stage_def. */
struct levada_unroll_layout {
    levada_status (*open)(levada_unroll_state *s, levada_error *err);
    void (*close)(levada_unroll_state *s);
    levada_status (*next)(levada_unroll_state *s, levada_input *in, levada_block **out,
                          levada_error *err);
    levada_status (*feed)(levada_unroll_state *s, const levada_block *back, levada_error *err);
    void (*take_back)(levada_unroll_state *s);
    levada_status (*save)(const levada_unroll_state *s, levada_state_writer *to,
                          levada_error *err);
    levada_status (*restore)(levada_unroll_state *s, levada_state_reader *from,
                             levada_error *err);
};

LEVADA_HIDDEN extern const levada_unroll_layout levada_unroll_slots, levada_unroll_ready;

#endif
