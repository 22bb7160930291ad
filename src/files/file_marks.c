/* SPDX-License-Identifier: Apache-2.0 */
#include "files/file_marks.h"

#include "base/alloc.h"
#include "base/hash.h"
#include "base/text.h"
#include "state/damaged.h"

#include <string.h>

typedef struct levada_file_mark {
    const void       *owner;
    char             *path; /* owned; NULL where there is an owner */
    int32_t           shard;
    int32_t           next;  /* of the same bucket; -1 = none         */
    int64_t           until; /* the change that ended it; 0 = current */
    levada_bytes_mark is;
} levada_file_mark;

static levada_status file_marks_memory(levada_error *err)
{
    return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for marks of files");
}

bool levada_bytes_mark_equal(const levada_bytes_mark *a, const levada_bytes_mark *b)
{
    return a->size == b->size && a->head == b->head && a->tag == b->tag;
}

/* -- by key */

static int32_t *file_marks_bucket(const levada_file_marks *marks, const levada_file_key *key)
{
    uint64_t hash = key->owner ? levada_hash64(&key->owner, sizeof key->owner, (uint64_t)key->shard)
                               : levada_hash64(key->path, strlen(key->path), 0);

    return &marks->buckets[hash % (uint64_t)marks->nbuckets];
}

static bool file_marks_is(const levada_file_mark *e, const levada_file_key *key)
{
    if (e->owner != key->owner) return false;
    return key->owner ? e->shard == key->shard : strcmp(e->path, key->path) == 0;
}

/* Returns the number of the current mark of the file, -1 if there is none. */
static int32_t file_marks_current(const levada_file_marks *marks, const levada_file_key *key)
{
    int32_t i = marks->n ? *file_marks_bucket(marks, key) : -1;

    while (i >= 0 && (marks->entries[i].until || !file_marks_is(&marks->entries[i], key))) {
        i = marks->entries[i].next;
    }
    return i;
}

static void file_marks_link(levada_file_marks *marks, int32_t i)
{
    levada_file_mark *e = &marks->entries[i];
    levada_file_key   key = { .owner = e->owner, .shard = e->shard, .path = e->path };
    int32_t          *first = file_marks_bucket(marks, &key);

    e->next = *first;
    *first = i;
}

static levada_status file_marks_reserve(levada_file_marks *marks, levada_error *err)
{
    int64_t needed = (int64_t)marks->n + 1;

    if (!levada_reserve(&marks->entries, &marks->capacity, needed, sizeof *marks->entries)) {
        return file_marks_memory(err);
    }
    if (needed <= marks->nbuckets) return LEVADA_OK;
    if (!levada_reserve(&marks->buckets, &marks->nbuckets, needed, sizeof *marks->buckets)) {
        return file_marks_memory(err);
    }
    for (int64_t i = 0; i < marks->nbuckets; i++) marks->buckets[i] = -1;
    for (int32_t i = 0; i < marks->n; i++) file_marks_link(marks, i);
    return LEVADA_OK;
}

levada_status levada_file_marks_enter(levada_file_marks *marks, const levada_file_key *key,
                                      const levada_bytes_mark *mark, levada_error *err)
{
    int32_t known = file_marks_current(marks, key);
    char   *path = NULL;

    if (known >= 0 && levada_bytes_mark_equal(&marks->entries[known].is, mark)) return LEVADA_OK;
    LEVADA_TRY(file_marks_reserve(marks, err));
    if (!key->owner) path = levada_strdup(key->path);
    if (!key->owner && !path) return file_marks_memory(err);
    if (known >= 0) marks->entries[known].until = ++marks->changes;
    marks->entries[marks->n] = (levada_file_mark){
        .owner = key->owner, .path = path, .shard = key->shard, .is = *mark
    };
    file_marks_link(marks, marks->n++);
    return LEVADA_OK;
}

bool levada_file_marks_find(const levada_file_marks *marks, const levada_file_key *key,
                            levada_bytes_mark *out)
{
    int32_t i = file_marks_current(marks, key);

    if (i >= 0) *out = marks->entries[i].is;
    return i >= 0;
}

void levada_file_marks_clear(levada_file_marks *marks)
{
    for (int32_t i = 0; i < marks->n; i++) levada_free(marks->entries[i].path);
    levada_free(marks->entries);
    levada_free(marks->buckets);
    memset(marks, 0, sizeof *marks);
}

/* -- in states */

levada_bytes_mark levada_file_mark_read(const int64_t parts[LEVADA_FILE_MARK_PARTS])
{
    uint64_t sums = (uint64_t)parts[2];

    return (levada_bytes_mark){
        .size = parts[1], .head = (uint32_t)sums, .tag = (uint32_t)(sums >> 32)
    };
}

static bool file_marks_wanted(const levada_file_mark *e, const void *owner,
                              const levada_state_writer *to)
{
    return e->owner == owner && (e->until == 0 || e->until >= to->since);
}

levada_status levada_file_marks_put(const levada_file_marks *marks, const void *owner,
                                    levada_state_writer *to, levada_error *err)
{
    int64_t      *list = levada_alloc((size_t)marks->n * LEVADA_FILE_MARK_PARTS * sizeof *list + 1);
    int64_t       n = 0;
    levada_text   paths = { 0 };
    levada_status st;

    if (!list) return file_marks_memory(err);
    for (int32_t i = 0; i < marks->n; i++) {
        const levada_file_mark *e = &marks->entries[i];

        if (!file_marks_wanted(e, owner, to)) continue;
        list[n++] = e->shard;
        list[n++] = e->is.size;
        list[n++] = (int64_t)(e->is.head | (uint64_t)e->is.tag << 32);
        if (!owner) levada_text_add(&paths, e->path, strlen(e->path) + 1);
    }
    st = paths.failed ? file_marks_memory(err) : LEVADA_OK;
    if (st == LEVADA_OK && (owner || n)) st = levada_state_put_i64s(to, "marks", list, n, err);
    if (st == LEVADA_OK && !owner && n) {
        st = levada_state_put_bytes(to, "mark.paths", paths.at, paths.size, err);
    }
    levada_text_clear(&paths);
    levada_free(list);
    return st;
}

levada_status levada_file_marks_changed(const char *path, const levada_bytes_mark *now,
                                        const levada_bytes_mark *was, levada_error *err)
{
    if (now->size == was->size) {
        (void)levada_fail(err, LEVADA_EFAILED_PRECONDITION,
                          "%s was changed since the checkpoint was saved: %s", path,
                          now->head != was->head ? "its first bytes differ"
                                                 : "its version differs (it was replaced)");
    } else {
        (void)levada_fail(err, LEVADA_EFAILED_PRECONDITION,
                          "%s was changed since the checkpoint was saved: it has %lld bytes, but "
                          "had %lld",
                          path, (long long)now->size, (long long)was->size);
    }
    levada_error_place(err, NULL, path, -1, -1);
    return LEVADA_EFAILED_PRECONDITION;
}

levada_status levada_file_marks_check(const levada_env *env, const char *path,
                                      const levada_bytes_mark *mark, levada_error *err)
{
    levada_bytes_mark now;
    levada_status     st;

    if (mark->size < 0) {
        st = levada_fail(err, LEVADA_EFAILED_PRECONDITION,
                         "it is a pipe, which cannot be resumed: write it to a file first");
        levada_error_place(err, NULL, path, -1, -1);
        return st;
    }
    st = levada_bytes_mark_file(env, path, &now, err);
    if (st == LEVADA_ERESOURCE_EXHAUSTED || st == LEVADA_EUNAVAILABLE) return st;
    if (st != LEVADA_OK) {
        if (err) err->code = LEVADA_EFAILED_PRECONDITION;
        levada_error_wrap(err, "a file of the checkpoint does not exist any more");
        return LEVADA_EFAILED_PRECONDITION;
    }
    if (levada_bytes_mark_equal(&now, mark)) return LEVADA_OK;
    return levada_file_marks_changed(path, &now, mark, err);
}

levada_status levada_file_marks_get_paths(levada_file_marks *marks, const levada_env *env,
                                          const atomic_bool *cancelled,
                                          levada_state_reader *from, levada_error *err)
{
    const int64_t *list = NULL;
    const void    *paths = NULL;
    const char    *at, *end;
    int64_t        n = 0;
    size_t         size = 0;

    if (!levada_state_has(from, "marks")) return LEVADA_OK;
    LEVADA_TRY(levada_state_get_i64s(from, "marks", &list, &n, err));
    LEVADA_TRY(levada_state_get_bytes(from, "mark.paths", &paths, &size, err));
    at = paths;
    end = at + size;
    for (; n >= LEVADA_FILE_MARK_PARTS;
         n -= LEVADA_FILE_MARK_PARTS, list += LEVADA_FILE_MARK_PARTS) {
        size_t            length = strnlen(at, (size_t)(end - at));
        levada_file_key   key = { .path = at };
        levada_bytes_mark mark = levada_file_mark_read(list);

        if (length == (size_t)(end - at)) break;
        if (atomic_load(cancelled)) return levada_fail(err, LEVADA_ECANCELLED, "cancelled");
        LEVADA_TRY(levada_file_marks_check(env, at, &mark, err));
        LEVADA_TRY(levada_file_marks_enter(marks, &key, &mark, err));
        at += length + 1;
    }
    if (n == 0 && at == end) return LEVADA_OK;
    return levada_state_damaged(from, "mark.paths", err, "not the paths of the files of 'marks'");
}
