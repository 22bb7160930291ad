/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of the layout `ready`: that of its saver, in which batches that are not saved count as
 * not taken, and the records of its examples.
 */
#include "base/alloc.h"
#include "batch/unroll_ready.h"
#include "state/damaged.h"

static levada_status ready_state_put_live(const levada_unroll_state *s, int64_t *numbers,
                                    uint32_t *stored, levada_state_writer *to, levada_error *err)
{
    const levada_ready_state *own = s->own;
    int64_t n = 0;

    for (int64_t i = 0; i < own->nlive; i++) {
        if (own->live[i].done) continue; /* it is still here because the sweep had no memory */
        numbers[n] = own->live[i].record.number;
        stored[n++] = own->live[i].record.stored;
    }
    LEVADA_TRY(levada_state_put_i64(to, "batches", own->batches, err));
    LEVADA_TRY(levada_state_put_i64(to, "discarded", own->dropped, err));
    LEVADA_TRY(levada_state_put_i64(to, "closed", own->closed, err));
    LEVADA_TRY(levada_state_put_i64s(to, "numbers", numbers, n, err));
    return levada_unroll_records_save(&s->records, stored, n, to, err);
}

levada_status levada_ready_save(const levada_unroll_state *s, levada_state_writer *to,
                                levada_error *err)
{
    const levada_ready_state *own = s->own;
    size_t n = (size_t)(own->nlive + s->records.n - s->records.at), size = 0;
    int64_t *numbers = levada_alloc(n * sizeof *numbers + 1);
    uint32_t *stored = levada_alloc(n * sizeof *stored + 1);
    char *bytes = NULL;
    levada_status st = numbers && stored ? ready_state_put_live(s, numbers, stored, to, err)
                                         : levada_unroll_memory(err);

    if (st == LEVADA_OK && !own->over) {
        st = levada_state_saver_save(own->saver, false, NULL, 0, &bytes, &size, err);
    }
    if (bytes) st = levada_state_put_bytes(to, "saver", bytes, size, err);
    levada_string_free(&bytes);
    levada_free(numbers);
    levada_free(stored);
    return st;
}

/* The records of the unfinished examples are their data. */
static levada_status ready_state_reinsert(levada_unroll_state *s, const levada_state_reader *from,
                                          const levada_unroll_record *records,
                                          const int64_t *numbers, int64_t n, levada_error *err)
{
    levada_state_saver_stats stats = LEVADA_STATE_SAVER_STATS_INIT;
    levada_ready_state *own = s->own;

    for (int64_t i = 0; i < n; i++) {
        levada_unroll_record record = records[i];

        record.number = numbers[i];
        if (numbers[i] < 0 || numbers[i] >= s->records.number ||
            (i > 0 && numbers[i] <= numbers[i - 1])) {
            return levada_state_damaged(from, "numbers", err, "sequence %lld of %lld after %lld",
                                        (long long)numbers[i], (long long)s->records.number,
                                        (long long)(i > 0 ? numbers[i - 1] : -1));
        }
        LEVADA_TRY(levada_ready_insert(s, &record, false, err));
        own->live[own->nlive++] = (levada_ready_live){ .record = record };
    }
    LEVADA_TRY(levada_state_saver_get_stats(own->saver, &stats, err));
    if (stats.awaited || stats.live != n || stats.inserted != s->records.number) {
        return levada_state_damaged(from, "saver", err,
                                    "%lld of %lld sequences are unfinished, and %lld of %lld here",
                                    (long long)(stats.live + stats.awaited),
                                    (long long)stats.inserted, (long long)n,
                                    (long long)s->records.number);
    }
    return LEVADA_OK;
}

static levada_status ready_state_read_state(levada_unroll_state *s, levada_state_reader *from,
                                      levada_unroll_record *records, const int64_t *numbers,
                                      int64_t n, levada_error *err)
{
    levada_ready_state *own = s->own;
    const void *bytes = NULL;
    size_t size = 0;
    int64_t closed = 0;
    levada_error why = LEVADA_ERROR_INIT;
    levada_status st;

    LEVADA_TRY(levada_unroll_records_restore(&s->records, from, records, n, err));
    LEVADA_TRY(levada_state_get_count(from, "batches", LEVADA_COUNT_LIMIT, &own->batches, err));
    LEVADA_TRY(levada_state_get_count(from, "discarded", LEVADA_COUNT_LIMIT, &own->dropped, err));
    LEVADA_TRY(levada_state_get_count(from, "closed", 1, &closed, err));
    own->closed = closed != 0;
    own->over = !levada_state_has(from, "saver");
    if (own->over && n > 0) {
        return levada_state_damaged(from, "numbers", err, "%lld sequences without a saver",
                                    (long long)n);
    }
    if (own->over) return LEVADA_OK;
    LEVADA_TRY(levada_state_get_bytes(from, "saver", &bytes, &size, err));
    st = levada_state_saver_restore(own->saver, bytes, size, NULL, NULL, &why);
    if (st == LEVADA_EDATA_LOSS) return levada_state_damaged(from, "saver", err, "%s", why.message);
    if (st != LEVADA_OK && err) *err = why;
    LEVADA_TRY(st);
    LEVADA_TRY(ready_state_reinsert(s, from, records, numbers, n, err));
    return own->closed ? levada_state_saver_close(own->saver, false, err) : LEVADA_OK;
}

levada_status levada_ready_restore(levada_unroll_state *s, levada_state_reader *from,
                                   levada_error *err)
{
    levada_ready_state *own = s->own;
    levada_unroll_record *records;
    const int64_t *numbers = NULL;
    int64_t n = 0;
    levada_status st;

    LEVADA_TRY(levada_state_get_i64s(from, "numbers", &numbers, &n, err));
    if (n > LEVADA_COUNT_LIMIT / (int64_t)sizeof *records) {
        return levada_state_damaged(from, "numbers", err, "%lld are too many", (long long)n);
    }
    records = levada_alloc((size_t)n * sizeof *records + 1);
    st = records && levada_reserve(&own->live, &own->live_capacity, n, sizeof *own->live)
             ? ready_state_read_state(s, from, records, numbers, n, err)
             : levada_unroll_memory(err);
    levada_free(records);
    if (st == LEVADA_OK) levada_ready_show(s);
    return st;
}
