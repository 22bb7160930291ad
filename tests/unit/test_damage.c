/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What damage costs: every record that is still good arrives, the damage is always reported, a
 * budget in percent counts all of it, and no file makes the reader do more than a constant amount
 * of work for each of its bytes.
 */
#include "files/file_reader_priv.h"
#include "support/codec.h"
#include "support/length.h"

#include <levada/inspect.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define RECORDS 100

static const char *const filters[] = { "gzip", "zlib", "zstd" };

static t_bytes records(int first, int n)
{
    t_bytes file = { 0 };
    char    text[64];

    for (int i = first; i < first + n; i++) {
        int size = snprintf(text, sizeof text, "record %d of many", i);

        t_add_record(&file, text, (size_t)size);
    }
    return file;
}

/* Reads one file. Returns the records; how it ended is in *st, what was skipped in *counts. */
static int64_t count(const char *format, const char *path, const char *errors, levada_status *st,
                     levada_file_reader_counts *counts, char *message)
{
    t_reader      t = { .format = format, .errors = errors, .paths = { path } };
    levada_block *block = NULL;
    int64_t       n = 0;

    assert_int_equal(t_open(&t), LEVADA_OK);
    while ((*st = levada_file_reader_next(t.reader, &block, &t.err)) == LEVADA_OK) {
        n += levada_block_rows(block);
        levada_block_unref(&block);
    }
    if (counts) *counts = levada_file_reader_counted(t.reader);
    if (message) (void)snprintf(message, sizeof t.err.message, "%s", t.err.message);
    t_close(&t);
    return n;
}

static levada_verify_result verified(const char *path)
{
    levada_verify_result result = LEVADA_VERIFY_RESULT_INIT;
    levada_error         err = LEVADA_ERROR_INIT;

    if (levada_inspect_verify(NULL, path, NULL, &result, &err) != LEVADA_OK) {
        fail_msg("%s", err.message);
    }
    return result;
}

/* -- checksums of streams */

static void expect_all_then_damage(const char *path, int64_t n)
{
    levada_file_reader_counts counts;
    levada_status             st;

    assert_int_equal(count("tfrecord", path, NULL, &st, NULL, NULL), n);
    assert_int_equal(st, LEVADA_EDATA_LOSS);
    assert_int_equal(count("tfrecord", path, "skip", &st, &counts, NULL), n);
    assert_int_equal(st, LEVADA_END);
    assert_int_equal(counts.skipped_records, 1);
    assert_int_equal(counts.damaged_bytes, 0);
    assert_int_equal(count("tfrecord", path, "skip:0.1%", &st, NULL, NULL), n);
    assert_int_equal(st, LEVADA_END); /* nothing but the checksum was lost */
    assert_int_equal(verified(path).good, n);
    assert_int_equal(verified(path).bad, 1);
    assert_string_equal(verified(path).format, "tfrecord");
}

static void a_wrong_checksum_of_a_stream_costs_no_record(void **state)
{
    const size_t trailers[] = { 8, 4, 4 };

    (void)state;
    for (int n = 0; n <= RECORDS; n += RECORDS / 2) {
        t_bytes file = records(0, n);

        for (size_t i = 0; i < 3; i++) {
            t_bytes packed;

            if (!t_can(filters[i])) continue;
            packed = t_encode(filters[i], file.at ? file.at : (void *)"", file.size, 0);
            for (size_t k = 1; k <= trailers[i]; k++) {
                packed.at[packed.size - k] ^= (uint8_t)(1u << k % 8);
                t_write_file(t_path("f"), packed.at, packed.size);
                expect_all_then_damage(t_path("f"), n);
                packed.at[packed.size - k] ^= (uint8_t)(1u << k % 8);
            }
            t_clear(&packed);
        }
        t_clear(&file);
    }
}

static void streams_after_one_with_a_wrong_checksum_are_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < 3; i += 2) { /* zlib has one stream */
        t_bytes all = { 0 };

        if (!t_can(filters[i])) continue;
        for (int part = 0; part < 3; part++) {
            t_bytes file = records(10 * part, 10), packed;

            packed = t_encode(filters[i], file.at, file.size, 0);
            if (part == 1) packed.at[packed.size - (i == 0 ? 5 : 1)] ^= 1;
            t_add(&all, packed.at, packed.size);
            t_clear(&packed);
            t_clear(&file);
        }
        t_write_file(t_path("f"), all.at, all.size);
        {
            levada_status st;

            assert_int_equal(count("tfrecord", t_path("f"), NULL, &st, NULL, NULL), 20);
            assert_int_equal(st, LEVADA_EDATA_LOSS);
            assert_int_equal(count("tfrecord", t_path("f"), "skip:0.1%", &st, NULL, NULL), 30);
            assert_int_equal(st, LEVADA_END);
        }
        assert_int_equal(verified(t_path("f")).good, 30);
        assert_int_equal(verified(t_path("f")).bad, 1);
        t_clear(&all);
    }
}

static void lines_before_a_wrong_checksum_arrive_too(void **state)
{
    t_bytes text = t_prose();

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        t_bytes       packed;
        levada_status st;
        int64_t       n;

        if (!t_can(filters[i])) continue;
        packed = t_encode(filters[i], text.at, text.size, 0);
        t_write_file(t_path("good"), packed.at, packed.size);
        n = count("text_lines", t_path("good"), NULL, &st, NULL, NULL);
        packed.at[packed.size - 1] ^= 1;
        t_write_file(t_path("f"), packed.at, packed.size);
        assert_int_equal(count("text_lines", t_path("f"), NULL, &st, NULL, NULL), n);
        assert_int_equal(st, LEVADA_EDATA_LOSS);
        t_clear(&packed);
    }
    t_clear(&text);
}

/* -- budgets in percent */

#define MANY 16000

static levada_status budget(const char *errors, char *message)
{
    levada_status st;

    (void)count("tfrecord", t_path("f"), errors, &st, NULL, message);
    return st;
}

static void a_share_counts_all_that_is_lost(void **state)
{
    t_bytes file = records(0, MANY);
    size_t  half = file.size / 2;
    char    message[288];

    (void)state;
    t_write_file(t_path("f"), file.at, half); /* cut in two: less than one record is known lost */
    assert_int_equal(budget("skip:0.1%", message), LEVADA_END);
    memset(file.at + half, 0, file.size - half);
    t_write_file(t_path("f"), file.at, file.size);
    assert_int_equal(budget("skip:40%", message), LEVADA_EDATA_LOSS);
    assert_non_null(strstr(message, "more records were lost than the error budget allows"));
    assert_int_equal(budget("skip:60%", message), LEVADA_END);
    assert_int_equal(budget("skip:1", message), LEVADA_END);
    t_clear(&file);
    file = records(0, MANY);
    memset(file.at, 0, half); /* before anything is known about records */
    t_write_file(t_path("f"), file.at, file.size);
    assert_int_equal(budget("skip:0.1%", message), LEVADA_EDATA_LOSS);
    assert_int_equal(budget("skip:60%", message), LEVADA_END);
    memset(file.at, 0, file.size);
    t_write_file(t_path("f"), file.at, file.size);
    assert_int_equal(budget("skip:99%", message), LEVADA_EDATA_LOSS);
    t_clear(&file);
    file = records(0, MANY);
    file.at[half - half % 31 + 40] ^= 1;
    t_write_file(t_path("f"), file.at, file.size);
    assert_int_equal(budget("skip:0.1%", message), LEVADA_END);
    t_clear(&file);
}

static void a_share_refuses_a_loss_that_nobody_can_count(void **state)
{
    t_bytes file = records(0, MANY);
    char    message[288];

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        t_bytes packed;

        if (!t_can(filters[i])) continue;
        packed = t_encode(filters[i], file.at, file.size, 0);
        t_write_file(t_path("f"), packed.at, packed.size / 2);
        assert_int_equal(budget("skip:0.1%", message), LEVADA_EDATA_LOSS);
        assert_non_null(strstr(message, "a budget in percent cannot apply"));
        assert_int_equal(budget("skip:1", message), LEVADA_END);
        t_clear(&packed);
    }
    t_clear(&file);
}

/* -- lengths */

static void put_header(t_bytes *bytes, uint64_t length)
{
    uint8_t  head[12];
    uint32_t crc;

    for (int i = 0; i < 8; i++) head[i] = (uint8_t)(length >> 8 * i);
    crc = levada_crc32c_mask(levada_kernels_for(LEVADA_CPU_AUTO)->crc32c(0, head, 8));
    for (int i = 0; i < 4; i++) head[8 + i] = (uint8_t)(crc >> 8 * i);
    t_add(bytes, head, sizeof head);
}

static void an_impossible_length_is_damage_wherever_it_stands(void **state)
{
    const uint64_t lengths[] = { 100000, INT64_C(1) << 26, INT64_C(1) << 29, INT64_C(1) << 31,
                                 INT64_C(1) << 50, UINT64_MAX };

    (void)state;
    for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++) {
        t_bytes file = records(0, 10), more = records(10, 10);

        put_header(&file, lengths[k]);
        t_add(&file, more.at, more.size);
        for (int i = -1; i < 3; i++) {
            bool          plain = i < 0;
            t_bytes       packed = file;
            levada_status st;

            if (!plain && !t_can(filters[i])) continue;
            if (!plain) packed = t_encode(filters[i], file.at, file.size, 0);
            t_write_file(t_path("f"), packed.at, packed.size);
            assert_int_equal(count("tfrecord", t_path("f"), NULL, &st, NULL, NULL), 10);
            assert_int_equal(st, LEVADA_EDATA_LOSS);
            assert_int_equal(count("tfrecord", t_path("f"), "skip", &st, NULL, NULL), 20);
            assert_int_equal(st, LEVADA_END);
            assert_int_equal(verified(t_path("f")).good, 20);
            assert_int_equal(verified(t_path("f")).bad, 1);
            if (!plain) t_clear(&packed);
        }
        t_clear(&more);
        t_clear(&file);
    }
}

static void note(void *user, const levada_damage *damage)
{
    (void)snprintf(user, 288, "%d>%lld: %s", (int)damage->record, (long long)damage->next,
                   damage->text);
}

/* A record of 3 GB, all zeros, in a file with a hole. */
static void verify_continues_after_a_record_beyond_every_limit(void **state)
{
    const int64_t         big = INT64_C(3) << 30;
    t_bytes               head = records(0, 1), tail = records(1, 1);
    levada_verify_options options = LEVADA_VERIFY_OPTIONS_INIT;
    levada_verify_result  result = LEVADA_VERIFY_RESULT_INIT;
    char                  text[288] = "";
    FILE                 *file = fopen(t_path("f"), "wb");
    size_t                first = head.size;
    bool                  written;

    (void)state;
    put_header(&head, (uint64_t)big);
    assert_non_null(file);
    written = fwrite(head.at, 1, head.size, file) == head.size &&
              fseeko(file, big + 4, SEEK_CUR) == 0 &&
              fwrite(tail.at, 1, tail.size, file) == tail.size;
    written = fclose(file) == 0 && written;
    if (written) {
        char next[64];

        options.damage = note;
        options.user = text;
        assert_int_equal(levada_inspect_verify(NULL, t_path("f"), &options, &result, NULL),
                         LEVADA_OK);
        assert_int_equal(result.good, 2);
        assert_int_equal(result.bad, 1);
        (void)snprintf(next, sizeof next, "1>%lld: ", (long long)first + big + 16);
        if (!strstr(text, next) || !strstr(text, "the most that levada reads")) {
            fail_msg("%s", text);
        }
    }
    (void)unlink(t_path("f"));
    t_clear(&head);
    t_clear(&tail);
    if (!written) skip(); /* no space for files with holes */
}

/* -- work */

/* Many good headers whose records overlap, with bad payloads: each byte belongs to thousands. */
static void overlapping_records_are_not_checked_again_and_again(void **state)
{
    const int64_t headers = 300000;
    t_bytes       file = { 0 };

    (void)state;
    for (int64_t i = 0; i < headers; i++) {
        int64_t rest = (headers - i) * 12 - 16;

        put_header(&file, rest > 0 ? (uint64_t)rest : 0);
    }
    for (int i = -1; i < 3; i++) {
        t_reader      t = { .format = "tfrecord", .errors = "skip", .paths = { t_path("f") },
                            .max_record_bytes = INT64_C(256) << 20 };
        levada_block *block = NULL;
        levada_status st;
        t_bytes       packed = file;
        int64_t       size = (int64_t)file.size, moved = 0;

        if (i >= 0 && !t_can(filters[i])) continue;
        if (i >= 0) packed = t_encode(filters[i], file.at, file.size, 0);
        t_write_file(t_path("f"), packed.at, packed.size);
        assert_int_equal(t_open(&t), LEVADA_OK);
        while ((st = levada_file_reader_next(t.reader, &block, &t.err)) == LEVADA_OK) {
            levada_block_unref(&block);
            if (t.reader->frames.window.moved > moved) moved = t.reader->frames.window.moved;
        }
        assert_int_equal(st, LEVADA_END);
        if (t.reader->frames.checked > (INT64_C(64) << 20) + 8 * size) {
            fail_msg("%lld bytes were checked of %lld", (long long)t.reader->frames.checked,
                     (long long)size);
        }
        assert_true(moved <= 8 * size);
        t_close(&t);
        if (i >= 0) t_clear(&packed);
    }
    t_clear(&file);
}

static void a_line_is_not_read_beyond_its_limit(void **state)
{
    const int64_t most = INT64_C(1) << 20, chunk = INT64_C(256) << 10;
    t_reader      t = { .format = "text_lines", .paths = { t_path("f") },
                        .max_record_bytes = most };
    levada_block *block = NULL;
    int64_t       done, total;

    (void)state;
    t_write_file(t_path("f"), "", 0);
    assert_int_equal(truncate(t_path("f"), 16 * most), 0);
    assert_int_equal(t_open(&t), LEVADA_OK);
    assert_int_equal(levada_file_reader_next(t.reader, &block, &t.err),
                     LEVADA_ERESOURCE_EXHAUSTED);
    levada_file_reader_progress(t.reader, &done, &total);
    assert_true(done <= most + chunk);
    t_close(&t);
}

static void many_small_members_cost_what_one_large_one_does(void **state)
{
    const int n = 20000;

    (void)state;
    for (size_t i = 0; i < 3; i += 2) {
        t_bytes              one, all = { 0 };
        levada_bytes_options options = { .compression = "auto" };
        levada_bytes        *bytes = NULL;
        uint8_t              out[256];
        int64_t              made = 1, sum = 0;

        if (!t_can(filters[i])) continue;
        one = t_encode(filters[i], "x", 1, 0);
        for (int k = 0; k < n; k++) t_add(&all, one.at, one.size);
        t_write_file(t_path("f"), all.at, all.size);
        assert_int_equal(levada_bytes_open(NULL, t_path("f"), &options, &bytes, NULL), LEVADA_OK);
        while (made > 0) {
            assert_int_equal(levada_bytes_read(bytes, out, sizeof out, &made, NULL), LEVADA_OK);
            sum += made;
        }
        assert_int_equal(sum, n);
        assert_true(levada_bytes_moved(bytes) <= (int64_t)all.size);
        levada_bytes_close(&bytes);
        t_clear(&one);
        t_clear(&all);
    }
}

/* -- trials: whatever the damage, reading, verify and info agree */

static uint32_t draw(uint32_t *seed, uint32_t below)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (uint32_t)((uint64_t)*seed * below >> 32);
}

static void hurt(t_bytes *file, uint32_t *seed)
{
    static const uint8_t fills[] = { 0, 0xff, ' ', 'x' };
    uint32_t             size = (uint32_t)file->size, at = draw(seed, size);
    uint32_t             n = 1 + draw(seed, draw(seed, 2) ? 40 : 6000);

    if (n > size - at) n = size - at;
    switch (draw(seed, 6)) {
    case 0: file->at[at] ^= (uint8_t)(1u << draw(seed, 8)); break;
    case 1: memset(file->at + at, fills[draw(seed, 4)], n); break;
    case 2: file->size = at > 0 ? at : 1; break;
    case 3:
        memmove(file->at + at, file->at + at + n, size - at - n);
        file->size = size - n > 0 ? size - n : 1;
        break;
    case 4: memset(file->at, fills[draw(seed, 4)], n < size ? n : size); break;
    default: file->at[size - 1 - draw(seed, size < 9 ? size : 9)] ^= 1; break;
    }
}

static int64_t info_number(const char *json, const char *key)
{
    const char *at = strstr(json, key);

    assert_non_null(at);
    return strtoll(at + strlen(key), NULL, 10);
}

static void agree(const char *path, uint32_t trial)
{
    levada_file_reader_counts counts;
    levada_status             st, strict;
    int64_t                   good = count("tfrecord", path, "skip", &st, &counts, NULL);
    levada_verify_result      v = verified(path);
    char                     *info = NULL;

    assert_int_equal(st, LEVADA_END);
    (void)count("tfrecord", path, NULL, &strict, NULL, NULL);
    assert_int_equal(levada_inspect_info(NULL, path, NULL, &info, NULL), LEVADA_OK);
    if (v.good != good || v.bad != counts.skipped_records || strcmp(v.format, "tfrecord") != 0 ||
        info_number(info, "\"records\":") != good ||
        info_number(info, "\"bad_records\":") != v.bad || (strict == LEVADA_END) != (v.bad == 0)) {
        fail_msg("trial %u: read %lld (%lld bad), verify %lld (%lld bad) as %s, info %s", trial,
                 (long long)good, (long long)counts.skipped_records, (long long)v.good,
                 (long long)v.bad, v.format, info);
    }
    levada_string_free(&info);
}

/* Damage that looks like text, in files whose names say what they are or do not. */
static void a_name_or_a_source_decides_before_the_content(void **state)
{
    t_bytes               file = records(0, 50);
    levada_verify_options options = LEVADA_VERIFY_OPTIONS_INIT;
    levada_verify_result  r = LEVADA_VERIFY_RESULT_INIT;
    levada_file_kind      kind = LEVADA_FILE_KIND_INIT;

    (void)state;
    memset(file.at, 'x', 200);
    t_write_file(t_path("f.tfrecord"), file.at, file.size);
    agree(t_path("f.tfrecord"), 0);
    t_write_file(t_path("f"), file.at, file.size); /* a record is found further on */
    agree(t_path("f"), 0);
    memset(file.at, 0xff, file.size);
    t_write_file(t_path("f.tfrecord"), file.at, file.size);
    agree(t_path("f.tfrecord"), 0);
    assert_string_equal(verified(t_path("f.tfrecord")).content, "text_lines");
    t_write_file(t_path("f"), file.at, file.size);
    assert_string_equal(verified(t_path("f")).format, "text_lines");
    options.source = "tfrecord";
    assert_int_equal(levada_inspect_verify(NULL, t_path("f"), &options, &r, NULL), LEVADA_OK);
    assert_string_equal(r.format, "tfrecord");
    assert_string_equal(r.content, "text_lines");
    assert_int_equal(r.bad, 1);
    t_clear(&file);
    file = records(0, 3);
    t_write_file(t_path("f.txt"), file.at, file.size);
    assert_int_equal(levada_inspect_kind(NULL, t_path("f.txt"), NULL, &kind, NULL), LEVADA_OK);
    assert_string_equal(kind.source, "tfrecord"); /* by its checksums */
    assert_string_equal(kind.content, "tfrecord");
    assert_int_equal(levada_inspect_kind(NULL, t_path("f.txt"), "range", &kind, NULL),
                     LEVADA_EINVALID_ARGUMENT);
    t_clear(&file);
}

static void reading_verify_and_info_agree_on_any_damage(void **state)
{
    static const char *const names[] = { "f.tfrecord", "f.tfrecord.gz", "f.tfrecord.zz",
                                         "f.tfrecord.zst" };
    int                      n = 400 * (int)t_length();

    (void)state;
    for (int trial = 0; trial < n; trial++) {
        uint32_t seed = (uint32_t)trial * 2654435761u + 1;
        int      kind = trial % 4 > 0 && !t_can(filters[trial % 4 - 1]) ? 0 : trial % 4;
        t_bytes  file = records(0, (int)(1 + draw(&seed, 300))), packed = file;

        if (kind > 0) {
            packed = t_encode(filters[kind - 1], file.at, file.size, 0);
            t_clear(&file);
        }
        for (uint32_t k = draw(&seed, 3); k < 3; k++) hurt(&packed, &seed);
        t_write_file(t_path(names[kind]), packed.at, packed.size);
        agree(t_path(names[kind]), (uint32_t)trial);
        t_clear(&packed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wrong_checksum_of_a_stream_costs_no_record),
        cmocka_unit_test(streams_after_one_with_a_wrong_checksum_are_read),
        cmocka_unit_test(lines_before_a_wrong_checksum_arrive_too),
        cmocka_unit_test(a_share_counts_all_that_is_lost),
        cmocka_unit_test(a_share_refuses_a_loss_that_nobody_can_count),
        cmocka_unit_test(an_impossible_length_is_damage_wherever_it_stands),
        cmocka_unit_test(verify_continues_after_a_record_beyond_every_limit),
        cmocka_unit_test(overlapping_records_are_not_checked_again_and_again),
        cmocka_unit_test(a_line_is_not_read_beyond_its_limit),
        cmocka_unit_test(many_small_members_cost_what_one_large_one_does),
        cmocka_unit_test(a_name_or_a_source_decides_before_the_content),
        cmocka_unit_test(reading_verify_and_info_agree_on_any_damage),
    };

    return cmocka_run_group_tests(tests, t_folder_set_up, t_folder_tear_down);
}
