/* SPDX-License-Identifier: Apache-2.0 */
#include "run/fused_priv.h"

#include "base/alloc.h"
#include "base/text.h"
#include "description/columns.h"
#include "registry/env_priv.h"
#include "tensor/builder_priv.h"

levada_status levada_fused_field(const levada_fused_link *l, const levada_block *in, int32_t *out,
                                 levada_error *err)
{
    const levada_decoder_args *core =
        (const void *)((const uint8_t *)l->args + l->op->core_offset);
    const char *name = core->field ? core->field : l->decoder->field;
    int32_t     found = name ? levada_spec_find(in->spec, name) : -1, n = 0;
    const levada_field *field;

    for (int32_t i = 0; found < 0 && !core->field && i < levada_spec_count(in->spec); i++) {
        if (!levada_field_decodable(levada_spec_field(in->spec, i))) continue;
        *out = i;
        n++;
    }
    if (found < 0 && n != 1) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "no column '%s' to decode; field= selects another",
                           name ? name : "record");
    }
    if (found >= 0) *out = found;
    field = levada_spec_field(in->spec, *out);
    return levada_field_decodable(field) ? LEVADA_OK : levada_field_undecodable(field, err);
}

/* Returns the one buffer that keeps all strings alive, if there is one. */
static levada_buffer *fused_decode_owner(const levada_block *in, int32_t field)
{
    levada_buffer *owner = NULL;

    if (in->kind == LEVADA_BLOCK_DATA) return in->columns[field].owner;
    for (int32_t i = 0; i < in->nfrom; i++) {
        levada_buffer *o = in->from[i]->columns[field].owner;

        if (owner && o != owner) return NULL;
        owner = o;
    }
    return owner;
}

enum { FUSED_STEP = 16 }; /* strings that loops take at a time: compilers vectorize these */

/* Lists n strings of `values`. No position is negative, so that zeros extend it to 64 bits. */
static void fused_decode_list(const uint8_t *values, const int32_t *restrict begin,
                              const int32_t *restrict end, int64_t n,
                              const uint8_t **restrict data, int32_t *restrict size)
{
    int64_t i = 0;

    for (; i + FUSED_STEP <= n; i += FUSED_STEP) {
        for (int k = 0; k < FUSED_STEP; k++) data[i + k] = values + (uint32_t)begin[i + k];
        for (int k = 0; k < FUSED_STEP; k++) size[i + k] = end[i + k] - begin[i + k];
    }
    for (; i < n; i++) {
        data[i] = values + begin[i];
        size[i] = end[i] - begin[i];
    }
}

static levada_status fused_decode_strings(const levada_block *in, int32_t field,
                                          levada_strings *out, void **memory, levada_error *err)
{
    size_t          n = (size_t)in->n;
    const uint8_t **data = levada_alloc(n * (sizeof *data + sizeof(int32_t)) + 1);
    int32_t        *size;

    if (!data) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a block");
    size = (int32_t *)(void *)(data + n);
    if (in->kind == LEVADA_BLOCK_DATA) {
        const levada_column *c = &in->columns[field];

        fused_decode_list(c->values, c->level[0].begin, c->level[0].end, in->n, data, size);
    }
    for (int64_t i = 0; in->kind != LEVADA_BLOCK_DATA && i < in->n; i++) {
        int64_t              row;
        const levada_column *c = &levada_block_row(in, i, &row)->columns[field];

        data[i] = c->values + c->level[0].begin[row];
        size[i] = c->level[0].end[row] - c->level[0].begin[row];
    }
    out->data = data;
    out->size = size;
    out->n = in->n;
    out->owner = fused_decode_owner(in, field);
    out->block = in;
    *memory = data;
    return LEVADA_OK;
}

/* Returns the columns of the result. If those of the input were not known when the dataset was
 * made, they follow from the block. */
static levada_status fused_decode_joined(const levada_fused_link *l, const levada_block *in,
                                         int32_t field, levada_spec **out, levada_error *err)
{
    bool rows = l->op->family == LEVADA_FAMILY_FORMAT; /* its only column is to be decoded */

    if (rows || !(levada_spec_flags_of(l->out) & LEVADA_SPEC_OPEN)) {
        *out = levada_spec_ref(l->out);
        return LEVADA_OK;
    }
    return levada_spec_join(in->spec, levada_spec_field(in->spec, field)->name, l->decoded, out,
                            err);
}

/* Merges columns of `decoded` and, by name, those of `in` that stay, in the order of the spec. */
static levada_status fused_decode_merge(levada_pool *pool, const levada_spec *spec,
                                        const levada_block *in, levada_block **decoded,
                                        levada_error *err)
{
    levada_block   *flat = NULL, *made = NULL;
    levada_builder *b = NULL;
    levada_status   st = levada_block_compact(pool, in, &flat, err);

    if (st == LEVADA_OK) st = levada_builder_make(pool, spec, in->n, &b, err);
    for (int32_t i = 0; st == LEVADA_OK && i < levada_spec_count(spec); i++) {
        const char          *name = levada_spec_field(spec, i)->name;
        const levada_column *c = levada_block_column(*decoded, name);

        if (!c) c = levada_block_column(flat, name);
        if (!c) {
            st = levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                             "a record lacks column '%s'; return it in all records", name);
        } else {
            levada_builder_share(b, i, c);
        }
    }
    if (st == LEVADA_OK) st = levada_builder_publish(&b, &made, err);
    if (st == LEVADA_OK) {
        made->bytes = (*decoded)->bytes + flat->bytes;
        made->rejects = (*decoded)->rejects;
        made->nrejects = (*decoded)->nrejects;
        (*decoded)->rejects = NULL;
        (*decoded)->nrejects = 0;
        levada_block_unref(decoded);
        *decoded = made;
    }
    levada_builder_destroy(&b);
    levada_block_unref(&flat);
    return st;
}

levada_status levada_fused_decode(const levada_fused_link *l, int32_t thread,
                                  levada_late_decode late, const levada_block *in,
                                  levada_block **out, levada_error *err)
{
    levada_pool    *pool = levada_env_pool(l->context.env);
    levada_builder *b = NULL;
    levada_spec    *joined = NULL;
    levada_strings  strings;
    void           *memory = NULL;
    int32_t         field = 0;
    bool            alone = false;
    levada_status   st;

    if (l->op->family == LEVADA_FAMILY_DECODER) LEVADA_TRY(levada_fused_field(l, in, &field, err));
    LEVADA_TRY(fused_decode_strings(in, field, &strings, &memory, err));
    st = fused_decode_joined(l, in, field, &joined, err);
    if (st == LEVADA_OK) {
        alone = levada_spec_count(joined) == levada_spec_count(l->decoded);
        st = levada_builder_make(pool, alone ? joined : l->decoded, in->n, &b, err);
    }
    if (st == LEVADA_OK) {
        b->late = late;
        st = l->decoder->decode(levada_fused_state(l, thread), l->args, &strings, b, err);
    }
    if (st == LEVADA_OK) st = levada_builder_check_text(b, err);
    if (st == LEVADA_OK) st = levada_builder_publish(&b, out, err);
    if (st == LEVADA_OK && !alone) {
        st = fused_decode_merge(pool, joined, in, out, err);
        if (st != LEVADA_OK) levada_block_unref(out);
    }
    levada_builder_destroy(&b);
    levada_spec_unref(&joined);
    levada_free(memory);
    return st;
}
