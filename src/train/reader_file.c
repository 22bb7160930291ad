/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TFRECORD, TEXT_LINE and FIXED_LENGTH are sources of levada: a dataset of one file, read on the
 * calling thread. A file that is one record is read here.
 */
#include "train/reader_file.h"

#include "base/alloc.h"
#include "base/text.h"
#include "files/bytes.h"
#include "files/glob.h"
#include "registry/registry.h"
#include "tensor/block_priv.h"

#include <string.h>

#define READER_MOST (INT64_C(1) << 30) /* bytes of a column */
#define READER_OVERLAP (INT64_C(2) << 20)
#define READER_GUESS (INT64_C(64) << 10)

typedef struct reader_kind {
    const char *name, *source; /* source: NULL = not one of levada's */
    const char *compression;   /* unless it is given */
} reader_kind;

static const reader_kind reader_kinds[] = {
    [LEVADA_READER_TFRECORD] = { "TFRecordReader", "tfrecord", "auto" },
    [LEVADA_READER_TEXT_LINE] = { "TextLineReader", "text_lines", "auto" },
    [LEVADA_READER_FIXED_LENGTH] = { "FixedLengthRecordReader", "fixed_length", "none" },
    [LEVADA_READER_WHOLE_FILE] = { "WholeFileReader", NULL, "none" },
    [LEVADA_READER_IDENTITY] = { "IdentityReader", NULL, "none" },
};

const char *levada_reader_kind_name(levada_reader_kind kind) { return reader_kinds[kind].name; }

bool levada_reader_kind_whole(levada_reader_kind kind) { return reader_kinds[kind].source == NULL; }

levada_status levada_reader_short(levada_error *err)
{
    return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a reader");
}

/* -- sources of levada ------------------------------------------------------------------------- */

/* Returns a pattern that finds just the file of that name. */
static levada_value *reader_pattern(const char *name, size_t size)
{
    levada_text   text = { 0 };
    levada_value *value = NULL;

    levada_files_put_literal(&text, name, size);
    if (!text.failed) value = levada_value_text(text.at ? text.at : "", text.size);
    levada_text_clear(&text);
    return value;
}

/* Takes the value; NULL is a lack of memory. */
static levada_status reader_set(levada_value *map, const char *key, levada_value *value,
                                levada_error *err)
{
    levada_status st = value ? levada_value_set(map, key, &value, err) : levada_reader_short(err);

    levada_value_destroy(&value);
    return st;
}

static levada_status reader_set_sizes(const levada_reader_options *o, levada_value *map,
                                      levada_error *err)
{
    const struct {
        const char *key;
        int64_t     value;
    } sizes[] = { { "record_bytes", o->record_bytes },
                  { "header_bytes", o->header_bytes },
                  { "footer_bytes", o->footer_bytes },
                  { "hop_bytes", o->hop_bytes } };

    for (int i = 0; i < 4; i++) {
        LEVADA_TRY(reader_set(map, sizes[i].key, levada_value_int(sizes[i].value), err));
    }
    return reader_set(map, "drop_partial", levada_value_bool(true), err);
}

static levada_status reader_set_all(const levada_reader_file *f, const char *name, size_t size,
                                    levada_value *map, levada_error *err)
{
    const levada_reader_options *o = &f->options;
    levada_value                *word;

    LEVADA_TRY(reader_set(map, "files", reader_pattern(name, size), err));
    word = levada_value_text(f->compression, strlen(f->compression));
    LEVADA_TRY(reader_set(map, "compression", word, err));
    if (o->kind == LEVADA_READER_TEXT_LINE) {
        LEVADA_TRY(reader_set(map, "dtype", levada_value_text("string", 6), err)); /* any bytes */
        return reader_set(map, "skip_lines", levada_value_int(o->skip_header_lines), err);
    }
    return o->kind == LEVADA_READER_FIXED_LENGTH ? reader_set_sizes(o, map, err) : LEVADA_OK;
}

static levada_status reader_dataset(const levada_reader_file *f, const char *name, size_t size,
                                    levada_dataset **out, levada_error *err)
{
    const char   *source = reader_kinds[f->options.kind].source;
    levada_value *map = levada_value_map();
    levada_status st = map ? reader_set_all(f, name, size, map, err) : levada_reader_short(err);

    if (st == LEVADA_OK) st = levada_dataset_append(f->env, source, map, NULL, 0, out, err);
    levada_value_destroy(&map);
    return st;
}

static levada_status reader_open_iter(levada_reader_file *f, const char *name, size_t size,
                                      int32_t rows, levada_error *err)
{
    levada_iter_options o = LEVADA_ITER_OPTIONS_INIT;
    levada_dataset     *dataset = NULL;
    levada_status       st;

    if (levada_utf8_check(name, size) < size) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "the file name is not UTF-8; only whole files may have such names");
    }
    o.seed = 0;
    o.threads = 1;
    o.block_rows = rows;
    if (f->options.kind == LEVADA_READER_FIXED_LENGTH) {
        /* Records that overlap are copied: a block of them holds about that many bytes. */
        int64_t most = READER_OVERLAP / f->options.record_bytes;

        if (rows > most) o.block_rows = most > 0 ? (int32_t)most : 1;
        o.max_record_bytes = READER_MOST;
    }
    LEVADA_TRY(reader_dataset(f, name, size, &dataset, err));
    st = levada_iter_open(dataset, &o, &f->iter, err);
    levada_dataset_unref(&dataset);
    return st;
}

/* -- files that are one record ----------------------------------------------------------------- */

/* Makes a block of one value: `data`, copied, or what `owner` holds. */
static levada_status reader_one(const levada_reader_file *f, const void *data, int64_t size,
                                const levada_buffer *owner, levada_block **out, levada_error *err)
{
    levada_builder *b = NULL;
    int32_t        *offsets = NULL;
    void           *values = NULL;
    levada_status   st;

    LEVADA_TRY(levada_builder_create(f->env, f->spec, 1, &b, err));
    st = levada_builder_offsets(b, 0, 0, 1, &offsets, err);
    if (st == LEVADA_OK) offsets[1] = (int32_t)size;
    if (st == LEVADA_OK && owner) {
        levada_builder_share_values(b, 0, owner->data, owner);
    } else if (st == LEVADA_OK) {
        st = levada_builder_values(b, 0, size, &values, err);
        if (st == LEVADA_OK && size > 0) memcpy(values, data, (size_t)size);
    }
    if (st == LEVADA_OK) st = levada_builder_publish(&b, out, err);
    if (st == LEVADA_OK && owner) (*out)->bytes += size;
    levada_builder_destroy(&b);
    return st;
}

static levada_status reader_too_large(levada_error *err)
{
    return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED,
                       "the file is larger than a block may be (1 GiB)");
}

/* Reserves a buffer of that size which begins with the `n` bytes of *buffer and takes its place. */
static levada_status reader_reserve(const levada_reader_file *f, int64_t size, int64_t n,
                                 levada_buffer **buffer, levada_error *err)
{
    levada_buffer *more = NULL;

    LEVADA_TRY(levada_buffer_create(levada_env_pool(f->env), size, &more, err));
    if (n > 0) memcpy(more->data, (*buffer)->data, (size_t)n);
    levada_buffer_unref(buffer);
    *buffer = more;
    return LEVADA_OK;
}

/* Reads one byte more than there should be, so that the end shows at the first try. */
static levada_status reader_slurp(const levada_reader_file *f, levada_bytes *bytes,
                                  levada_buffer **buffer, int64_t *size, levada_error *err)
{
    int64_t left = levada_bytes_left(bytes), capacity = left > 0 ? left + 1 : READER_GUESS,
            made = 1;

    if (left > READER_MOST) return reader_too_large(err);
    LEVADA_TRY(reader_reserve(f, capacity, 0, buffer, err));
    for (*size = 0; made > 0;) {
        if (*size > READER_MOST) return reader_too_large(err);
        if (*size == capacity) {
            capacity *= 2;
            LEVADA_TRY(reader_reserve(f, capacity, *size, buffer, err));
        }
        LEVADA_TRY(levada_bytes_read(bytes, (*buffer)->data + *size, capacity - *size, &made, err));
        *size += made;
    }
    return LEVADA_OK;
}

static levada_status reader_whole(const levada_reader_file *f, const char *path,
                                  levada_block **out, levada_error *err)
{
    levada_bytes_options how = { .compression = f->compression };
    levada_bytes        *bytes = NULL;
    levada_buffer       *buffer = NULL;
    int64_t              size = 0;
    levada_status        st;

    LEVADA_TRY(levada_bytes_open(f->env, path, &how, &bytes, err));
    st = reader_slurp(f, bytes, &buffer, &size, err);
    if (st == LEVADA_OK) st = reader_one(f, NULL, size, buffer, out, err);
    if (st != LEVADA_OK) levada_error_place(err, NULL, path, -1, -1);
    levada_buffer_unref(&buffer);
    levada_bytes_close(&bytes);
    return st;
}

static levada_status reader_open_whole(const levada_reader_file *f, const char *name, size_t size,
                                       levada_block **out, levada_error *err)
{
    levada_text   text = { 0 };
    char         *path = NULL;
    levada_status st;

    if (memchr(name, '\0', size)) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "the name of a file has a zero byte in it: '%s'", name);
    }
    levada_text_add(&text, name, size);
    LEVADA_TRY(levada_text_steal(&text, &path, err));
    st = reader_whole(f, path, out, err);
    levada_free(path);
    return st;
}

/* -- all kinds --------------------------------------------------------------------------------- */

levada_status levada_reader_file_init(levada_reader_file *file, levada_env *env,
                                      const levada_reader_options *options, levada_error *err)
{
    const levada_field field = { .name = "value", .dtype = LEVADA_BYTES };
    const char        *compression = options->compression;
    levada_dataset    *dataset = NULL;

    if ((int)options->kind < 0 || options->kind > LEVADA_READER_IDENTITY) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "kind=%d must be a levada_reader_kind",
                           (int)options->kind);
    }
    if (!compression) compression = reader_kinds[options->kind].compression;
    file->options = *options;
    file->env = levada_env_ref(env);
    file->compression = levada_strdup(compression);
    if (!file->env || !file->compression) return levada_reader_short(err);
    LEVADA_TRY(levada_compression_check(file->env, compression, err));
    LEVADA_TRY(levada_spec_create(&field, 1, LEVADA_SPEC_PLAIN, &file->spec, err));
    if (levada_reader_kind_whole(options->kind)) return LEVADA_OK;
    LEVADA_TRY(reader_dataset(file, "", 0, &dataset, err)); /* refuses wrong options now */
    levada_dataset_unref(&dataset);
    return LEVADA_OK;
}

void levada_reader_file_clear(levada_reader_file *file)
{
    levada_reader_file_close(file);
    levada_spec_unref(&file->spec);
    levada_free(file->compression);
    if (file->env) levada_env_unref(&file->env);
}

levada_status levada_reader_file_open(levada_reader_file *file, const char *name, size_t size,
                                      int32_t rows, levada_error *err)
{
    if (levada_reader_kind_whole(file->options.kind)) return LEVADA_OK;
    return reader_open_iter(file, name, size, rows, err);
}

levada_status levada_reader_file_next(levada_reader_file *file, const char *name, size_t size,
                                      levada_block **out, levada_error *err)
{
    switch (file->options.kind) {
    case LEVADA_READER_WHOLE_FILE: return reader_open_whole(file, name, size, out, err);
    case LEVADA_READER_IDENTITY: return reader_one(file, name, (int64_t)size, NULL, out, err);
    default: return levada_iter_next(file->iter, out, err);
    }
}

void levada_reader_file_close(levada_reader_file *file) { levada_iter_close(&file->iter); }

int64_t levada_reader_file_number(const levada_reader_file *file, const levada_block *block,
                                  int64_t row)
{
    const levada_reader_options *o = &file->options;
    levada_origin                origin = levada_block_origin(block, row);

    if (o->kind == LEVADA_READER_TFRECORD) return origin.offset;
    return origin.record + (o->kind == LEVADA_READER_TEXT_LINE ? o->skip_header_lines + 1 : 0);
}
