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

#define SOUNDS "range:1000 | cast:value,dtype=float64 | reshape:value,shape=[1] | "

/* The gain in dB that each record of value 1 to 999 drew; free with free(). */
static double *gains(const char *text, int64_t epoch)
{
    levada_iter_options o = LEVADA_ITER_OPTIONS_INIT;
    double             *db = calloc(1000, sizeof *db);
    levada_block       *b = NULL;
    levada_iter        *it;
    int64_t             n = 0;

    o.seed = 5;
    o.epoch = epoch;
    it = t_iter_open_with(text, &o);
    while (levada_iter_next(it, &b, NULL) == LEVADA_OK) {
        for (int64_t i = 0; i < levada_block_rows(b); i++, n++) {
            double v = levada_column_f64(levada_block_column(b, "value"))[i];

            db[n] = n ? 20 * log10(v / (double)n) : 0;
        }
        levada_block_unref(&b);
    }
    levada_iter_close(&it);
    assert_int_equal(n, 1000);
    return db;
}

static int64_t equal(const double *a, const double *b)
{
    int64_t n = 0;

    for (int i = 1; i < 1000; i++) n += fabs(a[i] - b[i]) < 1e-9;
    return n;
}

static void decibels_are_drawn_alike(void **state)
{
    double *db = gains(SOUNDS "gain:value,db=[-6,6]", 0);
    int     boxes[12] = { 0 };

    (void)state;
    for (int i = 1; i < 1000; i++) {
        assert_true(db[i] >= -6 - 1e-9 && db[i] <= 6 + 1e-9);
        boxes[(int)fmin(fmax(db[i] + 6, 0), 11)]++;
    }
    for (int i = 0; i < 12; i++) assert_in_range(boxes[i], 50, 120); /* 83 expected, 8.7 off */
    free(db);
}

static void each_epoch_stage_and_pass_draws_again(void **state)
{
    double *first = gains(SOUNDS "gain:value,db=[-6,6]", 0);
    double *again = gains(SOUNDS "gain:value,db=[-6,6]", 0);
    double *other = gains(SOUNDS "gain:value,db=[-6,6]", 1);
    double *pass = gains("range:1000 | repeat:2 | skip:1000 | cast:value,dtype=float64 | "
                         "reshape:value,shape=[1] | gain:value,db=[-6,6]", 0);
    double *twice = gains(SOUNDS "gain:value,db=[-6,6] | gain:value,db=[-6,6]", 0);

    (void)state;
    assert_int_equal(equal(first, again), 999);
    assert_int_equal(equal(first, other), 0);
    assert_int_equal(equal(first, pass), 0);
    for (int i = 1; i < 1000; i++) twice[i] /= 2;
    assert_int_equal(equal(first, twice), 0);
    free(other);
    free(twice);
    other = gains(SOUNDS "gain:value,db=[-6,6],seed=3", 0);
    twice = gains(SOUNDS "gain:value,db=[-6,6],seed=3 | gain:value,db=[-6,6],seed=3", 0);
    for (int i = 1; i < 1000; i++) twice[i] /= 2;
    assert_int_equal(equal(first, other), 0);
    assert_int_equal(equal(other, twice), 999);
    free(first);
    free(again);
    free(other);
    free(pass);
    free(twice);
}

static void integers_are_rounded_and_clipped(void **state)
{
    static const int16_t from[] = { -32768, -20000, -3, -1, 0, 1, 3, 20000 };
    static const int16_t louder[] = { -32768, -32768, -6, -2, 0, 2, 6, 32767 };
    static const int16_t softer[] = { -16423, -10024, -2, -1, 0, 1, 2, 10024 };
    const struct {
        const char    *text;
        const int16_t *want;
    } cases[] = { { "gain:record,db=6", louder }, { "gain:record,db=[-6,-6]", softer } };

    (void)state;
    t_write_file(t_path("t_gain.bin"), from, sizeof from);
    for (size_t k = 0; k < 2; k++) {
        char                 text[512];
        levada_iter         *it;
        levada_block        *b = NULL;
        const levada_column *c;

        (void)snprintf(text, sizeof text, "fixed_length:%s,record_bytes=16 | decode_raw:int16 | %s",
                       t_path("t_gain.bin"), cases[k].text);
        it = t_iter_open(text, 1, 4);
        assert_int_equal(levada_iter_next(it, &b, NULL), LEVADA_OK);
        c = levada_block_column(b, "record");
        assert_memory_equal(levada_column_values(c), cases[k].want, sizeof louder);
        levada_block_unref(&b);
        levada_iter_close(&it);
    }
}

/* Ragged and fixed, of every block size, thread number and checkpoint. */
static void nothing_but_the_record_decides(void **state)
{
    (void)state;
    t_iter_sweep("t_rows:count=40,lengths=[3,0,9] | cast:x,dtype=int16 | gain:x,db=[-9,3]", false,
                 1);
    t_iter_sweep("t_rows:count=20,lengths=[3] | gain:v,db=[-9,3] | shuffle:7", false, 1);
    t_iter_sweep("t_rows:count=12,lengths=[3] | shuffle:7,seed=1 | repeat:2 | gain:v,db=[-9,3]",
                 false, 1);
}

static void wrong_options_are_refused(void **state)
{
    (void)state;
    t_iter_refused(SOUNDS "gain:value,db=[3,-3]", LEVADA_EINVALID_ARGUMENT, "db must be");
    t_iter_refused(SOUNDS "gain:value,db=[]", LEVADA_EINVALID_ARGUMENT, "db must be");
    t_iter_refused(SOUNDS "gain:value,db=[1,2,3]", LEVADA_EINVALID_ARGUMENT, "db must be");
    t_iter_refused(SOUNDS "gain:value,db=[-3,201]", LEVADA_EINVALID_ARGUMENT, "200");
    t_iter_refused(SOUNDS "gain:value,db=loud", LEVADA_EINVALID_ARGUMENT, "db");
    t_iter_refused(SOUNDS "gain:value,db=[0,true]", LEVADA_EINVALID_ARGUMENT, "db");
    t_iter_refused("range:3 | gain:value,db=1", LEVADA_EINVALID_ARGUMENT, "must be audio");
    t_iter_refused("range:3 | reshape:value,shape=[1] | gain:value,db=1",
                   LEVADA_EINVALID_ARGUMENT, "must be float32");
    t_iter_refused(SOUNDS "batch:2 | gain:value,db=1", LEVADA_EINVALID_ARGUMENT, "batch");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decibels_are_drawn_alike),
        cmocka_unit_test(each_epoch_stage_and_pass_draws_again),
        cmocka_unit_test(integers_are_rounded_and_clipped),
        cmocka_unit_test(nothing_but_the_record_decides),
        cmocka_unit_test(wrong_options_are_refused),
    };

    return cmocka_run_group_tests(tests, t_folder_set_up, t_folder_tear_down);
}
