/* SPDX-License-Identifier: Apache-2.0 */
/* The call queue, Python's side: its threads take tasks, run functions, and answer. */
#include "call_queue.h"

#include <string.h>

/* The threads of the parent are gone, and whatever they were doing. */
static PyObject *serve_after_fork(PyObject *module, PyObject *unused)
{
    levada_py_call_queue *calls = ((levada_py_state *)PyModule_GetState(module))->calls;

    pthread_mutex_init(&calls->lock, NULL);
    pthread_cond_init(&calls->news, NULL);
    calls->first = calls->last = NULL, calls->idle = 0, calls->ending = false;
    calls->forks++;
    return Py_NewRef(Py_None);
}

/* The end of a run waits for its last call. Calls that went on when the process was forked are the
 * parent's. */
static bool serve_ready(const levada_py_task *task)
{
    levada_py_target *function = task->run->function;

    if (function->forks != function->calls->forks) {
        function->forks = function->calls->forks;
        function->busy = 0;
    }
    if (task == &task->run->last) return task->run->busy == 0;
    return task->aside || function->busy < function->workers;
}

/* Returns the first task whose run has a worker to spare; it leaves the queue. */
static levada_py_task *serve_pick_locked(levada_py_call_queue *calls)
{
    levada_py_task *task = calls->first;

    while (task && !serve_ready(task)) task = task->next;
    if (!task) return NULL;
    levada_py_call_queue_remove_locked(calls, task);
    task->taken = true;
    task->run->busy++;
    task->run->function->busy++;
    return task;
}

/* Answers the task; frees it where nobody waits any more, and a run that is over. */
static void serve_finish(levada_py_task *task, levada_status st)
{
    levada_py_run         *run = task->run;
    levada_py_call_queue *calls = run->function->calls;
    bool              over = task == &run->last, left;
    levada_block     *memory = NULL;

    pthread_mutex_lock(&calls->lock);
    task->status = st;
    task->done = true;
    left = task->left;
    run->busy--;
    run->function->busy--;
    if (over) {
        memory = run->memory;
        levada_py_call_queue_drop_locked(calls, run->function);
    } else if (!left) {
        pthread_cond_broadcast(&run->wake);
    }
    pthread_cond_signal(&calls->news);
    pthread_mutex_unlock(&calls->lock);
    if (over) levada_py_pieces_unref(atomic_load(&run->pieces));
    if (over) levada_block_unref(&memory);
    else if (left) levada_py_call_queue_free(task);
}

/* A task that Python dropped without an answer. */
static void serve_capsule_free(PyObject *capsule)
{
    levada_py_task *task = PyCapsule_GetPointer(capsule, "levada.task");

    if (PyCapsule_GetContext(capsule)) return;
    (void)levada_fail(&task->error, LEVADA_EINTERNAL,
                      "internal error: a call of a function was dropped; please report it");
    serve_finish(task, LEVADA_EINTERNAL);
}

static PyObject *serve_input(levada_py_state *state, const levada_py_task *task)
{
    levada_block *block = NULL;
    PyObject     *made = NULL;

    if (!task->in) return Py_NewRef(Py_None);
    if (task->size >= 0)
        return PyBytes_FromStringAndSize(levada_py_call_queue_bytes(task->in),
                                         (Py_ssize_t)task->size);
    block = levada_block_ref(task->in);
    made = levada_py_block_new(state, &block);
    levada_block_unref(&block);
    return made;
}

/* Keys of the records, each terminated. */
static PyObject *serve_keys(const levada_py_task *task)
{
    const char *at = task->keys ? levada_py_call_queue_bytes(task->keys) : NULL;

    if (!at) return Py_NewRef(Py_None);
    return PyBytes_FromStringAndSize(at, (Py_ssize_t)levada_block_at(task->keys, 0)->dims[0]);
}

/* take(most_idle) -> (task, target, op, run, input, last, (seed, epoch), keys), or None when too
 * many threads wait, or nothing is left to do and all are to end. */
static PyObject *serve_take(PyObject *module, PyObject *most)
{
    levada_py_state  *state = PyModule_GetState(module);
    levada_py_call_queue *calls = state->calls;
    long              limit = PyLong_AsLong(most);
    levada_py_task        *task = NULL;
    PyObject         *capsule = NULL, *input = NULL;
    bool              alone = false, crowd = false;

    if (limit == -1 && PyErr_Occurred()) return NULL;
    levada_py_call_queue_bury(calls);
    Py_BEGIN_ALLOW_THREADS
    pthread_mutex_lock(&calls->lock);
    crowd = calls->idle >= limit;
    calls->idle++;
    while (!crowd && !(task = serve_pick_locked(calls)) && !calls->ending)
        pthread_cond_wait(&calls->news, &calls->lock);
    calls->idle--;
    alone = calls->idle == 0 && !calls->ending;
    pthread_mutex_unlock(&calls->lock);
    Py_END_ALLOW_THREADS
    if (!task) return Py_NewRef(Py_None);
    capsule = PyCapsule_New(task, "levada.task", serve_capsule_free);
    input = capsule ? serve_input(state, task) : NULL;
    if (!capsule) serve_finish(task, LEVADA_ERESOURCE_EXHAUSTED);
    if (!input) return Py_XDECREF(capsule), NULL;
    return Py_BuildValue("(NOsLNN(KL)N)", capsule, task->run->function->target, task->op,
                         (long long)task->run->number, input, PyBool_FromLong(alone),
                         (unsigned long long)task->run->seed, (long long)task->run->epoch,
                         serve_keys(task));
}

/* Returns the task of a capsule that was not answered yet; from here on it is. */
static levada_py_task *serve_task_of(PyObject *capsule)
{
    levada_py_task *task = PyCapsule_GetPointer(capsule, "levada.task");

    if (task && PyCapsule_GetContext(capsule)) {
        PyErr_SetString(PyExc_ValueError, "the task was answered before");
        return NULL;
    }
    return task && PyCapsule_SetContext(capsule, task) == 0 ? task : NULL;
}

static bool serve_result(levada_py_state *state, levada_py_task *task, PyObject *result)
{
    levada_error err = LEVADA_ERROR_INIT;
    char        *bytes = NULL;
    Py_ssize_t   size = 0;
    void        *to = NULL;

    if (result == Py_None) return true;
    if (Py_IS_TYPE(result, state->block)) {
        ((levada_py_block *)result)->writable = false;
        task->out = levada_block_ref(((levada_py_block *)result)->block);
        return true;
    }
    if (PyBytes_AsStringAndSize(result, &bytes, &size) < 0 ||
        !levada_py_ok(levada_py_scratch(size, &task->out, &to, &err), &err))
        return false;
    memcpy(to, bytes, (size_t)size);
    task->size = size;
    return true;
}

/* answer(task, result): a Block, bytes, or None, which is the end of a source. */
static PyObject *serve_answer(PyObject *module, PyObject *args)
{
    PyObject     *capsule = NULL, *result = NULL;
    levada_py_task    *task = NULL;
    levada_status st = LEVADA_OK;

    if (!PyArg_ParseTuple(args, "OO:answer", &capsule, &result)) return NULL;
    if (!(task = serve_task_of(capsule))) return NULL;
    if (!serve_result(PyModule_GetState(module), task, result)) {
        st = levada_fail(&task->error, LEVADA_EINTERNAL,
                         "internal error: a function returned neither a block nor bytes; please "
                         "report it");
    } else if (!task->out && strcmp(task->op, "call") == 0) {
        st = LEVADA_END;
    }
    serve_finish(task, st);
    return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
}

/* fail(task, code, message, token, row=-1): the row of the block because of which it failed */
static PyObject *serve_fail(PyObject *module, PyObject *args)
{
    PyObject   *capsule = NULL;
    levada_py_task  *task = NULL;
    const char *message = NULL;
    int         code = 0;
    unsigned long long token = 0;
    long long          row = -1;
    levada_status      st;

    if (!PyArg_ParseTuple(args, "OisK|L:fail", &capsule, &code, &message, &token, &row))
        return NULL;
    if (!(task = serve_task_of(capsule))) return NULL;
    st = levada_fail(&task->error, (levada_status)code, "%s", message);
    task->error.token = token;
    task->error.record = row;
    serve_finish(task, st);
    return Py_NewRef(Py_None);
}

/* wanted(task): whether somebody still waits for the answer. */
static PyObject *serve_wanted(PyObject *module, PyObject *capsule)
{
    levada_py_call_queue *calls = ((levada_py_state *)PyModule_GetState(module))->calls;
    const levada_py_task  *task = PyCapsule_GetPointer(capsule, "levada.task");
    bool              wanted;

    if (!task) return NULL;
    if (PyCapsule_GetContext(capsule)) Py_RETURN_FALSE; /* answered: it may be gone */
    pthread_mutex_lock(&calls->lock);
    wanted = !task->left && !task->run->cancelled;
    pthread_mutex_unlock(&calls->lock);
    return PyBool_FromLong(wanted);
}

/* noted(task): a thread that saves may now ask for the position before the call. */
static PyObject *serve_noted(PyObject *module, PyObject *capsule)
{
    levada_py_call_queue *calls = ((levada_py_state *)PyModule_GetState(module))->calls;
    levada_py_task   *task = PyCapsule_GetPointer(capsule, "levada.task");

    if (!task) return NULL;
    if (PyCapsule_GetContext(capsule)) Py_RETURN_NONE; /* answered: it may be gone */
    pthread_mutex_lock(&calls->lock);
    task->noted = true;
    pthread_cond_broadcast(&task->run->wake);
    pthread_mutex_unlock(&calls->lock);
    Py_RETURN_NONE;
}

/* serve(task, pieces): calls of this run need no Python as long as they find their records. */
static PyObject *serve_pieces(PyObject *module, PyObject *args)
{
    PyObject         *capsule = NULL, *of = NULL;
    levada_py_task   *task;
    levada_py_pieces *pieces, *none = NULL;

    (void)module;
    if (!PyArg_ParseTuple(args, "OO:serve", &capsule, &of)) return NULL;
    task = PyCapsule_GetPointer(capsule, "levada.task");
    pieces = task ? levada_py_pieces_of(of) : NULL;
    if (!pieces) return NULL;
    if (PyCapsule_GetContext(capsule)) Py_RETURN_NONE; /* answered: it may be gone */
    if (!atomic_compare_exchange_strong(&task->run->pieces, &none, levada_py_pieces_ref(pieces)))
        levada_py_pieces_unref(pieces);
    Py_RETURN_NONE;
}

/* end(ending): whether threads that find nothing to do leave take(). Drops what they left. */
static PyObject *serve_end(PyObject *module, PyObject *ending)
{
    levada_py_call_queue *calls = ((levada_py_state *)PyModule_GetState(module))->calls;
    int                   is = PyObject_IsTrue(ending);

    if (is < 0) return NULL;
    pthread_mutex_lock(&calls->lock);
    calls->ending = is;
    pthread_cond_broadcast(&calls->news);
    pthread_mutex_unlock(&calls->lock);
    levada_py_call_queue_bury(calls);
    Py_RETURN_NONE;
}

/* runs(): the number of the run that was opened last. */
static PyObject *serve_runs(PyObject *module, PyObject *unused)
{
    levada_py_call_queue *calls = ((levada_py_state *)PyModule_GetState(module))->calls;
    int64_t               runs;

    (void)unused;
    pthread_mutex_lock(&calls->lock);
    runs = calls->runs;
    pthread_mutex_unlock(&calls->lock);
    return PyLong_FromLongLong(runs);
}

PyMethodDef levada_py_functions_call[] = {
    {"take", serve_take, METH_O,
      "take(most_idle): (task, target, op, run, input, alone, (seed, epoch), keys), or None where "
      "enough threads wait, and after end(True) where nothing is to do." },
    { "end", serve_end, METH_O,
      "end(ending): whether threads that find nothing to do leave take()." },
    {"answer", serve_answer, METH_VARARGS, "answer(task, result): Block, bytes or None."},
    {"fail", serve_fail, METH_VARARGS, "fail(task, code, message, token, row=-1)"},
    {"wanted", serve_wanted, METH_O, "wanted(task): whether somebody waits for the answer."},
    {"noted", serve_noted, METH_O,
      "noted(task): the position before this call is known to save_before()." },
    {"serve", serve_pieces, METH_VARARGS,
      "serve(task, pieces): answers later calls of the run from these pieces, without Python."},
    {"runs", serve_runs, METH_NOARGS, "runs(): the number of the run that was opened last."},
    { "after_fork", serve_after_fork, METH_NOARGS,
      "In the child of a fork: nobody waits here." },
    {NULL, NULL, 0, NULL},
};
