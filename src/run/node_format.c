/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sources that read files: formats driven by the file reader.
 */
#include "registry/env_priv.h"
#include "run/fused.h"
#include "run/plan.h"
#include "run/workers.h"
#include "tensor/merge.h"

/* Returns the number of the pass, as origins have it. */
static int32_t format_pass(const levada_node *it)
{
    return (int32_t)(it->context.pass & INT32_MAX);
}

/* -- blocks */

static const atomic_int format_at_once = LEVADA_HURRY_RESULT;

/* Reads a block, or rejects. AGAIN: a pipe has nothing now and *hurried is set, or an opener was
 * interrupted. */
static levada_status format_read(levada_node *it, int64_t rows, const atomic_int *hurried,
                                 levada_item *out, levada_error *err)
{
    levada_status st;

    levada_file_reader_limit(it->self, rows);
    levada_file_reader_hurry(it->self, hurried);
    st = levada_file_reader_next(it->self, &out->block, err);
    if (st == LEVADA_OK) levada_rejects_take(&out->rejects, out->block);
    return st;
}

/* Reads what is there, or waits for the writer of a pipe unless the thread is hurried. Others that
 * wait for a result learn that this takes time. */
static levada_status format_wait(levada_node *it, int64_t rows, levada_item *out,
                                 levada_error *err)
{
    levada_puller *puller = it->puller;
    levada_status  st = format_read(it, rows, &format_at_once, out, err);

    if (st == LEVADA_AGAIN && atomic_load(&puller->hurried) == 0 &&
        !levada_env_is_interrupted(it->run->env)) {
        atomic_store(&puller->dry, true);
        if (it->run->workers) levada_workers_wake(it->run->workers);
        st = format_read(it, rows, &puller->hurried, out, err);
    }
    atomic_store(&puller->dry, st == LEVADA_AGAIN);
    if (st == LEVADA_AGAIN && levada_env_is_interrupted(it->run->env)) {
        it->run->interrupted = true; /* and so is the consumer's call */
    }
    return st;
}

static levada_status format_add(levada_merge *to, levada_merge_input *from,
                                const levada_block *block, levada_error *err)
{
    LEVADA_TRY(levada_merge_switch(from, block, err));
    for (int64_t row = 0; row < block->n; row++) levada_merge_row(to, from, row);
    return LEVADA_OK;
}

/* Adds the next blocks that are there to `to`, up to the rows or bytes of the hint, or to damage,
 * whose rejects are *last. An end or a failure ends the stream of the node after them. */
static levada_status format_collect(levada_node *it, levada_hint hint, levada_merge *to,
                                    levada_merge_input *from, levada_rejects *last,
                                    levada_error *err)
{
    levada_error  why = LEVADA_ERROR_INIT;
    levada_status st = LEVADA_OK, read = LEVADA_OK;

    while (st == LEVADA_OK && to->n < hint.rows && hint.bytes > 0 && last->n == 0) {
        levada_item next = { 0 };

        read = format_read(it, hint.rows - to->n, &format_at_once, &next, &why);
        if (read != LEVADA_OK) break;
        hint.bytes -= next.block->bytes;
        st = format_add(to, from, next.block, err);
        levada_block_unref(&next.block);
        *last = next.rejects;
    }
    /* After AGAIN the next call continues. */
    if (read != LEVADA_OK && read != LEVADA_AGAIN) levada_node_end(it, read, &why);
    return st;
}

/* Replaces a block that has less rows than the consumer wants by a selection of it and of those
 * that follow, with the rejects after them. */
static levada_status format_coalesce(levada_node *it, levada_hint hint, levada_item *item,
                                     levada_error *err)
{
    levada_merge       merge = { 0 };
    levada_merge_input input = { 0 };
    levada_block      *joined = NULL;
    levada_status      st;

    hint.bytes -= item->block->bytes;
    st = levada_merge_begin(&merge, levada_env_pool(it->run->env), hint.rows, err);
    if (st == LEVADA_OK) st = format_add(&merge, &input, item->block, err);
    if (st == LEVADA_OK) st = format_collect(it, hint, &merge, &input, &item->rejects, err);
    if (st == LEVADA_OK && merge.nfrom > 1) st = levada_merge_end(&merge, &joined, err);
    if (joined) {
        levada_block_unref(&item->block);
        item->block = joined;
    }
    for (int32_t i = 0; i < item->rejects.n; i++) item->rejects.list[i].row = item->block->n;
    levada_merge_clear(&merge);
    levada_merge_input_clear(&input);
    return st;
}

static levada_status format_next(levada_node *it, levada_hint hint, levada_item *out,
                                 levada_error *err)
{
    LEVADA_TRY(format_wait(it, hint.rows, out, err));
    if (out->rejects.n || out->block->n >= hint.rows || hint.bytes == 0) return LEVADA_OK;
    return format_coalesce(it, hint, out, err);
}

static bool format_ahead(levada_node *it, bool work)
{
    return levada_file_reader_ahead(it->self, work);
}

static levada_status format_save(levada_node *it, levada_state_writer *to, levada_error *err)
{
    LEVADA_TRY(levada_state_put_i64(to, "#pass", it->context.pass, err));
    LEVADA_TRY(levada_state_put_i64(to, "#ended", it->inlet.reported == LEVADA_END, err));
    LEVADA_TRY(levada_file_reader_save(it->self, to, err));
    return it->place.piped ? levada_file_reader_save_marks(it->self, to, err) : LEVADA_OK;
}

static levada_status format_save_live_facts(levada_node *it, levada_state_writer *to,
                                            levada_error *err)
{
    return levada_file_reader_save_marks(it->self, to, err);
}

static levada_status format_restore(levada_node *it, levada_state_reader *from, levada_error *err)
{
    int64_t ended;

    LEVADA_TRY(levada_state_get_count(from, "#pass", LEVADA_COUNT_LIMIT, &it->context.pass,
                                      err));
    LEVADA_TRY(levada_state_get_count(from, "#ended", 1, &ended, err));
    LEVADA_TRY(levada_file_reader_restore(it->self, from, err));
    if (ended) levada_inlet_restore_end(&it->inlet);
    return LEVADA_OK;
}

static levada_status format_rewind(levada_node *it, bool read_to_end, levada_error *err)
{
    (void)err;
    levada_file_reader_next_pass(it->self, read_to_end);
    levada_file_reader_rewind(it->self, format_pass(it), it->run->epoch);
    return LEVADA_OK;
}

static levada_status format_access(levada_node *it, const levada_origin *origins, int64_t n,
                                      levada_read how, levada_block **out, levada_error *err)
{
    return levada_file_reader_read(it->self, origins, n, how, out, err);
}

static levada_status format_locate(levada_node *it, int64_t number, levada_origin *out,
                                   levada_error *err)
{
    return levada_file_reader_locate(it->self, number, out, err);
}

static const char *format_name(const levada_node *it, int32_t shard)
{
    return levada_file_reader_file(it->self, shard);
}

static void format_progress(const levada_node *it, int64_t *done, int64_t *total)
{
    levada_file_reader_progress(it->self, done, total);
}

static void format_close(levada_node *it)
{
    levada_file_reader *reader = it->self;

    levada_file_reader_destroy(&reader);
}

static const levada_node_ops format_ops = {
    .kind = LEVADA_NODE_FORMAT,
    .next = format_next,
    .save = format_save,
    .restore = format_restore,
    .rewind = format_rewind,
    .close = format_close,
    .access = &(const levada_access_ops){ .read = format_access, .locate = format_locate },
    .ahead = &(const levada_ahead_ops){ .work = format_ahead },
    .files = &(const levada_files_ops){ .name = format_name,
                                        .progress = format_progress,
                                        .save_live_facts = format_save_live_facts },
};

/* Makes the owner of a reader. Files of sources in pipes are known by path, those of the tree by
 * their number, because directories may move. */
static levada_file_owner format_owner(levada_node *it)
{
    levada_run *run = it->run;
    bool        listed = levada_run_source(run, it->source) == it;

    return (levada_file_owner){ .place = &it->place,
                                .names = listed ? NULL : &run->names,
                                .marks = &run->marks,
                                .lock = &run->noting,
                                .key = it->place.piped ? NULL : it,
                                .cancelled = &run->cancelled,
                                .meter = &run->meter,
                                .threads = run->workers && !run->inner ? run->threads : 0 };
}

/* Returns true if a block may go beyond one file: files in pipes have names only while they are
 * open. */
bool levada_node_can_coalesce(const levada_node *it)
{
    levada_node *self = (levada_node *)(uintptr_t)it;

    return it->ops->kind == LEVADA_NODE_FORMAT && !levada_node_emits_keys(it) &&
           !format_owner(self).names;
}

/* Emits keys in place of records, with the lengths of the index. */
static levada_status format_emit_keys(levada_node *it, const levada_keyed *keyed,
                                      levada_error *err)
{
    const levada_needed  *needed = &keyed->needed;
    const levada_dataset *input = keyed->stage->inputs[0];
    uint8_t               stages[16], plain[16];
    bool                  found = false;

    LEVADA_TRY(levada_index_hash(input, it->at, stages, err));
    LEVADA_TRY(levada_index_stages(it->at, plain, err));
    LEVADA_TRY(levada_file_reader_select(it->self, needed->fields, needed->n, stages, plain,
                                         &found, err));
    if (found) return levada_file_reader_emit_keys(it->self, needed->fields, needed->n, err);
    return levada_fail(err, LEVADA_EFAILED_PRECONDITION,
                       "the index was written again, without the lengths of '%s'",
                       needed->fields[0]);
}

levada_status levada_node_format(levada_run *run, const levada_step *step, levada_node **out,
                                 levada_error *err)
{
    const levada_dataset *at = step->at;
    levada_node        *it = NULL;
    levada_file_reader *reader = NULL;
    levada_file_owner   owner;
    levada_status       st;

    LEVADA_TRY(levada_node_create(run, step, &format_ops, &it, err));
    levada_run_add_source(run, it);
    owner = format_owner(it);
    st = levada_file_reader_create(&it->context, at->op, at->args, it->source, &owner, &reader,
                                   err);
    it->self = reader;
    if (st == LEVADA_OK) st = levada_file_reader_shuffle(reader, err);
    if (st == LEVADA_OK && step->keyed) st = format_emit_keys(it, step->keyed, err);
    if (st == LEVADA_OK) it->edge.spec = levada_file_reader_spec(reader);
    if (st == LEVADA_OK && run->inner) { /* n-th pass of a source of that number */
        it->context.pass = it->opened_as = run->inner->pass;
        levada_file_reader_rewind(reader, format_pass(it), run->epoch);
    }
    if (st == LEVADA_OK) st = levada_file_reader_policy(reader, run->errors, err);
    if (st != LEVADA_OK) {
        levada_node_destroy(&it);
        return st;
    }
    it->version = 5; /* 1 had one hash of all names, 2 no sizes, 3 counts of its own, 4 early */
    *out = it;
    return LEVADA_OK;
}
