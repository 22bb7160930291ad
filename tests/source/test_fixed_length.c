/* SPDX-License-Identifier: Apache-2.0 */
#include "files/window.h"
#include "support/files.h"
#include "support/iters.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char *const packings[] = { NULL, "gzip", "zlib", "zstd" };
#define PACKINGS (sizeof packings / sizeof packings[0])

static void write_packed(const char *name, const char *packing, const void *data, size_t size)
{
    t_bytes packed = { 0 };

    if (packing) packed = t_encode(packing, data, size, 0);
    t_write_file(t_path(name), packing ? packed.at : data, packing ? packed.size : size);
    t_clear(&packed);
}

static t_reader reader(int64_t record, int64_t header, int64_t footer, int64_t hop)
{
    return (t_reader){ .format = "fixed_length", .paths = { t_path("f") },
                       .record_bytes = record, .header_bytes = header,
                       .footer_bytes = footer, .hop_bytes = hop };
}

/* -- the rules, said another way */

/* What a file contains: records until one does not fit; then whether that is its end. */
static levada_status expected(const t_reader *t, const uint8_t *data, int64_t size, t_bytes *rows)
{
    int64_t hop = t->hop_bytes ? t->hop_bytes : t->record_bytes, n = 0;
    int64_t end = size - t->footer_bytes, at = t->header_bytes, last = at;

    t_add(rows, NULL, 0);
    for (; at + t->record_bytes <= end; at += hop, n++) {
        char text[32];

        t_add(rows, data + at, (size_t)t->record_bytes);
        t_add(rows, text, (size_t)snprintf(text, sizeof text, "@%lld ", (long long)at));
        last = at + t->record_bytes;
    }
    if (t->drop_partial || end == last) return LEVADA_END;
    if (end < t->header_bytes) return LEVADA_EDATA_LOSS;
    return n > 0 && end > last && end <= at ? LEVADA_END : LEVADA_EDATA_LOSS; /* in a gap */
}

static void expect_rows(t_reader *t, const t_bytes *want, levada_status status)
{
    t_bytes rows = { 0 };

    assert_int_equal(t_open(t), LEVADA_OK);
    assert_int_equal(t_drain(t, &rows), status);
    assert_int_equal(rows.size, want->size);
    assert_memory_equal(rows.at, want->at, want->size);
    assert_int_equal(t_drain(t, &rows), status); /* it is repeated */
    assert_int_equal(rows.size, want->size);
    t_clear(&rows);
    t_close(t);
}

/* A plain file is refused as a whole; a compressed one has given its records before. */
static void expect_file(t_reader t, const char *packing, const uint8_t *data, int64_t size)
{
    const int32_t block_rows[] = { 256, 1, 3 };
    t_bytes       want = { 0 }, none = { 0 };
    levada_status status;

    for (int drop = 0; drop < 2; drop++) {
        t.drop_partial = drop;
        status = expected(&t, data, size, &want);
        for (int i = 0; i < (size > 4096 ? 1 : 3); i++) {
            t.block_rows = block_rows[i];
            if (packing || status == LEVADA_END) {
                expect_rows(&t, &want, status);
            } else {
                expect_rows(&t, &none, LEVADA_EINVALID_ARGUMENT);
            }
        }
        t_clear(&want);
    }
}

static void gives_what_the_rules_say(void **state)
{
    const char *letters = "abcdefghijklmnopqrstuvwxyzABCD";

    (void)state;
    for (int64_t size = 0; size <= 30; size += size < 12 ? 1 : 6) {
        t_write_file(t_path("f"), letters, (size_t)size);
        for (int64_t i = 0; i < 4 * 3 * 3 * 6; i++) {
            expect_file(reader(1 + i % 4, i / 4 % 3 * 2, i / 12 % 3, i / 36), NULL,
                        (const uint8_t *)letters, size);
        }
    }
}

static void gives_the_same_of_compressed_files(void **state)
{
    const char *letters = "abcdefghijklmnopqrstuvwxyzABCD";

    (void)state;
    for (size_t p = 1; p < PACKINGS; p++) {
        if (!t_can(packings[p])) continue;
        for (int64_t size = 0; size <= 30; size += size < 12 ? 1 : 6) {
            write_packed("f", packings[p], letters, (size_t)size);
            for (int64_t i = 0; i < 4 * 3 * 3 * 6; i += 1 + (int64_t)p * 2) {
                expect_file(reader(1 + i % 4, i / 4 % 3 * 2, i / 12 % 3, i / 36), packings[p],
                            (const uint8_t *)letters, size);
            }
        }
    }
}

/* -- files as TensorFlow's tests have them */

static void write_two(const char *packing)
{
    for (int f = 0; f < 2; f++) {
        char    text[32];
        t_bytes file = { 0 };

        t_add(&file, "HHHHH", 5);
        for (int r = 0; r < 7; r++) {
            (void)snprintf(text, sizeof text, "%d:%d", f, r);
            t_add(&file, text, 3);
        }
        t_add(&file, "FF", 2);
        write_packed(f ? "b" : "a", packing, file.at, file.size);
        t_clear(&file);
    }
}

static void reads_two_files_of_seven_records(void **state)
{
    (void)state;
    for (size_t p = 0; p < PACKINGS; p++) {
        t_reader t = reader(3, 5, 2, 0);

        if (!t_can(packings[p])) continue;
        write_two(packings[p]);
        t.paths[0] = t_path("a");
        t.paths[1] = t_path("b");
        t_expect(&t,
                 "0:0@5 0:1@8 0:2@11 0:3@14 0:4@17 0:5@20 0:6@23 "
                 "1:0@5 1:1@8 1:2@11 1:3@14 1:4@17 1:5@20 1:6@23 ",
                 LEVADA_END);
    }
}

static void expect_error(t_reader t, levada_status code, const char *message, int64_t record,
                         int64_t offset)
{
    t_bytes rows = { 0 };

    assert_int_equal(t_open(&t), LEVADA_OK);
    assert_int_equal(t_drain(&t, &rows), code);
    assert_string_equal(t.err.message, message);
    assert_non_null(strstr(t.err.file, "/a"));
    assert_int_equal(t.err.record, record);
    assert_int_equal(t.err.offset, offset);
    t_clear(&rows);
    t_close(&t);
}

static void names_both_sizes_where_a_record_is_cut(void **state)
{
    const char *text = "21 bytes between header_bytes=5 and footer_bytes=2: the remainder of 1 is "
                       "less than record_bytes=4";

    (void)state;
    for (size_t p = 0; p < PACKINGS; p++) {
        levada_status code = packings[p] ? LEVADA_EDATA_LOSS : LEVADA_EINVALID_ARGUMENT;
        t_reader      t = reader(4, 5, 2, 0);

        if (!t_can(packings[p])) continue;
        write_two(packings[p]);
        t.paths[0] = t_path("a");
        t.paths[1] = t_path("b");
        t_expect(&t, packings[p] ? "0:00@5 :10:@9 20:3@13 0:40@17 :50:@21 " : "", code);
        expect_error(t, code, text, 5, 25);
    }
}

static void names_the_sizes_of_a_file_that_is_too_short(void **state)
{
    (void)state;
    for (size_t p = 0; p < PACKINGS; p++) {
        levada_status code = packings[p] ? LEVADA_EDATA_LOSS : LEVADA_EINVALID_ARGUMENT;
        t_reader      t = reader(1, 5, 2, 0);

        if (!t_can(packings[p])) continue;
        t.paths[0] = t_path("a");
        write_packed("a", packings[p], "123456", 6);
        expect_error(
            t, code, "a file of 6 bytes is too short for header_bytes=5 and footer_bytes=2", 0,
            packings[p] ? 4 : 0);
        write_packed("a", packings[p], "", 0);
        expect_error(
            t, code, "a file of 0 bytes is too short for header_bytes=5 and footer_bytes=2", 0, 0);
        t.drop_partial = true;
        t_expect(&t, "", LEVADA_END);
        t = reader(1, 0, 0, 0);
        t.paths[0] = t_path("a");
        t_expect(&t, "", LEVADA_END);
    }
}

/* -- windows */

static uint8_t *noise(int64_t size)
{
    uint8_t *data = malloc((size_t)size + 1);
    uint32_t x = 1;

    assert_non_null(data);
    for (int64_t i = 0; i < size; i++) {
        x = x * 1664525u + 1013904223u;
        data[i] = (uint8_t)(x >> 24);
    }
    return data;
}

/* Record, header, footer and hop of which each may be larger than a window, or end where it does.
 */
static void reads_across_windows(void **state)
{
    const int64_t cases[][4] = {
        { 1000, 5, 3, 0 },
        { 7, LEVADA_CHUNK - 64, 1, 0 },
        { 7, LEVADA_CHUNK + 1, LEVADA_CHUNK, 11 },
        { 7, 0, 700000, 5 },
        { 4096, 100, LEVADA_CHUNK - 64, 3000 },
        { LEVADA_CHUNK - 64, 0, 0, 0 },
        { LEVADA_CHUNK - 63, 0, 1, 0 },
        { LEVADA_CHUNK, 1, 0, 0 },
        { LEVADA_CHUNK + 1, 0, 0, LEVADA_CHUNK / 2 },
        { 300000, 300000, 300000, 0 },
        { 300000, 1, 2, 300001 },
        { 700000, 9, 9, 100000 },
        { 1, 0, 0, 270000 },
        { 1000, 3, 5, 700000 },
        { 300000, 3, 5, 700000 },
        { 2000000, 0, 0, 0 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const int64_t *c = cases[i], hop = c[3] ? c[3] : c[0];
        int64_t        n = (1800000 - c[1] - c[2] - c[0]) / hop;
        int64_t        size = c[1] + c[0] + (n > 1 ? n : 1) * hop + c[2];
        uint8_t       *data = noise(size + 1);

        for (size_t p = 0; p < (t_can("gzip") ? 2 : 1); p++) {
            for (int64_t more = -1; more <= 1; more++) {
                t_reader t = reader(c[0], c[1], c[2], c[3]);

                write_packed("f", packings[p], data, (size_t)(size + more));
                t.compression = packings[p] ? packings[p] : "none";
                expect_file(t, packings[p], data, size + more);
            }
        }
        free(data);
    }
}

static void refuses_more_than_a_record_may_have(void **state)
{
    t_reader t = reader(300000, 0, 200000, 0);

    (void)state;
    t_write_file(t_path("f"), "", 0);
    t.drop_partial = true;
    t.max_record_bytes = 499999;
    assert_int_equal(t_open(&t), LEVADA_ERESOURCE_EXHAUSTED);
    assert_non_null(strstr(t.err.message, "record_bytes=300000"));
    t_close(&t);
    t.max_record_bytes = 500000;
    t_expect(&t, "", LEVADA_END);
    t.record_bytes = LEVADA_CHUNK - 200000;
    t.max_record_bytes = 1; /* a chunk passes always */
    t_expect(&t, "", LEVADA_END);
    t.record_bytes++;
    assert_int_equal(t_open(&t), LEVADA_ERESOURCE_EXHAUSTED);
    t_close(&t);
}

/* -- positions */

static void sweep(const char *options, const char *rest)
{
    char text[1024];

    (void)snprintf(text, sizeof text, "fixed_length:[\"%s\",\"%s\"],%s%s", t_path("a"), t_path("b"),
                   options, rest);
    t_iter_sweep(text, false, 1);
}

static void goes_on_at_every_record(void **state)
{
    (void)state;
    for (size_t p = 0; p < PACKINGS; p++) {
        if (!t_can(packings[p])) continue;
        write_two(packings[p]);
        sweep("record_bytes=3,header_bytes=5,footer_bytes=2", "");
        sweep("record_bytes=3,header_bytes=5,footer_bytes=2,hop_bytes=1", "");
        sweep("record_bytes=3,header_bytes=5,footer_bytes=2,hop_bytes=6", "");
        sweep("record_bytes=4,header_bytes=5,footer_bytes=2,drop_partial=true", "");
        sweep("record_bytes=1,header_bytes=4,footer_bytes=3,hop_bytes=9", "");
    }
}

/* Records that wait are saved as origins and read again. */
static void reads_records_again(void **state)
{
    (void)state;
    for (size_t p = 0; p < PACKINGS; p++) {
        if (!t_can(packings[p])) continue;
        write_two(packings[p]);
        sweep("record_bytes=3,header_bytes=5,footer_bytes=2", " | shuffle:5");
        sweep("record_bytes=3,header_bytes=5,footer_bytes=2,hop_bytes=1", " | shuffle:30");
        sweep("record_bytes=4,header_bytes=5,hop_bytes=7,drop_partial=true", " | shuffle:3");
    }
}

static void goes_on_across_windows(void **state)
{
    const char *options[] = {
        "record_bytes=100000,header_bytes=7,footer_bytes=300000",
        "record_bytes=300000,header_bytes=300000,hop_bytes=120000,drop_partial=true",
        "record_bytes=10,header_bytes=1,hop_bytes=290000",
    };
    uint8_t *data = noise(1300007);

    (void)state;
    for (size_t p = 0; p < (t_can("gzip") ? 2 : 1); p++) {
        write_packed("a", packings[p], data, 1300007);
        write_packed("b", packings[p], data + 500000, 700007);
        for (size_t i = 0; i < 3; i++) {
            sweep(options[i], "");
            sweep(options[i], " | shuffle:4");
        }
    }
    free(data);
}

/* -- damage */

static void skips_what_is_cut_off(void **state)
{
    (void)state;
    for (size_t p = 0; p < PACKINGS; p++) {
        t_reader                  t = reader(4, 1, 1, 0);
        levada_file_reader_counts counts;
        t_bytes                   rows = { 0 };

        if (!t_can(packings[p])) continue;
        write_packed("a", packings[p], "Hone.two.th|", 12);
        write_packed("e", packings[p], "", 0);
        write_packed("s", packings[p], "H", 1);
        write_packed("b", packings[p], "Hfourfive|", 10);
        t.paths[0] = t_path("a");
        t.paths[1] = t_path("e");
        t.paths[2] = t_path("s");
        t.paths[3] = t_path("b");
        t.errors = "skip";
        assert_int_equal(t_open(&t), LEVADA_OK);
        assert_int_equal(t_drain(&t, &rows), LEVADA_END);
        assert_string_equal((char *)rows.at, "one.@1 two.@5 four@1 five@5 ");
        counts = levada_file_reader_counted(t.reader);
        assert_int_equal(counts.skipped_records, 3);
        assert_int_equal(counts.records, 4);
        assert_int_equal(counts.damaged_bytes, 3 + 0 + 1);
        t_close(&t);
        t_clear(&rows);
        t.errors = "skip:2";
        t_expect(&t, "one.@1 two.@5 ", LEVADA_EDATA_LOSS);
    }
}

static void skips_large_records_that_are_cut_off(void **state)
{
    uint8_t *data = noise(1000000);

    (void)state;
    for (size_t p = 0; p < (t_can("gzip") ? 2 : 1); p++) {
        t_reader t = reader(600000, 0, 0, 0);
        t_bytes  rows = { 0 };

        write_packed("f", packings[p], data, 1000000);
        t.compression = packings[p] ? packings[p] : "none";
        t.errors = "skip";
        t.paths[1] = t.paths[0];
        assert_int_equal(t_open(&t), LEVADA_OK);
        assert_int_equal(t_drain(&t, &rows), LEVADA_END);
        assert_int_equal(rows.size, 2 * (600000 + strlen("@0 ")));
        assert_int_equal(levada_file_reader_counted(t.reader).skipped_records, 2);
        if (p > 0) { /* a plain one is not read on */
            assert_int_equal(levada_file_reader_counted(t.reader).damaged_bytes, 2 * 400000);
        }
        t_close(&t);
        t_clear(&rows);
    }
    free(data);
}

/* A stream that is cut has given the records that it holds for sure: none of them is its footer. */
static void gives_no_footer_of_a_truncated_stream(void **state)
{
    const char *text = "Haabbccddeeffgghh||";
    t_bytes     packed;

    (void)state;
    if (!t_can("gzip")) skip();
    packed = t_encode("gzip", text, strlen(text), 10);
    for (size_t cut = packed.size - 1; cut > 3; cut--) {
        t_reader t = reader(2, 1, 2, 0);
        t_bytes  rows = { 0 };

        t_write_file(t_path("f"), packed.at, cut);
        t.compression = "gzip";
        assert_int_equal(t_open(&t), LEVADA_OK);
        assert_int_equal(t_drain(&t, &rows), LEVADA_EDATA_LOSS);
        assert_true(rows.size <= strlen("aa@1 bb@3 cc@5 dd@7 ee@9 ff@11 gg@13 hh@15 "));
        assert_memory_equal("aa@1 bb@3 cc@5 dd@7 ee@9 ff@11 gg@13 hh@15 ", rows.at, rows.size);
        t_close(&t);
        t_clear(&rows);
    }
    t_clear(&packed);
}

static void refuses_wrong_options(void **state)
{
    const char *wrong[] = { "", ",record_bytes=0", ",record_bytes=3,header_bytes=-1",
                            ",record_bytes=3,footer_bytes=-1", ",record_bytes=3,hop_bytes=-1" };
    char        text[512];

    (void)state;
    t_write_file(t_path("f"), "abc", 3);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        (void)snprintf(text, sizeof text, "fixed_length:%s%s", t_path("f"), wrong[i]);
        t_iter_refused(text, LEVADA_EINVALID_ARGUMENT, "_bytes");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gives_what_the_rules_say),
        cmocka_unit_test(gives_the_same_of_compressed_files),
        cmocka_unit_test(reads_two_files_of_seven_records),
        cmocka_unit_test(names_both_sizes_where_a_record_is_cut),
        cmocka_unit_test(names_the_sizes_of_a_file_that_is_too_short),
        cmocka_unit_test(reads_across_windows),
        cmocka_unit_test(refuses_more_than_a_record_may_have),
        cmocka_unit_test(goes_on_at_every_record),
        cmocka_unit_test(reads_records_again),
        cmocka_unit_test(goes_on_across_windows),
        cmocka_unit_test(skips_what_is_cut_off),
        cmocka_unit_test(skips_large_records_that_are_cut_off),
        cmocka_unit_test(gives_no_footer_of_a_truncated_stream),
        cmocka_unit_test(refuses_wrong_options),
    };

    return cmocka_run_group_tests(tests, t_folder_set_up, t_folder_tear_down);
}
