/* SPDX-License-Identifier: Apache-2.0 */
#include "support/blocks.h"

#include <levada/example.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static levada_example_kind parse(levada_example_view *v, const char *bytes, size_t size)
{
    levada_example_kind kind;

    assert_int_equal(levada_example_view_parse(v, bytes, size, &kind, NULL), LEVADA_OK);
    return kind;
}

static levada_example_view *view(void)
{
    levada_example_view *v = NULL;

    assert_int_equal(levada_example_view_create(&v, NULL), LEVADA_OK);
    return v;
}

static levada_example_values values_of(levada_example_view *v, int64_t feature, int64_t item)
{
    levada_example_values out;

    assert_int_equal(
        levada_example_view_values(v, levada_example_view_at(v, feature), item, &out, NULL),
        LEVADA_OK);
    return out;
}

/* What an example holds comes back through a view, with keys and values of any bytes. */
static void shows_what_was_added(void **state)
{
    static const int64_t     ints[] = { 1, -1, INT64_MAX };
    static const float       floats[] = { 0.5f, -2 };
    static const void *const texts[] = { "a\0b", "" };
    static const size_t      sizes[] = { 3, 0 };
    levada_example_values    all[] = {
        { .dtype = LEVADA_INT64, .count = 3, .i64 = ints },
        { .dtype = LEVADA_FLOAT32, .count = 2, .f32 = floats },
        { .dtype = LEVADA_BYTES, .count = 2, .bytes = texts, .sizes = sizes },
        { .dtype = LEVADA_NONE },
    };
    static const char *const keys[] = { "i\0", "f\xFF", "", "n" };
    static const size_t      key_sizes[] = { 2, 2, 0, 1 };
    levada_example_view     *v = view();
    levada_example          *e = NULL;
    const uint8_t           *data;
    size_t                   size;

    (void)state;
    assert_int_equal(levada_example_create(&e, NULL), LEVADA_OK);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(levada_example_add_values(e, keys[i], key_sizes[i], &all[i], NULL),
                         LEVADA_OK);
    }
    assert_int_equal(levada_example_begin_list_key(e, "\0", 1, NULL), LEVADA_OK);
    assert_int_equal(levada_example_add_values(e, NULL, 0, &all[0], NULL), LEVADA_OK);
    assert_int_equal(levada_example_end_list(e, NULL), LEVADA_OK);
    assert_int_equal(levada_example_finish(e, &data, &size, NULL), LEVADA_OK);
    assert_int_equal(parse(v, (const char *)data, size), LEVADA_EXAMPLE_SEQUENCE);
    assert_int_equal(levada_example_view_count(v), 5);
    for (int i = 0; i < 4; i++) {
        const levada_example_feature *f = levada_example_view_at(v, i);

        assert_int_equal(f->name_size, key_sizes[i]);
        assert_memory_equal(f->name, keys[i], key_sizes[i]);
        assert_int_equal(f->items[0].dtype, all[i].dtype);
        assert_int_equal(f->items[0].count, all[i].count);
    }
    assert_memory_equal(values_of(v, 0, 0).i64, ints, sizeof ints);
    assert_memory_equal(values_of(v, 1, 0).f32, floats, sizeof floats);
    assert_memory_equal(values_of(v, 2, 0).bytes[0], "a\0b", 3);
    assert_int_equal(values_of(v, 2, 0).sizes[1], 0);
    assert_true(levada_example_view_at(v, 4)->sequence);
    assert_memory_equal(values_of(v, 4, 0).i64, ints, sizeof ints);
    assert_null(levada_example_view_at(v, 5));
    levada_example_destroy(&e);
    levada_example_view_destroy(&v);
}

static void merges_and_replaces_as_the_decoders_do(void **state)
{
    levada_example_view *v = view();

    (void)state;
    /* [5] and [5] in one Feature; then the same key again without a kind, and another key. */
    assert_int_equal(parse(v, "\x0A\x11\x0A\x0F\x0A\x01" "c\x12\x0A\x1A\x03\x0A\x01\x05\x1A\x03\x0A"
                              "\x01\x05", 19), LEVADA_EXAMPLE_PLAIN);
    assert_int_equal(values_of(v, 0, 0).count, 2);
    assert_int_equal(parse(v, "\x0A\x14\x0A\x0B\x0A\x01" "a\x12\x06\x1A\x04\x0A\x02\x01\x02\x0A\x05"
                              "\x0A\x01" "a\x12\x00", 22), LEVADA_EXAMPLE_PLAIN);
    assert_int_equal(levada_example_view_count(v), 1);
    assert_int_equal(values_of(v, 0, 0).dtype, LEVADA_NONE);
    levada_example_view_destroy(&v);
}

static void other_records_have_no_features(void **state)
{
    static const char *const records[] = {
        "\x28\x01",                     /* a field that neither message has              */
        "\x0A\x07\x0A\x05\x0A\x03" "abc", /* keys without values                          */
        "\x0A\x07\x0A\x05\x0A\x01" "a",   /* cut off                                      */
        "text",
        "\x0A\x16\x0A\x14\x0A\x01" "a\x12\x0F\x1A\x0D\x0A\x0B" /* a varint of 11 bytes */
        "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01",
    };
    levada_example_view *v = view();

    (void)state;
    for (int i = 0; i < 4; i++) {
        assert_int_equal(parse(v, records[i], strlen(records[i])), LEVADA_EXAMPLE_OTHER);
        assert_int_equal(levada_example_view_count(v), 0);
    }
    assert_int_equal(parse(v, "", 0), LEVADA_EXAMPLE_PLAIN);
    assert_int_equal(parse(v, NULL, 0), LEVADA_EXAMPLE_PLAIN);
    levada_example_view_destroy(&v);
    levada_example_view_destroy(&v);
}

static void refuses_items_that_are_not_there(void **state)
{
    levada_example_view  *v = view();
    levada_example_values out;

    (void)state;
    assert_int_equal(parse(v, "\x0A\x07\x0A\x05\x0A\x01" "a\x12\x00", 9), LEVADA_EXAMPLE_PLAIN);
    assert_int_equal(levada_example_view_values(v, levada_example_view_at(v, 0), 1, &out, NULL),
                     LEVADA_EINVALID_ARGUMENT);
    levada_example_view_destroy(&v);
}

static void refuses_missing_arguments(void **state)
{
    levada_example_view          *v;
    const levada_example_feature *feature;
    levada_example_values         out;
    levada_example_kind           kind;
    const levada_status           bad = LEVADA_EINVALID_ARGUMENT;

    (void)state;
    if (LEVADA_DEBUG) skip(); /* NULL aborts there */
    v = view();
    assert_int_equal(parse(v, "\x0A\x07\x0A\x05\x0A\x01" "a\x12\x00", 9), LEVADA_EXAMPLE_PLAIN);
    feature = levada_example_view_at(v, 0);
    assert_int_equal(levada_example_view_values(v, NULL, 0, &out, NULL), bad);
    assert_int_equal(levada_example_view_values(v, feature, 0, NULL, NULL), bad);
    assert_int_equal(levada_example_view_parse(v, NULL, 1, &kind, NULL), bad);
    assert_int_equal(levada_example_view_parse(v, "", 0, NULL, NULL), bad);
    levada_example_view_destroy(&v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shows_what_was_added),
        cmocka_unit_test(merges_and_replaces_as_the_decoders_do),
        cmocka_unit_test(other_records_have_no_features),
        cmocka_unit_test(refuses_items_that_are_not_there),
        cmocka_unit_test(refuses_missing_arguments),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
