/* SPDX-License-Identifier: Apache-2.0 */
/*
 * levada verify: checks every record of files, reports damage, and writes the good records.
 */
#include "cli.h"
#include "escape.h"
#include "file.h"
#include "progress.h"
#include "source.h"
#include <levada/inspect.h>
#include <levada/output.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { CMD_VERIFY_LINES = 10 }; /* places of damage of one file that are shown */

static const levada_cli_option cmd_verify_options[] = {
    { "source", 0, "NAME",
      "read with this source, which may have options, instead of guessing from the name or "
      "content" },
    { "repair", 0, "OUT", "write the good records of damaged files to a directory or a file" },
    { "quarantine", 0, "FILE", "write one JSON line for each damaged record" },
    { "json", 0, NULL, "print one JSON object per file" },
    LEVADA_CLI_RECORD_OPTION,
    LEVADA_CLI_OPTION_END
};

typedef struct verify_job {
    levada_env       *env;
    const char       *path;    /* of the file that is looked at */
    const char       *source;  /* that was given; NULL = by name or content */
    int64_t           record_bytes;
    bool              json;
    int64_t           places;  /* of damage in it               */
    levada_cli_buffer damage;  /* what is shown of them         */
    levada_cli_buffer list;    /* the quarantine                */
    levada_cli_buffer text;
    int64_t           files, good_files, unreadable, good, bad;
    bool              repaired, unrepaired; /* some of them */
    bool              irreparable; /* some damaged file: --repair would fail */
    const char       *told; /* what is not checked, as it was told last */
    bool              lost; /* the output: not all files were looked at */
    levada_cli_progress progress;
    int64_t             done, total; /* bytes: of the files before this one, and of all */
} verify_job;

/* While a file is read; 0, 0 after it. */
static void cmd_verify_watch(void *user, int64_t records, int64_t bytes)
{
    verify_job *job = user;

    levada_cli_progress_bytes(&job->progress, job->good + job->bad + records, job->done + bytes,
                              job->total);
}

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
    levada_cli_show_text(b, path);
    levada_cli_puts(b, "   damaged: record ");
    levada_cli_count(b, d->record);
    levada_cli_puts(b, " at byte ");
    levada_cli_count(b, d->offset);
    levada_cli_puts(b, ": ");
    levada_cli_show_text(b, d->text);
    levada_cli_puts(b, "; ");
    if (d->next < 0) {
        levada_cli_puts(b, "no good record follows\n");
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

/* Reports how the file was read, if that is not plain from its name. */
static void cmd_verify_source(verify_job *job, const levada_verify_result *r)
{
    levada_cli_buffer note = { 0 };

    if (levada_cli_source_note(&note, r->format, r->content, r->guessed, "--source")) {
        levada_cli_show_text(&job->text, job->path);
        levada_cli_add(&job->text, note.at, note.size);
        levada_cli_puts(&job->text, "\n");
    }
    levada_cli_buffer_clear(&note);
}

/* Returns the options of --source that would check more than the format alone does; NULL = none. */
static const char *cmd_verify_unchecked(const verify_job *job, const char *format)
{
    static const char *const all[][2] = {
        { "csv", "rows, of which a header is one, and quotes are checked, not the types of fields: "
                 "--source 'csv:header=true,record_defaults=[...]' names them" },
        { "jsonl", "each line is checked to be JSON, not its fields: --source "
                   "'jsonl:fields=auto' checks those of the first lines" },
        { "json", "each element is checked to be JSON, not its fields: --source "
                  "'json:fields=auto' checks those of the first elements" },
        { "tar", "members and samples are checked, not which fields they have: --source "
                 "'tar:fields=[...]' names them" },
    };

    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (strcmp(all[i][0], format) == 0 && !(job->source && strchr(job->source, ':')))
            return all[i][1];
    return NULL;
}

static void cmd_verify_tell(verify_job *job, const levada_verify_result *r)
{
    const char *unchecked = cmd_verify_unchecked(job, r->format);

    if (job->json) {
        levada_cli_puts(&job->text, "{\"path\":");
        levada_cli_json_text(&job->text, job->path, strlen(job->path));
        levada_cli_printf(&job->text, ",\"format\":\"%s\"", r->format);
        if (r->content[0]) levada_cli_printf(&job->text, ",\"content\":\"%s\"", r->content);
        if (r->guessed) levada_cli_puts(&job->text, ",\"guessed\":true");
        levada_cli_printf(&job->text, ",\"compression\":\"%s\"", r->compression);
        levada_cli_printf(&job->text, ",\"size\":%" PRId64 ",\"raw_size\":%" PRId64, r->size,
                          r->raw_size);
        levada_cli_printf(&job->text, ",\"fields_checked\":%s", unchecked ? "false" : "true");
        levada_cli_printf(&job->text, ",\"good_records\":%" PRId64 ",\"bad_records\":%" PRId64,
                          r->good, r->bad);
        levada_cli_printf(&job->text, ",\"damaged_bytes\":%" PRId64 ",\"damage\":[%s]}\n",
                          r->damaged_bytes, job->damage.size ? job->damage.at : "");
        return;
    }
    cmd_verify_source(job, r);
    if (unchecked && unchecked != job->told) {
        job->told = unchecked;
        levada_cli_show_text(&job->text, job->path);
        levada_cli_printf(&job->text, "   %s\n", unchecked);
    }
    levada_cli_add(&job->text, job->damage.at, job->damage.size);
    if (job->places <= CMD_VERIFY_LINES) return;
    levada_cli_show_text(&job->text, job->path);
    levada_cli_puts(&job->text, "   and ");
    levada_cli_counted(&job->text, job->places - CMD_VERIFY_LINES, "more place", "more places");
    levada_cli_puts(&job->text, " (--quarantine FILE lists all)\n");
}

/* A file that cannot be read has an object, too: one per file. */
static void cmd_verify_json_error(verify_job *job, const levada_error *err)
{
    levada_cli_puts(&job->text, "{\"path\":");
    levada_cli_json_text(&job->text, job->path, strlen(job->path));
    levada_cli_printf(&job->text, ",\"error\":{\"code\":\"%s\",\"message\":",
                      levada_status_name(err->code));
    levada_cli_json_text(&job->text, err->message, strlen(err->message));
    levada_cli_puts(&job->text, "}}\n");
}

static bool cmd_verify_is_folder(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Writes the good records of the file, as many as were counted; into a folder under its name. */
static levada_status cmd_verify_repair(verify_job *job, const char *out, bool folder,
                                       int64_t good, levada_error *err)
{
    levada_verify_options options = LEVADA_VERIFY_OPTIONS_INIT;
    levada_verify_result  result = LEVADA_VERIFY_RESULT_INIT;
    levada_cli_buffer     path = { 0 };
    levada_status         status;

    levada_cli_puts(&path, out);
    if (folder) levada_cli_printf(&path, "/%s", levada_cli_file_name(job->path));
    options.repair = path.at;
    options.source = job->source;
    options.expect_good = good;
    options.max_record_bytes = job->record_bytes;
    options.progress = cmd_verify_watch;
    options.user = job;
    status = levada_inspect_verify(job->env, job->path, &options, &result, err);
    levada_cli_buffer_clear(&path);
    return status;
}

static levada_status cmd_verify_file(verify_job *job, const char *repair, bool folder,
                                     levada_error *err)
{
    levada_verify_options options = LEVADA_VERIFY_OPTIONS_INIT;
    levada_verify_result  result = LEVADA_VERIFY_RESULT_INIT;
    bool                  failed = job->unrepaired; /* an earlier file */

    job->places = 0;
    job->damage.size = 0;
    options.damage = cmd_verify_damage;
    options.progress = cmd_verify_watch;
    options.user = job;
    options.source = job->source;
    options.max_record_bytes = job->record_bytes;
    job->files++;
    job->unreadable++;
    LEVADA_TRY(levada_inspect_verify(job->env, job->path, &options, &result, err));
    job->unreadable--;
    job->good += result.good;
    job->bad += result.bad;
    if (job->places == 0 && result.bad == 0) job->good_files++;
    else if (!result.repairable || result.good == 0) job->irreparable = true;
    cmd_verify_tell(job, &result);
    if (!repair || (folder && job->places == 0)) return LEVADA_OK;
    job->unrepaired = true;
    LEVADA_TRY(cmd_verify_repair(job, repair, folder, result.good, err));
    job->unrepaired = failed;
    job->repaired = true;
    return LEVADA_OK;
}

static int cmd_verify_compare(const void *a, const void *b)
{
    return strcmp(levada_cli_file_name(*(const char *const *)a),
                  levada_cli_file_name(*(const char *const *)b));
}

/* Two damaged files of one name would end up in one. */
static levada_status cmd_verify_names(const levada_cli_args *args, levada_error *err)
{
    size_t        n = (size_t)args->nwords;
    const char  **words = malloc(n * sizeof *words);
    levada_status status = LEVADA_OK;

    if (!words) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory");
    for (size_t i = 0; i < n; i++) words[i] = args->words[i];
    qsort(words, n, sizeof *words, cmd_verify_compare);
    for (size_t i = 1; i < n && status == LEVADA_OK; i++) {
        if (cmd_verify_compare(&words[i - 1], &words[i]) == 0)
            status = levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                                 "%s and %s have the same name; --repair would write one file",
                                 words[i - 1], words[i]);
    }
    free(words);
    return status;
}

/* "63 of 64 files good · 1 damaged · 5 644 801 good records · 1 bad record" */
static void cmd_verify_summary(verify_job *job, const levada_cli_args *args, const char *repair)
{
    bool    advise = !repair && !job->irreparable && job->unreadable == 0
                     && cmd_verify_names(args, NULL) == LEVADA_OK;
    int64_t damaged = job->files - job->good_files - job->unreadable;

    levada_cli_count(&job->text, job->good_files);
    levada_cli_puts(&job->text, " of ");
    levada_cli_counted(&job->text, job->files, "file good", "files good");
    if (damaged > 0) {
        levada_cli_puts(&job->text, " · ");
        levada_cli_count(&job->text, damaged);
        levada_cli_puts(&job->text, " damaged");
    }
    if (job->unreadable > 0) {
        levada_cli_puts(&job->text, " · ");
        levada_cli_count(&job->text, job->unreadable);
        levada_cli_puts(&job->text, " unreadable");
    }
    levada_cli_puts(&job->text, " · ");
    levada_cli_counted(&job->text, job->good, "good record", "good records");
    if (job->bad > 0) {
        levada_cli_puts(&job->text, " · ");
        levada_cli_counted(&job->text, job->bad, "bad record", "bad records");
        if (job->repaired && !job->unrepaired) {
            levada_cli_puts(&job->text, "   the good ones are in ");
            levada_cli_show_text(&job->text, repair);
        } else if (advise)
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
    return levada_fail(err, LEVADA_EUNAVAILABLE, "cannot create the directory %s: %s", repair,
                       strerror(errno));
}

/* 0 for a file that is not there. */
static int64_t cmd_verify_size(const char *path)
{
    int64_t size = levada_cli_file_size(path);

    return size > 0 ? size : 0;
}

static void cmd_verify_all(verify_job *job, const levada_cli_args *args, const char *repair,
                           bool folder)
{
    const char *label = args->nwords > 1 ? "verify" : levada_cli_file_name(args->words[0]);

    for (int i = 0; i < args->nwords; i++) job->total += cmd_verify_size(args->words[i]);
    levada_cli_progress_begin(&job->progress, true, label);
    for (int i = 0; i < args->nwords; i++) {
        levada_error err = LEVADA_ERROR_INIT;

        int64_t      unreadable = job->unreadable;

        job->path = args->words[i];
        if (cmd_verify_file(job, repair, folder, &err) != LEVADA_OK) {
            levada_cli_progress_clear(&job->progress);
            if (job->json && job->unreadable > unreadable) cmd_verify_json_error(job, &err);
            levada_cli_fail(&err);
        }
        job->done += cmd_verify_size(job->path);
        if (job->text.size > 0) levada_cli_progress_clear(&job->progress);
        job->lost = !levada_cli_out(&job->text);
        if (job->lost) break;
        cmd_verify_watch(job, 0, 0);
    }
    levada_cli_progress_clear(&job->progress);
}

/* No file that is only read may be replaced by what is found in it. */
static levada_status cmd_verify_apart(const levada_cli_args *args, const char *quarantine,
                                      const char *repair, levada_error *err)
{
    for (int i = 0; quarantine && i < args->nwords; i++) {
        if (levada_cli_file_same(args->words[i], quarantine) && levada_cli_file_regular(quarantine))
            return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                               "--quarantine %s would replace the input %s; choose another path",
                               quarantine, args->words[i]);
    }
    if (quarantine && repair && strcmp(quarantine, repair) == 0)
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "--quarantine and --repair must be different files, got %s for both",
                           repair);
    return LEVADA_OK;
}

/* The list of all damage, or none: part of one would pass for all. */
static levada_status cmd_verify_quarantine(const verify_job *job, const char *path,
                                           levada_error *err)
{
    levada_cli_buffer files = { 0 };

    if (job->lost)
        return levada_fail(err, LEVADA_EUNAVAILABLE, "%s was not written because output was lost",
                           path);
    if (job->unreadable > 0) {
        levada_cli_counted(&files, job->unreadable, "file", "files");
        levada_fail(err, LEVADA_EUNAVAILABLE, "%s was not written because %s could not be read",
                    path, files.at);
        levada_cli_buffer_clear(&files);
        return LEVADA_EUNAVAILABLE;
    }
    return levada_output_save(path, job->list.at ? job->list.at : "", job->list.size, err);
}

static levada_cli_status cmd_verify(levada_env *env, const levada_cli_args *args)
{
    verify_job   job = { .env = env, .json = levada_cli_flag(args, "json"),
                         .source = levada_cli_value(args, "source"),
                         .record_bytes = levada_cli_record_bytes(args) };
    levada_error err = LEVADA_ERROR_INIT;
    const char  *repair = levada_cli_value(args, "repair");
    const char  *quarantine = levada_cli_value(args, "quarantine");
    bool         folder = false, good;

    if (cmd_verify_apart(args, quarantine, repair, &err) != LEVADA_OK
        || cmd_verify_folder(args, repair, &folder, &err) != LEVADA_OK
        || (folder && cmd_verify_names(args, &err) != LEVADA_OK))
        return levada_cli_fail(&err);
    levada_cli_signals_end();
    cmd_verify_all(&job, args, repair, folder);
    if (!job.json) cmd_verify_summary(&job, args, repair);
    levada_cli_out(&job.text);
    good = job.good_files == job.files && !job.unrepaired;
    if (quarantine && cmd_verify_quarantine(&job, quarantine, &err) != LEVADA_OK) {
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
    .doc = "check every record of files, and repair files",
    .more = "OUT is a folder if a folder of that name exists, if OUT ends with /, or if there are\n"
            "several FILEs. The good records of each damaged file are written to it. Otherwise\n"
            "OUT is a file for the good records of FILE. Exit status 1: damage was found.",
    .options = cmd_verify_options,
    .min_words = 1,
    .max_words = -1,
    .inputs = -1,
    .run = cmd_verify,
};
