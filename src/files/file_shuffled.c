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

/* A record of a block, which is fetched in the order of the files. */
typedef struct shuffled_record {
    levada_origin origin;
    int32_t       row; /* in the order of the epoch */
} shuffled_record;

struct levada_shuffled {
    levada_permutation order;
    int64_t            careful; /* places below it are fetched one by one */
    /* For the records of a block */
    shuffled_record *records;
    levada_origin   *origins;
    int64_t         *lengths; /* of the frames; 0 = not known */
    int32_t         *rows;
};

void levada_shuffled_destroy(levada_shuffled **shuffled)
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

void levada_shuffled_arrange(levada_file_reader *r)
{
    uint64_t key = levada_random_key(r->framing.context->seed, (uint64_t)r->at.epoch);

    key = levada_random_draw(key, (uint64_t)r->source, (uint64_t)r->at.pass);
    r->shuffled->order = levada_permutation_of((uint64_t)(r->range.end - r->range.first), key);
    r->shuffled->careful = 0;
    levada_file_reader_forget(r);
}

int64_t levada_file_reader_place(const levada_file_reader *r, int64_t i)
{
    return r->shuffled ? (int64_t)levada_permutation_at(&r->shuffled->order, (uint64_t)i) : i;
}

static int shuffled_compare(const void *one, const void *two)
{
    const levada_origin *a = &((const shuffled_record *)one)->origin;
    const levada_origin *b = &((const shuffled_record *)two)->origin;

    if (a->shard != b->shard) return a->shard < b->shard ? -1 : 1;
    return a->record < b->record ? -1 : a->record > b->record;
}

static levada_status shuffled_fetch(levada_file_reader *r, int32_t n, levada_block **out,
                                    levada_error *err)
{
    levada_shuffled *s = r->shuffled;
    levada_block    *block = NULL;
    levada_status    st;

    for (int32_t i = 0; i < n; i++) {
        int64_t place = levada_file_reader_place(r, r->at.record + i);

        s->records[i] = (shuffled_record){ levada_file_reader_origin_at(r, place), i };
    }
    qsort(s->records, (size_t)n, sizeof *s->records, shuffled_compare);
    for (int32_t i = 0; i < n; i++) {
        s->origins[i] = s->records[i].origin;
        s->rows[s->records[i].row] = i;
    }
    LEVADA_TRY(levada_file_reader_fetch(r, s->origins, s->lengths, n, &block, err));
    st = levada_block_select(block, s->rows, n, out, err);
    levada_block_unref(&block);
    return st;
}

/* Returns true if the failure is that of a record or of its file, which a policy may skip. */
static bool shuffled_is_bad(const levada_file_reader *r, int32_t n, levada_status st)
{
    bool too_long = false;

    for (int32_t i = 0; i < n; i++) {
        too_long = too_long ||
            r->shuffled->lengths[i] > r->framing.context->max_record_bytes;
    }
    return st == LEVADA_EDATA_LOSS || st == LEVADA_ENOT_FOUND ||
           (st == LEVADA_ERESOURCE_EXHAUSTED && too_long);
}

/* Rejects the record whose turn it is, or returns the failure, as the policy says. */
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
    r->at.record++;
    return LEVADA_OK;
}

levada_status levada_shuffled_next(levada_file_reader *r, levada_block **out, levada_error *err)
{
    int64_t       left = r->range.end - r->range.first - r->at.record;
    int32_t       n = r->limit;
    levada_error  why = LEVADA_ERROR_INIT;
    levada_status st;

    if (n > left) n = (int32_t)left;
    if (r->at.record < r->shuffled->careful) n = 1;
    LEVADA_TRY(levada_file_reader_check_cancelled(r, err));
    st = shuffled_fetch(r, n, out, &why);
    if (st == LEVADA_OK) {
        for (int32_t i = 0; i < n; i++) r->losses.good += r->shuffled->lengths[i];
        r->at.record += n;
        levada_file_reader_count_records(r, n);
        return LEVADA_OK;
    }
    if (!shuffled_is_bad(r, n, st)) {
        if (err) *err = why;
        return st;
    }
    if (n == 1) return shuffled_judge(r, st, &why, err);
    r->shuffled->careful = r->at.record + n;
    return LEVADA_OK;
}

levada_status levada_file_reader_shuffle(levada_file_reader *r, levada_error *err)
{
    size_t           n = (size_t)r->framing.context->block_rows;
    levada_shuffled *s;

    if (!r->framing.options->numbers.shuffle_records) return LEVADA_OK;
    s = levada_alloc_zero(sizeof *s);
    if (s) {
        s->records = levada_alloc(n * sizeof *s->records);
        s->origins = levada_alloc(n * sizeof *s->origins);
        s->lengths = levada_alloc_zero(n * sizeof *s->lengths);
        s->rows = levada_alloc(n * sizeof *s->rows);
    }
    if (!s || !s->records || !s->origins || !s->lengths || !s->rows) {
        levada_shuffled_destroy(&s);
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED,
                           "out of memory while shuffling records");
    }
    r->shuffled = s;
    levada_shuffled_arrange(r);
    return LEVADA_OK;
}
