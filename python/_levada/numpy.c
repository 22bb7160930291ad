/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NumPy arrays over memory of levada, made by the functions of NumPy's C API: numpy.asarray takes
 * five times as long, which a batch of 40 columns pays 40 times.
 *
 * NumPy's headers are not needed. They read a table of functions that the module exports, in which
 * each function keeps its place for as long as the ABI has its major version. With an ABI that we
 * do not know, numpy.asarray makes the arrays.
 */
#include "module.h"

#include <stddef.h>
#include <string.h>

enum { /* places in the table */
       NUMPY_AT_ABI = 0,
       NUMPY_AT_TYPE = 2,
       NUMPY_AT_DESCR = 45,
       NUMPY_AT_CREATE = 94,
       NUMPY_AT_BASE = 282,
};
enum { NUMPY_ABI_1 = 0x01000009, NUMPY_ABI_2 = 0x02000000 };
enum { NUMPY_C_ORDER = 0x1, NUMPY_F_ORDER = 0x2, NUMPY_ALIGNED = 0x100, NUMPY_WRITEABLE = 0x400 };

/* NumPy's int64 is a long where that has 64 bits. */
#define NUMPY_LONG(l, q) (sizeof(long) == sizeof(int64_t) ? (l) : (q))

/* Type numbers of NumPy. bfloat16 has none: it leaves as uint16. */
static const int numpy_types[LEVADA_TEXT + 1] = {
    [LEVADA_BOOL] = 0,
    [LEVADA_INT8] = 1,
    [LEVADA_INT16] = 3,
    [LEVADA_INT32] = 5,
    [LEVADA_INT64] = NUMPY_LONG(7, 9),
    [LEVADA_UINT8] = 2,
    [LEVADA_UINT16] = 4,
    [LEVADA_UINT32] = 6,
    [LEVADA_UINT64] = NUMPY_LONG(8, 10),
    [LEVADA_FLOAT16] = 23,
    [LEVADA_BFLOAT16] = 4,
    [LEVADA_FLOAT32] = 11,
    [LEVADA_FLOAT64] = 12,
    [LEVADA_COMPLEX64] = 14,
    [LEVADA_COMPLEX128] = 15,
    [LEVADA_BYTES] = 2,
    [LEVADA_TEXT] = 2,
};

typedef unsigned (*numpy_abi)(void);

/* Returns the table of functions, borrowed from a module that stays; NULL without an exception:
 * none. */
static void **numpy_table(const char *module)
{
    PyObject *numpy = PyImport_ImportModule(module), *capsule = NULL;
    void    **table = NULL;
    numpy_abi abi;

    if (numpy) capsule = PyObject_GetAttrString(numpy, "_ARRAY_API");
    if (capsule && PyCapsule_CheckExact(capsule)) table = PyCapsule_GetPointer(capsule, NULL);
    Py_XDECREF(capsule);
    Py_XDECREF(numpy);
    PyErr_Clear();
    if (!table) return NULL;
    memcpy(&abi, &table[NUMPY_AT_ABI], sizeof abi);
    return abi() == NUMPY_ABI_1 || abi() == NUMPY_ABI_2 ? table : NULL;
}

/* Looks for NumPy, once; false with an exception. */
static bool numpy_find(levada_py_numpy *found)
{
    PyObject *numpy;
    void    **table;

    if (found->asarray) return true;
    numpy = PyImport_ImportModule("numpy");
    if (!numpy) return false;
    table = numpy_table("numpy._core._multiarray_umath");
    if (!table) table = numpy_table("numpy.core._multiarray_umath");
    if (table) {
        found->type = table[NUMPY_AT_TYPE];
        memcpy(&found->descr, &table[NUMPY_AT_DESCR], sizeof found->descr);
        memcpy(&found->create, &table[NUMPY_AT_CREATE], sizeof found->create);
        memcpy(&found->set_base, &table[NUMPY_AT_BASE], sizeof found->set_base);
    }
    found->asarray = PyObject_GetAttrString(numpy, "asarray");
    Py_DECREF(numpy);
    return found->asarray != NULL;
}

static int numpy_flags(const void *data, levada_dtype dtype, int32_t ndim, bool writable)
{
    size_t align = (size_t)levada_py_item_size(dtype);

    if (dtype == LEVADA_COMPLEX64 || dtype == LEVADA_COMPLEX128) align /= 2;
    return NUMPY_C_ORDER | (ndim == 1 ? NUMPY_F_ORDER : 0) |
           ((uintptr_t)data % align == 0 ? NUMPY_ALIGNED : 0) | (writable ? NUMPY_WRITEABLE : 0);
}

PyObject *levada_py_array_new(PyObject *owner, const void *data, levada_dtype dtype, int64_t n,
                              const int64_t *dims, int32_t ndims)
{
    static max_align_t nothing; /* NumPy allocates where it gets no address */
    levada_py_numpy   *numpy = &levada_py_state_of(owner)->numpy;
    Py_ssize_t         shape[LEVADA_MAX_DIMS + 1] = {(Py_ssize_t)n};
    PyObject          *array = NULL, *view = NULL;
    void              *at = NULL;
    int                flags;

    if (!numpy_find(numpy)) return NULL;
    if (!numpy->create) {
        view = levada_py_view_new(owner, data, dtype, n, dims, ndims);
        if (view) array = PyObject_CallFunctionObjArgs(numpy->asarray, view, NULL);
        Py_XDECREF(view);
        return array;
    }
    if (!data) data = &nothing;
    flags = numpy_flags(data, dtype, ndims + 1, ((levada_py_block *)owner)->writable);
    memcpy(&at, &data, sizeof at);
    for (int32_t d = 0; d < ndims; d++) shape[d + 1] = (Py_ssize_t)dims[d];
    array = numpy->create(numpy->type, numpy->descr(numpy_types[dtype]), ndims + 1, shape, NULL,
                          at, flags, NULL);
    if (array && numpy->set_base(array, Py_NewRef(owner)) < 0) Py_CLEAR(array);
    return array;
}
