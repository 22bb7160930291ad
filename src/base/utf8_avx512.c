/* SPDX-License-Identifier: Apache-2.0 */
/* Checks UTF-8 with AVX-512: as utf8_avx2.c, with 64 bytes at a time. */
#include "base/utf8_x86.h"

typedef struct utf8_state {
    __m512i   before;     /* the block before                      */
    __mmask64 unfinished; /* not 0: it ends in a character         */
    __mmask64 error;      /* not 0: something is not UTF-8         */
} utf8_state;

LEVADA_TARGET_AVX512
static LEVADA_ALWAYS_INLINE __m512i utf8_look(const uint8_t table[16], __m512i nibbles)
{
    __m128i one = _mm_loadu_si128((const __m128i *)(const void *)table);

    return _mm512_shuffle_epi8(_mm512_broadcast_i32x4(one), nibbles);
}

/* The errors that the byte before, by its high and its low half, and this one have in common. */
LEVADA_TARGET_AVX512
static LEVADA_ALWAYS_INLINE __m512i utf8_pairs(__m512i bytes, __m512i before)
{
    __m512i low = _mm512_set1_epi8(0x0f);
    __m512i first = _mm512_and_si512(_mm512_srli_epi16(before, 4), low);
    __m512i second = _mm512_and_si512(_mm512_srli_epi16(bytes, 4), low);

    return _mm512_and_si512(
        _mm512_and_si512(utf8_look(levada_utf8_first_high, first),
                         utf8_look(levada_utf8_first_low, _mm512_and_si512(before, low))),
        utf8_look(levada_utf8_second_high, second));
}

LEVADA_TARGET_AVX512
static LEVADA_ALWAYS_INLINE void utf8_block(utf8_state *s, __m512i bytes)
{
    const __m512i lanes = _mm512_setr_epi64(6, 7, 8, 9, 10, 11, 12, 13); /* the last of before */
    __mmask64     high = _mm512_movepi8_mask(bytes), must;
    __m512i       over, third, fourth, pairs;

    if (high == 0) {
        s->error |= s->unfinished;
        s->unfinished = 0;
        s->before = bytes;
        return;
    }
    over = _mm512_permutex2var_epi64(s->before, lanes, bytes);
    third = _mm512_subs_epu8(_mm512_alignr_epi8(bytes, over, 14), _mm512_set1_epi8(0x60));
    fourth = _mm512_subs_epu8(_mm512_alignr_epi8(bytes, over, 13), _mm512_set1_epi8(0x70));
    must = _mm512_movepi8_mask(_mm512_or_si512(third, fourth));
    pairs = utf8_pairs(bytes, _mm512_alignr_epi8(bytes, over, 15));
    s->error |= _mm512_test_epi8_mask(pairs, _mm512_set1_epi8(0x7f));
    s->error |= must ^ _mm512_movepi8_mask(pairs);
    s->unfinished = _mm512_cmpge_epu8_mask(bytes, _mm512_set1_epi8((char)0xc0)) >> 63 |
                    _mm512_cmpge_epu8_mask(bytes, _mm512_set1_epi8((char)0xe0)) >> 62 |
                    _mm512_cmpge_epu8_mask(bytes, _mm512_set1_epi8((char)0xf0)) >> 61;
    s->before = bytes;
}

LEVADA_TARGET_AVX512
bool levada_utf8_valid_avx512(const uint8_t *p, size_t n)
{
    utf8_state s = { _mm512_setzero_si512(), 0, 0 };
    size_t     at = 0;
    __mmask64  rest;

    for (; n - at >= 64; at += 64) utf8_block(&s, _mm512_loadu_si512(p + at));
    rest = ((__mmask64)1 << (n - at)) - 1; /* zeros follow: no character continues */
    utf8_block(&s, _mm512_maskz_loadu_epi8(rest, p + at));
    return s.error == 0;
}
