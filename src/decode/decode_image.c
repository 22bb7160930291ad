/* SPDX-License-Identifier: Apache-2.0 */
/*
 * decode_image - images to pixels, by their content: JPEG or PNG. The options of decode_jpeg; those
 * that name JPEG data do nothing to others.
 */
#include "decode/picture.h"
#include "decode/picture_samples.h"

static const levada_arg decode_image_arguments[] = {
    LEVADA_ARG(INT, levada_picture_args, channels, .otherwise = "3", .positional = true,
               .min = 1, .max = 4,
               .doc = "channels of a pixel: 1 (gray) or 3; for PNG data also 2 and 4 (with alpha)"),
    LEVADA_PICTURE_ARGUMENTS,
    LEVADA_ARG_END
};

static levada_status decode_image_check(const void *args, levada_spec **out, levada_error *err)
{
    levada_picture_options o;

    LEVADA_TRY(levada_picture_options_of(args, LEVADA_UINT8, &o, err));
    return levada_picture_spec(&o, out, err);
}

static void decode_image_close(void *state) { levada_picture_close(state); }

static levada_status decode_image_decode(void *state, const void *args, const levada_strings *in,
                                 levada_builder *out, levada_error *err)
{
    levada_picture_options o;

    LEVADA_TRY(levada_picture_options_of(args, LEVADA_UINT8, &o, err));
    return levada_picture_decode(&o, state, in, out, err);
}

static int64_t decode_image_measure(const void *args, const uint8_t *data, int32_t size)
{
    levada_picture_options o;

    if (levada_picture_options_of(args, LEVADA_UINT8, &o, NULL) != LEVADA_OK) return 0;
    return levada_picture_measure(&o, data, size);
}

static const levada_example_file decode_image_files[] = {
    { "image.png", LEVADA_SAMPLE_PNG, LEVADA_SAMPLE_PNG_SIZE },
    { NULL, NULL, 0 }
};

const levada_decoder_def levada_decoder_decode_image = {
    .struct_size = sizeof(levada_decoder_def),
    .name = "decode_image",
    .doc = "decodes JPEG and PNG images to pixels",
    .example = "fixed_length:image.png,record_bytes=81 | "
               "decode_image:3,random_resized_crop=[3,2],orient=true",
    .example_files = decode_image_files,
    .field = "record",
    .traits = LEVADA_TRAITS(.vary = levada_picture_vary),
    .args = decode_image_arguments,
    .args_size = sizeof(levada_picture_args),
    .state_size = sizeof(levada_picture_tools),
    .check = decode_image_check,
    .open = levada_picture_open,
    .close = decode_image_close,
    .decode = decode_image_decode,
    .measure = decode_image_measure,
    .replaces = true,
};
