/* SPDX-License-Identifier: Apache-2.0 */
#include "option/value_priv.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "base/hash.h"
#include "tensor/record_hash.h"

#include <math.h>
#include <string.h>

struct levada_value {
    levada_value_kind kind;
    int32_t           nest;
    int64_t           n, capacity; /* items or entries; bytes of text; hash of a block */
    union {
        bool             b;
        int64_t          i;
        double           f;
        char            *text; /* terminated; bytes too */
        levada_value   **items;
        levada_dataset  *pipe;
        levada_function *function;
        levada_block    *block;
    } u;
    const levada_pipe_hooks *hooks; /* of a pipe                                        */
    char    **keys;  /* of a map                                                          */
    uint32_t *index; /* of a large map: 1 + number of the entry by hash of its key, or 0  */
    uint32_t  slots; /* of index: a power of two, at least twice n                        */
};

enum { VALUE_INDEXED = 16 };

static levada_value *value_create(levada_value_kind kind)
{
    levada_value *value = levada_alloc_zero(sizeof(*value));

    if (value != NULL) value->kind = kind;
    return value;
}

levada_value *levada_value_null(void)
{
    return value_create(LEVADA_VALUE_NULL);
}

levada_value *levada_value_bool(bool b)
{
    levada_value *value = value_create(LEVADA_VALUE_BOOL);

    if (value != NULL) value->u.b = b;
    return value;
}

levada_value *levada_value_int(int64_t i)
{
    levada_value *value = value_create(LEVADA_VALUE_INT);

    if (value != NULL) value->u.i = i;
    return value;
}

levada_value *levada_value_float(double f)
{
    levada_value *value = value_create(LEVADA_VALUE_FLOAT);

    if (value != NULL) value->u.f = f;
    return value;
}

static levada_value *value_create_text(levada_value_kind kind, const void *text, size_t size)
{
    levada_value *value = value_create(kind);

    if (value == NULL) return NULL;
    value->u.text = size < PTRDIFF_MAX ? levada_alloc(size + 1) : NULL;
    if (value->u.text == NULL) {
        levada_value_destroy(&value);
        return NULL;
    }
    if (size > 0) memcpy(value->u.text, text, size);
    value->u.text[size] = '\0';
    value->n = (int64_t)size;
    return value;
}

levada_value *levada_value_text(const char *text, size_t size)
{
    return value_create_text(LEVADA_VALUE_TEXT, text, size);
}

levada_value *levada_value_bytes(const void *bytes, size_t size)
{
    return value_create_text(LEVADA_VALUE_BYTES, bytes, size);
}

levada_value *levada_value_list(void)
{
    return value_create(LEVADA_VALUE_LIST);
}

levada_value *levada_value_map(void)
{
    return value_create(LEVADA_VALUE_MAP);
}

levada_value *levada_value_hold_pipe(const levada_dataset *pipe, int32_t nest,
                                     const levada_pipe_hooks *hooks)
{
    levada_value *value = value_create(LEVADA_VALUE_PIPE);

    if (value == NULL) return NULL;
    value->u.pipe = hooks->ref(pipe);
    value->nest = nest;
    value->hooks = hooks;
    return value;
}

void levada_value_print_pipe(levada_text *text, const levada_value *pipe, levada_print how)
{
    pipe->hooks->print(text, pipe->u.pipe, how);
}

levada_value *levada_value_function(const levada_function *function)
{
    if (!function) return NULL;
    levada_value *value = value_create(LEVADA_VALUE_FUNCTION);

    if (value != NULL) value->u.function = levada_function_ref(function);
    return value;
}

levada_value *levada_value_block(const levada_block *block)
{
    levada_value *value = value_create(LEVADA_VALUE_BLOCK);

    if (value == NULL || block == NULL) return value;
    value->u.block = levada_block_ref(block);
    value->n = (int64_t)levada_records_hash(block);
    return value;
}

int64_t levada_value_block_hash(const levada_value *value) { return value->n; }

static levada_value *value_copy_block(const levada_value *value)
{
    levada_value *copy = value_create(LEVADA_VALUE_BLOCK);

    if (copy == NULL || value->u.block == NULL) return copy;
    copy->u.block = levada_block_ref(value->u.block);
    copy->n = value->n;
    return copy;
}

static bool value_holds(const levada_value *value)
{
    return value != NULL && (value->kind == LEVADA_VALUE_LIST || value->kind == LEVADA_VALUE_MAP);
}

static void value_clear_items(levada_value *value)
{
    for (int64_t i = 0; i < value->n; i++) {
        levada_value_destroy(&value->u.items[i]);
        if (value->keys != NULL) levada_free(value->keys[i]);
    }
    levada_free(value->u.items);
    levada_free(value->keys);
    levada_free(value->index);
}

void levada_value_destroy(levada_value **value)
{
    if (!value) return;
    levada_value *v = *value;

    if (v == NULL) return;
    if (value_holds(v)) value_clear_items(v);
    if (v->kind == LEVADA_VALUE_TEXT || v->kind == LEVADA_VALUE_BYTES) levada_free(v->u.text);
    if (v->kind == LEVADA_VALUE_PIPE) v->hooks->unref(&v->u.pipe);
    if (v->kind == LEVADA_VALUE_FUNCTION) levada_function_unref(&v->u.function);
    if (v->kind == LEVADA_VALUE_BLOCK) levada_block_unref(&v->u.block);
    levada_free(v);
    *value = NULL;
}

static bool value_grow(levada_value *value)
{
    int64_t keys = value->capacity; /* the same as that of items, which may fail after it */
    bool    map = value->kind == LEVADA_VALUE_MAP;

    if (map && !levada_reserve(&value->keys, &keys, value->n + 1, sizeof(*value->keys))) {
        return false;
    }
    return levada_reserve(&value->u.items, &value->capacity, value->n + 1,
                          sizeof(*value->u.items));
}

/* Reserves space in *container for *item, which may be in it. */
static levada_status value_admit(levada_value *container, const levada_value *item,
                                 levada_error *err)
{
    if (item == NULL) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory");
    if (item->nest >= LEVADA_NEST_RAW) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "values are nested too deeply: the limit is %d levels", LEVADA_NEST_RAW);
    }
    if (!value_grow(container)) {
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory");
    }
    return LEVADA_OK;
}

static void value_adopt(levada_value *container, levada_value **item)
{
    if ((*item)->nest >= container->nest) container->nest = (*item)->nest + 1;
    container->u.items[container->n++] = *item;
    *item = NULL;
}

levada_status levada_value_push(levada_value *list, levada_value **item, levada_error *err)
{
    LEVADA_TRY(levada_require(item != NULL, "item", err));
    if (list == NULL || list->kind != LEVADA_VALUE_LIST) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "only a list has items; create the value with levada_value_list()");
    }
    LEVADA_TRY(value_admit(list, *item, err));
    value_adopt(list, item);
    return LEVADA_OK;
}

static uint32_t value_slot(const levada_value *map, const char *key)
{
    uint32_t mask = map->slots - 1, slot = (uint32_t)levada_hash64(key, strlen(key), 0) & mask;

    while (map->index[slot] != 0 && strcmp(map->keys[map->index[slot] - 1], key) != 0) {
        slot = (slot + 1) & mask;
    }
    return slot;
}

/* Returns the number of the entry, -1 if there is none. */
static int64_t value_find(const levada_value *map, const char *key)
{
    if (map->index != NULL) return (int64_t)map->index[value_slot(map, key)] - 1;
    for (int64_t i = 0; i < map->n; i++) {
        if (strcmp(map->keys[i], key) == 0) return i;
    }
    return -1;
}

/* Makes an index with space for one more entry, once the map is large. */
static levada_status value_reindex(levada_value *map, levada_error *err)
{
    if (map->n < VALUE_INDEXED || 2 * (map->n + 1) <= (int64_t)map->slots) return LEVADA_OK;
    if (map->n > INT32_MAX / 8) {
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "the map has too many entries");
    }
    uint32_t  slots = map->slots > 0 ? 2 * map->slots : 4 * VALUE_INDEXED;
    uint32_t *index = levada_alloc_zero(slots * sizeof(*index));
    if (index == NULL) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory");
    levada_free(map->index);
    map->index = index;
    map->slots = slots;
    for (int64_t i = 0; i < map->n; i++) index[value_slot(map, map->keys[i])] = (uint32_t)i + 1;
    return LEVADA_OK;
}

levada_status levada_value_set(levada_value *map, const char *key, levada_value **item,
                               levada_error *err)
{
    LEVADA_TRY(levada_require(key != NULL, "key", err));
    LEVADA_TRY(levada_require(item != NULL, "item", err));
    if (map == NULL || map->kind != LEVADA_VALUE_MAP) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "only a map has entries; create the value with levada_value_map()");
    }
    if (value_find(map, key) >= 0) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "'%s' occurs twice", key);
    }
    LEVADA_TRY(value_reindex(map, err));
    LEVADA_TRY(value_admit(map, *item, err));
    char *copy = levada_strdup(key);
    if (copy == NULL) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory");
    if (map->index != NULL) map->index[value_slot(map, copy)] = (uint32_t)map->n + 1;
    map->keys[map->n] = copy;
    value_adopt(map, item);
    return LEVADA_OK;
}

/* Takes the item, NULL where there was no memory for it. */
static levada_status value_put(levada_value *map, const char *key, levada_value *item,
                               levada_error *err)
{
    levada_status st = item ? levada_value_set(map, key, &item, err)
                            : levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory");

    levada_value_destroy(&item);
    return st;
}

levada_status levada_value_set_bool(levada_value *map, const char *key, bool b, levada_error *err)
{
    return value_put(map, key, levada_value_bool(b), err);
}

levada_status levada_value_set_int(levada_value *map, const char *key, int64_t i,
                                   levada_error *err)
{
    return value_put(map, key, levada_value_int(i), err);
}

levada_status levada_value_set_float(levada_value *map, const char *key, double f,
                                     levada_error *err)
{
    return value_put(map, key, levada_value_float(f), err);
}

levada_status levada_value_set_text(levada_value *map, const char *key, const char *text,
                                    levada_error *err)
{
    LEVADA_TRY(levada_require(text != NULL, "text", err));
    return value_put(map, key, levada_value_text(text, strlen(text)), err);
}

levada_value_kind levada_value_kind_of(const levada_value *value)
{
    return value != NULL ? value->kind : LEVADA_VALUE_NULL;
}

bool levada_value_as_bool(const levada_value *value)
{
    return value != NULL && value->kind == LEVADA_VALUE_BOOL && value->u.b;
}

int64_t levada_value_as_int(const levada_value *value)
{
    return value != NULL && value->kind == LEVADA_VALUE_INT ? value->u.i : 0;
}

double levada_value_as_float(const levada_value *value)
{
    if (value != NULL && value->kind == LEVADA_VALUE_INT) return (double)value->u.i;
    return value != NULL && value->kind == LEVADA_VALUE_FLOAT ? value->u.f : 0.0;
}

const char *levada_value_as_text(const levada_value *value, size_t *size)
{
    levada_value_kind kind = levada_value_kind_of(value);
    bool              fits = kind == LEVADA_VALUE_TEXT || kind == LEVADA_VALUE_BYTES;

    if (size != NULL) *size = fits ? (size_t)value->n : 0;
    return fits ? value->u.text : NULL;
}

const levada_dataset *levada_value_as_pipe(const levada_value *value)
{
    return value != NULL && value->kind == LEVADA_VALUE_PIPE ? value->u.pipe : NULL;
}

const levada_function *levada_value_as_function(const levada_value *value)
{
    return value != NULL && value->kind == LEVADA_VALUE_FUNCTION ? value->u.function : NULL;
}

const levada_block *levada_value_as_block(const levada_value *value)
{
    return value != NULL && value->kind == LEVADA_VALUE_BLOCK ? value->u.block : NULL;
}

int64_t levada_value_count(const levada_value *value)
{
    return value_holds(value) ? value->n : 0;
}

const levada_value *levada_value_item(const levada_value *value, int64_t i)
{
    return i >= 0 && i < levada_value_count(value) ? value->u.items[i] : NULL;
}

const char *levada_value_key(const levada_value *map, int64_t i)
{
    if (map == NULL || map->kind != LEVADA_VALUE_MAP || i < 0 || i >= map->n) return NULL;
    return map->keys[i];
}

const levada_value *levada_value_get(const levada_value *map, const char *key)
{
    if (map == NULL || map->kind != LEVADA_VALUE_MAP) return NULL;
    return levada_value_item(map, value_find(map, key));
}

levada_value *levada_value_take_at(levada_value *container, int64_t i)
{
    if (i < 0 || i >= levada_value_count(container)) return NULL;
    levada_value *taken = container->u.items[i];
    container->u.items[i] = NULL; /* reads as null */
    return taken;
}

levada_value *levada_value_take(levada_value *map, const char *key)
{
    if (map == NULL || map->kind != LEVADA_VALUE_MAP) return NULL;
    return levada_value_take_at(map, value_find(map, key));
}

void levada_value_replace_at(levada_value *container, int64_t i, levada_value **item)
{
    levada_value_destroy(&container->u.items[i]);
    container->u.items[i] = *item;
    *item = NULL;
}

static levada_value *value_copy_items(const levada_value *value)
{
    levada_value *copy = value_create(value->kind);

    for (int64_t i = 0; copy != NULL && i < value->n; i++) {
        levada_value *item = levada_value_copy(value->u.items[i]);
        levada_status status =
            value->keys != NULL ? levada_value_set(copy, value->keys[i], &item, NULL)
                                : levada_value_push(copy, &item, NULL);
        if (status == LEVADA_OK) continue;
        levada_value_destroy(&item);
        levada_value_destroy(&copy);
    }
    return copy;
}

levada_value *levada_value_copy(const levada_value *value)
{
    switch (levada_value_kind_of(value)) {
    case LEVADA_VALUE_NULL: return levada_value_null();
    case LEVADA_VALUE_BOOL: return levada_value_bool(value->u.b);
    case LEVADA_VALUE_INT: return levada_value_int(value->u.i);
    case LEVADA_VALUE_FLOAT: return levada_value_float(value->u.f);
    case LEVADA_VALUE_TEXT:
    case LEVADA_VALUE_BYTES:
        return value_create_text(value->kind, value->u.text, (size_t)value->n);
    case LEVADA_VALUE_LIST:
    case LEVADA_VALUE_MAP: return value_copy_items(value);
    case LEVADA_VALUE_PIPE: return levada_value_hold_pipe(value->u.pipe, value->nest, value->hooks);
    case LEVADA_VALUE_FUNCTION: return levada_value_function(value->u.function);
    case LEVADA_VALUE_BLOCK: return value_copy_block(value);
    }
    return NULL;
}

/* Measures the depth again, since parts may have been removed or replaced. */
int32_t levada_value_nest(const levada_value *value)
{
    int32_t nest = 0;

    if (!value_holds(value)) return value != NULL ? value->nest : 0;
    for (int64_t i = 0; i < value->n; i++) {
        int32_t inner = levada_value_nest(value->u.items[i]);
        if (inner > nest) nest = inner;
    }
    return nest + 1;
}
