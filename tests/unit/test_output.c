/* SPDX-License-Identifier: Apache-2.0 */
#include "support/files.h"

#include <dirent.h>
#include <fcntl.h>
#include <levada/output.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static levada_status save(const char *path, const char *text, levada_error *err)
{
    return levada_output_save(path, text, strlen(text), err);
}

static void expect(const char *path, const char *text)
{
    t_bytes got = t_read_file(path);

    assert_int_equal(got.size, strlen(text));
    assert_memory_equal(got.at, text, got.size);
    t_clear(&got);
}

static int mode_of(const char *path)
{
    struct stat st;

    assert_int_equal(stat(path, &st), 0);
    return (int)(st.st_mode & 07777);
}

static void expect_no_temporary(void)
{
    DIR           *folder = opendir(t_path("."));
    struct dirent *entry;

    assert_non_null(folder);
    while ((entry = readdir(folder))) {
        if (strstr(entry->d_name, ".tmp")) fail_msg("%s is left", entry->d_name);
    }
    (void)closedir(folder);
}

static void appears_at_the_commit(void **state)
{
    levada_output *o = NULL;

    (void)state;
    assert_int_equal(levada_output_open(t_path("a"), &o, NULL), LEVADA_OK);
    assert_int_equal(levada_output_write(o, "one", 3, NULL), LEVADA_OK);
    assert_int_equal(access(t_path("a"), F_OK), -1);
    assert_int_equal(levada_output_commit(o, NULL), LEVADA_OK);
    assert_int_equal(levada_output_commit(o, NULL), LEVADA_OK);
    assert_int_equal(levada_output_write(o, "x", 1, NULL), LEVADA_EFAILED_PRECONDITION);
    levada_output_destroy(&o);
    expect(t_path("a"), "one");
    assert_int_equal(levada_output_open(t_path("a"), &o, NULL), LEVADA_OK);
    assert_int_equal(levada_output_write(o, "two", 3, NULL), LEVADA_OK);
    levada_output_destroy(&o);
    levada_output_destroy(&o);
    levada_output_destroy(NULL);
    expect(t_path("a"), "one");
    expect_no_temporary();
}

static void writes_into_the_current_folder(void **state)
{
    char before[4096];

    (void)state;
    assert_non_null(getcwd(before, sizeof before));
    assert_int_equal(chdir(t_path(".")), 0);
    assert_int_equal(save("here", "here", NULL), LEVADA_OK);
    assert_int_equal(chdir(before), 0);
    expect(t_path("here"), "here");
}

static void keeps_the_permissions_of_what_it_replaces(void **state)
{
    mode_t before = umask(027);

    (void)state;
    assert_int_equal(save(t_path("new"), "1", NULL), LEVADA_OK);
    assert_int_equal(mode_of(t_path("new")), 0640);
    for (int i = 0; i < 3; i++) {
        static const mode_t modes[] = {0600, 0444, 0666};

        assert_int_equal(chmod(t_path("new"), modes[i]), 0);
        assert_int_equal(save(t_path("new"), "2", NULL), LEVADA_OK);
        assert_int_equal(mode_of(t_path("new")), modes[i]);
    }
    (void)umask(before);
}

static void takes_the_permissions_that_the_old_file_has_at_the_commit(void **state)
{
    levada_output *o = NULL, *fresh = NULL;

    (void)state;
    assert_int_equal(save(t_path("kept"), "1", NULL), LEVADA_OK);
    assert_int_equal(chmod(t_path("kept"), 0644), 0);
    assert_int_equal(levada_output_open(t_path("kept"), &o, NULL), LEVADA_OK);
    assert_int_equal(levada_output_open(t_path("appears"), &fresh, NULL), LEVADA_OK);
    assert_int_equal(chmod(t_path("kept"), 0600), 0);
    t_write_file(t_path("appears"), "old", 3);
    assert_int_equal(chmod(t_path("appears"), 0400), 0);
    assert_int_equal(levada_output_commit(o, NULL), LEVADA_OK);
    assert_int_equal(levada_output_commit(fresh, NULL), LEVADA_OK);
    assert_int_equal(mode_of(t_path("kept")), 0600);
    assert_int_equal(mode_of(t_path("appears")), 0400);
    levada_output_destroy(&o);
    levada_output_destroy(&fresh);
}

static void refuses_links_and_folders(void **state)
{
    levada_error err = LEVADA_ERROR_INIT;

    (void)state;
    t_write_file(t_path("victim"), "victim", 6);
    assert_int_equal(symlink(t_path("victim"), t_path("link")), 0);
    assert_int_equal(symlink(t_path("nothing"), t_path("dangling")), 0);
    assert_int_equal(save(t_path("link"), "new", &err), LEVADA_EINVALID_ARGUMENT);
    assert_non_null(strstr(err.message, "symbolic link"));
    assert_string_equal(err.file, t_path("link"));
    assert_int_equal(save(t_path("dangling"), "new", &err), LEVADA_EINVALID_ARGUMENT);
    assert_int_equal(access(t_path("nothing"), F_OK), -1);
    expect(t_path("victim"), "victim");
    assert_int_equal(save(t_path("."), "new", &err), LEVADA_EINVALID_ARGUMENT);
    assert_int_equal(save(t_path("victim/"), "new", &err), LEVADA_EINVALID_ARGUMENT);
    assert_int_equal(save(t_path("none/a"), "new", &err), LEVADA_ENOT_FOUND);
    assert_non_null(strstr(err.message, "its directory does not exist"));
    assert_int_equal(save("", "new", &err), LEVADA_ENOT_FOUND);
    expect_no_temporary();
}

/* A link that takes the place of the file while it is written is not followed either. */
static void refuses_links_that_appear_later(void **state)
{
    levada_output *o = NULL;

    (void)state;
    t_write_file(t_path("victim"), "victim", 6);
    assert_int_equal(levada_output_open(t_path("late"), &o, NULL), LEVADA_OK);
    assert_int_equal(levada_output_write(o, "new", 3, NULL), LEVADA_OK);
    assert_int_equal(symlink(t_path("victim"), t_path("late")), 0);
    assert_int_equal(levada_output_commit(o, NULL), LEVADA_EINVALID_ARGUMENT);
    levada_output_destroy(&o);
    expect(t_path("victim"), "victim");
    expect_no_temporary();
}

static void writes_devices_and_descriptors_directly(void **state)
{
    char          name[64];
    int           fd = open(t_path("direct"), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    levada_error  err = LEVADA_ERROR_INIT;

    (void)state;
    assert_int_equal(write(fd, "ab", 2), 2);
    (void)snprintf(name, sizeof name, "/dev/fd/%d", fd);
    assert_int_equal(save(name, "cd", NULL), LEVADA_OK);
    (void)snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    assert_int_equal(save(name, "ef", NULL), LEVADA_OK);
    assert_int_equal(close(fd), 0);
    expect(t_path("direct"), "abcdef");
    assert_int_equal(save("/dev/null", "x", NULL), LEVADA_OK);
    if (access("/dev/full", W_OK) == 0) {
        assert_int_equal(save("/dev/full", "x", &err), LEVADA_ERESOURCE_EXHAUSTED);
    }
}

static void leaves_files_alone_in_a_child(void **state)
{
    levada_output *o = NULL;
    pid_t          child;
    int            status = 0;

    (void)state;
    assert_int_equal(levada_output_open(t_path("forked"), &o, NULL), LEVADA_OK);
    assert_int_equal(levada_output_write(o, "parent", 6, NULL), LEVADA_OK);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        bool good = levada_output_write(o, "child", 5, NULL) == LEVADA_EFAILED_PRECONDITION &&
                    levada_output_commit(o, NULL) == LEVADA_EFAILED_PRECONDITION;

        levada_output_drop_all();
        levada_output_destroy(&o);
        _exit(good ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(levada_output_commit(o, NULL), LEVADA_OK);
    levada_output_destroy(&o);
    expect(t_path("forked"), "parent");
}

/* -- many savers and readers of one file */

#define SAVERS 4
#define SAVES 200
#define SIZE 5000

static void *saver(void *user)
{
    char *bytes = malloc(SIZE);

    for (int i = 0; i < SAVES; i++) {
        memset(bytes, *(char *)user + i % 5, SIZE);
        if (levada_output_save(t_path("shared"), bytes, SIZE, NULL) != LEVADA_OK) break;
        if (i == SAVES - 1) *(char *)user = 0;
    }
    free(bytes);
    return NULL;
}

static void readers_see_complete_files(void **state)
{
    char        who[SAVERS] = {'a', 'f', 'k', 'p'};
    const char *path = t_path("shared");
    char        first[SIZE];
    pthread_t   threads[SAVERS];

    (void)state;
    memset(first, 'z', SIZE);
    assert_int_equal(levada_output_save(path, first, SIZE, NULL), LEVADA_OK);
    for (int i = 0; i < SAVERS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, saver, &who[i]), 0);
    }
    for (int i = 0; i < 500; i++) {
        t_bytes got = t_read_file(path);

        assert_int_equal(got.size, SIZE);
        for (size_t k = 1; k < SIZE; k++) assert_int_equal(got.at[k], got.at[0]);
        t_clear(&got);
    }
    for (int i = 0; i < SAVERS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(who[i], 0); /* no save failed */
    }
    expect_no_temporary();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(appears_at_the_commit),
        cmocka_unit_test(writes_into_the_current_folder),
        cmocka_unit_test(keeps_the_permissions_of_what_it_replaces),
        cmocka_unit_test(takes_the_permissions_that_the_old_file_has_at_the_commit),
        cmocka_unit_test(refuses_links_and_folders),
        cmocka_unit_test(refuses_links_that_appear_later),
        cmocka_unit_test(writes_devices_and_descriptors_directly),
        cmocka_unit_test(leaves_files_alone_in_a_child),
        cmocka_unit_test(readers_see_complete_files),
    };

    return cmocka_run_group_tests(tests, t_folder_set_up, t_folder_tear_down);
}
