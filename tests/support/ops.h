/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names to test descriptions with, so that these tests need no real stage: t_numbers (source),
 * t_lines (format), t_open (source of unknown columns), t_shuffle, t_all, t_batch and t_shard
 * (stages), t_split (decoder), t_zip and t_pipes (combiners).
 */
#ifndef TESTS_SUPPORT_OPS_H
#define TESTS_SUPPORT_OPS_H

#include "description/dataset_priv.h"

/* Args of t_all: one member of each type. */
typedef struct levada_all_args {
    int64_t                i, s;
    double                 f;
    bool                   b;
    const char            *t;
    int64_t                c;
    levada_dtype           d;
    levada_ints            is;
    levada_texts           ts;
    const levada_value    *v;
    const levada_function *fn;
    const levada_block    *blk;
    const levada_dataset  *p;
    levada_floats          fs;
} levada_all_args;

extern const levada_stage_def levada_stage_t_shuffle;

/* An environment of its own with these names. */
levada_env *t_ops_env(void);
/* Fails the test when the text is refused. */
levada_dataset *t_ops_parse(levada_env *env, const char *text);
/* Fails the test when the text is taken, or refused with another code or message. */
void t_ops_refused(levada_env *env, const char *text, levada_status code, const char *message);
/* Checks the text and the JSON of what `text` means, and that both are read back alike. */
void t_ops_prints(levada_env *env, const char *text, const char *short_text, const char *stages);

#endif
