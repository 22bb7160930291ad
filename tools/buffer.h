/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Texts that grow, and how the command writes numbers.
 *
 * All-zero is a valid empty buffer. Running out of memory ends the program: the command holds
 * nothing that would be worth more care.
 */
#ifndef LEVADA_TOOLS_BUFFER_H
#define LEVADA_TOOLS_BUFFER_H

#include <levada/error.h>

#include <stdarg.h>

typedef struct levada_cli_buffer {
    char  *at; /* terminated once anything was added */
    size_t size, capacity;
} levada_cli_buffer;

void levada_cli_buffer_clear(levada_cli_buffer *b);
/* Reserves n more bytes; they count once size is raised. */
char *levada_cli_buffer_reserve(levada_cli_buffer *b, size_t n);
void  levada_cli_add(levada_cli_buffer *b, const void *bytes, size_t n);
void  levada_cli_puts(levada_cli_buffer *b, const char *text);
LEVADA_PRINTF(2, 3) void levada_cli_printf(levada_cli_buffer *b, const char *fmt, ...);
LEVADA_PRINTF(2, 0) void levada_cli_vprintf(levada_cli_buffer *b, const char *fmt, va_list list);
/* Writes a number as printf with "%lld" and "%llu" does, and quicker. */
void levada_cli_int(levada_cli_buffer *b, int64_t n);
void levada_cli_unsigned(levada_cli_buffer *b, uint64_t n);
/* Writes `count` numbers, with commas between them. */
void levada_cli_ints(levada_cli_buffer *b, const int64_t *n, int64_t count);
/* n times the same text. */
void levada_cli_repeat(levada_cli_buffer *b, const char *text, int64_t n);

/* "53,127" */
void levada_cli_count(levada_cli_buffer *b, int64_t n);
/* "1 record", "53,127 records": the count and the noun that agrees with it. */
void levada_cli_counted(levada_cli_buffer *b, int64_t n, const char *one, const char *many);
/* "41.2 MiB" */
void levada_cli_bytes(levada_cli_buffer *b, int64_t n);
/* "1.21 M records/s" (unit " records/s"), "402 MB/s" (unit "B/s": it follows the prefix). */
void levada_cli_rate(levada_cli_buffer *b, double per_second, const char *unit);
/* "0:07", "1:02:33" */
void levada_cli_clock(levada_cli_buffer *b, double seconds);

/* Columns of the text, which is UTF-8, on a terminal. */
int64_t levada_cli_width(const char *text, size_t n);

#endif
