/* SPDX-License-Identifier: Apache-2.0 */
/*
 * decode_png - PNG images to pixels: tf.io.decode_png (core/kernels/image/decode_image_op.cc). JPEG
 * data is decoded, too, where dtype is uint8.
 */
#include "decode/picture.h"
#include "decode/picture_samples.h"

static const levada_arg decode_png_arguments[] = {
    LEVADA_ARG(INT, levada_picture_args, channels, .otherwise = "3", .positional = true,
               .min = 1, .max = 4,
               .doc = "channels of a pixel: 1 (gray), 2 (gray, alpha), 3 or 4 (with alpha)"),
    LEVADA_ARG(DTYPE, levada_picture_args, dtype, .otherwise = "uint8",
               .doc = "uint8 or uint16; uint8 drops the lower 8 of 16 bits, uint16 multiplies 8 "
                      "bits by 257"),
    LEVADA_PICTURE_WINDOWS,
    LEVADA_PICTURE_LIMIT,
    LEVADA_ARG_END
};

static levada_status decode_png_options_of(const void *args, levada_picture_options *o,
                                           levada_error *err)
{
    levada_picture_args a = *(const levada_picture_args *)args;

    a.ratio = 1;
    a.fancy_upscaling = true;
    a.acceptable_fraction = 1;
    if (a.dtype == LEVADA_UINT8 || a.dtype == LEVADA_UINT16)
        return levada_picture_options_of(&a, a.dtype, o, err);
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "dtype=%s must be uint8 or uint16",
                       levada_dtype_name(a.dtype));
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
    .traits = LEVADA_TRAITS(.vary = levada_picture_vary),
    .args = decode_png_arguments,
    .args_size = sizeof(levada_picture_args),
    .state_size = sizeof(levada_picture_tools),
    .check = decode_png_check,
    .open = levada_picture_open,
    .close = decode_png_close,
    .decode = decode_png_decode,
    .measure = decode_png_measure,
    .replaces = true,
};
