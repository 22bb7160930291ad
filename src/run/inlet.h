/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Items: the stream of a node consists of them. An item is a block with the rejects between its
 * rows, or rejects alone.
 *
 * Inlets: the queue between an input and the node that reads it. It holds everything that the input
 * has made and its consumer has not received: an item that the consumer returned, the remainder of
 * an item that was cut, and the end of the stream, which is END or an error. A pull takes the next
 * item from the queue, and makes one only if the queue is empty. Checkpoints contain the queue.
 *
 * Each node has one consumer, so the inlet is a member of the input (levada_node.inlet).
 *
 * Ownership: an item owns its block and rejects, and an inlet owns its items. Returning an item
 * moves it into the queue.
 * Threads: an inlet belongs to the thread that pulls its input (run/node.h).
 * Failure: cutting allocates. If it fails, the item is as it was.
 */
#ifndef LEVADA_RUN_INLET_H
#define LEVADA_RUN_INLET_H

#include "skip/rejects.h"

typedef struct levada_item {
    levada_block  *block;   /* NULL = none */
    levada_rejects rejects; /* each before a row of the block, or after the last */
} levada_item;

static inline int64_t levada_item_rows(const levada_item *item)
{
    return item->block ? item->block->n : 0;
}

/* Frees the block and the rejects; what remains is empty. */
void levada_item_clear(levada_item *item);
/* Cuts an item: it becomes its first `rows` rows with its first `rejects` rejects, and the
 * remainder is moved into the empty item *rest. */
LEVADA_MUST_USE levada_status levada_item_cut(levada_item *item, int64_t rows, int32_t rejects,
                                              levada_item *rest, levada_error *err);

/* What a consumer wants of the next block. It is the only information that flows against the
 * records. A node may ignore it: its consumer then cuts the block. */
typedef struct levada_hint {
    int64_t rows;  /* the most rows of it */
    int64_t bytes; /* 0 = as blocks come; else a node that can coalesce blocks returns all of these
                    * rows, unless they have more bytes than this */
} levada_hint;

#define LEVADA_HINT_ANY ((levada_hint){ .rows = INT64_MAX })

#define LEVADA_INLET_ITEMS 2 /* one that was returned, and the remainder of the one before */

typedef struct levada_inlet {
    levada_item   items[LEVADA_INLET_ITEMS]; /* n of them, the next one first */
    int32_t       n;
    bool          returned; /* the first item is whole: the consumer returned it */
    bool          lost;     /* records may be lost with the error */
    levada_status end;      /* END or an error after the items, which is repeated; OK = none yet */
    levada_error  why;      /* the last error */
    levada_status reported; /* last END or error that the consumer received; OK = none */
    int64_t       skip_rows, skip_rejects; /* next ones to skip, after a restore */
} levada_inlet;

/* Moves the next item into *out; false if none waits. */
bool levada_inlet_take(levada_inlet *inlet, levada_item *out);
/* Moves a whole item to the beginning of the queue, where at most one such item may wait. */
void levada_inlet_return(levada_inlet *inlet, levada_item *item);

/* Returns the end as received by the consumer; OK if there is none, or items wait before it. */
levada_status levada_inlet_report(levada_inlet *inlet, levada_error *err);
/* Restores END that the consumer has received. */
static inline void levada_inlet_restore_end(levada_inlet *inlet)
{
    inlet->end = inlet->reported = LEVADA_END;
}

/* Empties the queue: the stream begins again. */
void levada_inlet_clear(levada_inlet *inlet);

/* Fills an empty queue with what a state has, in this order; each may be empty. */
void levada_inlet_restore(levada_inlet *inlet, levada_item *returned, levada_item *rest);

/* Cuts an item (levada_item_cut); the remainder waits. */
LEVADA_MUST_USE levada_status levada_inlet_cut(levada_inlet *inlet, levada_item *item,
                                               int64_t rows, int32_t rejects, levada_error *err);
/* Removes the rows and rejects that a restore left to skip. */
LEVADA_MUST_USE levada_status levada_inlet_skip(levada_inlet *inlet, levada_item *item,
                                                levada_error *err);
/* Saves how many rows and rejects of the stream at `path` to skip after a restore. */
LEVADA_MUST_USE levada_status levada_inlet_save_skip(const char *path, int64_t rows,
                                                     int64_t rejects, levada_state_writer *to,
                                                     levada_error *err);
/* Restores that, in the scope of the stream. */
LEVADA_MUST_USE levada_status levada_inlet_restore_skip(levada_inlet        *inlet,
                                                        levada_state_reader *from,
                                                        levada_error        *err);

#endif
