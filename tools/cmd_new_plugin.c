/* SPDX-License-Identifier: Apache-2.0 */
/*
 * levada new-plugin: a file to begin with.
 */
#include "cli.h"
#include "file.h"
#include "template.h"
#include <levada/output.h>

#include <string.h>

static const levada_cli_option cmd_new_plugin_options[] = {
    { "kind", 0, "KIND", "source (the default), format, decoder or stage" },
    LEVADA_CLI_OPTION_END
};

static const struct cmd_new_plugin_kind {
    const char        *name, *doc, *what, *run;
    const char *const *lines;
} cmd_new_plugin_kinds[] = {
    { "source", "a source that counts", "a source of records", "NAME:5",
      levada_cli_template_source },
    { "format", "a file format with decimal lengths",
      "a file format: where records begin and end", "NAME:PATH", levada_cli_template_format },
    { "decoder", "a decoder of decimal numbers", "a decoder: byte strings to typed columns",
      "text_lines:PATH | NAME", levada_cli_template_decoder },
    { "stage", "a PURE stage that divides",
      "a PURE stage: a block in, a block out, on any thread", "range:10 | NAME",
      levada_cli_template_stage },
};

static const struct cmd_new_plugin_kind *cmd_new_plugin_kind(const char *name)
{
    const size_t n = sizeof cmd_new_plugin_kinds / sizeof cmd_new_plugin_kinds[0];

    for (size_t i = 0; i < n; i++) {
        if (!name || strcmp(cmd_new_plugin_kinds[i].name, name) == 0)
            return &cmd_new_plugin_kinds[i];
    }
    return NULL;
}

/* A word that can stand in descriptions and in C. */
static bool cmd_new_plugin_is_name(const char *name)
{
    return name[0] >= 'a' && name[0] <= 'z'
           && strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_") == strlen(name)
           && !strstr(name, "__") && strlen(name) <= 40;
}

/* The line, with the words of a template replaced. Texts of the kind have NAME in them. */
static void cmd_new_plugin_line(levada_cli_buffer *b, const char *line, const char *name,
                                const struct cmd_new_plugin_kind *kind)
{
    const char *const words[][2]
        = { { "NAME", name },
            { "KIND", kind->name },
            { "WHAT", kind->what },
            { "RUN", kind->run } };

    while (*line) {
        size_t i = 0;

        while (i < 4 && strncmp(line, words[i][0], strlen(words[i][0])) != 0) i++;
        if (i == 4) levada_cli_add(b, line++, 1);
        else if (i == 0) levada_cli_puts(b, name);
        else cmd_new_plugin_line(b, words[i][1], name, kind);
        if (i < 4) line += strlen(words[i][0]);
    }
}

static void cmd_new_plugin_fill(levada_cli_buffer *b, const char *name,
                                const struct cmd_new_plugin_kind *kind)
{
    const char *const *const parts[]
        = { levada_cli_template_first, kind->lines, levada_cli_template_last };

    for (size_t part = 0; part < 3; part++) {
        for (const char *const *line = parts[part]; *line; line++) {
            cmd_new_plugin_line(b, *line, name, kind);
            levada_cli_puts(b, "\n");
        }
    }
}

static levada_cli_status cmd_new_plugin(levada_env *env, const levada_cli_args *args)
{
    const char       *name = args->words[0];
    levada_error      err = LEVADA_ERROR_INIT;
    levada_cli_buffer path = { 0 }, text = { 0 };
    levada_cli_status status = LEVADA_CLI_DONE;

    const struct cmd_new_plugin_kind *kind = cmd_new_plugin_kind(levada_cli_value(args, "kind"));

    (void)env;
    if (!kind) {
        levada_cli_say("new-plugin: --kind must be source, format, decoder or stage, not '%s'",
                       levada_cli_value(args, "kind"));
        return LEVADA_CLI_USAGE;
    }
    if (!cmd_new_plugin_is_name(name)) {
        levada_cli_say("new-plugin: invalid name '%s'; use a-z, 0-9 and single _, at most 40 "
                       "characters",
                       name);
        return LEVADA_CLI_USAGE;
    }
    levada_cli_printf(&path, "%s.c", name);
    cmd_new_plugin_fill(&text, name, kind);
    if (levada_cli_file_size(path.at) >= 0) {
        levada_cli_say("%s already exists", path.at);
        status = LEVADA_CLI_FAILED;
    } else if (levada_output_save(path.at, text.at, text.size, &err) != LEVADA_OK) {
        status = levada_cli_fail(&err);
    } else {
        text.size = 0;
        levada_cli_printf(
            &text, "%s   %s; its first lines show how to compile it\n", path.at, kind->doc);
        levada_cli_out(&text);
    }
    levada_cli_buffer_clear(&path);
    levada_cli_buffer_clear(&text);
    return status;
}

const levada_cli_command levada_cli_new_plugin = {
    .name = "new-plugin",
    .words = "NAME",
    .doc = "write NAME.c, a template of a plug-in",
    .options = cmd_new_plugin_options,
    .min_words = 1,
    .max_words = 1,
    .run = cmd_new_plugin,
};
