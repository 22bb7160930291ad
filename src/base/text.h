/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Texts that grow. All-zero is a valid empty text. Running out of memory is remembered: later
 * additions do nothing, and levada_text_steal reports it, so that a printer needs one check.
 */
#ifndef LEVADA_BASE_TEXT_H
#define LEVADA_BASE_TEXT_H

#include <levada/error.h>

typedef struct levada_text {
    char  *at; /* NULL, or terminated */
    size_t size, capacity;
    bool   failed;
} levada_text;

void levada_text_add(levada_text *text, const void *bytes, size_t n);
void levada_text_put(levada_text *text, const char *string);
void levada_text_char(levada_text *text, char c);
void levada_text_i64(levada_text *text, int64_t value);
LEVADA_PRINTF(2, 3) void levada_text_format(levada_text *text, const char *fmt, ...);

/* Appends a JSON string with its quotes. Control characters (C0, DEL, C1), separators of lines and
 * paragraphs, and bidi controls are escaped; each byte that is not UTF-8 becomes U+FFFD. */
void levada_text_json(levada_text *text, const char *bytes, size_t n);
/* Returns true if the first character of n bytes, at least one, is one that a terminal obeys. */
bool levada_text_obeyed(const char *bytes, size_t n);
/* Writes the name of a feature as a JSON string that can be read back: a name that is not UTF-8,
 * holds a zero byte or begins with "base64:" becomes "base64:" and its bytes in base64. */
void levada_text_json_name(levada_text *text, const char *bytes, size_t n);
void levada_text_base64(levada_text *text, const char *bytes, size_t n);

/* Returns the content, terminated (never NULL), to be freed with levada_free; the text is empty
 * afterwards. Returns ERESOURCE_EXHAUSTED if an addition failed (the text is cleared). */
LEVADA_MUST_USE levada_status levada_text_steal(levada_text *text, char **out, levada_error *err);
void levada_text_clear(levada_text *text);
/* Replaces the values of parameters of URLs that grant access, such as the signature of a presigned
 * URL, by three dots. `line` is terminated, and becomes no longer. */
void levada_text_hide_secrets(char *line);

/* Returns the offset of the first byte that is not valid UTF-8; n where all are. */
size_t levada_utf8_check(const char *bytes, size_t n);
/* Returns the bytes of the mark of UTF-8 at the beginning of a file: 3, or 0 without one. */
int64_t levada_utf8_mark(const uint8_t *data, int64_t size);
/* Writes one character (up to U+10FFFF, no surrogate) to out; returns its bytes, 1 to 4. */
size_t levada_utf8_write(uint32_t character, char out[4]);

/* Writes the text of the system for an error number to text, and returns it. Unlike strerror, any
 * thread may call it. */
const char *levada_text_errno(int code, char *text, size_t size);

/* Returns the part of a path after its last slash, in the path. */
const char *levada_base_name(const char *path);

/* Finds the nearest of the names to `name`: few letters missing, added, changed or swapped. Start
 * with *best = NULL and *distance = SIZE_MAX, and call it for each candidate; *best stays NULL if
 * none is near. */
void levada_nearest(const char *name, const char *candidate, const char **best, size_t *distance);

#endif
