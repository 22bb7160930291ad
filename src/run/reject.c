/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bad records: a decoder marks rows, which are cut out here, wherever a stage ran. From then on
 * they travel between the rows (skip/rejects.h). Notes on good records do so, too, and cut nothing.
 */
#include "base/alloc.h"
#include "base/text.h"
#include "files/lines.h"
#include "registry/registry.h"
#include "run/node.h"
#include "run/run.h"
#include "tensor/block_priv.h"

#include <string.h>

#define REJECT_PART_LEAST 32 /* bytes of a message for each further origin part, or none is named */
#define REJECT_CUT "..." /* in place of the beginning of a name that is cut off */
#define REJECT_PART_GAP   8 /* of these: "with ", ", " and ": " around the text of an origin part */

static void reject_place(levada_run *run, const char *path, levada_origin origin,
                         levada_error *err)
{
    const char *file = levada_run_file(run, origin.source, origin.shard);

    levada_error_place(err, path, file, origin.record, origin.offset);
    if (!file) levada_file_names_place(&run->names, &origin, err);
}

/* Writes "b.txt record 7 at byte 80", without its beginning if it has more than `most` bytes. */
static void reject_part(levada_run *run, levada_origin origin, size_t most, levada_text *to)
{
    levada_error at = LEVADA_ERROR_INIT;
    levada_text  text = {0};
    const char  *end;

    reject_place(run, NULL, origin, &at);
    if (at.file[0]) levada_text_put(&text, at.file);
    else levada_text_format(&text, "source %d", (int)origin.source);
    levada_text_format(&text, " record %lld", (long long)origin.record);
    if (origin.offset >= 0) levada_text_format(&text, " at byte %lld", (long long)origin.offset);
    if (!text.failed) {
        if (text.size > most) levada_text_put(to, REJECT_CUT);
        end = text.at + (text.size > most ? text.size - most + strlen(REJECT_CUT) : 0);
        while (((unsigned char)*end & 0xC0u) == 0x80u) end++; /* the middle of a character */
        levada_text_put(to, end);
    }
    levada_text_clear(&text);
}

/* Adds the names of the other records if a zip made the record of several. They precede the
 * message, as far as they fit, since the message has the cause. */
static void reject_place_parts(levada_run *run, const levada_block *block, int64_t row,
                               levada_error *err)
{
    int64_t     at;
    int32_t     n = levada_block_row(block, row, &at)->nmore;
    size_t      space = sizeof err->message - 1 - strlen(err->message);
    levada_text with = {0};

    if (n == 0 || space < (size_t)n * REJECT_PART_LEAST) return;
    space = space / (size_t)n - REJECT_PART_GAP;
    for (int32_t i = 1; i <= n; i++) {
        levada_origin origin = levada_block_origin_part(block, row, i);

        if (origin.source < 0) continue;
        levada_text_put(&with, with.size ? ", " : "with ");
        reject_part(run, origin, space, &with);
    }
    if (with.size && !with.failed) levada_error_wrap(err, "%s", with.at);
    levada_text_clear(&with);
}

void levada_run_place(levada_run *run, const char *path, const levada_block *block, int64_t row,
                      levada_error *err)
{
    bool placed = !err || err->record >= 0;

    reject_place(run, path, levada_block_origin(block, row), err);
    if (!placed) reject_place_parts(run, block, row, err);
}

/* Puts the line where a record of text begins before the message that ends the run. */
static void reject_line(levada_run *run, levada_origin origin, levada_error *err)
{
    const levada_node   *node = levada_run_source(run, origin.source);
    const levada_op     *op = node ? node->at->op : NULL;
    const char          *path = levada_run_file(run, origin.source, origin.shard);
    levada_bytes_options options = { .cancelled = &run->cancelled };
    int64_t              line;

    if (!path || !op || op->family != LEVADA_FAMILY_FORMAT || !op->def.format.lines) return;
    options.probe = op->def.format.probe;
    line = levada_file_line(run->env, path, &options, origin.offset);
    if (line > 0) levada_error_wrap(err, "line %lld", (long long)line);
}

static levada_status reject_cut(levada_block **made, const levada_rejects *rejects,
                                levada_error *err)
{
    levada_block *block = *made, *good = NULL;
    int32_t      *rows = levada_alloc((size_t)block->n * sizeof *rows);
    int64_t       n = 0;
    int32_t       next = 0;
    levada_status st;

    if (!rows) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED,
                                  "out of memory while skipping records");
    for (int64_t i = 0; i < block->n; i++) {
        bool bad = false;

        for (; next < rejects->n && rejects->list[next].row == i; next++) {
            bad = bad || !levada_reject_is_note(&rejects->list[next]);
        }
        if (!bad) rows[n++] = (int32_t)i;
    }
    st = n < block->n ? levada_block_select(block, rows, n, &good, err) : LEVADA_OK;
    levada_free(rows);
    if (st != LEVADA_OK || !good) return st; /* NULL: all are good */
    levada_block_unref(made);
    *made = good;
    return LEVADA_OK;
}

static void reject_sort(levada_reject *rejects, int32_t n)
{
    for (int32_t i = 1; i < n; i++) { /* nearly sorted: decoders go through rows in order */
        levada_reject one = rejects[i];
        int32_t       k = i;

        for (; k > 0 && rejects[k - 1].row > one.row; k--) rejects[k] = rejects[k - 1];
        rejects[k] = one;
    }
}

static bool reject_same_record(levada_origin a, levada_origin b)
{
    return a.source == b.source && a.pass == b.pass && a.shard == b.shard &&
           a.record == b.record;
}

int64_t levada_run_find(const levada_block *in, int64_t from, levada_origin record)
{
    int64_t row = from;

    while (row < in->n && !reject_same_record(levada_block_origin(in, row), record)) row++;
    from = row;
    while (row < in->n) {
        levada_origin at = levada_block_origin(in, row);

        if (!reject_same_record(at, record)) break;
        if (at.sub == record.sub) return row;
        row++;
    }
    return from < in->n ? from : -1;
}

/* Makes the bad records rejects of what is left: each precedes a row of it, and has the number of
 * its record in `in`, from 1. A note precedes its own row. */
static void reject_number(const levada_skip_place *place, const levada_policy *policy,
                          const levada_block *in, const levada_block *made,
                          levada_rejects *rejects)
{
    int64_t row = 0, gone = 0, last = -1;

    for (int32_t i = 0; i < rejects->n; i++) {
        levada_reject *r = &rejects->list[i];
        int64_t        at = levada_run_find(in, row, levada_block_origin(made, r->row));
        bool           note = levada_reject_is_note(r);

        row = at >= 0 ? at : in->n - 1; /* not known: the last one */
        r->loss = levada_skip_loss(place, policy, !note);
        r->loss.noted = true;
        r->loss.total = row + 1;
        gone += !note && r->row != last;
        if (!note) last = r->row;
        r->row += (last == r->row) - gone;
    }
}

levada_status levada_run_reject(levada_run *run, const levada_skip_place *place, const char *path,
                                const levada_block *in, levada_item *made, levada_error *err)
{
    levada_rejects *rejects = &made->rejects;
    levada_block   *whole;
    levada_status   st;

    levada_rejects_take(rejects, made->block);
    reject_sort(rejects->list, rejects->n);
    for (int32_t i = 0; i < rejects->n; i++) {
        levada_error *why = &rejects->list[i].why;

        bool placed = why->record >= 0;

        levada_run_place(run, path, made->block, rejects->list[i].row, why);
        if (i == 0 && !placed && !run->skips.policy.skip)
            reject_line(run, levada_block_origin(made->block, rejects->list[i].row), why);
        if (why->code != LEVADA_ECANCELLED) continue;
        if (err) *err = *why; /* the record is not bad: nobody has looked at it to the end */
        return why->code;
    }
    whole = levada_block_ref(made->block);
    st = reject_cut(&made->block, rejects, err);
    if (st == LEVADA_OK) reject_number(place, &run->skips.policy, in, whole, rejects);
    levada_block_unref(&whole);
    return st;
}
