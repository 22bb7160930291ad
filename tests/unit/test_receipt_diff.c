/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records are lost and repeated at random, and the report is held against what was done.
 */
#include "inspect/receipt_diff.h"

#include "base/alloc.h"
#include "base/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { FILES = 9, MOST = 30000, PLANTED = 24 };

typedef struct world {
    uint64_t              key, at;
    int64_t               size[FILES], nfiles;
    int8_t               *delta[FILES]; /* times that a record came too often */
    levada_receipt_place *places;
    int64_t               n;
    levada_receipt        left;
} world;

static int64_t draw(world *w, int64_t n)
{
    return (int64_t)levada_random_below(levada_random_at(w->key, w->at++), (uint64_t)n);
}

static uint64_t hash_of(int64_t file)
{
    return levada_receipt_file((uint64_t)file);
}

static void make(world *w, uint64_t key)
{
    memset(w, 0, sizeof *w);
    w->key = key;
    w->nfiles = 1 + draw(w, FILES);
    w->places = calloc((size_t)(w->nfiles * (1 + MOST / LEVADA_RECEIPT_RANGE + 1)),
                       sizeof *w->places);
    for (int64_t f = 0; f < w->nfiles; f++) {
        w->size[f] = 1 + draw(w, draw(w, 2) ? MOST : 300);
        w->delta[f] = calloc((size_t)w->size[f], 1);
        w->places[w->n++] = (levada_receipt_place){ hash_of(f), f, 0, w->size[f] - 1, w->size[f],
                                                    false };
    }
    for (int64_t f = 0; f < w->nfiles; f++) {
        for (int64_t at = 0; at < w->size[f]; at += LEVADA_RECEIPT_RANGE) {
            int64_t left = w->size[f] - at;
            int64_t n = left < LEVADA_RECEIPT_RANGE ? left : LEVADA_RECEIPT_RANGE;

            w->places[w->n++] = (levada_receipt_place){ levada_receipt_range(hash_of(f), at), f, at,
                                                        at + n - 1, n, true };
        }
    }
}

static void drop(world *w)
{
    for (int64_t f = 0; f < w->nfiles; f++) free(w->delta[f]);
    free(w->places);
}

/* Loses (-1) or repeats (1) n records in a row. */
static void plant(world *w, int64_t file, int64_t first, int64_t n, int by)
{
    levada_receipt these = { 0 };

    levada_receipt_add(&these, hash_of(file), first, n);
    levada_receipt_merge(&w->left, &these, by);
    for (int64_t i = first; i < first + n; i++)
        w->delta[file][i] = (int8_t)(w->delta[file][i] + by);
}

static void plant_one(world *w)
{
    int64_t file = draw(w, w->nfiles), kind = draw(w, 4), size = w->size[file];
    int64_t n = kind == 0 ? size : kind == 1 ? 1 : 1 + draw(w, size < 600 ? size : 600);

    plant(w, file, draw(w, size - n + 1), n, draw(w, 3) ? -1 : 1);
}

/* What is said to be exact was done, and what is left, if all is named, adds up for each file. */
static void check(world *w, const levada_receipt_diff *d)
{
    int64_t all[FILES] = { 0 }, said[FILES] = { 0 };
    bool    exact = true;

    for (int64_t i = 0; i < d->nfound; i++) {
        const levada_receipt_found *f = &d->found[i];

        assert_true(f->records != 0 && f->first <= f->last && f->last < w->size[f->file]);
        said[f->file] += f->records;
        exact = exact && f->all;
        if (!f->all) continue;
        assert_int_equal(labs(f->records), f->last - f->first + 1);
        for (int64_t k = f->first; k <= f->last; k++)
            w->delta[f->file][k] = (int8_t)(w->delta[f->file][k] - (f->records < 0 ? -1 : 1));
        all[f->file] += f->records;
    }
    if (!d->named) return;
    for (int64_t f = 0; f < w->nfiles; f++) {
        int64_t sum = all[f];

        for (int64_t k = 0; k < w->size[f]; k++) {
            sum += w->delta[f][k];
            if (exact) assert_int_equal(w->delta[f][k], 0);
        }
        assert_int_equal(sum, said[f]);
    }
}

static bool explained(uint64_t key, int64_t planted)
{
    world               w;
    levada_receipt_diff d = { 0 };
    bool                named;

    make(&w, key);
    for (int64_t i = 0; i < planted; i++) plant_one(&w);
    d.left = w.left;
    d.places = w.places;
    d.n = w.n;
    assert_int_equal(levada_receipt_explain(&d, NULL), LEVADA_OK);
    check(&w, &d);
    named = d.named;
    levada_free(d.found);
    drop(&w);
    return named;
}

static void test_planted(void **state)
{
    (void)state;
    assert_true(explained(1, 0));
    for (int64_t n = 1; n <= PLANTED; n++) {
        int64_t named = 0;

        for (uint64_t key = 0; key < 100; key++) named += explained(key * 64 + (uint64_t)n, n);
        if (n <= 3) assert_in_range(named, 90, 100);
    }
}

/* Records in no order, as a shuffle loses them: ranges and counts. */
static void test_scattered(void **state)
{
    int64_t good = 0;

    (void)state;
    for (uint64_t key = 0; key < 60; key++) {
        world               w;
        levada_receipt_diff d = { 0 };
        int64_t             file, from, n;

        make(&w, key);
        file = draw(&w, w.nfiles);
        from = draw(&w, 1 + w.size[file] / 2);
        n = 1 + draw(&w, 200);
        for (int64_t i = 0; i < n; i++) {
            int64_t at = from + draw(&w, w.size[file] - from < 5000 ? w.size[file] - from : 5000);

            if (w.delta[file][at] == 0) plant(&w, file, at, 1, -1);
        }
        d.left = w.left;
        d.places = w.places;
        d.n = w.n;
        assert_int_equal(levada_receipt_explain(&d, NULL), LEVADA_OK);
        good += d.named;
        check(&w, &d);
        levada_free(d.found);
        drop(&w);
    }
    assert_true(good >= 55);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_planted),
        cmocka_unit_test(test_scattered),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
