/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks UTF-8 with AVX2, as described by Keiser and Lemire ("Validating UTF-8 in less than one
 * instruction per byte"): three look-ups by the nibbles of neighboring bytes find every error of
 * two bytes, and comparisons find third and fourth bytes that are missing or too many. Blocks of
 * ASCII need only the comparison with the end of the block before.
 */
#include "base/utf8_x86.h"

#include <string.h>

typedef struct utf8_state {
    __m256i before;     /* the block before               */
    __m256i unfinished; /* not 0: it ends in a character  */
    __m256i error;      /* not 0: something is not UTF-8  */
} utf8_state;

LEVADA_TARGET_AVX2
static LEVADA_ALWAYS_INLINE __m256i utf8_look(const uint8_t table[16], __m256i nibbles)
{
    __m128i one = _mm_loadu_si128((const __m128i *)(const void *)table);

    return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(one), nibbles);
}

/* The errors that the byte before, by its high and its low half, and this one have in common. */
LEVADA_TARGET_AVX2
static LEVADA_ALWAYS_INLINE __m256i utf8_pairs(__m256i bytes, __m256i before)
{
    __m256i low = _mm256_set1_epi8(0x0f);
    __m256i first = _mm256_and_si256(_mm256_srli_epi16(before, 4), low);
    __m256i second = _mm256_and_si256(_mm256_srli_epi16(bytes, 4), low);

    return _mm256_and_si256(
        _mm256_and_si256(utf8_look(levada_utf8_first_high, first),
                         utf8_look(levada_utf8_first_low, _mm256_and_si256(before, low))),
        utf8_look(levada_utf8_second_high, second));
}

LEVADA_TARGET_AVX2
static LEVADA_ALWAYS_INLINE void utf8_block(utf8_state *s, __m256i bytes)
{
    const __m256i last = _mm256_setr_epi8(-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
                                          -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
                                          -1, (char)0xef, (char)0xdf, (char)0xbf);
    __m256i       over, third, fourth, must;

    if (_mm256_movemask_epi8(bytes) == 0) {
        s->error = _mm256_or_si256(s->error, s->unfinished);
        s->unfinished = _mm256_setzero_si256();
        s->before = bytes;
        return;
    }
    over = _mm256_permute2x128_si256(s->before, bytes, 0x21);
    third = _mm256_subs_epu8(_mm256_alignr_epi8(bytes, over, 14), _mm256_set1_epi8(0x60));
    fourth = _mm256_subs_epu8(_mm256_alignr_epi8(bytes, over, 13), _mm256_set1_epi8(0x70));
    must = _mm256_and_si256(_mm256_or_si256(third, fourth), _mm256_set1_epi8((char)0x80));
    s->error = _mm256_or_si256(
        s->error,
        _mm256_xor_si256(must, utf8_pairs(bytes, _mm256_alignr_epi8(bytes, over, 15))));
    s->unfinished = _mm256_subs_epu8(bytes, last);
    s->before = bytes;
}

LEVADA_TARGET_AVX2
bool levada_utf8_valid_avx2(const uint8_t *p, size_t n)
{
    __m256i    zero = _mm256_setzero_si256();
    utf8_state s = { zero, zero, zero };
    uint8_t    rest[32] = { 0 };
    size_t     at = 0;

    for (; n - at >= 32; at += 32)
        utf8_block(&s, _mm256_loadu_si256((const __m256i *)(const void *)(p + at)));
    if (n > at) memcpy(rest, p + at, n - at); /* zeros follow: no character continues */
    utf8_block(&s, _mm256_loadu_si256((const __m256i *)(const void *)rest));
    return _mm256_testz_si256(s.error, s.error) != 0;
}
