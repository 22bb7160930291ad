/* SPDX-License-Identifier: Apache-2.0 */
#include "rows/json_rows.h"

#include "option/value_priv.h"
#include "rows/infer.h"
#include "rows/json_infer.h"

#include <string.h>

/* -- fields=auto */

/* Copies options into `map`: those that say which lines there are, or all but `fields`. */
static levada_status rows_copy(const levada_value *options, bool lines, levada_value *map,
                                levada_error *err)
{
    for (int64_t i = 0; i < levada_value_count(options); i++) {
        const char *key = levada_value_key(options, i);
        bool        of_lines = strcmp(key, "files") == 0 || strcmp(key, "compression") == 0 ||
                        strcmp(key, "errors") == 0 || strcmp(key, "invalid") == 0 ||
                        strcmp(key, "encoding") == 0 || strcmp(key, "field") == 0;

        if (lines ? !of_lines : strcmp(key, "fields") == 0) continue;
        LEVADA_TRY(
            levada_infer_set(map, key, levada_value_copy(levada_value_item(options, i)), err));
    }
    return LEVADA_OK;
}

/* Finds {fields: ...} of the first records of all files, so that each part of them finds the same.
 */
static levada_status rows_find(levada_env *env, const char *format, const levada_value *options,
                               levada_value **out, levada_error *err)
{
    levada_value   *map = levada_value_map();
    levada_dataset *lines = NULL;
    levada_status   st = map ? rows_copy(options, true, map, err)
                             : levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory");

    if (st == LEVADA_OK) st = levada_dataset_append(env, format, map, NULL, 0, &lines, err);
    if (st == LEVADA_OK) st = levada_json_infer(lines, "line", false, out, err);
    levada_dataset_unref(&lines);
    levada_value_destroy(&map);
    return st;
}

levada_status levada_json_rows_infer(levada_env *env, const char *format,
                                     const levada_json_args *args, const levada_value *options,
                                     levada_value **out, levada_error *err)
{
    levada_value *found = NULL;
    levada_status st;

    if (!levada_infer_is_auto(args->fields)) return LEVADA_OK;
    LEVADA_TRY(rows_find(env, format, options, &found, err));
    st = rows_copy(options, false, found, err);
    if (st == LEVADA_OK) *out = found;
    else levada_value_destroy(&found);
    return st;
}

/* -- columns */

static levada_status rows_check(const void *args, levada_spec **out, levada_error *err)
{
    return levada_json_columns_spec(args, out, err);
}

static levada_status rows_columns_open(void *state, const void *args,
                                        const levada_context *context, levada_error *err)
{
    levada_status st = levada_json_columns_open(state, args, err);

    (void)context;
    if (st != LEVADA_OK) levada_json_columns_close(state);
    return st;
}

static void rows_columns_close(void *state) { levada_json_columns_close(state); }

static levada_status rows_decode(void *state, const void *args, const levada_strings *in,
                                  levada_builder *out, levada_error *err)
{
    (void)args;
    return levada_json_columns_decode(state, in, out, err);
}

static int64_t rows_found(const void *state, bool *there, char *names, size_t size)
{
    return levada_json_columns_found(state, there, names, size);
}

const levada_decoder_def levada_json_rows = {
    .struct_size = sizeof(levada_decoder_def),
    .state_size = sizeof(levada_json_columns),
    .check = rows_check,
    .open = rows_columns_open,
    .close = rows_columns_close,
    .decode = rows_decode,
    .found = rows_found,
};
