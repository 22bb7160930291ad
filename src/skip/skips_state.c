/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts and causes in a state.
 */
#include "base/text.h"
#include "skip/skips_priv.h"
#include "state/damaged.h"

#include <string.h>

#define SKIPS_COUNTS 6
#define SKIPS_NUMBERS 5 /* of a note */
#define SKIPS_PROGRESS 4

#define SKIPS_KEY "#skips"
#define SKIPS_PROGRESS_KEY "#share"
#define SKIPS_PROBLEMS "#problems"
#define SKIPS_TEXT "#problems.text"

static void skips_list(levada_skip_counts *c, atomic_llong *list[SKIPS_COUNTS])
{
    atomic_llong *const all[SKIPS_COUNTS] = { &c->bad,     &c->unseen, &c->damaged,
                                              &c->missing, &c->empty,  &c->dropped };

    memcpy(list, all, sizeof all);
}

/* Reads a list of n counts, which anybody may have made up: sums must not overflow. */
static levada_status skips_get_counts(levada_state_reader *from, const char *key, int64_t n,
                                      const int64_t **out, levada_error *err)
{
    int64_t got = 0;

    LEVADA_TRY(levada_state_get_i64s(from, key, out, &got, err));
    if (got != n) {
        return levada_state_damaged(from, key, err, "%lld numbers, %lld were expected",
                                    (long long)got, (long long)n);
    }
    for (int64_t i = 0; i < n; i++) {
        if ((*out)[i] >= 0 && (*out)[i] <= LEVADA_COUNT_LIMIT) continue;
        return levada_state_damaged(from, key, err, "must be from 0 to %lld, got %lld",
                                    (long long)LEVADA_COUNT_LIMIT, (long long)(*out)[i]);
    }
    return LEVADA_OK;
}

/* -- causes as texts, each with its end */

void levada_skips_put_texts(levada_text *to, const levada_error *why)
{
    const char *const texts[] = { why->stage, why->file, why->key, why->message };

    for (int k = 0; k < 4; k++) levada_text_add(to, texts[k], strlen(texts[k]) + 1);
}

bool levada_skips_take_texts(levada_error *e, const char **at, const char *end)
{
    char *const  to[] = { e->stage, e->file, e->key, e->message };
    const size_t size[] = { sizeof e->stage, sizeof e->file, sizeof e->key, sizeof e->message };

    for (int k = 0; k < 4; k++) {
        size_t n = strnlen(*at, (size_t)(end - *at));

        if (n == (size_t)(end - *at) || n >= size[k]) return false;
        memcpy(to[k], *at, n + 1);
        *at += n + 1;
    }
    return true;
}

/* -- saving */

static int64_t skips_gather(const levada_skips *account, const levada_skip_counts *of,
                            int64_t *numbers, levada_text *text)
{
    int64_t n = 0;

    levada_mutex_lock(account->lock);
    for (int64_t i = 0; i < account->nnotes; i++) {
        const levada_note  *note = &account->notes[i];
        const levada_error *e = &note->why;

        if (note->of != of) continue;
        numbers[n++] = note->number;
        numbers[n++] = e->code;
        numbers[n++] = e->record;
        numbers[n++] = e->offset;
        numbers[n++] = note->lost;
        levada_skips_put_texts(text, e);
    }
    levada_mutex_unlock(account->lock);
    return n;
}

static levada_status skips_save_notes(const levada_skips *account, const levada_skip_counts *of,
                                      levada_state_writer *to, levada_error *err)
{
    int64_t       numbers[LEVADA_SKIP_NOTES * SKIPS_NUMBERS];
    levada_text   text = { 0 };
    int64_t       n = skips_gather(account, of, numbers, &text);
    levada_status st = LEVADA_OK;

    if (text.failed) st = levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED,
                                      "out of memory for a checkpoint");
    if (n && st == LEVADA_OK) st = levada_state_put_i64s(to, SKIPS_PROBLEMS, numbers, n, err);
    if (n && st == LEVADA_OK) st = levada_state_put_bytes(to, SKIPS_TEXT, text.at, text.size, err);
    levada_text_clear(&text);
    return st;
}

levada_status levada_skips_save(const levada_skips *account, const levada_skip_counts *counts,
                                levada_state_writer *to, levada_error *err)
{
    levada_skip_counts *c = (levada_skip_counts *)(uintptr_t)counts;
    bool                some = false;
    atomic_llong       *list[SKIPS_COUNTS];
    int64_t             values[SKIPS_COUNTS];

    skips_list(c, list);
    for (int i = 0; i < SKIPS_COUNTS; i++) {
        values[i] = atomic_load(list[i]);
        some = some || values[i];
    }
    LEVADA_TRY(skips_save_notes(account, counts, to, err));
    return some ? levada_state_put_i64s(to, SKIPS_KEY, values, SKIPS_COUNTS, err) : LEVADA_OK;
}

/* -- restoring */

/* Inserts a saved note at the place of its number. */
static void skips_insert(levada_skips *account, const levada_note *saved)
{
    levada_note *last, *at;

    levada_mutex_lock(account->lock);
    last = levada_skips_reserve_locked(account);
    for (at = last; at && at > account->notes && at[-1].number > saved->number; at--) *at = at[-1];
    if (at) *at = *saved;
    if (account->next_number <= saved->number) account->next_number = saved->number + 1;
    levada_mutex_unlock(account->lock);
}

static levada_status skips_restore_notes(levada_skips *account, levada_skip_counts *counts,
                                         levada_state_reader *from, levada_error *err)
{
    const int64_t *numbers = NULL;
    const void    *bytes = NULL;
    const char    *at, *end;
    int64_t        n = 0;
    size_t         size = 0;

    if (!levada_state_has(from, SKIPS_PROBLEMS)) return LEVADA_OK;
    LEVADA_TRY(levada_state_get_i64s(from, SKIPS_PROBLEMS, &numbers, &n, err));
    LEVADA_TRY(levada_state_get_bytes(from, SKIPS_TEXT, &bytes, &size, err));
    at = bytes;
    end = at + size;
    if (n % SKIPS_NUMBERS || n > LEVADA_SKIP_NOTES * SKIPS_NUMBERS) {
        return levada_state_damaged(from, SKIPS_PROBLEMS, err,
                                    "%lld numbers, not %d for each of up to %d problems",
                                    (long long)n, SKIPS_NUMBERS, LEVADA_SKIP_NOTES);
    }
    for (int64_t i = 0; i < n; i += SKIPS_NUMBERS) {
        levada_note note = { .why = LEVADA_ERROR_INIT, .of = counts, .number = numbers[i] };

        note.why.code = (levada_status)numbers[i + 1];
        note.why.record = numbers[i + 2];
        note.why.offset = numbers[i + 3];
        note.lost = numbers[i + 4] != 0;
        if (note.number < 0 || note.number > LEVADA_COUNT_LIMIT || numbers[i + 1] < INT16_MIN ||
            numbers[i + 1] >= 0) {
            return levada_state_damaged(from, SKIPS_PROBLEMS, err,
                                        "problem %lld has impossible numbers",
                                        (long long)(i / SKIPS_NUMBERS));
        }
        if (!levada_skips_take_texts(&note.why, &at, end)) {
            return levada_state_damaged(from, SKIPS_TEXT, err, "the texts of problem %lld are cut",
                                        (long long)(i / SKIPS_NUMBERS));
        }
        skips_insert(account, &note);
    }
    if (at == end) return LEVADA_OK;
    return levada_state_damaged(from, SKIPS_TEXT, err, "%lld bytes after the last text",
                                (long long)(end - at));
}

levada_status levada_skips_restore(levada_skips *account, levada_skip_counts *counts,
                                   levada_state_reader *from, levada_error *err)
{
    atomic_llong  *list[SKIPS_COUNTS];
    const int64_t *values = NULL;

    LEVADA_TRY(skips_restore_notes(account, counts, from, err));
    if (!levada_state_has(from, SKIPS_KEY)) return LEVADA_OK;
    LEVADA_TRY(skips_get_counts(from, SKIPS_KEY, SKIPS_COUNTS, &values, err));
    skips_list(counts, list);
    for (int i = 0; i < SKIPS_COUNTS; i++) atomic_store(list[i], values[i]);
    return LEVADA_OK;
}

/* -- how far a place has come */

levada_status levada_skip_progress_save(const levada_skip_progress *p, levada_state_writer *to,
                                        levada_error *err)
{
    const int64_t values[SKIPS_PROGRESS] = { p->read, p->lost, p->read_before, p->lost_before };

    return levada_state_put_i64s(to, SKIPS_PROGRESS_KEY, values, SKIPS_PROGRESS, err);
}

levada_status levada_skip_progress_restore(levada_skip_progress *p, levada_state_reader *from,
                                           levada_error *err)
{
    const int64_t *values = NULL;

    *p = (levada_skip_progress){ 0 };
    if (!levada_state_has(from, SKIPS_PROGRESS_KEY)) return LEVADA_OK;
    LEVADA_TRY(skips_get_counts(from, SKIPS_PROGRESS_KEY, SKIPS_PROGRESS, &values, err));
    *p = (levada_skip_progress){ values[0], values[1], values[2], values[3] };
    return LEVADA_OK;
}
