/* SPDX-License-Identifier: Apache-2.0 */
#include "files/pipes.h"

#include "base/alloc.h"
#include "base/process.h"
#include "base/text.h"
#include "files/opener.h"
#include "registry/env_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define PIPES_STEP 65536
#define PIPES_KEPT (INT64_C(64) << 20)
#define PIPES_TICK 100 /* milliseconds between two looks at the token */
#define PIPES_PAUSE 10 /* milliseconds of silence after which nothing more is expected now */
#define PIPES_TRIES 100 /* milliseconds to wait for another thread that opens the same pipe */

struct levada_piped {
    levada_env_kept kept; /* first: the environment has it */
    dev_t           device;
    ino_t           inode;
    unsigned        process; /* that reads it                                         */
    int             pipe;    /* stays open, so that no other pipe gets the same inode */
    atomic_int      users;   /* files that are open                                   */
    /* The process whose thread holds what follows, plus 1; 0 = nobody. A child of a fork takes it
     * over. A mutex would not do: who waits for it could not be cancelled. */
    atomic_uint holder;
    int64_t     at; /* bytes that were read */
    bool        ended;
    uint8_t    *first; /* `nfirst` bytes from the beginning; all where nfirst == at */
    int64_t     nfirst, capacity;
};

/* -- one thread at a time, and never while it waits for the writer */

static levada_status pipes_cancelled(levada_error *err)
{
    return levada_fail(err, LEVADA_ECANCELLED, "interrupted while a pipe was read");
}

static bool pipes_try(levada_piped *p)
{
    unsigned me = levada_process() + 1, holder = atomic_load(&p->holder);

    return holder != me && atomic_compare_exchange_strong(&p->holder, &holder, me);
}

static levada_status pipes_hold(levada_piped *p, const levada_cancel *cancel, levada_error *err)
{
    while (!pipes_try(p)) {
        if (levada_cancel_requested(cancel)) return pipes_cancelled(err);
        (void)poll(NULL, 0, 1);
    }
    return LEVADA_OK;
}

static void pipes_release(levada_piped *p) { atomic_store(&p->holder, 0); }

/* -- the pipes of an environment */

static void pipes_destroy(levada_env_kept *kept)
{
    levada_piped *p = (levada_piped *)kept;

    (void)close(p->pipe);
    levada_free(p->first);
    levada_free(p);
}

static levada_piped *pipes_find(const levada_env *env, const struct stat *info)
{
    for (levada_env_kept *kept = levada_env_kept_first(env); kept; kept = kept->older) {
        levada_piped *p = (levada_piped *)kept;

        if (kept->destroy != pipes_destroy) continue;
        if (p->device == info->st_dev && p->inode == info->st_ino) return p;
    }
    return NULL;
}

bool levada_pipes_known(const levada_env *env, const struct stat *info)
{
    return pipes_find(env, info) != NULL;
}

static levada_status pipes_fail(const char *what, int code, levada_error *err)
{
    char text[96];

    return levada_fail(err, LEVADA_EUNAVAILABLE, "cannot %s the pipe: %s", what,
                       levada_text_errno(code, text, sizeof text));
}

/* Adds a pipe of which nothing was read, and takes its descriptor on success. The lock of the
 * system divides pipes among processes and environments. */
static levada_status pipes_add(levada_env *env, int pipe, const struct stat *info,
                               levada_piped **out, levada_error *err)
{
    levada_piped *p = levada_alloc_zero(sizeof *p);

    if (!p)
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory while opening a pipe");
    for (int tries = 0; flock(pipe, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK; tries++) {
        *out = pipes_find(env, info); /* another thread was faster */
        if (*out || tries == PIPES_TRIES) {
            levada_free(p);
            if (*out) return LEVADA_OK;
            return levada_fail(err, LEVADA_EFAILED_PRECONDITION,
                               "another process reads this pipe; write it to a file, and read "
                               "that");
        }
        (void)poll(NULL, 0, 1);
    }
    p->kept.destroy = pipes_destroy;
    p->device = info->st_dev;
    p->inode = info->st_ino;
    p->process = levada_process();
    p->pipe = pipe;
    levada_env_keep(env, &p->kept);
    *out = p;
    return LEVADA_OK;
}

static bool pipes_has_more(const levada_piped *p)
{
    int n = 0;

    return ioctl(p->pipe, FIONREAD, &n) == 0 && n > 0;
}

/* Returns an error unless the pipe, which is held, can be read from its beginning. */
static levada_status pipes_check(const levada_piped *p, levada_error *err)
{
    bool whole = p->nfirst == p->at;

    if (p->process != levada_process() && !(p->ended && whole)) {
        return levada_fail(err, LEVADA_EFAILED_PRECONDITION,
                           "the parent process reads this pipe; write it to a file, and read that");
    }
    if (!whole) {
        return levada_fail(err, LEVADA_EFAILED_PRECONDITION,
                           "a pipe of more than %lld MiB can be read once; to read it again, write "
                           "it to a file, and read that", (long long)(PIPES_KEPT >> 20));
    }
    if (p->ended && p->process == levada_process() && pipes_has_more(p)) {
        return levada_fail(err, LEVADA_EFAILED_PRECONDITION,
                           "this pipe was read to its end, and has new data now; a pipe can be "
                           "read once, so use another one or a file");
    }
    return LEVADA_OK;
}

levada_status levada_pipes_open(int pipe, const levada_cancel *cancel, levada_piped **out,
                                levada_error *err)
{
    levada_env   *env = levada_env_ref(cancel ? (levada_env *)(uintptr_t)cancel->env : NULL);
    struct stat   info;
    levada_piped *p = NULL;
    levada_status st = LEVADA_OK;

    if (!env)
        st = levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory while opening a pipe");
    else if (fstat(pipe, &info) != 0) st = pipes_fail("open", errno, err);
    else p = pipes_find(env, &info);
    if (st == LEVADA_OK && !p) st = pipes_add(env, pipe, &info, &p, err);
    if (!p || p->pipe != pipe) (void)close(pipe);
    levada_env_unref(&env);
    if (st == LEVADA_OK) st = pipes_hold(p, cancel, err);
    if (st != LEVADA_OK) return st;
    st = pipes_check(p, err);
    if (st == LEVADA_OK) (void)atomic_fetch_add(&p->users, 1);
    pipes_release(p);
    if (st == LEVADA_OK) *out = p;
    return st;
}

void levada_pipes_close(levada_piped **piped)
{
    if (*piped) (void)atomic_fetch_sub(&(*piped)->users, 1);
    *piped = NULL;
}

/* -- reading */

/* Keeps the bytes that were read last, if all before them are kept and memory suffices. */
static void pipes_keep(levada_piped *p, const uint8_t *data, int64_t size)
{
    int64_t end = p->nfirst + size;

    if (p->nfirst == p->at - size && end <= PIPES_KEPT &&
        levada_reserve(&p->first, &p->capacity, end, 1)) {
        memcpy(p->first + p->nfirst, data, (size_t)size);
        p->nfirst = end;
    } else if (atomic_load(&p->users) == 1) { /* nobody else may read it */
        levada_free(p->first);
        p->first = NULL;
        p->nfirst = p->capacity = 0;
    }
}

/* Returns true if poll() may not tell the end: of a FIFO that was opened after its writer had
 * closed it. Then read() does, once data came; before, there may be no writer yet. */
static bool pipes_poll_misses(const levada_piped *p)
{
    return p->at > 0 && (fcntl(p->pipe, F_GETFL) & O_NONBLOCK) != 0;
}

/* Returns what the pipe has now. *made = 0 although it has not ended: nothing yet. */
static levada_status pipes_more(levada_piped *p, uint8_t *data, int64_t size, int64_t *made,
                                levada_error *err)
{
    struct pollfd look = { .fd = p->pipe, .events = POLLIN };
    ssize_t       n = -1;

    *made = 0;
    if (p->ended) return LEVADA_OK;
    errno = EAGAIN;
    if (poll(&look, 1, 0) > 0 || pipes_poll_misses(p)) n = read(p->pipe, data, (size_t)size);
    if (n < 0 && errno != EINTR && errno != EAGAIN) return pipes_fail("read", errno, err);
    p->ended = n == 0;
    if (n <= 0) return LEVADA_OK;
    *made = n;
    p->at += n;
    pipes_keep(p, data, n);
    return LEVADA_OK;
}

/* Reads up to the offset, as far as the bytes are there. */
static levada_status pipes_skip(levada_piped *p, int64_t offset, levada_error *err)
{
    uint8_t      *data;
    int64_t       made = 1;
    levada_status st = LEVADA_OK;

    if (p->at >= offset || p->ended) return LEVADA_OK;
    data = levada_alloc(PIPES_STEP);
    if (!data)
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory while reading a pipe");
    while (st == LEVADA_OK && p->at < offset && made > 0) {
        int64_t left = offset - p->at;

        st = pipes_more(p, data, left < PIPES_STEP ? left : PIPES_STEP, &made, err);
    }
    levada_free(data);
    return st;
}

static levada_status pipes_take(levada_piped *p, int64_t offset, uint8_t *data, int64_t size,
                                int64_t *made, levada_error *err)
{
    int64_t n = p->nfirst - offset;

    LEVADA_ASSERT(offset >= 0);
    if (n > 0) {
        *made = n < size ? n : size;
        memcpy(data, p->first + offset, (size_t)*made);
        return LEVADA_OK;
    }
    if (offset < p->at) {
        return levada_fail(err, LEVADA_EFAILED_PRECONDITION,
                           "a pipe of more than %lld MiB can be read once, and only forward; write "
                           "it to a file, and read that", (long long)(PIPES_KEPT >> 20));
    }
    LEVADA_TRY(pipes_skip(p, offset, err));
    return p->at < offset ? LEVADA_OK : pipes_more(p, data, size, made, err);
}

levada_status levada_pipes_read(levada_piped *p, int64_t offset, uint8_t *data, int64_t size,
                                const levada_cancel *cancel, int64_t *made, levada_error *err)
{
    struct pollfd look = { .fd = p->pipe, .events = POLLIN };

    *made = 0;
    for (;;) {
        levada_status st;
        bool          ended;

        if (levada_cancel_requested(cancel)) return pipes_cancelled(err);
        LEVADA_TRY(pipes_hold(p, cancel, err));
        st = pipes_take(p, offset, data, size, made, err);
        ended = p->ended;
        pipes_release(p);
        if (st != LEVADA_OK || *made > 0 || ended) return st;
        if (levada_cancel_hurried(cancel)) return pipes_cancelled(err);
        (void)poll(&look, 1, PIPES_TICK); /* others may read what is kept meanwhile */
    }
}

bool levada_pipes_waits(levada_piped *p, int64_t offset)
{
    struct pollfd look = { .fd = p->pipe, .events = POLLIN };
    bool          waits;

    if (pipes_hold(p, NULL, NULL) != LEVADA_OK) return true;
    waits = offset >= p->at && !p->ended;
    pipes_release(p);
    return waits && poll(&look, 1, PIPES_PAUSE) == 0;
}
