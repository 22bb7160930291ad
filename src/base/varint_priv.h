/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Varints (seven bits in a byte, low bits first, top bit set in all bytes but the last): what the
 * decoders of all levels share.
 */
#ifndef LEVADA_BASE_VARINT_PRIV_H
#define LEVADA_BASE_VARINT_PRIV_H

#include "base/kernels_priv.h"

#define LEVADA_VARINT_TOPS 0x8080808080808080u /* the top bits of eight bytes */

/* Where decoded values go: to one of the four arrays; the others are NULL. */
typedef struct levada_varint_sink {
    int64_t  *wide;
    int32_t  *narrow;
    uint16_t *sixteen;
    uint8_t  *eight;
    uint32_t  bits, bias; /* of the last two: levada_varint_range */
    int64_t   count;
    uint64_t  misfit; /* not 0: a value does not fit */
} levada_varint_sink;

static LEVADA_ALWAYS_INLINE void levada_varint_put(levada_varint_sink *sink, uint64_t value)
{
    if (sink->wide != NULL) {
        sink->wide[sink->count++] = (int64_t)value;
    } else if (sink->narrow != NULL) {
        sink->misfit |= (value + 0x80000000u) >> 32;
        sink->narrow[sink->count++] = (int32_t)(uint32_t)value;
    } else {
        sink->misfit |= (value + sink->bias) >> sink->bits;
        if (sink->sixteen != NULL) sink->sixteen[sink->count++] = (uint16_t)value;
        else sink->eight[sink->count++] = (uint8_t)value;
    }
}

/* Runs of set top bits, 64 bytes after 64 bytes: a bit is set where a run of 1, 2, 4 or 8 ends. */
typedef struct levada_varint_runs {
    uint64_t ones, twos, fours; /* of the 64 bytes before */
    uint64_t over_4, over_10;
} levada_varint_runs;

static LEVADA_ALWAYS_INLINE void levada_varint_run(levada_varint_runs *r, uint64_t tops)
{
    uint64_t twos = tops & (tops << 1 | r->ones >> 63);
    uint64_t fours = twos & (twos << 2 | r->twos >> 62);
    uint64_t eights = fours & (fours << 4 | r->fours >> 60);

    r->over_4 |= fours;
    r->over_10 |= eights & (twos << 8 | r->twos >> 56);
    r->ones = tops;
    r->twos = twos;
    r->fours = fours;
}

static LEVADA_ALWAYS_INLINE void levada_varint_run_end(const levada_varint_runs *r, uint32_t *sizes)
{
    if (r->over_4) *sizes |= LEVADA_VARINT_OVER_4;
    if (r->over_10) *sizes |= LEVADA_VARINT_OVER_10;
}

/* Returns true if `value` fits wherever the values go to. */
static LEVADA_ALWAYS_INLINE bool levada_varint_fits(const levada_varint_sink *sink, uint64_t value)
{
    bool small = sink->sixteen != NULL || sink->eight != NULL;

    return !small || (value + sink->bias) >> sink->bits == 0;
}

/* Returns the result of a decoder that met no overlong varint. */
static LEVADA_ALWAYS_INLINE int64_t levada_varint_result(const levada_varint_sink *sink)
{
    return sink->misfit != 0 ? -2 : sink->count;
}

/* Checks that no unfinished varint is at the end, so that no decoder can run over it. */
static LEVADA_ALWAYS_INLINE bool levada_varint_ends(const uint8_t *p, size_t n)
{
    return n == 0 || p[n - 1] < 0x80;
}

/* Reads a varint of nine or ten bytes, whose first eight decode to `low` (56 bits). Returns its
 * size, or 0 if it is longer. */
static LEVADA_ALWAYS_INLINE size_t levada_varint_long(const uint8_t *p, uint64_t low,
                                                      uint64_t *value)
{
    *value = low | (uint64_t)(p[8] & 0x7fu) << 56;
    if (p[8] < 0x80) return 9;
    *value |= (uint64_t)p[9] << 63;
    return p[9] < 0x80 ? 10 : 0;
}

#endif
