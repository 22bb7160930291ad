/* SPDX-License-Identifier: Apache-2.0 */
#include "files/files_ahead.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "files/opener.h"
#include "registry/env_priv.h"
#include "runtime/wait.h"

#define FILES_AHEAD_BYTES (INT64_C(64) << 20)
#define FILES_AHEAD_FILES 16

typedef enum ahead_state {
    AHEAD_NEW,
    AHEAD_BUSY, /* a thread works on it */
    AHEAD_MORE, /* bytes are left to be put in stock */
    AHEAD_DONE  /* all is in stock, or the owner does the rest */
} ahead_state;

typedef struct ahead_file {
    ahead_state   state;
    levada_bytes *bytes; /* NULL = the owner opens it */
    int64_t       stocked;
} ahead_file;

struct levada_files_ahead {
    const levada_file_reader *reader;
    levada_lock               lock;
    levada_site               site;
    int64_t                   n; /* of files */
    /* -- guarded by lock */
    bool        active;
    int64_t     turn;    /* of the file that was taken last: the next n turns are prepared */
    int64_t     stocked; /* bytes of all */
    levada_line waits;   /* the owner, where it waits */
    ahead_file  files[]; /* that of a turn is turn % n */
};

levada_status levada_files_ahead_create(const levada_file_reader *reader, int32_t threads,
                                        levada_files_ahead **out, levada_error *err)
{
    levada_wait_list   *wait_list = levada_env_wait_list(reader->framing.context->env);
    size_t              n = threads < FILES_AHEAD_FILES / 2 ? 2 * (size_t)threads
                                                            : FILES_AHEAD_FILES;
    levada_files_ahead *a = levada_alloc_zero(sizeof *a + n * sizeof a->files[0]);
    levada_status       st = LEVADA_OK;

    if (a && wait_list) st = levada_lock_init(&a->lock, LEVADA_LOCK_READ_AHEAD, err);
    else st = levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory while reading ahead");
    if (st != LEVADA_OK) {
        levada_free(a);
        return st;
    }
    a->reader = reader;
    a->n = (int64_t)n;
    levada_site_init(&a->site, wait_list, "files ahead");
    *out = a;
    return LEVADA_OK;
}

void levada_files_ahead_destroy(levada_files_ahead **ahead)
{
    levada_files_ahead *a = *ahead;

    *ahead = NULL;
    if (!a) return;
    levada_files_ahead_clear(a);
    levada_lock_clear(&a->lock);
    levada_free(a);
}

/* -- one piece */

/* Returns true if its size is known without opening it, which the writer of a pipe would notice. */
static bool ahead_is_file(const levada_file_reader *r, const char *path)
{
    const levada_opener_def *opener = levada_opener_find(r->framing.context->env, path);

    return opener->look && opener->look(opener->user, path) >= 0;
}

static ahead_state ahead_prepare(const levada_file_reader *r, int64_t turn, levada_bytes **bytes)
{
    const char          *path = r->set.files.path[r->set.order[turn]];
    levada_bytes_options options = levada_file_reader_bytes(r);

    if (!*bytes && (!ahead_is_file(r, path) ||
                    levada_bytes_open(r->framing.context->env, path, &options, bytes, NULL) !=
                        LEVADA_OK)) {
        return AHEAD_DONE;
    }
    return levada_bytes_stock(*bytes, LEVADA_STEP) && !levada_bytes_plain(*bytes) ? AHEAD_MORE
                                                                                  : AHEAD_DONE;
}

/* Returns the first turn whose file needs work; 0 = none. */
static int64_t ahead_pick_locked(const levada_files_ahead *a)
{
    const levada_file_reader *r = a->reader;
    const levada_file_place  *stop = &r->range.stop;
    int64_t                   end = stop->record > 0 ? stop->turn + 1 : stop->turn;

    if (end > r->set.files.n) end = r->set.files.n;
    if (!a->active || a->stocked + LEVADA_STEP > FILES_AHEAD_BYTES) return 0;
    for (int64_t turn = a->turn + 1; turn <= a->turn + a->n && turn < end; turn++) {
        ahead_state state = a->files[turn % a->n].state;

        if (state == AHEAD_NEW || state == AHEAD_MORE) return turn;
    }
    return 0;
}

static void ahead_work_locked(levada_files_ahead *a, int64_t turn)
{
    ahead_file   *f = &a->files[turn % a->n];
    levada_woken  woken = { 0 };
    ahead_state   state;

    f->state = AHEAD_BUSY;
    a->stocked += LEVADA_STEP; /* until it is known */
    levada_lock_give(&a->lock);
    state = ahead_prepare(a->reader, turn, &f->bytes);
    levada_lock_take(&a->lock);
    f->state = state;
    a->stocked -= LEVADA_STEP + f->stocked;
    f->stocked = f->bytes ? levada_bytes_stocked(f->bytes) : 0;
    a->stocked += f->stocked;
    while (a->waits.head) levada_waiter_finish(&a->waits, a->waits.head, LEVADA_OK, &woken);
    levada_lock_give(&a->lock);
    levada_wake(&woken);
    levada_lock_take(&a->lock);
}

bool levada_files_ahead_work(levada_files_ahead *a, bool work)
{
    int64_t turn;

    levada_lock_take(&a->lock);
    turn = ahead_pick_locked(a);
    if (turn > 0 && work) ahead_work_locked(a, turn);
    levada_lock_give(&a->lock);
    return turn > 0;
}

/* -- the owner */

/* Takes the file out of its place, which is free then. */
static levada_bytes *ahead_take_locked(levada_files_ahead *a, ahead_file *f)
{
    levada_bytes *bytes;

    while (f->state == AHEAD_BUSY) {
        levada_line_wait_locked(&a->waits, &a->lock, &a->site, "file");
    }
    bytes = f->bytes;
    a->stocked -= f->stocked;
    *f = (ahead_file){ AHEAD_NEW, NULL, 0 };
    return bytes;
}

levada_bytes *levada_files_ahead_take(levada_files_ahead *a, int64_t turn)
{
    levada_bytes *bytes = NULL;

    LEVADA_ASSERT(!a->active || turn == a->turn || turn == a->turn + 1);
    levada_lock_take(&a->lock);
    if (a->active && turn == a->turn + 1) bytes = ahead_take_locked(a, &a->files[turn % a->n]);
    a->active = true;
    a->turn = turn;
    levada_lock_give(&a->lock);
    return bytes;
}

void levada_files_ahead_clear(levada_files_ahead *a)
{
    levada_lock_take(&a->lock);
    a->active = false;
    for (int64_t i = 0; i < a->n; i++) {
        levada_bytes *bytes = ahead_take_locked(a, &a->files[i]);

        levada_lock_give(&a->lock);
        levada_bytes_close(&bytes);
        levada_lock_take(&a->lock);
    }
    levada_lock_give(&a->lock);
}
