/* SPDX-License-Identifier: Apache-2.0 */
/*
 * "@path" in a description: the file holds one value. It is read at once, so that the printed
 * description contains the value and needs no file.
 */
#include "description/parse.h"

#include "base/alloc.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PARSE_FILE_MOST = 16 << 20 };

static levada_status parse_file_fail(const char *path, int why, levada_error *err)
{
    if (why == ENOENT || why == ENOTDIR) {
        return levada_fail(err, LEVADA_ENOT_FOUND, "@%s: no such file", path);
    }
    if (why == EACCES || why == EPERM) {
        return levada_fail(err, LEVADA_EPERMISSION_DENIED, "@%s: permission denied", path);
    }
    return levada_fail(err, LEVADA_EUNAVAILABLE, "@%s: cannot be read (error %d)", path, why);
}

/* Accepts only files, because a pipeline that names a terminal or a pipe must not wait for it. */
static levada_status parse_file_size(int fd, const char *path, size_t *out, levada_error *err)
{
    struct stat info;

    if (fstat(fd, &info) != 0) return parse_file_fail(path, errno, err);
    if (!S_ISREG(info.st_mode)) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "@%s must be a regular file; write @ before the path of a pipeline",
                           path);
    }
    if (info.st_size > PARSE_FILE_MOST) {
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "@%s must have at most 16 MiB", path);
    }
    *out = (size_t)info.st_size;
    return LEVADA_OK;
}

static levada_status parse_file_read(const char *path, char **out, size_t *size, levada_error *err)
{
    levada_status status = LEVADA_OK;
    char         *text = NULL;
    size_t        want = 0, n = 0;
    int           fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

    if (fd < 0) return parse_file_fail(path, errno, err);
    status = parse_file_size(fd, path, &want, err);
    if (status != LEVADA_OK) goto out;
    text = levada_alloc(want + 1);
    if (text == NULL) status = levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory");
    while (status == LEVADA_OK && n < want) {
        ssize_t got = read(fd, text + n, want - n);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) status = parse_file_fail(path, errno, err);
        if (got <= 0) break;
        n += (size_t)got;
    }
out:
    close(fd);
    if (status != LEVADA_OK) {
        levada_free(text);
        return status;
    }
    text[n] = '\0';
    *out = text;
    *size = n;
    return LEVADA_OK;
}

levada_status levada_parse_file(levada_parser *p, const char *path, bool plain, levada_value **out,
                                levada_error *err)
{
    levada_parser inner;
    char         *text = NULL;
    size_t        size = 0;

    LEVADA_TRY(parse_file_read(path, &text, &size, err));
    levada_status status = levada_parser_init(&inner, p->env, text, size, err);
    if (status != LEVADA_OK) {
        levada_error_wrap(err, "@%s", path);
        goto out;
    }
    inner.make = p->make;
    inner.within = p->within;
    inner.file = path;
    inner.nest = p->nest;
    inner.limit = p->limit;
    status = levada_parse_whole(&inner, plain, out, err);
out:
    levada_free(text);
    return status;
}
