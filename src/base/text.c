/* SPDX-License-Identifier: Apache-2.0 */
#include "base/text.h"

#include "base/alloc.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

/* Reserves n more bytes and the end. */
static bool text_reserve(levada_text *text, size_t n)
{
    size_t capacity = text->capacity > 0 ? text->capacity : 64;

    if (text->failed) return false;
    if (n < text->capacity - text->size) return true;
    if (n >= SIZE_MAX / 4 - text->size) {
        text->failed = true;
        return false;
    }
    while (capacity < text->size + n + 1) capacity *= 2;
    if (capacity == text->capacity) return true;
    char *at = levada_realloc(text->at, capacity);
    if (at == NULL) {
        text->failed = true;
        return false;
    }
    text->at = at;
    text->capacity = capacity;
    return true;
}

void levada_text_add(levada_text *text, const void *bytes, size_t n)
{
    if (!text_reserve(text, n)) return;
    if (n > 0) memcpy(text->at + text->size, bytes, n);
    text->size += n;
    text->at[text->size] = '\0';
}

void levada_text_put(levada_text *text, const char *string)
{
    levada_text_add(text, string, strlen(string));
}

void levada_text_char(levada_text *text, char c)
{
    levada_text_add(text, &c, 1);
}

void levada_text_i64(levada_text *text, int64_t value)
{
    char     digits[20];
    size_t   at = sizeof digits;
    uint64_t left = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;

    do digits[--at] = (char)('0' + left % 10);
    while ((left /= 10) > 0);
    if (value < 0) digits[--at] = '-';
    levada_text_add(text, digits + at, sizeof digits - at);
}

void levada_text_format(levada_text *text, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    int n = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    if (n < 0 || !text_reserve(text, (size_t)n)) return;
    va_start(args, fmt);
    vsnprintf(text->at + text->size, (size_t)n + 1, fmt, args);
    va_end(args);
    text->size += (size_t)n;
}

static void text_escape(levada_text *text, uint32_t c)
{
    static const char from[] = "\"\\\b\f\n\r\t", to[] = "\"\\bfnrt";
    const char *found = c < 0x80u ? strchr(from, (int)c) : NULL;

    if (c != '\0' && found != NULL) {
        levada_text_char(text, '\\');
        levada_text_char(text, to[found - from]);
    } else {
        levada_text_format(text, "\\u%04x", (unsigned)c);
    }
}

/* Returns the number of bytes of the valid character that begins at p, 0 if there is none. */
static size_t text_character(const unsigned char *p, size_t n)
{
    size_t size = p[0] < 0x80u ? 1 : p[0] < 0xC2u ? 0 : p[0] < 0xE0u ? 2 : p[0] < 0xF0u ? 3 : 4;

    if (size == 0 || size > n || p[0] > 0xF4u) return 0;
    for (size_t i = 1; i < size; i++) {
        if ((p[i] & 0xC0u) != 0x80u) return 0;
    }
    if (p[0] == 0xE0u && p[1] < 0xA0u) return 0; /* too long a form */
    if (p[0] == 0xEDu && p[1] > 0x9Fu) return 0; /* a surrogate     */
    if (p[0] == 0xF0u && p[1] < 0x90u) return 0;
    if (p[0] == 0xF4u && p[1] > 0x8Fu) return 0;
    return size;
}

/* Decodes a character of up to 3 bytes; what is escaped has no more. */
static uint32_t text_code(const unsigned char *p, size_t size)
{
    if (size == 1) return p[0];
    if (size == 2) return (uint32_t)(p[0] & 0x1Fu) << 6 | (p[1] & 0x3Fu);
    return (uint32_t)(p[0] & 0xFu) << 12 | (uint32_t)(p[1] & 0x3Fu) << 6 | (p[2] & 0x3Fu);
}

/* Recognizes control characters, bidi controls, and separators of lines and paragraphs. */
static bool text_is_obeyed(uint32_t c)
{
    if (c < 0xA0u) return c < 0x20u || c >= 0x7Fu;
    return c == 0x061Cu || c == 0x200Eu || c == 0x200Fu || (c >= 0x2028u && c <= 0x202Eu) ||
           (c >= 0x2066u && c <= 0x2069u);
}

static bool text_is_escaped(uint32_t c)
{
    return c == '"' || c == '\\' || text_is_obeyed(c);
}

bool levada_text_obeyed(const char *bytes, size_t n)
{
    const unsigned char *p = (const unsigned char *)bytes;
    size_t               size = text_character(p, n);

    return size > 0 && size < 4 && text_is_obeyed(text_code(p, size));
}

#define TEXT_ONES UINT64_C(0x0101010101010101)
#define TEXT_TOPS (TEXT_ONES * 0x80)

static uint64_t text_word(const unsigned char *p)
{
    uint64_t word;

    memcpy(&word, p, sizeof word);
    return word;
}

/* Sets some top bit if one of eight ASCII bytes is less than `than`, at most 128. */
static uint64_t text_less(uint64_t word, uint64_t than)
{
    return (word - TEXT_ONES * than) & ~word;
}

/* Returns true if these eight bytes are printable ASCII that no JSON string escapes. */
static bool text_is_plain(const unsigned char *p)
{
    uint64_t word = text_word(p);
    uint64_t strange = word | (word + TEXT_ONES) | text_less(word, 0x20) |
                       text_less(word ^ (TEXT_ONES * '"'), 1) |
                       text_less(word ^ (TEXT_ONES * '\\'), 1);

    return (strange & TEXT_TOPS) == 0;
}

void levada_text_json(levada_text *text, const char *bytes, size_t n)
{
    const unsigned char *p = (const unsigned char *)bytes;
    size_t from = 0, size;

    levada_text_char(text, '"');
    for (size_t i = 0; i < n; i += size) {
        uint32_t c;

        size = 8;
        if (n - i >= size && text_is_plain(p + i)) continue;
        size = 1;
        if (p[i] >= 0x20u && p[i] < 0x7Fu && p[i] != '"' && p[i] != '\\') continue;
        size = text_character(p + i, n - i);
        c = size == 0 ? 0xFFFDu : 0x10000u; /* not UTF-8, or beyond the first plane */
        if (size > 0 && size < 4) c = text_code(p + i, size);
        if (size > 0 && !text_is_escaped(c)) continue;
        levada_text_add(text, bytes + from, i - from);
        text_escape(text, c);
        if (size == 0) size = 1;
        from = i + size;
    }
    levada_text_add(text, bytes + from, n - from);
    levada_text_char(text, '"');
}

void levada_text_base64(levada_text *text, const char *bytes, size_t n)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

    for (size_t i = 0; i < n; i += 3) {
        uint32_t bits = 0;
        char     four[4] = {'=', '=', '=', '='};
        size_t   m = n - i < 3 ? n - i : 3;
        for (size_t k = 0; k < m; k++) bits |= (uint32_t)(uint8_t)bytes[i + k] << (16 - 8 * k);
        for (size_t k = 0; k <= m; k++) four[k] = digits[bits >> (18 - 6 * k) & 0x3Fu];
        levada_text_add(text, four, 4);
    }
}

void levada_text_json_name(levada_text *text, const char *bytes, size_t n)
{
    static const char prefix[] = "base64:";
    const size_t      skip = sizeof prefix - 1;
    bool              hard = levada_utf8_check(bytes, n) < n || (n > 0 && memchr(bytes, 0, n)) ||
                (n >= skip && memcmp(bytes, prefix, skip) == 0);

    if (!hard) {
        levada_text_json(text, bytes, n);
        return;
    }
    levada_text_format(text, "\"%s", prefix);
    levada_text_base64(text, bytes, n);
    levada_text_char(text, '"');
}

levada_status levada_text_steal(levada_text *text, char **out, levada_error *err)
{
    levada_text_add(text, "", 0);
    if (text->failed) {
        levada_text_clear(text);
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for text");
    }
    *out = text->at;
    *text = (levada_text){0};
    return LEVADA_OK;
}

void levada_text_clear(levada_text *text)
{
    levada_free(text->at);
    *text = (levada_text){0};
}

size_t levada_utf8_check(const char *bytes, size_t n)
{
    const unsigned char *p = (const unsigned char *)bytes;

    for (size_t i = 0; i < n;) {
        size_t size = n - i >= 8 && (text_word(p + i) & TEXT_TOPS) == 0
                          ? 8
                          : text_character(p + i, n - i);

        if (size == 0) return i;
        i += size;
    }
    return n;
}

int64_t levada_utf8_mark(const uint8_t *data, int64_t size)
{
    return size >= 3 && memcmp(data, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
}

size_t levada_utf8_write(uint32_t character, char out[4])
{
    static const uint8_t lead[5] = {0, 0, 0xC0, 0xE0, 0xF0};
    size_t size = character < 0x80u ? 1 : character < 0x800u ? 2 : character < 0x10000u ? 3 : 4;

    for (size_t i = size - 1; i > 0; i--) {
        out[i] = (char)(0x80u | (character & 0x3Fu));
        character >>= 6;
    }
    out[0] = (char)(lead[size] | character);
    return size;
}

enum { TEXT_NAME = 48 };

static size_t text_least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Edits from a to b, swaps of neighbors counted as one; both at most TEXT_NAME bytes. */
static size_t text_distance(const char *a, size_t na, const char *b, size_t nb)
{
    size_t row[3][TEXT_NAME + 1] = {{0}};

    for (size_t j = 0; j <= nb; j++) row[0][j] = j;
    for (size_t i = 1; i <= na; i++) {
        size_t *now = row[i % 3], *last = row[(i + 2) % 3], *before = row[(i + 1) % 3];
        now[0] = i;
        for (size_t j = 1; j <= nb; j++) {
            size_t change = last[j - 1] + (a[i - 1] != b[j - 1]);
            now[j] = text_least(change, text_least(last[j], now[j - 1]) + 1);
            bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            if (swapped) now[j] = text_least(now[j], before[j - 2] + 1);
        }
    }
    return row[na % 3][nb];
}

void levada_nearest(const char *name, const char *candidate, const char **best, size_t *distance)
{
    size_t n = strlen(name), m = strlen(candidate);

    if (n == 0 || n > TEXT_NAME || m > TEXT_NAME) return;
    size_t d = text_distance(name, n, candidate, m);
    /* The beginning of a name is near it, whatever is missing: `buffer` for `buffer_size`. */
    if (n >= 3 && m > n && memcmp(name, candidate, n) == 0 && d > 2) d = 2;
    if (d <= 1 + n / 4 && d < n && d < *distance) {
        *best = candidate;
        *distance = d;
    }
}

/* Returns true for the name of a parameter that signs a request, or that identifies a person. */
static bool text_secret(const char *name, size_t n)
{
    static const char *const ends[] = { "signature", "sig", "token", "credential", "secret",
                                        "password", "key" };

    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        size_t size = strlen(ends[i]);

        if (n >= size && strncasecmp(name + n - size, ends[i], size) == 0) return true;
    }
    return false;
}

void levada_text_hide_secrets(char *line)
{
    while ((line = strpbrk(line, "?&")) != NULL) {
        size_t n = strcspn(++line, "=?& \"'"), used, dots;

        if (line[n] != '=' || !text_secret(line, n)) continue;
        line += n + 1;
        used = strcspn(line, "& \"'");
        dots = used < 3 ? used : 3;
        memset(line, '.', dots);
        memmove(line + dots, line + used, strlen(line + used) + 1);
    }
}

const char *levada_base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}
