/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens files, and finds their format and their columns.
 *
 *     const char     *files[] = {"train-*"};
 *     levada_dataset *ds = NULL;
 *
 *     levada_dataset_open(NULL, files, 1, NULL, true, &ds, &err);
 *
 * The description of the dataset contains the format and the columns, so its text means the same in
 * another process. A later record that does not fit is an error, which names the record. A saved
 * state fits this description only: if the files have changed, and opening them again finds other
 * columns, a restore refuses the new dataset.
 */
#ifndef LEVADA_OPEN_H
#define LEVADA_OPEN_H

#include <levada/dataset.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A dataset of the records of `nfiles` paths and globs, which all have one format.
 *
 * `source`: a file format ("tfrecord", "csv", ...) without options; NULL = found in the first file
 * that is not empty: by its content where a checksum proves it, else by its name, else by its
 * content. `parse`: serialized messages are parsed as by parse_example:auto or
 * parse_sequence_example:auto; records that are neither stay bytes. JSON lines have the fields that
 * fields=auto finds. Columns of CSV are those that infer=true finds, whatever `parse` is.
 *
 * EINVALID_ARGUMENT: the format is not known (the message says what the file looks like), or name
 * and content disagree; ENOT_FOUND: no file matches. Reads the beginning of the files, on the
 * caller's thread. */
LEVADA_API LEVADA_MUST_USE levada_status levada_dataset_open(levada_env        *env,
                                                             const char *const *files,
                                                             int32_t nfiles, const char *source,
                                                             bool parse, levada_dataset **out,
                                                             levada_error *err);

#ifdef __cplusplus
}
#endif

#endif
