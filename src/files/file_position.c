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

/* Puts the files in the order of this pass and epoch. */
static void file_position_arrange(levada_file_reader *r)
{
    uint64_t key = levada_random_key(r->framing.context->seed, (uint64_t)r->at.epoch);

    if (r->shuffled) levada_shuffled_arrange(r);
    if (r->framing.options->shuffle_files) {
        key = levada_random_draw(key, (uint64_t)r->source, (uint64_t)r->at.pass);
    }
    levada_file_set_arrange(&r->set, r->framing.options->shuffle_files, key);
}

void levada_file_reader_rewind(levada_file_reader *r, int32_t pass, int64_t epoch)
{
    levada_file_reader_leave(r);
    if (r->frames.files_ahead) levada_files_ahead_clear(r->frames.files_ahead);
    r->at.pass = pass;
    r->at.epoch = epoch;
    r->at.turn = r->range.begin.turn;
    r->at.record = r->range.begin.record;
    r->at.start = r->range.begin.offset;
    if (r->keys) r->at.turn = r->at.record = r->at.start = 0;
    r->rejects.n = r->passed = 0;
    atomic_store(&r->counts.finished, 0);
    atomic_store(&r->counts.done, 0);
    file_position_arrange(r);
}

/* -- files */

static levada_file_key file_position_key(const levada_file_reader *r, int32_t shard)
{
    if (!r->owner.key) return (levada_file_key){ .path = r->set.files.path[shard] };
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
    if (r->range.index) LEVADA_TRY(levada_index_check(r->range.index, shard, file, err));
    levada_file_marks *marks = file_position_lock(r);
    bool midst = again && levada_file_marks_find(marks, &key, &was) &&
                 !levada_bytes_mark_equal(&now, &was);
    levada_status st = midst ? LEVADA_OK : levada_file_marks_enter(marks, &key, &now, err);

    if (!midst) levada_file_set_resize(&r->set, shard, now.size);
    file_position_unlock(r);
    return midst ? levada_file_marks_changed(r->set.files.path[shard], &now, &was, err) : st;
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
        if (list[i] < 0 || list[i] >= r->set.files.n) {
            return levada_fail(
                err, LEVADA_EFAILED_PRECONDITION,
                "the checkpoint is corrupt: file %lld must be below %lld; use an earlier "
                "checkpoint",
                (long long)list[i], (long long)r->set.files.n);
        }
        LEVADA_TRY(levada_file_marks_check(r->framing.context->env, r->set.files.path[list[i]],
                                           &mark, err));
    }
    return LEVADA_OK;
}

static levada_status file_position_check_files(levada_file_reader *r,
                                               levada_state_reader *from, levada_error *err)
{
    LEVADA_TRY(levada_files_verify(&r->set.files, from, err));
    LEVADA_TRY(file_position_check_marks(r, from, err));
    return levada_file_set_verify_sizes(&r->set, r->framing.context->env, from, err);
}

/* Restores the marks of files that were opened before the checkpoint was saved, so that the next
 * restore checks them, too. */
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

    LEVADA_TRY(levada_file_set_save_sizes(&r->set, r->framing.context->env, to, err));
    marks = file_position_lock(r);
    if (r->set.files.n > 0) key = file_position_key(r, 0);
    if (key.owner) st = levada_file_marks_put(marks, key.owner, to, err);
    file_position_unlock(r);
    return st;
}

/* Lowers to->since to the number of changes of files that this state knows of. */
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
    const int64_t values[] =
        { r->losses.good, r->losses.early, r->losses.good_before, r->losses.early_before };

    if (r->policy.share < 0) return LEVADA_OK;
    for (int i = 0; i < FILE_POSITION_LOSSES; i++) {
        LEVADA_TRY(levada_state_put_i64(to, file_position_losses[i], values[i], err));
    }
    return levada_skip_progress_save(&r->losses.progress, to, err);
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
    const levada_framed *f = &r->frames.framed;

    if (!r->frames.open) return r->at.start;
    return r->frames.window.offset + (f->next < f->n ? f->frame[f->next] - f->frame[0] : f->used);
}

bool levada_file_reader_ended(const levada_file_reader *r)
{
    const levada_window *w = &r->frames.window;

    return !r->frames.open ||
           (w->ended && levada_file_reader_offset(r) == w->offset + levada_window_size(w));
}

levada_status levada_file_reader_save(const levada_file_reader *r, levada_state_writer *to,
                                      levada_error *err)
{
    LEVADA_TRY(levada_state_put_i64(to, "pass", r->at.pass, err));
    LEVADA_TRY(levada_state_put_i64(to, "epoch", r->at.epoch, err));
    LEVADA_TRY(levada_state_put_i64(to, "turn", r->at.turn, err));
    LEVADA_TRY(levada_state_put_i64(to, "record", r->at.record, err));
    LEVADA_TRY(levada_state_put_i64(to, "offset", levada_file_reader_offset(r), err));
    LEVADA_TRY(levada_state_put_i64(to, "records", levada_file_reader_counted(r).records, err));
    if (r->at.resumed) LEVADA_TRY(levada_state_put_i64(to, "resumed", r->at.resumed, err));
    if (r->keys) LEVADA_TRY(levada_state_put_i64(to, "numbers", 1, err));
    LEVADA_TRY(file_position_put_losses(r, to, err));
    LEVADA_TRY(levada_files_save(&r->set.files, to, err));
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
    LEVADA_TRY(levada_state_get_count(from, "turn", r->set.files.n, &p->turn, err));
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

/* Returns an error if a rank that reads only its own records restores a checkpoint of one that
 * reads all, or the other way round. */
static levada_status file_position_check_keys(const levada_file_reader *r,
                                                 levada_state_reader *from, levada_error *err)
{
    bool keys = levada_state_has(from, "numbers");

    if (keys == (r->keys != NULL)) return LEVADA_OK;
    return levada_fail(err, LEVADA_EFAILED_PRECONDITION,
                       keys ? "the checkpoint was saved by a rank that reads only its own "
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

    LEVADA_TRY(file_position_check_keys(r, from, err));
    LEVADA_TRY(file_position_check_files(r, from, err));
    LEVADA_TRY(file_position_get(r, from, &p, err));
    LEVADA_TRY(file_position_adopt_marks(r, from, err));
    levada_file_reader_rewind(r, (int32_t)p.pass, p.epoch);
    r->at.turn = p.turn;
    r->at.record = p.record;
    r->at.start = p.offset;
    r->at.resumed = p.resumed;
    r->losses.progress = p.progress;
    r->losses.good = p.losses[0];
    r->losses.early = p.losses[1];
    r->losses.good_before = p.losses[2];
    r->losses.early_before = p.losses[3];
    atomic_store(&r->counts.records, p.records);
    for (int64_t i = 0; i < p.turn; i++) {
        (void)atomic_fetch_add(&r->counts.finished,
                               levada_file_set_size(&r->set, r->set.order[i]));
    }
    atomic_store(&r->counts.done, atomic_load(&r->counts.finished));
    return LEVADA_OK;
}
