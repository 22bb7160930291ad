/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packed records: what they look like, and how a group of records becomes one.
 *
 * The rows of *packed* fields are concatenated; values are copied once, by gathering. Each packed
 * field `x` brings a field `x_segment_lengths` (int32, ragged) with the length of each of its
 * segments: offsets, positions and segment ids follow from it (tensor/segments.h). Every other
 * field becomes a list with one value per segment.
 */
#ifndef LEVADA_BATCH_PACKING_H
#define LEVADA_BATCH_PACKING_H

#include "description/columns.h"
#include <levada/option.h>
#include <levada/stage.h>

typedef struct levada_packing {
    levada_texts fields; /* packed fields; none = all that are ragged */
    bool         ids;    /* also x_segment_ids and x_positions        */
} levada_packing;

/* Makes the columns of packed records. Returns EINVALID_ARGUMENT if a field cannot be packed. */
LEVADA_MUST_USE levada_status levada_packing_spec(const levada_packing *p, const levada_spec *in,
                                                  levada_spec **out, levada_error *err);
/* Measures the length of each row of a block of any kind: that of its packed fields; -1 where they
 * differ. */
LEVADA_MUST_USE levada_status levada_packing_measure(const levada_packing *p,
                                                     const levada_block *block, int64_t *lengths,
                                                     levada_error *err);
/* Returns EINVALID_ARGUMENT, which names two packed fields of the record that differ in length. */
levada_status levada_packing_uneven(const levada_packing *p, const levada_block *record,
                                    levada_error *err);
/* Cuts steps [begin, begin + size) of the packed fields of one row, as a block of one that shares
 * its values. `part` is the number of this piece of the record, for its origin. */
LEVADA_MUST_USE levada_status levada_packing_cut(const levada_packing *p, levada_pool *pool,
                                                 const levada_block *block, int64_t row,
                                                 int64_t begin, int64_t size, int32_t part,
                                                 levada_block **out, levada_error *err);
/* Makes one record for each group of rows (levada_block_ends). `out_spec` is levada_packing_spec of
 * the columns of `in`. */
LEVADA_MUST_USE levada_status levada_packing_apply(const levada_packing *p, levada_pool *pool,
                                                   const levada_block *in,
                                                   const levada_spec *out_spec, levada_block **out,
                                                   levada_error *err);

#endif
