/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranks that read only their own records (run/keyed.h): what buckets need to know of all records,
 * and whether the records that were read are the ones that were placed.
 */
#include "base/alloc.h"
#include "batch/bucket_stage.h"
#include "batch/length.h"
#include "run/context.h"

#include <stdio.h>
#include <string.h>

/* Counts the open dimensions of a record's field, to which all ranks pad alike. */
static int bucket_keys_open(const levada_field *f)
{
    int open = f->depth;

    for (int d = 0; d < f->ndim; d++) open += f->dims[d] < 0;
    return open;
}

bool levada_bucket_stage_needs(const void *args, const levada_spec *in, levada_needed *out)
{
    const levada_bucket_stage_args *a = args;
    bool                      few = true;

    if (a->ranks.n != 2 || a->ranks.at[1] < 2) return false;
    for (int64_t i = 0; i < a->length.n; i++) few = few && levada_needed_add(out, a->length.at[i]);
    for (int32_t i = 0; !a->no_padding && i < levada_spec_count(in); i++) {
        const levada_field *f = levada_spec_field(in, i);
        int                 open = bucket_keys_open(f);

        if (open == 0) continue;
        if (open > 1 || f->depth == 0) out->more = "a field has several dimensions of variable "
                                                   "length";
        few = few && levada_needed_add(out, f->name);
    }
    if (!few) out->more = "the batch pads too many fields";
    return true;
}

levada_status levada_bucket_stage_divide(const void *args, const levada_rank *rank,
                                         levada_value **changes, levada_error *err)
{
    const levada_bucket_stage_args *a = args;
    char                      text[96];

    if (!rank->in_step) return LEVADA_OK;
    if (a->ranks.n > 0) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "the buckets are divided between ranks already; call "
                           "shard(sync=buckets) once");
    }
    snprintf(text, sizeof text, "{\"ranks\": [%lld, %lld], \"tail\": \"%s\"}",
             (long long)rank->index, (long long)rank->count, rank->equal);
    return levada_value_parse_json(text, strlen(text), changes, err);
}

static levada_status bucket_keys_compare(const levada_bucket_stage *s,
                                            const levada_block *batch, const char *field,
                                            const int64_t *was, const int64_t *now,
                                            levada_error *err)
{
    for (int64_t i = 0; i < batch->n; i++) {
        if (was[i] == now[i] || (now[i] < 0 && was[i] == 0)) continue;
        (void)levada_fail(err, LEVADA_EDATA_LOSS,
                          "'%s' has length %lld, but %lld in the index; run levada index --length "
                          "again, or remove keeps_lengths from a map that changes lengths",
                          field, (long long)now[i], (long long)was[i]);
        levada_context_place(s->grouping.context, batch, i, err);
        return LEVADA_EDATA_LOSS;
    }
    return LEVADA_OK;
}

levada_status levada_bucket_stage_check_keys(const levada_bucket_stage *s,
                                                const levada_block *batch,
                                                levada_error *err)
{
    const levada_block *keys = batch->layout ? batch->layout->keys : NULL;
    int64_t            *was;
    levada_status       st = LEVADA_OK;

    if (!keys || keys->n != batch->n) return LEVADA_OK; /* bad records are an error anyway */
    was = levada_alloc(2 * (size_t)batch->n * sizeof *was);
    if (!was) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for lengths");
    for (int32_t i = 0; st == LEVADA_OK && i < levada_spec_count(keys->spec); i++) {
        const char *field = levada_spec_field(keys->spec, i)->name;

        st = levada_length_measure(field, keys, was, 1, err);
        if (st == LEVADA_OK) st = levada_length_measure(field, batch, was + batch->n, 1, err);
        if (st == LEVADA_OK) {
            st = bucket_keys_compare(s, batch, field, was, was + batch->n, err);
        }
    }
    levada_free(was);
    return st;
}
