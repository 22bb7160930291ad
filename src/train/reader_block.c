/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many records at once: keys and values of a block are made together. Values that come from one
 * block of the file stay where they are, others are copied.
 */
#include "train/reader_priv.h"

#include "base/assert.h"
#include "base/process.h"
#include "tensor/block_priv.h"

#include <levada/binding.h>
#include <string.h>

#define READER_LIMIT (INT64_C(1) << 30) /* bytes of a column */
#define READER_DIGITS 20                /* of a number      */

/* Gathers more of the file until n rows are held; an error after them is kept. */
static void reader_gather(levada_reader *r, int64_t n)
{
    levada_status st = LEVADA_OK;

    while (st == LEVADA_OK && r->held < n && r->open && r->bytes < READER_LIMIT / 2) {
        st = levada_reader_pull(r, NULL);
    }
}

/* Counts rows up to n that a block holds: at least one, even if its keys are long. */
static int64_t reader_fitting(const levada_reader *r, int64_t n)
{
    int64_t bytes = 0, rows = 0, most;
    size_t  name;

    (void)levada_reader_path(r, &name);
    most = READER_LIMIT / ((int64_t)name + 1 + READER_DIGITS);

    if (n > most) n = most > 0 ? most : 1;
    for (int32_t i = 0; i < r->nparts && rows < n; i++) {
        int64_t first = i == 0 ? r->row : 0, last = levada_block_rows(r->parts[i]);

        bytes += levada_reader_bytes(r->parts[i], first, last);
        if (i > 0 && bytes > READER_LIMIT) break;
        rows += last - first;
    }
    return rows < n ? rows : n;
}

typedef struct reader_spot {
    int32_t part;
    int64_t row;
} reader_spot;

static void reader_step(const levada_reader *r, reader_spot *at)
{
    if (++at->row < levada_block_rows(r->parts[at->part])) return;
    at->part++;
    at->row = 0;
}

/* A row of a column: its size, and writing it. */
typedef struct reader_cells {
    int64_t (*size)(const levada_reader *r, const levada_block *block, int64_t row);
    void (*write)(const levada_reader *r, const levada_block *block, int64_t row, uint8_t *to,
                  int64_t size);
} reader_cells;

static int64_t reader_key_size(const levada_reader *r, const levada_block *block, int64_t row)
{
    size_t name;

    (void)levada_reader_path(r, &name);
    return levada_reader_key_size(name, levada_reader_number(r, block, row));
}

static void reader_key_write(const levada_reader *r, const levada_block *block, int64_t row,
                             uint8_t *to, int64_t size)
{
    size_t      length;
    const char *name = levada_reader_path(r, &length);

    levada_reader_key_write(name, length, levada_reader_number(r, block, row), to, size);
}

static int64_t reader_value_size(const levada_reader *r, const levada_block *block, int64_t row)
{
    (void)r;
    return levada_reader_bytes(block, row, row + 1);
}

static void reader_value_write(const levada_reader *r, const levada_block *block, int64_t row,
                               uint8_t *to, int64_t size)
{
    (void)r;
    if (size > 0)
        memcpy(to, levada_column_bytes(levada_block_at(block, 0), row, &size), (size_t)size);
}

static const reader_cells reader_keys = { reader_key_size, reader_key_write };
static const reader_cells reader_values = { reader_value_size, reader_value_write };

/* Writes column i for the n first rows. */
static levada_status reader_fill(const levada_reader *r, const reader_cells *cells,
                                 levada_builder *b, int32_t i, int64_t n, levada_error *err)
{
    reader_spot at = { 0, r->row };
    int32_t    *offsets = NULL;
    void       *values = NULL;

    LEVADA_TRY(levada_builder_offsets(b, i, 0, n, &offsets, err));
    for (int64_t k = 0; k < n; k++, reader_step(r, &at)) {
        offsets[k + 1] = offsets[k] + (int32_t)cells->size(r, r->parts[at.part], at.row);
    }
    LEVADA_TRY(levada_builder_values(b, i, offsets[n], &values, err));
    at = (reader_spot){ 0, r->row };
    for (int64_t k = 0; k < n; k++, reader_step(r, &at)) {
        cells->write(r, r->parts[at.part], at.row, (uint8_t *)values + offsets[k],
                     offsets[k + 1] - offsets[k]);
    }
    return LEVADA_OK;
}

/* Shares all of one block, whose memory is shown. */
static levada_status reader_share(const levada_reader *r, levada_builder *b, int64_t n,
                                  levada_error *err)
{
    levada_block *part = NULL;

    LEVADA_TRY(levada_block_slice(levada_env_pool(r->file.env), r->parts[0], r->row, n, &part,
                                  err));
    levada_builder_share(b, 1, levada_block_at(part, 0));
    levada_block_unref(&part);
    return LEVADA_OK;
}

static levada_status reader_make(levada_reader *r, int64_t n, levada_block **out,
                                 levada_error *err)
{
    bool            one = n <= levada_block_rows(r->parts[0]) - r->row;
    levada_builder *b = NULL;
    levada_status   st;

    LEVADA_TRY(levada_builder_create(r->file.env, r->spec, n, &b, err));
    st = reader_fill(r, &reader_keys, b, 0, n, err);
    if (st == LEVADA_OK && one) st = reader_share(r, b, n, err);
    else if (st == LEVADA_OK) st = reader_fill(r, &reader_values, b, 1, n, err);
    if (st == LEVADA_OK) st = levada_builder_publish(&b, out, err);
    if (st == LEVADA_OK && one) {
        (*out)->bytes += levada_reader_bytes(r->parts[0], r->row, r->row + n);
    }
    levada_builder_destroy(&b);
    return st;
}

levada_status levada_reader_block(levada_reader *r, int64_t n, int64_t *rows, levada_block **out,
                                  levada_error *err)
{
    reader_gather(r, n);
    *rows = reader_fitting(r, n);
    return reader_make(r, *rows, out, err);
}

static levada_status reader_use_block(void *user, levada_reader_found *found, levada_error *err)
{
    (void)err;
    *(levada_block **)user = found->block;
    found->block = NULL;
    return LEVADA_OK;
}

levada_status levada_reader_read_up_to_from(levada_reader *reader, levada_reader_names names,
                                            void *user, int64_t n, int64_t timeout,
                                            levada_block **out, levada_error *err)
{
    LEVADA_TRY(LEVADA_USABLE(reader, "reader", err));
    LEVADA_TRY(levada_require(out != NULL, "out", err));
    if (n < 1) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "n=%lld must be at least 1",
                           (long long)n);
    }
    return levada_reader_find(reader, names, user, n, timeout, reader_use_block, out, err);
}

levada_status levada_reader_read_up_to(levada_reader *reader, levada_queue *queue, int64_t n,
                                       int64_t timeout, levada_block **out, levada_error *err)
{
    LEVADA_TRY(levada_reader_check(reader, queue, err));
    return levada_reader_read_up_to_from(reader, levada_reader_dequeue, queue, n, timeout, out,
                                         err);
}
