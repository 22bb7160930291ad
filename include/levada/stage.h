/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How to write a stage: a function that receives blocks of records and returns blocks of records.
 *
 * A stage is one file: static functions, and one const descriptor at its end. Its mode is the
 * thread contract. A SERIAL stage runs on one thread at a time, in order, and may have state, which
 * it saves and restores. A PURE stage runs on any thread in any order and has scratch memory only.
 * A SERIAL stage may also have `apply`, which then processes the blocks of next() in parallel (for
 * example, batching picks rows in order, and padding copies them in parallel).
 *
 * Hooks never receive a block without records. They may return an empty block, which the core
 * drops. They must not create threads or lock. They may wait only in levada_input_next on their
 * input, or in a call outside of levada that their `cancel` ends.
 *
 * Example:
 *
 *     // Passes blocks on.
 *     static levada_status same_apply(void *state, const void *args, const levada_block *in,
 *                                     levada_block **out, levada_error *err)
 *     {
 *         (void)state, (void)args, (void)err;
 *         *out = levada_block_ref(in);
 *         return LEVADA_OK;
 *     }
 *
 *     static const levada_stage_def same_stage = {
 *         .struct_size = sizeof(levada_stage_def),
 *         .name = "same",
 *         .doc = "records as they are",
 *         .example = "range:10 | same",
 *         .mode = LEVADA_MODE_PURE,
 *         .traits = LEVADA_TRAITS(.rows = LEVADA_ROWS_ONE_TO_ONE, .reads = LEVADA_READS_COLUMNS),
 *         .apply = same_apply,
 *     };
 */
#ifndef LEVADA_STAGE_H
#define LEVADA_STAGE_H

#include <levada/builder.h>
#include <levada/iter.h>
#include <levada/option.h>
#include <levada/state.h>
#include <levada/traits.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The input from which a stage pulls blocks. It is valid as long as the state of the stage, and
 * belongs to the thread that runs a hook of the stage. */
typedef struct levada_node levada_input;

typedef enum levada_mode {
    LEVADA_MODE_SERIAL, /* next(): one thread at a time, in order; may keep state  */
    LEVADA_MODE_PURE    /* apply(): any thread, any order; state is scratch memory */
} levada_mode;

/* The surroundings of a running stage. Borrowed for the life of its state. */
typedef struct levada_context {
    size_t      struct_size;
    levada_env *env;
    uint64_t    seed;       /* hash of the iterator's seed and this stage; combine it with the
                             * epoch */
    int64_t     epoch;
    int64_t     pass;       /* number of restarts upstream of a repeat; valid in open(), and
                             * after a restore in restore() and next() */
    struct levada_node *node; /* node of the core; NULL for fused stages */
    struct levada_run  *run;  /* used by levada_context_*                */
    int32_t     block_rows; /* records in a block before batching */
    int32_t     threads;
    int64_t     max_record_bytes;
    bool fused_end; /* the state is used for apply() of a SERIAL stage only */
    const levada_spec *in;  /* columns of the input; NULL for sources */
    const levada_spec *out; /* columns that check() returned          */
} levada_context;

/* Counts records that the stage drops, for the statistics. Call it from next(). */
LEVADA_API void levada_context_dropped(const levada_context *context, int64_t records);
/* Rejects a record (a block of one record) that the stage cannot use. Returns LEVADA_OK if the
 * iterator skips bad records; the record then counts when the consumer passes it, before the next
 * block of the stage. Otherwise returns why->code, with the location of the record in *err.
 * `unread` is the number of pulled records that the stage has not examined yet, which a percentage
 * (errors="skip:1%") excludes. */
LEVADA_API LEVADA_MUST_USE levada_status levada_context_reject(const levada_context *context,
                                                               const levada_block   *record,
                                                               int64_t               unread,
                                                               const levada_error   *why,
                                                               levada_error         *err);
/* Returns a block with columns. A block that next() pulls may be a selection of rows of other
 * blocks, for which levada_block_column returns NULL; the call copies its rows once. If the block
 * has columns, the call returns a reference to it. apply() and decode() always receive blocks with
 * columns, unless they accept selections. Any thread. */
LEVADA_API LEVADA_MUST_USE levada_status levada_context_gather(const levada_context *context,
                                                               const levada_block   *block,
                                                               levada_block        **out,
                                                               levada_error         *err);
/* Returns true once the iterator is cancelled or closed. Long computations and waits outside of
 * levada must call it regularly, and end with ECANCELLED. Any thread. */
LEVADA_API bool levada_context_cancelled(const levada_context *context);
/* Writes one line to the log of the environment, if that level is enabled. Any thread. */
LEVADA_API LEVADA_PRINTF(3, 4) void levada_context_log(const levada_context *context,
                                                       levada_log_level level, const char *fmt,
                                                       ...);

/* A file that the example of a descriptor reads. The conformance suite writes it to a temporary
 * directory. */
typedef struct levada_example_file {
    const char *name;  /* as in the example, without a directory; NULL ends a list */
    const void *bytes;
    size_t      size;
} levada_example_file;

struct levada_stage_core; /* private to the library */

typedef struct levada_stage_def {
    size_t            struct_size;   /* sizeof(levada_stage_def) as compiled             */
    const char       *name;          /* as typed in C, the CLI and Python                */
    const char       *doc;           /* one line                                         */
    const char       *example;       /* smallest pipeline; the conformance suite runs it */
    levada_mode       mode;
    const levada_traits *traits;     /* effect on records; NULL = any effect             */
    bool              takes_selection; /* apply() accepts selections; else they are gathered */
    const levada_arg *args;          /* the options; ends with LEVADA_ARG_END */
    size_t            args_size;
    size_t            state_size;    /* one state per iterator (PURE: per worker) */
    int32_t           state_version; /* increase it when the saved form changes   */

    /* Checks the options against the columns `in`, before any data is read, and returns the columns
     * of the output; *out = NULL: they do not change. If `in` is open (LEVADA_SPEC_OPEN), a missing
     * field may still appear. */
    levada_status (*check)(const void *args, const levada_spec *in, levada_spec **out,
                           levada_error *err);
    levada_status (*open)(void *state, const void *args, const levada_context *context,
                          levada_error *err);
    void (*close)(void *state);
    /* SERIAL: returns the next block, and pulls from `in` as needed. It must return END, AGAIN and
     * errors of `in` and keep its state, so that the next call continues. */
    levada_status (*next)(void *state, const void *args, levada_input *in, levada_block **out,
                          levada_error *err);
    /* Receives one block (borrowed) and returns one block, which the caller owns. */
    levada_status (*apply)(void *state, const void *args, const levada_block *in,
                           levada_block **out, levada_error *err);
    /* SERIAL: save and restore the state; never called while next() runs. Keys are local to the
     * stage. */
    levada_status (*save)(const void *state, levada_state_writer *to, levada_error *err);
    levada_status (*restore)(void *state, levada_state_reader *from, levada_error *err);
    /* Makes a blocked next() or apply() return ECANCELLED soon, for stages that call functions of
     * the user; any thread, also while they run. As after every error of next(), records that it
     * has read are lost, and no checkpoint can be saved. */
    void (*cancel)(void *state);
    const levada_example_file *example_files; /* that the example reads; NULL = none */

    /* Private to the library. Set to NULL when a plug-in is registered. */
    const struct levada_stage_core *core;
} levada_stage_def;

/* Returns the next block, which the caller owns; END after the last block. After AGAIN, return
 * AGAIN and call it again from the next call of the stage's next(). It also returns AGAIN after
 * records were skipped, so that they count after the records that the stage has returned so far. An
 * error is repeated. */
LEVADA_API LEVADA_MUST_USE levada_status levada_input_next(levada_input *in, levada_block **out,
                                                           levada_error *err);
/* Returns the block that the next levada_input_next() will return, borrowed until that call. Until
 * then checkpoints contain the block, so that nothing is lost if next() returns AGAIN or an error
 * before it takes the block. */
LEVADA_API LEVADA_MUST_USE levada_status levada_input_peek(levada_input        *in,
                                                           const levada_block **out,
                                                           levada_error        *err);
/* Restarts the input and everything upstream with the next pass, for stages that repeat their input
 * after END. After AGAIN nothing was restarted; call it again later. */
LEVADA_API LEVADA_MUST_USE levada_status levada_input_rewind(levada_input *in, levada_error *err);

/* A block with the position of its next unused record. All zeros are a valid empty cursor. */
typedef struct levada_cursor {
    levada_block *block; /* owned; NULL = empty cursor */
    int64_t       row;   /* first unused record        */
} levada_cursor;

/* Pulls a block from `in` if the cursor has no unused record. */
LEVADA_API LEVADA_MUST_USE levada_status levada_cursor_fill(levada_cursor *cur, levada_input *in,
                                                            levada_error *err);
/* Returns up to `limit` unused records as a block that shares the buffers, and moves the cursor
 * after them. */
LEVADA_API LEVADA_MUST_USE levada_status levada_cursor_take(levada_cursor *cur, int64_t limit,
                                                            levada_block **out, levada_error *err);
/* Drops the unused records. */
LEVADA_API void levada_cursor_clear(levada_cursor *cur);
/* Saves the unused records under `key`. */
LEVADA_API LEVADA_MUST_USE levada_status levada_cursor_save(const levada_cursor *cur,
                                                            levada_state_writer *to,
                                                            const char *key, levada_error *err);
/* Restores the unused records that levada_cursor_save saved under `key`. */
LEVADA_API LEVADA_MUST_USE levada_status levada_cursor_restore(levada_cursor       *cur,
                                                               levada_state_reader *from,
                                                               const char *key, levada_error *err);

/* Returns a selection of n rows of a block, in this order, without copying them. */
LEVADA_API LEVADA_MUST_USE levada_status levada_block_select(const levada_block *block,
                                                             const int32_t *rows, int64_t n,
                                                             levada_block **out,
                                                             levada_error *err);

#ifdef __cplusplus
}
#endif

#endif
