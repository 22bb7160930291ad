/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of a batch that a training loop calls for each field: from names to values, each made
 * when it is first asked for. levada.Batch is based on it, and makes the values that are not plain
 * arrays: its method _other(number).
 */
#include "module.h"

#include <stddef.h>
#include <structmember.h>

typedef struct batch_object {
    PyObject_HEAD
    PyObject  *block;  /* a levada_py_block */
    PyObject  *files;  /* the paths of its records, or None */
    PyObject  *index;  /* the index of the block */
    PyObject **values; /* one of each column, NULL until somebody asks for it */
    PyObject  *lengths; /* a dict of the package, or NULL */
} batch_object;

static PyObject *batch_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    levada_py_state *state = levada_py_state_of_type(type);
    PyObject        *block = NULL, *files = Py_None, *index = NULL;
    batch_object    *self = NULL;
    PyObject       **values = NULL;

    if (!PyArg_UnpackTuple(args, "Batch", 0, 2, &block, &files)) return NULL;
    /* Libraries rebuild containers from their items. */
    if (!block || kwargs || Py_TYPE(block) != state->block)
        return PyErr_SetString(PyExc_TypeError, "a Batch is made by an iterator; a dict of its "
                                                "fields is dict(batch)"), NULL;
    index = levada_py_block_index(block);
    if (index) values = PyMem_Calloc((size_t)PyDict_Size(index) + 1, sizeof(PyObject *));
    if (index && !values) PyErr_NoMemory();
    if (values) self = (batch_object *)PyType_GenericAlloc(type, 0);
    if (!self) return PyMem_Free(values), NULL;
    self->block = Py_NewRef(block);
    self->files = Py_NewRef(files);
    self->index = Py_NewRef(index);
    self->values = values;
    return (PyObject *)self;
}

static PyObject *batch_make(PyObject *self, int32_t i)
{
    PyObject *made = levada_py_block_array(((batch_object *)self)->block, i);

    return made || PyErr_Occurred() ? made : PyObject_CallMethod(self, "_other", "(i)", (int)i);
}

/* Returns the number of the column of that name, or -1 with the package's exception. */
static int32_t batch_number(PyObject *self, PyObject *name)
{
    PyObject *number = PyObject_GetItem(((batch_object *)self)->index, name);
    int32_t   i;

    if (!number && PyErr_ExceptionMatches(PyExc_KeyError)) {
        PyErr_Clear();
        number = PyObject_CallMethod(self, "_index", "(O)", name);
    }
    i = number ? (int32_t)PyLong_AsLong(number) : -1;
    Py_XDECREF(number);
    return i;
}

static PyObject *batch_at(PyObject *object, PyObject *name)
{
    int32_t    i = batch_number(object, name);
    PyObject **place = i < 0 ? NULL : &((batch_object *)object)->values[i], *made;

    if (!place) return NULL;
    if (!*place) {
        made = batch_make(object, i);
        if (*place) Py_XDECREF(made); /* another thread made it meanwhile */
        else *place = made;
    }
    return Py_XNewRef(*place);
}

static PyObject *batch_iter(PyObject *self)
{
    return PyObject_GetIter(((batch_object *)self)->index);
}

static int batch_traverse(PyObject *object, visitproc visit, void *arg)
{
    batch_object *self = (batch_object *)object;

    Py_VISIT(Py_TYPE(object));
    Py_VISIT(self->files);
    Py_VISIT(self->lengths);
    for (Py_ssize_t i = 0; self->values && i < PyDict_Size(self->index); i++)
        Py_VISIT(self->values[i]);
    return 0;
}

/* Drops the values, which may be arrays of objects or anything that the package makes. No cycle
 * goes through the block or the index. */
static int batch_clear(PyObject *object)
{
    batch_object *self = (batch_object *)object;

    for (Py_ssize_t i = 0; self->values && i < PyDict_Size(self->index); i++)
        Py_CLEAR(self->values[i]);
    Py_CLEAR(self->files);
    Py_CLEAR(self->lengths);
    return 0;
}

static void batch_dealloc(PyObject *object)
{
    batch_object *self = (batch_object *)object;
    PyTypeObject *type = Py_TYPE(object);
    freefunc      release = (freefunc)(uintptr_t)PyType_GetSlot(type, Py_tp_free);

    PyObject_GC_UnTrack(object);
    (void)batch_clear(object);
    PyMem_Free(self->values);
    Py_XDECREF(self->index);
    Py_XDECREF(self->block);
    release(object);
    Py_DECREF(type);
}

static PyMemberDef batch_members[] = {
    {"_block", T_OBJECT_EX, offsetof(batch_object, block), READONLY, NULL},
    {"_files", T_OBJECT, offsetof(batch_object, files), READONLY, NULL},
    {"_lengths", T_OBJECT, offsetof(batch_object, lengths), 0, NULL},
    {NULL, 0, 0, 0, NULL},
};

LEVADA_PY_TYPE(batch, "Batch", batch_object, Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
               "Values of a block by name; levada.Batch is based on it.",
               LEVADA_PY_SLOT(tp_new, batch_new),
               LEVADA_PY_SLOT(tp_dealloc, batch_dealloc),
               LEVADA_PY_SLOT(tp_traverse, batch_traverse),
               LEVADA_PY_SLOT(tp_clear, batch_clear),
               LEVADA_PY_SLOT(tp_iter, batch_iter),
               LEVADA_PY_SLOT(mp_subscript, batch_at),
               LEVADA_PY_SLOT(tp_members, batch_members));
