/* SPDX-License-Identifier: Apache-2.0 */
#include "batch/grouping.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "registry/env_priv.h"
#include "tensor/encoded.h"
#include "tensor/keys.h"
#include "run/context.h"
#include "state/damaged.h"
#include "tensor/pad.h"

#include <string.h>

static levada_status grouping_memory(levada_error *err)
{
    return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for buffered records");
}

levada_status levada_grouping_open(levada_grouping *g, const levada_context *context,
                                   const levada_grouping_options *options, levada_error *err)
{
    g->context = context;
    if (context->fused_end) return LEVADA_OK;
    g->options = *options;
    if (options->policy->keys) g->nkeys = options->keys ? options->keys : 1;
    LEVADA_ASSERT(g->nkeys <= LEVADA_GROUP_KEYS);
    g->groups = levada_alloc_zero((size_t)options->groups * sizeof *g->groups);
    if (!g->groups) return grouping_memory(err);
    return levada_rowstore_create(context, &g->store, err);
}

void levada_grouping_close(levada_grouping *g)
{
    for (int64_t i = 0; g->groups && i < g->options.groups; i++) {
        levada_layout_unref(&g->groups[i].layout);
        levada_free(g->groups[i].slots);
        levada_free(g->groups[i].keys);
    }
    levada_free(g->groups);
    levada_free(g->arrivals);
    levada_free(g->keys);
    levada_free(g->leaving);
    levada_free(g->ends);
    levada_rowstore_destroy(&g->store);
    memset(g, 0, sizeof *g);
}

/* Reserves space for as many arrivals, and for their keys. */
static levada_status grouping_reserve(levada_grouping *g, int64_t rows, levada_error *err)
{
    if (levada_reserve(&g->arrivals, &g->arrivals_capacity, rows, sizeof *g->arrivals) &&
        (!g->nkeys ||
         levada_reserve(&g->keys, &g->keys_capacity, rows * g->nkeys, sizeof *g->keys))) {
        return LEVADA_OK;
    }
    return grouping_memory(err);
}

static levada_status grouping_measure(levada_grouping *g, const levada_block *block,
                                      levada_error *err)
{
    const levada_grouping_policy *policy = g->options.policy;

    return policy->keys ? policy->keys(g->options.self, block, g->keys, err) : LEVADA_OK;
}

static levada_status grouping_arrive(levada_grouping *g, const levada_block *block,
                                     levada_error *err)
{
    LEVADA_TRY(grouping_reserve(g, block->n, err));
    LEVADA_TRY(grouping_measure(g, block, err));
    LEVADA_TRY(levada_rowstore_add(g->store, block, 0, block->n, g->arrivals, err));
    g->at = 0;
    g->n = block->n;
    return LEVADA_OK;
}

/* -- for policies */

levada_status levada_group_reserve(levada_group *group, int64_t rows, int64_t nkeys,
                                   levada_error *err)
{
    int64_t capacity = group->capacity; /* of slots; of both when both have grown */

    if (!levada_reserve(&group->slots, &capacity, rows, sizeof *group->slots) ||
        !levada_reserve(&group->keys, &group->keys_capacity, capacity * nkeys,
                        sizeof *group->keys)) {
        return grouping_memory(err);
    }
    group->capacity = capacity;
    return LEVADA_OK;
}

static void grouping_empty(levada_group *group)
{
    group->n = 0;
    memset(group->largest, 0, sizeof group->largest);
}

levada_status levada_grouping_move(levada_grouping *g, int64_t from, int64_t rows, int64_t group,
                                   levada_error *err)
{
    levada_group *a = &g->groups[from], *b = &g->groups[group];
    int64_t       k = g->nkeys, first = a->n - rows;

    LEVADA_ASSERT(rows > 0 && first >= 0 && from != group);
    LEVADA_TRY(levada_group_reserve(b, b->n + rows, k, err));
    memcpy(b->slots + b->n, a->slots + first, (size_t)rows * sizeof *b->slots);
    if (k) {
        memcpy(b->keys + b->n * k, a->keys + first * k, (size_t)(rows * k) * sizeof *b->keys);
    }
    for (int64_t i = first; i < a->n; i++) levada_group_widen(b, a->keys + i * k, k);
    b->n += rows;
    a->n = first;
    return LEVADA_OK;
}

levada_status levada_grouping_recall(levada_grouping *g, levada_error *err)
{
    int64_t k = g->nkeys, rest = g->n - g->at, total = 0, to = 0;

    for (int64_t i = 0; i < g->options.groups; i++) total += g->groups[i].n;
    LEVADA_TRY(grouping_reserve(g, total + rest > g->n ? total + rest : g->n, err));
    memmove(g->arrivals + total, g->arrivals + g->at, (size_t)rest * sizeof *g->arrivals);
    memmove(g->keys + total * k, g->keys + g->at * k, (size_t)(rest * k) * sizeof *g->keys);
    for (int64_t i = 0; i < g->options.groups; i++) {
        levada_group *from = &g->groups[i];

        if (from->n == 0) continue;
        memcpy(g->arrivals + to, from->slots, (size_t)from->n * sizeof *g->arrivals);
        memcpy(g->keys + to * k, from->keys, (size_t)(from->n * k) * sizeof *g->keys);
        to += from->n;
        grouping_empty(from);
    }
    g->at = 0;
    g->n = total + rest;
    return LEVADA_OK;
}

levada_status levada_grouping_drop(levada_grouping *g, levada_error *err)
{
    levada_block *record = NULL;

    LEVADA_TRY(levada_rowstore_take(g->store, &g->arrivals[g->at], 1, &record, err));
    g->at++;
    levada_context_dropped(g->context, 1);
    levada_block_unref(&record);
    return LEVADA_OK;
}

levada_status levada_grouping_put_again(levada_grouping *g, int64_t group, levada_error *err)
{
    levada_group *to = &g->groups[group];
    levada_block *record = NULL;
    levada_status st;

    LEVADA_TRY(levada_group_reserve(to, to->n + 1, g->nkeys, err));
    LEVADA_TRY(levada_rowstore_peek(g->store, &g->arrivals[g->at], 1, &record, err));
    st = levada_rowstore_add(g->store, record, 0, 1, &to->slots[to->n], err);
    levada_block_unref(&record);
    if (st != LEVADA_OK) return st;
    for (int64_t k = 0; k < g->nkeys; k++) {
        to->keys[to->n * g->nkeys + k] = levada_grouping_key(g)[k];
    }
    if (g->nkeys) levada_group_widen(to, levada_grouping_key(g), g->nkeys);
    to->n++;
    return LEVADA_OK;
}

levada_status levada_grouping_reject(levada_grouping *g, const levada_error *why,
                                     levada_error *err)
{
    levada_block *record = NULL;
    levada_status st;

    LEVADA_TRY(levada_rowstore_take(g->store, &g->arrivals[g->at], 1, &record, err));
    g->at++;
    st = levada_context_reject(g->context, record, g->n - g->at, why, err);
    levada_block_unref(&record);
    return st;
}

levada_status levada_grouping_first(const levada_grouping *g, int64_t group, levada_block **out,
                                    levada_error *err)
{
    return levada_rowstore_peek(g->store, g->groups[group].slots, 1, out, err);
}

/* -- batches */

/* Removes the first `rows` records from a group. */
static void grouping_shorten(levada_grouping *g, levada_group *group, int64_t rows)
{
    int64_t k = g->nkeys, rest = group->n - rows;

    grouping_empty(group);
    if (rest == 0) return;
    memmove(group->slots, group->slots + rows, (size_t)rest * sizeof *group->slots);
    if (k) memmove(group->keys, group->keys + rows * k, (size_t)(rest * k) * sizeof *group->keys);
    for (int64_t i = 0; i < rest; i++) levada_group_widen(group, group->keys + i * k, k);
    group->n = rest;
}

/* Measures the longest of each field that has lengths. `records`: the columns of the records. */
static void grouping_measure_keys(const levada_spec *records, const levada_block *keys,
                                  int64_t *least)
{
    for (int32_t c = 0; c < levada_spec_count(keys->spec); c++) {
        int32_t  field = levada_spec_find(records, levada_spec_field(keys->spec, c)->name);
        int64_t *to = least + (int64_t)field * LEVADA_MAX_DIMS;

        for (int64_t i = 0; field >= 0 && i < keys->n; i++) {
            int64_t              row;
            const levada_column *from = &levada_block_row(keys, i, &row)->columns[c];
            int64_t              length = ((const int64_t *)(const void *)from->values)[row];

            if (length > *to) *to = length;
        }
    }
}

/* Marks what the batches that all ranks make of a group have in common: the lengths that they are
 * padded to, and if this one was filled. `all`: the records of all ranks, or their keys. */
static levada_status grouping_mark(const levada_grouping *g, const levada_group *from,
                                   const levada_block *all, bool filled, levada_block *block,
                                   levada_error *err)
{
    const levada_texts *fields = g->options.fields;
    bool                keys = levada_spec_is_keys(all->spec);
    const levada_spec  *spec = keys ? g->context->in : all->spec;
    levada_layout      *layout = NULL;

    LEVADA_TRY(levada_layout_create_least(levada_spec_count(spec),
                                          from->layout ? from->layout->bound : -1, &layout, err));
    if (keys) grouping_measure_keys(spec, all, layout->least);
    else levada_pad_measure(all, layout->least);
    for (int64_t k = 0; fields && k < fields->n; k++) {
        int32_t i = levada_spec_find(spec, fields->at[k]);

        if (i >= 0) layout->least[(int64_t)i * LEVADA_MAX_DIMS] = from->largest[k];
    }
    layout->filled = filled;
    levada_block_set_layout(block, layout);
    levada_layout_unref(&layout);
    return LEVADA_OK;
}

/* Replaces the records of all ranks by those of this one: a copy of the last record where it has
 * one less than others. */
static levada_status grouping_deal(const levada_grouping *g, const levada_group *from,
                                   levada_block **block, levada_error *err)
{
    int64_t       world = g->options.world, n = (*block)->n, share = (n + world - 1) / world;
    int32_t      *rows = levada_alloc((size_t)share * sizeof *rows);
    bool          filled = false;
    levada_block *mine = NULL;
    levada_status st;

    if (!rows) return grouping_memory(err);
    for (int64_t i = 0; i < share; i++) {
        int64_t row = i * world + g->options.rank;

        filled = row >= n;
        rows[i] = (int32_t)(filled ? n - 1 : row);
    }
    st = levada_block_select(*block, rows, share, &mine, err);
    levada_free(rows);
    if (st == LEVADA_OK) st = grouping_mark(g, from, *block, filled, mine, err);
    if (st != LEVADA_OK) {
        levada_block_unref(&mine);
        return st;
    }
    levada_block_unref(block);
    *block = mine;
    return LEVADA_OK;
}

/* Counts the records of a group that leave now. `last`: the input has ended. */
static int64_t grouping_departing(const levada_grouping *g, const levada_group *from, bool last)
{
    int64_t rest = g->options.world ? from->n % g->options.world : 0;
    bool    all = last && (g->options.fill || g->options.drop_rest);

    return all || rest == from->n ? from->n : from->n - rest;
}

static levada_status grouping_leave(levada_grouping *g, int64_t group, bool last,
                                    levada_block **out, levada_error *err)
{
    levada_group *from = &g->groups[group];
    int64_t       rows = grouping_departing(g, from, last);
    levada_block *made = NULL;
    levada_status st = LEVADA_OK;

    LEVADA_ASSERT(group < g->options.groups && rows > 0);
    if (g->options.policy->refuse) {
        LEVADA_TRY(g->options.policy->refuse(g->options.self, g, group, err));
    }
    LEVADA_TRY(levada_rowstore_take(g->store, from->slots, rows, &made, err));
    if (g->options.world) st = grouping_deal(g, from, &made, err);
    else levada_block_set_layout(made, from->layout);
    grouping_shorten(g, from, rows);
    if (st == LEVADA_OK) *out = made;
    else levada_block_unref(&made);
    return st;
}

/* Adds a group to those that leave together. */
static levada_status grouping_set_aside(levada_grouping *g, int64_t group, levada_error *err)
{
    levada_group *from = &g->groups[group];

    LEVADA_ASSERT(group < g->options.groups && from->n > 0);
    if (!levada_reserve(&g->leaving, &g->leaving_capacity, g->nleaving + from->n,
                        sizeof *g->leaving) ||
        !levada_reserve(&g->ends, &g->ends_capacity, g->nends + 1, sizeof *g->ends)) {
        return grouping_memory(err);
    }
    if (g->options.policy->leaves) g->options.policy->leaves(g, group);
    memcpy(g->leaving + g->nleaving, from->slots, (size_t)from->n * sizeof *g->leaving);
    g->nleaving += from->n;
    g->ends[g->nends++] = (int32_t)g->nleaving;
    grouping_empty(from);
    return LEVADA_OK;
}

static levada_status grouping_emit(levada_grouping *g, levada_block **out, levada_error *err)
{
    levada_layout *layout = NULL;
    levada_block  *made = NULL;
    levada_status  st;

    LEVADA_TRY(levada_layout_create_ends(g->ends, g->nends, &layout, err));
    st = levada_rowstore_take(g->store, g->leaving, g->nleaving, &made, err);
    if (st == LEVADA_OK) {
        levada_block_set_layout(made, layout);
        g->nleaving = g->nends = 0;
        *out = made;
    }
    levada_layout_unref(&layout);
    return st;
}

static levada_status grouping_flush_together(levada_grouping *g, levada_block **out,
                                             levada_error *err)
{
    for (int64_t i = 0; i < g->options.groups && g->nends < g->options.together; i++) {
        if (g->groups[i].n) LEVADA_TRY(grouping_set_aside(g, i, err));
    }
    return g->nends ? grouping_emit(g, out, err) : LEVADA_END;
}

/* Returns true if there are too few records for all ranks, and they are dropped. */
static bool grouping_is_rest(const levada_grouping *g, const levada_group *group)
{
    return g->options.world && !g->options.fill && group->n < g->options.world;
}

/* Emits the next of the remaining groups at the end of the input. */
static levada_status grouping_flush(levada_grouping *g, levada_block **out, levada_error *err)
{
    if (g->options.together) return grouping_flush_together(g, out, err);
    for (int64_t i = 0; i < g->options.groups; i++) {
        levada_block *rest = NULL;
        bool          dropped = grouping_is_rest(g, &g->groups[i]);
        int64_t       rows = grouping_departing(g, &g->groups[i], true); /* of all ranks */

        if (g->groups[i].n == 0) continue;
        LEVADA_TRY(grouping_leave(g, i, true, &rest, err));
        if (!g->options.drop_rest && !dropped) {
            *out = rest;
            return LEVADA_OK;
        }
        levada_context_dropped(g->context, rows);
        levada_block_unref(&rest);
    }
    return LEVADA_END;
}

static levada_status grouping_end(levada_grouping *g, int64_t *full, levada_error *err)
{
    const levada_grouping_policy *policy = g->options.policy;

    return policy->end ? policy->end(g->options.self, g, full, err) : LEVADA_OK;
}

static int64_t grouping_buffered(const levada_grouping *g)
{
    int64_t total = g->n - g->at + g->nleaving;

    for (int64_t i = 0; i < g->options.groups; i++) total += g->groups[i].n;
    return total;
}

levada_status levada_grouping_next(void *state, const void *args, levada_input *in,
                                   levada_block **out, levada_error *err)
{
    levada_grouping *g = state;

    (void)args;
    for (;;) {
        levada_block *block = NULL;
        int64_t       full = -1;
        levada_status st;

        LEVADA_ASSERT(grouping_buffered(g) == levada_rowstore_count(g->store)); /* none is lost */
        while (g->at < g->n && full == -1) {
            LEVADA_TRY(g->options.policy->place(g->options.self, g, &full, err));
        }
        if (full >= 0 && !g->options.together) return grouping_leave(g, full, false, out, err);
        if (full >= 0) {
            LEVADA_TRY(grouping_set_aside(g, full, err));
            if (g->nends < g->options.together) continue;
        }
        if (g->nends) return grouping_emit(g, out, err);
        st = levada_input_next(in, &block, err);
        if (st == LEVADA_END) {
            LEVADA_TRY(grouping_end(g, &full, err));
            if (full >= 0) return grouping_leave(g, full, false, out, err);
            if (g->at < g->n) continue;
            return grouping_flush(g, out, err);
        }
        if (st == LEVADA_OK && g->options.decode) {
            st = levada_block_decode(levada_env_pool(g->context->env), &block, err);
        }
        if (st == LEVADA_OK) st = grouping_arrive(g, block, err);
        levada_block_unref(&block);
        LEVADA_TRY(st);
    }
}

levada_status levada_grouping_gather(void *state, const void *args, const levada_block *in,
                                     levada_block **out, levada_error *err)
{
    const levada_grouping *g = state;

    (void)args;
    return levada_block_gather(levada_env_pool(g->context->env), in, out, err);
}

/* -- states: counts, then all records: group by group, then the arrivals; keys are not saved */

levada_status levada_grouping_save(const void *state, levada_state_writer *to, levada_error *err)
{
    const levada_grouping *g = state;
    int64_t                n = g->options.groups, total = grouping_buffered(g), k = 0;
    int64_t               *counts = levada_alloc((size_t)n * sizeof *counts);
    uint32_t              *slots = levada_alloc((size_t)total * sizeof *slots + 1);
    levada_status          st = counts && slots ? LEVADA_OK : grouping_memory(err);

    for (int64_t i = 0; st == LEVADA_OK && i < n; i++) {
        counts[i] = g->groups[i].n;
        if (counts[i]) memcpy(slots + k, g->groups[i].slots, (size_t)counts[i] * sizeof *slots);
        k += counts[i];
    }
    if (st == LEVADA_OK && total > k) {
        memcpy(slots + k, g->arrivals + g->at, (size_t)(total - k) * sizeof *slots);
    }
    if (st == LEVADA_OK) st = levada_state_put_i64s(to, "counts", counts, n, err);
    if (st == LEVADA_OK) st = levada_state_put_i64(to, "total", total, err);
    if (st == LEVADA_OK) st = levada_rowstore_save(g->store, slots, total, to, "rows", err);
    if (st == LEVADA_OK && g->options.policy->save) {
        st = g->options.policy->save(g->options.self, to, err);
    }
    levada_free(counts);
    levada_free(slots);
    return st;
}

/* Refills the groups with all records at once, each in the group that it was in. */
static levada_status grouping_refill(levada_grouping *g, const uint32_t *slots, int64_t total,
                                     const int64_t *counts, levada_error *err)
{
    levada_block *rows = NULL;
    levada_status st;

    LEVADA_TRY(grouping_reserve(g, total, err));
    g->at = 0;
    g->n = total;
    if (total) {
        memcpy(g->arrivals, slots, (size_t)total * sizeof *slots);
        LEVADA_TRY(levada_rowstore_peek(g->store, slots, total, &rows, err));
        st = grouping_measure(g, rows, err);
        levada_block_unref(&rows);
        LEVADA_TRY(st);
    }
    for (int64_t i = 0; i < g->options.groups; i++) {
        grouping_empty(&g->groups[i]);
        if (counts[i]) LEVADA_TRY(levada_grouping_put(g, i, counts[i], err));
    }
    return LEVADA_OK;
}

levada_status levada_grouping_restore(void *state, levada_state_reader *from, levada_error *err)
{
    levada_grouping *g = state;
    const int64_t   *counts = NULL;
    uint32_t        *slots = NULL;
    int64_t          n = 0, total = 0, sum = 0;
    levada_status    st;

    if (levada_state_has(from, "n")) { /* version 1 of `batch` and `padded_batch` */
        return levada_fail(err, LEVADA_EFAILED_PRECONDITION,
                           "the checkpoint was saved by an older version of the stage; use the "
                           "version of levada that saved it");
    }
    LEVADA_TRY(levada_state_get_i64s(from, "counts", &counts, &n, err));
    LEVADA_TRY(levada_state_get_count(from, "total", INT32_MAX, &total, err));
    for (int64_t i = 0; i < n && sum <= total; i++) {
        sum = counts[i] < 0 || counts[i] > total - sum ? INT64_MAX : sum + counts[i];
    }
    if (n != g->options.groups || sum > total) {
        return levada_state_damaged(from, "counts", err,
                                    "not the records of %lld groups, of %lld in all",
                                    (long long)g->options.groups, (long long)total);
    }
    LEVADA_TRY(levada_rowstore_restore(g->store, from, "rows", total, &slots, err));
    st = grouping_refill(g, slots, total, counts, err);
    levada_slots_free(&slots);
    if (st == LEVADA_OK && g->options.policy->restore) {
        st = g->options.policy->restore(g->options.self, g, from, err);
    }
    return st;
}

/* -- by size */

static levada_status grouping_place_by_size(const void *self, levada_grouping *g, int64_t *full,
                                            levada_error *err)
{
    int64_t size = *(const int64_t *)self, left = size - g->groups[0].n, rows = g->n - g->at;

    if (left > 0) LEVADA_TRY(levada_grouping_put(g, 0, rows < left ? rows : left, err));
    if (g->groups[0].n >= size) *full = 0;
    return LEVADA_OK;
}

const levada_grouping_policy levada_grouping_by_size = { .place = grouping_place_by_size };
