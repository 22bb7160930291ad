/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Queues as Python sees them.
 *
 * A call first tries to be met at once with the interpreter held, which costs next to nothing and
 * hands it to nobody; only where it has to wait is the interpreter released. Ctrl-C ends a wait of
 * the main thread, with nothing lost. A child of fork() has none of the parent's threads, so there
 * a queue only says so and is left alone.
 */
#include "tensor.h"
#include "wait.h"

#include <levada/binding.h>
#include <string.h>

#define QUEUE_COPY 262144 /* bytes that are copied with the interpreter held */

enum { QUEUE_FEW = 4 };

typedef struct queue_object {
    PyObject_HEAD
    levada_py_state *state;
    levada_queue    *queue;
    levada_py_slots  slots;
    PyObject        *names;     /* tuple, or NULL */
    PyObject        *signature; /* checks and converts what is not plain; levada.train._signature */
    int64_t          row_bytes; /* of an element, where they are rows */
    int64_t          taken;     /* bytes of the last tensors that came out */
    long             forks;
} queue_object;

levada_queue *levada_py_queue_of(const levada_py_state *state, PyObject *object)
{
    return Py_IS_TYPE(object, state->queue) ? ((queue_object *)object)->queue : NULL;
}

/* What one call needs for each component; a few without allocation. */
typedef struct queue_frame {
    int32_t          n;
    PyObject       **part;
    levada_py_given *given;
    void           **row;
    levada_tensor  **tensor;
    void            *memory;
    PyObject        *few_part[QUEUE_FEW];
    levada_py_given  few_given[QUEUE_FEW];
    void            *few_row[QUEUE_FEW];
    levada_tensor   *few_tensor[QUEUE_FEW];
} queue_frame;

static bool queue_frame_open(queue_frame *f, int32_t n)
{
    size_t each = sizeof(levada_py_given) + 3 * sizeof(void *);

    f->n = n;
    f->memory = n > QUEUE_FEW ? PyMem_Calloc((size_t)n, each) : NULL;
    if (n > QUEUE_FEW && !f->memory) return PyErr_NoMemory(), false;
    f->given = n > QUEUE_FEW ? f->memory : f->few_given;
    f->part = n > QUEUE_FEW ? (PyObject **)(void *)(f->given + n) : f->few_part;
    f->row = n > QUEUE_FEW ? (void **)(f->part + n) : f->few_row;
    f->tensor = n > QUEUE_FEW ? (levada_tensor **)(void *)(f->row + n) : f->few_tensor;
    for (int32_t i = 0; i < n; i++) {
        f->given[i].view.obj = NULL;
        f->part[i] = NULL;
        f->tensor[i] = NULL;
    }
    return true;
}

static void queue_frame_empty(queue_frame *f)
{
    for (int32_t i = 0; i < f->n; i++) {
        levada_py_given_clear(&f->given[i]);
        f->given[i].view.obj = NULL;
        Py_CLEAR(f->part[i]);
        levada_tensor_unref(&f->tensor[i]);
    }
}

static void queue_frame_close(queue_frame *f)
{
    queue_frame_empty(f);
    PyMem_Free(f->memory);
}

static bool queue_alive(const queue_object *self)
{
    return levada_py_ours(self->forks, "queue");
}

/* Arguments of a method: at most `most`, all by position. */
static bool queue_arguments(const char *name, Py_ssize_t n, Py_ssize_t least, Py_ssize_t most)
{
    if (n >= least && n <= most) return true;
    PyErr_Format(PyExc_TypeError, "%s takes %zd to %zd arguments, %zd were given", name, least,
                 most, n);
    return false;
}

/* -- in ---------------------------------------------------------------------------------------- */

/* The values of the components, where they are what they should be. */
static bool queue_split(const queue_object *self, PyObject *vals, queue_frame *f)
{
    bool       list = PyTuple_CheckExact(vals) || PyList_CheckExact(vals);
    Py_ssize_t size = list || PyDict_CheckExact(vals) ? PyObject_Size(vals) : 1;

    if (size != f->n || (self->names && !PyDict_CheckExact(vals))) return false;
    if (!self->names && !list) {
        f->part[0] = Py_NewRef(vals);
        return f->n == 1 && !PyDict_CheckExact(vals);
    }
    for (int32_t i = 0; i < f->n; i++) {
        PyObject *name = self->names ? PySequence_GetItem(self->names, i) : NULL;

        f->part[i] = name ? PyObject_GetItem(vals, name) : PySequence_GetItem(vals, i);
        Py_XDECREF(name);
        if (!f->part[i]) return PyErr_Clear(), false;
    }
    return true;
}

/* Memory or tensors of the parts. */
static bool queue_fill(const queue_object *self, queue_frame *f, bool many, int64_t *rows)
{
    *rows = many ? -1 : 1;
    for (int32_t i = 0; i < f->n; i++) {
        if (self->slots.rows) {
            if (!levada_py_give(&self->slots, i, f->part[i], many, rows, &f->given[i]))
                return false;
            f->row[i] = (void *)(uintptr_t)f->given[i].data; /* only read */
        } else {
            f->tensor[i] = levada_py_tensor(NULL, &self->slots, i, f->part[i], many,
                                            rows);
            if (!f->tensor[i]) return false;
        }
    }
    return true;
}

/* The long way: Python checks, explains and converts. */
static bool queue_convert(const queue_object *self, PyObject *vals, queue_frame *f, bool many,
                          int64_t *rows)
{
    PyObject *made = PyObject_CallMethod(self->signature, many ? "many" : "one", "(O)", vals);
    bool      good = made && PyTuple_CheckExact(made) && PyObject_Size(made) == f->n;

    for (int32_t i = 0; good && i < f->n; i++) {
        f->part[i] = PySequence_GetItem(made, i);
        good = f->part[i] != NULL;
    }
    good = good && queue_fill(self, f, many, rows);
    Py_XDECREF(made);
    if (!good && !PyErr_Occurred())
        PyErr_SetString(PyExc_SystemError, "a value cannot be used although it was checked");
    return good;
}

static levada_status queue_put_now(const queue_object *self, const queue_frame *f, bool many,
                                   int64_t rows, int64_t timeout, int64_t *done, levada_error *err)
{
    levada_tensor *const *tensors = f->tensor;

    if (self->slots.rows)
        return levada_queue_enqueue_rows(self->queue, rows, (const void *const *)f->row, timeout,
                                         done, err);
    if (many) return levada_queue_enqueue_many(self->queue, tensors, timeout, done, err);
    return levada_queue_enqueue(self->queue, tensors, timeout, err);
}

/* Puts `enqueued` on the exception that is set. */
static PyObject *queue_tell(int64_t done)
{
    PyObject *type = NULL, *value = NULL, *trace = NULL, *n = NULL;

    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    n = PyLong_FromLongLong(done);
    if (!n || PyObject_SetAttrString(value, "enqueued", n) < 0) PyErr_Clear();
    Py_XDECREF(n);
    PyErr_Restore(type, value, trace);
    return NULL;
}

static PyObject *queue_put(queue_object *self, PyObject *vals, PyObject *seconds, bool many)
{
    queue_frame   f;
    levada_error  err;
    levada_status st = LEVADA_AGAIN;
    int64_t       timeout, rows = 0, done = 0;
    bool          good;

    levada_py_clear(&err);
    if (!queue_alive(self) || !levada_py_timeout(seconds, &timeout)) return NULL;
    if (!queue_frame_open(&f, self->slots.n)) return NULL;
    good = queue_split(self, vals, &f) && queue_fill(self, &f, many, &rows);
    if (!good && !PyErr_Occurred()) {
        queue_frame_empty(&f);
        good = queue_convert(self, vals, &f, many, &rows);
    }
    if (good && rows * self->row_bytes <= QUEUE_COPY)
        st = queue_put_now(self, &f, many, rows, LEVADA_AT_ONCE, &done, &err);
    if (good && st == LEVADA_AGAIN) {
        LEVADA_PY_WAITING(self->state,
            st = queue_put_now(self, &f, many, rows, timeout, &done, &err));
    }
    queue_frame_close(&f);
    if (!good) return NULL;
    if (st == LEVADA_OK && !PyErr_Occurred()) return Py_NewRef(Py_None);
    if (st != LEVADA_OK) (void)levada_py_ok(st, &err);
    return many ? queue_tell(done) : NULL;
}

PyObject *levada_py_queue_put(PyObject *queue, PyObject *vals)
{
    return queue_put((queue_object *)queue, vals, NULL, false);
}

static PyObject *queue_enqueue(PyObject *self, PyObject *const *args, Py_ssize_t n)
{
    if (!queue_arguments("enqueue", n, 1, 2)) return NULL;
    return queue_put((queue_object *)self, args[0], n > 1 ? args[1] : NULL, false);
}

static PyObject *queue_enqueue_many(PyObject *self, PyObject *const *args, Py_ssize_t n)
{
    if (!queue_arguments("enqueue_many", n, 1, 2)) return NULL;
    return queue_put((queue_object *)self, args[0], n > 1 ? args[1] : NULL, true);
}

/* enqueue_block(block, columns, first) */
static PyObject *queue_enqueue_block(PyObject *object, PyObject *const *args, Py_ssize_t n)
{
    queue_object    *self = (queue_object *)object;
    levada_py_block *block = NULL;
    int32_t         *columns = NULL;
    levada_error     err = LEVADA_ERROR_INIT;
    levada_status    st;
    int64_t          first, done = 0;

    if (!queue_arguments("enqueue_block", n, 3, 3) || !queue_alive(self)) return NULL;
    if (Py_TYPE(args[0]) != self->state->block)
        return PyErr_SetString(PyExc_TypeError, "enqueue_block needs a block"), NULL;
    block = (levada_py_block *)args[0];
    first = PyLong_AsLongLong(args[2]);
    if (PyErr_Occurred()) return NULL;
    columns = levada_py_columns(args[1], self->slots.n);
    if (!columns) return NULL;
    LEVADA_PY_WAITING(self->state,
        st = levada_queue_enqueue_block(self->queue, block->block, columns, first, LEVADA_FOREVER,
                                        &done, &err));
    PyMem_Free(columns);
    if (st == LEVADA_OK && !PyErr_Occurred()) return Py_NewRef(Py_None);
    if (st != LEVADA_OK) (void)levada_py_ok(st, &err);
    return queue_tell(done);
}

/* -- out --------------------------------------------------------------------------------------- */

typedef struct queue_want {
    int64_t n;
    bool    many, up_to;
    bool    rows; /* into memory of ours, else as tensors */
} queue_want;

/* Prepares where rows are to be written: a new array, or the place of one number. */
static bool queue_targets(const queue_object *self, const queue_want *want, queue_frame *f)
{
    for (int32_t i = 0; i < f->n; i++) {
        const levada_py_slot *slot = &self->slots.slot[i];
        PyObject             *dims = NULL;

        f->row[i] = &f->given[i].one;
        if (!want->many && slot->shape.rank == 0) continue;
        dims = want->many ? levada_py_dims(want->n, slot->shape.dims, slot->shape.rank)
                          : Py_NewRef(slot->dims);
        f->part[i] = dims ? levada_py_array(&self->slots, i, dims, &f->row[i]) : NULL;
        Py_XDECREF(dims);
        if (!f->part[i]) return false;
    }
    return true;
}

static levada_status queue_take_now(const queue_object *self, const queue_want *want,
                                    queue_frame *f, int64_t timeout, int64_t *got,
                                    levada_error *err)
{
    if (want->rows)
        return levada_queue_dequeue_rows(self->queue, want->n, want->up_to, f->row, timeout, got,
                                         err);
    if (!want->many) return levada_queue_dequeue(self->queue, f->tensor, timeout, err);
    return levada_queue_dequeue_many(self->queue, want->n, want->up_to, f->tensor, timeout, err);
}

/* Returns the value of a component; `got` of the rows came. */
static PyObject *queue_value(const queue_object *self, const queue_want *want, queue_frame *f,
                             int32_t i, int64_t got)
{
    PyObject *array = f->part[i], *less = NULL;

    if (!want->rows)
        return levada_py_from_tensor(self->state, &self->slots, i, &f->tensor[i], want->many);
    if (!array) return levada_py_scalar(&self->slots, i, f->row[i]);
    f->part[i] = NULL;
    if (want->many && got < want->n) {
        less = PySequence_GetSlice(array, 0, (Py_ssize_t)got);
        Py_DECREF(array);
        array = less;
    }
    return levada_py_shown(&self->slots.slot[i], array);
}

/* Returns a dict where the queue has names, the bare value of one component, else a list. */
static PyObject *queue_values(const queue_object *self, const queue_want *want, queue_frame *f,
                              int64_t got)
{
    PyObject *made = NULL, *value = NULL, *name = NULL;
    bool      good = true;

    if (!self->names && f->n == 1) return queue_value(self, want, f, 0, got);
    made = self->names ? PyDict_New() : PyList_New(f->n);
    for (int32_t i = 0; made && good && i < f->n; i++) {
        value = queue_value(self, want, f, i, got);
        if (value && self->names) {
            name = PySequence_GetItem(self->names, i);
            good = name && PyObject_SetItem(made, name, value) == 0;
            Py_XDECREF(name);
            Py_DECREF(value);
        } else {
            good = value && PyList_SetItem(made, i, value) == 0;
        }
    }
    if (!good) Py_CLEAR(made);
    return made;
}

/* A caller that received much last time will again: it is copied without the interpreter. */
static void queue_weigh(queue_object *self, const queue_frame *f)
{
    self->taken = 0;
    for (int32_t i = 0; i < f->n; i++) self->taken += levada_tensor_bytes(f->tensor[i]);
}

/* Arrays are made before the elements come: for no more than a closed queue has. */
static int64_t queue_most(const queue_object *self, const queue_want *want)
{
    int64_t rest;

    if (!want->up_to || want->n < 2 || !levada_queue_is_closed(self->queue)) return want->n;
    rest = levada_queue_size(self->queue);
    return rest < 1 ? 1 : rest < want->n ? rest : want->n;
}

static bool queue_is_little(const queue_object *self, const queue_want *want)
{
    return self->row_bytes == 0 || want->n <= QUEUE_COPY / self->row_bytes;
}

/* A closed queue that has too few says so, without memory for all that was asked for. */
static bool queue_has_too_few(const queue_object *self, const queue_want *want)
{
    return !want->up_to && !queue_is_little(self, want) && levada_queue_is_closed(self->queue) &&
           levada_queue_size(self->queue) < want->n;
}

static PyObject *queue_take(queue_object *self, queue_want *want, PyObject *seconds)
{
    queue_frame   f;
    levada_error  err;
    levada_status st = LEVADA_AGAIN;
    int64_t       timeout, got = 0;
    PyObject     *result = NULL;
    bool          good;

    levada_py_clear(&err);
    if (!queue_alive(self) || !levada_py_timeout(seconds, &timeout)) return NULL;
    if (!queue_frame_open(&f, self->slots.n)) return NULL;
    want->n = queue_most(self, want);
    want->rows = self->slots.rows && !queue_has_too_few(self, want);
    good = !want->rows || want->n < 0 || queue_targets(self, want, &f);
    if (good && queue_is_little(self, want) && self->taken <= QUEUE_COPY)
        st = queue_take_now(self, want, &f, LEVADA_AT_ONCE, &got, &err);
    if (good && st == LEVADA_AGAIN) {
        LEVADA_PY_WAITING(self->state, st = queue_take_now(self, want, &f, timeout, &got, &err));
    }
    if (good && levada_py_ok(st, &err) && !PyErr_Occurred()) {
        if (!want->rows) queue_weigh(self, &f);
        result = queue_values(self, want, &f, got);
    }
    queue_frame_close(&f);
    return result;
}

/* queue[n, up_to, timeout]: n of them, stacked; queue[None, None, timeout]: one. They are not
 * methods: Python looks for Ctrl-C after a call of C, which would lose the elements, but not after
 * a subscript. */
static PyObject *queue_item(PyObject *self, PyObject *what)
{
    queue_want want = {.n = 1};
    PyObject  *n = NULL, *up_to = NULL, *seconds = NULL;

    if (!PyArg_ParseTuple(what, "OOO:dequeue", &n, &up_to, &seconds)) return NULL;
    want.many = up_to != Py_None;
    want.up_to = up_to == Py_True;
    if (want.many) want.n = PyLong_AsLongLong(n);
    if (want.n == -1 && PyErr_Occurred()) return NULL;
    return queue_take((queue_object *)self, &want, seconds);
}

/* -- the rest ---------------------------------------------------------------------------------- */

static PyObject *queue_close(PyObject *object, PyObject *const *args, Py_ssize_t n)
{
    queue_object *self = (queue_object *)object;
    levada_error  err = LEVADA_ERROR_INIT;
    levada_status st;
    int64_t       timeout;
    bool          pending;

    if (!queue_arguments("close", n, 2, 2) || !levada_py_timeout(args[1], &timeout)) return NULL;
    if (!queue_alive(self)) return NULL;
    pending = args[0] == Py_True;
    LEVADA_PY_WAITING(self->state, st = levada_queue_close(self->queue, pending, timeout, &err));
    return levada_py_none(st, &err);
}

LEVADA_PY_METHOD(queue_cancel, queue_object, queue_alive(self),
                 (levada_queue_cancel(self->queue), Py_NewRef(Py_None)))
LEVADA_PY_METHOD(queue_size, queue_object, queue_alive(self),
                 PyLong_FromLongLong(levada_queue_size(self->queue)))
LEVADA_PY_METHOD(queue_is_closed, queue_object, queue_alive(self),
                 PyBool_FromLong(levada_queue_is_closed(self->queue)))
LEVADA_PY_METHOD(queue_dims, queue_object, true, levada_py_slots_dims(&self->slots))

levada_queue *levada_py_queue_required(const levada_py_state *state, PyObject *object)
{
    levada_queue *queue = object ? levada_py_queue_of(state, object) : NULL;

    if (!queue && !PyErr_Occurred())
        PyErr_Format(PyExc_TypeError, "expected a levada queue, got %R",
                     object ? (PyObject *)Py_TYPE(object) : Py_None);
    return queue;
}

static PyObject *queue_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    levada_py_state     *state = PyType_GetModuleState(type);
    levada_queue_options o = LEVADA_QUEUE_OPTIONS_INIT;
    PyObject            *components = NULL, *names = NULL, *signature = NULL;
    levada_py_main      *main = NULL;
    queue_object        *self = NULL;
    levada_error         err = LEVADA_ERROR_INIT;
    long long            capacity = 0, bytes = 0, least = 0, seed = 0;
    int                  kind = 0;
    void                *memory = NULL;
    levada_dtype        *dtypes = NULL;
    levada_shape        *shapes = NULL;
    bool                 good;

    if (!PyArg_ParseTuple(args, "iLLLLOOOsz:Queue", &kind, &capacity, &bytes, &least, &seed,
                          &components, &names, &signature, &o.name, &o.shared_name))
        return NULL;
    self = (queue_object *)PyType_GenericAlloc(type, 0);
    if (!self) return NULL;
    self->state = state;
    self->forks = levada_py_forks();
    self->signature = Py_NewRef(signature);
    if (names != Py_None) self->names = Py_NewRef(names);
    main = levada_py_main_of(state);
    good = main && levada_py_slots_init(&self->slots, components) &&
           levada_py_slots_tables(&self->slots, &memory, &dtypes, &shapes);
    o.kind = (levada_queue_kind)kind;
    o.capacity = capacity;
    o.max_bytes = bytes;
    o.min_after_dequeue = least;
    o.seed = seed;
    o.ncomponents = self->slots.n;
    o.dtypes = dtypes;
    o.shapes = shapes;
    good = good && levada_py_ok(levada_queue_create(NULL, &o, &self->queue, &err), &err);
    PyMem_Free(memory);
    good = good && (!o.shared_name ||
                    levada_py_slots_adopt(&self->slots, levada_queue_info(self->queue)->shapes));
    for (int32_t i = 0; self->slots.rows && i < self->slots.n; i++)
        self->row_bytes += self->slots.slot[i].bytes;
    if (good) {
        levada_queue_set_poll(self->queue, levada_py_poll, main, LEVADA_PY_POLL);
        levada_queue_set_accept(self->queue, levada_py_accept, main);
    }
    if (!good || PyErr_Occurred()) Py_CLEAR(self);
    return (PyObject *)self;
}

static void queue_dealloc(PyObject *object)
{
    queue_object *self = (queue_object *)object;

    if (self->state && self->forks == levada_py_forks()) levada_queue_unref(&self->queue);
    levada_py_slots_clear(&self->slots);
    Py_CLEAR(self->names);
    Py_CLEAR(self->signature);
    levada_py_free(object);
}

static PyObject *queue_waiters(PyObject *module, PyObject *unused)
{
    levada_error err = LEVADA_ERROR_INIT;
    char        *text = NULL;

    return levada_py_text(levada_waiters_json(NULL, &text, &err), &text, &err);
}

PyMethodDef levada_py_functions_queue[] = {
    {"waiters", queue_waiters, METH_NOARGS, "Calls that wait in queues and barriers, as JSON."},
    {NULL, NULL, 0, NULL},
};

static PyMethodDef queue_methods[] = {
    {"enqueue", LEVADA_PY_FAST(queue_enqueue), METH_FASTCALL, "enqueue(vals, timeout=None)"},
    {"enqueue_many", LEVADA_PY_FAST(queue_enqueue_many), METH_FASTCALL,
     "enqueue_many(vals, timeout=None)"},
    {"enqueue_block", LEVADA_PY_FAST(queue_enqueue_block), METH_FASTCALL,
     "enqueue_block(block, columns, first)"},
    {"close", LEVADA_PY_FAST(queue_close), METH_FASTCALL, "close(cancel_pending, timeout)"},
    {"cancel", queue_cancel, METH_NOARGS, "Ends every waiting call; the queue stays usable."},
    {"size", queue_size, METH_NOARGS, "Elements in the queue."},
    {"dims", queue_dims, METH_NOARGS, "Shapes of the components, -1 for an unknown dimension."},
    {"is_closed", queue_is_closed, METH_NOARGS, "Whether it is closed."},
    {NULL, NULL, 0, NULL},
};

LEVADA_PY_TYPE(queue, "Queue", queue_object, 0,
               "A queue; levada.train.QueueBase wraps it.",
               LEVADA_PY_SLOT(tp_new, queue_new),
               LEVADA_PY_SLOT(tp_dealloc, queue_dealloc),
               LEVADA_PY_SLOT(mp_subscript, queue_item),
               LEVADA_PY_SLOT(tp_methods, queue_methods));
