/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pack - several sequences in one record of at most `length` steps.
 *
 * A policy of the grouping engine: group i is bin i, and the key of a record is its length. A
 * record goes to the open bin that it fills best. If it fits in none, the fullest bin leaves. Bins
 * that are full leave at once, the others at the end of the input in ascending order. A bin keeps
 * its records in the order of arrival. Everything follows from the order of records alone.
 *
 * Bins are kept in the order of the space that they have left, so the best one is found by
 * bisection. An empty bin has all of its space left: it is used where no other bin fits.
 *
 * A record that is cut is in several bins. The engine buffers it whole in each of them, so that it
 * can be saved by origin, and a *cut* names the steps that the bin has of it. They are cut out when
 * the bin leaves.
 */
#include "base/alloc.h"
#include "batch/grouping.h"
#include "batch/packing.h"
#include "registry/env_priv.h"
#include "registry/stage_core.h"
#include "state/damaged.h"

#include <stdlib.h>
#include <string.h>

#define PACK_BINS     65536
#define PACK_LENGTH   (INT64_C(1) << 28)
#define PACK_TOGETHER 256
#define PACK_STEPS    (INT64_C(1) << 19) /* steps of a block of packed records, about */

enum { PACK_ERROR, PACK_TRUNCATE, PACK_SKIP, PACK_SPLIT };

typedef struct pack_args {
    int64_t      length, open_bins, too_long, max_segments, multiple_of;
    levada_texts fields;
    bool         split, ids;
} pack_args;

typedef struct pack_cut {
    int64_t bin, at; /* its record number `at`; when the bin leaves: row `at` of the block */
    int64_t begin, size;
} pack_cut;

typedef struct pack_cuts {
    pack_cut *at;
    int64_t   n, capacity;
} pack_cuts;

typedef struct pack_state {
    levada_grouping  grouping; /* first, as its hooks expect */
    const pack_args *args;
    levada_packing   packing;
    int64_t         *left;    /* space of each bin                                       */
    int64_t         *order;   /* of each bin: space left * PACK_BINS + its number; ascending */
    int64_t          done;    /* steps of the next arrival that are in bins already */
    pack_cuts        open;    /* of bins, ascending by `at` within a bin            */
    pack_cuts        leaving; /* of bins that leave, ascending                      */
    levada_block    *whole;   /* the record that was cut last, if it came encoded: decoded */
    levada_block    *whole_of; /* and the block that it was row `whole_row` of              */
    int64_t          whole_row;
    levada_derived   columns;
} pack_state;

static const levada_arg pack_options[] = {
    LEVADA_ARG(INT, pack_args, length, .required = true, .positional = true, .min = 1,
               .max = PACK_LENGTH, .doc = "maximum number of steps in a packed record"),
    LEVADA_ARG(TEXTS, pack_args, fields,
               .doc = "fields to pack, with the same length in each record; null = all ragged "
                      "fields; other fields become lists with one value per segment"),
    LEVADA_ARG(INT, pack_args, open_bins, .otherwise = "64", .min = 1, .max = PACK_BINS,
               .doc = "number of packed records that are filled at the same time"),
    LEVADA_ARG(BOOL, pack_args, split, .otherwise = "false",
               .doc = "fill each packed record completely and cut the last sequence; false = only "
                      "too_long cuts sequences"),
    LEVADA_ARG(CHOICE, pack_args, too_long, .choices = "error|truncate|skip|split",
               .doc = "policy for a record longer than length: bad record, truncate it, skip and "
                      "count it, or split it into pieces"),
    LEVADA_ARG(INT, pack_args, max_segments, .otherwise = "65536", .min = 1, .max = 65536,
               .doc = "maximum number of sequences in a packed record"),
    LEVADA_ARG(INT, pack_args, multiple_of, .otherwise = "1", .min = 1, .max = PACK_LENGTH,
               .doc = "each sequence takes the next multiple of this many steps of length, so that "
                      "context_parallel can pad it; length must be a multiple, too"),
    LEVADA_ARG(BOOL, pack_args, ids, .otherwise = "false",
               .doc = "add the fields FIELD_segment_ids (from 1) and FIELD_positions"),
    LEVADA_ARG_END
};

static levada_packing pack_how(const pack_args *a)
{
    levada_packing p = { .fields = a->fields, .ids = a->ids };

    return p;
}

static levada_status pack_check(const void *args, const levada_spec *in, levada_spec **out,
                                levada_error *err)
{
    const pack_args *a = args;
    levada_packing   p = pack_how(a);

    LEVADA_TRY(levada_spec_want_records(in, err));
    if (a->length % a->multiple_of) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "length=%lld must be a multiple of multiple_of=%lld",
                           (long long)a->length, (long long)a->multiple_of);
    }
    return levada_packing_spec(&p, in, out, err);
}

/* -- cuts */

static levada_status pack_memory(levada_error *err)
{
    return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for packed records");
}

static levada_status pack_cuts_reserve(pack_cuts *c, int64_t n, levada_error *err)
{
    return levada_reserve(&c->at, &c->capacity, n, sizeof *c->at) ? LEVADA_OK : pack_memory(err);
}

/* Notes the steps of the record that is placed in the bin next. Cuts that leave find space. */
static levada_status pack_cut_next(pack_state *s, int64_t bin, int64_t size, levada_error *err)
{
    LEVADA_TRY(pack_cuts_reserve(&s->open, s->open.n + 1, err));
    LEVADA_TRY(pack_cuts_reserve(&s->leaving, s->leaving.n + s->open.n + 1, err));
    s->open.at[s->open.n++] = (pack_cut){
        .bin = bin, .at = s->grouping.groups[bin].n, .begin = s->done, .size = size
    };
    return LEVADA_OK;
}

/* -- bins in the order of the space that they have left */

static int64_t pack_bins(const pack_state *s) { return s->grouping.options.groups; }

static int64_t pack_entry(int64_t left, int64_t bin) { return left * PACK_BINS + bin; }

/* Returns the first of the entries order[low ... low + n) that is not less. */
static int64_t pack_search(const pack_state *s, int64_t low, int64_t n, int64_t entry)
{
    while (n > 0) {
        int64_t half = n / 2;
        bool    less = s->order[low + half] < entry;

        low = less ? low + half + 1 : low;
        n = less ? n - half - 1 : half;
    }
    return low;
}

/* Moves a bin, whose place in the order is p, to where it belongs with this much space. */
static void pack_reorder(pack_state *s, int64_t p, int64_t bin, int64_t left)
{
    int64_t *order = s->order, entry = pack_entry(left, bin), to;

    if (entry < order[p]) {
        to = pack_search(s, 0, p, entry);
        memmove(order + to + 1, order + to, (size_t)(p - to) * sizeof *order);
    } else {
        to = pack_search(s, p + 1, pack_bins(s) - p - 1, entry) - 1;
        memmove(order + p, order + p + 1, (size_t)(to - p) * sizeof *order);
    }
    order[to] = entry;
    s->left[bin] = left;
}

/* Returns the steps of a bin that a sequence of `size` steps takes. */
static int64_t pack_space(const pack_state *s, int64_t size)
{
    int64_t m = s->args->multiple_of;

    return (size + m - 1) / m * m;
}

/* -- the policy */

static levada_status pack_keys(const void *self, const levada_block *block, int64_t *keys,
                               levada_error *err)
{
    return levada_packing_measure(&((const pack_state *)self)->packing, block, keys, err);
}

static void pack_leaves(levada_grouping *g, int64_t group)
{
    pack_state *s = (pack_state *)(void *)g;
    int64_t     kept = 0;

    pack_reorder(s, pack_search(s, 0, pack_bins(s), pack_entry(s->left[group], group)), group,
                 s->args->length);
    for (int64_t i = 0; i < s->open.n; i++) {
        pack_cut cut = s->open.at[i];

        if (cut.bin != group) {
            s->open.at[kept++] = cut;
            continue;
        }
        cut.at += g->nleaving;
        s->leaving.at[s->leaving.n++] = cut;
    }
    s->open.n = kept;
}

static levada_status pack_uneven(pack_state *s, levada_error *err)
{
    levada_error  why = LEVADA_ERROR_INIT;
    levada_block *record = NULL;

    LEVADA_TRY(levada_rowstore_peek(s->grouping.store, &s->grouping.arrivals[s->grouping.at], 1,
                                    &record, err));
    (void)levada_packing_uneven(&s->packing, record, &why);
    levada_block_unref(&record);
    return levada_grouping_reject(&s->grouping, &why, err);
}

static levada_status pack_too_long(pack_state *s, int64_t length, levada_error *err)
{
    levada_error why = LEVADA_ERROR_INIT;

    if (s->args->too_long == PACK_SKIP) return levada_grouping_drop(&s->grouping, err);
    (void)levada_fail(&why, LEVADA_EINVALID_ARGUMENT,
                      "a record of length %lld is longer than length=%lld; too_long= truncates, "
                      "skips or splits such records",
                      (long long)length, (long long)s->args->length);
    return levada_grouping_reject(&s->grouping, &why, err);
}

/* Puts `size` steps of the next arrival, of which `rest` remain, in bin number p of the order. */
static levada_status pack_put(pack_state *s, int64_t p, int64_t size, int64_t rest, bool last,
                              levada_error *err)
{
    levada_grouping *g = &s->grouping;
    int64_t          bin = s->order[p] % PACK_BINS;

    if (s->done || size < rest) LEVADA_TRY(pack_cut_next(s, bin, size, err));
    LEVADA_TRY(last ? levada_grouping_put(g, bin, 1, err)
                    : levada_grouping_put_again(g, bin, err));
    s->done = last ? 0 : s->done + size;
    pack_reorder(s, p, bin, s->left[bin] - pack_space(s, size));
    return LEVADA_OK;
}

static bool pack_is_full(const pack_state *s, int64_t bin)
{
    return s->left[bin] == 0 || s->grouping.groups[bin].n >= s->args->max_segments;
}

/* Places one record, or one piece of it. */
static levada_status pack_place_next(pack_state *s, int64_t *full, levada_error *err)
{
    levada_grouping *g = &s->grouping;
    const pack_args *a = s->args;
    int64_t          rest = g->keys[g->at] - s->done, size = rest, p, bin;
    bool             pieces = a->split || a->too_long == PACK_SPLIT;
    bool bad = rest < 0 || (rest > a->length && !pieces && a->too_long != PACK_TRUNCATE);

    if (bad && g->nends) { /* those before it leave, whatever becomes of it */
        *full = LEVADA_GROUPING_EMIT;
        return LEVADA_OK;
    }
    if (bad) return rest < 0 ? pack_uneven(s, err) : pack_too_long(s, rest, err);
    if (size > a->length) size = a->length;
    if (a->split && size > s->left[0]) size = s->left[0];
    p = pack_search(s, 0, pack_bins(s), pack_entry(pack_space(s, size), 0));
    if (p == pack_bins(s)) {
        *full = s->order[0] % PACK_BINS;
        return LEVADA_OK;
    }
    bin = s->order[p] % PACK_BINS;
    LEVADA_TRY(pack_put(s, p, size, rest, size == rest || !pieces, err));
    if (pack_is_full(s, bin)) *full = bin;
    return LEVADA_OK;
}

static levada_status pack_place(const void *self, levada_grouping *g, int64_t *full,
                                levada_error *err)
{
    pack_state *s = (pack_state *)(void *)g;

    (void)self;
    while (g->at < g->n && *full == -1) LEVADA_TRY(pack_place_next(s, full, err));
    return LEVADA_OK;
}

static const levada_grouping_policy pack_policy = {
    .keys = pack_keys,
    .place = pack_place,
    .leaves = pack_leaves,
};

/* -- as a stage */

static levada_status pack_open(void *state, const void *args, const levada_context *context,
                               levada_error *err)
{
    pack_state                   *s = state;
    const pack_args              *a = args;
    int64_t                       most = PACK_STEPS / a->length;
    const levada_grouping_options options = {
        .policy = &pack_policy,
        .self = s,
        .groups = a->split ? 1 : a->open_bins,
        .decode = a->split, /* most records would be decoded to be cut */
        .together = (int32_t)(most < 1 ? 1 : most < PACK_TOGETHER ? most : PACK_TOGETHER),
    };

    s->args = a;
    s->packing = pack_how(a);
    LEVADA_TRY(levada_grouping_open(&s->grouping, context, &options, err));
    if (context->fused_end) return LEVADA_OK;
    s->left = levada_alloc((size_t)options.groups * 2 * sizeof *s->left);
    if (!s->left) return pack_memory(err);
    s->order = s->left + options.groups;
    for (int64_t i = 0; i < options.groups; i++) {
        s->left[i] = a->length;
        s->order[i] = pack_entry(a->length, i);
    }
    return LEVADA_OK;
}

static void pack_close(void *state)
{
    pack_state *s = state;

    levada_grouping_close(&s->grouping);
    levada_derived_clear(&s->columns);
    levada_block_unref(&s->whole);
    levada_block_unref(&s->whole_of);
    levada_free(s->left);
    levada_free(s->open.at);
    levada_free(s->leaving.at);
}

/* Returns the size of a record before this piece; the first piece may be of any size. */
static int32_t pack_part(const pack_state *s, const pack_cut *cut)
{
    return (int32_t)((cut->begin + s->args->length - 1) / s->args->length);
}

/* Decodes a record of the selection with values to cut: *row of *out, which is borrowed. An encoded
 * one is decoded once for all of its pieces that leave one after the other. */
static levada_status pack_decode(pack_state *s, const levada_block *rows, int64_t at,
                                 const levada_block **out, int64_t *row, levada_error *err)
{
    levada_pool  *pool = levada_env_pool(s->grouping.context->env);
    levada_block *one = NULL, *whole = NULL;
    levada_status st;

    *out = levada_block_row(rows, at, row);
    if (!(*out)->encoded) return LEVADA_OK;
    if (*out != s->whole_of || *row != s->whole_row) {
        LEVADA_TRY(levada_block_slice(pool, *out, *row, 1, &one, err));
        st = levada_block_decoded(pool, one, &whole, err);
        levada_block_unref(&one);
        if (st != LEVADA_OK) return st;
        levada_block_unref(&s->whole);
        levada_block_unref(&s->whole_of);
        s->whole = whole;
        s->whole_of = levada_block_ref(*out);
        s->whole_row = *row;
    }
    *out = s->whole;
    *row = 0;
    return LEVADA_OK;
}

/* Cuts the pieces before the blocks that the selection names: cut number i is row 0 of from[i]. */
static levada_status pack_cut_blocks(pack_state *s, const levada_block *rows, levada_block **from,
                                     levada_error *err)
{
    levada_pool *pool = levada_env_pool(s->grouping.context->env);

    for (int64_t i = 0; i < s->leaving.n; i++) {
        const pack_cut     *cut = &s->leaving.at[i];
        const levada_block *record = NULL;
        int64_t             row = 0;

        LEVADA_TRY(pack_decode(s, rows, cut->at, &record, &row, err));
        LEVADA_TRY(levada_packing_cut(&s->packing, pool, record, row, cut->begin, cut->size,
                                      pack_part(s, cut), &from[i], err));
    }
    for (int32_t i = 0; i < rows->nfrom; i++) {
        from[s->leaving.n + i] = levada_block_ref(rows->from[i]);
    }
    return LEVADA_OK;
}

static levada_status pack_cut_index(const pack_state *s, const levada_block *rows,
                                    levada_buffer **index, levada_error *err)
{
    uint32_t *which;

    LEVADA_TRY(levada_buffer_create(levada_env_pool(s->grouping.context->env), rows->n * 8, index,
                                    err));
    which = (uint32_t *)(void *)(*index)->data;
    memcpy(which + rows->n, rows->row, (size_t)rows->n * sizeof *which);
    for (int64_t i = 0; i < rows->n; i++) which[i] = rows->which[i] + (uint32_t)s->leaving.n;
    for (int64_t i = 0; i < s->leaving.n; i++) {
        which[s->leaving.at[i].at] = (uint32_t)i;
        which[rows->n + s->leaving.at[i].at] = 0;
    }
    return LEVADA_OK;
}

/* Replaces the records of *rows that are cut by their pieces. */
static levada_status pack_cut_rows(pack_state *s, levada_block **rows, levada_error *err)
{
    int32_t        n = (int32_t)s->leaving.n + (*rows)->nfrom;
    levada_block **from = levada_alloc_zero((size_t)n * sizeof(*from)), *made = NULL;
    levada_buffer *index = NULL;
    levada_status  st = from ? pack_cut_blocks(s, *rows, from, err) : pack_memory(err);

    if (st == LEVADA_OK) st = pack_cut_index(s, *rows, &index, err);
    if (st == LEVADA_OK) {
        const uint32_t *which = (const uint32_t *)(const void *)index->data;

        st = levada_block_selection(from, n, which, which + (*rows)->n, (*rows)->n, &index, &made,
                                    err);
    }
    if (st == LEVADA_OK) {
        levada_block_set_layout(made, (*rows)->layout);
        levada_block_unref(rows);
        *rows = made;
        n = 0; /* taken */
    }
    for (int32_t i = 0; from && i < n; i++) levada_block_unref(&from[i]);
    levada_buffer_unref(&index);
    levada_free(from);
    return st;
}

static levada_status pack_next(void *state, const void *args, levada_input *in, levada_block **out,
                               levada_error *err)
{
    pack_state   *s = state;
    levada_block *made = NULL;
    levada_status st = levada_grouping_next(s, args, in, &made, err);

    if (st == LEVADA_OK && s->leaving.n) st = pack_cut_rows(s, &made, err);
    if (st == LEVADA_OK) *out = made;
    else levada_block_unref(&made);
    s->leaving.n = 0;
    return st;
}

static levada_status pack_apply(void *state, const void *args, const levada_block *in,
                                levada_block **out, levada_error *err)
{
    pack_state        *s = state;
    const levada_spec *spec = NULL;

    LEVADA_TRY(levada_derived_get(&s->columns, pack_check, args, in->spec, &spec, err));
    return levada_packing_apply(&s->packing, levada_env_pool(s->grouping.context->env), in, spec,
                                out, err);
}

/* -- states: the records as the engine saves them, and the cuts */

static levada_status pack_save(const void *state, levada_state_writer *to, levada_error *err)
{
    const pack_state *s = state;
    int64_t           n = s->open.n;
    int64_t          *cuts = levada_alloc((size_t)n * sizeof *s->open.at + 1);
    levada_status     st = cuts ? levada_grouping_save(s, to, err) : pack_memory(err);

    for (int64_t i = 0; st == LEVADA_OK && i < n; i++) {
        const pack_cut *cut = &s->open.at[i];

        cuts[i] = cut->bin;
        cuts[n + i] = cut->at;
        cuts[2 * n + i] = cut->begin;
        cuts[3 * n + i] = cut->size;
    }
    if (st == LEVADA_OK) st = levada_state_put_i64s(to, "cuts", cuts, 4 * n, err);
    if (st == LEVADA_OK) st = levada_state_put_i64(to, "done", s->done, err);
    levada_free(cuts);
    return st;
}

static levada_status pack_restore_cuts(pack_state *s, levada_state_reader *from, levada_error *err)
{
    const int64_t *cuts = NULL;
    int64_t        n = 0;

    LEVADA_TRY(levada_state_get_i64s(from, "cuts", &cuts, &n, err));
    if (n % 4) {
        return levada_state_damaged(from, "cuts", err, "%lld numbers, not 4 for each part",
                                    (long long)n);
    }
    LEVADA_TRY(levada_state_get_i64(from, "done", &s->done, err));
    n /= 4;
    LEVADA_TRY(pack_cuts_reserve(&s->open, n, err));
    LEVADA_TRY(pack_cuts_reserve(&s->leaving, n, err));
    for (int64_t i = 0; i < n; i++) {
        pack_cut cut = { cuts[i], cuts[n + i], cuts[2 * n + i], cuts[3 * n + i] };

        if (cut.bin < 0 || cut.bin >= pack_bins(s) || cut.at < 0 ||
            cut.at >= s->grouping.groups[cut.bin].n || cut.begin < 0 ||
            cut.begin > INT32_MAX || cut.size < 0 || cut.size > s->args->length) {
            return levada_state_damaged(from, "cuts", err, "part %lld does not fit in its bin",
                                        (long long)i);
        }
        s->open.at[i] = cut;
    }
    s->open.n = n;
    return LEVADA_OK;
}

static int pack_compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* Restores the space of the bins from the keys that the engine computed again, of all records in
 * order. */
static levada_status pack_restore_space(pack_state *s, const levada_state_reader *from,
                                        levada_error *err)
{
    const levada_grouping *g = &s->grouping;
    int64_t                k = 0, *first = s->order; /* for now: of each bin, its first key */

    for (int64_t bin = 0; bin < pack_bins(s); bin++) {
        s->left[bin] = s->args->length;
        first[bin] = k;
        for (int64_t i = 0; i < g->groups[bin].n; i++, k++) {
            if (g->keys[k] < 0) {
                return levada_state_damaged(from, "rows", err, "record %lld has no length",
                                            (long long)k);
            }
            s->left[bin] -= pack_space(s, g->keys[k]);
        }
    }
    if (s->done < 0 || (s->done && (k == g->n || s->done >= g->keys[k]))) {
        return levada_state_damaged(from, "done", err, "%lld steps of a record of %lld",
                                    (long long)s->done, (long long)(k < g->n ? g->keys[k] : 0));
    }
    for (int64_t i = 0; i < s->open.n; i++) {
        const pack_cut *cut = &s->open.at[i];
        int64_t         length = g->keys[first[cut->bin] + cut->at];

        if (cut->size > length - cut->begin) {
            return levada_state_damaged(from, "cuts", err, "part %lld ends after its record",
                                        (long long)i);
        }
        s->left[cut->bin] += pack_space(s, length) - pack_space(s, cut->size);
    }
    for (int64_t bin = 0; bin < pack_bins(s); bin++) {
        if (s->left[bin] < 0 || s->left[bin] > s->args->length) {
            return levada_state_damaged(from, "counts", err, "bin %lld is too full",
                                        (long long)bin);
        }
        s->order[bin] = pack_entry(s->left[bin], bin);
    }
    qsort(s->order, (size_t)pack_bins(s), sizeof *s->order, pack_compare);
    return LEVADA_OK;
}

static levada_status pack_restore(void *state, levada_state_reader *from, levada_error *err)
{
    pack_state *s = state;

    LEVADA_TRY(levada_grouping_restore(s, from, err));
    LEVADA_TRY(pack_restore_cuts(s, from, err));
    return pack_restore_space(s, from, err);
}

const levada_stage_def levada_stage_pack = {
    .struct_size = sizeof(levada_stage_def),
    .name = "pack",
    .doc = "packs several sequences into one record of at most `length` steps",
    .example = "text_lines:lines.txt | pack:20,fields=line",
    .mode = LEVADA_MODE_SERIAL,
    .traits = LEVADA_TRAITS(.divides = true),
    .core = LEVADA_STAGE_CORE(.late = LEVADA_LATE_TAKES),
    .takes_selection = true,
    .args = pack_options,
    .args_size = sizeof(pack_args),
    .state_size = sizeof(pack_state),
    .state_version = 1,
    .check = pack_check,
    .open = pack_open,
    .close = pack_close,
    .next = pack_next,
    .apply = pack_apply,
    .save = pack_save,
    .restore = pack_restore,
};
