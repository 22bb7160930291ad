/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records that are an Example or a SequenceExample: read without a spec, and made from JSON.
 */
#ifndef LEVADA_TOOLS_EXAMPLE_H
#define LEVADA_TOOLS_EXAMPLE_H

#include "buffer.h"
#include <levada/example.h>
#include <levada/value.h>

typedef enum levada_cli_message {
    LEVADA_CLI_OTHER, /* neither of the two */
    LEVADA_CLI_EXAMPLE,
    LEVADA_CLI_SEQUENCE
} levada_cli_message;

/* One feature of a record; for a feature list (`steps` >= 0) the values of each step. */
typedef struct levada_cli_feature {
    bool              first;    /* of its section                                 */
    bool              sequence; /* in the feature lists of a SequenceExample      */
    const char       *name;     /* not terminated                                 */
    size_t            name_size;
    const char       *type;     /* "int64", "float", "bytes", "" where unset      */
    int64_t           count;    /* values; steps of a feature list                */
    levada_cli_buffer values;   /* JSON list (of lists in a feature list)         */
} levada_cli_feature;

/* What the record is. Fields that neither message has make it OTHER. */
levada_cli_message levada_cli_example_kind(const uint8_t *record, size_t size);

/* Calls visit for each feature in file order. The record must not be OTHER. */
void levada_cli_example_each(const uint8_t *record, size_t size,
                             void (*visit)(void *user, const levada_cli_feature *feature),
                             void *user);

/* {"name":["a"],"tokens":[1,2]}; a SequenceExample {"context":{...},"sequence":{"tokens":
 * [[1],[2]]}}; anything else {"record":"..."}. */
void levada_cli_example_json(levada_cli_buffer *b, const uint8_t *record, size_t size);

/* The way back: begins a new message and fills it. */
LEVADA_MUST_USE levada_status levada_cli_example_make(levada_example     *out,
                                                      const levada_value *json,
                                                      levada_error       *err);

#endif
