/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "base/assert.h"
#include "base/hash.h"
#include "runtime/barrier_priv.h"

#include <string.h>

#define BARRIER_KEYS_LEAST 64 /* buckets */

/* Lays out the data: a byte for each component (1 = there), the components, the key. */
void levada_barrier_layout(levada_barrier *barrier)
{
    size_t at = ((size_t)barrier->ncomponents + 15) & ~(size_t)15;

    for (int32_t c = 0; c < barrier->ncomponents; c++) {
        barrier->at[c] = at;
        at += (barrier->width[c] + 15) & ~(size_t)15;
    }
    barrier->key_at = at;
}

const uint8_t *levada_barrier_entry_key(const levada_barrier       *barrier,
                                        const levada_barrier_entry *entry)
{
    return entry->data + barrier->key_at;
}

void levada_barrier_entry_free(const levada_barrier *barrier, levada_barrier_entry *entry)
{
    for (int32_t c = 0; c < barrier->ncomponents; c++) {
        levada_tensor *t;

        if (!barrier->is_ref[c] || !entry->data[c]) continue;
        memcpy(&t, entry->data + barrier->at[c], sizeof(t));
        levada_tensor_unref(&t);
    }
    levada_free(entry);
}

levada_barrier_entry *levada_barrier_find(const levada_barrier *barrier, const uint8_t *key,
                                          int32_t size, uint64_t hash)
{
    levada_barrier_entry *entry = NULL;

    if (barrier->nbuckets > 0) entry = barrier->buckets[hash & (uint64_t)(barrier->nbuckets - 1)];
    for (; entry != NULL; entry = entry->next) {
        if (entry->hash == hash && entry->key_size == size &&
            memcmp(levada_barrier_entry_key(barrier, entry), key, (size_t)size) == 0) {
            break;
        }
    }
    return entry;
}

/* Adds buckets; without memory for more the chains are longer. */
static bool barrier_keys_grow(levada_barrier *barrier)
{
    int64_t                n = barrier->nbuckets > 0 ? 2 * barrier->nbuckets : BARRIER_KEYS_LEAST;
    levada_barrier_entry **buckets = levada_alloc_zero((size_t)n * sizeof(levada_barrier_entry *));

    if (buckets == NULL) return barrier->nbuckets > 0;
    for (int64_t b = 0; b < barrier->nbuckets; b++) {
        levada_barrier_entry *entry = barrier->buckets[b];

        while (entry != NULL) {
            levada_barrier_entry **to = &buckets[entry->hash & (uint64_t)(n - 1)];
            levada_barrier_entry  *next = entry->next;

            entry->next = *to;
            *to = entry;
            entry = next;
        }
    }
    levada_free(barrier->buckets);
    barrier->buckets = buckets;
    barrier->nbuckets = n;
    return true;
}

levada_barrier_entry *levada_barrier_add(levada_barrier *barrier, const uint8_t *key, int32_t size,
                                         uint64_t hash)
{
    levada_barrier_entry *entry = NULL, **bucket;

    if (barrier->nincomplete < barrier->nbuckets || barrier_keys_grow(barrier)) {
        entry = levada_alloc(sizeof(*entry) + barrier->key_at + (size_t)size);
    }
    if (entry == NULL) return NULL;
    memset(entry->data, 0, (size_t)barrier->ncomponents);
    if (size > 0) memcpy(entry->data + barrier->key_at, key, (size_t)size);
    entry->hash = hash;
    entry->key_size = size;
    entry->missing = barrier->ncomponents;
    entry->index = barrier->input_index;
    entry->sequence = barrier->sequence++;
    bucket = &barrier->buckets[hash & (uint64_t)(barrier->nbuckets - 1)];
    entry->next = *bucket;
    *bucket = entry;
    barrier->nincomplete++;
    return entry;
}

void levada_barrier_remove(levada_barrier *barrier, levada_barrier_entry *entry)
{
    levada_barrier_entry **at = &barrier->buckets[entry->hash & (uint64_t)(barrier->nbuckets - 1)];

    while (*at != entry) at = &(*at)->next;
    *at = entry->next;
    entry->next = NULL;
    barrier->nincomplete--;
}

void levada_barrier_drop_incomplete(levada_barrier *barrier)
{
    for (int64_t b = 0; b < barrier->nbuckets; b++) {
        while (barrier->buckets[b] != NULL) {
            levada_barrier_entry *entry = barrier->buckets[b];

            barrier->buckets[b] = entry->next;
            levada_barrier_entry_free(barrier, entry);
        }
    }
    barrier->nincomplete = 0;
}

/* -- the heap of complete keys ----------------------------------------------------------------- */

static bool barrier_keys_before(const levada_barrier_entry *a, const levada_barrier_entry *b)
{
    return a->sequence < b->sequence; /* the index never goes down while the sequence goes up */
}

bool levada_barrier_reserve(levada_barrier *barrier, int64_t count)
{
    return levada_reserve(&barrier->ready, &barrier->capacity, count, sizeof(*barrier->ready));
}

void levada_barrier_push(levada_barrier *barrier, levada_barrier_entry *entry)
{
    levada_barrier_entry **heap = barrier->ready;
    int64_t                at = barrier->nready++;

    LEVADA_ASSERT(at < barrier->capacity); /* kept for keys that come back */
    while (at > 0 && barrier_keys_before(entry, heap[(at - 1) / 4])) {
        heap[at] = heap[(at - 1) / 4];
        at = (at - 1) / 4;
    }
    heap[at] = entry;
}

levada_barrier_entry *levada_barrier_pop(levada_barrier *barrier)
{
    levada_barrier_entry **heap = barrier->ready, *first = heap[0], *last = heap[--barrier->nready];
    int64_t                at = 0;

    while (4 * at + 1 < barrier->nready) {
        int64_t least = 4 * at + 1, end = least + 4 < barrier->nready ? least + 4 : barrier->nready;

        for (int64_t child = least + 1; child < end; child++) {
            if (barrier_keys_before(heap[child], heap[least])) least = child;
        }
        if (!barrier_keys_before(heap[least], last)) break;
        heap[at] = heap[least];
        at = least;
    }
    heap[at] = last;
    return first;
}
