/* SPDX-License-Identifier: Apache-2.0 */
#include "run/node.h"
#include "support/codec.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* -- saved positions */

typedef struct saved {
    char  *bytes;
    size_t size;
} saved;

static const levada_state_scope state_scope = { .path = "0.tfrecord", .version = 1 };

static saved save(levada_file_reader *reader)
{
    levada_state_writer to = {.scope = state_scope};
    levada_state_head   head = {{0}, 0, 0};
    saved               out = {0};

    assert_int_equal(levada_file_reader_save(reader, &to, NULL), LEVADA_OK);
    assert_int_equal(levada_file_reader_save_marks(reader, &to, NULL), LEVADA_OK);
    assert_int_equal(levada_state_encode(&to, &head, NULL, &out.bytes, &out.size, NULL), LEVADA_OK);
    levada_state_writer_clear(&to);
    return out;
}

static levada_status restore(levada_file_reader *reader, const saved *from, levada_error *err)
{
    levada_state_reader state = {0};
    levada_status       st;

    assert_int_equal(levada_state_decode(from->bytes, from->size, NULL, &state, err), LEVADA_OK);
    state.scope = state_scope;
    st = levada_file_reader_restore(reader, &state, err);
    levada_state_reader_clear(&state);
    return st;
}

/* Reads the next block with at most n records into text. */
static levada_status reread(levada_file_reader *reader, const levada_origin *origins, int64_t n,
                            levada_block **out, levada_error *err)
{
    return levada_file_reader_read(reader, origins, n, LEVADA_READ_AGAIN, out, err);
}

static levada_status read_block(t_reader *t, t_bytes *text)
{
    levada_block *block = NULL;
    levada_status st = levada_file_reader_next(t->reader, &block, &t->err);

    if (st == LEVADA_OK) t_rows(block, text);
    levada_block_unref(&block);
    return st;
}

/* -- three files: a has 3 records, b none, c has 4 */

static void write_files(const char *filter)
{
    t_bytes     a = {0}, c = {0};
    t_bytes     packed;
    const char *words[] = {"a0", "a1", "", "c0", "c1 is longer", "c2", "c3"};

    for (int i = 0; i < 7; i++) t_add_record(i < 3 ? &a : &c, words[i], strlen(words[i]));
    t_write_file(t_path("b"), "", 0);
    packed = filter ? t_encode(filter, a.at, a.size, 0) : a;
    t_write_file(t_path("a"), packed.at, packed.size);
    if (filter) t_clear(&packed);
    packed = filter ? t_encode(filter, c.at, c.size, 0) : c;
    t_write_file(t_path("c"), packed.at, packed.size);
    if (filter) t_clear(&packed);
    t_clear(&a);
    t_clear(&c);
}

static const char all_rows[] = "a0@0 a1@18 @36 c0@0 c1 is longer@18 c2@46 c3@64 ";

static t_reader three_files(int32_t block_rows)
{
    t_reader t = {.format = "tfrecord", .block_rows = block_rows};

    t.paths[0] = t_path("[abc]");
    return t;
}

static void reads_file_after_file(void **state)
{
    (void)state;
    write_files(NULL);
    for (int32_t rows = 1; rows < 9; rows += 3) {
        t_reader t = three_files(rows);

        t_expect(&t, all_rows, LEVADA_END);
    }
}

static void names_where_records_come_from(void **state)
{
    t_reader      t = three_files(256);
    levada_block *block = NULL;
    levada_origin o;

    (void)state;
    assert_int_equal(t_open(&t), LEVADA_OK);
    assert_int_equal(levada_file_reader_next(t.reader, &block, NULL), LEVADA_OK);
    levada_block_unref(&block);
    assert_int_equal(levada_file_reader_next(t.reader, &block, NULL), LEVADA_OK);
    assert_int_equal(levada_block_rows(block), 4);
    o = levada_block_origin(block, 2);
    assert_int_equal(o.source, 3);
    assert_int_equal(o.pass, 0);
    assert_int_equal(o.shard, 2);
    assert_int_equal(o.record, 2);
    assert_int_equal(o.offset, 46);
    assert_string_equal(strrchr(levada_file_reader_file(t.reader, 2), '/'), "/c");
    assert_null(levada_file_reader_file(t.reader, 3));
    levada_block_unref(&block);
    t_close(&t);
}

static void blocks_outlive_the_reader(void **state)
{
    t_reader      t = three_files(2);
    levada_block *block[5] = {0};
    t_bytes       text = {0};

    (void)state;
    assert_int_equal(t_open(&t), LEVADA_OK);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(levada_file_reader_next(t.reader, &block[i], NULL), LEVADA_OK);
    }
    assert_int_equal(levada_file_reader_next(t.reader, &block[4], NULL), LEVADA_END);
    t_close(&t);
    for (int i = 0; i < 4; i++) {
        t_rows(block[i], &text);
        levada_block_unref(&block[i]);
    }
    assert_string_equal((char *)text.at, all_rows);
    t_clear(&text);
}

static void repeats_that_a_file_is_missing(void **state)
{
    t_reader t = {.format = "tfrecord", .paths = {t_path("a"), t_path("none"), t_path("c")}};
    t_bytes  text = {0};

    (void)state;
    t_expect(&t, "a0@0 a1@18 @36 ", LEVADA_ENOT_FOUND);
    assert_non_null(strstr(t.err.file, "none"));
    t.paths[1] = t_path("none*");
    assert_int_equal(t_open(&t), LEVADA_ENOT_FOUND);
    t_close(&t);
    t.compression = "snappy";
    assert_int_equal(t_open(&t), LEVADA_EINVALID_ARGUMENT);
    t_close(&t);
    t.compression = "auto";
    t.errors = "maybe";
    assert_int_equal(t_open(&t), LEVADA_EINVALID_ARGUMENT);
    t_close(&t);
    t_clear(&text);
}

static void goes_on_after_a_restore_at_every_record(void **state)
{
    const char *filters[] = {NULL, "gzip", "zstd"};

    (void)state;
    for (size_t f = 0; f < 3 && t_can(filters[f]); f++) {
        write_files(filters[f]);
        for (int at = 0; at <= 8; at++) {
            t_reader t = three_files(1), u = three_files(3);
            t_bytes  text = {0}, dropped = {0};
            saved    position;

            t_add(&text, NULL, 0);
            assert_int_equal(t_open(&t), LEVADA_OK);
            for (int i = 0; i < at; i++) (void)read_block(&t, &text);
            position = save(t.reader);
            t_close(&t);
            assert_int_equal(t_open(&u), LEVADA_OK);
            if (at % 2) (void)read_block(&u, &dropped); /* it is rewound */
            assert_int_equal(restore(u.reader, &position, NULL), LEVADA_OK);
            assert_int_equal(t_drain(&u, &text), LEVADA_END);
            assert_string_equal((char *)text.at, all_rows);
            assert_int_equal(levada_file_reader_counted(u.reader).records, 7);
            t_close(&u);
            levada_string_free(&position.bytes);
            t_clear(&dropped);
            t_clear(&text);
        }
    }
}

static void refuses_a_state_of_other_files(void **state)
{
    t_reader     t = three_files(1), u = three_files(1);
    levada_error err = LEVADA_ERROR_INIT;
    saved        position;
    t_bytes      c;

    (void)state;
    write_files(NULL);
    assert_int_equal(t_open(&t), LEVADA_OK);
    for (int i = 0; i < 5; i++) {
        levada_block *block = NULL;

        assert_int_equal(levada_file_reader_next(t.reader, &block, NULL), LEVADA_OK);
        levada_block_unref(&block);
    }
    position = save(t.reader);
    t_close(&t);
    c = t_read_file(t_path("c"));
    c.at[13] ^= 1; /* the same size */
    t_write_file(t_path("c"), c.at, c.size);
    assert_int_equal(t_open(&u), LEVADA_OK);
    assert_int_equal(restore(u.reader, &position, &err), LEVADA_EFAILED_PRECONDITION);
    assert_non_null(strstr(err.message, "/c was changed since"));
    assert_int_equal(levada_file_reader_counted(u.reader).records, 0);
    assert_int_equal(unlink(t_path("a")), 0);
    assert_int_equal(restore(u.reader, &position, &err), LEVADA_EFAILED_PRECONDITION);
    assert_non_null(strstr(err.file, "/a"));
    t_close(&u);
    assert_int_equal(t_open(&u), LEVADA_OK); /* two files now */
    assert_int_equal(restore(u.reader, &position, &err), LEVADA_EFAILED_PRECONDITION);
    assert_non_null(strstr(err.message, "2 files"));
    t_close(&u);
    levada_string_free(&position.bytes);
    t_clear(&c);
}

/* Sums of what a state says was counted must not overflow. */
static void refuses_counts_that_can_not_be(void **state)
{
    const char *keys[] = { "record", "records", "turn", "offset" };

    (void)state;
    write_files(NULL);
    for (int i = 0; i < 8; i++) {
        t_reader            t = three_files(1);
        levada_state_writer to = { .scope = state_scope };
        levada_state_head   head = { { 0 }, 0, 0 };
        levada_error        err = LEVADA_ERROR_INIT;
        int64_t             count = i < 4 ? INT64_MAX : -1;
        saved               position = { 0 };

        assert_int_equal(t_open(&t), LEVADA_OK);
        assert_int_equal(levada_file_reader_save(t.reader, &to, NULL), LEVADA_OK);
        for (int32_t k = 0; k < to.n; k++) {
            if (strcmp(to.entries[k].key, keys[i % 4]) != 0) continue;
            memcpy(to.entries[k].data, &count, sizeof count);
        }
        assert_int_equal(levada_state_encode(&to, &head, NULL, &position.bytes, &position.size,
                                             NULL),
                         LEVADA_OK);
        assert_int_equal(restore(t.reader, &position, &err), LEVADA_EDATA_LOSS);
        assert_non_null(strstr(err.message, keys[i % 4]));
        levada_state_writer_clear(&to);
        levada_string_free(&position.bytes);
        t_close(&t);
    }
}

static void order_of_files(bool shuffle, int64_t epoch, int32_t pass, char *out)
{
    t_reader      t = {.format = "text_lines", .shuffle = shuffle, .seed = 5};
    levada_block *block = NULL;
    int           n = 0;

    t.paths[0] = t_path("s-*");
    assert_int_equal(t_open(&t), LEVADA_OK);
    levada_file_reader_rewind(t.reader, pass, epoch);
    while (levada_file_reader_next(t.reader, &block, NULL) == LEVADA_OK) {
        out[n++] = (char)*levada_column_bytes(levada_block_at(block, 0), 0, &(int64_t){0});
        assert_int_equal(levada_block_origin(block, 0).shard, out[n - 1] - 'a');
        assert_int_equal(levada_block_origin(block, 0).pass, pass);
        levada_block_unref(&block);
    }
    out[n] = '\0';
    t_close(&t);
}

static void shuffles_files_by_seed_epoch_and_pass(void **state)
{
    char name[8], line[3] = "x\n", a[32], b[32];

    (void)state;
    for (char c = 'a'; c < 'q'; c++) {
        (void)snprintf(name, sizeof name, "s-%c", c);
        line[0] = c;
        t_write_file(t_path(name), line, 2);
    }
    order_of_files(false, 4, 2, a);
    assert_string_equal(a, "abcdefghijklmnop");
    order_of_files(true, 0, 0, a);
    order_of_files(true, 0, 0, b);
    assert_int_equal(strlen(a), 16);
    assert_string_equal(a, b);
    order_of_files(true, 1, 0, b);
    assert_string_not_equal(a, b);
    order_of_files(true, 0, 1, b);
    assert_string_not_equal(a, b);
}

/* -- records again */

static int64_t gather_origins(t_reader *t, levada_origin *origins)
{
    levada_block *block = NULL;
    int64_t       n = 0;

    while (levada_file_reader_next(t->reader, &block, NULL) == LEVADA_OK) {
        for (int64_t i = 0; i < levada_block_rows(block); i++) {
            origins[n++] = levada_block_origin(block, i);
        }
        levada_block_unref(&block);
    }
    return n;
}

static void fetches_any_records_again(void **state)
{
    const char *filters[] = {NULL, "gzip", "zstd"};
    const char *words[] = {"a0@0 ",            "a1@18 ", "@36 ",   "c0@0 ",
                           "c1 is longer@18 ", "c2@46 ", "c3@64 "};

    (void)state;
    for (size_t f = 0; f < 3 && t_can(filters[f]); f++) {
        levada_origin all[8];
        t_reader      t = three_files(2);

        write_files(filters[f]);
        assert_int_equal(t_open(&t), LEVADA_OK);
        assert_int_equal(gather_origins(&t, all), 7);
        for (int mask = 0; mask < 128; mask++) {
            levada_origin some[16];
            levada_block *block = NULL;
            t_bytes       want = {0}, got = {0};
            int64_t       n = 0;

            t_add(&want, NULL, 0);
            t_add(&got, NULL, 0);
            for (int i = 0; i < 7; i++) {
                for (int k = 0; (mask & 1 << i) && k < 1 + (i == 4); k++) { /* one of them twice */
                    some[n] = all[i];
                    some[n++].sub = k;
                    t_add(&want, words[i], strlen(words[i]));
                }
            }
            assert_int_equal(reread(t.reader, some, n, &block, NULL), LEVADA_OK);
            assert_int_equal(levada_block_rows(block), n);
            t_rows(block, &got);
            assert_string_equal((char *)got.at, (char *)want.at);
            for (int64_t i = 0; i < n; i++) {
                levada_origin o = levada_block_origin(block, i);

                assert_memory_equal(&o, &some[i], sizeof o);
            }
            levada_block_unref(&block);
            t_clear(&want);
            t_clear(&got);
        }
        t_close(&t);
    }
}

static void notices_that_a_record_is_gone(void **state)
{
    levada_origin all[8];
    levada_error  err = LEVADA_ERROR_INIT;
    levada_block *block = NULL;
    t_reader      t = three_files(2);
    t_bytes       c;

    (void)state;
    write_files(NULL);
    assert_int_equal(t_open(&t), LEVADA_OK);
    assert_int_equal(gather_origins(&t, all), 7);
    c = t_read_file(t_path("c"));
    t_write_file(t_path("c"), c.at, 64);
    assert_int_equal(reread(t.reader, all, 6, &block, &err), LEVADA_OK);
    levada_block_unref(&block);
    assert_int_equal(reread(t.reader, all, 7, &block, &err),
                     LEVADA_EFAILED_PRECONDITION);
    assert_non_null(strstr(err.message, "a record was removed or changed"));
    assert_non_null(strstr(err.file, "/c"));
    assert_int_equal(err.record, 3);
    c.at[47] ^= 1;
    t_write_file(t_path("c"), c.at, c.size);
    assert_int_equal(reread(t.reader, all, 7, &block, &err),
                     LEVADA_EFAILED_PRECONDITION);
    assert_int_equal(err.record, 2);
    all[6].shard = 9;
    assert_int_equal(reread(t.reader, all + 6, 1, &block, &err),
                     LEVADA_EFAILED_PRECONDITION);
    all[6].shard = -1;
    assert_int_equal(reread(t.reader, all + 6, 1, &block, &err),
                     LEVADA_EFAILED_PRECONDITION);
    t_close(&t);
    t_clear(&c);
}

/* A state can be made up: its checksum is not a seal. */
static void notices_offsets_that_can_not_be(void **state)
{
    static const int64_t offsets[] = { -1, -4096, INT64_MIN, INT64_MAX };

    (void)state;
    for (int32_t packed = 0; packed < 2; packed++) {
        t_reader t = {.format = "tfrecord", .paths = {t_path("one")}, .block_rows = 2};
        t_bytes  plain = {0}, file = {0};

        if (packed && !t_can("gzip")) continue;
        t_add_record(&plain, "record", 6);
        if (packed) file = t_encode("gzip", plain.at, plain.size, 0);
        t_write_file(t_path("one"), packed ? file.at : plain.at, packed ? file.size : plain.size);
        assert_int_equal(t_open(&t), LEVADA_OK);
        for (size_t i = 0; i < sizeof offsets / sizeof offsets[0]; i++) {
            levada_origin origin = {.offset = offsets[i]};
            levada_error  err = LEVADA_ERROR_INIT;
            levada_block *block = NULL;

            assert_int_equal(reread(t.reader, &origin, 1, &block, &err),
                             LEVADA_EFAILED_PRECONDITION);
            assert_null(block);
        }
        t_close(&t);
        t_clear(&plain);
        t_clear(&file);
    }
}

/* -- damage */

static void counts_what_it_skips(void **state)
{
    t_reader                  t = three_files(2);
    t_bytes                   a, rows = {0};
    levada_file_reader_counts counts;
    int64_t                   done, total;

    (void)state;
    write_files(NULL);
    a = t_read_file(t_path("a"));
    a.at[30] ^= 1; /* a1 */
    t_write_file(t_path("a"), a.at, a.size);
    t.errors = "skip:1";
    assert_int_equal(t_open(&t), LEVADA_OK);
    assert_int_equal(t_drain(&t, &rows), LEVADA_END);
    assert_string_equal((char *)rows.at, "a0@0 @36 c0@0 c1 is longer@18 c2@46 c3@64 ");
    counts = levada_file_reader_counted(t.reader);
    assert_int_equal(counts.skipped_records, 1);
    assert_int_equal(counts.damaged_bytes, 18);
    assert_int_equal(counts.records, 6);
    assert_int_equal(counts.bytes, 52 + 82);
    levada_file_reader_progress(t.reader, &done, &total);
    assert_int_equal(done, 52 + 82);
    assert_int_equal(total, 52 + 82);
    t_close(&t);
    t_clear(&rows);
    t_clear(&a);
}

static void the_iterators_policy_gives_way_to_its_own(void **state)
{
    t_reader t = three_files(2);
    t_bytes  rows = {0};

    (void)state;
    t.errors = "fail";
    assert_int_equal(t_open(&t), LEVADA_OK);
    assert_int_equal(levada_file_reader_policy(t.reader, "skip", NULL), LEVADA_OK);
    assert_int_equal(t_drain(&t, &rows), LEVADA_EDATA_LOSS); /* a is still damaged */
    t_close(&t);
    t_clear(&rows);
    t.errors = NULL;
    assert_int_equal(t_open(&t), LEVADA_OK);
    assert_int_equal(levada_file_reader_policy(t.reader, "what", NULL), LEVADA_EINVALID_ARGUMENT);
    assert_int_equal(levada_file_reader_policy(t.reader, "skip", NULL), LEVADA_OK);
    assert_int_equal(t_drain(&t, &rows), LEVADA_END);
    t_close(&t);
    t_clear(&rows);
}

static void leaves_a_broken_stream_for_the_next_file(void **state)
{
    t_reader t = three_files(2);
    t_bytes  a;

    (void)state;
    if (!t_can("gzip")) skip();
    write_files("gzip");
    a = t_read_file(t_path("a"));
    t_write_file(t_path("a"), a.at, a.size - 3);
    t_expect(&t, "a0@0 a1@18 @36 ", LEVADA_EDATA_LOSS);
    t.errors = "skip";
    t_expect(&t, all_rows, LEVADA_END);
    t_clear(&a);
}

static void survives_a_file_that_shrinks(void **state)
{
    t_reader t = {.format = "text_lines"};
    t_bytes  text = {0}, rows = {0};

    (void)state;
    for (int i = 0; i < 4; i++) {
        t_bytes part = t_prose();

        t_add(&text, part.at, part.size);
        t_clear(&part);
    }
    t.paths[0] = t_path("shrinks");
    t_write_file(t.paths[0], text.at, text.size);
    assert_int_equal(t_open(&t), LEVADA_OK);
    assert_int_equal(read_block(&t, &rows), LEVADA_OK);
    assert_int_equal(truncate(t.paths[0], 700000), 0);
    assert_int_equal(t_drain(&t, &rows), LEVADA_EDATA_LOSS);
    assert_non_null(strstr(t.err.message, "shrank"));
    t_close(&t);
    t_clear(&rows);
    t_clear(&text);
}

static int set_up(void **state)
{
    (void)state;
    return t_folder() == NULL;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_file_after_file),
        cmocka_unit_test(names_where_records_come_from),
        cmocka_unit_test(blocks_outlive_the_reader),
        cmocka_unit_test(repeats_that_a_file_is_missing),
        cmocka_unit_test(goes_on_after_a_restore_at_every_record),
        cmocka_unit_test(refuses_a_state_of_other_files),
        cmocka_unit_test(refuses_counts_that_can_not_be),
        cmocka_unit_test(shuffles_files_by_seed_epoch_and_pass),
        cmocka_unit_test(fetches_any_records_again),
        cmocka_unit_test(notices_that_a_record_is_gone),
        cmocka_unit_test(notices_offsets_that_can_not_be),
        cmocka_unit_test(counts_what_it_skips),
        cmocka_unit_test(the_iterators_policy_gives_way_to_its_own),
        cmocka_unit_test(leaves_a_broken_stream_for_the_next_file),
        cmocka_unit_test(survives_a_file_that_shrinks),
    };

    return cmocka_run_group_tests(tests, set_up, t_folder_tear_down);
}
