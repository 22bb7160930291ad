/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Documents of JSON, as simdjson reads them: json_reader.cpp. Without simdjson, json_missing.c
 * refuses to make a reader.
 *
 * A reader holds one document at a time. Values point into it: they, and texts of them, are valid
 * until the next parse. All of a document is validated (RFC 8259, UTF-8, numbers that fit) before
 * anything of it is returned. One thread at a time.
 */
#ifndef LEVADA_ROWS_JSON_READER_H
#define LEVADA_ROWS_JSON_READER_H

#include <levada/error.h>

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct levada_json_reader levada_json_reader;

typedef enum levada_json_kind {
    LEVADA_JSON_NULL,
    LEVADA_JSON_BOOL,
    LEVADA_JSON_INT,
    LEVADA_JSON_BIG, /* an integer beyond int64 that fits in uint64 */
    LEVADA_JSON_FLOAT,
    LEVADA_JSON_TEXT,
    LEVADA_JSON_LIST,
    LEVADA_JSON_MAP
} levada_json_kind;

/* A place in the document. */
typedef struct levada_json_value {
    const void *document;
    size_t      at;
} levada_json_value;

LEVADA_MUST_USE levada_status levada_json_reader_create(levada_json_reader **out,
                                                        levada_error        *err);
void levada_json_reader_destroy(levada_json_reader **reader);
/* Reserves memory for documents of `size` bytes. */
LEVADA_MUST_USE levada_status levada_json_reader_reserve(levada_json_reader *reader, size_t size,
                                                         levada_error *err);

/* Parses text[0, size), which has 64 readable bytes after it. Returns what is wrong with it, or
 * NULL. */
const char *levada_json_reader_parse(levada_json_reader *reader, const uint8_t *text, size_t size,
                                     levada_json_value *out);

levada_json_kind levada_json_kind_of(levada_json_value value);
bool             levada_json_as_bool(levada_json_value value);
int64_t          levada_json_as_int(levada_json_value value);
uint64_t         levada_json_as_big(levada_json_value value);
/* Returns an INT or FLOAT as a double. */
double           levada_json_as_float(levada_json_value value);
const uint8_t   *levada_json_as_text(levada_json_value value, size_t *size);
/* Finds the member of a map with this name, the last one where there are several. */
bool levada_json_find(levada_json_value map, const char *name, size_t size,
                      levada_json_value *out);
/* Calls see() for each item of a list, until it returns false. Returns whether it never did. */
bool levada_json_each(levada_json_value list, bool (*see)(void *user, levada_json_value item),
                      void *user);
/* Calls a function for the members of a map. */
bool levada_json_each_member(levada_json_value map,
                             bool (*see)(void *user, const char *name, size_t size,
                                         levada_json_value item),
                             void *user);

#ifdef __cplusplus
}
#endif

#endif
