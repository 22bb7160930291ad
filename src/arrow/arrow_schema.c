/* SPDX-License-Identifier: Apache-2.0 */
/* Trees as Arrow types: each struct owns its strings and its children. */
#include "arrow/arrow_plan.h"
#include "base/alloc.h"

#include <stdio.h>
#include <string.h>

enum { SCHEMA_FORMAT = 32, SCHEMA_METADATA = 256 };

/* What a struct of a type owns: itself, its strings and the structs of its children. */
typedef struct schema_held {
    char  format[SCHEMA_FORMAT];
    char  metadata[SCHEMA_METADATA];
    char *name;
    struct ArrowSchema  *child; /* n_children */
    struct ArrowSchema **pointer;
} schema_held;

static void schema_free(schema_held *held)
{
    levada_free(held->name);
    levada_free(held->child);
    levada_free(held->pointer);
    levada_free(held);
}

static void schema_release(struct ArrowSchema *s)
{
    for (int64_t i = 0; i < s->n_children; i++)
        if (s->children[i]->release) s->children[i]->release(s->children[i]);
    schema_free(s->private_data);
    s->release = NULL;
}

static levada_status schema_new(const char *name, int64_t children, struct ArrowSchema *out,
                                levada_error *err)
{
    schema_held *held = levada_alloc_zero(sizeof *held);

    if (!held) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a schema");
    held->name = levada_strdup(name);
    held->child = levada_alloc_zero((size_t)(children + 1) * sizeof *held->child);
    held->pointer = levada_alloc_zero((size_t)(children + 1) * sizeof(struct ArrowSchema *));
    if (!held->name || !held->child || !held->pointer) {
        schema_free(held);
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a schema");
    }
    for (int64_t i = 0; i < children; i++) held->pointer[i] = &held->child[i];
    /* Nullable, as other producers have it: types that differ in this alone are different types. */
    *out = (struct ArrowSchema){ .format = held->format,
                                 .name = held->name,
                                 .flags = ARROW_FLAG_NULLABLE,
                                 .n_children = children,
                                 .children = held->pointer,
                                 .release = schema_release,
                                 .private_data = held };
    return LEVADA_OK;
}

/* -- extension types */

/* Appends a string with its size to the metadata; returns its end. */
static char *schema_put(char *at, const char *text)
{
    int32_t size = (int32_t)strlen(text);

    memcpy(at, &size, sizeof size);
    memcpy(at + sizeof size, text, (size_t)size);
    return at + sizeof size + size;
}

static void schema_extend(struct ArrowSchema *s, const char *name, const char *metadata)
{
    schema_held *held = s->private_data;
    int32_t      pairs = 2;
    char        *at = held->metadata;

    memcpy(at, &pairs, sizeof pairs);
    at = schema_put(at + sizeof pairs, "ARROW:extension:name");
    at = schema_put(at, name);
    at = schema_put(at, "ARROW:extension:metadata");
    (void)schema_put(at, metadata);
    s->metadata = held->metadata;
}

/* -- formats */

static const char *schema_format_of(levada_dtype dtype)
{
    switch (dtype) {
    case LEVADA_BOOL: return "b";
    case LEVADA_INT8: return "c";
    case LEVADA_INT16: return "s";
    case LEVADA_INT32: return "i";
    case LEVADA_INT64: return "l";
    case LEVADA_UINT8: return "C";
    case LEVADA_UINT16: return "S";
    case LEVADA_UINT32: return "I";
    case LEVADA_UINT64: return "L";
    case LEVADA_FLOAT16: return "e";
    case LEVADA_BFLOAT16: return "s";
    case LEVADA_FLOAT32: return "f";
    case LEVADA_FLOAT64: return "g";
    case LEVADA_TEXT: return "u";
    default: return "z";
    }
}

static void schema_set_format(const levada_arrow_node *node, struct ArrowSchema *s)
{
    char *to = ((schema_held *)s->private_data)->format;

    switch (node->kind) {
    case LEVADA_ARROW_STRUCT: (void)snprintf(to, SCHEMA_FORMAT, "+s"); break;
    case LEVADA_ARROW_LIST:
    case LEVADA_ARROW_OPEN: (void)snprintf(to, SCHEMA_FORMAT, "+l"); break;
    case LEVADA_ARROW_FIXED:
        (void)snprintf(to, SCHEMA_FORMAT, "+w:%lld", (long long)node->size);
        break;
    case LEVADA_ARROW_VALUES:
        (void)snprintf(to, SCHEMA_FORMAT, "%s", schema_format_of(node->dtype));
        if (node->dtype == LEVADA_BFLOAT16) {
            schema_extend(s, "arrow.opaque",
                          "{\"type_name\":\"bfloat16\",\"vendor_name\":\"levada\"}");
        }
        break;
    }
}

levada_status levada_arrow_schema(const levada_arrow_node *node, struct ArrowSchema *out,
                                  levada_error *err)
{
    struct ArrowSchema made;
    levada_status      st = LEVADA_OK;

    LEVADA_TRY(schema_new(node->name, node->n, &made, err));
    schema_set_format(node, &made);
    for (int32_t i = 0; st == LEVADA_OK && i < node->n; i++) {
        st = levada_arrow_schema(node->child[i], made.children[i], err);
    }
    if (st == LEVADA_OK) *out = made;
    else made.release(&made);
    return st;
}
