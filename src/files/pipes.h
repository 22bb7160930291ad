/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pipes as input files: /dev/stdin, <(command), FIFOs.
 *
 * A pipe is copied into a file without a name in TMPDIR before its first byte is returned, because
 * files are opened several times (to find their format, to read records again, for another epoch)
 * and read at any offset by several threads. The copy serves every later opening of the same pipe
 * and lasts as long as the process. An interrupted copy is continued by the next opening.
 */
#ifndef LEVADA_FILES_PIPES_H
#define LEVADA_FILES_PIPES_H

#include <levada/error.h>
#include <levada/opener.h>

/* Takes the descriptor of a pipe, also on failure. *out is a descriptor of the copy, owned by the
 * caller; read it with pread. ECANCELLED when the token is set; EFAILED_PRECONDITION where another
 * process reads the pipe, or where it has new data after its end; RESOURCE_EXHAUSTED without space.
 * Any thread. */
LEVADA_MUST_USE levada_status levada_pipe_copy(int pipe, const levada_cancel *cancel, int *out,
                                               levada_error *err);

#endif
