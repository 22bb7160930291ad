/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of CSV files whose headers have the columns in another order, or other columns.
 *
 * A file is known by the origins of its rows, so it does not matter where it was entered, or by
 * which thread. Its header is read when a worker meets its first row. Rows of files with the
 * columns of record_defaults in their order stay where they are. Other rows are rewritten in that
 * order into one buffer for the block, and a column that the file lacks is an empty field.
 *
 * A levada_csv_fit is the scratch of one worker; all-zero is valid for close.
 */
#ifndef LEVADA_ROWS_CSV_FIT_H
#define LEVADA_ROWS_CSV_FIT_H

#include "registry/registry.h"
#include "rows/csv_columns.h"

/* Reads the names in the header of a file, as levada_csv_header_read. */
typedef levada_status (*levada_csv_heading)(const levada_csv_args *args,
                                            const levada_context *context, const char *path,
                                            const levada_file_args *source,
                                            levada_value **names, levada_error *err);

typedef struct levada_csv_fit_file levada_csv_fit_file;

typedef struct levada_csv_fit {
    const levada_csv_args  *args;
    const levada_file_args *source;
    const levada_context   *context;
    levada_csv_heading      heading;
    levada_csv_fit_file   *files; /* NULL: headers do not matter                              */
    levada_buffer         *text;  /* of the block                                             */
    const uint8_t        **data;  /* of its rows                                              */
    int32_t               *size;
    int64_t               *wrong; /* of each row: after where its message begins; 0 = none    */
    const char           **refused;
    int64_t                data_capacity, size_capacity, wrong_capacity, refused_capacity;
    char                  *messages;
    int64_t                messages_capacity, messages_used;
    levada_csv_field      *fields; /* of one row */
    int64_t                fields_capacity;
} levada_csv_fit;

/* Opens the search for rows. What is passed stays valid. Call close() even after a failure. */
LEVADA_MUST_USE levada_status levada_csv_fit_open(levada_csv_fit *fit, const levada_csv_args *args,
                                                  const levada_file_args *source,
                                                  const levada_context   *context,
                                                  levada_csv_heading heading, levada_error *err);
void levada_csv_fit_close(levada_csv_fit *fit);

/* Sets *out to the rows of `in` in the order of record_defaults, and *refused to what is wrong with
 * each row, or to NULL: nothing with any. Both are valid until the next call. Errors are those of
 * reading headers. */
LEVADA_MUST_USE levada_status levada_csv_fit_rows(levada_csv_fit *fit, const levada_strings *in,
                                                  levada_strings *out, const char *const **refused,
                                                  levada_error *err);

#endif
