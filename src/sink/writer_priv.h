/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LEVADA_SINK_WRITER_PRIV_H
#define LEVADA_SINK_WRITER_PRIV_H

#include <levada/output.h>
#include <levada/writer.h>

/* Lets up to `threads` threads compress, where the filter can; 0 = none. */
LEVADA_MUST_USE levada_status levada_writer_open_on(levada_env *env, const char *path,
                                                    const char *compression, int32_t level,
                                                    int32_t threads, levada_writer **out,
                                                    levada_error *err);

/* Completes the file under a temporary name, on the disk: levada_writer_close
 * (levada_output_commit) then only renames it. No bytes can be added any more. */
LEVADA_MUST_USE levada_status levada_writer_prepare(levada_writer *writer, levada_error *err);
LEVADA_MUST_USE levada_status levada_output_prepare(levada_output *output, levada_error *err);

#endif
