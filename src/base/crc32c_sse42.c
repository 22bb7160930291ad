/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CRC-32C with SSE4.2: the crc32 instruction below 128 bytes (short chains of neighboring calls
 * overlap), folding by 64 bytes from there on (crc32 alone is bound by its latency: 3 cycles for
 * 8 bytes).
 */
#include "base/crc32c_sse42.h"

LEVADA_TARGET_SSE42
uint32_t levada_crc32c_sse42(uint32_t crc, const uint8_t *data, size_t n)
{
    uint64_t state = (uint32_t)~crc;

    if (n >= 128) {
        levada_crc32c_block acc;

        for (int i = 0; i < 4; i++) acc.lane[i] = levada_crc32c_load16(data + 16 * i);
        acc.lane[0] = _mm_xor_si128(acc.lane[0], _mm_cvtsi64_si128((long long)state));
        for (data += 64, n -= 64; n >= 64; data += 64, n -= 64) levada_crc32c_fold64(&acc, data);
        state = levada_crc32c_reduce64(&acc);
    }
    for (; n >= 8; data += 8, n -= 8) state = _mm_crc32_u64(state, levada_load_u64(data));
    return ~levada_crc32c_bytes((uint32_t)state, data, n);
}
