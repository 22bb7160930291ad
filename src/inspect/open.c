/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Datasets of files whose format and columns are found out.
 */
#include "base/assert.h"
#include "files/glob.h"
#include "inspect/scan.h"
#include <levada/example_view.h>
#include <levada/iter.h>
#include <levada/open.h>

#include <string.h>

enum { OPEN_RECORDS = 64 };

static levada_status open_short(levada_error *err)
{
    return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory while opening files");
}

/* -- the format */

/* Accepts only the name of a format, so that an option after a colon is an error here. */
static levada_status open_asked(int32_t nfiles, const char *source, levada_error *err)
{
    const char *colon = source ? strchr(source, ':') : NULL;

    if (nfiles < 0)
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "nfiles=%d must be >= 0", (int)nfiles);
    if (!colon) return LEVADA_OK;
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                       "source='%s' must be a name without options, such as '%.*s'; use a pipeline "
                       "to set options",
                       source, (int)(colon - source), source);
}

/* Asks the caller about a name that the content contradicts without a checksum. */
static levada_status open_check(const levada_scan *scan, const char *path, const char *named,
                                levada_error *err)
{
    if (scan->guessed)
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "unknown format of '%s', which looks like %s; set source= to its format",
                           path, scan->looks);
    if (!scan->content[0] || scan->sure) return LEVADA_OK;
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                       "'%s' has the name of a %s file, but looks like %s; set source= to its "
                       "format", path, named, scan->content);
}

/* Identifies the format; the registry owns *source. */
static levada_status open_identify(levada_env *env, const levada_texts *files, const char *asked,
                                   const char **source, const char **encoding, levada_error *err)
{
    levada_files  found = { 0 };
    levada_scan   scan = { .empty = true };
    const char   *name = NULL, *path = NULL;
    levada_status st = levada_files_find(env, files, &found, err);

    for (int64_t i = 0; st == LEVADA_OK && i < found.n && scan.empty; i++) {
        path = found.path[i];
        scan = (levada_scan){ 0 };
        st = levada_scan_identify(&scan, env, path, asked, NULL, &name, err);
    }
    if (st == LEVADA_OK && !asked && scan.empty)
        st = levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                         "'%s' is empty, so its format is unknown; set source= to its format",
                         path);
    if (st == LEVADA_OK && !asked) st = open_check(&scan, path, name, err);
    if (st == LEVADA_OK) *source = name;
    if (st == LEVADA_OK) *encoding = scan.encoding;
    levada_files_clear(&found);
    return st;
}

/* -- the columns */

static levada_status open_count(levada_example_view *view, const levada_block *block,
                                int64_t counts[3], levada_error *err)
{
    const levada_column *column = levada_block_at(block, 0);

    for (int64_t row = 0; row < levada_block_rows(block); row++) {
        int64_t             size = 0;
        const uint8_t      *data = levada_column_bytes(column, row, &size);
        levada_example_kind kind;

        LEVADA_TRY(levada_example_view_parse(view, data, (size_t)size, &kind, err));
        counts[kind] += kind == LEVADA_EXAMPLE_OTHER || levada_example_view_count(view) > 0;
    }
    return LEVADA_OK;
}

/* Finds the decoder for most of the first records; NULL if they are not messages. */
static levada_status open_decoder(const levada_dataset *ds, const char **out, levada_error *err)
{
    levada_iter_options  options = LEVADA_ITER_OPTIONS_INIT;
    levada_example_view *view = NULL;
    levada_iter         *it = NULL;
    levada_block        *block = NULL;
    int64_t              counts[3] = { 0 };
    levada_status        st = levada_example_view_create(&view, err);

    options.seed = 0;
    options.threads = 1;
    options.block_rows = OPEN_RECORDS;
    if (st == LEVADA_OK) st = levada_iter_open(ds, &options, &it, err);
    if (st == LEVADA_OK) st = levada_iter_next(it, &block, err);
    if (st == LEVADA_OK) st = open_count(view, block, counts, err);
    if (st == LEVADA_END) st = LEVADA_OK;
    if (st == LEVADA_AGAIN) st = levada_fail(err, LEVADA_ECANCELLED, "interrupted");
    if (counts[LEVADA_EXAMPLE_PLAIN] + counts[LEVADA_EXAMPLE_SEQUENCE] >
        counts[LEVADA_EXAMPLE_OTHER])
        *out = counts[LEVADA_EXAMPLE_SEQUENCE] > 0 ? "parse_sequence_example" : "parse_example";
    levada_block_unref(&block);
    levada_iter_close(&it);
    levada_example_view_destroy(&view);
    return st;
}

/* -- the dataset */

/* Sets {key: value}; takes the value, NULL = no memory. */
static levada_status open_set(levada_value *map, const char *key, levada_value *value,
                              levada_error *err)
{
    levada_status st = map && value ? levada_value_set(map, key, &value, err) : open_short(err);

    levada_value_destroy(&value);
    return st;
}

static levada_value *open_list(const levada_texts *files)
{
    levada_value *list = levada_value_list();

    for (int64_t i = 0; list && i < files->n; i++) {
        levada_value *one = levada_value_text(files->at[i], strlen(files->at[i]));

        if (!one || levada_value_push(list, &one, NULL) != LEVADA_OK) {
            levada_value_destroy(&one);
            levada_value_destroy(&list);
        }
    }
    return list;
}

/* Sets the option by which the format or decoder finds its columns in the records. */
static levada_status open_ask(const levada_op *op, bool parse, levada_value *map, levada_error *err)
{
    bool        format = op->family == LEVADA_FAMILY_FORMAT;
    const char *finds = format ? op->def.format.finds : op->def.decoder.finds;

    for (const levada_arg *arg = op->args; finds && arg->name; arg++) {
        bool flag = arg->type == LEVADA_ARG_BOOL;

        if (strcmp(arg->name, finds) != 0 || !(flag || parse)) continue;
        return open_set(map, finds, flag ? levada_value_bool(true) : levada_value_text("auto", 4),
                        err);
    }
    return LEVADA_OK;
}

static levada_status open_source(levada_env *env, const levada_texts *files, const char *name,
                                 const char *encoding, bool parse, levada_dataset **out,
                                 levada_error *err)
{
    levada_value *map = levada_value_map();
    levada_status st = open_set(map, "files", open_list(files), err);

    if (st == LEVADA_OK && encoding) st = levada_value_set_text(map, "encoding", encoding, err);
    if (st == LEVADA_OK) st = open_ask(levada_registry_find(env, name), parse, map, err);
    if (st == LEVADA_OK) st = levada_dataset_append(env, name, map, NULL, 0, out, err);
    levada_value_destroy(&map);
    return st;
}

/* Replaces *ds by a dataset of its parsed messages, where it has some. */
static levada_status open_parse(levada_env *env, levada_dataset **ds, levada_error *err)
{
    const char     *name = NULL;
    levada_dataset *parsed = NULL;
    levada_value   *map;
    levada_status   st;

    LEVADA_TRY(open_decoder(*ds, &name, err));
    if (!name) return LEVADA_OK;
    map = levada_value_map();
    st = map ? open_ask(levada_registry_find(env, name), true, map, err)
             : levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory");
    if (st == LEVADA_OK)
        st = levada_dataset_append(env, name, map, (const levada_dataset *const *)ds, 1, &parsed,
                                   err);
    levada_value_destroy(&map);
    if (st != LEVADA_OK) return st;
    levada_dataset_unref(ds);
    *ds = parsed;
    return LEVADA_OK;
}

levada_status levada_dataset_open(levada_env *env, const char *const *files, int32_t nfiles,
                                  const char *source, bool parse, levada_dataset **out,
                                  levada_error *err)
{
    LEVADA_TRY(levada_require(files != NULL, "files", err));
    LEVADA_TRY(levada_require(out != NULL, "out", err));
    LEVADA_TRY(levada_env_have(env, err));
    LEVADA_TRY(open_asked(nfiles, source, err));
    levada_texts    all = { .at = files, .n = nfiles };
    levada_dataset *ds = NULL;
    const char     *name = NULL, *encoding = NULL;
    levada_status   st = open_identify(env, &all, source, &name, &encoding, err);

    if (st == LEVADA_OK) st = open_source(env, &all, name, encoding, parse, &ds, err);
    if (st == LEVADA_OK && parse && strcmp(name, LEVADA_SCAN_RECORDS) == 0)
        st = open_parse(env, &ds, err);
    if (st == LEVADA_OK) *out = ds;
    else levada_dataset_unref(&ds);
    return st;
}
