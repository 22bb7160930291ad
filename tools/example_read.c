/* SPDX-License-Identifier: Apache-2.0 */
#include "example.h"

#include "escape.h"
#include "json.h"

const char *levada_cli_kind_name(levada_dtype dtype)
{
    return dtype == LEVADA_INT64     ? "int64"
           : dtype == LEVADA_FLOAT32 ? "float"
           : levada_dtype_is_bytes(dtype)   ? "bytes"
                                     : "none";
}

static void example_read_values(levada_cli_buffer *b, const levada_example_values *v)
{
    levada_cli_add(b, "[", 1);
    if (v->i64) levada_cli_ints(b, v->i64, v->count);
    for (int64_t i = 0; !v->i64 && i < v->count; i++) {
        if (i > 0) levada_cli_add(b, ",", 1);
        if (v->f32) levada_cli_json_float_put(b, (double)v->f32[i], true);
        else levada_cli_json_text(b, v->bytes[i], v->sizes[i]);
    }
    levada_cli_add(b, "]", 1);
}

levada_status levada_cli_feature_json(levada_cli_buffer *b, levada_example_view *view,
                                      const levada_example_feature *feature, levada_error *err)
{
    levada_example_values values;

    if (feature->sequence) levada_cli_add(b, "[", 1);
    for (int64_t i = 0; i < feature->nitems; i++) {
        LEVADA_TRY(levada_example_view_values(view, feature, i, &values, err));
        if (i > 0) levada_cli_add(b, ",", 1);
        example_read_values(b, &values);
    }
    if (feature->sequence) levada_cli_add(b, "]", 1);
    return LEVADA_OK;
}

/* The features of one section, between their braces. */
static levada_status example_read_section(levada_cli_buffer *b, levada_example_view *view,
                                          bool sequence, levada_error *err)
{
    const levada_example_feature *f;
    const char                   *before = "{";

    for (int64_t i = 0; (f = levada_example_view_at(view, i)) != NULL; i++) {
        if (f->sequence != sequence) continue;
        levada_cli_puts(b, before);
        levada_cli_json_name(b, f->name, f->name_size);
        levada_cli_add(b, ":", 1);
        LEVADA_TRY(levada_cli_feature_json(b, view, f, err));
        before = ",";
    }
    levada_cli_puts(b, *before == '{' ? "{}" : "}");
    return LEVADA_OK;
}

/* Returns true if the lists alone are read back with the same kinds: all steps have one kind, and
 * one of them has a value or none has a kind. */
static bool example_read_is_exact(const levada_example_feature *f)
{
    bool filled = false;

    for (int64_t i = 0; i < f->nitems; i++) {
        if (f->items[i].dtype != f->items[0].dtype) return false;
        filled = filled || f->items[i].count > 0;
    }
    return filled || f->nitems == 0 || f->items[0].dtype == LEVADA_NONE;
}

/* ,"kinds":{"context":{...},"sequence":{...}} for the features that need it. */
static void example_read_kinds(levada_cli_buffer *b, const levada_example_view *view)
{
    static const char *const      sections[] = { "context", "sequence" };
    const levada_example_feature *f;
    int                           open = -1;

    for (int64_t i = 0; (f = levada_example_view_at(view, i)) != NULL; i++) {
        if (example_read_is_exact(f)) continue;
        if (open == f->sequence) levada_cli_add(b, ",", 1);
        else levada_cli_printf(b, "%s\"%s\":{", open < 0 ? ",\"kinds\":{" : "},",
                               sections[f->sequence]);
        open = f->sequence;
        levada_cli_json_name(b, f->name, f->name_size);
        levada_cli_puts(b, f->sequence ? ":[" : ":");
        for (int64_t k = 0; k < f->nitems; k++)
            levada_cli_printf(b, "%s\"%s\"", k > 0 ? "," : "",
                              levada_cli_kind_name(f->items[k].dtype));
        if (f->sequence) levada_cli_add(b, "]", 1);
    }
    if (open >= 0) levada_cli_puts(b, "}}");
}

levada_status levada_cli_example_json(levada_cli_buffer *b, levada_example_view *view,
                                      const uint8_t *record, size_t size, bool exact,
                                      levada_error *err)
{
    levada_example_kind kind;

    LEVADA_TRY(levada_example_view_parse(view, record, size, &kind, err));
    if (kind == LEVADA_EXAMPLE_OTHER) {
        levada_cli_puts(b, "{\"record\":");
        levada_cli_json_text(b, record, size);
        levada_cli_add(b, "}", 1);
        return LEVADA_OK;
    }
    if (kind == LEVADA_EXAMPLE_PLAIN) return example_read_section(b, view, false, err);
    levada_cli_puts(b, "{\"context\":");
    LEVADA_TRY(example_read_section(b, view, false, err));
    levada_cli_puts(b, ",\"sequence\":");
    LEVADA_TRY(example_read_section(b, view, true, err));
    if (exact) example_read_kinds(b, view);
    levada_cli_add(b, "}", 1);
    return LEVADA_OK;
}
