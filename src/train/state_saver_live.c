/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Live examples: their memory, the table of their keys, and the ordinals of all that were inserted.
 */
#include "base/alloc.h"
#include "base/assert.h"
#include "base/hash.h"
#include "train/state_saver_priv.h"

#include <string.h>

levada_saver_states *levada_saver_states_create(const levada_state_saver *s, int64_t n)
{
    size_t               size = sizeof(levada_tensor *) * (size_t)s->nstates;
    levada_saver_states *states = levada_alloc_zero(sizeof(*states) + size);

    if (states == NULL) return NULL;
    levada_refs_init(&states->refs, 1);
    states->n = n;
    return states;
}

void levada_saver_states_drop(const levada_state_saver *s, levada_saver_states *states, int count)
{
    if (!levada_refs_drop_many(&states->refs, count)) return;
    for (int32_t i = 0; i < s->nstates; i++) levada_tensor_unref(&states->values[i]);
    levada_free(states);
}

levada_saver_live *levada_saver_live_create(const levada_state_saver *s, const void *key,
                                            size_t key_size, size_t extra)
{
    size_t values = sizeof(levada_tensor *) * (size_t)levada_saver_nvalues(s);
    levada_saver_live *e = levada_alloc(sizeof(*e) + values + key_size + extra);

    if (e == NULL) return NULL;
    memset(e, 0, sizeof(*e) + values);
    levada_refs_init(&e->refs, 1);
    e->key_size = (int32_t)key_size;
    if (key_size > 0) memcpy(levada_saver_key(s, e), key, key_size);
    return e;
}

void levada_saver_live_unref(const levada_state_saver *s, levada_saver_live *e)
{
    if (e == NULL || !levada_refs_drop(&e->refs)) return;
    LEVADA_ASSERT(!e->keyed);
    for (int32_t i = 0; i < levada_saver_nvalues(s); i++) levada_tensor_unref(&e->values[i]);
    if (e->states != NULL) levada_saver_states_drop(s, e->states, 1);
    levada_free(e);
}

void levada_saver_live_unref_all(const levada_state_saver *s, levada_sequence *first)
{
    while (first != NULL) {
        levada_sequence *e = first;

        first = e->next;
        levada_saver_live_unref(s, (levada_saver_live *)(void *)e);
    }
}

/* -- keys -------------------------------------------------------------------------------------- */

static levada_saver_live **live_bucket(const levada_state_saver *s, uint64_t hash)
{
    return &s->buckets[hash & (uint64_t)(s->nbuckets - 1)];
}

levada_saver_live *levada_saver_find_locked(const levada_state_saver *s, const uint8_t *key,
                                            int32_t size)
{
    uint64_t           hash = levada_hash64(key, (size_t)size, 0);
    levada_saver_live *e = *live_bucket(s, hash);

    for (; e != NULL; e = e->chain) {
        if (e->hash == hash && e->key_size == size &&
            memcmp(levada_saver_key(s, e), key, (size_t)size) == 0) {
            break;
        }
    }
    return e;
}

/* Adds buckets; without memory for more the chains are longer. */
static void live_grow(levada_state_saver *s)
{
    int64_t             had = s->nbuckets;
    levada_saver_live **old = s->buckets;
    levada_saver_live **buckets = levada_alloc_zero(2 * (size_t)had * sizeof(*buckets));

    if (buckets == NULL) return;
    s->buckets = buckets;
    s->nbuckets = 2 * had;
    for (int64_t b = 0; b < had; b++) {
        while (old[b] != NULL) {
            levada_saver_live *e = old[b], **to = live_bucket(s, e->hash);

            old[b] = e->chain;
            e->chain = *to;
            *to = e;
        }
    }
    levada_free(old);
}

void levada_saver_add_key_locked(levada_state_saver *s, levada_saver_live *e)
{
    levada_saver_live **to;

    if (s->nkeys >= s->nbuckets) live_grow(s);
    e->hash = levada_hash64(levada_saver_key(s, e), (size_t)e->key_size, 0);
    to = live_bucket(s, e->hash);
    e->chain = *to;
    *to = e;
    e->keyed = true;
    s->nkeys++;
}

void levada_saver_remove_key_locked(levada_state_saver *s, levada_saver_live *e)
{
    levada_saver_live **at;

    if (!e->keyed) return;
    at = live_bucket(s, e->hash);
    while (*at != e) at = &(*at)->chain;
    *at = e->chain;
    e->chain = NULL;
    e->keyed = false;
    s->nkeys--;
}

void levada_saver_free_awaited(levada_state_saver *s)
{
    for (int64_t i = 0; i < s->awaited.n; i++) levada_saver_live_unref(s, s->awaited.rows[i]);
    levada_free(s->awaited.rows);
    s->awaited = (levada_saver_awaited){ NULL, 0, 0 };
}

/* -- ordinals ---------------------------------------------------------------------------------- */

/* Returns the first of `more` that is not below. */
static int64_t live_place(const levada_saver_seen *seen, int64_t ordinal)
{
    int64_t low = 0, high = seen->n;

    while (low < high) {
        int64_t middle = (low + high) / 2;

        if (seen->more[middle] < ordinal) low = middle + 1;
        else high = middle;
    }
    return low;
}

bool levada_saver_saw_locked(const levada_state_saver *s, int64_t ordinal)
{
    const levada_saver_seen *seen = &s->seen;
    int64_t                  at = live_place(seen, ordinal);

    return ordinal < seen->all || (at < seen->n && seen->more[at] == ordinal);
}

bool levada_saver_see_locked(levada_state_saver *s, int64_t ordinal)
{
    levada_saver_seen *seen = &s->seen;
    int64_t            at = live_place(seen, ordinal), gone = 0;

    if (!levada_reserve(&seen->more, &seen->capacity, seen->n + 1, sizeof(*seen->more))) {
        return false;
    }
    memmove(seen->more + at + 1, seen->more + at, (size_t)(seen->n - at) * sizeof(*seen->more));
    seen->more[at] = ordinal;
    seen->n++;
    while (gone < seen->n && seen->more[gone] == seen->all) {
        seen->all++;
        gone++;
    }
    seen->n -= gone;
    memmove(seen->more, seen->more + gone, (size_t)seen->n * sizeof(*seen->more));
    return true;
}
