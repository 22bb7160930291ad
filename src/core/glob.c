/* SPDX-License-Identifier: Apache-2.0 */
#include "core/glob.h"

#include "base/alloc.h"
#include "base/hash.h"
#include "base/random.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static levada_status glob_short(levada_error *err)
{
    return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "no memory for a table of files");
}

/* Makes room for n more. */
static levada_status glob_room(levada_files *files, size_t n, levada_error *err)
{
    size_t bytes;
    char **path = NULL;

    if (levada_size_of((size_t)files->n + n, sizeof *path, 1, &bytes)) {
        path = levada_realloc(files->path, bytes);
    }
    if (!path) return glob_short(err);
    files->path = path;
    return LEVADA_OK;
}

static levada_status glob_add(levada_files *files, const char *path, levada_error *err)
{
    char *copy = levada_strdup(path);

    if (!copy) return glob_short(err);
    files->path[files->n++] = copy;
    return LEVADA_OK;
}

static int glob_compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Adds what was found, without folders (GLOB_MARK ends them with a slash), and sorts it. */
static levada_status glob_take(const glob_t *found, levada_files *files, levada_error *err)
{
    int64_t first = files->n;

    LEVADA_TRY(glob_room(files, found->gl_pathc, err));
    for (size_t i = 0; i < found->gl_pathc; i++) {
        const char *path = found->gl_pathv[i];

        if (path[strlen(path) - 1] != '/') LEVADA_TRY(glob_add(files, path, err));
    }
    qsort(files->path + first, (size_t)(files->n - first), sizeof *files->path, glob_compare);
    return LEVADA_OK;
}

static levada_status glob_find(const char *pattern, levada_files *files, levada_error *err)
{
    int64_t       before = files->n;
    glob_t        found = {0};
    levada_status st;
    int           code;

    if (strpbrk(pattern, "*?[") == NULL) {
        LEVADA_TRY(glob_room(files, 1, err));
        return glob_add(files, pattern, err);
    }
    code = glob(pattern, GLOB_NOSORT | GLOB_MARK, NULL, &found);
    st = code == 0 ? glob_take(&found, files, err) : LEVADA_OK;
    globfree(&found);
    if (st != LEVADA_OK || files->n > before) return st;
    if (code == GLOB_NOSPACE) return glob_short(err);
    if (access(pattern, F_OK) == 0) { /* a file whose name looks like a pattern */
        LEVADA_TRY(glob_room(files, 1, err));
        return glob_add(files, pattern, err);
    }
    (void)levada_fail(err, LEVADA_ENOT_FOUND, "no file matches '%s'", pattern);
    levada_error_place(err, NULL, pattern, -1, -1);
    return LEVADA_ENOT_FOUND;
}

levada_status levada_files_find(const levada_texts *patterns, levada_files *out, levada_error *err)
{
    levada_files  files = {0};
    levada_status st = LEVADA_OK;

    if (patterns->n == 0) return levada_fail(err, LEVADA_ENOT_FOUND, "the list of files is empty");
    for (int64_t i = 0; i < patterns->n && st == LEVADA_OK; i++) {
        st = glob_find(patterns->at[i], &files, err);
    }
    if (st == LEVADA_OK && files.n > INT32_MAX) {
        st = levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "%lld files are too many",
                         (long long)files.n);
    }
    if (st != LEVADA_OK) {
        levada_files_clear(&files);
        return st;
    }
    *out = files;
    return LEVADA_OK;
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

static const char *glob_base(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* Number k of `hashes` is about the files from this one on. */
static int64_t glob_group(int64_t k, int64_t hashes, int64_t n) { return k * n / hashes; }

static int64_t glob_hash(const levada_files *files, int64_t out[GLOB_HASHES])
{
    int64_t hashes = files->n < GLOB_HASHES ? files->n : GLOB_HASHES;

    for (int64_t k = 0; k < hashes; k++) {
        uint64_t hash = 0;

        for (int64_t i = glob_group(k, hashes, files->n); i < glob_group(k + 1, hashes, files->n);
             i++) {
            const char *name = glob_base(files->path[i]);

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
                          "file %lld is '%s' now, it had another name when the state was saved",
                          (long long)first, path);
    } else {
        (void)levada_fail(err, LEVADA_EFAILED_PRECONDITION,
                          "a file from '%s' to '%s' had another name when the state was saved",
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
                           "there are %lld files, there were %lld when the state was saved",
                           (long long)files->n, (long long)was);
    }
    if (m != n) return levada_fail(err, LEVADA_EDATA_LOSS, "the saved names of files are damaged");
    for (int64_t k = 0; k < n; k++) {
        int64_t first = glob_group(k, n, files->n);

        if (now[k] == saved[k]) continue;
        return glob_renamed(files, first, glob_group(k + 1, n, files->n) - first, err);
    }
    return LEVADA_OK;
}
