/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state file. Little endian:
 *
 *     "LVDASTAT", format u16, flags u16 (0), fingerprint 16 bytes, seed i64, epoch i64, count u32,
 *     entries, crc32c u32 of everything before it
 *     entry = path, key (each: length u8, bytes), state_version u32, type u8, size u32, bytes
 *
 * Integers of I64 and I64S are zigzag varints, those of I64S as differences; entries are sorted by
 * path and key. Reading checks the checksum first, then every length.
 */
#include "base/alloc.h"
#include "base/assert.h"
#include "state/state_priv.h"

#include <stdlib.h>
#include <stdio.h>
#include <string.h>

#define STATE_FORMAT 4 /* 1 had no causes and no counts of files, 2 shared paths, 3 early counts */
#define STATE_HEAD (8 + 2 + 2 + 16 + 8 + 8 + 4)
#define STATE_MOST_ENTRIES (1 << 20)
#define STATE_MOST_BYTES UINT32_MAX /* of an entry */

static const char state_magic[9] = "LVDASTAT";

typedef struct state_bytes {
    uint8_t *data;
    size_t   size;
    int64_t  capacity;
    bool     failed; /* no memory */
} state_bytes;

static levada_status state_no_memory(levada_error *err)
{
    return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a checkpoint");
}

static uint8_t *state_reserve(state_bytes *b, size_t size)
{
    if (!levada_reserve(&b->data, &b->capacity, (int64_t)(b->size + size), 1)) {
        b->failed = true;
        return NULL;
    }
    return b->data + b->size;
}

static void state_put_raw(state_bytes *b, const void *bytes, size_t size)
{
    uint8_t *at = b->failed ? NULL : state_reserve(b, size);

    if (!at) return;
    if (size) memcpy(at, bytes, size);
    b->size += size;
}

static void state_put_le(state_bytes *b, uint64_t value, int32_t size)
{
    uint8_t le[8];

    for (int32_t i = 0; i < size; i++) le[i] = (uint8_t)(value >> (8 * i));
    state_put_raw(b, le, (size_t)size);
}

static void state_put_varint(state_bytes *b, int64_t value)
{
    uint64_t zigzag = ((uint64_t)value << 1) ^ (uint64_t)(value >> 63);
    uint8_t *at = b->failed ? NULL : state_reserve(b, 10);

    while (at && zigzag >= 0x80) {
        *at++ = (uint8_t)(zigzag | 0x80);
        zigzag >>= 7;
        b->size++;
    }
    if (!at) return;
    *at = (uint8_t)zigzag;
    b->size++;
}

static void state_put_numbers(state_bytes *b, const levada_entry *e)
{
    int64_t before = 0;

    for (size_t i = 0; i < e->size / sizeof before; i++) {
        int64_t value;

        memcpy(&value, e->data + i * sizeof value, sizeof value);
        state_put_varint(b, (int64_t)((uint64_t)value - (uint64_t)before));
        before = value;
    }
}

static void state_put_text(state_bytes *b, const char *text)
{
    uint8_t size = (uint8_t)strlen(text);

    state_put_raw(b, &size, 1);
    state_put_raw(b, text, size);
}

static levada_status state_too_large(const levada_entry *e, size_t size, levada_error *err)
{
    return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED,
                       "'%s/%s' has %zu bytes; a checkpoint stores at most %lld", e->path,
                       e->key, size, (long long)STATE_MOST_BYTES);
}

static levada_status state_put_entry(state_bytes *b, const levada_entry *e, levada_error *err)
{
    size_t at, size = e->type == LEVADA_ENTRY_BYTES ? e->size : e->size / sizeof(int64_t);

    /* levada_records_materialize() has replaced them */
    LEVADA_ASSERT(e->type != LEVADA_ENTRY_RECORDS);
    if (size > STATE_MOST_BYTES) return state_too_large(e, size, err);
    state_put_text(b, e->path);
    state_put_text(b, e->key);
    state_put_le(b, (uint32_t)e->version, 4);
    state_put_raw(b, &e->type, 1);
    at = b->size;
    state_put_le(b, 0, 4);
    if (e->type == LEVADA_ENTRY_BYTES) {
        state_put_raw(b, e->data, e->size);
    } else {
        state_put_numbers(b, e);
    }
    if (b->failed) return state_no_memory(err);
    size = b->size - at - 4;
    if (size > STATE_MOST_BYTES) return state_too_large(e, size, err);
    for (int32_t i = 0; i < 4; i++) b->data[at + (size_t)i] = (uint8_t)(size >> (8 * i));
    return LEVADA_OK;
}

static int state_order(const void *a, const void *b)
{
    const levada_entry *x = a, *y = b;
    int                 by_path = strcmp(x->path, y->path);

    return by_path ? by_path : strcmp(x->key, y->key);
}

/* Finds a key that a stage put twice, among sorted entries: it could not be read back. */
static levada_status state_twice(const levada_state_writer *from, levada_error *err)
{
    for (int32_t i = 1; i < from->n; i++) {
        const levada_entry *e = &from->entries[i];

        if (state_order(e - 1, e) != 0) continue;
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "'%s/%s' was saved twice", e->path,
                           e->key);
    }
    return LEVADA_OK;
}

static levada_status state_put_all(state_bytes *b, const levada_state_writer *from,
                                   const levada_state_head *head, levada_error *err)
{
    state_put_raw(b, state_magic, 8);
    state_put_le(b, STATE_FORMAT, 2);
    state_put_le(b, 0, 2);
    state_put_raw(b, head->fingerprint, 16);
    state_put_le(b, (uint64_t)head->seed, 8);
    state_put_le(b, (uint64_t)head->epoch, 8);
    state_put_le(b, (uint64_t)from->n, 4);
    for (int32_t i = 0; i < from->n; i++) LEVADA_TRY(state_put_entry(b, &from->entries[i], err));
    return b->failed ? state_no_memory(err) : LEVADA_OK;
}

levada_status levada_state_encode(levada_state_writer *from, const levada_state_head *head,
                                  const levada_env *env, char **out, size_t *size,
                                  levada_error *err)
{
    state_bytes   b = { 0 };
    levada_status st;

    if (from->n > STATE_MOST_ENTRIES) {
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED,
                           "the checkpoint has %d entries, the last of '%s'; the limit is %d",
                           (int)from->n, from->entries[from->n - 1].path, STATE_MOST_ENTRIES);
    }
    if (from->n) qsort(from->entries, (size_t)from->n, sizeof *from->entries, state_order);
    LEVADA_TRY(state_twice(from, err));
    st = state_put_all(&b, from, head, err);
    if (st == LEVADA_OK) {
        state_put_le(&b, levada_env_kernels(env)->crc32c(0, b.data, b.size), 4);
        if (b.failed) st = state_no_memory(err);
    }
    if (st != LEVADA_OK) {
        levada_free(b.data);
        return st;
    }
    *out = (char *)b.data;
    *size = b.size;
    return LEVADA_OK;
}

/* -- reading */

typedef struct state_cursor {
    const uint8_t *at, *end;
    bool           no_memory; /* it was this, not the bytes, that failed */
} state_cursor;

static void *state_memory(state_cursor *c, size_t size)
{
    void *memory = levada_alloc_zero(size);

    if (!memory) c->no_memory = true;
    return memory;
}

/* Returns EDATA_LOSS; `what` names the entry that is damaged. */
static levada_status state_damaged(const state_cursor *c, const void *bytes, const char *what,
                                   levada_error *err)
{
    return levada_fail(err, LEVADA_EDATA_LOSS,
                       "the checkpoint is corrupt: %s, byte %lld; use an earlier checkpoint",
                       what, (long long)(c->at - (const uint8_t *)bytes));
}

static bool state_take_le(state_cursor *c, int32_t size, uint64_t *out)
{
    if (c->end - c->at < size) return false;
    *out = 0;
    for (int32_t i = 0; i < size; i++) *out |= (uint64_t)c->at[i] << (8 * i);
    c->at += size;
    return true;
}

static bool state_take_text(state_cursor *c, char *out, size_t capacity)
{
    uint64_t size;

    if (!state_take_le(c, 1, &size) || size >= capacity || (uint64_t)(c->end - c->at) < size) {
        return false;
    }
    memcpy(out, c->at, size);
    out[size] = '\0';
    c->at += size;
    return memchr(out, 0, size) == NULL;
}

static bool state_take_varint(state_cursor *c, int64_t *out)
{
    uint64_t zigzag = 0;

    for (int32_t shift = 0; shift < 70 && c->at < c->end; shift += 7) {
        uint8_t byte = *c->at++;

        if (shift == 63 && byte > 1) return false;
        zigzag |= (uint64_t)(byte & 0x7f) << (shift < 64 ? shift : 63);
        if (byte < 0x80) {
            *out = (int64_t)(zigzag >> 1) ^ -(int64_t)(zigzag & 1);
            return true;
        }
    }
    return false;
}

static bool state_take_numbers(state_cursor *file, size_t size, levada_entry *e)
{
    const uint8_t *bytes = file->at;
    state_cursor c = { bytes, bytes + size, false };
    size_t       n = 0;
    int64_t      before = 0;

    for (size_t i = 0; i < size; i++) n += bytes[i] < 0x80;
    e->data = state_memory(file, n * sizeof before + 1);
    if (!e->data) return false;
    for (size_t i = 0; i < n; i++) {
        int64_t difference;

        if (!state_take_varint(&c, &difference)) return false;
        before = (int64_t)((uint64_t)before + (uint64_t)difference);
        memcpy(e->data + i * sizeof before, &before, sizeof before);
    }
    e->size = n * sizeof before;
    return c.at == c.end && (e->type != LEVADA_ENTRY_I64 || n == 1);
}

static bool state_take_entry(state_cursor *c, levada_entry *e)
{
    uint64_t version, type, size;

    if (!state_take_text(c, e->path, sizeof e->path) ||
        !state_take_text(c, e->key, sizeof e->key) || !state_take_le(c, 4, &version) ||
        !state_take_le(c, 1, &type) || !state_take_le(c, 4, &size) ||
        size > (uint64_t)(c->end - c->at)) {
        return false;
    }
    if (version > INT32_MAX || type < LEVADA_ENTRY_I64 || type > LEVADA_ENTRY_I64S) return false;
    e->version = (int32_t)version;
    e->type = (uint8_t)type;
    if (type == LEVADA_ENTRY_BYTES) {
        e->data = state_memory(c, size + 1);
        if (!e->data) return false;
        memcpy(e->data, c->at, size);
        e->size = size;
    } else if (!state_take_numbers(c, size, e)) {
        return false;
    }
    c->at += size;
    return true;
}

static bool state_take_head(state_cursor *c, levada_state_reader *out, uint64_t *count)
{
    uint64_t seed, epoch;

    memcpy(out->head.fingerprint, c->at, 16);
    c->at += 16;
    if (!state_take_le(c, 8, &seed) || !state_take_le(c, 8, &epoch)) return false;
    out->head.seed = (int64_t)seed;
    out->head.epoch = (int64_t)epoch;
    return state_take_le(c, 4, count) && *count <= STATE_MOST_ENTRIES &&
           *count <= (uint64_t)(c->end - c->at);
}

static bool state_take_entries(state_cursor *c, levada_state_reader *out, uint64_t count)
{
    out->entries = state_memory(c, (size_t)count * sizeof *out->entries + 1);
    if (!out->entries) return false;
    for (uint64_t i = 0; i < count; i++) {
        out->n = (int32_t)i + 1; /* clear() frees what a damaged one left, too */
        if (!state_take_entry(c, &out->entries[i])) return false;
        if (i && state_order(&out->entries[i - 1], &out->entries[i]) >= 0) return false;
    }
    return c->at == c->end;
}

levada_status levada_state_decode(const void *bytes, size_t size, const levada_env *env,
                                  levada_state_reader *out, levada_error *err)
{
    state_cursor c = { bytes, (const uint8_t *)bytes + size, false };
    uint64_t     format = 0, flags = 0, crc = 0, count = 0;

    memset(out, 0, sizeof *out);
    out->env = env;
    if (size < STATE_HEAD + 4 || memcmp(bytes, state_magic, 8) != 0) {
        return levada_fail(err, LEVADA_EDATA_LOSS, "not a checkpoint: %zu bytes without its header",
                           size);
    }
    c.at = c.end - 4;
    (void)state_take_le(&c, 4, &crc);
    if (levada_env_kernels(env)->crc32c(0, bytes, size - 4) != crc) {
        return levada_fail(err, LEVADA_EDATA_LOSS,
                           "the checkpoint is corrupt: the checksum of its %zu bytes is wrong; "
                           "use an earlier checkpoint", size);
    }
    c.at = (const uint8_t *)bytes + 8;
    c.end -= 4;
    (void)state_take_le(&c, 2, &format);
    (void)state_take_le(&c, 2, &flags);
    if (format != STATE_FORMAT || flags) {
        return levada_fail(
            err, LEVADA_EFAILED_PRECONDITION,
            "the checkpoint has format %d; this version of levada reads format %d; use the "
            "version that saved it",
            (int)format, STATE_FORMAT);
    }
    if (!state_take_head(&c, out, &count) || !state_take_entries(&c, out, count)) {
        char what[128 + LEVADA_STATE_KEY] = "its head";

        if (out->n > 0) {
            const levada_entry *e = &out->entries[out->n - 1];

            (void)snprintf(what, sizeof what, "entry %d '%.48s/%s'", (int)out->n, e->path, e->key);
        }
        levada_state_reader_clear(out);
        if (!c.no_memory) return state_damaged(&c, bytes, what, err);
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a checkpoint");
    }
    return LEVADA_OK;
}
