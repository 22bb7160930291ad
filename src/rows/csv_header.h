/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The header of a CSV file: the names of its columns. An empty name is c0, c1, ... by the number of
 * the field. With select_cols only the names of those fields count. Any thread.
 */
#ifndef LEVADA_ROWS_CSV_HEADER_H
#define LEVADA_ROWS_CSV_HEADER_H

#include "rows/csv_columns.h"

levada_csv_rules levada_csv_rules_of(const levada_csv_args *args);
/* Reads the names in the row data[0, size), as a list of texts. EINVALID_ARGUMENT: it breaks a
 * rule. */
LEVADA_MUST_USE levada_status levada_csv_header_read(const levada_csv_args *args,
                                                     const uint8_t *data, int32_t size,
                                                     levada_value **out, levada_error *err);
/* Finds the columns of record_defaults, a map, in the names of a header: map[i] is the number of
 * the field of column i, or -1 where the header lacks it. *in_order: each field is its column; map
 * is not set then. EINVALID_ARGUMENT names the column: the header lacks it or has it twice, or it
 * is not one of record_defaults. */
LEVADA_MUST_USE levada_status levada_csv_header_map(const levada_csv_args *args,
                                                    const levada_value *names, int32_t *map,
                                                    bool *in_order, levada_error *err);
/* Makes a map of record_defaults, in the order of `names`, which a list of defaults gets. *out is
 * NULL where it is that already, or has other names. */
LEVADA_MUST_USE levada_status levada_csv_header_name(const levada_csv_args *args,
                                                     const levada_value *names,
                                                     levada_value **out, levada_error *err);

#endif
