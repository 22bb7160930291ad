/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where values are in a JSON document, without parsing them: the framing of the format json.
 *
 * Brackets and quotes are followed, and nothing else is checked: the decoder parses each element.
 * Every function reads data[at, size) only, and returns the position after what it has passed, 0 if
 * the window ends before that, or -1 with a constant string in *wrong. With `at_end` the document
 * ends with the window. Pure functions; a call allocates nothing.
 */
#ifndef LEVADA_ROWS_JSON_LIST_H
#define LEVADA_ROWS_JSON_LIST_H

#include <stdbool.h>
#include <stdint.h>

/* Levels of brackets in an element. */
enum { LEVADA_JSON_NEST = 1024 };

/* Returns the position of the first byte that is not white space; `size` if there is none. */
int64_t levada_json_list_space(const uint8_t *data, int64_t at, int64_t size);

/* Passes the value that begins at data[at]. */
int64_t levada_json_list_value(const uint8_t *data, int64_t at, int64_t size, bool at_end,
                          const char **wrong);

/* Passes the beginning of a document up to the '[' of its list, inclusive: the list is the document
 * or, with `field`, that member of the object that is the document. */
int64_t levada_json_list_begin(const char *field, const uint8_t *data, int64_t size, bool at_end,
                               const char **wrong);
/* Passes the rest of the document after the ']' before data[at]. */
int64_t levada_json_list_end(const char *field, const uint8_t *data, int64_t at, int64_t size,
                             const char **wrong);

#endif
