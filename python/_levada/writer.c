/* SPDX-License-Identifier: Apache-2.0 */
/* Files out: TFRecord files, and whole files that appear at once. */
#include "module.h"

#include <levada/output.h>
#include <levada/writer.h>

#include <string.h>

typedef struct writer_object {
    PyObject_HEAD
    levada_writer *writer;
    bool           busy;
} writer_object;

static PyObject *writer_open(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static const char *const names[] = {"path", "compression", "level", NULL};
    PyObject       *path = NULL;
    const char     *compression = NULL;
    int             level = -1;
    writer_object *self = NULL;
    levada_error    err = LEVADA_ERROR_INIT;

    if (!levada_py_parse(args, kwargs, "O&|zi:Writer", names, PyUnicode_FSConverter,
                                     &path, &compression, &level))
        return NULL;
    self = (writer_object *)PyType_GenericAlloc(type, 0);
    if (self && !levada_py_ok(levada_writer_open(NULL, PyBytes_AsString(path), compression, level,
                                                 &self->writer, &err),
                              &err))
        Py_CLEAR(self);
    Py_DECREF(path);
    return (PyObject *)self;
}

static bool writer_enter(writer_object *self)
{
    if (self->busy) {
        PyErr_SetString(PyExc_RuntimeError, "another thread uses this writer");
        return false;
    }
    if (self->writer) return self->busy = true;
    levada_py_refuse(LEVADA_EFAILED_PRECONDITION,
                     "the writer was discarded; open another one to write");
    return false;
}

static PyObject *writer_write(PyObject *object, PyObject *record)
{
    writer_object *self = (writer_object *)object;
    levada_error    err = LEVADA_ERROR_INIT;
    levada_status   st;
    Py_buffer       bytes;

    if (PyObject_GetBuffer(record, &bytes, PyBUF_SIMPLE) < 0) return NULL;
    if (!writer_enter(self)) {
        PyBuffer_Release(&bytes);
        return NULL;
    }
    LEVADA_PY_UNLOCKED(st = levada_writer_write(self->writer, bytes.buf, (size_t)bytes.len, &err));
    self->busy = false;
    PyBuffer_Release(&bytes);
    return levada_py_none(st, &err);
}

static PyObject *writer_end(PyObject *object,
                             levada_status (*end)(levada_writer *writer, levada_error *err))
{
    writer_object *self = (writer_object *)object;
    levada_error    err = LEVADA_ERROR_INIT;
    levada_status   st;

    if (!writer_enter(self)) return NULL;
    LEVADA_PY_UNLOCKED(st = end(self->writer, &err));
    self->busy = false;
    return levada_py_none(st, &err);
}

static PyObject *writer_flush(PyObject *object, PyObject *unused)
{
    return writer_end(object, levada_writer_flush);
}

static PyObject *writer_close(PyObject *object, PyObject *unused)
{
    return writer_end(object, levada_writer_close);
}

static PyObject *writer_discard(PyObject *object, PyObject *unused)
{
    writer_object *self = (writer_object *)object;

    if (!self->writer) return Py_NewRef(Py_None);
    if (!writer_enter(self)) return NULL;
    levada_writer_destroy(&self->writer);
    self->busy = false;
    return Py_NewRef(Py_None);
}

static void writer_dealloc(PyObject *object)
{
    levada_writer_destroy(&((writer_object *)object)->writer);
    levada_py_free(object);
}

static PyMethodDef writer_methods[] = {
    {"write", writer_write, METH_O, "Appends one record (bytes)."},
    {"flush", writer_flush, METH_NOARGS, "Passes every record so far to the system."},
    {"close", writer_close, METH_NOARGS, "Finishes the file; again is fine."},
    {"discard", writer_discard, METH_NOARGS, "Drops what is not closed; again is fine."},
    {NULL, NULL, 0, NULL},
};

LEVADA_PY_TYPE(writer, "Writer", writer_object, 0,
               "Writer of a TFRecord file; levada.TFRecordWriter wraps it.",
               LEVADA_PY_SLOT(tp_new, writer_open),
               LEVADA_PY_SLOT(tp_dealloc, writer_dealloc),
               LEVADA_PY_SLOT(tp_methods, writer_methods));

static PyObject *writer_save(PyObject *module, PyObject *args)
{
    PyObject     *path = NULL;
    Py_buffer     bytes;
    levada_error  err = LEVADA_ERROR_INIT;
    levada_status st;

    if (!PyArg_ParseTuple(args, "O&y*:save_file", PyUnicode_FSConverter, &path, &bytes))
        return NULL;
    LEVADA_PY_UNLOCKED(
        st = levada_output_save(PyBytes_AsString(path), bytes.buf, (size_t)bytes.len, &err));
    PyBuffer_Release(&bytes);
    Py_DECREF(path);
    return levada_py_none(st, &err);
}

PyMethodDef levada_py_functions_writer[] = {
    {"save_file", writer_save, METH_VARARGS,
     "save_file(path, bytes): a file that appears complete or not at all."},
    {NULL, NULL, 0, NULL},
};
