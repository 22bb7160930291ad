/* SPDX-License-Identifier: Apache-2.0 */
/*
 * levada verify: checks every record of files, tells where they are damaged, writes what is good.
 */
#include "cli.h"
#include "file.h"
#include "progress.h"
#include <levada/inspect.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { CMD_VERIFY_LINES = 10 }; /* places of damage of one file that are shown */

static const levada_cli_option cmd_verify_options[] = {
    { "repair", 0, "OUT", "write the good records: a folder (for the damaged files), or a file" },
    { "quarantine", 0, "FILE", "write one JSON line for each place of damage" },
    { "json", 0, NULL, "one JSON object a file" },
    LEVADA_CLI_OPTION_END
};

typedef struct verify_job {
    levada_env       *env;
    const char       *path;    /* of the file that is looked at */
    bool              json;
    int64_t           places;  /* of damage in it               */
    levada_cli_buffer damage;  /* what is shown of them         */
    levada_cli_buffer list;    /* the quarantine                */
    levada_cli_buffer text;
    int64_t           files, good_files, unreadable, good, bad;
    bool              repaired; /* some of them */
} verify_job;

static void cmd_verify_json_damage(levada_cli_buffer *b, const char *path, const levada_damage *d)
{
    levada_cli_puts(b, "{");
    if (path) {
        levada_cli_puts(b, "\"path\":");
        levada_cli_json_text(b, path, strlen(path));
        levada_cli_puts(b, ",");
    }
    levada_cli_printf(b, "\"record\":%" PRId64 ",\"offset\":%" PRId64 ",\"next\":%" PRId64
                      ",\"text\":",
                      d->record, d->offset, d->next);
    levada_cli_json_text(b, d->text, strlen(d->text));
    levada_cli_puts(b, "}");
}

static void cmd_verify_line(levada_cli_buffer *b, const char *path, const levada_damage *d)
{
    levada_cli_printf(b, "%s   damaged: record ", path);
    levada_cli_count(b, d->record);
    levada_cli_puts(b, " at byte ");
    levada_cli_count(b, d->offset);
    levada_cli_printf(b, ": %s; ", d->text);
    if (d->next < 0) {
        levada_cli_puts(b, "nothing can be read after it\n");
        return;
    }
    levada_cli_puts(b, "the next good record is at byte ");
    levada_cli_count(b, d->next);
    levada_cli_puts(b, "\n");
}

static void cmd_verify_damage(void *user, const levada_damage *d)
{
    verify_job *job = user;

    cmd_verify_json_damage(&job->list, job->path, d);
    levada_cli_puts(&job->list, "\n");
    if (job->json) {
        if (job->places > 0) levada_cli_puts(&job->damage, ",");
        cmd_verify_json_damage(&job->damage, NULL, d);
    } else if (job->places < CMD_VERIFY_LINES) {
        cmd_verify_line(&job->damage, job->path, d);
    }
    job->places++;
}

static void cmd_verify_tell(verify_job *job, const levada_verify_result *r)
{
    if (job->json) {
        levada_cli_puts(&job->text, "{\"path\":");
        levada_cli_json_text(&job->text, job->path, strlen(job->path));
        levada_cli_printf(&job->text, ",\"format\":\"%s\",\"compression\":\"%s\"", r->format,
                          r->compression);
        levada_cli_printf(&job->text, ",\"size\":%" PRId64 ",\"raw_size\":%" PRId64, r->size,
                          r->raw_size);
        levada_cli_printf(&job->text, ",\"good_records\":%" PRId64 ",\"bad_records\":%" PRId64,
                          r->good, r->bad);
        levada_cli_printf(&job->text, ",\"damaged_bytes\":%" PRId64 ",\"damage\":[%s]}\n",
                          r->damaged_bytes, job->damage.size ? job->damage.at : "");
        return;
    }
    levada_cli_add(&job->text, job->damage.at, job->damage.size);
    if (job->places <= CMD_VERIFY_LINES) return;
    levada_cli_printf(&job->text, "%s   and ", job->path);
    levada_cli_count(&job->text, job->places - CMD_VERIFY_LINES);
    levada_cli_puts(&job->text, " more places (--quarantine FILE lists all)\n");
}

static bool cmd_verify_is_folder(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Writes the good records of the file; into a folder under its own name. */
static levada_status cmd_verify_repair(const verify_job *job, const char *out, bool folder,
                                       levada_error *err)
{
    levada_verify_options options = LEVADA_VERIFY_OPTIONS_INIT;
    levada_verify_result  result = LEVADA_VERIFY_RESULT_INIT;
    levada_cli_buffer     path = { 0 };
    levada_status         status;

    levada_cli_puts(&path, out);
    if (folder) levada_cli_printf(&path, "/%s", levada_cli_file_name(job->path));
    options.repair = path.at;
    status = levada_inspect_verify(job->env, job->path, &options, &result, err);
    levada_cli_buffer_clear(&path);
    return status;
}

static levada_status cmd_verify_file(verify_job *job, const char *repair, bool folder,
                                     levada_error *err)
{
    levada_verify_options options = LEVADA_VERIFY_OPTIONS_INIT;
    levada_verify_result  result = LEVADA_VERIFY_RESULT_INIT;

    job->places = 0;
    job->damage.size = 0;
    options.damage = cmd_verify_damage;
    options.user = job;
    job->files++;
    job->unreadable++;
    LEVADA_TRY(levada_inspect_verify(job->env, job->path, &options, &result, err));
    job->unreadable--;
    job->good += result.good;
    job->bad += result.bad;
    if (job->places == 0 && result.bad == 0) job->good_files++;
    cmd_verify_tell(job, &result);
    if (!repair || (folder && job->places == 0)) return LEVADA_OK;
    LEVADA_TRY(cmd_verify_repair(job, repair, folder, err));
    job->repaired = true;
    return LEVADA_OK;
}

/* "63 of 64 files good · 1 damaged · 5 644 801 good records · 1 bad record" */
static void cmd_verify_summary(verify_job *job, const char *repair)
{
    int64_t damaged = job->files - job->good_files - job->unreadable;

    levada_cli_count(&job->text, job->good_files);
    levada_cli_puts(&job->text, " of ");
    levada_cli_count(&job->text, job->files);
    levada_cli_puts(&job->text, job->files == 1 ? " file good" : " files good");
    if (damaged > 0) {
        levada_cli_puts(&job->text, " · ");
        levada_cli_count(&job->text, damaged);
        levada_cli_puts(&job->text, " damaged");
    }
    if (job->unreadable > 0) {
        levada_cli_puts(&job->text, " · ");
        levada_cli_count(&job->text, job->unreadable);
        levada_cli_puts(&job->text, " can't be read");
    }
    levada_cli_puts(&job->text, " · ");
    levada_cli_count(&job->text, job->good);
    levada_cli_puts(&job->text, " good records");
    if (job->bad > 0) {
        levada_cli_puts(&job->text, " · ");
        levada_cli_count(&job->text, job->bad);
        levada_cli_puts(&job->text, job->bad == 1 ? " bad record" : " bad records");
        if (job->repaired) levada_cli_printf(&job->text, "   the good ones are in %s", repair);
        else if (!repair)
            levada_cli_puts(&job->text, "   levada verify --repair DIR writes the good ones");
    }
    levada_cli_puts(&job->text, "\n");
}

/* Makes the folder of --repair where it has to be one: it is there, it ends with a slash, or there
 * are several files. */
static levada_status cmd_verify_folder(const levada_cli_args *args, const char *repair,
                                       bool *folder, levada_error *err)
{
    *folder = repair && (args->nwords > 1 || levada_cli_file_ends(repair, "/")
                         || cmd_verify_is_folder(repair));
    if (!*folder || cmd_verify_is_folder(repair) || mkdir(repair, 0777) == 0) return LEVADA_OK;
    return levada_fail(err, LEVADA_EUNAVAILABLE, "can't make the folder %s", repair);
}

/* Two damaged files of one name would end up in one. */
static levada_status cmd_verify_names(const levada_cli_args *args, levada_error *err)
{
    for (int i = 0; i < args->nwords; i++) {
        for (int k = 0; k < i; k++) {
            if (strcmp(levada_cli_file_name(args->words[i]), levada_cli_file_name(args->words[k])))
                continue;
            return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                               "%s and %s would be one file in the folder of --repair",
                               args->words[k], args->words[i]);
        }
    }
    return LEVADA_OK;
}

static void cmd_verify_all(verify_job *job, const levada_cli_args *args, const char *repair,
                           bool folder)
{
    levada_cli_progress progress;
    int64_t             done = 0, total = 0;

    for (int i = 0; i < args->nwords; i++) total += levada_cli_file_size(args->words[i]);
    levada_cli_progress_begin(&progress, args->nwords > 1, "verify");
    for (int i = 0; i < args->nwords; i++) {
        levada_error err = LEVADA_ERROR_INIT;

        job->path = args->words[i];
        if (cmd_verify_file(job, repair, folder, &err) != LEVADA_OK) {
            levada_cli_progress_clear(&progress);
            levada_cli_fail(&err);
        }
        done += levada_cli_file_size(job->path);
        if (job->text.size > 0) levada_cli_progress_clear(&progress);
        if (!levada_cli_out(&job->text)) break;
        levada_cli_progress_bytes(&progress, job->good + job->bad, done, total);
    }
    levada_cli_progress_clear(&progress);
}

static levada_cli_status cmd_verify(levada_env *env, const levada_cli_args *args)
{
    verify_job   job = { .env = env, .json = levada_cli_flag(args, "json") };
    levada_error err = LEVADA_ERROR_INIT;
    const char  *repair = levada_cli_value(args, "repair");
    const char  *quarantine = levada_cli_value(args, "quarantine");
    bool         folder = false, good;

    if (cmd_verify_folder(args, repair, &folder, &err) != LEVADA_OK
        || (folder && cmd_verify_names(args, &err) != LEVADA_OK))
        return levada_cli_fail(&err);
    levada_cli_signals_default();
    cmd_verify_all(&job, args, repair, folder);
    if (!job.json) cmd_verify_summary(&job, repair);
    levada_cli_out(&job.text);
    good = job.good_files == job.files;
    if (quarantine
        && levada_cli_file_write(quarantine, job.list.at ? job.list.at : "", job.list.size, &err)
               != LEVADA_OK) {
        levada_cli_fail(&err);
        good = false;
    }
    levada_cli_buffer_clear(&job.damage);
    levada_cli_buffer_clear(&job.list);
    levada_cli_buffer_clear(&job.text);
    return good ? LEVADA_CLI_DONE : LEVADA_CLI_FAILED;
}

const levada_cli_command levada_cli_verify = {
    .name = "verify",
    .words = "FILE...",
    .doc = "check every record of files, and repair them",
    .more = "--repair OUT is a folder where one of that name is there, OUT ends with / or several\n"
            "FILEs are given: it gets the damaged files without their damage. Otherwise OUT is\n"
            "the file that gets the good records of FILE. Exit status 1: damage was found.",
    .options = cmd_verify_options,
    .min_words = 1,
    .max_words = -1,
    .run = cmd_verify,
};
