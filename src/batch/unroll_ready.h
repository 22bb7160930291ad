/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The layout `ready` of unroll, from the inside: unroll_ready.c reads records and makes batches,
 * unroll_feed.c takes states back, and unroll_ready_state.c saves and restores.
 */
#ifndef LEVADA_BATCH_UNROLL_READY_H
#define LEVADA_BATCH_UNROLL_READY_H

#include "batch/unroll_priv.h"

#define LEVADA_UNROLL_SETTLED 64 /* batches without states that are remembered */

/* A record of which segments are left, or are in a batch that is open. */
typedef struct levada_ready_live {
    levada_unroll_record record;
    bool done; /* it can leave the store */
} levada_ready_live;

/* A batch in the hands of the consumer. */
typedef struct levada_ready_open {
    levada_segment_batch *batch;
    int64_t number, n;
    int32_t nunsaved;  /* states */
    bool continues; /* some row has a next segment */
} levada_ready_open;

typedef struct levada_ready_state {
    levada_state_saver *saver;
    levada_spec *states;
    levada_tensor **zeros; /* one for each state */
    const levada_tensor **values; /* scratch, one for each state */
    levada_ready_live *live; /* ascending by number */
    int64_t nlive, live_capacity;
    levada_ready_open *open; /* ascending by number */
    int64_t nopen, open_capacity;
    int64_t settled[LEVADA_UNROLL_SETTLED]; /* numbers; the next place is nsettled modulo size */
    int64_t nsettled;
    int64_t batches; /* number of the next one */
    int64_t dropped; /* discarded, and not counted yet */
    bool closed; /* the input has ended */
    bool over;   /* no batch follows   */
} levada_ready_state;

static inline int32_t levada_ready_nstates(const levada_ready_state *own)
{
    return levada_spec_count(own->states);
}

/* Records that are done leave the store. */
LEVADA_MUST_USE levada_status levada_ready_sweep(levada_unroll_state *s, levada_error *err);
/* The batch is open no longer, and was requeued, or its records are done as noted. */
void levada_ready_forget(levada_ready_state *own, levada_ready_open *open);
/* A batch ends: records of last segments are done, and with `all` those of every row. */
LEVADA_MUST_USE levada_status levada_ready_finish(const levada_unroll_state *s,
                                                  levada_ready_open         *open,
                                                  bool all, levada_error *err);
/* Hands a record of the store to the saver. */
LEVADA_MUST_USE levada_status levada_ready_insert(const levada_unroll_state *s,
                                                  const levada_unroll_record *record, bool reserved,
                                                  levada_error *err);
/* For statistics. */
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
