/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Components of queues and barriers between Python and C: what NumPy knows of each, values to
 * memory or tensors, and back. Called with the interpreter held.
 */
#ifndef LEVADA_PY_TENSOR_H
#define LEVADA_PY_TENSOR_H

#include "module.h"

#include <levada/tensor.h>

/* One component. */
typedef struct levada_py_slot {
    levada_dtype dtype;
    levada_shape shape; /* rank -1: any */
    int64_t      item;  /* bytes of a number; 0 for byte strings */
    int64_t      bytes; /* of an element of known shape, else -1 */
    PyObject    *numpy; /* its dtype in memory */
    PyObject    *shown; /* the dtype that users see where it is another one, else NULL */
    PyObject    *one;   /* array of one element, at `cell`: scalars are taken from it */
    void        *cell;
    PyObject    *dims;  /* tuple, where bytes >= 0 */
} levada_py_slot;

/* What an object with components holds. */
typedef struct levada_py_slots {
    int32_t         n;
    bool            rows; /* numbers of known shapes throughout */
    levada_py_slot *slot;
    PyObject       *empty;      /* numpy.empty */
    PyObject       *array;      /* numpy.ndarray */
    PyObject       *word_dtype; /* "dtype" */
} levada_py_slots;

/* components: a tuple of (name of the dtype, dims or None, NumPy dtype of the memory, NumPy dtype
 * as users see it); -1 stands for an unknown dimension. false with an exception. */
bool levada_py_slots_init(levada_py_slots *slots, PyObject *components);
void levada_py_slots_clear(levada_py_slots *slots);
/* Tables as levada_queue_create wants them; *shapes is NULL unless all have one. Both are in
 * *memory, for PyMem_Free. */
bool levada_py_slots_tables(const levada_py_slots *slots, void **memory, levada_dtype **dtypes,
                            levada_shape **shapes);

/* The shapes of an object that was there before, NULL: none. false with an exception. */
bool levada_py_slots_adopt(levada_py_slots *slots, const levada_shape *shapes);
/* List of the dims of the components, None where any shape is allowed. */
PyObject *levada_py_slots_dims(const levada_py_slots *slots);

/* The memory of a value: release `view` if view.obj is set. */
typedef struct levada_py_given {
    Py_buffer   view;
    const void *data;
    union {
        int64_t i;
        int32_t w;
        int16_t h;
        int8_t  b;
        double  d;
        float   f;
        double  c[2];
    } one;
} levada_py_given;

/* Returns true if the value already has the dtype and shape (`many`: with rows in front, *rows of
 * them, -1 = not known yet) and its memory can be used. false without an exception: it needs the
 * long way through Python. */
bool levada_py_give(const levada_py_slots *slots, int32_t i, PyObject *value, bool many,
                    int64_t *rows, levada_py_given *out);
void levada_py_given_clear(levada_py_given *given);

/* Returns a tensor, also of byte strings: of a str or bytes, or a pair (dims, list of them) that
 * Python prepared. NULL: with an exception, or without one if it needs the long way. */
levada_tensor *levada_py_tensor(levada_env *env, const levada_py_slots *slots, int32_t i,
                                PyObject *value, bool many, int64_t *rows);
/* Returns a tensor of byte strings from a list of str or bytes. */
levada_tensor *levada_py_strings(levada_env *env, const levada_shape *shape, PyObject *list);

/* Returns a new array; *data is its memory. */
PyObject *levada_py_array(const levada_py_slots *slots, int32_t i, PyObject *dims, void **data);
/* Returns an object array of the byte strings of a list (taken; NULL returns NULL). */
PyObject *levada_py_objects(const levada_py_slots *slots, int32_t i, PyObject *list,
                            const levada_shape *shape);
/* Returns the array (taken) with the dtype that users see. */
PyObject *levada_py_shown(const levada_py_slot *slot, PyObject *array);
/* Returns a NumPy scalar from memory. */
PyObject *levada_py_scalar(const levada_py_slots *slots, int32_t i, const void *data);
/* Returns a tensor (taken) as Python gets it: bytes or a NumPy scalar for rank 0, else an array;
 * object arrays of bytes for strings. `only`: nobody else has it, so large memory is shown, not
 * copied. */
PyObject *levada_py_from_tensor(levada_py_state *state, const levada_py_slots *slots, int32_t i,
                                levada_tensor **tensor, bool only);

/* Returns a tensor as an object that only the extension reads: takes a reference of it; and back,
 * borrowed, NULL with a TypeError where it is none. */
PyObject      *levada_py_tensor_object(levada_py_state *state, levada_tensor *tensor);
levada_tensor *levada_py_tensor_of_object(const levada_py_state *state, PyObject *object);

#endif
