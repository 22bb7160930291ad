/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mds - samples of MosaicML Streaming: the shards of a directory with an index.json, or shards.
 */
#include "base/alloc.h"
#include "files/bytes.h"
#include "files/glob.h"
#include "option/value_priv.h"
#include "rows/infer.h"
#include "source/mds_shard.h"

#include <string.h>

#define MDS_HEAD_MOST (64 << 20) /* bytes of a heading */

static const levada_arg mds_options[] = {
    LEVADA_ARG(VALUE, levada_mds_args, columns, .otherwise = "auto",
               .doc = "{name: encoding} of all columns in their order, such as {id: int, text: "
                      "str}; auto = from the shards"),
    LEVADA_ARG_END
};

static levada_status mds_check(const void *args, levada_spec **out, levada_error *err)
{
    return levada_mds_make_spec(args, false, out, err);
}

static levada_status mds_open(void *state, const void *args, const levada_context *context,
                              levada_error *err)
{
    (void)context;
    return levada_mds_read_layout(args, false, &((levada_mds_state *)state)->layout, err);
}

/* -- columns=auto */

/* Makes {name: encoding} of an entry of index.json, or of the JSON in a heading. */
static levada_status mds_columns_of(const levada_value *shard, levada_value **out,
                                    levada_error *err)
{
    const levada_value *names = levada_value_get(shard, "column_names");
    const levada_value *encodings = levada_value_get(shard, "column_encodings");
    int64_t             version = levada_value_as_int(levada_value_get(shard, "version"));
    levada_status       st = LEVADA_OK;

    if (version && version != 2)
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "the shards have version %lld; levada reads version 2",
                           (long long)version);
    if (levada_value_count(names) < 1 ||
        levada_value_count(names) != levada_value_count(encodings))
        return levada_fail(err, LEVADA_EDATA_LOSS, "a shard of MDS must list column_names and as "
                           "many column_encodings, got %lld and %lld",
                           (long long)levada_value_count(names),
                           (long long)levada_value_count(encodings));
    *out = levada_value_map();
    for (int64_t i = 0; st == LEVADA_OK && i < levada_value_count(names); i++) {
        const char *name = levada_value_as_text(levada_value_item(names, i), NULL);
        const char *encoding = levada_value_as_text(levada_value_item(encodings, i), NULL);

        if (name && encoding) st = levada_mds_put(*out, name, encoding, err);
        else st = levada_fail(err, LEVADA_EDATA_LOSS,
                              "column %lld of MDS must have a name and an encoding", (long long)i);
    }
    if (st != LEVADA_OK) levada_value_destroy(out);
    return st;
}

/* Reads the JSON in the heading of a shard, after the table of positions. */
static levada_status mds_read_heading(levada_bytes *bytes, levada_value **out, levada_error *err)
{
    uint8_t       head[8], *all = NULL;
    int64_t       made = 0, size, table;
    levada_status st;

    LEVADA_TRY(levada_bytes_read(bytes, head, 8, &made, err));
    table = 8 + 4 * (made < 8 ? 0 : (int64_t)head[0] | head[1] << 8 | head[2] << 16 |
                                        (int64_t)head[3] << 24);
    size = made < 8 ? 0 : (int64_t)head[4] | head[5] << 8 | head[6] << 16 | (int64_t)head[7] << 24;
    if (size < table || size > MDS_HEAD_MOST)
        return levada_fail(err, LEVADA_EDATA_LOSS,
                           "not a shard of MDS: its heading cannot have %lld bytes",
                           (long long)size);
    all = levada_alloc((size_t)size + 1);
    if (!all) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a heading");
    st = levada_bytes_read(bytes, all, size - 8, &made, err);
    if (st == LEVADA_OK && made < size - 8)
        st = levada_fail(err, LEVADA_EDATA_LOSS,
                         "truncated heading: %lld of %lld bytes",
                         (long long)made, (long long)size - 8);
    if (st == LEVADA_OK)
        st = levada_value_parse_json((const char *)all + table - 8, (size_t)(size - table), out,
                                     err);
    levada_free(all);
    return st;
}

static levada_status mds_from_shard(levada_env *env, const levada_texts *files,
                                    const char *compression, levada_value **columns,
                                    levada_error *err)
{
    levada_bytes_options options = { .compression = compression };
    levada_files         found = { 0 };
    levada_bytes        *bytes = NULL;
    levada_value        *json = NULL;
    levada_status        st;

    LEVADA_TRY(levada_files_find(env, files, &found, err));
    st = levada_bytes_open(env, found.path[0], &options, &bytes, err);
    if (st == LEVADA_OK) st = mds_read_heading(bytes, &json, err);
    if (st == LEVADA_OK) st = mds_columns_of(json, columns, err);
    if (st != LEVADA_OK) levada_error_place(err, NULL, found.path[0], -1, -1);
    levada_bytes_close(&bytes);
    levada_value_destroy(&json);
    levada_files_clear(&found);
    return st;
}

/* Adds the file of a shard, which is compressed if `zip_data` is there. */
static levada_status mds_add_shard(const levada_value *shard, const char *path,
                                   levada_value *files, levada_error *err)
{
    const levada_value *data = levada_value_get(shard, "zip_data");
    const char         *name;
    char               *file = NULL, shown[LEVADA_VALUE_SHOWN];
    levada_status       st;

    if (levada_value_kind_of(data) != LEVADA_VALUE_MAP) data = levada_value_get(shard, "raw_data");
    name = levada_value_as_text(levada_value_get(data, "basename"), NULL);
    if (!name)
        return levada_fail(err, LEVADA_EDATA_LOSS,
                           "a shard of index.json must have raw_data or zip_data with a basename, "
                           "got %s",
                           levada_value_shown(shard, LEVADA_PRINT_JSON, shown));
    LEVADA_TRY(levada_mds_join(path, false, name, true, &file, err));
    st = levada_mds_put(files, NULL, file, err);
    levada_free(file);
    return st;
}

static levada_status mds_add_shards(const levada_value *shards, const char *path,
                                    levada_value *files, levada_value **columns, levada_error *err)
{
    if (levada_value_count(shards) < 1)
        return levada_fail(
            err, LEVADA_EDATA_LOSS,
            "an index.json of MDS must list at least one shard in \"shards\", got none");
    for (int64_t i = 0; i < levada_value_count(shards); i++) {
        const levada_value *shard = levada_value_item(shards, i);
        levada_value       *more = NULL;
        bool                same;

        LEVADA_TRY(mds_add_shard(shard, path, files, err));
        LEVADA_TRY(mds_columns_of(shard, &more, err));
        same = !*columns || levada_value_count(*columns) == levada_value_count(more);
        for (int64_t k = 0; *columns && same && k < levada_value_count(more); k++) {
            same = strcmp(levada_value_key(*columns, k), levada_value_key(more, k)) == 0 &&
                   strcmp(levada_value_as_text(levada_value_item(*columns, k), NULL),
                          levada_value_as_text(levada_value_item(more, k), NULL)) == 0;
        }
        if (*columns) levada_value_destroy(&more);
        else *columns = more;
        if (!same)
            return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                               "shard %lld must have the columns of the first shard; read it with "
                               "a source of its own", (long long)i);
    }
    return LEVADA_OK;
}

static levada_status mds_from_directory(levada_env *env, const char *path, levada_value *files,
                                        levada_value **columns, levada_error *err)
{
    levada_value *json = NULL;
    char         *name = NULL;
    levada_status st;

    LEVADA_TRY(levada_mds_join(path, false, "index.json", false, &name, err));
    st = levada_mds_read_json(env, name, &json, err);
    if (st == LEVADA_OK)
        st = mds_add_shards(levada_value_get(json, "shards"), path, files, columns, err);
    if (st != LEVADA_OK) levada_error_place(err, NULL, name, -1, -1);
    levada_value_destroy(&json);
    levada_free(name);
    return st;
}

static levada_status mds_infer(levada_env *env, const void *args, const levada_texts *files,
                               const char *compression, const levada_value *options,
                               levada_value **out, levada_error *err)
{
    const levada_mds_args *a = args;
    levada_value          *columns = NULL, *list = NULL;
    bool                   known = !levada_infer_is_auto(a->columns), directory;
    levada_status          st = LEVADA_OK;

    directory = levada_mds_is_directory(files);
    if (known && !directory) return LEVADA_OK;
    if (directory) {
        list = levada_value_list();
        if (!list) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory");
        st = mds_from_directory(env, files->at[0], list, &columns, err);
    } else {
        st = mds_from_shard(env, files, compression, &columns, err);
    }
    if (st == LEVADA_OK && known) {
        levada_value_destroy(&columns);
        columns = levada_value_copy(a->columns);
        if (!columns) st = levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory");
    }
    if (st == LEVADA_OK) return levada_mds_set(options, columns, list, out, err);
    levada_value_destroy(&columns);
    levada_value_destroy(&list);
    return st;
}

static const levada_decoder_def mds_columns = {
    .struct_size = sizeof(levada_decoder_def),
    .state_size = sizeof(levada_mds_state),
    .check = mds_check,
    .open = mds_open,
    .decode = levada_mds_decode,
};

/* Two samples of a string and a uint8. */
static const levada_example_file mds_files[] = {
    { "samples.mds",
      "\2\0\0\0" "\120\0\0\0" "\127\0\0\0" "\135\0\0\0"
      "{\"column_names\":[\"s\",\"n\"],\"column_encodings\":[\"str\",\"uint8\"]   }"
      "\2\0\0\0" "hi" "\7" "\1\0\0\0" "x" "\10",
      93 },
    { NULL, NULL, 0 },
};

static const char *const mds_suffixes[] = { ".mds", NULL };

const levada_format_def levada_format_mds = {
    .struct_size = sizeof(levada_format_def),
    .name = "mds",
    .doc = "reads samples of MosaicML Streaming (MDS): shards, or a directory with an index.json",
    .example = "mds:samples.mds,columns={s:str,n:uint8}",
    .example_files = mds_files,
    .fields = LEVADA_FIELDS("sample"),
    .suffixes = mds_suffixes,
    .finds = "columns",
    .args = mds_options,
    .args_size = sizeof(levada_mds_args),
    .state_size = sizeof(levada_mds_state),
    .open = mds_open,
    .seek = levada_mds_seek,
    .next = levada_mds_next,
    .counted = true,
    .infer = mds_infer,
    .foreign = levada_mds_foreign,
    .decoder = &mds_columns,
};
