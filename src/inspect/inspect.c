/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "inspect/scan.h"
#include "inspect/survey.h"
#include "tensor/block_priv.h"
#include <levada/inspect.h>
#include <levada/writer.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define INSPECT_BARS 16

/* -- verify */

typedef struct inspect_repair {
    levada_writer *writer; /* NULL = nothing to write */
    char          *part;   /* name until it is complete */
} inspect_repair;

static levada_status inspect_repair_open(inspect_repair *repair, levada_env *env,
                                         const levada_scan *scan, const char *path,
                                         levada_error *err)
{
    size_t      size = strlen(path) + sizeof ".part";
    struct stat st;

    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode)) { /* it would be replaced */
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "repair writes a file, %s is none", path);
    }
    if (strcmp(levada_dataset_name(scan->dataset), "tfrecord") != 0) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "repair writes TFRecord files, this is %s",
                           levada_dataset_name(scan->dataset));
    }
    repair->part = levada_alloc(size);
    if (!repair->part) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "no memory to repair");
    (void)snprintf(repair->part, size, "%s.part", path);
    return levada_writer_open(env, repair->part, scan->compression, -1, &repair->writer, err);
}

static levada_status inspect_repair_write(const inspect_repair *repair, const levada_block *block,
                                          levada_error *err)
{
    const levada_column *column = levada_block_at(block, 0);

    if (!repair->writer) return LEVADA_OK;
    for (int64_t i = 0; i < levada_block_rows(block); i++) {
        int64_t        size;
        const uint8_t *bytes = levada_column_bytes(column, i, &size);

        LEVADA_TRY(levada_writer_write(repair->writer, bytes, (size_t)size, err));
    }
    return LEVADA_OK;
}

static levada_status inspect_repair_finish(const inspect_repair *repair, const char *path,
                                           levada_error *err)
{
    if (!repair->writer) return LEVADA_OK;
    LEVADA_TRY(levada_writer_close(repair->writer, err));
    if (rename(repair->part, path) == 0) return LEVADA_OK;
    return levada_fail(err, LEVADA_EUNAVAILABLE, "can't rename %s to %s", repair->part, path);
}

static void inspect_repair_close(inspect_repair *repair, bool failed)
{
    if (failed && repair->writer) (void)unlink(repair->part);
    levada_writer_destroy(&repair->writer);
    levada_free(repair->part);
}

static levada_status inspect_walk(levada_scan *scan, const inspect_repair *repair,
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
        st = inspect_repair_write(repair, block, err);
        levada_block_unref(&block);
        if (st != LEVADA_OK) return st;
    }
}

static void inspect_fill_result(const levada_scan *scan, levada_verify_result *result)
{
    levada_file_reader_counts counts = levada_file_reader_counted(scan->reader);
    levada_verify_result      all = {
             .struct_size = result->struct_size,
             .good = counts.records,
             .bad = counts.skipped_records,
             .damaged_bytes = counts.damaged_bytes,
             .size = scan->size,
             .raw_size = counts.bytes,
    };
    size_t size = result->struct_size < sizeof all ? result->struct_size : sizeof all;

    (void)snprintf(all.format, sizeof all.format, "%s", levada_dataset_name(scan->dataset));
    (void)snprintf(all.compression, sizeof all.compression, "%s", scan->compression);
    memcpy(result, &all, size);
}

levada_status levada_inspect_verify(levada_env *env, const char *path,
                                    const levada_verify_options *options,
                                    levada_verify_result *result, levada_error *err)
{
    levada_verify_options o = LEVADA_VERIFY_OPTIONS_INIT;
    levada_scan           scan;
    inspect_repair        repair = {0};
    levada_status         st;

    if (options) {
        memcpy(&o, options, options->struct_size < sizeof o ? options->struct_size : sizeof o);
    }
    LEVADA_TRY(levada_scan_open(&scan, env, path, o.compression, err));
    st = o.repair ? inspect_repair_open(&repair, env, &scan, o.repair, err) : LEVADA_OK;
    if (st == LEVADA_OK) st = inspect_walk(&scan, &repair, &o, err);
    if (st == LEVADA_OK) st = inspect_repair_finish(&repair, o.repair, err);
    if (st == LEVADA_OK) inspect_fill_result(&scan, result);
    inspect_repair_close(&repair, st != LEVADA_OK);
    levada_scan_close(&scan);
    return st;
}

/* -- info */

typedef struct inspect_info {
    levada_scan      scan;
    levada_survey   *survey;
    levada_histogram bytes;
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
        for (int64_t i = 0; i < levada_block_rows(block); i++) {
            int64_t        size;
            const uint8_t *payload = levada_column_bytes(column, i, &size);

            levada_histogram_add(&info->bytes, size, 1);
            levada_survey_add(info->survey, payload, size);
        }
        levada_block_unref(&block);
    }
}

static void inspect_lengths_json(const inspect_info *info, const char *kind, levada_text *text)
{
    const char             *name = "bytes";
    const levada_histogram *h = kind ? levada_survey_longest(info->survey, &name) : &info->bytes;
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
    levada_text_json(text, name, strlen(name));
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
    levada_file_reader_counts counts = levada_file_reader_counted(info->scan.reader);
    const char               *format = levada_dataset_name(info->scan.dataset);
    bool                      records = strcmp(format, "text_lines") != 0;
    const char               *kind = records ? levada_survey_kind(info->survey) : NULL;

    levada_text_put(text, "{\"path\":");
    levada_text_json(text, path, strlen(path));
    levada_text_format(text, ",\"format\":\"%s\",\"compression\":\"%s\"", format,
                       info->scan.compression);
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

levada_status levada_inspect_info(levada_env *env, const char *path, char **out, levada_error *err)
{
    inspect_info  info = {0};
    levada_text   text = {0};
    levada_status st;

    LEVADA_TRY(levada_scan_open(&info.scan, env, path, NULL, err));
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
