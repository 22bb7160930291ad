/* SPDX-License-Identifier: Apache-2.0 */
#include "base/kernels_priv.h"

/* Aligned as a whole register wants it. */
const uint8_t levada_kernel_count[64] LEVADA_ALIGNED(64) = {
    0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
    22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43,
    44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63};

#define MASKS_8 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff
#define MASKS_64                                                                             \
    MASKS_8, MASKS_8, MASKS_8, MASKS_8, MASKS_8, MASKS_8, MASKS_8, MASKS_8
const uint8_t levada_frame_keep[256] LEVADA_ALIGNED(64) = {
    [128] = MASKS_64, MASKS_64,
};
const uint8_t levada_frame_start[256] LEVADA_ALIGNED(64) = {
    [128] = 0xff, [129] = 0xff, [130] = 0xff, [131] = 0xff};
