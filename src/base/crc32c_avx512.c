/* SPDX-License-Identifier: Apache-2.0 */
/* CRC-32C with AVX-512: folding by 512 bits, four accumulators. */
#include "base/crc32c_avx512.h"

LEVADA_TARGET_AVX512
uint32_t levada_crc32c_avx512(uint32_t crc, const uint8_t *data, size_t n)
{
    if (n < 64) return levada_crc32c_sse42(crc, data, n); /* less to set up */
    return ~levada_crc32c_any512(~crc, data, n);
}
