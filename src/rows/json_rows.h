/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of JSON as typed columns: what the formats jsonl and json share. They frame records, and
 * differ in where these are in a file.
 */
#ifndef LEVADA_ROWS_JSON_ROWS_H
#define LEVADA_ROWS_JSON_ROWS_H

#include "rows/json_columns.h"

#include <levada/value.h>

/* The decoder of both formats, whose options begin with a levada_json_args: parses a record, looks
 * up the fields, and adds their values to the columns. */
extern const levada_decoder_def levada_json_rows;

/* Implements the hook `infer` of a format of this name: with fields=auto, *out becomes `options`
 * with the fields of the first records. */
LEVADA_MUST_USE levada_status levada_json_rows_infer(levada_env *env, const char *format,
                                                     const levada_json_args *args,
                                                     const levada_value *options,
                                                     levada_value **out, levada_error *err);

#endif
