/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of a plug-in that runs out: that of its environment, which data lives in, and what it
 * takes through the table of the host. The plug-in is handed a copy of that table, whose alloc, and
 * whose calls that take memory, fail when they are told to. One plug-in at a time.
 */
#ifndef LEVADA_TOOLS_CHECK_MEMORY_H
#define LEVADA_TOOLS_CHECK_MEMORY_H

#include "conform.h"

enum { LEVADA_CHECK_FILTERS = 64, LEVADA_CHECK_EXAMPLES = 256 };

/* What the example of a name reads. */
typedef struct levada_check_example {
    const char                *name;
    const levada_example_file *files;
} levada_check_example;

typedef struct levada_check_memory {
    const char       *path;    /* of the plug-in; the rest begins as zeros */
    void             *library;
    levada_filter_def filters[LEVADA_CHECK_FILTERS]; /* that it registered, once it met the table */
    int               nfilters;
    levada_check_example examples[LEVADA_CHECK_EXAMPLES]; /* known then, too */
    int                  nexamples;
} levada_check_memory;

/* Hands the plug-in the copy of the table: its filters are known then. It has to be loaded. */
LEVADA_MUST_USE levada_status levada_check_meet(levada_check_memory *memory, levada_error *err);

/* Valid until levada_check_memory_clear. */
levada_conform_faults levada_check_faults(levada_check_memory *memory);
void                  levada_check_memory_clear(levada_check_memory *memory);

#endif
