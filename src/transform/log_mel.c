/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log_mel - the logarithm of the mel spectrogram of sounds: frames of samples, times a Hann window,
 * their power spectrum, sums by mel filters, and a logarithm. The formulas are those of
 * librosa.feature.melspectrogram and torchaudio.transforms.MelSpectrogram.
 */
#include "base/alloc.h"
#include "transform/fft.h"
#include "transform/mel.h"
#include "transform/one_field.h"
#include "transform/samples.h"

#include <math.h>
#include <string.h>

enum { LOG_MEL_MOST = 65536, LOG_MEL_BLOCK = 1 << 28 };
enum { LOG_MEL_REFLECT, LOG_MEL_ZEROS, LOG_MEL_NONE };
enum { LOG_MEL_NATURAL, LOG_MEL_LOG10, LOG_MEL_LINEAR };

typedef struct log_mel_args {
    const char *field;
    int64_t     rate, n_fft, hop, window, n_mels;
    double      low, high;
    int64_t     scale, norm, padding, log;
    double      floor;
    const char *rate_field;
} log_mel_args;

typedef struct log_mel_state {
    levada_columns_state  shared;
    levada_fft           *fft;
    levada_mel            mel;
    float                *window; /* n_fft: zeros around a shorter window */
    float                *values; /* n_fft samples times the window */
    float                *power;  /* n_fft / 2 + 1 */
} log_mel_state;

/* What is done to a column of a block. */
typedef struct log_mel_work {
    const log_mel_args  *a;
    log_mel_state       *s;
    const levada_column *from, *rates; /* rates: NULL = there is none */
} log_mel_work;

static const levada_arg log_mel_options[] = {
    LEVADA_ARG(TEXT, log_mel_args, field, .required = true, .positional = true,
               .doc = "field with audio of one channel: [frames] or [frames, 1] of float32"),
    LEVADA_ARG(INT, log_mel_args, rate, .otherwise = "16000", .min = 1, .max = 1 << 22,
               .doc = "samples per second"),
    LEVADA_ARG(INT, log_mel_args, n_fft, .otherwise = "400", .min = 2, .max = LOG_MEL_MOST,
               .doc = "samples of a frame, an even number"),
    LEVADA_ARG(INT, log_mel_args, hop, .otherwise = "160", .min = 1, .max = LOG_MEL_MOST,
               .doc = "samples from frame to frame"),
    LEVADA_ARG(INT, log_mel_args, window, .min = 1, .max = LOG_MEL_MOST,
               .doc = "samples of the Hann window, centered in a frame; null = n_fft"),
    LEVADA_ARG(INT, log_mel_args, n_mels, .otherwise = "80", .min = 1, .max = 4096,
               .doc = "number of filters, the size of a frame of the result"),
    LEVADA_ARG(FLOAT, log_mel_args, low, .otherwise = "0", .min = 0, .max = 1 << 22,
               .doc = "lowest frequency of the filters, in Hz"),
    LEVADA_ARG(FLOAT, log_mel_args, high, .min = 0, .max = 1 << 22,
               .doc = "highest frequency of the filters, in Hz; null = rate / 2"),
    LEVADA_ARG(CHOICE, log_mel_args, scale, .choices = "slaney|htk",
               .doc = "mel scale: slaney as in librosa, htk as in HTK and torchaudio"),
    LEVADA_ARG(CHOICE, log_mel_args, norm, .choices = "slaney|none",
               .doc = "slaney: filters of area 1 as in librosa; none: filters of height 1 as in "
                      "torchaudio"),
    LEVADA_ARG(CHOICE, log_mel_args, padding, .choices = "reflect|zeros|none",
               .doc = "padding with n_fft / 2 samples before and after the audio: reflected, "
                      "zeros, or none"),
    LEVADA_ARG(CHOICE, log_mel_args, log, .choices = "natural|log10|none",
               .doc = "logarithm; none = the power itself"),
    LEVADA_ARG(FLOAT, log_mel_args, floor, .otherwise = "1e-10", .min = 0, .max = 1 << 30,
               .doc = "minimum power; smaller values are raised to it"),
    LEVADA_ARG(TEXT, log_mel_args, rate_field, .otherwise = "sample_rate",
               .doc = "field with the sample rate; if the records have it, it must equal rate"),
    LEVADA_ARG_END,
};

/* -- options and columns */

static int64_t log_mel_window(const log_mel_args *a)
{
    return a->window == LEVADA_NULL_INT ? a->n_fft : a->window;
}

static double log_mel_high(const log_mel_args *a)
{
    return isnan(a->high) ? (double)a->rate / 2 : a->high;
}

static levada_status log_mel_check_options(const log_mel_args *a, levada_error *err)
{
    if (a->n_fft % 2 != 0)
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "n_fft=%lld must be even",
                           (long long)a->n_fft);
    if (log_mel_window(a) > a->n_fft)
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "window=%lld is longer than n_fft=%lld",
                           (long long)a->window, (long long)a->n_fft);
    if (!(a->low < log_mel_high(a)) || log_mel_high(a) > (double)a->rate / 2)
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "low=%g and high=%g must ascend, up to half the rate of %lld", a->low,
                           log_mel_high(a), (long long)a->rate);
    if (a->floor > 0 || a->log == LOG_MEL_LINEAR) return LEVADA_OK;
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                       "floor=%g must be above 0 for a logarithm", a->floor);
}

static levada_status log_mel_field(const void *args, levada_field *f, levada_error *err)
{
    const log_mel_args *a = args;

    LEVADA_TRY(levada_samples_check(f, err));
    if (f->dtype != LEVADA_FLOAT32 || levada_samples_channels(f) != 1) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "field '%s' has %lld channels of %s: expected one of float32", f->name,
                           (long long)levada_samples_channels(f), levada_dtype_name(f->dtype));
    }
    f->depth = 1;
    f->ndim = 1;
    f->dims[0] = a->n_mels;
    return LEVADA_OK;
}

static levada_status log_mel_check(const void *args, const levada_spec *in, levada_spec **out,
                                   levada_error *err)
{
    const log_mel_args *a = args;
    int32_t             rate = levada_spec_find(in, a->rate_field);

    LEVADA_TRY(log_mel_check_options(a, err));
    LEVADA_TRY(levada_spec_want_records(in, err));
    if (rate >= 0) LEVADA_TRY(levada_rate_check(levada_spec_field(in, rate), err));
    return levada_one_field_check(in, a->field, log_mel_field, a, out, err);
}

/* -- state */

/* Fills a periodic Hann window in the middle of n_fft numbers. */
static void log_mel_fill_window(const log_mel_args *a, float *to)
{
    int64_t n = log_mel_window(a), begin = (a->n_fft - n) / 2;

    for (int64_t i = 0; i < a->n_fft; i++) to[i] = 0;
    for (int64_t i = 0; i < n; i++) {
        to[begin + i] = (float)(0.5 - 0.5 * cos(2.0 * 3.14159265358979323846 * (double)i /
                                                (double)n));
    }
}

static levada_status log_mel_make(log_mel_state *s, const log_mel_args *a, levada_error *err)
{
    const levada_mel_design d = {
        a->rate, a->n_fft, a->n_mels, a->low, log_mel_high(a), a->scale == 1, a->norm == 0
    };
    size_t size = (size_t)a->n_fft * sizeof(float);

    LEVADA_TRY(levada_fft_create(a->n_fft, &s->fft, err));
    LEVADA_TRY(levada_mel_create(&d, &s->mel, err));
    s->window = levada_alloc(size);
    s->values = levada_alloc(size);
    s->power = levada_alloc(size + sizeof(float));
    if (!s->window || !s->values || !s->power)
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a spectrum");
    log_mel_fill_window(a, s->window);
    return LEVADA_OK;
}

static void log_mel_close(void *state)
{
    log_mel_state *s = state;

    levada_columns_state_close(&s->shared);
    levada_fft_destroy(&s->fft);
    levada_mel_clear(&s->mel);
    levada_free(s->window);
    levada_free(s->values);
    levada_free(s->power);
    *s = (log_mel_state){ 0 };
}

static levada_status log_mel_open(void *state, const void *args, const levada_context *context,
                                  levada_error *err)
{
    log_mel_state      *s = state;
    const log_mel_args *a = args;
    levada_status       st = log_mel_make(s, a, err);

    s->shared.context = context;
    if (st == LEVADA_OK && s->mel.empty > 0) {
        levada_context_log(context, LEVADA_LOG_WARNING,
                           "log_mel: %lld of %lld filters have no frequency of the spectrum: use "
                           "fewer n_mels, or a larger n_fft",
                           (long long)s->mel.empty, (long long)a->n_mels);
    }
    if (st != LEVADA_OK) log_mel_close(s);
    return st;
}

/* -- one sound */

static int64_t log_mel_frames(const log_mel_args *a, int64_t n)
{
    if (n == 0) return 0;
    if (a->padding != LOG_MEL_NONE) return 1 + n / a->hop;
    return n < a->n_fft ? 0 : 1 + (n - a->n_fft) / a->hop;
}

/* Returns sample `at` of n, which may lie outside. */
static float log_mel_outside(const log_mel_args *a, const float *x, int64_t n, int64_t at)
{
    int64_t period = n > 1 ? 2 * (n - 1) : 1;

    if (at >= 0 && at < n) return x[at];
    if (a->padding != LOG_MEL_REFLECT) return 0;
    at %= period;
    if (at < 0) at += period;
    return x[at < n ? at : period - at];
}

/* Takes the samples of the frame that begins at `at`, times the window. */
static void log_mel_take(const log_mel_work *w, const float *x, int64_t n, int64_t at)
{
    int64_t      size = w->a->n_fft;
    const float *window = w->s->window;
    float       *to = w->s->values;

    if (at >= 0 && at + size <= n) {
        for (int64_t i = 0; i < size; i++) to[i] = x[at + i] * window[i];
        return;
    }
    for (int64_t i = 0; i < size; i++) to[i] = log_mel_outside(w->a, x, n, at + i) * window[i];
}

static float log_mel_log(const log_mel_args *a, float power)
{
    float least = (float)a->floor;

    if (power < least) power = least;
    if (a->log == LOG_MEL_NATURAL) return logf(power);
    return a->log == LOG_MEL_LOG10 ? log10f(power) : power;
}

static void log_mel_sums(const log_mel_work *w, float *to)
{
    for (int64_t m = 0; m < w->a->n_mels; m++) {
        const levada_mel_filter *f = &w->s->mel.filters[m];
        const float             *weights = w->s->mel.weights + f->first_weight;
        float                    sum = 0;

        for (int32_t k = 0; k < f->n; k++) sum += weights[k] * w->s->power[f->first + k];
        to[m] = log_mel_log(w->a, sum);
    }
}

static void log_mel_one(const log_mel_work *w, const float *x, int64_t n, float *to)
{
    int64_t frames = log_mel_frames(w->a, n);
    int64_t first = w->a->padding == LOG_MEL_NONE ? 0 : -(w->a->n_fft / 2);

    for (int64_t t = 0; t < frames; t++) {
        log_mel_take(w, x, n, first + t * w->a->hop);
        levada_fft_power(w->s->fft, w->s->values, w->s->power);
        log_mel_sums(w, to + t * w->a->n_mels);
    }
}

/* -- a block */

static levada_status log_mel_rate(const log_mel_work *w, int64_t row, levada_error *why)
{
    if (!w->rates || levada_rate_row(w->rates, row) == w->a->rate) return LEVADA_OK;
    return levada_fail(why, LEVADA_EINVALID_ARGUMENT,
                       "audio with %lld samples per second, expected rate=%lld; resample it first",
                       (long long)levada_rate_row(w->rates, row), (long long)w->a->rate);
}

static levada_status log_mel_offsets(const log_mel_work *w, levada_builder *b, int32_t *offsets,
                                     levada_error *err)
{
    int64_t total = 0, n;

    offsets[0] = 0;
    for (int64_t i = 0; i < w->from->n; i++) {
        levada_error why = LEVADA_ERROR_INIT;

        (void)levada_samples_row(w->from, i, &n);
        if (log_mel_rate(w, i, &why) == LEVADA_OK) total += log_mel_frames(w->a, n);
        else LEVADA_TRY(levada_builder_reject(b, i, &why, err));
        if (total * w->a->n_mels > LOG_MEL_BLOCK)
            return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED,
                               "more than 2^28 numbers in one block; lower block_rows");
        offsets[i + 1] = (int32_t)total;
    }
    return LEVADA_OK;
}

static levada_status log_mel_column(const log_mel_work *w, levada_builder *b, int32_t index,
                                    levada_error *err)
{
    int32_t *offsets = NULL;
    void    *values = NULL;

    LEVADA_TRY(levada_builder_offsets(b, index, 0, w->from->n, &offsets, err));
    LEVADA_TRY(log_mel_offsets(w, b, offsets, err));
    LEVADA_TRY(levada_builder_values(b, index, offsets[w->from->n] * w->a->n_mels, &values, err));
    for (int64_t i = 0; i < w->from->n; i++) {
        int64_t        n;
        const uint8_t *x = levada_samples_row(w->from, i, &n);

        if (levada_context_cancelled(w->s->shared.context))
            return levada_fail(err, LEVADA_ECANCELLED, "cancelled");
        if (offsets[i + 1] == offsets[i]) continue;
        log_mel_one(w, (const float *)(const void *)x, n,
                    (float *)values + offsets[i] * w->a->n_mels);
    }
    return LEVADA_OK;
}

static levada_status log_mel_apply(void *state, const void *args, const levada_block *in,
                                   levada_block **out, levada_error *err)
{
    log_mel_state   *s = state;
    log_mel_work     w = { .a = args, .s = s };
    levada_one_field f;

    LEVADA_TRY(levada_one_field_begin(&s->shared, log_mel_check, args, w.a->field, in, &f, err));
    w.from = f.from;
    w.rates = levada_block_column(in, w.a->rate_field);
    return levada_one_field_end(&f, log_mel_column(&w, f.b, f.index, err), out, err);
}

static const levada_example_file log_mel_files[] = {
    { "samples.bin", "\0\0\0\0\0\0\x80\x3f\0\0\0\0\0\0\x80\xbf\0\0\0\0\0\0\0\x3f\0\0\0\0\0\0\0\xbf",
      32 },
    { NULL, NULL, 0 }
};

const levada_stage_def levada_stage_log_mel = {
    .struct_size = sizeof(levada_stage_def),
    .name = "log_mel",
    .doc = "computes log-mel spectrograms of audio",
    .example = "fixed_length:samples.bin,record_bytes=16 | decode_raw:float32 | "
               "log_mel:record,rate=8,n_fft=4,hop=2,n_mels=2",
    .example_files = log_mel_files,
    .mode = LEVADA_MODE_PURE,
    .traits = LEVADA_TRAITS(.rows = LEVADA_ROWS_ONE_TO_ONE, .reads = LEVADA_READS_COLUMNS),
    .args = log_mel_options,
    .args_size = sizeof(log_mel_args),
    .state_size = sizeof(log_mel_state),
    .check = log_mel_check,
    .open = log_mel_open,
    .close = log_mel_close,
    .apply = log_mel_apply,
};
