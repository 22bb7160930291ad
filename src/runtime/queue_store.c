/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory of a queue's cells: a ring (fifo, padding), an array from which any may be drawn
 * (shuffle), or slots with a 4-ary heap of keys over them (priority).
 */
#include "base/alloc.h"
#include "base/random.h"
#include "runtime/queue_priv.h"

#include <string.h>

#define QUEUE_STORE_LEAST 16 /* cells to begin with */
#define QUEUE_STORE_KEPT                                                         \
    (INT64_C(1) << 16) /* this number stays in any case: a queue may fill up again */
#define QUEUE_STORE_MOST (INT64_C(1) << 48) /* more fit in no memory, but for rows of no bytes */

static inline void store_copy(uint8_t *to, const uint8_t *from, size_t size)
{
    if (size == 8) memcpy(to, from, 8);
    else memcpy(to, from, size);
}

static bool store_is_heap(const levada_queue *q)
{ return q->options.kind == LEVADA_QUEUE_PRIORITY; }

/* -- memory ------------------------------------------------------------------------------------ */

/* Copies the ring in order to the new memory. */
static void store_straighten(const levada_queue *q, int32_t c, uint8_t *to)
{
    size_t  width = q->width[c];
    int64_t count = levada_queue_count(q);
    int64_t first = q->allocated - q->out.at < count ? q->allocated - q->out.at : count;

    if (store_is_heap(q)) first = q->allocated; /* slots stay where they are */
    if (first > 0) {
        memcpy(to, q->cells[c] + (store_is_heap(q) ? 0 : (size_t)q->out.at * width),
               (size_t)first * width);
    }
    if (!store_is_heap(q) && count > first) {
        memcpy(to + (size_t)first * width, q->cells[c], (size_t)(count - first) * width);
    }
}

static bool store_resize_keys(levada_queue *q, int64_t allocated)
{
    levada_queue_key *keys = levada_realloc(q->keys, (size_t)allocated * sizeof(*keys));

    if (keys == NULL) return false;
    q->keys = keys;
    for (int64_t i = q->allocated; i < allocated; i++) keys[i].slot = i;
    return true;
}

static bool store_resize(levada_queue *q, int64_t allocated)
{
    uint8_t *fresh[LEVADA_QUEUE_COMPONENTS];
    int32_t  n = q->options.ncomponents, made = 0;
    size_t   size;

    while (made < n && levada_size_of((size_t)allocated, q->width[made], 0, &size) &&
           (fresh[made] = levada_alloc(size)) != NULL) {
        made++;
    }
    if (made < n || (store_is_heap(q) && !store_resize_keys(q, allocated))) {
        while (made > 0) levada_free(fresh[--made]);
        return false;
    }
    for (int32_t c = 0; c < n; c++) {
        store_straighten(q, c, fresh[c]);
        levada_free(q->cells[c]);
        q->cells[c] = fresh[c];
    }
    q->out.at = 0;
    q->in.at = levada_queue_count(q);
    q->allocated = allocated;
    return true;
}

bool levada_queue_reserve(levada_queue *queue, int64_t n)
{
    int64_t allocated = 2 * queue->allocated, count = levada_queue_count(queue);

    count += atomic_load_explicit(&queue->held, memory_order_relaxed);
    if (n <= queue->allocated - count) return true;
    if (n > QUEUE_STORE_MOST - count) return false;
    count += n;
    if (queue->options.capacity > 0 && allocated > queue->options.capacity) {
        allocated = queue->options.capacity;
    }
    if (allocated < QUEUE_STORE_LEAST && queue->options.capacity < 0) allocated = QUEUE_STORE_LEAST;
    if (allocated < count) allocated = count;
    return store_resize(queue, allocated);
}

/* Frees memory by halves, so that a queue that fills up again soon has not lost all. The slots of a
 * heap do not move, so it must be empty. */
void levada_queue_trim(levada_queue *queue)
{
    int64_t count = levada_queue_count(queue), allocated = queue->allocated;

    count += atomic_load_explicit(&queue->held, memory_order_relaxed);
    if (allocated <= QUEUE_STORE_KEPT || count > allocated / 8 ||
        (count > 0 && store_is_heap(queue)))
        return;
    if (store_is_heap(queue)) queue->allocated = 0;
    if (!store_resize(queue, allocated / 2)) queue->allocated = allocated;
}

void levada_queue_store_clear(levada_queue *queue)
{
    int64_t count = levada_queue_count(queue);

    for (int32_t c = 0; queue->cells != NULL && c < queue->options.ncomponents; c++) {
        for (int64_t i = 0; queue->is_ref[c] && i < count; i++) {
            int64_t        at = store_is_heap(queue) ? queue->keys[i].slot
                                                     : (queue->out.at + i) % queue->allocated;
            levada_tensor *t;

            memcpy(&t, queue->cells[c] + (size_t)at * sizeof(t), sizeof(t));
            levada_tensor_unref(&t);
        }
        levada_free(queue->cells[c]);
    }
    levada_free(queue->keys);
}

int64_t levada_queue_weigh(const levada_queue *queue, uint8_t *const *cells, int64_t from,
                           int64_t k)
{
    int64_t sum = k * queue->row_bytes;

    for (int32_t c = 0; !queue->rows_only && c < queue->options.ncomponents; c++) {
        for (int64_t i = from; queue->is_ref[c] && i < from + k; i++) {
            const levada_tensor *t;

            memcpy(&t, cells[c] + (size_t)i * sizeof(t), sizeof(t));
            sum += t->bytes;
        }
    }
    return sum;
}

/* -- cells one by one -------------------------------------------------------------------------- */

static void store_in(levada_queue *q, int64_t slot, uint8_t *const *cells, int64_t i)
{
    for (int32_t c = 0; c < q->options.ncomponents; c++) {
        size_t width = q->width[c];

        store_copy(q->cells[c] + (size_t)slot * width, cells[c] + (size_t)i * width, width);
    }
}

static void store_out(levada_queue *q, int64_t slot, uint8_t *const *cells, int64_t i)
{
    for (int32_t c = 0; c < q->options.ncomponents; c++) {
        size_t width = q->width[c];

        store_copy(cells[c] + (size_t)i * width, q->cells[c] + (size_t)slot * width, width);
    }
}

/* -- ring -------------------------------------------------------------------------------------- */

/* Copies k cells between `cells` at `from` and the ring at `at`. */
static void store_ring(levada_queue *q, uint8_t *const *cells, int64_t from, int64_t at, int64_t k,
                       bool in)
{
    int64_t first = q->allocated - at < k ? q->allocated - at : k;

    if (k == 1) {
        if (in) store_in(q, at, cells, from);
        else store_out(q, at, cells, from);
        return;
    }
    for (int32_t c = 0; c < q->options.ncomponents; c++) {
        size_t   width = q->width[c];
        uint8_t *theirs = cells[c] + (size_t)from * width;
        uint8_t *ours = q->cells[c] + (size_t)at * width;

        if (in) store_copy(ours, theirs, (size_t)first * width);
        else store_copy(theirs, ours, (size_t)first * width);
        if (first == k) continue;
        theirs += (size_t)first * width;
        if (in) memcpy(q->cells[c], theirs, (size_t)(k - first) * width);
        else memcpy(theirs, q->cells[c], (size_t)(k - first) * width);
    }
}

static int64_t store_wrap(const levada_queue *q, int64_t at)
{ return at >= q->allocated ? at - q->allocated : at; }

/* Publishes that k elements have passed: a thread that sees it at the other end sees the cells as
 * they are now. */
static void store_moved(levada_queue_end *end, int64_t k)
{
    int64_t moved = atomic_load_explicit(&end->moved, memory_order_relaxed);

    atomic_store_explicit(&end->moved, moved + k, memory_order_release);
}

/* Draws any one of `count` in the array; the last takes its place. */
static void store_draw(levada_queue *q, int64_t count, uint8_t *const *cells, int64_t i)
{
    uint64_t bits = levada_random_at(q->random_key, q->draws++);
    int64_t  slot = (int64_t)levada_random_below(bits, (uint64_t)count), last = count - 1;

    store_out(q, slot, cells, i);
    for (int32_t c = 0; slot < last && c < q->options.ncomponents; c++) {
        size_t width = q->width[c];

        store_copy(q->cells[c] + (size_t)slot * width, q->cells[c] + (size_t)last * width, width);
    }
}

/* -- heap -------------------------------------------------------------------------------------- */

static bool store_before(const levada_queue_key *a, const levada_queue_key *b)
{
    if (a->priority != b->priority) return a->priority < b->priority;
    return a->sequence < b->sequence;
}

static void store_heap_push(levada_queue *q, uint8_t *const *cells, int64_t i, int64_t sequence)
{
    int64_t          at = levada_queue_count(q);
    levada_queue_key key = { 0, sequence, q->keys[at].slot };

    memcpy(&key.priority, cells[0] + (size_t)i * sizeof(int64_t), sizeof(int64_t));
    store_in(q, key.slot, cells, i);
    while (at > 0 && store_before(&key, &q->keys[(at - 1) / 4])) {
        q->keys[at] = q->keys[(at - 1) / 4];
        at = (at - 1) / 4;
    }
    q->keys[at] = key;
    store_moved(&q->in, 1);
}

static int64_t store_least_child(const levada_queue *q, int64_t count, int64_t at)
{
    int64_t least = 4 * at + 1, end = least + 4 < count ? least + 4 : count;

    for (int64_t child = least + 1; child < end; child++) {
        if (store_before(&q->keys[child], &q->keys[least])) least = child;
    }
    return least;
}

static void store_heap_pop(levada_queue *q, uint8_t *const *cells, int64_t i)
{
    int64_t          slot = q->keys[0].slot, at = 0, count = levada_queue_count(q) - 1;
    levada_queue_key key = q->keys[count];

    store_out(q, slot, cells, i);
    while (4 * at + 1 < count) {
        int64_t child = store_least_child(q, count, at);

        if (!store_before(&q->keys[child], &key)) break;
        q->keys[at] = q->keys[child];
        at = child;
    }
    q->keys[at] = key;
    q->keys[count].slot = slot; /* free now */
    store_moved(&q->out, 1);
}

/* -- what the engine asks for ------------------------------------------------------------------ */

void levada_queue_push(levada_queue *queue, const levada_queue_op *op, int64_t k)
{
    switch (queue->options.kind) {
    case LEVADA_QUEUE_PRIORITY:
        for (int64_t i = 0; i < k; i++) {
            store_heap_push(queue, op->cells, op->done + i, queue->last_key++);
        }
        return; /* counted one by one */
    case LEVADA_QUEUE_SHUFFLE: /* fills its array from 0 */
        store_ring(queue, op->cells, op->done, levada_queue_count(queue), k, true);
        break;
    default:
        store_ring(queue, op->cells, op->done, queue->in.at, k, true);
        queue->in.at = store_wrap(queue, queue->in.at + k);
    }
    store_moved(&queue->in, k);
}

void levada_queue_pop(levada_queue *queue, const levada_queue_op *op, int64_t k)
{
    switch (queue->options.kind) {
    case LEVADA_QUEUE_PRIORITY:
        for (int64_t i = 0; i < k; i++) store_heap_pop(queue, op->cells, op->done + i);
        return;
    case LEVADA_QUEUE_SHUFFLE:
        for (int64_t i = 0, count = levada_queue_count(queue); i < k; i++) {
            store_draw(queue, count - i, op->cells, op->done + i);
        }
        break;
    default:
        store_ring(queue, op->cells, op->done, queue->out.at, k, false);
        queue->out.at = store_wrap(queue, queue->out.at + k);
    }
    store_moved(&queue->out, k);
}

void levada_queue_put_back(levada_queue *queue, uint8_t *const *cells, int64_t n)
{
    int64_t at;

    switch (queue->options.kind) {
    case LEVADA_QUEUE_PRIORITY:
        for (int64_t i = n; i-- > 0;) store_heap_push(queue, cells, i, --queue->first_key);
        return;
    case LEVADA_QUEUE_SHUFFLE:
        store_ring(queue, cells, 0, levada_queue_count(queue), n, true);
        break;
    default:
        at = queue->out.at - n < 0 ? queue->out.at - n + queue->allocated : queue->out.at - n;
        store_ring(queue, cells, 0, at, n, true);
        queue->out.at = at;
    }
    store_moved(&queue->out, -n);
}
