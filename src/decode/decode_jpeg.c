/* SPDX-License-Identifier: Apache-2.0 */
/*
 * decode_jpeg - JPEG images to pixels: tf.io.decode_jpeg, decode_and_crop_jpeg
 * (core/kernels/image/decode_image_op.cc). PNG data is decoded, too.
 *
 * An image is rows of pixels, ragged in both, or of one size where a window is cut out.
 */
#include "decode/picture.h"
#include "decode/picture_samples.h"

static const levada_arg decode_jpeg_arguments[] = {
    LEVADA_ARG(INT, levada_picture_args, channels, .otherwise = "3", .positional = true,
               .min = 1, .max = 4,
               .doc = "channels of a pixel: 1 (gray) or 3; for PNG data also 2 and 4 (with alpha)"),
    LEVADA_PICTURE_ARGUMENTS,
    LEVADA_ARG_END
};

static levada_status decode_jpeg_check(const void *args, levada_spec **out, levada_error *err)
{
    levada_picture_options o;

    LEVADA_TRY(levada_picture_options_of(args, LEVADA_UINT8, &o, err));
    return levada_picture_spec(&o, out, err);
}

static void decode_jpeg_close(void *state) { levada_picture_close(state); }

static levada_status decode_jpeg_decode(void *state, const void *args, const levada_strings *in,
                                levada_builder *out, levada_error *err)
{
    levada_picture_options o;

    LEVADA_TRY(levada_picture_options_of(args, LEVADA_UINT8, &o, err));
    return levada_picture_decode(&o, state, in, out, err);
}

static int64_t decode_jpeg_measure(const void *args, const uint8_t *data, int32_t size)
{
    levada_picture_options o;

    if (levada_picture_options_of(args, LEVADA_UINT8, &o, NULL) != LEVADA_OK) return 0;
    return levada_picture_measure(&o, data, size);
}

static const levada_example_file decode_jpeg_files[] = {
    { "gray.jpg", LEVADA_SAMPLE_JPEG, LEVADA_SAMPLE_JPEG_SIZE },
    { NULL, NULL, 0 }
};

const levada_decoder_def levada_decoder_decode_jpeg = {
    .struct_size = sizeof(levada_decoder_def),
    .name = "decode_jpeg",
    .doc = "decodes JPEG images to pixels",
    .example = "fixed_length:gray.jpg,record_bytes=166 | decode_jpeg:1,orient=true",
    .example_files = decode_jpeg_files,
    .field = "record",
    .traits = LEVADA_TRAITS(.vary = levada_picture_vary),
    .args = decode_jpeg_arguments,
    .args_size = sizeof(levada_picture_args),
    .state_size = sizeof(levada_picture_tools),
    .check = decode_jpeg_check,
    .open = levada_picture_open,
    .close = decode_jpeg_close,
    .decode = decode_jpeg_decode,
    .measure = decode_jpeg_measure,
    .replaces = true,
};
