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

char *levada_cli_buffer_reserve(levada_cli_buffer *b, size_t n)
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
    char *to = levada_cli_buffer_reserve(b, n);

    if (n > 0) memcpy(to, bytes, n);
    to[n] = '\0';
    b->size += n;
}

void levada_cli_puts(levada_cli_buffer *b, const char *text)
{
    levada_cli_add(b, text, strlen(text));
}

void levada_cli_vprintf(levada_cli_buffer *b, const char *fmt, va_list list)
{
    va_list again;
    int     n;

    va_copy(again, list);
    n = vsnprintf(NULL, 0, fmt, again);
    va_end(again);
    if (n < 0) return;
    vsnprintf(levada_cli_buffer_reserve(b, (size_t)n), (size_t)n + 1, fmt, list);
    b->size += (size_t)n;
}

void levada_cli_printf(levada_cli_buffer *b, const char *fmt, ...)
{
    va_list list;

    va_start(list, fmt);
    levada_cli_vprintf(b, fmt, list);
    va_end(list);
}

enum { BUFFER_DIGITS = 20, BUFFER_NUMBERS = 256 };
#define BUFFER_EIGHT UINT64_C(100000000) /* the first number that has more than eight digits */

/* Returns the eight decimal digits of n, the first in the lowest byte: halves, then pairs, then
 * digits, all parts in one word. Each quotient is a product and a shift, exact in the range of its
 * part. */
static uint64_t buffer_eight(uint64_t n)
{
    uint64_t halves = n / 10000 | n % 10000 << 32;
    uint64_t high = halves * 10486 >> 20 & UINT64_C(0x0000007F0000007F);
    uint64_t pairs = high | (halves - 100 * high) << 16;
    uint64_t tens = pairs * 103 >> 10 & UINT64_C(0x000F000F000F000F);

    return (tens | (pairs - 10 * tens) << 8) + UINT64_C(0x3030303030303030);
}

static char *buffer_store(char *to, uint64_t digits)
{
    for (int i = 0; i < 8; i++) to[i] = (char)(digits >> 8 * i);
    return to + 8;
}

/* Stores n and returns its end. Writes up to 8 bytes more. The length is a sum, because lengths of
 * neighboring numbers differ too often for a branch to be predicted. */
static char *buffer_digits(char *to, uint64_t n)
{
    int unused;

    if (n >= BUFFER_EIGHT)
        return buffer_store(buffer_digits(to, n / BUFFER_EIGHT), buffer_eight(n % BUFFER_EIGHT));
    unused = (n < 10) + (n < 100) + (n < 1000) + (n < 10000) + (n < 100000) + (n < 1000000)
           + (n < 10000000);
    return buffer_store(to, buffer_eight(n) >> 8 * unused) - unused;
}

static char *buffer_int(char *to, int64_t n)
{
    *to = '-';
    return buffer_digits(to + (n < 0), n < 0 ? -(uint64_t)n : (uint64_t)n);
}

static void buffer_end(levada_cli_buffer *b, char *end)
{
    *end = '\0';
    b->size = (size_t)(end - b->at);
}

void levada_cli_unsigned(levada_cli_buffer *b, uint64_t n)
{
    buffer_end(b, buffer_digits(levada_cli_buffer_reserve(b, BUFFER_DIGITS + 8), n));
}

void levada_cli_int(levada_cli_buffer *b, int64_t n)
{
    buffer_end(b, buffer_int(levada_cli_buffer_reserve(b, 1 + BUFFER_DIGITS + 8), n));
}

void levada_cli_ints(levada_cli_buffer *b, const int64_t *n, int64_t count)
{
    while (count > 0) {
        int64_t part = count < BUFFER_NUMBERS ? count : BUFFER_NUMBERS;
        size_t  most = (size_t)part * (BUFFER_DIGITS + 2) + 8;
        char   *to = levada_cli_buffer_reserve(b, most);

        for (int64_t i = 0; i < part; i++) {
            to = buffer_int(to, n[i]);
            *to++ = ',';
        }
        count -= part;
        n += part;
        buffer_end(b, count > 0 ? to : to - 1);
    }
}

void levada_cli_repeat(levada_cli_buffer *b, const char *text, int64_t n)
{
    for (int64_t i = 0; i < n; i++) levada_cli_puts(b, text);
}

void levada_cli_count(levada_cli_buffer *b, int64_t n)
{
    char digits[24];
    int  size = snprintf(digits, sizeof digits, "%" PRId64, n);

    for (int i = 0; i < size; i++) {
        if (i > (n < 0) && (size - i) % 3 == 0) levada_cli_puts(b, ",");
        levada_cli_add(b, digits + i, 1);
    }
}

void levada_cli_counted(levada_cli_buffer *b, int64_t n, const char *one, const char *many)
{
    levada_cli_count(b, n);
    levada_cli_printf(b, " %s", n == 1 ? one : many);
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

/* Columns of one character: East Asian wide characters and emoji take 2, combining marks none. */
static int64_t buffer_columns(uint32_t c)
{
    static const uint32_t wide[][2] = {
        { 0x1100, 0x115F }, { 0x2E80, 0x303E }, { 0x3041, 0xA4CF }, { 0xAC00, 0xD7A3 },
        { 0xF900, 0xFAFF }, { 0xFE30, 0xFE6F }, { 0xFF00, 0xFF60 }, { 0xFFE0, 0xFFE6 },
        { 0x1F300, 0x1F64F }, { 0x1F900, 0x1F9FF }, { 0x20000, 0x3FFFD },
    };

    if ((c >= 0x300 && c <= 0x36F) || c == 0x200B || c == 0x200D || (c >= 0xFE00 && c <= 0xFE0F))
        return 0;
    for (size_t i = 0; i < sizeof wide / sizeof *wide; i++)
        if (c >= wide[i][0] && c <= wide[i][1]) return 2;
    return 1;
}

int64_t levada_cli_width(const char *text, size_t n)
{
    int64_t width = 0;

    for (size_t i = 0; i < n;) {
        uint8_t  first = (uint8_t)text[i++];
        uint32_t c = first < 0xC0 ? first : first < 0xE0 ? first & 31u : first & 15u;

        if (first >= 0xF0) c = first & 7u;
        while (i < n && ((uint8_t)text[i] & 0xC0) == 0x80) c = c << 6 | ((uint8_t)text[i++] & 63u);
        width += buffer_columns(c);
    }
    return width;
}
