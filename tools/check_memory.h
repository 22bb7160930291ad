/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes a plug-in run out of memory, both in its environment and in the host's table of functions.
 * The plug-in gets a copy of that table whose allocating functions fail on request. One plug-in at
 * a time.
 */
#ifndef LEVADA_TOOLS_CHECK_MEMORY_H
#define LEVADA_TOOLS_CHECK_MEMORY_H

#include "conform.h"

/* A name, the files that its example reads, and the descriptor of a format (else all zero). */
typedef struct levada_check_example {
    const char                *name;
    const levada_example_file *files;
    levada_format_def          format;
} levada_check_example;

typedef struct levada_check_memory {
    const char           *path;    /* of the plug-in; the rest begins as zeros */
    void                 *library;
    levada_filter_def    *filters; /* that it registered, once it met the table */
    int                   nfilters, max_filters;
    levada_check_example *examples; /* known then, too */
    int                   nexamples, max_examples;
    levada_opener_def    *openers;
    int                   nopeners, max_openers;
} levada_check_memory;

/* Hands the plug-in the copy of the table: its filters are known then. It has to be loaded. */
LEVADA_MUST_USE levada_status levada_check_meet(levada_check_memory *memory, levada_error *err);

/* Valid until levada_check_memory_clear. */
levada_conform_faults levada_check_faults(levada_check_memory *memory);
void                  levada_check_memory_clear(levada_check_memory *memory);

#endif
