/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/crc32c_fold.h"
#include "base/kernels.h"

enum { CAPACITY = 70000 };

static uint8_t bytes[CAPACITY];

static void fill(uint64_t seed)
{
    for (size_t i = 0; i < CAPACITY; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        bytes[i] = (uint8_t)(seed >> 56);
    }
}

/* The definition, bit by bit. */
static uint32_t reference(uint32_t crc, const uint8_t *data, size_t n)
{
    crc = ~crc;
    for (size_t i = 0; i < n; i++) {
        crc ^= data[i];
        for (int bit = 0; bit < 8; bit++) crc = crc & 1 ? crc >> 1 ^ 0x82f63b78u : crc >> 1;
    }
    return ~crc;
}

/* The next level after *level that this machine has, or NULL. Begin with LEVADA_CPU_AUTO. */
static const levada_kernels *next_level(int *level)
{
    const levada_kernels *kernels;

    if (++*level > LEVADA_CPU_AVX512) return NULL;
    kernels = levada_kernels_for((levada_cpu_level)*level);
    return (int)kernels->level == *level ? kernels : NULL;
}

static void gives_the_known_values(void **state)
{
    static const uint8_t pdu[48] = {
        0x01, 0xc0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,    0, 0, 0, 0x14, 0, 0, 0, 0, 0, 4, 0,
        0,    0,    0, 0x14, 0, 0, 0, 0x18, 0x28, 0, 0, 0, 0, 0, 0, 0, 0x02, 0, 0, 0, 0, 0, 0, 0};
    uint8_t zeros[32], ones[32], up[32], down[32];
    int     level = LEVADA_CPU_AUTO;

    (void)state;
    memset(zeros, 0, sizeof(zeros));
    memset(ones, 0xff, sizeof(ones));
    for (int i = 0; i < 32; i++) {
        up[i] = (uint8_t)i;
        down[i] = (uint8_t)(31 - i);
    }
    for (const levada_kernels *k; (k = next_level(&level)) != NULL;) {
        assert_int_equal(k->crc32c(0, zeros, 32), 0x8a9136aau);
        assert_int_equal(k->crc32c(0, ones, 32), 0x62a8ab43u);
        assert_int_equal(k->crc32c(0, up, 32), 0x46dd794eu);
        assert_int_equal(k->crc32c(0, down, 32), 0x113fdb5cu);
        assert_int_equal(k->crc32c(0, pdu, 48), 0xd9963a56u);
        assert_int_equal(k->crc32c(0, (const uint8_t *)"123456789", 9), 0xe3069283u);
        assert_int_equal(k->crc32c(0, NULL, 0), 0);
    }
}

static void agrees_with_the_definition_at_all_lengths(void **state)
{
    (void)state;
    fill(1);
    for (size_t n = 0; n <= 700; n++) {
        /* The end of the array, so that a sanitizer sees reads after it. */
        const uint8_t *data = bytes + CAPACITY - n;
        uint32_t       start = (uint32_t)(n * 2654435761u);
        uint32_t       want = reference(start, data, n), plain = reference(0, data, n);
        int            level = LEVADA_CPU_AUTO;

        for (const levada_kernels *k; (k = next_level(&level)) != NULL;) {
            assert_int_equal(k->crc32c(start, data, n), want);
            assert_int_equal(k->crc32c(0, data, n), plain);
        }
    }
}

static void agrees_with_the_definition_at_any_offset(void **state)
{
    (void)state;
    fill(2);
    for (size_t i = 0; i < 400; i++) {
        size_t at = (i * 37) % 130, n = (i * i * 13) % 5000;
        int    level = LEVADA_CPU_AUTO;

        for (const levada_kernels *k; (k = next_level(&level)) != NULL;)
            assert_int_equal(k->crc32c(0, bytes + at, n), reference(0, bytes + at, n));
    }
}

static void goes_on_where_another_call_ended(void **state)
{
    uint32_t want;
    int      level = LEVADA_CPU_AUTO;

    (void)state;
    fill(3);
    want = reference(0, bytes, CAPACITY);
    for (const levada_kernels *k; (k = next_level(&level)) != NULL;) {
        assert_int_equal(k->crc32c(0, bytes, CAPACITY), want);
        for (size_t cut = 0; cut < CAPACITY; cut += 977) {
            uint32_t first = k->crc32c(0, bytes, cut);

            assert_int_equal(k->crc32c(first, bytes + cut, CAPACITY - cut), want);
        }
    }
}

static void mask_and_unmask_are_inverse(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 1000; i++) {
        uint32_t crc = i * 2654435761u;

        assert_int_equal(levada_crc32c_unmask(levada_crc32c_mask(crc)), crc);
        assert_int_not_equal(levada_crc32c_mask(crc), crc);
    }
    assert_int_equal(levada_crc32c_mask(0), 0xa282ead8u);
}

/* x^k modulo the polynomial, reflected. */
static uint64_t power(int k)
{
    uint32_t v = 0x80000000u;

    for (; k > 0; k--) v = v & 1 ? v >> 1 ^ 0x82f63b78u : v >> 1;
    return v;
}

static void fold_constants_are_powers_of_x(void **state)
{
    static const struct {
        int      distance;
        uint64_t lo, hi;
    } folds[] = {
        {128, LEVADA_FOLD_128_LO, LEVADA_FOLD_128_HI},
        {256, LEVADA_FOLD_256_LO, LEVADA_FOLD_256_HI},
        {384, LEVADA_FOLD_384_LO, LEVADA_FOLD_384_HI},
        {512, LEVADA_FOLD_512_LO, LEVADA_FOLD_512_HI},
        {1024, LEVADA_FOLD_1024_LO, LEVADA_FOLD_1024_HI},
        {1536, LEVADA_FOLD_1536_LO, LEVADA_FOLD_1536_HI},
        {2048, LEVADA_FOLD_2048_LO, LEVADA_FOLD_2048_HI},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(folds) / sizeof(folds[0]); i++) {
        assert_int_equal(folds[i].lo, power(folds[i].distance + 31));
        assert_int_equal(folds[i].hi, power(folds[i].distance - 33));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gives_the_known_values),
        cmocka_unit_test(agrees_with_the_definition_at_all_lengths),
        cmocka_unit_test(agrees_with_the_definition_at_any_offset),
        cmocka_unit_test(goes_on_where_another_call_ended),
        cmocka_unit_test(mask_and_unmask_are_inverse),
        cmocka_unit_test(fold_constants_are_powers_of_x),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
