/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rejects on their way to the consumer. They stay before the row that came after them:
 *
 *  - Fused stages receive whole blocks with their rejects (levada_node_next), and move them.
 *  - A SERIAL stage or a combiner never sees one. levada_input_next returns the rows up to the next
 *    reject. The call after that keeps the reject for the block of the stage and returns AGAIN:
 *    everything that the stage has made so far comes before it.
 *  - The handle counts them (levada_node_settle).
 */
#include "base/alloc.h"
#include "base/assert.h"
#include "run/fused.h"
#include "run/node.h"
#include "run/input_cursor.h"
#include "tensor/block_priv.h"

#include <stdio.h>
#include <string.h>

#define PASSING_AFTER INT64_MAX /* the row of a reject that comes after all rows of a block */

#define PASSING_UNREAD "#unread"
#define PASSING_REST "#rest"
#define PASSING_DROP "drop"
#define PASSING_DROP_REJECTS "drop.rejects"

/* -- a node's own */

/* What a node in a pipe rejects is numbered by the combiner that opened the pipe. */
static levada_status passing_keep(levada_node *it, const levada_reject *reject, int64_t row,
                                  levada_error *err)
{
    levada_reject *kept;

    if (!levada_reserve(&it->kept, &it->kept_capacity, it->nkept + 1, sizeof *it->kept)) {
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory while skipping records");
    }
    kept = &it->kept[it->nkept++];
    *kept = *reject;
    kept->row = row;
    if (kept->loss.piped && !it->place.piped) {
        kept->loss.piped = false;
        levada_skip_number(&kept->loss, &it->progress, it->progress.read);
    }
    return LEVADA_OK;
}

levada_status levada_node_reject(levada_node *it, const levada_error *why, int64_t unread,
                                 levada_error *err)
{
    levada_reject reject = { .why = *why };

    reject.loss = levada_skip_loss(&it->place, &it->run->skips.policy, 1);
    if (!reject.loss.piped) {
        reject.loss.lost = ++it->progress.lost;
        reject.loss.total = it->progress.read - unread;
    }
    return passing_keep(it, &reject, 0, err);
}

levada_status levada_node_note(levada_node *it, const levada_error *why, levada_error *err)
{
    levada_reject note = { .why = *why };

    note.loss = levada_skip_loss(&it->place, &it->run->skips.policy, 0);
    note.loss.noted = true;
    return passing_keep(it, &note, 0, err);
}

levada_status levada_node_dropped(levada_node *it, int64_t records, levada_error *err)
{
    levada_reject reject = { .why = LEVADA_ERROR_INIT };

    reject.why.code = LEVADA_EUNKNOWN; /* an error that a state can keep; it is never reported */
    reject.loss = levada_skip_loss(&it->place, &it->run->skips.policy, 0);
    reject.loss.piped = false;
    reject.loss.dropped = records;
    return passing_keep(it, &reject, 0, err);
}

void levada_node_number(levada_node *it, levada_block *made, int64_t records)
{
    for (int32_t i = 0; i < made->nrejects; i++) {
        levada_loss *loss = &made->rejects[i].loss;

        if (!loss->records || loss->lost || loss->piped) continue;
        loss->lost = ++it->progress.lost;
        loss->total += it->progress.read - records;
    }
}

/* Rows that a source or SERIAL stage rejected in its block. */
static levada_status passing_judge(levada_node *it, levada_block **made, levada_error *err)
{
    int64_t rows = (*made)->n;

    if (it->ops->fused || (*made)->nrejects == 0 || (*made)->rejects[0].loss.counts) {
        return LEVADA_OK;
    }
    LEVADA_TRY(levada_run_reject(it->run, &it->place, it->path, *made, made, err));
    levada_node_number(it, *made, rows);
    return LEVADA_OK;
}

/* Adds what the node kept to its block: before or after its rows. */
static levada_status passing_attach(levada_node *it, levada_block **made, levada_error *err)
{
    int32_t        own = (*made)->nrejects, before = 0;
    levada_reject *all = levada_alloc((size_t)(own + it->nkept) * sizeof *all);
    levada_block  *alone = NULL;

    if (!all) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED,
                                 "out of memory while skipping records");
    if (!levada_block_exclusive(*made)) {
        levada_status st = levada_block_copy_rows(*made, &alone, err);

        if (st != LEVADA_OK) {
            levada_free(all);
            return st;
        }
    }
    while (before < it->nkept && it->kept[before].row == 0) before++;
    memcpy(all, it->kept, (size_t)before * sizeof *all);
    if (own) memcpy(all + before, (*made)->rejects, (size_t)own * sizeof *all);
    memcpy(all + before + own, it->kept + before, (size_t)(it->nkept - before) * sizeof *all);
    for (int32_t i = before + own; i < own + it->nkept; i++) all[i].row = (*made)->n;
    if (alone) {
        levada_block_unref(made);
        *made = alone;
    }
    levada_free((*made)->rejects);
    (*made)->rejects = all;
    (*made)->nrejects = own + it->nkept;
    it->nkept = 0;
    return LEVADA_OK;
}

levada_status levada_node_make(levada_node *it, levada_block **out, levada_error *err)
{
    levada_status st = it->late;

    it->late = LEVADA_OK;
    if (st < 0 && err) *err = it->late_why;
    if (st == LEVADA_OK) st = it->ops->next(it, out, err);
    if (st == LEVADA_OK && it->ninputs == 0) it->progress.read += (*out)->n;
    if (st == LEVADA_OK) st = passing_judge(it, out, err);
    if (it->nkept == 0) return st;
    if (st != LEVADA_OK) { /* first what came before that */
        it->late = st == LEVADA_AGAIN ? LEVADA_OK : st;
        if (st < 0 && err) {
            it->late_why = *err;
            levada_error_clear(err);
        }
        LEVADA_TRY(levada_block_create(it->edge.spec, 0, out, err));
    }
    return passing_attach(it, out, err);
}

void levada_node_clear_waiting(levada_node *it)
{
    levada_cursor_clear(&it->unread);
    levada_block_unref(&it->rest);
    it->nkept = 0;
    it->late = LEVADA_OK;
}

/* -- at an input */

/* Rows before `row` into *head, NULL where there are none, and the others with the rejects from
 * number `reject` on, if any, into *tail. Takes *block on success. */
static levada_status passing_split(levada_block **block, int64_t row, int32_t reject,
                                   levada_block **head, levada_block **tail, levada_error *err)
{
    levada_block *rest = NULL;
    bool          more = row < (*block)->n || reject < (*block)->nrejects;

    *head = *tail = NULL;
    if (more) LEVADA_TRY(levada_block_tail(*block, row, reject, &rest, err));
    if (row > 0) {
        levada_status st = levada_block_slice(NULL, *block, 0, row, head, err);

        if (st != LEVADA_OK) {
            levada_block_unref(&rest);
            return st;
        }
        if (*head == *block) { /* all rows */
            levada_free((*head)->rejects);
            (*head)->rejects = NULL;
            (*head)->nrejects = 0;
        }
    }
    levada_block_unref(block);
    *tail = rest;
    return LEVADA_OK;
}

/* What comes back is not counted as read. */
static void passing_return(levada_node *it, levada_block **rest)
{
    if (!*rest) return;
    atomic_fetch_sub_explicit(&it->records, (*rest)->n, memory_order_relaxed);
    atomic_fetch_sub_explicit(&it->blocks, 1, memory_order_relaxed);
    it->rest = *rest;
    *rest = NULL;
}

/* The rejects before the first row go to the consumer; the rest waits. */
static levada_status passing_hand_over(levada_node *it, levada_block **block, levada_error *err)
{
    levada_node  *to = it->consumer;
    levada_block *head = NULL, *rest = NULL;
    int32_t       n = 0, kept = to->nkept;
    levada_status st = LEVADA_OK;

    while (st == LEVADA_OK && n < (*block)->nrejects && (*block)->rejects[n].row == 0) {
        st = passing_keep(to, &(*block)->rejects[n++], PASSING_AFTER, err);
    }
    if (st == LEVADA_OK) st = passing_split(block, 0, n, &head, &rest, err);
    if (st != LEVADA_OK) {
        to->nkept = kept;
        rest = *block;
        *block = NULL;
    }
    passing_return(it, &rest);
    return st == LEVADA_OK ? LEVADA_AGAIN : st;
}

levada_status levada_input_next(levada_node *it, levada_block **out, levada_error *err)
{
    levada_block *block = NULL, *rest = NULL;
    levada_status st = LEVADA_OK;

    LEVADA_TRY(levada_require(it != NULL, "in", err));
    LEVADA_TRY(levada_require(out != NULL, "out", err));
    LEVADA_ASSERT(it->consumer);
    if (it->consumer->nkept) return LEVADA_AGAIN; /* these come first */
    LEVADA_TRY(levada_node_next(it, &block, err));
    if (block->nrejects && block->rejects[0].row == 0) return passing_hand_over(it, &block, err);
    if (block->nrejects) {
        st = passing_split(&block, block->rejects[0].row, 0, out, &rest, err);
        if (st != LEVADA_OK) {
            rest = block;
            block = NULL;
        }
        passing_return(it, &rest);
    } else {
        *out = block;
    }
    if (st == LEVADA_OK) levada_node_count_read(it, (*out)->n);
    return st;
}

/* Rows from `row` on wait, with the rejects before them. */
static levada_status passing_cut(levada_node *it, levada_block **block, int64_t row,
                                 levada_error *err)
{
    levada_block  *head = NULL, *rest = NULL;
    levada_reject *kept = NULL;
    int32_t        n = 0;
    levada_status  st;

    while (n < (*block)->nrejects && (*block)->rejects[n].row < row) n++;
    if (n) kept = levada_alloc((size_t)n * sizeof *kept);
    if (n && !kept) {
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory while skipping records");
    }
    st = levada_block_tail(*block, row, n, &rest, err);
    if (st == LEVADA_OK) st = levada_block_slice(NULL, *block, 0, row, &head, err);
    if (st != LEVADA_OK) {
        levada_block_unref(&rest);
        levada_free(kept);
        return st;
    }
    if (n) memcpy(kept, (*block)->rejects, (size_t)n * sizeof *kept);
    head->rejects = kept;
    head->nrejects = n;
    levada_block_unref(block);
    *block = head;
    passing_return(it, &rest);
    return LEVADA_OK;
}

levada_status levada_node_pull(levada_node *it, levada_fused *fused, levada_block **out,
                               levada_error *err)
{
    levada_block *block = NULL;
    int64_t       rows = 0;
    levada_status st;

    it->wanted = levada_fused_wanted(fused);
    LEVADA_TRY(levada_node_next(it, &block, err));
    st = levada_fused_rows(fused, block, &rows, err);
    /* What comes back after an interrupt was cut before: its rest waits. */
    if (st == LEVADA_OK && rows < block->n && !it->rest) st = passing_cut(it, &block, rows, err);
    if (st != LEVADA_OK) {
        levada_node_unread(it, &block);
        return st;
    }
    levada_fused_pulled(fused, block->n);
    *out = block;
    return LEVADA_OK;
}

levada_status levada_input_peek_rows(levada_input *in, int64_t rows, const levada_block **out,
                                     levada_error *err)
{
    levada_block *block = NULL;
    levada_status st = LEVADA_OK;
    int64_t       n;

    LEVADA_TRY(levada_input_next(in, &block, err));
    n = block->n;
    if (rows < n && !in->rest) st = passing_cut(in, &block, rows, err);
    levada_node_count_read(in, block->n - n);
    levada_node_unread(in, &block);
    *out = in->unread.block;
    return st;
}

/* -- where the consumer passes */

levada_status levada_node_settle(levada_node *root, levada_block **block, levada_error *err)
{
    levada_skips *account = &root->run->skips;
    levada_block *head = NULL, *rest = NULL;
    int32_t       i = 0;
    levada_status st = LEVADA_OK;

    for (; st == LEVADA_OK && i < (*block)->nrejects; i++) {
        st = levada_skip_pass(account, root->run->env, &(*block)->rejects[i], err);
    }
    if (st != LEVADA_OK && (*block)->rejects[--i].row > 0) { /* it is reported when it is passed */
        levada_error_clear(err);
        st = passing_split(block, (*block)->rejects[i].row, i, &head, &rest, err);
        passing_return(root, &rest);
        if (st == LEVADA_OK) *block = head;
    }
    if (st != LEVADA_OK) {
        levada_block_unref(block);
        return st;
    }
    levada_free((*block)->rejects);
    (*block)->rejects = NULL;
    (*block)->nrejects = 0;
    return LEVADA_OK;
}

/* -- after a restore */

levada_status levada_node_drop(levada_node *it, levada_block **block, levada_error *err)
{
    int64_t       n = it->drop < (*block)->n ? it->drop : (*block)->n;
    int64_t       rejects = (*block)->nrejects;
    levada_block *rest = NULL;

    if (it->drop == 0 && it->drop_rejects == 0) return LEVADA_OK;
    if (it->drop_rejects < rejects) rejects = it->drop_rejects;
    if (n == 0 && rejects == 0) return LEVADA_OK;
    if (n < (*block)->n || rejects < (*block)->nrejects) {
        LEVADA_TRY(levada_block_tail(*block, n, (int32_t)rejects, &rest, err));
    }
    it->drop -= n;
    it->drop_rejects -= rejects;
    levada_block_unref(block);
    *block = rest;
    return LEVADA_OK;
}

levada_status levada_node_save_drop(const levada_node *it, int64_t records, int64_t rejects,
                                    levada_state_writer *to, levada_error *err)
{
    if (records) LEVADA_TRY(levada_state_add(to, it->path, PASSING_DROP, records, err));
    if (!rejects) return LEVADA_OK;
    return levada_state_add(to, it->path, PASSING_DROP_REJECTS, rejects, err);
}

static levada_status passing_get_drop(const char *key, int64_t *out, levada_state_reader *from,
                                      levada_error *err)
{
    *out = 0;
    if (!levada_state_has(from, key)) return LEVADA_OK;
    return levada_state_get_count(from, key, LEVADA_COUNT_LIMIT, out, err);
}

/* -- states */

/* Shares need to know how far a place has come, and so does a combiner whose pipes have one. File
 * readers have their own. */
static bool passing_has_progress(const levada_node *it)
{
    const levada_skip_progress *p = &it->progress;

    if (it->at->op->family == LEVADA_FAMILY_FORMAT) return false;
    return it->run->skips.policy.share >= 0 ||
           (it->at->op->family == LEVADA_FAMILY_COMBINER && (p->read || p->lost));
}

static levada_status passing_put(levada_node *it, const levada_cursor *cur, const char *key,
                                 levada_state_writer *to, levada_error *err)
{
    if (!cur->block) return LEVADA_OK;
    LEVADA_TRY(levada_input_cursor_save(cur, it, to, key, err));
    return levada_rejects_save(cur->block, to, key, err);
}

levada_status levada_node_save_waiting(levada_node *it, levada_state_writer *to, levada_error *err)
{
    const levada_cursor rest = { .block = it->rest };

    LEVADA_TRY(passing_put(it, &it->unread, PASSING_UNREAD, to, err));
    LEVADA_TRY(passing_put(it, &rest, PASSING_REST, to, err));
    if (passing_has_progress(it)) {
        LEVADA_TRY(levada_skip_progress_save(&it->progress, to, err));
    }
    return levada_node_save_drop(it, it->drop, it->drop_rejects, to, err);
}

/* Rejects that wait at a node are its own or those of nodes upstream, or of pipes. */
static levada_skip_counts *passing_find(void *user, const char *path)
{
    levada_node        *it = user;
    levada_skip_counts *found = NULL;

    if (strcmp(it->skips.path, path) == 0) return &it->skips;
    if (strcmp(it->place.counts->path, path) == 0) return it->place.counts;
    for (int32_t i = 0; !found && i < it->ninputs; i++) found = passing_find(it->inputs[i], path);
    return found;
}

static levada_status passing_get(levada_node *it, levada_block **out, const char *key,
                                 levada_state_reader *from, levada_error *err)
{
    levada_cursor cur = { 0 };
    char          name[LEVADA_STATE_NAME];
    levada_status st;

    snprintf(name, sizeof name, "%s.n", key);
    if (!levada_state_has(from, name)) return LEVADA_OK;
    LEVADA_TRY(levada_input_cursor_restore(&cur, it, from, key, err));
    *out = cur.block;
    snprintf(name, sizeof name, "%s.rejects", key);
    if (!levada_state_has(from, name)) return LEVADA_OK;
    st = *out ? levada_block_copy_rows(*out, &cur.block, err)
              : levada_block_create(it->edge.spec, 0, &cur.block, err);
    LEVADA_TRY(st);
    levada_block_unref(out);
    *out = cur.block;
    return levada_rejects_restore(*out, from, key, passing_find, it, err);
}

levada_status levada_node_restore_waiting(levada_node *it, levada_state_reader *from,
                                          levada_error *err)
{
    levada_node_clear_waiting(it);
    LEVADA_TRY(passing_get_drop(PASSING_DROP, &it->drop, from, err));
    LEVADA_TRY(passing_get_drop(PASSING_DROP_REJECTS, &it->drop_rejects, from, err));
    LEVADA_TRY(levada_skip_progress_restore(&it->progress, from, err));
    LEVADA_TRY(passing_get(it, &it->unread.block, PASSING_UNREAD, from, err));
    return passing_get(it, &it->rest, PASSING_REST, from, err);
}
