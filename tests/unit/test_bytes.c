/* SPDX-License-Identifier: Apache-2.0 */
#include "files/bytes.h"
#include "support/codec.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static levada_error bytes_error;

static levada_bytes *open_as(const char *compression)
{
    levada_bytes_options options = {.compression = compression};
    levada_bytes        *bytes = NULL;

    assert_int_equal(levada_bytes_open(NULL, t_path("f"), &options, &bytes, &bytes_error),
                     LEVADA_OK);
    return bytes;
}

static levada_status open_status(const char *name, const char *compression)
{
    levada_bytes_options options = {.compression = compression};
    levada_bytes        *bytes = NULL;
    levada_status st = levada_bytes_open(NULL, t_path(name), &options, &bytes, &bytes_error);

    levada_bytes_close(&bytes);
    return st;
}

static void reads_a_plain_file_from_any_offset(void **state)
{
    const char   *text = "0123456789";
    char          out[16];
    int64_t       made;
    levada_bytes *bytes;

    (void)state;
    t_write_file(t_path("f"), text, 10);
    bytes = open_as(NULL);
    assert_string_equal(levada_bytes_compression(bytes), "");
    assert_int_equal(levada_bytes_left(bytes), 10);
    assert_int_equal(levada_bytes_read(bytes, out, 4, &made, NULL), LEVADA_OK);
    assert_int_equal(made, 4);
    assert_memory_equal(out, "0123", 4);
    assert_int_equal(levada_bytes_offset(bytes), 4);
    assert_int_equal(levada_bytes_read(bytes, out, 16, &made, NULL), LEVADA_OK);
    assert_int_equal(made, 6);
    assert_int_equal(levada_bytes_read(bytes, out, 16, &made, NULL), LEVADA_OK);
    assert_int_equal(made, 0);
    assert_int_equal(levada_bytes_seek(bytes, 7, NULL), LEVADA_OK);
    assert_int_equal(levada_bytes_read(bytes, out, 16, &made, NULL), LEVADA_OK);
    assert_int_equal(made, 3);
    assert_memory_equal(out, "789", 3);
    assert_int_equal(levada_bytes_seek(bytes, 10, NULL), LEVADA_OK);
    assert_int_equal(levada_bytes_seek(bytes, 11, NULL), LEVADA_EOUT_OF_RANGE);
    assert_int_equal(levada_bytes_done(bytes), 10);
    levada_bytes_close(&bytes);
}

static void says_why_a_file_does_not_open(void **state)
{
    (void)state;
    t_write_file(t_path("f"), "x", 1);
    assert_int_equal(mkdir(t_path("folder"), 0700), 0);
    assert_int_equal(open_status("missing", NULL), LEVADA_ENOT_FOUND);
    assert_non_null(strstr(bytes_error.file, "missing"));
    assert_int_equal(open_status("f/x", NULL), LEVADA_ENOT_FOUND);
    assert_int_equal(open_status("folder", NULL), LEVADA_EINVALID_ARGUMENT);
    assert_non_null(strstr(bytes_error.message, "is a directory"));
    assert_int_equal(open_status("f", "snappy"), LEVADA_EINVALID_ARGUMENT);
    assert_non_null(strstr(bytes_error.message, "compression='snappy'"));
    assert_int_equal(symlink("/dev/null", t_path("device")), 0);
    assert_int_equal(open_status("device", NULL), LEVADA_EINVALID_ARGUMENT);
    if (geteuid() == 0) return; /* root may read everything */
    assert_int_equal(chmod(t_path("f"), 0), 0);
    assert_int_equal(open_status("f", NULL), LEVADA_EPERMISSION_DENIED);
}

static void finds_the_compression_by_content(void **state)
{
    const char *filters[] = {"gzip", "zlib", "zstd"};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        t_bytes       packed;
        levada_bytes *bytes;
        char          out[64];
        int64_t       made;

        if (!t_can(filters[i])) continue;
        packed = t_encode(filters[i], "some bytes, some more bytes", 27, 0);
        t_write_file(t_path("f"), packed.at, packed.size);
        bytes = open_as("auto");
        assert_string_equal(levada_bytes_compression(bytes), filters[i]);
        assert_int_equal(levada_bytes_left(bytes), -1);
        assert_int_equal(levada_bytes_read(bytes, out, 64, &made, NULL), LEVADA_OK);
        assert_int_equal(made, 27);
        levada_bytes_close(&bytes);
        bytes = open_as("none");
        assert_string_equal(levada_bytes_compression(bytes), "");
        levada_bytes_close(&bytes);
        bytes = open_as(i == 0 ? "GZIP" : filters[i]);
        assert_string_equal(levada_bytes_compression(bytes), filters[i]);
        levada_bytes_close(&bytes);
        t_clear(&packed);
    }
}

static int32_t sure(const uint8_t *data, int64_t size)
{
    (void)data;
    (void)size;
    return 32;
}

static void believes_a_format_that_knows_better(void **state)
{
    t_bytes              packed;
    levada_bytes_options options = {.probe = sure};
    levada_bytes        *bytes = NULL;

    (void)state;
    if (!t_can("zlib")) skip();
    packed = t_encode("zlib", "some bytes, some more bytes", 27, 0);
    t_write_file(t_path("f"), packed.at, packed.size);
    assert_int_equal(levada_bytes_open(NULL, t_path("f"), &options, &bytes, NULL), LEVADA_OK);
    assert_string_equal(levada_bytes_compression(bytes), "");
    levada_bytes_close(&bytes);
    t_clear(&packed);
}

static void an_empty_file_is_empty_whatever_it_is_called(void **state)
{
    const char *compressions[] = {"auto", "none", "gzip", "zlib", "zstd"};
    char        out[4];

    (void)state;
    t_write_file(t_path("f"), "", 0);
    for (size_t i = 0; i < 5; i++) {
        levada_bytes *bytes = open_as(compressions[i]);
        int64_t       made = 1;

        assert_int_equal(levada_bytes_read(bytes, out, 4, &made, NULL), LEVADA_OK);
        assert_int_equal(made, 0);
        levada_bytes_close(&bytes);
    }
}

static void gives_everything_before_damage_and_repeats_it(void **state)
{
    t_bytes       text = t_prose(), packed;
    char         *out = malloc(text.size);
    int64_t       made;
    levada_error  err = LEVADA_ERROR_INIT;
    levada_bytes *bytes;

    (void)state;
    if (!t_can("gzip")) skip();
    packed = t_encode("gzip", text.at, text.size, 0);
    t_write_file(t_path("f"), packed.at, packed.size / 2);
    bytes = open_as(NULL);
    assert_int_equal(levada_bytes_read(bytes, out, (int64_t)text.size, &made, NULL), LEVADA_OK);
    assert_true(made > 10000 && made < (int64_t)text.size);
    assert_memory_equal(out, text.at, (size_t)made);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(levada_bytes_read(bytes, out, 10, &made, &err), LEVADA_EDATA_LOSS);
        assert_int_equal(made, 0);
        assert_non_null(strstr(err.message, "the stream ends early"));
        assert_non_null(strstr(err.file, "/f"));
        assert_true(!levada_bytes_resume(bytes));
    }
    assert_int_equal(levada_bytes_seek(bytes, 5, NULL), LEVADA_OK);
    assert_int_equal(levada_bytes_read(bytes, out, 10, &made, &err), LEVADA_OK);
    assert_memory_equal(out, text.at + 5, 10);
    levada_bytes_close(&bytes);
    free(out);
    t_clear(&packed);
    t_clear(&text);
}

static void notices_a_file_that_shrinks(void **state)
{
    t_bytes       text = t_prose();
    char          out[1000];
    int64_t       made;
    levada_error  err = LEVADA_ERROR_INIT;
    levada_bytes *bytes;

    (void)state;
    t_write_file(t_path("f"), text.at, text.size);
    bytes = open_as(NULL);
    assert_int_equal(levada_bytes_read(bytes, out, 1000, &made, NULL), LEVADA_OK);
    assert_int_equal(truncate(t_path("f"), 1500), 0);
    assert_int_equal(levada_bytes_read(bytes, out, 1000, &made, &err), LEVADA_OK);
    assert_int_equal(made, 500);
    assert_int_equal(levada_bytes_read(bytes, out, 1000, &made, &err), LEVADA_EDATA_LOSS);
    assert_non_null(strstr(err.message, "shrank"));
    levada_bytes_close(&bytes);
    t_clear(&text);
}

static void knows_a_file_again(void **state)
{
    levada_bytes_mark a, b;

    (void)state;
    t_write_file(t_path("f"), "abc", 3);
    assert_int_equal(levada_bytes_mark_file(NULL, t_path("f"), &a, NULL), LEVADA_OK);
    t_write_file(t_path("f"), "abd", 3);
    assert_int_equal(levada_bytes_mark_file(NULL, t_path("f"), &b, NULL), LEVADA_OK);
    assert_int_equal(a.size, 3);
    assert_int_equal(b.size, 3);
    assert_int_not_equal(a.head, b.head);
    assert_int_equal(levada_bytes_mark_file(NULL, t_path("none"), &b, NULL), LEVADA_ENOT_FOUND);
}

/* Each in a folder of its own. */
#define BYTES_TEST(test) \
    cmocka_unit_test_setup_teardown(test, t_folder_set_up, t_folder_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        BYTES_TEST(reads_a_plain_file_from_any_offset),
        BYTES_TEST(says_why_a_file_does_not_open),
        BYTES_TEST(finds_the_compression_by_content),
        BYTES_TEST(believes_a_format_that_knows_better),
        BYTES_TEST(an_empty_file_is_empty_whatever_it_is_called),
        BYTES_TEST(gives_everything_before_damage_and_repeats_it),
        BYTES_TEST(notices_a_file_that_shrinks),
        BYTES_TEST(knows_a_file_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
