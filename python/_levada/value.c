/* SPDX-License-Identifier: Apache-2.0 */
/* Values: options from Python into levada and back. */
#include "module.h"

static levada_value *value_memory(levada_value *made)
{
    if (!made) PyErr_NoMemory();
    return made;
}

static levada_value *value_text(PyObject *object)
{
    Py_ssize_t  size = 0;
    const char *text = PyUnicode_AsUTF8AndSize(object, &size);

    return text ? value_memory(levada_value_text(text, (size_t)size)) : NULL;
}

static levada_value *value_bytes(PyObject *object)
{
    char      *bytes = NULL;
    Py_ssize_t size = 0;

    if (PyBytes_AsStringAndSize(object, &bytes, &size) < 0) return NULL;
    return value_memory(levada_value_bytes(bytes, (size_t)size));
}

static levada_value *value_int(PyObject *object)
{
    long long number = PyLong_AsLongLong(object);

    if (number == -1 && PyErr_Occurred()) {
        if (PyErr_ExceptionMatches(PyExc_OverflowError))
            PyErr_Format(PyExc_ValueError, "%R does not fit int64", object);
        return NULL;
    }
    return value_memory(levada_value_int(number));
}

static levada_value *value_float(PyObject *object)
{
    double number = PyFloat_AsDouble(object);

    if (number == -1.0 && PyErr_Occurred()) return NULL;
    return value_memory(levada_value_float(number));
}

static levada_value *value_list(levada_py_state *state, PyObject *object)
{
    levada_value *list = value_memory(levada_value_list()), *item = NULL;
    levada_error  err = LEVADA_ERROR_INIT;
    Py_ssize_t    i, n = PySequence_Size(object);
    PyObject     *at = NULL;

    if (!list || n < 0) goto out;
    for (i = 0; i < n; i++) {
        at = PySequence_GetItem(object, i);
        item = at ? levada_py_value(state, at) : NULL;
        Py_XDECREF(at);
        if (!item || !levada_py_ok(levada_value_push(list, &item, &err), &err)) goto out;
    }
    return list;
out:
    levada_value_destroy(&item);
    levada_value_destroy(&list);
    return NULL;
}

static bool value_set(levada_py_state *state, levada_value *map, PyObject *entry)
{
    PyObject     *key = PySequence_GetItem(entry, 0), *object = PySequence_GetItem(entry, 1);
    PyObject     *name = key ? PyObject_Str(key) : NULL;
    const char   *text = name ? levada_py_utf8(name) : NULL;
    levada_value *item = text && object ? levada_py_value(state, object) : NULL;
    levada_error  err = LEVADA_ERROR_INIT;
    bool          good = item && levada_py_ok(levada_value_set(map, text, &item, &err), &err);

    levada_value_destroy(&item);
    Py_XDECREF(name);
    Py_XDECREF(key);
    Py_XDECREF(object);
    return good;
}

static levada_value *value_map(levada_py_state *state, PyObject *object)
{
    levada_value *map = value_memory(levada_value_map());
    PyObject     *items = map ? PyMapping_Items(object) : NULL, *entry = NULL;
    Py_ssize_t    i, n = items ? PyList_Size(items) : -1;
    bool          good = n >= 0;

    for (i = 0; good && i < n; i++) {
        entry = PySequence_GetItem(items, i);
        good = entry && value_set(state, map, entry);
        Py_XDECREF(entry);
    }
    Py_XDECREF(items);
    if (!good) levada_value_destroy(&map);
    return map;
}

static levada_value *value_handle(levada_py_state *state, PyObject *object)
{
    levada_function *function = levada_py_function_of(state, object);

    if (function) return value_memory(levada_value_function(function));
    if (Py_IS_TYPE(object, state->dataset))
        return value_memory(levada_value_pipe(((levada_py_dataset *)object)->dataset));
    if (Py_IS_TYPE(object, state->block)) {
        ((levada_py_block *)object)->writable = false;
        return value_memory(levada_value_block(((levada_py_block *)object)->block));
    }
    return NULL;
}

/* Everything else (NumPy, features, paths, callables) is made simple by the package. */
static levada_value *value_foreign(levada_py_state *state, PyObject *object)
{
    PyObject     *values = PyImport_ImportModule("levada._values");
    PyObject     *simple = values ? PyObject_CallMethod(values, "simple", "O", object) : NULL;
    levada_value *made = NULL;

    if (simple && Py_EnterRecursiveCall(" while reading an option") == 0) {
        made = levada_py_value(state, simple);
        Py_LeaveRecursiveCall();
    }
    Py_XDECREF(simple);
    Py_XDECREF(values);
    return made;
}

levada_value *levada_py_value(levada_py_state *state, PyObject *object)
{
    levada_value *handle = NULL;

    if (object == Py_None) return value_memory(levada_value_null());
    if (PyBool_Check(object)) return value_memory(levada_value_bool(object == Py_True));
    if (PyLong_CheckExact(object)) return value_int(object);
    if (PyFloat_CheckExact(object)) return value_float(object);
    if (PyUnicode_CheckExact(object)) return value_text(object);
    if (PyBytes_CheckExact(object)) return value_bytes(object);
    if (Py_EnterRecursiveCall(" while reading an option")) return NULL;
    if (PyList_CheckExact(object) || PyTuple_CheckExact(object)) {
        handle = value_list(state, object);
    } else if (PyDict_Check(object)) {
        handle = value_map(state, object);
    } else {
        handle = value_handle(state, object);
        if (!handle && !PyErr_Occurred()) handle = value_foreign(state, object);
    }
    Py_LeaveRecursiveCall();
    return handle;
}

static PyObject *value_to_list(levada_py_state *state, const levada_value *value)
{
    PyObject *list = PyList_New(0), *item = NULL;
    int64_t   i;

    for (i = 0; list && i < levada_value_count(value); i++) {
        item = levada_py_from_value(state, levada_value_item(value, i));
        if (!item || PyList_Append(list, item) < 0) Py_CLEAR(list);
        Py_XDECREF(item);
    }
    return list;
}

static PyObject *value_to_dict(levada_py_state *state, const levada_value *value)
{
    PyObject *dict = PyDict_New(), *item = NULL;
    int64_t   i;

    for (i = 0; dict && i < levada_value_count(value); i++) {
        item = levada_py_from_value(state, levada_value_item(value, i));
        if (!item || PyDict_SetItemString(dict, levada_value_key(value, i), item) < 0)
            Py_CLEAR(dict);
        Py_XDECREF(item);
    }
    return dict;
}

PyObject *levada_py_from_value(levada_py_state *state, const levada_value *value)
{
    size_t          size = 0;
    const char     *text = NULL;
    levada_dataset *dataset = NULL;
    levada_block   *block = NULL;
    PyObject       *target = NULL, *made = NULL;

    switch (levada_value_kind_of(value)) {
    case LEVADA_VALUE_BOOL: return PyBool_FromLong(levada_value_as_bool(value));
    case LEVADA_VALUE_INT: return PyLong_FromLongLong(levada_value_as_int(value));
    case LEVADA_VALUE_FLOAT: return PyFloat_FromDouble(levada_value_as_float(value));
    case LEVADA_VALUE_TEXT:
        text = levada_value_as_text(value, &size);
        return PyUnicode_DecodeUTF8(text, (Py_ssize_t)size, "surrogateescape");
    case LEVADA_VALUE_BYTES:
        text = levada_value_as_text(value, &size);
        return PyBytes_FromStringAndSize(text, (Py_ssize_t)size);
    case LEVADA_VALUE_LIST: return value_to_list(state, value);
    case LEVADA_VALUE_MAP: return value_to_dict(state, value);
    case LEVADA_VALUE_PIPE:
        dataset = levada_dataset_ref(levada_value_as_pipe(value));
        return levada_py_dataset_new(state, &dataset);
    case LEVADA_VALUE_BLOCK:
        block = levada_block_ref(levada_value_as_block(value));
        made = levada_py_block_new(state, &block);
        levada_block_unref(&block);
        return made;
    case LEVADA_VALUE_FUNCTION:
        target = levada_py_target_of(levada_value_as_function(value));
        return Py_NewRef(target ? target : Py_None);
    default: return Py_NewRef(Py_None);
    }
}
