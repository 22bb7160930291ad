/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the epoch receipt costs for each record (docs/design/receipts.md): records in file order,
 * in the order of a shuffle of 8192, and of a whole file. Medians of seven runs.
 */
#define _POSIX_C_SOURCE 199309L
#include "state/receipt.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { RECORDS = 1 << 16, BATCH = 256, RUNS = 7 };

static levada_origin  origins[RECORDS];
static levada_receipt receipt;

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void show(const char *order, bool runs)
{
    double   seconds[RUNS];
    uint64_t file = levada_receipt_file("train.tfrecord");

    for (int k = 0; k < RUNS; k++) {
        double begun = now();

        for (int64_t i = 0; i < RECORDS; i += BATCH) {
            if (runs) levada_receipt_add(&receipt, file, i, BATCH);
            else levada_receipt_add_each(&receipt, file, origins + i, BATCH);
        }
        seconds[k] = now() - begun;
    }
    qsort(seconds, RUNS, sizeof *seconds, compare);
    printf("%-24s %5.2f ns a record\n", order, seconds[RUNS / 2] / RECORDS * 1e9);
}

int main(void)
{
    show("file order", true);
    for (int64_t i = 0; i < RECORDS; i++) origins[i].record = (i & ~8191) + (rand() & 8191);
    show("shuffle of 8192", false);
    for (int64_t i = 0; i < RECORDS; i++) origins[i].record = (int64_t)rand() * 64;
    show("shuffle of all", false);
    return receipt.rows == 3 * (uint64_t)RECORDS * RUNS ? 0 : 1;
}
