/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How to write a decoder: it receives byte strings and returns typed columns.
 *
 * A decoder is PURE: decode() runs on any thread, and its state is scratch memory. It receives one
 * BYTES column of a block as n strings and fills the columns that check() declared. The core adds
 * them to the other columns of the block, removes the decoded column unless check() declared a
 * column of the same name, copies origins and applies the error policy.
 *
 * Example:
 *
 *     static levada_status size_check(const void *args, levada_spec **out, levada_error *err)
 *     {
 *         const levada_field field = {.name = "size", .dtype = LEVADA_INT64};
 *
 *         (void)args;
 *         return levada_spec_create(&field, 1, LEVADA_SPEC_PLAIN, out, err);
 *     }
 *
 *     static levada_status size_decode(void *state, const void *args, const levada_strings *in,
 *                                      levada_builder *out, levada_error *err)
 *     {
 *         void *sizes;
 *
 *         (void)state, (void)args;
 *         LEVADA_TRY(levada_builder_values(out, 0, in->n, &sizes, err));
 *         for (int64_t i = 0; i < in->n; i++) ((int64_t *)sizes)[i] = in->size[i];
 *         return LEVADA_OK;
 *     }
 *
 *     static const levada_decoder_def size_decoder = {
 *         .struct_size = sizeof(levada_decoder_def),
 *         .name = "size",
 *         .doc = "the number of bytes of a string",
 *         .example = "text_lines:lines.txt | size",
 *         .field = "line",
 *         .check = size_check,
 *         .decode = size_decode,
 *     };
 */
#ifndef LEVADA_DECODER_H
#define LEVADA_DECODER_H

#include <levada/stage.h>

#ifdef __cplusplus
extern "C" {
#endif

/* n byte strings, with 64 readable bytes before and after each. */
typedef struct levada_strings {
    const uint8_t *const *data;
    const int32_t        *size;
    int64_t               n;
    levada_buffer        *owner; /* the buffer that keeps all of them alive, or NULL     */
    const levada_block   *block; /* the block that they come from, with origins; or NULL */
} levada_strings;

typedef struct levada_decoder_def {
    size_t            struct_size;
    const char       *name, *doc, *example;
    const char       *field; /* default of the option `field`: "record"      */
    const levada_arg *args;  /* the decoder's options; the core adds `field` */
    size_t            args_size;
    size_t            state_size; /* one per worker */

    /* Returns the columns that decode() fills. */
    levada_status (*check)(const void *args, levada_spec **out, levada_error *err);
    levada_status (*open)(void *state, const void *args, const levada_context *context,
                          levada_error *err);
    void (*close)(void *state);
    /* Fills the fields of `out` (numbered as in check's spec) for n rows; a bad record is
     * rejected with levada_builder_reject and its values left well-formed. */
    levada_status (*decode)(void *state, const void *args, const levada_strings *in,
                            levada_builder *out, levada_error *err);
    const levada_example_file *example_files; /* that the example reads; NULL = none */
    /* If true, check() declares one column, which replaces the decoded column under its name. The
     * core adds the option `out`, with which users choose another name. */
    bool              replaces;
    /* Estimates the decoded size of a string in bytes from its first bytes, which may be invalid; 0
     * = not known. With it the core passes small blocks, so that images do not exhaust memory. NULL
     * = about the encoded size. */
    int64_t (*measure)(const void *args, const uint8_t *data, int32_t size);
    /* Infers options from the records when a dataset is created; `field` is the column of `input`
     * that will be decoded. The hook may run `input`. It sets *out to a map of options that
     * override the user's options, or leaves it NULL if there is nothing to infer, as in a call
     * with the inferred options. NULL = the decoder infers nothing. */
    levada_status (*infer)(const void *args, const levada_dataset *input, const char *field,
                           levada_value **out, levada_error *err);
    /* Returns the number of records that this state has decoded since open(). Sets there[i] if
     * column i of check()'s spec occurred in a record, or is allowed to be missing. Writes the
     * names that the first record has, at most `size` bytes with the terminator. The core uses it
     * to report columns that no record had. NULL = not supported. */
    int64_t (*found)(const void *state, bool *there, char *names, size_t size);
    /* Random values are all that it declares: it makes one record of one, from one column. NULL =
     * nothing is random. */
    const levada_traits *traits;
    /* Option that asks for infer() with "auto". NULL = none. */
    const char *finds;
} levada_decoder_def;

#ifdef __cplusplus
}
#endif

#endif
