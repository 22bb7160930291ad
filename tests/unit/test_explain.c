/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a description means when it runs, as text.
 */
#include "support/iters.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void expect(const char *text, const char *want)
{
    levada_dataset *dataset = NULL;
    char           *got = NULL;

    assert_int_equal(levada_dataset_parse(t_iter_env(), text, &dataset, NULL), LEVADA_OK);
    assert_int_equal(levada_dataset_explain(dataset, &got, NULL), LEVADA_OK);
    assert_string_equal(got, want);
    levada_string_free(&got);
    levada_dataset_unref(&dataset);
}

static void names_threads_randomness_and_saves(void **state)
{
    (void)state;
    expect("range:9 | shuffle:4 | cast:value,dtype=int32 | batch:2 | prefetch:2",
           "0.range:9\n"
           "    runs    in order\n"
           "    saved   its position\n"
           "1.shuffle:4\n"
           "    runs    in order\n"
           "    random  order of records, from seed and epoch\n"
           "    saved   buffered records, by origin\n"
           "2.cast:value,dtype=int32\n"
           "    runs    in parallel\n"
           "    saved   nothing\n"
           "3.batch:2\n"
           "    runs    in order, then in parallel\n"
           "    saved   buffered records, by origin\n"
           "4.prefetch\n"
           "    runs    reads ahead\n"
           "    saved   nothing\n");
}

static void numbers_are_those_of_states(void **state)
{
    (void)state;
    expect("mix(range:3 | take:2; range:4):weights=[1,2]",
           "0.range:3\n"
           "    runs    in order\n"
           "    saved   its position\n"
           "1.take:2\n"
           "    runs    in order\n"
           "    saved   its position\n"
           "2.range:4\n"
           "    runs    in order\n"
           "    saved   its position\n"
           "3.mix\n"
           "    runs    in order\n"
           "    random  choice of inputs, from seed and epoch\n"
           "    saved   positions of its inputs\n");
}

static void chosen_boundaries_and_windows_are_told(void **state)
{
    (void)state;
    expect("t_rows:9 | bucket_by_sequence_length:x,max_tokens=90",
           "0.t_rows:9\n"
           "    runs    in order\n"
           "    saved   its position\n"
           "1.bucket_by_sequence_length:x,max_tokens=90\n"
           "    runs    in order, then in parallel\n"
           "    saved   buffered records, by origin; boundaries, if it chose them\n");
    expect("t_rows:9 | bucket_by_sequence_length:x,max_tokens=90,lookahead=5",
           "0.t_rows:9\n"
           "    runs    in order\n"
           "    saved   its position\n"
           "1.bucket_by_sequence_length:x,max_tokens=90,lookahead=5\n"
           "    runs    in order, then in parallel\n"
           "    random  order of batches in a window, from seed and epoch\n"
           "    saved   buffered records, by origin; boundaries, if it chose them\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_threads_randomness_and_saves),
        cmocka_unit_test(numbers_are_those_of_states),
        cmocka_unit_test(chosen_boundaries_and_windows_are_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
