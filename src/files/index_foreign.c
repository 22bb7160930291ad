/* SPDX-License-Identifier: Apache-2.0 */
#include "files/index_foreign.h"

#include "base/alloc.h"
#include "registry/env_priv.h"

#include <string.h>

typedef struct index_foreign {
    levada_index_sink     sink; /* first */
    const levada_kernels *kernels;
    levada_index_image   *image;
    int64_t               count, pages, end;
    uint32_t             *lengths;
    int64_t               lengths_capacity;
    uint8_t               page[LEVADA_INDEX_PAGE];
} index_foreign;

static void foreign_put32(uint8_t *to, uint32_t value)
{
    to[0] = (uint8_t)value;
    to[1] = (uint8_t)(value >> 8);
    to[2] = (uint8_t)(value >> 16);
    to[3] = (uint8_t)(value >> 24);
}

/* Appends the page and empties it. */
static levada_status foreign_flush(index_foreign *f, bool last, levada_error *err)
{
    levada_index_image *image = f->image;

    if (!levada_reserve(&image->at, &image->capacity, image->size + LEVADA_INDEX_PAGE, 1))
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for an index");
    if (!last) {
        foreign_put32(f->page + LEVADA_INDEX_SUM,
                      levada_index_sum(f->kernels, f->page, f->pages++));
    }
    memcpy(image->at + image->size, f->page, sizeof f->page);
    image->size += LEVADA_INDEX_PAGE;
    memset(f->page, 0, sizeof f->page);
    return LEVADA_OK;
}

static levada_status foreign_add(levada_index_sink *sink, int64_t offset, int64_t size,
                                 int64_t length, levada_error *err)
{
    index_foreign *f = (index_foreign *)sink;
    uint8_t       *to = f->page + f->count % LEVADA_INDEX_ROWS * LEVADA_INDEX_ENTRY;

    if (offset < f->end || size < 0 || size > INT64_MAX - offset || length < 0)
        return levada_fail(err, LEVADA_EDATA_LOSS,
                           "record %lld must follow the record before, got %lld bytes at byte "
                           "%lld; make "
                           "the index again",
                           (long long)f->count, (long long)size, (long long)offset);
    if (size > UINT32_MAX || length > UINT32_MAX)
        return levada_fail(err, LEVADA_EUNIMPLEMENTED,
                           "record %lld: %lld bytes are more than 2^32 - 1, the most that an "
                           "index stores", (long long)f->count, (long long)size);
    if (sink->field &&
        !levada_reserve(&f->lengths, &f->lengths_capacity, f->count + 1, sizeof *f->lengths))
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for lengths");
    if (sink->field) f->lengths[f->count] = (uint32_t)length;
    foreign_put32(to, (uint32_t)offset);
    foreign_put32(to + 4, (uint32_t)(offset >> 32));
    foreign_put32(to + 8, (uint32_t)size);
    f->end = offset + size;
    return ++f->count % LEVADA_INDEX_ROWS == 0 ? foreign_flush(f, false, err) : LEVADA_OK;
}

static levada_status foreign_lengths(index_foreign *f, levada_error *err)
{
    for (int64_t i = 0; f->sink.field && i < f->count; i++) {
        int64_t at = i % LEVADA_INDEX_LENGTHS;

        foreign_put32(f->page + 4 * at, f->lengths[i]);
        if (at + 1 == LEVADA_INDEX_LENGTHS || i + 1 == f->count)
            LEVADA_TRY(foreign_flush(f, false, err));
    }
    return LEVADA_OK;
}

static levada_status foreign_finish(index_foreign *f, const levada_op *op, const void *args,
                                    const levada_bytes_mark *mark, levada_error *err)
{
    levada_index_foot foot = { .count = f->count, .mark = *mark };

    if (f->count % LEVADA_INDEX_ROWS != 0) LEVADA_TRY(foreign_flush(f, false, err));
    LEVADA_TRY(foreign_lengths(f, err));
    memcpy(foot.source, op->name, strlen(op->name)); /* at most 40 bytes */
    LEVADA_TRY(levada_index_sum_options(op, args, foot.options, err));
    if (f->sink.field) {
        size_t n = strlen(f->sink.field);

        foot.nfields = 1;
        memcpy(foot.fields[0], f->sink.field, n < LEVADA_INDEX_FIELD ? n : LEVADA_INDEX_FIELD - 1);
    }
    levada_index_put_foot(f->kernels, &foot, f->page);
    return foreign_flush(f, true, err);
}

/* Reads the mark by which the data file is known again. */
static levada_status foreign_mark(levada_env *env, const levada_op *op, const void *args,
                                  const char *path, levada_bytes_mark *out, levada_error *err)
{
    const levada_file_args *files = (const void *)((const char *)args + op->core_offset);
    levada_bytes_options    options = { .compression = files->compression,
                                        .probe = op->def.format.probe };
    levada_bytes           *bytes = NULL;
    levada_status           st;

    LEVADA_TRY(levada_bytes_open(env, path, &options, &bytes, err));
    *out = levada_bytes_mark_of(bytes);
    if (levada_bytes_seekable(bytes)) st = LEVADA_OK;
    else st = levada_fail(err, LEVADA_EUNIMPLEMENTED,
                          "records of a compressed file or a pipe cannot be read by an index; "
                          "decompress the file");
    if (st != LEVADA_OK) levada_error_place(err, NULL, path, -1, -1);
    levada_bytes_close(&bytes);
    return st;
}

levada_status levada_index_foreign(levada_env *env, const levada_op *op, const void *args,
                                   const char *path, levada_index_image *out, levada_error *err)
{
    levada_bytes_mark mark = { 0 };
    index_foreign    *f;
    levada_status     st;

    if (!op->def.format.foreign)
        return levada_fail(err, LEVADA_ENOT_FOUND,
                           "the format %s has no index of its own; write one with levada index",
                           op->name);
    f = levada_alloc_zero(sizeof *f);
    if (!f) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for an index");
    f->sink.add = foreign_add;
    f->kernels = levada_env_kernels(env);
    f->image = out;
    st = foreign_mark(env, op, args, path, &mark, err);
    f->sink.size = mark.size;
    if (st == LEVADA_OK) st = op->def.format.foreign(env, args, path, &f->sink, err);
    if (st == LEVADA_OK) st = foreign_finish(f, op, args, &mark, err);
    if (st != LEVADA_OK) {
        levada_free(out->at);
        *out = (levada_index_image){ 0 };
    }
    levada_free(f->lengths);
    levada_free(f);
    return st;
}
