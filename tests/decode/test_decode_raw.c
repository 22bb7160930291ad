/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <levada/example.h>

static levada_error why;

static levada_status decode(const char *options, const char *bytes, size_t size,
                            levada_block **out)
{
    levada_value *value = NULL;
    const void   *string = bytes;
    levada_status st;

    levada_error_clear(&why);
    assert_int_equal(levada_value_parse(options, &value, &why), LEVADA_OK);
    st = levada_decode_strings(NULL, "decode_raw", value, &string, &size, 1, out, &why);
    levada_value_destroy(&value);
    return st;
}

static void values_are(const char *options, const char *bytes, size_t size, const void *want,
                       size_t want_size)
{
    levada_block *block = NULL;

    assert_int_equal(decode(options, bytes, size, &block), LEVADA_OK);
    assert_memory_equal(levada_block_column(block, "value")->values, want, want_size);
    levada_block_unref(&block);
}

static void bytes_become_numbers_in_either_order(void **state)
{
    static const int16_t little[] = { 0x0201, 0x0403 }, big[] = { 0x0102, 0x0304 };
    static const float   parts[] = { 1.0F, 2.0F };

    (void)state;
    values_are("{dtype:int16}", "\1\2\3\4", 4, little, 4);
    values_are("{dtype:int16,little_endian:false}", "\1\2\3\4", 4, big, 4);
    values_are("{dtype:complex64,little_endian:false}", "\x3f\x80\0\0\x40\0\0\0", 8, parts, 8);
    values_are("{dtype:bool}", "\0\1\7", 3, "\0\1\1", 3);
}

static void a_fixed_length_cuts_and_pads_before_swapping(void **state)
{
    static const int16_t padded[] = { 0x0102, 0x0300 }, cut[] = { 0x0102 };

    (void)state;
    values_are("{dtype:int16,little_endian:false,fixed_length:4}", "\1\2\3", 3, padded, 4);
    values_are("{dtype:int16,little_endian:false,fixed_length:2}", "\1\2\3", 3, cut, 2);
}

static void sizes_that_do_not_fit_are_refused(void **state)
{
    static const char *const options[] = {
        "{dtype:string}", "{dtype:int16,fixed_length:3}", "{dtype:int16,fixed_length:0}",
        "{dtype:bool,fixed_length:4}", "{dtype:int16,fixed_length:4611686018427387904}",
    };
    levada_block *block = NULL;

    (void)state;
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        assert_int_equal(decode(options[i], "", 0, &block), LEVADA_EINVALID_ARGUMENT);
    }
    assert_int_equal(decode("{dtype:int16}", "\1\2\3", 3, &block), LEVADA_EINVALID_ARGUMENT);
    assert_non_null(strstr(why.message, "a string of 3 bytes is not a multiple of 2"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_become_numbers_in_either_order),
        cmocka_unit_test(a_fixed_length_cuts_and_pads_before_swapping),
        cmocka_unit_test(sizes_that_do_not_fit_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
