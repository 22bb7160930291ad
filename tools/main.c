/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The entry point: finds the command, reads its options and runs it.
 */
#include "cli.h"
#include "json.h"
#include <levada/binding.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

const levada_cli_command *const levada_cli_commands[] = {
    &levada_cli_run,    &levada_cli_head,    &levada_cli_info,   &levada_cli_verify,
    &levada_cli_stats,  &levada_cli_convert, &levada_cli_stages, &levada_cli_bench,
    &levada_cli_check,  &levada_cli_new_plugin, &levada_cli_ckpt, &levada_cli_resume_check,
    &levada_cli_replay, &levada_cli_receipts,
    &levada_cli_steps,  &levada_cli_index,      &levada_cli_sample, &levada_cli_completion, NULL,
};

static const levada_cli_option main_options[] = {
    { "plugin", 0, "PATH", "load a plug-in first; can be repeated" },
    { "version", 0, NULL, "print the version and the features of this build" },
    LEVADA_CLI_OPTION_END
};

static int main_longer(int width, const char *text)
{
    int n = (int)strlen(text);

    return n > width ? n : width;
}

/* "--source NAME" */
static void main_option_name(const levada_cli_option *option, char *out, size_t size)
{
    snprintf(out, size, "--%s%s%s", option->name, option->value ? " " : "",
             option->value ? option->value : "");
}

static void main_put_options(levada_cli_buffer *text, const levada_cli_option *options)
{
    char name[48];
    int  width = 18;

    for (int i = 0; options[i].name; i++) {
        main_option_name(&options[i], name, sizeof name);
        width = main_longer(width, name);
    }
    for (int i = 0; options[i].name; i++) {
        char letter[8] = "    ";

        if (options[i].letter) snprintf(letter, sizeof letter, "-%c, ", options[i].letter);
        main_option_name(&options[i], name, sizeof name);
        levada_cli_printf(text, "  %s%-*s %s\n", letter, width, name, options[i].doc);
    }
    levada_cli_printf(text, "  -h, %-*s %s\n", width, "--help", "print this help");
}

static levada_cli_status main_help(void)
{
    levada_cli_buffer text = { 0 };
    int               name = 0, words = 0;

    for (int i = 0; levada_cli_commands[i]; i++) {
        name = main_longer(name, levada_cli_commands[i]->name);
        words = main_longer(words, levada_cli_commands[i]->words);
    }
    levada_cli_puts(&text, "usage: levada [--plugin PATH]... COMMAND ...\n\n"
                           "Turns files of records into training batches of sequences.\n\n");
    for (int i = 0; levada_cli_commands[i]; i++)
        levada_cli_printf(&text, "  %-*s  %-*s  %s\n", name, levada_cli_commands[i]->name, words,
                          levada_cli_commands[i]->words, levada_cli_commands[i]->doc);
    levada_cli_puts(&text, "\n");
    main_put_options(&text, main_options);
    levada_cli_puts(&text, "\nlevada COMMAND --help lists the options of a command.\n"
                           "Exit status: 0 success, 1 failure or damage found, 2 wrong usage, "
                           "130 interrupted.\n");
    levada_cli_out(&text);
    levada_cli_buffer_clear(&text);
    return LEVADA_CLI_DONE;
}

static levada_cli_status main_command_help(const levada_cli_command *command)
{
    levada_cli_buffer text = { 0 };

    levada_cli_printf(&text, "usage: levada %s %s [OPTION]...\n\n%s\n", command->name,
                      command->words, command->doc);
    if (command->more) levada_cli_printf(&text, "\n%s\n", command->more);
    levada_cli_puts(&text, "\n");
    main_put_options(&text, command->options);
    levada_cli_out(&text);
    levada_cli_buffer_clear(&text);
    return LEVADA_CLI_DONE;
}

static const char *main_command_name(const void *user, int i)
{
    const levada_cli_command *const *commands = user;
    return commands[i] ? commands[i]->name : NULL;
}

static const levada_cli_command *main_find(const char *name)
{
    for (int i = 0; levada_cli_commands[i]; i++)
        if (strcmp(levada_cli_commands[i]->name, name) == 0) return levada_cli_commands[i];
    return NULL;
}

static levada_cli_status main_unknown(const char *name)
{
    const char *near = levada_cli_nearest(name, main_command_name, levada_cli_commands);

    if (near) levada_cli_say("unknown command '%s'; did you mean '%s'?", name, near);
    else levada_cli_say("unknown command '%s'; levada --help lists all commands", name);
    return LEVADA_CLI_USAGE;
}

/* "levada 0.1.0 (cpu avx512, simd on, futex on, curl 7.88.1, isal 2.30.0, zlib 1.2.13, ...)" */
static levada_cli_status main_version(levada_env *env)
{
    static const char *const switches[] = { "simd", "futex" };
    static const char *const libraries[] = { "curl", "isal", "zlib", "zstd", "jpeg", "png", "flac",
                                             "simdjson", "soxr", "kissfft" };
    const size_t             n = sizeof libraries / sizeof *libraries;
    levada_cli_buffer        text = { 0 };
    levada_value            *config = NULL;
    char                    *json = NULL;
    levada_error             err = LEVADA_ERROR_INIT;

    if (levada_config_describe(env, &json, &err) != LEVADA_OK
        || levada_cli_json_take(&json, &config, &err) != LEVADA_OK)
        return levada_cli_fail(&err);
    levada_cli_printf(&text, "levada %s (cpu %s", levada_version(),
                      levada_cli_json_string(config, "cpu"));
    for (int i = 0; i < 2; i++)
        levada_cli_printf(&text, ", %s %s", switches[i],
                          levada_cli_json_bool(config, switches[i]) ? "on" : "off");
    for (size_t i = 0; i < n; i++) {
        const char *version = levada_cli_json_string(config, libraries[i]);

        levada_cli_printf(&text, ", %s %s", libraries[i], version[0] ? version : "off");
    }
    levada_cli_puts(&text, levada_cli_json_bool(config, "debug") ? ", debug)\n" : ")\n");
    levada_cli_out(&text);
    levada_cli_buffer_clear(&text);
    levada_value_destroy(&config);
    return LEVADA_CLI_DONE;
}

static char main_crash[600]; /* the message where a plug-in crashes while it is loaded */

static void main_crashed(int number)
{
    (void)signal(number, SIG_DFL);
    if (write(STDERR_FILENO, main_crash, strlen(main_crash)) < 0) return; /* no more can be done */
    (void)raise(number);
}

static levada_status main_load(levada_env *env, const char *path, levada_error *err)
{
    static const int fatal[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT };
    levada_status    st;

    (void)snprintf(main_crash, sizeof main_crash,
                   "levada: plug-in '%.512s' crashed while it was loaded\n", path);
    for (size_t i = 0; i < sizeof fatal / sizeof *fatal; i++) (void)signal(fatal[i], main_crashed);
    st = levada_plugin_load(env, path, NULL, err);
    for (size_t i = 0; i < sizeof fatal / sizeof *fatal; i++) (void)signal(fatal[i], SIG_DFL);
    return st;
}

/* Reads the options before the command. Returns the index of the first word that is not one of
 * them; 0 where they are wrong. */
static int main_globals(int argc, char **argv, levada_env *env, levada_cli_status *status)
{
    int i = 1;

    *status = LEVADA_CLI_USAGE;
    while (i < argc && argv[i][0] == '-') {
        levada_cli_args args;
        levada_error    err = LEVADA_ERROR_INIT;
        bool            apart = strcmp(argv[i], "--plugin") == 0 && i + 1 < argc;
        char           *words[2] = { argv[i], apart ? argv[i + 1] : NULL };

        if (!levada_cli_args_read(&args, main_options, 1 + apart, words)) {
            levada_cli_say("%s", args.message);
            return 0;
        }
        if (args.help || levada_cli_flag(&args, "version")) {
            *status = args.help ? main_help() : main_version(env);
            return 0;
        }
        if (main_load(env, levada_cli_value(&args, "plugin"), &err) != LEVADA_OK) {
            *status = levada_cli_fail(&err);
            return 0;
        }
        i += 1 + apart;
    }
    return i;
}

static levada_cli_status main_run(const levada_cli_command *command, levada_env *env, int argc,
                                  char **argv)
{
    levada_cli_args args;

    if (!levada_cli_args_read(&args, command->options, argc, argv)) {
        levada_cli_say("%s: %s", command->name, args.message);
        return LEVADA_CLI_USAGE;
    }
    if (args.help) return main_command_help(command);
    if (args.nwords < command->min_words) {
        levada_cli_say("%s: missing argument %s; see levada %s --help", command->name,
                       command->words, command->name);
        return LEVADA_CLI_USAGE;
    }
    if (command->max_words >= 0 && args.nwords > command->max_words) {
        levada_cli_say("%s: unexpected argument '%s'; quote a pipeline that contains spaces or "
                       "|",
                       command->name, args.words[command->max_words]);
        return LEVADA_CLI_USAGE;
    }
    for (int i = 0; i < args.nwords && (command->inputs < 0 || i < command->inputs); i++)
        if (strcmp(args.words[i], "-") == 0) args.words[i] = (char *)(uintptr_t)"/dev/stdin";
    return command->run(env, &args);
}

enum { MAIN_ALIKE = 8, MAIN_KINDS = 16 };

/* Messages that say the same about many files. Guarded by the lock of stderr. */
static struct main_kind {
    char    text[160]; /* "the file has no records" */
    int64_t count;
} main_kinds[MAIN_KINDS];

/* Returns true if a message is among the first of its kind. Counts it. */
static bool main_is_first(const char *line)
{
    const char *text = line;

    for (const char *at = line; (at = strstr(at, ": ")) != NULL;) text = at += 2;
    for (int i = 0; i < MAIN_KINDS && text > line; i++) {
        struct main_kind *kind = &main_kinds[i];

        if (kind->count == 0) snprintf(kind->text, sizeof kind->text, "%s", text);
        if (strcmp(kind->text, text) == 0) return kind->count++ < MAIN_ALIKE;
    }
    return true;
}

/* "levada: the file has no records: 1,242 more messages" */
static void main_log_rest(void)
{
    for (int i = 0; i < MAIN_KINDS; i++) {
        levada_cli_buffer count = { 0 };

        if (main_kinds[i].count <= MAIN_ALIKE) continue;
        levada_cli_counted(&count, main_kinds[i].count - MAIN_ALIKE, "more message",
                           "more messages");
        levada_cli_say("%s: %s", main_kinds[i].text, count.at);
        levada_cli_buffer_clear(&count);
    }
}

/* A command that looks at a file twice says what it found once. Any thread. */
static void main_log(void *user, levada_log_level level, const char *line)
{
    static char last[512]; /* guarded by the lock of stderr */

    (void)user;
    (void)level;
    flockfile(stderr);
    if (strncmp(last, line, sizeof last - 1) != 0 && main_is_first(line))
        levada_cli_say("%s", line);
    snprintf(last, sizeof last, "%s", line);
    funlockfile(stderr);
}

/* The environment of the library from that of the process: LEVADA_CPU caps the kernels. */
static levada_status main_env(levada_env **out, levada_error *err)
{
    static const char *const levels[] = { "auto", "portable", "sse42", "avx2", "avx512" };
    levada_env_options       options = LEVADA_ENV_OPTIONS_INIT;
    const char              *cpu = getenv("LEVADA_CPU");

    for (int i = 0; cpu && i < 5; i++)
        if (strcasecmp(cpu, levels[i]) == 0) options.cpu = (levada_cpu_level)i;
    options.log = main_log;
    options.log_level = LEVADA_LOG_WARNING;
    return levada_env_create(&options, out, err);
}

int main(int argc, char **argv)
{
    levada_error              err = LEVADA_ERROR_INIT;
    levada_cli_status         status = LEVADA_CLI_USAGE;
    levada_env               *env = NULL;
    const levada_cli_command *command = NULL;
    int                       first;

    levada_cli_signals();
    if (main_env(&env, &err) != LEVADA_OK) return (int)levada_cli_fail(&err);
    levada_env_set_interrupted(env, levada_cli_interrupted);
    first = main_globals(argc, argv, env, &status);
    if (first == 0) goto out;
    status = LEVADA_CLI_USAGE;
    if (first == argc) {
        status = main_help();
        goto out;
    }
    command = main_find(strcmp(argv[first], "help") == 0 && first + 1 < argc ? argv[first + 1]
                                                                             : argv[first]);
    if (!command && strcmp(argv[first], "help") == 0) status = main_help();
    else if (!command) status = main_unknown(argv[first]);
    else if (strcmp(argv[first], "help") == 0) status = main_command_help(command);
    else status = main_run(command, env, argc - first - 1, argv + first + 1);
out:
    levada_env_destroy(&env);
    main_log_rest();
    return (int)levada_cli_out_close(status);
}
