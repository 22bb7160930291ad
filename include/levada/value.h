/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values are the arguments of stages as data, and the JSON that levada reads and prints.
 *
 * A value is null, a bool, an integer, a float, a string, bytes, a list, a map, a sub-pipeline (a
 * dataset as an argument) or a handle of this process (a function, a block). Values print as JSON
 * and are parsed from JSON or from the text of pipelines. A value has one owner and is immutable
 * once it is part of a dataset.
 *
 * Example:
 *
 *     levada_value *map = levada_value_map();
 *     char         *text = NULL;
 *
 *     LEVADA_TRY(levada_value_set_int(map, "batch_size", 4, err));
 *     LEVADA_TRY(levada_value_set_bool(map, "drop_remainder", true, err));
 *     LEVADA_TRY(levada_value_json(map, &text, err)); // {"batch_size":4,"drop_remainder":true}
 *     levada_string_free(&text);
 *     levada_value_destroy(&map);
 */
#ifndef LEVADA_VALUE_H
#define LEVADA_VALUE_H

#include <levada/env.h>
#include <levada/function.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum levada_value_kind {
    LEVADA_VALUE_NULL,
    LEVADA_VALUE_BOOL,
    LEVADA_VALUE_INT,
    LEVADA_VALUE_FLOAT,
    LEVADA_VALUE_TEXT,
    LEVADA_VALUE_BYTES,
    LEVADA_VALUE_LIST,
    LEVADA_VALUE_MAP,
    LEVADA_VALUE_PIPE,
    LEVADA_VALUE_FUNCTION,
    LEVADA_VALUE_BLOCK
} levada_value_kind;

typedef struct levada_value   levada_value;
typedef struct levada_dataset levada_dataset;

/* Create a value, with a copy of strings and bytes; they return NULL if out of memory. */
LEVADA_API levada_value *levada_value_null(void);
LEVADA_API levada_value *levada_value_bool(bool b);
LEVADA_API levada_value *levada_value_int(int64_t i);
LEVADA_API levada_value *levada_value_float(double f);
LEVADA_API levada_value *levada_value_text(const char *text, size_t size);
LEVADA_API levada_value *levada_value_bytes(const void *bytes, size_t size);
LEVADA_API levada_value *levada_value_list(void);
LEVADA_API levada_value *levada_value_map(void);
LEVADA_API levada_value *levada_value_pipe(const levada_dataset *dataset);
LEVADA_API levada_value *levada_value_function(const levada_function *function);
LEVADA_API levada_value *levada_value_block(const levada_block *block);
LEVADA_API void          levada_value_destroy(levada_value **value);

/* Parses one value from JSON, or from the text of a pipeline (see dataset.h). Use it to read the
 * JSON of this library (statistics, reports, infos). Errors are EINVALID_ARGUMENT with the
 * column. */
LEVADA_API LEVADA_MUST_USE levada_status levada_value_parse(const char *text, levada_value **out,
                                                            levada_error *err);

/* Parses one JSON value from other programs, without extensions: no words, files or sub-pipelines,
 * and a map stays a map whatever its keys are. Repeated names are an error. `text` need not be
 * terminated and may be NULL if size is 0. */
LEVADA_API LEVADA_MUST_USE levada_status levada_value_parse_json(const char *text, size_t size,
                                                                 levada_value **out,
                                                                 levada_error *err);

/* Prints the value as JSON on one line; free it with levada_string_free (dataset.h). */
LEVADA_API LEVADA_MUST_USE levada_status levada_value_json(const levada_value *value, char **out,
                                                           levada_error *err);

/* Append an item to a list, or set a key of a map, which must not exist yet. They take ownership of
 * *item. */
LEVADA_API LEVADA_MUST_USE levada_status levada_value_push(levada_value *list, levada_value **item,
                                                           levada_error *err);
LEVADA_API LEVADA_MUST_USE levada_status levada_value_set(levada_value *map, const char *key,
                                                          levada_value **item, levada_error *err);

/* Set a key of a map to a new value, for options: levada_value_set_int(map, "batch_size", 4,
 * &err). */
LEVADA_API LEVADA_MUST_USE levada_status levada_value_set_bool(levada_value *map, const char *key,
                                                               bool b, levada_error *err);
LEVADA_API LEVADA_MUST_USE levada_status levada_value_set_int(levada_value *map, const char *key,
                                                              int64_t i, levada_error *err);
LEVADA_API LEVADA_MUST_USE levada_status levada_value_set_float(levada_value *map, const char *key,
                                                                double f, levada_error *err);
LEVADA_API LEVADA_MUST_USE levada_status levada_value_set_text(levada_value *map, const char *key,
                                                               const char *text,
                                                               levada_error *err);

/* Read a value; they return 0, NULL or false for a value of another kind. */
LEVADA_API levada_value_kind levada_value_kind_of(const levada_value *value);
LEVADA_API bool              levada_value_as_bool(const levada_value *value);
LEVADA_API int64_t           levada_value_as_int(const levada_value *value);
LEVADA_API double            levada_value_as_float(const levada_value *value); /* also int */
/* Returns a string (always terminated) or bytes; `size` may be NULL. Borrowed. */
LEVADA_API const char *levada_value_as_text(const levada_value *value, size_t *size);
/* Return what the value holds, borrowed; NULL for a value of another kind. */
LEVADA_API const levada_dataset  *levada_value_as_pipe(const levada_value *value);
LEVADA_API const levada_function *levada_value_as_function(const levada_value *value);
LEVADA_API const levada_block    *levada_value_as_block(const levada_value *value);
/* Read the items of a list, or the entries of a map in the order in which they were set.
 * Borrowed. */
LEVADA_API int64_t             levada_value_count(const levada_value *value);
LEVADA_API const levada_value *levada_value_item(const levada_value *value, int64_t i);
LEVADA_API const char         *levada_value_key(const levada_value *map, int64_t i);
LEVADA_API const levada_value *levada_value_get(const levada_value *map, const char *key);

#ifdef __cplusplus
}
#endif

#endif
