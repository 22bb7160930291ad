/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jsonl - lines of JSON as typed columns.
 *
 * The format frames lines; lines of white space are no rows. The decoder (rows/json_rows.h) parses
 * a row, looks up the fields, and adds their values to the columns.
 */
#include "base/text.h"
#include "files/lines.h"
#include "registry/env_priv.h"
#include "rows/json_rows.h"

#include <levada/source.h>

static const levada_arg jsonl_options[] = {
    LEVADA_ARG(VALUE, levada_json_args, fields,
               .doc = LEVADA_JSON_FIELDS "; null = one column 'line'"),
    LEVADA_JSON_INVALID, LEVADA_ARG_END
};

typedef struct jsonl_state {
    const levada_kernels *kernels;
    bool                  first; /* of the file: a mark of UTF-8 may stand there */
} jsonl_state;

static levada_status jsonl_open(void *state, const void *args, const levada_context *context,
                                levada_error *err)
{
    (void)args, (void)err;
    ((jsonl_state *)state)->kernels = levada_env_kernels(context->env);
    return LEVADA_OK;
}

static levada_status jsonl_seek(void *state, const void *args, int64_t offset, int64_t size,
                                levada_error *err)
{
    (void)args, (void)size, (void)err;
    ((jsonl_state *)state)->first = offset == 0;
    return LEVADA_OK;
}

static bool jsonl_is_space(uint8_t c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

static bool jsonl_is_blank(const uint8_t *data, int32_t begin, int32_t end)
{
    while (begin < end && jsonl_is_space(data[begin])) begin++;
    return begin == end;
}

/* Lines, the last one without LF too. *used: one past the last. */
static int32_t jsonl_lines(const jsonl_state *s, const uint8_t *data, int64_t size, bool at_end,
                           levada_spans *out, int32_t *used)
{
    int32_t n = (int32_t)s->kernels->line_index(data, (size_t)size, out->begin, out->end,
                                                out->capacity);

    *used = out->begin[n];
    if (at_end && n < out->capacity && *used < size) {
        *used = (int32_t)size;
        out->end[n++] = *used - (data[*used - 1] == '\r');
    }
    return n;
}

static levada_status jsonl_next(void *state, const void *args, const uint8_t *data, int64_t size,
                                bool at_end, levada_spans *out, levada_error *err)
{
    jsonl_state *s = state;
    int32_t      lines, n = 0, used;

    (void)args, (void)err;
    out->n = 0;
    out->used = out->need = 0;
    if (s->first && size < 3 && !at_end) return LEVADA_OK;
    if (s->first) out->used = levada_utf8_mark(data, size);
    s->first = false;
    if (out->used > 0) return LEVADA_OK;
    lines = jsonl_lines(s, data, size, at_end, out, &used);
    for (int32_t i = 0; i < lines; i++) {
        int32_t begin = out->begin[i], end = out->end[i];

        if (jsonl_is_blank(data, begin, end)) continue;
        if (n == 0 && begin > 0) { /* rows begin where the window does */
            out->used = begin;
            return LEVADA_OK;
        }
        out->begin[n] = begin;
        out->end[n++] = end;
    }
    out->n = n;
    out->used = used;
    return LEVADA_OK;
}

/* Returns little evidence for an object or a list first, which text does not contradict. */
static int32_t jsonl_probe(const uint8_t *data, int64_t size)
{
    int64_t at = levada_utf8_mark(data, size);

    while (at < size && jsonl_is_space(data[at])) at++;
    return at < size && (data[at] == '{' || data[at] == '[') ? 1 : 0;
}

static levada_status jsonl_infer(levada_env *env, const void *args, const levada_texts *files,
                                 const char *compression, const levada_value *options,
                                 levada_value **out, levada_error *err)
{
    (void)files, (void)compression;
    return levada_json_rows_infer(env, "jsonl", args, options, out, err);
}

static const levada_example_file jsonl_files[] = {
    { "notes.jsonl",
      "{\"id\":1,\"text\":\"caf\\u00e9\",\"tokens\":[5,6,7],"
      "\"turns\":[{\"who\":\"a\"},{\"who\":\"b\",\"score\":2}]}\n"
      "{\"id\":2,\"text\":\"\"}\n\n"
      "{\"tokens\":[],\"text\":\"x\",\"id\":3,\"meta\":{\"lang\":\"pt\"}}\r\n",
      163 },
    { NULL, NULL, 0 },
};

static const char *const jsonl_suffixes[] = { ".jsonl", ".json", ".ndjson", NULL };

const levada_format_def levada_format_jsonl = {
    .struct_size = sizeof(levada_format_def),
    .name = "jsonl",
    .doc = "reads JSON Lines, one column per field",
    .example = "jsonl:notes.jsonl,fields={id:int64,text:text,tokens:[int64],"
               "turns:[{who:text,score:{dtype:float32,default:0}}]}",
    .example_files = jsonl_files,
    .fields = LEVADA_FIELDS("line"),
    .suffixes = jsonl_suffixes,
    .finds = "fields",
    .args = jsonl_options,
    .args_size = sizeof(levada_json_args),
    .state_size = sizeof(jsonl_state),
    .open = jsonl_open,
    .probe = jsonl_probe,
    .seek = jsonl_seek,
    .next = jsonl_next,
    .leave_out = levada_line_leave_out,
    .decoder = &levada_json_rows,
    .lines = true,
    .infer = jsonl_infer,
};
