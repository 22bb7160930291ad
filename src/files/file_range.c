/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which files and records a reader has: all, or a part of them. Without an index a part owns whole
 * files. With one it owns a range of the records, so the reader enters a file at the first and
 * leaves it before the end, and opens no file outside the range.
 */
#include "base/alloc.h"
#include "files/file_reader_priv.h"

/* Every count-th file, from number `first` on; frees the names of the others. */
static void file_range_keep(levada_files *files, int64_t first, int64_t count)
{
    int64_t n = 0;

    for (int64_t i = 0; i < files->n; i++) {
        if (i % count == first) files->path[n++] = files->path[i];
        else levada_free(files->path[i]);
    }
    files->n = n;
}

/* The place of a record; of the one after the last: the end of all files. */
static levada_status file_range_locate(levada_file_reader *r, int64_t number,
                                       levada_file_place *out, levada_error *err)
{
    levada_index_entry entry;

    *out = (levada_file_place){ .turn = r->files.n };
    if (number >= levada_index_count(r->index)) return LEVADA_OK;
    LEVADA_TRY(levada_index_find(r->index, number, &entry, err));
    *out = (levada_file_place){ entry.shard, entry.record, entry.offset };
    return LEVADA_OK;
}

levada_status levada_file_reader_find(levada_file_reader *r, levada_error *err)
{
    const levada_file_args *o = r->options;
    const levada_ints      *part = &o->numbers.part;

    LEVADA_TRY(levada_files_find(&o->files, &r->files, err));
    if (!o->index && part->n) file_range_keep(&r->files, part->at[0], part->at[1]);
    r->stop.turn = r->files.n;
    if (!o->index && !r->format->next)
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "'%s' needs index=true", r->op->name);
    if (!o->index) return LEVADA_OK;
    LEVADA_TRY(levada_index_open(r->context->env, &r->files, r->op, r->args, r->owner.cancelled,
                                 &r->index, err));
    LEVADA_TRY(levada_numbers_choose(&o->numbers, levada_index_count(r->index), &r->first, &r->end,
                                     err));
    if (o->numbers.shuffle_records) return LEVADA_OK;
    LEVADA_TRY(file_range_locate(r, r->end, &r->stop, err));
    if (r->first < r->end) return file_range_locate(r, r->first, &r->begin, err);
    r->begin = (levada_file_place){ .turn = r->files.n };
    return LEVADA_OK;
}

bool levada_file_reader_finished(const levada_file_reader *r)
{
    int64_t offset = r->open ? r->window.offset : r->start;

    if (r->options->numbers.shuffle_records || r->numbers) return r->record >= r->end - r->first;
    if (r->turn >= r->files.n || r->turn > r->stop.turn) return true;
    if (!r->format->next) return r->turn == r->stop.turn && r->record >= r->stop.record;
    return r->turn == r->stop.turn && offset >= r->stop.offset;
}

void levada_file_reader_clip(levada_file_reader *r)
{
    levada_framed *f = &r->framed;
    int64_t        left = r->stop.offset - r->window.offset;

    if (r->turn != r->stop.turn || f->n == 0 || f->used <= left) return;
    while (f->n > 0 && f->frame[f->n - 1] - f->frame[0] >= left) f->n--;
    f->used = left;
}

bool levada_file_reader_range(const levada_file_reader *r, int64_t *first, int64_t *end)
{
    *first = r->first;
    *end = r->end;
    return r->index != NULL;
}

levada_status levada_file_reader_lengths(levada_file_reader *r, levada_lengths_each *each,
                                         void *user, levada_error *err)
{
    return levada_index_lengths(r->index, each, user, err);
}

levada_status levada_file_reader_select(levada_file_reader *r, const char *const *fields,
                                        int32_t n, const uint8_t stages[16],
                                        const uint8_t plain[16], bool *found, levada_error *err)
{
    *found = false;
    if (!r->index) return LEVADA_OK;
    return levada_index_select(r->index, fields, n, stages, plain, found, err);
}

bool levada_file_reader_is_whole(const levada_file_reader *r)
{
    return r->index && r->first == 0 && r->end == levada_index_count(r->index) &&
           !r->options->shuffle_files && !r->options->numbers.shuffle_records;
}
