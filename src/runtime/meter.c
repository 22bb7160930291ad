/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/meter.h"

#include "base/alloc.h"

#include <string.h>
#include <unistd.h>

#define METER_NAME 48     /* bytes of a name; a longer one is cut */
#define METER_THREADS 512 /* rows of a trace; further threads share the last one */

typedef struct meter_event {
    int64_t   began, took, records;
    pthread_t thread;
    char      name[METER_NAME];
} meter_event;

struct levada_trace {
    levada_mutex lock;
    pthread_t    threads[METER_THREADS]; /* by their row, while it is printed */
    int32_t      nthreads;
    int64_t      noted; /* events, also those that newer ones replaced */
    meter_event  events[LEVADA_TRACE_EVENTS];
};

levada_status levada_trace_create(levada_trace **out, levada_error *err)
{
    levada_trace *t = levada_alloc_zero(sizeof *t);
    levada_status st;

    if (!t) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a trace");
    st = levada_mutex_init(&t->lock, LEVADA_LOCK_TRACE, err);
    if (st == LEVADA_OK) *out = t;
    else levada_free(t);
    return st;
}

void levada_trace_destroy(levada_trace **trace)
{
    if (*trace) levada_mutex_clear(&(*trace)->lock);
    levada_free(*trace);
    *trace = NULL;
}

void levada_trace_note(levada_trace *trace, const char *what, int64_t began, int64_t took,
                       int64_t records)
{
    meter_event *event;
    size_t       size = strlen(what);

    if (size >= METER_NAME) size = METER_NAME - 1;
    levada_mutex_lock(&trace->lock);
    event = &trace->events[trace->noted++ % LEVADA_TRACE_EVENTS];
    event->began = began;
    event->took = took;
    event->records = records;
    event->thread = pthread_self(); /* the number of the system takes a system call */
    memcpy(event->name, what, size);
    event->name[size] = 0;
    levada_mutex_unlock(&trace->lock);
}

/* Returns the row of a thread. */
static int32_t meter_row_locked(levada_trace *trace, pthread_t thread)
{
    for (int32_t i = 0; i < trace->nthreads; i++) {
        if (pthread_equal(trace->threads[i], thread)) return i + 1;
    }
    if (trace->nthreads == METER_THREADS) return METER_THREADS;
    trace->threads[trace->nthreads++] = thread;
    return trace->nthreads;
}

static void meter_event_print(const meter_event *event, long process, int32_t row,
                              levada_text *to)
{
    levada_text_put(to, "\n{\"ph\":\"X\",\"cat\":\"levada\",\"name\":");
    levada_text_json(to, event->name, strlen(event->name));
    levada_text_format(to, ",\"pid\":%ld,\"tid\":%d,\"ts\":%lld.%03d,\"dur\":%lld.%03d", process,
                       row, (long long)(event->began / 1000),
                       (int)(event->began % 1000), (long long)(event->took / 1000),
                       (int)(event->took % 1000));
    if (event->records >= 0) {
        levada_text_format(to, ",\"args\":{\"records\":%lld}", (long long)event->records);
    }
    levada_text_char(to, '}');
}

void levada_trace_print(levada_trace *trace, levada_text *to)
{
    long               process = (long)getpid();
    const meter_event *event;
    int64_t            first;

    levada_text_put(to, "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[");
    levada_mutex_lock(&trace->lock);
    first = trace->noted > LEVADA_TRACE_EVENTS ? trace->noted - LEVADA_TRACE_EVENTS : 0;
    for (int64_t i = first; i < trace->noted; i++) {
        if (i > first) levada_text_char(to, ',');
        event = &trace->events[i % LEVADA_TRACE_EVENTS];
        meter_event_print(event, process, meter_row_locked(trace, event->thread), to);
    }
    levada_mutex_unlock(&trace->lock);
    levada_text_format(to, "\n],\"otherData\":{\"dropped_events\":\"%lld\"}}", (long long)first);
}
