/* SPDX-License-Identifier: Apache-2.0 */
#include "source/mds_shard.h"

#include "base/alloc.h"
#include "base/text.h"
#include "files/glob.h"
#include "option/value_priv.h"
#include "rows/infer.h"
#include "source/beside.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define MDS_INDEX "index.json"
#define MDS_JSON_MOST (INT64_C(256) << 20) /* bytes of an index.json */

static uint32_t mds_u32(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* -- encodings */

/* Reads dimensions such as "3,4". */
static bool mds_dims(const char *text, levada_mds_column *out)
{
    for (out->count = 1;; text++) {
        char     *end = NULL;
        long long dim = strtoll(text, &end, 10);

        if (end == text || dim < 1 || out->ndim == LEVADA_MAX_DIMS) return false;
        if (out->count > INT32_MAX / dim) return false;
        out->dims[out->ndim++] = dim;
        out->count *= dim;
        text = end;
        if (*text != ',') return *text == 0;
    }
}

static bool mds_number(const char *name, size_t size, levada_dtype *out)
{
    char word[16];

    if (size >= sizeof word) return false;
    memcpy(word, name, size);
    word[size] = 0;
    *out = strcmp(word, "int") == 0 ? LEVADA_INT64 : levada_dtype_find(word);
    return *out != LEVADA_NONE && !levada_dtype_is_bytes(*out);
}

static bool mds_encoding(const char *text, levada_mds_column *out)
{
    static const char *const words[] = { "str",   "json", "str_int", "str_float", "str_decimal",
                                         "bytes", "jpeg", "png",     "image",     "jpeg_array" };
    const size_t texts = 5; /* the first of them */
    size_t       name = strcspn(text, ":");

    *out = (levada_mds_column){ .count = 1 };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strcmp(text, words[i]) != 0) continue;
        out->dtype = i < texts ? LEVADA_TEXT : LEVADA_BYTES;
        return true;
    }
    if (text[name] == 0) {
        out->form = LEVADA_MDS_NUMBERS;
        return mds_number(text, name, &out->dtype);
    }
    if (strncmp(text, "values:", 7) == 0) out->form = LEVADA_MDS_VALUES;
    else if (strncmp(text, "ndarray:", 8) == 0) out->form = LEVADA_MDS_ARRAY;
    else return false;
    text += name + 1;
    name = strcspn(text, ":");
    if (!mds_number(text, name, &out->dtype)) return false;
    if (text[name] == 0) return true;
    if (out->form == LEVADA_MDS_VALUES) return false;
    out->form = LEVADA_MDS_NUMBERS;
    return mds_dims(text + name + 1, out);
}

levada_status levada_mds_read_layout(const levada_mds_args *args, bool sized,
                                     levada_mds_layout *out, levada_error *err)
{
    char shown[LEVADA_VALUE_SHOWN];
    int64_t n = levada_value_count(args->columns);

    *out = (levada_mds_layout){ 0 };
    if (!args->columns || levada_value_kind_of(args->columns) != LEVADA_VALUE_MAP || n < 1 ||
        n > LEVADA_MDS_COLUMNS)
        return levada_fail(
            err, LEVADA_EINVALID_ARGUMENT,
            "columns must be a map of 1 to %d names to encodings, such as {text: "
            "str}; got %s",
            LEVADA_MDS_COLUMNS,
            args->columns ? levada_value_shown(args->columns, LEVADA_PRINT_TEXT, shown) : "none");
    for (int64_t i = 0; i < n; i++) {
        const char *text = levada_value_as_text(levada_value_item(args->columns, i), NULL);

        if (!text || !mds_encoding(text, &out->column[i]))
            return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                               "column '%s': encoding '%s' is not supported, and levada never "
                               "unpickles; read its bytes with columns={%s: bytes, ...}",
                               levada_value_key(args->columns, i), text ? text : "",
                               levada_value_key(args->columns, i));
        out->column[i].sized = sized || out->column[i].form != LEVADA_MDS_NUMBERS;
        out->sizes += out->column[i].sized;
    }
    out->n = (int32_t)n;
    return LEVADA_OK;
}

levada_status levada_mds_make_spec(const levada_mds_args *args, bool sized, levada_spec **out,
                                   levada_error *err)
{
    levada_mds_layout layout;
    levada_field      fields[LEVADA_MDS_COLUMNS];

    LEVADA_TRY(levada_mds_read_layout(args, sized, &layout, err));
    for (int32_t i = 0; i < layout.n; i++) {
        const levada_mds_column *c = &layout.column[i];
        bool ragged = c->form == LEVADA_MDS_ARRAY || c->form == LEVADA_MDS_VALUES;

        fields[i] = (levada_field){ .name = levada_value_key(args->columns, i),
                                    .dtype = c->dtype, .depth = ragged, .ndim = (uint8_t)c->ndim };
        memcpy(fields[i].dims, c->dims, sizeof c->dims);
    }
    return levada_spec_create(fields, layout.n, LEVADA_SPEC_PLAIN, out, err);
}

/* -- frames */

/* Returns the bytes of a fixed number without a size in front. */
static int64_t mds_fixed(const levada_mds_column *c)
{
    return c->count * levada_dtype_size(c->dtype);
}

/* Counts the bytes of the record at p; returns -1 if `size` bytes do not hold its sizes. */
static int64_t mds_record(const levada_mds_layout *l, const uint8_t *p, int64_t size)
{
    int64_t total = 4 * (int64_t)l->sizes;

    if (size < total) return -1;
    for (int32_t i = 0; i < l->n; i++) {
        if (!l->column[i].sized) total += mds_fixed(&l->column[i]);
        else total += mds_u32(p);
        p += 4 * l->column[i].sized;
    }
    return total;
}

static levada_status mds_heading(levada_mds_state *s, const uint8_t *data, int64_t size,
                                 bool at_end, levada_spans *out, levada_error *err)
{
    int64_t n = size < 4 ? 0 : mds_u32(data), table = 8 + 4 * n, first;

    out->need = size < 8 ? 8 : mds_u32(data + 4);
    first = out->need;
    if (size >= 8 && first < table)
        return levada_fail(err, LEVADA_EDATA_LOSS,
                           "the heading has %lld records, but the first is at byte %lld",
                           (long long)n, (long long)first);
    if (size < out->need && !at_end) return LEVADA_OK;
    if (size < out->need)
        return levada_fail(err, LEVADA_EDATA_LOSS, "truncated heading: %lld of %lld bytes",
                           (long long)size, (long long)out->need);
    s->heading = false;
    s->end = mds_u32(data + 4 + 4 * n);
    out->used = s->at = first;
    return LEVADA_OK;
}

levada_status levada_mds_seek(void *state, const void *args, int64_t offset, int64_t size,
                              levada_error *err)
{
    levada_mds_state *s = state;

    (void)args, (void)size, (void)err;
    s->heading = offset == 0;
    s->at = offset;
    s->end = 0;
    return LEVADA_OK;
}

levada_status levada_mds_next(void *state, const void *args, const uint8_t *data, int64_t size,
                              bool at_end, levada_spans *out, levada_error *err)
{
    levada_mds_state *s = state;
    int64_t           at = 0, length = 0;

    (void)args;
    out->n = 0;
    out->used = out->need = 0;
    if (s->heading && size > 0) return mds_heading(s, data, size, at_end, out, err);
    while (out->n < out->capacity && at < size) {
        length = mds_record(&s->layout, data + at, size - at);
        if (length < 0 || length > size - at || length == 0) break;
        out->begin[out->n] = (int32_t)at;
        out->end[out->n++] = (int32_t)(at += length);
    }
    out->used = at;
    s->at += at;
    if (out->n > 0) return LEVADA_OK;
    if (at_end && size == 0 && s->end > s->at)
        return levada_fail(err, LEVADA_EDATA_LOSS,
                           "truncated file: %lld bytes, but %lld in its heading", (long long)s->at,
                           (long long)s->end);
    out->need = length > 0 ? length : 4 * (int64_t)s->layout.sizes;
    if (!at_end || size == 0) return LEVADA_OK;
    return levada_fail(err, LEVADA_EDATA_LOSS, "truncated record: %lld of %lld bytes",
                       (long long)size, (long long)out->need);
}

levada_status levada_mds_foreign(levada_env *env, const void *args, const char *path,
                                 levada_index_sink *to, levada_error *err)
{
    levada_bytes *bytes = NULL;
    uint8_t      *table = NULL;
    int64_t       n = 0;
    levada_status st = levada_beside_open(env, path, "", "", &bytes, err);

    (void)args;
    if (st == LEVADA_OK) st = levada_beside_read(bytes, 0, 8, &table, err);
    if (st == LEVADA_OK) n = mds_u32(table);
    levada_free(table);
    table = NULL;
    if (st == LEVADA_OK) st = levada_beside_read(bytes, 4, 4 * (n + 1), &table, err);
    for (int64_t i = 0; st == LEVADA_OK && i < n; i++) {
        int64_t at = mds_u32(table + 4 * i), end = mds_u32(table + 4 * i + 4);

        st = to->add(to, at, end - at, 0, err);
    }
    levada_bytes_close(&bytes);
    levada_free(table);
    return st;
}

/* -- columns */

/* Where the bytes of each column of a record are. */
typedef struct mds_parts {
    const uint8_t *at[LEVADA_MDS_COLUMNS];
    int64_t        size[LEVADA_MDS_COLUMNS];
} mds_parts;

static bool mds_split(const levada_mds_layout *l, const uint8_t *row, int64_t size, mds_parts *out)
{
    const uint8_t *sizes = row, *at = row + 4 * l->sizes;

    if (mds_record(l, row, size) != size) return false;
    for (int32_t i = 0; i < l->n; i++) {
        out->at[i] = at;
        out->size[i] = l->column[i].sized ? mds_u32(sizes) : mds_fixed(&l->column[i]);
        sizes += 4 * l->column[i].sized;
        at += out->size[i];
    }
    return true;
}

/* Returns the number of bytes before the numbers of an array of one dimension; -1: it has others,
 * or another size. */
static int64_t mds_array_head(const uint8_t *p, int64_t size, int64_t width)
{
    int64_t head = size > 0 ? 1 + (INT64_C(1) << (p[0] & 3)) : 1, count = 0;

    if (size < head || p[0] >> 2 != 1) return -1;
    for (int64_t i = head - 1; i > 0; i--) {
        if (count > INT32_MAX) return -1;
        count = count << 8 | p[i];
    }
    return count <= size / width && head + count * width == size ? head : -1;
}

/* Returns the number of bytes before the numbers of a column; -1 = it does not fit its encoding. */
static int64_t mds_head(const levada_mds_column *c, const uint8_t *p, int64_t size)
{
    int64_t width = levada_dtype_size(c->dtype);

    if (c->form == LEVADA_MDS_NUMBERS) return size == mds_fixed(c) ? 0 : -1;
    if (c->form == LEVADA_MDS_ARRAY) return mds_array_head(p, size, width);
    return c->form == LEVADA_MDS_BYTES || size % width == 0 ? 0 : -1;
}

static levada_status mds_reject(const char *name, int32_t size, levada_builder *out, int64_t row,
                                levada_error *err)
{
    levada_error why = LEVADA_ERROR_INIT;

    if (name) (void)levada_fail(&why, LEVADA_EDATA_LOSS,
                                "the bytes of column '%.100s' do not fit its encoding", name);
    else (void)levada_fail(&why, LEVADA_EDATA_LOSS,
                           "the sizes of the columns do not add up to the %d bytes of the record",
                           size);
    return levada_builder_reject(out, row, &why, err);
}

/* Splits all records into their parts; those of a bad record have no bytes. */
static levada_status mds_split_all(const levada_mds_layout *l, const levada_mds_args *args,
                                   const levada_strings *in, mds_parts *parts,
                                   levada_builder *out, levada_error *err)
{
    for (int64_t i = 0; i < in->n; i++) {
        bool        good = mds_split(l, in->data[i], in->size[i], &parts[i]);
        const char *name = NULL;

        for (int32_t c = 0; good && c < l->n; c++) {
            int64_t head = mds_head(&l->column[c], parts[i].at[c], parts[i].size[c]);

            good = head >= 0;
            if (!good) name = levada_value_key(args->columns, c);
            parts[i].at[c] += good ? head : 0;
            parts[i].size[c] -= good ? head : 0;
        }
        if (good) continue;
        memset(&parts[i], 0, sizeof parts[i]);
        LEVADA_TRY(mds_reject(name, in->size[i], out, i, err));
    }
    return LEVADA_OK;
}

static levada_status mds_fill(const levada_mds_column *c, int32_t column, const mds_parts *parts,
                              int64_t n, levada_builder *out, levada_error *err)
{
    int64_t  width = levada_dtype_size(c->dtype), total = 0, fixed = mds_fixed(c);
    bool     number = c->form == LEVADA_MDS_NUMBERS;
    int32_t *offsets = NULL;
    uint8_t *values = NULL;

    if (c->form == LEVADA_MDS_BYTES) width = 1;
    for (int64_t i = 0; i < n; i++) total += number ? fixed : parts[i].size[column];
    if (total > INT32_MAX)
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED,
                           "2 GiB or more in one block; lower block_rows");
    if (!number) LEVADA_TRY(levada_builder_offsets(out, column, 0, n, &offsets, err));
    LEVADA_TRY(levada_builder_values(out, column, total / width, (void **)&values, err));
    if (offsets) offsets[0] = 0;
    for (int64_t i = 0; i < n; i++) {
        int64_t size = parts[i].size[column];

        if (size > 0) memcpy(values, parts[i].at[column], (size_t)size);
        if (number && size == 0) memset(values, 0, (size_t)fixed);
        values += number ? fixed : size;
        if (offsets) offsets[i + 1] = offsets[i] + (int32_t)(size / width);
    }
    return LEVADA_OK;
}

levada_status levada_mds_decode(void *state, const void *args, const levada_strings *in,
                                levada_builder *out, levada_error *err)
{
    const levada_mds_layout *layout = &((const levada_mds_state *)state)->layout;
    mds_parts               *parts = levada_alloc((size_t)in->n * sizeof *parts + 1);
    levada_status            st;

    if (!parts) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for columns");
    st = mds_split_all(layout, args, in, parts, out, err);
    for (int32_t c = 0; st == LEVADA_OK && c < layout->n; c++)
        st = mds_fill(&layout->column[c], c, parts, in->n, out, err);
    levada_free(parts);
    return st;
}

/* -- options that files determine */

levada_status levada_mds_read_json(levada_env *env, const char *path, levada_value **out,
                                   levada_error *err)
{
    levada_bytes *bytes = NULL;
    uint8_t      *data = NULL;
    int64_t       size = 0;
    levada_status st = levada_beside_open(env, path, "", "", &bytes, err);

    if (st == LEVADA_OK) size = levada_bytes_mark_of(bytes).size;
    if (st == LEVADA_OK && size > MDS_JSON_MOST)
        st = levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                         "index.json must have at most %lld bytes, got %lld",
                         (long long)MDS_JSON_MOST, (long long)size);
    if (st == LEVADA_OK) st = levada_beside_read(bytes, 0, size, &data, err);
    if (st == LEVADA_OK) st = levada_value_parse_json((const char *)data, (size_t)size, out, err);
    if (st != LEVADA_OK) levada_error_place(err, NULL, path, -1, -1);
    levada_bytes_close(&bytes);
    levada_free(data);
    return st;
}

static bool mds_ends(const char *path, const char *end)
{
    size_t n = strlen(path), m = strlen(end);

    return n >= m && strcmp(path + n - m, end) == 0;
}

bool levada_mds_is_directory(const levada_texts *files)
{
    const char *path = files->n == 1 ? files->at[0] : "?", *name = levada_base_name(path);
    struct stat info;

    if (mds_ends(path, MDS_INDEX)) return true;
    if (stat(path, &info) == 0) return S_ISDIR(info.st_mode);
    return !strpbrk(path, "*?[") && !strstr(name, ".mds") && !mds_ends(path, ".bin");
}

levada_status levada_mds_join(const char *path, bool beside, const char *name, bool pattern,
                              char **out, levada_error *err)
{
    levada_text whole = { 0 }, text = { 0 };
    const char *slash = strrchr(path, '/');
    size_t      n = strlen(path);

    if (beside || mds_ends(path, MDS_INDEX)) n = slash ? (size_t)(slash - path) + 1 : 0;
    levada_text_format(&whole, "%.*s%s%s", (int)n, path, n && path[n - 1] != '/' ? "/" : "", name);
    if (!pattern || whole.failed) return levada_text_steal(&whole, out, err);
    levada_files_put_literal(&text, whole.at, whole.size);
    levada_text_clear(&whole);
    return levada_text_steal(&text, out, err);
}

levada_status levada_mds_put(levada_value *to, const char *key, const char *text,
                             levada_error *err)
{
    levada_value *item = levada_value_text(text, strlen(text));
    levada_status st;

    if (!to || !item) st = levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory");
    else st = key ? levada_value_set(to, key, &item, err) : levada_value_push(to, &item, err);
    levada_value_destroy(&item);
    return st;
}

levada_status levada_mds_set(const levada_value *options, levada_value *columns,
                             levada_value *files, levada_value **out, levada_error *err)
{
    levada_value *map = levada_value_map();
    levada_status st = map ? LEVADA_OK
                           : levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory");

    for (int64_t i = 0; st == LEVADA_OK && i < levada_value_count(options); i++) {
        const char *key = levada_value_key(options, i);

        if (strcmp(key, "columns") == 0 || (files && strcmp(key, "files") == 0)) continue;
        st = levada_infer_set(map, key, levada_value_copy(levada_value_item(options, i)), err);
    }
    if (st == LEVADA_OK) st = levada_value_set(map, "columns", &columns, err);
    if (st == LEVADA_OK && files) st = levada_value_set(map, "files", &files, err);
    levada_value_destroy(&columns);
    levada_value_destroy(&files);
    if (st == LEVADA_OK) *out = map;
    else levada_value_destroy(&map);
    return st;
}
