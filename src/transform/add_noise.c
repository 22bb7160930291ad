/* SPDX-License-Identifier: Apache-2.0 */
/*
 * add_noise - audio with noise at a signal-to-noise ratio that each record draws: white noise, or
 * the sound of another field.
 */
#include "tensor/tensor_priv.h"
#include "transform/augment.h"

#include <math.h>

enum { NOISE_PART = 256, NOISE_SUMS = 8 }; /* samples at a time; sums that add up side by side */

typedef struct add_noise_args {
    levada_augment_args shared;
    levada_floats       snr;
    const char         *noise;
} add_noise_args;

/* What is done to a column of a block. */
typedef struct add_noise_work {
    const add_noise_args *a;
    levada_range          snr;
    const levada_column  *noise; /* NULL = white noise */
} add_noise_work;

/* Samples of any dtype, of which those from n on are the first ones again. */
typedef struct noise_samples {
    levada_dtype   dtype;
    const uint8_t *at;
    int64_t        n;
} noise_samples;

static const levada_arg add_noise_options[] = {
    LEVADA_AUGMENT_ARGUMENTS(LEVADA_AUGMENT_AUDIO),
    LEVADA_ARG(FLOATS, add_noise_args, snr, .required = true, .min = -100, .max = 200,
               .doc = "signal-to-noise ratio in dB: one number, or [low, high], from which each "
                      "record draws; of the power in all channels"),
    LEVADA_ARG(TEXT, add_noise_args, noise,
               .doc = "field with the noise, of the same dtype and channels: a random part, or "
                      "repeated from a random frame if shorter; null = white Gaussian noise"),
    LEVADA_ARG_END,
};

/* -- columns */

static levada_status add_noise_check_noise(const add_noise_args *a, const levada_spec *in,
                                           levada_error *err)
{
    char a_shown[LEVADA_FIELD_SHOWN], b_shown[LEVADA_FIELD_SHOWN];
    const levada_field *f, *g;
    int32_t             sound = -1, noise = -1;

    if (!a->noise) return LEVADA_OK;
    LEVADA_TRY(levada_spec_require(in, a->noise, &noise, err));
    LEVADA_TRY(levada_spec_require(in, a->shared.field, &sound, err));
    if (noise < 0 || sound < 0) return LEVADA_OK;
    f = levada_spec_field(in, sound);
    g = levada_spec_field(in, noise);
    LEVADA_TRY(levada_samples_check_audio(f, err));
    LEVADA_TRY(levada_samples_check_audio(g, err));
    if (f->dtype == g->dtype && levada_samples_channels(f) == levada_samples_channels(g))
        return LEVADA_OK;
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                       "fields '%s' and '%s' must have the same dtype and number of channels, "
                       "got %s "
                       "and %s", f->name, g->name, levada_field_shown(f, a_shown),
                       levada_field_shown(g, b_shown));
}

static levada_status add_noise_check(const void *args, const levada_spec *in, levada_spec **out,
                                     levada_error *err)
{
    const add_noise_args *a = args;
    levada_range          snr;

    LEVADA_TRY(levada_range_read(a->snr, "snr", &snr, err));
    LEVADA_TRY(levada_spec_want_records(in, err));
    LEVADA_TRY(add_noise_check_noise(a, in, err));
    return levada_one_field_check(in, a->shared.field, levada_augment_audio, a, out, err);
}

/* -- samples */

static void noise_load(const noise_samples *s, int64_t first, int64_t n, double *to)
{
    int64_t size = levada_dtype_size(s->dtype);

    for (int64_t at = first % s->n; n > 0; at = 0) {
        int64_t part = s->n - at < n ? s->n - at : n;

        levada_samples_load(s->dtype, s->at + at * size, part, to);
        to += part;
        n -= part;
    }
}

/* Returns the mean square of n samples from `first` on. */
static double noise_power(const noise_samples *s, int64_t first, int64_t n)
{
    double part[NOISE_PART], sums[NOISE_SUMS] = { 0 }, sum = 0;

    for (int64_t at = 0; at < n; at += NOISE_PART) {
        int64_t size = n - at < NOISE_PART ? n - at : NOISE_PART;

        noise_load(s, first + at, size, part);
        while (size % NOISE_SUMS != 0) part[size++] = 0;
        for (int64_t i = 0; i < size; i += NOISE_SUMS) {
            for (int k = 0; k < NOISE_SUMS; k++) sums[k] += part[i + k] * part[i + k];
        }
    }
    for (int k = 0; k < NOISE_SUMS; k++) sum += sums[k];
    return sum / (double)n;
}

/* Draws n numbers of the normal distribution. The sum of four uniform numbers is nearly normal; the
 * polynomial, fitted to the quotient of the quantiles, makes the cumulative distribution exact to
 * 0.0002, and the largest number 5.2. */
static void noise_white(uint64_t key, int64_t first, int64_t n, double *to)
{
    const double mean = 2 * 65535.0, deviation = 37837.22713876672; /* sqrt((2^32 - 1) / 3) */

    for (int64_t i = 0; i < n; i++) {
        uint64_t bits = levada_random_at(key, (uint64_t)(first + i));

        to[i] = (double)(int32_t)((bits & 0xffff) + (bits >> 16 & 0xffff) + (bits >> 32 & 0xffff) +
                                  (bits >> 48));
    }
    for (int64_t i = 0; i < n; i++) {
        double s = (to[i] - mean) / deviation, q = s * s;

        to[i] = s * (9.62347647e-01 + q * (9.27036873e-03 + q * (1.79196957e-03 +
                     q * (-3.61861076e-04 + q * 3.80468121e-05))));
    }
}

/* -- one sound */

/* Returns the sample from which on the noise is used. A part is not repeated if it is long enough.
 */
static int64_t noise_first(const levada_augment_row *r, int64_t frames)
{
    int64_t places = frames > r->frames ? frames - r->frames + 1 : frames;

    return (int64_t)levada_random_below(levada_random_at(r->key, 1), (uint64_t)places) *
           r->channels;
}

/* Writes the sum of the sound and `scale` times the noise; white noise if `noise` has no samples.
 */
static void noise_add(const levada_augment_row *r, const noise_samples *noise, int64_t first,
                      double scale)
{
    const noise_samples sound = { r->dtype, r->from, r->frames * r->channels };
    int64_t             size = levada_dtype_size(r->dtype);
    double              part[NOISE_PART] = { 0 }, more[NOISE_PART] = { 0 };

    for (int64_t at = 0; at < sound.n; at += NOISE_PART) {
        int64_t n = sound.n - at < NOISE_PART ? sound.n - at : NOISE_PART;

        noise_load(&sound, at, n, part);
        if (noise->n) noise_load(noise, first + at, n, more);
        else noise_white(r->key, 2 + at, n, more);
        for (int i = 0; i < NOISE_PART; i++) part[i] += scale * more[i];
        levada_samples_store(r->dtype, part, n, r->to + at * size);
    }
}

static levada_status add_noise_fill(const void *work, const levada_augment_row *r,
                                    levada_error *why)
{
    const add_noise_work *w = work;
    const noise_samples   sound = { r->dtype, r->from, r->frames * r->channels };
    noise_samples         noise = { .dtype = r->dtype };
    double  snr = levada_range_draw(w->snr, levada_random_at(r->key, 0)), power = 1, scale;
    int64_t first = 0, frames = 0;

    if (w->noise) {
        noise.at = levada_samples_row(w->noise, r->row, &frames);
        noise.n = frames * r->channels;
        first = noise_first(r, frames);
        power = frames ? noise_power(&noise, first, sound.n) : 0;
    }
    scale = noise_power(&sound, 0, sound.n) / pow(10, snr / 10) / (power > 0 ? power : 1);
    if (!isfinite(scale) || !isfinite(power)) {
        return levada_fail(why, LEVADA_EINVALID_ARGUMENT,
                           "the samples of audio and noise must be finite, got a power of %g and "
                           "%g",
                           noise_power(&sound, 0, sound.n), power);
    }
    noise_add(r, &noise, first, w->noise && frames == 0 ? 0 : sqrt(scale));
    return LEVADA_OK;
}

static levada_status add_noise_apply(void *state, const void *args, const levada_block *in,
                                     levada_block **out, levada_error *err)
{
    const add_noise_args *a = args;
    add_noise_work        w = { .a = a };

    LEVADA_TRY(levada_range_read(a->snr, "snr", &w.snr, err));
    if (a->noise) w.noise = levada_block_column(in, a->noise);
    if (a->noise && !w.noise)
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "a record lacks field '%s'; return it in all records", a->noise);
    return levada_augment_apply(state, add_noise_check, a, add_noise_fill, &w, in, out, err);
}

static const levada_example_file add_noise_files[] = {
    { "samples.bin", "\0\0\1\0\2\0\3\0\4\0\5\0\6\0\7\x7f", 16 },
    { NULL, NULL, 0 }
};

const levada_stage_def levada_stage_add_noise = {
    .struct_size = sizeof(levada_stage_def),
    .name = "add_noise",
    .doc =
        "adds white noise, or noise of another field, to audio at a random signal-to-noise ratio",
    .example = "fixed_length:samples.bin,record_bytes=4 | decode_raw:int16 | "
               "add_noise:record,snr=[3,30]",
    .example_files = add_noise_files,
    .mode = LEVADA_MODE_PURE,
    .traits =
        LEVADA_TRAITS(.rows = LEVADA_ROWS_ONE_TO_ONE, .reads = LEVADA_READS_COLUMNS,
                      .random = LEVADA_RANDOM_BY_RECORD, .drawn = "noise", .keeps_lengths = true),
    .args = add_noise_options,
    .args_size = sizeof(add_noise_args),
    .state_size = sizeof(levada_augment_state),
    .check = add_noise_check,
    .open = levada_augment_open,
    .close = levada_augment_close,
    .apply = add_noise_apply,
};
