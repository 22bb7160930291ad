/* SPDX-License-Identifier: Apache-2.0 */
#include "run/own.h"

#include <stdio.h>
#include <string.h>

bool levada_needed_add(levada_needed *needed, const char *field)
{
    for (int32_t i = 0; i < needed->n; i++) {
        if (strcmp(needed->fields[i], field) == 0) return true;
    }
    if (needed->n == LEVADA_LENGTH_FIELDS) return false;
    needed->fields[needed->n++] = field;
    return true;
}

const int64_t *levada_own_lengths(const levada_dataset *source, const char *field)
{
    const levada_block *all = levada_value_as_block(levada_value_get(source->options, "lengths"));
    const levada_column *column = all ? levada_block_column(all, field) : NULL;

    if (!column || column->field->dtype != LEVADA_INT64 || column->field->depth > 0 ||
        all->n != source->op->def.source.count(source->args)) {
        return NULL;
    }
    return levada_column_i64(column);
}

/* Checks that a numbered source knows the lengths, and that no stage may change them. */
static void own_check_numbered(levada_own *own, const levada_dataset *source)
{
    for (int32_t i = 0; i < own->needed.n; i++) {
        const char *field = own->needed.fields[i];

        if (levada_own_lengths(source, field)) continue;
        snprintf(own->why, sizeof own->why, "'%s' has no lengths of %.120s", source->op->name,
                 field);
        return;
    }
    for (const levada_dataset *ds = own->stage->inputs[0]; ds != source; ds = ds->inputs[0]) {
        if (levada_traits_of(ds).keeps_lengths) continue;
        snprintf(own->why, sizeof own->why, "'%s' may change lengths", ds->op->name);
        return;
    }
}

static void own_check_source(levada_own *own, const levada_dataset *source)
{
    const levada_file_args *files;
    levada_policy           policy;

    if (levada_op_numbered(source->op) && !own->combiner) {
        own_check_numbered(own, source);
        return;
    }
    if (!levada_index_is_read(source, own->why)) return;
    files = (const void *)((const char *)source->args + source->op->core_offset);
    if (levada_policy_parse(files->errors, &policy, NULL) != LEVADA_OK || policy.skip) {
        snprintf(own->why, sizeof own->why, "errors= of '%s' may skip records", source->op->name);
    }
}

/* Refuses stages that make the records of an input of a combiner, because they would have to run
 * between the source and the combiner, where there are numbers only. */
static void own_check_maker(levada_own *own, const levada_dataset *at)
{
    snprintf(own->why, sizeof own->why, "'%s' is upstream of '%s': only stages downstream can wait",
             at->op->name, own->combiner->op->name);
}

/* Checks from the stage to the sources, through combiners that pass records on. */
static void own_check(levada_own *own, const levada_dataset *ds)
{
    while (levada_index_chooses(ds->op) || levada_index_passes(ds->op)) {
        if (own->combiner && !levada_index_chooses(ds->op)) {
            own_check_maker(own, ds);
            return;
        }
        ds = ds->inputs[0];
    }
    if (levada_op_forwards(ds->op)) {
        own->combiner = ds;
        for (int32_t i = 0; i < ds->ninputs && !own->why[0]; i++) own_check(own, ds->inputs[i]);
        return;
    }
    own_check_source(own, ds);
    if (!own->why[0] && own->combiner && levada_op_decoder(ds->op)) own_check_maker(own, ds);
}

levada_status levada_own_look_up(levada_own *own, levada_error *err)
{
    levada_index_lookup   lookup = { .fields = own->needed.fields, .n = own->needed.n };
    const levada_dataset *source = own->stage->inputs[0];

    while (source->ninputs == 1) source = source->inputs[0];
    if (own->why[0] || levada_op_numbered(source->op)) return LEVADA_OK;
    LEVADA_TRY(levada_index_look_up(own->stage->inputs[0], &lookup, err));
    memcpy(own->why, lookup.why, sizeof own->why);
    return LEVADA_OK;
}

levada_status levada_own_describe(const levada_dataset *stage, bool skips, levada_own *out,
                                  levada_error *err)
{
    const levada_stage_core *core = levada_op_core(stage->op);
    const levada_dataset   *ds = stage->inputs[0];

    *out = (levada_own){ 0 };
    if (!core->needs || !core->needs(stage->args, ds->spec, &out->needed)) return LEVADA_OK;
    out->stage = stage;
    if (skips) {
        snprintf(out->why, sizeof out->why, "errors= may skip records, and others would follow");
        return LEVADA_OK;
    }
    if (levada_spec_flags_of(ds->spec) & LEVADA_SPEC_OPEN) {
        snprintf(out->why, sizeof out->why, "its columns are not known before the first record");
        return LEVADA_OK;
    }
    if (out->needed.more) {
        snprintf(out->why, sizeof out->why, "%s", out->needed.more);
        return LEVADA_OK;
    }
    own_check(out, ds);
    return out->combiner ? levada_own_look_up(out, err) : LEVADA_OK; /* all sources, or none */
}

levada_status levada_own_find(levada_own *own, const levada_dataset *at, levada_file_reader *source,
                              levada_error *err)
{
    uint8_t stages[16], plain[16];
    bool    found = false;

    LEVADA_TRY(levada_index_hash(own->stage->inputs[0], at, stages, err));
    LEVADA_TRY(levada_index_stages(at, plain, err));
    LEVADA_TRY(levada_file_reader_select(source, own->needed.fields, own->needed.n, stages, plain,
                                         &found, err));
    if (found) return LEVADA_OK;
    levada_index_lacks(own->stage->inputs[0], own->needed.fields, own->needed.n, own->why);
    if (!own->combiner) return LEVADA_OK;
    return levada_fail(err, LEVADA_EFAILED_PRECONDITION, "the index was written again: %s",
                       own->why);
}

void levada_own_print(const levada_own *own, char *out, size_t size)
{
    if (own->why[0]) snprintf(out, size, "all records: %s", own->why);
    else snprintf(out, size, "its own records, by the lengths of all in the index");
}
