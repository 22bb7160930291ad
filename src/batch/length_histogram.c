/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Short lengths have a counter each. Long ones are a list, which is sorted when it is asked for.
 */
#include "base/alloc.h"
#include "base/assert.h"
#include "batch/length.h"
#include <levada/inspect.h>
#include <levada/iter.h>
#include <levada/lengths.h>

#include <stdlib.h>
#include <string.h>

#define LENGTH_COUNTERS (INT64_C(1) << 20)

struct levada_length_histogram {
    int64_t *counters; /* of lengths below `counted` */
    int64_t  counted, distinct;
    int64_t *long_ones;
    int64_t  nlong, long_capacity;
    int64_t *lengths, *counts; /* one allocation; the answer of get */
};

static levada_status length_memory(levada_error *err)
{
    return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for lengths");
}

levada_status levada_length_histogram_create(levada_length_histogram **out, levada_error *err)
{
    LEVADA_TRY(levada_require(out != NULL, "out", err));
    levada_length_histogram *h = levada_alloc_zero(sizeof *h);

    if (!h) return length_memory(err);
    *out = h;
    return LEVADA_OK;
}

void levada_length_histogram_destroy(levada_length_histogram **histogram)
{
    if (!histogram || !*histogram) return;
    levada_length_histogram *h = *histogram;

    *histogram = NULL;
    levada_free(h->counters);
    levada_free(h->long_ones);
    levada_free(h->lengths);
    levada_free(h);
}

static levada_status length_reserve(levada_length_histogram *h, int64_t length, levada_error *err)
{
    int64_t before = h->counted;

    if (length < before) return LEVADA_OK;
    if (!levada_reserve(&h->counters, &h->counted, length + 1, sizeof *h->counters)) {
        return length_memory(err);
    }
    memset(h->counters + before, 0, (size_t)(h->counted - before) * sizeof *h->counters);
    return LEVADA_OK;
}

levada_status levada_length_histogram_add(levada_length_histogram *h, const int64_t *lengths,
                                          int64_t n, levada_error *err)
{
    LEVADA_TRY(levada_require(h != NULL, "histogram", err));
    LEVADA_TRY(levada_require_range(n, 0, INT64_MAX, "n", err));
    LEVADA_TRY(levada_require(n == 0 || lengths != NULL, "lengths", err));
    for (int64_t i = 0; i < n; i++) {
        int64_t length = lengths[i] > 0 ? lengths[i] : 0;

        if (length < LENGTH_COUNTERS) {
            LEVADA_TRY(length_reserve(h, length, err));
            if (h->counters[length]++ == 0) h->distinct++;
            continue;
        }
        if (!levada_reserve(&h->long_ones, &h->long_capacity, h->nlong + 1,
                            sizeof *h->long_ones)) {
            return length_memory(err);
        }
        h->long_ones[h->nlong++] = length;
    }
    return LEVADA_OK;
}

static levada_status length_add_block(levada_length_histogram *h, const levada_block *block,
                                      const char *field, levada_error *err)
{
    int64_t      *lengths = levada_alloc((size_t)block->n * sizeof *lengths + 1);
    levada_status st = lengths ? LEVADA_OK : length_memory(err);

    if (st == LEVADA_OK) st = levada_length_measure(field, block, lengths, 1, err);
    if (st == LEVADA_OK) st = levada_length_histogram_add(h, lengths, block->n, err);
    levada_free(lengths);
    return st;
}

static levada_status length_add(void *user, const int64_t *lengths, int64_t n, levada_error *err)
{
    return levada_length_histogram_add(user, lengths, n, err);
}

levada_status levada_length_histogram_read(levada_length_histogram *h,
                                           const levada_dataset      *dataset,
                                           const levada_iter_options *options, const char *field,
                                           levada_error *err)
{
    LEVADA_TRY(levada_require(h != NULL, "histogram", err));
    LEVADA_TRY(levada_require(dataset != NULL, "dataset", err));
    LEVADA_TRY(levada_require(field != NULL, "field", err));
    levada_iter_options all = LEVADA_ITER_OPTIONS_INIT;
    levada_iter        *it = NULL;
    levada_block       *block = NULL;
    bool                found = false;
    levada_status       st;

    LEVADA_TRY(levada_length_check(field, levada_dataset_spec(dataset), err));
    LEVADA_TRY(levada_inspect_lengths(dataset, field, length_add, h, &found, err));
    if (found) return LEVADA_OK;
    LEVADA_TRY(levada_iter_open(dataset, options ? options : &all, &it, err));
    while ((st = levada_iter_next(it, &block, err)) == LEVADA_OK) {
        st = length_add_block(h, block, field, err);
        levada_block_unref(&block);
        if (st != LEVADA_OK) break;
    }
    levada_iter_close(&it);
    return st == LEVADA_END ? LEVADA_OK : st;
}

static int length_order(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

levada_status levada_length_histogram_get(levada_length_histogram *h, const int64_t **lengths,
                                          const int64_t **counts, int64_t *n, levada_error *err)
{
    LEVADA_TRY(levada_require(h != NULL, "histogram", err));
    LEVADA_TRY(levada_require(lengths && counts && n, "lengths, counts or n", err));
    int64_t most = h->distinct + h->nlong, k = 0;

    levada_free(h->lengths);
    h->lengths = levada_alloc((size_t)most * 2 * sizeof *h->lengths + 1);
    if (!h->lengths) return length_memory(err);
    h->counts = h->lengths + most;
    for (int64_t i = 0; i < h->counted; i++) {
        if (h->counters[i] == 0) continue;
        h->lengths[k] = i;
        h->counts[k++] = h->counters[i];
    }
    if (h->nlong) qsort(h->long_ones, (size_t)h->nlong, sizeof *h->long_ones, length_order);
    for (int64_t i = 0; i < h->nlong; i++) {
        if (i == 0 || h->long_ones[i] != h->long_ones[i - 1]) {
            h->lengths[k] = h->long_ones[i];
            h->counts[k++] = 0;
        }
        h->counts[k - 1]++;
    }
    *lengths = h->lengths;
    *counts = h->counts;
    *n = k;
    return LEVADA_OK;
}
