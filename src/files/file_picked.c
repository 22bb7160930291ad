/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of an indexed file set by their numbers, in any order. They are fetched in the order in
 * which they lie in the files, and a selection names them in the order that was asked for.
 */
#include "base/alloc.h"
#include "files/file_reader_priv.h"

#include <stdlib.h>
#include <string.h>

void levada_picked_clear(levada_picked *p)
{
    levada_free(p->records);
    levada_free(p->origins);
    levada_free(p->lengths);
    levada_free(p->rows);
    memset(p, 0, sizeof *p);
}

levada_status levada_picked_reserve(levada_picked *p, int64_t n, levada_error *err)
{
    size_t count = (size_t)n;

    if (n <= p->capacity) return LEVADA_OK;
    levada_picked_clear(p);
    p->records = levada_alloc(count * sizeof *p->records);
    p->origins = levada_alloc(count * sizeof *p->origins);
    p->lengths = levada_alloc_zero(count * sizeof *p->lengths);
    p->rows = levada_alloc(count * sizeof *p->rows);
    if (p->records && p->origins && p->lengths && p->rows) {
        p->capacity = n;
        return LEVADA_OK;
    }
    levada_picked_clear(p);
    return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for numbers of records");
}

static int picked_compare(const void *one, const void *two)
{
    const levada_picked_record *a = one, *b = two;

    if (a->origin.shard != b->origin.shard) return a->origin.shard < b->origin.shard ? -1 : 1;
    if (a->origin.offset != b->origin.offset) return a->origin.offset < b->origin.offset ? -1 : 1;
    return a->row < b->row ? -1 : a->row > b->row;
}

/* Finds the records, and sorts them by file and offset. */
static levada_status picked_find(levada_file_reader *r, levada_picked *p, int32_t n,
                                 levada_error *err)
{
    memset(p->lengths, 0, sizeof *p->lengths * (size_t)n);
    for (int32_t i = 0; i < n; i++) {
        levada_picked_record *at = &p->records[i];
        levada_index_entry    entry;

        LEVADA_TRY(levada_index_find(r->range.index, at->number, &entry, err));
        at->origin = (levada_origin){ .source = r->source,
                                      .pass = at->pass,
                                      .shard = entry.shard,
                                      .record = entry.record,
                                      .offset = entry.offset };
        at->length = entry.length;
        at->row = i;
    }
    qsort(p->records, (size_t)n, sizeof *p->records, picked_compare);
    for (int32_t i = 0; i < n; i++) {
        p->origins[i] = p->records[i].origin;
        p->lengths[i] = p->records[i].length;
        p->rows[p->records[i].row] = i;
    }
    return LEVADA_OK;
}

levada_status levada_file_reader_pick(levada_file_reader *r, levada_picked *p, int32_t n,
                                      levada_block **out, levada_error *err)
{
    levada_block *block = NULL;
    levada_status st;

    LEVADA_TRY(picked_find(r, p, n, err));
    LEVADA_TRY(levada_file_reader_fetch(r, p->origins, p->lengths, n, &block, err));
    st = levada_block_select(block, p->rows, n, out, err);
    levada_block_unref(&block);
    return st;
}

/* -- one record */

levada_status levada_file_reader_locate(levada_file_reader *r, int64_t number, levada_origin *out,
                                        levada_error *err)
{
    levada_index_entry entry;
    int32_t            shard;
    int64_t            record;

    if (number < 0 || number >= r->range.end - r->range.first) {
        return levada_fail(err, LEVADA_EOUT_OF_RANGE, "record %lld of %lld does not exist",
                           (long long)number, (long long)(r->range.end - r->range.first));
    }
    levada_index_locate(r->range.index, r->range.first + number, &shard, &record);
    LEVADA_TRY(levada_index_check_again(r->range.index, shard, err));
    LEVADA_TRY(levada_index_find(r->range.index, r->range.first + number, &entry, err));
    levada_file_reader_forget(r);
    r->access.located = entry.length;
    *out = (levada_origin){ .source = r->source,
                            .pass = r->at.pass,
                            .shard = shard,
                            .record = record,
                            .offset = entry.offset };
    return LEVADA_OK;
}
