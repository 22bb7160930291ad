/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Readers of levada.train: file names in, (key, value) pairs out.
 *
 * A call for one record first looks at what is in memory, with the interpreter held. Only a call
 * that has to read a file or to wait for a name releases it. Names come from a queue of the
 * package, without Python, or from a Python function. Results are made inside the call of the C
 * reader, which counts them only once they exist, so neither Ctrl-C nor an exception loses a record
 * or a name. In the child of fork() the reader starts again, unless it was inside a file.
 */
#include "wait.h"

#include <levada/binding.h>
#include <string.h>

typedef struct reader_object {
    PyObject_HEAD
    levada_py_state *state;
    levada_reader   *reader;
    PyObject        *args;  /* of the constructor */
    PyObject        *names; /* makes a queue or a function of what a call got */
    PyObject        *made;  /* makes (keys, values) of a block */
    bool             whole; /* a file is one record */
    bool             begun; /* there may be more of a file */
    long             forks;
} reader_object;

typedef struct reader_call {
    reader_object *self;
    PyObject      *names; /* a queue, or a function that returns bytes */
    PyThreadState *saved;
    bool           held; /* the interpreter is */
    PyObject      *result;
} reader_call;

static bool reader_open(reader_object *self)
{
    levada_reader_options o = LEVADA_READER_OPTIONS_INIT;
    levada_py_main       *main = levada_py_main_of(self->state);
    levada_error          err = LEVADA_ERROR_INIT;
    long long             skip, record, header, footer, hop;
    int                   kind;

    if (!main || !PyArg_ParseTuple(self->args, "iszLLLLLOO:Reader", &kind, &o.name, &o.compression,
                                   &skip, &record, &header, &footer, &hop, &self->names,
                                   &self->made))
        return false;
    o.kind = (levada_reader_kind)kind;
    o.skip_header_lines = skip;
    o.record_bytes = record;
    o.header_bytes = header;
    o.footer_bytes = footer;
    o.hop_bytes = hop;
    if (!levada_py_ok(levada_reader_create(NULL, &o, &self->reader, &err), &err)) return false;
    levada_reader_set_poll(self->reader, levada_py_poll, main, LEVADA_PY_POLL);
    self->whole = o.kind == LEVADA_READER_WHOLE_FILE || o.kind == LEVADA_READER_IDENTITY;
    self->begun = false;
    self->forks = levada_py_forks();
    return true;
}

/* Returns false in the child of a fork, where the parent's reader may be in the middle of a call.
 * */
static bool reader_alive(reader_object *self)
{
    if (self->forks == levada_py_forks()) return true;
    if (self->begun) return levada_py_ours(self->forks, "reader's file");
    levada_reader_destroy(&self->reader);
    return reader_open(self);
}

/* -- names */

static levada_status reader_call_names(reader_call *call, levada_tensor **name, levada_error *err)
{
    const levada_shape scalar = { 0, { 0 } };
    PyObject          *made = PyObject_CallNoArgs(call->names);
    Py_ssize_t         size = made ? PyBytes_Size(made) : -1;
    int32_t            offsets[2] = { 0, (int32_t)size };
    levada_status      st = LEVADA_ECANCELLED; /* an exception is set */

    if (size > INT32_MAX) PyErr_SetString(PyExc_ValueError, "a file name of more than 2 GiB");
    else if (size >= 0)
        st = levada_tensor_create_strings(NULL, &scalar, offsets, PyBytes_AsString(made), name,
                                          err);
    Py_XDECREF(made);
    return st;
}

/* The interpreter is not held, but it is where a dequeue accepted its element. */
static levada_status reader_name(void *user, int64_t timeout, levada_tensor **name,
                                 levada_error *err)
{
    reader_call           *call = user;
    const levada_py_state *state = call->self->state;
    levada_queue          *queue = levada_py_queue_of(state, call->names);
    levada_status          st;

    if (queue) st = levada_queue_dequeue(queue, name, timeout, err);
    levada_py_enter(state, call->saved);
    if (!queue) st = reader_call_names(call, name, err);
    call->saved = levada_py_leave(state);
    return st;
}

/* -- results */

static PyObject *reader_pair(const levada_reader_found *found)
{
    int64_t   size = levada_reader_key_bytes(found, NULL);
    PyObject *key = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)size);
    PyObject *value = PyBytes_FromStringAndSize((const char *)found->value,
                                                (Py_ssize_t)found->size);
    PyObject *pair = key && value ? PyTuple_New(2) : NULL;

    if (!pair) return Py_XDECREF(key), Py_XDECREF(value), NULL;
    (void)levada_reader_key_bytes(found, (uint8_t *)PyBytes_AsString(key));
    (void)PyTuple_SetItem(pair, 0, key);
    (void)PyTuple_SetItem(pair, 1, value);
    return pair;
}

static levada_status reader_use(void *user, levada_reader_found *found, levada_error *err)
{
    reader_call *call = user;
    PyObject    *block = NULL;

    if (!call->held) {
        levada_py_enter(call->self->state, call->saved);
        call->held = true;
        if (PyErr_Occurred() || PyErr_CheckSignals() < 0)
            return levada_fail(err, LEVADA_ECANCELLED, "interrupted by a signal");
    }
    if (!found->block) {
        call->result = reader_pair(found);
    } else {
        block = levada_py_block_new(call->self->state, &found->block);
        if (block) call->result = PyObject_CallFunctionObjArgs(call->self->made, block, NULL);
        Py_XDECREF(block);
    }
    if (call->result) return LEVADA_OK;
    return levada_fail(err, LEVADA_ECANCELLED, "interrupted by an exception");
}

static PyObject *reader_wait(reader_call *call, PyObject *source, int64_t n)
{
    reader_object *self = call->self;
    levada_error   err = LEVADA_ERROR_INIT;
    levada_status  st;

    call->names = PyObject_CallFunctionObjArgs(self->names, source, NULL);
    if (!call->names) return NULL;
    levada_py_name_thread();
    call->held = false;
    call->saved = levada_py_leave(self->state);
    st = levada_reader_find(self->reader, reader_name, call, n, LEVADA_FOREVER, reader_use, call,
                            &err);
    if (!call->held) levada_py_enter(self->state, call->saved);
    Py_CLEAR(call->names);
    (void)levada_py_ok(st, &err);
    return call->result;
}

/* reader[source, None]: one record; reader[source, n]: up to n. No methods, as for queues. */
static PyObject *reader_item(PyObject *object, PyObject *what)
{
    reader_object *self = (reader_object *)object;
    reader_call    call = { .self = self, .held = true };
    levada_error   err = LEVADA_ERROR_INIT;
    levada_status  st = LEVADA_AGAIN;
    PyObject      *source = NULL, *many = NULL;
    long long      n = 0;

    if (!PyArg_ParseTuple(what, "OO:read", &source, &many) || !reader_alive(self)) return NULL;
    if (many != Py_None) n = PyLong_AsLongLong(many);
    if (n == -1 && PyErr_Occurred()) return NULL;
    if (n == 0)
        st = levada_reader_find(self->reader, NULL, NULL, 0, LEVADA_AT_ONCE, reader_use, &call,
                                &err);
    if (st == LEVADA_AGAIN) (void)reader_wait(&call, source, n);
    else (void)levada_py_ok(st, &err);
    if (call.result) self->begun = !self->whole;
    return call.result;
}

/* -- the rest */

static PyObject *reader_counts(PyObject *object, PyObject *unused)
{
    levada_reader *r = ((reader_object *)object)->reader;

    return Py_BuildValue("(LL)", (long long)levada_reader_num_records_produced(r),
                         (long long)levada_reader_num_work_units_completed(r));
}

static PyObject *reader_reset(PyObject *object, PyObject *unused)
{
    reader_object *self = (reader_object *)object;
    levada_error   err = LEVADA_ERROR_INIT;
    levada_status  st;

    if (self->forks != levada_py_forks()) self->begun = false;
    if (!reader_alive(self)) return NULL;
    LEVADA_PY_WAITING(self->state,
        st = levada_reader_try_reset(self->reader, LEVADA_FOREVER, &err));
    return levada_py_none(st, &err);
}

static PyObject *reader_save(PyObject *object, PyObject *unused)
{
    reader_object *self = (reader_object *)object;
    levada_error   err = LEVADA_ERROR_INIT;
    levada_status  st;
    char          *bytes = NULL;
    size_t         size = 0;

    if (!reader_alive(self)) return NULL;
    LEVADA_PY_WAITING(self->state,
        st = levada_reader_serialize_state(self->reader, &bytes, &size, &err));
    return levada_py_bytes(st, &bytes, size, &err);
}

static PyObject *reader_restore(PyObject *object, PyObject *args)
{
    reader_object *self = (reader_object *)object;
    levada_error   err = LEVADA_ERROR_INIT;
    levada_status  st;
    const char    *bytes = NULL;
    Py_ssize_t     size = 0;

    if (!PyArg_ParseTuple(args, "y#:restore", &bytes, &size) || !reader_alive(self)) return NULL;
    LEVADA_PY_WAITING(self->state,
        st = levada_reader_restore_state(self->reader, bytes, (size_t)size, &err));
    return levada_py_none(st, &err);
}

static PyObject *reader_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    reader_object *self = (reader_object *)PyType_GenericAlloc(type, 0);

    if (!self) return NULL;
    self->state = PyType_GetModuleState(type);
    self->args = Py_NewRef(args);
    if (!reader_open(self)) Py_CLEAR(self);
    return (PyObject *)self;
}

static void reader_dealloc(PyObject *object)
{
    levada_reader_destroy(&((reader_object *)object)->reader);
    Py_XDECREF(((reader_object *)object)->args);
    levada_py_free(object);
}

static PyMethodDef reader_methods[] = {
    {"counts", reader_counts, METH_NOARGS, "(records handed out, files read to their end)"},
    {"reset", reader_reset, METH_NOARGS, "Zeroes the counters and forgets the current file."},
    {"save", reader_save, METH_NOARGS, "The position as bytes."},
    {"restore", reader_restore, METH_VARARGS, "restore(state)"},
    {NULL, NULL, 0, NULL},
};

LEVADA_PY_TYPE(reader, "Reader", reader_object, 0,
               "A reader; those of levada.train wrap it.",
               LEVADA_PY_SLOT(tp_new, reader_new),
               LEVADA_PY_SLOT(tp_dealloc, reader_dealloc),
               LEVADA_PY_SLOT(mp_subscript, reader_item),
               LEVADA_PY_SLOT(tp_methods, reader_methods));
