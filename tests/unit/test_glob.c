/* SPDX-License-Identifier: Apache-2.0 */
#include "core/glob.h"
#include "support/files.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

/* The base names that the patterns give, joined; or the name of the status. */
static const char *found(const char *first, const char *second)
{
    static char  text[256];
    char         paths[2][256];
    const char  *at[2] = {paths[0], paths[1]};
    levada_texts patterns = {at, second ? 2 : 1};
    levada_files files = {0};
    levada_error err = LEVADA_ERROR_INIT;

    (void)snprintf(paths[0], sizeof paths[0], "%s", t_path(first));
    (void)snprintf(paths[1], sizeof paths[1], "%s", t_path(second ? second : ""));
    if (levada_files_find(&patterns, &files, &err) != LEVADA_OK) {
        assert_non_null(strstr(err.message, "no file matches '"));
        return levada_status_name(err.code);
    }
    text[0] = '\0';
    for (int64_t i = 0; i < files.n; i++) {
        (void)strcat(strcat(text, strrchr(files.path[i], '/') + 1), " ");
    }
    levada_files_clear(&files);
    return text;
}

static void sorts_what_a_pattern_finds(void **state)
{
    const char *names[] = {"b-2", "a-10", "a-1", "B-1", "a-2", "with[1]"};

    (void)state;
    for (size_t i = 0; i < 6; i++) t_write_file(t_path(names[i]), "", 0);
    assert_int_equal(mkdir(t_path("a-folder"), 0700), 0);
    assert_string_equal(found("*", NULL), "B-1 a-1 a-10 a-2 b-2 with[1] ");
    assert_string_equal(found("a-?", NULL), "a-1 a-2 ");
    assert_string_equal(found("b*", "[aB]-1*"), "b-2 B-1 a-1 a-10 ");
    assert_string_equal(found("a-1", "a-1"), "a-1 a-1 ");
    assert_string_equal(found("with[1]", NULL), "with[1] ");
    assert_string_equal(found("a-f*", NULL), "ENOT_FOUND");
    assert_string_equal(found("a-1", "c-*"), "ENOT_FOUND");
    assert_string_equal(found("plain", NULL), "plain "); /* looked for when it is opened */
}

static void shuffles_by_key(void **state)
{
    int32_t a[1000], b[1000], seen[1000] = {0}, fixed = 0;

    (void)state;
    levada_files_shuffle(a, 1000, 1);
    levada_files_shuffle(b, 1000, 1);
    assert_memory_equal(a, b, sizeof a);
    levada_files_shuffle(b, 1000, 2);
    assert_memory_not_equal(a, b, sizeof a);
    for (int32_t i = 0; i < 1000; i++) {
        seen[a[i]]++;
        fixed += a[i] == i;
    }
    for (int32_t i = 0; i < 1000; i++) assert_int_equal(seen[i], 1);
    assert_true(fixed < 10);
}

static void shuffles_to_every_order_alike(void **state)
{
    int32_t counts[6] = {0};

    (void)state;
    for (uint64_t key = 0; key < 6000; key++) {
        int32_t o[3];

        levada_files_shuffle(o, 3, key);
        counts[o[0] * 2 + (o[1] > o[2])]++;
    }
    for (int i = 0; i < 6; i++) assert_in_range(counts[i], 850, 1150);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sorts_what_a_pattern_finds),
        cmocka_unit_test(shuffles_by_key),
        cmocka_unit_test(shuffles_to_every_order_alike),
    };

    return cmocka_run_group_tests(tests, t_folder_set_up, t_folder_tear_down);
}
