/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a field is, and whether a tensor is one. Messages keep the words of TensorFlow's where there
 * is such a check.
 */
#include "base/alloc.h"
#include "tensor/finite.h"
#include "tensor/segments.h"
#include "train/state_saver_priv.h"

#include <stdio.h>
#include <string.h>

#define FIELDS_MOST 1024

typedef enum fields_group {
    FIELDS_SEQUENCES,
    FIELDS_CONTEXT,
    FIELDS_STATES
} fields_group;

static const char *const fields_words[] = { "sequence", "context", "state" };

/* -- declarations ------------------------------------------------------------------------------ */

static levada_status fields_check_shape(const levada_saver_field *f, fields_group group,
                                        levada_error *err)
{
    int32_t in_front = f->ragged ? 1 : group == FIELDS_SEQUENCES ? 2 : 1;
    char    text[LEVADA_SHAPE_TEXT];

    if (f->shape.rank < 0) return LEVADA_OK;
    if (f->shape.rank > LEVADA_MAX_DIMS - in_front) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "%s '%s' has %d dimensions; at most %d are possible",
                           fields_words[group], f->name, (int)f->shape.rank,
                           LEVADA_MAX_DIMS - in_front);
    }
    if (!levada_shape_known(&f->shape) || levada_shape_count(&f->shape) < 0) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "Shape for %s %s is not fully defined, or too large: %s",
                           fields_words[group], f->name, levada_shape_print(&f->shape, text));
    }
    return LEVADA_OK;
}

static levada_status fields_check_name(const levada_saver_field *group, int32_t i,
                                       const char *word, levada_error *err)
{
    const char *name = group[i].name;

    if (name == NULL || name[0] == '\0') {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "%s %d has no name", word, (int)i);
    }
    if (strchr(name, ':') != NULL) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "%s name '%.64s' must not contain a colon",
                           word, name);
    }
    for (int32_t k = 0; k < i; k++) {
        if (strcmp(group[k].name, name) != 0) continue;
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "two fields have the name %s '%.64s'",
                           word, name);
    }
    return LEVADA_OK;
}

static levada_status fields_check_group(const levada_saver_field *list, int32_t n,
                                        fields_group group, levada_error *err)
{
    for (int32_t i = 0; i < n; i++) {
        const levada_saver_field *f = &list[i];

        LEVADA_TRY(fields_check_name(list, i, fields_words[group], err));
        if (f->dtype != LEVADA_NONE && !levada_dtype_is_bytes(f->dtype) &&
            levada_dtype_size(f->dtype) == 0) {
            return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "dtype %d of %s '%s' is unknown",
                               (int)f->dtype, fields_words[group], f->name);
        }
        if (f->ragged && group == FIELDS_STATES) {
            return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "state '%s' cannot be ragged",
                               f->name);
        }
        LEVADA_TRY(fields_check_shape(f, group, err));
    }
    return LEVADA_OK;
}

static levada_status fields_check_number(int32_t n, int32_t least, const void *list,
                                         const char *what, levada_error *err)
{
    if (n >= least && n <= FIELDS_MOST && (n == 0 || list != NULL)) return LEVADA_OK;
    if (n >= 0 && n < least) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "%s may not be empty", what);
    }
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "%s: %d fields; at most %d are possible",
                       what, (int)n, FIELDS_MOST);
}

levada_status levada_saver_copy_fields(levada_state_saver               *s,
                                       const levada_state_saver_options *o, levada_error *err)
{
    const levada_saver_field *lists[] = { o->sequences, o->context, o->states };
    int32_t                   n[] = { o->nsequences, o->ncontext, o->nstates };
    levada_saver_field       *to;
    bool                      known = true;

    LEVADA_TRY(fields_check_number(n[0], 1, lists[0], "input_sequences", err));
    LEVADA_TRY(fields_check_number(n[1], 0, lists[1], "input_context", err));
    LEVADA_TRY(fields_check_number(n[2], 1, lists[2], "initial_states", err));
    for (int g = 0; g < 3; g++) {
        LEVADA_TRY(fields_check_group(lists[g], n[g], (fields_group)g, err));
    }
    s->nsequences = n[0];
    s->ncontext = n[1];
    s->nstates = n[2];
    s->fields = to = levada_alloc_zero((size_t)(n[0] + n[1] + n[2]) * sizeof(*to));
    if (to == NULL) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory");
    for (int g = 0; g < 3; g++) {
        for (int32_t i = 0; i < n[g]; i++, to++) {
            *to = lists[g][i];
            if (to->dtype == LEVADA_TEXT) to->dtype = LEVADA_BYTES;
            to->name = levada_strdup(lists[g][i].name);
            if (to->name == NULL) {
                return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory");
            }
            known = known && to->dtype != LEVADA_NONE && to->shape.rank >= 0;
        }
    }
    s->settled = known;
    return LEVADA_OK;
}

void levada_saver_free_fields(levada_state_saver *s)
{
    for (int32_t i = 0; s->fields != NULL && i < s->nsequences + s->ncontext + s->nstates; i++) {
        levada_free((void *)(uintptr_t)s->fields[i].name);
    }
    levada_free(s->fields);
}

/* -- examples ---------------------------------------------------------------------------------- */

/* An example while it is checked: fields that it fixes are in `fields`, a copy. */
typedef struct fields_check {
    const levada_state_saver   *s;
    const levada_saver_example *in;
    levada_saver_field         *fields;
    char                        key[72]; /* for messages */
} fields_check;

/* Checks that a tensor fits that field, with that number of dimensions before its own. */
static levada_status fields_fit(const fields_check *c, levada_saver_field *f, fields_group group,
                                const levada_tensor *t, int32_t in_front, levada_error *err)
{
    levada_shape row;
    char         a[LEVADA_SHAPE_TEXT], b[LEVADA_SHAPE_TEXT];

    if (t == NULL) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "%s '%s' of key '%s' is missing",
                           fields_words[group], f->name, c->key);
    }
    if (f->dtype == LEVADA_NONE) f->dtype = t->dtype;
    if (t->dtype != f->dtype) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "%s '%s' of key '%s' is %s, not %s",
                           fields_words[group], f->name, c->key, levada_dtype_name(t->dtype),
                           levada_dtype_name(f->dtype));
    }
    if (t->shape.rank < in_front) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "Rank check failed for %s %s of key '%s': it has no dimension of %s",
                           fields_words[group], f->name, c->key, f->ragged ? "values" : "steps");
    }
    row = in_front > 0 ? levada_shape_row(&t->shape) : t->shape;
    if (f->shape.rank < 0) {
        f->shape = row;
        LEVADA_TRY(fields_check_shape(f, group, err));
    }
    if (levada_shape_equal(&row, &f->shape)) return LEVADA_OK;
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                       "%s %s of key '%s': shape should be: %s, shape received: %s%s",
                       fields_words[group], f->name, c->key, levada_shape_print(&f->shape, a),
                       levada_shape_print(&row, b), in_front > 0 ? " (without the first one)" : "");
}

static levada_status fields_check_offsets(const fields_check *c, const levada_saver_field *f,
                                          const levada_tensor *t, const levada_tensor *offsets,
                                          levada_error *err)
{
    bool           good = offsets != NULL && offsets->dtype == LEVADA_INT64 &&
                offsets->shape.rank == 1 && offsets->count >= 1;
    const int64_t *at = good ? (const int64_t *)(const void *)offsets->data : NULL;

    if (good) good = at[0] == 0 && at[offsets->count - 1] == t->shape.dims[0];
    for (int64_t i = 1; good && i < offsets->count; i++) good = at[i] >= at[i - 1];
    if (good) return LEVADA_OK;
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                       "ragged sequence '%s' of key '%s' needs int64 offsets that ascend from 0 to "
                       "its number of values, %lld",
                       f->name, c->key, (long long)t->shape.dims[0]);
}

static const levada_tensor *fields_offsets(const fields_check *c, int32_t i)
{
    return c->in->offsets != NULL ? c->in->offsets[i] : NULL;
}

static int64_t fields_steps(const fields_check *c, int32_t i)
{
    return c->fields[i].ragged ? fields_offsets(c, i)->count - 1
                               : c->in->sequences[i]->shape.dims[0];
}

static levada_status fields_unequal(const fields_check *c, int32_t other, int64_t steps,
                                    levada_error *err)
{
    if (!c->s->pad) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "Dimension 0 of tensor labeled sorted_sequences_%s should be: %lld, "
                           "shape received: %lld (key '%s')",
                           c->fields[other].name, (long long)steps,
                           (long long)fields_steps(c, other), c->key);
    }
    return levada_fail(
        err, LEVADA_EINVALID_ARGUMENT,
        "All sequence lengths must match, but received lengths: %lld and %lld ('%s') "
        "of key '%s'",
        (long long)steps, (long long)fields_steps(c, other), c->fields[other].name, c->key);
}

/* Counts the steps that all sequences have; padded ragged ones may have fewer than the others. */
static levada_status fields_common_steps(const fields_check *c, int64_t *out, levada_error *err)
{
    int32_t n = c->s->nsequences, first = -1;
    int64_t steps = -1;

    for (int32_t i = 0; i < n; i++) {
        if (c->s->pad && c->fields[i].ragged) continue;
        if (first < 0) first = i;
        if (first == i) steps = fields_steps(c, i);
        if (fields_steps(c, i) != steps) return fields_unequal(c, i, steps, err);
    }
    for (int32_t i = 0; i < n && c->s->pad; i++) {
        if (!c->fields[i].ragged) continue;
        if (first >= 0 && fields_steps(c, i) > steps) return fields_unequal(c, i, steps, err);
        if (first < 0 && fields_steps(c, i) > steps) steps = fields_steps(c, i);
    }
    *out = steps;
    return LEVADA_OK;
}

static levada_status fields_extent(const fields_check *c, levada_saver_extent *out,
                                   levada_error *err)
{
    const levada_state_saver *s = c->s;
    int64_t                   steps = 0, padded;

    LEVADA_TRY(fields_common_steps(c, &steps, err));
    if (steps == 0 && s->zero_length == LEVADA_ZERO_LENGTH_ERROR) {
        return levada_fail(
            err, LEVADA_EINVALID_ARGUMENT,
            "Dimension 0 of the sequences of key '%s' should be a multiple of: %lld, "
            "but saw value: 0. The option zero_length says what to do with it",
            c->key, (long long)s->unroll);
    }
    if (!s->pad && steps % s->unroll != 0) {
        return levada_fail(
            err, LEVADA_EINVALID_ARGUMENT,
            "Dimension 0 of the sequences of key '%s' should be a multiple of: %lld, "
            "but saw value: %lld. Consider setting pad=True.",
            c->key, (long long)s->unroll, (long long)steps);
    }
    out->steps = steps;
    out->nsegments = levada_segments_count(steps, s->unroll);
    padded = out->nsegments <= INT32_MAX ? out->nsegments * s->unroll : INT64_MAX;
    out->length = c->in->length < 0 && s->pad ? steps : c->in->length;
    if (out->length < 0 || out->length > padded || padded > INT32_MAX) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "Input length should be <= than length from sequences: %lld of key '%s' "
                           "is not between 0 and %lld, or there are too many steps",
                           (long long)out->length, c->key, (long long)padded);
    }
    return LEVADA_OK;
}

static levada_status fields_check_all(fields_check *c, levada_saver_extent *out, levada_error *err)
{
    const levada_state_saver   *s = c->s;
    const levada_saver_example *in = c->in;
    levada_saver_field         *f = c->fields;

    for (int32_t i = 0; i < s->nsequences; i++, f++) {
        LEVADA_TRY(fields_fit(c, f, FIELDS_SEQUENCES, in->sequences[i], 1, err));
        if (!f->ragged) continue;
        LEVADA_TRY(fields_check_offsets(c, f, in->sequences[i], fields_offsets(c, i), err));
    }
    for (int32_t i = 0; i < s->ncontext; i++, f++) {
        LEVADA_TRY(fields_fit(c, f, FIELDS_CONTEXT, in->context[i], f->ragged, err));
    }
    for (int32_t i = 0; i < s->nstates; i++, f++) {
        LEVADA_TRY(fields_fit(c, f, FIELDS_STATES, in->states[i], 0, err));
    }
    return fields_extent(c, out, err);
}

/* Fixes what is open by the first example, unless something is wrong with it. */
static levada_status fields_settle_locked(levada_state_saver *s, fields_check *c,
                                          levada_saver_extent *out, levada_error *err)
{
    size_t              size = (size_t)(s->nsequences + s->ncontext + s->nstates);
    levada_saver_field *copy = levada_alloc(size * sizeof(*copy));
    levada_status       st;

    if (copy == NULL) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory");
    memcpy(copy, s->fields, size * sizeof(*copy));
    c->fields = copy;
    st = fields_check_all(c, out, err);
    if (st == LEVADA_OK) {
        memcpy(s->fields, copy, size * sizeof(*copy));
        s->settled = true;
    }
    levada_free(copy);
    c->fields = s->fields;
    return st;
}

levada_status levada_saver_check_example(levada_state_saver *s, const levada_saver_example *example,
                                         levada_saver_extent *out, levada_error *err)
{
    fields_check  c = { s, example, s->fields, "" };
    levada_status st = LEVADA_OK;
    bool          settled;

    LEVADA_TRY(levada_require(example->key != NULL || example->key_size == 0, "key", err));
    LEVADA_TRY(levada_require(example->sequences != NULL, "sequences", err));
    LEVADA_TRY(levada_require(example->context != NULL || s->ncontext == 0, "context", err));
    LEVADA_TRY(levada_require(example->states != NULL, "states", err));
    if (example->key_size > INT32_MAX / 4) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "a key must have at most %d bytes, got %zu",
                           INT32_MAX / 4, example->key_size);
    }
    (void)snprintf(c.key, sizeof(c.key), "%.*s",
                   example->key_size > 64 ? 64 : (int)example->key_size,
                   example->key_size > 0 ? (const char *)example->key : "");
    levada_lock_take(&s->lock);
    settled = s->settled;
    if (!settled) st = fields_settle_locked(s, &c, out, err);
    levada_lock_give(&s->lock);
    if (!settled) return st;
    return fields_check_all(&c, out, err);
}

/* -- states ------------------------------------------------------------------------------------ */

static levada_status fields_check_finite(const levada_segment_batch *batch, int32_t state,
                                         const levada_tensor *value, levada_error *err)
{
    const levada_state_saver *s = batch->saver;
    int64_t per = batch->taken.n > 0 ? value->count / batch->taken.n : 0,
            size = levada_dtype_size(value->dtype);

    for (int64_t i = 0; i < batch->taken.n; i++) {
        const levada_saver_live *e = levada_saver_row(batch, i);
        int64_t                  at;
        char                     prefix[LEVADA_SEGMENTS_PREFIX];

        if (levada_sequence_is_last(&e->sequence)) continue;
        at = levada_not_finite(value->dtype, value->data + i * per * size, per);
        if (at < 0) continue;
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "state '%s' of key '%.*s%.*s' is not finite: element %lld of row %lld",
                           levada_saver_state(s)[state].name,
                           (int)levada_segments_prefix(e->sequence.segment,
                                                       e->sequence.nsegments, prefix), prefix,
                           e->key_size > 64 ? 64 : e->key_size,
                           (const char *)levada_saver_key(s, e), (long long)at, (long long)i);
    }
    return LEVADA_OK;
}

levada_status levada_saver_check_state(const levada_segment_batch *batch, int32_t state,
                                       const levada_tensor *value, levada_error *err)
{
    const levada_state_saver *s = batch->saver;
    const levada_saver_field *f;
    levada_shape              want;
    char                      a[LEVADA_SHAPE_TEXT], b[LEVADA_SHAPE_TEXT];

    if (state < 0 || state >= s->nstates) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "state %d was not declared: there are %d", (int)state, (int)s->nstates);
    }
    f = &levada_saver_state(s)[state];
    want = levada_shape_rows(&f->shape, batch->taken.n);
    if (value->dtype != f->dtype) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "state '%s' is %s, not %s", f->name,
                           levada_dtype_name(f->dtype), levada_dtype_name(value->dtype));
    }
    if (value->shape.rank != want.rank) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "Rank check failed for state '%s': should be: %d, shape received: %s",
                           f->name, (int)want.rank, levada_shape_print(&value->shape, a));
    }
    if (!levada_shape_equal(&value->shape, &want)) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "Shape of state '%s' should be: %s, shape received: %s", f->name,
                           levada_shape_print(&want, a), levada_shape_print(&value->shape, b));
    }
    return s->finite ? fields_check_finite(batch, state, value, err) : LEVADA_OK;
}
