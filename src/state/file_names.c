/* SPDX-License-Identifier: Apache-2.0 */
#include "state/file_names.h"

#include "base/alloc.h"
#include "base/hash.h"
#include "base/text.h"
#include "state/damaged.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct levada_file_name {
    int32_t source, pass, shard;
    int32_t next;         /* of the same bucket; -1 = none       */
    int32_t older, newer; /* of those that were left; -1 = none */
    bool    open;
    char   *path;
} levada_file_name;

static levada_status file_names_memory(levada_error *err)
{
    return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for names of files");
}

/* -- by key */

static int32_t *file_names_bucket(const levada_file_names *names, int32_t source, int32_t pass,
                                  int32_t shard)
{
    const int32_t key[3] = { source, pass, shard };

    return &names->buckets[levada_hash64(key, sizeof key, 0) % (uint64_t)names->capacity];
}

/* Returns the number of the name, -1 if there is none. */
static int32_t file_names_find(const levada_file_names *names, const levada_origin *of)
{
    int32_t i = names->n ? *file_names_bucket(names, of->source, of->pass, of->shard) : -1;

    for (; i >= 0; i = names->entries[i].next) {
        const levada_file_name *e = &names->entries[i];

        if (e->source == of->source && e->pass == of->pass && e->shard == of->shard) break;
    }
    return i;
}

static void file_names_link(levada_file_names *names, int32_t i)
{
    levada_file_name *e = &names->entries[i];
    int32_t          *first = file_names_bucket(names, e->source, e->pass, e->shard);

    e->next = *first;
    *first = i;
}

static void file_names_unlink(levada_file_names *names, int32_t i)
{
    const levada_file_name *e = &names->entries[i];
    int32_t                *at = file_names_bucket(names, e->source, e->pass, e->shard);

    while (*at != i) at = &names->entries[*at].next;
    *at = e->next;
}

/* -- those that were left, the oldest first */

static void file_names_unlist(levada_file_names *names, int32_t i)
{
    const levada_file_name *e = &names->entries[i];

    if (e->older >= 0) names->entries[e->older].newer = e->newer;
    else names->oldest = e->newer;
    if (e->newer >= 0) names->entries[e->newer].older = e->older;
    else names->newest = e->older;
    names->left--;
}

static void file_names_list(levada_file_names *names, int32_t i)
{
    levada_file_name *e = &names->entries[i];

    e->newer = -1;
    e->older = names->left ? names->newest : -1;
    if (names->left) names->entries[names->newest].newer = i;
    else names->oldest = i;
    names->newest = i;
    names->left++;
}

/* -- capacity */

/* Doubles the table; called when all entries are taken. */
static levada_status file_names_grow(levada_file_names *names, levada_error *err)
{
    int64_t  capacity = names->capacity; /* of the buckets, too, which are made after it */
    int32_t *buckets;

    if (!levada_reserve(&names->entries, &capacity, names->n + 1, sizeof *names->entries)) {
        return file_names_memory(err);
    }
    buckets = levada_alloc((size_t)capacity * sizeof *buckets);
    if (!buckets) return file_names_memory(err);
    levada_free(names->buckets);
    names->buckets = buckets;
    names->capacity = capacity;
    for (int64_t i = 0; i < capacity; i++) buckets[i] = -1;
    for (int32_t i = 0; i < names->n; i++) file_names_link(names, i);
    return LEVADA_OK;
}

/* Reserves an entry: a new one, or that of the file which was left longest ago. */
static levada_status file_names_reserve(levada_file_names *names, int32_t *out, levada_error *err)
{
    bool full = names->n == names->capacity;

    if (full && names->n >= LEVADA_FILE_NAMES && names->left > 0) {
        *out = names->oldest;
        file_names_unlist(names, *out);
        file_names_unlink(names, *out);
        levada_free(names->entries[*out].path);
        return LEVADA_OK;
    }
    if (full) LEVADA_TRY(file_names_grow(names, err));
    *out = names->n++;
    return LEVADA_OK;
}

/* -- what the run reports */

/* Takes the path. */
static levada_status file_names_add_locked(levada_file_names *names, const levada_origin *of,
                                           char *path, bool open, levada_error *err)
{
    int32_t           i = file_names_find(names, of);
    bool              known = i >= 0;
    levada_status     st = known ? LEVADA_OK : file_names_reserve(names, &i, err);
    levada_file_name *e;

    if (st != LEVADA_OK) {
        levada_free(path);
        return st;
    }
    e = &names->entries[i];
    if (known) { /* again; or pipes in pipes met in the end, and the later one counts */
        levada_free(e->path);
        if (!e->open) file_names_unlist(names, i);
    } else {
        *e = (levada_file_name){ .source = of->source, .pass = of->pass, .shard = of->shard };
        file_names_link(names, i);
    }
    e->path = path;
    e->open = open || (known && e->open);
    if (!e->open) file_names_list(names, i);
    return LEVADA_OK;
}

levada_status levada_file_names_enter(levada_file_names *names, const levada_origin *of,
                                      const char *path, bool open, levada_error *err)
{
    char         *copy = levada_strdup(path);
    levada_status st;

    if (!copy) return file_names_memory(err);
    levada_mutex_lock(names->lock);
    st = file_names_add_locked(names, of, copy, open, err);
    levada_mutex_unlock(names->lock);
    return st;
}

void levada_file_names_leave(levada_file_names *names, const levada_origin *of)
{
    int32_t i;

    levada_mutex_lock(names->lock);
    i = file_names_find(names, of);
    if (i >= 0 && names->entries[i].open) {
        names->entries[i].open = false;
        file_names_list(names, i);
    }
    levada_mutex_unlock(names->lock);
}

void levada_file_names_place(levada_file_names *names, const levada_origin *of, levada_error *err)
{
    int32_t i;

    levada_mutex_lock(names->lock);
    i = file_names_find(names, of);
    if (i >= 0) levada_error_place(err, NULL, names->entries[i].path, -1, -1);
    levada_mutex_unlock(names->lock);
}

levada_status levada_file_names_copy(levada_file_names *names, const levada_origin *of, char **out,
                                     levada_error *err)
{
    int32_t i;

    *out = NULL;
    levada_mutex_lock(names->lock);
    i = file_names_find(names, of);
    if (i >= 0) *out = levada_strdup(names->entries[i].path);
    levada_mutex_unlock(names->lock);
    return i < 0 || *out ? LEVADA_OK : file_names_memory(err);
}

levada_status levada_file_names_at(levada_file_names *names, int32_t i, levada_origin *of,
                                   char **out, levada_error *err)
{
    bool there;

    *out = NULL;
    levada_mutex_lock(names->lock);
    there = i >= 0 && i < names->n;
    if (there) {
        const levada_file_name *e = &names->entries[i];

        *of = (levada_origin){ .source = e->source, .pass = e->pass, .shard = e->shard };
        *out = levada_strdup(e->path);
    }
    levada_mutex_unlock(names->lock);
    if (!there) return LEVADA_END;
    return *out ? LEVADA_OK : file_names_memory(err);
}

void levada_file_names_clear(levada_file_names *names)
{
    for (int32_t i = 0; i < names->n; i++) levada_free(names->entries[i].path);
    levada_free(names->entries);
    levada_free(names->buckets);
    memset(names, 0, sizeof *names);
}

/* -- in states */

#define FILE_NAMES_PARTS 3 /* of a key */

static int file_names_order(const void *a, const void *b)
{
    const levada_origin *x = a, *y = b;

    if (x->source != y->source) return x->source < y->source ? -1 : 1;
    if (x->pass != y->pass) return x->pass < y->pass ? -1 : 1;
    return x->shard == y->shard ? 0 : x->shard < y->shard ? -1 : 1;
}

/* Gathers the keys that have a name into parts, their names into paths; how many numbers. */
static int64_t file_names_gather(levada_file_names *names, levada_origin *of, int64_t n,
                                 int64_t *parts, levada_text *paths)
{
    int64_t k = 0;

    qsort(of, (size_t)n, sizeof *of, file_names_order);
    levada_mutex_lock(names->lock);
    for (int64_t i = 0; i < n; i++) {
        bool        same = i > 0 && file_names_order(&of[i - 1], &of[i]) == 0;
        int32_t     found = same ? -1 : file_names_find(names, &of[i]);
        const char *path = found >= 0 ? names->entries[found].path : NULL;

        if (!path) continue;
        parts[k++] = of[i].source;
        parts[k++] = of[i].pass;
        parts[k++] = of[i].shard;
        levada_text_add(paths, path, strlen(path) + 1);
    }
    levada_mutex_unlock(names->lock);
    return k;
}

static bool file_names_any(levada_file_names *names)
{
    bool any;

    levada_mutex_lock(names->lock);
    any = names->n > 0;
    levada_mutex_unlock(names->lock);
    return any;
}

levada_status levada_file_names_put(levada_file_names *names, levada_state_writer *to,
                                    const char *key, levada_origin *of, int64_t n,
                                    levada_error *err)
{
    int64_t      *parts, k;
    levada_text   paths = { 0 };
    char          name[LEVADA_STATE_NAME];
    levada_status st = LEVADA_OK;

    if (n == 0 || !names || !file_names_any(names)) return LEVADA_OK;
    parts = levada_alloc((size_t)n * FILE_NAMES_PARTS * sizeof *parts);
    if (!parts) return file_names_memory(err);
    k = file_names_gather(names, of, n, parts, &paths);
    if (paths.failed) st = file_names_memory(err);
    snprintf(name, sizeof name, "%s.files", key);
    if (k && st == LEVADA_OK) st = levada_state_put_i64s(to, name, parts, k, err);
    snprintf(name, sizeof name, "%s.paths", key);
    if (k && st == LEVADA_OK) st = levada_state_put_bytes(to, name, paths.at, paths.size, err);
    levada_text_clear(&paths);
    levada_free(parts);
    return st;
}

levada_status levada_file_names_get(levada_state_reader *from, const char *key, levada_error *err)
{
    const int64_t *parts = NULL;
    const void    *paths = NULL;
    const char    *at, *end;
    int64_t        n = 0;
    size_t         size = 0;
    char           name[LEVADA_STATE_NAME];

    snprintf(name, sizeof name, "%s.files", key);
    if (!levada_state_has(from, name)) return LEVADA_OK;
    LEVADA_TRY(levada_state_get_i64s(from, name, &parts, &n, err));
    snprintf(name, sizeof name, "%s.paths", key);
    LEVADA_TRY(levada_state_get_bytes(from, name, &paths, &size, err));
    at = paths;
    end = at + size;
    for (; n >= FILE_NAMES_PARTS; n -= FILE_NAMES_PARTS, parts += FILE_NAMES_PARTS) {
        size_t        length = strnlen(at, (size_t)(end - at));
        bool          known = parts[0] >= 0 && parts[0] <= INT32_MAX && parts[1] >= 0 &&
                     parts[1] <= INT32_MAX && parts[2] >= 0 && parts[2] <= INT32_MAX;
        levada_origin of = { .source = (int32_t)parts[0],
                             .pass = (int32_t)parts[1],
                             .shard = (int32_t)parts[2] };

        if (!known || length == (size_t)(end - at)) break;
        LEVADA_TRY(levada_file_names_enter(from->names, &of, at, false, err));
        at += length + 1;
    }
    if (n == 0 && at == end) return LEVADA_OK;
    return levada_state_damaged(from, name, err, "not the paths of the files of the records");
}
