/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Skip counts: the one account of everything that a run skips, and why.
 *
 * Rejected records, damage in files, missing and empty files, and records dropped by design are
 * rejects (skip/rejects.h). A reject travels beside the block whose rows come after it, through all
 * stages. The iterator of a user counts it (levada_skip_commit), in the order of records, where the
 * consumer passes it. What threads read ahead, and what a `take` ends before, is never counted.
 *
 * A run has one account (levada_skips) with the policy of `errors=` and the first causes. It has
 * many places that count (levada_skip_counts): each source, run of fused stages and SERIAL stage is
 * one. All pipes that a combiner opens count at the place of that combiner. Each place has its own
 * budget.
 *
 * A budget in records needs only these counts. A share also needs the number of records up to the
 * bad one. Only the place itself knows it (levada_skip_progress), and writes it into the reject.
 *
 * Counters are atomic, and notes have a lock: statistics may be read from any thread. Counts and
 * causes are part of a state, under the path of their place.
 */
#ifndef LEVADA_SKIP_SKIPS_H
#define LEVADA_SKIP_SKIPS_H

#include "description/policy.h"
#include "runtime/lock.h"
#include "state/state_priv.h"
#include "tensor/block_priv.h"

#include <stdatomic.h>

#define LEVADA_SKIP_NOTES 64 /* causes that an account keeps: the first ones */
/* Messages of notes about a file that lost nothing. */
#define LEVADA_FILE_EMPTY   "the file has no records"
#define LEVADA_FILE_CHANGED "the file was written to while it was read"

/* What was skipped at one place. */
typedef struct levada_skip_counts {
    const char  *path;           /* of the place; borrowed */
    atomic_llong bad;            /* records; a place of damage in a file counts as one           */
    atomic_llong unseen;         /* lost records beyond `bad`: estimated for a budget in percent */
    atomic_llong damaged;        /* bytes                                                        */
    atomic_llong missing, empty; /* files                                                        */
    atomic_llong dropped;        /* records dropped by design, such as by drop_remainder         */
} levada_skip_counts;

/* How far a place has come, ahead of the consumer: for shares. A pass that the consumer did not
 * read to its end does not count: how far threads read ahead in it depends on timing. */
typedef struct levada_skip_progress {
    int64_t read; /* records; of a combiner that opens pipes, good ones that it emitted */
    int64_t lost; /* bad ones, with those that are estimated */
    int64_t read_before, lost_before; /* where this pass began */
} levada_skip_progress;

/* Why something was skipped, and where that is counted. */
typedef struct levada_note {
    levada_error              why;
    const levada_skip_counts *of;
    int64_t                   number; /* in the order of all of a run, restored ones included */
    bool                      lost;   /* a record or a file; false: it is odd, and costs nothing */
} levada_note;

/* The account of a run. Zeroed, with a lock, it is empty. */
typedef struct levada_skips {
    levada_policy policy;
    levada_mutex *lock; /* borrowed */
    /* -- guarded by the lock */
    levada_note *notes; /* NULL until there is one */
    int64_t      nnotes, next_number;
} levada_skips;

/* Where somebody rejects. */
typedef struct levada_skip_place {
    levada_skip_counts *counts;
    const char         *path;  /* of the stage; borrowed */
    bool                piped; /* in a pipe: the counts are those of the combiner that opened it */
} levada_skip_place;

void levada_skips_clear(levada_skips *account);
/* Returns the loss of `records` (0 or 1) under a policy; not numbered yet. */
levada_loss levada_skip_loss(const levada_skip_place *place, const levada_policy *policy,
                             int64_t records);
/* Numbers the loss: `good` of `progress` came before, and it is the next bad one. */
void levada_skip_number(levada_loss *loss, levada_skip_progress *progress, int64_t good);
/* Begins the next pass when one has ended. */
void levada_skip_next_pass(levada_skip_progress *progress, bool read_to_end);
/* Counts a reject and lists its cause; logs what costs no record. Returns its code, with the
 * cause in *err, where the budget ends: it is not counted then. `account`: NULL = causes are not
 * kept. */
LEVADA_MUST_USE levada_status levada_skip_commit(levada_skips *account, const levada_env *env,
                                               const levada_reject *reject, levada_error *err);

/* -- states (skips_state.c) */

/* Saves the entries of a place: only where there is something, so that a run without bad records
 * costs nothing. Restoring is for a place that has counted nothing yet. */
LEVADA_MUST_USE levada_status levada_skips_save(const levada_skips       *account,
                                                const levada_skip_counts *counts,
                                                levada_state_writer *to, levada_error *err);
LEVADA_MUST_USE levada_status levada_skips_restore(levada_skips        *account,
                                                   levada_skip_counts  *counts,
                                                   levada_state_reader *from, levada_error *err);
LEVADA_MUST_USE levada_status levada_skip_progress_save(const levada_skip_progress *progress,
                                                        levada_state_writer *to,
                                                        levada_error        *err);
LEVADA_MUST_USE levada_status levada_skip_progress_restore(levada_skip_progress *progress,
                                                           levada_state_reader *from,
                                                           levada_error *err);
/* Losses of several places. */
typedef struct levada_losses {
    int64_t skipped, damaged_bytes, missing, empty, dropped;
} levada_losses;

/* Adds what a place counted. */
void levada_losses_count(levada_losses *to, const levada_skip_counts *counts);

#endif
