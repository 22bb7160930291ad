/* SPDX-License-Identifier: Apache-2.0 */
/* What goes wrong in readers, and what comes after it. */
#include "support/files.h"
#include "support/readers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static void records_in_front_of_damage_come_first_and_the_error_again(void **state)
{
    static const int64_t sizes[] = { 0, 1, 4, 300, 700 };
    static const int     bads[] = { 0, 5, 600 };

    (void)state;
    for (int k = 0; k < 15; k++) {
        int64_t        n = sizes[k % 5], bad = bads[k / 5], found = 0;
        const char    *path = test_write_records("r", NULL, 1000);
        const char    *good = test_write_records("g", NULL, 1);
        t_bytes        bytes = t_read_file(path);
        levada_queue  *queue = test_names_of((const char *[]){ path, good, NULL });
        levada_reader *reader = test_reader_of(LEVADA_READER_TFRECORD);
        levada_error   err = LEVADA_ERROR_INIT;
        int64_t        at = 16 * bad + (bad > 100 ? 4 * bad - 110 : 2 * bad); /* "r0", "r1", ... */

        bytes.at[at + 13] ^= 1;
        t_write_file(path, bytes.at, bytes.size);
        t_clear(&bytes);
        while (found < bad) {
            levada_block *block = NULL;

            assert_int_equal(levada_reader_read_up_to(reader, queue, n > 0 ? n : 1, 0, &block,
                                                      NULL),
                             LEVADA_OK);
            found += levada_block_rows(block);
            levada_block_unref(&block);
        }
        assert_int_equal(found, bad);
        for (int i = 0; i < 3; i++) {
            levada_tensor *key = NULL, *value = NULL;

            assert_int_equal(levada_reader_read(reader, queue, 0, &key, &value, &err),
                             LEVADA_EDATA_LOSS);
            assert_int_equal(err.offset, at);
            assert_string_equal(err.file, path);
        }
        test_counts(reader, bad, 0);
        levada_reader_reset(reader);
        test_reads(reader, queue, "g:0=g0 ", LEVADA_EOUT_OF_RANGE);
        test_drop_reader(&reader, &queue);
    }
}

static void a_file_that_cannot_be_opened_is_an_error_once(void **state)
{
    static const levada_reader_kind kinds[] = { LEVADA_READER_TEXT_LINE,
                                                LEVADA_READER_WHOLE_FILE };
    const char *missing = t_path("missing"), *locked = test_write_text("locked", "secret\n");
    const char *there = test_write_text("there", "x"), *folder = t_folder();

    (void)state;
    assert_int_equal(chmod(locked, 0), 0);
    for (int k = 0; k < 2; k++) {
        levada_reader *reader = test_reader_of(kinds[k]);
        levada_queue  *queue =
            test_names_of((const char *[]){ missing, folder, "\xff\xfe", there, locked, NULL });

        test_refuses(reader, queue, LEVADA_ENOT_FOUND, "");
        test_refuses(reader, queue, LEVADA_EINVALID_ARGUMENT, "it is a directory");
        test_refuses(reader, queue, k == 0 ? LEVADA_EINVALID_ARGUMENT : LEVADA_ENOT_FOUND, "");
        test_counts(reader, 0, 0);
        if (geteuid() == 0) { /* may read everything */
            test_reads(reader, queue, k == 0 ? "there:1=x locked:1=secret "
                                             : "there=x locked=secret\n ",
                       LEVADA_EOUT_OF_RANGE);
        } else {
            test_reads(reader, queue, k == 0 ? "there:1=x " : "there=x ",
                       LEVADA_EPERMISSION_DENIED);
        }
        test_refuses(reader, queue, LEVADA_EOUT_OF_RANGE, "closed");
        test_drop_reader(&reader, &queue);
    }
    assert_int_equal(chmod(locked, 0600), 0);
}

static void a_name_with_a_zero_byte_is_no_name(void **state)
{
    static const int32_t offsets[] = { 0, 3 };
    const levada_shape   scalar = TEST_SCALAR;

    (void)state;
    for (int k = 0; k < LEVADA_READER_IDENTITY; k++) {
        levada_reader_options o = LEVADA_READER_OPTIONS_INIT;
        levada_reader        *reader;
        levada_queue         *queue = test_names();
        levada_tensor        *name = NULL;

        o.kind = (levada_reader_kind)k;
        o.record_bytes = 1;
        reader = test_reader(&o);
        assert_int_equal(levada_tensor_create_strings(NULL, &scalar, offsets, "a\0b", &name, NULL),
                         LEVADA_OK);
        assert_int_equal(levada_queue_enqueue(queue, &name, 0, NULL), LEVADA_OK);
        levada_tensor_unref(&name);
        test_refuses(reader, queue, LEVADA_EINVALID_ARGUMENT, "zero byte");
        test_refuses(reader, queue, LEVADA_EDEADLINE_EXCEEDED, "");
        test_drop_reader(&reader, &queue);
    }
}

static void damaged_compression_is_data_loss_until_reset(void **state)
{
    levada_reader_options o = LEVADA_READER_OPTIONS_INIT;
    const char           *path = t_path("z"), *good = test_write_text("good", "fine");
    levada_queue         *queue = test_names_of((const char *[]){ path, path, good, NULL });
    levada_reader        *reader;
    t_bytes               packed = { 0 };

    (void)state;
    if (!t_can("gzip")) skip();
    packed = t_encode("gzip", "some text that is cut off", 25, 0);
    t_write_file(path, packed.at, packed.size - 6);
    t_clear(&packed);
    o.kind = LEVADA_READER_WHOLE_FILE;
    o.compression = "auto";
    reader = test_reader(&o);
    test_refuses(reader, queue, LEVADA_EDATA_LOSS, "");
    test_refuses(reader, queue, LEVADA_EDATA_LOSS, "");
    assert_int_equal(levada_queue_size(queue), 2);
    levada_reader_reset(reader);
    test_refuses(reader, queue, LEVADA_EDATA_LOSS, "");
    levada_reader_reset(reader);
    test_reads(reader, queue, "good=fine ", LEVADA_EOUT_OF_RANGE);
    test_drop_reader(&reader, &queue);
}

static void wrong_options_are_refused(void **state)
{
    static const struct {
        levada_reader_options options;
        const char           *text;
    } wrong[] = {
        { { .kind = (levada_reader_kind)9 }, "kind=9 must be a levada_reader_kind" },
        { { .kind = LEVADA_READER_TFRECORD, .compression = "rar" }, "compression='rar'" },
        { { .kind = LEVADA_READER_WHOLE_FILE, .compression = "rar" }, "compression='rar'" },
        { { .kind = LEVADA_READER_TEXT_LINE, .skip_header_lines = -1 }, "-1" },
        { { .kind = LEVADA_READER_FIXED_LENGTH }, "record_bytes=0" },
        { { .kind = LEVADA_READER_FIXED_LENGTH, .record_bytes = 1, .hop_bytes = -2 }, "hop_bytes" },
    };
    levada_queue  *numbers = test_queue(LEVADA_QUEUE_FIFO, 3, 0), *names = test_names();
    levada_reader *reader = NULL;
    levada_block  *block = NULL;
    levada_error   err = LEVADA_ERROR_INIT;

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        levada_reader_options o = wrong[i].options;

        o.struct_size = sizeof(o);
        assert_int_equal(levada_reader_create(NULL, &o, &reader, &err), LEVADA_EINVALID_ARGUMENT);
        assert_non_null(strstr(err.message, wrong[i].text));
        assert_null(reader);
    }
    reader = test_reader_of(LEVADA_READER_IDENTITY);
    test_refuses(reader, numbers, LEVADA_EINVALID_ARGUMENT, "queue of one component of strings");
    assert_int_equal(levada_reader_read_up_to(reader, names, 0, 0, &block, &err),
                     LEVADA_EINVALID_ARGUMENT);
    assert_string_equal(err.message, "n=0 must be at least 1");
    levada_queue_unref(&numbers);
    test_drop_reader(&reader, &names);
    levada_reader_destroy(&reader);
}

static void an_open_file_is_closed_with_its_reader(void **state)
{
    levada_reader *reader = test_reader_of(LEVADA_READER_TFRECORD);
    const char    *a = test_write_records("a", NULL, 1000), *b = test_write_records("b", NULL, 1);
    levada_queue  *queue = test_names_of((const char *[]){ a, a, b, NULL });
    char           text[512];

    (void)state;
    test_read(reader, queue, text);
    levada_reader_reset(reader);
    test_read(reader, queue, text);
    assert_string_equal(text, "a:0=a0 ");
    levada_reader_destroy(&reader);
    reader = test_reader_of(LEVADA_READER_TFRECORD);
    test_reads(reader, queue, "b:0=b0 ", LEVADA_EOUT_OF_RANGE);
    test_drop_reader(&reader, &queue);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_in_front_of_damage_come_first_and_the_error_again),
        cmocka_unit_test(a_file_that_cannot_be_opened_is_an_error_once),
        cmocka_unit_test(a_name_with_a_zero_byte_is_no_name),
        cmocka_unit_test(damaged_compression_is_data_loss_until_reset),
        cmocka_unit_test(wrong_options_are_refused),
        cmocka_unit_test(an_open_file_is_closed_with_its_reader),
    };

    return cmocka_run_group_tests(tests, t_folder_set_up, t_folder_tear_down);
}
