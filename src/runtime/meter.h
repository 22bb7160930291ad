/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a run measures of itself while it works: requests of remote files, and a trace.
 *
 * Code that measures the time of a piece of work for a counter calls levada_meter_end instead of
 * the clock. It returns the time, and if a trace is recorded, notes which thread did what for how
 * long. So every counter of time is an event of the trace, and nothing else has to record.
 *
 * A trace keeps the newest LEVADA_TRACE_EVENTS events, in memory that is allocated when it starts.
 * Events copy their names, so they outlive the stages and the tree that they are about. Calls
 * nest, so the events of a thread nest too.
 *
 * Ownership: a run has a meter; the iterator owns the trace, which starts and stops any number of
 * times. Threads: all functions from any thread. Without a trace, an event costs one load.
 * Failure: starting fails without memory; recording cannot fail.
 */
#ifndef LEVADA_RUNTIME_METER_H
#define LEVADA_RUNTIME_METER_H

#include "base/text.h"
#include "runtime/lock.h"

#include <stdatomic.h>

#define LEVADA_TRACE_EVENTS 65536

typedef struct levada_trace levada_trace;

typedef struct levada_meter {
    atomic_llong requests, retries, received; /* of remote files; the last one in bytes */
    _Atomic(levada_trace *) trace;            /* borrowed; NULL = off */
} levada_meter;

LEVADA_MUST_USE levada_status levada_trace_create(levada_trace **out, levada_error *err);
void                          levada_trace_destroy(levada_trace **trace);
/* Appends the JSON that Chrome and Perfetto read: {"traceEvents":[...]}. */
void levada_trace_print(levada_trace *trace, levada_text *to);

/* Notes an event of the calling thread; levada_meter_end calls it. */
void levada_trace_note(levada_trace *trace, const char *what, int64_t began, int64_t took,
                       int64_t records);

/* Returns the nanoseconds since `began`, in which the thread worked at `what`. `records` were made:
 * -1 = not known. `meter` may be NULL. */
static inline int64_t levada_meter_end(levada_meter *meter, const char *what, int64_t began,
                                       int64_t records)
{
    levada_trace *trace = meter ? atomic_load_explicit(&meter->trace, memory_order_acquire) : NULL;
    int64_t       took = levada_now() - began;

    if (trace) levada_trace_note(trace, what, began, took, records);
    return took;
}

#endif
