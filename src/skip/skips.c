/* SPDX-License-Identifier: Apache-2.0 */
#include "skip/skips_priv.h"

#include "base/alloc.h"
#include "tensor/block_priv.h"

/* -- the first causes, in the order in which they came */

void levada_skips_clear(levada_skips *account)
{
    levada_free(account->notes);
    account->notes = NULL;
    account->nnotes = 0;
}

levada_note *levada_skips_reserve_locked(levada_skips *account)
{
    if (!account->notes) account->notes = levada_alloc(LEVADA_SKIP_NOTES * sizeof(levada_note));
    if (!account->notes || account->nnotes == LEVADA_SKIP_NOTES) return NULL;
    return &account->notes[account->nnotes++];
}

void levada_skip_note(const levada_skip_place *place, const levada_error *why)
{
    levada_skips *account = place->account;
    levada_note  *note;

    if (!account) return;
    levada_mutex_lock(account->lock);
    note = levada_skips_reserve_locked(account);
    if (note) {
        *note = (levada_note){ .why = *why, .of = place->counts, .number = account->next_number++ };
        levada_error_place(&note->why, place->path, NULL, -1, -1);
    }
    levada_mutex_unlock(account->lock);
}

/* -- counting */

bool levada_skip_allows(const levada_skip_place *place, const levada_policy *policy, int64_t more,
                        int64_t good)
{
    levada_skip_counts *counts = place->counts;
    int64_t bad = more + atomic_load(&counts->bad) + atomic_load(&counts->unseen);

    if (place->piped) good = atomic_load(&counts->emitted);
    return policy->skip && levada_policy_allows(policy, bad, good + bad);
}

/* Good and bad ones up to a bad one that the place comes to as number `read`. In a pipe, those that
 * the combiner emitted and those left out: how far a pipe has read ahead depends on the size of
 * blocks. */
static int64_t skips_records(const levada_skip_place *place, int64_t read)
{
    if (!place->piped) return read;
    return atomic_load(&place->counts->emitted) + atomic_load(&place->counts->bad) + 1;
}

levada_status levada_skip_reject(const levada_skip_place *place, int64_t read,
                                 const levada_error *why, levada_error *err)
{
    levada_skip_counts *counts = place->counts;
    int64_t             bad = atomic_load(&counts->bad) + 1;

    if (!levada_policy_allows(&place->account->policy, bad, skips_records(place, read))) {
        if (err) *err = *why;
        return why->code;
    }
    (void)atomic_fetch_add(&counts->bad, 1);
    levada_skip_note(place, why);
    return LEVADA_OK;
}

levada_status levada_skip_settle(const levada_skip_place *place, int64_t records,
                                 levada_block **made, levada_error *err)
{
    levada_block *block = *made;
    int64_t       read = atomic_fetch_add_explicit(&place->counts->read, records,
                                                   memory_order_relaxed);

    for (int32_t i = 0; i < block->nrejects; i++) {
        const levada_reject *reject = &block->rejects[i];
        levada_status st = levada_skip_reject(place, read + reject->row + 1, &reject->why, err);

        if (st != LEVADA_OK) {
            levada_block_unref(made);
            return st;
        }
    }
    levada_free(block->rejects);
    block->rejects = NULL;
    block->nrejects = 0;
    return LEVADA_OK;
}

/* -- sums */

void levada_losses_count(levada_losses *to, const levada_skip_counts *counts)
{
    to->skipped += atomic_load(&counts->bad);
    to->damaged_bytes += atomic_load(&counts->damaged);
    to->missing += atomic_load(&counts->missing);
    to->empty += atomic_load(&counts->empty);
    to->dropped += atomic_load(&counts->dropped);
}

void levada_losses_add(levada_losses *to, const levada_losses *more, int64_t times)
{
    to->skipped += more->skipped * times;
    to->damaged_bytes += more->damaged_bytes * times;
    to->missing += more->missing * times;
    to->empty += more->empty * times;
    to->dropped += more->dropped * times;
}
