/* SPDX-License-Identifier: Apache-2.0 */
#include "support/late_files.h"

#include "support/functions.h"
#include "support/iters.h"
#include <levada/example.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define RECORDS 40

/* A number of any size: of one byte, of several, of ten. */
static int64_t late_files_number(int64_t i)
{
    static const int64_t some[] = { 0, 127, 128, 16384, 2097152, INT64_MAX, -1, INT64_MIN };
    uint64_t bits = (uint64_t)i * UINT64_C(0x9E3779B97F4A7C15);

    return i % 5 == 0 ? some[i / 5 % 8] : (int64_t)(bits >> (i % 64));
}

static void late_files_add_i64(levada_example *e, const char *key, int64_t n, int64_t seed,
                               int64_t most)
{
    int64_t values[64];

    for (int64_t k = 0; k < n; k++) {
        values[k] = late_files_number(seed + k);
        if (most) values[k] %= most;
    }
    assert_int_equal(levada_example_add_i64(e, key, values, n, NULL), LEVADA_OK);
}

static void late_files_add_f32(levada_example *e, const char *key, int64_t n, int64_t seed)
{
    float values[64];

    for (int64_t k = 0; k < n; k++) values[k] = (float)(seed * 100 + k) / 4;
    assert_int_equal(levada_example_add_f32(e, key, values, n, NULL), LEVADA_OK);
}

static void late_files_add_lists(levada_example *e, int64_t i)
{
    assert_int_equal(levada_example_begin_list(e, "frames", NULL), LEVADA_OK);
    for (int64_t k = 0; k < i % 4; k++) late_files_add_f32(e, NULL, 16, i + k);
    assert_int_equal(levada_example_end_list(e, NULL), LEVADA_OK);
    assert_int_equal(levada_example_begin_list(e, "pairs", NULL), LEVADA_OK);
    for (int64_t k = 0; k < i % 7; k++) late_files_add_i64(e, NULL, 2, i + k, 0);
    assert_int_equal(levada_example_end_list(e, NULL), LEVADA_OK);
    assert_int_equal(levada_example_begin_list(e, "words", NULL), LEVADA_OK);
    for (int64_t k = 0; k < i % 5; k++) late_files_add_i64(e, NULL, i * k % 17, i + k, 0);
    assert_int_equal(levada_example_end_list(e, NULL), LEVADA_OK);
    assert_int_equal(levada_example_begin_list(e, "times", NULL), LEVADA_OK);
    for (int64_t k = 0; k < i % 6; k++) late_files_add_i64(e, NULL, 1, i + k, 0);
    assert_int_equal(levada_example_end_list(e, NULL), LEVADA_OK);
}

/* Another list of frames, which replaces the first: one step of 16 floats that are not packed. */
static void late_files_add_unpacked(t_bytes *to)
{
    static const char head[] = "\x12\x60\x0a\x5e\x0a\x06"
                               "frames\x12\x54\x0a\x52\x12\x50";

    t_add(to, head, sizeof head - 1);
    for (int i = 0; i < 16; i++) t_add(to, "\x0d\x00\x00\x80\x3f", 5);
}

/* Readable as Example and as SequenceExample. */
static void late_files_add_record(t_bytes *to, levada_example *e, int64_t i)
{
    const void *name = "a name of some bytes";
    size_t name_size = (size_t)(i % 20), size = 0;
    const uint8_t *data = NULL;
    t_bytes all = { 0 };
    /* features { feature { key: "loose" value { int64_list { 1, 2, 300 and 7, not packed } } } } */
    static const char loose[] = "\x0a\x16\x0a\x14\x0a\x05loose\x12\x0b\x1a\x09\x08\x01\x08\x02\x08"
                                "\xac\x02\x08\x07";

    levada_example_reset(e);
    late_files_add_i64(e, "value", 1, 0, 1);
    assert_int_equal(levada_example_add_i64(e, "value", &i, 1, NULL), LEVADA_OK);
    late_files_add_i64(e, "tokens", i * 7 % 41, i, i % 3 ? 70000 : 0);
    late_files_add_i64(e, "ids", i * 5 % 33, i, i % 4 ? 1000 : INT32_MAX);
    late_files_add_i64(e, "small", i % 13, i, 300);
    late_files_add_i64(e, "loose", 12, i, 200);
    late_files_add_f32(e, "real", i * 3 % 29, i);
    late_files_add_f32(e, "feat", 12, i);
    if (i % 5) late_files_add_i64(e, "vec", 9, i, 0);
    if (i % 6) late_files_add_i64(e, "rows", i % 6 * 2, i, 90);
    assert_int_equal(levada_example_add_bytes(e, "name", &name, &name_size, 1, NULL), LEVADA_OK);
    late_files_add_lists(e, i);
    assert_int_equal(levada_example_finish(e, &data, &size, NULL), LEVADA_OK);
    t_add(&all, data, size);
    if (i % 9 == 4) t_add(&all, loose, sizeof loose - 1);
    if (i == RECORDS - 4) late_files_add_unpacked(&all);
    t_add_record(to, all.at, all.size);
    t_clear(&all);
}

/* Mostly steps of one size, which are larger than everything else. */
static void late_files_add_steps(t_bytes *to, levada_example *e, int64_t i)
{
    const uint8_t *data = NULL;
    size_t size = 0;

    levada_example_reset(e);
    assert_int_equal(levada_example_add_i64(e, "value", &i, 1, NULL), LEVADA_OK);
    assert_int_equal(levada_example_begin_list(e, "wide", NULL), LEVADA_OK);
    for (int64_t k = 0; k < i % 9; k++) late_files_add_f32(e, NULL, 40, i + k);
    assert_int_equal(levada_example_end_list(e, NULL), LEVADA_OK);
    assert_int_equal(levada_example_finish(e, &data, &size, NULL), LEVADA_OK);
    t_add_record(to, data, size);
}

/* Steps of 16 floats and of one number; some have too few, too many, or no number of int32. */
static void late_files_add_bad_lists(levada_example *e, int64_t i)
{
    const int64_t times[] = { i, i % 8 == 6 ? INT64_MAX : 1 };

    assert_int_equal(levada_example_begin_list(e, "frames", NULL), LEVADA_OK);
    for (int64_t k = 0; k < i % 4; k++) {
        late_files_add_f32(e, NULL, i % 11 == 7 && k == 2 ? 15 : 16, k);
    }
    assert_int_equal(levada_example_end_list(e, NULL), LEVADA_OK);
    assert_int_equal(levada_example_begin_list(e, "times", NULL), LEVADA_OK);
    late_files_add_i64(e, NULL, 1, 3, 100);
    assert_int_equal(levada_example_add_i64(e, NULL, times, i % 13 == 9 ? 2 : 1, NULL), LEVADA_OK);
    assert_int_equal(levada_example_add_i64(e, NULL, times + 1, i % 13 != 5, NULL), LEVADA_OK);
    assert_int_equal(levada_example_end_list(e, NULL), LEVADA_OK);
}

/* A bad one: a varint of 11 bytes, or a number that is none of int32, or too few in a shape. */
static void late_files_add_bad(t_bytes *to, levada_example *e, int64_t i)
{
    static const char overlong[] = "\x0a\x1f\x0a\x1d\x0a\x06tokens\x12\x13\x1a\x11\x0a\x0f\x01\x02"
                                   "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01\x03\x04";
    const int64_t large[] = { 1, 2, 3, 4, 5, 6, 7, 8, (int64_t)1 << 31, 10 };
    const uint8_t *data = NULL;
    t_bytes all = { 0 };
    size_t size = 0;

    levada_example_reset(e);
    assert_int_equal(levada_example_add_i64(e, "value", &i, 1, NULL), LEVADA_OK);
    assert_int_equal(levada_example_add_i64(e, "tokens", large, i % 10, NULL), LEVADA_OK);
    assert_int_equal(levada_example_add_i64(e, "ids", large, i % 3 == 1 ? 10 : 8, NULL),
                     LEVADA_OK);
    assert_int_equal(levada_example_add_i64(e, "vec", large, i % 7 == 3 ? 8 : 9, NULL), LEVADA_OK);
    late_files_add_bad_lists(e, i);
    assert_int_equal(levada_example_finish(e, &data, &size, NULL), LEVADA_OK);
    t_add(&all, data, size);
    if (i % 5 == 2) t_add(&all, overlong, sizeof overlong - 1);
    t_add_record(to, all.at, all.size);
    t_clear(&all);
}

int t_late_set_up(void **state)
{
    levada_example *e = NULL;
    t_bytes good = { 0 }, bad = { 0 }, steps = { 0 };

    if (t_functions_set_up(state) != 0) return -1;
    assert_int_equal(levada_example_create(&e, NULL), LEVADA_OK);
    for (int64_t i = 0; i < RECORDS; i++) late_files_add_record(&good, e, i);
    for (int64_t i = 0; i < RECORDS; i++) late_files_add_bad(&bad, e, i);
    for (int64_t i = 0; i < RECORDS; i++) late_files_add_steps(&steps, e, i);
    t_write_file(t_path("good.tfrecord"), good.at, good.size);
    t_write_file(t_path("bad.tfrecord"), bad.at, bad.size);
    t_write_file(t_path("steps.tfrecord"), steps.at, steps.size);
    t_clear(&steps);
    t_clear(&good);
    t_clear(&bad);
    levada_example_destroy(&e);
    return 0;
}
