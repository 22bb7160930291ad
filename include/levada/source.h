/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sources and file formats. For authors.
 *
 * A *format* frames records in bytes: it receives windows of a file and returns where records are.
 * The one file reader in core does everything else: globs, order of files, compression, chunks,
 * damage policy, position and resume. A *source* creates blocks.
 */
#ifndef LEVADA_SOURCE_H
#define LEVADA_SOURCE_H

#include <levada/decoder.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Records in a window of bytes. The format fills it. A format with several columns writes
 * column c of record i as the bytes [begin[c * stride + i], end[c * stride + i]). */
typedef struct levada_spans {
    int32_t *begin, *end; /* the payload of record i is [begin[i], end[i])                        */
    int32_t  capacity;    /* most records wanted; the arrays hold 64 entries more                 */
    int32_t  n;           /* records found                                                        */
    int64_t  used;        /* bytes of the window that these records take, frames included         */
    int64_t  need;        /* where the window ends inside a record: bytes of the window needed to
                           * hold it, or 0 when that is not known                                 */
    int32_t *frame;       /* where the frame of record i begins; NULL without `frames`            */
    int32_t  stride;      /* entries between two columns, at least capacity + 64                  */
    bool     later;       /* payloads may be left unchecked: verify() follows                     */
    const char *note;     /* constant text: what is odd about the bytes before `used`, but no
                           * damage. The reader reports the first of a file. NULL = nothing       */
} levada_spans;

typedef struct levada_format_def {
    size_t            struct_size;
    const char       *name, *doc, *example;
    const char       *field; /* name of the BYTES column: "record", "line"                       */
    const levada_arg *args;  /* options of its own; the reader adds files, compression, ...      */
    size_t            args_size;
    size_t            state_size; /* scratch; everything that a position needs is the offset      */

    levada_status (*open)(void *state, const void *args, const levada_context *context,
                          levada_error *err);
    void (*close)(void *state);
    /* Bits of `data` that were verified to be this format; 0 = it is not. */
    int32_t (*probe)(const uint8_t *data, int64_t size);
    /* A file begins (offset 0), or reading resumes at a record that begins at offset. */
    levada_status (*seek)(void *state, const void *args, int64_t offset, levada_error *err);
    /* Frames whole records of [data, data + size), which has 64 readable bytes on both sides.
     * `at_end`: nothing follows. OK with spans filled. n may be 0: more bytes are needed, or
     * `used` bytes hold no record (a heading). The frame of the first record begins at data[0].
     * Without `frames`, all headers returned by one call must have the same length.
     * EDATA_LOSS: records before the damage are in spans, used is the position of the damage. Where
     * that is data[0] and the length of the bad record is certain, need is that length. */
    levada_status (*next)(void *state, const void *args, const uint8_t *data, int64_t size,
                          bool at_end, levada_spans *out, levada_error *err);
    /* After damage at data[0]: the position (> 0) where a valid record seems to begin, or `size`
     * less what could be the beginning of one. NULL = the format cannot tell: next file. */
    int64_t (*resync)(void *state, const void *args, const uint8_t *data, int64_t size,
                      bool at_end);
    /* The record at data[0] of the next next() exceeds max_record_bytes, and its length is not
     * known: next() skips it and uses up the window. NULL = not possible: next file. */
    void (*leave_out)(void *state, const void *args);
    /* Is this a valid size for an intact file? Otherwise an error that says why, and where (with
     * levada_error_place). Asked as a file is opened whose size is known and whose damage is not
     * to be skipped, and after the last byte of any: there it is EDATA_LOSS. NULL = any size. */
    levada_status (*check_size)(const void *args, int64_t size, levada_error *err);
    const levada_example_file *example_files; /* that the example reads; NULL = none */
    bool frames; /* next() fills spans->frame: headers may differ in length */
    /* Names of several BYTES columns, up to a NULL; then `field` is NULL. NULL = one column. */
    const char *const *fields;
    /* Typed columns: next() frames rows, and the hooks of this descriptor turn blocks of framed
     * rows into columns, on any thread. They receive the options of the format; name, doc, example,
     * field and args are not used. Such a format has `field`, which names the bytes of a row in
     * `info` and `verify` only. decode() rejects a bad row, and its error names file, record and
     * offset. NULL = columns of bytes. */
    const levada_decoder_def *decoder;
    /* Checks the payloads that a next() with `later` has left unchecked; spans as it returned them.
     * False where one is damaged: then the place is read again without `later`. Several threads may
     * be in it, and in next(), with one state, which it must not change. NULL = next() checks all.
     */
    bool (*verify)(const void *state, const void *args, const uint8_t *data,
                   const levada_spans *spans);
    /* A record ends where a valid next one begins (members of a tar that share a name): damage at
     * that place is damage of the record before it, too. */
    bool open_ended;
    /* The file is text: an error of a record that ends the reading names the line, too. */
    bool lines;
    /* Options that the files determine. Called when a dataset is made; `options` is a map of all.
     * Sets *out to a map that takes their place, or leaves it NULL: nothing is to
     * be found. NULL = the format has no such options. */
    levada_status (*infer)(levada_env *env, const void *args, const levada_texts *files,
                           const char *compression, const levada_value *options,
                           levada_value **out, levada_error *err);
    int32_t resync_bits; /* that probe() must verify where resync() believes a record; 0 = any    */
    /* Watches framed records of a file in their order, from number `record` on (damaged ones
     * count), for what only their sequence shows. With spans->n == 0 the file has ended: returns
     * what is odd about it, as `note`; valid until the next call. Not called for records that are
     * fetched by their numbers. May be NULL. */
    const char *(*watch)(void *state, const uint8_t *data, const levada_spans *spans,
                         int64_t record);
} levada_format_def;

#define LEVADA_FORMAT_COLUMNS 16 /* columns that a format may have */

typedef struct levada_source_def {
    size_t            struct_size;
    const char       *name, *doc, *example;
    const levada_arg *args;
    size_t            args_size;
    size_t            state_size;
    int32_t           state_version;

    /* Derives the columns. */
    levada_status (*check)(const void *args, levada_spec **out, levada_error *err);
    levada_status (*open)(void *state, const void *args, const levada_context *context,
                          levada_error *err);
    void (*close)(void *state);
    /* The next block (at most context->block_rows records), or END. The core numbers records. */
    levada_status (*next)(void *state, const void *args, levada_block **out, levada_error *err);
    /* Makes a blocked next() return ECANCELLED soon; any thread. May be NULL. As after any error of
     * next(), records that it had taken count as lost, and are not saved. */
    void (*cancel)(void *state);
    levada_status (*save)(const void *state, levada_state_writer *to, levada_error *err);
    levada_status (*restore)(void *state, levada_state_reader *from, levada_error *err);
    /* Random access: the records with these numbers (ascending) as one block. A number stands for
     * the same record in each pass. NULL = it cannot: rows that wait are saved by value. */
    levada_status (*at)(void *state, const void *args, const int64_t *records, int64_t n,
                        levada_block **out, levada_error *err);
    /* Records in total, -1 where not known. May be NULL. */
    int64_t (*count)(const void *args);
    /* Back to the beginning: context->pass is the next one. For sources that look something up
     * once for an iterator. NULL = close() and open(). */
    levada_status (*rewind)(void *state, const void *args, levada_error *err);
    const levada_example_file *example_files; /* that the example reads; NULL = none */
} levada_source_def;

#ifdef __cplusplus
}
#endif

#endif
