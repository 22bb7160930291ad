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
    return (levada_bytes_options){.compression = r->framing.options->compression,
                                  .probe = r->framing.format->probe,
                                  .encoding = r->framing.options->encoding,
                                  .cancelled = r->owner.cancelled,
                                  .meter = r->owner.meter,
                                  .hurried = &r->hurried};
}

/* -- making */

static levada_status file_reader_fill(levada_file_reader *r, levada_error *err)
{
    LEVADA_TRY(levada_compression_check(r->framing.context->env, r->framing.options->compression,
                                        err));
    LEVADA_TRY(levada_policy_parse(r->framing.options->errors, &r->policy, err));
    LEVADA_TRY(levada_file_reader_find(r, err));
    LEVADA_TRY(levada_op_format_spec(r->framing.op, &r->framing.spec, err));
    r->framing.ncolumns = levada_spec_count(r->framing.spec);
    LEVADA_TRY(levada_framing_make_state(&r->framing, &r->frames.state, err));
    LEVADA_TRY(levada_file_set_reserve(&r->set, err));
    if (r->owner.threads > 1 && !r->framing.options->numbers.shuffle_records &&
        r->framing.format->next) {
        LEVADA_TRY(levada_read_ahead_create(r, r->owner.threads, &r->frames.ahead, err));
        LEVADA_TRY(levada_files_ahead_create(r, r->owner.threads, &r->frames.files_ahead, err));
    }
    levada_file_reader_rewind(r, 0, r->framing.context->epoch);
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
    r->framing.context = context;
    r->framing.op = op;
    r->framing.args = args;
    r->framing.options = (const void *)((const uint8_t *)args + op->core_offset);
    r->framing.format = &op->def.format;
    r->source = source;
    r->alone.place.counts = &r->alone.counts;
    r->limit = context->block_rows;
    if (owner) r->owner = *owner;
    else r->owner = (levada_file_owner){ .place = &r->alone.place, .marks = &r->alone.marks,
                                         .key = r, .threads = context->threads };
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
    for (int i = 0; i < LEVADA_FILES_KEPT; i++) levada_window_close(&reader->access.kept[i].window);
}

void levada_file_reader_destroy(levada_file_reader **reader)
{
    levada_file_reader *r = *reader;

    *reader = NULL;
    if (!r) return;
    levada_file_reader_leave(r);
    levada_file_reader_forget(r);
    levada_read_ahead_destroy(&r->frames.ahead);
    levada_files_ahead_destroy(&r->frames.files_ahead);
    levada_window_close(&r->frames.window);
    levada_buffer_unref(&r->frames.framed.index);
    levada_framing_free_state(&r->framing, &r->frames.state);
    levada_spec_unref(&r->framing.spec);
    levada_index_close(&r->range.index);
    levada_shuffled_destroy(&r->shuffled);
    levada_file_keys_destroy(&r->keys);
    levada_file_set_clear(&r->set);
    levada_rejects_clear(&r->rejects);
    levada_file_marks_clear(&r->alone.marks);
    levada_free(r);
}

levada_status levada_file_reader_policy(levada_file_reader *r, const char *errors,
                                        levada_error *err)
{
    if (r->framing.options->errors) return LEVADA_OK;
    return levada_policy_parse(errors, &r->policy, err);
}

/* -- one file after the other */

static int32_t file_reader_shard(const levada_file_reader *r) { return r->set.order[r->at.turn]; }

/* Returns an origin in the file whose turn it is, without a record. */
static levada_origin file_reader_origin(const levada_file_reader *r)
{
    return (levada_origin){ .source = r->source,
                            .pass = r->at.pass,
                            .shard = file_reader_shard(r) };
}

levada_status levada_file_reader_check_cancelled(const levada_file_reader *r, levada_error *err)
{
    if (!r->owner.cancelled || !atomic_load(r->owner.cancelled)) return LEVADA_OK;
    return levada_fail(err, LEVADA_ECANCELLED, "cancelled");
}

/* Tells the format that no further byte follows. */
static levada_status file_reader_check_end(const levada_file_reader *r, levada_error *err)
{
    levada_spans none = { 0 };

    if (!r->framing.format->counted) return LEVADA_OK;
    return levada_framing_next(&r->framing, r->frames.state, levada_window_data(&r->frames.window),
                               0, true, &none, err);
}

/* Opens the window of the file whose turn it is, which another thread may have prepared. */
static levada_status file_reader_open_window(levada_file_reader *r, levada_error *err)
{
    const levada_context *c = r->framing.context;
    levada_bytes_options  options = levada_file_reader_bytes(r);
    levada_files_ahead   *ahead = r->frames.files_ahead;
    levada_bytes         *bytes = ahead ? levada_files_ahead_take(ahead, r->at.turn) : NULL;

    if (bytes) {
        levada_window_begin(&r->frames.window, c->env, bytes, c->max_record_bytes);
        return LEVADA_OK;
    }
    return levada_window_open(&r->frames.window, c->env, r->set.files.path[file_reader_shard(r)],
                              &options, c->max_record_bytes, err);
}

static levada_status file_reader_open(levada_file_reader *r, levada_error *err)
{
    int32_t              shard = file_reader_shard(r);
    const char          *path = r->set.files.path[shard];
    levada_file_names *names = r->owner.names;
    levada_origin        origin = file_reader_origin(r);
    int64_t              size = -1;
    levada_status        st;

    r->failure.stream = false;
    r->failure.bad_bytes = 0;
    r->frames.entered = r->at.resumed;
    LEVADA_TRY(file_reader_open_window(r, err));
    if (r->frames.step > 0) levada_window_set_step(&r->frames.window, r->frames.step);
    st = levada_file_reader_mark(r, shard, r->frames.window.bytes, r->at.start > 0, err);
    if (st == LEVADA_OK && !r->policy.skip) size = levada_bytes_left(r->frames.window.bytes);
    if (st == LEVADA_OK) st =
        levada_framing_enter(&r->framing, r->frames.state, r->at.start, size, err);
    if (st == LEVADA_OK) st = levada_window_seek(&r->frames.window, r->at.start, err);
    if (st == LEVADA_OK && names) st = levada_file_names_enter(names, &origin, path, true, err);
    if (st != LEVADA_OK) {
        levada_error_place(err, NULL, path, r->at.record, r->at.start);
        levada_window_close(&r->frames.window);
        return st;
    }
    r->frames.open = true;
    return LEVADA_OK;
}

static bool file_reader_hurried(const levada_file_reader *r)
{
    return r->hurried && atomic_load(r->hurried);
}

/* Returns true if an opener or a read gave up because its thread was interrupted or hurried.
 * Nothing has changed then, and the next call continues. */
static bool file_reader_interrupted(const levada_file_reader *r, levada_status st,
                                    levada_error *err)
{
    const atomic_bool *cancelled = r->owner.cancelled;

    if (st != LEVADA_ECANCELLED || (cancelled && atomic_load(cancelled))) return false;
    if (!file_reader_hurried(r) && !levada_env_is_interrupted(r->framing.context->env)) {
        return false;
    }
    levada_error_clear(err);
    return true;
}

/* Passes what the policy skips. What follows damage in a pipe is waited for: a hurried thread
 * leaves that to the next call. */
static levada_status file_reader_pass(levada_file_reader *r, levada_status st, levada_error *err)
{
    bool piped = r->frames.open && levada_bytes_mark_of(r->frames.window.bytes).size < 0;

    if (piped && file_reader_hurried(r)) {
        levada_error_clear(err);
        return LEVADA_AGAIN;
    }
    st = levada_file_reader_judge(r, st, err);
    return file_reader_interrupted(r, st, err) ? LEVADA_AGAIN : st;
}

void levada_file_reader_leave(levada_file_reader *r)
{
    levada_file_names *names = r->frames.open ? r->owner.names : NULL;

    if (r->frames.ahead) levada_read_ahead_stop(r->frames.ahead);
    r->frames.ahead_from = 0;
    if (names) {
        levada_origin origin = file_reader_origin(r);

        levada_file_names_leave(names, &origin);
    }
    if (r->frames.open) levada_window_close(&r->frames.window);
    r->frames.open = r->frames.noted = false;
    r->frames.framed.n = r->frames.framed.next = 0;
    r->frames.framed.used = 0;
    r->failure.wasted = r->at.resumed = 0;
}

/* Reports what costs no record: that a file had none, or was written to. Byte -1: all of it. */
static levada_status file_reader_note(levada_file_reader *r, levada_status code,
                                      const char *message, int64_t at, int32_t empty,
                                      levada_error *err)
{
    const char  *path = r->set.files.path[file_reader_shard(r)];
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

    if (!r->framing.format->watch) return NULL;
    if (n > 0) { /* else nothing may have been framed yet */
        spans.begin = r->frames.framed.begin + at;
        spans.end = r->frames.framed.end + at;
    }
    return r->framing.format->watch(r->frames.state, levada_window_data(&r->frames.window), &spans,
                                    r->at.record);
}

levada_status levada_file_reader_next_file(levada_file_reader *r, levada_error *err)
{
    long long   size = r->frames.open ? atomic_load(&r->set.sizes[file_reader_shard(r)]) : 0;
    const char *odd = r->frames.open && r->at.record > 0 ? file_reader_watch(r, 0, 0) : NULL;

    if (size < 0) size = levada_bytes_done(r->frames.window.bytes); /* a pipe */
    if (odd) LEVADA_TRY(file_reader_note(r, LEVADA_EDATA_LOSS, odd, -1, 0, err));
    if (r->frames.open && r->at.record == 0) {
        LEVADA_TRY(file_reader_note(r, LEVADA_ENOT_FOUND, LEVADA_FILE_EMPTY, -1, 1, err));
    }
    if (r->frames.open && levada_bytes_changed(r->frames.window.bytes)) {
        LEVADA_TRY(file_reader_note(r, LEVADA_EDATA_LOSS, LEVADA_FILE_CHANGED, -1, 0, err));
    }
    if (r->frames.open) (void)atomic_fetch_add(&r->counts.bytes,
                                               (long long)r->frames.window.offset);
    levada_file_reader_leave(r);
    (void)atomic_fetch_add(&r->counts.finished, size);
    atomic_store_explicit(&r->counts.done, atomic_load(&r->counts.finished), memory_order_relaxed);
    r->at.turn++;
    r->at.record = r->at.start = 0;
    return LEVADA_OK;
}

/* -- framing */

/* Returns how many records are framed at a time: no block goes beyond a multiple of them. */
static int32_t file_reader_most(const levada_file_reader *r)
{
    int32_t rows = r->framing.context->block_rows;

    return rows > FILE_READER_AHEAD ? rows : FILE_READER_AHEAD;
}

/* Ends the framed records before one that is longer than the limit, as those are that are refused
 * before they are read: a large window may have more. */
static levada_status file_reader_check_long(levada_file_reader *r, levada_error *err)
{
    levada_framed *f = &r->frames.framed;

    for (int32_t i = 0; i < f->n; i++) {
        int64_t at = f->frame[i] - f->frame[0];
        int64_t end = i + 1 < f->n ? f->frame[i + 1] - f->frame[0] : f->used;

        if (end - at <= r->frames.window.max_record) continue;
        f->n = i;
        f->used = at;
        if (i > 0) return LEVADA_OK;
        return levada_window_refuse(&r->frames.window, r->framing.format->leave_out ? 0 : end - at,
                                    err);
    }
    return LEVADA_OK;
}

/* Returns the number of the record after the last that is read of the file whose turn it is. */
static int64_t file_reader_last(const levada_file_reader *r)
{
    int32_t shard = file_reader_shard(r);

    if (r->at.turn == r->range.stop.turn) return levada_index_number(r->range.index, shard,
                                                                     r->range.stop.record);
    return levada_index_number(r->range.index, shard + 1, 0);
}

/* Returns true if records follow, which may be empty, after the last byte of the file. */
static bool file_reader_is_left(const levada_file_reader *r)
{
    if (r->framing.format->next) return false;
    return levada_index_number(r->range.index, file_reader_shard(r),
                               r->at.record) < file_reader_last(r);
}

/* Frames records that only the index knows, in place of next() of the format. */
static levada_status file_reader_look_up(levada_file_reader *r, levada_spans *out,
                                         levada_error *err)
{
    int64_t number = levada_index_number(r->range.index, file_reader_shard(r), r->at.record);
    int64_t last = file_reader_last(r), size = levada_window_size(&r->frames.window);

    for (; out->n < out->capacity && number < last; number++) {
        levada_index_entry entry = { 0 };
        levada_status      st = levada_index_find(r->range.index, number, &entry, err);
        int64_t            at = entry.offset - r->frames.window.offset;

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
    if (out->n > 0 || number == last || !r->frames.window.ended) return LEVADA_OK;
    return levada_fail(err, LEVADA_EDATA_LOSS, "truncated record: %lld of %lld bytes",
                       (long long)size, (long long)out->need);
}

/* Frames what the window holds. If *need is 0 and nothing is framed, the file has ended. */
static levada_status file_reader_try(levada_file_reader *r, int64_t *need, levada_error *err)
{
    levada_window *w = &r->frames.window;
    levada_framed *f = &r->frames.framed;
    levada_spans   spans = {.capacity = file_reader_most(r)};
    levada_status  st;

    LEVADA_TRY(levada_framed_reserve(f, &r->framing, spans.capacity, err));
    spans.begin = f->begin;
    spans.end = f->end;
    spans.frame = r->framing.format->frames ? f->frame : NULL;
    spans.stride = f->stride;
    if (!r->framing.format->next) st = file_reader_look_up(r, &spans, err);
    else st = levada_framing_next(&r->framing, r->frames.state, levada_window_data(w),
                                  levada_window_size(w), w->ended, &spans, err);
    *need = spans.need;
    r->failure.bad_bytes = st == LEVADA_EDATA_LOSS ? spans.need : 0;
    r->frames.checked += spans.used + r->failure.bad_bytes;
    if (st != LEVADA_OK && st != LEVADA_EDATA_LOSS) return st;
    if (spans.note && !r->frames.noted) {
        LEVADA_TRY(file_reader_note(r, LEVADA_EDATA_LOSS, spans.note,
                                    w->offset + spans.used, 0, err));
        r->frames.noted = true;
    }
    f->n = spans.n;
    f->next = 0;
    f->used = spans.used;
    if (levada_window_size(w) > w->max_record) {
        if (st != LEVADA_OK && spans.n > 0) levada_error_clear(err);
        LEVADA_TRY(file_reader_check_long(r, err));
    }
    if (f->n > 0) { /* the damage, if there is any, comes again when they are gone */
        if (st != LEVADA_OK) levada_error_clear(err);
        return LEVADA_OK;
    }
    levada_window_skip(w, spans.used);
    f->used = 0;
    if (st == LEVADA_OK && spans.used == 0 && w->ended) {
        if (r->framing.format->leave_out && levada_window_size(w) > w->max_record)
            return levada_window_refuse(w, 0, err);
        return levada_fail(err, LEVADA_EDATA_LOSS, "trailing %lld bytes are not a complete record",
                           (long long)levada_window_size(w));
    }
    return st;
}

static void file_reader_progressed(levada_file_reader *r, int64_t bytes)
{
    atomic_store_explicit(&r->counts.done, atomic_load(&r->counts.finished) + bytes,
                          memory_order_relaxed);
}

/* Returns true if other threads read what comes after the window. */
static bool file_reader_has_ahead(levada_file_reader *r)
{
    if (!r->frames.ahead || r->walks) return false;
    if (levada_read_ahead_active(r->frames.ahead)) return true;
    if (r->frames.window.offset >= r->frames.ahead_from) levada_read_ahead_start(r->frames.ahead,
                                                                                 &r->frames.window);
    return levada_read_ahead_active(r->frames.ahead);
}

/* Ends reading ahead where other threads met anything unusual, so that the owner reads that place
 * and some of what follows. */
static void file_reader_alone(levada_file_reader *r)
{
    levada_window *w = &r->frames.window;
    levada_error   why = LEVADA_ERROR_INIT;
    int64_t        why_at = 0;

    levada_read_ahead_end(r->frames.ahead, &why, &why_at);
    r->frames.ahead_from = w->offset + FILE_READER_ALONE;
    levada_bytes_move(w->bytes, w->offset + levada_window_size(w), &why, why_at);
}

/* Makes what other threads have prepared the window, framed; or continues alone. */
static levada_status file_reader_take(levada_file_reader *r, levada_error *err)
{
    levada_window *w = &r->frames.window;

    if (!file_reader_has_ahead(r)) return LEVADA_OK;
    if (levada_read_ahead_take(r->frames.ahead, w, &r->frames.framed)) {
        r->failure.bad_bytes = 0;
        r->frames.checked += r->frames.framed.used;
        file_reader_progressed(r, w->offset + levada_window_size(w));
        return levada_framing_enter(&r->framing, r->frames.state,
                                    w->offset + r->frames.framed.used, -1, err);
    }
    r->frames.framed.n = 0;
    file_reader_alone(r);
    return levada_framing_enter(&r->framing, r->frames.state, w->offset, -1, err);
}

/* Reads more bytes into the window, also after a wrong checksum that was counted before the
 * restore. */
static levada_status file_reader_more(levada_file_reader *r, int64_t need, levada_error *err)
{
    levada_window *w = &r->frames.window;
    levada_status  st = levada_window_fill(w, need, err);

    r->failure.stream = w->broken;
    if (!w->broken || !r->frames.entered || levada_bytes_offset(w->bytes) > r->frames.entered ||
        !levada_bytes_resume(w->bytes)) {
        return st;
    }
    levada_error_clear(err);
    return LEVADA_OK;
}

/* Adds the line of damage in text that ends the reading to the front of the message. */
static void file_reader_line(const levada_file_reader *r, levada_error *err)
{
    levada_bytes_options options = levada_file_reader_bytes(r);
    int64_t              line = 0;

    if (!r->framing.format->lines || r->policy.skip || r->walks) return;
    line = levada_file_line(r->framing.context->env, r->set.files.path[file_reader_shard(r)],
                            &options,
                            r->frames.window.offset);
    if (line > 0) levada_error_wrap(err, "line %lld", (long long)line);
}

/* Frames the next records, reading as much as that takes. Nothing framed: the file has ended. */
static levada_status file_reader_frame(levada_file_reader *r, levada_error *err)
{
    levada_window *w = &r->frames.window;
    int64_t        need = 0;
    levada_status  st = LEVADA_OK;

    r->frames.framed.n = 0;
    r->failure.stream = false;
    while (st == LEVADA_OK && r->frames.framed.n == 0) {
        int64_t size = levada_window_size(w), before = w->offset;

        if (size == 0 && w->ended && !file_reader_is_left(r)) {
            st = file_reader_check_end(r, err);
            break;
        }
        if (size > 0 || w->ended) st = file_reader_try(r, &need, err);
        if (st == LEVADA_OK && r->frames.framed.n == 0 && w->offset == before && !w->ended) {
            st = file_reader_take(r, err);
            if (st != LEVADA_OK || r->frames.framed.n > 0) continue;
            st = file_reader_more(r, need, err);
            file_reader_progressed(r, levada_bytes_done(w->bytes));
        }
    }
    if (st == LEVADA_OK) return LEVADA_OK;
    /* The rest of a window may be damaged that was framed ahead. */
    if (levada_read_ahead_active(r->frames.ahead)) file_reader_alone(r);
    levada_error_place(err, NULL, r->set.files.path[file_reader_shard(r)], r->at.record, w->offset);
    if (st == LEVADA_EDATA_LOSS) file_reader_line(r, err);
    return st;
}

/* -- blocks */

static levada_status file_reader_give(levada_file_reader *r, levada_block **out, levada_error *err)
{
    levada_framed *f = &r->frames.framed;
    int32_t        i = f->next, n = f->n - i, most = file_reader_most(r);
    levada_block  *block;

    if (n > r->limit) n = r->limit;
    if (n > most - i % most) n = most - i % most;
    LEVADA_TRY(levada_block_create(r->framing.spec, n, &block, err));
    for (int32_t c = 0; c < r->framing.ncolumns; c++) {
        levada_column *column = &block->columns[c];
        int64_t        at = (int64_t)c * f->stride + i;

        column->level[0].begin = f->begin + at;
        column->level[0].end = f->end + at;
        column->level[0].owner = levada_buffer_ref(f->index);
        column->values = levada_window_data(&r->frames.window);
        column->owner = levada_buffer_ref(r->frames.window.chunk);
    }
    block->bytes = f->end[(int64_t)(r->framing.ncolumns - 1) * f->stride + i + n - 1] - f->begin[i];
    block->origins.first = (levada_origin){
        .source = r->source,
        .pass = r->at.pass,
        .shard = file_reader_shard(r),
        .record = r->at.record,
        .offset = r->frames.window.offset + f->frame[i] - f->frame[0],
    };
    (void)file_reader_watch(r, i, n);
    block->origins.begin = f->frame + i;
    block->origins.owner = levada_buffer_ref(f->index);
    r->losses.good += (i + n < f->n ? f->frame[i + n] - f->frame[0] : f->used)
        - f->frame[i] + f->frame[0];
    f->next += n;
    r->at.record += n;
    levada_file_reader_count_records(r, n);
    *out = block;
    return LEVADA_OK;
}

/* -- rejects */

levada_status levada_file_reader_reject(levada_file_reader *r, const levada_error *why,
                                        const levada_loss *loss, levada_error *err)
{
    levada_reject *reject;

    LEVADA_TRY(levada_rejects_add(&r->rejects, &(levada_reject){ .why = *why, .loss = *loss }, 1,
                                  err));
    reject = &r->rejects.list[r->rejects.n - 1];
    levada_error_place(&reject->why, r->owner.place->path, NULL, -1, -1);
    if (!loss->piped) levada_skip_number(&reject->loss, &r->losses.progress,
                                         r->losses.progress.read);
    return LEVADA_OK;
}

/* Counts the rejects of a reader without an owner. If the budget ends, it ends again at the next
 * call. */
static levada_status file_reader_settle(levada_file_reader *r, levada_error *err)
{
    for (; r->passed < r->rejects.n; r->passed++) {
        LEVADA_TRY(levada_skip_commit(NULL, r->framing.context->env, &r->rejects.list[r->passed],
                                      err));
    }
    r->rejects.n = r->passed = 0;
    return LEVADA_OK;
}

static levada_status file_reader_give_rejects(levada_file_reader *r, levada_block **out,
                                              levada_error *err)
{
    LEVADA_TRY(levada_block_create(r->framing.spec, 0, out, err));
    (*out)->rejects = r->rejects.list;
    (*out)->nrejects = r->rejects.n;
    r->rejects = (levada_rejects){ 0 };
    return LEVADA_OK;
}

levada_status levada_file_reader_next(levada_file_reader *r, levada_block **out, levada_error *err)
{
    for (;;) {
        levada_status st = LEVADA_OK;

        if (r->rejects.n && r->owner.place != &r->alone.place) {
            return file_reader_give_rejects(r, out, err);
        }
        if (r->rejects.n) LEVADA_TRY(file_reader_settle(r, err));
        if (r->frames.framed.next < r->frames.framed.n) return file_reader_give(r, out, err);
        levada_window_skip(&r->frames.window, r->frames.framed.used);
        r->frames.framed.used = 0;
        if (levada_file_reader_finished(r)) {
            LEVADA_TRY(levada_file_reader_end(r, err));
            continue;
        }
        if (r->keys) return levada_file_keys_next(r, out, err);
        if (r->framing.options->numbers.shuffle_records) {
            LEVADA_ASSERT(r->shuffled);
            *out = NULL;
            LEVADA_TRY(levada_shuffled_next(r, out, err));
            if (*out) return LEVADA_OK;
            continue;
        }
        if (!r->frames.open) st = file_reader_open(r, err);
        if (st == LEVADA_OK) {
            st = file_reader_frame(r, err);
            levada_file_reader_clip(r);
            if (st == LEVADA_OK && r->frames.framed.n == 0) st =
                levada_file_reader_next_file(r, err);
        }
        if (file_reader_interrupted(r, st, err)) return LEVADA_AGAIN;
        if (st != LEVADA_OK) LEVADA_TRY(file_reader_pass(r, st, err));
    }
}

void levada_file_reader_limit(levada_file_reader *r, int64_t rows)
{
    LEVADA_ASSERT(rows > 0);
    r->limit = r->framing.context->block_rows;
    if (r->limit > rows) r->limit = (int32_t)rows;
}

void levada_file_reader_hurry(levada_file_reader *r, const atomic_int *hurried)
{
    r->hurried = hurried;
}

bool levada_file_reader_ahead(levada_file_reader *r, bool work)
{
    return r->frames.ahead && (levada_read_ahead_work(r->frames.ahead, work) ||
                               levada_files_ahead_work(r->frames.files_ahead, work));
}

/* -- what it says about itself */

void levada_file_reader_walk(levada_file_reader *r) { r->walks = true; }

void levada_file_reader_step(levada_file_reader *r, int32_t bytes)
{
    r->frames.step = bytes;
}

bool levada_file_reader_too_long(const levada_file_reader *r) { return r->failure.too_long; }

const levada_spec *levada_file_reader_records(const levada_file_reader *r)
{
    return r->framing.spec;
}

const levada_spec *levada_file_reader_spec(const levada_file_reader *r)
{
    return r->keys ? levada_file_keys_spec(r->keys) : r->framing.spec;
}

const char *levada_file_reader_file(const levada_file_reader *r, int32_t shard)
{
    return shard >= 0 && shard < r->set.files.n ? r->set.files.path[shard] : NULL;
}

void levada_file_reader_progress(const levada_file_reader *reader, int64_t *done, int64_t *total)
{
    levada_file_reader *r = (levada_file_reader *)(uintptr_t)reader;

    *done = atomic_load_explicit(&r->counts.done, memory_order_relaxed);
    if (!total) return;
    levada_file_set_measure(&r->set, r->framing.context->env);
    *total = atomic_load_explicit(&r->set.total, memory_order_relaxed);
}

levada_file_reader_counts levada_file_reader_counted(const levada_file_reader *reader)
{
    levada_file_reader *r = (levada_file_reader *)(uintptr_t)reader;
    levada_skip_counts *counts = r->owner.place->counts;

    return (levada_file_reader_counts){
        .skipped_records = atomic_load(&counts->bad),
        .damaged_bytes = atomic_load(&counts->damaged),
        .records = atomic_load(&r->counts.records),
        .bytes = atomic_load(&r->counts.bytes),
        .missing = atomic_load(&counts->missing),
        .empty = atomic_load(&counts->empty),
    };
}
