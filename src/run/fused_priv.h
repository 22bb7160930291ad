/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fused stages from the inside: fused.c runs them, fused_decode.c is what a decoder among them
 * does.
 */
#ifndef LEVADA_RUN_FUSED_PRIV_H
#define LEVADA_RUN_FUSED_PRIV_H

#include "run/fused.h"
#include "run/pace.h"
#include "state/state_priv.h"
#include <levada/binding.h>

typedef struct levada_fused_link {
    const levada_dataset *at;
    const levada_op      *op;
    const levada_decoder_def *decoder; /* NULL = a stage */
    const void           *args;
    const levada_spec    *out;
    levada_spec          *decoded; /* decoders: the columns that decode() makes; owned */
    levada_context        context; /* also borrowed by the states */
    char                  path[LEVADA_STATE_PATH];
    uint8_t              *states; /* threads * state_size */
    size_t                state_size;
    int32_t               opened; /* states that open() saw */
    bool                  paced;  /* calls a function of the user for each record */
    bool                  infers; /* a function of the user chooses the columns */
    levada_pace           pace;
    atomic_llong          nanoseconds, records, blocks;
} levada_fused_link;

static inline void *levada_fused_state(const levada_fused_link *l, int32_t thread)
{
    return l->states + (size_t)thread * l->state_size;
}

/* Finds the number of the column that a decoder reads: that of its option, its own, or the only one
 * of bytes. */
LEVADA_MUST_USE levada_status levada_fused_field(const levada_fused_link *link,
                                                 const levada_block *in, int32_t *out,
                                                 levada_error *err);
/* Decodes that column of a block of any kind, with the state of a thread. The result has the other
 * columns too, in the order of the spec. */
LEVADA_MUST_USE levada_status levada_fused_decode(const levada_fused_link *link, int32_t thread,
                                                  levada_late_decode late, const levada_block *in,
                                                  levada_block **out, levada_error *err);

#endif
