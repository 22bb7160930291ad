/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The layout `ready` of unroll, from the inside: unroll_ready.c reads records and makes batches,
 * unroll_feed.c takes states back, and unroll_ready_state.c saves and restores. The ledger
 * (state/ledger.h) knows which segments come next; the records are in the row store.
 */
#ifndef LEVADA_BATCH_UNROLL_READY_H
#define LEVADA_BATCH_UNROLL_READY_H

#include "batch/unroll_priv.h"
#include "state/ledger.h"

#define LEVADA_UNROLL_SETTLED 64 /* batches without states that are remembered */
#define LEVADA_READY_SUFFIX 24   /* bytes of a number that makes a key unique */

/* A sequence that is not finished: ready, or in a batch of the consumer. */
typedef struct levada_ready_sequence {
    levada_sequence sequence; /* first */
    levada_unroll_record record;
    struct levada_ready_sequence *chain; /* in its bucket of keys */
    bool keyed;                          /* is in the table of keys */
    uint64_t hash;
    size_t key_size;
    uint8_t bytes[]; /* the states, one after another; then the key */
} levada_ready_sequence;

/* A batch in the hands of the consumer. */
typedef struct levada_ready_batch {
    levada_taken taken; /* first */
    int64_t number, taken_at;
    int32_t nunsaved;      /* states */
    levada_block **blocks; /* of each state that was saved, or NULL */
    const uint8_t **values; /* of these, for all rows */
} levada_ready_batch;

typedef struct levada_ready_state {
    levada_ledger ledger; /* its open batches are levada_ready_batch */
    levada_spec *states;
    size_t *at; /* one for each state, and the end: where its values are in those of a sequence */
    levada_ready_sequence **buckets; /* nbuckets, a power of two; keys of live sequences */
    uint64_t nbuckets;
    levada_sequence *gone; /* finished or dropped: they leave the store */
    int64_t settled[LEVADA_UNROLL_SETTLED]; /* numbers; the next place is nsettled modulo size */
    int64_t nsettled;
    int64_t batches; /* number of the next one */
    int64_t suffix;  /* for unique keys */
    int64_t dropped; /* discarded, and not counted yet */
    bool over;       /* no batch follows */
} levada_ready_state;

static inline int32_t levada_ready_nstates(const levada_ready_state *own)
{
    return levada_spec_count(own->states);
}

static inline levada_ready_sequence *levada_ready_row(const levada_ready_batch *batch, int64_t i)
{
    return (levada_ready_sequence *)(void *)batch->taken.rows[i];
}

static inline levada_ready_batch *levada_ready_batch_of(const levada_taken *taken)
{
    return (levada_ready_batch *)(uintptr_t)taken;
}

static inline uint8_t *levada_ready_key(const levada_ready_state *own,
                                        const levada_ready_sequence *e)
{
    return (uint8_t *)(uintptr_t)e->bytes + own->at[levada_ready_nstates(own)];
}

/* Creates a sequence with states of zeros and space for a unique key; NULL without memory. */
levada_ready_sequence *levada_ready_create(const levada_ready_state *own,
                                           const levada_unroll_record *record, const void *key,
                                           size_t key_size);
void levada_ready_add_key(levada_ready_state *own, levada_ready_sequence *e);
/* Ends a batch whose states are saved, or that needs none. */
void levada_ready_finish(levada_ready_state *own, levada_ready_batch *batch);
/* Ends a batch whose rows are ready again as they were. */
void levada_ready_return(levada_ready_state *own, levada_ready_batch *batch);
/* Ends a batch whose rows are nobody's any more. */
void levada_ready_discard(levada_ready_state *own, levada_ready_batch *batch);
/* Lets the records that are done leave the store. */
LEVADA_MUST_USE levada_status levada_ready_sweep(levada_unroll_state *s, levada_error *err);
/* Adds the counts to the statistics. */
void levada_ready_show(const levada_unroll_state *s);

/* Hooks of the layout. */
LEVADA_MUST_USE levada_status levada_ready_feed(levada_unroll_state *s, const levada_block *back,
                                                levada_error *err);
LEVADA_MUST_USE levada_status levada_ready_save(const levada_unroll_state *s,
                                                levada_state_writer       *to,
                                                levada_error *err);
LEVADA_MUST_USE levada_status levada_ready_restore(levada_unroll_state *s,
                                                   levada_state_reader *from,
                                                   levada_error *err);

#endif
