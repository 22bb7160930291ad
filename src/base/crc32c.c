/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CRC-32C in plain C: "slicing by 8", eight table look-ups for eight bytes.
 *
 * A CRC is the remainder of the message, read as a polynomial over GF(2), after division by P =
 * x^32 + ... (0x1edc6f41). It is kept reflected: bit 31 of a word is the coefficient of x^0. Table
 * t maps a byte that is t bytes before the end of an eight-byte group to its share of the new
 * remainder, which is byte * x^(8 t + 32) mod P. That is linear in the byte, so the 256 entries of
 * a table follow from those of its eight single bits: bit 7 - i belongs to x^(8 t + 32 + i) mod P.
 * The 64 constants below are therefore x^32 ... x^95 mod P in one chain:
 *
 *     v = 0x82f63b78                                    (P without x^32, reflected)
 *     repeat: print v; v = v & 1 ? v >> 1 ^ 0x82f63b78 : v >> 1
 */
#include "base/kernels_priv.h"

/* Adds v when bit b of i is set. */
#define CRC32C_BIT(i, b, v) ((((i) >> (b)) & 1u) * (v))

#define CRC32C_ENTRY(i, a, b, c, d, e, f, g, h)                                        \
    CRC32C_BIT(i, 7, a) ^ CRC32C_BIT(i, 6, b) ^ CRC32C_BIT(i, 5, c) ^                  \
        CRC32C_BIT(i, 4, d) ^ CRC32C_BIT(i, 3, e) ^ CRC32C_BIT(i, 2, f) ^              \
        CRC32C_BIT(i, 1, g) ^ CRC32C_BIT(i, 0, h)

#define CRC32C_4(i, ...)                                                               \
    CRC32C_ENTRY((i) + 0u, __VA_ARGS__), CRC32C_ENTRY((i) + 1u, __VA_ARGS__),          \
        CRC32C_ENTRY((i) + 2u, __VA_ARGS__), CRC32C_ENTRY((i) + 3u, __VA_ARGS__)
#define CRC32C_16(i, ...)                                                              \
    CRC32C_4((i) + 0u, __VA_ARGS__), CRC32C_4((i) + 4u, __VA_ARGS__),                  \
        CRC32C_4((i) + 8u, __VA_ARGS__), CRC32C_4((i) + 12u, __VA_ARGS__)
#define CRC32C_64(i, ...)                                                              \
    CRC32C_16((i) + 0u, __VA_ARGS__), CRC32C_16((i) + 16u, __VA_ARGS__),               \
        CRC32C_16((i) + 32u, __VA_ARGS__), CRC32C_16((i) + 48u, __VA_ARGS__)
#define CRC32C_TABLE(...)                                                              \
    {                                                                                  \
        CRC32C_64(0u, __VA_ARGS__), CRC32C_64(64u, __VA_ARGS__),                       \
            CRC32C_64(128u, __VA_ARGS__), CRC32C_64(192u, __VA_ARGS__)                 \
    }

static const uint32_t crc32c_table[8][256] = {
    CRC32C_TABLE(0x82f63b78u, 0x417b1dbcu, 0x20bd8edeu, 0x105ec76fu,
                 0x8ad958cfu, 0xc79a971fu, 0xe13b70f7u, 0xf26b8303u),
    CRC32C_TABLE(0xfbc3faf9u, 0xff17c604u, 0x7f8be302u, 0x3fc5f181u,
                 0x9d14c3b8u, 0x4e8a61dcu, 0x274530eeu, 0x13a29877u),
    CRC32C_TABLE(0x8b277743u, 0xc76580d9u, 0xe144fb14u, 0x70a27d8au,
                 0x38513ec5u, 0x9edea41au, 0x4f6f520du, 0xa541927eu),
    CRC32C_TABLE(0x52a0c93fu, 0xaba65fe7u, 0xd725148bu, 0xe964b13du,
                 0xf64463e6u, 0x7b2231f3u, 0xbf672381u, 0xdd45aab8u),
    CRC32C_TABLE(0x6ea2d55cu, 0x37516aaeu, 0x1ba8b557u, 0x8f2261d3u,
                 0xc5670b91u, 0xe045beb0u, 0x7022df58u, 0x38116facu),
    CRC32C_TABLE(0x1c08b7d6u, 0x0e045bebu, 0x85f4168du, 0xc00c303eu,
                 0x6006181fu, 0xb2f53777u, 0xdb8ca0c3u, 0xef306b19u),
    CRC32C_TABLE(0xf56e0ef4u, 0x7ab7077au, 0x3d5b83bdu, 0x9c5bfaa6u,
                 0x4e2dfd53u, 0xa5e0c5d1u, 0xd0065990u, 0x68032cc8u),
    CRC32C_TABLE(0x34019664u, 0x1a00cb32u, 0x0d006599u, 0x847609b4u,
                 0x423b04dau, 0x211d826du, 0x9278fa4eu, 0x493c7d27u),
};

uint32_t levada_crc32c_mask(uint32_t crc) { return levada_crc32c_masked(crc); }

uint32_t levada_crc32c_unmask(uint32_t masked)
{
    uint32_t rotated = masked - 0xa282ead8u;

    return (rotated << 15) | (rotated >> 17);
}

/* Returns the shares of four bytes that are t + 3 ... t bytes before the end of the group. */
static LEVADA_ALWAYS_INLINE uint32_t crc32c_four(uint32_t word, int t)
{
    return crc32c_table[t + 3][word & 0xffu] ^ crc32c_table[t + 2][(word >> 8) & 0xffu] ^
           crc32c_table[t + 1][(word >> 16) & 0xffu] ^ crc32c_table[t][word >> 24];
}

uint32_t levada_crc32c_portable(uint32_t crc, const uint8_t *data, size_t n)
{
    uint32_t state = ~crc;

    for (; n >= 8; data += 8, n -= 8)
        state = crc32c_four(state ^ levada_load_u32(data), 4) ^
                crc32c_four(levada_load_u32(data + 4), 0);
    for (; n > 0; data++, n--) state = (state >> 8) ^ crc32c_table[0][(state ^ *data) & 0xffu];
    return ~state;
}
