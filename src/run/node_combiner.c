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
    if (it->run->remixed && levada_dataset_input_name(it->at, 0)) return false;
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

/* Returns the input that has the first of the origins, which ascend by source, and how many of them
 * it has from there on. NULL: no input has it. */
static levada_node *combiner_run(const levada_node *it, const levada_origin *origins, int64_t n,
                                 int64_t *run)
{
    levada_node *in = NULL;

    for (int32_t i = 0; !in && i < it->ninputs; i++) {
        if (levada_node_owns_source(it->inputs[i], 0, origins[0].source)) in = it->inputs[i];
    }
    *run = 0;
    while (in && *run < n &&
           ((*run > 0 && origins[*run].source == origins[*run - 1].source) ||
            levada_node_owns_source(in, 0, origins[*run].source))) {
        ++*run;
    }
    return in;
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

/* Records of several inputs, read again in pieces that are each of one input. */
typedef struct combiner_pieces {
    levada_block **parts;
    int32_t        n;
    int64_t        capacity;
    levada_buffer *index; /* of each record the number of its piece, then its row there */
} combiner_pieces;

/* Reads the piece that begins with the first of the origins; *run = how many records it has. */
static levada_status combiner_piece(combiner_pieces *p, levada_node *it,
                                    const levada_origin *origins, int64_t n, levada_read how,
                                    int64_t *run, levada_error *err)
{
    levada_node *in = combiner_run(it, origins, n, run);

    if (!in) {
        return levada_fail(err, LEVADA_EDATA_LOSS,
                           "the checkpoint has an origin of source %d, which is not among the "
                           "inputs of '%s'", (int)origins[0].source, it->path);
    }
    if (!levada_reserve(&p->parts, &p->capacity, p->n + 1, sizeof *p->parts)) {
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED,
                           "out of memory while reading records again");
    }
    LEVADA_TRY(combiner_passed(it, in, origins, *run, how, &p->parts[p->n], err));
    p->n++;
    return LEVADA_OK;
}

static levada_status combiner_read_forwarded(levada_node *it, const levada_origin *origins,
                                             int64_t n, levada_read how, levada_block **out,
                                             levada_error *err)
{
    combiner_pieces p = { 0 };
    levada_status st = levada_buffer_create(levada_env_pool(it->run->env), n * 8, &p.index, err);
    uint32_t     *which = st == LEVADA_OK ? (uint32_t *)(void *)p.index->data : NULL;

    for (int64_t at = 0, run = 0; st == LEVADA_OK && at < n; at += run) {
        st = combiner_piece(&p, it, origins + at, n - at, how, &run, err);
        for (int64_t k = 0; st == LEVADA_OK && k < run; k++) {
            which[at + k] = (uint32_t)(p.n - 1);
            which[n + at + k] = (uint32_t)k;
        }
    }
    if (st == LEVADA_OK) {
        st = levada_block_selection(p.parts, p.n, which, which + n, n, &p.index, out, err);
    }
    for (int32_t i = 0; st != LEVADA_OK && i < p.n; i++) levada_block_unref(&p.parts[i]);
    levada_buffer_unref(&p.index);
    levada_free(p.parts);
    return st;
}

static levada_status combiner_read(levada_node *it, const levada_origin *origins, int64_t n,
                                   levada_read how, levada_block **out, levada_error *err)
{
    return combiner_forwards(it) ? combiner_read_forwarded(it, origins, n, how, out, err)
                                 : combiner_read_joined(it, origins, n, how, out, err);
}

/* Checks that the state has something of inputs with names: states of older versions have it
 * elsewhere, and nothing of it would look as if the inputs began. */
static levada_status combiner_restore(levada_node *it, levada_state_reader *from,
                                      levada_error *err)
{
    if (levada_dataset_input_name(it->at, 0) && !levada_state_has_below(from, it->path)) {
        return levada_fail(err, LEVADA_EFAILED_PRECONDITION,
                           "the checkpoint was saved by an older version, in which inputs with "
                           "names had other paths");
    }
    return levada_stage_state_restore(it, from, err);
}

static const levada_node_ops combiner_ops = {
    .kind = LEVADA_NODE_COMBINER,
    .next = combiner_next,
    .save = levada_stage_state_save,
    .restore = combiner_restore,
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
