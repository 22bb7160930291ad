/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a spec to slots (what to look for on the wire) and fields (what the block gets).
 */
#include "decode/proto.h"

#include "base/alloc.h"

#include <stdio.h>

void levada_proto_plan_destroy(levada_proto_plan **plan)
{
    levada_proto_plan *p = *plan;

    *plan = NULL;
    if (!p) return;
    for (int32_t i = 0; i < p->nfeatures; i++) levada_free(p->features[i].otherwise);
    levada_spec_unref(&p->spec);
    levada_free(p->features);
    levada_free(p->slots);
    levada_free(p);
}

static bool plan_is_dense(const levada_feature *f)
{
    return f->kind == LEVADA_FEATURE_FIXED || f->kind == LEVADA_FEATURE_SEQUENCE;
}

/* A slot that is there already: may this feature use it too? */
static levada_status plan_share(levada_slot *s, levada_list list, const levada_feature *f,
                                levada_dtype dtype, levada_error *err)
{
    if (s->list != list || (s->dtype != dtype && s->dtype != LEVADA_NONE)) {
        return levada_fail(
            err, LEVADA_EINVALID_ARGUMENT, "feature '%s': Conflicting type for key '%s': %s and %s",
            f->name, s->key,
            dtype == s->dtype ? levada_list_name(s->list) : levada_dtype_name(s->dtype),
            dtype == s->dtype ? levada_list_name(list) : levada_dtype_name(dtype));
    }
    if (s->dense != plan_is_dense(f)) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "feature '%s': Dense and sparse keys must not intersect: '%s' is both",
                           f->name, s->key);
    }
    s->uses++;
    return LEVADA_OK;
}

levada_status levada_proto_plan_slot(levada_proto_plan *plan, const char *key, size_t size,
                                     levada_list list, const levada_feature *f, int32_t *out,
                                     levada_error *err)
{
    /* The key of a partition or index has no dtype of its own. */
    levada_dtype dtype = list == f->list && (f->kind < LEVADA_FEATURE_RAGGED) ? f->dtype
                                                                              : LEVADA_NONE;
    levada_slot *s;

    for (int32_t i = 0; i < plan->nslots; i++) {
        s = &plan->slots[i];
        if (s->steps == f->steps && s->size == size && memcmp(s->key, key, size) == 0) {
            *out = i;
            return plan_share(s, list, f, dtype == LEVADA_NONE ? s->dtype : dtype, err);
        }
    }
    if (plan->nslots == plan->room) {
        int32_t room = plan->room ? 2 * plan->room : 16;
        levada_slot *more = levada_realloc(plan->slots, (size_t)room * sizeof *more);

        if (!more) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "no memory for a spec");
        plan->slots = more;
        plan->room = room;
    }
    s = &plan->slots[plan->nslots];
    *s = (levada_slot){
        .key = key,
        .size = (uint32_t)size,
        .list = list,
        .steps = f->steps,
        .tag = LEVADA_WIRE_SIZED(list),
        .dense = plan_is_dense(f),
        .uses = 1,
        .dtype = dtype,
        .feature = plan->nfeatures,
    };
    *out = plan->nslots++;
    return LEVADA_OK;
}

/* What the first pass needs to know of a feature's own slot. */
static void plan_mark(levada_proto_plan *plan, const levada_feature *f)
{
    levada_slot *s = &plan->slots[f->slot];
    bool fixed = f->kind == LEVADA_FEATURE_FIXED;

    if (fixed && !f->otherwise) s->required = true;
    if (f->kind == LEVADA_FEATURE_SEQUENCE && f->steps && !f->allow_missing) s->required = true;
    if (fixed && plan->sequence) s->need_kind = true;
    s->direct = fixed && f->per == 1 && f->list != LEVADA_LIST_BYTES && s->uses == 1;
}

static levada_status plan_read(levada_proto_plan *plan, const levada_value *spec, bool steps,
                               levada_error *err)
{
    if (spec && levada_value_kind_of(spec) != LEVADA_VALUE_NULL &&
        levada_value_kind_of(spec) != LEVADA_VALUE_MAP) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "the spec is no map of feature names, {name: {kind: ..., dtype: ...}}");
    }
    for (int64_t i = 0; i < levada_value_count(spec); i++) {
        levada_feature *f = &plan->features[plan->nfeatures];
        levada_status st = levada_feature_read(plan, levada_value_key(spec, i),
                                               levada_value_item(spec, i), steps, f, err);

        plan->nfeatures++; /* also when it failed: destroy frees its default */
        LEVADA_TRY(st);
    }
    return LEVADA_OK;
}

/* The fields of one feature; returns their number. */
static int32_t plan_fields(const levada_feature *f, levada_field out[2], char names[2][300])
{
    levada_field *v = &out[0];

    memset(out, 0, 2 * sizeof *out);
    v->name = f->name;
    v->dtype = f->dtype;
    v->ndim = f->ndim;
    memcpy(v->dims, f->dims, sizeof v->dims);
    memcpy(v->pad, f->pad, sizeof v->pad);
    v->depth = (uint8_t)((f->kind == LEVADA_FEATURE_FIXED ? 0 : 1 + f->nparts) +
                         (f->steps && f->kind != LEVADA_FEATURE_SEQUENCE ? 1 : 0));
    if (f->kind != LEVADA_FEATURE_SPARSE) return 1;
    out[1] = *v;
    out[0].dtype = LEVADA_INT64;
    out[0].ndim = 1;
    out[0].dims[0] = f->nindex;
    (void)snprintf(names[0], 300, "%.280s/indices", f->name);
    (void)snprintf(names[1], 300, "%.280s/values", f->name);
    out[0].name = names[0];
    out[1].name = names[1];
    return 2;
}

static levada_status plan_spec(levada_proto_plan *plan, levada_error *err)
{
    size_t most = 2 * (size_t)plan->nfeatures;
    levada_field *fields = levada_alloc(most * sizeof *fields);
    char (*names)[300] = levada_alloc(most * sizeof *names);
    int32_t n = 0;
    levada_status st;

    if (fields && names) {
        for (int32_t i = 0; i < plan->nfeatures; i++) {
            plan->features[i].column = n;
            n += plan_fields(&plan->features[i], &fields[n], &names[n]);
        }
        st = levada_spec_create(fields, n, LEVADA_SPEC_PLAIN, &plan->spec, err);
    } else {
        st = levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "no memory for a spec");
    }
    levada_free(fields);
    levada_free(names);
    return st;
}

static levada_status plan_build(levada_proto_plan *plan, const levada_value *context,
                                const levada_value *lists, levada_error *err)
{
    size_t n = (size_t)levada_value_count(context) + (size_t)levada_value_count(lists);

    if (n == 0) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "Missing: the spec names no feature; write {name: {kind: VarLen, "
                           "dtype: int64}}");
    }
    plan->features = levada_alloc_zero(n * sizeof *plan->features);
    if (!plan->features) {
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "no memory for a spec");
    }
    LEVADA_TRY(plan_read(plan, context, false, err));
    plan->ncontext = plan->nslots;
    LEVADA_TRY(plan_read(plan, lists, true, err));
    for (int32_t i = 0; i < plan->nfeatures; i++) plan_mark(plan, &plan->features[i]);
    return plan_spec(plan, err);
}

levada_status levada_proto_plan_create(const levada_value *context, const levada_value *lists,
                                       bool sequence, levada_proto_plan **out, levada_error *err)
{
    levada_proto_plan *plan = levada_alloc_zero(sizeof *plan);
    levada_status st;

    if (!plan) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "no memory for a spec");
    plan->sequence = sequence;
    st = plan_build(plan, context, lists, err);
    if (st == LEVADA_OK) *out = plan;
    else levada_proto_plan_destroy(&plan);
    return st;
}
