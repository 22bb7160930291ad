/* SPDX-License-Identifier: Apache-2.0 */
#include "support/files.h"
#include "support/iters.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define SAMPLES "t_speed.bin"
#define TURN 6.283185307179586
enum { FRAMES = 8000, RECORDS = 60 };

/* Changes the speed of RECORDS sines of 440 Hz, sampled at 8000. Counts the results with about the
 * length of factor 0.5, 1 and 2, and those of another length; each has the turns of the sine. */
static void speeds(const char *options, int counts[4])
{
    static float  samples[FRAMES];
    char          text[512];
    levada_block *b = NULL;
    levada_iter  *it;
    levada_status st;

    for (int i = 0; i < FRAMES; i++) samples[i] = (float)sin(TURN * 440 * i / FRAMES);
    t_write_file(t_path(SAMPLES), samples, sizeof samples);
    (void)snprintf(text, sizeof text,
                   "fixed_length:%s,record_bytes=32000 | repeat:60 | decode_raw:float32 | "
                   "change_speed:record,%s | batch:1", t_path(SAMPLES), options);
    it = t_iter_open(text, 1, 16);
    while ((st = levada_iter_next(it, &b, NULL)) == LEVADA_OK) {
        const levada_column *c = levada_block_column(b, "record");
        int64_t              n = levada_column_length(c, 0);
        const float         *at = levada_column_f32(c);
        int                  turns = 0;

        counts[n > 12000 ? 0 : n > 6000 ? 1 : 2]++;
        counts[3] += n != FRAMES;
        for (int64_t i = n / 4; i < n * 3 / 4; i++) {
            turns += (at[i] < 0) != (at[i - 1] < 0);
            assert_true(fabsf(at[i]) < 1.01F);
        }
        assert_in_range(turns, 438, 442);
        levada_block_unref(&b);
    }
    levada_iter_close(&it);
    if (st == LEVADA_EUNIMPLEMENTED) skip();
    assert_int_equal(st, LEVADA_END);
    assert_int_equal(counts[0] + counts[1] + counts[2], RECORDS);
}

static void each_factor_is_as_likely(void **state)
{
    int counts[4] = { 0 };

    (void)state;
    speeds("factors=[0.5,1,2]", counts);
    for (int i = 0; i < 3; i++) assert_in_range(counts[i], 8, 34);
}

static void usual_factors_and_ranges(void **state)
{
    int usual[4] = { 0 }, any[4] = { 0 }, one[4] = { 0 };

    (void)state;
    speeds("quality=HQ", usual);
    assert_in_range(usual[3], 25, 55); /* 0.9 and 1.1 */
    speeds("range=[0.75,1.25]", any);
    assert_true(any[3] >= 58);
    assert_int_equal(any[1], RECORDS);
    speeds("range=2", one);
    assert_int_equal(one[2], RECORDS);
}

/* Ragged audio of several lengths, some without a frame. */
static void nothing_but_the_record_decides(void **state)
{
    (void)state;
    if (!t_has("soxr")) skip();
    t_iter_sweep("t_rows:count=24,lengths=[3,0,64,31] | cast:x,dtype=int16 | "
                 "change_speed:x,range=[0.5,2]", false, 1);
    t_iter_sweep("t_rows:count=24,lengths=[3] | change_speed:v,quality=QQ | shuffle:5", false, 1);
}

static void long_results_are_bad_records(void **state)
{
    const char *text = "t_rows:count=9,lengths=[64] | cast:x,dtype=float32 | "
                       "change_speed:x,factors=[0.5],max_samples=100";
    t_bytes      none = { 0 };
    levada_iter *it;

    (void)state;
    if (!t_has("soxr")) skip();
    assert_int_equal(t_iter_ends(t_iter_open(text, 1, 4), LEVADA_ERESOURCE_EXHAUSTED,
                                 "max_samples=100"), 0);
    it = t_iter_open_policy(text, "skip", 1, 4);
    assert_int_equal(t_iter_read(it, -1, false, &none), 0);
    t_clear(&none);
    levada_iter_close(&it);
}

static void wrong_options_are_refused(void **state)
{
    static const char *const texts[][2] = {
        { "factors=[1,0.05]", "0.1 to 10" },
        { "factors=[11]", "factors" },
        { "range=[2,1]", "range must be" },     { "range=[1,2],factors=[1]", "cannot be combined" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char text[256];

        (void)snprintf(text, sizeof text, "t_rows:count=3,lengths=[2] | change_speed:v,%s",
                       texts[i][0]);
        t_iter_refused(text, LEVADA_EINVALID_ARGUMENT, texts[i][1]);
    }
    t_iter_refused("t_rows:count=3,lengths=[2] | change_speed:n", LEVADA_EINVALID_ARGUMENT,
                   "must be audio");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_factor_is_as_likely),
        cmocka_unit_test(usual_factors_and_ranges),
        cmocka_unit_test(nothing_but_the_record_decides),
        cmocka_unit_test(long_results_are_bad_records),
        cmocka_unit_test(wrong_options_are_refused),
    };

    return cmocka_run_group_tests(tests, t_folder_set_up, t_folder_tear_down);
}
