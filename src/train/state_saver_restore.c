/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Restoring what state_saver_save.c wrote. Everything is read and checked first; the saver changes
 * last, with its lock held.
 */
#include "base/alloc.h"
#include "base/process.h"
#include "state/state_priv.h"
#include "tensor/segments.h"
#include "train/state_saver_priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const levada_saver_columns[LEVADA_SAVER_COLUMNS] = { "number", "segments", "segment",
                                                                 "length", "ordinal",  "key_size" };

typedef struct restore_all {
    levada_state_saver  *s;
    levada_state_reader  from;
    levada_saver_field  *fields; /* with what the state knows of them; names are borrowed */
    int64_t              n;
    const int64_t       *counts, *columns[LEVADA_SAVER_COLUMNS], *seen;
    int64_t              nseen;
    levada_saver_live  **rows; /* n: examples, by number */
    levada_saver_live  **awaited; /* n references, by ordinal; NULL with data */
    levada_saver_states *states;
} restore_all;

static levada_status restore_no_memory(levada_error *err)
{
    return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a checkpoint");
}

/* Reads a list of exactly n numbers. */
static levada_status restore_numbers(restore_all *all, const char *key, int64_t n,
                                     const int64_t **out, levada_error *err)
{
    int64_t got = 0;

    LEVADA_TRY(levada_state_get_i64s(&all->from, key, out, &got, err));
    if (got == n) return LEVADA_OK;
    return levada_state_damaged(&all->from, key, err, "%lld numbers, %lld were expected",
                                (long long)got, (long long)n);
}

/* -- fields ------------------------------------------------------------------------------------ */

static levada_status restore_unlike(const restore_all *all, int32_t i, const char *name,
                                    const levada_saver_field *saved, levada_error *err)
{
    const levada_saver_field *have = &all->s->fields[i];
    char                      a[LEVADA_SHAPE_TEXT], b[LEVADA_SHAPE_TEXT];

    return levada_fail(err, LEVADA_EFAILED_PRECONDITION,
                       "the checkpoint was saved with field %d '%.40s' %s%s%s, this saver has "
                       "'%.40s' %s%s%s",
                       (int)i, name, levada_dtype_name(saved->dtype),
                       levada_shape_print(&saved->shape, a), saved->ragged ? " (ragged)" : "",
                       have->name, levada_dtype_name(have->dtype),
                       levada_shape_print(&have->shape, b), have->ragged ? " (ragged)" : "");
}

static bool restore_shape(const int64_t *dims, int64_t n, levada_saver_field *out)
{
    bool good = n >= 2 && (dims[0] == 0 || dims[0] == 1) && dims[1] >= -1 &&
                dims[1] < LEVADA_MAX_DIMS && n == 2 + (dims[1] > 0 ? dims[1] : 0);

    if (good) {
        out->ragged = dims[0] == 1;
        out->shape = (levada_shape){ (int32_t)dims[1], { 0 } };
        for (int64_t d = 2; d < n; d++) out->shape.dims[d - 2] = dims[d];
        good = out->shape.rank < 0 ||
               (levada_shape_known(&out->shape) && levada_shape_count(&out->shape) >= 0);
    }
    return good;
}

/* Reads field i: what both know must agree. */
static levada_status restore_field(restore_all *all, int32_t i, const char **names,
                                   const char *end, levada_error *err)
{
    const char         *name = *names, *dtype = name + strlen(name) + 1;
    levada_saver_field *f = &all->fields[i], saved = *f;
    const int64_t      *dims = NULL;
    int64_t             n = 0;
    char                key[LEVADA_SAVER_ENTRY];

    if (dtype >= end) {
        return levada_state_damaged(&all->from, "names", err, "field %d has no dtype", (int)i);
    }
    *names = dtype + strlen(dtype) + 1;
    (void)snprintf(key, sizeof(key), "field+%d", (int)i);
    LEVADA_TRY(levada_state_get_i64s(&all->from, key, &dims, &n, err));
    if (!restore_shape(dims, n, &saved)) {
        return levada_state_damaged(&all->from, key, err, "%lld numbers that are not a shape",
                                    (long long)n);
    }
    saved.dtype = levada_dtype_find(dtype);
    if (strcmp(dtype, levada_dtype_name(saved.dtype)) != 0) {
        return levada_state_damaged(&all->from, "names", err, "field %d has the unknown dtype "
                                    "'%.20s'", (int)i, dtype);
    }
    if (strcmp(name, f->name) != 0 || saved.ragged != f->ragged) {
        return restore_unlike(all, i, name, &saved, err);
    }
    if (f->dtype == LEVADA_NONE) f->dtype = saved.dtype;
    if (f->shape.rank < 0) f->shape = saved.shape;
    if ((saved.dtype != LEVADA_NONE && saved.dtype != f->dtype) ||
        (saved.shape.rank >= 0 && !levada_shape_equal(&saved.shape, &f->shape))) {
        return restore_unlike(all, i, name, &saved, err);
    }
    return LEVADA_OK;
}

static levada_status restore_fields(restore_all *all, levada_error *err)
{
    const levada_state_saver *s = all->s;
    int32_t                   n = s->nsequences + s->ncontext + s->nstates;
    const int64_t            *head = NULL;
    const int64_t             want[] = { s->nsequences, s->ncontext, s->nstates, s->unroll };
    static const char *const words[] = { "sequences", "context fields", "states",
                                         "steps in a segment" };
    const void               *bytes = NULL;
    const char               *names, *end;
    size_t                    size = 0;

    LEVADA_TRY(restore_numbers(all, "fields", 4, &head, err));
    for (int i = 0; i < 4; i++) {
        if (head[i] == want[i]) continue;
        return levada_fail(err, LEVADA_EFAILED_PRECONDITION,
                           "the checkpoint has %lld %s, this saver has %lld",
                           (long long)head[i], words[i], (long long)want[i]);
    }
    LEVADA_TRY(levada_state_get_bytes(&all->from, "names", &bytes, &size, err));
    names = bytes;
    end = names + size;
    if (size == 0 || end[-1] != '\0') {
        return levada_state_damaged(&all->from, "names", err, "the last name is cut");
    }
    all->fields = levada_alloc((size_t)n * sizeof(*all->fields));
    if (all->fields == NULL) return restore_no_memory(err);
    memcpy(all->fields, s->fields, (size_t)n * sizeof(*all->fields));
    for (int32_t i = 0; i < n; i++) {
        if (names >= end) {
            return levada_state_damaged(&all->from, "names", err, "%d names for %d fields", (int)i,
                                        (int)n);
        }
        LEVADA_TRY(restore_field(all, i, &names, end, err));
    }
    if (names == end) return LEVADA_OK;
    return levada_state_damaged(&all->from, "names", err, "more names than the %d fields", (int)n);
}

/* -- values ------------------------------------------------------------------------------------ */

/* `count` elements of an entry, and for byte strings where each ends. */
typedef struct restore_values {
    levada_dtype   dtype;
    const uint8_t *bytes;
    const int64_t *ends;
    int64_t        count, at; /* elements, and the next one */
} restore_values;

static levada_status restore_open(restore_all *all, const char *key, levada_dtype dtype,
                                  int64_t count, restore_values *out, levada_error *err)
{
    char        ends[LEVADA_SAVER_ENTRY + 8];
    const void *bytes = NULL;
    size_t      size = 0;
    int64_t     before = 0;

    LEVADA_TRY(levada_state_get_bytes(&all->from, key, &bytes, &size, err));
    *out = (restore_values){ dtype, bytes, NULL, count, 0 };
    if (!levada_dtype_is_bytes(dtype)) {
        bool good = (int64_t)(size / (size_t)levada_dtype_size(dtype)) == count &&
                    size % (size_t)levada_dtype_size(dtype) == 0;

        if (good) return LEVADA_OK;
        return levada_state_damaged(&all->from, key, err, "%zu bytes for %lld values of %s", size,
                                    (long long)count, levada_dtype_name(dtype));
    }
    (void)snprintf(ends, sizeof(ends), "%s.ends", key);
    LEVADA_TRY(restore_numbers(all, ends, count, &out->ends, err));
    for (int64_t i = 0; i < count; i++) {
        if (out->ends[i] < before || out->ends[i] > INT32_MAX) {
            return levada_state_damaged(&all->from, ends, err, "string %lld ends at %lld, after "
                                        "%lld", (long long)i, (long long)out->ends[i],
                                        (long long)before);
        }
        before = out->ends[i];
    }
    if (before == (int64_t)size) return LEVADA_OK;
    return levada_state_damaged(&all->from, key, err, "%zu bytes, and the strings end at %lld",
                                size, (long long)before);
}

/* Reads the next elements as a tensor. */
static levada_status restore_tensor(restore_all *all, restore_values *from,
                                    const levada_shape *shape, levada_tensor **out,
                                    levada_error *err)
{
    int64_t        n = levada_shape_count(shape), size = levada_dtype_size(from->dtype), first, end;
    levada_tensor *t = NULL;

    if (n < 0 || n > from->count - from->at) {
        return levada_state_damaged(&all->from, NULL, err, "%lld values, more were expected",
                                    (long long)from->count);
    }
    if (!levada_dtype_is_bytes(from->dtype)) {
        LEVADA_TRY(levada_tensor_make(all->s->pool, from->dtype, shape, &t, err));
        if (n > 0) memcpy(t->data, from->bytes + from->at * size, (size_t)(n * size));
    } else {
        first = from->at > 0 ? from->ends[from->at - 1] : 0;
        end = n > 0 ? from->ends[from->at + n - 1] : first;
        LEVADA_TRY(levada_tensor_make_strings(all->s->pool, shape, end - first, &t, err));
        t->offsets[0] = 0;
        for (int64_t i = 0; i < n; i++) {
            t->offsets[i + 1] = (int32_t)(from->ends[from->at + i] - first);
        }
        if (end > first) memcpy(t->data, from->bytes + first, (size_t)(end - first));
    }
    from->at += n;
    *out = t;
    return LEVADA_OK;
}

/* Reads all states of all examples, one set, of which each example has a row. */
static levada_status restore_states(restore_all *all, levada_error *err)
{
    const levada_state_saver *s = all->s;
    char                      key[LEVADA_SAVER_ENTRY];

    all->states = levada_saver_states_create(s, all->n);
    if (all->states == NULL) return restore_no_memory(err);
    for (int32_t i = 0; i < s->nstates; i++) {
        const levada_saver_field *f = &all->fields[s->nsequences + s->ncontext + i];
        levada_shape              shape = levada_shape_rows(&f->shape, all->n);
        restore_values            values;

        if (f->dtype == LEVADA_NONE || f->shape.rank < 0 || levada_shape_count(&shape) < 0) {
            return levada_state_damaged(&all->from, "names", err,
                                        "the dtype or shape of state %d is missing", (int)i);
        }
        (void)snprintf(key, sizeof(key), "state+%d", (int)i);
        LEVADA_TRY(restore_open(all, key, f->dtype, levada_shape_count(&shape), &values, err));
        LEVADA_TRY(restore_tensor(all, &values, &shape, &all->states->values[i], err));
    }
    return LEVADA_OK;
}

/* Reads field `value` of all examples; `f` says of what dtype and shape, `leading` with how many
 * rows. */
static levada_status restore_column(restore_all *all, const char *word, int32_t i, int32_t value,
                                    const levada_saver_field *f, bool leading, levada_error *err)
{
    char           key[LEVADA_SAVER_ENTRY], text[LEVADA_SAVER_ENTRY + 8];
    const int64_t *rows = NULL;
    int64_t        each = levada_shape_count(&f->shape), count = 0;
    restore_values values;

    (void)snprintf(key, sizeof(key), "%s+%d", word, (int)i);
    if (f->dtype == LEVADA_NONE || each < 0) { /* examples settle it */
        return levada_state_damaged(&all->from, key, err, "its dtype or shape is missing");
    }
    (void)snprintf(text, sizeof(text), "%s.rows", key);
    LEVADA_TRY(restore_numbers(all, text, all->n, &rows, err));
    for (int64_t r = 0; r < all->n; r++) {
        int64_t n = leading ? rows[r] : 1;

        if (n < 0 || n > LEVADA_COUNT_LIMIT / 8 / (each + 1) || count > LEVADA_COUNT_LIMIT / 8) {
            return levada_state_damaged(&all->from, text, err, "example %lld has %lld rows",
                                        (long long)r, (long long)n);
        }
        count += n * each;
    }
    LEVADA_TRY(restore_open(all, key, f->dtype, count, &values, err));
    for (int64_t r = 0; r < all->n; r++) {
        levada_shape shape = leading ? levada_shape_rows(&f->shape, rows[r]) : f->shape;

        LEVADA_TRY(restore_tensor(all, &values, &shape, &all->rows[r]->values[value], err));
    }
    return LEVADA_OK;
}

/* -- examples ---------------------------------------------------------------------------------- */

static levada_status restore_examples(restore_all *all, levada_error *err)
{
    const levada_state_saver *s = all->s;
    const int64_t *const     *c = all->columns;
    const void               *keys = NULL;
    size_t                    size = 0, at = 0;

    LEVADA_TRY(levada_state_get_bytes(&all->from, "keys", &keys, &size, err));
    all->rows = levada_alloc_zero((size_t)all->n * sizeof(*all->rows) + 1);
    if (all->rows == NULL) return restore_no_memory(err);
    for (int64_t i = 0; i < all->n; i++) {
        levada_saver_live *e;

        if ((i > 0 && c[0][i] <= c[0][i - 1]) || c[0][i] < 0 || c[0][i] >= all->counts[0] ||
            c[1][i] < 1 || c[1][i] > INT32_MAX || c[2][i] < 0 || c[2][i] >= c[1][i] ||
            c[3][i] < 0 || c[3][i] > INT32_MAX || c[4][i] < -1 || c[5][i] < 0 ||
            (uint64_t)c[5][i] > size - at || c[5][i] > INT32_MAX / 2) {
            return levada_state_damaged(&all->from, "number", err,
                                        "the numbers of example %lld do not fit together",
                                        (long long)i);
        }
        e = levada_saver_live_create(s, (const uint8_t *)keys + at, (size_t)c[5][i], 0);
        if (e == NULL) return restore_no_memory(err);
        at += (size_t)c[5][i];
        all->rows[i] = e;
        e->sequence.number = c[0][i];
        e->sequence.nsegments = (int32_t)c[1][i];
        e->sequence.segment = (int32_t)c[2][i];
        e->length = c[3][i];
        e->ordinal = c[4][i];
        e->row = i;
        e->states = all->states;
        levada_refs_add(&all->states->refs);
    }
    if (at == size) return LEVADA_OK;
    return levada_state_damaged(&all->from, "keys", err, "%zu bytes, and the keys have %zu", size,
                                at);
}

/* Checks that the tensors of an example are those that an insert accepts, with as many segments. */
static levada_status restore_check_data(const restore_all *all, levada_error *err)
{
    const levada_state_saver *s = all->s;
    char                      key[LEVADA_SAVER_ENTRY];

    for (int64_t r = 0; r < all->n; r++) {
        const levada_saver_live *e = all->rows[r];

        for (int32_t i = 0; i < s->nsequences; i++) {
            const levada_tensor *t = e->values[i], *offsets = e->values[s->nsequences + i];
            int64_t        steps = offsets != NULL ? offsets->count - 1 : t->shape.dims[0];
            const int64_t *at = offsets != NULL ? (const int64_t *)(const void *)offsets->data
                                                : NULL;
            bool good = steps >= 0 &&
                        levada_segments_count(steps, s->unroll) <= e->sequence.nsegments;

            if (good && at != NULL) good = at[0] == 0 && at[steps] == t->shape.dims[0];
            for (int64_t k = 0; good && at != NULL && k < steps; k++) good = at[k] <= at[k + 1];
            if (good) continue;
            (void)snprintf(key, sizeof(key), "%s+%d", offsets != NULL ? "offsets" : "sequence",
                           (int)i);
            return levada_state_damaged(&all->from, key, err,
                                        "example %lld does not have its %d segments", (long long)r,
                                        (int)e->sequence.nsegments);
        }
    }
    return LEVADA_OK;
}

static levada_status restore_data(restore_all *all, levada_error *err)
{
    const levada_state_saver *s = all->s;
    levada_saver_field        offsets = { NULL, LEVADA_INT64, { 0, { 0 } }, false };

    for (int32_t i = 0; i < s->nsequences; i++) {
        LEVADA_TRY(restore_column(all, "sequence", i, i, &all->fields[i], true, err));
        if (!all->fields[i].ragged) continue;
        LEVADA_TRY(restore_column(all, "offsets", i, s->nsequences + i, &offsets, true, err));
    }
    for (int32_t i = 0; i < s->ncontext; i++) {
        const levada_saver_field *f = &all->fields[s->nsequences + i];

        LEVADA_TRY(restore_column(all, "context", i, 2 * s->nsequences + i, f, f->ragged, err));
    }
    return restore_check_data(all, err);
}

static int restore_order(const void *a, const void *b)
{
    const levada_saver_live *const *x = a, *const *y = b;

    return (*x)->ordinal<(*y)->ordinal ? -1 : (*x)->ordinal>(*y)->ordinal;
}

/* Notes, without data, what waits for it. */
static levada_status restore_await(restore_all *all, levada_error *err)
{
    all->awaited = levada_alloc((size_t)all->n * sizeof(*all->awaited) + 1);
    if (all->awaited == NULL) return restore_no_memory(err);
    for (int64_t i = 0; i < all->n; i++) {
        all->awaited[i] = all->rows[i];
        all->rows[i]->awaited = true;
        levada_refs_add(&all->rows[i]->refs);
    }
    qsort(all->awaited, (size_t)all->n, sizeof(*all->awaited), restore_order);
    return LEVADA_OK;
}

static levada_status restore_read(restore_all *all, levada_error *err)
{
    LEVADA_TRY(restore_fields(all, err));
    LEVADA_TRY(restore_numbers(all, "counts", LEVADA_SAVER_COUNTS, &all->counts, err));
    for (int i = 0; i < LEVADA_SAVER_COUNTS; i++) {
        if (all->counts[i] >= 0 && all->counts[i] <= LEVADA_COUNT_LIMIT) continue;
        return levada_state_damaged(&all->from, "counts", err, "must be from 0 to %lld, got %lld",
                                    (long long)LEVADA_COUNT_LIMIT, (long long)all->counts[i]);
    }
    LEVADA_TRY(levada_state_get_i64s(&all->from, "seen", &all->seen, &all->nseen, err));
    for (int64_t i = 0; i < all->nseen; i++) {
        int64_t before = i > 0 ? all->seen[i - 1] : all->counts[6];

        if (all->seen[i] > before) continue;
        return levada_state_damaged(&all->from, "seen", err, "%lld after %lld",
                                    (long long)all->seen[i], (long long)before);
    }
    LEVADA_TRY(levada_state_get_i64s(&all->from, "number", &all->columns[0], &all->n, err));
    for (int i = 1; i < LEVADA_SAVER_COLUMNS; i++) {
        LEVADA_TRY(restore_numbers(all, levada_saver_columns[i], all->n, &all->columns[i], err));
    }
    if (all->n == 0) return LEVADA_OK;
    LEVADA_TRY(restore_states(all, err));
    LEVADA_TRY(restore_examples(all, err));
    return all->counts[7] != 0 ? restore_data(all, err) : restore_await(all, err);
}

/* -- the change -------------------------------------------------------------------------------- */

static void restore_counts_locked(levada_state_saver *s, const restore_all *all)
{
    levada_ledger_counts *to = &s->ledger.counts;

    to->inserted = all->counts[0];
    s->suffix = all->counts[1];
    to->finished = all->counts[2];
    s->skipped = all->counts[3];
    to->discarded = all->counts[4];
    to->dropped = all->counts[5];
    s->seen.all = all->counts[6];
    for (int64_t i = 0; i < all->n; i++) {
        to->incomplete += all->rows[i]->sequence.nsegments - all->rows[i]->sequence.segment - 1;
    }
}

/* Checks that what the checkpoint fixes is still free. */
static levada_status restore_fresh_locked(const restore_all *all, levada_error *err)
{
    const levada_state_saver *s = all->s;
    const char               *what = NULL;

    if (s->restored) what = "it was restored already";
    else if (s->ledger.counts.inserted > 0 || s->skipped > 0)
        what = "examples were inserted into it";
    else if (s->ledger.closed) what = "it is closed";
    if (what == NULL) return LEVADA_OK;
    return levada_fail(err, LEVADA_EFAILED_PRECONDITION,
                       "State saver '%s' cannot be restored: %s", s->name, what);
}

static levada_status restore_commit_locked(restore_all *all, levada_error *err)
{
    levada_state_saver *s = all->s;
    int32_t             n = s->nsequences + s->ncontext + s->nstates;
    bool                known = true;

    LEVADA_TRY(restore_fresh_locked(all, err));
    if (!levada_reserve(&s->seen.more, &s->seen.capacity, all->nseen + 1, sizeof(*s->seen.more))) {
        return restore_no_memory(err);
    }
    if (all->nseen > 0) memcpy(s->seen.more, all->seen, (size_t)all->nseen * sizeof(*all->seen));
    s->seen.n = all->nseen;
    restore_counts_locked(s, all);
    memcpy(s->fields, all->fields, (size_t)n * sizeof(*all->fields));
    for (int32_t i = 0; i < n; i++) {
        known = known && s->fields[i].dtype != LEVADA_NONE && s->fields[i].shape.rank >= 0;
    }
    s->settled = known;
    s->restored = true;
    for (int64_t i = 0; i < all->n; i++) levada_saver_add_key_locked(s, all->rows[i]);
    if (all->awaited != NULL) {
        s->awaited = (levada_saver_awaited){ all->awaited, all->n, all->n };
        all->awaited = NULL;
    } else {
        for (int64_t i = 0; i < all->n; i++) {
            levada_sequence *row = &all->rows[i]->sequence;

            levada_ledger_resume(&s->ledger, &row, 1);
        }
    }
    all->n = 0; /* they are the saver's */
    return LEVADA_OK;
}

static levada_status restore_commit(restore_all *all, levada_error *err)
{
    levada_woken  woken = { 0 };
    levada_status st;

    levada_lock_take(&all->s->lock);
    st = restore_commit_locked(all, err);
    levada_saver_settle_locked(all->s, &woken);
    levada_lock_give(&all->s->lock);
    levada_wake(&woken);
    return st;
}

static levada_status restore_extra(restore_all *all, char **extra, size_t *extra_size,
                                   levada_error *err)
{
    const void *bytes = NULL;
    size_t      size = 0;

    LEVADA_TRY(levada_state_get_bytes(&all->from, "extra", &bytes, &size, err));
    *extra = levada_alloc(size + 1);
    if (*extra == NULL) return restore_no_memory(err);
    if (size > 0) memcpy(*extra, bytes, size);
    (*extra)[size] = '\0';
    *extra_size = size;
    return LEVADA_OK;
}

static void restore_clear(restore_all *all)
{
    for (int64_t i = 0; all->rows != NULL && i < all->n; i++) {
        if (all->awaited != NULL) levada_saver_live_unref(all->s, all->awaited[i]);
        levada_saver_live_unref(all->s, all->rows[i]);
    }
    if (all->states != NULL) levada_saver_states_drop(all->s, all->states, 1);
    levada_free(all->rows);
    levada_free(all->awaited);
    levada_free(all->fields);
    levada_state_reader_clear(&all->from);
}

levada_status levada_state_saver_restore(levada_state_saver *saver, const void *bytes, size_t size,
                                         char **extra, size_t *extra_size, levada_error *err)
{
    restore_all   all = { .s = saver };
    char         *own = NULL;
    size_t        own_size = 0;
    levada_status st;

    LEVADA_TRY(LEVADA_USABLE(saver, "state saver", err));
    LEVADA_TRY(levada_require(bytes != NULL, "bytes", err));
    LEVADA_TRY(levada_require_size(size, "size", err));
    LEVADA_TRY(levada_require(extra == NULL || extra_size != NULL, "extra_size", err));
    LEVADA_TRY(levada_state_decode(bytes, size, saver->env, &all.from, err));
    all.from.scope = (levada_state_scope){ LEVADA_SAVER_PATH, LEVADA_SAVER_VERSION, NULL };
    st = restore_read(&all, err);
    if (st == LEVADA_OK && extra != NULL) st = restore_extra(&all, &own, &own_size, err);
    if (st == LEVADA_OK) st = restore_commit(&all, err);
    restore_clear(&all);
    if (st != LEVADA_OK) {
        levada_free(own);
        return st;
    }
    if (extra != NULL) {
        *extra = own;
        *extra_size = own_size;
    }
    return LEVADA_OK;
}
