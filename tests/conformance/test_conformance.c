/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What holds for every name that can stand in a description: its example gives the same records at
 * any block size and with any number of threads, goes on after a save at every cut, can be
 * cancelled at every step, survives that any allocation fails, and refuses states that were made up
 * and options beyond their limits.
 */
#include "conformance/fault.h"
#include "core/registry.h"
#include "core/state_priv.h"
#include "core/value_priv.h"
#include "support/functions.h"
#include "support/iters.h"
#include <levada/example.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define CONFORMANCE_FAULTS 200 /* allocations of a run that fail in turn */
#define CONFORMANCE_STEPS 40

/* -- files that examples read */

/* Readable as Example and as SequenceExample. */
static void add_sequence(t_bytes *to, levada_example *e, int64_t i)
{
    const int64_t  tokens[] = { i, i + 1, i + 2, i + 3, i + 4 };
    const float    frame[16] = { (float)i, 0.5F };
    const uint8_t *data = NULL;
    size_t         size = 0;

    levada_example_reset(e);
    assert_int_equal(levada_example_add_i64(e, "tokens", tokens, i % 6, NULL), LEVADA_OK);
    assert_int_equal(levada_example_begin_list(e, "frames", NULL), LEVADA_OK);
    for (int64_t k = 0; k < i % 4; k++) {
        assert_int_equal(levada_example_add_f32(e, NULL, frame, 16, NULL), LEVADA_OK);
    }
    assert_int_equal(levada_example_end_list(e, NULL), LEVADA_OK);
    assert_int_equal(levada_example_finish(e, &data, &size, NULL), LEVADA_OK);
    t_add_record(to, data, size);
}

static void write_records(const char *name, int64_t n)
{
    levada_example *e = NULL;
    t_bytes         bytes = { 0 };

    assert_int_equal(levada_example_create(&e, NULL), LEVADA_OK);
    for (int64_t i = 0; i < n; i++) add_sequence(&bytes, e, i);
    t_write_file(name, bytes.at, bytes.size);
    t_clear(&bytes);
    levada_example_destroy(&e);
}

static int write_files(void **state)
{
    const char *folder = t_folder();
    const char *lines = "one\ntwo\n\nfour\nfive, the last one";
    const char *table = "a,b\n1,x\n2,y\n3,\"z, and more\"\n";

    (void)state;
    assert_int_equal(chdir(folder), 0);
    write_records("train.tfrecord", 20);
    write_records("examples.tfrecord", 9);
    write_records("a.tfrecord", 5);
    write_records("b.tfrecord", 3);
    t_write_file("lines.txt", lines, strlen(lines));
    t_write_file("more.txt", table, strlen(table));
    t_write_file("table.csv", table, strlen(table));
    t_functions_add(t_iter_env());
    return 0;
}

static int drop_files(void **state)
{
    (void)state;
    assert_int_equal(chdir("/"), 0);
    t_folder_drop();
    return 0;
}

/* -- one example */

/* Skips names without an example, and examples whose files are not there. */
static const char *example_of(const levada_op *op, bool *batches)
{
    levada_iter_options o = LEVADA_ITER_OPTIONS_INIT;
    levada_dataset     *dataset = NULL;
    levada_iter        *it = NULL;
    levada_block       *block = NULL;
    levada_error        err = LEVADA_ERROR_INIT;
    levada_status       st;

    if (!op->example) {
        print_message("%s: has no example\n", op->name);
        skip();
    }
    st = levada_dataset_parse(t_iter_env(), op->example, &dataset, &err);
    if (st != LEVADA_OK) fail_msg("%s: %s", op->example, err.message);
    *batches = levada_spec_flags_of(levada_dataset_spec(dataset)) & LEVADA_SPEC_BATCHED;
    o.threads = 1;
    st = levada_iter_open(dataset, &o, &it, &err);
    if (st == LEVADA_OK) st = levada_iter_next(it, &block, &err);
    levada_block_unref(&block);
    levada_iter_close(&it);
    levada_dataset_unref(&dataset);
    if (st == LEVADA_ENOT_FOUND) {
        print_message("%s: %s\n", op->example, err.message);
        skip();
    }
    if (st != LEVADA_OK) fail_msg("%s: %s", op->example, err.message);
    return op->example;
}

static void runs_and_goes_on(void **state)
{
    bool        batches = false;
    const char *text = example_of(*state, &batches);

    t_iter_sweep(text, batches, 1);
}

static void cancel_after(const char *text, int64_t blocks, int32_t threads)
{
    levada_iter  *it = t_iter_open(text, threads, 1);
    levada_block *block = NULL;
    levada_status st = LEVADA_OK;

    for (int64_t i = 0; i < blocks && st == LEVADA_OK; i++) {
        st = levada_iter_next(it, &block, NULL);
        levada_block_unref(&block);
    }
    levada_iter_cancel(it);
    if (st == LEVADA_OK) {
        assert_int_equal(levada_iter_next(it, &block, NULL), LEVADA_ECANCELLED);
        assert_int_equal(levada_iter_next(it, &block, NULL), LEVADA_ECANCELLED);
    }
    levada_iter_close(&it);
}

static void is_cancelled_at_every_step(void **state)
{
    bool        batches = false;
    const char *text = example_of(*state, &batches);

    for (int64_t step = 0; step < CONFORMANCE_STEPS; step++) {
        cancel_after(text, step, 1);
        cancel_after(text, step, 4);
    }
}

/* -- memory that runs out */

static levada_status run_all(levada_iter *it, levada_error *err)
{
    levada_status st = LEVADA_OK;

    while (st == LEVADA_OK) {
        levada_block *block = NULL;

        st = levada_iter_next(it, &block, err);
        levada_block_unref(&block);
    }
    return st == LEVADA_END ? LEVADA_OK : st;
}

/* Opens, reads a block, saves, restores into another one, reads the rest. */
static levada_status run_once(levada_env *env, const char *text, levada_error *err)
{
    levada_iter_options o = LEVADA_ITER_OPTIONS_INIT;
    levada_dataset     *dataset = NULL;
    levada_iter        *it = NULL, *other = NULL;
    levada_block       *block = NULL;
    char               *bytes = NULL;
    size_t              size = 0;
    levada_status       st = levada_dataset_parse(env, text, &dataset, err);

    o.seed = 11;
    o.threads = 1;
    o.block_rows = 4;
    if (st == LEVADA_OK) st = levada_iter_open(dataset, &o, &it, err);
    if (st == LEVADA_OK) st = levada_iter_next(it, &block, err);
    levada_block_unref(&block);
    if (st == LEVADA_OK) st = levada_iter_save(it, &bytes, &size, err);
    if (st == LEVADA_OK) st = levada_iter_open(dataset, &o, &other, err);
    if (st == LEVADA_OK) st = levada_iter_restore(other, bytes, size, err);
    if (st == LEVADA_OK) st = run_all(other, err);
    levada_iter_close(&it);
    levada_iter_close(&other);
    levada_string_free(&bytes);
    levada_dataset_unref(&dataset);
    return st;
}

/* False when there were not that many allocations: the run was as always. */
static bool fails_at(const char *text, int64_t number)
{
    int64_t       before = fault_live();
    levada_env   *env = NULL;
    levada_error  err = LEVADA_ERROR_INIT;
    levada_status st;
    bool          reached;

    assert_int_equal(levada_env_create(NULL, &env, NULL), LEVADA_OK);
    t_functions_add(env);
    fault_arm(number);
    st = run_once(env, text, &err);
    reached = fault_disarm() > number;
    levada_env_destroy(&env);
    if (st != LEVADA_OK && (!reached || st != LEVADA_ERESOURCE_EXHAUSTED)) {
        fail_msg("%s, allocation %lld: %s, %s", text, (long long)number, levada_status_name(st),
                 err.message);
    }
    if (st != LEVADA_OK && err.code != st) {
        fail_msg("%s, allocation %lld: the error says %s", text, (long long)number,
                 levada_status_name(err.code));
    }
    if (fault_live() != before) {
        fail_msg("%s, allocation %lld: %lld pieces of memory were lost", text, (long long)number,
                 (long long)(fault_live() - before));
    }
    return reached;
}

static void survives_that_memory_runs_out(void **state)
{
    const levada_op *op = *state;
    bool             batches = false;
    const char      *text = example_of(op, &batches);
    int64_t          number = 0;

    while (number < CONFORMANCE_FAULTS && fails_at(text, number)) number++;
    /* The beginnings are alike everywhere: the rest in larger steps. */
    for (; fails_at(text, number); number += 1 + number / 16) continue;
}

/* -- states that were made up */

/* May be any number: a part of the key of random draws; what a function of the tests keeps. */
static bool any_number(const char *key)
{
    return strcmp(key, "epoch") == 0 || strcmp(key, "function") == 0;
}

static levada_status restore_made_up(const char *text, levada_state_reader *r)
{
    levada_state_writer w = { .entries = r->entries, .n = r->n };
    levada_iter        *it = t_iter_open(text, 1, 4);
    char               *bytes = NULL;
    size_t              size = 0;
    levada_status       st;

    assert_int_equal(levada_state_encode(&w, &r->head, t_iter_env(), &bytes, &size, NULL),
                     LEVADA_OK);
    st = levada_iter_restore(it, bytes, size, NULL);
    for (int32_t i = 0; st == LEVADA_OK && i < 300; i++) { /* to the end, or an error */
        levada_block *block = NULL;

        if (levada_iter_next(it, &block, NULL) != LEVADA_OK) break;
        levada_block_unref(&block);
    }
    levada_string_free(&bytes);
    levada_iter_close(&it);
    return st;
}

/* The first and the last number of each entry in turn: no harm, and single ones are refused. */
static void make_up(const char *text, levada_state_reader *r, levada_entry *e)
{
    static const int64_t lies[] = { INT64_MIN, -1, INT64_C(1) << 32, INT64_MAX };
    size_t               last = e->size / sizeof(int64_t);
    int64_t              was;

    for (size_t at = 0; at < last; at += last > 1 ? last - 1 : 1) {
        memcpy(&was, e->data + at * sizeof was, sizeof was);
        for (size_t k = 0; k < sizeof lies / sizeof lies[0]; k++) {
            levada_status st;

            memcpy(e->data + at * sizeof was, &lies[k], sizeof was);
            st = restore_made_up(text, r);
            if (st != LEVADA_OK || e->type != LEVADA_ENTRY_I64 || any_number(e->key)) continue;
            if (lies[k] == INT64_MIN || lies[k] == INT64_MAX) {
                fail_msg("%s: %s/%s=%lld was restored", text, e->path, e->key, (long long)lies[k]);
            }
        }
        memcpy(e->data + at * sizeof was, &was, sizeof was);
    }
}

static void refuses_numbers_that_were_made_up(void **state)
{
    bool                batches = false;
    const char         *text = example_of(*state, &batches);
    levada_iter        *it = t_iter_open(text, 1, 4);
    t_bytes             head = { 0 }, saved;
    levada_state_reader r;

    (void)t_iter_read(it, 1, batches, &head);
    saved = t_iter_save(it);
    assert_int_equal(levada_state_decode(saved.at, saved.size, t_iter_env(), &r, NULL), LEVADA_OK);
    for (int32_t i = 0; i < r.n; i++) {
        if (r.entries[i].type != LEVADA_ENTRY_BYTES) make_up(text, &r, &r.entries[i]);
    }
    levada_state_reader_clear(&r);
    levada_iter_close(&it);
    t_clear(&saved);
    t_clear(&head);
}

/* -- options */

/* The example's last stage with one option at a value. */
static levada_status with_option(const levada_dataset *dataset, const char *name, int64_t value,
                                 levada_error *err)
{
    levada_value          *options = levada_value_copy(levada_dataset_options(dataset));
    levada_value          *number = levada_value_int(value);
    levada_value          *map = levada_value_map();
    const levada_dataset **inputs = calloc((size_t)levada_dataset_inputs(dataset) + 1,
                                           sizeof(*inputs));
    levada_dataset        *made = NULL;
    levada_status          st = LEVADA_OK;

    assert_true(options && number && map && inputs);
    for (int32_t i = 0; i < levada_dataset_inputs(dataset); i++) {
        inputs[i] = levada_dataset_input(dataset, i);
    }
    for (int64_t i = 0; i < levada_value_count(options); i++) {
        const char   *key = levada_value_key(options, i);
        levada_value *item = levada_value_take_at(options, i);
        bool          this = strcmp(key, name) == 0;

        assert_int_equal(levada_value_set(map, key, this ? &number : &item, NULL), LEVADA_OK);
        levada_value_destroy(&item);
    }
    st = levada_dataset_append(t_iter_env(), levada_dataset_name(dataset), map, inputs,
                               levada_dataset_inputs(dataset), &made, err);
    levada_dataset_unref(&made);
    levada_value_destroy(&number);
    levada_value_destroy(&map);
    levada_value_destroy(&options);
    free(inputs);
    return st;
}

static void refused(const levada_dataset *dataset, const char *name, int64_t value)
{
    levada_error  err = LEVADA_ERROR_INIT;
    levada_status st = with_option(dataset, name, value, &err);

    if (st != LEVADA_EINVALID_ARGUMENT || !strstr(err.message, name)) {
        fail_msg("%s=%lld: %s '%s'", name, (long long)value, levada_status_name(st), err.message);
    }
}

static void refuses_options_beyond_their_limits(void **state)
{
    const levada_op *op = *state;
    bool             batches = false;
    levada_dataset  *dataset = NULL;

    assert_int_equal(levada_dataset_parse(t_iter_env(), example_of(op, &batches), &dataset, NULL),
                     LEVADA_OK);
    for (const levada_arg *arg = op->args; arg->name; arg++) {
        bool number = arg->type == LEVADA_ARG_INT || arg->type == LEVADA_ARG_SIZE;

        if (!number || strcmp(levada_dataset_name(dataset), op->name) != 0) continue;
        if (arg->min == 0 && arg->max == 0) continue;
        if (arg->min > INT64_MIN + 1) refused(dataset, arg->name, arg->min - 1);
        if (arg->max >= arg->min && arg->max < INT64_MAX) refused(dataset, arg->name, arg->max + 1);
    }
    levada_dataset_unref(&dataset);
}

/* -- all names, all checks */

typedef struct check {
    const char *claim;
    void (*test)(void **state);
} check;

static const check checks[] = {
    { "runs and goes on", runs_and_goes_on },
    { "is cancelled at every step", is_cancelled_at_every_step },
    { "survives that memory runs out", survives_that_memory_runs_out },
    { "refuses numbers that were made up", refuses_numbers_that_were_made_up },
    { "refuses options beyond their limits", refuses_options_beyond_their_limits },
};

#define CHECKS (sizeof checks / sizeof checks[0])

/* With a name as the argument: the checks of that one. */
int main(int argc, char **argv)
{
    static struct CMUnitTest tests[CHECKS * 256];
    static char              names[CHECKS * 256][96];
    levada_env              *env = NULL;
    const levada_op         *op;
    size_t                   n = 0;
    int                      failed;

    if (levada_env_create(NULL, &env, NULL) != LEVADA_OK) return 1;
    for (int32_t i = 0; i < 256 && (op = levada_registry_at(env, i)); i++) {
        if (op->family == LEVADA_FAMILY_FILTER || (argc > 1 && strcmp(argv[1], op->name) != 0)) {
            continue;
        }
        for (size_t k = 0; k < CHECKS; k++, n++) {
            (void)snprintf(names[n], sizeof names[n], "%s %s", op->name, checks[k].claim);
            tests[n].name = names[n];
            tests[n].test_func = checks[k].test;
            tests[n].initial_state = (void *)(uintptr_t)op;
        }
    }
    failed = _cmocka_run_group_tests("conformance", tests, n, write_files, drop_files);
    levada_env_destroy(&env);
    return failed;
}
