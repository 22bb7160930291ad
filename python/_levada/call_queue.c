/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The call queue: how functions written in Python are called. No C thread ever enters the
 * interpreter.
 *
 * A call is a task. The C thread puts it in the queue and waits. A thread made by Python takes it
 * (take()), runs the function and answers (answer(), fail()). The C thread may leave when the
 * iterator is cancelled: the task belongs to both sides and is freed by the last one.
 * release() must not touch reference counts: it puts its function on a list that take() drains.
 */
#include "call_queue.h"

#include <stdio.h>
#include <string.h>

typedef struct call_object {
    PyObject_HEAD
    levada_function *function;
} call_object;

levada_py_call_queue *levada_py_call_queue_create(void)
{
    levada_py_call_queue *calls = PyMem_Calloc(1, sizeof *calls);

    if (!calls) {
        PyErr_NoMemory();
        return NULL;
    }
    pthread_mutex_init(&calls->lock, NULL);
    pthread_cond_init(&calls->news, NULL);
    return calls;
}

static void call_queue_post_locked(levada_py_call_queue *calls, levada_py_task *task)
{
    task->next = NULL;
    if (calls->last) calls->last->next = task;
    else calls->first = task;
    calls->last = task;
    pthread_cond_signal(&calls->news);
}

void levada_py_call_queue_remove_locked(levada_py_call_queue *calls, levada_py_task *task)
{
    levada_py_task *before = NULL, *at = calls->first;

    while (at && at != task) before = at, at = at->next;
    if (!at) return;
    if (before) before->next = task->next;
    else calls->first = task->next;
    if (calls->last == task) calls->last = before;
}

void levada_py_call_queue_drop_locked(levada_py_call_queue *calls, levada_py_target *function)
{
    if (--function->refs > 0) return;
    function->next = calls->dead;
    calls->dead = function;
}

void levada_py_call_queue_free(levada_py_task *task)
{
    levada_block *memory = task->memory;

    levada_block_unref(&task->in);
    levada_block_unref(&task->out);
    levada_block_unref(&task->keys);
    levada_block_unref(&memory);
}

/* Nobody waits for the task any more. True where it can be freed at once. */
static bool call_queue_leave_locked(levada_py_call_queue *calls, levada_py_task *task)
{
    task->left = task->taken && !task->done;
    if (!task->taken) levada_py_call_queue_remove_locked(calls, task);
    return !task->left;
}

static void call_queue_post(levada_py_call_queue *calls, levada_py_task *task)
{
    pthread_mutex_lock(&calls->lock);
    call_queue_post_locked(calls, task);
    pthread_mutex_unlock(&calls->lock);
}

/* Waits until the task is done or *what is set, or its run is cancelled; where `patient` is not
 * set, only for a while. False at a signal. */
static bool call_queue_until_locked(levada_py_task *task, const bool *what, bool patient)
{
    levada_py_run         *run = task->run;
    levada_py_call_queue *calls = run->function->calls;
    struct timespec   until = levada_py_soon();
    bool              stopped = false;
    int               late = 0;

    while (!task->done && !*what && !run->cancelled && !stopped && !late) {
        late = pthread_cond_timedwait(&run->wake, &calls->lock, &until);
        if (!late || !patient) continue;
        pthread_mutex_unlock(&calls->lock); /* who holds the interpreter may want the lock */
        stopped = levada_py_interrupted();
        pthread_mutex_lock(&calls->lock);
        until = levada_py_soon(), late = 0;
    }
    return !stopped;
}

/* Waits for the answer to a posted task; takes the task unless it answers AGAIN, which it does at a
 * signal, and after a while where `patient` is not set. OK leaves *out and *size filled. */
static levada_status call_queue_wait(levada_py_task *task, bool patient, levada_block **out,
                               int64_t *size, levada_error *err)
{
    levada_py_run         *run = task->run;
    levada_py_call_queue *calls = run->function->calls;
    levada_status     st = LEVADA_OK;
    bool              over = true;

    pthread_mutex_lock(&calls->lock);
    if (!call_queue_until_locked(task, &task->done, patient)) {
        st = LEVADA_AGAIN;
    } else if (task->done) {
        st = task->status;
        if (st < 0 && err) *err = task->error;
        if (st == LEVADA_OK && out) *out = task->out, task->out = NULL;
        if (size) *size = task->size;
    } else if (run->cancelled) {
        st = levada_fail(err, LEVADA_ECANCELLED, "the iterator was cancelled");
        over = call_queue_leave_locked(calls, task);
    } else {
        st = LEVADA_AGAIN;
    }
    pthread_mutex_unlock(&calls->lock);
    if (over && st != LEVADA_AGAIN) levada_py_call_queue_free(task);
    return st;
}

/* Nobody waits for the answer any more. */
static void call_queue_give_up(levada_py_task *task)
{
    levada_py_call_queue *calls = task->run->function->calls;
    bool              over;

    pthread_mutex_lock(&calls->lock);
    over = call_queue_leave_locked(calls, task);
    pthread_mutex_unlock(&calls->lock);
    if (over) levada_py_call_queue_free(task);
}

static levada_status call_queue_ask(levada_py_task *task, levada_block **out, int64_t *size,
                              levada_error *err)
{
    levada_status st;

    call_queue_post(task->run->function->calls, task);
    st = call_queue_wait(task, true, out, size, err);
    if (st != LEVADA_AGAIN) return st;
    call_queue_give_up(task);
    return levada_fail(err, LEVADA_ECANCELLED, "interrupted by a signal");
}

/* The call that answered AGAIN is forgotten. */
static void call_queue_forget(levada_py_run *run)
{
    if (run->pending) call_queue_give_up(run->pending);
    run->pending = NULL;
}

static levada_status call_queue_task_new(levada_py_run *run, const char *op, levada_py_task **out,
                                   levada_error *err)
{
    levada_block *memory = NULL;
    void         *at = NULL;

    LEVADA_TRY(levada_py_scratch(sizeof **out, &memory, &at, err));
    *out = at;
    (*out)->memory = memory;
    (*out)->run = run;
    (*out)->op = op;
    (*out)->size = -1;
    return LEVADA_OK;
}

static levada_status call_queue_open(void *user, void **out, levada_error *err)
{
    levada_py_target    *function = user;
    levada_py_call_queue *calls = function->calls;
    levada_block     *memory = NULL;
    void             *at = NULL;
    levada_py_run         *run = NULL;
    pthread_condattr_t clock;

    LEVADA_TRY(levada_py_scratch(sizeof *run, &memory, &at, err));
    run = at;
    run->memory = memory;
    run->function = function;
    run->last.run = run;
    run->last.op = "close";
    run->last.left = true;
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&run->wake, &clock);
    pthread_condattr_destroy(&clock);
    pthread_mutex_lock(&calls->lock);
    run->number = ++calls->runs;
    function->refs++;
    pthread_mutex_unlock(&calls->lock);
    *out = run;
    return LEVADA_OK;
}

static levada_status call_queue_keys(void *user, const char *keys, size_t size, levada_error *err)
{
    levada_py_run *run = user;

    levada_block_unref(&run->keys);
    return levada_py_call_queue_keep(keys, size, &run->keys, err);
}

static void call_queue_begin(void *run, uint64_t seed, int64_t epoch)
{
    ((levada_py_run *)run)->seed = seed, ((levada_py_run *)run)->epoch = epoch;
}

/* Answers a call with numbers of records from the pieces that are in memory. Where that fails,
 * Python finds the records that are to blame. */
static bool call_queue_pick(levada_py_run *run, const levada_block *in, levada_block **out)
{
    const levada_py_pieces *pieces = atomic_load(&run->pieces);
    const int64_t          *numbers = pieces ? levada_column_i64(levada_block_at(in, 0)) : NULL;

    return numbers &&
           levada_py_pieces_pick(pieces, numbers, levada_block_rows(in), out, NULL) == LEVADA_OK;
}

/*
 * A source answers AGAIN when nothing came for a while, a function of blocks after a signal; then
 * it is asked for the same again. One that must not be called twice for a record continues
 * meanwhile, and the next call waits on. One that may is given up between two records and begun
 * again.
 */
static levada_status call_queue_call(void *user, const levada_block *in, levada_block **out,
                               levada_error *err)
{
    levada_py_run     *run = user;
    bool               twice = in && run->function->pure;
    levada_py_task    *task = twice ? NULL : run->pending;
    levada_status st;

    if (!task && in && call_queue_pick(run, in, out)) return LEVADA_OK;
    if (!task) {
        LEVADA_TRY(call_queue_task_new(run, "call", &task, err));
        task->in = in ? levada_block_ref(in) : NULL;
        task->keys = run->keys;
        run->keys = NULL;
        call_queue_post(run->function->calls, task);
    }
    st = call_queue_wait(task, in != NULL, out, NULL, err);
    if (!twice) run->pending = st == LEVADA_AGAIN ? task : NULL;
    else if (st == LEVADA_AGAIN) call_queue_give_up(task);
    return st;
}

static void call_queue_cancel(void *user)
{
    levada_py_run         *run = user;
    levada_py_call_queue *calls = run->function->calls;

    pthread_mutex_lock(&calls->lock);
    run->cancelled = true;
    pthread_cond_broadcast(&run->wake);
    pthread_mutex_unlock(&calls->lock);
}

levada_status levada_py_call_queue_keep(const void *bytes, size_t size, levada_block **out,
                                  levada_error *err)
{
    void *at = NULL;

    LEVADA_TRY(levada_py_scratch((int64_t)size, out, &at, err));
    memcpy(at, bytes, size);
    return LEVADA_OK;
}

const void *levada_py_call_queue_bytes(const levada_block *block)
{
    return levada_column_u8(levada_block_at(block, 0));
}

/*
 * The result of a call that still runs was not delivered: the position is the one before it, which
 * it notes before it takes a record. Until then the note is that of an earlier call, so this waits
 * for it, unless nobody has begun the call, which is then taken back. *noted where there is a note
 * to ask for; else nothing was taken since the last answer, and the position is the present one.
 */
static levada_status call_queue_settle(levada_py_run *run, bool *noted, levada_error *err)
{
    levada_py_call_queue *calls = run->function->calls;
    levada_py_task   *task = run->pending;
    bool              begun, stopped = false;

    if (!task) return LEVADA_OK;
    pthread_mutex_lock(&calls->lock);
    begun = task->taken;
    if (begun) stopped = !call_queue_until_locked(task, &task->noted, true);
    else (void)call_queue_leave_locked(calls, task);
    *noted = task->noted;
    pthread_mutex_unlock(&calls->lock);
    if (stopped) return levada_fail(err, LEVADA_ECANCELLED, "interrupted by a signal");
    if (begun) return LEVADA_OK;
    levada_py_call_queue_free(task);
    run->pending = NULL;
    return LEVADA_OK;
}

static levada_status call_queue_save(void *user, levada_state_writer *to, levada_error *err)
{
    levada_py_run     *run = user;
    levada_py_task    *task = NULL;
    levada_block *bytes = NULL;
    bool          noted = false;
    int64_t       size = 0;
    levada_status st;

    LEVADA_TRY(call_queue_settle(run, &noted, err));
    LEVADA_TRY(call_queue_task_new(run, noted ? "save_before" : "save", &task, err));
    task->aside = noted;
    LEVADA_TRY(call_queue_ask(task, &bytes, &size, err));
    if (!bytes)
        return levada_fail(err, LEVADA_EINTERNAL,
                           "internal error: save() returned no bytes; please report it");
    st = levada_state_put_bytes(to, "python", levada_py_call_queue_bytes(bytes), (size_t)size, err);
    levada_block_unref(&bytes);
    return st;
}

static levada_status call_queue_restore(void *user, levada_state_reader *from, levada_error *err)
{
    levada_py_task    *task = NULL;
    const void   *bytes = NULL;
    void         *at = NULL;
    size_t        size = 0;
    levada_status st;

    LEVADA_TRY(levada_state_get_bytes(from, "python", &bytes, &size, err));
    call_queue_forget(user);
    LEVADA_TRY(call_queue_task_new(user, "restore", &task, err));
    st = levada_py_scratch((int64_t)size, &task->in, &at, err);
    if (st != LEVADA_OK) {
        levada_py_call_queue_free(task);
        return st;
    }
    memcpy(at, bytes, size);
    task->size = (int64_t)size;
    return call_queue_ask(task, NULL, NULL, err);
}

/* The run goes when Python has heard of it (call_queue_finish). */
static void call_queue_close(void *run)
{
    call_queue_forget(run);
    levada_block_unref(&((levada_py_run *)run)->keys);
    call_queue_post(((levada_py_run *)run)->function->calls, &((levada_py_run *)run)->last);
}

static void call_queue_release(void *user)
{
    levada_py_target    *function = user;
    levada_py_call_queue *calls = function->calls;

    pthread_mutex_lock(&calls->lock);
    levada_py_call_queue_drop_locked(calls, function);
    pthread_mutex_unlock(&calls->lock);
}

void levada_py_call_queue_bury(levada_py_call_queue *calls)
{
    levada_py_target *dead = NULL, *next = NULL;

    pthread_mutex_lock(&calls->lock);
    dead = calls->dead;
    calls->dead = NULL;
    pthread_mutex_unlock(&calls->lock);
    for (; dead; dead = next) {
        next = dead->next;
        Py_DECREF(dead->target);
        PyMem_Free(dead);
    }
}

levada_function *levada_py_function_of(levada_py_state *state, PyObject *object)
{
    return Py_IS_TYPE(object, state->function) ? ((call_object *)object)->function : NULL;
}

PyObject *levada_py_target_of(const levada_function *function)
{
    const levada_function_def *def = levada_function_info(function);

    if (!def || def->call != call_queue_call) return NULL;
    return ((const levada_py_target *)levada_function_user(function))->target;
}

static PyObject *call_queue_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static const char *const names[] = {"target",  "name",   "pure", "workers",
                                        "source", "keyed", "per_record", NULL};
    levada_py_state    *state = PyType_GetModuleState(type);
    levada_function_def def = { .struct_size = sizeof def,
                                .kind = "py",
                                .open = call_queue_open,
                                .begin = call_queue_begin,
                                .call = call_queue_call,
                                .cancel = call_queue_cancel,
                                .close = call_queue_close,
                                .release = call_queue_release };
    PyObject      *target = NULL;
    int            pure = 1, workers = 1, source = 0, keyed = 0, per_record = 0;
    levada_py_target *function = NULL;
    call_object   *self = NULL;
    levada_error   err = LEVADA_ERROR_INIT;

    if (!levada_py_parse(args, kwargs, "O|zpippp:Function", names, &target,
                                     &def.name, &pure, &workers, &source, &keyed, &per_record))
        return NULL;
    levada_py_call_queue_bury(state->calls);
    def.pure = pure;
    def.per_record = per_record;
    if (source) def.save = call_queue_save, def.restore = call_queue_restore;
    if (keyed) def.keys = call_queue_keys;
    self = (call_object *)PyType_GenericAlloc(type, 0);
    function = PyMem_Calloc(1, sizeof *function);
    if (!self || !function) goto out;
    *function = (levada_py_target){
        .calls = state->calls, .target = Py_NewRef(target), .workers = workers, .pure = pure,
        .refs = 1, .forks = state->calls->forks};
    if (levada_py_ok(levada_function_create(&def, function, &self->function, &err), &err))
        return (PyObject *)self;
    Py_DECREF(target);
out:
    PyMem_Free(function);
    Py_XDECREF((PyObject *)self);
    return PyErr_Occurred() ? NULL : PyErr_NoMemory();
}

static void call_queue_dealloc(PyObject *object)
{
    levada_function_unref(&((call_object *)object)->function);
    levada_py_free(object);
}

LEVADA_PY_TYPE(function, "Function", call_object, 0,
               "A Python function as an option; see levada._functions.",
               LEVADA_PY_SLOT(tp_new, call_queue_new),
               LEVADA_PY_SLOT(tp_dealloc, call_queue_dealloc));
