/* SPDX-License-Identifier: Apache-2.0 */
#include "support/functions.h"
#include "support/iters.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* `values` records a file: name 0, name 1, ... */
static void write_files(const char *const *names, const int32_t *values, int32_t n)
{
    for (int32_t i = 0; i < n; i++) {
        t_bytes bytes = { 0 };

        for (int32_t k = 0; k < values[i]; k++) {
            char line[32];

            (void)snprintf(line, sizeof line, "%s%d\n", names[i], (int)k);
            t_add(&bytes, line, strlen(line));
        }
        t_write_file(t_path(names[i]), bytes.at, bytes.size);
        t_clear(&bytes);
    }
}

/* All strings of the only column, each with a space after it. */
static void expect_lines(const char *text, const char *want)
{
    const int32_t sizes[] = { 1, 2, 7, 256 };

    for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
        levada_iter  *it = t_iter_open(text, 1, sizes[k]);
        levada_block *block = NULL;
        t_bytes       got = { 0 };

        while (levada_iter_next(it, &block, NULL) == LEVADA_OK) {
            for (int64_t r = 0; r < levada_block_rows(block); r++) {
                int64_t        size = 0;
                const uint8_t *line = levada_column_bytes(levada_block_at(block, 0), r, &size);

                t_add(&got, line, (size_t)size);
                t_add(&got, " ", 1);
            }
            levada_block_unref(&block);
        }
        t_add(&got, "", 1);
        assert_string_equal((const char *)got.at, want);
        t_clear(&got);
        levada_iter_close(&it);
    }
}

static const char *with_folder(const char *head, const char *tail)
{
    static char text[1024];

    (void)snprintf(text, sizeof text, "files:\"%s\" | %s%s", t_path("?"), head, tail);
    return text;
}

static const char *const names[] = { "a", "b", "c", "d", "e" };

static void goes_around(void **state)
{
    const int32_t values[] = { 3, 1, 0, 4, 2 };

    (void)state;
    (void)t_folder();
    write_files(names, values, 5);
    expect_lines(with_folder("interleave:(text_lines:\"{path}\")", ",cycle_length=1"),
                 "a0 a1 a2 b0 d0 d1 d2 d3 e0 e1 ");
    expect_lines(with_folder("interleave:(text_lines:\"{path}\")", ",cycle_length=2"),
                 "a0 b0 a1 a2 d0 e0 d1 e1 d2 d3 ");
    expect_lines(with_folder("interleave:(text_lines:\"{path}\")", ",cycle_length=9"),
                 "a0 b0 d0 e0 a1 d1 e1 a2 d2 d3 ");
    expect_lines(
        with_folder("interleave:(text_lines:\"{path}\")", ",cycle_length=2,block_length=2"),
        "a0 a1 b0 a2 d0 d1 e0 e1 d2 d3 ");
    expect_lines(
        with_folder("repeat:2 | interleave:(text_lines:\"{path}\" | take:1)", ",cycle_length=2"),
        "a0 b0 d0 e0 a0 b0 d0 e0 ");
    expect_lines(
        with_folder("interleave:(text_lines:\"{path}\" | take:1),cycle_length=2", " | repeat:2"),
        "a0 b0 d0 e0 a0 b0 d0 e0 ");
    t_folder_drop();
}

static void pipes_may_hold_pipes(void **state)
{
    const int64_t want[] = { 0, 0, 1, 1, 0, 2, 1, 3, 2, 3 };

    (void)state;
    t_expect_i64("range:2 | interleave:(concat(range:2; range:stop=2)),cycle_length=2 | take:4",
                 "value", want, 4);
    t_expect_i64(
        "range:2 | interleave:(range:2 | interleave:(range:3),cycle_length=1),cycle_length=2"
        " | take:4",
        "value", want, 4);
}

static void batches_count_as_records(void **state)
{
    levada_iter  *it = t_iter_open("range:2 | interleave:(range:5 | batch:2)", 1, 7);
    const int64_t sizes[] = { 2, 2, 2, 2, 1, 1 };
    levada_block *block = NULL;

    (void)state;
    for (size_t k = 0; k < 6; k++) {
        assert_int_equal(levada_iter_next(it, &block, NULL), LEVADA_OK);
        assert_int_equal(levada_block_rows(block), sizes[k]);
        levada_block_unref(&block);
    }
    assert_int_equal(levada_iter_next(it, &block, NULL), LEVADA_END);
    levada_iter_close(&it);
}

static void refuses_what_does_not_fit(void **state)
{
    levada_iter *it = t_iter_open("files:/etc/hos?s | interleave:(text_lines:\"{path}.no\")", 1, 7);

    (void)state;
    t_iter_fails(it, LEVADA_ENOT_FOUND, "");
    levada_iter_close(&it);
    t_iter_refused("range:3 | interleave:(text_lines:\"{path}\")", LEVADA_EINVALID_ARGUMENT,
                   "unknown field \x27path\x27");
    t_iter_refused("t_rows:3 | interleave:(text_lines:\"{x}\")", LEVADA_EINVALID_ARGUMENT,
                   "must be a byte string or an integer");
    t_iter_refused("t_rows:3 | batch:2 | interleave:(text_lines:a)", LEVADA_EINVALID_ARGUMENT,
                   "the input has batches");
    t_iter_refused("range:3 | interleave", LEVADA_EINVALID_ARGUMENT, "pipe");
}

/* A pipe of pipes with 4096 x 4096 x n sources. */
static void add_crowd(t_bytes *to, int32_t n)
{
    const char *head = "range:1 | interleave:(range:1 | interleave:(concat(range:1";
    const char *tail = ")),cycle_length=4096),cycle_length=4096";

    t_add(to, head, strlen(head));
    for (int32_t i = 1; i < n; i++) t_add(to, ";range:1", 8);
    t_add(to, tail, strlen(tail));
}

/* Before a record is read. */
static void refuses_what_it_could_not_open(void **state)
{
    t_bytes one = { 0 }, two = { 0 };

    (void)state;
    t_iter_refused("range:2 | interleave:(range:2 | interleave:(range:2 | interleave:(range:3)))",
                   LEVADA_EINVALID_ARGUMENT, "nested more than 2 deep");
    add_crowd(&one, 65);
    t_add(&one, "", 1);
    t_iter_refused((const char *)one.at, LEVADA_EINVALID_ARGUMENT,
                   "cycle_length=4096: more than 1073741824 sources");
    t_add(&two, "concat(", 7);
    add_crowd(&two, 40);
    t_add(&two, ";", 1);
    add_crowd(&two, 40);
    t_add(&two, ")", 2);
    t_iter_refused((const char *)two.at, LEVADA_ERESOURCE_EXHAUSTED,
                   "more than 1073741824 sources");
    t_clear(&one);
    t_clear(&two);
}

static void goes_on_after_a_restore(void **state)
{
    const int32_t values[] = { 9, 1, 0, 14, 6 };

    (void)state;
    (void)t_folder();
    write_files(names, values, 5);
    t_iter_sweep(with_folder("interleave:(text_lines:\"{path}\")", ",cycle_length=3"), false, 1);
    t_iter_sweep(with_folder("interleave:(text_lines:\"{path}\" | shuffle:3)",
                             ",cycle_length=2,block_length=2 | shuffle:4 | batch:3"), true, 1);
    t_iter_sweep("range:5 | interleave:(range:4 | interleave:(t_stream:3),cycle_length=2)"
                 ",cycle_length=3 | batch:4", true, 1);
    t_iter_sweep("range:4 | interleave:(t_rows:7 | batch:2),cycle_length=2", true, 1);
    t_folder_drop();
}

static void *watch(void *it)
{
    for (int32_t i = 0; i < 2000; i++) {
        int64_t done = 0, total = 0;

        levada_iter_progress(it, &done, &total);
        assert_true(done >= 0);
    }
    return NULL;
}

/* Pipes come and go meanwhile: for the sanitizer of threads. */
static void progress_is_asked_for_by_others(void **state)
{
    levada_iter *it = t_iter_open("range:300 | interleave:(t_rows:7 | shuffle:3)", 2, 4);
    t_bytes      all = { 0 };
    pthread_t    thread;

    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, watch, it), 0);
    assert_true(t_iter_read(it, -1, false, &all) > 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    t_clear(&all);
    levada_iter_close(&it);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(goes_around),
        cmocka_unit_test(pipes_may_hold_pipes),
        cmocka_unit_test(batches_count_as_records),
        cmocka_unit_test(refuses_what_does_not_fit),
        cmocka_unit_test(refuses_what_it_could_not_open),
        cmocka_unit_test(goes_on_after_a_restore),
        cmocka_unit_test(progress_is_asked_for_by_others),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
