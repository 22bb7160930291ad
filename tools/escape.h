/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names, values and paths from files on their way to a terminal or to JSON, and back.
 *
 * Nothing that these functions write can move the cursor, change colors or reorder text: control
 * characters (C0, DEL, C1), line and paragraph separators, and bidi controls are escaped, and bytes
 * that are not UTF-8 too.
 */
#ifndef LEVADA_TOOLS_ESCAPE_H
#define LEVADA_TOOLS_ESCAPE_H

#include "buffer.h"

/* Text for people: "\n", "\x1b", "\u202e" in place of what a terminal would obey. */
void levada_cli_show(levada_cli_buffer *b, const void *bytes, size_t n);
/* Shows a terminated string. */
void levada_cli_show_text(levada_cli_buffer *b, const char *text);
/* Shows a string, with spaces up to `width` columns after it. */
void levada_cli_show_padded(levada_cli_buffer *b, const void *bytes, size_t n, int64_t width);
/* Shows text of several lines, whose line ends stay. */
void levada_cli_show_lines(levada_cli_buffer *b, const void *bytes, size_t n);
/* Returns true if levada_cli_show_lines would copy the text as it is. */
bool levada_cli_is_plain(const void *bytes, size_t n);

/* A JSON string; bytes that are not UTF-8 become {"base64":"..."}, as in descriptions. */
void levada_cli_json_text(levada_cli_buffer *b, const void *bytes, size_t n);

/* A name as a JSON string, also as a key. A name that is not UTF-8, holds a zero byte or begins
 * with "base64:" becomes "base64:" and its bytes in base64. */
void levada_cli_json_name(levada_cli_buffer *b, const void *bytes, size_t n);
/* Appends the bytes of such a name. False where its base64 is damaged or was not needed. */
bool levada_cli_name_read(levada_cli_buffer *b, const char *text);

/* Appends the bytes of n digits. False unless they are base64 as it is written, with padding and
 * nothing after it. */
bool levada_cli_base64_read(levada_cli_buffer *b, const char *text, size_t n);

#endif
