/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loaded before a program (LD_PRELOAD), makes one call of the system fail that concerns a file
 * below a folder. Of the environment: LEVADA_FAULT_FOLDER, LEVADA_FAULT_NUMBER (from 0; none = no
 * failure), LEVADA_FAULT_CODE (errno), LEVADA_FAULT_FIRED (a file that is made when it failed),
 * LEVADA_FAULT_NAMED (files without a name cannot be made), LEVADA_FAULT_READS (reads fail, not
 * calls that write files), LEVADA_FAULT_STAYS (all later calls fail too). A program may call
 * levada_fault_arm itself.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static atomic_llong preload_left = -1; /* calls until the failure; below 0: none */
static atomic_int   preload_code;
static char         preload_folder[4096];
static bool         preload_named, preload_reads, preload_stays;

/* The call with this number from now on fails; -1 = none. Returns whether the last one did. */
int levada_fault_arm(long long number, int code);

int levada_fault_arm(long long number, int code)
{
    long long left = atomic_exchange(&preload_left, number);

    atomic_store(&preload_code, code);
    return left < 0;
}

__attribute__((constructor)) static void preload_begin(void)
{
    const char *folder = getenv("LEVADA_FAULT_FOLDER"), *number = getenv("LEVADA_FAULT_NUMBER");
    const char *code = getenv("LEVADA_FAULT_CODE");

    (void)snprintf(preload_folder, sizeof preload_folder, "%s", folder ? folder : "?");
    preload_named = getenv("LEVADA_FAULT_NAMED") != NULL;
    preload_reads = getenv("LEVADA_FAULT_READS") != NULL;
    preload_stays = getenv("LEVADA_FAULT_STAYS") != NULL;
    if (number) (void)levada_fault_arm(strtoll(number, NULL, 10), code ? atoi(code) : EIO);
}

static void preload_real(const char *name, void *out)
{
    void *found = dlsym(RTLD_NEXT, name);

    if (!found) abort();
    memcpy(out, &found, sizeof found);
}

static bool preload_fires(void)
{
    const char *fired = getenv("LEVADA_FAULT_FIRED");

    if (atomic_load(&preload_left) < 0) return false;
    if (!preload_stays || atomic_load(&preload_left) != 0) {
        if (atomic_fetch_sub(&preload_left, 1) != 0) return false;
    }
    if (fired) (void)syscall(SYS_close, syscall(SYS_openat, AT_FDCWD, fired, O_CREAT, 0600));
    errno = atomic_load(&preload_code);
    return true;
}

static bool preload_below(const char *path)
{
    size_t size = strlen(preload_folder);

    return strncmp(path, preload_folder, size) == 0 && (path[size] == '/' || path[size] == '\0');
}

/* True where the call on this descriptor is to fail. */
static bool preload_hits(int fd, bool reads)
{
    char    link[64], path[4096];
    ssize_t size;

    if (atomic_load(&preload_left) < 0 || reads != preload_reads) return false;
    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    size = readlink(link, path, sizeof path - 1);
    if (size < 0) return false;
    path[size] = '\0';
    return preload_below(path) && preload_fires();
}

int open64(const char *path, int flags, ...)
{
    int (*real)(const char *, int, ...);
    va_list args;
    bool    writes = flags & O_DIRECTORY || (flags & O_ACCMODE) != O_RDONLY;
    int     mode;

    va_start(args, flags);
    mode = va_arg(args, int);
    va_end(args);
    if (writes != preload_reads && preload_below(path) && preload_fires()) return -1;
    preload_real("open64", &real);
    return real(path, flags, mode);
}

int openat64(int folder, const char *path, int flags, ...)
{
    int (*real)(int, const char *, int, ...);
    va_list args;
    int     mode;

    va_start(args, flags);
    mode = va_arg(args, int);
    va_end(args);
    if (preload_named && (flags & O_TMPFILE) == O_TMPFILE) {
        errno = EOPNOTSUPP;
        return -1;
    }
    if (preload_hits(folder, false)) return -1;
    preload_real("openat64", &real);
    return real(folder, path, flags, mode);
}

ssize_t pread64(int fd, void *to, size_t size, off64_t at)
{
    ssize_t (*real)(int, void *, size_t, off64_t);

    if (preload_hits(fd, true)) return -1;
    preload_real("pread64", &real);
    return real(fd, to, size, at);
}

ssize_t write(int fd, const void *from, size_t size)
{
    ssize_t (*real)(int, const void *, size_t);

    if (preload_hits(fd, false)) return -1;
    preload_real("write", &real);
    return real(fd, from, size);
}

int fsync(int fd)
{
    int (*real)(int);

    if (preload_hits(fd, false)) return -1;
    preload_real("fsync", &real);
    return real(fd);
}

int fchmod(int fd, mode_t mode)
{
    int (*real)(int, mode_t);

    if (preload_hits(fd, false)) return -1;
    preload_real("fchmod", &real);
    return real(fd, mode);
}

int linkat(int from, const char *old, int to, const char *new, int flags)
{
    int (*real)(int, const char *, int, const char *, int);

    if (preload_hits(to, false)) return -1;
    preload_real("linkat", &real);
    return real(from, old, to, new, flags);
}

int renameat(int from, const char *old, int to, const char *new)
{
    int (*real)(int, const char *, int, const char *);

    if (preload_hits(to, false)) return -1;
    preload_real("renameat", &real);
    return real(from, old, to, new);
}

/* A failed close has closed nevertheless. Of what was only read it means nothing. */
int close(int fd)
{
    int (*real)(int);
    bool fails = (fcntl(fd, F_GETFL) & O_ACCMODE) == O_WRONLY && preload_hits(fd, false);
    int  code = errno;

    preload_real("close", &real);
    if (real(fd) < 0) return -1;
    errno = code;
    return fails ? -1 : 0;
}
