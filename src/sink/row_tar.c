/* SPDX-License-Identifier: Apache-2.0 */
/* Samples of tar archives: one member per column, ustar, with PAX headers for long names. */
#include "sink/row_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { TAR_BLOCK = 512, TAR_END = 1024, TAR_SHORT = 100 };

static levada_status tar_check(const levada_spec *spec, levada_error *err)
{
    int32_t names = levada_spec_find(spec, "names"), values = levada_spec_find(spec, "values");

    for (int32_t i = 0; i < levada_spec_count(spec); i++) {
        const levada_field *field = levada_spec_field(spec, i);
        bool pair = names >= 0 && values >= 0 && (i == names || i == values) && field->depth == 1 &&
                    levada_dtype_is_bytes(field->dtype);
        bool key = strcmp(field->name, "key") == 0;

        if (strchr(field->name, '/')) {
            return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                               "tar: the name of column '%s' must not contain '/'; rename it",
                               field->name);
        }
        if (key && !levada_dtype_is_bytes(field->dtype)) {
            return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                               "tar: column 'key' must be a string of each record, got %s",
                               levada_dtype_name(field->dtype));
        }
        if (pair || (field->depth == 0 && field->ndim == 0 &&
                     (!key || levada_dtype_is_bytes(field->dtype))))
            continue;
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "tar: column '%s' must be a string or a number of each record; drop it "
                           "with select", field->name);
    }
    return LEVADA_OK;
}

static void tar_header(const char *name, char type, uint64_t size, levada_text *out)
{
    uint8_t  block[TAR_BLOCK] = { 0 };
    char     octal[32];
    size_t   n = strlen(name);
    uint32_t sum = 0;

    memcpy(block, name, n < TAR_SHORT ? n : TAR_SHORT);
    memcpy(block + 100, "0000644", 8);
    memcpy(block + 108, "0000000", 8);
    memcpy(block + 116, "0000000", 8);
    snprintf(octal, sizeof octal, "%011" PRIo64, size);
    memcpy(block + 124, octal, 12);
    memcpy(block + 136, "00000000000", 12);
    memset(block + 148, ' ', 8);
    block[156] = (uint8_t)type;
    memcpy(block + 257, "ustar\00000", 8);
    for (int i = 0; i < TAR_BLOCK; i++) sum += block[i];
    snprintf(octal, sizeof octal, "%06o", (unsigned)sum);
    memcpy(block + 148, octal, 7);
    levada_text_add(out, block, TAR_BLOCK);
}

static void tar_data(const char *bytes, size_t size, levada_text *out)
{
    static const uint8_t zeros[TAR_BLOCK];

    levada_text_add(out, bytes, size);
    levada_text_add(out, zeros, (TAR_BLOCK - size % TAR_BLOCK) % TAR_BLOCK);
}

/* Writes "LENGTH path=NAME\n", the length counting itself. */
static void tar_long_name(const char *name, levada_text *out)
{
    levada_text entry = { 0 };
    size_t      rest = strlen(name) + 7, n = rest + 1;
    char        digits[24];

    while ((size_t)snprintf(digits, sizeof digits, "%zu", n) + rest != n) n++;
    levada_text_format(&entry, "%zu path=", n);
    levada_text_put(&entry, name);
    levada_text_char(&entry, '\n');
    tar_header("././@PaxHeader", 'x', entry.size, out);
    if (entry.failed) out->failed = true;
    else tar_data(entry.at, entry.size, out);
    levada_text_clear(&entry);
}

/* Returns true if a program that unpacks the archive would write outside of its directory. */
static bool tar_escapes(const char *name, size_t size)
{
    if (size > 0 && name[0] == '/') return true;
    for (size_t at = 0; at + 1 < size; at++) {
        bool begins = at == 0 || name[at - 1] == '/';

        if (begins && name[at] == '.' && name[at + 1] == '.' &&
            (at + 2 == size || name[at + 2] == '/'))
            return true;
    }
    return false;
}

/* Writes a member; the name is the key, a dot and the field. */
static levada_status tar_member(const char *key, size_t nkey, const char *field, size_t nfield,
                                const char *bytes, size_t size, levada_text *out,
                                levada_error *err)
{
    levada_text   name = { 0 };
    levada_status st = LEVADA_OK;

    if (memchr(field, '\0', nfield) || memchr(field, '/', nfield))
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "tar: the name of a member must not contain '/' or a zero byte, got "
                           "'%.*s'", nfield < 60 ? (int)nfield : 60, field);
    if (nfield == 0 && (nkey == 0 || key[nkey - 1] == '/'))
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "tar: a member must have a key or a name, got neither");
    levada_text_add(&name, key, nkey);
    if (nfield > 0) levada_text_char(&name, '.');
    levada_text_add(&name, field, nfield);
    if (!name.failed && tar_escapes(name.at, name.size)) {
        st = levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                         "tar: the path of a member must not contain '..' or begin with '/', got "
                         "'%.60s'; change its key", name.at);
    } else if (!name.failed) {
        if (name.size > TAR_SHORT) tar_long_name(name.at, out);
        tar_header(name.at, '0', size, out);
        tar_data(bytes, size, out);
    }
    out->failed |= name.failed;
    levada_text_clear(&name);
    return st;
}

static levada_status tar_pairs(const levada_block *block, int64_t row, const char *key, size_t nkey,
                               levada_text *out, levada_error *err)
{
    const levada_column *names = levada_block_column(block, "names");
    const levada_column *values = levada_block_column(block, "values");
    levada_row_range     n = levada_row_range_of(names, row), v = levada_row_range_of(values, row);

    for (int64_t i = 0; i < n.end - n.begin && i < v.end - v.begin; i++) {
        size_t      nname, nvalue;
        const char *name = levada_row_string(names, n.begin + i, &nname);
        const char *value = levada_row_string(values, v.begin + i, &nvalue);

        LEVADA_TRY(tar_member(key, nkey, name, nname, value, nvalue, out, err));
    }
    return LEVADA_OK;
}

static levada_status tar_column(const levada_column *c, int64_t row, const char *key, size_t nkey,
                                levada_text *out, levada_error *err)
{
    const char   *name = c->field->name, *bytes;
    size_t        size;
    levada_text   number = { 0 };
    levada_status st;

    if (levada_dtype_is_bytes(c->field->dtype)) {
        bytes = levada_row_string(c, row, &size);
        return tar_member(key, nkey, name, strlen(name), bytes, size, out, err);
    }
    (void)levada_row_number(c, row, &number);
    if (number.failed) out->failed = true;
    st = tar_member(key, nkey, name, strlen(name), number.at ? number.at : "", number.size, out,
                    err);
    levada_text_clear(&number);
    return st;
}

/* Refuses a key with which the members would be read as other samples. */
static levada_status tar_key(levada_row_writer *w, const char *key, size_t nkey, levada_error *err)
{
    size_t name = nkey;
    int    shown = nkey < 60 ? (int)nkey : 60;

    while (name > 0 && key[name - 1] != '/') name--;
    if (nkey > sizeof w->key || memchr(key, '\0', nkey) || memchr(key + name, '.', nkey - name)) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "tar: a key must have at most %zu bytes, and no '.' in its last part, "
                           "got '%.*s'", sizeof w->key, shown, key);
    }
    if (w->keyed && nkey == w->nkey && memcmp(key, w->key, nkey) == 0) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "tar: two records in a row have the key '%.*s', so they would be one; "
                           "make keys unique", shown, key);
    }
    memcpy(w->key, key, nkey);
    w->nkey = nkey;
    w->keyed = true;
    return LEVADA_OK;
}

static levada_status tar_row(levada_row_writer *w, const levada_block *block, int64_t row,
                             levada_text *out, levada_error *err)
{
    const levada_spec *spec = levada_block_spec(block);
    bool pairs = levada_spec_find(spec, "names") >= 0 && levada_spec_find(spec, "values") >= 0;
    char        numbered[32];
    const char *key = numbered;
    size_t      nkey = (size_t)snprintf(numbered, sizeof numbered, "%09" PRId64, w->record);

    if (levada_spec_find(spec, "key") >= 0)
        key = levada_row_string(levada_block_column(block, "key"), row, &nkey);
    LEVADA_TRY(tar_key(w, key, nkey, err));
    for (int32_t i = 0; i < levada_spec_count(spec); i++) {
        const levada_column *c = levada_block_at(block, i);

        if (strcmp(c->field->name, "key") == 0 || c->field->depth > 0) continue;
        LEVADA_TRY(tar_column(c, row, key, nkey, out, err));
    }
    return pairs ? tar_pairs(block, row, key, nkey, out, err) : LEVADA_OK;
}

static void tar_end(levada_text *out)
{
    static const uint8_t zeros[TAR_END];

    levada_text_add(out, zeros, sizeof zeros);
}

const levada_row_format levada_row_tar = {
    .name = "tar",
    .check = tar_check,
    .row = tar_row,
    .end = tar_end,
};
