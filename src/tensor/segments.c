/* SPDX-License-Identifier: Apache-2.0 */
#include "tensor/segments.h"

#include <string.h>

#define SEGMENTS_DIGITS 5 /* at least */

int64_t levada_segments_count(int64_t steps, int64_t unroll)
{
    return steps > 0 ? (steps - 1) / unroll + 1 : 1;
}

int64_t levada_segments_length(int64_t length, int64_t unroll, int64_t number)
{
    int64_t left = length / unroll < number ? 0 : length - number * unroll;

    return left < 0 ? 0 : left < unroll ? left : unroll;
}

static char *segments_number(char *to, int64_t value)
{
    char   digits[20];
    size_t n = 0;

    do {
        digits[n++] = (char)('0' + value % 10);
        value /= 10;
    } while (value > 0 || n < SEGMENTS_DIGITS);
    while (n > 0) *to++ = digits[--n];
    return to;
}

size_t levada_segments_prefix(int64_t number, int64_t count, char to[LEVADA_SEGMENTS_PREFIX])
{
    char *at = to;

    if (number >= count) {
        memcpy(at, "STOP", 4);
        at += 4;
    } else {
        at = segments_number(at, number);
        memcpy(at, "_of_", 4);
        at = segments_number(at + 4, count);
    }
    *at++ = ':';
    return (size_t)(at - to);
}
