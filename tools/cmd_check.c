/* SPDX-License-Identifier: Apache-2.0 */
/*
 * levada check: does a plug-in keep the contract? It is loaded, and every example of what it
 * registers is run.
 */
#include "cli.h"
#include "json.h"
#include <levada/iter.h>

#include <string.h>

static const levada_cli_option cmd_check_options[] = {
    LEVADA_CLI_OPTION_END
};

typedef struct check_names {
    levada_value *before, *after; /* what levada_stages_json gave */
} check_names;

static levada_status cmd_check_list(levada_env *env, levada_value **out, levada_error *err)
{
    char *text = NULL;

    LEVADA_TRY(levada_stages_json(env, &text, err));
    return levada_cli_json_take(&text, out, err);
}

static bool cmd_check_has(const levada_value *all, const char *name)
{
    for (int64_t i = 0; i < levada_value_count(all); i++)
        if (strcmp(levada_cli_json_string(levada_value_item(all, i), "name"), name) == 0)
            return true;
    return false;
}

/* All records of a description, with that many threads and rows in a block. */
static levada_status cmd_check_count(levada_env *env, const char *description, int32_t threads,
                                     int32_t rows, int64_t *out, levada_error *err)
{
    levada_iter_options options = LEVADA_ITER_OPTIONS_INIT;
    levada_dataset     *dataset = NULL;
    levada_iter        *it = NULL;
    levada_block       *block = NULL;
    levada_status       status = levada_dataset_parse(env, description, &dataset, err);

    options.seed = 1;
    options.threads = threads;
    options.block_rows = rows;
    *out = 0;
    if (status == LEVADA_OK) status = levada_iter_open(dataset, &options, &it, err);
    while (status == LEVADA_OK) {
        status = levada_iter_next(it, &block, err);
        if (status == LEVADA_OK) *out += levada_block_rows(block);
        levada_block_unref(&block);
    }
    levada_iter_close(&it);
    levada_dataset_unref(&dataset);
    return status == LEVADA_END ? LEVADA_OK : status;
}

/* The example of one name, at several block sizes and thread counts. */
static levada_status cmd_check_one(levada_env *env, const levada_value *op, levada_error *err)
{
    static const int32_t settings[][2] = { { 1, 256 }, { 1, 1 }, { 1, 7 }, { 2, 7 } };
    const char          *example = levada_cli_json_string(op, "example");
    int64_t              first = 0, n = 0;

    if (!*example) return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "it has no example");
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++) {
        LEVADA_TRY(cmd_check_count(env, example, settings[i][0], settings[i][1], &n, err));
        if (i == 0) first = n;
        if (n != first)
            return levada_fail(err, LEVADA_EINTERNAL,
                               "%lld records with block_rows=%d and threads=%d, %lld before",
                               (long long)n, (int)settings[i][1], (int)settings[i][0],
                               (long long)first);
    }
    return LEVADA_OK;
}

static levada_cli_status cmd_check_all(levada_env *env, const check_names *names)
{
    levada_cli_status status = LEVADA_CLI_DONE;
    levada_cli_buffer line = { 0 };
    char              text[768];

    for (int64_t i = 0; i < levada_value_count(names->after); i++) {
        const levada_value *op = levada_value_item(names->after, i);
        const char         *name = levada_cli_json_string(op, "name");
        levada_error        err = LEVADA_ERROR_INIT;
        bool                good;

        if (cmd_check_has(names->before, name)) continue;
        good = cmd_check_one(env, op, &err) == LEVADA_OK;
        levada_cli_printf(&line, "%-4s %s %s%s%s\n", good ? "ok" : "FAIL",
                          levada_cli_json_string(op, "family"), name, good ? "" : ": ",
                          good ? "" : levada_error_text(&err, text, sizeof text));
        if (!good) status = LEVADA_CLI_FAILED;
    }
    if (line.size == 0) levada_cli_puts(&line, "the plug-in registers nothing new\n");
    levada_cli_out(&line);
    levada_cli_buffer_clear(&line);
    return status;
}

static levada_cli_status cmd_check(levada_env *env, const levada_cli_args *args)
{
    levada_error      err = LEVADA_ERROR_INIT;
    check_names       names = { NULL, NULL };
    levada_cli_status status = LEVADA_CLI_FAILED;

    if (cmd_check_list(env, &names.before, &err) != LEVADA_OK
        || levada_plugin_load(env, args->words[0], NULL, &err) != LEVADA_OK
        || cmd_check_list(env, &names.after, &err) != LEVADA_OK)
        levada_cli_fail(&err);
    else
        status = cmd_check_all(env, &names);
    levada_value_destroy(&names.before);
    levada_value_destroy(&names.after);
    return status;
}

const levada_cli_command levada_cli_check = {
    .name = "check",
    .words = "PLUGIN",
    .doc = "load a plug-in and run the example of everything in it",
    .options = cmd_check_options,
    .min_words = 1,
    .max_words = 1,
    .run = cmd_check,
};
