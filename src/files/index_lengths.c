/* SPDX-License-Identifier: Apache-2.0 */
#include "files/index_lengths.h"

#include "base/assert.h"
#include "base/hash.h"
#include "base/text.h"
#include "files/file_reader.h"

#include <stdio.h>

bool levada_index_passes(const levada_op *op)
{
    bool pure = op->family == LEVADA_FAMILY_DECODER ||
                (op->family == LEVADA_FAMILY_STAGE && op->def.stage.mode == LEVADA_MODE_PURE);

    return pure && op->traits.rows == LEVADA_ROWS_ONE_TO_ONE;
}

bool levada_index_chooses(const levada_op *op)
{
    return op->family == LEVADA_FAMILY_STAGE && op->traits.reads == LEVADA_READS_NONE &&
           !op->traits.shards && levada_traits_unchanged(&op->traits);
}

/* Returns true for a stage that changes no length, and with `order` neither the order of records
 * nor their number. */
static bool index_lengths_keeps(const levada_dataset *ds, bool order)
{
    const levada_traits t = levada_traits_of(ds);

    bool same = t.rows == LEVADA_ROWS_ONE_TO_ONE;

    if (ds->op->family != LEVADA_FAMILY_STAGE || !t.keeps_lengths) return false;
    return order ? same && t.repeats == 0 : same || t.reads == LEVADA_READS_NONE;
}

/* Returns the source or combiner, if all stages on it make one record of one, or change none; else
 * the stage that does not. Appends what the first kind does. */
static const levada_dataset *index_lengths_walk(const levada_dataset *ds, bool order,
                                                levada_text *stages)
{
    for (; ds->ninputs == 1 && ds->op->family != LEVADA_FAMILY_COMBINER; ds = ds->inputs[0]) {
        if (index_lengths_keeps(ds, order)) continue;
        if (!levada_index_passes(ds->op)) return ds;
        levada_dataset_print_own(stages, ds);
    }
    if (ds->op->family == LEVADA_FAMILY_FORMAT) levada_dataset_print_own(stages, ds);
    return ds;
}

static levada_status index_lengths_hash(const levada_text *stages, uint8_t out[16],
                                        levada_error *err)
{
    if (stages->failed) {
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a pipeline");
    }
    levada_hash128(stages->at, stages->size, 1, out);
    return LEVADA_OK;
}

levada_status levada_index_stages(const levada_dataset *dataset, uint8_t out[16],
                                  levada_error *err)
{
    levada_text           stages = { 0 };
    const levada_dataset *last = index_lengths_walk(dataset, true, &stages);
    levada_status         st;

    if (last->op->family == LEVADA_FAMILY_FORMAT) {
        st = index_lengths_hash(&stages, out, err);
    } else {
        st = levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                         "an index stores lengths only if each stage emits one record for each "
                         "record, but '%s' does not",
                         last->op->name);
    }
    levada_text_clear(&stages);
    return st;
}

/* Continues to one of the sources, and appends what makes its records. */
static bool index_lengths_reach(const levada_dataset *ds, const levada_dataset *source,
                                levada_text *stages)
{
    const levada_dataset *last = index_lengths_walk(ds, false, stages);
    size_t                size = stages->size;
    bool                  found = last == source;

    if (last->op->family != LEVADA_FAMILY_COMBINER) return found;
    for (int32_t i = 0; !found && i < last->ninputs; i++) {
        stages->size = size;
        found = index_lengths_reach(last->inputs[i], source, stages);
    }
    return found;
}

levada_status levada_index_hash(const levada_dataset *dataset, const levada_dataset *source,
                                uint8_t out[16], levada_error *err)
{
    levada_text   stages = { 0 };
    bool          found = index_lengths_reach(dataset, source, &stages);
    levada_status st = index_lengths_hash(&stages, out, err);

    LEVADA_ASSERT(found);
    levada_text_clear(&stages);
    return st;
}

/* -- why not */

bool levada_index_is_read(const levada_dataset *source, char why[LEVADA_INDEX_WHY])
{
    const levada_file_args *files;

    if (source->ninputs && source->op->family != LEVADA_FAMILY_COMBINER) {
        snprintf(why, LEVADA_INDEX_WHY, "'%s' does not emit one record for each record",
                 source->op->name);
        return false;
    }
    if (source->op->family != LEVADA_FAMILY_FORMAT) {
        snprintf(why, LEVADA_INDEX_WHY, "'%s' has no index", source->op->name);
        return false;
    }
    files = (const void *)((const char *)source->args + source->op->core_offset);
    if (files->index) return true;
    snprintf(why, LEVADA_INDEX_WHY, "'%s' has no index=true", source->op->name);
    return false;
}

/* Returns the first stage upstream that could declare that it keeps lengths, and does not; NULL =
 * none. */
static const levada_dataset *index_lengths_undeclared(const levada_dataset *ds)
{
    for (; ds->ninputs == 1; ds = ds->inputs[0]) {
        bool may = levada_value_get(ds->options, "keeps_lengths") != NULL;

        if (may && !levada_traits_of(ds).keeps_lengths) return ds;
    }
    return NULL;
}

void levada_index_lacks(const levada_dataset *dataset, const char *const *fields, int32_t n,
                        char why[LEVADA_INDEX_WHY])
{
    const levada_dataset *function = index_lengths_undeclared(dataset);
    levada_text           text = { 0 };

    for (int32_t i = 0; i < n; i++) levada_text_format(&text, "%s%s", i ? "," : "", fields[i]);
    if (function) {
        snprintf(why, LEVADA_INDEX_WHY,
                 "'%s' may change lengths; set keeps_lengths=true if it does not",
                 function->op->name);
    } else {
        snprintf(why, LEVADA_INDEX_WHY,
                 "the index does not have the lengths of %.120s with these stages (levada index "
                 "--length)",
                 text.failed ? "these fields" : text.at);
    }
    levada_text_clear(&text);
}

/* -- lengths */

/* Looks up the lengths of a source of files, with what the stages on it print. */
static levada_status index_lengths_read(levada_index_lookup *lookup, bool order,
                                        const levada_dataset *source, const levada_text *stages,
                                        bool *found, levada_error *err)
{
    levada_context      context;
    levada_file_reader *reader = NULL;
    uint8_t             hash[16], plain[16];
    levada_status       st;

    *found = false;
    LEVADA_TRY(index_lengths_hash(stages, hash, err));
    LEVADA_TRY(levada_index_stages(source, plain, err));
    LEVADA_TRY(levada_file_reader_look(source, &context, &reader, err));
    st = order && !levada_file_reader_is_whole(reader)
             ? LEVADA_OK
             : levada_file_reader_select(reader, lookup->fields, lookup->n, hash, plain, found,
                                         err);
    if (st == LEVADA_OK && *found && lookup->each) {
        st = levada_file_reader_lengths(reader, lookup->each, lookup->user, err);
    }
    levada_file_reader_destroy(&reader);
    return st;
}

static levada_status index_lengths_visit(levada_index_lookup *lookup, const levada_dataset *ds,
                                         levada_text *stages, levada_error *err);

/* Visits the inputs of a combiner whose records are theirs: each with the stages downstream of it.
 */
static levada_status index_lengths_inputs(levada_index_lookup *lookup, const levada_dataset *ds,
                                          levada_text *stages, levada_error *err)
{
    size_t        size = stages->size;
    levada_status st = LEVADA_OK;

    for (int32_t i = 0; st == LEVADA_OK && !lookup->why[0] && i < ds->ninputs; i++) {
        stages->size = size;
        st = index_lengths_visit(lookup, ds->inputs[i], stages, err);
    }
    return st;
}

static levada_status index_lengths_visit(levada_index_lookup *lookup, const levada_dataset *ds,
                                         levada_text *stages, levada_error *err)
{
    const levada_dataset *source = index_lengths_walk(ds, false, stages);
    bool                  found = false;

    if (levada_op_forwards(source->op)) {
        return index_lengths_inputs(lookup, source, stages, err);
    }
    if (!levada_index_is_read(source, lookup->why)) return LEVADA_OK;
    LEVADA_TRY(index_lengths_read(lookup, false, source, stages, &found, err));
    if (!found) levada_index_lacks(ds, lookup->fields, lookup->n, lookup->why);
    return LEVADA_OK;
}

levada_status levada_index_look_up(const levada_dataset *dataset, levada_index_lookup *lookup,
                                   levada_error *err)
{
    levada_text   stages = { 0 };
    levada_status st;

    lookup->why[0] = '\0';
    st = index_lengths_visit(lookup, dataset, &stages, err);
    levada_text_clear(&stages);
    return st;
}

levada_status levada_inspect_lengths(const levada_dataset *dataset, const char *field,
                                     levada_lengths_each *each, void *user, bool *found,
                                     levada_error *err)
{
    LEVADA_TRY(levada_require(dataset != NULL, "dataset", err));
    LEVADA_TRY(levada_require(field && each && found, "field, each or found", err));
    levada_index_lookup   lookup = { .fields = &field, .n = 1, .each = each, .user = user };
    levada_text           stages = { 0 };
    const levada_dataset *source = index_lengths_walk(dataset, true, &stages);
    levada_status         st = LEVADA_OK;

    *found = false;
    if (levada_index_is_read(source, lookup.why)) {
        st = index_lengths_read(&lookup, true, source, &stages, found, err);
    }
    levada_text_clear(&stages);
    return st;
}
