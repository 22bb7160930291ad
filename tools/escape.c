/* SPDX-License-Identifier: Apache-2.0 */
#include "escape.h"

#include <string.h>

static const char escape_digits[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
static const char escape_prefix[] = "base64:";

enum { ESCAPE_PREFIX = sizeof escape_prefix - 1 };

/* Returns the number of bytes of the UTF-8 character at s (1 to 4), which goes to *out, or 0 if
 * there is none. */
static size_t escape_utf8(const uint8_t *s, size_t n, uint32_t *out)
{
    static const uint32_t least[5] = { 0, 0, 0x80, 0x800, 0x10000 };
    size_t   size = s[0] < 0x80 ? 1 : s[0] < 0xC2 ? 0 : s[0] < 0xE0 ? 2 : s[0] < 0xF0 ? 3 : 4;
    uint32_t c;

    *out = s[0];
    if (size <= 1) return size;
    if (s[0] > 0xF4 || size > n) return 0;
    c = s[0] & (0x7FU >> size);
    for (size_t i = 1; i < size; i++) {
        if ((s[i] & 0xC0) != 0x80) return 0;
        c = c << 6 | (s[i] & 0x3FU);
    }
    *out = c;
    return c < least[size] || c > 0x10FFFF || (c >= 0xD800 && c < 0xE000) ? 0 : size;
}

/* Characters that a terminal obeys rather than shows. */
static bool escape_needed(uint32_t c)
{
    if (c < 0xA0) return c < 0x20 || c >= 0x7F;
    return c == 0x061C || c == 0x200E || c == 0x200F || (c >= 0x2028 && c <= 0x202E)
        || (c >= 0x2066 && c <= 0x2069);
}

static bool escape_is_utf8(const uint8_t *s, size_t n)
{
    uint32_t c;

    for (size_t i = 0, step; i < n; i += step) {
        step = escape_utf8(s + i, n - i, &c);
        if (step == 0) return false;
    }
    return true;
}

/* Returns the length of the text before the first character that is escaped. */
static size_t escape_plain(const uint8_t *s, size_t n, bool lines)
{
    size_t   i = 0, step;
    uint32_t c;

    for (; i < n; i += step) {
        if (s[i] >= 0x20 && s[i] < 0x7F) {
            step = 1;
            continue;
        }
        step = escape_utf8(s + i, n - i, &c);
        if (step == 0 || (escape_needed(c) && !(lines && c == '\n'))) break;
    }
    return i;
}

static void escape_show_one(levada_cli_buffer *b, const uint8_t *s, size_t step, uint32_t c)
{
    static const char from[] = "\n\r\t", to[] = "nrt";
    const char       *found = step == 1 && c != 0 ? strchr(from, (int)c) : NULL;

    if (found) levada_cli_printf(b, "\\%c", to[found - from]);
    else if (step <= 1) levada_cli_printf(b, "\\x%02x", s[0]);
    else levada_cli_printf(b, "\\u%04x", (unsigned)c);
}

static void escape_show(levada_cli_buffer *b, const uint8_t *s, size_t n, bool lines)
{
    while (n > 0) {
        size_t   plain = escape_plain(s, n, lines), step;
        uint32_t c;

        levada_cli_add(b, s, plain);
        s += plain;
        n -= plain;
        if (n == 0) break;
        step = escape_utf8(s, n, &c);
        escape_show_one(b, s, step, c);
        if (step == 0) step = 1;
        s += step;
        n -= step;
    }
}

void levada_cli_show(levada_cli_buffer *b, const void *bytes, size_t n)
{
    escape_show(b, bytes, n, false);
}

void levada_cli_show_text(levada_cli_buffer *b, const char *text)
{
    levada_cli_show(b, text, strlen(text));
}

void levada_cli_show_padded(levada_cli_buffer *b, const void *bytes, size_t n, int64_t width)
{
    size_t begin = b->size;

    levada_cli_show(b, bytes, n);
    width -= n > 0 ? levada_cli_width(b->at + begin, b->size - begin) : 0;
    levada_cli_repeat(b, " ", width > 0 ? width : 0);
}

void levada_cli_show_lines(levada_cli_buffer *b, const void *bytes, size_t n)
{
    escape_show(b, bytes, n, true);
}

bool levada_cli_is_plain(const void *bytes, size_t n)
{
    return escape_plain(bytes, n, true) == n;
}

static void escape_base64(levada_cli_buffer *b, const uint8_t *s, size_t n)
{
    char *to = levada_cli_buffer_reserve(b, (n + 2) / 3 * 4);
    char *begin = to;

    for (size_t i = 0; i < n; i += 3) {
        uint32_t three = (uint32_t)s[i] << 16;

        if (i + 1 < n) three |= (uint32_t)s[i + 1] << 8;
        if (i + 2 < n) three |= s[i + 2];
        *to++ = escape_digits[three >> 18];
        *to++ = escape_digits[three >> 12 & 63];
        *to++ = i + 1 < n ? escape_digits[three >> 6 & 63] : '=';
        *to++ = i + 2 < n ? escape_digits[three & 63] : '=';
    }
    *to = '\0';
    b->size += (size_t)(to - begin);
}

static void escape_json_one(levada_cli_buffer *b, uint32_t c)
{
    static const char from[] = "\"\\\n\r\t", to[] = "\"\\nrt";
    const char       *found = c != 0 && c < 0x80 ? strchr(from, (int)c) : NULL;

    if (found) levada_cli_printf(b, "\\%c", to[found - from]);
    else levada_cli_printf(b, "\\u%04x", (unsigned)c);
}

/* A JSON string of UTF-8. */
static void escape_json(levada_cli_buffer *b, const uint8_t *s, size_t n)
{
    size_t   begin = 0, step;
    uint32_t c;

    levada_cli_add(b, "\"", 1);
    for (size_t i = 0; i < n; i += step) {
        step = 1;
        if (s[i] >= 0x20 && s[i] < 0x7F && s[i] != '"' && s[i] != '\\') continue;
        step = escape_utf8(s + i, n - i, &c);
        if (!escape_needed(c) && c != '"' && c != '\\') continue;
        levada_cli_add(b, s + begin, i - begin);
        escape_json_one(b, c);
        begin = i + step;
    }
    levada_cli_add(b, s + begin, n - begin);
    levada_cli_add(b, "\"", 1);
}

void levada_cli_json_text(levada_cli_buffer *b, const void *bytes, size_t n)
{
    if (escape_is_utf8(bytes, n)) {
        escape_json(b, bytes, n);
        return;
    }
    levada_cli_puts(b, "{\"base64\":\"");
    escape_base64(b, bytes, n);
    levada_cli_puts(b, "\"}");
}

static bool escape_is_prefixed(const void *bytes, size_t n)
{
    return n >= ESCAPE_PREFIX && memcmp(bytes, escape_prefix, ESCAPE_PREFIX) == 0;
}

/* A name that a JSON key cannot hold as it is. */
static bool escape_is_hard(const void *bytes, size_t n)
{
    return !escape_is_utf8(bytes, n) || escape_is_prefixed(bytes, n) ||
           (n > 0 && memchr(bytes, 0, n));
}

void levada_cli_json_name(levada_cli_buffer *b, const void *bytes, size_t n)
{
    if (!escape_is_hard(bytes, n)) {
        escape_json(b, bytes, n);
        return;
    }
    levada_cli_printf(b, "\"%s", escape_prefix);
    escape_base64(b, bytes, n);
    levada_cli_add(b, "\"", 1);
}

bool levada_cli_name_read(levada_cli_buffer *b, const char *text)
{
    size_t n = strlen(text), begin = b->size;

    if (!escape_is_prefixed(text, n)) {
        levada_cli_add(b, text, n);
        return true;
    }
    return levada_cli_base64_read(b, text + ESCAPE_PREFIX, n - ESCAPE_PREFIX) &&
           escape_is_hard(b->at + begin, b->size - begin);
}

static int escape_digit(char c)
{
    const char *at = c ? strchr(escape_digits, c) : NULL;
    return at ? (int)(at - escape_digits) : -1;
}

bool levada_cli_base64_read(levada_cli_buffer *b, const char *text, size_t n)
{
    size_t pad = n > 1 && text[n - 1] == '=' ? (text[n - 2] == '=' ? 2 : 1) : 0;

    if (n % 4 != 0) return false;
    levada_cli_add(b, "", 0);
    for (size_t i = 0; i < n; i += 4) {
        size_t   fill = i + 4 == n ? pad : 0;
        uint32_t bits = 0;
        uint8_t  bytes[3];

        for (size_t k = 0; k < 4; k++) {
            int digit = k < 4 - fill ? escape_digit(text[i + k]) : 0;

            if (digit < 0) return false;
            bits = bits << 6 | (uint32_t)digit;
        }
        if ((fill == 1 && (bits & 0xFF) != 0) || (fill == 2 && (bits & 0xFFFF) != 0)) return false;
        for (int k = 0; k < 3; k++) bytes[k] = (uint8_t)(bits >> (16 - 8 * k));
        levada_cli_add(b, bytes, 3 - fill);
    }
    return true;
}
