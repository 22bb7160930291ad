/* SPDX-License-Identifier: Apache-2.0 */
/*
 * decode_jpeg - JPEG images to pixels: tf.io.decode_jpeg, decode_and_crop_jpeg
 * (core/kernels/image/decode_image_op.cc). PNG data is decoded, too.
 *
 * An image is rows of pixels, ragged in both, or of one size where a window is cut out.
 */
#include "decode/picture.h"
#include "decode/picture_samples.h"

typedef struct decode_jpeg_args {
    int64_t     channels, ratio;
    levada_ints crop;
    bool        fancy_upscaling, try_recover_truncated;
    double      acceptable_fraction;
    int64_t     dct_method, max_pixels;
} decode_jpeg_args;

static const levada_arg decode_jpeg_arguments[] = {
    LEVADA_ARG(INT, decode_jpeg_args, channels, .otherwise = "3", .positional = true,
               .min = 1, .max = 4,
               .doc = "numbers of a pixel: 1 (gray) or 3; of PNG data 2 and 4, too"),
    LEVADA_ARG(INT, decode_jpeg_args, ratio, .otherwise = "1", .min = 1, .max = 8,
               .doc = "divides height and width of JPEG data while decoding: 1, 2, 4 or 8"),
    LEVADA_ARG(INTS, decode_jpeg_args, crop, .min = 0, .max = INT32_MAX,
               .doc = "[y, x, height, width] to decode, in pixels of the result; null = all"),
    LEVADA_ARG(BOOL, decode_jpeg_args, fancy_upscaling, .otherwise = "true",
               .doc = "smooth upsampling of the colors of JPEG data"),
    LEVADA_ARG(BOOL, decode_jpeg_args, try_recover_truncated, .otherwise = "false",
               .doc = "decode truncated or damaged JPEG data as far as possible"),
    LEVADA_ARG(FLOAT, decode_jpeg_args, acceptable_fraction, .otherwise = "1", .min = 0, .max = 1,
               .doc = "part of the rows that truncated JPEG data must have; the others are black"),
    LEVADA_ARG(CHOICE, decode_jpeg_args, dct_method, .choices = "INTEGER_ACCURATE|INTEGER_FAST",
               .doc = "exact, or a little faster"),
    LEVADA_ARG(INT, decode_jpeg_args, max_pixels, .otherwise = LEVADA_PICTURE_MOST_PIXELS, .min = 1,
               .max = 1 << 30, .doc = "images with more pixels are refused"),
    LEVADA_ARG_END
};

static levada_status decode_jpeg_check_ratio(int64_t ratio, levada_error *err)
{
    if (ratio == 1 || ratio == 2 || ratio == 4 || ratio == 8) return LEVADA_OK;
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "ratio must be 1, 2, 4, or 8, got %lld",
                       (long long)ratio);
}

static levada_status decode_jpeg_options_of(const void *args, levada_picture_options *o,
                                            levada_error *err)
{
    const decode_jpeg_args *a = args;

    *o = (levada_picture_options){
        .dtype = LEVADA_UINT8,
        .channels = (int32_t)a->channels,
        .max_pixels = a->max_pixels,
        .ratio = (int32_t)a->ratio,
        .fancy = a->fancy_upscaling,
        .fast = a->dct_method == 1,
        .recovers = a->try_recover_truncated,
        .acceptable = a->acceptable_fraction,
    };
    LEVADA_TRY(decode_jpeg_check_ratio(a->ratio, err));
    return levada_picture_crop(a->crop, o, err);
}

static levada_status decode_jpeg_check(const void *args, levada_spec **out, levada_error *err)
{
    levada_picture_options o;

    LEVADA_TRY(decode_jpeg_options_of(args, &o, err));
    return levada_picture_spec(&o, out, err);
}

static void decode_jpeg_close(void *state) { levada_picture_close(state); }

static levada_status decode_jpeg_decode(void *state, const void *args, const levada_strings *in,
                                levada_builder *out, levada_error *err)
{
    levada_picture_options o;

    LEVADA_TRY(decode_jpeg_options_of(args, &o, err));
    return levada_picture_decode(&o, state, in, out, err);
}

static int64_t decode_jpeg_measure(const void *args, const uint8_t *data, int32_t size)
{
    levada_picture_options o;

    if (decode_jpeg_options_of(args, &o, NULL) != LEVADA_OK) return 0;
    return levada_picture_measure(&o, data, size);
}

static const levada_example_file decode_jpeg_files[] = {
    { "gray.jpg", LEVADA_SAMPLE_JPEG, LEVADA_SAMPLE_JPEG_SIZE },
    { NULL, NULL, 0 }
};

const levada_decoder_def levada_decoder_decode_jpeg = {
    .struct_size = sizeof(levada_decoder_def),
    .name = "decode_jpeg",
    .doc = "JPEG images to pixels",
    .example = "fixed_length:gray.jpg,record_bytes=166 | decode_jpeg:1",
    .example_files = decode_jpeg_files,
    .field = "record",
    .args = decode_jpeg_arguments,
    .args_size = sizeof(decode_jpeg_args),
    .state_size = sizeof(levada_picture_tools),
    .check = decode_jpeg_check,
    .close = decode_jpeg_close,
    .decode = decode_jpeg_decode,
    .measure = decode_jpeg_measure,
    .replaces = true,
};
