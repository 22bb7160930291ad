/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Images as stages see them: rows of pixels that lie anywhere in memory. A window of an image is an
 * image, so that cropping copies nothing. Columns with images have the form [height, width, ...];
 * the first two dimensions may be ragged. Pure, any thread.
 */
#ifndef LEVADA_TENSOR_IMAGE_H
#define LEVADA_TENSOR_IMAGE_H

#include <levada/block.h>

typedef struct levada_image {
    const uint8_t *values; /* borrowed */
    const int32_t *lines;  /* the first pixel of each row; NULL = rows are adjacent */
    int64_t        stride; /* pixels of a row, if rows are adjacent */
    int64_t        y, x, height, width; /* the window */
    int64_t        pixel_bytes;
} levada_image;

/* Refuses a field that does not have the form of images. */
LEVADA_MUST_USE levada_status levada_image_check(const levada_field *f, levada_error *err);
/* Returns the number of values in a pixel, -1 if each block sets it. */
int64_t levada_image_channels(const levada_field *f);
/* Returns a row of a column as an image; refuses it if its rows have different lengths. An empty
 * image is good. */
LEVADA_MUST_USE levada_status levada_image_of(const levada_column *c, int64_t row,
                                              levada_image *out, levada_error *why);

static inline const uint8_t *levada_image_line(const levada_image *m, int64_t y)
{
    int64_t first = m->lines ? m->lines[m->y + y] : (m->y + y) * m->stride;

    return m->values + (first + m->x) * m->pixel_bytes;
}

#endif
