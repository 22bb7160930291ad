/* SPDX-License-Identifier: Apache-2.0 */
#include "sink/file_set.h"

#include "base/text.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The name of the set in its folder, around the numbers. */
typedef struct set_name {
    const char *path, *base;
    size_t      head; /* bytes of base before the numbers */
    const char *tail; /* after them */
} set_name;

static set_name set_split(const char *path)
{
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    const char *mark = strstr(base, LEVADA_FILE_SET_MARK), *dot = strchr(base, '.');

    if (mark)
        return (set_name){ path, base, (size_t)(mark - base), mark + strlen(LEVADA_FILE_SET_MARK) };
    if (!dot) dot = base + strlen(base);
    return (set_name){ path, base, (size_t)(dot - base), dot };
}

void levada_file_set_part(const char *path, int64_t i, char name[LEVADA_FILE_SET_PATH])
{
    (void)snprintf(name, LEVADA_FILE_SET_PATH, "%s.part-%05lld", path, (long long)i);
}

static void set_final(const set_name *s, int64_t i, int64_t n, char name[LEVADA_FILE_SET_PATH])
{
    bool marked = strstr(s->base, LEVADA_FILE_SET_MARK) != NULL;

    (void)snprintf(name, LEVADA_FILE_SET_PATH, "%.*s%.*s%s%05lld-of-%05lld%s",
                   (int)(s->base - s->path), s->path, (int)s->head, s->base, marked ? "" : "-",
                   (long long)i, (long long)n, s->tail);
}

void levada_file_set_drop(const char *path, int64_t n)
{
    char name[LEVADA_FILE_SET_PATH];

    for (int64_t i = 0; i < n; i++) {
        levada_file_set_part(path, i, name);
        (void)unlink(name);
    }
}

/* -- files of older sets */

/* Reads digits, at least five; NULL where there are fewer. */
static const char *set_number(const char *at, int64_t *out)
{
    char *end = NULL;

    if (!isdigit((unsigned char)*at)) return NULL;
    errno = 0;
    *out = strtoll(at, &end, 10);
    return errno == 0 && end - at >= 5 ? end : NULL;
}

/* Is this the name of a file of this set, but of another number than n? */
static bool set_is_older(const set_name *s, int64_t n, const char *name)
{
    bool    marked = strstr(s->base, LEVADA_FILE_SET_MARK) != NULL;
    int64_t number = 0, count = 0;

    if (strncmp(name, s->base, s->head) != 0) return false;
    name += s->head;
    if (!marked && *name++ != '-') return false;
    name = set_number(name, &number);
    if (!name || strncmp(name, "-of-", 4) != 0) return false;
    name = set_number(name + 4, &count);
    return name && strcmp(name, s->tail) == 0 && number < count && count != n;
}

/* Is this a part that an earlier process has left? */
static bool set_is_part(const set_name *s, const char *name)
{
    size_t  size = strlen(s->base);
    int64_t number = 0;

    if (strncmp(name, s->base, size) != 0 || strncmp(name + size, ".part-", 6) != 0) return false;
    name = set_number(name + size + 6, &number);
    return name && *name == '\0';
}

static levada_status set_failed(const char *what, const char *name, levada_error *err)
{
    char text[128];
    int  code = errno;

    return levada_fail(err, LEVADA_EUNAVAILABLE, "cannot %s %s: %s", what, name,
                       levada_text_errno(code, text, sizeof text));
}

static levada_status set_clean(const set_name *s, int64_t n, int64_t *removed, levada_error *err)
{
    char           folder[LEVADA_FILE_SET_PATH] = ".";
    size_t         size = (size_t)(s->base - s->path);
    struct dirent *entry;
    levada_status  st = LEVADA_OK;
    DIR           *open;

    if (size > 0) (void)snprintf(folder, sizeof folder, "%.*s", (int)size, s->path);
    open = opendir(folder);
    if (!open) return set_failed("look for files of an older set in", folder, err);
    while (st == LEVADA_OK && (entry = readdir(open)) != NULL) {
        bool older = set_is_older(s, n, entry->d_name);

        if (!older && !set_is_part(s, entry->d_name)) continue;
        if (unlinkat(dirfd(open), entry->d_name, 0) == 0) *removed += older;
        else if (errno != ENOENT) st = set_failed("remove the older file", entry->d_name, err);
    }
    if (st == LEVADA_OK && fsync(dirfd(open)) != 0 && errno != EINVAL && errno != ENOTSUP &&
        errno != EROFS)
        st = set_failed("write the folder", folder, err);
    (void)closedir(open);
    return st;
}

levada_status levada_file_set_publish(const char *path, int64_t n, int64_t *removed,
                                      levada_error *err)
{
    char     from[LEVADA_FILE_SET_PATH], to[LEVADA_FILE_SET_PATH];
    set_name s = set_split(path);

    *removed = 0;
    for (int64_t i = n - 1; i >= 0; i--) {
        levada_file_set_part(path, i, from);
        set_final(&s, i, n, to);
        if (rename(from, to) != 0) return set_failed("rename a part to", to, err);
    }
    return set_clean(&s, n, removed, err);
}
