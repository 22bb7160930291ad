/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Queues: first in first out, padding, random shuffle, priority.
 *
 * The contract is TensorFlow's (core/kernels/queue_base.cc) without its defects. Blocked callers
 * are served strictly in the order of their calls, also enqueues of many. A plain close waits for
 * earlier enqueues. Dequeues return the remaining elements and then LEVADA_EOUT_OF_RANGE. Elements
 * of a failed dequeue return to the front, in order.
 *
 * An element is a tuple of components, each a tensor. If every shape is known, a ring of rows holds
 * the elements, and one memcpy per component moves many of them. A queue is reference-counted;
 * every function may be called from any thread. Calls that wait accept a timeout in nanoseconds
 * (LEVADA_FOREVER; 0 = only try). After it they return EDEADLINE_EXCEEDED, and nothing is lost.
 */
#ifndef LEVADA_QUEUE_H
#define LEVADA_QUEUE_H

#include <levada/iter.h>
#include <levada/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct levada_queue levada_queue;

/* As a timeout: the call does all of its work at once, or returns LEVADA_AGAIN and changes nothing.
 * A call that could succeed may return AGAIN too: the first calls, which reserve memory, and all
 * calls with max_bytes. So repeat it with a timeout. For callers that release something, such as a
 * lock, before they wait. */
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
    int64_t             capacity;  /* elements, -1 = unbounded; 0 is EINVALID_ARGUMENT           */
    int64_t             max_bytes; /* of the elements held, -1 = no limit; one larger element
                                    * passes through an empty queue                              */
    int64_t             min_after_dequeue; /* SHUFFLE */
    int64_t             seed;              /* SHUFFLE; -1 = random */
    int32_t             ncomponents;
    const levada_dtype *dtypes; /* ncomponents; PRIORITY: the first is the int64 priority        */
    const levada_shape *shapes; /* ncomponents, or NULL: any shape for each element              */
    const char         *name;
    const char         *shared_name; /* NULL = private. Callers with the same name share it      */
} levada_queue_options;

#define LEVADA_QUEUE_OPTIONS_INIT                                                              \
    {                                                                                          \
        sizeof(levada_queue_options), LEVADA_QUEUE_FIFO, -1, -1, 0, -1, 0, NULL, NULL, NULL, NULL \
    }
/* The same for languages without macros; size is sizeof(levada_queue_options). */
LEVADA_API void levada_queue_options_init(levada_queue_options *all, size_t size);

LEVADA_API LEVADA_MUST_USE levada_status levada_queue_create(levada_env                 *env,
                                                             const levada_queue_options *options,
                                                             levada_queue              **out,
                                                             levada_error               *err);
LEVADA_API levada_queue *levada_queue_ref(levada_queue *queue);
/* The last unref frees it; no call may wait in it then. */
LEVADA_API void levada_queue_unref(levada_queue **queue);

/* One element: ncomponents tensors (borrowed; the queue takes references or copies rows). */
LEVADA_API LEVADA_MUST_USE levada_status levada_queue_enqueue(levada_queue               *queue,
                                                              levada_tensor *const *components,
                                                              int64_t timeout, levada_error *err);
/* Rows of tensors with one more leading dimension, in order. *done (may be NULL) gets the number
 * of rows that went in, also on failure. */
LEVADA_API LEVADA_MUST_USE levada_status
levada_queue_enqueue_many(levada_queue *queue, levada_tensor *const *components, int64_t timeout,
                          int64_t *done, levada_error *err);
/* One element into components[0 .. ncomponents), the caller's. */
LEVADA_API LEVADA_MUST_USE levada_status levada_queue_dequeue(levada_queue   *queue,
                                                              levada_tensor **components,
                                                              int64_t timeout, levada_error *err);
/* n elements stacked (PADDING: padded to the longest of them). up_to: fewer once it is closed.
 * PRIORITY: in order, so it waits until all n are there; n beyond the capacity is
 * EINVALID_ARGUMENT, with up_to it means the capacity. */
LEVADA_API LEVADA_MUST_USE levada_status levada_queue_dequeue_many(levada_queue *queue, int64_t n,
                                                                   bool up_to,
                                                                   levada_tensor **components,
                                                                   int64_t         timeout,
                                                                   levada_error   *err);
/* The same without tensors, for a queue whose components are numbers of known shapes: n rows of
 * component i are adjacent at rows[i]. Nothing is allocated. *done and *got (may be
 * NULL) are written on failure too; the rows of a failed dequeue are invalid. */
LEVADA_API LEVADA_MUST_USE levada_status levada_queue_enqueue_rows(levada_queue *queue, int64_t n,
                                                                   const void *const *rows,
                                                                   int64_t timeout, int64_t *done,
                                                                   levada_error *err);
LEVADA_API LEVADA_MUST_USE levada_status levada_queue_dequeue_rows(levada_queue *queue, int64_t n,
                                                                   bool up_to, void *const *rows,
                                                                   int64_t timeout, int64_t *got,
                                                                   levada_error *err);
/* Enqueues the records of a block from row `first` on, in order, without a call for each.
 * Component i is column columns[i] (NULL: the first columns, in order) of the same dtype. A row of
 * a ragged column of depth 1 is a tensor [length, dims...]; deeper columns are EINVALID_ARGUMENT.
 * Everything is checked before the first row is added. *done (may be NULL) receives the number of
 * added rows, also on failure. */
LEVADA_API LEVADA_MUST_USE levada_status
levada_queue_enqueue_block(levada_queue *queue, const levada_block *block, const int32_t *columns,
                           int64_t first, int64_t timeout, int64_t *done, levada_error *err);
/* A plain close takes effect, and returns, after the enqueues that wait before it. A close that
 * times out still takes effect in its turn. ECANCELLED: the queue is closed already. With
 * cancel_pending it takes effect now, ends waiting enqueues with ECANCELLED, and never fails. */
LEVADA_API LEVADA_MUST_USE levada_status levada_queue_close(levada_queue *queue,
                                                            bool cancel_pending, int64_t timeout,
                                                            levada_error *err);
/* Ends every waiting call with ECANCELLED; the queue stays usable. Not from a signal handler
 * (interrupt.h does that). */
LEVADA_API void    levada_queue_cancel(levada_queue *queue);
LEVADA_API int64_t levada_queue_size(const levada_queue *queue);
LEVADA_API bool    levada_queue_is_closed(const levada_queue *queue);
LEVADA_API const levada_queue_options *levada_queue_info(const levada_queue *queue);

/* Every call that waits in the environment (NULL = default) for a queue, a barrier, a coordinator
 * or the blocks of an iterator ("pipeline"; its idle workers wait for "work"), as a JSON list:
 * [{"thread","object","waits_for","seconds"}], and of state savers "detail" (how many segments are
 * ready, and since when states are unsaved), which levada_string_free frees. Names are given with
 * levada_waiter_name. */
LEVADA_API LEVADA_MUST_USE levada_status levada_waiters_json(levada_env *env, char **out,
                                                             levada_error *err);
/* Names the calling thread in reports; the text is copied (63 bytes); "" forgets it. */
LEVADA_API void levada_waiter_name(const char *name);

#ifdef __cplusplus
}
#endif

#endif
