/* SPDX-License-Identifier: Apache-2.0 */
#include "rows/json_scan.h"

#include "base/alloc.h"
#include "base/number.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { SCAN_SLACK = 64, SCAN_LIST = -1, SCAN_EMPTY = -2, SCAN_PATH = 96, SCAN_LONG = 480 };

/* A record while it is scanned. */
typedef struct scan {
    levada_json_parser *p;
    const uint8_t      *begin, *at, *end;
    const uint8_t      *copied; /* before it, the record is in the copy */
    int32_t             depth;  /* objects and lists that are open */
    bool                out_of_memory;
} scan;

/* -- the copy */

static bool scan_put(scan *s, const void *bytes, int64_t n)
{
    levada_json_array *to = &s->p->text;

    if (!levada_reserve(&to->at, &to->capacity, to->n + n + SCAN_SLACK, 1)) {
        s->out_of_memory = true;
        return false;
    }
    if (n > 0) memcpy((uint8_t *)to->at + to->n, bytes, (size_t)n);
    to->n += n;
    return true;
}

/* Continues after the next n bytes, with `text` in their place. */
static bool scan_replace(scan *s, int64_t n, const char *text)
{
    if (!scan_put(s, s->copied, s->at - s->copied)) return false;
    s->at += n;
    s->copied = s->at;
    s->p->mended = true;
    return scan_put(s, text, (int64_t)strlen(text));
}

/* Scans a number of n bytes. */
static bool scan_odd(scan *s, int32_t n, bool integer)
{
    levada_json_array *to = &s->p->odd;
    char               text[LEVADA_JSON_DIGITS];

    s->p->mended = true;
    if (s->p->lines) {
        s->at += n;
        return true;
    }
    if (!levada_reserve(&to->at, &to->capacity, to->n + 1, sizeof(levada_json_odd))) {
        s->out_of_memory = true;
        return false;
    }
    ((levada_json_odd *)to->at)[to->n] = (levada_json_odd){ (const char *)s->at, n, integer };
    (void)snprintf(text, sizeof text, "%" PRIu64, LEVADA_JSON_ODD + (uint64_t)to->n++);
    return scan_replace(s, n, text);
}

/* -- what is wrong */

static int32_t scan_key_size(const scan *s, const uint8_t *key)
{
    const uint8_t *end = key;

    while (end < s->end && *end != '"') end += *end == '\\' ? 2 : 1;
    return (int32_t)((end < s->end ? end : s->end) - key);
}

/* Writes "key 'a.b', ", or nothing. */
static void scan_path(const scan *s, char path[SCAN_PATH])
{
    size_t used = 0;

    path[0] = '\0';
    for (int32_t i = 0; i < s->depth && used < SCAN_PATH - 16; i++) {
        const uint8_t *key = s->begin + s->p->keys[i];
        int32_t        size, most = (int32_t)(SCAN_PATH - 12 - used);

        if (s->p->keys[i] < 0) continue;
        size = scan_key_size(s, key);
        used += (size_t)snprintf(path + used, SCAN_PATH - used, "%s%.*s", used ? "." : "key '",
                                 size < most ? size : most, (const char *)key);
    }
    if (used > 0) (void)snprintf(path + used, SCAN_PATH - used, "', ");
}

/* Sets the error and returns false, as the functions of the scan do. */
LEVADA_PRINTF(2, 3) static bool scan_fail(scan *s, const char *format, ...)
{
    char   *wrong = s->p->wrong;
    char    path[SCAN_PATH];
    int     n;
    va_list list;

    scan_path(s, path);
    n = snprintf(wrong, LEVADA_JSON_WRONG, "%sbyte %lld: ", path, (long long)(s->at - s->begin));
    va_start(list, format);
    (void)vsnprintf(wrong + n, (size_t)(LEVADA_JSON_WRONG - n), format, list);
    va_end(list);
    return false;
}

static bool scan_is_word(uint8_t c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
}

/* Fails with "a value must be here, got 'None'". */
static bool scan_want(scan *s, const char *what)
{
    int32_t n = 0;

    if (s->at == s->end) return scan_fail(s, "%s must be here, and the record ends", what);
    if (*s->at < ' ' || *s->at >= 0x7f)
        return scan_fail(s, "%s must be here, got byte 0x%02x", what, *s->at);
    while (n < 20 && s->at + n < s->end && scan_is_word(s->at[n])) n++;
    return scan_fail(s, "%s must be here, got '%.*s'", what, n > 0 ? n : 1, (const char *)s->at);
}

/* -- strings */

/* Returns the number of bytes of the character at the place; where it is none, -1 and less: of what
 * begins one. */
static int32_t scan_character(const scan *s)
{
    uint8_t lead = *s->at, low = 0x80, high = 0xbf;
    int32_t size = lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 0;

    if (lead == 0xe0) low = 0xa0;
    if (lead == 0xed) high = 0x9f;
    if (lead == 0xf0) low = 0x90;
    if (lead == 0xf4) high = 0x8f;
    for (int32_t i = 1; i < size; i++, low = 0x80, high = 0xbf)
        if (s->at + i >= s->end || s->at[i] < low || s->at[i] > high) return -i;
    return size > 0 ? size : -1;
}

static bool scan_utf8(scan *s)
{
    int32_t n = scan_character(s);

    if (n > 0) {
        s->at += n;
        return true;
    }
    s->p->replaced = true;
    if (s->p->replace) return scan_replace(s, -n, "\xef\xbf\xbd");
    return scan_fail(s, "byte 0x%02x is not UTF-8: invalid=replace reads it as U+FFFD", *s->at);
}

static int32_t scan_digit(uint8_t c)
{
    if (c >= '0' && c <= '9') return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Returns the code of an escape \uXXXX at the place; -1 where there is none. */
static int32_t scan_code(const scan *s, const uint8_t *at)
{
    int32_t code = 0;

    if (s->end - at < 6 || at[0] != '\\' || at[1] != 'u') return -1;
    for (int32_t i = 2; i < 6; i++) {
        int32_t digit = scan_digit(at[i]);

        if (digit < 0) return -1;
        code = code << 4 | digit;
    }
    return code;
}

static bool scan_unicode(scan *s)
{
    int32_t code = scan_code(s, s->at), low;

    if (code < 0) return scan_fail(s, "\\u must be followed by four hexadecimal digits");
    if (code < 0xd800 || code > 0xdfff) {
        s->at += 6;
        return true;
    }
    low = code < 0xdc00 ? scan_code(s, s->at + 6) : -1;
    if (low >= 0xdc00 && low <= 0xdfff) {
        s->at += 12;
        return true;
    }
    s->p->replaced = true;
    if (s->p->replace) return scan_replace(s, 6, "\\ufffd");
    return scan_fail(s, "\\u%04x is a lone surrogate: invalid=replace reads it as U+FFFD",
                     (unsigned)code);
}

static bool scan_escape(scan *s)
{
    if (s->at + 1 < s->end && s->at[1] == 'u') return scan_unicode(s);
    if (s->at + 1 == s->end || !s->at[1] || !strchr("\"\\/bfnrt", s->at[1]))
        return scan_fail(s, "a backslash must be followed by one of \"\\/bfnrtu");
    s->at += 2;
    return true;
}

static bool scan_string(scan *s)
{
    for (s->at++; s->at < s->end && *s->at != '"';) {
        uint8_t c = *s->at;

        if (c == '\\') {
            if (!scan_escape(s)) return false;
        } else if (c < ' ') {
            return scan_fail(s, "the control character 0x%02x in a string must be escaped", c);
        } else if (c < 0x80) {
            s->at++;
        } else if (!scan_utf8(s)) {
            return false;
        }
    }
    if (s->at == s->end) return scan_want(s, "the quote that ends a string");
    s->at++;
    return true;
}

/* -- values */

static void scan_space(scan *s)
{
    while (s->at < s->end &&
           (*s->at == ' ' || *s->at == '\t' || *s->at == '\n' || *s->at == '\r'))
        s->at++;
}

static bool scan_has(const scan *s, const char *word)
{
    size_t n = strlen(word);

    return (size_t)(s->end - s->at) >= n && memcmp(s->at, word, n) == 0;
}

static bool scan_word(scan *s)
{
    static const char *const words[] = { "true", "false", "null", "NaN", "Infinity", "-Infinity" };

    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (!scan_has(s, words[i])) continue;
        if (i > 2) return scan_odd(s, (int32_t)strlen(words[i]), false);
        s->at += strlen(words[i]);
        return true;
    }
    return scan_want(s, "a value");
}

static bool scan_number(scan *s)
{
    int32_t            n = 1;
    int64_t            i;
    double             f;
    bool               integer;
    levada_number_kind kind;

    while (s->at + n < s->end && s->at[n] && strchr("0123456789+-.eE", s->at[n])) n++;
    if (n == 1 && *s->at == '-') return scan_word(s);
    kind = levada_number_read((const char *)s->at, (size_t)n, &i, &f);
    if (kind == LEVADA_NUMBER_NONE) return scan_want(s, "a number as JSON writes it");
    integer = !memchr(s->at, '.', (size_t)n) && !memchr(s->at, 'e', (size_t)n) &&
              !memchr(s->at, 'E', (size_t)n);
    if (kind == LEVADA_NUMBER_BIG && (integer || n <= SCAN_LONG)) return scan_odd(s, n, integer);
    s->at += n;
    return true;
}

/* Reads the key of the innermost object, and the colon. */
static bool scan_key(scan *s)
{
    s->p->keys[s->depth - 1] = SCAN_EMPTY;
    scan_space(s);
    if (s->at == s->end || *s->at != '"') return scan_want(s, "a key in quotes");
    s->p->keys[s->depth - 1] = (int32_t)(s->at + 1 - s->begin);
    if (!scan_string(s)) return false;
    scan_space(s);
    if (s->at == s->end || *s->at != ':') return scan_want(s, "':'");
    s->at++;
    return true;
}

/* Begins an object or a list. Sets *whole if it has ended, too. */
static bool scan_open(scan *s, bool *whole)
{
    bool object = *s->at == '{';

    if (s->depth == LEVADA_JSON_LEVELS)
        return scan_fail(s, "more than %d objects and lists inside each other", LEVADA_JSON_LEVELS);
    s->p->keys[s->depth++] = object ? SCAN_EMPTY : SCAN_LIST;
    s->at++;
    scan_space(s);
    *whole = s->at < s->end && *s->at == (object ? '}' : ']');
    if (!*whole) return !object || scan_key(s);
    s->at++;
    s->depth--;
    return true;
}

/* Begins a value. Sets *whole if it has ended, too. */
static bool scan_value(scan *s, bool *whole)
{
    scan_space(s);
    *whole = true;
    if (s->at == s->end) return scan_want(s, "a value");
    if (*s->at == '{' || *s->at == '[') return scan_open(s, whole);
    if (*s->at == '"') return scan_string(s);
    return *s->at == '-' || (*s->at >= '0' && *s->at <= '9') ? scan_number(s) : scan_word(s);
}

/* Reads what follows a value of an object or a list. *whole: that ends here. */
static bool scan_after(scan *s, bool *whole)
{
    bool    object = s->p->keys[s->depth - 1] != SCAN_LIST;
    uint8_t close = object ? '}' : ']';

    scan_space(s);
    *whole = s->at < s->end && *s->at == close;
    if (!*whole && (s->at == s->end || *s->at != ','))
        return scan_want(s, object ? "',' or '}'" : "',' or ']'");
    s->at++;
    if (*whole) s->depth--;
    return *whole || !object || scan_key(s);
}

/* Checks that nothing follows the record. */
static bool scan_end(scan *s)
{
    const uint8_t *from = s->at;

    scan_space(s);
    if (s->at == s->end) return true;
    if (memchr(from, '\r', (size_t)(s->at - from)))
        return scan_fail(s, "another record follows a CR: lines must end in LF or CR LF, not in CR "
                            "alone (classic Mac): convert them with tr '\\r' '\\n'");
    return scan_want(s, "the end of the record");
}

static bool scan_record(scan *s)
{
    bool whole = false;

    for (;;) {
        if (!scan_value(s, &whole)) return false;
        while (whole) {
            if (s->depth == 0) return scan_end(s);
            if (!scan_after(s, &whole)) return false;
        }
    }
}

levada_status levada_json_scan(levada_json_parser *p, const uint8_t *text, size_t size,
                               const char **wrong, levada_error *err)
{
    scan s = { .p = p, .begin = text, .at = text, .end = text + size, .copied = text };
    bool good;

    p->mended = p->replaced = false;
    p->text.n = p->odd.n = 0;
    good = scan_record(&s);
    if (good && p->mended) good = scan_put(&s, s.copied, s.end - s.copied);
    if (s.out_of_memory)
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED,
                           "out of memory for a record of %zu bytes",
                           size);
    *wrong = good ? NULL : p->wrong;
    p->mended = p->mended && good;
    if (p->mended) memset((uint8_t *)p->text.at + p->text.n, 0, SCAN_SLACK);
    return LEVADA_OK;
}
