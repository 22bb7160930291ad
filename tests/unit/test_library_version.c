/* SPDX-License-Identifier: Apache-2.0 */
#include <levada/levada.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void the_library_has_the_version_of_its_headers(void **state)
{
    char text[32];

    (void)state;
    (void)snprintf(text, sizeof text, "%d.%d.%d", LEVADA_VERSION_MAJOR, LEVADA_VERSION_MINOR,
                   LEVADA_VERSION_PATCH);
    assert_string_equal(LEVADA_VERSION, text);
    assert_string_equal(levada_version(), text);
    assert_true(LEVADA_VERSION_AT_LEAST(LEVADA_VERSION_MAJOR, LEVADA_VERSION_MINOR,
                                        LEVADA_VERSION_PATCH));
    assert_false(LEVADA_VERSION_AT_LEAST(LEVADA_VERSION_MAJOR, LEVADA_VERSION_MINOR,
                                         LEVADA_VERSION_PATCH + 1));
    assert_false(LEVADA_VERSION_AT_LEAST(LEVADA_VERSION_MAJOR + 1, 0, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_library_has_the_version_of_its_headers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
