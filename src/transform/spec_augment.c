/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spec_augment - masks of time and of frequency on spectrograms, as in "SpecAugment: A Simple Data
 * Augmentation Method for Automatic Speech Recognition" (Park et al., 2019), without time warping.
 */
#include "tensor/tensor_priv.h"
#include "transform/augment.h"

#include <math.h>
#include <string.h>

enum { SPEC_AUGMENT_STEP = 16 }; /* numbers that loops take at a time: compilers vectorize these */

typedef struct spec_augment_args {
    levada_augment_args shared;
    int64_t             time_masks, time_width, frequency_masks, frequency_width;
    double              time_fraction, value;
} spec_augment_args;

/* Frames or frequencies that a mask covers. */
typedef struct spec_augment_mask {
    int64_t first, n;
} spec_augment_mask;

static const levada_arg spec_augment_options[] = {
    LEVADA_AUGMENT_ARGUMENTS(
        "field with spectrograms: [frames, frequencies] of float32, as log_mel "
        "makes"),
    LEVADA_ARG(INT, spec_augment_args, time_masks, .otherwise = "2", .min = 0, .max = 1000,
               .doc = "number of time masks of each record"),
    LEVADA_ARG(INT, spec_augment_args, time_width, .otherwise = "100", .min = 0, .max = 1 << 30,
               .doc =
                   "maximum number of frames of a time mask; all widths from 0 are equally likely"),
    LEVADA_ARG(FLOAT, spec_augment_args, time_fraction, .otherwise = "1", .min = 0, .max = 1,
               .doc = "maximum width of a time mask as a fraction of the frames of the record"),
    LEVADA_ARG(INT, spec_augment_args, frequency_masks, .otherwise = "2", .min = 0, .max = 1000,
               .doc = "number of frequency masks of each record"),
    LEVADA_ARG(INT, spec_augment_args, frequency_width, .otherwise = "27", .min = 0, .max = 1 << 30,
               .doc = "maximum number of frequencies of a frequency mask; all widths from 0 are "
                      "equally likely"),
    LEVADA_ARG(FLOAT, spec_augment_args, value,
               .doc = "number in the masks; null = the mean of the record before masking"),
    LEVADA_ARG_END,
};

static levada_status spec_augment_field(const void *args, levada_field *f, levada_error *err)
{
    char shown[LEVADA_FIELD_SHOWN];
    (void)args;
    LEVADA_TRY(levada_samples_check(f, err));
    if (f->dtype == LEVADA_FLOAT32 && f->depth + f->ndim == 2) return LEVADA_OK;
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                       "field '%s' must be a spectrogram, [frames, frequencies] of float32; got %s",
                       f->name, levada_field_shown(f, shown));
}

static levada_status spec_augment_check(const void *args, const levada_spec *in, levada_spec **out,
                                        levada_error *err)
{
    const spec_augment_args *a = args;

    LEVADA_TRY(levada_spec_want_records(in, err));
    return levada_one_field_check(in, a->shared.field, spec_augment_field, a, out, err);
}

/* -- one spectrogram */

static float spec_augment_value(const spec_augment_args *a, const float *x, int64_t n)
{
    double  sums[SPEC_AUGMENT_STEP] = { 0 }, sum = 0;
    int64_t i = 0;

    if (!isnan(a->value)) return (float)a->value;
    for (; i + SPEC_AUGMENT_STEP <= n; i += SPEC_AUGMENT_STEP)
        for (int k = 0; k < SPEC_AUGMENT_STEP; k++) sums[k] += (double)x[i + k];
    for (; i < n; i++) sum += (double)x[i];
    for (int k = 0; k < SPEC_AUGMENT_STEP; k++) sum += sums[k];
    return (float)(sum / (double)n);
}

/* Draws a mask of up to `width` of `all`: the width first, then its place. */
static spec_augment_mask spec_augment_draw(uint64_t key, int64_t number, int64_t width,
                                           int64_t all)
{
    uint64_t bits = levada_random_at(key, (uint64_t)number * 2);
    uint64_t more = levada_random_at(key, (uint64_t)number * 2 + 1);
    int64_t  n = (int64_t)levada_random_below(bits, (uint64_t)(width < all ? width : all) + 1);

    return (spec_augment_mask){ (int64_t)levada_random_below(more, (uint64_t)(all - n) + 1), n };
}

static void spec_augment_put(float *to, int64_t n, float value)
{
    int64_t i = 0;

    for (; i + SPEC_AUGMENT_STEP <= n; i += SPEC_AUGMENT_STEP)
        for (int k = 0; k < SPEC_AUGMENT_STEP; k++) to[i + k] = value;
    for (; i < n; i++) to[i] = value;
}

static levada_status spec_augment_fill(const void *work, const levada_augment_row *r,
                                       levada_error *why)
{
    const spec_augment_args *a = work;
    int64_t                  size = r->channels, width = a->time_width;
    int64_t most = (int64_t)(a->time_fraction * (double)r->frames);
    float  *to = (float *)(void *)r->to;
    float   value = spec_augment_value(a, (const float *)(const void *)r->from, r->frames * size);

    (void)why;
    memcpy(to, r->from, (size_t)(r->frames * size) * sizeof *to);
    for (int64_t k = 0; k < a->time_masks; k++) {
        spec_augment_mask m = spec_augment_draw(r->key, k, width < most ? width : most, r->frames);

        spec_augment_put(to + m.first * size, m.n * size, value);
    }
    for (int64_t k = 0; k < a->frequency_masks; k++) {
        spec_augment_mask m = spec_augment_draw(r->key, a->time_masks + k, a->frequency_width,
                                                size);

        for (int64_t t = 0; t < r->frames; t++)
            spec_augment_put(to + t * size + m.first, m.n, value);
    }
    return LEVADA_OK;
}

static levada_status spec_augment_apply(void *state, const void *args, const levada_block *in,
                                        levada_block **out, levada_error *err)
{
    const spec_augment_args *a = args;

    return levada_augment_apply(state, spec_augment_check, a, spec_augment_fill, a, in,
                                out, err);
}

static const levada_example_file spec_augment_files[] = {
    { "frames.bin", "\0\0\0\0\0\0\x80\x3f\0\0\0\0\0\0\x80\xbf\0\0\0\0\0\0\0\x3f\0\0\0\0\0\0\0\xbf",
      32 },
    { NULL, NULL, 0 }
};

const levada_stage_def levada_stage_spec_augment = {
    .struct_size = sizeof(levada_stage_def),
    .name = "spec_augment",
    .doc = "masks random frames and frequencies of spectrograms (SpecAugment)",
    .example = "fixed_length:frames.bin,record_bytes=16 | decode_raw:float32 | "
               "reshape:record,shape=[2,2] | spec_augment:record,time_width=1,frequency_width=1",
    .example_files = spec_augment_files,
    .mode = LEVADA_MODE_PURE,
    .traits = LEVADA_TRAITS(.rows = LEVADA_ROWS_ONE_TO_ONE, .reads = LEVADA_READS_COLUMNS,
                            .random = LEVADA_RANDOM_BY_RECORD, .drawn = "masks",
                            .keeps_lengths = true, .never_rejects = true),
    .args = spec_augment_options,
    .args_size = sizeof(spec_augment_args),
    .state_size = sizeof(levada_augment_state),
    .check = spec_augment_check,
    .open = levada_augment_open,
    .close = levada_augment_close,
    .apply = spec_augment_apply,
};
