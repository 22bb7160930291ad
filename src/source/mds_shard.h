/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shards of MosaicML Streaming (MDS) and chunks of LitData: a table of positions, and records with
 * the sizes of their columns in front.
 *
 *     records n u32, n + 1 positions u32, in MDS a JSON object, then the records, from the first
 *     position on; a record: a size u32 for each column that has one, then the bytes of all columns
 *
 * In MDS columns of a fixed size have no size in front; in LitData all columns have one. Both
 * formats have the option `columns`, which maps names to encodings:
 *
 *     bytes str jpeg png json ..        a byte string
 *     int int8 .. float64 bool          a number
 *     ndarray:int32                     dimensions and numbers: ragged, one dimension
 *     ndarray:int32:3,4                 numbers of this shape
 *     values:int32                      numbers alone: ragged
 *
 * Pickled objects are never read.
 */
#ifndef LEVADA_SOURCE_MDS_SHARD_H
#define LEVADA_SOURCE_MDS_SHARD_H

#include <levada/source.h>

#define LEVADA_MDS_COLUMNS 64

typedef struct levada_mds_args {
    const levada_value *columns; /* a map; null or "auto": not known yet */
} levada_mds_args;

typedef enum levada_mds_form {
    LEVADA_MDS_BYTES,
    LEVADA_MDS_NUMBERS, /* of a fixed shape */
    LEVADA_MDS_ARRAY,   /* after their dimensions */
    LEVADA_MDS_VALUES
} levada_mds_form;

typedef struct levada_mds_column {
    levada_mds_form form;
    levada_dtype    dtype;
    int64_t         count; /* numbers, of a fixed shape */
    int32_t         ndim;
    int64_t         dims[LEVADA_MAX_DIMS];
    bool            sized; /* a record begins with its size */
} levada_mds_column;

typedef struct levada_mds_layout {
    int32_t           n, sizes; /* columns, and those whose sizes are in front */
    levada_mds_column column[LEVADA_MDS_COLUMNS];
} levada_mds_layout;

/* Reads the option `columns`; `sized`: all have a size in front. EINVALID_ARGUMENT names the column
 * and its encoding. */
LEVADA_MUST_USE levada_status levada_mds_read_layout(const levada_mds_args *args, bool sized,
                                                     levada_mds_layout *out, levada_error *err);
LEVADA_MUST_USE levada_status levada_mds_make_spec(const levada_mds_args *args, bool sized,
                                                   levada_spec **out, levada_error *err);

/* The state of both formats and of their decoders. */
typedef struct levada_mds_state {
    levada_mds_layout layout;
    bool              heading; /* the window begins with it           */
    int64_t           at, end; /* offset; where the last record ends, 0 = not known */
} levada_mds_state;

/* Hooks of both. */
LEVADA_MUST_USE levada_status levada_mds_seek(void *state, const void *args, int64_t offset,
                                              int64_t size, levada_error *err);
LEVADA_MUST_USE levada_status levada_mds_next(void *state, const void *args, const uint8_t *data,
                                              int64_t size, bool at_end, levada_spans *out,
                                              levada_error *err);
LEVADA_MUST_USE levada_status levada_mds_decode(void *state, const void *args,
                                                const levada_strings *in, levada_builder *out,
                                                levada_error *err);
/* Adds the records by the table of positions in the file. */
LEVADA_MUST_USE levada_status levada_mds_foreign(levada_env *env, const void *args,
                                                 const char *path, levada_index_sink *to,
                                                 levada_error *err);

/* -- options that files determine */

/* Reads the file `path` as JSON. */
LEVADA_MUST_USE levada_status levada_mds_read_json(levada_env *env, const char *path,
                                                   levada_value **out, levada_error *err);
/* Joins "DIRECTORY/name" as a literal pattern; `path` names the directory, or with `beside` a file
 * in it. */
LEVADA_MUST_USE levada_status levada_mds_join(const char *path, bool beside, const char *name,
                                              bool pattern, char **out, levada_error *err);
/* Returns true if one of the files is the directory of an index.json, or that file. */
bool levada_mds_is_directory(const levada_texts *files);
/* Sets all options with other `columns` and, unless it is NULL, `files`. Takes both. */
LEVADA_MUST_USE levada_status levada_mds_set(const levada_value *options, levada_value *columns,
                                             levada_value *files, levada_value **out,
                                             levada_error *err);
/* Appends a text to a list, or sets a text in a map if `key` is not NULL. */
LEVADA_MUST_USE levada_status levada_mds_put(levada_value *to, const char *key, const char *text,
                                             levada_error *err);

#endif
