/* SPDX-License-Identifier: Apache-2.0 */
#include "convert_rows.h"

#include "escape.h"
#include "file.h"
#include "pipe.h"
#include "source.h"

#include <levada/write.h>

#include <stdio.h>
#include <string.h>

/* The format of a file by the option, or by its name; NULL = unknown. */
static const char *rows_format(levada_env *env, const levada_cli_args *args, const char *option,
                               const char *path)
{
    const char *format = levada_cli_value(args, option);

    if (!format) levada_inspect_name(env, path, &format, NULL);
    return format;
}

static bool rows_is(const char *format)
{
    return format && (strcmp(format, "csv") == 0 || strcmp(format, "tar") == 0);
}

bool levada_cli_convert_rows_wanted(levada_env *env, const levada_cli_args *args)
{
    return levada_cli_source_described(args->words[0]) ||
           levada_cli_value(args, "shard-records") || levada_cli_value(args, "shard-bytes") ||
           strstr(args->words[1], "%05d-of-%05d") ||
           rows_is(rows_format(env, args, "from", args->words[0])) ||
           rows_is(rows_format(env, args, "to", args->words[1]));
}

/* A CSV file as text: the first row names the columns. */
static void rows_csv(levada_cli_buffer *out, const levada_block *block)
{
    const levada_column *c = levada_block_at(block, 0);

    levada_cli_puts(out, ",header=true,record_defaults=[");
    for (int32_t i = c->level[0].begin[0]; i < c->level[0].end[0]; i++)
        levada_cli_printf(out, "%s{dtype:string,default:\"\"}",
                          i > c->level[0].begin[0] ? "," : "");
    levada_cli_puts(out, "],columns=[");
    for (int32_t i = c->level[0].begin[0]; i < c->level[0].end[0]; i++) {
        int32_t begin = c->level[1].begin[i];

        if (i > c->level[0].begin[0]) levada_cli_puts(out, ",");
        levada_cli_json_text(out, c->values + begin, (size_t)(c->level[1].end[i] - begin));
    }
    levada_cli_puts(out, "]");
}

/* Adds the options that a CSV file needs. */
static levada_status rows_header(levada_env *env, const char *path, levada_cli_buffer *out,
                                 levada_error *err)
{
    levada_cli_pipe pipe = { 0 };
    levada_block   *block = NULL;
    levada_status   status = levada_cli_source_open(&pipe, env, "csv", path, NULL, err);

    if (status == LEVADA_OK) status = levada_iter_next(pipe.it, &block, err);
    if (status == LEVADA_OK) rows_csv(out, block);
    levada_block_unref(&block);
    levada_cli_pipe_close(&pipe);
    if (status != LEVADA_END) return status;
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "%s is empty: it names no columns", path);
}

/* Whether the records of a file have columns to write, or are bytes that are copied as they are. */
static bool rows_has_columns(levada_env *env, const levada_cli_args *args, const char *format)
{
    const char *to = rows_format(env, args, "to", args->words[1]);

    return rows_is(format) || (strcmp(format, "tfrecord") == 0 && to && strcmp(to, format) == 0);
}

/* IN as a description. */
static levada_status rows_description(levada_env *env, const levada_cli_args *args,
                                      levada_cli_buffer *out, levada_error *err)
{
    const char *in = args->words[0], *format = rows_format(env, args, "from", in);

    if (levada_cli_source_described(in)) {
        levada_cli_puts(out, in);
    } else {
        if (!format)
            return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                               "cannot tell the format of %s; set --from", in);
        if (strcmp(format, "text") == 0) format = "text_lines";
        if (!rows_has_columns(env, args, format))
            return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                               "records of %s are bytes: name the columns in a description, such "
                               "as 'tfrecord:IN | parse_example:@spec.json' or "
                               "'jsonl:IN,fields={a:int64}'",
                               in);
        levada_cli_printf(out, "%s:", format);
        levada_cli_json_text(out, (const uint8_t *)in, strlen(in));
        if (strcmp(format, "csv") == 0) LEVADA_TRY(rows_header(env, in, out, err));
    }
    levada_cli_add(out, "", 1);
    return LEVADA_OK;
}

static levada_status rows_write(levada_cli_pipe *pipe, levada_env *env,
                                const levada_cli_args *args, levada_write_result *result,
                                levada_error *err)
{
    levada_write_options options = LEVADA_WRITE_OPTIONS_INIT;
    levada_sink         *sink = NULL;
    levada_block        *block = NULL;
    levada_status        status;

    options.format = rows_format(env, args, "to", args->words[1]);
    options.compression = levada_cli_value(args, "compression");
    options.level = (int32_t)levada_cli_number(args, "level", -1);
    options.shard_records = levada_cli_number(args, "shard-records", 0);
    options.shard_bytes = levada_cli_number(args, "shard-bytes", 0);
    status = levada_sink_open(args->words[1], &options, &sink, err);
    while (status == LEVADA_OK &&
           (status = levada_cli_pipe_next(pipe, &block, err)) == LEVADA_OK) {
        status = levada_sink_add(sink, block, err);
        levada_block_unref(&block);
    }
    if (status == LEVADA_END) status = levada_sink_close(sink, result, err);
    levada_sink_destroy(&sink);
    return status;
}

/* "a.csv → a.jsonl   1 000 records in 3 files · 0.90 s" */
static void rows_summary(const levada_cli_args *args, const levada_write_result *result,
                         double begun)
{
    levada_cli_buffer text = { 0 };

    levada_cli_show_text(&text, levada_cli_file_name(args->words[0]));
    levada_cli_puts(&text, " → ");
    levada_cli_show_text(&text, levada_cli_file_name(args->words[1]));
    levada_cli_puts(&text, "   ");
    levada_cli_counted(&text, result->records, "record", "records");
    levada_cli_puts(&text, " in ");
    levada_cli_counted(&text, result->files, "file", "files");
    levada_cli_printf(&text, " · %.2f s\n", levada_cli_now() - begun);
    levada_cli_out(&text);
    levada_cli_buffer_clear(&text);
}

levada_cli_status levada_cli_convert_rows(levada_env *env, const levada_cli_args *args)
{
    levada_write_result result = LEVADA_WRITE_RESULT_INIT;
    levada_cli_pipe     pipe = { 0 };
    levada_cli_buffer   description = { 0 };
    levada_error        err = LEVADA_ERROR_INIT;
    levada_cli_status   shown = LEVADA_CLI_DONE;
    levada_status       status = rows_description(env, args, &description, &err);

    if (strcmp(args->words[1], "-") == 0) {
        levada_cli_buffer_clear(&description);
        levada_cli_say("convert: standard output (-) supports only jsonl of TFRecord and text; "
                       "levada head --json prints the records of a description");
        return LEVADA_CLI_USAGE;
    }
    if (status == LEVADA_OK)
        status = levada_cli_source_open(&pipe, env, NULL, (const char *)description.at,
                                        levada_cli_value(args, "errors"), &err);
    levada_cli_buffer_clear(&description);
    levada_cli_progress_begin(&pipe.progress, levada_cli_flag(args, "progress"), NULL);
    if (status == LEVADA_OK) status = rows_write(&pipe, env, args, &result, &err);
    levada_cli_progress_clear(&pipe.progress);
    if (status != LEVADA_OK) shown = levada_cli_fail(&err);
    else rows_summary(args, &result, pipe.progress.begun);
    levada_cli_pipe_close(&pipe);
    return shown;
}
