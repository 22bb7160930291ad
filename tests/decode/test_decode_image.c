/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "decode/picture_samples.h"
#include "support/pictures.h"

static void both_formats_are_known_by_their_content(void **state)
{
    levada_block *png = t_picture("decode_image", "{}", LEVADA_SAMPLE_PNG, LEVADA_SAMPLE_PNG_SIZE);
    levada_block *jpeg = t_picture("decode_image", "{}", LEVADA_SAMPLE_JPEG,
                                   LEVADA_SAMPLE_JPEG_SIZE);

    (void)state;
    assert_int_equal(levada_column_length(levada_block_at(png, 0), 0), 4);
    assert_int_equal(levada_column_length(levada_block_at(jpeg, 0), 0), 4);
    levada_block_unref(&png);
    levada_block_unref(&jpeg);
}

static void other_content_is_refused(void **state)
{
    (void)state;
    t_picture_refused("decode_image", "{}", "GIF89a", 6, LEVADA_EINVALID_ARGUMENT,
                      "GIF images are not supported: convert them to PNG");
    t_picture_refused("decode_image", "{}", "BM\100\0\0\0\0\0\0\0\66\0\0\0", 14,
                      LEVADA_EINVALID_ARGUMENT, "BMP images are not supported");
    t_picture_refused("decode_image", "{}", "RIFF\1\0\0\0WEBP", 12, LEVADA_EINVALID_ARGUMENT,
                      "WebP images are not supported");
    t_picture_refused("decode_image", "{}", "II*\0", 4, LEVADA_EINVALID_ARGUMENT,
                      "TIFF images are not supported");
    t_picture_refused("decode_image", "{}", "no image", 8, LEVADA_EINVALID_ARGUMENT,
                      "unknown image format: neither JPEG nor PNG");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_formats_are_known_by_their_content),
        cmocka_unit_test(other_content_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
