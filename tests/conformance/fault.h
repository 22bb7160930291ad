/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that runs out when a test says so. fault.c stands in for base/alloc.c, the one file of the
 * library that asks the system for memory.
 */
#ifndef LEVADA_TESTS_CONFORMANCE_FAULT_H
#define LEVADA_TESTS_CONFORMANCE_FAULT_H

#include <levada/error.h>

#include <stdint.h>

/* Of the allocations from now on, the one with this number (from 0) fails. */
void fault_arm(int64_t number);
/* No more failures. Returns how many allocations there were since fault_arm. */
int64_t fault_disarm(void);
/* Bytes asked for since fault_arm; what realloc asks for counts in full. */
int64_t fault_bytes(void);
/* Pieces of memory that were not given back yet. */
int64_t fault_live(void);

/* Fails the test where that is another error than a lack of memory. */
void fault_expect_short(levada_status st, const levada_error *err);
/* Fails the test unless as many pieces live as before the run in which that allocation failed. */
void fault_expect_live(int64_t before, int64_t number);

/* What may be done again, is. The call has `err`. */
#define FAULT_AGAIN(call)                                               \
    do {                                                                \
        levada_error  again_err = LEVADA_ERROR_INIT, *err = &again_err; \
        levada_status again_st = (call);                                \
        if (again_st != LEVADA_OK) {                                    \
            fault_expect_short(again_st, err);                          \
            assert_int_equal((call), LEVADA_OK);                        \
        }                                                               \
    } while (0)

#endif
