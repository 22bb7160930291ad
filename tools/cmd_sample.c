/* SPDX-License-Identifier: Apache-2.0 */
/*
 * levada sample: writes the small files that the examples of the documentation read.
 */
#include "cli.h"
#include "escape.h"
#include <levada/sample.h>

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

static const levada_cli_option cmd_sample_options[] = {
    LEVADA_CLI_OPTION_END
};

static levada_cli_status cmd_sample(levada_env *env, const levada_cli_args *args)
{
    const char       *folder = args->words[0];
    levada_error      err = LEVADA_ERROR_INIT;
    levada_cli_buffer text = { 0 };

    if (mkdir(folder, 0777) != 0 && errno != EEXIST) {
        levada_cli_say("cannot create the directory %s: %s", folder, strerror(errno));
        return LEVADA_CLI_FAILED;
    }
    if (levada_sample_write(env, folder, &err) != LEVADA_OK) return levada_cli_fail(&err);
    levada_cli_show_text(&text, folder);
    levada_cli_puts(&text,
                    "   train-0.tfrecord.gz, train-1.tfrecord.gz, spec.json, speeches.txt\n");
    levada_cli_out(&text);
    levada_cli_buffer_clear(&text);
    return LEVADA_CLI_DONE;
}

const levada_cli_command levada_cli_sample = {
    .name = "sample",
    .words = "DIR",
    .doc = "write small sample files for experiments",
    .options = cmd_sample_options,
    .min_words = 1,
    .max_words = 1,
    .run = cmd_sample,
};
