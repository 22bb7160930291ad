/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How to write a file format or a source.
 *
 * A *format* frames records in bytes: it receives windows of a file and returns the positions of
 * the records. The file reader of the core does everything else: globs, order of files,
 * compression, chunks, error policy, checkpoints. A *source* creates blocks. If it reads files, the
 * core expands their patterns.
 *
 * Example:
 *
 *     // Frames records of 4 bytes.
 *     static levada_status four_next(void *state, const void *args, const uint8_t *data,
 *                                    int64_t size, bool at_end, levada_spans *out,
 *                                    levada_error *err)
 *     {
 *         (void)state, (void)args, (void)data;
 *         for (; out->n < out->capacity && out->used + 4 <= size; out->used += 4) {
 *             out->begin[out->n] = (int32_t)out->used;
 *             out->end[out->n++] = (int32_t)out->used + 4;
 *         }
 *         if (at_end && out->n == 0 && size > 0)
 *             return levada_fail(err, LEVADA_EDATA_LOSS, "truncated record: %lld of 4 bytes",
 *                                (long long)size);
 *         if (out->n == 0) out->need = 4;
 *         return LEVADA_OK;
 *     }
 *
 *     static const levada_format_def four_format = {
 *         .struct_size = sizeof(levada_format_def),
 *         .name = "four",
 *         .doc = "records of 4 bytes",
 *         .example = "four:words.bin",
 *         .fields = LEVADA_FIELDS("record"),
 *         .next = four_next,
 *     };
 */
#ifndef LEVADA_SOURCE_H
#define LEVADA_SOURCE_H

#include <levada/decoder.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The records in a window of bytes, which the format fills in. A format with several columns writes
 * column c of record i as the bytes [begin[c * stride + i], end[c * stride + i]). */
typedef struct levada_spans {
    int32_t *begin, *end; /* the payload of record i is [begin[i], end[i])                */
    int32_t  capacity;    /* maximum of n; the arrays hold 64 more entries                */
    int32_t  n;           /* records found                                                */
    int64_t  used;        /* bytes of the window that these records take, frames included */
    int64_t  need;        /* if the window ends inside a record: size of a window that holds it,
                           * 0 = not known */
    int32_t *frame;       /* start of the frame of record i; NULL without `frames`           */
    int32_t  stride;      /* entries between two columns, at least capacity + 64             */
    bool     later;       /* the format may leave payloads unchecked, and then sets ... */
    bool     unchecked;   /* ... this: next() runs again without `later` on the same bytes */
    const char *note;     /* constant string: a warning about the bytes before `used` that is not
                           * damage; the reader reports the first of each file. NULL = none */
} levada_spans;

/* Receives the records of a file in ascending order, from a foreign index. */
typedef struct levada_index_sink levada_index_sink;
struct levada_index_sink {
    /* Adds a record: the position and size of its frame, and the length of the column `field` (0
     * without one). Returns EDATA_LOSS if the record does not follow the record before. */
    levada_status (*add)(levada_index_sink *to, int64_t offset, int64_t size, int64_t length,
                         levada_error *err);
    int64_t     size;  /* size of the data file in bytes                                        */
    const char *field; /* set by the hook before the first add(): the column whose lengths it adds,
                        * a constant string; NULL = none                                        */
};

typedef struct levada_format_def {
    size_t            struct_size;
    const char       *name, *doc, *example;
    const char *const *fields; /* names of the BYTES columns: LEVADA_FIELDS("record") */
    const levada_arg *args;  /* the format's options; the reader adds files, compression, ... */
    size_t            args_size;
    size_t            state_size; /* scratch memory; a checkpoint stores the offset only */

    levada_status (*open)(void *state, const void *args, const levada_context *context,
                          levada_error *err);
    void (*close)(void *state);
    /* Returns the number of bits of `data` that match this format; 0 = another format. */
    int32_t (*probe)(const uint8_t *data, int64_t size);
    /* Prepares for the start of a file (offset 0), or for the record that begins at `offset`.
     * `size`: bytes of the file; -1 = they are unknown, or damage is skipped. Returns an error with
     * the position (levada_error_place) if no intact file has that size. */
    levada_status (*seek)(void *state, const void *args, int64_t offset, int64_t size,
                          levada_error *err);
    /* Frames whole records of [data, data + size), which has 64 readable bytes before and after it.
     * `at_end`: the file ends after the window. Returns OK with spans filled in; n may be 0 if more
     * bytes are needed, or if `used` bytes contain no record (a heading). The frame of the first
     * record begins at data[0]. Without `frames`, all headers returned by one call must have the
     * same length. On damage, returns EDATA_LOSS with the records before the damage in spans, and
     * the position of the damage in `used`. If that is data[0] and the length of the bad record is
     * certain, sets `need` to that length. If it sets spans->unchecked, several threads may run it
     * with the same state, which it must not change. NULL = only an index (`foreign`) shows where
     * records are, so that the format cannot be read without one: infer() sets index to true. */
    levada_status (*next)(void *state, const void *args, const uint8_t *data, int64_t size,
                          bool at_end, levada_spans *out, levada_error *err);
    /* Returns the position (> 0) of the next record that looks valid after damage at data[0], or,
     * if there is none, `size` minus the bytes that could begin a record. NULL = the rest of a
     * damaged file is skipped. */
    int64_t (*resync)(void *state, const void *args, const uint8_t *data, int64_t size,
                      bool at_end);
    /* Skips a record that exceeds max_record_bytes, although `need` is not its length. The first
     * call has the beginning of the record at data[0], each further one the bytes after those that
     * were skipped; returns how many bytes to skip now, and sets *done where the record has ended.
     * Returns less than `size` without *done if bytes after `size` are needed, but never with
     * `at_end`; a record that is not done then has lost its end. At the end of a file, next()
     * returns nothing for a record that has no end and exceeds the limit. NULL = the rest of the
     * file is skipped. */
    int64_t (*leave_out)(void *state, const void *args, const uint8_t *data, int64_t size,
                         bool at_end, bool *done);
    const levada_example_file *example_files; /* that the example reads; NULL = none */
    bool frames; /* next() fills spans->frame: headers may differ in length */
    /* Decoder of a format with typed columns: next() frames rows, and its hooks decode blocks of
     * rows to columns, on any thread. They receive the options of the format; name, doc, example,
     * field and args of the decoder are ignored. The format has one field then, the name of the
     * row's bytes in `info` and `verify`. decode() rejects a bad row, and the error contains file,
     * record and offset. NULL = columns of bytes. */
    const levada_decoder_def *decoder;
    /* true if a record ends only where the next valid record begins (as do tar members that share a
     * name), so that damage there also damages the record before it. */
    bool open_ended;
    /* true for text, so that errors of records also contain the line. */
    bool lines;
    /* Infers options from the files when a dataset is created; `options` is a map of all options.
     * Sets *out to a map that replaces it, or leaves it NULL if there is nothing to infer. NULL =
     * the format infers nothing. */
    levada_status (*infer)(levada_env *env, const void *args, const levada_texts *files,
                           const char *compression, const levada_value *options,
                           levada_value **out, levada_error *err);
    int32_t resync_bits; /* bits that probe() must verify at a position that resync() returned; 0
                          * = any */
    /* Inspects framed records of a file in order, from number `record` on (counting damaged
     * records), for problems that only their sequence shows. With spans->n == 0 the file has ended:
     * returns a warning like `note`, valid until the next call. Not called for records that are
     * fetched by number. May be NULL. */
    const char *(*watch)(void *state, const uint8_t *data, const levada_spans *spans,
                         int64_t record);
    /* Ends of the names of such files, up to a NULL: ".jsonl". NULL = none. */
    const char *const *suffixes;
    /* Option that asks for infer(): levada_dataset_open sets a BOOL to true in any case, because
     * the format has no columns without it, and any other to "auto" where it parses. NULL = none.
     */
    const char *finds;
    /* Reads the index that another library wrote beside or inside the file at `path`, and adds the
     * position of every record. Used with index=true if the file has no .lvindex. Returns
     * ENOT_FOUND if there is no such index. NULL = no foreign index is known. */
    levada_status (*foreign)(levada_env *env, const void *args, const char *path,
                             levada_index_sink *to, levada_error *err);
    /* true if next() is also called at the end of a file, with size 0, so that a format that knows
     * the number or the length of records reports a truncated file. */
    bool counted;
} levada_format_def;

#define LEVADA_FORMAT_COLUMNS 16 /* columns that a format may have */
/* Names of columns in a descriptor outside of functions. */
#define LEVADA_FIELDS(...) ((const char *const[]){ __VA_ARGS__, NULL })

typedef struct levada_source_def {
    size_t            struct_size;
    const char       *name, *doc, *example;
    const levada_arg *args;
    size_t            args_size;
    size_t            state_size;
    int32_t           state_version;

    /* Returns the columns. */
    levada_status (*check)(const void *args, levada_spec **out, levada_error *err);
    /* If the source has an option `files` of type TEXTS with `paths`, its value is a list of paths
     * from here on: the core expands the patterns (* ? [a-z] ** {a,b} {00..12}) as for a format.
     * check() and count() receive the patterns. Checkpoints contain the names, and can be restored
     * only if the files are the same. levada_builder_origin refers to the paths by number. */
    levada_status (*open)(void *state, const void *args, const levada_context *context,
                          levada_error *err);
    void (*close)(void *state);
    /* Returns the next block (at most context->block_rows records), or END. The core numbers the
     * records. NULL = a numbered source, which has `at` and `count`, and neither `save` nor
     * `restore`: the core walks the numbers, in order or in a computed random order, and adds the
     * options shuffle_records, records and part. */
    levada_status (*next)(void *state, const void *args, levada_block **out, levada_error *err);
    /* Makes a blocked next() return ECANCELLED soon; any thread. May be NULL. As after every error
     * of next(), records that it has read are lost, and no checkpoint can be saved. */
    void (*cancel)(void *state);
    levada_status (*save)(const void *state, levada_state_writer *to, levada_error *err);
    levada_status (*restore)(void *state, levada_state_reader *from, levada_error *err);
    /* Returns the records with these numbers (ascending) as one block that nobody else has. A
     * number must denote the same record in each pass. A bad record of a numbered source is a
     * rejected row (levada_builder_reject); its numbers are in range, each of them once. NULL = no
     * random access, so checkpoints store buffered records by value. */
    levada_status (*at)(void *state, const void *args, const int64_t *records, int64_t n,
                        levada_block **out, levada_error *err);
    /* Returns the total number of records, -1 = not known. May be NULL. If a numbered source has an
     * option `lengths` of type BLOCK, its columns (int64) are the lengths of all records in the
     * fields with their names: a rank in step reads them and fetches only its own records. */
    int64_t (*count)(const void *args);
    /* Restarts at the beginning, with context->pass already raised. For sources that prepare
     * something once per iterator. NULL = close() and open() are called. */
    levada_status (*rewind)(void *state, const void *args, levada_error *err);
    const levada_example_file *example_files; /* that the example reads; NULL = none */
    const levada_traits *traits; /* random numbers and side effects; NULL = none */
    /* Returns how many records a call of at() should read, up to 65,536, if the storage answers
     * large calls faster; 0 = as many as other blocks have. If the user sets block_rows, that
     * applies instead. NULL = 0. */
    int64_t (*preferred)(const void *args);
} levada_source_def;

#ifdef __cplusplus
}
#endif

#endif
