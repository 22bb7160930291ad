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

struct levada_shuffled {
    levada_permutation order;
    int64_t            careful; /* places below it are fetched one by one */
    levada_picked      picked;
};

void levada_shuffled_destroy(levada_shuffled **shuffled)
{
    levada_shuffled *s = *shuffled;

    *shuffled = NULL;
    if (!s) return;
    levada_picked_clear(&s->picked);
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

static levada_status shuffled_fetch(levada_file_reader *r, int32_t n, levada_block **out,
                                    levada_error *err)
{
    levada_picked *p = &r->shuffled->picked;

    for (int32_t i = 0; i < n; i++) {
        p->records[i].number = r->range.first + levada_file_reader_place(r, r->at.record + i);
        p->records[i].pass = r->at.pass;
    }
    return levada_file_reader_pick(r, p, n, out, err);
}

/* Returns true if the failure is that of a record or of its file, which a policy may skip. */
static bool shuffled_is_bad(const levada_file_reader *r, int32_t n, levada_status st)
{
    bool too_long = false;

    for (int32_t i = 0; i < n; i++) {
        too_long = too_long ||
            r->shuffled->picked.lengths[i] > r->framing.context->max_record_bytes;
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
    loss.damaged = r->shuffled->picked.lengths[0];
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
        for (int32_t i = 0; i < n; i++) r->losses.good += r->shuffled->picked.lengths[i];
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
    levada_shuffled *s;
    levada_status    st;

    if (!r->framing.options->numbers.shuffle_records) return LEVADA_OK;
    s = levada_alloc_zero(sizeof *s);
    st = s ? levada_picked_reserve(&s->picked, r->framing.context->block_rows, err)
           : levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory while shuffling records");
    if (st != LEVADA_OK) {
        levada_shuffled_destroy(&s);
        return st;
    }
    r->shuffled = s;
    levada_shuffled_arrange(r);
    return LEVADA_OK;
}
