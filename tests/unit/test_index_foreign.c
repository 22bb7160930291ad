/* SPDX-License-Identifier: Apache-2.0 */
#include "files/index_foreign.h"
#include "registry/registry.h"
#include "support/files.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

typedef struct foreign_rows {
    int64_t row[8][3]; /* offset, size, length */
    int     n;
} foreign_rows;

static foreign_rows rows;

static levada_status add_rows(levada_env *env, const void *args, const char *path,
                              levada_index_sink *to, levada_error *err)
{
    (void)env, (void)args, (void)path;
    if (rows.n < 0) return levada_fail(err, LEVADA_ENOT_FOUND, "it has no index");
    to->field = "n";
    assert_int_equal(to->size, 100);
    for (int i = 0; i < rows.n; i++)
        LEVADA_TRY(to->add(to, rows.row[i][0], rows.row[i][1], rows.row[i][2], err));
    return LEVADA_OK;
}

/* The format text_lines with a foreign index. */
static levada_op op_of(void)
{
    levada_op op = *levada_registry_find(NULL, "text_lines");

    op.def.format.foreign = add_rows;
    return op;
}

static levada_env *t_env(void)
{
    static levada_env *env;

    if (!env) assert_int_equal(levada_env_create(NULL, &env, NULL), LEVADA_OK);
    return env;
}

static levada_status open_index(const levada_op *op, levada_index **out, levada_error *err)
{
    static struct {
        int64_t          skip_lines;
        levada_file_args files;
    } args;
    static char        *path;
    levada_bytes_options plain = { .compression = "none" };
    static levada_files files;

    memset(&args, 0, sizeof args);
    path = (char *)(uintptr_t)t_path("f");
    files = (levada_files){ .path = &path, .n = 1 };
    return levada_index_open(t_env(), &files, op, &args, &plain, out, err);
}

static void refuses(foreign_rows want, levada_status code, const char *message)
{
    levada_op     op = op_of();
    levada_index *x = NULL;
    levada_error  err = LEVADA_ERROR_INIT;

    rows = want;
    assert_int_equal(open_index(&op, &x, &err), code);
    if (!strstr(err.message, message)) assert_string_equal(err.message, message);
}

static void records_ascend_and_do_not_overlap(void **state)
{
    (void)state;
    refuses((foreign_rows){ { { 5, 5, 0 }, { 9, 1, 0 } }, 2 }, LEVADA_EDATA_LOSS, "record 1");
    refuses((foreign_rows){ { { -1, 5, 0 } }, 1 }, LEVADA_EDATA_LOSS, "record 0");
    refuses((foreign_rows){ { { 0, -5, 0 } }, 1 }, LEVADA_EDATA_LOSS, "record 0");
    refuses((foreign_rows){ { { 1, INT64_MAX, 0 } }, 1 }, LEVADA_EDATA_LOSS, "record 0");
    refuses((foreign_rows){ { { 1, INT64_C(1) << 32, 0 } }, 1 }, LEVADA_EUNIMPLEMENTED,
            "record 0: 4294967296");
    refuses((foreign_rows){ { { 0, 1, -1 } }, 1 }, LEVADA_EDATA_LOSS, "record 0");
    refuses((foreign_rows){ .n = -1 }, LEVADA_EFAILED_PRECONDITION, "the file has no index");
}

static void records_are_found_as_in_an_index_of_levada(void **state)
{
    levada_op          op = op_of();
    levada_index      *x = NULL;
    levada_index_entry e = { 0 };
    const char        *field = "n", *other = "m";
    uint8_t            plain[16] = { 7 }, stages[16] = { 8 };
    bool               found = false;
    int64_t            length = 0;

    (void)state;
    rows = (foreign_rows){ { { 0, 5, 50 }, { 5, 0, 0 }, { 7, 3, 30 } }, 3 };
    assert_int_equal(open_index(&op, &x, NULL), LEVADA_OK);
    assert_int_equal(levada_index_count(x), 3);
    assert_int_equal(levada_index_find(x, 2, &e, NULL), LEVADA_OK);
    assert_int_equal(e.offset, 7);
    assert_int_equal(e.length, 3);
    assert_int_equal(levada_index_find(x, 3, &e, NULL), LEVADA_EOUT_OF_RANGE);
    assert_int_equal(levada_index_select(x, &field, 1, stages, plain, &found, NULL), LEVADA_OK);
    assert_false(found);
    assert_int_equal(levada_index_select(x, &other, 1, plain, plain, &found, NULL), LEVADA_OK);
    assert_false(found);
    assert_int_equal(levada_index_select(x, &field, 1, plain, plain, &found, NULL), LEVADA_OK);
    assert_true(found);
    assert_int_equal(levada_index_length(x, 0, 2, &length, NULL), LEVADA_OK);
    assert_int_equal(length, 30);
    assert_int_equal(levada_index_check_again(x, 0, NULL), LEVADA_OK);
    levada_index_close(&x);
}

static int set_up(void **state)
{
    char bytes[100] = { 0 };
    int  st = t_folder_set_up(state);

    t_write_file(t_path("f"), bytes, sizeof bytes);
    return st;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_ascend_and_do_not_overlap),
        cmocka_unit_test(records_are_found_as_in_an_index_of_levada),
    };

    int         failed = cmocka_run_group_tests(tests, set_up, t_folder_tear_down);
    levada_env *env = t_env();

    levada_env_destroy(&env);
    return failed;
}
