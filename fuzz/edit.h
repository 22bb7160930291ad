/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Edits of a list of entries, for the fuzz targets that write it with good checksums afterwards: of
 * a decoded state, and of other files that a target takes apart into entries. An edit is EDIT_SIZE
 * bytes: what to do, which entry, where in it or which other entry, a number.
 */
#ifndef LEVADA_FUZZ_EDIT_H
#define LEVADA_FUZZ_EDIT_H

#include "base/alloc.h"
#include "base/kernels.h"
#include "state/state_priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EDIT_SIZE 11
#define EDIT_LONGER 64 /* bytes or numbers by which an entry becomes longer, at most */

static void edit_must(bool holds, const char *what)
{
    if (holds) return;
    fprintf(stderr, "%s\n", what);
    abort();
}

/* Where files are that each input replaces: in memory, because a disk may write each of them. */
static inline const char *edit_root(void)
{
    return access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
}

static size_t edit_unit(const levada_entry *e)
{
    return e->type == LEVADA_ENTRY_BYTES ? 1 : sizeof(int64_t);
}

/* -- the content of an entry */

/* A copy of an entry in place of the content of another, which keeps its name. */
static void edit_copy(levada_entry *to, const levada_entry *from)
{
    uint8_t *data = levada_alloc(from->size + 1);

    if (!data) return;
    if (from->size) memcpy(data, from->data, from->size);
    levada_free(to->data);
    to->data = data;
    to->size = from->size;
    to->type = from->type;
}

static void edit_exchange(levada_entry *a, levada_entry *b)
{
    levada_entry was = *a;

    a->data = b->data;
    a->size = b->size;
    a->type = b->type;
    b->data = was.data;
    b->size = was.size;
    b->type = was.type;
}

/* Up to EDIT_LONGER more values, each `value`, where a list or bytes end. */
static void edit_lengthen(levada_entry *e, uint8_t by, const uint8_t *value)
{
    size_t   unit = edit_unit(e), more = (size_t)(1 + by % EDIT_LONGER);
    uint8_t *data =
        e->type == LEVADA_ENTRY_I64 ? NULL : levada_realloc(e->data, e->size + more * unit + 1);

    if (!data) return;
    e->data = data;
    for (; more > 0; more--, e->size += unit) memcpy(data + e->size, value, unit);
}

static void edit_retype(levada_entry *e, uint8_t to)
{
    size_t whole = e->size / sizeof(int64_t) * sizeof(int64_t);

    if (e->type != LEVADA_ENTRY_BYTES) e->type = LEVADA_ENTRY_BYTES;
    else e->type = to % 2 && whole == sizeof(int64_t) ? LEVADA_ENTRY_I64 : LEVADA_ENTRY_I64S;
    if (e->type != LEVADA_ENTRY_BYTES) e->size = whole;
}

/* -- the list */

/* Sets a name that the list may lack: the last byte of its key changes, so that "rows.0.values"
 * becomes "rows.0.valuer", and `len` makes it the lengths of that column. */
static void edit_rename(levada_entry *e, uint8_t how)
{
    size_t n = strlen(e->key);
    char  *dot = strrchr(e->key, '.');

    if (how % 2 && dot && (size_t)(dot - e->key) + 5 <= sizeof e->key) memcpy(dot, ".len", 5);
    else if (n > 0) e->key[n - 1] = (char)('0' + how % 10);
}

/* A copy of entry `at` after it, under another name or, with how % 4 == 0, under its own. */
static void edit_insert(levada_state_reader *r, int32_t at, uint8_t how)
{
    size_t        n = (size_t)r->n + 1;
    levada_entry *all = levada_realloc(r->entries, n * sizeof *all), *made;

    if (!all) return;
    r->entries = all;
    made = &all[at + 1];
    memmove(made, made - 1, (size_t)(r->n - at) * sizeof *made);
    made->data = NULL;
    r->n++;
    edit_copy(made, &all[at]);
    if (!made->data) edit_must((made->data = levada_alloc(1)) != NULL, "out of memory");
    if (how % 4) edit_rename(made, (uint8_t)(how / 4));
}

static void edit_delete(levada_state_reader *r, int32_t at)
{
    levada_entry *e = &r->entries[at];

    levada_free(e->data);
    memmove(e, e + 1, (size_t)(r->n - at - 1) * sizeof *e);
    r->n--;
}

/* The column of "rows.3.values" and the length of "rows", or -1. */
static int32_t edit_column(const levada_entry *e, size_t *prefix)
{
    const char *dot = strchr(e->key, '.');
    char       *end = NULL;
    long        number = dot ? strtol(dot + 1, &end, 10) : -1;

    if (!dot || end == dot + 1 || *end != '.') return -1;
    *prefix = (size_t)(dot - e->key);
    return (int32_t)number;
}

/* Exchanges column `a` of the records that `like` is of with column `b`. */
static void edit_exchange_columns(levada_state_reader *r, const levada_entry *like, uint8_t with)
{
    levada_entry of = *like;
    size_t       prefix = 0, mine = 0;
    int32_t      a = edit_column(&of, &prefix), b = with % 4, each;

    for (int32_t i = 0; a >= 0 && i < r->n; i++) {
        levada_entry *e = &r->entries[i];
        char          rest[sizeof e->key];

        each = edit_column(e, &mine);
        if ((each != a && each != b) || mine != prefix || strcmp(e->path, of.path) != 0 ||
            strncmp(e->key, of.key, prefix) != 0)
            continue;
        (void)snprintf(rest, sizeof rest, "%s", strchr(e->key + prefix + 1, '.'));
        (void)snprintf(e->key + prefix, sizeof e->key - prefix, ".%d%s", (int)(each == a ? b : a),
                       rest);
    }
}

/* Edits that change what an entry is, or under which name. */
static void edit_entry(levada_state_reader *r, int32_t at, const uint8_t *edit)
{
    levada_entry *e = &r->entries[at], *other = &r->entries[edit[2] % r->n];

    switch (edit[0] % 8) {
    case 0:
        if (e != other) edit_copy(e, other);
        break;
    case 1: edit_exchange(e, other); break;
    case 2: edit_rename(e, edit[3]); break;
    case 3: edit_retype(e, edit[2]); break;
    case 4: edit_insert(r, at, edit[2]); break;
    case 5: edit_lengthen(e, edit[2], edit + 3); break;
    case 6: edit_exchange_columns(r, e, edit[2]); break;
    default: edit_delete(r, at); break;
    }
}

static void edit_one(levada_state_reader *r, const uint8_t *edit)
{
    int32_t       at = edit[1] % r->n;
    levada_entry *e = &r->entries[at];
    size_t        unit = edit_unit(e), where = e->size / unit ? edit[2] % (e->size / unit) : 0;

    if (edit[0] & 0x80) {
        edit_entry(r, at, edit);
        return;
    }
    switch (edit[0] % 5) {
    case 0: /* shorter; single numbers stay */
        if (e->type != LEVADA_ENTRY_I64) e->size = where * unit;
        break;
    case 1: edit_delete(r, at); break;
    default: /* another value */
        if (e->size / unit) memcpy(e->data + where * unit, edit + 3, unit);
        break;
    }
}

static void edit_all(levada_state_reader *r, const uint8_t *edits, size_t size)
{
    for (; size >= EDIT_SIZE && r->n > 0; edits += EDIT_SIZE, size -= EDIT_SIZE) {
        edit_one(r, edits);
    }
}

/* -- lists that are no states */

/* Appends a copy of the bytes. */
static inline void edit_add(levada_state_reader *r, const char *key, levada_entry_type type,
                            const void *bytes, size_t size)
{
    levada_entry *all = levada_realloc(r->entries, (size_t)(r->n + 1) * sizeof *all), *e;

    edit_must(all != NULL, "out of memory");
    r->entries = all;
    e = &all[r->n++];
    *e = (levada_entry){ .type = (uint8_t)type, .size = size, .data = levada_alloc(size + 1) };
    edit_must(e->data != NULL, "out of memory");
    (void)snprintf(e->key, sizeof e->key, "%s", key);
    if (size > 0) memcpy(e->data, bytes, size);
}

/* The first entry of that name, or NULL. */
static inline const levada_entry *edit_find(const levada_state_reader *r, const char *key)
{
    for (int32_t i = 0; i < r->n; i++) {
        if (strcmp(r->entries[i].key, key) == 0) return &r->entries[i];
    }
    return NULL;
}

/* -- states */

/* The state after the edits; false where it is none, or cannot be written, such as with a key
 * twice. */
static inline bool edit_state(const void *bytes, size_t n, const uint8_t *edits, size_t size,
                              char **out, size_t *out_size)
{
    levada_state_reader r;
    levada_state_writer w = { 0 };
    bool                made;

    if (levada_state_decode(bytes, n, NULL, &r, NULL) != LEVADA_OK) return false;
    edit_all(&r, edits, size);
    w.entries = r.entries;
    w.n = r.n;
    made = levada_state_encode(&w, &r.head, NULL, out, out_size, NULL) == LEVADA_OK;
    levada_state_reader_clear(&r);
    return made;
}

/* Sets the checksum at the end of bytes to what it must be for all before it. */
static inline void edit_seal(uint8_t *bytes, size_t size)
{
    uint32_t crc = levada_kernels_for(LEVADA_CPU_AUTO)->crc32c(0, bytes, size - 4);

    for (int i = 0; i < 4; i++) bytes[size - 4 + (size_t)i] = (uint8_t)(crc >> (8 * i));
}

#endif
