/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Readers take file names from a queue and return (key, value) records, as in TensorFlow 1.x.
 *
 * A reader dequeues a name, reads that file to its end and dequeues the next name; it skips files
 * without records. It ends with the queue's EOUT_OF_RANGE. The queue has one component, a byte
 * string: a name, never a pattern. Each call borrows the queue and waits in it for a name, up to
 * the timeout of the call; levada_queue_cancel ends that wait. Keys:
 *
 *     TFRECORD       "file:offset" position of the record in the decompressed file
 *     TEXT_LINE      "file:line"     from 1; header lines count
 *     FIXED_LENGTH   "file:number"   from 0
 *     WHOLE_FILE     the file name; the value is the content of the file
 *     IDENTITY       the name, which is also the value; no file is opened
 *
 * The owner destroys a reader; any thread may call every other function. One call reads at a time;
 * other calls wait for their turn, in order, up to their timeout. reset and the functions for
 * states wait without limit; the counters never wait. The calling thread reads the files.
 *
 * Errors. ENOT_FOUND, EPERMISSION_DENIED, EINVALID_ARGUMENT and EUNIMPLEMENTED mean that the file
 * cannot be opened (it does not exist, is not readable, is a directory, or has a zero byte in its
 * name; names of TFRECORD, TEXT_LINE and FIXED_LENGTH must be UTF-8); the next call continues with
 * the next name. A call returns any other error of a file, such as EDATA_LOSS, after the records
 * before it, and again until reset. ERESOURCE_EXHAUSTED means out of memory; the next call retries
 * if possible.
 *
 * Example:
 *
 *     levada_reader_options options = LEVADA_READER_OPTIONS_INIT;
 *     levada_queue_options  names = LEVADA_QUEUE_OPTIONS_INIT;
 *     levada_queue         *queue = NULL;
 *     levada_reader        *reader = NULL;
 *     levada_tensor        *name = NULL;
 *     levada_block         *records = NULL;
 *
 *     LEVADA_TRY(levada_sample_write(NULL, ".", err)); // speeches.txt, ...
 *     names.ncomponents = 1;
 *     names.dtypes = (levada_dtype[]){LEVADA_BYTES};
 *     LEVADA_TRY(levada_queue_create(NULL, &names, &queue, err));
 *     LEVADA_TRY(levada_tensor_create_strings(NULL, &(levada_shape){0, {0}}, (int32_t[]){0, 12},
 *                                             "speeches.txt", &name, err));
 *     LEVADA_TRY(levada_queue_enqueue(queue, &name, 0, err));
 *     options.kind = LEVADA_READER_TEXT_LINE;
 *     LEVADA_TRY(levada_reader_create(NULL, &options, &reader, err));
 *     LEVADA_TRY(levada_reader_read_up_to(reader, queue, 10, LEVADA_FOREVER, &records, err));
 *     levada_block_unref(&records);
 *     levada_reader_destroy(&reader);
 *     levada_tensor_unref(&name);
 *     levada_queue_unref(&queue);
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
    const char        *name;        /* name for errors; NULL = "TFRecordReader" and similar */
    const char        *compression; /* "auto" (by content), "none", "gzip", "zlib", "zstd"; NULL =
                                     * auto for TFRECORD and TEXT_LINE, else none               */
    int64_t skip_header_lines; /* TEXT_LINE: skipped at the start of each file */
    int64_t record_bytes;      /* FIXED_LENGTH, as are the next three          */
    int64_t header_bytes;      /* skipped at the start of each file            */
    int64_t footer_bytes;      /* skipped at the end of each file              */
    int64_t hop_bytes;         /* bytes from the start of a record to the start of the next
                                * record; 0 = record_bytes */
} levada_reader_options;

#define LEVADA_READER_OPTIONS_INIT                                                             \
    {                                                                                          \
        sizeof(levada_reader_options), LEVADA_READER_TFRECORD, NULL, NULL, 0, 0, 0, 0, 0       \
    }
/* Sets *all to its defaults, for languages without macros; size is
 * sizeof(levada_reader_options). */
LEVADA_API void levada_reader_options_init(levada_reader_options *all, size_t size);

/* Creates a reader; copies the options. Returns EINVALID_ARGUMENT with the name of an invalid
 * option. */
LEVADA_API LEVADA_MUST_USE levada_status levada_reader_create(levada_env                  *env,
                                                              const levada_reader_options *options,
                                                              levada_reader              **out,
                                                              levada_error                *err);
/* Frees the reader and closes its file. No other call may be running. Accepts NULL. */
LEVADA_API void levada_reader_destroy(levada_reader **reader);

/* Returns the next record: two scalars of byte strings, which the caller owns. `timeout` limits the
 * wait for the turn and for names together, as in the calls of a queue; after it the call returns
 * EDEADLINE_EXCEEDED, and nothing is lost. With LEVADA_AT_ONCE it opens no file, and returns AGAIN
 * unless the record is in memory. */
LEVADA_API LEVADA_MUST_USE levada_status levada_reader_read(levada_reader  *reader,
                                                            levada_queue   *queue, int64_t timeout,
                                                            levada_tensor **key,
                                                            levada_tensor **value,
                                                            levada_error   *err);
/* Returns the next 1 to n records as a block with the byte strings "key" and "value", which the
 * caller owns. It returns fewer than n at the end of a file, before an error (which the next call
 * returns), and if they would exceed the limit of a block (1 GiB). Values may be views of the bytes
 * that were read. */
LEVADA_API LEVADA_MUST_USE levada_status levada_reader_read_up_to(levada_reader *reader,
                                                                  levada_queue *queue, int64_t n,
                                                                  int64_t        timeout,
                                                                  levada_block **out,
                                                                  levada_error  *err);

/* A function that replaces the queue of names. It returns a name in *name, a scalar of one byte
 * string, which the reader then owns. The call that reads returns every other status of it;
 * EOUT_OF_RANGE is the end. It runs on the thread of that call during its turn, so it must not read
 * from the same reader. `timeout` is the rest of the call's timeout. */
typedef levada_status (*levada_reader_names)(void *user, int64_t timeout, levada_tensor **name,
                                             levada_error *err);
/* Reads the next record, and takes names of files from a function instead of a queue. */
LEVADA_API LEVADA_MUST_USE levada_status
levada_reader_read_from(levada_reader *reader, levada_reader_names names, void *user,
                        int64_t timeout, levada_tensor **key, levada_tensor **value,
                        levada_error *err);
/* Reads up to n records, and takes names of files from a function instead of a queue. */
LEVADA_API LEVADA_MUST_USE levada_status
levada_reader_read_up_to_from(levada_reader *reader, levada_reader_names names, void *user,
                              int64_t n, int64_t timeout, levada_block **out, levada_error *err);

/* Return the number of records returned, and of files read to their end, since the beginning or
 * reset. A file counts when a call finds its end: with the record for WHOLE_FILE and IDENTITY, else
 * at the next record. */
LEVADA_API int64_t levada_reader_num_records_produced(levada_reader *reader);
LEVADA_API int64_t levada_reader_num_work_units_completed(levada_reader *reader);
/* Zeroes the counters and forgets the current file and its error; the queue stays as it is. */
LEVADA_API void levada_reader_reset(levada_reader *reader);
/* Like levada_reader_reset, but waits no longer than the timeout for its turn. */
LEVADA_API LEVADA_MUST_USE levada_status levada_reader_try_reset(levada_reader *reader,
                                                                 int64_t        timeout,
                                                                 levada_error  *err);

/* Returns the counters and the name of an IDENTITY reader as bytes, the message ReaderBaseState of
 * TensorFlow; free them with levada_string_free. Other kinds return EUNIMPLEMENTED. */
LEVADA_API LEVADA_MUST_USE levada_status levada_reader_serialize_state(levada_reader *reader,
                                                                       char         **out,
                                                                       size_t        *size,
                                                                       levada_error  *err);
/* Resumes at the saved state. If the bytes are not a state, returns EINVALID_ARGUMENT and does not
 * change the reader. */
LEVADA_API LEVADA_MUST_USE levada_status levada_reader_restore_state(levada_reader *reader,
                                                                     const void *bytes, size_t size,
                                                                     levada_error *err);

#ifdef __cplusplus
}
#endif

#endif
