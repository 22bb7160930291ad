/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a file reader is: rewinding, saving, restoring. A position is the number of the file in the
 * order of this epoch, and number and offset of the next record. Files are known again by their
 * base names, and those that were opened by size and first bytes too.
 */
#include "base/alloc.h"
#include "base/random.h"
#include "files/files_ahead.h"
#include "state/damaged.h"

#include <levada/state.h>
#include <string.h>

/* The files in the order of this pass and epoch. */
static void file_position_arrange(levada_file_reader *r)
{
    uint64_t key = levada_random_key(r->context->seed, (uint64_t)r->epoch);

    if (r->shuffled) r->order_ops->arrange(r);
    if (r->options->shuffle_files) {
        key = levada_random_draw(key, (uint64_t)r->source, (uint64_t)r->pass);
        levada_files_shuffle(r->order, r->files.n, key);
        return;
    }
    for (int64_t i = 0; i < r->files.n; i++) r->order[i] = (int32_t)i;
}

void levada_file_reader_rewind(levada_file_reader *r, int32_t pass, int64_t epoch)
{
    levada_file_reader_leave(r);
    if (r->files_ahead) levada_files_ahead_clear(r->files_ahead);
    r->pass = pass;
    r->epoch = epoch;
    r->turn = r->begin.turn;
    r->record = r->begin.record;
    r->start = r->begin.offset;
    if (r->numbers) r->turn = r->record = r->start = 0;
    r->nrejects = r->passed = 0;
    atomic_store(&r->finished, 0);
    atomic_store(&r->done, 0);
    file_position_arrange(r);
}

/* -- files */

static levada_file_key file_position_key(const levada_file_reader *r, int32_t shard)
{
    if (!r->owner.key) return (levada_file_key){ .path = r->files.path[shard] };
    return (levada_file_key){ .owner = r->owner.key, .shard = shard };
}

static levada_file_marks *file_position_lock(levada_file_reader *r)
{
    if (r->owner.lock) levada_mutex_lock(r->owner.lock);
    return r->owner.marks;
}

static void file_position_unlock(const levada_file_reader *r)
{
    if (r->owner.lock) levada_mutex_unlock(r->owner.lock);
}

levada_status levada_file_reader_mark(levada_file_reader *r, int32_t shard,
                                      const levada_bytes *file, bool again, levada_error *err)
{
    levada_file_key    key = file_position_key(r, shard);
    levada_bytes_mark  now = levada_bytes_mark_of(file), was = now;
    if (r->index) LEVADA_TRY(levada_index_check(r->index, shard, file, err));
    levada_file_marks *marks = file_position_lock(r);
    bool midst = again && levada_file_marks_find(marks, &key, &was) &&
                 !levada_bytes_mark_equal(&now, &was);
    levada_status st = midst ? LEVADA_OK : levada_file_marks_enter(marks, &key, &now, err);

    if (!midst) levada_file_reader_resize(r, shard, now.size);
    file_position_unlock(r);
    return midst ? levada_file_marks_changed(r->files.path[shard], &now, &was, err) : st;
}

static levada_status file_position_check_marks(const levada_file_reader *r,
                                               levada_state_reader *from, levada_error *err)
{
    const int64_t *list;
    int64_t        n;

    if (!levada_state_has(from, "marks")) return LEVADA_OK; /* with those of the run, by path */
    LEVADA_TRY(levada_state_get_i64s(from, "marks", &list, &n, err));
    if (n % LEVADA_FILE_MARK_PARTS != 0)
        return levada_state_damaged(from, "marks", err, "%lld numbers, not %d for each file",
                                    (long long)n, LEVADA_FILE_MARK_PARTS);
    for (int64_t i = 0; i < n; i += LEVADA_FILE_MARK_PARTS) {
        levada_bytes_mark mark = levada_file_mark_read(list + i);

        LEVADA_TRY(levada_file_reader_check_cancelled(r, err));
        if (list[i] < 0 || list[i] >= r->files.n) {
            return levada_fail(err, LEVADA_EFAILED_PRECONDITION,
                               "the checkpoint is corrupt: file %lld of %lld", (long long)list[i],
                               (long long)r->files.n);
        }
        LEVADA_TRY(levada_file_marks_check(r->context->env, r->files.path[list[i]], &mark, err));
    }
    return LEVADA_OK;
}

static levada_status file_position_check_files(levada_file_reader *r,
                                               levada_state_reader *from, levada_error *err)
{
    LEVADA_TRY(levada_files_verify(&r->files, from, err));
    LEVADA_TRY(file_position_check_marks(r, from, err));
    return levada_file_reader_verify_sizes(r, from, err);
}

/* What was opened before the checkpoint was saved is still known afterwards: checked at the next
 * restore. */
static levada_status file_position_adopt_marks(levada_file_reader *r, levada_state_reader *from,
                                               levada_error *err)
{
    const int64_t     *list;
    int64_t            n;
    levada_file_marks *marks;
    levada_status      st = LEVADA_OK;

    if (!levada_state_has(from, "marks")) return LEVADA_OK;
    LEVADA_TRY(levada_state_get_i64s(from, "marks", &list, &n, err));
    marks = file_position_lock(r);
    for (int64_t i = 0; st == LEVADA_OK && i < n; i += LEVADA_FILE_MARK_PARTS) {
        levada_file_key   key = file_position_key(r, (int32_t)list[i]);
        levada_bytes_mark mark = levada_file_mark_read(list + i);

        st = levada_file_marks_enter(marks, &key, &mark, err);
    }
    file_position_unlock(r);
    return st;
}

levada_status levada_file_reader_save_marks(levada_file_reader *r, levada_state_writer *to,
                                            levada_error *err)
{
    levada_file_key    key = { 0 };
    levada_file_marks *marks;
    levada_status      st = LEVADA_OK;

    LEVADA_TRY(levada_file_reader_save_sizes(r, to, err));
    marks = file_position_lock(r);
    if (r->files.n > 0) key = file_position_key(r, 0);
    if (key.owner) st = levada_file_marks_put(marks, key.owner, to, err);
    file_position_unlock(r);
    return st;
}

/* How many changes of files the state knows of. */
static void file_position_note(const levada_file_reader *reader, levada_state_writer *to)
{
    levada_file_reader      *r = (levada_file_reader *)(uintptr_t)reader;
    const levada_file_marks *marks = file_position_lock(r);
    int64_t                  since = marks->changes + 1;

    file_position_unlock(r);
    if (!to->since || since < to->since) to->since = since;
}

/* -- what budgets in percent count: only where something was lost */

#define FILE_POSITION_LOSSES 4

static const char *const file_position_losses[] = { "good", "early", "good.before",
                                                    "early.before" };

static levada_status file_position_put_losses(const levada_file_reader *r, levada_state_writer *to,
                                              levada_error *err)
{
    const int64_t values[] = { r->good, r->early, r->good_before, r->early_before };

    if (r->policy.share < 0) return LEVADA_OK;
    for (int i = 0; i < FILE_POSITION_LOSSES; i++) {
        LEVADA_TRY(levada_state_put_i64(to, file_position_losses[i], values[i], err));
    }
    return levada_skip_progress_save(&r->progress, to, err);
}

static levada_status file_position_get_losses(levada_state_reader *from,
                                              int64_t values[FILE_POSITION_LOSSES],
                                              levada_error *err)
{
    for (int i = 0; i < FILE_POSITION_LOSSES; i++) {
        const char *key = file_position_losses[i];

        values[i] = 0;
        if (!levada_state_has(from, key)) continue;
        LEVADA_TRY(levada_state_get_count(from, key, LEVADA_COUNT_LIMIT, &values[i], err));
    }
    return LEVADA_OK;
}

/* -- save and restore */

int64_t levada_file_reader_offset(const levada_file_reader *r)
{
    const levada_framed *f = &r->framed;

    if (!r->open) return r->start;
    return r->window.offset + (f->next < f->n ? f->frame[f->next] - f->frame[0] : f->used);
}

bool levada_file_reader_ended(const levada_file_reader *r)
{
    const levada_window *w = &r->window;

    return !r->open ||
           (w->ended && levada_file_reader_offset(r) == w->offset + levada_window_size(w));
}

levada_status levada_file_reader_save(const levada_file_reader *r, levada_state_writer *to,
                                      levada_error *err)
{
    LEVADA_TRY(levada_state_put_i64(to, "pass", r->pass, err));
    LEVADA_TRY(levada_state_put_i64(to, "epoch", r->epoch, err));
    LEVADA_TRY(levada_state_put_i64(to, "turn", r->turn, err));
    LEVADA_TRY(levada_state_put_i64(to, "record", r->record, err));
    LEVADA_TRY(levada_state_put_i64(to, "offset", levada_file_reader_offset(r), err));
    LEVADA_TRY(levada_state_put_i64(to, "records", levada_file_reader_counted(r).records, err));
    if (r->resumed) LEVADA_TRY(levada_state_put_i64(to, "resumed", r->resumed, err));
    if (r->numbers) LEVADA_TRY(levada_state_put_i64(to, "numbers", 1, err));
    LEVADA_TRY(file_position_put_losses(r, to, err));
    LEVADA_TRY(levada_files_save(&r->files, to, err));
    file_position_note(r, to);
    return LEVADA_OK;
}

typedef struct file_position {
    int64_t pass, epoch, turn, record, offset, records, resumed;
    int64_t losses[FILE_POSITION_LOSSES];
    levada_skip_progress progress;
} file_position;

static levada_status file_position_get(const levada_file_reader *r, levada_state_reader *from,
                                       file_position *p, levada_error *err)
{
    const int64_t most = LEVADA_COUNT_LIMIT;

    LEVADA_TRY(levada_state_get_count(from, "pass", INT32_MAX, &p->pass, err));
    LEVADA_TRY(levada_state_get_i64(from, "epoch", &p->epoch, err));
    LEVADA_TRY(levada_state_get_count(from, "turn", r->files.n, &p->turn, err));
    LEVADA_TRY(levada_state_get_count(from, "record", most, &p->record, err));
    LEVADA_TRY(levada_state_get_count(from, "offset", most, &p->offset, err));
    LEVADA_TRY(levada_state_get_count(from, "records", most, &p->records, err));
    p->resumed = 0;
    if (levada_state_has(from, "resumed")) {
        LEVADA_TRY(levada_state_get_count(from, "resumed", most, &p->resumed, err));
    }
    LEVADA_TRY(levada_skip_progress_restore(&p->progress, from, err));
    return file_position_get_losses(from, p->losses, err);
}

/* A rank in step reads only its own records, or all. */
static levada_status file_position_check_numbers(const levada_file_reader *r,
                                                 levada_state_reader *from, levada_error *err)
{
    bool numbers = levada_state_has(from, "numbers");

    if (numbers == (r->numbers != NULL)) return LEVADA_OK;
    return levada_fail(err, LEVADA_EFAILED_PRECONDITION,
                       numbers ? "the checkpoint was saved by a rank that reads only its own "
                                 "records, but this rank reads all; the line `reads` of explain() "
                                 "shows why"
                               : "the checkpoint was saved by a rank that reads all records, but "
                                 "this rank reads only its own; write the index again without "
                                 "lengths");
}

levada_status levada_file_reader_restore(levada_file_reader *r, levada_state_reader *from,
                                         levada_error *err)
{
    file_position p;

    LEVADA_TRY(file_position_check_numbers(r, from, err));
    LEVADA_TRY(file_position_check_files(r, from, err));
    LEVADA_TRY(file_position_get(r, from, &p, err));
    LEVADA_TRY(file_position_adopt_marks(r, from, err));
    levada_file_reader_rewind(r, (int32_t)p.pass, p.epoch);
    r->turn = p.turn;
    r->record = p.record;
    r->start = p.offset;
    r->resumed = p.resumed;
    r->progress = p.progress;
    r->good = p.losses[0];
    r->early = p.losses[1];
    r->good_before = p.losses[2];
    r->early_before = p.losses[3];
    atomic_store(&r->records, p.records);
    for (int64_t i = 0; i < p.turn; i++) {
        long long size = atomic_load(&r->sizes[r->order[i]]);

        (void)atomic_fetch_add(&r->finished, size > 0 ? size : 0);
    }
    atomic_store(&r->done, atomic_load(&r->finished));
    return LEVADA_OK;
}
