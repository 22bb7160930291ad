/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Resizes images of uint8 or float32. Each pixel of the result is a sum with weights: of rows of
 * pixels first, and then of the pixels of that sum. One thread owns a resizer, whose weights stay
 * for the next image of the same size.
 */
#ifndef LEVADA_TENSOR_RESIZE_H
#define LEVADA_TENSOR_RESIZE_H

#include "base/kernels.h"
#include "tensor/image.h"

typedef enum levada_resize_method {
    LEVADA_RESIZE_BILINEAR,  /* between the nearest pixels, half-pixel centers           */
    LEVADA_RESIZE_ANTIALIAS, /* bilinear; a triangle over the covered pixels if smaller  */
    LEVADA_RESIZE_AREA,      /* mean of the covered pixels                               */
    LEVADA_RESIZE_NEAREST    /* copies of the nearest pixels, half-pixel centers         */
} levada_resize_method;

/* One dimension. */
typedef struct levada_resize_axis {
    levada_pixel_tap    *taps;
    float               *weights;
    int64_t              taps_capacity, weights_capacity, from, to; /* sizes that they are for */
    int64_t              most; /* pixels of a tap */
    levada_resize_method method;
} levada_resize_axis;

/* All zeros are valid. */
typedef struct levada_resizer {
    const levada_kernels *kernels; /* NULL = the best of this machine */
    levada_resize_axis    rows, cells;
    const void          **lines; /* rows of pixels that make a row of the result */
    float                *sums;  /* of rows of pixels, for two rows of the result */
    float                *pixels; /* two rows of the result */
    int64_t               lines_capacity, sums_capacity, pixels_capacity;
} levada_resizer;

typedef struct levada_resize_to {
    levada_dtype         dtype; /* of both: uint8 or float32; any numbers for the nearest pixels */
    int64_t              height, width, channels;
    levada_resize_method method;
} levada_resize_to;

/* Changes the shape of a field of images to that of resized images; refuses fields that the method
 * does not resize. */
LEVADA_MUST_USE levada_status levada_resize_field(levada_field *f, levada_resize_method method,
                                                  int64_t height, int64_t width,
                                                  levada_error *err);
/* Writes height * width pixels. Fails only without memory, or with an image without
 * pixels. */
LEVADA_MUST_USE levada_status levada_resize(levada_resizer *s, const levada_image *from,
                                            const levada_resize_to *to, void *values,
                                            levada_error *why);
void levada_resizer_clear(levada_resizer *s);

#endif
