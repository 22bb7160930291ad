/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The row store. A table of the blocks that are held, each with the number of its rows that live; a
 * table of slots, each naming a row of one of them. Adding and taking are a few stores a row;
 * blocks are counted once for each block, never for each row.
 */
#include "base/alloc.h"
#include "base/assert.h"
#include "state/state_priv.h"
#include "tensor/block_priv.h"

#include <levada/rowstore.h>

#include <string.h>

#define ROWSTORE_SLACK (INT64_C(8) << 20) /* pinned bytes below which compacting is not worth it */
#define ROWSTORE_PIECE 1024               /* rows gathered into one block when compacting */
#define ROWSTORE_PIECE_BYTES (INT64_C(64) << 20) /* and their bytes: a block has its limits     */

typedef struct rowstore_held {
    levada_block *block; /* DATA; NULL = free entry */
    int64_t       live;
    int32_t       mark; /* its number in the selection that is being made */
    uint32_t      turn; /* the selection for which mark holds; of a free entry: the next one */
} rowstore_held;

typedef struct rowstore_slot {
    uint32_t held, row; /* held = ROWSTORE_FREE: row is the next free slot */
} rowstore_slot;

#define ROWSTORE_FREE UINT32_MAX

struct levada_rowstore {
    levada_pool   *pool; /* borrowed from the environment */
    rowstore_held *held;
    int64_t        held_capacity, slot_capacity;
    uint32_t       nheld, free_held; /* free_held: head of a list through turn */
    uint32_t      *index;                           /* of held, by block */
    uint32_t       index_size, indexed;
    rowstore_slot *slots;
    uint32_t       nslots, free; /* free: head of the list, ROWSTORE_FREE = none */
    int64_t        count, live_bytes, pinned_bytes;
    uint32_t       turn;
};

static levada_status rowstore_memory(levada_error *err)
{
    return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for buffered records");
}

levada_status levada_rowstore_create(const levada_context *context, levada_rowstore **out,
                                     levada_error *err)
{
    LEVADA_TRY(levada_require(context != NULL, "context", err));
    LEVADA_TRY(levada_require(out != NULL, "out", err));
    levada_rowstore *s = levada_alloc_zero(sizeof *s);

    if (!s) return rowstore_memory(err);
    s->pool = levada_env_pool(context->env);
    s->free = s->free_held = ROWSTORE_FREE;
    *out = s;
    return LEVADA_OK;
}

static void rowstore_drop_all(levada_rowstore *s)
{
    for (uint32_t i = 0; i < s->nheld; i++) levada_block_unref(&s->held[i].block);
    s->nheld = s->nslots = 0;
    s->free = s->free_held = ROWSTORE_FREE;
    s->indexed = 0;
    for (uint32_t i = 0; i < s->index_size; i++) s->index[i] = ROWSTORE_FREE;
    s->count = s->live_bytes = s->pinned_bytes = 0;
}

void levada_rowstore_destroy(levada_rowstore **store)
{
    if (!store) return;
    levada_rowstore *s = *store;

    *store = NULL;
    if (!s) return;
    rowstore_drop_all(s);
    levada_free(s->held);
    levada_free(s->index);
    levada_free(s->slots);
    levada_free(s);
}

int64_t levada_rowstore_count(const levada_rowstore *store)
{
    if (!store) return 0;
    return store->count;
}

static int64_t rowstore_row_bytes(const levada_block *block)
{
    return block->n ? block->bytes / block->n + 16 : 16;
}

static levada_status rowstore_reserve(levada_rowstore *s, int64_t rows, levada_error *err)
{
    uint64_t want = (uint64_t)s->nslots + (uint64_t)rows;

    if (want >= ROWSTORE_FREE / 2) return rowstore_memory(err);
    return levada_reserve(&s->slots, &s->slot_capacity, (int64_t)want, sizeof *s->slots)
               ? LEVADA_OK
               : rowstore_memory(err);
}

/* -- the index: block -> entry, by linear probing. Entries of blocks that were released stay until
 * the next rebuilding and are known by their entry, which holds another block or none. */

static uint32_t rowstore_hash(const levada_rowstore *s, const levada_block *block)
{
    uint64_t at = (uint64_t)(uintptr_t)block >> 6;

    return (uint32_t)((at * UINT64_C(0x9e3779b97f4a7c15)) >> 32) & (s->index_size - 1);
}

static void rowstore_index_put(levada_rowstore *s, uint32_t held)
{
    uint32_t at = rowstore_hash(s, s->held[held].block);

    while (s->index[at] != ROWSTORE_FREE) at = (at + 1) & (s->index_size - 1);
    s->index[at] = held;
    s->indexed++;
}

static levada_status rowstore_index_reserve(levada_rowstore *s, levada_error *err)
{
    uint32_t  size = 128;
    uint32_t *index;

    if (2 * (s->indexed + 1) <= s->index_size) return LEVADA_OK;
    while (size < 4 * (s->nheld + 1)) size *= 2;
    if (size > s->index_size) { /* else it is full of blocks that were released */
        index = levada_realloc(s->index, size * sizeof *index);
        if (!index) return rowstore_memory(err);
        s->index = index;
    }
    index = s->index;
    if (size < s->index_size) size = s->index_size;
    s->index_size = size;
    s->indexed = 0;
    for (uint32_t i = 0; i < size; i++) index[i] = ROWSTORE_FREE;
    for (uint32_t i = 0; i < s->nheld; i++) {
        if (s->held[i].block) rowstore_index_put(s, i);
    }
    return LEVADA_OK;
}

static uint32_t rowstore_index_find(const levada_rowstore *s, const levada_block *block)
{
    uint32_t at;

    if (!s->index_size) return ROWSTORE_FREE;
    at = rowstore_hash(s, block);
    while (s->index[at] != ROWSTORE_FREE) {
        uint32_t held = s->index[at];

        if (held < s->nheld && s->held[held].block == block) return held;
        at = (at + 1) & (s->index_size - 1);
    }
    return ROWSTORE_FREE;
}

/* Finds the entry of a block: the one it has, a free one or a new one. */
static levada_status rowstore_hold(levada_rowstore *s, levada_block *block, uint32_t *out,
                                   levada_error *err)
{
    uint32_t at = rowstore_index_find(s, block);

    if (at == ROWSTORE_FREE) {
        LEVADA_TRY(rowstore_index_reserve(s, err));
        at = s->free_held;
        if (at == ROWSTORE_FREE) {
            if (!levada_reserve(&s->held, &s->held_capacity, (int64_t)s->nheld + 1,
                                sizeof *s->held)) {
                return rowstore_memory(err);
            }
            at = s->nheld++;
        } else {
            s->free_held = s->held[at].turn;
        }
        memset(&s->held[at], 0, sizeof s->held[at]);
        s->held[at].block = levada_block_ref(block);
        s->pinned_bytes += rowstore_row_bytes(block) * block->n;
        rowstore_index_put(s, at);
    }
    *out = at;
    return LEVADA_OK;
}

static void rowstore_release(levada_rowstore *s, uint32_t held)
{
    levada_block *block = s->held[held].block;

    LEVADA_ASSERT(s->held[held].live == 0);
    s->pinned_bytes -= rowstore_row_bytes(block) * block->n;
    levada_block_unref(&s->held[held].block);
    s->held[held].turn = s->free_held;
    s->free_held = held;
}

static uint32_t rowstore_new_slot(levada_rowstore *s)
{
    uint32_t slot = s->free;

    if (slot == ROWSTORE_FREE) return s->nslots++;
    s->free = s->slots[slot].row;
    return slot;
}

static levada_status rowstore_add_data(levada_rowstore *s, levada_block *block, int64_t first,
                                       int64_t n, uint32_t *slots, levada_error *err)
{
    uint32_t held = 0;

    LEVADA_TRY(rowstore_hold(s, block, &held, err));
    for (int64_t i = 0; i < n; i++) {
        uint32_t slot = rowstore_new_slot(s);

        s->slots[slot].held = held;
        s->slots[slot].row = (uint32_t)(first + i);
        slots[i] = slot;
    }
    s->held[held].live += n;
    s->live_bytes += n * rowstore_row_bytes(block);
    return LEVADA_OK;
}

static void rowstore_forget(levada_rowstore *s, uint32_t slot)
{
    uint32_t       held = s->slots[slot].held;
    rowstore_held *h = &s->held[held];

    LEVADA_ASSERT(held < s->nheld && h->live > 0); /* else it is taken for the second time */
    s->live_bytes -= rowstore_row_bytes(h->block);
    if (--h->live == 0) rowstore_release(s, held);
}

static void rowstore_free_slot(levada_rowstore *s, uint32_t slot)
{
    rowstore_forget(s, slot);
    s->slots[slot].held = ROWSTORE_FREE;
    s->slots[slot].row = s->free;
    s->free = slot;
}

/* Adds no more rows than the selection has blocks: only the blocks of these rows are looked up,
 * without scratch memory. */
static levada_status rowstore_add_few(levada_rowstore *s, const levada_block *block, int64_t first,
                                      int64_t n, uint32_t *slots, levada_error *err)
{
    for (int64_t i = 0; i < n; i++) {
        uint32_t      held = 0;
        levada_status st = rowstore_hold(s, block->from[block->which[first + i]], &held, err);

        if (st != LEVADA_OK) {
            while (i > 0) rowstore_free_slot(s, slots[--i]);
            return st;
        }
        slots[i] = rowstore_new_slot(s);
        s->slots[slots[i]].held = held;
        s->slots[slots[i]].row = block->row[first + i];
        s->held[held].live++;
        s->live_bytes += rowstore_row_bytes(s->held[held].block);
    }
    return LEVADA_OK;
}

static levada_status rowstore_add_selection(levada_rowstore *s, const levada_block *block,
                                            int64_t first, int64_t n, uint32_t *slots,
                                            levada_error *err)
{
    uint32_t     *held = levada_alloc((size_t)block->nfrom * sizeof *held);
    int32_t       nheld = 0;
    levada_status st = LEVADA_OK;

    if (!held) return rowstore_memory(err);
    while (st == LEVADA_OK && nheld < block->nfrom) {
        st = rowstore_hold(s, block->from[nheld], &held[nheld], err);
        if (st == LEVADA_OK) nheld++;
    }
    for (int64_t i = 0; st == LEVADA_OK && i < n; i++) {
        uint32_t slot = rowstore_new_slot(s), at = held[block->which[first + i]];

        s->slots[slot].held = at;
        s->slots[slot].row = block->row[first + i];
        s->held[at].live++;
        s->live_bytes += rowstore_row_bytes(s->held[at].block);
        slots[i] = slot;
    }
    for (int32_t i = 0; i < nheld; i++) { /* of a failure, or of blocks without a chosen row */
        if (s->held[held[i]].block && s->held[held[i]].live == 0) rowstore_release(s, held[i]);
    }
    levada_free(held);
    return st;
}

static levada_status rowstore_compact(levada_rowstore *s, levada_error *err);

levada_status levada_rowstore_add(levada_rowstore *s, const levada_block *block, int64_t first,
                                  int64_t n, uint32_t *slots, levada_error *err)
{
    LEVADA_TRY(levada_require(s != NULL, "store", err));
    LEVADA_TRY(levada_require(block != NULL, "block", err));
    LEVADA_TRY(levada_require_range(first, 0, block->n, "first", err));
    LEVADA_TRY(levada_require_range(n, 0, block->n - first, "n", err));
    if (n == 0) return LEVADA_OK;
    LEVADA_TRY(rowstore_reserve(s, n, err));
    if (block->kind == LEVADA_BLOCK_DATA) {
        LEVADA_TRY(rowstore_add_data(s, (levada_block *)(uintptr_t)block, first, n, slots, err));
    } else if (n <= block->nfrom) {
        LEVADA_TRY(rowstore_add_few(s, block, first, n, slots, err));
    } else {
        LEVADA_TRY(rowstore_add_selection(s, block, first, n, slots, err));
    }
    s->count += n;
    if (s->pinned_bytes > 2 * s->live_bytes + ROWSTORE_SLACK) return rowstore_compact(s, err);
    return LEVADA_OK;
}

/* -- selections of slots */

typedef struct rowstore_pick {
    levada_block **from;
    int32_t        nfrom;
    levada_buffer *index;
    uint32_t      *which, *row;
} rowstore_pick;

static levada_status rowstore_pick_open(levada_rowstore *s, rowstore_pick *p, int64_t n,
                                        levada_error *err)
{
    memset(p, 0, sizeof *p);
    p->from = levada_alloc((size_t)(n < s->nheld ? n : s->nheld) * sizeof(*p->from) + 1);
    if (!p->from) return rowstore_memory(err);
    LEVADA_TRY(levada_buffer_create(s->pool, n * 8, &p->index, err));
    p->which = (uint32_t *)(void *)p->index->data;
    p->row = p->which + n;
    s->turn++;
    return LEVADA_OK;
}

static void rowstore_pick_row(levada_rowstore *s, rowstore_pick *p, int64_t i, uint32_t slot)
{
    rowstore_held *h = &s->held[s->slots[slot].held];

    LEVADA_ASSERT(slot < s->nslots && s->slots[slot].held < s->nheld && h->live > 0);
    if (h->turn != s->turn) {
        h->turn = s->turn;
        h->mark = p->nfrom;
        p->from[p->nfrom++] = levada_block_ref(h->block);
    }
    p->which[i] = (uint32_t)h->mark;
    p->row[i] = s->slots[slot].row;
}

static void rowstore_pick_close(rowstore_pick *p)
{
    for (int32_t i = 0; i < p->nfrom; i++) levada_block_unref(&p->from[i]);
    levada_free(p->from);
    levada_buffer_unref(&p->index);
}

static levada_status rowstore_select(levada_rowstore *s, const uint32_t *slots, int64_t n,
                                     levada_block **out, levada_error *err)
{
    rowstore_pick p;
    levada_status st;

    LEVADA_TRY(levada_require_range(n, 1, INT32_MAX, "n", err));
    st = rowstore_pick_open(s, &p, n, err);
    for (int64_t i = 0; st == LEVADA_OK && i < n; i++) rowstore_pick_row(s, &p, i, slots[i]);
    if (st == LEVADA_OK) {
        st = levada_block_selection(p.from, p.nfrom, p.which, p.row, n, &p.index, out, err);
        if (st == LEVADA_OK) p.nfrom = 0; /* taken */
    }
    rowstore_pick_close(&p);
    return st;
}

levada_status levada_rowstore_take(levada_rowstore *s, const uint32_t *slots, int64_t n,
                                   levada_block **out, levada_error *err)
{
    LEVADA_TRY(levada_require(s != NULL, "store", err));
    LEVADA_TRY(levada_require(out != NULL, "out", err));
    LEVADA_TRY(rowstore_select(s, slots, n, out, err));
    for (int64_t i = 0; i < n; i++) rowstore_free_slot(s, slots[i]);
    s->count -= n;
    LEVADA_ASSERT(s->count >= 0 && (s->count > 0 || s->pinned_bytes == 0));
    return LEVADA_OK;
}

levada_status levada_rowstore_peek(const levada_rowstore *s, const uint32_t *slots, int64_t n,
                                   levada_block **out, levada_error *err)
{
    LEVADA_TRY(levada_require(s != NULL, "store", err));
    LEVADA_TRY(levada_require(out != NULL, "out", err));
    /* Marks are scratch memory: the store is as it was for its owner. */
    return rowstore_select((levada_rowstore *)(uintptr_t)s, slots, n, out, err);
}

/* Copies rows together, so that the blocks that they pinned can go. */
static levada_status rowstore_move(levada_rowstore *s, const uint32_t *slots, int64_t n,
                                   levada_error *err)
{
    levada_block *chosen = NULL, *made = NULL;
    uint32_t      held = 0;
    levada_status st;

    LEVADA_TRY(rowstore_select(s, slots, n, &chosen, err));
    st = levada_block_compact(s->pool, chosen, &made, err);
    levada_block_unref(&chosen);
    if (st == LEVADA_OK) st = rowstore_hold(s, made, &held, err);
    for (int64_t i = 0; st == LEVADA_OK && i < n; i++) {
        rowstore_forget(s, slots[i]);
        s->slots[slots[i]].held = held;
        s->slots[slots[i]].row = (uint32_t)i;
        s->held[held].live++;
        s->live_bytes += rowstore_row_bytes(made);
    }
    levada_block_unref(&made);
    return st;
}

/* Copies the rows of blocks of which less than half lives. The others pin no more than is allowed,
 * and most of their rows are taken before they are sparse. */
static levada_status rowstore_compact(levada_rowstore *s, levada_error *err)
{
    uint32_t     *slots = levada_alloc(ROWSTORE_PIECE * sizeof *slots);
    int64_t       n = 0, bytes = 0;
    levada_status st = LEVADA_OK;

    if (!slots) return rowstore_memory(err);
    for (uint32_t i = 0; st == LEVADA_OK && i < s->nslots; i++) {
        uint32_t             held = s->slots[i].held;
        const rowstore_held *h = held == ROWSTORE_FREE ? NULL : &s->held[held];

        if (!h || 2 * h->live >= h->block->n) continue;
        slots[n++] = i;
        bytes += rowstore_row_bytes(h->block);
        if (n < ROWSTORE_PIECE && bytes < ROWSTORE_PIECE_BYTES) continue;
        st = rowstore_move(s, slots, n, err);
        n = bytes = 0;
    }
    if (st == LEVADA_OK && n) st = rowstore_move(s, slots, n, err);
    levada_free(slots);
    return st;
}

/* -- states */

levada_status levada_rowstore_save(const levada_rowstore *s, const uint32_t *slots, int64_t n,
                                   levada_state_writer *to, const char *key, levada_error *err)
{
    LEVADA_TRY(levada_require(s != NULL, "store", err));
    levada_block *rows = NULL;
    levada_status st;

    if (n == 0) return LEVADA_OK;
    LEVADA_TRY(levada_rowstore_peek(s, slots, n, &rows, err));
    st = levada_records_put(to, key, rows, err);
    levada_block_unref(&rows);
    return st;
}

levada_status levada_rowstore_restore(levada_rowstore *s, levada_state_reader *from,
                                      const char *key, int64_t n, uint32_t **slots_out,
                                      levada_error *err)
{
    LEVADA_TRY(levada_require(s != NULL, "store", err));
    LEVADA_TRY(levada_require(from != NULL, "from", err));
    LEVADA_TRY(levada_require(key != NULL, "key", err));
    LEVADA_TRY(levada_require(slots_out != NULL, "slots_out", err));
    LEVADA_TRY(levada_require_range(n, 0, INT64_MAX, "n", err));
    levada_block *rows = NULL;
    uint32_t     *slots = NULL;
    levada_status st = LEVADA_OK;

    if (n) st = levada_records_get(from, key, &rows, err);
    if (st == LEVADA_OK && n && rows->n != n) { /* before memory is reserved for what it says */
        st = levada_state_damaged(from, key, err, "%lld records, %lld were expected",
                                  (long long)rows->n, (long long)n);
    }
    if (st == LEVADA_OK) slots = levada_alloc((size_t)n * sizeof *slots + 1);
    if (st == LEVADA_OK && !slots) st = rowstore_memory(err);
    if (st == LEVADA_OK) {
        rowstore_drop_all(s);
        if (n) st = levada_rowstore_add(s, rows, 0, n, slots, err);
    }
    levada_block_unref(&rows);
    if (st != LEVADA_OK) {
        levada_free(slots);
        return st;
    }
    *slots_out = slots;
    return LEVADA_OK;
}

void levada_slots_free(uint32_t **slots)
{
    if (!slots) return;
    levada_free(*slots);
    *slots = NULL;
}
