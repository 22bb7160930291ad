/* SPDX-License-Identifier: Apache-2.0 */
/* The module: its state, types and functions, and how errors become exceptions. */
#include "module.h"

#include <levada/binding.h>

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

levada_py_state *levada_py_state_of(PyObject *self)
{
    return PyType_GetModuleState(Py_TYPE(self));
}

/* Finds the state through the base that this module made, which is based on object alone: a class
 * of the package has no module, and raises an exception if it is asked for one. */
levada_py_state *levada_py_state_of_type(PyTypeObject *type)
{
    PyTypeObject *base;

    while ((base = PyType_GetSlot(type, Py_tp_base)) != &PyBaseObject_Type) type = base;
    return PyType_GetModuleState(type);
}

static atomic_long module_forks;

long levada_py_forks(void) { return atomic_load_explicit(&module_forks, memory_order_relaxed); }

static void module_in_child(void)
{
    (void)atomic_fetch_add_explicit(&module_forks, 1, memory_order_relaxed);
}

/* Runs once in a process; returns false with an exception. */
static bool module_watch_forks(void)
{
    static bool watched;

    if (!watched && pthread_atfork(NULL, NULL, module_in_child) != 0) {
        PyErr_NoMemory();
        return false;
    }
    watched = true;
    return true;
}

static PyObject *module_part(const char *text)
{
    return text[0] ? PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace")
                   : Py_NewRef(Py_None);
}

static PyObject *module_number(int64_t number)
{
    return number >= 0 ? PyLong_FromLongLong(number) : Py_NewRef(Py_None);
}

PyObject *levada_py_name(const char *name)
{
    PyObject *made = PyUnicode_InternFromString(name);

    if (made || !PyErr_ExceptionMatches(PyExc_UnicodeDecodeError)) return made;
    PyErr_Clear();
    return levada_py_refuse(LEVADA_EINVALID_ARGUMENT,
                            "the name of a column must be UTF-8 in Python, got '%.80s'", name);
}

/* The exception is made in Python: levada.errors knows classes and original exceptions. */
PyObject *levada_py_raise(const levada_error *err)
{
    PyObject *errors = PyImport_ImportModule("levada.errors"), *made = NULL;

    if (!errors) return NULL;
    made = PyObject_CallMethod(errors, "from_status", "iNNNNNNK", (int)err->code,
                               module_part(err->message), module_part(err->stage),
                               module_part(err->file), module_number(err->offset),
                               module_number(err->record), module_part(err->key),
                               (unsigned long long)err->token);
    Py_DECREF(errors);
    if (made) PyErr_SetObject((PyObject *)Py_TYPE(made), made);
    Py_XDECREF(made);
    return NULL;
}

struct timespec levada_py_soon(void)
{
    const long      second = 1000000000L, patience = 50000000L;
    struct timespec until;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += (until.tv_nsec + patience) / second;
    until.tv_nsec = (until.tv_nsec + patience) % second;
    return until;
}

bool levada_py_interrupted(void)
{
    PyGILState_STATE held;
    bool             raised;

    if (!PyGILState_GetThisThreadState()) return false;
    held = PyGILState_Ensure();
    raised = PyErr_Occurred() || PyErr_CheckSignals() < 0;
    PyGILState_Release(held);
    return raised;
}

PyObject *levada_py_refuse(levada_status code, const char *fmt, ...)
{
    levada_error err = LEVADA_ERROR_INIT;
    char         text[sizeof err.message];
    va_list      args;

    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    (void)levada_fail(&err, code, "%s", text);
    return levada_py_raise(&err);
}

bool levada_py_ok(levada_status st, const levada_error *err)
{
    if (st == LEVADA_OK) return true;
    if (PyErr_Occurred()) return false; /* a signal's, see levada_py_interrupted */
    if (err->code == st) levada_py_raise(err);
    else levada_py_refuse(st, "%s", levada_status_text(st));
    return false;
}

PyObject *levada_py_none(levada_status st, const levada_error *err)
{
    return levada_py_ok(st, err) && !PyErr_Occurred() ? Py_NewRef(Py_None) : NULL;
}

PyObject *levada_py_bytes(levada_status st, char **bytes, size_t size, const levada_error *err)
{
    PyObject *made = NULL;

    if (levada_py_ok(st, err)) made = PyBytes_FromStringAndSize(*bytes, (Py_ssize_t)size);
    levada_string_free(bytes);
    return made;
}

void levada_py_free(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);

    PyObject_Free(object);
    Py_DECREF(type);
}

bool levada_py_parse(PyObject *args, PyObject *kwargs, const char *format,
                     const char *const *names, ...)
{
    char  **keywords = NULL;
    va_list to;
    int     good;

    memcpy(&keywords, &names, sizeof keywords); /* only read */
    va_start(to, names);
    good = PyArg_VaParseTupleAndKeywords(args, kwargs, format, keywords, to);
    va_end(to);
    return good != 0;
}

const char *levada_py_utf8(PyObject *text)
{
    Py_ssize_t  size = 0;
    const char *made = PyUnicode_AsUTF8AndSize(text, &size);

    if (!made || strlen(made) == (size_t)size) return made;
    PyErr_Format(PyExc_ValueError, "%R has a zero byte in it", text);
    return NULL;
}

PyObject *levada_py_text(levada_status st, char **text, const levada_error *err)
{
    PyObject *made = NULL;

    if (!levada_py_ok(st, err)) return NULL;
    made = PyUnicode_DecodeUTF8(*text, (Py_ssize_t)strlen(*text), "replace");
    levada_string_free(text);
    return made;
}

PyObject *levada_py_dims(int64_t n, const int64_t *dims, int32_t rank)
{
    int32_t   front = n >= 0 ? 1 : 0;
    PyObject *made = PyTuple_New(rank + front), *size = NULL;

    for (int32_t d = 0; made && d < rank + front; d++) {
        size = PyLong_FromLongLong(d < front ? n : dims[d - front]);
        if (!size || PyTuple_SetItem(made, d, size) < 0) Py_CLEAR(made);
    }
    return made;
}

levada_status levada_py_scratch(int64_t size, levada_block **owner, void **out, levada_error *err)
{
    levada_field    field = {.name = "memory", .dtype = LEVADA_UINT8, .ndim = 1, .dims = {-1}};
    levada_spec    *spec = NULL;
    levada_builder *b = NULL;
    levada_status   st;

    field.dims[0] = size > 0 ? size : 1;
    st = levada_spec_create(&field, 1, LEVADA_SPEC_PLAIN, &spec, err);
    if (st == LEVADA_OK) st = levada_builder_create(NULL, spec, 1, &b, err);
    if (st == LEVADA_OK) st = levada_builder_values(b, 0, field.dims[0], out, err);
    if (st == LEVADA_OK) {
        memset(*out, 0, (size_t)field.dims[0]);
        st = levada_builder_publish(&b, owner, err);
    }
    levada_builder_destroy(&b);
    levada_spec_unref(&spec);
    return st;
}

static int module_add_type(PyObject *module, PyType_Spec *spec, PyTypeObject **out)
{
    PyObject *type = PyType_FromModuleAndSpec(module, spec, NULL);

    if (!type) return -1;
    *out = (PyTypeObject *)type;
    return PyModule_AddType(module, *out);
}

static int module_exec(PyObject *module)
{
    levada_py_state *state = PyModule_GetState(module);

    if (PyInterpreterState_GetID(PyInterpreterState_Get()) != 0) {
        PyErr_SetString(PyExc_ImportError, "levada works in the main interpreter only: its threads "
                                           "and queues cannot be shared with a sub-interpreter");
        return -1;
    }
#define MODULE_ADD_TYPE(word) \
    &&module_add_type(module, &levada_py_spec_##word, &state->word) == 0
    if (!(true LEVADA_PY_TYPES(MODULE_ADD_TYPE))) return -1;
#undef MODULE_ADD_TYPE
    state->calls = levada_py_call_queue_create();
    state->made = PyUnicode_InternFromString("_made");
    if (!state->calls || !state->made) return -1;
#define MODULE_ADD_FUNCTIONS(word) \
    &&PyModule_AddFunctions(module, levada_py_functions_##word) == 0
    if (!(true LEVADA_PY_FUNCTIONS(MODULE_ADD_FUNCTIONS))) return -1;
#undef MODULE_ADD_FUNCTIONS
    levada_env_set_interrupted(NULL, levada_py_interrupted);
    levada_env_set_resolve(NULL, levada_py_resolve);
    return PyModule_AddStringConstant(module, "VERSION", levada_version());
}

static int module_traverse(PyObject *module, visitproc visit, void *arg)
{
    levada_py_state *state = PyModule_GetState(module);

#define MODULE_VISIT(word) Py_VISIT(state->word);
    LEVADA_PY_TYPES(MODULE_VISIT)
#undef MODULE_VISIT
    return 0;
}

static int module_clear(PyObject *module)
{
    levada_py_state *state = PyModule_GetState(module);

#define MODULE_CLEAR(word) Py_CLEAR(state->word);
    LEVADA_PY_TYPES(MODULE_CLEAR)
#undef MODULE_CLEAR
    return 0;
}

/* Two casts: a function pointer goes into a slot of type void *. */
static PyModuleDef_Slot module_slots[] = {
    {Py_mod_exec, (void *)(uintptr_t)module_exec},
    {0, NULL},
};

static struct PyModuleDef module_def = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "_levada",
    .m_doc = "The C side of the package levada; its functions are for the package only.",
    .m_size = sizeof(levada_py_state),
    .m_slots = module_slots,
    .m_traverse = module_traverse,
    .m_clear = module_clear,
};

PyMODINIT_FUNC PyInit__levada(void);

PyMODINIT_FUNC PyInit__levada(void)
{
    if (!module_watch_forks()) return NULL;
    return PyModuleDef_Init(&module_def);
}
