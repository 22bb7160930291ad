/* SPDX-License-Identifier: Apache-2.0 */
#include "batch/lookahead.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "base/random.h"
#include "base/sort.h"
#include "batch/cuts.h"
#include "state/damaged.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LOOKAHEAD_UNDERFULL 2.0 /* more than any waste */

typedef struct lookahead_batch {
    int64_t from, to; /* positions in the sorted order */
    double  waste;    /* share of its cost that is padding */
    bool    old, leaves;
} lookahead_batch;

/* One window while it is planned. Nothing else changes before it is complete. */
typedef struct lookahead_plan {
    const levada_group *group;
    int64_t             n, nkeys;
    levada_sort_entry  *order, *spare; /* positions in the group */
    lookahead_batch    *batches;
    int64_t             nbatches, capacity;
    int64_t            *chosen; /* numbers of batches: those that leave come first */
    int64_t             nchosen;
} lookahead_plan;

static levada_status lookahead_memory(levada_error *err)
{
    return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for the look-ahead");
}

void levada_lookahead_clear(levada_lookahead *ahead)
{
    levada_free(ahead->batches);
    levada_free(ahead->ages);
    memset(ahead, 0, sizeof *ahead);
}

/* -- sorting */

/* Sorts order[first, last) by value, stably. */
static void lookahead_sort(lookahead_plan *p, int64_t first, int64_t last)
{
    levada_sort(p->order + first, p->spare, last - first);
}

static int64_t lookahead_length(const lookahead_plan *p, int64_t position, int64_t key)
{
    int64_t length = p->group->keys[position * p->nkeys + key];

    return length > 0 ? length : 0;
}

/* Returns the sum of all lengths but the first. */
static int64_t lookahead_rest(const lookahead_plan *p, int64_t position)
{
    int64_t sum = 0;

    for (int64_t k = 1; k < p->nkeys; k++) {
        int64_t length = lookahead_length(p, position, k);

        sum = sum > INT64_MAX - length ? INT64_MAX : sum + length;
    }
    return sum;
}

/* Sorts by several lengths: slices of like first length, each sorted by the others, up and down in
 * turn, so that neighbors are alike across slices too. The number of slices is the root of the
 * number of batches, so that both lengths vary by about as much within a batch. */
static void lookahead_sort_slices(lookahead_plan *p, int64_t batches)
{
    int64_t slices = (int64_t)ceil(sqrt((double)batches));

    for (int64_t s = 0; s < slices; s++) {
        int64_t first = p->n * s / slices, last = p->n * (s + 1) / slices, most = 0;

        for (int64_t i = first; i < last; i++) {
            int64_t rest = lookahead_rest(p, p->order[i].position);

            p->order[i].value = rest;
            if (rest > most) most = rest;
        }
        for (int64_t i = first; s % 2 && i < last; i++) {
            p->order[i].value = most - p->order[i].value;
        }
        lookahead_sort(p, first, last);
    }
}

/* -- cutting */

static levada_status lookahead_add_batch(lookahead_plan *p, const lookahead_batch *batch,
                                         levada_error *err)
{
    if (!levada_reserve(&p->batches, &p->capacity, p->nbatches + 1, sizeof *p->batches)) {
        return lookahead_memory(err);
    }
    p->batches[p->nbatches++] = *batch;
    return LEVADA_OK;
}

static bool lookahead_is_old(const levada_lookahead *l, int64_t position)
{
    return position < l->nages && l->ages[position] >= LEVADA_LOOKAHEAD_AGE;
}

/* Moves the beginning of a batch down while it stays within the budget. *each: the cost of one of
 * its records, padded; *real: the sum of their own costs. */
static levada_status lookahead_grow(const levada_lookahead *l, const lookahead_plan *p,
                                    lookahead_batch *b, double *each, double *real,
                                    levada_error *err)
{
    int64_t longest[LEVADA_GROUP_KEYS] = { 0 };
    double  own = 0;

    while (b->from > 0 && b->to - b->from < l->batch_size) {
        int64_t        position = p->order[b->from - 1].position, wider[LEVADA_GROUP_KEYS];
        double         with = *each;
        const int64_t *keys = p->group->keys + position * p->nkeys;
        bool           wide = false;

        for (int64_t k = 0; k < p->nkeys; k++) {
            wider[k] = keys[k] > longest[k] ? keys[k] : longest[k];
            wide = wide || wider[k] > longest[k];
        }
        if (wide || b->from == b->to) LEVADA_TRY(levada_cost_record(l->cost, wider, &with, err));
        if (b->from < b->to && levada_cost_exceeds(l->cost, b->to - b->from + 1, with)) break;
        LEVADA_TRY(levada_cost_record(l->cost, keys, &own, err));
        memcpy(longest, wider, sizeof longest);
        *each = with;
        *real += own;
        b->from--;
        b->old = b->old || lookahead_is_old(l, position);
    }
    return LEVADA_OK;
}

/* Cuts the largest batch that ends before position `to` of the order. */
static levada_status lookahead_cut(const levada_lookahead *l, const lookahead_plan *p,
                                   lookahead_batch *b, levada_error *err)
{
    double each = 0, own = 0, real = 0;
    bool   underfull;

    b->from = b->to;
    LEVADA_TRY(lookahead_grow(l, p, b, &each, &real, err));
    underfull = b->from == 0 && b->to < l->batch_size &&
                !levada_cost_exceeds(l->cost, b->to + 1, each);
    while (b->to - b->from > l->world && (b->to - b->from) % l->world) {
        const int64_t *keys = p->group->keys + p->order[b->from++].position * p->nkeys;

        LEVADA_TRY(levada_cost_record(l->cost, keys, &own, err));
        real -= own;
    }
    b->waste = 1 - real / (each * (double)(b->to - b->from));
    if (underfull) b->waste = LOOKAHEAD_UNDERFULL;
    return LEVADA_OK;
}

static levada_status lookahead_cut_all(const levada_lookahead *l, lookahead_plan *p,
                                       levada_error *err)
{
    int64_t to = p->n;

    p->nbatches = 0;
    while (to > 0) {
        lookahead_batch batch = { .to = to };

        LEVADA_TRY(lookahead_cut(l, p, &batch, err));
        LEVADA_TRY(lookahead_add_batch(p, &batch, err));
        to = batch.from;
    }
    return LEVADA_OK;
}

/* -- cutting where it pads least: one length, a budget, and a cost that rises with the length.
 * Records are cut in units of `world`; the shortest ones that make no unit are a batch of their
 * own. */

static bool lookahead_can_pad_least(const levada_lookahead *l, const lookahead_plan *p)
{
    return p->nkeys == 1 && l->batch_size == INT64_MAX && l->cost->kind != LEVADA_COST_FUNCTION;
}

/* Computes the cost of each record, in their order. */
static levada_status lookahead_costs(const levada_lookahead *l, const lookahead_plan *p,
                                     double *own, levada_error *err)
{
    for (int64_t i = 0; i < p->n; i++) {
        LEVADA_TRY(levada_cost_record(l->cost, &p->order[i].value, &own[i], err));
    }
    return LEVADA_OK;
}

static lookahead_batch lookahead_batch_of(const levada_lookahead *l, const lookahead_plan *p,
                                          const double *own, int64_t from, int64_t to)
{
    lookahead_batch b = { .from = from, .to = to };
    double          real = 0;

    for (int64_t i = from; i < to; i++) {
        real += own[i];
        b.old = b.old || lookahead_is_old(l, p->order[i].position);
    }
    b.waste = 1 - real / (own[to - 1] * (double)(to - from));
    return b;
}

/* Pads the least; `units` is the cost of the longest record of each unit. */
static levada_status lookahead_pad_least(const levada_lookahead *l, lookahead_plan *p,
                                         const double *own, double *units, int32_t *begin,
                                         levada_error *err)
{
    double  budget = (double)l->cost->budget;
    int64_t rest = p->n % l->world, at = p->n / l->world;

    for (int64_t i = 0; i < at; i++) units[i] = own[rest + (i + 1) * l->world - 1];
    if (at) LEVADA_TRY(levada_cuts_find(units, (int32_t)at, budget, budget / 2, begin, err));
    for (; at > 0; at = begin[at]) {
        lookahead_batch b = lookahead_batch_of(l, p, own, rest + begin[at] * l->world,
                                               rest + at * l->world);

        LEVADA_TRY(lookahead_add_batch(p, &b, err));
    }
    if (rest) {
        lookahead_batch b = lookahead_batch_of(l, p, own, 0, rest);

        LEVADA_TRY(lookahead_add_batch(p, &b, err));
    }
    return LEVADA_OK;
}

static levada_status lookahead_cut_least(const levada_lookahead *l, lookahead_plan *p,
                                         levada_error *err)
{
    size_t        n = (size_t)p->n + 1;
    double       *own = levada_alloc(2 * n * sizeof *own);
    int32_t      *begin = levada_alloc(n * sizeof *begin);
    levada_status st = own && begin ? LEVADA_OK : lookahead_memory(err);

    if (st == LEVADA_OK) st = lookahead_costs(l, p, own, err);
    if (st == LEVADA_OK) st = lookahead_pad_least(l, p, own, own + n, begin, err);
    levada_free(own);
    levada_free(begin);
    return st;
}

/* -- choosing */

static const lookahead_batch *lookahead_at(const void *p) { return *(lookahead_batch *const *)p; }

/* Orders batches: first those that must leave first, then by waste, and equal ones by their
 * lengths. */
static int lookahead_compare(const void *a, const void *b)
{
    const lookahead_batch *x = lookahead_at(a), *y = lookahead_at(b);

    if (x->old != y->old) return x->old ? -1 : 1;
    if (x->waste < y->waste || x->waste > y->waste) return x->waste < y->waste ? -1 : 1;
    return (x->from < y->from) - (x->from > y->from);
}

/* Marks the batches that leave. */
static levada_status lookahead_choose(const levada_lookahead *l, lookahead_plan *p, bool last,
                                      levada_error *err)
{
    lookahead_batch **ranked = levada_alloc((size_t)p->nbatches * sizeof(lookahead_batch *) + 1);
    int64_t           leaving = 0;

    if (!ranked) return lookahead_memory(err);
    for (int64_t i = 0; i < p->nbatches; i++) ranked[i] = &p->batches[i];
    qsort(ranked, (size_t)p->nbatches, sizeof *ranked, lookahead_compare);
    for (int64_t i = 0; i < p->nbatches; i++) {
        lookahead_batch *b = ranked[i];

        if (!last && !b->old && leaving >= (p->n + 1) / 2) break;
        if (b->to - b->from < l->world && !(last && l->fill)) continue;
        if (last && l->drop_rest && b->waste >= LOOKAHEAD_UNDERFULL) continue;
        b->leaves = true;
        leaving += b->to - b->from;
    }
    levada_free(ranked);
    return LEVADA_OK;
}

/* -- the plan */

static levada_status lookahead_open(lookahead_plan *p, const levada_grouping *g, levada_error *err)
{
    size_t n = (size_t)g->groups[0].n;

    p->group = &g->groups[0];
    p->n = p->group->n;
    p->nkeys = g->nkeys;
    p->order = levada_alloc(n * sizeof *p->order);
    p->spare = levada_alloc(n * sizeof *p->spare);
    if (!p->order || !p->spare) return lookahead_memory(err);
    for (int64_t i = 0; i < p->n; i++) {
        p->order[i] = (levada_sort_entry){ lookahead_length(p, i, 0), (uint32_t)i };
    }
    return LEVADA_OK;
}

static void lookahead_close(lookahead_plan *p)
{
    levada_free(p->order);
    levada_free(p->spare);
    levada_free(p->batches);
    levada_free(p->chosen);
}

static levada_status lookahead_cut_window(const levada_lookahead *l, lookahead_plan *p,
                                          levada_error *err)
{
    lookahead_sort(p, 0, p->n);
    if (lookahead_can_pad_least(l, p)) return lookahead_cut_least(l, p, err);
    LEVADA_TRY(lookahead_cut_all(l, p, err));
    if (p->nkeys == 1) return LEVADA_OK;
    lookahead_sort_slices(p, p->nbatches);
    return lookahead_cut_all(l, p, err);
}

/* Shuffles the batches that leave; the last one leaves first. */
static levada_status lookahead_shuffle(levada_lookahead *l, lookahead_plan *p,
                                       const levada_context *context, levada_error *err)
{
    uint64_t key = levada_random_key(context->seed, (uint64_t)context->epoch);

    key = levada_random_key(key, (uint64_t)context->pass);
    p->chosen = levada_alloc((size_t)p->nbatches * sizeof *p->chosen + 1);
    if (!p->chosen || !levada_reserve(&l->batches, &l->batches_capacity, p->nbatches,
                                      sizeof *l->batches)) {
        return lookahead_memory(err);
    }
    for (int64_t i = 0; i < p->nbatches; i++) {
        uint64_t bits;
        int64_t  at;

        if (!p->batches[i].leaves) continue;
        bits = levada_random_at(key, (uint64_t)l->drawn++);
        at = (int64_t)levada_random_below(bits, (uint64_t)p->nchosen + 1);
        p->chosen[p->nchosen] = p->chosen[at];
        p->chosen[at] = i;
        p->nchosen++;
    }
    return LEVADA_OK;
}

static void lookahead_copy(const lookahead_plan *p, const lookahead_batch *b, uint32_t *slots,
                           int64_t *keys, int64_t to)
{
    for (int64_t i = b->from; i < b->to; i++, to++) {
        int64_t position = p->order[i].position;

        slots[to] = p->group->slots[position];
        for (int64_t k = 0; k < p->nkeys; k++) {
            keys[to * p->nkeys + k] = p->group->keys[position * p->nkeys + k];
        }
    }
}

/* Makes the records that wait one window older. */
static int64_t lookahead_wait(levada_lookahead *l, const lookahead_plan *p, uint8_t *ages)
{
    int64_t n = 0;

    for (int64_t i = p->nbatches - 1; i >= 0; i--) { /* ascending lengths */
        const lookahead_batch *b = &p->batches[i];

        for (int64_t at = b->from; !b->leaves && at < b->to; at++) {
            int64_t position = p->order[at].position;
            uint8_t age = position < l->nages ? l->ages[position] : 0;

            ages[n++] = age < UINT8_MAX ? (uint8_t)(age + 1) : age;
        }
    }
    return n;
}

/* Writes the plan into group 0. */
static levada_status lookahead_commit(levada_lookahead *l, lookahead_plan *p, levada_grouping *g,
                                      levada_error *err)
{
    levada_group *group = &g->groups[0];
    size_t        n = (size_t)p->n;
    uint32_t     *slots = levada_alloc(n * sizeof *slots);
    int64_t      *keys = levada_alloc(n * (size_t)p->nkeys * sizeof *keys), to = 0;
    uint8_t      *ages = levada_alloc(n);
    levada_status st = LEVADA_OK;

    if (!slots || !keys || !ages ||
        !levada_reserve(&l->ages, &l->ages_capacity, p->n, sizeof *ages)) {
        st = lookahead_memory(err);
    }
    if (st == LEVADA_OK) st = lookahead_shuffle(l, p, g->context, err);
    if (st == LEVADA_OK) {
        for (int64_t i = p->nbatches - 1; i >= 0; i--) {
            if (p->batches[i].leaves) continue;
            lookahead_copy(p, &p->batches[i], slots, keys, to);
            to += p->batches[i].to - p->batches[i].from;
        }
        l->nages = lookahead_wait(l, p, ages);
        memcpy(l->ages, ages, (size_t)l->nages);
        for (int64_t i = 0; i < p->nchosen; i++) {
            const lookahead_batch *b = &p->batches[p->chosen[i]];

            lookahead_copy(p, b, slots, keys, to);
            l->batches[i] = b->to - b->from;
            to += l->batches[i];
        }
        l->nbatches = p->nchosen;
        LEVADA_ASSERT(to == p->n);
        memcpy(group->slots, slots, n * sizeof *slots);
        memcpy(group->keys, keys, n * (size_t)p->nkeys * sizeof *keys);
    }
    levada_free(slots);
    levada_free(keys);
    levada_free(ages);
    return st;
}

static levada_status lookahead_window(levada_lookahead *l, levada_grouping *g, bool last,
                                      levada_error *err)
{
    lookahead_plan plan = { 0 };
    levada_status  st = lookahead_open(&plan, g, err);

    if (st == LEVADA_OK) st = lookahead_cut_window(l, &plan, err);
    if (st == LEVADA_OK) st = lookahead_choose(l, &plan, last, err);
    if (st == LEVADA_OK) st = lookahead_commit(l, &plan, g, err);
    lookahead_close(&plan);
    return st;
}

static levada_status lookahead_leave(levada_lookahead *l, levada_grouping *g, int64_t *full,
                                     levada_error *err)
{
    LEVADA_TRY(levada_grouping_move(g, 0, l->batches[l->nbatches - 1], 1, err));
    l->nbatches--;
    *full = 1;
    return LEVADA_OK;
}

levada_status levada_lookahead_place(levada_lookahead *l, levada_grouping *g, int64_t rows,
                                     int64_t *full, levada_error *err)
{
    int64_t space = l->records - g->groups[0].n;

    if (l->nbatches == 0 && space > 0) {
        return levada_grouping_put(g, 0, rows < space ? rows : space, err);
    }
    if (l->nbatches == 0) LEVADA_TRY(lookahead_window(l, g, false, err));
    return lookahead_leave(l, g, full, err);
}

levada_status levada_lookahead_end(levada_lookahead *l, levada_grouping *g, int64_t *full,
                                   levada_error *err)
{
    if (l->nbatches == 0 && g->groups[0].n > 0) LEVADA_TRY(lookahead_window(l, g, true, err));
    return l->nbatches ? lookahead_leave(l, g, full, err) : LEVADA_OK;
}

/* -- states */

levada_status levada_lookahead_save(const levada_lookahead *l, levada_state_writer *to,
                                    levada_error *err)
{
    LEVADA_TRY(levada_state_put_i64(to, "drawn", l->drawn, err));
    LEVADA_TRY(levada_state_put_i64s(to, "batches", l->batches, l->nbatches, err));
    return levada_state_put_bytes(to, "ages", l->ages, (size_t)l->nages, err);
}

/* Checks that planned batches and records that wait are all of group 0, unless more have arrived
 * since. */
static bool lookahead_is_sound(const levada_grouping *g, const int64_t *batches, int64_t n,
                               int64_t ages)
{
    int64_t left = g->groups[0].n - ages;

    for (int64_t i = 0; i < n && left >= 0; i++) left = batches[i] > 0 ? left - batches[i] : -1;
    return n ? left == 0 : left >= 0;
}

levada_status levada_lookahead_restore(levada_lookahead *l, const levada_grouping *g,
                                       levada_state_reader *from, levada_error *err)
{
    const int64_t *batches = NULL;
    const void    *ages = NULL;
    int64_t        n = 0, drawn = 0;
    size_t         nages = 0;

    LEVADA_TRY(levada_state_get_count(from, "drawn", LEVADA_COUNT_LIMIT, &drawn, err));
    LEVADA_TRY(levada_state_get_i64s(from, "batches", &batches, &n, err));
    LEVADA_TRY(levada_state_get_bytes(from, "ages", &ages, &nages, err));
    if (nages > LEVADA_LOOKAHEAD_MOST || !lookahead_is_sound(g, batches, n, (int64_t)nages)) {
        return levada_state_damaged(from, "batches", err,
                                    "not the sizes of batches of %lld records", (long long)nages);
    }
    if (!levada_reserve(&l->batches, &l->batches_capacity, n, sizeof *l->batches) ||
        !levada_reserve(&l->ages, &l->ages_capacity, (int64_t)nages, 1)) {
        return lookahead_memory(err);
    }
    if (n) memcpy(l->batches, batches, (size_t)n * sizeof *batches);
    if (nages) memcpy(l->ages, ages, nages);
    l->nbatches = n;
    l->nages = (int64_t)nages;
    l->drawn = drawn;
    return LEVADA_OK;
}
