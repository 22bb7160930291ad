/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of the temporary files and directories that exist now, readable by signal handlers: slots
 * that are never freed, filled before the file gets its name and emptied after it lost it. Any
 * thread.
 */
#ifndef LEVADA_SINK_OUTPUT_NAMES_H
#define LEVADA_SINK_OUTPUT_NAMES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define LEVADA_OUTPUT_NAME 264 /* the longest name of a file, and more */

typedef struct levada_output_name {
    atomic_int state;
    pid_t      process;
    int        folder; /* a descriptor, borrowed */
    char       text[LEVADA_OUTPUT_NAME];
} levada_output_name;

/* Returns NULL if memory is short. */
levada_output_name *levada_output_name_add(int folder, const char *text);
/* Sets *name to NULL; does nothing where it is NULL already. */
void levada_output_name_drop(levada_output_name **name);
/* Returns bits for a name that no other process has: of the time, the process and the owner. */
uint64_t levada_output_random(const void *owner);
/* Returns true once levada_output_drop_all was called. */
bool levada_output_names_ended(void);

#endif
