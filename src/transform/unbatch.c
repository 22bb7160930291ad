/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unbatch - records out of batches: rows are records again, and padding is cut off. Records that
 * were never batched are split instead: record i of length k becomes k records, one for each step
 * of its first dimension.
 */
#include "base/alloc.h"
#include "description/columns.h"
#include "registry/env_priv.h"
#include "tensor/builder_priv.h"
#include <levada/stage.h>

#include <string.h>

typedef struct unbatch_args {
    int8_t none;
} unbatch_args;

typedef struct unbatch_state {
    const levada_context *context;
    levada_derived        columns;
} unbatch_state;

static const levada_arg unbatch_options[] = { LEVADA_ARG_END };

static void unbatch_drop_dim(levada_field *f)
{
    f->ndim--;
    memmove(f->dims, f->dims + 1, f->ndim * sizeof f->dims[0]);
}

/* Sets what one field becomes; returns false if a record has no steps. */
static bool unbatch_field(levada_field *f, bool batched)
{
    if (batched) {
        if (!f->padded) return true;
        f->padded = f->left = false;
        f->depth = 1;
        unbatch_drop_dim(f);
        return true;
    }
    f->padded = f->left = false;
    if (f->depth > 0) {
        f->depth--;
        return true;
    }
    if (f->ndim == 0) return false;
    unbatch_drop_dim(f);
    return true;
}

static levada_status unbatch_derive(bool batched, const levada_spec *in, levada_spec **out,
                                    levada_error *err)
{
    int32_t       n = levada_spec_count(in), flags = levada_spec_flags_of(in);
    levada_field *fields = levada_spec_copy_fields(in);
    levada_status st = LEVADA_OK;

    if (!fields) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a spec");
    for (int32_t i = 0; st == LEVADA_OK && i < n; i++) {
        if (unbatch_field(&fields[i], batched)) continue;
        st = levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                         "field '%s' has one value per record and cannot be split; drop it "
                         "with select", fields[i].name);
    }
    if (st == LEVADA_OK) {
        st = levada_spec_create(fields, n, flags & ~LEVADA_SPEC_BATCHED, out, err);
    }
    levada_free(fields);
    return st;
}

/* Blocks of a batch need not carry the mark: the description has it. */
static levada_status unbatch_batch(const void *args, const levada_spec *in, levada_spec **out,
                                   levada_error *err)
{
    (void)args;
    return unbatch_derive(true, in, out, err);
}

static levada_status unbatch_record(const void *args, const levada_spec *in, levada_spec **out,
                                    levada_error *err)
{
    (void)args;
    return unbatch_derive(false, in, out, err);
}

static levada_status unbatch_check(const void *args, const levada_spec *in, levada_spec **out,
                                   levada_error *err)
{
    bool batched = levada_spec_flags_of(in) & LEVADA_SPEC_BATCHED;

    return batched ? unbatch_batch(args, in, out, err) : unbatch_record(args, in, out, err);
}

static levada_status unbatch_open(void *state, const void *args, const levada_context *context,
                                  levada_error *err)
{
    (void)args;
    (void)err;
    ((unbatch_state *)state)->context = context;
    return LEVADA_OK;
}

static void unbatch_close(void *state)
{
    levada_derived_clear(&((unbatch_state *)state)->columns);
}

/* -- batches */

/* Cuts a padded column as a ragged one on the same values. */
static levada_status unbatch_cut(levada_builder *b, int32_t i, const levada_column *from,
                                 levada_error *err)
{
    levada_column *c = &b->block->columns[i];
    int32_t       *begin = NULL, *end = NULL;
    int64_t        step = from->dims[0];

    memmove(c->dims, c->dims + 1, c->field->ndim * sizeof c->dims[0]);
    levada_buffer_unref(&c->lengths_owner);
    c->lengths = NULL;
    if (levada_dtype_is_bytes(from->field->dtype)) {
        c->level[1] = c->level[0];
        memset(&c->level[0], 0, sizeof c->level[0]);
    }
    LEVADA_TRY(levada_builder_ranges(b, i, 0, from->n, &begin, &end, err));
    for (int64_t r = 0; r < from->n; r++) {
        int64_t n = from->lengths && from->lengths[r] < step ? from->lengths[r] : step;
        int64_t first = r * step + (from->field->left ? step - n : 0);

        begin[r] = (int32_t)first;
        end[r] = (int32_t)(first + n);
    }
    return LEVADA_OK;
}

static levada_status unbatch_rows(const unbatch_state *s, const levada_block *in,
                                  const levada_spec *spec, levada_block **out, levada_error *err)
{
    levada_builder *b = NULL;
    levada_status   st;

    LEVADA_TRY(levada_builder_create(s->context->env, spec, in->n, &b, err));
    st = LEVADA_OK;
    for (int32_t i = 0; st == LEVADA_OK && i < levada_spec_count(spec); i++) {
        const levada_column *c = levada_block_at(in, i);

        levada_builder_share(b, i, c);
        if (c->field->padded) st = unbatch_cut(b, i, c, err);
    }
    if (st == LEVADA_OK) st = levada_builder_publish(&b, out, err);
    levada_builder_destroy(&b);
    if (st != LEVADA_OK) return st;
    (*out)->bytes = in->bytes;
    st = levada_block_copy_origins(levada_env_pool(s->context->env), *out, in, err);
    if (st != LEVADA_OK) levada_block_unref(out);
    return st;
}

/* -- records with steps */

static int64_t unbatch_steps(const levada_column *c, int64_t row)
{
    if (c->field->depth == 0 && c->lengths) return c->lengths[row];
    return c->field->depth ? levada_column_length(c, row) : c->dims[0];
}

/* Counts the records that come out: all columns must agree on each record. */
static levada_status unbatch_count(const levada_block *in, int64_t *out, levada_error *err)
{
    const levada_column *first = levada_block_at(in, 0);
    int64_t              total = 0;

    for (int64_t r = 0; first && r < in->n; r++) {
        int64_t steps = unbatch_steps(first, r);

        for (int32_t i = 1; i < levada_spec_count(in->spec); i++) {
            const levada_column *c = levada_block_at(in, i);

            if (unbatch_steps(c, r) == steps) continue;
            return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                               "the fields of a record must have the same number of steps, got "
                               "%lld for '%s' and %lld for '%s'",
                               (long long)steps, first->field->name, (long long)unbatch_steps(c, r),
                               c->field->name);
        }
        total += steps;
    }
    if (total > INT32_MAX) {
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED,
                           "%lld records are more than 2^31 - 1 in one block; lower block_rows or "
                           "batch_size", (long long)total);
    }
    *out = total;
    return LEVADA_OK;
}

/* Sums the steps of all rows, as numbers of rows of the level (or of the fixed dimension) below. */
static int64_t unbatch_first(const levada_column *c, int64_t row)
{
    return c->field->depth ? c->level[0].begin[row] : row * c->dims[0];
}

static int64_t unbatch_inner(const levada_column *c, int32_t from)
{
    int64_t inner = 1;

    for (int32_t d = from; d < c->field->ndim; d++) inner *= c->dims[d];
    return inner;
}

/* Makes the remaining levels: ranges of the old next level, in order; values are shared. */
static levada_status unbatch_levels(levada_builder *b, int32_t i, const levada_column *from,
                                    int64_t per, int64_t total, levada_error *err)
{
    levada_column *c = &b->block->columns[i];
    int32_t       *begin = NULL, *end = NULL;
    int32_t        old = from->field->depth > 0 ? 1 : 0;
    int64_t        k = 0;

    for (int32_t l = 0; l <= LEVADA_MAX_DEPTH; l++) levada_buffer_unref(&c->level[l].owner);
    memset(c->level, 0, sizeof c->level);
    for (int32_t l = old + 1; l <= LEVADA_MAX_DEPTH && from->level[l].begin; l++) {
        c->level[l - old] = from->level[l];
        if (c->level[l - old].owner) levada_buffer_ref(c->level[l - old].owner);
    }
    LEVADA_TRY(levada_builder_ranges(b, i, 0, total * per, &begin, &end, err));
    for (int64_t r = 0; r < from->n; r++) {
        int64_t first = unbatch_first(from, r) * per, n = unbatch_steps(from, r) * per;

        for (int64_t t = first; t < first + n; t++, k++) {
            begin[k] = from->level[old].begin[t];
            end[k] = from->level[old].end[t];
        }
    }
    return LEVADA_OK;
}

static levada_status unbatch_values(levada_builder *b, int32_t i, const levada_column *from,
                                    int64_t per, int64_t total, levada_error *err)
{
    int64_t  size = levada_dtype_size(from->field->dtype) * per;
    void    *values = NULL;
    uint8_t *at;

    LEVADA_TRY(levada_builder_values(b, i, total * per, &values, err));
    at = values;
    for (int64_t r = 0; r < from->n; r++) {
        size_t bytes = (size_t)(unbatch_steps(from, r) * size);

        if (bytes) memcpy(at, from->values + unbatch_first(from, r) * size, bytes);
        at += bytes;
    }
    return LEVADA_OK;
}

static levada_status unbatch_column(levada_builder *b, int32_t i, const levada_column *from,
                                    int64_t total, levada_error *err)
{
    bool           ragged = from->field->depth > 0;
    int64_t        per = unbatch_inner(from, ragged ? 0 : 1); /* elements of one step */
    levada_column *c = &b->block->columns[i];

    levada_builder_share(b, i, from);
    levada_buffer_unref(&c->lengths_owner);
    c->lengths = NULL;
    c->n = total;
    if (!ragged) memmove(c->dims, c->dims + 1, c->field->ndim * sizeof c->dims[0]);
    if (from->field->depth > 1) return unbatch_levels(b, i, from, 1, total, err);
    if (levada_dtype_is_bytes(from->field->dtype))
        return unbatch_levels(b, i, from, per, total, err);
    for (int32_t l = 0; l <= LEVADA_MAX_DEPTH; l++) levada_buffer_unref(&c->level[l].owner);
    memset(c->level, 0, sizeof c->level);
    return unbatch_values(b, i, from, per, total, err);
}

/* Sets the origins, of all origin parts: a step is a part of each record that a zip put together.
 * */
static levada_status unbatch_origins(levada_pool *pool, const levada_block *in, levada_block *made,
                                     levada_error *err)
{
    int32_t        nparts = levada_block_origin_parts(in);
    levada_origin *each[LEVADA_ORIGIN_PARTS];

    if (made->n == 0) return LEVADA_OK;
    LEVADA_TRY(levada_block_reserve_origins(pool, made, nparts, each, err));
    for (int32_t part = 0; part < nparts; part++) {
        levada_origin *at = each[part];

        for (int64_t r = 0; r < in->n; r++) {
            levada_origin origin = levada_block_origin_part(in, r, part);
            int64_t       steps = unbatch_steps(levada_block_at(in, 0), r);

            for (int64_t t = 0; t < steps; t++, at++) {
                *at = origin;
                at->sub = (int32_t)t;
            }
        }
    }
    return LEVADA_OK;
}

static levada_status unbatch_split(const unbatch_state *s, const levada_block *in,
                                   const levada_spec *spec, levada_block **out, levada_error *err)
{
    levada_pool    *pool = levada_env_pool(s->context->env);
    levada_builder *b = NULL;
    levada_block   *made = NULL;
    int64_t         total = 0;
    levada_status   st;

    LEVADA_TRY(unbatch_count(in, &total, err));
    LEVADA_TRY(levada_builder_make(pool, spec, total, &b, err));
    st = LEVADA_OK;
    for (int32_t i = 0; st == LEVADA_OK && i < levada_spec_count(spec); i++) {
        st = unbatch_column(b, i, levada_block_at(in, i), total, err);
    }
    if (st == LEVADA_OK) st = levada_builder_publish(&b, &made, err);
    if (st == LEVADA_OK) st = unbatch_origins(pool, in, made, err);
    if (st == LEVADA_OK) {
        made->bytes += in->bytes;
        *out = made;
        made = NULL;
    }
    levada_block_unref(&made);
    levada_builder_destroy(&b);
    return st;
}

static levada_status unbatch_apply(void *state, const void *args, const levada_block *in,
                                   levada_block **out, levada_error *err)
{
    unbatch_state     *s = state;
    const levada_spec *spec = NULL;
    bool batched = levada_spec_flags_of(s->context->in) & LEVADA_SPEC_BATCHED;

    LEVADA_TRY(levada_derived_get(&s->columns, batched ? unbatch_batch : unbatch_record, args,
                                  in->spec, &spec, err));
    return batched ? unbatch_rows(s, in, spec, out, err) : unbatch_split(s, in, spec, out, err);
}

const levada_stage_def levada_stage_unbatch = {
    .struct_size = sizeof(levada_stage_def),
    .name = "unbatch",
    .doc = "splits batches into records, without padding",
    .example = "range:10 | batch:4 | unbatch",
    .mode = LEVADA_MODE_PURE,
    .traits = LEVADA_TRAITS(.rows = LEVADA_ROWS_UNBATCHES, .reads = LEVADA_READS_COLUMNS),
    .args = unbatch_options,
    .args_size = sizeof(unbatch_args),
    .state_size = sizeof(unbatch_state),
    .check = unbatch_check,
    .open = unbatch_open,
    .close = unbatch_close,
    .apply = unbatch_apply,
};
