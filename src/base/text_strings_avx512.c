/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Columns of strings without their quotes with AVX-512 VBMI2: 64 bytes at a time, from which one
 * instruction takes the second quotes of pairs. Most strings are shorter, and no branch depends on
 * what is in them.
 */
#include "base/quoted_index_x86.h"

/* Copies the `size` bytes at `from`, in which all quotes come in pairs; returns the end. */
LEVADA_TARGET_AVX512
static LEVADA_ALWAYS_INLINE uint8_t *strings_avx512_one(const uint8_t *from, int64_t size,
                                                        uint8_t *to)
{
    uint64_t odd = 0; /* all bits: the first quote of a pair was the last byte */

    do {
        __m512i  x = _mm512_loadu_si512(from);
        uint64_t in = _bzhi_u64(~0ull, (unsigned)(size < 64 ? size : 64));
        uint64_t quotes = in & _mm512_cmpeq_epi8_mask(x, _mm512_set1_epi8('"'));
        uint64_t parity = levada_quoted_parity(quotes) ^ odd;
        uint64_t keep = in & ~(quotes & ~parity);

        _mm512_storeu_si512(to, _mm512_maskz_compress_epi8(keep, x));
        odd = (uint64_t)((int64_t)parity >> 63);
        to += _mm_popcnt_u64(keep);
        from += 64;
        size -= 64;
    } while (size > 0);
    return to;
}

LEVADA_TARGET_AVX512
int64_t levada_text_strings_avx512(const levada_text_fields *fields, int64_t n, uint8_t *out,
                                   int32_t *begin, int32_t *end)
{
    const int32_t *mark = fields->mark;
    uint8_t       *to = out;

    for (int64_t i = 0; i < n; i++, mark += fields->stride) {
        const uint8_t *from = fields->text + mark[-1] + 1;
        int64_t        size = mark[0] - mark[-1] - 1;
        int64_t        quoted = (size > 0) & (*from == '"');

        begin[i] = (int32_t)(to - out);
        to = strings_avx512_one(from + quoted, size - 2 * quoted, to);
        end[i] = (int32_t)(to - out);
    }
    return to - out;
}
