/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks as Python sees them. Ragged columns are returned packed: scattered ones are packed by one
 * copy, others are not copied.
 */
#include "module.h"

#include <levada/views.h>

#include <string.h>

PyObject *levada_py_block_new(levada_py_state *state, levada_block **block)
{
    levada_py_block *self = (levada_py_block *)PyType_GenericAlloc(state->block, 0);

    if (self) {
        self->writable = levada_block_exclusive(*block);
        self->block = *block;
        self->step = -1;
        *block = NULL;
    }
    return (PyObject *)self;
}

static void block_dealloc(PyObject *self)
{
    levada_block_unref(&((levada_py_block *)self)->block);
    Py_XDECREF(((levada_py_block *)self)->index);
    levada_py_free(self);
}

static const levada_block *block_of(PyObject *self) { return ((levada_py_block *)self)->block; }

static const levada_column *block_column(PyObject *self, PyObject *index)
{
    long                 i = PyLong_AsLong(index);
    const levada_column *column = NULL;

    if (i == -1 && PyErr_Occurred()) return NULL;
    column = levada_block_at(block_of(self), (int32_t)i);
    if (!column) PyErr_Format(PyExc_IndexError, "column %ld does not exist", i);
    return column;
}

/* Rows while a column is packed: ranges of rows of the level that comes next. */
typedef struct block_ranges {
    int64_t  n;
    int32_t *begin, *end;
} block_ranges;

/* One level down: fills offsets (m + 1 entries) and replaces the ranges by those of the m rows. */
static bool block_descend(block_ranges *r, const levada_level *level, int32_t *offsets, int64_t m)
{
    int32_t *begin = PyMem_Calloc((size_t)m + 1, 2 * sizeof *begin);
    int32_t *end = begin ? begin + m : NULL;
    int64_t  i, k = 0;
    int32_t  row;

    if (!begin) return false;
    offsets[0] = 0;
    for (i = 0; i < r->n; i++) {
        for (row = r->begin[i]; row < r->end[i]; row++, k++) {
            begin[k] = level->begin[row];
            end[k] = level->end[row];
            offsets[k + 1] = offsets[k] + (end[k] - begin[k]);
        }
    }
    PyMem_Free(r->begin);
    *r = (block_ranges){m, begin, end};
    return true;
}

static int64_t block_total(const block_ranges *r)
{
    int64_t i, total = 0;

    for (i = 0; i < r->n; i++) total += r->end[i] - r->begin[i];
    return total;
}

/* `size` bytes of fresh memory as a block object that is its only owner. */
static PyObject *block_memory(levada_py_state *state, int64_t size, void **out)
{
    levada_block *memory = NULL;
    levada_error  err = LEVADA_ERROR_INIT;
    PyObject     *made = NULL;

    if (!levada_py_ok(levada_py_scratch(size, &memory, out, &err), &err)) return NULL;
    made = levada_py_block_new(state, &memory);
    levada_block_unref(&memory);
    return made;
}

/* Returns a view of `n` int32 that were packed into fresh memory, which `*out` points to. */
static PyObject *block_offsets(levada_py_state *state, int64_t n, int32_t **out)
{
    void     *at = NULL;
    PyObject *owner = block_memory(state, n * (int64_t)sizeof(int32_t), &at);
    PyObject *view = owner ? levada_py_view_new(owner, at, LEVADA_INT32, n, NULL, 0) : NULL;

    *out = at;
    Py_XDECREF(owner);
    return view;
}

static PyObject *block_copy_values(PyObject *self, const levada_column *column,
                                   const block_ranges *r)
{
    bool         bytes = levada_dtype_is_bytes(column->field->dtype);
    int64_t row =
        levada_py_item_size(column->field->dtype) * (bytes ? 1 : levada_column_inner(column));
    int64_t      n = block_total(r), i;
    void        *at = NULL;
    PyObject    *owner = block_memory(levada_py_state_of(self), n * row, &at), *view = NULL;
    uint8_t     *to = at;

    if (!owner) return NULL;
    for (i = 0; i < r->n; i++) {
        size_t size = (size_t)((r->end[i] - r->begin[i]) * row);

        if (size) memcpy(to, column->values + r->begin[i] * row, size);
        to += size;
    }
    view = levada_py_view_new(owner, at, column->field->dtype, n, column->dims,
                          bytes ? 0 : column->field->ndim);
    Py_DECREF(owner);
    return view;
}

/* Packs by copying: (values, [offsets...]). */
static PyObject *block_gather(PyObject *self, const levada_column *column, int32_t levels)
{
    PyObject    *list = PyList_New(0), *view = NULL, *values = NULL;
    block_ranges r = {1, PyMem_Calloc(2, sizeof(int32_t)), NULL};
    int32_t      l, *offsets = NULL, p = (int32_t)levada_column_inner(column);
    int64_t      i, m;
    bool         good = list && r.begin;

    if (good) r.end = r.begin + 1;
    if (good) r.end[0] = (int32_t)column->n;
    for (l = 0; good && l < levels; l++) {
        if (l == column->field->depth)
            for (i = 0; i < r.n; i++) r.begin[i] *= p, r.end[i] *= p;
        m = block_total(&r);
        view = block_offsets(levada_py_state_of(self), m + 1, &offsets);
        good = view && block_descend(&r, &column->level[l], offsets, m) &&
               PyList_Append(list, view) == 0;
        Py_XDECREF(view);
    }
    if (good) values = block_copy_values(self, column, &r);
    PyMem_Free(r.begin);
    if (!values && !PyErr_Occurred()) PyErr_NoMemory();
    return values ? Py_BuildValue("(NN)", values, list) : (Py_XDECREF(list), NULL);
}

/* Offsets that begin at 0: the array itself where they do, else a copy. */
static PyObject *block_rebase(PyObject *self, const int32_t *begin, int64_t n)
{
    int32_t  *to = NULL;
    PyObject *view = NULL;
    int64_t   i;

    if (begin[0] == 0) return levada_py_view_new(self, begin, LEVADA_INT32, n + 1, NULL, 0);
    view = block_offsets(levada_py_state_of(self), n + 1, &to);
    for (i = 0; view && i <= n; i++) to[i] = begin[i] - begin[0];
    return view;
}

static bool block_packed(const levada_column *column, int32_t levels)
{
    int32_t l;

    for (l = 0; l < levels; l++)
        if (!column->level[l].begin || column->level[l].end != column->level[l].begin + 1)
            return false;
    return column->n > 0;
}

/* A packed column as it is in memory: (values, [offsets...]). */
static PyObject *block_borrow(PyObject *self, const levada_column *column, int32_t levels)
{
    const levada_field *f = column->field;
    bool                bytes = levada_dtype_is_bytes(f->dtype);
    int64_t             base = 0, n = column->n, inner = levada_column_inner(column);
    int64_t             row = levada_py_item_size(f->dtype) * (bytes ? 1 : inner);
    PyObject           *list = PyList_New(0), *view = NULL;
    int32_t             l;

    for (l = 0; list && l < levels; l++) {
        const int32_t *begin = column->level[l].begin;

        if (l == f->depth) base *= inner, n *= inner;
        begin += base;
        view = block_rebase(self, begin, n);
        if (!view || PyList_Append(list, view) < 0) Py_CLEAR(list);
        Py_XDECREF(view);
        base = begin[0];
        n = begin[n] - begin[0];
    }
    if (!list) return NULL;
    view = levada_py_view_new(self, column->values ? column->values + base * row : NULL, f->dtype,
                              n, column->dims, bytes ? 0 : f->ndim);
    return view ? Py_BuildValue("(NN)", view, list) : (Py_DECREF(list), NULL);
}

static PyObject *block_parts(PyObject *self, PyObject *index)
{
    const levada_column *column = block_column(self, index);
    int32_t              levels;

    if (!column) return NULL;
    levels = column->field->depth + (levada_dtype_is_bytes(column->field->dtype));
    if (levels == 0 || block_packed(column, levels)) return block_borrow(self, column, levels);
    return block_gather(self, column, levels);
}

/* One str or bytes object for each row of plain strings, straight from the block. */
static PyObject *block_strings(PyObject *self, PyObject *index)
{
    const levada_column *column = block_column(self, index);
    PyObject            *list = NULL, *item = NULL;
    int64_t              i, size = 0;

    if (!column) return NULL;
    if (!levada_dtype_is_bytes(column->field->dtype) || column->field->depth || column->field->ndim)
        Py_RETURN_NONE;
    list = PyList_New((Py_ssize_t)column->n);
    for (i = 0; list && i < column->n; i++) {
        const uint8_t *data = levada_column_bytes(column, i, &size);

        item = levada_py_string(column->field->dtype, (const char *)data, (Py_ssize_t)size);
        if (!item || PyList_SetItem(list, (Py_ssize_t)i, item) < 0) Py_CLEAR(list);
    }
    return list;
}

static PyObject *block_column_view(PyObject *self, const levada_column *column)
{
    if (column->field->depth || levada_dtype_is_bytes(column->field->dtype)) Py_RETURN_NONE;
    return levada_py_view_new(self, column->values, column->field->dtype, column->n, column->dims,
                              column->field->ndim);
}

static PyObject *block_values(PyObject *self, PyObject *index)
{
    const levada_column *column = block_column(self, index);

    return column ? block_column_view(self, column) : NULL;
}

static PyObject *block_lengths(PyObject *self, PyObject *index)
{
    const levada_column *column = block_column(self, index);

    if (!column) return NULL;
    if (!column->lengths) return Py_NewRef(Py_None);
    return levada_py_view_new(self, column->lengths, LEVADA_INT32, column->n, NULL, 0);
}

static PyObject *block_measure(PyObject *self, PyObject *index)
{
    const levada_column *column = block_column(self, index);
    levada_batch_sizes   s = LEVADA_BATCH_SIZES_INIT;
    levada_error         err = LEVADA_ERROR_INIT;

    if (!column) return NULL;
    if (!levada_py_ok(levada_batch_measure(block_of(self), column->field->name, &s, &err), &err))
        return NULL;
    return Py_BuildValue("LLLLLOOO", (long long)s.sequences, (long long)s.steps,
                         (long long)s.width, (long long)s.elements, (long long)s.longest,
                         s.padded ? Py_True : Py_False, s.packed ? Py_True : Py_False,
                         s.left ? Py_True : Py_False);
}

static bool block_fill(const levada_block *block, const char *field, int kind, bool left,
                       const Py_buffer *to)
{
    levada_batch_sizes s = LEVADA_BATCH_SIZES_INIT;
    levada_error       err = LEVADA_ERROR_INIT;
    levada_status      st;
    int64_t            bytes;

    if (!levada_py_ok(levada_batch_measure(block, field, &s, &err), &err)) return false;
    bytes = kind == 0 ? 4 * (s.sequences + 1) : kind == 3 ? s.rows * s.width : 4 * s.elements;
    if (to->len != bytes) {
        PyErr_Format(PyExc_ValueError, "the array has %zd bytes, not %lld", to->len,
                     (long long)bytes);
        return false;
    }
    if (kind == 0) st = levada_batch_cu_seqlens(block, field, to->buf, &err);
    else if (kind == 1) st = levada_batch_positions(block, field, to->buf, &err);
    else if (kind == 2) st = levada_batch_segment_ids(block, field, to->buf, &err);
    else st = levada_batch_mask(block, field, left, to->buf, &err);
    return levada_py_ok(st, &err);
}

static PyObject *block_fill_view(PyObject *self, PyObject *args)
{
    PyObject            *index = NULL;
    const levada_column *column;
    Py_buffer            to;
    int                  kind = 0, left = 0;
    bool                 good;

    if (!PyArg_ParseTuple(args, "Oiw*|p:fill_view", &index, &kind, &to, &left)) return NULL;
    column = block_column(self, index);
    good = column && block_fill(block_of(self), column->field->name, kind, left, &to);
    PyBuffer_Release(&to);
    if (!good) return NULL;
    Py_RETURN_NONE;
}

static PyObject *block_dims(PyObject *self, PyObject *index)
{
    const levada_column *column = block_column(self, index);

    return column ? levada_py_dims(-1, column->dims, column->field->ndim) : NULL;
}

/* Returns for each field the levels of its lists of objects, as bytes; None without objects. */
static PyObject *block_objects(PyObject *self, PyObject *unused)
{
    const levada_spec *spec = levada_block_spec(block_of(self));
    int32_t            n = levada_spec_count(spec);
    bool               any = false;
    PyObject          *list = NULL;

    for (int32_t i = 0; i < n; i++)
        for (int32_t l = 0; l < LEVADA_MAX_DEPTH; l++)
            any = any || levada_spec_field(spec, i)->object[l];
    if (!any) Py_RETURN_NONE;
    list = PyList_New(n);
    for (int32_t i = 0; list && i < n; i++) {
        const levada_field *f = levada_spec_field(spec, i);
        PyObject           *mark = PyBytes_FromStringAndSize((const char *)f->object,
                                                             LEVADA_MAX_DEPTH);

        if (!mark || PyList_SetItem(list, i, mark) < 0) Py_CLEAR(list);
    }
    return list;
}

LEVADA_PY_METHOD(block_fields, levada_py_block, true,
                 levada_py_fields(levada_block_spec(self->block)))

/* Interned: a look-up by a name that is written out in a program compares pointers. */
static PyObject *block_new_index(const levada_spec *spec)
{
    PyObject *index = PyDict_New();

    for (int32_t i = 0; index && i < levada_spec_count(spec); i++) {
        PyObject *name = levada_py_name(levada_spec_field(spec, i)->name);
        PyObject *number = PyLong_FromLong(i);

        if (!name || !number || PyDict_SetItem(index, name, number) < 0) Py_CLEAR(index);
        Py_XDECREF(number);
        Py_XDECREF(name);
    }
    return index;
}

PyObject *levada_py_block_index(PyObject *block)
{
    levada_py_block   *self = (levada_py_block *)block;
    levada_py_state   *state = levada_py_state_of(block);
    const levada_spec *spec = levada_block_spec(self->block);
    PyObject          *made = NULL, *old = NULL;

    if (self->index) return self->index;
    if (!state->index || state->spec != spec) {
        made = block_new_index(spec);
        if (!made) return NULL;
        old = state->index;
        state->index = made;
        levada_spec_unref(&state->spec);
        state->spec = levada_spec_ref(spec);
        Py_XDECREF(old);
    }
    return self->index = Py_NewRef(state->index);
}

PyObject *levada_py_block_array(PyObject *block, int32_t i)
{
    const levada_column *column = levada_block_at(block_of(block), i);

    if (!column || column->field->depth) return NULL;
    if (levada_dtype_is_bytes(column->field->dtype) || column->field->dtype == LEVADA_BFLOAT16)
        return NULL;
    return levada_py_array_new(block, column->values, column->field->dtype, column->n,
                               column->dims, column->field->ndim);
}

static PyObject *block_names(PyObject *self, void *unused)
{
    PyObject *index = levada_py_block_index(self);

    return index ? PySequence_Tuple(index) : NULL;
}

static PyObject *block_find(PyObject *self, PyObject *name)
{
    PyObject *index = levada_py_block_index(self);
    PyObject *found = index ? PyObject_GetItem(index, name) : NULL;

    if (found || !PyErr_ExceptionMatches(PyExc_KeyError)) return found;
    PyErr_Clear();
    return PyLong_FromLong(-1);
}

static PyObject *block_origins(PyObject *self, PyObject *args)
{
    int64_t   i, n = levada_block_rows(block_of(self));
    int       part = 0;
    PyObject *bytes = NULL;
    char     *at;

    if (!PyArg_ParseTuple(args, "|i", &part)) return NULL;
    bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)sizeof(levada_origin) * n);
    at = bytes ? PyBytes_AsString(bytes) : NULL;
    for (i = 0; at && i < n; i++, at += sizeof(levada_origin)) {
        levada_origin origin = levada_block_origin_part(block_of(self), i, part);

        memcpy(at, &origin, sizeof origin);
    }
    return bytes;
}

LEVADA_PY_GETTER(block_origin_parts, levada_py_block,
                 PyLong_FromLong(levada_block_origin_parts(self->block)))
LEVADA_PY_GETTER(block_rows, levada_py_block, PyLong_FromLongLong(levada_block_rows(self->block)))
LEVADA_PY_GETTER(block_bytes, levada_py_block, PyLong_FromLongLong(levada_block_bytes(self->block)))
LEVADA_PY_GETTER(block_flags, levada_py_block,
                 PyLong_FromLong(levada_spec_flags_of(levada_block_spec(self->block))))

int32_t *levada_py_columns(PyObject *list, int32_t n)
{
    int32_t *columns = NULL;

    if (PySequence_Size(list) != n)
        return PyErr_SetString(PyExc_TypeError, "expected a column for each component"), NULL;
    columns = PyMem_Calloc((size_t)n + 1, sizeof *columns);
    if (!columns) return PyErr_NoMemory(), NULL;
    for (int32_t i = 0; i < n; i++) {
        PyObject *column = PySequence_GetItem(list, i);

        columns[i] = column ? (int32_t)PyLong_AsLong(column) : -1;
        Py_XDECREF(column);
        if (PyErr_Occurred()) return PyMem_Free(columns), NULL;
    }
    return columns;
}

/* Provides a buffer without bytes, because NumPy asks the base of an array for a writable buffer
 * before it lets its user write again into an array that was made read-only. */
static int block_buffer(PyObject *self, Py_buffer *out, int flags)
{
    return PyBuffer_FillInfo(out, self, self, 0, !((levada_py_block *)self)->writable, flags);
}

static PyMethodDef block_methods[] = {
    {"fields", block_fields, METH_NOARGS,
     "List of (name, dtype, depth, dims, padded, pad) of the columns."},
    {"objects", block_objects, METH_NOARGS,
     "List of the marks of columns that are members of lists of objects, or None."},
    {"find", block_find, METH_O, "Number of the column of that name, or -1."},
    {"dims", block_dims, METH_O, "Inner dimensions of a column, all known."},
    {"strings", block_strings, METH_O,
     "List of str or bytes of a column of plain strings, or None."},
    {"values", block_values, METH_O, "View of a FIXED column, [n, dims...], or None."},
    {"parts", block_parts, METH_O, "(values, [offsets of each level]) of a column, packed."},
    {"lengths", block_lengths, METH_O, "View of the lengths before padding, or None."},
    {"measure", block_measure, METH_O,
     "(sequences, steps, width, elements, longest, padded, packed, left) of a column of a batch."},
    {"fill_view", block_fill_view, METH_VARARGS,
     "fill_view(i, kind, out, left=False): fills out with cu_seqlens (0), positions (1), segment "
     "ids (2) or the mask (3)."},
    {"origins", block_origins, METH_VARARGS, "Origins of one part as bytes, one struct a record."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef block_getset[] = {
    {"lanes", block_origin_parts, NULL, "Origins of a record.", NULL},
    {"rows", block_rows, NULL, "Records in the block.", NULL},
    {"bytes", block_bytes, NULL, "Total memory in bytes that the block holds.", NULL},
    {"names", block_names, NULL, "Names of the columns, a tuple.", NULL},
    {"flags", block_flags, NULL, "Sum of levada_spec_flags: 1 open, 2 batched.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

LEVADA_PY_TYPE(block, "Block", levada_py_block, Py_TPFLAGS_DISALLOW_INSTANTIATION,
               "Records as columns; levada.Batch wraps it.",
               LEVADA_PY_SLOT(tp_dealloc, block_dealloc),
               LEVADA_PY_SLOT(tp_methods, block_methods),
               LEVADA_PY_SLOT(bf_getbuffer, block_buffer),
               LEVADA_PY_SLOT(tp_getset, block_getset));
