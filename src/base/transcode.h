/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text in UTF-16, Latin-1 and Windows-1252 to UTF-8, piece by piece.
 *
 * Bytes that are no character of the encoding become bytes that are not UTF-8, so that the check of
 * the record that has them finds and names them: a lone surrogate its three bytes, half a unit at
 * the end 0xff, and an undefined byte of Windows-1252 itself. A transcoder is a plain value with
 * one owner; nothing here fails or allocates.
 */
#ifndef LEVADA_BASE_TRANSCODE_H
#define LEVADA_BASE_TRANSCODE_H

#include <levada/error.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of UTF-8 that one byte of another encoding may become. */
#define LEVADA_TRANSCODE_MOST 3

typedef enum levada_charset {
    LEVADA_CHARSET_UTF8, /* bytes stay as they are                               */
    LEVADA_CHARSET_UTF16, /* in the order of its byte order mark, else little-endian */
    LEVADA_CHARSET_UTF16LE,
    LEVADA_CHARSET_UTF16BE,
    LEVADA_CHARSET_LATIN1,
    LEVADA_CHARSET_CP1252
} levada_charset;

/* Finds the encoding that Python names utf-8, utf-16, utf-16-le, utf-16-be, latin-1, iso-8859-1,
 * cp1252 or windows-1252, in any case, also without hyphens; false for other words. */
bool levada_charset_find(const char *word, levada_charset *out);
/* Returns true if the word names UTF-8, or is NULL. */
bool levada_charset_is_utf8(const char *word);
/* Returns EINVALID_ARGUMENT unless the word names an encoding, or is NULL. */
LEVADA_MUST_USE levada_status levada_charset_check(const char *word, levada_error *err);

/* Writes the text of data[0, size) to `out`, which has space for LEVADA_TRANSCODE_MOST bytes for
 * each of size + 1, and returns the number of bytes written. *used < size: the last 1 to 3 bytes
 * begin a character, and are passed again with the bytes after them; not with `ended`. At the
 * start of a file `encoding` is that of the option; the byte order mark of UTF-16 sets it. */
int64_t levada_transcode(levada_charset *encoding, const uint8_t *data, int64_t size, bool ended,
                         uint8_t *out, int64_t *used);

#endif
