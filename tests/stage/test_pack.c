/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packing against a model: which records share a packed record, their order and their pieces; what
 * does not fit; and the same rest from a state saved at each cut.
 */
#include "base/random.h"
#include "support/iters.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MOST 200 /* records of a dataset; lengths are below 65 */

typedef struct piece {
    int64_t record, begin, size;
} piece;

typedef struct bin {
    int64_t n, used;
    piece   pieces[MOST];
} bin;

typedef struct model {
    int64_t length, open_bins, nbins, multiple_of; /* 0 = 1 */
    bool    split, split_long;
    bin     open[MOST], bins[10 * MOST]; /* lengths are below 65, bins hold at least 8 */
} model;

static void model_leave(model *m, int64_t i)
{
    m->bins[m->nbins++] = m->open[i];
    m->open[i].n = m->open[i].used = 0;
}

/* The steps of a bin that a piece takes. */
static int64_t model_space(const model *m, int64_t size)
{
    while (m->multiple_of && size % m->multiple_of) size++;
    return size;
}

/* The bin that `size` steps fill best, -1 = none; of equal ones the first. */
static int64_t model_best(const model *m, int64_t size)
{
    int64_t best = -1;

    for (int64_t i = 0; i < m->open_bins; i++) {
        if (m->open[i].used + size > m->length) continue;
        if (best < 0 || m->open[i].used > m->open[best].used) best = i;
    }
    return best;
}

static int64_t model_fullest(const model *m)
{
    int64_t best = 0;

    for (int64_t i = 1; i < m->open_bins; i++) {
        if (m->open[i].used > m->open[best].used) best = i;
    }
    return best;
}

static void model_put(model *m, piece p)
{
    int64_t space = model_space(m, p.size), i = model_best(m, space);

    if (i < 0) {
        model_leave(m, model_fullest(m));
        i = model_best(m, space);
    }
    m->open[i].pieces[m->open[i].n++] = p;
    m->open[i].used += space;
    if (m->open[i].used == m->length) model_leave(m, i);
}

static void model_run(model *m, const int64_t *lengths, int64_t n)
{
    if (m->split) m->open_bins = 1;
    for (int64_t r = 0; r < n; r++) {
        int64_t done = 0;

        do {
            int64_t size = lengths[r] - done, left = m->length - m->open[0].used;

            if (size > m->length) size = m->length;
            if (m->split && size > left) size = left;
            model_put(m, (piece){ r, done, size });
            done += size;
        } while ((m->split || m->split_long) && done < lengths[r]);
    }
    for (int64_t i = 0; i < m->open_bins; i++) {
        if (m->open[i].n) model_leave(m, i);
    }
}

static const int32_t *ints(const levada_block *block, const char *name, int64_t row, int64_t *n)
{
    const levada_column *c = levada_block_column(block, name);

    assert_non_null(c);
    *n = c->level[0].end[row] - c->level[0].begin[row];
    return levada_column_i32(c) + c->level[0].begin[row];
}

/* Row `row` of the block is this bin: tokens, lengths, labels, ids and positions. */
static void expect_bin(const bin *want, const levada_block *got, int64_t row)
{
    const levada_column *c = levada_block_column(got, "n");
    const int64_t       *labels = levada_column_i64(c) + c->level[0].begin[row];
    int64_t              sum = 0, nx = 0, nlengths = 0, nids = 0, npositions = 0, k = 0;
    const int32_t       *x = ints(got, "x", row, &nx);
    const int32_t       *lengths = ints(got, "x_segment_lengths", row, &nlengths);
    const int32_t       *ids = ints(got, "x_segment_ids", row, &nids);
    const int32_t       *positions = ints(got, "x_positions", row, &npositions);

    for (int64_t i = 0; i < want->n; i++) sum += want->pieces[i].size;
    assert_int_equal(nx, sum);
    assert_int_equal(nids, nx);
    assert_int_equal(npositions, nx);
    assert_int_equal(nlengths, want->n);
    assert_int_equal(c->level[0].end[row] - c->level[0].begin[row], want->n);
    for (int64_t i = 0; i < want->n; i++) {
        const piece *p = &want->pieces[i];

        assert_int_equal(labels[i], p->record);
        assert_int_equal(lengths[i], p->size);
        for (int64_t t = 0; t < p->size; t++, k++) {
            assert_int_equal(x[k], p->record * 100 + p->begin + t);
            assert_int_equal(ids[k], i + 1);
            assert_int_equal(positions[k], t);
        }
    }
}

static void expect_bins(levada_iter *it, const model *m)
{
    levada_block *block = NULL;
    int64_t       k = 0;

    while (levada_iter_next(it, &block, NULL) == LEVADA_OK) {
        for (int64_t row = 0; row < levada_block_rows(block); row++, k++) {
            assert_true(k < m->nbins);
            expect_bin(&m->bins[k], block, row);
            assert_int_equal(levada_block_origin(block, row).record, m->bins[k].pieces[0].record);
        }
        levada_block_unref(&block);
    }
    assert_int_equal(k, m->nbins);
}

/* A dataset of n records of random lengths up to `longest`; text of the source into `text`. */
static int64_t draw(uint64_t seed, int64_t longest, int64_t *lengths, char *text, size_t size)
{
    uint64_t key = levada_random_key(seed, 3);
    int64_t  n = 1 + (int64_t)levada_random_below(levada_random_at(key, 0), MOST);
    int      at = snprintf(text, size, "t_rows:%lld,bare=true,lengths=[", (long long)n);

    for (int64_t i = 0; i < n; i++) {
        uint64_t u = levada_random_at(key, (uint64_t)i + 1);

        lengths[i] = (int64_t)levada_random_below(u, (uint64_t)longest + 1);
        at += snprintf(text + at, size - (size_t)at, "%s%lld", i ? "," : "", (long long)lengths[i]);
    }
    snprintf(text + at, size - (size_t)at, "]");
    return n;
}

static void expect_model(uint64_t seed, int64_t longest, model *m, const char *options)
{
    char        source[1200], text[1400];
    int64_t     lengths[MOST], n = draw(seed, longest, lengths, source, sizeof source);
    static const int32_t rows[] = { 1, 5, 256 };

    model_run(m, lengths, n);
    snprintf(text, sizeof text, "%s | pack:%lld,open_bins=%lld,ids=true%s", source,
             (long long)m->length, (long long)m->open_bins, options);
    for (int32_t i = 0; i < 3; i++) {
        levada_iter *it = t_iter_open(text, i == 1 ? 4 : 1, rows[i]);

        expect_bins(it, m);
        levada_iter_close(&it);
    }
}

static void packs_as_the_model(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        model *m = calloc(1, sizeof *m);
        int64_t longest = 1 + (int64_t)(seed * 7 % 60);

        assert_non_null(m);
        m->length = longest + (int64_t)(seed % 5) * 9;
        m->open_bins = 1 + (int64_t)(seed * seed % 12);
        expect_model(seed, longest, m, "");
        free(m);
    }
}

static void cuts_long_sequences_as_the_model(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        model *m = calloc(1, sizeof *m), *c = calloc(1, sizeof *c);

        assert_true(m && c);
        m->length = 8 + (int64_t)(seed * 5 % 31);
        m->open_bins = 1 + (int64_t)(seed % 7);
        *c = *m;
        m->split_long = true;
        expect_model(seed, 64, m, ",too_long=split");
        expect_model(seed, 64, c, ",too_long=truncate");
        free(m);
        free(c);
    }
}

static void split_leaves_no_space_but_in_the_last(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        model *m = calloc(1, sizeof *m);

        assert_non_null(m);
        m->length = 8 + (int64_t)(seed * 11 % 41);
        m->open_bins = 1;
        m->split = true;
        expect_model(seed, 64, m, ",split=true");
        for (int64_t i = 0; i + 1 < m->nbins; i++) assert_int_equal(m->bins[i].used, m->length);
        free(m);
    }
}

static void sequences_take_multiples_of_steps(void **state)
{
    const char *const how[] = { "", ",too_long=split", ",split=true" };

    (void)state;
    for (uint64_t seed = 1; seed <= 30; seed++) {
        model *m = calloc(1, sizeof *m);
        char   options[64];
        int    k = (int)(seed % 3);

        assert_non_null(m);
        m->multiple_of = 1 + (int64_t)(seed % 9);
        m->length = m->multiple_of * (8 + (int64_t)(seed % 4));
        m->open_bins = k == 2 ? 1 : 1 + (int64_t)(seed % 7);
        m->split_long = k == 1;
        m->split = k == 2;
        snprintf(options, sizeof options, ",multiple_of=%lld%s", (long long)m->multiple_of, how[k]);
        expect_model(seed, k ? 64 : 8, m, options);
        free(m);
    }
}

/* The fewest bins that hold the lengths [k, n), by trying everything. */
static int64_t fewest(const int64_t *lengths, int64_t n, int64_t k, int64_t *used, int64_t nbins,
                      int64_t length, int64_t best)
{
    if (nbins >= best) return best;
    if (k == n) return nbins;
    for (int64_t i = 0; i <= nbins; i++) {
        if (i == nbins) used[i] = 0;
        if (used[i] + lengths[k] > length) continue;
        used[i] += lengths[k];
        best = fewest(lengths, n, k + 1, used, i == nbins ? nbins + 1 : nbins, length, best);
        used[i] -= lengths[k];
    }
    return best;
}

static void needs_few_bins_more_than_the_optimum(void **state)
{
    int64_t total = 0, optimum = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        uint64_t key = levada_random_key(seed, 4);
        int64_t  lengths[9], used[10], length = 20 + (int64_t)(seed % 30), best;
        model   *m = calloc(1, sizeof *m);

        assert_non_null(m);
        for (int64_t i = 0; i < 9; i++) {
            lengths[i] = 1 + (int64_t)levada_random_below(levada_random_at(key, (uint64_t)i),
                                                          (uint64_t)length);
        }
        m->length = length;
        m->open_bins = 9;
        model_run(m, lengths, 9); /* which the stage does, see above */
        best = fewest(lengths, 9, 0, used, 0, length, 10);
        assert_true(10 * m->nbins <= 17 * best); /* the bound of best fit */
        total += m->nbins;
        optimum += best;
        free(m);
    }
    assert_true(100 * total <= 106 * optimum);
}

static void bytes_do_not_depend_on_blocks_or_threads(void **state)
{
    (void)state;
    t_iter_sweep("t_rows:60,bare=true | pack:20,too_long=split,open_bins=3", false, 1);
    t_iter_sweep("t_stream:60,bare=true | pack:30,split=true,ids=true", false, 1);
    t_iter_sweep("t_rows:90 | select:[n,s,v,x,z] | shuffle:9 | pack:25,fields=x,open_bins=4,"
                 "too_long=truncate | prefetch:2",
                 false, 1);
    t_iter_sweep("t_rows:50,bare=true | pack:18,too_long=skip,open_bins=5 | padded_batch:3", true,
                 1);
    t_iter_sweep("t_rows:30 | select:[n,s] | pack:9,fields=s,max_segments=3 | shuffle:4", false, 1);
    t_iter_sweep("t_rows:60,bare=true | pack:20,too_long=split,open_bins=3,multiple_of=4", false,
                 1);
    t_iter_sweep("t_stream:60,bare=true | pack:30,split=true,multiple_of=6", false, 1);
    t_iter_sweep("t_rows:20,bare=true | pack:64 | repeat:2 | batch:3", true, 1);
}

static void lists_have_one_value_for_each_segment(void **state)
{
    levada_iter  *it = t_iter_open("t_rows:3,lengths=[2,3,1] | select:[n,s,v,x,z] | "
                                   "pack:8,fields=x",
                                   1, 256);
    levada_block *block = NULL;
    const levada_column *s, *v, *z;

    (void)state;
    assert_int_equal(levada_iter_next(it, &block, NULL), LEVADA_OK);
    assert_int_equal(levada_block_rows(block), 1);
    s = levada_block_column(block, "s");
    v = levada_block_column(block, "v");
    z = levada_block_column(block, "z");
    assert_int_equal(s->field->depth, 1);
    assert_int_equal(levada_column_length(s, 0), 3);
    assert_int_equal(v->field->depth, 1);
    assert_int_equal(v->field->ndim, 1);
    assert_int_equal(levada_column_length(v, 0), 3);
    assert_true(levada_column_f32(v)[2] == .25f && levada_column_f32(v)[4] == .5f);
    assert_int_equal(z->field->depth, 3);
    assert_int_equal(levada_column_length(z, 0), 3);
    levada_block_unref(&block);
    assert_int_equal(levada_iter_next(it, &block, NULL), LEVADA_END);
    levada_iter_close(&it);
}

static void a_long_record_is_a_bad_one(void **state)
{
    const char  *text = "t_rows:6,lengths=[2,9,3],bare=true | pack:5";
    levada_iter *it = t_iter_open(text, 1, 256);
    t_bytes      rows = { 0 };

    (void)state;
    assert_int_equal(t_iter_fails(it, LEVADA_EINVALID_ARGUMENT, "a record of length 9 is longer"),
                     0);
    levada_iter_close(&it);
    it = t_iter_open_policy(text, "skip", 1, 256);
    assert_int_equal(t_iter_read(it, -1, false, &rows), 2);
    assert_int_equal(t_iter_stat(it, "skipped_records"), 2);
    levada_iter_close(&it);
    it = t_iter_open("t_rows:6,lengths=[2,9,3],bare=true | pack:5,too_long=skip", 1, 256);
    assert_int_equal(t_iter_read(it, -1, false, &rows), 2);
    assert_int_equal(t_iter_stat(it, "dropped_records"), 2);
    t_clear(&rows);
    levada_iter_close(&it);
}

/* Bins that were full before a bad record are not lost with it. */
static void what_was_full_comes_before_an_error(void **state)
{
    levada_iter *it = t_iter_open("t_rows:4,lengths=[5,5,9,5],bare=true | pack:5", 1, 256);

    (void)state;
    assert_int_equal(t_iter_fails(it, LEVADA_EINVALID_ARGUMENT, "longer than length=5"), 2);
    levada_iter_close(&it);
}

static void fields_that_cannot_be_packed_are_refused(void **state)
{
    (void)state;
    t_iter_refused("t_rows:3 | pack:0", LEVADA_EINVALID_ARGUMENT, "length");
    t_iter_refused("t_rows:3 | pack:9,multiple_of=2", LEVADA_EINVALID_ARGUMENT,
                   "length=9 must be a multiple of multiple_of=2");
    t_iter_refused("t_rows:3 | pack:9,fields=v", LEVADA_EINVALID_ARGUMENT,
                   "field 'v' must be a sequence to be packed, got one float32 per record");
    t_iter_refused("t_rows:3 | pack:9,fields=nope", LEVADA_EINVALID_ARGUMENT, "nope");
    t_iter_refused("t_rows:3 | select:[n,v] | pack:9", LEVADA_EINVALID_ARGUMENT,
                   "no field is a ragged sequence");
    t_iter_refused("t_rows:3 | batch:2 | pack:9,fields=x", LEVADA_EINVALID_ARGUMENT, "");
}

static void uneven_fields_are_a_bad_record(void **state)
{
    levada_iter *it = t_iter_open("t_rows:9,lengths=[7,2,3] | select:[n,w,x] | pack:9", 1, 256);

    (void)state;
    assert_int_equal(t_iter_fails(it, LEVADA_EINVALID_ARGUMENT,
                                  "the packed fields of a record must have the same length, got"),
                     0);
    levada_iter_close(&it);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(packs_as_the_model),
        cmocka_unit_test(cuts_long_sequences_as_the_model),
        cmocka_unit_test(split_leaves_no_space_but_in_the_last),
        cmocka_unit_test(sequences_take_multiples_of_steps),
        cmocka_unit_test(needs_few_bins_more_than_the_optimum),
        cmocka_unit_test(bytes_do_not_depend_on_blocks_or_threads),
        cmocka_unit_test(lists_have_one_value_for_each_segment),
        cmocka_unit_test(a_long_record_is_a_bad_one),
        cmocka_unit_test(what_was_full_comes_before_an_error),
        cmocka_unit_test(fields_that_cannot_be_packed_are_refused),
        cmocka_unit_test(uneven_fields_are_a_bad_record),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
