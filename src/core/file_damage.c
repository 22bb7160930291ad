/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a file reader can pass over where its policy allows: damage, records beyond the limit, files
 * that are not there. All of it is counted and noted.
 */
#include "core/file_reader_priv.h"
#include "core/iter_priv.h"

#define FILE_DAMAGE_PROBE 64 /* bytes in which a format knows its own beginning */

/* Inside a pipe that a joint opens: where all such pipes count together; else NULL. */
static levada_tally *file_damage_outer(const levada_file_reader *r)
{
    return r->context->node ? r->context->node->outer : NULL;
}

void levada_file_reader_note(const levada_file_reader *r, const levada_error *why)
{
    levada_iter *node = r->context->node;

    if (node) levada_run_note(node->run, levada_node_tally(node), node->path, why);
}

void levada_file_reader_count_empty(levada_file_reader *r)
{
    levada_tally *outer = file_damage_outer(r);

    (void)atomic_fetch_add(&r->empty, 1);
    if (outer) (void)atomic_fetch_add(&outer->empty, 1);
}

void levada_file_reader_count_records(levada_file_reader *r, int64_t n)
{
    atomic_store_explicit(&r->records, atomic_load_explicit(&r->records, memory_order_relaxed) + n,
                          memory_order_relaxed);
}

static void file_damage_count(levada_file_reader *r)
{
    levada_tally *outer = file_damage_outer(r);

    r->record++;
    (void)atomic_fetch_add(&r->skipped, 1);
    if (outer) (void)atomic_fetch_add(&outer->bad, 1);
}

static void file_damage_bytes(levada_file_reader *r, int64_t bytes)
{
    levada_tally *outer = file_damage_outer(r);

    (void)atomic_fetch_add(&r->damaged, bytes);
    if (outer) (void)atomic_fetch_add(&outer->damaged, bytes);
}

static bool file_damage_allowed(const levada_file_reader *reader)
{
    levada_file_reader *r = (levada_file_reader *)(uintptr_t)reader;
    levada_tally       *outer = file_damage_outer(r);
    int64_t             bad = 1 + atomic_load(outer ? &outer->bad : &r->skipped);
    int64_t             good = atomic_load(outer ? &outer->given : &r->records);

    return r->policy.skip && levada_policy_allows(&r->policy, bad, good + bad);
}

static int64_t file_damage_resync(levada_file_reader *r)
{
    levada_window *w = &r->window;
    int64_t        size = levada_window_size(w), at = size;

    if (r->format->resync && size > 0) {
        at = r->format->resync(r->state, r->args, levada_window_data(w), size, w->ended);
    }
    if (at < 1 || at > size) at = size;
    file_damage_bytes(r, at);
    levada_window_skip(w, at);
    return at;
}

/* A stream that goes on with damage alone is the same damage; any other failure is none. */
static levada_status file_damage_fill(levada_file_reader *r, bool *lost, levada_error *err)
{
    levada_error  why = LEVADA_ERROR_INIT;
    levada_status st = levada_window_fill(&r->window, 0, &why);

    *lost = st != LEVADA_OK;
    if (st == LEVADA_OK || st == LEVADA_EDATA_LOSS) return LEVADA_OK;
    if (err) *err = why;
    return st;
}

levada_status levada_file_reader_pass(levada_file_reader *r, int64_t *next_offset,
                                      levada_error *err)
{
    levada_window *w = &r->window;
    bool           lost = !r->open || !r->format->resync || !r->format->probe;

    file_damage_count(r);
    *next_offset = -1;
    while (!lost) {
        lost = levada_bytes_broken(w->bytes);
        if (file_damage_resync(r) == 0 && w->ended) break;
        if (!lost && levada_window_size(w) < FILE_DAMAGE_PROBE) {
            LEVADA_TRY(file_damage_fill(r, &lost, err));
        }
        if (!lost && r->format->probe(levada_window_data(w), levada_window_size(w)) > 0) {
            *next_offset = w->offset;
            return LEVADA_OK;
        }
    }
    if (r->open && levada_window_size(w) > 0) file_damage_bytes(r, levada_window_size(w));
    levada_file_reader_next_file(r);
    return LEVADA_OK;
}

/* Behind a record that is longer than the limit, by its length where that is known. */
static levada_status file_damage_pass_long(levada_file_reader *r, levada_error *err)
{
    levada_window *w = &r->window;
    int64_t        behind = w->offset + w->length;
    bool           known = w->length > 0;
    levada_status  st;

    file_damage_count(r);
    w->too_long = false;
    if (!known && r->format->leave_out) {
        r->format->leave_out(r->state, r->args);
        return LEVADA_OK;
    }
    if (!known) {
        levada_file_reader_next_file(r);
        return LEVADA_OK;
    }
    st = levada_window_seek(w, behind, err);
    if (st == LEVADA_OK) return levada_file_reader_enter(r, r->state, behind, err);
    if (st == LEVADA_EOUT_OF_RANGE) { /* the file ends inside it */
        levada_error_clear(err);
        levada_file_reader_next_file(r);
        return LEVADA_OK;
    }
    levada_error_place(err, NULL, r->files.path[r->order[r->turn]], r->record, w->offset);
    return levada_file_reader_judge(r, st, err);
}

levada_status levada_file_reader_judge(levada_file_reader *r, levada_status st, levada_error *err)
{
    bool          absent = st == LEVADA_ENOT_FOUND && !r->open;
    bool          long_one = st == LEVADA_ERESOURCE_EXHAUSTED && r->open && r->window.too_long;
    levada_tally *outer = file_damage_outer(r);
    int64_t       next;

    if (!absent && !long_one && st != LEVADA_EDATA_LOSS) return st;
    if (!file_damage_allowed(r)) return st;
    if (err) levada_file_reader_note(r, err);
    levada_error_clear(err);
    if (long_one) return file_damage_pass_long(r, err);
    if (absent) {
        (void)atomic_fetch_add(&r->missing, 1);
        if (outer) (void)atomic_fetch_add(&outer->missing, 1);
    }
    return levada_file_reader_pass(r, &next, err);
}
