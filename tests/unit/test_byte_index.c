/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/kernels.h"

enum { CAPACITY = 4096 };

static const uint8_t set[4] = {'\n', '"', ',', '"'};
static uint8_t       text[CAPACITY + LEVADA_KERNEL_SLACK]; /* the kernels read into the slack */
static int32_t want[CAPACITY + LEVADA_KERNEL_SLACK], got[CAPACITY + LEVADA_KERNEL_SLACK];

static bool is_in_set(uint8_t c) { return c == set[0] || c == set[1] || c == set[2]; }

/* About one byte of the set in `every` bytes; the slack is full of them. */
static void fill(uint64_t seed, uint64_t every)
{
    for (size_t i = 0; i < CAPACITY; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        text[i] = (seed >> 33) % every == 0 ? set[(seed >> 40) % 4] : (uint8_t)(seed >> 56);
    }
    memset(text + CAPACITY, set[0], LEVADA_KERNEL_SLACK);
}

static const levada_kernels *next_level(int *level)
{
    const levada_kernels *kernels;

    if (++*level > LEVADA_CPU_AVX512) return NULL;
    kernels = levada_kernels_for((levada_cpu_level)*level);
    return (int)kernels->level == *level ? kernels : NULL;
}

/* All levels against the plain loop, at all ends. */
static void compare(size_t n, int64_t max)
{
    const uint8_t *p = text + CAPACITY - n;
    int64_t        count = 0;
    size_t         end = 0;
    int            level = LEVADA_CPU_AUTO;

    for (; end < n && count < max; end++)
        if (is_in_set(p[end])) want[count++] = (int32_t)end;
    for (const levada_kernels *k; (k = next_level(&level)) != NULL;) {
        size_t scanned = 12345;

        for (size_t i = (size_t)max + LEVADA_KERNEL_SLACK; i < CAPACITY + LEVADA_KERNEL_SLACK; i++)
            got[i] = -7;
        assert_int_equal(k->byte_index(p, n, set, got, max, &scanned), count);
        assert_int_equal(scanned, end);
        assert_memory_equal(got, want, (size_t)count * sizeof(*got));
        for (size_t i = (size_t)max + LEVADA_KERNEL_SLACK; i < CAPACITY + LEVADA_KERNEL_SLACK; i++)
            assert_int_equal(got[i], -7);
    }
}

static void finds_all_of_the_set_at_all_lengths(void **state)
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
        cmocka_unit_test(finds_all_of_the_set_at_all_lengths),
        cmocka_unit_test(stops_at_the_largest_number),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
