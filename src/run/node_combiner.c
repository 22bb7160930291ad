/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Combiners: they run like SERIAL stages, on inputs that they pull themselves.
 */
#include "base/alloc.h"
#include "base/assert.h"
#include "description/columns.h"
#include "run/stage_state.h"
#include "run/plan.h"
#include "tensor/block_priv.h"

#include <string.h>

static const levada_combiner_def *combiner_def(const levada_node *it)
{
    return &it->at->op->def.combiner;
}

static levada_status combiner_next(levada_node *it, levada_hint hint, levada_item *out,
                                   levada_error *err)
{
    (void)hint;
    return combiner_def(it)->next(levada_stage_state_of(it), it->at->args, &out->block, err);
}

static levada_status combiner_open(levada_node *it, void *state, levada_error *err)
{
    const levada_combiner_def *def = combiner_def(it);

    if (!def->open) return LEVADA_OK;
    return def->open(state, it->at->args, &it->context, it->inputs, it->ninputs, err);
}

/* -- reading again */

static bool combiner_forwards(const levada_node *it) { return levada_op_forwards(it->at->op); }

static bool combiner_rereadable(const levada_node *it)
{
    const levada_combiner_def *def = combiner_def(it);

    if (!def->join && !combiner_forwards(it)) return false;
    if (levada_node_origin_parts(it) > (combiner_forwards(it) ? 1 : LEVADA_ORIGIN_PARTS))
        return false;
    for (int32_t i = 0; i < it->ninputs; i++) {
        if (!levada_node_rereadable(it->inputs[i])) return false;
    }
    return true;
}

/* -- of a combiner that joins records: each input has its own, with its own origin parts */

/* Reads the records of an input, whose origins are the first of `nparts` in each row. */
static levada_status combiner_part(levada_node *in, const levada_origin *origins, int32_t nparts,
                                   int64_t n, levada_read how, levada_block **out,
                                   levada_error *err)
{
    int32_t        mine = levada_node_origin_parts(in);
    levada_origin *own = levada_alloc((size_t)n * (size_t)mine * sizeof *own);
    levada_block  *rows = NULL;
    levada_status  st;

    if (!own)
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED,
                           "out of memory while reading records again");
    for (int64_t i = 0; i < n; i++) {
        memcpy(own + i * mine, origins + i * nparts, (size_t)mine * sizeof *own);
    }
    st = levada_records_read(&in->edge, own, n, how, &rows, err);
    levada_free(own);
    if (st == LEVADA_OK) st = levada_block_gather(levada_env_pool(in->run->env), rows, out, err);
    levada_block_unref(&rows);
    return st;
}

static levada_status combiner_read_joined(levada_node *it, const levada_origin *origins, int64_t n,
                                          levada_read how, levada_block **out, levada_error *err)
{
    int32_t        nparts = levada_node_origin_parts(it);
    levada_block **parts = levada_alloc_zero((size_t)it->ninputs * sizeof(*parts));
    levada_status  st = LEVADA_OK;

    if (!parts)
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED,
                           "out of memory while reading records again");
    for (int32_t i = 0; st == LEVADA_OK && i < it->ninputs; i++) {
        st = combiner_part(it->inputs[i], origins, nparts, n, how, &parts[i], err);
        origins += levada_node_origin_parts(it->inputs[i]);
    }
    if (st == LEVADA_OK) {
        st = combiner_def(it)->join(levada_stage_state_of(it), it->at->args, parts, out, err);
    }
    for (int32_t i = 0; i < it->ninputs; i++) levada_block_unref(&parts[i]);
    levada_free(parts);
    return st;
}

/* -- of one that passes records on: each is of the input that has its source */

/* Returns how many of the origins, which ascend by source, are of one input. */
static int64_t combiner_run(const levada_node *in, const levada_origin *origins, int64_t n)
{
    int64_t k = 0;

    while (k < n && ((k > 0 && origins[k].source == origins[k - 1].source) ||
                     levada_node_owns_source(in, 0, origins[k].source))) {
        k++;
    }
    return k;
}

/* Reads records of an input as they come out of the combiner. */
static levada_status combiner_passed(levada_node *it, levada_node *in, const levada_origin *origins,
                                     int64_t n, levada_read how, levada_block **out,
                                     levada_error *err)
{
    levada_pool       *pool = levada_env_pool(it->run->env);
    const levada_spec *spec = how == LEVADA_READ_FIRST ? it->at->spec : it->context.out;
    levada_block      *rows = NULL;
    levada_status      st = levada_node_read(in, origins, n, how, &rows, err);

    if (st == LEVADA_OK) st = levada_columns_adapt(pool, spec, &rows, err);
    if (st == LEVADA_OK) st = levada_block_gather(pool, rows, out, err);
    levada_block_unref(&rows);
    return st;
}

static levada_status combiner_read_forwarded(levada_node *it, const levada_origin *origins,
                                             int64_t n, levada_read how, levada_block **out,
                                             levada_error *err)
{
    levada_block **parts = levada_alloc_zero((size_t)it->ninputs * sizeof(*parts));
    levada_buffer *index = NULL;
    int64_t        at = 0;
    int32_t        nparts = 0;
    levada_status  st = levada_buffer_create(levada_env_pool(it->run->env), n * 8, &index, err);

    if (!parts) st = levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED,
                                 "out of memory while reading records again");
    for (int32_t i = 0; st == LEVADA_OK && i < it->ninputs; i++) {
        int64_t   run = combiner_run(it->inputs[i], origins + at, n - at);
        uint32_t *which = (uint32_t *)(void *)index->data, *row = which + n;

        if (run == 0) continue;
        for (int64_t k = 0; k < run; k++) {
            which[at + k] = (uint32_t)nparts;
            row[at + k] = (uint32_t)k;
        }
        st = combiner_passed(it, it->inputs[i], origins + at, run, how, &parts[nparts], err);
        nparts += st == LEVADA_OK;
        at += run;
    }
    if (st == LEVADA_OK && at < n)
        st = levada_fail(err, LEVADA_EDATA_LOSS,
                         "the checkpoint has an origin of source %d, which is not among the "
                         "inputs of '%s'", (int)origins[at].source, it->path);
    if (st == LEVADA_OK) {
        const uint32_t *which = (const uint32_t *)(const void *)index->data;

        st = levada_block_selection(parts, nparts, which, which + n, n, &index, out, err);
    }
    for (int32_t i = 0; st != LEVADA_OK && i < nparts; i++) levada_block_unref(&parts[i]);
    levada_buffer_unref(&index);
    levada_free(parts);
    return st;
}

static levada_status combiner_read(levada_node *it, const levada_origin *origins, int64_t n,
                                   levada_read how, levada_block **out, levada_error *err)
{
    return combiner_forwards(it) ? combiner_read_forwarded(it, origins, n, how, out, err)
                                 : combiner_read_joined(it, origins, n, how, out, err);
}

static const levada_node_ops combiner_ops = {
    .kind = LEVADA_NODE_COMBINER,
    .next = combiner_next,
    .save = levada_stage_state_save,
    .restore = levada_stage_state_restore,
    .rewind = levada_stage_state_rewind,
    .cancel = levada_stage_state_cancel,
    .close = levada_stage_state_close,
    .access = &(const levada_access_ops){ .possible = combiner_rereadable,
                                          .read = combiner_read },
};

/* Passes on keys if the inputs of the combiner emit keys. */
static void combiner_take_keys(levada_node *it)
{
    if (!levada_node_emits_keys(it->inputs[0])) return;
    for (int32_t i = 0; i < it->ninputs; i++) LEVADA_ASSERT(levada_node_emits_keys(it->inputs[i]));
    it->edge.spec = it->context.out = it->inputs[0]->edge.spec;
}

levada_status levada_node_combiner(levada_run *run, const levada_step *step, levada_node **in,
                                   int32_t nin, levada_node **out, levada_error *err)
{
    const levada_combiner_def   *def = &step->at->op->def.combiner;
    const levada_stage_hooks hooks = LEVADA_STAGE_HOOKS(def, combiner_open);
    levada_node  *it = NULL;
    levada_status st;

    LEVADA_TRY(levada_node_create(run, step, &combiner_ops, &it, err));
    it->version = def->state_version;
    st = levada_node_adopt(it, in, nin, err);
    if (st == LEVADA_OK) combiner_take_keys(it);
    if (st == LEVADA_OK) st = levada_stage_state_open(it, &hooks, err);
    if (st != LEVADA_OK) {
        levada_error_wrap(err, "%s", step->at->op->name);
        levada_node_destroy(&it);
        return st;
    }
    *out = it;
    return LEVADA_OK;
}
