/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the extension share: the state of the module and what crosses from file to
 * file. Everything here is called with the interpreter held; calls of levada that can wait release
 * it. Errors are Python exceptions: a function that returns NULL, -1 or false has set one.
 */
#ifndef LEVADA_PY_MODULE_H
#define LEVADA_PY_MODULE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <levada/builder.h>
#include <levada/dataset.h>
#include <levada/iter.h>
#include <levada/queue.h>
#include <levada/state.h>
#include <time.h>

/* Where calls of user functions wait for threads of Python (call_queue.c). One per module; it is
 * never freed, because the last reference to a function may go after the module has gone. */
typedef struct levada_py_call_queue levada_py_call_queue;
/* The main thread, which alone has signals to look for (wait.h). */
typedef struct levada_py_main levada_py_main;

/* The types of the module: each file that defines one ends in LEVADA_PY_TYPE. */
#define LEVADA_PY_TYPES(X)                                                                    \
    X(block)                                                                        \
    X(batch)                                                                        \
    X(view)                                                             \
    X(dataset) X(iter) X(function) X(writer) X(sink) X(tensor) X(queue) \
        X(barrier) X(coordinator) X(saver) X(segments) X(reader) X(bucket) X(front)
/* Lists of functions of the module, levada_py_functions_<word> in their files. */
#define LEVADA_PY_FUNCTIONS(X)                                                                \
    X(dataset)                                                                    \
    X(arrow) X(build) X(lengths) X(call) X(records) X(receipts) X(queue) X(watchdog) X(writer)    \
        X(rows) X(bucket) X(pieces)

/* What numpy.c calls of NumPy. */
typedef struct levada_py_numpy {
    PyObject     *asarray; /* NULL: nobody has looked for NumPy yet */
    PyTypeObject *type;    /* of its arrays, borrowed */
    PyObject *(*descr)(int type);
    PyObject *(*create)(PyTypeObject *type, PyObject *descr, int ndim, const Py_ssize_t *shape,
                        const Py_ssize_t *strides, void *data, int flags, PyObject *like);
    int (*set_base)(PyObject *array, PyObject *base); /* takes the base */
} levada_py_numpy;

typedef struct levada_py_state {
#define LEVADA_PY_MEMBER(word) PyTypeObject *word;
    LEVADA_PY_TYPES(LEVADA_PY_MEMBER)
#undef LEVADA_PY_MEMBER
    levada_py_call_queue *calls;
    levada_py_main   *main;  /* stays forever: queues have it */
    PyObject         *made;  /* "_made"; stays forever: iterators call it */
    levada_py_numpy   numpy; /* stays forever */
    levada_spec      *spec;  /* of the batch that was looked into last, */
    PyObject         *index; /* and its fields, {name: number} */
} levada_py_state;

typedef struct levada_py_block {
    PyObject_HEAD
    levada_block *block;
    PyObject     *index;    /* {name: number of the column}, or NULL: levada_py_block_index */
    int64_t       step;     /* number of the batch in its iterator; -1 = it is of none */
    bool          writable; /* nobody else had a reference when Python got it */
} levada_py_block;

typedef struct levada_py_dataset {
    PyObject_HEAD
    levada_dataset *dataset;
} levada_py_dataset;

/* Returns the state, from an object whose type was made by this module, and is not a subclass. */
levada_py_state *levada_py_state_of(PyObject *self);
/* Returns the state of a type, also of a subclass (of Iter or Batch). */
levada_py_state *levada_py_state_of_type(PyTypeObject *type);

#define LEVADA_PY_SPEC(word) extern PyType_Spec levada_py_spec_##word;
LEVADA_PY_TYPES(LEVADA_PY_SPEC)
#undef LEVADA_PY_SPEC
#define LEVADA_PY_LIST(word) extern PyMethodDef levada_py_functions_##word[];
LEVADA_PY_FUNCTIONS(LEVADA_PY_LIST)
#undef LEVADA_PY_LIST

/* Defines the spec of a type: `more` are flags besides the default ones, `about` is its docstring,
 * and its slots follow: LEVADA_PY_SLOT(tp_new, queue_new), ... */
#define LEVADA_PY_SLOT(slot, what) {Py_##slot, (void *)(uintptr_t)(what)}
#define LEVADA_PY_TYPE(word, text, object, more, about, ...)  \
    static PyType_Slot levada_py_slots_##word[] = {           \
        LEVADA_PY_SLOT(tp_doc, about), __VA_ARGS__, {0, NULL} \
    };                                                        \
    PyType_Spec levada_py_spec_##word = {                     \
        .name = "levada._levada." text,                       \
        .basicsize = sizeof(object),                          \
        .flags = (more) | Py_TPFLAGS_DEFAULT,                 \
        .slots = levada_py_slots_##word,                      \
    }
/* Methods without arguments and getters that are one call: `ready` holds or has set an exception,
 * `made` is the result; both use `self`. */
#define LEVADA_PY_ONE_CALL(name, nothing, type, ready, made) \
    static PyObject *name(PyObject *object, nothing *unused) \
    {                                                        \
        type *self = (type *)object;                         \
                                                             \
        return (ready) ? (made) : NULL;                      \
    }
#define LEVADA_PY_METHOD(name, type, ready, made) \
    LEVADA_PY_ONE_CALL(name, PyObject, type, ready, made)
#define LEVADA_PY_GETTER(name, type, made) LEVADA_PY_ONE_CALL(name, void, type, true, made)
/* A method that returns the text of function(handle, &text, &err). */
#define LEVADA_PY_TEXT_METHOD(name, type, ready, function, handle)                             \
    static PyObject *name(PyObject *object, PyObject *unused)                                  \
    {                                                                                          \
        type        *self = (type *)object;                                                    \
        levada_error err = LEVADA_ERROR_INIT;                                                  \
        char        *text = NULL;                                                              \
                                                                                               \
        return (ready) ? levada_py_text(function(handle, &text, &err), &text, &err) : NULL;    \
    }
/* In a table of methods: a function with METH_FASTCALL. */
#define LEVADA_PY_FAST(function) ((PyCFunction)(void *)(uintptr_t)(function))

/* Ends every dealloc: frees an object of a type of this module, and the reference to its type. */
void levada_py_free(PyObject *object);

/* A call without the interpreter: LEVADA_PY_UNLOCKED(st = levada_...); Calls that wait and can be
 * interrupted have LEVADA_PY_WAITING (wait.h). */
#define LEVADA_PY_UNLOCKED(call)                           \
    do {                                                   \
        PyThreadState *levada_py_saved = PyEval_SaveThread(); \
        call;                                              \
        PyEval_RestoreThread(levada_py_saved);             \
    } while (0)

/* PyArg_ParseTupleAndKeywords with names that are constant. */
bool levada_py_parse(PyObject *args, PyObject *kwargs, const char *format,
                     const char *const *names, ...);

/* Forks in this process' line: what was made at another count belongs to a parent. A counter that
 * fork() itself advances, because asking the system for the process takes 150 ns a call. */
long levada_py_forks(void);

/* Makes an error clear by its code alone: levada_fail() writes the rest, and to initialize all of
 * its 1,280 bytes takes longer than most calls. */
static inline void levada_py_clear(levada_error *err)
{
    err->code = LEVADA_OK;
}

/* Sets the exception of this code and message; returns NULL. */
LEVADA_PRINTF(2, 3) PyObject *levada_py_refuse(levada_status code, const char *fmt, ...);
/* Returns the name of a column, interned; NULL with an exception, also for a name that is not
 * UTF-8. */
PyObject *levada_py_name(const char *name);
/* Sets the exception of a status; returns NULL. Looks up the original exception of a function. */
PyObject *levada_py_raise(const levada_error *err);
/* Sets an exception if st is not OK and nothing is set yet; returns true if st is OK. */
bool levada_py_ok(levada_status st, const levada_error *err);
/* Returns None for a method without a result, or NULL with an exception. */
PyObject *levada_py_none(levada_status st, const levada_error *err);
/* `size` bytes of levada as bytes; frees them. NULL with the exception of a status that is not OK.
 */
PyObject *levada_py_bytes(levada_status st, char **bytes, size_t size, const levada_error *err);
/* Returns true if this thread is one of Python's and a signal raised in it (Ctrl-C): the exception
 * is set. Without the interpreter, and with no lock held. */
bool levada_py_interrupted(void);
/* When a wait should look up: 50 ms from now on the monotonic clock. */
struct timespec levada_py_soon(void);
/* Returns the UTF-8 of a str, borrowed; NULL with an exception, also for one with a zero byte. */
const char *levada_py_utf8(PyObject *text);

/* The function of Python that a description names: levada_env_options.resolve. */
levada_status levada_py_resolve(void *user, const char *kind, const char *name,
                                levada_function **out, levada_error *err);
/* Returns a text of levada as a str; frees it. NULL with the exception of a status that is not OK.
 * */
PyObject *levada_py_text(levada_status st, char **text, const levada_error *err);
/* Returns the tuple (n, dims...), or the dims alone for n = -1. */
PyObject *levada_py_dims(int64_t n, const int64_t *dims, int32_t rank);

/* Returns a Python value as a value of levada; NULL with an exception. */
levada_value *levada_py_value(levada_py_state *state, PyObject *object);
PyObject     *levada_py_from_value(levada_py_state *state, const levada_value *value);

/* n values of `dims` each at data, which `owner`, a block, keeps. view.c */
PyObject *levada_py_view_new(PyObject *owner, const void *data, levada_dtype dtype, int64_t n,
                             const int64_t *dims, int32_t ndims);
/* Returns a NumPy array over the same memory, whose base is the owner. numpy.c */
PyObject *levada_py_array_new(PyObject *owner, const void *data, levada_dtype dtype, int64_t n,
                              const int64_t *dims, int32_t ndims);
/* Returns the number of bytes of an element; 1 for those of byte strings. */
Py_ssize_t levada_py_item_size(levada_dtype dtype);
/* Returns a str of LEVADA_TEXT, else a bytes object. */
PyObject *levada_py_string(levada_dtype dtype, const char *bytes, Py_ssize_t size);
/* Takes the block, where there is memory for the object. */
PyObject *levada_py_block_new(levada_py_state *state, levada_block **block);
/* Returns the columns of a block object by name, {name: number} in their order: nobody may change
 * it, as blocks with the same spec share it. Borrowed; NULL with an exception. */
PyObject *levada_py_block_index(PyObject *block);
/* Returns a FIXED column as a NumPy array; NULL without an exception: it is not one of numbers
 * whose dtype NumPy has by itself. */
PyObject *levada_py_block_array(PyObject *block, int32_t i);
/* Tuple (name, dtype, depth, dims, padded, pad as bytes) of each field. */
PyObject *levada_py_fields(const levada_spec *spec);
/* Takes the dataset. */
PyObject *levada_py_dataset_new(levada_py_state *state, levada_dataset **dataset);
/* Borrowed from the object; NULL with a TypeError where it is not a dataset of ours. */
levada_dataset *levada_py_dataset_of(levada_py_state *state, PyObject *object);
/* Borrowed from the object; NULL (without an exception) where it is not a function of ours. */
levada_function *levada_py_function_of(levada_py_state *state, PyObject *object);
/* Borrowed from the object; NULL with a TypeError where it is not a queue of ours. */
levada_queue *levada_py_queue_required(const levada_py_state *state, PyObject *object);
/* One element, as Queue.enqueue(vals); `queue` is a Queue. */
PyObject *levada_py_queue_put(PyObject *queue, PyObject *vals);
/* n numbers of columns from a sequence, for PyMem_Free; NULL with an exception. */
int32_t *levada_py_columns(PyObject *list, int32_t n);
/* Returns what a function made here calls, borrowed; NULL if it does not call Python. */
PyObject *levada_py_target_of(const levada_function *function);

/* Memory that any thread may free, by levada_block_unref and without the interpreter. Zeroed and
 * aligned to 64 bytes. May be called without the interpreter. */
levada_status levada_py_scratch(int64_t size, levada_block **owner, void **out, levada_error *err);

/* Returns the call queue of this module; NULL with an exception. */
levada_py_call_queue *levada_py_call_queue_create(void);

#endif
