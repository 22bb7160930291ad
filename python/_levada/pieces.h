/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of Arrow arrays by number, without the interpreter: the arrays are pieces of one row of
 * numbers, and those that are in memory answer calls on any thread.
 */
#ifndef LEVADA_PYTHON_PIECES_H
#define LEVADA_PYTHON_PIECES_H

#include "module.h"

#include <levada/arrow.h>

typedef struct levada_py_pieces levada_py_pieces;

/* Returns the pieces of a capsule, borrowed; NULL with an exception. */
levada_py_pieces *levada_py_pieces_of(PyObject *capsule);
levada_py_pieces *levada_py_pieces_ref(levada_py_pieces *pieces);
void              levada_py_pieces_unref(levada_py_pieces *pieces);
/* Makes a block of the records with n numbers. LEVADA_AGAIN: one is in a piece that is not in
 * memory. */
levada_status levada_py_pieces_pick(const levada_py_pieces *pieces, const int64_t *numbers,
                                    int64_t n, levada_block **out, levada_error *err);
/* Returns the array of a capsule of arrow_hold, which is empty then; NULL with an exception. */
levada_arrow_rows *levada_py_arrow_rows_take(PyObject *capsule);

#endif
