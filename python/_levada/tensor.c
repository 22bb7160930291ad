/* SPDX-License-Identifier: Apache-2.0 */
#include "tensor.h"

#include <math.h>
#include <string.h>

#define TENSOR_EXACT (INT64_C(1) << 53) /* integers that a double holds */
#define TENSOR_SHOW 32768 /* bytes from which memory is shown instead of copied */

typedef struct tensor_object {
    PyObject_HEAD
    levada_tensor *tensor;
} tensor_object;

/* -- slots ------------------------------------------------------------------------------------- */

static bool tensor_dims(levada_py_slot *slot, PyObject *dims)
{
    Py_ssize_t d, n = dims == Py_None ? -1 : PySequence_Size(dims);

    if (n < 0) PyErr_Clear();
    if (n > LEVADA_MAX_DIMS - 1) {
        PyErr_Format(PyExc_ValueError, "a shape must have at most %d dimensions, got %zd",
                     LEVADA_MAX_DIMS - 1, n);
        return false;
    }
    slot->shape.rank = (int32_t)n;
    slot->bytes = n < 0 ? -1 : slot->item;
    for (d = 0; d < n; d++) {
        PyObject *at = PySequence_GetItem(dims, d);
        int64_t   size = at ? PyLong_AsLongLong(at) : -1;

        Py_XDECREF(at);
        if (PyErr_Occurred()) return false;
        slot->shape.dims[d] = size;
        if (size < 0) slot->bytes = -1;
        if (slot->bytes >= 0 && size > 0 && slot->bytes > INT64_MAX / size) {
            PyErr_Format(PyExc_ValueError, "shape %R is too large", dims);
            return false;
        }
        if (slot->bytes >= 0) slot->bytes *= size;
    }
    if (levada_dtype_is_bytes(slot->dtype)) slot->bytes = -1;
    slot->dims = Py_NewRef(dims);
    return true;
}

static bool tensor_slot(levada_py_slot *slot, PyObject *component)
{
    const char *name = NULL;
    PyObject   *dims = NULL, *numpy = NULL, *shown = NULL;

    if (!PyArg_ParseTuple(component, "sOOO", &name, &dims, &numpy, &shown)) return false;
    slot->dtype = levada_dtype_find(name);
    slot->item = levada_dtype_size(slot->dtype);
    slot->numpy = Py_NewRef(numpy);
    if (shown != numpy) slot->shown = Py_NewRef(shown);
    return tensor_dims(slot, dims);
}

/* The array of one element that scalars are taken from. */
static bool tensor_one(levada_py_slots *slots, int32_t i)
{
    levada_py_slot *slot = &slots->slot[i];
    PyObject       *dims = NULL;

    if (levada_dtype_is_bytes(slot->dtype)) return true;
    dims = Py_BuildValue("(i)", 1);
    if (dims) slot->one = levada_py_array(slots, i, dims, &slot->cell);
    slot->one = levada_py_shown(slot, slot->one);
    Py_XDECREF(dims);
    return slot->one != NULL;
}

bool levada_py_slots_init(levada_py_slots *slots, PyObject *components)
{
    PyObject  *numpy = PyImport_ImportModule("numpy");
    Py_ssize_t i, n = numpy ? PySequence_Size(components) : -1;
    bool       good = n > 0;

    if (good) slots->empty = PyObject_GetAttrString(numpy, "empty");
    if (good) slots->array = PyObject_GetAttrString(numpy, "ndarray");
    if (good) slots->word_dtype = PyUnicode_InternFromString("dtype");
    Py_XDECREF(numpy);
    good = good && slots->empty && slots->array && slots->word_dtype;
    if (good) slots->slot = PyMem_Calloc((size_t)n, sizeof *slots->slot);
    if (good && !slots->slot) PyErr_NoMemory();
    good = good && slots->slot;
    slots->n = good ? (int32_t)n : 0;
    slots->rows = true;
    for (i = 0; good && i < n; i++) {
        PyObject *component = PySequence_GetItem(components, i);

        good = component && tensor_slot(&slots->slot[i], component) &&
               tensor_one(slots, (int32_t)i);
        slots->rows = slots->rows && slots->slot[i].bytes >= 0;
        Py_XDECREF(component);
    }
    return good;
}

void levada_py_slots_clear(levada_py_slots *slots)
{
    for (int32_t i = 0; i < slots->n; i++) {
        Py_CLEAR(slots->slot[i].numpy);
        Py_CLEAR(slots->slot[i].shown);
        Py_CLEAR(slots->slot[i].one);
        Py_CLEAR(slots->slot[i].dims);
    }
    PyMem_Free(slots->slot);
    slots->slot = NULL;
    slots->n = 0;
    Py_CLEAR(slots->empty);
    Py_CLEAR(slots->array);
    Py_CLEAR(slots->word_dtype);
}

bool levada_py_slots_tables(const levada_py_slots *slots, void **memory, levada_dtype **dtypes,
                            levada_shape **shapes)
{
    size_t n = (size_t)slots->n;
    bool   known = true;

    *memory = PyMem_Calloc(n, sizeof(levada_shape) + sizeof(levada_dtype));
    if (!*memory) return PyErr_NoMemory(), false;
    *shapes = *memory;
    *dtypes = (levada_dtype *)(void *)(*shapes + n);
    for (int32_t i = 0; i < slots->n; i++) {
        (*shapes)[i] = slots->slot[i].shape;
        (*dtypes)[i] = slots->slot[i].dtype;
        known = known && slots->slot[i].shape.rank >= 0;
    }
    if (!known) *shapes = NULL;
    return true;
}

bool levada_py_slots_adopt(levada_py_slots *slots, const levada_shape *shapes)
{
    slots->rows = true;
    for (int32_t i = 0; i < slots->n; i++) {
        levada_py_slot *slot = &slots->slot[i];
        PyObject       *dims = shapes ? levada_py_dims(-1, shapes[i].dims, shapes[i].rank)
                                      : Py_NewRef(Py_None);

        Py_CLEAR(slot->dims);
        if (!dims || !tensor_dims(slot, dims)) return Py_XDECREF(dims), false;
        Py_DECREF(dims);
        slots->rows = slots->rows && slot->bytes >= 0;
    }
    return true;
}

PyObject *levada_py_slots_dims(const levada_py_slots *slots)
{
    PyObject *list = PyList_New(slots->n);

    for (int32_t i = 0; list && i < slots->n; i++)
        if (PyList_SetItem(list, i, Py_NewRef(slots->slot[i].dims)) < 0) Py_CLEAR(list);
    return list;
}

/* -- values in --------------------------------------------------------------------------------- */

static bool tensor_integer(const levada_py_slot *slot, PyObject *value, levada_py_given *out)
{
    int64_t v = PyLong_AsLongLong(value);

    if (v == -1 && PyErr_Occurred()) return PyErr_Clear(), false;
    switch (slot->dtype) {
    case LEVADA_INT64: out->one.i = v; return true;
    case LEVADA_UINT64: out->one.i = v; return v >= 0;
    case LEVADA_INT32: out->one.w = (int32_t)v; return v == out->one.w;
    case LEVADA_UINT32: out->one.w = (int32_t)(uint32_t)v; return v >= 0 && v <= UINT32_MAX;
    case LEVADA_INT16: out->one.h = (int16_t)v; return v == out->one.h;
    case LEVADA_INT8: out->one.b = (int8_t)v; return v == out->one.b;
    case LEVADA_FLOAT32: out->one.f = (float)v; return v >= -(1 << 24) && v <= 1 << 24;
    case LEVADA_FLOAT64: out->one.d = (double)v; return v >= -TENSOR_EXACT && v <= TENSOR_EXACT;
    default: return false;
    }
}

/* Numbers of Python, for scalars. */
static bool tensor_number(const levada_py_slot *slot, PyObject *value, levada_py_given *out)
{
    double d;

    out->data = &out->one;
    if (PyLong_CheckExact(value)) return tensor_integer(slot, value, out);
    if (PyFloat_CheckExact(value)) {
        out->one.d = PyFloat_AsDouble(value);
        if (slot->dtype != LEVADA_FLOAT32) return slot->dtype == LEVADA_FLOAT64;
        d = out->one.d;
        out->one.f = (float)d;
        return isfinite(out->one.f) || !isfinite(d); /* digits may be lost, never the size */
    }
    out->one.b = value == Py_True;
    return slot->dtype == LEVADA_BOOL && (value == Py_True || value == Py_False);
}

static bool tensor_fits(const levada_py_slot *slot, const Py_buffer *view, bool many,
                        int64_t *rows)
{
    const levada_shape *shape = &slot->shape;
    int32_t             front = many ? 1 : 0;

    if (view->itemsize != slot->item || view->ndim < front) return false;
    if (many && *rows < 0) *rows = view->shape[0];
    if (many && *rows != view->shape[0]) return false;
    if (shape->rank < 0) return view->ndim < LEVADA_MAX_DIMS;
    if (view->ndim != shape->rank + front) return false;
    for (int32_t d = 0; d < shape->rank; d++)
        if (shape->dims[d] >= 0 && shape->dims[d] != view->shape[d + front]) return false;
    return true;
}

bool levada_py_give(const levada_py_slots *slots, int32_t i, PyObject *value, bool many,
                    int64_t *rows, levada_py_given *out)
{
    const levada_py_slot *slot = &slots->slot[i];
    PyTypeObject         *array = (PyTypeObject *)slots->array, *type = NULL;
    PyObject             *dtype = NULL;
    bool                  known;

    out->view.obj = NULL;
    if (!many && slot->shape.rank <= 0 && tensor_number(slot, value, out)) return true;
    if (PyList_CheckExact(value) || PyTuple_CheckExact(value) || PyLong_CheckExact(value) ||
        levada_dtype_is_bytes(slot->dtype))
        return false;
    type = Py_TYPE(value);
    if (type != array && PyType_IsSubtype(type, array)) return false; /* it may have a mask */
    dtype = PyObject_GetAttr(value, slots->word_dtype);
    known = dtype == slot->numpy && PyObject_GetBuffer(value, &out->view, PyBUF_ND) == 0;
    Py_XDECREF(dtype);
    if (!known) return PyErr_Clear(), out->view.obj = NULL, false;
    out->data = out->view.buf;
    if (tensor_fits(slot, &out->view, many, rows)) return true;
    levada_py_given_clear(out);
    return false;
}

void levada_py_given_clear(levada_py_given *given)
{
    if (given->view.obj) PyBuffer_Release(&given->view);
}

levada_tensor *levada_py_tensor_of(levada_env *env, const levada_py_slot *slot,
                                   const levada_py_given *given)
{
    levada_shape   shape = {0, {0}};
    levada_tensor *made = NULL;
    levada_error   err;

    levada_py_clear(&err);
    if (given->view.obj) shape.rank = given->view.ndim;
    for (int32_t d = 0; d < shape.rank; d++) shape.dims[d] = given->view.shape[d];
    (void)levada_py_ok(levada_tensor_create(env, slot->dtype, &shape, given->data, &made, &err),
                       &err);
    return made;
}

/* Returns the bytes of a str (UTF-8) or bytes; borrowed. */
static const char *tensor_text(PyObject *item, Py_ssize_t *size)
{
    char *bytes = NULL;

    if (PyUnicode_Check(item)) return PyUnicode_AsUTF8AndSize(item, size);
    return PyBytes_AsStringAndSize(item, &bytes, size) < 0 ? NULL : bytes;
}

/* Lengths into offsets; the bytes too where `to` is there. */
static bool tensor_join(PyObject *list, Py_ssize_t n, int32_t *offsets, char *to)
{
    int64_t at = 0;

    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject   *item = PySequence_GetItem(list, i);
        Py_ssize_t  size = 0;
        const char *text = item ? tensor_text(item, &size) : NULL;

        if (text && to) memcpy(to + at, text, (size_t)size);
        Py_XDECREF(item); /* the list has it still */
        if (!text) return false;
        if (!to) offsets[i] = (int32_t)at;
        at += size;
        if (at > INT32_MAX)
            return PyErr_SetString(PyExc_ValueError, "more than 2 GiB of byte strings"), false;
    }
    offsets[n] = (int32_t)at;
    return true;
}

levada_tensor *levada_py_strings(levada_env *env, const levada_shape *shape, PyObject *strings)
{
    PyObject      *list = PySequence_List(strings); /* nobody else changes it */
    Py_ssize_t     n = list ? PySequence_Size(list) : -1;
    int32_t       *offsets = n >= 0 ? PyMem_Calloc((size_t)n + 1, sizeof *offsets) : NULL;
    char          *bytes = NULL;
    levada_tensor *made = NULL;
    levada_error   err = LEVADA_ERROR_INIT;

    if (offsets && tensor_join(list, n, offsets, NULL)) {
        bytes = PyMem_Malloc((size_t)offsets[n] + 1);
        if (bytes && tensor_join(list, n, offsets, bytes))
            (void)levada_py_ok(levada_tensor_create_strings(env, shape, offsets, bytes, &made,
                                                            &err),
                               &err);
    }
    if (!made && !PyErr_Occurred()) PyErr_NoMemory();
    PyMem_Free(bytes);
    PyMem_Free(offsets);
    Py_XDECREF(list);
    return made;
}

static levada_tensor *tensor_one_string(levada_env *env, PyObject *value)
{
    levada_shape   shape = {0, {0}};
    int32_t        offsets[2] = {0, 0};
    Py_ssize_t     size = 0;
    const char    *text = tensor_text(value, &size);
    levada_tensor *made = NULL;
    levada_error   err;

    levada_py_clear(&err);
    if (!text) return NULL;
    if (size > INT32_MAX)
        return PyErr_Format(PyExc_ValueError,
                            "a byte string must have less than 2 GiB, got %zd bytes", size), NULL;
    offsets[1] = (int32_t)size;
    (void)levada_py_ok(levada_tensor_create_strings(env, &shape, offsets, text, &made, &err), &err);
    return made;
}

/* (dims, [str or bytes...]) */
static levada_tensor *tensor_strings_of(levada_env *env, PyObject *pair)
{
    PyObject      *dims = PySequence_GetItem(pair, 0), *list = PySequence_GetItem(pair, 1);
    levada_py_slot shape = {.dtype = LEVADA_INT8, .item = 1};
    levada_tensor *made = NULL;

    if (dims && list && tensor_dims(&shape, dims)) {
        if (PySequence_Size(list) == shape.bytes)
            made = levada_py_strings(env, &shape.shape, list);
        else PyErr_Format(PyExc_ValueError, "the shape needs %zd strings, got %zd",
                          (Py_ssize_t)shape.bytes, PySequence_Size(list));
    }
    Py_XDECREF(shape.dims);
    Py_XDECREF(dims);
    Py_XDECREF(list);
    return made;
}

levada_tensor *levada_py_tensor(levada_env *env, const levada_py_slots *slots, int32_t i,
                                PyObject *value, bool many, int64_t *rows)
{
    const levada_py_slot *slot = &slots->slot[i];
    levada_py_given       given;
    levada_tensor        *made = NULL;

    if (!levada_dtype_is_bytes(slot->dtype)) {
        if (!levada_py_give(slots, i, value, many, rows, &given)) return NULL;
        made = levada_py_tensor_of(env, slot, &given);
        levada_py_given_clear(&given);
        return made;
    }
    if (!many && slot->shape.rank <= 0 && (PyBytes_Check(value) || PyUnicode_Check(value)))
        return tensor_one_string(env, value);
    return PyTuple_CheckExact(value) ? tensor_strings_of(env, value) : NULL;
}

/* -- values out -------------------------------------------------------------------------------- */

PyObject *levada_py_array(const levada_py_slots *slots, int32_t i, PyObject *dims, void **data)
{
    PyObject *array = PyObject_CallFunctionObjArgs(slots->empty, dims, slots->slot[i].numpy, NULL);
    Py_buffer view;

    if (!array) return NULL;
    if (PyObject_GetBuffer(array, &view, PyBUF_WRITABLE) < 0) return Py_DECREF(array), NULL;
    *data = view.buf;
    PyBuffer_Release(&view); /* the array cannot be resized: nobody else knows it */
    return array;
}

PyObject *levada_py_shown(const levada_py_slot *slot, PyObject *array)
{
    PyObject *shown = NULL;

    if (!array || !slot->shown) return array;
    shown = PyObject_CallMethod(array, "view", "O", slot->shown);
    Py_DECREF(array);
    return shown;
}

/* Taking an item of an array is by far the fastest way to a NumPy scalar. */
PyObject *levada_py_scalar(const levada_py_slots *slots, int32_t i, const void *data)
{
    const levada_py_slot *slot = &slots->slot[i];

    memcpy(slot->cell, data, (size_t)slot->item);
    return PySequence_GetItem(slot->one, 0);
}

static PyObject *tensor_bytes_list(const levada_tensor *tensor)
{
    const int32_t *at = levada_tensor_offsets(tensor);
    const char    *bytes = levada_tensor_data(tensor);
    int64_t        n = levada_tensor_count(tensor);
    PyObject      *list = PyList_New((Py_ssize_t)n);

    for (int64_t i = 0; list && i < n; i++) {
        PyObject *item = PyBytes_FromStringAndSize(bytes + at[i], at[i + 1] - at[i]);

        if (!item || PyList_SetItem(list, (Py_ssize_t)i, item) < 0) Py_CLEAR(list);
    }
    return list;
}

/* NumPy looks for signals where it copies a list, and then what was taken would be lost. */
static void tensor_fill(PyObject **to, PyObject *list)
{
    Py_ssize_t n = PyList_Size(list);

    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *before = to[i];

        to[i] = PySequence_GetItem(list, i);
        Py_XDECREF(before);
    }
}

PyObject *levada_py_objects(const levada_py_slots *slots, int32_t i, PyObject *list,
                            const levada_shape *shape)
{
    PyObject *dims = list ? Py_BuildValue("(n)", PyList_Size(list)) : NULL;
    PyObject *array = NULL, *folded = NULL;
    void     *to = NULL;

    if (dims) array = levada_py_array(slots, i, dims, &to);
    if (array) tensor_fill(to, list);
    Py_XDECREF(dims);
    Py_XDECREF(list);
    if (!array || shape->rank == 1) return array;
    dims = levada_py_dims(-1, shape->dims, shape->rank);
    folded = dims ? PyObject_CallMethod(array, "reshape", "(O)", dims) : NULL;
    Py_XDECREF(dims);
    Py_DECREF(array);
    return folded;
}

static PyObject *tensor_strings_out(const levada_py_slots *slots, int32_t i,
                                    const levada_tensor *tensor)
{
    const levada_shape *shape = levada_tensor_shape(tensor);
    const int32_t      *at = levada_tensor_offsets(tensor);

    if (shape->rank == 0)
        return PyBytes_FromStringAndSize((const char *)levada_tensor_data(tensor) + at[0],
                                         at[1] - at[0]);
    return levada_py_objects(slots, i, tensor_bytes_list(tensor), shape);
}

/* Returns an array over the memory of the tensor, which is taken. */
static PyObject *tensor_show(levada_py_state *state, const levada_py_slots *slots, int32_t i,
                             PyObject *dims, levada_tensor **tensor)
{
    tensor_object *owner = (tensor_object *)PyType_GenericAlloc(state->tensor, 0);
    PyObject      *array = NULL;

    if (!owner) return NULL;
    owner->tensor = *tensor;
    *tensor = NULL;
    array = PyObject_CallFunctionObjArgs(slots->array, dims, slots->slot[i].numpy, owner, NULL);
    Py_DECREF(owner);
    return array;
}

PyObject *levada_py_from_tensor(levada_py_state *state, const levada_py_slots *slots, int32_t i,
                                levada_tensor **tensor, bool only)
{
    const levada_py_slot *slot = &slots->slot[i];
    const levada_shape   *shape = levada_tensor_shape(*tensor);
    int64_t               bytes = levada_tensor_bytes(*tensor);
    PyObject             *dims = NULL, *result = NULL;
    void                 *to = NULL;

    if (levada_dtype_is_bytes(slot->dtype)) {
        result = tensor_strings_out(slots, i, *tensor);
    } else if (shape->rank == 0) {
        result = levada_py_scalar(slots, i, levada_tensor_data(*tensor));
    } else if ((dims = levada_py_dims(-1, shape->dims, shape->rank)) != NULL) {
        if (only && bytes >= TENSOR_SHOW && state->tensor) { /* none while Python ends */
            result = tensor_show(state, slots, i, dims, tensor);
        } else {
            result = levada_py_array(slots, i, dims, &to);
            if (result && bytes) memcpy(to, levada_tensor_data(*tensor), (size_t)bytes);
        }
        result = levada_py_shown(slot, result);
    }
    Py_XDECREF(dims);
    levada_tensor_unref(tensor);
    return result;
}

/* -- the owner of shown memory ----------------------------------------------------------------- */

PyObject *levada_py_tensor_object(levada_py_state *state, levada_tensor *tensor)
{
    tensor_object *made = (tensor_object *)PyType_GenericAlloc(state->tensor, 0);

    if (made) made->tensor = levada_tensor_ref(tensor);
    return (PyObject *)made;
}

levada_tensor *levada_py_tensor_of_object(const levada_py_state *state, PyObject *object)
{
    if (Py_TYPE(object) == state->tensor) return ((tensor_object *)object)->tensor;
    PyErr_Format(PyExc_TypeError, "expected a levada tensor, got %R", (PyObject *)Py_TYPE(object));
    return NULL;
}

static int tensor_buffer(PyObject *self, Py_buffer *out, int flags)
{
    levada_tensor *tensor = ((tensor_object *)self)->tensor;

    return PyBuffer_FillInfo(out, self, levada_tensor_data(tensor),
                             (Py_ssize_t)levada_tensor_bytes(tensor), 0, flags);
}

static void tensor_dealloc(PyObject *self)
{
    levada_tensor_unref(&((tensor_object *)self)->tensor);
    levada_py_free(self);
}

LEVADA_PY_TYPE(tensor, "Tensor", tensor_object, Py_TPFLAGS_DISALLOW_INSTANTIATION,
               "Memory of a tensor that an array shows.",
               LEVADA_PY_SLOT(tp_dealloc, tensor_dealloc),
               LEVADA_PY_SLOT(bf_getbuffer, tensor_buffer));
