/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stages: block in, block out. For authors.
 *
 * A stage is one file: static functions, and one const descriptor at its end. Its mode is the
 * thread contract: SERIAL runs on one thread at a time, in order, and may keep state, which it then
 * saves and restores; PURE runs on any thread in any order and has scratch memory only. A SERIAL
 * stage may have `apply` too: what next() returned then passes through it in parallel (batching
 * picks rows in order, padding copies them in parallel).
 *
 * Hooks never receive a block without records. They may return one, which the core drops. They
 * never create threads and never lock. They wait only in levada_input_next on their input, or
 * in a call outside of levada that their `cancel` ends.
 */
#ifndef LEVADA_STAGE_H
#define LEVADA_STAGE_H

#include <levada/builder.h>
#include <levada/iter.h>
#include <levada/option.h>
#include <levada/state.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Where a stage pulls blocks from. It lives as long as the state of the stage, and belongs to the
 * thread that runs a hook of the stage. */
typedef struct levada_node levada_input;

typedef enum levada_mode {
    LEVADA_MODE_SERIAL, /* next(): one thread at a time, in order; may keep state  */
    LEVADA_MODE_PURE    /* apply(): any thread, any order; state is scratch memory */
} levada_mode;

/* What apply() does to records. The core moves origins. */
typedef enum levada_rows {
    LEVADA_ROWS_SAME,   /* row i of the output is row i of the input                  */
    LEVADA_ROWS_SUBSET, /* the output is a selection of the input                     */
    LEVADA_ROWS_FREE    /* anything else: records are not re-readable through it      */
} levada_rows;

/* The surroundings of a running stage. Borrowed for the life of its state. */
typedef struct levada_context {
    size_t      struct_size;
    levada_env *env;
    uint64_t    seed;       /* of (seed of the iterator, this stage): mix with epoch and ordinal */
    int64_t     epoch;
    int64_t     pass;       /* n-th time that this stage starts again upstream of a repeat; known
                             * in open(), and after a restore in restore() and next()            */
    struct levada_node *node; /* of the core; NULL for stages that share one                     */
    struct levada_run  *run;  /* for levada_context_*                                            */
    int32_t     block_rows; /* records in a block before batching                                */
    int32_t     threads;
    int64_t     max_record_bytes;
    bool fused_end; /* this state is for apply() of a SERIAL stage: open only what it needs */
    const levada_spec *in;  /* columns of the input; NULL for sources                            */
    const levada_spec *out; /* columns as check() derived them                                   */
} levada_context;

/* Counts records that the stage drops: they appear in the statistics. Called from next(). */
LEVADA_API void levada_context_dropped(const levada_context *context, int64_t records);
/* Rejects a record (a block of one) that the stage cannot use. LEVADA_OK: the iterator skips bad
 * records; this one counts when the consumer passes it, before the next block of the stage. Else
 * why->code, with the record's place in *err. `unread`: pulled records that the stage has not
 * examined yet, which a percentage (errors="skip:1%") does not count. */
LEVADA_API LEVADA_MUST_USE levada_status levada_context_reject(const levada_context *context,
                                                               const levada_block   *record,
                                                               int64_t               unread,
                                                               const levada_error   *why,
                                                               levada_error         *err);
/* The block with columns of its own. A block that next() pulls may name rows of others, and has no
 * columns to look at (levada_block_column returns NULL): it is copied together here, once. One that
 * has columns is referred to. apply() and decode() get blocks with columns unless they take
 * selections. Any thread. */
LEVADA_API LEVADA_MUST_USE levada_status levada_context_gather(const levada_context *context,
                                                               const levada_block   *block,
                                                               levada_block        **out,
                                                               levada_error         *err);
/* True once the iterator is cancelled or closed: work that takes long, or waits for the outside,
 * looks now and then and ends with ECANCELLED. Any thread. */
LEVADA_API bool levada_context_cancelled(const levada_context *context);
/* One line for the log of the environment, if it has one for that level. Any thread. */
LEVADA_API LEVADA_PRINTF(3, 4) void levada_context_log(const levada_context *context,
                                                       levada_log_level level, const char *fmt,
                                                       ...);

/* A file that the example of a descriptor reads. The conformance suite writes it, in a folder of
 * its own. */
typedef struct levada_example_file {
    const char *name;  /* as in the example, without a folder; NULL ends a list */
    const void *bytes;
    size_t      size;
} levada_example_file;

struct levada_needed; /* of the library (src/run/own.h) */

typedef struct levada_stage_def {
    size_t            struct_size;   /* sizeof(levada_stage_def) as compiled      */
    const char       *name;          /* as typed in C, the CLI and Python         */
    const char       *doc;           /* one line                                  */
    const char       *example;       /* smallest dataset; conformance runs it     */
    levada_mode       mode;
    levada_rows       rows;
    bool              takes_selection; /* apply() reads selections itself; else they are gathered */
    bool              batches;         /* blocks that it returns are batches        */
    const levada_arg *args;          /* the options; ends with LEVADA_ARG_END     */
    size_t            args_size;
    size_t            state_size;    /* one state per iterator (PURE: per worker) */
    int32_t           state_version; /* raised when the saved form changes        */

    /* Before any data: options against the columns. Leaving *out NULL = columns unchanged. `in` may
     * be open (LEVADA_SPEC_OPEN): then a missing field may still appear. */
    levada_status (*check)(const void *args, const levada_spec *in, levada_spec **out,
                           levada_error *err);
    levada_status (*open)(void *state, const void *args, const levada_context *context,
                          levada_error *err);
    void (*close)(void *state);
    /* SERIAL: the next block into *out, pulling from `in` as needed. END, AGAIN and errors of `in`
     * are passed on with the state kept: the next call continues. */
    levada_status (*next)(void *state, const void *args, levada_input *in, levada_block **out,
                          levada_error *err);
    /* One block in (borrowed), one block out (the caller's). */
    levada_status (*apply)(void *state, const void *args, const levada_block *in,
                           levada_block **out, levada_error *err);
    /* SERIAL: what the consumer hands back (levada_iter_feed), borrowed, between two calls of
     * next(). next() may answer AGAIN until it comes. Nothing runs ahead of the consumer downstream
     * of such a stage, and only PURE stages may follow it. */
    levada_status (*feed)(void *state, const void *args, const levada_block *back,
                          levada_error *err);
    /* SERIAL: never while next() runs. Keys are local to the stage. */
    levada_status (*save)(const void *state, levada_state_writer *to, levada_error *err);
    levada_status (*restore)(void *state, levada_state_reader *from, levada_error *err);
    /* Makes a blocked next() or apply() return ECANCELLED soon; any thread, also while they run.
     * For stages that call functions of the user. As after any error of next() itself, the records
     * that it had taken count as lost, and are not saved. */
    void (*cancel)(void *state);
    const levada_example_file *example_files; /* that the example reads; NULL = none */

    /* For stages that change how the pipeline runs. Each may be NULL or false. */

    /* PURE: the stage returns its input and only sets how much is read ahead at its place: the
     * number of finished blocks, and their bytes (0 = the default limit). apply() is not called. */
    void (*read_ahead)(const void *args, int64_t *blocks, int64_t *bytes);
    /* SERIAL: how often the stage reads its input from the beginning (levada_iter_rewind), so that
     * the origins of records differ in each pass. INT64_MAX = without an end; NULL = once. */
    int64_t (*passes)(const void *args);
    /* The stage deals records out to `count` ranks and emits those of rank `index`; both are
     * options of these names. The fingerprint of a dataset omits the stage. A state is
     * restored only where these stages have the same options as when it was saved. */
    bool shards;
    /* What save() writes, for levada_dataset_explain: "buffered records". NULL = its position. */
    const char *saves;
    /* Of the library's own stages (tensor/encoded.h): whether columns may come to it that are not
     * decoded yet. Set to 0 when a plug-in is registered. */
    int32_t late;
    /* Of stages with feed(): the columns that feed() takes. *out NULL: with these options the stage
     * takes nothing back, and is one as any other. NULL: feed() takes any block. */
    levada_status (*feeds)(const void *args, levada_spec **out, levada_error *err);
    /* Of stages with feed(): the consumer did not get the block that next() returned last; it is as
     * if it was not returned. NULL: the block waits, and is returned again first. */
    void (*take_back)(void *state);
    /* Of the library's own stages that batch for one of several ranks: false where these options
     * have no ranks, else what next() needs to know of records with the columns `in`. Set to 0 when
     * a plug-in is registered. */
    bool (*needs)(const void *args, const levada_spec *in, struct levada_needed *out);
    /* Of the library's own stages: the stage emits records of its input unchanged, and chooses and
     * orders them without their columns. Set to false when a plug-in is registered. */
    bool chooses;
    /* Of the library's own stages: these options only change those of a stage of `in`. *out gets
     * the changed dataset, which takes the place of both; it stays NULL where the stage runs by
     * itself. Set to NULL when a plug-in is registered. */
    levada_status (*changes)(const void *args, const levada_dataset *in, levada_dataset **out,
                             levada_error *err);
    /* Of the library's own stages that call a function of the user: whether these options declare
     * that it keeps the lengths of all fields. Set to NULL when a plug-in is registered. */
    bool (*keeps_lengths)(const void *args);
} levada_stage_def;

/* The next block, owned by the caller. END after the last one; AGAIN: call again later, from the
 * next call of the stage's next(). This also happens after records were skipped, so that they count
 * after what the stage has made so far. An error is repeated. */
LEVADA_API LEVADA_MUST_USE levada_status levada_input_next(levada_input *in, levada_block **out,
                                                           levada_error *err);
/* The block that the next levada_input_next() will return: borrowed until then, and part of the
 * state until then. For stages that may have to begin again with it: what next() answers with AGAIN
 * or an error before it takes the block is not lost. */
LEVADA_API LEVADA_MUST_USE levada_status levada_input_peek(levada_input        *in,
                                                           const levada_block **out,
                                                           levada_error        *err);
/* Restarts the input and everything upstream: their next pass. For stages that repeat their
 * input, after END. AGAIN: nothing was restarted yet, call again later. */
LEVADA_API LEVADA_MUST_USE levada_status levada_input_rewind(levada_input *in, levada_error *err);

/* A block that is partly used up. All-zero is a valid empty cursor. */
typedef struct levada_cursor {
    levada_block *block; /* owned; NULL = nothing held      */
    int64_t       row;   /* first record that is not used yet */
} levada_cursor;

/* Makes sure that cur holds an unused record, pulling from `in` when it does not. */
LEVADA_API LEVADA_MUST_USE levada_status levada_cursor_fill(levada_cursor *cur, levada_input *in,
                                                            levada_error *err);
/* Up to `limit` unused records as a block that shares the buffers; moves cur past them. */
LEVADA_API LEVADA_MUST_USE levada_status levada_cursor_take(levada_cursor *cur, int64_t limit,
                                                            levada_block **out, levada_error *err);
LEVADA_API void levada_cursor_clear(levada_cursor *cur);
LEVADA_API LEVADA_MUST_USE levada_status levada_cursor_save(const levada_cursor *cur,
                                                            levada_state_writer *to,
                                                            const char *key, levada_error *err);
LEVADA_API LEVADA_MUST_USE levada_status levada_cursor_restore(levada_cursor       *cur,
                                                               levada_state_reader *from,
                                                               const char *key, levada_error *err);

/* A block that names n rows of another one, in that order; shares everything, copies nothing. */
LEVADA_API LEVADA_MUST_USE levada_status levada_block_select(const levada_block *block,
                                                             const int32_t *rows, int64_t n,
                                                             levada_block **out,
                                                             levada_error *err);

#ifdef __cplusplus
}
#endif

#endif
