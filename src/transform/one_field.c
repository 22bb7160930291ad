/* SPDX-License-Identifier: Apache-2.0 */
#include "transform/one_field.h"

#include "base/alloc.h"

levada_status levada_columns_state_open(void *state, const void *args,
                                        const levada_context *context, levada_error *err)
{
    (void)args, (void)err;
    ((levada_columns_state *)state)->context = context;
    return LEVADA_OK;
}

void levada_columns_state_close(void *state)
{
    levada_derived_clear(&((levada_columns_state *)state)->columns);
}

levada_status levada_one_field_check(const levada_spec *in, const char *field,
                                     levada_field_change change, const void *args,
                                     levada_spec **out, levada_error *err)
{
    int32_t       i = -1;
    levada_field *fields;
    levada_status st;

    LEVADA_TRY(levada_spec_require(in, field, &i, err));
    if (i < 0) return LEVADA_OK;
    fields = levada_spec_copy_fields(in);
    if (!fields) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a spec");
    st = change(args, &fields[i], err);
    if (st == LEVADA_OK) {
        st = levada_spec_create(fields, levada_spec_count(in), levada_spec_flags_of(in), out, err);
    }
    levada_free(fields);
    return st;
}

levada_status levada_one_field_begin(levada_columns_state *s, levada_derive check,
                                     const void *args, const char *field, const levada_block *in,
                                     levada_one_field *out, levada_error *err)
{
    const levada_spec *spec = NULL;

    *out = (levada_one_field){ 0 };
    LEVADA_TRY(levada_derived_get(&s->columns, check, args, in->spec, &spec, err));
    LEVADA_TRY(levada_spec_require(spec, field, &out->index, err));
    out->from = levada_block_at(in, out->index);
    if (!out->from) return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "no field '%s'", field);
    out->to = levada_spec_field(spec, out->index);
    LEVADA_TRY(levada_builder_create(s->context->env, spec, in->n, &out->b, err));
    for (int32_t i = 0; i < levada_spec_count(spec); i++) {
        if (i != out->index) levada_builder_share(out->b, i, levada_block_at(in, i));
    }
    return LEVADA_OK;
}

levada_status levada_one_field_end(levada_one_field *f, levada_status st, levada_block **out,
                                   levada_error *err)
{
    if (st == LEVADA_OK) st = levada_builder_publish(&f->b, out, err);
    levada_builder_destroy(&f->b);
    return st;
}
