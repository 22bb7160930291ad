/* SPDX-License-Identifier: Apache-2.0 */
#include "support/files.h"
#include "support/iters.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { IMAGES = 200, HEIGHT = 12, WIDTH = 16, BYTES = HEIGHT * WIDTH };

/* Images whose pixel in row y and column x is 16 * y + x. */
static const char *images(const char *shape, const char *options)
{
    static char    text[512];
    static uint8_t pixels[IMAGES * BYTES];
    const char    *path = t_path("pixels");

    for (size_t i = 0; i < sizeof pixels; i++) pixels[i] = (uint8_t)(i % BYTES);
    t_write_file(path, pixels, sizeof pixels);
    (void)snprintf(text, sizeof text,
                   "fixed_length:%s,record_bytes=%d | decode_raw:uint8 | reshape:record,shape=%s | "
                   "random_resized_crop:record,%s", path, BYTES, shape, options);
    return text;
}

/* Windows that keep their size show where they lay. */
static void windows_lie_everywhere(void **state)
{
    levada_iter  *it = t_iter_open(images("[12,16,1]", "size=[12,4],scale=[0.25,0.25],"
                                          "ratio=[0.33333,0.33334]"), 1, 256);
    levada_block *block = NULL;
    bool          seen[WIDTH] = { false };

    (void)state;
    assert_int_equal(levada_iter_next(it, &block, NULL), LEVADA_OK);
    for (int i = 0; i < IMAGES; i++) {
        const uint8_t *got = levada_block_at(block, 0)->values + i * 48;

        assert_in_range(got[0], 0, WIDTH - 4);
        seen[got[0]] = true;
        for (int k = 0; k < 48; k++) assert_int_equal(got[k], got[0] + k / 4 * WIDTH + k % 4);
    }
    for (int x = 0; x <= WIDTH - 4; x++) assert_true(seen[x]);
    levada_block_unref(&block);
    levada_iter_close(&it);
}

/* No window of such a ratio fits into a quarter of the image: the middle is taken. */
static void the_middle_is_taken_if_no_window_fits(void **state)
{
    levada_iter  *it = t_iter_open(images("[12,16,1]", "size=[4,16],scale=[1,1],ratio=[4,4]"), 1,
                                   256);
    levada_block *block = NULL;

    (void)state;
    assert_int_equal(levada_iter_next(it, &block, NULL), LEVADA_OK);
    for (int i = 0; i < IMAGES * 64; i++)
        assert_int_equal(levada_block_at(block, 0)->values[i], 4 * WIDTH + i % 64);
    levada_block_unref(&block);
    levada_iter_close(&it);
}

static void windows_follow_from_the_seed_and_the_record(void **state)
{
    (void)state;
    t_iter_sweep(images("[12,16,1]", "size=5"), false, 41);
    t_iter_sweep(images("[-1,16,1]", "size=[3,7],antialias=false,seed=9"), false, 41);
    t_iter_sweep(images("[-1,16]", "size=[3,7],method=nearest"), false, 41);
}

static void invalid_options_are_refused(void **state)
{
    static const char *const wrong[] = {
        "size=[1,2,3]", "size=0", "size=4,scale=0.5", "size=4,scale=[0,1]", "size=4,scale=[0.5,2]",
        "size=4,scale=[0.6,0.5]", "size=4,ratio=[0,1]", "size=4,ratio=[1,inf]",
        "size=4,ratio=[nan,1]", "size=4,ratio=[2,1]", "size=4,ratio=[1,1,1]",
    };

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        levada_dataset *ds = NULL;

        if (levada_dataset_parse(NULL, images("[12,16,1]", wrong[i]), &ds, NULL) !=
            LEVADA_EINVALID_ARGUMENT)
            fail_msg("%s", wrong[i]);
    }
    t_iter_refused(images("[12,16]", "size=4"), LEVADA_EINVALID_ARGUMENT, "must have images");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(windows_lie_everywhere),
        cmocka_unit_test(the_middle_is_taken_if_no_window_fits),
        cmocka_unit_test(windows_follow_from_the_seed_and_the_record),
        cmocka_unit_test(invalid_options_are_refused),
    };

    return cmocka_run_group_tests(tests, t_folder_set_up, t_folder_tear_down);
}
