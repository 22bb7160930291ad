/* SPDX-License-Identifier: Apache-2.0 */
/*
 * levada convert: records of a file, or of a description, to files of another format.
 *
 * One way for all formats: a dataset that reads IN, a function that makes other records of them
 * where both sides hold bytes (convert_records.h), and a sink that writes OUT (levada/write.h).
 */
#include "convert_csv.h"
#include "convert_records.h"
#include "escape.h"
#include "file.h"
#include "source.h"
#include <levada/write.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const levada_cli_option cmd_convert_options[] = {
    { "from", 0, "KIND",
      "tfrecord, text, jsonl, csv, tar (default: from the name, or the content)" },
    { "to", 0, "KIND",
      "tfrecord, sequence_example, jsonl, csv, tar (default: from the suffix of OUT)" },
    { "compression", 'c', "NAME", "none, gzip, zlib, zstd (default: from the suffix of OUT)" },
    { "level", 'l', "N", "compression level" },
    { "records-per-file", 0, "N", "begin a new file after N records: out-00000-of-00003.csv" },
    { "bytes-per-file", 0, "N", "begin a new file after N bytes before compression" },
    { "header", 0, NULL, "csv: the first row of IN is a header (default: if it looks like names)" },
    { "no-header", 0, NULL, "csv: the first row of IN is a record; the columns are c0, c1, ..." },
    { "raw", 0, NULL, "text: write each line as a record, not as an Example" },
    { "field", 'f', "NAME", "text: the feature for the line (default line)" },
    { "errors", 0, "P", "bad records: fail (default), skip, skip:1000 or skip:0.1%" },
    LEVADA_CLI_RECORD_OPTION,
    { "threads", 't', "N", "threads (default: one per CPU)" },
    { "progress", 'p', NULL, "show progress on a terminal (the default)" },
    LEVADA_CLI_OPTION_END
};

enum { CONVERT_FLUSH = 1 << 16 /* bytes of lines to print at once */, CONVERT_THREADS = 256 };

typedef enum convert_kind {
    CONVERT_TFRECORD,
    CONVERT_TEXT,
    CONVERT_JSONL,
    CONVERT_CSV,
    CONVERT_TAR,
    CONVERT_JSON,     /* a document: of IN only */
    CONVERT_SEQUENCE, /* of OUT only: TFRecord as well */
    CONVERT_UNKNOWN,
    CONVERT_DESCRIBED /* of IN only */
} convert_kind;

typedef struct convert_job {
    levada_env            *env;
    const levada_cli_args *args;
    const char            *in, *out;
    convert_kind           from, to;
    levada_cli_convert_as  as;
    levada_cli_pipe        pipe;
    levada_write_result    result;
    int64_t                size;  /* of `in` before OUT, which may be the same file; -1 = none */
    bool                   print; /* to standard output */
} convert_job;

/* -- what to do */

static const char *const convert_names[] = { "tfrecord", "text", "jsonl",           "csv",
                                            "tar",      "json", "sequence_example" };

static convert_kind cmd_convert_kind(const char *name)
{
    if (strcmp(name, "text_lines") == 0) return CONVERT_TEXT;
    for (int i = 0; i < CONVERT_UNKNOWN; i++)
        if (strcmp(name, convert_names[i]) == 0) return (convert_kind)i;
    return CONVERT_UNKNOWN;
}

/* Returns the kind that a name suggests. */
static convert_kind cmd_convert_named(const convert_job *job, const char *path)
{
    const char *format = NULL;

    levada_inspect_name(job->env, path, &format, NULL);
    return format ? cmd_convert_kind(format) : CONVERT_UNKNOWN;
}

/* The format of a file, as every command finds it. Any bytes could be text, so a file is not text
 * by its content alone. */
static levada_status cmd_convert_input(const convert_job *job, convert_kind *out,
                                       levada_error *err)
{
    levada_file_kind kind = LEVADA_FILE_KIND_INIT;

    LEVADA_TRY(levada_inspect_kind(job->env, job->in, NULL, &kind, err));
    *out = kind.guessed ? CONVERT_UNKNOWN : cmd_convert_kind(kind.source);
    if (*out == CONVERT_TEXT) *out = cmd_convert_named(job, job->in);
    if (strcmp(kind.content, "text_lines") == 0) (void)snprintf(kind.content, 5, "text");
    if (!kind.guessed) levada_cli_source_warn(job->in, &kind, "--from"); /* else refused */
    return LEVADA_OK;
}

/* Reports a format that neither a name nor an option determines. */
static bool cmd_convert_is_known(const convert_job *job)
{
    const char *from = levada_cli_value(job->args, "from"), *to = levada_cli_value(job->args, "to");

    if ((job->from == CONVERT_UNKNOWN || job->from == CONVERT_SEQUENCE) && from)
        levada_cli_say("convert: unknown --from %s; available: tfrecord, text, jsonl, json, csv, "
                       "tar", from);
    else if (job->from == CONVERT_UNKNOWN)
        levada_cli_say(
            "convert: unknown format of %s; set --from tfrecord, text, jsonl, csv or tar", job->in);
    else if (job->to == CONVERT_UNKNOWN && !to)
        levada_cli_say(
            "convert: unknown format of %s; set --to tfrecord, sequence_example, jsonl, csv or "
            "tar",
            job->out);
    else if (job->to == CONVERT_UNKNOWN || job->to == CONVERT_TEXT ||
             job->to == CONVERT_JSON)
        levada_cli_say("convert: cannot write %s; available output formats: tfrecord, "
                       "sequence_example, jsonl, csv, tar", to ? to : job->out);
    else return true;
    return false;
}

/* Chooses how records of bytes become others. Returns false if their fields have to be named first.
 * */
static bool cmd_convert_choose(convert_job *job)
{
    bool raw = levada_cli_flag(job->args, "raw");

    job->as = LEVADA_CLI_CONVERT_COPY;
    if (job->from == CONVERT_CSV || job->from == CONVERT_TAR || job->from == CONVERT_JSON ||
        job->from == CONVERT_DESCRIBED)
        return true;
    if (job->to == CONVERT_CSV || job->to == CONVERT_TAR || job->to == CONVERT_SEQUENCE)
        return job->from == CONVERT_TEXT;
    if (job->to == CONVERT_JSONL) {
        job->as = job->from == CONVERT_TFRECORD ? LEVADA_CLI_CONVERT_EXAMPLE_JSON
                  : job->from == CONVERT_JSONL  ? LEVADA_CLI_CONVERT_JSON_LINE
                                                : LEVADA_CLI_CONVERT_TEXT_JSON;
        return true;
    }
    if (job->from == CONVERT_JSONL) job->as = LEVADA_CLI_CONVERT_JSON_EXAMPLE;
    else if (job->from == CONVERT_TEXT)
        job->as = raw ? LEVADA_CLI_CONVERT_TEXT_RECORD : LEVADA_CLI_CONVERT_TEXT_EXAMPLE;
    return true;
}

/* Returns true if the records can be printed: lines, and of records that are bytes. */
static bool cmd_convert_can_print(const convert_job *job)
{
    if (!job->print || (job->to == CONVERT_JSONL && job->as != LEVADA_CLI_CONVERT_COPY &&
                        !levada_cli_value(job->args, "compression")))
        return true;
    levada_cli_say("convert: standard output (-) supports only jsonl of TFRecord and text; "
                   "levada head --json prints the records of a pipeline");
    return false;
}

/* Chooses formats from the options and names. */
static levada_cli_status cmd_convert_plan(convert_job *job)
{
    const char *from = levada_cli_value(job->args, "from"), *to = levada_cli_value(job->args, "to");
    levada_error err = LEVADA_ERROR_INIT;

    job->print = strcmp(job->out, "-") == 0;
    job->to = to           ? cmd_convert_kind(to)
              : job->print ? CONVERT_JSONL
                           : cmd_convert_named(job, job->out);
    if (levada_cli_source_described(job->in)) job->from = CONVERT_DESCRIBED;
    else if (from) job->from = cmd_convert_kind(from);
    else if (cmd_convert_input(job, &job->from, &err) != LEVADA_OK) return levada_cli_fail(&err);
    if (!cmd_convert_is_known(job)) return LEVADA_CLI_USAGE;
    if (!cmd_convert_choose(job)) {
        levada_cli_say("convert: records of %s are bytes: select the columns in a pipeline, such "
                       "as 'tfrecord:IN | parse_example:auto' or 'jsonl:IN,fields=auto'", job->in);
        return LEVADA_CLI_USAGE;
    }
    return cmd_convert_can_print(job) ? LEVADA_CLI_DONE : LEVADA_CLI_USAGE;
}

/* -- opening */

static levada_status cmd_convert_source(convert_job *job, levada_error *err)
{
    bool              yes = levada_cli_flag(job->args, "header");
    bool              no = levada_cli_flag(job->args, "no-header");
    levada_cli_header header = no    ? LEVADA_CLI_HEADER_NO
                               : yes ? LEVADA_CLI_HEADER_YES
                                     : LEVADA_CLI_HEADER_LOOK;
    levada_value     *options = NULL;
    const char       *source = job->from == CONVERT_TEXT || job->from == CONVERT_JSONL
                                   ? "text_lines"
                                   : convert_names[job->from % CONVERT_UNKNOWN];

    if (yes && no)
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "--header and --no-header cannot be combined");
    if (job->from == CONVERT_DESCRIBED)
        return levada_dataset_parse(job->env, job->in, &job->pipe.dataset, err);
    /* No policy makes an empty OUT of a missing IN. */
    if (!strstr(job->in, "://") && levada_cli_file_size(job->in) < 0)
        return levada_fail(err, LEVADA_ENOT_FOUND, "cannot open %s: %s", job->in, strerror(errno));
    if (job->from == CONVERT_CSV)
        LEVADA_TRY(levada_cli_convert_csv(job->env, job->in, header,
                                          levada_cli_record_bytes(job->args), &options, err));
    if (job->from == CONVERT_JSON) LEVADA_TRY(levada_value_parse("{fields:auto}", &options, err));
    return levada_cli_source_dataset(job->env, source, job->in, options ? &options : NULL,
                                     &job->pipe.dataset, err);
}

/* Adds the stage that converts records. */
static levada_status cmd_convert_map(convert_job *job, levada_error *err)
{
    const char      *field = levada_cli_value(job->args, "field");
    bool             raw = levada_cli_flag(job->args, "raw");
    levada_function *function = NULL;
    levada_value    *options = NULL, *value = NULL;
    levada_dataset  *source = job->pipe.dataset;
    levada_status    status;

    if (job->as == LEVADA_CLI_CONVERT_COPY) return LEVADA_OK;
    LEVADA_TRY(levada_cli_convert_function(job->env, job->as, raw ? NULL : field ? field : "line",
                                           &function, err));
    status = levada_value_parse("{spec:{record:string}}", &options, err);
    value = levada_value_function(function);
    if (status == LEVADA_OK && !value)
        status = levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory");
    if (status == LEVADA_OK) status = levada_value_set(options, "fn", &value, err);
    if (status == LEVADA_OK) {
        job->pipe.dataset = NULL;
        status = levada_dataset_append(job->env, "map", options,
                                       (const levada_dataset *const *)&source, 1,
                                       &job->pipe.dataset, err);
        levada_dataset_unref(&source);
    }
    levada_value_destroy(&value);
    levada_value_destroy(&options);
    levada_function_unref(&function);
    return status;
}

static levada_status cmd_convert_open(convert_job *job, levada_error *err)
{
    levada_iter_options options = LEVADA_ITER_OPTIONS_INIT;
    int64_t             threads = levada_cli_number(job->args, "threads", 0);

    if (threads < 0 || threads > CONVERT_THREADS)
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "--threads %lld must be from 0 to %d",
                           (long long)threads, CONVERT_THREADS);
    LEVADA_TRY(cmd_convert_source(job, err));
    LEVADA_TRY(cmd_convert_map(job, err));
    options.threads = (int32_t)threads;
    options.seed = 0;
    options.errors = levada_cli_value(job->args, "errors");
    options.max_record_bytes = levada_cli_record_bytes(job->args);
    LEVADA_TRY(levada_iter_open(job->pipe.dataset, &options, &job->pipe.it, err));
    if (levada_cli_file_same(job->in, job->out) && !levada_cli_file_regular(job->in))
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "%s and %s are the same file", job->in,
                           job->out);
    return LEVADA_OK;
}

/* -- running */

static levada_status cmd_convert_sink(convert_job *job, levada_sink **sink, levada_error *err)
{
    levada_write_options options = LEVADA_WRITE_OPTIONS_INIT;
    bool lines = job->to == CONVERT_JSONL && job->as != LEVADA_CLI_CONVERT_COPY;

    options.format = lines ? "text_lines" : convert_names[job->to];
    options.compression = levada_cli_value(job->args, "compression");
    options.level = (int32_t)levada_cli_number(job->args, "level", -1);
    options.records_per_file = levada_cli_number(job->args, "records-per-file", 0);
    options.bytes_per_file = levada_cli_number(job->args, "bytes-per-file", 0);
    options.spec = levada_dataset_spec(job->pipe.dataset);
    options.threads = (int32_t)levada_cli_number(job->args, "threads", 0);
    return levada_sink_open(job->out, &options, sink, err);
}

static levada_status cmd_convert_write(convert_job *job, levada_sink *sink, levada_error *err)
{
    levada_block *block = NULL;
    levada_status status;

    while ((status = levada_cli_pipe_next(&job->pipe, &block, err)) == LEVADA_OK) {
        status = levada_sink_add(sink, block, err);
        levada_block_unref(&block);
        if (status != LEVADA_OK) return status;
    }
    return status == LEVADA_END ? levada_sink_close(sink, &job->result, err) : status;
}

/* Prints to standard output, until nobody reads it any more. */
static levada_status cmd_convert_print(convert_job *job, levada_error *err)
{
    levada_cli_buffer text = { 0 };
    levada_block     *block = NULL;
    levada_status     status;
    bool              read = true;

    while (read && (status = levada_cli_pipe_next(&job->pipe, &block, err)) == LEVADA_OK) {
        const levada_column *column = levada_block_at(block, 0);

        for (int64_t row = 0; row < levada_block_rows(block); row++) {
            int64_t        size = 0;
            const uint8_t *bytes = levada_column_bytes(column, row, &size);

            levada_cli_add(&text, bytes, (size_t)size);
            levada_cli_puts(&text, "\n");
        }
        levada_block_unref(&block);
        if (text.size >= CONVERT_FLUSH) read = levada_cli_out(&text);
    }
    if (!read || status == LEVADA_END) status = LEVADA_OK;
    if (status == LEVADA_OK) levada_cli_out(&text);
    levada_cli_buffer_clear(&text);
    return status;
}

/* "a.txt → a.tfrecord.gz   53 127 records · 118.9 MiB → 41.2 MiB · 0.90 s" */
static void cmd_convert_summary(const convert_job *job)
{
    int64_t           out = levada_cli_file_size(job->out);
    levada_cli_buffer text = { 0 };

    levada_cli_show_text(&text, levada_cli_file_name(job->in));
    levada_cli_puts(&text, " → ");
    levada_cli_show_text(&text, levada_cli_file_name(job->out));
    levada_cli_puts(&text, "   ");
    levada_cli_counted(&text, job->result.records, "record", "records");
    if (job->result.set) {
        levada_cli_puts(&text, " in ");
        levada_cli_counted(&text, job->result.files, "file", "files");
    } else if (job->size > 0 && out >= 0 && levada_cli_file_regular(job->out)) {
        levada_cli_puts(&text, " · ");
        levada_cli_bytes(&text, job->size);
        levada_cli_puts(&text, " → ");
        levada_cli_bytes(&text, out);
    }
    levada_cli_printf(&text, " · %.2f s\n", levada_cli_now() - job->pipe.progress.begun);
    levada_cli_out(&text);
    levada_cli_buffer_clear(&text);
    if (job->result.removed > 0) {
        levada_cli_counted(&text, job->result.removed, "file", "files");
        levada_cli_say("%s: removed %s of an older set of another size",
                       levada_cli_file_name(job->out), text.at);
        levada_cli_buffer_clear(&text);
    }
}

static levada_cli_status cmd_convert(levada_env *env, const levada_cli_args *args)
{
    convert_job       job = { .env = env, .args = args, .in = args->words[0],
                              .out = args->words[1],
                              .result = LEVADA_WRITE_RESULT_INIT };
    levada_error      err = LEVADA_ERROR_INIT;
    levada_cli_status status = cmd_convert_plan(&job);
    levada_sink      *sink = NULL;
    levada_status     done;
    bool              wrong;

    if (status != LEVADA_CLI_DONE) return status;
    levada_cli_progress_begin(&job.pipe.progress, !job.print, NULL);
    job.size = levada_cli_file_size(job.in);
    done = cmd_convert_open(&job, &err);
    if (done == LEVADA_OK && !job.print) done = cmd_convert_sink(&job, &sink, &err);
    wrong = done == LEVADA_EINVALID_ARGUMENT && !err.stage[0] && !err.file[0]; /* an option */
    if (done == LEVADA_OK)
        done = job.print ? cmd_convert_print(&job, &err) : cmd_convert_write(&job, sink, &err);
    levada_sink_destroy(&sink);
    levada_cli_progress_clear(&job.pipe.progress);
    if (done != LEVADA_OK) status = levada_cli_fail(&err);
    else if (!job.print) cmd_convert_summary(&job);
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
    .inputs = 1,
    .run = cmd_convert,
};
