/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Divides a dataset among ranks or workers: decides by the traits of its stages how near to the
 * sources a part can be taken, and takes it there.
 */
#include "base/alloc.h"
#include "base/assert.h"
#include "base/versioned.h"
#include "description/dataset_priv.h"
#include <levada/divide.h>
#include <levada/inspect.h>

#include <stdio.h>
#include <string.h>

typedef struct divide_work {
    levada_divide_options o;
    const levada_dataset *drawn; /* draws upstream of a shard without a seed of its own; or NULL */
    bool                  draws; /* anything upstream of a shard draws, with a seed or without   */
    bool                  whole; /* sources are not cut: parts of them would not fit together    */
} divide_work;

static levada_status divide_stage(divide_work *w, const levada_dataset *ds, levada_dataset **out,
                                  levada_error *err);

/* -- what a stage allows */

/* Returns the option of a combiner that holds its pipe; -1 = it has none. */
static int64_t divide_pipe_option(const levada_dataset *ds)
{
    int64_t n = ds->op->family == LEVADA_FAMILY_COMBINER ? levada_value_count(ds->options) : 0;

    while (n > 0 && !levada_value_as_pipe(levada_value_item(ds->options, n - 1))) n--;
    return n - 1;
}

/* Returns true if record i is made of record i of the source, or of each source. */
static bool divide_aligned(const levada_dataset *ds)
{
    const levada_traits t = levada_traits_of(ds);
    bool one = t.rows == LEVADA_ROWS_ONE_TO_ONE && t.reads != LEVADA_READS_ALL && !t.count;

    for (int32_t i = 0; one && i < ds->ninputs; i++) one = divide_aligned(ds->inputs[i]);
    return one || ds->ninputs == 0;
}

/* Returns true if equal numbers of records stay equal through the stage, whatever the records are.
 * */
static bool divide_evens(const divide_work *w, const levada_dataset *ds)
{
    const levada_traits t = levada_traits_of(ds);
    bool counts = t.count || t.rows == LEVADA_ROWS_ONE_TO_ONE || t.rows == LEVADA_ROWS_PERMUTES;
    bool pads = strcmp(w->o.equal, "pad") == 0;

    if (ds->op->family == LEVADA_FAMILY_COMBINER || !t.divides || !counts) return false;
    return (t.never_rejects || !w->o.skips) && !(pads && t.side_effects);
}

static bool divide_passes(const divide_work *w, const levada_dataset *ds)
{
    const levada_traits t = levada_traits_of(ds);

    if (ds->ninputs == 0) return false;
    if (w->o.equal) return divide_evens(w, ds);
    if (ds->op->family == LEVADA_FAMILY_COMBINER && t.rows == LEVADA_ROWS_ONE_TO_ONE) {
        return !w->o.skips && divide_aligned(ds);
    }
    return t.divides;
}

/* Returns the part of the pipeline that decides without a seed which records there are, in any
 * order; or NULL. */
static const levada_dataset *divide_choice(const divide_work *w, const levada_dataset *ds)
{
    const levada_dataset *found = NULL;

    if (ds->ninputs > 0 && !divide_passes(w, ds)) {
        return levada_dataset_draws(ds, LEVADA_DRAWS_SEEDLESS);
    }
    for (int32_t i = 0; !found && i < ds->ninputs; i++) found = divide_choice(w, ds->inputs[i]);
    return found;
}

/* Returns true if records depend on which of the open pipes of a combiner this is, because origins
 * do. */
static bool divide_by_slot(const levada_dataset *ds)
{
    const levada_traits t = levada_traits_of(ds);
    int64_t             pipe = divide_pipe_option(ds);
    bool found = t.side_effects || (ds->ninputs == 0 && levada_traits_order(&t));

    for (int32_t i = 0; !found && i < ds->ninputs; i++) found = divide_by_slot(ds->inputs[i]);
    if (found || pipe < 0) return found;
    return divide_by_slot(levada_value_as_pipe(levada_value_item(ds->options, pipe)));
}

/* -- parts */

/* Sets *out to the dataset with other inputs, which are taken, and with `changes`, which may be
 * NULL. */
static levada_status divide_remake(const levada_dataset *ds, const levada_value *changes,
                                   levada_dataset **inputs, levada_dataset **out,
                                   levada_error *err)
{
    levada_status st = levada_dataset_remake(ds, changes, (const levada_dataset *const *)inputs,
                                             ds->ninputs, out, err);

    for (int32_t i = 0; i < ds->ninputs; i++) levada_dataset_unref(&inputs[i]);
    return st;
}

static levada_status divide_inputs(divide_work *w, const levada_dataset *ds, levada_dataset **out,
                                   levada_error *err)
{
    levada_dataset **inputs = levada_alloc_zero((size_t)ds->ninputs * sizeof *inputs);
    levada_status    st = LEVADA_OK;

    if (!inputs) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED,
                                    "out of memory while dividing a dataset");
    for (int32_t i = 0; st == LEVADA_OK && i < ds->ninputs; i++) {
        st = divide_stage(w, ds->inputs[i], &inputs[i], err);
    }
    if (st == LEVADA_OK) st = divide_remake(ds, NULL, inputs, out, err);
    for (int32_t i = 0; i < ds->ninputs; i++) levada_dataset_unref(&inputs[i]);
    levada_free(inputs);
    return st;
}

/* Maps one option, and takes the value. */
static levada_status divide_map(const char *key, levada_value *value, levada_value **out,
                                levada_error *err)
{
    levada_value *map = levada_value_map();
    levada_status st = map && value ? levada_value_set(map, key, &value, err)
                                    : levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED,
                                                  "out of memory while dividing a dataset");

    levada_value_destroy(&value);
    if (st == LEVADA_OK) *out = map;
    else levada_value_destroy(&map);
    return st;
}

/* Returns the stage that deals records out. It is found by its traits, like all others. */
static const levada_op *divide_shard_op(const levada_env *env)
{
    for (int32_t i = 0;; i++) {
        const levada_op *op = levada_registry_at(env, i);

        if (!op || (op->traits.shards && !op->plugin)) return op;
    }
}

static levada_status divide_shard(divide_work *w, const levada_dataset *ds, levada_dataset **out,
                                  levada_error *err)
{
    const levada_divide_options *o = &w->o;
    const levada_op             *op = divide_shard_op(ds->env);
    levada_value                *options = NULL;
    char                         text[128];
    levada_status                st;

    if (!w->drawn) w->drawn = levada_dataset_draws(ds, LEVADA_DRAWS_SEEDLESS);
    w->draws = w->draws || levada_dataset_draws(ds, LEVADA_DRAWS_ORDER);
    snprintf(text, sizeof text, "{\"index\": %lld, \"count\": %lld%s%s%s}", (long long)o->index,
             (long long)o->count, o->equal ? ", \"equal\": \"" : "", o->equal ? o->equal : "",
             o->equal ? "\"" : "");
    LEVADA_TRY(levada_value_parse_json(text, strlen(text), &options, err));
    st = levada_dataset_append(ds->env, op->name, options, &ds, 1, out, err);
    levada_value_destroy(&options);
    return st;
}

/* Divides the sub-pipeline of an interleave, which is opened for all records, because what it draws
 * depends on which record that is. */
static levada_status divide_pipe(divide_work *w, const levada_dataset *ds, int64_t option,
                                 levada_dataset **out, levada_error *err)
{
    const levada_dataset *pipe = levada_value_as_pipe(levada_value_item(ds->options, option));
    levada_dataset       *made = NULL;
    levada_value         *changes = NULL;
    levada_status         st;

    LEVADA_TRY(divide_stage(w, pipe, &made, err));
    if (!w->drawn) {
        w->drawn = w->draws ? levada_dataset_draws(ds->inputs[0], LEVADA_DRAWS_SEEDLESS)
                            : divide_choice(w, ds->inputs[0]);
    }
    st = divide_map(ds->op->args[option].name, levada_value_pipe(made), &changes, err);
    levada_dataset_unref(&made);
    if (st == LEVADA_OK) {
        st = levada_dataset_remake(ds, changes, (const levada_dataset *const *)ds->inputs,
                                   ds->ninputs, out, err);
    }
    levada_value_destroy(&changes);
    return st;
}

/* Stages through which ranks stay equal, unless they lose the mark of padding. */
static levada_status divide_through(divide_work *w, const levada_dataset *ds,
                                    levada_dataset **out, levada_error *err)
{
    const divide_work before = *w;

    LEVADA_TRY(divide_inputs(w, ds, out, err));
    if (!w->o.equal || strcmp(w->o.equal, "pad") != 0 ||
        levada_spec_find((*out)->spec, "is_padding") >= 0) {
        return LEVADA_OK;
    }
    levada_dataset_unref(out);
    *w = before;
    return divide_shard(w, ds, out, err);
}

static levada_status divide_records(divide_work *w, const levada_dataset *ds,
                                    levada_dataset **out, levada_error *err)
{
    int64_t pipe = w->o.equal ? -1 : divide_pipe_option(ds);

    if (pipe >= 0 && !divide_by_slot(levada_value_as_pipe(levada_value_item(ds->options, pipe)))) {
        return divide_pipe(w, ds, pipe, out, err);
    }
    return divide_passes(w, ds) ? divide_through(w, ds, out, err) : divide_shard(w, ds, out, err);
}

/* -- parts of sources */

/* Returns true if the records of a source have numbers. */
static bool divide_numbers(const levada_dataset *ds)
{
    const levada_file_args *files = (const void *)((const char *)ds->args + ds->op->core_offset);

    return ds->op->family == LEVADA_FAMILY_FORMAT ? files->index : levada_op_numbered(ds->op);
}

/* Checks that equal parts of all sources have the records that belong together: all have numbers
 * and equally many records (`n`, at first -1). */
static levada_status divide_split_alike(const levada_dataset *ds, int64_t *n, bool *alike,
                                        levada_error *err)
{
    int64_t has = 0;

    for (int32_t i = 0; *alike && i < ds->ninputs; i++) {
        LEVADA_TRY(divide_split_alike(ds->inputs[i], n, alike, err));
    }
    if (!*alike || ds->ninputs > 0) return LEVADA_OK;
    *alike = divide_numbers(ds) && !levada_op_numbers(ds->op, ds->args)->shuffle_records;
    if (!*alike) return LEVADA_OK;
    LEVADA_TRY(levada_inspect_count(ds, &has, err));
    *alike = *n < 0 || *n == has;
    *n = has;
    return LEVADA_OK;
}

static levada_status divide_cut(const divide_work *w, const levada_dataset *ds,
                                levada_dataset **out, levada_error *err)
{
    levada_value *changes = NULL;
    char          text[64];
    levada_status st;

    snprintf(text, sizeof text, "{\"part\": [%lld, %lld]}", (long long)w->o.index,
             (long long)w->o.count);
    LEVADA_TRY(levada_value_parse_json(text, strlen(text), &changes, err));
    st = levada_dataset_remake(ds, changes, NULL, 0, out, err);
    levada_value_destroy(&changes);
    return st;
}

/* Divides all inputs alike, because one record of each input belongs to one record of the
 * result. */
static levada_status divide_join(divide_work *w, const levada_dataset *ds, levada_dataset **out,
                                 levada_error *err)
{
    int64_t       n = -1;
    bool          alike = !w->o.skips && divide_aligned(ds);
    levada_status st;

    if (alike) LEVADA_TRY(divide_split_alike(ds, &n, &alike, err));
    w->whole = !alike;
    st = divide_records(w, ds, out, err);
    w->whole = false;
    return st;
}

static levada_status divide_stage(divide_work *w, const levada_dataset *ds, levada_dataset **out,
                                  levada_error *err)
{
    const levada_number_args *numbers = levada_op_numbers(ds->op, ds->args);
    bool combiner = ds->op->family == LEVADA_FAMILY_COMBINER;

    if (w->o.by != LEVADA_DIVIDE_FILES) return divide_records(w, ds, out, err);
    if (numbers && !w->whole && numbers->part.n == 0) return divide_cut(w, ds, out, err);
    if (divide_pipe_option(ds) >= 0) return divide_inputs(w, ds, out, err);
    if (combiner && !w->whole && ds->op->traits.rows == LEVADA_ROWS_ONE_TO_ONE) {
        return divide_join(w, ds, out, err);
    }
    return divide_records(w, ds, out, err);
}

/* -- batches that follow each other */

/* Finds a stage that batches for ranks in a way of its own: *out stays NULL where there is none. */
static levada_status divide_ranks(divide_work *w, const levada_dataset *root,
                                  const levada_dataset *ds, levada_dataset **out,
                                  levada_error *err)
{
    const levada_rank rank = { .index = w->o.index, .count = w->o.count, .equal = w->o.equal,
                               .last = ds == levada_dataset_last(root) };
    levada_value     *changes = NULL;
    bool              found = false;

    if (levada_op_core(ds->op)->divide) {
        LEVADA_TRY(levada_op_core(ds->op)->divide(ds->args, &rank, &changes, err));
        found = changes != NULL;
        levada_value_destroy(&changes);
    }
    if (found) {
        w->drawn = levada_dataset_draws(ds, LEVADA_DRAWS_SEEDLESS);
        return levada_dataset_rank(root, &rank, out, err);
    }
    for (int32_t i = 0; !*out && i < ds->ninputs; i++) {
        LEVADA_TRY(divide_ranks(w, root, ds->inputs[i], out, err));
    }
    return LEVADA_OK;
}

/* -- the call */

static levada_status divide_unseeded(const levada_dataset *drawn, levada_error *err)
{
    bool files = drawn->ninputs == 0 && !levada_value_get(drawn->options, "seed");

    return levada_fail(err, LEVADA_EFAILED_PRECONDITION,
                       "%s%s runs before shard() without a seed, so every rank would shuffle "
                       "differently; set its seed=, or with_options(seed=)",
                       files ? "the order of the files of " : "", drawn->op->name);
}

static levada_status divide_check(const levada_divide_options *o, levada_error *err)
{
    if (o->count < 1 || o->index < 0 || o->index >= o->count) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "index=%lld must be at least 0 and below count=%lld",
                           (long long)o->index, (long long)o->count);
    }
    if (o->equal && strcmp(o->equal, "drop") != 0 && strcmp(o->equal, "pad") != 0) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "equal='%.32s' must be drop or pad",
                           o->equal);
    }
    if (o->by != LEVADA_DIVIDE_RECORDS && (o->by != LEVADA_DIVIDE_FILES || o->equal)) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "by must be LEVADA_DIVIDE_RECORDS, or LEVADA_DIVIDE_FILES without "
                           "equal, got %d",
                           (int)o->by);
    }
    return LEVADA_OK;
}

levada_status levada_dataset_divide(const levada_dataset        *dataset,
                                    const levada_divide_options *options, levada_dataset **out,
                                    levada_error *err)
{
    LEVADA_TRY(levada_require(dataset != NULL, "dataset", err));
    LEVADA_TRY(levada_require(options != NULL, "options", err));
    LEVADA_TRY(levada_require(out != NULL, "out", err));
    divide_work     w = { .o = LEVADA_DIVIDE_OPTIONS_INIT };
    levada_dataset *made = NULL;
    bool            one;

    LEVADA_TRY(LEVADA_VERSIONED_READ(w.o, options, levada_divide_options, err));
    LEVADA_TRY(divide_check(&w.o, err));
    one = w.o.count == 1;
    if (w.o.equal) LEVADA_TRY(divide_ranks(&w, dataset, dataset, &made, err));
    if (!made && one && w.o.by == LEVADA_DIVIDE_RECORDS &&
        (!w.o.equal || strcmp(w.o.equal, "drop") == 0)) {
        made = levada_dataset_ref(dataset);
    }
    if (!made) LEVADA_TRY(divide_stage(&w, dataset, &made, err));
    if (w.drawn && !one && !w.o.seeded) {
        levada_dataset_unref(&made);
        return divide_unseeded(w.drawn, err);
    }
    *out = made;
    return LEVADA_OK;
}

levada_status levada_dataset_check_divided(const levada_dataset *dataset, levada_error *err)
{
    LEVADA_TRY(levada_require(dataset != NULL, "dataset", err));
    const levada_dataset *drawn = levada_dataset_draws_before_shard(dataset);

    return drawn ? divide_unseeded(drawn, err) : LEVADA_OK;
}

LEVADA_VERSIONED_INIT(levada_divide_options_init, levada_divide_options, LEVADA_DIVIDE_OPTIONS_INIT)
