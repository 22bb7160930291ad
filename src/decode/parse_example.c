/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parse_example - serialized tf.train.Example messages to columns.
 *
 * Columns: FixedLen is FIXED with the shape of the spec. VarLen is RAGGED. FixedLenSequence is
 * RAGGED with the shape of the spec inside. Ragged is RAGGED with one level more for each
 * partition; uniform lengths at the end are dimensions inside. Sparse is two RAGGED columns,
 * <name>/indices (int64, [rank]) and <name>/values. The key of a feature is its name, or `key`.
 */
#include "decode/proto.h"
#include "decode/proto_infer.h"
#include "rows/infer.h"
#include "tensor/text_columns.h"

typedef struct parse_example_args {
    const levada_value *spec;
    int64_t             invalid;
} parse_example_args;

static const levada_arg parse_example_options[] = {
    LEVADA_ARG(VALUE, parse_example_args, spec, .required = true, .positional = true,
               .doc = "features: {name: {kind: FixedLen|VarLen|FixedLenSequence|Ragged|Sparse, "
                      "dtype: ..., shape: [...], default: ...}}; auto = infer them from the first "
                      "1,000 records when the dataset is created; the pipeline then contains them"),
    LEVADA_PROTO_INVALID(parse_example_args),
    LEVADA_ARG_END
};

static levada_status parse_example_infer(const void *args, const levada_dataset *input,
                                         const char *field, levada_value **out, levada_error *err)
{
    const parse_example_args *a = args;
    levada_value             *map, *features = NULL;
    levada_status             st;

    if (!levada_infer_is_auto(a->spec)) return LEVADA_OK;
    LEVADA_TRY(levada_proto_infer(input, field, &features, NULL, err));
    map = levada_value_map();
    st = map ? levada_value_set(map, "spec", &features, err)
             : levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory while inferring a spec");
    if (st == LEVADA_OK) {
        *out = map;
        map = NULL;
    }
    levada_value_destroy(&map);
    levada_value_destroy(&features);
    return st;
}

static levada_status parse_example_check(const void *args, levada_spec **out, levada_error *err)
{
    const parse_example_args *a = args;
    levada_proto_plan *plan = NULL;

    LEVADA_TRY(levada_proto_plan_create(a->spec, NULL, false, &plan, err));
    *out = levada_spec_ref(plan->spec);
    levada_proto_plan_destroy(&plan);
    return LEVADA_OK;
}

static levada_status parse_example_open(void *state, const void *args,
                                        const levada_context *context, levada_error *err)
{
    const parse_example_args *a = args;

    return levada_proto_open(state, a->spec, NULL, false, context, err);
}

static void parse_example_close(void *state) { levada_proto_close(state); }

static levada_status parse_example_decode(void *state, const void *args, const levada_strings *in,
                                          levada_builder *out, levada_error *err)
{
    const parse_example_args *a = args;

    if (a->invalid) levada_builder_text_rule(out, LEVADA_TEXT_REPLACE);
    return levada_proto_decode(state, in, out, err);
}

static int64_t parse_example_found(const void *state, bool *there, char *names, size_t size)
{
    return levada_proto_found(state, there, names, size);
}

const levada_decoder_def levada_decoder_parse_example = {
    .struct_size = sizeof(levada_decoder_def),
    .name = "parse_example",
    .doc = "parses tf.train.Example messages to columns",
    .example = "tfrecord:train.tfrecord | parse_example:{tokens:{kind:VarLen,dtype:int64}}",
    .field = "record",
    .args = parse_example_options,
    .args_size = sizeof(parse_example_args),
    .state_size = sizeof(levada_proto),
    .check = parse_example_check,
    .open = parse_example_open,
    .close = parse_example_close,
    .decode = parse_example_decode,
    .infer = parse_example_infer,
    .finds = "spec",
    .found = parse_example_found,
};
