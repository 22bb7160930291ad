/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks to Arrow and back, in the capsules of Arrow's PyCapsule interface: a capsule owns its
 * struct until a consumer moves it out.
 */
#include "module.h"

#include <levada/arrow.h>

#include <errno.h>
#include <string.h>

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

/* Returns the schema of a block in a capsule. */
static PyObject *arrow_schema_of(const levada_block *block)
{
    levada_error err = LEVADA_ERROR_INIT;
    void        *held = NULL;
    PyObject    *capsule =
        arrow_capsule("arrow_schema", sizeof(struct ArrowSchema), arrow_free_schema, &held);

    if (capsule &&
        !levada_py_ok(levada_arrow_export_spec(levada_block_spec(block), held, &err), &err))
        Py_CLEAR(capsule);
    return capsule;
}

static PyObject *arrow_schema(PyObject *module, PyObject *args)
{
    levada_py_state *state = PyModule_GetState(module);
    PyObject        *block = NULL;

    if (!PyArg_ParseTuple(args, "O!:arrow_schema", state->block, &block)) return NULL;
    return arrow_schema_of(((levada_py_block *)block)->block);
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
    schema = arrow_schema_of(block);
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

/* -- streams of what an iterator of Python returns */

typedef struct arrow_blocks {
    PyObject     *module, *iterator;
    levada_block *first;  /* taken for its schema, and not exported yet */
    levada_spec  *spec;   /* of all blocks; NULL before the first one   */
    bool          ended;
    int           failed; /* an errno value that is repeated            */
    char          text[1024];
} arrow_blocks;

/* Keeps the text of the exception that is set. */
static int arrow_failed(arrow_blocks *s)
{
    PyObject   *type = NULL, *value = NULL, *trace = NULL, *text;
    const char *utf8;

    PyErr_Fetch(&type, &value, &trace);
    text = value ? PyObject_Str(value) : NULL;
    utf8 = text ? PyUnicode_AsUTF8AndSize(text, NULL) : NULL;
    (void)PyOS_snprintf(s->text, sizeof s->text, "%s", utf8 ? utf8 : "the iterator failed");
    PyErr_Clear();
    Py_XDECREF(text);
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(trace);
    s->failed = EIO;
    return EIO;
}

static int arrow_refused(arrow_blocks *s, const levada_error *err)
{
    (void)levada_error_text(err, s->text, sizeof s->text);
    s->failed = EINVAL;
    return EINVAL;
}

/* Takes the next block; *out is NULL at the end. */
static int arrow_take(arrow_blocks *s, levada_block **out)
{
    levada_py_state *state = PyModule_GetState(s->module);
    PyObject        *item;

    *out = s->first;
    s->first = NULL;
    if (*out || s->ended) return 0;
    item = PyIter_Next(s->iterator);
    if (!item && PyErr_Occurred()) return arrow_failed(s);
    s->ended = !item;
    if (!item) return 0;
    if (!PyObject_TypeCheck(item, state->block)) {
        Py_DECREF(item);
        PyErr_SetString(PyExc_TypeError, "an Arrow stream has blocks");
        return arrow_failed(s);
    }
    *out = levada_block_ref(((levada_py_block *)item)->block);
    Py_DECREF(item);
    if (!s->spec) s->spec = levada_spec_ref(levada_block_spec(*out));
    return 0;
}

/* Learns the columns from the first block; a stream without blocks has none. */
static int arrow_learn(arrow_blocks *s)
{
    levada_error err = LEVADA_ERROR_INIT;

    if (s->failed) return s->failed;
    if (s->spec) return 0;
    if (arrow_take(s, &s->first)) return s->failed;
    if (!s->spec && levada_spec_create(NULL, 0, 0, &s->spec, &err) != LEVADA_OK)
        return arrow_refused(s, &err);
    return 0;
}

static int arrow_stream_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out)
{
    arrow_blocks    *s = stream->private_data;
    levada_error     err = LEVADA_ERROR_INIT;
    PyGILState_STATE held = PyGILState_Ensure();
    int              failed = arrow_learn(s);

    if (!failed && levada_arrow_export_spec(s->spec, out, &err) != LEVADA_OK)
        failed = arrow_refused(s, &err);
    PyGILState_Release(held);
    return failed;
}

static int arrow_stream_next(struct ArrowArrayStream *stream, struct ArrowArray *out)
{
    arrow_blocks    *s = stream->private_data;
    levada_error     err = LEVADA_ERROR_INIT;
    levada_block    *block = NULL;
    PyGILState_STATE held = PyGILState_Ensure();
    int              failed = arrow_learn(s);

    memset(out, 0, sizeof *out);
    if (!failed) failed = arrow_take(s, &block);
    PyGILState_Release(held);
    if (failed || !block) return failed;
    if (!levada_spec_equal(levada_block_spec(block), s->spec))
        (void)levada_fail(&err, LEVADA_EINVALID_ARGUMENT,
                          "all batches of an Arrow stream must have the same fields and dtypes");
    else if (levada_arrow_export_block(block, out, &err) == LEVADA_OK)
        levada_error_clear(&err);
    levada_block_unref(&block);
    return err.code == LEVADA_OK ? 0 : arrow_refused(s, &err);
}

static const char *arrow_stream_text(struct ArrowArrayStream *stream)
{
    const arrow_blocks *s = stream->private_data;

    return s->failed ? s->text : NULL;
}

static void arrow_stream_release(struct ArrowArrayStream *stream)
{
    arrow_blocks    *s = stream->private_data;
    PyGILState_STATE held;

    levada_block_unref(&s->first);
    levada_spec_unref(&s->spec);
    stream->release = NULL;
    if (!Py_IsInitialized()) return; /* its objects have gone with the interpreter */
    held = PyGILState_Ensure();
    Py_DECREF(s->iterator);
    Py_DECREF(s->module);
    PyMem_Free(s);
    PyGILState_Release(held);
}

static PyObject *arrow_stream(PyObject *module, PyObject *iterator)
{
    void         *held = NULL;
    PyObject     *capsule = arrow_capsule("arrow_array_stream", sizeof(struct ArrowArrayStream),
                                          arrow_free_stream, &held);
    arrow_blocks *s = capsule ? PyMem_Calloc(1, sizeof *s) : NULL;

    if (capsule && !s) PyErr_NoMemory();
    if (s) s->iterator = PyObject_GetIter(iterator);
    if (!s || !s->iterator) {
        PyMem_Free(s);
        Py_XDECREF(capsule);
        return NULL;
    }
    s->module = Py_NewRef(module);
    *(struct ArrowArrayStream *)held = (struct ArrowArrayStream){
        arrow_stream_schema, arrow_stream_next, arrow_stream_text, arrow_stream_release, s
    };
    return capsule;
}

PyMethodDef levada_py_functions_arrow[] = {
    {"arrow_schema", arrow_schema, METH_VARARGS, "arrow_schema(block): a capsule."},
    {"arrow_export", arrow_export, METH_VARARGS,
     "arrow_export(block): the capsules of schema and array."},
    {"arrow_import", arrow_import, METH_VARARGS,
     "arrow_import(schema, array, nulls=0, first=0, n=-1): the block of n rows; nulls are errors "
     "(0), defaults (1) or defaults with masks (2)."},
    {"arrow_stream", arrow_stream, METH_O, "arrow_stream(blocks): a capsule."},
    {NULL, NULL, 0, NULL},
};
