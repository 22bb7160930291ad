/* SPDX-License-Identifier: Apache-2.0 */
/*
 * levada ckpt: what stands in a saved position.
 */
#include "cli.h"
#include "file.h"

#include <string.h>

static const levada_cli_option cmd_ckpt_options[] = {
    LEVADA_CLI_OPTION_END
};

/* The entries of the state are shown once the library can list them; until then its head. */
static levada_status cmd_ckpt_show(const levada_cli_buffer *state, levada_cli_buffer *out,
                                   levada_error *err)
{
    static const char magic[] = "LVDASTAT";
    const uint8_t    *at = (const uint8_t *)state->at;

    if (state->size < 28 || memcmp(at, magic, 8) != 0)
        return levada_fail(err, LEVADA_EDATA_LOSS, "not a saved position: no %s in front", magic);
    levada_cli_printf(out, "format       %d\n", at[8] | at[9] << 8);
    levada_cli_puts(out, "fingerprint  ");
    for (int i = 0; i < 16; i++) levada_cli_printf(out, "%02x", at[12 + i]);
    levada_cli_puts(out, "\nsize         ");
    levada_cli_bytes(out, (int64_t)state->size);
    levada_cli_puts(out, "\n");
    return LEVADA_OK;
}

static levada_cli_status cmd_ckpt(levada_env *env, const levada_cli_args *args)
{
    levada_error      err = LEVADA_ERROR_INIT;
    levada_cli_buffer state = { 0 }, out = { 0 };
    levada_cli_status status = LEVADA_CLI_DONE;

    (void)env;
    if (strcmp(args->words[0], "show") != 0) {
        levada_cli_say("ckpt: there is no %s: ckpt show FILE", args->words[0]);
        return LEVADA_CLI_USAGE;
    }
    if (levada_cli_file_read(args->words[1], &state, &err) != LEVADA_OK
        || cmd_ckpt_show(&state, &out, &err) != LEVADA_OK)
        status = levada_cli_fail(&err);
    else
        levada_cli_out(&out);
    levada_cli_buffer_clear(&state);
    levada_cli_buffer_clear(&out);
    return status;
}

const levada_cli_command levada_cli_ckpt = {
    .name = "ckpt",
    .words = "show FILE",
    .doc = "what stands in a saved position",
    .options = cmd_ckpt_options,
    .min_words = 2,
    .max_words = 2,
    .run = cmd_ckpt,
};
