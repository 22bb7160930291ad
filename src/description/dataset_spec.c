/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The columns of a dataset follow from those of its inputs, before any data is read.
 */
#include "description/dataset_priv.h"

#include "base/alloc.h"
#include "description/columns.h"

#include <string.h>

bool levada_field_decodable(const levada_field *field)
{
    return levada_dtype_is_bytes(field->dtype) && field->depth == 0 && field->ndim == 0;
}

levada_status levada_field_undecodable(const levada_field *field, levada_error *err)
{
    bool many = field->depth + field->ndim > 0;

    return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                       "field '%s' is %s%s, not one byte string per record", field->name,
                       many ? "a sequence of " : "", levada_dtype_name(field->dtype));
}

/* Makes typed columns of the rows that the format frames. */
static levada_status dataset_spec_format(levada_dataset *ds, levada_error *err)
{
    const levada_decoder_def *decoder = levada_op_decoder(ds->op);

    if (decoder == NULL) return levada_op_format_spec(ds->op, &ds->spec, err);
    return decoder->check(ds->args, &ds->spec, err);
}

/* Marks the columns as batches. */
static levada_status dataset_spec_mark(levada_dataset *ds, levada_error *err)
{
    levada_spec *spec = ds->spec, *marked = NULL;
    int32_t      flags = levada_spec_flags_of(spec), n = levada_spec_count(spec);

    if ((flags & LEVADA_SPEC_BATCHED) != 0) return LEVADA_OK;
    levada_field *fields = levada_alloc((size_t)n * sizeof(*fields));
    if (fields == NULL) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory");
    for (int32_t i = 0; i < n; i++) fields[i] = *levada_spec_field(spec, i);
    levada_status status =
        levada_spec_create(fields, n, flags | LEVADA_SPEC_BATCHED, &marked, err);
    levada_free(fields);
    if (status != LEVADA_OK) return status;
    levada_spec_unref(&ds->spec);
    ds->spec = marked;
    return LEVADA_OK;
}

static levada_status dataset_spec_stage(levada_dataset *ds, levada_error *err)
{
    const levada_stage_def *def = &ds->op->def.stage;
    const levada_spec      *in = ds->inputs[0]->spec;

    if (def->check != NULL) LEVADA_TRY(def->check(ds->args, in, &ds->spec, err));
    if (ds->spec == NULL) ds->spec = levada_spec_ref(in);
    if (def->mode == LEVADA_MODE_SERIAL && def->apply != NULL) ds->middle = levada_spec_ref(in);
    return ds->op->traits.rows == LEVADA_ROWS_BATCHES ? dataset_spec_mark(ds, err) : LEVADA_OK;
}

static levada_status dataset_spec_combiner(levada_dataset *ds, levada_error *err)
{
    const levada_combiner_def *def = &ds->op->def.combiner;
    const levada_spec     **in = levada_alloc((size_t)ds->ninputs * sizeof(*in));

    if (in == NULL) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory");
    for (int32_t i = 0; i < ds->ninputs; i++) in[i] = ds->inputs[i]->spec;
    levada_status status = def->check(ds->args, in, ds->ninputs, &ds->spec, err);
    levada_free(in);
    return status;
}

/* Writes "a, b" of the columns that could be decoded, or "none". */
static levada_status dataset_spec_no_field(const levada_spec *in, levada_error *err)
{
    levada_text list = {0};

    for (int32_t i = 0; i < levada_spec_count(in) && list.size < 160; i++) {
        const levada_field *field = levada_spec_field(in, i);
        if (!levada_field_decodable(field)) continue;
        levada_text_format(&list, "%s%s", list.size > 0 ? ", " : "", field->name);
    }
    levada_status status =
        list.size > 0 ? levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                                    "set field= to one of the columns of bytes: %s", list.at)
                      : levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                                    "the input has no column of bytes to decode");
    levada_text_clear(&list);
    return status;
}

/* Returns the column that a decoder reads if no option names it. NULL = not known. */
static const char *dataset_spec_guess(const levada_decoder_def *def, const levada_spec *in)
{
    const char *only = NULL;

    if (def->field != NULL && levada_spec_find(in, def->field) >= 0) return def->field;
    for (int32_t i = 0; i < levada_spec_count(in); i++) {
        const levada_field *field = levada_spec_field(in, i);
        if (!levada_field_decodable(field)) continue;
        if (only != NULL) return NULL;
        only = field->name;
    }
    bool open = (levada_spec_flags_of(in) & LEVADA_SPEC_OPEN) != 0;
    return only != NULL ? only : open ? def->field : NULL;
}

levada_status levada_dataset_choose(levada_dataset *ds, const char **out, levada_error *err)
{
    const levada_spec   *in = ds->inputs[0]->spec;
    levada_decoder_args *args = (levada_decoder_args *)(void *)((char *)ds->args +
                                                                ds->op->core_offset);

    if (args->field == NULL) args->field = dataset_spec_guess(&ds->op->def.decoder, in);
    if (args->field == NULL) return dataset_spec_no_field(in, err);
    *out = args->field;
    int32_t i = levada_spec_find(in, args->field);
    if (i < 0 && (levada_spec_flags_of(in) & LEVADA_SPEC_OPEN) != 0) return LEVADA_OK;
    if (i < 0) {
        levada_status status = dataset_spec_no_field(in, err);
        levada_error_wrap(err, "unknown field '%s'", args->field);
        return status;
    }
    const levada_field *field = levada_spec_field(in, i);
    return levada_field_decodable(field) ? LEVADA_OK : levada_field_undecodable(field, err);
}

static levada_status dataset_spec_decoder(levada_dataset *ds, levada_error *err)
{
    levada_spec  *made = NULL;
    const char   *field = NULL;
    levada_status status;

    LEVADA_TRY(levada_dataset_choose(ds, &field, err));
    LEVADA_TRY(levada_op_decoded_spec(ds->op, ds->args, &made, err));
    status = levada_spec_join(ds->inputs[0]->spec, field, made, &ds->spec, err);
    levada_spec_unref(&made);
    return status;
}

levada_status levada_dataset_derive(levada_dataset *ds, levada_error *err)
{
    switch (ds->op->family) {
    case LEVADA_FAMILY_FORMAT: LEVADA_TRY(dataset_spec_format(ds, err)); break;
    case LEVADA_FAMILY_SOURCE:
        LEVADA_TRY(ds->op->def.source.check(ds->args, &ds->spec, err));
        break;
    case LEVADA_FAMILY_STAGE: LEVADA_TRY(dataset_spec_stage(ds, err)); break;
    case LEVADA_FAMILY_DECODER: LEVADA_TRY(dataset_spec_decoder(ds, err)); break;
    case LEVADA_FAMILY_COMBINER: LEVADA_TRY(dataset_spec_combiner(ds, err)); break;
    case LEVADA_FAMILY_FILTER:
    case LEVADA_FAMILY_OPENER: break;
    }
    if (ds->spec == NULL) return levada_fail(err, LEVADA_EINTERNAL,
                                             "internal error: check() returned no columns; please "
                                             "report it");
    return LEVADA_OK;
}
