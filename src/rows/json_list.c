/* SPDX-License-Identifier: Apache-2.0 */
#include "rows/json_list.h"
#include "base/text.h"

#include <string.h>

enum { LIST_CONTROL = 0x20, LIST_WORD = 64 };

static bool list_is_space(uint8_t c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

int64_t levada_json_list_space(const uint8_t *data, int64_t at, int64_t size)
{
    while (at < size && list_is_space(data[at])) at++;
    return at;
}

static int64_t list_wrong(const char **wrong, const char *why)
{
    *wrong = why;
    return -1;
}

/* Passes the string whose quote is at data[at]. */
static int64_t list_string(const uint8_t *data, int64_t at, int64_t size, const char **wrong)
{
    for (at++; at < size; at++) {
        if (data[at] == '"') return at + 1;
        if (data[at] < LIST_CONTROL)
            return list_wrong(wrong, "a string has a line end or another control character");
        at += data[at] == '\\';
    }
    return 0;
}

/* Passes a number, true, false or null. */
static int64_t list_word(const uint8_t *data, int64_t at, int64_t size, bool at_end,
                         const char **wrong)
{
    int64_t from = at;

    while (at < size && !list_is_space(data[at]) && !strchr(",]}:[{\"", data[at])) at++;
    if (at == from) return list_wrong(wrong, "a value must be here");
    return at == size && !at_end ? 0 : at;
}

/* The kinds of the brackets that are open, a bit for each: 1 = '{'. */
typedef struct list_nest {
    uint64_t bits[LEVADA_JSON_NEST / LIST_WORD];
    int64_t  depth;
} list_nest;

static bool list_open(list_nest *n, bool object)
{
    uint64_t bit = (uint64_t)1 << n->depth % LIST_WORD, *bits = &n->bits[n->depth / LIST_WORD];

    if (n->depth + 1 == LEVADA_JSON_NEST) return false;
    *bits = object ? *bits | bit : *bits & ~bit;
    n->depth++;
    return true;
}

/* Closes a bracket; returns false if the bracket that is open is of the other kind. */
static bool list_close(list_nest *n, bool object)
{
    n->depth--;
    return (n->bits[n->depth / LIST_WORD] >> n->depth % LIST_WORD & 1) == object;
}

int64_t levada_json_list_value(const uint8_t *data, int64_t at, int64_t size, bool at_end,
                          const char **wrong)
{
    list_nest nest = { .depth = 0 };

    if (data[at] == '"') return list_string(data, at, size, wrong);
    if (data[at] != '{' && data[at] != '[') return list_word(data, at, size, at_end, wrong);
    while (at < size) {
        uint8_t c = data[at];

        if (c == '"') {
            at = list_string(data, at, size, wrong);
            if (at <= 0) return at;
            continue;
        }
        at++;
        if (c == '{' || c == '[') {
            if (!list_open(&nest, c == '{'))
                return list_wrong(wrong, "brackets are nested more than 1,024 levels deep");
        } else if (c == '}' || c == ']') {
            if (!list_close(&nest, c == '}')) return list_wrong(wrong, "brackets do not match");
            if (nest.depth == 0) return at;
        }
    }
    return 0;
}

/* Passes `"name": `; *found: it is that of the field. */
static int64_t list_name(const char *field, const uint8_t *data, int64_t at, int64_t size,
                         bool *found, const char **wrong)
{
    int64_t from = at + 1, end;

    if (at == size) return 0;
    if (data[at] != '"') return list_wrong(wrong, "the name of a member must be here");
    end = list_string(data, at, size, wrong);
    if (end <= 0) return end;
    *found = end - 1 - from == (int64_t)strlen(field) &&
             memcmp(data + from, field, (size_t)(end - 1 - from)) == 0;
    at = levada_json_list_space(data, end, size);
    if (at == size) return 0;
    if (data[at] != ':') return list_wrong(wrong, "a ':' must follow the name of a member");
    at = levada_json_list_space(data, at + 1, size);
    return at == size ? 0 : at;
}

/* Passes members up to the value of the field, or up to the '}' inclusive: *closed. */
static int64_t list_members(const char *field, const uint8_t *data, int64_t at, int64_t size,
                            bool at_end, bool *closed, const char **wrong)
{
    bool found = false;

    for (;;) {
        at = levada_json_list_space(data, at, size);
        at = list_name(field, data, at, size, &found, wrong);
        if (at <= 0 || found) return at;
        at = levada_json_list_value(data, at, size, at_end, wrong);
        if (at <= 0) return at;
        at = levada_json_list_space(data, at, size);
        if (at == size) return 0;
        *closed = data[at] == '}';
        if (*closed) return at + 1;
        if (data[at] != ',') return list_wrong(wrong, "a ',' or '}' must follow a member");
        at++;
    }
}

int64_t levada_json_list_begin(const char *field, const uint8_t *data, int64_t size, bool at_end,
                               const char **wrong)
{
    int64_t at = levada_utf8_mark(data, size);
    bool    closed = false;

    at = levada_json_list_space(data, at, size);
    if (at == size) return 0;
    if (field) {
        if (data[at] != '{') return list_wrong(wrong, "the document must be an object");
        at = list_members(field, data, at + 1, size, at_end, &closed, wrong);
        if (closed) return list_wrong(wrong, "the document lacks the member of field=");
        if (at <= 0) return at;
        if (data[at] != '[') return list_wrong(wrong, "the member of field= must be a list");
    }
    if (data[at] != '[')
        return list_wrong(wrong, "the document must be a list of objects: field= reads the list "
                                 "in an object, and jsonl reads an object per line");
    return at + 1;
}

int64_t levada_json_list_end(const char *field, const uint8_t *data, int64_t at, int64_t size,
                             const char **wrong)
{
    bool closed = false;

    at = levada_json_list_space(data, at, size);
    if (field && at < size && data[at] == ',') {
        at = list_members(field, data, at + 1, size, true, &closed, wrong);
        if (at > 0 && !closed) return list_wrong(wrong, "the document has the member of field= "
                                                        "twice");
    } else if (field) {
        closed = at < size && data[at] == '}';
        at += closed;
    }
    if (at < 0) return at;
    if (field && !closed) return list_wrong(wrong, "the document has no end");
    at = levada_json_list_space(data, at, size);
    return at == size ? size : list_wrong(wrong, "something follows the end of the document");
}
