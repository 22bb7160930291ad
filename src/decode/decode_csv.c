/* SPDX-License-Identifier: Apache-2.0 */
/*
 * decode_csv - lines of CSV to one column per field: tf.io.decode_csv
 * (core/kernels/decode_csv_op.cc, python/ops/parsing_ops.py).
 */
#include "rows/csv_columns.h"

static const levada_arg decode_csv_options[] = {
    LEVADA_ARG(VALUE, levada_csv_args, record_defaults, .required = true, .positional = true,
               .doc = LEVADA_CSV_DEFAULTS),
    LEVADA_CSV_OPTIONS,
    LEVADA_ARG_END
};

static levada_status decode_csv_check(const void *args, levada_spec **out, levada_error *err)
{
    return levada_csv_spec(args, out, err);
}

static levada_status decode_csv_open(void *state, const void *args, const levada_context *context,
                                     levada_error *err)
{
    levada_status st = levada_csv_open(state, args, false, context, err);

    if (st != LEVADA_OK) levada_csv_close(state);
    return st;
}

static void decode_csv_close(void *state) { levada_csv_close(state); }

static levada_status decode_csv_decode(void *state, const void *args, const levada_strings *in,
                                       levada_builder *out, levada_error *err)
{
    return levada_csv_decode(state, args, in, NULL, out, err);
}

static const levada_example_file decode_csv_files[] = {
    { "people.csv", "ada,36,1.5\n\"grace, h.\",85,\n", 27 },
    { NULL, NULL, 0 }
};

const levada_decoder_def levada_decoder_decode_csv = {
    .struct_size = sizeof(levada_decoder_def),
    .name = "decode_csv",
    .doc = "decodes lines of CSV to one column per field",
    .example = "text_lines:people.csv | decode_csv:[string,int32,{dtype:float32,default:0}]",
    .example_files = decode_csv_files,
    .field = "line",
    .args = decode_csv_options,
    .args_size = sizeof(levada_csv_args),
    .state_size = sizeof(levada_csv),
    .check = decode_csv_check,
    .open = decode_csv_open,
    .close = decode_csv_close,
    .decode = decode_csv_decode,
};
