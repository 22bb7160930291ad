/* SPDX-License-Identifier: Apache-2.0 */
#include "tensor/text_columns.h"

#include "base/kernels.h"
#include "base/text.h"
#include "tensor/builder_priv.h"

#include <string.h>

enum { TEXT_SHORT = 64 }; /* strings below it are checked by the plain loop, without a call */

static const char text_unknown[] = "\xef\xbf\xbd"; /* U+FFFD */

/* A text column, and its strings in the order of memory. */
typedef struct text_column {
    levada_builder       *b;
    const levada_kernels *kernels;
    const levada_column  *c;
    int32_t               index;
    const int32_t        *begin, *end;
    int64_t               n;
} text_column;

/* The first string of some rows that is not UTF-8. */
typedef struct text_fault {
    size_t  at;
    uint8_t byte;
} text_fault;

void levada_builder_text_rule(levada_builder *b, levada_text_rule rule) { b->text = rule; }

static text_column text_open(levada_builder *b, int32_t index)
{
    const levada_column *c = &b->block->columns[index];
    const levada_level  *last = &c->level[c->field->depth];
    int64_t              n = b->block->n;

    for (int32_t l = 0; l < c->field->depth; l++) {
        int64_t most = 0;

        for (int64_t r = 0; r < n; r++)
            if (c->level[l].end[r] > most) most = c->level[l].end[r];
        n = most;
    }
    return (text_column){ .b = b,
                          .kernels = levada_kernels_for(LEVADA_CPU_AUTO),
                          .c = c,
                          .index = index,
                          .begin = last->begin,
                          .end = last->end,
                          .n = n * levada_column_inner(c) };
}

static bool text_valid(const text_column *t, const uint8_t *p, size_t n)
{
    return n < TEXT_SHORT ? levada_utf8_check((const char *)p, n) == n
                          : t->kernels->utf8_valid(p, n);
}

/* Returns true if strings that follow each other are UTF-8: all of their bytes are, and each begins
 * with a character. */
static bool text_joined(const text_column *t)
{
    const uint8_t *p = t->c->values;
    int32_t        from = t->begin[0], to = t->begin[t->n];

    if (!text_valid(t, p + from, (size_t)(to - from))) return false;
    for (int64_t i = 1; i < t->n; i++)
        if (t->begin[i] < to && (p[t->begin[i]] & 0xC0u) == 0x80u) return false;
    return true;
}

static bool text_good(const text_column *t)
{
    if (t->n == 0) return true;
    if (t->end == t->begin + 1) return text_joined(t);
    for (int64_t i = 0; i < t->n; i++) {
        size_t size = (size_t)(t->end[i] - t->begin[i]);

        if (!text_valid(t, t->c->values + t->begin[i], size)) return false;
    }
    return true;
}

/* -- rejecting */

/* Returns true if rows [begin, end) of a level have a string that is not UTF-8. */
static bool text_find(const text_column *t, int32_t level, int64_t begin, int64_t end,
                      text_fault *fault)
{
    const levada_level *l = &t->c->level[level];

    if (level < t->c->field->depth) {
        for (int64_t r = begin; r < end; r++)
            if (text_find(t, level + 1, l->begin[r], l->end[r], fault)) return true;
        return false;
    }
    begin *= levada_column_inner(t->c);
    end *= levada_column_inner(t->c);
    for (int64_t i = begin; i < end; i++) {
        const char *p = (const char *)t->c->values + t->begin[i];
        size_t      size = (size_t)(t->end[i] - t->begin[i]), at = levada_utf8_check(p, size);

        if (at == size) continue;
        *fault = (text_fault){ at, (uint8_t)p[at] };
        return true;
    }
    return false;
}

static bool text_rejected(const levada_block *block, int32_t before, int64_t row)
{
    for (int32_t i = 0; i < before; i++)
        if (block->rejects[i].row == row && !levada_reject_is_note(&block->rejects[i])) return true;
    return false;
}

static levada_status text_reject(const text_column *t, levada_error *err)
{
    levada_block *block = t->b->block;

    for (int64_t row = 0; row < block->n; row++) {
        levada_error why = LEVADA_ERROR_INIT;
        text_fault   fault;

        if (!text_find(t, 0, row, row + 1, &fault)) continue;
        if (text_rejected(block, block->nrejects, row)) continue;
        (void)levada_fail(&why, LEVADA_EINVALID_ARGUMENT,
                          "field '%.80s' must be UTF-8, got byte 0x%02x at position %zu of the "
                          "text; the dtype string reads any bytes, and encoding= of text "
                          "files other encodings",
                          t->c->field->name, fault.byte, fault.at);
        LEVADA_TRY(levada_builder_reject(t->b, row, &why, err));
    }
    return LEVADA_OK;
}

/* -- replacing */

/* Copies a string with U+FFFD in place of each bad byte, unless `out` is NULL. Returns the new
 * size. */
static int64_t text_mend(const uint8_t *p, int64_t size, uint8_t *out)
{
    int64_t made = 0;

    for (int64_t at = 0; at < size; at++) {
        int64_t good = (int64_t)levada_utf8_check((const char *)p + at, (size_t)(size - at));

        if (out && good > 0) memcpy(out + made, p + at, (size_t)good);
        made += good;
        at += good;
        if (at == size) break;
        if (out) memcpy(out + made, text_unknown, sizeof text_unknown - 1);
        made += (int64_t)sizeof text_unknown - 1;
    }
    return made;
}

static levada_status text_fill(const text_column *t, const levada_column *from, levada_error *err)
{
    int32_t *begin = NULL, *end = NULL;
    void    *values = NULL;
    int64_t  size = 0;

    for (int64_t i = 0; i < t->n; i++)
        size += text_mend(from->values + t->begin[i], t->end[i] - t->begin[i], NULL);
    LEVADA_TRY(levada_builder_values(t->b, t->index, size, &values, err));
    LEVADA_TRY(levada_builder_ranges(t->b, t->index, from->field->depth, t->n, &begin, &end, err));
    size = 0;
    for (int64_t i = 0; i < t->n; i++) {
        int64_t made = text_mend(from->values + t->begin[i], t->end[i] - t->begin[i],
                                 (uint8_t *)values + size);

        begin[i] = (int32_t)size;
        end[i] = (int32_t)(size += made);
    }
    return LEVADA_OK;
}

/* Replaces the values and ranges. The old ones live until the new ones are made of them. */
static levada_status text_replace(const text_column *t, levada_error *err)
{
    levada_column  from = *t->c;
    levada_buffer *ranges = from.level[from.field->depth].owner;
    levada_status  st;

    if (ranges) (void)levada_buffer_ref(ranges);
    if (from.owner) (void)levada_buffer_ref(from.owner);
    st = text_fill(t, &from, err);
    levada_buffer_unref(&ranges);
    levada_buffer_unref(&from.owner);
    return st;
}

/* Returns true if publish will find the column complete. */
static bool text_filled(const levada_column *c)
{
    for (int32_t l = 0; l <= c->field->depth; l++)
        if (!c->level[l].begin) return false;
    return c->values != NULL;
}

levada_status levada_builder_check_text(levada_builder *b, levada_error *err)
{
    const levada_spec *spec = b->block->spec;

    if (b->text == LEVADA_TEXT_CHECKED) return LEVADA_OK;
    for (int32_t i = 0; i < levada_spec_count(spec); i++) {
        const levada_column *c = &b->block->columns[i];
        text_column          t;

        if (levada_spec_field(spec, i)->dtype != LEVADA_TEXT) continue;
        if (b->push[i].used) LEVADA_TRY(levada_builder_flush_pushed(b, err));
        if (!text_filled(c)) continue;
        t = text_open(b, i);
        if (text_good(&t)) continue;
        if (b->text == LEVADA_TEXT_REPLACE) LEVADA_TRY(text_replace(&t, err));
        else LEVADA_TRY(text_reject(&t, err));
    }
    return LEVADA_OK;
}
