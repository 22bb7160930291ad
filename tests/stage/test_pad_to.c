/* SPDX-License-Identifier: Apache-2.0 */
#include "support/files.h"
#include "support/iters.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { BYTES = 12, IMAGES = 40 };

static const char *images(const char *dtype, const char *shape, const char *options)
{
    static char text[512];
    uint8_t     pixels[BYTES * IMAGES];
    const char *path = t_path("pixels");

    for (size_t i = 0; i < sizeof pixels; i++) pixels[i] = (uint8_t)(i + 1);
    t_write_file(path, pixels, sizeof pixels);
    (void)snprintf(text, sizeof text,
                   "fixed_length:%s,record_bytes=%d | decode_raw:%s | reshape:record,shape=%s | "
                   "pad_to:record,%s", path, BYTES, dtype, shape, options);
    return text;
}

static void becomes(const char *dtype, const char *shape, const char *options, const uint8_t *want,
                    size_t n)
{
    levada_iter  *it = t_iter_open(images(dtype, shape, options), 1, 256);
    levada_block *block = NULL;

    assert_int_equal(levada_iter_next(it, &block, NULL), LEVADA_OK);
    assert_memory_equal(levada_block_at(block, 0)->values, want, n);
    levada_block_unref(&block);
    levada_iter_close(&it);
}

static void images_lie_in_a_border(void **state)
{
    static const uint8_t center[] = { 7, 1, 2, 3, 7, 7, 4, 5, 6, 7, 7, 7, 8, 9, 7,
                                      7, 10, 11, 12, 7, 7, 7, 7, 7, 7 };
    static const uint8_t corner[] = { 1, 2, 3, 0, 4, 5, 6, 0, 7, 8, 9, 0, 10, 11, 12, 0,
                                      0, 0, 0, 0 };
    static const uint8_t colors[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 8, 9, 8, 9, 8, 9 };
    static const uint8_t wide[] = { 1, 2, 3, 4, 0xfe, 0xff, 5, 6, 7, 8, 0xfe, 0xff, 9, 10, 11, 12,
                                    0xfe, 0xff };

    (void)state;
    becomes("uint8", "[4,3]", "size=5,value=7", center, sizeof center);
    becomes("uint8", "[-1,3]", "size=[5,4],position=top_left", corner, sizeof corner);
    becomes("uint8", "[2,3,2]", "size=[3,3],value=[8,9],position=top_left", colors, sizeof colors);
    becomes("int16", "[3,2,1]", "size=3,value=-2", wide, sizeof wide);
}

static void padding_follows_no_block(void **state)
{
    (void)state;
    t_iter_sweep(images("uint8", "[-1,2,3]", "size=[5,6],value=[1,2,3]"), false, 7);
}

static void larger_images_are_bad_records(void **state)
{
    t_outcome    o = { 0 };
    levada_iter *it = t_iter_open(images("uint8", "[4,3]", "size=[3,3]"), 1, 256);

    (void)state;
    assert_int_equal(t_iter_read_rest(it, &o), LEVADA_EINVALID_ARGUMENT);
    assert_non_null(strstr(o.why.message, "4 x 3 pixels is larger than size=[3,3]"));
    levada_iter_close(&it);
}

static void what_cannot_be_padded_is_refused(void **state)
{
    static const char *const wrong[][2] = {
        { "[12]", "size=20" },
        { "[4,3]", "size=[1,2,3]" },
        { "[4,3]", "size=5,value=256" },
        { "[4,3]", "size=5,value=-1" },
        { "[4,3]", "size=5,value=nan" },
        { "[2,2,3]", "size=5,value=[1,2]" },
        { "[2,2,3]", "size=5,value=[]" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        levada_dataset *ds = NULL;

        if (levada_dataset_parse(NULL, images("uint8", wrong[i][0], wrong[i][1]), &ds, NULL) !=
            LEVADA_EINVALID_ARGUMENT)
            fail_msg("%s %s", wrong[i][0], wrong[i][1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(images_lie_in_a_border),
        cmocka_unit_test(padding_follows_no_block),
        cmocka_unit_test(larger_images_are_bad_records),
        cmocka_unit_test(what_cannot_be_padded_is_refused),
    };

    return cmocka_run_group_tests(tests, t_folder_set_up, t_folder_tear_down);
}
