/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Combiners: several inputs to blocks, or pipes opened as they go (zip, interleave, concat).
 *
 * A combiner runs like a SERIAL stage; its inputs are iterators that the core opened, or that it
 * opens itself from a pipe among its options (levada_pipe_open).
 */
#ifndef LEVADA_REGISTRY_COMBINER_H
#define LEVADA_REGISTRY_COMBINER_H

#include <levada/stage.h>

typedef struct levada_combiner_def {
    size_t            struct_size;
    const char       *name, *doc, *example;
    const levada_arg *args;
    size_t            args_size;
    size_t            state_size;
    int32_t           state_version;
    int32_t           min_inputs, max_inputs; /* most; -1 = any */
    /* SUBSET and PERMUTES: every record is one of an input, with its columns adapted by
     * levada_columns_adapt; it is read again through that input, in place of join(). */
    const levada_traits *traits;

    levada_status (*check)(const void *args, const levada_spec *const *in, int32_t nin,
                           levada_spec **out, levada_error *err);
    levada_status (*open)(void *state, const void *args, const levada_context *context,
                          levada_input *const *in, int32_t nin, levada_error *err);
    void (*close)(void *state);
    levada_status (*next)(void *state, const void *args, levada_block **out, levada_error *err);
    /* Records that were read again: row i of the output has row i of each part, one DATA block for
     * each input, borrowed. For combiners that put record i of all inputs together, and nothing
     * else; NULL = records cannot be read again through the combiner. */
    levada_status (*join)(void *state, const void *args, levada_block *const *parts,
                          levada_block **out, levada_error *err);
    levada_status (*save)(const void *state, levada_state_writer *to, levada_error *err);
    levada_status (*restore)(void *state, levada_state_reader *from, levada_error *err);
    /* Makes a blocked next() return ECANCELLED soon; any thread, also while it runs. For combiners
     * that open pipes of their own: inputs are cancelled by the core. May be NULL. */
    void (*cancel)(void *state);
    /* How often each pipe among the options is open at a time; NULL = once. */
    int64_t (*copies)(const void *args);
    int32_t late; /* as of a stage: a levada_late */
} levada_combiner_def;

#endif
