/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A coordinator as Python sees it; levada.train.Coordinator wraps it. Errors are known here by
 * their tokens only: the package has the exceptions. Threads of Python cannot report their own end,
 * so a thread of the package joins those that a join waits for, and stands for them as one member.
 */
#include "wait.h"

#include <levada/binding.h>
#include <levada/coordinator.h>

#define COORDINATOR_GROUP "levada._levada.group"

typedef struct coordinator_object {
    PyObject_HEAD
    levada_py_state    *state;
    levada_coordinator *coordinator;
    long                forks;
} coordinator_object;

static bool coordinator_alive(const coordinator_object *self)
{
    return levada_py_ours(self->forks, "coordinator");
}

/* request_stop(token=0): False if it was joined, so that the caller raises the error itself. */
static PyObject *coordinator_request_stop(PyObject *object, PyObject *const *args, Py_ssize_t n)
{
    coordinator_object *self = (coordinator_object *)object;
    levada_error        why = LEVADA_ERROR_INIT;
    levada_status       st;

    if (!coordinator_alive(self)) return NULL;
    if (n > 0) {
        (void)levada_fail(&why, LEVADA_EUNKNOWN, "an exception of Python");
        why.token = PyLong_AsUnsignedLongLong(args[0]);
        if (PyErr_Occurred()) return NULL;
    }
    st = levada_coordinator_request_stop(self->coordinator, n > 0 ? &why : NULL, NULL);
    return PyBool_FromLong(st == LEVADA_OK);
}

LEVADA_PY_METHOD(coordinator_should_stop, const coordinator_object, true,
                 PyBool_FromLong(levada_coordinator_should_stop(self->coordinator)))
LEVADA_PY_METHOD(coordinator_joined, const coordinator_object, true,
                 PyBool_FromLong(levada_coordinator_joined(self->coordinator)))

static PyObject *coordinator_clear_stop(PyObject *object, PyObject *unused)
{
    levada_coordinator_clear_stop(((coordinator_object *)object)->coordinator);
    return Py_NewRef(Py_None);
}

/* errors(): tokens, oldest first */
static PyObject *coordinator_errors(PyObject *object, PyObject *unused)
{
    const levada_coordinator *c = ((coordinator_object *)object)->coordinator;
    const levada_error       *error = NULL;
    PyObject                 *made = PyList_New(0), *token = NULL;

    for (int32_t i = 0; made && (error = levada_coordinator_error(c, i)); i++) {
        token = PyLong_FromUnsignedLongLong(error->token);
        if (!token || PyList_Append(made, token) < 0) Py_CLEAR(made);
        Py_XDECREF(token);
    }
    return made;
}

/* wait_for_stop(seconds) */
static PyObject *coordinator_wait_for_stop(PyObject *object, PyObject *seconds)
{
    coordinator_object *self = (coordinator_object *)object;
    int64_t             timeout;
    bool                stop = levada_coordinator_should_stop(self->coordinator);

    if (!levada_py_timeout(seconds, &timeout)) return NULL;
    if (!stop) {
        LEVADA_PY_WAITING(self->state,
            stop = levada_coordinator_wait_for_stop(self->coordinator, timeout));
    }
    return PyErr_Occurred() ? NULL : PyBool_FromLong(stop);
}

static void coordinator_end_group(PyObject *capsule)
{
    levada_member *member = PyCapsule_GetPointer(capsule, COORDINATOR_GROUP);

    levada_member_end(&member);
}

/* begin(): (number, handle). The group ends with its handle. */
static PyObject *coordinator_begin(PyObject *object, PyObject *unused)
{
    coordinator_object *self = (coordinator_object *)object;
    levada_member      *member = NULL;
    levada_error        err = LEVADA_ERROR_INIT;
    int64_t             number;
    PyObject           *capsule = NULL;

    if (!levada_py_ok(levada_coordinator_register(self->coordinator, "group", &member, &err), &err))
        return NULL;
    number = levada_member_number(member);
    capsule = PyCapsule_New(member, COORDINATOR_GROUP, coordinator_end_group);
    if (!capsule) levada_member_end(&member);
    return capsule ? Py_BuildValue("(LN)", (long long)number, capsule) : NULL;
}

/* join(number, seconds): waits for a group, then marks the coordinator as joined. */
static PyObject *coordinator_join(PyObject *object, PyObject *args)
{
    coordinator_object *self = (coordinator_object *)object;
    PyObject           *seconds = NULL;
    long long           number = 0;
    int64_t             grace;
    levada_error        err = LEVADA_ERROR_INIT;
    levada_status       st;

    if (!PyArg_ParseTuple(args, "LO:join", &number, &seconds)) return NULL;
    if (!coordinator_alive(self) || !levada_py_timeout(seconds, &grace)) return NULL;
    LEVADA_PY_WAITING(self->state,
        st = levada_coordinator_join_member(self->coordinator, number, grace, true, &err));
    /* Errors of threads are the caller's to raise. */
    if (st != LEVADA_OK && st != LEVADA_EUNKNOWN) return levada_py_none(st, &err);
    return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
}

static PyObject *coordinator_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static const levada_status none;
    levada_py_state           *state = PyType_GetModuleState(type);
    levada_py_main            *main = levada_py_main_of(state);
    levada_error               err = LEVADA_ERROR_INIT;
    coordinator_object        *self = NULL;

    if (!main || !PyArg_ParseTuple(args, ":Coordinator")) return NULL;
    self = (coordinator_object *)PyType_GenericAlloc(type, 0);
    if (!self) return NULL;
    self->state = state;
    self->forks = levada_py_forks();
    if (levada_py_ok(levada_coordinator_create(NULL, &none, 0, &self->coordinator, &err), &err)) {
        levada_coordinator_set_poll(self->coordinator, levada_py_poll, main, LEVADA_PY_POLL);
        return (PyObject *)self;
    }
    Py_DECREF(self);
    return NULL;
}

static void coordinator_dealloc(PyObject *object)
{
    levada_coordinator_destroy(&((coordinator_object *)object)->coordinator); /* has no threads */
    levada_py_free(object);
}

static PyMethodDef coordinator_methods[] = {
    {"request_stop", LEVADA_PY_FAST(coordinator_request_stop), METH_FASTCALL,
     "request_stop(token): False if it was joined; without a token, a clean stop."},
    {"should_stop", coordinator_should_stop, METH_NOARGS, "Whether the stop was requested."},
    {"wait_for_stop", coordinator_wait_for_stop, METH_O, "wait_for_stop(seconds)"},
    {"clear_stop", coordinator_clear_stop, METH_NOARGS, "Clears the stop, errors and the join."},
    {"joined", coordinator_joined, METH_NOARGS, "Whether a join has ended."},
    {"errors", coordinator_errors, METH_NOARGS, "Tokens of the errors, oldest first."},
    {"begin", coordinator_begin, METH_NOARGS, "begin(): (number, handle) of a group of threads."},
    {"join", coordinator_join, METH_VARARGS, "join(number, seconds): waits for a group."},
    {NULL, NULL, 0, NULL},
};

LEVADA_PY_TYPE(coordinator, "Coordinator", coordinator_object, 0,
               "A coordinator; levada.train.Coordinator wraps it.",
               LEVADA_PY_SLOT(tp_new, coordinator_new),
               LEVADA_PY_SLOT(tp_dealloc, coordinator_dealloc),
               LEVADA_PY_SLOT(tp_methods, coordinator_methods));
