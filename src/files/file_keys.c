/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A reader that emits keys in place of records: for each record its origin, and the lengths of
 * fields from the index. It reads nothing of the files but what recognizes them. Its position is a
 * number of records, as that of a shuffle of all records.
 */
#include "base/alloc.h"
#include "base/assert.h"
#include "files/file_reader_priv.h"
#include "files/files_ahead.h"
#include "files/read_ahead.h"
#include "registry/env_priv.h"
#include "tensor/keys.h"

struct levada_file_keys {
    levada_spec *spec;
    bool        *checked; /* files that are those that were indexed */
};

static levada_status file_keys_memory(levada_error *err)
{
    return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for keys of records");
}

void levada_file_keys_destroy(levada_file_keys **keys)
{
    levada_file_keys *x = *keys;

    *keys = NULL;
    if (!x) return;
    levada_spec_unref(&x->spec);
    levada_free(x->checked);
    levada_free(x);
}

const levada_spec *levada_file_keys_spec(const levada_file_keys *keys) { return keys->spec; }

/* Checks once that a file is the one that was indexed, before one of its lengths counts. */
static levada_status file_keys_check(levada_file_reader *r, int32_t shard, levada_error *err)
{
    if (r->keys->checked[shard]) return LEVADA_OK;
    LEVADA_TRY(levada_index_check_file(r->range.index, shard, err));
    r->keys->checked[shard] = true;
    return LEVADA_OK;
}

static levada_status file_keys_lengths(void *user, int32_t k, const levada_origin *origins,
                                       int64_t n, int64_t *out, levada_error *err)
{
    levada_file_reader *r = user;
    levada_index       *index = r->range.index;

    for (int64_t i = 0; i < n; i++) {
        const levada_origin *o = &origins[i];
        int64_t              number = levada_index_number(index, o->shard, o->record);

        LEVADA_TRY(file_keys_check(r, o->shard, err));
        LEVADA_TRY(levada_index_length(index, k, number, &out[i], err));
    }
    return LEVADA_OK;
}

static levada_status file_keys_create(levada_file_reader *r, const levada_origin *origins,
                                      int64_t n, levada_block **out, levada_error *err)
{
    return levada_keys_create(levada_env_pool(r->framing.context->env), r->keys->spec, origins, n,
                              file_keys_lengths, r, out, err);
}

levada_status levada_file_keys_next(levada_file_reader *r, levada_block **out, levada_error *err)
{
    int64_t        n = r->framing.context->block_rows;
    int64_t        left = r->range.end - r->range.first - r->at.record;
    levada_origin *origins;
    levada_status  st;

    LEVADA_TRY(levada_file_reader_check_cancelled(r, err));
    if (n > left) n = left;
    origins = levada_alloc((size_t)n * sizeof *origins + 1);
    if (!origins) return file_keys_memory(err);
    for (int64_t i = 0; i < n; i++) {
        origins[i] = levada_file_reader_origin_at(r, levada_file_reader_place(r, r->at.record + i));
    }
    st = file_keys_create(r, origins, n, out, err);
    levada_free(origins);
    if (st == LEVADA_OK) r->at.record += n;
    return st;
}

levada_status levada_file_keys_reread(levada_file_reader *r, const levada_origin *origins,
                                      int64_t n, levada_block **out, levada_error *err)
{
    for (int64_t i = 0; i < n; i++) {
        LEVADA_TRY(levada_file_reader_check_record(r, &origins[i], err));
    }
    return file_keys_create(r, origins, n, out, err);
}

levada_status levada_file_reader_emit_keys(levada_file_reader *r, const char *const *fields,
                                           int32_t n, levada_error *err)
{
    levada_file_keys *x = levada_alloc_zero(sizeof *x);
    levada_status     st = x ? LEVADA_OK : file_keys_memory(err);

    LEVADA_ASSERT(r->range.index);
    if (x) x->checked = levada_alloc_zero((size_t)r->set.files.n * sizeof *x->checked + 1);
    if (x && !x->checked) st = file_keys_memory(err);
    if (st == LEVADA_OK) st = levada_spec_create_keys(fields, n, &x->spec, err);
    if (st != LEVADA_OK) {
        levada_file_keys_destroy(&x);
        return st;
    }
    r->keys = x;
    levada_read_ahead_destroy(&r->frames.ahead);
    levada_files_ahead_destroy(&r->frames.files_ahead);
    levada_file_reader_rewind(r, r->at.pass, r->at.epoch);
    return LEVADA_OK;
}
