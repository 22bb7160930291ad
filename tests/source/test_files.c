/* SPDX-License-Identifier: Apache-2.0 */
#include "support/iters.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef struct files_run {
    const levada_op *op;
    void            *args, *state;
    levada_spec     *spec;
    levada_context   context;
} files_run;

static levada_status run_open(files_run *run, const char *const *patterns, int64_t n, bool shuffle,
                              int64_t epoch)
{
    const levada_source_def *def;

    run->op = levada_registry_find(NULL, "files");
    assert_non_null(run->op);
    def = &run->op->def.source;
    run->args = calloc(1, run->op->args_size);
    run->state = calloc(1, def->state_size);
    for (const levada_arg *a = run->op->args; a->name; a++) {
        uint8_t *at = (uint8_t *)run->args + a->offset;

        if (strcmp(a->name, "pattern") == 0) {
            *(levada_texts *)(void *)at = (levada_texts){patterns, n};
        }
        if (strcmp(a->name, "shuffle") == 0) *(bool *)(void *)at = shuffle;
    }
    assert_int_equal(def->check(run->args, &run->spec, NULL), LEVADA_OK);
    run->context = (levada_context){.seed = 7, .epoch = epoch, .block_rows = 4, .out = run->spec};
    return def->open(run->state, run->args, &run->context, NULL);
}

static void run_close(files_run *run)
{
    run->op->def.source.close(run->state);
    levada_spec_unref(&run->spec);
    free(run->state);
    free(run->args);
}

/* The last letters of the names, in order. */
static void run_letters(files_run *run, char *out)
{
    levada_block *block = NULL;
    levada_status st;

    while ((st = run->op->def.source.next(run->state, run->args, &block, NULL)) == LEVADA_OK) {
        assert_in_range(levada_block_rows(block), 1, 4);
        for (int64_t i = 0; i < levada_block_rows(block); i++) {
            int64_t        size;
            const uint8_t *path = levada_column_bytes(levada_block_at(block, 0), i, &size);

            *out++ = (char)path[size - 1];
        }
        levada_block_unref(&block);
    }
    assert_int_equal(st, LEVADA_END);
    *out = '\0';
}

static void letters(const char *pattern, bool shuffle, int64_t epoch, char *out)
{
    files_run run;

    assert_int_equal(run_open(&run, &pattern, 1, shuffle, epoch), LEVADA_OK);
    run_letters(&run, out);
    run_close(&run);
}

static void names_files_in_order(void **state)
{
    char out[16];

    (void)state;
    letters(t_path("f-*"), false, 0, out);
    assert_string_equal(out, "abcdefghij");
    letters(t_path("f-[b-d]"), false, 3, out);
    assert_string_equal(out, "bcd");
    letters(t_path("f-b"), false, 0, out);
    assert_string_equal(out, "b");
}

static void shuffles_by_epoch_alone(void **state)
{
    char first[16], again[16], other[16];

    (void)state;
    letters(t_path("f-*"), true, 0, first);
    letters(t_path("f-*"), true, 0, again);
    letters(t_path("f-*"), true, 1, other);
    assert_int_equal(strlen(first), 10);
    assert_string_equal(first, again);
    assert_string_not_equal(first, other);
    assert_string_not_equal(first, "abcdefghij");
}

static void refuses_a_pattern_without_files(void **state)
{
    const char *pattern = t_path("g-*");
    files_run   run;

    (void)state;
    assert_int_equal(run_open(&run, &pattern, 1, false, 0), LEVADA_ENOT_FOUND);
    run_close(&run);
}

static void fetches_names_by_number(void **state)
{
    const char   *pattern = t_path("f-*");
    const int64_t numbers[] = {1, 4, 9};
    files_run     run;
    levada_block *block = NULL;
    t_bytes       text = {0};

    (void)state;
    assert_int_equal(run_open(&run, &pattern, 1, false, 0), LEVADA_OK);
    assert_int_equal(run.op->def.source.at(run.state, run.args, numbers, 3, &block, NULL),
                     LEVADA_OK);
    t_rows(block, &text);
    assert_non_null(strstr((char *)text.at, "f-b@"));
    assert_non_null(strstr((char *)text.at, "f-j@"));
    levada_block_unref(&block);
    t_clear(&text);
    run_close(&run);
}

/* -- as part of a pipe */

static const char *pipe_of(const char *rest)
{
    static char text[512];

    (void)snprintf(text, sizeof text, "files:%s%s", t_path("f-*"), rest);
    return text;
}

static void shuffles_anew_in_each_round(void **state)
{
    t_bytes once = t_iter_all(pipe_of(",shuffle=true"), false), all;
    size_t  size = once.size;

    (void)state;
    all = t_iter_all(pipe_of(",shuffle=true | repeat:3"), false);
    assert_int_equal(all.size, 3 * size);
    assert_memory_equal(all.at, once.at, size);
    assert_memory_not_equal(all.at, all.at + size, size);
    assert_memory_not_equal(all.at + size, all.at + 2 * size, size);
    t_clear(&all);
    all = t_iter_all(pipe_of(" | repeat:2"), false);
    assert_memory_equal(all.at, all.at + size, size);
    t_clear(&all);
    t_clear(&once);
}

/* Also records of an earlier round, which wait and are read again. */
static void goes_on_in_every_round(void **state)
{
    (void)state;
    t_iter_sweep(pipe_of(",shuffle=true | repeat:3"), false, 1);
    t_iter_sweep(pipe_of(",shuffle=true | repeat:3 | shuffle:13"), false, 1);
}

static void restore_is_refused(t_bytes saved, const char *message)
{
    levada_iter *it = t_iter_open(pipe_of(""), 1, 4);
    levada_error err = LEVADA_ERROR_INIT;

    assert_int_equal(levada_iter_restore(it, saved.at, saved.size, &err),
                     LEVADA_EFAILED_PRECONDITION);
    if (!strstr(err.message, message)) fail_msg("'%s' is not in '%s'", message, err.message);
    levada_iter_close(&it);
}

/* The number of files stays: without their names one would never be read. */
static void refuses_other_names_by_name(void **state)
{
    levada_iter *it = t_iter_open(pipe_of(""), 1, 4);
    t_bytes      head = { 0 }, saved;
    char         from[256], to[256];

    (void)state;
    (void)t_iter_read(it, 1, false, &head);
    saved = t_iter_save(it);
    (void)snprintf(from, sizeof from, "%s", t_path("f-h"));
    (void)snprintf(to, sizeof to, "%s", t_path("f-A"));
    assert_int_equal(rename(from, to), 0);
    restore_is_refused(saved, "f-A', but had another name");
    assert_int_equal(rename(to, from), 0);
    t_iter_restore(it, saved);
    levada_iter_close(&it);
    t_clear(&saved);
    t_clear(&head);
}

static void refuses_other_names_among_many(void **state)
{
    levada_iter *it;
    t_bytes      saved;
    char         name[32], from[256], to[256];

    (void)state;
    for (int i = 0; i < 200; i++) {
        (void)snprintf(name, sizeof name, "f-%03d", i);
        t_write_file(t_path(name), "", 0);
    }
    it = t_iter_open(pipe_of(""), 1, 4);
    saved = t_iter_save(it);
    (void)snprintf(from, sizeof from, "%s", t_path("f-150"));
    (void)snprintf(to, sizeof to, "%s", t_path("f-150x"));
    assert_int_equal(rename(from, to), 0);
    restore_is_refused(saved, "f-150x");
    levada_iter_close(&it);
    t_clear(&saved);
}

static int set_up(void **state)
{
    char name[8];

    (void)state;
    if (!t_folder()) return 1;
    for (int i = 9; i >= 0; i--) {
        (void)snprintf(name, sizeof name, "f-%c", 'a' + i);
        t_write_file(t_path(name), "", 0);
    }
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_files_in_order),
        cmocka_unit_test(shuffles_by_epoch_alone),
        cmocka_unit_test(refuses_a_pattern_without_files),
        cmocka_unit_test(fetches_names_by_number),
        cmocka_unit_test(shuffles_anew_in_each_round),
        cmocka_unit_test(goes_on_in_every_round),
        cmocka_unit_test(refuses_other_names_by_name),
        cmocka_unit_test(refuses_other_names_among_many),
    };

    return cmocka_run_group_tests(tests, set_up, t_folder_tear_down);
}
