/* SPDX-License-Identifier: Apache-2.0 */
#include "run/fused_priv.h"

#include "base/alloc.h"
#include "description/columns.h"
#include "description/dataset_priv.h"
#include "registry/env_priv.h"
#include "run/absent.h"
#include "run/node.h"
#include "tensor/builder_priv.h"
#include "tensor/encoded.h"

#include <stdio.h>
#include <string.h>

struct levada_fused {
    int32_t      threads, n;
    int64_t      capacity; /* of links */
    bool         batched;  /* its input is batches */
    bool         encoded;  /* its result may be (tensor/encoded.h) */
    int64_t      batch;    /* rows of the batches that its result becomes; 0 = not known */
    int64_t      pulled;   /* rows of its input so far */
    atomic_llong rejected; /* of these */
    levada_fused_link **links;
    int32_t      ends;     /* passes that have ended; 2 = or more */
};

/* One apply on its way through the links. */
typedef struct fused_pass {
    levada_run              *run;
    const levada_skip_place *place;
    int32_t                  thread;
    const levada_block      *in;
    levada_rejects           bad; /* of its item and all links so far, by the rows of `in` */
    bool                     batched;
    levada_late_decode       late; /* for the decoder that comes next */
} fused_pass;

levada_status levada_fused_create(int32_t threads, levada_fused **out, levada_error *err)
{
    levada_fused *fused = levada_alloc_zero(sizeof *fused);

    if (!fused) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a stage");
    fused->threads = threads;
    *out = fused;
    return LEVADA_OK;
}

void levada_fused_set_input_batched(levada_fused *fused) { fused->batched = true; }

void levada_fused_set_encoded(levada_fused *fused) { fused->encoded = true; }

/* Returns true if what link i - 1 makes may be encoded. */
static bool fused_reads_encoded(const levada_fused *fused, int32_t i)
{
    for (; i < fused->n; i++) {
        const levada_op *op = fused->links[i]->op;
        int32_t late = op->family == LEVADA_FAMILY_STAGE ? (int32_t)levada_op_core(op)->late
                                                         : LEVADA_LATE_PASS;

        if (late != LEVADA_LATE_PASS) return late == LEVADA_LATE_TAKES;
    }
    return fused->encoded;
}

/* Returns what the decoder that is link i may leave encoded. */
static levada_late_decode fused_late(const levada_fused *fused, const levada_run *run, int32_t i)
{
    levada_late_decode how = (levada_late_decode)levada_env_late_decode(run->env);

    if (how != LEVADA_LATE_DECODE_AUTO) return how;
    return fused_reads_encoded(fused, i + 1) ? how : LEVADA_LATE_DECODE_NEVER;
}

bool levada_fused_reads_encoded(const levada_fused *fused) { return fused_reads_encoded(fused, 0); }

/* -- blocks that become batches */

/* Smaller blocks, or larger tickets, cost more than the copy. */
#define FUSED_BATCH_LEAST 128
#define FUSED_BATCH_MOST  2048

/* Returns true if all columns come from a decoder that does not look at its records before, and
 * rows stay as many. */
static bool fused_keeps_rows(const levada_fused *fused)
{
    for (int32_t i = 0; i < fused->n; i++) {
        const levada_fused_link *l = fused->links[i];

        if (l->paced || (l->decoder && l->decoder->measure)) return false;
        if (i == 0 && !(l->decoded && levada_spec_equal(l->decoded, l->out))) return false;
        if (!l->decoder && l->op->traits.rows != LEVADA_ROWS_ONE_TO_ONE) return false;
    }
    return fused->n > 0;
}

/* Returns false if ragged columns should stay encoded in the chunk of their file, from which a
 * batch decodes them. */
static bool fused_passes_columns(const levada_spec *spec)
{
    for (int32_t i = 0; i < levada_spec_count(spec); i++) {
        if (levada_spec_field(spec, i)->depth > 0) return false;
    }
    return !(levada_spec_flags_of(spec) & LEVADA_SPEC_OPEN);
}

void levada_fused_set_batch(levada_fused *fused, int64_t rows)
{
    bool fits = rows >= FUSED_BATCH_LEAST && rows <= FUSED_BATCH_MOST && fused_keeps_rows(fused);
    int64_t batch = fits && fused_passes_columns(levada_fused_spec(fused)) ? rows : 0;

    /* Set before there are workers; a later pass has the same batches, and workers may read this.
     */
    if (fused->batch != batch) fused->batch = batch;
}

void levada_fused_rewind(levada_fused *fused)
{
    fused->pulled = 0;
    atomic_store_explicit(&fused->rejected, 0, memory_order_relaxed);
}

static void fused_free_link(levada_fused_link *l)
{
    void (*close)(void *) = l->decoder ? l->decoder->close : l->op->def.stage.close;

    for (int32_t i = 0; close && i < l->opened; i++) close(levada_fused_state(l, i));
    levada_spec_unref(&l->decoded);
    levada_free(l->states);
    levada_free(l);
}

void levada_fused_destroy(levada_fused **fused)
{
    levada_fused *c = *fused;

    *fused = NULL;
    if (!c) return;
    for (int32_t i = 0; i < c->n; i++) fused_free_link(c->links[i]);
    levada_free(c->links);
    levada_free(c);
}

/* Opens a state for each thread. SERIAL stages have one state, with their node: only the fused end
 * is opened here. */
static levada_status fused_open_states(levada_fused *fused, levada_fused_link *l, levada_error *err)
{
    size_t size = l->decoder ? l->decoder->state_size : l->op->def.stage.state_size;
    levada_status (*open)(void *, const void *, const levada_context *, levada_error *) =
        l->decoder ? l->decoder->open : l->op->def.stage.open;

    l->state_size = (size + 63) & ~(size_t)63; /* no shared cache lines */
    l->states = levada_alloc_aligned(64, l->state_size * (size_t)fused->threads + 64);
    if (!l->states)
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a stage");
    memset(l->states, 0, l->state_size * (size_t)fused->threads);
    for (int32_t i = 0; i < fused->threads; i++) {
        l->opened = i + 1;
        if (open) LEVADA_TRY(open(levada_fused_state(l, i), l->args, &l->context, err));
    }
    return LEVADA_OK;
}

static levada_status fused_reserve(levada_fused *fused, levada_error *err)
{
    if (levada_reserve(&fused->links, &fused->capacity, fused->n + 1, sizeof(*fused->links))) {
        return LEVADA_OK;
    }
    return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a stage");
}

/* Returns the function of the user that a stage calls, or NULL. */
static const levada_function *fused_function(const levada_dataset *at)
{
    const levada_function *f = NULL;

    for (int64_t i = 0; !f && i < levada_value_count(at->options); i++)
        f = levada_value_as_function(levada_value_item(at->options, i));
    return f;
}

/* Returns true if the columns that a function of the user makes are not declared, although they
 * could be: those of its first result then apply to all. */
static bool fused_infers(const levada_dataset *at)
{
    const levada_value *spec = levada_value_get(at->options, "spec");

    return fused_function(at) && spec && levada_value_kind_of(spec) == LEVADA_VALUE_NULL;
}

levada_status levada_fused_add(levada_fused *fused, const levada_dataset *at,
                               const levada_context *context, const char *path, levada_error *err)
{
    levada_fused_link   *l;
    levada_status st = LEVADA_OK;

    LEVADA_TRY(fused_reserve(fused, err));
    l = levada_alloc_zero(sizeof *l);
    if (!l) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a stage");
    l->at = at;
    l->op = at->op;
    l->decoder = levada_op_decoder(at->op);
    l->paced = fused_function(at) && levada_function_info(fused_function(at))->per_record;
    l->infers = fused_infers(at);
    l->args = at->args;
    l->out = at->spec;
    l->context = *context;
    snprintf(l->path, sizeof l->path, "%s", path);
    if (l->decoder) st = levada_op_decoded_spec(l->op, l->args, &l->decoded, err);
    if (st == LEVADA_OK) st = fused_open_states(fused, l, err);
    if (st != LEVADA_OK) {
        levada_error_wrap(err, "%s", l->op->name);
        fused_free_link(l);
        return st;
    }
    fused->links[fused->n++] = l;
    return LEVADA_OK;
}

int32_t levada_fused_count(const levada_fused *fused) { return fused->n; }

const levada_spec *levada_fused_spec(const levada_fused *fused)
{
    return fused->n ? fused->links[fused->n - 1]->out : NULL;
}

const char *levada_fused_path(const levada_fused *fused)
{
    return fused->n ? fused->links[fused->n - 1]->path : NULL;
}

bool levada_fused_rereadable(const levada_fused *fused)
{
    for (int32_t i = 0; i < fused->n; i++) {
        const levada_op *op = fused->links[i]->op;

        if (fused->links[i]->decoder) continue;
        if (op->def.stage.mode != LEVADA_MODE_PURE) return false;
        if (op->traits.rows != LEVADA_ROWS_ONE_TO_ONE && op->traits.rows != LEVADA_ROWS_SUBSET) {
            return false;
        }
    }
    return true;
}

/* -- the block of one apply */

levada_hint levada_fused_hint(const levada_fused *fused)
{
    const int64_t rejected = atomic_load_explicit(&fused->rejected, memory_order_relaxed);
    levada_hint   hint = LEVADA_HINT_ANY;

    if (fused->batch) {
        hint.rows = fused->batch - (fused->pulled - rejected) % fused->batch;
        hint.bytes = LEVADA_FUSED_BYTES;
    }
    for (int32_t i = 0; !fused->batched && i < fused->n; i++) {
        levada_fused_link *l = fused->links[i];
        int64_t            most = l->paced ? levada_pace_rows(&l->pace) : hint.rows;

        if (most < hint.rows) hint.rows = most;
    }
    return hint;
}

levada_status levada_fused_measure(const levada_fused *fused, const levada_block *in,
                                   int64_t *rows, levada_error *err)
{
    const levada_fused_link *l = fused->n ? fused->links[0] : NULL;
    int64_t           bytes = 0, i = 0;
    int32_t           field = 0;

    *rows = in->n;
    if (!l || fused->batched || !l->decoder || !l->decoder->measure || in->n < 2) return LEVADA_OK;
    if (l->op->family == LEVADA_FAMILY_DECODER) LEVADA_TRY(levada_fused_field(l, in, &field, err));
    for (; i < in->n && bytes < LEVADA_FUSED_BYTES; i++) {
        int64_t              row;
        const levada_column *c = &levada_block_row(in, i, &row)->columns[field];
        int32_t              begin = c->level[0].begin[row], end = c->level[0].end[row];

        bytes += l->decoder->measure(l->args, c->values + begin, end - begin);
    }
    *rows = i > 1 && bytes > LEVADA_FUSED_BYTES ? i - 1 : i;
    return LEVADA_OK;
}

void levada_fused_pulled(levada_fused *fused, int64_t rows) { fused->pulled += rows; }

bool levada_fused_in_turn(const levada_fused *fused)
{
    for (int32_t i = 0; i < fused->n; i++) {
        const levada_fused_link *l = fused->links[i];

        if (l->infers && atomic_load_explicit(&l->records, memory_order_relaxed) == 0) return true;
    }
    return false;
}

/* -- stages */

static levada_status fused_stage(const fused_pass *p, levada_fused_link *l, const levada_block *in,
                                 levada_block **out, levada_error *err)
{
    const levada_stage_def *def = &l->op->def.stage;
    levada_block           *flat = NULL;
    levada_status           st;

    if (in->encoded && levada_op_core(l->op)->late == LEVADA_LATE_NO) {
        LEVADA_TRY(levada_block_decoded(levada_env_pool(p->run->env), in, &flat, err));
    } else if (in->kind == LEVADA_BLOCK_SELECTION && !def->takes_selection) {
        LEVADA_TRY(levada_block_compact(levada_env_pool(p->run->env), in, &flat, err));
    }
    st = def->apply(levada_fused_state(l, p->thread), l->args, flat ? flat : in, out, err);
    levada_block_unref(&flat);
    return st;
}

/* Sets the origins of the output if the stage relies on the core for that, and the layout of a
 * batch whose records are not made yet. */
static levada_status fused_origins(const fused_pass *p, const levada_fused_link *l,
                                   const levada_block *in, levada_block *out, levada_error *err)
{
    bool same = l->decoder || l->op->traits.rows == LEVADA_ROWS_ONE_TO_ONE;

    if (same && out != in && in->layout && in->layout->least) {
        levada_block_set_layout(out, in->layout);
    }
    if (!same || out == in || out->kind != LEVADA_BLOCK_DATA || out->origins.each) return LEVADA_OK;
    if (out->n != in->n) {
        return levada_fail(err, LEVADA_EINTERNAL,
                           "a stage must return a record for each record, got %lld for %lld",
                           (long long)out->n, (long long)in->n);
    }
    return levada_block_copy_origins(levada_env_pool(p->run->env), out, in, err);
}

/* -- rejects */

/* Keeps the rejects of a link with the pass, because the next stage makes another block. Both lists
 * are in the order of rows of `in`, and so is the one that they are merged to. */
static levada_status fused_keep_rejects(fused_pass *p, const levada_rejects *made,
                                        levada_error *err)
{
    int32_t        a = p->bad.n, b = made->n;
    levada_reject *to;

    LEVADA_TRY(levada_rejects_add(&p->bad, made->list, b, err));
    for (int32_t i = 0; i < b; i++) made->list[i].row = made->list[i].loss.total - 1;
    for (to = p->bad.list + p->bad.n; b > 0;) {
        bool theirs = a > 0 && p->bad.list[a - 1].row > made->list[b - 1].row;

        *--to = theirs ? p->bad.list[--a] : made->list[--b];
    }
    return LEVADA_OK;
}

/* Makes the rows of rejects those of the result: before the output of their record, or of later
 * ones. Rows that cannot be traced to the input are last. A batch is not cut: it follows all of
 * them. */
static void fused_place_rejects(const fused_pass *p, const levada_block *made)
{
    const levada_block *in = p->in;
    int64_t             k = 0, row = -1;

    for (int32_t i = 0; i < p->bad.n; i++) {
        levada_reject *bad = &p->bad.list[i];

        while (made && !p->batched && k < made->n && row < bad->row) {
            int64_t from = row > 0 ? row : 0;
            int64_t at = levada_run_find(in, from, levada_block_origin(made, k));

            row = at >= 0 ? at : in->n;
            k += row < bad->row;
        }
        bad->row = k;
    }
}

static levada_status fused_link_apply(fused_pass *p, levada_fused_link *l, const levada_block *in,
                                      levada_block **out, levada_error *err)
{
    int64_t       began = levada_now(), rows = in->n;
    levada_block *made = NULL;
    levada_status st;

    if (l->decoder) {
        st = levada_fused_decode(l, p->thread, p->late, in, &made, err);
    } else {
        st = fused_stage(p, l, in, &made, err);
    }
    if (st == LEVADA_OK) st = fused_origins(p, l, in, made, err);
    if (st == LEVADA_OK && made->nrejects) {
        levada_item item = { .block = made };

        st = levada_run_reject(p->run, p->place, l->path, p->in, &item, err);
        if (st == LEVADA_OK) st = fused_keep_rejects(p, &item.rejects, err);
        levada_rejects_clear(&item.rejects);
        made = item.block;
    }
    if (st != LEVADA_OK) {
        levada_block_unref(&made);
        levada_error_place(err, l->path, NULL, -1, -1);
        return st;
    }
    if (l->paced) levada_pace_add(&l->pace, levada_now() - began, rows);
    atomic_fetch_add_explicit(&l->nanoseconds,
                              levada_meter_end(&p->run->meter, l->path, began, made->n),
                              memory_order_relaxed);
    atomic_fetch_add_explicit(&l->records, made->n, memory_order_relaxed);
    atomic_fetch_add_explicit(&l->blocks, 1, memory_order_relaxed);
    *out = made;
    return LEVADA_OK;
}

levada_status levada_fused_apply(levada_fused *fused, levada_run *run,
                                 const levada_skip_place *place, int32_t thread,
                                 const levada_item *in, levada_item *out, levada_error *err)
{
    fused_pass    pass = { .run = run, .place = place, .thread = thread, .in = in->block,
                           .batched = fused->batched };
    levada_block *at = in->block ? levada_block_ref(in->block) : NULL;
    levada_status st = levada_rejects_add(&pass.bad, in->rejects.list, in->rejects.n, err);

    for (int32_t i = 0; st == LEVADA_OK && i < fused->n && at && at->n > 0; i++) {
        levada_block *next = NULL;

        pass.late = fused_late(fused, run, i);
        st = fused_link_apply(&pass, fused->links[i], at, &next, err);
        levada_block_unref(&at);
        at = next;
    }
    if (st != LEVADA_OK) {
        levada_rejects_clear(&pass.bad);
        levada_block_unref(&at);
        return st;
    }
    fused_place_rejects(&pass, at);
    if (at && in->block->n > at->n) {
        atomic_fetch_add_explicit(&fused->rejected, in->block->n - at->n, memory_order_relaxed);
    }
    *out = (levada_item){ at, pass.bad };
    return LEVADA_OK;
}

bool levada_fused_end(levada_fused *fused, bool resumed)
{
    if (fused->ends > resumed) return false;
    return fused->ends++ == resumed;
}

void levada_fused_found(const levada_fused *fused, levada_absent *to)
{
    for (int32_t i = 0; i < fused->n; i++) {
        levada_fused_link *l = fused->links[i];
        char                     have[160] = "";
        int64_t                  records = 0;
        bool                    *there;

        if (!l->decoder || !l->decoder->found) continue;
        there = levada_alloc_zero((size_t)levada_spec_count(l->decoded) + 1);
        for (int32_t t = 0; there && t < l->opened; t++) {
            records += l->decoder->found(levada_fused_state(l, t), there, have,
                                         have[0] ? 0 : sizeof have);
        }
        if (there) levada_absent_add(to, l->path, l->decoded, there, have, records,
                                         fused->ends > 0);
        else to->failed = true;
        levada_free(there);
    }
}

void levada_fused_cancel(levada_fused *fused)
{
    for (int32_t i = 0; i < fused->n; i++) {
        const levada_fused_link *l = fused->links[i];

        if (l->op->family != LEVADA_FAMILY_STAGE || !l->op->def.stage.cancel) continue;
        for (int32_t t = 0; t < l->opened; t++) l->op->def.stage.cancel(levada_fused_state(l, t));
    }
}

void levada_fused_counts(const levada_fused *fused, int32_t i, const char **path,
                         int64_t *nanoseconds, int64_t *records, int64_t *blocks)
{
    const levada_fused_link *l = fused->links[i];

    *path = l->path;
    *nanoseconds = atomic_load_explicit(&l->nanoseconds, memory_order_relaxed);
    *records = atomic_load_explicit(&l->records, memory_order_relaxed);
    *blocks = atomic_load_explicit(&l->blocks, memory_order_relaxed);
}
