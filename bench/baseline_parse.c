/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tf.train.Example the way TensorFlow's fast parser does it: split each message into key and value
 * spans, look the key up in a two-choice hash table, read varints one by one onto growing vectors,
 * and, when 256 examples are in, copy the vectors into padded or dense columns.
 */
#include "baseline.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    PARSE_BATCH = 256,
    PARSE_SLOTS = 128,
    PARSE_FEATURES = 40
};

typedef enum parse_kind { PARSE_INT64, PARSE_FLOAT } parse_kind;

typedef struct parse_feature {
    char       name[8];
    size_t     name_size;
    parse_kind kind;
    uint8_t   *values; /* 8 bytes an int64, 4 a float */
    size_t     used, capacity;
    size_t     ends[PARSE_BATCH]; /* values after each example */
    uint8_t   *out;               /* the padded column         */
    size_t     out_capacity;
} parse_feature;

typedef struct baseline_parse {
    levada_bench_stream stream;
    levada_bench_file   file;
    parse_feature       features[PARSE_FEATURES];
    int                 count;
    int16_t             slots[PARSE_SLOTS]; /* feature + 1, 0: empty */
    uint64_t            seed;
} baseline_parse;

typedef struct parse_span {
    const uint8_t *at, *end;
} parse_span;

/* -- messages ---------------------------------------------------------------------------------- */

static int baseline_parse_varint(parse_span *span, uint64_t *out)
{
    uint64_t value = 0;

    for (int shift = 0; shift < 70 && span->at < span->end; shift += 7) {
        uint8_t byte = *span->at++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *out = value;
            return 1;
        }
    }
    return 0;
}

/* Returns the next length-delimited field; other wire types do not occur in the bench files. */
static int baseline_parse_field(parse_span *span, uint32_t *tag, parse_span *body)
{
    uint64_t key, size;

    if (span->at >= span->end || !baseline_parse_varint(span, &key) || (key & 7) != 2)
        return 0;
    if (!baseline_parse_varint(span, &size) || size > (uint64_t)(span->end - span->at))
        return 0;
    *tag = (uint32_t)(key >> 3);
    *body = (parse_span){span->at, span->at + size};
    span->at += size;
    return 1;
}

static uint64_t baseline_parse_hash(const void *name, size_t size, uint64_t seed)
{
    const uint8_t *at = name;
    uint64_t       hash = seed ^ (size * UINT64_C(0x9e3779b97f4a7c15));

    for (; size >= 8; at += 8, size -= 8) {
        uint64_t word;
        memcpy(&word, at, sizeof word);
        hash = (hash ^ word) * UINT64_C(0xff51afd7ed558ccd);
        hash ^= hash >> 32;
    }
    for (; size > 0; --size)
        hash = (hash ^ *at++) * UINT64_C(0x100000001b3);
    hash *= UINT64_C(0xc4ceb9fe1a85ec53);
    return hash ^ hash >> 29;
}

static parse_feature *baseline_parse_find(baseline_parse *s, parse_span key)
{
    size_t   size = (size_t)(key.end - key.at);
    uint64_t hash = baseline_parse_hash(key.at, size, s->seed);

    for (int choice = 0; choice < 2; ++choice, hash >>= 32) {
        int             slot = s->slots[hash % PARSE_SLOTS];
        parse_feature  *f = &s->features[slot > 0 ? slot - 1 : 0];
        if (slot > 0 && f->name_size == size && memcmp(f->name, key.at, size) == 0)
            return f;
    }
    return NULL;
}

static void baseline_parse_grow(parse_feature *f, size_t width)
{
    if (f->used < f->capacity)
        return;
    f->capacity = f->capacity < 64 ? 64 : 2 * f->capacity;
    f->values = realloc(f->values, f->capacity * width);
    if (f->values == NULL)
        levada_bench_die("out of memory", "values");
}

static int baseline_parse_int64s(parse_feature *f, parse_span list)
{
    uint32_t   tag;
    parse_span packed;

    while (baseline_parse_field(&list, &tag, &packed)) {
        uint64_t value;
        while (packed.at < packed.end) {
            if (!baseline_parse_varint(&packed, &value))
                return 0;
            baseline_parse_grow(f, 8);
            memcpy(f->values + 8 * f->used++, &value, 8);
        }
    }
    return 1;
}

static int baseline_parse_floats(parse_feature *f, parse_span list)
{
    uint32_t   tag;
    parse_span packed;

    while (baseline_parse_field(&list, &tag, &packed))
        for (; packed.end - packed.at >= 4; packed.at += 4) {
            baseline_parse_grow(f, 4);
            memcpy(f->values + 4 * f->used++, packed.at, 4);
        }
    return 1;
}

static int baseline_parse_entry(baseline_parse *s, parse_span entry)
{
    uint32_t       tag;
    parse_span     key, value, list;
    parse_feature *f;

    if (!baseline_parse_field(&entry, &tag, &key) || tag != 1)
        return 0;
    if (!baseline_parse_field(&entry, &tag, &value) || tag != 2)
        return 0;
    f = baseline_parse_find(s, key);
    if (f == NULL)
        return 1;
    if (!baseline_parse_field(&value, &tag, &list))
        return 0;
    if (tag != (f->kind == PARSE_INT64 ? 3U : 2U))
        return 0;
    return f->kind == PARSE_INT64 ? baseline_parse_int64s(f, list)
                                  : baseline_parse_floats(f, list);
}

static void baseline_parse_example(baseline_parse *s, parse_span example, int row)
{
    uint32_t   tag;
    parse_span features, entry;

    while (baseline_parse_field(&example, &tag, &features))
        while (baseline_parse_field(&features, &tag, &entry))
            if (!baseline_parse_entry(s, entry))
                levada_bench_die("damaged record", "Example");
    for (int k = 0; k < s->count; ++k)
        s->features[k].ends[row] = s->features[k].used;
}

/* -- batches ----------------------------------------------------------------------------------- */

static void baseline_parse_column(parse_feature *f, int rows, levada_bench_count *count)
{
    size_t width = f->kind == PARSE_INT64 ? 8 : 4;
    size_t longest = 0, begin = 0;

    for (int row = 0; row < rows; begin = f->ends[row], ++row)
        if (f->ends[row] - begin > longest)
            longest = f->ends[row] - begin;
    if (longest * width * PARSE_BATCH > f->out_capacity) {
        f->out_capacity = longest * width * PARSE_BATCH;
        free(f->out);
        f->out = levada_bench_alloc(f->out_capacity);
    }
    begin = 0;
    for (int row = 0; row < rows; begin = f->ends[row], ++row) {
        uint8_t *to = f->out + (size_t)row * longest * width;
        size_t   size = (f->ends[row] - begin) * width;
        memcpy(to, f->values + begin * width, size);
        memset(to + size, 0, longest * width - size);
    }
    f->used = 0;
    count->check += f->out[0];
}

static void baseline_parse_flush(baseline_parse *s, int rows, levada_bench_count *count)
{
    for (int k = 0; k < s->count; ++k)
        baseline_parse_column(&s->features[k], rows, count);
    count->records += rows;
}

/* Returns the next record of a file in memory. */
static int baseline_parse_record(parse_span *rest, parse_span *record)
{
    uint64_t size;

    if (rest->at >= rest->end)
        return 0;
    memcpy(&size, rest->at, sizeof size);
    *record = (parse_span){rest->at + 12, rest->at + 12 + size};
    rest->at += size + 16;
    return 1;
}

/* Records that are in memory already, to columns. */
void levada_bench_parse(void *state, levada_bench_count *count)
{
    baseline_parse *s = state;
    parse_span      rest, record;
    int             row = 0;

    if (s->file.data == NULL)
        levada_bench_die("parse", "not loaded");
    rest = (parse_span){s->file.data, s->file.data + s->file.size};
    while (baseline_parse_record(&rest, &record)) {
        baseline_parse_example(s, record, row);
        count->bytes += record.end - record.at;
        if (++row == PARSE_BATCH) {
            baseline_parse_flush(s, row, count);
            row = 0;
        }
    }
    if (row > 0)
        baseline_parse_flush(s, row, count);
}

/* File to columns: a string per record, a batch of strings, then the parser. */
void levada_bench_batch(void *state, levada_bench_count *count)
{
    levada_bench_string strings[PARSE_BATCH];
    baseline_parse     *s = state;
    int                 rows = PARSE_BATCH;

    levada_bench_stream_rewind(&s->stream);
    while (rows == PARSE_BATCH) {
        for (rows = 0; rows < PARSE_BATCH; ++rows)
            if (!levada_bench_tf_read(&s->stream, &strings[rows]))
                break;
        for (int row = 0; row < rows; ++row) {
            const uint8_t *data = strings[row].data;
            baseline_parse_example(s, (parse_span){data, data + strings[row].size}, row);
            count->bytes += (int64_t)strings[row].size;
        }
        if (rows > 0)
            baseline_parse_flush(s, rows, count);
        for (int row = 0; row < rows; ++row)
            free(strings[row].data);
    }
}

/* -- set-up ------------------------------------------------------------------------------------ */

static void baseline_parse_add(baseline_parse *s, const char *name, parse_kind kind)
{
    parse_feature *f = &s->features[s->count++];

    f->name_size = (size_t)snprintf(f->name, sizeof f->name, "%s", name);
    f->kind = kind;
}

/* Tries seeds until each key has one of its two slots: what a cuckoo table comes to. */
static int baseline_parse_place(baseline_parse *s)
{
    memset(s->slots, 0, sizeof s->slots);
    for (int k = 0; k < s->count; ++k) {
        const parse_feature *f = &s->features[k];
        uint64_t             hash = baseline_parse_hash(f->name, f->name_size, s->seed);
        int16_t             *first = &s->slots[hash % PARSE_SLOTS];
        int16_t             *second = &s->slots[(hash >> 32) % PARSE_SLOTS];
        int16_t             *free_slot = *first == 0 ? first : second;

        if (*free_slot != 0)
            return 0;
        *free_slot = (int16_t)(k + 1);
    }
    return 1;
}

static void *baseline_parse_open(baseline_parse *s, const levada_bench_args *args)
{
    while (!baseline_parse_place(s))
        s->seed += 1;
    s->file = levada_bench_file_load(args->path);
    levada_bench_stream_open(&s->stream, args->path);
    return s;
}

void *levada_bench_open_a(const levada_bench_args *args)
{
    baseline_parse *s = levada_bench_alloc(sizeof *s);

    baseline_parse_add(s, "tokens", PARSE_INT64);
    baseline_parse_add(s, "label", PARSE_INT64);
    return baseline_parse_open(s, args);
}

int64_t *levada_bench_offsets(const levada_bench_args *args, int64_t *rows)
{
    baseline_parse *s = levada_bench_open_a(args);
    parse_span      rest = {s->file.data, s->file.data + s->file.size}, record;
    int64_t        *offsets = levada_bench_alloc((s->file.size / 16 + 1) * sizeof *offsets);

    for (*rows = 0; baseline_parse_record(&rest, &record); s->features[0].used = 0) {
        baseline_parse_example(s, record, 0);
        offsets[*rows + 1] = offsets[*rows] + (int64_t)s->features[0].used;
        *rows += 1;
    }
    free(s->file.data);
    return offsets;
}

void *levada_bench_open_b(const levada_bench_args *args)
{
    baseline_parse *s = levada_bench_alloc(sizeof *s);
    char            name[8];

    for (int k = 0; k < PARSE_FEATURES; ++k) {
        snprintf(name, sizeof name, "f%02d", k % 100);
        baseline_parse_add(s, name, k % 2 == 1 ? PARSE_FLOAT : PARSE_INT64);
    }
    return baseline_parse_open(s, args);
}

void *levada_bench_open_f(const levada_bench_args *args)
{
    baseline_parse *s = levada_bench_alloc(sizeof *s);

    baseline_parse_add(s, "feat", PARSE_FLOAT);
    baseline_parse_add(s, "label", PARSE_INT64);
    return baseline_parse_open(s, args);
}
