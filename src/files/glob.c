/* SPDX-License-Identifier: Apache-2.0 */
#include "files/glob.h"

#include "base/alloc.h"
#include "base/hash.h"
#include "base/random.h"
#include "base/text.h"
#include "files/braces.h"
#include "files/listing.h"
#include "state/damaged.h"

#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What a folder says about an entry without a look at the entry itself. */
#ifdef DT_REG
#define GLOB_IS_FILE(entry) ((entry)->d_type == DT_REG)
#else
#define GLOB_IS_FILE(entry) false
#endif

static levada_status glob_short(levada_error *err)
{
    return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a table of files");
}

static levada_status glob_add(levada_files *files, const char *path, levada_error *err)
{
    char *copy;

    if (!levada_reserve(&files->path, &files->capacity, files->n + 1, sizeof *files->path)) {
        return glob_short(err);
    }
    copy = levada_strdup(path);
    if (!copy) return glob_short(err);
    files->path[files->n++] = copy;
    return LEVADA_OK;
}

static int glob_compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* -- looking through folders: not by glob(), which passes over those that it cannot look into */

typedef struct glob_search {
    levada_text   path; /* as far as it is known; a folder ends with a slash, "" is this one */
    levada_files *files;
} glob_search;

static bool glob_special(const char *text, size_t n)
{
    size_t plain = strcspn(text, "*?[");

    return plain < n;
}

/* Returns true for an error that means no files: what is not there, or is not a directory, has
 * none. */
static bool glob_absent(int why) { return why == ENOENT || why == ENOTDIR; }

/* Reports that a directory cannot be listed: the one that the path is, or ends in. */
static levada_status glob_closed(const glob_search *g, int why, levada_error *err)
{
    const char   *path = g->path.at ? g->path.at : "", *slash = strrchr(path, '/');
    char          folder[sizeof err->file], text[96];
    size_t        n = slash == path ? 1 : slash ? (size_t)(slash - path) : 0;
    levada_status status = LEVADA_EUNAVAILABLE;

    if (why == EACCES || why == EPERM) status = LEVADA_EPERMISSION_DENIED;
    if (why == EMFILE || why == ENFILE || why == ENOMEM) status = LEVADA_ERESOURCE_EXHAUSTED;
    if (why == ENAMETOOLONG || why == ELOOP) status = LEVADA_EINVALID_ARGUMENT;
    if (n >= sizeof folder) { /* as levada_error_place has it: the end of a long one counts */
        path += n - (sizeof folder - 1);
        n = sizeof folder - 1;
    }
    (void)snprintf(folder, sizeof folder, "%.*s", n ? (int)n : 1, n ? path : ".");
    (void)levada_fail(err, status, "cannot list the directory: %s",
                      levada_text_errno(why, text, sizeof text));
    levada_error_place(err, NULL, folder, -1, -1);
    return status;
}

static void glob_cut(glob_search *g, size_t size)
{
    g->path.size = size;
    if (g->path.at) g->path.at[size] = '\0';
}

/* Takes a whole path, unless it is a directory. What a directory lists and nobody can look at is
 * taken too, and refused when it is opened. */
static levada_status glob_end(const glob_search *g, bool listed, levada_error *err)
{
    struct stat info;

    if (!listed && lstat(g->path.at, &info) != 0) {
        return glob_absent(errno) ? LEVADA_OK : glob_closed(g, errno, err);
    }
    if (stat(g->path.at, &info) == 0 && S_ISDIR(info.st_mode)) return LEVADA_OK;
    return glob_add(g->files, g->path.at, err);
}

static levada_status glob_walk(glob_search *g, const char *rest, levada_error *err);

/* Follows a name that fits a word of the pattern; `rest` follows the word. */
static levada_status glob_enter(glob_search *g, const struct dirent *entry, const char *rest,
                                levada_error *err)
{
    struct stat info;

    if (GLOB_IS_FILE(entry) && *rest != '\0') return LEVADA_OK; /* no folder */
    levada_text_put(&g->path, entry->d_name);
    if (g->path.failed) return glob_short(err);
    if (GLOB_IS_FILE(entry)) return glob_add(g->files, g->path.at, err);
    if (*rest == '\0') return glob_end(g, true, err);
    if (stat(g->path.at, &info) != 0) { /* a link that goes round in a circle leads nowhere too */
        return glob_absent(errno) || errno == ELOOP ? LEVADA_OK : glob_closed(g, errno, err);
    }
    return S_ISDIR(info.st_mode) ? glob_walk(g, rest, err) : LEVADA_OK;
}

/* Returns true for an index (files/index.h), which is found by the name of its file and is not
 * data. */
static bool glob_is_index(const char *name)
{
    size_t n = strlen(name), suffix = strlen(".lvindex");

    return n > suffix && strcmp(name + n - suffix, ".lvindex") == 0;
}

/* Follows the names of a directory that fit the word. */
static levada_status glob_list(glob_search *g, const char *word, const char *rest,
                               levada_error *err)
{
    DIR           *folder = opendir(g->path.size ? g->path.at : ".");
    size_t         size = g->path.size;
    struct dirent *entry = NULL;
    levada_status  st = LEVADA_OK;

    if (!folder) return glob_absent(errno) ? LEVADA_OK : glob_closed(g, errno, err);
    for (errno = 0; st == LEVADA_OK && (entry = readdir(folder)) != NULL; errno = 0) {
        if (fnmatch(word, entry->d_name, FNM_PERIOD) != 0) continue;
        if (glob_is_index(entry->d_name) && !glob_is_index(word)) continue;
        st = glob_enter(g, entry, rest, err);
        glob_cut(g, size);
    }
    if (st == LEVADA_OK && errno != 0) st = glob_closed(g, errno, err);
    (void)closedir(folder);
    return st;
}

/* Searches the folder that the path is, and all folders in it, for `rest`. Like shells it does not
 * follow symbolic links to folders, and skips folders whose names begin with a dot. */
static levada_status glob_deep(glob_search *g, const char *rest, levada_error *err)
{
    size_t         size = g->path.size;
    struct dirent *entry = NULL;
    DIR           *folder;
    levada_status  st;

    LEVADA_TRY(glob_walk(g, *rest ? rest : "*", err));
    glob_cut(g, size);
    folder = opendir(size ? g->path.at : ".");
    if (!folder) return glob_absent(errno) ? LEVADA_OK : glob_closed(g, errno, err);
    st = LEVADA_OK;
    for (errno = 0; st == LEVADA_OK && (entry = readdir(folder)) != NULL; errno = 0) {
        struct stat info;

        if (entry->d_name[0] == '.' || GLOB_IS_FILE(entry)) continue;
        levada_text_put(&g->path, entry->d_name);
        if (g->path.failed) st = glob_short(err);
        else if (lstat(g->path.at, &info) == 0 && S_ISDIR(info.st_mode)) {
            levada_text_char(&g->path, '/');
            st = g->path.failed ? glob_short(err) : glob_deep(g, rest, err);
        }
        glob_cut(g, size);
    }
    if (st == LEVADA_OK && errno != 0) st = glob_closed(g, errno, err);
    (void)closedir(folder);
    return st;
}

/* Returns what follows the leading words `**` of a pattern and their slashes, or NULL if its first
 * word is another one. */
static const char *glob_after_stars(const char *rest)
{
    const char *after = NULL;

    while (strncmp(rest, "**", 2) == 0 && (rest[2] == '/' || rest[2] == '\0')) {
        rest += 2;
        rest += strspn(rest, "/");
        after = rest;
    }
    return after;
}

/* Adds a word of the pattern without * ? [ to the path. */
static void glob_name(glob_search *g, const char *word, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (word[i] == '\\' && i + 1 < n) i++;
        levada_text_char(&g->path, word[i]);
    }
}

/* Follows what is left of the pattern, from the directory that the path is. */
static levada_status glob_walk(glob_search *g, const char *rest, levada_error *err)
{
    const char   *deep;
    levada_status st;
    char         *word;

    for (;;) {
        size_t slashes = strspn(rest, "/"), n = strcspn(rest + slashes, "/");

        levada_text_add(&g->path, rest, slashes);
        rest += slashes;
        if (*rest == '\0') return LEVADA_OK; /* a folder */
        if (glob_special(rest, n)) break;
        glob_name(g, rest, n);
        rest += n;
        if (g->path.failed) return glob_short(err);
        if (*rest == '\0') return glob_end(g, false, err);
    }
    if (g->path.failed) return glob_short(err);
    deep = glob_after_stars(rest);
    if (deep) return glob_deep(g, deep, err);
    word = levada_strdup(rest);
    if (!word) return glob_short(err);
    word[strcspn(word, "/")] = '\0';
    st = glob_list(g, word, rest + strcspn(rest, "/"), err);
    levada_free(word);
    return st;
}

/* Sorts the files from `first` on; a file that `**` found on two ways remains once. */
static void glob_sort(levada_files *files, int64_t first)
{
    int64_t n = first;

    qsort(files->path + first, (size_t)(files->n - first), sizeof *files->path, glob_compare);
    for (int64_t i = first; i < files->n; i++) {
        if (n > first && strcmp(files->path[n - 1], files->path[i]) == 0) {
            levada_free(files->path[i]);
        } else {
            files->path[n++] = files->path[i];
        }
    }
    files->n = n;
}

/* The files of some patterns. */
typedef struct glob_patterns {
    const levada_env *env;
    levada_files      files;
} glob_patterns;

static levada_status glob_listed(void *to, const char *name, levada_error *err)
{
    return glob_add(to, name, err);
}

/* Finds the files of a URL with stars. */
static levada_status glob_remote(glob_patterns *all, const char *pattern, levada_error *err)
{
    int64_t       before = all->files.n;
    levada_status st = levada_listing_find(all->env, pattern, glob_listed, &all->files, err);

    if (st == LEVADA_OK && all->files.n == before)
        st = levada_fail(err, LEVADA_ENOT_FOUND, "no file matches '%s'", pattern);
    if (st == LEVADA_OK) glob_sort(&all->files, before);
    else levada_error_place(err, NULL, pattern, -1, -1);
    return st;
}

/* Finds the files of a pattern whose braces are expanded. */
static levada_status glob_find(void *user, const char *pattern, levada_error *err)
{
    glob_patterns *all = user;
    levada_files  *files = &all->files;
    int64_t        before = files->n;
    glob_search    g = { .files = files };
    levada_status  st;

    if (strcmp(pattern, "-") == 0) return glob_add(files, "/dev/stdin", err);
    if (strstr(pattern, "://")) { /* with ? and [ of its own */
        return strchr(pattern, '*') ? glob_remote(all, pattern, err)
                                    : glob_add(files, pattern, err);
    }
    if (!glob_special(pattern, strlen(pattern))) return glob_add(files, pattern, err);
    st = glob_walk(&g, pattern, err);
    levada_text_clear(&g.path);
    if (st != LEVADA_OK) return st;
    if (files->n > before) {
        glob_sort(files, before);
        return LEVADA_OK;
    }
    /* A file whose name looks like a pattern? */
    if (access(pattern, F_OK) == 0) return glob_add(files, pattern, err);
    (void)levada_fail(err, LEVADA_ENOT_FOUND, "no file matches '%s'", pattern);
    levada_error_place(err, NULL, pattern, -1, -1);
    return LEVADA_ENOT_FOUND;
}

levada_status levada_files_find(const levada_env *env, const levada_texts *patterns,
                                levada_files *out, levada_error *err)
{
    glob_patterns all = { env, { 0 } };
    levada_status st = LEVADA_OK;

    if (patterns->n == 0) return levada_fail(err, LEVADA_ENOT_FOUND, "the list of files is empty");
    for (int64_t i = 0; i < patterns->n && st == LEVADA_OK; i++) {
        const char *pattern = patterns->at[i];
        bool        braces = strchr(pattern, '{') && access(pattern, F_OK) != 0;

        st = braces ? levada_braces_expand(pattern, glob_find, &all, err)
                    : glob_find(&all, pattern, err);
    }
    if (st == LEVADA_OK && all.files.n > INT32_MAX) {
        st = levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED,
                         "%lld files are more than 2^31 - 1; join them", (long long)all.files.n);
    }
    if (st != LEVADA_OK) {
        levada_files_clear(&all.files);
        return st;
    }
    *out = all.files;
    return LEVADA_OK;
}

void levada_files_put_literal(levada_text *text, const char *name, size_t size)
{
    bool special = false;

    if (memmem(name, size, "://", 3)) {
        levada_text_add(text, name, size);
        return;
    }
    for (size_t i = 0; i < size; i++) special = special || strchr("*?[{", name[i] ? name[i] : ' ');
    if (size == 1 && *name == '-') levada_text_put(text, "./");
    for (size_t i = 0; i < size; i++) {
        bool quoted = name[i] != '\0' && strchr("*?[{", name[i]);

        if (quoted) levada_text_char(text, '[');
        if (special && name[i] == '\\') levada_text_char(text, '\\');
        levada_text_char(text, name[i]);
        if (quoted) levada_text_char(text, ']');
    }
}

void levada_files_clear(levada_files *files)
{
    for (int64_t i = 0; i < files->n; i++) levada_free(files->path[i]);
    levada_free(files->path);
    *files = (levada_files){0};
}

void levada_files_shuffle(int32_t *order, int64_t n, uint64_t key)
{
    for (int64_t i = 0; i < n; i++) order[i] = (int32_t)i;
    for (int64_t i = n - 1; i > 0; i--) {
        uint64_t bits = levada_random_at(key, (uint64_t)i);
        int64_t  j = (int64_t)levada_random_below(bits, (uint64_t)(i + 1));
        int32_t  held = order[i];

        order[i] = order[j];
        order[j] = held;
    }
}

/* -- in states */

#define GLOB_HASHES INT64_C(64)

/* Returns the first of the files that number k of `hashes` is about. */
static int64_t glob_group(int64_t k, int64_t hashes, int64_t n) { return k * n / hashes; }

static int64_t glob_hash(const levada_files *files, int64_t out[GLOB_HASHES])
{
    int64_t hashes = files->n < GLOB_HASHES ? files->n : GLOB_HASHES;

    for (int64_t k = 0; k < hashes; k++) {
        uint64_t hash = 0;

        for (int64_t i = glob_group(k, hashes, files->n); i < glob_group(k + 1, hashes, files->n);
             i++) {
            const char *name = levada_base_name(files->path[i]);

            hash = levada_hash64(name, strlen(name), hash);
        }
        out[k] = (int64_t)hash;
    }
    return hashes;
}

levada_status levada_files_save(const levada_files *files, levada_state_writer *to,
                                levada_error *err)
{
    int64_t hash[GLOB_HASHES], n = glob_hash(files, hash);

    LEVADA_TRY(levada_state_put_i64(to, "files", files->n, err));
    return levada_state_put_i64s(to, "names", hash, n, err);
}

static levada_status glob_renamed(const levada_files *files, int64_t first, int64_t n,
                                  levada_error *err)
{
    const char *path = files->path[first];

    if (n == 1) {
        (void)levada_fail(err, LEVADA_EFAILED_PRECONDITION,
                          "file %lld is '%s', but had another name when the checkpoint was saved",
                          (long long)first, path);
    } else {
        (void)levada_fail(err, LEVADA_EFAILED_PRECONDITION,
                          "a file from '%s' to '%s' had another name when the checkpoint was saved",
                          path, files->path[first + n - 1]);
    }
    levada_error_place(err, NULL, path, -1, -1);
    return LEVADA_EFAILED_PRECONDITION;
}

levada_status levada_files_verify(const levada_files *files, levada_state_reader *from,
                                  levada_error *err)
{
    int64_t        now[GLOB_HASHES], n = glob_hash(files, now), was, m = 0;
    const int64_t *saved = NULL;

    LEVADA_TRY(levada_state_get_count(from, "files", INT32_MAX, &was, err));
    LEVADA_TRY(levada_state_get_i64s(from, "names", &saved, &m, err));
    if (was != files->n) {
        return levada_fail(err, LEVADA_EFAILED_PRECONDITION,
                           "%lld %s, but %lld when the checkpoint was saved", (long long)files->n,
                           files->n == 1 ? "file" : "files", (long long)was);
    }
    if (m != n) {
        return levada_state_damaged(from, "names", err, "%lld hashes, %lld were expected",
                                    (long long)m, (long long)n);
    }
    for (int64_t k = 0; k < n; k++) {
        int64_t first = glob_group(k, n, files->n);

        if (now[k] == saved[k]) continue;
        return glob_renamed(files, first, glob_group(k + 1, n, files->n) - first, err);
    }
    return LEVADA_OK;
}

/* -- sizes: of up to 64 files each, of more a hash of neighbors */

#define GLOB_UNKNOWN (-1) /* as returned by `look` of an opener: not compared */

/* Returns the size of the first of the files; GLOB_UNKNOWN if the size of any of them is unknown.
 */
static int64_t glob_size(const int64_t *sizes, int64_t first, int64_t end)
{
    for (int64_t i = first; i < end; i++) {
        if (sizes[i] == GLOB_UNKNOWN) return GLOB_UNKNOWN;
    }
    return sizes[first];
}

static int64_t glob_sizes(const levada_files *files, const int64_t *sizes,
                          int64_t out[GLOB_HASHES])
{
    int64_t n = files->n < GLOB_HASHES ? files->n : GLOB_HASHES;

    for (int64_t k = 0; k < n; k++) {
        int64_t first = glob_group(k, n, files->n), end = glob_group(k + 1, n, files->n);

        out[k] = glob_size(sizes, first, end);
        if (files->n <= GLOB_HASHES || out[k] == GLOB_UNKNOWN) continue;
        out[k] = (int64_t)levada_hash64(sizes + first, (size_t)(end - first) * sizeof *sizes, 0);
    }
    return n;
}

levada_status levada_files_save_sizes(const levada_files *files, const int64_t *sizes,
                                      levada_state_writer *to, levada_error *err)
{
    int64_t list[GLOB_HASHES], n = glob_sizes(files, sizes, list);

    return levada_state_put_i64s(to, "sizes", list, n, err);
}

static levada_status glob_resized(const levada_files *files, int64_t k, int64_t now, int64_t was,
                                  levada_error *err)
{
    int64_t     first = glob_group(k, GLOB_HASHES, files->n);
    const char *path = files->path[files->n <= GLOB_HASHES ? k : first];

    if (files->n > GLOB_HASHES) {
        (void)levada_fail(
            err, LEVADA_EFAILED_PRECONDITION,
            "the size of a file from '%s' to '%s' has changed since the checkpoint was saved", path,
            files->path[glob_group(k + 1, GLOB_HASHES, files->n) - 1]);
    } else if (now < 0 || was < 0) {
        (void)levada_fail(err, LEVADA_EFAILED_PRECONDITION,
                          now < 0 ? "%s existed when the checkpoint was saved and is missing now"
                                  : "%s was missing when the checkpoint was saved and exists now",
                          path);
    } else {
        (void)levada_fail(err, LEVADA_EFAILED_PRECONDITION,
                          "%s was changed since the checkpoint was saved: it has %lld bytes, but "
                          "had %lld",
                          path, (long long)now, (long long)was);
    }
    levada_error_place(err, NULL, path, -1, -1);
    return LEVADA_EFAILED_PRECONDITION;
}

levada_status levada_files_verify_sizes(const levada_files *files, const int64_t *sizes,
                                        levada_state_reader *from, levada_error *err)
{
    int64_t        now[GLOB_HASHES], n = glob_sizes(files, sizes, now), m = 0;
    const int64_t *saved = NULL;

    if (!levada_state_has(from, "sizes")) return LEVADA_OK; /* of an older version */
    LEVADA_TRY(levada_state_get_i64s(from, "sizes", &saved, &m, err));
    if (m != n) {
        return levada_state_damaged(from, "sizes", err, "%lld numbers, %lld were expected",
                                    (long long)m, (long long)n);
    }
    for (int64_t k = 0; k < n; k++) {
        if (now[k] == saved[k] || now[k] == GLOB_UNKNOWN || saved[k] == GLOB_UNKNOWN) continue;
        return glob_resized(files, k, now[k], saved[k], err);
    }
    return LEVADA_OK;
}
