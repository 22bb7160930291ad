/* SPDX-License-Identifier: Apache-2.0 */
#include "convert_records.h"

#include "escape.h"
#include "example.h"
#include <levada/builder.h>

#include <stdlib.h>
#include <string.h>

/* What the function is made of; uses of it share that. */
typedef struct convert_what {
    levada_env           *env;
    levada_cli_convert_as as;
    const char           *field;
} convert_what;

/* One running use, on one thread at a time. */
typedef struct convert_run {
    const convert_what  *what;
    levada_spec         *spec;    /* of the result              */
    levada_example      *example; /* the message that is made   */
    levada_example_view *view;    /* the message that is read   */
    levada_cli_buffer    records; /* of the block, back to back */
} convert_run;

/* -- records */

static levada_status convert_json_example(convert_run *r, const uint8_t *bytes, size_t size,
                                          levada_error *err)
{
    levada_value *json = NULL;
    levada_status status = levada_value_parse_json((const char *)bytes, size, &json, err);

    if (status == LEVADA_OK)
        status = levada_cli_example_make(&r->records, r->example, json, err);
    levada_value_destroy(&json);
    return status;
}

/* The line itself, once it is known to be a record. */
static levada_status convert_json_line(convert_run *r, const uint8_t *bytes, size_t size,
                                       levada_error *err)
{
    size_t begin = r->records.size;

    LEVADA_TRY(convert_json_example(r, bytes, size, err));
    r->records.size = begin;
    levada_cli_add(&r->records, bytes, size);
    return LEVADA_OK;
}

static levada_status convert_text_example(convert_run *r, const uint8_t *bytes, size_t size,
                                          levada_error *err)
{
    const void *value = bytes;

    levada_example_reset(r->example);
    LEVADA_TRY(levada_example_add_bytes(r->example, r->what->field, &value, &size, 1, err));
    LEVADA_TRY(levada_example_finish(r->example, &bytes, &size, err));
    levada_cli_add(&r->records, bytes, size);
    return LEVADA_OK;
}

/* {"line":"..."}; a list where a text alone would mean a record that is not an Example. */
static void convert_text_json(convert_run *r, const uint8_t *bytes, size_t size)
{
    const char *field = r->what->field ? r->what->field : "record";
    bool        list = r->what->field && strcmp(field, "record") == 0;

    levada_cli_puts(&r->records, "{");
    levada_cli_json_name(&r->records, field, strlen(field));
    levada_cli_puts(&r->records, list ? ":[" : ":");
    levada_cli_json_text(&r->records, bytes, size);
    levada_cli_puts(&r->records, list ? "]}" : "}");
}

static levada_status convert_record(convert_run *r, const uint8_t *bytes, size_t size,
                                    levada_error *err)
{
    switch (r->what->as) {
    case LEVADA_CLI_CONVERT_EXAMPLE_JSON:
        return levada_cli_example_json(&r->records, r->view, bytes, size, true, err);
    case LEVADA_CLI_CONVERT_JSON_EXAMPLE: return convert_json_example(r, bytes, size, err);
    case LEVADA_CLI_CONVERT_JSON_LINE: return convert_json_line(r, bytes, size, err);
    case LEVADA_CLI_CONVERT_TEXT_EXAMPLE: return convert_text_example(r, bytes, size, err);
    case LEVADA_CLI_CONVERT_TEXT_JSON: convert_text_json(r, bytes, size); return LEVADA_OK;
    default: levada_cli_add(&r->records, bytes, size); return LEVADA_OK;
    }
}

/* -- blocks */

/* Converts row by row. A record that cannot be converted is rejected, and empty. */
static levada_status convert_rows(convert_run *r, const levada_column *column, int64_t n,
                                  int32_t *offsets, levada_builder *b, levada_error *err)
{
    r->records.size = 0;
    offsets[0] = 0;
    for (int64_t row = 0; row < n; row++) {
        levada_error   why = LEVADA_ERROR_INIT;
        size_t         begin = r->records.size;
        int64_t        size = 0;
        const uint8_t *bytes = levada_column_bytes(column, row, &size);
        levada_status  status = convert_record(r, bytes, (size_t)size, &why);

        if (status == LEVADA_ERESOURCE_EXHAUSTED) {
            if (err) *err = why;
            return status;
        }
        if (status != LEVADA_OK) {
            r->records.size = begin;
            LEVADA_TRY(levada_builder_reject(b, row, &why, err));
        }
        if (r->records.size > INT32_MAX)
            return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED,
                               "the records of a block take more than 2 GiB as text");
        offsets[row + 1] = (int32_t)r->records.size;
    }
    return LEVADA_OK;
}

static levada_status convert_call(void *run, const levada_block *in, levada_block **out,
                                  levada_error *err)
{
    convert_run    *r = run;
    int64_t         n = levada_block_rows(in);
    levada_builder *b = NULL;
    int32_t        *offsets = NULL;
    void           *values = NULL;
    levada_status   status = levada_builder_create(r->what->env, r->spec, n, &b, err);

    if (status == LEVADA_OK) status = levada_builder_offsets(b, 0, 0, n, &offsets, err);
    if (status == LEVADA_OK)
        status = convert_rows(r, levada_block_at(in, 0), n, offsets, b, err);
    if (status == LEVADA_OK)
        status = levada_builder_values(b, 0, (int64_t)r->records.size, &values, err);
    if (status == LEVADA_OK && r->records.size > 0)
        memcpy(values, r->records.at, r->records.size);
    if (status == LEVADA_OK) status = levada_builder_publish(&b, out, err);
    levada_builder_destroy(&b);
    return status;
}

/* -- the function */

static void convert_close(void *run)
{
    convert_run *r = run;

    levada_spec_unref(&r->spec);
    levada_example_destroy(&r->example);
    levada_example_view_destroy(&r->view);
    levada_cli_buffer_clear(&r->records);
    free(r);
}

static levada_status convert_open(void *user, void **run, levada_error *err)
{
    static const levada_field record = { .name = "record", .dtype = LEVADA_BYTES };
    convert_run              *r = calloc(1, sizeof *r);
    levada_status             status;

    if (!r) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory");
    r->what = user;
    status = levada_spec_create(&record, 1, LEVADA_SPEC_PLAIN, &r->spec, err);
    if (status == LEVADA_OK) status = levada_example_create(&r->example, err);
    if (status == LEVADA_OK) status = levada_example_view_create(&r->view, err);
    if (status == LEVADA_OK) *run = r;
    else convert_close(r);
    return status;
}

static void convert_release(void *user) { free(user); }

levada_status levada_cli_convert_function(levada_env *env, levada_cli_convert_as as,
                                          const char *field, levada_function **out,
                                          levada_error *err)
{
    static const levada_function_def def = {
        .struct_size = sizeof(levada_function_def),
        .kind = "c",
        .name = "convert",
        .pure = true,
        .open = convert_open,
        .call = convert_call,
        .close = convert_close,
        .release = convert_release,
        .per_record = true,
    };
    convert_what *what = malloc(sizeof *what);
    levada_status status;

    if (!what) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory");
    *what = (convert_what){ env, as, field };
    status = levada_function_create(&def, what, out, err);
    if (status != LEVADA_OK) free(what);
    return status;
}
