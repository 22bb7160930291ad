/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Epoch receipts (docs/design/receipts.md), batch by batch of 256 records, and their limit.
 *
 * - runs: records in file order
 * - shuffled, scattered: in the order of a shuffle of 8192 records, and of a large file
 * - sum: adds up the numbers of the shuffled records, which every receipt has to read
 */
#include "harness.h"

#include "state/receipt.h"

#include <stdlib.h>

enum { RECEIPTS_RECORDS = 1 << 20, RECEIPTS_BATCH = 256, RECEIPTS_SHUFFLE = 8192 };

typedef struct receipts_state {
    levada_origin *each;
    levada_receipt receipt;
    uint64_t       file, sum;
} receipts_state;

/* Draws a number below n, a power of two. */
static int64_t receipts_draw(uint64_t *random, int64_t n)
{
    *random = *random * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)(*random >> 30) & (n - 1);
}

static void *receipts_open(const levada_bench_args *args)
{
    const int64_t  *spread = args->user;
    receipts_state *s = calloc(1, sizeof *s);
    uint64_t        random = 1;

    if (s) s->each = calloc(RECEIPTS_RECORDS, sizeof *s->each);
    if (!s || !s->each) levada_bench_die("receipts", "out of memory");
    s->file = levada_receipt_file(1);
    for (int64_t i = 0; i < RECEIPTS_RECORDS; i++)
        s->each[i].record = (i & ~(*spread - 1)) + receipts_draw(&random, *spread);
    return s;
}

static void receipts_pass_runs(void *state, levada_bench_count *count)
{
    receipts_state *s = state;

    for (int64_t i = 0; i < RECEIPTS_RECORDS; i += RECEIPTS_BATCH)
        levada_receipt_add(&s->receipt, s->file, i, RECEIPTS_BATCH);
    count->records += RECEIPTS_RECORDS;
    count->check += s->receipt.cells[0].places;
}

static void receipts_pass(void *state, levada_bench_count *count)
{
    receipts_state *s = state;

    for (int64_t i = 0; i < RECEIPTS_RECORDS; i += RECEIPTS_BATCH)
        levada_receipt_add_each(&s->receipt, s->file, s->each + i, RECEIPTS_BATCH);
    count->records += RECEIPTS_RECORDS;
    count->check += s->receipt.cells[0].places;
}

static void receipts_pass_sum(void *state, levada_bench_count *count)
{
    receipts_state *s = state;

    for (int64_t i = 0; i < RECEIPTS_RECORDS; i++) s->sum += (uint64_t)s->each[i].record;
    count->records += RECEIPTS_RECORDS;
    count->check += s->sum;
}

static const int64_t receipts_near = RECEIPTS_SHUFFLE, receipts_far = INT64_C(1) << 30;

const levada_bench_work levada_bench_works[] = {
    { "runs", receipts_open, receipts_pass_runs, &receipts_near },
    { "shuffled", receipts_open, receipts_pass, &receipts_near },
    { "scattered", receipts_open, receipts_pass, &receipts_far },
    { "sum", receipts_open, receipts_pass_sum, &receipts_near },
    { NULL, NULL, NULL, NULL },
};
