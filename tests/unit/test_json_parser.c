/* SPDX-License-Identifier: Apache-2.0 */
/* The scan of records that simdjson refuses agrees with simdjson on all others. */
#include "base/random.h"
#include "rows/json_scan.h"
#include "support/length.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { PARSER_TRIALS = 100000, PARSER_MOST = 4096, PARSER_SLACK = 64 };

static const char *const tokens[] = {
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\"a\":",
    "\"b\":{",
    "\"\"",
    "\"\\u00e9\\n\"",
    "\"\\ud83d\\ude00\"",
    "\"\\ud800\"",
    "\"\xff\"",
    "\"\xc3\xa9\"",
    "\"\xed\xa0\x80\"",
    "NaN",
    "-Infinity",
    "true",
    "null",
    "0",
    "-0",
    "-",
    "12",
    "01",
    "1.5",
    "1e5",
    "1e999",
    "1e-999",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551616",
    "-9223372036854775809",
    " ",
    "\r",
    "\t",
    "\"",
    "\\",
    "\x01",
    "x",
    "\xe2\x82",
};

static uint64_t parser_next(uint64_t *state, uint64_t most)
{
    *state = levada_random_key(*state, 1);
    return *state % most;
}

/* Tokens in a mostly good order. */
static size_t parser_draw(uint64_t *state, char *text)
{
    static const char open[] = "{[", *const values[] = { "1", "NaN", "\"s\"", "1e999", "[]", "{}" };
    size_t n = 0, parts = parser_next(state, 12);

    text[n++] = open[parser_next(state, 2)];
    for (size_t i = 0; i < parts; i++) {
        bool        object = text[0] == '{', odd = parser_next(state, 12) == 0;
        const char *value = parser_next(state, 4) == 0 ? tokens[parser_next(state, 40)]
                                                       : values[parser_next(state, 6)];

        n += (size_t)snprintf(text + n, 64, "%s%s%s%s", i ? "," : "", object ? "\"k\":" : "", value,
                              odd ? tokens[parser_next(state, 40)] : "");
    }
    text[n++] = text[0] == '{' ? '}' : ']';
    if (parser_next(state, 8) == 0) n = parser_next(state, n + 1);
    return n;
}

static void scan_agrees_with_simdjson(void **unused)
{
    static levada_json_parser p;
    static char               text[PARSER_MOST];
    uint64_t                  state = 5;
    int64_t                   mended = 0, good = 0, bad = 0;

    (void)unused;
    assert_int_equal(levada_json_parser_open(&p, false, NULL), LEVADA_OK);
    for (int64_t i = 0; i < PARSER_TRIALS * t_length(); i++) {
        levada_json_value root;
        const char       *raw, *wrong = NULL, *scanned = NULL;
        size_t            n = parser_draw(&state, text);

        memset(text + n, 0, PARSER_SLACK);
        p.replace = i % 2 == 1;
        assert_int_equal(levada_json_parser_read(&p, (uint8_t *)text, n, &wrong, &root, NULL),
                         LEVADA_OK);
        if (p.mended && wrong) fail_msg("mended '%.*s': %s", (int)n, text, wrong);
        raw = levada_json_reader_parse(p.reader, (uint8_t *)text, n, &root);
        assert_int_equal(levada_json_scan(&p, (uint8_t *)text, n, &scanned, NULL), LEVADA_OK);
        if (!raw && scanned) fail_msg("'%.*s': %s", (int)n, text, scanned);
        if (raw && !scanned && !p.mended) fail_msg("'%.*s': simdjson: %s", (int)n, text, raw);
        if (raw && !scanned != !wrong) fail_msg("'%.*s'", (int)n, text);
        mended += raw && !wrong;
        good += !raw;
        bad += wrong != NULL;
    }
    assert_true(mended > PARSER_TRIALS / 10 && good > PARSER_TRIALS / 10);
    assert_true(bad > PARSER_TRIALS / 10);
    levada_json_parser_close(&p);
}

/* Text that another parse has left in memory after the record is not part of it. */
static void the_scan_ends_with_the_record(void **unused)
{
    static const char *const cut[] = {
        "{\"a\":\"\\ud83d|\\ude00\"}",
        "{\"a\":\"\\ud8|00\"}",
        "{\"a\":\"\\|n\"}",
        "{\"a\":\"\xe2|\x82\xac\"}",
        "{\"a\":Na|N}",
        "{\"a\":-Infinit|y}",
        "{\"a\":1|2}",
        "{\"a\"|:1}",
        "{\"a\":NaN|}",
        "|{}",
    };
    static levada_json_parser p;

    (void)unused;
    assert_int_equal(levada_json_parser_open(&p, true, NULL), LEVADA_OK);
    for (size_t i = 0; i < sizeof cut / sizeof *cut; i++) {
        char              text[PARSER_SLACK * 2] = { 0 };
        const char       *wrong = NULL;
        size_t            n = strcspn(cut[i], "|");
        levada_json_value root;

        snprintf(text, sizeof text, "%.*s%s", (int)n, cut[i], cut[i] + n + 1);
        assert_int_equal(levada_json_parser_read(&p, (uint8_t *)text, n, &wrong, &root, NULL),
                         LEVADA_OK);
        if (!wrong || strstr(wrong, "|")) fail_msg("'%s' at %zu: %s", text, n, wrong ? wrong : "");
    }
    levada_json_parser_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scan_agrees_with_simdjson),
        cmocka_unit_test(the_scan_ends_with_the_record),
    };
    levada_json_reader *reader = NULL;

    if (levada_json_reader_create(&reader, NULL) != LEVADA_OK) {
        print_message("SKIPPED: built without simdjson\n");
        return 77;
    }
    levada_json_reader_destroy(&reader);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
