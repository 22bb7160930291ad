/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file reader from the inside. It consists of
 *
 *   levada_framing        how bytes become records; constant
 *   levada_file_set       names, order and sizes of the files (file_set.h)
 *   levada_record_range   the records that are read, of an index (file_range.c)
 *   levada_record_access  single records, by origin (file_reread.c)
 *   levada_frame_reader   the frames of the file whose turn it is (file_reader.c)
 *
 * and of where it is (file_position.c) and what it lost (file_damage.c).
 */
#ifndef LEVADA_FILES_FILE_READER_PRIV_H
#define LEVADA_FILES_FILE_READER_PRIV_H

#include "files/file_reader.h"
#include "files/file_set.h"
#include "files/index.h"
#include "files/window.h"
#include "skip/rejects.h"

/* How bytes of the files become records. Constant. */
typedef struct levada_framing {
    const levada_context    *context;
    const levada_op         *op;
    const void              *args;
    const levada_file_args  *options;
    const levada_format_def *format;
    levada_spec             *spec;
    int32_t                  ncolumns;
} levada_framing;

/* Records framed ahead in the window, handed out a block at a time. */
typedef struct levada_framed {
    levada_buffer *index;       /* of the arrays that follow                                   */
    int32_t       *begin, *end; /* column after column, `stride` entries each                  */
    int32_t       *frame;       /* where frames begin; formats with one length of headers: begin */
    int32_t        stride;
    int32_t        n, next;
    int64_t        used; /* bytes of the window */
} levada_framed;

typedef struct levada_read_ahead levada_read_ahead; /* read_ahead.h */
typedef struct levada_files_ahead levada_files_ahead; /* files_ahead.h */

/* Another order of records than that of the files (file_shuffled.c). */
typedef struct levada_shuffled levada_shuffled;

/* Keys in place of records (file_keys.c). */
typedef struct levada_file_keys levada_file_keys;

/* Where a range of records begins or ends. */
typedef struct levada_file_place {
    int64_t turn, record, offset;
} levada_file_place;

/* The records that are read, with the option `index` (file_range.c). */
typedef struct levada_record_range {
    levada_index     *index;       /* NULL = none                    */
    int64_t           first, end;  /* numbers of the records         */
    levada_file_place begin, stop; /* the same as places in files; without an index, of all files */
} levada_record_range;

/* A file that stays open between blocks of single records; of file number `shard`. */
#define LEVADA_FILES_KEPT 16
typedef struct levada_kept {
    levada_window window; /* closed = none */
    int32_t       shard;
} levada_kept;

/* Single records, in any order (file_reread.c). */
typedef struct levada_record_access {
    levada_kept kept[LEVADA_FILES_KEPT];
} levada_record_access;

/* The frames of the file whose turn it is. */
typedef struct levada_frame_reader {
    void              *state; /* of the format */
    levada_window      window;
    levada_framed      framed;
    bool               open;
    bool               noted;      /* something odd about this file is reported                */
    int64_t            entered;    /* as `resumed` of the position, when the file was entered  */
    int64_t            checked;    /* bytes of records that the format looked at, of all files */
    int32_t            step;       /* of the window, for tests; 0 = as usual                   */
    levada_read_ahead *ahead;      /* NULL = nobody reads ahead                                */
    levada_files_ahead *files_ahead; /* the same, of the next files                            */
    int64_t            ahead_from; /* of this file: before it the owner reads alone            */
} levada_frame_reader;

/* The next record. */
typedef struct levada_reader_position {
    int32_t pass;
    int64_t epoch;
    int64_t turn;    /* of the file that is open, or is opened next                   */
    int64_t record;  /* its number in the file; in all of the range if it is shuffled */
    int64_t start;   /* offset where the file is entered                              */
    int64_t resumed; /* offset of the last wrong checksum of a stream that was counted */
} levada_reader_position;

/* The last failure. */
typedef struct levada_reader_failure {
    bool    stream;    /* of the bytes of the file, not of a record                             */
    bool    too_long;  /* a record beyond the limit                                             */
    bool    behind;    /* of that: the window begins after it already                           */
    int64_t bad_bytes; /* length of a bad record whose header is good, else 0                   */
    int64_t wasted;    /* bytes of this file that were checked in vain, less those passed since */
} levada_reader_failure;

/* For budgets in percent. */
typedef struct levada_reader_losses {
    levada_skip_progress progress; /* good records that were read, and bad ones */
    int64_t good, good_before;   /* bytes of good records, frames included; where the pass began */
    int64_t early, early_before; /* bytes that were lost before the first good record            */
} levada_reader_losses;

/* For any thread. */
typedef struct levada_reader_progress {
    atomic_llong records, bytes, done, finished;
} levada_reader_progress;

/* The owner of a reader that works alone. */
typedef struct levada_reader_alone {
    levada_file_marks  marks;
    levada_skip_counts counts;
    levada_skip_place  place;
} levada_reader_alone;

struct levada_file_reader {
    levada_framing      framing;
    levada_file_set     set;
    levada_record_range range;
    levada_shuffled    *shuffled; /* NULL = records in the order of the files            */
    levada_file_keys   *keys;     /* NULL = it emits records                             */
    levada_record_access   access;
    levada_frame_reader    frames;
    levada_reader_position at;
    levada_reader_failure  failure;
    levada_reader_losses   losses;
    levada_reader_progress counts;
    levada_file_owner   owner;
    levada_reader_alone alone;
    int32_t             source;
    levada_policy       policy;
    int32_t             limit;   /* rows of a block; never 0                                      */
    const atomic_int   *hurried; /* once set, no pipe is waited for; NULL = never               */
    bool                walks;   /* the reader passes over damage: the position may be beyond it  */
    levada_rejects      rejects; /* to be returned before anything else, from `passed` on         */
    int32_t             passed;
};

/* -- another order of records (file_shuffled.c) */
void levada_shuffled_destroy(levada_shuffled **shuffled);
/* Draws the order of another pass or epoch. */
void levada_shuffled_arrange(levada_file_reader *reader);
/* Returns the next block in that order. *out stays NULL where there are rejects instead, or where
 * it has to be called again. */
LEVADA_MUST_USE levada_status levada_shuffled_next(levada_file_reader *reader, levada_block **out,
                                                   levada_error *err);

/* -- keys in place of records (file_keys.c) */
void levada_file_keys_destroy(levada_file_keys **keys);
const levada_spec *levada_file_keys_spec(const levada_file_keys *keys);
/* Emits keys, in place of levada_file_reader_next. */
LEVADA_MUST_USE levada_status levada_file_keys_next(levada_file_reader *reader, levada_block **out,
                                                    levada_error *err);
LEVADA_MUST_USE levada_status levada_file_keys_reread(levada_file_reader  *reader,
                                                      const levada_origin *origins, int64_t n,
                                                      levada_block **out, levada_error *err);

/* -- parts, ranges and orders of records (file_range.c, file_shuffled.c) */
/* Finds the files of the reader and, with an index, where its records begin and end. */
LEVADA_MUST_USE levada_status levada_file_reader_find(levada_file_reader *reader,
                                                      levada_error       *err);
/* Returns true if the next record, which begins at the position, is beyond the last one to be read.
 */
bool levada_file_reader_finished(const levada_file_reader *reader);
/* Leaves those of the framed records that lie before the end of the range. */
void levada_file_reader_clip(levada_file_reader *reader);
/* Reads records by shard and number, like levada_file_reader_read for the first time. Fills in
 * their offsets, and the lengths of their frames: after a failure 0 where they are not known.
 * Neighbors are read together. Files stay open until the reader forgets them. */
LEVADA_MUST_USE levada_status levada_file_reader_fetch(levada_file_reader *reader,
                                                       levada_origin *sorted, int64_t *lengths,
                                                       int64_t n, levada_block **out,
                                                       levada_error *err);
/* Returns the origin of one of the records that are read, from 0 on in the order of the files,
 * without its offset. */
levada_origin levada_file_reader_origin_at(const levada_file_reader *reader, int64_t place);
/* Returns EFAILED_PRECONDITION if the index has no such record. */
LEVADA_MUST_USE levada_status levada_file_reader_check_record(const levada_file_reader *reader,
                                                              const levada_origin *of,
                                                              levada_error *err);
/* Returns which of the records that are read, from 0 on, is the i-th of this pass. */
int64_t levada_file_reader_place(const levada_file_reader *reader, int64_t i);

/* Closes the files that fetch keeps open, so that each is opened and recognized again. */
void levada_file_reader_forget(levada_file_reader *reader);

/* -- framing (file_framing.c) */
/* Reserves n records in arrays that nobody else has. */
LEVADA_MUST_USE levada_status levada_framed_reserve(levada_framed        *framed,
                                                    const levada_framing *framing, int32_t n,
                                                    levada_error *err);
/* Makes the format's state, opened; freed with levada_framing_free_state. */
LEVADA_MUST_USE levada_status levada_framing_make_state(const levada_framing *framing, void **out,
                                                        levada_error *err);
void levada_framing_free_state(const levada_framing *framing, void **state);
/* Lets the format begin to frame at this offset of a file of that size, -1 = any. */
LEVADA_MUST_USE levada_status levada_framing_enter(const levada_framing *framing, void *state,
                                                   int64_t offset, int64_t size,
                                                   levada_error *err);
/* Frames records of these bytes with next() of the format. */
LEVADA_MUST_USE levada_status levada_framing_next(const levada_framing *framing, void *state,
                                                  const uint8_t *data, int64_t size, bool at_end,
                                                  levada_spans *out, levada_error *err);

levada_bytes_options levada_file_reader_bytes(const levada_file_reader *reader);
/* Returns ECANCELLED if the owner is cancelled. */
LEVADA_MUST_USE levada_status levada_file_reader_check_cancelled(const levada_file_reader *reader,
                                                                 levada_error             *err);
/* -- what can be passed over (file_damage.c) */
/* Returns LEVADA_OK if the policy skips, and the reader has passed it. Else st, and *err as it was.
 */
LEVADA_MUST_USE levada_status levada_file_reader_judge(levada_file_reader *reader,
                                                       levada_status st, levada_error *err);
/* Returns END at the end of all files, or OK with a reject if bytes were lost before the first good
 * record and a budget in percent has to count them. */
LEVADA_MUST_USE levada_status levada_file_reader_end(levada_file_reader *reader, levada_error *err);
/* Adds one more reject. A file without a record is not numbered. */
LEVADA_MUST_USE levada_status levada_file_reader_reject(levada_file_reader *reader,
                                                        const levada_error *why,
                                                        const levada_loss *loss, levada_error *err);
void levada_file_reader_count_records(levada_file_reader *reader, int64_t n);
/* Ends the file whose turn it is. */
LEVADA_MUST_USE levada_status levada_file_reader_next_file(levada_file_reader *reader,
                                                           levada_error       *err);
/* Leaves the file that is open, if one is; the position stays. */
void levada_file_reader_leave(levada_file_reader *reader);
/* Notes that a file was opened. EFAILED_PRECONDITION if it is `again`, because the position lies in
 * its midst, and it was another file before; or if its index belongs to another one. */
LEVADA_MUST_USE levada_status levada_file_reader_mark(levada_file_reader *reader, int32_t shard,
                                                      const levada_bytes *file, bool again,
                                                      levada_error *err);

#endif
