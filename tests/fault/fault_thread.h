/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that cannot be started when a test says so. fault_thread.c stands in for pthread_create.
 */
#ifndef LEVADA_TESTS_FAULT_THREAD_H
#define LEVADA_TESTS_FAULT_THREAD_H

#include <stdint.h>

/* Of the threads from now on, the one with this number (from 0) and all after it are not started;
 * -1: all are. */
void fault_thread_arm(int64_t number);
/* Threads that were started and have not ended. */
int64_t fault_thread_live(void);

#endif
