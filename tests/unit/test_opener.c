/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Openers that are registered: what is read through them, and which calls are made when. One of
 * them is the example plug-in.
 */
#define LEVADA_PLUGIN_HOST_SIDE
#include "files/opener.h"

#include "files/bytes.h"
#include "files/window.h"
#include "registry/registry.h"
#include "support/iters.h"

#include <levada/plugin.h>

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* -- "mem://N" has a line with N in it, "mem://slow" waits to be cancelled, "mem://large" has an
 * empty line for each byte */

#define LARGE (INT64_C(4) << 20)

typedef struct store {
    atomic_int  opened, looked, measured;
    atomic_int  look; /* what `look` returns in place of sizes; 0 = sizes */
    const char *version;
} store;

typedef struct stored {
    store               *of;
    const levada_cancel *cancel;
    bool                 slow, large;
    char                 text[32];
} stored;

static levada_status store_open(void *user, const char *path, const levada_cancel *cancel,
                                void **out, levada_error *err)
{
    store  *s = user;
    stored *file;

    (void)atomic_fetch_add(&s->opened, 1);
    if (strcmp(path, "mem://none") == 0) return levada_fail(err, LEVADA_ENOT_FOUND, "no such key");
    file = calloc(1, sizeof *file);
    assert_non_null(file);
    file->of = s;
    file->cancel = cancel;
    file->slow = strcmp(path, "mem://slow") == 0;
    file->large = strcmp(path, "mem://large") == 0;
    (void)snprintf(file->text, sizeof file->text, "%s\n", path + 6);
    *out = file;
    return LEVADA_OK;
}

static levada_status store_size(void *file, int64_t *out, levada_error *err)
{
    const stored *s = file;

    (void)err;
    (void)atomic_fetch_add(&s->of->measured, 1);
    *out = s->large ? LARGE : (int64_t)strlen(s->text);
    return LEVADA_OK;
}

static levada_status store_read_at(void *file, int64_t offset, uint8_t *data, int64_t size,
                                   int64_t *made, levada_error *err)
{
    stored *s = file;
    int64_t left = (s->large ? LARGE : (int64_t)strlen(s->text)) - offset;

    while (s->slow && !levada_cancel_requested(s->cancel)) (void)usleep(100);
    if (s->slow) return levada_fail(err, LEVADA_ECANCELLED, "cancelled");
    *made = size < left ? size : left;
    if (s->large) memset(data, '\n', (size_t)*made);
    else memcpy(data, s->text + offset, (size_t)*made);
    return LEVADA_OK;
}

static const char *store_version(void *file) { return ((stored *)file)->of->version; }

static int64_t store_look(void *user, const char *path)
{
    store *s = user;

    (void)atomic_fetch_add(&s->looked, 1);
    if (atomic_load(&s->look)) return atomic_load(&s->look);
    return strcmp(path, "mem://none") == 0 ? LEVADA_FILE_MISSING : (int64_t)strlen(path + 6) + 1;
}

static store memory;

static const levada_opener_def opener = {
    .struct_size = sizeof(levada_opener_def),
    .name = "mem",
    .user = &memory,
    .open = store_open,
    .close = free,
    .size = store_size,
    .read_at = store_read_at,
    .version = store_version,
    .look = store_look,
};

/* "tagged://PATH" is the local file, with a version. */
static levada_status tagged_open(void *user, const char *path, const levada_cancel *cancel,
                                 void **out, levada_error *err)
{
    return levada_opener_find(NULL, "/")->open(user, path + strlen("tagged://"), cancel, out, err);
}

static const char *tagged_version(void *file)
{
    (void)file;
    return "v1";
}

static levada_status store_main(const levada_host *host, levada_plugin *plugin, levada_error *err)
{
    LEVADA_PLUGIN_BEGIN(host, plugin, "store", 1);
    levada_opener_def tagged = *levada_opener_find(NULL, "/");

    tagged.name = "tagged";
    tagged.open = tagged_open;
    tagged.version = tagged_version;
    tagged.look = NULL;
    LEVADA_TRY(host->add_opener(plugin, &tagged, err));
    return host->add_opener(plugin, &opener, err);
}

/* levada_plugin_main of plugins/example/memory.c. */
levada_status memory_main(const levada_host *host, levada_plugin *plugin, levada_error *err);

static levada_env *env;

static int set_up(void **state)
{
    (void)state;
    if (levada_env_create(NULL, &env, NULL) != LEVADA_OK) return 1;
    if (levada_plugin_register(env, memory_main, NULL, NULL) != LEVADA_OK) return 1;
    return levada_plugin_register(env, store_main, NULL, NULL) == LEVADA_OK ? 0 : 1;
}

static int tear_down(void **state)
{
    (void)state;
    levada_env_unref(&env);
    return 0;
}

/* -- datasets of such files */

/* text_lines over mem://0, mem://1, ... */
static levada_iter *open_lines(int files, const char *errors, bool missing)
{
    levada_iter_options options = LEVADA_ITER_OPTIONS_INIT;
    levada_value       *map = levada_value_map(), *list = levada_value_list();
    levada_dataset     *dataset = NULL;
    levada_iter        *it = NULL;

    for (int i = 0; i < files; i++) {
        char          path[32];
        levada_value *text;

        (void)snprintf(path, sizeof path, missing && i == 0 ? "mem://none" : "mem://%d", i);
        text = levada_value_text(path, strlen(path));
        assert_int_equal(levada_value_push(list, &text, NULL), LEVADA_OK);
    }
    assert_int_equal(levada_value_set(map, "files", &list, NULL), LEVADA_OK);
    assert_int_equal(levada_dataset_append(env, "text_lines", map, NULL, 0, &dataset, NULL),
                     LEVADA_OK);
    options.threads = 1;
    options.errors = errors;
    assert_int_equal(levada_iter_open(dataset, &options, &it, NULL), LEVADA_OK);
    levada_value_destroy(&map);
    levada_dataset_unref(&dataset);
    atomic_store(&memory.opened, 0);
    atomic_store(&memory.looked, 0);
    return it;
}

static void reads_files_of_any_opener(void **state)
{
    levada_iter *it = open_lines(3, NULL, false);
    t_bytes      rows = { 0 };

    (void)state;
    assert_int_equal(t_iter_read(it, -1, false, &rows), 3);
    assert_int_equal(atomic_load(&memory.opened), 3);
    levada_iter_close(&it);
    it = open_lines(3, "skip", true); /* the policy handles its missing files, too */
    t_clear(&rows);
    assert_int_equal(t_iter_read(it, -1, false, &rows), 2);
    assert_int_equal(t_iter_stat(it, "missing_files"), 1);
    levada_iter_close(&it);
    t_clear(&rows);
}

/* Whether a version that changes between the first record and the last is noted. */
static void a_version_that_changes_is_noted(void **state)
{
    static const char *const versions[][2] = { { "1", "2" }, { "1", "1" }, { "W/1", "W/2" } };

    (void)state;
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++) {
        levada_iter *it;
        t_bytes      rows = { 0 };
        char        *stats = NULL;

        memory.version = versions[i][0];
        it = open_lines(1, NULL, false);
        assert_int_equal(t_iter_read(it, 1, false, &rows), 1);
        memory.version = versions[i][1];
        assert_int_equal(t_iter_read(it, -1, false, &rows), 0);
        assert_int_equal(levada_iter_stats(it, &stats, NULL), LEVADA_OK);
        assert_int_equal(strstr(stats, "written to while it was read") != NULL, i != 1);
        levada_string_free(&stats);
        levada_iter_close(&it);
        t_clear(&rows);
    }
    memory.version = NULL;
}

/* Not for each chunk of it: that is a call of the system, or of a server. */
static void a_file_is_measured_a_few_times(void **state)
{
    levada_iter_options options = LEVADA_ITER_OPTIONS_INIT;
    levada_dataset     *dataset = NULL;
    levada_iter        *it = NULL;
    t_bytes             rows = { 0 };

    (void)state;
    assert_int_equal(levada_dataset_parse(env, "text_lines:\"mem://large\"", &dataset, NULL),
                     LEVADA_OK);
    options.threads = 1;
    assert_int_equal(levada_iter_open(dataset, &options, &it, NULL), LEVADA_OK);
    atomic_store(&memory.measured, 0);
    assert_int_equal(t_iter_read(it, -1, false, &rows), LARGE / 256);
    assert_true(atomic_load(&memory.measured) < LARGE / LEVADA_STEP / 2);
    levada_iter_close(&it);
    levada_dataset_unref(&dataset);
    t_clear(&rows);
}

/* A pattern that an opener cannot list is not a pattern without files. */
static void a_pattern_needs_a_list(void **state)
{
    static const char *const lines[] = { "text_lines:\"mem://*\"", "text_lines:\"mem://*.txt\"" };

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        levada_dataset *dataset = NULL;
        levada_iter    *it = NULL;
        levada_error    err = LEVADA_ERROR_INIT;

        assert_int_equal(levada_dataset_parse(env, lines[i], &dataset, NULL), LEVADA_OK);
        assert_int_equal(levada_iter_open(dataset, NULL, &it, &err), LEVADA_EUNIMPLEMENTED);
        assert_non_null(strstr(err.message, "does not list names"));
        assert_non_null(strstr(err.file, "mem://*"));
        levada_dataset_unref(&dataset);
    }
}

static void local_names_stay_local(void **state)
{
    (void)state;
    assert_string_equal(levada_opener_find(env, "mem://a")->name, "mem");
    assert_string_equal(levada_opener_find(env, "MEM://a")->name, "mem");
    assert_string_equal(levada_opener_find(env, "memory://mem://a")->name, "memory");
    assert_string_equal(levada_opener_find(env, "mem:/a")->name, "");
    assert_string_equal(levada_opener_find(env, "://a")->name, "");
    assert_string_equal(levada_opener_find(env, "/mem://a")->name, "");
    assert_string_equal(levada_opener_find(NULL, "mem://a")->name, "");
}

static void the_example_has_its_lines(void **state)
{
    levada_dataset *dataset = NULL;
    levada_iter    *it = NULL;
    t_bytes         rows = { 0 };

    (void)state;
    assert_int_equal(levada_dataset_parse(env, "text_lines:memory://greeting", &dataset, NULL),
                     LEVADA_OK);
    assert_int_equal(levada_iter_open(dataset, NULL, &it, NULL), LEVADA_OK);
    (void)t_iter_read(it, -1, false, &rows);
    assert_int_equal(t_iter_stat(it, "records"), 3);
    levada_iter_close(&it);
    levada_dataset_unref(&dataset);
    t_clear(&rows);
}

static void refuses(const levada_opener_def *def, levada_status status, const char *text)
{
    levada_op      *op = NULL;
    levada_registry *names = levada_env_registry(env);
    levada_error    err = LEVADA_ERROR_INIT;
    levada_status   st = levada_op_create(LEVADA_FAMILY_OPENER, def, NULL, &op, &err);

    if (st == LEVADA_OK) st = levada_registry_insert(names, &op, 1, &err);
    assert_int_equal(st, status);
    if (!strstr(err.message, text)) fail_msg("%s", err.message);
    levada_op_destroy(&op);
}

static void an_opener_is_checked(void **state)
{
    levada_opener_def def = opener;

    (void)state;
    refuses(&def, LEVADA_EALREADY_EXISTS,
            "mem: the name is registered by an opener of plug-in store");
    def.name = "Mem";
    refuses(&def, LEVADA_EINVALID_ARGUMENT, "Mem: a name must have 1 to 40 characters of a-z");
    def.name = "other";
    def.read_at = NULL;
    refuses(&def, LEVADA_EINVALID_ARGUMENT, "an opener needs open(), close(), size() and read_at");
    def.read_at = store_read_at;
    def.struct_size = 0;
    refuses(&def, LEVADA_EINVALID_ARGUMENT, "struct_size=0");
}

static void measures_no_file_before_it_has_to(void **state)
{
    const int    files = 20000;
    levada_iter *it = open_lines(files, NULL, false);
    t_bytes      rows = { 0 }, saved;
    int64_t      done, total;

    (void)state;
    assert_int_equal(t_iter_read(it, 2, false, &rows), 2);
    assert_int_equal(atomic_load(&memory.opened), 2);
    assert_int_equal(t_iter_stat(it, "records"), 2);
    assert_int_equal(atomic_load(&memory.looked), 0);
    levada_iter_progress(it, &done, &total); /* measures all but the two that were opened */
    assert_int_equal(atomic_load(&memory.looked), files - 2);
    assert_int_equal(total, 10 * 2 + 90 * 3 + 900 * 4 + 9000 * 5 + 10000 * 6);
    saved = t_iter_save(it);
    assert_int_equal(atomic_load(&memory.looked), files - 2); /* once */
    levada_iter_close(&it);
    it = open_lines(files, NULL, false);
    assert_int_equal(atomic_load(&memory.looked), 0);
    t_iter_restore(it, saved);
    assert_int_equal(atomic_load(&memory.looked), files);
    assert_int_equal(t_iter_read(it, -1, false, &rows), files - 2);
    levada_iter_close(&it);
    t_clear(&saved);
    t_clear(&rows);
}

static void a_save_measures_the_files_once(void **state)
{
    levada_iter *it = open_lines(100, NULL, false);
    t_bytes      rows = { 0 }, saved;

    (void)state;
    assert_int_equal(t_iter_read(it, 1, false, &rows), 1);
    for (int i = 0; i < 3; i++) {
        saved = t_iter_save(it);
        t_clear(&saved);
        assert_int_equal(atomic_load(&memory.looked), 99);
    }
    levada_iter_close(&it);
    t_clear(&rows);
}

static void a_version_is_part_of_the_mark(void **state)
{
    levada_iter  *it = open_lines(3, NULL, false);
    t_bytes       rows = { 0 }, saved;
    levada_error  err = LEVADA_ERROR_INIT;

    (void)state;
    assert_int_equal(t_iter_read(it, 1, false, &rows), 1);
    saved = t_iter_save(it);
    levada_iter_close(&it);
    memory.version = "v2";
    it = open_lines(3, NULL, false);
    assert_int_equal(levada_iter_restore(it, saved.at, saved.size, &err),
                     LEVADA_EFAILED_PRECONDITION);
    assert_non_null(strstr(err.message, "mem://0 was changed"));
    assert_non_null(strstr(err.message, "its version differs (it was replaced)"));
    memory.version = NULL;
    t_iter_restore(it, saved);
    levada_iter_close(&it);
    memory.version = "W/2"; /* of this copy only */
    it = open_lines(3, NULL, false);
    t_iter_restore(it, saved);
    levada_iter_close(&it);
    memory.version = NULL;
    t_clear(&saved);
    t_clear(&rows);
}

/* With `saved`, `look` is what it is at the save; else what it is at the restore. */
static levada_status restore_with_look(int files, int look, bool saved, levada_error *err)
{
    levada_iter  *it = open_lines(files, NULL, false);
    t_bytes       rows = { 0 }, state;
    levada_status st;

    assert_int_equal(t_iter_read(it, 2, false, &rows), 2);
    atomic_store(&memory.look, saved ? look : 0);
    state = t_iter_save(it);
    levada_iter_close(&it);
    it = open_lines(files, NULL, false);
    atomic_store(&memory.look, saved ? 0 : look);
    *err = (levada_error)LEVADA_ERROR_INIT;
    st = levada_iter_restore(it, state.at, state.size, err);
    atomic_store(&memory.look, 0);
    if (st == LEVADA_OK) assert_int_equal(t_iter_read(it, -1, false, &rows), files - 2);
    levada_iter_close(&it);
    t_clear(&state);
    t_clear(&rows);
    return st;
}

static void an_unknown_size_is_not_compared(void **state)
{
    static const int files[] = { 3, 64, 65, 300 };
    levada_error     err;

    (void)state;
    for (int i = 0; i < 4; i++) {
        assert_int_equal(restore_with_look(files[i], -1, true, &err), LEVADA_OK);
        assert_int_equal(restore_with_look(files[i], -1, false, &err), LEVADA_OK);
        assert_int_equal(restore_with_look(files[i], 5, false, &err), LEVADA_EFAILED_PRECONDITION);
        assert_int_equal(restore_with_look(files[i], LEVADA_FILE_MISSING, false, &err),
                         LEVADA_EFAILED_PRECONDITION);
    }
    assert_int_equal(restore_with_look(3, LEVADA_FILE_MISSING, false, &err),
                     LEVADA_EFAILED_PRECONDITION);
    assert_non_null(strstr(err.message, "is missing now"));
    assert_int_equal(restore_with_look(3, LEVADA_FILE_MISSING, true, &err),
                     LEVADA_EFAILED_PRECONDITION);
    assert_non_null(strstr(err.message, "was missing when the checkpoint was saved"));
}

static void an_index_of_a_local_copy_is_accepted(void **state)
{
    char                 text[LEVADA_ERROR_TEXT];
    levada_index_options options = LEVADA_INDEX_OPTIONS_INIT;
    levada_dataset *dataset = NULL;
    levada_iter    *it = NULL;
    t_bytes         rows = { 0 };
    levada_error    err = LEVADA_ERROR_INIT;

    t_folder_set_up(state);
    t_write_file(t_path("lines"), "a\nb\nc\n", 6);
    options.source = "text_lines";
    assert_int_equal(levada_inspect_index(env, t_path("lines"), &options, NULL, &err), LEVADA_OK);
    (void)snprintf(text, sizeof text, "text_lines:\"tagged://%s\",index=true,part=[1,3]",
                   t_path("lines"));
    assert_int_equal(levada_dataset_parse(env, text, &dataset, &err), LEVADA_OK);
    assert_int_equal(levada_iter_open(dataset, NULL, &it, &err), LEVADA_OK);
    assert_int_equal(t_iter_read(it, -1, false, &rows), 1);
    levada_iter_close(&it);
    levada_dataset_unref(&dataset);
    t_clear(&rows);
    t_folder_tear_down(state);
}

static void *cancel_later(void *flag)
{
    (void)usleep(1000);
    atomic_store((atomic_bool *)flag, true);
    return NULL;
}

static void a_read_that_waits_is_cancelled(void **state)
{
    atomic_bool          cancelled = false;
    levada_bytes_options options = { .compression = "none", .cancelled = &cancelled };
    levada_bytes        *bytes = NULL;
    levada_error         err = LEVADA_ERROR_INIT;
    pthread_t            thread;

    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, cancel_later, &cancelled), 0);
    assert_int_equal(levada_bytes_open(env, "mem://slow", &options, &bytes, &err),
                     LEVADA_ECANCELLED);
    assert_string_equal(err.file, "mem://slow");
    assert_int_equal(pthread_join(thread, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_files_of_any_opener),
        cmocka_unit_test(a_file_is_measured_a_few_times),
        cmocka_unit_test(a_pattern_needs_a_list),
        cmocka_unit_test(local_names_stay_local),
        cmocka_unit_test(the_example_has_its_lines),
        cmocka_unit_test(an_opener_is_checked),
        cmocka_unit_test(measures_no_file_before_it_has_to),
        cmocka_unit_test(a_save_measures_the_files_once),
        cmocka_unit_test(a_version_is_part_of_the_mark),
        cmocka_unit_test(a_version_that_changes_is_noted),
        cmocka_unit_test(an_unknown_size_is_not_compared),
        cmocka_unit_test(an_index_of_a_local_copy_is_accepted),
        cmocka_unit_test(a_read_that_waits_is_cancelled),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
