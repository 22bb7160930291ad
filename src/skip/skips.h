/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Skip counts: the one account of everything that a run leaves out, and why.
 *
 * A run has one account (levada_skips) with the policy of `errors=` and the first causes. It has
 * many places that count (levada_skip_counts): each source, run of fused stages and SERIAL stage is
 * one. All pipes that a combiner opens count at the place of that combiner. A budget holds at each
 * place by itself, in the order of records.
 *
 * A rejected row travels with its block (levada_reject). The place counts it when whoever takes
 * results in order passes the block (levada_skip_settle), so threads do not decide where a budget
 * ends. The file reader counts damage as it comes by it.
 *
 * Counters are atomic, and notes have a lock: statistics may be read from any thread. Counts and
 * causes are part of the state of their place.
 */
#ifndef LEVADA_SKIP_SKIPS_H
#define LEVADA_SKIP_SKIPS_H

#include "description/policy.h"
#include "runtime/lock.h"
#include "state/state_priv.h"

#include <stdatomic.h>

#define LEVADA_SKIP_NOTES 64 /* causes that an account keeps: the first ones */
/* The message of a note that names a file without a record: nothing was skipped there. */
#define LEVADA_FILE_EMPTY "the file has no records"

/* What was left out at one place. */
typedef struct levada_skip_counts {
    atomic_llong bad;            /* records; a place of damage in a file counts as one           */
    atomic_llong read;           /* records that came by, good and bad                           */
    atomic_llong emitted;        /* by a combiner that opens pipes: good ones, in order          */
    atomic_llong pulled;         /* by a SERIAL stage from its input, before a restore           */
    atomic_llong unseen;         /* lost records beyond `bad`: estimated for a budget in percent */
    atomic_llong damaged;        /* bytes                                                        */
    atomic_llong missing, empty; /* files                                                        */
    atomic_llong dropped;        /* records left out by design, such as by drop_remainder        */
} levada_skip_counts;

/* Why something was left out, and where that is counted. */
typedef struct levada_note {
    levada_error              why;
    const levada_skip_counts *of;
    int64_t                   number; /* in the order of all of a run, restored ones included */
} levada_note;

/* The account of a run. Zeroed, with a lock, it is empty. */
typedef struct levada_skips {
    levada_policy policy;
    levada_mutex *lock; /* borrowed */
    /* -- guarded by the lock */
    levada_note *notes; /* NULL until there is one */
    int64_t      nnotes, next_number;
} levada_skips;

/* Where somebody counts. */
typedef struct levada_skip_place {
    levada_skips       *account; /* NULL: causes are not kept */
    levada_skip_counts *counts;
    const char         *path;  /* of the stage; borrowed */
    bool                piped; /* in a pipe: the counts are those of the combiner that opened it */
} levada_skip_place;

void levada_skips_clear(levada_skips *account);
/* Keeps why something was left out. Any thread. */
void levada_skip_note(const levada_skip_place *place, const levada_error *why);
/* Whether the policy allows `more` lost records after those counted, with `good` ones so far. For a
 * place in a pipe, the combiner knows how many are good. */
bool levada_skip_allows(const levada_skip_place *place, const levada_policy *policy, int64_t more,
                        int64_t good);
/* Counts `records` more in their order, and the rejects that *made carries: it carries none then.
 * Returns the error of the record at which the budget ends, and takes *made. */
LEVADA_MUST_USE levada_status levada_skip_settle(const levada_skip_place *place, int64_t records,
                                                 levada_block **made, levada_error *err);
/* Counts one bad record, the last of `read` that the place came by. Returns why->code, with *why in
 * *err, where the budget ends. */
LEVADA_MUST_USE levada_status levada_skip_reject(const levada_skip_place *place, int64_t read,
                                                 const levada_error *why, levada_error *err);

/* The entries of a place: only where there is something, so that a run without bad records costs
 * nothing. `pulled`: see there. Restoring is for a place that has counted nothing yet. */
LEVADA_MUST_USE levada_status levada_skips_save(const levada_skips       *account,
                                                const levada_skip_counts *counts, int64_t pulled,
                                                levada_state_writer *to, levada_error *err);
LEVADA_MUST_USE levada_status levada_skips_restore(levada_skips        *account,
                                                   levada_skip_counts  *counts,
                                                   levada_state_reader *from, levada_error *err);

/* Losses upstream of some place, as of the records that have passed it. */
typedef struct levada_losses {
    int64_t skipped, damaged_bytes, missing, empty, dropped;
} levada_losses;

/* Adds `times` times what a place counted, or other losses. */
void levada_losses_count(levada_losses *to, const levada_skip_counts *counts);
void levada_losses_add(levada_losses *to, const levada_losses *more, int64_t times);

#endif
