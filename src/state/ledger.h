/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ledger of sequences that are consumed in segments: which of them are live, which have a
 * segment that is ready, and which are in a batch that its consumer has not answered. It knows
 * numbers only. Its owner has the data, the keys, the states and the lock.
 *
 *     enter -> ready -- take --> taken -+- save ----> ready with the next segment, or finished
 *                ^                      +- return --> ready as before
 *                +----------------------+- drop, or cancel
 *
 * Ready sequences are taken in the order of their numbers. A live sequence holds capacity until its
 * last segment is taken. Not thread-safe.
 */
#ifndef LEVADA_STATE_LEDGER_H
#define LEVADA_STATE_LEDGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The first member of what the owner keeps for a sequence. */
typedef struct levada_sequence {
    struct levada_sequence *next; /* in the list of ready ones; free for the owner otherwise */
    int64_t number;               /* in the order of entry */
    int32_t segment, nsegments;
    bool    live; /* holds capacity */
} levada_sequence;

typedef enum levada_taken_status {
    LEVADA_TAKEN_OPEN,
    LEVADA_TAKEN_SAVED,
    LEVADA_TAKEN_RETURNED,
    LEVADA_TAKEN_DROPPED,
    LEVADA_TAKEN_CANCELLED
} levada_taken_status;

/* A batch of segments in the hands of a consumer. Zeroed, with space for the rows. */
typedef struct levada_taken {
    struct levada_taken *next, *prev; /* open batches, in the order of their takes */
    levada_sequence    **rows;        /* n, ascending by number */
    int64_t              n;
    int64_t              ncontinuing; /* rows that have a next segment */
    levada_taken_status  status;
    bool                 abandoned; /* its consumer is gone */
    bool                 cut;       /* taken after a cancel: rows have no next segment */
} levada_taken;

typedef struct levada_ledger_counts {
    int64_t live, reserved;      /* sequences that hold capacity, or will */
    int64_t ready;               /* sequences with a segment that can be taken */
    int64_t incomplete;          /* segments of live sequences that wait for the one before them */
    int64_t unsaved, abandoned;  /* rows of open batches with a next segment; without a consumer */
    int64_t inserted, finished, discarded, dropped; /* sequences so far */
    int64_t segments;            /* taken so far */
} levada_ledger_counts;

typedef struct levada_ledger {
    int64_t capacity; /* live sequences; -1 = without a limit */
    bool    small;    /* a smaller last batch is allowed */
    bool    closed, cancelled;
    bool    ended; /* what is ready is too little for a batch, for good */
    levada_sequence     *ready, *ready_last;
    levada_taken        *taken, *taken_last;
    levada_ledger_counts counts;
} levada_ledger;

static inline bool levada_sequence_is_last(const levada_sequence *e)
{
    return e->segment + 1 == e->nsegments;
}

/* -- sequences */

/* Returns true if no further sequence may enter now. */
static inline bool levada_ledger_is_full(const levada_ledger *l)
{
    return l->capacity >= 0 && l->counts.live + l->counts.reserved >= l->capacity;
}

/* Enters a sequence, which gets the next number. */
void levada_ledger_enter(levada_ledger *l, levada_sequence *e);
/* Makes n sequences ready that had entered in an earlier process, ascending by number. */
void levada_ledger_resume(levada_ledger *l, levada_sequence *const *rows, int64_t n);

/* -- batches */

typedef enum levada_ledger_answer {
    LEVADA_LEDGER_NOW,
    LEVADA_LEDGER_WAIT,
    LEVADA_LEDGER_DRAINED,
    LEVADA_LEDGER_ABANDONED /* what is left waits for states that nobody can save */
} levada_ledger_answer;

/* Decides whether a batch of `want` segments (0 = an empty one) can be taken, while `waiting`
 * sequences wait for capacity. NOW: *n segments. Otherwise *total is how many may become ready. */
levada_ledger_answer levada_ledger_ask(levada_ledger *l, int64_t want, int64_t waiting, int64_t *n,
                                       int64_t *total);
/* Sequences that may still enter while `waiting` of them wait for capacity. */
int64_t levada_ledger_entering(const levada_ledger *l, int64_t waiting);
/* Takes the first n ready segments. */
void levada_ledger_take(levada_ledger *l, levada_taken *taken, int64_t n);
/* Ends an open batch whose states are saved: rows with a next segment are ready again. The others
 * are finished, and become the list *finished by `next`. The batch is empty then. */
void levada_ledger_save(levada_ledger *l, levada_taken *taken, levada_sequence **finished);
/* Returns all rows of a batch that is open, or was cancelled, as if it had not been taken. The
 * batch is empty then. */
void levada_ledger_return(levada_ledger *l, levada_taken *taken);
/* Ends an open batch: its rows are nobody's any more. */
void levada_ledger_drop(levada_ledger *l, levada_taken *taken);
/* Abandons a batch: its consumer leaves. Returns true if the batch stays open, because rows wait
 * for states. */
bool levada_ledger_abandon(levada_ledger *l, levada_taken *taken);
/* Cancels, once: open batches with rows that wait for states end, and become the list *cancelled by
 * `next`. Sequences that are ready have one more segment, and no next one. */
void levada_ledger_cancel(levada_ledger *l, levada_taken **cancelled);
/* Returns the oldest open batch that has states to save, or NULL. */
levada_taken *levada_ledger_oldest(const levada_ledger *l);

#endif
