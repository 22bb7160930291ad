/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two lanes of 64 bits take 8 bytes each a step, by xor, multiply and rotate, and feed each other;
 * the end mixes them until each bit of the input reaches each bit of the result.
 */
#include "base/hash.h"

#define HASH_A UINT64_C(0x9FB21C651E98DF25)
#define HASH_B UINT64_C(0xD6E8FEB86659FD93)
#define HASH_C UINT64_C(0xC2B2AE3D27D4EB4F)

typedef struct hash_state {
    uint64_t a, b;
} hash_state;

static uint64_t hash_rotate(uint64_t x, unsigned bits)
{
    return (x << bits) | (x >> (64 - bits));
}

static uint64_t hash_load(const uint8_t *p)
{
    uint64_t x = 0;

    for (unsigned i = 0; i < 8; i++) x |= (uint64_t)p[i] << (8 * i);
    return x;
}

static uint64_t hash_finish(uint64_t x)
{
    x = (x ^ (x >> 32)) * HASH_A;
    x = (x ^ (x >> 29)) * HASH_B;
    return x ^ (x >> 32);
}

static void hash_step(hash_state *s, const uint8_t *p)
{
    s->a = hash_rotate((s->a ^ hash_load(p)) * HASH_A, 29) + s->b;
    s->b = hash_rotate((s->b ^ hash_load(p + 8)) * HASH_B, 31) + s->a;
}

static hash_state hash_run(const void *bytes, size_t n, uint64_t seed)
{
    const uint8_t *p = bytes;
    hash_state     s = {seed ^ HASH_B, hash_rotate(seed, 32) ^ HASH_C};
    uint8_t        tail[16] = {0};
    size_t         left = n;

    for (; left >= 16; left -= 16, p += 16) hash_step(&s, p);
    for (size_t i = 0; i < left; i++) tail[i] = p[i];
    if (left > 0) hash_step(&s, tail);
    s.a ^= (uint64_t)n * HASH_C;
    s.a = hash_finish(s.a + hash_rotate(s.b, 17));
    s.b = hash_finish(s.b ^ s.a);
    s.a = hash_finish(s.a + s.b);
    return s;
}

uint64_t levada_hash64(const void *bytes, size_t n, uint64_t seed)
{
    return hash_run(bytes, n, seed).a;
}

void levada_hash128(const void *bytes, size_t n, uint64_t seed, uint8_t out[16])
{
    hash_state s = hash_run(bytes, n, seed);

    for (unsigned i = 0; i < 8; i++) {
        out[i] = (uint8_t)(s.a >> (8 * i));
        out[8 + i] = (uint8_t)(s.b >> (8 * i));
    }
}
