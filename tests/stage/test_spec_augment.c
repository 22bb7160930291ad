/* SPDX-License-Identifier: Apache-2.0 */
#include "support/files.h"
#include "support/iters.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { FRAMES = 20, BANDS = 10, RECORDS = 500 };

/* The records of 20 frames of 10 bands, all 1, after `stage`; free with free(). */
static float *masked(const char *stage)
{
    static float  ones[FRAMES * BANDS];
    float        *all = calloc(RECORDS, sizeof ones);
    levada_block *b = NULL;
    levada_iter  *it;
    char          text[512];
    int64_t       n = 0;

    for (int i = 0; i < FRAMES * BANDS; i++) ones[i] = 1;
    t_write_file(t_path("t_frames.bin"), ones, sizeof ones);
    (void)snprintf(text, sizeof text,
                   "fixed_length:%s,record_bytes=800 | repeat:500 | decode_raw:float32 | "
                   "reshape:record,shape=[20,10] | spec_augment:record,%s",
                   t_path("t_frames.bin"), stage);
    it = t_iter_open(text, 1, 16);
    while (levada_iter_next(it, &b, NULL) == LEVADA_OK) {
        const float *at = levada_column_f32(levada_block_column(b, "record"));

        memcpy(all + n * FRAMES * BANDS, at, (size_t)levada_block_rows(b) * sizeof ones);
        n += levada_block_rows(b);
        levada_block_unref(&b);
    }
    levada_iter_close(&it);
    assert_int_equal(n, RECORDS);
    return all;
}

/* Counts the records whose mask covers 0, 1, ... lines, `step` numbers from line to line. */
static void widths(const float *all, int lines, int step, int *counts, int *begins)
{
    for (int r = 0; r < RECORDS; r++) {
        const float *at = all + r * FRAMES * BANDS;
        int          n = 0, first = -1, last = -1;

        for (int i = 0; i < lines; i++) {
            if (at[i * step] != 7) continue;
            n++;
            last = i;
            if (first < 0) first = i;
        }
        assert_true(n == 0 || last - first + 1 == n);
        counts[n]++;
        if (n) begins[first]++;
    }
}

static void widths_and_places_are_drawn_alike(void **state)
{
    float *times = masked("time_masks=1,time_width=4,frequency_masks=0,value=7");
    float *bands = masked("time_masks=0,frequency_masks=1,frequency_width=99,value=7");
    int    counts[FRAMES + 1] = { 0 }, begins[FRAMES] = { 0 };

    (void)state;
    widths(times, FRAMES, BANDS, counts, begins);
    for (int i = 0; i <= 4; i++) assert_in_range(counts[i], 60, 140); /* 100 expected */
    for (int i = 0; i < 16; i++) assert_in_range(begins[i], 5, 45); /* about 22 */
    memset(counts, 0, sizeof counts);
    widths(bands, BANDS, 1, counts, begins);
    for (int i = 0; i <= BANDS; i++) assert_in_range(counts[i], 20, 75); /* 45 */
    free(times);
    free(bands);
}

static void masks_cover_whole_lines(void **state)
{
    float *all = masked("time_masks=2,time_width=5,frequency_masks=1,frequency_width=3,value=7");

    (void)state;
    for (int r = 0; r < RECORDS; r++) {
        const float *at = all + r * FRAMES * BANDS;
        bool         time[FRAMES], band[BANDS];

        for (int t = 0; t < FRAMES; t++) {
            time[t] = true;
            for (int k = 0; k < BANDS; k++) time[t] = time[t] && at[t * BANDS + k] == 7;
        }
        for (int k = 0; k < BANDS; k++) {
            band[k] = true;
            for (int t = 0; t < FRAMES; t++) band[k] = band[k] && at[t * BANDS + k] == 7;
        }
        for (int i = 0; i < FRAMES * BANDS; i++)
            assert_true(at[i] == (time[i / BANDS] || band[i % BANDS] ? 7.0F : 1.0F));
    }
    free(all);
}

static void the_fraction_limits_time_masks(void **state)
{
    float *all = masked("time_masks=1,time_fraction=0.1,frequency_masks=0,value=7");
    int    counts[FRAMES + 1] = { 0 }, begins[FRAMES] = { 0 };

    (void)state;
    widths(all, FRAMES, BANDS, counts, begins);
    assert_int_equal(counts[0] + counts[1] + counts[2], RECORDS);
    assert_true(counts[2] > 100);
    free(all);
}

/* The mean of a record is that of its own numbers: x has the values 100 i, 100 i + 1, ... */
static void masks_have_the_mean(void **state)
{
    levada_iter *it = t_iter_open("t_rows:count=1,lengths=[8] | cast:x,dtype=float32 | "
                                  "reshape:x,shape=[-1,2] | "
                                  "spec_augment:x,time_masks=50,frequency_masks=9", 1, 4);
    levada_block *b = NULL;
    const float  *at;
    int64_t       n = 0;

    (void)state;
    assert_int_equal(levada_iter_next(it, &b, NULL), LEVADA_OK);
    at = levada_column_f32(levada_block_column(b, "x"));
    for (int i = 0; i < 8; i++) {
        assert_true(at[i] == 3.5F || at[i] == (float)i);
        n += at[i] == 3.5F;
    }
    assert_true(n > 4);
    levada_block_unref(&b);
    levada_iter_close(&it);
}

static void nothing_but_the_record_decides(void **state)
{
    (void)state;
    t_iter_sweep("t_rows:count=40,lengths=[2,0,64,30] | cast:x,dtype=float32 | "
                 "reshape:x,shape=[-1,2] | "
                 "spec_augment:x,time_width=9,frequency_width=1,value=-1", false, 1);
}

static void wrong_columns_are_refused(void **state)
{
    (void)state;
    t_iter_refused("t_rows:count=4,lengths=[2] | spec_augment:v", LEVADA_EINVALID_ARGUMENT,
                   "must be a spectrogram");
    t_iter_refused("t_rows:count=4,lengths=[2] | reshape:x,shape=[-1,1] | spec_augment:x",
                   LEVADA_EINVALID_ARGUMENT, "must be a spectrogram");
    t_iter_refused("t_rows:count=4,lengths=[2] | spec_augment:v,time_fraction=1.5",
                   LEVADA_EINVALID_ARGUMENT, "time_fraction");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(widths_and_places_are_drawn_alike),
        cmocka_unit_test(masks_cover_whole_lines),
        cmocka_unit_test(the_fraction_limits_time_masks),
        cmocka_unit_test(masks_have_the_mean),
        cmocka_unit_test(nothing_but_the_record_decides),
        cmocka_unit_test(wrong_columns_are_refused),
    };

    return cmocka_run_group_tests(tests, t_folder_set_up, t_folder_tear_down);
}
