/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Queues for passing elements between threads: FIFO, padding, random-shuffle and priority.
 *
 * The contract is TensorFlow's (core/kernels/queue_base.cc) without its defects. Queues are fair:
 * blocked calls complete in the order in which they were made, also enqueues of many elements. A
 * plain close waits for earlier enqueues; dequeues then return the remaining elements and
 * LEVADA_EOUT_OF_RANGE. Elements of a failed dequeue return to the front, in order.
 *
 * An element is a tuple of components, each a tensor. If every shape is known, a ring of rows holds
 * the elements, and one memcpy per component moves many of them. A queue is reference-counted; any
 * thread may call every function. Calls that wait accept a timeout in nanoseconds (LEVADA_FOREVER =
 * without limit; 0 = do not wait). After the timeout they return EDEADLINE_EXCEEDED, and nothing is
 * lost.
 *
 * Example:
 *
 *     levada_queue_options options = LEVADA_QUEUE_OPTIONS_INIT;
 *     levada_queue        *queue = NULL;
 *     const levada_dtype   dtype = LEVADA_INT64;
 *     const levada_shape   scalar = {0, {0}};
 *     int64_t              in[] = {1, 2, 3}, out[3], got;
 *
 *     options.capacity = 100;
 *     options.ncomponents = 1;
 *     options.dtypes = &dtype;
 *     options.shapes = &scalar;
 *     LEVADA_TRY(levada_queue_create(NULL, &options, &queue, err));
 *     LEVADA_TRY(levada_queue_enqueue_rows(queue, 3, (const void *[]){in}, 0, NULL, err));
 *     LEVADA_TRY(levada_queue_dequeue_rows(queue, 3, false, (void *[]){out}, 0, &got, err));
 *     levada_queue_unref(&queue);
 */
#ifndef LEVADA_QUEUE_H
#define LEVADA_QUEUE_H

#include <levada/iter.h>
#include <levada/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct levada_queue levada_queue;

/* A timeout for callers that release something, such as a lock, before they wait: the call
 * completes immediately, or returns LEVADA_AGAIN and changes nothing. It may also return AGAIN
 * although it could succeed, for example in the first calls, which reserve memory, and with
 * max_bytes. Repeat such a call with a timeout. */
#define LEVADA_AT_ONCE (-2LL)

typedef enum levada_queue_kind {
    LEVADA_QUEUE_FIFO,
    LEVADA_QUEUE_PADDING,
    LEVADA_QUEUE_SHUFFLE,
    LEVADA_QUEUE_PRIORITY
} levada_queue_kind;

typedef struct levada_queue_options {
    size_t              struct_size;
    levada_queue_kind   kind;
    int64_t             capacity;  /* elements, negative = unbounded; 0 is EINVALID_ARGUMENT */
    int64_t             max_bytes; /* limit of the bytes of all elements, negative = none; a larger
                                    * element passes through an empty queue */
    int64_t             min_after_dequeue; /* SHUFFLE              */
    int64_t             seed;              /* SHUFFLE; -1 = random */
    int32_t             ncomponents;
    const levada_dtype *dtypes; /* ncomponents; PRIORITY: the first is the int64 priority        */
    const levada_shape *shapes; /* ncomponents, or NULL: any shape for each element              */
    const char         *name;
    const char         *shared_name; /* NULL = private. Callers with the same name share it */
} levada_queue_options;

#define LEVADA_QUEUE_OPTIONS_INIT                                                              \
    {                                                                                          \
        sizeof(levada_queue_options), LEVADA_QUEUE_FIFO, -1, -1, 0, -1, 0, NULL, NULL, NULL, NULL \
    }
/* Sets *all to its defaults, for languages without macros; size is sizeof(levada_queue_options). */
LEVADA_API void levada_queue_options_init(levada_queue_options *all, size_t size);

/* Creates a queue; the caller owns the reference in *out. */
LEVADA_API LEVADA_MUST_USE levada_status levada_queue_create(levada_env                 *env,
                                                             const levada_queue_options *options,
                                                             levada_queue              **out,
                                                             levada_error               *err);
LEVADA_API levada_queue *levada_queue_ref(levada_queue *queue);
/* Drops a reference. The last unref frees the queue; no call may be waiting in it. */
LEVADA_API void levada_queue_unref(levada_queue **queue);

/* Enqueues one element: ncomponents tensors (borrowed; the queue takes references or copies
 * rows). */
LEVADA_API LEVADA_MUST_USE levada_status levada_queue_enqueue(levada_queue               *queue,
                                                              levada_tensor *const *components,
                                                              int64_t timeout, levada_error *err);
/* Enqueues the rows of tensors with one more leading dimension, in order. *done (may be NULL)
 * receives the number of rows that were enqueued, also on failure. */
LEVADA_API LEVADA_MUST_USE levada_status
levada_queue_enqueue_many(levada_queue *queue, levada_tensor *const *components, int64_t timeout,
                          int64_t *done, levada_error *err);
/* Dequeues one element into components[0 .. ncomponents), which the caller owns. */
LEVADA_API LEVADA_MUST_USE levada_status levada_queue_dequeue(levada_queue   *queue,
                                                              levada_tensor **components,
                                                              int64_t timeout, levada_error *err);
/* Dequeues n elements as stacked tensors (PADDING: padded to the longest element). With up_to it
 * returns fewer elements once the queue is closed. A PRIORITY queue waits until all n elements are
 * present, so that they are in order; n above the capacity is EINVALID_ARGUMENT, or means the
 * capacity with up_to. */
LEVADA_API LEVADA_MUST_USE levada_status levada_queue_dequeue_many(levada_queue *queue, int64_t n,
                                                                   bool up_to,
                                                                   levada_tensor **components,
                                                                   int64_t         timeout,
                                                                   levada_error   *err);
/* Enqueue and dequeue n rows without tensors, in a queue whose components are numbers of known
 * shapes: the rows of component i are adjacent at rows[i]. They allocate nothing. *done and *got
 * (may be NULL) are also written on failure; the rows of a failed dequeue are invalid. */
LEVADA_API LEVADA_MUST_USE levada_status levada_queue_enqueue_rows(levada_queue *queue, int64_t n,
                                                                   const void *const *rows,
                                                                   int64_t timeout, int64_t *done,
                                                                   levada_error *err);
LEVADA_API LEVADA_MUST_USE levada_status levada_queue_dequeue_rows(levada_queue *queue, int64_t n,
                                                                   bool up_to, void *const *rows,
                                                                   int64_t timeout, int64_t *got,
                                                                   levada_error *err);
/* Enqueues the records of a block from row `first` on, in order, with one call. Component i is
 * column columns[i] (NULL: the first columns, in order) of the same dtype. A row of a ragged column
 * of depth 1 is a tensor [length, dims...]; deeper columns are EINVALID_ARGUMENT. Everything is
 * checked before the first row is added. *done (may be NULL) receives the number of added rows,
 * also on failure. */
LEVADA_API LEVADA_MUST_USE levada_status
levada_queue_enqueue_block(levada_queue *queue, const levada_block *block, const int32_t *columns,
                           int64_t first, int64_t timeout, int64_t *done, levada_error *err);
/* Closes the queue after the enqueues that wait before the call. A close that times out still takes
 * effect in its turn. Returns ECANCELLED if the queue is closed already. With cancel_pending it
 * closes immediately, ends waiting enqueues with ECANCELLED, and never fails. */
LEVADA_API LEVADA_MUST_USE levada_status levada_queue_close(levada_queue *queue,
                                                            bool cancel_pending, int64_t timeout,
                                                            levada_error *err);
/* Ends every waiting call with ECANCELLED; the queue stays usable. Do not call it from a signal
 * handler; interrupt.h does that. */
LEVADA_API void levada_queue_cancel(levada_queue *queue);
/* Returns the number of elements in the queue. */
LEVADA_API int64_t levada_queue_size(const levada_queue *queue);
/* Returns true if the queue is closed. */
LEVADA_API bool levada_queue_is_closed(const levada_queue *queue);
/* Returns the options of the queue, with its name and dtypes; borrowed. */
LEVADA_API const levada_queue_options *levada_queue_info(const levada_queue *queue);

/* Lists every call that waits in the environment (NULL = default) for a queue, a barrier, a
 * coordinator or the blocks of an iterator ("pipeline"; its idle workers wait for "work"), as a
 * JSON list: [{"thread","object","waits_for","seconds"}]. Waits for state savers also have
 * "detail": the number of segments that are ready, and the age of unsaved states. Free it with
 * levada_string_free. levada_waiter_name sets the names of threads. */
LEVADA_API LEVADA_MUST_USE levada_status levada_waiters_json(levada_env *env, char **out,
                                                             levada_error *err);
/* Sets the name of the calling thread in wait reports; up to 63 bytes are copied; "" removes it. */
LEVADA_API void levada_waiter_name(const char *name);

#ifdef __cplusplus
}
#endif

#endif
