/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state saver trains recurrent models on long sequences, segment by segment.
 *
 * An example consists of a key, sequences with the same number of steps, context, and initial
 * states. The saver cuts its sequences into segments of num_unroll steps. levada_state_saver_next
 * returns one segment of each of n examples as a batch, with the states to start from. The caller
 * computes new states and saves them with levada_segment_batch_save. Once every state of a batch is
 * saved, the next segments of its examples are ready. Examples that were inserted earlier have
 * priority.
 *
 * The contract is TensorFlow's (SequenceQueueingStateSaver), with these differences:
 *
 * - `capacity` limits the live examples. An example no longer counts once its last segment is
 *   taken. A reservation also counts, so that you can reserve capacity before you read an example.
 * - You can return a batch whose step failed (requeue) or drop it (discard).
 * - Unsaved states are reported with key and age: in errors of calls that time out, as a warning in
 *   the log after state_timeout, and immediately if no caller can save them any more.
 * - The saver can be saved and restored, including the states and positions of unfinished
 *   sequences.
 *
 * A saver is reference-counted, and any thread may call every function. It keeps references to the
 * tensors of an example, which must not change afterwards, and copies the key. Waiting calls accept
 * a timeout in nanoseconds (LEVADA_FOREVER, LEVADA_AT_ONCE); a call that times out changes nothing.
 *
 * Example:
 *
 *     levada_state_saver_options options = LEVADA_STATE_SAVER_OPTIONS_INIT;
 *     levada_saver_example       example = LEVADA_SAVER_EXAMPLE_INIT;
 *     levada_saver_field         steps = {.name = "x", .dtype = LEVADA_INT64};
 *     levada_saver_field         sum = {.name = "sum", .dtype = LEVADA_INT64};
 *     levada_state_saver        *saver = NULL;
 *     levada_segment_batch      *batch = NULL;
 *     levada_tensor             *x = NULL, *zero = NULL, *next = NULL;
 *
 *     options.num_unroll = 2; // a sequence of 4 steps has two segments
 *     options.sequences = &steps;
 *     options.states = &sum;
 *     options.nsequences = options.nstates = 1;
 *     LEVADA_TRY(levada_state_saver_create(NULL, &options, &saver, err));
 *     LEVADA_TRY(levada_tensor_create(NULL, LEVADA_INT64, &(levada_shape){1, {4}},
 *                                     (int64_t[]){1, 2, 3, 4}, &x, err));
 *     LEVADA_TRY(levada_tensor_create(NULL, LEVADA_INT64, &(levada_shape){0, {0}}, (int64_t[]){0},
 *                                     &zero, err));
 *     example.key = "a";
 *     example.key_size = 1;
 *     example.length = 4;
 *     example.sequences = &x;
 *     example.states = &zero;
 *     LEVADA_TRY(levada_state_saver_insert(saver, &example, false, LEVADA_FOREVER, err));
 *     LEVADA_TRY(levada_state_saver_next(saver, 1, LEVADA_FOREVER, &batch, err)); // steps 1, 2
 *     LEVADA_TRY(levada_tensor_create(NULL, LEVADA_INT64, &(levada_shape){1, {1}}, (int64_t[]){3},
 *                                     &next, err));
 *     LEVADA_TRY(levada_segment_batch_save(batch, 0, next, err)); // makes steps 3, 4 ready
 *     levada_segment_batch_destroy(&batch);
 *     levada_tensor_unref(&next);
 *     levada_tensor_unref(&zero);
 *     levada_tensor_unref(&x);
 *     levada_state_saver_unref(&saver);
 */
#ifndef LEVADA_STATE_SAVER_H
#define LEVADA_STATE_SAVER_H

#include <levada/queue.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct levada_state_saver   levada_state_saver;
typedef struct levada_segment_batch levada_segment_batch;

/* A sequence, context value or state. Names must be unique in their group and must not contain a
 * colon. LEVADA_NONE and a rank of -1 mean the dtype and the shape of the first example; otherwise
 * all dimensions must be known. */
typedef struct levada_saver_field {
    const char  *name;
    levada_dtype dtype;
    levada_shape shape; /* shape of a step, a context value or a state; ragged: of one value */
    bool         ragged; /* any number of values in a step or a context; not for states */
} levada_saver_field;

/* Policy for an example without steps. */
typedef enum levada_zero_length {
    LEVADA_ZERO_LENGTH_ERROR,
    LEVADA_ZERO_LENGTH_SKIP,   /* counted as skipped     */
    LEVADA_ZERO_LENGTH_SEGMENT /* one segment of padding */
} levada_zero_length;

typedef struct levada_state_saver_options {
    size_t  struct_size;
    int64_t batch_size; /* default of levada_state_saver_next                 */
    int64_t num_unroll; /* steps of a segment, at least 1                     */
    int64_t capacity;   /* live examples, -1 = unbounded; at least batch_size */
    bool    allow_small_batch; /* once closed, batches may be smaller              */
    bool    pad;               /* pads the last segment of a sequence with 0 or "" */
    bool    make_keys_unique;  /* appends a number to each key                     */
    bool    check_finite;      /* rejects states with NaN or infinity              */
    levada_zero_length zero_length;
    int64_t state_timeout; /* nanoseconds until an unsaved state is logged, at least 1 */
    int32_t nsequences, ncontext, nstates; /* at least 1, 0, 1 */
    const levada_saver_field *sequences, *context, *states;
    const char *name; /* for messages */
} levada_state_saver_options;

#define LEVADA_STATE_SAVER_OPTIONS_INIT                                                          \
    {                                                                                            \
        sizeof(levada_state_saver_options), 1, 1, -1, false, false, false, false,                \
            LEVADA_ZERO_LENGTH_ERROR, INT64_C(30000000000), 0, 0, 0, NULL, NULL, NULL, NULL      \
    }
/* Sets *all to its defaults, for languages without macros; size is
 * sizeof(levada_state_saver_options). */
LEVADA_API void levada_state_saver_options_init(levada_state_saver_options *all, size_t size);

/* Creates a state saver; the caller owns the reference in *out. */
LEVADA_API LEVADA_MUST_USE levada_status
levada_state_saver_create(levada_env *env, const levada_state_saver_options *options,
                          levada_state_saver **out, levada_error *err);
LEVADA_API levada_state_saver *levada_state_saver_ref(levada_state_saver *saver);
/* Drops a reference. The last unref frees the saver; no call may be waiting in it. Batches hold a
 * reference. */
LEVADA_API void levada_state_saver_unref(levada_state_saver **saver);

/* -- inserting --------------------------------------------------------------------------------- */

typedef struct levada_saver_example {
    size_t      struct_size;
    const void *key;
    size_t      key_size;
    int64_t     length;  /* steps, -1 = the steps of the sequences (only with pad)       */
    int64_t     ordinal; /* number of the example in its source, for restores; -1 = none */
    levada_tensor *const *sequences; /* [steps, ...]; ragged: [values, ...]                       */
    levada_tensor *const *offsets;   /* offsets of ragged sequences: int64 [steps + 1]; else NULL */
    levada_tensor *const *context;   /* ragged: [values, ...]                                     */
    levada_tensor *const *states;    /* initial states                                            */
} levada_saver_example;

#define LEVADA_SAVER_EXAMPLE_INIT                                                  \
    {                                                                              \
        sizeof(levada_saver_example), NULL, 0, -1, -1, NULL, NULL, NULL, NULL      \
    }
/* Sets *all to its defaults, for languages without macros; size is sizeof(levada_saver_example). */
LEVADA_API void levada_saver_example_init(levada_saver_example *all, size_t size);

/* Waits until there is capacity for one more example, and reserves it. Each reservation ends with
 * an insert or with levada_state_saver_release. Returns ECANCELLED if the saver was closed before
 * the call; a call that already waits still succeeds after a plain close. */
LEVADA_API LEVADA_MUST_USE levada_status levada_state_saver_reserve(levada_state_saver *saver,
                                                                    int64_t             timeout,
                                                                    levada_error       *err);
/* Returns a reservation whose example is not inserted. */
LEVADA_API void levada_state_saver_release(levada_state_saver *saver);
/* Inserts an example. With `reserved`, it uses a reservation (kept on failure) and does not wait;
 * otherwise it waits for capacity. After a restore, an example whose ordinal was inserted before
 * the save continues at its saved position, or is ignored if it was finished. Returns
 * EINVALID_ARGUMENT if a field does not match, EALREADY_EXISTS if a live example has the key,
 * ECANCELLED if the saver is closed; nothing changes then. */
LEVADA_API LEVADA_MUST_USE levada_status levada_state_saver_insert(
    levada_state_saver *saver, const levada_saver_example *example, bool reserved, int64_t timeout,
    levada_error *err);

/* -- batches ----------------------------------------------------------------------------------- */

/* Waits until n segments (-1 = batch_size) are ready, and returns them in the order in which their
 * examples were inserted. The caller destroys the batch. Returns EOUT_OF_RANGE if the saver is
 * closed and fewer than n segments remain (allow_small_batch: none), and EFAILED_PRECONDITION if
 * the remaining segments wait for states that no caller can save. */
LEVADA_API LEVADA_MUST_USE levada_status levada_state_saver_next(levada_state_saver    *saver,
                                                                 int64_t n, int64_t timeout,
                                                                 levada_segment_batch **out,
                                                                 levada_error          *err);

/* The tensors of a batch, borrowed from it. They have n rows and are int32, except for
 * insertion_index (int64) and keys (byte strings). */
typedef struct levada_segment_view {
    size_t         struct_size;
    int64_t        n;
    levada_tensor *total_length;    /* steps of the example                                     */
    levada_tensor *length;          /* real steps of the segment, 0 to num_unroll               */
    levada_tensor *insertion_index; /* insertion number of the example, from -2^63              */
    levada_tensor *key, *next_key;  /* "00000_of_00002:K", "00001_of_00002:K", at last "STOP:K" */
    levada_tensor *sequence, *sequence_count; /* number of the segment, segments of the example */
    levada_tensor *const *sequences;          /* [n, num_unroll, ...]; ragged: [values, ...]    */
    levada_tensor *const *sequence_offsets;   /* ragged: int64 [n * num_unroll + 1]             */
    levada_tensor *const *context;            /* [n, ...]; ragged: [values, ...]                */
    levada_tensor *const *context_offsets;    /* ragged: int64 [n + 1]                          */
    levada_tensor *const *states;             /* [n, ...]                                       */
} levada_segment_view;

#define LEVADA_SEGMENT_VIEW_INIT                                                             \
    {                                                                                        \
        sizeof(levada_segment_view), 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, \
            NULL, NULL, NULL                                                                 \
    }
/* Sets *all to its defaults, for languages without macros; size is sizeof(levada_segment_view). */
LEVADA_API void levada_segment_view_init(levada_segment_view *all, size_t size);

/* Describes the batch; the pointers in *out are borrowed for its life. */
LEVADA_API LEVADA_MUST_USE levada_status levada_segment_batch_get(levada_segment_batch *batch,
                                                                  levada_segment_view  *out,
                                                                  levada_error         *err);
/* Saves state number `state` of all rows, [n, ...]; keeps a reference to the tensor. After the last
 * state is saved, the next segments are ready. Values of rows with the last segment of an example
 * are ignored. Returns EINVALID_ARGUMENT for a wrong dtype or shape, NaN, or a state that is saved
 * already; ECANCELLED if the saver was closed with cancel_pending; EFAILED_PRECONDITION if the
 * batch was requeued or discarded. */
LEVADA_API LEVADA_MUST_USE levada_status levada_segment_batch_save(levada_segment_batch *batch,
                                                                   int32_t              state,
                                                                   const levada_tensor *value,
                                                                   levada_error        *err);
/* Saves several states, all or none: values[i] is the value of state i, NULL = not now. */
LEVADA_API LEVADA_MUST_USE levada_status
levada_segment_batch_save_states(levada_segment_batch *batch, const levada_tensor *const *values,
                                 levada_error *err);
/* Returns all segments to the saver with their initial states, and drops states that were saved
 * since. Returns EFAILED_PRECONDITION if all states are saved or the batch was requeued or
 * discarded, and ECANCELLED if it was waiting for states when the saver was closed with
 * cancel_pending. A batch that was taken after such a close can be requeued. */
LEVADA_API LEVADA_MUST_USE levada_status levada_segment_batch_requeue(levada_segment_batch *batch,
                                                                      levada_error         *err);
/* Drops and counts the examples of the batch. Returns the errors of requeue, except ECANCELLED. */
LEVADA_API LEVADA_MUST_USE levada_status levada_segment_batch_discard(levada_segment_batch *batch,
                                                                      levada_error         *err);
/* Frees the batch. Examples whose states were not all saved, requeued or discarded keep their
 * capacity, and are reported. Rows of last segments need no state. */
LEVADA_API void levada_segment_batch_destroy(levada_segment_batch **batch);

/* -- end, statistics --------------------------------------------------------------------------- */

/* Closes the saver for new examples. Inserts that wait for capacity still succeed, and started
 * examples continue. Returns ECANCELLED if the saver is closed already. With cancel_pending it
 * never fails: waiting inserts end with ECANCELLED, ready segments can be taken, and no state can
 * be saved. */
LEVADA_API LEVADA_MUST_USE levada_status levada_state_saver_close(levada_state_saver *saver,
                                                                  bool          cancel_pending,
                                                                  levada_error *err);
/* Returns true if the saver is closed. */
LEVADA_API bool levada_state_saver_is_closed(const levada_state_saver *saver);
/* Ends every waiting call with ECANCELLED; the saver stays usable. Do not call it from a signal
 * handler. */
LEVADA_API void levada_state_saver_cancel(levada_state_saver *saver);

typedef struct levada_state_saver_stats {
    size_t  struct_size;
    int64_t live;       /* examples that hold capacity                             */
    int64_t reserved;   /* capacity held by reservations                           */
    int64_t ready;      /* segments that are ready                                 */
    int64_t incomplete; /* segments of live examples that wait for states          */
    int64_t unsaved;    /* examples in batches whose states are not all saved      */
    int64_t abandoned;  /* unsaved examples whose batch was destroyed              */
    int64_t awaited;    /* restored examples whose data was not inserted again yet */
    int64_t oldest_unsaved; /* nanoseconds since the oldest of these batches was taken, or -1 */
    int64_t inserted, finished; /* examples so far */
    int64_t skipped;   /* without steps                                      */
    int64_t discarded; /* by levada_segment_batch_discard                    */
    int64_t dropped;   /* unfinished at the end, or cancelled                */
    int64_t replayed;  /* ignored because they were finished before the save */
    int64_t segments;  /* taken                                              */
} levada_state_saver_stats;

#define LEVADA_STATE_SAVER_STATS_INIT                                                  \
    {                                                                                  \
        sizeof(levada_state_saver_stats), 0, 0, 0, 0, 0, 0, 0, -1, 0, 0, 0, 0, 0, 0, 0 \
    }
/* Sets *all to its defaults, for languages without macros; size is
 * sizeof(levada_state_saver_stats). */
LEVADA_API void levada_state_saver_stats_init(levada_state_saver_stats *all, size_t size);

/* Writes the current counters to *out. */
LEVADA_API LEVADA_MUST_USE levada_status
levada_state_saver_get_stats(const levada_state_saver *saver, levada_state_saver_stats *out,
                             levada_error *err);
/* Lists up to 100 unsaved states, oldest first, as a JSON list: [{"key","states"
 * (names),"seconds","abandoned"}]. Free it with levada_string_free. */
LEVADA_API LEVADA_MUST_USE levada_status
levada_state_saver_unsaved_json(const levada_state_saver *saver, char **out, levada_error *err);

/* -- save and restore -------------------------------------------------------------------------- */

/* Saves the positions, keys and states of unfinished examples, and with `data` also their sequences
 * and context. Segments of batches that are not saved yet count as not taken. `extra` (NULL = none)
 * is stored with them, for example the position of the source. The call does not stop other
 * threads. Free the bytes with levada_string_free; levada_output_save writes a file atomically.
 *
 * With `data`, the source continues after the last example that was inserted. Without it, the
 * source restarts at its beginning and numbers the examples; no batch is returned until the data of
 * all unfinished examples is inserted again. */
LEVADA_API LEVADA_MUST_USE levada_status levada_state_saver_save(levada_state_saver *saver,
                                                                 bool data, const void *extra,
                                                                 size_t extra_size, char **out,
                                                                 size_t       *size,
                                                                 levada_error *err);
/* Restores a saver with the same fields and num_unroll, into which nothing was inserted. `extra`
 * (may be NULL; free it with levada_string_free) receives the bytes passed to save, never NULL.
 * Returns EDATA_LOSS if the bytes are corrupt, and EFAILED_PRECONDITION, with the first difference,
 * if they belong to a different saver. */
LEVADA_API LEVADA_MUST_USE levada_status
levada_state_saver_restore(levada_state_saver *saver, const void *bytes, size_t size, char **extra,
                           size_t *extra_size, levada_error *err);

#ifdef __cplusplus
}
#endif

#endif
