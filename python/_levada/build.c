/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks made from what Python has: arrays of values and offsets, copied once. */
#include "module.h"

#include <string.h>

enum { BUILD_PARTS = 8, BUILD_LENGTHS = 6, BUILD_OBJECT = 7 };

/* One row of the argument `fields`: (name, dtype, depth, dims, values, [offsets...]), the lengths
 * of a padded column or None, and the mark of a member of lists of objects. */
typedef struct build_row {
    PyObject    *part[BUILD_PARTS];
    levada_field field;
} build_row;

static void build_release(build_row *rows, Py_ssize_t n)
{
    Py_ssize_t i;
    int        p;

    for (i = 0; rows && i < n; i++)
        for (p = 0; p < BUILD_PARTS; p++) Py_XDECREF(rows[i].part[p]);
    PyMem_Free(rows);
}

static bool build_dims(build_row *row)
{
    Py_ssize_t d, n = PySequence_Size(row->part[3]);

    if (n < 0) return false;
    if (n > LEVADA_MAX_DIMS) {
        PyErr_Format(PyExc_ValueError, "field '%s' has %zd dimensions, at most %d are possible",
                     row->field.name, n, LEVADA_MAX_DIMS);
        return false;
    }
    row->field.ndim = (uint8_t)n;
    for (d = 0; d < n; d++) {
        PyObject *at = PySequence_GetItem(row->part[3], d);

        row->field.dims[d] = at ? PyLong_AsLongLong(at) : -1;
        Py_XDECREF(at);
    }
    return !PyErr_Occurred();
}

/* The mark: one byte for each level. */
static bool build_object(build_row *row)
{
    char      *bytes = NULL;
    Py_ssize_t size = 0;

    if (!row->part[BUILD_OBJECT]) return true;
    if (PyBytes_AsStringAndSize(row->part[BUILD_OBJECT], &bytes, &size) < 0) return false;
    if (size == LEVADA_MAX_DEPTH) memcpy(row->field.object, bytes, LEVADA_MAX_DEPTH);
    return true;
}

static bool build_read(build_row *row, PyObject *fields, Py_ssize_t i)
{
    PyObject   *tuple = PySequence_GetItem(fields, i);
    Py_ssize_t  parts = tuple ? PySequence_Size(tuple) : 0;
    const char *dtype = NULL;
    long        depth;
    int         p;

    if (parts > BUILD_PARTS) parts = BUILD_PARTS;
    if (tuple && parts < BUILD_LENGTHS)
        PyErr_Format(PyExc_ValueError, "a field must have six parts, got %zd", parts);
    for (p = 0; p < parts; p++) row->part[p] = PySequence_GetItem(tuple, p);
    Py_XDECREF(tuple);
    if (PyErr_Occurred()) return false;
    row->field.padded = row->part[BUILD_LENGTHS] && row->part[BUILD_LENGTHS] != Py_None;
    if (!build_object(row)) return false;
    row->field.name = levada_py_utf8(row->part[0]);
    dtype = levada_py_utf8(row->part[1]);
    depth = PyLong_AsLong(row->part[2]);
    if (!row->field.name || !dtype || PyErr_Occurred()) return false;
    row->field.dtype = levada_dtype_find(dtype);
    if (row->field.dtype == LEVADA_NONE || depth < 0 || depth > LEVADA_MAX_DEPTH) {
        PyErr_Format(PyExc_ValueError, "field '%s': no column of dtype %s and %ld ragged levels",
                     row->field.name, dtype, depth);
        return false;
    }
    row->field.depth = (uint8_t)depth;
    return build_dims(row);
}

/* The bytes of a contiguous buffer. */
static bool build_bytes(PyObject *object, Py_buffer *out)
{
    return PyObject_GetBuffer(object, out, PyBUF_C_CONTIGUOUS) == 0;
}

static bool build_level(levada_builder *b, int32_t i, int32_t level, PyObject *offsets)
{
    levada_error err = LEVADA_ERROR_INIT;
    Py_buffer    from;
    int32_t     *to = NULL;
    bool         good;

    if (!offsets || !build_bytes(offsets, &from)) return false;
    good = from.len >= (Py_ssize_t)sizeof *to;
    if (!good) PyErr_SetString(PyExc_ValueError, "offsets must have at least one entry, got none");
    good = good && levada_py_ok(levada_builder_offsets(b, i, level,
                                                       from.len / (Py_ssize_t)sizeof *to - 1, &to,
                                                       &err),
                                &err);
    if (good) memcpy(to, from.buf, (size_t)from.len);
    PyBuffer_Release(&from);
    return good;
}

/* Lengths before padding: one int32 a row, none beyond the first dimension. */
static bool build_lengths(levada_builder *b, int32_t i, const build_row *row, int64_t rows)
{
    levada_error err = LEVADA_ERROR_INIT;
    Py_buffer    from;
    int32_t     *to = NULL;
    int64_t      steps = row->field.ndim ? row->field.dims[0] : 0;
    bool         good;

    if (!row->field.padded) return true;
    if (!build_bytes(row->part[BUILD_LENGTHS], &from)) return false;
    good = from.len == (Py_ssize_t)(rows * (int64_t)sizeof *to);
    if (!good)
        PyErr_Format(PyExc_ValueError, "a padded column must have %lld lengths, got %zd bytes",
                     (long long)rows, from.len);
    good = good && levada_py_ok(levada_builder_lengths(b, i, &to, &err), &err);
    if (good) memcpy(to, from.buf, (size_t)from.len);
    for (int64_t r = 0; good && r < rows; r++) good = to[r] >= 0 && to[r] <= steps;
    if (!good && !PyErr_Occurred())
        PyErr_Format(PyExc_ValueError, "field '%s': a length is outside of 0..%lld",
                     row->field.name, (long long)steps);
    PyBuffer_Release(&from);
    return good;
}

static bool build_fill(levada_builder *b, int32_t i, const build_row *row)
{
    const levada_field *f = &row->field;
    int32_t             l, levels = f->depth + (levada_dtype_is_bytes(f->dtype));
    int64_t             item = levada_dtype_is_bytes(f->dtype) ? 1 : levada_dtype_size(f->dtype);
    levada_error        err = LEVADA_ERROR_INIT;
    Py_buffer           from;
    void               *to = NULL;
    bool                good = true;

    for (l = 0; good && l < levels; l++) {
        PyObject *offsets = PySequence_GetItem(row->part[5], l);

        good = build_level(b, i, l, offsets);
        Py_XDECREF(offsets);
    }
    if (!good || !build_bytes(row->part[4], &from)) return false;
    levada_builder_dims(b, i, f->dims);
    good = levada_py_ok(levada_builder_values(b, i, from.len / item, &to, &err), &err);
    if (good && from.len) memcpy(to, from.buf, (size_t)from.len);
    PyBuffer_Release(&from);
    return good;
}

/* rejects: [(row, code, message, token)...] */
static bool build_reject(levada_builder *b, PyObject *rejects)
{
    Py_ssize_t   i, n = PySequence_Size(rejects);
    levada_error err = LEVADA_ERROR_INIT, why = LEVADA_ERROR_INIT;
    long long    row = 0;
    int          code = 0;
    const char  *message = NULL;
    unsigned long long token = 0;
    bool         good = n >= 0;

    for (i = 0; good && i < n; i++) {
        PyObject *at = PySequence_GetItem(rejects, i);

        good = at && PyArg_ParseTuple(at, "LisK", &row, &code, &message, &token);
        if (good) {
            levada_error_clear(&why);
            (void)levada_fail(&why, (levada_status)code, "%s", message);
            why.token = token;
            good = levada_py_ok(levada_builder_reject(b, row, &why, &err), &err);
        }
        Py_XDECREF(at);
    }
    return good;
}

static levada_spec *build_spec(const build_row *rows, Py_ssize_t n, int flags)
{
    levada_field *fields = PyMem_Calloc((size_t)n + 1, sizeof *fields);
    levada_spec  *spec = NULL;
    levada_error  err = LEVADA_ERROR_INIT;
    Py_ssize_t    i;

    for (i = 0; fields && i < n; i++) fields[i] = rows[i].field;
    if (!fields) {
        PyErr_NoMemory();
    } else {
        (void)levada_py_ok(levada_spec_create(fields, (int32_t)n, flags, &spec, &err), &err);
    }
    PyMem_Free(fields);
    return spec;
}

static PyObject *build_block(PyObject *module, PyObject *args)
{
    PyObject       *fields = NULL, *rejects = NULL, *result = NULL;
    long long       count = 0;
    int             flags = LEVADA_SPEC_PLAIN;
    Py_ssize_t      i, n;
    build_row      *rows = NULL;
    levada_spec    *spec = NULL;
    levada_builder *b = NULL;
    levada_block   *block = NULL;
    levada_error    err = LEVADA_ERROR_INIT;
    bool            good = true;

    if (!PyArg_ParseTuple(args, "LOO|i:build", &count, &fields, &rejects, &flags)) return NULL;
    n = PySequence_Size(fields);
    if (n < 0) return NULL;
    rows = PyMem_Calloc((size_t)n + 1, sizeof *rows);
    if (!rows) return PyErr_NoMemory();
    for (i = 0; good && i < n; i++) good = build_read(&rows[i], fields, i);
    spec = good ? build_spec(rows, n, flags) : NULL;
    if (!spec || !levada_py_ok(levada_builder_create(NULL, spec, count, &b, &err), &err)) goto out;
    for (i = 0; good && i < n; i++) {
        good = build_fill(b, (int32_t)i, &rows[i]) &&
               build_lengths(b, (int32_t)i, &rows[i], count);
    }
    if (!good || !build_reject(b, rejects)) goto out;
    if (levada_py_ok(levada_builder_publish(&b, &block, &err), &err))
        result = levada_py_block_new(PyModule_GetState(module), &block);
out:
    levada_block_unref(&block);
    levada_builder_destroy(&b);
    levada_spec_unref(&spec);
    build_release(rows, n);
    return result;
}

PyObject *levada_py_string(levada_dtype dtype, const char *bytes, Py_ssize_t size)
{
    if (dtype == LEVADA_TEXT) return PyUnicode_DecodeUTF8(bytes, size, "strict");
    return PyBytes_FromStringAndSize(bytes, size);
}

/* Returns the byte strings that packed offsets mark in `values`. */
static PyObject *build_split(PyObject *module, PyObject *args)
{
    PyObject      *values = NULL, *offsets = NULL, *list = NULL, *item = NULL;
    Py_buffer      data, marks;
    const int32_t *at = NULL;
    Py_ssize_t     i, n;
    int            text = 0;

    if (!PyArg_ParseTuple(args, "OO|p:split", &values, &offsets, &text)) return NULL;
    if (!build_bytes(values, &data)) return NULL;
    if (!build_bytes(offsets, &marks)) {
        PyBuffer_Release(&data);
        return NULL;
    }
    at = marks.buf;
    n = marks.len / (Py_ssize_t)sizeof *at - 1;
    list = PyList_New(n < 0 ? 0 : n);
    for (i = 0; list && i < n; i++) {
        bool inside = at[i] >= 0 && at[i] <= at[i + 1] && at[i + 1] <= data.len;

        item = inside ? levada_py_string(text ? LEVADA_TEXT : LEVADA_BYTES,
                                         (const char *)data.buf + at[i], at[i + 1] - at[i])
                      : NULL;
        if (!inside)
            PyErr_Format(PyExc_ValueError, "offsets must be within the %zd bytes of data, got %ld",
                         data.len, (long)at[i + 1]);
        if (!item || PyList_SetItem(list, i, item) < 0) Py_CLEAR(list);
    }
    PyBuffer_Release(&data);
    PyBuffer_Release(&marks);
    return list;
}

/* The items that fit. */
static void build_fill_items(uint8_t *out, size_t size, const uint8_t *item, size_t item_size,
                             bool plain)
{
    size_t done = item_size;

    if (plain || size == 0) {
        memset(out, item[0], size);
        return;
    }
    memcpy(out, item, item_size);
    for (; done < size; done += done < size - done ? done : size - done)
        memcpy(out + done, out, done < size - done ? done : size - done);
}

/* Values that nobody has looked at for a while come from memory, a row at a time: they are fetched
 * while the rows before are copied. (GCC removes calls of functions that only fetch.) */
#if defined(__GNUC__)
#define BUILD_FETCH(at) __builtin_prefetch(at)
#else
#define BUILD_FETCH(at) ((void)(at))
#endif
enum { BUILD_ROWS_AHEAD = 2, BUILD_FETCH_MOST = 16 << 10 };

/* Returns the number of bytes of row i that are worth fetching; 0 beyond the n rows or if its
 * offsets are wrong. */
static Py_ssize_t build_fetched(const int32_t *at, Py_ssize_t n, Py_ssize_t i, Py_ssize_t count,
                                Py_ssize_t size)
{
    bool       inside = i < n && at[i] >= 0 && at[i] <= at[i + 1] && at[i + 1] <= count;
    Py_ssize_t bytes = inside ? (at[i + 1] - (Py_ssize_t)at[i]) * size : 0;

    return bytes < BUILD_FETCH_MOST ? bytes : BUILD_FETCH_MOST;
}

/* Rows of `values` that the offsets mark, to rows of equal length; longer ones are cut. */
static bool build_pad_rows(const Py_buffer *out, const Py_buffer *values, const Py_buffer *offsets,
                           const Py_buffer *item, bool left)
{
    const int32_t *at = offsets->buf;
    Py_ssize_t     n = offsets->len / (Py_ssize_t)sizeof *at - 1, size = item->len;
    Py_ssize_t     width = n > 0 ? out->len / n : 0, count = size > 0 ? values->len / size : 0;
    bool           plain = true; /* the bytes of the item are all the same */

    if (out->len == 0) return true;
    if (n < 1 || size < 1 || out->len % n || width % size) {
        PyErr_Format(PyExc_ValueError, "an array of %zd padded rows must have the same number of "
                     "items of %zd bytes in each row, got %zd bytes", n, size, out->len);
        return false;
    }
    for (Py_ssize_t i = 1; i < size; i++)
        plain = plain && ((const char *)item->buf)[i] == ((const char *)item->buf)[0];
    for (Py_ssize_t i = 0; i < n; i++) {
        Py_ssize_t length = (at[i + 1] - (Py_ssize_t)at[i]) * size, ahead;
        uint8_t   *to = (uint8_t *)out->buf + i * width, *blank = to;

        if (at[i] < 0 || length < 0 || at[i + 1] > count) {
            PyErr_Format(PyExc_ValueError, "offsets must ascend up to %zd values, got %ld and %ld",
                         count, (long)at[i], (long)at[i + 1]);
            return false;
        }
        ahead = build_fetched(at, n, i + BUILD_ROWS_AHEAD, count, size);
        for (Py_ssize_t k = 0; k < ahead; k += 64)
            BUILD_FETCH((const uint8_t *)values->buf + at[i + BUILD_ROWS_AHEAD] * size + k);
        if (length > width) length = width;
        if (left) to += width - length;
        else blank += length;
        memcpy(to, (const uint8_t *)values->buf + at[i] * size, (size_t)length);
        build_fill_items(blank, (size_t)(width - length), item->buf, (size_t)size, plain);
    }
    return true;
}

static PyObject *build_pad(PyObject *module, PyObject *args)
{
    Py_buffer out, values, offsets, item;
    int       left = 0;
    bool      good;

    if (!PyArg_ParseTuple(args, "w*y*y*y*|p:pad", &out, &values, &offsets, &item, &left))
        return NULL;
    good = build_pad_rows(&out, &values, &offsets, &item, left);
    PyBuffer_Release(&out);
    PyBuffer_Release(&values);
    PyBuffer_Release(&offsets);
    PyBuffer_Release(&item);
    if (!good) return NULL;
    Py_RETURN_NONE;
}

static int32_t build_widest(const Py_buffer *offsets)
{
    const int32_t *at = offsets->buf;
    int32_t        widest = 0;

    for (Py_ssize_t i = 1; i < offsets->len / (Py_ssize_t)sizeof *at; i++)
        if (at[i] > at[i - 1] && at[i] - (int64_t)at[i - 1] > widest)
            widest = (int32_t)(at[i] - (int64_t)at[i - 1]);
    return widest;
}

static PyObject *build_longest(PyObject *module, PyObject *offsets)
{
    Py_buffer marks;
    int32_t   longest;

    if (PyObject_GetBuffer(offsets, &marks, PyBUF_SIMPLE) < 0) return NULL;
    longest = build_widest(&marks);
    PyBuffer_Release(&marks);
    return PyLong_FromLong(longest);
}

/* A list of plain numbers whose memory can be copied; no error where it is anything else. */
static bool build_plain(PyObject *array, const char *formats, Py_buffer *out)
{
    if (PyObject_GetBuffer(array, out, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT) < 0) {
        PyErr_Clear();
        return false;
    }
    if (out->ndim == 1 && out->format && out->format[0] && !out->format[1] &&
        strchr(formats, out->format[0]))
        return true;
    PyBuffer_Release(out);
    return false;
}

/* empty((rows, widest), dtype of the values), filled. */
static PyObject *build_padded_array(PyObject *empty, PyObject *array, const Py_buffer *values,
                                    const Py_buffer *marks)
{
    uint8_t    zero[16] = {0};
    Py_buffer  to, item = {.buf = zero, .len = values->itemsize};
    Py_ssize_t rows = marks->len / (Py_ssize_t)sizeof(int32_t) - 1;
    PyObject  *dtype = PyObject_GetAttrString(array, "dtype");
    PyObject  *dims = dtype ? Py_BuildValue("ni", rows, (int)build_widest(marks)) : NULL;
    PyObject  *made = dims ? PyObject_CallFunctionObjArgs(empty, dims, dtype, NULL) : NULL;

    Py_XDECREF(dtype);
    Py_XDECREF(dims);
    if (made && PyObject_GetBuffer(made, &to, PyBUF_WRITABLE) < 0) {
        Py_CLEAR(made);
    } else if (made) {
        if (!build_pad_rows(&to, values, marks, &item, false)) Py_CLEAR(made);
        PyBuffer_Release(&to);
    }
    return made;
}

/* Most rows are numbers that are filled up with zeros, and short: all of it in one call. */
static PyObject *build_padded(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    PyObject *made = NULL;
    Py_buffer values, marks;

    if (n != 3) {
        PyErr_Format(PyExc_TypeError,
                     "padded takes numpy.empty, values and offsets, got %zd arguments", n);
        return NULL;
    }
    if (!build_plain(args[1], "?bBhHiIlLqQefd", &values)) Py_RETURN_NONE;
    if (build_plain(args[2], "i", &marks)) {
        if (marks.len > 0) made = build_padded_array(args[0], args[1], &values, &marks);
        else made = Py_NewRef(Py_None);
        PyBuffer_Release(&marks);
    } else {
        made = Py_NewRef(Py_None);
    }
    PyBuffer_Release(&values);
    return made;
}

/* The columns of two blocks with the same records, in some order. */
typedef struct build_pair {
    const levada_block *a, *b;
    int32_t             na, n;
    int32_t            *order; /* numbers of columns; those of b follow those of a */
} build_pair;

static const levada_field *build_pair_field(const build_pair *pair, int32_t i)
{
    int32_t at = pair->order[i];

    return at < pair->na ? levada_spec_field(levada_block_spec(pair->a), at)
                         : levada_spec_field(levada_block_spec(pair->b), at - pair->na);
}

/* Reads the order; None is all columns of the first block, then all of the second. */
static bool build_pair_order(build_pair *pair, PyObject *order)
{
    int32_t    all;
    Py_ssize_t n;

    pair->na = levada_spec_count(levada_block_spec(pair->a));
    all = pair->na + levada_spec_count(levada_block_spec(pair->b));
    n = order == Py_None ? all : PySequence_Size(order);
    if (n < 0) return false;
    pair->n = (int32_t)n;
    pair->order = PyMem_Calloc((size_t)n + 1, sizeof *pair->order);
    if (!pair->order) return PyErr_NoMemory(), false;
    for (int32_t i = 0; i < pair->n; i++) {
        PyObject *at = order == Py_None ? NULL : PySequence_GetItem(order, i);

        pair->order[i] = order == Py_None ? i : at ? (int32_t)PyLong_AsLong(at) : -1;
        Py_XDECREF(at);
        if (PyErr_Occurred()) return false;
        if (pair->order[i] >= 0 && pair->order[i] < all) continue;
        PyErr_Format(PyExc_IndexError, "the blocks have no column %ld", (long)pair->order[i]);
        return false;
    }
    return true;
}

static levada_spec *build_joined_spec(const build_pair *pair)
{
    levada_field *fields = PyMem_Calloc((size_t)pair->n + 1, sizeof *fields);
    levada_spec  *spec = NULL;
    levada_error  err = LEVADA_ERROR_INIT;

    if (!fields) {
        PyErr_NoMemory();
        return NULL;
    }
    for (int32_t i = 0; i < pair->n; i++) fields[i] = *build_pair_field(pair, i);
    (void)levada_py_ok(levada_spec_create(fields, pair->n,
                                          levada_spec_flags_of(levada_block_spec(pair->a)), &spec,
                                          &err),
                       &err);
    PyMem_Free(fields);
    return spec;
}

static levada_builder *build_joined(const build_pair *pair, levada_spec *spec)
{
    levada_builder *builder = NULL;
    levada_error    err = LEVADA_ERROR_INIT;

    if (!levada_py_ok(levada_builder_create(NULL, spec, levada_block_rows(pair->a), &builder,
                                            &err),
                      &err))
        return NULL;
    for (int32_t i = 0; i < pair->n; i++) {
        int32_t at = pair->order[i];

        levada_builder_share(builder, i,
                             at < pair->na ? levada_block_at(pair->a, at)
                                           : levada_block_at(pair->b, at - pair->na));
    }
    return builder;
}

/* Returns columns of two blocks with the same records side by side; nothing is copied. */
static PyObject *build_join(PyObject *module, PyObject *args)
{
    levada_py_state *state = PyModule_GetState(module);
    PyObject        *first = NULL, *second = NULL, *rejects = NULL, *order = Py_None;
    PyObject        *result = NULL;
    build_pair       pair = { 0 };
    levada_spec     *spec = NULL;
    levada_builder  *builder = NULL;
    levada_block    *block = NULL;
    levada_error     err = LEVADA_ERROR_INIT;

    if (!PyArg_ParseTuple(args, "O!O!O|O:join", state->block, &first, state->block, &second,
                          &rejects, &order))
        return NULL;
    pair.a = ((levada_py_block *)first)->block;
    pair.b = ((levada_py_block *)second)->block;
    if (build_pair_order(&pair, order)) spec = build_joined_spec(&pair);
    if (spec) builder = build_joined(&pair, spec);
    if (builder && build_reject(builder, rejects) &&
        levada_py_ok(levada_builder_publish(&builder, &block, &err), &err))
        result = levada_py_block_new(state, &block);
    levada_block_unref(&block);
    levada_builder_destroy(&builder);
    levada_spec_unref(&spec);
    PyMem_Free(pair.order);
    return result;
}

PyMethodDef levada_py_functions_build[] = {
    {"build", build_block, METH_VARARGS,
     "build(rows, fields, rejects, flags=0): block of [(name, dtype, depth, dims, values, "
     "[offsets], [lengths])]; rejects are (row, code, message, token)."},
    {"join", build_join, METH_VARARGS,
     "join(block, block, rejects, order=None): the columns of both, or some by number."},
    {"longest", build_longest, METH_O, "longest(offsets): of the rows between int32 offsets."},
    {"pad", build_pad, METH_VARARGS,
     "pad(out, values, offsets, item, left=False): rows into an array of rows of equal length, "
     "filled up with items at their end, or at their beginning."},
    {"padded", LEVADA_PY_FAST(build_padded), METH_FASTCALL,
     "padded(empty, values, offsets): array [rows, longest] of numbers, filled up with zeros; None "
     "where the values are none or the offsets not int32."},
    {"split", build_split, METH_VARARGS,
     "split(values, offsets, text=False): list of bytes, or of str."},
    {NULL, NULL, 0, NULL},
};
