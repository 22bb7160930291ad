/* SPDX-License-Identifier: Apache-2.0 */
#include "rows/json_parser.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "base/number.h"
#include "base/text.h"
#include "rows/json_scan.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

levada_status levada_json_parser_open(levada_json_parser *p, bool replace, levada_error *err)
{
    p->replace = replace;
    return levada_json_reader_create(&p->reader, err);
}

void levada_json_parser_close(levada_json_parser *p)
{
    levada_free(p->text.at);
    levada_free(p->odd.at);
    levada_free(p->numbers.at);
    levada_json_reader_destroy(&p->reader);
    *p = (levada_json_parser){ 0 };
}

static levada_status parser_parse(levada_json_parser *p, const uint8_t *text, size_t size,
                                  const char **wrong, levada_json_value *root, levada_error *err)
{
    LEVADA_TRY(levada_json_reader_reserve(p->reader, size, err));
    *wrong = levada_json_reader_parse(p->reader, text, size, root);
    p->parsed = text;
    p->nparsed = size;
    if (!*wrong) p->root = *root;
    return LEVADA_OK;
}

levada_status levada_json_parser_read(levada_json_parser *p, const uint8_t *text, size_t size,
                                      const char **wrong, levada_json_value *root,
                                      levada_error *err)
{
    const char *found = NULL;

    p->mended = p->replaced = false;
    p->numbers.n = 0;
    LEVADA_TRY(parser_parse(p, text, size, wrong, root, err));
    if (!*wrong) return LEVADA_OK;
    LEVADA_TRY(levada_json_scan(p, text, size, &found, err));
    if (found) *wrong = found;
    else if (p->mended && p->lines) *wrong = NULL;
    else if (p->mended)
        LEVADA_TRY(parser_parse(p, p->text.at, (size_t)p->text.n, wrong, root, err));
    return LEVADA_OK;
}

levada_json_odd levada_json_parser_odd(levada_json_parser *p, levada_json_value value)
{
    uint64_t big = levada_json_as_big(value);
    int      size;

    if (p->mended) return ((const levada_json_odd *)p->odd.at)[big - LEVADA_JSON_ODD];
    size = snprintf(p->digits, sizeof p->digits, "%" PRIu64, big);
    return (levada_json_odd){ p->digits, size, true };
}

/* -- numbers as the record has them */

static bool parser_add_number(levada_json_parser *p, levada_json_value value)
{
    levada_json_array *to = &p->numbers;

    if (!levada_reserve(&to->at, &to->capacity, to->n + 1, sizeof(levada_json_number)))
        return false;
    ((levada_json_number *)to->at)[to->n++] = (levada_json_number){ .at = value.at };
    return true;
}

static bool parser_walk(void *user, levada_json_value value);

static bool parser_walk_member(void *user, const char *name, size_t size, levada_json_value value)
{
    (void)name;
    (void)size;
    return parser_walk(user, value);
}

/* Collects the numbers of a value, which are in the order of the record. */
static bool parser_walk(void *user, levada_json_value value)
{
    switch (levada_json_kind_of(value)) {
    case LEVADA_JSON_INT:
    case LEVADA_JSON_BIG:
    case LEVADA_JSON_FLOAT: return parser_add_number(user, value);
    case LEVADA_JSON_LIST: return levada_json_each(value, parser_walk, user);
    case LEVADA_JSON_MAP: return levada_json_each_member(value, parser_walk_member, user);
    default: return true;
    }
}

static bool parser_of_number(uint8_t c)
{
    return (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E';
}

/* Finds the bytes of the numbers in a record that is valid JSON. */
static void parser_find_numbers(levada_json_parser *p)
{
    levada_json_number *next = p->numbers.at, *last = next + p->numbers.n;
    const uint8_t      *at = p->parsed, *end = at + p->nparsed, *from;

    while (at < end && next < last) {
        uint8_t c = *at++;

        if (c == '"') {
            while (*at != '"') at += *at == '\\' ? 2 : 1;
            at++;
        } else if (c == '-' || (c >= '0' && c <= '9')) {
            from = at - 1;
            while (at < end && parser_of_number(*at)) at++;
            next->text = (const char *)from;
            next++->size = (int32_t)(at - from);
        }
    }
}

const levada_json_number *levada_json_parser_number(levada_json_parser *p, levada_json_value value)
{
    const levada_json_number *found;
    int64_t                   low = 0, high;

    if (p->numbers.n == 0) {
        if (!parser_walk(p, p->root)) {
            p->numbers.n = 0;
            return NULL;
        }
        parser_find_numbers(p);
    }
    for (high = p->numbers.n - 1; low < high;) {
        int64_t middle = low + (high - low) / 2;

        if (((const levada_json_number *)p->numbers.at)[middle].at < value.at) low = middle + 1;
        else high = middle;
    }
    found = (const levada_json_number *)p->numbers.at + low;
    LEVADA_ASSERT(found->at == value.at);
    return found;
}

bool levada_json_odd_float(const levada_json_odd *odd, double *f)
{
    bool named = strchr("Ny", odd->text[odd->size - 1]) != NULL; /* NaN, Infinity */

    return levada_number_scan_f64(odd->text, (size_t)odd->size, f) != LEVADA_NUMBER_NONE &&
           (named || isfinite(*f));
}
