/* SPDX-License-Identifier: Apache-2.0 */
#include "files/glob.h"
#include "files/listing.h"
#include "support/files.h"
#include "support/ops.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* The base names that the patterns return, joined; or the name of the status. */
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
    if (levada_files_find(t_ops_env(), &patterns, &files, &err) != LEVADA_OK) {
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

/* What looking for the pattern fails with, and the folder that it names. */
static levada_status fails(const char *pattern, const char *folder)
{
    const char  *at = t_path(pattern);
    levada_texts patterns = {&at, 1};
    levada_files files = {0};
    levada_error err = LEVADA_ERROR_INIT;

    assert_int_not_equal(levada_files_find(t_ops_env(), &patterns, &files, &err), LEVADA_OK);
    assert_null(files.path);
    assert_string_equal(err.file, t_path(folder));
    assert_non_null(strstr(err.message, "cannot list the directory: "));
    return err.code;
}

static void finds_through_folders(void **state)
{
    (void)state;
    assert_int_equal(mkdir(t_path("d"), 0700), 0);
    assert_int_equal(mkdir(t_path("d/one"), 0700), 0);
    assert_int_equal(mkdir(t_path("d/two"), 0700), 0);
    assert_int_equal(mkdir(t_path("d/two/x-3"), 0700), 0);
    t_write_file(t_path("d/none"), "", 0);
    t_write_file(t_path("d/one/x-1"), "", 0);
    t_write_file(t_path("d/two/x-2"), "", 0);
    t_write_file(t_path("d/two/.x"), "", 0);
    t_write_file(t_path("d/two/x*"), "", 0);
    assert_int_equal(symlink("nowhere", t_path("d/gone")), 0);
    assert_int_equal(symlink("nowhere", t_path("d/one/x-9")), 0);
    assert_string_equal(found("d/*/x-?", NULL), "x-1 x-9 x-2 ");
    assert_string_equal(found("d/*/x-1", NULL), "x-1 ");
    assert_string_equal(found("d/[t]*//x-2", NULL), "x-2 ");
    assert_string_equal(found("*/two/*", NULL), "x* x-2 ");
    assert_string_equal(found("d/*/x\\*", NULL), "x* ");
    assert_string_equal(found("d/*/.*x", NULL), ".x ");
    assert_string_equal(found("d/o*/", NULL), "ENOT_FOUND");
    assert_string_equal(found("d/nowhere/*", NULL), "ENOT_FOUND");
    assert_string_equal(found("d/none/*", NULL), "ENOT_FOUND");
}

static void stars_find_through_all_folders(void **state)
{
    (void)state;
    assert_int_equal(mkdir(t_path("deep"), 0700), 0);
    assert_int_equal(mkdir(t_path("deep/a"), 0700), 0);
    assert_int_equal(mkdir(t_path("deep/a/a"), 0700), 0);
    assert_int_equal(mkdir(t_path("deep/.hidden"), 0700), 0);
    t_write_file(t_path("deep/0.txt"), "", 0);
    t_write_file(t_path("deep/a/1.txt"), "", 0);
    t_write_file(t_path("deep/a/a/2.txt"), "", 0);
    t_write_file(t_path("deep/a/a/3.csv"), "", 0);
    t_write_file(t_path("deep/.hidden/4.txt"), "", 0);
    assert_int_equal(symlink("..", t_path("deep/a/up")), 0); /* a circle */
    assert_string_equal(found("deep/**/*.txt", NULL), "0.txt 1.txt 2.txt ");
    assert_string_equal(found("deep/**", NULL), "0.txt 1.txt 2.txt 3.csv ");
    assert_string_equal(found("deep/**/**/*.txt", NULL), "0.txt 1.txt 2.txt ");
    assert_string_equal(found("deep/**/a/**/*.txt", NULL), "1.txt 2.txt "); /* once each */
    assert_string_equal(found("deep/**/2.txt", NULL), "2.txt ");
    assert_string_equal(found("deep/**/", NULL), "0.txt 1.txt 2.txt 3.csv ");
    assert_string_equal(found("deep/a**/*.txt", NULL), "1.txt "); /* not a word of its own */
    assert_string_equal(found("deep/**/5.txt", NULL), "ENOT_FOUND");
}

static void braces_expand_before_files_are_searched(void **state)
{
    (void)state;
    t_write_file(t_path("s00"), "", 0);
    t_write_file(t_path("s01"), "", 0);
    t_write_file(t_path("t01"), "", 0);
    assert_string_equal(found("{t,s}0*", NULL), "t01 s00 s01 ");
    assert_string_equal(found("s{00..01}", NULL), "s00 s01 ");
    assert_string_equal(found("s{01..02}", NULL), "s01 s02 "); /* opened later */
    assert_string_equal(found("s{0,9}[0-9]", NULL), "ENOT_FOUND"); /* s9? matches nothing */
    t_write_file(t_path("{t,s}01"), "", 0);
    assert_string_equal(found("{t,s}01", NULL), "{t,s}01 ");
}

static void urls_are_named_one_by_one(void **state)
{
    const char  *url[] = { "http://host/s*.tar", "http://host/s{1..2}.tar" };
    levada_texts patterns = { &url[0], 1 };
    levada_files files = { 0 };
    levada_error err = LEVADA_ERROR_INIT;

    (void)state;
    assert_int_equal(levada_files_find(t_ops_env(), &patterns, &files, &err),
                     LEVADA_EUNIMPLEMENTED);
    assert_string_equal(err.file, url[0]);
    patterns.at = &url[1];
    assert_int_equal(levada_files_find(t_ops_env(), &patterns, &files, &err), LEVADA_OK);
    assert_int_equal(files.n, 2);
    assert_string_equal(files.path[1], "http://host/s2.tar");
    levada_files_clear(&files);
}

static void a_star_of_a_url_ends_at_a_slash(void **state)
{
    static const struct {
        const char *pattern, *name;
        bool        fits;
    } cases[] = {
        { "s3://b/a*", "s3://b/a", true },
        { "s3://b/a*", "s3://b/a/c", false },
        { "s3://b/a-*.gz", "s3://b/a-1.gz", true },
        { "s3://b/a-*.gz", "s3://b/a-1.gz.tmp", false },
        { "s3://b/*/c", "s3://b/a/c", true },
        { "s3://b/*/c", "s3://b/a/a/c", false },
        { "s3://b/**/c", "s3://b/a/a/c", true },
        { "s3://b/**/c", "s3://b/c", true },
        { "s3://b/**/c", "s3://b/ac", false },
        { "s3://b/**", "s3://b/a/a/c", true },
        { "s3://b/**.gz", "s3://b/a/a/c.gz", true },
        { "s3://b/x?[1]*", "s3://b/x?[1]", true },
        { "s3://b/x?[1]*", "s3://b/xy1", false },
        { "s3://b/*\xc3\xa9*", "s3://b/caf\xc3\xa9s", true },
        { "a*a*a*a*a*a*a*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", false },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (levada_listing_fits(cases[i].pattern, cases[i].name) != cases[i].fits)
            fail_msg("%s, %s", cases[i].pattern, cases[i].name);
    }
}

/* For every user, whatever the umask is. */
static void make_open(const char *name)
{
    assert_int_equal(mkdir(t_path(name), 0755), 0);
    assert_int_equal(chmod(t_path(name), 0755), 0);
}

static void a_folder_that_can_not_be_read_is_an_error(void **state)
{
    bool root = geteuid() == 0; /* who may read everything */

    (void)state;
    assert_int_equal(chmod(t_path(""), 0755), 0);
    make_open("p");
    make_open("p/closed");
    make_open("p/open");
    t_write_file(t_path("p/closed/x-1"), "", 0);
    t_write_file(t_path("p/open/x-2"), "", 0);
    assert_int_equal(chmod(t_path("p/closed"), 0), 0);
    if (root) assert_int_equal(seteuid(65534), 0);
    assert_int_equal(fails("p/*/x-*", "p/closed"), LEVADA_EPERMISSION_DENIED);
    assert_int_equal(fails("p/closed/x-*", "p/closed"), LEVADA_EPERMISSION_DENIED);
    assert_int_equal(fails("p/*/x-1", "p/closed"), LEVADA_EPERMISSION_DENIED);
    assert_string_equal(found("p/o*/x-*", NULL), "x-2 ");
    assert_string_equal(found("p/*", "p/open/*"), "ENOT_FOUND"); /* folders only */
    if (root) assert_int_equal(seteuid(0), 0);
    assert_int_equal(chmod(t_path("p/closed"), 0755), 0);
    assert_int_equal(symlink("loop", t_path("p/loop")), 0);
    assert_string_equal(found("p/*/x-*", NULL), "x-1 x-2 "); /* as a link to nowhere */
    assert_int_equal(fails("p/loop/x-*", "p/loop"), LEVADA_EINVALID_ARGUMENT);
    assert_string_equal(found("p/l*", NULL), "loop ");
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
        cmocka_unit_test(finds_through_folders),
        cmocka_unit_test(stars_find_through_all_folders),
        cmocka_unit_test(braces_expand_before_files_are_searched),
        cmocka_unit_test(urls_are_named_one_by_one),
        cmocka_unit_test(a_star_of_a_url_ends_at_a_slash),
        cmocka_unit_test(a_folder_that_can_not_be_read_is_an_error),
        cmocka_unit_test(shuffles_by_key),
        cmocka_unit_test(shuffles_to_every_order_alike),
    };

    return cmocka_run_group_tests(tests, t_folder_set_up, t_folder_tear_down);
}
