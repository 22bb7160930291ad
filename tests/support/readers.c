/* SPDX-License-Identifier: Apache-2.0 */
#include "support/files.h"
#include "support/readers.h"

#include <levada/block.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Names of files of tests are long and change: keys are shown without their folder. */
static void readers_show(char *text, size_t capacity, const void *key, int64_t key_size,
                         const void *value, int64_t size)
{
    char        name[256];
    const char *slash;
    size_t      used = strlen(text);

    snprintf(name, sizeof(name), "%.*s", (int)key_size, (const char *)key);
    slash = strrchr(name, '/');
    snprintf(text + used, capacity - used, "%s=%.*s ", slash != NULL ? slash + 1 : name, (int)size,
             (const char *)value);
}

levada_queue *test_names(void)
{
    levada_queue_options o = LEVADA_QUEUE_OPTIONS_INIT;
    levada_dtype         dtype = LEVADA_BYTES;
    levada_shape         shape = TEST_SCALAR;

    o.ncomponents = 1;
    o.dtypes = &dtype;
    o.shapes = &shape;
    return test_queue_of(NULL, &o);
}

void test_add_name(levada_queue *queue, const char *name)
{
    levada_tensor *t = test_strings(0, NULL, &name);

    assert_int_equal(levada_queue_enqueue(queue, &t, 0, NULL), LEVADA_OK);
    levada_tensor_unref(&t);
}

void test_close_names(levada_queue *queue)
{
    assert_int_equal(levada_queue_close(queue, false, LEVADA_FOREVER, NULL), LEVADA_OK);
}

levada_queue *test_names_of(const char *const names[])
{
    levada_queue *queue = test_names();

    for (int i = 0; names[i] != NULL; i++) test_add_name(queue, names[i]);
    test_close_names(queue);
    return queue;
}

levada_reader *test_reader(const levada_reader_options *options)
{
    levada_reader *reader = NULL;
    levada_error   err = LEVADA_ERROR_INIT;

    if (levada_reader_create(NULL, options, &reader, &err) != LEVADA_OK) {
        fail_msg("%s", err.message);
    }
    return reader;
}

levada_reader *test_reader_of(levada_reader_kind kind)
{
    levada_reader_options o = LEVADA_READER_OPTIONS_INIT;

    o.kind = kind;
    return test_reader(&o);
}

static levada_status readers_read(levada_reader *reader, levada_queue *queue, char *text,
                                  size_t capacity, levada_error *err)
{
    levada_tensor *key = NULL, *value = NULL;

    LEVADA_TRY(levada_reader_read(reader, queue, 10 * TEST_SECOND, &key, &value, err));
    assert_int_equal(levada_tensor_dtype(key), LEVADA_BYTES);
    assert_int_equal(levada_tensor_shape(key)->rank, 0);
    readers_show(text, capacity, levada_tensor_data(key), levada_tensor_bytes(key),
                 levada_tensor_data(value), levada_tensor_bytes(value));
    levada_tensor_unref(&key);
    levada_tensor_unref(&value);
    return LEVADA_OK;
}

void test_read(levada_reader *reader, levada_queue *queue, char text[512])
{
    levada_error err = LEVADA_ERROR_INIT;

    text[0] = '\0';
    if (readers_read(reader, queue, text, 512, &err) != LEVADA_OK) fail_msg("%s", err.message);
}

static void readers_ended(levada_status st, levada_status want, const levada_error *err)
{
    if (st != want) fail_msg("%s: %s", levada_status_name(st), err->message);
    assert_int_equal(err->code, want);
}

void test_reads(levada_reader *reader, levada_queue *queue, const char *pairs,
                levada_status status)
{
    levada_error  err = LEVADA_ERROR_INIT;
    levada_status st = LEVADA_OK;
    char          text[4096] = "";

    while (st == LEVADA_OK) st = readers_read(reader, queue, text, sizeof(text), &err);
    assert_string_equal(text, pairs);
    readers_ended(st, status, &err);
}

void test_reads_up_to(levada_reader *reader, levada_queue *queue, int64_t n, const char *pairs,
                      levada_status status)
{
    levada_error  err = LEVADA_ERROR_INIT;
    levada_status st;
    levada_block *block = NULL;
    char          text[4096] = "";

    while ((st = levada_reader_read_up_to(reader, queue, n, 10 * TEST_SECOND, &block, &err)) ==
           LEVADA_OK) {
        const levada_column *keys = levada_block_column(block, "key");
        const levada_column *values = levada_block_column(block, "value");

        assert_in_range(levada_block_rows(block), 1, n);
        for (int64_t i = 0; i < levada_block_rows(block); i++) {
            int64_t        a, b;
            const uint8_t *key = levada_column_bytes(keys, i, &a);
            const uint8_t *value = levada_column_bytes(values, i, &b);

            readers_show(text, sizeof(text), key, a, value, b);
        }
        strncat(text, "| ", sizeof(text) - strlen(text) - 1);
        levada_block_unref(&block);
    }
    assert_string_equal(text, pairs);
    readers_ended(st, status, &err);
}

void test_counts(levada_reader *reader, int64_t produced, int64_t finished)
{
    assert_int_equal(levada_reader_num_records_produced(reader), produced);
    assert_int_equal(levada_reader_num_work_units_completed(reader), finished);
}

void test_drop_reader(levada_reader **reader, levada_queue **queue)
{
    levada_reader_destroy(reader);
    levada_queue_unref(queue);
}

void test_refuses(levada_reader *reader, levada_queue *queue, levada_status status,
                    const char *text)
{
    levada_error   err = LEVADA_ERROR_INIT;
    levada_tensor *key = NULL, *value = NULL;
    levada_status  st = levada_reader_read(reader, queue, 0, &key, &value, &err);

    if (st != status || strstr(err.message, text) == NULL) {
        fail_msg("%s: %s", levada_status_name(st), err.message);
    }
    assert_null(key);
    assert_null(value);
}

/* -- files */

const char *test_write_text(const char *name, const char *text)
{
    const char *path = t_path(name);

    t_write_file(path, text, strlen(text));
    return path;
}

const char *test_write_records(const char *name, const char *filter, int count)
{
    const char *path = t_path(name);
    t_bytes     bytes = { 0 };
    char        text[32];

    t_add(&bytes, "", 0);
    for (int i = 0; i < count; i++) {
        snprintf(text, sizeof(text), "%s%d", name, i);
        t_add_record(&bytes, text, strlen(text));
    }
    if (filter != NULL) {
        t_bytes packed = t_encode(filter, bytes.at, bytes.size, 0);

        t_write_file(path, packed.at, packed.size);
        t_clear(&packed);
    } else {
        t_write_file(path, bytes.at, bytes.size);
    }
    t_clear(&bytes);
    return path;
}
