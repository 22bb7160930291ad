/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Interrupts: cancel iterators, queues, barriers and coordinators from a signal handler.
 *
 * levada_iter_cancel and similar calls take locks that the interrupted thread may hold: a handler
 * that calls them can deadlock. An interrupt has a thread that waits for levada_interrupt_raise and
 * then makes these calls.
 *
 * The thread blocks all signals. Any thread may call each function, but a handler must not call add
 * or destroy.
 *
 * Example:
 *
 *     static levada_interrupt *interrupt;
 *
 *     static void on_signal(int number)
 *     {
 *         (void)number;
 *         levada_interrupt_raise(interrupt);
 *     }
 *
 *     static levada_status run(levada_error *err)
 *     {
 *         levada_dataset *dataset = NULL;
 *         levada_iter    *it = NULL;
 *
 *         LEVADA_TRY(levada_dataset_parse(NULL, "range:1000 | batch:64", &dataset, err));
 *         LEVADA_TRY(levada_iter_open(dataset, NULL, &it, err));
 *         LEVADA_TRY(levada_interrupt_create(&interrupt, err));
 *         LEVADA_TRY(levada_interrupt_add_iter(interrupt, it, err));
 *         signal(SIGINT, on_signal); // levada_iter_next returns ECANCELLED after a SIGINT
 *         // the loop over the batches
 *         signal(SIGINT, SIG_DFL); // no handler uses the interrupt any more
 *         levada_interrupt_destroy(&interrupt);
 *         levada_iter_close(&it);
 *         levada_dataset_unref(&dataset);
 *         return LEVADA_OK;
 *     }
 */
#ifndef LEVADA_INTERRUPT_H
#define LEVADA_INTERRUPT_H

#include <levada/barrier.h>
#include <levada/coordinator.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct levada_interrupt levada_interrupt;

/* Creates an interrupt and its thread. Returns ERESOURCE_EXHAUSTED if a thread or memory cannot be
 * allocated. */
LEVADA_API LEVADA_MUST_USE levada_status levada_interrupt_create(levada_interrupt **out,
                                                                 levada_error      *err);
/* Add an object that levada_interrupt_raise cancels. The interrupt keeps a reference to a queue or
 * barrier. It borrows an iterator or coordinator, which must be closed after the interrupt is
 * destroyed. */
LEVADA_API LEVADA_MUST_USE levada_status levada_interrupt_add_iter(levada_interrupt *interrupt,
                                                                   levada_iter      *it,
                                                                   levada_error     *err);
LEVADA_API LEVADA_MUST_USE levada_status levada_interrupt_add_queue(levada_interrupt *interrupt,
                                                                    levada_queue     *queue,
                                                                    levada_error     *err);
LEVADA_API LEVADA_MUST_USE levada_status levada_interrupt_add_barrier(levada_interrupt *interrupt,
                                                                      levada_barrier   *barrier,
                                                                      levada_error     *err);
LEVADA_API LEVADA_MUST_USE levada_status
levada_interrupt_add_coordinator(levada_interrupt *interrupt, levada_coordinator *coordinator,
                                 levada_error *err);
/* Cancels all added objects. Async-signal-safe: it never waits, locks or allocates, and keeps
 * errno. Soon afterwards, the thread of the interrupt calls, in the order in which the objects were
 * added, levada_iter_cancel (the iterator stays cancelled), levada_queue_cancel and
 * levada_barrier_cancel (waiting calls end with ECANCELLED; the object stays usable) and
 * levada_coordinator_request_stop (a clean stop). You may call it again; several calls before the
 * thread has run count as one. In the child of a fork, and with NULL, it does nothing. */
LEVADA_API void levada_interrupt_raise(levada_interrupt *interrupt);
/* Completes earlier raises, then joins the thread. Handlers must not raise the interrupt any
 * more. */
LEVADA_API void levada_interrupt_destroy(levada_interrupt **interrupt);

#ifdef __cplusplus
}
#endif

#endif
