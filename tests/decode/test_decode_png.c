/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "decode/picture_samples.h"
#include "support/pictures.h"

/* The sample is red * 40 by column, green * 60 by row, blue 90. */
static void the_sample_has_its_pixels(void **state)
{
    levada_block        *block = t_picture("decode_png", "{}", LEVADA_SAMPLE_PNG,
                                           LEVADA_SAMPLE_PNG_SIZE);
    const levada_column *c = levada_block_column(block, "image");

    (void)state;
    assert_int_equal(levada_column_length(c, 0), 4);
    for (int y = 0; y < 4; y++) {
        for (int x = 0; x < 6; x++) {
            const uint8_t want[] = { (uint8_t)(x * 40), (uint8_t)(y * 60), 90 };

            assert_memory_equal(c->values + (y * 6 + x) * 3, want, 3);
        }
    }
    levada_block_unref(&block);
}

static void a_window_is_a_part_of_the_whole(void **state)
{
    levada_block        *block = t_picture("decode_png", "{channels:4,crop:[1,2,2,3]}",
                                           LEVADA_SAMPLE_PNG, LEVADA_SAMPLE_PNG_SIZE);
    const levada_column *c = levada_block_column(block, "image");
    static const uint8_t want[] = { 80, 60, 90, 255, 120, 60, 90, 255 };

    (void)state;
    assert_int_equal(c->field->depth, 0);
    assert_int_equal(c->field->dims[0], 2);
    assert_memory_equal(c->values, want, sizeof want);
    levada_block_unref(&block);
}

static void sixteen_bits_are_257_times_eight(void **state)
{
    levada_block *block = t_picture("decode_png", "{dtype:uint16}", LEVADA_SAMPLE_PNG,
                                    LEVADA_SAMPLE_PNG_SIZE);

    (void)state;
    assert_int_equal(((const uint16_t *)(const void *)levada_block_at(block, 0)->values)[2],
                     90 * 257);
    levada_block_unref(&block);
}

static void what_is_wrong_is_told(void **state)
{
    (void)state;
    t_picture_refused("decode_png", "{}", "", 0, LEVADA_EINVALID_ARGUMENT, "input is empty");
    t_picture_refused("decode_png", "{}", "abc", 3, LEVADA_EINVALID_ARGUMENT, "neither JPEG nor");
    t_picture_refused("decode_png", "{dtype:int8}", "", 0, LEVADA_EINVALID_ARGUMENT, "uint16");
    t_picture_refused("decode_png", "{crop:[0,0,9,9]}", LEVADA_SAMPLE_PNG, LEVADA_SAMPLE_PNG_SIZE,
                      LEVADA_EINVALID_ARGUMENT, "does not fit into an image of 4 x 6");
    t_picture_refused("decode_png", "{max_pixels:23}", LEVADA_SAMPLE_PNG, LEVADA_SAMPLE_PNG_SIZE,
                      LEVADA_ERESOURCE_EXHAUSTED, "more than max_pixels=23");
    for (size_t n = 8; n < LEVADA_SAMPLE_PNG_SIZE; n++) {
        t_picture_refused("decode_png", "{}", LEVADA_SAMPLE_PNG, n, LEVADA_EDATA_LOSS, "PNG");
    }
}

/* 40,000 x 40,000 pixels in 81 bytes. */
static void a_size_that_cannot_be_is_refused_before_memory_is_taken(void **state)
{
    char bytes[LEVADA_SAMPLE_PNG_SIZE] = LEVADA_SAMPLE_PNG;

    (void)state;
    memcpy(bytes + 16, "\0\0\x20\0\0\0\x20\0", 8);
    t_picture_refused("decode_png", "{}", bytes, sizeof bytes, LEVADA_EDATA_LOSS, "cannot be in");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_sample_has_its_pixels),
        cmocka_unit_test(a_window_is_a_part_of_the_whole),
        cmocka_unit_test(sixteen_bits_are_257_times_eight),
        cmocka_unit_test(what_is_wrong_is_told),
        cmocka_unit_test(a_size_that_cannot_be_is_refused_before_memory_is_taken),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
