/* SPDX-License-Identifier: Apache-2.0 */
/*
 * levada bench --phases: where the time of a record goes. The description is run on one thread up
 * to each of its stages, and a phase is the difference between two of these runs, in nanoseconds
 * for each record of the source. A source that verifies payloads (`verify`) is run without that
 * first. What a stage costs others (a shuffle scatters the records that later stages read) counts
 * where it is paid.
 */
#ifndef LEVADA_TOOLS_PHASES_H
#define LEVADA_TOOLS_PHASES_H

#include "cli.h"
#include "buffer.h"

/* Adds the table to `out`, or one JSON object. `runs`: of each length; the fastest counts. With
 * --cpu a time is processor time. */
LEVADA_MUST_USE levada_cli_status levada_cli_phases(levada_env *env, const levada_cli_args *args,
                                                    int64_t runs, levada_cli_buffer *out);

#endif
