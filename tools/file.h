/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whole files: read at once, written so that a reader sees the old one or the new one.
 */
#ifndef LEVADA_TOOLS_FILE_H
#define LEVADA_TOOLS_FILE_H

#include "buffer.h"

/* Appends the content of the file. */
LEVADA_MUST_USE levada_status levada_cli_file_read(const char *path, levada_cli_buffer *out,
                                                   levada_error *err);
/* Temporary file beside it, fsync, rename. */
LEVADA_MUST_USE levada_status levada_cli_file_write(const char *path, const void *bytes,
                                                    size_t size, levada_error *err);

/* Path of the temporary file for what will be `path`, in the same folder; `path` itself where that
 * is a device, a pipe or a link. */
void levada_cli_file_temporary(const char *path, levada_cli_buffer *out);
/* Removes a temporary file that nobody wants. */
void levada_cli_file_discard(const char *temporary, const char *path);
/* Makes the finished temporary file durable and gives it its name. */
LEVADA_MUST_USE levada_status levada_cli_file_commit(const char *temporary, const char *path,
                                                     levada_error *err);

bool levada_cli_file_same(const char *one, const char *other);
/* Bytes of the file, or -1. */
int64_t levada_cli_file_size(const char *path);
/* The part of a path after the last slash. */
const char *levada_cli_file_name(const char *path);
bool        levada_cli_file_ends(const char *path, const char *suffix);

#endif
