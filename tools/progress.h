/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The progress line: on terminals only, at most ten times a second, gone at the end.
 *
 * corpus.tfrecord.gz  ━━━━━━━━╸──  74 %   39 312 records · 1.21 M records/s · 402 MB/s · 0:02 left
 *
 * and the slowest stage. If that is too wide for the terminal, name, bar and count are omitted.
 */
#ifndef LEVADA_TOOLS_PROGRESS_H
#define LEVADA_TOOLS_PROGRESS_H

#include "buffer.h"
#include <levada/iter.h>

typedef struct levada_cli_progress {
    bool   there;   /* on the terminal now                                */
    bool   shown;   /* standard error is a terminal, and it was asked for */
    double begun;   /* when                                               */
    double drawn;   /* when it was drawn last                             */
    const char *label; /* NULL = the first file                           */
} levada_cli_progress;

void levada_cli_progress_begin(levada_cli_progress *p, bool wanted, const char *label);
/* Draws it when its time has come. */
void levada_cli_progress_iter(levada_cli_progress *p, levada_iter *it, int64_t records);
/* Shows the progress of work that is not an iterator; total -1 = not known. */
void levada_cli_progress_bytes(levada_cli_progress *p, int64_t records, int64_t done,
                               int64_t total);
/* Wipes it: before other output on the terminal, and at the end. */
void levada_cli_progress_clear(levada_cli_progress *p);

#endif
