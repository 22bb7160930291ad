/* SPDX-License-Identifier: Apache-2.0 */
#include "files/opener.h"

#include "base/alloc.h"
#include "base/text.h"
#include "files/pipes.h"
#include "registry/registry.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* -- local files: read with pread, never mapped, so that a file that shrinks is not a signal */

typedef struct opener_file {
    int             fd;
    struct timespec written; /* last, when it was opened */
} opener_file;

static levada_status opener_system_error(const char *what, int code, levada_error *err)
{
    char          text[96];
    levada_status status = LEVADA_EUNAVAILABLE;

    if (code == ENOENT || code == ENOTDIR) status = LEVADA_ENOT_FOUND;
    if (code == EACCES || code == EPERM) status = LEVADA_EPERMISSION_DENIED;
    if (code == EMFILE || code == ENFILE || code == ENOMEM) status = LEVADA_ERESOURCE_EXHAUSTED;
    if (code == EINVAL || code == EISDIR || code == ENAMETOOLONG) {
        status = LEVADA_EINVALID_ARGUMENT;
    }
    return levada_fail(err, status, "cannot %s it: %s", what,
                       levada_text_errno(code, text, sizeof text));
}

/* Puts the copy in place of a pipe; *fd is -1 where that fails. */
static levada_status opener_check(int *fd, const levada_cancel *cancel, struct timespec *written,
                                  levada_error *err)
{
    struct stat info;

    if (fstat(*fd, &info) != 0) return opener_system_error("open", errno, err);
    if (S_ISFIFO(info.st_mode)) {
        int pipe = *fd;

        *fd = -1;
        LEVADA_TRY(levada_pipe_copy(pipe, cancel, fd, err));
        if (fstat(*fd, &info) != 0) return opener_system_error("open", errno, err);
    }
    *written = info.st_mtim;
    if (S_ISREG(info.st_mode)) return LEVADA_OK;
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "it is %s",
                       S_ISDIR(info.st_mode) ? "a folder"
                                             : "a device; only files and pipes can be read");
}

static levada_status opener_open(void *user, const char *path, const levada_cancel *cancel,
                                 void **out, levada_error *err)
{
    opener_file    *file;
    int             fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct timespec written = {0};
    levada_status   st;

    (void)user;
    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR) && strstr(path, "://")) {
        return levada_fail(err, LEVADA_EUNIMPLEMENTED,
                           "no opener for this URL scheme; levada reads local files only (a "
                           "plug-in can add a scheme)");
    }
    if (fd < 0) return opener_system_error("open", errno, err);
    st = opener_check(&fd, cancel, &written, err);
    file = st == LEVADA_OK ? levada_alloc(sizeof *file) : NULL;
    if (st == LEVADA_OK && !file) {
        st = levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory while opening a file");
    }
    if (st != LEVADA_OK) {
        if (fd >= 0) (void)close(fd);
        return st;
    }
    (void)posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    *file = (opener_file){fd, written};
    *out = file;
    return LEVADA_OK;
}

static void opener_close(void *file)
{
    (void)close(((opener_file *)file)->fd);
    levada_free(file);
}

static levada_status opener_size(void *file, int64_t *out, levada_error *err)
{
    struct stat info;

    if (fstat(((opener_file *)file)->fd, &info) != 0) {
        return opener_system_error("measure", errno, err);
    }
    *out = info.st_size;
    return LEVADA_OK;
}

static levada_status opener_read_at(void *file, int64_t offset, uint8_t *data, int64_t size,
                                    int64_t *made, levada_error *err)
{
    int64_t got = 0;

    while (got < size) {
        ssize_t n = pread(((opener_file *)file)->fd, data + got, (size_t)(size - got),
                          (off_t)(offset + got));

        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return opener_system_error("read", errno, err);
        if (n == 0) break;
        got += n;
    }
    *made = got;
    return LEVADA_OK;
}

static bool opener_changed(void *file)
{
    const opener_file *f = file;
    struct stat        info;

    return fstat(f->fd, &info) == 0 && (info.st_mtim.tv_sec != f->written.tv_sec ||
                                        info.st_mtim.tv_nsec != f->written.tv_nsec);
}

static int64_t opener_look(void *user, const char *path)
{
    struct stat info;

    (void)user;
    return stat(path, &info) == 0 && S_ISREG(info.st_mode) ? info.st_size : -1;
}

static const levada_opener_def opener_local = {
    .struct_size = sizeof(levada_opener_def),
    .name = "",
    .open = opener_open,
    .close = opener_close,
    .size = opener_size,
    .read_at = opener_read_at,
    .shared = true,
    .look = opener_look,
    .changed = opener_changed,
};

/* -- by name */

const levada_opener_def *levada_opener_find(const levada_env *env, const char *path)
{
    const char              *end = strstr(path, "://");
    const levada_opener_def *found = NULL;

    if (end) found = levada_registry_opener(env, path, (size_t)(end - path));
    return found ? found : &opener_local;
}

/* -- cancelling */

bool levada_cancel_requested(const levada_cancel *cancel)
{
    if (!cancel) return false;
    if (cancel->flag && atomic_load_explicit(cancel->flag, memory_order_relaxed)) return true;
    return levada_env_is_interrupted(cancel->env);
}
