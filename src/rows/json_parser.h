/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of JSON as programs write them: what Python's json module reads, and simdjson refuses.
 *
 * simdjson parses a record. Only a record that it refuses is scanned, which names what is wrong
 * with it, and where. Where that is NaN, Infinity, a number beyond int64 or double, or (with
 * `replace`) a lone surrogate or bytes that are not UTF-8, the record is copied with other text in
 * their place and parsed again.
 *
 * In place of a number stands an integer beyond int64, which levada_json_parser_odd translates to
 * the text of the record. The values of a record are valid until the next one is read, or its bytes
 * are gone. One thread at a time.
 */
#ifndef LEVADA_ROWS_JSON_PARSER_H
#define LEVADA_ROWS_JSON_PARSER_H

#include "base/text.h"
#include "rows/json_reader.h"

enum { LEVADA_JSON_LEVELS = 1024, LEVADA_JSON_WRONG = 224, LEVADA_JSON_DIGITS = 24 };

/* An array that grows. */
typedef struct levada_json_array {
    void   *at;
    int64_t n, capacity;
} levada_json_array;

/* A number of a record, as the record has it. */
typedef struct levada_json_number {
    size_t      at; /* of its value */
    const char *text;
    int32_t     size;
} levada_json_number;

/* A number that is neither int64 nor double: an integer, "1e400", "NaN", "Infinity" or "-Infinity",
 * as the record has it. */
typedef struct levada_json_odd {
    const char *text;
    int32_t     size;
    bool        integer;
} levada_json_odd;

typedef struct levada_json_parser {
    levada_json_reader *reader;
    bool                replace;  /* lone surrogates, and bytes that are not UTF-8, by U+FFFD    */
    bool                lines;    /* nobody reads values: numbers stay in the copy as they are   */
    bool                mended;   /* the record that was read last: `text` is its copy           */
    bool                replaced; /* some text in it                                             */
    levada_json_array   text;     /* bytes, and readable ones after them                         */
    levada_json_array   odd;      /* levada_json_odd, of the mended record                       */
    levada_json_array   numbers;  /* levada_json_number, once one is asked for                   */
    levada_json_value   root;     /* of the record, and the bytes that were parsed               */
    const uint8_t      *parsed;
    size_t              nparsed;
    int32_t             keys[LEVADA_JSON_LEVELS]; /* where the key of each open object is        */
    char                wrong[LEVADA_JSON_WRONG];
    char                digits[LEVADA_JSON_DIGITS];
} levada_json_parser;

/* Opens a parser. A zero parser is valid for close. */
LEVADA_MUST_USE levada_status levada_json_parser_open(levada_json_parser *p, bool replace,
                                                      levada_error *err);
void levada_json_parser_close(levada_json_parser *p);

/* Reads text[0, size), which has 64 readable bytes after it. *wrong is NULL, or what is wrong with
 * the record: valid until the next one. With `lines`, *root is not set for a mended record.
 * Otherwise ERESOURCE_EXHAUSTED. */
LEVADA_MUST_USE levada_status levada_json_parser_read(levada_json_parser *p, const uint8_t *text,
                                                      size_t size, const char **wrong,
                                                      levada_json_value *root, levada_error *err);

/* Returns what a LEVADA_JSON_BIG stands for. Its text is valid until the next call. */
levada_json_odd levada_json_parser_odd(levada_json_parser *p, levada_json_value value);
/* Returns a number as the record has it; NULL without memory. The first call for a record walks all
 * of it. */
const levada_json_number *levada_json_parser_number(levada_json_parser *p, levada_json_value value);
/* Adds the JSON of a value. Numbers keep their bytes. */
void levada_json_text(levada_json_parser *p, levada_json_value value, levada_text *out);
/* Returns true if the number has a double: *f. */
bool levada_json_odd_float(const levada_json_odd *odd, double *f);

#endif
