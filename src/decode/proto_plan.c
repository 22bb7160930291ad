/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a spec to slots (what to look for on the wire) and fields (what the block gets).
 */
#include "decode/proto.h"

#include "base/alloc.h"
#include "base/hash.h"
#include "option/value_priv.h"

#include <string.h>

void levada_proto_plan_destroy(levada_proto_plan **plan)
{
    levada_proto_plan *p = *plan;

    *plan = NULL;
    if (!p) return;
    for (int32_t i = 0; i < p->nfeatures; i++) levada_free(p->features[i].otherwise);
    levada_spec_unref(&p->spec);
    levada_free(p->features);
    levada_free(p->slots);
    levada_free(p->index);
    levada_free(p);
}

static bool plan_is_dense(const levada_feature *f)
{
    return f->kind == LEVADA_FEATURE_FIXED || f->kind == LEVADA_FEATURE_SEQUENCE;
}

/* Shares a slot that is there already, if this feature may use it too. */
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

/* Returns the place of a key in the index: free where no slot has it. */
static uint32_t plan_place(const levada_proto_plan *plan, const char *key, size_t size, bool steps)
{
    uint32_t i = (uint32_t)levada_hash64(key, size, steps) & plan->mask;

    for (; plan->index[i] != 0; i = (i + 1) & plan->mask) {
        const levada_slot *s = &plan->slots[plan->index[i] - 1];

        if (s->steps == steps && s->size == size && memcmp(s->key, key, size) == 0) break;
    }
    return i;
}

/* Reserves memory for one more slot; the index is at most half full. */
static levada_status plan_reserve(levada_proto_plan *plan, levada_error *err)
{
    int64_t most = plan->nslots + 1;
    uint32_t places = plan->index ? plan->mask + 1 : 16, *index;

    if (!levada_reserve(&plan->slots, &plan->capacity, most, sizeof *plan->slots)) {
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a spec");
    }
    if (plan->index && 2 * most <= places) return LEVADA_OK;
    while (2 * most > places) places *= 2;
    index = levada_alloc_zero(places * sizeof *index);
    if (!index) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a spec");
    levada_free(plan->index);
    plan->index = index;
    plan->mask = places - 1;
    for (int32_t i = 0; i < plan->nslots; i++) {
        const levada_slot *s = &plan->slots[i];

        index[plan_place(plan, s->key, s->size, s->steps)] = (uint32_t)i + 1;
    }
    return LEVADA_OK;
}

levada_status levada_proto_plan_slot(levada_proto_plan *plan, const char *key, size_t size,
                                     levada_list list, const levada_feature *f, int32_t *out,
                                     levada_error *err)
{
    /* The key of a partition or index has no dtype of its own. */
    levada_dtype dtype = list == f->list && (f->kind < LEVADA_FEATURE_RAGGED) ? f->dtype
                                                                              : LEVADA_NONE;
    uint32_t place;
    levada_slot *s;

    LEVADA_TRY(plan_reserve(plan, err));
    place = plan_place(plan, key, size, f->steps);
    if (plan->index[place] != 0) {
        *out = (int32_t)plan->index[place] - 1;
        s = &plan->slots[*out];
        return plan_share(s, list, f, dtype == LEVADA_NONE ? s->dtype : dtype, err);
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
    plan->index[place] = (uint32_t)plan->nslots;
    return LEVADA_OK;
}

/* Marks what the first pass needs to know of a feature's own slot. */
static void plan_mark(levada_proto_plan *plan, const levada_feature *f)
{
    levada_slot *s = &plan->slots[f->slot];
    bool fixed = f->kind == LEVADA_FEATURE_FIXED;

    if (fixed && !f->otherwise) s->required = true;
    if (f->kind == LEVADA_FEATURE_SEQUENCE && f->steps && !f->allow_missing) s->required = true;
    if (fixed) s->fixed = true;
    if (fixed && plan->sequence) s->need_kind = true;
    s->direct = fixed && f->per == 1 && f->list != LEVADA_LIST_BYTES && s->uses == 1;
}

static levada_status plan_check(const levada_value *spec, levada_error *err)
{
    char shown[LEVADA_VALUE_SHOWN];

    if (!spec || levada_value_kind_of(spec) == LEVADA_VALUE_NULL ||
        levada_value_kind_of(spec) == LEVADA_VALUE_MAP)
        return LEVADA_OK;
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                       "the spec must be a map of feature names, {name: {kind: ..., dtype: ...}}, "
                       "or auto; got %s", levada_value_shown(spec, LEVADA_PRINT_TEXT, shown));
}

static levada_status plan_read(levada_proto_plan *plan, const levada_value *spec, bool steps,
                               levada_error *err)
{
    for (int64_t i = 0; i < levada_value_count(spec); i++) {
        levada_feature *f = &plan->features[plan->nfeatures];
        levada_status st = levada_feature_read(plan, levada_value_key(spec, i),
                                               levada_value_item(spec, i), steps, f, err);

        plan->nfeatures++; /* even when it failed: destroy frees its default */
        LEVADA_TRY(st);
    }
    return LEVADA_OK;
}

/* Makes "name/indices"; NULL without memory. */
static char *plan_name(const levada_feature *f, const char *end)
{
    size_t size = strlen(f->name), more = strlen(end) + 1;
    char *name = levada_alloc(size + more);

    if (!name) return NULL;
    memcpy(name, f->name, size);
    memcpy(name + size, end, more);
    return name;
}

/* Lists the fields of one feature; returns their number. `names`: what was allocated for them. */
static int32_t plan_fields(const levada_feature *f, levada_field out[2], char *names[2])
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
    out[0].name = names[0] = plan_name(f, "/indices");
    out[1].name = names[1] = plan_name(f, "/values");
    return 2;
}

static levada_status plan_spec(levada_proto_plan *plan, levada_error *err)
{
    size_t most = 2 * (size_t)plan->nfeatures;
    levada_field *fields = levada_alloc(most * sizeof *fields);
    char **names = levada_alloc_zero(most * sizeof *names);
    bool good = fields && names;
    int32_t n = 0;
    levada_status st;

    for (int32_t i = 0; good && i < plan->nfeatures; i++) {
        int32_t first = n;

        plan->features[i].column = n;
        n += plan_fields(&plan->features[i], &fields[n], &names[n]);
        good = fields[first].name && fields[n - 1].name;
    }
    st = good ? levada_spec_create(fields, n, LEVADA_SPEC_PLAIN, &plan->spec, err)
              : levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a spec");
    for (int32_t i = 0; names && i < n; i++) levada_free(names[i]);
    levada_free(fields);
    levada_free(names);
    return st;
}

static levada_status plan_build(levada_proto_plan *plan, const levada_value *context,
                                const levada_value *lists, levada_error *err)
{
    size_t n = (size_t)levada_value_count(context) + (size_t)levada_value_count(lists);

    LEVADA_TRY(plan_check(context, err));
    LEVADA_TRY(plan_check(lists, err));
    if (n == 0) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "Missing: the spec is empty; write {name: {kind: VarLen, "
                           "dtype: int64}}");
    }
    plan->features = levada_alloc_zero(n * sizeof *plan->features);
    if (!plan->features) {
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a spec");
    }
    LEVADA_TRY(plan_read(plan, context, false, err));
    plan->ncontext = plan->nslots;
    LEVADA_TRY(plan_read(plan, lists, true, err));
    levada_free(plan->index); /* nothing looks for a key after the spec is read */
    plan->index = NULL;
    for (int32_t i = 0; i < plan->nfeatures; i++) plan_mark(plan, &plan->features[i]);
    return plan_spec(plan, err);
}

levada_status levada_proto_plan_create(const levada_value *context, const levada_value *lists,
                                       bool sequence, levada_proto_plan **out, levada_error *err)
{
    levada_proto_plan *plan = levada_alloc_zero(sizeof *plan);
    levada_status st;

    if (!plan) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a spec");
    plan->sequence = sequence;
    st = plan_build(plan, context, lists, err);
    if (st == LEVADA_OK) *out = plan;
    else levada_proto_plan_destroy(&plan);
    return st;
}
