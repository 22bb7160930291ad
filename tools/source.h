/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files whose kind the command finds out: which source reads them, opened as a pipe.
 */
#ifndef LEVADA_TOOLS_SOURCE_H
#define LEVADA_TOOLS_SOURCE_H

#include "pipe.h"
#include <levada/inspect.h>

/* Fills in the kind of a file: by the suffix of its name, else by its content, as verify and info
 * do. The source may also be "tar". Warns where name and content differ; `option` is the one that
 * chooses another source, "--source" say. */
LEVADA_MUST_USE levada_status levada_cli_source_kind(levada_env *env, const char *path,
                                                     const char *option, levada_file_kind *out,
                                                     levada_error *err);

/* True where the word is not a file, but begins as a description does: "fixed_length:a.bin,...". */
bool levada_cli_source_described(const char *word);

/* Opens a pipe over the records of one file, in order. Where `source` is NULL, the path is a
 * description. `errors`: as in levada_iter_options. */
LEVADA_MUST_USE levada_status levada_cli_source_open(levada_cli_pipe *p, levada_env *env,
                                                     const char *source, const char *path,
                                                     const char *errors, levada_error *err);

#endif
