/* SPDX-License-Identifier: Apache-2.0 */
/* The module: its state, types and functions, and how errors become exceptions. */
#include "module.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define MODULE_STATUS_ROW(name, value, text) {#name, text, value},

static const struct module_status {
    const char *name, *text;
    int         value;
} module_statuses[] = {LEVADA_STATUS_MAP(MODULE_STATUS_ROW)};

#define MODULE_DTYPE_ROW(name, NAME, bytes, code, numpy) {#name, numpy},

static const struct module_dtype {
    const char *name, *numpy;
} module_dtypes[] = {LEVADA_DTYPE_MAP(MODULE_DTYPE_ROW)};

levada_py_state *levada_py_state_of(PyObject *self)
{
    return PyType_GetModuleState(Py_TYPE(self));
}

static atomic_long module_forks;

long levada_py_forks(void) { return atomic_load_explicit(&module_forks, memory_order_relaxed); }

static void module_in_child(void)
{
    (void)atomic_fetch_add_explicit(&module_forks, 1, memory_order_relaxed);
}

/* Once in a process: false with an exception. */
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

/* The exception is made in Python: levada.errors knows classes and original exceptions. */
PyObject *levada_py_raise(const levada_error *err)
{
    PyObject *errors = PyImport_ImportModule("levada.errors"), *made = NULL;

    if (!errors) return NULL;
    made = PyObject_CallMethod(errors, "from_status", "iNNNNNN", (int)err->code,
                               module_part(err->message), module_part(err->stage),
                               module_part(err->file), module_number(err->offset),
                               module_number(err->record), module_part(err->key));
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

bool levada_py_ok(levada_status st, const levada_error *err)
{
    levada_error plain = LEVADA_ERROR_INIT;

    if (st == LEVADA_OK) return true;
    if (PyErr_Occurred()) return false; /* a signal's, see levada_py_interrupted */
    if (err->code == st) {
        levada_py_raise(err);
    } else {
        (void)levada_fail(&plain, st, "%s", levada_status_text(st));
        levada_py_raise(&plain);
    }
    return false;
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

static int module_add_tables(PyObject *module)
{
    PyObject *statuses = PyList_New(0), *dtypes = PyDict_New(), *row = NULL;
    size_t    i, n = sizeof module_statuses / sizeof module_statuses[0];
    int       failed = !statuses || !dtypes;

    for (i = 0; !failed && i < n; i++) {
        row = Py_BuildValue("(sis)", module_statuses[i].name, module_statuses[i].value,
                            module_statuses[i].text);
        failed = !row || PyList_Append(statuses, row) < 0;
        Py_XDECREF(row);
    }
    n = sizeof module_dtypes / sizeof module_dtypes[0];
    for (i = 0; !failed && i < n; i++) {
        row = PyUnicode_FromString(module_dtypes[i].numpy);
        failed = !row || PyDict_SetItemString(dtypes, module_dtypes[i].name, row) < 0;
        Py_XDECREF(row);
    }
    failed = failed || PyModule_AddObjectRef(module, "STATUSES", statuses) < 0 ||
             PyModule_AddObjectRef(module, "DTYPES", dtypes) < 0 ||
             PyModule_AddStringConstant(module, "VERSION", levada_version()) < 0;
    Py_XDECREF(statuses);
    Py_XDECREF(dtypes);
    return failed ? -1 : 0;
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
    if (module_add_type(module, &levada_py_block_spec, &state->block) < 0 ||
        module_add_type(module, &levada_py_view_spec, &state->view) < 0 ||
        module_add_type(module, &levada_py_dataset_spec, &state->dataset) < 0 ||
        module_add_type(module, &levada_py_iter_spec, &state->iter) < 0 ||
        module_add_type(module, &levada_py_function_spec, &state->function) < 0 ||
        module_add_type(module, &levada_py_writer_spec, &state->writer) < 0 ||
        module_add_type(module, &levada_py_sink_spec, &state->sink) < 0 ||
        module_add_type(module, &levada_py_tensor_spec, &state->tensor) < 0 ||
        module_add_type(module, &levada_py_queue_spec, &state->queue) < 0 ||
        module_add_type(module, &levada_py_barrier_spec, &state->barrier) < 0 ||
        module_add_type(module, &levada_py_saver_spec, &state->saver) < 0 ||
        module_add_type(module, &levada_py_segments_spec, &state->segments) < 0 ||
        module_add_type(module, &levada_py_reader_spec, &state->reader) < 0 ||
        module_add_type(module, &levada_py_bucket_spec, &state->bucket) < 0 ||
        module_add_type(module, &levada_py_front_spec, &state->front) < 0)
        return -1;
    state->calls = levada_py_call_queue_create();
    state->made = PyUnicode_InternFromString("_made");
    if (!state->calls || !state->made) return -1;
    if (PyModule_AddFunctions(module, levada_py_dataset_functions) < 0 ||
        PyModule_AddFunctions(module, levada_py_build_functions) < 0 ||
        PyModule_AddFunctions(module, levada_py_lengths_functions) < 0 ||
        PyModule_AddFunctions(module, levada_py_call_functions) < 0 ||
        PyModule_AddFunctions(module, levada_py_records_functions) < 0 ||
        PyModule_AddFunctions(module, levada_py_queue_functions) < 0 ||
        PyModule_AddFunctions(module, levada_py_watchdog_functions) < 0 ||
        PyModule_AddFunctions(module, levada_py_writer_functions) < 0 ||
        PyModule_AddFunctions(module, levada_py_rows_functions) < 0 ||
        PyModule_AddFunctions(module, levada_py_bucket_functions) < 0)
        return -1;
    return module_add_tables(module);
}

static int module_traverse(PyObject *module, visitproc visit, void *arg)
{
    levada_py_state *state = PyModule_GetState(module);

    Py_VISIT(state->block);
    Py_VISIT(state->view);
    Py_VISIT(state->dataset);
    Py_VISIT(state->iter);
    Py_VISIT(state->function);
    Py_VISIT(state->writer);
    Py_VISIT(state->sink);
    Py_VISIT(state->tensor);
    Py_VISIT(state->queue);
    Py_VISIT(state->barrier);
    Py_VISIT(state->saver);
    Py_VISIT(state->segments);
    Py_VISIT(state->reader);
    Py_VISIT(state->bucket);
    Py_VISIT(state->front);
    return 0;
}

static int module_clear(PyObject *module)
{
    levada_py_state *state = PyModule_GetState(module);

    Py_CLEAR(state->block);
    Py_CLEAR(state->view);
    Py_CLEAR(state->dataset);
    Py_CLEAR(state->iter);
    Py_CLEAR(state->function);
    Py_CLEAR(state->writer);
    Py_CLEAR(state->sink);
    Py_CLEAR(state->tensor);
    Py_CLEAR(state->queue);
    Py_CLEAR(state->barrier);
    Py_CLEAR(state->saver);
    Py_CLEAR(state->segments);
    Py_CLEAR(state->reader);
    Py_CLEAR(state->bucket);
    Py_CLEAR(state->front);
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
