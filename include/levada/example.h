/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tf.train.Example and SequenceExample messages: building them, and decoding strings at once.
 *
 * A levada_example builds one message. One thread at a time uses it; after reset it builds the next
 * message. Without a feature list the message is a valid Example and a valid SequenceExample,
 * because a context has the wire format of an Example. With a feature list it is a SequenceExample.
 *
 */
#ifndef LEVADA_EXAMPLE_H
#define LEVADA_EXAMPLE_H

#include <levada/example_view.h>
#include <levada/value.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct levada_example levada_example;

LEVADA_API LEVADA_MUST_USE levada_status levada_example_create(levada_example **out,
                                                               levada_error *err);
LEVADA_API void levada_example_destroy(levada_example **example);
/* Begins the next message; keeps the memory. */
LEVADA_API void levada_example_reset(levada_example *example);

/* One feature with n values; in a SequenceExample one of the context. Outside of a list only.
 * Everything is copied; `key` is terminated. A key may be repeated: readers use the last one.
 * ERESOURCE_EXHAUSTED: the message would be larger than 2 GiB, which no reader accepts. */
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

/* A feature without values and without a kind: readers take it for one of the dtype they want. */
LEVADA_API LEVADA_MUST_USE levada_status levada_example_add_empty(levada_example *example,
                                                                  const char     *key,
                                                                  levada_error   *err);

/* The same for values as a view shows them (example_view.h); the key may hold any bytes. A step has
 * the key NULL. */
LEVADA_API LEVADA_MUST_USE levada_status
levada_example_add_values(levada_example *example, const char *key, size_t key_size,
                          const levada_example_values *values, levada_error *err);

/* A feature list: begin, its steps, end. Between begin and end add_*() with key NULL adds the next
 * step. EFAILED_PRECONDITION where they do not alternate. */
LEVADA_API LEVADA_MUST_USE levada_status levada_example_begin_list(levada_example *example,
                                                                   const char *key,
                                                                   levada_error *err);
/* The same with a key of any bytes. */
LEVADA_API LEVADA_MUST_USE levada_status levada_example_begin_list_key(levada_example *example,
                                                                       const char     *key,
                                                                       size_t key_size,
                                                                       levada_error *err);
LEVADA_API LEVADA_MUST_USE levada_status levada_example_end_list(levada_example *example,
                                                                 levada_error *err);

/* The message so far, borrowed until the example is changed. */
LEVADA_API LEVADA_MUST_USE levada_status levada_example_finish(levada_example *example,
                                                               const uint8_t **data, size_t *size,
                                                               levada_error *err);

/* Runs the decoder `name` over n strings (any memory; copied) with `options` (a map or NULL,
 * borrowed) and returns a block of its columns. The first string that it rejects becomes the error,
 * whose `record` is the number of that string. ENOT_FOUND for an unknown decoder. */
LEVADA_API LEVADA_MUST_USE levada_status levada_decode_strings(
    levada_env *env, const char *name, const levada_value *options, const void *const *strings,
    const size_t *sizes, int64_t n, levada_block **out, levada_error *err);

/* The same for many calls: what follows from the options alone is done once. One thread at a time;
 * blocks stay valid after close. The environment lives longer. */
typedef struct levada_decoding levada_decoding;

LEVADA_API LEVADA_MUST_USE levada_status levada_decoding_open(levada_env         *env,
                                                              const char         *name,
                                                              const levada_value *options,
                                                              levada_decoding   **out,
                                                              levada_error       *err);
LEVADA_API LEVADA_MUST_USE levada_status
levada_decoding_run(levada_decoding *decoding, const void *const *strings, const size_t *sizes,
                    int64_t n, levada_block **out, levada_error *err);
LEVADA_API void levada_decoding_close(levada_decoding **decoding);

#ifdef __cplusplus
}
#endif

#endif
