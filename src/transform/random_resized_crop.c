/* SPDX-License-Identifier: Apache-2.0 */
/*
 * random_resized_crop - a random window of each image, resized: RandomResizedCrop of torchvision,
 * and sample_distorted_bounding_box of tf.image.
 */
#include "base/random.h"
#include "tensor/crop.h"
#include "tensor/resize.h"
#include "transform/one_field.h"

#include <string.h>

typedef struct random_resized_crop_args {
    const char   *field;
    levada_ints   size;
    levada_floats scale, ratio;
    bool          antialias;
    int64_t       seed;
} random_resized_crop_args;

typedef struct random_resized_crop_state {
    levada_columns_state shared;
    levada_resizer       resizer;
    uint64_t             key;
} random_resized_crop_state;

static const levada_arg random_resized_crop_options[] = {
    LEVADA_ARG(TEXT, random_resized_crop_args, field, .required = true, .positional = true,
               .doc = "field with images: [height, width, channels] of uint8 or float32"),
    LEVADA_ARG(INTS, random_resized_crop_args, size, .required = true, .min = 1, .max = 65536,
               .doc = "[height, width] of the result; one number = a square"),
    LEVADA_ARG(FLOATS, random_resized_crop_args, scale, .otherwise = "[0.08,1]",
               .doc = "least and largest share of the image's area in the window"),
    LEVADA_ARG(FLOATS, random_resized_crop_args, ratio, .otherwise = "[0.75,1.3333333333333333]",
               .doc = "least and largest width / height of the window"),
    LEVADA_ARG(BOOL, random_resized_crop_args, antialias, .otherwise = "true",
               .doc = "weigh all covered pixels if the result is smaller than the window"),
    LEVADA_ARG(INT, random_resized_crop_args, seed, .min = 0, .max = INT64_MAX,
               .doc = "seed of this stage, with which stages on other fields draw the same; null = "
                      "the seed of the iterator"),
    LEVADA_ARG_END,
};

static levada_status random_resized_crop_field(const void *args, levada_field *f,
                                               levada_error *err)
{
    const random_resized_crop_args *a = args;
    levada_crop_rule                rule;

    if (a->size.n != 1 && a->size.n != 2) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "size must be [height, width] or one "
                           "number, got %lld numbers", (long long)a->size.n);
    }
    LEVADA_TRY(levada_crop_rule_of(a->scale, "scale", a->ratio, "ratio", &rule, err));
    return levada_resize_field(f, a->size.at[0], a->size.at[a->size.n - 1], err);
}

static levada_status random_resized_crop_check(const void *args, const levada_spec *in,
                                               levada_spec **out, levada_error *err)
{
    return levada_one_field_check(in, ((const random_resized_crop_args *)args)->field,
                                  random_resized_crop_field, args, out, err);
}

static levada_status random_resized_crop_open(void *state, const void *args,
                                              const levada_context *context, levada_error *err)
{
    random_resized_crop_state *s = state;

    s->key = levada_draw_key(context, ((const random_resized_crop_args *)args)->seed);
    return levada_columns_state_open(state, args, context, err);
}

static void random_resized_crop_close(void *state)
{
    random_resized_crop_state *s = state;

    levada_columns_state_close(&s->shared);
    levada_resizer_clear(&s->resizer);
}

static levada_status random_resized_crop_one(random_resized_crop_state *s, const levada_block *in,
                                             const levada_one_field *f, int64_t row,
                                             const levada_crop_rule *rule,
                                             const levada_resize_to *to, void *values,
                                             levada_error *why)
{
    levada_image image;

    LEVADA_TRY(levada_image_of(f->from, row, &image, why));
    if (image.height > 0 && image.width > 0) {
        levada_crop_draw(rule, levada_block_row_key(in, row, s->key), image.height, image.width,
                         &image);
    }
    return levada_resize(&s->resizer, &image, to, values, why);
}

static levada_status random_resized_crop_column(random_resized_crop_state *s,
                                                const random_resized_crop_args *a,
                                                const levada_block *in, const levada_one_field *f,
                                                levada_error *err)
{
    levada_resize_to to = {
        .dtype = f->from->field->dtype,
        .height = a->size.at[0],
        .width = a->size.at[a->size.n - 1],
        .channels = f->from->dims[f->from->field->ndim - 1],
        .method = a->antialias ? LEVADA_RESIZE_ANTIALIAS : LEVADA_RESIZE_BILINEAR,
    };
    int64_t          size = to.height * to.width * to.channels;
    int64_t          bytes = size * levada_dtype_size(to.dtype);
    levada_crop_rule rule;
    void            *values = NULL;

    LEVADA_TRY(levada_crop_rule_of(a->scale, "scale", a->ratio, "ratio", &rule, err));
    LEVADA_TRY(levada_builder_values(f->b, f->index, f->from->n * size, &values, err));
    for (int64_t i = 0; i < f->from->n; i++) {
        uint8_t      *at = (uint8_t *)values + i * bytes;
        levada_error  why = LEVADA_ERROR_INIT;
        levada_status st = random_resized_crop_one(s, in, f, i, &rule, &to, at, &why);

        if (st != LEVADA_OK) LEVADA_TRY(levada_one_field_reject(f, i, at, bytes, &why, err));
    }
    return LEVADA_OK;
}

static levada_status random_resized_crop_apply(void *state, const void *args,
                                               const levada_block *in, levada_block **out,
                                               levada_error *err)
{
    random_resized_crop_state      *s = state;
    const random_resized_crop_args *a = args;
    levada_one_field                f;

    LEVADA_TRY(levada_one_field_begin(&s->shared, random_resized_crop_check, a, a->field, in, &f,
                                      err));
    return levada_one_field_end(&f, random_resized_crop_column(s, a, in, &f, err), out, err);
}

static const levada_example_file random_resized_crop_files[] = {
    { "pixels.bin", "\1\2\3\4\5\6\7\10\11\12\13\14\15\16\17\20\21\22\23\24\25\26\27\30", 24 },
    { NULL, NULL, 0 }
};

const levada_stage_def levada_stage_random_resized_crop = {
    .struct_size = sizeof(levada_stage_def),
    .name = "random_resized_crop",
    .doc = "cuts a random window out of each image and resizes it; the window depends on the seed, "
           "the epoch and the record",
    .example = "fixed_length:pixels.bin,record_bytes=12 | decode_raw:uint8 | "
               "reshape:record,shape=[2,2,3] | random_resized_crop:record,size=[3,1]",
    .example_files = random_resized_crop_files,
    .mode = LEVADA_MODE_PURE,
    .traits = LEVADA_TRAITS(.rows = LEVADA_ROWS_ONE_TO_ONE, .reads = LEVADA_READS_COLUMNS,
                            .random = LEVADA_RANDOM_BY_RECORD, .drawn = "windows"),
    .args = random_resized_crop_options,
    .args_size = sizeof(random_resized_crop_args),
    .state_size = sizeof(random_resized_crop_state),
    .check = random_resized_crop_check,
    .open = random_resized_crop_open,
    .close = random_resized_crop_close,
    .apply = random_resized_crop_apply,
};
