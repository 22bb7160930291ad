/* SPDX-License-Identifier: Apache-2.0 */
/*
 * decode_png - PNG images to pixels: tf.io.decode_png (core/kernels/image/decode_image_op.cc). JPEG
 * data is decoded, too, where dtype is uint8.
 */
#include "decode/picture.h"
#include "decode/picture_samples.h"

typedef struct decode_png_args {
    int64_t      channels;
    levada_dtype dtype;
    levada_ints  crop, random_crop;
    int64_t      max_pixels;
} decode_png_args;

static const levada_arg decode_png_arguments[] = {
    LEVADA_ARG(INT, decode_png_args, channels, .otherwise = "3", .positional = true,
               .min = 1, .max = 4,
               .doc = "channels of a pixel: 1 (gray), 2 (gray, alpha), 3 or 4 (with alpha)"),
    LEVADA_ARG(DTYPE, decode_png_args, dtype, .otherwise = "uint8",
               .doc = "uint8 or uint16; uint8 drops the lower 8 of 16 bits, uint16 multiplies 8 "
                      "bits by 257"),
    LEVADA_ARG(INTS, decode_png_args, crop, .min = 0, .max = INT32_MAX,
               .doc = "[y, x, height, width] of the result; null = all"),
    LEVADA_ARG(INTS, decode_png_args, random_crop, .min = 1, .max = INT32_MAX,
               .doc = LEVADA_PICTURE_RANDOM_CROP),
    LEVADA_ARG(INT, decode_png_args, max_pixels, .otherwise = LEVADA_PICTURE_MOST_PIXELS, .min = 1,
               .max = 1 << 30, .doc = "maximum number of pixels; a larger image is a bad record"),
    LEVADA_ARG_END
};

static levada_status decode_png_options_of(const void *args, levada_picture_options *o,
                                           levada_error *err)
{
    const decode_png_args *a = args;

    *o = (levada_picture_options){
        .dtype = a->dtype,
        .channels = (int32_t)a->channels,
        .max_pixels = a->max_pixels,
        .ratio = 1,
        .fancy = true,
        .acceptable = 1,
    };
    if (a->dtype != LEVADA_UINT8 && a->dtype != LEVADA_UINT16) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "dtype=%s must be uint8 or uint16",
                           levada_dtype_name(a->dtype));
    }
    return levada_picture_crop(a->crop, a->random_crop, o, err);
}

static levada_status decode_png_check(const void *args, levada_spec **out, levada_error *err)
{
    levada_picture_options o;

    LEVADA_TRY(decode_png_options_of(args, &o, err));
    return levada_picture_spec(&o, out, err);
}

static void decode_png_close(void *state) { levada_picture_close(state); }

static levada_status decode_png_decode(void *state, const void *args, const levada_strings *in,
                                levada_builder *out, levada_error *err)
{
    levada_picture_options o;

    LEVADA_TRY(decode_png_options_of(args, &o, err));
    return levada_picture_decode(&o, state, in, out, err);
}

static int64_t decode_png_measure(const void *args, const uint8_t *data, int32_t size)
{
    levada_picture_options o;

    if (decode_png_options_of(args, &o, NULL) != LEVADA_OK) return 0;
    return levada_picture_measure(&o, data, size);
}

static void decode_png_vary(const void *args, levada_traits *traits)
{
    if (((const decode_png_args *)args)->random_crop.n > 0)
        traits->random = LEVADA_RANDOM_BY_RECORD;
}

static const levada_example_file decode_png_files[] = {
    { "image.png", LEVADA_SAMPLE_PNG, LEVADA_SAMPLE_PNG_SIZE },
    { NULL, NULL, 0 }
};

const levada_decoder_def levada_decoder_decode_png = {
    .struct_size = sizeof(levada_decoder_def),
    .name = "decode_png",
    .doc = "decodes PNG images to pixels",
    .example = "fixed_length:image.png,record_bytes=81 | decode_png:3",
    .example_files = decode_png_files,
    .field = "record",
    .traits = LEVADA_TRAITS(.vary = decode_png_vary),
    .args = decode_png_arguments,
    .args_size = sizeof(decode_png_args),
    .state_size = sizeof(levada_picture_tools),
    .check = decode_png_check,
    .open = levada_picture_open,
    .close = decode_png_close,
    .decode = decode_png_decode,
    .measure = decode_png_measure,
    .replaces = true,
};
