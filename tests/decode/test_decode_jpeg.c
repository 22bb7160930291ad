/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "decode/picture_samples.h"
#include "support/pictures.h"

#define SAMPLE LEVADA_SAMPLE_JPEG, LEVADA_SAMPLE_JPEG_SIZE

/* The sample is gray, 40 more in each column. */
static void pixels_are_close_to_the_original(void **state)
{
    levada_block        *block = t_picture("decode_jpeg", "{channels:1}", SAMPLE);
    const levada_column *c = levada_block_column(block, "image");

    (void)state;
    assert_int_equal(levada_column_length(c, 0), 4);
    for (int i = 0; i < 24; i++) assert_true(abs(c->values[i] - i % 6 * 40) < 12);
    levada_block_unref(&block);
}

static void a_window_is_a_part_of_the_whole(void **state)
{
    levada_block *all = t_picture("decode_jpeg", "{channels:3}", SAMPLE);
    levada_block *part = t_picture("decode_jpeg", "{channels:3,crop:[1,2,2,3]}", SAMPLE);

    (void)state;
    for (int y = 0; y < 2; y++) {
        assert_memory_equal(levada_block_at(part, 0)->values + y * 9,
                            levada_block_at(all, 0)->values + ((y + 1) * 6 + 2) * 3, 9);
    }
    levada_block_unref(&all);
    levada_block_unref(&part);
}

static void a_ratio_divides_and_rounds_up(void **state)
{
    levada_block        *block = t_picture("decode_jpeg", "{channels:1,ratio:4}", SAMPLE);
    const levada_column *c = levada_block_column(block, "image");

    (void)state;
    assert_int_equal(levada_column_length(c, 0), 1);
    assert_int_equal(c->level[1].end[0], 2);
    levada_block_unref(&block);
}

static void what_is_wrong_is_told(void **state)
{
    (void)state;
    t_picture_refused("decode_jpeg", "{channels:4}", SAMPLE, LEVADA_EINVALID_ARGUMENT,
                      "JPEG does not support 4 channels");
    t_picture_refused("decode_jpeg", "{ratio:3}", SAMPLE, LEVADA_EINVALID_ARGUMENT,
                      "ratio must be 1, 2, 4, or 8, got 3");
    t_picture_refused("decode_jpeg", "{crop:[1,2,3]}", SAMPLE, LEVADA_EINVALID_ARGUMENT,
                      "crop is [y, x, height, width]");
    t_picture_refused("decode_jpeg", "{crop:[0,0,5,6]}", SAMPLE, LEVADA_EINVALID_ARGUMENT,
                      "does not fit into an image of 4 x 6 pixels");
    t_picture_refused("decode_jpeg", "{random_crop:[5,6]}", SAMPLE, LEVADA_EINVALID_ARGUMENT,
                      "does not fit into an image of 4 x 6 pixels");
    t_picture_refused("decode_jpeg", "{random_crop:[5]}", SAMPLE, LEVADA_EINVALID_ARGUMENT,
                      "random_crop is [height, width]");
    t_picture_refused("decode_jpeg", "{random_crop:[1,1],crop:[0,0,1,1]}", SAMPLE,
                      LEVADA_EINVALID_ARGUMENT, "cannot be combined");
}

/* The precision is the byte after the marker and the length of the frame header. */
static void twelve_bits_are_refused(void **state)
{
    uint8_t bytes[LEVADA_SAMPLE_JPEG_SIZE];
    int     at = 0;

    (void)state;
    memcpy(bytes, SAMPLE);
    while (bytes[at] != 0xff || bytes[at + 1] != 0xc0) at++;
    bytes[at + 4] = 12;
    t_picture_refused("decode_jpeg", "{}", bytes, sizeof bytes, LEVADA_EINVALID_ARGUMENT,
                      "JPEG of 12 bits is not supported");
}

static void a_random_window_is_a_part_of_the_whole(void **state)
{
    levada_block  *whole = t_picture("decode_jpeg", "{channels:1}", SAMPLE), *part;
    const uint8_t *pixels = levada_column_u8(levada_block_at(whole, 0)), *at;
    int            same = 0;

    (void)state;
    part = t_picture("decode_jpeg", "{channels:1,random_crop:[2,3]}", SAMPLE);
    at = levada_column_u8(levada_block_at(part, 0));
    for (int y = 0; y <= 2; y++) {
        for (int x = 0; x <= 3; x++)
            same += memcmp(pixels + y * 6 + x, at, 3) == 0 &&
                    memcmp(pixels + y * 6 + 6 + x, at + 3, 3) == 0;
    }
    assert_true(same > 0);
    levada_block_unref(&part);
    levada_block_unref(&whole);
}

/* Of the coded data, which ends with a marker of two bytes. */
static void truncated_data_is_refused_unless_asked(void **state)
{
    size_t        cut = LEVADA_SAMPLE_JPEG_SIZE - 6;
    levada_block *block;

    (void)state;
    t_picture_refused("decode_jpeg", "{channels:1}", LEVADA_SAMPLE_JPEG, cut, LEVADA_EDATA_LOSS,
                      "JPEG data");
    block = t_picture("decode_jpeg", "{channels:1,try_recover_truncated:true}",
                      LEVADA_SAMPLE_JPEG, cut);
    assert_int_equal(levada_column_length(levada_block_at(block, 0), 0), 4);
    levada_block_unref(&block);
}

static void every_cut_is_refused_or_decoded(void **state)
{
    const void *string = LEVADA_SAMPLE_JPEG;

    (void)state;
    for (size_t n = 0; n <= LEVADA_SAMPLE_JPEG_SIZE; n++) {
        levada_block *block = NULL;
        levada_error  err = LEVADA_ERROR_INIT;
        levada_status st = levada_decode_strings(NULL, "decode_jpeg", NULL, &string, &n, 1, &block,
                                                 &err);

        assert_true(st == LEVADA_OK || err.message[0]);
        levada_block_unref(&block);
    }
}

/* libjpeg keeps tables for later images, which would decode with those of another record. */
static void an_image_without_tables_is_refused_after_any_other(void **state)
{
    uint8_t          bytes[LEVADA_SAMPLE_JPEG_SIZE];
    const void      *strings[] = { LEVADA_SAMPLE_JPEG, bytes };
    size_t           at = 2, size, sizes[] = { sizeof bytes, 0 };
    levada_error     err = LEVADA_ERROR_INIT;
    levada_decoding *decoding = NULL;
    levada_block    *block = NULL;

    (void)state;
    memcpy(bytes, SAMPLE);
    while (bytes[at + 1] != 0xdb) at += 2 + (size_t)bytes[at + 2] * 256 + bytes[at + 3];
    size = 2 + (size_t)bytes[at + 2] * 256 + bytes[at + 3];
    memmove(bytes + at, bytes + at + size, sizeof bytes - at - size);
    sizes[1] = sizeof bytes - size;
    t_picture_refused("decode_jpeg", "{channels:3}", bytes, sizes[1], LEVADA_EDATA_LOSS,
                      "Quantization table");
    assert_int_equal(levada_decoding_open(NULL, "decode_jpeg", NULL, &decoding, &err), LEVADA_OK);
    assert_int_equal(levada_decoding_run(decoding, strings, sizes, 2, &block, &err),
                     LEVADA_EDATA_LOSS);
    assert_non_null(strstr(err.message, "Quantization table"));
    levada_decoding_close(&decoding);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pixels_are_close_to_the_original),
        cmocka_unit_test(a_window_is_a_part_of_the_whole),
        cmocka_unit_test(a_ratio_divides_and_rounds_up),
        cmocka_unit_test(what_is_wrong_is_told),
        cmocka_unit_test(twelve_bits_are_refused),
        cmocka_unit_test(a_random_window_is_a_part_of_the_whole),
        cmocka_unit_test(truncated_data_is_refused_unless_asked),
        cmocka_unit_test(every_cut_is_refused_or_decoded),
        cmocka_unit_test(an_image_without_tables_is_refused_after_any_other),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
