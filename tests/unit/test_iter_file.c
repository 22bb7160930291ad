/* SPDX-License-Identifier: Apache-2.0 */
#include "support/iters.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void a_run_continues_from_a_file_at_every_cut(void **state)
{
    const char *text = "t_rows:30 | shuffle:8 | batch:4";
    levada_iter *it = t_iter_open(text, 1, 3);

    (void)state;
    for (int cut = 0; cut <= 8; cut++) {
        t_bytes      rest = { 0 }, want = { 0 };
        levada_iter *again = t_iter_open(text, 2, 5);
        t_bytes      saved;

        assert_int_equal(levada_iter_save_file(it, t_path("a.state"), NULL), LEVADA_OK);
        assert_int_equal(levada_iter_restore_file(again, t_path("a.state"), NULL), LEVADA_OK);
        (void)t_iter_read(again, -1, true, &rest);
        saved = t_iter_save(it);
        t_iter_restore(again, saved);
        (void)t_iter_read(again, -1, true, &want);
        assert_int_equal(rest.size, want.size);
        if (want.size) assert_memory_equal(rest.at, want.at, want.size);
        (void)t_iter_read(it, 1, true, &want);
        t_clear(&saved);
        t_clear(&rest);
        t_clear(&want);
        levada_iter_close(&again);
    }
    levada_iter_close(&it);
}

static void a_bad_file_is_named_and_changes_nothing(void **state)
{
    levada_iter *it = t_iter_open("t_rows:10 | batch:4", 1, 3);
    levada_error err = LEVADA_ERROR_INIT;
    t_bytes      all = { 0 };

    (void)state;
    assert_int_equal(levada_iter_restore_file(it, t_path("none"), &err), LEVADA_ENOT_FOUND);
    assert_non_null(strstr(err.file, "none"));
    levada_error_clear(&err);
    t_write_file(t_path("bad"), "not a state", 11);
    assert_true(levada_iter_restore_file(it, t_path("bad"), &err) < 0);
    assert_non_null(strstr(err.file, "bad"));
    levada_error_clear(&err);
    assert_int_equal(levada_iter_save_file(it, t_path("none/a"), &err), LEVADA_ENOT_FOUND);
    assert_int_equal(t_iter_read(it, -1, true, &all), 3);
    t_clear(&all);
    levada_iter_close(&it);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_continues_from_a_file_at_every_cut),
        cmocka_unit_test(a_bad_file_is_named_and_changes_nothing),
    };

    return cmocka_run_group_tests(tests, t_folder_set_up, t_folder_tear_down);
}
