/* SPDX-License-Identifier: Apache-2.0 */
#include "support/files.h"

#include <fcntl.h>
#include <levada/writer.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const char *const writer_kinds[] = {NULL, "gzip", "zlib", "zstd"};

static levada_writer *begin(const char *compression)
{
    levada_writer *w = NULL;
    levada_status  st = levada_writer_open(NULL, t_path("w"), compression, -1, &w, NULL);

    if (st == LEVADA_EUNIMPLEMENTED) skip(); /* built without its library */
    assert_int_equal(st, LEVADA_OK);
    return w;
}

static void put(levada_writer *w, const char *record)
{
    assert_int_equal(levada_writer_write(w, record, strlen(record), NULL), LEVADA_OK);
}

static void expect(const char *rows, levada_status status)
{
    t_reader t = {.format = "tfrecord", .paths = {t_path("w")}};

    t_expect(&t, rows, status);
}

static void writes_the_frame_byte_for_byte(void **state)
{
    t_bytes        want = {0}, got;
    levada_writer *w = begin("");

    (void)state;
    t_add_record(&want, "abc", 3);
    t_add_record(&want, "", 0);
    put(w, "abc");
    put(w, "");
    assert_int_equal(levada_writer_close(w, NULL), LEVADA_OK);
    levada_writer_destroy(&w);
    got = t_read_file(t_path("w"));
    assert_int_equal(got.size, want.size);
    assert_memory_equal(got.at, want.at, want.size);
    t_clear(&got);
    t_clear(&want);
}

static void round_trips_each_compression(void **state)
{
    (void)state;
    for (size_t k = 0; k < 4 && t_can(writer_kinds[k]); k++) {
        levada_writer *w = begin(writer_kinds[k]);

        put(w, "abc");
        put(w, "");
        put(w, "xyz1");
        assert_int_equal(levada_writer_close(w, NULL), LEVADA_OK);
        levada_writer_destroy(&w);
        expect("abc@0 @19 xyz1@35 ", LEVADA_END);
    }
}

/* Where the writer writes directly: a descriptor, a pipe. */
static void a_flush_makes_records_readable(void **state)
{
    (void)state;
    for (size_t k = 0; k < 4 && t_can(writer_kinds[k]); k++) {
        int            fd = open(t_path("w"), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
        char           name[32];
        levada_writer *w = NULL;

        (void)snprintf(name, sizeof name, "/dev/fd/%d", fd);
        assert_int_equal(levada_writer_open(NULL, name, writer_kinds[k], -1, &w, NULL), LEVADA_OK);
        assert_int_equal(close(fd), 0);
        put(w, "abc");
        assert_int_equal(levada_writer_flush(w, NULL), LEVADA_OK);
        expect("abc@0 ", writer_kinds[k] ? LEVADA_EDATA_LOSS : LEVADA_END);
        put(w, "d");
        assert_int_equal(levada_writer_flush(w, NULL), LEVADA_OK);
        assert_int_equal(levada_writer_flush(w, NULL), LEVADA_OK);
        expect("abc@0 d@19 ", writer_kinds[k] ? LEVADA_EDATA_LOSS : LEVADA_END);
        levada_writer_destroy(&w); /* without closing: unfinished */
        expect("abc@0 d@19 ", writer_kinds[k] ? LEVADA_EDATA_LOSS : LEVADA_END);
    }
}

static void a_file_appears_when_it_is_closed(void **state)
{
    (void)state;
    for (size_t k = 0; k < 4 && t_can(writer_kinds[k]); k++) {
        levada_writer *w = NULL;
        t_bytes        old;

        (void)unlink(t_path("w"));
        w = begin(writer_kinds[k]);
        put(w, "abc");
        assert_int_equal(levada_writer_flush(w, NULL), LEVADA_OK);
        assert_int_equal(access(t_path("w"), F_OK), -1);
        levada_writer_destroy(&w); /* without a close */
        assert_int_equal(access(t_path("w"), F_OK), -1);
        t_write_file(t_path("w"), "old", 3);
        w = begin(writer_kinds[k]);
        put(w, "abc");
        levada_writer_destroy(&w);
        old = t_read_file(t_path("w"));
        assert_int_equal(old.size, 3);
        t_clear(&old);
        w = begin(writer_kinds[k]);
        put(w, "abc");
        assert_int_equal(levada_writer_close(w, NULL), LEVADA_OK);
        levada_writer_destroy(&w);
        expect("abc@0 ", LEVADA_END);
    }
}

static void writes_records_of_all_sizes(void **state)
{
    const size_t sizes[] = {1, 65536, 65537, 262144, 300000, 5, 2000000, 0, 240000};
    char        *data = malloc(2000000);

    (void)state;
    for (size_t i = 0; i < 2000000; i++) data[i] = (char)(i * i >> 7);
    for (size_t k = 0; k < 4 && t_can(writer_kinds[k]); k++) {
        levada_writer *w = begin(writer_kinds[k]);
        t_reader       t = {.format = "tfrecord", .paths = {t_path("w")}, .block_rows = 1};

        for (size_t i = 0; i < 9; i++) {
            assert_int_equal(levada_writer_write(w, data, sizes[i], NULL), LEVADA_OK);
        }
        assert_int_equal(levada_writer_close(w, NULL), LEVADA_OK);
        levada_writer_destroy(&w);
        assert_int_equal(t_open(&t), LEVADA_OK);
        for (size_t i = 0; i < 9; i++) {
            levada_block  *block = NULL;
            int64_t        size;
            const uint8_t *bytes;

            assert_int_equal(levada_file_reader_next(t.reader, &block, NULL), LEVADA_OK);
            bytes = levada_column_bytes(levada_block_at(block, 0), 0, &size);
            assert_int_equal(size, sizes[i]);
            if (size > 0) assert_memory_equal(bytes, data, (size_t)size);
            levada_block_unref(&block);
        }
        t_close(&t);
    }
    free(data);
}

static void is_closed_after_close(void **state)
{
    (void)state;
    for (size_t k = 0; k < 4 && t_can(writer_kinds[k]); k++) {
        levada_writer *w = begin(writer_kinds[k]);
        levada_error   err = LEVADA_ERROR_INIT;

        assert_int_equal(levada_writer_close(w, &err), LEVADA_OK);
        assert_int_equal(levada_writer_close(w, &err), LEVADA_OK);
        assert_int_equal(levada_writer_write(w, "x", 1, &err), LEVADA_EFAILED_PRECONDITION);
        assert_non_null(strstr(err.message, "is closed"));
        assert_int_equal(levada_writer_flush(w, &err), LEVADA_EFAILED_PRECONDITION);
        levada_writer_destroy(&w);
        expect("", LEVADA_END);
    }
}

static void refuses_what_it_cannot_do(void **state)
{
    levada_writer *w = NULL;
    levada_error   err = LEVADA_ERROR_INIT;

    (void)state;
    assert_int_equal(levada_writer_open(NULL, t_path("w"), "snappy", -1, &w, &err),
                     LEVADA_EINVALID_ARGUMENT);
    assert_int_equal(levada_writer_open(NULL, t_path("no/w"), NULL, -1, &w, &err),
                     LEVADA_ENOT_FOUND);
    assert_non_null(strstr(err.message, "no/w"));
    assert_null(w);
    w = begin("gzip");
    levada_writer_destroy(&w);
    assert_int_equal(levada_writer_open(NULL, t_path("w"), "gzip", 17, &w, &err),
                     t_can("gzip") ? LEVADA_EINVALID_ARGUMENT : LEVADA_EUNIMPLEMENTED);
    assert_null(w);
}

static void refuses_a_record_that_no_reader_accepts(void **state)
{
    levada_error   err = LEVADA_ERROR_INIT;
    levada_writer *w = begin(NULL);
    const size_t   sizes[] = {(size_t)LEVADA_RECORD_LIMIT + 1, (size_t)1 << 31, SIZE_MAX};

    (void)state;
    put(w, "a");
    for (size_t i = 0; i < 3; i++) { /* none of these bytes is looked at */
        assert_int_equal(levada_writer_write(w, "x", sizes[i], &err), LEVADA_EINVALID_ARGUMENT);
        assert_non_null(strstr(err.message, "the most that levada reads"));
    }
    put(w, "b");
    assert_int_equal(levada_writer_close(w, NULL), LEVADA_OK);
    levada_writer_destroy(&w);
    expect("a@0 b@17 ", LEVADA_END);
}

static void names_a_full_disk_and_repeats_it(void **state)
{
    static const char data[300000];

    (void)state;
    for (size_t k = 0; k < 4 && t_can(writer_kinds[k]); k++) {
        levada_writer *w = NULL;
        levada_error   err = LEVADA_ERROR_INIT;

        if (access("/dev/full", W_OK) != 0) skip();
        w = begin(writer_kinds[k]);
        levada_writer_destroy(&w);
        assert_int_equal(levada_writer_open(NULL, "/dev/full", writer_kinds[k], -1, &w, &err),
                         LEVADA_OK);
        if (levada_writer_write(w, data, sizeof data, &err) != LEVADA_OK) levada_error_clear(&err);
        assert_int_equal(levada_writer_flush(w, &err), LEVADA_ERESOURCE_EXHAUSTED);
        assert_non_null(strstr(err.message, "/dev/full"));
        assert_int_equal(levada_writer_write(w, "x", 1, &err), LEVADA_ERESOURCE_EXHAUSTED);
        assert_int_equal(levada_writer_close(w, &err), LEVADA_ERESOURCE_EXHAUSTED);
        levada_writer_destroy(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_the_frame_byte_for_byte),
        cmocka_unit_test(round_trips_each_compression),
        cmocka_unit_test(a_flush_makes_records_readable),
        cmocka_unit_test(a_file_appears_when_it_is_closed),
        cmocka_unit_test(writes_records_of_all_sizes),
        cmocka_unit_test(is_closed_after_close),
        cmocka_unit_test(refuses_what_it_cannot_do),
        cmocka_unit_test(refuses_a_record_that_no_reader_accepts),
        cmocka_unit_test(names_a_full_disk_and_repeats_it),
    };

    return cmocka_run_group_tests(tests, t_folder_set_up, t_folder_tear_down);
}
