/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory runs out at one allocation after the other while readers work: that call says so, nothing
 * leaks, and what failed can be done again; where it cannot, inside a file, the error comes again
 * until reset, and no record comes twice or is skipped before it.
 */
#include "conformance/fault.h"
#include "support/files.h"
#include "support/readers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef struct trial {
    levada_reader_options options;
    const char           *values; /* what comes of the two names */
    const char           *names[2];
    int64_t               n;     /* 0 = one by one                             */
    bool                  whole; /* nothing of a file can be lost: all is given */
} trial;

static void show(char *text, const void *value, int64_t size)
{
    size_t used = strlen(text);

    snprintf(text + used, 256 - used, "%.*s ", (int)size, (const char *)value);
}

static levada_status give_one(levada_reader *reader, levada_queue *queue, char *text,
                              levada_error *err)
{
    levada_tensor *key = NULL, *value = NULL;

    LEVADA_TRY(levada_reader_read(reader, queue, 0, &key, &value, err));
    show(text, levada_tensor_data(value), levada_tensor_bytes(value));
    levada_tensor_unref(&key);
    levada_tensor_unref(&value);
    return LEVADA_OK;
}

static levada_status give_many(levada_reader *reader, levada_queue *queue, int64_t n, char *text,
                               levada_error *err)
{
    levada_block *block = NULL;

    LEVADA_TRY(levada_reader_read_up_to(reader, queue, n, 0, &block, err));
    for (int64_t i = 0; i < levada_block_rows(block); i++) {
        int64_t        size = 0;
        const uint8_t *value = levada_column_bytes(levada_block_at(block, 1), i, &size);

        show(text, value, size);
    }
    levada_block_unref(&block);
    return LEVADA_OK;
}

/* Until the queue is at its end, or a failure stays: then what came is the beginning. */
static void drain(const trial *t, levada_reader *reader, levada_queue *queue)
{
    char         text[256] = "";
    levada_error err = LEVADA_ERROR_INIT;
    int          failures = 0;

    while (failures < 3) {
        levada_status st = t->n > 0 ? give_many(reader, queue, t->n, text, &err)
                                    : give_one(reader, queue, text, &err);

        if (st == LEVADA_EOUT_OF_RANGE) break;
        if (st != LEVADA_OK) fault_expect_short(st, &err);
        failures = st == LEVADA_OK ? 0 : failures + 1;
    }
    if (failures == 0) assert_string_equal(text, t->values);
    else assert_memory_equal(text, t->values, strlen(text));
    if (t->whole) assert_int_equal(failures, 0);
}

static void keep_state(levada_reader *reader)
{
    char  *bytes = NULL;
    size_t size = 0;

    FAULT_AGAIN(levada_reader_serialize_state(reader, &bytes, &size, err));
    FAULT_AGAIN(levada_reader_restore_state(reader, bytes, size, err));
    levada_string_free(&bytes);
}

/* Whether that allocation was reached. */
static bool run(const trial *t, int64_t number)
{
    levada_queue  *queue = test_names_of((const char *[]){ t->names[0], t->names[1], NULL });
    levada_env    *env = NULL;
    levada_reader *reader = NULL;
    bool           reached;

    assert_int_equal(levada_env_create(NULL, &env, NULL), LEVADA_OK);
    fault_arm(number);
    FAULT_AGAIN(levada_reader_create(env, &t->options, &reader, err));
    drain(t, reader, queue);
    if (t->options.kind == LEVADA_READER_IDENTITY) keep_state(reader);
    reached = fault_disarm() > number;
    levada_reader_destroy(&reader);
    levada_env_destroy(&env);
    levada_queue_unref(&queue);
    return reached;
}

static void sweep(const trial *t)
{
    bool reached = true;

    (void)run(t, INT64_MAX - 1); /* what the library makes once is there */
    for (int64_t number = 0; reached; number++) {
        int64_t before = fault_live();

        reached = run(t, number);
        fault_expect_live(before, number);
    }
}

static void no_record_is_lost_or_doubled(void **state)
{
    const char *lines = t_path("lines"), *records = t_path("records");
    t_bytes     bytes = { 0 };
    trial       trials[] = {
        { { .kind = LEVADA_READER_IDENTITY }, "a b ", { "a", "b" }, 0, true },
        { { .kind = LEVADA_READER_WHOLE_FILE }, "1\n2\n3\n 1\n2\n3\n ", { lines, lines }, 0, true },
        { { .kind = LEVADA_READER_TEXT_LINE }, "1 2 3 1 2 3 ", { lines, lines }, 0, false },
        { { .kind = LEVADA_READER_TFRECORD }, "one two one two ", { records, records }, 0, false },
        { { .kind = LEVADA_READER_FIXED_LENGTH, .record_bytes = 5, .hop_bytes = 1 },
          "1\n2\n3 \n2\n3\n 1\n2\n3 \n2\n3\n ",
          { lines, lines },
          0,
          false },
    };

    (void)state;
    t_write_file(lines, "1\n2\n3\n", 6);
    t_add(&bytes, "", 0);
    t_add_record(&bytes, "one", 3);
    t_add_record(&bytes, "two", 3);
    t_write_file(records, bytes.at, bytes.size);
    t_clear(&bytes);
    for (size_t i = 0; i < sizeof(trials) / sizeof(trials[0]); i++) {
        trials[i].options.struct_size = sizeof(levada_reader_options);
        for (trials[i].n = 0; trials[i].n < 4; trials[i].n += 2) sweep(&trials[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(no_record_is_lost_or_doubled) };

    return cmocka_run_group_tests(tests, t_folder_set_up, t_folder_tear_down);
}
