/* SPDX-License-Identifier: Apache-2.0 */
#include "support/files.h"
#include "support/iters.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define SAMPLES "t_log_mel.bin"
enum { FRAMES = 1600 };
#define TURN 6.283185307179586

static levada_block *spectrogram(const char *rest)
{
    static float    samples[FRAMES];
    char            text[256];
    levada_block   *block = NULL;
    levada_dataset *ds = NULL;
    levada_iter    *it = NULL;
    levada_status   st;

    for (int i = 0; i < FRAMES; i++) samples[i] = (float)cos(TURN * 1000.0 * i / 16000.0);
    t_write_file(t_path(SAMPLES), samples, sizeof samples);
    (void)snprintf(text, sizeof text,
                   "fixed_length:%s,record_bytes=6400 | decode_raw:float32 | "
                   "log_mel:record,%s", t_path(SAMPLES), rest);
    assert_int_equal(levada_dataset_parse(NULL, text, &ds, NULL), LEVADA_OK);
    st = levada_iter_open(ds, NULL, &it, NULL);
    levada_dataset_unref(&ds);
    if (st == LEVADA_EUNIMPLEMENTED) skip();
    assert_int_equal(st, LEVADA_OK);
    assert_int_equal(levada_iter_next(it, &block, NULL), LEVADA_OK);
    levada_iter_close(&it);
    return block;
}

static int frames_of(const char *rest)
{
    levada_block *b = spectrogram(rest);
    int           n = (int)levada_column_length(levada_block_column(b, "record"), 0);

    levada_block_unref(&b);
    return n;
}

static void frames_follow_from_hop_and_padding(void **state)
{
    (void)state;
    assert_int_equal(frames_of("hop=160"), 11);
    assert_int_equal(frames_of("hop=160,padding=none"), 8);
    assert_int_equal(frames_of("hop=1600,padding=zeros"), 2);
    assert_int_equal(frames_of("n_fft=1602,hop=1,padding=none"), 0);
}

/* A tone of 1000 Hz is the largest power, at the filter around it. */
static void a_tone_is_in_its_filter(void **state)
{
    levada_block *b = spectrogram("n_mels=40,scale=htk,norm=none,padding=none,log=none,window=400");
    const float  *at = levada_column_f32(levada_block_column(b, "record"));
    double        low = 2595.0 * log10(1.0 + 1000.0 / 700.0), top = 2595.0 * log10(1 + 80.0 / 7.0);
    int           best = 0;

    (void)state;
    for (int m = 0; m < 40; m++) {
        if (at[m] > at[best]) best = m;
    }
    assert_true(fabs(low * 41.0 / top - 1.0 - best) <= 0.6);
    /* The sum of a Hann window is 200: the power of the tone's bin is (200 / 2) squared. */
    assert_true(at[best] > 5e3F && at[best] < 2e4F);
    levada_block_unref(&b);
}

static void wrong_options_are_refused(void **state)
{
    static const char *const texts[][2] = {
        { "n_fft=401", "even" },
        { "n_fft=400,window=402", "longer than n_fft" },
        { "low=9000", "ascend" },
        { "high=8001", "ascend" },
        { "floor=0", "floor" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        levada_dataset *ds = NULL;
        levada_error    why = LEVADA_ERROR_INIT;
        char            text[256];

        (void)snprintf(text, sizeof text,
                       "range:4 | cast:value,dtype=float32 | reshape:value,shape=[1] | "
                       "log_mel:value,%s", texts[i][0]);
        assert_int_equal(levada_dataset_parse(NULL, text, &ds, &why), LEVADA_EINVALID_ARGUMENT);
        if (!strstr(why.message, texts[i][1])) print_error("%s\n", why.message);
        assert_non_null(strstr(why.message, texts[i][1]));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_follow_from_hop_and_padding),
        cmocka_unit_test(a_tone_is_in_its_filter),
        cmocka_unit_test(wrong_options_are_refused),
    };

    return cmocka_run_group_tests(tests, t_folder_set_up, t_folder_tear_down);
}
