/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files whose kind the command finds out: which source reads them, opened as a pipe.
 */
#ifndef LEVADA_TOOLS_SOURCE_H
#define LEVADA_TOOLS_SOURCE_H

#include "pipe.h"
#include <levada/inspect.h>

/* Every command finds how a file is read by levada_inspect_kind, and reports it in these words:
 * appends "   unknown format, read as ..." or "   read as ..., but its first bytes look like ...",
 * and returns true; returns false where name and content agree. `option` is the one that chooses
 * another source, such as "--source". */
bool levada_cli_source_note(levada_cli_buffer *b, const char *source, const char *content,
                            bool guessed, const char *option);
/* Warns about the file at `path`. */
void levada_cli_source_warn(const char *path, const levada_file_kind *kind, const char *option);

/* Returns true if the word is not a file, but begins as a description does:
 * "fixed_length:a.bin,...". */
bool levada_cli_source_described(const char *word);

/* The dataset of one file. Options may follow the name of `source`, after a colon:
 * "csv:header=true". `options`: a map of options of a source without them, which is taken, or NULL.
 */
LEVADA_MUST_USE levada_status levada_cli_source_dataset(levada_env *env, const char *source,
                                                        const char *path, levada_value **options,
                                                        levada_dataset **out, levada_error *err);
/* Opens a pipe over the records of one file, in order. Where `source` is NULL, the path is a
 * description. `record_bytes`: levada_cli_record_bytes. */
LEVADA_MUST_USE levada_status levada_cli_source_open(levada_cli_pipe *p, levada_env *env,
                                                     const char *source, const char *path,
                                                     int64_t record_bytes, levada_error *err);

#endif
