/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the bench programs share: a main function that runs one named work on one file, again and
 * again for a given time, on one or more pinned threads, and prints one line of JSON:
 *
 *     PROGRAM WORK FILE [threads [milliseconds [inner]]]
 *     {"n": records, "bytes": bytes, "seconds": time, "cpu": processor time, "check": sum}
 *
 * `threads` run the same work side by side, each on its own core and with its own state; `inner` is
 * passed on to the work (a library that has threads of its own). A program defines
 * levada_bench_works; whatever goes wrong ends the process with a message.
 */
#ifndef LEVADA_BENCH_HARNESS_H
#define LEVADA_BENCH_HARNESS_H

#include <stddef.h>
#include <stdint.h>

typedef struct levada_bench_args {
    const char *path;  /* the file to read                                */
    int         inner; /* threads that the work itself may use, at least 1 */
    const void *user;  /* of the work                                     */
} levada_bench_args;

typedef struct levada_bench_count {
    int64_t  records; /* what was counted: records, rows, lines     */
    int64_t  bytes;   /* read, written or made, as the row says     */
    uint64_t check;   /* depends on the data, so that nothing is optimised away */
} levada_bench_count;

typedef struct levada_bench_work {
    const char *name;
    /* Opens files, allocates and touches buffers. The state lives until the process ends. */
    void *(*open)(const levada_bench_args *args);
    /* Reads the file from its beginning to its end once and adds to *count. */
    void (*pass)(void *state, levada_bench_count *count);
    const void *user; /* handed to open: tells works with the same functions apart; or NULL */
} levada_bench_work;

/* Ends with an entry whose name is NULL. */
extern const levada_bench_work levada_bench_works[];

/* Prints a message and ends the process. */
_Noreturn void levada_bench_die(const char *what, const char *detail);

/* Zeroed, touched memory, never NULL. */
void *levada_bench_alloc(size_t size);

/* A file read in chunks of 256 KiB into one reused buffer, with 64 readable bytes on both sides. */
typedef struct levada_bench_stream {
    int      fd;
    int64_t  offset; /* of the next byte to read from the file */
    uint8_t *data;   /* bytes [begin, end) are unread           */
    size_t   begin, end, capacity;
} levada_bench_stream;

void levada_bench_stream_open(levada_bench_stream *stream, const char *path);
void levada_bench_stream_rewind(levada_bench_stream *stream);

/* Makes `size` bytes or more available at data + begin; returns how many (fewer at the end). */
size_t levada_bench_stream_need(levada_bench_stream *stream, size_t size);

/* A whole file in touched memory. */
typedef struct levada_bench_file {
    uint8_t *data;
    size_t   size;
} levada_bench_file;

levada_bench_file levada_bench_file_load(const char *path);

/* CRC-32C: a loop over eight bytes, or three interleaved ones for long data, as google/crc32c. */
uint32_t levada_bench_crc32c(const uint8_t *data, size_t size);

/* Returns the form in which TFRecord stores a checksum. */
static inline uint32_t levada_bench_masked(uint32_t crc)
{
    return ((crc >> 15) | (crc << 17)) + UINT32_C(0xa282ead8);
}

#endif
