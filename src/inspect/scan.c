/* SPDX-License-Identifier: Apache-2.0 */
#include "inspect/scan.h"

#include "base/alloc.h"
#include "base/text.h"
#include "base/transcode.h"
#include "files/bytes.h"
#include "files/glob.h"
#include "files/looks.h"
#include "files/window.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define SCAN_HEAD 4096
#define SCAN_SEARCH 65536 /* bytes to search for a record                         */
#define SCAN_LEAST 512    /* of a pipe whose writer is silent: a header of tar      */
#define SCAN_SURE 32      /* bits of a checksum: stronger evidence than any guess */
#define SCAN_BLOCK 1024
#define SCAN_NAME 128

/* Returns the format with the most evidence in these first bytes; NULL where none has more than one
 * bit, which anything may pass for. */
static const levada_op *scan_best(const levada_env *env, const uint8_t *head, int64_t size)
{
    const levada_op *best = NULL;
    int32_t          most = 1;

    for (int32_t i = 0;; i++) {
        const levada_op *op = levada_registry_at(env, i);
        int32_t          bits;

        if (!op) return best;
        if (op->family != LEVADA_FAMILY_FORMAT || !op->def.format.probe) continue;
        bits = op->def.format.probe(head, size);
        if (bits > most) {
            most = bits;
            best = op;
        }
    }
}

static bool scan_ends_with(const char *path, size_t size, const char *end)
{
    size_t n = strlen(end);

    return n > 0 && n < size && memcmp(path + size - n, end, n) == 0;
}

/* Returns the number of bytes of the path without "-00000-of-00012", as files of one data set are
 * numbered. */
static size_t scan_unnumbered(const char *path, size_t size)
{
    size_t at = size, end;

    for (int i = 0; i < 2; i++) {
        end = at;
        while (at > 0 && path[at - 1] >= '0' && path[at - 1] <= '9') at--;
        if (at == end) return size;
        if (i == 0 && (at < 4 || memcmp(path + at - 4, "-of-", 4) != 0)) return size;
        if (i == 0) at -= 4;
    }
    return at > 0 && path[at - 1] == '-' ? at - 1 : size;
}

/* Returns the filter whose suffix these bytes of the path end with; NULL = none. */
static const levada_filter_def *scan_filter(const levada_env *env, const char *path, size_t size)
{
    for (int32_t i = 0;; i++) {
        const levada_filter_def *filter = levada_registry_filter_at(env, i);

        if (!filter) return NULL;
        if (filter->suffix && scan_ends_with(path, size, filter->suffix)) return filter;
    }
}

/* Returns the number of bytes of the path without the suffix of a filter. */
static size_t scan_unpacked(const levada_env *env, const char *path, size_t size)
{
    const levada_filter_def *filter = scan_filter(env, path, size);

    return filter ? size - strlen(filter->suffix) : size;
}

/* Returns the number of bytes of the path up to the suffix of the format. Handles
 * a.tfrecord-00000-of-00012.gz, and the number after .gz. */
static size_t scan_stem(const levada_env *env, const char *path)
{
    size_t size = scan_unnumbered(path, scan_unpacked(env, path, strlen(path)));

    return scan_unpacked(env, path, size);
}

static size_t scan_suffix(const levada_op *op, const char *path, size_t size)
{
    size_t longest = 0;

    if (op->family != LEVADA_FAMILY_FORMAT || !op->def.format.suffixes) return 0;
    for (const char *const *end = op->def.format.suffixes; *end; end++) {
        if (strlen(*end) > longest && scan_ends_with(path, size, *end)) longest = strlen(*end);
    }
    return longest;
}

/* Returns the format with the longest suffix that the name has; NULL for an unknown one. */
static const levada_op *scan_named(const levada_env *env, const char *path)
{
    size_t           size = scan_stem(env, path), longest = 0;
    const levada_op *found = NULL, *op;

    for (int32_t i = 0; (op = levada_registry_at(env, i)); i++) {
        size_t n = scan_suffix(op, path, size);

        if (n > longest) found = op;
        if (n > longest) longest = n;
    }
    return found;
}

void levada_inspect_name(levada_env *env, const char *path, const char **format,
                         const char **compression)
{
    size_t                   size = path ? strlen(path) : 0;
    const levada_filter_def *filter = scan_filter(env, path, size);
    const levada_op         *op = size > 0 ? scan_named(env, path) : NULL;

    if (!filter) filter = scan_filter(env, path, scan_unnumbered(path, size));
    if (format) *format = op ? op->name : NULL;
    if (compression) *compression = filter ? filter->name : NULL;
}

static levada_status scan_source(const levada_env *env, const char *path, const char *source,
                                 const levada_op **out, levada_error *err)
{
    char   name[SCAN_NAME];
    size_t n = source ? strcspn(source, ":") : 0; /* options may follow */

    if (n >= sizeof name) n = sizeof name - 1;
    if (source) memcpy(name, source, n);
    name[n] = '\0';
    *out = source ? levada_registry_find(env, name) : scan_named(env, path);
    if (source && (!*out || (*out)->family != LEVADA_FAMILY_FORMAT)) {
        return levada_fail(
            err, LEVADA_EINVALID_ARGUMENT,
            "source='%s' must be a file format: tfrecord, text_lines, csv, jsonl, tar "
            "or one of a plug-in",
            source);
    }
    return LEVADA_OK;
}

/* Probes for no format: if no compression recognizes the first bytes, the name decides. */
static int32_t scan_no_format(const uint8_t *data, int64_t size)
{
    (void)data, (void)size;
    return 0;
}

/* Opens the file, reads its first bytes, and closes it. Reports failed reads, but not damage: a
 * scan reports that. */
static levada_status scan_head(levada_scan *scan, levada_env *env, const char *path,
                               const levada_bytes_options *options, uint8_t *head, int64_t *made,
                               levada_error *err)
{
    levada_bytes *bytes = NULL;
    levada_error  why = LEVADA_ERROR_INIT;
    levada_status st;

    LEVADA_TRY(levada_bytes_open(env, path, options, &bytes, err));
    st = levada_bytes_read_least(bytes, head, SCAN_SEARCH, SCAN_LEAST, made, &why);
    if (st != LEVADA_OK) *made = 0;
    scan->damaged = st == LEVADA_EDATA_LOSS;
    scan->size = levada_bytes_mark_of(bytes).size;
    (void)snprintf(scan->compression, sizeof scan->compression, "%s",
                   levada_bytes_compression(bytes));
    levada_bytes_close(&bytes);
    if (st == LEVADA_OK || st == LEVADA_EDATA_LOSS) return LEVADA_OK;
    if (err) *err = why;
    return st;
}

/* Does a text file begin with the byte order mark of UTF-16? Then its head is read as UTF-8. */
static levada_status scan_utf16(levada_scan *scan, levada_env *env, const char *path,
                                const levada_op *said, levada_bytes_options *options,
                                uint8_t *head, int64_t *made, levada_error *err)
{
    const levada_op *sure = scan_best(env, head, *made < SCAN_HEAD ? *made : SCAN_HEAD);
    bool mark = *made >= 2 && ((head[0] == 0xff && head[1] == 0xfe) ||
                               (head[0] == 0xfe && head[1] == 0xff));

    if (!mark || options->encoding || (said && !said->def.format.lines) || sure) return LEVADA_OK;
    options->encoding = scan->encoding = "utf-16";
    return scan_head(scan, env, path, options, head, made, err);
}

/* Finds the format that finds a record by its checksum anywhere in the first bytes: damage before
 * the record may look like text. */
static const levada_op *scan_search(const levada_env *env, const uint8_t *head, int64_t size)
{
    for (int32_t i = 0;; i++) {
        const levada_op *op = levada_registry_at(env, i);

        if (!op) return NULL;
        if (op->family != LEVADA_FAMILY_FORMAT || !op->def.format.resync) continue;
        for (int64_t at = 0; op->def.format.probe && at < size; at++) {
            if (op->def.format.probe(head + at, size - at) >= SCAN_SURE) return op;
        }
    }
}

/* Returns true if the first line is a whole object. A line longer than the window counts as one. */
static bool scan_is_json_line(const uint8_t *head, int64_t size)
{
    int64_t        at = levada_utf8_mark(head, size), last;
    const uint8_t *end;

    while (at < size && isspace(head[at])) at++;
    end = memchr(head + at, '\n', (size_t)(size - at));
    if (at == size || head[at] != '{') return at == size;
    last = end ? end - head : size;
    while (last > at && isspace(head[last - 1])) last--;
    return head[last - 1] == '}' || (!end && size == SCAN_SEARCH);
}

/* Skips white space; used to see if the document is a list of objects, or empty. */
static int64_t scan_past_space(const uint8_t *head, int64_t at, int64_t size)
{
    while (at < size && isspace(head[at])) at++;
    return at;
}

static bool scan_is_json_list(const uint8_t *head, int64_t size)
{
    int64_t at = scan_past_space(head, levada_utf8_mark(head, size), size);

    if (at == size || head[at] != '[') return false;
    at = scan_past_space(head, at + 1, size);
    return at < size && (head[at] == '{' || head[at] == ']');
}

/* Refuses a JSON document that is neither a list of objects nor lines of objects. */
static levada_status scan_refuse_json(const char *path, const uint8_t *head, int64_t size,
                                      levada_error *err)
{
    int64_t at = scan_past_space(head, levada_utf8_mark(head, size), size);

    if (at < size && head[at] == '{') {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "'%s' is a JSON document, but not a list of objects, nor one object per "
                           "line; read a list in it with the source json and its option field",
                           path);
    }
    if (at < size && head[at] == '[') at = scan_past_space(head, at + 1, size);
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                       "'%s' is a JSON document, but not a list of objects: the value at byte %lld "
                       "is not an object; write one object for each record",
                       path, (long long)at);
}

/* Returns the options of the file reader that the source names; NULL if it names none. */
static const levada_file_args *scan_options(const levada_scan *scan)
{
    const levada_dataset *ds = scan->dataset;

    return ds ? (const void *)((const uint8_t *)ds->args + ds->op->core_offset) : NULL;
}

const char *levada_scan_encoding(const levada_scan *scan)
{
    const levada_file_args *options = scan_options(scan);

    return options && !levada_charset_is_utf8(options->encoding) ? options->encoding
                                                                 : scan->encoding;
}

/* Chooses the format: the caller's source overrides the content, and so does the name, unless a
 * checksum proves that the content is of another format. `json`: the name alone says that it is
 * JSON, which may be lines or a document. */
static levada_status scan_choose(levada_scan *scan, levada_env *env, const char *path,
                                 const levada_op *said, bool named, bool json,
                                 const char *compression, uint8_t *head, const levada_op **out,
                                 levada_error *err)
{
    levada_bytes_options options = {.compression = "none"};
    int64_t              made = 0, first;
    const levada_op     *op = said, *content;

    if (!op) {
        LEVADA_TRY(scan_head(scan, env, path, &options, head, &made, err));
        op = scan_best(env, head, made < SCAN_HEAD ? made : SCAN_HEAD);
    }
    options.compression = compression;
    options.encoding = levada_scan_encoding(scan);
    options.probe = op ? op->def.format.probe : scan_no_format;
    LEVADA_TRY(scan_head(scan, env, path, &options, head, &made, err));
    LEVADA_TRY(scan_utf16(scan, env, path, said, &options, head, &made, err));
    first = made < SCAN_HEAD ? made : SCAN_HEAD;
    content = scan_best(env, head, first);
    scan->sure = content && content->def.format.probe(head, first) >= SCAN_SURE;
    if (json && !scan->sure && !scan_is_json_line(head, made)) {
        if (!scan_is_json_list(head, made)) return scan_refuse_json(path, head, made, err);
        said = levada_registry_find(env, "json");
    }
    scan->empty = made == 0 && !scan->damaged;
    scan->looks = scan->damaged ? "a damaged compressed file"
                                 : levada_looks_like(head, first).name;
    if (!said && !scan->sure) {
        const levada_op *found = scan_search(env, head, made);

        if (found) content = found;
    }
    *out = said ? said : content ? content : levada_registry_find(env, LEVADA_SCAN_RECORDS);
    if (named && scan->sure && content != said) {
        (void)snprintf(scan->content, sizeof scan->content, "%s", content->name);
        *out = content;
    }
    scan->guessed = !said && !content && scan->size != 0; /* an empty file fits any format */
    if (content && content != *out &&
        !((*out)->def.format.probe && (*out)->def.format.probe(head, first) > 0)) {
        (void)snprintf(scan->content, sizeof scan->content, "%s", content->name);
    }
    return LEVADA_OK;
}

levada_status levada_scan_identify(levada_scan *scan, levada_env *env, const char *path,
                                   const char *source, const char *compression, const char **name,
                                   levada_error *err)
{
    const levada_op *op = NULL;
    uint8_t         *head;
    bool             json;
    levada_status    st;

    LEVADA_TRY(scan_source(env, path, source, &op, err));
    json = !source && scan_ends_with(path, scan_stem(env, path), ".json");
    head = levada_alloc(SCAN_SEARCH);
    if (!head) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED,
                                  "out of memory while identifying a file");
    st = scan_choose(scan, env, path, op, op && !source, json, compression, head, &op, err);
    levada_free(head);
    if (st == LEVADA_OK) *name = op->name;
    return st;
}

/* Makes the format with the options of `source` ("fixed_length:record_bytes=8"), if it has some;
 * its files are set later. */
static levada_status scan_with_options(levada_scan *scan, levada_env *env, const char *path,
                                       const char *source, levada_error *err)
{
    const char      *options = source ? strchr(source, ':') : NULL;
    const levada_op *op = NULL;
    levada_text      text = { 0 }, file = { 0 };
    char            *all = NULL;
    levada_status    st;

    if (!options) return LEVADA_OK;
    LEVADA_TRY(scan_source(env, path, source, &op, err));
    levada_text_format(&text, "%s:", op->name);
    levada_files_put_literal(&file, path, strlen(path));
    if (!file.failed && levada_utf8_check(file.at, file.size) == file.size)
        levada_text_json(&text, file.at, file.size); /* some options look at the file */
    else levada_text_put(&text, "file");
    levada_text_clear(&file);
    levada_text_format(&text, ",%s", options + 1);
    LEVADA_TRY(levada_text_steal(&text, &all, err));
    st = levada_dataset_parse(env, all, &scan->dataset, err);
    levada_free(all);
    if (st != LEVADA_OK || strcmp(levada_dataset_name(scan->dataset), op->name) == 0) return st;
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "source='%s' must be one file format",
                       source);
}

/* Returns the compression that the options of the source name; NULL where they do not. */
static const char *scan_compression(const levada_scan *scan)
{
    const levada_file_args *options = scan_options(scan);

    return options ? options->compression : NULL;
}

/* Takes the place of the description so far, which is NULL where there are no options. */
static levada_status scan_complete(levada_scan *scan, levada_env *env, const char *name,
                                   const levada_value *map, levada_error *err)
{
    levada_dataset *before = scan->dataset;
    levada_status   st;

    scan->dataset = NULL;
    st = before ? levada_dataset_remake(before, map, NULL, 0, &scan->dataset, err)
                : levada_dataset_append(env, name, map, NULL, 0, &scan->dataset, err);
    levada_dataset_unref(&before);
    return st;
}

static levada_status scan_describe(levada_scan *scan, levada_env *env, const char *path,
                                   const char *name, levada_error *err)
{
    const char   *compression = scan->compression[0] ? scan->compression : "none";
    levada_value *map = levada_value_map();
    levada_text   name_of = { 0 };
    levada_value *file = NULL;
    levada_value *how = levada_value_text(compression, strlen(compression));
    levada_status st;

    levada_files_put_literal(&name_of, path, strlen(path));
    if (!name_of.failed) file = levada_value_text(name_of.at, name_of.size);
    levada_text_clear(&name_of);
    st = map && file && how ? levada_value_set(map, "files", &file, err)
                            : levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory");
    if (st == LEVADA_OK) st = levada_value_set(map, "compression", &how, err);
    if (st == LEVADA_OK && scan->encoding)
        st = levada_value_set_text(map, "encoding", scan->encoding, err);
    if (st == LEVADA_OK) st = scan_complete(scan, env, name, map, err);
    levada_value_destroy(&how);
    levada_value_destroy(&file);
    levada_value_destroy(&map);
    return st;
}

levada_status levada_scan_open(levada_scan *scan, levada_env *env, const char *path,
                               const char *source, const char *compression,
                               int64_t max_record_bytes, bool rows, levada_error *err)
{
    const char   *name = NULL;
    levada_status st;

    if (max_record_bytes < 0) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "max_record_bytes=%lld must be at least "
                           "0", (long long)max_record_bytes);
    }

    *scan = (levada_scan){0};
    st = scan_with_options(scan, env, path, source, err);
    if (!compression) compression = scan_compression(scan);
    if (st == LEVADA_OK)
        st = levada_scan_identify(scan, env, path, source, compression, &name, err);
    if (st == LEVADA_OK) st = scan_describe(scan, env, path, name, err);
    if (st != LEVADA_OK) {
        levada_scan_close(scan);
        return st;
    }
    scan->context = (levada_context){
        .struct_size = sizeof scan->context,
        .env = scan->dataset->env,
        .block_rows = SCAN_BLOCK,
        .threads = 1,
        .max_record_bytes = max_record_bytes > 0 ? max_record_bytes : LEVADA_RECORD_BYTES,
        .out = scan->dataset->spec,
    };
    st = levada_file_reader_create(&scan->context, scan->dataset->op, scan->dataset->args, 0,
                                   NULL, &scan->reader, err);
    if (st == LEVADA_OK) levada_file_reader_walk(scan->reader);
    if (st == LEVADA_OK && rows)
        st = levada_rows_check_open(&scan->rows, scan->dataset, &scan->context, err);
    if (st != LEVADA_OK) levada_scan_close(scan);
    return st;
}

void levada_scan_close(levada_scan *scan)
{
    levada_block_unref(&scan->held);
    levada_rows_check_close(&scan->rows);
    levada_file_reader_destroy(&scan->reader);
    levada_dataset_unref(&scan->dataset);
}

/* -- blocks */

/* Returns the next bad row of the block that is held, or the block. */
static levada_status scan_held(levada_scan *scan, levada_block **out, int64_t *next,
                               levada_error *err)
{
    const levada_reject *bad;
    levada_origin        at;

    if (scan->reported == scan->nrejects) {
        *out = scan->held;
        scan->held = NULL;
        return LEVADA_OK;
    }
    bad = scan->rejects + scan->reported;
    at = levada_block_origin(scan->held, bad->row);
    *next = bad->row + 1 < levada_block_rows(scan->held)
                ? levada_block_origin(scan->held, bad->row + 1).offset
                : levada_file_reader_offset(scan->reader);
    scan->reported++;
    scan->bad_rows++;
    scan->bad_bytes += *next - at.offset;
    if (*next == levada_file_reader_offset(scan->reader) && levada_file_reader_ended(scan->reader))
        *next = -1;
    if (!scan->compression[0] && *next == scan->size) *next = -1;
    if (err) *err = bad->why;
    levada_error_place(err, NULL, levada_file_reader_file(scan->reader, 0), at.record, at.offset);
    return LEVADA_EDATA_LOSS;
}

levada_status levada_scan_next(levada_scan *scan, levada_block **out, int64_t *next,
                               levada_error *err)
{
    levada_error  late = LEVADA_ERROR_INIT;
    levada_status st, passed;

    if (scan->held) return scan_held(scan, out, next, err);
    scan->nrejects = scan->reported = 0;
    st = levada_file_reader_next(scan->reader, out, err);
    if (st == LEVADA_OK && scan->rows.decoder) {
        scan->held = *out;
        *out = NULL;
        LEVADA_TRY(levada_rows_check_block(&scan->rows, scan->held, &scan->rejects,
                                           &scan->nrejects, err));
        return scan_held(scan, out, next, err);
    }
    if (st == LEVADA_AGAIN) return levada_fail(err, LEVADA_ECANCELLED, "interrupted");
    if (st == LEVADA_END && scan->size < 0) /* of a pipe, which has come to its end */
        levada_file_reader_progress(scan->reader, &scan->size, NULL);
    if (st != LEVADA_EDATA_LOSS && !levada_file_reader_too_long(scan->reader)) return st;
    passed = levada_file_reader_pass(scan->reader, next, &late);
    if (passed == LEVADA_OK) return LEVADA_EDATA_LOSS;
    if (err) *err = late;
    return passed;
}

bool levada_scan_is_good(const levada_scan *scan, int64_t row)
{
    int32_t begin = 0, end = scan->nrejects;

    while (begin < end) {
        int32_t middle = begin + (end - begin) / 2;

        if (scan->rejects[middle].row == row) return false;
        if (scan->rejects[middle].row < row) begin = middle + 1;
        else end = middle;
    }
    return true;
}

void levada_scan_report(const levada_scan *scan, levada_inspect_progress *progress, void *user)
{
    int64_t done = 0, total = 0;

    if (!progress) return;
    levada_file_reader_progress(scan->reader, &done, &total);
    progress(user, levada_file_reader_counted(scan->reader).records, done);
}

levada_file_reader_counts levada_scan_counted(const levada_scan *scan)
{
    levada_file_reader_counts counts = levada_file_reader_counted(scan->reader);

    counts.records -= scan->bad_rows;
    counts.skipped_records += scan->bad_rows;
    counts.damaged_bytes += scan->bad_bytes;
    return counts;
}

bool levada_scan_is_text(const levada_scan *scan)
{
    const levada_format_def *format = &scan->dataset->op->def.format;
    const levada_spec       *spec = levada_dataset_spec(scan->dataset);

    /* A decoder that only checks lines keeps their column. */
    return format->lines && (!format->decoder || (levada_spec_count(spec) == 1 &&
                                                  levada_spec_find(spec, format->fields[0]) == 0));
}
