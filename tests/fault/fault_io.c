/* SPDX-License-Identifier: Apache-2.0 */
#include "fault/fault_io.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static atomic_int   fault_calls, fault_kind;
static atomic_bool  fault_armed, fault_after, fault_named;
static atomic_llong fault_number, fault_seen;

void fault_io_arm(fault_io_calls calls, fault_io_kind kind, int64_t number, bool after)
{
    atomic_store(&fault_calls, (int)calls);
    atomic_store(&fault_kind, (int)kind);
    atomic_store(&fault_number, number);
    atomic_store(&fault_after, after);
    atomic_store(&fault_seen, 0);
    atomic_store(&fault_armed, true);
}

void fault_io_nameless(bool can) { atomic_store(&fault_named, !can); }

int64_t fault_io_disarm(void)
{
    atomic_store(&fault_armed, false);
    return atomic_load(&fault_seen);
}

int64_t fault_io_open(void)
{
    DIR    *folder = opendir("/proc/self/fd");
    int64_t n = 0;

    while (folder && readdir(folder)) n++;
    if (folder) (void)closedir(folder);
    return n;
}

/* True where this call is to fail. */
static bool fault_now(fault_io_calls calls)
{
    int64_t at;

    if (!atomic_load(&fault_armed) || atomic_load(&fault_calls) != (int)calls) return false;
    at = atomic_fetch_add(&fault_seen, 1);
    return at == atomic_load(&fault_number) ||
           (atomic_load(&fault_after) && at > atomic_load(&fault_number));
}

/* How many of `size` bytes the call moves; -1 with errno set. */
static ssize_t fault_size(fault_io_calls calls, size_t size)
{
    if (!fault_now(calls)) return (ssize_t)size;
    switch (atomic_load(&fault_kind)) {
    case FAULT_IO_SHORT: return (ssize_t)(size > 3 ? size / 3 : size);
    case FAULT_IO_NONE: return 0;
    case FAULT_IO_EINTR: errno = EINTR; return -1;
    case FAULT_IO_ENOSPC: errno = ENOSPC; return -1;
    case FAULT_IO_EMFILE: errno = EMFILE; return -1;
    default: errno = EIO; return -1;
    }
}

/* The function of that name that is not ours; ISO C has no cast from an object to a function. */
static void fault_real(const char *name, void *out)
{
    void *found = dlsym(RTLD_NEXT, name);

    if (!found) abort();
    memcpy(out, &found, sizeof found);
}

/* As compiled here, for files of any size, these are pread64, open64 and fstat64. */
ssize_t pread(int fd, void *to, size_t size, off_t at)
{
    ssize_t (*real)(int, void *, size_t, off_t);
    ssize_t n = fault_size(FAULT_IO_READS, size);

    fault_real("pread64", &real);
    return n <= 0 ? n : real(fd, to, (size_t)n, at);
}

ssize_t write(int fd, const void *from, size_t size)
{
    ssize_t (*real)(int, const void *, size_t);
    ssize_t n = fault_size(FAULT_IO_WRITES, size);

    fault_real("write", &real);
    return n <= 0 ? n : real(fd, from, (size_t)n);
}

int open(const char *path, int flags, ...)
{
    int (*real)(const char *, int, ...);
    va_list args;
    int     mode = 0;

    va_start(args, flags);
    if (flags & O_CREAT) mode = va_arg(args, int);
    va_end(args);
    if (fault_size(flags & O_DIRECTORY ? FAULT_IO_FILES : FAULT_IO_OPENS, 1) < 0) return -1;
    fault_real("open64", &real);
    return real(path, flags, mode);
}

/* Only new files are made relative to a folder. */
int openat(int folder, const char *path, int flags, ...)
{
    int (*real)(int, const char *, int, ...);
    va_list args;
    int     mode;

    va_start(args, flags);
    mode = va_arg(args, int);
    va_end(args);
    if ((flags & O_TMPFILE) == O_TMPFILE && atomic_load(&fault_named)) {
        errno = EOPNOTSUPP;
        return -1;
    }
    if (fault_size(FAULT_IO_FILES, 1) < 0) return -1;
    fault_real("openat64", &real);
    return real(folder, path, flags, mode);
}

int fsync(int fd)
{
    int (*real)(int);

    if (fault_size(FAULT_IO_FILES, 1) < 0) return -1;
    fault_real("fsync", &real);
    return real(fd);
}

int fchmod(int fd, mode_t mode)
{
    int (*real)(int, mode_t);

    if (fault_size(FAULT_IO_FILES, 1) < 0) return -1;
    fault_real("fchmod", &real);
    return real(fd, mode);
}

int linkat(int from, const char *old, int to, const char *new, int flags)
{
    int (*real)(int, const char *, int, const char *, int);

    if (fault_size(FAULT_IO_FILES, 1) < 0) return -1;
    fault_real("linkat", &real);
    return real(from, old, to, new, flags);
}

int renameat(int from, const char *old, int to, const char *new)
{
    int (*real)(int, const char *, int, const char *);

    if (fault_size(FAULT_IO_FILES, 1) < 0) return -1;
    fault_real("renameat", &real);
    return real(from, old, to, new);
}

int fstat(int fd, struct stat *out)
{
    int (*real)(int, struct stat *);

    if (fault_size(FAULT_IO_OPENS, 1) < 0) return -1;
    fault_real("fstat64", &real);
    return real(fd, out);
}

/* A failed close has closed nevertheless. Of what was only read it means nothing. */
int close(int fd)
{
    int (*real)(int);
    bool    written = (fcntl(fd, F_GETFL) & O_ACCMODE) != O_RDONLY;
    ssize_t n = written ? fault_size(FAULT_IO_WRITES, 1) : 1;
    int     code = errno;

    fault_real("close", &real);
    if (real(fd) < 0) return -1;
    errno = code;
    return n < 0 ? -1 : 0;
}
