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
                      "JPEG must have channels=1 or 3, got 4");
    t_picture_refused("decode_jpeg", "{ratio:3}", SAMPLE, LEVADA_EINVALID_ARGUMENT,
                      "ratio must be 1, 2, 4, or 8, got 3");
    t_picture_refused("decode_jpeg", "{crop:[1,2,3]}", SAMPLE, LEVADA_EINVALID_ARGUMENT,
                      "crop must be [y, x, height, width]");
    t_picture_refused("decode_jpeg", "{crop:[0,0,5,6]}", SAMPLE, LEVADA_EINVALID_ARGUMENT,
                      "does not fit into an image of 4 x 6 pixels");
    t_picture_refused("decode_jpeg", "{random_crop:[5,6]}", SAMPLE, LEVADA_EINVALID_ARGUMENT,
                      "does not fit into an image of 4 x 6 pixels");
    t_picture_refused("decode_jpeg", "{random_crop:[5]}", SAMPLE, LEVADA_EINVALID_ARGUMENT,
                      "random_crop must be [height, width]");
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

enum { EXIF = 36, SEGMENT = EXIF + 10 }; /* a directory of two entries; with its marker and name */

/* The sample with EXIF data of that orientation, after its first marker. */
static void orient(bool little, int orientation, uint8_t bytes[LEVADA_SAMPLE_JPEG_SIZE + SEGMENT])
{
    static const uint8_t big_exif[EXIF] = "MM\0*\0\0\0\10\0\2\1\17\0\2\0\0\0\1a\0\0\0"
                                          "\1\22\0\3\0\0\0\1\0\0\0\0";
    static const uint8_t little_exif[EXIF] = "II*\0\10\0\0\0\2\0\17\1\2\0\1\0\0\0a\0\0\0"
                                             "\22\1\3\0\1\0\0\0\0\0\0\0";
    static const uint8_t head[10] = "\xff\xe1\0\54Exif";

    memcpy(bytes, LEVADA_SAMPLE_JPEG, 2);
    memcpy(bytes + 2, head, sizeof head);
    memcpy(bytes + 12, little ? little_exif : big_exif, EXIF);
    bytes[12 + 30 + !little] = (uint8_t)orientation;
    memcpy(bytes + 2 + SEGMENT, &LEVADA_SAMPLE_JPEG[2], LEVADA_SAMPLE_JPEG_SIZE - 2);
}

/* Row and column of the stored image for those of the result. */
static int stored(int orientation, int y, int x)
{
    switch (orientation) {
    case 2: return y * 6 + 5 - x;
    case 3: return (3 - y) * 6 + 5 - x;
    case 4: return (3 - y) * 6 + x;
    case 5: return x * 6 + y;
    case 6: return (3 - x) * 6 + y;
    case 7: return (3 - x) * 6 + 5 - y;
    case 8: return x * 6 + 5 - y;
    default: return y * 6 + x;
    }
}

static void images_are_oriented_on_request(void **state)
{
    levada_block  *whole = t_picture("decode_jpeg", "{channels:1}", SAMPLE);
    const uint8_t *pixels = levada_column_u8(levada_block_at(whole, 0));

    (void)state;
    for (int i = 0; i < 20; i++) { /* 0 and 9 are not orientations */
        uint8_t       bytes[LEVADA_SAMPLE_JPEG_SIZE + SEGMENT];
        int           to = i % 10, height = to >= 5 && to <= 8 ? 6 : 4;
        levada_block *turned, *part, *same;

        orient(i >= 10, to, bytes);
        turned = t_picture("decode_jpeg", "{channels:1,orient:true}", bytes, sizeof bytes);
        part = t_picture("decode_image", "{channels:1,orient:true,crop:[1,2,3,2]}", bytes,
                         sizeof bytes);
        same = t_picture("decode_image", "{channels:1}", bytes, sizeof bytes);
        assert_int_equal(levada_column_length(levada_block_at(turned, 0), 0), height);
        for (int k = 0; k < 24; k++) {
            int y = k / (24 / height), x = k % (24 / height);

            assert_int_equal(levada_block_at(turned, 0)->values[k], pixels[stored(to, y, x)]);
            assert_int_equal(levada_block_at(same, 0)->values[k], pixels[k]);
        }
        for (int k = 0; k < 6; k++)
            assert_int_equal(levada_block_at(part, 0)->values[k],
                             pixels[stored(to, 1 + k / 2, 2 + k % 2)]);
        levada_block_unref(&turned);
        levada_block_unref(&part);
        levada_block_unref(&same);
    }
    levada_block_unref(&whole);
}

/* Each byte of the segment in turn has each value, and the data is cut in each place of it. */
static void forged_exif_data_is_ignored_or_refused(void **state)
{
    enum { SIZE = LEVADA_SAMPLE_JPEG_SIZE + SEGMENT };

    (void)state;
    for (int i = 2; i < 2 + SEGMENT; i++) {
        for (int value = -1; value < 256; value++) {
            levada_error  err = LEVADA_ERROR_INIT;
            levada_block *block = NULL;
            levada_value *options = NULL;
            uint8_t      *bytes = malloc(SIZE); /* of its own: a sanitizer sees what lies outside */
            size_t        n = value < 0 ? (size_t)i : SIZE;
            uint8_t       whole[SIZE];
            const void   *string = bytes;

            assert_non_null(bytes);
            orient(value % 2 == 0, 6, whole);
            memcpy(bytes, whole, n);
            if (value >= 0) bytes[i] = (uint8_t)value;
            assert_int_equal(levada_value_parse("{channels:1,orient:true}", &options, NULL),
                             LEVADA_OK);
            if (levada_decode_strings(NULL, "decode_jpeg", options, &string, &n, 1, &block, &err) !=
                LEVADA_OK)
                assert_true(err.message[0]);
            levada_value_destroy(&options);
            levada_block_unref(&block);
            free(bytes);
        }
    }
}

static void a_window_of_another_size_is_resized(void **state)
{
    const char   *options = "{channels:1,random_resized_crop:[2,3],crop_scale:[1,1],"
                            "crop_ratio:[1.5,1.5],antialias:false}";
    levada_block *whole = t_picture("decode_jpeg", "{channels:1}", SAMPLE);
    levada_block *half = t_picture("decode_jpeg", options, SAMPLE);
    const uint8_t *from = levada_column_u8(levada_block_at(whole, 0));

    (void)state;
    assert_int_equal(levada_column_dim(levada_block_at(half, 0), 1), 2);
    assert_int_equal(levada_column_dim(levada_block_at(half, 0), 2), 3);
    for (int i = 0; i < 6; i++) {
        const uint8_t *at = from + i / 3 * 12 + i % 3 * 2;
        int            mean = (at[0] + at[1] + at[6] + at[7] + 2) / 4;

        assert_int_equal(levada_block_at(half, 0)->values[i], mean);
    }
    levada_block_unref(&whole);
    levada_block_unref(&half);
    t_picture_refused("decode_jpeg", "{random_resized_crop:[1,2,3]}", SAMPLE,
                      LEVADA_EINVALID_ARGUMENT, "random_resized_crop must be");
    t_picture_refused("decode_jpeg", "{random_resized_crop:2,crop:[0,0,1,1]}", SAMPLE,
                      LEVADA_EINVALID_ARGUMENT, "cannot be combined");
    t_picture_refused("decode_jpeg", "{random_resized_crop:2,crop_scale:[0,1]}", SAMPLE,
                      LEVADA_EINVALID_ARGUMENT, "crop_scale must be");
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
        cmocka_unit_test(images_are_oriented_on_request),
        cmocka_unit_test(forged_exif_data_is_ignored_or_refused),
        cmocka_unit_test(a_window_of_another_size_is_resized),
        cmocka_unit_test(a_random_window_is_a_part_of_the_whole),
        cmocka_unit_test(truncated_data_is_refused_unless_asked),
        cmocka_unit_test(every_cut_is_refused_or_decoded),
        cmocka_unit_test(an_image_without_tables_is_refused_after_any_other),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
