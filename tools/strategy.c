/* SPDX-License-Identifier: Apache-2.0 */
#include "strategy.h"

#include "buffer.h"

#include <string.h>

/* The lengths in random order (always the same one). */
static const int64_t *strategy_shuffle(const levada_cli_lengths *lengths, levada_cli_buffer *memory)
{
    uint64_t state = 1;
    int64_t *at;

    levada_cli_add(memory, lengths->all, (size_t)lengths->n * sizeof *at);
    at = (int64_t *)(void *)memory->at;
    for (int64_t i = lengths->n - 1; i > 0; i--) {
        int64_t j, swap = at[i];

        state = state * 6364136223846793005u + 1442695040888963407u;
        j = (int64_t)((state >> 33) % (uint64_t)(i + 1));
        at[i] = at[j];
        at[j] = swap;
    }
    return at;
}

levada_cli_cost levada_cli_cost_random(const levada_cli_lengths *lengths, int64_t rows)
{
    levada_cli_cost   cost = { 0, 0, -1 };
    double            cells = 0, batches = 0;
    int64_t           longest = 0;
    levada_cli_buffer memory = { 0 };
    const int64_t    *all = strategy_shuffle(lengths, &memory);

    for (int64_t i = 0; i < lengths->n; i++) {
        if (all[i] > longest) longest = all[i];
        if ((i + 1) % rows != 0 && i + 1 < lengths->n) continue;
        cells += (double)longest * (double)(i % rows + 1);
        batches++;
        longest = 0;
    }
    if (cells > 0) cost.padding = 1 - (double)lengths->sum / cells;
    if (batches > 0) cost.tokens_per_batch = (double)lengths->sum / batches;
    levada_cli_buffer_clear(&memory);
    return cost;
}

levada_cli_cost levada_cli_cost_buckets(const levada_cli_lengths *lengths,
                                        const int64_t *boundaries, int64_t n, int64_t budget)
{
    levada_cli_cost cost = { 0, 0, 0 };
    double          cells = 0, batches = 0;
    int64_t         i = 0;

    for (int64_t b = 0; b <= n && i < lengths->distinct; b++) {
        int64_t records = 0, longest = 0;

        for (; i < lengths->distinct && (b == n || lengths->at[i] < boundaries[b]); i++) {
            records += lengths->count[i];
            longest = lengths->at[i];
        }
        if (records == 0) continue;
        cost.shapes++;
        cells += (double)records * (double)longest;
        batches += longest < budget ? (double)records / (double)(budget / (longest ? longest : 1))
                                    : (double)records;
    }
    if (cells > 0) cost.padding = 1 - (double)lengths->sum / cells;
    if (batches > 0) cost.tokens_per_batch = (double)lengths->sum / batches;
    return cost;
}

/* The fullest open row into which the length still fits, or -1. */
static int64_t strategy_fit(const int64_t *room, int64_t open, int64_t length)
{
    int64_t best = -1;

    for (int64_t i = 0; i < open; i++)
        if (room[i] >= length && (best < 0 || room[i] < room[best])) best = i;
    return best;
}

/* A row for a length that fits nowhere: a new one, or the fullest one if there are no more. */
static int64_t strategy_open(const int64_t *room, int64_t *used, int64_t open)
{
    int64_t fullest = 0;

    if (*used < open) return (*used)++;
    for (int64_t i = 1; i < open; i++)
        if (room[i] < room[fullest]) fullest = i;
    return fullest;
}

levada_cli_cost levada_cli_cost_packing(const levada_cli_lengths *lengths, int64_t open,
                                        int64_t budget)
{
    int64_t         room[LEVADA_CLI_MAX_BUCKETS], used = 0;
    double          cells = 0;
    levada_cli_cost cost = { 0, 0, 1 };

    if (open > LEVADA_CLI_MAX_BUCKETS) open = LEVADA_CLI_MAX_BUCKETS;
    for (int64_t i = 0; i < lengths->n; i++) {
        int64_t length = lengths->all[i], at = strategy_fit(room, used, length);

        if (length > budget) {
            cells += (double)length;
            continue;
        }
        if (at < 0) {
            at = strategy_open(room, &used, open);
            room[at] = budget;
            cells += (double)budget;
        }
        room[at] -= length;
    }
    /* Rows that are still open would be filled by what comes later. */
    for (int64_t i = 0; i < used; i++) cells -= (double)room[i];
    if (cells > 0) cost.padding = 1 - (double)lengths->sum / cells;
    cost.tokens_per_batch = (double)budget * (1 - cost.padding);
    return cost;
}

int64_t levada_cli_buckets_equal(const levada_cli_lengths *lengths, int64_t k, int64_t *out)
{
    int64_t n = 0, seen = 0;

    for (int64_t i = 0; i + 1 < lengths->distinct && n < k - 1; i++) {
        seen += lengths->count[i];
        if (seen * k >= lengths->n * (n + 1)) out[n++] = lengths->at[i] + 1;
    }
    return n;
}
