/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resample - sounds at another number of frames per second, through libsoxr. The rate of each
 * record is in a column, which gets the new one.
 */
#include "transform/resampled.h"
#include "transform/samples.h"

typedef struct resample_args {
    const char *field;
    int64_t     rate, input_rate;
    const char *rate_field;
    int64_t     quality, max_samples;
} resample_args;

/* What is done to the columns of a block. */
typedef struct resample_work {
    const resample_args *a;
    const levada_column *rates; /* NULL = input_rate is that of all */
} resample_work;

static const levada_arg resample_options[] = {
    LEVADA_ARG(TEXT, resample_args, field, .required = true, .positional = true,
               .doc = "field with audio: [frames] or [frames, channels] of float32, float64, int16 "
                      "or int32"),
    LEVADA_ARG(INT, resample_args, rate, .required = true, .min = 1,
               .max = LEVADA_RESAMPLED_MOST_RATE, .doc = "sample rate of the result, in Hz"),
    LEVADA_ARG(INT, resample_args, input_rate, .min = 1, .max = LEVADA_RESAMPLED_MOST_RATE,
               .doc = "sample rate of all audio, in Hz; null = read it from rate_field"),
    LEVADA_ARG(TEXT, resample_args, rate_field, .otherwise = "sample_rate",
               .doc = "field with the sample rate of each record; replaced by the new rate"),
    LEVADA_ARG(CHOICE, resample_args, quality, .choices = "HQ|VHQ|MQ|LQ|QQ",
               .doc = "quality of the filter, in the names of SoX: high, very high, medium, low, "
                      "quick"),
    LEVADA_ARG(INT, resample_args, max_samples, .otherwise = LEVADA_RESAMPLED_MOST, .min = 1,
               .max = LEVADA_RESAMPLED_MOST_SAMPLES,
               .doc = "maximum number of samples of a result, in all channels; a longer result is "
                      "a bad record"),
    LEVADA_ARG_END,
};

/* -- columns */

static levada_status resample_check(const void *args, const levada_spec *in, levada_spec **out,
                                    levada_error *err)
{
    const resample_args *a = args;
    int32_t              rate = levada_spec_find(in, a->rate_field);

    LEVADA_TRY(levada_spec_want_records(in, err));
    if (a->input_rate == LEVADA_NULL_INT)
        LEVADA_TRY(levada_spec_require(in, a->rate_field, &rate, err));
    if (rate >= 0) LEVADA_TRY(levada_rate_check(levada_spec_field(in, rate), err));
    return levada_one_field_check(in, a->field, levada_resampled_field, a, out, err);
}

/* -- a block */

static int64_t resample_rate(const void *user, int64_t row)
{
    const resample_work *w = user;

    return w->rates ? levada_rate_row(w->rates, row) : w->a->input_rate;
}

static levada_status resample_rates(const resample_args *a, levada_builder *b, int32_t index,
                                    const levada_column *from, levada_error *err)
{
    void *values = NULL;

    LEVADA_TRY(levada_builder_values(b, index, from->n, &values, err));
    for (int64_t i = 0; i < from->n; i++) {
        if (from->field->dtype == LEVADA_INT32) ((int32_t *)values)[i] = (int32_t)a->rate;
        else ((int64_t *)values)[i] = a->rate;
    }
    return LEVADA_OK;
}

static levada_status resample_apply(void *state, const void *args, const levada_block *in,
                                    levada_block **out, levada_error *err)
{
    levada_columns_state *s = state;
    const resample_args  *a = args;
    int32_t               rate = levada_spec_find(in->spec, a->rate_field);
    levada_one_field      f;
    resample_work         w = { .a = a };
    levada_status         st;
    const levada_resampled r = {
        .context = s->context,
        .f = &f,
        .from = resample_rate,
        .user = &w,
        .to = a->rate,
        .quality = (levada_resampler_quality)a->quality,
        .max_samples = a->max_samples,
    };

    LEVADA_TRY(levada_one_field_begin(s, resample_check, a, a->field, in, &f, err));
    if (a->input_rate == LEVADA_NULL_INT) w.rates = levada_block_at(in, rate);
    st = levada_resampled_fill(&r, err);
    if (st == LEVADA_OK && rate >= 0)
        st = resample_rates(a, f.b, rate, levada_block_at(in, rate), err);
    return levada_one_field_end(&f, st, out, err);
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
