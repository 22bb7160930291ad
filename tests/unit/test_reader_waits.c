/* SPDX-License-Identifier: Apache-2.0 */
/* Readers that wait: for names, with and without a limit, and for their turn. */
#include "support/files.h"
#include "support/readers.h"

#include <levada/binding.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* One read on a thread of its own. */
typedef struct call {
    levada_reader *reader;
    levada_queue  *queue;
    int64_t        n, timeout; /* n = 0: read() */
    levada_status  status;
    levada_error   err;
    char           key[64]; /* of the first record */
    int64_t        rows;
    pthread_t      thread;
} call;

static void keep_key(call *c, const void *key, int64_t size)
{
    snprintf(c->key, sizeof(c->key), "%.*s", (int)size, (const char *)key);
}

static void *run(void *user)
{
    call          *c = user;
    levada_tensor *key = NULL, *value = NULL;
    levada_block  *block = NULL;

    if (c->n > 0) {
        c->status = levada_reader_read_up_to(c->reader, c->queue, c->n, c->timeout, &block,
                                             &c->err);
    } else {
        c->status = levada_reader_read(c->reader, c->queue, c->timeout, &key, &value, &c->err);
    }
    if (key != NULL) keep_key(c, levada_tensor_data(key), levada_tensor_bytes(key));
    if (block != NULL) {
        int64_t        size = 0;
        const uint8_t *bytes = levada_column_bytes(levada_block_at(block, 0), 0, &size);

        keep_key(c, bytes, size);
    }
    c->rows = key != NULL ? 1 : block != NULL ? levada_block_rows(block) : 0;
    levada_tensor_unref(&key);
    levada_tensor_unref(&value);
    levada_block_unref(&block);
    return NULL;
}

static void start(call *c)
{
    assert_int_equal(pthread_create(&c->thread, NULL, run, c), 0);
}

static void join(call *c) { assert_int_equal(pthread_join(c->thread, NULL), 0); }

static call of(levada_reader *reader, levada_queue *queue, int64_t n, int64_t timeout)
{
    return (call){ .reader = reader, .queue = queue, .n = n, .timeout = timeout };
}

static void readers_that_wait_do_not_block_others(void **state)
{
    levada_reader *readers[3];
    levada_queue  *queues[3];
    call           calls[3];

    (void)state;
    for (int i = 0; i < 3; i++) {
        readers[i] = test_reader_of(LEVADA_READER_IDENTITY);
        queues[i] = test_names();
        calls[i] = of(readers[i], queues[i], 0, LEVADA_FOREVER);
        start(&calls[i]);
    }
    test_until_waiting(NULL, 3);
    for (int i = 2; i >= 0; i--) { /* in the other order */
        char name[2] = { (char)('a' + i), '\0' };

        test_add_name(queues[i], name);
        join(&calls[i]);
        assert_string_equal(calls[i].key, name);
        test_counts(readers[i], 1, 1);
        levada_reader_destroy(&readers[i]);
        levada_queue_unref(&queues[i]);
    }
}

static void readers_share_a_queue(void **state)
{
    levada_queue *queue = test_names();
    call          calls[3];
    char          got[8] = "";

    (void)state;
    for (int i = 0; i < 3; i++) {
        calls[i] = of(test_reader_of(LEVADA_READER_IDENTITY), queue, i, LEVADA_FOREVER);
        start(&calls[i]);
    }
    test_until_waiting(NULL, 3);
    test_add_name(queue, "a");
    test_add_name(queue, "b");
    test_close_names(queue);
    for (int i = 0; i < 3; i++) {
        join(&calls[i]);
        strcat(got, calls[i].key);
        if (calls[i].key[0] == '\0') assert_int_equal(calls[i].status, LEVADA_EOUT_OF_RANGE);
        levada_reader_destroy(&calls[i].reader);
    }
    if (strcmp(got, "ab") != 0) assert_string_equal(got, "ba");
    levada_queue_unref(&queue);
}

static void a_timeout_loses_nothing(void **state)
{
    levada_reader *reader = test_reader_of(LEVADA_READER_TEXT_LINE);
    levada_queue  *queue = test_names();
    const char    *empty = t_path("empty"), *path = t_path("t");
    char           text[512];

    (void)state;
    t_write_file(empty, "", 0);
    t_write_file(path, "a\nb\n", 4);
    test_add_name(queue, empty); /* the time continues in the next wait */
    for (int k = 0; k < 4; k++) {
        call c = of(reader, queue, k % 2, k < 2 ? 0 : TEST_SECOND / 50);

        run(&c);
        assert_int_equal(c.status, LEVADA_EDEADLINE_EXCEEDED);
        assert_int_equal(c.rows, 0);
    }
    call now = of(reader, queue, 0, LEVADA_AT_ONCE);
    run(&now);
    assert_int_equal(now.status, LEVADA_AGAIN);
    test_add_name(queue, path);
    test_read(reader, queue, text);
    assert_string_equal(text, "t:1=a ");
    test_counts(reader, 1, 1);
    call rest = of(reader, queue, 9, 0); /* no name is needed */
    run(&rest);
    assert_int_equal(rest.status, LEVADA_OK);
    assert_int_equal(rest.rows, 1);
    levada_reader_destroy(&reader);
    levada_queue_unref(&queue);
}

static void a_cancelled_queue_frees_its_readers(void **state)
{
    levada_reader *reader = test_reader_of(LEVADA_READER_IDENTITY);
    levada_queue  *queue = test_names();
    call           c = of(reader, queue, 4, LEVADA_FOREVER);
    char           text[512];

    (void)state;
    start(&c);
    test_until_waiting(NULL, 1);
    levada_queue_cancel(queue);
    join(&c);
    assert_int_equal(c.status, LEVADA_ECANCELLED);
    test_add_name(queue, "a");
    test_read(reader, queue, text);
    assert_string_equal(text, "a=a ");
    levada_reader_destroy(&reader);
    levada_queue_unref(&queue);
}

static void calls_of_one_reader_take_turns_in_order(void **state)
{
    levada_reader *reader = test_reader_of(LEVADA_READER_IDENTITY);
    levada_queue  *queue = test_names();
    call           calls[4];
    char          *who = NULL;

    (void)state;
    for (int i = 0; i < 4; i++) {
        calls[i] = of(reader, queue, i % 2, LEVADA_FOREVER);
        start(&calls[i]);
        test_until_waiting(NULL, i + 1);
    }
    assert_int_equal(levada_waiters_json(NULL, &who, NULL), LEVADA_OK);
    if (strstr(who, "its turn") == NULL) fail_msg("%s", who);
    assert_non_null(strstr(who, "IdentityReader"));
    levada_string_free(&who);
    test_counts(reader, 0, 0); /* nobody waits for the counters */
    for (int k = 0; k < 3; k++) { /* too late for a turn, and the line is as it was */
        call late = of(reader, queue, k, k < 2 ? 0 : TEST_SECOND / 50);

        run(&late);
        assert_int_equal(late.status, LEVADA_EDEADLINE_EXCEEDED);
        assert_string_equal(late.err.message, "IdentityReader: another call had its turn");
        late.timeout = LEVADA_AT_ONCE;
        run(&late);
        assert_int_equal(late.status, LEVADA_AGAIN);
    }
    for (int i = 0; i < 4; i++) {
        char name[2] = { (char)('a' + i), '\0' };

        test_add_name(queue, name);
        join(&calls[i]);
        assert_string_equal(calls[i].key, name);
    }
    test_counts(reader, 4, 4);
    levada_reader_destroy(&reader);
    levada_queue_unref(&queue);
}

static void *reset(void *user)
{
    levada_reader_reset(user);
    return NULL;
}

static void a_reset_waits_for_its_turn(void **state)
{
    levada_reader *reader = test_reader_of(LEVADA_READER_IDENTITY);
    levada_queue  *queue = test_names();
    call           c = of(reader, queue, 0, LEVADA_FOREVER);
    pthread_t      thread;

    (void)state;
    start(&c);
    test_until_waiting(NULL, 1);
    assert_int_equal(pthread_create(&thread, NULL, reset, reader), 0);
    test_until_waiting(NULL, 2);
    test_add_name(queue, "a");
    join(&c);
    assert_int_equal(c.status, LEVADA_OK);
    assert_int_equal(pthread_join(thread, NULL), 0);
    test_counts(reader, 0, 0);
    levada_reader_destroy(&reader);
    levada_queue_unref(&queue);
}

/* Each line once, whichever thread asks for it. */
typedef struct reading {
    levada_reader *reader;
    levada_queue  *queue;
    int64_t        n, sum, rows;
    pthread_t      thread;
} reading;

static void *read_all(void *user)
{
    reading      *r = user;
    levada_block *block = NULL;
    char          number[16];

    while (levada_reader_read_up_to(r->reader, r->queue, r->n, LEVADA_FOREVER, &block, NULL) ==
           LEVADA_OK) {
        for (int64_t i = 0; i < levada_block_rows(block); i++, r->rows++) {
            int64_t        size = 0;
            const uint8_t *line = levada_column_bytes(levada_block_at(block, 1), i, &size);

            snprintf(number, sizeof(number), "%.*s", (int)size, (const char *)line);
            r->sum += atoll(number);
        }
        levada_block_unref(&block);
    }
    return NULL;
}

static void threads_get_each_record_once(void **state)
{
    levada_reader *reader = test_reader_of(LEVADA_READER_TEXT_LINE);
    levada_queue  *queue = test_names();
    const char    *path = t_path("n");
    reading        r[4];
    t_bytes        bytes = { 0 };
    char           line[16];
    int64_t        sum = 0, rows = 0;

    (void)state;
    for (int i = 0; i < 2000; i++) {
        snprintf(line, sizeof(line), "%d\n", i);
        t_add(&bytes, line, strlen(line));
    }
    t_write_file(path, bytes.at, bytes.size);
    t_clear(&bytes);
    for (int i = 0; i < 5; i++) test_add_name(queue, path);
    test_close_names(queue);
    for (int i = 0; i < 4; i++) {
        r[i] = (reading){ .reader = reader, .queue = queue, .n = 1 + 20 * i };
        assert_int_equal(pthread_create(&r[i].thread, NULL, read_all, &r[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
        assert_int_equal(pthread_join(r[i].thread, NULL), 0);
        sum += r[i].sum;
        rows += r[i].rows;
    }
    assert_int_equal(rows, 10000);
    assert_int_equal(sum, 5 * INT64_C(1999000));
    test_counts(reader, 10000, 5);
    levada_reader_destroy(&reader);
    levada_queue_unref(&queue);
}

static bool stop(void *user) { return atomic_fetch_add((atomic_int *)user, 1) < 2; }

static void a_poll_ends_the_wait_for_a_turn(void **state)
{
    levada_reader *reader = test_reader_of(LEVADA_READER_IDENTITY);
    levada_queue  *queue = test_names();
    call           first = of(reader, queue, 0, LEVADA_FOREVER);
    call           second = of(reader, queue, 0, LEVADA_FOREVER);
    atomic_int     asked = 0;
    levada_error   err = LEVADA_ERROR_INIT;

    (void)state;
    start(&first);
    test_until_waiting(NULL, 1);
    levada_reader_set_poll(reader, stop, &asked, TEST_SECOND / 1000);
    run(&second);
    assert_int_equal(second.status, LEVADA_ECANCELLED);
    assert_string_equal(second.err.message, "IdentityReader: interrupted before its turn");
    assert_int_equal(levada_reader_try_reset(reader, LEVADA_FOREVER, &err), LEVADA_ECANCELLED);
    assert_int_equal(levada_reader_try_reset(reader, 0, &err), LEVADA_EDEADLINE_EXCEEDED);
    test_add_name(queue, "a");
    join(&first);
    assert_string_equal(first.key, "a");
    assert_int_equal(levada_reader_try_reset(reader, 0, &err), LEVADA_OK);
    test_counts(reader, 0, 0);
    levada_reader_destroy(&reader);
    levada_queue_unref(&queue);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(readers_that_wait_do_not_block_others),
        cmocka_unit_test(readers_share_a_queue),
        cmocka_unit_test(a_timeout_loses_nothing),
        cmocka_unit_test(a_cancelled_queue_frees_its_readers),
        cmocka_unit_test(calls_of_one_reader_take_turns_in_order),
        cmocka_unit_test(a_reset_waits_for_its_turn),
        cmocka_unit_test(threads_get_each_record_once),
        cmocka_unit_test(a_poll_ends_the_wait_for_a_turn),
    };

    return cmocka_run_group_tests(tests, t_folder_set_up, t_folder_tear_down);
}
