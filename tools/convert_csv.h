/* SPDX-License-Identifier: Apache-2.0 */
/* The columns of a CSV file that is converted: all of them as strings. */
#ifndef LEVADA_TOOLS_CONVERT_CSV_H
#define LEVADA_TOOLS_CONVERT_CSV_H

#include "cli.h"
#include <levada/value.h>

typedef enum levada_cli_header {
    LEVADA_CLI_HEADER_LOOK, /* the first row names the columns, if it looks like names */
    LEVADA_CLI_HEADER_YES,
    LEVADA_CLI_HEADER_NO /* the columns are c0, c1, ... */
} levada_cli_header;

/* Reads the first row of the file, and makes the options of the source csv. `record_bytes`: the
 * longest row. EINVALID_ARGUMENT: the file is empty, or its first row does not look like names. */
LEVADA_MUST_USE levada_status levada_cli_convert_csv(levada_env *env, const char *path,
                                                     levada_cli_header header, int64_t record_bytes,
                                                     levada_value **out, levada_error *err);

#endif
