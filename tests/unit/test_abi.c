/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Structs without struct_size, as programs that were compiled before have them (docs/versions.md).
 * A change of these numbers needs another name of the library and another LEVADA_PLUGIN_ABI.
 */
#include <levada/levada.h>

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define AT(type, member, where) { #type "." #member, offsetof(type, member), where }
#define SIZE(type, bytes) { #type, sizeof(type), bytes }

/* Where pointers have 8 bytes. */
static const struct {
    const char *what;
    size_t      is, was;
} abi_numbers[] = {
    SIZE(levada_error, 1280),
    AT(levada_error, code, 0),
    AT(levada_error, stage, 4),
    AT(levada_error, file, 64),
    AT(levada_error, key, 576),
    AT(levada_error, record, 640),
    AT(levada_error, offset, 648),
    AT(levada_error, message, 656),
    AT(levada_error, token, 1168),
    AT(levada_error, reserved, 1176),
    SIZE(levada_origin, 32),
    AT(levada_origin, source, 0),
    AT(levada_origin, pass, 4),
    AT(levada_origin, shard, 8),
    AT(levada_origin, sub, 12),
    AT(levada_origin, record, 16),
    AT(levada_origin, offset, 24),
    SIZE(levada_level, 24),
    SIZE(levada_field, 104),
    AT(levada_field, dims, 16),
    AT(levada_field, pad, 80),
    AT(levada_field, object, 96),
    SIZE(levada_shape, 72),
    /* It grows at its end: no size. */
    AT(levada_column, field, 0),
    AT(levada_column, n, 8),
    AT(levada_column, dims, 16),
    AT(levada_column, level, 80),
    AT(levada_column, values, 200),
    AT(levada_column, owner, 208),
    AT(levada_column, lengths, 216),
};

static void members_are_where_programs_look_for_them(void **state)
{
    (void)state;
    if (sizeof(void *) != 8) skip();
    for (size_t i = 0; i < sizeof abi_numbers / sizeof *abi_numbers; i++) {
        if (abi_numbers[i].is == abi_numbers[i].was) continue;
        fail_msg("%s: %zu, was %zu", abi_numbers[i].what, abi_numbers[i].is,
                 abi_numbers[i].was);
    }
}

/* What a program has that was compiled before members were added to errors: they are within bytes
 * that it reserved. */
typedef struct abi_error {
    int     code;
    char    stage[60], file[512], key[64];
    int64_t record, offset;
    char    message[512];
    uint8_t reserved[112];
    uint8_t after[64]; /* of the program, not of the error */
} abi_error;

static void an_error_of_an_older_program_is_filled_and_nothing_after_it(void **state)
{
    static const uint8_t none[112];
    abi_error         old;
    levada_error        *err = (void *)&old;
    uint8_t              after[sizeof old.after];

    (void)state;
    memset(&old, 0x5a, sizeof old); /* it need not be initialized */
    memset(after, 0x5a, sizeof after);
    assert_int_equal(levada_fail(err, LEVADA_EDATA_LOSS, "broken"), LEVADA_EDATA_LOSS);
    levada_error_place(err, "1.take", "a.bin", 7, 96);
    levada_error_wrap(err, "while testing");
    assert_int_equal(old.code, LEVADA_EDATA_LOSS);
    assert_string_equal(old.stage, "1.take");
    assert_string_equal(old.file, "a.bin");
    assert_string_equal(old.message, "while testing: broken");
    assert_true(old.record == 7 && old.offset == 96);
    assert_memory_equal(old.reserved, none, sizeof none);
    levada_error_clear(err);
    assert_int_equal(old.code, LEVADA_OK);
    assert_memory_equal(old.after, after, sizeof after);
}

static void the_members_of_errors_need_no_layout(void **state)
{
    levada_error *err = levada_error_create();

    (void)state;
    assert_non_null(err);
    assert_int_equal(levada_error_code(err), LEVADA_OK);
    assert_true(levada_error_record(err) == -1 && levada_error_offset(err) == -1);
    levada_fail(err, LEVADA_ENOT_FOUND, "nothing");
    levada_error_place(err, "0.tfrecord", "b.bin", 3, 48);
    assert_int_equal(levada_error_code(err), LEVADA_ENOT_FOUND);
    assert_string_equal(levada_error_message(err), "nothing");
    assert_string_equal(levada_error_stage(err), "0.tfrecord");
    assert_string_equal(levada_error_file(err), "b.bin");
    assert_string_equal(levada_error_key(err), "");
    assert_true(levada_error_record(err) == 3 && levada_error_offset(err) == 48);
    assert_true(levada_error_token(err) == 0);
    levada_error_set_token(err, UINT64_MAX);
    levada_error_wrap(err, "while testing");
    assert_true(levada_error_token(err) == UINT64_MAX);
    levada_fail(err, LEVADA_ENOT_FOUND, "another one");
    assert_true(levada_error_token(err) == 0);
    levada_error_destroy(&err);
    assert_null(err);
    levada_error_destroy(&err);
}

/* A block of {"x": ragged int32, "s": bytes}. */
static levada_block *abi_block(void)
{
    levada_field fields[2] = {
        { .name = "x", .dtype = LEVADA_INT32, .depth = 1 },
        { .name = "s", .dtype = LEVADA_BYTES },
    };
    levada_spec    *spec = NULL;
    levada_builder *b = NULL;
    levada_block   *block = NULL;

    assert_int_equal(levada_spec_create(fields, 2, LEVADA_SPEC_PLAIN, &spec, NULL), LEVADA_OK);
    assert_int_equal(levada_builder_create(NULL, spec, 1, &b, NULL), LEVADA_OK);
    for (int64_t i = 7; i < 10; i++) {
        assert_int_equal(levada_builder_push_i64(b, 0, i, NULL), LEVADA_OK);
    }
    assert_int_equal(levada_builder_end_row(b, 0, NULL), LEVADA_OK);
    assert_int_equal(levada_builder_push_bytes(b, 1, "ab", 2, NULL), LEVADA_OK);
    assert_int_equal(levada_builder_publish(&b, &block, NULL), LEVADA_OK);
    levada_spec_unref(&spec);
    return block;
}

static void the_members_of_columns_need_no_layout(void **state)
{
    levada_block        *block = abi_block();
    const levada_column *x = levada_block_column(block, "x"), *s = levada_block_column(block, "s");

    (void)state;
    assert_string_equal(levada_column_field(x)->name, "x");
    assert_int_equal(levada_column_rows(x), 1);
    assert_ptr_equal(levada_column_values(x), levada_column_i32(x));
    assert_null(levada_column_lengths(x));
    assert_int_equal(levada_column_ends(x, 0)[0] - levada_column_begins(x, 0)[0], 3);
    assert_null(levada_column_begins(x, 1));
    assert_null(levada_column_ends(x, -1));
    assert_int_equal(levada_column_ends(s, 0)[0] - levada_column_begins(s, 0)[0], 2);
    assert_null(levada_column_ends(s, 1));
    levada_block_unref(&block);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_are_where_programs_look_for_them),
        cmocka_unit_test(an_error_of_an_older_program_is_filled_and_nothing_after_it),
        cmocka_unit_test(the_members_of_errors_need_no_layout),
        cmocka_unit_test(the_members_of_columns_need_no_layout),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
