/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Edits of a decoded state for the fuzz targets that then encode it with a good checksum. An edit
 * is STATE_EDIT bytes: what to do, which entry, where in it or which other entry, a number.
 */
#ifndef LEVADA_FUZZ_STATE_EDIT_H
#define LEVADA_FUZZ_STATE_EDIT_H

#include "base/alloc.h"
#include "state/state_priv.h"

#include <string.h>

#define STATE_EDIT 11

/* A copy of an entry in place of the content of another, which keeps its name. */
static void state_edit_copy(levada_entry *to, const levada_entry *from)
{
    uint8_t *data = levada_alloc(from->size + 1);

    if (!data) return;
    if (from->size) memcpy(data, from->data, from->size);
    levada_free(to->data);
    to->data = data;
    to->size = from->size;
    to->type = from->type;
}

/* Sets a name that the state may lack: the last byte of its key changes, so that
 * "rows.0.values" becomes "rows.0.valuer", and `len` makes it the lengths of that column. */
static void state_edit_rename(levada_entry *e, uint8_t how)
{
    size_t n = strlen(e->key);
    char  *dot = strrchr(e->key, '.');

    if (how % 2 && dot && (size_t)(dot - e->key) + 5 <= sizeof e->key) memcpy(dot, ".len", 5);
    else if (n > 0) e->key[n - 1] = (char)('0' + how % 10);
}

static void state_edit_exchange(levada_entry *a, levada_entry *b)
{
    levada_entry was = *a;

    a->data = b->data;
    a->size = b->size;
    a->type = b->type;
    b->data = was.data;
    b->size = was.size;
    b->type = was.type;
}

/* Edits that change what an entry is, or under which name. */
static void state_edit_entry(levada_state_reader *r, levada_entry *e, const uint8_t *edit)
{
    levada_entry *other = &r->entries[edit[2] % r->n];
    size_t        whole = e->size / sizeof(int64_t) * sizeof(int64_t);

    switch (edit[0] % 4) {
    case 0:
        if (e != other) state_edit_copy(e, other);
        break;
    case 1:
        state_edit_exchange(e, other);
        break;
    case 2:
        state_edit_rename(e, edit[3]);
        break;
    default: /* another type of the same bytes */
        if (e->type == LEVADA_ENTRY_BYTES) e->size = whole;
        e->type = e->type == LEVADA_ENTRY_BYTES ? LEVADA_ENTRY_I64S : LEVADA_ENTRY_BYTES;
        break;
    }
}

static void state_edit(levada_state_reader *r, const uint8_t *edit)
{
    levada_entry *e = &r->entries[edit[1] % r->n];
    size_t        unit = e->type == LEVADA_ENTRY_BYTES ? 1 : sizeof(int64_t);
    size_t        at = e->size / unit ? edit[2] % (e->size / unit) : 0;

    if (edit[0] & 0x80) {
        state_edit_entry(r, e, edit);
        return;
    }
    switch (edit[0] % 5) {
    case 0: /* shorter; single numbers stay */
        if (e->type != LEVADA_ENTRY_I64) e->size = at * unit;
        break;
    case 1: /* not there any more */
        levada_free(e->data);
        memmove(e, e + 1, (size_t)(&r->entries[r->n] - (e + 1)) * sizeof *e);
        r->n--;
        break;
    default: /* another value */
        if (e->size / unit) memcpy(e->data + at * unit, edit + 3, unit);
        break;
    }
}

#endif
