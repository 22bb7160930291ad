/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files next to a data file, from which formats read foreign indexes (levada/source.h).
 */
#ifndef LEVADA_SOURCE_BESIDE_H
#define LEVADA_SOURCE_BESIDE_H

#include "files/bytes.h"

#include <levada/source.h>

/* Opens the file whose name is `path` with `suffix` in place of `replaced`; appends the suffix if
 * `path` does not end in `replaced`, or if `replaced` is "". Errors name the file. */
LEVADA_MUST_USE levada_status levada_beside_open(levada_env *env, const char *path,
                                                 const char *replaced, const char *suffix,
                                                 levada_bytes **out, levada_error *err);
/* Reads `size` bytes at `offset` into new memory, which is terminated by a 0. EDATA_LOSS: the file
 * ends before them. Free it with levada_free. */
LEVADA_MUST_USE levada_status levada_beside_read(const levada_bytes *bytes, int64_t offset,
                                                 int64_t size, uint8_t **out, levada_error *err);

/* Receives a line of numbers, which are separated by spaces or tabs; those that are missing are -1.
 */
#define LEVADA_BESIDE_NUMBERS 5
typedef levada_status (*levada_beside_line)(void *user,
                                            const int64_t numbers[LEVADA_BESIDE_NUMBERS],
                                            levada_error *err);
/* Reads a file of lines of numbers; `named`: a name and a tab begin each line. EDATA_LOSS: a line
 * has something else. Errors name the file. */
LEVADA_MUST_USE levada_status levada_beside_lines(levada_env *env, const char *path,
                                                  const char *suffix, bool named,
                                                  levada_beside_line each, void *user,
                                                  levada_error *err);

/* Returns EFAILED_PRECONDITION if the data file has more than blank lines after `end`, where the
 * last record of the index ends. */
LEVADA_MUST_USE levada_status levada_beside_check_end(levada_env *env, const char *path,
                                                      int64_t end, levada_error *err);

#endif
