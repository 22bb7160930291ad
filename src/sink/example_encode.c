/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds Example and SequenceExample messages. Each part of the message (features, lists, the open
 * list) is one growing run of bytes. The size of a part, which comes before it in the message, is
 * written when the part is complete.
 */
#include "base/alloc.h"
#include "base/assert.h"
#include "base/wire.h"
#include <levada/example.h>

#define ENCODE_HEAD 32 /* most bytes of tags and sizes before a payload */

typedef struct encode_bytes {
    uint8_t *at;
    size_t size;
    int64_t capacity;
} encode_bytes;

struct levada_example {
    encode_bytes features, lists, steps, message;
    encode_bytes key; /* of the open list */
    bool open;
};

/* One Feature that is about to be written: its payload is in [at, at + size) of no buffer yet. */
typedef struct encode_feature {
    const char *key; /* NULL = a step */
    size_t key_size;
    uint8_t list;
    bool packed;
    size_t payload;
} encode_feature;

levada_status levada_example_create(levada_example **out, levada_error *err)
{
    LEVADA_TRY(levada_require(out != NULL, "out", err));
    *out = levada_alloc_zero(sizeof **out);
    return *out ? LEVADA_OK
                : levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for an example");
}

void levada_example_destroy(levada_example **example)
{
    if (!example) return;
    levada_example *e = *example;

    *example = NULL;
    if (!e) return;
    levada_free(e->features.at);
    levada_free(e->lists.at);
    levada_free(e->steps.at);
    levada_free(e->message.at);
    levada_free(e->key.at);
    levada_free(e);
}

void levada_example_reset(levada_example *example)
{
    if (!example) return;
    example->features.size = example->lists.size = example->steps.size = 0;
    example->open = false;
}

/* Reserves `more` bytes; a message cannot be larger than 2 GiB. */
static levada_status encode_reserve(encode_bytes *b, size_t more, levada_error *err)
{
    if (more > INT32_MAX || b->size + more > INT32_MAX) {
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED,
                           "a message must be smaller than 2 GiB; write fewer values in a record");
    }
    if (levada_reserve(&b->at, &b->capacity, (int64_t)(b->size + more), 1)) return LEVADA_OK;
    return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for an example");
}

/* Writes the head of a field of bytes; the caller has reserved the space. */
static uint8_t *encode_sized(uint8_t *p, unsigned field, size_t size)
{
    *p++ = LEVADA_WIRE_SIZED(field);
    return levada_wire_put(p, size);
}

static size_t encode_sized_size(size_t size) { return 1 + levada_wire_size_of(size) + size; }

/* Writes everything before the payload; *to is the place and the capacity of the payload. The
 * caller writes exactly f->payload bytes there. */
static levada_status encode_begin(levada_example *e, const encode_feature *f, uint8_t **to,
                                  levada_error *err)
{
    encode_bytes *b = f->key ? &e->features : &e->steps;
    size_t key = f->key ? f->key_size : 0;
    size_t list = f->packed && f->payload > 0 ? encode_sized_size(f->payload) : f->payload;
    size_t feature = f->list ? encode_sized_size(list) : 0;
    size_t entry = encode_sized_size(key) + encode_sized_size(feature);
    uint8_t *p;

    if (e->open == (f->key != NULL)) {
        (void)levada_fail(err, LEVADA_EFAILED_PRECONDITION,
                          e->open ? "cannot add feature '%.*s' while a feature list is open"
                                  : "cannot add a step%.*s: no feature list is open",
                          (int)(key < 100 ? key : 100), f->key ? f->key : "");
        return LEVADA_EFAILED_PRECONDITION;
    }
    if (f->payload > INT32_MAX || key > INT32_MAX) entry = SIZE_MAX / 2;
    LEVADA_TRY(encode_reserve(b, entry + ENCODE_HEAD, err));
    p = b->at + b->size;
    if (f->key) {
        p = encode_sized(p, 1, entry);
        p = encode_sized(p, 1, key);
        memcpy(p, f->key, key);
        p = encode_sized(p + key, 2, feature);
    } else {
        p = encode_sized(p, 1, feature);
    }
    if (f->list) p = encode_sized(p, f->list, list);
    if (f->packed && f->payload > 0) p = encode_sized(p, 1, f->payload);
    *to = p;
    b->size = (size_t)(p - b->at) + f->payload;
    return LEVADA_OK;
}

static levada_status encode_i64(levada_example *e, encode_feature f, const int64_t *values,
                                int64_t n, levada_error *err)
{
    uint8_t *p;

    f.list = 3;
    f.packed = true;
    for (int64_t i = 0; i < n; i++) f.payload += levada_wire_size_of((uint64_t)values[i]);
    LEVADA_TRY(encode_begin(e, &f, &p, err));
    for (int64_t i = 0; i < n; i++) p = levada_wire_put(p, (uint64_t)values[i]);
    return LEVADA_OK;
}

static levada_status encode_f32(levada_example *e, encode_feature f, const float *values, int64_t n,
                                levada_error *err)
{
    uint8_t *p;

    f.list = 2;
    f.packed = true;
    f.payload = (size_t)n * 4;
    LEVADA_TRY(encode_begin(e, &f, &p, err));
    if (n > 0) memcpy(p, values, f.payload);
    return LEVADA_OK;
}

static levada_status encode_strings(levada_example *e, encode_feature f, const void *const *values,
                                    const size_t *sizes, int64_t n, levada_error *err)
{
    uint8_t *p;

    f.list = 1;
    for (int64_t i = 0; i < n; i++) {
        if (sizes[i] > INT32_MAX) {
            return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED,
                               "value %lld is larger than 2 GiB", (long long)i);
        }
        f.payload += encode_sized_size(sizes[i]);
    }
    LEVADA_TRY(encode_begin(e, &f, &p, err));
    for (int64_t i = 0; i < n; i++) {
        p = encode_sized(p, 1, sizes[i]);
        if (sizes[i] > 0) memcpy(p, values[i], sizes[i]);
        p += sizes[i];
    }
    return LEVADA_OK;
}

static levada_status encode_check(const void *values, int64_t n, levada_error *err)
{
    LEVADA_TRY(levada_require_range(n, 0, INT64_MAX, "n", err));
    if (n > INT32_MAX) {
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED,
                           "a message must be smaller than 2 GiB; write fewer values in a record");
    }
    return levada_require(values != NULL || n == 0, "values", err);
}

static levada_status encode_check_strings(const void *const *values, const size_t *sizes,
                                          int64_t n, levada_error *err)
{
    LEVADA_TRY(encode_check(values, n, err));
    return levada_require(sizes != NULL || n == 0, "sizes", err);
}

/* Begins a feature of a terminated key; NULL = a step. */
static encode_feature encode_key(const char *key)
{
    return (encode_feature){ .key = key, .key_size = key ? strlen(key) : 0 };
}

levada_status levada_example_add_i64(levada_example *example, const char *key,
                                     const int64_t *values, int64_t n, levada_error *err)
{
    LEVADA_TRY(levada_require(example != NULL, "example", err));
    LEVADA_TRY(encode_check(values, n, err));
    return encode_i64(example, encode_key(key), values, n, err);
}

levada_status levada_example_add_f32(levada_example *example, const char *key,
                                     const float *values, int64_t n, levada_error *err)
{
    LEVADA_TRY(levada_require(example != NULL, "example", err));
    LEVADA_TRY(encode_check(values, n, err));
    return encode_f32(example, encode_key(key), values, n, err);
}

levada_status levada_example_add_bytes(levada_example *example, const char *key,
                                       const void *const *values, const size_t *sizes, int64_t n,
                                       levada_error *err)
{
    LEVADA_TRY(levada_require(example != NULL, "example", err));
    LEVADA_TRY(encode_check_strings(values, sizes, n, err));
    return encode_strings(example, encode_key(key), values, sizes, n, err);
}

levada_status levada_example_add_empty(levada_example *example, const char *key,
                                       levada_error *err)
{
    LEVADA_TRY(levada_require(example != NULL, "example", err));
    encode_feature f = encode_key(key);
    uint8_t *p;

    return encode_begin(example, &f, &p, err);
}

levada_status levada_example_add_values(levada_example *example, const char *key, size_t key_size,
                                        const levada_example_values *values, levada_error *err)
{
    LEVADA_TRY(levada_require(example != NULL, "example", err));
    LEVADA_TRY(levada_require(values != NULL, "values", err));
    LEVADA_TRY(levada_require_size(key_size, "key_size", err));
    encode_feature f = { .key = key, .key_size = key_size };
    uint8_t *p;

    switch (values->dtype) {
    case LEVADA_INT64:
        LEVADA_TRY(encode_check(values->i64, values->count, err));
        return encode_i64(example, f, values->i64, values->count, err);
    case LEVADA_FLOAT32:
        LEVADA_TRY(encode_check(values->f32, values->count, err));
        return encode_f32(example, f, values->f32, values->count, err);
    case LEVADA_BYTES:
    case LEVADA_TEXT:
        LEVADA_TRY(encode_check_strings(values->bytes, values->sizes, values->count, err));
        return encode_strings(example, f, values->bytes, values->sizes, values->count, err);
    case LEVADA_NONE: return encode_begin(example, &f, &p, err);
    default:
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "an Example must hold int64, float32 or bytes, got %s",
                           levada_dtype_name(values->dtype));
    }
}

levada_status levada_example_begin_list(levada_example *example, const char *key,
                                        levada_error *err)
{
    LEVADA_TRY(levada_require(example != NULL, "example", err));
    LEVADA_TRY(levada_require(key != NULL, "key", err));
    return levada_example_begin_list_key(example, key, strlen(key), err);
}

levada_status levada_example_begin_list_key(levada_example *example, const char *key,
                                            size_t size, levada_error *err)
{
    LEVADA_TRY(levada_require(example != NULL, "example", err));
    LEVADA_TRY(levada_require(key != NULL || size == 0, "key", err));
    LEVADA_TRY(levada_require_size(size, "key_size", err));
    if (example->open) {
        return levada_fail(err, LEVADA_EFAILED_PRECONDITION,
                           "cannot begin list '%.*s' before the open list ends",
                           (int)(size < 100 ? size : 100), key);
    }
    example->key.size = 0;
    LEVADA_TRY(encode_reserve(&example->key, size, err));
    if (size > 0) memcpy(example->key.at, key, size);
    example->key.size = size;
    example->steps.size = 0;
    example->open = true;
    return LEVADA_OK;
}

levada_status levada_example_end_list(levada_example *example, levada_error *err)
{
    LEVADA_TRY(levada_require(example != NULL, "example", err));
    const encode_bytes *key = &example->key, *steps = &example->steps;
    encode_bytes *b = &example->lists;
    size_t entry;
    uint8_t *p;

    if (!example->open) {
        return levada_fail(err, LEVADA_EFAILED_PRECONDITION,
                           "no feature list is open; call levada_example_begin_list() first");
    }
    entry = encode_sized_size(key->size) + encode_sized_size(steps->size);
    LEVADA_TRY(encode_reserve(b, entry + ENCODE_HEAD, err));
    p = encode_sized(b->at + b->size, 1, entry);
    p = encode_sized(p, 1, key->size);
    if (key->size > 0) memcpy(p, key->at, key->size);
    p = encode_sized(p + key->size, 2, steps->size);
    if (steps->size > 0) memcpy(p, steps->at, steps->size);
    b->size = (size_t)(p - b->at) + steps->size;
    example->open = false;
    return LEVADA_OK;
}

levada_status levada_example_finish(levada_example *example, const uint8_t **data, size_t *size,
                                    levada_error *err)
{
    LEVADA_TRY(levada_require(example != NULL, "example", err));
    LEVADA_TRY(levada_require(data != NULL, "data", err));
    LEVADA_TRY(levada_require(size != NULL, "size", err));
    encode_bytes *m = &example->message;
    const size_t features = example->features.size, lists = example->lists.size;
    uint8_t *p;

    if (example->open) {
        return levada_fail(err, LEVADA_EFAILED_PRECONDITION, "a feature list is still open; call "
                           "levada_example_end_list() first");
    }
    m->size = 0;
    LEVADA_TRY(encode_reserve(m, features + lists + ENCODE_HEAD, err));
    p = m->at;
    if (features > 0 || lists == 0) {
        p = encode_sized(p, 1, features);
        if (features > 0) memcpy(p, example->features.at, features);
        p += features;
    }
    if (lists > 0) {
        p = encode_sized(p, 2, lists);
        memcpy(p, example->lists.at, lists);
        p += lists;
    }
    m->size = (size_t)(p - m->at);
    *data = m->at;
    *size = m->size;
    return LEVADA_OK;
}
