/* SPDX-License-Identifier: Apache-2.0 */
/*
 * group_by_window - batches of consecutive records with the same key. The contract is tf.data's: a
 * window leaves as soon as it has its number of records, and at the end of the input the others
 * leave in ascending order of keys.
 *
 * A policy of the grouping engine. There is a group for each key that has records, in ascending
 * order of keys; the state knows the keys of the groups, and both are found by bisection. An
 * emitted group is removed at once, so groups follow from the buffered records alone.
 *
 * Keys that are byte strings have numbers (window_names.h), and windows are in the order of the
 * strings. Numbers are not saved: they are made again from the records.
 *
 * The engine has options.groups groups; this policy changes their number, and keeps the memory of
 * removed ones after them.
 */
#include "base/alloc.h"
#include "batch/grouping.h"
#include "batch/padding.h"
#include "batch/window_key.h"
#include "description/columns.h"
#include "run/context.h"
#include "state/damaged.h"

#include <string.h>

#define GROUP_COUNT 16

typedef struct group_args {
    const char         *key, *window_size_field;
    int64_t             window_size, pad_to_multiple, padding_side;
    const levada_value *padded_shapes, *padding_values;
    bool                padded, drop_remainder;
} group_args;

typedef struct group_state {
    levada_grouping     grouping; /* first, as its hooks expect */
    const group_args  *args;
    levada_window_key   key;
    levada_window_names names;    /* of keys that are byte strings                */
    bool                text;     /* keys are byte strings                        */
    int64_t            *keys;     /* of each group, ascending                     */
    int64_t            *sizes;    /* window sizes of the arrivals; NULL = all alike */
    int64_t             capacity, keys_capacity, sizes_capacity; /* capacity: of groups */
    levada_padding_plan plan;
} group_state;

static const levada_arg group_options[] = {
    LEVADA_ARG(TEXT, group_args, key, .required = true, .positional = true,
               .doc = "field of integers or byte strings, or len(field); integers may be followed "
                      "by // N or % N"),
    LEVADA_ARG(INT, group_args, window_size, .min = 1, .max = INT32_MAX,
               .doc = "records in a window; null = read it from window_size_field"),
    LEVADA_ARG(TEXT, group_args, window_size_field,
               .doc = "integer field with the window size for the key of the record"),
    LEVADA_ARG(BOOL, group_args, padded, .otherwise = "false",
               .doc = "pad the batches, as padded_batch does; false = ragged batches"),
    LEVADA_ARG(VALUE, group_args, padded_shapes,
               .doc = "{field: [length or null, ...]} to pad to; null = the longest record of the "
                      "batch"),
    LEVADA_ARG(VALUE, group_args, padding_values,
               .doc = "{field: value}, or one value for all fields; null = 0, and empty strings"),
    LEVADA_ARG(INT, group_args, pad_to_multiple, .otherwise = "1", .min = 1, .max = 1 << 24,
               .doc = "round padded lengths up to a multiple of this number"),
    LEVADA_PADDING_LEFT(group_args),
    LEVADA_ARG(BOOL, group_args, drop_remainder, .otherwise = "false",
               .doc = "drop windows that are not full at the end"),
    LEVADA_ARG_END
};

static levada_padding_options group_how(const group_args *a)
{
    levada_padding_options o = { a->padded_shapes, a->padding_values, a->pad_to_multiple,
                                 a->padding_side != 0 };

    return o;
}

static levada_status group_check_options(const group_args *a, const levada_spec *in,
                                          levada_error *err)
{
    levada_window_key key = { 0 }, size = { .field = NULL };
    levada_status     st;

    if ((a->window_size == LEVADA_NULL_INT) == !a->window_size_field) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "set exactly one of window_size and window_size_field, got %s",
                           a->window_size_field ? "both" : "neither");
    }
    LEVADA_TRY(levada_window_key_parse(a->key, &key, err));
    st = levada_window_key_check(&key, in, err);
    levada_window_key_clear(&key);
    if (st != LEVADA_OK || !a->window_size_field) return st;
    size.field = (char *)(uintptr_t)a->window_size_field;
    if (levada_window_key_is_text(&size, in)) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "window_size_field='%s' must be an integer field, got a string",
                           size.field);
    }
    return levada_window_key_check(&size, in, err);
}

static levada_status group_check(const void *args, const levada_spec *in, levada_spec **out,
                                  levada_error *err)
{
    const group_args     *a = args;
    levada_padding_options how = group_how(a);
    levada_field           none = { 0 };
    int32_t                n = levada_spec_count(in);

    LEVADA_TRY(levada_spec_want_records(in, err));
    LEVADA_TRY(group_check_options(a, in, err));
    if (a->padded) return levada_padding_spec(&how, in, out, err);
    return levada_spec_create(n ? levada_spec_field(in, 0) : &none, n,
                              levada_spec_flags_of(in) | LEVADA_SPEC_BATCHED, out, err);
}

/* -- groups in ascending order of keys */

static int64_t group_count(const group_state *s) { return s->grouping.options.groups; }

static levada_status group_memory(levada_error *err)
{
    return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for another window");
}

static levada_status group_reserve(group_state *s, int64_t groups, levada_error *err)
{
    levada_group *more;
    int64_t       n = groups > 2 * s->capacity ? groups : 2 * s->capacity;

    if (!levada_reserve(&s->keys, &s->keys_capacity, groups, sizeof *s->keys)) {
        return group_memory(err);
    }
    if (groups <= s->capacity) return LEVADA_OK;
    more = levada_realloc(s->grouping.groups, (size_t)n * sizeof *more);
    if (!more) return group_memory(err);
    memset(more + s->capacity, 0, (size_t)(n - s->capacity) * sizeof *more);
    s->grouping.groups = more;
    s->capacity = n;
    return LEVADA_OK;
}

static bool group_less(const group_state *s, int64_t a, int64_t b)
{
    return s->text ? levada_window_names_compare(&s->names, a, b) < 0 : a < b;
}

/* Returns the first group whose key is not less. */
static int64_t group_search(const group_state *s, int64_t key)
{
    int64_t low = 0, high = group_count(s);

    while (low < high) {
        int64_t middle = low + (high - low) / 2;

        if (group_less(s, s->keys[middle], key)) low = middle + 1;
        else high = middle;
    }
    return low;
}

/* Inserts a new group at place i; its memory is that of a removed one, if there is any. */
static levada_status group_insert(group_state *s, int64_t i, int64_t key, levada_error *err)
{
    int64_t       n = group_count(s);
    levada_group *groups, spare;

    LEVADA_TRY(group_reserve(s, n + 1, err));
    groups = s->grouping.groups;
    spare = groups[n];
    memmove(groups + i + 1, groups + i, (size_t)(n - i) * sizeof *groups);
    memmove(s->keys + i + 1, s->keys + i, (size_t)(n - i) * sizeof *s->keys);
    groups[i] = spare;
    s->keys[i] = key;
    s->grouping.options.groups = n + 1;
    return LEVADA_OK;
}

/* Removes the groups that have left. */
static void group_remove_empty(group_state *s)
{
    levada_group *groups = s->grouping.groups;
    int64_t       n = group_count(s), kept = 0;

    while (kept < n && groups[kept].n) kept++;
    for (int64_t i = kept + 1; i < n; i++) {
        levada_group empty = groups[kept];

        if (!groups[i].n) continue;
        groups[kept] = groups[i];
        groups[i] = empty;
        s->keys[kept++] = s->keys[i];
    }
    s->grouping.options.groups = kept;
}

/* -- the policy */

static levada_status group_keys(const void *self, const levada_block *block, int64_t *keys,
                                 levada_error *err)
{
    group_state     *s = (group_state *)(uintptr_t)self;
    levada_window_key size = { .field = (char *)(uintptr_t)s->args->window_size_field };

    if (size.field) {
        if (!levada_reserve(&s->sizes, &s->sizes_capacity, block->n, sizeof *s->sizes)) {
            return group_memory(err);
        }
        LEVADA_TRY(levada_window_key_measure(&size, block, NULL, s->sizes, err));
    }
    s->text = levada_window_key_is_text(&s->key, block->spec);
    if (levada_window_names_many(&s->names)) { /* all records are in groups */
        LEVADA_TRY(levada_window_names_keep(&s->names, s->keys, group_count(s), err));
    }
    return levada_window_key_measure(&s->key, block, &s->names, keys, err);
}

static levada_status group_no_size(group_state *s, int64_t size, levada_error *err)
{
    levada_error why = LEVADA_ERROR_INIT;

    (void)levada_fail(&why, LEVADA_EINVALID_ARGUMENT,
                      "window size must be greater than zero, but is %lld", (long long)size);
    return levada_grouping_reject(&s->grouping, &why, err);
}

static levada_status group_place(const void *self, levada_grouping *g, int64_t *full,
                                  levada_error *err)
{
    group_state *s = (group_state *)(void *)g;

    (void)self;
    while (g->at < g->n && *full == -1) {
        int64_t key = g->keys[g->at], i = group_search(s, key);
        int64_t size = s->sizes ? s->sizes[g->at] : s->args->window_size;

        if (size < 1) {
            LEVADA_TRY(group_no_size(s, size, err));
            continue;
        }
        if (i == group_count(s) || s->keys[i] != key) LEVADA_TRY(group_insert(s, i, key, err));
        LEVADA_TRY(levada_grouping_put(g, i, 1, err));
        if (g->groups[i].n >= size) *full = i;
    }
    return LEVADA_OK;
}

static const levada_grouping_policy group_policy = { .keys = group_keys, .place = group_place };

/* -- as a stage */

static levada_status group_open(void *state, const void *args, const levada_context *context,
                                 levada_error *err)
{
    group_state                 *s = state;
    const group_args            *a = args;
    const levada_grouping_options options = { .policy = &group_policy,
                                              .self = s,
                                              .groups = GROUP_COUNT,
                                              .drop_rest = a->drop_remainder };

    s->args = a;
    LEVADA_TRY(levada_grouping_open(&s->grouping, context, &options, err));
    if (context->fused_end) return LEVADA_OK;
    s->capacity = GROUP_COUNT;
    s->grouping.options.groups = 0;
    return levada_window_key_parse(a->key, &s->key, err);
}

static void group_close(void *state)
{
    group_state *s = state;

    s->grouping.options.groups = s->grouping.groups ? s->capacity : 0;
    levada_grouping_close(&s->grouping);
    levada_padding_clear(&s->plan);
    levada_window_key_clear(&s->key);
    levada_window_names_clear(&s->names);
    levada_free(s->keys);
    levada_free(s->sizes);
}

static levada_status group_next(void *state, const void *args, levada_input *in,
                                 levada_block **out, levada_error *err)
{
    levada_status st = levada_grouping_next(state, args, in, out, err);

    group_remove_empty(state);
    return st;
}

static levada_status group_apply(void *state, const void *args, const levada_block *in,
                                  levada_block **out, levada_error *err)
{
    group_state          *s = state;
    const group_args     *a = args;
    levada_padding_options how = group_how(a);

    if (!a->padded) return levada_grouping_gather(s, args, in, out, err);
    return levada_padding_apply(&s->plan, &how, s->grouping.context, in, -1, out, err);
}

/* Restores the number of groups from the state, and their keys from their records. */
static levada_status group_restore(void *state, levada_state_reader *from, levada_error *err)
{
    group_state  *s = state;
    const int64_t *counts = NULL;
    int64_t        n = 0, k = 0;

    LEVADA_TRY(levada_state_get_i64s(from, "counts", &counts, &n, err));
    LEVADA_TRY(group_reserve(s, n, err));
    s->grouping.options.groups = n;
    levada_window_names_clear(&s->names);
    LEVADA_TRY(levada_grouping_restore(s, from, err));
    for (int64_t i = 0; i < n; k += s->grouping.groups[i++].n) {
        if (s->grouping.groups[i].n > 0) s->keys[i] = s->grouping.keys[k];
        if (s->grouping.groups[i].n > 0 &&
            (i == 0 || group_less(s, s->keys[i - 1], s->keys[i]))) {
            continue;
        }
        return levada_state_damaged(from, "counts", err, "groups without records or out of order");
    }
    return LEVADA_OK;
}

const levada_stage_def levada_stage_group_by_window = {
    .struct_size = sizeof(levada_stage_def),
    .name = "group_by_window",
    .doc = "groups records with the same key into batches",
    .example = "range:30 | group_by_window:\"value % 3\",window_size=4",
    .mode = LEVADA_MODE_SERIAL,
    .traits = LEVADA_TRAITS(.rows = LEVADA_ROWS_BATCHES, .divides = true),
    .takes_selection = true,
    .args = group_options,
    .args_size = sizeof(group_args),
    .state_size = sizeof(group_state),
    .state_version = 1,
    .check = group_check,
    .open = group_open,
    .close = group_close,
    .next = group_next,
    .apply = group_apply,
    .save = levada_grouping_save,
    .restore = group_restore,
};
