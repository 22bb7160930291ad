/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random windows of images. All draws follow from a key of the stage and epoch and from the origin
 * of a record, so they do not depend on threads, block sizes, ranks or saves. Pure, any thread.
 */
#ifndef LEVADA_TENSOR_CROP_H
#define LEVADA_TENSOR_CROP_H

#include "tensor/image.h"
#include <levada/stage.h>

/* Returns the key of a stage in an epoch: of its option `seed`, or LEVADA_NULL_INT for the seed of
 * the iterator. */
uint64_t levada_draw_key(const levada_context *context, int64_t seed);

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
