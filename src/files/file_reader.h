/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Framing: the one file reader, which drives a format over a set of files. The last of the three
 * parts of this folder (opener.h lists them).
 *
 * A format knows where records begin and end in a window of bytes, and nothing else: no file, no
 * buffer, no policy (include/levada/source.h says what it must do). The reader does the rest. It
 * opens the files of the set in order through their openers, decompresses (bytes.h), keeps a window
 * of bytes in a pooled chunk (window.h), asks the format to frame the next records in it, and turns
 * the frames into blocks.
 *
 *   file_reader.c    one file after the other: open, frame, blocks
 *   file_damage.c    what a policy may skip, and how to find the next record after damage
 *   file_position.c  rewind, save, restore
 *   file_set.c       names, order and sizes of the files
 *   file_reread.c    single records by their origins
 *
 * It returns blocks of at most context->block_rows records with one BYTES column, called as the
 * format says. The column shares the pooled chunk that the file was read into: nothing is copied
 * but a record that crosses the border of a chunk. Origins are a run; offset is the byte position
 * of a record's frame in the decompressed file.
 *
 * Damage is EDATA_LOSS with file, record and offset, and is repeated. With a policy that skips, the
 * reader continues at the next valid record of the file, or with the next file, and returns the
 * damage as a reject of a block without rows (skip/skips.h). It treats a record that exceeds the
 * limit and a missing file in the same way. A file without a record is a reject that costs nothing:
 * it appears in the statistics.
 *
 * One owner, one thread at a time; progress and counts may be asked for from any thread.
 */
#ifndef LEVADA_FILES_FILE_READER_H
#define LEVADA_FILES_FILE_READER_H

#include "description/policy.h"
#include "files/file_marks.h"
#include "registry/registry.h"
#include "skip/skips.h"
#include "state/file_names.h"
#include <levada/inspect.h>

typedef struct levada_file_reader levada_file_reader;

typedef struct levada_file_reader_counts {
    int64_t skipped_records; /* places of damage: a lost length hides how many records it cost */
    int64_t damaged_bytes;
    int64_t records; /* good ones given                                              */
    int64_t bytes;   /* decompressed, of the files that were read to their end       */
    int64_t missing; /* files that were not there, and passed over                   */
    int64_t empty;   /* files that were read to their end and held no record         */
} levada_file_reader_counts;

/* What the run that a reader works for lends it, for its life. */
typedef struct levada_file_owner {
    const levada_skip_place *place; /* where its rejects count                                  */
    levada_file_names       *names; /* where its files are entered; NULL = the run lists it     */
    levada_file_marks       *marks; /* of the files that it opens ...                           */
    levada_mutex            *lock;  /* ... and what guards them; NULL where only it knows them  */
    const void              *key;   /* its files are known by this and their number; NULL = path */
    const atomic_bool       *cancelled; /* NULL = it cannot be cancelled                        */
    struct levada_meter     *meter;     /* counts requests; NULL = nobody counts                */
    int32_t threads; /* that may call levada_file_reader_ahead, with the owner's; 0 = none       */
} levada_file_owner;

/* Finds the files, opens none. `context`, `op` and `args` are borrowed for its life. `owner` is
 * copied; NULL: the reader works alone. */
LEVADA_MUST_USE levada_status levada_file_reader_create(const levada_context *context,
                                                        const levada_op *op, const void *args,
                                                        int32_t source,
                                                        const levada_file_owner *owner,
                                                        levada_file_reader     **out,
                                                        levada_error *err);
/* Opens a reader of the files of a dataset that is a source, to look at them apart from any run.
 * Fills *context, which must live as long as the reader. */
LEVADA_MUST_USE levada_status levada_file_reader_look(const levada_dataset *source,
                                                      levada_context *context,
                                                      levada_file_reader **out, levada_error *err);
void levada_file_reader_destroy(levada_file_reader **reader);

/* Prepares for the option shuffle_records, where it is set; before the first record. */
LEVADA_MUST_USE levada_status levada_file_reader_shuffle(levada_file_reader *reader,
                                                         levada_error       *err);

/* Sets *found if its index has the lengths of these fields (levada_index_select); false without an
 * index. */
LEVADA_MUST_USE levada_status levada_file_reader_select(levada_file_reader *reader,
                                                        const char *const *fields, int32_t n,
                                                        const uint8_t stages[16],
                                                        const uint8_t plain[16], bool *found,
                                                        levada_error *err);
/* Makes the reader emit keys (tensor/keys.h) in place of records, with the lengths of these fields,
 * which were found last. Their origins have no offset. Reads nothing of the files but what
 * recognizes them. Before the first record; with an index only. */
LEVADA_MUST_USE levada_status levada_file_reader_emit_keys(levada_file_reader *reader,
                                                           const char *const *fields, int32_t n,
                                                           levada_error *err);

/* Sets the policy of the iterator; it counts only if the option `errors` is not given. */
LEVADA_MUST_USE levada_status levada_file_reader_policy(levada_file_reader *reader,
                                                        const char *errors, levada_error *err);

/* Reads the next block. END after the last file and on each later call. Blocks may have rejects,
 * and no rows then; a reader that works alone counts them itself and ends with the error when the
 * budget ends. */
LEVADA_MUST_USE levada_status levada_file_reader_next(levada_file_reader *reader,
                                                      levada_block **out, levada_error *err);

/* Limits the blocks that follow to `rows` rows, and to context->block_rows. */
void levada_file_reader_limit(levada_file_reader *reader, int64_t rows);
/* Makes levada_file_reader_next answer AGAIN, once *hurried is set, in place of waiting for the
 * writer of a pipe. Borrowed; NULL = it waits. */
void levada_file_reader_hurry(levada_file_reader *reader, const atomic_int *hurried);

/* Ends a pass (levada_skip_next_pass), before the rewind. */
void levada_file_reader_next_pass(levada_file_reader *reader, bool read_to_end);
/* Prepares a part of what next() needs next, concurrently with the owner; false if there is nothing
 * to do now. `work` false: only says so. Any thread, between create and destroy. */
bool levada_file_reader_ahead(levada_file_reader *reader, bool work);

/* Returns to the beginning, for the n-th pass of these files. */
void levada_file_reader_rewind(levada_file_reader *reader, int32_t pass, int64_t epoch);

/* Saves the position of the next record, and the names of the files. save_marks adds what a state
 * holds of their content: sizes of all, and marks of those that were opened so far; any thread.
 * restore checks everything first: EFAILED_PRECONDITION names a file that has changed. */
LEVADA_MUST_USE levada_status levada_file_reader_save(const levada_file_reader *reader,
                                                      levada_state_writer *to, levada_error *err);
LEVADA_MUST_USE levada_status levada_file_reader_save_marks(levada_file_reader  *reader,
                                                            levada_state_writer *to,
                                                            levada_error *err);
LEVADA_MUST_USE levada_status levada_file_reader_restore(levada_file_reader *reader,
                                                         levada_state_reader *from,
                                                         levada_error *err);

/* Reads exactly these records, sorted by (shard, record), in that order: one pass over each file
 * with handles of its own; position and counts stay. The block owns copies and keeps the origins;
 * it is a selection if the records are too large for one DATA block.
 *
 * READ_AGAIN: as they were emitted, by shard and offset; keys if the reader emits keys.
 * EFAILED_PRECONDITION if a record does not exist any more. READ_FIRST: by shard and number, with
 * an index only. Each must have the length that the index says, in the file that was indexed, and a
 * damaged record is EDATA_LOSS. */
LEVADA_MUST_USE levada_status levada_file_reader_read(levada_file_reader  *reader,
                                                      const levada_origin *sorted, int64_t n,
                                                      levada_read how, levada_block **out,
                                                      levada_error *err);

/* Lets the caller pass over damage itself; before the first record. */
void levada_file_reader_walk(levada_file_reader *reader);
/* Makes the window read `bytes` at a time at first, for tests, so that the records of a small file
 * cross as many ends of windows as those of a large one. Before the first record. */
void levada_file_reader_step(levada_file_reader *reader, int32_t bytes);
/* Returns true if the last error was a record longer than the limit. */
bool levada_file_reader_too_long(const levada_file_reader *reader);
/* Counts and passes what was found, whatever the policy says, after EDATA_LOSS or too long a
 * record. Sets *next_offset to where the next record of the same file seems to begin, or -1: there
 * is none. */
LEVADA_MUST_USE levada_status levada_file_reader_pass(levada_file_reader *reader,
                                                      int64_t *next_offset, levada_error *err);

/* Returns where the next record of the file that is open begins, in the decompressed file. */
int64_t levada_file_reader_offset(const levada_file_reader *reader);
/* Returns true if nothing of that file follows there, as far as is known. */
bool levada_file_reader_ended(const levada_file_reader *reader);
/* Sets the numbers of the records that it reads: of the first, and after the last. Returns false
 * without an index. */
bool levada_file_reader_range(const levada_file_reader *reader, int64_t *first, int64_t *end);
/* Finds the record of that number, of those that it reads, in the order of the files, for a
 * READ_FIRST that opens its file again. EOUT_OF_RANGE: the record does not exist;
 * EFAILED_PRECONDITION: the index is not the one that was opened. With an index only. */
LEVADA_MUST_USE levada_status levada_file_reader_locate(levada_file_reader *reader, int64_t number,
                                                        levada_origin *out, levada_error *err);
/* Calls levada_index_lengths of its files, all of them, after their fields were found. */
LEVADA_MUST_USE levada_status levada_file_reader_lengths(levada_file_reader  *reader,
                                                         levada_lengths_each *each, void *user,
                                                         levada_error *err);
/* Returns true if it reads all records of its files, in their order. */
bool levada_file_reader_is_whole(const levada_file_reader *reader);
/* Returns the columns of its blocks, of bytes. Borrowed for the life of the reader. */
const levada_spec *levada_file_reader_spec(const levada_file_reader *reader);
/* Returns the columns of its records, even if it emits keys. Borrowed likewise. */
const levada_spec *levada_file_reader_records(const levada_file_reader *reader);
/* Returns the path of a file, NULL beyond the last. Borrowed for the life of the reader. */
const char *levada_file_reader_file(const levada_file_reader *reader, int32_t shard);
/* Sets the stored bytes of this pass, done and in total. `total` may be NULL: finding it measures
 * the files that are not open yet. */
void levada_file_reader_progress(const levada_file_reader *reader, int64_t *done, int64_t *total);
levada_file_reader_counts levada_file_reader_counted(const levada_file_reader *reader);

#endif
