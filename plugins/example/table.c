/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table - a file format with typed columns: each line is a row of an id and any number of values.
 *
 *     cc -shared -fPIC -I include plugins/example/table.c -o table.so
 *
 * The format frames lines. The decoder turns a block of lines into columns, one column at a time:
 * it first finds where the cells are, then converts all ids, then all values. It runs on every
 * thread; the reader only frames. A row that does not parse is rejected, and the others continue.
 */
#define LEVADA_PLUGIN_MAIN
#include <levada/plugin.h>

#include <stdlib.h>
#include <string.h>

typedef struct table_args {
    const char *separator; /* one character */
} table_args;

static const levada_arg table_options[] = {
    LEVADA_ARG(TEXT, table_args, separator, .otherwise = "\",\"", .doc = "between two cells"),
    LEVADA_ARG_END
};

/* -- framing: lines */

static levada_status table_next(void *state, const void *args, const uint8_t *data, int64_t size,
                                bool at_end, levada_spans *out, levada_error *err)
{
    int64_t at = 0;
    int32_t n = 0;

    (void)state, (void)args, (void)err;
    while (n < out->capacity && at < size) {
        const uint8_t *stop = memchr(data + at, '\n', (size_t)(size - at));
        int64_t        end = stop ? stop - data : size;

        if (!stop && !at_end) break;
        out->begin[n] = (int32_t)at;
        out->end[n++] = (int32_t)end;
        at = stop ? end + 1 : end;
    }
    out->n = n;
    out->used = at;
    out->need = 0;
    return LEVADA_OK;
}

/* -- columns */

/* Cells of a block of rows; those of row i are [first[i], first[i + 1]). */
typedef struct table_cells {
    const char **text;
    int32_t     *size, *first;
    int64_t      n, capacity;
} table_cells;

static void table_close(void *state)
{
    table_cells *c = state;

    levada_free(c->text);
    levada_free(c->size);
    levada_free(c->first);
}

static levada_status table_short(levada_error *err)
{
    return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a table");
}

/* Capacity for the cells of all rows: no allocation per row, and none at all once it is large
 * enough.
 */
static levada_status table_reserve(table_cells *c, const levada_strings *in, levada_error *err)
{
    int64_t need = 0;
    void   *text, *size, *first;

    for (int64_t i = 0; i < in->n; i++) need += in->size[i] + 1;
    if (need <= c->capacity) return LEVADA_OK;
    text = levada_realloc(c->text, (size_t)need * sizeof *c->text);
    if (text) c->text = text;
    size = levada_realloc(c->size, (size_t)need * sizeof *c->size);
    if (size) c->size = size;
    first = levada_realloc(c->first, (size_t)(need + 1) * sizeof *c->first);
    if (first) c->first = first;
    if (!text || !size || !first) return table_short(err);
    c->capacity = need;
    return LEVADA_OK;
}

static void table_split(table_cells *c, const levada_strings *in, char separator)
{
    c->n = 0;
    for (int64_t i = 0; i < in->n; i++) {
        const char *at = (const char *)in->data[i], *end = at + in->size[i];

        c->first[i] = (int32_t)c->n;
        for (;;) {
            const char *stop = memchr(at, separator, (size_t)(end - at));

            c->text[c->n] = at;
            c->size[c->n++] = (int32_t)((stop ? stop : end) - at);
            if (!stop) break;
            at = stop + 1;
        }
    }
    c->first[in->n] = (int32_t)c->n;
}

/* The number in a cell; false if it is something else. */
static bool table_number(const table_cells *c, int64_t cell, double *out)
{
    char  text[32] = "", *end = text;
    size_t size = (size_t)c->size[cell];

    *out = 0;
    if (size == 0 || size >= sizeof text) return false;
    memcpy(text, c->text[cell], size);
    *out = strtod(text, &end);
    return end == text + size;
}

static levada_status table_check(const void *args, levada_spec **out, levada_error *err)
{
    static const levada_field fields[] = {
        { .name = "id", .dtype = LEVADA_INT64 },
        { .name = "values", .dtype = LEVADA_FLOAT32, .depth = 1 },
    };

    if (strlen(((const table_args *)args)->separator) != 1) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "separator='%s' must be one character",
                           ((const table_args *)args)->separator);
    }
    return levada_spec_create(fields, 2, LEVADA_SPEC_PLAIN, out, err);
}

static levada_status table_reject(levada_builder *out, int64_t row, const char *column,
                                  levada_error *err)
{
    levada_error why = LEVADA_ERROR_INIT;

    (void)levada_fail(&why, LEVADA_EDATA_LOSS, "a cell of column '%s' must be a number", column);
    return levada_builder_reject(out, row, &why, err);
}

static levada_status table_decode(void *state, const void *args, const levada_strings *in,
                                  levada_builder *out, levada_error *err)
{
    table_cells *c = state;
    void        *ids = NULL, *values = NULL;
    int32_t     *offsets = NULL;
    double       number;

    LEVADA_TRY(table_reserve(c, in, err));
    table_split(c, in, ((const table_args *)args)->separator[0]);
    LEVADA_TRY(levada_builder_values(out, 0, in->n, &ids, err));
    for (int64_t i = 0; i < in->n; i++) {
        if (!table_number(c, c->first[i], &number)) LEVADA_TRY(table_reject(out, i, "id", err));
        ((int64_t *)ids)[i] = (int64_t)number;
    }
    LEVADA_TRY(levada_builder_offsets(out, 1, 0, in->n, &offsets, err));
    for (int64_t i = 0; i < in->n; i++) offsets[i + 1] = c->first[i + 1] - (int32_t)i - 1;
    LEVADA_TRY(levada_builder_values(out, 1, offsets[in->n], &values, err));
    for (int64_t i = 0; i < in->n; i++) {
        bool good = true;

        for (int32_t k = offsets[i]; k < offsets[i + 1]; k++) {
            good = table_number(c, k + i + 1, &number) && good;
            ((float *)values)[k] = (float)number;
        }
        if (!good) LEVADA_TRY(table_reject(out, i, "values", err));
    }
    return LEVADA_OK;
}

static const levada_decoder_def table_columns = {
    .struct_size = sizeof(levada_decoder_def),
    .state_size = sizeof(table_cells),
    .check = table_check,
    .close = table_close,
    .decode = table_decode,
};

static const levada_example_file table_files[] = {
    { "table.txt", "1,0.5,2\n2\n3,7,8,9\n40,-1\n5,1e3\n", 30 },
    { NULL, NULL, 0 },
};

static const levada_format_def table = {
    .struct_size = sizeof(levada_format_def),
    .name = "table",
    .doc = "lines of an id and values, as typed columns",
    .example = "table:table.txt",
    .example_files = table_files,
    .fields = LEVADA_FIELDS("line"),
    .args = table_options,
    .args_size = sizeof(table_args),
    .next = table_next,
    .decoder = &table_columns,
};

levada_status levada_plugin_main(const levada_host *host, levada_plugin *plugin, levada_error *err)
{
    LEVADA_PLUGIN_BEGIN(host, plugin, "table", 1);
    return host->add_format(plugin, &table, err);
}
