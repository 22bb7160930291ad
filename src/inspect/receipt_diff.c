/* SPDX-License-Identifier: Apache-2.0 */
#include "inspect/receipt_diff.h"

#include "base/alloc.h"

#include <string.h>

/* Records of a place that differ, beside twice those that it has: a sum of other places is that
 * small in one of 2^43 cases. */
#define DIFF_MOST (INT64_C(1) << 20)
#define DIFF_FOUND 4096 /* differences that are looked for */

static uint64_t diff_hash(uint64_t file, int64_t number)
{
    return levada_receipt_hash(levada_receipt_range(file, number), number, 1);
}

/* Finds the m records that follow each other in a place and have this sum; -1 = there are none. In
 * a range also records that should not exist. */
static int64_t diff_first(const levada_receipt_place *p, uint64_t file, int64_t m, uint64_t sum)
{
    int64_t  at = p->range ? p->first - p->first % LEVADA_RECEIPT_RANGE : p->first;
    int64_t  end = p->range ? at + LEVADA_RECEIPT_RANGE : p->last + 1;
    uint64_t have = 0;

    if (m > end - at) return -1;
    for (int64_t i = 0; i < m; i++) have += diff_hash(file, at + i);
    for (; have != sum; at++) {
        if (at + m == end) return -1;
        have += diff_hash(file, at + m) - diff_hash(file, at);
    }
    return at;
}

/* Takes n records of a place off the cells of their files and ranges, as sums. */
static void diff_take_sums(levada_receipt *left, uint64_t place, bool range, int64_t n,
                           uint64_t records)
{
    int32_t cells[2];

    levada_receipt_cells(place, range, cells);
    for (int i = 0; i < 2; i++) {
        left->cells[cells[i]].places -= (uint64_t)n * place;
        left->cells[cells[i]].records -= records;
    }
}

/* Takes off n records that follow each other; negative: adds them. */
static void diff_take(levada_receipt *left, uint64_t file, int64_t first, int64_t n)
{
    levada_receipt these = { 0 };

    levada_receipt_add(&these, file, first, n < 0 ? -n : n);
    levada_receipt_merge(left, &these, n < 0 ? 1 : -1);
}

static levada_status diff_note(levada_receipt_diff *d, levada_receipt_found found,
                               levada_error *err)
{
    if (!levada_reserve(&d->found, &d->capacity, d->nfound + 1, sizeof *d->found)) {
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a receipt");
    }
    d->found[d->nfound++] = found;
    return LEVADA_OK;
}

/* Looks whether one of the cells of a place got records of that place only, and sets *n to how
 * many, 0 = none, and *sum to the sum of their hashes. */
static void diff_look(const levada_receipt *left, const levada_receipt_place *p, int64_t *n,
                      uint64_t *sum)
{
    int64_t most = DIFF_MOST + 2 * p->records;
    int32_t cells[2];

    *n = 0;
    levada_receipt_cells(p->hash, p->range, cells);
    for (int i = 0; i < 2 && *n == 0; i++) {
        *n = levada_receipt_count(p->hash, left->cells[cells[i]].places);
        *sum = left->cells[cells[i]].records;
        if (*n > most || *n < -most) *n = 0;
    }
}

/* Explains what differs in one place, if that is possible now. `vague`: also where it cannot be
 * said which records of the place differ. */
static levada_status diff_place(levada_receipt_diff *d, const levada_receipt_place *p, bool vague,
                                bool *moved, levada_error *err)
{
    uint64_t sum = 0, file = d->places[p->file].hash;
    int64_t  n, m, first;

    diff_look(&d->left, p, &n, &sum);
    if (n == 0) return LEVADA_OK;
    m = n < 0 ? -n : n;
    first = diff_first(p, file, m, n < 0 ? 0 - sum : sum);
    if (first < 0 && !vague) return LEVADA_OK;
    *moved = true;
    if (first >= 0) {
        diff_take(&d->left, file, first, n);
        return diff_note(d, (levada_receipt_found){ p->file, first, first + m - 1, n, true }, err);
    }
    diff_take_sums(&d->left, file, false, n, sum);
    if (p->range) diff_take_sums(&d->left, p->hash, true, n, sum);
    return diff_note(d, (levada_receipt_found){ p->file, p->first, p->last, n, false }, err);
}

/* Returns true if no cell of the files (of the ranges) differs. */
static bool diff_is_empty(const levada_receipt *left, bool ranges)
{
    int32_t begin = ranges ? LEVADA_RECEIPT_FILE_CELLS : 0;
    int32_t end = ranges ? LEVADA_RECEIPT_CELLS : LEVADA_RECEIPT_FILE_CELLS;

    for (int32_t i = begin; i < end; i++) {
        if (left->cells[i].places || left->cells[i].records) return false;
    }
    return true;
}

/* Explains the places of one kind that can be now. If `vague`, the first one only. */
static levada_status diff_places(levada_receipt_diff *d, bool ranges, bool vague, bool *moved,
                                 levada_error *err)
{
    for (int64_t i = 0; i < d->n && !(vague && *moved); i++) {
        if (d->places[i].range != ranges) continue;
        LEVADA_TRY(diff_place(d, &d->places[i], vague, moved, err));
    }
    return LEVADA_OK;
}

/* Explains what is exact first, as that makes other cells simpler; then ranges of which some
 * records differ, one by one; then such files. */
levada_status levada_receipt_explain(levada_receipt_diff *d, levada_error *err)
{
    bool moved = true, files = false;

    while (moved && d->nfound < DIFF_FOUND) {
        moved = false;
        if (!files) {
            LEVADA_TRY(diff_places(d, false, false, &moved, err));
            LEVADA_TRY(diff_places(d, true, false, &moved, err));
            if (!moved) LEVADA_TRY(diff_places(d, true, true, &moved, err));
        }
        files = files || !moved; /* from here on the cells of ranges keep what files explain */
        if (files) LEVADA_TRY(diff_places(d, false, true, &moved, err));
    }
    d->named = diff_is_empty(&d->left, false) && (files || diff_is_empty(&d->left, true));
    return LEVADA_OK;
}
