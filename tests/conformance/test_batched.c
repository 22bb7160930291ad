/* SPDX-License-Identifier: Apache-2.0 */
/*
 * After a batching stage a batch is one element: every stage, decoder and combiner keeps batches
 * whole with their lengths, or refuses them. The table below has the exact results; of a stage or
 * decoder without a line the example is run with its input in batches.
 */
#include "conform.h"
#include "registry/registry.h"
#include "support/functions.h"
#include "support/iters.h"
#include <levada/builder.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define BATCHED_MOST 16

/* What a name makes of the batches 0, 1 and 2 of `%s`: the batches that come, in order. */
typedef struct batched_rule {
    const char *name, *text;
    const char *gives; /* digits; "*" = the batches of all inputs, each once; NULL = it refuses;
                        * "" = records */
} batched_rule;

static const char *const batched_bases[] = {
    "t_rows:8,bare=true | padded_batch:3",
    "t_rows:8,bare=true | batch:3",
    "t_rows:8,bare=true | bucket_by_sequence_length:x,boundaries=[100],batch_sizes=3,"
    "pad_to_bucket_boundary=false,pad_to_multiple=4",
    "t_rows:8,bare=true | shuffle:1 | padded_batch:3,padded_shapes={x:[70]}",
};

static const batched_rule batched_rules[] = {
    { "batch", "%s | batch:2", NULL },
    { "bucket_by_sequence_length",
      "%s | bucket_by_sequence_length:n,boundaries=[4],batch_sizes=2", NULL },
    { "padded_batch", "%s | padded_batch:2", NULL },
    { "filter", "%s | filter:\"n > 2\"", NULL },
    { "shuffle", "%s | shuffle:4", NULL },
    { "interleave", "%s | interleave:(range:2)", NULL },
    { "interleave", "range:1 | interleave:(%s),cycle_length=1", "012" },
    { "map", "%s | map:{c:record}", NULL },
    { "call", "%s | call:{c:record}", NULL },
    { "flat_map", "%s | flat_map:{c:record}", NULL },
    { "map", "%s | map:{c:again}", "012" },
    { "call", "%s | call:{c:again}", "012" },
    { "cast", "%s | cast:x,dtype=int64", "012" },
    { "enumerate", "%s | enumerate", "012" },
    { "prefetch", "%s | prefetch:2", "012" },
    { "rename", "%s | rename:{l:m}", "012" },
    { "repeat", "%s | repeat:2", "012012" },
    { "select", "%s | select:[x,n]", "012" },
    { "shard", "%s | shard:1,count=2", "1" },
    { "skip", "%s | skip:1", "12" },
    { "take", "%s | take:2", "01" },
    { "unbatch", "%s | unbatch", "" },
    { "concat", "concat(%s; %s)", "012012" },
    { "mix", "mix(%s; %s):seed=5", "*" },
    { "zip", "zip(%s; %s | rename:{n:n2,x:x2,l:l2})", "012" },
    { "parse_example", "range:3 | batch:3 | map:{c:empty} | parse_example:{a:{kind:VarLen,"
      "dtype:int64}}", "3" },
    { "parse_sequence_example", "range:3 | batch:3 | map:{c:empty} | parse_sequence_example:"
      "context={a:{kind:VarLen,dtype:int64}}", "3" },
};

/* -- functions of batches */

/* The columns n and x as a program would make them that knows nothing of lengths. */
static levada_status batched_again(void *run, const levada_block *in, levada_block **out,
                                   levada_error *err)
{
    const levada_column *n = levada_block_column(in, "n"), *x = levada_block_column(in, "x");
    levada_field   fields[] = { { .name = "n", .dtype = LEVADA_INT64 }, *x->field };
    levada_spec   *spec = NULL;
    levada_builder *b = NULL;
    levada_status  st;

    (void)run;
    fields[1].padded = false;
    LEVADA_TRY(levada_spec_create(fields, 2, LEVADA_SPEC_PLAIN, &spec, err));
    st = levada_builder_create(NULL, spec, levada_block_rows(in), &b, err);
    levada_spec_unref(&spec);
    if (st != LEVADA_OK) return st;
    levada_builder_share(b, 0, n);
    if (x->field->depth > 0) {
        levada_builder_share(b, 1, x);
    } else {
        int64_t count = levada_block_rows(in) * levada_column_inner(x);
        void   *values = NULL;

        levada_builder_dims(b, 1, x->dims);
        st = levada_builder_values(b, 1, count, &values, err);
        if (st == LEVADA_OK && count) memcpy(values, x->values, (size_t)count * sizeof(int32_t));
    }
    if (st == LEVADA_OK) st = levada_builder_publish(&b, out, err);
    levada_builder_destroy(&b);
    return st;
}

/* One step of x less. */
static levada_status batched_shorter(void *run, const levada_block *in, levada_block **out,
                                     levada_error *err)
{
    const levada_column *x = levada_block_column(in, "x");
    levada_field         field = { .name = "x", .dtype = LEVADA_INT32, .ndim = 1, .dims = { -1 } };
    int64_t              dims[] = { x->dims[0] - 1 }, n = levada_block_rows(in);
    levada_spec         *spec = NULL;
    levada_builder      *b = NULL;
    void                *values = NULL;
    levada_status        st;

    (void)run;
    LEVADA_TRY(levada_spec_create(&field, 1, LEVADA_SPEC_PLAIN, &spec, err));
    st = levada_builder_create(NULL, spec, n, &b, err);
    levada_spec_unref(&spec);
    if (st != LEVADA_OK) return st;
    levada_builder_dims(b, 0, dims);
    st = levada_builder_values(b, 0, n * dims[0], &values, err);
    if (st == LEVADA_OK) memset(values, 0, (size_t)(n * dims[0]) * sizeof(int32_t));
    if (st == LEVADA_OK) st = levada_builder_publish(&b, out, err);
    levada_builder_destroy(&b);
    return st;
}

/* An empty message for each record. */
static levada_status batched_empty(void *run, const levada_block *in, levada_block **out,
                                   levada_error *err)
{
    levada_field    field = { .name = "record", .dtype = LEVADA_BYTES };
    levada_spec    *spec = NULL;
    levada_builder *b = NULL;
    levada_status   st;

    (void)run;
    LEVADA_TRY(levada_spec_create(&field, 1, LEVADA_SPEC_PLAIN, &spec, err));
    st = levada_builder_create(NULL, spec, -1, &b, err);
    levada_spec_unref(&spec);
    for (int64_t i = 0; st == LEVADA_OK && i < levada_block_rows(in); i++) {
        st = levada_builder_push_bytes(b, 0, "", 0, err);
    }
    if (st == LEVADA_OK) st = levada_builder_publish(&b, out, err);
    levada_builder_destroy(&b);
    return st;
}

typedef levada_status (*batched_call)(void *run, const levada_block *in, levada_block **out,
                                      levada_error *err);

static void batched_add(const char *name, batched_call call, bool per_record)
{
    levada_function_def def = { .struct_size = sizeof def, .kind = "c", .name = name,
                                .pure = true, .call = call, .per_record = per_record };
    levada_function    *function = NULL;

    assert_int_equal(levada_function_create(&def, NULL, &function, NULL), LEVADA_OK);
    assert_int_equal(levada_env_add_function(t_iter_env(), function, NULL), LEVADA_OK);
    levada_function_unref(&function);
}

static int batched_setup(void **state)
{
    (void)state;
    batched_add("again", batched_again, false);
    batched_add("shorter", batched_shorter, false);
    batched_add("record", batched_again, true);
    batched_add("empty", batched_empty, false);
    return 0;
}

/* -- what comes out */

/* A batch as bytes: its rows, numbers, and what is known of x. */
static t_bytes batched_bytes(const levada_block *block)
{
    const levada_column *n = levada_block_column(block, "n"), *x = levada_block_column(block, "x");
    t_bytes              to = { 0 };
    int64_t              rows = levada_block_rows(block), steps = x && x->lengths ? x->dims[0] : -1;

    t_add(&to, &rows, sizeof rows);
    t_add(&to, &steps, sizeof steps);
    for (int64_t r = 0; x && r < rows; r++) {
        int64_t length = levada_column_length(x, r);

        t_add(&to, &levada_column_i64(n)[r], sizeof(int64_t));
        t_add(&to, &length, sizeof length);
    }
    return to;
}

static int batched_read(const char *text, t_bytes *out)
{
    levada_iter  *it = t_iter_open(text, 2, 7);
    levada_block *block = NULL;
    levada_error  err = LEVADA_ERROR_INIT;
    levada_status st;
    int           n = 0;

    while ((st = levada_iter_next(it, &block, &err)) == LEVADA_OK) {
        assert_true(n < BATCHED_MOST);
        out[n++] = batched_bytes(block);
        levada_block_unref(&block);
    }
    if (st != LEVADA_END) print_error("%s: %s\n", text, err.message);
    assert_int_equal(st, LEVADA_END);
    levada_iter_close(&it);
    return n;
}

static void batched_clear(t_bytes *batches, int n)
{
    for (int i = 0; i < n; i++) t_clear(&batches[i]);
}

static bool batched_same(t_bytes a, t_bytes b)
{
    return a.size == b.size && memcmp(a.at, b.at, a.size) == 0;
}

/* Each of the base's batches comes as often as there are inputs. */
static void batched_expect_all(const char *text, const t_bytes *base, const t_bytes *got, int n)
{
    int found[3] = { 0 };

    for (int i = 0; i < n; i++) {
        for (int k = 0; k < 3; k++) found[k] += batched_same(got[i], base[k]);
    }
    for (int k = 0; k < 3; k++) {
        if (found[k] != 2) print_error("%s: batch %d came %d times\n", text, k, found[k]);
        assert_int_equal(found[k], 2);
    }
}

static void batched_expect(const batched_rule *rule, const char *text, const char *base_text)
{
    t_bytes base[BATCHED_MOST], got[BATCHED_MOST];
    int     nbase = batched_read(base_text, base), n = batched_read(text, got);

    assert_int_equal(nbase, 3);
    if (strcmp(rule->gives, "*") == 0) {
        batched_expect_all(text, base, got, n);
    } else if (strcmp(rule->gives, "3") == 0) {
        assert_int_equal(n, 1);
        assert_memory_equal(got[0].at, (&(int64_t){ 3 }), sizeof(int64_t));
    } else {
        if (n != (int)strlen(rule->gives)) print_error("%s: %d batches\n", text, n);
        assert_int_equal(n, strlen(rule->gives));
        for (int i = 0; i < n; i++) {
            bool same = batched_same(got[i], base[rule->gives[i] - '0']);

            if (!same) print_error("%s: batch %d differs\n", text, i);
            assert_true(same);
        }
    }
    batched_clear(base, nbase);
    batched_clear(got, n);
}

static void every_stage_keeps_batches_or_refuses_them(void **state)
{
    char text[600];

    (void)state;
    for (size_t r = 0; r < sizeof batched_rules / sizeof batched_rules[0]; r++) {
        const batched_rule *rule = &batched_rules[r];

        for (size_t i = 0; i < sizeof batched_bases / sizeof batched_bases[0]; i++) {
            const char *base = batched_bases[i], *hole = strstr(rule->text, "%s");
            size_t      used = 0;

            text[0] = '\0';
            for (const char *at = rule->text; at; at = hole ? hole + 2 : NULL) {
                hole = strstr(at, "%s");
                used += (size_t)snprintf(text + used, sizeof text - used, "%.*s%s",
                                         (int)(hole ? hole - at : (long)strlen(at)), at,
                                         hole ? base : "");
            }
            if (!rule->gives) {
                t_iter_refused(text, LEVADA_EINVALID_ARGUMENT, "unbatch()");
            } else if (rule->gives[0] == '\0') {
                t_bytes records = t_iter_all("t_rows:8,bare=true", false);
                t_bytes again = t_iter_all(text, false);

                t_bytes_equal(again, records, text);
                t_clear(&records);
                t_clear(&again);
            } else {
                batched_expect(rule, text, base);
            }
        }
    }
}

/* The example with `| batch:2` before its last stage. */
static bool batched_example(const levada_op *op, char *text, size_t size)
{
    const char *bar = op->example ? strrchr(op->example, '|') : NULL;

    if (!bar || (op->family != LEVADA_FAMILY_STAGE && op->family != LEVADA_FAMILY_DECODER)) {
        return false;
    }
    (void)snprintf(text, size, "%.*s| batch:2 %s", (int)(bar - op->example), op->example, bar);
    return true;
}

/* Refused at once, or read to the end in batches of at most two records, or in records. */
static void batched_run_example(const char *text)
{
    levada_dataset     *ds = NULL;
    levada_iter        *it = NULL;
    levada_block       *block = NULL;
    levada_error        err = LEVADA_ERROR_INIT;
    bool                batched = false;
    levada_status       st = levada_dataset_parse(t_iter_env(), text, &ds, &err);

    if (st == LEVADA_OK) {
        batched = levada_spec_flags_of(levada_dataset_spec(ds)) & LEVADA_SPEC_BATCHED;
        st = levada_iter_open(ds, NULL, &it, &err);
    }
    levada_dataset_unref(&ds);
    if (st == LEVADA_EINVALID_ARGUMENT) return;
    while (st == LEVADA_OK && (st = levada_iter_next(it, &block, &err)) == LEVADA_OK) {
        if (batched) assert_in_range(levada_block_rows(block), 1, 2);
        levada_block_unref(&block);
    }
    levada_iter_close(&it);
    if (st == LEVADA_EUNIMPLEMENTED) return; /* built without the library of the decoder */
    if (st != LEVADA_END) fail_msg("%s: %s", text, err.message);
}

static bool batched_has_line(const char *name)
{
    for (size_t r = 0; r < sizeof batched_rules / sizeof batched_rules[0]; r++) {
        if (strcmp(batched_rules[r].name, name) == 0) return true;
    }
    return false;
}

static void a_name_without_a_line_keeps_batches_or_refuses_them(void **state)
{
    const levada_op *op;
    char             text[600];

    (void)state;
    assert_int_equal(chdir(t_folder()), 0);
    for (int32_t i = 0; (op = levada_registry_at(NULL, i)); i++) {
        bool source = op->family == LEVADA_FAMILY_SOURCE || op->family == LEVADA_FAMILY_FORMAT;

        if (source || batched_has_line(op->name)) continue;
        if (!batched_example(op, text, sizeof text)) {
            fail_msg("%s: what does it do with batches?", op->name);
        }
        assert_int_equal(levada_conform_write_files(op->example_files, NULL), LEVADA_OK);
        batched_run_example(text);
    }
    batched_run_example("range:5 | batch:2 | take:2"); /* which tries this test */
    batched_run_example("range:5 | batch:2 | shuffle:2");
    assert_int_equal(chdir("/"), 0);
    t_folder_drop();
}

static void batches_are_saved_and_restored(void **state)
{
    (void)state;
    t_iter_sweep("t_rows:40,bare=true | padded_batch:3 | enumerate | map:{c:again}", true, 1);
    t_iter_sweep("t_rows:40,bare=true | padded_batch:3 | call:{c:again} | prefetch:2", true, 1);
    t_iter_sweep("mix(t_rows:40,bare=true | batch:3; t_rows:9,bare=true | batch:4):seed=3", true,
                 1);
    t_iter_sweep("mix(t_rows:20 | padded_batch:3; t_stream:9 | padded_batch:4):seed=3 | repeat:2",
                 true, 1);
}

static void functions_of_batches_say_lengths_or_keep_them(void **state)
{
    const char  *base = "t_rows:8,bare=true | padded_batch:3 | ";
    const char  *specs[] = { "map:{c:again},spec={n:int64,x:{dtype:int32,shape:[null]}}",
                             "call:{c:again},spec={n:int64,x:{dtype:int32,shape:[null]}}" };
    t_bytes      want[BATCHED_MOST], got[BATCHED_MOST];
    char         text[400];
    levada_iter *it;

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        int n = batched_read("t_rows:8,bare=true | padded_batch:3", want), m;

        (void)snprintf(text, sizeof text, "%s%s", base, specs[i]);
        m = batched_read(text, got);
        assert_int_equal(n, m);
        for (int k = 0; k < n; k++) assert_true(batched_same(want[k], got[k]));
        batched_clear(want, n);
        batched_clear(got, m);
        (void)snprintf(text, sizeof text, "%s%s | unbatch | select:[n,x]", base, specs[i]);
        want[0] = t_iter_all("t_rows:8,bare=true | select:[n,x]", false);
        got[0] = t_iter_all(text, false);
        t_bytes_equal(got[0], want[0], text);
        batched_clear(want, 1);
        batched_clear(got, 1);
    }
    it = t_iter_open("t_rows:8,bare=true | padded_batch:3 | map:{c:shorter}", 1, 7);
    t_iter_fails(it, LEVADA_EINVALID_ARGUMENT, "return it with its lengths");
    levada_iter_close(&it);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_without_a_line_keeps_batches_or_refuses_them),
        cmocka_unit_test(every_stage_keeps_batches_or_refuses_them),
        cmocka_unit_test(batches_are_saved_and_restored),
        cmocka_unit_test(functions_of_batches_say_lengths_or_keep_them),
    };

    return cmocka_run_group_tests(tests, batched_setup, NULL);
}
