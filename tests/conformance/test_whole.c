/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks that are batches: fused stages between a file and a batching stage pull as many records as
 * a batch has, and its columns are passed on. Batches, origins, skip counts, errors and states are
 * those of batches that are copied: a stage `take` before the batching stage has the effect that
 * blocks end where the file's do.
 */
#include "run/iter.h"
#include "run/plan.h"
#include "support/functions.h"
#include "support/iters.h"
#include <levada/example.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define TEXT   2000
#define COPIED "| take:1000000 "
#define PARSE                                                                                  \
    "| parse_example:{value:{kind:FixedLen,shape:[],dtype:int64},"                             \
    "small:{kind:FixedLen,shape:[],dtype:int16},vec:{kind:FixedLen,shape:[9],dtype:int64},"    \
    "feat:{kind:FixedLen,shape:[4,32],dtype:float32},name:{kind:FixedLen,shape:[],dtype:bytes}}"

/* -- files */

/* Of about 700 bytes: a chunk of a file holds 320 of them. A bad one lacks a number of `vec`. */
static void whole_add(t_bytes *to, levada_example *e, int64_t i, bool bad)
{
    int64_t        vec[9];
    float          feat[128];
    const void    *name = "some letters";
    size_t         name_size = (size_t)(i % 12), size = 0;
    const uint8_t *data = NULL;

    for (int64_t k = 0; k < 9; k++) vec[k] = i * k * 1000;
    for (int64_t k = 0; k < 128; k++) feat[k] = (float)(i + k) / 8;
    levada_example_reset(e);
    assert_int_equal(levada_example_add_i64(e, "value", &i, 1, NULL), LEVADA_OK);
    assert_int_equal(levada_example_add_i64(e, "small", &(int64_t){ i % 100 }, 1, NULL),
                     LEVADA_OK);
    assert_int_equal(levada_example_add_i64(e, "vec", vec, bad ? 8 : 9, NULL), LEVADA_OK);
    assert_int_equal(levada_example_add_f32(e, "feat", feat, 128, NULL), LEVADA_OK);
    assert_int_equal(levada_example_add_bytes(e, "name", &name, &name_size, 1, NULL), LEVADA_OK);
    assert_int_equal(levada_example_finish(e, &data, &size, NULL), LEVADA_OK);
    t_add_record(to, data, size);
}

/* `bad`: one of that number, 0 = none; `damage`: the offset of a byte that is changed, 0 = none. */
static void whole_file(const char *name, int64_t records, int64_t bad, size_t damage)
{
    levada_example *e = NULL;
    t_bytes         all = { 0 };

    assert_int_equal(levada_example_create(&e, NULL), LEVADA_OK);
    t_add(&all, NULL, 0);
    for (int64_t i = 0; i < records; i++) whole_add(&all, e, i, bad && i % bad == bad / 2);
    if (damage) all.at[damage] ^= 1;
    t_write_file(t_path(name), all.at, all.size);
    t_clear(&all);
    levada_example_destroy(&e);
}

static int whole_set_up(void **state)
{
    if (t_functions_set_up(state) != 0) return -1;
    whole_file("good_0.tfrecord", 700, 0, 0);
    whole_file("good_1.tfrecord", 0, 0, 0);
    whole_file("good_2.tfrecord", 431, 0, 0);
    whole_file("one.tfrecord", 900, 1000, 0); /* number 500 is bad */
    whole_file("many_0.tfrecord", 500, 13, 0);
    whole_file("many_1.tfrecord", 777, 90, 0);
    whole_file("damaged_0.tfrecord", 900, 0, 150000);
    whole_file("damaged_1.tfrecord", 300, 40, 60000);
    return 0;
}

/* -- reading */

static void whole_origins(t_bytes *to, const levada_block *block)
{
    for (int64_t i = 0; i < levada_block_rows(block); i++) {
        levada_origin o = levada_block_origin(block, i);

        t_add(to, &o, sizeof o);
    }
}

/* At most `batches` of them (-1 = all), with the origins of their rows. Returns how many. */
static int64_t whole_read(levada_iter *it, int64_t batches, t_bytes *to)
{
    int64_t n = 0;

    t_add(to, NULL, 0);
    for (; n != batches; n++) {
        levada_block *block = NULL;
        levada_error  err = LEVADA_ERROR_INIT;
        levada_status st = levada_iter_next(it, &block, &err);

        if (st == LEVADA_END) break;
        if (st != LEVADA_OK) fail_msg("%s", err.message);
        t_iter_add(to, block, true);
        whole_origins(to, block);
        levada_block_unref(&block);
    }
    return n;
}

/* What was skipped so far and why. */
static void whole_skips(levada_iter *it, t_bytes *to)
{
    char       *json = NULL;
    const char *skips;

    assert_int_equal(levada_iter_stats(it, &json, NULL), LEVADA_OK);
    skips = strstr(json, "\"skipped_records\"");
    assert_non_null(skips);
    t_add(to, skips, strcspn(skips, ","));
    skips = strstr(json, "\"problems\"");
    assert_non_null(skips);
    t_add(to, skips, strlen(skips));
    levada_string_free(&json);
}

static t_bytes whole_all(const char *text, int32_t threads, int32_t block_rows)
{
    levada_iter *it = t_iter_open_policy(text, "skip", threads, block_rows);
    t_bytes      all = { 0 };

    (void)whole_read(it, -1, &all);
    whole_skips(it, &all);
    levada_iter_close(&it);
    return all;
}

/* Saves after each batch and continues in another iterator. */
static void whole_cuts(const char *text, t_bytes want, int32_t threads, int32_t others)
{
    int64_t cut = 0, read;

    do {
        levada_iter *it = t_iter_open_policy(text, "skip", threads, 256);
        t_bytes      got = { 0 }, state;

        read = whole_read(it, cut, &got);
        state = t_iter_save(it);
        levada_iter_close(&it);
        it = t_iter_open_policy(text, "skip", others, 100);
        t_iter_restore(it, state);
        (void)whole_read(it, -1, &got);
        whole_skips(it, &got);
        levada_iter_close(&it);
        t_bytes_equal(got, want, text);
        t_clear(&got);
        t_clear(&state);
    } while (read == cut++);
    assert_true(cut > 2);
}

/* -- the tests */

/* A number below n. */
static int whole_draw(uint64_t *seed, int n)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (int)((*seed >> 33) % (uint64_t)n);
}

/* A random pipeline; `mid` before its batching stage. */
static void whole_text(char *text, uint64_t seed, const char *mid)
{
    static const char *const files[] = { "good_*", "one", "many_*", "damaged_*", "*" };
    static const char *const stages[] = {
        "", "| cast:value,dtype=int32 ", "| rename:{vec:w} ", "| select:[value,feat,small] ",
        "| cast:feat,dtype=float64 ", "| reshape:feat,shape=[128] ", "| cast:small,dtype=int64 ",
    };
    static const char *const ends[] = { "batch:", "padded_batch:" };
    static const int         sizes[] = { 128, 150, 200, 256, 300, 700 };
    const char              *file = files[whole_draw(&seed, 5)];
    const char              *first = stages[whole_draw(&seed, 7)];
    const char              *second = stages[whole_draw(&seed, 4)];
    const char              *end = ends[whole_draw(&seed, 2)];
    int                      size = sizes[whole_draw(&seed, 6)];
    const char              *drop = whole_draw(&seed, 3) ? "" : ",drop_remainder=true";
    bool                     twice = strcmp(first, second) == 0 || strstr(first, "select");

    (void)snprintf(text, TEXT, "tfrecord:\"%s%s.tfrecord\" " PARSE " %s%s%s| %s%d%s", t_path(""),
                   file, first, twice ? "" : second, mid, end, size, drop);
}

static void whole_batches_are_those_that_are_copied(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 24; seed++) {
        char    text[TEXT], copied[TEXT];
        t_bytes want, got;

        whole_text(text, seed, "");
        whole_text(copied, seed, COPIED);
        want = whole_all(copied, 1, 256);
        for (int32_t threads = 1; threads <= 4; threads *= 2) {
            got = whole_all(text, threads, seed % 2 ? 256 : 60);
            t_bytes_equal(got, want, text);
            t_clear(&got);
        }
        whole_cuts(text, want, seed % 3 ? 1 : 3, seed % 2 ? 4 : 1);
        t_clear(&want);
    }
}

static void failures_are_those_of_copied_batches(void **state)
{
    static const char *const files[] = { "one", "many_*", "damaged_*" };

    (void)state;
    for (int i = 0; i < 12; i++) {
        t_outcome o[2] = { { .why = LEVADA_ERROR_INIT }, { .why = LEVADA_ERROR_INIT } };

        for (int k = 0; k < 2; k++) {
            char         text[TEXT];
            levada_iter *it;

            (void)snprintf(text, sizeof text, "tfrecord:\"%s%s.tfrecord\" " PARSE " %s| batch:%d",
                           t_path(""), files[i % 3], k ? "" : COPIED, i < 6 ? 128 : 200);
            it = t_iter_open(text, k && i % 2 ? 4 : 1, 256);
            assert_true(t_iter_read_rest(it, &o[k]) < 0);
            levada_iter_close(&it);
        }
        assert_int_equal(o[1].rows, o[0].rows);
        assert_int_equal(o[1].why.code, o[0].why.code);
        assert_string_equal(o[1].why.message, o[0].why.message);
        assert_int_equal(o[1].why.record, o[0].why.record);
        assert_int_equal(o[1].why.offset, o[0].why.offset);
    }
}

/* The rows of the blocks that fused stages next to the source of `text` return, as text. */
static const char *whole_blocks(const char *file, const char *rest)
{
    static char  sizes[400];
    char         text[TEXT];
    levada_iter *it;
    levada_node *node;

    (void)snprintf(text, sizeof text, "tfrecord:\"%s%s.tfrecord\" " PARSE " %s", t_path(""), file,
                   rest);
    it = t_iter_open_policy(text, "skip", 1, 256);
    for (node = it->root; node->inputs[0]->ninputs;) node = node->inputs[0];
    sizes[0] = '\0';
    for (levada_item item = { 0 };
         levada_node_next(node, LEVADA_HINT_ANY, &item, NULL) == LEVADA_OK;) {
        size_t used = strlen(sizes);

        (void)snprintf(sizes + used, sizeof sizes - used, "%lld ",
                       (long long)levada_item_rows(&item));
        levada_item_clear(&item);
    }
    levada_iter_close(&it);
    return sizes;
}

static void blocks_are_batches(void **state)
{
    (void)state;
    assert_string_equal(whole_blocks("good_[02]", "| batch:256"), "256 256 256 256 107 ");
    assert_string_equal(whole_blocks("good_[02]", "| cast:feat,dtype=float64 | padded_batch:500"),
                        "500 500 131 ");
}

static void a_batch_after_a_bad_record_is_whole_again(void **state)
{
    (void)state;
    assert_string_equal(whole_blocks("one", "| batch:256"), "256 255 1 256 131 ");
}

/* Ragged columns are decoded into the batch; small and huge batches are copied; a filter leaves any
 * number of rows; functions are called for few records at a time. */
static void other_blocks_end_where_those_of_the_file_do(void **state)
{
    static const char *const rests[] = {
        "| batch:100", "| batch:5000", "| shuffle:9 | batch:256",
        "| filter:\"value >= 0\" | batch:256", "| bucket_by_sequence_length:value,boundaries=[9],"
                                               "batch_sizes=256",
    };

    (void)state;
    for (size_t i = 0; i < sizeof rests / sizeof rests[0]; i++) {
        assert_string_not_equal(whole_blocks("good_0", rests[i]), "256 256 188 ");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_batches_are_those_that_are_copied),
        cmocka_unit_test(failures_are_those_of_copied_batches),
        cmocka_unit_test(blocks_are_batches),
        cmocka_unit_test(a_batch_after_a_bad_record_is_whole_again),
        cmocka_unit_test(other_blocks_end_where_those_of_the_file_do),
    };

    return cmocka_run_group_tests(tests, whole_set_up, t_folder_tear_down);
}
