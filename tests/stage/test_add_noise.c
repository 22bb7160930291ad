/* SPDX-License-Identifier: Apache-2.0 */
#include "support/files.h"
#include "support/iters.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { FRAMES = 4000 };

/* The noise that `stage` adds to a record of FRAMES ones; free with free(). */
static float *noise_of(const char *stage)
{
    static float  ones[FRAMES];
    float        *noise = calloc(FRAMES, sizeof *noise);
    char          text[512];
    levada_block *b = NULL;
    levada_iter  *it;

    for (int i = 0; i < FRAMES; i++) ones[i] = 1;
    t_write_file(t_path("t_noise.bin"), ones, sizeof ones);
    (void)snprintf(text, sizeof text,
                   "fixed_length:%s,record_bytes=16000 | decode_raw:float32 | %s",
                   t_path("t_noise.bin"), stage);
    it = t_iter_open(text, 1, 4);
    assert_int_equal(levada_iter_next(it, &b, NULL), LEVADA_OK);
    for (int i = 0; i < FRAMES; i++)
        noise[i] = levada_column_f32(levada_block_column(b, "record"))[i] - 1;
    levada_block_unref(&b);
    levada_iter_close(&it);
    return noise;
}

static void white_noise_is_normal_and_independent(void **state)
{
    float *noise = noise_of("add_noise:record,snr=20"); /* a deviation of 0.1 */
    double sum = 0, squares = 0, next = 0;
    int    inside = 0, far = 0;

    (void)state;
    for (int i = 0; i < FRAMES; i++) {
        double v = (double)noise[i] * 10;

        sum += v;
        squares += v * v;
        if (i) next += v * (double)noise[i - 1] * 10;
        inside += fabs(v) < 1;
        far += fabs(v) > 3;
    }
    assert_true(fabs(sum / FRAMES) < 0.06 && fabs(next / FRAMES) < 0.06);
    assert_true(fabs(squares / FRAMES - 1) < 0.09);
    assert_in_range(inside, 2610, 2850); /* 2731 expected */
    assert_in_range(far, 1, 30);         /* 10.8 */
    free(noise);
}

/* The noise of another field has exactly the ratio, and is repeated if it is short. */
static void noise_of_a_field_has_the_ratio(void **state)
{
    levada_iter *it = t_iter_open("t_rows:count=40,lengths=[64,3] | cast:x,dtype=float32 | "
                                  "with_columns:{m:x} | slice:m,begin=[0],size=[3] | "
                                  "add_noise:x,snr=10,noise=m", 1, 40);
    levada_iter         *plain = t_iter_open("t_rows:count=40,lengths=[64,3]", 1, 40);
    levada_block        *b = NULL, *a = NULL;
    const levada_column *x, *y;

    (void)state;
    assert_int_equal(levada_iter_next(it, &b, NULL), LEVADA_OK);
    assert_int_equal(levada_iter_next(plain, &a, NULL), LEVADA_OK);
    x = levada_block_column(a, "x");
    y = levada_block_column(b, "x");
    for (int64_t r = 0; r < 40; r++) {
        const int32_t *from = levada_column_i32(x) + levada_column_begins(x, 0)[r];
        const float   *to = levada_column_f32(y) + levada_column_begins(y, 0)[r];
        double         signal = 0, noise = 0;

        for (int64_t i = 0; i < levada_column_length(x, r); i++) {
            double d = (double)to[i] - from[i];

            signal += (double)from[i] * from[i];
            noise += d * d;
        }
        assert_true(fabs(10 * log10(signal / noise) - 10) < 1e-2);
    }
    levada_block_unref(&a);
    levada_block_unref(&b);
    levada_iter_close(&it);
    levada_iter_close(&plain);
}

static void nothing_but_the_record_decides(void **state)
{
    (void)state;
    t_iter_sweep("t_rows:count=40,lengths=[3,0,64] | cast:x,dtype=int16 | add_noise:x,snr=[-5,20]",
                 false, 1);
    t_iter_sweep("t_rows:count=40,lengths=[3,2,64] | cast:x,dtype=float64 | with_columns:{m:x} | "
                 "slice:m,begin=[0],size=[2] | add_noise:x,snr=[-5,20],noise=m | shuffle:7",
                 false, 1);
}

/* What is not a number would make all samples so. */
static void samples_that_are_not_finite_are_bad(void **state)
{
    static const float samples[] = { 1, 2, 3, INFINITY, 5, 6, NAN, 8, 0, 0 };
    levada_iter       *it;
    char               text[512];
    t_outcome          o = { 0 };

    (void)state;
    t_write_file(t_path("t_noise.bin"), samples, sizeof samples);
    (void)snprintf(text, sizeof text,
                   "fixed_length:%s,record_bytes=8 | decode_raw:float32 | "
                   "add_noise:record,snr=[0,9]", t_path("t_noise.bin"));
    assert_int_equal(t_iter_ends(t_iter_open(text, 1, 1), LEVADA_EINVALID_ARGUMENT,
                                 "must be finite"), 1);
    it = t_iter_open_policy(text, "skip", 1, 4);
    assert_int_equal(t_iter_read_rest(it, &o), LEVADA_END);
    assert_int_equal(o.rows, 3);
    assert_int_equal(t_iter_stat(it, "skipped_records"), 2);
    levada_iter_close(&it);
}

static void wrong_options_are_refused(void **state)
{
    (void)state;
    t_iter_refused("t_rows:count=3,lengths=[2] | add_noise:v,snr=[1,2,3]",
                   LEVADA_EINVALID_ARGUMENT, "snr must be");
    t_iter_refused("t_rows:count=3,lengths=[2] | add_noise:v,snr=-101", LEVADA_EINVALID_ARGUMENT,
                   "-100");
    t_iter_refused("t_rows:count=3,lengths=[2] | add_noise:v,snr=1,noise=loud",
                   LEVADA_EINVALID_ARGUMENT, "loud");
    t_iter_refused("t_rows:count=3,lengths=[2] | add_noise:v,snr=1,noise=x",
                   LEVADA_EINVALID_ARGUMENT, "same dtype");
    t_iter_refused("t_rows:count=3,lengths=[2] | add_noise:n,snr=1", LEVADA_EINVALID_ARGUMENT,
                   "must be audio");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(white_noise_is_normal_and_independent),
        cmocka_unit_test(noise_of_a_field_has_the_ratio),
        cmocka_unit_test(nothing_but_the_record_decides),
        cmocka_unit_test(samples_that_are_not_finite_are_bad),
        cmocka_unit_test(wrong_options_are_refused),
    };

    return cmocka_run_group_tests(tests, t_folder_set_up, t_folder_tear_down);
}
