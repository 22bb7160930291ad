/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which files and records a reader has: all, or a part of them. Without an index a part owns whole
 * files. With one it owns a range of the records, so the reader enters a file at the first and
 * leaves it before the end, and opens no file outside the range.
 */
#include "base/alloc.h"
#include "files/file_reader_priv.h"

/* Keeps every count-th file, from number `first` on; frees the names of the others. */
static void file_range_keep(levada_files *files, int64_t first, int64_t count)
{
    int64_t n = 0;

    for (int64_t i = 0; i < files->n; i++) {
        if (i % count == first) files->path[n++] = files->path[i];
        else levada_free(files->path[i]);
    }
    files->n = n;
}

/* Finds the place of a record; for the number after the last record, the end of all files. */
static levada_status file_range_locate(levada_file_reader *r, int64_t number,
                                       levada_file_place *out, levada_error *err)
{
    levada_index_entry entry;

    *out = (levada_file_place){ .turn = r->set.files.n };
    if (number >= levada_index_count(r->range.index)) return LEVADA_OK;
    LEVADA_TRY(levada_index_find(r->range.index, number, &entry, err));
    *out = (levada_file_place){ entry.shard, entry.record, entry.offset };
    return LEVADA_OK;
}

levada_status levada_file_reader_find(levada_file_reader *r, levada_error *err)
{
    const levada_file_args *o = r->framing.options;
    const levada_ints      *part = &o->numbers.part;
    levada_bytes_options    plain = { .compression = "none", .cancelled = r->owner.cancelled,
                                      .meter = r->owner.meter };

    LEVADA_TRY(levada_files_find(r->framing.context->env, &o->files, &r->set.files, err));
    if (!o->index && part->n) file_range_keep(&r->set.files, part->at[0], part->at[1]);
    r->range.stop.turn = r->set.files.n;
    if (!o->index && !r->framing.format->next)
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "'%s' needs index=true",
                           r->framing.op->name);
    if (!o->index) return LEVADA_OK;
    LEVADA_TRY(levada_index_open(r->framing.context->env, &r->set.files, r->framing.op,
                                 r->framing.args, &plain, &r->range.index, err));
    LEVADA_TRY(levada_numbers_choose(&o->numbers, levada_index_count(r->range.index),
                                     &r->range.first, &r->range.end,
                                     err));
    if (o->numbers.shuffle_records) return LEVADA_OK;
    LEVADA_TRY(file_range_locate(r, r->range.end, &r->range.stop, err));
    if (r->range.first < r->range.end) return file_range_locate(r, r->range.first, &r->range.begin,
                                                                err);
    r->range.begin = (levada_file_place){ .turn = r->set.files.n };
    return LEVADA_OK;
}

bool levada_file_reader_finished(const levada_file_reader *r)
{
    int64_t offset = r->frames.open ? r->frames.window.offset : r->at.start;

    if (r->framing.options->numbers.shuffle_records || r->keys) {
        return r->at.record >= r->range.end - r->range.first;
    }
    if (r->at.turn >= r->set.files.n || r->at.turn > r->range.stop.turn) return true;
    if (!r->framing.format->next) return r->at.turn == r->range.stop.turn &&
        r->at.record >= r->range.stop.record;
    return r->at.turn == r->range.stop.turn && offset >= r->range.stop.offset;
}

void levada_file_reader_clip(levada_file_reader *r)
{
    levada_framed *f = &r->frames.framed;
    int64_t        left = r->range.stop.offset - r->frames.window.offset;

    if (r->at.turn != r->range.stop.turn || f->n == 0 || f->used <= left) return;
    while (f->n > 0 && f->frame[f->n - 1] - f->frame[0] >= left) f->n--;
    f->used = left;
}

bool levada_file_reader_range(const levada_file_reader *r, int64_t *first, int64_t *end)
{
    *first = r->range.first;
    *end = r->range.end;
    return r->range.index != NULL;
}

levada_origin levada_file_reader_origin_at(const levada_file_reader *r, int64_t place)
{
    levada_origin o = { .source = r->source, .pass = r->at.pass, .offset = -1 };

    levada_index_locate(r->range.index, r->range.first + place, &o.shard, &o.record);
    return o;
}

levada_status levada_file_reader_check_record(const levada_file_reader *r, const levada_origin *of,
                                              levada_error *err)
{
    bool    file = of->shard >= 0 && of->shard < r->set.files.n;
    int64_t n = file ? levada_index_number(r->range.index, of->shard + 1, 0) -
                           levada_index_number(r->range.index, of->shard, 0)
                     : 0;

    if (of->record >= 0 && of->record < n) return LEVADA_OK;
    return levada_fail(err, LEVADA_EFAILED_PRECONDITION,
                       "record %lld of file %d does not exist any more; restore the file as it "
                       "was when the checkpoint was saved",
                       (long long)of->record, (int)of->shard);
}

levada_status levada_file_reader_locate(levada_file_reader *r, int64_t number, levada_origin *out,
                                        levada_error *err)
{
    int64_t n = r->range.end - r->range.first;

    if (number < 0 || number >= n) {
        return levada_fail(err, LEVADA_EOUT_OF_RANGE, "record %lld of %lld does not exist",
                           (long long)number, (long long)n);
    }
    *out = levada_file_reader_origin_at(r, number);
    LEVADA_TRY(levada_index_check_again(r->range.index, out->shard, err));
    levada_file_reader_forget(r);
    return LEVADA_OK;
}

levada_status levada_file_reader_lengths(levada_file_reader *r, levada_lengths_each *each,
                                         void *user, levada_error *err)
{
    return levada_index_lengths(r->range.index, each, user, err);
}

levada_status levada_file_reader_select(levada_file_reader *r, const char *const *fields,
                                        int32_t n, const uint8_t stages[16],
                                        const uint8_t plain[16], bool *found, levada_error *err)
{
    *found = false;
    if (!r->range.index) return LEVADA_OK;
    return levada_index_select(r->range.index, fields, n, stages, plain, found, err);
}

bool levada_file_reader_is_whole(const levada_file_reader *r)
{
    return r->range.index && r->range.first == 0 &&
        r->range.end == levada_index_count(r->range.index) &&
           !r->framing.options->shuffle_files && !r->framing.options->numbers.shuffle_records;
}
