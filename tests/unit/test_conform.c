/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The conformance suite finds what is planted in plugin_broken, says what it is, and finds nothing
 * in what is good. Arguments of the program: the paths of plugin_broken and plugin_table.
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

static const char *broken, *table;

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
    finds("broken_cancel", "cancel", "it went on for more than 1 s after cancel");
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

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_records_that_depend_on_how_it_is_run),
        cmocka_unit_test(finds_records_that_a_restore_loses_or_repeats),
        cmocka_unit_test(finds_who_goes_on_after_cancel),
        cmocka_unit_test(finds_who_loses_memory_or_takes_its_lack_for_the_end),
        cmocka_unit_test(finds_examples_that_show_nothing),
        cmocka_unit_test(finds_nothing_in_good_ones),
    };

    static char paths[2][PATH_MAX];

    if (argc < 3) return 77;
    broken = realpath(argv[1], paths[0]); /* tests change the folder */
    table = realpath(argv[2], paths[1]);
    if (!broken || !table) return 1;
    return cmocka_run_group_tests(tests, t_folder_set_up, t_folder_tear_down);
}
