/* SPDX-License-Identifier: Apache-2.0 */
/*
 * litdata - samples of LitData: the chunks of a directory with an index.json, which has the types
 * of the columns.
 */
#include "base/alloc.h"
#include "files/bytes.h"
#include "files/glob.h"
#include "option/value_priv.h"
#include "rows/infer.h"
#include "source/mds_shard.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const levada_arg litdata_options[] = {
    LEVADA_ARG(VALUE, levada_mds_args, columns, .otherwise = "auto",
               .doc = "{name: encoding} of all columns in their order, such as {id: int, text: "
                      "str}; auto = from index.json"),
    LEVADA_ARG_END
};

static levada_status litdata_check(const void *args, levada_spec **out, levada_error *err)
{
    return levada_mds_make_spec(args, true, out, err);
}

static levada_status litdata_open(void *state, const void *args, const levada_context *context,
                                  levada_error *err)
{
    (void)context;
    return levada_mds_read_layout(args, true, &((levada_mds_state *)state)->layout, err);
}

/* -- columns=auto */

/* Translates a format of LitData to the encoding of mds_shard.h: dtypes are numbers there, of torch
 * and of NumPy. Others are passed on, and refused if they are not known. */
static void litdata_encoding(const char *format, char *out, size_t size)
{
    static const char *const torch[] = {
        "float32", "float32", "float64",  "float64", "complex64", "complex64", "complex128",
        "complex128", "float16", "float16", "bfloat16", "uint8", "int8", "int16", "int16", "int32",
        "int32", "int64", "int64", "bool", "uint16"
    };
    static const char *const numpy[] = { "int8",    "int16",   "int32",   "int64",
                                         "uint8",   "uint16",  "uint32",  "uint64",
                                         "float16", "float32", "float64", "complex64",
                                         "complex128", "bool" };
    const char *number = strchr(format, ':');
    bool        tensor = strncmp(format, "no_header_tensor:", 17) == 0;
    size_t      code = number ? (size_t)strtoul(number + 1, NULL, 10) : 0;

    (void)snprintf(out, size, "%s", format);
    if (strcmp(format, "float") == 0) (void)snprintf(out, size, "float64");
    if (strncmp(format, "image:", 6) == 0) (void)snprintf(out, size, "image");
    if (tensor && code < sizeof torch / sizeof *torch)
        (void)snprintf(out, size, "values:%s", torch[code]);
    if (strncmp(format, "no_header_numpy:", 16) == 0 && code < sizeof numpy / sizeof *numpy)
        (void)snprintf(out, size, "values:%s", numpy[code]);
}

/* Lists the names of the leaves of a tree of one level: a list, or NULL for the positions. */
static levada_status litdata_names(const levada_value *config, levada_value **out,
                                   levada_error *err)
{
    size_t              size = 0, inner = 0;
    const char         *text = levada_value_as_text(levada_value_get(config, "data_spec"), &size);
    levada_value       *spec = NULL;
    const levada_value *tree, *children;
    const char         *context;
    levada_status       st;

    if (!text) return LEVADA_OK;
    LEVADA_TRY(levada_value_parse_json(text, size, &spec, err));
    tree = levada_value_item(spec, 1);
    children = levada_value_get(tree, "children_spec");
    context = levada_value_as_text(levada_value_get(tree, "context"), &inner);
    st = LEVADA_OK;
    for (int64_t i = 0; st == LEVADA_OK && i < levada_value_count(children); i++) {
        const levada_value *type = levada_value_get(levada_value_item(children, i), "type");

        if (levada_value_kind_of(type) == LEVADA_VALUE_TEXT)
            st = levada_fail(err, LEVADA_EUNIMPLEMENTED,
                             "nested samples are not supported: column %lld; write flat samples",
                             (long long)i);
    }
    if (st == LEVADA_OK && context && inner > 0 && context[0] == '[')
        st = levada_value_parse_json(context, inner, out, err);
    if (st == LEVADA_OK && levada_value_count(*out) == 0) levada_value_destroy(out);
    levada_value_destroy(&spec);
    return st;
}

static levada_status litdata_columns(const levada_value *config, levada_value **out,
                                     levada_error *err)
{
    const levada_value *formats = levada_value_get(config, "data_format");
    levada_value       *names = NULL;
    levada_status       st = litdata_names(config, &names, err);

    if (st == LEVADA_OK && (levada_value_count(formats) < 1 ||
                            (names && levada_value_count(names) != levada_value_count(formats))))
        st = levada_fail(err, LEVADA_EDATA_LOSS,
                         "data_format must have an entry for each field of data_spec, got %lld "
                         "for %lld",
                         (long long)levada_value_count(formats),
                         (long long)levada_value_count(names));
    *out = levada_value_map();
    for (int64_t i = 0; st == LEVADA_OK && i < levada_value_count(formats); i++) {
        const char *format = levada_value_as_text(levada_value_item(formats, i), NULL);
        const char *name = levada_value_as_text(levada_value_item(names, i), NULL);
        char        encoding[64], position[24];

        (void)snprintf(position, sizeof position, "%lld", (long long)i);
        litdata_encoding(format ? format : "", encoding, sizeof encoding);
        st = levada_mds_put(*out, name ? name : position, encoding, err);
    }
    levada_value_destroy(&names);
    if (st != LEVADA_OK) levada_value_destroy(out);
    return st;
}

/* Returns EUNIMPLEMENTED for chunks that are not items one after another. */
static levada_status litdata_plain(const levada_value *config, levada_error *err)
{
    static const char *const keys[] = { "compression_level", "encryption", "ipc_compression" };
    const char *loader = levada_value_as_text(levada_value_get(config, "item_loader"), NULL);

    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const levada_value *value = levada_value_get(config, keys[i]);

        if (value && levada_value_kind_of(value) != LEVADA_VALUE_NULL)
            return levada_fail(err, LEVADA_EUNIMPLEMENTED,
                               "chunks with %s are not supported; write the dataset without it",
                               keys[i]);
    }
    if (!loader || strcmp(loader, "PyTreeLoader") == 0) return LEVADA_OK;
    return levada_fail(err, LEVADA_EUNIMPLEMENTED,
                       "chunks of %s are not supported; levada reads chunks of PyTreeLoader",
                       loader);
}

static levada_status litdata_files(const levada_value *chunks, const char *path,
                                   levada_value *files, levada_error *err)
{
    if (levada_value_count(chunks) < 1)
        return levada_fail(
            err, LEVADA_EDATA_LOSS,
            "an index.json of LitData must list at least one chunk in \"chunks\", got none");
    for (int64_t i = 0; i < levada_value_count(chunks); i++) {
        const levada_value *chunk = levada_value_item(chunks, i);
        const char *name = levada_value_as_text(levada_value_get(chunk, "filename"), NULL);
        char       *file = NULL;
        levada_status st;

        if (!name) return levada_fail(err, LEVADA_EDATA_LOSS,
                                      "chunk %lld of index.json has no filename", (long long)i);
        LEVADA_TRY(levada_mds_join(path, false, name, true, &file, err));
        st = levada_mds_put(files, NULL, file, err);
        levada_free(file);
        if (st != LEVADA_OK) return st;
    }
    return LEVADA_OK;
}

/* Reads the index.json of a directory, or the one next to a chunk. `files` is NULL then. */
static levada_status litdata_read(levada_env *env, const char *path, levada_value *files,
                                  levada_value **columns, levada_error *err)
{
    levada_value       *json = NULL;
    const levada_value *config;
    char               *name = NULL;
    levada_status       st;

    LEVADA_TRY(levada_mds_join(path, !files, "index.json", false, &name, err));
    st = levada_mds_read_json(env, name, &json, err);
    config = levada_value_get(json, "config");
    if (st == LEVADA_OK) st = litdata_plain(config, err);
    if (st == LEVADA_OK) st = litdata_columns(config, columns, err);
    if (st == LEVADA_OK && files)
        st = litdata_files(levada_value_get(json, "chunks"), path, files, err);
    if (st != LEVADA_OK) levada_error_place(err, NULL, name, -1, -1);
    levada_value_destroy(&json);
    levada_free(name);
    return st;
}

static levada_status litdata_infer(levada_env *env, const void *args, const levada_texts *files,
                                   const char *compression, const levada_value *options,
                                   levada_value **out, levada_error *err)
{
    const levada_mds_args *a = args;
    bool                   known = !levada_infer_is_auto(a->columns);
    bool                   directory = levada_mds_is_directory(files);
    levada_value          *columns = NULL, *list = directory ? levada_value_list() : NULL;
    levada_files           found = { 0 };
    levada_status          st = LEVADA_OK;

    (void)compression;
    if (known && !directory) return LEVADA_OK;
    if (directory && !list) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory");
    if (!directory) st = levada_files_find(env, files, &found, err);
    if (st == LEVADA_OK)
        st = litdata_read(env, directory ? files->at[0] : found.path[0], list, &columns, err);
    if (st == LEVADA_OK && known) {
        levada_value_destroy(&columns);
        columns = levada_value_copy(a->columns);
        if (!columns) st = levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory");
    }
    levada_files_clear(&found);
    if (st == LEVADA_OK) return levada_mds_set(options, columns, list, out, err);
    levada_value_destroy(&columns);
    levada_value_destroy(&list);
    return st;
}

static const levada_decoder_def litdata_columns_def = {
    .struct_size = sizeof(levada_decoder_def),
    .state_size = sizeof(levada_mds_state),
    .check = litdata_check,
    .open = litdata_open,
    .decode = levada_mds_decode,
};

/* Two items of a string and some int16. */
static const levada_example_file litdata_example[] = {
    { "chunk.bin",
      "\2\0\0\0" "\20\0\0\0" "\36\0\0\0" "\51\0\0\0"
      "\2\0\0\0" "\4\0\0\0" "hi" "\1\0\2\0"
      "\1\0\0\0" "\2\0\0\0" "x" "\3\0",
      41 },
    { NULL, NULL, 0 },
};

const levada_format_def levada_format_litdata = {
    .struct_size = sizeof(levada_format_def),
    .name = "litdata",
    .doc = "reads samples of LitData: a directory with an index.json, or its chunks",
    .example = "litdata:chunk.bin,columns={s:str,n:\"values:int16\"}",
    .example_files = litdata_example,
    .fields = LEVADA_FIELDS("sample"),
    .finds = "columns",
    .args = litdata_options,
    .args_size = sizeof(levada_mds_args),
    .state_size = sizeof(levada_mds_state),
    .open = litdata_open,
    .seek = levada_mds_seek,
    .next = levada_mds_next,
    .counted = true,
    .infer = litdata_infer,
    .foreign = levada_mds_foreign,
    .decoder = &litdata_columns_def,
};
