/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rejects that wait at an inlet, in a state.
 */
#include "base/alloc.h"
#include "skip/rejects.h"
#include "skip/skips_priv.h"
#include "state/damaged.h"

#include <stdio.h>
#include <string.h>

#define REJECTS_NUMBERS 14
#define REJECTS_FLAGS 7 /* all that there are */

static int64_t rejects_share_bits(double share)
{
    int64_t bits;

    memcpy(&bits, &share, sizeof bits);
    return bits;
}

static double rejects_share_of(int64_t bits)
{
    double share;

    memcpy(&share, &bits, sizeof share);
    return share;
}

static void rejects_put_numbers(const levada_reject *r, int64_t numbers[REJECTS_NUMBERS])
{
    const levada_loss *l = &r->loss;
    const int64_t      all[REJECTS_NUMBERS] = {
        r->row,     r->why.code, r->why.record, r->why.offset, l->lost,
        l->total,   l->most,     rejects_share_bits(l->share), l->records, l->unseen,
        l->damaged, l->dropped,  (int64_t)l->missing << 32 | l->empty,
        l->skip | l->noted << 1 | l->piped << 2,
    };

    memcpy(numbers, all, sizeof all);
}

/* Takes numbers that anybody may have made up: sums must not overflow. */
static bool rejects_take_numbers(levada_reject *r, const int64_t *from, int64_t rows)
{
    levada_loss *l = &r->loss;

    *r = (levada_reject){ .row = from[0], .why = LEVADA_ERROR_INIT };
    r->why.code = (levada_status)from[1];
    r->why.record = from[2];
    r->why.offset = from[3];
    *l = (levada_loss){ .lost = from[4], .total = from[5], .most = from[6],
                        .share = rejects_share_of(from[7]), .records = from[8],
                        .unseen = from[9], .damaged = from[10], .dropped = from[11],
                        .missing = (int32_t)(from[12] >> 32), .empty = (int32_t)from[12],
                        .skip = from[13] & 1, .noted = from[13] & 2, .piped = from[13] & 4 };
    if (from[0] < 0 || from[0] > rows || from[1] < INT16_MIN || from[1] >= 0) return false;
    for (int i = 4; i <= 11; i++) {
        int64_t least = i == 9 ? -1 : 0;

        if (i == 6 || i == 7) continue; /* the budget is compared, not added */
        if (from[i] < least || from[i] > LEVADA_COUNT_LIMIT) return false;
    }
    if (l->missing < 0 || l->missing > 1 || l->empty < 0 || l->empty > 1) return false;
    return l->records <= 1 && l->share <= 1.0 && from[13] >= 0 && from[13] <= REJECTS_FLAGS;
}

static levada_status rejects_memory(levada_error *err)
{
    return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a checkpoint");
}

levada_status levada_rejects_save(const levada_rejects *rejects, levada_state_writer *to,
                                  const char *key, levada_error *err)
{
    int64_t      *numbers;
    levada_text   text = { 0 };
    char          name[LEVADA_STATE_NAME];
    levada_status st;

    if (rejects->n == 0) return LEVADA_OK;
    numbers = levada_alloc((size_t)rejects->n * REJECTS_NUMBERS * sizeof *numbers);
    if (!numbers) return rejects_memory(err);
    for (int32_t i = 0; i < rejects->n; i++) {
        const levada_reject *r = &rejects->list[i];

        rejects_put_numbers(r, numbers + (size_t)i * REJECTS_NUMBERS);
        levada_skips_put_texts(&text, &r->why);
        levada_text_add(&text, r->loss.counts->path, strlen(r->loss.counts->path) + 1);
    }
    snprintf(name, sizeof name, "%s.rejects", key);
    st = levada_state_put_i64s(to, name, numbers, (int64_t)rejects->n * REJECTS_NUMBERS, err);
    snprintf(name, sizeof name, "%s.rejects.text", key);
    if (st == LEVADA_OK && text.failed) st = rejects_memory(err);
    if (st == LEVADA_OK) st = levada_state_put_bytes(to, name, text.at, text.size, err);
    levada_text_clear(&text);
    levada_free(numbers);
    return st;
}

typedef struct rejects_saved {
    levada_state_reader *from;
    char                 numbers_key[LEVADA_STATE_NAME], text_key[LEVADA_STATE_NAME];
    const int64_t       *numbers;
    const char          *at, *end; /* of the texts */
} rejects_saved;

static levada_status rejects_take(rejects_saved *s, levada_reject *r, int64_t least, int64_t rows,
                                  levada_skip_counts *(*find)(void *user, const char *path),
                                  void *user, levada_error *err)
{
    size_t n;

    if (!rejects_take_numbers(r, s->numbers, rows) || r->row < least) {
        return levada_state_damaged(s->from, s->numbers_key, err,
                                    "impossible numbers of a rejected record");
    }
    s->numbers += REJECTS_NUMBERS;
    if (!levada_skips_take_texts(&r->why, &s->at, s->end)) {
        return levada_state_damaged(s->from, s->text_key, err,
                                    "the texts of a rejected record are cut");
    }
    n = strnlen(s->at, (size_t)(s->end - s->at));
    r->loss.counts = n < (size_t)(s->end - s->at) ? find(user, s->at) : NULL;
    if (!r->loss.counts) {
        return levada_state_damaged(s->from, s->text_key, err,
                                    "a rejected record of an unknown stage");
    }
    s->at += n + 1;
    return LEVADA_OK;
}

levada_status levada_rejects_restore(levada_rejects *rejects, int64_t rows,
                                     levada_state_reader *from, const char *key,
                                     levada_skip_counts *(*find)(void *user, const char *path),
                                     void *user, levada_error *err)
{
    rejects_saved s = { .from = from };
    const void   *text = NULL;
    int64_t       n = 0, row = 0;
    size_t        size = 0;

    snprintf(s.numbers_key, sizeof s.numbers_key, "%s.rejects", key);
    if (!levada_state_has(from, s.numbers_key)) return LEVADA_OK;
    LEVADA_TRY(levada_state_get_i64s(from, s.numbers_key, &s.numbers, &n, err));
    snprintf(s.text_key, sizeof s.text_key, "%s.rejects.text", key);
    LEVADA_TRY(levada_state_get_bytes(from, s.text_key, &text, &size, err));
    if (n <= 0 || n % REJECTS_NUMBERS || n / REJECTS_NUMBERS > INT32_MAX) {
        return levada_state_damaged(from, s.numbers_key, err,
                                    "%lld numbers, not %d for each reject", (long long)n,
                                    REJECTS_NUMBERS);
    }
    n /= REJECTS_NUMBERS;
    if (!levada_reserve(&rejects->list, &rejects->capacity, n, sizeof *rejects->list)) {
        return rejects_memory(err);
    }
    rejects->n = (int32_t)n;
    s.at = text;
    s.end = s.at + size;
    for (int32_t i = 0; i < rejects->n; i++) {
        LEVADA_TRY(rejects_take(&s, &rejects->list[i], row, rows, find, user, err));
        row = rejects->list[i].row;
    }
    if (s.at == s.end) return LEVADA_OK;
    return levada_state_damaged(from, s.text_key, err, "%lld bytes after the last text",
                                (long long)(s.end - s.at));
}
