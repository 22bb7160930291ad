/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table of known costs with open addressing. Unknown combinations are put in with the cost 0, and
 * computed together.
 */
#include "batch/cost_function.h"

#include "base/alloc.h"
#include "base/random.h"
#include "base/text.h"
#include "registry/env_priv.h"
#include "run/call.h"

#include <math.h>
#include <string.h>

typedef struct cost_function_entry {
    int64_t padded[LEVADA_GROUP_KEYS];
    double  cost; /* 0 = not known yet */
    bool    used;
} cost_function_entry;

struct levada_cost_function {
    levada_pool         *pool;
    levada_call          call;
    levada_spec         *spec; /* of the blocks that the function receives */
    int64_t              fields;
    cost_function_entry *entries;
    int64_t              size, n;       /* a power of two; entries in use */
    int64_t             *unknown;       /* positions in entries */
    int64_t              nunknown, unknown_capacity;
    bool                 behind; /* some entries have no cost yet */
};

static levada_status cost_function_memory(levada_error *err)
{
    return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for costs");
}

levada_status levada_cost_function_check(const levada_function *function, levada_error *err)
{
    if (levada_function_info(function)->pure) return LEVADA_OK;
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                       "the function of cost must be pure: equal lengths must have equal costs");
}

static levada_status cost_function_spec(const levada_texts *fields, levada_spec **out,
                                        levada_error *err)
{
    levada_field list[LEVADA_GROUP_KEYS];

    memset(list, 0, sizeof list);
    for (int64_t i = 0; i < fields->n; i++) {
        list[i].name = fields->at[i];
        list[i].dtype = LEVADA_INT64;
    }
    return levada_spec_create(list, (int32_t)fields->n, LEVADA_SPEC_PLAIN, out, err);
}

levada_status levada_cost_function_open(const levada_function *function,
                                        const levada_context *context, const levada_texts *fields,
                                        levada_cost_function **out, levada_error *err)
{
    levada_cost_function *f = levada_alloc_zero(sizeof *f);
    levada_status         st;

    if (!f) return cost_function_memory(err);
    f->pool = levada_env_pool(context->env);
    f->fields = fields->n;
    f->size = 256;
    f->entries = levada_alloc_zero((size_t)f->size * sizeof *f->entries);
    st = f->entries ? cost_function_spec(fields, &f->spec, err) : cost_function_memory(err);
    if (st == LEVADA_OK) st = levada_call_open(&f->call, function, context, err);
    if (st == LEVADA_OK) *out = f;
    else levada_cost_function_close(&f);
    return st;
}

void levada_cost_function_close(levada_cost_function **function)
{
    levada_cost_function *f = *function;

    *function = NULL;
    if (!f) return;
    levada_call_close(&f->call);
    levada_spec_unref(&f->spec);
    levada_free(f->entries);
    levada_free(f->unknown);
    levada_free(f);
}

void levada_cost_function_cancel(levada_cost_function *function)
{
    if (function) levada_call_cancel(&function->call);
}

/* Returns the entry of these lengths, or the free one where it belongs. */
static cost_function_entry *cost_function_find(const levada_cost_function *f,
                                               const int64_t              *padded)
{
    uint64_t at = 0;

    for (int64_t i = 0; i < f->fields; i++) at = levada_random_key(at, (uint64_t)padded[i]);
    for (;; at++) {
        cost_function_entry *e = &f->entries[at & (uint64_t)(f->size - 1)];

        if (!e->used || memcmp(e->padded, padded, (size_t)f->fields * sizeof *padded) == 0) {
            return e;
        }
    }
}

static levada_status cost_function_grow(levada_cost_function *f, levada_error *err)
{
    cost_function_entry *old = f->entries, *more;
    int64_t              size = f->size;

    if (2 * (f->n + 1) <= size) return LEVADA_OK;
    more = levada_alloc_zero(2 * (size_t)size * sizeof *more);
    if (!more) return cost_function_memory(err);
    f->entries = more;
    f->size = 2 * size;
    for (int64_t i = 0; i < size; i++) {
        if (old[i].used) *cost_function_find(f, old[i].padded) = old[i];
    }
    levada_free(old);
    return LEVADA_OK;
}

levada_status levada_cost_function_note(levada_cost_function *f, const int64_t *padded,
                                        levada_error *err)
{
    cost_function_entry *e;

    LEVADA_TRY(cost_function_grow(f, err));
    e = cost_function_find(f, padded);
    if (e->used) return LEVADA_OK;
    e->used = true;
    memcpy(e->padded, padded, (size_t)f->fields * sizeof *padded);
    f->n++;
    f->behind = true;
    return LEVADA_OK;
}

/* Collects all entries without a cost: those of this call, and of earlier ones that failed. */
static levada_status cost_function_collect(levada_cost_function *f, levada_error *err)
{
    f->nunknown = 0;
    for (int64_t i = 0; i < f->size; i++) {
        if (!f->entries[i].used || f->entries[i].cost > 0) continue;
        if (!levada_reserve(&f->unknown, &f->unknown_capacity, f->nunknown + 1,
                            sizeof *f->unknown)) {
            return cost_function_memory(err);
        }
        f->unknown[f->nunknown++] = i;
    }
    return LEVADA_OK;
}

static levada_status cost_function_block(const levada_cost_function *f, levada_block **out,
                                         levada_error *err)
{
    levada_builder *b = NULL;
    void           *values = NULL;
    levada_status   st = levada_builder_make(f->pool, f->spec, f->nunknown, &b, err);

    for (int32_t i = 0; st == LEVADA_OK && i < f->fields; i++) {
        st = levada_builder_values(b, i, f->nunknown, &values, err);
        for (int64_t k = 0; st == LEVADA_OK && k < f->nunknown; k++) {
            ((int64_t *)values)[k] = f->entries[f->unknown[k]].padded[i];
        }
    }
    if (st == LEVADA_OK) st = levada_builder_publish(&b, out, err);
    levada_builder_destroy(&b);
    return st;
}

/* Returns the costs as the function returned them; NULL if they are neither integers nor floats. */
static const double *cost_function_doubles(const levada_block *made, double *copy)
{
    const levada_column *column = levada_block_at(made, 0);
    const int64_t       *whole = column ? levada_column_i64(column) : NULL;

    if (!whole) return column ? levada_column_f64(column) : NULL;
    for (int64_t k = 0; k < made->n; k++) copy[k] = (double)whole[k];
    return copy;
}

/* Refuses costs that are not numbers, because a budget compares them. */
static levada_status cost_function_refuse(const levada_cost_function *f, double cost,
                                          const int64_t *padded, levada_error *err)
{
    levada_text lengths = { 0 };

    for (int64_t i = 0; i < f->fields; i++) {
        levada_text_format(&lengths, "%s%lld", i ? ", " : "", (long long)padded[i]);
    }
    (void)levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                      "the function of cost returned %.16g for %s %s; a cost must be finite and "
                      "not negative",
                      cost, f->fields > 1 ? "padded lengths" : "a padded length of",
                      lengths.failed ? "" : lengths.at);
    levada_text_clear(&lengths);
    return LEVADA_EINVALID_ARGUMENT;
}

static levada_status cost_function_keep(levada_cost_function *f, const levada_block *made,
                                        levada_error *err)
{
    double       *copy = levada_alloc((size_t)made->n * sizeof *copy + 1);
    const double *cost = copy ? cost_function_doubles(made, copy) : NULL;
    levada_status st = LEVADA_OK;

    if (!copy) return cost_function_memory(err);
    if (made->nrejects > 0) {
        st = levada_fail(err, made->rejects[0].why.code, "%s", made->rejects[0].why.message);
    } else if (!cost || made->n != f->nunknown) {
        st = levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                         "the function of cost must return one int64 or float64 for each of %lld "
                         "rows, got %lld rows%s",
                         (long long)f->nunknown, (long long)made->n,
                         cost ? "" : " of another dtype or shape");
    }
    for (int64_t k = 0; st == LEVADA_OK && k < f->nunknown; k++) {
        cost_function_entry *e = &f->entries[f->unknown[k]];

        if (!isfinite(cost[k]) || cost[k] < 0) {
            st = cost_function_refuse(f, cost[k], e->padded, err);
        } else {
            e->cost = cost[k] > 0 ? cost[k] : 1;
        }
    }
    if (st == LEVADA_OK) f->behind = false;
    levada_free(copy);
    return st;
}

levada_status levada_cost_function_run(levada_cost_function *f, levada_error *err)
{
    levada_block *in = NULL, *made = NULL;
    levada_status st;

    if (!f->behind) return LEVADA_OK;
    LEVADA_TRY(cost_function_collect(f, err));
    LEVADA_TRY(cost_function_block(f, &in, err));
    st = levada_call_block(&f->call, in, &made, err);
    if (st == LEVADA_OK) st = cost_function_keep(f, made, err);
    levada_block_unref(&in);
    levada_block_unref(&made);
    return st;
}

levada_status levada_cost_function_get(levada_cost_function *f, const int64_t *padded,
                                       double *out, levada_error *err)
{
    const cost_function_entry *e = cost_function_find(f, padded);

    if (!e->used || !(e->cost > 0)) {
        LEVADA_TRY(levada_cost_function_note(f, padded, err));
        LEVADA_TRY(levada_cost_function_run(f, err));
        e = cost_function_find(f, padded);
    }
    *out = e->cost;
    return LEVADA_OK;
}
