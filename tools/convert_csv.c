/* SPDX-License-Identifier: Apache-2.0 */
#include "convert_csv.h"

#include "escape.h"
#include "source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CSV_COLUMNS = 4096, /* of the format; it refuses more */
    CSV_BYTES = 24      /* of a name, in messages */
};

/* Field `i` of the only row of a block. */
static const uint8_t *csv_field(const levada_column *c, int32_t i, size_t *size)
{
    *size = (size_t)(c->level[1].end[i] - c->level[1].begin[i]);
    return c->values + c->level[1].begin[i];
}

/* A name is not empty and no number, and no other field is the same. */
static bool csv_is_name(const levada_column *c, int32_t begin, int32_t i)
{
    size_t         size, other;
    const uint8_t *name = csv_field(c, i, &size);
    char           text[64] = "", *end = text;

    if (size == 0) return false;
    for (int32_t k = begin; k < i; k++) {
        const uint8_t *before = csv_field(c, k, &other);

        if (other == size && memcmp(before, name, size) == 0) return false;
    }
    if (size >= sizeof text) return true;
    memcpy(text, name, size);
    (void)strtod(text, &end);
    return *end != '\0';
}

static levada_status csv_names(const levada_column *c, const char *path, levada_error *err)
{
    int32_t begin = c->level[0].begin[0], end = c->level[0].end[0];

    if (end - begin > CSV_COLUMNS) return LEVADA_OK; /* every name is compared with all others */
    for (int32_t i = begin; i < end; i++) {
        if (!csv_is_name(c, begin, i))
            return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                               "the first row of %s does not look like names of columns; set "
                               "--header or --no-header",
                               path);
    }
    return LEVADA_OK;
}

/* A name that is not UTF-8. */
static levada_status csv_refuse_name(const levada_column *c, int32_t i, const char *path,
                                     levada_error *err)
{
    char           bytes[CSV_BYTES * 3 + 1] = "";
    size_t         size;
    const uint8_t *name = csv_field(c, i, &size);

    for (size_t k = 0; k < size && k < CSV_BYTES; k++)
        (void)snprintf(bytes + 3 * k, 4, " %02x", name[k]);
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                       "%s: column %d of the header must have a name in UTF-8, got the bytes%s: "
                       "convert the file with iconv, or set --no-header",
                       path, (int)(i - c->level[0].begin[0]), bytes);
}

static levada_status csv_options(const levada_column *c, bool header, const char *path,
                                 levada_value **out, levada_error *err)
{
    int32_t           begin = c->level[0].begin[0], end = c->level[0].end[0];
    levada_cli_buffer text = { 0 };
    levada_status     status;

    levada_cli_printf(&text, "{\"header\":%s,\"record_defaults\":[", header ? "true" : "false");
    for (int32_t i = begin; i < end; i++)
        levada_cli_printf(&text, "%s{\"dtype\":\"string\",\"default\":\"\"}", i > begin ? "," : "");
    levada_cli_puts(&text, "]");
    for (int32_t i = begin; header && i < end; i++) {
        size_t         size, from;
        const uint8_t *name = csv_field(c, i, &size);

        levada_cli_puts(&text, i > begin ? "," : ",\"columns\":[");
        from = text.size;
        levada_cli_json_text(&text, name, size);
        if (text.size > from && text.at[from] != '"') { /* an object with base64 */
            levada_cli_buffer_clear(&text);
            return csv_refuse_name(c, i, path, err);
        }
    }
    levada_cli_puts(&text, header && end > begin ? "]}" : "}");
    status = levada_value_parse_json(text.at, text.size, out, err);
    levada_cli_buffer_clear(&text);
    return status;
}

levada_status levada_cli_convert_csv(levada_env *env, const char *path, levada_cli_header header,
                                     int64_t record_bytes, levada_value **out, levada_error *err)
{
    levada_cli_pipe pipe = { 0 };
    levada_block   *block = NULL;
    levada_status   status = levada_cli_source_open(&pipe, env, "csv", path, record_bytes, err);

    if (status == LEVADA_OK) status = levada_cli_pipe_next(&pipe, &block, err);
    if (status == LEVADA_END)
        status = levada_fail(err, LEVADA_EINVALID_ARGUMENT, "%s is empty: it has no columns", path);
    if (status == LEVADA_OK && header == LEVADA_CLI_HEADER_LOOK)
        status = csv_names(levada_block_at(block, 0), path, err);
    if (status == LEVADA_OK)
        status = csv_options(levada_block_at(block, 0), header != LEVADA_CLI_HEADER_NO, path, out,
                             err);
    levada_block_unref(&block);
    levada_cli_pipe_close(&pipe);
    return status;
}
