/* SPDX-License-Identifier: Apache-2.0 */
#include "wait.h"

bool levada_py_timeout(PyObject *seconds, int64_t *out)
{
    double s;

    *out = LEVADA_FOREVER;
    if (!seconds || seconds == Py_None) return true;
    s = PyFloat_AsDouble(seconds);
    if (PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_TypeError)) {
        PyErr_Format(PyExc_TypeError, "timeout=%R must be a number of seconds, or None", seconds);
        return false;
    }
    if (PyErr_Occurred()) return false;
    if (!(s >= 0)) {
        PyErr_Format(PyExc_ValueError, "timeout=%R must be at least 0 seconds, or None", seconds);
        return false;
    }
    if (s < 9e9) *out = (int64_t)(s * 1e9);
    return true;
}

/* Forgets the names of threads in a child of fork, where the known names are the parent's. */
void levada_py_name_thread(void)
{
    PyObject *known = levada_py_forks() ? NULL : PyThreadState_GetDict(), *threading = NULL,
             *thread = NULL, *name = NULL;
    PyObject   *word = known ? PyUnicode_InternFromString("levada.waiter") : NULL;
    const char *text = NULL;

    if (word && PyDict_Contains(known, word) == 0) {
        threading = PyImport_ImportModule("threading");
        thread = threading ? PyObject_CallMethod(threading, "current_thread", NULL) : NULL;
        name = thread ? PyObject_GetAttrString(thread, "name") : NULL;
        text = name ? PyUnicode_AsUTF8AndSize(name, NULL) : NULL;
        if (text) levada_waiter_name(text);
        (void)PyDict_SetItem(known, word, Py_True);
    }
    Py_XDECREF(name);
    Py_XDECREF(thread);
    Py_XDECREF(threading);
    Py_XDECREF(word);
    if (PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_KeyboardInterrupt)) PyErr_SetInterrupt();
    PyErr_Clear(); /* without a name it is "thread N"; a Ctrl-C comes where it waits */
}

static bool wait_is_main(const levada_py_main *main)
{
    return PyThread_get_thread_ident() == main->ident;
}

bool levada_py_poll(void *user)
{
    levada_py_main *main = user;
    PyThreadState  *saved = NULL;
    bool            raised;

    if (!wait_is_main(main)) return true;
    saved = main->saved;
    raised = levada_py_interrupted(); /* handlers may wait themselves */
    main->saved = saved;
    return !raised;
}

bool levada_py_accept(void *user)
{
    levada_py_main *main = user;
    PyThreadState  *saved = NULL;

    if (!wait_is_main(main) || !main->saved) return true;
    saved = main->saved;
    main->saved = NULL;
    PyEval_RestoreThread(saved);
    return !PyErr_Occurred() && PyErr_CheckSignals() == 0;
}

PyThreadState *levada_py_leave(const levada_py_state *state)
{
    PyThreadState *saved = PyEval_SaveThread();

    if (wait_is_main(state->main)) state->main->saved = saved;
    return saved;
}

void levada_py_enter(const levada_py_state *state, PyThreadState *saved)
{
    if (wait_is_main(state->main)) {
        if (!state->main->saved) return; /* it accepted what came */
        state->main->saved = NULL;
    }
    PyEval_RestoreThread(saved);
}

levada_py_main *levada_py_main_of(levada_py_state *state)
{
    PyObject     *threading = PyImport_ImportModule("threading"), *thread = NULL, *ident = NULL;
    unsigned long number = 0;

    if (!state->main) state->main = PyMem_Calloc(1, sizeof *state->main);
    if (!state->main) PyErr_NoMemory();
    thread = threading ? PyObject_CallMethod(threading, "main_thread", NULL) : NULL;
    ident = thread ? PyObject_GetAttrString(thread, "ident") : NULL;
    number = ident ? PyLong_AsUnsignedLong(ident) : 0;
    Py_XDECREF(ident);
    Py_XDECREF(thread);
    Py_XDECREF(threading);
    if (PyErr_Occurred()) return NULL;
    if (state->main->ident != number) state->main->ident = number; /* the first time, or forked */
    return state->main;
}

bool levada_py_ours(long forks, const char *what)
{
    if (forks == levada_py_forks()) return true;
    levada_py_refuse(LEVADA_EFAILED_PRECONDITION,
                     "the %s belongs to the parent process: make one after the fork", what);
    return false;
}
