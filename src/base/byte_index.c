/* SPDX-License-Identifier: Apache-2.0 */
/* Positions of any of four bytes in plain C: eight bytes at a time are passed over. */
#include <string.h>

#include "base/kernels_priv.h"

#define INDEX_ONES UINT64_C(0x0101010101010101)
#define INDEX_TOPS UINT64_C(0x8080808080808080)

/* Returns not 0 if a byte of the word is `byte`. */
static uint64_t index_equal(uint64_t word, uint8_t byte)
{
    uint64_t x = word ^ (byte * INDEX_ONES);

    return (x - INDEX_ONES) & ~x & INDEX_TOPS;
}

static bool index_has(const uint8_t *p, const uint8_t set[4])
{
    uint64_t word = levada_load_u64(p);

    return (index_equal(word, set[0]) | index_equal(word, set[1]) | index_equal(word, set[2]) |
            index_equal(word, set[3])) != 0;
}

int64_t levada_byte_index_portable(const uint8_t *p, size_t n, const uint8_t set[4], int32_t *pos,
                                   int64_t max, size_t *scanned)
{
    size_t  at = 0;
    int64_t count = 0;

    while (count < max && at < n) {
        size_t end = n - at < 8 ? n : at + 8;

        if (end - at == 8 && !index_has(p + at, set)) {
            at = end;
            continue;
        }
        for (; at < end && count < max; at++) {
            uint8_t c = p[at];

            if (c == set[0] || c == set[1] || c == set[2] || c == set[3])
                pos[count++] = (int32_t)at;
        }
    }
    *scanned = at;
    return count;
}
