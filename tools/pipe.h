/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A running description: what run, bench and head share.
 *
 * All-zero is a valid closed pipe. Batches come one by one; between them Ctrl-C, kill -USR1 and the
 * progress line are looked after.
 */
#ifndef LEVADA_TOOLS_PIPE_H
#define LEVADA_TOOLS_PIPE_H

#include "cli.h"
#include "progress.h"
#include <levada/iter.h>

typedef struct levada_cli_pipe {
    levada_dataset     *dataset;
    levada_iter        *it;
    levada_cli_progress progress;
    int64_t             records, batches; /* emitted so far                            */
    uint64_t            drop; /* records to skip first: they were emitted before a save */
    int32_t             threads; /* without --threads; 0 = one per CPU */
    int64_t             epoch;   /* without --epoch */
} levada_cli_pipe;

/* Options that every command which runs a description has. */
/* The option of every command that returns records. Without it they have the limit of verify, info
 * and index, which is the largest: a file is good for all commands or for none. */
#define LEVADA_CLI_RECORD_OPTION                                                                  \
    { "max-record-bytes", 0, "BYTES", "maximum record size (default and limit: 1073741824)" }
int64_t levada_cli_record_bytes(const levada_cli_args *args);

#define LEVADA_CLI_PIPE_OPTIONS                                                                   \
    { "limit", 'n', "N", "stop after N batches" },                                                \
    { "threads", 't', "N", "number of threads (default: one per CPU)" },          \
    { "seed", 0, "N", "random seed (default: a new one, which --stats reports)" },                \
    { "epoch", 0, "N", "epoch number, from 0" },                                   \
    LEVADA_CLI_RECORD_OPTION,                                                                     \
    { "errors", 0, "P", "bad records: fail (default), skip, skip:1000 or skip:0.1%" }

/* Parses and opens; `description` may be @FILE. On failure prints why and returns the exit status;
 * on DONE the caller closes the pipe. */
LEVADA_MUST_USE levada_cli_status levada_cli_pipe_open(levada_cli_pipe *p, levada_env *env,
                                                       const char            *description,
                                                       const levada_cli_args *args);
#define LEVADA_CLI_MIX_OPTION                                                                 \
    { "mix", 0, "HOW", "keep positions: a mix with names may have other weights and inputs" }
/* Resumes from a file that run --save or Python wrote, as the options --part and --mix say. */
LEVADA_MUST_USE levada_status levada_cli_pipe_resume(levada_cli_pipe *p, const char *path,
                                                     const levada_cli_args *args,
                                                     levada_error          *err);
/* The next batch, END, or an error; ECANCELLED after Ctrl-C. */
LEVADA_MUST_USE levada_status levada_cli_pipe_next(levada_cli_pipe *p, levada_block **out,
                                                   levada_error *err);
void levada_cli_pipe_close(levada_cli_pipe *p);

/* "3 batches", or "3 blocks" where the description does not batch: those emitted so far. */
void levada_cli_pipe_count(const levada_cli_pipe *p, levada_cli_buffer *out);

#endif
