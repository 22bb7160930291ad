/* SPDX-License-Identifier: Apache-2.0 */
#include "support/forge.h"

#include "base/alloc.h"
#include "base/kernels.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define FORGE_COUNT 44 /* bytes of a state before the number of entries */

static void forge_encode(const levada_entry *entries, int32_t n, const levada_state_head *head,
                         char **bytes, size_t *size)
{
    levada_entry       *copy = malloc((size_t)n * sizeof *copy + 1); /* it will be sorted */
    levada_state_writer w = { .entries = copy, .n = n };

    assert_non_null(copy);
    if (n > 0) memcpy(copy, entries, (size_t)n * sizeof *copy);
    assert_int_equal(levada_state_encode(&w, head, NULL, bytes, size, NULL), LEVADA_OK);
    free(copy);
}

/* No state can be written like this: the bytes of an entry are repeated. */
static void forge_twice(const levada_state_reader *r, int32_t at, char **bytes, size_t *size)
{
    char   *before = NULL, *with = NULL, *all = NULL, *made;
    size_t  begin, end, whole;
    uint32_t crc;

    forge_encode(r->entries, at, &r->head, &before, &begin);
    forge_encode(r->entries, at + 1, &r->head, &with, &end);
    forge_encode(r->entries, r->n, &r->head, &all, &whole);
    begin -= 4; /* the checksum */
    end -= 4;
    *size = whole + end - begin;
    made = levada_alloc(*size);
    assert_non_null(made);
    memcpy(made, all, end);
    memcpy(made + end, all + begin, whole - begin);
    made[FORGE_COUNT]++;
    crc = levada_kernels_for(LEVADA_CPU_AUTO)->crc32c(0, (const uint8_t *)made, *size - 4);
    for (int i = 0; i < 4; i++) made[*size - 4 + (size_t)i] = (char)(crc >> (8 * i));
    levada_string_free(&before);
    levada_string_free(&with);
    levada_string_free(&all);
    *bytes = made;
}

static bool forge_entry(levada_entry *e, t_form form)
{
    size_t unit = e->type == LEVADA_ENTRY_BYTES ? 1 : sizeof(int64_t), n = strlen(e->key);

    if (form == T_FORGED_NAME && n + 2 <= sizeof e->key) memcpy(e->key + n, "~", 2);
    if (form == T_FORGED_NAME) return n + 2 <= sizeof e->key;
    if (form == T_FORGED_TYPE) {
        if (unit == 1) e->size -= e->size % sizeof(int64_t);
        e->type = unit == 1 ? LEVADA_ENTRY_I64S : LEVADA_ENTRY_BYTES;
        return true;
    }
    if (e->type == LEVADA_ENTRY_I64 || (form == T_FORGED_SHORT && e->size < unit)) return false;
    if (form == T_FORGED_LONG) memset(e->data + e->size, 1, unit);
    e->size = form == T_FORGED_LONG ? e->size + unit : e->size - unit;
    return true;
}

bool t_forge(const levada_state_reader *r, int32_t at, t_form form, char **bytes, size_t *size)
{
    levada_entry *all, *e;
    bool          made = true;

    if (form == T_FORGED_TWICE) {
        forge_twice(r, at, bytes, size);
        return true;
    }
    all = malloc((size_t)r->n * sizeof *all);
    assert_non_null(all);
    memcpy(all, r->entries, (size_t)r->n * sizeof *all);
    e = &all[at];
    e->data = malloc(e->size + sizeof(int64_t));
    assert_non_null(e->data);
    memcpy(e->data, r->entries[at].data, e->size);
    if (form == T_FORGED_MISSING) {
        free(e->data);
        memmove(e, e + 1, (size_t)(r->n - at - 1) * sizeof *e);
        forge_encode(all, r->n - 1, &r->head, bytes, size);
        free(all);
        return true;
    }
    made = forge_entry(e, form);
    if (made) forge_encode(all, r->n, &r->head, bytes, size);
    free(e->data);
    free(all);
    return made;
}

bool t_names_an_entry(const levada_state_reader *r, int32_t at, const levada_error *err)
{
    const levada_entry *e = &r->entries[at];
    char                name[LEVADA_STATE_PATH + LEVADA_STATE_KEY + 4];

    for (int32_t i = 0; i < r->n; i++) {
        if (strcmp(r->entries[i].path, e->path) != 0) continue;
        (void)snprintf(name, sizeof name, "'%s/%s'", e->path, r->entries[i].key);
        if (strstr(err->message, name)) return true;
        /* "rows", of which "rows.origins" is a part */
        (void)snprintf(name, sizeof name, "'%s/%.*s'", e->path,
                       (int)strcspn(r->entries[i].key, "."), r->entries[i].key);
        if (strstr(err->message, name)) return true;
    }
    (void)snprintf(name, sizeof name, "'%s/%s~'", e->path, e->key);
    if (strstr(err->message, name)) return true;
    return err->code == LEVADA_EFAILED_PRECONDITION && err->file[0] != '\0';
}
