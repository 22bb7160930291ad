/* SPDX-License-Identifier: Apache-2.0 */
#include "tensor/convert.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static uint16_t half_of(double x)
{
    uint16_t half = 0;

    assert_int_equal(levada_convert(LEVADA_FLOAT64, &x, LEVADA_FLOAT16, &half, 1), 0);
    return half;
}

static uint16_t bfloat_of(double x)
{
    uint16_t bfloat = 0;

    assert_int_equal(levada_convert(LEVADA_FLOAT64, &x, LEVADA_BFLOAT16, &bfloat, 1), 0);
    return bfloat;
}

/* IEEE 754 binary16: ties go to the even neighbour, subnormals and overflow included. */
static void halves_are_rounded_to_the_nearest(void **state)
{
    (void)state;
    assert_int_equal(half_of(0.0), 0x0000);
    assert_int_equal(half_of(-0.0), 0x8000);
    assert_int_equal(half_of(1.0), 0x3c00);
    assert_int_equal(half_of(-2.0), 0xc000);
    assert_int_equal(half_of(1.0 + 0x1p-11), 0x3c00);
    assert_int_equal(half_of(1.0 + 0x3p-11), 0x3c02);
    assert_int_equal(half_of(65504.0), 0x7bff);
    assert_int_equal(half_of(65519.9), 0x7bff);
    assert_int_equal(half_of(-INFINITY), 0xfc00);
    assert_int_equal(half_of(0x1p-24), 0x0001);
    assert_int_equal(half_of(0x1p-25), 0x0000);
    assert_int_equal(half_of(0x1.8p-25), 0x0001);
    assert_int_equal(half_of(0x1.ffcp-15), 0x0400);
    assert_int_equal(half_of(NAN) & 0x7e00, 0x7e00);
}

static void bfloats_are_rounded_once(void **state)
{
    (void)state;
    assert_int_equal(bfloat_of(1.0), 0x3f80);
    assert_int_equal(bfloat_of(-1.5), 0xbfc0);
    assert_int_equal(bfloat_of(1.0 + 0x1p-8), 0x3f80);
    assert_int_equal(bfloat_of(1.0 + 0x1p-8 + 0x1p-40), 0x3f81);
    assert_int_equal(bfloat_of(0x1.fep127), 0x7f7f);
    assert_int_equal(bfloat_of(0x1p-133), 0x0001);
}

static void every_half_comes_back(void **state)
{
    (void)state;
    for (uint32_t bits = 0; bits < 65536; bits++) {
        uint16_t from = (uint16_t)bits, to = 0;
        double   wide = 0;

        assert_int_equal(levada_convert(LEVADA_FLOAT16, &from, LEVADA_FLOAT64, &wide, 1), 0);
        if (isnan(wide)) continue;
        assert_int_equal(levada_convert(LEVADA_FLOAT64, &wide, LEVADA_FLOAT16, &to, 1), 0);
        assert_int_equal(to, from);
        assert_int_equal(levada_convert(LEVADA_BFLOAT16, &from, LEVADA_FLOAT64, &wide, 1), 0);
        if (isnan(wide)) continue;
        assert_int_equal(levada_convert(LEVADA_FLOAT64, &wide, LEVADA_BFLOAT16, &to, 1), 0);
        assert_int_equal(to, from);
    }
}

/* Whether a double fits into the dtype. */
static int64_t misfits(double x, levada_dtype to)
{
    uint64_t out = 0;

    return levada_convert(LEVADA_FLOAT64, &x, to, &out, 1);
}

static void limits_are_exact(void **state)
{
    const int64_t  ints[] = { -129, -128, 127, 128, 255, 256, INT64_MIN, INT64_MAX };
    const uint64_t uints[] = { 0, (uint64_t)INT64_MAX, (uint64_t)INT64_MAX + 1, UINT64_MAX };
    int64_t        out[8];

    (void)state;
    assert_int_equal(levada_convert(LEVADA_INT64, ints, LEVADA_INT8, out, 8), 6);
    assert_int_equal(levada_convert(LEVADA_INT64, ints, LEVADA_UINT8, out, 8), 5);
    assert_int_equal(levada_convert(LEVADA_INT64, ints, LEVADA_UINT64, out, 8), 3);
    assert_int_equal(levada_convert(LEVADA_INT64, ints, LEVADA_INT64, out, 8), 0);
    assert_int_equal(levada_convert(LEVADA_UINT64, uints, LEVADA_INT64, out, 4), 2);
    assert_int_equal(levada_convert(LEVADA_UINT64, uints, LEVADA_UINT32, out, 4), 3);
    assert_int_equal(misfits(0x1p63, LEVADA_INT64), 1);
    assert_int_equal(misfits(-0x1p63, LEVADA_INT64), 0);
    assert_int_equal(misfits(0x1p64, LEVADA_UINT64), 1);
    assert_int_equal(misfits(-0.9, LEVADA_UINT64), 0);
    assert_int_equal(misfits(-1.0, LEVADA_UINT64), 1);
    assert_int_equal(misfits(127.9, LEVADA_INT8), 0);
    assert_int_equal(misfits(128.0, LEVADA_INT8), 1);
    assert_int_equal(misfits(0x1.fffffefp127, LEVADA_FLOAT32), 0);
    assert_int_equal(misfits(0x1.ffffffp127, LEVADA_FLOAT32), 1);
    assert_int_equal(misfits(-1e39, LEVADA_FLOAT32), 1);
    assert_int_equal(misfits(65519, LEVADA_FLOAT16), 0);
    assert_int_equal(misfits(-65520, LEVADA_FLOAT16), 1);
    assert_int_equal(misfits(0x1.fep127, LEVADA_BFLOAT16), 0);
    assert_int_equal(misfits(0x1.ffp127, LEVADA_BFLOAT16), 1);
    assert_int_equal(misfits((double)INFINITY, LEVADA_FLOAT16), 0);
    assert_int_equal(misfits((double)NAN, LEVADA_FLOAT32), 0);
    assert_int_equal(misfits(1e300, LEVADA_FLOAT64), 0);
    assert_int_equal(misfits(NAN, LEVADA_INT32), 1);
    assert_int_equal(misfits(NAN, LEVADA_BOOL), 0);
    assert_false(levada_convert_known(LEVADA_BYTES, LEVADA_INT8));
    assert_false(levada_convert_known(LEVADA_INT8, LEVADA_COMPLEX64));
}

static void long_columns_are_cut_into_pieces(void **state)
{
    static int32_t from[2000];
    static float   to[2000];

    (void)state;
    for (int32_t i = 0; i < 2000; i++) from[i] = i - 1000;
    assert_int_equal(levada_convert(LEVADA_INT32, from, LEVADA_FLOAT32, to, 2000), 0);
    for (int32_t i = 0; i < 2000; i++) assert_true(to[i] == (float)(i - 1000));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(halves_are_rounded_to_the_nearest),
        cmocka_unit_test(bfloats_are_rounded_once),
        cmocka_unit_test(every_half_comes_back),
        cmocka_unit_test(limits_are_exact),
        cmocka_unit_test(long_columns_are_cut_into_pieces),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
