/* SPDX-License-Identifier: Apache-2.0 */
#include "support/iters.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* A description of one file with this text. */
static const char *with_file(const char *text, const char *options)
{
    static char made[1024];
    const char *path = t_path("f.csv");

    t_write_file(path, text, strlen(text));
    snprintf(made, sizeof made, "csv:%s%s", path, options);
    return made;
}

static void add_fields(const levada_block *block, t_bytes *to)
{
    const levada_column *c = levada_block_column(block, "fields");

    for (int64_t i = 0; i < levada_block_rows(block); i++) {
        for (int32_t k = c->level[0].begin[i]; k < c->level[0].end[i]; k++) {
            int32_t begin = c->level[1].begin[k];

            t_add(to, c->values + begin, (size_t)(c->level[1].end[k] - begin));
            t_add(to, "|", 1);
        }
        t_add(to, "\n", 1);
    }
}

/* The fields of every row, each with a | after it, and a newline after each row. */
static levada_status read_fields(const char *description, int32_t block_rows, t_bytes *to)
{
    levada_iter  *it = t_iter_open_policy(description, "skip", 1, block_rows);
    levada_block *block = NULL;
    levada_status st;

    while ((st = levada_iter_next(it, &block, NULL)) == LEVADA_OK) {
        add_fields(block, to);
        levada_block_unref(&block);
    }
    levada_iter_close(&it);
    return st;
}

static void expect(const char *text, const char *options, const char *want)
{
    const int32_t block_rows[] = { 1, 3, 256 };

    for (size_t i = 0; i < 3; i++) {
        t_bytes got = { 0 };

        assert_int_equal(read_fields(with_file(text, options), block_rows[i], &got), LEVADA_END);
        t_add(&got, "", 1);
        assert_string_equal((char *)got.at, want);
        t_clear(&got);
    }
}

static void rows_end_at_lf_crlf_cr_and_the_file(void **state)
{
    (void)state;
    expect("a,b\nc,d\r\ne,f\rg,h", "", "a|b|\nc|d|\ne|f|\ng|h|\n");
    expect("a\n\nb\n", "", "a|\nb|\n");
    expect("\r\n\n\ra\r\n\r\n\"\"\n\n", "", "a|\n|\n");
    expect("\n\nh\n\na\n", ",header=true", "a|\n");
    expect("\xef\xbb\xbf\"a\",b\n", "", "a|b|\n");
    expect("\xef\xbb", "", ""); /* not UTF-8 */
    expect(",\n", "", "||\n");
    expect("a\r", "", "a|\n");
}

static void quoted_fields_hold_anything(void **state)
{
    (void)state;
    expect("\"a\nb\",\"c,\r\nd\"\n\"e\"\"\",\"\"\n", "", "a\nb|c,\r\nd|\ne\"||\n");
    expect("\"\"\"\",\"\"\"\"\n", "", "\"|\"|\n");
    expect("\"a;b\";c\n", ",field_delim=\";\"", "a;b|c|\n");
    expect("\"a,b\n", ",use_quote_delim=false", "\"a|b|\n");
}

static void a_bad_quote_costs_its_row_only(void **state)
{
    (void)state;
    expect("a,b\"c,d\n\"x\"y\",z\ne,f,g\n", "", "e|f|g|\n");
}

/* The first column of the good rows, and the rows that were skipped. */
static void expect_rows(const char *text, const char *want, int64_t skipped)
{
    const int32_t block_rows[] = { 1, 3, 256 };

    for (size_t i = 0; i < 3; i++) {
        levada_iter *it = t_iter_open_policy(
            with_file(text, ",record_defaults=[string,string]"), "skip", 1, block_rows[i]);
        levada_block *block = NULL;
        t_bytes       got = { 0 };

        while (levada_iter_next(it, &block, NULL) == LEVADA_OK) {
            for (int64_t row = 0; row < levada_block_rows(block); row++) {
                int64_t        n;
                const uint8_t *name = levada_column_bytes(levada_block_column(block, "c0"), row,
                                                          &n);

                t_add(&got, name, (size_t)n);
                t_add(&got, "|", 1);
            }
            levada_block_unref(&block);
        }
        t_add(&got, "", 1);
        assert_string_equal((char *)got.at, want);
        assert_int_equal(t_iter_stat(it, "skipped_records"), skipped);
        t_clear(&got);
        levada_iter_close(&it);
    }
}

static void a_row_with_a_bad_quote_ends_where_it_fits(void **state)
{
    (void)state;
    expect("n,m\n\"x\"y,1\nok,2\n\"o,\nk\",3\n", "", "n|m|\nok|2|\no,\nk|3|\n");
    expect_rows("a,1\n\"x\"y,1\nb,2\n\"c\n\",3\n", "a|b|c\n|", 1);
    expect_rows("\"he said \"hi\" to\nher\",5\r\nb,2\r\n", "b|", 1);
    expect_rows("\"x\"y\nb,2\n", "b|", 1);
    expect_rows("\"x\"y", "", 1);
    expect_rows("\"c,\",\"x\"y\nb,2\n", "b|", 1);
}

/* Of a quote that is never closed the next whole row is found. */
static void an_open_quote_costs_its_lines_only(void **state)
{
    (void)state;
    expect_rows("a,1\n\"b,1\nc,2\nd,3\n", "a|c|d|", 1);
    expect_rows("a,1\nb,\"text\nand more\"\"\nc,2", "a|c|", 1);
    expect("a,1\n\"b,1\nc,2\n", "", "a|1|\n"); /* nothing tells c,2 from text in quotes */
}

static void the_header_of_every_file_is_left_out(void **state)
{
    (void)state;
    expect("h,\"i\nj\"\na,b\n", ",header=true", "a|b|\n");
}

static void rows_are_found_across_chunks(void **state)
{
    t_bytes text = { 0 }, want = { 0 }, got = { 0 };
    char    filler[700];

    (void)state;
    memset(filler, '\n', sizeof filler);
    for (int i = 0; i < 4000; i++) {
        size_t n = (size_t)(i * 7919 % 600);

        t_add(&text, "\"", 1);
        t_add(&text, filler, n);
        t_add(&text, "\"\"\",x\r\n", 7);
        t_add(&want, filler, n);
        t_add(&want, "\"|x|\n", 5);
    }
    t_add(&text, "", 1);
    text.size--;
    with_file("", "");
    t_write_file(t_path("f.csv"), text.at, text.size);
    {
        char path[600];

        snprintf(path, sizeof path, "csv:%s", t_path("f.csv"));
        assert_int_equal(read_fields(path, 256, &got), LEVADA_END);
    }
    t_bytes_equal(got, want, "rows");
    t_clear(&text);
    t_clear(&want);
    t_clear(&got);
}

static void columns_have_types_and_defaults(void **state)
{
    const char  *options = ",record_defaults=[int64,{dtype:float64,default:-1},string]";
    const char  *text = " 7 ,1.5,x\n-8,,\"y\n\"\n0000000000000000000009,-.25e1,z\n";
    levada_iter *it = t_iter_open(with_file(text, options), 1, 256);
    int64_t      n, *values = t_iter_numbers(it, "c0", &n);

    (void)state;
    assert_int_equal(n, 3);
    assert_int_equal(values[0], 7);
    assert_int_equal(values[1], -8);
    assert_int_equal(values[2], 9);
    free(values);
    levada_iter_close(&it);
}

/* Rows of a file of 300, of which one has a quote or one field too few: that block, or row, is read
 * in another way. */
static const char *even_rows(int quoted, int short_row, const char *newline, const char *options)
{
    static char made[1024];
    const char *path = t_path("even.csv");
    t_bytes     text = { 0 };
    char        row[128];

    for (int i = 0; i < 300; i++) {
        const char *quote = i == quoted ? "\"" : "";
        int n = snprintf(row, sizeof row, "%sname %d%s,%d,%d.%03d,%s,%.17g,-%d%s", quote, i, quote,
                         i * 7919, i, i, i % 5 ? "NA" : "", i / 7.0, i,
                         i == short_row ? "" : ",12345678901234567");

        t_add(&text, row, (size_t)n);
        t_add(&text, newline, strlen(newline));
    }
    t_write_file(path, text.at, text.size);
    t_clear(&text);
    snprintf(made, sizeof made, "csv:%s,%s", path, options);
    return made;
}

/* What all rows hold, and how many were skipped. */
static t_bytes read_even(const char *description, int32_t block_rows, int64_t *rows)
{
    levada_iter *it = t_iter_open_policy(description, "skip", 1, block_rows);
    t_outcome    o = { 0 };
    t_bytes      got = { 0 };

    (void)t_iter_read(it, -1, false, &got);
    levada_iter_close(&it);
    it = t_iter_open_policy(description, "skip", 1, block_rows);
    assert_int_equal(t_iter_read_rest(it, &o), LEVADA_END);
    *rows = o.rows;
    levada_iter_close(&it);
    return got;
}

static void even_rows_are_read_like_others(void **state)
{
    static const char *const options[] = {
        "record_defaults=[string,int32,float32,{dtype:string,default:none},float64,int32,int64]",
        "na_value=NA,record_defaults=[string,int64,float64,{dtype:float32,default:1},float32,"
        "float64,float64]",
        "select_cols=[0,2,5],record_defaults=[string,float64,int64]",
    };
    static const char *const newlines[] = { "\n", "\r\n", "\r" };

    (void)state;
    for (size_t i = 0; i < 9; i++) {
        const char *newline = newlines[i % 3], *how = options[i / 3];
        int64_t     rows, others, whole;
        t_bytes     even = read_even(even_rows(-1, -1, newline, how), 256, &rows);
        t_bytes     odd = read_even(even_rows(7, -1, newline, how), 256, &others);
        t_bytes     bad = read_even(even_rows(-1, 299, newline, how), 7, &whole);

        assert_int_equal(rows, 300);
        assert_int_equal(others, 300);
        assert_int_equal(whole, i < 6 ? 299 : 300);
        t_bytes_equal(even, odd, "one quoted field");
        t_clear(&odd);
        odd = read_even(even_rows(-1, 299, newline, how), 256, &others);
        t_bytes_equal(bad, odd, "one short row");
        t_clear(&even);
        t_clear(&odd);
        t_clear(&bad);
    }
}

/* Rows in quotes with delimiters and newlines in them, and at the end one that has a quote in it,
 * after which that column is copied. */
static t_bytes read_quoted(bool escaped, int32_t block_rows, int64_t *rows)
{
    const char *path = t_path("quoted.csv");
    t_bytes     text = { 0 };
    char        row[160], description[256];

    for (int i = 0; i < 200; i++) {
        const char *quote = i % 3 ? "\"" : "";

        t_add(&text, row, (size_t)snprintf(row, sizeof row,
                                           "\"a, %d\n\",%s%d%s,\"%d.25\",%s,\"x%d\"\r\n", i, quote,
                                           i * 7919, quote, i, i % 7 ? "\"b\"" : "\"\"", i));
    }
    if (escaped) t_add(&text, row, (size_t)snprintf(row, sizeof row, "\"\"\"\",1,2,c,d\r\n"));
    t_write_file(path, text.at, text.size);
    t_clear(&text);
    snprintf(description, sizeof description,
             "csv:%s,record_defaults=[string,int32,float64,{dtype:string,default:none},string]",
             path);
    return read_even(description, block_rows, rows);
}

static void rows_in_quotes_are_read_like_others(void **state)
{
    int64_t rows, more;
    t_bytes even = read_quoted(false, 256, &rows), odd = read_quoted(true, 256, &more);
    t_bytes few = read_quoted(false, 3, &rows);

    (void)state;
    assert_int_equal(rows, 200);
    assert_int_equal(more, 201);
    t_bytes_equal(even, few, "blocks of 3");
    assert_true(odd.size > even.size);
    assert_memory_equal(even.at, odd.at, even.size);
    t_clear(&even);
    t_clear(&odd);
    t_clear(&few);
}

/* Texts for fields in quotes: with pairs of quotes at their ends, and longer than a register. */
static const char *drawn_field(uint64_t *seed, bool number)
{
    static char made[300];
    int         n;

    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    n = (int)(*seed >> 60);
    if (number) snprintf(made, sizeof made, n % 2 ? "%d" : "\"%d\"", (int)(*seed >> 40) % 1000);
    else if (n < 2) snprintf(made, sizeof made, n ? "" : "\"\"");
    else if (n < 4) snprintf(made, sizeof made, "plain %d", n);
    else if (n < 8) snprintf(made, sizeof made, "\"\"\"a\"\",%*d\"\"\"", n * n * 4, n);
    else snprintf(made, sizeof made, "\"%d, or\nmore\"", n);
    return made;
}

/* 300 rows that are drawn; `bad`: after each of them one that has a quote at a wrong place. */
static void write_drawn(const char *path, bool bad)
{
    t_bytes  text = { 0 };
    uint64_t seed = 11;

    for (int i = 0; i < 300; i++) {
        for (int k = 0; k < 4; k++) {
            const char *field = drawn_field(&seed, k == 2);

            t_add(&text, field, strlen(field));
            t_add(&text, k < 3 ? "," : "\n", 1);
        }
        if (bad) t_add(&text, "a\"b,2,3,4\n", 10);
    }
    t_write_file(path, text.at, text.size);
    t_clear(&text);
}

/* Rows whose index is all that is stored of them hold the same as rows that are split one by one,
 * which blocks with bad rows are. */
static void pairs_of_quotes_are_read_in_every_way(void **state)
{
    static const char *const options[] = {
        "[{dtype:string,default:\"\"},{dtype:string,default:\"\"},int32,"
        "{dtype:string,default:\"\"}]",
        "[{dtype:string,default:none},{dtype:string,default:\"\"},int32,"
        "{dtype:string,default:none}]",
        "[string,{dtype:string,default:none},float64,{dtype:string,default:none}]",
        "[{dtype:string,default:none},int64,{dtype:string,default:x}],select_cols=[0,2,3]",
        "[{dtype:string,default:none},{dtype:string,default:x},{dtype:int32,default:1},"
        "{dtype:string,default:\"\"}],na_value=\"plain 2\"",
    };
    char good[800], bad[800], path[400];

    (void)state;
    snprintf(path, sizeof path, "%s", t_path("bad.csv"));
    write_drawn(path, true);
    write_drawn(t_path("good.csv"), false);
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        int64_t rows, others;
        t_bytes whole, split;

        snprintf(good, sizeof good, "csv:%s,record_defaults=%s", t_path("good.csv"), options[i]);
        snprintf(bad, sizeof bad, "csv:%s,record_defaults=%s", path, options[i]);
        whole = read_even(good, 256, &rows);
        split = read_even(bad, 256, &others);
        assert_int_equal(rows, others);
        assert_true(i == 2 ? rows < 300 : rows == 300);
        t_bytes_equal(whole, split, options[i]);
        t_clear(&split);
        split = read_even(good, 1, &others);
        t_bytes_equal(whole, split, options[i]);
        t_clear(&split);
        t_clear(&whole);
    }
}

static void errors_name_the_place(void **state)
{
    const char *types = ",record_defaults=[int32,string],columns=[age,name]";
    const struct {
        const char *text, *message;
        int64_t     record, offset;
    } cases[] = {
        { "1,a\n2,b\nx,c\n", "Field 0 is not a valid int32: x (column 'age', byte 0", 2, 8 },
        { "1,a\n2,\n", "Field 1 is required but missing in record! (column 'name', byte 2", 1, 4 },
        { "1,a\n\n1\n", "Expect 2 fields but have 1 in record", 1, 5 },
        { "1,a,b\n", "Expect 2 fields but have more in record", 0, 0 },
        { "3000000000,a\n", "not a valid int32", 0, 0 },
        { "1,a\"b\n", "quotes inside (field 1, byte 3 of the row)", 0, 0 },
        { "1,\"a\"b\n\"\n", "another quote (field 1, byte 4 of the row)", 0, 0 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        levada_iter  *it = t_iter_open(with_file(cases[i].text, types), 1, 256);
        levada_block *block = NULL;
        levada_error  err = LEVADA_ERROR_INIT;
        levada_status st;

        while ((st = levada_iter_next(it, &block, &err)) == LEVADA_OK) levada_block_unref(&block);
        assert_int_equal(st, LEVADA_EINVALID_ARGUMENT);
        if (!strstr(err.message, cases[i].message)) print_error("'%s'\n", err.message);
        assert_non_null(strstr(err.message, cases[i].message));
        assert_int_equal(err.record, cases[i].record);
        assert_int_equal(err.offset, cases[i].offset);
        levada_iter_close(&it);
    }
}

static void an_open_quote_at_the_end_is_damage(void **state)
{
    levada_iter *it = t_iter_open(with_file("a\n\"b\nc\n", ""), 1, 256);

    (void)state;
    t_iter_fails_at(it, LEVADA_EDATA_LOSS, "f.csv", 1, 2);
    levada_iter_close(&it);
}

static void refuses_options_that_do_not_fit(void **state)
{
    (void)state;
    t_iter_refused("csv:f,field_delim=\"\\n\"", LEVADA_EINVALID_ARGUMENT, "newline");
    t_iter_refused("csv:f,field_delim=\"\\\"\"", LEVADA_EINVALID_ARGUMENT, "quote");
    t_iter_refused("csv:f,field_delim=ab", LEVADA_EINVALID_ARGUMENT, "1 char");
    t_iter_refused("csv:f,select_cols=[1]", LEVADA_EINVALID_ARGUMENT, "record_defaults");
    t_iter_refused("csv:f,record_defaults=[]", LEVADA_EINVALID_ARGUMENT, "one entry per column");
}

static void goes_on_after_a_restore(void **state)
{
    t_bytes text = { 0 };
    char    row[64];

    (void)state;
    for (int i = 0; i < 200; i++) {
        t_add(&text, row, (size_t)snprintf(row, sizeof row, "%d,\"a\n%d\",%d.5\n", i, i, i));
    }
    t_add(&text, "", 1);
    t_iter_sweep(with_file((char *)text.at, ",record_defaults=[int32,string,float32]"), false, 7);
    t_clear(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_end_at_lf_crlf_cr_and_the_file),
        cmocka_unit_test(quoted_fields_hold_anything),
        cmocka_unit_test(a_bad_quote_costs_its_row_only),
        cmocka_unit_test(a_row_with_a_bad_quote_ends_where_it_fits),
        cmocka_unit_test(an_open_quote_costs_its_lines_only),
        cmocka_unit_test(the_header_of_every_file_is_left_out),
        cmocka_unit_test(rows_are_found_across_chunks),
        cmocka_unit_test(columns_have_types_and_defaults),
        cmocka_unit_test(even_rows_are_read_like_others),
        cmocka_unit_test(rows_in_quotes_are_read_like_others),
        cmocka_unit_test(pairs_of_quotes_are_read_in_every_way),
        cmocka_unit_test(errors_name_the_place),
        cmocka_unit_test(an_open_quote_at_the_end_is_damage),
        cmocka_unit_test(refuses_options_that_do_not_fit),
        cmocka_unit_test(goes_on_after_a_restore),
    };

    return cmocka_run_group_tests(tests, t_folder_set_up, t_folder_tear_down);
}
