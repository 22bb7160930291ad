/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gain - audio made louder or softer by a number of decibels that each record draws.
 */
#include "transform/augment.h"

#include <math.h>

typedef struct gain_args {
    levada_augment_args shared;
    levada_floats       db;
} gain_args;

static const levada_arg gain_options[] = {
    LEVADA_AUGMENT_ARGUMENTS(LEVADA_AUGMENT_AUDIO),
    LEVADA_ARG(FLOATS, gain_args, db, .required = true, .min = -200, .max = 200,
               .doc = "gain in dB: one number, or [low, high], from which each record draws; "
                      "integers beyond their range are clipped to it, floats are not"),
    LEVADA_ARG_END,
};

static levada_status gain_check(const void *args, const levada_spec *in, levada_spec **out,
                                levada_error *err)
{
    const gain_args *a = args;
    levada_range     db;

    LEVADA_TRY(levada_range_read(a->db, "db", &db, err));
    LEVADA_TRY(levada_spec_want_records(in, err));
    return levada_one_field_check(in, a->shared.field, levada_augment_audio, a, out, err);
}

static levada_status gain_fill(const void *work, const levada_augment_row *r, levada_error *why)
{
    double db = levada_range_draw(*(const levada_range *)work, levada_random_at(r->key, 0));

    (void)why;
    levada_samples_scale(r->dtype, r->from, r->frames * r->channels, pow(10, db / 20), r->to);
    return LEVADA_OK;
}

static levada_status gain_apply(void *state, const void *args, const levada_block *in,
                                levada_block **out, levada_error *err)
{
    const gain_args *a = args;
    levada_range     db;

    LEVADA_TRY(levada_range_read(a->db, "db", &db, err));
    return levada_augment_apply(state, gain_check, a, gain_fill, &db, in, out, err);
}

static const levada_example_file gain_files[] = {
    { "samples.bin", "\0\0\1\0\2\0\3\0\4\0\5\0\6\0\7\x7f", 16 },
    { NULL, NULL, 0 }
};

const levada_stage_def levada_stage_gain = {
    .struct_size = sizeof(levada_stage_def),
    .name = "gain",
    .doc = "changes the volume of audio by a random number of decibels",
    .example = "fixed_length:samples.bin,record_bytes=4 | decode_raw:int16 | "
               "gain:record,db=[-6,6]",
    .example_files = gain_files,
    .mode = LEVADA_MODE_PURE,
    .traits = LEVADA_TRAITS(.rows = LEVADA_ROWS_ONE_TO_ONE, .reads = LEVADA_READS_COLUMNS,
                            .random = LEVADA_RANDOM_BY_RECORD, .drawn = "gain",
                            .keeps_lengths = true, .never_rejects = true),
    .args = gain_options,
    .args_size = sizeof(gain_args),
    .state_size = sizeof(levada_augment_state),
    .check = gain_check,
    .open = levada_augment_open,
    .close = levada_augment_close,
    .apply = gain_apply,
};
