/* SPDX-License-Identifier: Apache-2.0 */
#include "files/window.h"

#include "registry/env_priv.h"

#include <stdio.h>
#include <string.h>

/* The system copies pages with `rep movsb`, which needs two to eight times as long if its target is
 * 1 to 63 bytes after its source, within their pages (measured on Zen 3). That number of bytes of
 * each chunk stay unused, so that a window can begin further back. */
#define WINDOW_LEAD 64
#define WINDOW_LOOK 512 /* a format may look at what follows a record: the next header of tar */
#define WINDOW_PAGE 4096
#define WINDOW_LEAST (INT64_C(64) << 10) /* so that a chunk serves reads of many sizes */

levada_status levada_window_open(levada_window *window, levada_env *env, const char *path,
                                 const levada_bytes_options *options, int64_t max_record,
                                 levada_error *err)
{
    levada_bytes *bytes = NULL;

    LEVADA_TRY(levada_bytes_open(env, path, options, &bytes, err));
    levada_window_begin(window, env, bytes, max_record);
    return LEVADA_OK;
}

void levada_window_begin(levada_window *window, levada_env *env, levada_bytes *bytes,
                         int64_t max_record)
{
    levada_window_close(window);
    *window = (levada_window){
        .pool = levada_env_pool(env),
        .bytes = bytes,
        .step = LEVADA_CHUNK,
        .total = -1,
        .max_record = levada_window_limit(max_record),
    };
}

void levada_window_close(levada_window *window)
{
    levada_bytes_close(&window->bytes);
    levada_buffer_unref(&window->chunk);
    *window = (levada_window){0};
}

void levada_window_set_step(levada_window *window, int32_t bytes)
{
    LEVADA_ASSERT(bytes >= 4);
    window->step = WINDOW_LEAD + bytes;
}

/* Returns the number of bytes of the file after the window, -1 if unknown. */
static int64_t window_left(const levada_window *w)
{
    if (w->total < 0) return levada_bytes_left(w->bytes);
    return w->total - w->offset - levada_window_size(w);
}

/* Returns an error if a record of `need` bytes is impossible or too long, because a declared length
 * may be wrong. What fits in one chunk is simply read: then the format can say better what is
 * missing. */
static levada_status window_judge(levada_window *w, int64_t need, levada_error *err)
{
    int64_t size = levada_window_size(w);
    int64_t left = need > w->step ? window_left(w) : -1; /* a call of the system */

    if (left >= 0 && need - size > left) {
        return levada_fail(err, LEVADA_EDATA_LOSS,
                           "truncated record: %lld of %lld bytes, then the file ends",
                           (long long)(size + left), (long long)need);
    }
    if (need > size ? need <= w->max_record ||
                          (need - size <= WINDOW_LOOK && size <= w->max_record + WINDOW_LOOK)
                    : size <= w->max_record) {
        w->too_long = false;
        w->length = need > size ? need : 0;
        return LEVADA_OK;
    }
    return levada_window_refuse(w, need > size ? need : 0, err);
}

levada_status levada_window_refuse(levada_window *w, int64_t length, levada_error *err)
{
    char size[40] = "";

    w->too_long = true;
    w->length = length;
    if (length > 0) (void)snprintf(size, sizeof size, " of %lld bytes", (long long)length);
    if (w->max_record >= LEVADA_RECORD_BYTES) {
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED,
                           "a record%s is longer than %lld, the most that levada reads", size,
                           (long long)LEVADA_RECORD_BYTES);
    }
    return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED,
                       "a record%s is longer than max_record_bytes=%lld: raise it "
                       "(--max-record-bytes, in Python max_bytes) to at most %lld to read the "
                       "record",
                       size, (long long)w->max_record, (long long)LEVADA_RECORD_BYTES);
}

/* Returns the bytes that the chunk must hold: the window as it is and more. A quarter of a large
 * window is new, so that moving it costs no more than reading does, whatever lengths a file claims.
 */
static int64_t window_capacity(const levada_window *w, int64_t need)
{
    int64_t size = levada_window_size(w), wanted = w->step - WINDOW_LEAD;
    bool    steps = w->step == LEVADA_CHUNK;

    if (steps) {
        int64_t more = size / 4 / LEVADA_STEP * LEVADA_STEP;

        wanted = size + (size + more <= w->max_record ? more : 0) + LEVADA_STEP -
                 levada_bytes_offset(w->bytes) % LEVADA_STEP;
    }
    if (need > wanted && levada_bytes_seekable(w->bytes)) { /* the file has them */
        int64_t left = levada_bytes_left(w->bytes);
        int64_t grown = size + size / 4 < size + left ? size + size / 4 : size + left;

        return need > grown ? need : grown;
    }
    if (steps) return wanted;
    while (wanted - size < wanted / 4) wanted *= 2;
    return wanted > w->max_record && size <= w->max_record ? w->max_record + 1 : wanted;
}

/* Returns true if nobody else reads the chunk, and it was not made for a huge record. */
static bool window_reuses(const levada_window *w, int64_t capacity)
{
    return w->chunk && w->chunk->capacity >= capacity && w->chunk->capacity <= 4 * capacity &&
           atomic_load_explicit(&w->chunk->refs, memory_order_acquire) == 1;
}

/* Returns where the window begins in a chunk, so that what is read next is copied fast. */
static int64_t window_lead(const levada_window *w, const levada_buffer *chunk)
{
    uint64_t behind = ((uint64_t)(uintptr_t)chunk->data - (uint64_t)w->offset) % WINDOW_PAGE;

    return behind > 0 && behind < WINDOW_LEAD ? WINDOW_LEAD - (int64_t)behind : 0;
}

/* Makes a piece that another thread has put in stock the window, with the rest of the window before
 * it. False if there is none, or if without threads the window would be another one. */
static bool window_take(levada_window *w, int64_t capacity)
{
    int64_t        size = levada_window_size(w), end = 0;
    levada_buffer *piece = NULL;

    if (size <= LEVADA_BYTES_LEAD && capacity == size + LEVADA_STEP)
        piece = levada_bytes_take(w->bytes, &end);
    if (!piece) return false;
    if (size > 0)
        memcpy(piece->data + LEVADA_BYTES_LEAD - size, levada_window_data(w), (size_t)size);
    levada_buffer_unref(&w->chunk);
    w->chunk = piece;
    w->at = LEVADA_BYTES_LEAD - size;
    w->filled = end;
    w->moved += size;
    return true;
}

levada_status levada_window_fill(levada_window *w, int64_t need, levada_error *err)
{
    int64_t        size = levada_window_size(w), made = 0, capacity, lead;
    levada_buffer *chunk = NULL;
    levada_status  st;

    w->broken = false;
    if (w->ended) return LEVADA_OK;
    if (size > 0) LEVADA_TRY(window_judge(w, need, err));
    capacity = window_capacity(w, need);
    if (window_take(w, capacity)) return LEVADA_OK;
    if (!window_reuses(w, capacity + WINDOW_LEAD)) {
        LEVADA_TRY(levada_buffer_create(w->pool, capacity + WINDOW_LEAD, &chunk, err));
        lead = window_lead(w, chunk);
        if (size > 0) memcpy(chunk->data + lead, levada_window_data(w), (size_t)size);
        levada_buffer_unref(&w->chunk);
        w->chunk = chunk;
    } else {
        w->chunk->size = capacity + WINDOW_LEAD;
        lead = window_lead(w, w->chunk);
        if (size > 0) memmove(w->chunk->data + lead, levada_window_data(w), (size_t)size);
    }
    w->at = lead;
    w->filled = lead + size;
    w->moved += size;
    st = levada_bytes_read_least(w->bytes, w->chunk->data + w->filled, capacity - size, 1, &made,
                                 err);
    w->filled += made;
    LEVADA_ASSERT(made >= 0 && w->filled - lead <= capacity && w->filled <= w->chunk->capacity);
    w->ended = st == LEVADA_OK && made == 0;
    w->broken = st != LEVADA_OK;
    return st;
}

levada_status levada_window_refill(levada_window *w, int64_t need, levada_error *err)
{
    levada_status st = levada_window_fill(w, need, err);

    if (st != LEVADA_EDATA_LOSS || !levada_bytes_resume(w->bytes)) return st;
    levada_error_clear(err);
    return LEVADA_OK;
}

/* Decompresses up to the offset, a chunk at a time. */
static levada_status window_forward(levada_window *w, int64_t offset, levada_error *err)
{
    while (offset - w->offset > levada_window_size(w)) {
        levada_window_skip(w, levada_window_size(w));
        if (w->ended) {
            return levada_fail(err, LEVADA_EOUT_OF_RANGE, "byte %lld is after the end of the file",
                               (long long)offset);
        }
        LEVADA_TRY(levada_window_refill(w, 0, err));
    }
    levada_window_skip(w, offset - w->offset);
    return LEVADA_OK;
}

levada_status levada_window_seek(levada_window *w, int64_t offset, levada_error *err)
{
    bool    plain = levada_bytes_seekable(w->bytes);
    int64_t ahead = offset - w->offset;

    w->too_long = false;
    if (offset < 0) { /* of a state that was made up */
        return levada_fail(err, LEVADA_EOUT_OF_RANGE,
                           "byte %lld is before the beginning of the file",
                           (long long)offset);
    }
    if (ahead < 0 || (plain && ahead > levada_window_size(w))) {
        w->at = w->filled = 0;
        w->ended = false;
        w->offset = plain ? offset : 0;
        LEVADA_TRY(levada_bytes_seek(w->bytes, w->offset, err));
    }
    return window_forward(w, offset, err);
}

levada_status levada_window_read(levada_window *w, int64_t offset, int64_t size,
                                 levada_error *err)
{
    levada_error  none = LEVADA_ERROR_INIT;
    int64_t       capacity = size < WINDOW_LEAST ? WINDOW_LEAST : size, made = 0, lead;
    levada_status st;

    w->too_long = w->ended = w->broken = false;
    w->at = w->filled = 0;
    w->offset = offset;
    if (!window_reuses(w, capacity + WINDOW_LEAD)) {
        levada_buffer *chunk = NULL;

        LEVADA_TRY(levada_buffer_create(w->pool, capacity + WINDOW_LEAD, &chunk, err));
        levada_buffer_unref(&w->chunk);
        w->chunk = chunk;
    }
    w->chunk->size = capacity + WINDOW_LEAD;
    lead = window_lead(w, w->chunk);
    st = levada_bytes_read_at(w->bytes, offset, w->chunk->data + lead, size, &made, err);
    if (st != LEVADA_OK) return st;
    w->at = lead;
    w->filled = lead + made;
    levada_bytes_move(w->bytes, offset + made, &none, 0);
    return LEVADA_OK;
}

levada_status levada_window_pass(levada_window *w, int64_t length, levada_error *err)
{
    int64_t       from = w->offset, seen;
    levada_error  why = LEVADA_ERROR_INIT;
    levada_status st = levada_window_seek(w, from + length, &why);

    if (st == LEVADA_OK) return LEVADA_OK;
    if (st != LEVADA_EOUT_OF_RANGE && st != LEVADA_EDATA_LOSS) {
        if (err) *err = why;
        return st;
    }
    seen = w->offset + levada_window_size(w);
    if (!levada_bytes_seekable(w->bytes)) w->total = seen;
    LEVADA_TRY(levada_window_seek(w, from, err));
    return levada_fail(err, LEVADA_EDATA_LOSS,
                       "truncated record: %lld of %lld bytes, then the file ends",
                       (long long)(seen - from), (long long)length);
}
