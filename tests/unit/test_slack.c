/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What lies in the slack around the input of a kernel never changes its result, and no branch
 * depends on it. The slack is memory that nobody wrote: ci/valgrind.sh runs this program under
 * valgrind, which reports each use of such bytes. Kernels that need no slack get none, so that
 * valgrind reports each byte that they read too far.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/kernels.h"

enum { SLACK = LEVADA_KERNEL_SLACK, TRIALS = 600, MOST = 300, RECORDS = 16 };

static uint64_t random_state;

static uint64_t random_next(void)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return random_state ^ random_state >> 29;
}

/* A copy of n bytes with `slack` bytes before and after it that are never written where `fill` is
 * negative. Free the result with drop(). */
static uint8_t *copy(const uint8_t *from, size_t n, size_t slack, int fill)
{
    uint8_t *memory = malloc(n + 2 * slack + 1);

    assert_non_null(memory);
    if (fill >= 0) memset(memory, fill, n + 2 * slack);
    if (n > 0) memcpy(memory + slack, from, n);
    return memory + slack;
}

static void drop(uint8_t *p, size_t slack) { free(p - slack); }

/* Fills of the slack: unwritten, and three that look like parts of what may follow. */
static const int fills[] = { -1, 0x00, 0x80, 0xff };

static const levada_kernels *next_level(int *level)
{
    const levada_kernels *kernels;

    if (++*level > LEVADA_CPU_AVX512) return NULL;
    kernels = levada_kernels_for((levada_cpu_level)*level);
    return (int)kernels->level == *level ? kernels : NULL;
}

/* Varints of up to `tops` + 1 bytes, mostly; the last one may have no end. */
static size_t make_varints(uint8_t *to, unsigned tops)
{
    size_t n = random_next() % MOST;

    for (size_t i = 0; i < n; i++) {
        to[i] = (uint8_t)random_next();
        if (random_next() % 16 >= tops) to[i] &= 0x7f;
    }
    if (n > 0 && random_next() % 8 != 0) to[n - 1] &= 0x7f;
    return n;
}

static void compare_varints(const levada_kernels *k, const uint8_t *from, size_t n, int fill)
{
    static int64_t wide[MOST];
    static int32_t narrow[MOST];
    const levada_kernels *plain = levada_kernels_for(LEVADA_CPU_PORTABLE);
    uint8_t *in = copy(from, n, SLACK, fill), *clean = copy(from, n, SLACK, 0);
    uint8_t *out = copy(NULL, 0, SLACK + 4 * MOST, -1), *bare = copy(from, n, 0, -1);
    int64_t count = plain->varint_i64(clean, n, wide), less = plain->varint_i32(clean, n, narrow);

    out -= 4 * MOST;
    assert_int_equal(k->varint_count(bare, n), plain->varint_count(clean, n));
    assert_int_equal(k->varint_i64(in, n, (int64_t *)(void *)out), count);
    if (count > 0) assert_memory_equal(out, wide, (size_t)count * sizeof *wide);
    assert_int_equal(k->varint_i32(in, n, (int32_t *)(void *)out), less);
    if (less > 0) assert_memory_equal(out, narrow, (size_t)less * sizeof *narrow);
    for (int32_t size = 1; size <= 2; size++) {
        levada_varint_range range = {.size = size, .bits = 8 * (uint32_t)size};
        int64_t fits = plain->varint_narrow(clean, n, range, narrow);

        assert_int_equal(k->varint_narrow(in, n, range, out), fits);
        if (fits > 0) assert_memory_equal(out, narrow, (size_t)(fits * size));
    }
    drop(in, SLACK);
    drop(clean, SLACK);
    drop(bare, 0);
    drop(out, SLACK);
}

static void varints(void **state)
{
    uint8_t bytes[MOST];
    int level = LEVADA_CPU_AUTO;

    (void)state;
    for (const levada_kernels *k; (k = next_level(&level)) != NULL;) {
        random_state = 7;
        for (unsigned i = 0; i < TRIALS; i++) {
            size_t n = make_varints(bytes, i % 12);

            compare_varints(k, bytes, n, fills[i / 12 % 4]);
        }
    }
}

static size_t put(uint8_t *to, uint64_t value, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) to[i] = (uint8_t)(value >> 8 * i);
    return bytes;
}

/* Records of the frame, whole ones and perhaps one that is damaged or cut. */
static size_t make_frames(uint8_t *to)
{
    const levada_kernels *plain = levada_kernels_for(LEVADA_CPU_PORTABLE);
    size_t n = 0, count = random_next() % 8;

    for (size_t r = 0; r < count; r++) {
        size_t size = random_next() % (r % 2 ? 9 : 90), at = n;

        n += put(to + n, size, 8);
        n += put(to + n, levada_crc32c_mask(plain->crc32c(0, to + at, 8)), 4);
        for (size_t i = 0; i < size; i++) to[n + i] = (uint8_t)random_next();
        n += size;
        n += put(to + n, levada_crc32c_mask(plain->crc32c(0, to + n - size, size)), 4);
    }
    if (n > 0 && random_next() % 3 == 0) to[random_next() % n] ^= 1;
    return n > 0 && random_next() % 2 ? n - random_next() % n : n;
}

static void compare_frames(const levada_kernels *k, const uint8_t *from, size_t n, int fill)
{
    const levada_kernels *plain = levada_kernels_for(LEVADA_CPU_PORTABLE);
    uint8_t *in = copy(from, n, SLACK, fill), *clean = copy(from, n, SLACK, 0);
    int32_t begin[2][RECORDS], end[2][RECORDS];

    for (int check = LEVADA_FRAME_CHECK_NONE; check <= LEVADA_FRAME_CHECK_LENGTH; check++) {
        levada_frame_check how = (levada_frame_check)check;
        levada_frame_result got, want;

        got = k->frame_tfrecord(in, n, how, begin[0], end[0], RECORDS);
        want = plain->frame_tfrecord(clean, n, how, begin[1], end[1], RECORDS);
        assert_int_equal(got.records, want.records);
        assert_int_equal(got.status, want.status);
        assert_int_equal(got.used, want.used);
        assert_int_equal(got.need, want.need);
        for (int32_t i = 0; i < want.records; i++) {
            assert_int_equal(begin[0][i], begin[1][i]);
            assert_int_equal(end[0][i], end[1][i]);
        }
    }
    drop(in, SLACK);
    drop(clean, SLACK);
}

static void frames(void **state)
{
    uint8_t bytes[8 * 120];
    int level = LEVADA_CPU_AUTO;

    (void)state;
    for (const levada_kernels *k; (k = next_level(&level)) != NULL;) {
        random_state = 3;
        for (int i = 0; i < TRIALS; i++) compare_frames(k, bytes, make_frames(bytes), fills[i % 4]);
    }
}

static void compare_lines(const levada_kernels *k, const uint8_t *from, size_t n, int64_t most)
{
    const levada_kernels *plain = levada_kernels_for(LEVADA_CPU_PORTABLE);
    uint8_t *in = copy(from, n, 0, -1);
    size_t size = ((size_t)most + SLACK) * sizeof(int32_t);
    int32_t *got[2] = { malloc(size), malloc(size) }, *want[2] = { malloc(size), malloc(size) };
    int64_t count;

    for (int i = 0; i < 2; i++) assert_true(got[i] != NULL && want[i] != NULL);
    count = plain->line_index(in, n, want[0], want[1], most);
    assert_int_equal(k->line_index(in, n, got[0], got[1], most), count);
    assert_memory_equal(got[0], want[0], (size_t)(count + 1) * sizeof(int32_t));
    if (count > 0) assert_memory_equal(got[1], want[1], (size_t)count * sizeof(int32_t));
    assert_int_equal(k->crc32c(1, in, n), plain->crc32c(1, in, n));
    for (int i = 0; i < 2; i++) {
        free(got[i]);
        free(want[i]);
    }
    drop(in, 0);
}

static void lines_and_checksums(void **state)
{
    uint8_t bytes[MOST];
    int level = LEVADA_CPU_AUTO;

    (void)state;
    for (const levada_kernels *k; (k = next_level(&level)) != NULL;) {
        random_state = 5;
        for (int i = 0; i < TRIALS; i++) {
            size_t n = random_next() % MOST;

            for (size_t j = 0; j < n; j++) {
                bytes[j] = (uint8_t)random_next();
                if (random_next() % 9 == 0) bytes[j] = random_next() % 2 ? '\n' : '\r';
            }
            compare_lines(k, bytes, n, i % 5 ? MOST : (int64_t)(random_next() % 20));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(varints),
        cmocka_unit_test(frames),
        cmocka_unit_test(lines_and_checksums),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
