/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Late materialization (run/keyed.h): the node that reads the records of the keys which the stage
 * upstream has chosen.
 */
#include "base/alloc.h"
#include "run/plan.h"
#include "tensor/block_priv.h"

/* Returns the node that emits the keys: a source, or a combiner. */
static levada_node *materialize_source(const levada_node *it)
{
    levada_node *source = it->inputs[0];

    while (source->ninputs == 1) source = source->inputs[0];
    return source;
}

/* Lets the layout of a batch have its keys, so that the lengths of its records can be compared with
 * them: a block of the same rows without a layout. */
static levada_status materialize_keep(const levada_block *keys, levada_error *err)
{
    levada_layout *layout = keys->layout;

    if (!layout) {
        return levada_fail(err, LEVADA_EDATA_LOSS,
                           "the checkpoint is corrupt: a batch of ranks has no lengths");
    }
    if (layout->keys) return LEVADA_OK; /* they could not be read before */
    LEVADA_TRY(levada_block_copy_rows(keys, &layout->keys, err));
    levada_block_set_layout(layout->keys, NULL);
    return LEVADA_OK;
}

/* Reads the records of keys, in their order, with the layout of their batch. */
static levada_status materialize_read(const levada_node *it, const levada_block *keys,
                                      levada_block **out, levada_error *err)
{
    levada_origin *origins;
    levada_status  st;

    LEVADA_TRY(materialize_keep(keys, err));
    origins = levada_alloc((size_t)keys->n * sizeof *origins + 1);
    if (!origins) {
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for keys of records");
    }
    levada_block_get_origins(keys, 1, origins);
    st = levada_records_read(&materialize_source(it)->edge, origins, keys->n, LEVADA_READ_FIRST,
                             out, err);
    levada_free(origins);
    if (st == LEVADA_OK) levada_block_set_layout(*out, keys->layout);
    return st;
}

static levada_status materialize_next(levada_node *it, levada_hint hint, levada_item *out,
                                      levada_error *err)
{
    levada_item   keys = { 0 };
    levada_status st = levada_node_next(it->inputs[0], hint, &keys, err);

    if (st != LEVADA_OK) return st;
    if (keys.block) st = materialize_read(it, keys.block, &out->block, err);
    if (st == LEVADA_OK) {
        out->rejects = keys.rejects;
        keys.rejects = (levada_rejects){ 0 };
        levada_item_clear(&keys);
    } else {
        levada_node_unread(it->inputs[0], &keys);
    }
    return st;
}

static levada_status materialize_rewind(levada_node *it, bool read_to_end, levada_error *err)
{
    (void)it;
    (void)read_to_end;
    (void)err;
    return LEVADA_OK;
}

static const levada_node_ops materialize_ops = {
    .kind = LEVADA_NODE_MATERIALIZE,
    .next = materialize_next,
    .rewind = materialize_rewind,
};

levada_status levada_node_materialize(levada_run *run, const levada_step *step, levada_node **in,
                                      levada_node **out, levada_error *err)
{
    levada_node        *it = NULL;
    const levada_node  *source;
    levada_status       st;

    LEVADA_TRY(levada_node_create(run, step, &materialize_ops, &it, err));
    st = levada_node_adopt(it, in, 1, err);
    if (st != LEVADA_OK) {
        levada_node_destroy(&it);
        return st;
    }
    source = materialize_source(it);
    it->edge.spec = source->ops->kind == LEVADA_NODE_FORMAT
                        ? levada_file_reader_records(source->self)
                        : source->at->spec;
    *out = it;
    return LEVADA_OK;
}
