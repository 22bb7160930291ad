/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "base/assert.h"
#include <levada/lengths.h>

#include <string.h>

#define BOUNDARIES_MOST (INT64_C(1) << 62)

/*
 * Let R[i] be the number of records with one of the first i sizes, and cost[i] the least padded
 * elements of these records in b buckets. With one more bucket, from size j on,
 *
 *   min over j < i of  cost[j] + (R[i] - R[j]) * size[i - 1]
 *
 * For a fixed i that is the lowest of the lines cost[j] - R[j] * x at x = size[i - 1]. Slopes fall
 * with j and x rises with i, so a walk along the lower envelope finds every minimum.
 */
typedef struct boundaries_line {
    int32_t j;
    int64_t from; /* the first x at which this line is below the one before it */
} boundaries_line;

typedef struct boundaries_job {
    int64_t          n;       /* distinct sizes */
    int64_t         *size;    /* n: what a record is padded to if it is the longest */
    int64_t         *longest; /* n: the longest length of that size */
    int64_t         *records; /* n + 1: R */
    int64_t         *cost, *next;
    int32_t         *cut; /* num_buckets rows of n + 1: where the last bucket begins */
    boundaries_line *line;
} boundaries_job;

/* Returns a / b rounded down; b > 0. */
static int64_t boundaries_floor(int64_t a, int64_t b)
{
    return a >= 0 ? a / b : -((-a + b - 1) / b);
}

/* Returns the first integer x at which line k is strictly below line j < k. */
static int64_t boundaries_from(const boundaries_job *job, int32_t j, int32_t k)
{
    return boundaries_floor(job->cost[k] - job->cost[j], job->records[k] - job->records[j]) + 1;
}

static void boundaries_layer(const boundaries_job *job, int32_t *cut)
{
    boundaries_line *line = job->line;
    int64_t          n = 0, at = 0;

    job->next[0] = 0;
    for (int32_t i = 1; i <= job->n; i++) {
        int64_t x = job->size[i - 1], from = INT64_MIN;

        while (n > 0 && (from = boundaries_from(job, line[n - 1].j, i - 1)) <= line[n - 1].from) {
            n--;
        }
        line[n++] = (boundaries_line){.j = i - 1, .from = from};
        if (at >= n) at = n - 1;
        while (at + 1 < n && line[at + 1].from <= x) at++;
        cut[i] = line[at].j;
        job->next[i] = job->cost[cut[i]] + (job->records[i] - job->records[cut[i]]) * x;
    }
}

/* Sizes, and the records up to each, from lengths and their counts. */
static levada_status boundaries_sizes(boundaries_job *job, const int64_t *lengths,
                                      const int64_t *counts, int64_t n, int64_t multiple,
                                      levada_error *err)
{
    for (int64_t i = 0; i < n; i++) {
        int64_t over = lengths[i] % multiple, size;

        if (lengths[i] < 0 || lengths[i] >= BOUNDARIES_MOST ||
            (i > 0 && lengths[i] <= lengths[i - 1]) || counts[i] <= 0) {
            return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                               "lengths[%lld]=%lld with count %lld: lengths must increase "
                               "strictly from 0 to below 2^62, and must occur",
                               (long long)i, (long long)lengths[i], (long long)counts[i]);
        }
        size = lengths[i] - over + (over ? multiple : 0);
        if (job->n == 0 || job->size[job->n - 1] != size) {
            job->size[job->n++] = size;
            job->records[job->n] = job->records[job->n - 1];
        }
        job->longest[job->n - 1] = lengths[i];
        if (counts[i] > BOUNDARIES_MOST - job->records[job->n]) {
            job->records[job->n] = BOUNDARIES_MOST; /* refused below */
        } else job->records[job->n] += counts[i];
        if (size > 0 && job->records[job->n] >= BOUNDARIES_MOST / size) {
            return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED,
                               "2^62 or more elements after padding to %lld", (long long)size);
        }
    }
    return LEVADA_OK;
}

/* Reads the cuts of all layers from the last bucket to the first. */
static void boundaries_trace(const boundaries_job *job, int64_t k, int64_t *out, int64_t *nout)
{
    int64_t i = job->n, n = 0;

    for (int64_t b = k - 1; b > 0 && i > 0; b--) {
        i = job->cut[b * (job->n + 1) + i];
        if (i > 0) out[n++] = job->longest[i - 1] + 1;
    }
    for (int64_t a = 0, z = n - 1; a < z; a++, z--) {
        int64_t swap = out[a];

        out[a] = out[z];
        out[z] = swap;
    }
    *nout = n;
}

static void boundaries_solve(boundaries_job *job, int64_t k, int64_t *out, int64_t *nout)
{
    for (int64_t i = 0; i <= job->n; i++) { /* one bucket */
        job->cost[i] = i ? job->records[i] * job->size[i - 1] : 0;
    }
    for (int64_t b = 1; b < k; b++) {
        int64_t *swap = job->cost;

        boundaries_layer(job, job->cut + b * (job->n + 1));
        job->cost = job->next;
        job->next = swap;
    }
    boundaries_trace(job, k, out, nout);
}

/* Allocates all arrays in one allocation. */
static void *boundaries_alloc(boundaries_job *job, int64_t n, int64_t k)
{
    size_t   m = (size_t)n + 1;
    int64_t *at = NULL;

    if (n < INT32_MAX / 64 && k <= 4096) {
        at = levada_alloc_zero(m * (5 * sizeof(int64_t) + sizeof(boundaries_line) +
                                    (size_t)k * sizeof(int32_t)));
    }
    if (!at) return NULL;
    job->size = at;
    job->longest = at + m;
    job->records = at + 2 * m;
    job->cost = at + 3 * m;
    job->next = at + 4 * m;
    job->line = (boundaries_line *)(void *)(at + 5 * m);
    job->cut = (int32_t *)(void *)(job->line + m);
    return at;
}

levada_status levada_optimal_boundaries(const int64_t *lengths, const int64_t *counts, int64_t n,
                                        int64_t num_buckets, int64_t multiple_of, int64_t *out,
                                        int64_t *nout, levada_error *err)
{
    LEVADA_TRY(levada_require(nout != NULL, "nout", err));
    boundaries_job job = {0};
    int64_t        k = num_buckets < n ? num_buckets : n;
    void          *memory;
    levada_status  st;

    LEVADA_TRY(levada_require_range(n, 0, INT64_MAX, "n", err));
    if ((n > 0 && (!lengths || !counts)) || (num_buckets > 1 && !out)) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "%s must not be NULL",
                           n > 0 && !lengths ? "lengths" : n > 0 && !counts ? "counts" : "out");
    }
    if (num_buckets < 1 || multiple_of < 1 || multiple_of > INT32_MAX) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "num_buckets=%lld and multiple_of=%lld must be from 1 to 2^31 - 1",
                           (long long)num_buckets, (long long)multiple_of);
    }
    *nout = 0;
    if (n == 0) return LEVADA_OK;
    memory = boundaries_alloc(&job, n, k);
    if (!memory) {
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED,
                           "out of memory for %lld buckets over %lld lengths", (long long)k,
                           (long long)n);
    }
    st = boundaries_sizes(&job, lengths, counts, n, multiple_of, err);
    if (st == LEVADA_OK) boundaries_solve(&job, k, out, nout);
    levada_free(memory);
    return st;
}
