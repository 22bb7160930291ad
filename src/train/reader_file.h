/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The records of one file after the other, as blocks whose first column holds the values. What a
 * reader (reader.c) hands out comes from here; this part knows the kinds. One owner, one thread.
 */
#ifndef LEVADA_TRAIN_READER_FILE_H
#define LEVADA_TRAIN_READER_FILE_H

#include <levada/iter.h>
#include <levada/reader.h>

/* All-zero is a valid cleared one. */
typedef struct levada_reader_file {
    levada_env           *env;     /* a reference */
    levada_reader_options options; /* compression: a copy; name: not kept here */
    char                 *compression;
    levada_spec          *spec; /* of what is not read by an iterator: "value" */
    levada_iter          *iter; /* the file that is open, where the kind has one */
} levada_reader_file;

/* Returns "TFRecordReader" and similar. */
const char *levada_reader_kind_name(levada_reader_kind kind);
/* Returns true if a file is one record, so that its end is known with it, and its key the name
 * alone. */
bool levada_reader_kind_whole(levada_reader_kind kind);

/* Returns ERESOURCE_EXHAUSTED. */
levada_status levada_reader_short(levada_error *err);

/* Checks and copies the options. */
LEVADA_MUST_USE levada_status levada_reader_file_init(levada_reader_file *file, levada_env *env,
                                                      const levada_reader_options *options,
                                                      levada_error                *err);
void levada_reader_file_clear(levada_reader_file *file);

/* Opens the file called so, to be read in blocks of about `rows` records. */
LEVADA_MUST_USE levada_status levada_reader_file_open(levada_reader_file *file, const char *name,
                                                      size_t size, int32_t rows,
                                                      levada_error *err);
/* Reads the next records, at least one; END at the end. Of a whole file that was opened: its only
 * one. */
LEVADA_MUST_USE levada_status levada_reader_file_next(levada_reader_file *file, const char *name,
                                                      size_t size, levada_block **out,
                                                      levada_error *err);
void levada_reader_file_close(levada_reader_file *file);
/* Returns the part of the key of that row after the name. */
int64_t levada_reader_file_number(const levada_reader_file *file, const levada_block *block,
                                  int64_t row);

#endif
