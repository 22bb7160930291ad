/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random delays at the places where threads meet, in builds for tests (-Ddelays=true): there a
 * thread sometimes yields its CPU or sleeps, which produces orders that a quiet machine hardly ever
 * shows. Nothing in any other build.
 */
#ifndef LEVADA_RUNTIME_DELAY_H
#define LEVADA_RUNTIME_DELAY_H

#if defined(LEVADA_DELAYS) && LEVADA_DELAYS

#include "runtime/lock.h"

#include <sched.h>
#include <time.h>

static inline void levada_delay(void)
{
    const struct timespec some = { .tv_nsec = 20000 };
    uint64_t              draw = (uint64_t)levada_now() * 0x9e3779b97f4a7c15u;

    if (draw >> 59 == 0) sched_yield();
    if ((draw >> 40 & 255) == 0) nanosleep(&some, NULL);
}

#else

static inline void levada_delay(void) {}

#endif

#endif
