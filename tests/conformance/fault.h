/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that runs out when a test says so. fault.c stands in for base/alloc.c, the one file of the
 * library that asks the system for memory.
 */
#ifndef LEVADA_TESTS_CONFORMANCE_FAULT_H
#define LEVADA_TESTS_CONFORMANCE_FAULT_H

#include <stdint.h>

/* Of the allocations from now on, the one with this number (from 0) fails. */
void fault_arm(int64_t number);
/* No more failures. Returns how many allocations there were since fault_arm. */
int64_t fault_disarm(void);
/* Bytes asked for since fault_arm; what realloc asks for counts in full. */
int64_t fault_bytes(void);
/* Pieces of memory that were not given back yet. */
int64_t fault_live(void);

#endif
