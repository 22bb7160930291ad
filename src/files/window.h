/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A window on the bytes of one file: what a format frames records in.
 *
 * The window is part of a pooled chunk of 256 KiB. When it has to grow, what is left of it moves to
 * the front of a chunk and the rest is read after it: into the same chunk if nobody else holds it,
 * so that it stays in the cache, else into the one that the pool got back last. A chunk is written
 * to only while nobody else holds it. Only a record longer than that gets a larger chunk, and that
 * grows with what the file really holds, so that a lying length costs nothing.
 */
#ifndef LEVADA_FILES_WINDOW_H
#define LEVADA_FILES_WINDOW_H

#include "base/assert.h"
#include "files/bytes.h"
#include "tensor/pool.h"

/* The longest record: offsets in a block are int32. The default of max_record_bytes. */
#define LEVADA_RECORD_BYTES (INT64_C(1) << 30)
#define LEVADA_CHUNK (INT64_C(256) << 10)
/* Reads end at multiples of this, whatever is left of the window before. So the records of a window
 * depend on the file alone, and other threads can read the next windows (read_ahead.h,
 * files_ahead.h). What is left of a window is rarely longer than the rest of a chunk. */
#define LEVADA_STEP (INT64_C(224) << 10)

/* Returns the limit of a record for this max_record_bytes; 0 = the default. Records within one
 * chunk are not compared with it, so it is at least a chunk. */
static inline int64_t levada_window_limit(int64_t max_record)
{
    if (max_record <= 0 || max_record > LEVADA_RECORD_BYTES) return LEVADA_RECORD_BYTES;
    return max_record < LEVADA_CHUNK ? LEVADA_CHUNK : max_record;
}

/* All-zero is a valid closed window. */
typedef struct levada_window {
    levada_pool   *pool; /* borrowed */
    levada_bytes  *bytes;
    levada_buffer *chunk;
    int64_t        at, filled; /* the window is chunk->data[at, filled) */
    int64_t        offset;     /* of its first byte in the decompressed file */
    bool           ended;      /* nothing follows after it */
    int64_t        step;       /* bytes read at a time: LEVADA_CHUNK, less to jump about */
    int64_t        max_record;
    bool           too_long; /* the record at its beginning is longer than that, ...           */
    int64_t        length;   /* so long, or 0: not known                                       */
    bool           broken;   /* the last fill failed in the bytes of the file, not by the limit */
    int64_t        moved;    /* bytes that were copied to free space for more                  */
    int64_t        total;    /* decompressed bytes of the file, once known; else -1            */
} levada_window;

LEVADA_MUST_USE levada_status levada_window_open(levada_window *window, levada_env *env,
                                                 const char                 *path,
                                                 const levada_bytes_options *options,
                                                 int64_t max_record, levada_error *err);
/* Begins on a file that is open, which is the window's from then on. */
void levada_window_begin(levada_window *window, levada_env *env, levada_bytes *bytes,
                         int64_t max_record);
void levada_window_close(levada_window *window);
/* Makes the window read that many bytes at a time at first, for tests; at least 4, as windows grow
 * by quarters. */
void levada_window_set_step(levada_window *window, int32_t bytes);

static inline const uint8_t *levada_window_data(const levada_window *window)
{
    return window->chunk ? window->chunk->data + window->at : NULL;
}

static inline int64_t levada_window_size(const levada_window *window)
{
    return window->filled - window->at;
}

static inline void levada_window_skip(levada_window *window, int64_t used)
{
    LEVADA_ASSERT(used >= 0 && used <= levada_window_size(window));
    window->at += used;
    window->offset += used;
}

/* Reads more bytes after those that are there, or sets `ended`. `need` is how many the window must
 * hold to be useful, 0 if that is not known. EDATA_LOSS when the file has less, ERESOURCE_EXHAUSTED
 * when they are more than a record may have. After an error the window is as it was. */
LEVADA_MUST_USE levada_status levada_window_fill(levada_window *window, int64_t need,
                                                 levada_error *err);
/* Fails for a record at the beginning of the window that is longer than max_record: `length` bytes,
 * or 0 = more than the window has. */
LEVADA_MUST_USE levada_status levada_window_refuse(levada_window *window, int64_t length,
                                                   levada_error *err);
/* Fills the window like levada_window_fill, and continues after a stream whose checksum is wrong:
 * no byte is missing there. For positions that a policy accepted before. */
LEVADA_MUST_USE levada_status levada_window_refill(levada_window *window, int64_t need,
                                                   levada_error *err);
/* Moves the window to this offset, empty or with what it had from there on. */
LEVADA_MUST_USE levada_status levada_window_seek(levada_window *window, int64_t offset,
                                                 levada_error *err);
/* Makes the window the `size` bytes (at most a chunk less 64) of a plain file at this offset, or
 * fewer if the file ends: one read and no other call of the system. levada_bytes_shared. After a
 * failure it is empty. */
LEVADA_MUST_USE levada_status levada_window_read(levada_window *window, int64_t offset,
                                                 int64_t size, levada_error *err);
/* Moves to the end of the record of `length` bytes at the window's beginning. EDATA_LOSS when the
 * file ends inside it: the window then begins at the record again, and the size of a compressed
 * file is known from then on. */
LEVADA_MUST_USE levada_status levada_window_pass(levada_window *window, int64_t length,
                                                 levada_error *err);

#endif
