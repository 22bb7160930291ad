/* SPDX-License-Identifier: Apache-2.0 */
#include "batch/window_key.h"

#include "base/alloc.h"
#include "base/text.h"
#include "batch/length.h"
#include "description/columns.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void levada_window_key_clear(levada_window_key *key)
{
    levada_free(key->field);
    memset(key, 0, sizeof *key);
}

static size_t window_key_trim(const char **at, size_t size)
{
    while (size && **at == ' ') (*at)++, size--;
    while (size && (*at)[size - 1] == ' ') size--;
    return size;
}

/* Returns the operator, and what follows it; NULL: there is none. */
static const char *window_key_op(const char *text, levada_window_key *out)
{
    const char *op = strstr(text, "//");

    out->op = op ? LEVADA_WINDOW_DIVIDE : LEVADA_WINDOW_PLAIN;
    if (!op) {
        op = strchr(text, '%');
        if (op) out->op = LEVADA_WINDOW_REMAINDER;
    }
    return op;
}

static bool window_key_number(const char *text, int64_t *out)
{
    char *end = NULL;

    errno = 0;
    *out = strtoll(text, &end, 10);
    while (*end == ' ') end++;
    return end != text && *end == '\0' && errno == 0 && *out >= 1;
}

static levada_status window_key_refuse(const char *text, levada_error *err)
{
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                       "'%s' is not a key; a key is a field or len(field), optionally followed by "
                       "// or %% and a number of at least 1",
                       text);
}

levada_status levada_window_key_parse(const char *text, levada_window_key *out, levada_error *err)
{
    levada_window_key made = { 0 };
    const char       *op = window_key_op(text, &made), *name = text;
    size_t            size = op ? (size_t)(op - text) : strlen(text);

    made.number = 1;
    if (op && !window_key_number(op + (made.op == LEVADA_WINDOW_DIVIDE ? 2 : 1), &made.number)) {
        return window_key_refuse(text, err);
    }
    size = window_key_trim(&name, size);
    made.length = size > 5 && strncmp(name, "len(", 4) == 0 && name[size - 1] == ')';
    if (made.length) {
        name += 4;
        size = window_key_trim(&name, size - 5);
    }
    if (size == 0 || memchr(name, '(', size) || memchr(name, ' ', size)) {
        return window_key_refuse(text, err);
    }
    made.field = levada_alloc(size + 1);
    if (!made.field) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a key");
    memcpy(made.field, name, size);
    made.field[size] = '\0';
    *out = made;
    return LEVADA_OK;
}

static bool window_key_integer(const levada_field *f)
{
    return f->dtype >= LEVADA_INT8 && f->dtype <= LEVADA_UINT64 && !f->depth && !f->ndim;
}

static bool window_key_text(const levada_window_key *key, const levada_field *f)
{
    return f && !key->length && key->op == LEVADA_WINDOW_PLAIN && levada_dtype_is_bytes(f->dtype) &&
           !f->depth && !f->ndim;
}

bool levada_window_key_is_text(const levada_window_key *key, const levada_spec *in)
{
    return window_key_text(key, levada_spec_field(in, levada_spec_find(in, key->field)));
}

levada_status levada_window_key_check(const levada_window_key *key, const levada_spec *in,
                                      levada_error *err)
{
    int32_t             i = -1;
    const levada_field *f;

    LEVADA_TRY(levada_spec_require(in, key->field, &i, err));
    f = levada_spec_field(in, i);
    if (!f) return LEVADA_OK;
    if (key->length && window_key_integer(f)) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "field '%s' is a number without a length",
                           key->field);
    }
    if (!key->length && !window_key_integer(f) && !window_key_text(key, f)) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "key field '%s' is %s, not one integer; len(%s) is its length",
                           key->field, levada_dtype_name(f->dtype), key->field);
    }
    return levada_length_check(key->field, in, err);
}

/* Divides as Python does: the quotient is rounded down. */
static int64_t window_key_divide(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

static levada_status window_key_names(const levada_window_key *key, const levada_block *block,
                                      levada_window_names *names, int64_t *keys,
                                      levada_error *err)
{
    int32_t i = levada_spec_find(block->spec, key->field);

    for (int64_t k = 0; k < block->n; k++) {
        int64_t              row = 0, size = 0;
        const levada_block  *data = levada_block_row(block, k, &row);
        const uint8_t       *bytes = levada_column_bytes(&data->columns[i], row, &size);

        LEVADA_TRY(levada_window_names_find(names, bytes, size, &keys[k], err));
    }
    return LEVADA_OK;
}

levada_status levada_window_key_measure(const levada_window_key *key, const levada_block *block,
                                        levada_window_names *names, int64_t *keys,
                                        levada_error *err)
{
    LEVADA_TRY(levada_window_key_check(key, block->spec, err));
    if (names && levada_window_key_is_text(key, block->spec)) {
        return window_key_names(key, block, names, keys, err);
    }
    LEVADA_TRY(levada_length_measure(key->field, block, keys, 1, err));
    for (int64_t i = 0; key->op != LEVADA_WINDOW_PLAIN && i < block->n; i++) {
        int64_t down = window_key_divide(keys[i], key->number);

        keys[i] = key->op == LEVADA_WINDOW_DIVIDE ? down : keys[i] - down * key->number;
    }
    return LEVADA_OK;
}
