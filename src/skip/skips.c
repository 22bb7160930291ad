/* SPDX-License-Identifier: Apache-2.0 */
#include "skip/skips_priv.h"

#include "base/alloc.h"

#include <stdio.h>

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

static void skips_note(levada_skips *account, const levada_reject *reject)
{
    levada_note *note;

    levada_mutex_lock(account->lock);
    note = levada_skips_reserve_locked(account);
    if (note) {
        *note = (levada_note){ .why = reject->why,
                               .of = reject->loss.counts,
                               .number = account->next_number++,
                               .lost = reject->loss.records > 0 };
    }
    levada_mutex_unlock(account->lock);
}

/* -- at the place */

levada_loss levada_skip_loss(const levada_skip_place *place, const levada_policy *policy,
                             int64_t records)
{
    return (levada_loss){ .counts = place->counts,
                          .skip = policy->skip,
                          .most = policy->most,
                          .share = policy->share,
                          .records = records,
                          .noted = records > 0,
                          .piped = place->piped };
}

void levada_skip_number(levada_loss *loss, levada_skip_progress *progress, int64_t good)
{
    progress->lost += loss->records;
    loss->lost = progress->lost;
    loss->total = good + progress->lost;
    if (loss->unseen > 0) progress->lost += loss->unseen;
}

void levada_skip_next_pass(levada_skip_progress *progress, bool read_to_end)
{
    if (read_to_end) {
        progress->read_before = progress->read;
        progress->lost_before = progress->lost;
    } else {
        progress->read = progress->read_before;
        progress->lost = progress->lost_before;
    }
}

/* -- where the consumer passes */

static bool skips_allow(const levada_loss *loss, int64_t unseen)
{
    const levada_policy policy = { .skip = loss->skip, .most = loss->most, .share = loss->share };
    const levada_skip_counts *c = loss->counts;
    int64_t bad = atomic_load(&c->bad) + atomic_load(&c->unseen) + loss->records + unseen;

    if (!policy.skip) return false;
    if (policy.share >= 0) bad = loss->lost + unseen;
    return levada_policy_allows(&policy, bad, loss->total + unseen);
}

static levada_status skips_judge(const levada_reject *reject, levada_error *err)
{
    const levada_loss *loss = &reject->loss;
    bool               first = !loss->records || skips_allow(loss, 0);

    if (first && loss->unseen == 0) return LEVADA_OK;
    if (first && loss->unseen > 0 && skips_allow(loss, loss->unseen)) return LEVADA_OK;
    if (err) *err = reject->why;
    if (first && loss->records) {
        levada_error_wrap(err, loss->unseen < 0
                                   ? "the number of lost records is unknown, so a budget in "
                                     "percent cannot apply; use errors=skip or skip:COUNT"
                                   : "more records were lost than the error budget allows");
    }
    return reject->why.code;
}

/* Logs what costs no record, but is seldom what was meant. */
static void skips_log(const levada_env *env, const levada_error *why)
{
    const char *where = why->file[0] ? why->file : why->stage;
    char        at[80] = "";
    int         n = 0;

    if (why->record >= 0) n = snprintf(at, sizeof at, " record %lld", (long long)why->record);
    if (why->offset >= 0) {
        (void)snprintf(at + n, sizeof at - (size_t)n, " at byte %lld", (long long)why->offset);
    }
    levada_env_log(env, LEVADA_LOG_WARNING, "%s%s: %s", where, at, why->message);
}

levada_status levada_skip_commit(levada_skips *account, const levada_env *env,
                               const levada_reject *reject, levada_error *err)
{
    const levada_loss  *loss = &reject->loss;
    levada_skip_counts *c = loss->counts;

    LEVADA_TRY(skips_judge(reject, err));
    (void)atomic_fetch_add(&c->bad, loss->records);
    (void)atomic_fetch_add(&c->unseen, loss->unseen);
    (void)atomic_fetch_add(&c->damaged, loss->damaged);
    (void)atomic_fetch_add(&c->missing, loss->missing);
    (void)atomic_fetch_add(&c->empty, loss->empty);
    (void)atomic_fetch_add(&c->dropped, loss->dropped);
    if (account && loss->noted) skips_note(account, reject);
    if (loss->noted && loss->records == 0) skips_log(env, &reject->why);
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
