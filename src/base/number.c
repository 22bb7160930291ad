/* SPDX-License-Identifier: Apache-2.0 */
#include "base/number.h"

#include "base/assert.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBER_LONGEST = 480 };

static size_t number_digits(const char *text, size_t n, size_t at)
{
    while (at < n && text[at] >= '0' && text[at] <= '9') at++;
    return at;
}

/* Returns INT, FLOAT or NONE by the grammar alone; *point gets the offset of the point, or n. */
static levada_number_kind number_shape(const char *text, size_t n, size_t *point)
{
    size_t             at = n > 0 && text[0] == '-' ? 1 : 0, from = at;
    levada_number_kind kind = LEVADA_NUMBER_INT;

    *point = n;
    at = number_digits(text, n, at);
    if (at == from || (text[from] == '0' && at - from > 1)) return LEVADA_NUMBER_NONE;
    if (at < n && text[at] == '.') {
        *point = at++;
        from = at;
        at = number_digits(text, n, at);
        if (at == from) return LEVADA_NUMBER_NONE;
        kind = LEVADA_NUMBER_FLOAT;
    }
    if (at < n && (text[at] == 'e' || text[at] == 'E')) {
        at++;
        if (at < n && (text[at] == '+' || text[at] == '-')) at++;
        from = at;
        at = number_digits(text, n, at);
        if (at == from) return LEVADA_NUMBER_NONE;
        kind = LEVADA_NUMBER_FLOAT;
    }
    return at == n ? kind : LEVADA_NUMBER_NONE;
}

static levada_number_kind number_int(const char *text, size_t n, int64_t *out)
{
    bool     negative = text[0] == '-';
    uint64_t most = negative ? (uint64_t)INT64_MAX + 1 : (uint64_t)INT64_MAX, value = 0;

    for (size_t i = negative ? 1 : 0; i < n; i++) {
        uint64_t digit = (uint64_t)(text[i] - '0');
        if (value > (most - digit) / 10) return LEVADA_NUMBER_BIG;
        value = value * 10 + digit;
    }
    if (!negative) *out = (int64_t)value;
    else *out = value == 0 ? 0 : -(int64_t)(value - 1) - 1;
    return LEVADA_NUMBER_INT;
}

/* Calls strtod, which expects the point of the locale; a number that was printed shows the
 * point. */
static levada_number_kind number_float(const char *text, size_t n, size_t point, double *out)
{
    char   copy[NUMBER_LONGEST + 16], half[16];
    size_t used = 0;

    if (n > NUMBER_LONGEST) return LEVADA_NUMBER_BIG;
    snprintf(half, sizeof(half), "%.1f", 0.5);
    memcpy(copy, text, point);
    used = point;
    if (point < n) {
        size_t width = strlen(half) - 2;
        memcpy(copy + used, half + 1, width);
        used += width;
        memcpy(copy + used, text + point + 1, n - point - 1);
        used += n - point - 1;
    }
    copy[used] = '\0';
    double value = strtod(copy, NULL);
    if (isinf(value)) return LEVADA_NUMBER_BIG;
    *out = value;
    return LEVADA_NUMBER_FLOAT;
}

levada_number_kind levada_number_read(const char *text, size_t n, int64_t *i, double *f)
{
    size_t             point;
    levada_number_kind kind = number_shape(text, n, &point);

    if (kind == LEVADA_NUMBER_INT) return number_int(text, n, i);
    return kind == LEVADA_NUMBER_FLOAT ? number_float(text, n, point, f) : kind;
}

/* Makes any other point (",") a point. */
static void number_mend_point(char *text)
{
    size_t from = strspn(text, "-0123456789"), width = strcspn(text + from, "0123456789e");

    if (width == 0) return;
    text[from] = '.';
    memmove(text + from + 1, text + from + width, strlen(text + from + width) + 1);
}

enum { NUMBER_PLACES = 20 }; /* 15 digits after 5 zeros */
#define NUMBER_LEAST 1e-5
#define NUMBER_MOST 1e15

/* Writes m * 10^-places, m < 2^51, with a digit on both sides of the point. */
static void number_put(bool negative, uint64_t m, int places, char out[LEVADA_NUMBER_TEXT])
{
    char   digits[LEVADA_NUMBER_TEXT];
    size_t at = sizeof digits;

    digits[--at] = '\0';
    if (places == 0) digits[--at] = '0';
    for (int i = 0; i < places; i++, m /= 10) digits[--at] = (char)('0' + m % 10);
    digits[--at] = '.';
    do digits[--at] = (char)('0' + m % 10);
    while ((m /= 10) > 0);
    if (negative) digits[--at] = '-';
    memcpy(out, digits + at, sizeof digits - at);
}

/* Writes the fewest decimals with which x reads back, if they are few. Below 2^51, x * 10^places is
 * known to a quarter, and m / 10^places has one rounding, as when it is read. */
static bool number_write_usual(double x, char out[LEVADA_NUMBER_TEXT])
{
    static const double tens[NUMBER_PLACES + 1] = { 1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,
                                                    1e7,  1e8,  1e9,  1e10, 1e11, 1e12, 1e13,
                                                    1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20 };
    double value = fabs(x);

    if (value != 0 && !(value >= NUMBER_LEAST && value < NUMBER_MOST)) return false;
    for (int places = 0; places <= NUMBER_PLACES && value * tens[places] < 0x1p51; places++) {
        int64_t m = (int64_t)(value * tens[places] + 0.5);

        if ((double)m / tens[places] != value) continue;
        number_put(signbit(x) != 0, (uint64_t)m, places, out);
        return true;
    }
    return false;
}

const char *levada_number_write(double x, char out[LEVADA_NUMBER_TEXT])
{
    LEVADA_ASSERT(out != NULL);
    if (isnan(x) || isinf(x)) return strcpy(out, isnan(x) ? "nan" : x < 0 ? "-inf" : "inf");
    if (number_write_usual(x, out)) return out;
    int digits = fabs(x) >= NUMBER_LEAST && fabs(x) < NUMBER_MOST ? 16 : 1, exponent;
    do snprintf(out, LEVADA_NUMBER_TEXT, "%.*e", digits - 1, x);
    while (strtod(out, NULL) != x && ++digits <= 17); /* both with the point of the locale */
    exponent = (int)strtol(strchr(out, 'e') + 1, NULL, 10);
    if (exponent >= -5 && exponent < 16) { /* easier to read without */
        int decimals = digits - 1 > exponent ? digits - 1 - exponent : 0;
        snprintf(out, LEVADA_NUMBER_TEXT, "%.*f", decimals, x);
    }
    number_mend_point(out);
    if (strpbrk(out, ".e") == NULL) strcat(out, ".0");
    return out;
}
