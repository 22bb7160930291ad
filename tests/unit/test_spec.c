/* SPDX-License-Identifier: Apache-2.0 */
#include "tensor/tensor_priv.h"
#include <levada/spec.h>

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static const levada_field fields[3] = {
    { .name = "a", .dtype = LEVADA_INT64, .ndim = 2, .dims = { 3, -1 } },
    { .name = "b", .dtype = LEVADA_BYTES, .depth = 1 },
    { .name = "c", .dtype = LEVADA_FLOAT32, .padded = true, .ndim = 1, .dims = { -1 } },
};

static void copies_what_it_is_given(void **state)
{
    char         name[4] = "one";
    levada_field field = { .name = name, .dtype = LEVADA_INT8 };
    levada_spec *spec = NULL;

    (void)state;
    assert_int_equal(levada_spec_create(&field, 1, LEVADA_SPEC_OPEN | LEVADA_SPEC_BATCHED, &spec,
                                        NULL), LEVADA_OK);
    memset(name, 'x', 3);
    field.dtype = LEVADA_BYTES;
    assert_string_equal(levada_spec_field(spec, 0)->name, "one");
    assert_int_equal(levada_spec_field(spec, 0)->dtype, LEVADA_INT8);
    assert_int_equal(levada_spec_flags_of(spec), LEVADA_SPEC_OPEN | LEVADA_SPEC_BATCHED);
    levada_spec_unref(&spec);
    assert_null(spec);
    levada_spec_unref(&spec);
}

static void finds_fields(void **state)
{
    levada_spec *spec = NULL, *second;

    (void)state;
    assert_int_equal(levada_spec_create(fields, 3, 0, &spec, NULL), LEVADA_OK);
    second = levada_spec_ref(spec);
    levada_spec_unref(&spec);
    assert_int_equal(levada_spec_count(second), 3);
    assert_int_equal(levada_spec_find(second, "c"), 2);
    assert_int_equal(levada_spec_find(second, "d"), -1);
    assert_int_equal(levada_spec_find(second, ""), -1);
    assert_null(levada_spec_field(second, 3));
    assert_null(levada_spec_field(second, -1));
    levada_spec_unref(&second);
}

static void may_be_empty(void **state)
{
    levada_spec *spec = NULL;

    (void)state;
    assert_int_equal(levada_spec_create(NULL, 0, 0, &spec, NULL), LEVADA_OK);
    assert_int_equal(levada_spec_count(spec), 0);
    assert_null(levada_spec_field(spec, 0));
    levada_spec_unref(&spec);
}

static void refuses_what_is_no_field(void **state)
{
    levada_field bad[2] = { { .name = "a", .dtype = LEVADA_INT8 }, { .name = "a" } };
    levada_spec *spec = NULL;
    levada_error err = LEVADA_ERROR_INIT;

    (void)state;
    assert_int_equal(levada_spec_create(bad, 2, 0, &spec, &err), LEVADA_EINVALID_ARGUMENT);
    assert_non_null(strstr(err.message, "two fields are named 'a'"));
    bad[1].name = NULL;
    assert_int_equal(levada_spec_create(bad, 2, 0, &spec, &err), LEVADA_EINVALID_ARGUMENT);
    assert_non_null(strstr(err.message, "no name"));
    bad[0].depth = LEVADA_MAX_DEPTH + 1;
    assert_int_equal(levada_spec_create(bad, 1, 0, &spec, &err), LEVADA_EINVALID_ARGUMENT);
    assert_non_null(strstr(err.message, "depth 5"));
    bad[0].depth = 0;
    bad[0].ndim = LEVADA_MAX_DIMS + 1;
    assert_int_equal(levada_spec_create(bad, 1, 0, &spec, &err), LEVADA_EINVALID_ARGUMENT);
    assert_null(spec);
}

static void equality(void **state)
{
    levada_field other[3];
    levada_spec *a = NULL, *b = NULL;

    (void)state;
    assert_int_equal(levada_spec_create(fields, 3, 0, &a, NULL), LEVADA_OK);
    for (int i = 0; i < 7; i++) {
        memcpy(other, fields, sizeof other);
        if (i == 1) other[0].dims[1] = 4;
        if (i == 2) other[1].depth = 2;
        if (i == 3) other[2].padded = false;
        if (i == 4) other[2].name = "d";
        if (i == 5) other[0].dtype = LEVADA_INT32;
        if (i == 6) other[0].dims[5] = 9; /* beyond ndim: nobody looks */
        assert_int_equal(levada_spec_create(other, 3, 1, &b, NULL), LEVADA_OK);
        assert_int_equal(levada_spec_equal(a, b), i == 0 || i == 6);
        levada_spec_unref(&b);
    }
    assert_int_equal(levada_spec_create(fields, 2, 0, &b, NULL), LEVADA_OK);
    assert_false(levada_spec_equal(a, b));
    assert_true(levada_spec_equal(a, a));
    levada_spec_unref(&a);
    levada_spec_unref(&b);
}

/* The table of dtypes.h, once more. */
static void dtypes(void **state)
{
    static const char *const names[] = {
        "bool",   "int8",    "int16",    "int32",   "int64",   "uint8",     "uint16",     "uint32",
        "uint64", "float16", "bfloat16", "float32", "float64", "complex64", "complex128",
    };
    static const int64_t     sizes[] = { 1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 2, 4, 8, 8, 16 };

    (void)state;
    for (int i = 0; i < 15; i++) {
        levada_dtype dtype = levada_dtype_find(names[i]);

        assert_int_equal(dtype, i + 1);
        assert_int_equal(levada_dtype_size(dtype), sizes[i]);
        assert_string_equal(levada_dtype_name(dtype), names[i]);
    }
    assert_int_equal(levada_dtype_find("string"), LEVADA_BYTES);
    assert_int_equal(levada_dtype_find("bytes"), LEVADA_BYTES);
    assert_int_equal(levada_dtype_find("Int64"), LEVADA_NONE);
    assert_int_equal(levada_dtype_find(""), LEVADA_NONE);
    assert_int_equal(levada_dtype_find("?"), LEVADA_NONE);
    assert_string_equal(levada_dtype_name(LEVADA_NONE), "?");
    assert_string_equal(levada_dtype_name((levada_dtype)99), "?");
    assert_int_equal(levada_dtype_size(LEVADA_BYTES), 0);
    assert_int_equal(levada_dtype_size((levada_dtype)-1), 0);
}

static void names_the_first_difference(void **state)
{
    levada_field  other[3];
    levada_spec  *a = NULL, *b = NULL, *two = NULL;
    char          text[LEVADA_SPEC_DIFFERENCE];

    (void)state;
    memcpy(other, fields, sizeof other);
    other[1].depth = 2;
    assert_int_equal(levada_spec_create(fields, 3, 0, &a, NULL), LEVADA_OK);
    assert_int_equal(levada_spec_create(other, 3, 0, &b, NULL), LEVADA_OK);
    assert_int_equal(levada_spec_create(fields, 2, 0, &two, NULL), LEVADA_OK);
    assert_string_equal(levada_spec_difference(a, b, text), "'b' is string [?] and string [?,?]");
    assert_string_equal(levada_spec_difference(a, two, text), "column 2 is 'c' and missing");
    assert_string_equal(levada_spec_difference(two, a, text), "column 2 is missing and 'c'");
    levada_spec_unref(&two);
    levada_spec_unref(&b);
    levada_spec_unref(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_what_it_is_given), cmocka_unit_test(finds_fields),
        cmocka_unit_test(may_be_empty),            cmocka_unit_test(refuses_what_is_no_field),
        cmocka_unit_test(equality),                cmocka_unit_test(dtypes),
        cmocka_unit_test(names_the_first_difference),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
