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

#include <levada/error.h>

#include <stdint.h>

enum { LEVADA_FILE_SET_PATH = 4096 };
#define LEVADA_FILE_SET_MARK "%05d-of-%05d"

/* Name of part `i` until the set is complete. `path` has at most LEVADA_FILE_SET_PATH - 32 bytes.
 */
void levada_file_set_part(const char *path, int64_t i, char name[LEVADA_FILE_SET_PATH]);
/* Removes parts [0, n). */
void levada_file_set_drop(const char *path, int64_t n);
/* Renames all n parts, then removes files of an older set of another number, and old parts. Counts
 * the former in *removed. */
LEVADA_MUST_USE levada_status levada_file_set_publish(const char *path, int64_t n,
                                                      int64_t *removed, levada_error *err);

#endif
