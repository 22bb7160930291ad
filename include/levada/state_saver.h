/* SPDX-License-Identifier: Apache-2.0 */
/*
 * State saver: trains recurrent models on long sequences, segment by segment.
 *
 * An example has a key, sequences of the same number of steps, context, and initial states. The
 * saver cuts its sequences into segments of num_unroll steps. levada_state_saver_next returns one
 * segment of each of n examples as a batch, with the states to start from. The caller computes, and
 * saves the new states with levada_segment_batch_save. Once every state of a batch is saved, the
 * next segments of its examples are ready. Examples that were inserted earlier have priority.
 *
 * The contract is that of TensorFlow's SequenceQueueingStateSaver, with these differences:
 *
 * - `capacity` limits the live examples. An example no longer counts once its last segment is
 *   taken. Reserve first, then read and insert: reserved examples count too.
 * - A batch whose step failed is put back (requeue) or dropped (discard).
 * - An unsaved state is reported with its key and age: in errors of calls that time out, as a
 *   warning in the log after state_timeout, and at once where nobody can save it any more.
 * - The saver can be saved and restored, with the states and positions of unfinished sequences.
 *
 * A saver is reference-counted, and every function may be called from any thread. It refers to the
 * tensors of an example, which must not change afterwards, and copies its key. Waiting calls accept
 * a timeout in nanoseconds (LEVADA_FOREVER, LEVADA_AT_ONCE); a call that times out changes nothing.
 */
#ifndef LEVADA_STATE_SAVER_H
#define LEVADA_STATE_SAVER_H

#include <levada/queue.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct levada_state_saver   levada_state_saver;
typedef struct levada_segment_batch levada_segment_batch;

/* Names are unique in their group and have no colon. LEVADA_NONE and a rank of -1 stand for the
 * dtype and the shape of the first example; otherwise all dimensions are known. */
typedef struct levada_saver_field {
    const char  *name;
    levada_dtype dtype;
    levada_shape shape; /* of a step, a context value, a state; ragged: of one value    */
    bool         ragged; /* any number of values in a step or a context; not for states */
} levada_saver_field;

/* What to do with an example without steps. */
typedef enum levada_zero_length {
    LEVADA_ZERO_LENGTH_ERROR,
    LEVADA_ZERO_LENGTH_SKIP,   /* counted as skipped */
    LEVADA_ZERO_LENGTH_SEGMENT /* one segment of padding */
} levada_zero_length;

typedef struct levada_state_saver_options {
    size_t  struct_size;
    int64_t batch_size; /* of levada_state_saver_next without a number */
    int64_t num_unroll; /* steps of a segment, at least 1 */
    int64_t capacity;   /* live examples, -1 = unbounded; at least batch_size */
    bool    allow_small_batch; /* once closed, batches may be smaller */
    bool    pad;               /* sequences may end in the middle of a segment: 0 or "" follows */
    bool    make_keys_unique;  /* appends a number to each key */
    bool    check_finite;      /* refuses states with NaN or infinity */
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
/* The same for languages without macros; size is sizeof(levada_state_saver_options). */
LEVADA_API void levada_state_saver_options_init(levada_state_saver_options *all, size_t size);

LEVADA_API LEVADA_MUST_USE levada_status
levada_state_saver_create(levada_env *env, const levada_state_saver_options *options,
                          levada_state_saver **out, levada_error *err);
LEVADA_API levada_state_saver *levada_state_saver_ref(levada_state_saver *saver);
/* The last unref frees it; no call may wait in it then. Batches hold a reference. */
LEVADA_API void levada_state_saver_unref(levada_state_saver **saver);

/* -- inserting --------------------------------------------------------------------------------- */

typedef struct levada_saver_example {
    size_t      struct_size;
    const void *key;
    size_t      key_size;
    int64_t     length;  /* steps, -1 = those of the sequences (only with pad) */
    int64_t     ordinal; /* number of the example in its source, -1 = none; for restores */
    levada_tensor *const *sequences; /* [steps, ...]; ragged: [values, ...]           */
    levada_tensor *const *offsets;   /* of the ragged ones: int64 [steps + 1]; or NULL */
    levada_tensor *const *context;   /* ragged: [values, ...]                         */
    levada_tensor *const *states;    /* initial states                                */
} levada_saver_example;

#define LEVADA_SAVER_EXAMPLE_INIT                                                  \
    {                                                                              \
        sizeof(levada_saver_example), NULL, 0, -1, -1, NULL, NULL, NULL, NULL      \
    }
/* The same for languages without macros; size is sizeof(levada_saver_example). */
LEVADA_API void levada_saver_example_init(levada_saver_example *all, size_t size);

/* Waits until there is capacity for one more example, and reserves it. ECANCELLED: closed before
 * the call; a call that waits already still succeeds after a plain close. Each reservation ends
 * with an insert or with levada_state_saver_release. */
LEVADA_API LEVADA_MUST_USE levada_status levada_state_saver_reserve(levada_state_saver *saver,
                                                                    int64_t             timeout,
                                                                    levada_error       *err);
LEVADA_API void levada_state_saver_release(levada_state_saver *saver);
/* With `reserved`, uses a reservation (kept on failure) and does not wait. Otherwise waits for
 * capacity. EINVALID_ARGUMENT: a field that does not fit; EALREADY_EXISTS: a live example has the
 * key; ECANCELLED: closed. Nothing has changed then. An example that was inserted before the saver
 * was saved (by its ordinal) continues where it was, or is ignored if it was finished. */
LEVADA_API LEVADA_MUST_USE levada_status levada_state_saver_insert(
    levada_state_saver *saver, const levada_saver_example *example, bool reserved, int64_t timeout,
    levada_error *err);

/* -- batches ----------------------------------------------------------------------------------- */

/* Waits until n segments (-1 = batch_size) are ready, and returns them in the order in which their
 * examples were inserted. EOUT_OF_RANGE: closed, and there will not be enough (allow_small_batch:
 * none). EFAILED_PRECONDITION: the rest waits for states that nobody can save. The caller destroys
 * the batch. */
LEVADA_API LEVADA_MUST_USE levada_status levada_state_saver_next(levada_state_saver    *saver,
                                                                 int64_t n, int64_t timeout,
                                                                 levada_segment_batch **out,
                                                                 levada_error          *err);

/* Everything is borrowed from the batch. n rows; int32 except for insertion_index (int64) and keys
 * (byte strings). */
typedef struct levada_segment_view {
    size_t         struct_size;
    int64_t        n;
    levada_tensor *total_length;    /* steps of the example                                     */
    levada_tensor *length;          /* real steps of the segment, 0 to num_unroll               */
    levada_tensor *insertion_index; /* of the example, from -2^63                               */
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
/* The same for languages without macros; size is sizeof(levada_segment_view). */
LEVADA_API void levada_segment_view_init(levada_segment_view *all, size_t size);

LEVADA_API LEVADA_MUST_USE levada_status levada_segment_batch_get(levada_segment_batch *batch,
                                                                  levada_segment_view  *out,
                                                                  levada_error         *err);
/* Saves state number `state` of all rows, [n, ...]; refers to the tensor. After the last state the
 * next segments are ready. Values of rows whose segment is the last one are ignored.
 * EINVALID_ARGUMENT: dtype, shape, NaN, or saved already; ECANCELLED: the saver was closed with
 * cancel_pending; EFAILED_PRECONDITION: requeued or discarded. */
LEVADA_API LEVADA_MUST_USE levada_status levada_segment_batch_save(levada_segment_batch *batch,
                                                                   int32_t              state,
                                                                   const levada_tensor *value,
                                                                   levada_error        *err);
/* Saves several states at once, all or none: values[i] is that of state i, NULL = not now. */
LEVADA_API LEVADA_MUST_USE levada_status
levada_segment_batch_save_states(levada_segment_batch *batch, const levada_tensor *const *values,
                                 levada_error *err);
/* Puts all segments back, with the states that they came with. States that were saved meanwhile
 * are forgotten. EFAILED_PRECONDITION: all states are saved, or it was requeued or discarded;
 * ECANCELLED: it waited for states when the saver was closed with cancel_pending. A batch that was
 * taken after such a close can be requeued. */
LEVADA_API LEVADA_MUST_USE levada_status levada_segment_batch_requeue(levada_segment_batch *batch,
                                                                      levada_error         *err);
/* Drops the examples of the batch, and counts them. Fails as requeue does, but not after a cancel.
 */
LEVADA_API LEVADA_MUST_USE levada_status levada_segment_batch_discard(levada_segment_batch *batch,
                                                                      levada_error         *err);
/* Examples whose states were not all saved, requeued or discarded hold their capacity, and are
 * reported. Rows of last segments need no state. */
LEVADA_API void levada_segment_batch_destroy(levada_segment_batch **batch);

/* -- end, statistics --------------------------------------------------------------------------- */

/* Refuses new examples; those that wait for capacity still enter, and started ones continue.
 * ECANCELLED: closed already. With cancel_pending: never an error; waiting inserts end with
 * ECANCELLED, segments that are ready can be taken, and no state can be saved. */
LEVADA_API LEVADA_MUST_USE levada_status levada_state_saver_close(levada_state_saver *saver,
                                                                  bool          cancel_pending,
                                                                  levada_error *err);
LEVADA_API bool levada_state_saver_is_closed(const levada_state_saver *saver);
/* Ends every waiting call with ECANCELLED; the saver stays usable. Not from a signal handler. */
LEVADA_API void levada_state_saver_cancel(levada_state_saver *saver);

typedef struct levada_state_saver_stats {
    size_t  struct_size;
    int64_t live;       /* examples that hold capacity                                    */
    int64_t reserved;   /* capacity held by reservations                                  */
    int64_t ready;      /* segments that can be taken                                     */
    int64_t incomplete; /* segments of live examples that wait for states                 */
    int64_t unsaved;    /* examples in batches whose states are not all saved             */
    int64_t abandoned;  /* those of them whose batch was destroyed                        */
    int64_t awaited;    /* restored examples whose data has not come again                */
    int64_t oldest_unsaved; /* nanoseconds since the oldest of these batches was taken, or -1 */
    int64_t inserted, finished; /* examples so far */
    int64_t skipped;   /* without steps                             */
    int64_t discarded; /* by levada_segment_batch_discard           */
    int64_t dropped;   /* unfinished at the end, or cancelled       */
    int64_t replayed;  /* ignored because they had been finished    */
    int64_t segments;  /* taken                                     */
} levada_state_saver_stats;

#define LEVADA_STATE_SAVER_STATS_INIT                                                  \
    {                                                                                  \
        sizeof(levada_state_saver_stats), 0, 0, 0, 0, 0, 0, 0, -1, 0, 0, 0, 0, 0, 0, 0 \
    }
/* The same for languages without macros; size is sizeof(levada_state_saver_stats). */
LEVADA_API void levada_state_saver_stats_init(levada_state_saver_stats *all, size_t size);

LEVADA_API LEVADA_MUST_USE levada_status
levada_state_saver_get_stats(const levada_state_saver *saver, levada_state_saver_stats *out,
                             levada_error *err);
/* Unsaved states, oldest first, as a JSON list: [{"key","states" (names),"seconds","abandoned"}];
 * at most 100 rows. Free it with levada_string_free. */
LEVADA_API LEVADA_MUST_USE levada_status
levada_state_saver_unsaved_json(const levada_state_saver *saver, char **out, levada_error *err);

/* -- save and restore -------------------------------------------------------------------------- */

/* The state of everything that is unfinished: positions, keys, states; with `data` also sequences
 * and context. Segments of batches that are not saved yet count as not taken. `extra` (NULL = none)
 * is kept with it, for example the position of the source. Stops no thread. Free the bytes with
 * levada_string_free; levada_output_save writes a file atomically.
 *
 * With `data`, the source continues after the last example that was inserted. Without, the source
 * starts again from its beginning and numbers the examples; until the data of all
 * unfinished examples has come again, no batch is returned. */
LEVADA_API LEVADA_MUST_USE levada_status levada_state_saver_save(levada_state_saver *saver,
                                                                 bool data, const void *extra,
                                                                 size_t extra_size, char **out,
                                                                 size_t       *size,
                                                                 levada_error *err);
/* Only for a saver of the same fields and num_unroll into which nothing was inserted. `extra`
 * (NULL = not wanted; free with levada_string_free) gets the bytes given to save, never NULL.
 * EDATA_LOSS: damaged; EFAILED_PRECONDITION: another saver's, names the first difference. */
LEVADA_API LEVADA_MUST_USE levada_status
levada_state_saver_restore(levada_state_saver *saver, const void *bytes, size_t size, char **extra,
                           size_t *extra_size, levada_error *err);

#ifdef __cplusplus
}
#endif

#endif
