/* SPDX-License-Identifier: Apache-2.0 */
/* Checks UTF-8 with AVX-512: as utf8_avx2.c, with 64 bytes at a time. */
#include "base/utf8_x86.h"

LEVADA_TARGET_AVX512
static LEVADA_ALWAYS_INLINE __m512i utf8_look(const uint8_t table[16], __m512i nibbles)
{
    __m128i one = _mm_loadu_si128((const __m128i *)(const void *)table);

    return _mm512_shuffle_epi8(_mm512_broadcast_i32x4(one), nibbles);
}

/* Returns bytes that are not 0 where there are errors. The other arguments are the same bytes,
 * from 1, 2 and 3 bytes earlier on. */
LEVADA_TARGET_AVX512
static LEVADA_ALWAYS_INLINE __m512i utf8_errors(__m512i bytes, __m512i back1, __m512i back2,
                                                __m512i back3)
{
    __m512i low = _mm512_set1_epi8(0x0f);
    __m512i first = _mm512_and_si512(_mm512_srli_epi16(back1, 4), low);
    __m512i second = _mm512_and_si512(_mm512_srli_epi16(bytes, 4), low);
    __m512i pairs = _mm512_and_si512(
        _mm512_and_si512(utf8_look(levada_utf8_first_high, first),
                         utf8_look(levada_utf8_first_low, _mm512_and_si512(back1, low))),
        utf8_look(levada_utf8_second_high, second));
    __m512i third = _mm512_subs_epu8(back2, _mm512_set1_epi8(0x60));
    __m512i fourth = _mm512_subs_epu8(back3, _mm512_set1_epi8(0x70));
    __m512i must =
        _mm512_and_si512(_mm512_or_si512(third, fourth), _mm512_set1_epi8((char)0x80));

    return _mm512_xor_si512(must, pairs);
}

/* The first or the last block, after the block `before`. */
LEVADA_TARGET_AVX512
static __m512i utf8_edge(__m512i before, __m512i bytes)
{
    const __m512i lanes = _mm512_setr_epi64(6, 7, 8, 9, 10, 11, 12, 13); /* the last of before */
    __m512i       over = _mm512_permutex2var_epi64(before, lanes, bytes);

    return utf8_errors(bytes, _mm512_alignr_epi8(bytes, over, 15),
                       _mm512_alignr_epi8(bytes, over, 14), _mm512_alignr_epi8(bytes, over, 13));
}

/* A block after another one. */
LEVADA_TARGET_AVX512
static LEVADA_ALWAYS_INLINE __m512i utf8_inner(const uint8_t *p)
{
    return utf8_errors(_mm512_loadu_si512(p), _mm512_loadu_si512(p - 1),
                       _mm512_loadu_si512(p - 2), _mm512_loadu_si512(p - 3));
}

LEVADA_TARGET_AVX512
static LEVADA_ALWAYS_INLINE bool utf8_ascii(__m512i bytes)
{
    return _mm512_movepi8_mask(bytes) == 0;
}

/* Returns where the ASCII from `at` on ends, in steps of a block. */
LEVADA_TARGET_AVX512
static LEVADA_ALWAYS_INLINE size_t utf8_skip(const uint8_t *p, size_t at, size_t n)
{
    for (; n - at >= 256; at += 256) {
        __m512i a = _mm512_or_si512(_mm512_loadu_si512(p + at), _mm512_loadu_si512(p + at + 64));
        __m512i b = _mm512_or_si512(_mm512_loadu_si512(p + at + 128),
                                    _mm512_loadu_si512(p + at + 192));

        if (!utf8_ascii(_mm512_or_si512(a, b))) break;
    }
    while (n - at >= 64 && utf8_ascii(_mm512_loadu_si512(p + at))) at += 64;
    return at;
}

LEVADA_TARGET_AVX512
bool levada_utf8_valid_avx512(const uint8_t *p, size_t n)
{
    __m512i   error = _mm512_setzero_si512(), before = error;
    size_t    at = utf8_skip(p, 0, n);
    __mmask64 rest;

    if (at == 0 && n >= 64) {
        error = utf8_edge(before, _mm512_loadu_si512(p));
        at = 64;
    }
    while (n - at >= 64) { /* the first block of ASCII after others is checked for what they lack */
        error = _mm512_or_si512(error, utf8_inner(p + at));
        at += 64;
        if (utf8_ascii(_mm512_loadu_si512(p + at - 64))) at = utf8_skip(p, at, n);
    }
    if (at > 0) before = _mm512_loadu_si512(p + at - 64);
    rest = ((__mmask64)1 << (n - at)) - 1; /* zeros follow: no character continues */
    error = _mm512_or_si512(error, utf8_edge(before, _mm512_maskz_loadu_epi8(rest, p + at)));
    return _mm512_test_epi8_mask(error, error) == 0;
}
