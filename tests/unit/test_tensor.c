/* SPDX-License-Identifier: Apache-2.0 */
#include "support/queues.h"
#include "tensor/tensor_priv.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void copies_what_it_is_made_of(void **state)
{
    int16_t        values[] = { 1, 2, 3, 4, 5, 6 };
    levada_tensor *t = test_tensor(LEVADA_INT16, 2, (int64_t[]){ 2, 3 }, values), *other;

    (void)state;
    values[0] = 9;
    assert_int_equal(levada_tensor_dtype(t), LEVADA_INT16);
    assert_int_equal(levada_tensor_count(t), 6);
    assert_int_equal(levada_tensor_bytes(t), 12);
    assert_int_equal(*(int16_t *)levada_tensor_data(t), 1);
    assert_null(levada_tensor_offsets(t));
    other = levada_tensor_ref(t);
    levada_tensor_unref(&t);
    assert_null(t);
    assert_int_equal(*(int16_t *)levada_tensor_data(other), 1);
    levada_tensor_unref(&other);
    levada_tensor_unref(&other); /* accepts NULL */
}

static void holds_byte_strings_from_anywhere(void **state)
{
    int32_t        offsets[] = { 3, 5, 5, 9 };
    levada_shape   shape = { 1, { 3 } };
    levada_tensor *t = NULL;
    levada_error   err = LEVADA_ERROR_INIT;

    (void)state;
    assert_int_equal(levada_tensor_create_strings(NULL, &shape, offsets, "___ab1234", &t, NULL),
                     LEVADA_OK);
    assert_memory_equal(levada_tensor_offsets(t), ((int32_t[]){ 0, 2, 2, 6 }), 16);
    assert_memory_equal(levada_tensor_data(t), "ab1234", 6);
    levada_tensor_unref(&t);
    offsets[2] = 4;
    assert_int_equal(levada_tensor_create_strings(NULL, &shape, offsets, "", &t, &err),
                     LEVADA_EINVALID_ARGUMENT);
    assert_non_null(strstr(err.message, "must not decrease, but offset 2 is 4, after 5"));
}

static void count_release(void *user) { ++*(int *)user; }

static void wraps_memory_until_the_last_reference(void **state)
{
    float          values[4] = { 1, 2, 3, 4 };
    int            released = 0;
    levada_shape   shape = { 1, { 4 } };
    levada_tensor *t = NULL, *two;

    (void)state;
    assert_int_equal(levada_tensor_wrap(LEVADA_FLOAT32, &shape, values, count_release, &released,
                                        &t, NULL),
                     LEVADA_OK);
    assert_ptr_equal(levada_tensor_data(t), values);
    two = levada_tensor_ref(t);
    levada_tensor_unref(&t);
    assert_int_equal(released, 0);
    levada_tensor_unref(&two);
    assert_int_equal(released, 1);
}

static void refuses_what_is_no_tensor(void **state)
{
    levada_shape   open = { 1, { -1 } }, any = { -1, { 0 } }, huge = { 3, { 1 << 30, 1 << 30, 8 } };
    levada_shape   one = { 0, { 0 } };
    levada_tensor *t = NULL;

    (void)state;
    assert_int_equal(levada_tensor_create(NULL, LEVADA_INT8, &open, NULL, &t, NULL),
                     LEVADA_EINVALID_ARGUMENT);
    assert_int_equal(levada_tensor_create(NULL, LEVADA_INT8, &any, NULL, &t, NULL),
                     LEVADA_EINVALID_ARGUMENT);
    assert_int_equal(levada_tensor_create(NULL, LEVADA_NONE, &one, NULL, &t, NULL),
                     LEVADA_EINVALID_ARGUMENT);
    assert_int_equal(levada_tensor_create(NULL, LEVADA_BYTES, &one, NULL, &t, NULL),
                     LEVADA_EINVALID_ARGUMENT);
    assert_int_equal(levada_tensor_create(NULL, LEVADA_INT8, &huge, NULL, &t, NULL),
                     LEVADA_ERESOURCE_EXHAUSTED);
    assert_null(t);
}

static void rows_are_copied_or_shared(void **state)
{
    static int64_t values[2 * 1024];
    levada_tensor *small = test_tensor(LEVADA_INT64, 2, (int64_t[]){ 2, 3 }, values);
    levada_tensor *large = test_tensor(LEVADA_INT64, 2, (int64_t[]){ 2, 1024 }, values);
    levada_tensor *a = NULL, *b = NULL;
    levada_pool   *pool = levada_env_pool(NULL);

    (void)state;
    assert_int_equal(levada_tensor_row(pool, small, 1, &a, NULL), LEVADA_OK);
    assert_int_equal(levada_tensor_row(pool, large, 1, &b, NULL), LEVADA_OK);
    assert_ptr_not_equal(levada_tensor_data(a), (int64_t *)levada_tensor_data(small) + 3);
    assert_ptr_equal(levada_tensor_data(b), (int64_t *)levada_tensor_data(large) + 1024);
    levada_tensor_unref(&small);
    levada_tensor_unref(&large);
    assert_int_equal(((int64_t *)levada_tensor_data(b))[1023], 0); /* still there */
    levada_tensor_unref(&a);
    levada_tensor_unref(&b);
}

static void shapes_print_as_they_are_typed(void **state)
{
    char         text[LEVADA_SHAPE_TEXT];
    levada_shape none = { 0, { 0 } }, some = { 3, { 3, -1, 12345678901 } }, any = { -1, { 0 } };
    levada_shape all = { 8, { -1, -1, 0, 1, 2, 3, 4, 5 } };

    (void)state;
    assert_string_equal(levada_shape_print(&none, text), "[]");
    assert_string_equal(levada_shape_print(&some, text), "[3,?,12345678901]");
    assert_string_equal(levada_shape_print(&any, text), "any shape");
    assert_string_equal(levada_shape_print(&all, text), "[?,?,0,1,2,3,4,5]");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_what_it_is_made_of),
        cmocka_unit_test(holds_byte_strings_from_anywhere),
        cmocka_unit_test(wraps_memory_until_the_last_reference),
        cmocka_unit_test(refuses_what_is_no_tensor),
        cmocka_unit_test(rows_are_copied_or_shared),
        cmocka_unit_test(shapes_print_as_they_are_typed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
