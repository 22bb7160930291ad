/* SPDX-License-Identifier: Apache-2.0 */
#include "description/parse.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "base/number.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

levada_status levada_parser_fail(const levada_parser *p, size_t offset, levada_error *err,
                                 const char *fmt, ...)
{
    char         message[192];
    levada_where where = levada_where_is(p->text, p->size, p->file, offset);
    va_list      args;

    va_start(args, fmt);
    int n = vsnprintf(message, sizeof(message), fmt, args);
    va_end(args);
    if (n < 0) message[0] = '\0';
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "%s%s", message, where.text);
}

static levada_status parse_no_memory(levada_error *err)
{
    return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a pipeline");
}

levada_status levada_parser_init(levada_parser *p, levada_env *env, const char *text, size_t size,
                                 levada_error *err)
{
    *p = (levada_parser){
        .env = env, .text = text ? text : "", .size = size, .limit = LEVADA_NEST_TEXT
    };
    size_t bad = levada_utf8_check(text, size);
    if (bad < size) return levada_parser_fail(p, bad, err, "the text is not valid UTF-8");
    if (levada_parser_peek(p) == '{') p->limit = LEVADA_NEST_RAW - 1;
    return LEVADA_OK;
}

char levada_parser_peek(levada_parser *p)
{
    while (p->at < p->size && strchr(" \t\r\n", p->text[p->at]) != NULL && p->text[p->at] != 0) {
        p->at++;
    }
    return p->at < p->size ? p->text[p->at] : '\0';
}

bool levada_parser_accept(levada_parser *p, char c)
{
    if (levada_parser_peek(p) != c || p->at >= p->size) return false;
    p->at++;
    return true;
}

/* Writes "'x'" or "the end", for messages. */
static const char *parse_found(const levada_parser *p, char out[8])
{
    size_t n = 1;

    if (p->at >= p->size) return "the end";
    while (p->at + n < p->size && n < 4 && ((unsigned char)p->text[p->at + n] & 0xC0u) == 0x80u) {
        n++;
    }
    snprintf(out, 8, "'%.*s'", (int)n, p->text + p->at);
    return out;
}

levada_status levada_parser_expect(levada_parser *p, char c, levada_error *err)
{
    char found[8];

    if (levada_parser_accept(p, c)) return LEVADA_OK;
    return levada_parser_fail(p, p->at, err, "expected '%c', found %s", c, parse_found(p, found));
}

levada_status levada_parser_enter(levada_parser *p, levada_error *err)
{
    if (p->nest >= p->limit)
        return levada_parser_fail(p, p->at, err,
                                  "nested too deeply: the limit is %d", (int)p->limit);
    p->nest++;
    return LEVADA_OK;
}

void levada_parser_leave(levada_parser *p)
{
    p->nest--;
}

size_t levada_parser_word(const levada_parser *p, const char *stop)
{
    size_t at = p->at;

    for (; at < p->size; at++) {
        unsigned char c = (unsigned char)p->text[at];
        if (c <= 0x20u || c == 0x7Fu || strchr(",|;()[]{}=\"", c) != NULL) break;
        if (strchr(stop, c) != NULL) break;
    }
    return at - p->at;
}

/* Reads four hexadecimal digits at the cursor. */
static bool parse_hex(levada_parser *p, uint32_t *out)
{
    uint32_t value = 0;

    for (int i = 0; i < 4; i++, p->at++) {
        int c = p->at < p->size ? p->text[p->at] : 0;
        int digit = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : -1;
        if (digit < 0) return false;
        value = value << 4 | (uint32_t)digit;
    }
    *out = value;
    return true;
}

/* Reads \uXXXX, after the u; two of them if the first is half of a character. */
static levada_status parse_unicode(levada_parser *p, levada_text *to, levada_error *err)
{
    size_t   start = p->at - 2;
    uint32_t c, low;
    char     bytes[4];

    if (!parse_hex(p, &c)) return levada_parser_fail(p, start, err,
                                                     "\\u must be followed by four hexadecimal "
                                                     "digits");
    if (c >= 0xD800u && c < 0xDC00u) {
        bool pair = p->at + 1 < p->size && p->text[p->at] == '\\' && p->text[p->at + 1] == 'u';
        if (pair) p->at += 2;
        if (!pair || !parse_hex(p, &low) || low < 0xDC00u || low > 0xDFFFu) {
            return levada_parser_fail(p, start, err,
                                      "\\u must name a whole character, got half of a surrogate "
                                      "pair");
        }
        c = 0x10000u + ((c - 0xD800u) << 10) + (low - 0xDC00u);
    } else if (c >= 0xDC00u && c < 0xE000u) {
        return levada_parser_fail(p, start, err,
                                  "\\u must name a whole character, got half of a surrogate pair");
    }
    levada_text_add(to, bytes, levada_utf8_write(c, bytes));
    return LEVADA_OK;
}

static levada_status parse_escape(levada_parser *p, levada_text *to, levada_error *err)
{
    static const char from[] = "\"\\/bfnrt", into[] = "\"\\/\b\f\n\r\t";
    char              c = p->at + 1 < p->size ? p->text[p->at + 1] : '\0';
    const char       *found = c != '\0' ? strchr(from, c) : NULL;

    p->at += 2;
    if (c == 'u') return parse_unicode(p, to, err);
    if (found == NULL)
        return levada_parser_fail(p, p->at - 2, err,
                                  "a backslash must be followed by one of \"\\/bfnrtu");
    levada_text_char(to, into[found - from]);
    return LEVADA_OK;
}

/* Reads a JSON string, at its quote. */
static levada_status parse_string(levada_parser *p, levada_text *to, levada_error *err)
{
    size_t start = p->at++, from = p->at;

    for (;;) {
        char c = p->at < p->size ? p->text[p->at] : '\0';
        if (p->at >= p->size) return levada_parser_fail(p, start, err, "string without an end");
        if ((unsigned char)c < 0x20u) {
            return levada_parser_fail(p, p->at, err,
                                      "the control character 0x%02x in a string must be escaped",
                                      (unsigned)(unsigned char)c);
        }
        if (c != '"' && c != '\\') {
            p->at++;
            continue;
        }
        levada_text_add(to, p->text + from, p->at - from);
        if (c == '"') break;
        LEVADA_TRY(parse_escape(p, to, err));
        from = p->at;
    }
    p->at++;
    return to->failed ? parse_no_memory(err) : LEVADA_OK;
}

static levada_status parse_made(levada_value *value, levada_value **out, levada_error *err)
{
    if (value == NULL) return parse_no_memory(err);
    *out = value;
    return LEVADA_OK;
}

static bool parse_is(const char *word, size_t n, const char *what)
{
    return strlen(what) == n && memcmp(word, what, n) == 0;
}

static levada_value *parse_constant(const char *word, size_t n)
{
    if (parse_is(word, n, "true")) return levada_value_bool(true);
    if (parse_is(word, n, "false")) return levada_value_bool(false);
    if (parse_is(word, n, "nan")) return levada_value_float(NAN);
    if (parse_is(word, n, "inf")) return levada_value_float(INFINITY);
    if (parse_is(word, n, "-inf")) return levada_value_float(-INFINITY);
    return levada_value_text(word, n);
}

/* Returns true if the text is a word of JSON: numbers have its grammar in pipeline text too. */
static bool parse_is_json(const char *word, size_t n)
{
    return parse_is(word, n, "true") || parse_is(word, n, "false") || parse_is(word, n, "null") ||
           *word == '-' || (*word >= '0' && *word <= '9');
}

static levada_status parse_word(levada_parser *p, bool plain, levada_value **out,
                                levada_error *err)
{
    const char *word = p->text + p->at;
    size_t      n = levada_parser_word(p, ""), start = p->at;
    int64_t     i = 0;
    double      f = 0;
    char        found[8];

    if (n == 0) {
        return levada_parser_fail(p, p->at, err, "expected a value, found %s",
                                  parse_found(p, found));
    }
    if (p->strict && !parse_is_json(word, n)) {
        return levada_parser_fail(p, start, err, "expected a JSON value, found %s",
                                  parse_found(p, found));
    }
    p->at += n;
    if (parse_is(word, n, "null")) return parse_made(levada_value_null(), out, err);
    if (plain) return parse_made(levada_value_text(word, n), out, err);
    switch (levada_number_read(word, n, &i, &f)) {
    case LEVADA_NUMBER_INT: return parse_made(levada_value_int(i), out, err);
    case LEVADA_NUMBER_FLOAT: return parse_made(levada_value_float(f), out, err);
    case LEVADA_NUMBER_BIG:
        return levada_parser_fail(p, start, err, "%.*s is a number beyond 64 bits",
                                  n < 40 ? (int)n : 40, word);
    case LEVADA_NUMBER_NONE: break;
    }
    if (p->strict && (*word == '-' || (*word >= '0' && *word <= '9'))) {
        return levada_parser_fail(p, start, err, "%.*s is not a number", n < 40 ? (int)n : 40,
                                  word);
    }
    return parse_made(parse_constant(word, n), out, err);
}

static levada_status parse_list(levada_parser *p, bool plain, levada_value *list,
                                levada_error *err)
{
    p->at++;
    if (levada_parser_accept(p, ']')) return LEVADA_OK;
    do {
        levada_value *item = NULL;
        LEVADA_TRY(levada_parse_raw(p, plain, &item, err));
        levada_status status = levada_value_push(list, &item, err);
        levada_value_destroy(&item);
        if (status != LEVADA_OK) return status;
    } while (levada_parser_accept(p, ','));
    return levada_parser_expect(p, ']', err);
}

/* Reads a name before ":". */
static levada_status parse_key(levada_parser *p, levada_text *key, levada_error *err)
{
    size_t start = p->at, n = 0;
    char   found[8];

    levada_text_add(key, "", 0);
    if (levada_parser_peek(p) == '"') {
        LEVADA_TRY(parse_string(p, key, err));
        bool broken = strlen(key->at) != key->size;
        if (broken) return levada_parser_fail(p, start, err, "a name must not contain a zero byte");
    } else {
        n = p->strict ? 0 : levada_parser_word(p, ":");
        if (n == 0) {
            return levada_parser_fail(p, p->at, err, "expected a name, found %s",
                                      parse_found(p, found));
        }
        levada_text_add(key, p->text + p->at, n);
        p->at += n;
    }
    return key->failed ? parse_no_memory(err) : levada_parser_expect(p, ':', err);
}

static levada_status parse_entry(levada_parser *p, levada_value *map, levada_error *err)
{
    levada_text   key = {0};
    levada_value *item = NULL;
    levada_parser_peek(p);
    size_t        start = p->at;
    levada_status status = parse_key(p, &key, err);

    if (status != LEVADA_OK) goto out;
    if (levada_value_get(map, key.at) != NULL) {
        status = levada_parser_fail(p, start, err, "'%s' occurs twice", key.at);
        goto out;
    }
    status = levada_parse_raw(p, false, &item, err);
    if (status == LEVADA_OK) status = levada_value_set(map, key.at, &item, err);
out:
    levada_text_clear(&key);
    levada_value_destroy(&item);
    return status;
}

static levada_status parse_map(levada_parser *p, levada_value *map, levada_error *err)
{
    p->at++;
    if (levada_parser_accept(p, '}')) return LEVADA_OK;
    do {
        LEVADA_TRY(parse_entry(p, map, err));
    } while (levada_parser_accept(p, ','));
    return levada_parser_expect(p, '}', err);
}

/* Reads a list or a map, at its bracket. */
static levada_status parse_bracket(levada_parser *p, bool plain, levada_value **out,
                                   levada_error *err)
{
    bool          is_list = p->text[p->at] == '[';
    levada_value *value = is_list ? levada_value_list() : levada_value_map();

    if (value == NULL) return parse_no_memory(err);
    levada_status status = levada_parser_enter(p, err);
    if (status == LEVADA_OK) {
        status = is_list ? parse_list(p, plain, value, err) : parse_map(p, value, err);
        levada_parser_leave(p);
    }
    if (status == LEVADA_OK) *out = value;
    else levada_value_destroy(&value);
    return status;
}

/* Reads "(" pipe ")". */
static levada_status parse_pipe_value(levada_parser *p, levada_value **out, levada_error *err)
{
    levada_value *value = NULL;

    if (p->make == NULL)
        return levada_parser_fail(p, p->at, err, "a sub-pipeline is not allowed here");
    p->at++;
    LEVADA_TRY(levada_parser_enter(p, err));
    levada_status status = p->make->pipe(p, &value, err);
    levada_parser_leave(p);
    if (status == LEVADA_OK) status = levada_parser_expect(p, ')', err);
    if (status == LEVADA_OK) *out = value;
    else levada_value_destroy(&value);
    return status;
}

static levada_status parse_quoted(levada_parser *p, levada_value **out, levada_error *err)
{
    levada_text   text = {0};
    levada_status status = parse_string(p, &text, err);

    if (status == LEVADA_OK) {
        status = parse_made(levada_value_text(text.at != NULL ? text.at : "", text.size), out, err);
    }
    levada_text_clear(&text);
    return status;
}

/* Reads "@path" or "@" and a string. */
static levada_status parse_include(levada_parser *p, bool plain, levada_value **out,
                                   levada_error *err)
{
    levada_text   path = {0};
    levada_status status = LEVADA_OK;
    size_t        start = p->at++;

    levada_text_add(&path, "", 0);
    if (p->at < p->size && p->text[p->at] == '"') {
        status = parse_string(p, &path, err);
    } else {
        size_t n = levada_parser_word(p, "");
        levada_text_add(&path, p->text + p->at, n);
        p->at += n;
    }
    if (status == LEVADA_OK && path.failed) status = parse_no_memory(err);
    if (status == LEVADA_OK && (path.size == 0 || strlen(path.at) != path.size)) {
        status = levada_parser_fail(p, start, err, "@ needs the path of a file");
    }
    if (status == LEVADA_OK && p->file != NULL) {
        status = levada_parser_fail(p, start, err,
                                    "@%s: an included file must not include another one", path.at);
    }
    if (status == LEVADA_OK) status = levada_parse_file(p, path.at, plain, out, err);
    levada_text_clear(&path);
    return status;
}

levada_status levada_parse_raw(levada_parser *p, bool plain, levada_value **out,
                               levada_error *err)
{
    switch (levada_parser_peek(p)) {
    case '"': return parse_quoted(p, out, err);
    case '[':
    case '{': return parse_bracket(p, plain, out, err);
    case '(':
        if (!p->strict) return parse_pipe_value(p, out, err);
        break;
    case '@':
        if (!p->strict) return parse_include(p, plain, out, err);
        break;
    default: break;
    }
    return parse_word(p, plain, out, err);
}

levada_status levada_parse_whole(levada_parser *p, bool plain, levada_value **out,
                                 levada_error *err)
{
    levada_value *value = NULL;
    char          found[8];

    LEVADA_TRY(levada_parse_raw(p, plain, &value, err));
    levada_parser_peek(p);
    if (p->at < p->size) {
        levada_value_destroy(&value);
        return levada_parser_fail(p, p->at, err, "expected the end, found %s",
                                  parse_found(p, found));
    }
    *out = value;
    return LEVADA_OK;
}

levada_status levada_value_parse_json(const char *text, size_t size, levada_value **out,
                                      levada_error *err)
{
    LEVADA_TRY(levada_require(text != NULL || size == 0, "text", err));
    LEVADA_TRY(levada_require(out != NULL, "out", err));
    LEVADA_TRY(levada_require_size(size, "size", err));
    levada_parser p;

    LEVADA_TRY(levada_parser_init(&p, NULL, text, size, err));
    p.limit = LEVADA_NEST_RAW - 1;
    p.strict = true;
    return levada_parse_whole(&p, false, out, err);
}
