/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Receipts of iterators: the same for all threads, block sizes and cuts; and what they find.
 */
#include "support/iters.h"
#include <levada/binding.h>
#include <levada/receipt.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { FILES = 3, RECORDS = 500 };

static char source[400]; /* "tfrecord:FOLDER/[a-c].tfrecord" */

static int make_files(void **state)
{
    t_folder_set_up(state);
    for (int f = 0; f < FILES; f++) {
        t_bytes bytes = { 0 };
        char    name[20];

        for (int i = 0; i < RECORDS; i++) {
            char record[20];

            t_add_record(&bytes, record, (size_t)snprintf(record, sizeof record, "%d.%d", f, i));
        }
        snprintf(name, sizeof name, "%c.tfrecord", 'a' + f);
        t_write_file(t_path(name), bytes.at, bytes.size);
        t_clear(&bytes);
    }
    snprintf(source, sizeof source, "tfrecord:\"%s\"", t_path("[a-c].tfrecord"));
    return 0;
}

static char *delivered(levada_iter *it)
{
    char *text = NULL;

    assert_int_equal(levada_iter_delivered(it, &text, NULL), LEVADA_OK);
    return text;
}

static void assert_contains(const char *text, const char *part)
{
    if (!strstr(text, part)) fail_msg("%s has no %s", text, part);
}

/* Compares a receipt with what `text` returns. */
static void expect(const char *text, const char *receipt, const char *part)
{
    levada_iter *it = t_iter_open(text, 1, 0);
    char        *report = NULL;

    assert_int_equal(levada_receipts_check(it, receipt, 0, &report, NULL), LEVADA_OK);
    assert_contains(report, part);
    levada_string_free(&report);
    levada_iter_close(&it);
}

/* Reads to the end: some blocks are given back and read again, and at block `cut` a position inside
 * of the block is saved, which another iterator continues. */
static char *read_all(const char *text, int32_t threads, int32_t block_rows, int64_t cut)
{
    levada_iter  *it = t_iter_open(text, threads, block_rows);
    levada_block *block = NULL;
    levada_status st;
    char         *receipt;

    for (int64_t i = 0; (st = levada_iter_next(it, &block, NULL)) == LEVADA_OK; i++) {
        if (i % 3 == 1 && i != cut) {
            levada_iter_unread(it, &block);
            assert_int_equal(levada_iter_next(it, &block, NULL), LEVADA_OK);
        }
        if (i == cut) {
            t_bytes state = { 0 };
            int64_t row = strstr(text, "batch:") ? 0 : levada_block_rows(block) / 2;
            char   *bytes = NULL;
            size_t  size = 0;

            assert_int_equal(levada_iter_save_at(it, block, row, &bytes, &size, NULL), LEVADA_OK);
            t_add(&state, bytes, size);
            levada_string_free(&bytes);
            levada_iter_close(&it);
            it = t_iter_open(text, 3 - threads % 2, 7);
            t_iter_restore(it, state);
            t_clear(&state);
        }
        levada_block_unref(&block);
    }
    assert_int_equal(st, LEVADA_END);
    receipt = delivered(it);
    levada_iter_close(&it);
    return receipt;
}

static const struct {
    const char *stages;
    bool        all; /* of the source, once */
} pipes[] = {
    { "", true },
    { " | batch:7", true },
    { " | shuffle:100 | batch:16", true },
    { " | shuffle:2000", true },
    { " | repeat:3 | shuffle:50 | batch:32", true },
    { " | take:700 | batch:9", false },
    { " | enumerate | filter:\"index > 5\" | batch:4", false },
    { " | shard:1,count=3 | batch:8", false },
};

static void test_pipes(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof pipes / sizeof *pipes; i++) {
        char  text[600];
        char *want;

        snprintf(text, sizeof text, "%s%s", source, pipes[i].stages);
        want = read_all(text, 1, 0, -1);
        expect(pipes[i].all ? source : text, want, "\"complete\":true");
        if (!pipes[i].all) expect(source, want, "\"complete\":false");
        for (int64_t cut = 0; cut < 12; cut++) {
            char *got = read_all(text, 1 + (int32_t)(cut % 4), cut % 2 ? 5 : 0, cut);

            assert_string_equal(got, want);
            levada_string_free(&got);
        }
        levada_string_free(&want);
    }
}

/* The receipts of ranks add up; a rank that is missing, or counted twice, is noticed. */
static void test_ranks(void **state)
{
    const char *parts[4];
    char       *made[4], *sum = NULL;

    (void)state;
    for (int k = 0; k < 4; k++) {
        char text[600];

        snprintf(text, sizeof text, "%s | shard:%d,count=4 | shuffle:40 | batch:8", source, k);
        parts[k] = made[k] = read_all(text, 2, 0, k);
    }
    assert_int_equal(levada_receipts_merge(parts, 4, &sum, NULL), LEVADA_OK);
    expect(source, sum, "\"complete\":true,\"epochs\":1,\"delivered\":1500,\"expected\":1500");
    levada_string_free(&sum);
    assert_int_equal(levada_receipts_merge(parts, 3, &sum, NULL), LEVADA_OK);
    expect(source, sum, "\"records\":-125,\"all\":false");
    levada_string_free(&sum);
    parts[3] = parts[2];
    assert_int_equal(levada_receipts_merge(parts, 4, &sum, NULL), LEVADA_OK);
    expect(source, sum, "\"complete\":false");
    levada_string_free(&sum);
    for (int k = 0; k < 4; k++) levada_string_free(&made[k]);
}

/* A file that was not read, and records that are gone from the end, are named. */
static void test_named(void **state)
{
    char  text[600];
    char *receipt;

    (void)state;
    snprintf(text, sizeof text, "tfrecord:\"%s\" | batch:10", t_path("[ac].tfrecord"));
    receipt = read_all(text, 1, 0, -1);
    expect(source, receipt,
           "\"differences\":[{\"file\":\"b.tfrecord\",\"first\":0,\"last\":499,\"records\":-500,"
           "\"all\":true}],\"named\":true}");
    levada_string_free(&receipt);
    snprintf(text, sizeof text, "%s | take:1490 | batch:10", source);
    receipt = read_all(text, 1, 0, -1);
    expect(source, receipt,
           "\"differences\":[{\"file\":\"c.tfrecord\",\"first\":490,\"last\":499,\"records\":-10,"
           "\"all\":true}],\"named\":true}");
    levada_string_free(&receipt);
}

/* A record counts as each of its parts, and as its first segment. */
static void test_shapes(void **state)
{
    char  text[900];
    char *receipt;

    (void)state;
    snprintf(text, sizeof text,
             "zip(tfrecord:\"%s\"; tfrecord:\"%s\" | rename:{record:other}) | batch:8",
             t_path("a.tfrecord"), t_path("b.tfrecord"));
    receipt = read_all(text, 1, 0, 3);
    snprintf(text, sizeof text, "tfrecord:\"%s\"", t_path("[ab].tfrecord"));
    expect(text, receipt, "\"complete\":true");
    levada_string_free(&receipt);
    receipt = read_all("range:10 | batch:3 | unbatch", 1, 0, -1);
    expect("range:10", receipt, "\"complete\":true");
    expect("range:11", receipt, "{\"file\":null,\"first\":10,\"last\":10,\"records\":-1,");
    expect("range:9", receipt, "{\"file\":null,\"first\":9,\"last\":9,\"records\":1,");
    levada_string_free(&receipt);
}

/* -- batches */

static void test_replay(void **state)
{
    char                 text[600];
    levada_iter         *it;
    levada_block        *batch = NULL, *again = NULL;
    levada_batch_receipt want[64], got, back;
    t_bytes              saved = { 0 };
    int64_t              n = 0;
    char                *printed = NULL;
    levada_status        st;

    (void)state;
    snprintf(text, sizeof text, "%s | shuffle:300 | batch:32", source);
    it = t_iter_open(text, 2, 0);
    for (; levada_iter_next(it, &batch, NULL) == LEVADA_OK; n++) {
        assert_int_equal(levada_iter_receipt(it, batch, -1, &want[n], NULL), LEVADA_OK);
        assert_int_equal(want[n].step, n);
        levada_block_unref(&batch);
        if (n == 20) saved = t_iter_save(it);
    }
    assert_int_equal(levada_iter_batches(it), n);
    for (int64_t i = 0; i < n; i++) {
        bool late = i > 20 && i % 2;

        st = levada_iter_replay(it, late ? saved.at : NULL, saved.size, i, &again, NULL);
        assert_int_equal(st, LEVADA_OK);
        assert_int_equal(levada_iter_receipt(it, again, i, &got, NULL), LEVADA_OK);
        assert_memory_equal(&got, &want[i], sizeof got);
        assert_int_equal(levada_batch_receipt_print(&got, &printed, NULL), LEVADA_OK);
        assert_int_equal(strlen(printed), 59);
        assert_int_equal(levada_batch_receipt_parse(printed, &back, NULL), LEVADA_OK);
        assert_memory_equal(&back, &got, sizeof got);
        levada_string_free(&printed);
        levada_block_unref(&again);
        for (int64_t k = 0; k < i; k++)
            assert_memory_not_equal(want[k].digest, want[i].digest, sizeof got.digest);
    }
    assert_int_equal(levada_iter_replay(it, saved.at, saved.size, 20, &again, NULL),
                     LEVADA_EFAILED_PRECONDITION);
    assert_int_equal(levada_iter_replay(it, NULL, 0, n, &again, NULL),
                     LEVADA_EOUT_OF_RANGE);
    assert_int_equal(levada_iter_replay(it, NULL, 0, -1, &again, NULL), LEVADA_EINVALID_ARGUMENT);
    assert_null(again);
    assert_int_equal(levada_batch_receipt_parse("lvb1_AAAA", &back, NULL),
                     LEVADA_EINVALID_ARGUMENT);
    t_clear(&saved);
    levada_iter_close(&it);
}

/* Each change of seed, epoch, pipeline or values is another receipt. */
static void test_batch_differs(void **state)
{
    static const char *const texts[] = {
        "range:40 | batch:8",
        "range:40 | batch:9",
        "range:40,start=1 | batch:8",
        "range:40 | rename:{value:x} | batch:8",
        "range:40 | cast:value,dtype=int32 | batch:8",
    };
    levada_batch_receipt     r[5];

    (void)state;
    for (int i = 0; i < 5; i++) {
        levada_iter  *it = t_iter_open(texts[i], 1, 0);
        levada_block *batch = NULL;

        assert_int_equal(levada_iter_next(it, &batch, NULL), LEVADA_OK);
        assert_int_equal(levada_iter_receipt(it, batch, -1, &r[i], NULL), LEVADA_OK);
        for (int k = 0; k < i; k++) {
            assert_int_not_equal(r[k].pipeline, r[i].pipeline);
            assert_memory_not_equal(r[k].digest, r[i].digest, sizeof r[i].digest);
        }
        levada_block_unref(&batch);
        levada_iter_close(&it);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pipes),  cmocka_unit_test(test_ranks),
        cmocka_unit_test(test_named),  cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_replay), cmocka_unit_test(test_batch_differs),
    };

    return cmocka_run_group_tests(tests, make_files, t_folder_tear_down);
}
