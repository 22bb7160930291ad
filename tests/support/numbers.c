/* SPDX-License-Identifier: Apache-2.0 */
#include "support/numbers.h"

#include "run/iter.h"
#include "support/blocks.h"
#include "support/files.h"
#include "support/queues.h"
#include "support/readers.h"
#include "support/savers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

test_valid valid;
test_source test_elements;
const char *test_patterns[1];
const int64_t       test_few_numbers[4] = { 1, 2, 5, 9 };
const levada_field  test_fields_of_builder[2] = {
    { .name = "x", .dtype = LEVADA_INT64, .depth = 1 }, { .name = "s", .dtype = LEVADA_BYTES }
};
static const int32_t       lengths[4] = { 2, 0, 1, 3 };
static const int64_t       one = 1;

#define MUST(call) assert_int_equal((call), LEVADA_OK)

static levada_status none(void *user, levada_error *err)
{
    (void)user;
    (void)err;
    return LEVADA_END;
}

static void set_up_data(void)
{
    levada_spec  *spec = NULL;
    const int64_t two = 2;

    MUST(levada_env_create(NULL, &valid.env, NULL));
    valid.block = test_block(test_pool(), lengths, 4, 0);
    valid.row = test_block(test_pool(), lengths, 1, 0);
    MUST(levada_spec_create(test_fields_of_builder, 2, LEVADA_SPEC_PLAIN, &spec, NULL));
    MUST(levada_builder_create(valid.env, spec, 4, &valid.builder, NULL));
    levada_spec_unref(&spec);
    MUST(levada_dataset_parse(valid.env, "range:5", &valid.range, NULL));
    MUST(levada_dataset_parse(valid.env, "range:5|take:2", &valid.taken, NULL));
    MUST(levada_iter_open(valid.range, NULL, &valid.it, NULL));
    MUST(levada_iter_save(valid.it, &valid.state, &valid.state_size, NULL));
    MUST(levada_iter_next(valid.it, &valid.last, NULL));
    valid.scalar = test_tensor(LEVADA_INT64, 0, NULL, test_few_numbers);
    valid.vector = test_tensor(LEVADA_INT64, 1, &two, test_few_numbers);
    valid.strings = test_strings(1, &two, (const char *const[]){ "a", "b" });
    valid.name = test_strings(0, NULL, (const char *const[]){ "a" });
    valid.list = levada_value_list();
    valid.map = levada_value_map();
    MUST(levada_value_push(valid.list, &(levada_value *){ levada_value_int(1) }, NULL));
    MUST(levada_value_set_int(valid.map, "a", 1, NULL));
    valid.options = levada_value_map();
    MUST(levada_value_set_text(valid.options, "dtype", "uint8", NULL));
}

static levada_queue *queue_of(bool full)
{
    levada_queue *queue = test_queue(LEVADA_QUEUE_FIFO, 8, 0);

    if (full) MUST(test_put(queue, 1, 4));
    return queue;
}

static void set_up_queues(void)
{
    static const levada_dtype   int64_type = LEVADA_INT64;
    static levada_enqueue_op    op = { .run = none };
    levada_queue_runner_options ro = LEVADA_QUEUE_RUNNER_OPTIONS_INIT;
    levada_barrier_options      bo = LEVADA_BARRIER_OPTIONS_INIT;
    levada_watchdog_options     wo = LEVADA_WATCHDOG_OPTIONS_INIT;
    levada_bucket_options       o;

    valid.full = queue_of(true);
    valid.empty = queue_of(false);
    bo.ncomponents = 1;
    bo.dtypes = &int64_type;
    MUST(levada_barrier_create(valid.env, &bo, &valid.barrier, NULL));
    test_elements = test_source_of(1, NULL);
    o = test_bucket_options(&test_elements, 1, &one);
    valid.bucket = test_bucket(&o);
    MUST(levada_coordinator_create(valid.env, NULL, 0, &valid.coordinator, NULL));
    MUST(levada_coordinator_request_stop(valid.coordinator, NULL, NULL));
    ro.nops = 1;
    ro.ops = &op;
    MUST(levada_queue_runner_create(valid.empty, &ro, &valid.runner, NULL));
    MUST(levada_watchdog_create(valid.env, &wo, &valid.watchdog, NULL));
    levada_watchdog_stop(valid.watchdog);
}

static void set_up_readers(void)
{
    char text[4200];

    valid.names = test_names();
    test_add_name(valid.names, test_write_text("a.txt", "one\ntwo\nthree\n"));
    valid.reader = test_reader_of(LEVADA_READER_TEXT_LINE);
    valid.identity = test_reader_of(LEVADA_READER_IDENTITY);
    valid.saver = test_saver(1, 1);
    test_saver_put(valid.saver, 1, 2);
    valid.batch = test_saver_take(valid.saver, 1);
    test_saver_put(valid.saver, 2, 1);
    MUST(
        levada_state_saver_save(valid.saver, true, NULL, 0, &valid.saved, &valid.saved_size, NULL));
    test_patterns[0] = test_write_text("b.txt", "one\ntwo\n");
    MUST(levada_inspect_index(valid.env, test_patterns[0], NULL, NULL, NULL));
    (void)snprintf(text, sizeof text, "text_lines:[\"%s\"],index=true", test_patterns[0]);
    MUST(levada_dataset_parse(valid.env, text, &valid.lines, NULL));
    MUST(levada_iter_open(valid.lines, NULL, &valid.unread, NULL));
}

static void set_up_messages(void)
{
    levada_example_kind kind;
    const uint8_t      *data;
    size_t              size;

    MUST(levada_example_create(&valid.example, NULL));
    MUST(levada_example_add_i64(valid.example, "a", test_few_numbers, 2, NULL));
    MUST(levada_example_finish(valid.example, &data, &size, NULL));
    MUST(levada_example_view_create(&valid.view, NULL));
    MUST(levada_example_view_parse(valid.view, data, size, &kind, NULL));
    MUST(levada_decoding_open(valid.env, "decode_raw", valid.options, &valid.decoding, NULL));
    MUST(levada_length_histogram_create(&valid.histogram, NULL));
    MUST(levada_output_open(t_path("out"), &valid.output, NULL));
    MUST(levada_writer_open(valid.env, t_path("records"), NULL, -1, &valid.writer, NULL));
}

/* A state with one entry, and the store whose rows are all of those slots. */
static void set_up_states(void)
{
    static const levada_state_head head;
    char  *bytes = NULL;
    size_t size = 0;

    valid.context = (levada_context){ .struct_size = sizeof valid.context, .env = valid.env };
    valid.context.run = valid.it->run;
    MUST(levada_rowstore_create(&valid.context, &valid.store, NULL));
    MUST(levada_rowstore_add(valid.store, valid.block, 0, 4, valid.slots, NULL));
    valid.cursor.block = levada_block_ref(valid.block);
    valid.to.scope = valid.from.scope = (levada_state_scope){ .path = "1.a" };
    MUST(levada_state_put_i64(&valid.to, "n", 7, NULL));
    MUST(levada_state_encode(&valid.to, &head, valid.env, &bytes, &size, NULL));
    MUST(levada_state_decode(bytes, size, valid.env, &valid.from, NULL));
    valid.from.scope = valid.to.scope;
    levada_string_free(&bytes);
}

void test_valid_set_up(void)
{
    memset(&valid, 0, sizeof valid);
    set_up_data();
    set_up_queues();
    set_up_readers();
    set_up_messages();
    set_up_states();
}

static void tear_down_made(void)
{
    levada_block_unref(&valid.made_block);
    for (int i = 0; i < 8; i++) levada_tensor_unref(&valid.made[i]);
    levada_segment_batch_destroy(&valid.made_batch);
    levada_dataset_unref(&valid.made_dataset);
    levada_value_destroy(&valid.made_value);
    levada_spec_unref(&valid.made_spec);
    levada_coordinator_destroy(&valid.made_coordinator);
    levada_builder_destroy(&valid.made_builder);
    levada_writer_destroy(&valid.made_writer);
    levada_slots_free(&valid.made_slots);
    levada_string_free(&valid.made_text);
}

static void tear_down_handles(void)
{
    levada_builder_destroy(&valid.builder);
    levada_cursor_clear(&valid.cursor);
    levada_rowstore_destroy(&valid.store);
    levada_state_writer_clear(&valid.to);
    levada_state_reader_clear(&valid.from);
    levada_block_unref(&valid.last);
    levada_iter_close(&valid.it);
    levada_iter_close(&valid.unread);
    levada_watchdog_destroy(&valid.watchdog);
    levada_queue_runner_destroy(&valid.runner);
    levada_coordinator_destroy(&valid.coordinator);
    levada_bucket_destroy(&valid.bucket);
    levada_barrier_unref(&valid.barrier);
    levada_reader_destroy(&valid.reader);
    levada_reader_destroy(&valid.identity);
    levada_segment_batch_destroy(&valid.batch);
    levada_state_saver_unref(&valid.saver);
    levada_example_destroy(&valid.example);
    levada_example_view_destroy(&valid.view);
    levada_decoding_close(&valid.decoding);
    levada_length_histogram_destroy(&valid.histogram);
    levada_output_destroy(&valid.output);
    levada_writer_destroy(&valid.writer);
}

void test_valid_tear_down(void)
{
    tear_down_made();
    tear_down_handles();
    levada_queue_unref(&valid.full);
    levada_queue_unref(&valid.empty);
    levada_queue_unref(&valid.names);
    levada_block_unref(&valid.block);
    levada_block_unref(&valid.row);
    levada_dataset_unref(&valid.range);
    levada_dataset_unref(&valid.taken);
    levada_dataset_unref(&valid.lines);
    levada_value_destroy(&valid.list);
    levada_value_destroy(&valid.map);
    levada_value_destroy(&valid.options);
    levada_tensor_unref(&valid.scalar);
    levada_tensor_unref(&valid.vector);
    levada_tensor_unref(&valid.strings);
    levada_tensor_unref(&valid.name);
    levada_string_free(&valid.state);
    levada_string_free(&valid.saved);
    levada_env_destroy(&valid.env);
}
