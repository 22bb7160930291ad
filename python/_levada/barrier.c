/* SPDX-License-Identifier: Apache-2.0 */
/* Barriers as Python sees them; waits as in queue.c. */
#include "tensor.h"
#include "wait.h"

#include <levada/binding.h>
#include <string.h>

typedef struct barrier_object {
    PyObject_HEAD
    levada_py_state *state;
    levada_barrier  *barrier;
    levada_py_slots  slots, marks; /* of the values; of indices and keys */
    PyObject        *signature;    /* as in queue.c */
    long             forks;
} barrier_object;

static bool barrier_alive(const barrier_object *self)
{
    return levada_py_ours(self->forks, "barrier");
}

/* keys: a list or tuple of str or bytes. */
static levada_tensor *barrier_keys(PyObject *keys)
{
    Py_ssize_t   n = PySequence_Size(keys);
    levada_shape shape = {1, {n}};

    return n < 0 ? NULL : levada_py_strings(NULL, &shape, keys);
}

/* Returns the values of one component, [n, ...]; by the long way where they are not an array that
 * fits. */
static levada_tensor *barrier_values(const barrier_object *self, int32_t i, PyObject *values)
{
    int64_t        rows = -1;
    levada_tensor *made =
        levada_py_tensor(NULL, &self->slots, i, values, true, &rows);
    PyObject      *again = NULL;

    if (made || PyErr_Occurred()) return made;
    again = PyObject_CallMethod(self->signature, "values", "iO", (int)i, values);
    rows = -1;
    if (again) made = levada_py_tensor(NULL, &self->slots, i, again, true, &rows);
    Py_XDECREF(again);
    if (!made && !PyErr_Occurred())
        PyErr_SetString(PyExc_SystemError, "values cannot be used although they were checked");
    return made;
}

static PyObject *barrier_insert_many(PyObject *object, PyObject *const *args, Py_ssize_t n)
{
    barrier_object *self = (barrier_object *)object;
    levada_tensor  *keys = NULL, *values = NULL;
    levada_error    err = LEVADA_ERROR_INIT;
    long            component;
    bool            good = false;

    if (n != 3) return PyErr_SetString(PyExc_TypeError, "insert_many takes 3 arguments"), NULL;
    component = PyLong_AsLong(args[0]);
    if ((component == -1 && PyErr_Occurred()) || !barrier_alive(self)) return NULL;
    if (component < 0 || component >= self->slots.n) {
        return levada_py_refuse(
            LEVADA_EINVALID_ARGUMENT,
            "the component index %ld is out of range [0, %d)", component, (int)self->slots.n);
    }
    keys = barrier_keys(args[1]);
    if (keys) values = barrier_values(self, (int32_t)component, args[2]);
    if (keys && values)
        good = levada_py_ok(levada_barrier_insert_many(self->barrier, (int32_t)component, keys,
                                                       values, &err),
                            &err);
    levada_tensor_unref(&keys);
    levada_tensor_unref(&values);
    return good ? Py_NewRef(Py_None) : NULL;
}

/* (indices, keys, [values...]) of the tensors: those of marks first. */
static PyObject *barrier_tuple(const barrier_object *self, levada_tensor **tensors)
{
    PyObject *values = PyList_New(self->slots.n), *indices = NULL, *keys = NULL, *value = NULL;

    if (values) indices = levada_py_from_tensor(self->state, &self->marks, 0, &tensors[0], true);
    if (indices) keys = levada_py_from_tensor(self->state, &self->marks, 1, &tensors[1], true);
    for (int32_t i = 0; keys && values && i < self->slots.n; i++) {
        value = levada_py_from_tensor(self->state, &self->slots, i, &tensors[i + 2], true);
        if (!value || PyList_SetItem(values, i, value) < 0) Py_CLEAR(values);
    }
    if (indices && keys && values) return Py_BuildValue("(NNN)", indices, keys, values);
    Py_XDECREF(indices);
    Py_XDECREF(keys);
    Py_XDECREF(values);
    return NULL;
}

static levada_status barrier_take(const barrier_object *self, levada_barrier_take *how,
                                  levada_tensor **tensors, levada_error *err)
{
    int64_t        timeout = how->timeout;
    levada_status  st;

    how->timeout = LEVADA_AT_ONCE;
    st = levada_barrier_take_many(self->barrier, how, &tensors[0], &tensors[1], tensors + 2, err);
    if (st != LEVADA_AGAIN) return st;
    how->timeout = timeout;
    LEVADA_PY_WAITING(self->state,
        st = levada_barrier_take_many(self->barrier, how, &tensors[0], &tensors[1], tensors + 2,
                                      err));
    return st;
}

/* barrier[n, small, timeout, wait], as in queue.c */
static PyObject *barrier_item(PyObject *object, PyObject *what)
{
    barrier_object     *self = (barrier_object *)object;
    levada_barrier_take how = {.struct_size = sizeof how};
    levada_tensor     **tensors = NULL;
    levada_error        err = LEVADA_ERROR_INIT;
    PyObject           *n = NULL, *small = NULL, *seconds = NULL, *wait = NULL, *result = NULL;
    size_t              all = (size_t)self->slots.n + 2;

    if (!PyArg_ParseTuple(what, "OOOO:take_many", &n, &small, &seconds, &wait)) return NULL;
    how.n = PyLong_AsLongLong(n);
    how.allow_small_batch = small == Py_True;
    how.wait_for_incomplete = wait == Py_True;
    if (PyErr_Occurred() || !levada_py_timeout(seconds, &how.timeout) || !barrier_alive(self))
        return NULL;
    tensors = PyMem_Calloc(all, sizeof(void *));
    if (!tensors) return PyErr_NoMemory();
    if (levada_py_ok(barrier_take(self, &how, tensors, &err), &err) && !PyErr_Occurred())
        result = barrier_tuple(self, tensors);
    while (all-- > 0) levada_tensor_unref(&tensors[all]);
    PyMem_Free(tensors);
    return result;
}

static PyObject *barrier_close(PyObject *object, PyObject *pending)
{
    barrier_object *self = (barrier_object *)object;
    levada_error    err = LEVADA_ERROR_INIT;

    if (!barrier_alive(self)) return NULL;
    return levada_py_none(levada_barrier_close(self->barrier, pending == Py_True, &err), &err);
}

LEVADA_PY_METHOD(barrier_cancel, barrier_object, barrier_alive(self),
                 (levada_barrier_cancel(self->barrier), Py_NewRef(Py_None)))
LEVADA_PY_METHOD(barrier_ready_size, barrier_object, barrier_alive(self),
                 PyLong_FromLongLong(levada_barrier_ready_size(self->barrier)))
LEVADA_PY_METHOD(barrier_incomplete_size, barrier_object, barrier_alive(self),
                 PyLong_FromLongLong(levada_barrier_incomplete_size(self->barrier)))

static PyObject *barrier_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    levada_py_state *state = PyType_GetModuleState(type);
    PyObject        *components = NULL, *marks = NULL, *signature = NULL;
    const char      *name = NULL, *shared_name = NULL;
    barrier_object  *self = NULL;
    levada_barrier_options options = LEVADA_BARRIER_OPTIONS_INIT;
    levada_py_main  *main = NULL;
    levada_error     err = LEVADA_ERROR_INIT;
    void            *memory = NULL;
    levada_dtype    *dtypes = NULL;
    levada_shape    *shapes = NULL;
    bool             good;

    if (!PyArg_ParseTuple(args, "OOOsz:Barrier", &components, &marks, &signature, &name,
                          &shared_name))
        return NULL;
    self = (barrier_object *)PyType_GenericAlloc(type, 0);
    if (!self) return NULL;
    self->state = state;
    self->forks = levada_py_forks();
    self->signature = Py_NewRef(signature);
    main = levada_py_main_of(state);
    good = main && levada_py_slots_init(&self->slots, components) &&
           levada_py_slots_init(&self->marks, marks) &&
           levada_py_slots_tables(&self->slots, &memory, &dtypes, &shapes);
    options.ncomponents = self->slots.n;
    options.dtypes = dtypes;
    options.shapes = shapes;
    options.name = name;
    options.shared_name = shared_name;
    good = good && levada_py_ok(levada_barrier_create(NULL, &options, &self->barrier, &err), &err);
    PyMem_Free(memory);
    if (good) {
        levada_barrier_set_poll(self->barrier, levada_py_poll, main, LEVADA_PY_POLL);
        levada_barrier_set_accept(self->barrier, levada_py_accept, main);
    }
    if (!good || PyErr_Occurred()) Py_CLEAR(self);
    return (PyObject *)self;
}

static void barrier_dealloc(PyObject *object)
{
    barrier_object *self = (barrier_object *)object;

    if (self->state && self->forks == levada_py_forks()) levada_barrier_unref(&self->barrier);
    levada_py_slots_clear(&self->slots);
    levada_py_slots_clear(&self->marks);
    Py_CLEAR(self->signature);
    levada_py_free(object);
}

static PyMethodDef barrier_methods[] = {
    {"insert_many", LEVADA_PY_FAST(barrier_insert_many), METH_FASTCALL,
     "insert_many(component, keys, values)"},
    {"close", barrier_close, METH_O, "close(cancel_pending)"},
    {"cancel", barrier_cancel, METH_NOARGS, "Ends every waiting take."},
    {"ready_size", barrier_ready_size, METH_NOARGS, "Complete keys."},
    {"incomplete_size", barrier_incomplete_size, METH_NOARGS, "Keys that wait for components."},
    {NULL, NULL, 0, NULL},
};

LEVADA_PY_TYPE(barrier, "Barrier", barrier_object, 0,
               "A barrier; levada.train.Barrier wraps it.",
               LEVADA_PY_SLOT(tp_new, barrier_new),
               LEVADA_PY_SLOT(tp_dealloc, barrier_dealloc),
               LEVADA_PY_SLOT(mp_subscript, barrier_item),
               LEVADA_PY_SLOT(tp_methods, barrier_methods));
