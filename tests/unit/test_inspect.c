/* SPDX-License-Identifier: Apache-2.0 */
#include "support/files.h"

#include <levada/dataset.h>
#include <levada/example.h>
#include <levada/inspect.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* "abc", "", "xyz1", "q": records at 0, 19, 35 and 55; 72 bytes. */
static t_bytes four(void)
{
    t_bytes bytes = {0};

    t_add_record(&bytes, "abc", 3);
    t_add_record(&bytes, "", 0);
    t_add_record(&bytes, "xyz1", 4);
    t_add_record(&bytes, "q", 1);
    return bytes;
}

static void note(void *user, const levada_damage *damage)
{
    char line[200];
    int  n = snprintf(line, sizeof line, "%d@%d>%d:%.16s ", (int)damage->record,
                      (int)damage->offset, (int)damage->next, damage->text);

    t_add(user, line, (size_t)n);
}

static levada_verify_result verify(const char *path, const char *repair, const char *notes)
{
    levada_verify_options options = LEVADA_VERIFY_OPTIONS_INIT;
    levada_verify_result  result = LEVADA_VERIFY_RESULT_INIT;
    t_bytes               told = {0};

    t_add(&told, NULL, 0);
    options.repair = repair;
    options.damage = note;
    options.user = &told;
    assert_int_equal(levada_inspect_verify(NULL, path, &options, &result, NULL), LEVADA_OK);
    assert_string_equal((char *)told.at, notes);
    t_clear(&told);
    return result;
}

static void finds_good_files_good(void **state)
{
    t_bytes              bytes = four(), packed;
    levada_verify_result r;

    (void)state;
    t_write_file(t_path("f"), bytes.at, bytes.size);
    r = verify(t_path("f"), NULL, "");
    assert_true(r.good == 4 && r.bad == 0 && r.damaged_bytes == 0);
    assert_true(r.size == 72 && r.raw_size == 72);
    assert_string_equal(r.format, "tfrecord");
    assert_string_equal(r.compression, "");
    if (t_can("gzip")) {
        packed = t_encode("gzip", bytes.at, bytes.size, 0);
        t_write_file(t_path("f"), packed.at, packed.size);
        r = verify(t_path("f"), NULL, "");
        assert_true(r.good == 4 && r.size == (int64_t)packed.size && r.raw_size == 72);
        assert_string_equal(r.compression, "gzip");
        t_clear(&packed);
    }
    t_write_file(t_path("f"), "one\ntwo\n", 8);
    r = verify(t_path("f"), NULL, "");
    assert_true(r.good == 2 && r.bad == 0);
    assert_string_equal(r.format, "text_lines");
    t_clear(&bytes);
}

static void tells_every_damage_and_what_follows(void **state)
{
    t_bytes              bytes = four();
    levada_verify_result r;

    (void)state;
    bytes.at[13] ^= 1;
    t_write_file(t_path("f"), bytes.at, bytes.size);
    r = verify(t_path("f"), NULL, "0@0>19:payload checksum ");
    assert_true(r.good == 3 && r.bad == 1 && r.damaged_bytes == 19);
    bytes.at[35] ^= 1;
    bytes.at[71] ^= 1;
    t_write_file(t_path("f"), bytes.at, bytes.size);
    r = verify(t_path("f"), NULL,
               "0@0>19:payload checksum 2@35>55:length checksum  3@55>-1:payload checksum ");
    assert_true(r.good == 1 && r.bad == 3 && r.damaged_bytes == 19 + 20 + 17);
    bytes.at[0] ^= 1; /* the very first bytes are no TFRecord */
    t_write_file(t_path("f"), bytes.at, bytes.size - 3);
    r = verify(t_path("f"), NULL,
               "0@0>19:length checksum  2@35>55:length checksum  3@55>-1:truncated record ");
    assert_true(r.good == 1 && r.bad == 3);
    t_clear(&bytes);
}

static void watch(void *user, int64_t records, int64_t bytes)
{
    int64_t *last = user;

    assert_true(records >= last[0] && bytes >= last[1] && last[2] >= 0);
    last[0] = records;
    last[1] = bytes;
    last[2]++;
}

static void reports_progress_up_to_the_end(void **state)
{
    levada_verify_options options = LEVADA_VERIFY_OPTIONS_INIT;
    levada_verify_result  result = LEVADA_VERIFY_RESULT_INIT;
    t_bytes               bytes = {0};
    int64_t               read[3] = {0}, looked[3] = {0};
    char                 *info = NULL;

    (void)state;
    for (int i = 0; i < 5000; i++) t_add_record(&bytes, "abc", 3);
    t_write_file(t_path("f"), bytes.at, bytes.size);
    options.progress = watch;
    options.user = read;
    assert_int_equal(levada_inspect_verify(NULL, t_path("f"), &options, &result, NULL), LEVADA_OK);
    options.user = looked;
    assert_int_equal(levada_inspect_info(NULL, t_path("f"), &options, &info, NULL), LEVADA_OK);
    for (int i = 0; i < 3; i++) assert_int_equal(read[i], looked[i]);
    assert_true(read[0] == 5000 && read[1] == (int64_t)bytes.size && read[2] > 1);
    levada_string_free(&info);
    t_clear(&bytes);
}

static void repairs_into_another_file_or_the_same(void **state)
{
    const char *filters[] = {NULL, "gzip", "zlib", "zstd"};

    (void)state;
    for (size_t i = 0; i < 4 && t_can(filters[i]); i++) {
        t_bytes              bytes = four(), packed;
        t_reader             t = {.format = "tfrecord", .paths = {t_path("mended")}};
        levada_verify_result r;

        bytes.at[49] ^= 1;
        packed = filters[i] ? t_encode(filters[i], bytes.at, bytes.size, 0) : bytes;
        t_write_file(t_path("f"), packed.at, packed.size);
        r = verify(t_path("f"), t_path("mended"), "2@35>55:payload checksum ");
        assert_true(r.good == 3 && r.bad == 1);
        t_expect(&t, "abc@0 @19 q@35 ", LEVADA_END);
        r = verify(t_path("mended"), NULL, "");
        assert_string_equal(r.compression, filters[i] ? filters[i] : "");
        if (filters[i]) t_clear(&packed);
        t_clear(&bytes);
    }
}

/* A guess is reported, and no repair is promised on one, nor for what the writer does not write. */
static void says_so_when_no_format_fits(void **state)
{
    levada_verify_options options = LEVADA_VERIFY_OPTIONS_INIT;
    levada_file_kind      kind = LEVADA_FILE_KIND_INIT;
    levada_verify_result  r;
    char                 *info = NULL;
    t_bytes              bytes = four();

    (void)state;
    t_write_file(t_path("f"), "\0\1\2\3", 4);
    r = verify(t_path("f"), NULL, "0@0>-1:truncated header ");
    assert_true(r.guessed && !r.repairable && r.bad == 1);
    assert_int_equal(levada_inspect_kind(NULL, t_path("f"), NULL, &kind, NULL), LEVADA_OK);
    assert_true(kind.guessed);
    assert_int_equal(levada_inspect_info(NULL, t_path("f"), NULL, &info, NULL), LEVADA_OK);
    assert_non_null(strstr(info, "\"guessed\":true"));
    levada_string_free(&info);
    options.source = "tfrecord";
    assert_int_equal(levada_inspect_info(NULL, t_path("f"), &options, &info, NULL), LEVADA_OK);
    assert_null(strstr(info, "guessed"));
    levada_string_free(&info);
    t_write_file(t_path("empty"), "", 0);
    r = verify(t_path("empty"), NULL, "");
    assert_true(!r.guessed && r.good == 0 && r.bad == 0);
    t_write_file(t_path("f"), "one\n", 4);
    r = verify(t_path("f"), NULL, "");
    assert_true(!r.guessed && !r.repairable);
    t_write_file(t_path("f"), bytes.at, bytes.size);
    r = verify(t_path("f"), NULL, "");
    assert_true(!r.guessed && r.repairable);
    t_clear(&bytes);
}

/* Files that begin like compressed ones and are none. */
static void options_of_the_source_name_the_compression(void **state)
{
    static const char     text[] = "\x1f\x8b\x08\0one\ntwo\n";
    levada_verify_options options = LEVADA_VERIFY_OPTIONS_INIT;
    levada_verify_result  result = LEVADA_VERIFY_RESULT_INIT;
    char                 *info = NULL;

    (void)state;
    t_write_file(t_path("f"), text, sizeof text - 1);
    options.source = "text_lines:compression=none,dtype=string";
    assert_int_equal(levada_inspect_verify(NULL, t_path("f"), &options, &result, NULL), LEVADA_OK);
    assert_true(result.good == 2 && result.bad == 0);
    assert_string_equal(result.compression, "");
    assert_int_equal(levada_inspect_info(NULL, t_path("f"), &options, &info, NULL), LEVADA_OK);
    assert_non_null(strstr(info, "\"records\":2,"));
    levada_string_free(&info);
}

static void refuses_what_it_cannot_repair(void **state)
{
    levada_verify_options options = LEVADA_VERIFY_OPTIONS_INIT;
    levada_verify_result  result = LEVADA_VERIFY_RESULT_INIT;

    (void)state;
    t_write_file(t_path("text"), "one\ntwo\n", 8);
    options.repair = t_path("out");
    assert_int_equal(levada_inspect_verify(NULL, t_path("text"), &options, &result, NULL),
                     LEVADA_EINVALID_ARGUMENT);
    assert_int_equal(levada_inspect_verify(NULL, t_path("none"), NULL, &result, NULL),
                     LEVADA_ENOT_FOUND);
}

/* The only copy of the good records stays as it is. */
static void refuses_to_repair_its_input(void **state)
{
    levada_verify_options options = LEVADA_VERIFY_OPTIONS_INIT;
    levada_verify_result  result = LEVADA_VERIFY_RESULT_INIT;
    levada_error          err = LEVADA_ERROR_INIT;
    t_bytes               bytes = {0}, after;

    (void)state;
    t_add_record(&bytes, "abc", 3);
    bytes.at[13] ^= 1;
    t_write_file(t_path("in"), bytes.at, bytes.size);
    assert_int_equal(symlink(t_path("in"), t_path("symbolic")), 0);
    assert_int_equal(link(t_path("in"), t_path("hard")), 0);
    for (int i = 0; i < 3; i++) {
        options.repair = t_path(i == 0 ? "in" : i == 1 ? "symbolic" : "hard");
        assert_int_equal(levada_inspect_verify(NULL, t_path("in"), &options, &result, &err),
                         LEVADA_EINVALID_ARGUMENT);
        assert_non_null(strstr(err.message, "must not be the input"));
        after = t_read_file(t_path("in"));
        assert_int_equal(after.size, bytes.size);
        assert_memory_equal(after.at, bytes.at, bytes.size);
        t_clear(&after);
    }
    t_clear(&bytes);
}

/* Records that cannot be read for a moment do not disappear from the repaired file. */
static void repairs_as_many_records_as_were_counted(void **state)
{
    levada_verify_options options = LEVADA_VERIFY_OPTIONS_INIT;
    levada_verify_result  result = LEVADA_VERIFY_RESULT_INIT;
    t_bytes               bytes = {0}, after;

    (void)state;
    t_add_record(&bytes, "abc", 3);
    t_add_record(&bytes, "def", 3);
    t_write_file(t_path("counted"), bytes.at, bytes.size);
    t_write_file(t_path("old"), "old", 3);
    options.repair = t_path("old");
    options.expect_good = 3;
    assert_int_equal(levada_inspect_verify(NULL, t_path("counted"), &options, &result, NULL),
                     LEVADA_EUNAVAILABLE);
    after = t_read_file(t_path("old"));
    assert_int_equal(after.size, 3);
    t_clear(&after);
    options.expect_good = 2;
    assert_int_equal(levada_inspect_verify(NULL, t_path("counted"), &options, &result, NULL),
                     LEVADA_OK);
    after = t_read_file(t_path("old"));
    assert_int_equal(after.size, bytes.size);
    t_clear(&after);
    t_clear(&bytes);
}

/* -- info */

static char *info_of(const char *path)
{
    char *out = NULL;

    assert_int_equal(levada_inspect_info(NULL, path, NULL, &out, NULL), LEVADA_OK);
    return out;
}

static void expect_info(const char *path, const char *const *parts)
{
    char *json = info_of(path);

    for (; *parts; parts++) {
        if (!strstr(json, *parts)) fail_msg("%s is not in %s", *parts, json);
    }
    levada_string_free(&json);
}

static void write_message(t_bytes *file, levada_example *example)
{
    const uint8_t *data;
    size_t         size;

    assert_int_equal(levada_example_finish(example, &data, &size, NULL), LEVADA_OK);
    t_add_record(file, data, size);
    levada_example_reset(example);
}

static void knows_examples(void **state)
{
    static const int64_t numbers[10] = {1, 2, 3};
    static const float   weights[2] = {0.5f, 1.5f};
    const void          *name = "nine";
    const size_t         four_bytes = 4;
    const char          *parts[] = {
        "\"format\":\"tfrecord\",\"compression\":\"\"", "\"records\":11,\"bad_records\":0",
        "\"payload\":\"Example\"",
        "{\"name\":\"tokens\",\"kind\":\"int64\",\"records\":11,\"values\":"
                 "{\"min\":0,\"median\":5,\"p90\":9,\"max\":10,\"mean\":5}}",
        "{\"name\":\"w\",\"kind\":\"float\",\"records\":11,\"values\":{\"min\":2,\"median\":2",
        "{\"name\":\"name\",\"kind\":\"bytes\",\"records\":5", "\"sequences\":[]",
        "\"lengths\":{\"name\":\"tokens\",\"from\":0,\"to\":10,"
        "\"scale\":\"linear\",\"counts\":[1,1,1,1,1,1,1,1,1,1,1]}",
        NULL};
    levada_example *example = NULL;
    t_bytes         file = {0};

    (void)state;
    assert_int_equal(levada_example_create(&example, NULL), LEVADA_OK);
    for (int64_t i = 0; i <= 10; i++) {
        assert_int_equal(levada_example_add_i64(example, "tokens", numbers, i, NULL), LEVADA_OK);
        assert_int_equal(levada_example_add_f32(example, "w", weights, 2, NULL), LEVADA_OK);
        if (i % 2) {
            assert_int_equal(levada_example_add_bytes(example, "name", &name, &four_bytes, 1, NULL),
                             LEVADA_OK);
        }
        write_message(&file, example);
    }
    t_write_file(t_path("f"), file.at, file.size);
    expect_info(t_path("f"), parts);
    levada_example_destroy(&example);
    t_clear(&file);
}

static void knows_sequence_examples(void **state)
{
    static const int64_t one[2] = {7, 8};
    const char          *parts[] = {
        "\"payload\":\"SequenceExample\"", "\"features\":[{\"name\":\"line\",\"kind\":\"int64\"",
        "\"sequences\":[{\"name\":\"tokens\",\"kind\":\"int64\",\"records\":5,\"values\":{\"min\"",
        "\"steps\":{\"min\":0,\"median\":2,\"p90\":4,\"max\":4,\"mean\":2}",
        "\"lengths\":{\"name\":\"tokens\",\"from\":0,\"to\":4", NULL};
    levada_example *example = NULL;
    t_bytes         file = {0};

    (void)state;
    assert_int_equal(levada_example_create(&example, NULL), LEVADA_OK);
    for (int64_t i = 0; i < 5; i++) {
        assert_int_equal(levada_example_add_i64(example, "line", one, 1, NULL), LEVADA_OK);
        assert_int_equal(levada_example_begin_list(example, "tokens", NULL), LEVADA_OK);
        for (int64_t k = 0; k < i; k++) {
            assert_int_equal(levada_example_add_i64(example, NULL, one, 1, NULL), LEVADA_OK);
        }
        assert_int_equal(levada_example_end_list(example, NULL), LEVADA_OK);
        write_message(&file, example);
    }
    t_write_file(t_path("f"), file.at, file.size);
    expect_info(t_path("f"), parts);
    levada_example_destroy(&example);
    t_clear(&file);
}

static void knows_what_it_does_not_know(void **state)
{
    const char *other[] = {"\"payload\":\"other\"", "\"records\":4,\"bad_records\":0",
                           "\"bytes\":{\"min\":0,\"median\":1,\"p90\":4,\"max\":4,\"mean\":2}",
                           "\"features\":[]", NULL};
    const char *text[] = {"\"format\":\"text_lines\"", "\"payload\":\"text\"", "\"records\":2",
                           NULL};
    const char *empty[] = {"\"records\":0", "\"lengths\":null", NULL};
    const char *damaged[] = {"\"records\":3,\"bad_records\":1,\"damaged_bytes\":19", NULL};
    t_bytes     bytes = four();

    (void)state;
    t_write_file(t_path("f"), bytes.at, bytes.size);
    expect_info(t_path("f"), other);
    bytes.at[0] ^= 1;
    t_write_file(t_path("f"), bytes.at, bytes.size);
    expect_info(t_path("f"), damaged);
    t_write_file(t_path("f"), "one\ntwo\n", 8);
    expect_info(t_path("f"), text);
    t_write_file(t_path("f"), "", 0);
    expect_info(t_path("f"), empty);
    t_clear(&bytes);
}

static void names_suggest_formats(void **state)
{
    static const struct {
        const char *path, *format, *compression;
    } names[] = {
        { "a.tfrecord", "tfrecord", NULL },
        { "a.tfrecord.gz", "tfrecord", "gzip" },
        { "a.tfrecord-00003-of-00012.gz", "tfrecord", "gzip" },
        { "a.tfrecord.zz-00003-of-00012", "tfrecord", "zlib" },
        { "b.csv.zst", "csv", "zstd" },
        { "b.jsonl", "jsonl", NULL },
        { ".gz", NULL, NULL },
        { "c.bin", NULL, NULL },
        { "", NULL, NULL },
    };

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *format = "", *compression = "";

        levada_inspect_name(NULL, names[i].path, &format, &compression);
        if (!names[i].format) assert_null(format);
        else assert_string_equal(format, names[i].format);
        if (!names[i].compression) assert_null(compression);
        else assert_string_equal(compression, names[i].compression);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_suggest_formats),
        cmocka_unit_test(finds_good_files_good),
        cmocka_unit_test(tells_every_damage_and_what_follows),
        cmocka_unit_test(reports_progress_up_to_the_end),
        cmocka_unit_test(repairs_into_another_file_or_the_same),
        cmocka_unit_test(says_so_when_no_format_fits),
        cmocka_unit_test(options_of_the_source_name_the_compression),
        cmocka_unit_test(refuses_what_it_cannot_repair),
        cmocka_unit_test(refuses_to_repair_its_input),
        cmocka_unit_test(repairs_as_many_records_as_were_counted),
        cmocka_unit_test(knows_examples),
        cmocka_unit_test(knows_sequence_examples),
        cmocka_unit_test(knows_what_it_does_not_know),
    };

    return cmocka_run_group_tests(tests, t_folder_set_up, t_folder_tear_down);
}
