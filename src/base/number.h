/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers as text, without the locale of the process: the point is always a point.
 */
#ifndef LEVADA_BASE_NUMBER_H
#define LEVADA_BASE_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LEVADA_NUMBER_TEXT 32

typedef enum levada_number_kind {
    LEVADA_NUMBER_NONE, /* the bytes are no number, as JSON writes them                 */
    LEVADA_NUMBER_INT,  /* digits only, and it fits                                     */
    LEVADA_NUMBER_FLOAT,
    LEVADA_NUMBER_BIG /* an integer that does not fit in int64, or a float beyond double */
} levada_number_kind;

/* Reads all of text[0, n) by the grammar of JSON numbers; fills *i or *f. */
levada_number_kind levada_number_read(const char *text, size_t n, int64_t *i, double *f);

/* Numbers as tables have them: white space around them, a sign, leading zeros. Unlike
 * levada_number_read, *_scan_* accept what strtol and strtod accept in base 10.
 *   int    digits; BIG where it does not fit in int64
 *   f64    "5.", ".5", "1e9", hexadecimal "0x1p3", "inf", "infinity" and "nan" in any case; values
 *          beyond the range become infinite or zero. NONE for more than 480 characters
 *   f32    the same, rounded once */
levada_number_kind levada_number_scan_int(const char *text, size_t n, int64_t *out);
levada_number_kind levada_number_scan_f64(const char *text, size_t n, double *out);
levada_number_kind levada_number_scan_f32(const char *text, size_t n, float *out);

/* Finds the double that is nearest to digits * 10^exponent, ties to even; returns false if that
 * takes more than 128 bits, or if |exponent| > 64 and it is not zero, so that strtod must be
 * called. */
bool levada_number_decimal(uint64_t digits, int64_t exponent, double *out);

/* Writes the shortest text that reads back as x, always with a point or an exponent ("5.0"), or
 * "nan", "inf" or "-inf", to out, which it returns. */
const char *levada_number_write(double x, char out[LEVADA_NUMBER_TEXT]);

#endif
