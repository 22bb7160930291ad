/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Varints with AVX2 and BMI2. The top bits of 64 bytes make one mask, so the end of every varint
 * in them is known at once. Short ones are brought into lanes four at a time by a shuffle that
 * their lengths choose (as in "Vectorized VByte Decoding", Plaisance, Kurz and Lemire, 2015, but
 * with lengths taken from the mask); longer ones are loaded, cut to their length and squeezed by
 * `pext`, both without a branch on a length.
 */
#include <immintrin.h>
#include <string.h>

#include "base/varint_priv.h"

#define VARINT_PAYLOAD 0x7f7f7f7f7f7f7f7fu

LEVADA_TARGET_AVX2
static LEVADA_ALWAYS_INLINE uint64_t varint_avx2_tops(const uint8_t *p)
{
    int a = _mm256_movemask_epi8(_mm256_loadu_si256((const __m256i *)(const void *)p));
    int b = _mm256_movemask_epi8(_mm256_loadu_si256((const __m256i *)(const void *)(p + 32)));

    return (uint64_t)(uint32_t)a | (uint64_t)(uint32_t)b << 32;
}

LEVADA_TARGET_AVX2
int64_t levada_varint_count_avx2(const uint8_t *p, size_t n)
{
    int64_t count = 0;

    for (; n >= 64; p += 64, n -= 64) count += 64 - _mm_popcnt_u64(varint_avx2_tops(p));
    return count + levada_varint_count_portable(p, n);
}

LEVADA_TARGET_AVX2
int64_t levada_varint_sizes_avx2(const uint8_t *p, size_t n, uint32_t *sizes)
{
    levada_varint_runs runs = {0};
    int64_t            more = 0;

    for (size_t at = 0; at < n; at += 64) {
        size_t   left = n - at;
        uint64_t tops = _bzhi_u64(varint_avx2_tops(p + at), left < 64 ? (unsigned)left : 64);

        levada_varint_run(&runs, tops);
        more += _mm_popcnt_u64(tops);
    }
    levada_varint_run_end(&runs, sizes);
    return (int64_t)n - more;
}

/* 64 varints of one byte. */
LEVADA_TARGET_AVX2
static LEVADA_ALWAYS_INLINE void varint_avx2_widen(const uint8_t *p, levada_varint_sink *sink)
{
    for (int i = 0; i < 64; i += 8) {
        __m128i eight = _mm_loadl_epi64((const __m128i *)(const void *)(p + i));

        if (sink->wide != NULL) {
            int64_t *to = sink->wide + sink->count + i;

            _mm256_storeu_si256((__m256i *)(void *)to, _mm256_cvtepu8_epi64(eight));
            _mm256_storeu_si256((__m256i *)(void *)(to + 4),
                                _mm256_cvtepu8_epi64(_mm_srli_epi64(eight, 32)));
        } else if (sink->narrow != NULL) {
            _mm256_storeu_si256((__m256i *)(void *)(sink->narrow + sink->count + i),
                                _mm256_cvtepu8_epi32(eight));
        } else if (sink->sixteen != NULL) {
            _mm_storeu_si128((__m128i *)(void *)(sink->sixteen + sink->count + i),
                             _mm_cvtepu8_epi16(eight));
        } else {
            _mm_storel_epi64((__m128i *)(void *)(sink->eight + sink->count + i), eight);
        }
    }
    sink->count += 64;
}

/* Varints one by one from p to at least `until`. Returns where it stopped, NULL when one is too
 * long. */
LEVADA_TARGET_AVX2
static LEVADA_ALWAYS_INLINE const uint8_t *varint_avx2_slow(const uint8_t *p, const uint8_t *until,
                                                            levada_varint_sink *sink)
{
    while (p < until) {
        uint64_t word = levada_load_u64(p), ends = ~word & LEVADA_VARINT_TOPS, value;
        size_t   size = _tzcnt_u64(ends) / 8 + 1; /* 9 without an end */

        value = _pext_u64(_bzhi_u64(word, (unsigned)(8 * size)), VARINT_PAYLOAD);
        if (LEVADA_UNLIKELY(ends == 0)) size = levada_varint_long(p, value, &value);
        if (size == 0) return NULL;
        levada_varint_put(sink, value);
        p += size;
    }
    return p;
}

/* The varints that have their ends, given as bits, in the 64 bytes at p, where one begins. */
LEVADA_TARGET_AVX2
static LEVADA_ALWAYS_INLINE const uint8_t *varint_avx2_block(const uint8_t *p, uint64_t ends,
                                                             levada_varint_sink *sink)
{
    uint64_t begin = 0;

    while (ends != 0) {
        uint64_t next = _tzcnt_u64(ends) + 1;
        uint64_t word = _bzhi_u64(levada_load_u64(p + begin), (unsigned)(8 * (next - begin)));

        levada_varint_put(sink, _pext_u64(word, VARINT_PAYLOAD));
        ends = _blsr_u64(ends);
        begin = next;
    }
    return p + begin;
}

/* The places of the bytes of four varints of one to three bytes, for `pshufb` to bring each into a
 * lane of four. Entry i: bits 0 to 3 for those of two bytes or more, bits 4 to 7 for those of
 * three. */
#define VARINT_TWO(i, k) ((i) >> (k) & 1u)
#define VARINT_THREE(i, k) ((i) >> ((k) + 4) & 1u)
#define VARINT_SIZE(i, k) (1u + VARINT_TWO(i, k) + VARINT_THREE(i, k))
#define VARINT_LANE(i, k, at)                                                                  \
    ((at) | (VARINT_TWO(i, k) ? (at) + 1 : 0x80u) << 8 |                                       \
     (VARINT_THREE(i, k) ? (at) + 2 : 0x80u) << 16 | 0x80000000u)
#define VARINT_LANES(i)                                                                        \
    {                                                                                          \
        VARINT_LANE(i, 0, 0u), VARINT_LANE(i, 1, VARINT_SIZE(i, 0)),                           \
            VARINT_LANE(i, 2, VARINT_SIZE(i, 0) + VARINT_SIZE(i, 1)),                          \
            VARINT_LANE(i, 3, VARINT_SIZE(i, 0) + VARINT_SIZE(i, 1) + VARINT_SIZE(i, 2))       \
    }
#define VARINT_4(i)                                                                            \
    VARINT_LANES(i), VARINT_LANES(i + 1u), VARINT_LANES(i + 2u), VARINT_LANES(i + 3u)
#define VARINT_16(i) VARINT_4(i), VARINT_4(i + 4u), VARINT_4(i + 8u), VARINT_4(i + 12u)
#define VARINT_64(i) VARINT_16(i), VARINT_16(i + 16u), VARINT_16(i + 32u), VARINT_16(i + 48u)

static const uint32_t varint_avx2_lanes[256][4] LEVADA_ALIGNED(64) = {
    VARINT_64(0u), VARINT_64(64u), VARINT_64(128u), VARINT_64(192u)
};

/* Four values to elements of one or two bytes; the first `left` of them have to fit. */
LEVADA_TARGET_AVX2
static LEVADA_ALWAYS_INLINE void varint_avx2_narrow4(levada_varint_sink *sink, __m128i x,
                                                     int64_t left)
{
    __m128i meant = _mm_cmpgt_epi32(_mm_set1_epi32((int)left), _mm_setr_epi32(0, 1, 2, 3));
    __m128i over = _mm_srl_epi32(_mm_add_epi32(x, _mm_set1_epi32((int)sink->bias)),
                                 _mm_cvtsi32_si128((int)sink->bits));

    sink->misfit |= !_mm_testz_si128(meant, over);
    if (sink->sixteen != NULL) {
        x = _mm_shuffle_epi8(x, _mm_set1_epi64x(0x0d0c090805040100));
        _mm_storel_epi64((__m128i *)(void *)(sink->sixteen + sink->count), x);
    } else {
        int32_t four = _mm_cvtsi128_si32(_mm_shuffle_epi8(x, _mm_set1_epi32(0x0c080400)));

        memcpy(sink->eight + sink->count, &four, sizeof four);
    }
}

/* Four values whose bytes are at p, in the layout `lanes`; the first `left` of them are meant, and
 * the caller counts them. */
LEVADA_TARGET_AVX2
static LEVADA_ALWAYS_INLINE void varint_avx2_put4(levada_varint_sink *sink, const uint8_t *p,
                                                  const uint32_t *lanes, int64_t left)
{
    __m128i x = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)(const void *)p),
                                 _mm_load_si128((const __m128i *)(const void *)lanes));

    x = _mm_and_si128(x, _mm_set1_epi32(0x7f7f7f));
    x = _mm_maddubs_epi16(_mm_set1_epi16((short)0x8001), x); /* first + second * 128 */
    x = _mm_or_si128(_mm_and_si128(x, _mm_set1_epi32(0x3fff)), /* ... + third * 16384  */
                     _mm_and_si128(_mm_srli_epi32(x, 2), _mm_set1_epi32(0x1fc000)));
    if (sink->wide != NULL) {
        _mm256_storeu_si256((__m256i *)(void *)(sink->wide + sink->count),
                            _mm256_cvtepu32_epi64(x));
    } else if (sink->narrow != NULL) {
        _mm_storeu_si128((__m128i *)(void *)(sink->narrow + sink->count), x);
    } else {
        varint_avx2_narrow4(sink, x, left);
    }
}

/* The varints that have their ends, given as bits, in the 64 bytes at p, none of them longer than
 * eight: four at a time, and where the next four begin depends on a count of bits only. Four among
 * which one is longer than three bytes are done one by one. */
LEVADA_TARGET_AVX2
static LEVADA_ALWAYS_INLINE const uint8_t *varint_avx2_window(const uint8_t *p, uint64_t tops,
                                                              uint64_t ends,
                                                              levada_varint_sink *sink)
{
    const uint8_t *begin = p, *end = p + (64 - LEVADA_CLZ64(ends));
    uint64_t       second = tops << 1, third = second & tops << 2;
    uint64_t       twos = _pext_u64(second, ends), threes = _pext_u64(third, ends);
    uint64_t       longs = _pext_u64(third & tops << 3, ends);
    int64_t        all = sink->count + _mm_popcnt_u64(ends);

    if (LEVADA_UNLIKELY(longs != 0)) return varint_avx2_block(p, ends, sink);
    for (; sink->count < all; sink->count += 4, twos >>= 4, threes >>= 4) {
        uint64_t i = (twos & 15) | (threes & 15) << 4;

        varint_avx2_put4(sink, begin, varint_avx2_lanes[i], all - sink->count);
        begin += 4 + _mm_popcnt_u64(i);
    }
    sink->count = all;
    return end;
}

LEVADA_TARGET_AVX2
static LEVADA_ALWAYS_INLINE int64_t varint_avx2_decode(const uint8_t *p, size_t n,
                                                       levada_varint_sink sink)
{
    const uint8_t *end = p + n;

    if (!levada_varint_ends(p, n)) return -1;
    while (p < end) {
        size_t   left = (size_t)(end - p);
        unsigned take = left < 64 ? (unsigned)left : 64;
        uint64_t tops = _bzhi_u64(varint_avx2_tops(p), take), ends, runs;

        if (tops == 0 && left >= 64 && levada_varint_fits(&sink, 0x7f)) {
            varint_avx2_widen(p, &sink);
            p += 64;
            continue;
        }
        ends = _bzhi_u64(~tops, take);
        runs = tops & tops >> 1; /* two continuation bytes, */
        runs &= runs >> 2;       /* four,                   */
        runs &= runs >> 4;       /* eight in a row          */
        if (LEVADA_LIKELY(runs == 0))
            p = varint_avx2_window(p, tops, ends, &sink);
        else
            p = varint_avx2_slow(p, left < 64 ? end : p + 64, &sink);
        if (p == NULL) return -1;
    }
    return levada_varint_result(&sink);
}

LEVADA_TARGET_AVX2
int64_t levada_varint_i64_avx2(const uint8_t *p, size_t n, int64_t *out)
{
    return varint_avx2_decode(p, n, (levada_varint_sink){.wide = out});
}

LEVADA_TARGET_AVX2
int64_t levada_varint_i32_avx2(const uint8_t *p, size_t n, int32_t *out)
{
    return varint_avx2_decode(p, n, (levada_varint_sink){.narrow = out});
}

LEVADA_TARGET_AVX2
int64_t levada_varint_narrow_avx2(const uint8_t *p, size_t n, levada_varint_range range, void *out)
{
    levada_varint_sink sink = {.bits = range.bits, .bias = range.bias};

    if (range.size == 2) {
        sink.sixteen = out;
        return varint_avx2_decode(p, n, sink);
    }
    sink.eight = out;
    return varint_avx2_decode(p, n, sink);
}
