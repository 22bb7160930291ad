/* SPDX-License-Identifier: Apache-2.0 */
#include "cli.h"

static const levada_cli_option cmd_verify_options[] = {
    LEVADA_CLI_OPTION_END
};

static levada_cli_status cmd_verify(levada_env *env, const levada_cli_args *args)
{
    (void)env;
    (void)args;
    levada_cli_say("verify: not in this build");
    return LEVADA_CLI_FAILED;
}

const levada_cli_command levada_cli_verify = {
    .name = "verify",
    .words = "FILE...",
    .doc = "check every record of files, and repair them",
    .options = cmd_verify_options,
    .min_words = 1,
    .max_words = -1,
    .run = cmd_verify,
};
