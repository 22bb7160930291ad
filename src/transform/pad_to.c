/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pad_to - images of one size with a border: pad_to_bounding_box of tf.image. No pixel is resized.
 */
#include "base/alloc.h"
#include "tensor/convert.h"
#include "tensor/image.h"
#include "transform/one_field.h"

#include <string.h>

enum { PAD_TO_CENTER, PAD_TO_TOP_LEFT, PAD_TO_MOST = 65536 };

typedef struct pad_to_args {
    const char   *field;
    levada_ints   size;
    levada_floats value;
    int64_t       position;
} pad_to_args;

typedef struct pad_to_state {
    levada_columns_state shared;
    uint8_t             *line; /* a row of border pixels */
    int64_t              capacity;
} pad_to_state;

/* What is done to a column of a block. */
typedef struct pad_to_work {
    const pad_to_args      *a;
    pad_to_state           *s;
    const levada_one_field *f;
    int64_t                 height, width, pixel; /* of the result; bytes of a pixel */
} pad_to_work;

static const levada_arg pad_to_options[] = {
    LEVADA_ARG(TEXT, pad_to_args, field, .required = true, .positional = true,
               .doc = "field with images: [height, width] or [height, width, channels] of numbers"),
    LEVADA_ARG(INTS, pad_to_args, size, .required = true, .min = 1, .max = PAD_TO_MOST,
               .doc = "[height, width] of the result, or one number; a larger image is a bad "
                      "record"),
    LEVADA_ARG(FLOATS, pad_to_args, value, .otherwise = "0",
               .doc = "value of the border: one number, or one for each channel"),
    LEVADA_ARG(CHOICE, pad_to_args, position, .choices = "center|top_left",
               .doc = "place of the image in the result"),
    LEVADA_ARG_END,
};

/* -- columns */

/* Channels are -1 where each block sets them. */
static levada_status pad_to_check_value(const pad_to_args *a, levada_dtype dtype, int64_t channels,
                                        levada_error *err)
{
    if (a->value.n < 1 || (a->value.n > 1 && channels >= 0 && a->value.n != channels)) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "len(value)=%lld must be 1 or the number of channels, %lld",
                           (long long)a->value.n, (long long)channels);
    }
    for (int64_t i = 0; i < a->value.n; i++) {
        uint64_t to[2];

        if (levada_convert_known(LEVADA_FLOAT64, dtype) &&
            levada_convert(LEVADA_FLOAT64, &a->value.at[i], dtype, to, 1) == 0)
            continue;
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "value=%g does not fit in %s",
                           a->value.at[i], levada_dtype_name(dtype));
    }
    return LEVADA_OK;
}

static levada_status pad_to_field(const void *args, levada_field *f, levada_error *err)
{
    const pad_to_args *a = args;
    int32_t            first = 2 - f->depth; /* dimension after the height and the width */

    LEVADA_TRY(levada_image_check(f, err));
    LEVADA_TRY(pad_to_check_value(a, f->dtype, levada_image_channels(f), err));
    if (a->size.n > 2) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "size must be [height, width] or one "
                           "number, got %lld numbers", (long long)a->size.n);
    }
    if (f->ndim - first > LEVADA_MAX_DIMS - 2) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "field '%s' must have at most %d dimensions, got %d",
                           f->name, LEVADA_MAX_DIMS, f->ndim - first + 2);
    }
    memmove(f->dims + 2, f->dims + first, (size_t)(f->ndim - first) * sizeof *f->dims);
    f->ndim = (uint8_t)(f->ndim - first + 2);
    f->depth = 0;
    f->dims[0] = a->size.at[0];
    f->dims[1] = a->size.at[a->size.n - 1];
    return LEVADA_OK;
}

static levada_status pad_to_check(const void *args, const levada_spec *in, levada_spec **out,
                                  levada_error *err)
{
    return levada_one_field_check(in, ((const pad_to_args *)args)->field, pad_to_field, args, out,
                                  err);
}

static void pad_to_close(void *state)
{
    pad_to_state *s = state;

    levada_columns_state_close(&s->shared);
    levada_free(s->line);
}

/* -- one image */

static void pad_to_copy(const pad_to_work *w, const levada_image *m, uint8_t *to)
{
    int64_t y = 0, x = 0, line = w->width * w->pixel, size = m->width * w->pixel;

    if (w->a->position == PAD_TO_CENTER) {
        y = (w->height - m->height) / 2;
        x = (w->width - m->width) / 2 * w->pixel;
    }
    for (int64_t i = 0; i < w->height; i++, to += line) {
        if (i < y || i >= y + m->height || size == 0) {
            memcpy(to, w->s->line, (size_t)line);
            continue;
        }
        memcpy(to, w->s->line, (size_t)x);
        memcpy(to + x, levada_image_line(m, i - y), (size_t)size);
        memcpy(to + x + size, w->s->line, (size_t)(line - x - size));
    }
}

static levada_status pad_to_one(const void *work, int64_t row, uint8_t *to, levada_error *why)
{
    const pad_to_work *w = work;
    levada_image       m;

    LEVADA_TRY(levada_image_of(w->f->from, row, &m, why));
    if (m.height > w->height || m.width > w->width) {
        return levada_fail(why, LEVADA_EINVALID_ARGUMENT,
                           "an image of %lld x %lld pixels is larger than size=[%lld,%lld]; crop "
                           "or resize it first", (long long)m.height, (long long)m.width,
                           (long long)w->height, (long long)w->width);
    }
    pad_to_copy(w, &m, to);
    return LEVADA_OK;
}

/* -- a block */

/* Makes a row of border pixels. */
static levada_status pad_to_prepare(const pad_to_work *w, levada_error *err)
{
    levada_dtype dtype = w->f->from->field->dtype;
    int64_t      size = levada_dtype_size(dtype), n = w->width * (w->pixel / size);

    LEVADA_TRY(pad_to_check_value(w->a, dtype, w->pixel / size, err));
    if (!levada_reserve(&w->s->line, &w->s->capacity, n * size + 1, 1))
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a border");
    for (int64_t i = 0; i < n; i++) {
        (void)levada_convert(LEVADA_FLOAT64, &w->a->value.at[i % w->a->value.n], dtype,
                             w->s->line + i * size, 1);
    }
    return LEVADA_OK;
}

static levada_status pad_to_column(pad_to_work *w, levada_error *err)
{
    const levada_one_field *f = w->f;
    int32_t                 first = 2 - f->from->field->depth;
    int64_t                 dims[LEVADA_MAX_DIMS] = { w->height, w->width };
    int64_t                 size = levada_dtype_size(f->from->field->dtype);

    w->pixel = size;
    for (int32_t i = first; i < f->from->field->ndim; i++) {
        dims[i - first + 2] = f->from->dims[i];
        w->pixel *= f->from->dims[i];
    }
    LEVADA_TRY(pad_to_prepare(w, err));
    levada_builder_dims(f->b, f->index, dims);
    return levada_one_field_fill(f, w->height * w->width * (w->pixel / size), pad_to_one, w, err);
}

static levada_status pad_to_apply(void *state, const void *args, const levada_block *in,
                                  levada_block **out, levada_error *err)
{
    const pad_to_args *a = args;
    levada_one_field   f;
    pad_to_work        w = { .a = a,
                             .s = state,
                             .f = &f,
                             .height = a->size.at[0],
                             .width = a->size.at[a->size.n - 1] };

    LEVADA_TRY(levada_one_field_begin(&w.s->shared, pad_to_check, a, a->field, in, &f, err));
    return levada_one_field_end(&f, pad_to_column(&w, err), out, err);
}

static const levada_example_file pad_to_files[] = {
    { "pixels.bin", "\1\2\3\4\5\6\7\10\11\12\13\14\15\16\17\20\21\22\23\24\25\26\27\30", 24 },
    { NULL, NULL, 0 }
};

const levada_stage_def levada_stage_pad_to = {
    .struct_size = sizeof(levada_stage_def),
    .name = "pad_to",
    .doc = "adds a border to images, so that all have the same size",
    .example = "fixed_length:pixels.bin,record_bytes=12 | decode_raw:uint8 | "
               "reshape:record,shape=[-1,2,3] | pad_to:record,size=[3,4],value=[1,2,3]",
    .example_files = pad_to_files,
    .mode = LEVADA_MODE_PURE,
    .traits = LEVADA_TRAITS(.rows = LEVADA_ROWS_ONE_TO_ONE, .reads = LEVADA_READS_COLUMNS),
    .args = pad_to_options,
    .args_size = sizeof(pad_to_args),
    .state_size = sizeof(pad_to_state),
    .check = pad_to_check,
    .open = levada_columns_state_open,
    .close = pad_to_close,
    .apply = pad_to_apply,
};
