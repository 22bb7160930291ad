/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines of FASTA and FASTQ files: the headers of records, and sequences of several lines.
 */
#ifndef LEVADA_SOURCE_SEQUENCE_LINES_H
#define LEVADA_SOURCE_SEQUENCE_LINES_H

#include "rows/strings_put.h"

#include <levada/source.h>

/* Sets *end to the end of the line at `at`, without LF or CRLF. Returns where the next line begins,
 * `size` if the last line has no LF and `at_end` is set, or -1 if the line is incomplete. */
int64_t levada_sequence_line(const uint8_t *data, int64_t size, int64_t at, bool at_end,
                             int64_t *end);
/* Returns the first position at or after `at` that is not a byte of a line end. */
int64_t levada_sequence_blank(const uint8_t *data, int64_t size, int64_t at);
/* Returns the position of the first `mark` after `at` that begins a line, or -1. */
int64_t levada_sequence_find(const uint8_t *data, int64_t size, int64_t at, uint8_t mark);
/* Returns where to continue the search if levada_sequence_find found nothing: at a line end that is
 * the last byte, because a mark may follow. */
int64_t levada_sequence_rest(const uint8_t *data, int64_t size, bool at_end);

/* Splits a header, which begins at its mark, at the first space or tab. */
void levada_sequence_header(const uint8_t *header, int64_t size, levada_text_span *id,
                            levada_text_span *description);

/* Copies the lines of [data, data + size) without line ends and, if `spaced` is set, without spaces
 * and tabs. Returns the number of bytes, or -1 - i if byte i is not a printable ASCII character. */
int64_t levada_sequence_join(const uint8_t *data, int64_t size, bool spaced, uint8_t *to);

/* Reports a byte that levada_sequence_join rejected; `at` counts from the start of the record. */
LEVADA_MUST_USE levada_status levada_sequence_reject(levada_builder *out, int64_t row,
                                                     const levada_text_span *id, int64_t at,
                                                     uint8_t byte, levada_error *err);

/* Adds the records of the .fai index next to `path`; with `qualities`, of a FASTQ file. */
LEVADA_MUST_USE levada_status levada_sequence_index(levada_env *env, const char *path,
                                                    bool qualities, levada_index_sink *to,
                                                    levada_error *err);

#endif
