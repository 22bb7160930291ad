/* SPDX-License-Identifier: Apache-2.0 */
/* The baselines' CRC-32C if there is no instruction for it: one table, a byte at a time. */
#include "harness.h"

#include <pthread.h>

static uint32_t       crc_table[256];
static pthread_once_t crc_once = PTHREAD_ONCE_INIT;

static void crc_fill(void)
{
    for (uint32_t byte = 0; byte < 256; ++byte) {
        uint32_t crc = byte;
        for (int bit = 0; bit < 8; ++bit)
            crc = (crc & 1) != 0 ? (crc >> 1) ^ UINT32_C(0x82f63b78) : crc >> 1;
        crc_table[byte] = crc;
    }
}

uint32_t levada_bench_crc32c(const uint8_t *data, size_t size)
{
    uint32_t crc = UINT32_MAX;

    pthread_once(&crc_once, crc_fill);
    for (size_t k = 0; k < size; ++k)
        crc = crc_table[(crc ^ data[k]) & 0xff] ^ (crc >> 8);
    return ~crc;
}
