/* SPDX-License-Identifier: Apache-2.0 */
/* Indexes of files, and what sources read with them. */
#include "files/index.h"

#include "support/iters.h"
#include <levada/inspect.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { FIRST = 1000, SECOND = 700, ALL = FIRST + SECOND };

/* Lines of several lengths: 0, 1, 2, ... and their numbers. */
static void write_lines(const char *name, int from, int n)
{
    t_bytes text = { 0 };
    char    line[64];

    for (int i = from; i < from + n; i++) {
        int size = snprintf(line, sizeof line, "%d%.*s\n", i, i % 7, "------");

        t_add(&text, line, (size_t)size);
    }
    t_write_file(t_path(name), text.at, text.size);
    t_clear(&text);
}

/* The index with the lengths of these fields. */
static levada_status index_lengths(const char *path, const char *source, const char *fields,
                                   int64_t *records, levada_error *err)
{
    levada_index_options options = LEVADA_INDEX_OPTIONS_INIT;

    options.source = source;
    options.fields = fields;
    return levada_inspect_index(NULL, path, &options, records, err);
}

static void make_index(const char *name, const char *source, int64_t records)
{
    levada_index_options options = LEVADA_INDEX_OPTIONS_INIT;
    levada_error         err = LEVADA_ERROR_INIT;
    int64_t              n = -1;

    options.source = source;
    if (levada_inspect_index(NULL, t_path(name), &options, &n, &err) != LEVADA_OK) {
        fail_msg("%s", err.message);
    }
    assert_int_equal(n, records);
}

/* Two files of lines and their indexes. */
static int set_up(void **state)
{
    int st = t_folder_set_up(state);

    write_lines("a.txt", 0, FIRST);
    write_lines("b.txt", FIRST, SECOND);
    make_index("a.txt", NULL, FIRST);
    make_index("b.txt", NULL, SECOND);
    return st;
}

/* "text_lines:[a.txt,b.txt],index=true" and more options. */
static const char *described(const char *more)
{
    static char text[4][512];
    static int  turn;
    char       *to = text[turn++ % 4];

    (void)snprintf(to, sizeof text[0], "text_lines:[\"%s\",\"%s\"],index=true%s", t_path("a.txt"),
                   t_path("b.txt"), more);
    return to;
}

/* The numbers at the beginnings of all lines that a description returns. */
static int64_t read_numbers(const char *text, int64_t *to)
{
    levada_iter  *it = t_iter_open(text, 1, 0);
    levada_block *block = NULL;
    int64_t       n = 0;

    while (levada_iter_next(it, &block, NULL) == LEVADA_OK) {
        for (int64_t i = 0; i < levada_block_rows(block); i++) {
            int64_t        size;
            const uint8_t *line = levada_column_bytes(levada_block_at(block, 0), i, &size);
            char           copy[64] = "";

            assert_true(n < 2 * ALL && size < 64);
            memcpy(copy, line, (size_t)size);
            to[n++] = strtol(copy, NULL, 10);
        }
        levada_block_unref(&block);
    }
    levada_iter_close(&it);
    return n;
}

static void expect_range(const char *more, int64_t from, int64_t to)
{
    int64_t numbers[ALL], n = read_numbers(described(more), numbers);

    assert_int_equal(n, to - from);
    for (int64_t i = 0; i < n; i++) assert_int_equal(numbers[i], from + i);
}

static void ranges_are_exactly_their_records(void **state)
{
    (void)state;
    expect_range("", 0, ALL);
    expect_range(",records=[0,0]", 0, 0);
    expect_range(",records=[0,1]", 0, 1);
    expect_range(",records=[339,341]", 339, 341); /* two pages */
    expect_range(",records=[990,1010]", 990, 1010);
    expect_range(",records=[1000,1700]", 1000, 1700);
    expect_range(",records=[0,1000]", 0, 1000);
    expect_range(",records=[1700,1700]", 1700, 1700);
}

static void parts_are_all_records_once(void **state)
{
    (void)state;
    for (int n = 1; n < 1800; n = n * 3 + 1) {
        int64_t numbers[ALL], total = 0;

        for (int i = 0; i < n; i++) {
            char more[64];

            (void)snprintf(more, sizeof more, ",part=[%d,%d]", i, n);
            total += read_numbers(described(more), numbers + total);
        }
        assert_int_equal(total, ALL);
        for (int i = 0; i < ALL; i++) assert_int_equal(numbers[i], i);
    }
}

static int compare(const void *a, const void *b)
{
    return *(const int64_t *)a < *(const int64_t *)b ? -1 : 1;
}

static void a_shuffle_has_every_record_once(void **state)
{
    int64_t numbers[ALL];
    int     moved = 0;

    (void)state;
    assert_int_equal(read_numbers(described(",shuffle_records=true"), numbers), ALL);
    for (int i = 0; i < ALL; i++) moved += numbers[i] != i;
    assert_true(moved > ALL * 9 / 10);
    qsort(numbers, ALL, sizeof *numbers, compare);
    for (int i = 0; i < ALL; i++) assert_int_equal(numbers[i], i);
}

static void a_shuffled_range_stays_in_the_range(void **state)
{
    int64_t numbers[ALL];
    int64_t n = read_numbers(described(",shuffle_records=true,records=[900,1200],part=[1,3]"),
                             numbers);

    (void)state;
    assert_int_equal(n, 100);
    qsort(numbers, 100, sizeof *numbers, compare);
    for (int i = 0; i < 100; i++) assert_int_equal(numbers[i], 1000 + i);
}

static void epochs_and_passes_differ(void **state)
{
    int64_t numbers[2 * ALL];
    int     same = 0;
    char    text[700];

    (void)state;
    (void)snprintf(text, sizeof text, "%s | take:700 | repeat:2",
                   described(",shuffle_records=true"));
    assert_int_equal(read_numbers(text, numbers), 1400);
    for (int i = 0; i < 700; i++) same += numbers[i] == numbers[700 + i];
    assert_true(same < 20);
}

static void every_description_resumes_at_each_cut(void **state)
{
    static const char *const more[] = {
        "", ",records=[900,1100]", ",part=[2,5]", ",shuffle_records=true",
        ",shuffle_records=true,part=[1,2] | shuffle:100 | batch:9",
        ",shuffle_records=true,records=[990,1010] | repeat:3",
    };

    (void)state;
    for (size_t i = 0; i < sizeof more / sizeof *more; i++) {
        t_iter_sweep(described(more[i]), strstr(more[i], "batch"), i == 0 ? 5 : 3);
    }
}

/* -- files that change, and damage */

static void reading_fails(const char *more, levada_status code, const char *message)
{
    levada_iter *it = t_iter_open(described(more), 1, 0);

    t_iter_fails(it, code, message);
    levada_iter_close(&it);
}

static void another_file_is_refused(void **state)
{
    (void)state;
    write_lines("b.txt", 5, SECOND);
    reading_fails(",records=[1500,1600]", LEVADA_EFAILED_PRECONDITION,
                  "has changed since it was indexed");
    reading_fails(",shuffle_records=true", LEVADA_EFAILED_PRECONDITION,
                  "has changed since it was indexed");
    assert_int_equal(levada_inspect_index_check(NULL, t_path("b.txt"), NULL, NULL),
                     LEVADA_EFAILED_PRECONDITION);
    assert_int_equal(levada_inspect_index_check(NULL, t_path("a.txt"), NULL, NULL), LEVADA_OK);
}

/* The first bytes and the size stay: only the records tell. */
static void a_line_that_moved_is_found(void **state)
{
    t_bytes was = t_read_file(t_path("a.txt"));

    (void)state;
    assert_true(was.size > 5000);
    was.at[4990] = was.at[4990] == '\n' ? '-' : '\n';
    t_write_file(t_path("a.txt"), was.at, was.size);
    t_clear(&was);
    reading_fails(",shuffle_records=true", LEVADA_EDATA_LOSS,
                  "in the index, so the file has changed");
    assert_int_equal(levada_inspect_index_check(NULL, t_path("a.txt"), NULL, NULL),
                     LEVADA_EFAILED_PRECONDITION);
}

static void write_records(const char *name, int n, int bad)
{
    t_bytes bytes = { 0 };

    for (int i = 0; i < n; i++) {
        char record[32];

        t_add_record(&bytes, record, (size_t)snprintf(record, sizeof record, "record %d", i));
        if (i == bad) bytes.at[bytes.size - 6] ^= 1;
    }
    t_write_file(t_path(name), bytes.at, bytes.size);
    t_clear(&bytes);
}

/* A damaged record costs itself alone, and a budget holds. */
static void a_damaged_record_is_skipped_alone(void **state)
{
    char         text[600];
    levada_iter *it;
    t_outcome    o = { 0 };

    (void)state;
    write_records("c.tfrecord", 900, -1);
    make_index("c.tfrecord", NULL, 900);
    write_records("c.tfrecord", 900, 500);
    (void)snprintf(text, sizeof text, "tfrecord:\"%s\",index=true,shuffle_records=true",
                   t_path("c.tfrecord"));
    it = t_iter_open_policy(text, "skip:1", 1, 0);
    assert_int_equal(t_iter_read_rest(it, &o), LEVADA_END);
    assert_int_equal(o.rows, 899);
    assert_int_equal(t_iter_stat(it, "skipped_records"), 1);
    levada_iter_close(&it);
    it = t_iter_open(text, 2, 0);
    t_iter_fails_at(it, LEVADA_EDATA_LOSS, "c.tfrecord", 500, 12890);
    levada_iter_close(&it);
}

static void damaged_and_compressed_files_have_no_index(void **state)
{
    levada_error err = LEVADA_ERROR_INIT;
    t_bytes      packed, plain;

    (void)state;
    write_records("d.tfrecord", 20, 7);
    assert_int_equal(levada_inspect_index(NULL, t_path("d.tfrecord"), NULL, NULL, &err),
                     LEVADA_EDATA_LOSS);
    assert_int_equal(err.record, 7);
    assert_int_equal(levada_inspect_index_check(NULL, t_path("d.tfrecord"), NULL, NULL),
                     LEVADA_ENOT_FOUND);
    if (!t_can("gzip")) return;
    plain = t_read_file(t_path("a.txt"));
    packed = t_encode("gzip", plain.at, plain.size, 0);
    t_write_file(t_path("a.txt.gz"), packed.at, packed.size);
    assert_int_equal(levada_inspect_index(NULL, t_path("a.txt.gz"), NULL, NULL, NULL),
                     LEVADA_EUNIMPLEMENTED);
    t_clear(&plain);
    t_clear(&packed);
}

static levada_status add_length(void *user, const int64_t *lengths, int64_t n, levada_error *err)
{
    int64_t *seen = user; /* number of records, and sum of lengths */

    if (seen[0] < 0) return levada_fail(err, LEVADA_ECANCELLED, "enough");
    for (int64_t i = 0; i < n; i++) seen[1] += lengths[i];
    seen[0] += n;
    return LEVADA_OK;
}

static levada_status lengths_of(const char *text, const char *field, int64_t seen[2], bool *found)
{
    levada_dataset *ds = NULL;
    levada_status   st;

    assert_int_equal(levada_dataset_parse(NULL, text, &ds, NULL), LEVADA_OK);
    st = levada_inspect_lengths(ds, field, add_length, seen, found, NULL);
    levada_dataset_unref(&ds);
    return st;
}

/* Lengths of lines, of two files; of one only they are not found. */
static void lengths_are_found(void **state)
{
    int64_t      seen[2] = { 0, 0 }, records = 0;
    t_bytes      a = t_read_file(t_path("a.txt")), b = t_read_file(t_path("b.txt"));
    bool         found = true;
    levada_error err = LEVADA_ERROR_INIT;

    (void)state;
    assert_int_equal(index_lengths(t_path("a.txt"), NULL, "text", &records, &err),
                     LEVADA_EINVALID_ARGUMENT);
    assert_non_null(strstr(err.message, "available: line"));
    assert_int_equal(index_lengths(t_path("a.txt"), NULL, "line", &records, NULL),
                     LEVADA_OK);
    assert_int_equal(records, FIRST);
    assert_int_equal(levada_inspect_index_check(NULL, t_path("a.txt"), NULL, NULL), LEVADA_OK);
    assert_int_equal(lengths_of(described(""), "line", seen, &found), LEVADA_OK);
    assert_false(found || seen[0]);
    assert_int_equal(index_lengths(t_path("b.txt"), NULL, "line", NULL, NULL),
                     LEVADA_OK);
    assert_int_equal(lengths_of(described(",records=[0,5]"), "line", seen, &found), LEVADA_OK);
    assert_false(found || seen[0]);
    assert_int_equal(lengths_of(described(""), "line", seen, &found), LEVADA_OK);
    assert_true(found && seen[0] == ALL);
    assert_int_equal(seen[1], (int64_t)(a.size + b.size) - ALL);
    seen[0] = -1;
    assert_int_equal(lengths_of(described(""), "line", seen, &found), LEVADA_ECANCELLED);
    t_clear(&a);
    t_clear(&b);
}

static void lengths_of_other_sources_are_not_found(void **state)
{
    bool            found = false;
    levada_dataset *ds = NULL;

    (void)state;
    assert_int_equal(levada_dataset_parse(NULL, "range:3", &ds, NULL), LEVADA_OK);
    assert_int_equal(levada_inspect_lengths(ds, "value", add_length, NULL, &found, NULL),
                     LEVADA_OK);
    assert_false(found);
    assert_int_equal(index_lengths(t_path("a.txt"), NULL, "", NULL, NULL),
                     LEVADA_EINVALID_ARGUMENT);
    levada_dataset_unref(&ds);
}

/* How opening and reading end. */
static levada_status ends_with(const char *text)
{
    levada_dataset *ds = NULL;
    levada_iter    *it = NULL;
    t_outcome       o = { 0 };
    levada_status   st;

    assert_int_equal(levada_dataset_parse(NULL, text, &ds, NULL), LEVADA_OK);
    st = levada_iter_open(ds, NULL, &it, NULL);
    if (st == LEVADA_OK) st = t_iter_read_rest(it, &o);
    levada_iter_close(&it);
    levada_dataset_unref(&ds);
    return st;
}

/* Changed bytes all over an index, and truncations. */
static void a_damaged_index_is_refused(void **state)
{
    t_bytes was = t_read_file(t_path("b.txt.lvindex"));

    (void)state;
    assert_int_equal(was.size, 4 * LEVADA_INDEX_PAGE); /* 700 records: 3 pages, and the last */
    for (size_t i = 0; i < was.size; i += i % 97 == 0 ? 1 : 61) {
        was.at[i] ^= 0x10;
        t_write_file(t_path("b.txt.lvindex"), was.at, was.size);
        was.at[i] ^= 0x10;
        assert_true(ends_with(described(",shuffle_records=true")) < 0);
    }
    for (size_t size = 0; size < was.size; size += 1021) {
        t_write_file(t_path("b.txt.lvindex"), was.at, size);
        assert_true(levada_inspect_index_check(NULL, t_path("b.txt"), NULL, NULL) < 0);
    }
    t_clear(&was);
}

/* Each byte of an index with lengths: pages of entries, of lengths, and the last one. */
static void no_changed_byte_changes_a_length(void **state)
{
    t_bytes was;
    int64_t seen[2], sum = 0;
    bool    found;

    (void)state;
    for (int i = 0; i < 2; i++) {
        const char *path = t_path(i ? "b.txt" : "a.txt");

        assert_int_equal(index_lengths(path, NULL, "line", NULL, NULL),
                         LEVADA_OK);
    }
    was = t_read_file(t_path("b.txt.lvindex"));
    for (size_t i = 0; i <= was.size; i++) { /* none at the end */
        levada_status st;

        if (i < was.size) was.at[i] ^= (uint8_t)(1U << i % 8);
        t_write_file(t_path("b.txt.lvindex"), was.at, was.size);
        if (i < was.size) was.at[i] ^= (uint8_t)(1U << i % 8);
        seen[0] = seen[1] = 0;
        st = lengths_of(described(""), "line", seen, &found);
        assert_true(st == LEVADA_OK || st == LEVADA_EDATA_LOSS);
        assert_true(st == LEVADA_OK || i >= 3 * (size_t)LEVADA_INDEX_PAGE);
        if (i == 0) sum = seen[1];
        if (st == LEVADA_OK) assert_true(found && seen[0] == ALL && seen[1] == sum);
    }
    t_clear(&was);
}

static void other_formats_and_options_are_refused(void **state)
{
    char text[600];

    (void)state;
    t_write_file(t_path("n.bin"), "aabbccdd", 8);
    make_index("n.bin", "fixed_length:record_bytes=2", 4);
    (void)snprintf(text, sizeof text, "fixed_length:\"%s\",record_bytes=%d,index=true,"
                   "shuffle_records=true", t_path("n.bin"), 2);
    levada_iter *it = t_iter_open(text, 1, 0);
    t_outcome    o = { 0 };
    assert_int_equal(t_iter_read_rest(it, &o), LEVADA_END);
    assert_int_equal(o.rows, 4);
    levada_iter_close(&it);
    (void)snprintf(text, sizeof text, "fixed_length:\"%s\",record_bytes=4,index=true",
                   t_path("n.bin"));
    t_iter_refused(text, LEVADA_EFAILED_PRECONDITION, "other options of fixed_length");
    (void)snprintf(text, sizeof text, "text_lines:\"%s\",index=true", t_path("n.bin"));
    t_iter_refused(text, LEVADA_EFAILED_PRECONDITION, "the index is for format fixed_length");
}

static void options_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    t_iter_refused("text_lines:a,records=[0,1]", LEVADA_EINVALID_ARGUMENT, "needs index=true");
    t_iter_refused("text_lines:a,shuffle_records=true", LEVADA_EINVALID_ARGUMENT,
                   "needs index=true");
    t_iter_refused("text_lines:a,part=[2,2]", LEVADA_EINVALID_ARGUMENT, "i below n");
    t_iter_refused("text_lines:a,part=3", LEVADA_EINVALID_ARGUMENT, "i below n");
    t_iter_refused("text_lines:a,index=true,records=[2,1]", LEVADA_EINVALID_ARGUMENT, "[start");
    t_iter_refused("text_lines:a,index=true,shuffle_files=true", LEVADA_EINVALID_ARGUMENT,
                   "cannot be combined");
    t_iter_refused(described(",records=[0,1701]"), LEVADA_EOUT_OF_RANGE,
                   "exceeds the 1700 records");
    (void)remove(t_path("b.txt.lvindex"));
    t_iter_refused(described(""), LEVADA_EFAILED_PRECONDITION, "levada index");
}

/* Without an index, a part owns whole files and opens no other. */
static void parts_without_an_index_are_files(void **state)
{
    char    text[600];
    int64_t numbers[ALL];

    (void)state;
    (void)remove(t_path("a.txt")); /* of the other part */
    (void)snprintf(text, sizeof text, "text_lines:[\"%s\",\"%s\"],part=[1,2]", t_path("a.txt"),
                   t_path("b.txt"));
    assert_int_equal(read_numbers(text, numbers), SECOND);
    assert_int_equal(numbers[0], FIRST);
    (void)snprintf(text, sizeof text, "text_lines:[\"%s\",\"%s\"],part=[5,9]", t_path("a.txt"),
                   t_path("b.txt"));
    assert_int_equal(read_numbers(text, numbers), 0);
}

/* With an index a part opens the files of its range alone. */
static void a_range_opens_no_other_file(void **state)
{
    (void)state;
    (void)remove(t_path("a.txt"));
    expect_range(",records=[1000,1700]", 1000, 1700);
    expect_range(",records=[1200,1300]", 1200, 1300);
}

#define INDEX_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, t_folder_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        INDEX_TEST(ranges_are_exactly_their_records),
        INDEX_TEST(parts_are_all_records_once),
        INDEX_TEST(a_shuffle_has_every_record_once),
        INDEX_TEST(a_shuffled_range_stays_in_the_range),
        INDEX_TEST(epochs_and_passes_differ),
        INDEX_TEST(every_description_resumes_at_each_cut),
        INDEX_TEST(another_file_is_refused),
        INDEX_TEST(a_line_that_moved_is_found),
        INDEX_TEST(a_damaged_record_is_skipped_alone),
        INDEX_TEST(damaged_and_compressed_files_have_no_index),
        INDEX_TEST(lengths_are_found),
        INDEX_TEST(lengths_of_other_sources_are_not_found),
        INDEX_TEST(a_damaged_index_is_refused),
        INDEX_TEST(no_changed_byte_changes_a_length),
        INDEX_TEST(other_formats_and_options_are_refused),
        INDEX_TEST(options_that_do_not_fit_are_refused),
        INDEX_TEST(parts_without_an_index_are_files),
        INDEX_TEST(a_range_opens_no_other_file),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
