/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walks over the tree: saving, restoring, beginning again, reading records again.
 */
#include "base/assert.h"
#include "run/input_cursor.h"
#include "run/node.h"
#include "run/plan.h"
#include "tensor/encoded.h"

#include <stdio.h>
#include <string.h>

#define TREE_RETURNED "#unread" /* a block that the consumer returned */
#define TREE_REST     "#rest"   /* the remainder of a block */

/* -- what waits at an inlet */

/* Shares need to know how far a place has come, and so does a combiner whose pipes have one. File
 * readers have their own. */
static bool tree_has_progress(const levada_node *it)
{
    const levada_skip_progress *p = &it->progress;

    if (it->ops->kind == LEVADA_NODE_FORMAT) return false;
    return it->run->skips.policy.share >= 0 ||
           (it->at->op->family == LEVADA_FAMILY_COMBINER && (p->read || p->lost));
}

static levada_status tree_save_waiting(levada_node *it, levada_state_writer *to, levada_error *err)
{
    const levada_inlet *inlet = &it->inlet;

    for (int32_t i = 0; i < inlet->n; i++) {
        const char         *key = i == 0 && inlet->returned ? TREE_RETURNED : TREE_REST;
        const levada_cursor all = { .block = inlet->items[i].block };

        LEVADA_TRY(levada_input_cursor_save(&all, it, to, key, err));
        LEVADA_TRY(levada_rejects_save(&inlet->items[i].rejects, to, key, err));
    }
    if (tree_has_progress(it)) LEVADA_TRY(levada_skip_progress_save(&it->progress, to, err));
    return levada_inlet_save_skip(it->path, inlet->skip_rows, inlet->skip_rejects, to, err);
}

/* Finds the counts of a reject that waits at a node: it is of the node, of nodes upstream, or of
 * pipes. */
static levada_skip_counts *tree_find_counts(void *user, const char *path)
{
    levada_node        *it = user;
    levada_skip_counts *found = NULL;

    if (strcmp(it->skips.path, path) == 0) return &it->skips;
    if (strcmp(it->place.counts->path, path) == 0) return it->place.counts;
    for (int32_t i = 0; !found && i < it->ninputs; i++) {
        found = tree_find_counts(it->inputs[i], path);
    }
    return found;
}

/* Leaves *out empty if there is no such item in the state. */
static levada_status tree_restore_item(levada_node *it, levada_item *out, const char *key,
                                       levada_state_reader *from, levada_error *err)
{
    levada_cursor cur = { 0 };
    char          name[LEVADA_STATE_NAME];

    snprintf(name, sizeof name, "%s.n", key);
    if (!levada_state_has(from, name)) return LEVADA_OK;
    LEVADA_TRY(levada_input_cursor_restore(&cur, it, from, key, err));
    out->block = cur.block;
    return levada_rejects_restore(&out->rejects, levada_item_rows(out), from, key,
                                  tree_find_counts, it, err);
}

static levada_status tree_restore_waiting(levada_node *it, levada_state_reader *from,
                                          levada_error *err)
{
    levada_item   rest = { 0 }, returned = { 0 };
    levada_status st;

    LEVADA_TRY(levada_inlet_restore_skip(&it->inlet, from, err));
    LEVADA_TRY(levada_skip_progress_restore(&it->progress, from, err));
    st = tree_restore_item(it, &returned, TREE_RETURNED, from, err);
    if (st == LEVADA_OK) st = tree_restore_item(it, &rest, TREE_REST, from, err);
    levada_inlet_restore(&it->inlet, &returned, &rest);
    return st;
}

/* -- save, restore, rewind, re-read */

/* Makes the scope of a node's state. Records of a node with one input wait there; a combiner says
 * which one it means (run/input_cursor.h). */
static levada_state_scope tree_scope(const levada_node *it)
{
    return (levada_state_scope){
        .path = it->path,
        .version = it->version,
        .edge = it->ninputs == 1 ? &it->inputs[0]->edge : NULL,
    };
}

/* Returns an error if records may be lost. A combiner returns the records before a failure first;
 * its state may be requested before it reports the failure. */
static levada_status tree_savable(const levada_node *it, levada_error *err)
{
    if (!it->inlet.lost) return LEVADA_OK;
    return levada_fail(err, LEVADA_EFAILED_PRECONDITION,
                       "a stage has failed and records may be lost; resume from an earlier "
                       "checkpoint (%s)",
                       it->inlet.why.message);
}

levada_status levada_node_save(levada_node *it, levada_state_writer *to, levada_error *err)
{
    levada_state_scope before = to->scope;
    levada_status st = tree_savable(it, err);

    to->scope = tree_scope(it);
    if (st == LEVADA_OK && it->ops->save) st = it->ops->save(it, to, err);
    to->scope = tree_scope(it);
    if (st == LEVADA_OK) st = tree_save_waiting(it, to, err);
    to->scope = before;
    if (st != LEVADA_OK) {
        levada_error_place(err, it->path, NULL, -1, -1);
        return st;
    }
    if (it->ops->kind == LEVADA_NODE_FUSED) return LEVADA_OK;
    for (int32_t i = 0; i < it->ninputs; i++) LEVADA_TRY(levada_node_save(it->inputs[i], to, err));
    return LEVADA_OK;
}

levada_status levada_node_save_live_facts(levada_node *it, levada_state_writer *to,
                                          levada_error *err)
{
    levada_state_scope before = to->scope;
    levada_status st = LEVADA_OK;

    to->scope = tree_scope(it);
    if (it->ops->files && it->ops->files->save_live_facts) {
        st = it->ops->files->save_live_facts(it, to, err);
    }
    if (st == LEVADA_OK) st = levada_skips_save(&it->run->skips, &it->skips, to, err);
    to->scope = before;
    for (int32_t i = 0; st == LEVADA_OK && i < it->ninputs; i++) {
        st = levada_node_save_live_facts(it->inputs[i], to, err);
    }
    return st;
}

/* Returns true if the state has nothing of a named input, which then begins. The combiner restores
 * what it has of its inputs, and so finds out what should have been there. */
static bool tree_begins(const levada_node *it, int32_t i, const levada_state_reader *from)
{
    const char *name = it->ops->kind == LEVADA_NODE_COMBINER
                           ? levada_dataset_input_name(it->at, i)
                           : NULL;
    char        path[LEVADA_STATE_PATH];

    if (!name || levada_node_input_path(it->path, name, path, NULL) != LEVADA_OK) return false;
    return !levada_state_has_below(from, path);
}

/* Inputs first: a row store that reads records again needs them in their place. */
levada_status levada_node_restore(levada_node *it, levada_state_reader *from, levada_error *err)
{
    levada_state_scope before = from->scope;
    levada_status st = LEVADA_OK;

    for (int32_t i = 0; i < it->ninputs; i++) {
        if (tree_begins(it, i, from)) continue;
        LEVADA_TRY(levada_node_restore(it->inputs[i], from, err));
    }
    from->scope = tree_scope(it);
    levada_inlet_clear(&it->inlet);
    st = levada_skips_restore(&it->run->skips, &it->skips, from, err);
    if (st == LEVADA_OK && it->ops->restore) st = it->ops->restore(it, from, err);
    if (st == LEVADA_OK) st = tree_restore_waiting(it, from, err);
    from->scope = before;
    if (st != LEVADA_OK) levada_error_place(err, it->path, NULL, -1, -1);
    return st;
}

static bool tree_ended(const levada_node *it) { return it->inlet.reported == LEVADA_END; }

/* Halts the most downstream node first: a halted node pulls no more from those upstream. */
static levada_status tree_halt(levada_node *it, int32_t worker)
{
    if (it->ops->ahead && it->ops->ahead->halt) LEVADA_TRY(it->ops->ahead->halt(it, worker));
    for (int32_t i = 0; i < it->ninputs; i++) LEVADA_TRY(tree_halt(it->inputs[i], worker));
    return LEVADA_OK;
}

/* Counts how often the node here started again. Fused stages have no number, but one input. */
static int64_t tree_pass(const levada_node *it)
{
    while (it->ops->kind == LEVADA_NODE_FUSED) it = it->inputs[0];
    return it->context.pass - it->opened_as;
}

/* Returns the pass of its inputs in which pass number n of a node begins. It is not how often they
 * really began, because what was read ahead in the pass before depends on threads and on the size
 * of blocks. */
static int64_t tree_first_pass(const levada_node *it, int64_t n)
{
    return n <= LEVADA_COUNT_LIMIT / it->repeat_count ? n * it->repeat_count : n;
}

/* Rewinds a node after its inputs. `read_to_end`: the consumer read the pass that ends. Threads may
 * have read further upstream. */
static levada_status tree_rewind(levada_node *it, int64_t pass, bool read_to_end, levada_error *err)
{
    for (int32_t i = 0; i < it->ninputs; i++) {
        LEVADA_TRY(tree_rewind(it->inputs[i], tree_first_pass(it, pass),
                               read_to_end && tree_ended(it->inputs[i]), err));
    }
    levada_skip_next_pass(&it->progress, read_to_end);
    it->context.pass = it->opened_as + pass;
    levada_inlet_clear(&it->inlet);
    it->kept.n = 0;
    return it->ops->rewind(it, read_to_end, err);
}

levada_status levada_input_rewind(levada_node *it, levada_error *err)
{
    LEVADA_TRY(levada_require(it != NULL, "in", err));
    LEVADA_TRY(tree_halt(it, it->puller->worker));
    return tree_rewind(it, tree_pass(it) + 1, tree_ended(it), err);
}

/* Returns true if each record is one of an input, not made of one of each. */
static bool tree_forwards(const levada_node *it)
{
    return it->ops->kind == LEVADA_NODE_COMBINER && levada_op_forwards(it->at->op);
}

int32_t levada_node_origin_parts(const levada_node *it)
{
    bool    forwards = tree_forwards(it);
    int32_t nparts = it->ninputs == 0;

    for (int32_t i = 0; i < it->ninputs; i++) {
        int32_t in = levada_node_origin_parts(it->inputs[i]);

        nparts = !forwards ? nparts + in : in > nparts ? in : nparts;
    }
    return nparts;
}

bool levada_node_owns_source(const levada_node *it, int32_t part, int32_t source)
{
    bool forwards = tree_forwards(it);
    bool found = it->ninputs == 0 && part == 0 && it->source == source;

    for (int32_t i = 0; !found && i < it->ninputs; i++) {
        found = levada_node_owns_source(it->inputs[i], part, source);
        if (!forwards) part -= levada_node_origin_parts(it->inputs[i]);
    }
    return found;
}

bool levada_node_rereadable(const levada_node *it)
{
    if (!it->ops->access) return false;
    return !it->ops->access->possible || it->ops->access->possible(it);
}

levada_status levada_node_read(levada_node *it, const levada_origin *origins, int64_t n,
                               levada_read how, levada_block **out, levada_error *err)
{
    levada_status st;

    if (!levada_node_rereadable(it)) {
        return levada_fail(err, LEVADA_EUNIMPLEMENTED,
                           "records of '%s' cannot be read again; write them to files first",
                           it->path);
    }
    st = it->ops->access->read(it, origins, n, how, out, err);
    if (st == LEVADA_AGAIN) { /* there is nobody to ask again */
        st = levada_fail(err, LEVADA_ECANCELLED, "interrupted while records were read");
    }
    if (st == LEVADA_OK && !it->encoded) {
        st = levada_block_decode(levada_env_pool(it->run->env), out, err);
        if (st != LEVADA_OK) levada_block_unref(out);
    }
    if (st == LEVADA_OK && (*out)->n != n) {
        st = levada_fail(err, LEVADA_EFAILED_PRECONDITION,
                         "%lld of %lld buffered records do not exist any more",
                         (long long)(n - (*out)->n), (long long)n);
        levada_block_unref(out);
    }
    if (st != LEVADA_OK) levada_error_place(err, it->path, NULL, -1, -1);
    return st;
}

void levada_node_cancel(levada_node *it)
{
    if (it->ops->cancel) it->ops->cancel(it);
    for (int32_t i = 0; i < it->ninputs; i++) levada_node_cancel(it->inputs[i]);
}

/* -- for entries of states */

static int32_t tree_edge_parts(const levada_edge *edge)
{
    return levada_node_origin_parts((const levada_node *)edge);
}

static bool tree_edge_owns_source(const levada_edge *edge, int32_t part, int32_t source)
{
    return levada_node_owns_source((const levada_node *)edge, part, source);
}

/* Returns true if a node or one upstream has inputs with names. */
static bool tree_has_names(const levada_node *it)
{
    bool found = it->ops->kind == LEVADA_NODE_COMBINER && levada_dataset_input_name(it->at, 0);

    for (int32_t i = 0; !found && i < it->ninputs; i++) found = tree_has_names(it->inputs[i]);
    return found;
}

static bool tree_edge_gone_source(const levada_edge *edge, int32_t source)
{
    const levada_node *it = (const levada_node *)edge;
    bool               ours = false;

    for (int32_t part = 0; !ours && part < levada_node_origin_parts(it); part++) {
        ours = levada_node_owns_source(it, part, source);
    }
    return source >= LEVADA_PIPE_SOURCES && !ours && tree_has_names(it);
}

static bool tree_edge_rereadable(const levada_edge *edge)
{
    return levada_node_rereadable((const levada_node *)edge);
}

static levada_status tree_edge_read(levada_edge *edge, const levada_origin *origins, int64_t n,
                                    levada_read how, levada_block **out, levada_error *err)
{
    return levada_node_read((levada_node *)edge, origins, n, how, out, err);
}

static levada_status tree_edge_check_cancelled(const levada_edge *edge, levada_error *err)
{
    return levada_run_check_cancelled(((const levada_node *)edge)->run, err);
}

static void tree_edge_place(const levada_edge *edge, const char *path, const levada_block *block,
                            int64_t row, levada_error *err)
{
    levada_run_place(((const levada_node *)edge)->run, path, block, row, err);
}

const levada_edge_ops levada_node_edge_ops = {
    .nparts = tree_edge_parts,
    .owns_source = tree_edge_owns_source,
    .gone_source = tree_edge_gone_source,
    .rereadable = tree_edge_rereadable,
    .read = tree_edge_read,
    .check_cancelled = tree_edge_check_cancelled,
    .place = tree_edge_place,
};
