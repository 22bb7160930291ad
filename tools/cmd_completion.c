/* SPDX-License-Identifier: Apache-2.0 */
/*
 * levada completion SHELL: completes commands and options in bash, zsh and fish, and prints the
 * man page. All of it comes from the tables of the commands, as the help does.
 */
#include "cli.h"
#include "json.h"

#include <stdio.h>
#include <string.h>

static const levada_cli_option cmd_completion_options[] = {
    LEVADA_CLI_OPTION_END
};

/* "--json --limit -n " */
static void completion_words(levada_cli_buffer *b, const levada_cli_option *options)
{
    for (int i = 0; options[i].name; i++) {
        levada_cli_printf(b, "--%s ", options[i].name);
        if (options[i].letter) levada_cli_printf(b, "-%c ", options[i].letter);
    }
    levada_cli_puts(b, "--help");
}

static void completion_names(levada_cli_buffer *b)
{
    for (int i = 0; levada_cli_commands[i]; i++)
        levada_cli_printf(b, "%s%s", i ? " " : "", levada_cli_commands[i]->name);
}

/* The text with the characters of `special` preceded by `before`. */
static void completion_quoted(levada_cli_buffer *b, const char *text, const char *special,
                              const char *before)
{
    for (const char *c = text; *c; c++) {
        if (strchr(special, *c)) levada_cli_puts(b, before);
        levada_cli_printf(b, "%c", *c);
    }
}

/* The first arguments that a command accepts, if it does not accept names of files there. */
static void completion_choices(levada_cli_buffer *b, const levada_cli_command *c,
                               const levada_value *stages)
{
    if (c->choices) levada_cli_puts(b, c->choices);
    if (c != &levada_cli_stages) return;
    for (int64_t i = 0; i < levada_value_count(stages); i++)
        levada_cli_printf(b, "%s%s", i ? " " : "",
                          levada_cli_json_string(levada_value_item(stages, i), "name"));
}

/* `case $command in` with one list for each command: its options, or its choices. */
static void completion_case(levada_cli_buffer *b, const levada_value *stages, bool options)
{
    levada_cli_puts(b, "        case $command in\n");
    for (int i = 0; levada_cli_commands[i]; i++) {
        const levada_cli_command *c = levada_cli_commands[i];

        if (!options && !c->choices && c != &levada_cli_stages) continue;
        levada_cli_printf(b, "            %s) list=\"", c->name);
        if (options) completion_words(b, c->options);
        else completion_choices(b, c, stages);
        levada_cli_puts(b, "\" ;;\n");
    }
    levada_cli_puts(b, "        esac\n");
}

/* Options where the word begins with a dash, else the choices of the command, else names of files,
 * which may contain spaces. zsh runs it with bashcompinit. */
static void completion_bash(levada_cli_buffer *b, const levada_value *stages)
{
    levada_cli_puts(b, "_levada() {\n"
                       "    local word=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]} list=\n"
                       "    COMPREPLY=()\n"
                       "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n        list=\"");
    completion_names(b);
    levada_cli_puts(b, " --plugin --version --help\"\n    elif [[ $word == -* ]]; then\n");
    completion_case(b, stages, true);
    levada_cli_puts(b, "    elif [ \"$COMP_CWORD\" -eq 2 ]; then\n");
    completion_case(b, stages, false);
    levada_cli_puts(b, "    fi\n    if [ -n \"$list\" ]; then\n"
                       "        COMPREPLY=($(compgen -W \"$list\" -- \"$word\"))\n    else\n"
                       "        local IFS=$'\\n'\n"
                       "        COMPREPLY=($(compgen -f -- \"$word\"))\n    fi\n}\n"
                       "complete -o filenames -F _levada levada\n");
}

static void completion_zsh(levada_cli_buffer *b, const levada_value *stages)
{
    levada_cli_puts(b, "autoload -U +X compinit bashcompinit\ncompinit -u\nbashcompinit\n");
    completion_bash(b, stages);
}

static void completion_fish(levada_cli_buffer *b, const levada_value *stages)
{
    levada_cli_puts(b, "complete -c levada -s h -l help -d 'print help'\n");
    for (int i = 0; levada_cli_commands[i]; i++) {
        const levada_cli_command *c = levada_cli_commands[i];

        levada_cli_printf(b, "complete -c levada -n __fish_use_subcommand -a %s -d '", c->name);
        completion_quoted(b, c->doc, "'\\", "\\");
        levada_cli_puts(b, "'\n");
        if (c->choices || c == &levada_cli_stages) {
            levada_cli_printf(b, "complete -c levada -n '__fish_seen_subcommand_from %s' %s-a '",
                              c->name, c->max_words == 1 ? "-f " : "");
            completion_choices(b, c, stages);
            levada_cli_puts(b, "'\n");
        }
        for (int k = 0; c->options[k].name; k++) {
            const levada_cli_option *o = &c->options[k];

            levada_cli_printf(b, "complete -c levada -n '__fish_seen_subcommand_from %s' -l %s",
                              c->name, o->name);
            if (o->letter) levada_cli_printf(b, " -s %c", o->letter);
            levada_cli_printf(b, "%s -d '", o->value ? " -r" : "");
            completion_quoted(b, o->doc, "'\\", "\\");
            levada_cli_puts(b, "'\n");
        }
    }
}

/* Text of a man page: a dash is a minus, and no line begins with a dot or quote of its own. */
static void completion_roff(levada_cli_buffer *b, const char *text)
{
    bool begins = true;

    for (const char *c = text; *c; c++) {
        if (begins && (*c == '.' || *c == '\'')) levada_cli_puts(b, "\\&");
        if (*c == '\\') levada_cli_puts(b, "\\e");
        else if (*c == '-') levada_cli_puts(b, "\\-");
        else levada_cli_printf(b, "%c", *c);
        begins = *c == '\n';
    }
    levada_cli_puts(b, "\n");
}

static void completion_man_option(levada_cli_buffer *b, const levada_cli_option *o)
{
    levada_cli_puts(b, ".TP\n.B ");
    if (o->letter) levada_cli_printf(b, "\\-%c, ", o->letter);
    levada_cli_puts(b, "\\-\\-");
    completion_quoted(b, o->name, "-", "\\");
    if (o->value) levada_cli_printf(b, " %s", o->value);
    levada_cli_puts(b, "\n");
    completion_roff(b, o->doc);
}

static void completion_man(levada_cli_buffer *b, const levada_value *stages)
{
    (void)stages;
    levada_cli_printf(b, ".TH LEVADA 1 \"\" \"levada %s\"\n.SH NAME\nlevada \\- ",
                      levada_version());
    levada_cli_puts(b, "turns files of records into training batches of sequences\n"
                       ".SH SYNOPSIS\n.B levada\n[\\-\\-plugin PATH]... COMMAND ...\n"
                       ".SH COMMANDS\n");
    for (int i = 0; levada_cli_commands[i]; i++) {
        const levada_cli_command *c = levada_cli_commands[i];

        levada_cli_printf(b, ".SS levada %s ", c->name);
        completion_roff(b, c->words);
        completion_roff(b, c->doc);
        if (c->more) {
            levada_cli_puts(b, ".PP\n.nf\n");
            completion_roff(b, c->more);
            levada_cli_puts(b, ".fi\n");
        }
        for (int k = 0; c->options[k].name; k++) completion_man_option(b, &c->options[k]);
    }
    levada_cli_puts(b, ".SH HELP\nEvery command has \\-\\-help (\\-h).\n");
    levada_cli_puts(b, ".SH EXIT STATUS\n0 success, 1 failure or damage found, 2 wrong usage, "
                       "130 interrupted.\n");
}

static levada_cli_status cmd_completion(levada_env *env, const levada_cli_args *args)
{
    static const char *const names[] = { "bash", "zsh", "fish", "man" };
    void (*const writers[])(levada_cli_buffer *, const levada_value *) = {
        completion_bash, completion_zsh, completion_fish, completion_man
    };
    levada_error      err = LEVADA_ERROR_INIT;
    levada_cli_buffer text = { 0 };
    levada_value     *stages = NULL;

    if (levada_cli_json_stages(env, &stages, &err) != LEVADA_OK) return levada_cli_fail(&err);
    for (int i = 0; i < 4; i++)
        if (strcmp(args->words[0], names[i]) == 0) writers[i](&text, stages);
    levada_value_destroy(&stages);
    if (text.size == 0) {
        levada_cli_say("completion: unknown shell '%s'; available: bash, zsh, fish, man",
                       args->words[0]);
        return LEVADA_CLI_USAGE;
    }
    levada_cli_out(&text);
    levada_cli_buffer_clear(&text);
    return LEVADA_CLI_DONE;
}

const levada_cli_command levada_cli_completion = {
    .name = "completion",
    .words = "SHELL",
    .doc = "print shell completion (bash, zsh, fish) or the man page (man)",
    .more = "bash: eval \"$(levada completion bash)\" in ~/.bashrc; zsh: the same with zsh in\n"
            "~/.zshrc; fish: levada completion fish > ~/.config/fish/completions/levada.fish;\n"
            "man page: levada completion man > ~/.local/share/man/man1/levada.1",
    .choices = "bash zsh fish man",
    .options = cmd_completion_options,
    .min_words = 1,
    .max_words = 1,
    .run = cmd_completion,
};
