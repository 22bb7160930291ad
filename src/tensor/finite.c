/* SPDX-License-Identifier: Apache-2.0 */
#include "tensor/finite.h"

/* Finds the first infinity or NaN, which have all bits of the exponent set. */
int64_t levada_not_finite(levada_dtype dtype, const void *data, int64_t n)
{
    if (dtype == LEVADA_COMPLEX64 || dtype == LEVADA_COMPLEX128) {
        int64_t at = levada_not_finite(dtype == LEVADA_COMPLEX64 ? LEVADA_FLOAT32 : LEVADA_FLOAT64,
                                       data, 2 * n);

        return at < 0 ? at : at / 2;
    }
    for (int64_t i = 0; i < n; i++) {
        switch (dtype) {
        case LEVADA_FLOAT16:
        case LEVADA_BFLOAT16: {
            uint16_t mask = dtype == LEVADA_FLOAT16 ? 0x7c00 : 0x7f80;

            if ((((const uint16_t *)data)[i] & mask) == mask) return i;
            break;
        }
        case LEVADA_FLOAT32:
            if ((((const uint32_t *)data)[i] & 0x7f800000u) == 0x7f800000u) return i;
            break;
        case LEVADA_FLOAT64:
            if ((((const uint64_t *)data)[i] << 1) >= UINT64_C(0xffe0000000000000)) return i;
            break;
        default: return -1;
        }
    }
    return -1;
}
