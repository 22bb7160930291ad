/* SPDX-License-Identifier: Apache-2.0 */
/* Boundaries and padding from lengths; arrays come as the bytes of int64 numbers. */
#include "module.h"

#include <levada/lengths.h>

static int64_t lengths_count(const Py_buffer *buffer) { return (int64_t)buffer->len / 8; }

static PyObject *lengths_list(const int64_t *at, int64_t n)
{
    PyObject *list = PyList_New((Py_ssize_t)n);

    for (int64_t i = 0; list && i < n; i++) {
        PyObject *item = PyLong_FromLongLong(at[i]);

        if (!item || PyList_SetItem(list, (Py_ssize_t)i, item) < 0) Py_CLEAR(list);
    }
    return list;
}

static PyObject *lengths_boundaries(PyObject *module, PyObject *args)
{
    Py_buffer    lengths, counts;
    long long    buckets = 0, multiple = 0;
    levada_error err = LEVADA_ERROR_INIT;
    int64_t      n = 0, *at;
    PyObject    *result = NULL;

    if (!PyArg_ParseTuple(args, "y*y*LL:optimal_boundaries", &lengths, &counts, &buckets,
                          &multiple)) {
        return NULL;
    }
    at = PyMem_Malloc(sizeof *at * (size_t)(buckets > 0 && buckets <= 65536 ? buckets : 1));
    if (!at) PyErr_NoMemory();
    else if (levada_py_ok(levada_optimal_boundaries(lengths.buf, counts.buf,
                                                    lengths_count(&lengths),
                                                    buckets <= 65536 ? buckets : 65536, multiple,
                                                    at, &n, &err),
                          &err)) {
        result = lengths_list(at, n);
    }
    PyMem_Free(at);
    PyBuffer_Release(&lengths);
    PyBuffer_Release(&counts);
    return result;
}

static PyObject *lengths_report(PyObject *module, PyObject *args)
{
    levada_padding_report_options options = LEVADA_PADDING_REPORT_OPTIONS_INIT;
    Py_buffer                     lengths, boundaries;
    long long                     tokens = 0, size = 0, multiple = 0, buckets = 0, pack = 0;
    int                           given = 0;
    levada_error                  err = LEVADA_ERROR_INIT;
    levada_status                 st;
    char                         *text = NULL;

    if (!PyArg_ParseTuple(args, "y*LLLy*psLL:padding_report", &lengths, &tokens, &size, &multiple,
                          &boundaries, &given, &options.field, &buckets, &pack)) {
        return NULL;
    }
    options.max_tokens = tokens;
    options.batch_size = size;
    options.multiple_of = multiple;
    options.num_buckets = buckets;
    options.pack_length = pack;
    options.boundaries = given ? boundaries.buf : NULL;
    options.nboundaries = given ? lengths_count(&boundaries) : 0;
    LEVADA_PY_UNLOCKED(
        st = levada_padding_report(lengths.buf, lengths_count(&lengths), &options, &text, &err));
    PyBuffer_Release(&lengths);
    PyBuffer_Release(&boundaries);
    return levada_py_text(st, &text, &err);
}

PyMethodDef levada_py_functions_lengths[] = {
    {"optimal_boundaries", lengths_boundaries, METH_VARARGS,
     "optimal_boundaries(lengths, counts, buckets, multiple): a list."},
    {"padding_report", lengths_report, METH_VARARGS,
     "padding_report(lengths, max_tokens, batch_size, multiple, boundaries, given, field, "
     "num_buckets, pack_length): JSON."},
    {NULL, NULL, 0, NULL},
};
