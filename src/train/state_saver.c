/* SPDX-License-Identifier: Apache-2.0 */
#include <levada/binding.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/process.h"
#include "base/versioned.h"
#include "tensor/segments.h"
#include "train/state_saver_priv.h"

#include <string.h>

#define SAVER_BUCKETS 64
#define SAVER_ROWS 100 /* of the list of unsaved states */

/* -- making and freeing ------------------------------------------------------------------------ */

static levada_status saver_check(const levada_state_saver_options *o, levada_error *err)
{
    if (o->num_unroll < 1 || o->num_unroll > INT32_MAX) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "num_unroll=%lld must be at least 1",
                           (long long)o->num_unroll);
    }
    if (o->batch_size < 0) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "batch_size=%lld must be at least 0",
                           (long long)o->batch_size);
    }
    if (o->capacity == 0 || o->capacity < -1) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "capacity=%lld must be at least 1, or -1 for no limit",
                           (long long)o->capacity);
    }
    if (o->capacity > 0 && o->capacity < o->batch_size) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "capacity %lld needs to be >= batch_size %lld", (long long)o->capacity,
                           (long long)o->batch_size);
    }
    if (o->state_timeout < 1) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "state_timeout=%lld must be at least 1 nanosecond",
                           (long long)o->state_timeout);
    }
    if (o->zero_length < LEVADA_ZERO_LENGTH_ERROR || o->zero_length > LEVADA_ZERO_LENGTH_SEGMENT) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "zero_length=%d must be a levada_zero_length", (int)o->zero_length);
    }
    return LEVADA_OK;
}

static void saver_free(levada_state_saver *s)
{
    while (s->ledger.taken != NULL) { /* abandoned ones */
        levada_segment_batch *batch = levada_saver_batch(s->ledger.taken);

        s->ledger.taken = batch->taken.next;
        for (int64_t i = 0; i < batch->taken.n; i++) {
            levada_saver_remove_key_locked(s, levada_saver_row(batch, i));
        }
        levada_saver_free_batch(s, batch);
    }
    for (levada_sequence *e = s->ledger.ready; e != NULL; e = e->next) {
        levada_saver_remove_key_locked(s, (levada_saver_live *)(void *)e);
    }
    levada_saver_live_unref_all(s, s->ledger.ready);
    for (int64_t i = 0; i < s->awaited.n; i++) {
        levada_saver_live *e = s->awaited.rows[i];

        if (!e->awaited) continue;
        levada_saver_remove_key_locked(s, e);
        levada_saver_live_unref(s, e); /* as the saver's; the list has another one */
    }
    levada_saver_free_awaited(s);
    if (s->has_lock) levada_lock_clear(&s->lock);
    levada_wait_list_unref(&s->wait_list);
    if (s->pool != NULL) levada_pool_unref(&s->pool);
    levada_env_unref(&s->env);
    levada_saver_free_fields(s);
    levada_free(s->buckets);
    levada_free(s->seen.more);
    levada_free(s->name);
    levada_free(s);
}

static levada_status saver_fill(levada_state_saver *s, levada_env *env,
                                const levada_state_saver_options *o, levada_error *err)
{
    s->env = levada_env_ref(env);
    s->pool = s->env != NULL ? levada_pool_ref(levada_env_pool(s->env)) : NULL;
    s->wait_list = s->env != NULL ? levada_wait_list_ref(levada_env_wait_list(s->env)) : NULL;
    s->name = levada_strdup(o->name != NULL ? o->name : "state_saver");
    s->nbuckets = SAVER_BUCKETS;
    s->buckets = levada_alloc_zero(sizeof(*s->buckets) * SAVER_BUCKETS);
    s->has_lock = levada_lock_init(&s->lock, LEVADA_LOCK_QUEUE, NULL) == LEVADA_OK;
    if (s->env == NULL || s->name == NULL || s->buckets == NULL || !s->has_lock) {
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory");
    }
    s->batch_size = o->batch_size;
    s->unroll = o->num_unroll;
    s->ledger.capacity = o->capacity;
    s->state_timeout = o->state_timeout;
    s->ledger.small = o->allow_small_batch;
    s->pad = o->pad;
    s->unique = o->make_keys_unique;
    s->finite = o->check_finite;
    s->zero_length = o->zero_length;
    levada_shown_set(&s->shown, LEVADA_SAVER_SHOW_OLDEST, -1);
    return levada_saver_copy_fields(s, o, err);
}

static void saver_set_sites(levada_state_saver *s)
{
    int64_t every = s->state_timeout < 1000000000 ? s->state_timeout : 1000000000;

    levada_site_init(&s->take_site, s->wait_list, s->name);
    levada_site_init(&s->insert_site, s->wait_list, s->name);
    s->take_site.watched = s->insert_site.watched = true;
    s->take_site.detail = s->insert_site.detail = levada_saver_show;
    s->take_site.detail_user = s->insert_site.detail_user = s;
    s->take_site.poll = levada_saver_poll;
    s->take_site.poll_user = s;
    s->take_site.poll_every = every;
}

levada_status levada_state_saver_create(levada_env *env, const levada_state_saver_options *options,
                                        levada_state_saver **out, levada_error *err)
{
    levada_state_saver_options all = LEVADA_STATE_SAVER_OPTIONS_INIT;
    levada_state_saver        *s;
    levada_status              st;

    LEVADA_TRY(levada_require(options != NULL, "options", err));
    LEVADA_TRY(levada_require(out != NULL, "out", err));
    LEVADA_TRY(LEVADA_VERSIONED_READ(all, options, levada_state_saver_options, err));
    LEVADA_TRY(saver_check(&all, err));
    s = levada_alloc_zero(sizeof(*s));
    if (s == NULL) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory");
    levada_refs_init(&s->refs, 1);
    s->process = levada_process();
    st = saver_fill(s, env, &all, err);
    if (st != LEVADA_OK) {
        saver_free(s);
        return st;
    }
    saver_set_sites(s);
    *out = s;
    return LEVADA_OK;
}

levada_state_saver *levada_state_saver_ref(levada_state_saver *saver)
{
    if (saver != NULL) levada_refs_add(&saver->refs);
    return saver;
}

void levada_state_saver_unref(levada_state_saver **saver)
{
    levada_state_saver *s = saver != NULL ? *saver : NULL;

    if (s == NULL) return;
    *saver = NULL;
    if (!levada_refs_drop(&s->refs)) return;
    if (!LEVADA_OURS(s) && !levada_lock_is_free(&s->lock)) return;
    saver_free(s);
}

/* -- closing ----------------------------------------------------------------------------------- */

/* Cancels rows that wait for states, which never get them. Returns the batches that nobody holds
 * any more. */
static levada_taken *saver_cancel_locked(levada_state_saver *s)
{
    levada_taken *all = NULL, *gone = NULL, *next;

    levada_ledger_cancel(&s->ledger, &all);
    for (levada_taken *t = all; t != NULL; t = next) {
        next = t->next;
        t->next = NULL;
        for (int64_t i = 0; i < t->n; i++) {
            levada_saver_remove_key_locked(s, levada_saver_row(levada_saver_batch(t), i));
        }
        if (!t->abandoned) continue;
        t->next = gone;
        gone = t;
    }
    return gone;
}

static void saver_free_gone(levada_state_saver *s, levada_taken *gone)
{
    while (gone != NULL) {
        levada_taken *t = gone;

        gone = t->next;
        levada_saver_free_batch(s, levada_saver_batch(t));
    }
}

levada_status levada_state_saver_close(levada_state_saver *saver, bool cancel_pending,
                                       levada_error *err)
{
    levada_woken  woken = { 0 };
    levada_taken *gone = NULL;
    bool          again;

    LEVADA_TRY(LEVADA_USABLE(saver, "state saver", err));
    levada_lock_take(&saver->lock);
    again = saver->ledger.closed && !cancel_pending;
    if (!again) {
        saver->ledger.closed = true;
        if (cancel_pending && !saver->ledger.cancelled) {
            levada_saver_finish_locked(saver, &saver->inserts, LEVADA_SAVER_CANCELLED, &woken);
            gone = saver_cancel_locked(saver);
        }
        levada_saver_settle_locked(saver, &woken);
    }
    levada_lock_give(&saver->lock);
    levada_wake(&woken);
    saver_free_gone(saver, gone);
    if (!again) return LEVADA_OK;
    return levada_fail(err, LEVADA_ECANCELLED, "State saver '%s' is already closed", saver->name);
}

bool levada_state_saver_is_closed(const levada_state_saver *saver)
{
    levada_state_saver *s = (levada_state_saver *)(uintptr_t)saver;
    bool                closed;

    if (!LEVADA_OURS(s)) return false;
    levada_lock_take(&s->lock);
    closed = s->ledger.closed;
    levada_lock_give(&s->lock);
    return closed;
}

void levada_state_saver_cancel(levada_state_saver *saver)
{
    levada_woken woken = { 0 };

    if (!LEVADA_OURS(saver)) return;
    levada_lock_take(&saver->lock);
    levada_saver_finish_locked(saver, &saver->takes, LEVADA_SAVER_CANCELLED, &woken);
    levada_saver_finish_locked(saver, &saver->inserts, LEVADA_SAVER_CANCELLED, &woken);
    levada_lock_give(&saver->lock);
    levada_wake(&woken);
}

/* -- looking ----------------------------------------------------------------------------------- */

static void saver_count_locked(const levada_state_saver *s, levada_state_saver_stats *to)
{
    const levada_ledger_counts *c = &s->ledger.counts;
    const levada_taken         *oldest = levada_ledger_oldest(&s->ledger);

    to->live = c->live;
    to->reserved = c->reserved;
    to->ready = c->ready;
    to->incomplete = c->incomplete;
    to->unsaved = c->unsaved;
    to->abandoned = c->abandoned;
    to->awaited = s->awaited.left;
    if (oldest != NULL) to->oldest_unsaved = levada_now() - levada_saver_batch(oldest)->taken_at;
    to->inserted = c->inserted;
    to->finished = c->finished;
    to->skipped = s->skipped;
    to->discarded = c->discarded;
    to->dropped = c->dropped + (s->ledger.ended ? c->ready : 0); /* too few for a batch */
    to->replayed = s->replayed;
    to->segments = c->segments;
}

levada_status levada_state_saver_get_stats(const levada_state_saver *saver,
                                           levada_state_saver_stats *out, levada_error *err)
{
    levada_state_saver      *s = (levada_state_saver *)(uintptr_t)saver;
    levada_state_saver_stats all = LEVADA_STATE_SAVER_STATS_INIT;

    LEVADA_TRY(LEVADA_USABLE(s, "state saver", err));
    LEVADA_TRY(levada_require(out != NULL, "out", err));
    LEVADA_TRY(levada_versioned_check(out, sizeof(all), "levada_state_saver_stats", err));
    levada_lock_take(&s->lock);
    saver_count_locked(s, &all);
    levada_lock_give(&s->lock);
    levada_versioned_write(out, &all, sizeof(all));
    return LEVADA_OK;
}

static void saver_print_unsaved(const levada_state_saver *s, const levada_segment_batch *b,
                                int64_t row, levada_text *to)
{
    const levada_saver_live *e = levada_saver_row(b, row);
    char        key[LEVADA_SEGMENTS_PREFIX + 256];
    size_t      n = levada_segments_prefix(e->sequence.segment, e->sequence.nsegments, key);
    size_t      more = e->key_size > 256 ? 256 : (size_t)e->key_size;
    const char *before = "";

    memcpy(key + n, levada_saver_key(s, e), more);
    levada_text_put(to, "{\"key\": ");
    levada_text_json(to, key, n + more);
    levada_text_put(to, ", \"states\": [");
    for (int32_t i = 0; i < s->nstates; i++) {
        if (b->saved->values[i] != NULL) continue;
        levada_text_put(to, before);
        levada_text_json(to, levada_saver_state(s)[i].name, strlen(levada_saver_state(s)[i].name));
        before = ", ";
    }
    levada_text_format(to, "], \"seconds\": %.3f, \"abandoned\": %s}",
                       (double)(levada_now() - b->taken_at) * 1e-9,
                       b->taken.abandoned ? "true" : "false");
}

levada_status levada_state_saver_unsaved_json(const levada_state_saver *saver, char **out,
                                              levada_error *err)
{
    levada_state_saver *s = (levada_state_saver *)(uintptr_t)saver;
    levada_text         text = { 0 };
    int64_t             n = 0;

    LEVADA_TRY(LEVADA_USABLE(s, "state saver", err));
    LEVADA_TRY(levada_require(out != NULL, "out", err));
    levada_text_char(&text, '[');
    levada_lock_take(&s->lock);
    for (const levada_taken *t = s->ledger.taken; t != NULL; t = t->next) {
        for (int64_t i = 0; i < t->n && n < SAVER_ROWS; i++) {
            if (levada_sequence_is_last(t->rows[i])) continue;
            if (n++ > 0) levada_text_put(&text, ", ");
            saver_print_unsaved(s, levada_saver_batch(t), i, &text);
        }
    }
    levada_lock_give(&s->lock);
    levada_text_char(&text, ']');
    return levada_text_steal(&text, out, err);
}

void levada_state_saver_set_poll(levada_state_saver *saver, bool (*ask)(void *user), void *user,
                                 int64_t every)
{
    if (!LEVADA_OURS(saver)) return;
    if (every < 1) every = 1;
    if (saver->ask == ask && saver->ask_user == user) return; /* as in levada_queue_set_poll */
    saver->ask_user = user;
    saver->ask = ask;
    saver->insert_site.poll_user = user;
    saver->insert_site.poll_every = every;
    saver->insert_site.poll = ask;
    if (every < saver->take_site.poll_every) saver->take_site.poll_every = every;
}

void levada_state_saver_set_accept(levada_state_saver *saver, bool (*accept)(void *user),
                                   void *user)
{
    if (!LEVADA_OURS(saver)) return;
    if (saver->take_site.accept == accept && saver->take_site.accept_user == user) return;
    saver->take_site.accept_user = saver->insert_site.accept_user = user;
    saver->take_site.accept = saver->insert_site.accept = accept;
}

LEVADA_VERSIONED_INIT(levada_state_saver_options_init, levada_state_saver_options,
                      LEVADA_STATE_SAVER_OPTIONS_INIT)
LEVADA_VERSIONED_INIT(levada_state_saver_stats_init, levada_state_saver_stats,
                      LEVADA_STATE_SAVER_STATS_INIT)
LEVADA_VERSIONED_INIT(levada_segment_view_init, levada_segment_view, LEVADA_SEGMENT_VIEW_INIT)
