/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds tf.train.Example and SequenceExample messages, and decodes strings without a dataset.
 *
 * A levada_example builds one message; after reset it builds the next message. One thread at a time
 * uses it. Without a feature list the message is a valid Example and a valid SequenceExample,
 * because a context has the wire format of an Example. With a feature list it is a SequenceExample.
 *
 * Example:
 *
 *     levada_example *example = NULL;
 *     const uint8_t  *data;
 *     size_t          size;
 *
 *     LEVADA_TRY(levada_example_create(&example, err));
 *     LEVADA_TRY(levada_example_add_i64(example, "tokens", (int64_t[]){1, 2, 3}, 3, err));
 *     LEVADA_TRY(levada_example_add_f32(example, "weight", (float[]){0.5F}, 1, err));
 *     LEVADA_TRY(levada_example_finish(example, &data, &size, err)); // borrowed from `example`
 *     levada_example_destroy(&example);
 */
#ifndef LEVADA_EXAMPLE_H
#define LEVADA_EXAMPLE_H

#include <levada/example_view.h>
#include <levada/value.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct levada_example levada_example;

/* Creates a builder of messages, which starts with an empty one. */
LEVADA_API LEVADA_MUST_USE levada_status levada_example_create(levada_example **out,
                                                               levada_error *err);
LEVADA_API void levada_example_destroy(levada_example **example);
/* Starts the next message; keeps the memory for it. */
LEVADA_API void levada_example_reset(levada_example *example);

/* Add a feature with n values; in a SequenceExample, to the context. Call them outside of a list
 * only. Everything is copied; `key` is terminated. If a key is repeated, readers use its last
 * value. They return ERESOURCE_EXHAUSTED if the message would exceed 2 GiB, because no reader
 * accepts it. */
LEVADA_API LEVADA_MUST_USE levada_status levada_example_add_i64(levada_example *example,
                                                                const char *key,
                                                                const int64_t *values, int64_t n,
                                                                levada_error *err);
LEVADA_API LEVADA_MUST_USE levada_status levada_example_add_f32(levada_example *example,
                                                                const char *key,
                                                                const float *values, int64_t n,
                                                                levada_error *err);
LEVADA_API LEVADA_MUST_USE levada_status levada_example_add_bytes(levada_example *example,
                                                                  const char *key,
                                                                  const void *const *values,
                                                                  const size_t *sizes, int64_t n,
                                                                  levada_error *err);

/* Adds a feature without values and without a kind, which readers accept for every dtype. */
LEVADA_API LEVADA_MUST_USE levada_status levada_example_add_empty(levada_example *example,
                                                                  const char     *key,
                                                                  levada_error   *err);

/* Adds a feature, or a step if the key is NULL, with the values that a view returned
 * (example_view.h); the key may contain any bytes. */
LEVADA_API LEVADA_MUST_USE levada_status
levada_example_add_values(levada_example *example, const char *key, size_t key_size,
                          const levada_example_values *values, levada_error *err);

/* Begins a feature list. Until levada_example_end_list, the add functions with key NULL add the
 * next step. Returns EFAILED_PRECONDITION if begin and end do not alternate. */
LEVADA_API LEVADA_MUST_USE levada_status levada_example_begin_list(levada_example *example,
                                                                   const char *key,
                                                                   levada_error *err);
/* Begins a feature list whose key may contain any bytes. */
LEVADA_API LEVADA_MUST_USE levada_status levada_example_begin_list_key(levada_example *example,
                                                                       const char     *key,
                                                                       size_t key_size,
                                                                       levada_error *err);
/* Ends the open feature list. */
LEVADA_API LEVADA_MUST_USE levada_status levada_example_end_list(levada_example *example,
                                                                 levada_error *err);

/* Returns the message so far; borrowed until the example changes. */
LEVADA_API LEVADA_MUST_USE levada_status levada_example_finish(levada_example *example,
                                                               const uint8_t **data, size_t *size,
                                                               levada_error *err);

/* Runs the decoder `name` over n strings (any memory; copied) with `options` (a map or NULL;
 * borrowed) and returns a block of its columns. If the decoder rejects a string, the call returns
 * that error, whose `record` is the number of the string. Returns ENOT_FOUND for an unknown
 * decoder. */
LEVADA_API LEVADA_MUST_USE levada_status levada_decode_strings(
    levada_env *env, const char *name, const levada_value *options, const void *const *strings,
    const size_t *sizes, int64_t n, levada_block **out, levada_error *err);

/* A decoder for many calls of levada_decode_strings, which prepares the options once. One thread at
 * a time uses it. Blocks stay valid after close. The environment must outlive it. */
typedef struct levada_decoding levada_decoding;

/* Prepares the decoder `name` with its options. */
LEVADA_API LEVADA_MUST_USE levada_status levada_decoding_open(levada_env         *env,
                                                              const char         *name,
                                                              const levada_value *options,
                                                              levada_decoding   **out,
                                                              levada_error       *err);
/* Decodes n byte strings to a block of n rows, which the caller owns. */
LEVADA_API LEVADA_MUST_USE levada_status
levada_decoding_run(levada_decoding *decoding, const void *const *strings, const size_t *sizes,
                    int64_t n, levada_block **out, levada_error *err);
LEVADA_API void levada_decoding_close(levada_decoding **decoding);

#ifdef __cplusplus
}
#endif

#endif
