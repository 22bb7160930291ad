/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run: the settings of one running dataset, and what all nodes of its tree share (run/node.h).
 */
#ifndef LEVADA_RUN_RUN_H
#define LEVADA_RUN_RUN_H

#include "description/dataset_priv.h"
#include "files/file_marks.h"
#include "state/file_names.h"
#include "description/policy.h"
#include "skip/skips.h"
#include "runtime/meter.h"
#include <levada/iter.h>

#define LEVADA_RUN_SOURCES 64 /* sources that a run lists */

typedef struct levada_workers levada_workers;
typedef struct levada_node levada_node; /* stages see their inputs as levada_input */
typedef struct levada_run  levada_run;
struct levada_item;
struct levada_pipe_place;

/* Why a thread does not wait for the writer of a pipe. */
enum {
    LEVADA_HURRY_RESULT = 1, /* a result that it waits for is on the way    */
    LEVADA_HURRY_STAGE = 2,  /* a stage that it runs has records to return  */
    LEVADA_HURRY_HALT = 4,   /* what it pulls is to begin again             */
};

/* The thread that pulls a node: it has the intake of the ring downstream, or it is the consumer. */
typedef struct levada_puller {
    int32_t     worker;  /* its number; the consumer is 0 */
    atomic_int  hurried; /* LEVADA_HURRY_*; 0 = it waits  */
    atomic_bool dry;     /* a pipe upstream has nothing now: it waits, or it has given up */
} levada_puller;

/* Numbers of sources that a named input has, from `first` up to but without `end`. */
typedef struct levada_source_range {
    int32_t first, end;
} levada_source_range;

struct levada_run {
    levada_env     *env;     /* a reference */
    levada_dataset *dataset; /* a reference */
    int64_t         seed, epoch;
    int32_t         threads, block_rows;
    bool            sized; /* block_rows is that of the user */
    bool    resumed; /* its first pass began in another run                             */
    bool    remixed; /* it is saved for other mixtures: what these emitted, by value    */
    int64_t         max_record_bytes;
    int32_t         sources; /* counted while the tree is made, or a pipe of one record */
    int32_t         listed; /* in source[]: what progress is about                     */
    levada_source_range *ranges; /* of all named inputs, while the tree is made */
    int32_t         nranges;
    int64_t         ranges_capacity;
    levada_mutex pipes_lock; /* held where a running combiner opens a pipe */
    const struct levada_pipe_place *inner; /* where that pipe is; NULL = the tree itself is made */
    levada_node    *source[LEVADA_RUN_SOURCES]; /* the first ones of the tree, for paths        */
    char           *errors;       /* as given; NULL = fail                                    */
    levada_skips       skips;     /* the account of skipped records                             */
    levada_skip_counts unplaced;  /* counts of stages that have no node of their own            */
    levada_mutex       noting;
    /* -- guarded by noting, and so are the notes of the account */
    levada_file_names names; /* of files of sources that are not in source[]                   */
    levada_file_marks marks; /* of all files that were opened                                  */
    /* -- */
    levada_meter    meter;
    atomic_llong    waited;           /* nanoseconds that the consumer spent in calls of next() */
    atomic_llong    called, returned; /* when its first one began, and its last one ended; or 0 */
    atomic_llong    padded, payload; /* elements of padded columns that the consumer received:
                                      * all, and those of records                             */
    atomic_bool      cancelled;
    int64_t deadline; /* of the consumer's call; -1 = none                                      */
    bool    soft;     /* that call works upstream itself, where a block may take longer          */
    int64_t pulls;    /* what that call got so far: no call gives up before it got something     */
    levada_puller consumer; /* of the nodes that are not upstream of a ring                     */
    bool    interrupted; /* a function or opener that it ran had to stop: it gives up now        */
    levada_workers    *workers;     /* the workers; NULL where threads = 1 */
};

LEVADA_MUST_USE levada_status levada_run_create(const levada_dataset *dataset,
                                                const levada_iter_options *options,
                                                levada_run **out, levada_node **root,
                                                levada_error *err);
void levada_run_destroy(levada_run **run, levada_node **root);
bool levada_run_is_cancelled(levada_run *run);
/* Returns ECANCELLED if the run is cancelled. */
LEVADA_MUST_USE levada_status levada_run_check_cancelled(levada_run *run, levada_error *err);
/* Returns the source of that number, NULL if it is not listed. */
const levada_node *levada_run_source(const levada_run *run, int32_t number);
/* Returns the path of the file, borrowed from its source; NULL = the source lists no such file. */
const char *levada_run_file(const levada_run *run, int32_t source, int32_t shard);
/* Returns the file of an origin as levada_iter_origin_file does. */
LEVADA_MUST_USE levada_status levada_run_origin_file(levada_run *run, const levada_origin *of,
                                                     char **out, levada_error *err);

/* -- bad records (reject.c) */

/* Cuts the rejected rows out of the block of `made`, which has its origins and was made of `in`.
 * They become rejects of the item, at `place`; loss.total is the number of the record in `in`, from
 * 1. Any thread. */
LEVADA_MUST_USE levada_status levada_run_reject(levada_run *run, const levada_skip_place *place,
                                                const char *path, const levada_block *in,
                                                struct levada_item *made, levada_error *err);
/* Returns the row of `in`, from row `from` on, that a record was made of; -1: not known. Records
 * stay in order, so looking for all of them is one walk. */
int64_t levada_run_find(const levada_block *in, int64_t from, levada_origin record);
/* Puts file, record and offset of a row into an error that has no place yet: of the first origin
 * part; those of the others precede its message. */
void levada_run_place(levada_run *run, const char *path, const levada_block *block,
                      int64_t row, levada_error *err);

#endif
