/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Views: the memory of a column, by buffer protocol and DLPack. A view keeps its block alive.
 */
#include "module.h"

#include <string.h>

/* DLPack's structures, as its specification defines them (version 1.0). */
typedef struct view_dl_device { int32_t kind, number; } view_dl_device;
typedef struct view_dl_dtype { uint8_t code, bits; uint16_t lanes; } view_dl_dtype;
typedef struct view_dl_tensor {
    void           *data;
    view_dl_device device;
    int32_t         ndim;
    view_dl_dtype  dtype;
    int64_t        *shape, *strides;
    uint64_t        byte_offset;
} view_dl_tensor;
typedef struct view_dl_plain {
    view_dl_tensor tensor;
    void           *context;
    void (*deleter)(struct view_dl_plain *self);
} view_dl_plain;
typedef struct view_dl_versioned {
    uint32_t major, minor;
    void    *context;
    void (*deleter)(struct view_dl_versioned *self);
    uint64_t        flags;
    view_dl_tensor tensor;
} view_dl_versioned;

enum { VIEW_DIMS = LEVADA_MAX_DIMS + 1, VIEW_DL_CPU = 1, VIEW_DL_READONLY = 1 };

/* The references of an exported tensor; it is part of the memory of `memory`. */
typedef struct view_export {
    view_dl_plain     plain;
    view_dl_versioned versioned;
    int64_t            shape[VIEW_DIMS], strides[VIEW_DIMS];
    levada_block      *block, *memory;
} view_export;

typedef struct view_object {
    PyObject_HEAD
    PyObject      *owner; /* a levada_py_block */
    const uint8_t *data;
    levada_dtype   dtype;
    int32_t        ndim;
    bool           readonly;
    Py_ssize_t     shape[VIEW_DIMS], strides[VIEW_DIMS];
} view_object;

#define VIEW_DL_CODE(name, NAME, bytes, code, numpy) [LEVADA_##NAME] = (code),

static const uint8_t view_dl_codes[LEVADA_TEXT + 1] = {
    LEVADA_DTYPE_MAP(VIEW_DL_CODE)[LEVADA_BYTES] = 1,
    [LEVADA_TEXT] = 1,
};

/* NumPy's own int64 where a long has 64 bits: "q" would be a dtype that only equals it. */
#define VIEW_LONG(l, q) (sizeof(long) == sizeof(int64_t) ? (l) : (q))

/* Formats of the buffer protocol. bfloat16 has none: it leaves as uint16. */
static const char *const view_formats[LEVADA_TEXT + 1] = {
    [LEVADA_BOOL] = "?",
    [LEVADA_INT8] = "b",
    [LEVADA_INT16] = "h",
    [LEVADA_INT32] = "i",
    [LEVADA_INT64] = VIEW_LONG("l", "q"),
    [LEVADA_UINT8] = "B",
    [LEVADA_UINT16] = "H",
    [LEVADA_UINT32] = "I",
    [LEVADA_UINT64] = VIEW_LONG("L", "Q"),
    [LEVADA_FLOAT16] = "e",
    [LEVADA_BFLOAT16] = "H",
    [LEVADA_FLOAT32] = "f",
    [LEVADA_FLOAT64] = "d",
    [LEVADA_COMPLEX64] = "Zf",
    [LEVADA_COMPLEX128] = "Zd",
    [LEVADA_BYTES] = "B",
    [LEVADA_TEXT] = "B",
};

Py_ssize_t levada_py_item_size(levada_dtype dtype)
{
    return levada_dtype_is_bytes(dtype) ? 1 : (Py_ssize_t)levada_dtype_size(dtype);
}

PyObject *levada_py_view_new(PyObject *owner, const void *data, levada_dtype dtype, int64_t n,
                                const int64_t *dims, int32_t ndims)
{
    levada_py_state *state = levada_py_state_of(owner);
    view_object      *view = (view_object *)PyType_GenericAlloc(state->view, 0);
    Py_ssize_t       stride = levada_py_item_size(dtype);
    int32_t          d;

    if (!view) return NULL;
    view->owner = Py_NewRef(owner);
    view->data = data;
    view->dtype = dtype;
    view->ndim = ndims + 1;
    view->readonly = !((levada_py_block *)owner)->writable;
    view->shape[0] = (Py_ssize_t)n;
    for (d = ndims; d >= 0; d--) {
        if (d > 0) view->shape[d] = (Py_ssize_t)dims[d - 1];
        view->strides[d] = stride;
        stride *= view->shape[d];
    }
    return (PyObject *)view;
}

static void view_dealloc(PyObject *self)
{
    Py_XDECREF(((view_object *)self)->owner);
    levada_py_free(self);
}

static int view_buffer(PyObject *self, Py_buffer *out, int flags)
{
    view_object *view = (view_object *)self;
    const void *data = view->data;

    if (view->readonly && (flags & PyBUF_WRITABLE)) {
        out->obj = NULL;
        PyErr_SetString(PyExc_BufferError, "the values are shared, so they cannot be written");
        return -1;
    }
    memset(out, 0, sizeof *out);
    memcpy(&out->buf, &data, sizeof data);
    out->obj = Py_NewRef(self);
    out->itemsize = levada_py_item_size(view->dtype);
    out->len = view->shape[0] * view->strides[0];
    out->readonly = view->readonly;
    out->ndim = view->ndim;
    if (flags & PyBUF_FORMAT) memcpy(&out->format, &view_formats[view->dtype], sizeof(char *));
    if (flags & PyBUF_ND) out->shape = view->shape;
    if ((flags & PyBUF_STRIDES) == PyBUF_STRIDES) out->strides = view->strides;
    return 0;
}

static void view_export_free(view_export *x)
{
    levada_block *memory = x->memory;

    levada_block_unref(&x->block);
    levada_block_unref(&memory);
}

/* Deleters run on any thread and without the interpreter. */
static void view_delete_plain(view_dl_plain *self) { view_export_free(self->context); }

static void view_delete_versioned(view_dl_versioned *self) { view_export_free(self->context); }

static void view_capsule_free(PyObject *capsule)
{
    view_dl_plain     *plain = NULL;
    view_dl_versioned *versioned = NULL;

    if (PyCapsule_IsValid(capsule, "dltensor")) {
        plain = PyCapsule_GetPointer(capsule, "dltensor");
        plain->deleter(plain);
    } else if (PyCapsule_IsValid(capsule, "dltensor_versioned")) {
        versioned = PyCapsule_GetPointer(capsule, "dltensor_versioned");
        versioned->deleter(versioned);
    }
}

static void view_fill_export(view_export *x, const view_object *view)
{
    Py_ssize_t      item = levada_py_item_size(view->dtype);
    view_dl_tensor tensor = {.device = {VIEW_DL_CPU, 0}, .ndim = view->ndim,
                              .dtype = {view_dl_codes[view->dtype], (uint8_t)(8 * item), 1}};
    int32_t d;

    for (d = 0; d < view->ndim; d++) {
        x->shape[d] = view->shape[d];
        x->strides[d] = view->strides[d] / item;
    }
    memcpy(&tensor.data, &view->data, sizeof tensor.data);
    tensor.shape = x->shape;
    tensor.strides = x->strides;
    x->plain.tensor = x->versioned.tensor = tensor;
    x->plain.context = x->versioned.context = x;
    x->plain.deleter = view_delete_plain;
    x->versioned.deleter = view_delete_versioned;
    x->versioned.major = 1;
    x->versioned.flags = view->readonly ? VIEW_DL_READONLY : 0;
}

static int view_wants_version(PyObject *version)
{
    PyObject *first = NULL;
    long      major = 0;

    if (!version || version == Py_None) return 0;
    first = PySequence_GetItem(version, 0);
    major = first ? PyLong_AsLong(first) : -1;
    Py_XDECREF(first);
    return PyErr_Occurred() ? -1 : major >= 1;
}

static PyObject *view_dlpack(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static const char *const names[] = {"stream", "max_version", "dl_device", "copy", NULL};
    view_object   *view = (view_object *)self;
    PyObject     *stream = NULL, *version = NULL, *device = NULL, *copy = NULL, *capsule = NULL;
    levada_error  err = LEVADA_ERROR_INIT;
    levada_block *memory = NULL;
    void         *at = NULL;
    view_export *x = NULL;
    int           versioned;

    if (!levada_py_parse(args, kwargs, "|$OOOO:__dlpack__", names, &stream,
                                     &version, &device, &copy))
        return NULL;
    versioned = view_wants_version(version);
    if (versioned < 0) return NULL;
    if (copy == Py_True || (view->readonly && !versioned)) {
        PyErr_SetString(PyExc_BufferError, copy == Py_True ? "a view does not copy"
                                                           : "the values are read-only");
        return NULL;
    }
    if (!levada_py_ok(levada_py_scratch(sizeof *x, &memory, &at, &err), &err)) return NULL;
    x = at;
    x->memory = memory;
    x->block = levada_block_ref(((levada_py_block *)view->owner)->block);
    view_fill_export(x, view);
    capsule = versioned ? PyCapsule_New(&x->versioned, "dltensor_versioned", view_capsule_free)
                        : PyCapsule_New(&x->plain, "dltensor", view_capsule_free);
    if (!capsule) view_export_free(x);
    return capsule;
}

static PyObject *view_device(PyObject *self, PyObject *unused)
{
    return Py_BuildValue("(ii)", VIEW_DL_CPU, 0);
}

static PyObject *view_dtype(PyObject *self, void *unused)
{
    return PyUnicode_FromString(levada_dtype_name(((view_object *)self)->dtype));
}

static PyObject *view_array(PyObject *self, PyObject *unused)
{
    const view_object *view = (view_object *)self;
    int64_t            dims[VIEW_DIMS];

    for (int32_t d = 1; d < view->ndim; d++) dims[d - 1] = view->shape[d];
    return levada_py_array_new(view->owner, view->data, view->dtype, view->shape[0], dims,
                               view->ndim - 1);
}

static PyMethodDef view_methods[] = {
    {"array", view_array, METH_NOARGS, "NumPy array over the memory; nothing is copied."},
    {"__dlpack__", (PyCFunction)(uintptr_t)view_dlpack, METH_VARARGS | METH_KEYWORDS,
     "DLPack capsule of the memory; nothing is copied."},
    {"__dlpack_device__", view_device, METH_NOARGS, "(1, 0): the CPU."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef view_getset[] = {
    {"dtype", view_dtype, NULL, "Name of the dtype.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

LEVADA_PY_TYPE(view, "View", view_object, Py_TPFLAGS_DISALLOW_INSTANTIATION,
               "Memory of a column: buffer protocol and DLPack, no copy.",
               LEVADA_PY_SLOT(tp_dealloc, view_dealloc),
               LEVADA_PY_SLOT(tp_methods, view_methods),
               LEVADA_PY_SLOT(tp_getset, view_getset),
               LEVADA_PY_SLOT(bf_getbuffer, view_buffer));
