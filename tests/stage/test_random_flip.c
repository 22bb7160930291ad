/* SPDX-License-Identifier: Apache-2.0 */
#include "support/files.h"
#include "support/iters.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { IMAGES = 64, HEIGHT = 3, WIDTH = 4, PIXEL = 3, BYTES = HEIGHT * WIDTH * PIXEL };

static uint8_t pixels[IMAGES * BYTES];

static const char *images(const char *shape, const char *options)
{
    static char text[512];
    const char *path = t_path("pixels");

    for (size_t i = 0; i < sizeof pixels; i++) pixels[i] = (uint8_t)(i * 37 + i / 256);
    t_write_file(path, pixels, sizeof pixels);
    (void)snprintf(text, sizeof text,
                   "fixed_length:%s,record_bytes=%d | decode_raw:uint8 | reshape:record,shape=%s | "
                   "random_flip:record,%s", path, BYTES, shape, options);
    return text;
}

static bool is_image(const uint8_t *got, const uint8_t *from, int height, int width, int pixel,
                     bool turns, bool falls)
{
    for (int y = 0; y < height; y++) {
        for (int x = 0; x < width; x++) {
            int fy = falls ? height - 1 - y : y, fx = turns ? width - 1 - x : x;

            if (memcmp(got + (y * width + x) * pixel, from + (fy * width + fx) * pixel,
                       (size_t)pixel) != 0)
                return false;
        }
    }
    return true;
}

/* Counts how often each of the four images comes: as it was, turned, fallen, both. */
static void count(const char *shape, const char *options, int height, int width, int pixel,
                  int counts[4])
{
    levada_iter  *it = t_iter_open(images(shape, options), 1, 256);
    levada_block *block = NULL;

    memset(counts, 0, 4 * sizeof *counts);
    assert_int_equal(levada_iter_next(it, &block, NULL), LEVADA_OK);
    assert_int_equal(levada_block_rows(block), IMAGES);
    for (int i = 0; i < IMAGES; i++) {
        const uint8_t *got = levada_block_at(block, 0)->values + i * BYTES;
        int            kind = 0;

        while (kind < 4 && !is_image(got, pixels + i * BYTES, height, width, pixel, kind & 1,
                                     kind & 2))
            kind++;
        if (kind == 4) fail_msg("%s %s: image %d is another one", shape, options, i);
        counts[kind]++;
    }
    levada_block_unref(&block);
    levada_iter_close(&it);
}

static void images_are_mirrored_with_their_probability(void **state)
{
    int n[4];

    (void)state;
    count("[3,4,3]", "left_right=0", HEIGHT, WIDTH, PIXEL, n);
    assert_int_equal(n[0], IMAGES);
    count("[3,4,3]", "left_right=1", HEIGHT, WIDTH, PIXEL, n);
    assert_int_equal(n[1], IMAGES);
    count("[3,4,3]", "left_right=0,up_down=1", HEIGHT, WIDTH, PIXEL, n);
    assert_int_equal(n[2], IMAGES);
    count("[3,4,3]", "left_right=1,up_down=1", HEIGHT, WIDTH, PIXEL, n);
    assert_int_equal(n[3], IMAGES);
    count("[3,4,3]", "up_down=0.5", HEIGHT, WIDTH, PIXEL, n);
    for (int i = 0; i < 4; i++) assert_in_range(n[i], 6, 28);
}

static void every_form_of_images_is_mirrored(void **state)
{
    int n[4];

    (void)state;
    count("[6,6]", "left_right=1", 6, 6, 1, n);
    assert_int_equal(n[1], IMAGES);
    count("[-1,6]", "left_right=1,up_down=1", 6, 6, 1, n); /* ragged rows */
    assert_int_equal(n[3], IMAGES);
    count("[-1,3,2]", "up_down=0.5", 6, 3, 2, n);
    for (int i = 0; i < 4; i++) assert_in_range(n[i], 6, 28);
}

static void draws_follow_from_the_seed_and_the_record(void **state)
{
    (void)state;
    t_iter_sweep(images("[3,4,3]", "up_down=0.3"), false, 7);
    t_iter_sweep(images("[-1,6]", "seed=5"), false, 7);
}

static void what_has_no_images_is_refused(void **state)
{
    static const char *const wrong[] = {
        "range:4 | random_flip:value",
        "range:4 | reshape:value,shape=[1,1] | random_flip:value,left_right=1.5",
        "range:4 | reshape:value,shape=[1,1] | random_flip:value,up_down=nan",
        "range:4 | cast:value,dtype=uint8 | reshape:value,shape=[-1,1] | "
        "padded_batch:2 | random_flip:value",
    };

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        levada_dataset *ds = NULL;

        if (levada_dataset_parse(NULL, wrong[i], &ds, NULL) != LEVADA_EINVALID_ARGUMENT)
            fail_msg("%s", wrong[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(images_are_mirrored_with_their_probability),
        cmocka_unit_test(every_form_of_images_is_mirrored),
        cmocka_unit_test(draws_follow_from_the_seed_and_the_record),
        cmocka_unit_test(what_has_no_images_is_refused),
    };

    return cmocka_run_group_tests(tests, t_folder_set_up, t_folder_tear_down);
}
