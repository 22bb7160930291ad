/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a file reader can pass over where its policy skips: damage, records beyond the limit, files
 * that are not there. All of it becomes rejects.
 */
#include "files/file_reader_priv.h"

#define FILE_DAMAGE_PROBE 1024             /* bytes in which a format knows its own beginning */
#define FILE_DAMAGE_WASTE (INT64_C(64) << 20) /* bytes of a file that may be checked in vain     */

void levada_file_reader_count_records(levada_file_reader *r, int64_t n)
{
    atomic_store_explicit(&r->counts.records,
                          atomic_load_explicit(&r->counts.records, memory_order_relaxed) + n,
                          memory_order_relaxed);
    r->losses.progress.read += n;
}

/* -- the budget */

/* Where damage was met. A reader that cannot pass it comes to it again. */
typedef struct file_damage_place {
    int64_t turn, record, start, resumed;
    int32_t nrejects;
} file_damage_place;

static file_damage_place file_damage_here(const levada_file_reader *r)
{
    return (file_damage_place){
        .turn = r->at.turn,
        .record = r->at.record,
        .start = r->frames.open ? r->frames.window.offset : r->at.start,
        .resumed = r->at.resumed,
        .nrejects = r->rejects.n,
    };
}

/* Goes back to the place: the file is entered there again. */
static void file_damage_return(levada_file_reader *r, const file_damage_place *was)
{
    levada_file_reader_leave(r);
    r->at.turn = was->turn;
    r->at.record = was->record;
    r->at.start = was->start;
    r->at.resumed = was->resumed;
    r->rejects.n = was->nrejects;
}

/* Converts lost bytes to records of the mean length of the good records. Bytes lost before the
 * first good record wait for it. */
static int64_t file_damage_estimate(levada_file_reader *r, int64_t bytes)
{
    int64_t records = r->losses.progress.read, mean = records > 0 ? r->losses.good / records : 0;

    bytes += r->losses.early;
    r->losses.early = mean > 0 ? 0 : bytes;
    return mean > 0 && bytes > mean ? (bytes - 1) / mean : 0;
}

levada_status levada_file_reader_end(levada_file_reader *r, levada_error *err)
{
    levada_loss  loss = levada_skip_loss(r->owner.place, &r->policy, 0);
    levada_error why = LEVADA_ERROR_INIT;

    if (r->policy.share < 0 || r->losses.early == 0) return LEVADA_END;
    (void)levada_fail(&why, LEVADA_EDATA_LOSS,
                      "%lld bytes were lost before the first of %lld good records, which exceeds "
                      "the error budget",
                      (long long)r->losses.early, (long long)r->losses.progress.read);
    loss.unseen = r->losses.progress.read > 0 ? file_damage_estimate(r, 0) : -1;
    r->losses.early = 0;
    return levada_file_reader_reject(r, &why, &loss, err);
}

void levada_file_reader_next_pass(levada_file_reader *r, bool read_to_end)
{
    levada_skip_next_pass(&r->losses.progress, read_to_end);
    if (read_to_end) {
        r->losses.good_before = r->losses.good;
        r->losses.early_before = r->losses.early;
    }
    r->losses.good = r->losses.good_before;
    r->losses.early = r->losses.early_before;
}

/* -- passing */

/* Moves to where the next record may begin. `last`: nothing comes after the window. */
static void file_damage_resync(levada_file_reader *r, bool last)
{
    levada_window *w = &r->frames.window;
    int64_t        size = levada_window_size(w), at = size;

    if (r->framing.format->resync && size > 0) {
        at = r->framing.format->resync(r->frames.state, r->framing.args, levada_window_data(w),
                                       size, last);
    }
    if (at < 1 || at > size) at = size;
    levada_window_skip(w, at);
}

/* Returns true if a bad record is passed over as its good header says, because FILE_DAMAGE_WASTE
 * bytes were checked in vain. Otherwise a file of many good headers with bad payloads could have
 * each byte checked once for each header. */
static bool file_damage_believes(levada_file_reader *r)
{
    r->failure.wasted += r->failure.bad_bytes;
    return r->failure.bad_bytes > 0 &&
        r->failure.bad_bytes <= levada_window_size(&r->frames.window) &&
           r->failure.wasted > FILE_DAMAGE_WASTE;
}

/* Continues after a stream whose checksum is wrong. A record that began in it may follow: a state
 * that is saved before or after that record knows that the checksum is counted. */
static bool file_damage_resumes(levada_file_reader *r)
{
    if (!levada_bytes_resume(r->frames.window.bytes)) return false;
    r->at.resumed = levada_bytes_offset(r->frames.window.bytes);
    return true;
}

/* Reads more bytes into the window. Sets *lost if the stream has further damage, which counts as
 * the same damage; any other failure is returned. */
static levada_status file_damage_fill(levada_file_reader *r, bool *lost, levada_error *err)
{
    levada_error  why = LEVADA_ERROR_INIT;
    levada_status st = levada_window_fill(&r->frames.window, 0, &why);

    *lost = st == LEVADA_EDATA_LOSS && !file_damage_resumes(r);
    if (st == LEVADA_OK || st == LEVADA_EDATA_LOSS) return LEVADA_OK;
    if (err) *err = why;
    return st;
}

/* Looks for the next record of the file; *found says whether there seems to be one. */
static levada_status file_damage_search(levada_file_reader *r, bool *found, bool *lost,
                                        levada_error *err)
{
    levada_window *w = &r->frames.window;
    int32_t        least = r->framing.format->resync_bits > 0 ? r->framing.format->resync_bits : 1;

    *found = false;
    if (file_damage_believes(r)) levada_window_skip(w, r->failure.bad_bytes);
    else file_damage_resync(r, w->ended || *lost);
    for (;;) {
        while (!*lost && !w->ended && levada_window_size(w) < FILE_DAMAGE_PROBE) {
            LEVADA_TRY(file_damage_fill(r, lost, err));
        }
        *found = r->framing.format->probe(levada_window_data(w), levada_window_size(w)) >= least;
        if (*found || (levada_window_size(w) == 0 && (w->ended || *lost))) return LEVADA_OK;
        file_damage_resync(r, w->ended || *lost);
    }
}

/* Returns the number of bytes of the file after the offset, as far as known; else -1. */
static int64_t file_damage_rest(const levada_file_reader *r, int64_t offset, bool ended)
{
    const levada_window *w = &r->frames.window;
    int64_t              size = levada_file_set_size(&r->set, r->set.order[r->at.turn]);

    if (ended) return w->offset + levada_window_size(w) - offset;
    if (!levada_bytes_seekable(w->bytes)) return -1;
    return size > offset ? size - offset : 0;
}

/* Skips the rest of the file, from the offset on. */
static levada_status file_damage_drop(levada_file_reader *r, int64_t offset, bool ended,
                                      levada_loss *loss, levada_error *err)
{
    int64_t rest = r->frames.open ? file_damage_rest(r, offset, ended) : -1;

    loss->unseen = rest;
    if (rest < 0) rest = r->frames.window.offset - offset + levada_window_size(&r->frames.window);
    if (r->frames.open) loss->damaged = rest;
    return levada_file_reader_next_file(r, err);
}

/* Continues after a stream with a wrong checksum, from which no byte is missing. */
static levada_status file_damage_resume(levada_file_reader *r, int64_t *next_offset,
                                        levada_error *err)
{
    levada_window *w = &r->frames.window;
    levada_error   why = LEVADA_ERROR_INIT;
    levada_status  st = LEVADA_OK;

    if (levada_window_size(w) == 0) st = levada_window_fill(w, 0, &why);
    if (levada_window_size(w) > 0) *next_offset = w->offset;
    if (st == LEVADA_OK || st == LEVADA_EDATA_LOSS) return LEVADA_OK; /* damage comes again */
    if (err) *err = why;
    return st;
}

/* Skips a record that is longer than the limit, to its end. */
static levada_status file_damage_leave_out(levada_file_reader *r, int64_t *next_offset,
                                           levada_loss *loss, levada_error *err)
{
    levada_window *w = &r->frames.window;
    int64_t        from = w->offset;
    bool           lost = false, done = false;

    while (!done) {
        bool    last = w->ended || lost;
        int64_t size = levada_window_size(w);

        LEVADA_TRY(levada_file_reader_check_cancelled(r, err));
        levada_window_skip(w,
                           r->framing.format->leave_out(r->frames.state, r->framing.args,
                                                        levada_window_data(w), size,
                                                   last, &done));
        if (last) break;
        if (!done) LEVADA_TRY(file_damage_fill(r, &lost, err));
    }
    if (!done) loss->damaged = w->offset - from;
    *next_offset = w->offset;
    return LEVADA_OK;
}

/* Passes a record that is longer than the limit. */
static levada_status file_damage_pass_long(levada_file_reader *r, int64_t *next_offset,
                                           levada_loss *loss, levada_error *err)
{
    levada_window *w = &r->frames.window;

    r->failure.too_long = w->too_long = false;
    r->at.record++;
    if (r->failure.behind) {
        r->failure.behind = false;
        *next_offset = w->offset;
        return levada_framing_enter(&r->framing, r->frames.state, w->offset, -1, err);
    }
    if (r->framing.format->leave_out) return file_damage_leave_out(r, next_offset, loss, err);
    return file_damage_drop(r, w->offset, w->ended, loss, err);
}

/* Passes the damage at the position. Sets loss->unseen to the bytes that were lost without a single
 * bad record that is known to be one; -1: their number is unknown. */
static levada_status file_damage_pass(levada_file_reader *r, int64_t *next_offset,
                                      levada_loss *loss, levada_error *err)
{
    levada_window *w = &r->frames.window;
    int64_t        from = w->offset, bad = r->failure.bad_bytes;
    bool           lost = false, found = false;

    *next_offset = -1;
    *loss = levada_skip_loss(r->owner.place, &r->policy, 1);
    if (r->failure.too_long) return file_damage_pass_long(r, next_offset, loss, err);
    if (r->frames.open && r->failure.stream && file_damage_resumes(r)) {
        return file_damage_resume(r, next_offset, err);
    }
    r->at.record++;
    if (!r->frames.open || r->failure.stream || !r->framing.format->resync ||
        !r->framing.format->probe) {
        return file_damage_drop(r, from, w->ended, loss, err);
    }
    LEVADA_TRY(file_damage_search(r, &found, &lost, err));
    loss->unseen = loss->damaged = w->offset - from;
    r->failure.wasted = r->failure.wasted > loss->damaged ? r->failure.wasted - loss->damaged : 0;
    if (found) *next_offset = w->offset;
    else LEVADA_TRY(file_damage_drop(r, from, w->ended, loss, err));
    if (loss->unseen == bad) loss->unseen = 0;
    return LEVADA_OK;
}

levada_status levada_file_reader_pass(levada_file_reader *r, int64_t *next_offset,
                                      levada_error *err)
{
    levada_loss         loss;
    levada_skip_counts *counts = r->owner.place->counts;

    LEVADA_TRY(file_damage_pass(r, next_offset, &loss, err));
    (void)atomic_fetch_add(&counts->bad, 1);
    (void)atomic_fetch_add(&counts->damaged, loss.damaged);
    return LEVADA_OK;
}

/* Judges a record that seems to be longer than the limit. If its length is known and the file does
 * not have it, that is damage. */
static levada_status file_damage_judge_long(levada_file_reader *r, levada_status st,
                                            levada_error *err)
{
    levada_window *w = &r->frames.window;
    /* A format that leaves records out has asked for the bytes of a part. */
    int64_t        from = w->offset, length = r->framing.format->leave_out ? 0 : w->length;
    levada_error   why = LEVADA_ERROR_INIT;
    levada_status  passed = length > 0 ? levada_window_pass(w, length, &why) : LEVADA_OK;

    r->failure.too_long = passed == LEVADA_OK;
    r->failure.behind = r->failure.too_long && length > 0;
    if (r->failure.behind && !r->policy.skip && !r->walks) {
        levada_file_reader_leave(r); /* the position is still that of the record */
        r->at.start = from;
    }
    if (passed == LEVADA_OK) return st;
    levada_error_place(&why, NULL, r->set.files.path[r->set.order[r->at.turn]], r->at.record, from);
    if (err) *err = why;
    return passed;
}

levada_status levada_file_reader_judge(levada_file_reader *r, levada_status st, levada_error *err)
{
    bool              absent = st == LEVADA_ENOT_FOUND && !r->frames.open;
    levada_error      why = LEVADA_ERROR_INIT;
    levada_loss       loss;
    int64_t           next;
    file_damage_place was = file_damage_here(r);

    r->failure.too_long = r->failure.behind = false;
    if (st == LEVADA_ERESOURCE_EXHAUSTED && r->frames.open && r->frames.window.too_long) {
        st = file_damage_judge_long(r, st, err);
    }
    if (!absent && !r->failure.too_long && st != LEVADA_EDATA_LOSS) return st;
    if (!r->policy.skip) return st;
    if (err) why = *err;
    else why.code = st;
    levada_error_clear(err);
    st = file_damage_pass(r, &next, &loss, err);
    if (st == LEVADA_OK) {
        loss.missing = absent;
        if (r->policy.share < 0) loss.unseen = 0;
        else if (loss.unseen >= 0) loss.unseen = file_damage_estimate(r, loss.unseen);
        st = levada_file_reader_reject(r, &why, &loss, err);
    }
    if (st != LEVADA_OK) file_damage_return(r, &was);
    return st;
}
