/* SPDX-License-Identifier: Apache-2.0 */
#include "run/call.h"

#include "base/alloc.h"
#include "description/columns.h"
#include "option/value_priv.h"
#include "registry/env_priv.h"
#include "run/run.h"
#include "tensor/builder_priv.h"

#include <string.h>

/* Marks the lengths of a field in the spec of a batch if its first dimension is open, or if the
 * field of that name had lengths before. */
static levada_status call_mark_padded(const levada_spec *declared, const levada_spec *in,
                                      levada_spec **out, levada_error *err)
{
    levada_field *fields = levada_spec_copy_fields(declared);
    levada_status st;

    if (!fields) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a spec");
    for (int32_t i = 0; i < levada_spec_count(declared); i++) {
        levada_field       *f = &fields[i];
        int32_t             at = levada_spec_find(in, f->name);
        const levada_field *before = at >= 0 ? levada_spec_field(in, at) : NULL;
        bool                had = before && before->padded;

        if (f->depth == 0 && f->ndim > 0) f->padded = f->dims[0] < 0 || had;
        f->left = f->padded && had && before->left;
        if (f->padded && had && f->dtype == before->dtype)
            memcpy(f->pad, before->pad, sizeof f->pad);
    }
    st = levada_spec_create(fields, levada_spec_count(declared), levada_spec_flags_of(declared),
                            out, err);
    levada_free(fields);
    return st;
}

levada_status levada_call_spec(const levada_function *function, const levada_value *spec,
                               const levada_spec *in, levada_spec **out, levada_error *err)
{
    int32_t       batched = levada_spec_flags_of(in) & LEVADA_SPEC_BATCHED;
    levada_spec  *declared = NULL;
    levada_status st;

    if (batched && levada_function_info(function)->per_record) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "the function receives single records, but the input has batches; call "
                           "unbatch() first, or pass batched=True and a function of batches");
    }
    if (!spec) return levada_spec_create(NULL, 0, batched | LEVADA_SPEC_OPEN, out, err);
    LEVADA_TRY(levada_spec_read(spec, batched, &declared, err));
    if (!batched) {
        *out = declared;
        return LEVADA_OK;
    }
    st = call_mark_padded(declared, in, out, err);
    levada_spec_unref(&declared);
    return st;
}

levada_status levada_call_open(levada_call *call, const levada_function *function,
                               const levada_context *context, levada_error *err)
{
    const levada_function_def *def = levada_function_info(function);
    void                      *user = levada_function_user(function);

    call->run = user;
    if (def->open) LEVADA_TRY(def->open(user, &call->run, err));
    if (def->begin) def->begin(call->run, context->seed, context->epoch);
    call->def = def;
    call->pool = levada_env_pool(context->env);
    call->of = context->run;
    return LEVADA_OK;
}

void levada_call_cancel(const levada_call *call)
{
    if (call->def && call->def->cancel) call->def->cancel(call->run);
}

void levada_call_close(levada_call *call)
{
    if (call->def && call->def->close) call->def->close(call->run);
    call->def = NULL;
}

static levada_status call_named(const levada_call *call, levada_status st, levada_error *err)
{
    const char *name = call->def->name;

    if (st < 0 && name) levada_error_wrap(err, "%.*s", levada_function_name_shown(name), name);
    return st;
}

static void call_origin(const levada_call *call, levada_origin origin, levada_text *text)
{
    const char *file = levada_run_file(call->of, origin.source, origin.shard);

    if (file) levada_text_put(text, file);
    else levada_text_format(text, "%d.%d", (int)origin.source, (int)origin.shard);
    levada_text_format(text, ":%lld", (long long)origin.record);
    if (origin.sub) levada_text_format(text, ".%d", (int)origin.sub);
}

/* Writes the key of a record: "a.txt:3", or "a.txt:3 + b.txt:7" if a zip made it. */
static void call_key(const levada_call *call, const levada_block *in, int64_t row, int32_t nparts,
                     levada_text *text)
{
    call_origin(call, levada_block_origin(in, row), text);
    for (int32_t i = 1; i < nparts; i++) {
        levada_origin origin = levada_block_origin_part(in, row, i);

        if (origin.source < 0) continue;
        levada_text_put(text, " + ");
        call_origin(call, origin, text);
    }
    levada_text_char(text, '\0');
}

static levada_status call_tell_keys(const levada_call *call, const levada_block *in,
                                    levada_error *err)
{
    int32_t       nparts = levada_block_origin_parts(in);
    levada_text   text = {0};
    size_t        size;
    char         *keys = NULL;
    levada_status st;

    for (int64_t i = 0; i < in->n; i++) call_key(call, in, i, nparts, &text);
    size = text.size;
    LEVADA_TRY(levada_text_steal(&text, &keys, err));
    st = call->def->keys(call->run, keys, size, err);
    levada_free(keys);
    return st;
}

/* Replaces the number of a row by the location of its record. */
static void call_place(const levada_call *call, const levada_block *in, levada_error *err)
{
    int64_t row = err->record;

    if (!in || err->file[0] || row < 0 || row >= in->n) return;
    err->record = -1;
    levada_run_place(call->of, NULL, in, row, err);
}

levada_status levada_call_block(const levada_call *call, const levada_block *in,
                                levada_block **out, levada_error *err)
{
    levada_block *flat = NULL;
    levada_status st;

    if (in) LEVADA_TRY(levada_block_gather(call->pool, in, &flat, err));
    *out = NULL;
    st = flat && call->def->keys ? call_tell_keys(call, flat, err) : LEVADA_OK;
    if (st == LEVADA_OK) {
        st = call->def->call(call->run, flat, out, err);
        if (st < 0) call_place(call, flat, err);
    }
    if (st == LEVADA_OK && !*out) st = levada_fail(err, LEVADA_EINTERNAL,
                                                   "internal error: the function returned no "
                                                   "block; please report it");
    if (st == LEVADA_OK && (*out)->kind == LEVADA_BLOCK_SELECTION) {
        levada_block *picked = *out;

        *out = NULL;
        st = levada_block_gather(call->pool, picked, out, err);
        levada_block_unref(&picked);
    }
    levada_block_unref(&flat);
    return call_named(call, st, err);
}

/* -- lengths of padded fields */

/* Returns the column of `in` whose lengths column `c` of the result keeps, or NULL. */
static const levada_column *call_padded(const levada_block *in, const levada_column *c)
{
    const levada_column *before;

    if (c->field->depth || c->field->ndim == 0 || c->field->padded) return NULL;
    before = levada_block_column(in, c->field->name);
    return before && before->field->padded && before->lengths ? before : NULL;
}

/* Leaves inner dimensions of f open that were padded before: their lengths are not known. */
static void call_keep_open(levada_field *f, const levada_field *before)
{
    for (int32_t d = 1; d < f->ndim && d < before->ndim; d++)
        if (before->dims[d] < 0) f->dims[d] = -1;
}

/* Finds the fields that get lengths: those that had lengths before, and those whose spec says so.
 * */
static levada_status call_find_padded(const levada_block *in, const levada_block *made,
                                      const levada_spec *spec, levada_field *fields, bool *any,
                                      levada_error *err)
{
    for (int32_t i = 0; i < levada_spec_count(made->spec); i++) {
        const levada_column *c = &made->columns[i], *before = call_padded(in, c);
        int32_t              at = spec ? levada_spec_find(spec, c->field->name) : -1;

        if (before && before->dims[0] != c->dims[0]) {
            return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                               "padded field '%s' had %lld steps and was returned with %lld; "
                               "return it with its lengths, or under another name",
                               c->field->name, (long long)before->dims[0], (long long)c->dims[0]);
        }
        if (before && before->field->dtype == c->field->dtype)
            memcpy(fields[i].pad, before->field->pad, sizeof fields[i].pad);
        if (c->field->depth == 0 && c->field->ndim > 0 && !c->field->padded)
            fields[i].padded = before || (at >= 0 && levada_spec_field(spec, at)->padded);
        if (before) {
            fields[i].left = before->field->left;
            memcpy(fields[i].object, before->field->object, sizeof fields[i].object);
            call_keep_open(&fields[i], before->field);
        } else if (at >= 0 && fields[i].padded) {
            fields[i].left = levada_spec_field(spec, at)->left;
        }
        *any = *any || fields[i].padded != c->field->padded || fields[i].left != c->field->left;
    }
    return LEVADA_OK;
}

/* Fills the lengths of the fields of `made` that are padded and have none: those before, or all
 * steps. */
static levada_status call_fill_lengths(levada_builder *b, const levada_block *in,
                                       const levada_block *made, levada_error *err)
{
    for (int32_t i = 0; i < levada_spec_count(made->spec); i++) {
        const levada_column *c = &made->columns[i], *before = call_padded(in, c);
        int32_t             *lengths = NULL;

        levada_builder_share(b, i, c);
        if (c->field->padded || !levada_spec_field(b->block->spec, i)->padded) continue;
        LEVADA_TRY(levada_builder_lengths(b, i, &lengths, err));
        for (int64_t r = 0; r < made->n; r++)
            lengths[r] = before ? before->lengths[r] : (int32_t)c->dims[0];
    }
    return LEVADA_OK;
}

static levada_status call_with_lengths(const levada_call *call, const levada_block *in,
                                       levada_block **made, const levada_field *fields,
                                       levada_error *err)
{
    const levada_block *from = *made;
    levada_spec        *spec = NULL;
    levada_builder     *b = NULL;
    levada_block       *own = NULL;
    levada_status       st;

    LEVADA_TRY(levada_spec_create(fields, levada_spec_count(from->spec),
                                  levada_spec_flags_of(from->spec), &spec, err));
    st = levada_builder_make(call->pool, spec, from->n, &b, err);
    levada_spec_unref(&spec);
    if (st == LEVADA_OK) st = call_fill_lengths(b, in, from, err);
    for (int32_t i = 0; st == LEVADA_OK && i < from->nrejects; i++) {
        st = levada_builder_reject(b, from->rejects[i].row, &from->rejects[i].why, err);
    }
    if (st == LEVADA_OK) st = levada_builder_publish(&b, &own, err);
    levada_builder_destroy(&b);
    if (st != LEVADA_OK) return st;
    own->bytes += from->bytes;
    levada_block_set_layout(own, from->layout);
    levada_block_unref(made);
    *made = own;
    return LEVADA_OK;
}

/* Keeps the lengths of a result that came back as it was padded. */
static levada_status call_keep_lengths(const levada_call *call, const levada_block *in,
                                       const levada_spec *spec, levada_block **made,
                                       levada_error *err)
{
    levada_field *fields = levada_spec_copy_fields((*made)->spec);
    bool          any = false;
    levada_status st;

    if (!fields) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a spec");
    st = call_find_padded(in, *made, spec, fields, &any, err);
    if (st == LEVADA_OK && any) st = call_with_lengths(call, in, made, fields, err);
    levada_free(fields);
    return st;
}

/* Puts origins into a block of our own, because the result of a function may be held elsewhere, or
 * be its input. */
static levada_status call_own(const levada_call *call, const levada_block *in, levada_block **made,
                              levada_error *err)
{
    levada_block *own = NULL;

    if (!levada_block_exclusive(*made)) {
        LEVADA_TRY(levada_columns_pick(call->pool, *made, (*made)->spec, NULL, &own, err));
        levada_block_unref(made);
        *made = own;
    }
    return levada_block_copy_origins(call->pool, *made, in, err);
}

levada_status levada_call_rows(const levada_call *call, const levada_block *in,
                               const levada_spec *spec, levada_block **out, levada_error *err)
{
    levada_block *flat = NULL, *made = NULL;
    levada_status st;

    LEVADA_TRY(levada_block_gather(call->pool, in, &flat, err));
    st = levada_call_block(call, flat, &made, err);
    if (st != LEVADA_OK) {
        levada_block_unref(&flat);
        return st;
    }
    if (made->n != in->n) {
        st = levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                         "the function must return %lld records, got %lld",
                         (long long)in->n, (long long)made->n);
    }
    if (st == LEVADA_OK) st = call_keep_lengths(call, flat, spec, &made, err);
    if (st == LEVADA_OK && spec) st = levada_spec_fits(spec, made->spec, err);
    if (st == LEVADA_OK) st = call_own(call, in, &made, err);
    levada_block_unref(&flat);
    if (st == LEVADA_OK) {
        *out = made;
        made = NULL;
    }
    levada_block_unref(&made);
    return call_named(call, st, err);
}

levada_status levada_call_save(const levada_call *call, levada_state_writer *to, levada_error *err)
{
    return call->def->save ? call_named(call, call->def->save(call->run, to, err), err) : LEVADA_OK;
}

levada_status levada_call_restore(const levada_call *call, levada_state_reader *from,
                                  levada_error *err)
{
    return call->def->restore ? call_named(call, call->def->restore(call->run, from, err), err)
                              : LEVADA_OK;
}
