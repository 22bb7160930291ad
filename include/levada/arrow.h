/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exports blocks as Arrow arrays and imports Arrow arrays as blocks, by the Arrow C data and stream
 * interfaces, which Polars, DuckDB, pandas, pyarrow, arrow-rs and other programs support. No
 * library is needed.
 *
 * How types map:
 *
 *   ragged levels            list, with 32-bit offsets
 *   LEVADA_BYTES, _TEXT      binary, utf8
 *   known dimensions         fixed_size_list
 *   open dimensions          list, since each block has its own
 *   a padded column          list of the values before padding
 *   bool                     bits
 *   bfloat16, complex        arrow.opaque over int16; fixed_size_list of two floats
 *   members of objects       list of struct: messages.role is member `role` of an item of messages
 *
 * Import accepts these, and large, view, dictionary, run-end and fixed-size forms, structs (member
 * b of a is the field a.b), and times, which become int64 in their own unit. Decimals, maps, unions
 * and intervals are EINVALID_ARGUMENT.
 *
 * Exported arrays keep the block alive and point into its memory; only bits, offsets of parts of
 * blocks, padded columns and columns whose rows are not adjacent are copied. The receiver of an
 * array calls its release, on any thread.
 *
 * Example:
 *
 *     levada_dataset         *dataset = NULL;
 *     levada_iter            *it = NULL;
 *     struct ArrowArrayStream stream;
 *
 *     LEVADA_TRY(levada_dataset_parse(NULL, "range:1000 | batch:64", &dataset, err));
 *     LEVADA_TRY(levada_iter_open(dataset, NULL, &it, err));
 *     LEVADA_TRY(levada_arrow_export_iter(&it, &stream, err)); // takes the iterator
 *     levada_dataset_unref(&dataset);
 *     stream.release(&stream); // closes the iterator; usually the importing library calls it
 */
#ifndef LEVADA_ARROW_H
#define LEVADA_ARROW_H

#include <levada/iter.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The structs of the interface, as its specification has them
 * (arrow.apache.org/docs/format/CDataInterface.html). */
#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE
#define ARROW_FLAG_DICTIONARY_ORDERED 1
#define ARROW_FLAG_NULLABLE 2
#define ARROW_FLAG_MAP_KEYS_SORTED 4

struct ArrowSchema {
    const char          *format;
    const char          *name;
    const char          *metadata;
    int64_t              flags;
    int64_t              n_children;
    struct ArrowSchema **children;
    struct ArrowSchema  *dictionary;
    void (*release)(struct ArrowSchema *);
    void *private_data;
};

struct ArrowArray {
    int64_t             length;
    int64_t             null_count;
    int64_t             offset;
    int64_t             n_buffers;
    int64_t             n_children;
    const void        **buffers;
    struct ArrowArray **children;
    struct ArrowArray  *dictionary;
    void (*release)(struct ArrowArray *);
    void *private_data;
};
#endif

#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE
struct ArrowArrayStream {
    int (*get_schema)(struct ArrowArrayStream *, struct ArrowSchema *out);
    int (*get_next)(struct ArrowArrayStream *, struct ArrowArray *out);
    const char *(*get_last_error)(struct ArrowArrayStream *);
    void (*release)(struct ArrowArrayStream *);
    void *private_data;
};
#endif

/* Decides what an imported null becomes. */
typedef enum levada_arrow_nulls {
    LEVADA_ARROW_NULLS_ERROR,   /* EINVALID_ARGUMENT, which names the field                   */
    LEVADA_ARROW_NULLS_DEFAULT, /* 0, an empty string or an empty list                        */
    LEVADA_ARROW_NULLS_MASK     /* as DEFAULT; a bool field NAME_valid follows each field     */
} levada_arrow_nulls;

/* Options of the import. */
typedef struct levada_arrow_options {
    size_t             struct_size;
    levada_arrow_nulls nulls;
    /* For levada_arrow_hold: memory that stays readable as long as the array, with some of its
     * buffers, such as a mapped file. More values are shared with it: see there. */
    const void *readable;
    int64_t     readable_size;
} levada_arrow_options;

#define LEVADA_ARROW_OPTIONS_INIT \
    {                             \
        sizeof(levada_arrow_options), LEVADA_ARROW_NULLS_ERROR, NULL, 0 \
    }
/* Sets *all to its defaults, for languages without macros; size is sizeof(levada_arrow_options). */
LEVADA_API void levada_arrow_options_init(levada_arrow_options *all, size_t size);

/* In all functions `options` may be NULL, and an output is set only on success. */

/* Exports the columns of a spec as a struct type. */
LEVADA_API LEVADA_MUST_USE levada_status levada_arrow_export_spec(
    const levada_spec *spec, struct ArrowSchema *out, levada_error *err);

/* Exports a block as a struct array whose type is that of levada_arrow_export_spec with the spec of
 * the block. */
LEVADA_API LEVADA_MUST_USE levada_status levada_arrow_export_block(
    const levada_block *block, struct ArrowArray *out, levada_error *err);

/* Sets *out to the next block, whose reference the caller receives, or returns LEVADA_END. */
typedef levada_status (*levada_arrow_next)(void *user, levada_block **out, levada_error *err);

/* Exports the blocks that `next` returns, all with the fields of `spec`; where that is NULL or
 * open, with those of the first block. close(user) is called when the stream is released, and not
 * if this function fails. One thread at a time uses the stream. If it fails, get_next returns an
 * errno value and get_last_error the text of the error; so do later calls. */
LEVADA_API LEVADA_MUST_USE levada_status levada_arrow_export_blocks(
    const levada_spec *spec, levada_arrow_next next, void (*close)(void *user), void *user,
    struct ArrowArrayStream *out, levada_error *err);

/* Exports the blocks that an iterator has not returned yet, as levada_arrow_export_blocks does.
 * Takes the iterator, sets *taken to NULL, and closes the iterator when the stream is released. */
LEVADA_API LEVADA_MUST_USE levada_status levada_arrow_export_iter(
    levada_iter **taken, struct ArrowArrayStream *out, levada_error *err);

/* Imports the struct type `schema`, which stays the caller's, as a spec. EINVALID_ARGUMENT names
 * the field whose type levada does not have. */
LEVADA_API LEVADA_MUST_USE levada_status levada_arrow_import_spec(
    const struct ArrowSchema *schema, const levada_arrow_options *options, levada_spec **out,
    levada_error *err);

/* Imports rows [first, first + n) of a struct array of the type `schema`, both of which stay the
 * caller's; `spec` is what levada_arrow_import_spec made of the schema with the same options.
 * Values are copied. EINVALID_ARGUMENT names the field that has a null with
 * LEVADA_ARROW_NULLS_ERROR, or text that is not UTF-8; EDATA_LOSS the one whose offsets are
 * damaged. Sizes of buffers are not part of the interface, and are not checked. */
LEVADA_API LEVADA_MUST_USE levada_status levada_arrow_import_block(
    levada_env *env, const levada_spec *spec, const struct ArrowSchema *schema,
    const struct ArrowArray *array, int64_t first, int64_t n, const levada_arrow_options *options,
    levada_block **out, levada_error *err);

/* A struct array whose blocks share its memory. Any thread may use it. */
typedef struct levada_arrow_rows levada_arrow_rows;

/* Takes a struct array and its type, whose release members become NULL, also on failure.
 * Blocks of the array use numbers and strings where they are if these are neighbors without nulls,
 * if they are aligned, and if 64 bytes on both sides of them are known to be readable: values of
 * other rows of the array, or memory of options->readable. All others are copied. Such blocks are
 * read-only (levada_block_exclusive returns false).
 * The array is released with the last block that shares its memory, on the thread that frees that.
 * The memory must stay as it is until then: a mapped file must not be truncated or written to.
 *
 *     levada_arrow_hold(&schema, &array, NULL, &rows, &err);
 *     levada_arrow_pick(NULL, &rows, 1, NULL, (int64_t[]){ 7, 3 }, 2, &block, &err);
 *     levada_arrow_rows_unref(&rows);
 */
LEVADA_API LEVADA_MUST_USE levada_status levada_arrow_hold(struct ArrowSchema *schema,
                                                           struct ArrowArray *array,
                                                           const levada_arrow_options *options,
                                                           levada_arrow_rows **out,
                                                           levada_error *err);
/* Drops the reference and sets *rows to NULL; accepts NULL. */
LEVADA_API void levada_arrow_rows_unref(levada_arrow_rows **rows);
/* Makes a block of n rows of `count` arrays of one type: row i is row rows[i] of from[which[i]]; if
 * `which` is NULL, of from[0]. Rows may come in any order and more than once. Only neighbors of one
 * array are shared. Errors are those of levada_arrow_import_block; EOUT_OF_RANGE: an array has no
 * such row. */
LEVADA_API LEVADA_MUST_USE levada_status levada_arrow_pick(
    levada_env *env, levada_arrow_rows *const *from, int32_t count, const int32_t *which,
    const int64_t *rows, int64_t n, levada_block **out, levada_error *err);

#ifdef __cplusplus
}
#endif

#endif
