/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A barrier from the inside: keys that wait for components stand in a hash table, complete ones in
 * a heap by the order in which they were first seen. An entry is one piece of memory: presence of
 * components, rows (numbers of known shape) or references to tensors, the key.
 */
#ifndef LEVADA_RUNTIME_BARRIER_PRIV_H
#define LEVADA_RUNTIME_BARRIER_PRIV_H

#include "runtime/wait.h"
#include "tensor/tensor_priv.h"

#include <levada/barrier.h>

#define LEVADA_BARRIER_COMPONENTS 256

typedef struct levada_barrier_entry {
    struct levada_barrier_entry *next; /* in its bucket; once taken: in the order of the take */
    struct levada_barrier_entry *made; /* the one made before it in the same call */
    uint64_t                     hash;
    int64_t                      index, sequence;
    int64_t                      call; /* the last call that named it */
    int32_t                      missing;
    int32_t                      key_size;
    uint8_t                      data[]; /* see barrier_keys.c */
} levada_barrier_entry;

struct levada_barrier {
    atomic_int     refs;
    unsigned       process; /* that it belongs to (base/process.h) */
    int32_t        ncomponents;
    bool           has_shapes;
    levada_dtype  *dtypes;
    levada_shape  *shapes;
    bool          *is_ref;
    size_t        *at, *width; /* of the components, in data of an entry */
    size_t         key_at;
    char          *name, *shared_name;
    levada_pool   *pool;
    levada_wait_list    *wait_list;
    levada_site    site;
    levada_shared  shared;
    atomic_llong   held; /* complete entries taken that may still come back */
    levada_lock    lock;
    /* -- guarded by lock */
    bool                   closed, cancelled;
    levada_line            takes;
    int64_t                input_index, sequence, call;
    int64_t                nincomplete, nbuckets;
    levada_barrier_entry **buckets;
    int64_t                nready, capacity; /* of ready */
    levada_barrier_entry **ready; /* 4-ary heap */
};

/* -- barrier_keys.c; the lock is held where something of the barrier changes -- */

/* Offsets of the components in an entry. */
void levada_barrier_layout(levada_barrier *barrier);
void levada_barrier_entry_free(const levada_barrier *barrier, levada_barrier_entry *entry);
const uint8_t        *levada_barrier_entry_key(const levada_barrier       *barrier,
                                               const levada_barrier_entry *entry);
levada_barrier_entry *levada_barrier_find(const levada_barrier *barrier, const uint8_t *key,
                                          int32_t size, uint64_t hash);
/* Adds a new incomplete key; NULL when memory is short. */
levada_barrier_entry *levada_barrier_add(levada_barrier *barrier, const uint8_t *key, int32_t size,
                                         uint64_t hash);
void levada_barrier_remove(levada_barrier *barrier, levada_barrier_entry *entry);
/* Removes and frees all incomplete keys. */
void levada_barrier_drop_incomplete(levada_barrier *barrier);
bool levada_barrier_reserve(levada_barrier *barrier, int64_t count);
void levada_barrier_push(levada_barrier *barrier, levada_barrier_entry *entry);
levada_barrier_entry *levada_barrier_pop(levada_barrier *barrier);

/* -- barrier_take.c; the lock is held -- */
void levada_barrier_settle(levada_barrier *barrier, levada_woken *woken);

#endif
