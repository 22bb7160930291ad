/* SPDX-License-Identifier: Apache-2.0 */
#include "support/files.h"
#include "support/iters.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define SAMPLES "t_resample.bin"
enum { FRAMES = 8000 };
#define TURN 6.283185307179586

/* A file of float32 sines of `hz`, sampled at 8000. */
static void write_sine(double hz)
{
    static float samples[FRAMES];

    for (int i = 0; i < FRAMES; i++) samples[i] = (float)sin(TURN * hz * i / FRAMES);
    t_write_file(t_path(SAMPLES), samples, sizeof samples);
}

static levada_block *resampled(const char *rest, levada_status want, levada_error *why)
{
    char          text[512];
    levada_block *block = NULL;
    levada_iter  *it;
    levada_status st;

    (void)snprintf(text, sizeof text,
                   "fixed_length:%s,record_bytes=32000 | decode_raw:float32 | "
                   "resample:record,%s", t_path(SAMPLES), rest);
    it = t_iter_open(text, 1, 256);
    st = levada_iter_next(it, &block, why);
    if (st == LEVADA_EUNIMPLEMENTED) {
        levada_iter_close(&it);
        skip();
    }
    assert_int_equal(st, want);
    levada_iter_close(&it);
    return block;
}

static void a_tone_stays_that_tone(void **state)
{
    static const struct {
        const char *options;
        int         rate;
    } cases[] = {
        { "rate=16000,input_rate=8000", 16000 },
        { "rate=11025,input_rate=8000", 11025 },
        { "rate=3000,input_rate=8000,quality=VHQ", 3000 },
        { "rate=8000,input_rate=8000", 8000 },
    };

    (void)state;
    write_sine(440);
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        levada_block        *b = resampled(cases[k].options, LEVADA_OK, NULL);
        const levada_column *c = levada_block_column(b, "record");
        int64_t              n = levada_column_length(c, 0);

        assert_true(n >= cases[k].rate - 1 && n <= cases[k].rate + 1);
        for (int64_t i = n / 4; i < n * 3 / 4; i++) {
            double want = sin(TURN * 440 * (double)i / cases[k].rate);

            assert_true(fabs((double)levada_column_f32(c)[i] - want) < 1e-3);
        }
        levada_block_unref(&b);
    }
}

static void limits_are_kept(void **state)
{
    levada_error why = LEVADA_ERROR_INIT;

    (void)state;
    write_sine(440);
    (void)resampled("rate=16000,input_rate=8000,max_samples=15999", LEVADA_ERESOURCE_EXHAUSTED,
                    &why);
    assert_non_null(strstr(why.message, "max_samples=15999"));
    levada_error_clear(&why);
    (void)resampled("rate=8000,input_rate=31", LEVADA_EINVALID_ARGUMENT, &why);
    assert_non_null(strstr(why.message, "ratio"));
}

static void columns_are_checked(void **state)
{
    static const char *const texts[][2] = {
        { "range:4 | resample:value,rate=8000,input_rate=8000", "must be audio" },
        { "range:4 | cast:value,dtype=int8 | reshape:value,shape=[1] | "
          "resample:value,rate=8000,input_rate=8000", "must be float32" },
        { "range:4 | cast:value,dtype=float32 | reshape:value,shape=[1] | resample:value,rate=8000",
          "sample_rate" },
        { "range:4 | cast:value,dtype=float32 | reshape:value,shape=[1] | "
          "resample:value,rate=8000,rate_field=value", "must be a rate, one int32 or int64 per "
                                                       "record; got float32" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        levada_dataset *ds = NULL;
        levada_error    why = LEVADA_ERROR_INIT;

        assert_int_equal(levada_dataset_parse(NULL, texts[i][0], &ds, &why),
                         LEVADA_EINVALID_ARGUMENT);
        if (!strstr(why.message, texts[i][1])) print_error("%s\n", why.message);
        assert_non_null(strstr(why.message, texts[i][1]));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tone_stays_that_tone),
        cmocka_unit_test(limits_are_kept),
        cmocka_unit_test(columns_are_checked),
    };

    return cmocka_run_group_tests(tests, t_folder_set_up, t_folder_tear_down);
}
