/* SPDX-License-Identifier: Apache-2.0 */
/* Datasets as Python sees them: made from a name and options, read from text, printed. */
#include "module.h"
#include <levada/binding.h>
#include <levada/divide.h>
#include <levada/inspect.h>
#include <levada/open.h>
#include <levada/sample.h>

#include <string.h>

PyObject *levada_py_dataset_new(levada_py_state *state, levada_dataset **dataset)
{
    levada_py_dataset *self = (levada_py_dataset *)PyType_GenericAlloc(state->dataset, 0);

    if (self) {
        self->dataset = *dataset;
        *dataset = NULL;
    }
    levada_dataset_unref(dataset);
    return (PyObject *)self;
}

levada_dataset *levada_py_dataset_of(levada_py_state *state, PyObject *object)
{
    if (Py_IS_TYPE(object, state->dataset)) return ((levada_py_dataset *)object)->dataset;
    PyErr_Format(PyExc_TypeError, "expected a levada dataset, got %R", (PyObject *)Py_TYPE(object));
    return NULL;
}

static void dataset_dealloc(PyObject *self)
{
    levada_dataset_unref(&((levada_py_dataset *)self)->dataset);
    levada_py_free(self);
}

static const levada_dataset *dataset_of(PyObject *self)
{
    return ((levada_py_dataset *)self)->dataset;
}

LEVADA_PY_TEXT_METHOD(dataset_text, levada_py_dataset, true, levada_dataset_text, self->dataset)
LEVADA_PY_TEXT_METHOD(dataset_json, levada_py_dataset, true, levada_dataset_json, self->dataset)
LEVADA_PY_TEXT_METHOD(dataset_explain, levada_py_dataset, true, levada_dataset_explain,
                      self->dataset)

static PyObject *dataset_fingerprint(PyObject *self, PyObject *unused)
{
    levada_error err = LEVADA_ERROR_INIT;
    uint8_t      print[16];

    if (!levada_py_ok(levada_dataset_fingerprint(dataset_of(self), print, &err), &err))
        return NULL;
    return PyBytes_FromStringAndSize((const char *)print, sizeof print);
}

PyObject *levada_py_fields(const levada_spec *spec)
{
    int32_t   i, n = levada_spec_count(spec);
    PyObject *fields = PyList_New(0), *dims = NULL, *row = NULL;

    for (i = 0; fields && i < n; i++) {
        const levada_field *f = levada_spec_field(spec, i);

        dims = levada_py_dims(-1, f->dims, f->ndim);
        row = dims
                  ? Py_BuildValue("(NsiNOy#)", levada_py_name(f->name), levada_dtype_name(f->dtype),
                                  f->depth, dims, f->padded ? Py_True : Py_False,
                                  (const char *)f->pad, (Py_ssize_t)levada_dtype_size(f->dtype))
                  : NULL;
        if (!row || PyList_Append(fields, row) < 0) Py_CLEAR(fields);
        Py_XDECREF(row);
    }
    return fields;
}

LEVADA_PY_METHOD(dataset_fields, levada_py_dataset, true,
                 levada_py_fields(levada_dataset_spec(self->dataset)))
LEVADA_PY_GETTER(dataset_flags, levada_py_dataset,
                 PyLong_FromLong(levada_spec_flags_of(levada_dataset_spec(self->dataset))))
LEVADA_PY_GETTER(dataset_name, levada_py_dataset,
                 PyUnicode_FromString(levada_dataset_name(self->dataset)))

static PyObject *dataset_options(PyObject *self, PyObject *unused)
{
    const levada_value *options = levada_dataset_options(dataset_of(self));

    return options ? levada_py_from_value(levada_py_state_of(self), options) : PyDict_New();
}

static PyObject *dataset_inputs(PyObject *self, PyObject *unused)
{
    int32_t   i, n = levada_dataset_inputs(dataset_of(self));
    PyObject *inputs = PyList_New(0), *made = NULL;

    for (i = 0; inputs && i < n; i++) {
        levada_dataset *input = levada_dataset_ref(levada_dataset_input(dataset_of(self), i));

        made = levada_py_dataset_new(levada_py_state_of(self), &input);
        if (!made || PyList_Append(inputs, made) < 0) Py_CLEAR(inputs);
        Py_XDECREF(made);
    }
    return inputs;
}

/* Returns the traits of the last stage that the package asks for: what it does to records. */
static PyObject *dataset_traits(PyObject *self, PyObject *unused)
{
    levada_traits t = {.struct_size = sizeof t};
    levada_error  err = LEVADA_ERROR_INIT;
    bool          counts, orders, alone;

    if (!levada_py_ok(levada_dataset_traits(dataset_of(self), &t, &err), &err)) return NULL;
    counts = t.rows == LEVADA_ROWS_SUBSET && t.reads == LEVADA_READS_NONE && !t.shards;
    orders = t.random == LEVADA_RANDOM_BY_PASS && t.rows != LEVADA_ROWS_SUBSET;
    alone = t.rows == LEVADA_ROWS_SUBSET && t.reads == LEVADA_READS_COLUMNS && t.never_rejects &&
            t.random == LEVADA_RANDOM_NONE && !t.side_effects;
    return Py_BuildValue("{s:O,s:O,s:O,s:O,s:O,s:O}", "random",
                         t.random != LEVADA_RANDOM_NONE ? Py_True : Py_False, "shards",
                         t.shards ? Py_True : Py_False, "counts", counts ? Py_True : Py_False,
                         "reorders", orders ? Py_True : Py_False, "repeats",
                         t.repeats ? Py_True : Py_False, "splits", alone ? Py_True : Py_False);
}

/* Records or batches; None = not known. */
static PyObject *dataset_length(PyObject *self, PyObject *unused)
{
    int64_t       n = -1;
    levada_error  err = LEVADA_ERROR_INIT;
    levada_status st;

    LEVADA_PY_UNLOCKED(st = levada_dataset_length(dataset_of(self), &n, &err));
    if (!levada_py_ok(st, &err)) return NULL;
    if (n < 0) Py_RETURN_NONE;
    return PyLong_FromLongLong(n);
}

/* Two objects are equal if they stand for one dataset in C. */
static PyObject *dataset_compare(PyObject *self, PyObject *other, int how)
{
    bool same = Py_TYPE(self) == Py_TYPE(other) &&
                ((levada_py_dataset *)self)->dataset == ((levada_py_dataset *)other)->dataset;

    if (how != Py_EQ && how != Py_NE) return Py_NewRef(Py_NotImplemented);
    return PyBool_FromLong(same == (how == Py_EQ));
}

static Py_hash_t dataset_hash(PyObject *self)
{
    return (Py_hash_t)((uintptr_t)((levada_py_dataset *)self)->dataset >> 4);
}

static PyMethodDef dataset_methods[] = {
    {"text", dataset_text, METH_NOARGS, "Short text form."},
    {"json", dataset_json, METH_NOARGS, "Canonical JSON."},
    {"explain", dataset_explain, METH_NOARGS, "What it means when it runs, as text."},
    {"fingerprint", dataset_fingerprint, METH_NOARGS, "16 bytes over the canonical JSON."},
    {"fields", dataset_fields, METH_NOARGS,
     "List of (name, dtype, depth, dims, padded, pad) of the columns."},
    {"options", dataset_options, METH_NOARGS, "Options of the last stage."},
    {"inputs", dataset_inputs, METH_NOARGS, "Inputs of the last stage."},
    {"traits", dataset_traits, METH_NOARGS,
     "(random, shards, takes by number, reorders each epoch, repeats, selects from each "
     "block alone) of the last stage."},
    {"length", dataset_length, METH_NOARGS, "Records or batches; None = not known."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef dataset_getset[] = {
    {"name", dataset_name, NULL, "Name of the last stage.", NULL},
    {"flags", dataset_flags, NULL, "Sum of levada_spec_flags: 1 open, 2 batched.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

LEVADA_PY_TYPE(dataset, "Dataset", levada_py_dataset, Py_TPFLAGS_DISALLOW_INSTANTIATION,
               "Description of a pipeline; levada.Dataset wraps it.",
               LEVADA_PY_SLOT(tp_dealloc, dataset_dealloc),
               LEVADA_PY_SLOT(tp_hash, dataset_hash),
               LEVADA_PY_SLOT(tp_richcompare, dataset_compare),
               LEVADA_PY_SLOT(tp_methods, dataset_methods),
               LEVADA_PY_SLOT(tp_getset, dataset_getset));

static bool dataset_collect(levada_py_state *state, PyObject *inputs,
                            const levada_dataset **out, Py_ssize_t n)
{
    Py_ssize_t i;

    for (i = 0; i < n; i++) {
        PyObject *at = PySequence_GetItem(inputs, i);

        if (!at) return false;
        out[i] = levada_py_dataset_of(state, at);
        Py_DECREF(at); /* the sequence holds it */
        if (!out[i]) return false;
    }
    return true;
}

/* Returns the stage `name`, or without a name `last` with other inputs and options. */
static PyObject *dataset_make(levada_py_state *state, const char *name, const levada_dataset *last,
                              PyObject *tuple, PyObject *dict)
{
    Py_ssize_t             n = PyTuple_Size(tuple);
    const levada_dataset **inputs = PyMem_Calloc((size_t)n + 1, sizeof *inputs);
    levada_value          *options = NULL;
    levada_dataset        *made = NULL;
    levada_error           err = LEVADA_ERROR_INIT;
    levada_status          st;
    PyObject              *result = NULL;

    if (!inputs) return PyErr_NoMemory();
    if (dataset_collect(state, tuple, inputs, n)) options = levada_py_value(state, dict);
    if (options) {
        LEVADA_PY_UNLOCKED(
            st = name ? levada_dataset_append(NULL, name, options, inputs, (int32_t)n, &made, &err)
                      : levada_dataset_remake(last, options, inputs, (int32_t)n, &made, &err));
        if (levada_py_ok(st, &err)) result = levada_py_dataset_new(state, &made);
    }
    levada_value_destroy(&options);
    PyMem_Free(inputs);
    return result;
}

static PyObject *dataset_append(PyObject *module, PyObject *args)
{
    const char *name = NULL;
    PyObject   *dict = NULL, *tuple = NULL;

    if (!PyArg_ParseTuple(args, "sO!O!:append", &name, &PyDict_Type, &dict, &PyTuple_Type, &tuple))
        return NULL;
    return dataset_make(PyModule_GetState(module), name, NULL, tuple, dict);
}

static PyObject *dataset_remake(PyObject *module, PyObject *args)
{
    levada_py_state      *state = PyModule_GetState(module);
    PyObject             *last = NULL, *tuple = NULL, *dict = NULL;
    const levada_dataset *ds = NULL;

    if (!PyArg_ParseTuple(args, "OO!O!:remake", &last, &PyTuple_Type, &tuple, &PyDict_Type, &dict))
        return NULL;
    ds = levada_py_dataset_of(state, last);
    return ds ? dataset_make(state, NULL, ds, tuple, dict) : NULL;
}

/* divide(dataset, index, count, equal or None, files, seeded, skips) */
static PyObject *dataset_divide(PyObject *module, PyObject *args)
{
    levada_py_state      *state = PyModule_GetState(module);
    levada_divide_options o = LEVADA_DIVIDE_OPTIONS_INIT;
    PyObject             *object = NULL;
    long long             index = 0, count = 0;
    int                   files = 0, seeded = 0, skips = 0;
    const levada_dataset *dataset = NULL;
    levada_dataset       *made = NULL;
    levada_error          err = LEVADA_ERROR_INIT;
    levada_status         st;

    if (!PyArg_ParseTuple(args, "OLLzppp:divide", &object, &index, &count, &o.equal, &files,
                          &seeded, &skips))
        return NULL;
    dataset = levada_py_dataset_of(state, object);
    if (!dataset) return NULL;
    o.index = index;
    o.count = count;
    o.by = files ? LEVADA_DIVIDE_FILES : LEVADA_DIVIDE_RECORDS;
    o.seeded = seeded;
    o.skips = skips;
    LEVADA_PY_UNLOCKED(st = levada_dataset_divide(dataset, &o, &made, &err));
    return levada_py_ok(st, &err) ? levada_py_dataset_new(state, &made) : NULL;
}

static PyObject *dataset_check_divided(PyObject *module, PyObject *object)
{
    const levada_dataset *dataset = levada_py_dataset_of(PyModule_GetState(module), object);
    levada_error          err = LEVADA_ERROR_INIT;

    return dataset ? levada_py_none(levada_dataset_check_divided(dataset, &err), &err) : NULL;
}

/* open(tuple of paths, source or None, parse) */
static PyObject *dataset_open(PyObject *module, PyObject *args)
{
    PyObject       *tuple = NULL, *result = NULL;
    const char     *source = NULL, **files = NULL;
    int             parse = 0;
    levada_dataset *made = NULL;
    levada_error    err = LEVADA_ERROR_INIT;
    levada_status   st;
    Py_ssize_t      n = 0;

    if (!PyArg_ParseTuple(args, "O!zp:open", &PyTuple_Type, &tuple, &source, &parse)) return NULL;
    n = PyTuple_Size(tuple);
    files = PyMem_Calloc((size_t)n + 1, sizeof *files);
    if (!files) return PyErr_NoMemory();
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *file = PySequence_GetItem(tuple, i);

        files[i] = file ? levada_py_utf8(file) : NULL;
        Py_XDECREF(file); /* the tuple holds it */
        if (!files[i]) goto out;
    }
    LEVADA_PY_UNLOCKED(
        st = levada_dataset_open(NULL, files, (int32_t)n, source, parse != 0, &made, &err));
    if (levada_py_ok(st, &err)) result = levada_py_dataset_new(PyModule_GetState(module), &made);
out:
    PyMem_Free(files);
    return result;
}

/* levada._functions.named(name): a handle, or a str that says why there is none. */
static levada_status dataset_function(const char *name, levada_function **out, levada_error *err)
{
    PyObject      *functions = PyImport_ImportModule("levada._functions");
    PyObject      *found = functions ? PyObject_CallMethod(functions, "named", "s", name) : NULL;
    PyObject      *type = found ? PyObject_GetAttrString(functions, "HANDLE") : NULL;
    PyObject      *text = NULL;
    levada_status  st = LEVADA_OK;

    if (type && Py_IS_TYPE(found, (PyTypeObject *)type)) {
        *out = levada_function_ref(
            levada_py_function_of(levada_py_state_of_type((PyTypeObject *)type), found));
    } else {
        PyErr_Clear();
        text = found ? PyObject_Str(found) : NULL;
        st = levada_fail(err, LEVADA_ENOT_FOUND, "%s",
                         text ? levada_py_utf8(text) : "out of memory for a function");
    }
    Py_XDECREF(text);
    Py_XDECREF(type);
    Py_XDECREF(found);
    Py_XDECREF(functions);
    return st;
}

levada_status levada_py_resolve(void *user, const char *kind, const char *name,
                                levada_function **out, levada_error *err)
{
    PyGILState_STATE held;
    levada_status    st;

    (void)user;
    if (strcmp(kind, "py") != 0 || PyGILState_GetThisThreadState() == NULL) {
        return levada_fail(err, LEVADA_ENOT_FOUND,
                           "no function {\"%s\": \"%s\"} is registered; load the plug-in or the "
                           "module that registers it", kind, name);
    }
    held = PyGILState_Ensure(); /* of a thread that released it to read a description */
    st = dataset_function(name, out, err);
    PyGILState_Release(held);
    return st;
}

static PyObject *dataset_parse(PyObject *module, PyObject *text)
{
    const char     *given = levada_py_utf8(text);
    levada_dataset *made = NULL;
    levada_error    err = LEVADA_ERROR_INIT;
    levada_status   st;

    if (!given) return NULL;
    LEVADA_PY_UNLOCKED(st = levada_dataset_parse(NULL, given, &made, &err));
    if (!levada_py_ok(st, &err)) return NULL;
    return levada_py_dataset_new(PyModule_GetState(module), &made);
}

static PyObject *dataset_stages(PyObject *module, PyObject *unused)
{
    levada_error err = LEVADA_ERROR_INIT;
    char        *text = NULL;

    return levada_py_text(levada_stages_json(NULL, &text, &err), &text, &err);
}

static PyObject *dataset_load(PyObject *module, PyObject *path)
{
    PyObject     *encoded = NULL;
    const char   *name = NULL;
    levada_error  err = LEVADA_ERROR_INIT;
    levada_status st;

    if (!PyUnicode_FSConverter(path, &encoded)) return NULL;
    LEVADA_PY_UNLOCKED(st = levada_plugin_load(NULL, PyBytes_AsString(encoded), &name, &err));
    Py_DECREF(encoded);
    if (!levada_py_ok(st, &err)) return NULL;
    return PyUnicode_FromString(name ? name : "");
}

static PyObject *dataset_check_errors(PyObject *module, PyObject *errors)
{
    const char  *given = NULL;
    levada_error err = LEVADA_ERROR_INIT;

    if (!PyArg_Parse(errors, "s:check_errors", &given)) return NULL;
    return levada_py_none(levada_errors_check(given, &err), &err);
}

static PyObject *dataset_io(PyObject *module, PyObject *args)
{
    levada_io_options o = LEVADA_IO_OPTIONS_INIT;
    levada_error      err = LEVADA_ERROR_INIT;
    double            deadline;
    long long         read_ahead;

    (void)module;
    if (!PyArg_ParseTuple(args, "idL:io", &o.attempts, &deadline, &read_ahead)) return NULL;
    o.deadline = (int64_t)(deadline * 1e9);
    o.read_ahead = read_ahead;
    if (levada_env_set_io(NULL, &o, &err) != LEVADA_OK) return levada_py_raise(&err);
    Py_RETURN_NONE;
}

static PyObject *dataset_config(PyObject *module, PyObject *unused)
{
    levada_error err = LEVADA_ERROR_INIT;
    char        *text = NULL;

    return levada_py_text(levada_config_describe(NULL, &text, &err), &text, &err);
}

static PyObject *dataset_write_sample(PyObject *module, PyObject *folder)
{
    PyObject     *encoded = NULL;
    levada_error  err = LEVADA_ERROR_INIT;
    levada_status st;

    if (!PyUnicode_FSConverter(folder, &encoded)) return NULL;
    LEVADA_PY_UNLOCKED(st = levada_sample_write(NULL, PyBytes_AsString(encoded), &err));
    Py_DECREF(encoded);
    if (!levada_py_ok(st, &err)) return NULL;
    Py_RETURN_NONE;
}

/* index(path, source or None, check, stages or None, fields or None, max_bytes) -> records */
static PyObject *dataset_index(PyObject *module, PyObject *args)
{
    levada_index_options options = LEVADA_INDEX_OPTIONS_INIT;
    PyObject     *path = NULL;
    const char   *name;
    int           check = 0;
    int64_t       records = 0;
    long long     most = 0;
    levada_error  err = LEVADA_ERROR_INIT;
    levada_status st;

    if (!PyArg_ParseTuple(args, "O&zpzzL:index", PyUnicode_FSConverter, &path, &options.source,
                          &check, &options.stages, &options.fields, &most)) {
        return NULL;
    }
    name = PyBytes_AsString(path);
    options.max_record_bytes = most;
    LEVADA_PY_UNLOCKED(
        st = check ? levada_inspect_index_check(NULL, name, &records, &err)
                   : levada_inspect_index(NULL, name, &options, &records, &err));
    Py_DECREF(path);
    return levada_py_ok(st, &err) ? PyLong_FromLongLong(records) : NULL;
}

static PyObject *dataset_count(PyObject *module, PyObject *object)
{
    levada_dataset *ds = levada_py_dataset_of(PyModule_GetState(module), object);
    int64_t         records = 0;
    levada_error    err = LEVADA_ERROR_INIT;
    levada_status   st;

    if (!ds) return NULL;
    LEVADA_PY_UNLOCKED(st = levada_inspect_count(ds, &records, &err));
    return levada_py_ok(st, &err) ? PyLong_FromLongLong(records) : NULL;
}

/* Where the lengths are written; without it they are counted. */
typedef struct dataset_lengths {
    char   *at;
    int64_t n, most;
} dataset_lengths;

static levada_status dataset_lengths_add(void *user, const int64_t *lengths, int64_t n,
                                         levada_error *err)
{
    dataset_lengths *all = user;

    if (all->at && n > all->most - all->n) {
        return levada_fail(err, LEVADA_EUNAVAILABLE,
                           "the index changed while its lengths were read; call it again when "
                           "nothing writes the index");
    }
    if (all->at) memcpy(all->at + all->n * 8, lengths, (size_t)n * 8);
    all->n += n;
    return LEVADA_OK;
}

/* lengths(dataset, field) -> bytes of int64, or None: an index does not have them */
static PyObject *dataset_index_lengths(PyObject *module, PyObject *args)
{
    PyObject       *object = NULL, *made;
    const char     *field = NULL;
    dataset_lengths all = { 0 };
    levada_dataset *ds;
    bool            found = false;
    levada_error    err = LEVADA_ERROR_INIT;
    levada_status   st;

    if (!PyArg_ParseTuple(args, "Os:lengths", &object, &field)) return NULL;
    ds = levada_py_dataset_of(PyModule_GetState(module), object);
    if (!ds) return NULL;
    LEVADA_PY_UNLOCKED(
        st = levada_inspect_lengths(ds, field, dataset_lengths_add, &all, &found, &err));
    if (!levada_py_ok(st, &err)) return NULL;
    if (!found) Py_RETURN_NONE;
    made = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)all.n * 8);
    if (!made) return NULL;
    all = (dataset_lengths){ .at = PyBytes_AsString(made), .most = all.n };
    LEVADA_PY_UNLOCKED(
        st = levada_inspect_lengths(ds, field, dataset_lengths_add, &all, &found, &err));
    if (st == LEVADA_OK && (!found || all.n != all.most)) {
        st = levada_fail(&err, LEVADA_EUNAVAILABLE,
                         "the index changed while its lengths were read; call it again when "
                           "nothing writes the index");
    }
    if (levada_py_ok(st, &err)) return made;
    Py_DECREF(made);
    return NULL;
}

static PyObject *dataset_record(PyObject *module, PyObject *args)
{
    levada_py_state *state = PyModule_GetState(module);
    PyObject        *object = NULL;
    long long        number = 0;
    levada_dataset  *ds;
    levada_block    *block = NULL;
    levada_error     err = LEVADA_ERROR_INIT;
    levada_status    st;

    if (!PyArg_ParseTuple(args, "OL:record", &object, &number)) return NULL;
    ds = levada_py_dataset_of(state, object);
    if (!ds) return NULL;
    LEVADA_PY_UNLOCKED(st = levada_inspect_record(ds, number, &block, &err));
    return levada_py_ok(st, &err) ? levada_py_block_new(state, &block) : NULL;
}

/* Sets late decoding, for tests. */
static PyObject *dataset_late_decode(PyObject *module, PyObject *how)
{
    long number = PyLong_AsLong(how);

    if (number == -1 && PyErr_Occurred()) return NULL;
    levada_env_set_late_decode(NULL, (levada_late_decode)number);
    Py_RETURN_NONE;
}

PyMethodDef levada_py_functions_dataset[] = {
    {"append", dataset_append, METH_VARARGS,
      "append(name, options, inputs): a stage on top of a tuple of datasets." },
    {"divide", dataset_divide, METH_VARARGS, "One part of a dataset."},
    { "check_divided", dataset_check_divided, METH_O,
      "Fails where a shard follows an unseeded draw." },
    {"remake", dataset_remake, METH_VARARGS,
      "remake(dataset, inputs, changes): its last stage on other inputs, with other options." },
    {"open", dataset_open, METH_VARARGS,
      "open(files, source, parse): a dataset of files whose format is found out." },
    {"parse", dataset_parse, METH_O, "Dataset from text or JSON."},
    {"stages", dataset_stages, METH_NOARGS, "Every name with its options, as JSON."},
    {"load", dataset_load, METH_O, "Loads a plug-in and returns its name."},
    {"check_errors", dataset_check_errors, METH_O, "Raises unless the option `errors` is valid."},
    {"io", dataset_io, METH_VARARGS, "Sets how remote files are read."},
    {"config", dataset_config, METH_NOARGS, "What this build and machine have, as JSON."},
    {"index", dataset_index, METH_VARARGS,
      "index(path, source, check): writes or checks the index of a file; returns its records." },
    {"lengths", dataset_index_lengths, METH_VARARGS,
      "Lengths of a field, from the index of the source; None: it has none." },
    {"count", dataset_count, METH_O, "Records of a dataset, from the index of its source."},
    {"record", dataset_record, METH_VARARGS, "record(dataset, number): a block of one record."},
    {"late_decode", dataset_late_decode, METH_O, "Sets a levada_late_decode, for tests."},
    {"write_sample", dataset_write_sample, METH_O, "Writes the sample files into a directory."},
    {NULL, NULL, 0, NULL},
};
