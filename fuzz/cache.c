/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of caches: whatever is in them, an iterator that reuses one emits columns that its dataset
 * declares, alike in all blocks, or ends with an error that names the file.
 *
 * The first byte names a dataset, the second what reads the cache. Then follow edits (edit.h), each
 * after a byte that says of what: of the entries of a block or, with 128, of the file, whose
 * entries are its blocks, the numbers of their records, and by how much the index lies. The
 * checksums of what is edited are made good.
 */
#include "edit.h"
#include "rows.h"
#include <levada/builder.h>
#include <levada/levada.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CACHE_HEAD 24
#define CACHE_TAIL 28
#define CACHE_MOST (1 << 16) /* bytes of a file */
#define CACHE_DECLARED \
    "range:9 | map:{c:lists},spec=" \
    "{text:string,list:{kind:Ragged,dtype:int64,shape:[]},pair:{dtype:int64,shape:[null]}}"
#define CACHE_COUNT(list) (sizeof(list) / sizeof(list)[0])

/* Each is read in several blocks. The description does not say what the function returns. */
static const char *const cache_inputs[] = {
    "range:19",
    "range:9 | map:{c:lists}",
    CACHE_DECLARED,
    "range:20 | batch:3 | unbatch",
    "zip(range:9 | map:{c:lists}; range:9,start=5 | rename:{value:x}) | enumerate",
};

/* Each gathers, pads or shows what it reads. */
static const char *const cache_readers[] = {
    "",
    " | batch:7",
    " | shuffle:6 | padded_batch:4",
    " | skip:2 | repeat:2",
};

typedef struct cache_made {
    uint8_t             head[CACHE_HEAD];
    levada_state_reader file; /* its blocks, "rows" and "lies", as entries */
} cache_made;

static levada_env *cache_env;
static char        cache_folder[32], cache_path[48];

/* -- a function of strings, lists and pairs */

static levada_status cache_fill(levada_builder *b, const int64_t *from, int64_t n,
                                levada_error *err)
{
    for (int64_t i = 0; i < n; i++) {
        LEVADA_TRY(levada_builder_push_bytes(b, 0, "some text", from[i] % 10, err));
        for (int64_t k = 0; k < from[i] % 4; k++) LEVADA_TRY(levada_builder_push_i64(b, 1, k, err));
        LEVADA_TRY(levada_builder_end_row(b, 1, err));
    }
    return LEVADA_OK;
}

static levada_status cache_call(void *run, const levada_block *in, levada_block **out,
                                levada_error *err)
{
    const levada_field fields[] = {
        { .name = "text", .dtype = LEVADA_BYTES },
        { .name = "list", .dtype = LEVADA_INT64, .depth = 1 },
        { .name = "pair", .dtype = LEVADA_INT64, .ndim = 1, .dims = { 2 } },
    };
    int64_t         n = levada_block_rows(in);
    const int64_t  *from = levada_column_i64(levada_block_at(in, 0));
    levada_spec    *spec = NULL;
    levada_builder *b = NULL;
    void           *pairs = NULL;
    levada_status   st = levada_spec_create(fields, 3, LEVADA_SPEC_PLAIN, &spec, err);

    (void)run;
    if (st == LEVADA_OK) st = levada_builder_create(NULL, spec, n, &b, err);
    levada_spec_unref(&spec);
    if (st == LEVADA_OK) st = levada_builder_values(b, 2, 2 * n, &pairs, err);
    if (st == LEVADA_OK) memset(pairs, 1, (size_t)n * 2 * sizeof(int64_t));
    if (st == LEVADA_OK) st = cache_fill(b, from, n, err);
    if (st == LEVADA_OK) st = levada_builder_publish(&b, out, err);
    levada_builder_destroy(&b);
    return st;
}

static void cache_drop(void)
{
    (void)remove(cache_path);
    (void)rmdir(cache_folder);
}

static void cache_prepare(void)
{
    levada_function_def def = { .struct_size = sizeof def, .kind = "c", .name = "lists",
                                .pure = true, .call = cache_call };
    levada_function    *function = NULL;

    if (cache_env) return;
    (void)snprintf(cache_folder, sizeof cache_folder, "%s/levada-cache-%d", edit_root(),
                   (int)getpid());
    (void)snprintf(cache_path, sizeof cache_path, "%s/cache", cache_folder);
    edit_must(mkdir(cache_folder, 0700) == 0 && atexit(cache_drop) == 0 &&
                  levada_env_create(NULL, &cache_env, NULL) == LEVADA_OK &&
                  levada_function_create(&def, NULL, &function, NULL) == LEVADA_OK &&
                  levada_env_add_function(cache_env, function, NULL) == LEVADA_OK,
              "cannot prepare");
    levada_function_unref(&function);
}

/* -- reading */

static levada_iter *cache_open(size_t input, size_t reader, levada_status *st, levada_error *err)
{
    levada_iter_options options = LEVADA_ITER_OPTIONS_INIT;
    levada_dataset     *ds = NULL;
    levada_iter        *it = NULL;
    char                text[512];

    (void)snprintf(text, sizeof text, "%s | cache:%s%s", cache_inputs[input], cache_path,
                   cache_readers[reader]);
    options.threads = 1;
    options.seed = 1;
    options.block_rows = 4;
    if (levada_dataset_parse(cache_env, text, &ds, err) != LEVADA_OK)
        edit_must(false, err->message);
    *st = levada_iter_open(ds, &options, &it, err);
    levada_dataset_unref(&ds);
    return it;
}

static void cache_try(size_t input, size_t reader)
{
    levada_cli_buffer shown = { 0 };
    levada_error      err = LEVADA_ERROR_INIT;
    levada_status     st;
    levada_iter      *it = cache_open(input, reader, &st, &err);
    levada_block     *block = NULL, *first = NULL;

    while (st == LEVADA_OK && (st = levada_iter_next(it, &block, &err)) == LEVADA_OK) {
        for (int64_t i = 0; i < levada_block_rows(block); i++) {
            levada_cli_row_json(&shown, block, i);
            shown.size = 0;
        }
        if (!first) first = levada_block_ref(block);
        edit_must(reader > 0 ||
                      levada_spec_equal(levada_block_spec(block), levada_block_spec(first)),
                  "blocks with different columns");
        levada_block_unref(&block);
    }
    edit_must(st == LEVADA_END || st == LEVADA_EDATA_LOSS, err.message);
    edit_must(st == LEVADA_END || strstr(err.message, cache_path), err.message);
    levada_block_unref(&first);
    levada_cli_buffer_clear(&shown);
    levada_iter_close(&it);
}

/* -- the file as entries */

static int64_t cache_number(const uint8_t *at)
{
    int64_t value;

    memcpy(&value, at, sizeof value); /* little endian, as the machines that fuzz */
    return value;
}

/* Its end, number of blocks and number of skipped records, and each position: all right at first.
 */
static void cache_take(cache_made *made, const uint8_t *bytes, size_t size)
{
    const uint8_t *tail = bytes + size - CACHE_TAIL, *index = bytes + cache_number(tail);
    int64_t        n = cache_number(tail + 8), rows[64], lies[64 + 3] = { 0 };

    edit_must(n >= 2 && n <= 64, "a cache of several blocks");
    memcpy(made->head, bytes, CACHE_HEAD);
    for (int64_t i = 0; i < n; i++) {
        int64_t at = cache_number(index + 16 * i);
        int64_t end = i + 1 < n ? cache_number(index + 16 * i + 16) : index - bytes;

        edit_add(&made->file, "block", LEVADA_ENTRY_BYTES, bytes + at, (size_t)(end - at));
        rows[i] = cache_number(index + 16 * i + 8);
    }
    edit_add(&made->file, "rows", LEVADA_ENTRY_I64S, rows, (size_t)n * sizeof *rows);
    edit_add(&made->file, "lies", LEVADA_ENTRY_I64S, lies, (size_t)(n + 3) * sizeof *lies);
}

static void cache_run(size_t input)
{
    levada_error  err = LEVADA_ERROR_INIT;
    levada_status st;
    levada_iter  *it = cache_open(input, 0, &st, &err);
    levada_block *block = NULL;

    while (st == LEVADA_OK && (st = levada_iter_next(it, &block, &err)) == LEVADA_OK)
        levada_block_unref(&block);
    edit_must(st == LEVADA_END, err.message);
    levada_iter_close(&it);
}

/* The file that the dataset itself writes; made once. */
static cache_made *cache_get(size_t input)
{
    static cache_made all[CACHE_COUNT(cache_inputs)];
    static uint8_t    bytes[CACHE_MOST];
    ssize_t           size;
    int               file;

    if (all[input].file.n) return &all[input];
    (void)remove(cache_path);
    cache_run(input);
    file = open(cache_path, O_RDONLY | O_CLOEXEC);
    edit_must(file >= 0, cache_path);
    size = read(file, bytes, sizeof bytes);
    (void)close(file);
    edit_must(size > CACHE_HEAD + CACHE_TAIL && size < CACHE_MOST, "a small cache");
    cache_take(&all[input], bytes, (size_t)size);
    return &all[input];
}

/* -- edits */

/* A list that may be edited. */
static void cache_copy(levada_state_reader *to, const levada_state_reader *from)
{
    for (int32_t i = 0; i < from->n; i++) {
        const levada_entry *e = &from->entries[i];

        edit_add(to, e->key, (levada_entry_type)e->type, e->data, e->size);
    }
}

static void cache_edit(levada_state_reader *file, const uint8_t *edit)
{
    levada_entry *e = file->n ? &file->entries[edit[0] % file->n] : NULL;
    char         *made = NULL;
    size_t        size = 0;

    if (edit[0] & 0x80) {
        edit_all(file, edit + 1, EDIT_SIZE);
    } else if (e && strcmp(e->key, "block") == 0 && e->size > 0 &&
               edit_state(e->data, e->size, edit + 1, EDIT_SIZE, &made, &size)) {
        levada_free(e->data);
        e->data = (uint8_t *)made;
        e->size = size;
    }
}

static int64_t cache_list(const levada_state_reader *file, const char *key, size_t i)
{
    const levada_entry *e = edit_find(file, key);

    return e && i < e->size / sizeof(int64_t) ? cache_number(e->data + i * sizeof(int64_t)) : 0;
}

typedef struct cache_bytes {
    uint8_t at[CACHE_MOST];
    size_t  size;
} cache_bytes;

static void cache_put(cache_bytes *to, const void *bytes, size_t size)
{
    if (size > sizeof to->at - to->size) size = sizeof to->at - to->size;
    memcpy(to->at + to->size, bytes, size);
    to->size += size;
}

static void cache_put_number(cache_bytes *to, uint64_t value, int64_t lie)
{
    value += (uint64_t)lie;
    cache_put(to, &value, sizeof value);
}

/* The bytes of the file: blocks, and the index that they have but for its lies. */
static void cache_build(cache_bytes *to, const uint8_t *head, const levada_state_reader *file)
{
    uint64_t at[256] = { 0 }, end;
    size_t   n = 0;

    to->size = 0;
    cache_put(to, head, CACHE_HEAD);
    for (int32_t i = 0; i < file->n && n < 256; i++) {
        const levada_entry *e = &file->entries[i];

        if (strncmp(e->key, "bloc", 4) != 0) continue;
        at[n++] = to->size;
        cache_put(to, e->data, e->size);
    }
    end = to->size;
    for (size_t i = 0; i < n; i++) {
        cache_put_number(to, at[i], cache_list(file, "lies", 3 + i));
        cache_put_number(to, 0, cache_list(file, "rows", i));
    }
    cache_put_number(to, end, cache_list(file, "lies", 0));
    cache_put_number(to, n, cache_list(file, "lies", 1));
    cache_put_number(to, 0, cache_list(file, "lies", 2));
    cache_put(to, "crc", 4);
    edit_seal(to->at + end, to->size - end);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static cache_bytes  made;
    levada_state_reader file = { 0 };
    const cache_made   *whole;
    size_t              input, reader;
    int                 to;

    if (size < 2) return 0;
    cache_prepare();
    input = data[0] % CACHE_COUNT(cache_inputs);
    reader = data[1] % CACHE_COUNT(cache_readers);
    whole = cache_get(input);
    cache_copy(&file, &whole->file);
    for (data += 2, size -= 2; size > EDIT_SIZE; data += EDIT_SIZE + 1, size -= EDIT_SIZE + 1)
        cache_edit(&file, data);
    cache_build(&made, whole->head, &file);
    levada_state_reader_clear(&file);
    to = open(cache_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    edit_must(to >= 0 && write(to, made.at, made.size) == (ssize_t)made.size, cache_path);
    (void)close(to);
    cache_try(input, reader);
    return 0;
}
