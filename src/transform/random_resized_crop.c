/* SPDX-License-Identifier: Apache-2.0 */
/*
 * random_resized_crop - a random window of each image, resized: RandomResizedCrop of torchvision,
 * and sample_distorted_bounding_box of tf.image.
 */
#include "registry/env_priv.h"
#include "tensor/crop.h"
#include "tensor/resize.h"
#include "transform/augment.h"

enum { RANDOM_RESIZED_CROP_BILINEAR, RANDOM_RESIZED_CROP_NEAREST };

typedef struct random_resized_crop_args {
    levada_augment_args shared;
    levada_ints         size;
    levada_floats       scale, ratio;
    int64_t             method;
    bool                antialias;
} random_resized_crop_args;

typedef struct random_resized_crop_state {
    levada_augment_state shared;
    levada_resizer       resizer;
} random_resized_crop_state;

/* What is done to a column of a block. */
typedef struct random_resized_crop_work {
    random_resized_crop_state *s;
    const levada_block        *in;
    const levada_column       *from;
    levada_crop_rule           rule;
    levada_resize_to           to;
} random_resized_crop_work;

static const levada_arg random_resized_crop_options[] = {
    LEVADA_AUGMENT_FIELD("field with images: [height, width, channels] of uint8 or float32; "
                         "with method=nearest also [height, width], and all numbers"),
    LEVADA_ARG(INTS, random_resized_crop_args, size, .required = true, .min = 1, .max = 65536,
               .doc = "[height, width] of the result; one number = a square"),
    LEVADA_ARG(FLOATS, random_resized_crop_args, scale, .otherwise = "[0.08,1]",
               .doc = "least and largest share of the image's area in the window"),
    LEVADA_ARG(FLOATS, random_resized_crop_args, ratio, .otherwise = "[0.75,1.3333333333333333]",
               .doc = "least and largest width / height of the window"),
    LEVADA_ARG(CHOICE, random_resized_crop_args, method, .choices = "bilinear|nearest",
               .doc = "bilinear: interpolate between the nearest pixels; nearest: copy the nearest "
                      "pixel, for masks of labels"),
    LEVADA_ARG(BOOL, random_resized_crop_args, antialias, .otherwise = "true",
               .doc = "bilinear: weigh all covered pixels if the result is smaller than the "
                      "window"),
    LEVADA_AUGMENT_SEED,
    LEVADA_ARG_END,
};

static levada_resize_method random_resized_crop_method(const random_resized_crop_args *a)
{
    if (a->method == RANDOM_RESIZED_CROP_NEAREST) return LEVADA_RESIZE_NEAREST;
    return a->antialias ? LEVADA_RESIZE_ANTIALIAS : LEVADA_RESIZE_BILINEAR;
}

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
    return levada_resize_field(f, random_resized_crop_method(a), a->size.at[0],
                               a->size.at[a->size.n - 1], err);
}

static levada_status random_resized_crop_check(const void *args, const levada_spec *in,
                                               levada_spec **out, levada_error *err)
{
    return levada_one_field_check(in, ((const levada_augment_args *)args)->field,
                                  random_resized_crop_field, args, out, err);
}

static levada_status random_resized_crop_open(void *state, const void *args,
                                              const levada_context *context, levada_error *err)
{
    ((random_resized_crop_state *)state)->resizer.kernels = levada_env_kernels(context->env);
    return levada_augment_open(state, args, context, err);
}

static void random_resized_crop_close(void *state)
{
    random_resized_crop_state *s = state;

    levada_augment_close(&s->shared);
    levada_resizer_clear(&s->resizer);
}

static levada_status random_resized_crop_one(const void *work, int64_t row, uint8_t *to,
                                             levada_error *why)
{
    const random_resized_crop_work *w = work;
    levada_image                    m;

    LEVADA_TRY(levada_image_of(w->from, row, &m, why));
    if (m.height > 0 && m.width > 0) {
        levada_crop_draw(&w->rule, levada_block_row_key(w->in, row, w->s->shared.key), m.height,
                         m.width, &m);
    }
    return levada_resize(&w->s->resizer, &m, &w->to, to, why);
}

static levada_status random_resized_crop_apply(void *state, const void *args,
                                               const levada_block *in, levada_block **out,
                                               levada_error *err)
{
    const random_resized_crop_args *a = args;
    random_resized_crop_work        w = { .s = state, .in = in };
    levada_one_field                f;
    levada_status                   st;

    LEVADA_TRY(levada_crop_rule_of(a->scale, "scale", a->ratio, "ratio", &w.rule, err));
    LEVADA_TRY(levada_one_field_begin(&w.s->shared.shared, random_resized_crop_check, a,
                                      a->shared.field, in, &f, err));
    w.from = f.from;
    w.to = (levada_resize_to){
        .dtype = f.to->dtype,
        .height = a->size.at[0],
        .width = a->size.at[a->size.n - 1],
        .channels = levada_image_channels(f.to),
        .method = random_resized_crop_method(a),
    };
    st = levada_one_field_fill(&f, w.to.height * w.to.width * w.to.channels,
                               random_resized_crop_one, &w, err);
    return levada_one_field_end(&f, st, out, err);
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
