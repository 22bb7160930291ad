/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens files as a dataset, and detects their format and their columns.
 *
 * The pipeline of the dataset contains the format and the columns, so its text has the same meaning
 * in another process. A later record that does not fit these columns is an error. A checkpoint is
 * valid for this pipeline only: if the files have changed and opening them detects other columns,
 * levada_iter_restore returns EFAILED_PRECONDITION.
 *
 * Example:
 *
 *     levada_dataset *dataset = NULL;
 *     const char     *files[] = {"train-*"};
 *
 *     LEVADA_TRY(levada_sample_write(NULL, ".", err)); // train-0.tfrecord.gz, train-1.tfrecord.gz
 *     LEVADA_TRY(levada_dataset_open(NULL, files, 1, NULL, true, &dataset, err));
 *     levada_dataset_unref(&dataset);
 */
#ifndef LEVADA_OPEN_H
#define LEVADA_OPEN_H

#include <levada/dataset.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Creates a dataset of the records of `nfiles` paths and globs, which must all have the same
 * format.
 *
 * `source` is a file format ("tfrecord", "csv", ...) without options. NULL = detect it in the first
 * file that is not empty: by content if a checksum proves the format, else by name, else by
 * content. With `parse`, serialized messages are parsed as by parse_example:auto or
 * parse_sequence_example:auto; other records stay bytes. JSON lines get the fields that fields=auto
 * infers, and CSV the columns that infer=true infers, whatever `parse` is.
 *
 * Reads the beginning of the files on the caller's thread. Returns EINVALID_ARGUMENT if the format
 * is unknown or name and content disagree, and ENOT_FOUND if no file matches. */
LEVADA_API LEVADA_MUST_USE levada_status levada_dataset_open(levada_env        *env,
                                                             const char *const *files,
                                                             int32_t nfiles, const char *source,
                                                             bool parse, levada_dataset **out,
                                                             levada_error *err);

#ifdef __cplusplus
}
#endif

#endif
