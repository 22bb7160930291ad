/* SPDX-License-Identifier: Apache-2.0 */
#include "run/keyed.h"

#include "description/policy.h"

#include <stdio.h>
#include <string.h>

bool levada_needed_add(levada_needed *needed, const char *field)
{
    for (int32_t i = 0; i < needed->n; i++) {
        if (strcmp(needed->fields[i], field) == 0) return true;
    }
    if (needed->n == LEVADA_KEY_FIELDS) return false;
    needed->fields[needed->n++] = field;
    return true;
}

const int64_t *levada_keyed_lengths(const levada_dataset *source, const char *field)
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
static void keyed_check_numbered(levada_keyed *keyed, const levada_dataset *source)
{
    for (int32_t i = 0; i < keyed->needed.n; i++) {
        const char *field = keyed->needed.fields[i];

        if (levada_keyed_lengths(source, field)) continue;
        snprintf(keyed->why, sizeof keyed->why, "'%s' has no lengths of %.120s", source->op->name,
                 field);
        return;
    }
    for (const levada_dataset *ds = keyed->stage->inputs[0]; ds != source; ds = ds->inputs[0]) {
        if (levada_traits_of(ds).keeps_lengths) continue;
        snprintf(keyed->why, sizeof keyed->why, "'%s' may change lengths", ds->op->name);
        return;
    }
}

static void keyed_check_source(levada_keyed *keyed, const levada_dataset *source)
{
    const levada_file_args *files;
    levada_policy           policy;

    if (levada_op_numbered(source->op) && !keyed->combiner) {
        keyed_check_numbered(keyed, source);
        return;
    }
    if (!levada_index_is_read(source, keyed->why)) return;
    files = (const void *)((const char *)source->args + source->op->core_offset);
    if (levada_policy_parse(files->errors, &policy, NULL) != LEVADA_OK || policy.skip) {
        snprintf(keyed->why, sizeof keyed->why, "errors= of '%s' may skip records",
                 source->op->name);
    }
}

/* Refuses stages that make the records of an input of a combiner, because they would have to run
 * between the source and the combiner, where there are numbers only. */
static void keyed_check_maker(levada_keyed *keyed, const levada_dataset *at)
{
    snprintf(keyed->why, sizeof keyed->why,
             "'%s' is upstream of '%s': only stages downstream can wait",
             at->op->name, keyed->combiner->op->name);
}

/* Checks from the stage to the sources, through combiners that pass records on. */
static void keyed_check(levada_keyed *keyed, const levada_dataset *ds)
{
    while (levada_index_chooses(ds->op) || levada_index_passes(ds->op)) {
        if (keyed->combiner && !levada_index_chooses(ds->op)) {
            keyed_check_maker(keyed, ds);
            return;
        }
        ds = ds->inputs[0];
    }
    if (levada_op_forwards(ds->op)) {
        keyed->combiner = ds;
        for (int32_t i = 0; i < ds->ninputs && !keyed->why[0]; i++) {
            keyed_check(keyed, ds->inputs[i]);
        }
        return;
    }
    keyed_check_source(keyed, ds);
    if (!keyed->why[0] && keyed->combiner && levada_op_decoder(ds->op)) {
        keyed_check_maker(keyed, ds);
    }
}

/* Looks up whether the indexes of all sources have the lengths. */
static levada_status keyed_look_up(levada_keyed *keyed, levada_error *err)
{
    levada_index_lookup   lookup = { .fields = keyed->needed.fields, .n = keyed->needed.n };
    const levada_dataset *source = keyed->stage->inputs[0];

    while (source->ninputs == 1) source = source->inputs[0];
    if (keyed->why[0] || levada_op_numbered(source->op)) return LEVADA_OK;
    LEVADA_TRY(levada_index_look_up(keyed->stage->inputs[0], &lookup, err));
    memcpy(keyed->why, lookup.why, sizeof keyed->why);
    return LEVADA_OK;
}

levada_status levada_keyed_decide(const levada_dataset *stage, bool skips, levada_keyed *out,
                                  levada_error *err)
{
    const levada_stage_core *core = levada_op_core(stage->op);
    const levada_dataset    *ds = stage->inputs[0];
    const char              *why = NULL;

    *out = (levada_keyed){ 0 };
    if (!core->needs || !core->needs(stage->args, ds->spec, &out->needed)) return LEVADA_OK;
    out->stage = stage;
    if (levada_spec_flags_of(ds->spec) & LEVADA_SPEC_OPEN) {
        why = "its columns are not known before the first record";
    }
    if (skips) why = "errors= may skip records, and others would follow";
    if (!why) why = out->needed.more;
    if (why) snprintf(out->why, sizeof out->why, "%s", why);
    else keyed_check(out, ds);
    return keyed_look_up(out, err);
}

void levada_keyed_print(const levada_keyed *keyed, char *out, size_t size)
{
    if (keyed->why[0]) snprintf(out, size, "all records: %s", keyed->why);
    else snprintf(out, size, "its own records, by the lengths of all in the index");
}
