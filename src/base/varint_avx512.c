/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Varints with AVX-512 VBMI2. A window of 64 bytes; the top bits make a mask, from which the first
 * bytes of all varints follow; compressing 0, 1, ... 63 by it lists their places. Then, 16 values
 * at a time, one byte permutation brings the four bytes from each place into a 32-bit lane, where
 * they are cut at the first clear top bit and squeezed by two multiply-adds.
 *
 * Only varints that begin in the first 61 bytes are taken, so all four bytes are in the window and
 * the windows stand at a constant distance: no window waits for the one before it. Varints of five
 * bytes or more (negative numbers have ten) are decoded one by one.
 */
#include <immintrin.h>
#include <string.h>

#include "base/varint_priv.h"

#define VARINT_STRIDE 61
#define VARINT_MANY 12 /* bytes for which a window is worth while */
#define VARINT_PAYLOAD 0x7f7f7f7f7f7f7f7fu

/* Each of the places 0 ... 15 four times. */
static const uint8_t varint_quads[64] LEVADA_ALIGNED(64) = {
    0,  0,  0,  0,  1,  1,  1,  1,  2,  2,  2,  2,  3,  3,  3,  3,  4,  4,  4,  4,  5,  5,
    5,  5,  6,  6,  6,  6,  7,  7,  7,  7,  8,  8,  8,  8,  9,  9,  9,  9,  10, 10, 10, 10,
    11, 11, 11, 11, 12, 12, 12, 12, 13, 13, 13, 13, 14, 14, 14, 14, 15, 15, 15, 15};

LEVADA_TARGET_AVX512
int64_t levada_varint_count_avx512(const uint8_t *p, size_t n)
{
    int64_t  count = 0;
    uint64_t in;

    for (; n >= 64; p += 64, n -= 64)
        count += 64 - _mm_popcnt_u64(_mm512_movepi8_mask(_mm512_loadu_si512(p)));
    in = _bzhi_u64(~0ull, (unsigned)n);
    return count + (int64_t)n -
           _mm_popcnt_u64(_mm512_movepi8_mask(_mm512_maskz_loadu_epi8(in, p)));
}

LEVADA_TARGET_AVX512
int64_t levada_varint_sizes_avx512(const uint8_t *p, size_t n, uint32_t *sizes)
{
    levada_varint_runs runs = {0};
    int64_t            more = 0;

    for (size_t at = 0; at < n; at += 64) {
        size_t   left = n - at;
        uint64_t in = _bzhi_u64(UINT64_MAX, left < 64 ? (unsigned)left : 64);
        uint64_t tops = _mm512_movepi8_mask(_mm512_maskz_loadu_epi8(in, p + at));

        levada_varint_run(&runs, tops);
        more += _mm_popcnt_u64(tops);
    }
    levada_varint_run_end(&runs, sizes);
    return (int64_t)n - more;
}

/* 64 varints of one byte. */
LEVADA_TARGET_AVX512
static LEVADA_ALWAYS_INLINE void varint_avx512_widen(const uint8_t *p, levada_varint_sink *sink)
{
    if (sink->wide != NULL) {
        for (int i = 0; i < 64; i += 8)
            _mm512_storeu_si512(sink->wide + sink->count + i,
                                _mm512_cvtepu8_epi64(_mm_loadl_epi64(
                                    (const __m128i *)(const void *)(p + i))));
    } else if (sink->narrow != NULL) {
        for (int i = 0; i < 64; i += 16)
            _mm512_storeu_si512(sink->narrow + sink->count + i,
                                _mm512_cvtepu8_epi32(_mm_loadu_si128(
                                    (const __m128i *)(const void *)(p + i))));
    } else if (sink->sixteen != NULL) {
        for (int i = 0; i < 64; i += 16)
            _mm256_storeu_si256((__m256i *)(void *)(sink->sixteen + sink->count + i),
                                _mm256_cvtepu8_epi16(_mm_loadu_si128(
                                    (const __m128i *)(const void *)(p + i))));
    } else {
        memcpy(sink->eight + sink->count, p, 64);
    }
    sink->count += 64;
}

/* Varints one by one from p over the long one at `first`, and on while they are long. Returns
 * where it stopped, NULL when one is too long. */
LEVADA_TARGET_AVX512
static LEVADA_ALWAYS_INLINE const uint8_t *varint_avx512_slow(const uint8_t *p,
                                                              const uint8_t *first,
                                                              const uint8_t *end,
                                                              levada_varint_sink *sink)
{
    size_t size = 0;

    while (p < end && (p <= first || size > 4)) {
        uint64_t word = levada_load_u64(p), ends = ~word & LEVADA_VARINT_TOPS, value;

        size = _tzcnt_u64(ends) / 8 + 1;
        value = _pext_u64(_bzhi_u64(word, (unsigned)(8 * size)), VARINT_PAYLOAD);
        if (LEVADA_UNLIKELY(ends == 0)) size = levada_varint_long(p, value, &value);
        if (size == 0) return NULL;
        levada_varint_put(sink, value);
        p += size;
    }
    return p;
}

/* The values of 16 varints of up to four bytes in `window`, at the places that the four-byte
 * groups of `which` select from the list. */
LEVADA_TARGET_AVX512
static LEVADA_ALWAYS_INLINE __m512i varint_avx512_sixteen(__m512i window, __m512i places,
                                                          __m512i which)
{
    __m512i from = _mm512_add_epi8(_mm512_permutexvar_epi8(which, places),
                                   _mm512_set1_epi32(0x03020100));
    __m512i bytes = _mm512_permutexvar_epi8(from, window);
    __m512i ends = _mm512_andnot_si512(bytes, _mm512_set1_epi32((int)0x80808080));
    __m512i less = _mm512_add_epi32(ends, _mm512_set1_epi32(-1));
    /* (ends ^ less) & bytes: the bytes up to the first end, which has no top bit itself. */
    __m512i mine = _mm512_ternarylogic_epi32(ends, less, bytes, 0x28);
    __m512i sevens = _mm512_and_si512(mine, _mm512_set1_epi8(0x7f));
    __m512i halves = _mm512_maddubs_epi16(_mm512_set1_epi16((short)0x8001), sevens);

    return _mm512_madd_epi16(halves, _mm512_set1_epi32(0x40000001));
}

/* Those of 16 values that `which` names to elements of one or two bytes. */
LEVADA_TARGET_AVX512
static LEVADA_ALWAYS_INLINE void varint_avx512_narrow(levada_varint_sink *sink, int at,
                                                      __m512i values, uint32_t which)
{
    __m512i over = _mm512_srl_epi32(_mm512_add_epi32(values, _mm512_set1_epi32((int)sink->bias)),
                                    _mm_cvtsi32_si128((int)sink->bits));

    sink->misfit |= _mm512_mask_test_epi32_mask((__mmask16)which, over, over);
    if (sink->sixteen != NULL) {
        _mm256_mask_storeu_epi16(sink->sixteen + sink->count + at, (__mmask16)which,
                                 _mm512_cvtepi32_epi16(values));
    } else {
        _mm_mask_storeu_epi8(sink->eight + sink->count + at, (__mmask16)which,
                             _mm512_cvtepi32_epi8(values));
    }
}

/* Stores the first `number` of 16 values; `number` may be less than 0. */
LEVADA_TARGET_AVX512
static LEVADA_ALWAYS_INLINE void varint_avx512_store(levada_varint_sink *sink, int at,
                                                     __m512i values, int number)
{
    uint32_t which = number < 0 ? 0 : _bzhi_u32(0xffff, (unsigned)number);

    if (sink->wide != NULL) {
        int64_t *to = sink->wide + sink->count + at;

        _mm512_mask_storeu_epi64(to, (__mmask8)which,
                                 _mm512_cvtepu32_epi64(_mm512_castsi512_si256(values)));
        _mm512_mask_storeu_epi64(to + 8, (__mmask8)(which >> 8),
                                 _mm512_cvtepu32_epi64(_mm512_extracti64x4_epi64(values, 1)));
    } else if (sink->narrow == NULL) {
        varint_avx512_narrow(sink, at, values, which);
    } else {
        _mm512_mask_storeu_epi32(sink->narrow + sink->count + at, (__mmask16)which, values);
    }
}

/*
 * The varints of up to four bytes that begin where `starts` has bits. A fixed number of rounds
 * costs less than the branch on the true one. But a store that is masked away entirely is slow
 * where it hits a page that was never written, so the last window of a call stops in time.
 */
LEVADA_TARGET_AVX512
static LEVADA_ALWAYS_INLINE void varint_avx512_window(__m512i window, uint64_t starts, bool last,
                                                      levada_varint_sink *sink)
{
    __m512i which = _mm512_load_si512(varint_quads);
    __m512i places = _mm512_maskz_compress_epi8(starts, _mm512_load_si512(levada_kernel_count));
    int     count = (int)_mm_popcnt_u64(starts);
    int     until = last || count > 48 ? count : 48;

    for (int i = 0; i < until; i += 16) {
        varint_avx512_store(sink, i, varint_avx512_sixteen(window, places, which), count - i);
        which = _mm512_add_epi8(which, _mm512_set1_epi8(16));
    }
    sink->count += count;
}

/*
 * A window in which the varint `before` bytes after p is the first of five bytes or more: the ones
 * before it, if there are many, and else up to the end of the long ones.
 */
LEVADA_TARGET_AVX512
static LEVADA_ALWAYS_INLINE const uint8_t *varint_avx512_mixed(const uint8_t *p, const uint8_t *end,
                                                               __m512i window, uint64_t starts,
                                                               unsigned before,
                                                               levada_varint_sink *sink)
{
    const uint8_t *first = p + before;

    if (before >= VARINT_MANY) {
        varint_avx512_window(window, _bzhi_u64(starts, before), true, sink);
        return first;
    }
    return varint_avx512_slow(p + _tzcnt_u64(starts), first, end, sink);
}

LEVADA_TARGET_AVX512
static LEVADA_ALWAYS_INLINE int64_t varint_avx512_decode(const uint8_t *p, size_t n,
                                                         levada_varint_sink sink)
{
    const uint8_t *end = p + n;
    uint64_t       carry = 1; /* a varint begins at p */

    if (!levada_varint_ends(p, n)) return -1;
    while (p < end) {
        size_t   left = (size_t)(end - p), take = left < VARINT_STRIDE ? left : VARINT_STRIDE;
        uint64_t mine = _bzhi_u64(UINT64_MAX, (unsigned)(left < 64 ? left : 64));
        __m512i  window = _mm512_maskz_loadu_epi8(mine, p);
        uint64_t tops = _mm512_movepi8_mask(window);
        uint64_t starts = _bzhi_u64(~tops << 1 | carry, (unsigned)take);
        uint64_t runs = tops & tops >> 1; /* two continuation bytes in a row, */

        runs = _bzhi_u64(runs & runs >> 2, (unsigned)take); /* four */
        if (left >= 64 && carry != 0 && tops == 0 && levada_varint_fits(&sink, 0x7f)) {
            varint_avx512_widen(p, &sink);
            p += 64;
        } else if (LEVADA_LIKELY(runs == 0)) {
            varint_avx512_window(window, starts, left <= VARINT_STRIDE, &sink);
            carry = (~tops >> (VARINT_STRIDE - 1)) & 1;
            p += take;
        } else {
            p = varint_avx512_mixed(p, end, window, starts, (unsigned)_tzcnt_u64(runs), &sink);
            if (p == NULL) return -1;
            carry = 1;
        }
    }
    return levada_varint_result(&sink);
}

LEVADA_TARGET_AVX512
int64_t levada_varint_i64_avx512(const uint8_t *p, size_t n, int64_t *out)
{
    return varint_avx512_decode(p, n, (levada_varint_sink){.wide = out});
}

LEVADA_TARGET_AVX512
int64_t levada_varint_i32_avx512(const uint8_t *p, size_t n, int32_t *out)
{
    return varint_avx512_decode(p, n, (levada_varint_sink){.narrow = out});
}

LEVADA_TARGET_AVX512
int64_t levada_varint_narrow_avx512(const uint8_t *p, size_t n, levada_varint_range range,
                                    void *out)
{
    levada_varint_sink sink = {.bits = range.bits, .bias = range.bias};

    if (range.size == 2) {
        sink.sixteen = out;
        return varint_avx512_decode(p, n, sink);
    }
    sink.eight = out;
    return varint_avx512_decode(p, n, sink);
}
