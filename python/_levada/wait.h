/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What waiting calls have in common: time-outs, names of threads, Ctrl-C, the interpreter, fork.
 */
#ifndef LEVADA_PY_WAIT_H
#define LEVADA_PY_WAIT_H

#include "module.h"

#include <levada/queue.h>

/* timeout=: seconds or None, as nanoseconds; false with an exception. */
bool levada_py_timeout(PyObject *seconds, int64_t *out);
/* Sets the thread's name in reports, before a call that waits. */
void levada_py_name_thread(void);
/* The main thread, which alone has signals to look for. The others must not enter an interpreter
 * that may be on its way out. */
struct levada_py_main {
    unsigned long  ident;
    PyThreadState *saved; /* where it waits without the interpreter, else NULL; its own */
};

/* Returns the current state of the main thread; NULL with an exception. */
levada_py_main *levada_py_main_of(levada_py_state *state);
/* Polls, for levada_queue_set_poll and _set_accept; `user` is a levada_py_main. Returns false after
 * Ctrl-C. accept takes the interpreter back and keeps it. */
bool levada_py_poll(void *user);
bool levada_py_accept(void *user);
/* Around a call that waits: without the interpreter in between. */
PyThreadState *levada_py_leave(const levada_py_state *state);
void           levada_py_enter(const levada_py_state *state, PyThreadState *saved);
/* LEVADA_PY_WAITING(state, st = levada_queue_...); with the thread's name in reports. */
#define LEVADA_PY_WAITING(state, call)                          \
    do {                                                        \
        levada_py_name_thread();                                \
        PyThreadState *levada_py_saved = levada_py_leave(state); \
        call;                                                   \
        levada_py_enter((state), levada_py_saved);              \
    } while (0)
/* Returns false with an exception in a child of fork(), whose objects belong to the parent. */
bool levada_py_ours(long forks, const char *what);

/* Borrowed from the object; NULL where it is not a queue of ours. queue.c */
levada_queue *levada_py_queue_of(const levada_py_state *state, PyObject *object);

#define LEVADA_PY_POLL INT64_C(50000000) /* nanoseconds between two looks for Ctrl-C */

#endif
