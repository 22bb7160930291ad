/* SPDX-License-Identifier: Apache-2.0 */
#include "batch/window_names.h"

#include "base/alloc.h"
#include "base/hash.h"

#include <string.h>

#define NAMES_FEW   1024
#define NAMES_SMALL (INT64_C(1) << 20)

void levada_window_names_clear(levada_window_names *names)
{
    levada_free(names->at);
    levada_free(names->bytes);
    levada_free(names->table);
    memset(names, 0, sizeof *names);
}

static levada_status names_memory(levada_error *err)
{
    return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for the keys of windows");
}

static bool names_equal(const levada_window_names *names, int64_t i, uint64_t hash,
                        const uint8_t *bytes, int64_t size)
{
    const levada_window_name *name = &names->at[i];

    if (name->hash != hash || name->size != size) return false;
    return size == 0 || memcmp(names->bytes + name->begin, bytes, (size_t)size) == 0;
}

/* Returns the slot where the name is in the table, or would be. */
static int64_t names_slot(const levada_window_names *names, uint64_t hash, const uint8_t *bytes,
                          int64_t size)
{
    int64_t slot = (int64_t)(hash & (uint64_t)(names->slots - 1));

    while (names->table[slot] >= 0 && !names_equal(names, names->table[slot], hash, bytes, size)) {
        slot = (slot + 1) & (names->slots - 1);
    }
    return slot;
}

/* Doubles the table when it is half full. */
static levada_status names_grow(levada_window_names *names, levada_error *err)
{
    int64_t  slots = names->slots ? names->slots * 2 : 64, *table;

    if (names->n * 2 < names->slots) return LEVADA_OK;
    table = levada_alloc((size_t)slots * sizeof *table);
    if (!table) return names_memory(err);
    levada_free(names->table);
    names->table = table;
    names->slots = slots;
    memset(table, -1, (size_t)slots * sizeof *table);
    for (int64_t i = 0; i < names->n; i++) {
        int64_t slot = (int64_t)(names->at[i].hash & (uint64_t)(slots - 1));

        while (table[slot] >= 0) slot = (slot + 1) & (slots - 1);
        table[slot] = i;
    }
    return LEVADA_OK;
}

levada_status levada_window_names_find(levada_window_names *names, const uint8_t *bytes,
                                       int64_t size, int64_t *out, levada_error *err)
{
    uint64_t hash = levada_hash64(bytes, (size_t)size, 0);
    int64_t  slot;

    LEVADA_TRY(names_grow(names, err));
    slot = names_slot(names, hash, bytes, size);
    if (names->table[slot] < 0) {
        if (!levada_reserve(&names->at, &names->capacity, names->n + 1, sizeof *names->at) ||
            !levada_reserve(&names->bytes, &names->bytes_capacity, names->nbytes + size, 1)) {
            return names_memory(err);
        }
        if (size) memcpy(names->bytes + names->nbytes, bytes, (size_t)size);
        names->at[names->n] = (levada_window_name){ names->nbytes, size, hash };
        names->nbytes += size;
        names->table[slot] = names->n++;
    }
    *out = names->table[slot];
    return LEVADA_OK;
}

int levada_window_names_compare(const levada_window_names *names, int64_t a, int64_t b)
{
    const levada_window_name *x = &names->at[a], *y = &names->at[b];
    int64_t                   size = x->size < y->size ? x->size : y->size;
    int order = size ? memcmp(names->bytes + x->begin, names->bytes + y->begin, (size_t)size) : 0;

    return order ? order : (x->size > y->size) - (x->size < y->size);
}

bool levada_window_names_many(const levada_window_names *names)
{
    return names->n > 2 * names->kept + NAMES_FEW ||
           names->nbytes > 2 * names->kept_bytes + NAMES_SMALL;
}

levada_status levada_window_names_keep(levada_window_names *names, int64_t *numbers, int64_t n,
                                       levada_error *err)
{
    levada_window_names made = { 0 };
    levada_status       st = LEVADA_OK;
    int64_t             number = 0;

    for (int64_t i = 0; st == LEVADA_OK && i < n; i++) {
        const levada_window_name *name = &names->at[numbers[i]];

        st = levada_window_names_find(&made, names->bytes + name->begin, name->size, &number, err);
    }
    if (st != LEVADA_OK) {
        levada_window_names_clear(&made);
        return st;
    }
    for (int64_t i = 0; i < n; i++) numbers[i] = i; /* they differ: found in this order */
    made.kept = made.n;
    made.kept_bytes = made.nbytes;
    levada_window_names_clear(names);
    *names = made;
    return LEVADA_OK;
}
