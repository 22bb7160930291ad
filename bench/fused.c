/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The limit of parsing and batching: levada's own kernels in one loop, for the files of the bench
 * alone. Records are read, checked, framed, scanned and written to their place in a batch;
 * nothing else is done. There are no blocks, no origins, no states, no errors (all end the
 * process), no threads and no spec: the rest of levada's time is for these.
 *
 * Works whose names end in "_memory" have the file in memory, framed and checked before.
 */
#define _POSIX_C_SOURCE 200809L
#include "harness.h"

#include "base/kernels.h"
#include "base/prefetch.h"
#include "decode/proto.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    FUSED_CHUNK = 256 << 10,
    FUSED_SLACK = LEVADA_KERNEL_SLACK,
    FUSED_CHUNKS = 512, /* that waiting records may keep */
    FUSED_FRAMES = FUSED_CHUNK / 16,
    FUSED_SLOTS = 40,
    FUSED_BATCH = 256, /* rows of a batch; of a bucket a quarter */
    FUSED_BUCKETS = 11,
    FUSED_SHUFFLE = 10000,
    FUSED_AHEAD = 8, /* records that are prefetched before they are looked at */
    FUSED_LONGEST = 4096, /* values in a row; steps a quarter */
    FUSED_CAPACITY = FUSED_BATCH * FUSED_LONGEST / 4 * 80 /* bytes of a batch */
};

typedef struct fused_state fused_state;

/* Bytes of the file. Waiting records keep their chunk. */
typedef struct fused_chunk {
    struct fused_chunk *next; /* of those that are free */
    uint8_t            *data; /* with slack on both sides */
    int32_t             refs;
} fused_chunk;

/* A row of A or S that waits until its batch is complete. */
typedef struct fused_row {
    levada_span  tokens, feat, name; /* feature lists of S; A has tokens alone */
    int32_t      count;              /* tokens, steps */
    int64_t      label;
    fused_chunk *chunk; /* NULL: the file is in memory */
} fused_row;

/* A record that waits in the shuffle. */
typedef struct fused_record {
    const uint8_t *begin, *end;
    fused_chunk   *chunk;
} fused_record;

typedef struct fused_batch {
    int32_t   n, rows; /* waiting; when it is complete */
    fused_row row[FUSED_BATCH];
} fused_batch;

struct fused_state {
    int                   fd;
    const levada_kernels *kernels;
    fused_chunk          *free, *chunk; /* the chunk at hand */
    int32_t              *begin, *end;
    levada_bench_file     file;   /* in memory, else empty */
    int64_t               frames; /* of it */
    levada_slot           slots[FUSED_SLOTS];
    char                  names[FUSED_SLOTS][8];
    int32_t               nslots;
    levada_keys           keys, lists;
    levada_span           span[FUSED_SLOTS]; /* of the record at hand */
    void (*add)(fused_state *s, levada_bench_count *count);
    void (*finish)(fused_state *s, levada_bench_count *count);
    fused_batch batch[FUSED_BUCKETS]; /* only [0] without buckets */
    bool        buckets;
    fused_record *waiting; /* FUSED_SHUFFLE of them; NULL: in order */
    fused_record  ahead[FUSED_AHEAD];
    int32_t       nwaiting;
    uint32_t      nahead; /* records that went through `ahead` */
    uint64_t      random;
    int32_t     n;    /* rows in the batch at hand: B and F */
    uint8_t    *to;   /* the batch: columns one after the other, or padded rows */
    int64_t    *one;  /* single numbers of a batch */
};

enum { FUSED_ID, FUSED_NAME, FUSED_TOKENS, FUSED_FEAT }; /* slots of S */

/* -- scan -------------------------------------------------------------------------------------- */

static const uint8_t *fused_entry(fused_state *s, const uint8_t *p, const uint8_t *end)
{
    uint32_t       size, key_size, value_size;
    const uint8_t *key, *value;
    int32_t        slot;

    if (*p != LEVADA_WIRE_SIZED(1)) return NULL;
    p = levada_wire_sized(p + 1, end, &size);
    if (p == NULL || *p != LEVADA_WIRE_SIZED(1)) return NULL;
    key = levada_wire_sized(p + 1, p + size, &key_size);
    if (key == NULL || key[key_size] != LEVADA_WIRE_SIZED(2)) return NULL;
    value = levada_wire_sized(key + key_size + 1, p + size, &value_size);
    if (value == NULL || value + value_size != p + size) return NULL;
    slot = levada_keys_find(&s->keys, key, key_size);
    if (slot < 0 || !levada_feature_usual(&s->slots[slot], value, p + size, &s->span[slot]))
        return NULL;
    return p + size;
}

static void fused_scan_map(fused_state *s, const uint8_t *p, const uint8_t *end)
{
    s->keys.last = s->keys.keys;
    while (p != NULL && p < end) {
        const levada_key *k = levada_keys_expected(&s->keys, p, end);

        if (k != NULL) {
            s->span[k->slot].at = p + k->form.head;
            s->span[k->slot].size = (int32_t)(p[1] - k->form.least);
            p += 2 + p[1];
        } else {
            p = fused_entry(s, p, end);
        }
    }
    if (p == NULL) levada_bench_die("record", "not as expected");
}

/* The feature lists of a SequenceExample stay as they are until their batch is complete. */
static void fused_scan_lists(fused_state *s, const uint8_t *p, const uint8_t *end)
{
    while (p != NULL && p < end) {
        uint32_t       size, key_size, value_size;
        const uint8_t *key, *value;
        int32_t        slot;

        p = levada_wire_sized(p + 1, end, &size);
        key = p == NULL ? NULL : levada_wire_sized(p + 1, p + size, &key_size);
        value = key == NULL ? NULL : levada_wire_sized(key + key_size + 1, p + size, &value_size);
        slot = value == NULL ? -1 : levada_keys_find(&s->lists, key, key_size);
        if (slot < 0) levada_bench_die("record", "not as expected");
        s->span[slot] = (levada_span){value, (int32_t)value_size, false};
        p += size;
    }
}

/* The payloads of one record, to s->span. */
static void fused_scan(fused_state *s, const uint8_t *p, const uint8_t *end)
{
    while (p < end) {
        uint8_t  tag = *p;
        uint32_t size;

        p = levada_wire_sized(p + 1, end, &size);
        if (p == NULL) levada_bench_die("record", "cut off");
        if (tag == LEVADA_WIRE_SIZED(1)) fused_scan_map(s, p, p + size);
        else fused_scan_lists(s, p, p + size);
        p += size;
    }
}

/* -- rows to batches --------------------------------------------------------------------------- */

static void fused_release(fused_state *s, fused_chunk *chunk)
{
    if (chunk == NULL || --chunk->refs > 0) return;
    chunk->next = s->free;
    s->free = chunk;
}

/* Pads the rows that wait: each is decoded to its place. */
static void fused_pad(fused_state *s, fused_batch *b, levada_bench_count *count)
{
    int64_t  longest = 0;
    int64_t *to = (int64_t *)(void *)s->to;

    for (int32_t i = 0; i < b->n; ++i)
        if (b->row[i].count > longest) longest = b->row[i].count;
    for (int32_t i = 0; i < b->n; ++i, to += longest) {
        const fused_row *row = &b->row[i];

        if (s->kernels->varint_i64(row->tokens.at, (size_t)row->tokens.size, to) != row->count)
            levada_bench_die("record", "broken tokens");
        memset(to + row->count, 0, (size_t)(longest - row->count) * sizeof *to);
        s->one[i] = row->label;
        fused_release(s, row->chunk);
    }
    count->bytes += b->n * longest * (int64_t)sizeof *to;
    count->check += (uint64_t)to[-1];
    b->n = 0;
}

enum { FUSED_STEP = 70, FUSED_STEP_HEAD = 6, FUSED_STEP_BYTES = 64 };

/* Steps of 16 floats, all of one size. */
static void fused_feats(const levada_span *list, uint8_t *to)
{
    static const uint8_t head[FUSED_STEP_HEAD] = {0x0A, 68, 0x12, 66, 0x0A, 64};

    for (int32_t at = 0; at < list->size; at += FUSED_STEP, to += FUSED_STEP_BYTES) {
        if (memcmp(list->at + at, head, sizeof head) != 0)
            levada_bench_die("record", "another step");
        memcpy(to, list->at + at + FUSED_STEP_HEAD, FUSED_STEP_BYTES);
    }
}

/* Steps of one token: tag, size, tag, size, tag, size, varint. */
static void fused_tokens(const levada_span *list, int64_t *to, int64_t *end)
{
    const uint8_t *p = list->at, *last = p + list->size;

    for (; p < last && to < end; p += 2 + p[1], ++to)
        if (!levada_payload_one(p + FUSED_STEP_HEAD, p[1] - (FUSED_STEP_HEAD - 2), to))
            levada_bench_die("record", "no number");
    if (p != last || to != end) levada_bench_die("record", "another number of steps");
}

/* Batches of S: name and id, padded tokens and padded steps of floats. */
static void fused_pad_steps(fused_state *s, fused_batch *b, levada_bench_count *count)
{
    int64_t  longest = 0, *tokens;
    uint8_t *feats, *names;

    for (int32_t i = 0; i < b->n; ++i)
        if (b->row[i].count > longest) longest = b->row[i].count;
    tokens = (int64_t *)(void *)s->to;
    feats = (uint8_t *)(tokens + longest * b->n);
    names = feats + longest * b->n * FUSED_STEP_BYTES;
    for (int32_t i = 0; i < b->n; ++i, tokens += longest, feats += longest * FUSED_STEP_BYTES) {
        const fused_row *row = &b->row[i];
        size_t           rest = (size_t)(longest - row->count);

        fused_tokens(&row->tokens, tokens, tokens + row->count);
        memset(tokens + row->count, 0, rest * sizeof *tokens);
        fused_feats(&row->feat, feats);
        memset(feats + row->count * FUSED_STEP_BYTES, 0, rest * FUSED_STEP_BYTES);
        memcpy(names, row->name.at, (size_t)row->name.size);
        names += row->name.size;
        s->one[i] = row->label;
        fused_release(s, row->chunk);
    }
    count->bytes += b->n * longest * (FUSED_STEP_BYTES + (int64_t)sizeof *tokens);
    count->check += s->to[0];
    b->n = 0;
}

static int32_t fused_bucket_of_steps(int32_t length)
{
    static const int32_t bounds[] = {32, 48, 64, 80, 96, 128, 160, 224, 320, 448};
    int32_t              k = 0;

    for (int32_t i = 0; i < FUSED_BUCKETS - 1; ++i) k += length >= bounds[i];
    return k;
}

static void fused_add_s(fused_state *s, levada_bench_count *count)
{
    const levada_span *name = &s->span[FUSED_NAME];
    fused_batch       *b;
    fused_row          row = {.tokens = s->span[FUSED_TOKENS], .feat = s->span[FUSED_FEAT],
                              .name = {name->at + 2, name->size - 2, false}, .chunk = s->chunk};

    row.count = row.feat.size / FUSED_STEP;
    if (row.feat.size % FUSED_STEP != 0 || row.count > FUSED_LONGEST / 4 ||
        !levada_payload_one(s->span[FUSED_ID].at, s->span[FUSED_ID].size, &row.label))
        levada_bench_die("record", "not as expected");
    ++row.chunk->refs;
    b = &s->batch[s->buckets ? fused_bucket_of_steps(row.count) : 0];
    b->row[b->n++] = row;
    if (b->n == b->rows) fused_pad_steps(s, b, count);
}

static void fused_finish_s(fused_state *s, levada_bench_count *count)
{
    for (int32_t i = 0; i < FUSED_BUCKETS; ++i)
        if (s->batch[i].n > 0) fused_pad_steps(s, &s->batch[i], count);
}

static int32_t fused_bucket(int32_t length)
{
    static const int32_t bounds[] = {64, 96, 128, 160, 192, 256, 320, 448, 640, 1024};
    int32_t              k = 0;

    for (int32_t i = 0; i < FUSED_BUCKETS - 1; ++i) k += length >= bounds[i];
    return k;
}

static void fused_add_a(fused_state *s, levada_bench_count *count)
{
    uint32_t     sizes = 0;
    fused_batch *b;
    fused_row    row = {.tokens = s->span[0], .chunk = s->chunk};

    row.count = (int32_t)s->kernels->varint_sizes(row.tokens.at, (size_t)row.tokens.size, &sizes);
    if ((sizes & LEVADA_VARINT_OVER_10) || row.count > FUSED_LONGEST ||
        !levada_payload_one(s->span[1].at, s->span[1].size, &row.label))
        levada_bench_die("record", "broken numbers");
    if (row.chunk != NULL) ++row.chunk->refs;
    b = &s->batch[s->buckets ? fused_bucket(row.count) : 0];
    b->row[b->n++] = row;
    if (b->n == b->rows) fused_pad(s, b, count);
}

static void fused_finish_a(fused_state *s, levada_bench_count *count)
{
    for (int32_t i = 0; i < FUSED_BUCKETS; ++i)
        if (s->batch[i].n > 0) fused_pad(s, &s->batch[i], count);
}

/* A batch of columns is done when its last row is there. */
static void fused_row_done(fused_state *s, levada_bench_count *count)
{
    if (++s->n < FUSED_BATCH) return;
    s->n = 0;
    count->check += s->to[0];
}

static void fused_add_b(fused_state *s, levada_bench_count *count)
{
    for (int32_t k = 0; k < FUSED_SLOTS; ++k) {
        uint8_t *column = s->to + (size_t)k * FUSED_BATCH * sizeof(int64_t);

        if (k % 2 == 1) {
            if (s->span[k].size != 4) levada_bench_die("record", "no number");
            memcpy(column + 4 * (size_t)s->n, s->span[k].at, 4);
        } else if (!levada_payload_one(s->span[k].at, s->span[k].size,
                                       (int64_t *)(void *)column + s->n)) {
            levada_bench_die("record", "no number");
        }
    }
    fused_row_done(s, count);
}

static void fused_add_f(fused_state *s, levada_bench_count *count)
{
    if (s->span[0].size != 2048 ||
        !levada_payload_one(s->span[1].at, s->span[1].size, &s->one[s->n]))
        levada_bench_die("record", "not as expected");
    memcpy(s->to + 2048 * (size_t)s->n, s->span[0].at, 2048);
    fused_row_done(s, count);
}

static void fused_finish_columns(fused_state *s, levada_bench_count *count)
{
    count->check += s->to[0];
    s->n = 0;
}

/* -- shuffle ----------------------------------------------------------------------------------- */

/* The record that was chosen FUSED_AHEAD records ago. */
static void fused_next(fused_state *s, levada_bench_count *count)
{
    fused_record r = s->ahead[s->nahead % FUSED_AHEAD];

    if (r.chunk == NULL) return;
    s->chunk = r.chunk;
    fused_scan(s, r.begin, r.end);
    s->add(s, count);
    fused_release(s, r.chunk);
}

/* Takes a record out of the shuffle, and puts `in` in its place. */
static void fused_swap(fused_state *s, fused_record in, levada_bench_count *count)
{
    fused_record *r;

    s->random = s->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    r = &s->waiting[(s->random >> 32) * (uint64_t)s->nwaiting >> 32];
    fused_next(s, count);
    s->ahead[s->nahead++ % FUSED_AHEAD] = *r;
    levada_prefetch(r->begin, r->end - r->begin);
    *r = in;
}

static void fused_shuffle(fused_state *s, const uint8_t *data, int32_t n,
                          levada_bench_count *count)
{
    fused_chunk *chunk = s->chunk;

    chunk->refs += n;
    for (int32_t i = 0; i < n; ++i) {
        fused_record in = {data + s->begin[i], data + s->end[i], chunk};

        if (s->nwaiting < FUSED_SHUFFLE) s->waiting[s->nwaiting++] = in;
        else fused_swap(s, in, count);
    }
    s->chunk = chunk;
    count->records += n;
}

/* Drains what waits at the end of the file. */
static void fused_drain(fused_state *s, levada_bench_count *count)
{
    fused_chunk *chunk = s->chunk;

    while (s->nwaiting > 0) {
        fused_record last = s->waiting[s->nwaiting - 1];

        fused_swap(s, last, count);
        s->nwaiting--;
    }
    for (int i = 0; i < FUSED_AHEAD; ++i) {
        fused_next(s, count);
        s->ahead[s->nahead++ % FUSED_AHEAD].chunk = NULL;
    }
    s->chunk = chunk;
}

/* -- the file ---------------------------------------------------------------------------------- */

static fused_chunk *fused_chunk_take(fused_state *s)
{
    fused_chunk *chunk = s->free;

    if (chunk == NULL) levada_bench_die("chunks", "too many are waited for");
    s->free = chunk->next;
    chunk->refs = 1;
    return chunk;
}

static void fused_frames(fused_state *s, const uint8_t *data, int32_t n,
                         levada_bench_count *count)
{
    for (int32_t i = 0; i < n; ++i) {
        fused_scan(s, data + s->begin[i], data + s->end[i]);
        s->add(s, count);
    }
    count->records += n;
}

/* Reads the file chunk by chunk; the incomplete record at the end of one begins the next. */
static void fused_pass(void *state, levada_bench_count *count)
{
    fused_state *s = state;
    int64_t      offset = 0;
    size_t       have = 0;

    s->chunk = fused_chunk_take(s);
    for (;;) {
        fused_chunk        *last = s->chunk;
        ssize_t             got = pread(s->fd, last->data + have, FUSED_CHUNK - have, offset);
        levada_frame_result r;

        if (got < 0) levada_bench_die("cannot read", "pread");
        if (got == 0) break;
        offset += got;
        have += (size_t)got;
        r = s->kernels->frame_tfrecord(last->data, have, LEVADA_FRAME_CHECK_ALL, s->begin, s->end,
                                       FUSED_FRAMES);
        if (r.records == 0) levada_bench_die("record", "too long or damaged");
        if (s->waiting != NULL) fused_shuffle(s, last->data, r.records, count);
        else fused_frames(s, last->data, r.records, count);
        s->chunk = fused_chunk_take(s);
        have -= r.used;
        memcpy(s->chunk->data, last->data + r.used, have);
        fused_release(s, last);
    }
    if (have > 0) levada_bench_die("file", "ends in a record");
    if (s->waiting != NULL) fused_drain(s, count);
    s->finish(s, count);
    fused_release(s, s->chunk);
    s->chunk = NULL;
}

static void fused_memory_pass(void *state, levada_bench_count *count)
{
    fused_state *s = state;

    fused_frames(s, s->file.data, (int32_t)s->frames, count);
    s->finish(s, count);
}

/* -- setup ------------------------------------------------------------------------------------- */

static void fused_slot(fused_state *s, const char *name, levada_list list)
{
    levada_slot *slot = &s->slots[s->nslots];

    snprintf(s->names[s->nslots], sizeof s->names[0], "%s", name);
    *slot = (levada_slot){.key = s->names[s->nslots], .size = (uint32_t)strlen(name), .list = list,
                          .tag = LEVADA_WIRE_SIZED(list)};
    s->nslots++;
}

static void fused_slots(fused_state *s, char file)
{
    char name[8];

    switch (file) {
    case 'a':
        fused_slot(s, "tokens", LEVADA_LIST_INT64);
        fused_slot(s, "label", LEVADA_LIST_INT64);
        break;
    case 's':
        fused_slot(s, "id", LEVADA_LIST_INT64);
        fused_slot(s, "name", LEVADA_LIST_BYTES);
        fused_slot(s, "tokens", LEVADA_LIST_INT64);
        fused_slot(s, "feat", LEVADA_LIST_FLOAT);
        break;
    case 'f':
        fused_slot(s, "feat", LEVADA_LIST_FLOAT);
        fused_slot(s, "label", LEVADA_LIST_INT64);
        break;
    default:
        for (int k = 0; k < FUSED_SLOTS; ++k) {
            snprintf(name, sizeof name, "f%02d", k % 100);
            fused_slot(s, name, k % 2 == 1 ? LEVADA_LIST_FLOAT : LEVADA_LIST_INT64);
        }
    }
}

static void fused_load(fused_state *s, const char *path)
{
    size_t at = 0;

    s->file = levada_bench_file_load(path);
    s->begin = levada_bench_alloc(2 * (s->file.size / 16 + 1) * sizeof *s->begin);
    s->end = s->begin + s->file.size / 16 + 1;
    while (at < s->file.size) {
        uint64_t size;

        memcpy(&size, s->file.data + at, sizeof size);
        s->begin[s->frames] = (int32_t)(at + 12);
        at += size + 16;
        s->end[s->frames++] = (int32_t)(at - 4);
        if (at > INT32_MAX) levada_bench_die("file", "too large");
    }
}

static void fused_stream(fused_state *s, const char *path)
{
    fused_chunk *chunks = levada_bench_alloc(FUSED_CHUNKS * sizeof *chunks);

    s->fd = open(path, O_RDONLY | O_CLOEXEC);
    if (s->fd < 0) levada_bench_die("cannot open", path);
    s->begin = levada_bench_alloc(2 * FUSED_FRAMES * sizeof *s->begin);
    s->end = s->begin + FUSED_FRAMES;
    for (int k = FUSED_CHUNKS; k-- > 0;) {
        uint8_t *data = malloc(FUSED_CHUNK + 2 * FUSED_SLACK); /* touched when it is used */

        if (data == NULL) levada_bench_die("memory", "none");
        chunks[k] = (fused_chunk){.next = s->free, .data = data + FUSED_SLACK};
        s->free = &chunks[k];
    }
}

/* `user` says it: the file, then m for memory, b for buckets, s for buckets after a shuffle. */
static void *fused_open(const levada_bench_args *args)
{
    const char  *how = args->user;
    fused_state *s = levada_bench_alloc(sizeof *s);
    levada_error err = LEVADA_ERROR_INIT;
    int32_t      context;

    s->kernels = levada_kernels_for(LEVADA_CPU_AUTO);
    fused_slots(s, how[0]);
    context = how[0] == 's' ? FUSED_TOKENS : s->nslots;
    if (levada_keys_init(&s->keys, s->slots, 0, context, &err) != LEVADA_OK ||
        levada_keys_init(&s->lists, s->slots, context, s->nslots, &err) != LEVADA_OK)
        levada_bench_die("memory", "none");
    s->lists.last = s->lists.keys;
    s->buckets = how[1] == 'b' || how[1] == 's';
    if (how[1] == 's') s->waiting = levada_bench_alloc(FUSED_SHUFFLE * sizeof *s->waiting);
    for (int k = 0; k < FUSED_BUCKETS; ++k)
        s->batch[k].rows = s->buckets ? FUSED_BATCH / 4 : FUSED_BATCH;
    switch (how[0]) {
    case 'a': s->add = fused_add_a; break;
    case 'b': s->add = fused_add_b; break;
    case 'f': s->add = fused_add_f; break;
    default: s->add = fused_add_s; break;
    }
    s->finish = how[0] == 'a' ? fused_finish_a : how[0] == 's' ? fused_finish_s
                                                              : fused_finish_columns;
    s->to = levada_bench_alloc(FUSED_CAPACITY + FUSED_SLACK);
    s->one = levada_bench_alloc(FUSED_BATCH * sizeof *s->one);
    if (how[1] == 'm') fused_load(s, args->path);
    else fused_stream(s, args->path);
    return s;
}

const levada_bench_work levada_bench_works[] = {
    {"fused_a", fused_open, fused_pass, "a"},
    {"fused_b", fused_open, fused_pass, "b"},
    {"fused_f", fused_open, fused_pass, "f"},
    {"fused_buckets_a", fused_open, fused_pass, "ab"},
    {"fused_s", fused_open, fused_pass, "s"},
    {"fused_buckets_s", fused_open, fused_pass, "sb"},
    {"fused_main_a", fused_open, fused_pass, "as"},
    {"fused_a_memory", fused_open, fused_memory_pass, "am"},
    {"fused_b_memory", fused_open, fused_memory_pass, "bm"},
    {"fused_f_memory", fused_open, fused_memory_pass, "fm"},
    {NULL, NULL, NULL, NULL},
};
