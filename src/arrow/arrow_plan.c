/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fields to a tree. Members of the same objects come together under one list of structs; a field
 * without objects is a chain of lists, dimensions and values.
 */
#include "arrow/arrow_plan.h"

#include "base/alloc.h"

#include <string.h>

/* Fields that have the same lists above `level`, and the same objects around them. */
typedef struct plan_group {
    const levada_spec *spec;
    const int32_t     *field; /* n numbers */
    int32_t            n, level, dots; /* dots: of the names, used up by the objects around      */
} plan_group;

static levada_status plan_memory(levada_error *err)
{
    return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for an Arrow type");
}

void levada_arrow_plan_free(levada_arrow_node **node)
{
    levada_arrow_node *n = *node;

    *node = NULL;
    if (!n) return;
    for (int32_t i = 0; i < n->n; i++) levada_arrow_plan_free(&n->child[i]);
    levada_free(n->child);
    levada_free(n->name);
    levada_free(n);
}

static levada_arrow_node *plan_node(levada_arrow_kind kind, const char *name, size_t size,
                                    int32_t children)
{
    levada_arrow_node *node = levada_alloc_zero(sizeof *node);

    if (!node) return NULL;
    node->kind = kind;
    node->name = levada_alloc_zero(size + 1);
    node->child = levada_alloc_zero((size_t)(children + 1) * sizeof *node->child);
    if (!node->name || !node->child) {
        levada_arrow_plan_free(&node);
        return NULL;
    }
    memcpy(node->name, name, size);
    node->n = children;
    return node;
}

/* -- names of objects */

/* Returns what follows the first `dots` dots of a name. */
static const char *plan_after(const char *name, int32_t dots)
{
    for (; dots > 0; dots--) {
        const char *dot = strchr(name, '.');

        if (!dot) break;
        name = dot + 1;
    }
    return name;
}

/* Returns the level whose items are the next objects of a field, or -1. */
static int32_t plan_next_object(const levada_field *f, int32_t level)
{
    for (; level < f->depth; level++)
        if (f->object[level]) return level;
    return -1;
}

/* Returns the part of a name that names the column or member, and its size. */
static const char *plan_name(const levada_field *f, const plan_group *g, size_t *size)
{
    const char *name = plan_after(f->name, g->dots);
    int32_t     level = plan_next_object(f, g->level);

    *size = strlen(name);
    if (level >= 0) {
        const char *rest = plan_after(f->name, f->object[level]);

        if (rest > name) *size = (size_t)(rest - name) - (rest[-1] == '.');
    }
    return name;
}

/* Returns true if two fields are members of the items of the same list. */
static bool plan_together(const levada_field *a, const levada_field *b, const plan_group *g)
{
    size_t      na, nb;
    const char *x = plan_name(a, g, &na), *y = plan_name(b, g, &nb);
    int32_t     level = plan_next_object(a, g->level);

    return level >= 0 && level == plan_next_object(b, g->level) &&
           a->object[level] == b->object[level] && na == nb && memcmp(x, y, na) == 0;
}

/* -- the tree */

static levada_status plan_members(const plan_group *g, const char *name, size_t size,
                                  levada_arrow_node **out, levada_error *err);

static levada_status plan_leaf(const levada_field *f, levada_arrow_node **out, levada_error *err)
{
    bool        complex = f->dtype == LEVADA_COMPLEX64 || f->dtype == LEVADA_COMPLEX128;
    levada_arrow_node *leaf = plan_node(LEVADA_ARROW_VALUES, "item", 4, 0), *pair = NULL;

    *out = leaf;
    if (!leaf) return plan_memory(err);
    leaf->dtype = f->dtype;
    if (!complex) return LEVADA_OK;
    leaf->dtype = f->dtype == LEVADA_COMPLEX64 ? LEVADA_FLOAT32 : LEVADA_FLOAT64;
    pair = plan_node(LEVADA_ARROW_FIXED, "item", 4, 1);
    if (!pair) return plan_memory(err);
    pair->size = 2;
    pair->child[0] = leaf;
    *out = pair;
    return LEVADA_OK;
}

/* Makes the tree of the dimensions of a field from `d` on. */
static levada_status plan_dims(const levada_field *f, int32_t d, levada_arrow_node **out,
                               levada_error *err)
{
    levada_arrow_node *node;

    if (d == f->ndim) return plan_leaf(f, out, err);
    node = plan_node(f->dims[d] < 0 ? LEVADA_ARROW_OPEN : LEVADA_ARROW_FIXED, "item", 4, 1);
    *out = node;
    if (!node) return plan_memory(err);
    node->at = d;
    node->size = f->dims[d];
    return plan_dims(f, d + 1, &node->child[0], err);
}

/* Makes the tree of one field, or of several that have their lists in common, below the name. */
static levada_status plan_lists(const plan_group *g, levada_arrow_node **out, levada_error *err)
{
    const levada_field *f = levada_spec_field(g->spec, g->field[0]);
    plan_group          below = *g;
    levada_arrow_node         *list;

    if (g->level == f->depth) return plan_dims(f, 0, out, err);
    list = plan_node(LEVADA_ARROW_LIST, "item", 4, 1);
    *out = list;
    if (!list) return plan_memory(err);
    list->at = g->level;
    below.level++;
    if (!f->object[g->level]) return plan_lists(&below, &list->child[0], err);
    below.dots = f->object[g->level];
    return plan_members(&below, "item", 4, &list->child[0], err);
}

/* Sets the name of a tree, and the first field of all its nodes that have none yet. */
static levada_status plan_label(levada_arrow_node *node, const char *name, size_t size,
                                const levada_field *f, int32_t column, levada_error *err)
{
    char *copy = levada_alloc_zero(size + 1);

    if (!copy) return plan_memory(err);
    memcpy(copy, name, size);
    levada_free(node->name);
    node->name = copy;
    for (; node && !node->field; node = node->n == 1 ? node->child[0] : NULL) {
        node->field = f;
        node->column = column;
    }
    return LEVADA_OK;
}

/* Makes a struct of the columns or members of a group, in the order of the first of each. */
static levada_status plan_members(const plan_group *g, const char *name, size_t size,
                                  levada_arrow_node **out, levada_error *err)
{
    levada_arrow_node   *node = plan_node(LEVADA_ARROW_STRUCT, name, size, g->n);
    int32_t      *left = levada_alloc((size_t)(2 * g->n + 1) * sizeof *left), *some, nleft = g->n;
    levada_status st = node && left ? LEVADA_OK : plan_memory(err);

    *out = node;
    some = left ? left + g->n : NULL;
    if (st == LEVADA_OK && g->n) memcpy(left, g->field, (size_t)g->n * sizeof *left);
    if (node) node->n = 0;
    while (st == LEVADA_OK && nleft > 0) {
        const levada_field *f = levada_spec_field(g->spec, left[0]);
        plan_group          sub = *g;
        int32_t             kept = 0, taken = 0;
        const char         *label = plan_name(f, g, &size);

        for (int32_t i = 0; i < nleft; i++) {
            bool mine = i == 0 || plan_together(f, levada_spec_field(g->spec, left[i]), g);

            if (mine) some[taken++] = left[i];
            else left[kept++] = left[i];
        }
        nleft = kept;
        sub.field = some;
        sub.n = taken;
        st = plan_lists(&sub, &node->child[node->n++], err);
        if (st == LEVADA_OK)
            st = plan_label(node->child[node->n - 1], label, size, f, some[0], err);
    }
    levada_free(left);
    return st;
}

levada_status levada_arrow_plan(const levada_spec *spec, levada_arrow_node **out,
                                levada_error *err)
{
    int32_t       n = levada_spec_count(spec), *all = levada_alloc((size_t)(n + 1) * sizeof *all);
    plan_group    g = { .spec = spec, .field = all, .n = n };
    levada_arrow_node   *made = NULL;
    levada_status st;

    if (!all) return plan_memory(err);
    for (int32_t i = 0; i < n; i++) all[i] = i;
    st = plan_members(&g, "", 0, &made, err);
    levada_free(all);
    if (st == LEVADA_OK) *out = made;
    else levada_arrow_plan_free(&made);
    return st;
}

/* -- padded fields */

/* Turns a padded field into a list of its values: [n, T, ...] becomes lists of [...]. */
static void plan_unpad(levada_field *f)
{
    f->padded = f->left = false;
    f->depth = 1;
    f->ndim--;
    memmove(f->dims, f->dims + 1, f->ndim * sizeof f->dims[0]);
    memset(f->pad, 0, sizeof f->pad);
}

levada_status levada_arrow_unpadded(const levada_spec *spec, levada_spec **out, levada_error *err)
{
    int32_t       n = levada_spec_count(spec);
    levada_field *fields = levada_alloc((size_t)(n + 1) * sizeof *fields);
    bool          any = false;
    levada_status st = LEVADA_OK;

    if (!fields) return plan_memory(err);
    for (int32_t i = 0; i < n; i++) {
        fields[i] = *levada_spec_field(spec, i);
        if (!fields[i].padded) continue;
        plan_unpad(&fields[i]);
        any = true;
    }
    if (any) st = levada_spec_create(fields, n, levada_spec_flags_of(spec), out, err);
    else *out = levada_spec_ref(spec);
    levada_free(fields);
    return st;
}
