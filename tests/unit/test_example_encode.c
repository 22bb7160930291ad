/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <levada/example.h>

static levada_example *example;

static int set_up(void **state)
{
    (void)state;
    return levada_example_create(&example, NULL) == LEVADA_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    levada_example_destroy(&example);
    return 0;
}

static void check(const char *want, size_t size)
{
    const uint8_t *data = NULL;
    size_t got = 0;

    assert_int_equal(levada_example_finish(example, &data, &got, NULL), LEVADA_OK);
    assert_int_equal(got, size);
    assert_memory_equal(data, want, size);
}
#define CHECK(text) check(text, sizeof(text) - 1)

static void writes_each_kind(void **state)
{
    static const int64_t ints[] = { 1, -2 };
    static const float floats[] = { 1.5F };
    static const void *const words[] = { "xy", "" };
    static const size_t sizes[] = { 2, 0 };

    (void)state;
    assert_int_equal(levada_example_add_i64(example, "i", ints, 2, NULL), LEVADA_OK);
    CHECK("\x0a\x16\x0a\x14\x0a\x01"
          "i\x12\x0f\x1a\x0d\x0a\x0b\x01\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01");
    levada_example_reset(example);
    assert_int_equal(levada_example_add_f32(example, "f", floats, 1, NULL), LEVADA_OK);
    CHECK("\x0a\x0f\x0a\x0d\x0a\x01"
          "f\x12\x08\x12\x06\x0a\x04\x00\x00\xc0\x3f");
    levada_example_reset(example);
    assert_int_equal(levada_example_add_bytes(example, "s", words, sizes, 2, NULL), LEVADA_OK);
    CHECK("\x0a\x0f\x0a\x0d\x0a\x01"
          "s\x12\x08\x0a\x06\x0a\x02xy\x0a\x00");
}

static void what_is_empty_may_have_no_kind(void **state)
{
    (void)state;
    assert_int_equal(levada_example_add_empty(example, "e", NULL), LEVADA_OK);
    CHECK("\x0a\x07\x0a\x05\x0a\x01"
          "e\x12\x00");
    assert_int_equal(levada_example_add_empty(example, NULL, NULL), LEVADA_EFAILED_PRECONDITION);
    levada_example_reset(example);
}

static void empty_lists_keep_their_kind(void **state)
{
    (void)state;
    assert_int_equal(levada_example_add_i64(example, "a", NULL, 0, NULL), LEVADA_OK);
    CHECK("\x0a\x09\x0a\x07\x0a\x01"
          "a\x12\x02\x1a\x00");
}

static void an_empty_message_is_an_example(void **state)
{
    (void)state;
    CHECK("\x0a\x00");
}

static void writes_feature_lists(void **state)
{
    static const int64_t v[] = { 7 };

    (void)state;
    assert_int_equal(levada_example_begin_list(example, "a", NULL), LEVADA_OK);
    assert_int_equal(levada_example_add_i64(example, NULL, v, 1, NULL), LEVADA_OK);
    assert_int_equal(levada_example_add_i64(example, NULL, v, 1, NULL), LEVADA_OK);
    assert_int_equal(levada_example_end_list(example, NULL), LEVADA_OK);
    CHECK("\x12\x15\x0a\x13\x0a\x01"
          "a\x12\x0e\x0a\x05\x1a\x03\x0a\x01\x07\x0a\x05\x1a\x03\x0a\x01\x07");
}

static void refuses_what_is_out_of_turn(void **state)
{
    static const int64_t v[] = { 7 };
    const levada_status early = LEVADA_EFAILED_PRECONDITION;
    const uint8_t *data;
    size_t size;

    (void)state;
    assert_int_equal(levada_example_add_i64(example, NULL, v, 1, NULL), early);
    assert_int_equal(levada_example_end_list(example, NULL), early);
    assert_int_equal(levada_example_begin_list(example, "a", NULL), LEVADA_OK);
    assert_int_equal(levada_example_begin_list(example, "b", NULL), early);
    assert_int_equal(levada_example_add_i64(example, "a", v, 1, NULL), early);
    assert_int_equal(levada_example_finish(example, &data, &size, NULL), early);
}

static void refuses_messages_beyond_2_gib(void **state)
{
    const void *word = "";
    const size_t size = (size_t)INT32_MAX + 1;

    (void)state;
    assert_int_equal(levada_example_add_bytes(example, "a", &word, &size, 1, NULL),
                     LEVADA_ERESOURCE_EXHAUSTED);
    CHECK("\x0a\x00");
}

static void refuses_missing_arguments(void **state)
{
    static const int64_t        v[] = { 7 };
    static const float          f[] = { 7 };
    const void *const           word = "";
    const size_t                zero = 0;
    const levada_status         bad = LEVADA_EINVALID_ARGUMENT;
    const levada_example_values none = { .dtype = LEVADA_INT64, .count = 1 };
    const levada_example_values less = { .dtype = LEVADA_BYTES, .count = -1 };
    const uint8_t              *data;
    size_t                      size;

    (void)state;
    assert_int_equal(levada_example_add_i64(example, "a", v, -1, NULL), bad);
    assert_int_equal(levada_example_add_f32(example, "a", f, -1, NULL), bad);
    assert_int_equal(levada_example_add_bytes(example, "a", &word, &zero, -1, NULL), bad);
    assert_int_equal(levada_example_add_values(example, "a", 1, &less, NULL), bad);
    assert_int_equal(levada_example_add_f32(example, "a", f, INT64_MAX / 2, NULL),
                     LEVADA_ERESOURCE_EXHAUSTED);
    CHECK("\x0a\x00");
    if (LEVADA_DEBUG) return; /* NULL aborts there */
    assert_int_equal(levada_example_add_i64(example, "a", NULL, 1, NULL), bad);
    assert_int_equal(levada_example_add_f32(example, "a", NULL, 1, NULL), bad);
    assert_int_equal(levada_example_add_bytes(example, "a", NULL, &zero, 1, NULL), bad);
    assert_int_equal(levada_example_add_bytes(example, "a", &word, NULL, 1, NULL), bad);
    assert_int_equal(levada_example_add_values(example, "a", 1, NULL, NULL), bad);
    assert_int_equal(levada_example_add_values(example, "a", 1, &none, NULL), bad);
    assert_int_equal(levada_example_begin_list(example, NULL, NULL), bad);
    assert_int_equal(levada_example_begin_list_key(example, NULL, 1, NULL), bad);
    assert_int_equal(levada_example_finish(example, NULL, &size, NULL), bad);
    assert_int_equal(levada_example_finish(example, &data, NULL, NULL), bad);
    CHECK("\x0a\x00");
}

static void a_list_may_have_the_empty_key(void **state)
{
    (void)state;
    assert_int_equal(levada_example_begin_list_key(example, NULL, 0, NULL), LEVADA_OK);
    assert_int_equal(levada_example_end_list(example, NULL), LEVADA_OK);
    CHECK("\x12\x06\x0a\x04\x0a\x00\x12\x00");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(writes_each_kind, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_empty_may_have_no_kind, set_up, tear_down),
        cmocka_unit_test_setup_teardown(empty_lists_keep_their_kind, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_empty_message_is_an_example, set_up, tear_down),
        cmocka_unit_test_setup_teardown(writes_feature_lists, set_up, tear_down),
        cmocka_unit_test_setup_teardown(refuses_what_is_out_of_turn, set_up, tear_down),
        cmocka_unit_test_setup_teardown(refuses_messages_beyond_2_gib, set_up, tear_down),
        cmocka_unit_test_setup_teardown(refuses_missing_arguments, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_list_may_have_the_empty_key, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
