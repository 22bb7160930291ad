/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A state saver from the inside.
 *
 * The ledger (state/ledger.h) knows which segments come next; the saver adds the lock, the lines of
 * waiting calls, keys, tensors and states. After a restore an example is awaited, and not in the
 * ledger, until its data comes again. Its states are
 * row `row` of a set: one tensor for each state, of a whole batch, or of its initial states. A save
 * hands tensors on by reference; the next batch gathers rows, or refers to the same tensors where
 * its rows are those of the set.
 */
#ifndef LEVADA_TRAIN_STATE_SAVER_PRIV_H
#define LEVADA_TRAIN_STATE_SAVER_PRIV_H

#include "base/assert.h"
#include "base/refs.h"
#include "registry/env_priv.h"
#include "runtime/wait.h"
#include "state/ledger.h"
#include "tensor/tensor_priv.h"

#include <levada/state_saver.h>

typedef struct levada_saver_states {
    levada_refs    refs;
    int64_t        n; /* rows; 0: one value without a dimension for rows */
    levada_tensor *values[];
} levada_saver_states;

typedef struct levada_saver_live {
    levada_sequence           sequence; /* first */
    struct levada_saver_live *chain; /* in its bucket of keys */
    levada_refs               refs;
    bool                      keyed;   /* is in the table of keys                        */
    bool                      awaited; /* restored, and its data has not come again yet */
    uint64_t                  hash;
    int64_t                   length, ordinal;
    int32_t                   key_size;
    int64_t                   row;
    levada_saver_states      *states;
    levada_tensor            *values[]; /* sequences, their offsets, context; then the key */
} levada_saver_live;

struct levada_segment_batch {
    levada_taken         taken; /* first; guarded by the saver's lock, but for n and rows */
    levada_state_saver  *saver; /* a reference, until it is abandoned */
    levada_saver_states *saved; /* what was saved so far */
    levada_saver_states **old;  /* n, scratch */
    levada_tensor      **tensors; /* see LEVADA_BATCH_* */
    /* -- guarded by the saver's lock */
    bool    warned;
    int32_t nunsaved; /* states */
    int64_t taken_at;
};

static inline levada_segment_batch *levada_saver_batch(const levada_taken *taken)
{
    return (levada_segment_batch *)(uintptr_t)taken;
}

static inline levada_saver_live *levada_saver_row(const levada_segment_batch *batch, int64_t i)
{
    return (levada_saver_live *)(void *)batch->taken.rows[i];
}

/* Where the tensors of a batch are. */
enum {
    LEVADA_BATCH_TOTAL_LENGTH,
    LEVADA_BATCH_LENGTH,
    LEVADA_BATCH_INDEX,
    LEVADA_BATCH_KEY,
    LEVADA_BATCH_NEXT_KEY,
    LEVADA_BATCH_SEQUENCE,
    LEVADA_BATCH_SEQUENCE_COUNT,
    LEVADA_BATCH_FIELDS /* sequences, their offsets, context, its offsets, states */
};

/* Restored examples by ordinal, until the data of all of them has come again. */
typedef struct levada_saver_awaited {
    levada_saver_live **rows; /* references */
    int64_t             n, left;
} levada_saver_awaited;

/* Ordinals of examples that were inserted: all below `all`, and `more`, ascending. */
typedef struct levada_saver_seen {
    int64_t  all;
    int64_t *more, n, capacity;
} levada_saver_seen;

struct levada_state_saver {
    levada_refs        refs;
    unsigned           process; /* that it belongs to (base/process.h) */
    levada_env        *env;
    levada_pool       *pool;
    levada_wait_list  *wait_list;
    char              *name;
    int64_t            batch_size, unroll, state_timeout;
    bool               pad, unique, finite;
    levada_zero_length zero_length;
    int32_t            nsequences, ncontext, nstates;
    levada_saver_field *fields; /* of all three; names are owned */
    levada_site         take_site, insert_site;
    bool (*ask)(void *user); /* of a binding, or NULL */
    void *ask_user;
    levada_shown shown; /* LEVADA_SAVER_SHOW_* */
    levada_lock  lock;
    bool         has_lock;
    /* -- guarded by lock */
    bool                  settled; /* all dtypes and shapes are known, and fields do not change */
    bool                  restored;
    levada_line           takes, inserts;
    levada_ledger         ledger;
    levada_saver_live   **buckets;
    int64_t               nbuckets, nkeys;
    levada_saver_awaited  awaited;
    levada_saver_seen     seen;
    int64_t               suffix; /* for unique keys */
    int64_t               skipped, replayed;
};

static inline int32_t levada_saver_nvalues(const levada_state_saver *s)
{
    return 2 * s->nsequences + s->ncontext;
}

static inline uint8_t *levada_saver_key(const levada_state_saver *s, const levada_saver_live *e)
{
    return (uint8_t *)(uintptr_t)(e->values + levada_saver_nvalues(s));
}

static inline const levada_saver_field *levada_saver_context(const levada_state_saver *s)
{
    return s->fields + s->nsequences;
}

static inline const levada_saver_field *levada_saver_state(const levada_state_saver *s)
{
    return s->fields + s->nsequences + s->ncontext;
}

/* -- state_saver_live.c: examples, their states and keys; `locked`: the lock is held -- */

levada_saver_states *levada_saver_states_create(const levada_state_saver *s, int64_t n);
/* Drops `count` references. */
void levada_saver_states_drop(const levada_state_saver *s, levada_saver_states *states, int count);
/* Creates it without values; `extra` bytes of space after the key. NULL without memory. */
levada_saver_live *levada_saver_live_create(const levada_state_saver *s, const void *key,
                                            size_t key_size, size_t extra);
void levada_saver_live_unref(const levada_state_saver *s, levada_saver_live *e);
/* Releases a list by `next`. */
void levada_saver_live_unref_all(const levada_state_saver *s, levada_sequence *first);
levada_saver_live *levada_saver_find_locked(const levada_state_saver *s, const uint8_t *key,
                                            int32_t size);
void levada_saver_add_key_locked(levada_state_saver *s, levada_saver_live *e);
void levada_saver_remove_key_locked(levada_state_saver *s, levada_saver_live *e);
void levada_saver_free_awaited(levada_state_saver *s);
bool levada_saver_saw_locked(const levada_state_saver *s, int64_t ordinal);
/* Notes that it was seen; returns false without memory. */
bool levada_saver_see_locked(levada_state_saver *s, int64_t ordinal);

/* -- state_saver_fields.c: what fits -- */

/* Steps of an example once padded, and its length. */
typedef struct levada_saver_extent {
    int64_t steps, length, nsegments;
} levada_saver_extent;

LEVADA_MUST_USE levada_status levada_saver_copy_fields(levada_state_saver               *s,
                                                       const levada_state_saver_options *o,
                                                       levada_error *err);
void levada_saver_free_fields(levada_state_saver *s);
/* Checks that the tensors are those of the fields; the first example fixes what is open in them. */
LEVADA_MUST_USE levada_status levada_saver_check_example(levada_state_saver         *s,
                                                         const levada_saver_example *example,
                                                         levada_saver_extent        *out,
                                                         levada_error               *err);
LEVADA_MUST_USE levada_status levada_saver_check_state(const levada_segment_batch *batch,
                                                       int32_t state, const levada_tensor *value,
                                                       levada_error *err);

/* -- state_saver_settle.c: the contract -- */

typedef enum levada_saver_why {
    LEVADA_SAVER_OK,
    LEVADA_SAVER_DRAINED,
    LEVADA_SAVER_ABANDONED, /* what is left waits for states that nobody can save */
    LEVADA_SAVER_UNFED,     /* closed, and the data of restored examples did not come */
    LEVADA_SAVER_CLOSED,
    LEVADA_SAVER_CANCELLED,
    LEVADA_SAVER_EXISTS,
    LEVADA_SAVER_MEMORY,
    LEVADA_SAVER_LATE,
    LEVADA_SAVER_NOT_NOW,
    LEVADA_SAVER_FORKED
} levada_saver_why;

/* A call that waits. A take has a batch to fill, an insert an example; neither: a reservation. */
typedef struct levada_saver_op {
    levada_waiter         waiter; /* first: a waiter is its op */
    levada_saver_why      why;
    int64_t               n, total; /* of a take */
    levada_segment_batch *batch;
    levada_saver_live    *example;
} levada_saver_op;

/* Serves the heads of both lines until nothing moves. */
void levada_saver_settle_locked(levada_state_saver *s, levada_woken *woken);
void levada_saver_finish_locked(levada_state_saver *s, levada_line *line, levada_saver_why why,
                                levada_woken *woken);
/* Inserts at once: LEVADA_SAVER_OK, EXISTS or MEMORY. */
levada_saver_why levada_saver_enter_locked(levada_state_saver *s, levada_saver_live *e);
/* Returns a batch to the ledger, with the keys of its rows. */
void levada_saver_return_locked(levada_state_saver *s, levada_segment_batch *batch);
void levada_saver_take_back(levada_state_saver *s, levada_segment_batch *batch);
/* Appends the op to the line and waits until it is served; the result is op->why. `undo` takes back
 * what was served to a caller that does not want it any more. */
void levada_saver_run(levada_state_saver *s, levada_line *line, levada_site *site,
                      levada_saver_op *op, const char *what, int64_t timeout,
                      void (*undo)(levada_state_saver *s, levada_saver_op *op));
/* Describes "ready 3, incomplete 40; state 'h' of key '00001_of_00004:a' was not saved for 12.1 s"
 * */
const char *levada_saver_describe(levada_state_saver *s, char *text, size_t size);
/* Numbers for the wait report. */
enum {
    LEVADA_SAVER_SHOW_READY,
    LEVADA_SAVER_SHOW_INCOMPLETE,
    LEVADA_SAVER_SHOW_UNSAVED,
    LEVADA_SAVER_SHOW_OLDEST /* when the oldest unsaved one was taken, or -1 */
};
/* Shows the saver in the wait report, without the lock. */
void levada_saver_show(const void *saver, char *text, size_t size);
/* Implements the hook of waiting takes: logs the oldest state that was not saved in time. */
bool levada_saver_poll(void *saver);

/* -- state_saver_batch.c -- */

/* Makes a batch with space for n rows; takes nothing yet. */
LEVADA_MUST_USE levada_status levada_saver_make_batch(levada_state_saver *s, int64_t n,
                                                      levada_segment_batch **out,
                                                      levada_error          *err);
/* Frees it; its rows are nobody's any more. */
void levada_saver_free_batch(levada_state_saver *s, levada_segment_batch *batch);

/* -- state_saver_save.c, state_saver_restore.c -- */

#define LEVADA_SAVER_PATH "state_saver" /* of the entries of a saved state */
#define LEVADA_SAVER_VERSION 1
#define LEVADA_SAVER_ENTRY 24 /* bytes of a name such as "sequence+1023" */
#define LEVADA_SAVER_COLUMNS 6
#define LEVADA_SAVER_COUNTS 8
LEVADA_HIDDEN extern const char *const levada_saver_columns[LEVADA_SAVER_COLUMNS];

#endif
