/* SPDX-License-Identifier: Apache-2.0 */
/* Data sets to files: levada.write. */
#include "module.h"

#include <levada/write.h>

typedef struct sink_object {
    PyObject_HEAD
    levada_sink *sink;
} sink_object;

static PyObject *sink_open(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    levada_write_options options = LEVADA_WRITE_OPTIONS_INIT;
    PyObject            *path = NULL;
    long long            records = 0, bytes = 0;
    levada_error         err = LEVADA_ERROR_INIT;
    levada_py_state     *state = PyType_GetModuleState(type);
    PyObject            *dataset = NULL;
    sink_object         *self;

    if (!PyArg_ParseTuple(args, "O&zziLLO!:Sink", PyUnicode_FSConverter, &path, &options.format,
                          &options.compression, &options.level, &records, &bytes, state->dataset,
                          &dataset))
        return NULL;
    options.spec = levada_dataset_spec(((levada_py_dataset *)dataset)->dataset);
    options.records_per_file = records;
    options.bytes_per_file = bytes;
    self = (sink_object *)PyType_GenericAlloc(type, 0);
    if (self && !levada_py_ok(levada_sink_open(PyBytes_AsString(path), &options, &self->sink, &err),
                              &err))
        Py_CLEAR(self);
    Py_DECREF(path);
    return (PyObject *)self;
}

/* Takes the sink out of the object for a call, so that another thread finds none. */
static levada_sink *sink_enter(sink_object *self)
{
    levada_sink *sink = self->sink;

    self->sink = NULL;
    if (!sink) PyErr_SetString(PyExc_RuntimeError, "these files are closed, or in use");
    return sink;
}

static PyObject *sink_add(PyObject *object, PyObject *given)
{
    sink_object     *self = (sink_object *)object;
    levada_py_state *state = PyType_GetModuleState(Py_TYPE(object));
    levada_error     err = LEVADA_ERROR_INIT;
    levada_sink     *sink;
    levada_status    st;

    if (!PyObject_TypeCheck(given, state->block)) {
        PyErr_Format(PyExc_TypeError, "expected a block, got %R", (PyObject *)Py_TYPE(given));
        return NULL;
    }
    sink = sink_enter(self);
    if (!sink) return NULL;
    LEVADA_PY_UNLOCKED(st = levada_sink_add(sink, ((levada_py_block *)given)->block, &err));
    self->sink = sink;
    return levada_py_none(st, &err);
}

static PyObject *sink_prepare(PyObject *object, PyObject *unused)
{
    sink_object  *self = (sink_object *)object;
    levada_error  err = LEVADA_ERROR_INIT;
    levada_sink  *sink = sink_enter(self);
    levada_status st;

    if (!sink) return NULL;
    LEVADA_PY_UNLOCKED(st = levada_sink_prepare(sink, &err));
    self->sink = sink;
    return levada_py_none(st, &err);
}

static PyObject *sink_close(PyObject *object, PyObject *unused)
{
    levada_write_result result = LEVADA_WRITE_RESULT_INIT;
    levada_error        err = LEVADA_ERROR_INIT;
    levada_sink        *sink = sink_enter((sink_object *)object);
    levada_status       st;

    if (!sink) return NULL;
    Py_BEGIN_ALLOW_THREADS
    st = levada_sink_close(sink, &result, &err);
    levada_sink_destroy(&sink);
    Py_END_ALLOW_THREADS
    if (!levada_py_ok(st, &err)) return NULL;
    return Py_BuildValue("LLL", (long long)result.records, (long long)result.bytes,
                         (long long)result.files);
}

static PyObject *sink_discard(PyObject *object, PyObject *unused)
{
    levada_sink_destroy(&((sink_object *)object)->sink);
    return Py_NewRef(Py_None);
}

static void sink_dealloc(PyObject *object)
{
    levada_sink_destroy(&((sink_object *)object)->sink);
    levada_py_free(object);
}

static PyMethodDef sink_methods[] = {
    {"add", sink_add, METH_O, "Writes all records of a block."},
    {"prepare", sink_prepare, METH_NOARGS, "Completes the files; close() then renames them."},
    {"close", sink_close, METH_NOARGS, "The files appear: (records, bytes, files)."},
    {"discard", sink_discard, METH_NOARGS, "Drops the files; again is fine."},
    {NULL, NULL, 0, NULL},
};

LEVADA_PY_TYPE(sink, "Sink", sink_object, 0,
               "Files of a data set; levada.write uses it.",
               LEVADA_PY_SLOT(tp_new, sink_open),
               LEVADA_PY_SLOT(tp_dealloc, sink_dealloc),
               LEVADA_PY_SLOT(tp_methods, sink_methods));
