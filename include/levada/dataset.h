/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Datasets: immutable descriptions of pipelines.
 *
 * A dataset is a tree of stages, each a name plus options. It can be printed as text or JSON, which
 * C, Python and the command read in the same way, and it can be compared and hashed. Datasets are
 * reference-counted and may be shared between threads.
 *
 *     tfrecord:train-*.tfrecord | shuffle:10000 | parse_example:{x:{kind:VarLen,dtype:int64}}
 *
 * Grammar:
 *     pipe    = head { "|" stage }
 *     head    = stage | "(" pipe ")" | NAME "(" pipe { ";" pipe } ")" [ ":" options ]
 *     stage   = NAME [ ":" options ]
 *     options = [ value ] { "," NAME "=" value }     one bare value = the positional option
 *     value   = JSON value | word | "@" path | "[" values "]" | "{" name ":" value, ... "}"
 *             | "(" pipe ")"
 */
#ifndef LEVADA_DATASET_H
#define LEVADA_DATASET_H

#include <levada/value.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Reads text or JSON (which begins with "{"); "@path" is read at once and becomes its content.
 * At most 1000 stages above each other, nested at most 64 deep. Errors are EINVALID_ARGUMENT with
 * the column, the names allowed and the nearest one. Every stage's options are checked against the
 * columns. */
LEVADA_API LEVADA_MUST_USE levada_status levada_dataset_parse(levada_env *env, const char *text,
                                                              levada_dataset **out,
                                                              levada_error *err);
/* One stage on top of the inputs (none for sources). `options` is a map or NULL; borrowed. */
LEVADA_API LEVADA_MUST_USE levada_status
levada_dataset_append(levada_env *env, const char *name, const levada_value *options,
                      const levada_dataset *const *inputs, int32_t ninputs, levada_dataset **out,
                      levada_error *err);
/* A copy of the last stage of a dataset, on other inputs; `changes` (a map or NULL; borrowed) takes
 * the place of options of the same names. */
LEVADA_API LEVADA_MUST_USE levada_status
levada_dataset_remake(const levada_dataset *dataset, const levada_value *changes,
                      const levada_dataset *const *inputs, int32_t ninputs, levada_dataset **out,
                      levada_error *err);

LEVADA_API levada_dataset *levada_dataset_ref(const levada_dataset *dataset);
LEVADA_API void levada_dataset_unref(levada_dataset **dataset);

/* Short text form, without options at their defaults; and the canonical JSON, with all of them.
 * Terminated strings; free them with levada_string_free. */
LEVADA_API LEVADA_MUST_USE levada_status levada_dataset_text(const levada_dataset *dataset,
                                                             char **out, levada_error *err);
LEVADA_API LEVADA_MUST_USE levada_status levada_dataset_json(const levada_dataset *dataset,
                                                             char **out, levada_error *err);
LEVADA_API void levada_string_free(char **text);

/* Describes how the dataset runs, as text: for each stage whether it runs in order or in parallel,
 * its random parts, and the content of its state. Free it with levada_string_free. */
LEVADA_API LEVADA_MUST_USE levada_status levada_dataset_explain(const levada_dataset *dataset,
                                                                char **out, levada_error *err);

/* 128 bits over the canonical JSON, without options that only tune and without directories. */
LEVADA_API LEVADA_MUST_USE levada_status levada_dataset_fingerprint(const levada_dataset *dataset,
                                                                    uint8_t out[16],
                                                                    levada_error *err);
/* Columns of the blocks that it returns. Borrowed. */
LEVADA_API const levada_spec *levada_dataset_spec(const levada_dataset *dataset);
/* Name of its last stage ("shuffle"), its options as a map with every default filled in, inputs. */
LEVADA_API const char           *levada_dataset_name(const levada_dataset *dataset);
LEVADA_API const levada_value   *levada_dataset_options(const levada_dataset *dataset);
LEVADA_API int32_t               levada_dataset_inputs(const levada_dataset *dataset);
LEVADA_API const levada_dataset *levada_dataset_input(const levada_dataset *dataset, int32_t i);

/* Every name that a description may contain, in order, as JSON:
 * [{"name","family","doc","example","plugin","inputs":[least, most or -1],"args":[{"name","type",
 *   "default","required","positional","tuning","min","max","choices","doc"}]}]. Help, Python
 * methods and docs are generated from it. */
LEVADA_API LEVADA_MUST_USE levada_status levada_stages_json(levada_env *env, char **out,
                                                            levada_error *err);

#ifdef __cplusplus
}
#endif

#endif
