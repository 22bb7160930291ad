/* SPDX-License-Identifier: Apache-2.0 */
/*
 * levada convert by columns: where IN is a description, where IN or OUT is CSV or tar, or where OUT
 * is a set of files.
 */
#ifndef LEVADA_TOOLS_CONVERT_ROWS_H
#define LEVADA_TOOLS_CONVERT_ROWS_H

#include "cli.h"

bool levada_cli_convert_rows_wanted(levada_env *env, const levada_cli_args *args);
levada_cli_status levada_cli_convert_rows(levada_env *env, const levada_cli_args *args);

#endif
