/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whole files, and their names. levada/output.h writes them.
 */
#ifndef LEVADA_TOOLS_FILE_H
#define LEVADA_TOOLS_FILE_H

#include "buffer.h"

/* Appends the content of the file; "-" is standard input. */
LEVADA_MUST_USE levada_status levada_cli_file_read(const char *path, levada_cli_buffer *out,
                                                   levada_error *err);
/* Returns true if both are one file, also by a link. */
bool levada_cli_file_same(const char *one, const char *other);
bool levada_cli_file_regular(const char *path);
bool levada_cli_file_pipe(const char *path);
/* Returns the number of bytes of the file, or -1. */
int64_t levada_cli_file_size(const char *path);
/* Returns the part of a path after the last slash. */
const char *levada_cli_file_name(const char *path);
bool        levada_cli_file_ends(const char *path, const char *suffix);

#endif
