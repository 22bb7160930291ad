/* SPDX-License-Identifier: Apache-2.0 */
/*
 * zip - the columns of several inputs side by side: record i of each. It ends with the shortest
 * input. A record has the origins of all its parts, one for each input. Batches are joined whole,
 * so they must have the same size in all inputs.
 */
#include "base/alloc.h"
#include "description/columns.h"
#include "registry/combiner.h"
#include "run/input_cursor.h"
#include "tensor/encoded.h"

#include <stdio.h>

typedef struct zip_args {
    int8_t none;
} zip_args;

typedef struct zip_state {
    const levada_context *context;
    levada_input *const   *in;
    int32_t               n;
    bool                  batched;
    levada_cursor        *cursors; /* n of them */
    levada_spec          *spec;    /* of the last block, where the declared one is open */
    levada_block        **parts;   /* scratch: n of them */
} zip_state;

static const levada_arg zip_options[] = { LEVADA_ARG_END };

static levada_status zip_fields(const levada_spec *const *in, int32_t n, int32_t flags,
                                levada_spec **out, levada_error *err)
{
    levada_field *fields;
    int32_t       count = 0, k = 0;
    levada_status st;

    for (int32_t i = 0; i < n; i++) count += levada_spec_count(in[i]);
    fields = levada_alloc((size_t)count * sizeof *fields + 1);
    if (!fields) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a spec");
    for (int32_t i = 0; i < n; i++) {
        for (int32_t c = 0; c < levada_spec_count(in[i]); c++) {
            fields[k++] = *levada_spec_field(in[i], c);
        }
    }
    st = levada_spec_create(fields, count, flags, out, err);
    levada_free(fields);
    return st;
}

static levada_status zip_check(const void *args, const levada_spec *const *in, int32_t nin,
                               levada_spec **out, levada_error *err)
{
    int32_t flags = 0;

    (void)args;
    LEVADA_TRY(levada_spec_want_alike(in, nin, &flags, err));
    return zip_fields(in, nin, flags, out, err);
}

static levada_status zip_open(void *state, const void *args, const levada_context *context,
                              levada_input *const *in, int32_t nin, levada_error *err)
{
    zip_state *s = state;

    (void)args;
    s->context = context;
    s->in = in;
    s->n = nin;
    s->batched = levada_spec_flags_of(context->out) & LEVADA_SPEC_BATCHED;
    s->cursors = levada_alloc_zero((size_t)nin * sizeof *s->cursors);
    s->parts = levada_alloc_zero((size_t)nin * sizeof(*s->parts));
    return s->cursors && s->parts
               ? LEVADA_OK
               : levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a stage");
}

static void zip_close(void *state)
{
    zip_state *s = state;

    for (int32_t i = 0; s->cursors && i < s->n; i++) levada_cursor_clear(&s->cursors[i]);
    levada_spec_unref(&s->spec);
    levada_free(s->cursors);
    levada_free(s->parts);
}

/* Fills records that all inputs have ready. */
static levada_status zip_fill(zip_state *s, int64_t *out, levada_error *err)
{
    int64_t n = INT64_MAX;

    for (int32_t i = 0; i < s->n; i++) {
        levada_cursor *c = &s->cursors[i];
        int64_t        left;

        LEVADA_TRY(levada_cursor_fill(c, s->in[i], err));
        left = c->block->n - c->row;
        if (s->batched && i > 0 && left != n) {
            return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                               "input %d emits a batch of size %lld, but input 0 a batch of size "
                               "%lld",
                               (int)i, (long long)left, (long long)n);
        }
        if (left < n) n = left;
    }
    *out = n;
    return LEVADA_OK;
}

/* Makes the spec of what the parts make; the declared one unless that is open. */
static levada_status zip_spec(zip_state *s, levada_block *const *parts, const levada_spec **out,
                              levada_error *err)
{
    const levada_spec **in;
    levada_spec        *made = NULL;
    int32_t             flags = levada_spec_flags_of(s->context->out) & ~LEVADA_SPEC_OPEN;
    levada_status       st;

    *out = s->context->out;
    if (flags == levada_spec_flags_of(s->context->out)) return LEVADA_OK;
    in = levada_alloc((size_t)s->n * sizeof(*in));
    if (!in) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a spec");
    for (int32_t i = 0; i < s->n; i++) in[i] = parts[i]->spec;
    st = zip_fields(in, s->n, flags, &made, err);
    levada_free(in);
    LEVADA_TRY(st);
    if (s->spec && levada_spec_equal(s->spec, made)) {
        levada_spec_unref(&made);
    } else {
        levada_spec_unref(&s->spec);
        s->spec = made;
    }
    *out = s->spec;
    return LEVADA_OK;
}

/* Builds one block of equally many rows of each input. */
static levada_status zip_build(zip_state *s, levada_block *const *parts, levada_block **out,
                               levada_error *err)
{
    levada_pool       *pool = levada_env_pool(s->context->env);
    const levada_spec *spec = NULL;
    levada_builder    *b = NULL;
    levada_block      *made = NULL;
    int32_t            k = 0;
    levada_status      st;

    LEVADA_TRY(zip_spec(s, parts, &spec, err));
    LEVADA_TRY(levada_builder_make(pool, spec, parts[0]->n, &b, err));
    for (int32_t i = 0; i < s->n; i++) {
        for (int32_t c = 0; c < levada_spec_count(parts[i]->spec); c++) {
            levada_builder_share(b, k++, &parts[i]->columns[c]);
        }
    }
    st = levada_builder_publish(&b, &made, err);
    if (st == LEVADA_OK) st = levada_block_copy_origins(pool, made, parts[0], err);
    for (int32_t i = 1; st == LEVADA_OK && i < s->n; i++) {
        levada_block_join_origins(made, parts[i]);
    }
    if (st == LEVADA_OK) {
        for (int32_t i = 0; i < s->n; i++) made->bytes += parts[i]->bytes;
        *out = made;
        made = NULL;
    }
    levada_block_unref(&made);
    return st;
}

/* Takes the next n records of input i, with columns of their own. The cursor does not move yet. */
static levada_status zip_part(zip_state *s, int32_t i, int64_t n, levada_error *err)
{
    levada_cursor *c = &s->cursors[i];
    levada_block  *slice = NULL;
    levada_status  st;

    LEVADA_TRY(levada_block_slice(NULL, c->block, c->row, n, &slice, err));
    st = levada_block_compact(levada_env_pool(s->context->env), slice, &s->parts[i], err);
    levada_block_unref(&slice);
    return st;
}

static levada_status zip_next(void *state, const void *args, levada_block **out, levada_error *err)
{
    zip_state    *s = state;
    int64_t       n = 0;
    levada_status st = LEVADA_OK;

    (void)args;
    LEVADA_TRY(zip_fill(s, &n, err));
    for (int32_t i = 0; st == LEVADA_OK && i < s->n; i++) st = zip_part(s, i, n, err);
    if (st == LEVADA_OK) st = zip_build(s, s->parts, out, err);
    for (int32_t i = 0; i < s->n; i++) {
        levada_cursor *c = &s->cursors[i];

        levada_block_unref(&s->parts[i]);
        if (st == LEVADA_OK) c->row += n;
        if (c->row == c->block->n) levada_cursor_clear(c);
    }
    return st;
}

static levada_status zip_join(void *state, const void *args, levada_block *const *parts,
                              levada_block **out, levada_error *err)
{
    (void)args;
    return zip_build(state, parts, out, err);
}

static levada_status zip_save(const void *state, levada_state_writer *to, levada_error *err)
{
    const zip_state *s = state;
    char             key[24];

    for (int32_t i = 0; i < s->n; i++) {
        snprintf(key, sizeof key, "rest%d", (int)i);
        LEVADA_TRY(levada_input_cursor_save(&s->cursors[i], s->in[i], to, key, err));
    }
    return LEVADA_OK;
}

static levada_status zip_restore(void *state, levada_state_reader *from, levada_error *err)
{
    zip_state *s = state;
    char       key[24];

    for (int32_t i = 0; i < s->n; i++) {
        snprintf(key, sizeof key, "rest%d", (int)i);
        LEVADA_TRY(levada_input_cursor_restore(&s->cursors[i], s->in[i], from, key, err));
    }
    return LEVADA_OK;
}

const levada_combiner_def levada_combiner_zip = {
    .struct_size = sizeof(levada_combiner_def),
    .name = "zip",
    .doc = "joins the columns of several inputs, record by record",
    .example = "zip(range:10; range:7,start=100 | rename:{value:x})",
    .traits = LEVADA_TRAITS(.rows = LEVADA_ROWS_ONE_TO_ONE, .reads = LEVADA_READS_NONE),
    .late = LEVADA_LATE_PASS,
    .args = zip_options,
    .args_size = sizeof(zip_args),
    .state_size = sizeof(zip_state),
    .state_version = 1,
    .min_inputs = 1,
    .max_inputs = -1,
    .check = zip_check,
    .open = zip_open,
    .close = zip_close,
    .next = zip_next,
    .join = zip_join,
    .save = zip_save,
    .restore = zip_restore,
};
