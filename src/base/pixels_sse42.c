/* SPDX-License-Identifier: Apache-2.0 */
/* Mirrors rows of pixels: one shuffle turns as many pixels as 16 bytes hold. */
#include "base/kernels_priv.h"

#include <immintrin.h>
#include <string.h>

enum { PIXELS_WIDE = 16 };

LEVADA_TARGET_SSE42
static LEVADA_ALWAYS_INLINE __m128i pixels_load(const uint8_t *p)
{
    return _mm_loadu_si128((const __m128i *)(const void *)p);
}

LEVADA_TARGET_SSE42
static LEVADA_ALWAYS_INLINE void pixels_store(uint8_t *p, __m128i bytes)
{
    _mm_storeu_si128((__m128i *)(void *)p, bytes);
}

/* Writes the shuffle that turns pixels of `size` bytes, of which `step` bytes are whole, between
 * places that become 0. */
static LEVADA_ALWAYS_INLINE void pixels_turn(int64_t size, int64_t step, uint8_t *places)
{
    memset(places, 0x80, 3 * PIXELS_WIDE);
    places += PIXELS_WIDE;
    for (int64_t pixel = step - size; pixel >= 0; pixel -= size)
        for (int64_t i = 0; i < size; i++) *places++ = (uint8_t)(pixel + i);
}

LEVADA_TARGET_SSE42
void levada_pixels_reverse_sse42(const uint8_t *from, int64_t n, int64_t size, uint8_t *to)
{
    int64_t all = n * size, step = size > 0 && size <= PIXELS_WIDE ? PIXELS_WIDE / size * size : 0;
    int64_t rest = PIXELS_WIDE - step, at = step;
    uint8_t places[3 * PIXELS_WIDE];
    __m128i turn, shift, last;

    if (step == 0 || all < PIXELS_WIDE) {
        levada_pixels_reverse_portable(from, n, size, to);
        return;
    }
    pixels_turn(size, step, places);
    turn = pixels_load(places + PIXELS_WIDE);
    /* The first pixels come from the end of the row, beyond which nothing may be read. */
    shift = _mm_add_epi8(turn, _mm_set1_epi8((char)rest));
    pixels_store(to, _mm_shuffle_epi8(pixels_load(from + all - PIXELS_WIDE), shift));
    for (; at + PIXELS_WIDE <= all; at += step)
        pixels_store(to + at, _mm_shuffle_epi8(pixels_load(from + all - at - step), turn));
    /* At most one step is left. It ends where the row ends, after bytes that are there. */
    shift = pixels_load(places + PIXELS_WIDE - rest);
    last = _mm_shuffle_epi8(pixels_load(from), shift);
    last = _mm_blendv_epi8(last, pixels_load(to + all - PIXELS_WIDE), shift);
    pixels_store(to + all - PIXELS_WIDE, last);
}
