/* SPDX-License-Identifier: Apache-2.0 */
#include <levada/interrupt.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/process.h"
#include "runtime/bell.h"

typedef enum interrupt_kind {
    INTERRUPT_ITER,
    INTERRUPT_QUEUE,
    INTERRUPT_BARRIER,
    INTERRUPT_COORDINATOR
} interrupt_kind;

typedef struct interrupt_target {
    struct interrupt_target *next;
    interrupt_kind           kind;
    void                    *object;
} interrupt_target;

struct levada_interrupt {
    unsigned      process; /* that it belongs to (base/process.h) */
    levada_bell   bell;
    levada_thread thread;
    levada_mutex  lock;
    /* -- guarded by lock, which is held while targets are cancelled */
    interrupt_target *first, **last; /* in the order in which they were added */
};

static void interrupt_cancel(const interrupt_target *t)
{
    levada_status status = LEVADA_OK;

    switch (t->kind) {
    case INTERRUPT_ITER: levada_iter_cancel(t->object); break;
    case INTERRUPT_QUEUE: levada_queue_cancel(t->object); break;
    case INTERRUPT_BARRIER: levada_barrier_cancel(t->object); break;
    case INTERRUPT_COORDINATOR:
        status = levada_coordinator_request_stop(t->object, NULL, NULL); /* clean: never fails */
        break;
    }
    (void)status;
}

static void interrupt_main(void *user)
{
    levada_interrupt *i = user;

    while (levada_bell_wait(&i->bell)) {
        levada_mutex_lock(&i->lock);
        for (const interrupt_target *t = i->first; t; t = t->next) interrupt_cancel(t);
        levada_mutex_unlock(&i->lock);
    }
}

levada_status levada_interrupt_create(levada_interrupt **out, levada_error *err)
{
    levada_interrupt *i;
    levada_status     st;

    LEVADA_TRY(levada_require(out != NULL, "out", err));
    i = levada_alloc_zero(sizeof *i);
    if (!i) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for an interrupt");
    i->process = levada_process();
    i->last = &i->first;
    levada_bell_init(&i->bell);
    st = levada_mutex_init(&i->lock, LEVADA_LOCK_INTERRUPT, err);
    if (st == LEVADA_OK) {
        st = levada_thread_start(&i->thread, interrupt_main, i, err);
        if (st != LEVADA_OK) levada_mutex_clear(&i->lock);
    }
    if (st == LEVADA_OK) {
        *out = i;
    } else {
        levada_bell_clear(&i->bell);
        levada_free(i);
    }
    return st;
}

static levada_status interrupt_add(levada_interrupt *i, interrupt_kind kind, void *object,
                                   levada_error *err)
{
    interrupt_target *t = levada_alloc_zero(sizeof *t);

    if (!t) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for an interrupt");
    t->kind = kind;
    t->object = object;
    if (kind == INTERRUPT_QUEUE) levada_queue_ref(object);
    if (kind == INTERRUPT_BARRIER) levada_barrier_ref(object);
    levada_mutex_lock(&i->lock);
    *i->last = t;
    i->last = &t->next;
    levada_mutex_unlock(&i->lock);
    return LEVADA_OK;
}

levada_status levada_interrupt_add_iter(levada_interrupt *interrupt, levada_iter *it,
                                        levada_error *err)
{
    LEVADA_TRY(LEVADA_USABLE(interrupt, "interrupt", err));
    LEVADA_TRY(levada_require(it != NULL, "it", err));
    return interrupt_add(interrupt, INTERRUPT_ITER, it, err);
}

levada_status levada_interrupt_add_queue(levada_interrupt *interrupt, levada_queue *queue,
                                         levada_error *err)
{
    LEVADA_TRY(LEVADA_USABLE(interrupt, "interrupt", err));
    LEVADA_TRY(levada_require(queue != NULL, "queue", err));
    return interrupt_add(interrupt, INTERRUPT_QUEUE, queue, err);
}

levada_status levada_interrupt_add_barrier(levada_interrupt *interrupt, levada_barrier *barrier,
                                           levada_error *err)
{
    LEVADA_TRY(LEVADA_USABLE(interrupt, "interrupt", err));
    LEVADA_TRY(levada_require(barrier != NULL, "barrier", err));
    return interrupt_add(interrupt, INTERRUPT_BARRIER, barrier, err);
}

levada_status levada_interrupt_add_coordinator(levada_interrupt   *interrupt,
                                               levada_coordinator *coordinator, levada_error *err)
{
    LEVADA_TRY(LEVADA_USABLE(interrupt, "interrupt", err));
    LEVADA_TRY(levada_require(coordinator != NULL, "coordinator", err));
    return interrupt_add(interrupt, INTERRUPT_COORDINATOR, coordinator, err);
}

void levada_interrupt_raise(levada_interrupt *interrupt)
{
    if (LEVADA_OURS(interrupt)) levada_bell_ring(&interrupt->bell);
}

void levada_interrupt_destroy(levada_interrupt **interrupt)
{
    levada_interrupt *i = interrupt ? *interrupt : NULL;
    interrupt_target *t, *next;

    if (!i) return;
    *interrupt = NULL;
    if (LEVADA_OURS(i)) {
        levada_bell_stop(&i->bell);
        levada_thread_join(&i->thread);
        levada_bell_clear(&i->bell);
        levada_mutex_clear(&i->lock);
    }
    for (t = i->first; t; t = next) {
        levada_queue   *queue = t->kind == INTERRUPT_QUEUE ? t->object : NULL;
        levada_barrier *barrier = t->kind == INTERRUPT_BARRIER ? t->object : NULL;

        next = t->next;
        levada_queue_unref(&queue);
        levada_barrier_unref(&barrier);
        levada_free(t);
    }
    levada_free(i);
}
