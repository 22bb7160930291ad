/* SPDX-License-Identifier: Apache-2.0 */
/* Varints in plain C, eight bytes at a time. */
#include "base/varint_priv.h"

int64_t levada_varint_count_portable(const uint8_t *p, size_t n)
{
    int64_t count = 0;

    for (; n >= 8; p += 8, n -= 8) {
        uint64_t ends = (~levada_load_u64(p) & LEVADA_VARINT_TOPS) >> 7;

        count += (int64_t)((ends * 0x0101010101010101u) >> 56); /* adds up the eight bytes */
    }
    for (; n > 0; p++, n--) count += *p < 0x80;
    return count;
}

/* Returns the top bits of eight bytes, in the order of the bytes. */
static LEVADA_ALWAYS_INLINE uint64_t varint_tops(const uint8_t *p)
{
    return ((levada_load_u64(p) & LEVADA_VARINT_TOPS) >> 7) * 0x0102040810204080u >> 56;
}

int64_t levada_varint_sizes_portable(const uint8_t *p, size_t n, uint32_t *sizes)
{
    levada_varint_runs runs = {0};

    for (size_t at = 0; at < n; at += 64) {
        size_t   take = n - at < 64 ? n - at : 64;
        uint64_t tops = 0;

        for (size_t k = 0; k < take; k += 8) tops |= varint_tops(p + at + k) << k;
        if (take < 64) tops &= (UINT64_C(1) << take) - 1;
        levada_varint_run(&runs, tops);
    }
    levada_varint_run_end(&runs, sizes);
    return levada_varint_count_portable(p, n);
}

/* Closes the gaps of one bit between groups of seven. */
static LEVADA_ALWAYS_INLINE uint64_t varint_squeeze(uint64_t x)
{
    x = (x & 0x007f007f007f007fu) | (x & 0x7f007f007f007f00u) >> 1;
    x = (x & 0x00003fff00003fffu) | (x & 0x3fff00003fff0000u) >> 2;
    return (x & 0x0fffffffu) | (x & 0x0fffffff00000000u) >> 4;
}

/* Reads one varint at p. Returns its size, 0 when it is too long. */
static LEVADA_ALWAYS_INLINE size_t varint_read(const uint8_t *p, uint64_t *value)
{
    uint64_t word = levada_load_u64(p);
    uint64_t ends = ~word & LEVADA_VARINT_TOPS;

    if (LEVADA_UNLIKELY(ends == 0)) return levada_varint_long(p, varint_squeeze(word), value);
    *value = varint_squeeze(word & (ends ^ (ends - 1))); /* up to the first end */
    return LEVADA_CTZ64(ends) / 8 + 1;
}

static LEVADA_ALWAYS_INLINE int64_t varint_decode(const uint8_t *p, size_t n,
                                                  levada_varint_sink sink)
{
    const uint8_t *end = p + n;

    if (!levada_varint_ends(p, n)) return -1;
    while (p < end) {
        uint64_t word = levada_load_u64(p), value = word & 0x7f;
        size_t   size = 1;

        if (end - p >= 8 && (word & LEVADA_VARINT_TOPS) == 0) {
            for (int i = 0; i < 64; i += 8) levada_varint_put(&sink, (word >> i) & 0xff);
            p += 8;
            continue;
        }
        if (word & 0x80) size = varint_read(p, &value);
        if (size == 0) return -1;
        levada_varint_put(&sink, value);
        p += size;
    }
    return levada_varint_result(&sink);
}

int64_t levada_varint_i64_portable(const uint8_t *p, size_t n, int64_t *out)
{
    return varint_decode(p, n, (levada_varint_sink){.wide = out});
}

int64_t levada_varint_i32_portable(const uint8_t *p, size_t n, int32_t *out)
{
    return varint_decode(p, n, (levada_varint_sink){.narrow = out});
}

int64_t levada_varint_narrow_portable(const uint8_t *p, size_t n, levada_varint_range range,
                                      void *out)
{
    levada_varint_sink sink = {.bits = range.bits, .bias = range.bias};

    if (range.size == 2) {
        sink.sixteen = out;
        return varint_decode(p, n, sink);
    }
    sink.eight = out;
    return varint_decode(p, n, sink);
}
