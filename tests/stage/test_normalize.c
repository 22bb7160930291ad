/* SPDX-License-Identifier: Apache-2.0 */
#include "support/files.h"
#include "support/iters.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { BYTES = 6 * 7 * 3 }; /* of an image, which no loop of 16 numbers divides */

static uint8_t pixels[4 * BYTES];

/* Expects float32 numbers that the formula makes of four images, read as `dtype`. */
static void becomes(const char *dtype, int size, const char *options, bool planes, double scale,
                    const double *mean, const double *std)
{
    const char   *path = t_path("pixels");
    int           n = BYTES / size, per = n / 3;
    char          text[512];
    levada_iter  *it;
    levada_block *block = NULL;

    for (size_t i = 0; i < sizeof pixels; i++) pixels[i] = (uint8_t)(i * 37);
    t_write_file(path, pixels, sizeof pixels);
    (void)snprintf(text, sizeof text,
                   "fixed_length:%s,record_bytes=%d | decode_raw:%s | "
                   "reshape:record,shape=[%d,7,3] | normalize:record,%s",
                   path, BYTES, dtype, 6 / size, options);
    it = t_iter_open(text, 1, 256);
    assert_int_equal(levada_iter_next(it, &block, NULL), LEVADA_OK);
    for (int i = 0; i < 4 * n; i++) {
        const float *got = levada_column_f32(levada_block_at(block, 0));
        int          c = i % 3, at = planes ? i / n * n + c * per + i % n / 3 : i;
        double       x = size == 1 ? pixels[i] : pixels[2 * i] | pixels[2 * i + 1] << 8;
        double       want = (x * scale - mean[c]) / std[c];

        if (fabs(got[at] - want) > 1e-5 * (1 + fabs(want)))
            fail_msg("%s: number %d is %g, not %g", options, i, (double)got[at], want);
    }
    assert_int_equal(levada_column_dim(levada_block_at(block, 0), 1), planes ? 3 : 6 / size);
    levada_block_unref(&block);
    levada_iter_close(&it);
}

static void channels_have_their_own_mean_and_std(void **state)
{
    static const double mean[] = { 0.485, 0.456, 0.406 }, std[] = { 0.229, 0.224, 0.225 };
    static const double half[] = { 0.5, 0.5, 0.5 }, none[] = { 0, 0, 0 }, one[] = { 1, 1, 1 };
    static const char   each[] = "mean=[0.485,0.456,0.406],std=[0.229,0.224,0.225]";
    char                planes[128];

    (void)state;
    (void)snprintf(planes, sizeof planes, "%s,layout=chw", each);
    becomes("uint8", 1, each, false, 1.0 / 255, mean, std);
    becomes("uint8", 1, planes, true, 1.0 / 255, mean, std);
    becomes("uint16", 2, each, false, 1.0 / 65535, mean, std);
    becomes("uint16", 2, planes, true, 1.0 / 65535, mean, std);
    becomes("uint8", 1, "layout=chw", true, 1.0 / 255, none, one);
    becomes("uint8", 1, "mean=0.5,std=0.5", false, 1.0 / 255, half, half);
    becomes("uint8", 1, "scale=1,mean=0.5", false, 1, half, one);
}

static void what_cannot_be_normalized_is_refused(void **state)
{
    static const char *const wrong[] = {
        "range:4 | normalize:value",                  /* int64 */
        "range:4 | cast:value,dtype=float32 | normalize:value,layout=chw", /* no image */
        "range:4 | cast:value,dtype=float32 | normalize:value,mean=[1,2]",
        "range:4 | cast:value,dtype=float32 | normalize:value,mean=[]",
        "range:4 | cast:value,dtype=float32 | normalize:value,mean=nan",
        "range:4 | cast:value,dtype=float32 | normalize:value,std=0",
        "range:4 | cast:value,dtype=float32 | normalize:value,std=-1",
        "range:4 | cast:value,dtype=float32 | normalize:value,scale=inf",
        "range:4 | cast:value,dtype=uint8 | reshape:value,shape=[-1,1] | "
        "padded_batch:2 | normalize:value",
    };

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        levada_dataset *ds = NULL;

        if (levada_dataset_parse(NULL, wrong[i], &ds, NULL) != LEVADA_EINVALID_ARGUMENT)
            fail_msg("%s", wrong[i]);
    }
}

static void single_numbers_stay_single(void **state)
{
    (void)state;
    t_iter_sweep("range:40 | cast:value,dtype=float32 | normalize:value,mean=3,std=2",
                 false, 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(channels_have_their_own_mean_and_std),
        cmocka_unit_test(what_cannot_be_normalized_is_refused),
        cmocka_unit_test(single_numbers_stay_single),
    };

    return cmocka_run_group_tests(tests, t_folder_set_up, t_folder_tear_down);
}
