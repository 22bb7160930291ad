/* SPDX-License-Identifier: Apache-2.0 */
#include "rows/csv_line.h"

#include <stddef.h>

/* A line while it is split. */
typedef struct line_split {
    const levada_csv_rules *rules;
    const uint8_t          *at, *end;
    const char             *wrong;
} line_split;

static levada_csv_field line_plain(line_split *s)
{
    const uint8_t   *from = s->at;
    levada_csv_field field = { .at = from };

    while (s->at < s->end && *s->at != s->rules->delim) {
        uint8_t c = *s->at++;

        if ((c == s->rules->quote && s->rules->quotes) || c == '\n' || c == '\r') {
            s->wrong = s->rules->file ? "Unquoted fields cannot have quotes inside"
                                      : "Unquoted fields cannot have quotes/CRLFs inside";
            s->at--;
            return field;
        }
    }
    field.size = (int32_t)(s->at - from);
    if (s->at < s->end) s->at++;
    return field;
}

/* Returns true if this is the quote that ends a field. */
static bool line_ends(const line_split *s, const uint8_t *at)
{
    return *at == s->rules->quote && (at + 1 == s->end || at[1] == s->rules->delim);
}

static levada_csv_field line_quoted(line_split *s)
{
    const uint8_t   *at = s->at + 1;
    levada_csv_field field = { .at = at };

    while (at < s->end && !line_ends(s, at)) {
        if (*at != s->rules->quote) {
            at++;
            continue;
        }
        if (at[1] != s->rules->quote) {
            s->wrong = "Quote inside a string has to be escaped by another quote";
            s->at = at;
            return field;
        }
        field.escaped = true;
        at += 2;
    }
    if (at >= s->end) {
        s->wrong = "Quoted field has to end with quote followed by delim or end";
        return field;
    }
    field.size = (int32_t)(at - field.at);
    s->at = at + 2 < s->end ? at + 2 : s->end;
    return field;
}

const char *levada_csv_split(const levada_csv_rules *rules, const uint8_t *line, int32_t size,
                             levada_csv_field *fields, int64_t capacity, int64_t *n, int32_t *at)
{
    line_split s = { rules, line, line + size, NULL };
    int64_t    number = 0;

    *n = 0;
    for (; s.at < s.end; number++) {
        bool             wanted = !rules->wanted || rules->wanted[*n] == number;
        levada_csv_field field;

        while (s.at < s.end && (*s.at == '\n' || *s.at == '\r')) s.at++;
        if (s.at == s.end) break;
        field = rules->quotes && *s.at == rules->quote ? line_quoted(&s) : line_plain(&s);
        if (s.wrong) {
            *n = number;
            *at = (int32_t)(s.at - line);
            return s.wrong;
        }
        if (!wanted) continue;
        if (*n < capacity) fields[*n] = field;
        if (++*n == rules->nwanted && rules->wanted) return NULL;
    }
    if ((size > 0 ? line[size - 1] == rules->delim : rules->file) &&
        (!rules->wanted || rules->wanted[*n] == number)) {
        if (*n < capacity) fields[*n] = (levada_csv_field){ .at = s.end };
        ++*n;
    }
    return NULL;
}

int32_t levada_csv_unescape(const levada_csv_field *field, uint8_t *to)
{
    uint8_t *from = to, quote = field->at[-1];

    for (int32_t i = 0; i < field->size; i++) {
        *to++ = field->at[i];
        if (field->at[i] == quote) i++;
    }
    return (int32_t)(to - from);
}
