/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resample - sounds at another number of frames per second, through libsoxr. The rate of each
 * record is in a column, which gets the new one.
 */
#include "base/alloc.h"
#include "transform/one_field.h"
#include "transform/resampler.h"
#include "transform/samples.h"

#include <string.h>

#define RESAMPLE_MOST_SAMPLES "134217728" /* 2^27 */

enum { RESAMPLE_MOST_RATE = 1 << 22, RESAMPLE_RATIO = 256, RESAMPLE_BLOCK = 1 << 28 };

typedef struct resample_args {
    const char *field;
    int64_t     rate, input_rate;
    const char *rate_field;
    int64_t     quality, max_samples;
} resample_args;

/* What is done to the columns of a block. */
typedef struct resample_work {
    const resample_args *a;
    const levada_column *from, *rates; /* rates: NULL = input_rate is that of all */
    int64_t              channels, size; /* size: bytes of a frame */
    levada_builder      *b;
} resample_work;

static const levada_arg resample_options[] = {
    LEVADA_ARG(TEXT, resample_args, field, .required = true, .positional = true,
               .doc = "field with audio: [frames] or [frames, channels] of float32, float64, int16 "
                      "or int32"),
    LEVADA_ARG(INT, resample_args, rate, .required = true, .min = 1, .max = RESAMPLE_MOST_RATE,
               .doc = "sample rate of the result, in Hz"),
    LEVADA_ARG(INT, resample_args, input_rate, .min = 1, .max = RESAMPLE_MOST_RATE,
               .doc = "sample rate of all audio, in Hz; null = read it from rate_field"),
    LEVADA_ARG(TEXT, resample_args, rate_field, .otherwise = "sample_rate",
               .doc = "field with the sample rate of each record; replaced by the new rate"),
    LEVADA_ARG(CHOICE, resample_args, quality, .choices = "HQ|VHQ|MQ|LQ|QQ",
               .doc = "quality of the filter, in the names of SoX: high, very high, medium, low, "
                      "quick"),
    LEVADA_ARG(INT, resample_args, max_samples, .otherwise = RESAMPLE_MOST_SAMPLES, .min = 1,
               .max = 1 << 28,
               .doc = "maximum number of samples of a result, in all channels; a longer result is "
                      "a bad record"),
    LEVADA_ARG_END,
};

/* -- columns */

static levada_status resample_field(const void *args, levada_field *f, levada_error *err)
{
    (void)args;
    LEVADA_TRY(levada_samples_check_audio(f, err));
    levada_samples_ragged(f);
    return LEVADA_OK;
}

static levada_status resample_check(const void *args, const levada_spec *in, levada_spec **out,
                                    levada_error *err)
{
    const resample_args *a = args;
    int32_t              rate = levada_spec_find(in, a->rate_field);

    LEVADA_TRY(levada_spec_want_records(in, err));
    if (a->input_rate == LEVADA_NULL_INT)
        LEVADA_TRY(levada_spec_require(in, a->rate_field, &rate, err));
    if (rate >= 0) LEVADA_TRY(levada_rate_check(levada_spec_field(in, rate), err));
    return levada_one_field_check(in, a->field, resample_field, a, out, err);
}

/* -- one sound */

static int64_t resample_rate(const resample_work *w, int64_t row)
{
    return w->rates ? levada_rate_row(w->rates, row) : w->a->input_rate;
}

/* Most frames that the record becomes; an error where that is too much. */
static levada_status resample_capacity(const resample_work *w, int64_t row, int64_t *capacity,
                                   levada_error *why)
{
    int64_t           rate = resample_rate(w, row), to = w->a->rate, frames;
    levada_resampling r = { .from = rate, .to = to };

    *capacity = 0;
    (void)levada_samples_row(w->from, row, &frames);
    if (rate < 1 || rate > RESAMPLE_MOST_RATE || rate > to * RESAMPLE_RATIO ||
        to > rate * RESAMPLE_RATIO) {
        return levada_fail(why, LEVADA_EINVALID_ARGUMENT,
                           "%lld frames per second cannot become %lld: the ratio is up to %d",
                           (long long)rate, (long long)to, RESAMPLE_RATIO);
    }
    *capacity = rate == to || frames == 0 ? frames : levada_resampler_capacity(&r, frames);
    if (*capacity * w->channels <= w->a->max_samples) return LEVADA_OK;
    *capacity = 0;
    return levada_fail(why, LEVADA_ERESOURCE_EXHAUSTED,
                       "more samples than max_samples=%lld", (long long)w->a->max_samples);
}

static levada_status resample_one(const resample_work *w, int64_t row, uint8_t *to,
                                  int64_t capacity, int64_t *made, levada_error *err)
{
    const levada_resampling r = {
        .from = resample_rate(w, row),
        .to = w->a->rate,
        .channels = w->channels,
        .dtype = w->from->field->dtype,
        .quality = (levada_resampler_quality)w->a->quality,
    };
    int64_t        frames;
    const uint8_t *at = levada_samples_row(w->from, row, &frames);

    *made = capacity;
    if (capacity == 0) return LEVADA_OK;
    if (r.from != r.to) return levada_resampler_run(&r, at, frames, to, capacity, made, err);
    memcpy(to, at, (size_t)(frames * w->size));
    return LEVADA_OK;
}

/* -- a block */

/* Reserves memory for all; records that do not fit are rejected, and empty. */
static levada_status resample_look(const resample_work *w, int64_t *capacities, int64_t *total,
                                   levada_error *err)
{
    *total = 0;
    for (int64_t i = 0; i < w->from->n; i++) {
        levada_error why = LEVADA_ERROR_INIT;

        if (resample_capacity(w, i, &capacities[i], &why) != LEVADA_OK)
            LEVADA_TRY(levada_builder_reject(w->b, i, &why, err));
        *total += capacities[i] * w->channels;
        if (*total <= RESAMPLE_BLOCK) continue;
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "more than 2^28 samples in one block");
    }
    return LEVADA_OK;
}

static levada_status resample_column(const resample_work *w, int32_t index, int64_t *capacities,
                                     levada_error *err)
{
    int32_t *offsets = NULL;
    void    *values = NULL;
    int64_t  total;

    LEVADA_TRY(resample_look(w, capacities, &total, err));
    LEVADA_TRY(levada_builder_offsets(w->b, index, 0, w->from->n, &offsets, err));
    LEVADA_TRY(levada_builder_values(w->b, index, total, &values, err));
    offsets[0] = 0;
    for (int64_t i = 0; i < w->from->n; i++) {
        int64_t made = 0;

        LEVADA_TRY(resample_one(w, i, (uint8_t *)values + offsets[i] * w->size, capacities[i],
                                &made, err));
        offsets[i + 1] = offsets[i] + (int32_t)made;
    }
    return LEVADA_OK;
}

static levada_status resample_rates(const resample_work *w, int32_t index, levada_dtype dtype,
                                    levada_error *err)
{
    void *values = NULL;

    LEVADA_TRY(levada_builder_values(w->b, index, w->from->n, &values, err));
    for (int64_t i = 0; i < w->from->n; i++) {
        if (dtype == LEVADA_INT32) ((int32_t *)values)[i] = (int32_t)w->a->rate;
        else ((int64_t *)values)[i] = w->a->rate;
    }
    return LEVADA_OK;
}

static levada_status resample_columns(resample_work *w, const levada_block *in,
                                      const levada_spec *spec, levada_error *err)
{
    int32_t       index = levada_spec_find(spec, w->a->field);
    int32_t       rate = levada_spec_find(spec, w->a->rate_field);
    int64_t      *capacities;
    levada_status st;

    for (int32_t i = 0; i < levada_spec_count(spec); i++) {
        if (i != index && i != rate) levada_builder_share(w->b, i, levada_block_at(in, i));
    }
    if (w->a->input_rate == LEVADA_NULL_INT) w->rates = levada_block_at(in, rate);
    capacities = levada_alloc((size_t)in->n * sizeof *capacities + 1);
    if (!capacities) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED,
                                        "out of memory while resampling");
    st = resample_column(w, index, capacities, err);
    if (st == LEVADA_OK && rate >= 0)
        st = resample_rates(w, rate, levada_spec_field(spec, rate)->dtype, err);
    levada_free(capacities);
    return st;
}

static levada_status resample_apply(void *state, const void *args, const levada_block *in,
                                    levada_block **out, levada_error *err)
{
    levada_columns_state *s = state;
    const levada_spec *spec = NULL;
    resample_work      w = { .a = args };
    levada_status      st;

    LEVADA_TRY(levada_derived_get(&s->columns, resample_check, args, in->spec, &spec, err));
    w.from = levada_block_column(in, w.a->field);
    if (!w.from) return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "no field '%s'", w.a->field);
    w.channels = levada_samples_channels(w.from->field);
    w.size = w.channels * levada_dtype_size(w.from->field->dtype);
    LEVADA_TRY(levada_builder_create(s->context->env, spec, in->n, &w.b, err));
    st = resample_columns(&w, in, spec, err);
    if (st == LEVADA_OK) st = levada_builder_publish(&w.b, out, err);
    levada_builder_destroy(&w.b);
    return st;
}

static const levada_example_file resample_files[] = {
    { "samples.bin", "\0\0\1\0\2\0\3\0\4\0\5\0\6\0\7\0", 16 },
    { NULL, NULL, 0 }
};

const levada_stage_def levada_stage_resample = {
    .struct_size = sizeof(levada_stage_def),
    .name = "resample",
    .doc = "resamples audio to another sample rate",
    .example = "fixed_length:samples.bin,record_bytes=8 | decode_raw:int16 | "
               "resample:record,rate=16000,input_rate=8000",
    .example_files = resample_files,
    .mode = LEVADA_MODE_PURE,
    .traits = LEVADA_TRAITS(.rows = LEVADA_ROWS_ONE_TO_ONE, .reads = LEVADA_READS_COLUMNS),
    .args = resample_options,
    .args_size = sizeof(resample_args),
    .state_size = sizeof(levada_columns_state),
    .check = resample_check,
    .open = levada_columns_state_open,
    .close = levada_columns_state_close,
    .apply = resample_apply,
};
