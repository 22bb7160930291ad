/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a user holds: a tree of nodes that returns whole blocks (never selections), and what
 * concerns all of it. Restoring builds a new tree and swaps.
 *
 * One owner at a time calls next, save, restore and rewind (levada_iter_enter). Calls of any
 * thread, such as stats, look at the tree with `lock` held, so that it is not swapped meanwhile.
 */
#ifndef LEVADA_RUN_ITER_H
#define LEVADA_RUN_ITER_H

#include "base/text.h"
#include "run/delivery.h"
#include "run/node.h"

struct levada_iter {
    unsigned            process; /* that it belongs to (base/process.h) */
    levada_iter        *self;    /* for calls that take it as const: they lock and count */
    levada_run         *run;
    levada_node        *root;
    bool                ended;
    levada_status       stuck; /* an error that is repeated */
    levada_error        why;
    atomic_llong        records, blocks; /* that next() returned */
    levada_iter_options options;
    char               *errors;   /* copy of options.errors */
    bool                restored; /* records that came before are not counted */
    bool                quiet;    /* the end logs nothing: it only looks at records */
    levada_mutex lock;     /* guards the tree against being swapped while others look at it */
    /* -- guarded by lock */
    bool         cancelled;
    levada_trace *trace; /* owned; NULL until one was started */
    levada_run  *restoring; /* the run that a restore makes, and its root; NULL = none */
    levada_node *restoring_root;
    levada_delivery delivery;
    /* -- */
    atomic_int calls; /* calls of any thread that are running, for the child of a fork */
    /* Debug builds: the thread that is in a call of its owner, 0 = none, and how deep. */
    atomic_ullong inside;
    int           depth;
};

/* Begins a call of the owner: debug builds check that there is one at a time. */
void levada_iter_enter(levada_iter *it);
void levada_iter_leave(levada_iter *it);
/* Begins a call of any thread: the tree stays as it is until levada_iter_look_end. */
void levada_iter_look(const levada_iter *it);
void levada_iter_look_end(const levada_iter *it);

/* Reads record `number`, apart from what the iterator returns, as a block of its own. The dataset
 * is a source of files with an index, and stages that make one record of one. What has changed
 * since the iterator was opened is an error; EOUT_OF_RANGE: the record does not exist. */
LEVADA_MUST_USE levada_status levada_iter_at(levada_iter *it, int64_t number, levada_block **out,
                                             levada_error *err);

/* -- what it received (stats.c) */

/* What the consumer received. */
#define LEVADA_RECEIVED_COUNTS 4
typedef struct levada_received {
    /* Records, blocks, elements of padded columns and those of records. */
    int64_t        counts[LEVADA_RECEIVED_COUNTS];
    levada_receipt receipt;
} levada_received;

/* Adds (1) or subtracts (-1) all but the first `from` rows of a block as received. */
void levada_stats_recount(levada_iter *it, const levada_block *block, int64_t from, int64_t times);
void levada_stats_get(levada_iter *it, levada_received *out);
LEVADA_MUST_USE levada_status levada_stats_put(const levada_received *received,
                                               levada_state_writer *to, levada_error *err);
/* Restores what was received; nothing if the state of an older version does not say it. */
LEVADA_MUST_USE levada_status levada_stats_load(levada_state_reader *from, levada_received *out,
                                                levada_error *err);
/* Replaces them; with the lock of the iterator. */
void levada_stats_set(levada_iter *it, const levada_received *received);
/* Prints the numbers that a stage shows, as further entries of a JSON object. */
void levada_stats_gauges(const levada_node *it, levada_text *text);
/* Counts a call of next() that began then and made `rows` (-1 = none). */
void levada_stats_waited(levada_run *run, int64_t began, int64_t rows);
/* Writes the JSON of levada_iter_stats; `bytes` were read. With the lock of the iterator. */
void levada_stats_describe(const levada_iter *it, int64_t bytes, levada_text *text);
/* Logs at the end how many records were skipped, and the first reason. */
void levada_stats_conclude(levada_iter *it);

#endif
