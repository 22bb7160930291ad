/* SPDX-License-Identifier: Apache-2.0 */
#include "cli.h"

static const levada_cli_option cmd_info_options[] = {
    LEVADA_CLI_OPTION_END
};

static levada_cli_status cmd_info(levada_env *env, const levada_cli_args *args)
{
    (void)env;
    (void)args;
    levada_cli_say("info: not in this build");
    return LEVADA_CLI_FAILED;
}

const levada_cli_command levada_cli_info = {
    .name = "info",
    .words = "FILE...",
    .doc = "format, records, fields and lengths of files",
    .options = cmd_info_options,
    .min_words = 1,
    .max_words = -1,
    .run = cmd_info,
};
