/* SPDX-License-Identifier: Apache-2.0 */
/* Batches of state savers as Python sees them. */
#include "state_saver.h"

static bool segments_view(const levada_py_segments *self, levada_segment_view *view)
{
    levada_error err = LEVADA_ERROR_INIT;

    return levada_py_saver_alive(self->saver) && levada_py_saver_is_settled(self->saver) &&
           levada_py_ok(levada_segment_batch_get(self->batch, view, &err), &err);
}

/* Returns a tensor of the batch as an array of the caller's; None where there is none. */
static PyObject *segments_array(const levada_py_segments *self, int32_t slot,
                                const levada_tensor *tensor)
{
    levada_tensor *copy = levada_tensor_ref(tensor);

    if (!copy) return Py_NewRef(Py_None);
    return levada_py_from_tensor(self->saver->state, &self->saver->slots, slot, &copy, false);
}

static const levada_tensor *segments_mark(const levada_segment_view *v, int which, int *slot)
{
    const levada_tensor *const marks[] = { v->total_length,  v->length,   v->insertion_index,
                                           v->key,           v->next_key, v->sequence,
                                           v->sequence_count };
    static const int slots[] = { LEVADA_PY_INT32,   LEVADA_PY_INT32,   LEVADA_PY_INT64,
                                 LEVADA_PY_STRINGS, LEVADA_PY_STRINGS, LEVADA_PY_INT32,
                                 LEVADA_PY_INT32 };

    *slot = slots[which];
    return marks[which];
}

/* mark(which): total_length, length, insertion_index, key, next_key, sequence, sequence_count. */
static PyObject *segments_get_mark(PyObject *object, PyObject *which)
{
    levada_py_segments     *self = (levada_py_segments *)object;
    levada_segment_view  v = LEVADA_SEGMENT_VIEW_INIT;
    long                 i = PyLong_AsLong(which);
    int                  slot = 0;
    const levada_tensor *tensor;

    if (PyErr_Occurred() || !segments_view(self, &v)) return NULL;
    if (i < 0 || i > 6) return PyErr_Format(PyExc_IndexError, "value %ld must be 0 to 6", i), NULL;
    tensor = segments_mark(&v, (int)i, &slot);
    return segments_array(self, self->saver->slots.n - LEVADA_PY_MARKS + slot, tensor);
}

/* field(i): (values, offsets or None) of a sequence or context. */
static PyObject *segments_get_field(PyObject *object, PyObject *which)
{
    levada_py_segments    *self = (levada_py_segments *)object;
    levada_segment_view v = LEVADA_SEGMENT_VIEW_INIT;
    int32_t             i = (int32_t)PyLong_AsLong(which), n = self->saver->nsequences, c = i - n;
    PyObject           *values = NULL, *offsets = NULL;

    if (PyErr_Occurred() || !segments_view(self, &v)) return NULL;
    if (i < 0 || c >= self->saver->ncontext)
        return PyErr_Format(PyExc_IndexError, "field %d does not exist", (int)i), NULL;
    values = segments_array(self, i, c < 0 ? v.sequences[i] : v.context[c]);
    if (values)
        offsets = segments_array(self, self->saver->slots.n - LEVADA_PY_MARKS + LEVADA_PY_INT64,
                                 c < 0 ? v.sequence_offsets[i] : v.context_offsets[c]);
    if (offsets) return Py_BuildValue("(NN)", values, offsets);
    Py_XDECREF(values);
    return NULL;
}

/* state(i): an array of the caller's. */
static PyObject *segments_get_state(PyObject *object, PyObject *which)
{
    levada_py_segments    *self = (levada_py_segments *)object;
    levada_segment_view v = LEVADA_SEGMENT_VIEW_INIT;
    int32_t             i = (int32_t)PyLong_AsLong(which);

    if (PyErr_Occurred() || !segments_view(self, &v)) return NULL;
    if (i < 0 || i >= self->saver->nstates)
        return PyErr_Format(PyExc_IndexError, "state %d does not exist", (int)i), NULL;
    return segments_array(self, self->saver->nsequences + self->saver->ncontext + i, v.states[i]);
}

/* save(i, value): whether it could be used as it is, else it needs the long way. */
static PyObject *segments_save(PyObject *object, PyObject *args)
{
    levada_py_segments *self = (levada_py_segments *)object;
    levada_error     err = LEVADA_ERROR_INIT;
    PyObject        *value = NULL;
    levada_tensor   *tensor = NULL;
    int64_t          rows = -1;
    int              i = 0;
    bool             good;

    if (!PyArg_ParseTuple(args, "iO:save", &i, &value) || !levada_py_saver_alive(self->saver))
        return NULL;
    if (!levada_py_saver_is_settled(self->saver)) return NULL;
    if (i < 0 || i >= self->saver->nstates)
        return PyErr_Format(PyExc_IndexError, "state %d does not exist", (int)i), NULL;
    tensor = levada_py_tensor(NULL, &self->saver->slots,
                              self->saver->nsequences + self->saver->ncontext + i, value, true,
                              &rows);
    if (!tensor) return PyErr_Occurred() ? NULL : Py_NewRef(Py_False);
    good = levada_py_ok(levada_segment_batch_save(self->batch, i, tensor, &err), &err);
    levada_tensor_unref(&tensor);
    return good ? Py_NewRef(Py_True) : NULL;
}

static PyObject *segments_end(PyObject *object, levada_status (*end)(levada_segment_batch *batch,
                                                                    levada_error *err))
{
    levada_py_segments *self = (levada_py_segments *)object;
    levada_error     err = LEVADA_ERROR_INIT;

    if (!levada_py_saver_alive(self->saver) || !levada_py_ok(end(self->batch, &err), &err))
        return NULL;
    return Py_NewRef(Py_None);
}

static PyObject *segments_requeue(PyObject *object, PyObject *unused)
{
    return segments_end(object, levada_segment_batch_requeue);
}

static PyObject *segments_discard(PyObject *object, PyObject *unused)
{
    return segments_end(object, levada_segment_batch_discard);
}

static PyObject *segments_rows(PyObject *object, PyObject *unused)
{
    levada_segment_view v = LEVADA_SEGMENT_VIEW_INIT;

    return segments_view((levada_py_segments *)object, &v) ? PyLong_FromLongLong(v.n) : NULL;
}

static void segments_dealloc(PyObject *object)
{
    levada_py_segments *self = (levada_py_segments *)object;

    if (self->saver && self->saver->forks == levada_py_forks())
        levada_segment_batch_destroy(&self->batch);
    Py_CLEAR(self->saver);
    levada_py_free(object);
}

static PyMethodDef segments_methods[] = {
    {"mark", segments_get_mark, METH_O, "mark(which)"},
    {"field", segments_get_field, METH_O, "field(i)"},
    {"state", segments_get_state, METH_O, "state(i)"},
    {"save", segments_save, METH_VARARGS, "save(state, value)"},
    {"requeue", segments_requeue, METH_NOARGS, "Puts the segments back."},
    {"discard", segments_discard, METH_NOARGS, "Drops the examples."},
    {"rows", segments_rows, METH_NOARGS, "Number of rows."},
    {NULL, NULL, 0, NULL},
};

LEVADA_PY_TYPE(segments, "Segments", levada_py_segments, Py_TPFLAGS_DISALLOW_INSTANTIATION,
               "A batch of a state saver.",
               LEVADA_PY_SLOT(tp_dealloc, segments_dealloc),
               LEVADA_PY_SLOT(tp_methods, segments_methods));
