/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Single records of a dataset by their numbers. An iterator that returns nothing but single records
 * waits at the dataset from call to call; a call that finds none, because another thread has it,
 * opens one.
 */
#include "base/alloc.h"
#include "base/assert.h"
#include "base/process.h"
#include "description/dataset_priv.h"
#include "files/file_reader.h"
#include "files/index_lengths.h"
#include "run/iter.h"
#include <levada/inspect.h>
#include <levada/iter.h>

static bool index_read_has_index(const levada_dataset *ds)
{
    const levada_file_args *files = (const void *)((const char *)ds->args + ds->op->core_offset);

    return ds->op->family == LEVADA_FAMILY_FORMAT && files->index;
}

/* Finds the source that reads the records; borrowed. */
static levada_status index_read_source(const levada_dataset *ds, const levada_dataset **out,
                                       levada_error *err)
{
    while (ds->ninputs == 1 && levada_index_passes(ds->op)) ds = ds->inputs[0];
    if (ds->ninputs > 0) {
        return levada_fail(err, LEVADA_EFAILED_PRECONDITION,
                           "record numbers are not available downstream of '%s'; use ds[i] and "
                           "len(ds) upstream of it", ds->op->name);
    }
    if (!levada_op_numbered(ds->op) && !index_read_has_index(ds)) {
        return levada_fail(err, LEVADA_EFAILED_PRECONDITION,
                           "ds[i] and len(ds) need an index: run levada index on the files of "
                           "'%s', and set index=true",
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

    if (levada_op_numbered(source->op)) {
        return levada_numbers_choose(levada_op_numbers(source->op, source->args),
                                     source->op->def.source.count(source->args), first, end,
                                     err);
    }
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

/* Sets {name: value}, and takes the value. */
static levada_status index_read_set(levada_value *map, const char *name, levada_value *value,
                                    levada_error *err)
{
    levada_status st = map && value
                           ? levada_value_set(map, name, &value, err)
                           : levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED,
                                         "out of memory for options");

    levada_value_destroy(&value);
    return st;
}

/* Makes the options of a source that reads record `number` of its files alone. */
static levada_status index_read_options(int64_t number, levada_value **out, levada_error *err)
{
    levada_value *map = levada_value_map(), *pair = levada_value_list();
    levada_status st = pair ? LEVADA_OK
                            : levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory");

    for (int64_t i = 0; st == LEVADA_OK && i < 2; i++) {
        levada_value *each = levada_value_int(number + i);

        st = each ? levada_value_push(pair, &each, err)
                  : levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory");
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

/* Rebuilds the dataset on top of another source. */
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
    return st == LEVADA_END ? levada_fail(err, LEVADA_EDATA_LOSS,
                                          "the record does not exist any more; write the index "
                                          "again with levada index") : st;
}

/* -- from call to call */

typedef struct index_lookup {
    levada_common common;
    levada_iter  *it;
} index_lookup;

static void index_lookup_drop(levada_common *common)
{
    index_lookup *x = (index_lookup *)common;

    levada_iter_close(&x->it);
    levada_free(x);
}

/* Returns true if a function of the user, which may hold what it works with, is called: the lookup
 * is not kept from call to call. */
static bool index_lookup_calls(const levada_dataset *ds)
{
    for (; ds; ds = ds->ninputs ? ds->inputs[0] : NULL) {
        for (int64_t i = 0; i < levada_value_count(ds->options); i++) {
            if (levada_value_as_function(levada_value_item(ds->options, i))) return true;
        }
    }
    return false;
}

static levada_status index_lookup_open(const levada_dataset *ds, index_lookup **out,
                                       levada_error *err)
{
    levada_iter_options options = LEVADA_ITER_OPTIONS_INIT;
    index_lookup       *x = levada_alloc_zero(sizeof *x);
    levada_dataset     *own = NULL;
    levada_status       st;

    if (!x) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED,
                               "out of memory while reading a record");
    x->common.drop = index_lookup_drop;
    options.threads = 1;
    options.seed = 0;
    st = index_read_rebuild(ds, NULL, &own, err); /* which does not own what reads it */
    if (st == LEVADA_OK) st = levada_iter_open(own, &options, &x->it, err);
    levada_dataset_unref(&own);
    if (st == LEVADA_OK) *out = x;
    else levada_free(x);
    return st;
}

/* Keeps it for the next call; what another thread kept meanwhile goes. */
static void index_lookup_keep(const levada_dataset *ds, index_lookup *x)
{
    levada_common *other = levada_dataset_swap_spare(ds, &x->common);

    if (other) other->drop(other);
}

/* Opens the kept index again if something has changed, or if it belongs to the parent of this
 * process. */
static levada_status index_lookup_read(const levada_dataset *dataset, int64_t number,
                                       levada_block **out, levada_error *err)
{
    index_lookup *x = (index_lookup *)levada_dataset_swap_spare(dataset, NULL);
    levada_status st;

    if (x && LEVADA_OURS(x->it) && levada_iter_at(x->it, number, out, NULL) == LEVADA_OK) {
        index_lookup_keep(dataset, x);
        return LEVADA_OK;
    }
    if (x) index_lookup_drop(&x->common);
    LEVADA_TRY(index_lookup_open(dataset, &x, err));
    st = levada_iter_at(x->it, number, out, err);
    if (st == LEVADA_OK) index_lookup_keep(dataset, x);
    else index_lookup_drop(&x->common);
    return st;
}

/* Reads with functions: opens the dataset once more, with a source that reads one record. */
static levada_status index_read_alone(const levada_dataset *dataset, int64_t number,
                                      levada_block **out, levada_error *err)
{
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

levada_status levada_inspect_record(const levada_dataset *dataset, int64_t number,
                                    levada_block **out, levada_error *err)
{
    LEVADA_TRY(levada_require(dataset != NULL, "dataset", err));
    LEVADA_TRY(levada_require(out != NULL, "out", err));
    const levada_dataset *source = NULL;

    LEVADA_TRY(index_read_source(dataset, &source, err));
    return index_lookup_calls(dataset) ? index_read_alone(dataset, number, out, err)
                                       : index_lookup_read(dataset, number, out, err);
}
