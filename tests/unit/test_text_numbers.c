/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/kernels.h"
#include "base/number.h"

enum { FIELDS = 61, WIDEST = 28, SLACK = LEVADA_KERNEL_SLACK };

static uint64_t seed = 3;
static uint8_t  text[SLACK + FIELDS * (WIDEST + 1) + SLACK];
static int32_t  marks[FIELDS + 1 + SLACK];

static uint64_t drawn(uint64_t most)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (seed >> 33) % most;
}

/* One field: of any characters of numbers, or a number as programs print them. */
static size_t draw_field(char *to)
{
    static const char letters[] = "0123456789012345678901234567890123456789..--+e /:x";
    size_t n = drawn(WIDEST), most = drawn(4) ? 40 + drawn(3) : sizeof letters - 1;
    double x = ((double)drawn(2000000000) - 1e9) / (double)(1 + drawn(1000000));

    switch (drawn(6)) {
    case 0: return (size_t)snprintf(to, WIDEST, "%.17g", x);
    case 1: return (size_t)snprintf(to, WIDEST, "%.*f", (int)drawn(4), x);
    case 2: return (size_t)snprintf(to, WIDEST, "%.*e", (int)drawn(18), x);
    default: break;
    }
    for (size_t k = 0; k < n; k++) to[k] = letters[drawn(most)];
    return n;
}

/* Fields that commas separate, after and before bytes that look like more of them. */
static void draw_fields(void)
{
    int32_t at = 0;

    memset(text, '9', sizeof text);
    marks[0] = -1;
    for (int i = 1; i <= FIELDS; i++) {
        at += (int32_t)draw_field((char *)text + SLACK + at);
        marks[i] = at;
        text[SLACK + at++] = ',';
    }
}

static const char *field_at(int64_t i, size_t *n)
{
    *n = (size_t)(marks[i + 1] - marks[i] - 1);
    return (const char *)text + SLACK + marks[i] + 1;
}

/* Numbers that are not odd have the value of the careful functions; levels agree. */
static void compare(const levada_kernels *k, int64_t stride, int64_t from)
{
    const levada_kernels    *plain = levada_kernels_for(LEVADA_CPU_PORTABLE);
    const levada_text_fields fields = { text + SLACK, marks + 1 + from, stride };
    int64_t n = (FIELDS - from + stride - 1) / stride, i64[FIELDS], want_i64 = 0, at;
    int32_t odd[FIELDS], want[FIELDS], nodd = k->text_i64(&fields, n, i64, odd);
    double  f64[FIELDS], want_f64 = 0;
    size_t  size;

    assert_int_equal(plain->text_i64(&fields, n, (int64_t[FIELDS]){ 0 }, want), nodd);
    assert_memory_equal(odd, want, (size_t)nodd * sizeof *odd);
    for (int64_t i = at = 0; i < n; i++) {
        const char *field = field_at(from + i * stride, &size);

        if (at < nodd && odd[at] == i) at++;
        else if (levada_number_scan_int(field, size, &want_i64) != LEVADA_NUMBER_INT ||
                 i64[i] != want_i64)
            fail_msg("'%.*s' became %lld", (int)size, field, (long long)i64[i]);
    }
    nodd = k->text_f64(&fields, n, f64, odd);
    assert_int_equal(plain->text_f64(&fields, n, (double[FIELDS]){ 0 }, want), nodd);
    assert_memory_equal(odd, want, (size_t)nodd * sizeof *odd);
    for (int64_t i = at = 0; i < n; i++) {
        const char *field = field_at(from + i * stride, &size);

        if (at < nodd && odd[at] == i) at++;
        else if (levada_number_scan_f64(field, size, &want_f64) != LEVADA_NUMBER_FLOAT ||
                 memcmp(&f64[i], &want_f64, sizeof want_f64) != 0)
            fail_msg("'%.*s' became %.17g", (int)size, field, f64[i]);
    }
}

static void all_levels_read_what_the_careful_functions_read(void **state)
{
    (void)state;
    for (int round = 0; round < 6000; round++) {
        draw_fields();
        for (int level = LEVADA_CPU_PORTABLE; level <= LEVADA_CPU_AVX512; level++)
            compare(levada_kernels_for((levada_cpu_level)level), 1 + (int64_t)drawn(4),
                    (int64_t)drawn(9));
    }
}

/* Common numbers must not be left to the slow path. */
static void common_numbers_are_not_odd(void **state)
{
    static const char usual[] = "0,-1,1234567890123456,-7,12.5,-.25,3.,0.30000000000000004,"
                                "44.585725787744735,1.2345678901234567e-05,-123456.12345678901";
    enum { ALL = 11, INTS = 4 };
    int64_t i64[ALL];
    double  f64[ALL];
    int32_t odd[ALL], n = 0;

    (void)state;
    memcpy(text + SLACK, usual, sizeof usual);
    marks[0] = -1;
    for (int32_t at = 0; at < (int32_t)sizeof usual; at++)
        if (usual[at] == ',' || usual[at] == '\0') marks[++n] = at;
    assert_int_equal(n, ALL);
    for (int level = LEVADA_CPU_PORTABLE; level <= LEVADA_CPU_AVX512; level++) {
        const levada_kernels    *k = levada_kernels_for((levada_cpu_level)level);
        const levada_text_fields fields = { text + SLACK, marks + 1, 1 };

        assert_int_equal(k->text_i64(&fields, INTS, i64, odd), 0);
        assert_int_equal(k->text_f64(&fields, ALL, f64, odd), 0);
        assert_true(f64[7] == 0.1 + 0.2);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_levels_read_what_the_careful_functions_read),
        cmocka_unit_test(common_numbers_are_not_odd),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
