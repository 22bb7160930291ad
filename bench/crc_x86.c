/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The baselines' CRC-32C on x86-64 (built with -msse4.2): crc32q, and for long data three streams
 * side by side that are joined with tables of "this state, followed by n zero bytes".
 */
#include "harness.h"

#include <nmmintrin.h>
#include <pthread.h>
#include <string.h>

enum {
    CRC_LONG = 1024,
    CRC_SHORT = 128
}; /* bytes of one of the three streams */

static uint32_t       crc_after[2][4][256]; /* long, short */
static pthread_once_t crc_once = PTHREAD_ONCE_INIT;

static inline uint64_t crc_word(uint64_t crc, const uint8_t *at)
{
    uint64_t word;

    memcpy(&word, at, sizeof word);
    return _mm_crc32_u64(crc, word);
}

static void crc_fill_one(uint32_t table[4][256], int zeros)
{
    uint32_t basis[32];

    for (int bit = 0; bit < 32; ++bit) {
        uint64_t state = UINT64_C(1) << bit;
        for (int k = 0; k < zeros / 8; ++k)
            state = _mm_crc32_u64(state, 0);
        basis[bit] = (uint32_t)state;
    }
    for (int k = 0; k < 4; ++k)
        for (int byte = 0; byte < 256; ++byte)
            for (int bit = 0; bit < 8; ++bit)
                if ((byte >> bit & 1) != 0)
                    table[k][byte] ^= basis[8 * k + bit];
}

static void crc_fill(void)
{
    crc_fill_one(crc_after[0], CRC_LONG);
    crc_fill_one(crc_after[1], CRC_SHORT);
}

static inline uint64_t crc_shift(uint32_t table[4][256], uint64_t crc)
{
    return table[0][crc & 0xff] ^ table[1][crc >> 8 & 0xff] ^ table[2][crc >> 16 & 0xff] ^
           table[3][crc >> 24 & 0xff];
}

static inline uint64_t crc_three(uint64_t crc, const uint8_t *data, size_t size,
                                 uint32_t table[4][256])
{
    uint64_t second = 0, third = 0;

    for (size_t k = 0; k < size; k += 8) {
        crc = crc_word(crc, data + k);
        second = crc_word(second, data + size + k);
        third = crc_word(third, data + 2 * size + k);
    }
    crc = crc_shift(table, crc) ^ second;
    return crc_shift(table, crc) ^ third;
}

uint32_t levada_bench_crc32c(const uint8_t *data, size_t size)
{
    uint64_t crc = UINT32_MAX;

    if (size >= 3 * CRC_SHORT)
        pthread_once(&crc_once, crc_fill);
    for (; size >= 3 * CRC_LONG; data += 3 * CRC_LONG, size -= 3 * CRC_LONG)
        crc = crc_three(crc, data, CRC_LONG, crc_after[0]);
    for (; size >= 3 * CRC_SHORT; data += 3 * CRC_SHORT, size -= 3 * CRC_SHORT)
        crc = crc_three(crc, data, CRC_SHORT, crc_after[1]);
    for (; size >= 8; data += 8, size -= 8)
        crc = crc_word(crc, data);
    for (; size > 0; ++data, --size)
        crc = _mm_crc32_u8((uint32_t)crc, *data);
    return ~(uint32_t)crc;
}
