/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks UTF-8 with AVX2, as described by Keiser and Lemire ("Validating UTF-8 in less than one
 * instruction per byte"): three look-ups by the nibbles of neighboring bytes find every error of
 * two bytes, and comparisons find third and fourth bytes that are missing or too many. Runs of
 * ASCII are skipped.
 */
#include "base/utf8_x86.h"

#include <string.h>

LEVADA_TARGET_AVX2
static LEVADA_ALWAYS_INLINE __m256i utf8_load(const uint8_t *p)
{
    return _mm256_loadu_si256((const __m256i *)(const void *)p);
}

LEVADA_TARGET_AVX2
static LEVADA_ALWAYS_INLINE __m256i utf8_look(const uint8_t table[16], __m256i nibbles)
{
    __m128i one = _mm_loadu_si128((const __m128i *)(const void *)table);

    return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(one), nibbles);
}

/* Returns bytes that are not 0 where there are errors. The other arguments are the same bytes,
 * from 1, 2 and 3 bytes earlier on. */
LEVADA_TARGET_AVX2
static LEVADA_ALWAYS_INLINE __m256i utf8_errors(__m256i bytes, __m256i back1, __m256i back2,
                                                __m256i back3)
{
    __m256i low = _mm256_set1_epi8(0x0f);
    __m256i first = _mm256_and_si256(_mm256_srli_epi16(back1, 4), low);
    __m256i second = _mm256_and_si256(_mm256_srli_epi16(bytes, 4), low);
    __m256i pairs = _mm256_and_si256(
        _mm256_and_si256(utf8_look(levada_utf8_first_high, first),
                         utf8_look(levada_utf8_first_low, _mm256_and_si256(back1, low))),
        utf8_look(levada_utf8_second_high, second));
    __m256i third = _mm256_subs_epu8(back2, _mm256_set1_epi8(0x60));
    __m256i fourth = _mm256_subs_epu8(back3, _mm256_set1_epi8(0x70));
    __m256i must =
        _mm256_and_si256(_mm256_or_si256(third, fourth), _mm256_set1_epi8((char)0x80));

    return _mm256_xor_si256(must, pairs);
}

/* The first or the last block, after the block `before`. */
LEVADA_TARGET_AVX2
static __m256i utf8_edge(__m256i before, __m256i bytes)
{
    __m256i over = _mm256_permute2x128_si256(before, bytes, 0x21);

    return utf8_errors(bytes, _mm256_alignr_epi8(bytes, over, 15),
                       _mm256_alignr_epi8(bytes, over, 14), _mm256_alignr_epi8(bytes, over, 13));
}

/* A block after another one. */
LEVADA_TARGET_AVX2
static LEVADA_ALWAYS_INLINE __m256i utf8_inner(const uint8_t *p)
{
    return utf8_errors(utf8_load(p), utf8_load(p - 1), utf8_load(p - 2), utf8_load(p - 3));
}

LEVADA_TARGET_AVX2
static LEVADA_ALWAYS_INLINE bool utf8_ascii(__m256i bytes)
{
    return _mm256_movemask_epi8(bytes) == 0;
}

/* Returns where the ASCII from `at` on ends, in steps of a block. */
LEVADA_TARGET_AVX2
static LEVADA_ALWAYS_INLINE size_t utf8_skip(const uint8_t *p, size_t at, size_t n)
{
    for (; n - at >= 128; at += 128) {
        __m256i a = _mm256_or_si256(utf8_load(p + at), utf8_load(p + at + 32));
        __m256i b = _mm256_or_si256(utf8_load(p + at + 64), utf8_load(p + at + 96));

        if (!utf8_ascii(_mm256_or_si256(a, b))) break;
    }
    while (n - at >= 32 && utf8_ascii(utf8_load(p + at))) at += 32;
    return at;
}

LEVADA_TARGET_AVX2
bool levada_utf8_valid_avx2(const uint8_t *p, size_t n)
{
    __m256i error = _mm256_setzero_si256(), before = error;
    uint8_t rest[32] = { 0 };
    size_t  at = utf8_skip(p, 0, n);

    if (at == 0 && n >= 32) {
        error = utf8_edge(before, utf8_load(p));
        at = 32;
    }
    while (n - at >= 32) { /* the first block of ASCII after others is checked for what they lack */
        error = _mm256_or_si256(error, utf8_inner(p + at));
        at += 32;
        if (utf8_ascii(utf8_load(p + at - 32))) at = utf8_skip(p, at, n);
    }
    if (at > 0) before = utf8_load(p + at - 32);
    if (n > at) memcpy(rest, p + at, n - at); /* zeros follow: no character continues */
    error = _mm256_or_si256(error, utf8_edge(before, utf8_load(rest)));
    return _mm256_testz_si256(error, error) != 0;
}
