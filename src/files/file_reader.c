/* SPDX-License-Identifier: Apache-2.0 */
#include "files/files_ahead.h"
#include "files/read_ahead.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "description/dataset_priv.h"
#include "files/lines.h"
#include "registry/env_priv.h"
#include "tensor/block_priv.h"

#include <string.h>

#define FILE_READER_AHEAD 2048               /* records framed at a time                          */
#define FILE_READER_ALONE (16 * LEVADA_STEP) /* bytes that the owner reads alone after damage     */

levada_bytes_options levada_file_reader_bytes(const levada_file_reader *r)
{
    return (levada_bytes_options){.compression = r->options->compression,
                                  .probe = r->format->probe,
                                  .encoding = r->options->encoding,
                                  .cancelled = r->owner.cancelled};
}

/* -- making */

static levada_status file_reader_fill(levada_file_reader *r, levada_error *err)
{
    size_t n;

    LEVADA_TRY(levada_compression_check(r->context->env, r->options->compression, err));
    LEVADA_TRY(levada_policy_parse(r->options->errors, &r->policy, err));
    LEVADA_TRY(levada_file_reader_find(r, err));
    LEVADA_TRY(levada_op_format_spec(r->op, &r->spec, err));
    r->ncolumns = levada_spec_count(r->spec);
    LEVADA_TRY(levada_file_reader_make_state(r, &r->state, err));
    n = (size_t)r->files.n;
    r->order = levada_alloc(n * sizeof *r->order);
    r->sizes = levada_alloc(n * sizeof *r->sizes);
    if (n > 0 && (!r->order || !r->sizes)) {
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for %zu files", n);
    }
    for (size_t i = 0; i < n; i++) atomic_init(&r->sizes[i], LEVADA_FILE_UNMEASURED);
    if (r->owner.threads > 1 && !r->options->numbers.shuffle_records && r->format->next) {
        LEVADA_TRY(levada_read_ahead_create(r, r->owner.threads, &r->ahead, err));
        LEVADA_TRY(levada_files_ahead_create(r, r->owner.threads, &r->files_ahead, err));
    }
    levada_file_reader_rewind(r, 0, r->context->epoch);
    return LEVADA_OK;
}

levada_status levada_file_reader_create(const levada_context *context, const levada_op *op,
                                        const void *args, int32_t source,
                                        const levada_file_owner *owner, levada_file_reader **out,
                                        levada_error *err)
{
    levada_file_reader *r = levada_alloc_zero(sizeof *r);
    levada_status       st;

    if (!r) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a file reader");
    r->context = context;
    r->op = op;
    r->args = args;
    r->options = (const void *)((const uint8_t *)args + op->core_offset);
    r->format = &op->def.format;
    r->source = source;
    r->own_place.counts = &r->own_counts;
    r->limit = context->block_rows;
    if (owner) r->owner = *owner;
    else r->owner = (levada_file_owner){ &r->own_place, NULL, &r->own_marks, NULL, r, NULL,
                                         context->threads };
    st = file_reader_fill(r, err);
    if (st == LEVADA_OK) {
        *out = r;
    } else {
        levada_file_reader_destroy(&r);
    }
    return st;
}

levada_status levada_file_reader_look(const levada_dataset *source, levada_context *context,
                                      levada_file_reader **out, levada_error *err)
{
    *context = (levada_context){ .struct_size = sizeof *context, .env = source->env,
                                 .block_rows = 1, .threads = 1, .out = source->spec };
    return levada_file_reader_create(context, source->op, source->args, 0, NULL, out, err);
}

void levada_file_reader_forget(levada_file_reader *reader)
{
    for (int i = 0; i < LEVADA_FILES_KEPT; i++) levada_window_close(&reader->kept[i].window);
}

void levada_file_reader_destroy(levada_file_reader **reader)
{
    levada_file_reader *r = *reader;

    *reader = NULL;
    if (!r) return;
    levada_file_reader_leave(r);
    levada_file_reader_forget(r);
    levada_read_ahead_destroy(&r->ahead);
    levada_files_ahead_destroy(&r->files_ahead);
    levada_window_close(&r->window);
    levada_buffer_unref(&r->framed.index);
    levada_file_reader_free_state(r, &r->state);
    levada_spec_unref(&r->spec);
    levada_index_close(&r->index);
    if (r->shuffled) r->order_ops->destroy(&r->shuffled);
    if (r->numbers) r->number_ops->destroy(&r->numbers);
    levada_files_clear(&r->files);
    levada_free(r->order);
    levada_free(r->sizes);
    levada_free(r->rejects);
    levada_file_marks_clear(&r->own_marks);
    levada_free(r);
}

levada_status levada_file_reader_policy(levada_file_reader *r, const char *errors,
                                        levada_error *err)
{
    if (r->options->errors) return LEVADA_OK;
    return levada_policy_parse(errors, &r->policy, err);
}

/* -- one file after the other */

static int32_t file_reader_shard(const levada_file_reader *r) { return r->order[r->turn]; }

/* The file whose turn it is, as the origins of its records name it. */
static levada_origin file_reader_origin(const levada_file_reader *r)
{
    return (levada_origin){ .source = r->source,
                            .pass = r->pass,
                            .shard = file_reader_shard(r) };
}

levada_status levada_file_reader_check_cancelled(const levada_file_reader *r, levada_error *err)
{
    if (!r->owner.cancelled || !atomic_load(r->owner.cancelled)) return LEVADA_OK;
    return levada_fail(err, LEVADA_ECANCELLED, "cancelled");
}

/* There is no further byte. */
static levada_status file_reader_check_end(const levada_file_reader *r, levada_error *err)
{
    levada_spans none = { 0 };

    if (!r->format->counted) return LEVADA_OK;
    return r->format->next(r->state, r->args, levada_window_data(&r->window), 0, true, &none, err);
}

/* The window of the file whose turn it is, which another thread may have prepared. */
static levada_status file_reader_open_window(levada_file_reader *r, levada_error *err)
{
    levada_bytes_options options = levada_file_reader_bytes(r);
    levada_bytes *bytes = r->files_ahead ? levada_files_ahead_take(r->files_ahead, r->turn) : NULL;

    if (bytes) {
        levada_window_begin(&r->window, r->context->env, bytes, r->context->max_record_bytes);
        return LEVADA_OK;
    }
    return levada_window_open(&r->window, r->context->env, r->files.path[file_reader_shard(r)],
                              &options, r->context->max_record_bytes, err);
}

static levada_status file_reader_open(levada_file_reader *r, levada_error *err)
{
    int32_t              shard = file_reader_shard(r);
    const char          *path = r->files.path[shard];
    levada_file_names *names = r->owner.names;
    levada_origin        origin = file_reader_origin(r);
    int64_t              size = -1;
    levada_status        st;

    r->stream = false;
    r->bad_bytes = 0;
    r->entered = r->resumed;
    LEVADA_TRY(file_reader_open_window(r, err));
    if (r->step > 0) levada_window_set_step(&r->window, r->step);
    st = levada_file_reader_mark(r, shard, r->window.bytes, r->start > 0, err);
    if (st == LEVADA_OK && !r->policy.skip) size = levada_bytes_left(r->window.bytes);
    if (st == LEVADA_OK) st = levada_file_reader_enter(r, r->state, r->start, size, err);
    if (st == LEVADA_OK) st = levada_window_seek(&r->window, r->start, err);
    if (st == LEVADA_OK && names) st = levada_file_names_enter(names, &origin, path, true, err);
    if (st != LEVADA_OK) {
        levada_error_place(err, NULL, path, r->record, r->start);
        levada_window_close(&r->window);
        return st;
    }
    r->open = true;
    return LEVADA_OK;
}

/* Did an opener or a read give up because its thread was interrupted? Nothing has changed then, and
 * the next call continues. */
static bool file_reader_interrupted(const levada_file_reader *r, levada_status st,
                                    levada_error *err)
{
    const atomic_bool *cancelled = r->owner.cancelled;

    if (st != LEVADA_ECANCELLED || (cancelled && atomic_load(cancelled))) return false;
    if (!levada_env_is_interrupted(r->context->env)) return false;
    levada_error_clear(err);
    return true;
}

void levada_file_reader_leave(levada_file_reader *r)
{
    levada_file_names *names = r->open ? r->owner.names : NULL;

    if (r->ahead) levada_read_ahead_stop(r->ahead);
    r->ahead_from = 0;
    if (names) {
        levada_origin origin = file_reader_origin(r);

        levada_file_names_leave(names, &origin);
    }
    if (r->open) levada_window_close(&r->window);
    r->open = r->noted = false;
    r->framed.n = r->framed.next = 0;
    r->framed.used = 0;
    r->wasted = r->resumed = 0;
}

/* Reports what costs no record: that a file had none, or was written to. Byte -1: all of it. */
static levada_status file_reader_note(levada_file_reader *r, levada_status code,
                                      const char *message, int64_t at, int32_t empty,
                                      levada_error *err)
{
    const char  *path = r->files.path[file_reader_shard(r)];
    levada_error why = LEVADA_ERROR_INIT;
    levada_loss  loss = levada_skip_loss(r->owner.place, &r->policy, 0);

    (void)levada_fail(&why, code, "%s", message);
    levada_error_place(&why, NULL, path, -1, at);
    loss.empty = empty;
    loss.noted = true;
    return levada_file_reader_reject(r, &why, &loss, err);
}

/* Shows the format n of the framed records, from number `at` on; n = 0: the file has ended. */
static const char *file_reader_watch(const levada_file_reader *r, int32_t at, int32_t n)
{
    levada_spans spans = {.n = n};

    if (!r->format->watch) return NULL;
    if (n > 0) { /* else nothing may have been framed yet */
        spans.begin = r->framed.begin + at;
        spans.end = r->framed.end + at;
    }
    return r->format->watch(r->state, levada_window_data(&r->window), &spans, r->record);
}

levada_status levada_file_reader_next_file(levada_file_reader *r, levada_error *err)
{
    long long   size = r->open ? atomic_load(&r->sizes[file_reader_shard(r)]) : 0;
    const char *odd = r->open && r->record > 0 ? file_reader_watch(r, 0, 0) : NULL;

    if (size < 0) size = levada_bytes_done(r->window.bytes); /* a pipe */
    if (odd) LEVADA_TRY(file_reader_note(r, LEVADA_EDATA_LOSS, odd, -1, 0, err));
    if (r->open && r->record == 0) {
        LEVADA_TRY(file_reader_note(r, LEVADA_ENOT_FOUND, LEVADA_FILE_EMPTY, -1, 1, err));
    }
    if (r->open && levada_bytes_changed(r->window.bytes)) {
        LEVADA_TRY(file_reader_note(r, LEVADA_EDATA_LOSS, LEVADA_FILE_CHANGED, -1, 0, err));
    }
    if (r->open) (void)atomic_fetch_add(&r->bytes, (long long)r->window.offset);
    levada_file_reader_leave(r);
    (void)atomic_fetch_add(&r->finished, size);
    atomic_store_explicit(&r->done, atomic_load(&r->finished), memory_order_relaxed);
    r->turn++;
    r->record = r->start = 0;
    return LEVADA_OK;
}

/* -- framing */

/* Records that are framed at a time: no block goes beyond a multiple of them. */
static int32_t file_reader_most(const levada_file_reader *r)
{
    int32_t rows = r->context->block_rows;

    return rows > FILE_READER_AHEAD ? rows : FILE_READER_AHEAD;
}

/* Ends the framed records before one that is longer than the limit, as those are that are refused
 * before they are read: a large window may have more. */
static levada_status file_reader_check_long(levada_file_reader *r, levada_error *err)
{
    levada_framed *f = &r->framed;

    for (int32_t i = 0; i < f->n; i++) {
        int64_t at = f->frame[i] - f->frame[0];
        int64_t end = i + 1 < f->n ? f->frame[i + 1] - f->frame[0] : f->used;

        if (end - at <= r->window.max_record) continue;
        f->n = i;
        f->used = at;
        if (i > 0) return LEVADA_OK;
        return levada_window_refuse(&r->window, r->format->leave_out ? 0 : end - at, err);
    }
    return LEVADA_OK;
}

/* The number of the record after the last that is read of the file whose turn it is. */
static int64_t file_reader_last(const levada_file_reader *r)
{
    int32_t shard = file_reader_shard(r);

    if (r->turn == r->stop.turn) return levada_index_number(r->index, shard, r->stop.record);
    return levada_index_number(r->index, shard + 1, 0);
}

/* Whether records follow, which may be empty, after the last byte of the file. */
static bool file_reader_is_left(const levada_file_reader *r)
{
    if (r->format->next) return false;
    return levada_index_number(r->index, file_reader_shard(r), r->record) < file_reader_last(r);
}

/* next() of a format whose records only the index knows. */
static levada_status file_reader_look_up(levada_file_reader *r, levada_spans *out,
                                         levada_error *err)
{
    int64_t number = levada_index_number(r->index, file_reader_shard(r), r->record);
    int64_t last = file_reader_last(r), size = levada_window_size(&r->window);

    for (; out->n < out->capacity && number < last; number++) {
        levada_index_entry entry = { 0 };
        levada_status      st = levada_index_find(r->index, number, &entry, err);
        int64_t            at = entry.offset - r->window.offset;

        if (st != LEVADA_OK && out->n == 0) return st;
        if (st != LEVADA_OK) {
            levada_error_clear(err); /* comes again when these records are gone */
            return LEVADA_OK;
        }
        if (out->n == 0 && at > 0) { /* bytes before the record */
            out->used = at < size ? at : size;
            return LEVADA_OK;
        }
        out->need = at + entry.length;
        if (out->need > size) break;
        out->begin[out->n] = (int32_t)at;
        out->end[out->n++] = (int32_t)(out->used = out->need);
    }
    if (out->n == 0 && number == last) out->used = size; /* bytes after the last record */
    if (out->n > 0 || number == last || !r->window.ended) return LEVADA_OK;
    return levada_fail(err, LEVADA_EDATA_LOSS, "truncated record: %lld of %lld bytes",
                       (long long)size, (long long)out->need);
}

/* Frames what the window holds. *need = 0 and nothing framed: it was the end of the file. */
static levada_status file_reader_try(levada_file_reader *r, int64_t *need, levada_error *err)
{
    levada_spans  spans = {.capacity = file_reader_most(r)};
    levada_status st;

    LEVADA_TRY(levada_framed_reserve(&r->framed, r, spans.capacity, err));
    spans.begin = r->framed.begin;
    spans.end = r->framed.end;
    spans.frame = r->format->frames ? r->framed.frame : NULL;
    spans.stride = r->framed.stride;
    if (!r->format->next) st = file_reader_look_up(r, &spans, err);
    else st = r->format->next(r->state, r->args, levada_window_data(&r->window),
                              levada_window_size(&r->window), r->window.ended, &spans, err);
    *need = spans.need;
    r->bad_bytes = st == LEVADA_EDATA_LOSS ? spans.need : 0;
    r->checked += spans.used + r->bad_bytes;
    if (st != LEVADA_OK && st != LEVADA_EDATA_LOSS) return st;
    if (spans.note && !r->noted) {
        LEVADA_TRY(file_reader_note(r, LEVADA_EDATA_LOSS, spans.note,
                                    r->window.offset + spans.used, 0, err));
        r->noted = true;
    }
    r->framed.n = spans.n;
    r->framed.next = 0;
    r->framed.used = spans.used;
    if (levada_window_size(&r->window) > r->window.max_record) {
        if (st != LEVADA_OK && spans.n > 0) levada_error_clear(err);
        LEVADA_TRY(file_reader_check_long(r, err));
    }
    if (r->framed.n > 0) { /* the damage, if there is any, comes again when they are gone */
        if (st != LEVADA_OK) levada_error_clear(err);
        return LEVADA_OK;
    }
    levada_window_skip(&r->window, spans.used);
    r->framed.used = 0;
    if (st == LEVADA_OK && spans.used == 0 && r->window.ended) {
        if (r->format->leave_out && levada_window_size(&r->window) > r->window.max_record)
            return levada_window_refuse(&r->window, 0, err);
        return levada_fail(err, LEVADA_EDATA_LOSS, "trailing %lld bytes are not a complete record",
                           (long long)levada_window_size(&r->window));
    }
    return st;
}

static void file_reader_progressed(levada_file_reader *r, int64_t bytes)
{
    atomic_store_explicit(&r->done, atomic_load(&r->finished) + bytes, memory_order_relaxed);
}

/* Whether other threads read what comes after the window. */
static bool file_reader_has_ahead(levada_file_reader *r)
{
    if (!r->ahead || r->walks) return false;
    if (levada_read_ahead_active(r->ahead)) return true;
    if (r->window.offset >= r->ahead_from) levada_read_ahead_start(r->ahead, &r->window);
    return levada_read_ahead_active(r->ahead);
}

/* Where other threads met anything unusual, the owner reads that place and some of what follows. */
static void file_reader_alone(levada_file_reader *r)
{
    levada_window *w = &r->window;
    levada_error   why = LEVADA_ERROR_INIT;
    int64_t        why_at = 0;

    levada_read_ahead_end(r->ahead, &why, &why_at);
    r->ahead_from = w->offset + FILE_READER_ALONE;
    levada_bytes_move(w->bytes, w->offset + levada_window_size(w), &why, why_at);
}

/* What other threads have prepared becomes the window, framed. */
static levada_status file_reader_take(levada_file_reader *r, levada_error *err)
{
    levada_window *w = &r->window;

    if (!file_reader_has_ahead(r)) return LEVADA_OK;
    if (levada_read_ahead_take(r->ahead, w, &r->framed)) {
        r->bad_bytes = 0;
        r->checked += r->framed.used;
        file_reader_progressed(r, w->offset + levada_window_size(w));
        return levada_file_reader_enter(r, r->state, w->offset + r->framed.used, -1, err);
    }
    r->framed.n = 0;
    file_reader_alone(r);
    return levada_file_reader_enter(r, r->state, w->offset, -1, err);
}

/* The window gets more bytes, also after a wrong checksum that was counted before the restore. */
static levada_status file_reader_more(levada_file_reader *r, int64_t need, levada_error *err)
{
    levada_window *w = &r->window;
    levada_status  st = levada_window_fill(w, need, err);

    r->stream = w->broken;
    if (!w->broken || !r->entered || levada_bytes_offset(w->bytes) > r->entered ||
        !levada_bytes_resume(w->bytes)) {
        return st;
    }
    levada_error_clear(err);
    return LEVADA_OK;
}

/* Of damage in text that ends the reading: the line precedes the message. */
static void file_reader_line(const levada_file_reader *r, levada_error *err)
{
    levada_bytes_options options = levada_file_reader_bytes(r);
    int64_t              line = 0;

    if (!r->format->lines || r->policy.skip || r->walks) return;
    line = levada_file_line(r->context->env, r->files.path[file_reader_shard(r)], &options,
                            r->window.offset);
    if (line > 0) levada_error_wrap(err, "line %lld", (long long)line);
}

/* Frames the next records, reading as much as that takes. Nothing framed: the file has ended. */
static levada_status file_reader_frame(levada_file_reader *r, levada_error *err)
{
    levada_window *w = &r->window;
    int64_t        need = 0;
    levada_status  st = LEVADA_OK;

    r->framed.n = 0;
    r->stream = false;
    while (st == LEVADA_OK && r->framed.n == 0) {
        int64_t size = levada_window_size(w), before = w->offset;

        if (size == 0 && w->ended && !file_reader_is_left(r)) {
            st = file_reader_check_end(r, err);
            break;
        }
        if (size > 0 || w->ended) st = file_reader_try(r, &need, err);
        if (st == LEVADA_OK && r->framed.n == 0 && w->offset == before && !w->ended) {
            st = file_reader_take(r, err);
            if (st != LEVADA_OK || r->framed.n > 0) continue;
            st = file_reader_more(r, need, err);
            file_reader_progressed(r, levada_bytes_done(w->bytes));
        }
    }
    if (st == LEVADA_OK) return LEVADA_OK;
    /* The rest of a window may be damaged that was framed ahead. */
    if (levada_read_ahead_active(r->ahead)) file_reader_alone(r);
    levada_error_place(err, NULL, r->files.path[file_reader_shard(r)], r->record, w->offset);
    if (st == LEVADA_EDATA_LOSS) file_reader_line(r, err);
    return st;
}

/* -- blocks */

static levada_status file_reader_give(levada_file_reader *r, levada_block **out, levada_error *err)
{
    levada_framed *f = &r->framed;
    int32_t        i = f->next, n = f->n - i, most = file_reader_most(r);
    levada_block  *block;

    if (n > r->limit) n = r->limit;
    if (n > most - i % most) n = most - i % most;
    LEVADA_TRY(levada_block_create(r->spec, n, &block, err));
    for (int32_t c = 0; c < r->ncolumns; c++) {
        levada_column *column = &block->columns[c];
        int64_t        at = (int64_t)c * f->stride + i;

        column->level[0].begin = f->begin + at;
        column->level[0].end = f->end + at;
        column->level[0].owner = levada_buffer_ref(f->index);
        column->values = levada_window_data(&r->window);
        column->owner = levada_buffer_ref(r->window.chunk);
    }
    block->bytes = f->end[(int64_t)(r->ncolumns - 1) * f->stride + i + n - 1] - f->begin[i];
    block->origins.first = (levada_origin){
        .source = r->source,
        .pass = r->pass,
        .shard = file_reader_shard(r),
        .record = r->record,
        .offset = r->window.offset + f->frame[i] - f->frame[0],
    };
    (void)file_reader_watch(r, i, n);
    block->origins.begin = f->frame + i;
    block->origins.owner = levada_buffer_ref(f->index);
    r->good += (i + n < f->n ? f->frame[i + n] - f->frame[0] : f->used) - f->frame[i] + f->frame[0];
    f->next += n;
    r->record += n;
    levada_file_reader_count_records(r, n);
    *out = block;
    return LEVADA_OK;
}

/* -- rejects */

levada_status levada_file_reader_reject(levada_file_reader *r, const levada_error *why,
                                        const levada_loss *loss, levada_error *err)
{
    levada_reject *reject;

    if (!levada_reserve(&r->rejects, &r->rejects_capacity, r->nrejects + 1, sizeof *r->rejects)) {
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory while skipping records");
    }
    reject = &r->rejects[r->nrejects++];
    *reject = (levada_reject){ .why = *why, .loss = *loss };
    levada_error_place(&reject->why, r->owner.place->path, NULL, -1, -1);
    if (!loss->piped) levada_skip_number(&reject->loss, &r->progress, r->progress.read);
    return LEVADA_OK;
}

/* Without an owner: counts them. Where the budget ends it ends again at the next call. */
static levada_status file_reader_settle(levada_file_reader *r, levada_error *err)
{
    for (; r->passed < r->nrejects; r->passed++) {
        LEVADA_TRY(levada_skip_commit(NULL, r->context->env, &r->rejects[r->passed], err));
    }
    r->nrejects = r->passed = 0;
    return LEVADA_OK;
}

static levada_status file_reader_give_rejects(levada_file_reader *r, levada_block **out,
                                              levada_error *err)
{
    LEVADA_TRY(levada_block_create(r->spec, 0, out, err));
    (*out)->rejects = r->rejects;
    (*out)->nrejects = r->nrejects;
    r->rejects = NULL;
    r->rejects_capacity = 0;
    r->nrejects = 0;
    return LEVADA_OK;
}

levada_status levada_file_reader_next(levada_file_reader *r, levada_block **out, levada_error *err)
{
    for (;;) {
        levada_status st = LEVADA_OK;

        if (r->nrejects && r->owner.place != &r->own_place) {
            return file_reader_give_rejects(r, out, err);
        }
        if (r->nrejects) LEVADA_TRY(file_reader_settle(r, err));
        if (r->framed.next < r->framed.n) return file_reader_give(r, out, err);
        levada_window_skip(&r->window, r->framed.used);
        r->framed.used = 0;
        if (levada_file_reader_finished(r)) {
            LEVADA_TRY(levada_file_reader_end(r, err));
            continue;
        }
        if (r->numbers) return r->number_ops->next(r, out, err);
        if (r->options->numbers.shuffle_records) {
            LEVADA_ASSERT(r->shuffled);
            *out = NULL;
            LEVADA_TRY(r->order_ops->next(r, out, err));
            if (*out) return LEVADA_OK;
            continue;
        }
        if (!r->open) st = file_reader_open(r, err);
        if (st == LEVADA_OK) {
            st = file_reader_frame(r, err);
            levada_file_reader_clip(r);
            if (st == LEVADA_OK && r->framed.n == 0) st = levada_file_reader_next_file(r, err);
        }
        if (file_reader_interrupted(r, st, err)) return LEVADA_AGAIN;
        if (st != LEVADA_OK) LEVADA_TRY(levada_file_reader_judge(r, st, err));
    }
}

void levada_file_reader_limit(levada_file_reader *r, int64_t rows)
{
    LEVADA_ASSERT(rows > 0);
    r->limit = r->context->block_rows;
    if (r->limit > rows) r->limit = (int32_t)rows;
}

bool levada_file_reader_ahead(levada_file_reader *r, bool work)
{
    return r->ahead && (levada_read_ahead_work(r->ahead, work) ||
                        levada_files_ahead_work(r->files_ahead, work));
}

/* -- what it says about itself */

void levada_file_reader_walk(levada_file_reader *r) { r->walks = true; }

void levada_file_reader_step(levada_file_reader *r, int32_t bytes)
{
    r->step = bytes;
}

bool levada_file_reader_too_long(const levada_file_reader *r) { return r->too_long; }

const levada_spec *levada_file_reader_records(const levada_file_reader *r) { return r->spec; }

const levada_spec *levada_file_reader_spec(const levada_file_reader *r)
{
    return r->numbers ? r->number_ops->spec(r->numbers) : r->spec;
}

const char *levada_file_reader_file(const levada_file_reader *r, int32_t shard)
{
    return shard >= 0 && shard < r->files.n ? r->files.path[shard] : NULL;
}

void levada_file_reader_progress(const levada_file_reader *reader, int64_t *done, int64_t *total)
{
    levada_file_reader *r = (levada_file_reader *)(uintptr_t)reader;

    *done = atomic_load_explicit(&r->done, memory_order_relaxed);
    if (!total) return;
    levada_file_reader_measure(r);
    *total = atomic_load_explicit(&r->total, memory_order_relaxed);
}

levada_file_reader_counts levada_file_reader_counted(const levada_file_reader *reader)
{
    levada_file_reader *r = (levada_file_reader *)(uintptr_t)reader;
    levada_skip_counts *counts = r->owner.place->counts;

    return (levada_file_reader_counts){
        .skipped_records = atomic_load(&counts->bad),
        .damaged_bytes = atomic_load(&counts->damaged),
        .records = atomic_load(&r->records),
        .bytes = atomic_load(&r->bytes),
        .missing = atomic_load(&counts->missing),
        .empty = atomic_load(&counts->empty),
    };
}
