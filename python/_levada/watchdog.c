/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The watchdog of queues and barriers as Python sees it: a thread of Python asks for the next wait
 * that is too long, with the interpreter released. levada.train.Watchdog wraps these functions.
 */
#include "wait.h"

#include <levada/watchdog.h>
#include <string.h>

#define WATCHDOG_NAME "levada._levada.watchdog"

typedef struct watchdog_handle {
    levada_watchdog *watchdog;
    long             forks;
} watchdog_handle;

static void watchdog_free(PyObject *capsule)
{
    watchdog_handle *h = PyCapsule_GetPointer(capsule, WATCHDOG_NAME);

    if (levada_py_forks() == h->forks) levada_watchdog_destroy(&h->watchdog);
    PyMem_Free(h);
}

/* watchdog_open(limit, cancel): a handle. limit in seconds. */
static PyObject *watchdog_open(PyObject *module, PyObject *args)
{
    levada_watchdog_options options = LEVADA_WATCHDOG_OPTIONS_INIT;
    levada_error            err = LEVADA_ERROR_INIT;
    PyObject               *limit = NULL, *capsule = NULL;
    watchdog_handle        *h = NULL;
    int                     cancel = 0;

    if (!PyArg_ParseTuple(args, "Op:watchdog_open", &limit, &cancel)) return NULL;
    if (!levada_py_timeout(limit, &options.limit)) return NULL;
    options.cancel = cancel != 0;
    h = PyMem_Calloc(1, sizeof *h);
    if (!h) return PyErr_NoMemory();
    if (levada_py_ok(levada_watchdog_create(NULL, &options, &h->watchdog, &err), &err))
        capsule = PyCapsule_New(h, WATCHDOG_NAME, watchdog_free);
    if (!capsule) {
        levada_watchdog_destroy(&h->watchdog);
        PyMem_Free(h);
        return NULL;
    }
    h->forks = levada_py_forks();
    return capsule;
}

/* Names may be cut inside of a character. */
static PyObject *watchdog_text(const char *text)
{
    return PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
}

/* watchdog_next(handle): (thread, object, waits_for, seconds, cancelled), None once stopped. */
static PyObject *watchdog_next(PyObject *module, PyObject *capsule)
{
    watchdog_handle *h = PyCapsule_GetPointer(capsule, WATCHDOG_NAME);
    levada_wait      wait = LEVADA_WAIT_INIT;
    levada_status    st;

    if (!h || !levada_py_ours(h->forks, "watchdog")) return NULL;
    LEVADA_PY_UNLOCKED(st = levada_watchdog_next(h->watchdog, LEVADA_FOREVER, &wait, NULL));
    if (st != LEVADA_OK) return Py_NewRef(Py_None);
    return Py_BuildValue("(NNNdO)", watchdog_text(wait.thread), watchdog_text(wait.object),
                         watchdog_text(wait.waits_for), (double)wait.nanoseconds / 1e9,
                         wait.cancelled ? Py_True : Py_False);
}

static PyObject *watchdog_stop(PyObject *module, PyObject *capsule)
{
    watchdog_handle *h = PyCapsule_GetPointer(capsule, WATCHDOG_NAME);

    if (!h) return NULL;
    if (h->forks == levada_py_forks()) levada_watchdog_stop(h->watchdog);
    return Py_NewRef(Py_None);
}

PyMethodDef levada_py_functions_watchdog[] = {
    {"watchdog_open", watchdog_open, METH_VARARGS, "watchdog_open(limit, cancel)"},
    {"watchdog_next", watchdog_next, METH_O, "The next wait that is too long; None once stopped."},
    {"watchdog_stop", watchdog_stop, METH_O, "Ends watchdog_next."},
    {NULL, NULL, 0, NULL},
};
