/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Public functions of the package, so that the traceback of a mistake ends in the user's line.
 * A Front calls a Python function. Where that raises, levada._front improves the message and
 * removes the frames of levada: only code that is not Python can raise without a frame of its own.
 * To inspect, help() and pickle a Front is the function that it calls.
 */
#include "module.h"

typedef struct front_object {
    PyObject_HEAD
    PyObject *fn;
} front_object;

static PyObject *front_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    PyObject     *fn = NULL;
    allocfunc     alloc = (allocfunc)(uintptr_t)PyType_GetSlot(type, Py_tp_alloc);
    front_object *self = NULL;

    if (!PyArg_ParseTuple(args, "O:Front", &fn)) return NULL;
    self = (front_object *)alloc(type, 0);
    if (self) self->fn = Py_NewRef(fn);
    return (PyObject *)self;
}

/* Replaces the exception that is set by what levada._front.mended(fn, it) returns. */
static void front_mend(PyObject *fn)
{
    PyObject *type = NULL, *error = NULL, *trace = NULL, *module = NULL, *mended = NULL;

    PyErr_Fetch(&type, &error, &trace);
    PyErr_NormalizeException(&type, &error, &trace);
    if (trace && error) PyException_SetTraceback(error, trace);
    module = PyImport_ImportModule("levada._front");
    if (module) mended = PyObject_CallMethod(module, "mended", "OO", fn, error);
    Py_XDECREF(module);
    if (!mended) { /* no memory, or the interpreter ends: the original tells more */
        PyErr_Clear();
        PyErr_Restore(type, error, trace);
        return;
    }
    PyErr_Restore(Py_NewRef((PyObject *)Py_TYPE(mended)), mended,
                  PyException_GetTraceback(mended));
    Py_XDECREF(type);
    Py_XDECREF(error);
    Py_XDECREF(trace);
}

static PyObject *front_call(PyObject *object, PyObject *args, PyObject *kwargs)
{
    PyObject *fn = ((front_object *)object)->fn;
    PyObject *made = PyObject_Call(fn, args, kwargs);

    if (!made) front_mend(fn);
    return made;
}

/* Returns a bound method, whose type the limited API does not name: that of a method of fn. */
static PyObject *front_bind(PyObject *object, PyObject *instance, PyObject *type)
{
    PyObject    *fn = ((front_object *)object)->fn;
    descrgetfunc bind = (descrgetfunc)(uintptr_t)PyType_GetSlot(Py_TYPE(fn), Py_tp_descr_get);
    PyObject    *plain = NULL, *bound = NULL;

    if (!bind || !instance || instance == Py_None) return Py_NewRef(object);
    plain = bind(fn, instance, type);
    if (!plain) return NULL;
    bound = PyObject_CallFunctionObjArgs((PyObject *)Py_TYPE(plain), object, instance, NULL);
    Py_DECREF(plain);
    return bound;
}

static PyObject *front_get(PyObject *object, PyObject *name)
{
    PyObject *fn = ((front_object *)object)->fn;

    if (PyUnicode_CompareWithASCIIString(name, "__wrapped__") == 0) return Py_NewRef(fn);
    if (PyUnicode_CompareWithASCIIString(name, "__reduce_ex__") == 0)
        return PyObject_GenericGetAttr(object, name);
    return PyObject_GetAttr(fn, name);
}

/* pydoc shows no docstring that is that of the type, so the type has none of its own. */
static PyObject *front_doc(PyObject *object, void *unused)
{
    (void)unused;
    return PyObject_GetAttrString(((front_object *)object)->fn, "__doc__");
}

static PyObject *front_reduce(PyObject *object, PyObject *protocol)
{
    (void)protocol;
    return PyObject_GetAttrString(((front_object *)object)->fn, "__qualname__");
}

static PyObject *front_repr(PyObject *object)
{
    return PyObject_Repr(((front_object *)object)->fn);
}

static int front_traverse(PyObject *object, visitproc visit, void *arg)
{
    Py_VISIT(((front_object *)object)->fn);
    Py_VISIT(Py_TYPE(object));
    return 0;
}

static int front_clear(PyObject *object)
{
    Py_CLEAR(((front_object *)object)->fn);
    return 0;
}

static void front_dealloc(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    freefunc      release = (freefunc)(uintptr_t)PyType_GetSlot(type, Py_tp_free);

    PyObject_GC_UnTrack(object);
    front_clear(object);
    release(object);
    Py_DECREF(type);
}

static PyMethodDef front_methods[] = {
    {"__reduce_ex__", front_reduce, METH_O, "Pickled by name, as functions are."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef front_getset[] = {
    {"__doc__", front_doc, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

LEVADA_PY_TYPE(front, "Front", front_object, Py_TPFLAGS_HAVE_GC, NULL,
               LEVADA_PY_SLOT(tp_new, front_new),
               LEVADA_PY_SLOT(tp_call, front_call),
               LEVADA_PY_SLOT(tp_descr_get, front_bind),
               LEVADA_PY_SLOT(tp_getattro, front_get),
               LEVADA_PY_SLOT(tp_repr, front_repr),
               LEVADA_PY_SLOT(tp_traverse, front_traverse),
               LEVADA_PY_SLOT(tp_clear, front_clear),
               LEVADA_PY_SLOT(tp_dealloc, front_dealloc),
               LEVADA_PY_SLOT(tp_methods, front_methods),
               LEVADA_PY_SLOT(tp_getset, front_getset));
