/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of one set: "part-00000-of-00003.csv". Their number is known last, so the parts are written
 * to a directory of this set alone, ".levada-<random>.parts" beside the files, and renamed when all
 * are complete.
 *
 * The file of number 0 is renamed last: where it is, with the same count, all others are. Two
 * processes that write one set do not mix: each has its own parts, and one publishes after the
 * other (flock() on the folder; a file system without locks cannot promise that). The process keeps
 * its directory of parts locked, so that the next set in the folder can recognize and remove those
 * of processes that were killed.
 */
#ifndef LEVADA_SINK_FILE_SET_H
#define LEVADA_SINK_FILE_SET_H

#include "sink/output_names.h"

#include <levada/error.h>

#include <stdint.h>

enum { LEVADA_FILE_SET_PATH = 4096, LEVADA_FILE_SET_NAME = 40 };
#define LEVADA_FILE_SET_MARK "%05d-of-%05d"

/* Parts that are being written. Only `path` is set before the first one. */
typedef struct levada_file_set {
    const char *path;                   /* at most LEVADA_FILE_SET_PATH - 64 bytes; borrowed      */
    int         folder, parts;          /* of the set, and that of its parts; open while part is  */
    char        name[LEVADA_FILE_SET_NAME]; /* of the directory of parts                         */
    levada_output_name  *directory;     /* what a handler of signals removes: the directory       */
    levada_output_name **part;          /* and n parts in it                                      */
    int64_t              n, capacity;
} levada_file_set;

/* Writes the name of the next part, until the set is complete, to `name`. */
LEVADA_MUST_USE levada_status levada_file_set_add(levada_file_set *set,
                                                  char             name[LEVADA_FILE_SET_PATH],
                                                  levada_error    *err);
/* Renames all parts, then removes files of an older set of another number, which it counts in
 * *removed, and parts that killed processes left. No signal ends the thread while it renames. */
LEVADA_MUST_USE levada_status levada_file_set_publish(levada_file_set *set, int64_t *removed,
                                                      levada_error *err);
/* Removes the parts that are left, and their directory. */
void levada_file_set_close(levada_file_set *set);

#endif
