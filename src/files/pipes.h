/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pipes as input files: /dev/stdin, <(command), FIFOs, sockets on standard input.
 *
 * The system returns the bytes of a pipe once and in order, but files are opened several times (to
 * find their format, for another epoch). So an environment has one levada_piped for each pipe. It
 * passes the bytes on as they arrive, and keeps the first 64 MiB in memory: a pipe with less can be
 * read again from its beginning, any number of times. A longer one can only be read forward, by the
 * files that were opened meanwhile.
 */
#ifndef LEVADA_FILES_PIPES_H
#define LEVADA_FILES_PIPES_H

#include <levada/error.h>
#include <levada/opener.h>

#include <stdint.h>
#include <sys/stat.h>

struct levada_env;
typedef struct levada_piped levada_piped;

/* Takes the descriptor of a pipe, also on failure. EFAILED_PRECONDITION if another process or
 * environment reads the pipe, if it was read beyond what is kept, or if it has new data after its
 * end. Any thread. */
LEVADA_MUST_USE levada_status levada_pipes_open(int pipe, const levada_cancel *cancel,
                                                levada_piped **out, levada_error *err);
void levada_pipes_close(levada_piped **piped);
/* Returns true if the environment has opened this pipe, so that its first bytes may be kept. Any
 * thread. */
bool levada_pipes_known(const struct levada_env *env, const struct stat *info);

/* Returns the bytes from `offset` on that are there; waits for the first of them. *made = 0 only at
 * the end. ECANCELLED when the token is set, or in place of waiting when it is hurried: nothing is
 * lost. EFAILED_PRECONDITION if the bytes are not kept. Any thread. */
LEVADA_MUST_USE levada_status levada_pipes_read(levada_piped *piped, int64_t offset, uint8_t *data,
                                                int64_t size, const levada_cancel *cancel,
                                                int64_t *made, levada_error *err);
/* Returns true if a read at `offset` would wait: the writer has been silent for some milliseconds.
 * */
bool levada_pipes_waits(levada_piped *piped, int64_t offset);

#endif
