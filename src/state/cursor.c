/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cursors: a block that is partly used up; and the public makers of blocks.
 */
#include "base/alloc.h"
#include "base/assert.h"
#include "state/state_priv.h"
#include "tensor/block_priv.h"

#include <levada/stage.h>

#include <stdio.h>
#include <string.h>

levada_status levada_builder_create(levada_env *env, const levada_spec *spec, int64_t rows,
                                    levada_builder **out, levada_error *err)
{
    LEVADA_TRY(levada_require(out != NULL, "out", err));
    LEVADA_TRY(levada_require(spec != NULL, "spec", err));
    LEVADA_TRY(levada_env_have(env, err));
    return levada_builder_make(levada_env_pool(env), spec, rows, out, err);
}

levada_status levada_cursor_take(levada_cursor *cur, int64_t limit, levada_block **out,
                                 levada_error *err)
{
    LEVADA_TRY(levada_require(cur != NULL, "cur", err));
    LEVADA_TRY(levada_require(out != NULL, "out", err));
    LEVADA_TRY(levada_require_range(limit, 0, INT64_MAX, "limit", err));
    int64_t left = cur->block->n - cur->row, n = left < limit ? left : limit;

    LEVADA_TRY(levada_block_slice(NULL, cur->block, cur->row, n, out, err));
    cur->row += n;
    if (cur->row == cur->block->n) levada_cursor_clear(cur);
    return LEVADA_OK;
}

void levada_cursor_clear(levada_cursor *cur)
{
    if (!cur) return;
    levada_block_unref(&cur->block);
    cur->row = 0;
}

static levada_status cursor_save_ends(const levada_block *block, levada_state_writer *to,
                                      const char *key, levada_error *err)
{
    int64_t        n = 0;
    const int32_t *ends = levada_block_ends(block, &n);
    int64_t       *wide = levada_alloc((size_t)n * sizeof *wide + 1);
    char           name[LEVADA_STATE_NAME];
    levada_status  st;

    if (!wide) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED,
                                  "out of memory for a checkpoint");
    for (int64_t i = 0; i < n; i++) wide[i] = ends[i];
    snprintf(name, sizeof name, "%s.ends", key);
    st = levada_state_put_i64s(to, name, wide, n, err);
    levada_free(wide);
    return st;
}

/* Saves the layout of a batch, if it has one. */
static levada_status cursor_save_layout(const levada_block *block, levada_state_writer *to,
                                        const char *key, levada_error *err)
{
    char name[LEVADA_STATE_NAME];

    if (!block->layout) return LEVADA_OK;
    snprintf(name, sizeof name, "%s.bound", key);
    LEVADA_TRY(levada_state_put_i64(to, name, levada_block_bound(block), err));
    snprintf(name, sizeof name, "%s.filled", key);
    if (block->layout->filled) LEVADA_TRY(levada_state_put_i64(to, name, 1, err));
    snprintf(name, sizeof name, "%s.least", key);
    if (block->layout->least) {
        int64_t n = (int64_t)block->layout->columns * LEVADA_MAX_DIMS;

        LEVADA_TRY(levada_state_put_i64s(to, name, block->layout->least, n, err));
    }
    return block->layout->n ? cursor_save_ends(block, to, key, err) : LEVADA_OK;
}

static levada_status cursor_restore_ends(levada_block *block, levada_state_reader *from,
                                         const char *name, levada_error *err)
{
    levada_layout *layout = NULL;
    const int64_t *wide = NULL;
    int32_t       *ends;
    int64_t        n = 0;
    bool           valid;
    levada_status  st = LEVADA_OK;

    LEVADA_TRY(levada_state_get_i64s(from, name, &wide, &n, err));
    ends = levada_alloc((size_t)n * sizeof *ends + 1);
    if (!ends) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED,
                                  "out of memory for a checkpoint");
    valid = n > 0 && wide[n - 1] == block->n;
    for (int64_t i = 0; valid && i < n; i++) {
        valid = wide[i] > (i ? wide[i - 1] : 0) && wide[i] <= block->n;
        ends[i] = (int32_t)wide[i];
    }
    if (!valid) {
        st = levada_state_damaged(from, name, err, "not the ends of batches of %lld records",
                                  (long long)block->n);
    }
    if (st == LEVADA_OK) st = levada_layout_create_ends(ends, n, &layout, err);
    if (st == LEVADA_OK) levada_block_set_layout(block, layout);
    levada_layout_unref(&layout);
    levada_free(ends);
    return st;
}

/* Restores the lengths to which all ranks pad, if the batch has some; else only its bound. */
static levada_status cursor_restore_least(levada_state_reader *from, const char *name,
                                          int64_t bound, levada_layout **out, levada_error *err)
{
    const int64_t *least = NULL;
    int64_t        n = 0;
    bool           valid = true;

    if (!levada_state_has(from, name)) return levada_layout_create(bound, out, err);
    LEVADA_TRY(levada_state_get_i64s(from, name, &least, &n, err));
    for (int64_t i = 0; i < n; i++) valid = valid && least[i] >= 0 && least[i] <= INT32_MAX;
    if (!valid || n % LEVADA_MAX_DIMS || n / LEVADA_MAX_DIMS > INT32_MAX) {
        return levada_state_damaged(from, name, err, "not %d lengths for each field",
                                    LEVADA_MAX_DIMS);
    }
    LEVADA_TRY(levada_layout_create_least((int32_t)(n / LEVADA_MAX_DIMS), bound, out, err));
    if (n) memcpy((*out)->least, least, (size_t)n * sizeof *least);
    return LEVADA_OK;
}

static levada_status cursor_restore_layout(levada_block *block, levada_state_reader *from,
                                           const char *key, levada_error *err)
{
    levada_layout *layout = NULL;
    int64_t        bound = 0;
    char           name[LEVADA_STATE_NAME];

    snprintf(name, sizeof name, "%s.ends", key);
    if (levada_state_has(from, name)) return cursor_restore_ends(block, from, name, err);
    snprintf(name, sizeof name, "%s.bound", key);
    if (!levada_state_has(from, name)) return LEVADA_OK;
    LEVADA_TRY(levada_state_get_i64(from, name, &bound, err));
    if (bound < INT32_MIN || bound > INT32_MAX) {
        return levada_state_damaged(from, name, err, "must be from %d to %d, got %lld", INT32_MIN,
                                    INT32_MAX, (long long)bound);
    }
    snprintf(name, sizeof name, "%s.least", key);
    LEVADA_TRY(cursor_restore_least(from, name, bound, &layout, err));
    snprintf(name, sizeof name, "%s.filled", key);
    layout->filled = levada_state_has(from, name);
    levada_block_set_layout(block, layout);
    levada_layout_unref(&layout);
    return LEVADA_OK;
}

/* Saves the unread records: by origin where the input can be read again, else by value. */
levada_status levada_cursor_save(const levada_cursor *cur, levada_state_writer *to, const char *key,
                                 levada_error *err)
{
    LEVADA_TRY(levada_require(cur != NULL, "cur", err));
    LEVADA_TRY(levada_require(to != NULL, "to", err));
    LEVADA_TRY(levada_require(key != NULL, "key", err));
    levada_block *rest = NULL;
    int64_t       n = cur->block ? cur->block->n - cur->row : 0;
    char          name[LEVADA_STATE_NAME];
    levada_status st;

    snprintf(name, sizeof name, "%s.n", key);
    LEVADA_TRY(levada_state_put_i64(to, name, n, err));
    if (n == 0) return LEVADA_OK;
    LEVADA_TRY(levada_block_slice(NULL, cur->block, cur->row, n, &rest, err));
    st = cursor_save_layout(rest, to, key, err);
    if (st == LEVADA_OK) st = levada_records_put(to, key, rest, err);
    levada_block_unref(&rest);
    return st;
}

levada_status levada_cursor_restore(levada_cursor *cur, levada_state_reader *from, const char *key,
                                    levada_error *err)
{
    LEVADA_TRY(levada_require(cur != NULL, "cur", err));
    LEVADA_TRY(levada_require(from != NULL, "from", err));
    LEVADA_TRY(levada_require(key != NULL, "key", err));
    levada_block *block = NULL;
    int64_t       n = 0;
    char          name[LEVADA_STATE_NAME];
    levada_status st = LEVADA_OK;

    snprintf(name, sizeof name, "%s.n", key);
    LEVADA_TRY(levada_state_get_count(from, name, LEVADA_COUNT_LIMIT, &n, err));
    if (n) LEVADA_TRY(levada_records_get(from, key, &block, err));
    if (n && block->n != n) {
        st = levada_state_damaged(from, name, err,
                                  "must be the number of its records %lld, got %lld",
                                  (long long)block->n, (long long)n);
    }
    if (st == LEVADA_OK && n) st = cursor_restore_layout(block, from, key, err);
    if (st != LEVADA_OK) {
        levada_block_unref(&block);
        return st;
    }
    levada_cursor_clear(cur);
    cur->block = block;
    return LEVADA_OK;
}
