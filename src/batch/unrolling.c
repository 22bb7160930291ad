/* SPDX-License-Identifier: Apache-2.0 */
#include "batch/unrolling.h"

#include "base/alloc.h"
#include "batch/length.h"
#include "batch/padding.h"
#include "description/columns.h"
#include "tensor/segments.h"
#include "tensor/tensor_priv.h"

#include <stdio.h>
#include <string.h>

#define UNROLLING_NAME 256

static bool unrolling_names(const levada_texts *texts, const char *name)
{
    for (int64_t i = 0; i < texts->n; i++) {
        if (strcmp(texts->at[i], name) == 0) return true;
    }
    return false;
}

static bool unrolling_is(const char *option, const char *name)
{
    return option && strcmp(option, name) == 0;
}

static bool unrolling_is_state(const levada_unrolling *u, const levada_field *f)
{
    return u->states && levada_spec_find(u->states, f->name) >= 0;
}

static bool unrolling_sequence(const levada_unrolling *u, const levada_field *f)
{
    if (unrolling_is_state(u, f)) return false;
    return u->sequences.n ? unrolling_names(&u->sequences, f->name) : f->depth > 0;
}

levada_unroll_part levada_unrolling_part(const levada_unrolling *u, const levada_field *f)
{
    if (unrolling_is_state(u, f)) return LEVADA_UNROLL_NOTHING;
    if (unrolling_sequence(u, f)) {
        bool target = u->shift && (!u->targets.n || unrolling_names(&u->targets, f->name));

        return target ? LEVADA_UNROLL_TARGETS : LEVADA_UNROLL_STEPS;
    }
    if (u->context.n ? unrolling_names(&u->context, f->name)
                     : !unrolling_is(u->key, f->name) && !unrolling_is(u->length, f->name)) {
        return LEVADA_UNROLL_CONTEXT;
    }
    return LEVADA_UNROLL_NOTHING;
}

/* -- columns */

/* Checks a field that has the first value of a state. */
static levada_status unrolling_check_state(const levada_unrolling *u, const levada_field *f,
                                           levada_error *err)
{
    const levada_field *state = levada_spec_field(u->states, levada_spec_find(u->states, f->name));
    char a[LEVADA_FIELD_SHOWN], b[LEVADA_FIELD_SHOWN];
    bool same = f->dtype == state->dtype && f->depth <= 1 && f->depth + f->ndim == state->ndim;

    for (int32_t d = 0; same && d < f->ndim; d++) {
        same = f->dims[d] < 0 || f->dims[d] == state->dims[f->depth + d];
    }
    if (same && !unrolling_names(&u->sequences, f->name)) return LEVADA_OK;
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                       "field '%s' is %s, but the state of this name is %s; rename one of them",
                       f->name, levada_field_shown(f, a), levada_field_shown(state, b));
}

static levada_status unrolling_check_field(const levada_unrolling *u, const levada_field *f,
                                           levada_error *err)
{
    if (unrolling_is_state(u, f)) return unrolling_check_state(u, f, err);
    if (unrolling_sequence(u, f)) {
        if (f->depth == 1 ? f->ndim < LEVADA_MAX_DIMS : f->depth > 1 || f->ndim > 0) {
            return LEVADA_OK;
        }
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           f->depth ? "field '%s' has too many dimensions for a sequence; reshape "
                                      "it"
                                    : "field '%s' has no steps: it is not ragged; omit it from "
                                      "sequences=",
                           f->name);
    }
    return LEVADA_OK;
}

static levada_status unrolling_check_names(const levada_spec *in, const levada_texts *texts,
                                           levada_error *err)
{
    for (int64_t i = 0; i < texts->n; i++) {
        int32_t at = -1;

        LEVADA_TRY(levada_spec_require(in, texts->at[i], &at, err));
    }
    return LEVADA_OK;
}

static levada_status unrolling_check_key(const levada_unrolling *u, const levada_spec *in,
                                         levada_error *err)
{
    char shown[LEVADA_FIELD_SHOWN];
    const levada_field *f;
    int32_t i = -1;

    if (!u->key) return LEVADA_OK;
    LEVADA_TRY(levada_spec_require(in, u->key, &i, err));
    f = levada_spec_field(in, i);
    if (!f || (f->depth == 0 && f->ndim == 0)) return LEVADA_OK;
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                       "key='%s' must be one value per record, a number or a byte string; got %s",
                       u->key, levada_field_shown(f, shown));
}

static levada_status unrolling_check_length(const levada_unrolling *u, const levada_spec *in,
                                            levada_error *err)
{
    char shown[LEVADA_FIELD_SHOWN];
    const levada_field *f;
    int32_t i = -1;

    if (!u->length) return LEVADA_OK;
    LEVADA_TRY(levada_spec_require(in, u->length, &i, err));
    f = levada_spec_field(in, i);
    if (!f || (f->depth == 0 && f->ndim == 0 && f->dtype >= LEVADA_INT8 &&
               f->dtype <= LEVADA_UINT64)) {
        return LEVADA_OK;
    }
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                       "length='%s' must be one integer per record, its number of steps; got %s",
                       u->length, levada_field_shown(f, shown));
}

static levada_status unrolling_check(const levada_unrolling *u, const levada_spec *in,
                                     levada_error *err)
{
    bool any = levada_spec_flags_of(in) & LEVADA_SPEC_OPEN;

    LEVADA_TRY(levada_spec_want_records(in, err));
    LEVADA_TRY(unrolling_check_names(in, &u->sequences, err));
    LEVADA_TRY(unrolling_check_names(in, &u->context, err));
    LEVADA_TRY(unrolling_check_names(in, &u->targets, err));
    LEVADA_TRY(unrolling_check_key(u, in, err));
    LEVADA_TRY(unrolling_check_length(u, in, err));
    for (int32_t i = 0; i < levada_spec_count(in); i++) {
        LEVADA_TRY(unrolling_check_field(u, levada_spec_field(in, i), err));
        any = any || unrolling_sequence(u, levada_spec_field(in, i));
    }
    for (int64_t i = 0; i < u->targets.n; i++) {
        const levada_field *f = levada_spec_field(in, levada_spec_find(in, u->targets.at[i]));

        if (!f || unrolling_sequence(u, f)) continue;
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "target '%s' is not one of the sequences", f->name);
    }
    if (any) return LEVADA_OK;
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                       "no field is a ragged sequence; set sequences= to the fields to cut");
}

/* Returns the field that the steps of a sequence become: [width, ...], or ragged where the steps
 * are. */
static levada_field unrolling_field(const levada_unrolling *u, const levada_field *from,
                                    const char *name)
{
    levada_field f = *from;

    f.name = name;
    f.padded = f.depth < 2;
    memset(f.pad, 0, sizeof f.pad);
    if (f.depth > 1) return f;
    if (from->depth) {
        memmove(f.dims + 1, f.dims, from->ndim * sizeof f.dims[0]);
        f.ndim = (uint8_t)(from->ndim + 1);
        f.depth = 0;
    }
    f.dims[0] = u->width;
    return f;
}

static int32_t unrolling_own_ready(const levada_unrolling *u, levada_field *to)
{
    const levada_field own[] = {
        { .name = "key", .dtype = LEVADA_BYTES },
        { .name = "next_key", .dtype = LEVADA_BYTES },
        { .name = "is_first", .dtype = LEVADA_BOOL },
        { .name = "is_last", .dtype = LEVADA_BOOL },
        { .name = "sequence", .dtype = LEVADA_INT32 },
        { .name = "sequence_count", .dtype = LEVADA_INT32 },
        { .name = "length", .dtype = LEVADA_INT32 },
        { .name = "total_length", .dtype = LEVADA_INT32 },
        { .name = "insertion_index", .dtype = LEVADA_INT64 },
        { .name = LEVADA_UNROLL_NUMBER, .dtype = LEVADA_INT64 },
        { .name = "loss_mask", .dtype = LEVADA_BOOL, .ndim = 1, .dims = { u->width } },
    };
    int32_t n = (int32_t)(sizeof own / sizeof own[0]) - (u->overlap ? 0 : 1);

    memcpy(to, own, (size_t)n * sizeof *to);
    for (int32_t i = 0; i < levada_spec_count(u->states); i++) {
        to[n++] = *levada_spec_field(u->states, i);
    }
    return n;
}

/* Returns the columns that say which segment a row is. */
static int32_t unrolling_own(const levada_unrolling *u, const levada_spec *in, levada_field *to)
{
    const levada_field *key = u->key ? levada_spec_field(in, levada_spec_find(in, u->key)) : NULL;
    levada_dtype type = key ? key->dtype : u->key ? LEVADA_NONE
                                                  : LEVADA_INT64;
    const levada_field own[] = {
        { .name = "key", .dtype = type },
        { .name = "is_first", .dtype = LEVADA_BOOL },
        { .name = "is_last", .dtype = LEVADA_BOOL },
        { .name = "is_empty", .dtype = LEVADA_BOOL },
        { .name = "slot", .dtype = LEVADA_INT32 },
        { .name = "segment", .dtype = LEVADA_INT32 },
        { .name = "length", .dtype = LEVADA_INT32 },
        { .name = "loss_mask", .dtype = LEVADA_BOOL, .ndim = 1, .dims = { u->width } },
    };
    int32_t n = (int32_t)(sizeof own / sizeof own[0]) - (u->overlap ? 0 : 1);

    if (u->ready) return unrolling_own_ready(u, to);
    memcpy(to, own, (size_t)n * sizeof *to);
    return n;
}

#define UNROLLING_OWN 11 /* and the states */

static levada_status unrolling_taken(const levada_field *fields, int32_t n, levada_error *err)
{
    for (int32_t i = 1; i < n; i++) {
        for (int32_t k = 0; k < i; k++) {
            if (strcmp(fields[i].name, fields[k].name) != 0) continue;
            return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                               "field '%s' has the name of a column that unroll adds; rename it "
                               "first",
                               fields[k].name);
        }
    }
    return LEVADA_OK;
}

const levada_value *levada_unrolling_padding(const levada_unrolling *u, const char *column,
                                             const char *from)
{
    const levada_value *v = u->padding;

    if (!v || levada_value_kind_of(v) != LEVADA_VALUE_MAP) return v;
    v = levada_value_get(u->padding, column);
    return v ? v : levada_value_get(u->padding, from);
}

/* Sets the padding of the column that the steps of field `from` become. */
static levada_status unrolling_pad(const levada_unrolling *u, const char *from, levada_field *f,
                                   levada_error *err)
{
    const levada_value *v = levada_unrolling_padding(u, f->name, from);
    levada_padding how = { 0 };

    if (!v || !f->padded || levada_value_kind_of(v) == LEVADA_VALUE_NULL) return LEVADA_OK;
    LEVADA_TRY(levada_padding_value(v, f, &how, err));
    memcpy(f->pad, how.value, sizeof f->pad);
    return LEVADA_OK;
}

/* Checks that each name in padding_values is that of steps that are padded. */
static levada_status unrolling_check_padding(const levada_unrolling *u, const levada_spec *in,
                                             const levada_field *fields, int32_t n,
                                             levada_error *err)
{
    if (!u->padding || levada_value_kind_of(u->padding) != LEVADA_VALUE_MAP) return LEVADA_OK;
    if (levada_spec_flags_of(in) & LEVADA_SPEC_OPEN) return LEVADA_OK;
    for (int64_t k = 0; k < levada_value_count(u->padding); k++) {
        const char *name = levada_value_key(u->padding, k);
        bool found = false;

        for (int32_t i = 0; i < n && !found; i++) {
            found = fields[i].padded && strcmp(fields[i].name, name) == 0;
        }
        if (found) continue;
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "padding_values has '%s', which is not a padded sequence; remove the "
                           "entry", name);
    }
    return LEVADA_OK;
}

/* Writes the columns of a batch to `fields`; *n of them. */
static levada_status unrolling_fields(const levada_unrolling *u, const levada_spec *in,
                                      levada_field *fields, char (*names)[UNROLLING_NAME],
                                      int32_t *count, levada_error *err)
{
    int32_t n = 0;

    for (int32_t i = 0; i < levada_spec_count(in); i++) {
        const levada_field *f = levada_spec_field(in, i);
        levada_unroll_part part = levada_unrolling_part(u, f);

        if (part == LEVADA_UNROLL_NOTHING) continue;
        fields[n] = part == LEVADA_UNROLL_CONTEXT ? *f : unrolling_field(u, f, f->name);
        if (part != LEVADA_UNROLL_CONTEXT) LEVADA_TRY(unrolling_pad(u, f->name, &fields[n], err));
        n++;
        if (part != LEVADA_UNROLL_TARGETS) continue;
        snprintf(names[i], UNROLLING_NAME, "%s_target", f->name);
        fields[n] = unrolling_field(u, f, names[i]);
        LEVADA_TRY(unrolling_pad(u, f->name, &fields[n++], err));
    }
    LEVADA_TRY(unrolling_check_padding(u, in, fields, n, err));
    *count = n + unrolling_own(u, in, fields + n);
    return unrolling_taken(fields, *count, err);
}

levada_status levada_unrolling_spec(const levada_unrolling *u, const levada_spec *in,
                                    levada_spec **out, levada_error *err)
{
    int32_t n = levada_spec_count(in);
    levada_field *fields;
    char (*names)[UNROLLING_NAME];
    levada_status st = LEVADA_OK;

    LEVADA_TRY(unrolling_check(u, in, err));
    fields = levada_alloc_zero(((size_t)n * 2 + UNROLLING_OWN +
                                (size_t)(u->states ? levada_spec_count(u->states) : 0)) *
                               sizeof *fields);
    names = levada_alloc((size_t)n * sizeof *names + 1);
    if (!fields || !names) {
        st = levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a spec");
    }
    if (st == LEVADA_OK) st = unrolling_fields(u, in, fields, names, &n, err);
    if (st == LEVADA_OK) {
        st = levada_spec_create(fields, n, levada_spec_flags_of(in) | LEVADA_SPEC_BATCHED, out,
                                err);
    }
    levada_free(names);
    levada_free(fields);
    return st;
}

/* -- steps */

static int64_t unrolling_steps_of(const levada_column *c, int64_t row)
{
    if (c->field->depth == 0) return c->lengths ? c->lengths[row] : c->dims[0];
    return (int64_t)c->level[0].end[row] - c->level[0].begin[row];
}

/* Checks the length field of a record whose sequences have that many steps. */
static levada_status unrolling_declared(const levada_unrolling *u, const levada_block *data,
                                        int64_t row, int64_t *steps, levada_error *err)
{
    int32_t i = levada_spec_find(data->spec, u->length);
    const levada_column *c = &data->columns[i];
    levada_dtype type = c->field->dtype;
    int64_t length = levada_length_number(type, c->values + row * levada_dtype_size(type));

    if (length < 0 || length > *steps) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "%s=%lld must be from 0 to %lld, the steps of the sequences",
                           u->length, (long long)length, (long long)*steps);
    }
    *steps = length;
    return LEVADA_OK;
}

levada_status levada_unrolling_measure(const levada_unrolling *u, const levada_block *block,
                                       int64_t row, int64_t *steps, levada_error *err)
{
    int64_t at = 0, longest = -1;
    const levada_block *data = levada_block_row(block, row, &at);

    for (int32_t i = 0; i < levada_spec_count(data->spec); i++) {
        const levada_column *c = &data->columns[i];
        int64_t n;

        if (!unrolling_sequence(u, c->field)) continue;
        n = unrolling_steps_of(c, at);
        if (longest >= 0 && n != longest) {
            return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                               "the sequences of a record have different lengths: %lld, and "
                               "'%s' %lld",
                               (long long)longest, c->field->name, (long long)n);
        }
        longest = n;
    }
    if (u->length) LEVADA_TRY(unrolling_declared(u, data, at, &longest, err));
    *steps = longest > u->shift ? longest - u->shift : 0;
    return LEVADA_OK;
}

levada_status levada_unrolling_count(const levada_unrolling *u, int64_t steps, int64_t *segments,
                                     levada_error *err)
{
    int64_t stride = u->width - u->overlap, n = levada_segments_count(steps - u->overlap, stride);
    int64_t last = steps - (n - 1) * stride; /* steps of the last one */

    *segments = n;
    if (steps == 0) {
        if (u->zero_length == LEVADA_UNROLL_SKIP) *segments = 0;
        if (u->zero_length != LEVADA_UNROLL_ERROR) return LEVADA_OK;
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "empty sequence%s; zero_length= can skip it or emit one empty segment",
                           u->shift ? " with a target" : "");
    }
    if (u->whole && last != u->width) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "a sequence must fill its segments of %lld steps, got %lld steps; set "
                           "pad=true to pad it",
                           (long long)u->width, (long long)steps);
    }
    if (last - (n > 1 ? u->overlap : 0) < u->least) *segments = n - 1;
    return LEVADA_OK;
}

void levada_unrolling_place(const levada_unrolling *u, int64_t steps, levada_cut *cut)
{
    cut->begin = cut->segment * (u->width - u->overlap);
    cut->size = steps - cut->begin < u->width ? steps - cut->begin : u->width;
    cut->steps = steps;
}

int64_t levada_unrolling_dropped(const levada_unrolling *u, int64_t steps, int64_t segments)
{
    int64_t covered = segments > 0 ? (segments - 1) * (u->width - u->overlap) + u->width : 0;

    return steps > covered ? steps - covered : 0;
}
