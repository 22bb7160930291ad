/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decoders: byte strings in, typed columns out. For authors.
 *
 * A decoder is PURE: decode() runs on any thread, its state is scratch. It sees one BYTES column of
 * a block as n spans and fills the columns that check() named. The core adds them to the other
 * columns of the block, removes the decoded column unless check() named one like it, moves origins
 * and applies the policy for bad records.
 */
#ifndef LEVADA_DECODER_H
#define LEVADA_DECODER_H

#include <levada/stage.h>

#ifdef __cplusplus
extern "C" {
#endif

/* n byte strings, with 64 readable bytes on both sides of each. */
typedef struct levada_strings {
    const uint8_t *const *data;
    const int32_t        *size;
    int64_t               n;
    levada_buffer        *owner; /* keeps all of them alive where one buffer does, else NULL */
    const levada_block   *block; /* whose records they are of, with their origins; or NULL */
} levada_strings;

typedef struct levada_decoder_def {
    size_t            struct_size;
    const char       *name, *doc, *example;
    const char       *field; /* column decoded without the option `field`: "record"             */
    const levada_arg *args;  /* options of its own; the core adds `field`                       */
    size_t            args_size;
    size_t            state_size; /* one per worker */

    /* The columns of the result of decode(). */
    levada_status (*check)(const void *args, levada_spec **out, levada_error *err);
    levada_status (*open)(void *state, const void *args, const levada_context *context,
                          levada_error *err);
    void (*close)(void *state);
    /* Fills the fields of `out` (numbered as in check's spec) for n rows; a bad record is
     * rejected with levada_builder_reject and its values left well-formed. */
    levada_status (*decode)(void *state, const void *args, const levada_strings *in,
                            levada_builder *out, levada_error *err);
    const levada_example_file *example_files; /* that the example reads; NULL = none */
    /* check() names one column, which gets the name of the decoded column; users choose another
     * with the option `out`, which the core adds. */
    bool              replaces;
    /* Bytes that a string takes decoded, from its first bytes and without trust in them; 0 = it is
     * not known. NULL = about as many as encoded. With it the core hands over blocks of few
     * records, so that images do not fill the memory. */
    int64_t (*measure)(const void *args, const uint8_t *data, int32_t size);
    /* Options that the records determine. Called when a dataset is made; `field` is the column of
     * `input` that will be decoded. It may run `input`. Sets *out to a map of options that take the
     * place of the given ones, or leaves it NULL: nothing is to be found. With what it found, the
     * next call leaves it NULL. NULL = the decoder has no such options. */
    levada_status (*infer)(const void *args, const levada_dataset *input, const char *field,
                           levada_value **out, levada_error *err);
    /* What this state has decoded since open(): returns the number of records, and sets there[i]
     * where column i of check()'s spec was in one of them, or may be missing because the user has
     * said so. Writes names that the first record has, at most `size` bytes with the terminator.
     * With it the core reports columns that no record had. NULL = it cannot tell. */
    int64_t (*found)(const void *state, bool *there, char *names, size_t size);
} levada_decoder_def;

#ifdef __cplusplus
}
#endif

#endif
