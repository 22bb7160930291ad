/* SPDX-License-Identifier: Apache-2.0 */
/*
 * levada info: prints the format, records and fields of files.
 */
#include "cli.h"
#include "escape.h"
#include "file.h"
#include "json.h"
#include "progress.h"
#include "source.h"
#include <levada/dataset.h>
#include <levada/inspect.h>

#include <stdio.h>
#include <string.h>

static const levada_cli_option cmd_info_options[] = {
    { "source", 0, "NAME", "read with this source instead of guessing from the name or content" },
    { "json", 0, NULL, "print one JSON object per file" },
    LEVADA_CLI_RECORD_OPTION,
    LEVADA_CLI_OPTION_END
};

static const char *cmd_info_format(const char *name)
{
    if (strcmp(name, "tfrecord") == 0) return "TFRecord";
    if (strcmp(name, "text_lines") == 0) return "text lines";
    return name;
}

/* "corpus.tfrecord.gz   TFRecord, gzip, 41.2 MiB (118.9 MiB raw), 53 127 records, ..." */
static void cmd_info_head(levada_cli_buffer *b, const levada_value *info, double seconds)
{
    const char *format = levada_cli_json_string(info, "format");
    const char *packed = levada_cli_json_string(info, "compression");
    int64_t     bad = levada_cli_json_int(info, "bad_records");

    levada_cli_show_text(b, levada_cli_json_string(info, "path"));
    if (!levada_cli_source_note(b, format, levada_cli_json_string(info, "content"),
                                levada_cli_json_get(info, "guessed") != NULL, "--source"))
        levada_cli_printf(b, "   %s", cmd_info_format(format));
    if (*packed) levada_cli_printf(b, ", %s", packed);
    levada_cli_puts(b, ", ");
    levada_cli_bytes(b, levada_cli_json_int(info, "size"));
    if (*packed) {
        levada_cli_puts(b, " (");
        levada_cli_bytes(b, levada_cli_json_int(info, "raw_size"));
        levada_cli_puts(b, " raw)");
    }
    levada_cli_puts(b, ", ");
    levada_cli_counted(b, levada_cli_json_int(info, "records"), "record", "records");
    if (bad > 0) {
        levada_cli_puts(b, ", ");
        levada_cli_count(b, bad);
        levada_cli_puts(b, " damaged (levada verify ");
        levada_cli_show_text(b, levada_cli_json_string(info, "path"));
        levada_cli_puts(b, " shows where)");
    } else if (strcmp(format, "tfrecord") == 0) {
        levada_cli_puts(b, ", all checksums good");
    }
    levada_cli_printf(b, "   %.2f s\n", seconds);
}

/* "min 12 · median 402 · p90 2 310 · max 61 448"; true when they are all the same. */
static bool cmd_info_same(const levada_value *quantiles)
{
    return levada_cli_json_int(quantiles, "min") == levada_cli_json_int(quantiles, "max");
}

static void cmd_info_quantiles(levada_cli_buffer *b, const levada_value *quantiles)
{
    static const char *const names[] = { "min", "median", "p90", "max" };

    for (int i = 0; i < 4; i++) {
        levada_cli_printf(b, "%s%s ", i ? " · " : "", names[i]);
        levada_cli_count(b, levada_cli_json_int(quantiles, names[i]));
    }
}

/* "1 value", "784 values", "values  min 1 · ..." */
static void cmd_info_values(levada_cli_buffer *b, const levada_value *quantiles, const char *after)
{
    int64_t n = levada_cli_json_int(quantiles, "max");

    if (cmd_info_same(quantiles)) {
        levada_cli_counted(b, n, "value", "values");
        levada_cli_puts(b, after);
    } else {
        levada_cli_printf(b, "values%s  ", after);
        cmd_info_quantiles(b, quantiles);
    }
}

/* A name as people read it: its bytes where JSON has them in base64. */
static void cmd_info_name(levada_cli_buffer *b, const char *name, int64_t width)
{
    levada_cli_buffer bytes = { 0 };

    (void)levada_cli_name_read(&bytes, name);
    levada_cli_show_padded(b, bytes.at, bytes.size, width);
    levada_cli_buffer_clear(&bytes);
}

static int64_t cmd_info_name_width(const char *name)
{
    levada_cli_buffer shown = { 0 };
    int64_t           width;

    cmd_info_name(&shown, name, 0);
    width = shown.size > 0 ? levada_cli_width(shown.at, shown.size) : 0;
    levada_cli_buffer_clear(&shown);
    return width;
}

static void cmd_info_feature(levada_cli_buffer *b, const levada_value *feature, int width,
                             int64_t records)
{
    const levada_value *steps = levada_cli_json_get(feature, "steps");
    int64_t             in = levada_cli_json_int(feature, "records");

    cmd_info_name(b, levada_cli_json_string(feature, "name"), width);
    levada_cli_printf(b, "  %-5s   ", levada_cli_json_string(feature, "kind"));
    cmd_info_values(b, levada_cli_json_get(feature, "values"), steps ? " a step" : "");
    if (steps) {
        levada_cli_puts(b, "     steps  ");
        cmd_info_quantiles(b, steps);
    }
    if (in != records) {
        levada_cli_puts(b, "     in ");
        levada_cli_counted(b, in, "record", "records");
    }
    levada_cli_puts(b, "\n");
}

static int cmd_info_widest(const levada_value *features, int width)
{
    for (int64_t i = 0; features && i < levada_value_count(features); i++) {
        const char *name = levada_cli_json_string(levada_value_item(features, i), "name");
        int         n = (int)cmd_info_name_width(name);

        if (n > width) width = n;
    }
    return width;
}

static void cmd_info_features(levada_cli_buffer *b, const levada_value *info, const char *key,
                              const char *title)
{
    const levada_value *features = levada_cli_json_get(info, key);
    int64_t             records = levada_cli_json_int(info, "records");
    int                 width;

    if (!features) return;
    width = cmd_info_widest(levada_cli_json_get(info, "features"), 4);
    width = cmd_info_widest(levada_cli_json_get(info, "sequences"), width);
    for (int64_t i = 0; i < levada_value_count(features); i++) {
        levada_cli_printf(b, "  %-8s  ", i == 0 ? title : "");
        cmd_info_feature(b, levada_value_item(features, i), width, records);
    }
}

/* "lengths   ▁▂▅█▇▅▃▂▂▁   tokens: 12 to 61 448" */
static void cmd_info_lengths(levada_cli_buffer *b, const levada_value *lengths)
{
    static const char *const bars[] = { "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
    const levada_value      *counts = levada_cli_json_get(lengths, "counts");
    int64_t                  most = 1;

    if (!counts) return;
    levada_cli_puts(b, "  lengths   ");
    for (int64_t i = 0; i < levada_value_count(counts); i++) {
        int64_t n = levada_value_as_int(levada_value_item(counts, i));
        if (n > most) most = n;
    }
    for (int64_t i = 0; i < levada_value_count(counts); i++) {
        int64_t n = levada_value_as_int(levada_value_item(counts, i));
        levada_cli_puts(b, n == 0 ? " " : bars[(n * 7 + most / 2) / most]);
    }
    levada_cli_puts(b, "   ");
    cmd_info_name(b, levada_cli_json_string(lengths, "name"), 0);
    levada_cli_puts(b, ": ");
    levada_cli_count(b, levada_cli_json_int(lengths, "from"));
    levada_cli_puts(b, " to ");
    levada_cli_count(b, levada_cli_json_int(lengths, "to"));
    levada_cli_puts(b, "\n");
}

static void cmd_info_text(levada_cli_buffer *b, const levada_value *info, double seconds)
{
    const char *payload = levada_cli_json_string(info, "payload");
    bool        sequence = strcmp(payload, "SequenceExample") == 0;
    int64_t     unlisted = levada_cli_json_int(info, "unlisted_features");

    cmd_info_head(b, info, seconds);
    if (levada_cli_json_int(info, "records") == 0) return;
    if (sequence || strcmp(payload, "Example") == 0) levada_cli_printf(b, "  %s\n", payload);
    cmd_info_features(b, info, "features", sequence ? "context" : "feature");
    cmd_info_features(b, info, "sequences", "sequence");
    if (unlisted > 0) {
        levada_cli_puts(b, "  ");
        levada_cli_counted(b, unlisted, "feature", "features");
        levada_cli_puts(b, " not listed: the file has too many names\n");
    }
    levada_cli_puts(b, "  bytes     ");
    cmd_info_quantiles(b, levada_cli_json_get(info, "bytes"));
    levada_cli_puts(b, "\n");
    cmd_info_lengths(b, levada_cli_json_get(info, "lengths"));
}

/* The progress line, and the bytes of the file. */
typedef struct info_watch {
    levada_cli_progress line;
    int64_t             size;
} info_watch;

static void cmd_info_watch(void *user, int64_t records, int64_t bytes)
{
    info_watch *watch = user;

    levada_cli_progress_bytes(&watch->line, records, bytes, watch->size);
}

static levada_cli_status cmd_info_file(levada_env *env, const char *path, const char *source,
                                       bool json, const levada_cli_args *args,
                                       levada_cli_buffer *b)
{
    levada_verify_options options = LEVADA_VERIFY_OPTIONS_INIT;
    info_watch        watch = { .size = levada_cli_file_size(path) };
    levada_status     read;
    levada_error      err = LEVADA_ERROR_INIT;
    levada_cli_status status = LEVADA_CLI_DONE;
    char             *text = NULL;
    levada_value     *info = NULL;
    double            begun = levada_cli_now();

    levada_cli_progress_begin(&watch.line, true, levada_cli_file_name(path));
    options.source = source;
    options.progress = cmd_info_watch;
    options.user = &watch;
    options.max_record_bytes = levada_cli_record_bytes(args);
    read = levada_inspect_info(env, path, &options, &text, &err);
    levada_cli_progress_clear(&watch.line);
    if (read != LEVADA_OK) return levada_cli_fail(&err);
    if (json) levada_cli_printf(b, "%s\n", text);
    if (levada_cli_json_take(&text, &info, &err) != LEVADA_OK) return levada_cli_fail(&err);
    if (!json) cmd_info_text(b, info, levada_cli_now() - begun);
    if (levada_cli_json_int(info, "bad_records") > 0) status = LEVADA_CLI_FAILED;
    levada_value_destroy(&info);
    return status;
}

static levada_cli_status cmd_info(levada_env *env, const levada_cli_args *args)
{
    levada_cli_buffer text = { 0 };
    levada_cli_status status = LEVADA_CLI_DONE;
    const char       *source = levada_cli_value(args, "source");
    bool              reading = true;

    levada_cli_signals_end();
    for (int i = 0; i < args->nwords && reading; i++) {
        bool json = levada_cli_flag(args, "json");

        if (cmd_info_file(env, args->words[i], source, json, args, &text) != LEVADA_CLI_DONE)
            status = LEVADA_CLI_FAILED;
        reading = levada_cli_out(&text);
    }
    levada_cli_buffer_clear(&text);
    return status;
}

const levada_cli_command levada_cli_info = {
    .name = "info",
    .words = "FILE...",
    .doc = "print the format, records, fields and lengths of files",
    .options = cmd_info_options,
    .min_words = 1,
    .max_words = -1,
    .inputs = -1,
    .run = cmd_info,
};
