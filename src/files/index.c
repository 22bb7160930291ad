/* SPDX-License-Identifier: Apache-2.0 */
#include "files/index.h"

#include "base/alloc.h"
#include "base/hash.h"
#include "base/text.h"
#include "files/index_foreign.h"
#include "option/option_priv.h"
#include "registry/env_priv.h"

#include <string.h>

#define INDEX_PAGES 256 /* in the cache: 1 MiB              */
#define INDEX_OPEN 16   /* indexes that are open at a time  */
#define INDEX_ROWS (LEVADA_INDEX_LENGTHS / 3) /* records whose lengths are copied at a time */

/* An index file that is open, and a page of one: each has one place in a table, by its number. */
typedef struct index_file {
    levada_bytes *bytes; /* NULL = none */
    int32_t       shard;
    bool          checked; /* it is the index that was opened first */
} index_file;

typedef struct index_page {
    int64_t number; /* of the page among those of its file */
    int32_t owner;  /* shard + 1; 0 = none                 */
    uint8_t data[LEVADA_INDEX_PAGE];
} index_page;

struct levada_index {
    levada_env         *env; /* borrowed, as the following four */
    const levada_op    *op;
    const void         *args;
    const levada_files *files;
    levada_bytes_options plain; /* how its files are opened */
    levada_bytes_mark  *marks; /* of each data file          */
    uint32_t           *sums;  /* of the bytes of each       */
    uint32_t           *feet;  /* of the last page of each index */
    int64_t            *first; /* record of each, and of all */
    index_file          open[INDEX_OPEN];
    index_page         *pages; /* INDEX_PAGES of them        */
    levada_index_image *images; /* of files with a foreign index; else empty */
    int32_t             nwhich, which[LEVADA_LENGTH_FIELDS]; /* the fields that were selected */
};

/* -- the last page */

static void index_put(uint8_t *to, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++) to[i] = (uint8_t)(value >> (8 * i));
}

static uint32_t index_get32(const uint8_t *from)
{
    return (uint32_t)from[0] | (uint32_t)from[1] << 8 | (uint32_t)from[2] << 16 |
           (uint32_t)from[3] << 24;
}

/* Reads a little-endian number of 4 or 8 bytes. */
static uint64_t index_get(const uint8_t *from, int bytes)
{
    uint64_t low = index_get32(from);

    return bytes == 4 ? low : low | (uint64_t)index_get32(from + 4) << 32;
}

/* Where the parts of the last page stand. */
enum {
    INDEX_AT_VERSION = 8,
    INDEX_AT_ROWS = 12,
    INDEX_AT_COUNT = 16,
    INDEX_AT_SIZE = 24,
    INDEX_AT_MARK = 32,
    INDEX_AT_FILE_SUM = 36,
    INDEX_AT_SOURCE = 40,
    INDEX_AT_OPTIONS = INDEX_AT_SOURCE + LEVADA_INDEX_NAME,
    INDEX_AT_STAGES = INDEX_AT_OPTIONS + 16,
    INDEX_AT_NFIELDS = INDEX_AT_STAGES + 16,
    INDEX_AT_FIELDS = INDEX_AT_NFIELDS + 8
};

uint32_t levada_index_sum(const levada_kernels *kernels, const uint8_t page[LEVADA_INDEX_PAGE],
                          int64_t number)
{
    return kernels->crc32c((uint32_t)number, page, LEVADA_INDEX_SUM);
}

void levada_index_put_foot(const levada_kernels *kernels, const levada_index_foot *foot,
                           uint8_t page[LEVADA_INDEX_PAGE])
{
    memset(page, 0, LEVADA_INDEX_PAGE);
    memcpy(page, LEVADA_INDEX_MAGIC, strlen(LEVADA_INDEX_MAGIC));
    index_put(page + INDEX_AT_VERSION,
              foot->nfields ? LEVADA_INDEX_VERSION_LENGTHS : LEVADA_INDEX_VERSION, 4);
    index_put(page + INDEX_AT_ROWS, LEVADA_INDEX_ROWS, 4);
    index_put(page + INDEX_AT_COUNT, (uint64_t)foot->count, 8);
    index_put(page + INDEX_AT_SIZE, (uint64_t)foot->mark.size, 8);
    index_put(page + INDEX_AT_MARK, foot->mark.head, 4);
    index_put(page + INDEX_AT_FILE_SUM, foot->sum, 4);
    memcpy(page + INDEX_AT_SOURCE, foot->source, LEVADA_INDEX_NAME);
    memcpy(page + INDEX_AT_OPTIONS, foot->options, sizeof foot->options);
    if (foot->nfields) {
        index_put(page + INDEX_AT_NFIELDS, (uint64_t)foot->nfields, 4);
        memcpy(page + INDEX_AT_FIELDS, foot->fields, sizeof foot->fields);
        memcpy(page + INDEX_AT_STAGES, foot->stages, sizeof foot->stages);
    }
    index_put(page + LEVADA_INDEX_SUM, levada_index_sum(kernels, page, 0), 4);
}

static levada_status index_damaged(levada_error *err)
{
    return levada_fail(err, LEVADA_EDATA_LOSS,
                       "the index is corrupt; write it again with levada index");
}

static levada_status index_get_fields(const uint8_t page[LEVADA_INDEX_PAGE],
                                      levada_index_foot *out, levada_error *err)
{
    uint64_t n = index_get(page + INDEX_AT_NFIELDS, 4);

    if (n == 0 || n > LEVADA_LENGTH_FIELDS) return index_damaged(err);
    out->nfields = (int32_t)n;
    memcpy(out->fields, page + INDEX_AT_FIELDS, sizeof out->fields);
    memcpy(out->stages, page + INDEX_AT_STAGES, sizeof out->stages);
    for (int32_t i = 0; i < LEVADA_LENGTH_FIELDS; i++) {
        const char *name = out->fields[i];

        if (name[LEVADA_INDEX_FIELD - 1] || (name[0] != '\0') != (i < out->nfields)) {
            return index_damaged(err);
        }
    }
    return LEVADA_OK;
}

levada_status levada_index_get_foot(const levada_kernels *kernels,
                                    const uint8_t page[LEVADA_INDEX_PAGE], levada_index_foot *out,
                                    levada_error *err)
{
    uint64_t version = index_get(page + INDEX_AT_VERSION, 4);

    if (memcmp(page, LEVADA_INDEX_MAGIC, strlen(LEVADA_INDEX_MAGIC)) != 0) {
        return levada_fail(err, LEVADA_EDATA_LOSS,
                           "not an index of levada; write it again with levada index");
    }
    if (index_get(page + LEVADA_INDEX_SUM, 4) != levada_index_sum(kernels, page, 0)) {
        return index_damaged(err);
    }
    if ((version != LEVADA_INDEX_VERSION && version != LEVADA_INDEX_VERSION_LENGTHS) ||
        index_get(page + INDEX_AT_ROWS, 4) != LEVADA_INDEX_ROWS) {
        return levada_fail(err, LEVADA_EFAILED_PRECONDITION,
                           "the index has version %lld; this version of levada reads %d and %d; "
                           "write it again with levada index",
                           (long long)version, LEVADA_INDEX_VERSION,
                           LEVADA_INDEX_VERSION_LENGTHS);
    }
    *out = (levada_index_foot){ .count = (int64_t)index_get(page + INDEX_AT_COUNT, 8),
                                .sum = (uint32_t)index_get(page + INDEX_AT_FILE_SUM, 4) };
    out->mark.size = (int64_t)index_get(page + INDEX_AT_SIZE, 8);
    out->mark.head = (uint32_t)index_get(page + INDEX_AT_MARK, 4);
    memcpy(out->source, page + INDEX_AT_SOURCE, LEVADA_INDEX_NAME - 1);
    memcpy(out->options, page + INDEX_AT_OPTIONS, sizeof out->options);
    out->page = (uint32_t)index_get(page + LEVADA_INDEX_SUM, 4);
    if (version == LEVADA_INDEX_VERSION_LENGTHS) LEVADA_TRY(index_get_fields(page, out, err));
    return out->count < 0 || out->mark.size < 0 ? index_damaged(err) : LEVADA_OK;
}

char *levada_index_path(const char *path)
{
    size_t n = strlen(path), more = sizeof LEVADA_INDEX_SUFFIX;
    char  *made = levada_alloc(n + more);

    if (!made) return NULL;
    memcpy(made, path, n);
    memcpy(made + n, LEVADA_INDEX_SUFFIX, more);
    return made;
}

/* Hashes the options by value: the bytes of numbers, and the text of texts. */
levada_status levada_index_sum_options(const levada_op *op, const void *args, uint8_t out[16],
                                   levada_error *err)
{
    levada_text text = { 0 };
    char       *all = NULL;

    for (int i = 0; op->args[i].name && op->args[i].offset < op->core_offset; i++) {
        const levada_arg *arg = &op->args[i];
        const uint8_t    *at = (const uint8_t *)args + arg->offset;
        int64_t           number = 0;
        const char       *word = NULL;

        if (arg->type == LEVADA_ARG_BOOL) number = *(const bool *)(const void *)at;
        else if (arg->type == LEVADA_ARG_TEXT) memcpy(&word, at, sizeof word);
        else if (arg->type == LEVADA_ARG_DTYPE) memcpy(&number, at, sizeof(levada_dtype));
        else if (arg->type == LEVADA_ARG_INT || arg->type == LEVADA_ARG_SIZE ||
                 arg->type == LEVADA_ARG_CHOICE || arg->type == LEVADA_ARG_FLOAT)
            memcpy(&number, at, sizeof number);
        levada_text_format(&text, "%s=%lld %s\n", arg->name, (long long)number, word ? word : "");
    }
    levada_text_put(&text, "");
    LEVADA_TRY(levada_text_steal(&text, &all, err));
    levada_hash128(all, strlen(all), 1, out);
    levada_free(all);
    return LEVADA_OK;
}

/* -- open */

/* Reads a page of the index of a file, whose bytes are NULL if it is foreign. */
static levada_status index_read(const levada_index *x, int32_t shard, const levada_bytes *bytes,
                                int64_t number, uint8_t *page, levada_error *err)
{
    int64_t made = 0;

    if (number < 0) return index_damaged(err);
    if (!bytes) {
        memcpy(page, x->images[shard].at + number * LEVADA_INDEX_PAGE, LEVADA_INDEX_PAGE);
        return LEVADA_OK;
    }
    LEVADA_TRY(levada_bytes_read_at(bytes, number * LEVADA_INDEX_PAGE, page, LEVADA_INDEX_PAGE,
                                    &made, err));
    return made == LEVADA_INDEX_PAGE ? LEVADA_OK : index_damaged(err);
}

/* Pages that `count` things need, `each` in a page. */
static int64_t index_pages(int64_t count, int64_t each)
{
    return count / each + (count % each != 0);
}

bool levada_index_fits(int64_t size, const levada_index_foot *foot)
{
    int64_t pages = index_pages(foot->count, LEVADA_INDEX_ROWS) + 1;

    pages += foot->nfields * index_pages(foot->count, LEVADA_INDEX_LENGTHS);
    return size % LEVADA_INDEX_PAGE == 0 && size / LEVADA_INDEX_PAGE == pages;
}

static levada_status index_place(const levada_index *x, int32_t shard, levada_status st,
                                 levada_error *err)
{
    char *path = levada_index_path(x->files->path[shard]);

    levada_error_place(err, NULL, path ? path : x->files->path[shard], -1, -1);
    levada_free(path);
    return st;
}

/* Makes pages of a foreign index for a file without an index of levada. */
static levada_status index_open_foreign(levada_index *x, int32_t shard, levada_error *err)
{
    const char   *path = x->files->path[shard];
    levada_status st;

    levada_error_clear(err);
    st = levada_index_foreign(x->env, x->op, x->args, path, &x->images[shard], err);
    if (st == LEVADA_ENOT_FOUND && x->op->def.format.next) {
        levada_error_clear(err);
        st = levada_fail(err, LEVADA_EFAILED_PRECONDITION,
                         "the file has no index; write it with levada index");
    }
    if (st != LEVADA_OK) levada_error_place(err, NULL, path, -1, -1);
    return st;
}

/* Opens the index of a file; sets *out to NULL if it is foreign. Errors name the index. */
static levada_status index_file_open(levada_index *x, int32_t shard, const levada_bytes **out,
                                     levada_error *err)
{
    index_file          *file = &x->open[shard % INDEX_OPEN];
    char                *path;
    levada_status        st;

    *out = x->images[shard].at ? NULL : file->bytes;
    if (x->images[shard].at || (file->bytes && file->shard == shard)) return LEVADA_OK;
    levada_bytes_close(&file->bytes);
    path = levada_index_path(x->files->path[shard]);
    if (!path) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for an index");
    st = levada_bytes_open(x->env, path, &x->plain, &file->bytes, err);
    levada_free(path);
    *out = NULL;
    if (st == LEVADA_ENOT_FOUND) return index_open_foreign(x, shard, err);
    if (st == LEVADA_OK && !levada_bytes_seekable(file->bytes)) {
        levada_bytes_close(&file->bytes);
        st = index_place(x, shard, levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                                               "an index must be a regular file, got a pipe"), err);
    }
    if (st != LEVADA_OK) return st;
    file->shard = shard;
    file->checked = false;
    *out = file->bytes;
    return LEVADA_OK;
}

static levada_status index_compare(const levada_op *op, const uint8_t options[16],
                                   const levada_index_foot *foot, levada_error *err)
{
    if (strcmp(op->name, foot->source) != 0) {
        return levada_fail(err, LEVADA_EFAILED_PRECONDITION,
                           "the index is for format %s, but the file is read as %s; write it again "
                           "with levada index --source",
                           foot->source, op->name);
    }
    if (memcmp(options, foot->options, sizeof foot->options) == 0) return LEVADA_OK;
    return levada_fail(err, LEVADA_EFAILED_PRECONDITION,
                       "the index was written with other options of %s; write it again with levada "
                       "index", op->name);
}

/* Reads the last page of the index of a file, and checks that the index has the size that it says.
 */
static levada_status index_foot(levada_index *x, int32_t shard, levada_index_foot *out,
                                levada_error *err)
{
    uint8_t             page[LEVADA_INDEX_PAGE];
    const levada_bytes *bytes = NULL;
    levada_status       st;
    int64_t             size;

    LEVADA_TRY(index_file_open(x, shard, &bytes, err));
    size = bytes ? levada_bytes_mark_of(bytes).size : x->images[shard].size;
    st = index_read(x, shard, bytes, size / LEVADA_INDEX_PAGE - 1, page, err);
    if (st == LEVADA_OK) st = levada_index_get_foot(levada_env_kernels(x->env), page, out, err);
    if (st == LEVADA_OK && !levada_index_fits(size, out)) st = index_damaged(err);
    return st == LEVADA_OK ? LEVADA_OK : index_place(x, shard, st, err);
}

static levada_status index_enter(levada_index *x, int32_t shard, const levada_op *op,
                                 const uint8_t options[16], levada_error *err)
{
    levada_index_foot foot;
    levada_status     st;

    LEVADA_TRY(index_foot(x, shard, &foot, err));
    st = index_compare(op, options, &foot, err);
    if (st == LEVADA_OK && foot.count > INT64_MAX / 4 - x->first[shard]) st = index_damaged(err);
    if (st != LEVADA_OK) return index_place(x, shard, st, err);
    x->marks[shard] = foot.mark;
    x->sums[shard] = foot.sum;
    x->feet[shard] = foot.page;
    x->first[shard + 1] = x->first[shard] + foot.count;
    return LEVADA_OK;
}

static levada_status index_fill(levada_index *x, const levada_op *op, const void *args,
                                levada_error *err)
{
    uint8_t options[16];
    size_t  n = (size_t)x->files->n;

    x->marks = levada_alloc_zero((n + 1) * sizeof *x->marks);
    x->sums = levada_alloc_zero((n + 1) * sizeof *x->sums);
    x->feet = levada_alloc_zero((n + 1) * sizeof *x->feet);
    x->first = levada_alloc_zero((n + 1) * sizeof *x->first);
    x->pages = levada_alloc_zero(INDEX_PAGES * sizeof *x->pages);
    x->images = levada_alloc_zero((n + 1) * sizeof *x->images);
    if (!x->marks || !x->sums || !x->feet || !x->first || !x->pages || !x->images) {
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for an index");
    }
    LEVADA_TRY(levada_index_sum_options(op, args, options, err));
    for (int32_t i = 0; i < x->files->n; i++) LEVADA_TRY(index_enter(x, i, op, options, err));
    return LEVADA_OK;
}

levada_status levada_index_open(levada_env *env, const levada_files *files, const levada_op *op,
                                const void *args, const levada_bytes_options *plain,
                                levada_index **out, levada_error *err)
{
    levada_index *x = levada_alloc_zero(sizeof *x);
    levada_status st;

    if (!x) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for an index");
    x->env = env;
    x->op = op;
    x->args = args;
    x->files = files;
    x->plain = *plain;
    st = index_fill(x, op, args, err);
    if (st == LEVADA_OK) *out = x;
    else levada_index_close(&x);
    return st;
}

void levada_index_close(levada_index **index)
{
    levada_index *x = *index;

    *index = NULL;
    if (!x) return;
    for (int i = 0; i < INDEX_OPEN; i++) levada_bytes_close(&x->open[i].bytes);
    for (int64_t i = 0; x->images && i < x->files->n; i++) levada_free(x->images[i].at);
    levada_free(x->images);
    levada_free(x->marks);
    levada_free(x->sums);
    levada_free(x->feet);
    levada_free(x->first);
    levada_free(x->pages);
    levada_free(x);
}

int64_t levada_index_count(const levada_index *x) { return x->first[x->files->n]; }

levada_status levada_index_check(const levada_index *x, int32_t shard, const levada_bytes *file,
                                 levada_error *err)
{
    levada_bytes_mark now = levada_bytes_mark_of(file), was = x->marks[shard];

    if (now.size == was.size && now.head == was.head) return LEVADA_OK;
    (void)levada_fail(err, LEVADA_EFAILED_PRECONDITION,
                      "the file has changed since it was indexed; write the index again with "
                      "levada index");
    levada_error_place(err, NULL, x->files->path[shard], -1, -1);
    return LEVADA_EFAILED_PRECONDITION;
}

/* Returns an error unless the index that is open now has the same entries as the one that was
 * opened first and, if its lengths are used, the same lengths. */
static levada_status index_check_open(levada_index *x, int32_t shard, levada_error *err)
{
    levada_index_foot foot;

    LEVADA_TRY(index_foot(x, shard, &foot, err));
    if (foot.sum == x->sums[shard] && foot.mark.size == x->marks[shard].size &&
        foot.count == x->first[shard + 1] - x->first[shard] &&
        (x->nwhich == 0 || foot.page == x->feet[shard])) {
        x->open[shard % INDEX_OPEN].checked = true;
        return LEVADA_OK;
    }
    (void)levada_fail(err, LEVADA_EFAILED_PRECONDITION,
                      "the index was written again while it was read; open the dataset again");
    return index_place(x, shard, LEVADA_EFAILED_PRECONDITION, err);
}

levada_status levada_index_check_again(levada_index *x, int32_t shard, levada_error *err)
{
    if (x->images[shard].at) return LEVADA_OK; /* in memory; the data file is checked */
    levada_bytes_close(&x->open[shard % INDEX_OPEN].bytes); /* opened again by its name */
    return index_check_open(x, shard, err);
}

/* -- records */

/* Returns the file that has the record: the last one that begins at or before it. */
static int32_t index_shard(const levada_index *x, int64_t number)
{
    int32_t low = 0, high = (int32_t)x->files->n - 1;

    while (low < high) {
        int32_t middle = low + (high - low + 1) / 2;

        if (x->first[middle] <= number) low = middle;
        else high = middle - 1;
    }
    return low;
}

int64_t levada_index_number(const levada_index *x, int32_t shard, int64_t record)
{
    return x->first[shard] + record;
}

void levada_index_locate(const levada_index *x, int64_t number, int32_t *shard, int64_t *record)
{
    *shard = index_shard(x, number);
    *record = number - x->first[*shard];
}

static levada_status index_page_of(levada_index *x, int32_t shard, int64_t number,
                                   const uint8_t **out, levada_error *err)
{
    index_page         *page = &x->pages[((uint64_t)number + (uint64_t)shard * 31) % INDEX_PAGES];
    const levada_bytes *bytes = NULL;
    levada_status       st;

    *out = page->data;
    if (page->owner == shard + 1 && page->number == number) return LEVADA_OK;
    page->owner = 0;
    LEVADA_TRY(index_file_open(x, shard, &bytes, err));
    if (bytes && !x->open[shard % INDEX_OPEN].checked) LEVADA_TRY(index_check_open(x, shard, err));
    st = index_read(x, shard, bytes, number, page->data, err);
    if (st == LEVADA_OK &&
        index_get(page->data + LEVADA_INDEX_SUM, 4) !=
            levada_index_sum(levada_env_kernels(x->env), page->data, number)) {
        st = index_damaged(err);
    }
    if (st != LEVADA_OK) return index_place(x, shard, st, err);
    page->owner = shard + 1;
    page->number = number;
    return LEVADA_OK;
}

levada_status levada_index_find(levada_index *x, int64_t number, levada_index_entry *out,
                                levada_error *err)
{
    const uint8_t *page = NULL, *entry;
    int32_t        shard;
    int64_t        record, size;

    if (number < 0 || number >= levada_index_count(x)) {
        return levada_fail(err, LEVADA_EOUT_OF_RANGE, "record %lld of %lld does not exist",
                           (long long)number, (long long)levada_index_count(x));
    }
    levada_index_locate(x, number, &shard, &record);
    LEVADA_TRY(index_page_of(x, shard, record / LEVADA_INDEX_ROWS, &page, err));
    entry = page + record % LEVADA_INDEX_ROWS * LEVADA_INDEX_ENTRY;
    *out = (levada_index_entry){ .shard = shard,
                                 .record = record,
                                 .offset = (int64_t)index_get(entry, 8),
                                 .length = (int64_t)index_get(entry + 8, 4) };
    size = x->marks[shard].size;
    if (out->offset >= 0 && out->offset <= size && out->length <= size - out->offset) {
        return LEVADA_OK;
    }
    if (x->images[shard].at) return LEVADA_OK; /* the reader reports a truncated file */
    return index_place(x, shard, index_damaged(err), err);
}

/* -- lengths */

levada_status levada_index_check_file(levada_index *x, int32_t shard, levada_error *err)
{
    levada_bytes        *bytes = NULL;
    levada_status        st;

    LEVADA_TRY(levada_bytes_open(x->env, x->files->path[shard], &x->plain, &bytes, err));
    st = levada_index_check(x, shard, bytes, err);
    levada_bytes_close(&bytes);
    return st;
}

static int32_t index_field(const levada_index_foot *foot, const char *name)
{
    for (int32_t i = 0; i < foot->nfields; i++) {
        if (strcmp(foot->fields[i], name) == 0) return i;
    }
    return -1;
}

/* Returns true if the index of a file has the fields, each at the same place as in the index of the
 * first file; `made`: the hash of the stages whose lengths it has. */
static bool index_has(const levada_index *x, const levada_index_foot *foot, const uint8_t made[16],
                      const char *const *fields, int32_t n, const uint8_t stages[16])
{
    if (memcmp(made, stages, sizeof foot->stages) != 0) return false;
    for (int32_t k = 0; k < n; k++) {
        int32_t at = index_field(foot, fields[k]);

        if (at < 0 || at != x->which[k]) return false;
    }
    return true;
}

levada_status levada_index_select(levada_index *x, const char *const *fields, int32_t n,
                                  const uint8_t stages[16], const uint8_t plain[16], bool *found,
                                  levada_error *err)
{
    *found = n <= LEVADA_LENGTH_FIELDS;
    x->nwhich = n;
    for (int32_t i = 0; *found && i < x->files->n; i++) {
        levada_index_foot foot;

        LEVADA_TRY(index_foot(x, i, &foot, err));
        for (int32_t k = 0; i == 0 && k < n; k++) x->which[k] = index_field(&foot, fields[k]);
        *found = index_has(x, &foot, x->images[i].at ? plain : foot.stages, fields, n, stages) &&
                 foot.page == x->feet[i];
    }
    if (!*found) x->nwhich = 0;
    return LEVADA_OK;
}

/* Returns the first of the pages with lengths of the i-th selected field. */
static int64_t index_length_page(const levada_index *x, int32_t shard, int32_t i)
{
    int64_t count = x->first[shard + 1] - x->first[shard];

    return index_pages(count, LEVADA_INDEX_ROWS) +
           x->which[i] * index_pages(count, LEVADA_INDEX_LENGTHS);
}

levada_status levada_index_length(levada_index *x, int32_t i, int64_t number, int64_t *out,
                                  levada_error *err)
{
    const uint8_t *page = NULL;
    int32_t        shard;
    int64_t        record, first;

    levada_index_locate(x, number, &shard, &record);
    first = index_length_page(x, shard, i);
    LEVADA_TRY(index_page_of(x, shard, first + record / LEVADA_INDEX_LENGTHS, &page, err));
    *out = (int64_t)index_get(page + 4 * (record % LEVADA_INDEX_LENGTHS), 4);
    return LEVADA_OK;
}

/* Copies the lengths of n records from `first` on, of one page: all lengths of one record after
 * another. */
static levada_status index_lengths_copy(levada_index *x, int32_t shard, int64_t first, int64_t n,
                                        int64_t *out, levada_error *err)
{
    for (int32_t k = 0; k < x->nwhich; k++) {
        int64_t        page = index_length_page(x, shard, k) + first / LEVADA_INDEX_LENGTHS;
        const uint8_t *from = NULL;

        LEVADA_TRY(index_page_of(x, shard, page, &from, err));
        from += 4 * (first % LEVADA_INDEX_LENGTHS);
        for (int64_t i = 0; i < n; i++) {
            out[i * x->nwhich + k] = (int64_t)index_get(from + 4 * i, 4);
        }
    }
    return LEVADA_OK;
}

static levada_status index_lengths_of(levada_index *x, int32_t shard, levada_lengths_each *each,
                                      void *user, levada_error *err)
{
    int64_t lengths[INDEX_ROWS * LEVADA_LENGTH_FIELDS];
    int64_t count = x->first[shard + 1] - x->first[shard];

    for (int64_t at = 0; at < count; at += INDEX_ROWS) {
        int64_t n = count - at < INDEX_ROWS ? count - at : INDEX_ROWS;

        LEVADA_TRY(index_lengths_copy(x, shard, at, n, lengths, err));
        LEVADA_TRY(each(user, lengths, n, err));
    }
    return LEVADA_OK;
}

levada_status levada_index_lengths(levada_index *x, levada_lengths_each *each, void *user,
                                   levada_error *err)
{
    for (int32_t i = 0; i < x->files->n; i++) {
        LEVADA_TRY(levada_index_check_file(x, i, err));
        LEVADA_TRY(index_lengths_of(x, i, each, user, err));
    }
    return LEVADA_OK;
}
