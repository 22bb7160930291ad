/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loading is all or nothing, and what the table of the host offers. Arguments of the program: the
 * paths of plugin_refused and plugin_table.
 */
#include "conformance/fault.h"
#include "support/files.h"
#include "support/iters.h"
#include "support/register.h"

#define LEVADA_PLUGIN_HOST_SIDE
#include <dlfcn.h>
#include <levada/plugin.h>
#include <limits.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* Elsewhere dlclose() may leave a library where it is. */
#ifdef __GLIBC__
#define UNLOADS true
#else
#define UNLOADS false
#endif

static const char *library, *table;
static levada_env *env;
static bool        mapped; /* by a test that loaded it: for good */

static int set_up(void **state)
{
    (void)state;
    unsetenv("LEVADA_TEST_PLUGIN");
    return levada_env_create(NULL, &env, NULL) == LEVADA_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    levada_env_destroy(&env);
    return 0;
}

static int32_t names(void)
{
    int32_t n = 0;

    while (levada_registry_at(env, n)) n++;
    return n;
}

/* Nothing is known of the library, and a refusal did not leave it mapped. */
static void left_nothing(int32_t before)
{
    levada_dataset *dataset = NULL;

    assert_int_equal(names(), before);
    assert_null(levada_registry_find(env, "half_first"));
    assert_null(levada_registry_find(env, "half_last"));
    assert_null(levada_registry_filter(env, "half_filter"));
    assert_null(levada_env_plugin(env, "half", NULL));
    assert_null(levada_env_plugin(env, NULL, library));
    assert_int_equal(levada_dataset_parse(env, "range:3 | half_first", &dataset, NULL),
                     LEVADA_EINVALID_ARGUMENT);
    if (UNLOADS && !mapped) assert_null(dlopen(library, RTLD_NOW | RTLD_NOLOAD));
}

static void loads(void)
{
    levada_dataset *dataset = NULL;
    levada_iter    *it = NULL;
    const char     *name = NULL;
    int64_t        *numbers, n = 0;

    assert_int_equal(levada_plugin_load(env, library, &name, NULL), LEVADA_OK);
    assert_string_equal(name, "half");
    mapped = true;
    assert_int_equal(levada_dataset_parse(env, "range:3 | half_first | half_last", &dataset, NULL),
                     LEVADA_OK);
    assert_int_equal(levada_iter_open(dataset, NULL, &it, NULL), LEVADA_OK);
    numbers = t_iter_numbers(it, "value", &n);
    assert_int_equal(n, 3);
    free(numbers);
    levada_iter_close(&it);
    levada_dataset_unref(&dataset);
}

static void refuses(const char *wrong, levada_status code, const char *message)
{
    levada_error err = LEVADA_ERROR_INIT;
    int32_t      before = names();

    assert_int_equal(setenv("LEVADA_TEST_PLUGIN", wrong, 1), 0);
    assert_int_equal(levada_plugin_load(env, library, NULL, &err), code);
    assert_int_equal(err.code, code);
    if (!strstr(err.message, message)) fail_msg("%s: %s", wrong, err.message);
    left_nothing(before);
    unsetenv("LEVADA_TEST_PLUGIN");
}

static levada_status never_called(void *run, const levada_block *in, levada_block **out,
                                  levada_error *err)
{
    (void)run, (void)in, (void)out;
    return levada_fail(err, LEVADA_EINTERNAL, "was called");
}

static void a_good_one_is_loaded_once(void **state)
{
    (void)state;
    int32_t before = names();

    loads();
    loads();
    assert_int_equal(names(), before + 2);
}

static void a_default_whose_stages_do_not_come_is_refused(void **state)
{
    (void)state;
    refuses("defaults, unknown", LEVADA_EINVALID_ARGUMENT,
            "half_b: default of option 'pipe': unknown stage 'half_c'");
    refuses("defaults, loop", LEVADA_EINVALID_ARGUMENT,
            "the default pipelines of half_a, half_b must not contain their own stages");
    refuses("defaults, self", LEVADA_EINVALID_ARGUMENT,
            "the default pipelines of half_a, half_b must not contain their own stages");
}

static void load_fails(const char *path, levada_status code, const char *part)
{
    levada_error err = LEVADA_ERROR_INIT;

    assert_int_equal(levada_plugin_load(env, path, NULL, &err), code);
    if (!strstr(err.message, part) || !strstr(err.message, path)) fail_msg("%s", err.message);
}

static void what_is_no_plugin_is_told(void **state)
{
    (void)state;
    load_fails("no/such/plugin.so", LEVADA_ENOT_FOUND, "does not exist");
    load_fails("/", LEVADA_EINVALID_ARGUMENT, "cannot be loaded");
    t_write_file("t_text.so", "no library\n", 11);
    load_fails("t_text.so", LEVADA_EINVALID_ARGUMENT, "cannot be loaded");
    assert_int_equal(remove("t_text.so"), 0);
}

static int64_t batches(levada_iter *it)
{
    levada_block *block = NULL;
    int64_t       n = 0;

    for (; levada_iter_next(it, &block, NULL) == LEVADA_OK; n++) levada_block_unref(&block);
    return n;
}

static void a_function_of_one_is_a_cost(void **state)
{
    const char *text = "range:6 | reshape:value,shape=[1] | bucket_by_sequence_length:value,"
                       "boundaries=[10],max_tokens=202,cost={c:half_cost}";
    levada_dataset *dataset = NULL;
    levada_iter    *it = NULL;
    levada_error    err = LEVADA_ERROR_INIT;

    (void)state;
    assert_int_equal(levada_dataset_parse(env, text, &dataset, &err), LEVADA_ENOT_FOUND);
    assert_non_null(strstr(err.message, "half_cost"));
    loads();
    assert_int_equal(levada_dataset_parse(env, text, &dataset, NULL), LEVADA_OK);
    assert_int_equal(levada_iter_open(dataset, NULL, &it, NULL), LEVADA_OK);
    assert_int_equal(batches(it), 3); /* two records cost 2 * (1 + 100) */
    levada_iter_close(&it);
    levada_dataset_unref(&dataset);
}

static void functions_are_checked(void **state)
{
    levada_function    *taken = NULL;
    levada_function_def def = {
        .struct_size = sizeof def, .kind = "c", .name = "half_cost", .call = never_called
    };

    (void)state;
    refuses("function, kind", LEVADA_EINVALID_ARGUMENT, "must have the kind c and a name");
    refuses("function, nameless", LEVADA_EINVALID_ARGUMENT, "must have the kind c and a name");
    refuses("function, twice", LEVADA_EALREADY_EXISTS,
            "a function 'half_cost' is registered already");
    assert_int_equal(levada_function_create(&def, NULL, &taken, NULL), LEVADA_OK);
    assert_int_equal(levada_env_add_function(env, taken, NULL), LEVADA_OK);
    levada_function_unref(&taken);
    refuses("", LEVADA_EALREADY_EXISTS, "a function 'half_cost' is registered already");
}

static void names_of_one_that_was_refused_are_free(void **state)
{
    (void)state;
    refuses("broken", LEVADA_EINVALID_ARGUMENT, "half_filter");
    loads();
}

static void one_that_is_refused_leaves_nothing(void **state)
{
    (void)state;
    refuses("taken", LEVADA_EALREADY_EXISTS, "take: the name is registered by a stage");
    refuses("broken", LEVADA_EINVALID_ARGUMENT, "half_filter: a filter needs probe() and decode()");
    refuses("unopened", LEVADA_EINVALID_ARGUMENT,
            "half_filter: a filter needs open(), close() and reset()");
    refuses("twice", LEVADA_EALREADY_EXISTS,
            "half_first: the name is registered by a stage of plug-in half");
    refuses("nameless", LEVADA_EINVALID_ARGUMENT, "a plug-in must set its name");
    refuses("fails", LEVADA_EUNAVAILABLE, "no licence");
    refuses("abi", LEVADA_EINVALID_ARGUMENT,
            "was compiled for plug-in ABI 6, but this levada has 5");
    refuses("newer", LEVADA_EINVALID_ARGUMENT, "was compiled for a newer levada");
}

static void a_refusal_that_the_plugin_ignores_counts(void **state)
{
    (void)state;
    refuses("ignored", LEVADA_EALREADY_EXISTS, "take: the name is registered by a stage");
}

static void a_library_of_a_name_that_is_taken_leaves_nothing(void **state)
{
    levada_error err = LEVADA_ERROR_INIT;
    int32_t      before = names();

    (void)state;
    assert_int_equal(t_enter_plugin(env, "half", "/lib/half.so", 3), LEVADA_OK);
    assert_int_equal(levada_plugin_load(env, library, NULL, &err), LEVADA_EALREADY_EXISTS);
    assert_string_equal(err.message, "a plug-in 'half' is loaded already, from /lib/half.so");
    assert_int_equal(names(), before);
    assert_null(levada_registry_find(env, "half_first"));
}

static void without_memory_nothing_is_left(void **state)
{
    levada_status st = LEVADA_ERESOURCE_EXHAUSTED;

    (void)state;
    for (int64_t i = 0; st != LEVADA_OK; i++) {
        int32_t before = names();
        int64_t live = fault_live();

        assert_int_equal(setenv("LEVADA_TEST_PLUGIN", "defaults", 1), 0);
        fault_arm(i);
        st = levada_plugin_load(env, library, NULL, NULL);
        fault_disarm();
        unsetenv("LEVADA_TEST_PLUGIN");
        if (st == LEVADA_OK) break;
        assert_int_equal(st, LEVADA_ERESOURCE_EXHAUSTED);
        assert_int_equal(fault_live(), live);
        left_nothing(before);
        assert_in_range(i, 0, 1000);
    }
    loads();
}

/* -- threads */

typedef struct loader {
    pthread_t     thread;
    levada_status st;
    levada_error  err;
    const char   *name;
} loader;

static void *load(void *user)
{
    loader *l = user;

    l->st = levada_plugin_load(env, library, &l->name, &l->err);
    return NULL;
}

#define LOADERS 3

static void load_at_once(loader *loaders, const char *how)
{
    assert_int_equal(setenv("LEVADA_TEST_PLUGIN", how, 1), 0);
    memset(loaders, 0, LOADERS * sizeof *loaders);
    for (int i = 0; i < LOADERS; i++) {
        assert_int_equal(pthread_create(&loaders[i].thread, NULL, load, &loaders[i]), 0);
    }
    for (int i = 0; i < LOADERS; i++) assert_int_equal(pthread_join(loaders[i].thread, NULL), 0);
    unsetenv("LEVADA_TEST_PLUGIN");
}

static void threads_that_load_it_at_once_share_it(void **state)
{
    loader  loaders[LOADERS];
    int32_t before = names();

    (void)state;
    load_at_once(loaders, "slow");
    mapped = true;
    for (int i = 0; i < LOADERS; i++) {
        if (loaders[i].st != LEVADA_OK) fail_msg("%s", loaders[i].err.message);
        assert_string_equal(loaders[i].name, "half");
    }
    assert_int_equal(names(), before + 2);
    loads();
}

static void threads_that_load_it_at_once_get_the_same_error(void **state)
{
    loader  loaders[LOADERS];
    int32_t before = names();

    (void)state;
    load_at_once(loaders, "slow, fails");
    for (int i = 0; i < LOADERS; i++) {
        assert_int_equal(loaders[i].st, LEVADA_EUNAVAILABLE);
        assert_string_equal(loaders[i].err.message, "no licence");
    }
    left_nothing(before);
}

/* -- the table of the host (plugin_table.c) */

static levada_status load_table(const char *how, levada_error *err)
{
    levada_status st;

    assert_int_equal(setenv("LEVADA_TEST_PLUGIN", how, 1), 0);
    st = levada_plugin_load(env, table, NULL, err);
    unsetenv("LEVADA_TEST_PLUGIN");
    return st;
}

static void refuses_table(const char *how, const char *message)
{
    levada_error err = LEVADA_ERROR_INIT;
    int32_t      before = names();

    assert_true(load_table(how, &err) < 0);
    if (!strstr(err.message, message)) fail_msg("%s: %s", how, err.message);
    assert_int_equal(names(), before);
}

/* None of them comes as far as the call of an entry that is not there, which would be a crash. */
static void one_that_needs_a_longer_table_is_left_again(void **state)
{
    (void)state;
    refuses_table("newer", "was compiled for a newer levada: it needs");
    refuses_table("older", "failed to register: unimplemented");
    refuses_table("abi", "failed to register: unimplemented");
}

static void one_that_needs_no_more_than_an_older_host_has_is_loaded(void **state)
{
    levada_error err = LEVADA_ERROR_INIT;
    int32_t      before = names();

    (void)state;
    if (load_table("fits", &err) != LEVADA_OK) fail_msg("%s", err.message);
    assert_int_equal(names(), before + 1);
}

/* Records of a pipe, read to the end. */
static t_bytes records(const char *text, const char *errors)
{
    levada_iter_options o = LEVADA_ITER_OPTIONS_INIT;
    levada_dataset     *dataset = NULL;
    levada_iter        *it = NULL;
    levada_error        err = LEVADA_ERROR_INIT;
    t_bytes             all = { 0 };

    o.seed = 11;
    o.threads = 1;
    o.block_rows = 3;
    o.errors = errors;
    if (levada_dataset_parse(env, text, &dataset, &err) != LEVADA_OK
        || levada_iter_open(dataset, &o, &it, &err) != LEVADA_OK) {
        fail_msg("%s: %s", text, err.message);
    }
    (void)t_iter_read(it, -1, false, &all);
    levada_iter_close(&it);
    levada_dataset_unref(&dataset);
    return all;
}

/* half_a waits for half_b, and that for half_last. */
static void a_default_may_have_stages_of_the_same_plugin(void **state)
{
    levada_error    err = LEVADA_ERROR_INIT;
    levada_dataset *dataset = NULL;
    int32_t         before = names();
    t_bytes         a, b;

    (void)state;
    assert_int_equal(setenv("LEVADA_TEST_PLUGIN", "defaults", 1), 0);
    if (levada_plugin_load(env, library, NULL, &err) != LEVADA_OK) fail_msg("%s", err.message);
    unsetenv("LEVADA_TEST_PLUGIN");
    mapped = true;
    assert_int_equal(names(), before + 4);
    assert_int_equal(levada_dataset_parse(env, "range:3 | half_a", &dataset, &err), LEVADA_OK);
    levada_dataset_unref(&dataset);
    a = records("range:3 | half_a | half_b:pipe=(range:4)", NULL);
    b = records("range:3", NULL);
    t_bytes_equal(b, a, "half_a");
    t_clear(&a);
    t_clear(&b);
}

static void gives_alike(const char *text, const char *errors, const char *like)
{
    t_bytes a = records(text, errors), b = records(like, NULL);

    t_bytes_equal(b, a, text);
    t_clear(&a);
    t_clear(&b);
}

static void entries_of_the_table_do_what_their_names_say(void **state)
{
    const char  *lines = "one\ntwo, which is longer\n\nx\nfive, the last one";
    const char  *json = "{\"n\": 3}\nno json\n{\"n\": 5}\n";
    levada_error err = LEVADA_ERROR_INIT;

    (void)state;
    t_write_file(t_path("lines.txt"), lines, strlen(lines));
    t_write_file(t_path("json.txt"), json, strlen(json));
    if (levada_plugin_load(env, table, NULL, &err) != LEVADA_OK) fail_msg("%s", err.message);
    assert_int_equal(chdir(t_path("")), 0);
    gives_alike("table_lines:lines.txt", NULL, "text_lines:lines.txt");
    gives_alike("table_lines:lines.txt | table_some:100", "skip",
                "text_lines:lines.txt | filter:\"len(line) > 1\"");
    gives_alike("text_lines:json.txt | table_numbers | table_views", "skip",
                "range:7 | filter:\"value in [3, 5]\" | rename:{value:n}");
    assert_int_equal(chdir("/"), 0);
}

static void the_size_of_a_file_does_not_depend_on_where_it_is_read(void **state)
{
    const levada_host *host = levada_plugin_table();
    levada_bytes      *bytes = NULL;
    char               at[4];
    int64_t            made = 0;
    t_bytes            packed;

    (void)state;
    t_write_file(t_path("f"), "0123456789", 10);
    assert_int_equal(host->bytes_open(env, t_path("f"), "none", &bytes, NULL), LEVADA_OK);
    assert_int_equal(host->bytes_size(bytes), 10);
    assert_int_equal(host->bytes_seek(bytes, host->bytes_size(bytes) - 4, NULL), LEVADA_OK);
    assert_int_equal(host->bytes_read(bytes, at, 4, &made, NULL), LEVADA_OK);
    assert_memory_equal(at, "6789", 4);
    assert_int_equal(host->bytes_size(bytes), 10);
    host->bytes_close(&bytes);
    if (!t_can("zlib")) return;
    packed = t_encode("zlib", "0123456789", 10, 0);
    t_write_file(t_path("z"), packed.at, packed.size);
    t_clear(&packed);
    assert_int_equal(host->bytes_open(env, t_path("z"), "zlib", &bytes, NULL), LEVADA_OK);
    assert_int_equal(host->bytes_size(bytes), -1);
    host->bytes_close(&bytes);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(functions_are_checked, set_up, tear_down),
        cmocka_unit_test_setup_teardown(one_that_is_refused_leaves_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_refusal_that_the_plugin_ignores_counts, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_library_of_a_name_that_is_taken_leaves_nothing, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(threads_that_load_it_at_once_get_the_same_error, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(threads_that_load_it_at_once_share_it, set_up, tear_down),
        cmocka_unit_test_setup_teardown(without_memory_nothing_is_left, set_up, tear_down),
        cmocka_unit_test_setup_teardown(names_of_one_that_was_refused_are_free, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_default_whose_stages_do_not_come_is_refused, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_good_one_is_loaded_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_function_of_one_is_a_cost, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_no_plugin_is_told, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_default_may_have_stages_of_the_same_plugin, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(one_that_needs_a_longer_table_is_left_again, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(one_that_needs_no_more_than_an_older_host_has_is_loaded,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_size_of_a_file_does_not_depend_on_where_it_is_read,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(entries_of_the_table_do_what_their_names_say, set_up,
                                        tear_down),
    };

    static char path[PATH_MAX];

    if (argc < 3) return 77;
    library = argv[1];
    table = realpath(argv[2], path); /* a test changes the folder */
    if (!table) return 1;
    return cmocka_run_group_tests(tests, t_folder_set_up, t_folder_tear_down);
}
