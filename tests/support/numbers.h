/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Valid arguments for a call of any exported function, for tests that make one of them invalid.
 */
#ifndef LEVADA_TESTS_SUPPORT_NUMBERS_H
#define LEVADA_TESTS_SUPPORT_NUMBERS_H

#include "state/state_priv.h"
#include "support/buckets.h"

#include <levada/levada.h>
#include <levada/rowstore.h>
#include <levada/stage.h>

/* Valid arguments, new for each call. Those whose names begin with `made` are destroyed after it.
 */
typedef struct test_valid {
    levada_env           *env;
    levada_block         *block, *row;
    levada_builder       *builder;
    levada_queue         *full, *empty, *names;
    levada_barrier       *barrier;
    levada_bucket        *bucket;
    levada_coordinator   *coordinator;
    levada_queue_runner  *runner;
    levada_dataset       *range, *taken, *lines;
    levada_iter          *it, *unread; /* of range:5, and of a file */
    levada_block         *last;
    levada_reader        *reader, *identity;
    levada_state_saver   *saver;
    levada_segment_batch *batch;
    levada_watchdog      *watchdog;
    levada_example       *example;
    levada_example_view  *view;
    levada_decoding      *decoding;
    levada_length_histogram *histogram;
    levada_output        *output;
    levada_writer        *writer;
    levada_rowstore      *store;
    uint32_t              slots[8];
    levada_context        context;
    levada_cursor         cursor;
    levada_state_writer   to;
    levada_state_reader   from;
    levada_value         *list, *map, *options;
    levada_tensor        *scalar, *vector, *strings, *name;
    int64_t               numbers[4];
    char                 *state, *saved;
    size_t                state_size, saved_size;

    levada_block         *made_block;
    levada_tensor        *made[8];
    levada_segment_batch *made_batch;
    levada_dataset       *made_dataset;
    levada_value         *made_value;
    levada_spec          *made_spec;
    levada_coordinator   *made_coordinator;
    levada_builder       *made_builder;
    levada_writer        *made_writer;
    uint32_t             *made_slots;
    char                 *made_text;
} test_valid;

extern test_valid         valid;
extern test_source     test_elements;    /* of the bucket */
extern const int64_t   test_few_numbers[4];
extern const levada_field test_fields_of_builder[2];
extern const char     *test_patterns[1]; /* of the dataset of lines */

/* In a directory of t_folder_set_up. Whatever goes wrong fails the test. */
void test_valid_set_up(void);
void test_valid_tear_down(void);

#endif
