/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the library's own stages tell the core besides their traits. Stages of plug-ins have none.
 */
#ifndef LEVADA_REGISTRY_STAGE_CORE_H
#define LEVADA_REGISTRY_STAGE_CORE_H

#include "tensor/encoded.h"
#include <levada/dataset.h>
#include <levada/stage.h>

struct levada_needed; /* run/keyed.h */

/* One of `count` ranks that divide the batches of a stage; `equal` is "drop" or "pad". */
typedef struct levada_rank {
    int64_t     index, count;
    const char *equal;
    bool        in_step; /* at each step, the batches of all ranks have one shape              */
    bool        last;    /* nothing but reading ahead is downstream of the stage               */
} levada_rank;

typedef struct levada_stage_core {
    levada_late late; /* whether columns may come to it that are not decoded yet */
    /* PURE: the stage returns its input and only sets how much is read ahead at its place: the
     * number of finished blocks, and their bytes (0 = the default limit). apply() is not called. */
    void (*read_ahead)(const void *args, int64_t *blocks, int64_t *bytes);
    /* Returns the columns of the blocks that feed() takes; *out NULL = none with these options.
     * Downstream of a stage that takes blocks back nothing is read ahead, and only PURE stages may
     * follow. */
    levada_status (*feeds)(const void *args, levada_spec **out, levada_error *err);
    /* Receives a block (borrowed) that the consumer passes back with levada_iter_feed, between two
     * calls of next(), which may return AGAIN until it arrives. */
    levada_status (*feed)(void *state, const void *args, const levada_block *back,
                          levada_error *err);
    /* With feed(): the consumer did not get the block that next() returned last; it is as if it was
     * not returned. NULL: the block waits, and is returned again first. */
    void (*take_back)(void *state);
    /* A stage that batches for one of several ranks: false where these options have no ranks, else
     * what next() needs to know of records with the columns `in`. */
    bool (*needs)(const void *args, const levada_spec *in, struct levada_needed *out);
    /* The options that let the stage emit the batches of one rank. *changes stays NULL where it
     * cannot do that: a shard downstream takes batches then. */
    levada_status (*divide)(const void *args, const levada_rank *rank, levada_value **changes,
                            levada_error *err);
    /* The rank that these options make of the stage upstream, in the place of both; false: the
     * stage runs by itself. */
    bool (*ranks)(const void *args, levada_rank *out);
} levada_stage_core;

#define LEVADA_STAGE_CORE(...) (&(const levada_stage_core){ __VA_ARGS__ })

#endif
