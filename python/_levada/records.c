/* SPDX-License-Identifier: Apache-2.0 */
/* Single records: Examples built, byte strings decoded at once. */
#include "tensor.h"

#include <levada/binding.h>
#include <levada/example.h>

#include <string.h>

/* Pointers into the items of a sequence of bytes, which stays as it is as long as `held` lives. */
typedef struct records_strings {
    PyObject    *held; /* a tuple */
    const void **data;
    size_t      *size;
    int64_t      n;
} records_strings;

static void records_forget(records_strings *s)
{
    Py_CLEAR(s->held);
    PyMem_Free(s->data);
    PyMem_Free(s->size);
}

static bool records_collect(PyObject *sequence, records_strings *out)
{
    Py_ssize_t i;

    *out = (records_strings){.held = PySequence_Tuple(sequence)};
    if (!out->held) return false;
    out->n = PyTuple_Size(out->held);
    out->data = PyMem_Calloc((size_t)out->n + 1, sizeof *out->data);
    out->size = PyMem_Calloc((size_t)out->n + 1, sizeof *out->size);
    if (!out->data || !out->size) PyErr_NoMemory();
    for (i = 0; i < out->n && !PyErr_Occurred(); i++) {
        PyObject  *item = PySequence_GetItem(out->held, i);
        char      *at = NULL;
        Py_ssize_t size = 0;

        if (item && PyBytes_AsStringAndSize(item, &at, &size) == 0) {
            out->data[i] = at;
            out->size[i] = (size_t)size;
        }
        Py_XDECREF(item);
    }
    if (!PyErr_Occurred()) return true;
    records_forget(out);
    return false;
}

/* Reads the strings of a column: bytes one after the other, and n + 1 int32 offsets. The pointers
 * are into `values`, which the caller holds. */
static bool records_column(const Py_buffer *values, const Py_buffer *offsets, records_strings *out)
{
    const int32_t *at = offsets->buf;
    Py_ssize_t     i, n = offsets->len / (Py_ssize_t)sizeof *at - 1;
    bool           good = n >= 0 && at[0] >= 0;

    *out = (records_strings){.n = n < 0 ? 0 : n};
    out->data = PyMem_Calloc((size_t)out->n + 1, sizeof *out->data);
    out->size = PyMem_Calloc((size_t)out->n + 1, sizeof *out->size);
    if (!out->data || !out->size) return records_forget(out), PyErr_NoMemory(), false;
    for (i = 0; good && i < n; i++) {
        good = at[i] <= at[i + 1] && at[i + 1] <= values->len;
        out->data[i] = good ? (const uint8_t *)values->buf + at[i] : NULL;
        out->size[i] = good ? (size_t)(at[i + 1] - at[i]) : 0;
    }
    if (good) return true;
    records_forget(out);
    PyErr_SetString(PyExc_ValueError, "offsets must ascend within the values");
    return false;
}

/* A decoder as a function; Python holds it in a capsule. */
typedef struct records_decoder {
    levada_decoding *decoding;
    bool             busy;
    PyObject        *names, *features; /* tuples, where `single` can be asked; else NULL */
    levada_py_slots  slots; /* of the columns then: their arrays, and indices where one is sparse */
} records_decoder;

#define RECORDS_DECODER "levada.decoder"
#define RECORDS_SHORT 16384 /* bytes of a string that is decoded with the interpreter held */

static void records_decoder_free(records_decoder *self)
{
    levada_decoding_close(&self->decoding);
    levada_py_slots_clear(&self->slots);
    Py_CLEAR(self->names);
    Py_CLEAR(self->features);
    PyMem_Free(self);
}

static void records_decoder_drop(PyObject *capsule)
{
    records_decoder_free(PyCapsule_GetPointer(capsule, RECORDS_DECODER));
}

static bool records_plain(records_decoder *self, PyObject *features, PyObject *components)
{
    self->names = PySequence_Tuple(features);
    features = PyDict_Values(features);
    self->features = features ? PySequence_Tuple(features) : NULL;
    Py_XDECREF(features);
    return self->names && self->features && levada_py_slots_init(&self->slots, components);
}

static PyObject *records_decoder_open(PyObject *module, PyObject *args)
{
    const char      *name = NULL;
    PyObject        *dict = NULL, *capsule = NULL, *plain = NULL, *components = NULL;
    levada_value    *options = NULL;
    records_decoder *self = NULL;
    levada_error     err = LEVADA_ERROR_INIT;

    if (!PyArg_ParseTuple(args, "sO!|O!O:decoder", &name, &PyDict_Type, &dict, &PyDict_Type,
                          &plain, &components))
        return NULL;
    options = levada_py_value(PyModule_GetState(module), dict);
    if (!options) return NULL;
    self = PyMem_Calloc(1, sizeof *self);
    if (!self) PyErr_NoMemory();
    if (self &&
        levada_py_ok(levada_decoding_open(NULL, name, options, &self->decoding, &err), &err) &&
        (!plain || records_plain(self, plain, components)))
        capsule = PyCapsule_New(self, RECORDS_DECODER, records_decoder_drop);
    levada_value_destroy(&options);
    if (self && !capsule) records_decoder_free(self);
    return capsule;
}

/* Returns false if a warning is an error. */
static bool records_warn(const levada_block *block)
{
    const char *note;

    for (int32_t i = 0; (note = levada_block_note(block, i)); i++) {
        if (PyErr_WarnEx(PyExc_RuntimeWarning, note, 1) < 0) return false;
    }
    return true;
}

static PyObject *records_run(PyObject *module, PyObject *decoder, const records_strings *strings)
{
    records_decoder *self = PyCapsule_GetPointer(decoder, RECORDS_DECODER);
    levada_block    *block = NULL;
    levada_error     err = LEVADA_ERROR_INIT;
    levada_status    st;
    PyObject        *made = NULL;

    if (!self) return NULL;
    if (self->busy) {
        PyErr_SetString(PyExc_RuntimeError, "another thread uses this decoder");
        return NULL;
    }
    self->busy = true;
    LEVADA_PY_UNLOCKED(
        st = levada_decoding_run(self->decoding, strings->data, strings->size, strings->n, &block,
                                 &err));
    self->busy = false;
    if (!levada_py_ok(st, &err)) return NULL;
    if (records_warn(block)) made = levada_py_block_new(PyModule_GetState(module), &block);
    levada_block_unref(&block);
    return made;
}

static PyObject *records_decode(PyObject *module, PyObject *args)
{
    PyObject       *decoder = NULL, *sequence = NULL, *made = NULL;
    records_strings strings;

    if (!PyArg_ParseTuple(args, "OO:decode", &decoder, &sequence)) return NULL;
    if (!records_collect(sequence, &strings)) return NULL;
    made = records_run(module, decoder, &strings);
    records_forget(&strings);
    return made;
}

static PyObject *records_decode_column(PyObject *module, PyObject *args)
{
    PyObject       *decoder = NULL, *values = NULL, *offsets = NULL, *made = NULL;
    Py_buffer       bytes, marks;
    records_strings strings;

    if (!PyArg_ParseTuple(args, "OOO:decode_column", &decoder, &values, &offsets)) return NULL;
    if (PyObject_GetBuffer(values, &bytes, PyBUF_C_CONTIGUOUS) < 0) return NULL;
    if (PyObject_GetBuffer(offsets, &marks, PyBUF_C_CONTIGUOUS) < 0) {
        PyBuffer_Release(&bytes);
        return NULL;
    }
    if (records_column(&bytes, &marks, &strings)) {
        made = records_run(module, decoder, &strings);
        records_forget(&strings);
    }
    PyBuffer_Release(&marks);
    PyBuffer_Release(&bytes);
    return made;
}

/* Returns the shape of the array of the only row; *first is the number of its first value. */
static levada_shape records_shape(const levada_py_slot *slot, const levada_column *column,
                                  int64_t *first)
{
    levada_shape shape = slot->shape;

    *first = 0;
    if (column->field->depth == 0) return shape;
    shape.rank = shape.rank < 0 ? 1 : shape.rank; /* a sparse one has values in a row */
    shape.dims[0] = levada_column_length(column, 0);
    *first = column->level[0].begin[0] * levada_column_inner(column);
    return shape;
}

static PyObject *records_objects(const records_decoder *self, int32_t i,
                                 const levada_column *column, const levada_shape *shape,
                                 int64_t first)
{
    const levada_level *at = &column->level[column->field->depth];
    int64_t             n = 1;
    PyObject           *list = NULL;

    for (int32_t d = 0; d < shape->rank; d++) n *= shape->dims[d];
    list = PyList_New((Py_ssize_t)n);
    for (int64_t k = 0; list && k < n; k++) {
        const char *bytes = (const char *)column->values + at->begin[first + k];
        PyObject   *item = levada_py_string(column->field->dtype, bytes,
                                            at->end[first + k] - at->begin[first + k]);

        if (!item || PyList_SetItem(list, (Py_ssize_t)k, item) < 0) Py_CLEAR(list);
    }
    return levada_py_objects(&self->slots, i, list, shape);
}

static PyObject *records_numbers(const records_decoder *self, int32_t i,
                                 const levada_column *column, const levada_shape *shape,
                                 int64_t first)
{
    const levada_py_slot *slot = &self->slots.slot[i];
    PyObject             *array = NULL;
    PyObject *dims = slot->bytes < 0 ? levada_py_dims(-1, shape->dims, shape->rank)
                                     : Py_NewRef(slot->dims);
    int64_t   bytes = slot->item;
    void     *to = NULL;

    for (int32_t d = 0; d < shape->rank; d++) bytes *= shape->dims[d];
    array = dims ? levada_py_array(&self->slots, i, dims, &to) : NULL;
    Py_XDECREF(dims);
    if (array && bytes) memcpy(to, column->values + first * slot->item, (size_t)bytes);
    return array;
}

/* (indices [n, 1], values, dense_shape [1]) of n values (taken): every index has one. */
static PyObject *records_sparse(const records_decoder *self, PyObject *values, int64_t n)
{
    int32_t   last = self->slots.n - 1;
    PyObject *at = values ? Py_BuildValue("(Li)", (long long)n, 1) : NULL;
    PyObject *one = at ? Py_BuildValue("(i)", 1) : NULL;
    void     *index = NULL, *size = NULL;
    PyObject *indices = one ? levada_py_array(&self->slots, last, at, &index) : NULL;
    PyObject *shape = indices ? levada_py_array(&self->slots, last, one, &size) : NULL;
    PyObject *made = shape ? PyTuple_Pack(3, indices, values, shape) : NULL;

    for (int64_t k = 0; made && k < n; k++) ((int64_t *)index)[k] = k;
    if (made) *(int64_t *)size = n;
    Py_XDECREF(at);
    Py_XDECREF(one);
    Py_XDECREF(indices);
    Py_XDECREF(shape);
    Py_XDECREF(values);
    return made;
}

/* Returns the only row of a column as an array of its own, or as a sparse one. */
static PyObject *records_array(const records_decoder *self, int32_t i, const levada_column *column)
{
    const levada_py_slot *slot = &self->slots.slot[i];
    int64_t               first = 0;
    levada_shape          shape = records_shape(slot, column, &first);
    PyObject             *array = levada_dtype_is_bytes(slot->dtype)
                                      ? records_objects(self, i, column, &shape, first)
                                      : records_numbers(self, i, column, &shape, first);

    return slot->shape.rank < 0 ? records_sparse(self, array, shape.dims[0]) : array;
}

static PyObject *records_arrays(const records_decoder *self, const levada_block *block)
{
    PyObject *made = PyDict_New();

    for (int32_t i = 0; made && i < PyTuple_Size(self->names); i++) {
        PyObject *name = PySequence_GetItem(self->names, i);
        PyObject *array = name ? records_array(self, i, levada_block_at(block, i)) : NULL;

        if (!array || PyDict_SetItem(made, name, array) < 0) Py_CLEAR(made);
        Py_XDECREF(array);
        Py_XDECREF(name);
    }
    return made;
}

static bool records_is(PyObject *a, PyObject *b, int32_t i)
{
    PyObject *x = PySequence_GetItem(a, i), *y = PySequence_GetItem(b, i);
    bool      same = x == y;

    Py_XDECREF(x);
    Py_XDECREF(y);
    return same;
}

/* Returns true if the dict has the very names and features that the decoder was made with. */
static bool records_same(const records_decoder *self, PyObject *features)
{
    bool      dict = PyDict_CheckExact(features);
    PyObject *names = dict ? PyDict_Keys(features) : NULL;
    PyObject *values = dict ? PyDict_Values(features) : NULL;
    bool      same = names && values && PyList_Size(names) == PyTuple_Size(self->names);

    for (int32_t i = 0; same && i < PyTuple_Size(self->names); i++)
        same = records_is(names, self->names, i) && records_is(values, self->features, i);
    Py_XDECREF(names);
    Py_XDECREF(values);
    if (!same) PyErr_Clear();
    return same;
}

/* Short strings take less time than giving the interpreter to another thread and back. */
static PyObject *records_single(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    records_decoder *self = n == 3 ? PyCapsule_GetPointer(args[0], RECORDS_DECODER) : NULL;
    PyObject        *made = NULL;
    levada_block    *block = NULL;
    levada_error     err = LEVADA_ERROR_INIT;
    char            *at = NULL;
    const void      *data;
    Py_ssize_t       length = 0;
    size_t           size;

    if (n != 3) PyErr_SetString(PyExc_TypeError, "single takes a decoder, a string, features");
    if (!self) return NULL;
    if (self->busy || !self->features || !PyBytes_CheckExact(args[1])) Py_RETURN_NONE;
    if (args[2] != Py_None && !records_same(self, args[2])) Py_RETURN_NONE;
    if (PyBytes_AsStringAndSize(args[1], &at, &length) < 0) return NULL;
    if (length > RECORDS_SHORT) Py_RETURN_NONE;
    data = at;
    size = (size_t)length;
    if (!levada_py_ok(levada_decoding_run(self->decoding, &data, &size, 1, &block, &err), &err))
        return NULL;
    made = records_arrays(self, block);
    levada_block_unref(&block);
    return made;
}

/* One feature: (key or None, kind, values); kind "i": int64, "f": float32, "b": list of bytes. */
static bool records_feature(levada_example *example, PyObject *tuple)
{
    const char     *key = NULL, *kind = NULL;
    PyObject       *values = NULL;
    levada_error    err = LEVADA_ERROR_INIT;
    levada_status   st;
    records_strings strings;
    Py_buffer       buffer;

    if (!PyArg_ParseTuple(tuple, "zsO", &key, &kind, &values)) return false;
    if (kind[0] == 'b') {
        if (!records_collect(values, &strings)) return false;
        st = levada_example_add_bytes(example, key, strings.data, strings.size, strings.n, &err);
        records_forget(&strings);
        return levada_py_ok(st, &err);
    }
    if (PyObject_GetBuffer(values, &buffer, PyBUF_C_CONTIGUOUS) < 0) return false;
    st = kind[0] == 'i'
             ? levada_example_add_i64(example, key, buffer.buf,
                                      buffer.len / (Py_ssize_t)sizeof(int64_t), &err)
             : levada_example_add_f32(example, key, buffer.buf,
                                      buffer.len / (Py_ssize_t)sizeof(float), &err);
    PyBuffer_Release(&buffer);
    return levada_py_ok(st, &err);
}

static bool records_features(levada_example *example, PyObject *features)
{
    Py_ssize_t i, n = PySequence_Size(features);
    bool       good = n >= 0;

    for (i = 0; good && i < n; i++) {
        PyObject *tuple = PySequence_GetItem(features, i);

        good = tuple && records_feature(example, tuple);
        Py_XDECREF(tuple);
    }
    return good;
}

/* Steps of the same number of values: (kind "i" or "f", values, values a step). */
static bool records_steps(levada_example *example, PyObject *tuple)
{
    const char   *kind = NULL;
    PyObject     *values = NULL;
    Py_ssize_t    each = 0, i;
    Py_buffer     buffer;
    levada_error  err = LEVADA_ERROR_INIT;
    levada_status st = LEVADA_OK;

    if (!PyArg_ParseTuple(tuple, "sOn", &kind, &values, &each)) return false;
    if (PyObject_GetBuffer(values, &buffer, PyBUF_C_CONTIGUOUS) < 0) return false;
    if (kind[0] == 'i') {
        const int64_t *at = buffer.buf;
        Py_ssize_t     n = each > 0 ? buffer.len / (each * (Py_ssize_t)sizeof *at) : 0;

        for (i = 0; i < n && st == LEVADA_OK; i++)
            st = levada_example_add_i64(example, NULL, at + i * each, each, &err);
    } else {
        const float *at = buffer.buf;
        Py_ssize_t   n = each > 0 ? buffer.len / (each * (Py_ssize_t)sizeof *at) : 0;

        for (i = 0; i < n && st == LEVADA_OK; i++)
            st = levada_example_add_f32(example, NULL, at + i * each, each, &err);
    }
    PyBuffer_Release(&buffer);
    return levada_py_ok(st, &err);
}

/* One feature list: (key, [feature with key None...]), or (key, steps of equal size). */
static bool records_list(levada_example *example, PyObject *tuple)
{
    const char  *key = NULL;
    PyObject    *steps = NULL;
    levada_error err = LEVADA_ERROR_INIT;

    return PyArg_ParseTuple(tuple, "sO", &key, &steps) &&
           levada_py_ok(levada_example_begin_list(example, key, &err), &err) &&
           (PyTuple_Check(steps) ? records_steps(example, steps)
                                 : records_features(example, steps)) &&
           levada_py_ok(levada_example_end_list(example, &err), &err);
}

static PyObject *records_example(PyObject *module, PyObject *args)
{
    PyObject       *features = NULL, *lists = NULL, *made = NULL;
    levada_example *example = NULL;
    levada_error    err = LEVADA_ERROR_INIT;
    const uint8_t  *data = NULL;
    size_t          size = 0;
    Py_ssize_t      i, n;
    bool            good;

    if (!PyArg_ParseTuple(args, "OO:example", &features, &lists)) return NULL;
    n = PySequence_Size(lists);
    if (n < 0 || !levada_py_ok(levada_example_create(&example, &err), &err)) return NULL;
    good = records_features(example, features);
    for (i = 0; good && i < n; i++) {
        PyObject *tuple = PySequence_GetItem(lists, i);

        good = tuple && records_list(example, tuple);
        Py_XDECREF(tuple);
    }
    if (good && levada_py_ok(levada_example_finish(example, &data, &size, &err), &err))
        made = PyBytes_FromStringAndSize((const char *)data, (Py_ssize_t)size);
    levada_example_destroy(&example);
    return made;
}

PyMethodDef levada_py_functions_records[] = {
    {"decoder", records_decoder_open, METH_VARARGS,
     "decoder(name, options, features, components): a decoder as a function, for one thread at a "
     "time; `single` needs the features and components of the columns."},
    {"single", LEVADA_PY_FAST(records_single), METH_FASTCALL,
     "single(decoder, string, features): {name: array} of a short string; None for a long one, "
     "or where the features are not None and not what the decoder was made with."},
    {"decode", records_decode, METH_VARARGS,
     "decode(decoder, strings): block of the columns of a sequence of bytes."},
    {"decode_column", records_decode_column, METH_VARARGS,
     "decode_column(decoder, values, offsets): the same for strings that lie in a column."},
    {"example", records_example, METH_VARARGS,
     "example([(key, kind, values)], [(key, [(None, kind, values)])]): bytes of the message; the "
     "steps of a list may also be (kind, values, values a step)."},
    {NULL, NULL, 0, NULL},
};
