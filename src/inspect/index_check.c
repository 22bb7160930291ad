/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks the index of a file (files/index.h): its pages, its entries, and the bytes of the file.
 */
#include "base/alloc.h"
#include "base/assert.h"
#include "inspect/index_measure.h"
#include "registry/env_priv.h"
#include <levada/inspect.h>

typedef struct index_check {
    const levada_kernels *kernels;
    levada_bytes         *bytes; /* of the index */
    levada_index_foot     foot;
    int64_t               record; /* entries that were checked */
    int64_t               end;    /* of the last of them; -1 = there was none */
    uint8_t               page[LEVADA_INDEX_PAGE];
} index_check;

static uint64_t index_check_number(const uint8_t *from, int bytes)
{
    uint64_t value = 0;

    for (int i = 0; i < bytes; i++) value |= (uint64_t)from[i] << (8 * i);
    return value;
}

static levada_status index_check_damaged(levada_error *err)
{
    return levada_fail(err, LEVADA_EDATA_LOSS,
                       "the index is corrupt; write it again with levada index");
}

/* Checks that each record ends where the next one begins. */
static levada_status index_check_entries(index_check *x, levada_error *err)
{
    for (int64_t i = 0; i < LEVADA_INDEX_ROWS && x->record < x->foot.count; i++, x->record++) {
        const uint8_t *entry = x->page + i * LEVADA_INDEX_ENTRY;
        uint64_t       offset = index_check_number(entry, 8);
        uint64_t       length = index_check_number(entry + 8, 4);

        if (offset > (uint64_t)x->foot.mark.size ||
            length > (uint64_t)x->foot.mark.size - offset ||
            (x->end >= 0 && offset != (uint64_t)x->end)) {
            return index_check_damaged(err);
        }
        x->end = (int64_t)(offset + length);
    }
    return LEVADA_OK;
}

/* Checks the pages before the last one: entries first. The last record ends where the file ends. */
static levada_status index_check_pages(index_check *x, int64_t size, levada_error *err)
{
    for (int64_t at = 0; at < size; at += LEVADA_INDEX_PAGE) {
        int64_t made = 0;

        LEVADA_TRY(levada_bytes_read_at(x->bytes, at, x->page, sizeof x->page, &made, err));
        if (made < LEVADA_INDEX_PAGE ||
            index_check_number(x->page + LEVADA_INDEX_SUM, 4) !=
                levada_index_sum(x->kernels, x->page, at / LEVADA_INDEX_PAGE)) {
            return index_check_damaged(err);
        }
        LEVADA_TRY(index_check_entries(x, err));
    }
    return x->end < 0 || x->end == x->foot.mark.size ? LEVADA_OK : index_check_damaged(err);
}

static levada_status index_check_open(index_check *x, levada_error *err)
{
    int64_t       size = levada_bytes_mark_of(x->bytes).size;
    int64_t       at = size - LEVADA_INDEX_PAGE, made = 0;
    levada_status st;

    st = levada_bytes_read_at(x->bytes, at < 0 ? 0 : at, x->page, sizeof x->page, &made, err);
    if (st == LEVADA_OK && made < LEVADA_INDEX_PAGE) {
        st = levada_fail(err, LEVADA_EDATA_LOSS,
                         "not an index of levada: the file is too short; write it again with "
                         "levada index");
    }
    if (st == LEVADA_OK) st = levada_index_get_foot(x->kernels, x->page, &x->foot, err);
    if (st == LEVADA_OK && !levada_index_fits(size, &x->foot)) st = index_check_damaged(err);
    return st == LEVADA_OK ? index_check_pages(x, at, err) : st;
}

/* Checks the index alone; errors name it. */
static levada_status index_check_index(levada_env *env, const char *path, index_check *x,
                                       levada_error *err)
{
    levada_bytes_options plain = { .compression = "none" };
    char                *name = levada_index_path(path);
    levada_status        st;

    if (!name) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for an index");
    st = levada_bytes_open(env, name, &plain, &x->bytes, err);
    if (st == LEVADA_OK) st = index_check_open(x, err);
    if (st != LEVADA_OK) levada_error_place(err, NULL, name, -1, -1);
    levada_bytes_close(&x->bytes);
    levada_free(name);
    return st;
}

levada_status levada_inspect_index_check(levada_env *env, const char *path, int64_t *records,
                                         levada_error *err)
{
    LEVADA_TRY(levada_require(path != NULL, "path", err));
    LEVADA_TRY(levada_env_have(env, err));
    index_check       x = { .kernels = levada_env_kernels(env), .end = -1 };
    levada_index_foot now;

    LEVADA_TRY(index_check_index(env, path, &x, err));
    LEVADA_TRY(levada_index_measure(env, path, &now, err));
    if (now.sum != x.foot.sum || now.mark.size != x.foot.mark.size) {
        (void)levada_fail(err, LEVADA_EFAILED_PRECONDITION,
                          "the file has changed since it was indexed; write the index again with "
                          "levada index");
        levada_error_place(err, NULL, path, -1, -1);
        return LEVADA_EFAILED_PRECONDITION;
    }
    if (records) *records = x.foot.count;
    return LEVADA_OK;
}
