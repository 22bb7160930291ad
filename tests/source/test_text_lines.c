/* SPDX-License-Identifier: Apache-2.0 */
#include "files/window.h"
#include "support/files.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void expect_skipping(const char *text, size_t size, int64_t skip, const char *rows)
{
    const int32_t block_rows[] = {1, 3, 256};

    t_write_file(t_path("f"), text, size);
    for (size_t i = 0; i < 3; i++) {
        t_reader t = {.format = "text_lines", .paths = {t_path("f")}, .skip_lines = skip};

        t.block_rows = block_rows[i];
        t_expect(&t, rows, LEVADA_END);
    }
}

static void expect(const char *text, const char *rows)
{
    expect_skipping(text, strlen(text), 0, rows);
}

static void splits_at_line_feeds(void **state)
{
    (void)state;
    expect("", "");
    expect("a\nbc\n", "a@0 bc@2 ");
    expect("a\nbc", "a@0 bc@2 ");
    expect("\n\na\n\n", "@0 @1 a@2 @4 ");
    expect("\n", "@0 ");
}

static void strips_one_cr_before_lf(void **state)
{
    (void)state;
    expect("a\r\nb\r\n", "a@0 b@3 ");
    expect("a\rb\n", "a\rb@0 ");
    expect("a\r\r\n", "a\r@0 ");
    expect("\r\n\r\n", "@0 @2 ");
    expect("a\n\r", "a@0 "); /* a carriage return alone is not a line */
    expect("a\nb\r", "a@0 b\r@2 ");
}

static void passes_any_bytes(void **state)
{
    const char text[] = "a\0b\n\xff\xfe\n";
    t_bytes    rows = {0};
    t_reader   t = {.format = "text_lines", .paths = {t_path("f")}};

    (void)state;
    t_write_file(t_path("f"), text, sizeof text - 1);
    assert_int_equal(t_open(&t), LEVADA_OK);
    assert_int_equal(t_drain(&t, &rows), LEVADA_END);
    assert_int_equal(rows.size, 11);
    assert_memory_equal(rows.at, "a\0b@0 \xff\xfe@4 ", 11);
    t_close(&t);
    t_clear(&rows);
}

static void skips_lines_at_the_start_of_every_file(void **state)
{
    t_reader t = {.format = "text_lines", .skip_lines = 1};

    (void)state;
    expect_skipping("h1\nh2\na\nb\n", 10, 2, "a@6 b@8 ");
    expect_skipping("h1\nh2\n", 6, 2, "");
    expect_skipping("h1\nh2", 5, 2, "");
    expect_skipping("h1", 2, 5, "");
    t_write_file(t_path("a"), "h\nx\n", 4);
    t_write_file(t_path("b"), "h\r\ny", 4);
    t.paths[0] = t_path("a");
    t.paths[1] = t_path("b");
    t_expect(&t, "x@2 y@3 ", LEVADA_END);
}

static void reads_a_line_longer_than_a_chunk(void **state)
{
    size_t   size = (5 << 20) + 1;
    char    *text = malloc(size + 4);
    t_bytes  rows = {0}, packed;
    t_reader t = {.format = "text_lines", .paths = {t_path("f")}};

    (void)state;
    memset(text, 'x', size);
    memcpy(text + size, "\r\nb\n", 4);
    packed = t_can("gzip") ? t_encode("gzip", text, size + 4, 0) : (t_bytes){0};
    for (int i = 0; i < (packed.at ? 2 : 1); i++) {
        t_write_file(t_path("f"), i ? (char *)packed.at : text, i ? packed.size : size + 4);
        assert_int_equal(t_open(&t), LEVADA_OK);
        assert_int_equal(t_drain(&t, &rows), LEVADA_END);
        assert_int_equal(rows.size, size + strlen("@0 b@5242883 "));
        t_close(&t);
        t_clear(&rows);
    }
    t_clear(&packed);
    free(text);
}

static void finds_lines_across_chunks(void **state)
{
    t_bytes  text = {0}, rows = {0}, want = {0};
    t_reader t = {.format = "text_lines", .paths = {t_path("f")}};
    char     line[128], at[32];

    (void)state;
    memset(line, 'y', sizeof line);
    for (int i = 0; i < 40000; i++) {
        int n = i * 7919 % 97;

        t_add(&want, line, (size_t)n);
        t_add(&want, at, (size_t)snprintf(at, sizeof at, "@%zu ", text.size));
        t_add(&text, line, (size_t)n);
        t_add(&text, i % 3 ? "\n" : "\r\n", i % 3 ? 1 : 2);
    }
    t_write_file(t_path("f"), text.at, text.size);
    assert_int_equal(t_open(&t), LEVADA_OK);
    assert_int_equal(t_drain(&t, &rows), LEVADA_END);
    assert_int_equal(rows.size, want.size);
    assert_memory_equal(rows.at, want.at, want.size);
    t_close(&t);
    t_clear(&rows);
    t_clear(&want);
    t_clear(&text);
}

static void gives_no_part_of_a_line_of_a_truncated_stream(void **state)
{
    const char *text = "one\ntwo\nthree\nfour\n";
    t_bytes     packed, rows = {0};
    t_reader    t = {.format = "text_lines", .paths = {t_path("f")}};

    (void)state;
    if (!t_can("gzip")) skip();
    packed = t_encode("gzip", text, strlen(text), 10); /* inside "three" */
    for (size_t cut = packed.size - 1; cut > 3; cut--) {
        t_write_file(t_path("f"), packed.at, cut);
        assert_int_equal(t_open(&t), LEVADA_OK);
        assert_int_equal(t_drain(&t, &rows), LEVADA_EDATA_LOSS);
        assert_memory_equal("one@0 two@4 three@8 four@14 ", rows.at, rows.size);
        assert_true(rows.size == 0 || rows.at[rows.size - 1] == ' ');
        t_close(&t);
        t_clear(&rows);
    }
    t_clear(&packed);
}

/* A line is not copied, so that its address tells where the system put the bytes: never 1 to 63
 * bytes after their place in the file, seen within pages (window.c says why). The first line ends
 * at each 32nd byte of the last page of a chunk, and the second one crosses into the next chunk. */
static void reads_to_where_it_is_fast(void **state)
{
    char *text = malloc(LEVADA_CHUNK + 4096);

    (void)state;
    assert_non_null(text);
    for (int64_t first = LEVADA_CHUNK - 4096; first < LEVADA_CHUNK; first += 32) {
        t_reader t = {.format = "text_lines", .paths = {t_path("f")}, .block_rows = 1};

        memset(text, 'x', LEVADA_CHUNK + 4096);
        text[first - 1] = text[LEVADA_CHUNK + 4095] = '\n';
        t_write_file(t_path("f"), text, LEVADA_CHUNK + 4096);
        assert_int_equal(t_open(&t), LEVADA_OK);
        for (int row = 0; row < 2; row++) {
            levada_block        *block = NULL;
            const levada_column *line;
            int64_t              behind;

            assert_int_equal(levada_file_reader_next(t.reader, &block, &t.err), LEVADA_OK);
            line = levada_block_at(block, 0);
            behind = (int64_t)(uintptr_t)(line->values + line->level[0].begin[0]) -
                     levada_block_origin(block, 0).offset;
            assert_true(behind % 4096 == 0 || behind % 4096 >= 64);
            levada_block_unref(&block);
        }
        t_close(&t);
    }
    free(text);
}

/* What decoders return without a copy is part of a buffer: also of one that is used again. */
static void lines_lie_in_their_buffer(void **state)
{
    t_reader      t = {.format = "text_lines", .paths = {t_path("f")}};
    char         *text = malloc(8 * LEVADA_CHUNK);
    levada_block *block = NULL;

    (void)state;
    assert_non_null(text);
    memset(text, 'x', 8 * LEVADA_CHUNK);
    for (int64_t i = 7000; i < 8 * LEVADA_CHUNK; i += 7000) text[i] = '\n';
    t_write_file(t_path("f"), text, 8 * LEVADA_CHUNK);
    assert_int_equal(t_open(&t), LEVADA_OK);
    while (levada_file_reader_next(t.reader, &block, &t.err) == LEVADA_OK) {
        const levada_column *line = levada_block_at(block, 0);
        const uint8_t       *first = line->values + line->level[0].begin[0];
        const uint8_t       *last = line->values + line->level[0].end[line->n - 1];

        assert_true(first >= line->owner->data && last <= line->owner->data + line->owner->size);
        levada_block_unref(&block);
    }
    t_close(&t);
    free(text);
}

/* "x^" is the beginning of a zlib stream too. */
static void takes_text_for_text(void **state)
{
    t_bytes trial = t_encode("zlib", "", 0, 0); /* without zlib nothing can tell, and this skips */

    (void)state;
    t_clear(&trial);
    expect("x^2 + y^2 = z^2 has many solutions\n", "x^2 + y^2 = z^2 has many solutions@0 ");
    expect("x^", "x^@0 ");
    expect("x^2 + y^2", "x^2 + y^2@0 ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(splits_at_line_feeds),
        cmocka_unit_test(strips_one_cr_before_lf),
        cmocka_unit_test(passes_any_bytes),
        cmocka_unit_test(skips_lines_at_the_start_of_every_file),
        cmocka_unit_test(reads_a_line_longer_than_a_chunk),
        cmocka_unit_test(finds_lines_across_chunks),
        cmocka_unit_test(gives_no_part_of_a_line_of_a_truncated_stream),
        cmocka_unit_test(reads_to_where_it_is_fast),
        cmocka_unit_test(lines_lie_in_their_buffer),
        cmocka_unit_test(takes_text_for_text),
    };

    return cmocka_run_group_tests(tests, t_folder_set_up, t_folder_tear_down);
}
