/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Epoch receipts as Python sees them: texts.
 */
#include "module.h"

#include <levada/receipt.h>

#include <string.h>

/* Adds up the receipts in a tuple of str. */
static PyObject *receipts_merge(PyObject *module, PyObject *given)
{
    Py_ssize_t    n = PyTuple_Check(given) ? PyTuple_Size(given) : -1;
    const char  **texts = n < 0 ? NULL : PyMem_Malloc(sizeof *texts * (size_t)(n + 1));
    levada_error  err = LEVADA_ERROR_INIT;
    char         *sum = NULL;
    levada_status st;
    bool          good = texts != NULL;

    (void)module;
    if (n < 0) return PyErr_Format(PyExc_TypeError, "receipts_merge needs a tuple");
    if (!texts) return PyErr_NoMemory();
    for (Py_ssize_t i = 0; good && i < n; i++) {
        PyObject *text = PySequence_GetItem(given, i); /* the tuple keeps it */

        texts[i] = text ? PyUnicode_AsUTF8AndSize(text, NULL) : NULL;
        good = texts[i] != NULL;
        Py_XDECREF(text);
    }
    st = good ? levada_receipts_merge(texts, n, &sum, &err) : LEVADA_OK;
    PyMem_Free((void *)texts);
    return good ? levada_py_text(st, &sum, &err) : NULL;
}

static PyObject *receipts_of(PyObject *module, PyObject *state)
{
    levada_error  err = LEVADA_ERROR_INIT;
    char         *bytes = NULL, *text = NULL;
    Py_ssize_t    size = 0;
    levada_status st;

    (void)module;
    if (PyBytes_AsStringAndSize(state, &bytes, &size) < 0) return NULL;
    st = levada_state_delivered(NULL, bytes, (size_t)size, &text, &err);
    return levada_py_text(st, &text, &err);
}

/* receipt(stamp, block) */
static PyObject *receipts_batch(PyObject *module, PyObject *args)
{
    levada_py_state     *state = PyModule_GetState(module);
    levada_batch_receipt receipt;
    levada_error         err = LEVADA_ERROR_INIT;
    levada_status        st;
    const char          *stamp = NULL;
    Py_ssize_t           size = 0;
    PyObject            *given = NULL;
    levada_py_block     *block;
    char                *text = NULL;

    if (!PyArg_ParseTuple(args, "y#O!:receipt", &stamp, &size, state->block, &given)) return NULL;
    block = (levada_py_block *)given;
    if (size != sizeof receipt || block->step < 0)
        return levada_py_refuse(LEVADA_EFAILED_PRECONDITION,
                                "no iterator returned this batch, so it has no receipt");
    memcpy(&receipt, stamp, sizeof receipt);
    receipt.step = block->step;
    LEVADA_PY_UNLOCKED(st = levada_batch_receipt_fill(&receipt, block->block, &err));
    if (st == LEVADA_OK) st = levada_batch_receipt_print(&receipt, &text, &err);
    return levada_py_text(st, &text, &err);
}

PyMethodDef levada_py_functions_receipts[] = {
    {"receipt", receipts_batch, METH_VARARGS, "receipt(stamp, block): the receipt of a batch."},
    {"receipts_merge", receipts_merge, METH_O, "receipts_merge((text, ...)): their sum."},
    {"receipt_of", receipts_of, METH_O, "receipt_of(state): the epoch receipt of a checkpoint."},
    {NULL, NULL, 0, NULL},
};
