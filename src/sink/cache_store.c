/* SPDX-License-Identifier: Apache-2.0 */
#include "sink/cache_store.h"

#include "base/alloc.h"
#include "description/columns.h"
#include "registry/env_priv.h"
#include "state/state_priv.h"
#include "base/refs.h"
#include "tensor/builder_priv.h"
#include <levada/output.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CACHE_STORE_MAGIC "LVCACHE1"
#define CACHE_STORE_HEAD 24 /* bytes before the first block */
#define CACHE_STORE_TAIL 28 /* bytes after the index        */
#define CACHE_STORE_KEY "rows"

typedef struct cache_store_entry {
    int64_t       offset; /* in the file */
    int64_t       rows;
    levada_block *block;  /* in memory; else NULL */
} cache_store_entry;

struct levada_cache_store {
    levada_common        kept; /* first */
    levada_refs        refs;
    levada_env        *env; /* a reference */
    int                fd;  /* of the file; -1 = in memory */
    char              *path;
    cache_store_entry *entries;
    int64_t            n, capacity, end, records, skipped;
};

struct levada_cache_writer {
    levada_cache_store *store; /* what there is so far */
    levada_output      *out;   /* NULL = in memory */
    levada_spec        *columns; /* of the first block in a file */
    int64_t             at;    /* bytes written */
};

static levada_status cache_store_memory(levada_error *err)
{
    return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a cache");
}

static levada_status cache_store_damaged(const levada_cache_store *s, levada_error *err)
{
    return levada_fail(err, LEVADA_EDATA_LOSS,
                       "%s: damaged, or not a cache of levada; delete it, or choose another path",
                       s->path);
}

levada_cache_store *levada_cache_store_ref(levada_cache_store *store)
{
    levada_refs_add(&store->refs);
    return store;
}

void levada_cache_store_unref(levada_cache_store **store)
{
    levada_cache_store *s = *store;

    *store = NULL;
    if (!s || !levada_refs_drop(&s->refs)) return;
    for (int64_t i = 0; i < s->n; i++) levada_block_unref(&s->entries[i].block);
    if (s->fd >= 0) (void)close(s->fd);
    levada_free(s->entries);
    levada_free(s->path);
    levada_env_unref(&s->env);
    levada_free(s);
}

static void cache_store_drop(levada_common *kept)
{
    levada_cache_store *s = levada_cache_store_of_common(kept);

    levada_cache_store_unref(&s);
}

levada_common *levada_cache_store_to_common(levada_cache_store *store) { return &store->kept; }

levada_cache_store *levada_cache_store_of_common(levada_common *kept)
{
    return (levada_cache_store *)(void *)kept;
}

int64_t levada_cache_store_blocks(const levada_cache_store *store) { return store->n; }

int64_t levada_cache_store_rows(const levada_cache_store *store, int64_t block)
{
    return store->entries[block].rows;
}

int64_t levada_cache_store_records(const levada_cache_store *store) { return store->records; }

bool levada_cache_store_fits(const levada_cache_store *store, const levada_policy *policy)
{
    return levada_policy_allows(policy, store->skipped, store->records + store->skipped);
}

static levada_status cache_store_create(levada_env *env, const char *path,
                                        levada_cache_store **out, levada_error *err)
{
    levada_cache_store *s = levada_alloc_zero(sizeof *s);

    if (!s) return cache_store_memory(err);
    s->kept.drop = cache_store_drop;
    levada_refs_init(&s->refs, 1);
    s->fd = -1;
    s->env = levada_env_ref(env);
    *out = s;
    if (!path) return LEVADA_OK;
    s->path = levada_alloc(strlen(path) + 1);
    if (!s->path) {
        levada_cache_store_unref(out);
        return cache_store_memory(err);
    }
    memcpy(s->path, path, strlen(path) + 1);
    return LEVADA_OK;
}

static levada_status cache_store_push(levada_cache_store *s, int64_t offset, int64_t rows,
                                      levada_block *block, levada_error *err)
{
    if (!levada_reserve(&s->entries, &s->capacity, s->n + 1, sizeof *s->entries)) {
        return cache_store_memory(err);
    }
    s->entries[s->n++] = (cache_store_entry){
        .offset = offset, .rows = rows, .block = block ? levada_block_ref(block) : NULL };
    s->records += rows;
    return LEVADA_OK;
}

static void cache_store_put(uint8_t *to, int64_t value)
{
    for (int32_t i = 0; i < 8; i++) to[i] = (uint8_t)((uint64_t)value >> (8 * i));
}

static int64_t cache_store_number(const uint8_t *from, int32_t bytes)
{
    uint64_t value = 0;

    for (int32_t i = 0; i < bytes; i++) value |= (uint64_t)from[i] << (8 * i);
    return (int64_t)value;
}

/* -- writing */

static levada_status cache_store_write(levada_cache_writer *w, const void *bytes, size_t size,
                                       levada_error *err)
{
    LEVADA_TRY(levada_output_write(w->out, bytes, size, err));
    w->at += (int64_t)size;
    return LEVADA_OK;
}

levada_status levada_cache_writer_create(levada_env *env, const char *path,
                                         const uint8_t fingerprint[16], levada_cache_writer **out,
                                         levada_error *err)
{
    levada_cache_writer *w = levada_alloc_zero(sizeof *w);
    uint8_t              head[CACHE_STORE_HEAD];
    levada_status        st;

    if (!w) return cache_store_memory(err);
    st = cache_store_create(env, path, &w->store, err);
    if (st == LEVADA_OK && path) st = levada_output_open(path, &w->out, err);
    if (st == LEVADA_OK && path) {
        memcpy(head, CACHE_STORE_MAGIC, 8);
        memcpy(head + 8, fingerprint, 16);
        st = cache_store_write(w, head, sizeof head, err);
    }
    if (st != LEVADA_OK) levada_cache_writer_destroy(&w);
    *out = w;
    return st;
}

/* Encodes bytes of the block, to be freed with levada_string_free. */
static levada_status cache_store_encode(const levada_env *env, const levada_block *block,
                                        char **out, size_t *size, levada_error *err)
{
    static const levada_state_head head;
    levada_state_writer            to = { .scope = { .path = "cache" } };
    levada_block                  *packed = NULL;
    levada_status st = levada_records_pack(levada_env_pool(env), block, &packed, err);

    if (st == LEVADA_OK) st = levada_rows_put(&to, CACHE_STORE_KEY, packed, true, NULL, err);
    levada_block_unref(&packed);
    if (st == LEVADA_OK) st = levada_state_encode(&to, &head, env, out, size, err);
    levada_state_writer_clear(&to);
    return st;
}

/* Compares what is read back with the first block. */
static levada_status cache_store_check_columns(levada_cache_writer *w, const levada_block *block,
                                               levada_error *err)
{
    if (!w->columns) w->columns = levada_spec_ref(block->spec);
    if (levada_spec_equal(w->columns, block->spec)) return LEVADA_OK;
    LEVADA_TRY(levada_spec_fits(w->columns, block->spec, err));
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                       "the records of a cache file must have the same columns, got others after "
                       "%lld records; declare them all with spec=",
                       (long long)w->store->records);
}

void levada_cache_writer_skip(levada_cache_writer *w) { w->store->skipped++; }

levada_status levada_cache_writer_add(levada_cache_writer *w, levada_block *block,
                                      levada_error *err)
{
    char         *bytes = NULL;
    size_t        size = 0;
    int64_t       offset = w->at;
    levada_status st;

    if (!w->out) return cache_store_push(w->store, 0, block->n, block, err);
    LEVADA_TRY(cache_store_check_columns(w, block, err));
    LEVADA_TRY(cache_store_encode(w->store->env, block, &bytes, &size, err));
    st = cache_store_write(w, bytes, size, err);
    levada_string_free(&bytes);
    return st == LEVADA_OK ? cache_store_push(w->store, offset, block->n, NULL, err) : st;
}

static levada_status cache_store_write_index(levada_cache_writer *w, levada_error *err)
{
    const levada_cache_store *s = w->store;
    size_t                    size = (size_t)s->n * 16 + CACHE_STORE_TAIL;
    uint8_t                  *index = levada_alloc(size);
    uint32_t                  crc;
    levada_status             st;

    if (!index) return cache_store_memory(err);
    for (int64_t i = 0; i < s->n; i++) {
        cache_store_put(index + 16 * i, s->entries[i].offset);
        cache_store_put(index + 16 * i + 8, s->entries[i].rows);
    }
    cache_store_put(index + size - 28, w->at);
    cache_store_put(index + size - 20, s->n);
    cache_store_put(index + size - 12, s->skipped);
    crc = levada_env_kernels(s->env)->crc32c(0, index, size - 4);
    for (int32_t i = 0; i < 4; i++) index[size - 4 + (size_t)i] = (uint8_t)(crc >> (8 * i));
    st = cache_store_write(w, index, size, err);
    levada_free(index);
    return st;
}

static levada_status cache_store_open_file(levada_cache_store *s, levada_error *err)
{
    do s->fd = open(s->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a FIFO must not block */
    while (s->fd < 0 && errno == EINTR);
    if (s->fd >= 0) return LEVADA_OK;
    return levada_fail(err, errno == ENOENT ? LEVADA_ENOT_FOUND : LEVADA_EUNAVAILABLE,
                       "%s: cannot open the cache: %s", s->path, strerror(errno));
}

levada_status levada_cache_writer_finish(levada_cache_writer *w, levada_cache_store **out,
                                         levada_error *err)
{
    if (w->out) {
        int64_t end = w->at;

        LEVADA_TRY(cache_store_write_index(w, err));
        LEVADA_TRY(levada_output_commit(w->out, err));
        LEVADA_TRY(cache_store_open_file(w->store, err));
        w->store->end = end;
    }
    *out = w->store;
    w->store = NULL;
    return LEVADA_OK;
}

void levada_cache_writer_destroy(levada_cache_writer **writer)
{
    levada_cache_writer *w = *writer;

    *writer = NULL;
    if (!w) return;
    levada_output_destroy(&w->out);
    levada_spec_unref(&w->columns);
    levada_cache_store_unref(&w->store);
    levada_free(w);
}

/* -- reading */

static levada_status cache_store_read(const levada_cache_store *s, int64_t at, void *to,
                                      size_t size, levada_error *err)
{
    for (size_t done = 0; done < size;) {
        ssize_t n = pread(s->fd, (uint8_t *)to + done, size - done, at + (int64_t)done);

        if (n < 0 && errno == EINTR) continue;
        if (n < 0) {
            return levada_fail(err, LEVADA_EUNAVAILABLE, "%s: cannot read the cache: %s", s->path,
                               strerror(errno));
        }
        if (n == 0) return cache_store_damaged(s, err);
        done += (size_t)n;
    }
    return LEVADA_OK;
}

/* Takes the index; offsets ascend, so that every block has a size. */
static levada_status cache_store_take_index(levada_cache_store *s, const uint8_t *index, int64_t n,
                                            levada_error *err)
{
    int64_t before = CACHE_STORE_HEAD;

    for (int64_t i = 0; i < n; i++) {
        int64_t offset = cache_store_number(index + 16 * i, 8);
        int64_t rows = cache_store_number(index + 16 * i + 8, 8);

        if (offset < before || offset >= s->end || rows < 1 || rows > LEVADA_BLOCK_LIMIT) {
            return cache_store_damaged(s, err);
        }
        LEVADA_TRY(cache_store_push(s, offset, rows, NULL, err));
        before = offset + 1;
    }
    return LEVADA_OK;
}

static levada_status cache_store_read_index(levada_cache_store *s, int64_t size, levada_error *err)
{
    uint8_t       tail[CACHE_STORE_TAIL], *index;
    int64_t       n, bytes;
    levada_status st;

    LEVADA_TRY(cache_store_read(s, size - CACHE_STORE_TAIL, tail, sizeof tail, err));
    s->end = cache_store_number(tail, 8);
    n = cache_store_number(tail + 8, 8);
    s->skipped = cache_store_number(tail + 16, 8);
    if (s->skipped < 0 || s->end < CACHE_STORE_HEAD || s->end > size || n < 0 || n > size / 16 ||
        s->end + 16 * n + CACHE_STORE_TAIL != size) {
        return cache_store_damaged(s, err);
    }
    bytes = 16 * n + CACHE_STORE_TAIL;
    index = levada_alloc((size_t)bytes);
    if (!index) return cache_store_memory(err);
    st = cache_store_read(s, s->end, index, (size_t)bytes, err);
    if (st == LEVADA_OK &&
        levada_env_kernels(s->env)->crc32c(0, index, (size_t)bytes - 4) !=
            (uint32_t)cache_store_number(index + bytes - 4, 4)) {
        st = cache_store_damaged(s, err);
    }
    if (st == LEVADA_OK) st = cache_store_take_index(s, index, n, err);
    levada_free(index);
    return st;
}

static levada_status cache_store_check(levada_cache_store *s, const uint8_t fingerprint[16],
                                       levada_error *err)
{
    uint8_t     head[CACHE_STORE_HEAD];
    struct stat is;

    if (fstat(s->fd, &is) != 0) {
        return levada_fail(err, LEVADA_EUNAVAILABLE, "%s: cannot read the cache: %s", s->path,
                               strerror(errno));
    }
    if (!S_ISREG(is.st_mode)) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "%s: a cache must be a regular file, got a %s; choose another path",
                           s->path, S_ISDIR(is.st_mode) ? "directory" : "FIFO or device");
    }
    if (is.st_size < CACHE_STORE_HEAD + CACHE_STORE_TAIL) return cache_store_damaged(s, err);
    LEVADA_TRY(cache_store_read(s, 0, head, sizeof head, err));
    if (memcmp(head, CACHE_STORE_MAGIC, 8) != 0) return cache_store_damaged(s, err);
    if (memcmp(head + 8, fingerprint, 16) != 0) {
        return levada_fail(err, LEVADA_EFAILED_PRECONDITION,
                           "%s: a cache of another dataset; delete it, or choose another path",
                           s->path);
    }
    return cache_store_read_index(s, is.st_size, err);
}

levada_status levada_cache_store_open(levada_env *env, const char *path,
                                      const uint8_t fingerprint[16], levada_cache_store **out,
                                      levada_error *err)
{
    levada_status st;

    LEVADA_TRY(cache_store_create(env, path, out, err));
    st = cache_store_open_file(*out, err);
    if (st == LEVADA_OK) st = cache_store_check(*out, fingerprint, err);
    if (st != LEVADA_OK) levada_cache_store_unref(out);
    return st;
}

static levada_status cache_store_decode(const levada_cache_store *s, const void *bytes, size_t size,
                                        levada_block **out, levada_error *err)
{
    levada_state_reader from;
    levada_spec        *any = NULL; /* the block has columns of its own */
    levada_status       st;

    LEVADA_TRY(levada_state_decode(bytes, size, s->env, &from, err));
    from.scope = (levada_state_scope){ .path = "cache" };
    st = levada_spec_create(NULL, 0, LEVADA_SPEC_OPEN, &any, err);
    if (st == LEVADA_OK) st = levada_rows_get(&from, CACHE_STORE_KEY, any, out, err);
    levada_spec_unref(&any);
    levada_state_reader_clear(&from);
    return st;
}

/* Checks that the columns can be those of a block of this cache. */
static levada_status cache_store_fits(const levada_block *made, const cache_store_entry *e,
                                      const levada_spec *declared, const levada_spec *first,
                                      levada_error *err)
{
    if (made->n != e->rows) {
        return levada_fail(err, LEVADA_EDATA_LOSS, "%lld records, and %lld in the index",
                           (long long)made->n, (long long)e->rows);
    }
    LEVADA_TRY(levada_spec_fits(declared, made->spec, err));
    if (!first || levada_spec_equal(first, made->spec)) return LEVADA_OK;
    LEVADA_TRY(levada_spec_fits(first, made->spec, err));
    return levada_fail(err, LEVADA_EDATA_LOSS, "its columns differ from the block before");
}

/* Adds the place of the block to the reason. Wrong bytes are a damaged file. */
static levada_status cache_store_place(const levada_cache_store *s, int64_t block, int64_t offset,
                                       levada_status st, levada_error *err)
{
    if (st == LEVADA_OK || st == LEVADA_ERESOURCE_EXHAUSTED || st == LEVADA_EUNAVAILABLE) return st;
    levada_error_wrap(err, "%s: the cache is damaged: block %lld, byte %lld", s->path,
                      (long long)block, (long long)offset);
    if (err) err->code = LEVADA_EDATA_LOSS;
    return LEVADA_EDATA_LOSS;
}

levada_status levada_cache_store_get(const levada_cache_store *s, int64_t block,
                                     const levada_spec *declared, const levada_spec *first,
                                     levada_block **out, levada_error *err)
{
    const cache_store_entry *e = &s->entries[block];
    int64_t       end = block + 1 < s->n ? s->entries[block + 1].offset : s->end;
    void         *bytes;
    levada_status st;

    if (s->fd < 0) {
        *out = levada_block_ref(e->block);
        return LEVADA_OK;
    }
    bytes = levada_alloc((size_t)(end - e->offset));
    if (!bytes) return cache_store_memory(err);
    st = cache_store_read(s, e->offset, bytes, (size_t)(end - e->offset), err);
    if (st == LEVADA_OK) st = cache_store_decode(s, bytes, (size_t)(end - e->offset), out, err);
    if (st == LEVADA_OK) {
        st = cache_store_fits(*out, e, declared, first, err);
        if (st != LEVADA_OK) levada_block_unref(out);
    }
    levada_free(bytes);
    return cache_store_place(s, block, e->offset, st, err);
}
