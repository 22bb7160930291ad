/* SPDX-License-Identifier: Apache-2.0 */
#include "files/read_ahead.h"

#include "base/alloc.h"
#include "registry/env_priv.h"
#include "runtime/wait.h"

#include <string.h>

#define AHEAD_TAIL (3 * LEVADA_STEP)    /* longer ones are left to the owner, who reads more then */
#define AHEAD_RECORDS 4096              /* of a chunk, at first ...                              */
#define AHEAD_RECORDS_MOST 65536        /* ... and at most                                       */
#define AHEAD_SPIN 30000                /* nanoseconds: about what framing a chunk takes         */
#define AHEAD_WAIT 100000               /* the same for all of a chunk                           */

typedef enum ahead_state {
    AHEAD_FREE,
    AHEAD_READING,
    AHEAD_READ,
    AHEAD_FRAMING, /* and verifying */
    AHEAD_READY
} ahead_state;

typedef struct ahead_slot {
    ahead_state    state;
    levada_buffer *buffer;
    int64_t        begin, end; /* the chunk, later its window: buffer->data[begin, end) */
    int64_t        offset;     /* of the window in the file */
    levada_framed  framed;
    bool           unchecked; /* the payloads of these */
} ahead_slot;

struct levada_read_ahead {
    const levada_file_reader *reader;
    void         *format; /* state of the format, for framing */
    levada_lock   lock;
    levada_site   site;
    int64_t       nslots;
    atomic_bool   active;
    atomic_llong  framing; /* the chunk that is framed next */
    /* -- guarded by lock */
    const levada_bytes *bytes;
    int64_t       draw, take, chunks; /* the next to be read, to be taken; the end */
    int64_t       lead;    /* bytes before the next buffer */
    int32_t       records; /* that are framed at once; the framing thread raises it */
    int64_t       failed;  /* the first chunk whose read failed; -1 = none */
    levada_error  why;     /* of that read */
    bool          framer;  /* a thread is framing */
    int32_t       inside;
    levada_line   waits;   /* the owner, where it waits */
    levada_buffer *tail;   /* where the record begins that continues in the chunk framed next */
    int64_t       tail_at, tail_size, offset; /* in it; in the file */
    /* -- */
    ahead_slot    slots[];
};

levada_status levada_read_ahead_create(const levada_file_reader *reader, int32_t threads,
                                       levada_read_ahead **out, levada_error *err)
{
    levada_wait_list  *wait_list = levada_env_wait_list(reader->framing.context->env);
    size_t             n = (size_t)threads + 1;
    levada_read_ahead *a = levada_alloc_zero(sizeof *a + n * sizeof a->slots[0]);
    levada_status      st;

    if (!a || !wait_list) {
        levada_free(a);
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory while reading ahead");
    }
    a->reader = reader;
    a->nslots = (int64_t)n;
    a->lead = LEVADA_BYTES_LEAD;
    a->records = AHEAD_RECORDS;
    st = levada_lock_init(&a->lock, LEVADA_LOCK_READ_AHEAD, err);
    if (st != LEVADA_OK) {
        levada_free(a);
        return st;
    }
    levada_site_init(&a->site, wait_list, "read ahead");
    levada_site_spin(&a->site, AHEAD_WAIT);
    st = levada_framing_make_state(&reader->framing, &a->format, err);
    if (st == LEVADA_OK) *out = a;
    else levada_read_ahead_destroy(&a);
    return st;
}

void levada_read_ahead_destroy(levada_read_ahead **ahead)
{
    levada_read_ahead *a = *ahead;

    *ahead = NULL;
    if (!a) return;
    levada_read_ahead_stop(a);
    for (int64_t i = 0; i < a->nslots; i++) levada_buffer_unref(&a->slots[i].framed.index);
    levada_framing_free_state(&a->reader->framing, &a->format);
    levada_lock_clear(&a->lock);
    levada_free(a);
}

bool levada_read_ahead_active(const levada_read_ahead *a)
{
    return a && atomic_load_explicit(&a->active, memory_order_relaxed);
}

/* -- one chunk */

static ahead_slot *ahead_slot_of(levada_read_ahead *a, int64_t chunk)
{
    return &a->slots[chunk % a->nslots];
}

/* Returns how many bytes to leave before a chunk: whole pages, because the system copies slowly to
 * a place that is a few bytes after that of the page (window.c). */
static int64_t ahead_lead(int64_t size) { return (size + 4095) / 4096 * 4096; }

/* Reads a whole chunk, which the file had when reading ahead began; false if it fails. */
static bool ahead_read(const levada_read_ahead *a, ahead_slot *s, int64_t chunk, int64_t lead,
                       levada_error *why)
{
    levada_pool *pool = levada_env_pool(a->reader->framing.context->env);
    int64_t      made = 0;

    if (levada_buffer_create(pool, lead + LEVADA_STEP, &s->buffer, NULL) != LEVADA_OK) return false;
    s->begin = lead;
    s->end = lead + LEVADA_STEP;
    return levada_bytes_read_at(a->bytes, chunk * LEVADA_STEP, s->buffer->data + lead, LEVADA_STEP,
                                &made, why) == LEVADA_OK &&
           made == LEVADA_STEP;
}

/* Puts the beginning of the first record before the chunk. */
static bool ahead_join(const levada_read_ahead *a, ahead_slot *s, const uint8_t *tail, int64_t size)
{
    levada_pool   *pool = levada_env_pool(a->reader->framing.context->env);
    levada_buffer *larger = NULL;

    if (size > s->begin) {
        int64_t lead = ahead_lead(size);

        if (size > AHEAD_TAIL ||
            levada_buffer_create(pool, lead + LEVADA_STEP, &larger, NULL) != LEVADA_OK) {
            return false;
        }
        memcpy(larger->data + lead, s->buffer->data + s->begin, LEVADA_STEP);
        levada_buffer_unref(&s->buffer);
        s->buffer = larger;
        s->begin = lead;
        s->end = lead + LEVADA_STEP;
    }
    if (size) memcpy(s->buffer->data + s->begin - size, tail, (size_t)size);
    s->begin -= size;
    return true;
}

static levada_spans ahead_spans(const levada_read_ahead *a, const levada_framed *f,
                                int32_t capacity)
{
    return (levada_spans){ .begin = f->begin,
                           .end = f->end,
                           .frame = a->reader->framing.format->frames ? f->frame : NULL,
                           .stride = f->stride,
                           .capacity = capacity };
}

/* Frames the records of the window up to the last one, which may go on; returns false if that is
 * left to the owner. */
static bool ahead_frame(levada_read_ahead *a, ahead_slot *s)
{
    const levada_file_reader *r = a->reader;
    levada_framed            *f = &s->framed;
    int64_t                   first, most = r->framing.context->max_record_bytes;
    levada_error              why = LEVADA_ERROR_INIT;
    levada_spans              spans;

    if (levada_framed_reserve(f, &r->framing, a->records, &why) != LEVADA_OK) return false;
    spans = ahead_spans(a, f, a->records);
    spans.later = true;
    if (levada_framing_next(&r->framing, a->format, s->buffer->data + s->begin, s->end - s->begin,
                            false,
                        &spans, &why) != LEVADA_OK) {
        return false;
    }
    if (spans.n == a->records && a->records < AHEAD_RECORDS_MOST) a->records *= 2;
    if (spans.n == 0 || spans.n == spans.capacity || spans.note) return false;
    f->n = spans.n;
    f->next = 0;
    f->used = spans.used;
    s->unchecked = spans.unchecked;
    first = f->n > 1 ? f->frame[1] - f->frame[0] : f->used;
    return first <= LEVADA_STEP || most <= 0 || first <= most; /* else the owner fails */
}

/* Checks payloads: finds the same records once more, all of them intact. */
static bool ahead_verify(const levada_read_ahead *a, const ahead_slot *s)
{
    const levada_file_reader *r = a->reader;
    const levada_framed      *f = &s->framed;
    levada_spans              spans = ahead_spans(a, f, f->n);

    if (!s->unchecked) return true;
    return levada_framing_next(&r->framing, a->format, s->buffer->data + s->begin, s->end
                               - s->begin,
                           false, &spans, NULL) == LEVADA_OK &&
           spans.n == f->n && spans.used == f->used;
}

/* -- in order */

static void ahead_tell_locked(levada_read_ahead *a, levada_woken *woken)
{
    while (a->waits.head) levada_waiter_finish(&a->waits, a->waits.head, LEVADA_OK, woken);
}

static void ahead_unlock(levada_read_ahead *a, levada_woken *woken)
{
    levada_lock_give(&a->lock);
    levada_wake(woken);
    *woken = (levada_woken){ 0 };
}

/* Keeps the record that continues in the next chunk; the slot's buffer stays as long as that needs
 * it. */
static void ahead_hand_over_locked(levada_read_ahead *a, const ahead_slot *s)
{
    levada_buffer_unref(&a->tail);
    a->tail = levada_buffer_ref(s->buffer);
    a->tail_at = s->begin + s->framed.used;
    a->tail_size = s->end - a->tail_at;
    a->offset += s->framed.used;
}

static bool ahead_can_frame_locked(levada_read_ahead *a)
{
    int64_t chunk = atomic_load_explicit(&a->framing, memory_order_relaxed);

    return a->active && !a->framer && chunk < a->draw && chunk < a->chunks &&
           ahead_slot_of(a, chunk)->state == AHEAD_READ;
}

/* Leaves the chunk, and what comes after it, to the owner. */
static void ahead_end_locked(levada_read_ahead *a, int64_t chunk)
{
    if (chunk < a->chunks) a->chunks = chunk;
}

/* Notes a read that failed: the owner fails there, too, even where it reads on from an earlier
 * chunk. */
static void ahead_failed_locked(levada_read_ahead *a, int64_t chunk, const levada_error *why)
{
    if (why->code == LEVADA_OK || (a->failed >= 0 && a->failed <= chunk)) return;
    a->failed = chunk;
    a->why = *why;
}

/* Frames the chunk whose turn it is, lets the next one begin, and verifies. */
static void ahead_frame_locked(levada_read_ahead *a)
{
    int64_t        chunk = atomic_load_explicit(&a->framing, memory_order_relaxed);
    ahead_slot    *s = ahead_slot_of(a, chunk);
    levada_buffer *tail = a->tail;
    levada_woken   woken = { 0 };
    bool           good;

    a->tail = NULL;
    a->framer = true;
    s->state = AHEAD_FRAMING;
    s->offset = a->offset;
    levada_lock_give(&a->lock);
    good = ahead_join(a, s, tail ? tail->data + a->tail_at : NULL, a->tail_size) &&
           ahead_frame(a, s);
    levada_buffer_unref(&tail);
    levada_lock_take(&a->lock);
    a->framer = false;
    if (a->tail_size > a->lead && a->tail_size <= AHEAD_TAIL / 2)
        a->lead = ahead_lead(2 * a->tail_size);
    if (good) {
        ahead_hand_over_locked(a, s);
        atomic_store_explicit(&a->framing, chunk + 1, memory_order_release);
        levada_lock_give(&a->lock);
        good = ahead_verify(a, s);
        levada_lock_take(&a->lock);
    }
    s->state = AHEAD_READY;
    if (!good) ahead_end_locked(a, chunk);
    ahead_tell_locked(a, &woken);
    ahead_unlock(a, &woken);
    levada_lock_take(&a->lock);
}

static bool ahead_can_draw_locked(const levada_read_ahead *a)
{
    return a->active && a->draw < a->chunks && a->draw - a->take < a->nslots;
}

/* Spins for a moment until the turn of the chunk comes, because the caches of the thread that read
 * it have its bytes. */
static void ahead_look(const levada_read_ahead *a, int64_t chunk)
{
    int64_t until = levada_now() + AHEAD_SPIN;

    while (atomic_load_explicit(&a->framing, memory_order_acquire) < chunk && levada_now() < until)
        LEVADA_PAUSE();
}

static void ahead_draw_locked(levada_read_ahead *a)
{
    int64_t      chunk = a->draw++, lead = a->lead;
    ahead_slot  *s = ahead_slot_of(a, chunk);
    levada_error why = LEVADA_ERROR_INIT;
    bool         good;

    s->state = AHEAD_READING;
    a->inside++;
    levada_lock_give(&a->lock);
    good = ahead_read(a, s, chunk, lead, &why);
    if (good) ahead_look(a, chunk);
    levada_lock_take(&a->lock);
    s->state = AHEAD_READ;
    if (!good) {
        ahead_end_locked(a, chunk);
        ahead_failed_locked(a, chunk, &why);
    }
    while (ahead_can_frame_locked(a)) ahead_frame_locked(a);
    a->inside--;
}

bool levada_read_ahead_work(levada_read_ahead *a, bool work)
{
    levada_woken woken = { 0 };
    bool         works;

    if (!levada_read_ahead_active(a)) return false;
    levada_lock_take(&a->lock);
    works = ahead_can_draw_locked(a);
    if (works && work) {
        ahead_draw_locked(a);
        ahead_tell_locked(a, &woken);
    }
    ahead_unlock(a, &woken);
    return works;
}

/* -- the owner */

static void ahead_wait_locked(levada_read_ahead *a)
{
    levada_line_wait_locked(&a->waits, &a->lock, &a->site, "chunk");
}

static void ahead_free_slot(ahead_slot *s)
{
    levada_buffer_unref(&s->buffer);
    s->state = AHEAD_FREE;
}

void levada_read_ahead_start(levada_read_ahead *a, const levada_window *w)
{
    int64_t end = w->offset + levada_window_size(w);
    int64_t left = levada_bytes_left(w->bytes);

    if (left < 2 * LEVADA_STEP || end % LEVADA_STEP != 0 || !levada_bytes_shared(w->bytes) ||
        levada_framing_enter(&a->reader->framing, a->format, w->offset, -1, NULL) != LEVADA_OK) {
        return;
    }
    levada_lock_take(&a->lock);
    a->bytes = w->bytes;
    a->draw = a->take = end / LEVADA_STEP;
    a->chunks = (end + left) / LEVADA_STEP;
    a->failed = -1;
    a->offset = w->offset;
    a->tail_at = w->at;
    a->tail_size = levada_window_size(w);
    if (w->chunk) a->tail = levada_buffer_ref(w->chunk);
    atomic_store(&a->framing, a->draw);
    atomic_store(&a->active, true);
    levada_lock_give(&a->lock);
}

void levada_read_ahead_stop(levada_read_ahead *a)
{
    if (!levada_read_ahead_active(a)) return;
    levada_lock_take(&a->lock);
    atomic_store(&a->active, false);
    while (a->inside > 0) ahead_wait_locked(a);
    for (int64_t i = 0; i < a->nslots; i++) ahead_free_slot(&a->slots[i]);
    levada_buffer_unref(&a->tail);
    a->bytes = NULL;
    levada_lock_give(&a->lock);
}

void levada_read_ahead_end(levada_read_ahead *a, levada_error *why, int64_t *why_at)
{
    levada_read_ahead_stop(a);
    if (a->failed < 0) return;
    *why = a->why; /* no other thread is inside any more */
    *why_at = a->failed * LEVADA_STEP;
}

/* Works until the chunk that comes next is ready; returns false if there is none. */
static bool ahead_ready_locked(levada_read_ahead *a)
{
    for (;;) {
        if (a->take >= a->chunks) return false;
        if (a->take < a->draw && ahead_slot_of(a, a->take)->state == AHEAD_READY) return true;
        if (ahead_can_frame_locked(a)) ahead_frame_locked(a);
        else if (ahead_can_draw_locked(a)) ahead_draw_locked(a);
        else ahead_wait_locked(a);
    }
}

bool levada_read_ahead_take(levada_read_ahead *a, levada_window *w, levada_framed *framed)
{
    levada_framed before = *framed;
    bool          ready;

    levada_lock_take(&a->lock);
    ready = ahead_ready_locked(a) && ahead_slot_of(a, a->take)->offset == w->offset;
    if (ready) {
        ahead_slot *s = ahead_slot_of(a, a->take++);

        *framed = s->framed;
        s->framed = before;
        levada_buffer_unref(&w->chunk);
        w->chunk = s->buffer;
        w->at = s->begin;
        w->filled = s->end;
        s->buffer = NULL;
        s->state = AHEAD_FREE;
    }
    levada_lock_give(&a->lock);
    return ready;
}
