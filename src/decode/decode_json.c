/* SPDX-License-Identifier: Apache-2.0 */
/*
 * decode_json - objects of JSON to typed columns, with the options and the rules of the format
 * jsonl (rows/json_columns.h).
 */
#include "rows/infer.h"
#include "rows/json_columns.h"
#include "rows/json_infer.h"

static const levada_arg decode_json_options[] = {
    LEVADA_ARG(VALUE, levada_json_args, fields, .required = true, .positional = true,
               .doc = LEVADA_JSON_FIELDS),
    LEVADA_JSON_INVALID, LEVADA_ARG_END
};

static levada_status decode_json_infer(const void *args, const levada_dataset *input,
                                       const char *field, levada_value **out, levada_error *err)
{
    const levada_json_args *a = args;

    if (!levada_infer_is_auto(a->fields)) return LEVADA_OK;
    return levada_json_infer(input, field, a->invalid != 0, out, err);
}

static levada_status decode_json_check(const void *args, levada_spec **out, levada_error *err)
{
    const levada_json_args *a = args;

    if (a->fields) return levada_json_columns_spec(a, out, err);
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                       "fields must be a map of names and dtypes, or auto; got none");
}

static levada_status decode_json_open(void *state, const void *args, const levada_context *context,
                                      levada_error *err)
{
    levada_status st = levada_json_columns_open(state, args, err);

    (void)context;
    if (st != LEVADA_OK) levada_json_columns_close(state);
    return st;
}

static void decode_json_close(void *state) { levada_json_columns_close(state); }

static levada_status decode_json_decode(void *state, const void *args, const levada_strings *in,
                                        levada_builder *out, levada_error *err)
{
    (void)args;
    return levada_json_columns_decode(state, in, out, err);
}

static int64_t decode_json_found(const void *state, bool *there, char *names, size_t size)
{
    return levada_json_columns_found(state, there, names, size);
}

static const levada_example_file decode_json_files[] = {
    { "notes.txt",
      "{\"id\":1,\"tokens\":[5,6],\"turns\":[{\"who\":\"a\"}]}\n"
      "{\"tokens\":[],\"id\":2,\"score\":NaN}\n",
      79 },
    { NULL, NULL, 0 }
};

const levada_decoder_def levada_decoder_decode_json = {
    .struct_size = sizeof(levada_decoder_def),
    .name = "decode_json",
    .doc = "decodes JSON objects to one column per field",
    .example = "text_lines:notes.txt | decode_json:{id:int64,tokens:[int64],turns:[{who:text}]},"
               "invalid=replace",
    .example_files = decode_json_files,
    .field = "line",
    .args = decode_json_options,
    .args_size = sizeof(levada_json_args),
    .state_size = sizeof(levada_json_columns),
    .check = decode_json_check,
    .open = decode_json_open,
    .close = decode_json_close,
    .decode = decode_json_decode,
    .infer = decode_json_infer,
    .found = decode_json_found,
};
