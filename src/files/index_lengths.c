/* SPDX-License-Identifier: Apache-2.0 */
#include "files/index_lengths.h"

#include "base/assert.h"
#include "base/hash.h"
#include "base/text.h"
#include "files/file_reader.h"

bool levada_index_passes(const levada_op *op)
{
    if (op->family == LEVADA_FAMILY_DECODER) return true;
    return op->family == LEVADA_FAMILY_STAGE && op->def.stage.mode == LEVADA_MODE_PURE &&
           op->def.stage.rows == LEVADA_ROWS_SAME;
}

bool levada_index_reorders(const levada_op *op)
{
    return op->family == LEVADA_FAMILY_STAGE &&
           (op->def.stage.reorders || op->def.stage.read_ahead);
}

/* Stages that change no record, and with `order` neither their order nor their number. */
static bool index_lengths_keeps(const levada_op *op, bool order)
{
    if (op->family != LEVADA_FAMILY_STAGE) return false;
    if (order) return op->def.stage.read_ahead != NULL;
    return levada_index_reorders(op) || op->def.stage.shards;
}

/* The source, if all stages on it make one record of one, or change none; else the stage that does
 * not. Appends what the first kind does. */
static const levada_dataset *index_lengths_walk(const levada_dataset *ds, bool order,
                                                levada_text *stages)
{
    for (; ds->ninputs == 1; ds = ds->inputs[0]) {
        if (index_lengths_keeps(ds->op, order)) continue;
        if (!levada_index_passes(ds->op)) return ds;
        levada_dataset_print_own(stages, ds);
    }
    if (ds->op->family == LEVADA_FAMILY_FORMAT) levada_dataset_print_own(stages, ds);
    return ds;
}

static levada_status index_lengths_hash(levada_text *stages, uint8_t out[16], levada_error *err)
{
    if (stages->failed) {
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "no memory for a description");
    }
    levada_hash128(stages->at, stages->size, 1, out);
    return LEVADA_OK;
}

static levada_status index_lengths_hash_of(const levada_dataset *dataset, bool order,
                                           uint8_t out[16], levada_error *err)
{
    levada_text stages = { 0 };
    const levada_dataset *last = index_lengths_walk(dataset, order, &stages);
    levada_status st;

    if (last->op->family == LEVADA_FAMILY_FORMAT) {
        st = index_lengths_hash(&stages, out, err);
    } else {
        st = levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                         "an index has lengths of stages that make one record of one record, and "
                         "'%s' does not",
                         last->op->name);
    }
    levada_text_clear(&stages);
    return st;
}

levada_status levada_index_stages(const levada_dataset *dataset, uint8_t out[16],
                                  levada_error *err)
{
    return index_lengths_hash_of(dataset, true, out, err);
}

levada_status levada_index_hash(const levada_dataset *dataset, uint8_t out[16], levada_error *err)
{
    return index_lengths_hash_of(dataset, false, out, err);
}

static levada_status index_lengths_read(const levada_dataset *source, const char *field,
                                        const uint8_t stages[16], bool order,
                                        levada_lengths_each *each, void *user, bool *found,
                                        levada_error *err)
{
    levada_context      context;
    levada_file_reader *reader = NULL;
    levada_status       st = LEVADA_OK;

    LEVADA_TRY(levada_file_reader_look(source, &context, &reader, err));
    if (!order || levada_file_reader_is_whole(reader)) {
        st = levada_file_reader_lengths(reader, field, stages, each, user, found, err);
    }
    levada_file_reader_destroy(&reader);
    return st;
}

static levada_status index_lengths_find(const levada_dataset *dataset, const char *field,
                                        bool order, levada_lengths_each *each, void *user,
                                        bool *found, levada_error *err)
{
    levada_text stages = { 0 };
    const levada_dataset *source = index_lengths_walk(dataset, order, &stages);
    const levada_file_args *files = NULL;
    uint8_t hash[16];
    levada_status st;

    *found = false;
    if (source->op->family == LEVADA_FAMILY_FORMAT) {
        files = (const void *)((const char *)source->args + source->op->core_offset);
    }
    st = files && files->index ? index_lengths_hash(&stages, hash, err) : LEVADA_OK;
    if (st == LEVADA_OK && files && files->index) {
        st = index_lengths_read(source, field, hash, order, each, user, found, err);
    }
    levada_text_clear(&stages);
    return st;
}

levada_status levada_inspect_lengths(const levada_dataset *dataset, const char *field,
                                     levada_lengths_each *each, void *user, bool *found,
                                     levada_error *err)
{
    LEVADA_TRY(levada_require(dataset != NULL, "dataset", err));
    LEVADA_TRY(levada_require(field && each && found, "field, each or found", err));
    return index_lengths_find(dataset, field, true, each, user, found, err);
}

levada_status levada_index_lengths_of_files(const levada_dataset *dataset, const char *field,
                                            levada_lengths_each *each, void *user, bool *found,
                                            levada_error *err)
{
    return index_lengths_find(dataset, field, false, each, user, found, err);
}
