/* SPDX-License-Identifier: Apache-2.0 */
#include <levada/output.h>

#include "base/alloc.h"
#include "base/process.h"
#include "base/text.h"
#include "sink/output_names.h"
#include "sink/writer_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define OUTPUT_TRIES 100 /* names to try: others may exist */
#ifdef O_TMPFILE
#define OUTPUT_NAMELESS O_TMPFILE
#else
#define OUTPUT_NAMELESS 0
#endif

struct levada_output {
    char               *path;
    const char         *base;    /* the part of the path after the last slash             */
    int                 fd;
    int                 folder;  /* -1: written directly                                  */
    unsigned            process; /* that opened it                                        */
    levada_output_name *name;    /* of the temporary file; NULL while it has none         */
    struct stat         old;     /* of the file that is replaced                          */
    bool                replaces, complete, committed;
    levada_error        failed;  /* once not clear, repeated                              */
};

/* -- errors */

static levada_status output_status(int code)
{
    switch (code) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
    case ENOMEM:
    case EMFILE:
    case ENFILE: return LEVADA_ERESOURCE_EXHAUSTED;
    case ENOENT:
    case ENOTDIR: return LEVADA_ENOT_FOUND;
    case EACCES:
    case EPERM:
    case EROFS: return LEVADA_EPERMISSION_DENIED;
    case EISDIR:
    case EINVAL:
    case ELOOP:
    case ENAMETOOLONG: return LEVADA_EINVALID_ARGUMENT;
    case EINTR: return LEVADA_ECANCELLED; /* a signal, while a pipe had no reader */
    default: return LEVADA_EUNAVAILABLE;
    }
}

static levada_status output_refuse(levada_output *o, levada_status status, const char *why)
{
    (void)levada_fail(&o->failed, status, "cannot write %s: %s", o->path, why);
    levada_error_place(&o->failed, NULL, o->path, -1, -1);
    return status;
}

static levada_status output_failed(levada_output *o, int code)
{
    char text[96];

    return output_refuse(o, output_status(code), levada_text_errno(code, text, sizeof text));
}

static levada_status output_ready(levada_output *o, levada_error *err)
{
    if (o->failed.code != LEVADA_OK) {
        if (err) *err = o->failed;
        return o->failed.code;
    }
    return LEVADA_USABLE(o, "output", err);
}

static levada_status output_report(const levada_output *o, levada_status st, levada_error *err)
{
    if (st != LEVADA_OK && err) *err = o->failed;
    return st;
}

/* -- what is at the path */

/* Returns the descriptor that a path such as /dev/stdout or /dev/fd/3 stands for; -1 where it is
 * none. */
static int output_descriptor(const char *path)
{
    static const char *const folders[] = {"/dev/fd/", "/proc/self/fd/"};

    if (strcmp(path, "/dev/stdout") == 0) return STDOUT_FILENO;
    if (strcmp(path, "/dev/stderr") == 0) return STDERR_FILENO;
    for (int i = 0; i < 2; i++) {
        const char *number = path + strlen(folders[i]);
        char       *end = NULL;
        long        fd;

        if (strncmp(path, folders[i], strlen(folders[i])) != 0) continue;
        fd = strtol(number, &end, 10);
        if (*number >= '0' && *number <= '9' && *end == '\0' && fd <= INT32_MAX) return (int)fd;
    }
    return -1;
}

/* Checks that a file in the directory may get the name. Looks again right before that. */
static levada_status output_look(levada_output *o)
{
    o->replaces = fstatat(o->folder, o->base, &o->old, AT_SYMLINK_NOFOLLOW) == 0;
    if (!o->replaces) return errno == ENOENT ? LEVADA_OK : output_failed(o, errno);
    if (S_ISREG(o->old.st_mode)) return LEVADA_OK;
    return output_refuse(o, LEVADA_EINVALID_ARGUMENT,
                         S_ISLNK(o->old.st_mode)   ? "it is a symbolic link; use the path of the "
                                                     "file itself"
                         : S_ISDIR(o->old.st_mode) ? "it is a directory"
                                                   : "it is not a regular file");
}

static levada_status output_open_folder(levada_output *o)
{
    size_t size = (size_t)(o->base - o->path);
    char  *folder = levada_alloc(size + 2);

    if (!folder) return output_failed(o, ENOMEM);
    memcpy(folder, size > 0 ? o->path : ".", size > 0 ? size : 1);
    folder[size > 0 ? size : 1] = '\0';
    o->folder = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    levada_free(folder);
    if (o->folder >= 0) return LEVADA_OK;
    if (errno != ENOENT && errno != ENOTDIR) return output_failed(o, errno);
    return output_refuse(o, LEVADA_ENOT_FOUND, "its directory does not exist");
}

/* -- the temporary file */

/* Creates a temporary name in the folder: links the nameless file, or creates a file. */
static levada_status output_name(levada_output *o)
{
    char name[LEVADA_OUTPUT_NAME], self[40];
    int  code = EEXIST;

    (void)snprintf(self, sizeof self, "/proc/self/fd/%d", o->fd);
    for (int i = 0; i < OUTPUT_TRIES && code == EEXIST; i++) {
        int done;

        (void)snprintf(name, sizeof name, ".levada-%016llx.tmp",
                       (unsigned long long)levada_output_random(name));
        o->name = levada_output_name_add(o->folder, name);
        if (!o->name) return output_failed(o, ENOMEM);
        if (o->fd >= 0) {
            done = linkat(AT_FDCWD, self, o->folder, name, AT_SYMLINK_FOLLOW);
        } else {
            done = o->fd = openat(o->folder, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
                                  o->replaces ? 0600 : 0666);
        }
        if (done >= 0) return LEVADA_OK;
        code = errno;
        levada_output_name_drop(&o->name);
    }
    return output_failed(o, code);
}

/* Creates a file that has no name until it is complete, where the system supports that: nothing of
 * it remains, however the process ends. */
static levada_status output_create(levada_output *o)
{
    if (OUTPUT_NAMELESS != 0 && access("/proc/self/fd", X_OK) == 0) {
        o->fd = openat(o->folder, ".", OUTPUT_NAMELESS | O_WRONLY | O_CLOEXEC,
                       o->replaces ? 0600 : 0666);
        if (o->fd >= 0) return LEVADA_OK;
        if (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT && errno != EINVAL) {
            return output_failed(o, errno);
        }
    }
    return output_name(o);
}

/* Copies permissions, owner and group of the file that is replaced. A group that cannot be kept
 * gets no more rights than all others. */
static levada_status output_inherit(levada_output *o)
{
    mode_t      mode = o->old.st_mode & 07777;
    struct stat own;

    if (fstat(o->fd, &own) != 0) return output_failed(o, errno);
    if (own.st_uid != o->old.st_uid || own.st_gid != o->old.st_gid) {
        bool kept = fchown(o->fd, o->old.st_uid, o->old.st_gid) == 0;

        if (!kept) mode &= 0777;
        if (!kept && fchown(o->fd, (uid_t)-1, o->old.st_gid) != 0) {
            mode = (mode & 0707) | (mode & 0070 & (mode & 0007) << 3);
        }
    }
    if ((own.st_mode & 07777) == mode || fchmod(o->fd, mode) == 0) return LEVADA_OK;
    return output_failed(o, errno);
}

/* -- opening */

/* Opens a device, a pipe, or what a descriptor has, which is written as it is. */
static levada_status output_open_direct(levada_output *o, int descriptor)
{
    struct stat st;

    o->fd = descriptor >= 0 ? fcntl(descriptor, F_DUPFD_CLOEXEC, 3)
                            : open(o->path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
    if (o->fd < 0 || fstat(o->fd, &st) != 0) return output_failed(o, errno);
    if (descriptor >= 0 || !S_ISREG(st.st_mode)) return LEVADA_OK;
    return output_refuse(o, LEVADA_EUNAVAILABLE, "it was replaced by another file");
}

static levada_status output_start(levada_output *o)
{
    int         descriptor = output_descriptor(o->path);
    const char *slash = strrchr(o->path, '/');
    struct stat st;

    if (levada_output_names_ended()) {
        return output_refuse(o, LEVADA_ECANCELLED, "the process is ending");
    }
    if (descriptor >= 0) return output_open_direct(o, descriptor);
    if (stat(o->path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)) {
        return output_open_direct(o, -1);
    }
    o->base = slash ? slash + 1 : o->path;
    if (*o->path == '\0') return output_failed(o, ENOENT);
    if (*o->base == '\0') return output_failed(o, EISDIR);
    LEVADA_TRY(output_open_folder(o));
    LEVADA_TRY(output_look(o));
    LEVADA_TRY(output_create(o));
    return o->replaces ? output_inherit(o) : LEVADA_OK;
}

levada_status levada_output_open(const char *path, levada_output **out, levada_error *err)
{
    LEVADA_TRY(levada_require(path != NULL, "path", err));
    LEVADA_TRY(levada_require(out != NULL, "out", err));
    levada_output *o = levada_alloc_zero(sizeof *o);
    levada_status  st;

    *out = NULL;
    if (!o) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory while writing %s",
                               path);
    o->fd = o->folder = -1;
    o->process = levada_process();
    o->path = levada_strdup(path);
    if (o->path) {
        st = output_start(o);
        if (st != LEVADA_OK && err) *err = o->failed;
    } else {
        st = levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory while writing %s", path);
    }
    if (st == LEVADA_OK) *out = o;
    else levada_output_destroy(&o);
    return st;
}

/* -- writing */

levada_status levada_output_write(levada_output *o, const void *bytes, size_t size,
                                  levada_error *err)
{
    LEVADA_TRY(levada_require(o != NULL, "output", err));
    LEVADA_TRY(levada_require_size(size, "size", err));
    const uint8_t *at = bytes;

    LEVADA_TRY(output_ready(o, err));
    if (o->complete) {
        return levada_fail(err, LEVADA_EFAILED_PRECONDITION, "the output %s is complete", o->path);
    }
    while (size > 0) {
        ssize_t n = write(o->fd, at, size);

        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return output_report(o, output_failed(o, n < 0 ? errno : ENOSPC), err);
        at += n;
        size -= (size_t)n;
    }
    return LEVADA_OK;
}

/* Syncs a directory; some file systems cannot, and report so. */
static bool output_sync_folder(const levada_output *o)
{
    return fsync(o->folder) == 0 || errno == EINVAL || errno == ENOTSUP || errno == EROFS;
}

/* Renames the file to its path. No signal ends the thread between the temporary name and that. */
static levada_status output_publish(levada_output *o)
{
    levada_status st = LEVADA_OK;
    sigset_t      all, before;

    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    if (!o->name) st = output_name(o);
    if (st == LEVADA_OK && levada_output_names_ended()) {
        st = output_refuse(o, LEVADA_ECANCELLED, "the process is ending");
    }
    if (st == LEVADA_OK && renameat(o->folder, o->name->text, o->folder, o->base) != 0) {
        st = output_failed(o, errno);
    }
    if (st == LEVADA_OK) {
        levada_output_name_drop(&o->name);
    } else if (o->name) {
        (void)unlinkat(o->folder, o->name->text, 0);
        levada_output_name_drop(&o->name);
    }
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return st;
}

/* Completes the file: its permissions are those of the file that it replaces, and its bytes are on
 * the disk. */
static levada_status output_complete(levada_output *o)
{
    if (o->complete) return LEVADA_OK;
    o->complete = true;
    if (o->folder < 0) return LEVADA_OK;
    LEVADA_TRY(output_look(o)); /* the permissions of now, which may have changed since the open */
    if (o->replaces) LEVADA_TRY(output_inherit(o));
    return fsync(o->fd) == 0 ? LEVADA_OK : output_failed(o, errno);
}

levada_status levada_output_prepare(levada_output *o, levada_error *err)
{
    levada_status st;

    LEVADA_TRY(output_ready(o, err));
    st = output_complete(o);
    if (st == LEVADA_OK && o->folder >= 0 && !o->name) st = output_name(o);
    return output_report(o, st, err);
}

levada_status levada_output_commit(levada_output *o, levada_error *err)
{
    LEVADA_TRY(levada_require(o != NULL, "output", err));
    levada_status st;
    int           closed;

    if (o->committed && o->failed.code == LEVADA_OK) return LEVADA_OK;
    LEVADA_TRY(output_ready(o, err));
    o->committed = true;
    st = output_complete(o);
    if (st == LEVADA_OK && o->folder >= 0) st = output_look(o);
    if (st == LEVADA_OK && o->folder >= 0) st = output_publish(o);
    if (st != LEVADA_OK) return output_report(o, st, err);
    closed = close(o->fd);
    o->fd = -1;
    if (closed != 0) st = output_failed(o, errno);
    if (o->folder >= 0 && st == LEVADA_OK && !output_sync_folder(o)) st = output_failed(o, errno);
    return output_report(o, st, err);
}

void levada_output_destroy(levada_output **output)
{
    levada_output *o = output ? *output : NULL;

    if (!o) return;
    *output = NULL;
    if (o->name && o->process == levada_process()) (void)unlinkat(o->folder, o->name->text, 0);
    levada_output_name_drop(&o->name);
    if (o->fd >= 0) (void)close(o->fd);
    if (o->folder >= 0) (void)close(o->folder);
    levada_free(o->path);
    levada_free(o);
}

levada_status levada_output_save(const char *path, const void *bytes, size_t size,
                                 levada_error *err)
{
    LEVADA_TRY(levada_require(path != NULL, "path", err));
    levada_output *o = NULL;
    levada_status  st = levada_output_open(path, &o, err);

    if (st == LEVADA_OK) st = levada_output_write(o, bytes, size, err);
    if (st == LEVADA_OK) st = levada_output_commit(o, err);
    levada_output_destroy(&o);
    return st;
}
