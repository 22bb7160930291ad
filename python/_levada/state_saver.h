/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What state_saver.c and segments.c share: a saver, and batches of it.
 */
#ifndef LEVADA_PY_STATE_SAVER_H
#define LEVADA_PY_STATE_SAVER_H

#include "tensor.h"
#include "wait.h"

#include <levada/binding.h>

typedef struct levada_py_saver {
    PyObject_HEAD
    levada_py_state    *state;
    levada_state_saver *saver;
    levada_py_slots     slots; /* sequences, context, states; then those of LEVADA_PY_MARKS */
    int32_t             nsequences, ncontext, nstates;
    bool                settled;
    long                forks;
} levada_py_saver;

typedef struct levada_py_segments {
    PyObject_HEAD
    levada_py_saver      *saver;
    levada_segment_batch *batch;
} levada_py_segments;

/* Slots after those of the fields: int32, int64 and byte strings. */
enum { LEVADA_PY_INT32, LEVADA_PY_INT64, LEVADA_PY_STRINGS, LEVADA_PY_MARKS };

/* Returns false with an exception in the child of a fork, or if the fields are not known yet. */
bool levada_py_saver_alive(const levada_py_saver *self);
bool levada_py_saver_is_settled(const levada_py_saver *self);

#endif
