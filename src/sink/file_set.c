/* SPDX-License-Identifier: Apache-2.0 */
#include "sink/file_set.h"

#include "base/alloc.h"
#include "base/text.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
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

static void set_part(const char *path, int64_t i, char name[LEVADA_FILE_SET_PATH])
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

/* "." where the path has no folder. */
static void set_folder(const set_name *s, char folder[LEVADA_FILE_SET_PATH])
{
    size_t size = (size_t)(s->base - s->path);

    (void)snprintf(folder, LEVADA_FILE_SET_PATH, "%.*s", size ? (int)size : 1,
                   size ? s->path : ".");
}

static levada_status set_clean(const set_name *s, int64_t n, int64_t *removed, levada_error *err)
{
    char           folder[LEVADA_FILE_SET_PATH];
    struct dirent *entry;
    levada_status  st = LEVADA_OK;
    DIR           *open;

    set_folder(s, folder);
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

/* -- the set */

levada_status levada_file_set_add(levada_file_set *set, char name[LEVADA_FILE_SET_PATH],
                                  levada_error *err)
{
    set_name s = set_split(set->path);
    bool     memory = levada_reserve(&set->part, &set->capacity, set->n + 1, sizeof *set->part);

    set_folder(&s, name);
    if (memory && set->n == 0) set->folder = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (memory && set->folder < 0) return set_failed("open the folder", name, err);
    set_part(set->path, set->n, name);
    if (memory) set->part[set->n] = levada_output_name_add(set->folder, name + (s.base - s.path));
    if (!memory || !set->part[set->n]) {
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "no memory to write files");
    }
    set->n++;
    return LEVADA_OK;
}

/* A handler of signals finds all parts or none. */
static levada_status set_rename(levada_file_set *set, levada_error *err)
{
    char     from[LEVADA_FILE_SET_PATH], to[LEVADA_FILE_SET_PATH];
    set_name s = set_split(set->path);

    if (levada_output_names_ended()) {
        return levada_fail(err, LEVADA_ECANCELLED, "the process is ending");
    }
    for (int64_t i = 0; i < set->n; i++) levada_output_name_drop(&set->part[i]);
    for (int64_t i = set->n - 1; i >= 0; i--) {
        set_part(set->path, i, from);
        set_final(&s, i, set->n, to);
        if (rename(from, to) != 0) return set_failed("rename a part to", to, err);
    }
    return LEVADA_OK;
}

levada_status levada_file_set_publish(levada_file_set *set, int64_t *removed, levada_error *err)
{
    set_name      s = set_split(set->path);
    int64_t       n = set->n;
    sigset_t      all, before;
    levada_status st;

    *removed = 0;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    st = set_rename(set, err);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (st != LEVADA_OK) return st;
    set->n = 0;
    return set_clean(&s, n, removed, err);
}

void levada_file_set_close(levada_file_set *set)
{
    char name[LEVADA_FILE_SET_PATH];

    if (!set->part) return;
    for (int64_t i = 0; i < set->n; i++) {
        set_part(set->path, i, name);
        (void)unlink(name);
        levada_output_name_drop(&set->part[i]);
    }
    (void)close(set->folder);
    levada_free(set->part);
    set->part = NULL;
    set->n = set->capacity = 0;
}
