/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The call queue, between the threads of levada and those of Python: call_queue.c posts tasks and
 * waits for answers; call_queue_serve.c takes the tasks and answers them.
 */
#ifndef LEVADA_PYTHON_CALL_QUEUE_H
#define LEVADA_PYTHON_CALL_QUEUE_H

#include "pieces.h"

#include <pthread.h>
#include <stdatomic.h>

typedef struct levada_py_target { /* a Python function as levada holds it: `user` */
    levada_py_call_queue     *calls;
    PyObject             *target; /* has call, save, restore, close, each with a run's number */
    int32_t               workers; /* most calls at the same time */
    bool                  pure;    /* may be called again for the same records */
    /* -- guarded by the lock of the call queue */
    int32_t               busy, refs; /* refs: its levada_function and its runs */
    int64_t               forks;      /* busy is of this process; see the queue */
    struct levada_py_target *next;    /* in the list of the dead */
} levada_py_target;

typedef struct levada_py_run levada_py_run;

typedef struct levada_py_task {
    levada_block     *memory; /* its own place, or NULL in a run */
    levada_py_run         *run;
    const char       *op;
    levada_block     *in, *out, *keys; /* keys: bytes, or NULL */
    int64_t           size; /* of the bytes in `in` or `out`, -1 = it is a block */
    levada_status     status;
    levada_error      error;
    bool              aside; /* may run concurrently with other calls of the function */
    bool              taken, noted, done, left; /* noted: its position is known */
    struct levada_py_task *next;
} levada_py_task;

struct levada_py_run {
    levada_block  *memory;
    levada_py_target *function;
    int64_t        number;
    uint64_t       seed;
    int64_t        epoch;
    int32_t        busy;
    bool           cancelled;
    pthread_cond_t wake; /* for everybody who waits for an answer */
    levada_py_task     *pending; /* call that answered AGAIN and still runs; its thread's only */
    levada_block       *keys;    /* of the records of the next call; its thread's only */
    _Atomic(levada_py_pieces *) pieces; /* answer calls without Python; set once */
    levada_py_task      last; /* reports to Python that the run is over */
};

struct levada_py_call_queue {
    pthread_mutex_t lock;
    pthread_cond_t  news;
    /* -- guarded by lock */
    levada_py_task     *first, *last;
    levada_py_target *dead;
    int64_t        runs;
    int64_t        forks; /* of this process' line */
    int32_t        idle;
    bool           ending; /* idle threads leave */
};

/* Callers hold the lock of the queue. */
void levada_py_call_queue_remove_locked(levada_py_call_queue *calls, levada_py_task *task);
void levada_py_call_queue_drop_locked(levada_py_call_queue *calls, levada_py_target *function);
void levada_py_call_queue_free(levada_py_task *task);
/* Lets go of the functions that levada has let go of; with the interpreter. */
void levada_py_call_queue_bury(levada_py_call_queue *calls);
/* `size` bytes as a block, which may be dropped without the interpreter. */
LEVADA_MUST_USE levada_status levada_py_call_queue_keep(const void *bytes, size_t size,
                                                  levada_block **out, levada_error *err);
const void *levada_py_call_queue_bytes(const levada_block *block);

#endif
