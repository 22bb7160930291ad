/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hashes of bytes: fast, well mixed, the same on every machine and in every release, since saved
 * states contain them. Not for secrets.
 */
#ifndef LEVADA_BASE_HASH_H
#define LEVADA_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

uint64_t levada_hash64(const void *bytes, size_t n, uint64_t seed);
void     levada_hash128(const void *bytes, size_t n, uint64_t seed, uint8_t out[16]);

#endif
