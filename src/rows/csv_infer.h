/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The columns of a CSV file, found in its first rows: what the options `infer` and `header` of csv
 * put into the description, which is fixed from then on.
 *
 * A column is int64 where all its fields are integers that fit and have no leading zero, float64
 * where they are numbers, else string. Numbers of which some are missing are float64 with the
 * default nan. Rows that are damaged or have another number of fields than the first one are passed
 * over: the run reports them. The first row names the columns with header=true, and where it
 * holds distinct texts
 * over columns of which one at least has numbers.
 */
#ifndef LEVADA_ROWS_CSV_INFER_H
#define LEVADA_ROWS_CSV_INFER_H

#include "rows/csv_columns.h"

/* Infers columns from `rows`, the first rows of the file, at least one. `options`: all of the
 * format. *out gets them with header and record_defaults in place of infer, which name the columns
 * if there is a header. Without infer the first row, a header, names the record_defaults; *out
 * stays NULL if it cannot. EINVALID_ARGUMENT: nothing shows if the first row is a header;
 * EDATA_LOSS: no row is like the first one. */
LEVADA_MUST_USE levada_status levada_csv_infer(const levada_csv_args *args, levada_env *env,
                                               const levada_strings *rows,
                                               const levada_value *options, levada_value **out,
                                               levada_error *err);

#endif
