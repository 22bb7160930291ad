/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Coordinators and threads that do what a test tells them.
 */
#ifndef LEVADA_TESTS_COORDINATORS_H
#define LEVADA_TESTS_COORDINATORS_H

#include <levada/coordinator.h>

#include <stdatomic.h>

levada_coordinator *test_coordinator(const levada_status *clean, int32_t n);
/* Asks for the stop with that code and text; what request_stop returned. LEVADA_OK: a clean stop.
 */
levada_status test_stop(levada_coordinator *coordinator, levada_status code, const char *text);
/* Joins with that grace and expects the status and, where text is not NULL, its text. */
void test_joins(levada_coordinator *coordinator, int64_t grace, levada_status status,
                const char *text);

/* A gate at which threads wait until it is opened. */
typedef struct test_gate {
    atomic_int open, reached, left;
} test_gate;

/* A thread's function: reaches the gate, waits until it is open, leaves. user: the gate. */
levada_status test_gate_run(levada_coordinator *coordinator, void *user, levada_error *err);
/* The same that then waits for the stop, and leaves. */
levada_status test_gate_run_until_stop(levada_coordinator *coordinator, void *user,
                                       levada_error *err);
/* Waits until *n is at least that much. */
void test_until(atomic_int *n, int value);
void test_start_thread(levada_coordinator *coordinator, const char *name,
                       levada_status (*run)(levada_coordinator *coordinator, void *user,
                                            levada_error *err),
                       void *user);

#endif
