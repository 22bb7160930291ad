/* SPDX-License-Identifier: Apache-2.0 */
/* NULL where an object is needed: named in a release, and in debug builds where it stops. */
#include "support/deaths.h"
#include <levada/barrier.h>
#include <levada/coordinator.h>
#include <levada/reader.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

typedef struct misuse {
    const char *argument;
    levada_status (*call)(levada_error *err);
} misuse;

static levada_status iter_next(levada_error *err)
{
    levada_block *block = NULL;

    return levada_iter_next(NULL, &block, err);
}

static levada_status iter_save(levada_error *err)
{
    char  *bytes = NULL;
    size_t size;

    return levada_iter_save(NULL, &bytes, &size, err);
}

static levada_status iter_save_at(levada_error *err)
{
    char  *bytes = NULL;
    size_t size = 0;

    return levada_iter_save_at(NULL, NULL, 0, &bytes, &size, err);
}

static levada_status iter_explain(levada_error *err)
{
    char *text = NULL;

    return levada_iter_explain(NULL, &text, err);
}

static levada_status iter_stats(levada_error *err)
{
    char *json = NULL;

    return levada_iter_stats(NULL, &json, err);
}

static levada_status iter_report(levada_error *err)
{
    char *json = NULL;

    return levada_iter_report(NULL, &json, err);
}

static levada_status iter_origin_file(levada_error *err)
{
    char *path = NULL;

    return levada_iter_origin_file(NULL, &(levada_origin){ 0 }, &path, err);
}

static levada_status iter_open(levada_error *err)
{
    levada_iter *it = NULL;

    return levada_iter_open(NULL, NULL, &it, err);
}

static levada_status dataset_parse(levada_error *err)
{
    return levada_dataset_parse(NULL, "range:count=1", NULL, err);
}

static levada_status dataset_json(levada_error *err)
{
    char *json = NULL;

    return levada_dataset_json(NULL, &json, err);
}

static levada_status queue_create(levada_error *err)
{
    levada_queue *queue = NULL;

    return levada_queue_create(NULL, NULL, &queue, err);
}

static levada_status queue_enqueue(levada_error *err)
{
    return levada_queue_enqueue(NULL, NULL, 0, err);
}

static levada_status queue_dequeue(levada_error *err)
{
    levada_tensor *out = NULL;

    return levada_queue_dequeue(NULL, &out, 0, err);
}

static levada_status queue_dequeue_many(levada_error *err)
{
    levada_tensor *out = NULL;

    return levada_queue_dequeue_many(NULL, 3, false, &out, 0, err);
}

static levada_status queue_close(levada_error *err)
{
    return levada_queue_close(NULL, false, 0, err);
}

static levada_status barrier_insert(levada_error *err)
{
    return levada_barrier_insert_many(NULL, 0, NULL, NULL, err);
}

static levada_status barrier_close(levada_error *err)
{
    return levada_barrier_close(NULL, false, err);
}

static levada_status coordinator_create(levada_error *err)
{
    return levada_coordinator_create(NULL, NULL, 0, NULL, err);
}

static levada_status coordinator_join(levada_error *err)
{
    return levada_coordinator_join(NULL, 0, false, err);
}

static levada_status coordinator_stop(levada_error *err)
{
    return levada_coordinator_request_stop(NULL, NULL, err);
}

static levada_status looper_start(levada_error *err)
{
    return levada_looper_start(NULL, NULL, err);
}

static levada_status runner_create(levada_error *err)
{
    levada_queue_runner *runner = NULL;

    return levada_queue_runner_create(NULL, NULL, &runner, err);
}

static levada_status runner_start(levada_error *err)
{
    return levada_queue_runner_start(NULL, NULL, err);
}

static levada_status runner_wait(levada_error *err)
{
    return levada_queue_runner_wait(NULL, 0, err);
}

static levada_status reader_create(levada_error *err)
{
    levada_reader *reader = NULL;

    return levada_reader_create(NULL, NULL, &reader, err);
}

static levada_status reader_read(levada_error *err)
{
    levada_tensor *key = NULL, *value = NULL;

    return levada_reader_read(NULL, NULL, 0, &key, &value, err);
}

static levada_status reader_serialize(levada_error *err)
{
    char  *bytes = NULL;
    size_t size;

    return levada_reader_serialize_state(NULL, &bytes, &size, err);
}

static void misuse_call(void *user)
{
    const misuse *m = user;

    assert_int_equal(m->call(NULL), LEVADA_EINVALID_ARGUMENT);
}

static void null_is_refused_by_the_name_of_the_argument(void **state)
{
    misuse all[] = {
        { "iterator", iter_next },
        { "iterator", iter_save },
        { "iterator", iter_save_at },
        { "iterator", iter_explain },
        { "iterator", iter_stats },
        { "iterator", iter_report },
        { "iterator", iter_origin_file },
        { "dataset", iter_open },
        { "out", dataset_parse },
        { "dataset", dataset_json },
        { "options", queue_create },
        { "queue", queue_enqueue },
        { "queue", queue_dequeue },
        { "queue", queue_dequeue_many },
        { "queue", queue_close },
        { "barrier", barrier_insert },
        { "barrier", barrier_close },
        { "out", coordinator_create },
        { "coordinator", coordinator_join },
        { "coordinator", coordinator_stop },
        { "options", looper_start },
        { "options", runner_create },
        { "runner", runner_start },
        { "runner", runner_wait },
        { "options", reader_create },
        { "reader", reader_read },
        { "reader", reader_serialize },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
        levada_error err = LEVADA_ERROR_INIT;
        char         text[64];

        (void)snprintf(text, sizeof(text), "%s must not be NULL", all[i].argument);
        if (LEVADA_DEBUG) {
            test_aborts(misuse_call, &all[i], text);
            continue;
        }
        assert_int_equal(all[i].call(&err), LEVADA_EINVALID_ARGUMENT);
        assert_string_equal(err.message, text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(null_is_refused_by_the_name_of_the_argument),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
