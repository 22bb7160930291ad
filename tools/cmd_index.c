/* SPDX-License-Identifier: Apache-2.0 */
/*
 * levada index: writes where each record of a file lies, to a file beside it.
 */
#include "cli.h"
#include "escape.h"
#include "file.h"
#include "json.h"
#include "progress.h"
#include "source.h"
#include <levada/inspect.h>

#include <inttypes.h>
#include <string.h>

static const levada_cli_option cmd_index_options[] = {
    { "source", 0, "NAME",
      "read with this source, such as fixed_length:record_bytes=8, instead of "
      "guessing from the name or content" },
    { "length", 0, "FIELDS", "also write the lengths of these fields (A,B) of each record" },
    { "stages", 0, "STAGES",
      "the stages that produce these fields, such as parse_example:@spec.json" },
    { "check", 0, NULL, "compare the files with their indexes, and write nothing" },
    { "json", 0, NULL, "print one JSON object per file" },
    LEVADA_CLI_RECORD_OPTION,
    LEVADA_CLI_OPTION_END
};

typedef struct index_job {
    levada_env          *env;
    levada_index_options options;
    bool              check, json;
    int64_t           files, good, records;
    levada_cli_buffer text;
} index_job;

static void cmd_index_tell(index_job *job, const char *path, int64_t records)
{
    if (job->json) {
        levada_cli_puts(&job->text, "{\"path\":");
        levada_cli_json_text(&job->text, path, strlen(path));
        levada_cli_printf(&job->text, ",\"records\":%" PRId64 "}\n", records);
    }
}

/* Warns how the file was read, if that is not plain from its name. */
static void cmd_index_warn(const index_job *job, const char *path)
{
    levada_file_kind kind = LEVADA_FILE_KIND_INIT;

    if (job->options.source ||
        levada_inspect_kind(job->env, path, NULL, &kind, NULL) != LEVADA_OK)
        return;
    levada_cli_source_warn(path, &kind, "--source");
}

static void cmd_index_file(index_job *job, const char *path)
{
    levada_error  err = LEVADA_ERROR_INIT;
    int64_t       records = 0;
    levada_status st;

    job->files++;
    if (levada_cli_file_pipe(path)) {
        levada_cli_say("%s: a pipe cannot be indexed; write it to a file first", path);
        return;
    }
    if (!job->check) cmd_index_warn(job, path);
    st = job->check ? levada_inspect_index_check(job->env, path, &records, &err)
                    : levada_inspect_index(job->env, path, &job->options, &records, &err);
    if (st != LEVADA_OK) {
        levada_cli_fail(&err);
        return;
    }
    job->good++;
    job->records += records;
    cmd_index_tell(job, path, records);
}

/* "12 records in 2 files indexed" */
static void cmd_index_summary(index_job *job)
{
    levada_cli_counted(&job->text, job->records, "record", "records");
    levada_cli_puts(&job->text, " in ");
    levada_cli_counted(&job->text, job->good, "file", "files");
    levada_cli_puts(&job->text, job->check ? " unchanged since they were indexed" : " indexed");
    if (job->good < job->files) {
        levada_cli_puts(&job->text, " · ");
        levada_cli_count(&job->text, job->files - job->good);
        levada_cli_puts(&job->text, " failed");
    }
    levada_cli_puts(&job->text, "\n");
}

static levada_cli_status cmd_index(levada_env *env, const levada_cli_args *args)
{
    index_job           job = { .env = env,
                                .options = LEVADA_INDEX_OPTIONS_INIT,
                                .check = levada_cli_flag(args, "check"),
                                .json = levada_cli_flag(args, "json") };
    levada_cli_progress progress;
    int64_t             done = 0, total = 0;

    job.options.source = levada_cli_value(args, "source");
    job.options.fields = levada_cli_value(args, "length");
    job.options.stages = levada_cli_value(args, "stages");
    job.options.max_record_bytes = levada_cli_record_bytes(args);
    if ((job.options.stages && !job.options.fields) || (job.check && job.options.fields)) {
        levada_cli_say(job.check ? "index: --check cannot be combined with --length"
                                 : "index: --stages needs --length FIELDS");
        return LEVADA_CLI_USAGE;
    }
    levada_cli_signals_end();
    for (int i = 0; i < args->nwords; i++) total += levada_cli_file_size(args->words[i]);
    levada_cli_progress_begin(&progress, args->nwords > 1, "index");
    for (int i = 0; i < args->nwords; i++) {
        if (levada_cli_file_ends(args->words[i], ".lvindex")) continue;
        levada_cli_progress_bytes(&progress, job.records, done, total);
        cmd_index_file(&job, args->words[i]);
        done += levada_cli_file_size(args->words[i]);
    }
    levada_cli_progress_clear(&progress);
    if (!job.json) cmd_index_summary(&job);
    levada_cli_out(&job.text);
    levada_cli_buffer_clear(&job.text);
    return job.good == job.files ? LEVADA_CLI_DONE : LEVADA_CLI_FAILED;
}

const levada_cli_command levada_cli_index = {
    .name = "index",
    .words = "FILE...",
    .doc = "write the position of each record, for random access",
    .more = "The index of FILE is FILE.lvindex. With it a source reads ranges of records\n"
            "(records=, part=) and all records in random order (shuffle_records=true), and\n"
            "ds[i] works. With --length, bucket_by_sequence_length chooses its boundaries\n"
            "from the index, ranks in step read only their own records, and levada stats\n"
            "--field reads no data. Compressed files have no index. Names that end with .lvindex\n"
            "are skipped. Exit status 1: a file failed.",
    .options = cmd_index_options,
    .min_words = 1,
    .max_words = -1,
    .inputs = -1,
    .run = cmd_index,
};
