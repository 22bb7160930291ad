/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "base/assert.h"
#include "base/process.h"
#include "base/versioned.h"
#include "registry/env_priv.h"
#include "run/iter.h"
#include "sink/file_set.h"
#include "sink/row_text.h"
#include "sink/writer_priv.h"
#include "tensor/tensor_priv.h"

#include <levada/inspect.h>
#include <levada/write.h>
#include <levada/writer.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { WRITE_HELD = 1 << 18 };

/* Files that are being written. */
struct levada_sink {
    char                    *path;               /* owned */
    char                    *compression;        /* owned; NULL = none */
    levada_write_options     options;
    const levada_row_format *format;
    levada_row_writer        row;
    levada_spec             *declared; /* by the caller; NULL = not known */
    levada_spec             *spec;   /* of the first block */
    levada_writer           *writer; /* of the file that is open */
    levada_text              text;   /* rows that are not written yet */
    int64_t                  file_records, file_bytes;
    levada_write_result      all;
    levada_file_set          files; /* its parts */
    bool                     set;      /* of files */
    bool                     prepared; /* all bytes are on the disk */
    bool                     done;     /* closed, or failed */
};

/* -- files */

static levada_status write_flush(levada_sink *w, levada_error *err)
{
    size_t size = w->text.size;

    if (w->text.failed)
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for rows to be written");
    w->text.size = 0;
    w->file_bytes += (int64_t)size;
    w->all.bytes += (int64_t)size;
    if (size == 0 && !w->format->framed) return LEVADA_OK;
    if (w->format->framed)
        return levada_writer_write(w->writer, w->text.at ? w->text.at : "", size, err);
    return levada_writer_append(w->writer, w->text.at, size, err);
}

static levada_status write_open(levada_sink *w, levada_error *err)
{
    char name[LEVADA_FILE_SET_PATH];

    if (w->set) LEVADA_TRY(levada_file_set_add(&w->files, name, err));
    LEVADA_TRY(levada_writer_open_on(NULL, w->set ? name : w->path, w->compression,
                                     w->options.level, w->options.threads, &w->writer, err));
    w->file_records = w->file_bytes = 0;
    return LEVADA_OK;
}

/* Passes what follows the last record to the writer. */
static levada_status write_end(levada_sink *w, levada_error *err)
{
    if (w->file_records == 0 && w->spec && w->format->begin) w->format->begin(w->spec, &w->text);
    if (w->format->end) w->format->end(&w->text);
    return w->format->framed ? LEVADA_OK : write_flush(w, err);
}

static levada_status write_close(levada_sink *w, levada_error *err)
{
    LEVADA_TRY(levada_writer_close(w->writer, err));
    levada_writer_destroy(&w->writer);
    w->all.files++;
    return LEVADA_OK;
}

/* Returns true if the open file is full. */
static bool write_full(const levada_sink *w)
{
    const levada_write_options *o = &w->options;
    int64_t bytes = w->file_bytes + (int64_t)w->text.size;

    return w->set && w->file_records > 0 &&
           ((o->records_per_file > 0 && w->file_records >= o->records_per_file) ||
            (o->bytes_per_file > 0 && bytes >= o->bytes_per_file));
}

/* -- records */

/* Returns true if two blocks have the same columns. Dimensions may differ, as those of padded
 * batches do. */
static bool write_alike(const levada_spec *a, const levada_spec *b)
{
    if (levada_spec_count(a) != levada_spec_count(b)) return false;
    for (int32_t i = 0; i < levada_spec_count(a); i++) {
        const levada_field *x = levada_spec_field(a, i), *y = levada_spec_field(b, i);

        if (x->dtype != y->dtype || x->depth != y->depth || x->ndim != y->ndim ||
            strcmp(x->name, y->name) != 0)
            return false;
    }
    return true;
}

static levada_status write_columns(levada_sink *w, const levada_spec *spec, levada_error *err)
{
    char shown[LEVADA_SPEC_DIFFERENCE];

    if (w->spec && (spec == w->spec || levada_spec_equal(spec, w->spec))) return LEVADA_OK;
    if (w->spec && !write_alike(spec, w->spec))
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "record %lld must have the columns of the first record, but %s; select "
                           "the columns, or declare them with spec=",
                           (long long)w->row.record, levada_spec_difference(w->spec, spec, shown));
    LEVADA_TRY(levada_row_check(spec, w->format->name, err));
    LEVADA_TRY(w->format->check(spec, err));
    if (!w->spec) w->spec = levada_spec_ref(spec);
    return LEVADA_OK;
}

static levada_status write_row(levada_sink *w, const levada_block *block, int64_t row,
                               levada_error *err)
{
    levada_status st;

    if (w->writer && write_full(w)) {
        LEVADA_TRY(write_end(w, err));
        LEVADA_TRY(write_close(w, err));
    }
    if (!w->writer) LEVADA_TRY(write_open(w, err));
    if (w->file_records == 0 && w->format->begin) w->format->begin(w->spec, &w->text);
    st = w->format->row(&w->row, block, row, &w->text, err);
    if (st != LEVADA_OK) {
        levada_error_wrap(err, "record %lld", (long long)w->row.record);
        return st;
    }
    w->row.record++;
    w->file_records++;
    if (w->format->framed || w->text.size >= WRITE_HELD) return write_flush(w, err);
    return LEVADA_OK;
}

/* -- options */

static const levada_row_format *write_format(const char *name)
{
    static const levada_row_format *const all[] = { &levada_row_tfrecord,
                                                    &levada_row_sequence_example,
                                                    &levada_row_csv, &levada_row_jsonl,
                                                    &levada_row_tar, &levada_row_lines };

    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (strcmp(all[i]->name, name) == 0) return all[i];
    return NULL;
}

static levada_status write_choose(levada_sink *w, const char *path, levada_error *err)
{
    const char *format = w->options.format, *compression = NULL, *named = NULL;

    levada_inspect_name(NULL, path, &named, &compression);
    if (!format) format = named;
    if (w->options.compression) compression = w->options.compression;
    w->format = format ? write_format(format) : NULL;
    if (!w->format)
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "cannot write %s to %s: the formats are tfrecord, sequence_example, "
                           "csv, jsonl, tar and text_lines",
                           format ? format : "a file of unknown format", path);
    if (w->options.records_per_file < 0 || w->options.bytes_per_file < 0)
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "records_per_file=%lld and bytes_per_file=%lld must not be negative",
                           (long long)w->options.records_per_file,
                           (long long)w->options.bytes_per_file);
    if (w->options.level < -1)
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "level=%d must be at least -1; -1 is the default of the compression",
                           (int)w->options.level);
    if (w->options.threads < 0)
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "threads=%d must not be negative",
                           (int)w->options.threads);
    if (strlen(path) + 64 >= LEVADA_FILE_SET_PATH)
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "the path '%.40s...' has %zu bytes, but must have at most %d", path,
                           strlen(path), LEVADA_FILE_SET_PATH - 65);
    w->set = w->options.records_per_file > 0 || w->options.bytes_per_file > 0 ||
             strstr(path, LEVADA_FILE_SET_MARK) != NULL;
    w->files.path = w->path = levada_strdup(path);
    w->compression = levada_strdup(compression ? compression : "");
    if (w->path && w->compression) return LEVADA_OK;
    return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory while writing files");
}

levada_status levada_sink_open(const char *path, const levada_write_options *options,
                               levada_sink **out, levada_error *err)
{
    levada_write_options all = LEVADA_WRITE_OPTIONS_INIT;
    levada_sink         *w;
    levada_status        st;

    LEVADA_TRY(levada_require(path != NULL, "path", err));
    LEVADA_TRY(levada_require(out != NULL, "out", err));
    LEVADA_TRY(levada_env_have(NULL, err));
    if (options) LEVADA_TRY(LEVADA_VERSIONED_READ(all, options, levada_write_options, err));
    w = levada_alloc_zero(sizeof *w);
    if (!w)
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory while writing files");
    w->options = all;
    if (all.threads == 0) w->options.threads = levada_env_cpus(NULL);
    w->declared = all.spec ? levada_spec_ref(all.spec) : NULL;
    st = write_choose(w, path, err);
    if (st == LEVADA_OK) st = write_open(w, err); /* a wrong path is reported at once */
    if (st == LEVADA_OK) *out = w;
    else levada_sink_destroy(&w);
    return st;
}

/* -- the public calls */

static levada_status write_ready(const levada_sink *w, levada_error *err)
{
    LEVADA_TRY(levada_require(w != NULL, "sink", err));
    if (!w->done) return LEVADA_OK;
    return levada_fail(err, LEVADA_EFAILED_PRECONDITION,
                       "the files are closed, or have failed; open them again");
}

levada_status levada_sink_add(levada_sink *w, const levada_block *block, levada_error *err)
{
    levada_status st;

    LEVADA_TRY(write_ready(w, err));
    LEVADA_TRY(levada_require(block != NULL, "block", err));
    if (w->prepared) {
        return levada_fail(err, LEVADA_EFAILED_PRECONDITION,
                           "the files are complete; only levada_sink_close may follow");
    }
    st = write_columns(w, levada_block_spec(block), err);
    for (int64_t row = 0; st == LEVADA_OK && row < levada_block_rows(block); row++)
        st = write_row(w, block, row, err);
    if (st == LEVADA_OK && w->options.progress &&
        !w->options.progress(w->options.user, w->row.record))
        st = levada_fail(err, LEVADA_ECANCELLED, "writing was cancelled");
    w->done = st != LEVADA_OK;
    return st;
}

/* Writes an output without a record, whose columns are those that the caller has named, if any. */
static levada_status write_empty(levada_sink *w, levada_error *err)
{
    bool known = w->declared && !(levada_spec_flags_of(w->declared) & LEVADA_SPEC_OPEN);

    return known && !w->spec ? write_columns(w, w->declared, err) : LEVADA_OK;
}

levada_status levada_sink_prepare(levada_sink *w, levada_error *err)
{
    levada_status st;

    LEVADA_TRY(write_ready(w, err));
    if (w->prepared) return LEVADA_OK;
    st = write_empty(w, err);
    if (st == LEVADA_OK) st = write_end(w, err);
    if (st == LEVADA_OK) st = w->set ? write_close(w, err) : levada_writer_prepare(w->writer, err);
    w->prepared = st == LEVADA_OK;
    w->done = !w->prepared;
    return st;
}

levada_status levada_sink_close(levada_sink *w, levada_write_result *result, levada_error *err)
{
    levada_status st;

    LEVADA_TRY(write_ready(w, err));
    if (result)
        LEVADA_TRY(levada_versioned_check(result, sizeof *result, "levada_write_result", err));
    st = levada_sink_prepare(w, err);
    w->done = true;
    if (st == LEVADA_OK && !w->set) st = write_close(w, err);
    if (st == LEVADA_OK && w->set)
        st = levada_file_set_publish(&w->files, &w->all.removed, err);
    w->all.records = w->row.record;
    w->all.set = w->set;
    if (st == LEVADA_OK && result) {
        w->all.struct_size = sizeof w->all;
        levada_versioned_write(result, &w->all, sizeof w->all);
    }
    return st;
}

void levada_sink_destroy(levada_sink **sink)
{
    levada_sink *w = sink ? *sink : NULL;

    if (!w) return;
    *sink = NULL;
    levada_writer_destroy(&w->writer);
    levada_file_set_close(&w->files);
    levada_row_clear(&w->row);
    levada_spec_unref(&w->spec);
    levada_spec_unref(&w->declared);
    levada_text_clear(&w->text);
    levada_free(w->compression);
    levada_free(w->path);
    levada_free(w);
}

levada_status levada_write(levada_iter *it, const char *path, const levada_write_options *options,
                           levada_write_result *result, levada_error *err)
{
    levada_write_options all = LEVADA_WRITE_OPTIONS_INIT;
    levada_sink         *sink = NULL;
    levada_block        *block = NULL;
    levada_status        st;

    LEVADA_TRY(LEVADA_USABLE(it, "iterator", err));
    if (options) LEVADA_TRY(LEVADA_VERSIONED_READ(all, options, levada_write_options, err));
    if (!all.spec) all.spec = it->run->dataset->spec;
    if (all.threads == 0) all.threads = it->run->threads;
    st = levada_sink_open(path, &all, &sink, err);
    while (st == LEVADA_OK && (st = levada_iter_next(it, &block, err)) == LEVADA_OK) {
        st = levada_sink_add(sink, block, err);
        levada_block_unref(&block);
    }
    if (st == LEVADA_END) st = levada_sink_close(sink, result, err);
    levada_sink_destroy(&sink);
    return st;
}

LEVADA_VERSIONED_INIT(levada_write_options_init, levada_write_options, LEVADA_WRITE_OPTIONS_INIT)

LEVADA_VERSIONED_INIT(levada_write_result_init, levada_write_result, LEVADA_WRITE_RESULT_INIT)
