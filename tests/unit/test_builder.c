/* SPDX-License-Identifier: Apache-2.0 */
#include "support/blocks.h"
#include "tensor/builder_priv.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

typedef struct fixture {
    levada_pool    *pool;
    levada_spec    *spec;
    levada_builder *b;
    levada_block   *block;
    levada_error    err;
} fixture;

static void begin(fixture *f, const levada_field *fields, int32_t n, int64_t rows)
{
    memset(f, 0, sizeof *f);
    f->pool = test_pool();
    assert_int_equal(levada_spec_create(fields, n, 0, &f->spec, NULL), LEVADA_OK);
    assert_int_equal(levada_builder_make(f->pool, f->spec, rows, &f->b, NULL), LEVADA_OK);
}

static levada_status publish(fixture *f)
{
    return levada_builder_publish(&f->b, &f->block, &f->err);
}

/* Everything that was reserved has been given back. */
static void end(fixture *f)
{
    levada_block_unref(&f->block);
    levada_builder_destroy(&f->b);
    levada_spec_unref(&f->spec);
    assert_int_equal(levada_pool_used(f->pool), 0);
    levada_pool_unref(&f->pool);
}

static void reserves_aligned_memory(void **state)
{
    levada_field field = { .name = "x", .dtype = LEVADA_INT64, .depth = 1 };
    fixture      f;
    int32_t     *offsets = NULL;
    void        *values = NULL;

    (void)state;
    begin(&f, &field, 1, 3);
    assert_int_equal(levada_builder_offsets(f.b, 0, 0, 3, &offsets, NULL), LEVADA_OK);
    assert_int_equal(offsets[0], 0);
    offsets[1] = 1;
    offsets[2] = 1;
    offsets[3] = 5;
    assert_int_equal(levada_builder_values(f.b, 0, 5, &values, NULL), LEVADA_OK);
    assert_int_equal((uintptr_t)values % 64, 0);
    memset(values, 3, 5 * 8 + 64); /* with its slack */
    assert_int_equal(publish(&f), LEVADA_OK);
    assert_null(f.b);
    assert_int_equal(levada_block_rows(f.block), 3);
    assert_int_equal(levada_column_length(levada_block_at(f.block, 0), 2), 4);
    assert_int_equal(levada_column_i64(levada_block_at(f.block, 0))[4], 0x0303030303030303);
    end(&f);
}

static void large_columns_have_buffers_of_their_own(void **state)
{
    levada_field fields[2] = { { .name = "a", .dtype = LEVADA_UINT8 },
                               { .name = "b", .dtype = LEVADA_UINT8 } };
    fixture      f;
    void        *a = NULL, *b = NULL;

    (void)state;
    begin(&f, fields, 2, 200000);
    assert_int_equal(levada_builder_values(f.b, 0, 200000, &a, NULL), LEVADA_OK);
    assert_int_equal(levada_builder_values(f.b, 1, 200000, &b, NULL), LEVADA_OK);
    memset(a, 1, 200000);
    memset(b, 2, 200000);
    assert_int_equal(publish(&f), LEVADA_OK);
    assert_int_equal(levada_column_u8(levada_block_at(f.block, 0))[199999], 1);
    assert_int_equal(levada_block_bytes(f.block), 400000);
    end(&f);
}

static void says_what_is_missing(void **state)
{
    levada_field ragged = { .name = "x", .dtype = LEVADA_INT64, .depth = 2 };
    levada_field fixed = { .name = "v", .dtype = LEVADA_INT64, .ndim = 1, .dims = { -1 } };
    fixture      f;
    int32_t     *offsets = NULL;
    void        *values = NULL;

    (void)state;
    begin(&f, &ragged, 1, 2);
    assert_int_equal(levada_builder_offsets(f.b, 0, 1, 2, &offsets, NULL), LEVADA_OK);
    assert_int_equal(publish(&f), LEVADA_EINTERNAL);
    assert_non_null(strstr(f.err.message, "'x': level 0"));
    assert_null(f.b);
    end(&f);
    begin(&f, &fixed, 1, 2);
    assert_int_equal(levada_builder_values(f.b, 0, 2, &values, NULL), LEVADA_OK);
    assert_int_equal(publish(&f), LEVADA_EINTERNAL);
    assert_non_null(strstr(f.err.message, "dimension 0 is not known"));
    end(&f);
    fixed.dims[0] = 1;
    begin(&f, &fixed, 1, 2);
    assert_int_equal(publish(&f), LEVADA_EINTERNAL);
    assert_non_null(strstr(f.err.message, "'v' has no values"));
    end(&f);
    begin(&f, &fixed, 1, 0); /* without rows nothing can be missing */
    assert_int_equal(publish(&f), LEVADA_OK);
    end(&f);
}

static void refuses_what_no_block_can_hold(void **state)
{
    levada_field field = { .name = "x", .dtype = LEVADA_COMPLEX128, .depth = 1 };
    fixture      f;
    int32_t     *offsets = NULL;
    void        *values = NULL;

    (void)state;
    begin(&f, &field, 1, 1);
    assert_int_equal(levada_builder_values(f.b, 0, (INT64_C(1) << 26) + 1, &values, &f.err),
                     LEVADA_ERESOURCE_EXHAUSTED);
    assert_non_null(strstr(f.err.message, "1 GiB"));
    assert_int_equal(levada_builder_values(f.b, 0, INT64_MAX, &values, NULL),
                     LEVADA_ERESOURCE_EXHAUSTED);
    assert_int_equal(levada_builder_values(f.b, 0, -1, &values, NULL), LEVADA_EINVALID_ARGUMENT);
    assert_int_equal(levada_builder_offsets(f.b, 0, 0, INT64_C(1) << 29, &offsets, NULL),
                     LEVADA_ERESOURCE_EXHAUSTED);
    end(&f);
}

/* -- pushing */

static void pushes_rows(void **state)
{
    levada_field fields[4] = { { .name = "n", .dtype = LEVADA_UINT16 },
                               { .name = "w", .dtype = LEVADA_BYTES, .depth = 1 },
                               { .name = "f", .dtype = LEVADA_FLOAT32, .ndim = 1, .dims = { 2 } },
                               { .name = "d", .dtype = LEVADA_FLOAT64, .depth = 1 } };
    fixture      f;
    const levada_column *c;

    (void)state;
    begin(&f, fields, 4, -1);
    for (int64_t i = 0; i < 3; i++) {
        assert_int_equal(levada_builder_push_i64(f.b, 0, 65533 + i, NULL), LEVADA_OK);
        for (int64_t k = 0; k < i; k++) {
            assert_int_equal(levada_builder_push_bytes(f.b, 1, "word", i + k, NULL), LEVADA_OK);
            assert_int_equal(levada_builder_push_f64(f.b, 3, 0.1, NULL), LEVADA_OK);
        }
        assert_int_equal(levada_builder_end_row(f.b, 1, NULL), LEVADA_OK);
        assert_int_equal(levada_builder_end_row(f.b, 3, NULL), LEVADA_OK);
        assert_int_equal(levada_builder_push_f64(f.b, 2, (double)i, NULL), LEVADA_OK);
        assert_int_equal(levada_builder_push_f64(f.b, 2, 0.5, NULL), LEVADA_OK);
    }
    assert_int_equal(publish(&f), LEVADA_OK);
    assert_int_equal(levada_block_rows(f.block), 3);
    assert_int_equal(((const uint16_t *)(const void *)levada_block_at(f.block, 0)->values)[2],
                     65535);
    c = levada_block_column(f.block, "w");
    assert_int_equal(levada_column_length(c, 0), 0);
    assert_int_equal(levada_column_length(c, 2), 2);
    assert_int_equal(c->level[1].end[2] - c->level[1].begin[2], 3);
    assert_memory_equal(c->values + c->level[1].begin[2], "wor", 3);
    assert_true(levada_column_f32(levada_block_at(f.block, 2))[4] == 2.0f);
    assert_true(levada_column_f64(levada_block_at(f.block, 3))[2] == 0.1);
    end(&f);
}

static void expect_push(levada_dtype dtype, int64_t value, bool fits)
{
    levada_field  field = { .name = "n", .dtype = dtype };
    fixture       f;
    levada_status st;

    begin(&f, &field, 1, -1);
    st = levada_builder_push_i64(f.b, 0, value, &f.err);
    if (st != (fits ? LEVADA_OK : LEVADA_EINVALID_ARGUMENT)) {
        fail_msg("%lld as %s: %s", (long long)value, levada_dtype_name(dtype),
                 levada_status_name(st));
    }
    if (!fits) assert_non_null(strstr(f.err.message, "does not fit into column 'n'"));
    end(&f);
}

static void numbers_must_fit(void **state)
{
    static const struct {
        levada_dtype dtype;
        int64_t      least, most;
    } limits[] = {
        { LEVADA_BOOL, 0, 1 },           { LEVADA_INT8, INT8_MIN, INT8_MAX },
        { LEVADA_INT16, INT16_MIN, INT16_MAX }, { LEVADA_INT32, INT32_MIN, INT32_MAX },
        { LEVADA_UINT8, 0, UINT8_MAX },  { LEVADA_UINT16, 0, UINT16_MAX },
        { LEVADA_UINT32, 0, UINT32_MAX },
    };

    (void)state;
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        expect_push(limits[i].dtype, limits[i].least, true);
        expect_push(limits[i].dtype, limits[i].most, true);
        expect_push(limits[i].dtype, limits[i].least - 1, false);
        expect_push(limits[i].dtype, limits[i].most + 1, false);
    }
    expect_push(LEVADA_INT64, INT64_MIN, true);
    expect_push(LEVADA_UINT64, INT64_MAX, true);
    expect_push(LEVADA_UINT64, -1, false);
}

static void pushes_must_be_of_the_column(void **state)
{
    levada_field fields[3] = { { .name = "n", .dtype = LEVADA_INT64 },
                               { .name = "s", .dtype = LEVADA_BYTES },
                               { .name = "f", .dtype = LEVADA_FLOAT32 } };
    fixture      f;

    (void)state;
    begin(&f, fields, 3, -1);
    assert_int_equal(levada_builder_push_bytes(f.b, 0, "x", 1, &f.err), LEVADA_EINVALID_ARGUMENT);
    assert_non_null(strstr(f.err.message, "cannot push bytes to column 'n' of int64"));
    assert_int_equal(levada_builder_push_i64(f.b, 1, 1, NULL), LEVADA_EINVALID_ARGUMENT);
    assert_int_equal(levada_builder_push_f64(f.b, 0, 1, NULL), LEVADA_EINVALID_ARGUMENT);
    assert_int_equal(levada_builder_push_i64(f.b, 2, 1, NULL), LEVADA_EINVALID_ARGUMENT);
    assert_int_equal(levada_builder_end_row(f.b, 0, NULL), LEVADA_EINVALID_ARGUMENT);
    assert_int_equal(levada_builder_push_bytes(f.b, 1, "x", -1, NULL), LEVADA_EINVALID_ARGUMENT);
    end(&f);
}

static void columns_must_have_the_same_rows(void **state)
{
    levada_field fields[2] = { { .name = "a", .dtype = LEVADA_INT64 },
                               { .name = "b", .dtype = LEVADA_INT64 } };
    fixture      f;

    (void)state;
    begin(&f, fields, 2, -1);
    assert_int_equal(levada_builder_push_i64(f.b, 0, 1, NULL), LEVADA_OK);
    assert_int_equal(levada_builder_push_i64(f.b, 0, 1, NULL), LEVADA_OK);
    assert_int_equal(levada_builder_push_i64(f.b, 1, 1, NULL), LEVADA_OK);
    assert_int_equal(publish(&f), LEVADA_EINVALID_ARGUMENT);
    assert_non_null(strstr(f.err.message, "column 'b' has 1 rows, not 2"));
    end(&f);
}

/* -- sharing and rejecting */

static void shares_without_a_copy(void **state)
{
    const int32_t lengths[3] = { 1, 2, 0 };
    levada_pool  *pool = test_pool();
    levada_block *from = test_block(pool, lengths, 3, 5), *made = NULL;
    levada_builder *b = NULL;
    const uint8_t  *values = from->columns[0].values;

    (void)state;
    assert_int_equal(levada_builder_make(pool, from->spec, 3, &b, NULL), LEVADA_OK);
    for (int32_t i = 0; i < 3; i++) levada_builder_share(b, i, &from->columns[i]);
    assert_int_equal(levada_builder_publish(&b, &made, NULL), LEVADA_OK);
    levada_block_unref(&from);
    assert_ptr_equal(made->columns[0].values, values);
    assert_int_equal(levada_column_i64(levada_block_column(made, "n"))[2], 7);
    levada_block_unref(&made);
    assert_int_equal(levada_pool_used(pool), 0);
    levada_pool_unref(&pool);
}

static void count_release(void *user) { ++*(int *)user; }

static void shares_foreign_values(void **state)
{
    static const int64_t numbers[2] = { 4, 5 };
    levada_field         field = { .name = "n", .dtype = LEVADA_INT64 };
    levada_buffer       *owner = NULL;
    fixture              f;
    int                  released = 0;

    (void)state;
    begin(&f, &field, 1, 2);
    assert_int_equal(levada_buffer_wrap(numbers, sizeof numbers, count_release, &released, &owner,
                                        NULL), LEVADA_OK);
    levada_builder_share_values(f.b, 0, (const uint8_t *)numbers, owner);
    levada_buffer_unref(&owner);
    assert_int_equal(publish(&f), LEVADA_OK);
    assert_ptr_equal(levada_column_i64(levada_block_at(f.block, 0)), numbers);
    assert_int_equal(released, 0);
    end(&f);
    assert_int_equal(released, 1);
}

static void keeps_rejects(void **state)
{
    levada_field field = { .name = "n", .dtype = LEVADA_INT64 };
    levada_error why = LEVADA_ERROR_INIT;
    fixture      f;

    (void)state;
    begin(&f, &field, 1, -1);
    (void)levada_fail(&why, LEVADA_EDATA_LOSS, "no");
    for (int64_t i = 0; i < 100; i++) {
        assert_int_equal(levada_builder_push_i64(f.b, 0, i, NULL), LEVADA_OK);
        assert_int_equal(levada_builder_reject(f.b, i, &why, NULL), LEVADA_OK);
    }
    why.message[0] = '?';
    assert_int_equal(publish(&f), LEVADA_OK);
    assert_int_equal(f.block->nrejects, 100);
    assert_int_equal(f.block->rejects[63].row, 63);
    assert_string_equal(f.block->rejects[99].why.message, "no");
    end(&f);
}

static void a_reject_is_an_error_whatever_its_code(void **state)
{
    static const int codes[] = { 0, 1, 42, -99999, INT16_MIN };
    levada_field     field = { .name = "n", .dtype = LEVADA_INT64 };
    levada_error     why = LEVADA_ERROR_INIT;
    fixture          f;

    (void)state;
    begin(&f, &field, 1, -1);
    (void)levada_fail(&why, LEVADA_EDATA_LOSS, "no");
    for (int i = 0; i < 5; i++) {
        why.code = (levada_status)codes[i];
        assert_int_equal(levada_builder_push_i64(f.b, 0, i, NULL), LEVADA_OK);
        assert_int_equal(levada_builder_reject(f.b, i, &why, NULL), LEVADA_OK);
    }
    assert_int_equal(publish(&f), LEVADA_OK);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(f.block->rejects[i].why.code, i < 4 ? LEVADA_EUNKNOWN : INT16_MIN);
    }
    end(&f);
}

static void a_reject_must_be_of_a_row(void **state)
{
    levada_field field = { .name = "n", .dtype = LEVADA_INT64 };
    levada_error why = LEVADA_ERROR_INIT;

    (void)state;
    (void)levada_fail(&why, LEVADA_EDATA_LOSS, "no");
    for (int64_t row = 0; row < 4; row++) {
        fixture f;

        begin(&f, &field, 1, -1);
        assert_int_equal(levada_builder_push_i64(f.b, 0, 1, NULL), LEVADA_OK);
        assert_int_equal(levada_builder_push_i64(f.b, 0, 2, NULL), LEVADA_OK);
        assert_int_equal(levada_builder_reject(f.b, row, &why, NULL), LEVADA_OK);
        assert_int_equal(publish(&f), row < 2 ? LEVADA_OK : LEVADA_EINVALID_ARGUMENT);
        end(&f);
        begin(&f, &field, 1, 2); /* with a known number of rows at once */
        assert_int_equal(levada_builder_reject(f.b, row, &why, NULL),
                         row < 2 ? LEVADA_OK : LEVADA_EINVALID_ARGUMENT);
        end(&f);
    }
}

static void dimensions_are_those_of_the_builder(void **state)
{
    levada_field  field = { .name = "n", .dtype = LEVADA_UINT8, .ndim = 3, .dims = { -1, -1, -1 } };
    const int64_t dims[3] = { 300, 0, 70000 };
    fixture       f;
    int32_t      *lengths = NULL;
    void         *values = NULL;

    (void)state;
    begin(&f, &field, 1, 2);
    levada_builder_dims(f.b, 0, dims);
    assert_int_equal(levada_builder_values(f.b, 0, 0, &values, NULL), LEVADA_OK);
    assert_int_equal(levada_builder_lengths(f.b, 0, &lengths, NULL), LEVADA_OK);
    lengths[0] = lengths[1] = 3;
    assert_int_equal(publish(&f), LEVADA_OK);
    assert_int_equal(levada_block_bytes(f.block), 2 * sizeof *lengths);
    for (int d = 0; d < 3; d++) {
        assert_int_equal(levada_column_dim(levada_block_at(f.block, 0), d + 1), dims[d]);
    }
    end(&f);
}

static void ranges_are_two_arrays(void **state)
{
    levada_field field = { .name = "n", .dtype = LEVADA_UINT8, .depth = 1 };
    fixture      f;
    int32_t     *begins = NULL, *ends = NULL;
    void        *values = NULL;

    (void)state;
    begin(&f, &field, 1, 40);
    assert_int_equal(levada_builder_ranges(f.b, 0, 0, 40, &begins, &ends, NULL), LEVADA_OK);
    assert_int_equal(levada_builder_values(f.b, 0, 1, &values, NULL), LEVADA_OK);
    for (int i = 0; i < 40; i++) begins[i] = ends[i] = i & 1;
    assert_int_equal(publish(&f), LEVADA_OK);
    assert_int_equal(levada_block_bytes(f.block), 2 * 40 * sizeof *begins + 1);
    assert_int_equal(levada_column_begins(levada_block_at(f.block, 0), 0)[39], 1);
    end(&f);
}

static void origins_are_those_of_the_builder(void **state)
{
    levada_field field = { .name = "n", .dtype = LEVADA_INT64 };
    fixture      f;

    (void)state;
    begin(&f, &field, 1, -1);
    for (int i = 0; i < 4; i++) assert_int_equal(0, levada_builder_push_i64(f.b, 0, i, NULL));
    assert_int_equal(0, levada_builder_origin(f.b, 2, 7, 11, 13, NULL));
    assert_int_equal(0, levada_builder_origin(f.b, 1, 0, 0, -1, NULL));
    assert_int_equal(publish(&f), LEVADA_OK);
    for (int64_t i = 0; i < 4; i++) {
        levada_origin o = levada_block_origin(f.block, i);

        assert_int_equal(o.source, -1); /* the core knows which */
        assert_int_equal(o.shard, i == 2 ? 7 : i == 1 ? 0 : -1);
        assert_int_equal(o.record, i == 2 ? 11 : i == 1 ? 0 : -1);
        assert_int_equal(o.offset, i == 2 ? 13 : -1);
    }
    assert_int_equal(levada_block_origin_parts(f.block), 1);
    end(&f);
    begin(&f, &field, 1, 2);
    assert_int_equal(levada_builder_origin(f.b, 1, 0, 0, 0, NULL), LEVADA_OK);
    assert_int_equal(levada_builder_origin(f.b, 2, 0, 0, 0, NULL), LEVADA_EINVALID_ARGUMENT);
    end(&f);
}

static void may_be_given_up(void **state)
{
    levada_field fields[2] = { { .name = "w", .dtype = LEVADA_BYTES, .depth = 1 },
                               { .name = "x", .dtype = LEVADA_INT64, .depth = 3 } };
    fixture      f;
    int32_t     *offsets = NULL;

    (void)state;
    begin(&f, fields, 2, 2);
    assert_int_equal(levada_builder_push_bytes(f.b, 0, "abc", 3, NULL), LEVADA_OK);
    assert_int_equal(levada_builder_offsets(f.b, 1, 2, 9, &offsets, NULL), LEVADA_OK);
    levada_builder_destroy(&f.b);
    assert_null(f.b);
    levada_builder_destroy(&f.b);
    end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reserves_aligned_memory),
        cmocka_unit_test(large_columns_have_buffers_of_their_own),
        cmocka_unit_test(says_what_is_missing),
        cmocka_unit_test(refuses_what_no_block_can_hold),
        cmocka_unit_test(pushes_rows),
        cmocka_unit_test(numbers_must_fit),
        cmocka_unit_test(pushes_must_be_of_the_column),
        cmocka_unit_test(columns_must_have_the_same_rows),
        cmocka_unit_test(shares_without_a_copy),
        cmocka_unit_test(shares_foreign_values),
        cmocka_unit_test(keeps_rejects),
        cmocka_unit_test(a_reject_is_an_error_whatever_its_code),
        cmocka_unit_test(a_reject_must_be_of_a_row),
        cmocka_unit_test(dimensions_are_those_of_the_builder),
        cmocka_unit_test(ranges_are_two_arrays),
        cmocka_unit_test(origins_are_those_of_the_builder),
        cmocka_unit_test(may_be_given_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
