/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/kernels.h"

enum { SLACK = LEVADA_KERNEL_SLACK, CAPACITY = 8192, VALUES = 4096 };

static uint8_t  store[SLACK + CAPACITY + SLACK];
static uint8_t *const coded = store + SLACK;
static int64_t  values[VALUES], wide[VALUES + SLACK];
static int32_t  narrow[VALUES + SLACK];
static uint64_t random_state;

static uint64_t random_next(void)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return random_state ^ random_state >> 29;
}

static void fill(uint64_t seed)
{
    random_state = seed;
    for (size_t i = 0; i < sizeof(store); i++) store[i] = (uint8_t)(random_next() >> 40);
}

static size_t encode(uint64_t value, uint8_t *to)
{
    size_t n = 0;

    for (; value >= 0x80; value >>= 7) to[n++] = (uint8_t)(value | 0x80);
    to[n++] = (uint8_t)value;
    return n;
}

static const levada_kernels *next_level(int *level)
{
    const levada_kernels *kernels;

    if (++*level > LEVADA_CPU_AVX512) return NULL;
    kernels = levada_kernels_for((levada_cpu_level)*level);
    return (int)kernels->level == *level ? kernels : NULL;
}

/* Byte by byte; returns the number of values or -1. */
static int64_t reference(const uint8_t *p, size_t n, int64_t *out)
{
    int64_t count = 0;

    for (size_t at = 0; at < n;) {
        uint64_t value = 0;
        int      size = 0;

        do {
            if (at == n || size == 10) return -1;
            value |= (uint64_t)(p[at] & 0x7f) << 7 * size;
            size++;
        } while (p[at++] >= 0x80);
        out[count++] = (int64_t)value;
    }
    return count;
}

/* Bits of levada_varint_size, byte by byte. */
static uint32_t reference_sizes(const uint8_t *p, size_t n)
{
    uint32_t sizes = 0;
    size_t   run = 0;

    for (size_t i = 0; i < n; i++) {
        run = p[i] >= 0x80 ? run + 1 : 0;
        if (run >= 4) sizes |= LEVADA_VARINT_OVER_4;
        if (run >= 10) sizes |= LEVADA_VARINT_OVER_10;
    }
    return sizes;
}

/* Bool, and signed and unsigned numbers of 8 and 16 bits. */
static const levada_varint_range ranges[] = {{1, 1, 0}, {1, 8, 0}, {1, 8, 1u << 7},
                                             {2, 16, 0}, {2, 16, 1u << 15}};

/* Elements of one and two bytes; `ends` is the number of varints if all are whole. */
static void compare_narrow(const levada_kernels *k, const uint8_t *p, size_t n, int64_t count,
                           int64_t ends)
{
    for (size_t r = 0; r < sizeof ranges / sizeof ranges[0]; r++) {
        int64_t  size = ranges[r].size, fits = count;
        uint8_t *out = (uint8_t *)narrow, *after = out + ends * size + SLACK;

        for (int64_t i = 0; i < count; i++)
            if (((uint64_t)values[i] + ranges[r].bias) >> ranges[r].bits != 0) fits = -2;
        memset(after, 0x5a, 512);
        assert_int_equal(k->varint_narrow(p, n, ranges[r], out), fits);
        for (int64_t i = 0; i < fits; i++)
            assert_memory_equal(out + i * size, &values[i], (size_t)size);
        for (int64_t i = 0; i < 512; i++) assert_int_equal(after[i], 0x5a);
    }
}

/* All levels against the reference; nothing may be written after the slack after the output. */
static void compare(const uint8_t *p, size_t n)
{
    int64_t count = reference(p, n, values), ends = 0, fits;
    int     level = LEVADA_CPU_AUTO;

    fits = count;
    for (int64_t i = 0; i < count; i++)
        if (values[i] < INT32_MIN || values[i] > INT32_MAX) fits = -2;
    for (size_t i = 0; i < n; i++) ends += p[i] < 0x80;
    for (const levada_kernels *k; (k = next_level(&level)) != NULL;) {
        memset(wide + ends + SLACK / 8, 0x5a, 512);
        memset(narrow + ends + SLACK / 4, 0x5a, 512);
        uint32_t sizes = 0;

        assert_int_equal(k->varint_sizes(p, n, &sizes), ends);
        assert_int_equal(sizes, reference_sizes(p, n));
        assert_int_equal(k->varint_count(p, n), ends);
        assert_int_equal(k->varint_i64(p, n, wide), count);
        assert_int_equal(k->varint_i32(p, n, narrow), fits);
        if (count > 0) assert_memory_equal(wide, values, (size_t)count * sizeof(*wide));
        for (int64_t i = 0; i < fits; i++) assert_int_equal(narrow[i], values[i]);
        for (int64_t i = 0; i < 512 / 8; i++)
            assert_int_equal(wide[ends + SLACK / 8 + i], 0x5a5a5a5a5a5a5a5a);
        for (int64_t i = 0; i < 512 / 4; i++)
            assert_int_equal(narrow[ends + SLACK / 4 + i], 0x5a5a5a5a);
        compare_narrow(k, p, n, count, ends);
    }
}

/* `number` values of up to `bits` bits, most of them shorter when `skewed`. Returns the bytes. */
static size_t make(size_t number, int bits, bool skewed)
{
    size_t n = 0;

    for (size_t i = 0; i < number; i++) {
        uint64_t drop = skewed ? random_next() % (uint64_t)bits : 0;

        n += encode(random_next() >> (64 - bits) >> drop, coded + n);
    }
    return n;
}

static void decodes_every_size_at_all_lengths(void **state)
{
    (void)state;
    for (int bits = 1; bits <= 64; bits++) {
        for (size_t number = 0; number <= 150; number += 1 + (size_t)bits / 8) {
            fill(number * 64 + (uint64_t)bits);
            compare(coded, make(number, bits, false));
            fill(number * 64 + (uint64_t)bits);
            compare(coded, make(number, bits, true));
        }
    }
}

static void decodes_blocks_of_one_byte_values(void **state)
{
    (void)state;
    for (size_t n = 0; n <= 700; n++) {
        fill(n);
        for (size_t i = 0; i < n; i++) coded[i] &= 0x7f;
        compare(coded, n);
        if (n > 3) {
            coded[n / 2] |= 0x80; /* one value of two bytes among them */
            compare(coded, n);
        }
    }
}

static void decodes_a_long_value_at_any_place(void **state)
{
    static const uint64_t odd[] = {UINT64_MAX, (uint64_t)INT64_MIN, (uint64_t)INT32_MIN,
                                   (uint64_t)INT32_MAX, (uint64_t)INT32_MAX + 1,
                                   0xffffffff7fffffffu, 0xfffffffu, 0x10000000u, 0xffffffffffffffu,
                                   0x100000000000000u, 0x7fffffffffffffffu};

    (void)state;
    for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
        for (size_t before = 0; before < 130; before++) {
            size_t n = before;

            fill(i);
            for (size_t j = 0; j < before; j++) coded[j] &= 0x7f;
            n += encode(odd[i], coded + n);
            compare(coded, n);
            n += encode(1, coded + n);
            n += encode(300, coded + n);
            n += encode(odd[i], coded + n);
            compare(coded, n);
        }
    }
}

/* Most values fit, one at any place does not, or just so. */
static void finds_what_does_not_fit_at_any_place(void **state)
{
    static const uint64_t odd[] = {1, 2, 127, 128, 255, 256, 32767, 32768, 65535, 65536, 1u << 27,
                                   UINT64_MAX, (uint64_t)-128, (uint64_t)-129, (uint64_t)-32768,
                                   (uint64_t)-32769, (uint64_t)INT64_MIN};

    (void)state;
    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
        for (size_t before = 0; before < 200; before++) {
            size_t n = 0;

            fill(i);
            while (n < before) n += encode(random_next() & (i % 2 ? 1 : 0xff), coded + n);
            n += encode(odd[i], coded + n);
            compare(coded, n);
            for (size_t j = 0; j < 80; j++) n += encode(random_next() & 0x7fff, coded + n);
            compare(coded, n);
        }
    }
}

static void takes_bytes_that_are_not_canonical(void **state)
{
    (void)state;
    fill(5);
    memcpy(coded, "\x80\x00\x81\x80\x80\x00\x80\x80\x80\x80\x80\x80\x80\x80\x80\x7f\x05", 17);
    compare(coded, 17);
    assert_int_equal(values[2], INT64_MIN); /* bits beyond the 64th are dropped */
}

static void refuses_overlong_and_unfinished_values(void **state)
{
    (void)state;
    for (size_t before = 0; before < 200; before++) {
        for (size_t tops = 1; tops < 90; tops += tops < 16 ? 1 : 13) {
            fill(before);
            for (size_t i = 0; i < before; i++) coded[i] &= (uint8_t)(i % 3 == 0 ? 0xff : 0x7f);
            if (before > 0) coded[before - 1] &= 0x7f;
            memset(coded + before, 0x80, tops);
            coded[before + tops] = 1;
            compare(coded, before + tops);     /* unfinished              */
            compare(coded, before + tops + 1); /* overlong from 10 tops on */
            coded[before + tops + 1] = 2;
            compare(coded, before + tops + 2);
        }
    }
}

static void agrees_on_random_bytes(void **state)
{
    (void)state;
    for (size_t i = 0; i < 20000; i++) {
        size_t   n;
        uint64_t clear;

        fill(i);
        n = random_next() % 400;
        clear = random_next() % 8; /* from rarely malformed to mostly malformed */
        for (size_t j = 0; j < n; j++)
            if (random_next() % 8 < clear) coded[j] &= 0x7f;
        compare(coded + i % 64, n);
    }
}

static void counts_without_reading_behind_the_end(void **state)
{
    (void)state;
    fill(3);
    for (size_t n = 0; n <= 700; n++) {
        const uint8_t *p = store + sizeof(store) - n;
        int64_t        want = 0;
        int            level = LEVADA_CPU_AUTO;

        for (size_t i = 0; i < n; i++) want += p[i] < 0x80;
        for (const levada_kernels *k; (k = next_level(&level)) != NULL;)
            assert_int_equal(k->varint_count(p, n), want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decodes_every_size_at_all_lengths),
        cmocka_unit_test(decodes_blocks_of_one_byte_values),
        cmocka_unit_test(decodes_a_long_value_at_any_place),
        cmocka_unit_test(finds_what_does_not_fit_at_any_place),
        cmocka_unit_test(takes_bytes_that_are_not_canonical),
        cmocka_unit_test(refuses_overlong_and_unfinished_values),
        cmocka_unit_test(agrees_on_random_bytes),
        cmocka_unit_test(counts_without_reading_behind_the_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
