/* SPDX-License-Identifier: Apache-2.0 */
#include "support/blocks.h"
#include "tensor/pad.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

/* Pads with everything left open but what `first` says for the first field. */
static levada_status pad(levada_pool *pool, const levada_block *block, const levada_padding *first,
                         levada_block **out, levada_error *err)
{
    levada_padding how[4];
    levada_field   fields[4];
    levada_spec   *spec = NULL;
    int32_t        n = levada_spec_count(block->spec);
    levada_status  st;

    memset(how, 0, sizeof how);
    for (int32_t i = 0; i < n; i++) {
        for (int32_t d = 0; d < LEVADA_MAX_DIMS; d++) how[i].dims[d] = -1;
        assert_int_equal(levada_pad_field(levada_spec_field(block->spec, i), &fields[i], err),
                         LEVADA_OK);
    }
    if (first) how[0] = *first;
    assert_int_equal(levada_spec_create(fields, n, LEVADA_SPEC_BATCHED, &spec, err), LEVADA_OK);
    st = levada_pad_block(pool, block, spec, how, out, NULL, err);
    levada_spec_unref(&spec);
    return st;
}

static void pads_to_the_longest_with_lengths(void **state)
{
    const int32_t lengths[3] = { 2, 0, 3 };
    const int64_t want[9] = { 10, 10, 0, 0, 0, 0, 12, 12, 12 };
    levada_pool  *pool = test_pool();
    levada_block *block = test_block(pool, lengths, 3, 10), *made = NULL;
    const levada_column *x;

    (void)state;
    assert_int_equal(pad(pool, block, NULL, &made, NULL), LEVADA_OK);
    x = levada_block_column(made, "x");
    assert_int_equal(levada_column_dim(x, 0), 3);
    assert_int_equal(levada_column_dim(x, 1), 3);
    assert_memory_equal(levada_column_i64(x), want, sizeof want);
    assert_memory_equal(x->lengths, lengths, sizeof lengths);
    assert_null(levada_block_column(made, "n")->lengths);
    levada_block_unref(&made);
    levada_block_unref(&block);
    levada_pool_unref(&pool);
}

static void pads_with_a_value_to_given_lengths_and_multiples(void **state)
{
    const int32_t  lengths[2] = { 1, 3 };
    const int64_t  value = -7, want[8] = { 0, -7, -7, -7, 1, 1, 1, -7 };
    levada_padding how = { .dims = { -1 }, .multiple = 4 };
    levada_pool   *pool = test_pool();
    levada_block  *block = test_block(pool, lengths, 2, 0), *made = NULL;
    levada_error   err = LEVADA_ERROR_INIT;

    (void)state;
    memcpy(how.value, &value, sizeof value);
    assert_int_equal(pad(pool, block, &how, &made, NULL), LEVADA_OK);
    assert_int_equal(levada_column_dim(levada_block_column(made, "x"), 1), 4);
    assert_memory_equal(levada_block_column(made, "x")->values, want, sizeof want);
    levada_block_unref(&made);
    how.dims[0] = 2;
    assert_int_equal(pad(pool, block, &how, &made, &err), LEVADA_EDATA_LOSS);
    assert_non_null(strstr(err.message, "smaller size"));
    levada_block_unref(&block);
    levada_pool_unref(&pool);
}

static void pads_two_ragged_levels(void **state)
{
    const int32_t outer[2] = { 2, 1 }, inner[3] = { 1, 3, 2 };
    const int32_t want[12] = { 0, 0, 0, 1, 2, 3, 4, 5, 0, 0, 0, 0 };
    levada_pool  *pool = test_pool();
    levada_block *block = test_nested(pool, outer, 2, inner), *made = NULL;
    const levada_column *w;

    (void)state;
    assert_int_equal(pad(pool, block, NULL, &made, NULL), LEVADA_OK);
    w = levada_block_column(made, "w");
    assert_int_equal(levada_column_dim(w, 1), 2);
    assert_int_equal(levada_column_dim(w, 2), 3);
    assert_memory_equal(w->values, want, sizeof want);
    assert_memory_equal(w->lengths, outer, sizeof outer);
    levada_block_unref(&made);
    levada_block_unref(&block);
    levada_pool_unref(&pool);
}

/* The rows ["one"] and ["two", "three"], padded with "<pad>". */
static levada_block *padded_bytes(levada_pool *pool)
{
    levada_field    field = { .name = "b", .dtype = LEVADA_BYTES, .depth = 1 };
    levada_padding  how = { .dims = { -1 }, .text = "<pad>", .text_size = 5 };
    levada_spec    *spec = NULL;
    levada_builder *b = NULL;
    levada_block   *block = NULL, *made = NULL;

    assert_int_equal(levada_spec_create(&field, 1, 0, &spec, NULL), LEVADA_OK);
    assert_int_equal(levada_builder_make(pool, spec, -1, &b, NULL), LEVADA_OK);
    assert_int_equal(levada_builder_push_bytes(b, 0, "one", 3, NULL), LEVADA_OK);
    assert_int_equal(levada_builder_end_row(b, 0, NULL), LEVADA_OK);
    assert_int_equal(levada_builder_push_bytes(b, 0, "two", 3, NULL), LEVADA_OK);
    assert_int_equal(levada_builder_push_bytes(b, 0, "three", 5, NULL), LEVADA_OK);
    assert_int_equal(levada_builder_end_row(b, 0, NULL), LEVADA_OK);
    assert_int_equal(levada_builder_publish(&b, &block, NULL), LEVADA_OK);
    assert_int_equal(pad(pool, block, &how, &made, NULL), LEVADA_OK);
    levada_block_unref(&block);
    levada_spec_unref(&spec);
    return made;
}

static void expect_strings(const levada_column *c, const char *const *want, int n)
{
    for (int i = 0; i < n; i++) {
        int32_t size = c->level[0].end[i] - c->level[0].begin[i];

        assert_int_equal(size, strlen(want[i]));
        assert_memory_equal(c->values + c->level[0].begin[i], want[i], (size_t)size);
    }
}

static void pads_byte_strings_with_a_text(void **state)
{
    levada_pool  *pool = test_pool();
    levada_block *made = padded_bytes(pool);
    const char   *want[4] = { "one", "<pad>", "two", "three" };

    (void)state;
    expect_strings(levada_block_column(made, "b"), want, 4);
    levada_block_unref(&made);
    levada_pool_unref(&pool);
}

static void a_slice_of_padded_byte_strings_keeps_their_lengths(void **state)
{
    levada_pool         *pool = test_pool();
    levada_block        *made = padded_bytes(pool), *last = NULL;
    const levada_column *c;
    const char          *want[2] = { "two", "three" };

    (void)state;
    assert_int_equal(levada_block_slice(pool, made, 1, 1, &last, NULL), LEVADA_OK);
    c = levada_block_column(last, "b");
    assert_int_equal(c->n, 1);
    assert_int_equal(c->lengths[0], 2);
    expect_strings(c, want, 2);
    levada_block_unref(&last);
    levada_block_unref(&made);
    levada_pool_unref(&pool);
}

/* Rows of two blocks: FIXED columns are gathered, in any order. */
static void copies_fixed_columns_of_any_rows(void **state)
{
    const int32_t  lengths[4] = { 1, 0, 2, 1 };
    const uint32_t which[6] = { 0, 0, 1, 1, 0, 1 }, row[6] = { 1, 2, 0, 1, 3, 3 };
    const int64_t  want[6] = { 11, 12, 20, 21, 13, 23 };
    levada_pool   *pool = test_pool();
    levada_block  *from[2] = { test_block(pool, lengths, 4, 10), test_block(pool, lengths, 4, 20) };
    levada_block  *both = NULL, *made = NULL;
    levada_buffer *index = NULL;

    (void)state;
    assert_int_equal(levada_block_selection(from, 2, which, row, 6, &index, &both, NULL),
                     LEVADA_OK);
    assert_int_equal(pad(pool, both, NULL, &made, NULL), LEVADA_OK);
    assert_memory_equal(levada_column_i64(levada_block_column(made, "n")), want, sizeof want);
    for (int64_t i = 0; i < 6; i++) {
        int64_t        size = -1;
        const uint8_t *s = levada_column_bytes(levada_block_column(made, "s"), i, &size);

        assert_int_equal(size, want[i] % 5);
        if (size) assert_int_equal(s[0], 'a' + want[i] % 10);
        assert_int_equal(levada_block_column(made, "x")->lengths[i], lengths[want[i] % 10]);
    }
    levada_block_unref(&made);
    levada_block_unref(&both);
    levada_pool_unref(&pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pads_to_the_longest_with_lengths),
        cmocka_unit_test(pads_with_a_value_to_given_lengths_and_multiples),
        cmocka_unit_test(pads_two_ragged_levels),
        cmocka_unit_test(pads_byte_strings_with_a_text),
        cmocka_unit_test(copies_fixed_columns_of_any_rows),
        cmocka_unit_test(a_slice_of_padded_byte_strings_keeps_their_lengths),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
