/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Columns of numbers with AVX-512: eight fields at a time, one in each 64-bit lane, by the steps of
 * number_quick.h. The last bytes of a field are at the top of its lane; signs, points and lengths
 * are handled by masks and shifts of single lanes, so that no branch depends on them.
 */
#include <immintrin.h>

#include "base/kernels_priv.h"
#include "base/number_quick.h"

/* Eight fields: the 8 bytes before each end, the 8 bytes before those, and the sizes. */
typedef struct numbers_avx512_words {
    __m512i low, high, size;
} numbers_avx512_words;

LEVADA_TARGET_AVX512
static LEVADA_ALWAYS_INLINE __m128i numbers_avx512_two(const uint8_t *a, const uint8_t *b)
{
    return _mm_insert_epi64(_mm_cvtsi64_si128((int64_t)levada_load_u64(a)),
                            (int64_t)levada_load_u64(b), 1);
}

/* Through registers only: a load would wait for eight stores. */
LEVADA_TARGET_AVX512
static LEVADA_ALWAYS_INLINE __m512i numbers_avx512_join(__m128i a, __m128i b, __m128i c, __m128i d)
{
    __m256i low = _mm256_inserti128_si256(_mm256_castsi128_si256(a), b, 1);
    __m256i high = _mm256_inserti128_si256(_mm256_castsi128_si256(c), d, 1);

    return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
}

LEVADA_TARGET_AVX512
static LEVADA_ALWAYS_INLINE __m512i numbers_avx512_load(const uint8_t *text, const int32_t *m,
                                                        int64_t n)
{
    return numbers_avx512_join(numbers_avx512_two(text + m[0], text + m[n]),
                               numbers_avx512_two(text + m[2 * n], text + m[3 * n]),
                               numbers_avx512_two(text + m[4 * n], text + m[5 * n]),
                               numbers_avx512_two(text + m[6 * n], text + m[7 * n]));
}

/* From the marks before and after each field, which are one word. */
LEVADA_TARGET_AVX512
static LEVADA_ALWAYS_INLINE __m512i numbers_avx512_sizes(const int32_t *mark, int64_t stride)
{
    const uint8_t *at = (const uint8_t *)(mark - 1);
    int64_t        n = stride * (int64_t)sizeof *mark;
    __m512i pairs = numbers_avx512_join(numbers_avx512_two(at, at + n),
                                        numbers_avx512_two(at + 2 * n, at + 3 * n),
                                        numbers_avx512_two(at + 4 * n, at + 5 * n),
                                        numbers_avx512_two(at + 6 * n, at + 7 * n));

    pairs = _mm512_srli_epi64(_mm512_sub_epi32(pairs, _mm512_slli_epi64(pairs, 32)), 32);
    return _mm512_sub_epi64(pairs, _mm512_set1_epi64(1));
}

/* Ones in the upper n bytes of a lane; n <= 8. */
LEVADA_TARGET_AVX512
static LEVADA_ALWAYS_INLINE __m512i numbers_avx512_keep(__m512i n)
{
    __m512i zeros = _mm512_sub_epi64(_mm512_set1_epi64(64), _mm512_slli_epi64(n, 3));

    return _mm512_sllv_epi64(_mm512_set1_epi64(-1), zeros); /* a shift by 64 leaves nothing */
}

/* Takes the sign out: returns the lanes that have one. */
LEVADA_TARGET_AVX512
static LEVADA_ALWAYS_INLINE __mmask8 numbers_avx512_sign(numbers_avx512_words *w)
{
    const __m512i eight = _mm512_set1_epi64(8), byte = _mm512_set1_epi64(0xff);
    __mmask8 two = _mm512_cmpgt_epi64_mask(w->size, eight);
    __m512i word = _mm512_mask_blend_epi64(two, w->low, w->high);
    __m512i n = _mm512_mask_sub_epi64(w->size, two, w->size, eight);
    __m512i to = _mm512_sub_epi64(_mm512_set1_epi64(64), _mm512_slli_epi64(n, 3));
    __m512i first = _mm512_and_si512(_mm512_srlv_epi64(word, to), byte);
    __mmask8 sign = _mm512_cmpeq_epi64_mask(first, _mm512_set1_epi64('-'));

    w->size = _mm512_mask_sub_epi64(w->size, sign, w->size, _mm512_set1_epi64(1));
    return sign;
}

/* Digits as 0 to 9, zeros before them. Sizes beyond 16 are treated as 16. */
LEVADA_TARGET_AVX512
static LEVADA_ALWAYS_INLINE void numbers_avx512_mask(numbers_avx512_words *w)
{
    const __m512i eight = _mm512_set1_epi64(8), zeros = _mm512_set1_epi8('0');
    __m512i low = _mm512_min_epi64(w->size, eight);
    __m512i high = _mm512_max_epi64(_mm512_sub_epi64(w->size, eight), _mm512_setzero_si512());

    high = _mm512_min_epi64(high, eight);
    w->low = _mm512_and_si512(_mm512_xor_si512(w->low, zeros), numbers_avx512_keep(low));
    w->high = _mm512_and_si512(_mm512_xor_si512(w->high, zeros), numbers_avx512_keep(high));
}

/* Lanes of 1 to 16 characters that are digits. */
LEVADA_TARGET_AVX512
static LEVADA_ALWAYS_INLINE __mmask8 numbers_avx512_good(const numbers_avx512_words *w)
{
    const __m512i nine = _mm512_set1_epi8(9);
    __m512i over = _mm512_or_si512(_mm512_subs_epu8(w->low, nine), _mm512_subs_epu8(w->high, nine));
    __m512i least = _mm512_sub_epi64(w->size, _mm512_set1_epi64(1));

    return _mm512_testn_epi64_mask(over, over) &
           _mm512_cmplt_epu64_mask(least, _mm512_set1_epi64(LEVADA_QUICK_MOST));
}

/* The number that the eight digits of each lane make: pairs, then fours, then all. */
LEVADA_TARGET_AVX512
static LEVADA_ALWAYS_INLINE __m512i numbers_avx512_value(__m512i digits)
{
    const __m512i tens = _mm512_set1_epi16(0x010a), hundreds = _mm512_set1_epi32(0x00010064);
    __m512i fours = _mm512_madd_epi16(_mm512_maddubs_epi16(digits, tens), hundreds);

    return _mm512_add_epi64(_mm512_mul_epu32(fours, _mm512_set1_epi64(10000)),
                            _mm512_srli_epi64(fours, 32));
}

LEVADA_TARGET_AVX512
static LEVADA_ALWAYS_INLINE __m512i numbers_avx512_digits(const numbers_avx512_words *w)
{
    __m512i high = _mm512_mul_epu32(numbers_avx512_value(w->high), _mm512_set1_epi64(100000000));

    return _mm512_add_epi64(high, numbers_avx512_value(w->low));
}

/* The lowest byte of each lane that is a point, as its lowest bit. */
LEVADA_TARGET_AVX512
static LEVADA_ALWAYS_INLINE __m512i numbers_avx512_point(__m512i x)
{
    __mmask64 points = _mm512_cmpeq_epi8_mask(x, _mm512_set1_epi8('.' ^ '0'));
    __m512i bits = _mm512_movm_epi8(points);

    return _mm512_and_si512(bits, _mm512_sub_epi64(_mm512_setzero_si512(), bits));
}

/* Takes that byte out of x: the bytes below move up, and `into` comes in at the bottom. */
LEVADA_TARGET_AVX512
static LEVADA_ALWAYS_INLINE __m512i numbers_avx512_close(__m512i x, __m512i point, __m512i into)
{
    __m512i below = _mm512_sub_epi64(point, _mm512_set1_epi64(1));
    __m512i with = _mm512_or_si512(_mm512_slli_epi64(below, 8), _mm512_set1_epi64(0xff));
    __m512i moved = _mm512_slli_epi64(_mm512_and_si512(x, below), 8);

    return _mm512_or_si512(_mm512_or_si512(_mm512_andnot_si512(with, x), moved), into);
}

/* Takes the first point out; returns the number of digits after it. A lone point becomes bad. */
LEVADA_TARGET_AVX512
static LEVADA_ALWAYS_INLINE __m512i numbers_avx512_places(numbers_avx512_words *w)
{
    const __m512i none = _mm512_setzero_si512();
    __m512i low = numbers_avx512_point(w->low), high = numbers_avx512_point(w->high), first;
    __mmask8 in_low = _mm512_test_epi64_mask(low, low);
    __mmask8 in_high = _mm512_test_epi64_mask(high, high) & (__mmask8)~in_low;
    __mmask8 lone = in_low & _mm512_cmpeq_epi64_mask(w->size, _mm512_set1_epi64(1));

    w->low = _mm512_mask_mov_epi64(
        w->low, in_low, numbers_avx512_close(w->low, low, _mm512_srli_epi64(w->high, 56)));
    w->high = _mm512_mask_mov_epi64(w->high, in_high, numbers_avx512_close(w->high, high, none));
    w->high = _mm512_mask_slli_epi64(w->high, in_low, w->high, 8);
    w->size = _mm512_mask_mov_epi64(w->size, lone, none);
    /* As a double, 2^k shows k. Byte 7 has no digits after it in the low word, 8 in the other. */
    first = _mm512_castpd_si512(_mm512_cvtepu64_pd(_mm512_mask_blend_epi64(in_low, high, low)));
    first = _mm512_srli_epi64(_mm512_sub_epi64(_mm512_set1_epi64((1023LL + 56) << 52), first), 55);
    first = _mm512_mask_add_epi64(first, in_high, first, _mm512_set1_epi64(8));
    return _mm512_maskz_mov_epi64(in_low | in_high, first);
}

/* One rounding of two exact doubles. */
LEVADA_TARGET_AVX512
static LEVADA_ALWAYS_INLINE __m512i numbers_avx512_double(__m512i digits, __m512i places,
                                                           __mmask8 sign)
{
    const __m512d few = _mm512_setr_pd(1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7);
    const __m512d many = _mm512_setr_pd(1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15);
    __m512d value = _mm512_div_pd(_mm512_cvtepi64_pd(digits),
                                  _mm512_permutex2var_pd(few, places, many));
    __m512i bits = _mm512_castpd_si512(value);

    return _mm512_mask_or_epi64(bits, sign, bits, _mm512_set1_epi64(INT64_MIN));
}

/* Reads fields that two words do not hold, one by one, as the portable kernels read them: the lanes
 * `bad` of eight fields. Returns how many are odd. */
static LEVADA_NOINLINE int32_t numbers_avx512_other_i64(const levada_text_fields *fields,
                                                        int64_t at, unsigned bad,
                                                        int64_t *out, int32_t *odd)
{
    int32_t nodd = 0;

    for (; bad; bad &= bad - 1) {
        int64_t i = at + LEVADA_CTZ64(bad);
        const int32_t *mark = fields->mark + i * fields->stride;

        odd[nodd] = (int32_t)i;
        nodd += !levada_quick_int(fields->text + mark[-1] + 1, (size_t)(mark[0] - mark[-1] - 1),
                                  &out[i]);
    }
    return nodd;
}

static LEVADA_NOINLINE int32_t numbers_avx512_other_f64(const levada_text_fields *fields,
                                                        int64_t at, unsigned bad,
                                                        double *out, int32_t *odd)
{
    int32_t nodd = 0;

    for (; bad; bad &= bad - 1) {
        int64_t i = at + LEVADA_CTZ64(bad);
        const int32_t *mark = fields->mark + i * fields->stride;
        const uint8_t *text = fields->text + mark[-1] + 1;
        size_t size = (size_t)(mark[0] - mark[-1] - 1);

        odd[nodd] = (int32_t)i;
        nodd += !levada_quick_double(text, size, &out[i]) &&
                !levada_quick_long(text, size, &out[i]);
    }
    return nodd;
}

LEVADA_TARGET_AVX512
int32_t levada_text_i64_avx512(const levada_text_fields *fields, int64_t n, int64_t *out,
                               int32_t *odd)
{
    const uint8_t *text = fields->text;
    int64_t        i = 0, stride = fields->stride;
    int32_t        nodd = 0, rest;

    for (; i + 8 <= n; i += 8) {
        const int32_t *mark = fields->mark + i * fields->stride;
        numbers_avx512_words w = { .low = numbers_avx512_load(text - 8, mark, stride),
                                   .high = numbers_avx512_load(text - 16, mark, stride),
                                   .size = numbers_avx512_sizes(mark, stride) };
        __mmask8 sign = numbers_avx512_sign(&w);
        __m512i value;
        __mmask8 good;

        numbers_avx512_mask(&w);
        value = numbers_avx512_digits(&w);
        value = _mm512_mask_sub_epi64(value, sign, _mm512_setzero_si512(), value);
        _mm512_storeu_si512(out + i, value);
        good = numbers_avx512_good(&w);
        if (LEVADA_UNLIKELY(good != 0xff))
            nodd += numbers_avx512_other_i64(fields, i, (__mmask8)~good, out, odd + nodd);
    }
    rest = levada_text_i64_portable(
        &(levada_text_fields){ fields->text, fields->mark + i * stride, stride },
        n - i, out + i, odd + nodd);
    for (int32_t k = 0; k < rest; k++) odd[nodd + k] += (int32_t)i;
    return nodd + rest;
}

LEVADA_TARGET_AVX512
int32_t levada_text_f64_avx512(const levada_text_fields *fields, int64_t n, double *out,
                               int32_t *odd)
{
    const __m512i most = _mm512_set1_epi64((int64_t)1 << 53);
    const uint8_t *text = fields->text;
    int64_t        i = 0, stride = fields->stride;
    int32_t        nodd = 0, rest;

    for (; i + 8 <= n; i += 8) {
        const int32_t *mark = fields->mark + i * fields->stride;
        numbers_avx512_words w = { .low = numbers_avx512_load(text - 8, mark, stride),
                                   .high = numbers_avx512_load(text - 16, mark, stride),
                                   .size = numbers_avx512_sizes(mark, stride) };
        __mmask8 sign = numbers_avx512_sign(&w), good;
        __m512i places, digits;

        numbers_avx512_mask(&w);
        places = numbers_avx512_places(&w);
        digits = numbers_avx512_digits(&w);
        good = numbers_avx512_good(&w) & _mm512_cmple_epu64_mask(digits, most);
        _mm512_storeu_si512(out + i, numbers_avx512_double(digits, places, sign));
        if (LEVADA_UNLIKELY(good != 0xff))
            nodd += numbers_avx512_other_f64(fields, i, (__mmask8)~good, out, odd + nodd);
    }
    rest = levada_text_f64_portable(
        &(levada_text_fields){ fields->text, fields->mark + i * stride, stride },
        n - i, out + i, odd + nodd);
    for (int32_t k = 0; k < rest; k++) odd[nodd + k] += (int32_t)i;
    return nodd + rest;
}
