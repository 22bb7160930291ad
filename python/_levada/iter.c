/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Iterators as Python sees them.
 *
 * Calls that can wait release the interpreter and look for Ctrl-C every 100 ms. One thread at a
 * time: a second one gets FailedPreconditionError. A child of fork() has no threads of the parent's
 * iterator, so there it only says so, and its finaliser leaves everything alone.
 */
#include "module.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define ITER_SLICE INT64_C(100000000)

typedef struct iter_object {
    PyObject_HEAD
    levada_iter *it; /* NULL when closed */
    pid_t        pid;
    bool         busy; /* a thread is inside; guarded by the interpreter */
} iter_object;

static PyObject *iter_refuse(const char *why)
{
    levada_error err = LEVADA_ERROR_INIT;

    (void)levada_fail(&err, LEVADA_EFAILED_PRECONDITION, "%s", why);
    return levada_py_raise(&err);
}

static bool iter_alive(iter_object *self)
{
    if (self->pid != getpid())
        return iter_refuse("the iterator belongs to the parent process: open one after the fork");
    if (!self->it) return iter_refuse("the iterator is closed");
    return true;
}

static bool iter_enter(iter_object *self)
{
    if (!iter_alive(self)) return false;
    if (self->busy) return iter_refuse("another thread uses this iterator");
    self->busy = true;
    return true;
}

static PyObject *iter_next(PyObject *object, PyObject *unused)
{
    iter_object  *self = (iter_object *)object;
    levada_error  err = LEVADA_ERROR_INIT;
    levada_block *block = NULL;
    levada_status st = LEVADA_AGAIN;
    bool          stopped = false;

    (void)unused;
    if (!iter_enter(self)) return NULL;
    while (st == LEVADA_AGAIN && !stopped) {
        Py_BEGIN_ALLOW_THREADS
        st = levada_iter_next_within(self->it, ITER_SLICE, &block, &err);
        Py_END_ALLOW_THREADS
        if (st == LEVADA_AGAIN) stopped = PyErr_Occurred() || PyErr_CheckSignals() < 0;
    }
    /* What came together with a signal would be lost where its handler raises in the caller. */
    if (!stopped && st >= 0) stopped = PyErr_Occurred() || PyErr_CheckSignals() < 0;
    if (stopped && block) levada_iter_unread(self->it, &block);
    self->busy = false;
    if (stopped) return NULL;
    if (st == LEVADA_END) return Py_NewRef(Py_None);
    if (!levada_py_ok(st, &err)) return NULL;
    return levada_py_block_new(levada_py_state_of(object), &block);
}

/* Between next() and this nobody else was inside: the package calls it where it was interrupted. */
static PyObject *iter_unread(PyObject *object, PyObject *block)
{
    iter_object  *self = (iter_object *)object;
    levada_block *same = NULL;

    if (!Py_IS_TYPE(block, levada_py_state_of(object)->block)) {
        PyErr_SetString(PyExc_TypeError, "not a block of levada");
        return NULL;
    }
    if (!iter_enter(self)) return NULL;
    same = levada_block_ref(((levada_py_block *)block)->block);
    levada_iter_unread(self->it, &same);
    self->busy = false;
    return Py_NewRef(Py_None);
}

static PyObject *iter_save(PyObject *object, PyObject *unused)
{
    iter_object  *self = (iter_object *)object;
    levada_error  err = LEVADA_ERROR_INIT;
    levada_status st;
    char         *bytes = NULL;
    size_t        size = 0;
    PyObject     *made = NULL;

    (void)unused;
    if (!iter_enter(self)) return NULL;
    Py_BEGIN_ALLOW_THREADS
    st = levada_iter_save(self->it, &bytes, &size, &err);
    Py_END_ALLOW_THREADS
    self->busy = false;
    if (!levada_py_ok(st, &err)) return NULL;
    made = PyBytes_FromStringAndSize(bytes, (Py_ssize_t)size);
    levada_string_free(&bytes);
    return made;
}

static PyObject *iter_restore(PyObject *object, PyObject *state)
{
    iter_object  *self = (iter_object *)object;
    levada_error  err = LEVADA_ERROR_INIT;
    levada_status st;
    Py_buffer     bytes;

    if (PyObject_GetBuffer(state, &bytes, PyBUF_SIMPLE) < 0) return NULL;
    if (!iter_enter(self)) {
        PyBuffer_Release(&bytes);
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    st = levada_iter_restore(self->it, bytes.buf, (size_t)bytes.len, &err);
    Py_END_ALLOW_THREADS
    self->busy = false;
    PyBuffer_Release(&bytes);
    return levada_py_ok(st, &err) ? Py_NewRef(Py_None) : NULL;
}

static PyObject *iter_stats(PyObject *object, PyObject *unused)
{
    iter_object *self = (iter_object *)object;
    levada_error err = LEVADA_ERROR_INIT;
    char        *text = NULL;

    (void)unused;
    if (!iter_enter(self)) return NULL;
    self->busy = false; /* no wait: nobody else gets in between */
    if (!levada_py_ok(levada_iter_stats(self->it, &text, &err), &err)) return NULL;
    return levada_py_text(&text);
}

/* Any thread: closing needs the interpreter, which is held here. */
static PyObject *iter_report(PyObject *object, PyObject *unused)
{
    iter_object *self = (iter_object *)object;
    levada_error err = LEVADA_ERROR_INIT;
    char        *text = NULL;

    (void)unused;
    if (!iter_alive(self)) return NULL;
    if (!levada_py_ok(levada_iter_report(self->it, &text, &err), &err)) return NULL;
    return levada_py_text(&text);
}

static PyObject *iter_progress(PyObject *object, PyObject *unused)
{
    iter_object *self = (iter_object *)object;
    int64_t      done = -1, total = -1;

    (void)unused;
    if (!iter_alive(self)) return NULL;
    levada_iter_progress(self->it, &done, &total);
    return Py_BuildValue("(LL)", (long long)done, (long long)total);
}

/* Any thread, as long as batches ask for their keys; None where that is not known (any more). */
static PyObject *iter_file(PyObject *object, PyObject *args)
{
    iter_object *self = (iter_object *)object;
    levada_error err = LEVADA_ERROR_INIT;
    char        *path = NULL;
    PyObject    *made = NULL;
    int          leaf = 0, shard = 0;

    if (!PyArg_ParseTuple(args, "ii:file", &leaf, &shard)) return NULL;
    if (self->it && self->pid == getpid() &&
        !levada_py_ok(levada_iter_find_file(self->it, leaf, shard, &path, &err), &err))
        return NULL;
    if (!path) return Py_NewRef(Py_None);
    made = PyUnicode_DecodeFSDefault(path);
    levada_string_free(&path);
    return made;
}

static PyObject *iter_cancel(PyObject *object, PyObject *unused)
{
    iter_object *self = (iter_object *)object;

    (void)unused;
    if (self->it && self->pid == getpid()) levada_iter_cancel(self->it);
    return Py_NewRef(Py_None);
}

static PyObject *iter_close(PyObject *object, PyObject *unused)
{
    iter_object *self = (iter_object *)object;
    levada_iter *it = NULL;

    (void)unused;
    if (!self->it || self->pid != getpid()) return Py_NewRef(Py_None);
    if (!iter_enter(self)) return NULL;
    it = self->it;
    self->it = NULL;
    self->busy = false;
    Py_BEGIN_ALLOW_THREADS
    levada_iter_close(&it);
    Py_END_ALLOW_THREADS
    return Py_NewRef(Py_None);
}

/* Nobody is inside: they would hold a reference. */
static void iter_dealloc(PyObject *object)
{
    iter_object  *self = (iter_object *)object;
    PyTypeObject *type = Py_TYPE(object);
    PyObject     *kind = NULL, *value = NULL, *trace = NULL;

    if (self->it && self->pid == getpid()) {
        PyErr_Fetch(&kind, &value, &trace);
        Py_BEGIN_ALLOW_THREADS
        levada_iter_close(&self->it);
        Py_END_ALLOW_THREADS
        PyErr_Restore(kind, value, trace);
    }
    PyObject_Free(self);
    Py_DECREF(type);
}

static PyObject *iter_open(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static const char *const names[] = {"dataset", "seed", "epoch", "threads", "block_rows",
                                        "errors", "max_bytes", "deterministic", NULL};
    levada_py_state    *state = PyType_GetModuleState(type);
    levada_iter_options options = LEVADA_ITER_OPTIONS_INIT;
    levada_error        err = LEVADA_ERROR_INIT;
    levada_status       st;
    PyObject           *object = NULL;
    levada_dataset     *dataset = NULL;
    iter_object        *self = NULL;
    long long           seed = -1, epoch = 0, most = 0;
    int                 threads = 0, rows = 0, deterministic = true;
    char              **keywords = NULL;

    memcpy(&keywords, &(const char *const *){names}, sizeof keywords);
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|LLiizLp:Iter", keywords, &object, &seed,
                                     &epoch, &threads, &rows, &options.errors, &most,
                                     &deterministic))
        return NULL;
    dataset = levada_py_dataset_of(state, object);
    self = dataset ? (iter_object *)PyType_GenericAlloc(type, 0) : NULL;
    if (!self) return NULL;
    options.seed = seed;
    options.epoch = epoch;
    options.threads = threads;
    options.block_rows = rows;
    options.max_record_bytes = most;
    options.deterministic = deterministic;
    self->pid = getpid();
    Py_BEGIN_ALLOW_THREADS
    st = levada_iter_open(dataset, &options, &self->it, &err);
    Py_END_ALLOW_THREADS
    if (!levada_py_ok(st, &err)) Py_CLEAR(self);
    return (PyObject *)self;
}

static PyMethodDef iter_methods[] = {
    {"next", iter_next, METH_NOARGS, "The next block, or None at the end."},
    {"unread", iter_unread, METH_O, "The block that next() gave last is given again."},
    {"save", iter_save, METH_NOARGS, "Position after the last block, as bytes."},
    {"restore", iter_restore, METH_O, "Goes on where save() was called."},
    {"stats", iter_stats, METH_NOARGS, "Counters as JSON."},
    {"report", iter_report, METH_NOARGS, "Who waits for what, as JSON; any thread."},
    {"progress", iter_progress, METH_NOARGS, "(bytes read, bytes in total or -1)."},
    {"file", iter_file, METH_VARARGS, "file(leaf, shard): path, or None."},
    {"cancel", iter_cancel, METH_NOARGS, "Wakes a waiting next(); any thread."},
    {"close", iter_close, METH_NOARGS, "Stops and joins its threads; again is fine."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot iter_slots[] = {
    { Py_tp_doc, (void *)(uintptr_t)"A running dataset; levada.Iterator wraps it." },
    {Py_tp_new, (void *)(uintptr_t)iter_open},
    {Py_tp_dealloc, (void *)(uintptr_t)iter_dealloc},
    {Py_tp_methods, iter_methods},
    {0, NULL},
};

PyType_Spec levada_py_iter_spec = {
    .name = "levada._levada.Iter",
    .basicsize = sizeof(iter_object),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = iter_slots,
};
