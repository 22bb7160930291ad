/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Iterators as Python sees them: each returns what its method _made(block) makes of a block, or one
 * after the other the items of a list that it makes.
 *
 * Calls that can wait release the interpreter and look for Ctrl-C every 100 ms. Nothing of Python
 * runs between the end of _made() and the caller's loop, and where _made() raises, whatever it was,
 * its block is given again: so no Ctrl-C loses a record. One thread at a time: a second one gets
 * FailedPreconditionError. A child of fork() has no threads of the parent's iterator, so there it
 * only says so, and its finaliser leaves everything alone.
 */
#include "module.h"

#include <levada/binding.h>
#include <levada/receipt.h>

#include <stdio.h>
#include <string.h>

#define ITER_SLICE INT64_C(100000000)

typedef struct iter_object {
    PyObject_HEAD
    levada_py_state *state;
    levada_iter     *it; /* NULL when closed */
    long             forks;    /* of the process that opened it */
    bool             busy;     /* a thread is inside; guarded by the interpreter */
    bool             ended;    /* _ended() was called */
    PyObject        *back;     /* the block that is given again next, or NULL */
    PyObject        *items;    /* the list made of the last block, or NULL */
    levada_block    *last;     /* that block, while items of it wait */
    int64_t          at, n;    /* the next item, those before it are None; items in the list */
    int64_t          drop;     /* items still to skip after a restore */
} iter_object;

static PyObject *iter_refuse(const char *why)
{
    return levada_py_refuse(LEVADA_EFAILED_PRECONDITION, "%s", why);
}

static bool iter_alive(iter_object *self)
{
    if (self->forks != levada_py_forks())
        return iter_refuse("the iterator belongs to the parent process: open one after the fork");
    if (!self->it) return iter_refuse("the iterator is closed");
    return true;
}

/* Returns true if the caller may use the iterator. This is enough for calls that do not wait,
 * because nobody else gets in between. */
static bool iter_idle(iter_object *self)
{
    if (!iter_alive(self)) return false;
    return !self->busy || iter_refuse("another thread uses this iterator");
}

static bool iter_enter(iter_object *self)
{
    return iter_idle(self) && (self->busy = true);
}

/* Returns the object of a block. A block that comes again keeps the object that it had, which knows
 * whether it is writable. */
static PyObject *iter_block(iter_object *self, levada_block **block)
{
    PyObject *back = self->back;

    self->back = NULL;
    if (back && ((levada_py_block *)back)->block == *block) {
        levada_block_unref(block);
        return back;
    }
    Py_XDECREF(back);
    back = levada_py_block_new(self->state, block);
    if (back) ((levada_py_block *)back)->step = levada_iter_batches(self->it) - 1;
    else levada_iter_unread(self->it, block);
    return back;
}

/* Takes it back: the next one is this block again. */
static void iter_unread(iter_object *self, PyObject *block)
{
    levada_block *same = levada_block_ref(((levada_py_block *)block)->block);

    levada_iter_unread(self->it, &same);
    self->back = Py_NewRef(block);
}

/* Calls _ended() once; it may look at the iterator, and may raise. */
static void iter_end(iter_object *self)
{
    PyObject *done;

    if (self->ended) return;
    self->ended = true;
    self->busy = false;
    done = PyObject_CallMethod((PyObject *)self, "_ended", NULL);
    self->busy = true;
    Py_XDECREF(done);
}

/* Returns true if only the caller can end the wait, by feeding something back. */
static bool iter_is_stalled(levada_status st, const levada_error *err)
{
    return st == LEVADA_AGAIN && err->code == LEVADA_AGAIN;
}

/* Returns the next block; NULL at the end, and with an exception. */
static PyObject *iter_pull(iter_object *self)
{
    levada_error  err;
    levada_block *block = NULL;
    levada_status st = LEVADA_AGAIN;
    bool          stopped = false;

    levada_py_clear(&err);
    while (st == LEVADA_AGAIN && !stopped) {
        LEVADA_PY_UNLOCKED(st = levada_iter_next_slice(self->it, ITER_SLICE, &block, &err));
        if (st == LEVADA_AGAIN) stopped = PyErr_Occurred() || PyErr_CheckSignals() < 0;
        if (iter_is_stalled(st, &err)) st = err.code = LEVADA_EFAILED_PRECONDITION;
    }
    /* What came together with a signal would be lost where its handler raises in the caller. */
    if (!stopped && st >= 0) stopped = PyErr_Occurred() || PyErr_CheckSignals() < 0;
    if (stopped && block) levada_iter_unread(self->it, &block);
    if (!stopped && st == LEVADA_END) iter_end(self);
    if (stopped || st == LEVADA_END || !levada_py_ok(st, &err)) return NULL;
    return iter_block(self, &block);
}

/* Items of the list that were not given yet. */
static int64_t iter_waiting(const iter_object *self)
{
    return self->n - self->at;
}

/* Returns the position before the buffered items of the block. */
static PyObject *iter_position(iter_object *self)
{
    levada_error  err = LEVADA_ERROR_INIT;
    levada_status st;
    char         *bytes = NULL;
    size_t        size = 0;
    bool          within = iter_waiting(self) > 0;

    LEVADA_PY_UNLOCKED(
         st = within ? levada_iter_save_at(self->it, self->last, self->at, &bytes, &size, &err)
                     : levada_iter_save(self->it, &bytes, &size, &err));
    return levada_py_bytes(st, &bytes, size, &err);
}

/* Takes the object, which may be NULL. */
static void iter_set(PyObject **place, PyObject *object)
{
    PyObject *old = *place;

    *place = object;
    Py_XDECREF(old);
}

static void iter_forget(iter_object *self)
{
    iter_set(&self->items, NULL);
    levada_block_unref(&self->last);
    self->at = self->n = 0;
}

/* Takes the items of a block, one of each record; after a restore the first ones are skipped. */
static void iter_keep(iter_object *self, PyObject *list, PyObject *block)
{
    int64_t n = PyList_Size(list);

    iter_set(&self->items, list);
    self->n = n;
    self->last = levada_block_ref(((levada_py_block *)block)->block);
    self->at = n < self->drop ? n : self->drop;
    self->drop -= self->at;
}

/* Sets *out to what _made() makes of the next block: items, or a value. Returns false at the end,
 * and with an exception. */
static bool iter_fetch(iter_object *self, PyObject **out)
{
    PyObject *block = NULL, *made = NULL;

    iter_forget(self);
    block = iter_pull(self);
    if (!block) return false;
    made = PyObject_CallMethodObjArgs((PyObject *)self, self->state->made, block, NULL);
    if (!made) iter_unread(self, block);
    if (made && PyList_CheckExact(made)) iter_keep(self, made, block);
    else *out = made;
    Py_DECREF(block);
    return made != NULL;
}

static PyObject *iter_next(PyObject *object)
{
    iter_object *self = (iter_object *)object;
    PyObject    *value = NULL;

    if (!iter_enter(self)) return NULL;
    while (!value && (iter_waiting(self) > 0 || iter_fetch(self, &value))) {
        if (iter_waiting(self) == 0) continue;
        value = PySequence_GetItem(self->items, (Py_ssize_t)self->at);
        (void)PyList_SetItem(self->items, (Py_ssize_t)self->at++, Py_NewRef(Py_None));
    }
    self->busy = false;
    return value;
}

/* Returns the block; the package overrides this method. */
static PyObject *iter_made(PyObject *object, PyObject *block)
{
    (void)object;
    return Py_NewRef(block);
}

/* Does nothing; the package overrides this method. */
static PyObject *iter_ended(PyObject *object, PyObject *unused)
{
    (void)object;
    Py_RETURN_NONE;
}

/* Skips the items that a restore has to skip: False if the dataset ends earlier. */
static PyObject *iter_skip(PyObject *object, PyObject *unused)
{
    iter_object *self = (iter_object *)object;
    PyObject    *value = NULL;
    bool         more = true;

    if (!iter_enter(self)) return NULL;
    while (more && self->drop > 0) more = iter_fetch(self, &value);
    self->busy = false;
    return PyErr_Occurred() ? NULL : PyBool_FromLong(more);
}

/* Passes up to n blocks without what _made() makes of them; returns how many there were. */
static PyObject *iter_pass(PyObject *object, PyObject *args)
{
    iter_object *self = (iter_object *)object;
    PyObject    *block = NULL;
    long long    n = 0, done = 0;

    if (!PyArg_ParseTuple(args, "L:_pass", &n) || !iter_enter(self)) return NULL;
    iter_forget(self);
    while (done < n && (block = iter_pull(self)) != NULL) {
        Py_DECREF(block);
        done++;
    }
    self->busy = false;
    return PyErr_Occurred() ? NULL : PyLong_FromLongLong(done);
}

/* Items to skip after the position of a save: not 0 if a restore was interrupted. */
static PyObject *iter_left_out(PyObject *object, PyObject *unused)
{
    return PyLong_FromLongLong(((iter_object *)object)->drop);
}

static PyObject *iter_save(PyObject *object, PyObject *unused)
{
    iter_object *self = (iter_object *)object;
    PyObject    *made = NULL;

    if (!iter_enter(self)) return NULL;
    made = iter_position(self);
    self->busy = false;
    return made;
}

static PyObject *iter_restore(PyObject *object, PyObject *args)
{
    iter_object  *self = (iter_object *)object;
    levada_error  err = LEVADA_ERROR_INIT;
    levada_status st;
    PyObject     *state = NULL;
    char         *bytes = NULL;
    Py_ssize_t    size = 0;
    long long     drop = 0;
    int           mix = 0;

    if (!PyArg_ParseTuple(args, "S|Lp:restore", &state, &drop, &mix)) return NULL;
    if (PyBytes_AsStringAndSize(state, &bytes, &size) < 0 || !iter_enter(self)) return NULL;
    LEVADA_PY_UNLOCKED(st = mix ? levada_iter_restore_mix(self->it, bytes, (size_t)size, &err)
                                : levada_iter_restore(self->it, bytes, (size_t)size, &err));
    self->busy = false;
    if (!levada_py_ok(st, &err)) return NULL;
    iter_set(&self->back, NULL);
    iter_forget(self);
    self->drop = drop;
    return Py_NewRef(Py_None);
}

/* Any thread: closing needs the interpreter, which is held here. */
LEVADA_PY_TEXT_METHOD(iter_explain, iter_object, iter_alive(self), levada_iter_explain, self->it)
LEVADA_PY_TEXT_METHOD(iter_stats, iter_object, iter_alive(self), levada_iter_stats, self->it)
LEVADA_PY_TEXT_METHOD(iter_trace_json, iter_object, iter_alive(self), levada_iter_trace_json,
                      self->it)
LEVADA_PY_TEXT_METHOD(iter_report, iter_object, iter_alive(self), levada_iter_report, self->it)

static PyObject *iter_trace(PyObject *object, PyObject *on)
{
    iter_object *self = (iter_object *)object;
    levada_error err = LEVADA_ERROR_INIT;

    if (!iter_alive(self)) return NULL;
    if (!levada_py_ok(levada_iter_trace(self->it, on == Py_True, &err), &err)) return NULL;
    Py_RETURN_NONE;
}

static PyObject *iter_progress(PyObject *object, PyObject *unused)
{
    iter_object *self = (iter_object *)object;
    int64_t      done = -1, total = -1;

    if (!iter_alive(self)) return NULL;
    levada_iter_progress(self->it, &done, &total);
    return Py_BuildValue("(LL)", (long long)done, (long long)total);
}

/* Returns what the consumer feeds back: (name, dtype) of each column; None if nothing. */
static PyObject *iter_feeds(PyObject *object, PyObject *unused)
{
    iter_object       *self = (iter_object *)object;
    const levada_spec *spec = self->it ? levada_iter_feeds(self->it) : NULL;
    PyObject          *list;

    (void)unused;
    if (!spec) Py_RETURN_NONE;
    list = PyList_New(0);
    for (int32_t i = 0; list && i < levada_spec_count(spec); i++) {
        const levada_field *f = levada_spec_field(spec, i);
        PyObject *row = Py_BuildValue("(Ns)", levada_py_name(f->name), levada_dtype_name(f->dtype));

        if (!row || PyList_Append(list, row) < 0) Py_CLEAR(list);
        Py_XDECREF(row);
    }
    return list;
}

static PyObject *iter_feed(PyObject *object, PyObject *args)
{
    iter_object  *self = (iter_object *)object;
    levada_error  err = LEVADA_ERROR_INIT;
    levada_status st;
    PyObject     *block = NULL;

    if (!PyArg_ParseTuple(args, "O!:feed", self->state->block, &block)) return NULL;
    if (!iter_enter(self)) return NULL;
    Py_BEGIN_ALLOW_THREADS
    st = levada_iter_feed(self->it, ((levada_py_block *)block)->block, &err);
    Py_END_ALLOW_THREADS
    self->busy = false;
    if (!levada_py_ok(st, &err)) return NULL;
    Py_RETURN_NONE;
}

/* The records of a block that the last stage of a dataset on this one returns. */
static PyObject *iter_apply(PyObject *object, PyObject *args)
{
    iter_object  *self = (iter_object *)object;
    levada_error  err = LEVADA_ERROR_INIT;
    levada_block *made = NULL;
    levada_status st;
    PyObject     *dataset = NULL, *block = NULL, *result;

    if (!PyArg_ParseTuple(args, "O!O!:_apply", self->state->dataset, &dataset, self->state->block,
                          &block))
        return NULL;
    if (!iter_enter(self)) return NULL;
    Py_BEGIN_ALLOW_THREADS
    st = levada_iter_apply(self->it, ((levada_py_dataset *)dataset)->dataset,
                           ((levada_py_block *)block)->block, &made, &err);
    Py_END_ALLOW_THREADS
    self->busy = false;
    if (!levada_py_ok(st, &err)) return NULL;
    result = levada_py_block_new(self->state, &made);
    levada_block_unref(&made);
    return result;
}

/* Returns what the receipts of all batches share, as bytes for receipt(). */
static PyObject *iter_stamp(PyObject *object, PyObject *unused)
{
    iter_object         *self = (iter_object *)object;
    levada_error         err = LEVADA_ERROR_INIT;
    levada_batch_receipt stamp;

    (void)unused;
    if (!iter_alive(self)) return NULL;
    if (!levada_py_ok(levada_iter_receipt(self->it, NULL, 0, &stamp, &err), &err)) return NULL;
    return PyBytes_FromStringAndSize((const char *)&stamp, sizeof stamp);
}

/* Reads all that is left, and returns the comparison with a receipt as JSON. */
static PyObject *iter_check_receipt(PyObject *object, PyObject *args)
{
    iter_object  *self = (iter_object *)object;
    levada_error  err = LEVADA_ERROR_INIT;
    levada_status st;
    const char   *receipt = NULL;
    long long     epochs = 0;
    char         *text = NULL;

    if (!PyArg_ParseTuple(args, "sL:_check_receipt", &receipt, &epochs)) return NULL;
    if (!iter_enter(self)) return NULL;
    LEVADA_PY_UNLOCKED(st = levada_receipts_check(self->it, receipt, epochs, &text, &err));
    self->busy = false;
    return levada_py_text(st, &text, &err);
}

/* Any thread, as long as batches ask for their keys; None where that is not known (any more). */
static PyObject *iter_file(PyObject *object, PyObject *args)
{
    iter_object *self = (iter_object *)object;
    levada_error err = LEVADA_ERROR_INIT;
    char        *path = NULL;
    PyObject    *made = NULL;
    levada_origin of = {0};

    if (!PyArg_ParseTuple(args, "iii:_file", &of.source, &of.pass, &of.shard)) return NULL;
    if (self->it && self->forks == levada_py_forks() &&
        !levada_py_ok(levada_iter_origin_file(self->it, &of, &path, &err), &err))
        return NULL;
    if (!path) return Py_NewRef(Py_None);
    made = PyUnicode_DecodeFSDefault(path);
    levada_string_free(&path);
    return made;
}

/* [((source, pass, shard), path), ...] of the pipes that an interleave opened. */
static PyObject *iter_source(PyObject *object, PyObject *args)
{
    iter_object *self = (iter_object *)object;
    int          i = 0;

    if (!PyArg_ParseTuple(args, "i:_source", &i) || !iter_alive(self)) return NULL;
    return PyLong_FromLong(levada_iter_source(self->it, i));
}

static PyObject *iter_opened(PyObject *object, PyObject *unused)
{
    iter_object  *self = (iter_object *)object;
    PyObject     *list = PyList_New(0);
    levada_origin of;
    char         *path = NULL;

    for (int32_t i = 0; list && self->it && self->forks == levada_py_forks(); i++) {
        levada_error  err = LEVADA_ERROR_INIT;
        levada_status st = levada_iter_opened_file(self->it, i, &of, &path, &err);
        PyObject     *name, *item;
        bool          good;

        if (st == LEVADA_END) break;
        name = levada_py_ok(st, &err) ? PyUnicode_DecodeFSDefault(path) : NULL;
        levada_string_free(&path);
        item = name ? Py_BuildValue("((iii)N)", of.source, of.pass, of.shard, name) : NULL;
        good = item && PyList_Append(list, item) == 0;
        Py_XDECREF(item);
        if (!good) Py_CLEAR(list);
    }
    return list;
}

static PyObject *iter_cancel(PyObject *object, PyObject *unused)
{
    iter_object *self = (iter_object *)object;

    if (self->it && self->forks == levada_py_forks()) levada_iter_cancel(self->it);
    return Py_NewRef(Py_None);
}

static PyObject *iter_close(PyObject *object, PyObject *unused)
{
    iter_object *self = (iter_object *)object;
    levada_iter *it = NULL;

    if (!self->it || self->forks != levada_py_forks()) return Py_NewRef(Py_None);
    if (!iter_enter(self)) return NULL;
    it = self->it;
    self->it = NULL;
    self->busy = false;
    iter_set(&self->back, NULL);
    iter_forget(self);
    LEVADA_PY_UNLOCKED(levada_iter_close(&it));
    return Py_NewRef(Py_None);
}

static int iter_traverse(PyObject *object, visitproc visit, void *arg)
{
    iter_object *self = (iter_object *)object;

    Py_VISIT(Py_TYPE(object));
    Py_VISIT(self->back);
    Py_VISIT(self->items);
    return 0;
}

static int iter_clear(PyObject *object)
{
    iter_object *self = (iter_object *)object;

    iter_set(&self->back, NULL);
    iter_forget(self);
    return 0;
}

/* Nobody is inside: they would hold a reference. */
static void iter_dealloc(PyObject *object)
{
    iter_object  *self = (iter_object *)object;
    PyTypeObject *type = Py_TYPE(object);
    freefunc      release = (freefunc)(uintptr_t)PyType_GetSlot(type, Py_tp_free);
    PyObject     *kind = NULL, *value = NULL, *trace = NULL;

    PyObject_GC_UnTrack(object);
    (void)iter_clear(object);
    if (self->it && self->forks == levada_py_forks()) {
        PyErr_Fetch(&kind, &value, &trace);
        LEVADA_PY_UNLOCKED(levada_iter_close(&self->it));
        PyErr_Restore(kind, value, trace);
    }
    release(object);
    Py_DECREF(type);
}

static PyObject *iter_open(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static const char *const names[] = {"dataset", "seed", "epoch", "threads", "block_rows",
                                        "errors", "max_bytes", NULL};
    levada_py_state    *state = levada_py_state_of_type(type);
    levada_iter_options options = LEVADA_ITER_OPTIONS_INIT;
    levada_error        err = LEVADA_ERROR_INIT;
    levada_status       st;
    PyObject           *object = NULL;
    levada_dataset     *dataset = NULL;
    iter_object        *self = NULL;
    long long           seed = -1, epoch = 0, most = 0;
    int                 threads = 0, rows = 0;

    if (!levada_py_parse(args, kwargs, "O|LLiizL:Iter", names, &object, &seed,
                                     &epoch, &threads, &rows, &options.errors, &most))
        return NULL;
    dataset = levada_py_dataset_of(state, object);
    self = dataset ? (iter_object *)PyType_GenericAlloc(type, 0) : NULL;
    if (!self) return NULL;
    options.seed = seed;
    options.epoch = epoch;
    options.threads = threads;
    options.block_rows = rows;
    options.max_record_bytes = most;
    self->state = state;
    self->forks = levada_py_forks();
    LEVADA_PY_UNLOCKED(st = levada_iter_open(dataset, &options, &self->it, &err));
    if (!levada_py_ok(st, &err)) Py_CLEAR(self);
    return (PyObject *)self;
}

static PyMethodDef iter_methods[] = {
    {"_made", iter_made, METH_O, "What to give for a block, or a list of that; the block itself."},
    {"_ended", iter_ended, METH_NOARGS, "Called once, when the end is reached."},
    {"_left_out", iter_left_out, METH_NOARGS, "Items to leave out behind what save() gives."},
    {"_skip", iter_skip, METH_NOARGS, "Leaves out what restore() was told; False at the end."},
    {"_pass", iter_pass, METH_VARARGS, "_pass(n): skips blocks; how many there were."},
    {"_feeds", iter_feeds, METH_NOARGS, "_feeds(): (name, dtype) of what is fed back."},
    {"_feed", iter_feed, METH_VARARGS, "_feed(block): hands a block back to the dataset."},
    {"_apply", iter_apply, METH_VARARGS, "_apply(dataset, block): its last stage on the block."},
    {"_stamp", iter_stamp, METH_NOARGS, "What the receipts of all batches share, as bytes."},
    {"_check_receipt", iter_check_receipt, METH_VARARGS,
     "_check_receipt(text, epochs): what is left, compared with a receipt, as JSON."},
    {"_file", iter_file, METH_VARARGS, "_file(source, pass, shard): path, or None."},
    {"_source", iter_source, METH_VARARGS, "_source(i): number of a source; -1 after the last."},
    {"_opened", iter_opened, METH_NOARGS, "_opened(): [((source, pass, shard), path), ...]."},
    {"save", iter_save, METH_NOARGS, "Position after the last item, as bytes."},
    {"restore", iter_restore, METH_VARARGS, "restore(state, drop=0): goes on there."},
    {"explain", iter_explain, METH_NOARGS, "What runs, and what it has chosen, as text."},
    {"stats", iter_stats, METH_NOARGS, "Counters as JSON; any thread."},
    {"_trace", iter_trace, METH_O, "_trace(on): starts or stops a trace; any thread."},
    {"_trace_json", iter_trace_json, METH_NOARGS, "The trace as JSON; any thread."},
    {"report", iter_report, METH_NOARGS, "The wait report, as JSON; any thread."},
    {"progress", iter_progress, METH_NOARGS, "(bytes of input read, bytes in total or -1)."},
    {"cancel", iter_cancel, METH_NOARGS,
     "Makes the running call and every later call raise CancelledError. Any thread."},
    {"close", iter_close, METH_NOARGS, "Stops and joins its threads; again is fine."},
    {NULL, NULL, 0, NULL},
};

LEVADA_PY_TYPE(iter, "Iter", iter_object, Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
               "A running dataset; levada.Iterator is based on it.",
               LEVADA_PY_SLOT(tp_new, iter_open),
               LEVADA_PY_SLOT(tp_dealloc, iter_dealloc),
               LEVADA_PY_SLOT(tp_traverse, iter_traverse),
               LEVADA_PY_SLOT(tp_clear, iter_clear),
               LEVADA_PY_SLOT(tp_iter, PyObject_SelfIter),
               LEVADA_PY_SLOT(tp_iternext, iter_next),
               LEVADA_PY_SLOT(tp_methods, iter_methods));
