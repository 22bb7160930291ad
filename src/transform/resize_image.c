/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resize_image - images of one size: tf.image.resize with the methods bilinear (half-pixel centers,
 * without antialiasing) and area. Both are sums with weights: of rows of pixels first, then of the
 * pixels of that sum.
 */
#include "base/alloc.h"
#include "transform/one_field.h"

#include <math.h>
#include <string.h>

enum { RESIZE_BILINEAR, RESIZE_AREA, RESIZE_MOST = 65536 };
enum { RESIZE_STEP = 16 }; /* numbers that loops take at a time: compilers vectorize these */

typedef struct resize_image_args {
    const char *field;
    levada_ints size;
    int64_t     method;
} resize_image_args;

/* Where a pixel of the result comes from: `n` pixels from `first` on. */
typedef struct resize_tap {
    int32_t first, n;
    int64_t weight; /* the first of its weights */
} resize_tap;

/* Of one dimension. */
typedef struct resize_axis {
    resize_tap *taps;
    float      *weights;
    int64_t     taps_capacity, weights_capacity, from, to; /* the sizes that they are for */
} resize_axis;

typedef struct resize_state {
    levada_columns_state  shared;
    resize_axis           rows, cells;
    float                *sum, *line; /* of rows of pixels; a row of the result */
    int64_t               sum_capacity, line_capacity;
} resize_state;

typedef struct resize_work {
    resize_state        *s;
    const levada_column *from;
    int64_t              height, width, channels; /* of the result */
    int64_t              method;
} resize_work;

static const levada_arg resize_image_options[] = {
    LEVADA_ARG(TEXT, resize_image_args, field, .required = true, .positional = true,
               .doc = "field with images: [height, width, channels] of uint8 or float32"),
    LEVADA_ARG(INTS, resize_image_args, size, .required = true, .min = 1, .max = RESIZE_MOST,
               .doc = "[height, width] of the result"),
    LEVADA_ARG(CHOICE, resize_image_args, method, .choices = "bilinear|area",
               .doc = "bilinear: interpolate between the nearest pixels; area: mean of all covered "
                      "pixels"),
    LEVADA_ARG_END,
};

/* -- columns */

static levada_status resize_field(const void *args, levada_field *f, levada_error *err)
{
    const resize_image_args *a = args;
    int64_t                  channels = f->ndim ? f->dims[f->ndim - 1] : -1;

    if (a->size.n != 2) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "size is [height, width]");
    }
    if ((f->dtype != LEVADA_UINT8 && f->dtype != LEVADA_FLOAT32) || f->depth + f->ndim != 3 ||
        f->depth > 2 || channels < 1) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "field '%s' has no images: [height, width, channels] of uint8 or "
                           "float32",
                           f->name);
    }
    f->depth = 0;
    f->ndim = 3;
    f->padded = false;
    f->dims[0] = a->size.at[0];
    f->dims[1] = a->size.at[1];
    f->dims[2] = channels;
    return LEVADA_OK;
}

static levada_status resize_image_check(const void *args, const levada_spec *in, levada_spec **out,
                                        levada_error *err)
{
    return levada_one_field_check(in, ((const resize_image_args *)args)->field, resize_field, args,
                                  out, err);
}

static void resize_image_close(void *state)
{
    resize_state *s = state;

    levada_columns_state_close(&s->shared);
    levada_free(s->rows.taps);
    levada_free(s->rows.weights);
    levada_free(s->cells.taps);
    levada_free(s->cells.weights);
    levada_free(s->sum);
    levada_free(s->line);
}

/* -- weights */

static void resize_tap_bilinear(resize_axis *x, int64_t i)
{
    double  at = ((double)i + 0.5) * (double)x->from / (double)x->to - 0.5;
    double  low = floor(at);
    int64_t first = low < 0 ? 0 : (int64_t)low, last = (int64_t)low + 1;
    float   part = (float)(at - low);

    if (last > x->from - 1) last = x->from - 1;
    x->taps[i] = (resize_tap){ (int32_t)first, (int32_t)(last - first + 1), 2 * i };
    x->weights[2 * i] = first == last ? 1.0F : 1.0F - part;
    x->weights[2 * i + 1] = part;
}

/* The weights of pixel i begin at number *used. */
static void resize_tap_area(resize_axis *x, int64_t i, int64_t *used)
{
    double  scale = (double)x->from / (double)x->to;
    double  begin = (double)i * scale, end = (double)(i + 1) * scale;
    int64_t first = (int64_t)begin, last = (int64_t)ceil(end) - 1;

    if (last > x->from - 1) last = x->from - 1;
    if (last < first) last = first;
    x->taps[i] = (resize_tap){ (int32_t)first, (int32_t)(last - first + 1), *used };
    for (int64_t k = first; k <= last; k++) {
        double left = k > begin ? (double)k : begin, right = k + 1 < end ? (double)(k + 1) : end;

        x->weights[(*used)++] = (float)((right - left) / scale);
    }
}

/* Weights for another size; they stay for the next image. */
static bool resize_prepare(resize_axis *x, int64_t from, int64_t to, int64_t method)
{
    int64_t used = 0;

    if (x->from == from && x->to == to) return true;
    x->from = x->to = 0;
    if (!levada_reserve(&x->taps, &x->taps_capacity, to, sizeof *x->taps) ||
        !levada_reserve(&x->weights, &x->weights_capacity, from + 3 * to, sizeof *x->weights)) {
        return false;
    }
    x->from = from;
    x->to = to;
    for (int64_t i = 0; i < to; i++) {
        if (method == RESIZE_AREA) resize_tap_area(x, i, &used);
        else resize_tap_bilinear(x, i);
    }
    return true;
}

/* -- one image */

/* Computes sum[i] += weight * (value number at + i of the column), for i < n. */
static void resize_add(const resize_work *w, int64_t at, int64_t n, float weight, float *sum)
{
    int64_t i = 0;

    if (w->from->field->dtype == LEVADA_UINT8) {
        const uint8_t *bytes = w->from->values + at;

        for (; i + RESIZE_STEP <= n; i += RESIZE_STEP) {
            for (int k = 0; k < RESIZE_STEP; k++) sum[i + k] += weight * (float)bytes[i + k];
        }
        for (; i < n; i++) sum[i] += weight * (float)bytes[i];
    } else {
        const float *floats = (const float *)(const void *)w->from->values + at;

        for (; i + RESIZE_STEP <= n; i += RESIZE_STEP) {
            for (int k = 0; k < RESIZE_STEP; k++) sum[i + k] += weight * floats[i + k];
        }
        for (; i < n; i++) sum[i] += weight * floats[i];
    }
}

/* A row of the result: sums of pixels of the sum of rows. */
static void resize_line(const resize_work *w, float *to)
{
    int64_t channels = w->channels;

    for (int64_t x = 0; x < w->width; x++, to += channels) {
        const resize_tap *tap = &w->s->cells.taps[x];
        const float      *weight = w->s->cells.weights + tap->weight;
        const float      *from = w->s->sum + tap->first * channels;

        if (channels == 3) { /* photographs */
            float red = 0, green = 0, blue = 0;

            for (int32_t k = 0; k < tap->n; k++, from += 3) {
                red += weight[k] * from[0];
                green += weight[k] * from[1];
                blue += weight[k] * from[2];
            }
            to[0] = red;
            to[1] = green;
            to[2] = blue;
            continue;
        }
        for (int64_t c = 0; c < channels; c++) {
            to[c] = 0;
            for (int32_t k = 0; k < tap->n; k++) to[c] += weight[k] * from[k * channels + c];
        }
    }
}

static uint8_t resize_byte(float v)
{
    v = v < 0.0F ? 0.0F : v;
    return (uint8_t)(int32_t)((v > 255.0F ? 255.0F : v) + 0.5F);
}

static void resize_put_bytes(const float *from, int64_t n, uint8_t *to)
{
    int64_t i = 0;

    for (; i + RESIZE_STEP <= n; i += RESIZE_STEP) {
        for (int k = 0; k < RESIZE_STEP; k++) to[i + k] = resize_byte(from[i + k]);
    }
    for (; i < n; i++) to[i] = resize_byte(from[i]);
}

/* Height and width of an image, and where its row y begins; false where rows differ. */
static bool resize_shape(const resize_work *w, int64_t row, int64_t *height, int64_t *width)
{
    const levada_level *l = w->from->level;

    if (w->from->field->depth == 0) {
        *height = w->from->dims[0];
        *width = w->from->dims[1];
        return *height > 0 && *width > 0;
    }
    *height = l[0].end[row] - l[0].begin[row];
    if (w->from->field->depth == 1) *width = w->from->dims[0];
    if (*height == 0 || w->from->field->depth == 1) return *height > 0 && *width > 0;
    *width = l[1].end[l[0].begin[row]] - l[1].begin[l[0].begin[row]];
    for (int64_t y = l[0].begin[row]; y < l[0].end[row]; y++) {
        if (l[1].end[y] - l[1].begin[y] != *width) return false;
    }
    return *width > 0;
}

static int64_t resize_line_at(const resize_work *w, int64_t row, int64_t y)
{
    const levada_level *l = w->from->level;

    if (w->from->field->depth == 0) {
        return (row * w->from->dims[0] + y) * w->from->dims[1] * w->channels;
    }
    if (w->from->field->depth == 1) {
        return (l[0].begin[row] + y) * w->from->dims[0] * w->channels;
    }
    return l[1].begin[l[0].begin[row] + y] * w->channels;
}

/* Row y of the result for image `row`, which is `width` pixels wide. */
static void resize_row(const resize_work *w, int64_t row, int64_t y, int64_t width, void *values)
{
    const resize_tap *tap = &w->s->rows.taps[y];
    int64_t           line = w->width * w->channels, at = (row * w->height + y) * line;
    bool              bytes = w->from->field->dtype == LEVADA_UINT8;
    float            *to = bytes ? w->s->line : (float *)values + at;

    memset(w->s->sum, 0, (size_t)(width * w->channels) * sizeof(float));
    for (int32_t k = 0; k < tap->n; k++) {
        resize_add(w, resize_line_at(w, row, tap->first + k), width * w->channels,
                   w->s->rows.weights[tap->weight + k], w->s->sum);
    }
    resize_line(w, to);
    if (bytes) resize_put_bytes(to, line, (uint8_t *)values + at);
}

static levada_status resize_one(const resize_work *w, int64_t row, void *values, levada_error *why)
{
    int64_t height = 0, width = 0, line = w->width * w->channels;

    if (!resize_shape(w, row, &height, &width)) {
        return levada_fail(why, LEVADA_EINVALID_ARGUMENT, "field '%s' has no pixels, or rows of "
                           "different lengths", w->from->field->name);
    }
    if (!resize_prepare(&w->s->rows, height, w->height, w->method) ||
        !resize_prepare(&w->s->cells, width, w->width, w->method) ||
        !levada_reserve(&w->s->sum, &w->s->sum_capacity, width * w->channels, sizeof(float)) ||
        !levada_reserve(&w->s->line, &w->s->line_capacity, line, sizeof(float))) {
        return levada_fail(why, LEVADA_ERESOURCE_EXHAUSTED,
                           "out of memory while resizing an image");
    }
    for (int64_t y = 0; y < w->height; y++) resize_row(w, row, y, width, values);
    return LEVADA_OK;
}

/* -- a block */

static levada_status resize_column(const resize_work *w, int32_t index, levada_builder *b,
                                   levada_error *err)
{
    int64_t size = w->height * w->width * w->channels;
    int64_t bytes = size * levada_dtype_size(w->from->field->dtype);
    void   *values = NULL;

    LEVADA_TRY(levada_builder_values(b, index, w->from->n * size, &values, err));
    for (int64_t i = 0; i < w->from->n; i++) {
        levada_error  why = LEVADA_ERROR_INIT;
        levada_status st = resize_one(w, i, values, &why);

        if (st == LEVADA_OK) continue;
        if (st == LEVADA_ERESOURCE_EXHAUSTED) {
            if (err) *err = why;
            return st;
        }
        memset((uint8_t *)values + i * bytes, 0, (size_t)bytes);
        LEVADA_TRY(levada_builder_reject(b, i, &why, err));
    }
    return LEVADA_OK;
}

static levada_status resize_image_apply(void *state, const void *args, const levada_block *in,
                                        levada_block **out, levada_error *err)
{
    resize_state            *s = state;
    const resize_image_args *a = args;
    resize_work              w = { .s = s, .method = a->method };
    levada_one_field         f;

    LEVADA_TRY(levada_one_field_begin(&s->shared, resize_image_check, a, a->field, in, &f, err));
    w.from = f.from;
    w.height = a->size.at[0];
    w.width = a->size.at[1];
    w.channels = f.from->dims[f.from->field->ndim - 1];
    return levada_one_field_end(&f, resize_column(&w, f.index, f.b, err), out, err);
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
    .open = levada_columns_state_open,
    .close = resize_image_close,
    .apply = resize_image_apply,
};
