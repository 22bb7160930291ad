/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parser of descriptions, from the inside: one cursor over one text. parse.c reads values;
 * resolve.c turns maps like {"base64": "..."} into what they mean; parse_pipe.c reads pipes in both
 * notations. Values may hold pipes, which the first two read by the hooks of the parser.
 */
#ifndef LEVADA_DESCRIPTION_PARSE_H
#define LEVADA_DESCRIPTION_PARSE_H

#include "description/dataset_priv.h"

typedef struct levada_parser levada_parser;

/* How pipes inside of values are read. */
typedef struct levada_parse_hooks {
    /* Stages up to the end, or to a byte that cannot go on. */
    levada_status (*pipe)(levada_parser *p, levada_value **out, levada_error *err);
    /* The list of stages of {"pipe": [...]}, which it empties. */
    levada_status (*stages)(const levada_parser *p, levada_value *stages, levada_value **out,
                            levada_error *err);
} levada_parse_hooks;

struct levada_parser {
    levada_env *env;
    const levada_parse_hooks  *make;   /* NULL = no pipes */
    const levada_default_path *within; /* the default that is read; NULL = none */
    const char *text;
    size_t      size, at;
    const char *file;        /* of an included text, else NULL          */
    int32_t     nest, limit; /* open brackets, and how many are allowed */
    bool        strict;      /* JSON and nothing else                   */
};

/* Begins with a text, without hooks; refuses what is not UTF-8. */
LEVADA_MUST_USE levada_status levada_parser_init(levada_parser *p, levada_env *env,
                                                 const char *text, size_t size,
                                                 levada_error *err);
/* Returns EINVALID_ARGUMENT with the message and the place of the offset. */
LEVADA_PRINTF(4, 5)
levada_status levada_parser_fail(const levada_parser *p, size_t offset, levada_error *err,
                                 const char *fmt, ...);

/* Skips spaces and shows the next byte: '\0' at the end. */
char levada_parser_peek(levada_parser *p);
/* Takes the next byte if it is c. */
bool levada_parser_accept(levada_parser *p, char c);
LEVADA_MUST_USE levada_status levada_parser_expect(levada_parser *p, char c, levada_error *err);
/* Opens and closes brackets: counts the nesting. */
LEVADA_MUST_USE levada_status levada_parser_enter(levada_parser *p, levada_error *err);
void                          levada_parser_leave(levada_parser *p);
/* Returns the number of bytes of the word at the cursor, without those of `stop`; nothing is taken.
 * */
size_t levada_parser_word(const levada_parser *p, const char *stop);

/* Reads one value, not resolved. `plain`: words are texts (null is still null). */
LEVADA_MUST_USE levada_status levada_parse_raw(levada_parser *p, bool plain, levada_value **out,
                                               levada_error *err);
/* Checks that all of the text is one value. */
LEVADA_MUST_USE levada_status levada_parse_whole(levada_parser *p, bool plain, levada_value **out,
                                                 levada_error *err);
/* Reads the value of a file, in place of "@path". */
LEVADA_MUST_USE levada_status levada_parse_file(levada_parser *p, const char *path, bool plain,
                                                levada_value **out, levada_error *err);
/* Turns the marked maps inside of *value into bytes, floats, functions and pipes. `names`: its maps
 * may have names of fields as keys, so {c: x} is a map unless there is a function x. */
LEVADA_MUST_USE levada_status levada_value_resolve(const levada_parser *p, bool names,
                                                   levada_value **value, levada_error *err);

#endif
