/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pieces of one row of numbers. Python puts them in and takes them out. A piece may go only while
 * no thread picks from these pieces, so pieces that several runs share must stay.
 */
#include "pieces.h"

#include <stdatomic.h>
#include <string.h>

static const char pieces_name[] = "levada_pieces";

struct levada_py_pieces {
    atomic_int                    refs;
    levada_block                 *memory; /* that has all of it                             */
    int32_t                       count;
    _Atomic(levada_arrow_rows *) *rows;   /* NULL = not in memory                           */
    int64_t                      *starts; /* first number of each, and the end of all       */
    int64_t                      *order;  /* record i has number order[i]; NULL = number i  */
    int64_t                       n;      /* of records                                     */
};

levada_py_pieces *levada_py_pieces_ref(levada_py_pieces *pieces)
{
    (void)atomic_fetch_add(&pieces->refs, 1);
    return pieces;
}

void levada_py_pieces_unref(levada_py_pieces *pieces)
{
    levada_block *memory = pieces ? pieces->memory : NULL;

    if (!pieces || atomic_fetch_sub(&pieces->refs, 1) != 1) return;
    for (int32_t i = 0; i < pieces->count; i++) {
        levada_arrow_rows *rows = atomic_load(&pieces->rows[i]);

        levada_arrow_rows_unref(&rows);
    }
    levada_block_unref(&memory);
}

levada_py_pieces *levada_py_pieces_of(PyObject *capsule)
{
    return PyCapsule_GetPointer(capsule, pieces_name);
}

static void pieces_free(PyObject *capsule)
{
    levada_py_pieces_unref(PyCapsule_GetPointer(capsule, pieces_name));
}

/* -- picking */

/* Space for one call. */
typedef struct pieces_call {
    levada_block       *memory;
    levada_arrow_rows **from;
    int64_t            *rows;  /* of each record, in its piece                            */
    int32_t            *which; /* piece of each, among those in `from`                    */
    int32_t            *place; /* of each piece in `from`, + 1; NULL = the numbers ascend */
    int32_t             nfrom;
} pieces_call;

static levada_status pieces_call_open(pieces_call *call, const levada_py_pieces *p, int64_t n,
                                      levada_error *err)
{
    int64_t size = n * (int64_t)(sizeof *call->from + sizeof *call->rows + sizeof *call->which);
    void   *at = NULL;

    if (p->order) size += p->count * (int64_t)sizeof *call->place;
    LEVADA_TRY(levada_py_scratch(size, &call->memory, &at, err));
    call->from = at;
    call->rows = (int64_t *)(void *)(call->from + n);
    call->which = (int32_t *)(call->rows + n);
    call->place = p->order ? call->which + n : NULL;
    return LEVADA_OK;
}

/* Returns the piece that has a number, the one of the number before if it is there too. */
static int32_t pieces_find(const levada_py_pieces *p, int64_t number, int32_t before)
{
    int32_t low = 0, high = p->count - 1;

    if (number >= p->starts[before] && number < p->starts[before + 1]) return before;
    while (low < high) {
        int32_t middle = high - (high - low) / 2;

        if (p->starts[middle] <= number) low = middle;
        else high = middle - 1;
    }
    return low;
}

/* Finds the pieces and rows of all numbers; false if one is not in memory. */
static bool pieces_locate(pieces_call *call, const levada_py_pieces *p, const int64_t *numbers,
                          int64_t n)
{
    int32_t at = 0, last = -1;

    for (int64_t i = 0; i < n; i++) {
        int64_t number = numbers[i];
        bool    is_new;

        if (number < 0 || number >= p->n) return false;
        if (p->order) number = p->order[number];
        if (number < 0 || number >= p->starts[p->count]) return false;
        at = pieces_find(p, number, at);
        is_new = p->order ? call->place[at] == 0 : at != last;
        if (is_new) {
            levada_arrow_rows *rows = atomic_load_explicit(&p->rows[at], memory_order_acquire);

            if (!rows) return false;
            call->from[call->nfrom++] = rows;
            if (p->order) call->place[at] = call->nfrom;
        }
        last = at;
        call->which[i] = p->order ? call->place[at] - 1 : call->nfrom - 1;
        call->rows[i] = number - p->starts[at];
    }
    return call->nfrom > 0;
}

levada_status levada_py_pieces_pick(const levada_py_pieces *pieces, const int64_t *numbers,
                                    int64_t n, levada_block **out, levada_error *err)
{
    pieces_call   call = { 0 };
    levada_status st = pieces_call_open(&call, pieces, n, err);

    if (st == LEVADA_OK) {
        st = LEVADA_AGAIN;
        if (pieces_locate(&call, pieces, numbers, n))
            st = levada_arrow_pick(NULL, call.from, call.nfrom, call.which, call.rows, n, out, err);
    }
    levada_block_unref(&call.memory);
    return st;
}

/* -- functions of the module */

/* Makes pieces that begin at these numbers; NULL with an exception. */
static levada_py_pieces *pieces_make(const Py_buffer *starts, const Py_buffer *order)
{
    int64_t           n = starts->len / (Py_ssize_t)sizeof(int64_t), size;
    levada_error      err = LEVADA_ERROR_INIT;
    levada_block     *memory = NULL;
    levada_py_pieces *p;
    void             *at = NULL;

    if (n < 1 || n > INT32_MAX || ((const int64_t *)starts->buf)[0] != 0) {
        PyErr_SetString(PyExc_ValueError, "starts must begin with 0, and end with the end of all");
        return NULL;
    }
    size = (int64_t)sizeof *p + n * (int64_t)sizeof *p->rows + starts->len + order->len;
    if (!levada_py_ok(levada_py_scratch(size, &memory, &at, &err), &err)) return NULL;
    p = at;
    p->refs = 1;
    p->memory = memory;
    p->count = (int32_t)n - 1;
    p->starts = (int64_t *)(void *)(p + 1);
    memcpy(p->starts, starts->buf, (size_t)starts->len);
    p->n = p->starts[n - 1];
    p->rows = (void *)((char *)(p->starts + n) + order->len);
    if (!order->buf) return p;
    p->order = p->starts + n;
    p->n = order->len / (Py_ssize_t)sizeof *p->order;
    if (p->n) memcpy(p->order, order->buf, (size_t)order->len);
    return p;
}

static PyObject *pieces_new(PyObject *module, PyObject *args)
{
    levada_py_pieces *p;
    PyObject         *capsule = NULL;
    Py_buffer         starts, order = { 0 };

    (void)module;
    if (!PyArg_ParseTuple(args, "y*|z*:pieces", &starts, &order)) return NULL;
    p = pieces_make(&starts, &order);
    if (p) capsule = PyCapsule_New(p, pieces_name, pieces_free);
    if (!capsule) levada_py_pieces_unref(p);
    PyBuffer_Release(&starts);
    if (order.buf) PyBuffer_Release(&order);
    return capsule;
}

/* Returns the place of piece i; NULL with an exception. */
static _Atomic(levada_arrow_rows *) *pieces_at(PyObject *capsule, int i)
{
    levada_py_pieces *p = levada_py_pieces_of(capsule);

    if (p && i >= 0 && i < p->count) return &p->rows[i];
    if (p) PyErr_SetString(PyExc_IndexError, "the piece does not exist");
    return NULL;
}

static PyObject *pieces_put(PyObject *module, PyObject *args)
{
    PyObject *capsule = NULL, *held = NULL;
    int       i = 0;
    _Atomic(levada_arrow_rows *) *at;
    levada_arrow_rows            *rows, *before = NULL;

    (void)module;
    if (!PyArg_ParseTuple(args, "OiO:pieces_put", &capsule, &i, &held)) return NULL;
    at = pieces_at(capsule, i);
    rows = at ? levada_py_arrow_rows_take(held) : NULL;
    if (!rows) return NULL;
    if (!atomic_compare_exchange_strong(at, &before, rows)) levada_arrow_rows_unref(&rows);
    return Py_NewRef(Py_None);
}

static PyObject *pieces_drop(PyObject *module, PyObject *args)
{
    PyObject *capsule = NULL;
    int       i = 0;
    _Atomic(levada_arrow_rows *) *at;
    levada_arrow_rows            *rows;

    (void)module;
    if (!PyArg_ParseTuple(args, "Oi:pieces_drop", &capsule, &i)) return NULL;
    at = pieces_at(capsule, i);
    if (!at) return NULL;
    rows = atomic_exchange(at, NULL);
    levada_arrow_rows_unref(&rows);
    return Py_NewRef(Py_None);
}

static PyObject *pieces_pick(PyObject *module, PyObject *args)
{
    levada_error      err = LEVADA_ERROR_INIT;
    levada_status     st = LEVADA_OK;
    levada_py_pieces *p;
    PyObject         *capsule = NULL;
    Py_buffer         numbers;
    levada_block     *made = NULL;
    int64_t           n;

    if (!PyArg_ParseTuple(args, "Oy*:pieces_pick", &capsule, &numbers)) return NULL;
    p = levada_py_pieces_of(capsule);
    n = numbers.len / (Py_ssize_t)sizeof(int64_t);
    if (p) LEVADA_PY_UNLOCKED(st = levada_py_pieces_pick(p, numbers.buf, n, &made, &err));
    PyBuffer_Release(&numbers);
    if (p && st == LEVADA_AGAIN) return Py_NewRef(Py_None);
    if (!p || !levada_py_ok(st, &err)) return NULL;
    return levada_py_block_new(PyModule_GetState(module), &made);
}

PyMethodDef levada_py_functions_pieces[] = {
    {"pieces", pieces_new, METH_VARARGS,
     "pieces(starts, order=None): Arrow arrays whose records have numbers; those of piece i begin "
     "at starts[i] (int64), and the last entry is the end of all. Record k is number order[k]."},
    {"pieces_put", pieces_put, METH_VARARGS,
     "pieces_put(pieces, i, array): keeps an array of arrow_hold, whose capsule is empty then."},
    {"pieces_drop", pieces_drop, METH_VARARGS,
     "pieces_drop(pieces, i): lets go of an array, which no other thread may use now."},
    {"pieces_pick", pieces_pick, METH_VARARGS,
     "pieces_pick(pieces, numbers): the block of the records with these numbers (int64), which "
     "ascend unless there is an order; None if a piece is missing."},
    {NULL, NULL, 0, NULL},
};
