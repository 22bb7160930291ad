/* SPDX-License-Identifier: Apache-2.0 */
#include "files/file_set.h"

#include "base/alloc.h"
#include "files/opener.h"

levada_status levada_file_set_reserve(levada_file_set *set, levada_error *err)
{
    size_t n = (size_t)set->files.n;

    set->order = levada_alloc(n * sizeof *set->order);
    set->sizes = levada_alloc(n * sizeof *set->sizes);
    if (n > 0 && (!set->order || !set->sizes)) {
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for %zu files", n);
    }
    for (size_t i = 0; i < n; i++) atomic_init(&set->sizes[i], LEVADA_FILE_UNMEASURED);
    return LEVADA_OK;
}

void levada_file_set_clear(levada_file_set *set)
{
    levada_files_clear(&set->files);
    levada_free(set->order);
    levada_free(set->sizes);
}

void levada_file_set_arrange(levada_file_set *set, bool shuffle, uint64_t key)
{
    if (shuffle) levada_files_shuffle(set->order, set->files.n, key);
    for (int64_t i = 0; !shuffle && i < set->files.n; i++) set->order[i] = (int32_t)i;
}

void levada_file_set_measure(levada_file_set *set, const levada_env *env)
{
    for (int64_t i = 0; i < set->files.n; i++) {
        const char              *path = set->files.path[i];
        const levada_opener_def *opener;
        long long                unmeasured = LEVADA_FILE_UNMEASURED, size;

        if (atomic_load(&set->sizes[i]) != unmeasured) continue;
        opener = levada_opener_find(env, path);
        size = opener->look ? opener->look(opener->user, path) : -1;
        /* The first thread that measures a file decides; no lock is held meanwhile. */
        if (!atomic_compare_exchange_strong(&set->sizes[i], &unmeasured, size)) continue;
        if (size > 0) (void)atomic_fetch_add(&set->total, size);
    }
}

void levada_file_set_resize(levada_file_set *set, int32_t shard, int64_t size)
{
    long long before = atomic_exchange(&set->sizes[shard], size);

    (void)atomic_fetch_add(&set->total, (size > 0 ? size : 0) - (before > 0 ? before : 0));
}

int64_t levada_file_set_size(const levada_file_set *set, int32_t shard)
{
    long long size = atomic_load(&set->sizes[shard]);

    return size > 0 ? size : 0;
}

/* Lists the sizes of all files; the caller frees the list. */
static levada_status file_set_list(levada_file_set *set, const levada_env *env, int64_t **out,
                                   levada_error *err)
{
    int64_t *list = levada_alloc((size_t)set->files.n * sizeof *list + 1);

    if (!list) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED,
                                  "out of memory for sizes of files");
    levada_file_set_measure(set, env);
    for (int64_t i = 0; i < set->files.n; i++) list[i] = atomic_load(&set->sizes[i]);
    *out = list;
    return LEVADA_OK;
}

levada_status levada_file_set_save_sizes(levada_file_set *set, const levada_env *env,
                                         levada_state_writer *to, levada_error *err)
{
    int64_t      *list;
    levada_status st;

    LEVADA_TRY(file_set_list(set, env, &list, err));
    st = levada_files_save_sizes(&set->files, list, to, err);
    levada_free(list);
    return st;
}

levada_status levada_file_set_verify_sizes(levada_file_set *set, const levada_env *env,
                                           levada_state_reader *from, levada_error *err)
{
    int64_t      *list;
    levada_status st;

    LEVADA_TRY(file_set_list(set, env, &list, err));
    st = levada_files_verify_sizes(&set->files, list, from, err);
    levada_free(list);
    return st;
}
