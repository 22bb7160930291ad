/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The conformance suite finds what is planted in plugin_broken, says what it is, and finds nothing
 * in what is good. Arguments of the program: the paths of plugin_broken, plugin_table and
 * plugin_filters.
 */
#include "check_memory.h"
#include "conform.h"
#include "support/files.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const char *broken, *table, *filters;

/* All checks of one name in order; the first that fails, or NULL. */
static const levada_conform_check *first_bad(levada_conform *c)
{
    for (const levada_conform_check *check = levada_conform_checks; check->name; check++) {
        levada_conform_verdict verdict = check->run(c);

        if (verdict == LEVADA_CONFORM_SKIPPED) fail_msg("%s: %s", c->name, c->what);
        if (verdict == LEVADA_CONFORM_BAD) return check;
    }
    return NULL;
}

/* `check`: the one that fails first, NULL = none; `what`: a part of what it says. */
static void says(const char *library, const char *name, const char *example, const char *check,
                 const char *what)
{
    levada_check_memory         memory = { .path = library };
    levada_conform_faults       faults = levada_check_faults(&memory);
    levada_conform              c = { .name = name, .example = example, .faults = &faults };
    const levada_conform_check *bad;

    assert_int_equal(levada_env_create(NULL, &c.env, NULL), LEVADA_OK);
    assert_int_equal(levada_plugin_load(c.env, library, NULL, NULL), LEVADA_OK);
    bad = first_bad(&c);
    if (!bad && check) fail_msg("%s: no check fails", name);
    if (bad && !check) fail_msg("%s: %s: %s", name, bad->claim, c.what);
    if (bad && strcmp(bad->name, check) != 0) fail_msg("%s: %s fails: %s", name, bad->name, c.what);
    if (bad && !strstr(c.what, what)) fail_msg("%s: '%s' is not in '%s'", name, what, c.what);
    if (bad && !c.where[0]) fail_msg("%s: where to look is not told", name);
    levada_conform_clear(&c);
    levada_check_memory_clear(&memory);
    levada_env_destroy(&c.env);
}

static void finds(const char *name, const char *check, const char *what)
{
    says(broken, name, name, check, what);
}

static void finds_records_that_depend_on_how_it_is_run(void **state)
{
    (void)state;
    finds("broken_blocks", "alike", "threads=1 block_rows=7: record 7 is missing");
    finds("broken_random", "alike", "threads=1 block_rows=256 for the second time: record 0");
    says(broken, "broken_threads", "range:20 | broken_threads", "alike",
         "threads=1 block_rows=1: records 1 to 19 are missing");
}

static void finds_records_that_a_restore_loses_or_repeats(void **state)
{
    (void)state;
    finds("broken_restore", "save",
          "saved after 7 records (threads=1 block_rows=7), restored with threads=1 block_rows=7: "
          "record 7 is missing");
    finds("broken_save", "save", "record 0 comes again");
}

static void finds_who_goes_on_after_cancel(void **state)
{
    (void)state;
    finds("broken_cancel", "cancel", "it went on for more than 3 s after cancel");
}

static void finds_records_that_a_cancel_loses(void **state)
{
    (void)state;
    finds("broken_stop", "cancel",
          "cancelled while it ran, then saved and restored: records 7 to 9 are missing");
    finds("broken_drop", "cancel", "then saved and restored: record");
}

static void finds_who_loses_memory_or_takes_its_lack_for_the_end(void **state)
{
    (void)state;
    finds("broken_status", "memory", "failed: no error, but records");
    finds("broken_leak", "memory", "3 allocations were not given back");
}

static void finds_examples_that_show_nothing(void **state)
{
    (void)state;
    says(broken, "broken_example", "broken_not", "limits",
         "broken_not does not use broken_example");
    says(broken, "broken_empty", "broken_empty | take:0", "alike", "gives no records");
    says(broken, "broken_not", "", "alike", "it has no example");
    says(broken, "broken_not", "broken_not:5", "alike", "EINVALID_ARGUMENT");
}

static void finds_traits_that_do_not_hold(void **state)
{
    (void)state;
    says(broken, "broken_one", "range:10 | broken_one", "traits", "rows are ONE_TO_ONE: 3 of 10");
    says(broken, "broken_permutes", "range:10 | broken_permutes", "traits", "3 records of 10");
    says(broken, "broken_divides", "range:10 | broken_divides", "traits",
         "two halves of its input do not become what all of it becomes");
    says(broken, "broken_count", "range:10 | broken_count", "traits", "count() says 10");
    says(broken, "broken_drawn", "range:10 | broken_drawn", "traits",
         "all seeds have the same records");
    says(broken, "broken_blind", "range:10,start=1 | broken_blind", "traits",
         "other values change the choice");
}

static void finds_nothing_in_good_ones(void **state)
{
    const char *lines = "one\ntwo, which is longer\n\nx\nfive, the last one";
    const char *json = "{\"n\": 3}\n{\"n\": 4}\n{\"n\": 5}\n";

    (void)state;
    t_write_file(t_path("lines.txt"), lines, strlen(lines));
    t_write_file(t_path("json.txt"), json, strlen(json));
    assert_int_equal(chdir(t_path("")), 0);
    finds("broken_not", NULL, NULL);
    says(table, "table_lines", "table_lines:lines.txt", NULL, NULL);
    says(table, "table_some",
         "text_lines:lines.txt | filter:\"len(line) > 1\" | table_some:50", NULL, NULL);
    says(table, "table_numbers", "text_lines:json.txt | table_numbers", NULL, NULL);
    says(table, "table_piped", "text_lines:json.txt | table_piped", NULL, NULL);
    assert_int_equal(chdir("/"), 0);
}

/* Of the filter with this name; as `says`. */
static void says_of_filter(const char *name, bool encoder, const char *check, const char *what)
{
    levada_check_memory         memory = { .path = filters };
    levada_conform_faults       faults = levada_check_faults(&memory);
    levada_conform              c = { .name = name, .faults = &faults };
    levada_conform_verdict      verdict = LEVADA_CONFORM_GOOD;
    const levada_conform_check *bad = levada_conform_filter_checks;

    assert_int_equal(levada_env_create(NULL, &c.env, NULL), LEVADA_OK);
    assert_int_equal(levada_plugin_load(c.env, filters, NULL, NULL), LEVADA_OK);
    assert_int_equal(levada_check_meet(&memory, NULL), LEVADA_OK);
    for (int i = 0; i < memory.nfilters; i++) {
        if (strcmp(memory.filters[i].name, name) == 0) c.filter = &memory.filters[i];
        if (!encoder) memory.filters[i].encode = NULL;
    }
    assert_non_null(c.filter);
    while (bad->name && (verdict = bad->run(&c)) == LEVADA_CONFORM_GOOD) bad++;
    if (!bad->name && check) fail_msg("%s: no check fails", name);
    if (bad->name && !check) fail_msg("%s: %s: %s", name, bad->claim, c.what);
    if (check && strcmp(bad->name, check) != 0) fail_msg("%s: %s: %s", name, bad->name, c.what);
    if (check && !strstr(c.what, what)) fail_msg("%s: '%s' is not in '%s'", name, what, c.what);
    if (check && !c.where[0]) fail_msg("%s: where to look is not told", name);
    levada_conform_clear(&c);
    levada_check_memory_clear(&memory);
    levada_env_destroy(&c.env);
}

static void finds_what_is_wrong_with_filters(void **state)
{
    (void)state;
    says_of_filter("filter_not", true, NULL, NULL);
    says_of_filter("filter_step", true, "alike", "by 65536 bytes to 1: ");
    says_of_filter("filter_encode", true, "alike", "encoded by 1 bytes to 1: ");
    says_of_filter("filter_reset", true, "reset", "reset after a part: EDATA_LOSS");
    says_of_filter("filter_cut", true, "cut", "1 of 2");
    says_of_filter("filter_damage", true, "damage", "EOUT_OF_RANGE");
    says_of_filter("filter_probe", true, "probe", "it verified 8 bits of 0 bytes");
    says_of_filter("filter_leak", true, "memory", "1 allocations were not given back");
    says_of_filter("filter_status", true, "memory", "EDATA_LOSS in place of ERESOURCE_EXHAUSTED");
}

static void a_filter_that_only_reads_needs_a_file(void **state)
{
    static const char good[] = "BF\1\x55\1\x54\0\xa9";

    (void)state;
    assert_int_equal(chdir(t_path("")), 0);
    says_of_filter("filter_not", false, "alike", "found no file example.bf");
    t_write_file(t_path("example.bf"), good, sizeof good - 1);
    says_of_filter("filter_not", false, NULL, NULL);
    says_of_filter("filter_cut", false, "cut", "1 of 8 bytes are taken for a whole stream");
    t_write_file(t_path("example.bf"), good, 6);
    says_of_filter("filter_not", false, "alike", "example.bf");
    assert_int_equal(chdir("/"), 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_records_that_depend_on_how_it_is_run),
        cmocka_unit_test(finds_records_that_a_restore_loses_or_repeats),
        cmocka_unit_test(finds_who_goes_on_after_cancel),
        cmocka_unit_test(finds_records_that_a_cancel_loses),
        cmocka_unit_test(finds_who_loses_memory_or_takes_its_lack_for_the_end),
        cmocka_unit_test(finds_examples_that_show_nothing),
        cmocka_unit_test(finds_traits_that_do_not_hold),
        cmocka_unit_test(finds_nothing_in_good_ones),
        cmocka_unit_test(finds_what_is_wrong_with_filters),
        cmocka_unit_test(a_filter_that_only_reads_needs_a_file),
    };

    static char paths[3][PATH_MAX];

    if (argc < 4) return 77;
    broken = realpath(argv[1], paths[0]); /* tests change the folder */
    table = realpath(argv[2], paths[1]);
    filters = realpath(argv[3], paths[2]);
    if (!broken || !table || !filters) return 1;
    return cmocka_run_group_tests(tests, t_folder_set_up, t_folder_tear_down);
}
