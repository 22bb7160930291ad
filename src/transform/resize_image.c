/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resize_image - images of one size: tf.image.resize with the methods bilinear, area and nearest.
 */
#include "registry/env_priv.h"
#include "tensor/resize.h"
#include "transform/one_field.h"

enum { RESIZE_BILINEAR, RESIZE_AREA, RESIZE_NEAREST, RESIZE_MOST = 65536 };

typedef struct resize_image_args {
    const char *field;
    levada_ints size;
    int64_t     method;
    bool        antialias;
} resize_image_args;

typedef struct resize_state {
    levada_columns_state shared;
    levada_resizer       resizer;
} resize_state;

/* What is done to a column of a block. */
typedef struct resize_work {
    levada_resizer      *resizer;
    const levada_column *from;
    levada_resize_to     to;
} resize_work;

static const levada_arg resize_image_options[] = {
    LEVADA_ARG(TEXT, resize_image_args, field, .required = true, .positional = true,
               .doc = "field with images: [height, width, channels] of uint8 or float32; with "
                      "method=nearest also [height, width], and all numbers"),
    LEVADA_ARG(INTS, resize_image_args, size, .required = true, .min = 1, .max = RESIZE_MOST,
               .doc = "[height, width] of the result"),
    LEVADA_ARG(CHOICE, resize_image_args, method, .choices = "bilinear|area|nearest",
               .doc = "bilinear: interpolate between the nearest pixels; area: mean of all covered "
                      "pixels; nearest: copy the nearest pixel, for masks of labels"),
    LEVADA_ARG(BOOL, resize_image_args, antialias, .otherwise = "false",
               .doc = "bilinear: weigh all covered pixels if the result is smaller, as Pillow and "
                      "torchvision do"),
    LEVADA_ARG_END,
};

/* -- columns */

static levada_resize_method resize_method(const resize_image_args *a)
{
    if (a->method == RESIZE_AREA) return LEVADA_RESIZE_AREA;
    if (a->method == RESIZE_NEAREST) return LEVADA_RESIZE_NEAREST;
    return a->antialias ? LEVADA_RESIZE_ANTIALIAS : LEVADA_RESIZE_BILINEAR;
}

static levada_status resize_field(const void *args, levada_field *f, levada_error *err)
{
    const resize_image_args *a = args;

    if (a->size.n != 2) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "size must be [height, width], got %lld numbers", (long long)a->size.n);
    }
    if (a->antialias && a->method != RESIZE_BILINEAR) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "antialias=true needs method=bilinear");
    }
    return levada_resize_field(f, resize_method(a), a->size.at[0], a->size.at[1], err);
}

static levada_status resize_image_check(const void *args, const levada_spec *in, levada_spec **out,
                                        levada_error *err)
{
    return levada_one_field_check(in, ((const resize_image_args *)args)->field, resize_field, args,
                                  out, err);
}

static levada_status resize_image_open(void *state, const void *args,
                                       const levada_context *context, levada_error *err)
{
    ((resize_state *)state)->resizer.kernels = levada_env_kernels(context->env);
    return levada_columns_state_open(state, args, context, err);
}

static void resize_image_close(void *state)
{
    resize_state *s = state;

    levada_columns_state_close(&s->shared);
    levada_resizer_clear(&s->resizer);
}

/* -- a block */

static levada_status resize_one(const void *work, int64_t row, uint8_t *to, levada_error *why)
{
    const resize_work *w = work;
    levada_image       image;

    LEVADA_TRY(levada_image_of(w->from, row, &image, why));
    return levada_resize(w->resizer, &image, &w->to, to, why);
}

static levada_status resize_image_apply(void *state, const void *args, const levada_block *in,
                                        levada_block **out, levada_error *err)
{
    resize_state            *s = state;
    const resize_image_args *a = args;
    resize_work              w = { .resizer = &s->resizer };
    levada_one_field         f;
    levada_status            st;

    LEVADA_TRY(levada_one_field_begin(&s->shared, resize_image_check, a, a->field, in, &f, err));
    w.from = f.from;
    w.to = (levada_resize_to){
        .dtype = f.to->dtype,
        .height = a->size.at[0],
        .width = a->size.at[1],
        .channels = levada_image_channels(f.to),
        .method = resize_method(a),
    };
    st = levada_one_field_fill(&f, w.to.height * w.to.width * w.to.channels, resize_one, &w, err);
    return levada_one_field_end(&f, st, out, err);
}

static const levada_example_file resize_image_files[] = {
    { "pixels.bin", "\1\2\3\4\5\6\7\10\11\12\13\14\15\16\17\20\21\22\23\24\25\26\27\30", 24 },
    { NULL, NULL, 0 }
};

const levada_stage_def levada_stage_resize_image = {
    .struct_size = sizeof(levada_stage_def),
    .name = "resize_image",
    .doc = "resizes all images to the same size",
    .example = "fixed_length:pixels.bin,record_bytes=12 | decode_raw:uint8 | "
               "reshape:record,shape=[2,2,3] | resize_image:record,size=[3,1]",
    .example_files = resize_image_files,
    .mode = LEVADA_MODE_PURE,
    .traits = LEVADA_TRAITS(.rows = LEVADA_ROWS_ONE_TO_ONE, .reads = LEVADA_READS_COLUMNS),
    .args = resize_image_options,
    .args_size = sizeof(resize_image_args),
    .state_size = sizeof(resize_state),
    .check = resize_image_check,
    .open = resize_image_open,
    .close = resize_image_close,
    .apply = resize_image_apply,
};
