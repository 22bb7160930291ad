/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The limits of rows 27 and P13: the copies that packing and buckets cannot avoid. 60,000 sequences
 * of int32, as long as those of bench/peers/lengths.py, lie one after the other in memory. The
 * order of their rows is computed before; a pass copies each row into its place of a padded batch
 * and clears what follows it. Rows ahead are prefetched and pages are huge, as in the library.
 *
 * - packed: best fit into records of 2,048 steps, 64 of them open; batches of 8
 * - buckets: 16 buckets, each padded to the longest of its batch, at most 16,384 steps
 * - plain: the batches of `buckets`, each row in the place of the next one in memory
 */
#include "harness.h"

#include "base/prefetch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
    GATHERS_COUNT = 60000,
    GATHERS_LONGEST = 2048,
    GATHERS_BUDGET = 16384,
    GATHERS_BINS = 64,
    GATHERS_BUCKETS = 16,
    GATHERS_PAGE = 2 << 20
};

/* A row of memory, and where it goes. */
typedef struct gathers_row {
    int64_t from, steps, to, end; /* the row that it goes to has padding up to `end` */
    bool    last;                 /* of its batch */
} gathers_row;

typedef struct gathers_state {
    int64_t      length[GATHERS_COUNT], begin[GATHERS_COUNT + 1];
    gathers_row  row[GATHERS_COUNT];
    int64_t      n; /* rows that have a place */
    int32_t     *steps, batch[GATHERS_BUDGET];
} gathers_state;

/* Records that wait for their batch. */
typedef struct gathers_group {
    int64_t record[GATHERS_BUDGET], n, steps, longest;
} gathers_group;

/* -- lengths: lognormal(5.2, 0.8), at least 1 and at most GATHERS_LONGEST ---------------------- */

static double gathers_uniform(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return ((double)(*state >> 11) + 0.5) / 9007199254740992.0;
}

static gathers_state *gathers_make(void)
{
    gathers_state *s = levada_bench_alloc(sizeof *s);
    uint64_t       random = 26;
    size_t         size;

    for (int64_t i = 0; i < GATHERS_COUNT; ++i) {
        double radius = sqrt(-2 * log(gathers_uniform(&random)));
        double length = exp(5.2 + 0.8 * radius * cos(6.283185307179586 * gathers_uniform(&random)));

        s->length[i] = length < 1                 ? 1
                       : length > GATHERS_LONGEST ? GATHERS_LONGEST
                                                  : (int64_t)length;
        s->begin[i + 1] = s->begin[i] + s->length[i];
    }
    size = (size_t)s->begin[GATHERS_COUNT] * sizeof *s->steps / GATHERS_PAGE * GATHERS_PAGE;
    s->steps = aligned_alloc(GATHERS_PAGE, size + GATHERS_PAGE);
    if (!s->steps)
        levada_bench_die("out of memory", "for the sequences");
    (void)madvise(s->steps, size, MADV_HUGEPAGE);
    for (int64_t i = 0; i < s->begin[GATHERS_COUNT]; ++i)
        s->steps[i] = (int32_t)i;
    return s;
}

/* -- orders ------------------------------------------------------------------------------------ */

static void gathers_add(gathers_state *s, int64_t record, int64_t to, int64_t end)
{
    s->row[s->n++] = (gathers_row){s->begin[record], s->length[record], to, end, false};
}

/* A bin becomes row `*bins % 8` of a batch. */
static void gathers_leave(gathers_state *s, gathers_group *bin, int64_t *bins)
{
    int64_t to = *bins * GATHERS_LONGEST % GATHERS_BUDGET, end = to + GATHERS_LONGEST;

    for (int64_t i = 0; i < bin->n; ++i) {
        int64_t stop = to + s->length[bin->record[i]];

        gathers_add(s, bin->record[i], to, i + 1 < bin->n ? stop : end);
        to = stop;
    }
    s->row[s->n - 1].last = end == GATHERS_BUDGET;
    ++*bins;
    bin->n = bin->steps = 0;
}

/* Returns the bin that a record fills best; the fullest one leaves where it fits in none. */
static gathers_group *gathers_bin(gathers_state *s, gathers_group *bins, int64_t length,
                                  int64_t *count)
{
    gathers_group *best = NULL, *fullest = bins;

    for (int b = 0; b < GATHERS_BINS; ++b) {
        gathers_group *bin = &bins[b];

        if (bin->steps > fullest->steps)
            fullest = bin;
        if (bin->steps + length <= GATHERS_LONGEST && (!best || bin->steps > best->steps))
            best = bin;
    }
    if (best)
        return best;
    gathers_leave(s, fullest, count);
    return fullest;
}

static void *gathers_open_packed(const levada_bench_args *args)
{
    gathers_state *s = gathers_make();
    gathers_group *bins = levada_bench_alloc(GATHERS_BINS * sizeof *bins);
    int64_t        count = 0;

    (void)args;
    for (int64_t i = 0; i < GATHERS_COUNT; ++i) {
        gathers_group *bin = gathers_bin(s, bins, s->length[i], &count);

        bin->record[bin->n++] = i;
        bin->steps += s->length[i];
        if (bin->steps == GATHERS_LONGEST)
            gathers_leave(s, bin, &count);
    }
    for (int b = 0; b < GATHERS_BINS; ++b) {
        if (bins[b].n > 0)
            gathers_leave(s, &bins[b], &count);
    }
    s->row[s->n - 1].last = true;
    return s;
}

static void gathers_batch(gathers_state *s, gathers_group *bucket)
{
    for (int64_t i = 0; i < bucket->n; ++i)
        gathers_add(s, bucket->record[i], i * bucket->longest, (i + 1) * bucket->longest);
    s->row[s->n - 1].last = true;
    bucket->n = bucket->longest = 0;
}

static void *gathers_open_buckets(const levada_bench_args *args)
{
    static const int64_t boundaries[GATHERS_BUCKETS - 1] = {62,  95,  125, 155, 187, 222, 261, 305,
                                                            356, 417, 492, 589, 724, 930, 1304};
    gathers_state *s = gathers_make();
    gathers_group *buckets = levada_bench_alloc(GATHERS_BUCKETS * sizeof *buckets);

    (void)args;
    for (int64_t i = 0; i < GATHERS_COUNT; ++i) {
        gathers_group *bucket = buckets;
        int64_t        longest;

        while (bucket < buckets + GATHERS_BUCKETS - 1 &&
               s->length[i] >= boundaries[bucket - buckets])
            ++bucket;
        longest = s->length[i] > bucket->longest ? s->length[i] : bucket->longest;
        if ((bucket->n + 1) * longest > GATHERS_BUDGET) {
            gathers_batch(s, bucket);
            longest = s->length[i];
        }
        bucket->record[bucket->n++] = i;
        bucket->longest = longest;
    }
    for (int b = 0; b < GATHERS_BUCKETS; ++b) {
        if (buckets[b].n > 0)
            gathers_batch(s, &buckets[b]);
    }
    return s;
}

/* Opens batches that are filled with as many steps as are in memory. */
static void *gathers_open_plain(const levada_bench_args *args)
{
    gathers_state *s = gathers_open_buckets(args);
    int64_t        from = 0;

    for (int64_t i = 0; i < s->n; ++i) {
        s->row[i].from = from;
        from += s->row[i].steps;
    }
    return s;
}

/* -- copies ------------------------------------------------------------------------------------ */

static void gathers_pass(void *state, levada_bench_count *count)
{
    gathers_state *s = state;

    for (int64_t i = 0; i < s->n; ++i) {
        const gathers_row *row = &s->row[i];
        size_t             size = (size_t)row->steps * sizeof *s->steps;
        int64_t            stop = row->to + row->steps;

        if (i + LEVADA_PREFETCH_ROWS < s->n) {
            const gathers_row *ahead = row + LEVADA_PREFETCH_ROWS;

            levada_prefetch(s->steps + ahead->from, ahead->steps * (int64_t)sizeof *s->steps);
        }
        memcpy(s->batch + row->to, s->steps + row->from, size);
        memset(s->batch + stop, 0, (size_t)(row->end - stop) * sizeof *s->batch);
        if (row->last)
            count->check += (uint64_t)s->batch[0];
    }
    count->records += s->n;
}

const levada_bench_work levada_bench_works[] = {
    {"packed", gathers_open_packed, gathers_pass, NULL},
    {"buckets", gathers_open_buckets, gathers_pass, NULL},
    {"plain", gathers_open_plain, gathers_pass, NULL},
    {NULL, NULL, NULL, NULL},
};
