/* SPDX-License-Identifier: Apache-2.0 */
#include "harness.h"

#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    HARNESS_CHUNK = 256 << 10,
    HARNESS_SLACK = 64, /* readable bytes before a stream's; levada_bench_alloc has some after */
    HARNESS_THREADS = 16
};

typedef struct harness_thread {
    const levada_bench_work *work;
    levada_bench_args        args;
    double                   least; /* seconds to run */
    int                      core;  /* to be pinned to, -1: anywhere */
    pthread_barrier_t       *start;
    levada_bench_count       count;
    double                   seconds, cpu; /* processor time: of the whole process */
    pthread_t                handle;
} harness_thread;

void levada_bench_die(const char *what, const char *detail)
{
    fprintf(stderr, "bench: %s: %s\n", what, detail);
    exit(2);
}

void *levada_bench_alloc(size_t size)
{
    void *memory = NULL;

    if (posix_memalign(&memory, 64, size + 64) != 0)
        levada_bench_die("out of memory", "alloc");
    memset(memory, 0, size + 64);
    return memory;
}

static uint8_t *harness_buffer(size_t size)
{
    return (uint8_t *)levada_bench_alloc(HARNESS_SLACK + size) + HARNESS_SLACK;
}

void levada_bench_stream_open(levada_bench_stream *stream, const char *path)
{
    stream->fd = open(path, O_RDONLY | O_CLOEXEC);
    if (stream->fd < 0)
        levada_bench_die("cannot open", path);
    stream->capacity = HARNESS_CHUNK;
    stream->data = harness_buffer(stream->capacity);
    levada_bench_stream_rewind(stream);
}

void levada_bench_stream_rewind(levada_bench_stream *stream)
{
    stream->offset = 0;
    stream->begin = stream->end = 0;
}

size_t levada_bench_stream_need(levada_bench_stream *stream, size_t size)
{
    size_t have = stream->end - stream->begin;

    if (have >= size)
        return have;
    if (size > stream->capacity) {
        uint8_t *wider = harness_buffer(2 * size);
        memcpy(wider, stream->data + stream->begin, have);
        free(stream->data - HARNESS_SLACK);
        stream->data = wider;
        stream->capacity = 2 * size;
    } else {
        memmove(stream->data, stream->data + stream->begin, have);
    }
    stream->begin = 0;
    stream->end = have;
    while (stream->end < size) {
        ssize_t got = pread(stream->fd, stream->data + stream->end, stream->capacity - stream->end,
                            stream->offset);
        if (got < 0)
            levada_bench_die("cannot read", "pread");
        if (got == 0)
            break;
        stream->end += (size_t)got;
        stream->offset += got;
    }
    return stream->end;
}

levada_bench_file levada_bench_file_load(const char *path)
{
    levada_bench_file file;
    struct stat       about;
    int               fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t            done = 0;

    if (fd < 0 || fstat(fd, &about) != 0)
        levada_bench_die("cannot open", path);
    file.size = (size_t)about.st_size;
    file.data = levada_bench_alloc(file.size);
    while (done < file.size) {
        ssize_t got = read(fd, file.data + done, file.size - done);
        if (got <= 0)
            levada_bench_die("cannot read", path);
        done += (size_t)got;
    }
    close(fd);
    return file;
}

static double harness_now(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void harness_pin(int core)
{
    cpu_set_t cores;

    if (core < 0)
        return;
    CPU_ZERO(&cores);
    CPU_SET((size_t)core, &cores);
    pthread_setaffinity_np(pthread_self(), sizeof cores, &cores);
}

/* Returns the n-th core that this process may use, -1 when there are fewer. */
static int harness_core(int n)
{
    cpu_set_t cores;

    if (sched_getaffinity(0, sizeof cores, &cores) != 0)
        return -1;
    for (int core = 0; core < CPU_SETSIZE; ++core)
        if (CPU_ISSET((size_t)core, &cores) && n-- == 0)
            return core;
    return -1;
}

static void *harness_run(void *arg)
{
    harness_thread    *t = arg;
    levada_bench_count warm = {0};
    void              *state;
    double             begin, cpu;

    harness_pin(t->core);
    state = t->work->open(&t->args);
    t->work->pass(state, &warm);
    pthread_barrier_wait(t->start);
    begin = harness_now(CLOCK_MONOTONIC);
    cpu = harness_now(CLOCK_PROCESS_CPUTIME_ID);
    do {
        t->work->pass(state, &t->count);
        t->seconds = harness_now(CLOCK_MONOTONIC) - begin;
    } while (t->seconds < t->least);
    t->cpu = harness_now(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    return NULL;
}

static void harness_print(const harness_thread *threads, int count)
{
    levada_bench_count sum = {0};
    double             rate = 0, seconds = 0;

    for (int k = 0; k < count; ++k) {
        sum.records += threads[k].count.records;
        sum.bytes += threads[k].count.bytes;
        sum.check += threads[k].count.check;
        rate += (double)threads[k].count.records / threads[k].seconds;
    }
    /* Threads end at different times: the time in which their summed rates are the sum. */
    seconds = rate > 0 ? (double)sum.records / rate : 0;
    printf("{\"n\": %" PRId64 ", \"bytes\": %" PRId64 ", \"seconds\": %.9f, \"cpu\": %.9f, "
           "\"check\": %" PRIu64 "}\n",
           sum.records, sum.bytes, seconds, threads[0].cpu, sum.check);
}

static const levada_bench_work *harness_find(const char *name)
{
    for (const levada_bench_work *work = levada_bench_works; work->name != NULL; ++work)
        if (strcmp(work->name, name) == 0)
            return work;
    levada_bench_die("no such work", name);
}

int main(int argc, char **argv)
{
    static harness_thread threads[HARNESS_THREADS];
    pthread_barrier_t     start;
    int                   count = argc > 3 ? atoi(argv[3]) : 1;
    double                least = argc > 4 ? atof(argv[4]) / 1000 : 0.2;
    int                   inner = argc > 5 ? atoi(argv[5]) : 1;

    if (argc < 3 || count < 1 || count > HARNESS_THREADS || inner < 1)
        levada_bench_die("usage", "WORK FILE [threads [milliseconds [inner]]]");
    pthread_barrier_init(&start, NULL, (unsigned)count);
    for (int k = 0; k < count; ++k) {
        harness_thread *t = &threads[k];
        t->work = harness_find(argv[1]);
        t->args = (levada_bench_args){argv[2], inner, t->work->user};
        t->least = least;
        t->core = inner > 1 ? -1 : harness_core(k);
        t->start = &start;
        if (pthread_create(&t->handle, NULL, harness_run, t) != 0)
            levada_bench_die("cannot start", "a thread");
    }
    for (int k = 0; k < count; ++k)
        pthread_join(threads[k].handle, NULL);
    harness_print(threads, count);
    return 0;
}
