/* SPDX-License-Identifier: Apache-2.0 */
#include "files/braces.h"

#include "base/text.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BRACES_LIMIT  (INT64_C(1) << 20)
#define BRACES_DIGITS 18 /* fit into an int64 */

typedef struct braces {
    levada_braces_take take;
    void              *user;
    int64_t            n; /* number of emitted patterns */
} braces;

typedef struct braces_group {
    const char *open, *close; /* the two braces */
    bool        comma;        /* alternatives, not a range */
} braces_group;

typedef struct braces_range {
    int64_t first, last, step; /* step > 0 */
    size_t  width;             /* digits to pad to; 0 = none */
    bool    letters;
} braces_range;

static levada_status braces_walk(braces *b, const char *pattern, levada_error *err);

static levada_status braces_many(levada_error *err)
{
    return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED,
                       "a file pattern must expand to at most %lld names",
                       (long long)BRACES_LIMIT);
}

/* Finds the brace that closes the one at `open`; NULL if there is none. */
static const char *braces_close(const char *open, bool *comma)
{
    int32_t depth = 0;

    *comma = false;
    for (const char *at = open; *at; at++) {
        if (*at == '\\' && at[1]) at++;
        else if (*at == '{') depth++;
        else if (*at == ',' && depth == 1) *comma = true;
        else if (*at == '}' && --depth == 0) return at;
    }
    return NULL;
}

/* Reads a number with an optional sign; returns the byte after it, or NULL. */
static const char *braces_number(const char *at, int64_t *value, size_t *width)
{
    const char *digits = at + (*at == '-');
    size_t      n = strspn(digits, "0123456789");

    if (n == 0 || n > BRACES_DIGITS) return NULL;
    *value = strtoll(at, NULL, 10);
    if (digits[0] == '0' && n > 1) *width = n > *width ? n : *width;
    return digits + n;
}

static bool braces_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/* Reads FIRST..LAST or FIRST..LAST..STEP between the braces. */
static bool braces_is_range(const braces_group *g, braces_range *r)
{
    const char *at = g->open + 1;
    size_t      ignored = 0;

    *r = (braces_range){ .step = 1 };
    if (braces_letter(*at) && strncmp(at + 1, "..", 2) == 0 && braces_letter(at[3])) {
        r->letters = true;
        r->first = (unsigned char)at[0];
        r->last = (unsigned char)at[3];
        at += 4;
    } else {
        at = braces_number(at, &r->first, &r->width);
        if (!at || strncmp(at, "..", 2) != 0) return false;
        at = braces_number(at + 2, &r->last, &r->width);
        if (!at) return false;
    }
    if (strncmp(at, "..", 2) == 0) {
        at = braces_number(at + 2, &r->step, &ignored);
        if (r->step < 0) r->step = -r->step;
        if (r->step == 0) r->step = 1;
    }
    return at == g->close;
}

/* Finds the first group of the pattern. */
static bool braces_find(const char *pattern, braces_group *g, braces_range *r)
{
    for (const char *at = pattern; *at; at++) {
        if (*at == '\\' && at[1]) {
            at++;
            continue;
        }
        if (*at != '{' || (at > pattern && at[-1] == '[')) continue;
        g->open = at;
        g->close = braces_close(at, &g->comma);
        if (g->close && (g->comma || braces_is_range(g, r))) return true;
    }
    return false;
}

/* Expands what remains after the group was replaced by n bytes at `middle`. */
static levada_status braces_join(braces *b, const char *pattern, const braces_group *g,
                                 const char *middle, size_t n, levada_error *err)
{
    levada_text   text = { 0 };
    levada_status st;

    levada_text_add(&text, pattern, (size_t)(g->open - pattern));
    levada_text_add(&text, middle, n);
    levada_text_put(&text, g->close + 1);
    if (text.failed) {
        levada_text_clear(&text);
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory");
    }
    st = braces_walk(b, text.at ? text.at : "", err);
    levada_text_clear(&text);
    return st;
}

static levada_status braces_choices(braces *b, const char *pattern, const braces_group *g,
                                    levada_error *err)
{
    const char *from = g->open + 1;
    int32_t     depth = 0;

    for (const char *at = from; at <= g->close; at++) {
        if (at == g->close || (*at == ',' && depth == 0)) {
            LEVADA_TRY(braces_join(b, pattern, g, from, (size_t)(at - from), err));
            from = at + 1;
        } else if (*at == '\\') {
            at++;
        } else {
            depth += (*at == '{') - (*at == '}');
        }
    }
    return LEVADA_OK;
}

static levada_status braces_numbers(braces *b, const char *pattern, const braces_group *g,
                                    const braces_range *r, levada_error *err)
{
    int64_t step = r->first <= r->last ? r->step : -r->step;
    int64_t count = (r->last - r->first) / step; /* beyond the first one */

    if (count >= BRACES_LIMIT - b->n) return braces_many(err);
    for (int64_t i = 0; i <= count; i++) {
        int64_t value = r->first + i * step;
        char     text[48];

        if (r->letters) (void)snprintf(text, sizeof text, "%c", (int)value);
        else (void)snprintf(text, sizeof text, "%s%0*lld", value < 0 ? "-" : "", (int)r->width,
                            (long long)(value < 0 ? -value : value));
        LEVADA_TRY(braces_join(b, pattern, g, text, strlen(text), err));
    }
    return LEVADA_OK;
}

static levada_status braces_walk(braces *b, const char *pattern, levada_error *err)
{
    braces_group g;
    braces_range r;

    if (braces_find(pattern, &g, &r)) {
        return g.comma ? braces_choices(b, pattern, &g, err)
                       : braces_numbers(b, pattern, &g, &r, err);
    }
    if (b->n++ >= BRACES_LIMIT) return braces_many(err);
    return b->take(b->user, pattern, err);
}

levada_status levada_braces_expand(const char *pattern, levada_braces_take take, void *user,
                                   levada_error *err)
{
    braces b = { .take = take, .user = user };

    return braces_walk(&b, pattern, err);
}
