/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "base/assert.h"
#include "base/versioned.h"
#include "inspect/scan.h"
#include "inspect/survey.h"
#include "tensor/block_priv.h"
#include <levada/inspect.h>
#include <levada/writer.h>

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define INSPECT_BARS 16

/* -- verify */

/* Checks that the writer can write the file: TFRecord, in a compression that has an encoder. */
static levada_status inspect_repair_check(const levada_scan *scan, levada_error *err)
{
    const levada_filter_def *filter = levada_registry_filter(scan->dataset->env, scan->compression);

    if (strcmp(levada_dataset_name(scan->dataset), LEVADA_SCAN_RECORDS) != 0) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "only TFRecord files can be repaired, this is %s",
                           levada_dataset_name(scan->dataset));
    }
    if (!scan->compression[0] || (filter && filter->encode)) return LEVADA_OK;
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                       "%s files cannot be repaired; decompress the file first", scan->compression);
}

/* Opens the output, which is written while the input is read, so it must be another file. A file is
 * replaced as a whole, which would turn a device or a pipe into a file: these are refused. */
static levada_status inspect_repair_open(levada_writer **writer, levada_env *env,
                                         const levada_scan *scan, const char *path,
                                         const levada_verify_options *o, levada_error *err)
{
    struct stat in, out;
    bool        exists = stat(o->repair, &out) == 0;

    if (exists && !S_ISREG(out.st_mode)) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "the repaired file must be a regular file, %s is not",
                           o->repair);
    }
    if (exists && stat(path, &in) == 0 && in.st_dev == out.st_dev &&
        in.st_ino == out.st_ino) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "the repaired file must not be the input: %s is %s; choose another path",
                           o->repair, path);
    }
    LEVADA_TRY(inspect_repair_check(scan, err));
    return levada_writer_open(env, o->repair, scan->compression, -1, writer, err);
}

static levada_status inspect_repair_write(levada_writer *writer, const levada_block *block,
                                          levada_error *err)
{
    const levada_column *column = levada_block_at(block, 0);

    if (!writer) return LEVADA_OK;
    for (int64_t i = 0; i < levada_block_rows(block); i++) {
        int64_t        size;
        const uint8_t *bytes = levada_column_bytes(column, i, &size);

        LEVADA_TRY(levada_writer_write(writer, bytes, (size_t)size, err));
    }
    return LEVADA_OK;
}

/* Renames the file only if it has as many records as were counted before. */
static levada_status inspect_repair_finish(levada_writer *writer, const levada_scan *scan,
                                           const levada_verify_options *o, levada_error *err)
{
    int64_t good = levada_scan_counted(scan).records;

    if (!writer) return LEVADA_OK;
    if (o->expect_good >= 0 && good != o->expect_good) {
        return levada_fail(err, LEVADA_EUNAVAILABLE,
                           "%lld good records, but %lld before: the file has changed, or cannot be "
                           "read reliably; %s was not written",
                           (long long)good, (long long)o->expect_good, o->repair);
    }
    return levada_writer_close(writer, err);
}

static levada_status inspect_walk(levada_scan *scan, levada_writer *writer,
                                  const levada_verify_options *options, levada_error *err)
{
    for (;;) {
        levada_error  why = LEVADA_ERROR_INIT;
        levada_block *block = NULL;
        int64_t       next = -1;
        levada_status st = levada_scan_next(scan, &block, &next, &why);

        if (st == LEVADA_END) return LEVADA_OK;
        if (st == LEVADA_EDATA_LOSS) {
            levada_damage damage = {why.record, why.offset, next, why.message};

            if (options->damage) options->damage(options->user, &damage);
            continue;
        }
        if (st != LEVADA_OK) {
            if (err) *err = why;
            return st;
        }
        st = inspect_repair_write(writer, block, err);
        levada_block_unref(&block);
        levada_scan_report(scan, options->progress, options->user);
        if (st != LEVADA_OK) return st;
    }
}

static void inspect_fill_result(const levada_scan *scan, levada_verify_result *result)
{
    levada_file_reader_counts counts = levada_scan_counted(scan);
    levada_verify_result      all = {
             .good = counts.records,
             .bad = counts.skipped_records,
             .damaged_bytes = counts.damaged_bytes,
             .size = scan->size,
             .raw_size = counts.bytes,
    };

    (void)snprintf(all.format, sizeof all.format, "%s", levada_dataset_name(scan->dataset));
    (void)snprintf(all.compression, sizeof all.compression, "%s", scan->compression);
    (void)snprintf(all.content, sizeof all.content, "%s", scan->content);
    all.guessed = scan->guessed;
    all.repairable = !scan->guessed && inspect_repair_check(scan, NULL) == LEVADA_OK;
    levada_versioned_write(result, &all, sizeof all);
}

levada_status levada_inspect_verify(levada_env *env, const char *path,
                                    const levada_verify_options *options,
                                    levada_verify_result *result, levada_error *err)
{
    LEVADA_TRY(levada_require(path != NULL, "path", err));
    LEVADA_TRY(levada_require(result != NULL, "result", err));
    LEVADA_TRY(levada_env_have(env, err));
    levada_verify_options o = LEVADA_VERIFY_OPTIONS_INIT;
    levada_scan           scan;
    levada_writer        *writer = NULL;
    levada_status         st;

    if (options) LEVADA_TRY(LEVADA_VERSIONED_READ(o, options, levada_verify_options, err));
    LEVADA_TRY(levada_versioned_check(result, sizeof *result, "levada_verify_result", err));
    if (o.expect_good < -1) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "expect_good=%lld must be at least -1; -1 is not known",
                           (long long)o.expect_good);
    }
    LEVADA_TRY(levada_scan_open(&scan, env, path, o.source, o.compression, o.max_record_bytes, true,
                                err));
    st = o.repair ? inspect_repair_open(&writer, env, &scan, path, &o, err) : LEVADA_OK;
    if (st == LEVADA_OK) st = inspect_walk(&scan, writer, &o, err);
    if (st == LEVADA_OK) st = inspect_repair_finish(writer, &scan, &o, err);
    if (st == LEVADA_OK) inspect_fill_result(&scan, result);
    levada_writer_destroy(&writer);
    levada_scan_close(&scan);
    return st;
}

/* -- info */

typedef struct inspect_info {
    levada_scan      scan;
    levada_survey   *survey;
    levada_histogram bytes;
    levada_inspect_progress *progress;
    void                    *user;
} inspect_info;

static levada_status inspect_info_read(inspect_info *info, levada_error *err)
{
    for (;;) {
        levada_block        *block = NULL;
        const levada_column *column;
        int64_t              next;
        levada_status        st = levada_scan_next(&info->scan, &block, &next, err);

        if (st == LEVADA_END) return LEVADA_OK;
        if (st == LEVADA_EDATA_LOSS) {
            levada_error_clear(err);
            continue;
        }
        if (st != LEVADA_OK) return st;
        column = levada_block_at(block, 0);
        for (int64_t i = 0; st == LEVADA_OK && i < levada_block_rows(block); i++) {
            int64_t        size;
            const uint8_t *payload = levada_column_bytes(column, i, &size);

            if (!levada_scan_is_good(&info->scan, i)) continue;
            levada_histogram_add(&info->bytes, size, 1);
            st = levada_survey_add(info->survey, payload, size, err);
        }
        levada_block_unref(&block);
        levada_scan_report(&info->scan, info->progress, info->user);
        if (st != LEVADA_OK) return st;
    }
}

static void inspect_lengths_json(const inspect_info *info, const char *kind, levada_text *text)
{
    const char             *name = "bytes";
    size_t                  size = strlen(name);
    const levada_histogram *h =
        kind ? levada_survey_longest(info->survey, &name, &size) : &info->bytes;
    int64_t                 bars[INSPECT_BARS];
    int32_t                 n = INSPECT_BARS;

    levada_text_put(text, ",\"lengths\":");
    if (!h || h->n == 0) {
        levada_text_put(text, "null");
        return;
    }
    if (h->max - h->min + 1 < n) n = (int32_t)(h->max - h->min + 1);
    levada_histogram_bars(h, bars, n);
    levada_text_put(text, "{\"name\":");
    levada_text_json_name(text, name, size);
    levada_text_format(text, ",\"from\":%lld,\"to\":%lld,\"scale\":\"%s\",\"counts\":[",
                       (long long)h->min, (long long)h->max,
                       levada_histogram_logarithmic(h) ? "logarithmic" : "linear");
    for (int32_t i = 0; i < n; i++) {
        levada_text_format(text, "%s%lld", i > 0 ? "," : "", (long long)bars[i]);
    }
    levada_text_put(text, "]}");
}

static void inspect_info_json(const inspect_info *info, const char *path, levada_text *text)
{
    levada_file_reader_counts counts = levada_scan_counted(&info->scan);
    const char               *format = levada_dataset_name(info->scan.dataset);
    bool                      records = !levada_scan_is_text(&info->scan);
    const char               *kind = records ? levada_survey_kind(info->survey) : NULL;

    levada_text_put(text, "{\"path\":");
    levada_text_json(text, path, strlen(path));
    levada_text_format(text, ",\"format\":\"%s\"", format);
    if (info->scan.content[0]) {
        levada_text_format(text, ",\"content\":\"%s\"", info->scan.content);
    }
    if (info->scan.guessed) levada_text_put(text, ",\"guessed\":true");
    levada_text_format(text, ",\"compression\":\"%s\"", info->scan.compression);
    levada_text_format(text, ",\"size\":%lld,\"raw_size\":%lld,\"records\":%lld",
                       (long long)info->scan.size, (long long)counts.bytes,
                       (long long)counts.records);
    levada_text_format(text, ",\"bad_records\":%lld,\"damaged_bytes\":%lld",
                       (long long)counts.skipped_records, (long long)counts.damaged_bytes);
    levada_text_format(text, ",\"payload\":\"%s\",\"bytes\":",
                       kind ? kind : records ? "other" : "text");
    levada_histogram_json(&info->bytes, text);
    levada_text_char(text, ',');
    if (kind) {
        levada_survey_json(info->survey, text);
    } else {
        levada_text_put(text, "\"features\":[],\"sequences\":[]");
    }
    inspect_lengths_json(info, kind, text);
    levada_text_char(text, '}');
}

levada_status levada_inspect_kind(levada_env *env, const char *path, const char *source,
                                  levada_file_kind *out, levada_error *err)
{
    levada_scan      scan = {0};
    levada_file_kind all = LEVADA_FILE_KIND_INIT;
    const char      *name = NULL;

    LEVADA_TRY(levada_require(path != NULL, "path", err));
    LEVADA_TRY(levada_require(out != NULL, "out", err));
    LEVADA_TRY(levada_env_have(env, err));
    LEVADA_TRY(levada_versioned_check(out, sizeof all, "levada_file_kind", err));
    LEVADA_TRY(levada_scan_identify(&scan, env, path, source, NULL, &name, err));
    (void)snprintf(all.source, sizeof all.source, "%s", name);
    (void)snprintf(all.content, sizeof all.content, "%s", scan.content);
    (void)snprintf(all.compression, sizeof all.compression, "%s", scan.compression);
    if (scan.encoding) (void)snprintf(all.encoding, sizeof all.encoding, "%s", scan.encoding);
    all.guessed = scan.guessed;
    levada_versioned_write(out, &all, sizeof all);
    return LEVADA_OK;
}

levada_status levada_inspect_info(levada_env *env, const char *path,
                                  const levada_verify_options *options,
                                  char **out, levada_error *err)
{
    LEVADA_TRY(levada_require(out != NULL, "out", err));
    LEVADA_TRY(levada_require(path != NULL, "path", err));
    LEVADA_TRY(levada_env_have(env, err));
    levada_verify_options o = LEVADA_VERIFY_OPTIONS_INIT;
    inspect_info          info = {0};
    levada_text           text = {0};
    levada_status         st;

    if (options) LEVADA_TRY(LEVADA_VERSIONED_READ(o, options, levada_verify_options, err));
    info.progress = o.progress;
    info.user = o.user;
    LEVADA_TRY(levada_scan_open(&info.scan, env, path, o.source, o.compression, o.max_record_bytes,
                                true, err));
    st = levada_survey_create(&info.survey, err);
    if (st == LEVADA_OK) st = inspect_info_read(&info, err);
    if (st == LEVADA_OK) {
        inspect_info_json(&info, path, &text);
        st = levada_text_steal(&text, out, err);
    }
    levada_histogram_clear(&info.bytes);
    levada_survey_destroy(&info.survey);
    levada_scan_close(&info.scan);
    return st;
}

LEVADA_VERSIONED_INIT(levada_verify_options_init, levada_verify_options, LEVADA_VERIFY_OPTIONS_INIT)

LEVADA_VERSIONED_INIT(levada_verify_result_init, levada_verify_result, LEVADA_VERIFY_RESULT_INIT)

LEVADA_VERSIONED_INIT(levada_file_kind_init, levada_file_kind, LEVADA_FILE_KIND_INIT)
