/* SPDX-License-Identifier: Apache-2.0 */
/*
 * normalize - numbers to float32: (scale * x - mean) / std for each channel, which is ToTensor and
 * Normalize of torchvision in one pass. Images of one size may become channels first.
 */
#include "base/alloc.h"
#include "transform/one_field.h"

#include <math.h>

enum { NORMALIZE_HWC, NORMALIZE_CHW };
enum { NORMALIZE_STEP = 16, NORMALIZE_MOST = 65536 }; /* numbers at a time; channels */

typedef struct normalize_args {
    const char   *field;
    levada_floats mean, std;
    int64_t       layout;
    double        scale;
} normalize_args;

typedef struct normalize_state {
    levada_columns_state shared;
    float               *gain, *shift; /* of NORMALIZE_STEP pixels: y = gain * x + shift */
    int64_t              gain_capacity, shift_capacity;
} normalize_state;

/* What is done to a column of a block. */
typedef struct normalize_work {
    const normalize_args *a;
    normalize_state      *s;
    levada_dtype          from;
    int64_t               channels;
} normalize_work;

static const levada_arg normalize_options[] = {
    LEVADA_ARG(TEXT, normalize_args, field, .required = true, .positional = true,
               .doc = "field of uint8, uint16 or float32; its last dimension is the channels"),
    LEVADA_ARG(FLOATS, normalize_args, mean, .otherwise = "0",
               .doc = "subtracted from each channel after scaling: one number, or one for each "
                      "channel"),
    LEVADA_ARG(FLOATS, normalize_args, std, .otherwise = "1",
               .doc = "divides each channel after subtracting mean: one number, or one for each "
                      "channel"),
    LEVADA_ARG(CHOICE, normalize_args, layout, .choices = "hwc|chw",
               .doc = "hwc: keep the shape; chw: images [height, width, channels] become "
                      "[channels, height, width]"),
    LEVADA_ARG(FLOAT, normalize_args, scale,
               .doc = "factor before mean is subtracted; null = 1/255 for uint8, 1/65535 for "
                      "uint16, 1 for float32"),
    LEVADA_ARG_END,
};

/* -- columns */

static levada_status normalize_check_list(const char *name, levada_floats list, bool divides,
                                          levada_error *err)
{
    if (list.n == 0) return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                                        "%s must have at least one number, got an empty list",
                                        name);
    for (int64_t i = 0; i < list.n; i++) {
        if (isfinite(list.at[i]) && !(divides && !(list.at[i] > 0))) continue;
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "%s[%lld]=%g must be %s", name,
                           (long long)i, list.at[i], divides ? "above 0" : "finite");
    }
    return LEVADA_OK;
}

/* Channels are -1 where each block sets them. */
static levada_status normalize_check_count(const char *name, levada_floats list, int64_t channels,
                                           levada_error *err)
{
    if (list.n == 1 || list.n == channels || channels < 0) return LEVADA_OK;
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                       "len(%s)=%lld must be 1 or the number of channels, %lld", name,
                       (long long)list.n, (long long)channels);
}

static levada_status normalize_check_options(const normalize_args *a, int64_t channels,
                                             levada_error *err)
{
    LEVADA_TRY(normalize_check_list("mean", a->mean, false, err));
    LEVADA_TRY(normalize_check_list("std", a->std, true, err));
    if (isinf(a->scale))
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "scale=%g must be finite", a->scale);
    LEVADA_TRY(normalize_check_count("mean", a->mean, channels, err));
    return normalize_check_count("std", a->std, channels, err);
}

static levada_status normalize_check_field(const normalize_args *a, const levada_field *f,
                                           levada_error *err)
{
    if (f->dtype != LEVADA_UINT8 && f->dtype != LEVADA_UINT16 && f->dtype != LEVADA_FLOAT32) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "field '%s' must be uint8, uint16 or float32, got %s", f->name,
                           levada_dtype_name(f->dtype));
    }
    if (f->padded) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "field '%s' is padded; normalize it upstream of the padding", f->name);
    }
    if (a->layout == NORMALIZE_HWC || (f->depth == 0 && f->ndim == 3)) return LEVADA_OK;
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                       "layout=chw needs images of one size [height, width, channels] in field "
                       "'%s'; crop, resize or pad them first", f->name);
}

static levada_status normalize_field(const void *args, levada_field *f, levada_error *err)
{
    const normalize_args *a = args;
    int64_t               channels = f->ndim ? f->dims[f->ndim - 1] : 1;

    LEVADA_TRY(normalize_check_field(a, f, err));
    LEVADA_TRY(normalize_check_options(a, channels, err));
    f->dtype = LEVADA_FLOAT32;
    if (a->layout == NORMALIZE_HWC) return LEVADA_OK;
    f->dims[2] = f->dims[1];
    f->dims[1] = f->dims[0];
    f->dims[0] = channels;
    return LEVADA_OK;
}

static levada_status normalize_check(const void *args, const levada_spec *in, levada_spec **out,
                                     levada_error *err)
{
    return levada_one_field_check(in, ((const normalize_args *)args)->field, normalize_field, args,
                                  out, err);
}

static void normalize_close(void *state)
{
    normalize_state *s = state;

    levada_columns_state_close(&s->shared);
    levada_free(s->gain);
    levada_free(s->shift);
}

/* -- numbers */

static double normalize_scale(const normalize_work *w)
{
    if (!isnan(w->a->scale)) return w->a->scale;
    if (w->from == LEVADA_UINT8) return 1.0 / 255;
    return w->from == LEVADA_UINT16 ? 1.0 / 65535 : 1.0;
}

static double normalize_of(levada_floats list, int64_t channel)
{
    return list.at[list.n == 1 ? 0 : channel];
}

static levada_status normalize_prepare(const normalize_work *w, levada_error *err)
{
    normalize_state *s = w->s;
    int64_t          n = w->channels * NORMALIZE_STEP;

    if (w->channels > NORMALIZE_MOST) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "%lld channels must be at most %d",
                           (long long)w->channels, NORMALIZE_MOST);
    }
    LEVADA_TRY(normalize_check_options(w->a, w->channels, err));
    if (!levada_reserve(&s->gain, &s->gain_capacity, n, sizeof(float)) ||
        !levada_reserve(&s->shift, &s->shift_capacity, n, sizeof(float))) {
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for means");
    }
    for (int64_t i = 0; i < n; i++) {
        int64_t c = i % w->channels;

        s->gain[i] = (float)(normalize_scale(w) / normalize_of(w->a->std, c));
        s->shift[i] = (float)(-normalize_of(w->a->mean, c) / normalize_of(w->a->std, c));
    }
    return LEVADA_OK;
}

/* Channels next to each other: `gain` and `shift` repeat after `period` numbers. Compilers
 * vectorize the loop of NORMALIZE_STEP. */
#define NORMALIZE_HWC_OF(type)                                                                   \
    static void normalize_hwc_##type(const type *restrict x, int64_t n, const normalize_work *w, \
                                     float *restrict to)                                         \
    {                                                                                            \
        int64_t period = w->channels * NORMALIZE_STEP, i = 0;                                    \
                                                                                                 \
        for (; i + period <= n; i += period) {                                                   \
            for (int64_t k = 0; k < period; k += NORMALIZE_STEP) {                               \
                const float *gain = w->s->gain + k, *shift = w->s->shift + k;                    \
                                                                                                 \
                for (int j = 0; j < NORMALIZE_STEP; j++)                                         \
                    to[i + k + j] = (float)x[i + k + j] * gain[j] + shift[j];                    \
            }                                                                                    \
        }                                                                                        \
        for (int64_t k = 0; i + k < n; k++)                                                      \
            to[i + k] = (float)x[i + k] * w->s->gain[k] + w->s->shift[k];                        \
    }

/* One channel of an image of n pixels. */
#define NORMALIZE_CHW_OF(type)                                                                   \
    static void normalize_chw_##type(const type *restrict x, int64_t n, int64_t channels,        \
                                     float gain, float shift, float *restrict to)                \
    {                                                                                            \
        type    some[NORMALIZE_STEP];                                                            \
        int64_t i = 0;                                                                           \
                                                                                                 \
        for (; i + NORMALIZE_STEP <= n; i += NORMALIZE_STEP) {                                   \
            for (int j = 0; j < NORMALIZE_STEP; j++) some[j] = x[(i + j) * channels];            \
            for (int j = 0; j < NORMALIZE_STEP; j++) to[i + j] = (float)some[j] * gain + shift;  \
        }                                                                                        \
        for (; i < n; i++) to[i] = (float)x[i * channels] * gain + shift;                        \
    }

NORMALIZE_HWC_OF(uint8_t)
NORMALIZE_HWC_OF(uint16_t)
NORMALIZE_HWC_OF(float)
NORMALIZE_CHW_OF(uint8_t)
NORMALIZE_CHW_OF(uint16_t)
NORMALIZE_CHW_OF(float)

static void normalize_hwc(const normalize_work *w, const void *from, int64_t n, float *to)
{
    if (w->from == LEVADA_UINT8) normalize_hwc_uint8_t(from, n, w, to);
    else if (w->from == LEVADA_UINT16) normalize_hwc_uint16_t(from, n, w, to);
    else normalize_hwc_float(from, n, w, to);
}

/* Computes channel c of an image of n pixels. */
static void normalize_chw(const normalize_work *w, const void *image, int64_t n, int64_t c,
                          float *to)
{
    float gain = w->s->gain[c], shift = w->s->shift[c];

    if (w->from == LEVADA_UINT8)
        normalize_chw_uint8_t((const uint8_t *)image + c, n, w->channels, gain, shift, to);
    else if (w->from == LEVADA_UINT16)
        normalize_chw_uint16_t((const uint16_t *)image + c, n, w->channels, gain, shift, to);
    else
        normalize_chw_float((const float *)image + c, n, w->channels, gain, shift, to);
}

/* -- a block */

static levada_status normalize_planes(const normalize_work *w, const levada_one_field *f,
                                      levada_error *err)
{
    int64_t pixels = f->from->dims[0] * f->from->dims[1], size = pixels * w->channels;
    int64_t dims[3] = { w->channels, f->from->dims[0], f->from->dims[1] };
    void   *values = NULL;

    levada_builder_dims(f->b, f->index, dims);
    LEVADA_TRY(levada_builder_values(f->b, f->index, f->from->n * size, &values, err));
    for (int64_t i = 0; i < f->from->n; i++) {
        const uint8_t *image = f->from->values + i * size * levada_dtype_size(w->from);
        float         *to = (float *)values + i * size;

        for (int64_t c = 0; c < w->channels; c++)
            normalize_chw(w, image, pixels, c, to + c * pixels);
    }
    return LEVADA_OK;
}

static levada_status normalize_column(const normalize_work *w, const levada_one_field *f,
                                      levada_error *err)
{
    const uint8_t *from = NULL;
    void          *values = NULL;
    int64_t        n = 0;

    LEVADA_TRY(normalize_prepare(w, err));
    if (w->a->layout == NORMALIZE_CHW) return normalize_planes(w, f, err);
    LEVADA_TRY(levada_one_field_numbers(f->b, f->index, f->from, &from, &values, &n, err));
    normalize_hwc(w, from, n, values);
    return LEVADA_OK;
}

static levada_status normalize_apply(void *state, const void *args, const levada_block *in,
                                     levada_block **out, levada_error *err)
{
    normalize_work   w = { .a = args, .s = state };
    levada_one_field f;
    int32_t          ndim;

    LEVADA_TRY(levada_one_field_begin(&w.s->shared, normalize_check, w.a, w.a->field, in, &f, err));
    ndim = f.from->field->ndim;
    w.from = f.from->field->dtype;
    w.channels = ndim ? f.from->dims[ndim - 1] : 1;
    return levada_one_field_end(&f, normalize_column(&w, &f, err), out, err);
}

static const levada_example_file normalize_files[] = {
    { "pixels.bin", "\0\1\2\3\4\5\6\7\10\11\12\13\14\15\16\17\20\21\22\23\24\25\26\27", 24 },
    { NULL, NULL, 0 }
};

const levada_stage_def levada_stage_normalize = {
    .struct_size = sizeof(levada_stage_def),
    .name = "normalize",
    .doc = "scales numbers to float32, subtracts a mean and divides by a standard deviation",
    .example = "fixed_length:pixels.bin,record_bytes=12 | decode_raw:uint8 | "
               "reshape:record,shape=[2,2,3] | "
               "normalize:record,mean=[0.485,0.456,0.406],std=[0.229,0.224,0.225],layout=chw",
    .example_files = normalize_files,
    .mode = LEVADA_MODE_PURE,
    .traits = LEVADA_TRAITS(.rows = LEVADA_ROWS_ONE_TO_ONE, .reads = LEVADA_READS_COLUMNS,
                            .never_rejects = true),
    .args = normalize_options,
    .args_size = sizeof(normalize_args),
    .state_size = sizeof(normalize_state),
    .check = normalize_check,
    .open = levada_columns_state_open,
    .close = normalize_close,
    .apply = normalize_apply,
};
