/* SPDX-License-Identifier: Apache-2.0 */
#include "base/assert.h"

#include "support/deaths.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void assert_that_it_is_odd(void *user)
{
    LEVADA_ASSERT(*(int *)user % 2 == 1);
}

static void find_a_bug_where_it_is_even(void *user)
{
    LEVADA_BUG_ON(*(int *)user % 2 == 0);
}

static void require_it(void *user)
{
    assert_int_equal(levada_require(user != NULL, "queue", NULL), LEVADA_OK);
}

static void an_invariant_is_looked_at_in_debug_builds_only(void **state)
{
    int odd = 3, even = 4;

    (void)state;
    assert_that_it_is_odd(&odd);
    if (!LEVADA_DEBUG) assert_that_it_is_odd(&even);
    else test_aborts(assert_that_it_is_odd, &even, "does not hold: *(int *)user % 2 == 1");
}

static void an_assertion_costs_nothing_in_a_release(void **state)
{
    int looked = 0;

    (void)state;
    LEVADA_ASSERT(++looked > 0);
    assert_int_equal(looked, LEVADA_DEBUG);
}

static void a_bug_is_found_in_every_build(void **state)
{
    int odd = 3, even = 4;

    (void)state;
    find_a_bug_where_it_is_even(&odd);
    test_aborts(find_a_bug_where_it_is_even, &even, "test_assert.c:");
    test_aborts(find_a_bug_where_it_is_even, &even, "Please report it to the project");
}

static void what_is_missing_is_named(void **state)
{
    levada_error err = LEVADA_ERROR_INIT;

    (void)state;
    assert_int_equal(levada_require(true, "queue", &err), LEVADA_OK);
    assert_int_equal(err.code, LEVADA_OK);
    if (LEVADA_DEBUG) {
        test_aborts(require_it, NULL, "misuse: queue must not be NULL");
        return;
    }
    assert_int_equal(levada_require(false, "queue", &err), LEVADA_EINVALID_ARGUMENT);
    assert_string_equal(err.message, "queue must not be NULL");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_invariant_is_looked_at_in_debug_builds_only),
        cmocka_unit_test(an_assertion_costs_nothing_in_a_release),
        cmocka_unit_test(a_bug_is_found_in_every_build),
        cmocka_unit_test(what_is_missing_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
