/* SPDX-License-Identifier: Apache-2.0 */
/* Fields and rows outside of double quotes with AVX2. The last block reads into the slack. */
#include "base/quoted_index_x86.h"

/* The bytes of two registers that equal c. */
LEVADA_TARGET_AVX2
static LEVADA_ALWAYS_INLINE uint64_t quoted_avx2_equal(__m256i low, __m256i high, char c)
{
    __m256i all = _mm256_set1_epi8(c);
    int     a = _mm256_movemask_epi8(_mm256_cmpeq_epi8(low, all));
    int     b = _mm256_movemask_epi8(_mm256_cmpeq_epi8(high, all));

    return (uint64_t)(uint32_t)a | (uint64_t)(uint32_t)b << 32;
}

/* `left` > 0 bytes of the text are left. */
LEVADA_TARGET_AVX2
static LEVADA_ALWAYS_INLINE levada_quoted_bits quoted_avx2_bits(const uint8_t *p, size_t left,
                                                                char delim)
{
    const __m256i *at = (const __m256i *)(const void *)p;
    __m256i low = _mm256_loadu_si256(at);
    __m256i high = left > 32 ? _mm256_loadu_si256(at + 1) : low;
    uint64_t in = left < 64 ? (UINT64_C(1) << left) - 1 : ~UINT64_C(0);

    return (levada_quoted_bits){
        .quote = quoted_avx2_equal(low, high, '"') & in,
        .delim = quoted_avx2_equal(low, high, delim) & in,
        .newline = (quoted_avx2_equal(low, high, '\n') | quoted_avx2_equal(low, high, '\r')) & in,
        .in = in,
    };
}

LEVADA_TARGET_AVX2
int64_t levada_quoted_index_avx2(const uint8_t *p, size_t n, levada_quoted *how, int32_t *pos,
                                 int64_t max, size_t *scanned)
{
    const uint64_t quotes = how->quotes ? ~UINT64_C(0) : 0, delims = how->rows ? 0 : ~UINT64_C(0);
    levada_quoted_state s = { .special = 1 };
    size_t         at = 0;
    int64_t        count = 0;

    how->npairs = 0;
    for (; count < max && at < n && s.bad == 0; at += 64) {
        levada_quoted_bits bits = quoted_avx2_bits(p + at, n - at, (char)how->delim);
        uint64_t pairs, marks;

        bits.quote &= quotes;
        marks = levada_quoted_step(&s, &bits, &pairs) & (bits.newline | (bits.delim & delims));
        if (LEVADA_UNLIKELY(pairs != 0) && how->pairs) levada_quoted_note(how, pairs, marks, count);
        levada_positions_avx2(marks, at, pos + count);
        count += _mm_popcnt_u64(marks);
    }
    return levada_quoted_finish(&s, how, pos, count, max, at - 64, n, scanned);
}
