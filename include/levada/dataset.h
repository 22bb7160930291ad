/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Datasets: immutable pipelines, which iterators run.
 *
 * A dataset is a tree of stages, each with a name and options. It prints as text or JSON, which C,
 * Python and the command parse in the same way, and it has a fingerprint for comparisons. Datasets
 * are reference-counted and may be shared between threads.
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
 *
 * Example:
 *
 *     levada_dataset *dataset = NULL;
 *     char           *text = NULL;
 *
 *     LEVADA_TRY(levada_dataset_parse(NULL, "range:100 | shuffle:10,seed=7", &dataset, err));
 *     LEVADA_TRY(levada_dataset_json(dataset, &text, err));
 *     levada_string_free(&text);
 *     levada_dataset_unref(&dataset);
 */
#ifndef LEVADA_DATASET_H
#define LEVADA_DATASET_H

#include <levada/traits.h>
#include <levada/value.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Parses a pipeline from text, or from JSON, which begins with "{". "@path" is replaced by the
 * content of that file. A pipeline may have up to 1,000 stages, nested up to 64 levels deep. The
 * options of every stage are checked against its columns. Errors are EINVALID_ARGUMENT with the
 * column of the text, the available names and the most similar one. */
LEVADA_API LEVADA_MUST_USE levada_status levada_dataset_parse(levada_env *env, const char *text,
                                                              levada_dataset **out,
                                                              levada_error *err);
/* Appends a stage to the inputs (none for sources). `options` is a map or NULL; borrowed. */
LEVADA_API LEVADA_MUST_USE levada_status
levada_dataset_append(levada_env *env, const char *name, const levada_value *options,
                      const levada_dataset *const *inputs, int32_t ninputs, levada_dataset **out,
                      levada_error *err);
/* Copies the last stage of `dataset` and attaches it to `inputs`. Options in `changes` (a map or
 * NULL; borrowed) override the copied options. */
LEVADA_API LEVADA_MUST_USE levada_status
levada_dataset_remake(const levada_dataset *dataset, const levada_value *changes,
                      const levada_dataset *const *inputs, int32_t ninputs, levada_dataset **out,
                      levada_error *err);

LEVADA_API levada_dataset *levada_dataset_ref(const levada_dataset *dataset);
LEVADA_API void levada_dataset_unref(levada_dataset **dataset);

/* Return the pipeline as short text, without options that have their defaults, or as canonical JSON
 * with all options. Free the strings with levada_string_free. */
LEVADA_API LEVADA_MUST_USE levada_status levada_dataset_text(const levada_dataset *dataset,
                                                             char **out, levada_error *err);
LEVADA_API LEVADA_MUST_USE levada_status levada_dataset_json(const levada_dataset *dataset,
                                                             char **out, levada_error *err);
LEVADA_API void levada_string_free(char **text);

/* Describes how the dataset runs, as text: whether each stage runs in order or in parallel, what it
 * draws at random, and what it stores in checkpoints. Free it with levada_string_free. */
LEVADA_API LEVADA_MUST_USE levada_status levada_dataset_explain(const levada_dataset *dataset,
                                                                char **out, levada_error *err);

/* Computes a 128-bit hash of the canonical JSON, without tuning options and without directories. */
LEVADA_API LEVADA_MUST_USE levada_status levada_dataset_fingerprint(const levada_dataset *dataset,
                                                                    uint8_t out[16],
                                                                    levada_error *err);
/* Returns the columns of the blocks that the dataset emits. Borrowed. */
LEVADA_API const levada_spec *levada_dataset_spec(const levada_dataset *dataset);
/* Return the name of the last stage ("shuffle"), its options as a map that includes every default,
 * and its inputs. Borrowed. */
LEVADA_API const char           *levada_dataset_name(const levada_dataset *dataset);
LEVADA_API const levada_value   *levada_dataset_options(const levada_dataset *dataset);
LEVADA_API int32_t               levada_dataset_inputs(const levada_dataset *dataset);
LEVADA_API const levada_dataset *levada_dataset_input(const levada_dataset *dataset, int32_t i);

/* Returns what the last stage does to records with its options, also what its traits imply. */
LEVADA_API LEVADA_MUST_USE levada_status levada_dataset_traits(const levada_dataset *dataset,
                                                               levada_traits        *out,
                                                               levada_error         *err);

/* Returns every name that a pipeline may contain, in order, as JSON:
 * [{"name","family","doc","example","plugin","traits":{"rows","reads",...},
 *   "inputs":[least, most or -1],"args":[{"name","type","default","required","positional","tuning",
 *   "min","max","choices","doc"}]}]. Help, Python methods and docs are generated from it. */
LEVADA_API LEVADA_MUST_USE levada_status levada_stages_json(levada_env *env, char **out,
                                                            levada_error *err);

#ifdef __cplusplus
}
#endif

#endif
