/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keys to slots. Writers put features in the same order again and again, so the first guess is the
 * key that followed the last one before; one wrong guess corrects itself. Keys that nobody asked
 * for are remembered too (up to a number), so that they do not spoil the guesses.
 */
#include "decode/proto.h"

#include "base/alloc.h"

#define KEYS_STRANGE 256
#define KEYS_TEXT 64

static uint32_t keys_hash(uint64_t head, uint64_t tail, uint32_t size)
{
    uint64_t h = (head ^ size) * UINT64_C(0x9E3779B97F4A7C15);

    h = (h ^ (h >> 29) ^ tail) * UINT64_C(0xBF58476D1CE4E5B9);
    return (uint32_t)(h >> 32);
}

/* Loads head and tail of a key in memory without slack. */
static void keys_words(const uint8_t *at, uint32_t size, uint64_t *head, uint64_t *tail)
{
    *head = *tail = 0;
    memcpy(head, at, size < 8 ? size : 8);
    if (size >= 8) *tail = levada_wire_load(at + size - 8);
}

static int32_t keys_look_up(const levada_keys *keys, const uint8_t *at, uint32_t size,
                            uint64_t head, uint64_t tail, uint32_t *place)
{
    uint32_t i = keys_hash(head, tail, size) & keys->mask;

    for (; keys->table[i] > 0; i = (i + 1) & keys->mask) {
        const levada_key *k = &keys->keys[keys->table[i]];

        if (k->size == size && k->head == head && k->tail == tail &&
            memcmp(k->at, at, size) == 0) {
            break;
        }
    }
    *place = i;
    return keys->table[i];
}

/* Sets the form of an entry of a slot, or of none. */
static void keys_form(levada_form *form, const levada_slot *slot)
{
    uint8_t fixed[32] = { 0 }, grows[32] = { 0 }, keep[32] = { 0 };
    uint32_t n = slot ? slot->size : 0, head = n + 10;
    uint8_t *value, *grow;

    *form = (levada_form){ .least = UINT8_MAX, .keep = { UINT64_MAX } }; /* no size is as this */
    if (!slot || slot->steps || slot->list == LEVADA_LIST_BYTES || head > sizeof fixed) return;
    value = fixed + 4 + n;
    grow = grows + 4 + n;
    fixed[0] = LEVADA_WIRE_SIZED(1);
    fixed[1] = (uint8_t)(n + 8);
    fixed[2] = LEVADA_WIRE_SIZED(1);
    fixed[3] = (uint8_t)n;
    memcpy(fixed + 4, slot->key, n);
    value[0] = LEVADA_WIRE_SIZED(2);
    value[1] = 4;
    value[2] = slot->tag;
    value[3] = 2;
    value[4] = LEVADA_WIRE_SIZED(1);
    grows[1] = grow[1] = grow[3] = grow[5] = UINT8_MAX;
    memset(keep, UINT8_MAX, head);
    memcpy(form->fixed, fixed, sizeof fixed);
    memcpy(form->grows, grows, sizeof grows);
    memcpy(form->keep, keep, sizeof keep);
    form->head = head;
    form->least = n + 8;
    form->most = INT8_MAX - form->least;
}

static int32_t keys_add(levada_keys *keys, uint32_t place, const uint8_t *at, uint32_t size,
                        int32_t slot, const levada_slot *of)
{
    levada_key *k = &keys->keys[keys->count];

    k->at = at;
    k->size = size;
    k->slot = slot;
    keys_words(at, size, &k->head, &k->tail);
    keys_form(&k->form, of);
    k->next = keys->keys; /* not known yet: no key */
    keys->table[place] = keys->count;
    return keys->count++;
}

levada_status levada_keys_init(levada_keys *keys, const levada_slot *slots, int32_t first,
                               int32_t end, levada_error *err)
{
    uint32_t size = 64;
    uint32_t place;

    keys->capacity = 1 + (end - first) + KEYS_STRANGE;
    while (size < 2 * (uint32_t)keys->capacity) size *= 2;
    keys->mask = size - 1;
    keys->keys = levada_alloc_zero((size_t)keys->capacity * sizeof *keys->keys);
    keys->table = levada_alloc_zero(size * sizeof *keys->table);
    keys->strange = levada_alloc(KEYS_STRANGE * KEYS_TEXT);
    if (!keys->keys || !keys->table || !keys->strange) {
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for %d keys",
                           keys->capacity);
    }
    keys->keys[0].size = UINT32_MAX; /* no key is as long as this: never a right guess */
    keys->keys[0].slot = -1;
    keys_form(&keys->keys[0].form, NULL);
    keys->last = keys->keys[0].next = keys->keys;
    keys->count = 1;
    for (int32_t i = first; i < end; i++) {
        const uint8_t *at = (const uint8_t *)slots[i].key;
        uint64_t head, tail;

        keys_words(at, slots[i].size, &head, &tail);
        (void)keys_look_up(keys, at, slots[i].size, head, tail, &place);
        keys->keys[keys->count - 1].next = &keys->keys[keys->count];
        (void)keys_add(keys, place, at, slots[i].size, i, &slots[i]);
    }
    return LEVADA_OK;
}

void levada_keys_clear(levada_keys *keys)
{
    levada_free(keys->keys);
    levada_free(keys->table);
    levada_free(keys->strange);
    memset(keys, 0, sizeof *keys);
}

int32_t levada_keys_miss(levada_keys *keys, const uint8_t *at, uint32_t size, uint64_t head,
                         uint64_t tail)
{
    uint32_t place;
    int32_t id = keys_look_up(keys, at, size, head, tail, &place);

    if (id == 0) {
        uint8_t *text;

        if (size > KEYS_TEXT || keys->count == keys->capacity) return -1;
        text = keys->strange + (size_t)(keys->capacity - keys->count - 1) * KEYS_TEXT;
        memcpy(text, at, size);
        id = keys_add(keys, place, text, size, -1, NULL);
    }
    keys->last->next = &keys->keys[id];
    keys->last = &keys->keys[id];
    return keys->last->slot;
}
