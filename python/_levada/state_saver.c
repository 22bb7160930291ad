/* SPDX-License-Identifier: Apache-2.0 */
/*
 * State savers as Python sees them; waits as in queue.c. The saver of C exists from the start; the
 * NumPy dtypes of its fields are known with the first example (settle).
 */
#include "state_saver.h"

#include <string.h>

bool levada_py_saver_alive(const levada_py_saver *self)
{
    return levada_py_ours(self->forks, "state saver");
}

bool levada_py_saver_is_settled(const levada_py_saver *self)
{
    if (self->settled) return true;
    PyErr_SetString(PyExc_SystemError, "the fields of the state saver are not known yet");
    return false;
}

/* -- inserting --------------------------------------------------------------------------------- */

static PyObject *saver_reserve(PyObject *object, PyObject *seconds)
{
    levada_py_saver  *self = (levada_py_saver *)object;
    levada_error   err = LEVADA_ERROR_INIT;
    int64_t        timeout = 0;
    levada_status  st;

    if (!levada_py_timeout(seconds, &timeout) || !levada_py_saver_alive(self)) return NULL;
    st = levada_state_saver_reserve(self->saver, LEVADA_AT_ONCE, &err);
    if (st == LEVADA_AGAIN) {
        LEVADA_PY_WAITING(self->state, st = levada_state_saver_reserve(self->saver, timeout, &err));
    }
    if (levada_py_ok(st, &err) && !PyErr_Occurred()) return Py_NewRef(Py_None);
    if (st == LEVADA_OK) levada_state_saver_release(self->saver);
    return NULL;
}

LEVADA_PY_METHOD(saver_release, levada_py_saver, levada_py_saver_alive(self),
                 (levada_state_saver_release(self->saver), Py_NewRef(Py_None)))

/* settle(components): what levada_py_slots_init wants, of all fields and marks. */
static PyObject *saver_settle(PyObject *object, PyObject *components)
{
    levada_py_saver *self = (levada_py_saver *)object;

    if (!self->settled) {
        levada_py_slots_clear(&self->slots);
        self->settled = levada_py_slots_init(&self->slots, components);
    }
    return self->settled ? Py_NewRef(Py_None) : NULL;
}

/* tensor(field, value, many): a value of a field as a tensor, or None where it needs the long way.
 */
static PyObject *saver_tensor(PyObject *object, PyObject *args)
{
    levada_py_saver  *self = (levada_py_saver *)object;
    PyObject      *value = NULL, *made = NULL;
    int            field = 0, many = 0;
    int64_t        rows = -1;
    levada_tensor *tensor = NULL;

    if (!PyArg_ParseTuple(args, "iOp:tensor", &field, &value, &many)) return NULL;
    if (!levada_py_saver_is_settled(self)) return NULL;
    if (field < 0 || field >= self->slots.n)
        return PyErr_Format(PyExc_IndexError, "field %d does not exist", field), NULL;
    tensor = levada_py_tensor(NULL, &self->slots, field, value, many, &rows);
    if (!tensor) return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
    made = levada_py_tensor_object(self->state, tensor);
    levada_tensor_unref(&tensor);
    return made;
}

/* Tensors of a tuple of such objects, borrowed from them. */
static bool saver_tensors(const levada_py_saver *self, PyObject *tuple, Py_ssize_t n,
                          levada_tensor **to)
{
    if (!PyTuple_Check(tuple) || PyTuple_Size(tuple) != n)
        return PyErr_SetString(PyExc_TypeError, "expected a tuple with a tensor for each field"),
               false;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *item = PySequence_GetItem(tuple, i);
        bool      none = item == Py_None;

        if (item && !none) to[i] = levada_py_tensor_of_object(self->state, item);
        Py_XDECREF(item); /* the tuple has it still */
        if (!to[i] && !none) return false;
    }
    return true;
}

/* insert(key, length, ordinal, sequences, offsets, context, states): with a reservation. */
static PyObject *saver_insert(PyObject *object, PyObject *args)
{
    levada_py_saver        *self = (levada_py_saver *)object;
    levada_saver_example e = LEVADA_SAVER_EXAMPLE_INIT;
    levada_error         err = LEVADA_ERROR_INIT;
    PyObject            *sequences = NULL, *offsets = NULL, *context = NULL, *states = NULL;
    const char          *key = NULL;
    Py_ssize_t           size = 0;
    long long            length = 0, ordinal = 0;
    levada_tensor      **all = NULL;
    bool                 good;

    if (!PyArg_ParseTuple(args, "y#LLOOOO:insert", &key, &size, &length, &ordinal, &sequences,
                          &offsets, &context, &states) ||
        !levada_py_saver_alive(self))
        return NULL;
    all = PyMem_Calloc((size_t)(2 * self->nsequences + self->ncontext + self->nstates),
                       sizeof *all);
    if (!all) return PyErr_NoMemory();
    e.key = key;
    e.key_size = (size_t)size;
    e.length = length;
    e.ordinal = ordinal;
    e.sequences = all;
    e.offsets = all + self->nsequences;
    e.context = all + 2 * self->nsequences;
    e.states = e.context + self->ncontext;
    good = saver_tensors(self, sequences, self->nsequences, all) &&
           saver_tensors(self, offsets, self->nsequences, all + self->nsequences) &&
           saver_tensors(self, context, self->ncontext, all + 2 * self->nsequences) &&
           saver_tensors(self, states, self->nstates,
                         all + 2 * self->nsequences + self->ncontext) &&
           levada_py_ok(levada_state_saver_insert(self->saver, &e, true, 0, &err), &err);
    PyMem_Free(all);
    return good ? Py_NewRef(Py_None) : NULL;
}

/* -- batches ----------------------------------------------------------------------------------- */

static levada_status saver_next(const levada_py_saver *self, int64_t n, int64_t timeout,
                                levada_segment_batch **out, levada_error *err)
{
    levada_status  st = levada_state_saver_next(self->saver, n, LEVADA_AT_ONCE, out, err);

    if (st != LEVADA_AGAIN) return st;
    LEVADA_PY_WAITING(self->state, st = levada_state_saver_next(self->saver, n, timeout, out, err));
    return st;
}

/* saver[n, timeout]: the next batch, as in queue.c */
static PyObject *saver_item(PyObject *object, PyObject *what)
{
    levada_py_saver         *self = (levada_py_saver *)object;
    PyObject             *n = NULL, *seconds = NULL;
    levada_py_segments      *made = NULL;
    levada_segment_batch *batch = NULL;
    levada_error          err = LEVADA_ERROR_INIT;
    int64_t               timeout = 0, rows;

    if (!PyArg_ParseTuple(what, "OO:next_batch", &n, &seconds)) return NULL;
    rows = PyLong_AsLongLong(n);
    if (PyErr_Occurred() || !levada_py_timeout(seconds, &timeout) || !levada_py_saver_alive(self))
        return NULL;
    made = (levada_py_segments *)PyType_GenericAlloc(self->state->segments, 0);
    if (!made) return NULL;
    made->saver = (levada_py_saver *)Py_NewRef(object);
    if (levada_py_ok(saver_next(self, rows, timeout, &batch, &err), &err)) {
        if (!PyErr_Occurred()) {
            made->batch = batch;
            return (PyObject *)made;
        }
        rows = levada_segment_batch_requeue(batch, NULL); /* a cancelled one is dropped */
        levada_segment_batch_destroy(&batch);
    }
    Py_DECREF(made);
    return NULL;
}

/* -- the end, reports, states ------------------------------------------------------------------ */

static PyObject *saver_close(PyObject *object, PyObject *pending)
{
    levada_py_saver *self = (levada_py_saver *)object;
    levada_error  err = LEVADA_ERROR_INIT;

    if (!levada_py_saver_alive(self)) return NULL;
    return levada_py_none(levada_state_saver_close(self->saver, pending == Py_True, &err), &err);
}

LEVADA_PY_METHOD(saver_cancel, levada_py_saver, levada_py_saver_alive(self),
                 (levada_state_saver_cancel(self->saver), Py_NewRef(Py_None)))
LEVADA_PY_METHOD(saver_is_closed, levada_py_saver, levada_py_saver_alive(self),
                 PyBool_FromLong(levada_state_saver_is_closed(self->saver)))

static PyObject *saver_stats(PyObject *object, PyObject *unused)
{
    levada_py_saver            *self = (levada_py_saver *)object;
    levada_state_saver_stats s = LEVADA_STATE_SAVER_STATS_INIT;
    levada_error             err = LEVADA_ERROR_INIT;

    if (!levada_py_saver_alive(self) ||
        !levada_py_ok(levada_state_saver_get_stats(self->saver, &s, &err), &err))
        return NULL;
    return Py_BuildValue(
        "{sL sL sL sL sL sL sL sL sL sL sL sL sL sL sL}", "live", s.live, "reserved", s.reserved,
        "ready", s.ready, "incomplete", s.incomplete, "unsaved", s.unsaved, "abandoned",
        s.abandoned, "awaited", s.awaited, "oldest_unsaved", s.oldest_unsaved, "inserted",
        s.inserted, "finished", s.finished, "skipped", s.skipped, "discarded", s.discarded,
        "dropped", s.dropped, "replayed", s.replayed, "segments", s.segments);
}

LEVADA_PY_TEXT_METHOD(saver_unsaved, levada_py_saver, levada_py_saver_alive(self),
                      levada_state_saver_unsaved_json, self->saver)

/* save(data, extra) -> bytes */
static PyObject *saver_save(PyObject *object, PyObject *args)
{
    levada_py_saver *self = (levada_py_saver *)object;
    levada_error  err = LEVADA_ERROR_INIT;
    const char   *extra = NULL;
    Py_ssize_t    extra_size = 0;
    char         *bytes = NULL;
    size_t        size = 0;
    int           data = 0;
    levada_status st;

    if (!PyArg_ParseTuple(args, "py#:save", &data, &extra, &extra_size) ||
        !levada_py_saver_alive(self))
        return NULL;
    st = levada_state_saver_save(self->saver, data, extra, (size_t)extra_size, &bytes, &size, &err);
    return levada_py_bytes(st, &bytes, size, &err);
}

/* restore(bytes) -> extra */
static PyObject *saver_restore(PyObject *object, PyObject *state)
{
    levada_py_saver *self = (levada_py_saver *)object;
    levada_error  err = LEVADA_ERROR_INIT;
    char         *bytes = NULL, *extra = NULL;
    Py_ssize_t    size = 0;
    size_t        extra_size = 0;
    levada_status st;

    if (!levada_py_saver_alive(self) || PyBytes_AsStringAndSize(state, &bytes, &size) < 0)
        return NULL;
    st = levada_state_saver_restore(self->saver, bytes, (size_t)size, &extra, &extra_size, &err);
    return levada_py_bytes(st, &extra, extra_size, &err);
}

/* -- making ------------------------------------------------------------------------------------ */

/* fields: a tuple of (name, ragged). */
static bool saver_fields(PyObject *fields, levada_saver_field *to)
{
    Py_ssize_t n = PyTuple_Size(fields);

    for (Py_ssize_t i = 0; i < n; i++, to++) {
        PyObject *field = NULL;
        int       ragged = 0;

        *to = (levada_saver_field){ NULL, LEVADA_NONE, { -1, { 0 } }, false };
        field = PySequence_GetItem(fields, i);
        if (field) (void)PyArg_ParseTuple(field, "sp", &to->name, &ragged);
        Py_XDECREF(field); /* the tuple has it still */
        if (PyErr_Occurred()) return false;
        to->ragged = ragged;
    }
    return true;
}

static bool saver_create(levada_py_saver *self, levada_state_saver_options *o, PyObject **groups)
{
    levada_error        err = LEVADA_ERROR_INIT;
    levada_saver_field *fields = NULL;
    bool                good;

    o->nsequences = self->nsequences = (int32_t)PyTuple_Size(groups[0]);
    o->ncontext = self->ncontext = (int32_t)PyTuple_Size(groups[1]);
    o->nstates = self->nstates = (int32_t)PyTuple_Size(groups[2]);
    if (PyErr_Occurred()) return false;
    fields = PyMem_Calloc((size_t)(o->nsequences + o->ncontext + o->nstates) + 1, sizeof *fields);
    if (!fields) return PyErr_NoMemory(), false;
    o->sequences = fields;
    o->context = fields + o->nsequences;
    o->states = o->context + o->ncontext;
    good = saver_fields(groups[0], fields) && saver_fields(groups[1], fields + o->nsequences) &&
           saver_fields(groups[2], fields + o->nsequences + o->ncontext) &&
           levada_py_ok(levada_state_saver_create(NULL, o, &self->saver, &err), &err);
    PyMem_Free(fields);
    return good;
}

static PyObject *saver_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    levada_py_state           *state = PyType_GetModuleState(type);
    levada_state_saver_options o = LEVADA_STATE_SAVER_OPTIONS_INIT;
    PyObject                  *groups[3] = { NULL, NULL, NULL };
    levada_py_saver              *self = NULL;
    levada_py_main            *main = NULL;
    long long                  batch_size = 0, num_unroll = 0, capacity = 0, timeout = 0;
    int                        small = 0, pad = 0, unique = 0, finite = 0, zero = 0;

    if (!PyArg_ParseTuple(args, "sLLLppppiLO!O!O!:StateSaver", &o.name, &batch_size, &num_unroll,
                          &capacity, &small, &pad, &unique, &finite, &zero, &timeout, &PyTuple_Type,
                          &groups[0], &PyTuple_Type, &groups[1], &PyTuple_Type, &groups[2]))
        return NULL;
    o.batch_size = batch_size;
    o.num_unroll = num_unroll;
    o.capacity = capacity;
    o.allow_small_batch = small;
    o.pad = pad;
    o.make_keys_unique = unique;
    o.check_finite = finite;
    o.zero_length = (levada_zero_length)zero;
    o.state_timeout = timeout;
    self = (levada_py_saver *)PyType_GenericAlloc(type, 0);
    if (!self) return NULL;
    self->state = state;
    self->forks = levada_py_forks();
    main = levada_py_main_of(state);
    if (main && saver_create(self, &o, groups)) {
        levada_state_saver_set_poll(self->saver, levada_py_poll, main, LEVADA_PY_POLL);
        levada_state_saver_set_accept(self->saver, levada_py_accept, main);
        return (PyObject *)self;
    }
    Py_DECREF(self);
    return NULL;
}

static void saver_dealloc(PyObject *object)
{
    levada_py_saver *self = (levada_py_saver *)object;

    if (self->state && self->forks == levada_py_forks()) levada_state_saver_unref(&self->saver);
    levada_py_slots_clear(&self->slots);
    levada_py_free(object);
}

static PyMethodDef saver_methods[] = {
    {"reserve", saver_reserve, METH_O, "reserve(timeout)"},
    {"release", saver_release, METH_NOARGS, "Gives a reservation back."},
    {"settle", saver_settle, METH_O, "settle(components): dtypes and shapes of all fields"},
    {"tensor", saver_tensor, METH_VARARGS, "tensor(field, value, many)"},
    {"insert", saver_insert, METH_VARARGS,
     "insert(key, length, ordinal, sequences, offsets, context, states)"},
    {"close", saver_close, METH_O, "close(cancel_pending)"},
    {"cancel", saver_cancel, METH_NOARGS, "Ends every waiting call."},
    {"is_closed", saver_is_closed, METH_NOARGS, "Whether it is closed."},
    {"stats", saver_stats, METH_NOARGS, "Counts."},
    {"unsaved", saver_unsaved, METH_NOARGS, "Unsaved states as JSON."},
    {"save", saver_save, METH_VARARGS, "save(data, extra)"},
    {"restore", saver_restore, METH_O, "restore(bytes)"},
    {NULL, NULL, 0, NULL},
};

LEVADA_PY_TYPE(saver, "StateSaver", levada_py_saver, 0,
               "A state saver; levada.train wraps it.",
               LEVADA_PY_SLOT(tp_new, saver_new),
               LEVADA_PY_SLOT(tp_dealloc, saver_dealloc),
               LEVADA_PY_SLOT(mp_subscript, saver_item),
               LEVADA_PY_SLOT(tp_methods, saver_methods));
