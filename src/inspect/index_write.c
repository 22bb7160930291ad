/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the index of a file (files/index.h): one pass over its records, one over its bytes.
 */
#include "base/alloc.h"
#include "base/assert.h"
#include "base/versioned.h"
#include "base/text.h"
#include "batch/length.h"
#include "files/index.h"
#include "files/index_lengths.h"
#include "inspect/index_measure.h"
#include "inspect/scan.h"
#include "registry/env_priv.h"
#include "tensor/block_priv.h"
#include <levada/inspect.h>
#include <levada/iter.h>
#include <levada/output.h>

#include <string.h>

#define INDEX_WRITE_READ (1 << 20) /* bytes of the file that are read at a time */

typedef struct index_write {
    levada_scan    scan;
    levada_output *output;
    int64_t        count; /* records that are in pages, or in this one     */
    int64_t        pages; /* written */
    int64_t        last;  /* where the record after these begins; -1: none */
    /* -- with lengths */
    levada_index_foot foot; /* its fields and stages; nfields 0 = without        */
    uint32_t         *lengths; /* of nlengths records, those of one after another */
    int64_t           nlengths, capacity;
    /* -- */
    uint8_t page[LEVADA_INDEX_PAGE];
} index_write;

static void index_write_number(uint8_t *to, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++) to[i] = (uint8_t)(value >> (8 * i));
}

static levada_status index_write_page(index_write *w, levada_error *err)
{
    const levada_kernels *kernels = levada_env_kernels(w->scan.dataset->env);

    index_write_number(w->page + LEVADA_INDEX_SUM, levada_index_sum(kernels, w->page, w->pages++),
                       4);
    LEVADA_TRY(levada_output_write(w->output, w->page, sizeof w->page, err));
    memset(w->page, 0, sizeof w->page);
    return LEVADA_OK;
}

/* Writes the record that waits, which ends where the next one begins. */
static levada_status index_write_record(index_write *w, int64_t end, levada_error *err)
{
    uint8_t *to = w->page + w->count % LEVADA_INDEX_ROWS * LEVADA_INDEX_ENTRY;

    if (end - w->last > UINT32_MAX) {
        return levada_fail(err, LEVADA_EUNIMPLEMENTED,
                           "a record of %lld bytes is longer than 2^32 - 1, the most that an "
                           "index stores", (long long)(end - w->last));
    }
    index_write_number(to, (uint64_t)w->last, 8);
    index_write_number(to + 8, (uint64_t)(end - w->last), 4);
    w->last = -1;
    return ++w->count % LEVADA_INDEX_ROWS == 0 ? index_write_page(w, err) : LEVADA_OK;
}

static levada_status index_write_block(index_write *w, const levada_block *block,
                                       levada_error *err)
{
    for (int64_t i = 0; i < levada_block_rows(block); i++) {
        int64_t at = levada_block_origin(block, i).offset;

        if (w->last >= 0) LEVADA_TRY(index_write_record(w, at, err));
        w->last = at;
    }
    return LEVADA_OK;
}

static levada_status index_write_records(index_write *w, levada_error *err)
{
    for (;;) {
        levada_block *block = NULL;
        int64_t       next;
        levada_status st = levada_scan_next(&w->scan, &block, &next, err);

        if (st == LEVADA_END) break;
        if (st != LEVADA_OK && err) err->code = st; /* a record beyond the limit has another */
        if (st != LEVADA_OK) return st;
        st = index_write_block(w, block, err);
        levada_block_unref(&block);
        if (st != LEVADA_OK) return st;
    }
    if (w->last >= 0) LEVADA_TRY(index_write_record(w, w->scan.size, err));
    return w->count % LEVADA_INDEX_ROWS == 0 ? LEVADA_OK : index_write_page(w, err);
}

/* -- lengths */

static levada_status index_write_field(index_write *w, int32_t field, const levada_block *block,
                                       int64_t *lengths, levada_error *err)
{
    int64_t n = w->foot.nfields, first = w->nlengths * n + field;

    LEVADA_TRY(levada_length_measure(w->foot.fields[field], block, lengths, 1, err));
    for (int64_t i = 0; i < block->n; i++) {
        if (lengths[i] > UINT32_MAX) {
            return levada_fail(err, LEVADA_EUNIMPLEMENTED,
                               "a length of %lld is larger than 2^32 - 1, the most that an index "
                               "stores", (long long)lengths[i]);
        }
        w->lengths[first + i * n] = lengths[i] > 0 ? (uint32_t)lengths[i] : 0;
    }
    return LEVADA_OK;
}

static levada_status index_write_measure(index_write *w, const levada_block *block,
                                         levada_error *err)
{
    int64_t      *lengths = levada_alloc((size_t)block->n * sizeof *lengths + 1);
    levada_status st = LEVADA_OK;

    if (!lengths ||
        !levada_reserve(&w->lengths, &w->capacity, (w->nlengths + block->n) * w->foot.nfields,
                        sizeof *w->lengths)) {
        st = levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for lengths");
    }
    for (int32_t k = 0; st == LEVADA_OK && k < w->foot.nfields; k++) {
        st = index_write_field(w, k, block, lengths, err);
    }
    if (st == LEVADA_OK) w->nlengths += block->n;
    levada_free(lengths);
    return st;
}

static levada_status index_write_iterate(index_write *w, const levada_dataset *dataset,
                                         levada_error *err)
{
    levada_iter_options options = LEVADA_ITER_OPTIONS_INIT;
    levada_iter        *it = NULL;
    levada_block       *block = NULL;
    levada_status       st;

    options.seed = 0;
    options.max_record_bytes = w->scan.context.max_record_bytes;
    for (int32_t k = 0; k < w->foot.nfields; k++) {
        LEVADA_TRY(levada_length_check(w->foot.fields[k], levada_dataset_spec(dataset), err));
    }
    LEVADA_TRY(levada_index_stages(dataset, w->foot.stages, err));
    LEVADA_TRY(levada_iter_open(dataset, &options, &it, err));
    while ((st = levada_iter_next(it, &block, err)) == LEVADA_OK) {
        st = index_write_measure(w, block, err);
        levada_block_unref(&block);
        if (st != LEVADA_OK) break;
    }
    levada_iter_close(&it);
    return st == LEVADA_END ? LEVADA_OK : st;
}

/* Reads the names in a list with commas. */
static levada_status index_write_names(index_write *w, const char *list, levada_error *err)
{
    for (const char *end, *at = list; at; at = end ? end + 1 : NULL) {
        size_t size;

        end = strchr(at, ',');
        size = end ? (size_t)(end - at) : strlen(at);
        if (w->foot.nfields == LEVADA_LENGTH_FIELDS) {
            return levada_fail(err, LEVADA_EUNIMPLEMENTED,
                               "an index stores the lengths of at most %d fields, got '%s'",
                               LEVADA_LENGTH_FIELDS, list);
        }
        if (size >= LEVADA_INDEX_FIELD) {
            return levada_fail(err, LEVADA_EUNIMPLEMENTED,
                               "the name '%.*s' is too long for an index: the limit is %d bytes",
                               (int)size, at, LEVADA_INDEX_FIELD - 1);
        }
        memcpy(w->foot.fields[w->foot.nfields++], at, size);
    }
    return LEVADA_OK;
}

/* Writes the lengths of all records: of what the stages make of the file. */
static levada_status index_write_lengths(index_write *w, const char *stages, const char *fields,
                                         levada_error *err)
{
    levada_dataset *dataset = NULL;
    levada_text     text = { 0 };
    char           *all = NULL;
    levada_status   st;

    LEVADA_TRY(index_write_names(w, fields, err));
    levada_dataset_print(&text, w->scan.dataset, LEVADA_PRINT_TEXT);
    if (stages) levada_text_format(&text, " | %s", stages);
    LEVADA_TRY(levada_text_steal(&text, &all, err));
    st = levada_dataset_parse(w->scan.dataset->env, all, &dataset, err);
    levada_free(all);
    if (st == LEVADA_OK) st = index_write_iterate(w, dataset, err);
    levada_dataset_unref(&dataset);
    return st;
}

/* Writes the pages of lengths, field by field. */
static levada_status index_write_length_pages(index_write *w, levada_error *err)
{
    int64_t n = w->nlengths, fields = w->foot.nfields;

    if (fields && n != w->count) {
        return levada_fail(err, LEVADA_EUNAVAILABLE,
                           "the file changed while it was indexed; index it when nothing writes "
                           "to it");
    }
    for (int64_t i = 0; i < n * fields; i++) {
        int64_t record = i % n, at = record % LEVADA_INDEX_LENGTHS;

        index_write_number(w->page + 4 * at, w->lengths[record * fields + i / n], 4);
        if (at + 1 == LEVADA_INDEX_LENGTHS || record + 1 == n) {
            LEVADA_TRY(index_write_page(w, err));
        }
    }
    return LEVADA_OK;
}

/* -- the last page */

levada_status levada_index_measure(levada_env *env, const char *path, levada_index_foot *foot,
                                   levada_error *err)
{
    levada_bytes_options plain = { .compression = "none" };
    levada_bytes        *bytes = NULL;
    uint8_t             *data = levada_alloc(INDEX_WRITE_READ);
    int64_t              made = 1;
    levada_status        st;

    if (!data)
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory while reading a file");
    st = levada_bytes_open(env, path, &plain, &bytes, err);
    foot->sum = 0;
    while (st == LEVADA_OK && made > 0) {
        st = levada_bytes_read(bytes, data, INDEX_WRITE_READ, &made, err);
        if (st != LEVADA_OK) break;
        foot->sum = levada_env_kernels(env)->crc32c(foot->sum, data, (size_t)made);
    }
    if (st == LEVADA_OK) foot->mark = levada_bytes_mark_of(bytes);
    if (st == LEVADA_OK && !levada_bytes_seekable(bytes)) {
        st = levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                         "an index belongs to a regular file, got a pipe; write the pipe to a "
                         "file first");
        levada_error_place(err, NULL, path, -1, -1);
    }
    levada_bytes_close(&bytes);
    levada_free(data);
    return st;
}

static levada_status index_write_finish(index_write *w, const char *path, levada_error *err)
{
    const levada_dataset *ds = w->scan.dataset;
    levada_index_foot     foot = w->foot;
    size_t                n = strlen(ds->op->name);

    if (n >= sizeof foot.source) {
        return levada_fail(err, LEVADA_EUNIMPLEMENTED,
                           "the name '%s' is too long for an index: the limit is %d bytes",
                           ds->op->name, (int)sizeof foot.source - 1);
    }
    foot.count = w->count;
    memcpy(foot.source, ds->op->name, n);
    LEVADA_TRY(levada_index_sum_options(ds->op, ds->args, foot.options, err));
    LEVADA_TRY(levada_index_measure(ds->env, path, &foot, err));
    if (foot.mark.size != w->scan.size) {
        return levada_fail(err, LEVADA_EUNAVAILABLE,
                           "the file changed while it was indexed; index it when nothing writes "
                           "to it");
    }
    levada_index_put_foot(levada_env_kernels(ds->env), &foot, w->page);
    LEVADA_TRY(levada_output_write(w->output, w->page, sizeof w->page, err));
    return levada_output_commit(w->output, err);
}

static levada_status index_write_run(index_write *w, const char *path, levada_error *err)
{
    char         *name = levada_index_path(path);
    levada_status st;

    if (!name) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for an index");
    st = levada_output_open(name, &w->output, err);
    levada_free(name);
    if (st == LEVADA_OK) st = index_write_records(w, err);
    if (st == LEVADA_OK) st = index_write_length_pages(w, err);
    if (st == LEVADA_OK) st = index_write_finish(w, path, err);
    levada_output_destroy(&w->output);
    return st;
}

levada_status levada_inspect_index(levada_env *env, const char *path,
                                   const levada_index_options *options, int64_t *records,
                                   levada_error *err)
{
    levada_index_options o = LEVADA_INDEX_OPTIONS_INIT;
    index_write         *w;
    levada_status        st;

    LEVADA_TRY(levada_require(path != NULL, "path", err));
    LEVADA_TRY(levada_env_have(env, err));
    if (options) LEVADA_TRY(LEVADA_VERSIONED_READ(o, options, levada_index_options, err));
    w = levada_alloc_zero(sizeof *w);
    if (!w) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for an index");
    w->last = -1;
    st = levada_scan_open(&w->scan, env, path, o.source, NULL, o.max_record_bytes, false, err);
    if (st == LEVADA_OK && w->scan.compression[0]) {
        st = levada_fail(err, LEVADA_EUNIMPLEMENTED,
                         "a %s file cannot be indexed, because records in it cannot be read "
                         "separately; write it without compression",
                         w->scan.compression);
        levada_error_place(err, NULL, path, -1, -1);
    }
    if (st == LEVADA_OK && levada_scan_encoding(&w->scan)) {
        st = levada_fail(err, LEVADA_EUNIMPLEMENTED,
                         "a file in %s cannot be indexed, because records in it cannot be read "
                         "separately; convert it to UTF-8",
                         levada_scan_encoding(&w->scan));
        levada_error_place(err, NULL, path, -1, -1);
    }
    if (st == LEVADA_OK && o.fields) st = index_write_lengths(w, o.stages, o.fields, err);
    if (st == LEVADA_OK) st = index_write_run(w, path, err);
    if (st == LEVADA_OK && records) *records = w->count;
    levada_scan_close(&w->scan);
    levada_free(w->lengths);
    levada_free(w);
    return st;
}

LEVADA_VERSIONED_INIT(levada_index_options_init, levada_index_options, LEVADA_INDEX_OPTIONS_INIT)
