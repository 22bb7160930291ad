/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random delays at the places where threads meet, in builds for tests (-Ddelays=true): there a
 * thread sometimes gives its CPU away or sleeps, so that orders come about that a quiet machine
 * hardly ever shows. Nothing in any other build.
 */
#ifndef LEVADA_RUNTIME_DELAY_H
#define LEVADA_RUNTIME_DELAY_H

#if LEVADA_DELAYS

#include <sched.h>
#include <stdint.h>
#include <time.h>

static inline void levada_delay(void)
{
    static _Thread_local uint64_t state;
    const struct timespec         some = { .tv_nsec = 20000 };

    if (state == 0) state = (uint64_t)time(NULL) ^ ((uintptr_t)&state << 20) ^ 1;
    state ^= state << 13; /* xorshift64 (Marsaglia, 2003) */
    state ^= state >> 7;
    state ^= state << 17;
    if ((state & 31) == 0) sched_yield();
    if ((state >> 32 & 255) == 0) nanosleep(&some, NULL);
}

#else

static inline void levada_delay(void) {}

#endif

#endif
