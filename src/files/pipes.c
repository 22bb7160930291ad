/* SPDX-License-Identifier: Apache-2.0 */
#include "files/pipes.h"

#include "base/alloc.h"
#include "base/process.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define PIPES_STEP 65536
#define PIPES_TICK 100 /* milliseconds between two looks at the token */

typedef struct pipes_copy {
    struct pipes_copy *next;
    dev_t              device;
    ino_t              inode;
    unsigned           process; /* that reads it                                         */
    int                pipe;    /* stays open, so that no other pipe gets the same inode */
    int                file;
    bool               complete;
} pipes_copy;

static pipes_copy *pipes_first; /* guarded by the holder */
/* The process whose thread holds the list, plus 1; 0 = nobody. A child of a fork takes it over. */
static atomic_uint pipes_holder;

static levada_status pipes_cancelled(levada_error *err)
{
    return levada_fail(err, LEVADA_ECANCELLED, "interrupted while a pipe was read");
}

static levada_status pipes_hold(const levada_cancel *cancel, levada_error *err)
{
    unsigned me = levada_process() + 1, holder;

    for (;;) {
        holder = atomic_load(&pipes_holder);
        if (holder != me && atomic_compare_exchange_strong(&pipes_holder, &holder, me)) {
            return LEVADA_OK;
        }
        if (levada_cancel_requested(cancel)) return pipes_cancelled(err);
        (void)poll(NULL, 0, 1);
    }
}

static levada_status pipes_fail(const char *what, int code, levada_error *err)
{
    char text[96];
    bool full = code == ENOSPC || code == EDQUOT || code == EMFILE || code == ENFILE;

    return levada_fail(err, full ? LEVADA_ERESOURCE_EXHAUSTED : LEVADA_EUNAVAILABLE,
                       "cannot %s: %s; write the pipe to a file, and read that", what,
                       levada_text_errno(code, text, sizeof text));
}

static int pipes_temporary(void)
{
    const char *folder = getenv("TMPDIR");
    char        name[4096];
    int         fd;

    (void)snprintf(name, sizeof name, "%s/levada-XXXXXX", folder && *folder ? folder : "/tmp");
    fd = mkostemp(name, O_CLOEXEC);
    if (fd >= 0) (void)unlink(name);
    return fd;
}

/* Adds a copy without content. It takes the pipe on success. */
static levada_status pipes_add(int pipe, const struct stat *info, pipes_copy **out,
                               levada_error *err)
{
    pipes_copy *copy;

    if (flock(pipe, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        return levada_fail(err, LEVADA_EFAILED_PRECONDITION,
                           "another process reads this pipe; write it to a file, and read that");
    }
    copy = levada_alloc_zero(sizeof *copy);
    if (!copy) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED,
                                  "out of memory while opening a pipe");
    copy->file = pipes_temporary();
    if (copy->file < 0) {
        levada_free(copy);
        return pipes_fail("copy the pipe to TMPDIR", errno, err);
    }
    copy->device = info->st_dev;
    copy->inode = info->st_ino;
    copy->process = levada_process();
    copy->pipe = pipe;
    copy->next = pipes_first;
    *out = pipes_first = copy;
    return LEVADA_OK;
}

/* Whether the pipe has data that its copy has not. */
static bool pipes_has_more(int pipe)
{
    struct pollfd look = {.fd = pipe, .events = POLLIN};

    return poll(&look, 1, 0) > 0 && (look.revents & POLLIN) != 0;
}

static levada_status pipes_write(int file, const uint8_t *data, ssize_t size, levada_error *err)
{
    while (size > 0) {
        ssize_t n = write(file, data, (size_t)size);

        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return pipes_fail("copy the pipe to TMPDIR", n < 0 ? errno : ENOSPC, err);
        data += n;
        size -= n;
    }
    return LEVADA_OK;
}

/* Reads the pipe until its last writer has closed it. */
static levada_status pipes_fill(pipes_copy *copy, const levada_cancel *cancel, levada_error *err)
{
    struct pollfd look = {.fd = copy->pipe, .events = POLLIN};
    uint8_t      *data = levada_alloc(PIPES_STEP);
    levada_status st = LEVADA_OK;

    if (!data) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED,
                                  "out of memory while reading a pipe");
    while (st == LEVADA_OK && !copy->complete) {
        ssize_t n = -1;

        if (levada_cancel_requested(cancel)) st = pipes_cancelled(err);
        else if (poll(&look, 1, PIPES_TICK) > 0) n = read(copy->pipe, data, PIPES_STEP);
        else errno = EAGAIN;
        if (st != LEVADA_OK) break;
        if (n < 0 && errno != EINTR && errno != EAGAIN) st = pipes_fail("read it", errno, err);
        if (n > 0) st = pipes_write(copy->file, data, n, err);
        copy->complete = n == 0;
    }
    levada_free(data);
    return st;
}

static levada_status pipes_find(int pipe, pipes_copy **out, bool *taken, levada_error *err)
{
    struct stat info;
    pipes_copy *copy;

    if (fstat(pipe, &info) != 0) return pipes_fail("open it", errno, err);
    for (copy = pipes_first; copy; copy = copy->next) {
        if (copy->device == info.st_dev && copy->inode == info.st_ino) break;
    }
    *out = copy;
    if (!copy) {
        levada_status st = pipes_add(pipe, &info, out, err);

        *taken = st == LEVADA_OK;
        return st;
    }
    if (!copy->complete && copy->process != levada_process()) {
        return levada_fail(err, LEVADA_EFAILED_PRECONDITION,
                           "the parent process reads this pipe; write it to a file, and read that");
    }
    if (copy->complete && pipes_has_more(pipe)) {
        return levada_fail(err, LEVADA_EFAILED_PRECONDITION,
                           "this pipe was read to its end, and has new data now; a pipe can be "
                           "read once, so use another one or a file");
    }
    return LEVADA_OK;
}

levada_status levada_pipe_copy(int pipe, const levada_cancel *cancel, int *out, levada_error *err)
{
    pipes_copy   *copy = NULL;
    bool          taken = false;
    levada_status st = pipes_hold(cancel, err);

    if (st == LEVADA_OK) {
        st = pipes_find(pipe, &copy, &taken, err);
        if (st == LEVADA_OK) st = pipes_fill(copy, cancel, err);
        if (st == LEVADA_OK) {
            *out = fcntl(copy->file, F_DUPFD_CLOEXEC, 0);
            if (*out < 0) st = pipes_fail("open its copy", errno, err);
        }
        atomic_store(&pipes_holder, 0);
    }
    if (!taken) (void)close(pipe);
    return st;
}
