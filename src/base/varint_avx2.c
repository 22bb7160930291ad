/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Varints with AVX2 and BMI2. The top bits of 64 bytes make one mask, so the end of every varint
 * in them is known at once; each is then loaded, cut to its length and squeezed by `pext` without
 * waiting for the one before it and without a branch on its length.
 */
#include <immintrin.h>

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
        } else {
            _mm256_storeu_si256((__m256i *)(void *)(sink->narrow + sink->count + i),
                                _mm256_cvtepu8_epi32(eight));
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
        size_t   size = _tzcnt_u64(ends) / 8 + 1;

        value = _pext_u64(word & (ends ^ (ends - 1)), VARINT_PAYLOAD);
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

/* For four varints of one or two bytes, a bit each for those of two: the bytes that they have in
 * lanes of two bytes. */
static const uint64_t varint_avx2_lanes[16] = {
    0x00ff00ff00ff00ffu, 0x00ff00ff00ffffffu, 0x00ff00ffffff00ffu, 0x00ff00ffffffffffu,
    0x00ffffff00ff00ffu, 0x00ffffff00ffffffu, 0x00ffffffffff00ffu, 0x00ffffffffffffffu,
    0xffff00ff00ff00ffu, 0xffff00ff00ffffffu, 0xffff00ffffff00ffu, 0xffff00ffffffffffu,
    0xffffffff00ff00ffu, 0xffffffff00ffffffu, 0xffffffffffff00ffu, 0xffffffffffffffffu,
};

/* Four values from four lanes; the caller counts those of them that are meant. */
LEVADA_TARGET_AVX2
static LEVADA_ALWAYS_INLINE void varint_avx2_put4(const levada_varint_sink *sink, uint64_t lanes)
{
    uint64_t four = (lanes & 0x007f007f007f007fu) | (lanes & 0x7f007f007f007f00u) >> 1;
    __m128i  at = _mm_cvtsi64_si128((long long)four);

    if (sink->wide != NULL) {
        _mm256_storeu_si256((__m256i *)(void *)(sink->wide + sink->count),
                            _mm256_cvtepu16_epi64(at));
    } else {
        _mm_storeu_si128((__m128i *)(void *)(sink->narrow + sink->count), _mm_cvtepu16_epi32(at));
    }
}

/* As varint_avx2_block, where most have one or two bytes: `pdep` brings four at a time into lanes
 * of two bytes, and where the next four begin depends on a sum of bits only. A longer one among
 * them is done by itself. twos, longs: a bit for each varint. */
LEVADA_TARGET_AVX2
static LEVADA_ALWAYS_INLINE const uint8_t *varint_avx2_short(const uint8_t *p, uint64_t ends,
                                                             uint64_t twos, uint64_t longs,
                                                             levada_varint_sink *sink)
{
    uint64_t begin = 0;
    unsigned left = (unsigned)_mm_popcnt_u64(ends);

    while (left >= 4) {
        unsigned n = 4;

        varint_avx2_put4(sink, _pdep_u64(levada_load_u64(p + begin), varint_avx2_lanes[twos & 15]));
        if (LEVADA_UNLIKELY((longs & 15) != 0)) n = (unsigned)_tzcnt_u64(longs);
        begin += n + (uint64_t)_mm_popcnt_u64(_bzhi_u64(twos, n));
        sink->count += n;
        if (LEVADA_UNLIKELY(n < 4)) {
            uint64_t size = _tzcnt_u64(ends >> begin) + 1;
            uint64_t word = _bzhi_u64(levada_load_u64(p + begin), (unsigned)(8 * size));

            levada_varint_put(sink, _pext_u64(word, VARINT_PAYLOAD));
            begin += size;
            n++;
        }
        twos >>= n;
        longs >>= n;
        left -= n;
    }
    return left > 0 ? varint_avx2_block(p + begin, ends >> begin, sink) : p + begin;
}

/* The varints that have their ends in the 64 bytes at p, none of them longer than eight. */
LEVADA_TARGET_AVX2
static LEVADA_ALWAYS_INLINE const uint8_t *varint_avx2_window(const uint8_t *p, uint64_t tops,
                                                              uint64_t ends,
                                                              levada_varint_sink *sink)
{
    uint64_t longs = _pext_u64(tops << 1 & tops << 2, ends);

    if (4 * _mm_popcnt_u64(longs) > _mm_popcnt_u64(ends)) return varint_avx2_block(p, ends, sink);
    return varint_avx2_short(p, ends, _pext_u64(tops << 1, ends), longs, sink);
}

LEVADA_TARGET_AVX2
static LEVADA_ALWAYS_INLINE int64_t varint_avx2_decode(const uint8_t *p, size_t n,
                                                       levada_varint_sink sink)
{
    const uint8_t *end = p + n;

    if (!levada_varint_ends(p, n)) return -1;
    while (p < end) {
        size_t   left = (size_t)(end - p);
        uint64_t tops = varint_avx2_tops(p), ends, runs;

        if (tops == 0 && left >= 64) {
            varint_avx2_widen(p, &sink);
            p += 64;
            continue;
        }
        ends = _bzhi_u64(~tops, left < 64 ? (unsigned)left : 64);
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
