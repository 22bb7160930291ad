/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A row split by the places of its delimiters, quotes and newlines, which a kernel finds. A row
 * that breaks a rule, or is very long, is split again byte by byte, which says what is wrong.
 */
#include "rows/csv_columns.h"

/* A row while it is split. */
typedef struct split_row {
    const levada_csv_rules *rules;
    const uint8_t          *row;
    int32_t                 size, at;
    const int32_t          *mark, *stop; /* places that are left */
    levada_csv_field       *to;
    int64_t                 stride, capacity, n, number;
} split_row;

static void split_store(split_row *s, const uint8_t *at, int32_t size, bool escaped)
{
    const levada_csv_rules *rules = s->rules;

    if (rules->wanted && (s->n == rules->nwanted || rules->wanted[s->n] != s->number++)) return;
    if (s->n < s->capacity) s->to[s->n * s->stride] = (levada_csv_field){ at, size, escaped };
    s->n++;
}

/* Splits off a field in quotes, which begins at s->at. Returns false if it breaks a rule. */
static bool split_quoted(split_row *s, bool *more)
{
    int32_t begin = s->at + 1, end;
    bool    escaped = false;

    for (s->mark++; s->mark < s->stop; s->mark++) {
        end = *s->mark;
        if (s->row[end] != s->rules->quote) continue;
        if (end + 1 == s->size || s->row[end + 1] == s->rules->delim) {
            *more = end + 1 < s->size;
            s->mark += 1 + *more;
            s->at = end + 2;
            split_store(s, s->row + begin, end - begin, escaped);
            return true;
        }
        if (s->row[end + 1] != s->rules->quote) return false;
        escaped = true;
        s->mark++;
    }
    return false;
}

/* Returns false if the row breaks a rule. */
static bool split_marked(split_row *s)
{
    bool more = true, quotes = s->rules->quotes;

    while (more) {
        int32_t end = s->mark < s->stop ? *s->mark : s->size;

        if (quotes && s->at == end && end < s->size && s->row[end] == s->rules->quote) {
            if (!split_quoted(s, &more)) return false;
            continue;
        }
        more = end < s->size;
        if (more && s->row[end] != s->rules->delim) return false;
        split_store(s, s->row + s->at, end - s->at, false);
        s->at = end + 1;
        s->mark++;
    }
    return true;
}

/* Splits a usual row, with as many delimiters as it needs and no quotes. Returns false at the end
 * if anything did not fit. */
static bool split_plain(const split_row *s)
{
    const uint8_t *row = s->row;
    int32_t        at = 0, strange = 0;

    for (const int32_t *mark = s->mark; mark < s->stop; mark++) {
        s->to[(mark - s->mark) * s->stride] = (levada_csv_field){ row + at, *mark - at, false };
        strange |= row[*mark] ^ s->rules->delim;
        at = *mark + 1;
    }
    s->to[(s->stop - s->mark) * s->stride] = (levada_csv_field){ row + at, s->size - at, false };
    return strange == 0;
}

const char *levada_csv_split_row(levada_csv *csv, const uint8_t *row, int32_t size,
                                 levada_csv_field *to, int64_t stride, int64_t capacity,
                                 int64_t *n)
{
    const levada_csv_rules *rules = &csv->rules;
    const uint8_t set[4] = { rules->delim, rules->quotes ? rules->quote : rules->delim, '\n',
                             '\r' };
    split_row   s = { rules, row, size, 0, csv->marks, csv->marks, to, stride, capacity, 0, 0 };
    const char *wrong;
    size_t      scanned;

    if (size > 0 && size <= LEVADA_CSV_MARKS) {
        s.stop += csv->kernels->byte_index(row, (size_t)size, set, csv->marks, size, &scanned);
        *n = s.stop - s.mark + 1;
        csv->escapes = false;
        if (*n <= capacity && !rules->wanted && split_plain(&s)) return NULL;
        csv->escapes = true;
        if (split_marked(&s)) {
            *n = s.n;
            return NULL;
        }
    }
    csv->escapes = true;
    wrong = levada_csv_split(rules, row, size, csv->row, capacity, n, &csv->wrong_at);
    for (int64_t i = 0; !wrong && i < *n && i < capacity; i++) to[i * stride] = csv->row[i];
    return wrong;
}
