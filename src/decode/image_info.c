/* SPDX-License-Identifier: Apache-2.0 */
/*
 * image_info - height, width and channels of JPEG and PNG images, from their headers alone:
 * tf.io.extract_jpeg_shape for both.
 */
#include "decode/picture.h"
#include "decode/picture_samples.h"

static levada_status image_info_check(const void *args, levada_spec **out, levada_error *err)
{
    levada_field field = { .name = "info", .dtype = LEVADA_INT32, .ndim = 1, .dims = { 3 } };

    (void)args;
    return levada_spec_create(&field, 1, LEVADA_SPEC_PLAIN, out, err);
}

static levada_status image_info_decode(void *state, const void *args, const levada_strings *in,
                                       levada_builder *out, levada_error *err)
{
    void *values = NULL;

    (void)state, (void)args;
    LEVADA_TRY(levada_builder_values(out, 0, in->n * 3, &values, err));
    for (int64_t i = 0; i < in->n; i++) {
        levada_error   why = LEVADA_ERROR_INIT;
        levada_picture p = { 0 };
        int32_t       *to = (int32_t *)values + i * 3;

        if (levada_picture_probe(in->data[i], in->size[i], &p, &why) != LEVADA_OK) {
            p = (levada_picture){ 0 };
            LEVADA_TRY(levada_builder_reject(out, i, &why, err));
        }
        to[0] = p.height;
        to[1] = p.width;
        to[2] = p.channels;
    }
    return LEVADA_OK;
}

static const levada_example_file image_info_files[] = {
    { "image.png", LEVADA_SAMPLE_PNG, LEVADA_SAMPLE_PNG_SIZE },
    { NULL, NULL, 0 }
};

const levada_decoder_def levada_decoder_image_info = {
    .struct_size = sizeof(levada_decoder_def),
    .name = "image_info",
    .doc = "reads only the height, width and channels of images",
    .example = "fixed_length:image.png,record_bytes=81 | image_info",
    .example_files = image_info_files,
    .field = "record",
    .check = image_info_check,
    .decode = image_info_decode,
    .replaces = true,
};
