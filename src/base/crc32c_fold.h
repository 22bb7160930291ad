/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folding with the carry-less multiplication, for the kernels that have it.
 *
 * A 128-bit lane holds 16 bytes of the message: 8 early bytes (low half, "lo") and 8 late ones
 * ("hi"). Moving the lane D bits towards the end of the message multiplies it by x^D, and
 *     lo * x^(D + 64) + hi * x^D  =  lo * (x^(D + 64) mod P) + hi * (x^D mod P)    (mod P),
 * two products of at most 64 + 32 bits, so the result fits in the lane at its new place, where it
 * is added (XOR) to what is there. Whatever the length of the message, what is left in the end
 * is one lane with the same remainder, which two crc32 instructions reduce to 32 bits.
 *
 * Bits are reflected. As 64-bit factors the constants below carry x^32 too many, and a reflected
 * carry-less product comes out multiplied by x; so the exponents are D + 64 - 33 and D - 33:
 *     FOLD_D = { x^(D + 31) mod P, x^(D - 33) mod P },
 * with x^k made by the chain in crc32c.c (x^0 = 0x80000000). tests/unit/test_crc32c.c does so.
 *
 * A CRC that starts from zero does not see leading zeros. So a message may be rounded up at its
 * front to whole blocks, its start state added to the first four real bytes: there is no tail.
 */
#ifndef LEVADA_BASE_CRC32C_FOLD_H
#define LEVADA_BASE_CRC32C_FOLD_H

#define LEVADA_FOLD_128_LO 0xf20c0dfeull
#define LEVADA_FOLD_128_HI 0x493c7d27ull
#define LEVADA_FOLD_256_LO 0x3da6d0cbull
#define LEVADA_FOLD_256_HI 0xba4fc28eull
#define LEVADA_FOLD_384_LO 0x1c291d04ull
#define LEVADA_FOLD_384_HI 0xddc0152bull
#define LEVADA_FOLD_512_LO 0x740eef02ull
#define LEVADA_FOLD_512_HI 0x9e4addf8ull
#define LEVADA_FOLD_1024_LO 0x6992cea2ull
#define LEVADA_FOLD_1024_HI 0x0d3b6092ull
#define LEVADA_FOLD_1536_LO 0xa87ab8a8ull
#define LEVADA_FOLD_1536_HI 0xab7aff2aull
#define LEVADA_FOLD_2048_LO 0xdcb17aa4ull
#define LEVADA_FOLD_2048_HI 0xb9e02b86ull

#endif
