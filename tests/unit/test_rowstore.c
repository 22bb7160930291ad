/* SPDX-License-Identifier: Apache-2.0 */
#include "registry/env_priv.h"
#include "support/blocks.h"
#include "support/deaths.h"
#include <levada/rowstore.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define BIG_ROWS 64
#define BIG_BYTES 50000

typedef struct fixture {
    levada_env      *env;
    levada_rowstore *store;
} fixture;

static void open_store(fixture *f)
{
    levada_context context = { .struct_size = sizeof context };

    assert_int_equal(levada_env_create(NULL, &f->env, NULL), LEVADA_OK);
    context.env = f->env;
    assert_int_equal(levada_rowstore_create(&context, &f->store, NULL), LEVADA_OK);
}

/* Nothing is pinned any more once the store is gone. */
static void close_store(fixture *f)
{
    levada_rowstore_destroy(&f->store);
    assert_null(f->store);
    assert_int_equal(levada_pool_used(levada_env_pool(f->env)), 0);
    levada_env_destroy(&f->env);
}

static void expect_rows(const levada_block *block, const int64_t *n, int64_t count)
{
    levada_env   *env = NULL;
    levada_block *flat = NULL;

    assert_int_equal(levada_env_create(NULL, &env, NULL), LEVADA_OK);
    assert_int_equal(levada_block_rows(block), count);
    assert_int_equal(levada_block_gather(levada_env_pool(env), block, &flat, NULL), LEVADA_OK);
    for (int64_t i = 0; i < count; i++) {
        const levada_column *x = levada_block_column(flat, "x");
        int64_t              size = -1;

        assert_int_equal(levada_column_i64(levada_block_column(flat, "n"))[i], n[i]);
        for (int32_t k = x->level[0].begin[i]; k < x->level[0].end[i]; k++) {
            assert_int_equal(levada_column_i64(x)[k], n[i]);
        }
        assert_non_null(levada_column_bytes(levada_block_column(flat, "s"), i, &size));
        assert_int_equal(size, n[i] % 5);
    }
    levada_block_unref(&flat);
    levada_env_destroy(&env);
}

static const int32_t lengths[8] = { 3, 0, 1, 2, 5, 1, 0, 4 };

static void takes_what_was_added_in_any_order(void **state)
{
    fixture       f;
    levada_block *a, *b, *out = NULL;
    uint32_t      slots[12];

    (void)state;
    open_store(&f);
    a = test_block(levada_env_pool(f.env), lengths, 8, 0);
    b = test_block(levada_env_pool(f.env), lengths, 8, 100);
    assert_int_equal(levada_rowstore_add(f.store, a, 2, 5, slots, NULL), LEVADA_OK);
    assert_int_equal(levada_rowstore_add(f.store, b, 0, 7, slots + 5, NULL), LEVADA_OK);
    levada_block_unref(&a);
    levada_block_unref(&b);
    assert_int_equal(levada_rowstore_count(f.store), 12);
    {
        const uint32_t some[4] = { slots[11], slots[0], slots[6], slots[4] };

        assert_int_equal(levada_rowstore_peek(f.store, some, 4, &out, NULL), LEVADA_OK);
        expect_rows(out, (int64_t[]){ 106, 2, 101, 6 }, 4);
        levada_block_unref(&out);
        assert_int_equal(levada_rowstore_count(f.store), 12);
        assert_int_equal(levada_rowstore_take(f.store, some, 4, &out, NULL), LEVADA_OK);
        expect_rows(out, (int64_t[]){ 106, 2, 101, 6 }, 4);
        assert_int_equal(out->nfrom, 2);
        levada_block_unref(&out);
    }
    assert_int_equal(levada_rowstore_count(f.store), 8);
    close_store(&f);
}

static void slots_are_used_again(void **state)
{
    fixture       f;
    levada_block *a, *out = NULL;
    uint32_t      slots[8], again[8];

    (void)state;
    open_store(&f);
    a = test_block(levada_env_pool(f.env), lengths, 8, 0);
    assert_int_equal(levada_rowstore_add(f.store, a, 0, 8, slots, NULL), LEVADA_OK);
    assert_int_equal(levada_rowstore_take(f.store, slots, 8, &out, NULL), LEVADA_OK);
    levada_block_unref(&out);
    assert_int_equal(levada_rowstore_count(f.store), 0);
    assert_int_equal(levada_rowstore_add(f.store, a, 0, 8, again, NULL), LEVADA_OK);
    for (int i = 0; i < 8; i++) assert_true(again[i] < 8);
    levada_block_unref(&a);
    close_store(&f);
}

/* The same block added twice is held once; each of its rows is a row of its own. */
static void a_block_may_come_twice(void **state)
{
    fixture       f;
    levada_block *a, *out = NULL;
    uint32_t      slots[16];

    (void)state;
    open_store(&f);
    a = test_block(levada_env_pool(f.env), lengths, 8, 0);
    assert_int_equal(levada_rowstore_add(f.store, a, 0, 8, slots, NULL), LEVADA_OK);
    assert_int_equal(levada_rowstore_add(f.store, a, 0, 8, slots + 8, NULL), LEVADA_OK);
    levada_block_unref(&a);
    assert_int_equal(levada_rowstore_take(f.store, slots, 8, &out, NULL), LEVADA_OK);
    assert_int_equal(out->nfrom, 1);
    levada_block_unref(&out);
    assert_int_equal(levada_rowstore_take(f.store, slots + 8, 8, &out, NULL), LEVADA_OK);
    expect_rows(out, (int64_t[]){ 0, 1, 2, 3, 4, 5, 6, 7 }, 8);
    levada_block_unref(&out);
    close_store(&f);
}

static void selections_are_held_by_their_blocks(void **state)
{
    fixture       f;
    levada_block *a, *chosen = NULL, *out = NULL;
    const int32_t rows[4] = { 7, 0, 3, 3 };
    uint32_t      slots[3];

    (void)state;
    open_store(&f);
    a = test_block(levada_env_pool(f.env), lengths, 8, 40);
    assert_int_equal(levada_block_select(a, rows, 4, &chosen, NULL), LEVADA_OK);
    assert_int_equal(levada_rowstore_add(f.store, chosen, 1, 3, slots, NULL), LEVADA_OK);
    levada_block_unref(&chosen);
    levada_block_unref(&a);
    assert_int_equal(levada_rowstore_take(f.store, slots, 3, &out, NULL), LEVADA_OK);
    expect_rows(out, (int64_t[]){ 40, 43, 43 }, 3);
    levada_block_unref(&out);
    close_store(&f);
}

static void nothing_is_held_for_nothing(void **state)
{
    fixture       f;
    levada_block *a, *chosen = NULL, *out = NULL;
    const int32_t row = 2;
    uint32_t      slot = 0;

    (void)state;
    open_store(&f);
    a = test_block(levada_env_pool(f.env), lengths, 8, 0);
    assert_int_equal(levada_block_select(a, &row, 1, &chosen, NULL), LEVADA_OK);
    assert_int_equal(levada_rowstore_add(f.store, a, 3, 0, &slot, NULL), LEVADA_OK);
    assert_int_equal(levada_rowstore_add(f.store, chosen, 1, 0, &slot, NULL), LEVADA_OK);
    levada_block_unref(&chosen);
    assert_true(levada_block_exclusive(a));
    assert_int_equal(levada_rowstore_take(f.store, &slot, 0, &out, NULL), LEVADA_EINVALID_ARGUMENT);
    assert_int_equal(levada_rowstore_peek(f.store, &slot, 0, &out, NULL), LEVADA_EINVALID_ARGUMENT);
    assert_null(out);
    levada_block_unref(&a);
    close_store(&f);
}

/* A block of BIG_ROWS rows of BIG_BYTES bytes; row r is filled with first + r. */
static levada_block *big_block(levada_env *env, int64_t first)
{
    levada_field    field = { .name = "b", .dtype = LEVADA_BYTES };
    levada_spec    *spec = NULL;
    levada_builder *b = NULL;
    levada_block   *block = NULL;
    uint8_t        *bytes = malloc(BIG_BYTES);

    assert_non_null(bytes);
    assert_int_equal(levada_spec_create(&field, 1, 0, &spec, NULL), LEVADA_OK);
    assert_int_equal(levada_builder_create(env, spec, -1, &b, NULL), LEVADA_OK);
    for (int64_t r = 0; r < BIG_ROWS; r++) {
        memset(bytes, (int)((first + r) % 251), BIG_BYTES);
        assert_int_equal(levada_builder_push_bytes(b, 0, bytes, BIG_BYTES, NULL), LEVADA_OK);
    }
    assert_int_equal(levada_builder_publish(&b, &block, NULL), LEVADA_OK);
    levada_spec_unref(&spec);
    free(bytes);
    return block;
}

/* One row of each block stays: the blocks must not stay with it. */
static void compacting_lets_go_of_the_dead(void **state)
{
    fixture       f;
    uint32_t      kept[40], slots[BIG_ROWS];
    levada_block *out = NULL, *flat = NULL;

    (void)state;
    open_store(&f);
    for (int64_t i = 0; i < 40; i++) {
        levada_block *block = big_block(f.env, i * BIG_ROWS);

        assert_int_equal(levada_rowstore_add(f.store, block, 0, BIG_ROWS, slots, NULL), LEVADA_OK);
        levada_block_unref(&block);
        kept[i] = slots[i];
        slots[i] = slots[BIG_ROWS - 1];
        assert_int_equal(levada_rowstore_take(f.store, slots, BIG_ROWS - 1, &out, NULL), LEVADA_OK);
        levada_block_unref(&out);
    }
    assert_int_equal(levada_rowstore_count(f.store), 40);
    /* 40 blocks of 3.2 MB would be 128 MB; what lives is 2 MB, and 8 MiB may be wasted. */
    assert_true(levada_pool_used(levada_env_pool(f.env)) < (INT64_C(32) << 20));
    assert_int_equal(levada_rowstore_take(f.store, kept, 40, &out, NULL), LEVADA_OK);
    assert_int_equal(levada_block_gather(levada_env_pool(f.env), out, &flat, NULL), LEVADA_OK);
    for (int64_t i = 0; i < 40; i++) {
        int64_t        size = 0;
        const uint8_t *at = levada_column_bytes(levada_block_at(flat, 0), i, &size);

        assert_int_equal(size, BIG_BYTES);
        assert_int_equal(at[0], (i * BIG_ROWS + i) % 251);
        assert_int_equal(at[BIG_BYTES - 1], at[0]);
    }
    levada_block_unref(&flat);
    levada_block_unref(&out);
    close_store(&f);
}

/* Compacting leaves blocks alone of which at least half lives, and lets go of the others. */
static void compacting_copies_from_sparse_blocks(void **state)
{
    fixture       f;
    uint32_t      half[BIG_ROWS], slots[BIG_ROWS];
    levada_block *out = NULL, *dense, *sparse = NULL;

    (void)state;
    open_store(&f);
    dense = big_block(f.env, 0);
    assert_int_equal(levada_rowstore_add(f.store, dense, 0, BIG_ROWS, half, NULL), LEVADA_OK);
    assert_int_equal(levada_rowstore_take(f.store, half, BIG_ROWS / 2, &out, NULL), LEVADA_OK);
    levada_block_unref(&out);
    for (int64_t i = 0; i < 10; i++) {
        levada_block *block = big_block(f.env, i * BIG_ROWS);

        assert_int_equal(levada_rowstore_add(f.store, block, 0, BIG_ROWS, slots, NULL), LEVADA_OK);
        if (i == 0) sparse = levada_block_ref(block);
        levada_block_unref(&block);
        assert_int_equal(levada_rowstore_take(f.store, slots, BIG_ROWS - 1, &out, NULL), LEVADA_OK);
        levada_block_unref(&out);
    }
    assert_true(levada_block_exclusive(sparse));
    assert_false(levada_block_exclusive(dense));
    levada_block_unref(&sparse);
    levada_block_unref(&dense);
    close_store(&f);
}

/* Many adds and takes at random against a plain list. */
static void behaves_like_a_list(void **state)
{
    fixture  f;
    uint32_t slots[2000], came[8];
    int64_t  values[2000], n = 0, next = 0;
    uint64_t random = 1;

    (void)state;
    open_store(&f);
    for (int round = 0; round < 20000; round++) {
        levada_block *block, *out = NULL;

        random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        if (n < 1900 && (n == 0 || random >> 63)) {
            int64_t rows = 1 + (int64_t)(random >> 40) % 8;

            block = test_block(levada_env_pool(f.env), lengths, rows, next);
            assert_int_equal(levada_rowstore_add(f.store, block, 0, rows, came, NULL), LEVADA_OK);
            levada_block_unref(&block);
            for (int64_t i = 0; i < rows; i++) {
                slots[n] = came[i];
                values[n++] = next + i;
            }
            next += rows;
        } else {
            int64_t at = (int64_t)((random >> 33) % (uint64_t)n);

            assert_int_equal(levada_rowstore_take(f.store, &slots[at], 1, &out, NULL), LEVADA_OK);
            assert_int_equal(levada_column_i64(&out->from[0]->columns[1])[out->row[0]], values[at]);
            levada_block_unref(&out);
            slots[at] = slots[--n];
            values[at] = values[n];
        }
        assert_int_equal(levada_rowstore_count(f.store), n);
    }
    close_store(&f);
}

static void take_a_slot_twice(void *user)
{
    fixture       f;
    uint32_t      slots[3];
    levada_block *block, *out = NULL;

    (void)user;
    open_store(&f);
    block = test_block(levada_env_pool(f.env), lengths, 3, 0);
    assert_int_equal(levada_rowstore_add(f.store, block, 0, 3, slots, NULL), LEVADA_OK);
    slots[2] = slots[0];
    assert_int_equal(levada_rowstore_take(f.store, slots, 3, &out, NULL), LEVADA_OK);
}

static void a_slot_is_taken_once(void **state)
{
    (void)state;
    if (!LEVADA_DEBUG) skip();
    test_aborts(take_a_slot_twice, NULL, "held < s->nheld");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_what_was_added_in_any_order),
        cmocka_unit_test(slots_are_used_again),
        cmocka_unit_test(a_block_may_come_twice),
        cmocka_unit_test(selections_are_held_by_their_blocks),
        cmocka_unit_test(nothing_is_held_for_nothing),
        cmocka_unit_test(compacting_lets_go_of_the_dead),
        cmocka_unit_test(compacting_copies_from_sparse_blocks),
        cmocka_unit_test(behaves_like_a_list),
        cmocka_unit_test(a_slot_is_taken_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
