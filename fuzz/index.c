/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes as the index of a file of lines. Whatever they say, records by number, lengths, ranges,
 * shuffles and ranks that read only their own records end with a status that fits. The checksums of
 * the pages are made right first: otherwise every change would end there.
 *
 * The fuzzer makes one check on each input, chosen by its bytes; a replay makes them all
 * (FUZZ_ALL).
 */
#include "files/index.h"
#include "registry/env_priv.h"

#include <levada/levada.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define INDEX_LINES 40
#define INDEX_PAGES 8 /* most of the input */

static char index_folder[64], index_data[80], index_file[96];

static void index_require(bool holds, const char *what)
{
    if (holds) return;
    fprintf(stderr, "%s\n", what);
    abort();
}

static void index_write(const char *path, const void *bytes, size_t size)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

    index_require(fd >= 0 && write(fd, bytes, size) == (ssize_t)size && close(fd) == 0, path);
}

static void index_drop(void)
{
    (void)remove(index_file);
    (void)remove(index_data);
    (void)remove(index_folder);
}

/* Line i has 7 * i % 31 letters: the files of the corpus are indexes of this one. */
static void index_prepare(void)
{
    char   text[INDEX_LINES * 32];
    size_t n = 0;

    if (index_folder[0]) return;
    (void)snprintf(index_folder, sizeof index_folder, "/tmp/levada-index-%d", (int)getpid());
    (void)snprintf(index_data, sizeof index_data, "%s/a.txt", index_folder);
    (void)snprintf(index_file, sizeof index_file, "%s%s", index_data, LEVADA_INDEX_SUFFIX);
    index_require(mkdir(index_folder, 0700) == 0, index_folder);
    (void)atexit(index_drop);
    for (size_t i = 0; i < INDEX_LINES; i++) {
        memset(text + n, 'a', 7 * i % 31);
        n += 7 * i % 31;
        text[n++] = '\n';
    }
    index_write(index_data, text, n);
}

static void index_seal(uint8_t *page, int64_t number)
{
    uint32_t sum = levada_index_sum(levada_env_kernels(NULL), page, number);

    for (int i = 0; i < 4; i++) page[LEVADA_INDEX_SUM + i] = (uint8_t)(sum >> (8 * i));
}

static void index_check(levada_status st, const char *text)
{
    index_require(st == LEVADA_OK || st == LEVADA_END || st == LEVADA_EDATA_LOSS ||
                      st == LEVADA_EFAILED_PRECONDITION || st == LEVADA_EOUT_OF_RANGE ||
                      st == LEVADA_EINVALID_ARGUMENT || st == LEVADA_ERESOURCE_EXHAUSTED,
                  text);
}

/* What iterators read. */
static const char *const index_stages[] = {
    "",
    ",shuffle_records=true,errors=skip",
    ",part=[1,3]",
    ",shuffle_records=true | bucket_by_sequence_length:line,max_tokens=64,ranks=[1,3]",
};

enum { INDEX_STAGES = sizeof index_stages / sizeof *index_stages };

/* Borrowed: made once. */
static const levada_dataset *index_dataset(int number)
{
    static levada_dataset *all[INDEX_STAGES];
    char                   text[256];

    (void)snprintf(text, sizeof text, "text_lines:%s,index=true%s", index_data,
                   index_stages[number]);
    index_require(all[number] || levada_dataset_parse(NULL, text, &all[number], NULL) == LEVADA_OK,
                  text);
    return all[number];
}

static void index_iterate(int number)
{
    levada_iter_options options = LEVADA_ITER_OPTIONS_INIT;
    levada_iter        *it = NULL;
    levada_block       *block = NULL;
    levada_status       st;

    options.threads = 1;
    options.seed = 1;
    options.max_record_bytes = 1 << 20;
    st = levada_iter_open(index_dataset(number), &options, &it, NULL);
    while (st == LEVADA_OK && (st = levada_iter_next(it, &block, NULL)) == LEVADA_OK) {
        levada_block_unref(&block);
    }
    index_check(st, index_stages[number]);
    levada_iter_close(&it);
}

static levada_status index_sum(void *user, const int64_t *lengths, int64_t n, levada_error *err)
{
    (void)err;
    for (int64_t i = 0; i < n; i++) *(int64_t *)user += lengths[i];
    return LEVADA_OK;
}

static void index_look(void)
{
    const levada_dataset *ds = index_dataset(0);
    levada_block         *block = NULL;
    int64_t               n = 0, total = 0;
    bool                  found = false;

    index_check(levada_inspect_count(ds, &n, NULL), "count");
    for (int i = 0; i < 3; i++) {
        index_check(levada_inspect_record(ds, i * n / 3, &block, NULL), "record");
        levada_block_unref(&block);
    }
    index_check(levada_inspect_lengths(ds, "line", index_sum, &total, &found, NULL), "lengths");
    index_check(levada_inspect_index_check(NULL, index_data, &n, NULL), "check");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t pages[INDEX_PAGES * LEVADA_INDEX_PAGE];
    size_t         n = (size + LEVADA_INDEX_PAGE - 1) / LEVADA_INDEX_PAGE;

    if (n == 0 || n > INDEX_PAGES) return 0;
    index_prepare();
    memset(pages, 0, sizeof pages);
    memcpy(pages, data, size);
    for (size_t i = 0; i < n; i++) {
        index_seal(pages + i * LEVADA_INDEX_PAGE, i + 1 < n ? (int64_t)i : 0);
    }
    index_write(index_file, pages, n * LEVADA_INDEX_PAGE);
    for (size_t i = 0; i <= INDEX_STAGES; i++) {
        if (!FUZZ_ALL && i != (size + data[size / 2]) % (INDEX_STAGES + 1)) continue;
        if (i == INDEX_STAGES) index_look();
        else index_iterate((int)i);
    }
    return 0;
}
