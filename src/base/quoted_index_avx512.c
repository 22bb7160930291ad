/* SPDX-License-Identifier: Apache-2.0 */
/* Fields and rows outside of double quotes with AVX-512. The last block is masked. */
#include "base/quoted_index_x86.h"

/* What stays the same from block to block. */
typedef struct quoted_avx512_text {
    const uint8_t *p;
    __m512i        delim;
    uint64_t       quotes, delims, pairs; /* all bits, or 0 where they are not looked for */
    levada_quoted *how;
    int32_t       *pos;
} quoted_avx512_text;

LEVADA_TARGET_AVX512
static LEVADA_ALWAYS_INLINE levada_quoted_bits quoted_avx512_bits(const quoted_avx512_text *t,
                                                                  size_t at, uint64_t in)
{
    __m512i x = in == ~0ull ? _mm512_loadu_si512(t->p + at)
                            : _mm512_maskz_loadu_epi8(in, t->p + at);

    return (levada_quoted_bits){
        .quote = _mm512_cmpeq_epi8_mask(x, _mm512_set1_epi8('"')) & t->quotes,
        .delim = _mm512_cmpeq_epi8_mask(x, t->delim) & in,
        .newline = _mm512_cmpeq_epi8_mask(x, _mm512_set1_epi8('\n')) |
                   _mm512_cmpeq_epi8_mask(x, _mm512_set1_epi8('\r')),
        .in = in,
    };
}

/* Returns the number of positions in 64 bytes, of which those in `in` are of the text. */
LEVADA_TARGET_AVX512
static LEVADA_ALWAYS_INLINE int64_t quoted_avx512_block(const quoted_avx512_text *t,
                                                        levada_quoted_state *s, size_t at,
                                                        uint64_t in, int64_t count)
{
    levada_quoted_bits bits = quoted_avx512_bits(t, at, in);
    uint64_t pairs, outside = levada_quoted_step(s, &bits, &pairs);
    uint64_t marks = outside & (bits.newline | (bits.delim & t->delims));

    if (LEVADA_UNLIKELY((pairs & t->pairs) != 0))
        levada_quoted_note(t->how, pairs, marks, count);
    levada_positions_avx512(marks, at, t->pos + count);
    return _mm_popcnt_u64(marks);
}

LEVADA_TARGET_AVX512
int64_t levada_quoted_index_avx512(const uint8_t *p, size_t n, levada_quoted *how, int32_t *pos,
                                   int64_t max, size_t *scanned)
{
    const quoted_avx512_text t = { p, _mm512_set1_epi8((char)how->delim), how->quotes ? ~0ull : 0,
                                   how->rows ? 0 : ~0ull, how->pairs ? ~0ull : 0, how, pos };
    levada_quoted_state s = { .special = 1 };
    size_t  at = 0;
    int64_t count = 0;

    how->npairs = 0;
    for (; count < max && n - at >= 64 && s.bad == 0; at += 64)
        count += quoted_avx512_block(&t, &s, at, ~0ull, count);
    if (count < max && at < n && s.bad == 0) {
        count += quoted_avx512_block(&t, &s, at, _bzhi_u64(~0ull, (unsigned)(n - at)), count);
        at += 64;
    }
    return levada_quoted_finish(&s, how, pos, count, max, at - 64, n, scanned);
}
