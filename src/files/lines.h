/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines of text: where a long one ends, and the numbers of lines for errors. Records know their
 * offset, and threads that read parts of a file do not know how many lines precede them. So a line
 * is counted when an error needs its number.
 */
#ifndef LEVADA_FILES_LINES_H
#define LEVADA_FILES_LINES_H

#include "files/bytes.h"

/* Returns the number of the line, from 1, that contains the byte at `offset` of the decompressed
 * file. Reads a regular file up to there, at most 4 GiB, or the bytes of a pipe that are kept
 * (pipes.h). Returns 0 if that is not possible. Any thread. */
int64_t levada_file_line(levada_env *env, const char *path, const levada_bytes_options *options,
                         int64_t offset);

/* Implements the hook leave_out() for formats whose records are lines. */
int64_t levada_line_leave_out(void *state, const void *args, const uint8_t *data, int64_t size,
                              bool at_end, bool *done);

#endif
