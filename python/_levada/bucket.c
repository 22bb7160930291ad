/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Buckets as Python sees them: levada.train._bucket creates the queues and the threads, which call
 * run() without the interpreter until their bucket ends.
 */
#include "tensor.h"
#include "wait.h"

#include <levada/binding.h>

typedef struct bucket_object {
    PyObject_HEAD
    levada_py_state *state;
    levada_bucket   *bucket;
    PyObject        *queues;      /* tuple */
    bool             by_length;   /* elements begin with it */
    int32_t          ncomponents; /* of an element, without its length */
    long             forks;
} bucket_object;

/* Arrays that options point to. */
typedef struct bucket_arrays {
    int64_t *sizes, *capacities, *boundaries;
} bucket_arrays;

static void bucket_arrays_clear(bucket_arrays *arrays)
{
    PyMem_Free(arrays->sizes);
    PyMem_Free(arrays->capacities);
    PyMem_Free(arrays->boundaries);
}

/* A tuple of integers, or None. */
static bool bucket_numbers(PyObject *given, int64_t **out, int32_t *n)
{
    Py_ssize_t size = given == Py_None ? 0 : PyTuple_Size(given);

    *n = (int32_t)size;
    if (size < 0 || given == Py_None) return size == 0;
    *out = PyMem_Calloc((size_t)size + 1, sizeof **out);
    if (!*out) return PyErr_NoMemory(), false;
    for (Py_ssize_t i = 0; i < size; i++) {
        PyObject *item = PySequence_GetItem(given, i);

        (*out)[i] = item ? PyLong_AsLongLong(item) : -1;
        Py_XDECREF(item);
        if (PyErr_Occurred()) return false;
    }
    return true;
}

static bool bucket_read(levada_bucket_options *o, bucket_arrays *arrays, PyObject *sizes,
                        PyObject *capacities, PyObject *boundaries)
{
    bool good = bucket_numbers(sizes, &arrays->sizes, &o->nbatch_sizes) &&
                bucket_numbers(capacities, &arrays->capacities, &o->ncapacities) &&
                bucket_numbers(boundaries, &arrays->boundaries, &o->nboundaries);

    o->batch_sizes = arrays->sizes;
    o->capacities = arrays->capacities;
    o->boundaries = arrays->boundaries;
    return good;
}

/* bucket_check(num_buckets, sizes, capacity, capacities, boundaries, num_threads) */
static PyObject *bucket_check(PyObject *module, PyObject *args)
{
    levada_bucket_options o = LEVADA_BUCKET_OPTIONS_INIT;
    bucket_arrays         arrays = {NULL, NULL, NULL};
    PyObject             *sizes = NULL, *capacities = NULL, *boundaries = NULL;
    levada_error          err = LEVADA_ERROR_INIT;
    long long             capacity = 0;
    int                   buckets = 0, threads = 0;
    bool                  good;

    if (!PyArg_ParseTuple(args, "iOLOOi:bucket_check", &buckets, &sizes, &capacity, &capacities,
                          &boundaries, &threads))
        return NULL;
    o.num_buckets = buckets;
    o.capacity = capacity;
    o.num_threads = threads;
    good = bucket_read(&o, &arrays, sizes, capacities, boundaries) &&
           levada_py_ok(levada_bucket_check(&o, &err), &err);
    bucket_arrays_clear(&arrays);
    return good ? Py_NewRef(Py_None) : NULL;
}

PyMethodDef levada_py_functions_bucket[] = {
    {"bucket_check", bucket_check, METH_VARARGS,
     "bucket_check(num_buckets, sizes, capacity, capacities, boundaries, num_threads)"},
    {NULL, NULL, 0, NULL},
};

/* Borrowed from the objects, in PyMem memory. */
static levada_queue **bucket_queues(levada_py_state *state, PyObject *given, Py_ssize_t *n)
{
    levada_queue **queues;

    *n = PyTuple_Size(given);
    if (*n < 0) return NULL;
    queues = PyMem_Calloc((size_t)*n + 1, sizeof(levada_queue *));
    if (!queues) return PyErr_NoMemory(), NULL;
    for (Py_ssize_t i = 0; i < *n; i++) {
        PyObject *item = PySequence_GetItem(given, i);

        queues[i] = levada_py_queue_required(state, item);
        Py_XDECREF(item); /* the tuple holds it */
        if (!queues[i]) return PyMem_Free(queues), NULL;
    }
    return queues;
}

static bool bucket_open(bucket_object *self, levada_bucket_options *o, PyObject *given,
                        PyObject *top)
{
    Py_ssize_t     n = 0;
    levada_queue **queues = bucket_queues(self->state, given, &n);
    levada_queue  *end = queues ? levada_py_queue_required(self->state, top) : NULL;
    levada_error   err = LEVADA_ERROR_INIT;
    bool           good = end != NULL;

    o->num_buckets = (int32_t)n;
    good = good && levada_py_ok(levada_bucket_over(o, queues, end, &self->bucket, &err), &err);
    if (good) {
        self->ncomponents = levada_queue_info(queues[0])->ncomponents - self->by_length;
    }
    PyMem_Free(queues);
    return good;
}

static PyObject *bucket_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    levada_bucket_options o = LEVADA_BUCKET_OPTIONS_INIT;
    bucket_arrays         arrays = {NULL, NULL, NULL};
    PyObject             *queues = NULL, *top = NULL, *sizes = NULL, *boundaries = NULL;
    bucket_object        *self = NULL;
    int                   smaller = 0, key = 0, keep = -1;

    if (!PyArg_ParseTuple(args, "O!OOOpii:Bucket", &PyTuple_Type, &queues, &top, &sizes,
                          &boundaries, &smaller, &key, &keep))
        return NULL;
    self = (bucket_object *)PyType_GenericAlloc(type, 0);
    if (!self) return NULL;
    self->state = PyType_GetModuleState(type);
    self->forks = levada_py_forks();
    o.allow_smaller_final_batch = smaller != 0;
    o.key_component = key;
    o.keep_component = keep;
    self->queues = Py_NewRef(queues);
    self->by_length = boundaries != Py_None;
    if (!bucket_read(&o, &arrays, sizes, Py_None, boundaries) ||
        !bucket_open(self, &o, queues, top))
        Py_CLEAR(self);
    bucket_arrays_clear(&arrays);
    return (PyObject *)self;
}

static void bucket_dealloc(PyObject *object)
{
    bucket_object *self = (bucket_object *)object;

    if (self->state && self->forks == levada_py_forks()) levada_bucket_destroy(&self->bucket);
    Py_CLEAR(self->queues);
    levada_py_free(object);
}

static bool bucket_alive(const bucket_object *self)
{
    return levada_py_ours(self->forks, "bucket");
}

/* Returns an integer; where `sized`, the length of what has one. */
static PyObject *bucket_key(PyObject *key, bool sized)
{
    Py_ssize_t size = sized && !PyLong_Check(key) ? PyObject_Size(key) : -1;

    if (size >= 0) return PyLong_FromSsize_t(size);
    if (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_TypeError)) return NULL;
    PyErr_Clear();
    return PyNumber_Index(key);
}

/* Returns the queue of a key. */
static PyObject *bucket_of(const bucket_object *self, PyObject *key)
{
    levada_error err;
    int          overflow = 0;
    long long    value = PyLong_AsLongLongAndOverflow(key, &overflow);
    int32_t      index = 0;

    levada_py_clear(&err);
    if (overflow != 0) value = overflow > 0 ? INT64_MAX : INT64_MIN;
    if (!levada_py_ok(levada_bucket_index(self->bucket, value, &index, &err), &err)) return NULL;
    return PySequence_GetItem(self->queues, index);
}

/* (key, *values) */
static PyObject *bucket_element(PyObject *key, PyObject *values)
{
    Py_ssize_t n = PySequence_Size(values);
    PyObject  *element = n >= 0 ? PyTuple_New(n + 1) : NULL;

    for (Py_ssize_t i = 0; element && i <= n; i++) {
        PyObject *item = i > 0 ? PySequence_GetItem(values, i - 1) : Py_NewRef(key);

        if (!item || PyTuple_SetItem(element, i, item) < 0) Py_CLEAR(element);
    }
    return element;
}

/* put(values, key, sized): the components of an element, into the bucket of its key. */
static PyObject *bucket_put(PyObject *object, PyObject *const *args, Py_ssize_t n)
{
    bucket_object *self = (bucket_object *)object;
    PyObject      *key = NULL, *queue = NULL, *element = NULL, *done = NULL;

    if (n != 3) return PyErr_SetString(PyExc_TypeError, "put takes 3 arguments"), NULL;
    if (!bucket_alive(self)) return NULL;
    key = bucket_key(args[1], args[2] == Py_True);
    if (key) queue = bucket_of(self, key);
    if (queue) element = self->by_length ? bucket_element(key, args[0]) : Py_NewRef(args[0]);
    if (element) done = levada_py_queue_put(queue, element);
    Py_XDECREF(element);
    Py_XDECREF(queue);
    Py_XDECREF(key);
    return done;
}

/* enqueue_block(block, columns, first): all rows, so first is 0; see Queue.enqueue_block. */
static PyObject *bucket_enqueue_block(PyObject *object, PyObject *args)
{
    bucket_object *self = (bucket_object *)object;
    PyObject      *given = NULL, *list = NULL;
    levada_error   err = LEVADA_ERROR_INIT;
    int32_t       *columns = NULL;
    levada_status  st;
    int            first = 0;

    if (!PyArg_ParseTuple(args, "O!Oi:enqueue_block", self->state->block, &given, &list, &first))
        return NULL;
    if (!bucket_alive(self)) return NULL;
    columns = levada_py_columns(list, self->ncomponents);
    if (!columns) return NULL;
    LEVADA_PY_WAITING(self->state,
        st = levada_bucket_put_block(self->bucket, ((levada_py_block *)given)->block, columns,
                                     LEVADA_FOREVER, &err));
    PyMem_Free(columns);
    return levada_py_none(st, &err);
}

/* run(i): batches of bucket i to the top queue, until it ends with OutOfRangeError. */
static PyObject *bucket_run(PyObject *object, PyObject *which)
{
    bucket_object *self = (bucket_object *)object;
    int32_t        i = (int32_t)PyLong_AsLong(which);
    levada_error   err = LEVADA_ERROR_INIT;
    levada_status  st;

    if (PyErr_Occurred() || !bucket_alive(self)) return NULL;
    LEVADA_PY_WAITING(self->state, st = levada_bucket_run(self->bucket, i, &err));
    return levada_py_none(st, &err);
}

/* counts(): (batches, records, dropped, filtered) */
static PyObject *bucket_counts(PyObject *object, PyObject *unused)
{
    bucket_object       *self = (bucket_object *)object;
    levada_bucket_counts all = LEVADA_BUCKET_COUNTS_INIT;
    levada_error         err = LEVADA_ERROR_INIT;

    if (!bucket_alive(self)) return NULL;
    if (!levada_py_ok(levada_bucket_get_counts(self->bucket, &all, &err), &err)) return NULL;
    return Py_BuildValue("(LLLL)", (long long)all.batches, (long long)all.records,
                         (long long)all.dropped, (long long)all.filtered);
}

static PyMethodDef bucket_methods[] = {
    {"put", LEVADA_PY_FAST(bucket_put), METH_FASTCALL, "put(values, key, sized)"},
    {"enqueue_block", bucket_enqueue_block, METH_VARARGS, "enqueue_block(block, columns, first)"},
    {"run", bucket_run, METH_O, "Moves batches of bucket i until it ends."},
    {"counts", bucket_counts, METH_NOARGS, "(batches, records, dropped, filtered)"},
    {NULL, NULL, 0, NULL},
};

LEVADA_PY_TYPE(bucket, "Bucket", bucket_object, 0,
               "Bucket queues and a top queue; see levada.train._bucket.",
               LEVADA_PY_SLOT(tp_new, bucket_new),
               LEVADA_PY_SLOT(tp_dealloc, bucket_dealloc),
               LEVADA_PY_SLOT(tp_methods, bucket_methods));
