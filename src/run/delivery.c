/* SPDX-License-Identifier: Apache-2.0 */
#include "run/delivery.h"

#include "tensor/block_priv.h"

#include <string.h>

/* Returns how many rows from row `r` on have origins in the file of that one, and are a first
 * part if it is one. */
static int64_t delivery_stretch(const levada_origin *each, int64_t r, int64_t n)
{
    const levada_origin *first = &each[r];
    int64_t              end = r + 1;

    while (end < n && each[end].shard == first->shard && each[end].source == first->source &&
           each[end].pass == first->pass && (each[end].sub != 0) == (first->sub != 0) &&
           (each[end].record < 0) == (first->record < 0)) {
        end++;
    }
    return end - r;
}

typedef struct delivery_walk {
    levada_file_hashes    *known;
    levada_run            *run;
    levada_delivery_visit *visit;
    void                  *self;
} delivery_walk;

/* Visits n records of one file, and returns how many were not: origins in `each`, or in a run. */
static int64_t delivery_records(const delivery_walk *w, const levada_origin *first,
                                const levada_origin *each, int64_t n)
{
    uint64_t file;

    if (first->source >= 0 && first->sub != 0) return 0;
    if (first->source < 0 || first->record < 0) return n;
    if (levada_file_hash_of(w->known, w->run, first, &file, NULL) != LEVADA_OK) return n;
    w->visit(w->self, levada_receipt_file(file), first, each, n);
    return 0;
}

static int64_t delivery_part(const delivery_walk *w, const levada_block *block, int64_t from,
                             int32_t part)
{
    const levada_origins *o = part ? &block->more[part - 1] : &block->origins;
    levada_origin         first = levada_block_origin_part(block, from, part);
    int64_t               unknown = 0;

    if (!o->each) return delivery_records(w, &first, NULL, block->n - from);
    for (int64_t r = from, n; r < block->n; r += n) {
        n = delivery_stretch(o->each, r, block->n);
        if (part > 0 && o->each[r].source < 0) continue;
        unknown += delivery_records(w, &o->each[r], &o->each[r], n);
    }
    return unknown;
}

int64_t levada_delivery_walk(levada_file_hashes *known, levada_run *run, const levada_block *block,
                             int64_t from, levada_delivery_visit *visit, void *self)
{
    delivery_walk w = { .known = known, .run = run, .visit = visit, .self = self };
    int64_t       unknown = 0;

    for (int32_t part = 0; part <= block->nmore && from < block->n; part++) {
        unknown += delivery_part(&w, block, from, part);
    }
    return unknown;
}

static void delivery_visit(void *self, uint64_t file, const levada_origin *first,
                           const levada_origin *each, int64_t n)
{
    levada_receipt *receipt = self;

    if (each) levada_receipt_add_each(receipt, file, each, n);
    else levada_receipt_add(receipt, file, first->record, n);
}

void levada_delivery_add(levada_delivery *to, levada_run *run, const levada_block *block,
                         int64_t from)
{
    int64_t n = levada_delivery_walk(&to->files, run, block, from, delivery_visit,
                                     &to->receipt);

    to->receipt.rows += (uint64_t)n;
    to->receipt.unknown += (uint64_t)n;
}

void levada_delivery_take(levada_delivery *to, levada_run *run, const levada_block *block,
                          int64_t from)
{
    levada_receipt before = to->receipt;

    memset(&to->receipt, 0, sizeof to->receipt);
    levada_delivery_add(to, run, block, from);
    levada_receipt_merge(&before, &to->receipt, -1);
    to->receipt = before;
}
