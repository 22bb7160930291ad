/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Readers: file names from a queue in, (key, value) records out, as in TensorFlow 1.x.
 *
 * A reader takes a name from the queue when it has none, reads that file to its end and takes the
 * next one; files without records are skipped. The end is the queue's EOUT_OF_RANGE. The queue
 * has one component, byte strings. Each is one name, never a pattern. It is passed to
 * each call and still belongs to the caller; a call waits in it for a name, with the timeout of the
 * call, and levada_queue_cancel ends that wait. Keys:
 *
 *     TFRECORD       "file:offset"   of the record in the decompressed file
 *     TEXT_LINE      "file:line"     from 1; header lines count
 *     FIXED_LENGTH   "file:number"   from 0
 *     WHOLE_FILE     the name; the value is the content of the file
 *     IDENTITY       the name, which is the value too; no file is opened
 *
 * A reader has one owner, who destroys it; every other function may be called from any thread. One
 * call reads at a time: others wait for their turn, in the order of their calls, up to their
 * timeout. reset and the functions for states wait without limit; the counters never
 * wait. The calling thread reads the files.
 *
 * Errors. ENOT_FOUND, EPERMISSION_DENIED, EINVALID_ARGUMENT, EUNIMPLEMENTED: the file cannot be
 * opened (it does not exist, is not readable, is a folder, has a zero byte in its name; names of
 * TFRECORD, TEXT_LINE and FIXED_LENGTH must be UTF-8), and the next call continues with the name
 * after it. Any other error of a file, such as EDATA_LOSS, is returned after the records before
 * it, and again at each call until reset. ERESOURCE_EXHAUSTED where memory is short: the next call
 * tries again if possible.
 */
#ifndef LEVADA_READER_H
#define LEVADA_READER_H

#include <levada/block.h>
#include <levada/queue.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct levada_reader levada_reader;

typedef enum levada_reader_kind {
    LEVADA_READER_TFRECORD,
    LEVADA_READER_TEXT_LINE,
    LEVADA_READER_FIXED_LENGTH,
    LEVADA_READER_WHOLE_FILE,
    LEVADA_READER_IDENTITY
} levada_reader_kind;

typedef struct levada_reader_options {
    size_t             struct_size;
    levada_reader_kind kind;
    const char        *name;        /* for errors; NULL = "TFRecordReader" and the like         */
    const char        *compression; /* "auto" (by content), "none", "gzip", "zlib", "zstd"; NULL =
                                     * auto for TFRECORD and TEXT_LINE, else none               */
    int64_t skip_header_lines; /* TEXT_LINE: skipped at the start of each file                  */
    int64_t record_bytes;      /* FIXED_LENGTH, and all below                                   */
    int64_t header_bytes;      /* skipped at the start of each file                             */
    int64_t footer_bytes;      /* and at its end                                                */
    int64_t hop_bytes;         /* from the start of a record to that of the next; 0 =
                                * record_bytes                                                  */
} levada_reader_options;

#define LEVADA_READER_OPTIONS_INIT                                                             \
    {                                                                                          \
        sizeof(levada_reader_options), LEVADA_READER_TFRECORD, NULL, NULL, 0, 0, 0, 0, 0       \
    }
/* The same for languages without macros; size is sizeof(levada_reader_options). */
LEVADA_API void levada_reader_options_init(levada_reader_options *all, size_t size);

/* Copies the options. EINVALID_ARGUMENT names the one that is wrong. */
LEVADA_API LEVADA_MUST_USE levada_status levada_reader_create(levada_env                  *env,
                                                              const levada_reader_options *options,
                                                              levada_reader              **out,
                                                              levada_error                *err);
/* Also where a file is open. Nobody may be in a call. Accepts NULL. */
LEVADA_API void levada_reader_destroy(levada_reader **reader);

/* The next record: two scalars of byte strings, the caller's. `timeout` as in the calls of a queue,
 * for the turn and for names together; past it EDEADLINE_EXCEEDED, with nothing lost. With
 * LEVADA_AT_ONCE a call returns AGAIN unless its records are in memory: it opens no file. */
LEVADA_API LEVADA_MUST_USE levada_status levada_reader_read(levada_reader  *reader,
                                                            levada_queue   *queue, int64_t timeout,
                                                            levada_tensor **key,
                                                            levada_tensor **value,
                                                            levada_error   *err);
/* The next 1 to n records as a block with the byte strings "key" and "value", the caller's. Fewer
 * than n at the end of a file, before an error (which the next call returns), and if they would
 * exceed the limit of a block (1 GiB). Values may be views of the bytes that were read. */
LEVADA_API LEVADA_MUST_USE levada_status levada_reader_read_up_to(levada_reader *reader,
                                                                  levada_queue *queue, int64_t n,
                                                                  int64_t        timeout,
                                                                  levada_block **out,
                                                                  levada_error  *err);

/* Names from a function in place of a queue. It returns one name in *name: a scalar of one byte
 * string, the reader's from then on. Its other statuses are those of the call that reads:
 * EOUT_OF_RANGE is the end. It runs on the thread of that call, which has its turn meanwhile, so it
 * must not read from the same reader. `timeout` is the rest of the call's timeout. */
typedef levada_status (*levada_reader_names)(void *user, int64_t timeout, levada_tensor **name,
                                             levada_error *err);
LEVADA_API LEVADA_MUST_USE levada_status
levada_reader_read_from(levada_reader *reader, levada_reader_names names, void *user,
                        int64_t timeout, levada_tensor **key, levada_tensor **value,
                        levada_error *err);
LEVADA_API LEVADA_MUST_USE levada_status
levada_reader_read_up_to_from(levada_reader *reader, levada_reader_names names, void *user,
                              int64_t n, int64_t timeout, levada_block **out, levada_error *err);

/* Records handed out, and files read to their end, since the beginning or reset. A file counts when
 * a call has found its end: that of WHOLE_FILE and IDENTITY with the record, of others at the next
 * record. */
LEVADA_API int64_t levada_reader_num_records_produced(levada_reader *reader);
LEVADA_API int64_t levada_reader_num_work_units_completed(levada_reader *reader);
/* Zeroes the counters and forgets the current file and its error; the queue stays as it is. */
LEVADA_API void levada_reader_reset(levada_reader *reader);
/* The same, but waits no longer than the timeout for its turn. */
LEVADA_API LEVADA_MUST_USE levada_status levada_reader_try_reset(levada_reader *reader,
                                                                 int64_t        timeout,
                                                                 levada_error  *err);

/* Counters and name of an IDENTITY reader as bytes, the message ReaderBaseState of TensorFlow; free
 * them with levada_string_free. Other kinds: EUNIMPLEMENTED. */
LEVADA_API LEVADA_MUST_USE levada_status levada_reader_serialize_state(levada_reader *reader,
                                                                       char         **out,
                                                                       size_t        *size,
                                                                       levada_error  *err);
/* Resumes at the saved state. EINVALID_ARGUMENT: these bytes are not a state, and the reader is
 * as it was. */
LEVADA_API LEVADA_MUST_USE levada_status levada_reader_restore_state(levada_reader *reader,
                                                                     const void *bytes, size_t size,
                                                                     levada_error *err);

#ifdef __cplusplus
}
#endif

#endif
