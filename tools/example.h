/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records that are an Example or a SequenceExample as JSON, and made from JSON.
 *
 *   Example          {"name":["a"],"tokens":[1,2]}
 *   SequenceExample  {"context":{...},"sequence":{"tokens":[[1],[2]]}}
 *   anything else    {"record":"..."}: text or {"base64":...}, never a list
 *
 * Bytes that are not UTF-8 are {"base64":"..."}, floats that are not finite {"float":"NaN"}. Names:
 * escape.h. The library's view parses the record (levada/example_view.h).
 */
#ifndef LEVADA_TOOLS_EXAMPLE_H
#define LEVADA_TOOLS_EXAMPLE_H

#include "buffer.h"
#include <levada/example.h>
#include <levada/value.h>

/* The record as one JSON object. `exact` adds to a SequenceExample "kinds" where the lists alone
 * would not be read back as the same message: {"context":{"a":"int64"},"sequence":{"b":["int64",
 * "none"]}}, with a kind for each step. An empty list of an Example has no kind: it is read back as
 * a feature without one, which suits every dtype. */
LEVADA_MUST_USE levada_status levada_cli_example_json(levada_cli_buffer   *b,
                                                      levada_example_view *view,
                                                      const uint8_t *record, size_t size,
                                                      bool exact, levada_error *err);
/* All items of a feature: a JSON list, of lists for the steps of a feature list. */
LEVADA_MUST_USE levada_status levada_cli_feature_json(levada_cli_buffer            *b,
                                                      levada_example_view          *view,
                                                      const levada_example_feature *feature,
                                                      levada_error                 *err);
/* "int64", "float", "bytes", or "none". */
const char *levada_cli_kind_name(levada_dtype dtype);

/* The way back: appends the bytes of the record. `example` is scratch memory. After an error part
 * of them may have been appended. */
LEVADA_MUST_USE levada_status levada_cli_example_make(levada_cli_buffer  *record,
                                                      levada_example     *example,
                                                      const levada_value *json,
                                                      levada_error       *err);

#endif
