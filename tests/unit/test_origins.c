/* SPDX-License-Identifier: Apache-2.0 */
/* Origins in lanes: what a zip puts together keeps the names of all its parts. */
#include "support/blocks.h"
#include "support/iters.h"
#include "tensor/block_priv.h"
#include <levada/stage.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const int32_t lengths[6] = { 3, 0, 1, 2, 5, 1 };

/* Six rows, record 10 * lane + i of source `lane` in each of the lanes. */
static levada_block *block_of(levada_pool *pool, int32_t lanes)
{
    levada_block *block = test_block(pool, lengths, 6, 0);

    for (int32_t i = 1; i < lanes; i++) {
        levada_block *one = test_block(pool, lengths, 6, 0);

        one->origins.first.source = i;
        one->origins.first.record = 10 * i;
        levada_block_join_origins(block, one);
        levada_block_unref(&one);
    }
    return block;
}

static void expect_origin(const levada_block *block, int64_t row, int32_t lane, int64_t record)
{
    levada_origin origin = levada_block_origin_part(block, row, lane);

    assert_int_equal(origin.source, record < 0 ? -1 : lane);
    assert_int_equal(origin.record, record);
}

static void a_run_stays_a_run_in_every_lane(void **state)
{
    levada_pool  *pool = test_pool();
    levada_block *block = block_of(pool, 3), *part = NULL, *copy = NULL;

    (void)state;
    assert_int_equal(levada_block_origin_parts(block), 3);
    assert_int_equal(levada_block_slice(pool, block, 2, 3, &part, NULL), LEVADA_OK);
    copy = test_block(pool, lengths, 3, 0);
    assert_int_equal(levada_block_copy_origins(pool, copy, part, NULL), LEVADA_OK);
    for (int32_t lane = 0; lane < 3; lane++) {
        assert_null(lane ? copy->more[lane - 1].each : copy->origins.each);
        for (int64_t i = 0; i < 3; i++) expect_origin(copy, i, lane, 10 * lane + 2 + i);
    }
    expect_origin(copy, 0, 3, -1);
    levada_block_unref(&copy);
    levada_block_unref(&part);
    levada_block_unref(&block);
    levada_pool_unref(&pool);
}

static void a_gathered_selection_has_them_row_by_row(void **state)
{
    levada_pool   *pool = test_pool();
    levada_block  *block = block_of(pool, 4), *some = NULL, *flat = NULL, *part = NULL;
    const int32_t  rows[4] = { 5, 3, 3, 0 };

    (void)state;
    assert_int_equal(levada_block_select(block, rows, 4, &some, NULL), LEVADA_OK);
    assert_int_equal(levada_block_origin_parts(some), 4);
    assert_int_equal(levada_block_gather(pool, some, &flat, NULL), LEVADA_OK);
    assert_int_equal(levada_block_slice(pool, flat, 1, 3, &part, NULL), LEVADA_OK);
    levada_block_unref(&flat);
    for (int32_t lane = 0; lane < 4; lane++) {
        for (int64_t i = 0; i < 4; i++) expect_origin(some, i, lane, 10 * lane + rows[i]);
        for (int64_t i = 0; i < 3; i++) expect_origin(part, i, lane, 10 * lane + rows[i + 1]);
    }
    assert_true(levada_block_exclusive(part));
    levada_block_unref(&part);
    levada_block_unref(&some);
    levada_block_unref(&block);
    levada_pool_unref(&pool);
}

/* As in a buffer that holds records of a zip and others. */
static void a_lane_that_a_record_lacks_is_marked(void **state)
{
    levada_pool   *pool = test_pool();
    levada_block  *from[2] = { block_of(pool, 1), block_of(pool, 2) }, *both = NULL, *flat = NULL;
    levada_buffer *index = NULL;
    uint32_t      *which;

    (void)state;
    assert_int_equal(levada_buffer_create(pool, 4 * (int64_t)sizeof *which, &index, NULL),
                     LEVADA_OK);
    which = (uint32_t *)(void *)index->data;
    which[0] = 1;
    which[1] = 0;
    which[2] = which[3] = 4; /* rows */
    assert_int_equal(levada_block_selection(from, 2, which, which + 2, 2, &index, &both, NULL),
                     LEVADA_OK);
    assert_int_equal(levada_block_gather(pool, both, &flat, NULL), LEVADA_OK);
    assert_int_equal(levada_block_origin_parts(flat), 2);
    expect_origin(flat, 0, 1, 14);
    expect_origin(flat, 1, 0, 4);
    expect_origin(flat, 1, 1, -1);
    levada_block_unref(&flat);
    levada_block_unref(&both);
    levada_pool_unref(&pool);
}

static void more_than_four_are_left_out(void **state)
{
    levada_pool  *pool = test_pool();
    levada_block *a = block_of(pool, 3), *b = block_of(pool, 3);

    (void)state;
    levada_block_join_origins(a, b);
    assert_int_equal(levada_block_origin_parts(a), LEVADA_ORIGIN_PARTS);
    assert_int_equal(levada_block_origin_part(a, 1, 3).record, 1); /* the first one of b */
    levada_block_drop_origin_parts(a);
    assert_int_equal(levada_block_origin_parts(a), 1);
    assert_int_equal(levada_block_origin_part(a, 1, 3).source, -1);
    levada_block_unref(&a);
    levada_block_unref(&b);
    levada_pool_unref(&pool);
}

static void they_go_into_an_array_and_back(void **state)
{
    levada_pool  *pool = test_pool();
    levada_block *block = block_of(pool, 2), *other = block_of(pool, 3);
    levada_origin all[12];

    (void)state;
    levada_block_get_origins(block, 2, all);
    assert_int_equal(levada_block_put_origins(pool, other, all, 2, NULL), LEVADA_OK);
    assert_int_equal(levada_block_origin_parts(other), 2);
    for (int64_t i = 0; i < 6; i++) {
        expect_origin(other, i, 0, i);
        expect_origin(other, i, 1, 10 + i);
    }
    levada_block_unref(&block);
    levada_block_unref(&other);
    levada_pool_unref(&pool);
}

/* -- through stages: the columns say which records they are of */

static void expect_lane(const levada_block *block, const char *name, int32_t lane)
{
    const int64_t *values = levada_column_i64(levada_block_column(block, name));

    assert_non_null(values);
    for (int64_t i = 0; i < levada_block_rows(block); i++) {
        assert_int_equal(levada_block_origin_part(block, i, lane).source, lane);
        assert_int_equal(levada_block_origin_part(block, i, lane).record, values[i]);
    }
}

/* `names` are the columns, one letter each, that hold the numbers of the records in each lane. */
static void expect_lanes(const char *text, const char *names, int64_t records)
{
    for (int32_t threads = 1; threads <= 2; threads++) {
        levada_iter  *it = t_iter_open(text, threads, 5);
        levada_block *block = NULL;
        int64_t       n = 0;

        while (levada_iter_next(it, &block, NULL) == LEVADA_OK) {
            n += levada_block_rows(block);
            assert_int_equal(levada_block_origin_parts(block), strlen(names));
            for (int32_t lane = 0; names[lane]; lane++) {
                const char name[2] = { names[lane], '\0' };

                expect_lane(block, name, lane);
            }
            levada_block_unref(&block);
        }
        if (n != records) fail_msg("%s: %d records", text, (int)n);
        levada_iter_close(&it);
    }
}

#define PART(name) "range:40 | rename:{value:" #name "}"
#define ZIP        "zip(" PART(a) " | filter:\"a > 2\"; " PART(b) " | shuffle:9 | take:35)"

static void they_go_through_every_stage(void **state)
{
    static const char *const stages[] = {
        "", " | shuffle:11", " | filter:\"b > -1\"", " | batch:4", " | padded_batch:4",
        " | batch:4 | unbatch", " | padded_batch:4 | unbatch", " | enumerate | shuffle:7 | batch:3",
        " | select:[b,a]", " | cast:a,dtype=int32 | cast:a,dtype=int64",
        " | prefetch:2 | shuffle:4 | prefetch:2",
        " | bucket_by_sequence_length:a,boundaries=[2],batch_sizes=4",
    };

    (void)state;
    for (size_t i = 0; i < sizeof stages / sizeof *stages; i++) {
        char text[512];

        (void)snprintf(text, sizeof text, "%s%s", ZIP, stages[i]);
        expect_lanes(text, "ab", 35);
    }
}

static void zips_in_zips_are_one_row_of_lanes(void **state)
{
    (void)state;
    expect_lanes("zip(zip(" PART(a) "; " PART(b) ") | shuffle:5; " PART(c) ") | shuffle:9", "abc",
                 40);
    expect_lanes("zip(" PART(a) "; zip(" PART(b) "; " PART(c) "); " PART(d) "; " PART(e) ")",
                 "abcd", 40);
}

/* Row k of a record is part k of the records of all lanes. */
static void a_step_is_a_part_in_every_lane(void **state)
{
    const char   *rows = "t_rows:9,bare=true | select:[x]";
    char          text[256];
    levada_iter  *it;
    levada_block *block = NULL;

    (void)state;
    (void)snprintf(text, sizeof text, "zip(%s; %s | rename:{x:y}) | unbatch", rows, rows);
    it = t_iter_open(text, 1, 4);
    while (levada_iter_next(it, &block, NULL) == LEVADA_OK) {
        const int32_t *x = levada_column_i32(levada_block_column(block, "x"));

        assert_int_equal(levada_block_origin_parts(block), 2);
        for (int64_t i = 0; i < levada_block_rows(block); i++) {
            for (int32_t lane = 0; lane < 2; lane++) {
                assert_int_equal(levada_block_origin_part(block, i, lane).record, x[i] / 100);
                assert_int_equal(levada_block_origin_part(block, i, lane).sub, x[i] % 100);
            }
        }
        levada_block_unref(&block);
    }
    levada_iter_close(&it);
}

/* Records that go by value (a stream cannot be read again) take all their names along. */
static void they_are_saved_and_restored(void **state)
{
    const char   *text = "zip(" PART(a) "; t_stream:40 | select:[n] | rename:{n:b}; " PART(c) ")"
                         " | shuffle:9 | batch:4";
    levada_iter  *it = t_iter_open(text, 1, 5), *other = t_iter_open(text, 2, 7);
    levada_block *block = NULL;
    t_bytes       head = { 0 }, saved;
    int64_t       n = 0;

    (void)state;
    (void)t_iter_read(it, 3, true, &head);
    saved = t_iter_save(it);
    t_iter_restore(other, saved);
    while (levada_iter_next(other, &block, NULL) == LEVADA_OK) {
        n += levada_block_rows(block);
        assert_int_equal(levada_block_origin_parts(block), 3);
        expect_lane(block, "a", 0);
        expect_lane(block, "b", 1);
        expect_lane(block, "c", 2);
        levada_block_unref(&block);
    }
    assert_int_equal(n, 28);
    t_clear(&head);
    t_clear(&saved);
    levada_iter_close(&it);
    levada_iter_close(&other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_stays_a_run_in_every_lane),
        cmocka_unit_test(a_gathered_selection_has_them_row_by_row),
        cmocka_unit_test(a_lane_that_a_record_lacks_is_marked),
        cmocka_unit_test(more_than_four_are_left_out),
        cmocka_unit_test(they_go_into_an_array_and_back),
        cmocka_unit_test(they_go_through_every_stage),
        cmocka_unit_test(zips_in_zips_are_one_row_of_lanes),
        cmocka_unit_test(a_step_is_a_part_in_every_lane),
        cmocka_unit_test(they_are_saved_and_restored),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
