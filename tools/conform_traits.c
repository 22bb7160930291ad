/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The conformance suite: a stage does to records what its traits declare.
 *
 * The stage is the last one of the example. What comes out is compared with what comes in, with
 * other seeds and epochs, and with what parts of the input become.
 */
#include "conform.h"

#include <levada/divide.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TRAITS_SEED 11
#define TRAITS_TRIES 8 /* other seeds or epochs: a few records may have the same order in some */

/* What a dataset returns: its units, a hash of each, and the origin of each row. */
typedef struct traits_run {
    levada_conform_rows rows;
    levada_cli_buffer   hashes, origins; /* uint64_t each */
} traits_run;

static void traits_clear(traits_run *run)
{
    levada_conform_rows_clear(&run->rows);
    levada_cli_buffer_clear(&run->hashes);
    levada_cli_buffer_clear(&run->origins);
}

static void traits_add(traits_run *run, const levada_block *block)
{
    int64_t first = run->rows.n;

    levada_conform_rows_add(&run->rows, block);
    for (; first < run->rows.n; first++) {
        uint64_t hash = levada_conform_rows_hash(&run->rows, first);

        levada_cli_add(&run->hashes, &hash, sizeof hash);
    }
    for (int64_t i = 0; i < levada_block_rows(block); i++) {
        levada_origin at = levada_block_origin(block, i);
        uint64_t      key = ((uint64_t)(uint32_t)at.source << 48) ^ (uint64_t)at.record ^
                       ((uint64_t)(uint32_t)at.shard << 32);

        levada_cli_add(&run->origins, &key, sizeof key);
    }
}

static levada_status traits_read(const levada_dataset *ds, int64_t seed, int64_t epoch,
                                 traits_run *to, levada_error *err)
{
    levada_iter_options o = LEVADA_ITER_OPTIONS_INIT;
    levada_iter        *it = NULL;
    levada_status       st;

    o.seed = seed;
    o.epoch = epoch;
    o.threads = 1;
    to->rows.batches = levada_spec_flags_of(levada_dataset_spec(ds)) & LEVADA_SPEC_BATCHED;
    st = levada_iter_open(ds, &o, &it, err);
    while (st == LEVADA_OK) {
        levada_block *block = NULL;

        st = levada_iter_next(it, &block, err);
        if (st == LEVADA_OK) traits_add(to, block);
        levada_block_unref(&block);
    }
    levada_iter_close(&it);
    return st == LEVADA_END ? LEVADA_OK : st;
}

static const uint64_t *traits_list(const levada_cli_buffer *list, size_t *n)
{
    *n = list->size / sizeof(uint64_t);
    return (const void *)list->at;
}

static bool traits_same(const levada_cli_buffer *a, const levada_cli_buffer *b)
{
    return a->size == b->size && (a->size == 0 || memcmp(a->at, b->at, a->size) == 0);
}

static int traits_order(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;

    return *x < *y ? -1 : *x > *y;
}

/* Returns true if they have the same entries in any order; sorts both. */
static bool traits_alike(levada_cli_buffer *a, levada_cli_buffer *b)
{
    if (a->size) qsort(a->at, a->size / sizeof(uint64_t), sizeof(uint64_t), traits_order);
    if (b->size) qsort(b->at, b->size / sizeof(uint64_t), sizeof(uint64_t), traits_order);
    return traits_same(a, b);
}

/* Returns true if `part` is what is left of `all`, in its order. */
static bool traits_within(const levada_cli_buffer *all, const levada_cli_buffer *part)
{
    size_t          n = 0, m = 0, k = 0;
    const uint64_t *a = traits_list(all, &n), *b = traits_list(part, &m);

    for (size_t i = 0; i < n && k < m; i++) k += a[i] == b[k];
    return k == m;
}

/* -- rows */

static bool traits_unchanged(const levada_traits *t)
{
    if (t->rows == LEVADA_ROWS_ONE_TO_ONE) return t->reads == LEVADA_READS_NONE;
    return t->rows == LEVADA_ROWS_SUBSET || t->rows == LEVADA_ROWS_PERMUTES;
}

static levada_conform_verdict traits_one_to_one(levada_conform *c, const levada_traits *t,
                                                const traits_run *in, const traits_run *out)
{
    int64_t         times = t->repeats > 1 ? t->repeats : 1;
    size_t          n = 0, m = 0;
    const uint64_t *a = traits_list(&in->origins, &n), *b = traits_list(&out->origins, &m);

    if (times == INT64_MAX) return LEVADA_CONFORM_GOOD;
    if (out->rows.n != in->rows.n * times) {
        return levada_conform_broken(c, "rows are ONE_TO_ONE: %lld of %lld", (long long)out->rows.n,
                                     (long long)in->rows.n);
    }
    for (size_t i = 0; n > 0 && i < m; i++) {
        if (a[i % n] == b[i]) continue;
        return levada_conform_broken(c, "rows are ONE_TO_ONE: record %zu has another origin", i);
    }
    return LEVADA_CONFORM_GOOD;
}

static levada_conform_verdict traits_rows(levada_conform *c, const levada_traits *t,
                                          traits_run *in, traits_run *out)
{
    switch (t->rows) {
    case LEVADA_ROWS_ONE_TO_ONE: return traits_one_to_one(c, t, in, out);
    case LEVADA_ROWS_SUBSET:
        if (traits_within(&in->hashes, &out->hashes)) break;
        return levada_conform_broken(c, "rows are a SUBSET: records changed, or their order did");
    case LEVADA_ROWS_PERMUTES:
        if (traits_alike(&in->hashes, &out->hashes)) break;
        return levada_conform_broken(c, "rows are PERMUTED: %lld records of %lld, or other ones",
                                     (long long)out->rows.n, (long long)in->rows.n);
    case LEVADA_ROWS_BATCHES:
        if (out->rows.batches) break;
        return levada_conform_broken(c, "rows are BATCHES: its columns are of records");
    case LEVADA_ROWS_UNBATCHES:
        if (in->rows.batches && !out->rows.batches && in->origins.size == out->origins.size) break;
        return levada_conform_broken(c, "it UNBATCHES: records are lost or made");
    case LEVADA_ROWS_MANY: break;
    }
    return LEVADA_CONFORM_GOOD;
}

/* -- random numbers */

/* Sets *differs if any of some other seeds (`epochs`: epochs) has other records. */
static levada_status traits_differs(const levada_dataset *ds, const traits_run *out, bool epochs,
                                    bool *differs, levada_error *err)
{
    levada_status st = LEVADA_OK;

    *differs = false;
    for (int i = 1; st == LEVADA_OK && !*differs && i <= TRAITS_TRIES; i++) {
        traits_run got = { 0 };

        st = traits_read(ds, epochs ? TRAITS_SEED : TRAITS_SEED + i, epochs ? i : 0, &got, err);
        *differs = st == LEVADA_OK && !traits_same(&out->hashes, &got.hashes);
        traits_clear(&got);
    }
    return st;
}

static levada_conform_verdict traits_random(levada_conform *c, const levada_traits *t,
                                            const levada_dataset *ds, const traits_run *out)
{
    bool own = levada_value_kind_of(levada_value_get(levada_dataset_options(ds), "seed")) >
               LEVADA_VALUE_NULL;
    bool          seeds = false, epochs = false;
    levada_error  err = LEVADA_ERROR_INIT;
    levada_status st = traits_differs(ds, out, false, &seeds, &err);

    if (st == LEVADA_OK) st = traits_differs(ds, out, true, &epochs, &err);
    if (st != LEVADA_OK) return levada_conform_failed(c, "another seed or epoch", &err);
    if (t->random == LEVADA_RANDOM_NONE && (seeds || epochs)) {
        return levada_conform_broken(c, "nothing is random: another %s has other records",
                                     seeds ? "seed" : "epoch");
    }
    if (t->random == LEVADA_RANDOM_BY_SEED && epochs) {
        return levada_conform_broken(c, "random BY_SEED: another epoch has other records");
    }
    if (t->random != LEVADA_RANDOM_NONE && !own && !seeds) {
        return levada_conform_broken(c, "something is random: all seeds have the same records");
    }
    if (t->random == LEVADA_RANDOM_BY_PASS && !epochs) {
        return levada_conform_broken(c, "random BY_PASS: all epochs have the same records");
    }
    return LEVADA_CONFORM_GOOD;
}

/* -- other inputs */

/* Runs the stage on the parts of its input: what they return together. */
static levada_status traits_parts(const levada_conform *c, const levada_dataset *ds,
                                  traits_run *to, levada_error *err)
{
    const levada_dataset *in = levada_dataset_input(ds, 0);
    levada_status         st = LEVADA_OK;

    for (int i = 0; st == LEVADA_OK && i < 2; i++) {
        levada_dataset *part = NULL, *made = NULL;
        levada_value   *options = NULL;

        st = levada_value_parse(i ? "{index:1,count:2}" : "{index:0,count:2}", &options, err);
        if (st == LEVADA_OK)
            st = levada_dataset_append(c->env, "shard", options, &in, 1, &part, err);
        if (st == LEVADA_OK) {
            const levada_dataset *inputs[] = { part };

            st = levada_dataset_remake(ds, NULL, inputs, 1, &made, err);
        }
        if (st == LEVADA_OK) st = traits_read(made, TRAITS_SEED, 0, to, err);
        levada_dataset_unref(&made);
        levada_dataset_unref(&part);
        levada_value_destroy(&options);
    }
    return st;
}

static levada_conform_verdict traits_divides(levada_conform *c, const levada_traits *t,
                                             const levada_dataset *ds, traits_run *out)
{
    bool         values = t->reads == LEVADA_READS_COLUMNS || traits_unchanged(t);
    traits_run   parts = { 0 };
    levada_error err = LEVADA_ERROR_INIT;
    bool         alike = true;

    if (traits_parts(c, ds, &parts, &err) != LEVADA_OK) {
        traits_clear(&parts);
        return levada_conform_failed(c, "it divides: on a part of its input", &err);
    }
    if (t->rows == LEVADA_ROWS_BATCHES || t->rows == LEVADA_ROWS_ONE_TO_ONE) {
        alike = traits_alike(&out->origins, &parts.origins);
    }
    if (values && t->rows != LEVADA_ROWS_BATCHES) {
        alike = alike && traits_alike(&out->hashes, &parts.hashes);
    }
    traits_clear(&parts);
    return alike
               ? LEVADA_CONFORM_GOOD
               : levada_conform_broken(c, "it divides: two halves of its input do not become what "
                                          "all of it becomes");
}

/* Numbers in place of the records of a source: the choice must be the same. */
static levada_conform_verdict traits_blind(levada_conform *c, const levada_dataset *ds,
                                           const traits_run *in, const traits_run *out)
{
    levada_dataset *numbers = NULL, *made = NULL;
    traits_run      got = { 0 };
    levada_error    err = LEVADA_ERROR_INIT;
    char            text[40];
    bool            same = true;
    levada_status   st;

    (void)snprintf(text, sizeof text, "range:%lld", (long long)in->rows.n);
    st = levada_dataset_parse(c->env, text, &numbers, &err);
    if (st == LEVADA_OK) {
        const levada_dataset *inputs[] = { numbers };

        st = levada_dataset_remake(ds, NULL, inputs, 1, &made, &err);
    }
    if (st == LEVADA_OK) st = traits_read(made, TRAITS_SEED, 0, &got, &err);
    if (st == LEVADA_OK) same = traits_same(&out->origins, &got.origins);
    levada_dataset_unref(&made);
    levada_dataset_unref(&numbers);
    traits_clear(&got);
    if (st != LEVADA_OK) return levada_conform_failed(c, "it reads NONE: with other columns", &err);
    return same ? LEVADA_CONFORM_GOOD
                : levada_conform_broken(c, "it reads NONE: other values change the choice");
}

/* -- all of them */

static bool traits_drawn_upstream(const levada_dataset *ds)
{
    bool drawn = false;

    for (int32_t i = 0; !drawn && i < levada_dataset_inputs(ds); i++) {
        const levada_dataset *in = levada_dataset_input(ds, i);
        levada_traits         t = { .struct_size = sizeof t };

        drawn = levada_dataset_traits(in, &t, NULL) != LEVADA_OK ||
                t.random != LEVADA_RANDOM_NONE || traits_drawn_upstream(in);
    }
    return drawn;
}

static levada_conform_verdict traits_length(levada_conform *c, const levada_dataset *ds,
                                            const traits_run *out)
{
    levada_error err = LEVADA_ERROR_INIT;
    int64_t      n = -1;

    if (levada_dataset_length(ds, &n, &err) != LEVADA_OK) {
        return levada_conform_failed(c, "its length", &err);
    }
    if (n < 0 || n == out->rows.n) return LEVADA_CONFORM_GOOD;
    return levada_conform_broken(c, "count() says %lld, there are %lld", (long long)n,
                                 (long long)out->rows.n);
}

static levada_conform_verdict traits_check(levada_conform *c, const levada_dataset *ds,
                                           traits_run *in, traits_run *out)
{
    bool                   one = levada_dataset_inputs(ds) == 1;
    levada_traits          t = { .struct_size = sizeof t };
    levada_conform_verdict verdict = LEVADA_CONFORM_GOOD;
    levada_error           err = LEVADA_ERROR_INIT;
    levada_status          st = levada_dataset_traits(ds, &t, &err);

    if (st == LEVADA_OK) st = traits_read(ds, TRAITS_SEED, 0, out, &err);
    if (st == LEVADA_OK && one) {
        st = traits_read(levada_dataset_input(ds, 0), TRAITS_SEED, 0, in, &err);
    }
    if (st != LEVADA_OK) return levada_conform_failed(c, "its example", &err);
    if (!traits_drawn_upstream(ds)) verdict = traits_random(c, &t, ds, out);
    if (verdict == LEVADA_CONFORM_GOOD && one && t.reads == LEVADA_READS_NONE &&
        levada_dataset_inputs(levada_dataset_input(ds, 0)) == 0 && !in->rows.batches) {
        verdict = traits_blind(c, ds, in, out);
    }
    if (verdict == LEVADA_CONFORM_GOOD && one) verdict = traits_rows(c, &t, in, out);
    if (verdict == LEVADA_CONFORM_GOOD) verdict = traits_length(c, ds, out);
    if (verdict == LEVADA_CONFORM_GOOD && one && t.divides) {
        verdict = traits_divides(c, &t, ds, out);
    }
    return verdict;
}

levada_conform_verdict levada_conform_traits(levada_conform *c)
{
    levada_conform_verdict verdict = levada_conform_prepare(c);
    traits_run             in = { 0 }, out = { 0 };
    levada_dataset        *ds = NULL;
    levada_error           err = LEVADA_ERROR_INIT;

    if (verdict != LEVADA_CONFORM_GOOD) return verdict;
    if (levada_dataset_parse(c->env, c->example, &ds, &err) != LEVADA_OK) {
        return levada_conform_failed(c, c->example, &err);
    }
    verdict = traits_check(c, ds, &in, &out);
    if (verdict == LEVADA_CONFORM_BAD) {
        levada_conform_look(c, "the traits of its descriptor (levada/traits.h)");
    }
    traits_clear(&in);
    traits_clear(&out);
    levada_dataset_unref(&ds);
    return verdict;
}
