/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory runs out at one allocation after the other while an iterator is opened, read, saved and
 * restored: that call says so, nothing leaks, and what failed can be done again.
 */
#include "conformance/fault.h"
#include "support/iters.h"

#include <levada/divide.h>
#include <levada/example.h>
#include <levada/inspect.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef struct trial {
    levada_env     *env;
    levada_dataset *dataset, *mixed;
    levada_iter    *it, *other;
    int32_t         threads;
    int             cut;    /* blocks before the save */
    bool            batches; /* where they begin is compared too */
    bool            failed;  /* a next(), for good */
    const char     *errors;  /* NULL = "skip" */
    const char     *mix;     /* of another mixture, which restores; NULL = the same */
    t_bytes         rows;
} trial;

static levada_status open_iter(const trial *t, const levada_dataset *dataset, levada_iter **out,
                               levada_error *err)
{
    levada_iter_options o = LEVADA_ITER_OPTIONS_INIT;

    o.seed = 11;
    o.threads = t->threads;
    o.block_rows = 7;
    o.errors = t->errors ? t->errors : "skip";
    return levada_iter_open(dataset, &o, out, err);
}

/* The states of a batch become the next ones. */
static void feed_back(levada_iter *it, const levada_block *batch)
{
    FAULT_AGAIN(levada_iter_feed(it, batch, err));
}

static void read_some(trial *t, levada_iter *it, int blocks)
{
    levada_error  err = LEVADA_ERROR_INIT;
    levada_status st = LEVADA_OK;

    for (int i = 0; i < blocks && st == LEVADA_OK && !t->failed; i++) {
        levada_block *block = NULL;

        st = levada_iter_next(it, &block, &err);
        if (st == LEVADA_OK) t_iter_add(&t->rows, block, t->batches);
        if (st == LEVADA_OK && levada_iter_feeds(it)) feed_back(it, block);
        levada_block_unref(&block);
    }
    if (st == LEVADA_OK || st == LEVADA_END) return;
    fault_expect_short(st, &err);
    t->failed = true;
}

static void look(levada_iter *it)
{
    char *json = NULL;

    FAULT_AGAIN(levada_iter_stats(it, &json, err));
    levada_string_free(&json);
    FAULT_AGAIN(levada_iter_explain(it, &json, err));
    levada_string_free(&json);
    FAULT_AGAIN(levada_iter_report(it, &json, err));
    levada_string_free(&json);
}

/* True = not refused. It is where a stage ran out of memory after it returned records first:
 * then a later call says so. */
static bool save(trial *t, char **bytes, size_t *size)
{
    levada_error  why = LEVADA_ERROR_INIT;
    levada_status st = levada_iter_save(t->it, bytes, size, &why);

    if (st == LEVADA_ERESOURCE_EXHAUSTED) st = levada_iter_save(t->it, bytes, size, &why);
    if (st == LEVADA_OK) return true;
    assert_int_equal(st, LEVADA_EFAILED_PRECONDITION);
    assert_non_null(strstr(why.message, "records may be lost"));
    assert_string_not_equal(why.stage, "");
    read_some(t, t->it, 100);
    assert_true(t->failed);
    return false;
}

static t_bytes run(trial *t, const char *text)
{
    char  *bytes = NULL;
    size_t size = 0;

    FAULT_AGAIN(levada_env_create(NULL, &t->env, err));
    FAULT_AGAIN(levada_dataset_parse(t->env, text, &t->dataset, err));
    if (t->mix) FAULT_AGAIN(levada_dataset_parse(t->env, t->mix, &t->mixed, err));
    FAULT_AGAIN(open_iter(t, t->dataset, &t->it, err));
    FAULT_AGAIN(open_iter(t, t->mix ? t->mixed : t->dataset, &t->other, err));
    read_some(t, t->it, t->cut);
    if (!t->failed && save(t, &bytes, &size)) {
        FAULT_AGAIN(t->mix ? levada_iter_restore_mix(t->other, bytes, size, err)
                           : levada_iter_restore(t->other, bytes, size, err));
        levada_string_free(&bytes);
        read_some(t, t->other, 100);
    }
    look(t->other);
    levada_iter_close(&t->it);
    levada_iter_close(&t->other);
    levada_dataset_unref(&t->dataset);
    levada_dataset_unref(&t->mixed);
    levada_env_destroy(&t->env);
    return t->rows;
}

/* In any order, of rows of one integer. */
static int number_order(const void *a, const void *b)
{
    return memcmp(a, b, 8);
}

/* What was read is what there is without a failure, or its beginning. */
static void compare(const trial *t, const t_bytes *want, const t_bytes *got, int64_t number)
{
    bool begins;

    if (t->mix && got->size > 0) {
        qsort(want->at, want->size / 8, 8, number_order);
        qsort(got->at, got->size / 8, 8, number_order);
    }
    begins = got->size == 0 || (got->size <= want->size &&
                                (t->mix && t->failed ? got->size % 8 == 0
                                                     : !memcmp(got->at, want->at, got->size)));

    if (begins && (t->failed || got->size == want->size)) return;
    fail_msg("allocation %lld, cut %d: other rows (%zu bytes of %zu)", (long long)number, t->cut,
             got->size, want->size);
}

static void sweep_as(const trial *how, const char *text, int64_t step)
{
    trial   first = *how;
    t_bytes want = run(&first, text);
    bool    reached = true;

    assert_false(first.failed);
    for (int64_t number = 0; reached; number += step) {
        trial   t = *how;
        int64_t before = fault_live();
        t_bytes got;

        fault_arm(number);
        got = run(&t, text);
        reached = fault_disarm() > number;
        fault_expect_live(before, number);
        compare(&t, &want, &got, number);
        t_clear(&got);
    }
    t_clear(&want);
}

static void sweep(const char *text, int32_t threads, int64_t step)
{
    const trial how = { .threads = threads, .cut = 3, .batches = true };

    sweep_as(&how, text, step);
}

/* Saved at several places; how many records come before a failure ends blocks elsewhere. */
static void sweep_cuts(const char *text, int32_t threads)
{
    for (int cut = 1; cut <= 7; cut += 2) {
        const trial how = { .threads = threads, .cut = cut };

        sweep_as(&how, text, 1);
    }
}

/* 60 Examples with x = i % 7 numbers; one that is none. */
static void write_examples(const char *path)
{
    levada_example *e = NULL;
    t_bytes         file = { 0 };

    assert_int_equal(levada_example_create(&e, NULL), LEVADA_OK);
    for (int64_t i = 0; i < 60; i++) {
        const int64_t  x[7] = { i, i, i, i, i, i, i };
        const uint8_t *data = NULL;
        size_t         size = 0;

        levada_example_reset(e);
        assert_int_equal(levada_example_add_i64(e, "x", x, i % 7, NULL), LEVADA_OK);
        assert_int_equal(levada_example_finish(e, &data, &size, NULL), LEVADA_OK);
        t_add_record(&file, i == 20 ? (const uint8_t *)"no" : data, i == 20 ? 2 : size);
    }
    t_write_file(path, file.at, file.size);
    t_clear(&file);
    levada_example_destroy(&e);
}

static void over_files(const char *before, const char *rest, int32_t threads, int64_t step)
{
    char text[1024];

    (void)t_folder();
    write_examples(t_path("a.tfrecord"));
    (void)snprintf(text, sizeof text,
                   "tfrecord:%s%s | parse_example:{x:{kind:VarLen,dtype:int64}}%s",
                   t_path("a.tfrecord"), before, rest);
    sweep(text, threads, step);
    t_folder_drop();
}

static void shuffle_parse_bucket(void **state)
{
    (void)state;
    over_files(" | shuffle:20",
               " | bucket_by_sequence_length:x,boundaries=[2,5],batch_sizes=4,"
               "pad_to_bucket_boundary=false,padding_values={x:-1}",
               1, 1);
}

/* Blocks of several files are joined to batches; one record of each file is skipped. */
static void files_to_whole_batches(void **state)
{
    const trial how = { .threads = 1, .cut = 1, .batches = true };
    char        text[1024];

    (void)state;
    (void)t_folder();
    for (int i = 0; i < 3; i++) write_examples(t_path(i ? i > 1 ? "c" : "b" : "a"));
    (void)snprintf(text, sizeof text,
                   "tfrecord:\"%s[abc]\" | parse_example:{y:{kind:FixedLen,shape:[2],"
                   "dtype:int64,default:[4,5]}} | batch:128",
                   t_path(""));
    sweep_as(&how, text, 1);
    t_folder_drop();
}

static void parse_shuffle_twice_batch(void **state)
{
    (void)state;
    over_files("", " | shuffle:20 | shuffle:9 | repeat:2 | padded_batch:5", 1, 3);
}

/* A record is skipped in a pipe; the file of those that wait is known by name. */
/* Batches with a layout, of a part that merges. */
static void shard_parse_bucket_to_boundaries(void **state)
{
    (void)state;
    over_files(" | shuffle:9 | shard:0,count=2,equal=drop",
               " | bucket_by_sequence_length:x,boundaries=[4,9],batch_sizes=4,"
               "pad_to_bucket_boundary=true",
               1, 3);
}

/* A group that is dealt to ranks, a copy that fills it, and the layouts of all ragged fields. */
static void buckets_of_ranks(void **state)
{
    (void)state;
    over_files("", " | bucket_by_sequence_length:x,boundaries=[2,5],max_tokens=4,too_long=alone,"
               "ranks=[1,3]", 1, 2);
    over_files("", " | bucket_by_sequence_length:x,lookahead=20,max_tokens=12,ranks=[1,3],"
               "no_padding=true", 1, 2);
}

/* The index with the lengths of these fields. */
static levada_status index_lengths(const char *path, const char *source, const char *fields,
                                   int64_t *records, levada_error *err)
{
    levada_index_options options = LEVADA_INDEX_OPTIONS_INIT;

    options.source = source;
    options.fields = fields;
    return levada_inspect_index(NULL, path, &options, records, err);
}

/* Messages, each with its length in front, from a list of words. */
static void write_indexed(const char *path, const char *const *words)
{
    t_bytes file = { 0 };

    for (; *words; words++) {
        const uint8_t size = (uint8_t)strlen(*words);

        t_add(&file, &size, 1);
        t_add(&file, *words, size);
    }
    t_write_file(path, file.at, file.size);
    t_clear(&file);
    assert_int_equal(index_lengths(path, "delimited", "record", NULL, NULL), LEVADA_OK);
}

static void sweep_own_records(const char *input)
{
    const trial how = { .threads = 1, .cut = 3, .batches = true, .errors = "fail" };
    char        text[1024], *shown = NULL;
    levada_dataset *ds = NULL;

    (void)snprintf(
        text, sizeof text,
        "%s | shuffle:4 | bucket_by_sequence_length:record,boundaries=[2,4],max_tokens=9,"
        "ranks=[1,2]",
        input);
    assert_int_equal(levada_dataset_parse(t_iter_env(), text, &ds, NULL), LEVADA_OK);
    assert_int_equal(levada_dataset_explain(ds, &shown, NULL), LEVADA_OK);
    assert_non_null(strstr(shown, "its own records"));
    levada_string_free(&shown);
    levada_dataset_unref(&ds);
    sweep_as(&how, text, 1);
}

/* By the lengths in the indexes: of one source, and of several that are mixed. */
static void own_records_of_ranks(void **state)
{
    static const char *const a[] = { "1", "22", "333", "4444", "5", "66", "777", "8888", NULL };
    static const char *const b[] = { "bbbb", "b", "bb", "bbbbb", "b", NULL };
    char                     input[512];

    (void)state;
    (void)t_folder();
    write_indexed(t_path("a"), a);
    write_indexed(t_path("b"), b);
    (void)snprintf(input, sizeof input, "delimited:%s,index=true", t_path("a"));
    sweep_own_records(input);
    (void)snprintf(input, sizeof input,
                   "mix(delimited:%s,index=true; delimited:%s,index=true)", t_path("a"),
                   t_path("b"));
    sweep_own_records(input);
    t_folder_drop();
}

/* A sequence without a step is skipped; of the others some are saved in their middle. */
static void segments(void **state)
{
    (void)state;
    over_files("", " | unroll:2,batch_size=3,zero_length=skip,burn_in=1", 1, 1);
    over_files(" | shuffle:9", " | unroll:2,batch_size=3,zero_length=skip,capacity=5,layout=ready,"
               "states={h:{dtype:float32,shape:[2]},c:int64}", 1, 1);
}

/* Context that stays ragged, and slots of two ranks. */
static void segments_with_ragged_context(void **state)
{
    static const char *const layouts[] = { "ranks=[1,2],padding_values={x:-1}",
                                           "layout=ready,states={h:int64}" };
    char text[512];

    (void)state;
    (void)t_folder();
    write_examples(t_path("a.tfrecord"));
    for (size_t i = 0; i < 2; i++) {
        (void)snprintf(text, sizeof text,
                       "tfrecord:%s | parse_example:{x:{kind:VarLen,dtype:int64},"
                       "y:{kind:VarLen,dtype:int64}} | "
                       "unroll:2,batch_size=2,sequences=x,zero_length=skip,%s",
                       t_path("a.tfrecord"), layouts[i]);
        sweep(text, 1, 1);
    }
    t_folder_drop();
}

/* The file stays open, neighbors are read together, and a record that is none is skipped. */
static void records_of_an_index(void **state)
{
    char text[1024];

    (void)state;
    (void)t_folder();
    write_examples(t_path("a.tfrecord"));
    assert_int_equal(levada_inspect_index(NULL, t_path("a.tfrecord"), NULL, NULL, NULL),
                     LEVADA_OK);
    (void)snprintf(text, sizeof text,
                   "tfrecord:%s,index=true,shuffle_records=true | "
                   "parse_example:{x:{kind:VarLen,dtype:int64}} | padded_batch:5",
                   t_path("a.tfrecord"));
    sweep(text, 1, 1);
    t_folder_drop();
}

/* Boundaries from the lengths of an index. */
static void lengths_of_an_index(void **state)
{
    static const char lines[] = "a\nbbb\ncc\ndddddd\ne\nffff\ngggggggg\nhh\nii\njjjjj\n";
    char              text[1024];

    (void)state;
    (void)t_folder();
    t_write_file(t_path("a.txt"), lines, sizeof lines - 1);
    assert_int_equal(index_lengths(t_path("a.txt"), NULL, "line", NULL, NULL),
                     LEVADA_OK);
    (void)snprintf(text, sizeof text,
                   "text_lines:%s,index=true | bucket_by_sequence_length:line,max_tokens=9,"
                   "num_buckets=3,no_padding=true",
                   t_path("a.txt"));
    sweep(text, 1, 1);
    t_folder_drop();
}

static void interleave_parse_shuffle(void **state)
{
    char text[1024];

    (void)state;
    (void)t_folder();
    write_examples(t_path("a.tfrecord"));
    (void)snprintf(text, sizeof text,
                   "files:[\"%s\",\"%s\"] | interleave:(tfrecord:\"{path}\" | "
                   "parse_example:{x:{kind:VarLen,dtype:int64}}),cycle_length=2 | shuffle:9 | "
                   "batch:5",
                   t_path("a.tfrecord"), t_path("a.tfrecord"));
    sweep(text, 1, 3);
    t_folder_drop();
}

/* A pipe returns selections, which are made flat where their turn comes. */
static void interleave_filter(void **state)
{
    (void)state;
    sweep("range:4 | interleave:(range:5 | filter:\"value > 0\"),cycle_length=2 | batch:3", 1, 1);
}

/* What waits is read again from both parts; a bad record is named with all of its own. */
static void zip_shuffle_parse(void **state)
{
    char text[1024];

    (void)state;
    (void)t_folder();
    write_examples(t_path("a.tfrecord"));
    (void)snprintf(text, sizeof text,
                   "zip(tfrecord:%s; range:70 | shuffle:5) | shuffle:20 | "
                   "parse_example:{x:{kind:VarLen,dtype:int64}},field=record | shuffle:6 | "
                   "padded_batch:5",
                   t_path("a.tfrecord"));
    sweep(text, 1, 3);
    t_folder_drop();
}

/* What waits is read again from the input that returned it. */
static void mix_shuffle_parse(void **state)
{
    char text[1024];

    (void)state;
    (void)t_folder();
    write_examples(t_path("a.tfrecord"));
    (void)snprintf(text, sizeof text,
                   "mix(tfrecord:%s; concat(tfrecord:%s | shuffle:5; tfrecord:%s)) | shuffle:20 | "
                   "parse_example:{x:{kind:VarLen,dtype:int64}},field=record | padded_batch:5",
                   t_path("a.tfrecord"), t_path("a.tfrecord"), t_path("a.tfrecord"));
    sweep(text, 1, 3);
    t_folder_drop();
}

/* A combiner returns what is before a failure first. A save there has all that is after it, or
 * is refused. */
static void a_save_in_front_of_a_failure(void **state)
{
    (void)state;
    sweep_cuts("mix(range:60 | shuffle:9; range:50,start=100 | shuffle:7)", 1);
    sweep_cuts("range:6 | interleave:(range:30 | shuffle:9),cycle_length=2,block_length=3", 1);
}

/* The mixture that restores has other weights, and one more input. How many records the old weights
 * have drawn depends on where blocks ended, so records are compared without their order. */
static void a_restore_with_another_mixture(void **state)
{
    (void)state;
    for (int cut = 1; cut <= 7; cut += 3) {
        const trial how = {
            .threads = 1,
            .cut = cut,
            .mix = "mix(range:30,start=200; range:60 | shuffle:9; range:50,start=100 | shuffle:7):"
                   "names=[c,a,b],weights=[2,1,3] | shuffle:5",
        };

        sweep_as(&how, "mix(range:60 | shuffle:9; range:50,start=100 | shuffle:7):names=[a,b] | "
                       "shuffle:5", 7);
    }
}

/* With workers another allocation has that number each time. */
static void with_workers(void **state)
{
    (void)state;
    over_files(" | prefetch:2 | shuffle:20",
               " | bucket_by_sequence_length:x,boundaries=[2,5],batch_sizes=4 | prefetch:2", 3, 5);
}

/* Memory is for blocks: records that mix draws from shuffled inputs cost none each. */
static void mix_allocates_for_blocks_only(void **state)
{
    levada_iter *it = t_iter_open("mix(range:20000 | shuffle:2000; range:20000,start=50000 | "
                                  "shuffle:2000):seed=3",
                                  1, 256);
    t_bytes      rows = { 0 };
    int64_t      first = t_iter_read(it, 10, false, &rows), pieces;

    (void)state;
    fault_arm(INT64_MAX);
    for (int i = 0; i < 100; i++) {
        levada_block *block = NULL;

        assert_int_equal(levada_iter_next(it, &block, NULL), LEVADA_OK);
        levada_block_unref(&block);
    }
    pieces = fault_disarm();
    if (pieces >= 100 * 64) print_error("%lld allocations\n", (long long)pieces);
    assert_int_equal(first, 10);
    assert_true(pieces < 100 * 64); /* blocks of 256 records */
    t_clear(&rows);
    levada_iter_close(&it);
}

/* Each allocation of a division fails once; nothing is left over. */
static void divide_short_of_memory(const char *text, const char *equal, levada_divide by)
{
    levada_divide_options o = LEVADA_DIVIDE_OPTIONS_INIT;
    levada_dataset       *ds = NULL;
    bool                  reached = false;

    o.index = 1;
    o.count = 2;
    o.equal = equal;
    o.by = by;
    o.seeded = true;
    assert_int_equal(levada_dataset_parse(t_iter_env(), text, &ds, NULL), LEVADA_OK);
    for (int64_t number = 0; !reached; number++) {
        levada_error    err = LEVADA_ERROR_INIT;
        levada_dataset *part = NULL;
        int64_t         before = fault_live();
        levada_status   st;

        fault_arm(number);
        st = levada_dataset_divide(ds, &o, &part, &err);
        reached = fault_disarm() <= number;
        if (reached) assert_int_equal(st, LEVADA_OK);
        else if (st != LEVADA_OK) fault_expect_short(st, &err);
        levada_dataset_unref(&part);
        fault_expect_live(before, number);
    }
    levada_dataset_unref(&ds);
}

static void parts_of_datasets(void **state)
{
    static const char *const texts[] = {
        "range:20 | shuffle:4 | select:[value] | batch:3 | prefetch:2",
        "zip(range:9; range:9 | rename:{value:x} | shuffle:3) | take:4",
        "concat(range:9; range:5 | shuffle:2) | repeat:2",
        "files:a | interleave:(text_lines:\"{path}\" | take:3),cycle_length=2 | batch:2",
        "text_lines:a | decode_raw:uint8,field=line | unroll:4,batch_size=2 | prefetch:2",
    };

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        divide_short_of_memory(texts[i], NULL, LEVADA_DIVIDE_RECORDS);
        divide_short_of_memory(texts[i], NULL, LEVADA_DIVIDE_FILES);
        divide_short_of_memory(texts[i], "pad", LEVADA_DIVIDE_RECORDS);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shuffle_parse_bucket),
        cmocka_unit_test(files_to_whole_batches),
        cmocka_unit_test(parse_shuffle_twice_batch),
        cmocka_unit_test(shard_parse_bucket_to_boundaries),
        cmocka_unit_test(buckets_of_ranks),
        cmocka_unit_test(own_records_of_ranks),
        cmocka_unit_test(segments),
        cmocka_unit_test(segments_with_ragged_context),
        cmocka_unit_test(records_of_an_index),
        cmocka_unit_test(lengths_of_an_index),
        cmocka_unit_test(interleave_parse_shuffle),
        cmocka_unit_test(interleave_filter),
        cmocka_unit_test(zip_shuffle_parse),
        cmocka_unit_test(mix_shuffle_parse),
        cmocka_unit_test(mix_allocates_for_blocks_only),
        cmocka_unit_test(a_save_in_front_of_a_failure),
        cmocka_unit_test(a_restore_with_another_mixture),
        cmocka_unit_test(with_workers),
        cmocka_unit_test(parts_of_datasets),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
