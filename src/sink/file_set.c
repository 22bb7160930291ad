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
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* The name of the set in its folder, around the numbers. */
typedef struct set_name {
    const char *path, *base;
    size_t      head; /* bytes of base before the numbers */
    const char *tail; /* after them */
} set_name;

static set_name set_split(const char *path)
{
    const char *base = levada_base_name(path);
    const char *mark = strstr(base, LEVADA_FILE_SET_MARK), *dot = strchr(base, '.');

    if (mark)
        return (set_name){ path, base, (size_t)(mark - base), mark + strlen(LEVADA_FILE_SET_MARK) };
    if (!dot) dot = base + strlen(base);
    return (set_name){ path, base, (size_t)(dot - base), dot };
}

/* Writes the name of a part in the directory of parts. */
static void set_part(int64_t i, char name[LEVADA_FILE_SET_NAME])
{
    (void)snprintf(name, LEVADA_FILE_SET_NAME, "%05lld", (long long)i);
}

/* Writes the name of a file of the set in its directory. */
static void set_final(const set_name *s, int64_t i, int64_t n, char name[LEVADA_FILE_SET_PATH])
{
    bool marked = strstr(s->base, LEVADA_FILE_SET_MARK) != NULL;

    (void)snprintf(name, LEVADA_FILE_SET_PATH, "%.*s%s%05lld-of-%05lld%s", (int)s->head, s->base,
                   marked ? "" : "-", (long long)i, (long long)n, s->tail);
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

/* Returns true if this is the name of a file of this set, but of another number than n. */
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

static levada_status set_failed(const char *what, const char *name, levada_error *err)
{
    char text[128];
    int  code = errno;

    return levada_fail(err, LEVADA_EUNAVAILABLE, "cannot %s %s: %s", what, name,
                       levada_text_errno(code, text, sizeof text));
}

/* Writes the directory of a path; "." if it has none. */
static void set_folder(const set_name *s, char folder[LEVADA_FILE_SET_PATH])
{
    size_t size = (size_t)(s->base - s->path);

    (void)snprintf(folder, LEVADA_FILE_SET_PATH, "%.*s", size ? (int)size : 1,
                   size ? s->path : ".");
}

/* -- the directory of parts */

#define SET_HEAD  ".levada-"
#define SET_TAIL  ".parts"
#define SET_TRIES 100

static bool set_is_parts(const char *name)
{
    size_t n = strlen(name), head = strlen(SET_HEAD), tail = strlen(SET_TAIL);

    return n > head + tail && strncmp(name, SET_HEAD, head) == 0 &&
           strcmp(name + n - tail, SET_TAIL) == 0;
}

/* Creates the directory and locks it for as long as this process has it open. */
static levada_status set_make(levada_file_set *set, levada_error *err)
{
    int code = EEXIST;

    for (int i = 0; i < SET_TRIES && code == EEXIST; i++) {
        (void)snprintf(set->name, sizeof set->name, SET_HEAD "%016llx" SET_TAIL,
                       (unsigned long long)levada_output_random(set));
        set->directory = levada_output_name_add(set->folder, set->name);
        if (!set->directory) {
            return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED,
                               "out of memory while writing files");
        }
        code = mkdirat(set->folder, set->name, 0700) == 0 ? 0 : errno;
        if (code != 0) levada_output_name_drop(&set->directory);
    }
    if (code == 0) {
        set->parts = openat(set->folder, set->name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        code = set->parts < 0 ? errno : 0;
    }
    if (code == 0)
        (void)flock(set->parts, LOCK_EX | LOCK_NB); /* without locks nothing is removed */
    errno = code;
    return code == 0 ? LEVADA_OK : set_failed("create the directory of parts next to", set->path,
                                              err);
}

/* Removes a directory of parts that no process has locked. */
static void set_remove_parts(int folder, const char *name)
{
    int            open = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct dirent *entry;
    DIR           *parts;

    if (open < 0) return;
    parts = flock(open, LOCK_EX | LOCK_NB) == 0 ? fdopendir(open) : NULL;
    if (!parts) {
        (void)close(open);
        return;
    }
    while ((entry = readdir(parts)) != NULL) (void)unlinkat(open, entry->d_name, 0);
    (void)unlinkat(folder, name, AT_REMOVEDIR);
    (void)closedir(parts);
}

/* Removes files of older sets, and parts of processes that were killed. */
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
        if (set_is_parts(entry->d_name)) set_remove_parts(dirfd(open), entry->d_name);
        if (!set_is_older(s, n, entry->d_name)) continue;
        if (unlinkat(dirfd(open), entry->d_name, 0) == 0) ++*removed;
        else if (errno != ENOENT) st = set_failed("remove the older file", entry->d_name, err);
    }
    if (st == LEVADA_OK && fsync(dirfd(open)) != 0 && errno != EINVAL && errno != ENOTSUP &&
        errno != EROFS)
        st = set_failed("sync the directory", folder, err);
    (void)closedir(open);
    return st;
}

/* -- the set */

/* Makes the directory of the set, and of its parts, before the first part. */
static levada_status set_begin(levada_file_set *set, levada_error *err)
{
    char     folder[LEVADA_FILE_SET_PATH];
    set_name s = set_split(set->path);

    set->parts = -1;
    set_folder(&s, folder);
    set->folder = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (set->folder < 0) return set_failed("open the directory", folder, err);
    return set_make(set, err);
}

levada_status levada_file_set_add(levada_file_set *set, char name[LEVADA_FILE_SET_PATH],
                                  levada_error *err)
{
    char     part[LEVADA_FILE_SET_NAME];
    set_name s = set_split(set->path);
    bool     first = !set->part;
    bool     memory = levada_reserve(&set->part, &set->capacity, set->n + 1, sizeof *set->part);

    if (memory && first) LEVADA_TRY(set_begin(set, err));
    set_part(set->n, part);
    if (memory) set->part[set->n] = levada_output_name_add(set->parts, part);
    if (!memory || !set->part[set->n]) {
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory while writing files");
    }
    (void)snprintf(name, LEVADA_FILE_SET_PATH, "%.*s%s/%s", (int)(s.base - s.path), s.path,
                   set->name, part);
    set->n++;
    return LEVADA_OK;
}

/* Renames the set so that a handler of signals finds all parts or none. */
static levada_status set_rename(levada_file_set *set, const set_name *s, levada_error *err)
{
    char part[LEVADA_FILE_SET_NAME], to[LEVADA_FILE_SET_PATH];

    if (levada_output_names_ended()) {
        return levada_fail(err, LEVADA_ECANCELLED, "the process is ending");
    }
    for (int64_t i = 0; i < set->n; i++) levada_output_name_drop(&set->part[i]);
    for (int64_t i = set->n - 1; i >= 0; i--) {
        set_part(i, part);
        set_final(s, i, set->n, to);
        if (renameat(set->parts, part, set->folder, to) != 0) {
            return set_failed("rename a part to", to, err);
        }
    }
    return LEVADA_OK;
}

/* Waits until no other process publishes a set in the folder. */
static void set_lock(const levada_file_set *set)
{
    while (flock(set->folder, LOCK_EX) != 0 && errno == EINTR && !levada_output_names_ended()) {}
}

levada_status levada_file_set_publish(levada_file_set *set, int64_t *removed, levada_error *err)
{
    set_name      s = set_split(set->path);
    int64_t       n = set->n;
    sigset_t      all, before;
    levada_status st;

    *removed = 0;
    set_lock(set);
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    st = set_rename(set, &s, err);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (st == LEVADA_OK) {
        set->n = 0;
        st = set_clean(&s, n, removed, err);
    }
    (void)flock(set->folder, LOCK_UN);
    return st;
}

void levada_file_set_close(levada_file_set *set)
{
    char part[LEVADA_FILE_SET_NAME];

    if (!set->part) return;
    for (int64_t i = 0; i < set->n; i++) {
        set_part(i, part);
        (void)unlinkat(set->parts, part, 0);
        levada_output_name_drop(&set->part[i]);
    }
    if (set->directory) (void)unlinkat(set->folder, set->name, AT_REMOVEDIR);
    levada_output_name_drop(&set->directory);
    if (set->parts >= 0) (void)close(set->parts);
    if (set->folder >= 0) (void)close(set->folder);
    levada_free(set->part);
    set->part = NULL;
    set->n = set->capacity = 0;
}
