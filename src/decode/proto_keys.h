/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which slot a key on the wire belongs to, and how an entry of it usually looks. One owner, one
 * thread; no function but init allocates or fails.
 */
#ifndef LEVADA_DECODE_PROTO_KEYS_H
#define LEVADA_DECODE_PROTO_KEYS_H

#include "base/wire.h"

#include <levada/error.h>

struct levada_slot;

/* How everybody writes a map entry of this key with a number list, up to its payload: tags, key and
 * sizes of one byte. Four of the sizes grow by n for a payload of n bytes, so that the whole entry
 * is as usual where, in each word, the bytes are fixed + n * grows. */
typedef struct levada_form {
    uint64_t fixed[4];
    uint64_t grows[4]; /* all bits of each byte that grows                 */
    uint64_t keep[4];  /* all bits of each byte that counts                */
    uint32_t head;     /* bytes before the payload                         */
    uint32_t least;    /* size of an entry without payload                 */
    uint32_t most;     /* bytes of payload while no size takes two bytes   */
} levada_form;

typedef struct levada_key {
    uint64_t head, tail; /* first and last 8 bytes; up to 16 bytes they are the whole key */
    const uint8_t *at;
    uint32_t size;
    int32_t slot;            /* -1 = not asked for                  */
    struct levada_key *next; /* the key that followed it last time  */
    levada_form form;        /* fits nothing if there is none    */
} levada_key;

typedef struct levada_keys {
    levada_key *keys; /* [0] is the start of a message                */
    levada_key *last; /* the key met before                           */
    int32_t *table;
    uint32_t mask;
    int32_t count, capacity;
    uint8_t *strange;           /* texts of keys not asked for     */
} levada_keys;

LEVADA_MUST_USE levada_status levada_keys_init(levada_keys *keys, const struct levada_slot *slots,
                                               int32_t first, int32_t end, levada_error *err);
void levada_keys_clear(levada_keys *keys);
int32_t levada_keys_miss(levada_keys *keys, const uint8_t *at, uint32_t size, uint64_t head,
                         uint64_t tail);

/* Returns the bits in which 16 bytes at p are not what a form says of its words w and w + 1. */
static inline uint64_t levada_form_other(const levada_form *form, int w, const uint8_t *p,
                                         uint64_t each)
{
    uint64_t a = levada_wire_load(p) ^ (form->fixed[w] + (each & form->grows[w]));
    uint64_t b = levada_wire_load(p + 8) ^ (form->fixed[w + 1] + (each & form->grows[w + 1]));

    return (a & form->keep[w]) | (b & form->keep[w + 1]);
}

/* Returns whether the entry at p, of the map that ends at `end`, is of the key that is expected now
 * and has its form: then that key, else NULL. May read 32 bytes after p. */
static inline const levada_key *levada_keys_expected(levada_keys *keys, const uint8_t *p,
                                                     const uint8_t *end)
{
    levada_key        *k = keys->last->next;
    const levada_form *form = &k->form;
    uint32_t           n = p[1] - form->least;
    uint64_t           each = n * UINT64_C(0x0101010101010101);
    uint64_t           other = levada_form_other(form, 0, p, each);

    if (form->head > 16) other |= levada_form_other(form, 2, p + 16, each);
    if (n > form->most || other != 0 || end - p < 2 + p[1]) return NULL;
    keys->last = k;
    return k;
}

/* Finds the slot of a key, or -1. May look at 16 bytes around the key. */
static inline int32_t levada_keys_find(levada_keys *keys, const uint8_t *at, uint32_t size)
{
    levada_key *k = keys->last->next;
    uint64_t head = levada_wire_load(at), tail = 0;

    if (size < 8) {
        head &= (UINT64_C(1) << (8 * size)) - 1;
    } else {
        tail = levada_wire_load(at + size - 8);
    }
    if (LEVADA_UNLIKELY(k->size != size || k->head != head || k->tail != tail ||
                        (size > 16 && memcmp(k->at, at, size) != 0))) {
        return levada_keys_miss(keys, at, size, head, tail);
    }
    keys->last = k;
    return k->slot;
}

#endif
