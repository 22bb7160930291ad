/* SPDX-License-Identifier: Apache-2.0 */
/*
 * levada stages: every name that can stand in a description, from the library's own tables.
 */
#include "cli.h"
#include "json.h"
#include <levada/dataset.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const levada_cli_option cmd_stages_options[] = {
    { "json", 0, NULL, "print the tables as JSON" },
    LEVADA_CLI_OPTION_END
};

/* Families in the order in which data meets them. */
static const char *const cmd_stages_families[][2] = {
    { "source", "sources: return records" },
    { "format", "file formats: read records of files" },
    { "decoder", "decoders: convert byte strings to columns" },
    { "stage", "stages: process blocks" },
    { "combiner", "combiners: join several inputs, or read ahead" },
    { NULL, NULL },
};

/* Columns of the longest name, 26 at least. */
static int cmd_stages_width(const levada_value *all)
{
    int width = 26;

    for (int64_t i = 0; i < levada_value_count(all); i++) {
        int size = (int)strlen(levada_cli_json_string(levada_value_item(all, i), "name"));

        if (size > width) width = size;
    }
    return width;
}

static void cmd_stages_list(levada_cli_buffer *b, const levada_value *all)
{
    int width = cmd_stages_width(all);

    for (int f = 0; cmd_stages_families[f][0]; f++) {
        bool any = false;

        for (int64_t i = 0; i < levada_value_count(all); i++) {
            const levada_value *op = levada_value_item(all, i);

            if (strcmp(levada_cli_json_string(op, "family"), cmd_stages_families[f][0]) != 0)
                continue;
            if (!any && b->size) levada_cli_puts(b, "\n");
            if (!any) levada_cli_printf(b, "%s\n", cmd_stages_families[f][1]);
            any = true;
            levada_cli_printf(b, "  %-*s %s\n", width, levada_cli_json_string(op, "name"),
                              levada_cli_json_string(op, "doc"));
        }
    }
}

static void cmd_stages_choices(levada_cli_buffer *b, const levada_value *choices)
{
    for (int64_t i = 0; i < levada_value_count(choices); i++) {
        levada_cli_printf(b, "%s%s", i ? " | " : " (",
                          levada_value_as_text(levada_value_item(choices, i), NULL));
    }
    levada_cli_printf(b, ")");
}

/* "0 to 100", "at least 1", "fail | skip": what a value may be. */
static void cmd_stages_range(levada_cli_buffer *b, const levada_value *arg)
{
    const levada_value *choices = levada_value_get(arg, "choices");
    int64_t             min = levada_cli_json_int(arg, "min");
    int64_t             max = levada_cli_json_int(arg, "max");

    if (levada_value_count(choices) > 0) cmd_stages_choices(b, choices);
    else if ((min == 0 && max == 0) || (min < 0 && max >= INT32_MAX)) return;
    else if (max == INT64_MAX || max == INT32_MAX || max < min)
        levada_cli_printf(b, " (at least %" PRId64 ")", min);
    else levada_cli_printf(b, " (%" PRId64 " to %" PRId64 ")", min, max);
}

static void cmd_stages_arg(levada_cli_buffer *b, const levada_value *arg, int width)
{
    const levada_value *otherwise = levada_cli_json_get(arg, "default");
    levada_cli_buffer   left = { 0 };

    levada_cli_printf(&left, "%s%s", levada_cli_json_string(arg, "name"),
                      levada_cli_json_bool(arg, "positional") ? " *" : "");
    levada_cli_printf(b, "  %-*s %-9s", width, left.at, levada_cli_json_string(arg, "type"));
    levada_cli_printf(b, " %s", levada_cli_json_string(arg, "doc"));
    cmd_stages_range(b, arg);
    if (levada_cli_json_bool(arg, "required")) {
        levada_cli_puts(b, "; required");
    } else if (otherwise && levada_value_kind_of(otherwise) != LEVADA_VALUE_NULL) {
        levada_cli_puts(b, "; default ");
        levada_cli_json_put(b, otherwise);
    }
    levada_cli_puts(b, "\n");
    levada_cli_buffer_clear(&left);
}

static void cmd_stages_one(levada_cli_buffer *b, const levada_value *op)
{
    const levada_value *args = levada_cli_json_get(op, "args");
    const char         *example = levada_cli_json_string(op, "example");
    int                 width = 24; /* of the longest option */

    levada_cli_printf(b, "%s (%s): %s\n", levada_cli_json_string(op, "name"),
                      levada_cli_json_string(op, "family"), levada_cli_json_string(op, "doc"));
    if (*example) levada_cli_printf(b, "\nexample\n  %s\n", example);
    if (!args || levada_value_count(args) == 0) return;
    levada_cli_puts(b, "\noptions (* = the name can be omitted)\n");
    for (int64_t i = 0; i < levada_value_count(args); i++) {
        int size = (int)strlen(levada_cli_json_string(levada_value_item(args, i), "name")) + 2;

        if (size > width) width = size;
    }
    for (int64_t i = 0; i < levada_value_count(args); i++)
        cmd_stages_arg(b, levada_value_item(args, i), width);
}

static const char *cmd_stages_name(const void *user, int i)
{
    const levada_value *all = user;

    if (i >= levada_value_count(all)) return NULL;
    return levada_cli_json_string(levada_value_item(all, i), "name");
}

static levada_cli_status cmd_stages_find(const levada_value *all, const char *name,
                                         const levada_value **out)
{
    const char *near;

    for (int64_t i = 0; i < levada_value_count(all); i++) {
        *out = levada_value_item(all, i);
        if (strcmp(levada_cli_json_string(*out, "name"), name) == 0) return LEVADA_CLI_DONE;
    }
    near = levada_cli_nearest(name, cmd_stages_name, all);
    if (near) levada_cli_say("unknown stage '%s'; did you mean '%s'?", name, near);
    else levada_cli_say("unknown stage '%s'; levada stages lists all names", name);
    return LEVADA_CLI_USAGE;
}

static levada_cli_status cmd_stages(levada_env *env, const levada_cli_args *args)
{
    levada_error        err = LEVADA_ERROR_INIT;
    levada_cli_status   status = LEVADA_CLI_DONE;
    levada_cli_buffer   out = { 0 };
    levada_value       *all = NULL;
    const levada_value *one = NULL;
    bool                json = levada_cli_flag(args, "json");

    if (levada_cli_json_stages(env, &all, &err) != LEVADA_OK) return levada_cli_fail(&err);
    if (args->nwords == 1) status = cmd_stages_find(all, args->words[0], &one);
    if (status == LEVADA_CLI_DONE) {
        if (json) levada_cli_json_put(&out, one ? one : all);
        else if (one) cmd_stages_one(&out, one);
        else cmd_stages_list(&out, all);
        if (json) levada_cli_puts(&out, "\n");
        levada_cli_out(&out);
    }
    levada_value_destroy(&all);
    levada_cli_buffer_clear(&out);
    return status;
}

const levada_cli_command levada_cli_stages = {
    .name = "stages",
    .words = "[NAME]",
    .doc = "list sources, decoders and stages, or describe one",
    .options = cmd_stages_options,
    .max_words = 1,
    .run = cmd_stages,
};
