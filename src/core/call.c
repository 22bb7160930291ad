/* SPDX-License-Identifier: Apache-2.0 */
#include "core/call.h"

#include "base/alloc.h"
#include "core/columns.h"
#include "core/env_priv.h"
#include "core/iter_priv.h"

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
    if (st < 0 && call->def->name) levada_error_wrap(err, "%s", call->def->name);
    return st;
}

static void call_origin(const levada_call *call, levada_origin origin, levada_text *text)
{
    const char *file = levada_run_file(call->of, origin.leaf, origin.shard);

    if (file) levada_text_put(text, file);
    else levada_text_format(text, "%d.%d", (int)origin.leaf, (int)origin.shard);
    levada_text_format(text, ":%lld", (long long)origin.record);
    if (origin.sub) levada_text_format(text, ".%d", (int)origin.sub);
}

/* "a.txt:3", or of a record that a zip made "a.txt:3 + b.txt:7". */
static void call_key(const levada_call *call, const levada_block *in, int64_t row, int32_t lanes,
                     levada_text *text)
{
    call_origin(call, levada_block_origin(in, row), text);
    for (int32_t i = 1; i < lanes; i++) {
        levada_origin origin = levada_block_lane(in, row, i);

        if (origin.leaf < 0) continue;
        levada_text_put(text, " + ");
        call_origin(call, origin, text);
    }
    levada_text_char(text, '\0');
}

static levada_status call_tell_keys(const levada_call *call, const levada_block *in,
                                    levada_error *err)
{
    int32_t       lanes = levada_block_lanes(in);
    levada_text   text = {0};
    size_t        size;
    char         *keys = NULL;
    levada_status st;

    for (int64_t i = 0; i < in->n; i++) call_key(call, in, i, lanes, &text);
    size = text.size;
    LEVADA_TRY(levada_text_steal(&text, &keys, err));
    st = call->def->keys(call->run, keys, size, err);
    levada_free(keys);
    return st;
}

levada_status levada_call_block(const levada_call *call, const levada_block *in,
                                levada_block **out, levada_error *err)
{
    levada_block *flat = NULL;
    levada_status st;

    if (in) LEVADA_TRY(levada_block_gather(call->pool, in, &flat, err));
    *out = NULL;
    st = flat && call->def->keys ? call_tell_keys(call, flat, err) : LEVADA_OK;
    if (st == LEVADA_OK) st = call->def->call(call->run, flat, out, err);
    if (st == LEVADA_OK && !*out) st = levada_fail(err, LEVADA_EINTERNAL, "it gave no block");
    if (st == LEVADA_OK && (*out)->kind == LEVADA_BLOCK_SELECTION) {
        levada_block *picked = *out;

        *out = NULL;
        st = levada_block_gather(call->pool, picked, out, err);
        levada_block_unref(&picked);
    }
    levada_block_unref(&flat);
    return call_named(call, st, err);
}

/* What a function gives may be held elsewhere, or be its input: origins go into a block of ours. */
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
    levada_block *made = NULL;
    levada_status st;

    LEVADA_TRY(levada_call_block(call, in, &made, err));
    st = spec ? levada_spec_fits(spec, made->spec, err) : LEVADA_OK;
    if (st == LEVADA_OK && made->n != in->n) {
        st = levada_fail(err, LEVADA_EINVALID_ARGUMENT, "%lld records in, %lld out",
                         (long long)in->n, (long long)made->n);
    }
    if (st == LEVADA_OK) st = call_own(call, in, &made, err);
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
