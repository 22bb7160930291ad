/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Columns that stay encoded until a batch is made (tensor/encoded.h): every stage and combiner
 * returns the same records, errors and states whichever columns of which blocks stay encoded.
 */
#include "registry/registry.h"
#include "run/iter.h"
#include "run/plan.h"
#include "run/workers.h"
#include "support/functions.h"
#include "support/iters.h"
#include "support/late_files.h"
#include "tensor/encoded.h"
#include <levada/binding.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define TEXT 1600

#define SPEC                                                                                     \
    "{value:{kind:FixedLen,shape:[],dtype:int64},tokens:{kind:VarLen,dtype:int64},"              \
    "ids:{kind:VarLen,dtype:int32},small:{kind:VarLen,dtype:int16},"                             \
    "loose:{kind:VarLen,dtype:int64},real:{kind:VarLen,dtype:float32},"                          \
    "feat:{kind:FixedLen,shape:[3,4],dtype:float32},"                                            \
    "vec:{kind:FixedLen,shape:[9],dtype:int64,default:[1,2,3,4,5,6,-7,8,9]},"                    \
    "rows:{kind:FixedLenSequence,shape:[2],dtype:int64,allow_missing:true},"                     \
    "parts:{kind:Ragged,dtype:int64,key:tokens,partitions:[{type:UniformRowLength,"              \
    "length:1}]},name:{kind:FixedLen,shape:[],dtype:bytes}}"
#define LISTS                                                                                    \
    "{frames:{kind:FixedLenSequence,shape:[16],dtype:float32},"                                  \
    "pairs:{kind:FixedLenSequence,shape:[2],dtype:int64},words:{kind:VarLen,dtype:int64},"       \
    "times:{kind:FixedLenSequence,shape:[],dtype:int64}}"
#define STEPS                                                                                    \
    "tfrecord:steps.tfrecord | parse_sequence_example:{wide:{kind:FixedLenSequence,shape:[40],"  \
    "dtype:float32}},context={value:{kind:FixedLen,shape:[],dtype:int64}}"
#define EXAMPLES  "tfrecord:good.tfrecord | parse_example:" SPEC
#define SEQUENCES "tfrecord:good.tfrecord | parse_sequence_example:" LISTS ",context=" SPEC

static const levada_late_decode late_modes[] = { LEVADA_LATE_DECODE_ALWAYS,
                                                 LEVADA_LATE_DECODE_RANDOM,
                                                 LEVADA_LATE_DECODE_AUTO };

static void late(levada_late_decode how) { levada_env_set_late_decode(t_iter_env(), how); }

/* -- files */

/* `text` with the folder before the names of files. */
static const char *late_text(const char *text)
{
    static char all[TEXT * 2];
    size_t      used = 0;

    for (const char *at = text; *at;) {
        const char *file = strstr(at, "tfrecord:"), *name = file ? file + 9 : at + strlen(at);

        used += (size_t)snprintf(all + used, sizeof all - used, "%.*s%s", (int)(name - at), at,
                                 file ? t_path("") : "");
        at = name;
    }
    all[used] = '\0';
    return all;
}

/* -- what stays encoded */

/* The first block that the decoder of `text` makes. */
static levada_block *late_block(const char *text)
{
    levada_iter  *it = t_iter_open(late_text(text), 1, 16);
    levada_node  *node = it->root;
    levada_item   item = { 0 };

    while (node->ninputs && !(levada_spec_find(node->edge.spec, "value") >= 0 &&
                              levada_node_is_fused(node) && !node->inputs[0]->ninputs)) {
        node = node->inputs[0];
    }
    assert_int_equal(levada_node_next(node, LEVADA_HINT_ANY, &item, NULL), LEVADA_OK);
    levada_rejects_clear(&item.rejects);
    levada_iter_close(&it);
    return item.block;
}

/* The names of its encoded columns, each with a space after it. Of a selection: of its first block.
 */
static const char *late_names(const levada_block *block)
{
    static char names[200];

    names[0] = '\0';
    if (block->kind == LEVADA_BLOCK_SELECTION) block = block->from[0];
    for (int32_t i = 0; i < levada_spec_count(block->spec); i++) {
        const levada_column *c = &block->columns[i];

        assert_int_equal(c->values == NULL, c->encoded != NULL);
        if (!c->encoded) continue;
        (void)strncat(names, c->field->name, sizeof names - strlen(names) - 1);
        (void)strncat(names, " ", sizeof names - strlen(names) - 1);
    }
    assert_int_equal(block->encoded, names[0] != '\0');
    return names;
}

static void late_encoded(levada_late_decode how, const char *text, const char *names)
{
    levada_block *block;

    late(how);
    block = late_block(text);
    assert_string_equal(late_names(block), names);
    levada_block_unref(&block);
    late(LEVADA_LATE_DECODE_AUTO);
}

#define NAMES       "tokens loose real feat rows parts "
#define LIST_NAMES  "frames pairs words times "

static void stay_encoded_as_asked_for(void **state)
{
    (void)state;
    late_encoded(LEVADA_LATE_DECODE_ALWAYS, EXAMPLES " | batch:4", NAMES);
    late_encoded(LEVADA_LATE_DECODE_ALWAYS, SEQUENCES " | batch:4", NAMES LIST_NAMES);
    late_encoded(LEVADA_LATE_DECODE_NEVER, EXAMPLES " | batch:4", "");
    late_encoded(LEVADA_LATE_DECODE_AUTO, EXAMPLES " | batch:4", "tokens loose parts ");
    late_encoded(LEVADA_LATE_DECODE_AUTO,
                 EXAMPLES " | filter:\"len(ids) > 2\" | take:30 | rename:{value:v} | batch:4",
                 "tokens loose parts ");
    late_encoded(LEVADA_LATE_DECODE_AUTO, EXAMPLES " | map:{c:twice} | batch:4", "");
    late_encoded(LEVADA_LATE_DECODE_AUTO, EXAMPLES " | take:30", "");
    late_encoded(LEVADA_LATE_DECODE_AUTO, EXAMPLES, "");
}

static void steps_of_one_size_are_one_item(void **state)
{
    levada_block        *block = late_block(STEPS " | batch:4");
    const levada_column *c = levada_block_column(block, "wide");

    (void)state;
    assert_string_equal(late_names(block), "wide ");
    assert_int_equal(c->encoded->level, 0);
    assert_int_equal(c->encoded->gap, 9); /* three tags, three sizes of two bytes */
    assert_int_equal(levada_column_items(c, 0)->size, 0);
    assert_int_equal(levada_column_items(c, 5)->count, 200);
    levada_block_unref(&block);
}

/* Rows of a block, some of them twice, compacted, and a part of what that returns: as bytes. */
static t_bytes late_compacted(levada_late_decode how, const char *names)
{
    static const int32_t rows[] = { 5, 6, 7, 2, 2, 0, 15, 9, 10 };
    levada_pool         *pool = levada_env_pool(t_iter_env());
    levada_block        *block, *some = NULL, *small = NULL, *part = NULL, *flat = NULL;
    t_bytes              bytes = { 0 };

    late(how);
    block = late_block(SEQUENCES " | batch:4");
    late(LEVADA_LATE_DECODE_AUTO);
    assert_int_equal(levada_block_select(block, rows, 9, &some, NULL), LEVADA_OK);
    assert_int_equal(levada_block_compact(pool, some, &small, NULL), LEVADA_OK);
    assert_string_equal(late_names(small), names);
    levada_block_unref(&block);
    assert_int_equal(levada_block_slice(pool, small, 2, 6, &part, NULL), LEVADA_OK);
    levada_block_unref(&small);
    assert_int_equal(levada_block_decoded(pool, part, &flat, NULL), LEVADA_OK);
    t_iter_add(&bytes, flat, false);
    levada_block_unref(&part);
    levada_block_unref(&some);
    levada_block_unref(&flat);
    return bytes;
}

static void compacting_keeps_columns_encoded(void **state)
{
    t_bytes a = late_compacted(LEVADA_LATE_DECODE_ALWAYS, NAMES LIST_NAMES);
    t_bytes b = late_compacted(LEVADA_LATE_DECODE_NEVER, "");

    (void)state;
    t_bytes_equal(a, b, "compacted");
    t_clear(&a);
    t_clear(&b);
}

/* -- the same records */

static void late_expect_same(const char *pipe, bool batches)
{
    char    text[TEXT * 2];
    t_bytes want;

    (void)snprintf(text, sizeof text, "%s", late_text(pipe));
    late(LEVADA_LATE_DECODE_NEVER);
    want = t_iter_all(text, batches);
    assert_true(want.size > 0);
    for (size_t m = 0; m < sizeof late_modes / sizeof late_modes[0]; m++) {
        t_bytes got;

        late(late_modes[m]);
        got = t_iter_all(text, batches);
        t_bytes_equal(got, want, text);
        t_clear(&got);
    }
    late(LEVADA_LATE_DECODE_RANDOM);
    t_iter_sweep(text, batches, 3);
    late(LEVADA_LATE_DECODE_AUTO);
    t_clear(&want);
}

/* Examples with columns of their own do not fit the files here: see the lists below. */
static bool late_fits(const char *pipe)
{
    levada_dataset *dataset = NULL;
    levada_status   st = levada_dataset_parse(t_iter_env(), late_text(pipe), &dataset, NULL);

    levada_dataset_unref(&dataset);
    return st == LEVADA_OK;
}

static void every_stage_gives_the_same_records(void **state)
{
    const levada_op *op;
    int              n = 0;

    (void)state;
    for (int32_t i = 0; (op = levada_registry_at(t_iter_env(), i)); i++) {
        const char *bar = op->example ? strchr(op->example, '|') : NULL;
        char        pipe[TEXT];

        if (op->family != LEVADA_FAMILY_STAGE || !bar || op->plugin) continue;
        (void)snprintf(pipe, sizeof pipe, EXAMPLES " %s", bar);
        if (!late_fits(pipe)) continue;
        late_expect_same(pipe, op->traits.rows == LEVADA_ROWS_BATCHES);
        /* A cache refuses to keep one random order. */
        (void)snprintf(pipe, sizeof pipe, SEQUENCES " %s %s",
                       strstr(bar, "cache") ? "" : "| shuffle:9", bar);
        late_expect_same(pipe, op->traits.rows == LEVADA_ROWS_BATCHES);
        n++;
    }
    assert_true(n > 15);
}

static void combiners_give_the_same_records(void **state)
{
    static const char *const pipes[] = {
        "concat(" EXAMPLES "; " EXAMPLES ") | batch:3",
        "mix(" EXAMPLES "; " EXAMPLES "):weights=[2,1],seed=3 | padded_batch:4",
        "zip(" EXAMPLES "; range:30 | rename:{value:x}) | shuffle:5 | batch:4",
        "range:2 | interleave:(" EXAMPLES "),cycle_length=2 | padded_batch:3",
    };

    (void)state;
    for (size_t i = 0; i < sizeof pipes / sizeof pipes[0]; i++) late_expect_same(pipes[i], true);
}

static void batches_are_the_same(void **state)
{
    static const char *const pipes[] = {
        EXAMPLES " | padded_batch:7",
        EXAMPLES " | shuffle:11 | padded_batch:5,padded_shapes={tokens:[50],feat:[5,6],vec:[9]},"
                 "padding_values={tokens:-3,real:0.5}",
        EXAMPLES " | shuffle:11,seed=3 | bucket_by_sequence_length:tokens,boundaries=[8,16,30],"
                 "batch_sizes=4",
        EXAMPLES " | bucket_by_sequence_length:ids,boundaries=[8,16],batch_sizes=4,no_padding=true",
        EXAMPLES " | skip:3 | take:20 | select:[tokens,feat,name] | batch:6",
        EXAMPLES " | batch:4 | unbatch | padded_batch:3",
        EXAMPLES " | select:[tokens] | pack:60,fields=tokens | padded_batch:3",
        EXAMPLES " | pack:60,fields=tokens,ids=true,open_bins=3 | batch:2",
        EXAMPLES " | shuffle:7 | select:[tokens,name] | pack:7,fields=tokens,too_long=split"
                 " | batch:2",
        EXAMPLES " | select:[tokens,ids] | pack:5,fields=ids,too_long=truncate | batch:2",
        EXAMPLES " | select:[tokens,name] | pack:9,fields=tokens,split=true | padded_batch:3",
        SEQUENCES " | padded_batch:6",
        SEQUENCES " | padded_batch:6,padding_side=left",
        EXAMPLES " | shuffle:9 | padded_batch:7,padding_side=left,pad_to_multiple=8",
        STEPS " | padded_batch:5,padding_side=left",
        SEQUENCES " | shuffle:9 | padded_batch:4,padded_shapes={frames:[4,20],words:[4,20]}",
        SEQUENCES " | bucket_by_sequence_length:frames,boundaries=[2,3],batch_sizes=4",
        SEQUENCES " | batch:5 | cast:feat,dtype=float16",
        STEPS " | padded_batch:5",
        STEPS " | shuffle:9 | padded_batch:5,padded_shapes={wide:[9,50]}",
        STEPS " | batch:5 | unbatch | padded_batch:3,padding_side=left",
        STEPS " | skip:3 | bucket_by_sequence_length:wide,boundaries=[3,6],batch_sizes=4",
        EXAMPLES " | cast:ids,dtype=int64 | shuffle:9,seed=2 | padded_batch:5",
        EXAMPLES " | cast:rows,dtype=int32 | padded_batch:5,padded_shapes={rows:[9,3]}",
        EXAMPLES " | cast:ids,dtype=int64 | cast:tokens,dtype=float64 | padded_batch:5",
        EXAMPLES " | cast:loose,dtype=int16 | cast:rows,dtype=int32 | padded_batch:5",
        SEQUENCES " | cast:frames,dtype=float64 | cast:words,dtype=float32 | padded_batch:5",
        EXAMPLES " | shuffle:7,seed=1 | cast:rows,dtype=int32 | shard:1,count=3 | padded_batch:4",
        EXAMPLES " | shard:1,count=3,equal=pad | padded_batch:4",
        EXAMPLES " | skip:3 | cast:rows,dtype=int32 | cast:vec,dtype=float64 | padded_batch:4",
        EXAMPLES " | skip:5 | take:11 | cast:ids,dtype=int64 | padded_batch:4",
        EXAMPLES " | filter:\"len(ids) > 4\" | cast:rows,dtype=int32 | padded_batch:4",
    };

    (void)state;
    for (size_t i = 0; i < sizeof pipes / sizeof pipes[0]; i++) late_expect_same(pipes[i], true);
}

/* -- the same states */

/* Saves after each block in one mode and continues from there in another one. */
static void late_cross(const char *text, levada_late_decode before, levada_late_decode after)
{
    t_bytes want = { 0 };
    int64_t blocks;

    late(LEVADA_LATE_DECODE_NEVER);
    want = t_iter_all(text, false);
    for (blocks = 0;; blocks++) {
        levada_iter *it, *again;
        t_bytes      got = { 0 }, state;
        int64_t      read;

        late(before);
        it = t_iter_open(text, 1, 7);
        read = t_iter_read(it, blocks, false, &got);
        state = t_iter_save(it);
        levada_iter_close(&it);
        late(after);
        again = t_iter_open(text, 1, 16);
        t_iter_restore(again, state);
        (void)t_iter_read(again, -1, false, &got);
        levada_iter_close(&again);
        t_bytes_equal(got, want, text);
        t_clear(&got);
        t_clear(&state);
        if (read < blocks) break;
    }
    assert_true(blocks > 2);
    t_clear(&want);
}

/* The state itself does not tell the modes apart. */
static void late_states_equal(const char *text)
{
    t_bytes states[2];

    for (int i = 0; i < 2; i++) {
        levada_iter *it;
        t_bytes      rows = { 0 };

        late(i ? LEVADA_LATE_DECODE_ALWAYS : LEVADA_LATE_DECODE_NEVER);
        it = t_iter_open(text, 1, 7);
        (void)t_iter_read(it, 2, false, &rows);
        states[i] = t_iter_save(it);
        levada_iter_close(&it);
        t_clear(&rows);
    }
    t_bytes_equal(states[1], states[0], text);
    t_clear(&states[0]);
    t_clear(&states[1]);
}

static void states_cross_modes(void **state)
{
    static const char *const pipes[] = {
        EXAMPLES " | shuffle:12 | batch:4",
        EXAMPLES " | bucket_by_sequence_length:tokens,boundaries=[8,16,30],batch_sizes=3",
        SEQUENCES " | shuffle:6 | padded_batch:5",
        STEPS " | shuffle:6 | padded_batch:5",
        "mix(" EXAMPLES " | take:9; " EXAMPLES "):seed=3 | shuffle:4 | padded_batch:4",
        EXAMPLES " | shard:1,count=3,equal=drop | padded_batch:2",
        EXAMPLES " | shard:2,count=3,equal=pad | padded_batch:2",
        EXAMPLES " | cast:rows,dtype=int32 | shard:0,count=2 | shuffle:4 | padded_batch:2",
    };

    (void)state;
    for (size_t i = 0; i < sizeof pipes / sizeof pipes[0]; i++) {
        char text[TEXT * 2];

        (void)snprintf(text, sizeof text, "%s", late_text(pipes[i]));
        late_cross(text, LEVADA_LATE_DECODE_ALWAYS, LEVADA_LATE_DECODE_NEVER);
        late_cross(text, LEVADA_LATE_DECODE_NEVER, LEVADA_LATE_DECODE_ALWAYS);
        late_cross(text, LEVADA_LATE_DECODE_RANDOM, LEVADA_LATE_DECODE_RANDOM);
        late_states_equal(text);
    }
    late(LEVADA_LATE_DECODE_AUTO);
}

/* -- the same errors */

/* The errors of all bad records, and the good ones. */
static t_bytes late_skips(const char *text, int32_t block_rows)
{
    levada_iter *it = t_iter_open_policy(text, "skip", 1, block_rows);
    t_bytes      all = { 0 };
    char        *json = NULL, *skips;

    (void)t_iter_read(it, -1, false, &all);
    assert_int_equal(levada_iter_stats(it, &json, NULL), LEVADA_OK);
    skips = strstr(json, "\"skipped_records\"");
    assert_non_null(skips);
    t_add(&all, skips, strcspn(skips, ","));
    skips = strstr(json, "\"problems\"");
    assert_non_null(skips);
    t_add(&all, skips, strlen(skips));
    levada_string_free(&json);
    levada_iter_close(&it);
    return all;
}

static void bad_records_are_the_same(void **state)
{
    static const char *const pipes[] = {
        "tfrecord:bad.tfrecord | parse_example:{value:{kind:FixedLen,shape:[],dtype:int64},"
        "tokens:{kind:VarLen,dtype:int64},ids:{kind:VarLen,dtype:int32},"
        "vec:{kind:FixedLen,shape:[9],dtype:int64}} | shuffle:5 | batch:4",
        "tfrecord:bad.tfrecord | shuffle:5 | parse_example:{tokens:{kind:VarLen,dtype:int64},"
        "vec:{kind:FixedLen,shape:[9],dtype:int64},value:{kind:FixedLen,shape:[],dtype:int64}}"
        " | padded_batch:4",
        "tfrecord:bad.tfrecord | parse_example:{ids:{kind:VarLen,dtype:int32}} | batch:4",
        "tfrecord:bad.tfrecord | parse_example:{tokens:{kind:VarLen,dtype:int64},"
        "vec:{kind:FixedLen,shape:[9],dtype:int64}} | cast:tokens,dtype=int32"
        " | cast:vec,dtype=uint64 | shuffle:5 | padded_batch:4",
        "tfrecord:bad.tfrecord | parse_sequence_example:{frames:{kind:FixedLenSequence,shape:[16],"
        "dtype:float32},times:{kind:FixedLenSequence,shape:[],dtype:int32}},"
        "context={value:{kind:FixedLen,shape:[],dtype:int64}} | padded_batch:4",
    };

    (void)state;
    for (size_t i = 0; i < sizeof pipes / sizeof pipes[0]; i++) {
        static const int32_t rows[] = { 1, 7, 256 };
        char                 text[TEXT * 2];

        (void)snprintf(text, sizeof text, "%s", late_text(pipes[i]));
        for (size_t m = 0; m < sizeof late_modes / sizeof late_modes[0]; m++) {
            t_bytes      want, got;
            levada_error why[2] = { LEVADA_ERROR_INIT, LEVADA_ERROR_INIT };

            late(LEVADA_LATE_DECODE_NEVER);
            want = late_skips(text, rows[m]);
            for (int k = 0; k < 2; k++) {
                levada_iter *it;
                t_outcome    o = { .why = LEVADA_ERROR_INIT };

                late(k ? late_modes[m] : LEVADA_LATE_DECODE_NEVER);
                it = t_iter_open(text, 1, rows[m]);
                assert_int_equal(t_iter_read_rest(it, &o), LEVADA_EINVALID_ARGUMENT);
                why[k] = o.why;
                levada_iter_close(&it);
            }
            assert_memory_equal(&why[1], &why[0], sizeof why[0]);
            got = late_skips(text, rows[m]);
            t_bytes_equal(got, want, text);
            t_clear(&want);
            t_clear(&got);
        }
    }
    late(LEVADA_LATE_DECODE_AUTO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stay_encoded_as_asked_for),
        cmocka_unit_test(steps_of_one_size_are_one_item),
        cmocka_unit_test(compacting_keeps_columns_encoded),
        cmocka_unit_test(every_stage_gives_the_same_records),
        cmocka_unit_test(combiners_give_the_same_records),
        cmocka_unit_test(batches_are_the_same),
        cmocka_unit_test(states_cross_modes),
        cmocka_unit_test(bad_records_are_the_same),
    };

    return cmocka_run_group_tests(tests, t_late_set_up, t_folder_tear_down);
}
