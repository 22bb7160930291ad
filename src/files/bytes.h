/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes of one file, decompressed.
 *
 * A byte stream reads a file through its opener (opener.h) and passes the bytes through the filter
 * that the first of them ask for. With an encoding, the text is transcoded to UTF-8 after that.
 * Offsets count decompressed bytes, of UTF-8. A file that shrinks meanwhile is an error. The size
 * of a pipe is -1 (pipes.h). Damage is reported after every good byte before it, and again by later
 * reads. A failure of the system is never EDATA_LOSS: EUNAVAILABLE where no other code fits. After
 * ECANCELLED the same call may be made again. One owner, one thread; levada_bytes_done may be
 * called from any thread. A thread that prepares a file for its owner
 * (files_ahead.h) leaves the bytes that it has read in a stock, from which reads take them first.
 */
#ifndef LEVADA_FILES_BYTES_H
#define LEVADA_FILES_BYTES_H

#include <levada/env.h>

#include <stdatomic.h>

typedef struct levada_bytes levada_bytes;

typedef struct levada_bytes_options {
    /* NULL or "auto": by content, and by name where the content is neither compressed nor of the
     * format; "none" or "": plain; else the name of a filter, in any case. */
    const char *compression;
    /* Verified bits of the format that is expected; more than the best filter has = plain. */
    int32_t (*probe)(const uint8_t *data, int64_t size);
    /* Of the decompressed text, which is read as UTF-8 (base/transcode.h); NULL = UTF-8. */
    const char *encoding;
    const atomic_bool *cancelled; /* as in opener.h; NULL = never */
    const atomic_int *const *hurried; /* as in opener.h; NULL = never */
    struct levada_meter *meter;       /* counts requests of remote files; or NULL */
} levada_bytes_options;

/* How a file is known again: its size, the CRC-32C of its first 4 KiB before decompression, and
 * that of the opener's version tag (0 without one). Indexes compare the content only, because an
 * index may be made of a local copy. */
typedef struct levada_bytes_mark {
    int64_t  size;
    uint32_t head, tag;
} levada_bytes_mark;

/* Opens a file. ENOT_FOUND, EPERMISSION_DENIED, EINVALID_ARGUMENT (a directory, a device). Errors
 * name the file. */
LEVADA_MUST_USE levada_status levada_bytes_open(levada_env *env, const char *path,
                                                const levada_bytes_options *options,
                                                levada_bytes **out, levada_error *err);
void levada_bytes_close(levada_bytes **bytes);

/* Fills [data, data + size) as far as the file goes; *made < size only at the end or before damage,
 * *made = 0 only at the end. */
LEVADA_MUST_USE levada_status levada_bytes_read(levada_bytes *bytes, void *data, int64_t size,
                                                int64_t *made, levada_error *err);
/* Reads at least `least` of the bytes, and fewer than `size` if the writer of a pipe is silent. */
LEVADA_MUST_USE levada_status levada_bytes_read_least(levada_bytes *bytes, void *data, int64_t size,
                                                      int64_t least, int64_t *made,
                                                      levada_error *err);
/* Continues reading at this offset. Reads a compressed file or a pipe up to it, from its beginning
 * if it has been passed. Beyond the end: EOUT_OF_RANGE. */
LEVADA_MUST_USE levada_status levada_bytes_seek(levada_bytes *bytes, int64_t offset,
                                                levada_error *err);

/* Returns true if any thread may read the bytes of a plain file, concurrently with its owner.
 * levada_bytes_read_at is such a read; *made < size only if the file ends. */
bool levada_bytes_shared(const levada_bytes *bytes);
LEVADA_MUST_USE levada_status levada_bytes_read_at(const levada_bytes *bytes, int64_t offset,
                                                   void *data, int64_t size, int64_t *made,
                                                   levada_error *err);
/* Tells that these bytes will be read soon: those of a remote file are requested. */
void levada_bytes_expect(const levada_bytes *bytes, int64_t offset, int64_t size);
/* Continues reading of a plain file at this offset, wherever the file may end by now. If `why` is
 * not clear, a read_at failed at `why_at`, and later reads fail there, too. No thread is in
 * read_at. */
void levada_bytes_move(levada_bytes *bytes, int64_t offset, const levada_error *why,
                       int64_t why_at);

/* Reads up to `size` bytes after those that are in stock already, into it. False if nothing is left
 * to be stocked: the file has ended or failed, which the read that comes to it reports, or memory
 * was short. */
bool    levada_bytes_stock(levada_bytes *bytes, int64_t size);
int64_t levada_bytes_stocked(const levada_bytes *bytes);
/* Takes the next piece of the stock as it is: buffer->data[LEVADA_BYTES_LEAD, *end), and what is
 * before it may be written to. NULL if reads have begun with it, or nothing is in stock. */
#define LEVADA_BYTES_LEAD (INT64_C(32) << 10)
levada_buffer *levada_bytes_take(levada_bytes *bytes, int64_t *end);

int64_t levada_bytes_offset(const levada_bytes *bytes);
/* Returns true after EDATA_LOSS if only the checksum of a complete stream was wrong. Then no byte
 * is missing, and reading continues after that stream. */
bool levada_bytes_resume(levada_bytes *bytes);
/* Returns true if the file is read as it is, without a filter, in UTF-8 or as bytes. */
bool levada_bytes_plain(const levada_bytes *bytes);
/* Returns true if reading may continue at any offset: of a file as it is, and no pipe. */
bool levada_bytes_seekable(const levada_bytes *bytes);
/* Returns the number of bytes from the offset to the end of the file, as far as known; -1 if the
 * file is not seekable. Calls the system. */
int64_t           levada_bytes_left(const levada_bytes *bytes);
levada_bytes_mark levada_bytes_mark_of(const levada_bytes *bytes);
/* Returns the number of bytes read so far of the file as it is on disk. */
int64_t levada_bytes_done(const levada_bytes *bytes);
/* Returns the number of compressed bytes that were copied to free space for more: a count of work.
 */
int64_t levada_bytes_moved(const levada_bytes *bytes);
/* Returns true if the file was written to since it was opened, as far as its opener can tell. */
bool levada_bytes_changed(const levada_bytes *bytes);
/* Returns "gzip" or another name, or "" for a plain file. */
const char *levada_bytes_compression(const levada_bytes *bytes);

/* Reads the mark of a file without keeping the file open. */
LEVADA_MUST_USE levada_status levada_bytes_mark_file(const levada_env *env, const char *path,
                                                     levada_bytes_mark *out, levada_error *err);

#endif
