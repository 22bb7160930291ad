/* SPDX-License-Identifier: Apache-2.0 */
#include "buffer.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void levada_cli_buffer_clear(levada_cli_buffer *b)
{
    free(b->at);
    *b = (levada_cli_buffer){ 0 };
}

char *levada_cli_buffer_room(levada_cli_buffer *b, size_t n)
{
    size_t wanted = b->size + n + 1;

    if (wanted > b->capacity) {
        size_t capacity = wanted < 256 ? 256 : wanted + wanted / 2;
        char  *at = realloc(b->at, capacity);

        if (!at) {
            fputs("levada: out of memory\n", stderr);
            exit(1);
        }
        b->at = at;
        b->capacity = capacity;
    }
    return b->at + b->size;
}

void levada_cli_add(levada_cli_buffer *b, const void *bytes, size_t n)
{
    char *to = levada_cli_buffer_room(b, n);

    if (n > 0) memcpy(to, bytes, n);
    to[n] = '\0';
    b->size += n;
}

void levada_cli_puts(levada_cli_buffer *b, const char *text)
{
    levada_cli_add(b, text, strlen(text));
}

void levada_cli_printf(levada_cli_buffer *b, const char *fmt, ...)
{
    va_list list;
    int     n;

    va_start(list, fmt);
    n = vsnprintf(NULL, 0, fmt, list);
    va_end(list);
    if (n < 0) return;
    va_start(list, fmt);
    vsnprintf(levada_cli_buffer_room(b, (size_t)n), (size_t)n + 1, fmt, list);
    va_end(list);
    b->size += (size_t)n;
}

void levada_cli_unsigned(levada_cli_buffer *b, uint64_t n)
{
    char  digits[20];
    char *at = digits + sizeof digits;

    do *--at = (char)('0' + n % 10);
    while ((n /= 10) > 0);
    levada_cli_add(b, at, (size_t)(digits + sizeof digits - at));
}

void levada_cli_int(levada_cli_buffer *b, int64_t n)
{
    if (n < 0) levada_cli_add(b, "-", 1);
    levada_cli_unsigned(b, n < 0 ? -(uint64_t)n : (uint64_t)n);
}

void levada_cli_repeat(levada_cli_buffer *b, const char *text, int64_t n)
{
    for (int64_t i = 0; i < n; i++) levada_cli_puts(b, text);
}

/* Bytes of the UTF-8 character at s (1 to 4), or 0 where there is none. */
static size_t buffer_utf8(const uint8_t *s, size_t n)
{
    static const uint32_t least[5] = { 0, 0, 0x80, 0x800, 0x10000 };
    size_t   size = s[0] < 0x80 ? 1 : s[0] < 0xC2 ? 0 : s[0] < 0xE0 ? 2 : s[0] < 0xF0 ? 3 : 4;
    uint32_t c;

    if (size <= 1) return size;
    if (s[0] > 0xF4 || size > n) return 0;
    c = s[0] & (0x7FU >> size);
    for (size_t i = 1; i < size; i++) {
        if ((s[i] & 0xC0) != 0x80) return 0;
        c = c << 6 | (s[i] & 0x3FU);
    }
    return c < least[size] || c > 0x10FFFF || (c >= 0xD800 && c < 0xE000) ? 0 : size;
}

bool levada_cli_is_utf8(const void *bytes, size_t n)
{
    const uint8_t *s = bytes;

    for (size_t i = 0, step; i < n; i += step) {
        step = buffer_utf8(s + i, n - i);
        if (step == 0) return false;
    }
    return true;
}

static void buffer_base64(levada_cli_buffer *b, const uint8_t *s, size_t n)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char *to = levada_cli_buffer_room(b, (n + 2) / 3 * 4);
    char *begin = to;

    for (size_t i = 0; i < n; i += 3) {
        uint32_t three = (uint32_t)s[i] << 16;

        if (i + 1 < n) three |= (uint32_t)s[i + 1] << 8;
        if (i + 2 < n) three |= s[i + 2];
        *to++ = digits[three >> 18];
        *to++ = digits[three >> 12 & 63];
        *to++ = i + 1 < n ? digits[three >> 6 & 63] : '=';
        *to++ = i + 2 < n ? digits[three & 63] : '=';
    }
    *to = '\0';
    b->size += (size_t)(to - begin);
}

static void buffer_escape(levada_cli_buffer *b, uint8_t c)
{
    switch (c) {
    case '"': levada_cli_puts(b, "\\\""); break;
    case '\\': levada_cli_puts(b, "\\\\"); break;
    case '\n': levada_cli_puts(b, "\\n"); break;
    case '\r': levada_cli_puts(b, "\\r"); break;
    case '\t': levada_cli_puts(b, "\\t"); break;
    default: levada_cli_printf(b, "\\u%04x", c); break;
    }
}

void levada_cli_json_text(levada_cli_buffer *b, const void *bytes, size_t n)
{
    const uint8_t *s = bytes;
    size_t         begin = 0;

    if (!levada_cli_is_utf8(s, n)) {
        levada_cli_puts(b, "{\"base64\":\"");
        buffer_base64(b, s, n);
        levada_cli_puts(b, "\"}");
        return;
    }
    levada_cli_puts(b, "\"");
    for (size_t i = 0; i < n; i++) {
        if (s[i] >= 0x20 && s[i] != '"' && s[i] != '\\' && s[i] != 0x7F) continue;
        levada_cli_add(b, s + begin, i - begin);
        buffer_escape(b, s[i]);
        begin = i + 1;
    }
    levada_cli_add(b, s + begin, n - begin);
    levada_cli_puts(b, "\"");
}

void levada_cli_count(levada_cli_buffer *b, int64_t n)
{
    char digits[24];
    int  size = snprintf(digits, sizeof digits, "%" PRId64, n);

    for (int i = 0; i < size; i++) {
        if (i > (n < 0) && (size - i) % 3 == 0) levada_cli_puts(b, " ");
        levada_cli_add(b, digits + i, 1);
    }
}

void levada_cli_bytes(levada_cli_buffer *b, int64_t n)
{
    static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB" };
    double value = (double)n;
    int    unit = 0;

    if (n < 1024) {
        levada_cli_printf(b, "%" PRId64 " B", n);
        return;
    }
    while (value >= 1023.95 && unit < 5) {
        value /= 1024;
        unit++;
    }
    levada_cli_printf(b, "%.1f %s", value, units[unit]);
}

void levada_cli_rate(levada_cli_buffer *b, double per_second, const char *unit)
{
    static const char *const prefixes[] = { "", " k", " M", " G", " T" };
    int prefix = 0;

    while (per_second >= 999.5 && prefix < 4) {
        per_second /= 1000;
        prefix++;
    }
    levada_cli_printf(b, "%.*f%s", per_second < 9.995 ? 2 : per_second < 99.95 ? 1 : 0, per_second,
                      prefixes[prefix]);
    if (prefix == 0 && unit[0] != ' ') levada_cli_puts(b, " ");
    levada_cli_puts(b, unit);
}

void levada_cli_clock(levada_cli_buffer *b, double seconds)
{
    int64_t s = seconds < 0 ? 0 : seconds > 1e9 ? 1000000000 : (int64_t)(seconds + 0.5);

    if (s >= 3600) levada_cli_printf(b, "%" PRId64 ":%02d:", s / 3600, (int)(s / 60 % 60));
    else levada_cli_printf(b, "%d:", (int)(s / 60));
    levada_cli_printf(b, "%02d", (int)(s % 60));
}

int64_t levada_cli_width(const char *text, size_t n)
{
    int64_t width = 0;

    for (size_t i = 0; i < n; i++) width += ((uint8_t)text[i] & 0xC0) != 0x80;
    return width;
}
