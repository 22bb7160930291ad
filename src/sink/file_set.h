/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of one set: "part-00000-of-00003.csv". Their number is known last, so each is written as
 * PATH.part-00000 and renamed when all are complete.
 *
 * The file of number 0 is renamed last: where it is, with the same count, all others are. After a
 * kill parts may remain; the next set of the same path removes them.
 */
#ifndef LEVADA_SINK_FILE_SET_H
#define LEVADA_SINK_FILE_SET_H

#include "sink/output_names.h"

#include <levada/error.h>

#include <stdint.h>

enum { LEVADA_FILE_SET_PATH = 4096 };
#define LEVADA_FILE_SET_MARK "%05d-of-%05d"

/* Parts that are being written. Only `path` is set before the first one. */
typedef struct levada_file_set {
    const char          *path; /* at most LEVADA_FILE_SET_PATH - 32 bytes; borrowed */
    int                  folder;
    levada_output_name **part; /* n of them: what a handler of signals removes */
    int64_t              n, capacity;
} levada_file_set;

/* Name of the next part until the set is complete. */
LEVADA_MUST_USE levada_status levada_file_set_add(levada_file_set *set,
                                                  char             name[LEVADA_FILE_SET_PATH],
                                                  levada_error    *err);
/* Renames all parts, then removes files of an older set of another number, and old parts. Counts
 * the former in *removed. No signal ends the thread while it renames. */
LEVADA_MUST_USE levada_status levada_file_set_publish(levada_file_set *set, int64_t *removed,
                                                      levada_error *err);
/* Removes the parts that are left. */
void levada_file_set_close(levada_file_set *set);

#endif
