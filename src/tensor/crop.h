/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random windows of images, which follow from a key of the record: levada_block_row_key. Pure, any
 * thread.
 */
#ifndef LEVADA_TENSOR_CROP_H
#define LEVADA_TENSOR_CROP_H

#include "tensor/image.h"
#include <levada/option.h>

/* RandomResizedCrop of torchvision: limits of the window's share of the area, and of width /
 * height. */
typedef struct levada_crop_rule {
    double scale[2], ratio[2];
} levada_crop_rule;

/* Reads two lists of two numbers, the options of these names. */
LEVADA_MUST_USE levada_status levada_crop_rule_of(levada_floats scale, const char *scale_name,
                                                  levada_floats ratio, const char *ratio_name,
                                                  levada_crop_rule *out, levada_error *err);
/* Draws a window of an image of at least one pixel: the first of ten that fits, else the largest in
 * the middle with a ratio within the limits. */
void levada_crop_draw(const levada_crop_rule *rule, uint64_t key, int64_t height, int64_t width,
                      levada_image *window);

#endif
