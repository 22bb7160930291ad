/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The common numbers of tables, eight characters at a time: digits with a sign or a point, up to 16
 * characters, and longer ones. Everything else is for levada_number_scan_*: these functions then
 * return false. Where they return true, the result is the same to the last bit.
 *
 * The 16 bytes before the text must be readable (slack); their content never matters.
 */
#ifndef LEVADA_BASE_NUMBER_QUICK_H
#define LEVADA_BASE_NUMBER_QUICK_H

#include "base/compiler.h"
#include "base/number.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define LEVADA_QUICK_MOST 16
#define LEVADA_QUICK_LONG 19 /* digits that fit in 64 bits */

/* Returns the last n <= 8 bytes before `end` less '0' each, the last one on top; zeros below. */
static LEVADA_ALWAYS_INLINE uint64_t levada_quick_load(const uint8_t *end, size_t n)
{
    static const uint64_t keep[9] = {
        0,
        UINT64_C(0xff00000000000000),
        UINT64_C(0xffff000000000000),
        UINT64_C(0xffffff0000000000),
        UINT64_C(0xffffffff00000000),
        UINT64_C(0xffffffffff000000),
        UINT64_C(0xffffffffffff0000),
        UINT64_C(0xffffffffffffff00),
        UINT64_C(0xffffffffffffffff),
    };
    uint64_t word;

    memcpy(&word, end - 8, 8);
    return (word ^ UINT64_C(0x3030303030303030)) & keep[n];
}

/* Returns true if all eight bytes are digits. */
static LEVADA_ALWAYS_INLINE bool levada_quick_digits(uint64_t x)
{
    return ((x | (x + UINT64_C(0x0606060606060606))) & UINT64_C(0xf0f0f0f0f0f0f0f0)) == 0;
}

/* Returns the number that eight digits make: pairs, then fours, then all. */
static LEVADA_ALWAYS_INLINE uint64_t levada_quick_value(uint64_t x)
{
    x = x * 10 + (x >> 8);
    return (((x & UINT64_C(0x000000ff000000ff)) * UINT64_C(0x000f424000000064)) +
            (((x >> 16) & UINT64_C(0x000000ff000000ff)) * UINT64_C(0x0000271000000001))) >> 32;
}

/* Reads the n <= 16 digits before `end`; returns false if they are not all digits. */
static LEVADA_ALWAYS_INLINE bool levada_quick_unsigned(const uint8_t *end, size_t n, uint64_t *out)
{
    uint64_t low = levada_quick_load(end, n < 8 ? n : 8), high;

    *out = levada_quick_value(low);
    if (n <= 8) return levada_quick_digits(low);
    high = levada_quick_load(end - 8, n - 8);
    *out += levada_quick_value(high) * 100000000;
    return levada_quick_digits(low) && levada_quick_digits(high);
}

/* Reads up to 19 digits. */
static LEVADA_ALWAYS_INLINE bool levada_quick_many(const uint8_t *end, size_t n, uint64_t *out)
{
    uint64_t upper = 0, lower;

    if (n > LEVADA_QUICK_LONG) return false;
    if (n <= LEVADA_QUICK_MOST) return levada_quick_unsigned(end, n, out);
    if (!levada_quick_unsigned(end - LEVADA_QUICK_MOST, n - LEVADA_QUICK_MOST, &upper) ||
        !levada_quick_unsigned(end, LEVADA_QUICK_MOST, &lower))
        return false;
    *out = upper * UINT64_C(10000000000000000) + lower;
    return true;
}

static LEVADA_ALWAYS_INLINE bool levada_quick_int(const uint8_t *text, size_t n, int64_t *out)
{
    bool     negative = n > 1 && text[0] == '-';
    size_t   digits = n - negative;
    uint64_t value;

    if (n == 0 || !levada_quick_many(text + n, digits, &value) || value > INT64_MAX) return false;
    *out = negative ? -(int64_t)value : (int64_t)value;
    return true;
}

/* Returns the top bits of those of eight bytes that are points. */
static LEVADA_ALWAYS_INLINE uint64_t levada_quick_points(uint64_t x)
{
    x ^= UINT64_C(0x1e1e1e1e1e1e1e1e); /* '.' less '0', bit by bit */
    return (x - UINT64_C(0x0101010101010101)) & ~x & UINT64_C(0x8080808080808080);
}

/* Takes the first point out of a word: what is below moves up by a byte, and `into` comes in at the
 * bottom. *places = bytes above the point. */
static LEVADA_ALWAYS_INLINE uint64_t levada_quick_close(uint64_t x, uint64_t points, uint64_t into,
                                                        size_t *places)
{
    unsigned at = LEVADA_CTZ64(points) & ~7u; /* bits below the point */
    uint64_t below = (UINT64_C(1) << at) - 1;

    *places = 7 - at / 8;
    return (x & ~(below << 8 | 0xff)) | (x & below) << 8 | into;
}

/* Loads up to 16 characters into two words. Avoids branches on lengths and signs, which differ from
 * row to row, so that processors would predict them badly. */
static LEVADA_ALWAYS_INLINE bool levada_quick_words(const uint8_t *end, size_t n, uint64_t *digits,
                                                    size_t *places)
{
    uint64_t low = levada_quick_load(end, n < 8 ? n : 8);
    uint64_t high = levada_quick_load(end - 8, n < 8 ? 0 : n - 8);
    uint64_t points = levada_quick_points(low);

    *places = 0;
    if (points != 0) {
        if (n == 1) return false;
        low = levada_quick_close(low, points, high >> 56, places);
        high <<= 8;
    } else if ((points = levada_quick_points(high)) != 0) {
        high = levada_quick_close(high, points, 0, places);
        *places += 8;
    }
    *digits = levada_quick_value(high) * 100000000 + levada_quick_value(low);
    return levada_quick_digits(high) && levada_quick_digits(low) &&
           *digits <= UINT64_C(1) << 53;
}

/* Computes a double from two exact doubles with one rounding (Clinger). */
static LEVADA_ALWAYS_INLINE bool levada_quick_double(const uint8_t *text, size_t n, double *out)
{
    static const double tens[LEVADA_QUICK_MOST] = { 1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                                    1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15 };
    bool     negative = n > 1 && text[0] == '-';
    uint64_t digits = 0, bits;
    size_t   places = 0;
    double   value;

    n -= negative;
    if (n - 1 >= LEVADA_QUICK_MOST) return false;
    text += negative;
    if (!levada_quick_words(text + n, n, &digits, &places)) return false;
    value = (double)(int64_t)digits / tens[places];
    memcpy(&bits, &value, sizeof bits);
    bits |= (uint64_t)negative << 63;
    memcpy(out, &bits, sizeof bits);
    return true;
}

/* Takes "e-05" and the like off the end of the n > 8 characters at `text`. */
static LEVADA_ALWAYS_INLINE int64_t levada_quick_exponent(const uint8_t *text, size_t *n)
{
    const uint8_t *at = text + *n - 4;
    unsigned       tens = (unsigned)at[2] - '0', ones = (unsigned)at[3] - '0';
    int64_t        value = (int64_t)tens * 10 + ones;

    if ((at[0] | 0x20) != 'e' || (at[1] != '-' && at[1] != '+') || tens > 9 || ones > 9) return 0;
    *n -= 4;
    return at[1] == '-' ? -value : value;
}

/* Floats of 9 characters or more: a point after up to 7 digits, 19 digits, a short exponent. */
static inline bool levada_quick_long(const uint8_t *text, size_t n, double *out)
{
    static const uint64_t tens[LEVADA_QUICK_LONG + 1] = {
        UINT64_C(1),
        UINT64_C(10),
        UINT64_C(100),
        UINT64_C(1000),
        UINT64_C(10000),
        UINT64_C(100000),
        UINT64_C(1000000),
        UINT64_C(10000000),
        UINT64_C(100000000),
        UINT64_C(1000000000),
        UINT64_C(10000000000),
        UINT64_C(100000000000),
        UINT64_C(1000000000000),
        UINT64_C(10000000000000),
        UINT64_C(100000000000000),
        UINT64_C(1000000000000000),
        UINT64_C(10000000000000000),
        UINT64_C(100000000000000000),
        UINT64_C(1000000000000000000),
        UINT64_C(10000000000000000000),
    };
    bool     negative = n > 1 && text[0] == '-';
    size_t   point, places;
    uint64_t points, left = 0, right = 0;
    int64_t  exponent;

    if (n <= 8 + (size_t)negative) return false; /* also no text at all */
    text += negative;
    n -= negative;
    exponent = levada_quick_exponent(text, &n);
    if (n < 8) return false;
    points = levada_quick_points(levada_quick_load(text + 8, 8));
    if (points == 0) return false;
    point = LEVADA_CTZ64(points) / 8;
    places = n - point - 1;
    if (!levada_quick_unsigned(text + point, point, &left) ||
        !levada_quick_many(text + n, places, &right) || (left != 0 && point + places > 19) ||
        !levada_number_decimal(left * tens[places] + right, exponent - (int64_t)places, out))
        return false;
    if (negative) *out = -*out;
    return true;
}

#endif
