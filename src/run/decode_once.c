/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A decoder as a plain function: no dataset, no iterator, one block.
 */
#include "base/alloc.h"
#include "base/assert.h"
#include "description/dataset_priv.h"
#include "registry/env_priv.h"
#include "tensor/builder_priv.h"
#include "tensor/encoded.h"
#include <levada/binding.h>
#include <levada/example.h>

#include <string.h>

struct levada_decoding {
    levada_env *env;
    const levada_op *op;
    levada_value *given;
    levada_bound bound;
    levada_spec *spec;
    void *state;
    bool opened;
    levada_context context; /* which the state may keep */
};

/* Everything that one call owns. */
typedef struct decode_once {
    levada_buffer *buffer;
    const uint8_t **data;
    int32_t *size;
    int64_t n;
    levada_builder *builder;
} decode_once;

static void decode_once_clear(decode_once *d)
{
    levada_builder_destroy(&d->builder);
    levada_free(d->size);
    levada_free(d->data);
    levada_buffer_unref(&d->buffer);
}

static levada_status decode_once_no_memory(levada_error *err)
{
    return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory while decoding strings");
}

/* Decoders read up to LEVADA_SLACK bytes around a string: a copy provides them. */
static levada_status decode_once_copy(const levada_decoding *use, decode_once *d,
                                      const void *const *strings, const size_t *sizes,
                                      levada_error *err)
{
    int64_t total = 0;
    uint8_t *to;

    d->data = levada_alloc((size_t)d->n * sizeof *d->data + 1);
    d->size = levada_alloc((size_t)d->n * sizeof *d->size + 1);
    if (!d->data || !d->size) return decode_once_no_memory(err);
    for (int64_t i = 0; i < d->n; i++) {
        if (sizes[i] > INT32_MAX) {
            return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED,
                               "string %lld is larger than 2 GiB, the most that a decoder reads",
                               (long long)i);
        }
        total += (int64_t)sizes[i] + LEVADA_SLACK;
    }
    LEVADA_TRY(levada_buffer_create(levada_env_pool(use->env), total, &d->buffer, err));
    to = d->buffer->data;
    for (int64_t i = 0; i < d->n; i++) {
        if (sizes[i] > 0) memcpy(to, strings[i], sizes[i]);
        memset(to + sizes[i], 0, LEVADA_SLACK);
        d->data[i] = to;
        d->size[i] = (int32_t)sizes[i];
        to += sizes[i] + LEVADA_SLACK;
    }
    return LEVADA_OK;
}

static levada_status decode_once_bind(levada_decoding *d, const char *name,
                                      const levada_value *options, levada_error *err)
{
    d->op = levada_registry_find(d->env, name);
    if (!d->op || d->op->family != LEVADA_FAMILY_DECODER) {
        return levada_fail(err, LEVADA_ENOT_FOUND,
                           "unknown decoder '%s'; levada stages lists all decoders", name);
    }
    if (options) {
        d->given = levada_value_copy(options);
        if (!d->given) return decode_once_no_memory(err);
    }
    LEVADA_TRY(levada_op_bind(&(levada_making){.env = d->env}, d->op, d->given, &d->bound, err));
    return d->op->def.decoder.check(d->bound.args, &d->spec, err);
}

static levada_status decode_once_start(levada_decoding *d, levada_error *err)
{
    const levada_decoder_def *def = &d->op->def.decoder;

    d->context = (levada_context){
        .struct_size = sizeof d->context,
        .env = d->env,
        .block_rows = INT32_MAX,
        .threads = 1,
        .max_record_bytes = INT32_MAX,
        .out = d->spec,
    };
    d->state = levada_alloc_aligned(64, def->state_size + 1);
    if (!d->state) return decode_once_no_memory(err);
    memset(d->state, 0, def->state_size);
    if (def->open) LEVADA_TRY(def->open(d->state, d->bound.args, &d->context, err));
    d->opened = true;
    return LEVADA_OK;
}

levada_status levada_decoding_open(levada_env *env, const char *name, const levada_value *options,
                                   levada_decoding **out, levada_error *err)
{
    LEVADA_TRY(levada_require(out != NULL, "out", err));
    LEVADA_TRY(levada_require(name != NULL, "name", err));
    LEVADA_TRY(levada_env_have(env, err));
    levada_decoding *d = levada_alloc(sizeof *d);
    levada_status st = d ? LEVADA_OK : decode_once_no_memory(err);

    if (d) *d = (levada_decoding){ .env = env };
    if (st == LEVADA_OK) st = decode_once_bind(d, name, options, err);
    if (st == LEVADA_OK) st = decode_once_start(d, err);
    if (st == LEVADA_OK) {
        *out = d;
        d = NULL;
    }
    levada_decoding_close(&d);
    return st;
}

void levada_decoding_close(levada_decoding **decoding)
{
    if (!decoding) return;
    levada_decoding *d = *decoding;

    if (!d) return;
    if (d->opened && d->op->def.decoder.close) d->op->def.decoder.close(d->state);
    levada_free(d->state);
    levada_spec_unref(&d->spec);
    levada_bound_clear(&d->bound);
    levada_value_destroy(&d->given);
    levada_free(d);
    *decoding = NULL;
}

const char *levada_block_note(const levada_block *block, int32_t i)
{
    if (!block || i < 0 || i >= block->nrejects) return NULL;
    return block->rejects[i].why.message;
}

/* Returns the reject with the smallest row as the error. */
static levada_status decode_once_rejects(const levada_block *block, levada_error *err)
{
    const levada_reject *first = NULL;

    for (int32_t i = 0; i < block->nrejects; i++) {
        const levada_reject *r = &block->rejects[i];

        if (levada_reject_is_note(r)) continue;
        if (!first || r->row < first->row) first = r;
    }
    if (!first) return LEVADA_OK;
    if (err) *err = first->why;
    levada_error_place(err, NULL, NULL, first->row, -1);
    return first->why.code;
}

/* Decodes the numbers that are still encoded. The block keeps its notes, if it is another one. */
static levada_status decode_once_numbers(const levada_decoding *use, levada_block **block,
                                         levada_error *err)
{
    levada_reject *notes = (*block)->rejects;
    int32_t        n = (*block)->nrejects;
    levada_status  st;

    (*block)->rejects = NULL;
    (*block)->nrejects = 0;
    st = levada_block_decode(levada_env_pool(use->env), block, err);
    (*block)->rejects = notes;
    (*block)->nrejects = n;
    return st;
}

levada_status levada_decoding_run(levada_decoding *decoding, const void *const *strings,
                                  const size_t *sizes, int64_t n, levada_block **out,
                                  levada_error *err)
{
    LEVADA_TRY(levada_require(decoding != NULL, "decoding", err));
    LEVADA_TRY(levada_require(out != NULL, "out", err));
    LEVADA_TRY(levada_require_range(n, 0, INT32_MAX, "n", err));
    const levada_decoder_def *def = &decoding->op->def.decoder;
    decode_once d = { .n = n };
    levada_block *block = NULL;
    levada_status st = decode_once_copy(decoding, &d, strings, sizes, err);

    if (st == LEVADA_OK) {
        st =
            levada_builder_make(levada_env_pool(decoding->env), decoding->spec, n, &d.builder, err);
    }
    if (st == LEVADA_OK) {
        levada_strings in = { d.data, d.size, n, d.buffer, NULL };
        int32_t late = levada_env_late_decode(decoding->env);

        if (late != LEVADA_LATE_DECODE_AUTO) d.builder->late = (levada_late_decode)late;
        st = def->decode(decoding->state, decoding->bound.args, &in, d.builder, err);
    }
    if (st == LEVADA_OK) st = levada_builder_check_text(d.builder, err);
    if (st == LEVADA_OK) st = levada_builder_publish(&d.builder, &block, err);
    if (st == LEVADA_OK) st = decode_once_rejects(block, err);
    if (st == LEVADA_OK) st = decode_once_numbers(decoding, &block, err);
    if (st == LEVADA_OK) {
        *out = block;
        block = NULL;
    }
    levada_block_unref(&block);
    decode_once_clear(&d);
    return st;
}

levada_status levada_decode_strings(levada_env *env, const char *name,
                                    const levada_value *options, const void *const *strings,
                                    const size_t *sizes, int64_t n, levada_block **out,
                                    levada_error *err)
{
    LEVADA_TRY(levada_require(out != NULL, "out", err));
    LEVADA_TRY(levada_require(name != NULL, "name", err));
    LEVADA_TRY(levada_env_have(env, err));
    levada_decoding *d = NULL;
    levada_status st = levada_decoding_open(env, name, options, &d, err);

    if (st == LEVADA_OK) st = levada_decoding_run(d, strings, sizes, n, out, err);
    levada_decoding_close(&d);
    return st;
}
