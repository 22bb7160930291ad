/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers of tables: their grammar, and the value of all of them. Decimals of more than 19 digits,
 * beyond 10^64, and hexadecimal ones go to strtod.
 */
#include "base/compiler.h"
#include "base/number.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { SCAN_LONGEST = 480 };

/* A decimal taken apart: ±digits * 10^exponent. */
typedef struct scan_decimal {
    uint64_t digits;
    int64_t  exponent;
    int64_t  count; /* of significant digits; more than 19 do not fit in `digits` */
    bool     negative;
} scan_decimal;

static bool scan_is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

static bool scan_is_digit(char c) { return c >= '0' && c <= '9'; }

static void scan_trim(const char **text, size_t *n)
{
    while (*n > 0 && scan_is_space(**text)) {
        (*text)++;
        (*n)--;
    }
    while (*n > 0 && scan_is_space((*text)[*n - 1])) (*n)--;
}

levada_number_kind levada_number_scan_int(const char *text, size_t n, int64_t *out)
{
    uint64_t value = 0, most;
    size_t   at = 0;
    bool     negative;

    scan_trim(&text, &n);
    negative = n > 0 && text[0] == '-';
    most = negative ? (uint64_t)INT64_MAX + 1 : (uint64_t)INT64_MAX;
    if (n > 0 && (text[0] == '-' || text[0] == '+')) at++;
    if (at == n) return LEVADA_NUMBER_NONE;
    for (size_t i = at; i < n; i++) {
        if (!scan_is_digit(text[i])) return LEVADA_NUMBER_NONE;
    }
    for (; at < n; at++) {
        uint64_t digit = (uint64_t)(text[at] - '0');

        if (value > (most - digit) / 10) return LEVADA_NUMBER_BIG;
        value = value * 10 + digit;
    }
    *out = negative && value > 0 ? -(int64_t)(value - 1) - 1 : (int64_t)value;
    return LEVADA_NUMBER_INT;
}

static size_t scan_digits(const char *text, size_t n, size_t at, scan_decimal *d)
{
    for (; at < n && scan_is_digit(text[at]); at++) {
        if (d->count == 0 && text[at] == '0') continue;
        if (d->count < 19) d->digits = d->digits * 10 + (uint64_t)(text[at] - '0');
        d->count++;
    }
    return at;
}

/* Reads the exponent after the 'e' at `at`, at most ±99999. Returns its end, or `at`: none. */
static size_t scan_exponent(const char *text, size_t n, size_t at, int64_t *out)
{
    size_t  from = at + 1;
    bool    negative = from < n && text[from] == '-';
    int64_t value = 0;

    if (from < n && (text[from] == '-' || text[from] == '+')) from++;
    if (from == n || !scan_is_digit(text[from])) return at;
    for (; from < n && scan_is_digit(text[from]); from++) {
        if (value < 10000) value = value * 10 + (text[from] - '0');
    }
    *out = negative ? -value : value;
    return from;
}

/* Reads a decimal; returns false if the text is none. */
static bool scan_decimal_read(const char *text, size_t n, scan_decimal *d)
{
    size_t  at = n > 0 && (text[0] == '-' || text[0] == '+') ? 1 : 0, from = at, figures;
    int64_t exponent = 0;

    *d = (scan_decimal){ .negative = n > 0 && text[0] == '-' };
    at = scan_digits(text, n, at, d);
    figures = at - from;
    if (at < n && text[at] == '.') {
        from = at + 1;
        at = scan_digits(text, n, from, d);
        figures += at - from;
        d->exponent = -(int64_t)(at - from);
    }
    if (figures == 0) return false;
    if (at < n && (text[at] == 'e' || text[at] == 'E')) {
        at = scan_exponent(text, n, at, &exponent);
        d->exponent += exponent;
    }
    return at == n;
}

/* Reads inf, infinity and nan. */
static bool scan_named(const char *text, size_t n, double *out)
{
    size_t at = n > 0 && (text[0] == '-' || text[0] == '+') ? 1 : 0, left = n - at;
    bool   infinite = (left == 3 && strncasecmp(text + at, "inf", 3) == 0) ||
                    (left == 8 && strncasecmp(text + at, "infinity", 8) == 0);

    if (!infinite && (left != 3 || strncasecmp(text + at, "nan", 3) != 0)) return false;
    *out = copysign(infinite ? (double)INFINITY : (double)NAN, text[0] == '-' ? -1.0 : 1.0);
    return true;
}

/* Returns a copy for strtod with the point of the locale; NULL where the text is too long for it,
 * or has a zero byte. */
static const char *scan_copy(const char *text, size_t n, char copy[SCAN_LONGEST + 16])
{
    const char *point = memchr(text, '.', n);
    char        half[16];
    size_t      head = point ? (size_t)(point - text) : n, width = 0;

    if (n > SCAN_LONGEST || memchr(text, '\0', n)) return NULL;
    snprintf(half, sizeof half, "%.1f", 0.5);
    memcpy(copy, text, head);
    if (point) {
        width = strlen(half) - 2;
        memcpy(copy + head, half + 1, width);
        memcpy(copy + head + width, point + 1, n - head - 1);
        width--;
    }
    copy[n + width] = '\0';
    return copy;
}

/* Recognizes a hexadecimal number: [sign] 0x digits. strtod does the rest. */
static bool scan_is_hex(const char *text, size_t n)
{
    size_t at = n > 0 && (text[0] == '-' || text[0] == '+') ? 1 : 0;

    return n - at > 2 && text[at] == '0' && (text[at + 1] == 'x' || text[at + 1] == 'X');
}

/* Computes the value; returns false if it takes strtod. */
static bool scan_value(const scan_decimal *d, double *out)
{
    if (d->count > 19 || !levada_number_decimal(d->digits, d->exponent, out)) return false;
    if (d->negative) *out = -*out;
    return true;
}

/* Returns true if *out has the value; else *copy is for strtod or strtof, and NULL for no number.
 * */
static bool scan_float(const char *text, size_t n, double *out, const char **copy,
                       char scratch[SCAN_LONGEST + 16])
{
    scan_decimal d;

    *copy = NULL;
    if (scan_decimal_read(text, n, &d)) {
        if (scan_value(&d, out)) return true;
        *copy = scan_copy(text, n, scratch);
        return false;
    }
    if (scan_named(text, n, out)) return true;
    if (scan_is_hex(text, n)) *copy = scan_copy(text, n, scratch);
    return false;
}

levada_number_kind levada_number_scan_f64(const char *text, size_t n, double *out)
{
    char        scratch[SCAN_LONGEST + 16], *end;
    const char *copy;

    scan_trim(&text, &n);
    if (scan_float(text, n, out, &copy, scratch)) return LEVADA_NUMBER_FLOAT;
    if (!copy) return LEVADA_NUMBER_NONE;
    *out = strtod(copy, &end);
    return *end == '\0' ? LEVADA_NUMBER_FLOAT : LEVADA_NUMBER_NONE;
}

/* Returns true if rounding to float would look at more bits than the double has: halfway between
 * two floats, the double may have been rounded there. */
static bool scan_is_halfway(double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof bits);
    return (bits & 0x1fffffff) == 0x10000000;
}

levada_number_kind levada_number_scan_f32(const char *text, size_t n, float *out)
{
    char        scratch[SCAN_LONGEST + 16], *end;
    const char *copy;
    double      value;
    float       least = 0x1p-126f;

    scan_trim(&text, &n);
    if (scan_float(text, n, &value, &copy, scratch)) {
        if (!scan_is_halfway(value) && (value == 0 || !(fabs(value) < (double)least))) {
            *out = (float)value;
            return LEVADA_NUMBER_FLOAT;
        }
        copy = scan_copy(text, n, scratch);
    }
    if (!copy) return LEVADA_NUMBER_NONE;
    *out = strtof(copy, &end);
    return *end == '\0' ? LEVADA_NUMBER_FLOAT : LEVADA_NUMBER_NONE;
}
