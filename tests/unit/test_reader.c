/* SPDX-License-Identifier: Apache-2.0 */
/* What TensorFlow's reader_ops_test.py asks of readers, and their errors and counters. */
#include "support/files.h"
#include "support/readers.h"

#include <levada/binding.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* -- IDENTITY ---------------------------------------------------------------------------------- */

static void identity_gives_names_and_counts_them(void **state)
{
    levada_reader *reader = test_reader_of(LEVADA_READER_IDENTITY);
    levada_queue  *queue = test_names_of((const char *[]){ "A", "B", "C", NULL });
    char           text[512];

    (void)state;
    test_counts(reader, 0, 0);
    test_read(reader, queue, text);
    assert_string_equal(text, "A=A ");
    test_counts(reader, 1, 1);
    test_reads(reader, queue, "B=B C=C ", LEVADA_EOUT_OF_RANGE);
    test_counts(reader, 3, 3);
    test_refuses(reader, queue, LEVADA_EOUT_OF_RANGE,
            "is closed and has insufficient elements (requested 1, current size 0)");
    test_drop_reader(&reader, &queue);
}

static void identity_goes_on_through_epochs(void **state)
{
    levada_reader *reader = test_reader_of(LEVADA_READER_IDENTITY);
    levada_queue  *queue =
        test_names_of((const char *[]){ "DD", "EE", "DD", "EE", "DD", "EE", NULL });

    (void)state;
    test_reads_up_to(reader, queue, 8, "DD=DD | EE=EE | DD=DD | EE=EE | DD=DD | EE=EE | ",
                     LEVADA_EOUT_OF_RANGE);
    test_counts(reader, 6, 6);
    test_drop_reader(&reader, &queue);
}

static void a_state_goes_on_after_the_name_that_was_read(void **state)
{
    static const char end[] = "\x08\x02\x10\x02\x18\x02\x22\x01Z";
    levada_reader    *reader = test_reader_of(LEVADA_READER_IDENTITY);
    levada_queue     *queue = test_names_of((const char *[]){ "X", "Y", "Z", NULL });
    char              text[512], *saved = NULL, *last = NULL;
    size_t            size = 0, last_size = 0;

    (void)state;
    test_read(reader, queue, text);
    assert_int_equal(levada_reader_serialize_state(reader, &saved, &size, NULL), LEVADA_OK);
    test_read(reader, queue, text);
    assert_string_equal(text, "Y=Y ");
    assert_int_equal(levada_reader_restore_state(reader, saved, size, NULL), LEVADA_OK);
    test_counts(reader, 1, 1);
    test_read(reader, queue, text);
    assert_string_equal(text, "Z=Z ");
    assert_int_equal(levada_reader_serialize_state(reader, &last, &last_size, NULL), LEVADA_OK);
    assert_int_equal(last_size, sizeof(end) - 1);
    assert_memory_equal(last, end, last_size);
    levada_string_free(&saved);
    levada_string_free(&last);
    test_drop_reader(&reader, &queue);
}

static void junk_is_no_state(void **state)
{
    static const struct {
        const char *bytes;
        size_t      size;
    } junk[] = {
        { "BOGUS\x01\x22\x01X", 9 },
        { "\x01\x10\x01\x18\x01\x22\x01X", 8 },
        { "\x08\x01\x10\x01\x18\x01\x22\x01", 8 },
        { "\x08\x01\x10\x01\x18\x01\x22\x01XExtraJunk", 18 },
        { "PREFIX\x08\x01\x10\x01\x18\x01\x22\x01X", 15 },
        { "", 0 },
        { NULL, 0 },
        { "\x08\x02\x10\x01\x18\x01\x22\x01X", 9 },
        { "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x10\x01\x18\x01\x22\x01X", 18 },
        { "\x08\x01\x10\x01\x18\x01\x22\xff\xff\xff\xff\x7fX", 13 },
    };
    levada_reader *reader = test_reader_of(LEVADA_READER_IDENTITY);
    levada_queue  *queue = test_names_of((const char *[]){ "X", "Y", NULL });
    char           text[512];

    (void)state;
    test_read(reader, queue, text);
    for (size_t i = 0; i < sizeof(junk) / sizeof(junk[0]); i++) {
        levada_error err = LEVADA_ERROR_INIT;

        assert_int_equal(levada_reader_restore_state(reader, junk[i].bytes, junk[i].size, &err),
                         LEVADA_EINVALID_ARGUMENT);
        assert_string_equal(err.message,
                            "Could not parse state for IdentityReader 'IdentityReader'");
        test_counts(reader, 1, 1);
    }
    test_read(reader, queue, text);
    assert_string_equal(text, "Y=Y ");
    test_drop_reader(&reader, &queue);
}

static void reset_forgets_counts_but_not_the_queue(void **state)
{
    levada_reader *reader = test_reader_of(LEVADA_READER_IDENTITY);
    levada_queue  *queue = test_names_of((const char *[]){ "X", "Y", "Z", NULL });
    char           text[512];

    (void)state;
    test_read(reader, queue, text);
    test_read(reader, queue, text);
    levada_reader_reset(reader);
    test_counts(reader, 0, 0);
    test_read(reader, queue, text);
    assert_string_equal(text, "Z=Z ");
    test_counts(reader, 1, 1);
    test_drop_reader(&reader, &queue);
}

static void other_kinds_have_no_state(void **state)
{
    (void)state;
    for (int kind = 0; kind < LEVADA_READER_IDENTITY; kind++) {
        levada_reader_options o = LEVADA_READER_OPTIONS_INIT;
        levada_reader        *reader;
        levada_error          err = LEVADA_ERROR_INIT;
        char                 *bytes = NULL;
        size_t                size = 0;

        o.kind = (levada_reader_kind)kind;
        o.name = "mine";
        o.record_bytes = 1;
        reader = test_reader(&o);
        assert_int_equal(levada_reader_serialize_state(reader, &bytes, &size, &err),
                         LEVADA_EUNIMPLEMENTED);
        assert_string_equal(err.message, "mine cannot save a state");
        assert_null(bytes);
        assert_int_equal(levada_reader_restore_state(reader, "", 0, &err), LEVADA_EUNIMPLEMENTED);
        levada_reader_destroy(&reader);
    }
}

/* -- WHOLE_FILE -------------------------------------------------------------------------------- */

static void whole_files_are_values(void **state)
{
    levada_reader *reader = test_reader_of(LEVADA_READER_WHOLE_FILE);
    const char    *a = test_write_text("a", ""), *b = test_write_text("b", "x");
    const char    *c = test_write_text("c", "xy");
    levada_queue  *queue = test_names_of((const char *[]){ a, b, c, a, b, NULL });

    (void)state;
    test_reads(reader, queue, "a= b=x c=xy a= b=x ", LEVADA_EOUT_OF_RANGE);
    test_counts(reader, 5, 5);
    levada_queue_unref(&queue);
    queue = test_names_of((const char *[]){ c, b, NULL });
    test_reads_up_to(reader, queue, 7, "c=xy | b=x | ", LEVADA_EOUT_OF_RANGE);
    test_drop_reader(&reader, &queue);
}

static void a_large_file_comes_whole(void **state)
{
    const size_t         size = 3000001;
    char                *data = malloc(size);
    const char          *kinds[] = { NULL, "gzip", "zlib" };
    levada_tensor       *key = NULL, *value = NULL;
    levada_reader_options o = LEVADA_READER_OPTIONS_INIT;

    (void)state;
    for (size_t i = 0; i < size; i++) data[i] = (char)(i * i >> 9);
    o.kind = LEVADA_READER_WHOLE_FILE;
    for (int k = 0; k < 3 && t_can(kinds[k]); k++) {
        const char    *path = t_path("large");
        levada_queue  *queue = test_names_of((const char *[]){ path, NULL });
        levada_reader *reader;
        t_bytes        packed = { 0 };

        if (k > 0) packed = t_encode(kinds[k], data, size, 0);
        t_write_file(path, k > 0 ? (const void *)packed.at : data, k > 0 ? packed.size : size);
        o.compression = kinds[k];
        reader = test_reader(&o);
        assert_int_equal(levada_reader_read(reader, queue, 0, &key, &value, NULL), LEVADA_OK);
        assert_int_equal(levada_tensor_bytes(value), size);
        assert_memory_equal(levada_tensor_data(value), data, size);
        levada_tensor_unref(&key);
        levada_tensor_unref(&value);
        t_clear(&packed);
        test_drop_reader(&reader, &queue);
    }
    free(data);
}

/* -- TEXT_LINE --------------------------------------------------------------------------------- */

static void lines_have_numbers_from_1(void **state)
{
    static const char *const ends[] = { "\n", "\r\n" };

    (void)state;
    for (int k = 0; k < 2; k++) {
        levada_reader *reader = test_reader_of(LEVADA_READER_TEXT_LINE);
        levada_queue  *queue = test_names();

        for (int i = 0; i < 2; i++) {
            char text[256] = "", name[16];

            for (int j = 0; j < 3; j++) {
                size_t used = strlen(text);

                snprintf(text + used, sizeof(text) - used, "%d-%d%s", i, j, ends[k]);
            }
            snprintf(name, sizeof(name), "t%d", i);
            test_add_name(queue, test_write_text(name, text));
        }
        test_close_names(queue);
        test_reads(reader, queue,
                   "t0:1=0-0 t0:2=0-1 t0:3=0-2 t1:1=1-0 t1:2=1-1 t1:3=1-2 ",
                   LEVADA_EOUT_OF_RANGE);
        test_counts(reader, 6, 2);
        test_drop_reader(&reader, &queue);
    }
}

static void header_lines_are_passed_over_and_counted(void **state)
{
    levada_reader_options o = LEVADA_READER_OPTIONS_INIT;
    const char           *full = test_write_text("t", "head\na\nb");
    const char           *less = test_write_text("less", "only a head\n");
    levada_queue         *queue = test_names_of((const char *[]){ less, full, less, NULL });
    levada_reader        *reader;

    (void)state;
    o.kind = LEVADA_READER_TEXT_LINE;
    o.skip_header_lines = 1;
    reader = test_reader(&o);
    test_reads(reader, queue, "t:2=a t:3=b ", LEVADA_EOUT_OF_RANGE);
    test_counts(reader, 2, 3);
    test_drop_reader(&reader, &queue);
}

/* -- TFRECORD ---------------------------------------------------------------------------------- */

static void records_have_their_offsets_as_keys(void **state)
{
    static const char *const filters[] = { NULL, "gzip", "zlib" };

    (void)state;
    for (int k = 0; k < 3 && t_can(filters[k]); k++) {
        levada_reader *reader = test_reader_of(LEVADA_READER_TFRECORD);
        const char    *a = test_write_records("a", filters[k], 3);
        const char    *b = test_write_records("b", filters[k], 2);
        levada_queue  *queue = test_names_of((const char *[]){ a, b, NULL });

        test_reads(reader, queue, "a:0=a0 a:18=a1 a:36=a2 b:0=b0 b:18=b1 ", LEVADA_EOUT_OF_RANGE);
        test_counts(reader, 5, 2);
        test_drop_reader(&reader, &queue);
    }
}

static void many_stop_at_the_end_of_a_file(void **state)
{
    levada_reader *reader = test_reader_of(LEVADA_READER_TFRECORD);
    const char    *a = test_write_records("a", NULL, 3), *b = test_write_records("b", NULL, 4);
    levada_queue  *queue = test_names_of((const char *[]){ a, b, NULL });

    (void)state;
    test_reads_up_to(reader, queue, 3,
                     "a:0=a0 a:18=a1 a:36=a2 | b:0=b0 b:18=b1 b:36=b2 | b:54=b3 | ",
                     LEVADA_EOUT_OF_RANGE);
    test_counts(reader, 7, 2);
    test_drop_reader(&reader, &queue);
}

/* Of numbered records, whatever a block of the file holds: n = 0 reads one and many in turn. */
static void expect_all(const char *path, int64_t count, int64_t n)
{
    levada_reader *reader = test_reader_of(LEVADA_READER_TFRECORD);
    levada_queue  *queue = test_names_of((const char *[]){ path, NULL });
    int64_t        seen = 0, offset = 0;

    while (seen < count) {
        levada_block *block = NULL;
        int64_t       want = n > 0 ? n : 1 + seen % 97;

        assert_int_equal(levada_reader_read_up_to(reader, queue, want, 0, &block, NULL), LEVADA_OK);
        assert_int_equal(levada_block_rows(block), want < count - seen ? want : count - seen);
        for (int64_t i = 0; i < levada_block_rows(block); i++, seen++) {
            char           key[256], value[64];
            int64_t        a, b;
            const uint8_t *k = levada_column_bytes(levada_block_at(block, 0), i, &a);
            const uint8_t *v = levada_column_bytes(levada_block_at(block, 1), i, &b);

            snprintf(key, sizeof(key), "%s:%lld", path, (long long)offset);
            snprintf(value, sizeof(value), "r%lld", (long long)seen);
            assert_int_equal(a, strlen(key));
            assert_memory_equal(k, key, strlen(key));
            assert_true(b >= (int64_t)strlen(value));
            assert_memory_equal(v, value, strlen(value));
            offset += b + 16;
        }
        levada_block_unref(&block);
        if (n == 0 && seen < count) {
            levada_tensor *key = NULL, *value = NULL;

            assert_int_equal(levada_reader_read(reader, queue, 0, &key, &value, NULL), LEVADA_OK);
            offset += levada_tensor_bytes(value) + 16;
            seen++;
            levada_tensor_unref(&key);
            levada_tensor_unref(&value);
        }
        assert_int_equal(levada_reader_num_records_produced(reader), seen);
    }
    test_reads(reader, queue, "", LEVADA_EOUT_OF_RANGE);
    test_counts(reader, count, 1);
    test_drop_reader(&reader, &queue);
}

static void blocks_of_the_file_do_not_show(void **state)
{
    static const int64_t sizes[] = { 1, 3, 7, 256, 300, 1000, 5000, INT64_MAX };
    const char          *path = t_path("r");
    t_bytes              bytes = { 0 };
    char                 text[4096] = { 0 };

    (void)state;
    t_add(&bytes, "", 0);
    for (int i = 0; i < 2500; i++) {
        snprintf(text, 64, "r%d", i);
        t_add_record(&bytes, text, strlen(text) + (size_t)(i % 5 * (i % 7) * 40));
    }
    t_write_file(path, bytes.at, bytes.size);
    t_clear(&bytes);
    for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) expect_all(path, 2500, sizes[k]);
    expect_all(path, 2500, 0);
}

static void empty_files_are_passed_over(void **state)
{
    levada_reader *reader = test_reader_of(LEVADA_READER_TFRECORD);
    const char    *empty = test_write_text("empty", ""), *full = test_write_records("f", NULL, 1);
    levada_queue  *queue = test_names_of((const char *[]){ empty, full, empty, empty, NULL });

    (void)state;
    test_reads(reader, queue, "f:0=f0 ", LEVADA_EOUT_OF_RANGE);
    test_counts(reader, 1, 4);
    test_drop_reader(&reader, &queue);
}

static void names_that_look_like_patterns_are_names(void **state)
{
    levada_reader *reader = test_reader_of(LEVADA_READER_TEXT_LINE);
    const char    *odd = test_write_text("a[1]*?.txt", "odd\n");
    levada_queue  *queue;

    (void)state;
    (void)test_write_text("a1x.txt", "other\n");
    queue = test_names_of((const char *[]){ odd, NULL });
    test_reads(reader, queue, "a[1]*?.txt:1=odd ", LEVADA_EOUT_OF_RANGE);
    test_drop_reader(&reader, &queue);
}

/* -- FIXED_LENGTH ------------------------------------------------------------------------------ */

static void records_of_one_length_overlap_or_leave_bytes_out(void **state)
{
    static const struct {
        int64_t     hop;
        const char *pairs;
    } cases[] = {
        { 0, "f:0=abc f:1=def f:2=ghi " },
        { 3, "f:0=abc f:1=def f:2=ghi " },
        { 2, "f:0=abc f:1=cde f:2=efg f:3=ghi " },
        { 5, "f:0=abc f:1=fgh " },
    };
    static const char *const filters[] = { NULL, "gzip", "zlib" };
    static const char        text[] = "HHHHHabcdefghijFFF";

    (void)state;
    for (int k = 0; k < 12 && t_can(filters[k / 4]); k++) {
        levada_reader_options o = LEVADA_READER_OPTIONS_INIT;
        const char           *path = t_path("f");
        levada_queue         *queue = test_names_of((const char *[]){ path, NULL });
        levada_reader        *reader;
        t_bytes               bytes = { 0 };

        if (k < 4) t_add(&bytes, text, sizeof(text) - 1);
        else bytes = t_encode(filters[k / 4], text, sizeof(text) - 1, 0);
        t_write_file(path, bytes.at, bytes.size);
        t_clear(&bytes);
        o.kind = LEVADA_READER_FIXED_LENGTH;
        o.compression = filters[k / 4];
        o.record_bytes = 3;
        o.header_bytes = 5;
        o.footer_bytes = 3;
        o.hop_bytes = cases[k % 4].hop;
        reader = test_reader(&o);
        test_reads(reader, queue, cases[k % 4].pairs, LEVADA_EOUT_OF_RANGE);
        test_counts(reader, (int64_t)strlen(cases[k % 4].pairs) / 8, 1);
        test_drop_reader(&reader, &queue);
    }
}

static void files_of_fixed_length_are_read_as_they_are(void **state)
{
    levada_reader_options o = LEVADA_READER_OPTIONS_INIT;
    const char           *path = t_path("z"), *less = test_write_text("less", "ab");
    levada_queue         *queue = test_names_of((const char *[]){ less, path, NULL });
    levada_reader        *reader;

    (void)state;
    t_write_file(path, "\x1f\x8b\x08", 3); /* begins as gzip does */
    o.kind = LEVADA_READER_FIXED_LENGTH;
    o.record_bytes = 3;
    reader = test_reader(&o);
    test_reads_up_to(reader, queue, 4, "z:0=\x1f\x8b\x08 | ", LEVADA_EOUT_OF_RANGE);
    test_counts(reader, 1, 2);
    test_drop_reader(&reader, &queue);
}

typedef struct given_names {
    const char *names[4];
    int         n;
} given_names;

static levada_status give_name(void *user, int64_t timeout, levada_tensor **name,
                               levada_error *err)
{
    const levada_shape scalar = TEST_SCALAR;
    given_names       *given = user;
    const char        *next = given->names[given->n];
    int32_t            offsets[2] = { 0, next ? (int32_t)strlen(next) : 0 };
    int64_t            number = 7;

    assert_true(timeout == 0 || timeout == LEVADA_FOREVER);
    if (!next) return levada_fail(err, LEVADA_EOUT_OF_RANGE, "no more names");
    given->n++;
    if (strcmp(next, "number") != 0) {
        return levada_tensor_create_strings(NULL, &scalar, offsets, next, name, err);
    }
    return levada_tensor_create(NULL, LEVADA_INT64, &scalar, &number, name, err);
}

static void names_may_come_from_a_function(void **state)
{
    levada_reader *reader = test_reader_of(LEVADA_READER_TEXT_LINE);
    given_names    names = { { "number", test_write_text("a", "x\ny\nz\n"), NULL, NULL }, 0 };
    levada_tensor *key = NULL, *value = NULL;
    levada_block  *block = NULL;
    levada_error   err = LEVADA_ERROR_INIT;

    (void)state;
    assert_int_equal(levada_reader_read_from(reader, give_name, &names, 0, &key, &value, &err),
                     LEVADA_EINVALID_ARGUMENT);
    assert_string_equal(err.message, "expected one file name, got 1 x int64");
    assert_int_equal(levada_reader_read_from(reader, give_name, &names, LEVADA_AT_ONCE, &key,
                                             &value, &err),
                     LEVADA_AGAIN);
    assert_int_equal(names.n, 1); /* no name was taken */
    assert_int_equal(levada_reader_read_from(reader, give_name, &names, LEVADA_FOREVER, &key,
                                             &value, &err),
                     LEVADA_OK);
    assert_memory_equal(levada_tensor_data(value), "x", 1);
    levada_tensor_unref(&key);
    levada_tensor_unref(&value);
    assert_int_equal(levada_reader_read_up_to_from(reader, give_name, &names, 2, LEVADA_AT_ONCE,
                                                   &block, &err),
                     LEVADA_OK);
    assert_int_equal(levada_block_rows(block), 2);
    levada_block_unref(&block);
    assert_int_equal(levada_reader_read_up_to_from(reader, give_name, &names, 2, 0, &block, &err),
                     LEVADA_EOUT_OF_RANGE);
    assert_string_equal(err.message, "no more names");
    test_counts(reader, 3, 1);
    levada_reader_destroy(&reader);
}

typedef struct refusal {
    int  calls;
    char key[64];
} refusal;

static levada_status refuse_once(void *user, levada_reader_found *found, levada_error *err)
{
    refusal *r = user;

    if (r->calls++ == 0) return levada_fail(err, LEVADA_EABORTED, "not now");
    if (found->block) {
        assert_int_equal(levada_block_rows(found->block), 2);
    } else {
        assert_in_range(levada_reader_key_bytes(found, NULL), 1, 63);
        (void)levada_reader_key_bytes(found, (uint8_t *)r->key);
    }
    return LEVADA_OK;
}

static void what_is_refused_comes_again(void **state)
{
    levada_reader *reader = test_reader_of(LEVADA_READER_IDENTITY);
    given_names    names = { { "a", NULL, NULL, NULL }, 0 };
    levada_reader *lines = test_reader_of(LEVADA_READER_TEXT_LINE);
    given_names    files = { { test_write_text("two", "1\n2\n"), NULL, NULL, NULL }, 0 };

    (void)state;
    for (int n = 0; n < 3; n += 2) {
        levada_reader *r = n == 0 ? reader : lines;
        given_names   *from = n == 0 ? &names : &files;
        refusal        refuses = { 0 };

        assert_int_equal(levada_reader_find(r, give_name, from, n, 0, refuse_once, &refuses, NULL),
                         LEVADA_EABORTED);
        test_counts(r, 0, n == 0 ? 1 : 0);
        assert_int_equal(levada_reader_find(r, NULL, NULL, n, LEVADA_AT_ONCE, refuse_once,
                                            &refuses, NULL),
                         LEVADA_OK);
        assert_int_equal(levada_reader_num_records_produced(r), n == 0 ? 1 : 2);
        if (n == 0) assert_string_equal(refuses.key, "a");
    }
    levada_reader_destroy(&reader);
    levada_reader_destroy(&lines);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(identity_gives_names_and_counts_them),
        cmocka_unit_test(identity_goes_on_through_epochs),
        cmocka_unit_test(a_state_goes_on_after_the_name_that_was_read),
        cmocka_unit_test(junk_is_no_state),
        cmocka_unit_test(reset_forgets_counts_but_not_the_queue),
        cmocka_unit_test(other_kinds_have_no_state),
        cmocka_unit_test(whole_files_are_values),
        cmocka_unit_test(a_large_file_comes_whole),
        cmocka_unit_test(lines_have_numbers_from_1),
        cmocka_unit_test(header_lines_are_passed_over_and_counted),
        cmocka_unit_test(records_have_their_offsets_as_keys),
        cmocka_unit_test(many_stop_at_the_end_of_a_file),
        cmocka_unit_test(blocks_of_the_file_do_not_show),
        cmocka_unit_test(empty_files_are_passed_over),
        cmocka_unit_test(names_that_look_like_patterns_are_names),
        cmocka_unit_test(records_of_one_length_overlap_or_leave_bytes_out),
        cmocka_unit_test(files_of_fixed_length_are_read_as_they_are),
        cmocka_unit_test(names_may_come_from_a_function),
        cmocka_unit_test(what_is_refused_comes_again),
    };

    return cmocka_run_group_tests(tests, t_folder_set_up, t_folder_tear_down);
}
