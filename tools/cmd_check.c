/* SPDX-License-Identifier: Apache-2.0 */
/*
 * levada check: loads a plug-in and runs the conformance suite on every name that it registers.
 */
#include "check_memory.h"
#include "cli.h"
#include "conform.h"
#include "escape.h"
#include "json.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const levada_cli_option cmd_check_options[] = {
    { "json", 0, NULL, "print one JSON line per check" },
    LEVADA_CLI_OPTION_END
};

/* -- lines */

static void cmd_check_json(levada_cli_buffer *b, const char *key, const char *text)
{
    levada_cli_printf(b, ",\"%s\":", key);
    levada_cli_json_text(b, text, strlen(text));
}

static void cmd_check_line(levada_cli_buffer *b, bool json, const char *family,
                           const levada_conform_check *check, const levada_conform *c,
                           levada_conform_verdict verdict)
{
    static const char *const words[] = { "ok", "FAIL", "skip" };

    if (json) {
        levada_cli_printf(b, "{\"result\":\"%s\"",
                          verdict == LEVADA_CONFORM_BAD ? "fail" : words[verdict]);
        cmd_check_json(b, "family", family);
        cmd_check_json(b, "name", c->name);
        cmd_check_json(b, "check", check->name);
        cmd_check_json(b, "claim", check->claim);
        cmd_check_json(b, "note", c->note);
        cmd_check_json(b, "what", c->what);
        cmd_check_json(b, "where", c->where);
        levada_cli_puts(b, "}\n");
        return;
    }
    levada_cli_printf(b, "%-4s %s %s: %s", words[verdict], family, c->name, check->claim);
    if (verdict != LEVADA_CONFORM_GOOD) levada_cli_printf(b, ": %s", c->what);
    else if (c->note[0]) levada_cli_printf(b, " (%s)", c->note);
    if (c->where[0]) levada_cli_printf(b, "; look at %s", c->where);
    levada_cli_puts(b, "\n");
}

/* -- crashes */

/* Of the check that runs; the claim is NULL where none does. */
static const char *volatile check_name, *volatile check_claim;

static void cmd_check_write(const char *text)
{
    if (write(STDERR_FILENO, text, strlen(text)) < 0) return; /* nothing else can be done */
}

static void cmd_check_blame(const char *did)
{
    cmd_check_write("levada: check: ");
    cmd_check_write(check_name);
    cmd_check_write(did);
    cmd_check_write(check_claim);
    cmd_check_write("\n");
}

static void cmd_check_crashed(int number)
{
    if (check_claim) cmd_check_blame(": the plug-in crashed in the check: ");
    (void)signal(number, SIG_DFL);
    (void)raise(number);
}

/* A plug-in that calls exit(0) has not passed. */
static void cmd_check_left(void)
{
    if (!check_claim) return;
    cmd_check_blame(": the plug-in called exit() in the check: ");
    _exit(LEVADA_CLI_FAILED);
}

/* A plug-in that crashes or exits ends the command. On a stack of its own, where that has run out.
 */
static void cmd_check_watch(const char *word)
{
    static const int  fatal[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT };
    static char       stack[65536];
    const stack_t     own = { .ss_sp = stack, .ss_size = sizeof stack };
    struct sigaction  action = { .sa_handler = cmd_check_crashed, .sa_flags = SA_ONSTACK };

    check_name = word, check_claim = "it can be loaded";
    (void)atexit(cmd_check_left);
    (void)sigaltstack(&own, NULL);
    for (size_t i = 0; i < sizeof fatal / sizeof *fatal; i++) sigaction(fatal[i], &action, NULL);
}

/* -- names */

/* Runs all checks of one name and reports each at once. Returns false where the rest is not run. */
static bool cmd_check_one(levada_conform *c, const char *family, const levada_conform_check *check,
                          bool json, levada_cli_status *status)
{
    levada_cli_buffer line = { 0 };
    bool              more = true;

    for (; more && check->name; check++) {
        levada_conform_verdict verdict;

        check_name = c->name, check_claim = check->claim;
        verdict = check->run(c);
        check_claim = NULL;

        /* An example whose file is elsewhere shows nothing about the plug-in. */
        if (!c->known) verdict = LEVADA_CONFORM_BAD;
        if (verdict == LEVADA_CONFORM_BAD) *status = LEVADA_CLI_FAILED;
        line.size = 0;
        cmd_check_line(&line, json, family, check, c, verdict);
        more = levada_cli_out(&line) && !c->stuck && !levada_cli_stopped();
        if (!c->known) break; /* nothing else can be said about it */
    }
    levada_cli_buffer_clear(&line);
    levada_conform_clear(c);
    return more;
}

/* -- files of examples */

static levada_check_example cmd_check_example(const levada_check_memory *memory, const char *name)
{
    for (int i = 0; i < memory->nexamples; i++) {
        if (strcmp(memory->examples[i].name, name) == 0) return memory->examples[i];
    }
    return (levada_check_example){ 0 };
}

/* Reports a call of the system that failed. Returns false: the rest is not run. */
static bool cmd_check_lost(const char *what, levada_cli_status *status)
{
    levada_cli_say("cannot %s: %s", what, strerror(errno));
    *status = LEVADA_CLI_FAILED;
    return false;
}

/* Checks every name, then the names of formats. */
static bool cmd_check_name(levada_conform *c, const char *family, bool json,
                           levada_cli_status *status)
{
    bool more = cmd_check_one(c, family, levada_conform_checks, json, status);

    if (!more || !c->def) return more;
    return cmd_check_one(c, family, levada_conform_format_checks, json, status);
}

/* Checks the name in a directory with the files of the example, if it has files. */
static bool cmd_check_beside(levada_conform *c, const levada_example_file *files,
                             const char *family, bool json, levada_cli_status *status)
{
    char          folder[] = "/tmp/levada-check-XXXXXX";
    levada_error  err = LEVADA_ERROR_INIT;
    levada_status st;
    bool          more = false, made = false;
    int           back;

    if (!files) return cmd_check_name(c, family, json, status);
    c->own_files = true;
    back = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (back >= 0) made = mkdtemp(folder) != NULL;
    if (made && chdir(folder) == 0) {
        st = levada_conform_write_files(files, &err);
        if (st != LEVADA_OK) *status = levada_cli_fail(&err);
        else more = cmd_check_name(c, family, json, status);
        levada_conform_drop_files(files);
        if (fchdir(back) != 0) more = cmd_check_lost("return to the current directory", status);
    } else {
        more = cmd_check_lost("create a directory in /tmp for the files of the example", status);
    }
    if (made) (void)rmdir(folder);
    if (back >= 0) (void)close(back);
    return more;
}

/* Byte filters and openers. Returns false where the rest is not run. */
static bool cmd_check_filters(levada_check_memory *memory, const levada_conform_faults *faults,
                              bool json, levada_cli_status *status)
{
    levada_error err = LEVADA_ERROR_INIT;

    if (levada_check_meet(memory, &err) != LEVADA_OK) {
        *status = levada_cli_fail(&err);
        return false;
    }
    for (int i = 0; i < memory->nfilters; i++) {
        levada_filter_def filter = memory->filters[i]; /* a check registers all of them again */
        levada_conform    c = { .name = filter.name, .filter = &filter, .faults = faults };

        if (!cmd_check_one(&c, "filter", levada_conform_filter_checks, json, status)) return false;
    }
    for (int i = 0; i < memory->nopeners; i++) {
        levada_opener_def opener = memory->openers[i];
        levada_conform    c = { .name = opener.name, .opener = &opener };

        if (!cmd_check_one(&c, "opener", levada_conform_opener_checks, json, status)) return false;
    }
    return true;
}

static levada_cli_status cmd_check_all(levada_env *env, const char *path, const char *plugin,
                                       const levada_value *stages, bool json)
{
    levada_cli_status     status = LEVADA_CLI_DONE;
    levada_error          err = LEVADA_ERROR_INIT;
    levada_check_memory   memory = { .path = path };
    levada_conform_faults faults = levada_check_faults(&memory);
    int64_t               n = 0;
    bool                  more = true;

    /* As in cmd_check_filters: the plug-in names the files of its examples. */
    if (levada_check_meet(&memory, &err) != LEVADA_OK) {
        levada_check_memory_clear(&memory);
        return levada_cli_fail(&err);
    }
    for (int64_t i = 0; more && i < levada_value_count(stages); i++) {
        const levada_value *op = levada_value_item(stages, i);
        levada_conform      c = { .env = env, .name = levada_cli_json_string(op, "name"),
                                  .example = levada_cli_json_string(op, "example"),
                                  .faults = &faults };
        /* A copy: each check registers all names again. */
        levada_check_example example = cmd_check_example(&memory, c.name);

        c.format = strcmp(levada_cli_json_string(op, "family"), "format") == 0;
        if (strcmp(levada_cli_json_string(op, "plugin"), plugin) != 0) continue;
        n++;
        if (c.format) c.def = &example.format;
        more = cmd_check_beside(&c, example.files, levada_cli_json_string(op, "family"), json,
                                &status);
    }
    if (more) (void)cmd_check_filters(&memory, &faults, json, &status);
    n += memory.nfilters + memory.nopeners;
    levada_check_memory_clear(&memory);
    if (n == 0) {
        levada_cli_say("%s registers no source, format, decoder, stage, filter or opener", path);
        return LEVADA_CLI_FAILED;
    }
    return levada_cli_stopped() ? LEVADA_CLI_INTERRUPTED : status;
}

static levada_cli_status cmd_check(levada_env *env, const levada_cli_args *args)
{
    levada_error      err = LEVADA_ERROR_INIT;
    const char       *plugin = NULL, *word = args->words[0];
    levada_value     *stages = NULL;
    levada_cli_status status;
    char              whole[PATH_MAX];

    cmd_check_watch(word);
    /* Checks with files run in another folder. */
    if (strchr(word, '/') && realpath(word, whole)) word = whole;
    if (levada_plugin_load(env, word, &plugin, &err) != LEVADA_OK
        || levada_cli_json_stages(env, &stages, &err) != LEVADA_OK) {
        check_claim = NULL;
        return levada_cli_fail(&err);
    }
    check_claim = NULL;
    status = cmd_check_all(env, word, plugin, stages, levada_cli_flag(args, "json"));
    levada_value_destroy(&stages);
    return status;
}

const levada_cli_command levada_cli_check = {
    .name = "check",
    .words = "PLUGIN",
    .doc = "load a plug-in and run the conformance suite on it",
    .more = "The suite runs the example of each name with several block sizes and numbers of\n"
            "threads. It saves and restores at every cut, cancels and saves at every step,\n"
            "makes each allocation fail in turn, passes options beyond their limits, and\n"
            "compares the declared traits with the behavior. Byte filters get streams in\n"
            "pieces, truncated and damaged; so do file formats with example_files. Each line\n"
            "of a failure says where to look.",
    .options = cmd_check_options,
    .min_words = 1,
    .max_words = 1,
    .run = cmd_check,
};
