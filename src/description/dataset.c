/* SPDX-License-Identifier: Apache-2.0 */
#include "description/dataset_priv.h"
#include "description/policy.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "base/hash.h"
#include "base/refs.h"
#include "base/transcode.h"

#include <string.h>

static levada_status dataset_arity(const levada_op *op, int32_t n, levada_error *err)
{
    const char *family = levada_family_name(op->family);

    if (n >= op->min_inputs && (op->max_inputs < 0 || n <= op->max_inputs)) return LEVADA_OK;
    if (op->max_inputs == 0) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "a %s must be the first stage; it cannot have an input", family);
    }
    if (n == 0 && op->min_inputs == 1) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "a %s needs an input: write it after a source and '|'", family);
    }
    if (op->max_inputs < 0) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "needs at least %d inputs, got %d",
                           (int)op->min_inputs, (int)n);
    }
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "takes %d to %d inputs, got %d",
                       (int)op->min_inputs, (int)op->max_inputs, (int)n);
}

void levada_dataset_keep(levada_dataset *dataset, levada_common *common)
{
    levada_common *none = NULL;

    if (!atomic_compare_exchange_strong(&dataset->kept, &none, common)) common->drop(common);
}

levada_common *levada_dataset_swap_spare(const levada_dataset *dataset, levada_common *spare)
{
    return atomic_exchange(&((levada_dataset *)(uintptr_t)dataset)->spare, spare);
}

levada_common *levada_dataset_kept(const levada_dataset *dataset)
{
    return atomic_load(&dataset->kept);
}

static void dataset_free(levada_dataset *dataset)
{
    levada_bound bound = {dataset->options, dataset->args, dataset->memory, dataset->nmemory};
    levada_common *kept = atomic_load(&dataset->kept), *spare = atomic_load(&dataset->spare);

    if (kept) kept->drop(kept);
    if (spare) spare->drop(spare);
    levada_bound_clear(&bound);
    levada_spec_unref(&dataset->spec);
    levada_spec_unref(&dataset->middle);
    for (int32_t i = 0; i < dataset->ninputs; i++) levada_dataset_unref(&dataset->inputs[i]);
    levada_free(dataset->inputs);
    levada_env_unref(&dataset->env);
    levada_free(dataset);
}

/* Datasets inside of a value: the largest depth, and the sum of their sizes. */
static void dataset_measure_value(const levada_value *value, int32_t *depth, int64_t *nodes)
{
    const levada_dataset *pipe = levada_value_as_pipe(value);

    if (pipe != NULL) {
        if (pipe->depth > *depth) *depth = pipe->depth;
        *nodes += pipe->nodes;
    }
    for (int64_t i = 0; i < levada_value_count(value); i++) {
        dataset_measure_value(levada_value_item(value, i), depth, nodes);
    }
}

static levada_status dataset_measure(levada_dataset *ds, levada_error *err)
{
    int32_t combiner = ds->op->family == LEVADA_FAMILY_COMBINER ? 1 : 0;

    ds->nodes = 1;
    for (int32_t i = 0; i < ds->ninputs; i++) {
        const levada_dataset *in = ds->inputs[i];
        if (in->depth > ds->depth) ds->depth = in->depth;
        if (in->nest + combiner > ds->nest) ds->nest = in->nest + combiner;
        ds->nodes += in->nodes;
    }
    for (int64_t i = 0; i < levada_value_count(ds->options); i++) {
        int32_t nest = levada_value_nest(levada_value_item(ds->options, i));
        if (nest > ds->nest) ds->nest = nest;
    }
    dataset_measure_value(ds->options, &ds->depth, &ds->nodes);
    ds->depth++;
    if (ds->nest > LEVADA_NEST_VALUE) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "a pipeline must be nested at most %d levels deep", LEVADA_NEST_VALUE);
    }
    if (ds->depth > LEVADA_DATASET_DEPTH || ds->nodes > LEVADA_DATASET_NODES) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "a pipeline has at most %d consecutive stages and %d in all",
                           LEVADA_DATASET_DEPTH, LEVADA_DATASET_NODES);
    }
    return LEVADA_OK;
}

static levada_status dataset_adopt(levada_dataset *ds, levada_dataset *const *inputs, int32_t n,
                                   levada_error *err)
{
    ds->inputs = levada_alloc_zero((size_t)n * sizeof(*ds->inputs));
    if (ds->inputs == NULL) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory");
    for (int32_t i = 0; i < n; i++) ds->inputs[i] = levada_dataset_ref(inputs[i]);
    ds->ninputs = n;
    return LEVADA_OK;
}

/* Returns true if the files are known. In a pipe a record may name them, which an iterator checks
 * as it opens the pipe. */
static bool dataset_is_known(const char *text) { return text && !strchr(text, '{'); }

/* Checks which records of the files are read: part and records are pairs, and what needs an index
 * has one. */
static levada_status dataset_check_range(const levada_number_args *a, levada_error *err)
{
    if (a->part.n != 0 && (a->part.n != 2 || a->part.at[0] >= a->part.at[1])) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "part must be [i, n] with i below n, such as part=[0,64]; got %lld "
                           "numbers, the first is %lld",
                           (long long)a->part.n, (long long)a->part.at[0]);
    }
    if (a->records.n != 0 && (a->records.n != 2 || a->records.at[0] > a->records.at[1])) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "records must be [start, stop], such as records=[0,1000]; got %lld "
                           "numbers, the first is %lld",
                           (long long)a->records.n, (long long)a->records.at[0]);
    }
    return LEVADA_OK;
}

static levada_status dataset_check_index(const levada_file_args *a, bool indexed,
                                         levada_error *err)
{
    bool index = a->index || indexed;

    LEVADA_TRY(levada_charset_check(a->encoding, err));
    if (index && a->encoding && !levada_charset_is_utf8(a->encoding)) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "encoding='%s' and index cannot be combined, because the records of "
                           "such a file cannot be read separately; convert the file to UTF-8",
                           a->encoding);
    }
    if (!index && (a->numbers.shuffle_records || a->numbers.records.n != 0)) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "%s needs index=true",
                           a->numbers.shuffle_records ? "shuffle_records" : "records");
    }
    if (index && a->shuffle_files) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "shuffle_files and index cannot be combined; use shuffle_records, "
                           "which shuffles better");
    }
    return LEVADA_OK;
}

static levada_status dataset_check_files(const levada_dataset *ds, levada_error *err)
{
    const levada_file_args   *a = (const void *)((const char *)ds->args + ds->op->core_offset);
    const levada_number_args *numbers = levada_op_numbers(ds->op, ds->args);
    levada_policy             policy;

    if (numbers) LEVADA_TRY(dataset_check_range(numbers, err));
    if (ds->op->family != LEVADA_FAMILY_FORMAT) return LEVADA_OK;
    LEVADA_TRY(dataset_check_index(a, !ds->op->def.format.next, err));
    if (dataset_is_known(a->compression)) {
        LEVADA_TRY(levada_compression_check(ds->env, a->compression, err));
    }
    return dataset_is_known(a->errors) ? levada_policy_parse(a->errors, &policy, err) : LEVADA_OK;
}

/* An op whose options are bound. */
typedef struct dataset_binding {
    const levada_making *by;
    const levada_op     *op;
} dataset_binding;

static levada_status dataset_default(void *user, const levada_arg *arg, levada_value **out,
                                     levada_error *err)
{
    const dataset_binding *b = user;

    return levada_parse_default(b->by->env, b->op, arg, b->by->within, out, err);
}

levada_status levada_op_bind(const levada_making *by, const levada_op *op, levada_value *options,
                             levada_bound *out, levada_error *err)
{
    dataset_binding user = {by, op};
    levada_binding  binding = {op->args, op->args_size, by->places, dataset_default, &user};

    return levada_option_bind(&binding, options, out, err);
}

static void dataset_bound(levada_dataset *ds, const levada_bound *bound)
{
    ds->options = bound->options;
    ds->args = bound->args;
    ds->memory = bound->memory;
    ds->nmemory = bound->nmemory;
}

/* Merges `changes` and the stage's own options that are not among them. */
static levada_status dataset_merge(const levada_dataset *ds, const levada_value *changes,
                                   levada_value **out, levada_error *err)
{
    levada_value *made = changes != NULL ? levada_value_copy(changes) : levada_value_map();
    levada_status status = LEVADA_OK;

    if (made == NULL) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory");
    for (int64_t i = 0; status == LEVADA_OK && i < levada_value_count(ds->options); i++) {
        const char   *key = levada_value_key(ds->options, i);
        levada_value *item = NULL;

        if (levada_value_get(changes, key) != NULL) continue;
        item = levada_value_copy(levada_value_item(ds->options, i));
        status = levada_value_set(made, key, &item, err);
        levada_value_destroy(&item);
    }
    if (status == LEVADA_OK) *out = made;
    else levada_value_destroy(&made);
    return status;
}

/* Finds options that the files or the records determine, or NULL. */
static levada_status dataset_find(levada_dataset *ds, levada_value **out, levada_error *err)
{
    const levada_op        *op = ds->op;
    const levada_file_args *a = (const void *)((const char *)ds->args + op->core_offset);
    const char             *field = NULL;
    levada_value           *found = NULL;
    levada_status           st;

    if (op->family == LEVADA_FAMILY_FORMAT && op->def.format.infer)
        return op->def.format.infer(ds->env, ds->args, &a->files, a->compression, ds->options, out,
                                    err);
    if (op->family != LEVADA_FAMILY_DECODER || !op->def.decoder.infer) return LEVADA_OK;
    LEVADA_TRY(levada_dataset_choose(ds, &field, err));
    LEVADA_TRY(op->def.decoder.infer(ds->args, ds->inputs[0], field, &found, err));
    st = found ? dataset_merge(ds, found, out, err) : LEVADA_OK;
    levada_value_destroy(&found);
    return st;
}

/* Makes found options a part of the pipeline. */
static levada_status dataset_infer(levada_dataset *ds, const levada_making *by, levada_error *err)
{
    levada_value *found = NULL;
    levada_bound  bound = {0}, before = {ds->options, ds->args, ds->memory, ds->nmemory};
    levada_status status;

    LEVADA_TRY(dataset_find(ds, &found, err));
    if (found == NULL) return LEVADA_OK;
    status = levada_op_bind(by, ds->op, found, &bound, err);
    levada_value_destroy(&found);
    if (status != LEVADA_OK) return status;
    dataset_bound(ds, &bound);
    levada_bound_clear(&before);
    return LEVADA_OK;
}

static levada_status dataset_fill(levada_dataset *ds, const levada_making *by,
                                  levada_value *options, levada_dataset *const *inputs,
                                  int32_t ninputs, levada_error *err)
{
    levada_bound bound = {0};

    LEVADA_TRY(dataset_arity(ds->op, ninputs, err));
    LEVADA_TRY(dataset_adopt(ds, inputs, ninputs, err));
    LEVADA_TRY(levada_op_bind(by, ds->op, options, &bound, err));
    dataset_bound(ds, &bound);
    LEVADA_TRY(dataset_check_files(ds, err));
    LEVADA_TRY(dataset_infer(ds, by, err));
    LEVADA_TRY(dataset_measure(ds, err));
    return levada_dataset_derive(ds, err);
}

const char *levada_dataset_input_name(const levada_dataset *dataset, int32_t i)
{
    const levada_value *names = dataset->op->family == LEVADA_FAMILY_COMBINER
                                    ? levada_value_get(dataset->options, "names")
                                    : NULL;

    if (!names || levada_value_kind_of(names) != LEVADA_VALUE_LIST) return NULL;
    return levada_value_as_text(levada_value_item(names, i), NULL);
}

const levada_dataset *levada_dataset_last(const levada_dataset *dataset)
{
    while (levada_op_core(dataset->op)->read_ahead) dataset = dataset->inputs[0];
    return dataset;
}

levada_status levada_dataset_rank(const levada_dataset *dataset, const levada_rank *rank,
                                  levada_dataset **out, levada_error *err)
{
    const levada_stage_core *core = levada_op_core(dataset->op);
    const levada_dataset    *input = dataset->ninputs == 1 ? dataset->inputs[0] : NULL;
    levada_dataset          *below = NULL;
    levada_value            *changes = NULL;
    levada_status            st = LEVADA_OK;

    if (core->read_ahead) {
        LEVADA_TRY(levada_dataset_rank(input, rank, &below, err));
        input = below;
    } else if (core->divide) {
        LEVADA_TRY(core->divide(dataset->args, rank, &changes, err));
    }
    if (below || changes) st = levada_dataset_remake(dataset, changes, &input, 1, out, err);
    levada_dataset_unref(&below);
    levada_value_destroy(&changes);
    return st;
}

/* Replaces a stage that only says for which rank one upstream of it batches. */
static levada_status dataset_fold(levada_dataset **ds, levada_error *err)
{
    const levada_stage_core *core = levada_op_core((*ds)->op);
    levada_dataset          *made = NULL;
    levada_rank              rank;

    if (!core->ranks || !core->ranks((*ds)->args, &rank)) return LEVADA_OK;
    LEVADA_TRY(levada_dataset_rank((*ds)->inputs[0], &rank, &made, err));
    if (!made) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "sync=buckets must follow bucket_by_sequence_length, got %s",
                           levada_dataset_last((*ds)->inputs[0])->op->name);
    }
    dataset_free(*ds);
    *ds = made;
    return LEVADA_OK;
}

levada_status levada_dataset_make(const levada_making *by, const levada_op *op,
                                  levada_value *options, levada_dataset *const *inputs,
                                  int32_t ninputs, levada_dataset **out, levada_error *err)
{
    levada_dataset *ds = levada_alloc_zero(sizeof(*ds));
    levada_status   status = LEVADA_OK;

    if (ds == NULL) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory");
    atomic_init(&ds->refs, 1);
    ds->op = op;
    ds->env = levada_env_ref(by->env);
    if (ds->env == NULL) status = levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory");
    else status = dataset_fill(ds, by, options, inputs, ninputs, err);
    if (status == LEVADA_OK) status = dataset_fold(&ds, err);
    if (status == LEVADA_OK) {
        *out = ds;
        return LEVADA_OK;
    }
    levada_error_wrap(err, "%s", op->name);
    dataset_free(ds);
    return status;
}

levada_status levada_dataset_append(levada_env *env, const char *name, const levada_value *options,
                                    const levada_dataset *const *inputs, int32_t ninputs,
                                    levada_dataset **out, levada_error *err)
{
    LEVADA_TRY(levada_require(out != NULL, "out", err));
    LEVADA_TRY(levada_require(name != NULL, "name", err));
    LEVADA_TRY(levada_env_have(env, err));
    const levada_op *op = levada_registry_find(env, name);
    levada_making    by = {.env = env};
    levada_value    *copy = NULL;
    levada_dataset **refs = NULL;

    if (op == NULL) return levada_registry_unknown(env, name, "", err);
    LEVADA_TRY(levada_require_range(ninputs, 0, INT32_MAX, "ninputs", err));
    for (int32_t i = 0; i < ninputs; i++) {
        if (inputs[i] == NULL) {
            return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "%s: input %d is NULL", name, (int)i);
        }
    }
    copy = levada_value_copy(options);
    refs = levada_alloc((size_t)(ninputs > 0 ? ninputs : 0) * sizeof(*refs));
    levada_status status = LEVADA_OK;
    if (copy == NULL || refs == NULL) {
        status = levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory");
        goto out;
    }
    if (options != NULL && levada_value_kind_of(options) != LEVADA_VALUE_MAP) {
        status = levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                             "%s: options must be a map of names to values", name);
        goto out;
    }
    for (int32_t i = 0; i < ninputs; i++) refs[i] = (levada_dataset *)(uintptr_t)inputs[i];
    status = levada_dataset_make(&by, op, copy, refs, ninputs, out, err);
out:
    levada_value_destroy(&copy);
    levada_free(refs);
    return status;
}

levada_status levada_dataset_remake(const levada_dataset *dataset, const levada_value *changes,
                                    const levada_dataset *const *inputs, int32_t ninputs,
                                    levada_dataset **out, levada_error *err)
{
    LEVADA_TRY(levada_require(dataset != NULL, "dataset", err));
    LEVADA_TRY(levada_require(out != NULL, "out", err));
    levada_value *options = NULL;
    levada_status status;

    LEVADA_TRY(dataset_merge(dataset, changes, &options, err));
    status = levada_dataset_append(dataset->env, dataset->op->name, options, inputs, ninputs, out,
                                   err);
    levada_value_destroy(&options);
    return status;
}

levada_dataset *levada_dataset_ref(const levada_dataset *dataset)
{
    if (!dataset) return NULL;
    levada_dataset *same = (levada_dataset *)(uintptr_t)dataset; /* counts are not content */

    levada_refs_add(&same->refs);
    return same;
}

void levada_dataset_unref(levada_dataset **dataset)
{
    if (!dataset) return;
    levada_dataset *gone = *dataset;

    *dataset = NULL;
    if (gone == NULL || !levada_refs_drop(&gone->refs)) return;
    dataset_free(gone);
}

static const levada_pipe_hooks dataset_as_pipe = {
    .ref = levada_dataset_ref,
    .unref = levada_dataset_unref,
    .print = levada_dataset_print,
};

levada_value *levada_value_pipe(const levada_dataset *dataset)
{
    if (!dataset) return NULL;
    return levada_value_hold_pipe(dataset, dataset->nest + 1, &dataset_as_pipe);
}

levada_status levada_dataset_fingerprint(const levada_dataset *dataset, uint8_t out[16],
                                         levada_error *err)
{
    LEVADA_TRY(levada_require(dataset != NULL, "dataset", err));
    LEVADA_TRY(levada_require(out != NULL, "out", err));
    levada_text text = {0};
    char       *json = NULL;

    levada_dataset_print(&text, dataset, LEVADA_PRINT_HASH);
    LEVADA_TRY(levada_text_steal(&text, &json, err));
    levada_hash128(json, strlen(json), 1, out);
    levada_free(json);
    return LEVADA_OK;
}

const levada_spec *levada_dataset_spec(const levada_dataset *dataset)
{
    if (!dataset) return NULL;
    return dataset->spec;
}

const char *levada_dataset_name(const levada_dataset *dataset)
{
    if (!dataset) return NULL;
    return dataset->op->name;
}

const levada_value *levada_dataset_options(const levada_dataset *dataset)
{
    if (!dataset) return NULL;
    return dataset->options;
}

int32_t levada_dataset_inputs(const levada_dataset *dataset)
{
    if (!dataset) return 0;
    return dataset->ninputs;
}

const levada_dataset *levada_dataset_input(const levada_dataset *dataset, int32_t i)
{
    if (!dataset) return NULL;
    return i >= 0 && i < dataset->ninputs ? dataset->inputs[i] : NULL;
}

void levada_string_free(char **text)
{
    if (!text) return;
    levada_free(*text);
    *text = NULL;
}
