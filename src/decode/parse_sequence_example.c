/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parse_sequence_example - serialized tf.train.SequenceExample messages to columns.
 *
 * Context features are those of parse_example. Feature lists: FixedLenSequence is RAGGED over its
 * steps with the shape of the spec inside; VarLen is RAGGED over steps and values; Ragged has one
 * level more for each partition.
 */
#include "decode/proto.h"
#include "decode/proto_infer.h"
#include "rows/infer.h"
#include "tensor/text_columns.h"

typedef struct parse_sequence_example_args {
    const levada_value *sequences, *context;
    int64_t             invalid;
} parse_sequence_example_args;

static const levada_arg parse_sequence_example_options[] = {
    LEVADA_ARG(VALUE, parse_sequence_example_args, sequences, .positional = true,
               .doc = "feature lists: {name: {kind: FixedLenSequence|VarLen|Ragged, dtype: ..., "
                      "shape: [...]}}; auto = infer these and the context from the first 1,000 "
                      "records when the dataset is created; the pipeline then contains them"),
    LEVADA_ARG(VALUE, parse_sequence_example_args, context,
               .doc = "features of the context, as in parse_example"),
    LEVADA_PROTO_INVALID(parse_sequence_example_args),
    LEVADA_ARG_END
};

/* Infers the context, too, unless it is set. */
static levada_status parse_sequence_example_infer(const void *args, const levada_dataset *input,
                                                  const char *field, levada_value **out,
                                                  levada_error *err)
{
    const parse_sequence_example_args *a = args;
    bool          context = !a->context || levada_value_kind_of(a->context) == LEVADA_VALUE_NULL;
    levada_value *map, *features = NULL, *sequences = NULL;
    levada_status st;

    if (!levada_infer_is_auto(a->sequences)) return LEVADA_OK;
    LEVADA_TRY(levada_proto_infer(input, field, &features, &sequences, err));
    map = levada_value_map();
    st = map ? levada_value_set(map, "sequences", &sequences, err)
             : levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory while inferring a spec");
    if (st == LEVADA_OK && context) st = levada_value_set(map, "context", &features, err);
    if (st == LEVADA_OK) {
        *out = map;
        map = NULL;
    }
    levada_value_destroy(&map);
    levada_value_destroy(&sequences);
    levada_value_destroy(&features);
    return st;
}

static levada_status parse_sequence_example_check(const void *args, levada_spec **out,
                                                  levada_error *err)
{
    const parse_sequence_example_args *a = args;
    levada_proto_plan *plan = NULL;

    LEVADA_TRY(levada_proto_plan_create(a->context, a->sequences, true, &plan, err));
    *out = levada_spec_ref(plan->spec);
    levada_proto_plan_destroy(&plan);
    return LEVADA_OK;
}

static levada_status parse_sequence_example_open(void *state, const void *args,
                                                 const levada_context *context,
                                                 levada_error *err)
{
    const parse_sequence_example_args *a = args;

    return levada_proto_open(state, a->context, a->sequences, true, context, err);
}

static void parse_sequence_example_close(void *state) { levada_proto_close(state); }

static levada_status parse_sequence_example_decode(void *state, const void *args,
                                                   const levada_strings *in, levada_builder *out,
                                                   levada_error *err)
{
    const parse_sequence_example_args *a = args;

    if (a->invalid) levada_builder_text_rule(out, LEVADA_TEXT_REPLACE);
    return levada_proto_decode(state, in, out, err);
}

static int64_t parse_sequence_example_found(const void *state, bool *there, char *names,
                                            size_t size)
{
    return levada_proto_found(state, there, names, size);
}

const levada_decoder_def levada_decoder_parse_sequence_example = {
    .struct_size = sizeof(levada_decoder_def),
    .name = "parse_sequence_example",
    .doc = "parses tf.train.SequenceExample messages to columns",
    .example = "tfrecord:train.tfrecord | parse_sequence_example:{frames:{kind:FixedLenSequence,"
               "shape:[16],dtype:float32}}",
    .field = "record",
    .args = parse_sequence_example_options,
    .args_size = sizeof(parse_sequence_example_args),
    .state_size = sizeof(levada_proto),
    .check = parse_sequence_example_check,
    .open = parse_sequence_example_open,
    .close = parse_sequence_example_close,
    .decode = parse_sequence_example_decode,
    .infer = parse_sequence_example_infer,
    .finds = "sequences",
    .found = parse_sequence_example_found,
};
