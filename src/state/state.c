/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Entries of states: gathering and looking up. The file around them is state_file.c.
 */
#include "base/alloc.h"
#include "base/assert.h"
#include "state/state_priv.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void levada_state_writer_clear(levada_state_writer *to)
{
    for (int32_t i = 0; i < to->n; i++) {
        levada_block_unref(&to->entries[i].records);
        levada_free(to->entries[i].data);
    }
    levada_free(to->entries);
    memset(to, 0, sizeof *to);
}

void levada_state_reader_clear(levada_state_reader *from)
{
    for (int32_t i = 0; i < from->n; i++) levada_free(from->entries[i].data);
    levada_free(from->entries);
    memset(from, 0, sizeof *from);
}

static levada_status state_memory(levada_error *err)
{
    return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a checkpoint");
}

/* Returns true if an entry is at a path or below it. */
static bool state_is_below(const levada_entry *e, const char *path)
{
    size_t n = strlen(path);

    return strncmp(e->path, path, n) == 0 && (e->path[n] == '\0' || e->path[n] == '/');
}

void levada_state_drop_below(levada_state_writer *to, const char *path)
{
    int32_t n = 0;

    for (int32_t i = 0; i < to->n; i++) {
        if (state_is_below(&to->entries[i], path)) {
            levada_block_unref(&to->entries[i].records);
            levada_free(to->entries[i].data);
        } else {
            to->entries[n++] = to->entries[i];
        }
    }
    to->n = n;
}

bool levada_state_has_below(const levada_state_reader *from, const char *path)
{
    for (int32_t i = 0; i < from->n; i++) {
        if (state_is_below(&from->entries[i], path)) return true;
    }
    return false;
}

/* Reserves one more entry. */
static levada_entry *state_next(levada_state_writer *to)
{
    if (!levada_reserve(&to->entries, &to->capacity, to->n + 1, sizeof *to->entries)) return NULL;
    return &to->entries[to->n];
}

/* Adds an entry with a copy of the bytes, and a reference of its own. */
static levada_status state_add(levada_state_writer *to, const levada_entry *like,
                               const void *bytes, size_t size, levada_error *err)
{
    levada_entry *e = state_next(to);
    uint8_t      *data = e ? levada_alloc(size + 1) : NULL;

    if (!data) return state_memory(err);
    if (size) memcpy(data, bytes, size);
    *e = *like;
    e->data = data;
    e->size = size;
    if (e->records) e->records = levada_block_ref(e->records);
    to->n++;
    return LEVADA_OK;
}

levada_status levada_state_move(levada_state_writer *to, levada_entry *from, levada_error *err)
{
    levada_entry *e = state_next(to);

    if (!e) return state_memory(err);
    *e = *from;
    from->data = NULL;
    from->records = NULL;
    to->n++;
    return LEVADA_OK;
}

levada_status levada_state_append(levada_state_writer *to, const levada_state_writer *from,
                                  levada_error *err)
{
    if (from->since && (!to->since || from->since < to->since)) to->since = from->since;
    for (int32_t i = 0; i < from->n; i++) {
        const levada_entry *e = &from->entries[i];

        LEVADA_TRY(state_add(to, e, e->data, e->size, err));
    }
    return LEVADA_OK;
}

/* Begins an entry of the scope, still empty. */
static levada_status state_begin(const levada_state_writer *to, const char *key,
                                 levada_entry_type type, levada_entry *e, levada_error *err)
{
    *e = (levada_entry){ .version = to->scope.version, .type = (uint8_t)type };
    if (strlen(key) >= sizeof e->key) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "the key '%s' of a checkpoint must have at most %d bytes", key,
                           LEVADA_STATE_KEY - 1);
    }
    snprintf(e->path, sizeof e->path, "%s", to->scope.path);
    snprintf(e->key, sizeof e->key, "%s", key);
    return LEVADA_OK;
}

static levada_status state_put(levada_state_writer *to, const char *key, levada_entry_type type,
                               const void *bytes, size_t size, levada_error *err)
{
    levada_entry e;

    LEVADA_TRY(state_begin(to, key, type, &e, err));
    return state_add(to, &e, bytes, size, err);
}

static bool state_edge_is_open(const levada_edge *edge)
{
    return edge && (levada_spec_flags_of(edge->spec) & LEVADA_SPEC_OPEN) != 0;
}

levada_status levada_state_put_records(levada_state_writer *to, const char *key,
                                       levada_block *block, levada_error *err)
{
    levada_entry e;

    LEVADA_TRY(state_begin(to, key, LEVADA_ENTRY_RECORDS, &e, err));
    e.records = block;
    e.open = state_edge_is_open(to->scope.edge);
    return state_add(to, &e, NULL, 0, err);
}

levada_status levada_state_put_i64(levada_state_writer *to, const char *key, int64_t value,
                                   levada_error *err)
{
    LEVADA_TRY(levada_require(to != NULL, "to", err));
    return state_put(to, key, LEVADA_ENTRY_I64, &value, sizeof value, err);
}

levada_status levada_state_put_bytes(levada_state_writer *to, const char *key, const void *bytes,
                                     size_t size, levada_error *err)
{
    LEVADA_TRY(levada_require(to != NULL, "to", err));
    LEVADA_TRY(levada_require_size(size, "size", err));
    return state_put(to, key, LEVADA_ENTRY_BYTES, bytes, size, err);
}

levada_status levada_state_put_i64s(levada_state_writer *to, const char *key,
                                    const int64_t *values, int64_t n, levada_error *err)
{
    LEVADA_TRY(levada_require(to != NULL, "to", err));
    LEVADA_TRY(levada_require_range(n, 0, INT64_MAX / (int64_t)sizeof *values, "n", err));
    return state_put(to, key, LEVADA_ENTRY_I64S, values, (size_t)n * sizeof *values, err);
}

levada_status levada_state_add(levada_state_writer *to, const char *path, const char *key,
                               int64_t more, levada_error *err)
{
    levada_entry e = { .version = 0, .type = LEVADA_ENTRY_I64 };

    for (int32_t i = 0; i < to->n; i++) {
        int64_t before;

        if (strcmp(to->entries[i].key, key) != 0 || strcmp(to->entries[i].path, path) != 0) {
            continue;
        }
        memcpy(&before, to->entries[i].data, sizeof before);
        before += more;
        memcpy(to->entries[i].data, &before, sizeof before);
        return LEVADA_OK;
    }
    snprintf(e.path, sizeof e.path, "%s", path);
    snprintf(e.key, sizeof e.key, "%s", key);
    return state_add(to, &e, &more, sizeof more, err);
}

/* -- reading */

static int state_compare(const levada_entry *e, const char *path, const char *key)
{
    int by_path = strcmp(e->path, path);

    return by_path ? by_path : strcmp(e->key, key);
}

static const levada_entry *state_find(const levada_state_reader *from, const char *key)
{
    int32_t low = 0, high = from->n;

    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        int     order = state_compare(&from->entries[middle], from->scope.path, key);

        if (order == 0) {
            from->entries[middle].asked = true;
            ((levada_state_reader *)(uintptr_t)from)->last = &from->entries[middle];
            return &from->entries[middle];
        }
        if (order < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return NULL;
}

levada_status levada_state_damaged(const levada_state_reader *from, const char *key,
                                   levada_error *err, const char *fmt, ...)
{
    const levada_entry *e = key ? NULL : from->last;
    char                what[256];
    va_list             args;

    va_start(args, fmt);
    if (vsnprintf(what, sizeof what, fmt, args) < 0) what[0] = '\0';
    va_end(args);
    return levada_fail(err, LEVADA_EDATA_LOSS, "the checkpoint is corrupt: entry '%s/%s': %s; "
                       "use an earlier checkpoint",
                       e ? e->path : from->scope.path, e ? e->key : key ? key : "", what);
}

levada_status levada_state_check_asked(const levada_state_reader *from, levada_error *err)
{
    for (int32_t i = 0; i < from->n; i++) {
        const levada_entry *e = &from->entries[i];

        if (e->asked) continue;
        return levada_fail(err, LEVADA_EFAILED_PRECONDITION,
                           "the checkpoint has the entry '%s/%s', which this version cannot "
                           "restore; use the version of levada that saved it",
                           e->path, e->key);
    }
    return LEVADA_OK;
}

bool levada_state_has(const levada_state_reader *from, const char *key)
{
    if (!from) return false;
    return state_find(from, key) != NULL;
}

static levada_status state_get(levada_state_reader *from, const char *key, levada_entry_type type,
                               const levada_entry **out, levada_error *err)
{
    const levada_entry *e = state_find(from, key);

    if (!e) {
        return levada_fail(
            err, LEVADA_EFAILED_PRECONDITION,
            "the checkpoint has no entry '%s/%s'; use the version of levada that saved it",
            from->scope.path, key);
    }
    if (e->version > from->scope.version) {
        return levada_fail(err, LEVADA_EFAILED_PRECONDITION,
                           "'%s' was saved by version %d of the stage, but this is version %d: use "
                           "a newer levada",
                           from->scope.path, e->version, from->scope.version);
    }
    if (e->type != type) {
        return levada_fail(err, LEVADA_EFAILED_PRECONDITION,
                           "the checkpoint is corrupt: entry '%s/%s' has another type; use an "
                           "earlier checkpoint", from->scope.path, key);
    }
    *out = e;
    return LEVADA_OK;
}

levada_status levada_state_get_i64(levada_state_reader *from, const char *key, int64_t *out,
                                   levada_error *err)
{
    LEVADA_TRY(levada_require(from != NULL, "from", err));
    LEVADA_TRY(levada_require(out != NULL, "out", err));
    const levada_entry *e = NULL;

    LEVADA_TRY(state_get(from, key, LEVADA_ENTRY_I64, &e, err));
    memcpy(out, e->data, sizeof *out);
    return LEVADA_OK;
}

levada_status levada_state_get_count(levada_state_reader *from, const char *key, int64_t most,
                                     int64_t *out, levada_error *err)
{
    LEVADA_TRY(levada_require(from != NULL, "from", err));
    LEVADA_TRY(levada_require(out != NULL, "out", err));
    int64_t value;

    LEVADA_TRY(levada_state_get_i64(from, key, &value, err));
    if (value < 0 || value > most) {
        return levada_state_damaged(from, key, err, "must be from 0 to %lld, got %lld",
                                    (long long)most, (long long)value);
    }
    *out = value;
    return LEVADA_OK;
}

levada_status levada_state_get_bytes(levada_state_reader *from, const char *key, const void **out,
                                     size_t *size, levada_error *err)
{
    LEVADA_TRY(levada_require(from != NULL, "from", err));
    LEVADA_TRY(levada_require(out != NULL, "out", err));
    LEVADA_TRY(levada_require(key != NULL, "key", err));
    LEVADA_TRY(levada_require(size != NULL, "size", err));
    const levada_entry *e = NULL;

    LEVADA_TRY(state_get(from, key, LEVADA_ENTRY_BYTES, &e, err));
    *out = e->data;
    *size = e->size;
    return LEVADA_OK;
}

levada_status levada_state_get_i64s(levada_state_reader *from, const char *key,
                                    const int64_t **out, int64_t *n, levada_error *err)
{
    LEVADA_TRY(levada_require(from != NULL, "from", err));
    LEVADA_TRY(levada_require(out != NULL, "out", err));
    LEVADA_TRY(levada_require(key != NULL, "key", err));
    LEVADA_TRY(levada_require(n != NULL, "n", err));
    const levada_entry *e = NULL;

    LEVADA_TRY(state_get(from, key, LEVADA_ENTRY_I64S, &e, err));
    *out = (const int64_t *)(const void *)e->data;
    *n = (int64_t)(e->size / sizeof **out);
    return LEVADA_OK;
}
