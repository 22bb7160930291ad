/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sizes of the files of a set, measured as late as possible.
 *
 * Measuring a file that is not open is a call to the storage, and one for each of many shards would
 * delay the first record. So the size of a file is known when the file is opened. The others are
 * measured when a total is asked for, or when a state is saved or restored, once for each file. The
 * first thread that measures a file decides; no lock is held meanwhile.
 */
#include "base/alloc.h"
#include "files/file_reader_priv.h"
#include "files/opener.h"

void levada_file_reader_measure(levada_file_reader *r)
{
    for (int64_t i = 0; i < r->files.n; i++) {
        const char              *path = r->files.path[i];
        const levada_opener_def *opener;
        long long                unmeasured = LEVADA_FILE_UNMEASURED, size;

        if (atomic_load(&r->sizes[i]) != unmeasured) continue;
        opener = levada_opener_find(r->context->env, path);
        size = opener->look ? opener->look(opener->user, path) : -1;
        if (!atomic_compare_exchange_strong(&r->sizes[i], &unmeasured, size)) continue;
        if (size > 0) (void)atomic_fetch_add(&r->total, size);
    }
}

void levada_file_reader_resize(levada_file_reader *r, int32_t shard, int64_t size)
{
    long long before = atomic_exchange(&r->sizes[shard], size);

    (void)atomic_fetch_add(&r->total, (size > 0 ? size : 0) - (before > 0 ? before : 0));
}

/* All of them; the caller frees the list. */
static levada_status file_sizes_list(levada_file_reader *r, int64_t **out, levada_error *err)
{
    int64_t *list = levada_alloc((size_t)r->files.n * sizeof *list + 1);

    if (!list) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED,
                                  "out of memory for sizes of files");
    levada_file_reader_measure(r);
    for (int64_t i = 0; i < r->files.n; i++) list[i] = atomic_load(&r->sizes[i]);
    *out = list;
    return LEVADA_OK;
}

levada_status levada_file_reader_save_sizes(levada_file_reader *r, levada_state_writer *to,
                                            levada_error *err)
{
    int64_t      *list;
    levada_status st;

    LEVADA_TRY(file_sizes_list(r, &list, err));
    st = levada_files_save_sizes(&r->files, list, to, err);
    levada_free(list);
    return st;
}

levada_status levada_file_reader_verify_sizes(levada_file_reader *r, levada_state_reader *from,
                                              levada_error *err)
{
    int64_t      *list;
    levada_status st;

    LEVADA_TRY(file_sizes_list(r, &list, err));
    st = levada_files_verify_sizes(&r->files, list, from, err);
    levada_free(list);
    return st;
}
