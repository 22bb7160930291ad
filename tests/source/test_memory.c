/* SPDX-License-Identifier: Apache-2.0 */
#include "support/blocks.h"
#include "support/iters.h"
#include <levada/dataset.h>
#include <levada/stage.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

/* memory of `block`, then what `stages` says in text (NULL = nothing more). */
static levada_dataset *memory(const levada_block *block)
{
    levada_value   *options = levada_value_map(), *data = levada_value_block(block);
    levada_dataset *dataset = NULL;

    assert_int_equal(levada_value_set(options, "data", &data, NULL), LEVADA_OK);
    assert_int_equal(
        levada_dataset_append(t_iter_env(), "memory", options, NULL, 0, &dataset, NULL), LEVADA_OK);
    levada_value_destroy(&options);
    return dataset;
}

static levada_dataset *with_int(levada_dataset **in, const char *name, const char *option,
                                int64_t n)
{
    levada_value   *options = levada_value_map(), *value = levada_value_int(n);
    levada_dataset *dataset = NULL;

    assert_int_equal(levada_value_set(options, option, &value, NULL), LEVADA_OK);
    assert_int_equal(levada_dataset_append(t_iter_env(), name, options,
                                           (const levada_dataset *const *)in, 1, &dataset, NULL),
                     LEVADA_OK);
    levada_value_destroy(&options);
    levada_dataset_unref(in);
    return dataset;
}

static levada_iter *open(const levada_dataset *dataset, int32_t rows)
{
    levada_iter_options o = LEVADA_ITER_OPTIONS_INIT;
    levada_iter        *it = NULL;

    o.seed = 3;
    o.threads = 1;
    o.block_rows = rows;
    assert_int_equal(levada_iter_open(dataset, &o, &it, NULL), LEVADA_OK);
    return it;
}

static levada_block *some_block(void)
{
    const int32_t lengths[] = { 3, 0, 5, 1, 2, 2, 0, 9, 4, 4 };
    levada_pool  *pool = test_pool();
    levada_block *block = test_block(pool, lengths, 10, 0);

    levada_pool_unref(&pool);
    return block;
}

static t_bytes all_rows(const levada_dataset *dataset, int32_t rows)
{
    levada_iter *it = open(dataset, rows);
    t_bytes      bytes = { 0 };

    t_iter_read(it, -1, false, &bytes);
    levada_iter_close(&it);
    return bytes;
}

static void gives_the_rows_at_any_block_size(void **state)
{
    levada_block   *block = some_block();
    levada_dataset *dataset = memory(block);
    t_bytes         want = { 0 };

    (void)state;
    t_iter_add(&want, block, false);
    for (int32_t rows = 1; rows < 13; rows += 3) {
        t_bytes got = all_rows(dataset, rows);

        t_bytes_equal(want, got, "rows");
        t_clear(&got);
    }
    t_clear(&want);
    levada_dataset_unref(&dataset);
    levada_block_unref(&block);
}

static void takes_a_selection(void **state)
{
    levada_block   *block = some_block(), *some = NULL;
    const int32_t   rows[] = { 7, 0, 7 };
    levada_dataset *dataset;
    levada_iter    *it;
    int64_t         n = 0, *got;

    (void)state;
    assert_int_equal(levada_block_select(block, rows, 3, &some, NULL), LEVADA_OK);
    dataset = memory(some);
    it = open(dataset, 2);
    got = t_iter_numbers(it, "n", &n);
    assert_int_equal(n, 3);
    assert_int_equal(got[0], 7);
    assert_int_equal(got[1], 0);
    assert_int_equal(got[2], 7);
    free(got);
    levada_iter_close(&it);
    levada_dataset_unref(&dataset);
    levada_block_unref(&some);
    levada_block_unref(&block);
}

static void goes_on_after_a_restore(void **state)
{
    levada_block   *block = some_block();
    levada_dataset *plain = memory(block), *dataset = with_int(&plain, "shuffle", "buffer_size", 4);
    t_bytes         want = all_rows(dataset, 3);

    (void)state;
    for (int64_t cut = 0; cut <= 4; cut++) {
        levada_iter *a = open(dataset, 3), *b = open(dataset, 2);
        t_bytes      got = { 0 }, saved;

        t_iter_read(a, cut, false, &got);
        saved = t_iter_save(a);
        t_iter_restore(b, saved);
        t_iter_read(b, -1, false, &got);
        t_bytes_equal(want, got, "cut");
        t_clear(&got);
        t_clear(&saved);
        levada_iter_close(&a);
        levada_iter_close(&b);
    }
    t_clear(&want);
    levada_dataset_unref(&dataset);
    levada_block_unref(&block);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gives_the_rows_at_any_block_size),
        cmocka_unit_test(takes_a_selection),
        cmocka_unit_test(goes_on_after_a_restore),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
