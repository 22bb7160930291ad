/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes as the index of a file of lines. Whatever they say, records by number, lengths, ranges,
 * shuffles and ranks that read only their own records end with a status that fits. The checksums of
 * the pages are made right first: otherwise every change would end there.
 *
 * index_edits (FUZZ_EDITS) takes the input as edits (edit.h) of the index that levada writes: of
 * its offsets, its lengths of frames and of lines, and its last page.
 *
 * The fuzzer makes one check on each input, chosen by its bytes; a replay makes them all
 * (FUZZ_ALL).
 */
#include "edit.h"
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

static void index_write(const char *path, const void *bytes, size_t size)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

    edit_must(fd >= 0 && write(fd, bytes, size) == (ssize_t)size && close(fd) == 0, path);
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
    (void)snprintf(index_folder, sizeof index_folder, "%s/levada-index-%d", edit_root(),
                   (int)getpid());
    (void)snprintf(index_data, sizeof index_data, "%s/a.txt", index_folder);
    (void)snprintf(index_file, sizeof index_file, "%s%s", index_data, LEVADA_INDEX_SUFFIX);
    edit_must(mkdir(index_folder, 0700) == 0, index_folder);
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
    edit_must(st == LEVADA_OK || st == LEVADA_END || st == LEVADA_EDATA_LOSS ||
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
    edit_must(all[number] || levada_dataset_parse(NULL, text, &all[number], NULL) == LEVADA_OK,
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

/* `n` pages as the index, with good checksums, and what reads it. */
static void index_try(uint8_t *pages, size_t n, size_t choice)
{
    for (size_t i = 0; i < n; i++) {
        index_seal(pages + i * LEVADA_INDEX_PAGE, i + 1 < n ? (int64_t)i : 0);
    }
    index_write(index_file, pages, n * LEVADA_INDEX_PAGE);
    for (size_t i = 0; i <= INDEX_STAGES; i++) {
        if (!FUZZ_ALL && i != choice % (INDEX_STAGES + 1)) continue;
        if (i == INDEX_STAGES) index_look();
        else index_iterate((int)i);
    }
}

#if FUZZ_EDITS

/* -- the index as entries */

#define INDEX_AT_COUNT 16 /* bytes of the last page before the number of records */
#define INDEX_FOOT 244    /* and those that say something, with the name of one field */

enum { INDEX_OFFSETS, INDEX_SIZES, INDEX_LENGTHS, INDEX_LAST, INDEX_LIE, INDEX_ENTRIES };

static const char *const index_keys[INDEX_ENTRIES] = { "rows.0.offset", "rows.1.size",
                                                       "rows.2.length", "foot", "count" };

static int64_t index_number(const uint8_t *from, int bytes)
{
    uint64_t value = 0;

    for (int i = 0; i < bytes; i++) value |= (uint64_t)from[i] << (8 * i);
    return (int64_t)value;
}

static void index_put_number(uint8_t *to, int64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++) to[i] = (uint8_t)((uint64_t)value >> (8 * i));
}

/* The pages that levada writes for the file: of entries, of lengths, and the last one. */
static const uint8_t *index_whole(void)
{
    static uint8_t pages[3 * LEVADA_INDEX_PAGE];
    static bool    made;
    FILE          *file;
    levada_index_options options = LEVADA_INDEX_OPTIONS_INIT;

    if (made) return pages;
    options.source = "text_lines";
    options.fields = "line";
    edit_must(levada_inspect_index(NULL, index_data, &options, NULL, NULL) == LEVADA_OK,
              "cannot write the index");
    file = fopen(index_file, "rb");
    made = file && fread(pages, 1, sizeof pages, file) == sizeof pages && fgetc(file) == EOF;
    edit_must(made && fclose(file) == 0, "an index of three pages");
    return pages;
}

static void index_take(levada_state_reader *r)
{
    const uint8_t *pages = index_whole();
    int64_t        numbers[3][INDEX_LINES], lie = 0;

    for (int i = 0; i < INDEX_LINES; i++) {
        numbers[0][i] = index_number(pages + 12 * i, 8);
        numbers[1][i] = index_number(pages + 12 * i + 8, 4);
        numbers[2][i] = index_number(pages + LEVADA_INDEX_PAGE + 4 * i, 4);
    }
    for (int k = 0; k < 3; k++)
        edit_add(r, index_keys[k], LEVADA_ENTRY_I64S, numbers[k], sizeof numbers[k]);
    edit_add(r, index_keys[INDEX_LAST], LEVADA_ENTRY_BYTES, pages + 2 * LEVADA_INDEX_PAGE,
             INDEX_FOOT);
    edit_add(r, index_keys[INDEX_LIE], LEVADA_ENTRY_I64, &lie, sizeof lie);
}

/* Number i of a list; 0 after its end. */
static int64_t index_item(const levada_entry *e, size_t i)
{
    return e && i < e->size / sizeof(int64_t) ? index_number(e->data + i * sizeof(int64_t), 8) : 0;
}

/* Returns how many pages. The number of records is that of the offsets, but for the lie. */
static size_t index_build(const levada_state_reader *r, uint8_t *pages)
{
    const levada_entry *e[INDEX_ENTRIES];
    size_t              n, of, more;
    uint8_t            *foot;

    for (int i = 0; i < INDEX_ENTRIES; i++) e[i] = edit_find(r, index_keys[i]);
    n = e[INDEX_OFFSETS] ? e[INDEX_OFFSETS]->size / sizeof(int64_t) : 0;
    if (n > LEVADA_INDEX_ROWS) n = LEVADA_INDEX_ROWS;
    of = n > 0;
    more = e[INDEX_LENGTHS] ? of : 0;
    for (size_t i = 0; i < n; i++) {
        index_put_number(pages + 12 * i, index_item(e[INDEX_OFFSETS], i), 8);
        index_put_number(pages + 12 * i + 8, index_item(e[INDEX_SIZES], i), 4);
        if (more)
            index_put_number(pages + LEVADA_INDEX_PAGE + 4 * i, index_item(e[INDEX_LENGTHS], i), 4);
    }
    foot = pages + (of + more) * LEVADA_INDEX_PAGE;
    if (e[INDEX_LAST] && e[INDEX_LAST]->size > INDEX_AT_COUNT + 8) {
        size_t size = e[INDEX_LAST]->size;

        memcpy(foot, e[INDEX_LAST]->data, size < LEVADA_INDEX_SUM ? size : LEVADA_INDEX_SUM);
    }
    index_put_number(foot + INDEX_AT_COUNT,
                     (int64_t)((uint64_t)n + (uint64_t)index_item(e[INDEX_LIE], 0)), 8);
    return of + more + 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t      pages[3 * LEVADA_INDEX_PAGE];
    levada_state_reader r = { 0 };

    if (size < 1) return 0;
    index_prepare();
    index_take(&r);
    edit_all(&r, data + 1, size - 1);
    memset(pages, 0, sizeof pages);
    index_try(pages, index_build(&r, pages), data[0]);
    levada_state_reader_clear(&r);
    return 0;
}

#else

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t pages[INDEX_PAGES * LEVADA_INDEX_PAGE];
    size_t         n = (size + LEVADA_INDEX_PAGE - 1) / LEVADA_INDEX_PAGE;

    if (n == 0 || n > INDEX_PAGES) return 0;
    index_prepare();
    memset(pages, 0, sizeof pages);
    memcpy(pages, data, size);
    index_try(pages, n, size + data[size / 2]);
    return 0;
}

#endif
