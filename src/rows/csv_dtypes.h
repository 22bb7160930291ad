/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The options `dtypes` and `dates` of csv: columns whose dtypes are declared by name, while those
 * of the others are inferred. dtypes is {name: entry of record_defaults}; dates is {name: s | ms |
 * us | ns}, short for {dtype: datetime64[unit], default: NaT}. Pure functions.
 */
#ifndef LEVADA_ROWS_CSV_DTYPES_H
#define LEVADA_ROWS_CSV_DTYPES_H

#include "rows/csv_columns.h"

/* Returns true if some columns are declared. */
static inline bool levada_csv_is_declared(const levada_csv_args *args)
{
    return args->dtypes || args->dates;
}

/* Returns true if a column of this name is declared. */
bool levada_csv_declares(const levada_csv_args *args, const char *name, size_t size);
/* Sets *out to a new entry of record_defaults for a declared column. EINVALID_ARGUMENT: its unit is
 * not known. */
LEVADA_MUST_USE levada_status levada_csv_declared(const levada_csv_args *args, const char *name,
                                                  levada_value **out, levada_error *err);
/* Returns EINVALID_ARGUMENT unless the options are maps, and `names`, a list, has each declared
 * column. A NULL list means that the first row has no names. */
LEVADA_MUST_USE levada_status levada_csv_check_declared(const levada_csv_args *args,
                                                        const levada_value *names,
                                                        levada_error *err);

#endif
