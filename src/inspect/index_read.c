/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Single records of a dataset by their numbers: the dataset once more, with a source that reads one
 * record.
 */
#include "base/assert.h"
#include "description/dataset_priv.h"
#include "files/file_reader.h"
#include "files/index_lengths.h"
#include <levada/inspect.h>
#include <levada/iter.h>

/* The source that reads the records; borrowed. */
static levada_status index_read_source(const levada_dataset *ds, const levada_dataset **out,
                                       levada_error *err)
{
    const levada_file_args *files;

    while (ds->ninputs == 1 && levada_index_passes(ds->op)) ds = ds->inputs[0];
    if (ds->ninputs > 0) {
        return levada_fail(err, LEVADA_EFAILED_PRECONDITION,
                           "records have no numbers downstream of '%s'", ds->op->name);
    }
    files = ds->op->family == LEVADA_FAMILY_FORMAT
                ? (const void *)((const char *)ds->args + ds->op->core_offset)
                : NULL;
    if (!files || !files->index) {
        return levada_fail(err, LEVADA_EFAILED_PRECONDITION,
                           "records of '%s' have no numbers: that needs files with an index "
                           "(levada index) and index=true",
                           ds->op->name);
    }
    *out = ds;
    return LEVADA_OK;
}

static levada_status index_read_range(const levada_dataset *source, int64_t *first, int64_t *end,
                                      levada_error *err)
{
    levada_context      context;
    levada_file_reader *reader = NULL;

    LEVADA_TRY(levada_file_reader_look(source, &context, &reader, err));
    (void)levada_file_reader_range(reader, first, end);
    levada_file_reader_destroy(&reader);
    return LEVADA_OK;
}

levada_status levada_inspect_count(const levada_dataset *dataset, int64_t *records,
                                   levada_error *err)
{
    LEVADA_TRY(levada_require(dataset != NULL, "dataset", err));
    LEVADA_TRY(levada_require(records != NULL, "records", err));
    const levada_dataset *source = NULL;
    int64_t               first = 0, end = 0;

    LEVADA_TRY(index_read_source(dataset, &source, err));
    LEVADA_TRY(index_read_range(source, &first, &end, err));
    *records = end - first;
    return LEVADA_OK;
}

/* {name: value}, which is taken. */
static levada_status index_read_set(levada_value *map, const char *name, levada_value *value,
                                    levada_error *err)
{
    levada_status st = map && value
                           ? levada_value_set(map, name, &value, err)
                           : levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "no memory for options");

    levada_value_destroy(&value);
    return st;
}

/* The options of a source that reads record `number` of its files alone. */
static levada_status index_read_options(int64_t number, levada_value **out, levada_error *err)
{
    levada_value *map = levada_value_map(), *pair = levada_value_list();
    levada_status st = pair ? LEVADA_OK
                            : levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "no memory");

    for (int64_t i = 0; st == LEVADA_OK && i < 2; i++) {
        levada_value *each = levada_value_int(number + i);

        st = each ? levada_value_push(pair, &each, err)
                  : levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "no memory");
        levada_value_destroy(&each);
    }
    if (st == LEVADA_OK) {
        st = index_read_set(map, "records", pair, err);
        pair = NULL;
    }
    if (st == LEVADA_OK) st = index_read_set(map, "part", levada_value_null(), err);
    if (st == LEVADA_OK) {
        st = index_read_set(map, "shuffle_records", levada_value_bool(false), err);
    }
    levada_value_destroy(&pair);
    if (st == LEVADA_OK) *out = map;
    else levada_value_destroy(&map);
    return st;
}

/* The dataset on top of another source. */
static levada_status index_read_rebuild(const levada_dataset *ds, const levada_value *options,
                                        levada_dataset **out, levada_error *err)
{
    levada_dataset *below = NULL;
    levada_status   st;

    if (ds->ninputs == 0) return levada_dataset_remake(ds, options, NULL, 0, out, err);
    LEVADA_TRY(index_read_rebuild(ds->inputs[0], options, &below, err));
    st = levada_dataset_remake(ds, NULL, (const levada_dataset *const *)&below, 1, out, err);
    levada_dataset_unref(&below);
    return st;
}

static levada_status index_read_one(const levada_dataset *ds, levada_block **out,
                                    levada_error *err)
{
    levada_iter_options options = LEVADA_ITER_OPTIONS_INIT;
    levada_iter        *it = NULL;
    levada_status       st;

    options.threads = 1;
    options.seed = 0;
    LEVADA_TRY(levada_iter_open(ds, &options, &it, err));
    st = levada_iter_next(it, out, err);
    levada_iter_close(&it);
    return st == LEVADA_END ? levada_fail(err, LEVADA_EDATA_LOSS, "the record is gone") : st;
}

levada_status levada_inspect_record(const levada_dataset *dataset, int64_t number,
                                    levada_block **out, levada_error *err)
{
    LEVADA_TRY(levada_require(dataset != NULL, "dataset", err));
    LEVADA_TRY(levada_require(out != NULL, "out", err));
    const levada_dataset *source = NULL;
    levada_dataset       *one = NULL;
    levada_value         *options = NULL;
    int64_t               first = 0, end = 0;
    levada_status         st;

    LEVADA_TRY(index_read_source(dataset, &source, err));
    LEVADA_TRY(index_read_range(source, &first, &end, err));
    if (number < 0 || number >= end - first) {
        return levada_fail(err, LEVADA_EOUT_OF_RANGE, "record %lld of %lld does not exist",
                           (long long)number, (long long)(end - first));
    }
    LEVADA_TRY(index_read_options(first + number, &options, err));
    st = index_read_rebuild(dataset, options, &one, err);
    if (st == LEVADA_OK) st = index_read_one(one, out, err);
    levada_dataset_unref(&one);
    levada_value_destroy(&options);
    return st;
}
