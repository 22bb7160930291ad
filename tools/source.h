/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files whose kind the command finds out: which source reads them, opened as a pipe.
 */
#ifndef LEVADA_TOOLS_SOURCE_H
#define LEVADA_TOOLS_SOURCE_H

#include "pipe.h"

/* "tfrecord", "text_lines" or "tar": from the end of the name, else from the content, as verify and
 * info do. Reports where they differ. *out is valid until the next call. */
LEVADA_MUST_USE levada_status levada_cli_source_guess(levada_env *env, const char *path,
                                                      const char **out, levada_error *err);

/* True where the word is no file, but begins as a description does: "fixed_length:a.bin,...". */
bool levada_cli_source_described(const char *word);

/* A pipe that gives the records of one file, in order; `source` NULL: of what the path, which is a
 * description then, says. `errors`: as in levada_iter_options. */
LEVADA_MUST_USE levada_status levada_cli_source_open(levada_cli_pipe *p, levada_env *env,
                                                     const char *source, const char *path,
                                                     const char *errors, levada_error *err);

#endif
