/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The key of a record in group_by_window, as an expression:
 *
 *     key     = operand [ ("//" | "%") number ]
 *     operand = name | "len" "(" name ")"
 *
 * A name is an integer field; len() is the length of a sequence or of a byte string. // rounds
 * down, and the remainder of % is never negative. The number is at least 1. A field of byte strings
 * is a key by itself: equal strings have equal numbers, in no order.
 */
#ifndef LEVADA_BATCH_WINDOW_KEY_H
#define LEVADA_BATCH_WINDOW_KEY_H

#include "batch/window_names.h"
#include "tensor/block_priv.h"

typedef enum levada_window_op {
    LEVADA_WINDOW_PLAIN,
    LEVADA_WINDOW_DIVIDE,
    LEVADA_WINDOW_REMAINDER
} levada_window_op;

typedef struct levada_window_key {
    char            *field; /* owned */
    bool             length;
    levada_window_op op;
    int64_t          number;
} levada_window_key;

/* Returns EINVALID_ARGUMENT if the text is not a key. */
LEVADA_MUST_USE levada_status levada_window_key_parse(const char *text, levada_window_key *out,
                                                      levada_error *err);
void levada_window_key_clear(levada_window_key *key);
/* Returns EINVALID_ARGUMENT if records of `in` have no such key; a field may still appear in open
 * ones. */
LEVADA_MUST_USE levada_status levada_window_key_check(const levada_window_key *key,
                                                      const levada_spec *in, levada_error *err);
/* Returns true if the keys are byte strings, in records of this spec. */
bool levada_window_key_is_text(const levada_window_key *key, const levada_spec *in);
/* Measures the key of each row of a block of any kind: of byte strings, their numbers in `names`,
 * which may be NULL where there are no such keys. */
LEVADA_MUST_USE levada_status levada_window_key_measure(const levada_window_key *key,
                                                        const levada_block      *block,
                                                        levada_window_names *names, int64_t *keys,
                                                        levada_error *err);

#endif
