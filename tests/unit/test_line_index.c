/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/kernels.h"

enum { CAPACITY = 4096, SPACE = CAPACITY + LEVADA_KERNEL_SLACK };

static uint8_t text[CAPACITY];
static int32_t want[2][SPACE], got[2][SPACE]; /* begins and ends */

/* About one newline in `every` bytes, and CR before some of them, and elsewhere. */
static void fill(uint64_t seed, uint64_t every)
{
    for (size_t i = 0; i < CAPACITY; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        text[i] = (seed >> 33) % every == 0 ? '\n' : (uint8_t)(seed >> 56);
        if (i > 0 && text[i] == '\n' && seed >> 63) text[i - 1] = '\r';
        if (seed >> 58 == 1) text[i] = '\r';
    }
}

static const levada_kernels *next_level(int *level)
{
    const levada_kernels *kernels;

    if (++*level > LEVADA_CPU_AVX512) return NULL;
    kernels = levada_kernels_for((levada_cpu_level)*level);
    return (int)kernels->level == *level ? kernels : NULL;
}

/* The lines of p[0, n), one byte after the other. */
static int64_t plain_lines(const uint8_t *p, size_t n, int64_t max)
{
    int64_t count = 0;

    want[0][0] = 0;
    for (size_t at = 0; at < n && count < max; at++) {
        bool cr = at > (size_t)want[0][count] && p[at - 1] == '\r';

        if (p[at] != '\n') continue;
        want[1][count++] = (int32_t)at - cr;
        want[0][count] = (int32_t)at + 1;
    }
    return count;
}

/* All levels against the plain loop, for text that ends where a sanitizer watches. */
static void compare(size_t n, int64_t max)
{
    const uint8_t *p = text + CAPACITY - n;
    int64_t        count = plain_lines(p, n, max);
    int            level = LEVADA_CPU_AUTO;

    for (const levada_kernels *k; (k = next_level(&level)) != NULL;) {
        for (size_t i = (size_t)max + LEVADA_KERNEL_SLACK; i < SPACE; i++)
            got[0][i] = got[1][i] = -7;
        assert_int_equal(k->line_index(p, n, got[0], got[1], max), count);
        assert_memory_equal(got[0], want[0], (size_t)(count + 1) * sizeof(int32_t));
        assert_memory_equal(got[1], want[1], (size_t)count * sizeof(int32_t));
        for (size_t i = (size_t)max + LEVADA_KERNEL_SLACK; i < SPACE; i++)
            assert_true(got[0][i] == -7 && got[1][i] == -7);
    }
}

static void finds_all_lines_at_all_lengths(void **state)
{
    static const uint64_t every[] = {1, 2, 5, 40, 1000000};

    (void)state;
    for (size_t i = 0; i < sizeof(every) / sizeof(every[0]); i++) {
        fill(i + 1, every[i]);
        for (size_t n = 0; n <= 700; n++) compare(n, CAPACITY);
    }
}

static void stops_at_the_largest_number(void **state)
{
    (void)state;
    fill(9, 7);
    for (int64_t max = 0; max < 130; max++) compare(701, max);
    fill(10, 1);
    for (int64_t max = 0; max < 700; max += 3) compare(640, max);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_all_lines_at_all_lengths),
        cmocka_unit_test(stops_at_the_largest_number),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
