/* SPDX-License-Identifier: Apache-2.0 */
#include "file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define FILE_MOST ((size_t)1 << 30) /* to read at once: a device may have no end */

/* Fails with the error of a file, from errno. */
static levada_status file_fail(levada_error *err, const char *what, const char *path)
{
    int           why = errno;
    levada_status code = why == ENOENT                  ? LEVADA_ENOT_FOUND
                         : why == EACCES || why == EPERM ? LEVADA_EPERMISSION_DENIED
                         : why == ENOSPC || why == EDQUOT ? LEVADA_ERESOURCE_EXHAUSTED
                         : why == EINTR                   ? LEVADA_ECANCELLED
                                                          : LEVADA_EUNAVAILABLE;

    return levada_fail(err, code, "cannot %s %s: %s", what, path, strerror(why));
}

levada_status levada_cli_file_read(const char *path, levada_cli_buffer *out, levada_error *err)
{
    FILE         *file = fopen(strcmp(path, "-") == 0 ? "/dev/stdin" : path, "rb");
    levada_status status = LEVADA_OK;
    size_t        n;

    if (!file) return file_fail(err, "read", path);
    do {
        n = fread(levada_cli_buffer_reserve(out, 1 << 16), 1, 1 << 16, file);
        out->size += n;
    } while (n > 0 && out->size <= FILE_MOST && !ferror(file));
    if (ferror(file)) status = file_fail(err, "read", path);
    else if (out->size > FILE_MOST)
        status = levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "%s is larger than 1 GiB", path);
    fclose(file);
    levada_cli_add(out, "", 0); /* terminates it */
    return status;
}

bool levada_cli_file_same(const char *one, const char *other)
{
    struct stat a, b;
    return stat(one, &a) == 0 && stat(other, &b) == 0 && a.st_dev == b.st_dev
        && a.st_ino == b.st_ino;
}

bool levada_cli_file_regular(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

bool levada_cli_file_pipe(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISFIFO(st.st_mode);
}

int64_t levada_cli_file_size(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 ? (int64_t)st.st_size : -1;
}

const char *levada_cli_file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

bool levada_cli_file_ends(const char *path, const char *suffix)
{
    size_t n = strlen(path), m = strlen(suffix);
    return n >= m && strcmp(path + n - m, suffix) == 0;
}
