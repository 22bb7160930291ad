/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Images of a block, for decode_jpeg, decode_png, decode_image and image_info.
 *
 * A block takes two passes: the headers of all images are read for the sizes, so that memory can be
 * taken once; then each is decoded to its place. A header is believed only where as many pixels can
 * be in as many bytes. An image that cannot be decoded is rejected alone, and leaves an empty row,
 * or one of zeros. Functions with a `why` fill it in and return its code.
 */
#ifndef LEVADA_DECODE_PICTURE_H
#define LEVADA_DECODE_PICTURE_H

#include "tensor/crop.h"
#include "tensor/resize.h"
#include <levada/builder.h>
#include <levada/decoder.h>

#define LEVADA_PICTURE_MOST_PIXELS "134217728" /* default of max_pixels: 2^27 */

typedef enum levada_picture_kind {
    LEVADA_PICTURE_UNKNOWN,
    LEVADA_PICTURE_JPEG,
    LEVADA_PICTURE_PNG
} levada_picture_kind;

/* What the header of an image says. */
typedef struct levada_picture {
    levada_picture_kind kind;
    int32_t             height, width;
    int32_t             channels; /* as stored: of CMYK 3, of a palette 3 or 4 */
    int32_t             bits;     /* of one channel */
    int32_t             planes;   /* numbers of a stored pixel */
    bool                dense;    /* there is no limit of pixels in a byte */
} levada_picture;

/* The part of an image that is wanted. */
typedef struct levada_picture_window {
    int32_t y, x, height, width;
} levada_picture_window;

typedef struct levada_picture_options {
    levada_dtype          dtype; /* uint8 or uint16 (PNG only) */
    int32_t               channels;
    int64_t               max_pixels;
    bool                  crops;
    levada_picture_window crop; /* in pixels of the scaled image; y, x: 0 where drawn */
    bool                  draws; /* the place of the window, for each record and epoch */
    bool                  resizes; /* a window that `rule` draws becomes an image of size `to` */
    levada_crop_rule      rule;
    levada_resize_to      to;
    int64_t               seed;    /* of windows that `rule` draws; LEVADA_NULL_INT = none */
    bool                  orients; /* as the EXIF data says; windows are those of the result */
    /* JPEG */
    int32_t               ratio;      /* the size is divided by it, rounded up */
    bool                  fancy;      /* smooth upsampling of color */
    bool                  fast;       /* the less exact DCT */
    bool                  recovers;   /* damaged data is decoded as far as possible */
    double                acceptable; /* part of the rows that a truncated image must have */
} levada_picture_options;

/* Scratch of a worker: what libraries keep from image to image. */
typedef struct levada_picture_tools {
    struct levada_jpeg   *jpeg;
    const levada_context *context; /* seed and epoch of random numbers */
    levada_resizer        resizer;
    uint8_t              *scratch; /* a window as stored, and turned */
    int64_t               capacity;
} levada_picture_tools;

/* The options of decode_jpeg and decode_image, and those of decode_png. */
typedef struct levada_picture_args {
    levada_dtype dtype; /* of decode_png alone */
    int64_t      channels, ratio;
    levada_ints  crop, random_crop, random_resized_crop;

    levada_floats crop_scale, crop_ratio;
    bool          antialias;
    int64_t       method, seed;

    bool        orient, fancy_upscaling, try_recover_truncated;
    double      acceptable_fraction;
    int64_t     dct_method, max_pixels;
} levada_picture_args;

#define LEVADA_PICTURE_RANDOM_CROP                                                             \
    "[height, width] of a window at a random position, which depends on the seed, the epoch "  \
    "and the record; null = none"

/* The options of these decoders that choose a window. */
#define LEVADA_PICTURE_WINDOWS                                                                 \
    LEVADA_ARG(INTS, levada_picture_args, crop, .min = 0, .max = INT32_MAX,                    \
               .doc = "[y, x, height, width] to decode, in pixels of the result; null = all"), \
    LEVADA_ARG(INTS, levada_picture_args, random_crop, .min = 1, .max = INT32_MAX,             \
               .doc = LEVADA_PICTURE_RANDOM_CROP),                                             \
    LEVADA_ARG(INTS, levada_picture_args, random_resized_crop, .min = 1, .max = 65536,         \
               .doc = "[height, width] or one number: decode a random window alone and resize " \
                      "it, as the stage random_resized_crop does; null = none"),               \
    LEVADA_ARG(FLOATS, levada_picture_args, crop_scale, .otherwise = "[0.08,1]",               \
               .doc = "random_resized_crop: least and largest share of the area in the window"), \
    LEVADA_ARG(FLOATS, levada_picture_args, crop_ratio,                                        \
               .otherwise = "[0.75,1.3333333333333333]",                                       \
               .doc = "random_resized_crop: least and largest width / height of the window"),  \
    LEVADA_ARG(BOOL, levada_picture_args, antialias, .otherwise = "true",                      \
               .doc = "random_resized_crop: weigh all covered pixels if the result is smaller"), \
    LEVADA_ARG(CHOICE, levada_picture_args, method, .choices = "bilinear|nearest",             \
               .doc = "random_resized_crop: bilinear: interpolate between the nearest pixels; " \
                      "nearest: copy the nearest pixel, for masks of labels, and for uint16, " \
                      "which bilinear refuses"),                                               \
    LEVADA_ARG(INT, levada_picture_args, seed, .min = 0, .max = INT64_MAX,                     \
               .doc = "random_resized_crop: seed; stages with the same seed on other fields " \
                      "draw the same windows; null = the seed of the iterator"),               \
    LEVADA_ARG(BOOL, levada_picture_args, orient, .otherwise = "false",                        \
               .doc = "turn and mirror the image as its EXIF orientation says; crops apply to " \
                      "the result")

#define LEVADA_PICTURE_LIMIT                                                                   \
    LEVADA_ARG(INT, levada_picture_args, max_pixels, .otherwise = LEVADA_PICTURE_MOST_PIXELS,  \
               .min = 1, .max = 1 << 30,                                                    \
               .doc = "maximum number of pixels; a larger image is a bad record")

/* The options of decode_jpeg and decode_image, after `channels`. */
#define LEVADA_PICTURE_ARGUMENTS                                                               \
    LEVADA_ARG(INT, levada_picture_args, ratio, .otherwise = "1", .min = 1, .max = 8,          \
               .doc = "divides height and width of JPEG data while decoding: 1, 2, 4 or 8"),   \
    LEVADA_PICTURE_WINDOWS,                                                                    \
    LEVADA_ARG(BOOL, levada_picture_args, fancy_upscaling, .otherwise = "true",                \
               .doc = "smooth upsampling of the colors of JPEG data"),                         \
    LEVADA_ARG(BOOL, levada_picture_args, try_recover_truncated, .otherwise = "false",         \
               .doc = "decode truncated or damaged JPEG data as far as possible"),             \
    LEVADA_ARG(FLOAT, levada_picture_args, acceptable_fraction, .otherwise = "1", .min = 0,    \
               .max = 1,                                                                       \
               .doc = "share of the rows that truncated JPEG data must have; missing rows "     \
                      "are black"),                                                            \
    LEVADA_ARG(CHOICE, levada_picture_args, dct_method,                                        \
               .choices = "INTEGER_ACCURATE|INTEGER_FAST", .doc = "exact, or a little faster"), \
    LEVADA_PICTURE_LIMIT

/* Reads kind and sizes of an image. */
levada_status levada_picture_probe(const uint8_t *data, int32_t size, levada_picture *out,
                                   levada_error *why);

/* Returns the EXIF orientation of an image, 1 to 8; 1 (as stored) if it has none, or damaged data.
 */
int32_t levada_picture_orientation(levada_picture_kind kind, const uint8_t *data, int32_t size);
/* Returns true if the orientation exchanges rows and columns. */
static inline bool levada_picture_swaps(int32_t orientation) { return orientation >= 5; }
/* Returns the window of the stored image, of that height and width, that becomes `w` of the result.
 */
levada_picture_window levada_picture_stored(int32_t orientation, levada_picture_window w,
                                            int32_t height, int32_t width);
/* Copies a stored image to one that is turned and mirrored. */
void levada_picture_turn(int32_t orientation, const uint8_t *from, int32_t height, int32_t width,
                         int64_t pixel, uint8_t *to);

/* Makes one column of a decoder that replaces its own. */
levada_status levada_picture_spec(const levada_picture_options *o, levada_spec **out,
                                  levada_error *err);
levada_status levada_picture_decode(const levada_picture_options *o, levada_picture_tools *tools,
                                    const levada_strings *in, levada_builder *out,
                                    levada_error *err);
/* Returns the number of bytes that the image takes decoded, as far as its header can be believed.
 * */
int64_t levada_picture_measure(const levada_picture_options *o, const uint8_t *data, int32_t size);
void levada_picture_close(levada_picture_tools *tools);

/* Checks the options of a decoder of images of that dtype. */
levada_status levada_picture_options_of(const levada_picture_args *a, levada_dtype dtype,
                                        levada_picture_options *o, levada_error *err);
/* Draws what is random with these options. */
void levada_picture_vary(const void *args, levada_traits *traits);
/* Implements the hook of a decoder: random windows follow from the context. */
levada_status levada_picture_open(void *state, const void *args, const levada_context *context,
                                  levada_error *err);

/* Returns the gray of a color of up to 16 bits, for every image: 0.299 red + 0.587 green + 0.114
 * blue, as JPEG and Pillow define it. */
static inline uint32_t levada_picture_luma(uint32_t red, uint32_t green, uint32_t blue)
{
    return (19595 * red + 38470 * green + 7471 * blue + 32768) >> 16;
}

/* The libraries, one file each. `pixels` holds the rows of `window`, one after the other. */
struct levada_jpeg;
levada_status levada_jpeg_decode(struct levada_jpeg **tool, const levada_picture_options *o,
                                 const uint8_t *data, int32_t size,
                                 const levada_picture *picture,
                                 const levada_picture_window *window, uint8_t *pixels,
                                 levada_error *why);
void levada_jpeg_close(struct levada_jpeg **tool);
levada_status levada_png_decode(const levada_picture_options *o, const uint8_t *data, int32_t size,
                                const levada_picture *picture,
                                const levada_picture_window *window, uint8_t *pixels,
                                levada_error *why);

#endif
