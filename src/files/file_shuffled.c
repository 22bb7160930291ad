/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All records of an indexed file set in another order in each epoch. The order is a permutation
 * that is computed (base/permutation.h), so neither memory nor the size of a state grows with the
 * number of records: a position is the number of records before it.
 *
 * The records of a block are fetched in the order in which they lie in the files. If one of them is
 * damaged, the records of that block are fetched one by one, so that those before it come first and
 * the policy decides about it alone.
 */
#include "base/alloc.h"
#include "base/permutation.h"
#include "base/random.h"
#include "files/file_reader_priv.h"
#include <levada/stage.h>

#include <stdlib.h>
#include <string.h>

/* A record of the block that is made, and its row in that block. */
typedef struct shuffled_record {
    levada_origin origin;
    int64_t       length;
    int32_t       row;
} shuffled_record;

struct levada_shuffled {
    levada_permutation order;
    int64_t            careful; /* places below it are fetched one by one      */
    shuffled_record   *records; /* of a block; the arrays have as many entries */
    levada_origin     *origins;
    int64_t           *lengths;
    int32_t           *rows;
};

static void shuffled_destroy(levada_shuffled **shuffled)
{
    levada_shuffled *s = *shuffled;

    *shuffled = NULL;
    if (!s) return;
    levada_free(s->records);
    levada_free(s->origins);
    levada_free(s->lengths);
    levada_free(s->rows);
    levada_free(s);
}

static void shuffled_arrange(levada_file_reader *r)
{
    uint64_t key = levada_random_key(r->context->seed, (uint64_t)r->epoch);

    key = levada_random_draw(key, (uint64_t)r->source, (uint64_t)r->pass);
    r->shuffled->order = levada_permutation_of((uint64_t)(r->end - r->first), key);
    r->shuffled->careful = 0;
    levada_file_reader_forget(r);
}

static int shuffled_compare(const void *one, const void *two)
{
    const levada_origin *a = &((const shuffled_record *)one)->origin;
    const levada_origin *b = &((const shuffled_record *)two)->origin;

    if (a->shard != b->shard) return a->shard < b->shard ? -1 : 1;
    return a->offset < b->offset ? -1 : a->offset > b->offset;
}

/* Finds the next n records, and sorts them by file and offset. */
static levada_status shuffled_find(levada_file_reader *r, int32_t n, levada_error *err)
{
    levada_shuffled *s = r->shuffled;

    for (int32_t i = 0; i < n; i++) {
        uint64_t           at = levada_permutation_at(&s->order, (uint64_t)(r->record + i));
        levada_index_entry entry;

        LEVADA_TRY(levada_index_find(r->index, r->first + (int64_t)at, &entry, err));
        s->records[i] = (shuffled_record){ .origin = { .source = r->source,
                                                       .pass = r->pass,
                                                       .shard = entry.shard,
                                                       .record = entry.record,
                                                       .offset = entry.offset },
                                           .length = entry.length,
                                           .row = i };
    }
    qsort(s->records, (size_t)n, sizeof *s->records, shuffled_compare);
    for (int32_t i = 0; i < n; i++) {
        s->origins[i] = s->records[i].origin;
        s->lengths[i] = s->records[i].length;
        s->rows[s->records[i].row] = i;
    }
    return LEVADA_OK;
}

static levada_status shuffled_fetch(levada_file_reader *r, int32_t n, levada_block **out,
                                    levada_error *err)
{
    levada_shuffled *s = r->shuffled;
    levada_block    *block = NULL;
    levada_status    st;

    LEVADA_TRY(shuffled_find(r, n, err));
    LEVADA_TRY(levada_file_reader_fetch(r, s->origins, s->lengths, n, &block, err));
    st = levada_block_select(block, s->rows, n, out, err);
    levada_block_unref(&block);
    return st;
}

/* Whether the failure is that of a record or of its file, which a policy may skip. */
static bool shuffled_is_bad(const levada_file_reader *r, int32_t n, levada_status st)
{
    bool too_long = false;

    for (int32_t i = 0; i < n; i++) {
        too_long = too_long || r->shuffled->lengths[i] > r->context->max_record_bytes;
    }
    return st == LEVADA_EDATA_LOSS || st == LEVADA_ENOT_FOUND ||
           (st == LEVADA_ERESOURCE_EXHAUSTED && too_long);
}

/* The policy decides about the record whose turn it is. */
static levada_status shuffled_judge(levada_file_reader *r, levada_status st,
                                    const levada_error *why, levada_error *err)
{
    levada_loss loss = levada_skip_loss(r->owner.place, &r->policy, 1);

    if (!r->policy.skip) {
        if (err) *err = *why;
        return st;
    }
    loss.damaged = r->shuffled->lengths[0];
    LEVADA_TRY(levada_file_reader_reject(r, why, &loss, err));
    r->record++;
    return LEVADA_OK;
}

static levada_status shuffled_next(levada_file_reader *r, levada_block **out, levada_error *err)
{
    int64_t       left = r->end - r->first - r->record;
    int32_t       n = r->context->block_rows;
    levada_error  why = LEVADA_ERROR_INIT;
    levada_status st;

    if (n > left) n = (int32_t)left;
    if (r->record < r->shuffled->careful) n = 1;
    LEVADA_TRY(levada_file_reader_check_cancelled(r, err));
    memset(r->shuffled->lengths, 0, sizeof *r->shuffled->lengths * (size_t)n);
    st = shuffled_fetch(r, n, out, &why);
    if (st == LEVADA_OK) {
        for (int32_t i = 0; i < n; i++) r->good += r->shuffled->lengths[i];
        r->record += n;
        levada_file_reader_count_records(r, n);
        return LEVADA_OK;
    }
    if (!shuffled_is_bad(r, n, st)) {
        if (err) *err = why;
        return st;
    }
    if (n == 1) return shuffled_judge(r, st, &why, err);
    r->shuffled->careful = r->record + n;
    return LEVADA_OK;
}

static const levada_order_ops shuffled_ops = {
    .destroy = shuffled_destroy,
    .arrange = shuffled_arrange,
    .next = shuffled_next,
};

levada_status levada_file_reader_shuffle(levada_file_reader *r, levada_error *err)
{
    levada_shuffled *s;
    size_t           n = (size_t)r->context->block_rows;

    if (!r->options->shuffle_records) return LEVADA_OK;
    s = levada_alloc_zero(sizeof *s);
    if (s) {
        s->records = levada_alloc(n * sizeof *s->records);
        s->origins = levada_alloc(n * sizeof *s->origins);
        s->lengths = levada_alloc(n * sizeof *s->lengths);
        s->rows = levada_alloc(n * sizeof *s->rows);
    }
    if (!s || !s->records || !s->origins || !s->lengths || !s->rows) {
        shuffled_destroy(&s);
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "no memory to shuffle records");
    }
    r->shuffled = s;
    r->order_ops = &shuffled_ops;
    shuffled_arrange(r);
    return LEVADA_OK;
}
