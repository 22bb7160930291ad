/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The grouping engine under random policies, against a model: the batches, their layouts, what is
 * dropped, and the same rest from a state saved at each cut. The stage is t_group, whose decisions
 * are drawn from (seed, group, its records, key).
 */
#include "base/random.h"
#include "batch/grouping.h"
#include "batch/length.h"
#include "state/state_priv.h"
#include "support/iters.h"
#include "support/register.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MOST 64 /* records of a dataset, batches of a model */

typedef struct group_args {
    int64_t seed, groups;
    bool    drop_rest;
} group_args;

typedef struct group_state {
    levada_grouping   grouping;
    const group_args *args;
} group_state;

static const levada_arg group_options[] = {
    LEVADA_ARG(INT, group_args, seed, .required = true, .positional = true),
    LEVADA_ARG(INT, group_args, groups, .otherwise = "3"),
    LEVADA_ARG(BOOL, group_args, drop_rest, .otherwise = "false"),
    LEVADA_ARG_END
};

/* -- what the policy decides */

static uint64_t drawn(const group_args *a, uint64_t what, uint64_t number, uint64_t below)
{
    uint64_t key = levada_random_key((uint64_t)a->seed, what);

    return levada_random_below(levada_random_at(key, number), below);
}

static int64_t group_of(const group_args *a, int64_t key)
{
    return (int64_t)drawn(a, 1, (uint64_t)key, (uint64_t)a->groups);
}

/* Of a group that has n records: whether it leaves before a record with this key comes. */
static bool leaves_before(const group_args *a, int64_t group, int64_t n, int64_t largest,
                          int64_t key)
{
    uint64_t number = (uint64_t)(((group * 64 + n) * 64 + largest) * 64 + key);

    return n > 0 && drawn(a, 2, number, 9) == 0;
}

static int64_t most_of(const group_args *a, int64_t group)
{
    return 1 + (int64_t)drawn(a, 3, (uint64_t)group, 9);
}

static levada_status group_keys(const void *self, const levada_block *block, int64_t *keys,
                                levada_error *err)
{
    (void)self;
    return levada_length_measure("l", block, keys, 1, err);
}

static levada_status group_place(const void *self, levada_grouping *g, int64_t *full,
                                 levada_error *err)
{
    const group_args *a = ((const group_state *)self)->args;
    int64_t           key = g->keys[g->at], i = group_of(a, key);

    if (leaves_before(a, i, g->groups[i].n, g->groups[i].largest[0], key)) {
        *full = i;
        return LEVADA_OK;
    }
    LEVADA_TRY(levada_grouping_put(g, i, 1, err));
    if (g->groups[i].n >= most_of(a, i)) *full = i;
    return LEVADA_OK;
}

static const levada_grouping_policy group_policy = { .keys = group_keys, .place = group_place };

/* -- the stage */

static levada_status group_check(const void *args, const levada_spec *in, levada_spec **out,
                                 levada_error *err)
{
    (void)args;
    return levada_spec_create(levada_spec_field(in, 0), levada_spec_count(in),
                              levada_spec_flags_of(in) | LEVADA_SPEC_BATCHED, out, err);
}

static levada_status group_open(void *state, const void *args, const levada_context *context,
                                levada_error *err)
{
    group_state                  *s = state;
    const group_args             *a = args;
    const levada_grouping_options options = {
        .policy = &group_policy, .self = s, .groups = a->groups, .drop_rest = a->drop_rest
    };

    s->args = a;
    LEVADA_TRY(levada_grouping_open(&s->grouping, context, &options, err));
    for (int64_t i = 0; !context->fused_end && i < a->groups; i++) {
        LEVADA_TRY(levada_layout_create(100 + i, &s->grouping.groups[i].layout, err));
    }
    return LEVADA_OK;
}

static void group_close(void *state) { levada_grouping_close(state); }

static const levada_stage_def group_stage = {
    .struct_size = sizeof(levada_stage_def),
    .name = "t_group",
    .doc = "batches by a random policy",
    .example = "t_rows:9 | t_group:1",
    .mode = LEVADA_MODE_SERIAL,
    .takes_selection = true,
    .traits = LEVADA_TRAITS(.rows = LEVADA_ROWS_BATCHES),
    .args = group_options,
    .args_size = sizeof(group_args),
    .state_size = sizeof(group_state),
    .state_version = 1,
    .check = group_check,
    .open = group_open,
    .close = group_close,
    .next = levada_grouping_next,
    .apply = levada_grouping_gather,
    .save = levada_grouping_save,
    .restore = levada_grouping_restore,
};

/* -- the model */

typedef struct model_batch {
    int64_t bound, n, numbers[MOST];
} model_batch;

typedef struct model {
    model_batch groups[8], batches[MOST];
    int64_t     largest[8], nbatches, dropped;
} model;

static void model_leave(model *m, int64_t i)
{
    m->batches[m->nbatches] = m->groups[i];
    m->batches[m->nbatches++].bound = 100 + i;
    m->groups[i].n = m->largest[i] = 0;
}

/* The batches of these records. */
static void model_run(model *m, const group_args *a, const int64_t *numbers, const int64_t *keys,
                      int64_t n)
{
    memset(m, 0, sizeof *m);
    for (int64_t k = 0; k < n; k++) {
        int64_t i = group_of(a, keys[k]);

        if (leaves_before(a, i, m->groups[i].n, m->largest[i], keys[k])) model_leave(m, i);
        m->groups[i].numbers[m->groups[i].n++] = numbers[k];
        if (keys[k] > m->largest[i]) m->largest[i] = keys[k];
        if (m->groups[i].n == most_of(a, i)) model_leave(m, i);
    }
    for (int64_t i = 0; i < a->groups; i++) {
        if (a->drop_rest) m->dropped += m->groups[i].n;
        else if (m->groups[i].n) model_leave(m, i);
    }
}

static void expect_batch(const model_batch *want, const levada_block *got)
{
    const int64_t *n = levada_column_i64(levada_block_column(got, "n"));

    assert_int_equal(levada_block_rows(got), want->n);
    assert_memory_equal(n, want->numbers, (size_t)want->n * sizeof *n);
    assert_int_equal(levada_block_bound(got), want->bound);
}

/* Batches [from, to) of the model; to = -1: all that are left, and then the end. */
static void expect_batches(levada_iter *it, const model *m, int64_t from, int64_t to)
{
    levada_block *block = NULL;

    for (int64_t i = from; i < (to < 0 ? m->nbatches : to); i++) {
        assert_int_equal(levada_iter_next(it, &block, NULL), LEVADA_OK);
        expect_batch(&m->batches[i], block);
        levada_block_unref(&block);
    }
    if (to >= 0) return;
    assert_int_equal(levada_iter_next(it, &block, NULL), LEVADA_END);
    assert_int_equal(t_iter_stat(it, "dropped_records"), m->dropped);
}

static void expect_model(const char *text, const model *m)
{
    static const int32_t rows[] = { 1, 5, 256 };

    for (int64_t cut = 0; cut <= m->nbatches; cut++) {
        int32_t      how = (int32_t)cut % 3;
        levada_iter *it = t_iter_open(text, 1 + how, rows[how]);
        t_bytes      saved;

        expect_batches(it, m, 0, cut);
        saved = t_iter_save(it);
        expect_batches(it, m, cut, -1);
        levada_iter_close(&it);
        it = t_iter_open(text, 3 - how, rows[2 - how]);
        t_iter_restore(it, saved);
        t_clear(&saved);
        expect_batches(it, m, cut, -1);
        levada_iter_close(&it);
    }
}

static void expect_policy(const char *input, const group_args *a)
{
    char         text[200];
    levada_iter *it = t_iter_open(input, 1, 256);
    int64_t      n = 0, nkeys = 0, *numbers = t_iter_numbers(it, "n", &n), *keys;
    model        m;

    levada_iter_close(&it);
    it = t_iter_open(input, 1, 256);
    keys = t_iter_numbers(it, "l", &nkeys);
    levada_iter_close(&it);
    assert_true(n <= MOST && n == nkeys);
    model_run(&m, a, numbers, keys, n);
    snprintf(text, sizeof text, "%s | t_group:%lld,groups=%lld,drop_rest=%s", input,
             (long long)a->seed, (long long)a->groups, a->drop_rest ? "true" : "false");
    expect_model(text, &m);
    free(numbers);
    free(keys);
}

static void random_policies_do_as_the_model(void **state)
{
    static const char *const inputs[] = {
        "t_rows:60,bare=true",
        "t_stream:60,bare=true",
        "t_rows:60,bare=true | shuffle:13",
        "mix(t_rows:30; t_stream:30 | shuffle:7)",
        "t_rows:0",
    };

    (void)state;
    for (int64_t seed = 1; seed <= 16; seed++) {
        const group_args a = { .seed = seed, .groups = 1 + seed % 5, .drop_rest = seed % 4 == 0 };

        expect_policy(inputs[(size_t)seed % (sizeof inputs / sizeof *inputs)], &a);
    }
}

static void bytes_do_not_depend_on_blocks_or_threads(void **state)
{
    (void)state;
    t_iter_sweep("t_stream:60 | t_group:3", true, 1);
    t_iter_sweep("t_rows:60 | shuffle:9 | t_group:8,groups=5,drop_rest=true | prefetch:2", true, 1);
    t_iter_sweep("t_rows:20 | t_group:5 | repeat:2", true, 1);
}

/* -- states */

/* The state with one more entry, as an older version of the stage wrote it. */
static t_bytes with_entry(t_bytes state, const char *path, const char *key)
{
    levada_state_reader from;
    levada_state_writer to = { .scope = { .path = path, .version = 1 } };
    char               *bytes = NULL;
    t_bytes             made = { 0 };
    size_t              size = 0;

    assert_int_equal(levada_state_decode(state.at, state.size, t_iter_env(), &from, NULL),
                     LEVADA_OK);
    for (int32_t i = 0; i < from.n; i++) {
        assert_int_equal(levada_state_move(&to, &from.entries[i], NULL), LEVADA_OK);
    }
    assert_int_equal(levada_state_put_i64(&to, key, 0, NULL), LEVADA_OK);
    assert_int_equal(levada_state_encode(&to, &from.head, t_iter_env(), &bytes, &size, NULL),
                     LEVADA_OK);
    t_add(&made, bytes, size);
    levada_string_free(&bytes);
    levada_state_reader_clear(&from);
    levada_state_writer_clear(&to);
    return made;
}

static void expect_refused(const char *text, const char *path)
{
    levada_iter *it = t_iter_open(text, 1, 7);
    levada_error err = LEVADA_ERROR_INIT;
    t_bytes      now = t_iter_save(it), old = with_entry(now, path, "n");

    assert_int_equal(levada_iter_restore(it, old.at, old.size, &err), LEVADA_EFAILED_PRECONDITION);
    assert_non_null(strstr(err.message, "older version"));
    assert_string_equal(err.stage, path);
    t_iter_restore(it, now);
    t_clear(&now);
    t_clear(&old);
    levada_iter_close(&it);
}

static void states_of_another_form_are_refused(void **state)
{
    (void)state;
    expect_refused("t_rows:9 | batch:4", "1.batch");
    expect_refused("t_rows:9 | padded_batch:4", "1.padded_batch");
    expect_refused("mix(t_rows:9; t_rows:9)", "2.mix");
}

static int add_stage(void **state)
{
    (void)state;
    assert_int_equal(t_register(t_iter_env(), LEVADA_FAMILY_STAGE, &group_stage, NULL, NULL),
                     LEVADA_OK);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_policies_do_as_the_model),
        cmocka_unit_test(bytes_do_not_depend_on_blocks_or_threads),
        cmocka_unit_test(states_of_another_form_are_refused),
    };

    return cmocka_run_group_tests(tests, add_stage, NULL);
}
