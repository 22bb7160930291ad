/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Specs from records: what parse_example:auto stands for.
 *
 * A feature with one value in each record is a scalar (FixedLen), any other is VarLen. A feature
 * list whose steps all have n values is FixedLenSequence, any other is VarLen. Features without any
 * value are int64.
 *
 * rows/infer.h says which records are looked at.
 */
#ifndef LEVADA_DECODE_PROTO_INFER_H
#define LEVADA_DECODE_PROTO_INFER_H

#include <levada/dataset.h>

/* Sets *features to the spec of the features (of the context), and *sequences to that of the
 * feature lists; the caller owns both. `sequences` NULL: the records must be Examples.
 * EINVALID_ARGUMENT: there are no records, a record is not such a message, or a feature has two
 * dtypes. */
LEVADA_MUST_USE levada_status levada_proto_infer(const levada_dataset *input, const char *field,
                                                 levada_value **features,
                                                 levada_value **sequences, levada_error *err);

/* Adds the option `invalid`, which says what becomes of text that is not UTF-8, to a table. */
#define LEVADA_PROTO_INVALID(args)                                                                \
    LEVADA_ARG(CHOICE, args, invalid, .choices = "error|replace",                                 \
               .doc = "bytes of text that are not UTF-8: error rejects the record, replace "      \
                      "reads each of them as U+FFFD")

#endif
