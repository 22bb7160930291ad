/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A reader that hands out numbers in place of records: for each record where it is, and the lengths
 * of its fields, from the index. It reads no data until somebody fetches the records that a batch
 * is made of. Its position is a number of records, as that of a shuffle of all records.
 */
#include "base/alloc.h"
#include "base/assert.h"
#include "files/file_reader_priv.h"
#include "files/files_ahead.h"
#include "files/read_ahead.h"
#include "registry/env_priv.h"
#include "tensor/block_priv.h"
#include <levada/builder.h>

struct levada_numbers {
    levada_spec  *spec;    /* an integer for each field that has lengths      */
    bool         *checked; /* files that are those that were indexed          */
    levada_picked picked;
};

static levada_status numbers_memory(levada_error *err)
{
    return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for numbers of records");
}

void levada_numbers_destroy(levada_numbers **numbers)
{
    levada_numbers *x = *numbers;

    *numbers = NULL;
    if (!x) return;
    levada_spec_unref(&x->spec);
    levada_picked_clear(&x->picked);
    levada_free(x->checked);
    levada_free(x);
}

const levada_spec *levada_numbers_spec(const levada_numbers *numbers) { return numbers->spec; }

/* Checks once that a file is the one that was indexed, before one of its lengths counts. */
static levada_status numbers_check(levada_file_reader *r, int32_t shard, levada_error *err)
{
    if (r->numbers->checked[shard]) return LEVADA_OK;
    LEVADA_TRY(levada_index_check_file(r->range.index, shard, err));
    r->numbers->checked[shard] = true;
    return LEVADA_OK;
}

static levada_status numbers_fill(levada_file_reader *r, const levada_origin *origins, int64_t n,
                                  levada_builder *b, levada_error *err)
{
    for (int32_t k = 0; k < levada_spec_count(r->numbers->spec); k++) {
        void *values = NULL;

        LEVADA_TRY(levada_builder_values(b, k, n, &values, err));
        for (int64_t i = 0; i < n; i++) {
            const levada_origin *o = &origins[i];

            LEVADA_TRY(numbers_check(r, o->shard, err));
            LEVADA_TRY(levada_index_length(r->range.index, k,
                                           levada_index_number(r->range.index, o->shard, o->record),
                                           (int64_t *)values + i, err));
        }
    }
    return LEVADA_OK;
}

/* Makes a block of these records, whose files and numbers exist. */
static levada_status numbers_block(levada_file_reader *r, const levada_origin *origins, int64_t n,
                                   levada_block **out, levada_error *err)
{
    levada_env     *env = r->framing.context->env;
    levada_builder *b = NULL;
    levada_block   *made = NULL;
    levada_status   st = levada_builder_create(env, r->numbers->spec, n, &b, err);

    if (st == LEVADA_OK) st = numbers_fill(r, origins, n, b, err);
    if (st == LEVADA_OK) st = levada_builder_publish(&b, &made, err);
    if (st == LEVADA_OK) {
        st = levada_block_put_origins(levada_env_pool(env), made, origins, 1, err);
    }
    levada_builder_destroy(&b);
    if (st == LEVADA_OK) *out = made;
    else levada_block_unref(&made);
    return st;
}

levada_status levada_numbers_next(levada_file_reader *r, levada_block **out, levada_error *err)
{
    int64_t       n = r->framing.context->block_rows, left = r->range.end - r->range.first
        - r->at.record;
    levada_origin *origins;
    levada_status  st;

    LEVADA_TRY(levada_file_reader_check_cancelled(r, err));
    if (n > left) n = left;
    origins = levada_alloc((size_t)n * sizeof *origins + 1);
    if (!origins) return numbers_memory(err);
    for (int64_t i = 0; i < n; i++) {
        int64_t number = r->range.first + levada_file_reader_place(r, r->at.record + i);

        origins[i] = (levada_origin){ .source = r->source, .pass = r->at.pass, .offset = -1 };
        levada_index_locate(r->range.index, number, &origins[i].shard, &origins[i].record);
    }
    st = numbers_block(r, origins, n, out, err);
    levada_free(origins);
    if (st == LEVADA_OK) r->at.record += n;
    return st;
}

levada_status levada_numbers_reread(levada_file_reader *r, const levada_origin *origins, int64_t n,
                                    levada_block **out, levada_error *err)
{
    for (int64_t i = 0; i < n; i++) {
        int32_t shard = origins[i].shard;

        if (shard >= 0 && shard < r->set.files.n && origins[i].record >= 0 &&
            origins[i].record < levada_index_number(r->range.index, shard + 1, 0) -
                                    levada_index_number(r->range.index, shard, 0)) {
            continue;
        }
        return levada_fail(err, LEVADA_EFAILED_PRECONDITION,
                           "record %lld of file %d does not exist any more; restore the file as "
                           "it was when the checkpoint was saved",
                           (long long)origins[i].record, (int)shard);
    }
    return numbers_block(r, origins, n, out, err);
}

levada_status levada_file_reader_number(levada_file_reader *r, const char *const *fields,
                                        int32_t n, levada_error *err)
{
    levada_field    columns[LEVADA_LENGTH_FIELDS];
    levada_numbers *x = levada_alloc_zero(sizeof *x);
    levada_status   st = x ? LEVADA_OK : numbers_memory(err);

    LEVADA_ASSERT(r->range.index && n > 0 && n <= LEVADA_LENGTH_FIELDS);
    for (int32_t i = 0; i < n; i++) {
        columns[i] = (levada_field){ .name = fields[i], .dtype = LEVADA_INT64 };
    }
    if (x) x->checked = levada_alloc_zero((size_t)r->set.files.n * sizeof *x->checked + 1);
    if (x && !x->checked) st = numbers_memory(err);
    if (st == LEVADA_OK) {
        st = levada_spec_create(columns, n, LEVADA_SPEC_PLAIN, &x->spec, err);
    }
    if (st != LEVADA_OK) {
        levada_numbers_destroy(&x);
        return st;
    }
    r->numbers = x;
    levada_read_ahead_destroy(&r->frames.ahead);
    levada_files_ahead_destroy(&r->frames.files_ahead);
    levada_file_reader_rewind(r, r->at.pass, r->at.epoch);
    return LEVADA_OK;
}

levada_status levada_file_reader_fetch_numbers(levada_file_reader *r, const levada_block *numbers,
                                               levada_block **out, levada_error *err)
{
    levada_picked *p = &r->numbers->picked;

    LEVADA_TRY(levada_picked_reserve(p, numbers->n, err));
    for (int64_t i = 0; i < numbers->n; i++) {
        levada_origin o = levada_block_origin(numbers, i);

        p->records[i].number = levada_index_number(r->range.index, o.shard, o.record);
        p->records[i].pass = o.pass;
    }
    LEVADA_TRY(levada_file_reader_pick(r, p, (int32_t)numbers->n, out, err));
    levada_file_reader_count_records(r, numbers->n);
    return LEVADA_OK;
}
