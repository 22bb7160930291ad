/* SPDX-License-Identifier: Apache-2.0 */
/*
 * random_flip - mirrors images at random: RandomHorizontalFlip and RandomVerticalFlip of
 * torchvision, random_flip_left_right and random_flip_up_down of tf.image.
 */
#include "registry/env_priv.h"
#include "tensor/image.h"
#include "transform/augment.h"

#include <string.h>

enum { RANDOM_FLIP_DRAW = 64 }; /* number of a draw; windows (tensor/crop.c) have those before */

typedef struct random_flip_args {
    levada_augment_args shared;
    double              left_right, up_down;
} random_flip_args;

/* What is done to a column of a block. */
typedef struct random_flip_work {
    const random_flip_args *a;
    const levada_block     *in;
    const levada_one_field *f;
    const levada_kernels   *kernels;
    uint64_t                key;
} random_flip_work;

static const levada_arg random_flip_options[] = {
    LEVADA_AUGMENT_FIELD("field with images: [height, width] or [height, width, channels] of "
                         "numbers"),
    LEVADA_ARG(FLOAT, random_flip_args, left_right, .otherwise = "0.5", .min = 0, .max = 1,
               .doc = "probability that left and right are exchanged"),
    LEVADA_ARG(FLOAT, random_flip_args, up_down, .otherwise = "0", .min = 0, .max = 1,
               .doc = "probability that up and down are exchanged"),
    LEVADA_AUGMENT_SEED,
    LEVADA_ARG_END,
};

static levada_status random_flip_field(const void *args, levada_field *f, levada_error *err)
{
    (void)args;
    return levada_image_check(f, err);
}

static levada_status random_flip_check(const void *args, const levada_spec *in, levada_spec **out,
                                       levada_error *err)
{
    return levada_one_field_check(in, ((const levada_augment_args *)args)->field,
                                  random_flip_field, args, out, err);
}

/* -- one image */

static bool random_flip_draw(uint64_t key, uint64_t n, double probability)
{
    return levada_random_unit(levada_random_at(key, n)) < probability;
}

static void random_flip_one(const random_flip_work *w, const levada_image *m, int64_t row,
                            uint8_t *to)
{
    uint64_t key = levada_block_row_key(w->in, row, w->key);
    bool     turns = random_flip_draw(key, RANDOM_FLIP_DRAW, w->a->left_right);
    bool     falls = random_flip_draw(key, RANDOM_FLIP_DRAW + 1, w->a->up_down);
    int64_t  size = m->width * m->pixel_bytes;

    if (size == 0) return;
    for (int64_t y = 0; y < m->height; y++, to += size) {
        const uint8_t *from = levada_image_line(m, falls ? m->height - 1 - y : y);

        if (turns) w->kernels->pixels_reverse(from, m->width, m->pixel_bytes, to);
        else memcpy(to, from, (size_t)size);
    }
}

/* -- a block */

/* Checks an image; one that is refused leaves an empty one. */
static levada_status random_flip_look(const random_flip_work *w, int64_t row, levada_image *m,
                                      levada_error *err)
{
    levada_error why = LEVADA_ERROR_INIT;

    if (levada_image_of(w->f->from, row, m, &why) == LEVADA_OK) return LEVADA_OK;
    m->height = m->width = 0;
    return levada_builder_reject(w->f->b, row, &why, err);
}

/* Writes the ends of the rows of images with ragged rows; *bytes is the size of all images. */
static levada_status random_flip_shape(const random_flip_work *w, int64_t *bytes,
                                       levada_error *err)
{
    int32_t  depth = w->f->from->field->depth, *heights = NULL, *widths = NULL;
    int64_t  lines = 0, pixels = 0, n = w->f->from->n;

    if (depth > 0) LEVADA_TRY(levada_builder_offsets(w->f->b, w->f->index, 0, n, &heights, err));
    *bytes = 0;
    for (int64_t i = 0; i < n; i++) {
        levada_image m;

        LEVADA_TRY(random_flip_look(w, i, &m, err));
        lines += m.height;
        *bytes += m.height * m.width * m.pixel_bytes;
        if (lines > INT32_MAX || *bytes > LEVADA_BLOCK_LIMIT)
            return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED,
                               "more than 1 GiB of pixels in one block; lower block_rows");
        if (heights) heights[i + 1] = (int32_t)lines;
    }
    if (depth < 2) return LEVADA_OK;
    LEVADA_TRY(levada_builder_offsets(w->f->b, w->f->index, 1, lines, &widths, err));
    widths++;
    for (int64_t i = 0; i < n; i++) {
        levada_image m;

        if (levada_image_of(w->f->from, i, &m, NULL) != LEVADA_OK) continue;
        for (int64_t y = 0; y < m.height; y++) *widths++ = (int32_t)(pixels += m.width);
    }
    return LEVADA_OK;
}

static levada_status random_flip_column(const random_flip_work *w, levada_error *err)
{
    const levada_one_field *f = w->f;
    int64_t                 bytes = 0;
    void                   *values = NULL;
    uint8_t                *to;

    LEVADA_TRY(random_flip_shape(w, &bytes, err));
    levada_builder_dims(f->b, f->index, f->from->dims);
    LEVADA_TRY(levada_builder_values(f->b, f->index,
                                     bytes / levada_dtype_size(f->from->field->dtype), &values,
                                     err));
    to = values;
    for (int64_t i = 0; i < f->from->n; i++) {
        levada_image m;

        if (levada_image_of(f->from, i, &m, NULL) != LEVADA_OK) continue;
        random_flip_one(w, &m, i, to);
        to += m.height * m.width * m.pixel_bytes;
    }
    return LEVADA_OK;
}

static levada_status random_flip_apply(void *state, const void *args, const levada_block *in,
                                       levada_block **out, levada_error *err)
{
    levada_augment_state *s = state;
    levada_one_field      f;
    random_flip_work      w = { .a = args, .in = in, .f = &f, .key = s->key,
                                .kernels = levada_env_kernels(s->shared.context->env) };

    LEVADA_TRY(levada_one_field_begin(&s->shared, random_flip_check, args, w.a->shared.field, in,
                                      &f, err));
    return levada_one_field_end(&f, random_flip_column(&w, err), out, err);
}

static const levada_example_file random_flip_files[] = {
    { "pixels.bin", "\1\2\3\4\5\6\7\10\11\12\13\14\15\16\17\20\21\22\23\24\25\26\27\30", 24 },
    { NULL, NULL, 0 }
};

const levada_stage_def levada_stage_random_flip = {
    .struct_size = sizeof(levada_stage_def),
    .name = "random_flip",
    .doc = "mirrors images at random; the choice depends on the seed, the epoch and the record",
    .example = "fixed_length:pixels.bin,record_bytes=12 | decode_raw:uint8 | "
               "reshape:record,shape=[2,2,3] | random_flip:record,up_down=0.5",
    .example_files = random_flip_files,
    .mode = LEVADA_MODE_PURE,
    .traits = LEVADA_TRAITS(.rows = LEVADA_ROWS_ONE_TO_ONE, .reads = LEVADA_READS_COLUMNS,
                            .random = LEVADA_RANDOM_BY_RECORD, .drawn = "mirroring",
                            .keeps_lengths = true),
    .args = random_flip_options,
    .args_size = sizeof(random_flip_args),
    .state_size = sizeof(levada_augment_state),
    .check = random_flip_check,
    .open = levada_augment_open,
    .close = levada_augment_close,
    .apply = random_flip_apply,
};
