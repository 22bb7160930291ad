/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The option `fields` from the first records: what fields=auto of jsonl and decode_json stands for.
 * rows/infer.h says which records are looked at.
 *
 * A field is bool, int64, float64 (also where integers and floats mix) or text, or a list of them,
 * up to four levels deep. Integers beyond int64 make a field text. Members of objects inside
 * objects are fields with a dot in their name, and those of objects in lists fields of a list of
 * objects. A field that some records or objects lack has a default: nan for numbers, the empty text
 * for text. A list that no record has a value for is [int64], a field that is always null text.
 * What no column holds is the text of its JSON: values of several types, lists with null or of more
 * levels.
 */
#ifndef LEVADA_ROWS_JSON_INFER_H
#define LEVADA_ROWS_JSON_INFER_H

#include <levada/dataset.h>

/* Sets *out to a map with `fields` for the texts in the column `field` of `input`; the caller owns
 * it. `replace` is the option `invalid`. EINVALID_ARGUMENT: there are no records, one is not an
 * object, or a field has values that no dtype holds, such as floats and integers beyond 2^53. */
LEVADA_MUST_USE levada_status levada_json_infer(const levada_dataset *input, const char *field,
                                                bool replace, levada_value **out,
                                                levada_error *err);

#endif
