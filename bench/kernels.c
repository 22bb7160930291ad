/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Speed of the kernels on bytes, one line per kernel and input, one column per CPU level. Data
 * stay in L2. Medians of seven runs; to compare columns, not machines.
 */
#define _POSIX_C_SOURCE 199309L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/kernels.h"

enum { SLACK = LEVADA_KERNEL_SLACK, CAPACITY = 1 << 18, RUNS = 7, RECORDS = CAPACITY / 16 };

static _Alignas(64) uint8_t store[SLACK + CAPACITY + SLACK];
static uint8_t *const data = store + SLACK;
static _Alignas(64) int64_t wide[CAPACITY + SLACK];
static _Alignas(64) int32_t begin[CAPACITY + SLACK], end[CAPACITY + SLACK];
static uint64_t       random_state = 1;
static size_t         used; /* bytes of data that a case works on           */
static int64_t        items; /* records, values or lines in them             */
static size_t         step; /* bytes per call, or an option of the case     */

typedef void kernel_case(const levada_kernels *k);

static uint64_t random_next(void)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return random_state >> 33;
}

static void run_crc(const levada_kernels *k)
{
    uint32_t sum = 0;

    for (size_t at = 0; at + step <= used; at += step) sum ^= k->crc32c(0, data + at, step);
    begin[0] = (int32_t)sum;
}

static void run_frame(const levada_kernels *k)
{
    if (k->frame_tfrecord(data, used, (levada_frame_check)step, begin, end, RECORDS).records !=
        items)
        abort();
}

static void run_count(const levada_kernels *k)
{
    if (k->varint_count(data, used) != items) abort();
}

/* Calls of about 400 bytes, cut where a value ends. */
static void run_i64(const levada_kernels *k)
{
    for (size_t at = 0, next; at < used; at = next) {
        for (next = at + 400 < used ? at + 400 : used; data[next - 1] >= 0x80;) next++;
        if (k->varint_i64(data + at, next - at, wide) < 0) abort();
    }
}

static void run_i32(const levada_kernels *k)
{
    for (size_t at = 0, next; at < used; at = next) {
        for (next = at + 400 < used ? at + 400 : used; data[next - 1] >= 0x80;) next++;
        if (k->varint_i32(data + at, next - at, begin) < 0) abort();
    }
}

static void run_narrow(const levada_kernels *k, levada_varint_range range)
{
    for (size_t at = 0, next; at < used; at = next) {
        for (next = at + 400 < used ? at + 400 : used; data[next - 1] >= 0x80;) next++;
        if (k->varint_narrow(data + at, next - at, range, begin) == -1) abort();
    }
}

static void run_u16(const levada_kernels *k) { run_narrow(k, (levada_varint_range){2, 16, 0}); }

static void run_u8(const levada_kernels *k) { run_narrow(k, (levada_varint_range){1, 8, 0}); }

static void run_lines(const levada_kernels *k)
{
    if (k->line_index(data, used, begin, end, CAPACITY) != items) abort();
}

static void make_bytes(size_t each)
{
    for (used = 0; used < CAPACITY; used++) data[used] = (uint8_t)random_next();
    step = each;
    items = (int64_t)(CAPACITY / each);
}

static void put(uint8_t *to, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++) to[i] = (uint8_t)(value >> 8 * i);
}

/* Payloads of `mean` bytes, half more or less. */
static void make_frames(size_t mean, levada_frame_check check)
{
    const levada_kernels *k = levada_kernels_for(LEVADA_CPU_AUTO);

    make_bytes(1);
    used = 0;
    for (items = 0;; items++) {
        size_t   n = mean / 2 + random_next() % (mean + 1);
        uint8_t *to = data + used;

        if (used + n + 16 > CAPACITY) break;
        put(to, n, 8);
        put(to + 8, levada_crc32c_mask(k->crc32c(0, to, 8)), 4);
        put(to + 12 + n, levada_crc32c_mask(k->crc32c(0, to + 12, n)), 4);
        used += n + 16;
    }
    step = check;
}

/* Values of 7, 14, 21 or 64 bits, in percent. */
static void make_varints(unsigned one, unsigned two, unsigned three)
{
    items = 0;
    for (used = 0; used + 10 < CAPACITY; items++) {
        uint64_t dice = random_next() % 100, value = random_next();

        value = dice < one                 ? value & 0x7f
                : dice < one + two         ? 0x80 | (value & 0x3fff)
                : dice < one + two + three ? 0x4000 | (value & 0x1fffff)
                                           : value << 33 | 1u << 31;
        for (; value >= 0x80; value >>= 7) data[used++] = (uint8_t)(value | 0x80);
        data[used++] = (uint8_t)value;
    }
}

static void make_lines(uint64_t mean)
{
    items = 0;
    for (used = 0; used < CAPACITY; used++) {
        data[used] = random_next() % mean == 0 ? '\n' : 'x';
        items += data[used] == '\n';
    }
}

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double seconds(kernel_case *run, const levada_kernels *k)
{
    double runs[RUNS];

    run(k);
    for (int i = 0; i < RUNS; i++) {
        double from = now();
        int    rounds = 0;

        do run(k), rounds++;
        while (now() - from < 0.01);
        runs[i] = (now() - from) / rounds;
    }
    qsort(runs, RUNS, sizeof(runs[0]), compare);
    return runs[RUNS / 2];
}

static void report(const char *name, kernel_case *run)
{
    printf("%-28s", name);
    for (int i = LEVADA_CPU_PORTABLE; i <= LEVADA_CPU_AVX512; i++) {
        const levada_kernels *k = levada_kernels_for((levada_cpu_level)i);
        double                s;

        if ((int)k->level != i) continue;
        s = seconds(run, k);
        printf(" %7.2f %8.1f", (double)used / s / 1e9, (double)items / s / 1e6);
    }
    printf("\n");
}

static void report_frames(const char *name, size_t mean)
{
    char line[64];

    for (int check = LEVADA_FRAME_CHECK_NONE; check <= LEVADA_FRAME_CHECK_LENGTH; check++) {
        static const char *const checks[] = {"no check", "all", "length"};

        snprintf(line, sizeof(line), "frame %s, %s", name, checks[check]);
        make_frames(mean, (levada_frame_check)check);
        report(line, run_frame);
    }
}

static void report_varints(const char *name, unsigned one, unsigned two, unsigned three)
{
    char line[64];

    make_varints(one, two, three);
    snprintf(line, sizeof(line), "varint count %s", name);
    report(line, run_count);
    snprintf(line, sizeof(line), "varint i64 %s", name);
    report(line, run_i64);
    if (one + two + three < 100) return; /* does not fit in int32 */
    snprintf(line, sizeof(line), "varint i32 %s", name);
    report(line, run_i32);
    snprintf(line, sizeof(line), "varint 16 bits %s", name);
    report(line, run_u16);
    snprintf(line, sizeof(line), "varint 8 bits %s", name);
    report(line, run_u8);
}

int main(void)
{
    static const size_t sizes[] = {16, 64, 256, 1000, 4096, 65536};
    char                line[64];

    printf("%-28s", "GB/s, M items/s");
    for (int i = LEVADA_CPU_PORTABLE; i <= (int)levada_cpu_detect(); i++)
        printf(" %16s", levada_cpu_name((levada_cpu_level)i));
    printf("\n");
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        make_bytes(sizes[i]);
        snprintf(line, sizeof(line), "crc32c %zu", sizes[i]);
        report(line, run_crc);
    }
    report_frames("64", 64);
    report_frames("1 K", 1024);
    report_frames("64 K", 65536);
    report_varints("1 byte", 100, 0, 0);
    report_varints("1.65 bytes", 50, 35, 15);
    report_varints("3 bytes", 0, 0, 100);
    report_varints("10 bytes", 0, 0, 0);
    report_varints("1 in 20 long", 60, 25, 10);
    make_lines(36);
    report("lines 36", run_lines);
    make_lines(92);
    report("lines 92", run_lines);
    return 0;
}
