/* SPDX-License-Identifier: Apache-2.0 */
/*
 * group_by - one record out of consecutive records with the same key, such as the rows of one
 * series in a file that is sorted by series.
 *
 * A policy of the grouping engine with one group. The key of a record in the engine is the number
 * of its run: it changes where the key differs from that of the record before.
 */
#include "base/alloc.h"
#include "batch/collecting.h"
#include "batch/grouping.h"
#include "batch/window_key.h"
#include "description/columns.h"
#include "registry/env_priv.h"
#include "registry/stage_core.h"
#include "run/context.h"

#include <string.h>

#define GROUP_BY_TOGETHER 256

typedef struct group_by_args {
    const char *key;
    int64_t     max_records;
} group_by_args;

typedef struct group_by_state {
    levada_grouping      grouping; /* first, as its hooks expect */
    const group_by_args *args;
    levada_window_key    key;
    bool                 any;       /* there was a record          */
    int64_t              run, last; /* of the last record: its run, and its key if a number */
    uint8_t             *text;      /* or the bytes of its key                              */
    int64_t              size, capacity;
    int64_t              row_bytes; /* of an arrival, about; and of the group */
    int64_t              bytes;
    levada_derived       columns;
} group_by_state;

static const levada_arg group_by_options[] = {
    LEVADA_ARG(TEXT, group_by_args, key, .required = true, .positional = true,
               .doc = "field of integers or byte strings, which stays one value; or len(field); "
                      "integers may be followed by // N or % N"),
    LEVADA_ARG(INT, group_by_args, max_records, .otherwise = "1048576", .min = 1,
               .max = INT32_MAX,
               .doc = "maximum number of records of one key; more are an error"),
    LEVADA_ARG_END
};

/* -- columns */

/* Returns the field that is the key as it is; NULL if the key is computed. */
static const char *group_by_field(const levada_window_key *key)
{
    return key->length || key->op != LEVADA_WINDOW_PLAIN ? NULL : key->field;
}

static levada_status group_by_check(const void *args, const levada_spec *in, levada_spec **out,
                                    levada_error *err)
{
    levada_window_key key = { 0 };
    levada_status     st;

    LEVADA_TRY(levada_spec_want_records(in, err));
    LEVADA_TRY(levada_window_key_parse(((const group_by_args *)args)->key, &key, err));
    st = levada_window_key_check(&key, in, err);
    if (st == LEVADA_OK) st = levada_collecting_spec(in, group_by_field(&key), out, err);
    levada_window_key_clear(&key);
    return st;
}

/* -- the policy */

static void group_by_next_run(group_by_state *s, bool same)
{
    if (!same || !s->any) s->run++;
    s->any = true;
}

static void group_by_numbers(group_by_state *s, int64_t n, int64_t *keys)
{
    for (int64_t i = 0; i < n; i++) {
        group_by_next_run(s, keys[i] == s->last);
        s->last = keys[i];
        keys[i] = s->run;
    }
}

static levada_status group_by_texts(group_by_state *s, const levada_block *block, int64_t *keys,
                                    levada_error *err)
{
    int32_t        field = levada_spec_find(block->spec, s->key.field);
    const uint8_t *last = s->text;

    for (int64_t i = 0; i < block->n; i++) {
        int64_t              row = 0, size = 0;
        const levada_block  *data = levada_block_row(block, i, &row);
        const uint8_t       *text = levada_column_bytes(&data->columns[field], row, &size);

        group_by_next_run(s, size == s->size && (!size || memcmp(text, last, (size_t)size) == 0));
        last = text;
        s->size = size;
        keys[i] = s->run;
    }
    if (!levada_reserve(&s->text, &s->capacity, s->size + 1, 1)) {
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a key");
    }
    if (s->size && last != s->text) memcpy(s->text, last, (size_t)s->size);
    return LEVADA_OK;
}

static levada_status group_by_keys(const void *self, const levada_block *block, int64_t *keys,
                                   levada_error *err)
{
    group_by_state *s = (group_by_state *)(uintptr_t)self;

    s->row_bytes = block->n ? levada_block_bytes(block) / block->n : 0;
    LEVADA_TRY(levada_window_key_check(&s->key, block->spec, err));
    if (levada_window_key_is_text(&s->key, block->spec)) {
        return group_by_texts(s, block, keys, err);
    }
    LEVADA_TRY(levada_window_key_measure(&s->key, block, NULL, keys, err));
    group_by_numbers(s, block->n, keys);
    return LEVADA_OK;
}

/* Refuses `rows` more records, if the group becomes too large by them. */
static levada_status group_by_bound(const group_by_state *s, int64_t rows, levada_error *err)
{
    const levada_grouping *g = &s->grouping;
    int64_t                n = g->groups[0].n + rows, bytes = s->bytes + rows * s->row_bytes;
    levada_block          *first = NULL;

    if (n > s->args->max_records) {
        (void)levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED,
                          "key '%s' is the same in more than max_records=%lld consecutive "
                          "records; raise max_records, or choose another key",
                          s->args->key, (long long)s->args->max_records);
    } else if (n > 1 && bytes > g->context->max_record_bytes) {
        (void)levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED,
                          "key '%s' is the same in %lld consecutive records, which need more than "
                          "the %lld bytes of a record (max_record_bytes); choose another key",
                          s->args->key, (long long)n, (long long)g->context->max_record_bytes);
    } else {
        return LEVADA_OK;
    }
    if (err && g->groups[0].n && levada_grouping_first(g, 0, &first, NULL) == LEVADA_OK) {
        levada_context_place(g->context, first, 0, err);
        levada_block_unref(&first);
    }
    return LEVADA_ERESOURCE_EXHAUSTED;
}

static levada_status group_by_place(const void *self, levada_grouping *g, int64_t *full,
                                    levada_error *err)
{
    group_by_state *s = (group_by_state *)(uintptr_t)self;
    levada_group   *group = &g->groups[0];
    int64_t         run = *levada_grouping_key(g), rows = 1;

    if (group->n == 0) s->bytes = 0;
    if (group->n && run != group->largest[0]) {
        *full = 0;
        return LEVADA_OK;
    }
    while (g->at + rows < g->n && g->keys[g->at + rows] == run) rows++;
    LEVADA_TRY(group_by_bound(s, rows, err));
    s->bytes += rows * s->row_bytes;
    return levada_grouping_put(g, 0, rows, err);
}

static const levada_grouping_policy group_by_policy = { .keys = group_by_keys,
                                                        .place = group_by_place };

/* -- as a stage */

static levada_status group_by_open(void *state, const void *args, const levada_context *context,
                                   levada_error *err)
{
    group_by_state               *s = state;
    const levada_grouping_options options = { .policy = &group_by_policy,
                                              .self = s,
                                              .groups = 1,
                                              .together = GROUP_BY_TOGETHER };

    s->args = args;
    LEVADA_TRY(levada_grouping_open(&s->grouping, context, &options, err));
    return levada_window_key_parse(s->args->key, &s->key, err);
}

static void group_by_close(void *state)
{
    group_by_state *s = state;

    levada_grouping_close(&s->grouping);
    levada_window_key_clear(&s->key);
    levada_derived_clear(&s->columns);
    levada_free(s->text);
}

static levada_status group_by_apply(void *state, const void *args, const levada_block *in,
                                    levada_block **out, levada_error *err)
{
    group_by_state    *s = state;
    levada_pool       *pool = levada_env_pool(s->grouping.context->env);
    int64_t            n = 0;
    const int32_t     *ends = levada_block_ends(in, &n);
    const levada_spec *spec = NULL;
    levada_block      *flat = NULL;
    levada_status      st;

    if (!ends) {
        return levada_fail(err, LEVADA_EINTERNAL,
                           "internal error: records to collect have no groups; please report it");
    }
    LEVADA_TRY(levada_derived_get(&s->columns, group_by_check, args, in->spec, &spec, err));
    LEVADA_TRY(levada_block_gather(pool, in, &flat, err));
    st = levada_collecting_block(pool, spec, group_by_field(&s->key), flat, ends, n, out, err);
    levada_block_unref(&flat);
    return st;
}

/* Runs are counted again, from the first record of the open group. */
static levada_status group_by_restore(void *state, levada_state_reader *from, levada_error *err)
{
    group_by_state *s = state;

    s->any = false;
    s->run = 0;
    LEVADA_TRY(levada_grouping_restore(s, from, err));
    s->bytes = s->grouping.groups[0].n * s->row_bytes;
    return LEVADA_OK;
}

const levada_stage_def levada_stage_group_by = {
    .struct_size = sizeof(levada_stage_def),
    .name = "group_by",
    .doc = "makes one record of consecutive records with the same key",
    .example = "range:30 | group_by:\"value // 4\"",
    .mode = LEVADA_MODE_SERIAL,
    .traits = LEVADA_TRAITS(.saves = "records of the open group, by origin"),
    .core = LEVADA_STAGE_CORE(.late = LEVADA_LATE_TAKES),
    .takes_selection = true,
    .args = group_by_options,
    .args_size = sizeof(group_by_args),
    .state_size = sizeof(group_by_state),
    .state_version = 1,
    .check = group_by_check,
    .open = group_by_open,
    .close = group_by_close,
    .next = levada_grouping_next,
    .apply = group_by_apply,
    .save = levada_grouping_save,
    .restore = group_by_restore,
};
