/* SPDX-License-Identifier: Apache-2.0 */
/*
 * levada convert: copies the records of a file to another format or compression.
 */
#include "convert_rows.h"
#include "escape.h"
#include "example.h"
#include "file.h"
#include "rows.h"
#include "source.h"
#include <levada/output.h>
#include <levada/writer.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const levada_cli_option cmd_convert_options[] = {
    { "from", 0, "KIND",
      "tfrecord, text, jsonl, csv, tar (default: from the name, or the content)" },
    { "to", 0, "KIND", "tfrecord, jsonl, csv, tar (default: from the suffix of OUT)" },
    { "compression", 'c', "NAME", "none, gzip, zlib, zstd (default: from the suffix of OUT)" },
    { "level", 'l', "N", "compression level" },
    { "shard-records", 0, "N", "begin a new file after N records: out-00000-of-00003.csv" },
    { "shard-bytes", 0, "N", "begin a new file after N bytes before compression" },
    { "raw", 0, NULL, "text: write each line as a record, not as an Example" },
    { "field", 'f', "NAME", "text: the feature for the line (default line)" },
    { "errors", 0, "P", "bad records: fail (default), skip, skip:1000 or skip:0.1%" },
    { "progress", 'p', NULL, "show progress on a terminal" },
    LEVADA_CLI_OPTION_END
};

enum { CONVERT_FLUSH = 1 << 16 }; /* bytes of lines to write at once */

typedef enum convert_kind {
    CONVERT_TFRECORD,
    CONVERT_TEXT,
    CONVERT_JSONL,
    CONVERT_UNKNOWN
} convert_kind;

typedef struct convert_job {
    levada_env            *env;
    const levada_cli_args *args;
    const char            *in, *out;
    convert_kind           from, to;
    const char            *compression; /* NULL = none */
    const char            *field;
    bool                   raw;
    levada_cli_pipe        pipe;
    levada_writer         *writer;  /* of TFRecord                     */
    levada_output         *lines;   /* of JSON; NULL = standard output */
    levada_example        *example; /* the message that is made        */
    levada_example_view   *view;    /* the message that is read        */
    levada_cli_buffer      record, text; /* text: lines that are not written yet */
} convert_job;

static convert_kind cmd_convert_kind(const char *name)
{
    static const char *const names[] = { "tfrecord", "text", "jsonl" };

    for (int i = 0; i < CONVERT_UNKNOWN; i++)
        if (strcmp(name, names[i]) == 0) return (convert_kind)i;
    return CONVERT_UNKNOWN;
}

/* The kind that a name suggests. Lines of JSON are text to the library. */
static convert_kind cmd_convert_named(const convert_job *job, const char *path)
{
    static const char *const json[] = { ".jsonl", ".ndjson", ".json" };
    const char              *format = NULL;

    levada_inspect_name(job->env, path, &format, NULL);
    for (int i = 0; i < 3; i++)
        if (format && strcmp(format, "tfrecord") != 0 && strstr(path, json[i]))
            return CONVERT_JSONL;
    if (format && strcmp(format, "text_lines") == 0) return CONVERT_TEXT;
    return format && strcmp(format, "tfrecord") == 0 ? CONVERT_TFRECORD : CONVERT_UNKNOWN;
}

/* The format of a file by its name, or by its first record. A TFRecord has a checksum; any bytes
 * could be text, so a file is not text by its content alone. */
static levada_status cmd_convert_input(const convert_job *job, convert_kind *out,
                                       levada_error *err)
{
    levada_file_kind kind = LEVADA_FILE_KIND_INIT;

    LEVADA_TRY(levada_inspect_kind(job->env, job->in, NULL, &kind, err));
    if (strcmp(kind.source, "tfrecord") == 0 && !kind.guessed) *out = CONVERT_TFRECORD;
    else *out = cmd_convert_named(job, job->in);
    if (strcmp(kind.content, "text_lines") == 0) (void)snprintf(kind.content, 5, "text");
    if (!kind.guessed) levada_cli_source_warn(job->in, &kind, "--from"); /* else refused */
    return LEVADA_OK;
}

/* The format of the output, by its name. */
static convert_kind cmd_convert_output(const convert_job *job)
{
    return strcmp(job->out, "-") == 0 ? CONVERT_JSONL : cmd_convert_named(job, job->out);
}

/* Reports a format that neither a name nor an option determines. */
static bool cmd_convert_is_known(const convert_job *job)
{
    const char *from = levada_cli_value(job->args, "from"), *to = levada_cli_value(job->args, "to");

    if (job->from == CONVERT_UNKNOWN && from)
        levada_cli_say("convert: unknown --from %s; available: tfrecord, text, jsonl", from);
    else if (job->from == CONVERT_UNKNOWN)
        levada_cli_say("convert: cannot tell the format of %s; set --from tfrecord, --from text or "
                       "--from jsonl", job->in);
    else if (job->to == CONVERT_UNKNOWN && !to)
        levada_cli_say("convert: cannot tell the format of %s; set --to tfrecord or --to jsonl",
                       job->out);
    else if (job->to == CONVERT_UNKNOWN || job->to == CONVERT_TEXT)
        levada_cli_say("convert: cannot write %s; available output formats: tfrecord, jsonl",
                       to ? to : job->out);
    else return true;
    return false;
}

/* Chooses formats and compression from the options and names. */
static levada_cli_status cmd_convert_plan(convert_job *job)
{
    const char *from = levada_cli_value(job->args, "from"), *to = levada_cli_value(job->args, "to");
    const char *packed = levada_cli_value(job->args, "compression");
    levada_error err = LEVADA_ERROR_INIT;

    job->to = to ? cmd_convert_kind(to) : cmd_convert_output(job);
    if (from) job->from = cmd_convert_kind(from);
    else if (cmd_convert_input(job, &job->from, &err) != LEVADA_OK) return levada_cli_fail(&err);
    levada_inspect_name(job->env, job->out, NULL, &job->compression);
    if (packed) job->compression = packed;
    if (job->compression && strcmp(job->compression, "none") == 0) job->compression = NULL;
    job->raw = levada_cli_flag(job->args, "raw");
    job->field = levada_cli_value(job->args, "field");
    if (!job->field) job->field = "line";
    if (!cmd_convert_is_known(job)) return LEVADA_CLI_USAGE;
    if (job->to == CONVERT_JSONL && job->compression) {
        levada_cli_say("convert: jsonl output cannot be compressed; omit --compression and the "
                       "suffix");
        return LEVADA_CLI_USAGE;
    }
    if (job->to == CONVERT_TFRECORD && strcmp(job->out, "-") == 0) {
        levada_cli_say("convert: standard output (-) supports only jsonl");
        return LEVADA_CLI_USAGE;
    }
    return LEVADA_CLI_DONE;
}

static levada_status cmd_convert_open(convert_job *job, levada_error *err)
{
    const char *source = job->from == CONVERT_TFRECORD ? "tfrecord" : "text_lines";
    int32_t     level = (int32_t)levada_cli_number(job->args, "level", -1);

    if (levada_cli_file_size(job->in) < 0) /* no policy makes an empty OUT of a missing IN */
        return levada_fail(err, LEVADA_ENOT_FOUND, "cannot open %s: %s", job->in, strerror(errno));
    LEVADA_TRY(levada_example_create(&job->example, err));
    LEVADA_TRY(levada_example_view_create(&job->view, err));
    LEVADA_TRY(levada_cli_source_open(&job->pipe, job->env, source, job->in,
                                      levada_cli_value(job->args, "errors"), err));
    if (strcmp(job->out, "-") == 0) return LEVADA_OK;
    if (levada_cli_file_same(job->in, job->out) && !levada_cli_file_regular(job->in))
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "%s and %s are the same file", job->in,
                           job->out);
    if (job->to == CONVERT_TFRECORD)
        return levada_writer_open(job->env, job->out, job->compression, level, &job->writer, err);
    return levada_output_open(job->out, &job->lines, err);
}

/* The JSON object of a line as a record. */
static levada_status cmd_convert_object(convert_job *job, const uint8_t *bytes, size_t size,
                                        levada_error *err)
{
    levada_value *json = NULL;
    levada_status status = levada_value_parse_json((const char *)bytes, size, &json, err);

    if (status == LEVADA_OK)
        status = levada_cli_example_make(&job->record, job->example, json, err);
    levada_value_destroy(&json);
    return status;
}

/* An Example that holds the line. */
static levada_status cmd_convert_text(convert_job *job, const uint8_t *bytes, size_t size,
                                      levada_error *err)
{
    const void *value = bytes;

    levada_example_reset(job->example);
    LEVADA_TRY(levada_example_add_bytes(job->example, job->field, &value, &size, 1, err));
    LEVADA_TRY(levada_example_finish(job->example, &bytes, &size, err));
    levada_cli_add(&job->record, bytes, size);
    return LEVADA_OK;
}

/* {"line":"..."}; a list where a text alone would mean a record that is not an Example. */
static void cmd_convert_text_json(convert_job *job, const uint8_t *bytes, size_t size)
{
    const char *field = job->raw ? "record" : job->field;
    bool        list = !job->raw && strcmp(field, "record") == 0;

    levada_cli_puts(&job->record, "{");
    levada_cli_json_name(&job->record, field, strlen(field));
    levada_cli_puts(&job->record, list ? ":[" : ":");
    levada_cli_json_text(&job->record, bytes, size);
    levada_cli_puts(&job->record, list ? "]}" : "}");
}

/* Writes the lines that wait; END where nobody reads standard output any more. */
static levada_status cmd_convert_flush(convert_job *job, levada_error *err)
{
    levada_status status;

    if (!job->lines) return levada_cli_out(&job->text) ? LEVADA_OK : LEVADA_END;
    status = levada_output_write(job->lines, job->text.at, job->text.size, err);
    job->text.size = 0;
    return status;
}

/* A record of the input as a line of the output. */
static levada_status cmd_convert_line(convert_job *job, const uint8_t *bytes, size_t size,
                                      levada_error *err)
{
    if (job->from == CONVERT_TFRECORD) {
        LEVADA_TRY(levada_cli_example_json(&job->record, job->view, bytes, size, true, err));
    } else if (job->from == CONVERT_JSONL) {
        LEVADA_TRY(cmd_convert_object(job, bytes, size, err)); /* that it is one */
        job->record.size = 0;
        levada_cli_add(&job->record, bytes, size);
    } else {
        cmd_convert_text_json(job, bytes, size);
    }
    levada_cli_add(&job->text, job->record.at, job->record.size);
    levada_cli_puts(&job->text, "\n");
    return job->text.size < CONVERT_FLUSH ? LEVADA_OK : cmd_convert_flush(job, err);
}

static levada_status cmd_convert_record(convert_job *job, const uint8_t *bytes, size_t size,
                                        levada_error *err)
{
    job->record.size = 0;
    if (job->to == CONVERT_JSONL) return cmd_convert_line(job, bytes, size, err);
    if (job->from == CONVERT_TFRECORD || (job->from == CONVERT_TEXT && job->raw))
        return levada_writer_write(job->writer, bytes, size, err);
    if (job->from == CONVERT_TEXT) LEVADA_TRY(cmd_convert_text(job, bytes, size, err));
    else LEVADA_TRY(cmd_convert_object(job, bytes, size, err));
    return levada_writer_write(job->writer, job->record.at, job->record.size, err);
}

static levada_status cmd_convert_block(convert_job *job, const levada_block *block,
                                       levada_error *err)
{
    const levada_column *column = levada_block_at(block, 0);
    levada_status        status = LEVADA_OK;

    for (int64_t row = 0; row < levada_block_rows(block) && status == LEVADA_OK; row++) {
        int64_t        size = 0;
        const uint8_t *bytes = levada_column_bytes(column, row, &size);
        levada_origin  origin = levada_block_origin(block, row);

        status = cmd_convert_record(job, bytes, (size_t)size, err);
        if (status < 0 && !err->file[0]) /* else it is of the output */
            levada_error_place(err, NULL, job->in, origin.record, origin.offset);
    }
    return status;
}

static levada_status cmd_convert_all(convert_job *job, levada_error *err)
{
    levada_block *block = NULL;
    levada_status status;

    while ((status = levada_cli_pipe_next(&job->pipe, &block, err)) == LEVADA_OK) {
        status = cmd_convert_block(job, block, err);
        levada_block_unref(&block);
        if (status != LEVADA_OK) break;
    }
    return status == LEVADA_END ? LEVADA_OK : status;
}

/* Finishes the output; where anything failed the file that was there before stays. */
static levada_status cmd_convert_close(convert_job *job, levada_status status, levada_error *err)
{
    if (status == LEVADA_OK && job->text.size > 0) status = cmd_convert_flush(job, err);
    if (status == LEVADA_OK && job->writer) status = levada_writer_close(job->writer, err);
    if (status == LEVADA_OK && job->lines) status = levada_output_commit(job->lines, err);
    levada_writer_destroy(&job->writer);
    levada_output_destroy(&job->lines);
    levada_example_destroy(&job->example);
    levada_example_view_destroy(&job->view);
    levada_cli_buffer_clear(&job->text);
    levada_cli_buffer_clear(&job->record);
    return status == LEVADA_END ? LEVADA_OK : status;
}

/* "a.txt → a.tfrecord.gz   53 127 records · 118.9 MiB → 41.2 MiB · 0.90 s" */
static void cmd_convert_summary(const convert_job *job)
{
    levada_cli_buffer text = { 0 };

    levada_cli_show_text(&text, levada_cli_file_name(job->in));
    levada_cli_puts(&text, " → ");
    levada_cli_show_text(&text, levada_cli_file_name(job->out));
    levada_cli_puts(&text, "   ");
    levada_cli_counted(&text, job->pipe.records, "record", "records");
    levada_cli_puts(&text, " · ");
    levada_cli_bytes(&text, levada_cli_file_size(job->in));
    levada_cli_puts(&text, " → ");
    levada_cli_bytes(&text, levada_cli_file_size(job->out));
    levada_cli_printf(&text, " · %.2f s\n", levada_cli_now() - job->pipe.progress.begun);
    levada_cli_out(&text);
    levada_cli_buffer_clear(&text);
}

static levada_cli_status cmd_convert(levada_env *env, const levada_cli_args *args)
{
    convert_job       job = { .env = env, .args = args };
    levada_error      err = LEVADA_ERROR_INIT;
    levada_cli_status status;
    levada_status     done;
    bool              wrong;

    job.in = args->words[0];
    job.out = args->words[1];
    if (levada_cli_convert_rows_wanted(env, args)) return levada_cli_convert_rows(env, args);
    status = cmd_convert_plan(&job);
    if (status != LEVADA_CLI_DONE) return status;
    levada_cli_progress_begin(&job.pipe.progress, levada_cli_flag(args, "progress"), NULL);
    done = cmd_convert_open(&job, &err);
    wrong = done == LEVADA_EINVALID_ARGUMENT && !err.stage[0] && !err.file[0]; /* an option */
    if (done == LEVADA_OK) done = cmd_convert_all(&job, &err);
    levada_cli_progress_clear(&job.pipe.progress);
    done = cmd_convert_close(&job, done, &err);
    if (done != LEVADA_OK) status = levada_cli_fail(&err);
    else if (strcmp(job.out, "-") != 0) cmd_convert_summary(&job);
    if (wrong) status = LEVADA_CLI_USAGE;
    levada_cli_pipe_close(&job.pipe);
    return status;
}

const levada_cli_command levada_cli_convert = {
    .name = "convert",
    .words = "IN OUT",
    .doc = "convert records to another file format or compression",
    .more = "  levada convert a.tfrecord a.tfrecord.gz    the same records, compressed\n"
            "  levada convert a.txt a.tfrecord            a line becomes an Example\n"
            "  levada convert a.tfrecord a.jsonl          Examples as JSON; - = standard output\n"
            "  levada convert a.jsonl a.tfrecord.zst      and back\n\n"
            "OUT appears when it is complete. It replaces a file of that name, but not a link.",
    .options = cmd_convert_options,
    .min_words = 2,
    .max_words = 2,
    .run = cmd_convert,
};
