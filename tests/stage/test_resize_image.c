/* SPDX-License-Identifier: Apache-2.0 */
#include "support/files.h"
#include "support/iters.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* One image of gray pixels, resized by the rest of the text. */
static void becomes(const char *shape, const char *how, const uint8_t *want, size_t n)
{
    static const uint8_t pixels[] = { 0, 10, 20, 30, 40, 50, 60, 70 };
    const char          *path = t_path("pixels");
    char                 text[512];
    levada_iter         *it;
    levada_block        *block = NULL;

    t_write_file(path, pixels, sizeof pixels);
    (void)snprintf(text, sizeof text,
                   "fixed_length:%s,record_bytes=8 | decode_raw:uint8 | "
                   "reshape:record,shape=%s | resize_image:record,%s", path, shape, how);
    it = t_iter_open(text, 1, 256);
    assert_int_equal(levada_iter_next(it, &block, NULL), LEVADA_OK);
    assert_memory_equal(levada_block_at(block, 0)->values, want, n);
    levada_block_unref(&block);
    levada_iter_close(&it);
}

static void pixels_are_means_or_between_neighbors(void **state)
{
    static const uint8_t mean[] = { 25, 45 }, same[] = { 0, 10, 20, 30, 40, 50, 60, 70 };
    static const uint8_t twice[] = { 0, 3, 8, 10 };

    (void)state;
    becomes("[2,4,1]", "size=[1,2],method=area", mean, 2);
    becomes("[2,4,1]", "size=[2,4]", same, 8);
    becomes("[1,8,1]", "size=[1,8],method=area", same, 8);
    becomes("[4,2,1]", "size=[4,4]", twice, 4);
    becomes("[1,8,1]", "size=[1,2],method=area", (const uint8_t[]){ 15, 55 }, 2);
    becomes("[1,8]", "size=[1,2],method=nearest", (const uint8_t[]){ 20, 60 }, 2);
    becomes("[2,2,2]", "size=[3,1],method=nearest",
            (const uint8_t[]){ 20, 30, 60, 70, 60, 70 }, 6);
}

static void what_has_no_images_is_refused(void **state)
{
    static const char *const texts[] = {
        "range:4 | resize_image:value,size=[1,1]",
        "range:4 | reshape:value,shape=[1,1,1] | resize_image:value,size=[1,1]",
        "range:4 | cast:value,dtype=uint8 | reshape:value,shape=[1,1,1] | "
        "resize_image:value,size=[1]",
        "range:4 | resize_image:value,size=[1,1],method=nearest",
        "range:4 | reshape:value,shape=[1,1] | "
        "resize_image:value,size=[1,1],method=nearest,antialias=true",
    };

    (void)state;
    for (int i = 0; i < 5; i++) {
        levada_dataset *ds = NULL;

        assert_int_equal(levada_dataset_parse(NULL, texts[i], &ds, NULL),
                         LEVADA_EINVALID_ARGUMENT);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pixels_are_means_or_between_neighbors),
        cmocka_unit_test(what_has_no_images_is_refused),
    };

    return cmocka_run_group_tests(tests, t_folder_set_up, t_folder_tear_down);
}
