/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records one by one: a block as a list of dicts. A loop over single records spends its time here,
 * so each record costs one dict and one object for each field, and no call of Python.
 */
#include "module.h"

/* The names and the lists of values, each held by a reference. */
typedef struct rows_columns {
    Py_ssize_t n;
    PyObject **name, **values;
} rows_columns;

static void rows_release(rows_columns *c)
{
    Py_ssize_t i;

    for (i = 0; c->name && i < 2 * c->n; i++) Py_XDECREF(c->name[i]);
    PyMem_Free(c->name);
}

/* Reads columns, which are lists of `rows` values; returns false with an exception. */
static bool rows_read(rows_columns *c, PyObject *names, PyObject *columns, Py_ssize_t rows)
{
    Py_ssize_t i;

    c->n = PyTuple_Size(names);
    c->name = PyMem_Calloc((size_t)c->n + 1, 2 * sizeof(PyObject *));
    if (!c->name) return PyErr_NoMemory(), false;
    c->values = c->name + c->n;
    for (i = 0; i < c->n; i++) {
        c->name[i] = PySequence_GetItem(names, i);
        c->values[i] = c->name[i] ? PySequence_GetItem(columns, i) : NULL;
        if (!c->values[i]) return false;
        if (PyList_Check(c->values[i]) && PyList_Size(c->values[i]) == rows) continue;
        PyErr_SetString(PyExc_ValueError, "the columns are not lists of the same length");
        return false;
    }
    return true;
}

static PyObject *rows_one(const rows_columns *c, Py_ssize_t row)
{
    Py_ssize_t i;
    PyObject  *dict = PyDict_New();

    for (i = 0; dict && i < c->n; i++) {
        PyObject *value = PySequence_GetItem(c->values[i], row);

        if (!value || PyDict_SetItem(dict, c->name[i], value) < 0) Py_CLEAR(dict);
        Py_XDECREF(value);
    }
    return dict;
}

static PyObject *rows_dicts(PyObject *module, PyObject *args)
{
    PyObject    *names = NULL, *columns = NULL, *list = NULL, *dict = NULL;
    Py_ssize_t   row, n = 0;
    rows_columns c = { 0 };

    if (!PyArg_ParseTuple(args, "O!O!n:dicts", &PyTuple_Type, &names, &PyList_Type, &columns, &n))
        return NULL;
    if (rows_read(&c, names, columns, n)) list = PyList_New(n);
    for (row = 0; list && row < n; row++) {
        dict = rows_one(&c, row);
        if (!dict || PyList_SetItem(list, row, dict) < 0) Py_CLEAR(list);
    }
    rows_release(&c);
    return list;
}

static PyObject *rows_slices(PyObject *module, PyObject *args)
{
    PyObject      *values = NULL, *offsets = NULL, *list = NULL, *item = NULL;
    Py_buffer      marks;
    const int32_t *at = NULL;
    Py_ssize_t     i, n;

    if (!PyArg_ParseTuple(args, "OO:slices", &values, &offsets) ||
        PyObject_GetBuffer(offsets, &marks, PyBUF_SIMPLE) < 0)
        return NULL;
    at = marks.buf;
    n = marks.len / (Py_ssize_t)sizeof *at - 1;
    list = PyList_New(n < 0 ? 0 : n);
    for (i = 0; list && i < n; i++) {
        item = PySequence_GetSlice(values, at[i], at[i + 1]);
        if (!item || PyList_SetItem(list, i, item) < 0) Py_CLEAR(list);
    }
    PyBuffer_Release(&marks);
    return list;
}

PyMethodDef levada_py_functions_rows[] = {
    {"dicts", rows_dicts, METH_VARARGS, "dicts(names, columns, n): list of n dicts."},
    {"slices", rows_slices, METH_VARARGS,
     "slices(values, offsets): list of values[a:b]; offsets are int32 and ascend."},
    {NULL, NULL, 0, NULL},
};
