/* SPDX-License-Identifier: Apache-2.0 */
#include "files/opener.h"

#include "base/alloc.h"
#include "base/text.h"
#include "files/pipes.h"
#include "registry/registry.h"
#include "runtime/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* -- local files: read with pread, never mapped, so that a file that shrinks is not a signal */

typedef struct opener_file {
    int                  fd; /* -1: a pipe                */
    char                 tag[48]; /* time of the last change */
    levada_piped        *piped;
    const levada_cancel *cancel;
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

/* Checks what kind of file it is, and prepares to read a pipe or a regular file. */
static levada_status opener_check(opener_file *f, levada_error *err)
{
    struct stat info;

    if (fstat(f->fd, &info) != 0) return opener_system_error("open", errno, err);
    if (S_ISFIFO(info.st_mode) || S_ISSOCK(info.st_mode)) {
        int pipe = f->fd;

        f->fd = -1;
        return levada_pipes_open(pipe, f->cancel, &f->piped, err);
    }
    if (S_ISREG(info.st_mode)) {
        (void)posix_fadvise(f->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
        return LEVADA_OK;
    }
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "it is %s",
                       S_ISDIR(info.st_mode) ? "a directory"
                                             : "a device; only files and pipes can be read");
}

static void opener_close(void *file)
{
    opener_file *f = file;

    if (f->fd >= 0) (void)close(f->fd);
    levada_pipes_close(&f->piped);
    levada_free(f);
}

/* Opens a path; for a socket on standard input, whose name cannot be opened, duplicates its
 * descriptor. */
static int opener_descriptor(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    if (fd >= 0 || errno != ENXIO || strcmp(path, "/dev/stdin") != 0) return fd;
    return fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0);
}

static levada_status opener_open(void *user, const char *path, const levada_cancel *cancel,
                                 void **out, levada_error *err)
{
    opener_file  *file;
    int           fd = opener_descriptor(path);
    levada_status st;

    (void)user;
    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR) && strstr(path, "://")) {
        return levada_fail(err, LEVADA_EUNIMPLEMENTED,
                           "no opener for this URL scheme; levada reads local files, http, "
                           "https, s3 and hf (a plug-in can add a scheme)");
    }
    if (fd < 0) return opener_system_error("open", errno, err);
    file = levada_alloc(sizeof *file);
    if (!file) {
        (void)close(fd);
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory while opening a file");
    }
    *file = (opener_file){ .fd = fd, .cancel = cancel };
    st = opener_check(file, err);
    if (st == LEVADA_OK) *out = file;
    else opener_close(file);
    return st;
}

/* Measures a file; -1 for a pipe, whose size is unknown. */
static levada_status opener_size(void *file, int64_t *out, levada_error *err)
{
    const opener_file *f = file;
    struct stat        info = { .st_size = -1 };

    if (f->fd >= 0 && fstat(f->fd, &info) != 0) return opener_system_error("measure", errno, err);
    *out = info.st_size;
    return LEVADA_OK;
}

static levada_status opener_read_at(void *file, int64_t offset, uint8_t *data, int64_t size,
                                    int64_t *made, levada_error *err)
{
    opener_file *f = file;
    int64_t      got = 0;

    if (f->piped) return levada_pipes_read(f->piped, offset, data, size, f->cancel, made, err);
    while (got < size) {
        ssize_t n = pread(f->fd, data + got, (size_t)(size - got), (off_t)(offset + got));

        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return opener_system_error("read", errno, err);
        if (n == 0) break;
        got += n;
    }
    *made = got;
    return LEVADA_OK;
}

/* Returns a weak tag, the time of the last change, which differs for a copy. */
static const char *opener_version(void *file)
{
    opener_file *f = file;
    struct stat  info;

    if (f->fd < 0 || fstat(f->fd, &info) != 0) return NULL;
    snprintf(f->tag, sizeof f->tag, "W/%lld.%ld", (long long)info.st_mtim.tv_sec,
             info.st_mtim.tv_nsec);
    return f->tag;
}

static int64_t opener_look(void *user, const char *path)
{
    struct stat info;

    (void)user;
    if (stat(path, &info) == 0) return S_ISREG(info.st_mode) ? info.st_size : -1;
    return errno == ENOENT || errno == ENOTDIR ? LEVADA_FILE_MISSING : -1;
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
    .version = opener_version,
};

/* -- by name */

const levada_opener_def *levada_opener_find(const levada_env *env, const char *path)
{
    const char              *end = strstr(path, "://");
    const levada_opener_def *found = NULL;

    if (end) found = levada_registry_opener(env, path, (size_t)(end - path));
    return found ? found : &opener_local;
}

bool levada_opener_waits(const levada_opener_def *opener, void *file, int64_t offset)
{
    const opener_file *f = file;

    return opener == &opener_local && f->piped && levada_pipes_waits(f->piped, offset);
}

/* -- cancelling */

bool levada_cancel_requested(const levada_cancel *cancel)
{
    if (!cancel) return false;
    if (cancel->flag && atomic_load_explicit(cancel->flag, memory_order_relaxed)) return true;
    if (cancel->until && levada_now() >= atomic_load(cancel->until)) return true;
    return cancel->env && levada_env_is_interrupted(cancel->env);
}

bool levada_cancel_hurried(const levada_cancel *cancel)
{
    const atomic_int *hurried = cancel && cancel->hurried ? *cancel->hurried : NULL;

    return hurried && atomic_load(hurried);
}
