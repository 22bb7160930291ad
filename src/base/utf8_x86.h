/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables of the kernels that check UTF-8. A bit of an entry is an error of two neighboring bytes,
 * which they have where the high half and the low half of the first byte and the high half of the
 * second one all have the bit.
 */
#ifndef LEVADA_BASE_UTF8_X86_H
#define LEVADA_BASE_UTF8_X86_H

#include <immintrin.h>

#include "base/kernels_priv.h"

/* Errors of two neighboring bytes. */
enum {
    LEVADA_UTF8_SHORT = 1,       /* a lead byte, and then no continuation         */
    LEVADA_UTF8_LONG = 2,        /* ASCII, and then a continuation                */
    LEVADA_UTF8_OVERLONG_3 = 4,  /* a form of 3 bytes for what 2 can hold         */
    LEVADA_UTF8_LARGE = 8,       /* beyond U+10FFFF                               */
    LEVADA_UTF8_SURROGATE = 16,
    LEVADA_UTF8_OVERLONG_2 = 32,
    LEVADA_UTF8_LARGER = 64,     /* beyond U+10FFFF, or 4 bytes for what 3 can hold */
    LEVADA_UTF8_CONTINUED = 128, /* two continuations; not wrong after a lead byte  */
    LEVADA_UTF8_ANY = LEVADA_UTF8_SHORT | LEVADA_UTF8_LONG | LEVADA_UTF8_CONTINUED,
    LEVADA_UTF8_BEYOND = LEVADA_UTF8_ANY | LEVADA_UTF8_LARGE | LEVADA_UTF8_LARGER,
    LEVADA_UTF8_NEXT = LEVADA_UTF8_LONG | LEVADA_UTF8_OVERLONG_2 | LEVADA_UTF8_CONTINUED
};

static const uint8_t levada_utf8_first_high[16] = {
    LEVADA_UTF8_LONG,
    LEVADA_UTF8_LONG,
    LEVADA_UTF8_LONG,
    LEVADA_UTF8_LONG,
    LEVADA_UTF8_LONG,
    LEVADA_UTF8_LONG,
    LEVADA_UTF8_LONG,
    LEVADA_UTF8_LONG,
    LEVADA_UTF8_CONTINUED,
    LEVADA_UTF8_CONTINUED,
    LEVADA_UTF8_CONTINUED,
    LEVADA_UTF8_CONTINUED,
    LEVADA_UTF8_SHORT | LEVADA_UTF8_OVERLONG_2,
    LEVADA_UTF8_SHORT,
    LEVADA_UTF8_SHORT | LEVADA_UTF8_OVERLONG_3 | LEVADA_UTF8_SURROGATE,
    LEVADA_UTF8_SHORT | LEVADA_UTF8_LARGE | LEVADA_UTF8_LARGER,
};
static const uint8_t levada_utf8_first_low[16] = {
    LEVADA_UTF8_ANY | LEVADA_UTF8_OVERLONG_3 | LEVADA_UTF8_OVERLONG_2 | LEVADA_UTF8_LARGER,
    LEVADA_UTF8_ANY | LEVADA_UTF8_OVERLONG_2,
    LEVADA_UTF8_ANY,
    LEVADA_UTF8_ANY,
    LEVADA_UTF8_ANY | LEVADA_UTF8_LARGE,
    LEVADA_UTF8_BEYOND,
    LEVADA_UTF8_BEYOND,
    LEVADA_UTF8_BEYOND,
    LEVADA_UTF8_BEYOND,
    LEVADA_UTF8_BEYOND,
    LEVADA_UTF8_BEYOND,
    LEVADA_UTF8_BEYOND,
    LEVADA_UTF8_BEYOND,
    LEVADA_UTF8_BEYOND | LEVADA_UTF8_SURROGATE,
    LEVADA_UTF8_BEYOND,
    LEVADA_UTF8_BEYOND,
};
static const uint8_t levada_utf8_second_high[16] = {
    LEVADA_UTF8_SHORT,
    LEVADA_UTF8_SHORT,
    LEVADA_UTF8_SHORT,
    LEVADA_UTF8_SHORT,
    LEVADA_UTF8_SHORT,
    LEVADA_UTF8_SHORT,
    LEVADA_UTF8_SHORT,
    LEVADA_UTF8_SHORT,
    LEVADA_UTF8_NEXT | LEVADA_UTF8_OVERLONG_3 | LEVADA_UTF8_LARGER,
    LEVADA_UTF8_NEXT | LEVADA_UTF8_OVERLONG_3 | LEVADA_UTF8_LARGE,
    LEVADA_UTF8_NEXT | LEVADA_UTF8_SURROGATE | LEVADA_UTF8_LARGE,
    LEVADA_UTF8_NEXT | LEVADA_UTF8_SURROGATE | LEVADA_UTF8_LARGE,
    LEVADA_UTF8_SHORT,
    LEVADA_UTF8_SHORT,
    LEVADA_UTF8_SHORT,
    LEVADA_UTF8_SHORT,
};

#endif
