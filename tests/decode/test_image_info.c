/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "decode/picture_samples.h"
#include "support/pictures.h"

static void info_is(const void *data, size_t size, int32_t channels)
{
    levada_block  *block = t_picture("image_info", "{}", data, size);
    const int32_t *v = levada_column_i32(levada_block_column(block, "info"));

    assert_int_equal(v[0], 4);
    assert_int_equal(v[1], 6);
    assert_int_equal(v[2], channels);
    levada_block_unref(&block);
}

static void headers_are_enough(void **state)
{
    (void)state;
    info_is(LEVADA_SAMPLE_PNG, LEVADA_SAMPLE_PNG_SIZE - 20, 3);
    info_is(LEVADA_SAMPLE_JPEG, LEVADA_SAMPLE_JPEG_SIZE - 20, 1);
}

static void a_header_without_a_size_is_refused(void **state)
{
    (void)state;
    t_picture_refused("image_info", "{}", LEVADA_SAMPLE_PNG, 20, LEVADA_EDATA_LOSS, "PNG header");
    t_picture_refused("image_info", "{}", LEVADA_SAMPLE_JPEG, 12, LEVADA_EDATA_LOSS,
                      "the size of the image is missing");
}

/* No product of sizes that a header declares overflows. */
static void the_largest_sizes_are_refused(void **state)
{
    uint8_t data[LEVADA_SAMPLE_PNG_SIZE];

    (void)state;
    memcpy(data, LEVADA_SAMPLE_PNG, sizeof data);
    memcpy(data + 16, "\x7f\xff\xff\xff\x7f\xff\xff\xff\x10\x06", 10);
    t_picture_refused("image_info", "{}", data, sizeof data, LEVADA_EDATA_LOSS, "cannot be in");
    data[24] = 129; /* bits */
    t_picture_refused("image_info", "{}", data, sizeof data, LEVADA_EDATA_LOSS, "PNG header");
}

/* A frame of arithmetic coding may have any number of pixels, unless no decoder reads its kind. */
static void kinds_that_no_decoder_reads_have_a_limit_of_pixels(void **state)
{
    static const uint8_t kinds[] = { 0xc3, 0xc7, 0xcb, 0xcd, 0xcf };
    uint8_t              data[64] = "\xff\xd8\xff\xc9\0\x0b\x08\xff\xff\x07\xff\x01\x01\x11";

    (void)state;
    for (size_t i = 0; i < sizeof kinds; i++) {
        data[3] = kinds[i];
        t_picture_refused("image_info", "{}", data, sizeof data, LEVADA_EDATA_LOSS,
                          "65535 x 2047 pixels cannot be in 64 bytes");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(headers_are_enough),
        cmocka_unit_test(a_header_without_a_size_is_refused),
        cmocka_unit_test(the_largest_sizes_are_refused),
        cmocka_unit_test(kinds_that_no_decoder_reads_have_a_limit_of_pixels),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
