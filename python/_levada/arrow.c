/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks to Arrow and back, in the capsules of Arrow's PyCapsule interface: a capsule owns its
 * struct until a consumer moves it out.
 */
#include "pieces.h"

static void arrow_free_schema(PyObject *capsule)
{
    struct ArrowSchema *held = PyCapsule_GetPointer(capsule, "arrow_schema");

    if (held && held->release) held->release(held);
    PyMem_Free(held);
}

static void arrow_free_array(PyObject *capsule)
{
    struct ArrowArray *held = PyCapsule_GetPointer(capsule, "arrow_array");

    if (held && held->release) held->release(held);
    PyMem_Free(held);
}

static void arrow_free_stream(PyObject *capsule)
{
    struct ArrowArrayStream *held = PyCapsule_GetPointer(capsule, "arrow_array_stream");

    if (held && held->release) held->release(held);
    PyMem_Free(held);
}

/* Returns a capsule of an empty struct, *held, which the caller fills in. */
static PyObject *arrow_capsule(const char *name, size_t size, PyCapsule_Destructor free,
                               void **held)
{
    PyObject *capsule;

    *held = PyMem_Calloc(1, size);
    if (!*held) return PyErr_NoMemory();
    capsule = PyCapsule_New(*held, name, free);
    if (!capsule) PyMem_Free(*held);
    return capsule;
}

/* Returns the spec of a block or a dataset, which has it; NULL with a TypeError. */
static const levada_spec *arrow_spec_of(levada_py_state *state, PyObject *object)
{
    levada_dataset *dataset;

    if (PyObject_TypeCheck(object, (PyTypeObject *)state->block))
        return levada_block_spec(((levada_py_block *)object)->block);
    dataset = levada_py_dataset_of(state, object);
    return dataset ? levada_dataset_spec(dataset) : NULL;
}

static PyObject *arrow_schema(PyObject *module, PyObject *object)
{
    const levada_spec *spec = arrow_spec_of(PyModule_GetState(module), object);
    levada_error err = LEVADA_ERROR_INIT;
    void        *held = NULL;
    PyObject    *capsule;

    if (!spec) return NULL;
    capsule = arrow_capsule("arrow_schema", sizeof(struct ArrowSchema), arrow_free_schema, &held);
    if (capsule && !levada_py_ok(levada_arrow_export_spec(spec, held, &err), &err))
        Py_CLEAR(capsule);
    return capsule;
}

static PyObject *arrow_export(PyObject *module, PyObject *args)
{
    levada_py_state *state = PyModule_GetState(module);
    levada_error     err = LEVADA_ERROR_INIT;
    levada_status    st = LEVADA_OK;
    PyObject        *object = NULL, *schema, *capsule;
    levada_block    *block;
    void            *held = NULL;

    if (!PyArg_ParseTuple(args, "O!:arrow_export", state->block, &object)) return NULL;
    block = ((levada_py_block *)object)->block;
    schema = arrow_schema(module, object);
    if (!schema) return NULL;
    capsule = arrow_capsule("arrow_array", sizeof(struct ArrowArray), arrow_free_array, &held);
    if (capsule) {
        LEVADA_PY_UNLOCKED(st = levada_arrow_export_block(block, held, &err));
        if (levada_py_ok(st, &err)) return Py_BuildValue("(NN)", schema, capsule);
    }
    Py_DECREF(schema);
    Py_XDECREF(capsule);
    return NULL;
}

static PyObject *arrow_import(PyObject *module, PyObject *args)
{
    levada_arrow_options options = LEVADA_ARROW_OPTIONS_INIT;
    levada_error         err = LEVADA_ERROR_INIT;
    levada_status        st = LEVADA_OK;
    PyObject            *of = NULL, *from = NULL;
    struct ArrowSchema  *schema;
    struct ArrowArray   *array;
    levada_spec         *spec = NULL;
    levada_block        *block = NULL;
    long long            first = 0, n = -1;
    int                  nulls = LEVADA_ARROW_NULLS_ERROR;

    if (!PyArg_ParseTuple(args, "OO|iLL:arrow_import", &of, &from, &nulls, &first, &n)) return NULL;
    schema = PyCapsule_GetPointer(of, "arrow_schema");
    array = schema ? PyCapsule_GetPointer(from, "arrow_array") : NULL;
    if (!array) return NULL;
    options.nulls = (levada_arrow_nulls)nulls;
    if (n < 0) n = array->length - first;
    LEVADA_PY_UNLOCKED({
        st = levada_arrow_import_spec(schema, &options, &spec, &err);
        if (st == LEVADA_OK)
            st = levada_arrow_import_block(NULL, spec, schema, array, first, n, &options, &block,
                                           &err);
    });
    levada_spec_unref(&spec);
    return levada_py_ok(st, &err) ? levada_py_block_new(PyModule_GetState(module), &block) : NULL;
}

/* -- arrays whose blocks share their memory */

static const char arrow_rows_name[] = "levada_arrow_rows";
static const char arrow_taken_name[] = "levada_arrow_rows, taken";

static void arrow_free_rows(PyObject *capsule)
{
    levada_arrow_rows *rows = PyCapsule_GetPointer(capsule, arrow_rows_name);

    levada_arrow_rows_unref(&rows);
}

levada_arrow_rows *levada_py_arrow_rows_take(PyObject *capsule)
{
    levada_arrow_rows *rows = PyCapsule_GetPointer(capsule, arrow_rows_name);

    if (!rows || PyCapsule_SetName(capsule, arrow_taken_name) < 0 ||
        PyCapsule_SetDestructor(capsule, NULL) < 0)
        return NULL;
    return rows;
}

static PyObject *arrow_hold(PyObject *module, PyObject *args)
{
    levada_arrow_options options = LEVADA_ARROW_OPTIONS_INIT;
    levada_error         err = LEVADA_ERROR_INIT;
    PyObject            *of = NULL, *from = NULL, *capsule;
    struct ArrowSchema  *schema;
    struct ArrowArray   *array;
    levada_arrow_rows   *rows = NULL;
    unsigned long long   address = 0;
    long long            size = 0;
    int                  nulls = LEVADA_ARROW_NULLS_ERROR;

    (void)module;
    if (!PyArg_ParseTuple(args, "OO|iKL:arrow_hold", &of, &from, &nulls, &address, &size))
        return NULL;
    schema = PyCapsule_GetPointer(of, "arrow_schema");
    array = schema ? PyCapsule_GetPointer(from, "arrow_array") : NULL;
    if (!array) return NULL;
    options.nulls = (levada_arrow_nulls)nulls;
    options.readable = (const void *)(uintptr_t)address; /* NOLINT(performance-no-int-to-ptr) */
    options.readable_size = size;
    if (!levada_py_ok(levada_arrow_hold(schema, array, &options, &rows, &err), &err)) return NULL;
    capsule = PyCapsule_New(rows, arrow_rows_name, arrow_free_rows);
    if (!capsule) levada_arrow_rows_unref(&rows);
    return capsule;
}

/* Lists the arrays of capsules; NULL with an exception. */
static levada_arrow_rows **arrow_list(PyObject *list)
{
    Py_ssize_t          n = PyList_Size(list);
    levada_arrow_rows **from = n < 0 ? NULL : PyMem_Calloc((size_t)n + 1, sizeof *from);

    if (n >= 0 && !from) PyErr_NoMemory();
    for (Py_ssize_t i = 0; from && i < n; i++) {
        PyObject *capsule = PySequence_GetItem(list, i);

        from[i] = capsule ? PyCapsule_GetPointer(capsule, arrow_rows_name) : NULL;
        Py_XDECREF(capsule); /* the list keeps it */
        if (from[i]) continue;
        PyMem_Free(from);
        return NULL;
    }
    return from;
}

/* Finds the array of each of n numbers, which is the last that begins at or before it, and the row
 * in that array. */
static void arrow_find(const int64_t *firsts, int32_t count, const int64_t *numbers, int64_t n,
                       int32_t *which, int64_t *rows)
{
    for (int64_t i = 0; i < n; i++) {
        int32_t low = 0, high = count - 1;

        while (low < high) {
            int32_t middle = high - (high - low) / 2;

            if (firsts[middle] <= numbers[i]) low = middle;
            else high = middle - 1;
        }
        which[i] = low;
        rows[i] = numbers[i] - firsts[low];
    }
}

static PyObject *arrow_pick(PyObject *module, PyObject *args)
{
    levada_error        err = LEVADA_ERROR_INIT;
    levada_status       st = LEVADA_OK;
    PyObject           *list = NULL, *block = NULL;
    Py_buffer           firsts, numbers;
    levada_arrow_rows **from;
    levada_block       *made = NULL;
    int64_t             n, *rows;
    int32_t             count;

    if (!PyArg_ParseTuple(args, "O!y*y*:arrow_pick", &PyList_Type, &list, &firsts, &numbers))
        return NULL;
    from = arrow_list(list);
    count = (int32_t)PyList_Size(list);
    n = numbers.len / (Py_ssize_t)sizeof *rows;
    rows = PyMem_Calloc((size_t)n + 1, sizeof *rows + sizeof(int32_t));
    if (from && !rows) {
        PyErr_NoMemory();
    } else if (from && (count < 1 || firsts.len != count * (Py_ssize_t)sizeof *rows)) {
        PyErr_SetString(PyExc_ValueError,
                        "arrays must not be empty, and firsts must have the same length");
    } else if (from) {
        int32_t *which = (int32_t *)(rows + n);

        LEVADA_PY_UNLOCKED({
            arrow_find(firsts.buf, count, numbers.buf, n, which, rows);
            st = levada_arrow_pick(NULL, from, count, which, rows, n, &made, &err);
        });
        if (levada_py_ok(st, &err)) block = levada_py_block_new(PyModule_GetState(module), &made);
    }
    PyMem_Free(rows);
    PyMem_Free(from);
    PyBuffer_Release(&firsts);
    PyBuffer_Release(&numbers);
    return block;
}

/* -- streams of what an iterator of Python returns */

typedef struct arrow_blocks {
    PyTypeObject *type; /* of a block */
    PyObject     *iterator;
} arrow_blocks;

/* Makes an error of the exception that is set. */
static levada_status arrow_failed(levada_error *err)
{
    PyObject   *type = NULL, *value = NULL, *trace = NULL, *text;
    const char *utf8;

    PyErr_Fetch(&type, &value, &trace);
    text = value ? PyObject_Str(value) : NULL;
    utf8 = text ? PyUnicode_AsUTF8AndSize(text, NULL) : NULL;
    (void)levada_fail(err, LEVADA_EUNKNOWN, "%s", utf8 ? utf8 : "the iterator failed");
    PyErr_Clear();
    Py_XDECREF(text);
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(trace);
    return LEVADA_EUNKNOWN;
}

static levada_status arrow_take(const arrow_blocks *s, levada_block **out, levada_error *err)
{
    PyObject *item = PyIter_Next(s->iterator);

    if (!item) return PyErr_Occurred() ? arrow_failed(err) : LEVADA_END;
    if (PyObject_TypeCheck(item, s->type)) {
        *out = levada_block_ref(((levada_py_block *)item)->block);
        Py_DECREF(item);
        return LEVADA_OK;
    }
    Py_DECREF(item);
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                       "an Arrow stream needs an iterable of blocks");
}

static levada_status arrow_next(void *user, levada_block **out, levada_error *err)
{
    PyGILState_STATE held = PyGILState_Ensure();
    levada_status    st = arrow_take(user, out, err);

    PyGILState_Release(held);
    return st;
}

static void arrow_close(void *user)
{
    arrow_blocks    *s = user;
    PyGILState_STATE held;

    if (!Py_IsInitialized()) return; /* its objects have gone with the interpreter */
    held = PyGILState_Ensure();
    Py_DECREF(s->iterator);
    Py_DECREF(s->type);
    PyMem_Free(s);
    PyGILState_Release(held);
}

static PyObject *arrow_stream(PyObject *module, PyObject *args)
{
    levada_py_state   *state = PyModule_GetState(module);
    levada_error       err = LEVADA_ERROR_INIT;
    const levada_spec *spec;
    PyObject          *of = NULL, *iterator = NULL, *capsule;
    arrow_blocks      *s;
    void              *held = NULL;

    if (!PyArg_ParseTuple(args, "OO:arrow_stream", &of, &iterator)) return NULL;
    spec = arrow_spec_of(state, of);
    if (!spec) return NULL;
    capsule = arrow_capsule("arrow_array_stream", sizeof(struct ArrowArrayStream),
                            arrow_free_stream, &held);
    s = capsule ? PyMem_Calloc(1, sizeof *s) : NULL;
    if (capsule && !s) PyErr_NoMemory();
    if (s) s->iterator = PyObject_GetIter(iterator);
    if (!s || !s->iterator) {
        PyMem_Free(s);
        Py_XDECREF(capsule);
        return NULL;
    }
    s->type = (PyTypeObject *)Py_NewRef((PyObject *)state->block);
    if (!levada_py_ok(levada_arrow_export_blocks(spec, arrow_next, arrow_close, s, held, &err),
                      &err)) {
        arrow_close(s);
        Py_CLEAR(capsule);
    }
    return capsule;
}

PyMethodDef levada_py_functions_arrow[] = {
    {"arrow_schema", arrow_schema, METH_O, "arrow_schema(block or dataset): a capsule."},
    {"arrow_export", arrow_export, METH_VARARGS,
     "arrow_export(block): the capsules of schema and array."},
    {"arrow_import", arrow_import, METH_VARARGS,
     "arrow_import(schema, array, nulls=0, first=0, n=-1): the block of n rows; nulls are errors "
     "(0), defaults (1) or defaults with masks (2)."},
    {"arrow_hold", arrow_hold, METH_VARARGS,
     "arrow_hold(schema, array, nulls=0, address=0, size=0): takes both from their capsules; a "
     "capsule of an array whose blocks share its memory. Bytes at the address are readable."},
    {"arrow_pick", arrow_pick, METH_VARARGS,
     "arrow_pick(arrays, firsts, numbers): the block of the rows with these numbers (int64); those "
     "of arrays[k] begin at firsts[k] (int64), which ascend."},
    {"arrow_stream", arrow_stream, METH_VARARGS,
     "arrow_stream(block or dataset of the fields, blocks): a capsule."},
    {NULL, NULL, 0, NULL},
};
