/* SPDX-License-Identifier: Apache-2.0 */
/* The one rule for NULL (levada/levada.h), for every exported function: ci/gen_calls.py. */
#include "support/deaths.h"
#include "support/exports.h"
#include <levada/levada.h>
#include <levada/stage.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* Accessors that return something other than 0 for NULL. */
static const struct {
    const char *name;
    int64_t     value;
} null_others[] = {
    { "levada_column_dim", -1 },
    { "levada_error_offset", -1 },
    { "levada_error_record", -1 },
    { "levada_iter_source", -1 },
    { "levada_spec_find", -1 },
    { "levada_spec_equal", 1 },
};

static int64_t null_value(const char *name)
{
    for (size_t i = 0; i < sizeof null_others / sizeof *null_others; i++) {
        if (strcmp(name, null_others[i].name) == 0) return null_others[i].value;
    }
    return 0;
}

static void null_call(void *user)
{
    const test_export *e = user;
    int64_t            status = e->run(NULL);

    if (status != LEVADA_EINVALID_ARGUMENT) fail_msg("%s: %lld", e->name, (long long)status);
}

static void calls_with_a_status_refuse_null(void **state)
{
    int tried = 0;

    (void)state;
    for (size_t i = 0; i < test_nexports; i++) {
        test_export e = test_exports[i];

        if (e.kind != TEST_EXPORT_STATUS) continue;
        tried++;
        if (LEVADA_DEBUG) print_message("%s\n", e.name); /* which one did not abort */
        if (LEVADA_DEBUG) test_aborts(null_call, &e, "must not be NULL");
        else null_call(&e);
    }
    assert_true(tried > 100);
}

static void accessors_answer_nothing_for_null(void **state)
{
    int tried = 0;

    (void)state;
    for (size_t i = 0; i < test_nexports; i++) {
        const test_export *e = &test_exports[i];

        if (e->kind != TEST_EXPORT_VALUE && e->kind != TEST_EXPORT_VOID) continue;
        tried++;
        int64_t answer = e->run(NULL);

        if (answer != null_value(e->name)) fail_msg("%s: %lld", e->name, (long long)answer);
    }
    assert_true(tried > 70);
}

static void destructors_accept_null_and_a_pointer_to_null(void **state)
{
    int tried = 0;

    (void)state;
    for (size_t i = 0; i < test_nexports; i++) {
        const test_export *e = &test_exports[i];
        void              *nothing = NULL;

        if (e->kind != TEST_EXPORT_DESTROY) continue;
        tried++;
        (void)e->run(NULL);
        (void)e->run(&nothing);
        assert_null(nothing);
    }
    assert_true(tried > 20);
}

static void makers_of_errors_accept_null(void **state)
{
    (void)state;
    assert_int_equal(levada_fail(NULL, LEVADA_EDATA_LOSS, "text %d", 1), LEVADA_EDATA_LOSS);
    levada_error_wrap(NULL, "text %d", 1);
    levada_context_log(NULL, LEVADA_LOG_ERROR, "text %d", 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_with_a_status_refuse_null),
        cmocka_unit_test(accessors_answer_nothing_for_null),
        cmocka_unit_test(destructors_accept_null_and_a_pointer_to_null),
        cmocka_unit_test(makers_of_errors_accept_null),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
