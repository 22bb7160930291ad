/* SPDX-License-Identifier: Apache-2.0 */
/* Records that wait after a zip are saved as the origins of their parts and read again; after a
 * concat or mix as the origins of the inputs that returned them. */
#include "run/iter.h"
#include "support/functions.h"
#include "support/iters.h"
#include "tensor/block_priv.h"

#include <levada/example.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define SPEC "{x:{kind:VarLen,dtype:int64},n:{kind:FixedLen,shape:[],dtype:int64}},field=record"

static bool holds(t_bytes state, const char *text)
{
    return memmem(state.at, state.size, text, strlen(text)) != NULL;
}

static t_bytes saved_behind(const char *text, int64_t blocks, int32_t block_rows)
{
    levada_iter *it = t_iter_open(text, 1, block_rows);
    t_bytes      head = { 0 }, saved;

    (void)t_iter_read(it, blocks, false, &head);
    saved = t_iter_save(it);
    t_clear(&head);
    levada_iter_close(&it);
    return saved;
}

/* At every cut, with threads and block sizes; whether a state holds no record by value. */
static void expect_resumes(const char *text, bool by_origin, int64_t step)
{
    t_bytes      saved = saved_behind(text, 1, 4);
    levada_iter *it = t_iter_open(text, 1, 4);
    bool         batches = levada_spec_flags_of(it->root->edge.spec) & LEVADA_SPEC_BATCHED;

    levada_iter_close(&it);
    if (holds(saved, ".0.values") == by_origin) fail_msg("%s: %d", text, (int)by_origin);
    t_clear(&saved);
    t_iter_sweep(text, batches, step);
}

#define PART(n, name) "range:" #n " | rename:{value:" #name "}"

static void records_of_all_kinds_of_parts(void **state)
{
    (void)state;
    expect_resumes("zip(range:60; t_rows:50) | shuffle:15", true, 3);
    expect_resumes("zip(range:60 | filter:\"value > 5\" | cast:value,dtype=float32;"
                   " t_rows:50 | shuffle:6) | shuffle:15 | batch:4",
                   true, 1);
    expect_resumes("zip(range:20 | repeat:3; t_rows:13 | repeat) | shuffle:11 | repeat:2", true, 7);
    expect_resumes("zip(range:40 | skip:3 | shard:1,count=2; t_rows:40 | prefetch:2 | take:30)"
                   " | prefetch:2 | shuffle:9 | filter:\"value > 9\" | shuffle:5",
                   true, 2);
    expect_resumes("zip(range:31 | batch:4; t_rows:31 | batch:4) | unbatch | shuffle:7", false, 2);
}

static void zips_in_zips(void **state)
{
    (void)state;
    expect_resumes("zip(zip(" PART(40, a) "; t_rows:40) | shuffle:5; " PART(40, b) ")"
                   " | shuffle:9 | prefetch:2 | shuffle:4 | batch:3",
                   true, 1);
    expect_resumes("zip(" PART(30, a) "; zip(" PART(30, b) "; " PART(30, c) "); " PART(30, d) ")"
                   " | shuffle:9",
                   true, 2);
    expect_resumes("range:6 | interleave:(zip(" PART(9, a) "; " PART(7, b) " | shuffle:3)"
                   " | shuffle:4),cycle_length=2",
                   true, 2);
}

/* More parts than a record has names, and parts that cannot be read again: as they are. */
static void what_can_t_be_read_again_goes_by_value(void **state)
{
    (void)state;
    expect_resumes("zip(" PART(30, a) "; " PART(30, b) "; " PART(30, c) "; " PART(30, d) "; "
                   PART(30, e) ") | shuffle:9",
                   false, 3);
    expect_resumes("zip(range:30; t_stream:30) | shuffle:9", false, 3);
    expect_resumes("zip(t_stream:30; range:30) | shuffle:9", false, 3);
    expect_resumes("zip(range:30; concat(t_rows:9; t_stream:30)) | shuffle:9", false, 3);
    expect_resumes("zip(range:30; t_rows:30 | select:[x] | unbatch) | shuffle:9", false, 3);
}

/* Each record is of one of the inputs, whose records have the same numbers. */
static void records_that_are_passed_on(void **state)
{
    (void)state;
    expect_resumes("concat(range:40; range:30,start=100) | shuffle:15", true, 3);
    expect_resumes("concat(t_rows:20 | shuffle:4; t_rows:30 | prefetch:2; t_rows:9 | skip:2)"
                   " | prefetch:2 | shuffle:25 | filter:\"len(x) > 2\" | shuffle:4 | batch:3",
                   true, 1);
    expect_resumes("mix(range:40; range:30,start=100; range:9,start=200):weights=[1,2,1]"
                   " | shuffle:15",
                   true, 3);
    expect_resumes("mix(range:20 | repeat:2; range:30,start=100 | filter:\"value > 110\"):seed=3"
                   " | shuffle:15 | repeat:2",
                   true, 5);
    expect_resumes("concat(mix(range:20; range:9); concat(range:7; range:5)) | shuffle:11", true,
                   2);
    expect_resumes("zip(" PART(40, b) "; concat(" PART(9, x) "; " PART(30, x) ")) | shuffle:9",
                   true, 3);
    expect_resumes("zip(mix(" PART(9, a) "; " PART(30, a) "); t_rows:30) | shuffle:9 | batch:2",
                   true, 1);
}

/* By value: an input of records with several names, or one that cannot be read again. */
static void what_is_passed_on_by_value(void **state)
{
    (void)state;
    expect_resumes("concat(t_rows:20; t_stream:20) | shuffle:9", false, 3);
    expect_resumes("concat(zip(range:20; " PART(20, b) "); zip(range:9; " PART(9, b) "))"
                   " | shuffle:9",
                   false, 3);
}

/* As rows that came out of the state of an older version. */
static void a_record_that_lacks_a_lane_goes_by_value(void **state)
{
    levada_iter        *it = t_iter_open("zip(range:30; " PART(30, b) ") | shuffle:9", 1, 4);
    levada_node        *shuffle = it->root;
    levada_state_writer w = { .scope = { .path = shuffle->path,
                                         .edge = &shuffle->inputs[0]->edge } };
    levada_block       *block = NULL;

    (void)state;
    assert_int_equal(levada_node_origin_parts(shuffle), 2);
    assert_int_equal(levada_iter_next(it, &block, NULL), LEVADA_OK);
    assert_int_equal(levada_records_put(&w, "all", block, NULL), LEVADA_OK);
    assert_int_equal(w.entries[0].type, LEVADA_ENTRY_I64S);
    levada_block_drop_origin_parts(block);
    levada_state_writer_clear(&w);
    w.scope = (levada_state_scope){ .path = shuffle->path, .edge = &shuffle->inputs[0]->edge };
    assert_int_equal(levada_records_put(&w, "one", block, NULL), LEVADA_OK);
    assert_int_equal(w.entries[0].type, LEVADA_ENTRY_RECORDS);
    levada_state_writer_clear(&w);
    levada_block_unref(&block);
    levada_iter_close(&it);
}

/* More records than are read in one piece; the second part in another order than the first. */
static void many_records_in_pieces(void **state)
{
    const char  *text = "zip(" PART(30000, a) "; " PART(30000, b) " | shuffle:5000)"
                        " | shuffle:20000";
    t_bytes      saved = saved_behind(text, 3, 256), want = t_iter_all(text, false), got = { 0 };
    levada_iter *it = t_iter_open(text, 2, 100);

    (void)state;
    t_iter_restore(it, saved);
    (void)t_iter_read(it, -1, false, &got);
    assert_in_range(got.size, 1, want.size);
    assert_memory_equal(want.at + want.size - got.size, got.at, got.size);
    levada_iter_close(&it);
    t_clear(&saved);
    t_clear(&want);
    t_clear(&got);
}

/* -- files */

static void write_examples(const char *name, const char *filter, int64_t n)
{
    levada_example *e = NULL;
    t_bytes         file = { 0 }, packed;

    assert_int_equal(levada_example_create(&e, NULL), LEVADA_OK);
    for (int64_t i = 0; i < n; i++) {
        int64_t        x[5] = { i, i, i, i, i };
        const uint8_t *data = NULL;
        size_t         size = 0;

        levada_example_reset(e);
        assert_int_equal(levada_example_add_i64(e, "x", x, i % 5, NULL), LEVADA_OK);
        assert_int_equal(levada_example_add_i64(e, "n", &i, 1, NULL), LEVADA_OK);
        assert_int_equal(levada_example_finish(e, &data, &size, NULL), LEVADA_OK);
        t_add_record(&file, data, size);
    }
    levada_example_destroy(&e);
    if (filter) {
        packed = t_encode(filter, file.at, file.size, 0);
        t_clear(&file);
        file = packed;
    }
    t_write_file(t_path(name), file.at, file.size);
    t_clear(&file);
}

/* Lines of `width` bytes each; of those from `changed` on another letter. */
static void write_lines(const char *name, int64_t n, int width, int64_t changed)
{
    t_bytes file = { 0 };
    char    line[32];

    for (int64_t i = 0; i < n; i++) {
        (void)snprintf(line, sizeof line, "%c%0*lld\n", i < changed ? 'a' : 'b', width - 2,
                       (long long)i);
        t_add(&file, line, (size_t)width);
    }
    t_write_file(t_path(name), file.at, file.size);
    t_clear(&file);
}

static const char *over(const char *folder, const char *rest)
{
    static char text[1024];

    (void)snprintf(text, sizeof text, "zip(tfrecord:%s/a*; text_lines:%s/*.txt)%s", folder, folder,
                   rest);
    return text;
}

static void files_of_every_kind(void **state)
{
    static const char *const filters[] = { NULL, "gzip", "zstd" };

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        const char *folder;

        if (!t_can(filters[i])) continue;
        folder = t_folder();
        write_examples("a1", filters[i], 20);
        write_examples("a2", filters[i], 23);
        write_lines("b1.txt", 31, 10, 31);
        write_lines("b2.txt", 17, 10, 0);
        expect_resumes(over(folder, " | shuffle:15"), true, 5);
        expect_resumes(over(folder, " | shuffle:15 | parse_example:" SPEC
                                    " | bucket_by_sequence_length:x,boundaries=[3],batch_sizes=4"
                                    " | unbatch"),
                       true, 7);
        expect_resumes(over(folder, " | parse_example:" SPEC " | shuffle:15 | batch:4"), true, 2);
        t_folder_drop();
    }
}

/* By origin a record takes some bytes for each of its parts; by value all of it. */
static void their_states_are_small(void **state)
{
    const char *folder = t_folder();
    static char big[20000];
    t_bytes     file = { 0 }, saved;

    (void)state;
    memset(big, 'a', sizeof big);
    for (int i = 0; i < 40; i++) t_add_record(&file, big, sizeof big);
    t_write_file(t_path("a"), file.at, file.size);
    write_lines("b.txt", 40, 30, 40);
    saved = saved_behind(over(folder, " | shuffle:20"), 1, 4);
    assert_true(saved.size < 5000);
    assert_false(holds(saved, "aaaaaaaa"));
    t_clear(&saved);
    t_clear(&file);
    t_folder_drop();
}

/* Refused with the file at the place or in the message. */
static levada_error expect_refused(const char *text, t_bytes saved, const char *message)
{
    levada_iter  *it = t_iter_open(text, 1, 4);
    levada_error  err = LEVADA_ERROR_INIT;
    levada_status st = levada_iter_restore(it, saved.at, saved.size, &err);
    char          all[600];

    (void)levada_error_text(&err, all, sizeof all);
    if (st != LEVADA_EFAILED_PRECONDITION || !strstr(all, message)) {
        fail_msg("%s: '%s' is not in '%s'", levada_status_name(st), message, all);
    }
    levada_iter_close(&it);
    return err;
}

static void changed_files_of_the_second_part_are_refused_by_name(void **state)
{
    const char  *folder = t_folder();
    char         text[1024];
    t_bytes      saved;
    levada_error err;

    (void)state;
    write_examples("a", NULL, 1000);
    write_lines("b.txt", 1000, 20, 1000);
    (void)snprintf(text, sizeof text, "%s", over(folder, " | shuffle:900"));
    saved = saved_behind(text, 2, 16);
    write_lines("b.txt", 1000, 20, 300); /* beyond what the table of files knows */
    err = expect_refused(text, saved, "buffered record has changed");
    assert_non_null(strstr(err.file, "/a"));
    assert_in_range(err.record, 300, 999);
    assert_non_null(strstr(err.message, "/b.txt record "));
    write_lines("b.txt", 1000, 20, 10);
    (void)expect_refused(text, saved, "b.txt");
    write_lines("b.txt", 999, 20, 1000);
    (void)expect_refused(text, saved, "b.txt");
    write_lines("c.txt", 1000, 20, 1000); /* renamed */
    assert_int_equal(remove(t_path("b.txt")), 0);
    (void)expect_refused(text, saved, "c.txt");
    t_clear(&saved);
    t_folder_drop();
}

/* The records themselves tell: of TFRecord files they have checksums. */
static void a_changed_record_of_the_second_part_is_refused_by_name(void **state)
{
    const char  *folder = t_folder();
    char         text[1024];
    t_bytes      saved, file;
    levada_error err;

    (void)state;
    write_examples("b", NULL, 1000);
    (void)snprintf(text, sizeof text, "zip(range:900; tfrecord:%s/b) | shuffle:800", folder);
    saved = saved_behind(text, 1, 16);
    file = t_read_file(t_path("b"));
    for (size_t at = 6000; at < 40000; at += 16) file.at[at] ^= 0x55;
    t_write_file(t_path("b"), file.at, file.size);
    err = expect_refused(text, saved, "a record was removed or changed");
    assert_non_null(strstr(err.file, "/b"));
    assert_true(err.record > 100);
    assert_true(err.offset >= 5900);
    t_clear(&saved);
    t_clear(&file);
    t_folder_drop();
}

/* The file of the input that returned them is the one that is named. */
static void changed_records_that_were_passed_on_are_refused_by_name(void **state)
{
    const char  *folder = t_folder();
    char         text[1024];
    t_bytes      saved;
    levada_error err;

    (void)state;
    write_lines("a.txt", 1000, 20, 1000);
    write_lines("b.txt", 1000, 20, 1000);
    (void)snprintf(text, sizeof text,
                   "mix(text_lines:%s/a.txt; text_lines:%s/b.txt) | shuffle:1500", folder, folder);
    expect_resumes(text, true, 400);
    saved = saved_behind(text, 2, 16);
    write_lines("b.txt", 1000, 20, 300); /* beyond what the table of files knows */
    err = expect_refused(text, saved, "buffered record has changed");
    assert_non_null(strstr(err.file, "/b.txt"));
    assert_in_range(err.record, 300, 999);
    t_clear(&saved);
    t_folder_drop();
}

/* -- states that were edited */

/* Without the entries whose key ends so. */
static t_bytes without(t_bytes saved, const char *end)
{
    levada_state_reader r;
    levada_state_writer w = { 0 };
    t_bytes             made = { 0 };
    char               *bytes = NULL;
    size_t              size = 0;

    assert_int_equal(levada_state_decode(saved.at, saved.size, NULL, &r, NULL), LEVADA_OK);
    for (int32_t i = 0; i < r.n; i++) {
        const char *key = r.entries[i].key;
        size_t      n = strlen(key), m = strlen(end);

        if (n >= m && strcmp(key + n - m, end) == 0) continue;
        assert_int_equal(levada_state_move(&w, &r.entries[i], NULL), LEVADA_OK);
    }
    assert_true(w.n < r.n);
    assert_int_equal(levada_state_encode(&w, &r.head, NULL, &bytes, &size, NULL), LEVADA_OK);
    t_add(&made, bytes, size);
    levada_string_free(&bytes);
    levada_state_writer_clear(&w);
    levada_state_reader_clear(&r);
    return made;
}

static void a_state_without_all_lanes_is_refused(void **state)
{
    const char *text = "zip(" PART(40, a) "; " PART(40, b) "; " PART(40, c) ") | shuffle:9";
    static const char *const ends[] = { "+1", "+2" };
    t_bytes     saved = saved_behind(text, 1, 4);

    (void)state;
    for (int i = 0; i < 2; i++) {
        t_bytes      less = without(saved, ends[i]);
        levada_iter *it = t_iter_open(text, 1, 4);

        assert_int_equal(levada_iter_restore(it, less.at, less.size, NULL), LEVADA_EDATA_LOSS);
        t_iter_restore(it, saved);
        levada_iter_close(&it);
        t_clear(&less);
    }
    t_clear(&saved);
}

static int add_functions(void **state)
{
    (void)state;
    t_functions_add(t_iter_env());
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_of_all_kinds_of_parts),
        cmocka_unit_test(zips_in_zips),
        cmocka_unit_test(what_can_t_be_read_again_goes_by_value),
        cmocka_unit_test(records_that_are_passed_on),
        cmocka_unit_test(what_is_passed_on_by_value),
        cmocka_unit_test(a_record_that_lacks_a_lane_goes_by_value),
        cmocka_unit_test(many_records_in_pieces),
        cmocka_unit_test(files_of_every_kind),
        cmocka_unit_test(their_states_are_small),
        cmocka_unit_test(changed_files_of_the_second_part_are_refused_by_name),
        cmocka_unit_test(a_changed_record_of_the_second_part_is_refused_by_name),
        cmocka_unit_test(changed_records_that_were_passed_on_are_refused_by_name),
        cmocka_unit_test(a_state_without_all_lanes_is_refused),
    };

    return cmocka_run_group_tests(tests, add_functions, NULL);
}
