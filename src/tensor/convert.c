/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two steps over pieces that stay in the first-level cache: any dtype to int64, uint64 or double,
 * whichever holds all of its values, and from there to any dtype. So there are 26 small loops
 * instead of 144.
 */
#include "tensor/convert.h"

#include <math.h>
#include <string.h>

#define CONVERT_PIECE 512

typedef enum convert_wide { CONVERT_INT, CONVERT_UINT, CONVERT_FLOAT } convert_wide;

typedef union convert_piece {
    int64_t  i[CONVERT_PIECE];
    uint64_t u[CONVERT_PIECE];
    double   f[CONVERT_PIECE];
} convert_piece;

bool levada_convert_known(levada_dtype from, levada_dtype to)
{
    return from >= LEVADA_BOOL && from <= LEVADA_FLOAT64 && to >= LEVADA_BOOL &&
           to <= LEVADA_FLOAT64;
}

static double convert_from_half(uint16_t h)
{
    int32_t exponent = h >> 10 & 31;
    double  sign = h & 0x8000 ? -1.0 : 1.0, mantissa = h & 0x3ff;

    if (exponent == 31) return mantissa != 0 ? (double)NAN : sign * (double)INFINITY;
    if (exponent == 0) return sign * ldexp(mantissa, -24);
    return sign * ldexp(mantissa + 1024, exponent - 25);
}

static double convert_from_bfloat(uint16_t b)
{
    uint32_t bits = (uint32_t)b << 16;
    float    f;

    memcpy(&f, &bits, sizeof f);
    return (double)f;
}

/* Rounds to the nearest multiple of a unit, ties to even (the default rounding), as a count of
 * units. */
static uint32_t convert_units(double x, int32_t scale)
{ return (uint32_t)nearbyint(ldexp(x, scale)); }

static uint16_t convert_to_half(double x)
{
    uint16_t sign = signbit(x) ? 0x8000 : 0;
    int      exponent;
    double   size = fabs(x);

    if (isnan(x)) return (uint16_t)(sign | 0x7e00);
    if (size >= 65520) return (uint16_t)(sign | 0x7c00);
    if (size < 0x1p-14) return (uint16_t)(sign | convert_units(size, 24));
    (void)frexp(size, &exponent); /* size = m * 2^exponent, 0.5 <= m < 1 */
    /* the leading one of the mantissa adds 1 to the exponent */
    return (uint16_t)(sign + ((uint32_t)(exponent + 13) << 10) +
                      convert_units(size, 11 - exponent));
}

/* Converts straight from the double, because rounding to float on the way would round twice. */
static uint16_t convert_to_bfloat(double x)
{
    uint16_t sign = signbit(x) ? 0x8000 : 0;
    int      exponent;
    double   size = fabs(x);

    if (isnan(x)) return (uint16_t)(sign | 0x7fc0);
    if (size >= 0x1.ffp127) return (uint16_t)(sign | 0x7f80);
    if (size < 0x1p-126) return (uint16_t)(sign | convert_units(size, 133));
    (void)frexp(size, &exponent);
    return (uint16_t)(sign + ((uint32_t)(exponent + 125) << 7) + convert_units(size, 8 - exponent));
}

/* The types by their letter in the unions. */
#define CONVERT_WIDEN(type, member, wide)                                    \
    {                                                                        \
        const type *p = in;                                                  \
        for (int64_t k = 0; k < n; k++) to->member[k] = (wide)p[k];          \
    }                                                                        \
    break

static convert_wide convert_widen(levada_dtype from, const void *in, int64_t n, convert_piece *to)
{
    const uint16_t *bits = in;

    switch (from) {
    case LEVADA_BOOL:
    case LEVADA_UINT8: CONVERT_WIDEN(uint8_t, i, int64_t);
    case LEVADA_INT8: CONVERT_WIDEN(int8_t, i, int64_t);
    case LEVADA_INT16: CONVERT_WIDEN(int16_t, i, int64_t);
    case LEVADA_INT32: CONVERT_WIDEN(int32_t, i, int64_t);
    case LEVADA_UINT16: CONVERT_WIDEN(uint16_t, i, int64_t);
    case LEVADA_UINT32: CONVERT_WIDEN(uint32_t, i, int64_t);
    case LEVADA_INT64: memcpy(to->i, in, (size_t)n * sizeof to->i[0]); break;
    case LEVADA_UINT64: memcpy(to->u, in, (size_t)n * sizeof to->u[0]); return CONVERT_UINT;
    case LEVADA_FLOAT16:
        for (int64_t k = 0; k < n; k++) to->f[k] = convert_from_half(bits[k]);
        return CONVERT_FLOAT;
    case LEVADA_BFLOAT16:
        for (int64_t k = 0; k < n; k++) to->f[k] = convert_from_bfloat(bits[k]);
        return CONVERT_FLOAT;
    case LEVADA_FLOAT32:
        for (int64_t k = 0; k < n; k++) to->f[k] = (double)((const float *)in)[k];
        return CONVERT_FLOAT;
    case LEVADA_FLOAT64: memcpy(to->f, in, (size_t)n * sizeof to->f[0]); return CONVERT_FLOAT;
    default: break;
    }
    return CONVERT_INT;
}

/* Converts to int64 (signed dtypes) or uint64 (unsigned ones), 0 for values outside [low, high]. */
static int64_t convert_settle_int(convert_wide wide, convert_piece *p, int64_t n, int64_t low,
                                  int64_t high)
{
    int64_t bad = 0;

    for (int64_t k = 0; k < n; k++) {
        double  f = p->f[k];
        bool    fits;
        int64_t v;

        switch (wide) {
        case CONVERT_INT:
            v = p->i[k];
            fits = v >= low && v <= high;
            break;
        case CONVERT_UINT:
            fits = p->u[k] <= (uint64_t)high;
            v = fits ? (int64_t)p->u[k] : 0;
            break;
        default: /* 2^63 is a double, INT64_MAX is none; NaN fits nowhere */
            fits = f >= -0x1p63 && f < 0x1p63;
            v = fits ? (int64_t)f : 0;
            fits = fits && v >= low && v <= high;
            break;
        }
        p->i[k] = fits ? v : 0;
        bad += !fits;
    }
    return bad;
}

static int64_t convert_settle_uint64(convert_wide wide, convert_piece *p, int64_t n)
{
    int64_t bad = 0;

    if (wide == CONVERT_UINT) return 0;
    for (int64_t k = 0; k < n; k++) {
        bool fits = wide == CONVERT_INT ? p->i[k] >= 0 : p->f[k] > -1.0 && p->f[k] < 0x1p64;

        if (!fits) p->u[k] = 0;
        if (fits && wide == CONVERT_FLOAT) p->u[k] = p->f[k] < 0 ? 0 : (uint64_t)p->f[k];
        bad += !fits;
    }
    return bad;
}

/* Returns the least number that would be rounded to infinity. */
static double convert_infinite(levada_dtype to)
{
    switch (to) {
    case LEVADA_FLOAT16: return 0x1.ffep15;
    case LEVADA_BFLOAT16: return 0x1.ffp127;
    case LEVADA_FLOAT32: return 0x1.ffffffp127;
    default: return (double)INFINITY;
    }
}

/* Converts to double, 0 for finite values that the dtype rounds to infinity. */
static int64_t convert_settle_float(levada_dtype to, convert_wide wide, convert_piece *p, int64_t n)
{
    double  most = convert_infinite(to);
    int64_t bad = 0;

    for (int64_t k = 0; k < n && wide == CONVERT_INT; k++) p->f[k] = (double)p->i[k];
    for (int64_t k = 0; k < n && wide == CONVERT_UINT; k++) p->f[k] = (double)p->u[k];
    for (int64_t k = 0; k < n; k++) {
        bool fits = !(fabs(p->f[k]) >= most) || isinf(p->f[k]);

        p->f[k] = fits ? p->f[k] : 0;
        bad += !fits;
    }
    return bad;
}

static void convert_settle_bool(convert_wide wide, convert_piece *p, int64_t n)
{
    for (int64_t k = 0; k < n; k++) {
        p->i[k] = wide == CONVERT_FLOAT ? p->f[k] != 0 : p->u[k] != 0;
    }
}

#define CONVERT_NARROW(type, member)                                         \
    {                                                                        \
        type *q = out;                                                       \
        for (int64_t k = 0; k < n; k++) q[k] = (type)p->member[k];           \
    }                                                                        \
    break

static void convert_narrow(levada_dtype to, const convert_piece *p, int64_t n, void *out)
{
    uint16_t *bits = out;

    switch (to) {
    case LEVADA_BOOL:
    case LEVADA_UINT8: CONVERT_NARROW(uint8_t, i);
    case LEVADA_INT8: CONVERT_NARROW(int8_t, i);
    case LEVADA_INT16: CONVERT_NARROW(int16_t, i);
    case LEVADA_INT32: CONVERT_NARROW(int32_t, i);
    case LEVADA_INT64: CONVERT_NARROW(int64_t, i);
    case LEVADA_UINT16: CONVERT_NARROW(uint16_t, i);
    case LEVADA_UINT32: CONVERT_NARROW(uint32_t, i);
    case LEVADA_UINT64: CONVERT_NARROW(uint64_t, u);
    case LEVADA_FLOAT32: CONVERT_NARROW(float, f);
    case LEVADA_FLOAT64: CONVERT_NARROW(double, f);
    case LEVADA_FLOAT16:
        for (int64_t k = 0; k < n; k++) bits[k] = convert_to_half(p->f[k]);
        break;
    case LEVADA_BFLOAT16:
        for (int64_t k = 0; k < n; k++) bits[k] = convert_to_bfloat(p->f[k]);
        break;
    default: break;
    }
}

static int64_t convert_settle(levada_dtype to, convert_wide wide, convert_piece *p, int64_t n)
{
    int64_t bits = 8 * levada_dtype_size(to);

    switch (to) {
    case LEVADA_BOOL: convert_settle_bool(wide, p, n); return 0;
    case LEVADA_INT8:
    case LEVADA_INT16:
    case LEVADA_INT32:
        return convert_settle_int(wide, p, n, -(INT64_C(1) << (bits - 1)),
                                  (INT64_C(1) << (bits - 1)) - 1);
    case LEVADA_INT64: return convert_settle_int(wide, p, n, INT64_MIN, INT64_MAX);
    case LEVADA_UINT8:
    case LEVADA_UINT16:
    case LEVADA_UINT32: return convert_settle_int(wide, p, n, 0, (INT64_C(1) << bits) - 1);
    case LEVADA_UINT64: return convert_settle_uint64(wide, p, n);
    default: return convert_settle_float(to, wide, p, n);
    }
}

int64_t levada_convert(levada_dtype from, const void *in, levada_dtype to, void *out, int64_t n)
{
    int64_t        in_size = levada_dtype_size(from), out_size = levada_dtype_size(to), bad = 0;
    const uint8_t *source = in;
    uint8_t       *target = out;
    convert_piece  piece;

    for (int64_t k = 0; k < n; k += CONVERT_PIECE) {
        int64_t      now = n - k < CONVERT_PIECE ? n - k : CONVERT_PIECE;
        convert_wide wide = convert_widen(from, source + k * in_size, now, &piece);

        bad += convert_settle(to, wide, &piece, now);
        convert_narrow(to, &piece, now, target + k * out_size);
    }
    return bad;
}
