/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Single records by their origins: for the first time, by the index, or again, for a restored
 * buffer.
 */
#include "base/alloc.h"
#include "files/file_reader_priv.h"
#include "tensor/block_priv.h"

#include <string.h>

#define FILE_REREAD_STEP (INT64_C(64) << 10)  /* records may lie far apart              */
#define FILE_REREAD_MORE 512  /* bytes read after a record whose length is known       */
#define FILE_REREAD_GAP 4096  /* bytes between records that are read rather than skipped */
#define FILE_REREAD_PART (INT64_C(256) << 20) /* payload of one DATA block, more or less */
#define FILE_REREAD_FIRST (INT64_C(64) << 10)
#define FILE_REREAD_STRIDE (1 + LEVADA_KERNEL_SLACK)

typedef struct file_reread {
    levada_file_reader  *reader;
    const levada_origin *origins;
    const int64_t       *lengths; /* of their frames; NULL = not known: they were read before */
    int64_t              n, at; /* records wanted, record whose turn it is */
    levada_pool         *pool;
    int32_t              shard; /* open; -1 = none */
    levada_window       *window; /* of that: `own`, or one that the reader keeps */
    levada_window        own;
    void                *state;
    /* -- the part that is being filled */
    int64_t        first;
    levada_buffer *values, *offsets; /* begin and end of each column, `capacity` entries each */
    int64_t        capacity;
    int64_t        used;
    /* -- parts that are done */
    levada_block **parts;
    int64_t        parts_capacity;
    int32_t        nparts;
} file_reread;

static levada_status file_reread_gone(const file_reread *x, levada_status st, levada_error *err)
{
    const levada_origin *o = &x->origins[x->at];
    const char          *path = levada_file_reader_file(x->reader, o->shard);

    if (x->lengths) {
        if (st == LEVADA_END) {
            st = levada_fail(err, LEVADA_EDATA_LOSS,
                             "the file ends before the record, so it has changed");
        }
        levada_error_place(err, NULL, path, o->record, o->offset);
        return st;
    }
    if (st == LEVADA_ERESOURCE_EXHAUSTED || st == LEVADA_EUNIMPLEMENTED ||
        st == LEVADA_EUNAVAILABLE) {
        return st;
    }
    if (err && err->code == LEVADA_OK) {
        (void)levada_fail(err, st, "the file ends before the record, so it has changed");
    }
    if (err) err->code = LEVADA_EFAILED_PRECONDITION;
    levada_error_wrap(err,
                      "a record was removed or changed since the checkpoint was saved; restore "
                      "the file");
    levada_error_place(err, NULL, path, o->record, o->offset);
    return LEVADA_EFAILED_PRECONDITION;
}

/* Returns the window of a file that the reader keeps open from block to block, if lengths are
 * known. */
static levada_window *file_reread_kept(file_reread *x, int32_t shard, bool *open)
{
    levada_kept *kept = &x->reader->access.kept[shard % LEVADA_FILES_KEPT];

    *open = kept->window.bytes && kept->shard == shard;
    kept->shard = shard;
    return &kept->window;
}

static levada_status file_reread_open(file_reread *x, int32_t shard, levada_error *err)
{
    const char          *path = levada_file_reader_file(x->reader, shard);
    levada_bytes_options options = levada_file_reader_bytes(x->reader);
    bool                 open = false;

    if (!path)
        return levada_fail(err, LEVADA_EDATA_LOSS,
                           "the checkpoint names file number %d, which is not in the list",
                           (int)shard);
    x->shard = -1;
    x->window = x->lengths ? file_reread_kept(x, shard, &open) : &x->own;
    if (!open) {
        LEVADA_TRY(levada_window_open(x->window, x->reader->framing.context->env, path, &options,
                                      x->reader->framing.context->max_record_bytes, err));
        x->window->step = FILE_REREAD_STEP;
    }
    x->shard = shard;
    if (open || !x->lengths) return LEVADA_OK;
    return levada_file_reader_mark(x->reader, shard, x->window->bytes, true, err);
}

/* The memory of the columns of one record. Kernels write past the first entry. */
typedef struct file_reread_spans {
    int32_t begin[LEVADA_FORMAT_COLUMNS][FILE_REREAD_STRIDE];
    int32_t end[LEVADA_FORMAT_COLUMNS][FILE_REREAD_STRIDE];
    int32_t frame[FILE_REREAD_STRIDE];
} file_reread_spans;

static levada_spans file_reread_spans_of(const file_reread *x, file_reread_spans *found)
{
    return (levada_spans){ .begin = found->begin[0], .end = found->end[0],
                           .frame = x->reader->framing.format->frames ? found->frame : NULL,
                           .stride = FILE_REREAD_STRIDE, .capacity = 1 };
}

/* Adds to `used`, the bytes of a record of that length, those after it that hold none: blank lines,
 * a footer. */
static levada_status file_reread_pass(const file_reread *x, int64_t length, int64_t *used,
                                      levada_error *err)
{
    const levada_file_reader *r = x->reader;
    levada_window            *w = x->window;

    while (*used < length) {
        file_reread_spans found;
        levada_spans      spans = file_reread_spans_of(x, &found);
        int64_t           size = levada_window_size(w) - *used;

        if (size > 0) {
            levada_status st =
                levada_framing_next(&r->framing, x->state, levada_window_data(w) + *used,
                                               size, w->ended, &spans, err);

            if (st != LEVADA_OK) return st;
            if (spans.n > 0) {
                *used += spans.frame ? spans.frame[0] : 0;
                return LEVADA_OK;
            }
            *used += spans.used;
        }
        if (spans.used > 0) continue;
        if (w->ended) return LEVADA_OK;
        LEVADA_TRY(levada_window_refill(w, spans.need > 0 ? *used + spans.need : 0, err));
    }
    return LEVADA_OK;
}

/* Returns an error unless the next record begins where the index says. */
static levada_status file_reread_check_length(const file_reread *x, int64_t before, int64_t used,
                                              levada_error *err)
{
    int64_t length = x->lengths ? x->lengths[x->at] - before : used;

    if (used < length) LEVADA_TRY(file_reread_pass(x, length, &used, err));
    if (used == length) return LEVADA_OK;
    return levada_fail(err, LEVADA_EDATA_LOSS,
                       "the record has %lld bytes, but %lld in the index, so the file has changed",
                       (long long)used, (long long)length);
}

/* Finds a record of a format whose records only the index knows. */
static levada_status file_reread_look_up(const file_reread *x, file_reread_spans *found,
                                         levada_error *err)
{
    const levada_origin *o = &x->origins[x->at];
    levada_index        *index = x->reader->range.index;
    levada_index_entry   entry;

    LEVADA_TRY(levada_index_find(index, levada_index_number(index, o->shard, o->record), &entry,
                                 err));
    if (entry.offset != o->offset || entry.shard != o->shard) return LEVADA_END;
    while (levada_window_size(x->window) < entry.length) {
        if (x->window->ended) return LEVADA_END;
        LEVADA_TRY(levada_window_refill(x->window, entry.length, err));
    }
    found->begin[0][0] = 0;
    found->end[0][0] = (int32_t)entry.length;
    return LEVADA_OK;
}

/* Frames the record that lies at the window's beginning. */
static levada_status file_reread_frame(file_reread *x, file_reread_spans *found, levada_error *err)
{
    const levada_file_reader *r = x->reader;
    levada_window            *w = x->window;
    int64_t                   need = 0, before = 0; /* bytes that hold no record: blank lines */

    if (!r->framing.format->next) return file_reread_look_up(x, found, err);
    for (;;) {
        levada_spans spans = file_reread_spans_of(x, found);

        if (levada_window_size(w) == 0 && w->ended) return LEVADA_END;
        if (levada_window_size(w) > 0) {
            levada_status st =
                levada_framing_next(&r->framing, x->state, levada_window_data(w),
                                    levada_window_size(w),
                                w->ended, &spans, err);

            if (spans.n > 0) levada_error_clear(err);
            if (spans.n > 0) return file_reread_check_length(x, before, spans.used, err);
            if (st != LEVADA_OK) return st;
            if (spans.used > 0 && x->lengths && before + spans.used < x->lengths[x->at]) {
                levada_window_skip(w, spans.used);
                before += spans.used;
                continue;
            }
            if (w->ended || spans.used > 0) return LEVADA_END;
            need = spans.need;
        }
        LEVADA_TRY(levada_window_refill(w, need, err));
    }
}

/* -- parts */

static levada_status file_reread_begin_part(file_reread *x, levada_error *err)
{
    int64_t arrays = 2 * (int64_t)x->reader->framing.ncolumns;

    x->first = x->at;
    x->used = 0;
    x->capacity = x->n - x->at;
    LEVADA_TRY(levada_buffer_create(x->pool, arrays * (x->capacity + 1) * (int64_t)sizeof(int32_t),
                                    &x->offsets, err));
    return levada_buffer_create(x->pool, FILE_REREAD_FIRST, &x->values, err);
}

/* Returns where the records of the part begin (0) or end (1) in a column. */
static int32_t *file_reread_side(const file_reread *x, int32_t column, int side)
{
    return (int32_t *)(void *)x->offsets->data + (2 * (int64_t)column + side) * x->capacity;
}

/* Reserves `size` more bytes; the values may move. */
static levada_status file_reread_reserve(file_reread *x, int64_t size, levada_error *err)
{
    levada_buffer *larger = NULL;
    int64_t        capacity = x->values->capacity;

    while (capacity < x->used + size) capacity *= 2;
    if (capacity == x->values->capacity) return LEVADA_OK;
    LEVADA_TRY(levada_buffer_create(x->pool, capacity, &larger, err));
    memcpy(larger->data, x->values->data, (size_t)x->used);
    levada_buffer_unref(&x->values);
    x->values = larger;
    return LEVADA_OK;
}

/* Copies a column of the record whose turn it is. */
static levada_status file_reread_add(file_reread *x, int32_t column, const uint8_t *data,
                                     int64_t size, levada_error *err)
{
    int64_t i = x->at - x->first;

    LEVADA_TRY(file_reread_reserve(x, size, err));
    if (size > 0) memcpy(x->values->data + x->used, data, (size_t)size);
    file_reread_side(x, column, 0)[i] = (int32_t)x->used;
    x->used += size;
    file_reread_side(x, column, 1)[i] = (int32_t)x->used;
    return LEVADA_OK;
}

/* Makes a block of what was gathered. */
static levada_status file_reread_end_part(file_reread *x, levada_error *err)
{
    int64_t        n = x->at - x->first;
    levada_block  *block;
    levada_buffer *each = NULL;

    if (!levada_reserve(&x->parts, &x->parts_capacity, x->nparts + 1, sizeof *x->parts)) {
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for blocks");
    }
    LEVADA_TRY(levada_buffer_create(x->pool, n * (int64_t)sizeof *x->origins, &each, err));
    if (n > 0) memcpy(each->data, x->origins + x->first, (size_t)n * sizeof *x->origins);
    if (levada_block_create(x->reader->framing.spec, n, &block, err) != LEVADA_OK) {
        levada_buffer_unref(&each);
        return LEVADA_ERESOURCE_EXHAUSTED;
    }
    for (int32_t c = 0; c < x->reader->framing.ncolumns; c++) {
        levada_column *column = &block->columns[c];

        column->level[0].begin = file_reread_side(x, c, 0);
        column->level[0].end = file_reread_side(x, c, 1);
        column->level[0].owner = levada_buffer_ref(x->offsets);
        column->values = x->values->data;
        column->owner = levada_buffer_ref(x->values);
    }
    levada_buffer_unref(&x->offsets);
    levada_buffer_unref(&x->values);
    block->bytes = x->used;
    block->origins.each = (const void *)each->data;
    block->origins.owner = each;
    if (n > 0) block->origins.first = block->origins.each[0];
    x->parts[x->nparts++] = block;
    return LEVADA_OK;
}

/* -- records */

/* Returns the bytes from the next record to the end of the last one that is read together with it:
 * records of one file with small gaps, as many as a chunk has space for. */
static int64_t file_reread_run(const file_reread *x)
{
    const levada_origin *first = &x->origins[x->at];
    int64_t              size = x->lengths[x->at];

    for (int64_t i = x->at + 1; i < x->n && x->origins[i].shard == first->shard; i++) {
        int64_t at = x->origins[i].offset - first->offset, end = at + x->lengths[i];

        if (at > size + FILE_REREAD_GAP || end > LEVADA_STEP) break;
        if (end > size) size = end;
    }
    return size;
}

/* Moves the window to the record whose turn it is. */
static levada_status file_reread_seek(file_reread *x, levada_error *err)
{
    int64_t offset = x->origins[x->at].offset, ahead = offset - x->window->offset, size;

    if (!x->lengths || !levada_bytes_shared(x->window->bytes)) {
        return levada_window_seek(x->window, offset, err);
    }
    size = x->lengths[x->at];
    if (ahead >= 0 && ahead + size <= levada_window_size(x->window)) {
        levada_window_skip(x->window, ahead);
        return LEVADA_OK;
    }
    size = file_reread_run(x);
    if (size > LEVADA_STEP) return levada_window_seek(x->window, offset, err);
    if (x->reader->framing.format->next) size += FILE_REREAD_MORE; /* it looks at what follows */
    return levada_window_read(x->window, offset, size, err);
}

/* Names the bytes of all records of the file whose turn it is, so that a storage that answers late
 * is asked for them together. */
static void file_reread_expect(const file_reread *x)
{
    if (!x->lengths || !levada_bytes_shared(x->window->bytes)) return;
    for (int64_t i = x->at; i < x->n && x->origins[i].shard == x->shard; i++) {
        levada_bytes_expect(x->window->bytes, x->origins[i].offset, x->lengths[i]);
    }
}

static levada_status file_reread_fetch(file_reread *x, levada_error *err)
{
    const levada_origin *o = &x->origins[x->at];
    file_reread_spans    found;
    levada_status        st = LEVADA_OK;

    if (x->shard < 0 || o->shard != x->shard) {
        st = file_reread_open(x, o->shard, err);
        if (st == LEVADA_OK) file_reread_expect(x);
    }
    if (st == LEVADA_OK) st = file_reread_seek(x, err);
    if (st == LEVADA_OK) st =
        levada_framing_enter(&x->reader->framing, x->state, o->offset, -1, err);
    if (st == LEVADA_OK) st = file_reread_frame(x, &found, err);
    if (st != LEVADA_OK) return file_reread_gone(x, st, err);
    for (int32_t c = 0; c < x->reader->framing.ncolumns; c++) {
        int32_t        begin = found.begin[c][0], end = found.end[c][0];
        const uint8_t *data = levada_window_data(x->window); /* NULL: empty records only */

        LEVADA_TRY(file_reread_add(x, c, begin ? data + begin : data, end - begin, err));
    }
    x->at++;
    return LEVADA_OK;
}

/* Notes the name of the file. If a pipe was opened again, only the source that reads again knows
 * it. */
static levada_status file_reread_name(const file_reread *x, levada_error *err)
{
    const levada_origin *o = &x->origins[x->at];
    const char          *path = levada_file_reader_file(x->reader, o->shard);
    levada_file_names *names = x->reader->owner.names;

    return names && path ? levada_file_names_enter(names, o, path, false, err) : LEVADA_OK;
}

/* Returns true if the record is that of the previous origin: one record can yield several rows. */
static bool file_reread_same(const file_reread *x)
{
    const levada_origin *o = &x->origins[x->at];

    return x->at > x->first && o->shard == o[-1].shard &&
           o->offset == o[-1].offset && o->record == o[-1].record; /* records may be empty */
}

static void file_reread_repeat(file_reread *x)
{
    int64_t i = x->at++ - x->first;

    for (int32_t k = 0; k < 2 * x->reader->framing.ncolumns; k++) {
        int32_t *side = file_reread_side(x, k / 2, k % 2);

        side[i] = side[i - 1];
    }
}

static levada_status file_reread_all(file_reread *x, levada_error *err)
{
    LEVADA_TRY(levada_framing_make_state(&x->reader->framing, &x->state, err));
    LEVADA_TRY(file_reread_begin_part(x, err));
    while (x->at < x->n) {
        LEVADA_TRY(levada_file_reader_check_cancelled(x->reader, err));
        LEVADA_TRY(file_reread_name(x, err));
        if (file_reread_same(x)) file_reread_repeat(x);
        else LEVADA_TRY(file_reread_fetch(x, err));
        if (x->used < FILE_REREAD_PART || x->at == x->n) continue;
        LEVADA_TRY(file_reread_end_part(x, err));
        LEVADA_TRY(file_reread_begin_part(x, err));
    }
    return file_reread_end_part(x, err);
}

/* Joins all parts to one block: a selection that names their rows in order. */
static levada_status file_reread_join(file_reread *x, levada_block **out, levada_error *err)
{
    levada_buffer *index = NULL;
    uint32_t      *which, *row;
    int64_t        k = 0;
    levada_status  st;

    LEVADA_TRY(levada_buffer_create(x->pool, 2 * x->n * (int64_t)sizeof *which, &index, err));
    which = (void *)index->data;
    row = which + x->n;
    for (int32_t p = 0; p < x->nparts; p++) {
        for (int64_t i = 0; i < x->parts[p]->n; i++, k++) {
            which[k] = (uint32_t)p;
            row[k] = (uint32_t)i;
        }
    }
    st = levada_block_selection(x->parts, x->nparts, which, row, x->n, &index, out, err);
    levada_buffer_unref(&index);
    if (st == LEVADA_OK) x->nparts = 0; /* its references went into the selection */
    return st;
}

/* Reads records whose frames have these lengths; NULL = not known: they were read before. */
static levada_status file_reread_read(levada_file_reader *reader, const levada_origin *sorted,
                                      const int64_t *lengths, int64_t n, levada_block **out,
                                      levada_error *err)
{
    file_reread   x = { .reader = reader, .origins = sorted, .lengths = lengths, .n = n,
                        .shard = -1 };
    levada_status st;

    x.pool = levada_env_pool(reader->framing.context->env);
    st = file_reread_all(&x, err);
    if (st == LEVADA_OK && x.nparts > 1) {
        st = file_reread_join(&x, out, err);
    } else if (st == LEVADA_OK) {
        *out = x.parts[0];
        x.nparts = 0;
    }
    for (int32_t i = 0; i < x.nparts; i++) levada_block_unref(&x.parts[i]);
    levada_free(x.parts);
    levada_buffer_unref(&x.values);
    levada_buffer_unref(&x.offsets);
    levada_window_close(&x.own);
    if (st != LEVADA_OK) levada_file_reader_forget(reader);
    levada_framing_free_state(&reader->framing, &x.state);
    return st;
}

levada_status levada_file_reader_fetch(levada_file_reader *reader, levada_origin *sorted,
                                       int64_t *lengths, int64_t n, levada_block **out,
                                       levada_error *err)
{
    levada_index *index = reader->range.index;

    memset(lengths, 0, (size_t)n * sizeof *lengths);
    for (int64_t i = 0; i < n; i++) {
        levada_index_entry entry;

        LEVADA_TRY(levada_file_reader_check_record(reader, &sorted[i], err));
        LEVADA_TRY(levada_index_find(index, levada_index_number(index, sorted[i].shard,
                                                                sorted[i].record),
                                     &entry, err));
        sorted[i].offset = entry.offset;
        lengths[i] = entry.length;
    }
    return file_reread_read(reader, sorted, lengths, n, out, err);
}

levada_status levada_file_reader_read(levada_file_reader *reader, const levada_origin *sorted,
                                      int64_t n, levada_read how, levada_block **out,
                                      levada_error *err)
{
    levada_origin *origins;
    int64_t       *lengths;
    levada_status  st;

    if (how == LEVADA_READ_AGAIN && reader->keys) {
        return levada_file_keys_reread(reader, sorted, n, out, err);
    }
    if (how == LEVADA_READ_AGAIN) return file_reread_read(reader, sorted, NULL, n, out, err);
    origins = levada_alloc((size_t)n * sizeof *origins + 1);
    lengths = levada_alloc((size_t)n * sizeof *lengths + 1);
    if (origins && lengths) {
        memcpy(origins, sorted, (size_t)n * sizeof *origins);
        st = levada_file_reader_fetch(reader, origins, lengths, n, out, err);
    } else {
        st = levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for keys of records");
    }
    levada_free(origins);
    levada_free(lengths);
    if (st == LEVADA_OK && reader->keys) levada_file_reader_count_records(reader, n);
    return st;
}
