/* SPDX-License-Identifier: Apache-2.0 */
#include "run/node.h"

#include "base/alloc.h"
#include "base/hash.h"
#include "base/random.h"
#include "run/plan.h"
#include "run/workers.h"
#include "tensor/encoded.h"

#include <stdio.h>
#include <string.h>

#define NODE_NAME 24    /* bytes of a name in a path; a longer one is cut before its hash */
#define NODE_MARKS "/~" /* what ends a name, or begins a hash: a name is cut before one of them */
#define NODE_NAME_BEGIN 14

levada_status levada_node_input_path(const char *combiner, const char *name,
                                     char out[LEVADA_STATE_PATH], levada_error *err)
{
    size_t   size = strlen(name), begin = strcspn(name, NODE_MARKS);
    uint64_t hash = levada_hash64(name, size, 0);
    bool     whole = begin == size && size <= NODE_NAME;
    int      n;

    if (begin > NODE_NAME_BEGIN) begin = NODE_NAME_BEGIN;
    while (begin > 0 && (name[begin] & 0xC0) == 0x80) begin--; /* in UTF-8 */
    n = whole ? snprintf(out, LEVADA_STATE_PREFIX, "%s/%s", combiner, name)
              : snprintf(out, LEVADA_STATE_PREFIX, "%s/%.*s~%08x", combiner, (int)begin, name,
                         (unsigned)(uint32_t)hash);
    if (n < LEVADA_STATE_PREFIX - 1) return LEVADA_OK;
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                       "named inputs are nested too deeply: the path of '%s' exceeds %d bytes",
                       name, LEVADA_STATE_PREFIX - 1);
}

levada_context levada_node_context(levada_run *run, const levada_dataset *at, uint64_t namesake)
{
    uint64_t name = levada_hash64(at->op->name, strlen(at->op->name), namesake);
    levada_context context = {
        .struct_size = sizeof context,
        .env = run->env,
        .run = run,
        .seed = levada_random_key((uint64_t)run->seed ^ (run->inner ? run->inner->salt : 0), name),
        .epoch = run->epoch,
        .block_rows = run->block_rows,
        .threads = run->threads,
        .max_record_bytes = run->max_record_bytes,
        .in = at->ninputs ? at->inputs[0]->spec : NULL,
        .out = at->spec,
    };

    return context;
}

#define NODE_PASSES 1000003 /* at most, and of a node that repeats its inputs without an end */

/* Passes of the inputs for each one of the node. Without an end they meet those of the next one
 * some day; a number that is odd lets the last bits, which origins have, differ for long. */
static int64_t node_passes(const levada_dataset *at)
{
    int64_t n = levada_traits_of(at).repeats;

    if (n < 1) return 1;
    return n < NODE_PASSES ? n : NODE_PASSES;
}

levada_status levada_node_create(levada_run *run, const levada_step *step,
                                 const levada_node_ops *ops, levada_node **out, levada_error *err)
{
    const levada_dataset *at = step->at;
    levada_node *it = levada_alloc_zero(sizeof *it);

    if (!it) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a stage");
    it->ops = ops;
    it->run = run;
    it->at = at;
    it->edge = (levada_edge){ &levada_node_edge_ops, at, at->spec };
    it->context = step->context;
    it->context.node = it;
    it->repeat_count = node_passes(at);
    levada_inlet_clear(&it->inlet);
    it->puller = run->inner ? run->inner->puller : &run->consumer;
    memcpy(it->path, step->path, sizeof it->path);
    it->skips.path = it->path;
    it->place = (levada_skip_place){ &it->skips, it->path, run->inner != NULL };
    if (run->inner) it->place.counts = run->inner->skips;
    *out = it;
    return LEVADA_OK;
}

void levada_node_destroy(levada_node **it)
{
    levada_node *i = *it;

    *it = NULL;
    if (!i) return;
    levada_inlet_clear(&i->inlet);
    levada_rejects_clear(&i->kept);
    levada_free(i->shown.chosen);
    levada_free(i->shown.reads);
    if (i->ops->close) i->ops->close(i);
    for (int32_t k = 0; k < i->ninputs; k++) levada_node_destroy(&i->inputs[k]);
    levada_free(i->inputs);
    levada_spec_unref(&i->fed);
    levada_free(i);
}

/* Returns true if a node reads columns that are not decoded, as far as is known. */
static bool node_reads_encoded(const levada_node *it)
{
    const levada_op *op = it->at->op;
    levada_fused    *fused = levada_node_is_fused(it);
    int32_t          late = LEVADA_LATE_NO;

    if (fused) return levada_fused_reads_encoded(fused);
    if (op->family == LEVADA_FAMILY_STAGE) late = (int32_t)levada_op_core(op)->late;
    if (op->family == LEVADA_FAMILY_COMBINER) late = op->def.combiner.late;
    return late == LEVADA_LATE_TAKES || (late == LEVADA_LATE_PASS && it->encoded);
}

static void node_set_encoded(levada_node *it)
{
    levada_fused *fused = levada_node_is_fused(it);

    it->encoded = true;
    if (fused) levada_fused_set_encoded(fused);
    if (!node_reads_encoded(it)) return;
    for (int32_t i = 0; i < it->ninputs; i++) {
        if (!it->inputs[i]->encoded) node_set_encoded(it->inputs[i]);
    }
}

levada_status levada_node_adopt(levada_node *it, levada_node **in, int32_t n, levada_error *err)
{
    bool late = node_reads_encoded(it);

    it->inputs = levada_alloc((size_t)n * sizeof(*it->inputs) + 1);
    if (!it->inputs) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED,
                                        "out of memory for a stage");
    for (int32_t i = 0; i < n; i++) {
        it->inputs[i] = in[i];
        in[i]->consumer = it;
        in[i] = NULL;
        if (late) node_set_encoded(it->inputs[i]);
    }
    it->ninputs = n;
    return LEVADA_OK;
}
