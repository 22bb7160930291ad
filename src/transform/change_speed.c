/* SPDX-License-Identifier: Apache-2.0 */
/*
 * change_speed - audio played faster or slower by a factor that each record draws, as Kaldi's speed
 * perturbation: tempo and pitch change, the sample rate does not.
 */
#include "transform/augment.h"
#include "transform/resampled.h"

#include <math.h>

enum { SPEED_STEPS = 10000 }; /* factors are multiples of 1 / 10,000 */

typedef struct change_speed_args {
    levada_augment_args shared;
    levada_floats       factors, range;
    int64_t             quality, max_samples;
} change_speed_args;

/* What is done to a column of a block. */
typedef struct change_speed_work {
    const change_speed_args *a;
    const levada_block      *in;
    levada_range             range;
    uint64_t                 key;
} change_speed_work;

static const levada_arg change_speed_options[] = {
    LEVADA_AUGMENT_ARGUMENTS(LEVADA_AUGMENT_AUDIO),
    LEVADA_ARG(FLOATS, change_speed_args, factors, .min = 0, .max = 10,
               .doc = "list of factors from 0.1 to 10, each as likely; 2 = half as many frames; "
                      "null = [0.9, 1, 1.1]"),
    LEVADA_ARG(FLOATS, change_speed_args, range, .min = 0, .max = 10,
               .doc = "[low, high]: any factor between them, in steps of 0.0001, in place of "
                      "factors"),
    LEVADA_ARG(CHOICE, change_speed_args, quality, .choices = "HQ|VHQ|MQ|LQ|QQ",
               .doc = "quality of the filter, in the names of SoX: high, very high, medium, low, "
                      "quick"),
    LEVADA_ARG(INT, change_speed_args, max_samples, .otherwise = LEVADA_RESAMPLED_MOST, .min = 1,
               .max = LEVADA_RESAMPLED_MOST_SAMPLES,
               .doc = "maximum number of samples of a result, in all channels; a longer result is "
                      "a bad record"),
    LEVADA_ARG_END,
};

static levada_status change_speed_check_options(const change_speed_args *a, levada_error *err)
{
    levada_floats list = a->range.n ? a->range : a->factors;
    levada_range  range;

    if (a->factors.n && a->range.n)
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "factors and range cannot be combined");
    for (int64_t i = 0; i < list.n; i++) {
        if (list.at[i] >= 0.1) continue;
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "factors and range must be numbers from 0.1 to 10, got %g", list.at[i]);
    }
    return a->range.n ? levada_range_read(a->range, "the range", &range, err) : LEVADA_OK;
}

static levada_status change_speed_check(const void *args, const levada_spec *in, levada_spec **out,
                                        levada_error *err)
{
    const change_speed_args *a = args;

    LEVADA_TRY(change_speed_check_options(a, err));
    LEVADA_TRY(levada_spec_want_records(in, err));
    return levada_one_field_check(in, a->shared.field, levada_resampled_field, a, out, err);
}

/* Returns the frames of a record that become SPEED_STEPS frames. */
static int64_t change_speed_from(const void *user, int64_t row)
{
    static const double      usual[] = { 0.9, 1, 1.1 };
    const change_speed_work *w = user;
    const levada_floats      list = w->a->factors.n ? w->a->factors : (levada_floats){ usual, 3 };
    uint64_t bits = levada_random_at(levada_block_row_key(w->in, row, w->key), 0);
    double   factor = list.at[levada_random_below(bits, (uint64_t)list.n)];

    if (w->a->range.n) factor = levada_range_draw(w->range, bits);
    return (int64_t)lround(factor * SPEED_STEPS);
}

static levada_status change_speed_apply(void *state, const void *args, const levada_block *in,
                                        levada_block **out, levada_error *err)
{
    levada_augment_state    *s = state;
    const change_speed_args *a = args;
    change_speed_work        w = { .a = a, .in = in, .key = s->key };
    levada_one_field         f;
    const levada_resampled   r = {
        .context = s->shared.context,
        .f = &f,
        .from = change_speed_from,
        .user = &w,
        .to = SPEED_STEPS,
        .quality = (levada_resampler_quality)a->quality,
        .max_samples = a->max_samples,
    };

    if (a->range.n) LEVADA_TRY(levada_range_read(a->range, "the range", &w.range, err));
    LEVADA_TRY(
        levada_one_field_begin(&s->shared, change_speed_check, a, a->shared.field, in, &f, err));
    return levada_one_field_end(&f, levada_resampled_fill(&r, err), out, err);
}

static const levada_example_file change_speed_files[] = {
    { "samples.bin", "\0\0\1\0\2\0\3\0\4\0\5\0\6\0\7\0", 16 },
    { NULL, NULL, 0 }
};

const levada_stage_def levada_stage_change_speed = {
    .struct_size = sizeof(levada_stage_def),
    .name = "change_speed",
    .doc = "changes the speed of audio, and its pitch, by a random factor",
    .example = "fixed_length:samples.bin,record_bytes=8 | decode_raw:int16 | "
               "change_speed:record,factors=[0.9,1,1.1]",
    .example_files = change_speed_files,
    .mode = LEVADA_MODE_PURE,
    .traits = LEVADA_TRAITS(.rows = LEVADA_ROWS_ONE_TO_ONE, .reads = LEVADA_READS_COLUMNS,
                            .random = LEVADA_RANDOM_BY_RECORD, .drawn = "speed"),
    .args = change_speed_options,
    .args_size = sizeof(change_speed_args),
    .state_size = sizeof(levada_augment_state),
    .check = change_speed_check,
    .open = levada_augment_open,
    .close = levada_augment_close,
    .apply = change_speed_apply,
};
