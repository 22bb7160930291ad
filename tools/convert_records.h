/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `levada convert` does to records that are bytes: a function for the stage `map`, so that all
 * threads work at it, and `--errors` covers records that cannot be converted.
 */
#ifndef LEVADA_TOOLS_CONVERT_RECORDS_H
#define LEVADA_TOOLS_CONVERT_RECORDS_H

#include "cli.h"
#include <levada/function.h>

typedef enum levada_cli_convert_as {
    LEVADA_CLI_CONVERT_COPY,         /* no function is needed                     */
    LEVADA_CLI_CONVERT_EXAMPLE_JSON, /* a message to a line of JSON               */
    LEVADA_CLI_CONVERT_JSON_EXAMPLE, /* and back                                  */
    LEVADA_CLI_CONVERT_JSON_LINE,    /* a line of JSON as it is, if it is one     */
    LEVADA_CLI_CONVERT_TEXT_EXAMPLE, /* a line of text to an Example              */
    LEVADA_CLI_CONVERT_TEXT_RECORD,  /* a line of text to a record of the same bytes */
    LEVADA_CLI_CONVERT_TEXT_JSON     /* a line of text to a line of JSON          */
} levada_cli_convert_as;

/* A function from the first column, of byte strings, to one column `record` of byte strings.
 * `field`: of text, the feature for a line; NULL = the line is the record. Borrowed for the life of
 * the function. */
LEVADA_MUST_USE levada_status levada_cli_convert_function(levada_env           *env,
                                                          levada_cli_convert_as as,
                                                          const char           *field,
                                                          levada_function     **out,
                                                          levada_error         *err);

#endif
