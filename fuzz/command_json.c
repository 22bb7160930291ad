/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records as JSON and back, as `head --json` and `convert` write and read them. For any bytes: the
 * line is valid JSON without a control character; it holds what the decoders return with a spec
 * that asks for every feature; and made into a record again it means the same.
 */
#include "escape.h"
#include "example.h"

#include <levada/levada.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void command_require(bool holds, const char *what, const levada_cli_buffer *line)
{
    if (holds) return;
    fprintf(stderr, "%s: %s\n", what, line && line->at ? line->at : "");
    abort();
}

static bool command_same_float(float a, float b)
{
    return memcmp(&a, &b, sizeof a) == 0 || (a != a && b != b);
}

static bool command_same_values(const levada_example_values *a, const levada_example_values *b)
{
    if (a->dtype != b->dtype || a->count != b->count) return false;
    for (int64_t i = 0; i < a->count; i++) {
        if (a->i64 && a->i64[i] != b->i64[i]) return false;
        if (a->f32 && !command_same_float(a->f32[i], b->f32[i])) return false;
        if (!a->bytes) continue;
        if (a->sizes[i] != b->sizes[i]) return false;
        if (a->sizes[i] > 0 && memcmp(a->bytes[i], b->bytes[i], a->sizes[i]) != 0) return false;
    }
    return true;
}

/* -- what JSON made of it against the view of the record */

/* An empty list of an Example comes back without a kind. */
static void command_same_feature(levada_example_view *v, const levada_example_feature *f,
                                 levada_example_view *w, const levada_example_feature *g,
                                 bool kinds, const levada_cli_buffer *line)
{
    command_require(f->sequence == g->sequence && f->name_size == g->name_size &&
                        memcmp(f->name, g->name, f->name_size) == 0 && f->nitems == g->nitems,
                    "another feature comes back", line);
    for (int64_t i = 0; i < f->nitems; i++) {
        levada_example_values a, b;

        command_require(levada_example_view_values(v, f, i, &a, NULL) == LEVADA_OK &&
                            levada_example_view_values(w, g, i, &b, NULL) == LEVADA_OK,
                        "no values", line);
        if (!kinds && a.count == 0) a.dtype = LEVADA_NONE;
        command_require(command_same_values(&a, &b), "other values come back", line);
    }
}

static void command_back(levada_example_view *v, levada_example_kind kind,
                         const levada_cli_buffer *line, const uint8_t *data, size_t size)
{
    static levada_example      *example;
    static levada_example_view *w;
    levada_cli_buffer           record = { 0 };
    levada_value               *json = NULL;
    levada_example_kind         again;

    if (!example) {
        command_require(levada_example_create(&example, NULL) == LEVADA_OK, "memory", NULL);
        command_require(levada_example_view_create(&w, NULL) == LEVADA_OK, "memory", NULL);
    }
    command_require(levada_value_parse_json(line->at, line->size, &json, NULL) == LEVADA_OK,
                    "invalid JSON", line);
    command_require(levada_cli_example_make(&record, example, json, NULL) == LEVADA_OK,
                    "cannot be converted back", line);
    levada_value_destroy(&json);
    if (kind == LEVADA_EXAMPLE_OTHER) {
        command_require(record.size == size && (size == 0 || !memcmp(record.at, data, size)),
                        "other bytes come back", line);
    }
    command_require(levada_example_view_parse(w, record.at, record.size, &again, NULL) == LEVADA_OK,
                    "no view", line);
    command_require(again == kind && levada_example_view_count(w) == levada_example_view_count(v),
                    "another message comes back", line);
    for (int64_t i = 0; i < levada_example_view_count(v); i++) {
        command_same_feature(v, levada_example_view_at(v, i), w, levada_example_view_at(w, i),
                             kind == LEVADA_EXAMPLE_SEQUENCE, line);
    }
    levada_cli_buffer_clear(&record);
}

/* -- the view against the decoders */

/* The kind of all items of a feature that have one; NONE where there are two. */
static levada_dtype command_dtype(const levada_example_feature *f)
{
    levada_dtype dtype = LEVADA_NONE;

    for (int64_t i = 0; i < f->nitems; i++) {
        levada_dtype own = f->items[i].dtype;

        if (own != LEVADA_NONE && dtype != LEVADA_NONE && own != dtype) return LEVADA_NONE;
        if (own != LEVADA_NONE) dtype = own;
    }
    return dtype;
}

/* Adds {name: {kind: VarLen, dtype: ...}} to a spec. False where a spec cannot ask for it. */
static bool command_ask(levada_value *spec, const levada_example_feature *f)
{
    levada_dtype      dtype = command_dtype(f);
    levada_cli_buffer name = { 0 };
    char              text[64];
    levada_value     *entry = NULL;
    bool              asked = dtype != LEVADA_NONE;

    levada_cli_json_name(&name, f->name, f->name_size);
    asked = asked && strncmp(name.at, "\"base64:", 8) != 0;
    if (asked) {
        name.size = 0;
        levada_cli_add(&name, f->name, f->name_size);
        (void)snprintf(text, sizeof text, "{kind:VarLen,dtype:%s}",
                       levada_dtype_is_bytes(dtype) ? "string" : levada_dtype_name(dtype));
        command_require(levada_value_parse(text, &entry, NULL) == LEVADA_OK, "no spec", &name);
        command_require(levada_value_set(spec, name.at, &entry, NULL) == LEVADA_OK, "no spec",
                        &name);
    }
    levada_cli_buffer_clear(&name);
    return asked;
}

/* The elements that a column has for its one row. */
static int64_t command_elements(const levada_column *c)
{
    int64_t n = c->n;

    for (int32_t l = 0; l < c->field->depth; l++) n = n > 0 ? c->level[l].end[n - 1] : 0;
    return n;
}

/* The values of all items of f are those of the column, one item after the other. */
static void command_same_column(levada_example_view *v, const levada_example_feature *f,
                                const levada_column *c, const levada_cli_buffer *line)
{
    const levada_level   *bytes = &c->level[c->field->depth];
    int64_t               at = 0;
    levada_example_values values;

    for (int64_t i = 0; i < f->nitems; i++) {
        command_require(levada_example_view_values(v, f, i, &values, NULL) == LEVADA_OK, "memory",
                        line);
        command_require(at + values.count <= command_elements(c), "the decoder has fewer", line);
        for (int64_t k = 0; k < values.count; k++, at++) {
            bool same;

            if (values.i64) same = ((const int64_t *)(const void *)c->values)[at] == values.i64[k];
            else if (values.f32)
                same = command_same_float(((const float *)(const void *)c->values)[at],
                                          values.f32[k]);
            else
                same = (size_t)(bytes->end[at] - bytes->begin[at]) == values.sizes[k] &&
                       !memcmp(c->values + bytes->begin[at], values.bytes[k], values.sizes[k]);
            command_require(same, "the decoder has another value", line);
        }
    }
    command_require(at == command_elements(c), "the decoder has more", line);
}

/* One section at a time: a spec has one field of a name. */
static void command_decoders(levada_example_view *v, bool message_is_sequence, bool section,
                             const levada_cli_buffer *line, const uint8_t *data, size_t size)
{
    levada_value                 *options = levada_value_map(), *spec = levada_value_map();
    const void                   *strings[] = { data };
    const levada_example_feature *f;
    levada_block                 *block = NULL;
    levada_error                  err = LEVADA_ERROR_INIT;
    int64_t                       asked = 0;
    int32_t                       at = 0;

    for (int64_t i = 0; (f = levada_example_view_at(v, i)) != NULL; i++)
        asked += f->sequence == section && command_ask(spec, f);
    command_require(levada_value_set(options, section             ? "sequences"
                                              : message_is_sequence ? "context"
                                                                    : "spec",
                                     &spec, NULL) == LEVADA_OK,
                    "memory", line);
    if (asked > 0 && levada_decode_strings(
                         NULL, message_is_sequence ? "parse_sequence_example" : "parse_example",
                         options, strings, &size, 1, &block, &err) != LEVADA_OK) {
        fprintf(stderr, "%s\n", err.message);
        command_require(false, "the decoder refuses it", line);
    }
    for (int64_t i = 0; asked > 0 && (f = levada_example_view_at(v, i)) != NULL; i++) {
        levada_value *one = levada_value_map();

        if (f->sequence == section && command_ask(one, f))
            command_same_column(v, f, levada_block_at(block, at++), line);
        levada_value_destroy(&one);
    }
    levada_block_unref(&block);
    levada_value_destroy(&options);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static levada_example_view *v;
    levada_cli_buffer           line = { 0 }, short_line = { 0 };
    levada_value               *json = NULL;
    levada_example_kind         kind;

    if (size > 1 << 16) return 0;
    if (!v) command_require(levada_example_view_create(&v, NULL) == LEVADA_OK, "memory", NULL);
    command_require(
        levada_cli_example_json(&short_line, v, data, size, false, NULL) == LEVADA_OK &&
            levada_value_parse_json(short_line.at, short_line.size, &json, NULL) == LEVADA_OK,
        "invalid JSON", &short_line);
    levada_value_destroy(&json);
    command_require(levada_cli_example_json(&line, v, data, size, true, NULL) == LEVADA_OK,
                    "memory", NULL);
    command_require(levada_cli_is_plain(line.at, line.size) && !memchr(line.at, '\n', line.size),
                    "control characters", &line);
    command_require(levada_example_view_parse(v, data, size, &kind, NULL) == LEVADA_OK, "memory",
                    NULL);
    command_back(v, kind, &line, data, size);
    for (int section = 0; kind != LEVADA_EXAMPLE_OTHER && section < 2; section++)
        command_decoders(v, kind == LEVADA_EXAMPLE_SEQUENCE, section == 1, &line, data, size);
    levada_cli_buffer_clear(&line);
    levada_cli_buffer_clear(&short_line);
    return 0;
}
