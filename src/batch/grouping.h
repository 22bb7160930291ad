/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Grouping: records in, batches out. Every batching stage is a policy of this engine.
 *
 *     input block -> keys -> arrivals (not placed yet) -> groups -> batch
 *
 * Each record gets *keys*: numbers that the policy computes from its columns, such as its length.
 * The policy *places* the arrivals in groups, one after the other, and reports a group that is
 * *full*. The engine emits it as one batch; its records keep the order in which they were placed.
 * At the end of the input the engine emits the other groups in ascending *order*, or drops and
 * counts them. The *cost* of a batch is a function of its number of records and its largest keys
 * (cost.h). So batches depend on the order of records alone, not on blocks or threads.
 *
 * A policy may change its mind: levada_grouping_recall() turns all buffered records into arrivals
 * again. It may also wait for the end of the input before it places the last of them (`end`).
 *
 * The engine does everything else: it pulls the input, buffers records in its one row store, makes
 * the batches, and saves and restores all of it. The decisions of a policy must follow from the
 * groups, from its options, and from what it saves itself (`save`, `restore`).
 *
 * The state of a batching stage begins with its levada_grouping, so the functions that take a
 * `void *state` are the hooks of its descriptor. next() emits a batch as a selection; apply() makes
 * its columns, in parallel. One thread at a time uses a grouping.
 */
#ifndef LEVADA_BATCH_GROUPING_H
#define LEVADA_BATCH_GROUPING_H

#include "base/assert.h"
#include "tensor/block_priv.h"
#include <levada/rowstore.h>

#define LEVADA_GROUP_KEYS 4 /* most keys of a record */

typedef struct levada_grouping levada_grouping;

typedef struct levada_group {
    uint32_t      *slots; /* of its records in the row store, in the order of the batch */
    int64_t       *keys;  /* of its records; NULL without keys                          */
    int64_t        n, capacity, keys_capacity;
    int64_t        largest[LEVADA_GROUP_KEYS]; /* keys of its records; 0 while it is empty */
    levada_layout *layout;                     /* of its batches, owned; NULL = none       */
} levada_group;

typedef struct levada_grouping_policy {
    /* The keys of each row of a block of any kind, row by row. NULL = there are no keys. */
    levada_status (*keys)(const void *self, const levada_block *block, int64_t *keys,
                          levada_error *err);
    /* Places arrivals, of which there is at least one, until a group has to leave: then its number
     * into *full. It is called again when that group has left, for the arrivals that remain. */
    levada_status (*place)(const void *self, levada_grouping *g, int64_t *full, levada_error *err);
    /* Refuses a group that is about to leave. NULL = none. */
    levada_status (*refuse)(const void *self, const levada_grouping *g, int64_t group,
                            levada_error *err);
    /* Called for each group that leaves together with others, before its rows follow the
     * g->nleaving rows that leave already. NULL = none. */
    void (*leaves)(levada_grouping *g, int64_t group);
    /* The input has ended and no arrival waits: reports a full group, or recalls records, or does
     * neither; then the engine flushes all groups. Called again after each batch. NULL = flush. */
    levada_status (*end)(const void *self, levada_grouping *g, int64_t *full, levada_error *err);
    /* What the policy knows besides the groups. restore() runs when they are filled. NULL = none.
     */
    levada_status (*save)(const void *self, levada_state_writer *to, levada_error *err);
    levada_status (*restore)(const void *self, levada_grouping *g, levada_state_reader *from,
                             levada_error *err);
} levada_grouping_policy;

/* In *full: emit the groups that were full before the next arrival is placed. */
#define LEVADA_GROUPING_EMIT INT64_C(-2)

typedef struct levada_grouping_options {
    const levada_grouping_policy *policy;
    const void                   *self; /* handed to the policy; as long-lived as the grouping */
    int64_t                       groups;
    int64_t                       keys; /* of each record; 0 = one, if the policy has keys */
    bool                          drop_rest; /* groups that are not full at the end of the input */
    /* Most groups that leave in one block, whose layout has their ends (levada_block_ends): for
     * stages that make one record of a group. 0 = each group leaves as a batch of its own. */
    int32_t together;
    bool    decode; /* decode records when they arrive: the stage looks at most of them */
    /* Ranks in step: a full group leaves in multiples of `world` records, and this iterator has
     * every world-th of them, from number `rank` on. What remains stays in the group. At the end of
     * the input `fill` completes the last round with copies; otherwise its records are dropped and
     * counted. world 0 = there are no ranks. */
    int64_t rank, world;
    bool    fill;
    /* Of ranks: the fields whose lengths are the keys. Their keys decide, not the rows, which may
     * be cut later. */
    const levada_texts *fields;
} levada_grouping_options;

struct levada_grouping {
    const levada_context   *context;
    levada_grouping_options options;
    levada_rowstore        *store;
    levada_group           *groups;   /* options.groups of them              */
    uint32_t               *arrivals; /* slots; those in [at, n) are to be placed */
    int64_t                *keys;     /* of the arrivals; NULL without keys  */
    int64_t                 nkeys;    /* of each record; 0 without keys      */
    int64_t                 at, n, arrivals_capacity, keys_capacity;
    uint32_t *leaving; /* slots of groups that leave together; none between two calls of next() */
    int32_t  *ends;    /* where each of them ends in `leaving`                                  */
    int64_t   nleaving, nends, leaving_capacity, ends_capacity;
};

/* Opens a grouping whose groups are all empty. A state that is opened for apply() alone needs no
 * grouping. */
LEVADA_MUST_USE levada_status levada_grouping_open(levada_grouping               *g,
                                                   const levada_context          *context,
                                                   const levada_grouping_options *options,
                                                   levada_error                  *err);
void levada_grouping_close(levada_grouping *g);

/* -- for policies */

/* Reserves space for `rows` records in all. */
LEVADA_MUST_USE levada_status levada_group_reserve(levada_group *group, int64_t rows,
                                                   int64_t nkeys, levada_error *err);

/* Returns the keys of the next arrival. */
static inline const int64_t *levada_grouping_key(const levada_grouping *g)
{
    return g->keys + g->at * g->nkeys;
}

static inline void levada_group_widen(levada_group *to, const int64_t *keys, int64_t nkeys)
{
    for (int64_t k = 0; k < nkeys; k++) {
        if (keys[k] > to->largest[k]) to->largest[k] = keys[k];
    }
}

/* Places the next `rows` arrivals in a group. */
LEVADA_MUST_USE static inline levada_status levada_grouping_put(levada_grouping *g, int64_t group,
                                                                int64_t rows, levada_error *err)
{
    levada_group  *to = &g->groups[group];
    const int64_t *keys = g->nkeys ? levada_grouping_key(g) : NULL;

    LEVADA_ASSERT(group >= 0 && group < g->options.groups && rows > 0 && rows <= g->n - g->at);
    if (to->n + rows > to->capacity) {
        LEVADA_TRY(levada_group_reserve(to, to->n + rows, g->nkeys, err));
    }
    for (int64_t i = 0; keys && i < rows; i++) {
        levada_group_widen(to, keys + i * g->nkeys, g->nkeys);
    }
    for (int64_t i = 0; i < rows * g->nkeys; i++) to->keys[to->n * g->nkeys + i] = keys[i];
    for (int64_t i = 0; i < rows; i++) to->slots[to->n + i] = g->arrivals[g->at + i];
    to->n += rows;
    g->at += rows;
    return LEVADA_OK;
}

/* Places another reference to the next arrival, which stays: a record that is cut is in several
 * groups. */
LEVADA_MUST_USE levada_status levada_grouping_put_again(levada_grouping *g, int64_t group,
                                                        levada_error *err);
/* Moves the last `rows` records of a group to the end of another one, in their order. */
LEVADA_MUST_USE levada_status levada_grouping_move(levada_grouping *g, int64_t from, int64_t rows,
                                                   int64_t group, levada_error *err);
/* Takes all records out of their groups, in ascending order of groups, and puts them before the
 * arrivals. */
LEVADA_MUST_USE levada_status levada_grouping_recall(levada_grouping *g, levada_error *err);
/* Rejects the next arrival: the `errors` policy of the iterator skips and counts it, or fails. */
LEVADA_MUST_USE levada_status levada_grouping_reject(levada_grouping    *g,
                                                     const levada_error *why, levada_error *err);
/* Drops the next arrival, and counts it in dropped_records. */
LEVADA_MUST_USE levada_status levada_grouping_drop(levada_grouping *g, levada_error *err);
/* Returns the first record of a group that is not empty, as a block of one. */
LEVADA_MUST_USE levada_status levada_grouping_first(const levada_grouping *g, int64_t group,
                                                    levada_block **out, levada_error *err);

/* -- hooks of the descriptor */

LEVADA_MUST_USE levada_status levada_grouping_next(void *state, const void *args,
                                                   levada_input *in, levada_block **out,
                                                   levada_error *err);
/* Gathers columns of a batch that stays ragged: apply() of stages that do not pad. */
LEVADA_MUST_USE levada_status levada_grouping_gather(void *state, const void *args,
                                                     const levada_block *in, levada_block **out,
                                                     levada_error *err);
LEVADA_MUST_USE levada_status levada_grouping_save(const void *state, levada_state_writer *to,
                                                   levada_error *err);
LEVADA_MUST_USE levada_status levada_grouping_restore(void *state, levada_state_reader *from,
                                                      levada_error *err);

/* -- the policy of `batch` and `padded_batch`: one group, full at *(int64_t *)self records */
extern const levada_grouping_policy levada_grouping_by_size;

#endif
