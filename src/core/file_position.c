/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a file reader is: rewinding, saving, restoring. A position is the number of the file in the
 * order of this epoch, and number and offset of the next record. Files are known again by their
 * base names, and those that were opened by size and first bytes too.
 */
#include "base/alloc.h"
#include "base/random.h"
#include "core/file_reader_priv.h"

#include <levada/state.h>
#include <string.h>

void levada_file_reader_arrange(levada_file_reader *r)
{
    uint64_t key = levada_random_key(r->context->seed, (uint64_t)r->epoch);

    if (r->options->shuffle_files) {
        key = levada_random_draw(key, (uint64_t)r->leaf, (uint64_t)r->opening);
        levada_files_shuffle(r->order, r->files.n, key);
        return;
    }
    for (int64_t i = 0; i < r->files.n; i++) r->order[i] = (int32_t)i;
}

void levada_file_reader_rewind(levada_file_reader *r, int32_t opening, int64_t epoch)
{
    levada_file_reader_leave(r);
    r->opening = opening;
    r->epoch = epoch;
    r->turn = r->record = r->start = 0;
    atomic_store(&r->finished, 0);
    atomic_store(&r->done, 0);
    levada_file_reader_arrange(r);
}

/* -- files */

/* Three numbers for each file that was opened: shard, size, first bytes. */
static levada_status file_position_put_marks(const levada_file_reader *r, levada_state_writer *to,
                                             levada_error *err)
{
    int64_t      *list = levada_alloc((size_t)r->files.n * 3 * sizeof *list);
    int64_t       n = 0;
    levada_status st;

    if (!list && r->files.n > 0) {
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "no memory for marks of files");
    }
    for (int64_t i = 0; i < r->files.n; i++) {
        if (r->marks[i].size < 0) continue;
        list[n++] = i;
        list[n++] = r->marks[i].size;
        list[n++] = r->marks[i].head;
    }
    st = levada_state_put_i64s(to, "marks", list, n, err);
    levada_free(list);
    return st;
}

static levada_status file_position_check_mark(const levada_file_reader *r, const int64_t *mark,
                                              levada_error *err)
{
    levada_bytes_mark now;
    const char       *path;
    levada_status     st;

    if (mark[0] < 0 || mark[0] >= r->files.n) {
        return levada_fail(err, LEVADA_EFAILED_PRECONDITION, "the state names file %lld of %lld",
                           (long long)mark[0], (long long)r->files.n);
    }
    path = r->files.path[mark[0]];
    st = levada_bytes_mark_file(r->context->env, path, &now, err);
    if (st == LEVADA_ERESOURCE_EXHAUSTED) return st;
    if (st != LEVADA_OK) {
        if (err) err->code = LEVADA_EFAILED_PRECONDITION;
        levada_error_wrap(err, "a file of the state is gone");
        return LEVADA_EFAILED_PRECONDITION;
    }
    if (now.size == mark[1] && now.head == mark[2]) return LEVADA_OK;
    (void)levada_fail(err, LEVADA_EFAILED_PRECONDITION,
                      "%s was changed since the state was saved: %lld bytes, then %lld%s", path,
                      (long long)now.size, (long long)mark[1],
                      now.size == mark[1] ? "; its first bytes differ" : "");
    levada_error_place(err, NULL, path, -1, -1);
    return LEVADA_EFAILED_PRECONDITION;
}

static levada_status file_position_check_files(const levada_file_reader *r,
                                               levada_state_reader *from, levada_error *err)
{
    const int64_t *marks;
    int64_t        n;

    LEVADA_TRY(levada_files_verify(&r->files, from, err));
    LEVADA_TRY(levada_state_get_i64s(from, "marks", &marks, &n, err));
    if (n % 3 != 0) return levada_fail(err, LEVADA_EDATA_LOSS, "the saved state is damaged");
    for (int64_t i = 0; i < n; i += 3) LEVADA_TRY(file_position_check_mark(r, marks + i, err));
    return LEVADA_OK;
}

/* What was opened before the state was saved is still known afterwards: checked at the next
 * restore, and counted as read. */
static levada_status file_position_adopt_marks(levada_file_reader *r, levada_state_reader *from,
                                               levada_error *err)
{
    const int64_t *marks;
    int64_t        n;

    LEVADA_TRY(levada_state_get_i64s(from, "marks", &marks, &n, err));
    for (int64_t i = 0; i < n; i += 3) {
        r->marks[marks[i]].size = marks[i + 1];
        r->marks[marks[i]].head = (uint32_t)marks[i + 2];
    }
    return LEVADA_OK;
}

/* -- save and restore */

levada_status levada_file_reader_save(const levada_file_reader *r, levada_state_writer *to,
                                      levada_error *err)
{
    const levada_framed      *f = &r->framed;
    levada_file_reader_counts counts = levada_file_reader_counted(r);
    int64_t                   offset = r->start;

    if (r->open) {
        offset = r->window.offset;
        offset += f->next < f->n ? f->begin[f->next] - f->begin[0] : f->used;
    }
    LEVADA_TRY(levada_state_put_i64(to, "opening", r->opening, err));
    LEVADA_TRY(levada_state_put_i64(to, "epoch", r->epoch, err));
    LEVADA_TRY(levada_state_put_i64(to, "turn", r->turn, err));
    LEVADA_TRY(levada_state_put_i64(to, "record", r->record, err));
    LEVADA_TRY(levada_state_put_i64(to, "offset", offset, err));
    LEVADA_TRY(levada_state_put_i64(to, "records", counts.records, err));
    LEVADA_TRY(levada_state_put_i64(to, "skipped", counts.skipped_records, err));
    LEVADA_TRY(levada_state_put_i64(to, "damaged", counts.damaged_bytes, err));
    LEVADA_TRY(levada_state_put_i64(to, "missing", counts.missing, err));
    LEVADA_TRY(levada_state_put_i64(to, "empty", counts.empty, err));
    LEVADA_TRY(levada_files_save(&r->files, to, err));
    return file_position_put_marks(r, to, err);
}

typedef struct file_position {
    int64_t opening, epoch, turn, record, offset, records, skipped, damaged, missing, empty;
} file_position;

static levada_status file_position_get(const levada_file_reader *r, levada_state_reader *from,
                                       file_position *p, levada_error *err)
{
    const int64_t most = LEVADA_COUNT_LIMIT;

    LEVADA_TRY(levada_state_get_count(from, "opening", INT32_MAX, &p->opening, err));
    LEVADA_TRY(levada_state_get_i64(from, "epoch", &p->epoch, err));
    LEVADA_TRY(levada_state_get_count(from, "turn", r->files.n, &p->turn, err));
    LEVADA_TRY(levada_state_get_count(from, "record", most, &p->record, err));
    LEVADA_TRY(levada_state_get_count(from, "offset", most, &p->offset, err));
    LEVADA_TRY(levada_state_get_count(from, "records", most, &p->records, err));
    LEVADA_TRY(levada_state_get_count(from, "skipped", most, &p->skipped, err));
    LEVADA_TRY(levada_state_get_count(from, "damaged", most, &p->damaged, err));
    LEVADA_TRY(levada_state_get_count(from, "missing", most, &p->missing, err));
    return levada_state_get_count(from, "empty", most, &p->empty, err);
}

levada_status levada_file_reader_restore(levada_file_reader *r, levada_state_reader *from,
                                         levada_error *err)
{
    file_position p;

    LEVADA_TRY(file_position_check_files(r, from, err));
    LEVADA_TRY(file_position_get(r, from, &p, err));
    LEVADA_TRY(file_position_adopt_marks(r, from, err));
    levada_file_reader_rewind(r, (int32_t)p.opening, p.epoch);
    r->turn = p.turn;
    r->record = p.record;
    r->start = p.offset;
    atomic_store(&r->records, p.records);
    atomic_store(&r->skipped, p.skipped);
    atomic_store(&r->damaged, p.damaged);
    atomic_store(&r->missing, p.missing);
    atomic_store(&r->empty, p.empty);
    for (int64_t i = 0; i < p.turn; i++) {
        int64_t size = r->marks[r->order[i]].size;

        (void)atomic_fetch_add(&r->finished, size > 0 ? size : 0);
    }
    atomic_store(&r->done, atomic_load(&r->finished));
    return LEVADA_OK;
}
