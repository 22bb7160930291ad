/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the x86 levels of quoted_index share. Every quote opens or closes, also those of a pair "":
 * the first closes, and the second opens again. So a byte is inside where the number of quotes up
 * to it is odd: a carry-less product with ones (Langdale and Lemire, "Parsing Gigabytes of JSON per
 * Second", 2019). That is right as long as each opening quote begins a field or follows a closing
 * one, and each closing quote ends a field or comes before an opening one.
 */
#ifndef LEVADA_BASE_QUOTED_INDEX_X86_H
#define LEVADA_BASE_QUOTED_INDEX_X86_H

#include "base/positions_x86.h"

/* Bits of 64 bytes, of which those in `in` are of the text. */
typedef struct levada_quoted_bits {
    uint64_t quote, delim, newline, in;
} levada_quoted_bits;

/* Of the byte before: is it inside of quotes (all bits), does it separate fields or is it a quote,
 * did it close a field (the lowest bit)? And what was wrong with the last 64 bytes. */
typedef struct levada_quoted_state {
    uint64_t inside, special, closing, bad;
} levada_quoted_state;

/* Bit i is the parity of the bits 0 to i. */
LEVADA_TARGET_SSE42
static LEVADA_ALWAYS_INLINE uint64_t levada_quoted_parity(uint64_t bits)
{
    return (uint64_t)_mm_cvtsi128_si64(
        _mm_clmulepi64_si128(_mm_cvtsi64_si128((int64_t)bits), _mm_set1_epi8(-1), 0));
}

/* Returns the bytes outside of quotes, and in *pairs the second quotes of pairs. */
LEVADA_TARGET_SSE42
static LEVADA_ALWAYS_INLINE uint64_t levada_quoted_step(levada_quoted_state      *s,
                                                        const levada_quoted_bits *bits,
                                                        uint64_t                 *pairs)
{
    uint64_t special = bits->quote | bits->delim | bits->newline, inside, opening, closing, after;

    *pairs = 0;
    if ((bits->quote | s->inside | s->closing) == 0) { /* all of a text without quotes */
        s->special = special >> 63;
        return ~UINT64_C(0);
    }
    inside = levada_quoted_parity(bits->quote) ^ s->inside;
    opening = bits->quote & inside;
    closing = bits->quote & ~inside;
    after = closing << 1 | s->closing;
    *pairs = opening & after;
    s->bad = (opening & ~(special << 1 | s->special)) | (after & ~special & bits->in);
    s->inside = (uint64_t)((int64_t)inside >> 63);
    s->special = special >> 63;
    s->closing = closing >> 63;
    return ~inside;
}

/* Notes the fields that have pairs: `count` of them end before these 64 bytes, at `marks` others
 * do. */
LEVADA_TARGET_SSE42
static LEVADA_ALWAYS_INLINE void levada_quoted_note(levada_quoted *how, uint64_t pairs,
                                                    uint64_t marks, int64_t count)
{
    for (; pairs != 0; pairs &= pairs - 1) {
        uint64_t before = marks & ((pairs & -pairs) - 1);
        int32_t  field = (int32_t)(count + (int64_t)_mm_popcnt_u64(before));

        if (how->npairs > 0 && how->pairs[how->npairs - 1] == field) continue;
        how->pairs[how->npairs++] = field;
    }
}

/* Returns the result: the last 64 bytes begin at `at`, and may have gone beyond `max` positions. */
static inline int64_t levada_quoted_finish(const levada_quoted_state *s, levada_quoted *how,
                                           const int32_t *pos, int64_t count, int64_t max,
                                           size_t at, size_t n, size_t *scanned)
{
    how->open = count < max && s->inside != 0;
    *scanned = n;
    if (count >= max) {
        *scanned = max > 0 ? (size_t)pos[max - 1] + 1 : 0;
        count = max;
        while (how->npairs > 0 && how->pairs[how->npairs - 1] >= max) how->npairs--;
    }
    return s->bad != 0 && at + LEVADA_CTZ64(s->bad) < *scanned ? -1 : count;
}

#endif
