/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The option `fields` from the first records: what fields=auto of jsonl and decode_json stands for.
 * rows/infer.h says which records are looked at.
 *
 * A field is bool, int64, float64 (also where integers and floats mix) or string, or a list of
 * them, one or two levels deep. Integers beyond int64 make a field a string. Members of objects
 * inside objects are fields with a dot in their name. A field that some records lack has a default:
 * nan for numbers, the empty string for strings. A list that no record has a value for is [int64],
 * a field that is always null a string.
 */
#ifndef LEVADA_ROWS_JSON_INFER_H
#define LEVADA_ROWS_JSON_INFER_H

#include <levada/dataset.h>

/* Sets *out to a map with `fields` for the texts in the column `field` of `input`; the caller owns
 * it. `replace` is the option `invalid`. EINVALID_ARGUMENT: there are no records, one is not an
 * object, or a field has values that no column holds, such as numbers and texts. */
LEVADA_MUST_USE levada_status levada_json_infer(const levada_dataset *input, const char *field,
                                                bool replace, levada_value **out,
                                                levada_error *err);

#endif
